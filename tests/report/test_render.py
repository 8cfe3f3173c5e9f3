"""Pages hold up against hostile text: nothing runs, nothing is fetched, pictures show."""

import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from benches import rating
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from axisjudge.ratings import ratings_frame
from axisjudge.report import Page, paper
from axisjudge.report.index import write_index
from axisjudge.report.page import MARKDOWN_MIME, _as_html
from axisjudge.report.render import report_html, report_markdown, safe_html

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSAMpcP8GwTmbJAAAAAElFTkSuQmCC"


def hostile(address: str) -> str:
    """What a trajectory may hold; each piece, if it worked, would retitle the page or call `address`."""
    owned = "document.title='owned'"
    return (
        f"<script>{owned}</script><img src=x onerror=\"{owned}\"><img src='{address}/pixel.png'>"
        f"<a id=trap href=\"javascript:{owned}\">press</a><a href='data:text/html,<script>{owned}</script>'>or here</a>"
        f"<iframe src='{address}/frame'></iframe><link rel=stylesheet href='{address}/sheet.css'>"
        f"<style>@import url('{address}/import.css'); .banner {{ display: none }}</style>"
        f'<svg onload="{owned}"></svg><form action=\'{address}/form\'><input autofocus onfocus="{owned}"></form>'
        f"<p style=\"position:fixed; top:0; background:url('{address}/back.png'); color: red\">over</p>"
        f"<meta http-equiv=refresh content='0;url={address}/refresh'><base href='{address}'>"
    )


def notebook_with(text: str) -> Any:
    """An executed notebook in which `text` stands in every place an output has."""
    outputs = [
        new_output("display_data", {"text/html": text, "text/plain": "x"}),
        new_output("display_data", {"text/markdown": text + "\n\n![x](x.png) [y](javascript:1)", "text/plain": "x"}),
        new_output("display_data", {"application/javascript": "document.title='owned'", "text/plain": "a script"}),
        new_output("display_data", {"image/svg+xml": f"<svg>{text}</svg>", "text/plain": "a drawing"}),
        new_output("display_data", {"image/png": PICTURE, "text/plain": "x"}, metadata={"image/png": {"alt": text}}),
        new_output("execute_result", {"text/plain": text}),
        new_output("stream", name="stdout", text=text),
        new_output("stream", name="stderr", text=text),
    ]
    code = new_code_cell(f"# {text}\nprint(1)", outputs=outputs)
    return new_notebook(cells=[new_markdown_cell("# Hostile?\n\nA *word* first."), code, new_markdown_cell(text)])


