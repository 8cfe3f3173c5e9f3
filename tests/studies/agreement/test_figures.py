"""Figures of agreement: every value is printed, families are framed, nothing overlaps, odd results are drawn."""

import math
from collections.abc import Iterator

import matplotlib
import numpy as np
import polars as pl
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from judged import ratings

from axisjudge.labels import read_agentprocessbench
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.triage import panel_triage
from axisjudge.studies.agreement.cross_family import cross_family
from axisjudge.studies.agreement.effective import panel_worth
from axisjudge.studies.agreement.figures import (
    plot_agreement_matrices,
    plot_agreement_matrix,
    plot_families,
    plot_panel_worth,
    plot_triage,
    plot_with_labels,
)
from axisjudge.studies.confidence.calibration import calibration
from axisjudge.studies.confidence.figures import plot_reliability

WORDS = np.array(["correct", "incorrect"])


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def panel(judges=("a1", "a2", "b1"), people=(), tasks=30, confident=True, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(tasks * 4) < 0.4
    said = {name: WORDS[(truth ^ (rng.random(truth.size) < 0.15)).astype(int)].tolist() for name in (*judges, *people)}
    families = {name: "human" if name in people else name[0] for name in said}
    confidences = {name: rng.random(truth.size) for name in judges} if confident else None
    kinds = dict.fromkeys(people, "human")
    return ratings(said, families=families, kinds=kinds, confidences=confidences, per_task=4)


def texts(ax) -> list[str]:
    drawn = [*(text.get_text() for text in ax.texts), ax.get_title(loc="left"), ax.get_xlabel()]
    return [text for text in drawn if text.strip()]


def overlapping(ax) -> list[tuple[str, str]]:
    figure = ax.get_figure(root=True)
    figure.canvas.draw()
    labels = [*ax.texts, *ax.get_yticklabels()]
    boxes = [(label.get_text(), label.get_window_extent()) for label in labels if label.get_text()]
    return [(a, b) for n, (a, one) in enumerate(boxes) for b, other in boxes[n + 1 :] if one.overlaps(other)]


def test_the_matrix_prints_every_value_and_frames_each_family():
    found = cross_family(pooled(panel(people=("p",)), "termination"))
    ax = plot_agreement_matrix(found)
    values = [f"{value:.2f}".replace("0.", ".", 1) for value in found.pairs["value"]]
    assert sorted(text for text in texts(ax) if text.startswith(".")) == sorted(values * 2)
    assert len(ax.patches) == 3  # a, b, people
    assert any("120 items in 30 tasks" in text for text in texts(ax))
    assert not overlapping(ax)


def test_an_undefined_pair_is_a_dash_and_a_value_just_below_nought_is_nought():
    found = cross_family(
        pooled(
            ratings({"a": ["correct"] * 40, "b": ["correct"] * 40, "c": ["correct", "incorrect"] * 20}, per_task=2),
            "termination",
        )
    )
    assert math.isnan(found.matrix[0, 1])
    said = texts(plot_agreement_matrix(found))
    assert said.count("–") == 2
    assert "−.00" not in said


def test_twenty_judges_stay_readable(shared_data):
    table = read_agentprocessbench(shared_data / "agentprocessbench", "hotpotqa")
    found = cross_family(pooled(table, "step", step_level=True), cluster_unit="query")
    figure = plot_agreement_matrices([found])
    assert len([text for text in texts(figure.axes[0]) if text[-3:].startswith(".")]) == 21 * 20
    assert not overlapping(figure.axes[0])
    assert not overlapping(plot_with_labels(found))


def test_several_questions_stand_side_by_side():
    found = [cross_family(pooled(panel(seed=seed), "termination")) for seed in range(3)]
    figure = plot_agreement_matrices(found)
    assert [ax.axison for ax in figure.axes] == [True, True, True, False]


def test_every_pair_is_a_dot_and_each_mean_has_its_interval():
    found = cross_family(pooled(panel(("a1", "a2", "b1", "b2"), people=("p",)), "termination"))
    ax = plot_families([found])
    dots = [line for line in ax.lines if line.get_marker() == "."]
    assert sorted(len(line.get_xdata()) for line in dots) == [2, 4]
    ends = {tuple(np.round(line.get_xdata(), 12)) for line in ax.lines if len(line.get_xdata()) == 2}
    assert tuple(np.round((found.within.ci_low, found.within.ci_high), 12)) in ends
    assert any("30 tasks" in text for text in texts(ax))


def test_families_of_one_judge_each_are_drawn_without_a_within_mark():
    ax = plot_families([cross_family(pooled(panel(("a1", "b1")), "termination"))])
    assert texts(ax)


def test_the_ceiling_is_drawn_where_two_people_labelled():
    with_two = plot_with_labels(cross_family(pooled(panel(people=("p", "q")), "termination")))
    with_one = plot_with_labels(cross_family(pooled(panel(people=("p",)), "termination")))
    assert "people among themselves" in texts(with_two)
    assert "people among themselves" not in texts(with_one)


def test_the_panel_s_worth_says_number_interval_and_majority():
    worth = panel_worth(pooled(panel(people=("p",)), "termination"))
    said = " ".join(texts(plot_panel_worth(worth)))
    assert f"majority {worth.measured.majority:.1%}" in said
    assert f"3 judges are worth {worth.measured.n_effective.estimate:.1f}" in said
    assert "Not shown: there are no labels" in " ".join(
        texts(plot_panel_worth(panel_worth(pooled(panel(), "termination"))))
    ).replace("\n", " ")


def test_triage_prints_its_four_cells():
    found = panel_triage(pooled(panel(), "termination"), quantile=0.25)
    ax = plot_triage(found)
    cells = [found.table.agree_sure, found.table.disagree_sure, found.table.agree_unsure, found.table.disagree_unsure]
    assert sum(cells) == 120
    for cell in cells:
        assert f"{cell} ({cell / 120:.0%})" in texts(ax)
    assert not overlapping(ax)
    assert any(
        "fewer than two judges" in text
        for text in texts(plot_triage(panel_triage(pooled(panel(confident=False), "termination"))))
    )


def test_reliability_says_n_source_and_what_a_calibrated_judge_would_show():
    table = panel(people=("p",)).with_columns(confidence_source=pl.lit("verbalized"))
    found = calibration(table, table)
    figure = plot_reliability(found)
    assert len(found.judges) == len(figure.axes) == 3
    for ax, judge in zip(figure.axes, found.judges, strict=True):
        assert (
            f"ECE {judge.curve.ece:.3f}, of a calibrated judge {judge.curve.ece_if_calibrated:.3f}" in ax.get_xlabel()
        )
        assert "verbalized, 120 verdicts" in texts(ax)
        assert not overlapping(ax)


def test_a_judge_that_always_says_the_same_confidence_is_a_point_with_its_band():
    table = panel(people=("p",)).with_columns(confidence=pl.when(pl.col("rater_kind") == "llm").then(0.9))
    figure = plot_reliability(calibration(table, table))
    assert all(len(ax.containers) == 1 for ax in figure.axes)
