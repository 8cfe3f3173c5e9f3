"""Notebook 10 on ratings of one's own: it bridges those, and watches nothing that was not given."""

import json

import pytest

import axisjudge
from axisjudge.datasets import demo_paths
from axisjudge.report import run_report

OLD, NEW = "simulated:heron", "simulated:wren"


@pytest.fixture
def own(bench):
    """Parameters for a bridge of one's own."""
    path = bench / "bridge.jsonl"
    runs = axisjudge.read_trajectories(*demo_paths()).trajectories[:48]
    axisjudge.judge(runs, [OLD, NEW], ["sequencing"], repeats=2, out=path, progress=False)
    return {"ratings": str(path), "old": OLD, "new": NEW}


def results_of(bench, parameters):
    folder = run_report("10_succession", parameters, workbench=bench).folder
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]


@pytest.mark.slow
def test_a_bridge_of_ones_own_is_not_filled_up_with_the_demo(bench, own):
    results = results_of(bench, own)
    assert [bridge["question"] for bridge in results["bridge"]["bridges"]] == ["sequencing"]
    assert results["drift"] == {}


@pytest.mark.slow
def test_anchors_of_ones_own_are_watched(bench, own):
    anchors = bench / "anchors.jsonl"
    runs = axisjudge.read_trajectories(*demo_paths()).trajectories[:48]
    for again in (False, True):
        axisjudge.judge(runs, [OLD], ["sequencing"], repeats=2, again=again, out=anchors, progress=False)
    results = results_of(bench, {**own, "anchors": str(anchors)})
    assert results["drift"]["n_items"] == 48