class Tags(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_text_is_shown_and_does_nothing() -> None:
    page = report_html(notebook_with(hostile("http://tracker.example")), "<script>title</script>", "seal")
    tags = Tags(page).found
    names = [name for name, _ in tags]
    assert not set(names) & {"script", "iframe", "link", "svg", "form", "input", "base", "object", "embed"}
    assert names.count("style") == 1, "our own sheet alone"
    assert names.count("meta") == 5
    for name, attributes in tags:
        assert not [attribute for attribute in attributes if attribute.startswith("on") or attribute == "srcset"], name
        assert (attributes.get("src") or "data:image/png").startswith("data:image/png")
        assert not re.match("javascript|data", attributes.get("href") or "")
        assert "url" not in (attributes.get("style") or "")
        assert "position" not in (attributes.get("style") or "")
    assert "A <em>word</em> first." in page
    assert "&lt;script&gt;" in page, "shown as text where it was text"
    assert "a script" in page
    assert "a drawing" in page


def test_the_page_forbids_the_network_by_policy() -> None:
    (policy,) = [
        attributes["content"]
        for name, attributes in Tags(report_html(notebook_with(""), "t", "s")).found
        if name == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "script-src" not in policy


def test_own_colours_and_tables_survive_cleaning() -> None:
    kept = '<table class="gt_table"><tr><td class="gt_right" colspan="2" style="color:#b00">1</td></tr></table>'
    assert re.sub("</?tbody>|;", "", safe_html(kept)) == kept
    assert 'href="https://doi.org/10.1000/1"' in safe_html('<a href="https://doi.org/10.1000/1">a source</a>')


def test_the_markdown_holds_prose_and_what_the_page_said_only() -> None:
    book = notebook_with("noise")
    book.cells[1].outputs.append(new_output("display_data", {"text/html": "<b>1</b>", MARKDOWN_MIME: "**1** of 2"}))
    assert report_markdown(book) == "# Hostile?\n\nA *word* first.\n\n**1** of 2\n\nnoise\n"


def test_a_sentence_with_markup_in_it_is_said_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("axisjudge.report.page._show", lambda bundle, metadata=None: shown.append(bundle))
    Page("05_x", ratings_frame([rating()])).say("**3** of [x](javascript:1) <script> ![y](b.png) cost $5")
    book = new_notebook(cells=[new_code_cell("", outputs=[new_output("display_data", shown[0])])])
    page = report_html(book, "t", "s")
    assert "<strong>3</strong> of [x](javascript:1) &lt;script&gt; ![y](b.png) cost $5" in page
    assert not [name for name, _ in Tags(page).found if name in ("img", "a", "script")]


@pytest.mark.parametrize(
    "name",
    ["*star*", "_under_", "~~old~~", "a|b", "\\*", "\\frac{1}{2}", "__init__.py", "# one", "- one", "1. one", "$x_1$"],
)
def test_names_in_a_sentence_lose_no_letter(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """On the page, in the caption of a figure, in results.json and in a notebook."""
    sentence = f"{name} and {name} fail **2** of `a_[b]_`."
    plain = f"{name} and {name} fail 2 of a_[b]_."
    pages: list[Page] = []

    def say(page: Page) -> None:
        page.figure("line", plt.subplots()[1].plot([1, 2])[0].axes)
        page.say(sentence)
        page.say(sentence)
        pages.append(page)

    book = said_page(monkeypatch, say)
    text = re.sub(r"<[^>]+>", "", report_html(book, "t", "s"))
    assert text.count(plain) == 2, "the caption and the prose"
    assert pages[0].findings == [plain, plain]
    shown = book.cells[2].outputs[1]
    assert plain in re.sub(r"<[^>]+>", "", _as_html(shown.data, {}))


def said_page(monkeypatch: pytest.MonkeyPatch, say: Callable[[Page], None]) -> Any:
    """A notebook in which a page said what `say` says, between a title with its preface and a last section."""
    outputs: list[Any] = []

    def keep(bundle: dict[str, str], metadata: dict[str, Any] | None = None) -> None:
        outputs.append(new_output("display_data", bundle, metadata=metadata or {}))

    monkeypatch.setattr("axisjudge.report.page._show", keep)
    say(Page("05_x", ratings_frame([rating(), rating(rater="s", rater_kind="simulated")])))
    prose = [new_markdown_cell(f"## Part {n}: what?") for n in (1, 2, 3)]
    title = new_markdown_cell("# The question?\n\nA preface.")
    return new_notebook(cells=[title, prose[0], new_code_cell("1", outputs=outputs), *prose[1:]])


def test_the_answer_stands_under_the_title_and_only_the_banner_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(page: Page) -> None:
        page.say("First of all.")
        page.answer(f"One is .5. Two is **more. Three** is. Four {'really ' * 30}stays.", "Label <5> more.")
        page.banner()

    book = said_page(monkeypatch, say)
    for text in (report_markdown(book), report_html(book, "t", "s")):
        order = [
            text.index(word) for word in ("The question?", "Simulated ratings", "Answer.", "A preface", "First of")
        ]
        assert order == sorted(order)
        assert text.index("Three") < text.index("Next.") < text.index("more.", text.index("Next."))
        assert text.index("Next.") < text.index("Four really") < text.index("A preface"), "more than three lines"


@pytest.mark.parametrize("of_ratings", [True, False])
def test_a_banner_says_that_the_first_figure_is_of_other_things(
    monkeypatch: pytest.MonkeyPatch, of_ratings: bool
) -> None:
    import matplotlib.pyplot as plt

    def say(page: Page) -> None:
        page.banner()
        page.answer("It is so.")
        axes = plt.subplots()[1]
        axes.plot([1, 2])
        page.figure("published", axes, of_ratings=of_ratings)

    book = said_page(monkeypatch, say)
    for text in (report_markdown(book), report_html(book, "t", "s")):
        assert ("Figure 1 shows none of them." in text) is not of_ratings


@pytest.mark.parametrize("left", [[], [new_markdown_cell("## First")], [new_markdown_cell("No title.")]])
def test_a_page_whose_title_was_deleted_keeps_its_banner_and_its_answer(
    monkeypatch: pytest.MonkeyPatch, left: list[Any]
) -> None:
    def say(page: Page) -> None:
        page.banner()
        page.answer("It broke.")

    book = said_page(monkeypatch, say)
    book.cells[:2] = left
    text, page = report_markdown(book), report_html(book, "Q?", "x")
    for said in ("Simulated ratings", "It broke."):
        assert said in text
        assert said in page


def test_what_is_said_first_after_a_figure_is_its_finding_and_not_what_the_data_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Page("05_x", ratings_frame([rating()]))
    outputs: list[Any] = []
    monkeypatch.setattr(
        "axisjudge.report.page._show",
        lambda bundle, about=None: outputs.append(new_output("display_data", bundle, metadata=about or {})),
    )
    page.figure("line", plt.subplots()[1].plot([1, 2])[0].axes, alt="A line")
    page.say("It rises.")
    page.answer("Yes.")
    text = report_markdown(new_notebook(cells=[new_markdown_cell("# Q?"), new_code_cell("1", outputs=outputs)]))
    assert "*Figure 1. A line. It rises.*" in text
    assert text.count("It rises.") == 2, "in the caption, for all"


def test_contents_lead_to_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = Tags(report_html(said_page(monkeypatch, lambda page: None), "t", "s")).found
    anchors = [attributes["id"] for name, attributes in tags if name == "h2"]
    assert anchors == ["part-1-what", "part-2-what", "part-3-what"]
    assert [attributes["href"] for name, attributes in tags if name == "a"] == [f"#{anchor}" for anchor in anchors]


def test_two_lines_stay_under_a_figure_and_the_rest_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(page: Page) -> None:
        page.table([{"n": 1}], caption="Counts")
        for n in range(6):
            page.say(f"Sentence {n}.")

    book = said_page(monkeypatch, say)
    page, text = report_html(book, "t", "s"), report_markdown(book)
    assert 'id="finding-counts"><p>Sentence 0. Sentence 1.</p>' in page
    assert page.index("Sentence 1") < page.index("<summary>In numbers") < page.index("Sentence 2")
    assert "Sentence 0. Sentence 1.\n\n<details>\n<summary>In numbers</summary>\n\n- Sentence 2." in text
    (region,) = [attributes for _, attributes in Tags(page).found if attributes.get("role") == "region"]
    assert (region["tabindex"], region["aria-label"], region["id"]) == ("0", "Table 1", "table-counts")


def test_a_figure_is_described_by_caption_and_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    def say(page: Page) -> None:
        page.answer("They differ by $3.")
        _, axes = plt.subplots()
        axes.plot([1, 2])
        page.figure("rates", axes, alt="Rates of *all* agents")
        page.say("They **differ** by $3. More.")

    book = said_page(monkeypatch, say)
    page = report_html(book, "t", "s")
    (image,) = [attributes for name, attributes in Tags(page).found if name == "img"]
    assert image["alt"] == "Rates of *all* agents. They differ by $3."
    assert '<figure id="figure-rates">' in page
    assert r"*Figure 1. Rates of \*all\* agents.*" in report_markdown(book), "the answer has said what it shows"


def test_warnings_on_a_page_name_no_file() -> None:
    warned = "/home/me/x.py:39: UserWarning: too small\n  figure.savefig(stream)\nand so on\n"
    book = new_notebook(cells=[new_code_cell("1", outputs=[new_output("stream", name="stderr", text=warned)])])
    page = report_html(book, "t", "s")
    assert "Warning: too small\nand so on" in page
    assert "x.py" not in page


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 1200), ("dark", 390)])
def test_pages_are_accessible_and_fit_in_every_light(
    browser: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, theme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def say(page: Page) -> None:
        page.banner()
        page.answer("It is so.")
        page.table(
            [{"judge": "j" * 60, "why": "words and words " * 9, **dict.fromkeys("abcdefgh", 1.5)}], caption="Wide"
        )
        for n in range(5):
            page.say(f"Sentence {n}.")

    path = tmp_path / "report.html"
    path.write_text(report_html(said_page(monkeypatch, say), "A title", "seal"), encoding="utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=theme)
    tab.goto(path.as_uri())
    tab.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    violations = Axe().run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    assert not [(each["id"], each["nodes"][0]["failureSummary"]) for each in violations if each["impact"] != "minor"]
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.close()


def test_the_index_links_every_report_and_escapes_what_it_quotes(tmp_path: Path) -> None:
    for name, banner in (
        ("05_profiles", "Simulated ratings: 1 of 2"),
        ("06_trace", None),
        ("08_failures", "Simulated ratings: 1 of 2"),
    ):
        folder = tmp_path / name
        (folder / "figures").mkdir(parents=True)
        (folder / "report.html").write_text("page")
        Image.new("RGB", (900, 600), "white").save(folder / "figures" / "first.png")
        said = {
            "title": f"<b>{name}?",
            "findings": ["Two.", "One <i>."],
            "finding": "One <i>." if banner else "",
            "banner": banner,
            "figures": ["first"],
            **({"leads": "a published run with two judges"} if name == "08_failures" else {}),
        }
        (folder / "results.json").write_text(json.dumps(said))
    (tmp_path / "07_failed").mkdir()
    for name, said in {"09_foreign": '{"figures": ["gone"]}', "10_broken": "{", "11_list": "[]"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.html").write_text("page")
        (tmp_path / name / "results.json").write_text(said)
    page = write_index(tmp_path).read_text()
    tags = Tags(page).found
    links = [attributes["href"] for name, attributes in tags if name == "a"]
    story = ["06_trace", "08_failures", "09_foreign", "10_broken", "11_list", "05_profiles"]
    assert links == [f"{name}/report.html" for name in story], "a story, with what cannot be read in it"
    assert all(attributes["alt"] for name, attributes in tags if name == "img")
    assert page.index("<h2>Look") < page.index("06_trace/report.html") < page.index("<h2>More")
    assert not [name for name, _ in tags if name in ("script", "b", "i", "link")]
    assert page.count("data:image/png;base64,") == 3
    assert page.count("Simulated ratings") == 2, "also where the first figure is of other ratings"
    assert page.count("First a published run") == 1
    assert "One &lt;i&gt;." in page
    assert "Two." in page, "the first sentence, where no figure was shown"
    assert "No simulated or planted ratings" in page


def test_a_question_asked_of_several_data_has_one_card(tmp_path: Path) -> None:
    listed = '[agreement_x]\nnotebook = "02"\ndata = "Set <X>"\n'
    (tmp_path / "reports" / "gallery").mkdir(parents=True)
    (tmp_path / "reports" / "gallery" / "gallery.toml").write_text(listed)
    for folder in ("02_agreement", "gallery/agreement_x"):
        (tmp_path / "reports" / folder).mkdir(parents=True, exist_ok=True)
        said = {"title": "Do they?", "findings": ["Yes."], "banner": None, "figures": []}
        (tmp_path / "reports" / folder / "results.json").write_text(json.dumps(said))
        (tmp_path / "reports" / folder / "report.html").write_text("page")
    page = write_index(tmp_path / "reports").read_text()
    assert page.count("Do they?") == 1
    assert "Set &lt;X&gt;</a>" in page
    assert [attributes["href"] for name, attributes in Tags(page).found if name == "a"] == [
        "02_agreement/report.html",
        "gallery/agreement_x/report.html",
    ]


@pytest.fixture
def tracker() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that notes every request."""
    asked: list[str] = []

    class Notes(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notes) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def opened(browser: Any, path: Path) -> tuple[Any, list[str]]:
    """The page in a browser after a second, and a list of every address that it asks for beside its own file."""
    asked: list[str] = []

    def note(request: Any) -> None:
        if request.url != path.as_uri() and not request.url.startswith("data:"):
            asked.append(request.url)

    tab = browser.new_page(viewport={"width": 1000, "height": 800})
    tab.on("request", note)
    tab.goto(path.as_uri())
    tab.wait_for_timeout(1000)
    return tab, asked


def test_a_browser_runs_nothing_fetches_nothing_and_shows_the_picture(
    browser: Any, tracker: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, hits = tracker
    path = tmp_path / "report.html"
    path.write_text(report_html(notebook_with(hostile(address)), "A title", "seal"), encoding="utf-8")
    tab, asked = opened(browser, path)
    links = tab.locator("a").all()
    for link in links:
        link.click(timeout=2000)
    tab.wait_for_timeout(300)
    assert len(links) >= 2
    assert tab.title() == "A title"
    assert asked == []
    assert hits == []
    assert tab.evaluate("[...document.images].filter(image => image.naturalWidth === 8).length") == 1
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing is wider than the page"
    tab.close()


@pytest.mark.slow
def test_the_hostile_text_does_work_where_nothing_cleans_it(
    browser: Any, tracker: tuple[str, list[str]], tmp_path: Path
) -> None:
    """The test above could not fail if the text were harmless."""
    address, hits = tracker
    path = tmp_path / "raw.html"
    path.write_text(f"<title>A title</title><div>{hostile(address)}</div>", encoding="utf-8")
    tab, asked = opened(browser, path)
    assert asked
    assert hits
    tab.close()


HIDDEN = "a\x1b[31mb\x00c\x07d\u202ee\u2066f\x9bg\rh\ud800i\u200bj"


def test_control_characters_never_reach_a_page_or_its_text(tmp_path: Path) -> None:
    """In every place an output has, and in the title; what is written can be encoded."""
    book = notebook_with(HIDDEN)
    book.cells[1].outputs.append(new_output("display_data", {MARKDOWN_MIME: HIDDEN, "text/plain": "x"}))
    for text in (report_html(book, HIDDEN, "seal", HIDDEN), report_markdown(book, HIDDEN)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
        text.encode()


def test_a_section_that_shows_nothing_folds_under_its_heading_and_limits_never_do() -> None:
    figure = new_output("display_data", {"image/png": ""}, metadata={paper.ABOUT: {"is": "figure"}})
    folded = new_output("display_data", {"text/html": ""}, metadata={paper.ABOUT: {"is": "table", "folded": "T"}})
    cells = [
        new_markdown_cell("# Title\n\nFirst.\n\nSecond."),
        new_markdown_cell("## Load and check\n\nMuch."),
        new_code_cell("", outputs=[folded]),
        new_markdown_cell("## Seen\n\nLook."),
        new_code_cell("", outputs=[figure]),
        new_markdown_cell("## Limits\n\n- One."),
    ]
    book = paper._folded(paper._with_front(new_notebook(cells=cells), []))
    tags = [(tag, cell.source) for cell in book.cells for tag in cell.metadata.get("tags", []) if "section" in tag]
    heads = [source for tag, source in tags if tag == paper.OPENS]
    assert heads == [f"## {paper.PREFACE}", "## Load and check"]
    assert [tag for tag, _ in tags] == [paper.OPENS, paper.CLOSES] * 2
