"""Notebook 07 runs on the demo, on one agent alone, and on real sessions without checks."""

import json

import pytest

from axisjudge.report import run_report
from axisjudge.workbench import home

NAME = "07_axis_result"


def report(bench, **parameters):
    folder = run_report(NAME, parameters, workbench=bench).folder
    return json.loads((folder / "results.json").read_text(encoding="utf-8")), (folder / "report.md").read_text()


def test_the_shipped_report_is_that_of_the_demo():
    results = json.loads((home() / "reports" / NAME / "results.json").read_text(encoding="utf-8"))
    assert "Planted" in results["banner"]
    assert results["results"]["comparison"]["names"] == ["alder-large", "cedar-mini"]


@pytest.mark.slow
def test_real_sessions_have_intervals_and_no_banner(bench, shared_data):
    results, page = report(bench, source=str(shared_data / "transcripts" / "claude_code"))
    assert results["banner"] is None
    assert all(row["goal_score"] is None for row in results["results"]["all_runs"]["runs"])
    assert results["results"]["comparison"]["changes"] == []
    assert "it takes two sets of runs" in page
    assert "no goal checks: the result is an interval" in page
