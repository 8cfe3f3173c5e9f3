"""From a report to the runs behind it, and back, in a real browser: the links of reports 02, 11 and 12 are clicked."""

import pytest
from playwright.sync_api import expect

from axisjudge.datasets import demo_paths
from axisjudge.report import run_report

REPORTS = {
    "02_agreement": {"source": "demo"},
    "11_twins": {"edits": ["cut_tail", "reworded"], "seed": 1},
    "12_evidence": {"repeats": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_a_name_in_a_table_leads_to_the_run_and_back(name, whole_bench, browser, tmp_path):
    given = {**REPORTS[name], "trajectories": str(demo_paths()[0])}
    folder = run_report(name, given, workbench=whole_bench).folder
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.goto((folder / "report.html").as_uri())
    links = page.locator("table a[href^='explorer.html#run=']")
    assert links.count() > 0
    link = links.first
    run = link.text_content().strip()
    link.scroll_into_view_if_needed()
    link.click()
    page.wait_for_selector(".opened h2")
    expect(page.locator(".opened h2")).to_have_text(run)
    assert page.locator(".opened .card").count() > 0, "every judge's verdict stands beside the steps"
    page.screenshot(path=tmp_path / f"link-{name}.png")
    page.go_back()
    expect(page.locator("table a[href^='explorer.html#run=']").first).to_be_visible()
    page.close()
    assert not faults
