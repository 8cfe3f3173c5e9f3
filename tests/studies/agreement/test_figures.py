"""Figures of agreement: every value is printed, families are framed, nothing overlaps, odd results are drawn."""

import math
from collections.abc import Iterator
from dataclasses import replace

import matplotlib
import numpy as np
import polars as pl
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from judged import ratings

from axisjudge.labels import read_agentprocessbench
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.ranking import Ranking, panel_triage
from axisjudge.studies.agreement.against_labels import panel_worth
from axisjudge.studies.agreement.by_family import (
    families_of,
    plot_agreement_matrix,
    plot_families,
    plot_panel_worth,
    plot_with_labels,
)
from axisjudge.studies.agreement.sentences import Agreed, answer
from axisjudge.studies.confidence import calibration, plot_reliability

WORDS = np.array(["correct", "incorrect"])


def families(panel, cluster_unit="task"):
    return families_of(panel, "", {"cluster_unit": cluster_unit, "ci_level": 0.95})


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


def test_a_judge_without_items_in_common_with_people_is_no_end_of_their_range():
    table = panel(people=("p",))
    apart = table.filter(pl.col("rater") == "a1").with_columns(
        rater=pl.lit("0 alone"), **{name: pl.col(name) + "x" for name in ("item_id", "trajectory_id", "cluster_id")}
    )
    found = families(pooled(pl.concat([table, apart]), "termination"))
    assert math.isnan(found.with_labels["0 alone"].estimate)
    how = plot_with_labels(found).figure.get_label()
    assert "nan" not in how
    assert "over 30 tasks" in how


def test_a_panel_of_which_nobody_judged_what_is_labelled_has_no_majority_drawn():
    table = panel(people=("p",)).with_columns(
        verdict=pl.when((pl.col("rater") != "p") == (pl.col("item_id") < "t00060")).then("verdict")
    )
    found = panel_worth(pooled(table, "termination"))
    assert found.measured.n_majority == 0
    assert not any("majority" in text for text in texts(plot_panel_worth(found)))


@pytest.mark.parametrize("share", [True, False])
def test_ranks_are_drawn_with_what_they_are_of(share):
    means = np.random.default_rng(1).normal([[75.65, 61.2]], 5, (12, 2)) / (100 if share else 1)
    sets = rank_sets(means, rng=np.random.default_rng(0))
    ranking = Ranking("the 2 agents", "mean score", ("elm", "fir"), sets, unit="spec", share=share)
    ax = ranking.plot()
    assert {f"elm ({text})" for text in texts(ax)} >= {ranking.leader}
    assert "12 specs" in ax.figure.get_label()
    assert ranking.table["specs"].to_list() == [12, 12]


def test_the_answer_and_its_differences_are_of_the_coefficient_that_was_asked_for():
    found = families_of(pooled(panel(), "termination"), "gwet_ac1", {"cluster_unit": "task", "ci_level": 0.95})
    assert "AC1 of two judges" in answer(Agreed.NOT_SHOWN, found, 1.0)
    within, across = (replace(found.within, estimate=value) for value in (0.61249, 0.50051))
    said = replace(found, within=within, across=across, difference=replace(found.difference, estimate=0.11198)).answer
    assert all(figure in said for figure in ("0.612", "0.501", "0.111 higher")), said
    for level, word in ((0.95, "is shown"), (0.99, "is not shown")):
        at_level = replace(found, p_families=0.03, difference=replace(found.difference, ci_level=level))
        assert f"so that it {word}" in at_level.answer


def test_the_matrix_prints_every_value_and_frames_each_family():
    found = families(pooled(panel(people=("p",)), "termination"))
    ax = plot_agreement_matrix(found)
    values = [f"{value:.2f}".replace("0.", ".", 1) for value in found.pairs["value"]]
    assert sorted(text for text in texts(ax) if text.startswith(".")) == sorted(values * 2)
    assert len(ax.patches) == 3  # a, b, people
    assert any("120 items in 30 tasks" in text for text in texts(ax))
    assert not overlapping(ax)


def test_an_undefined_pair_is_a_dash_and_a_value_just_below_nought_is_nought():
    found = families(
        pooled(
            ratings({"a": ["correct"] * 40, "b": ["correct"] * 40, "c": ["correct", "incorrect"] * 20}, per_task=2),
            "termination",
        )
    )
    assert math.isnan(found.matrix[0, 1])
    said = texts(plot_agreement_matrix(found))
    assert said.count("–") == 2
    assert "−.00" not in said


@pytest.mark.slow
def test_twenty_judges_stay_readable(shared_data):
    table = read_agentprocessbench(shared_data / "agentprocessbench", "hotpotqa")
    found = families(pooled(table, "step", step_level=True), cluster_unit="query")
    ax = plot_agreement_matrix(found)
    assert len([text for text in texts(ax) if text[-3:].startswith(".")]) == 21 * 20
    assert not overlapping(ax)
    assert not overlapping(plot_with_labels(found))


def test_families_stand_by_their_agreement_with_people_and_the_last_row_is_theirs():
    found = families(pooled(panel(("a1", "a2", "b1", "b2"), people=("p",)), "termination"))
    ax = plot_families(found)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "people"
    means = {(one.family_1, one.family_2): one.mean.estimate for one in found.by_family}
    best = max("ab", key=lambda name: means[name, "people"])
    assert ax.get_yticklabels()[0].get_text() == best
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == [f"{means[name, name]:.2f}".replace("0.", ".", 1) for name in (best, "ab".replace(best, ""))]
    assert not overlapping(ax)


def test_a_family_of_one_judge_has_a_dash_for_itself():
    ax = plot_families(families(pooled(panel(("a1", "b1")), "termination")))
    assert texts(ax).count("–") >= 2


def test_the_ceiling_is_drawn_where_two_people_labelled():
    with_two = plot_with_labels(families(pooled(panel(people=("p", "q")), "termination")))
    with_one = plot_with_labels(families(pooled(panel(people=("p",)), "termination")))
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
    ax = found.plot()
    cells = [found.cells.agree_sure, found.cells.disagree_sure, found.cells.agree_unsure, found.cells.disagree_unsure]
    assert sum(cells) == 120
    for cell in cells:
        assert f"{cell} ({cell / 120:.0%})" in texts(ax)
    assert not overlapping(ax)
    assert "fewer than two judges" in panel_triage(pooled(panel(confident=False), "termination")).answer


def test_reliability_says_n_source_and_what_a_calibrated_judge_would_show():
    table = panel(people=("p",)).with_columns(confidence_source=pl.lit("verbalized"))
    found = calibration(table, table)
    figure = plot_reliability(found.judges)
    assert len(found.judges) == len(figure.axes) == 3
    for ax, judge in zip(figure.axes, found.judges, strict=True):
        assert (
            f"ECE {judge.curve.ece:.3f}, of a calibrated judge {judge.curve.ece_if_calibrated:.3f}" in ax.get_xlabel()
        )
        assert "verbalized, 120 verdicts" in texts(ax)
        assert not overlapping(ax)


def test_a_judge_that_always_says_the_same_confidence_is_a_point_with_its_band():
    table = panel(people=("p",)).with_columns(confidence=pl.when(pl.col("rater_kind") == "llm").then(0.9))
    figure = plot_reliability(calibration(table, table).judges)
    assert all(len(ax.containers) == 1 for ax in figure.axes)
