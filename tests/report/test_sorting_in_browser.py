"""Long tables of a page in a real browser: sorted, searched, printed, in both lights, on a phone, without scripts."""

import re

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from benches import rating
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import expect

from axisjudge.ratings import ratings_frame
from axisjudge.report import Page
from axisjudge.report.page import REPORT_DIR
from axisjudge.report.render import report_html
from axisjudge.report.tables import HELD, ROWS, SORTED, sorting, tables_in_notebook

N = 48
#: Numbers that text would order otherwise: 9 behind 10, -0.2 behind -0.1, 1,200 before 90.
TABLE = pl.DataFrame(
    {
        "judge": [None if at == 5 else f"judge {at * 29 % N}" for at in range(N)],
        "alpha": [None if at % 9 == 0 else (at * 37 % N) / N - 0.3 for at in range(N)],
        "alpha_low": [None if at % 9 == 0 else (at * 37 % N) / N - 0.5 for at in range(N)],
        "alpha_high": [None if at % 9 == 0 else (at * 37 % N) / N - 0.1 for at in range(N)],
        "n": [at * at * 13 % 5000 for at in range(N)],
        "failed": [f"{at * 11 % N} of {N}" for at in range(N)],
        "reason": [f"Because of step-{at}. <img src=x onerror=window.broken=true> &lt;b&gt;" for at in range(N)],
    }
)
#: What is drawn beyond the width of the page.
OVERHANG = "document.documentElement.scrollWidth - window.innerWidth"


def page_of(frames, monkeypatch, folder):
    """The page of a report run that shows these tables."""
    shown = []
    (folder / "05_x").mkdir(exist_ok=True)
    monkeypatch.setenv(REPORT_DIR, str(folder / "05_x"))
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, about=None: shown.append((bundle, about or {})))
    page = Page("05_x", ratings_frame([rating()]))
    for frame in frames:
        page.table(frame, caption=f"{frame.height} rows")
    outputs = [new_output("display_data", bundle, metadata=about) for bundle, about in shown]
    book = new_notebook(cells=[new_markdown_cell("# How many?"), new_code_cell("", outputs=outputs)])
    return report_html(book, "How many?", "seal")


@pytest.fixture
def report(monkeypatch, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page_of([TABLE, TABLE.head(SORTED), TABLE.head(SORTED - 1)], monkeypatch, tmp_path))
    return path


@pytest.fixture
def visit(browser, report):
    """Open the report; whatever goes wrong in it, or leaves it, is an error of the test."""
    contexts, faults = [], []

    def open_page(path=report, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or faults.append(request.url))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            expect(page.locator(".dt-container")).to_have_count(2)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def column(page, at):
    return page.locator("table").first.locator(f"tbody td:nth-child({at})").all_text_contents()


def heading(page, name):
    return page.locator("table").first.get_by_role("button", name=re.compile(f"^{name}: "))


def begins(texts):
    return [float(text.removeprefix("judge ").split()[0].replace(",", "")) for text in texts if text != "–"]


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("alpha", 2),
        *(pytest.param(name, at, marks=pytest.mark.slow) for name, at in (("judge", 1), ("n", 3), ("failed", 4))),
    ],
)
def test_a_press_on_a_heading_sorts_by_number_and_the_third_brings_the_first_order_back(visit, name, at):
    page = visit()
    was = column(page, at)
    head = heading(page, name).locator("xpath=ancestor::th")
    head.click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    up = column(page, at)
    assert begins(up) == sorted(begins(was))
    assert up[len(begins(up)) :] == ["–"] * was.count("–"), "what is missing stands last"
    assert sorted(was) != column(page, at), "text would be ordered otherwise"
    head.click()
    expect(head).to_have_attribute("aria-sort", "descending")
    down = column(page, at)
    assert begins(down) == begins(up)[::-1]
    assert down[len(begins(down)) :] == ["–"] * was.count("–")
    head.click()
    expect(head).not_to_have_attribute("aria-sort", re.compile("."))
    assert column(page, at) == was


@pytest.mark.slow
def test_a_table_is_sorted_and_searched_by_keyboard_alone(visit):
    page = visit()
    search = page.get_by_role("searchbox", name="Search Table 1")
    for _ in range(9):
        page.keyboard.press("Tab")
        if search.evaluate("each => each === document.activeElement"):
            break
    expect(search).to_be_focused()
    page.keyboard.type("because step-1")
    expect(page.locator(".dt-info").first).to_have_text(f"11 of {N} rows")
    assert all("Because of step-1" in text for text in column(page, 5))
    page.keyboard.press("Tab")
    expect(heading(page, "judge")).to_be_focused()
    head = heading(page, "judge").locator("xpath=ancestor::th")
    for order in ("ascending", "descending"):
        page.keyboard.press("Enter")
        expect(head).to_have_attribute("aria-sort", order)
    assert begins(column(page, 1)) == sorted(begins(column(page, 1)), reverse=True)
    search.fill("no such words")
    expect(page.get_by_text("No row holds these words")).to_be_visible()
    search.fill("")
    expect(page.locator(".dt-info").first).to_have_text(f"{N} rows")
    assert len(column(page, 1)) == N


