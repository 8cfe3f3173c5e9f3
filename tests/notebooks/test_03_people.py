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
    assert page.index("Of 150 claims") < page.index("figures/")
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert figures == {"against_people", "corrected_rates", "stand_in"}
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
        assert figures == set()  # the rules take no side on these failures, and no axis is left empty
    elif source == "agentprocessbench":
        assert len(first["judges"]) == 20
        assert not others
        assert "One person labelled" in page
    else:
        assert figures == {"against_people", "stand_in"}
        assert "No failure rate was corrected: the scale knows no failure" in page
        passed = [judge["stand_in"]["judge"]["passed"] for question in (first, *others) for judge in question["judges"]]
        assert len(passed) == 24
