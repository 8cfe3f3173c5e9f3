"""Notebook 03 runs on every source and says what may be claimed before any figure."""

import json

import pytest

from axisjudge.report import run_report

NAME = "03_people"


def report(bench, **parameters):
    folder = run_report(NAME, parameters, workbench=bench).folder
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results, (folder / "report.md").read_text(encoding="utf-8"), folder


@pytest.mark.slow
def test_on_the_demo_words_come_before_figures(bench):
    results, page, folder = report(bench, source="demo")
    assert results["banner"].startswith("Simulated ratings")
    assert page.index("judges say what people say on") < page.index("figures/")
    assert "150 claims" in page
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert {"against_people", "corrected_rates", "stand_in"} <= figures
    assert "corrected intervals" in page


@pytest.mark.slow
@pytest.mark.parametrize("source", ["agentrx", "agentprocessbench", "summeval"])
def test_on_real_people(bench, shared_data, monkeypatch, source):
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    results, page, folder = report(bench, source=source)
    assert results["banner"] is None
    [first, *others] = results["results"]["comparison"]["questions"]
    figures = {path.stem for path in folder.glob("figures/*")}
    if source == "agentrx":
        assert "rules 0 of 13 (0 within one)" in page
        assert not {"corrected_rates", "stand_in"} & figures  # the rules take no side on these failures
    elif source == "agentprocessbench":
        assert len(first["judges"]) == 20
        assert not others
        assert "One person labelled" in page
    else:
        assert {"against_people", "stand_in"} <= figures
        assert "corrected_rates" not in figures
        assert "No failure rate was corrected: the scale knows no failure" in page
        passed = [judge["stand_in"]["judge"]["passed"] for question in (first, *others) for judge in question["judges"]]
        assert len(passed) == 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["02_agreement", "03_people"])
def test_the_first_screen_has_the_answer_and_the_figure_and_the_rest_folds(bench, browser, name):
    folder = run_report(name, {}, workbench=bench).folder
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto((folder / "report.html").as_uri())
    figure = page.locator("figure img").first.bounding_box()
    assert figure["y"] + figure["height"] < 900
    assert page.locator(".answer").bounding_box()["y"] < figure["y"]
    assert len(page.inner_text("body").split()) <= 1200
    seen = "selector => [...document.querySelectorAll(selector)].filter(each => each.checkVisibility()).length"
    assert page.evaluate(seen, "figure img") <= 3
    assert page.evaluate(seen, "table") <= 2
    narrow = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    narrow.goto((folder / "report.html").as_uri())
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
    narrow.close()
