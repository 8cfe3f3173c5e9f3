"""From a report to the items behind its numbers, and back, in a real browser: every link of every table is counted."""

import csv
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from axisjudge.datasets import demo_paths
from axisjudge.report import run_report

#: Reports, and the fewest names of runs that lead from them.
REPORTS = {
    "01_rubric_versions": ({}, 1),
    "02_agreement": ({"source": "demo", "repeats": 1}, 1),
    "03_people": ({"source": "demo", "by": "agent,domain,length,answer"}, 0),
    "05_failures": ({}, 0),
    "06_trace": ({}, 1),
    "10_succession": ({}, 0),
    "11_twins": ({"edits": ["cut_tail", "reworded"], "seed": 1}, 0),
}
#: Columns that count the items, or the runs, that a row is of.
COUNTING = ("n", "n_items", "items", "n_twins", "verdicts", "of", "runs", "ratings", "trajectories")
#: Tables of which every row leads to items, by the beginning of the caption.
LEADING = (
    "Twins made",
    "Occasion by occasion",
    "The panel, whole",
    "Case-weighted against",
    "Right verdicts by stratum",
)
#: Rows whose count is not that of a set of items, by the beginning of the caption, and why.
LARGEST = "n of a mean over pairs is that of the largest pair; the row leads to the items of all pairs"
OTHERWISE = {
    "Each judge's agreement with the labels": LARGEST,
    "Judge and person against": "n are those with a majority of the others; the row leads to all that are labelled",
    "Case-weighted": "n are those that every judge decides, with a confidence; the row leads to all with two",
    "Agreement of all judges": "n are those held out; the row leads to those that the rubric was tuned on as well",
    "Share of verdicts that say correct": "verdicts are of all judges of a family; the row leads to their items",
    "Confidence against labels": "n are those with a label and a side taken; the row leads to all of the judge's",
}
LINKS = """regions => regions.flatMap(region => {
    const caption = region.querySelector("caption").textContent.replace(/^Table \\d+. /, "");
    return [...region.querySelectorAll("tbody tr")].flatMap((row, at) => [...row.querySelectorAll("a")].map((link) => {
        const [cell, href] = [link.closest("td").cellIndex, link.getAttribute("href")];
        return { name: region.id.slice(6), caption, at, cell, text: link.textContent, href };
    }));
})"""
NOWHERE = """regions => regions.flatMap(region => {
    const caption = region.querySelector("caption").textContent.replace(/^Table \\d+. /, "");
    return [...region.querySelectorAll("tbody tr")].map(row => [caption, row.textContent, row.querySelector("a")]);
}).filter(([, , link]) => !link)"""
UNFOLD = "link => { for (let at = link; at = at.closest('details'); at = at.parentElement) at.open = true; }"
SELECTED = """address => {
    const items = new Items(INDEX), { filters, missing, place } = readAddress(address, items);
    items.narrow(filters);
    const { items: n, rows } = items.chosen(filters, null);
    const isOwn = ({ judge }) => judge === items.narrowed.judge;
    const asked = (run, column) => !isOwn(column) ? 0 : items.cells[run][column.at]?.repeats.length ?? 0;
    const ratings = rows.flatMap(({ run, passing }) => passing.flatMap(q => items.newest[q].map(c => asked(run, c))));
    return { items: n, runs: rows.length, ratings: ratings.reduce((a, b) => a + b, 0), missing, isRun: place !== null };
}"""


def assert_each_link_counts(page, folder):
    """What the explorer selects by a link is what the row, or the cell, counts."""
    nowhere = [row for row in page.eval_on_selector_all(".table[id]", NOWHERE) if row[0].startswith(LEADING)]
    assert not nowhere
    links = page.eval_on_selector_all(".table[id]", LINKS)
    page.goto((folder / "explorer.html").as_uri())
    page.wait_for_selector(".counted")
    wrong = []
    for link in links:
        selected = page.evaluate(SELECTED, link["href"].partition("#")[2])
        where = f"{link['caption']}, row {link['at']}, {link['text']}: {link['href']}"
        assert selected["missing"] is None, where
        if selected["isRun"]:
            continue
        with (folder / "tables" / f"{link['name']}.csv").open() as file:
            row = list(csv.DictReader(file))[link["at"]]
        number = link["text"].split(" of ")[0].replace(",", "")
        if link["cell"] > 0 and number.isdigit():
            wrong += [(where, selected)] * (selected["items"] != int(number))
        elif not link["caption"].startswith(tuple(OTHERWISE)):
            counted = {int(row[name]) for name in COUNTING if row.get(name, "").isdigit()}
            selections = {selected["items"], selected["runs"], selected["ratings"]}
            wrong += [(where, selected, counted)] * bool(counted and not counted & selections)
    assert links
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_every_number_leads_to_the_items_that_it_counts_and_back(name, whole_bench, browser, tmp_path):
    given, names = REPORTS[name]
    folder = run_report(name, {**given, "trajectories": str(demo_paths()[0].parent)}, workbench=whole_bench).folder
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.goto((folder / "report.html").as_uri())
    figures = page.locator("figcaption .files a[href^='explorer.html']")
    assert figures.count() > 0, "a figure leads to the items that it draws"
    links = page.locator("table a[href^='explorer.html#run=']")
    assert links.count() >= names
    if names:
        link = links.first
        run, row = link.get_attribute("href"), page.url
        link.evaluate(UNFOLD)
        link.click()
        page.wait_for_selector(".opened h2")
        expect(page.locator(".opened h2")).to_have_text(parse_qs(run.partition("#")[2])["run"][0])
        assert page.locator(".opened .card").count() > 0, "every judge's verdict stands beside the steps"
        page.screenshot(path=tmp_path / f"link-{name}.png")
        page.go_back()
        links.first.evaluate(UNFOLD)
        expect(links.first).to_be_visible()
        assert page.url == row
    assert_each_link_counts(page, folder)
    page.close()
    assert not faults
