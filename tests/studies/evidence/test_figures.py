"""Figures of cited steps and of repeats: every pair and judge is drawn where its number says, nothing else."""

from collections.abc import Iterator

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import axisjudge
from axisjudge.datasets import demo_paths
from axisjudge.studies._shared.citations import plot_citation_overlap, shared_steps
from axisjudge.studies.evidence.repeats import asked_again, plot_self_agreement


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def judged():
    runs = axisjudge.read_trajectories(min(demo_paths())).trajectories
    axes = ["sequencing", "termination"]
    table = axisjudge.judge(runs, ["rules", "simulated:heron", "simulated:wren"], axes, repeats=2, progress=False)
    return table, {run.id: len(run.steps) for run in runs}


def test_each_pair_of_judges_is_drawn_beside_its_chance(judged):
    report = shared_steps(judged[0], steps=judged[1])
    figure = plot_citation_overlap(report).get_figure(root=True)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["sequencing", "termination"]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["rules and heron", "rules and wren", "heron and wren"]
    for ax in figure.axes:
        mine = [pair.cited for pair in report.pairs if pair.question == ax.get_title(loc="left")]
        dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]
        ticks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
        assert dots == [found.overlap.estimate for found in mine]
        assert ticks == [found.chance for found in mine]


def test_each_judge_asked_again_is_drawn(judged):
    report = asked_again(judged[0])
    figure = plot_self_agreement(report).get_figure(root=True)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["rules", "heron", "wren"]
    for ax, question in zip(figure.axes, ("sequencing", "termination"), strict=True):
        dots = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
        assert dots == [each.with_itself.agreement.estimate for each in report.judges if each.question == question]
