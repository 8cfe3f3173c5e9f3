"""Notebook 01 walks the whole loop in one run, and the checkout's own record stays as it is."""

import json

import pytest

from axisjudge.report import run_report
from axisjudge.workbench import home

NAME = "01_rubric_versions"
RECORD = ("split.json", "lock.json", "ledger.jsonl")


def record():
    paths = [home() / "rubrics" / name for name in RECORD]
    return [path.read_bytes() if path.exists() else None for path in paths]


@pytest.mark.slow
def test_from_split_to_opened_held_out_report(bench):
    before = record()
    folder = run_report(NAME, workbench=bench).folder
    assert record() == before
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    page = (folder / "report.md").read_text(encoding="utf-8")
    found = results["results"]
    assert found["v1_to_v2"]["word"] == "hedging only"
    assert found["v2_to_v3"]["word"] == "progress"
    assert found["published_course"]["agree"] == {"v1": False, "v2": False, "v3": True}
    assert found["refused_task"]["task"] == "28"
    assert "when they were opened, once" in page.split("## Agreement by version")[0]
    assert "Simulated ratings" in results["banner"]
    assert found["declared"]["tests"][0]["statistic"] == "cohen_kappa"
    assert {"flips_1", "beliefs_2", "contested", "flipped"} <= set(found)


@pytest.mark.slow
def test_without_repeats_it_says_that_noise_was_not_measured(bench):
    folder = run_report(NAME, {"repeats": 1}, workbench=bench).folder
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert "not measured" in page.split("## What each turn")[1].split("## Flips")[0]
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]
    assert found["v2_to_v3"]["word"] != "progress"
