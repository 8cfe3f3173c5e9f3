"""Figures of AXIS Results are drawn from their results, also where there is little to draw."""

import matplotlib as mpl
import pytest

import axisjudge
from axisjudge.datasets import demo_transcripts
from axisjudge.scores.axis.result import score_run
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.scores.axis.transcript.interactions import run_of_axis
from axisjudge.studies.axis_result.runs import OneRun, all_runs, compare_sources

NAMES = ("source", "compare")

mpl.use("agg")


@pytest.fixture(scope="module")
def results():
    return axis_results(axisjudge.read_trajectories(*demo_transcripts()).trajectories)


def words(ax):
    return " ".join(text.get_text() for text in ax.texts)


def test_every_timed_interaction_has_its_bar(results):
    one = results[0]
    ax = OneRun(one, kind="polars").plot()
    timed = [each for each in one.interactions if each.duration_ms is not None]
    assert len(ax.patches) == sum(len(each.categories) for each in timed)
    assert max(bar.get_width() for bar in ax.patches) == max(each.duration_ms for each in timed) / 1000
    assert f"#{one.slowest.id} {one.slowest.tool_name}" in words(ax)


def test_a_run_without_time_stamps_says_so():
    run = run_of_axis([{"type": "tool_use", "content": {"tool_name": "Bash"}}], id="run")
    ax = OneRun(score_run(run, {}), kind="polars").plot()
    assert not ax.patches
    assert "no time stamps" in words(ax)


def test_every_run_has_its_interval(results):
    ax = all_runs(results).plot()
    assert len(ax.lines) == 2 * len(results)  # interval and bounds; no point without a goal score
    assert len(ax.get_yticklabels()) == 8


def test_a_comparison_and_its_refusal(results):
    found = compare_sources(results, (), names=NAMES)
    ax = found.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["environment", "service", "agent"]
    assert "cedar-mini minus alder-large" in ax.get_xlabel()
    assert "two sets of runs" in words(compare_sources(results[:3], (), names=NAMES).plot())