@pytest.mark.slow
@pytest.mark.parametrize("light", ["light", "dark"])
def test_what_sorts_is_read_by_everyone_in_both_lights(visit, light):
    page = visit(color_scheme=light)
    heading(page, "alpha").click()
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("window.broken") is None, "text of a cell is never markup"
    assert page.evaluate(OVERHANG) <= 0


@pytest.mark.slow
def test_on_a_phone_a_table_moves_in_its_own_frame_and_its_search_stays(visit):
    page = visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate(OVERHANG) <= 0
    region = page.locator(".shown.table").first
    region.evaluate("each => { each.scrollLeft = 300 }")
    assert region.evaluate("each => each.scrollLeft") > 100
    expect(page.get_by_role("searchbox").first).to_be_in_viewport()
    expect(page.locator(".dt-info").first).to_be_in_viewport()
    assert Axe().run(page).response["violations"] == []


@pytest.mark.slow
def test_a_long_table_is_short_on_the_page_and_whole_on_paper(visit):
    page = visit()
    region = page.locator(".shown.table").first
    assert region.bounding_box()["height"] < 800 < region.locator("table").bounding_box()["height"]
    page.emulate_media(media="print")
    assert region.evaluate("each => each.scrollHeight <= each.clientHeight")
    assert region.evaluate("each => getComputedStyle(each).overflowY") == "visible"
    assert page.locator("table").first.locator("tbody tr").count() == N
    assert not page.get_by_role("searchbox").first.is_visible()


@pytest.mark.slow
def test_without_scripts_the_whole_table_stands_there(visit):
    page = visit(java_script_enabled=False)
    assert page.locator("table").first.locator("tbody tr").count() == N
    assert page.locator(".dt-container").count() == 0


@pytest.mark.slow
def test_no_script_but_ours_runs(visit, report):
    text = report.read_text()
    for hostile in ("<script>window.broken = 1</script>", '<img src="x" onerror="window.broken = 1">'):
        beside = report.with_name("hostile.html")
        beside.write_text(text.replace("</main>", f"{hostile}</main>"))
        context = visit().context
        page = context.new_page()
        page.goto(beside.as_uri())
        expect(page.locator(".dt-container")).to_have_count(2)
        assert page.evaluate("window.broken") is None


@pytest.mark.slow
def test_text_of_cells_is_never_markup_where_no_policy_forbids_it(browser, tmp_path):
    """As in a notebook: the text of cells goes through the library's search and order."""
    act = "<img src=x onerror='window.broken = 1'>"
    hostile = [act, f"{act}&amp;", act.replace("<", "&lt;"), act.replace("<", "&amp;lt;")]
    frame = pl.DataFrame({f"{act} n": [f"{at} {hostile[at % 4]}" for at in range(SORTED)]})
    path = tmp_path / "output.html"
    path.write_text(f'<meta charset="utf-8">{tables_in_notebook({act: frame, "Again": frame})}')
    page = browser.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".dt-container")).to_have_count(2)
    page.get_by_role("searchbox").first.fill("onerror")
    expect(page.locator(".dt-info").first).to_have_text(f"{SORTED} rows")
    page.locator("th").first.click()
    expect(page.locator("[aria-sort=ascending]")).to_have_count(1)
    page.wait_for_timeout(300)
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    page.close()


def test_the_library_comes_once_and_only_where_it_sorts(monkeypatch, tmp_path):
    short = page_of([TABLE.head(SORTED - 1)], monkeypatch, tmp_path)
    assert "<script" not in short
    assert "script-src" not in short
    one, three = (page_of([TABLE] * n, monkeypatch, tmp_path) for n in (1, 3))
    packet = re.search(r">([\w+/=]{999,})<", sorting().markup)[1]
    assert one.count(packet) == three.count(packet) == 1
    assert sorting().policy in one


def test_a_table_too_long_for_a_page_is_cut_and_not_sorted(monkeypatch, tmp_path):
    numbers = pl.DataFrame({"n": range(HELD + 1)})
    page = page_of([numbers], monkeypatch, tmp_path)
    assert page.count("<td") == ROWS + 1
    assert "<script" not in page
    page = page_of([numbers.head(HELD)], monkeypatch, tmp_path)
    assert page.count("<td") == HELD
    assert "<script" in page
