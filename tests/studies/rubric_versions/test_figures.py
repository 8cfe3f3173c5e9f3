"""Figures of the calibration loop draw what the result holds; untrusted text in the page of flips stays text."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import polars as pl
from version_worlds import table, world

from axisjudge.figures.markup import inline
from axisjudge.report.tables import as_polars, html_table
from axisjudge.studies._shared.frames import table_of
from axisjudge.studies.rubric_versions import (
    agreement_by_version,
    beliefs_moved,
    contested,
    flipped,
    judges_moved,
    rubric_versions,
)

NASTY = "<img src=x onerror=alert(1)> | **bold** \x1b[31m"


def turn_of(ratings):
    (turn,) = rubric_versions(ratings, {"argument_validity": ("v1", "v2")}).turns
    return turn


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def turn():
    ratings = table(*world(np.random.default_rng(1), tasks=12, hit=(0.75, 0.93)))
    return turn_of(ratings.with_columns(rationale=pl.lit(NASTY)))


def test_agreement_by_version_draws_every_estimate_with_its_interval(turn):
    ax = agreement_by_version([turn]).plot()
    drawn = {round(float(line.get_xdata()[0]), 9) for line in ax.lines if len(line.get_xdata()) == 1}
    for version in turn.versions:
        for name in ("percent", "ac1", "alpha"):
            assert round(version.coefficients[name].estimate, 9) in drawn
    assert "12 tasks" in " ".join(text.get_text() for text in ax.texts)


def test_beliefs_are_drawn_for_the_runs_that_moved_most(turn):
    figure = beliefs_moved(turn, most=5).plot().get_figure(root=True)
    assert len(figure.axes) == 2
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        turn.pair.items[at] for at in turn.moved_most(5)
    ]


def test_flips_show_noise_and_turnover(turn):
    ax = judges_moved(turn).plot()
    drawn = {round(float(line.get_xdata()[0]), 9) for line in ax.lines if len(line.get_xdata()) == 1}
    for shift in turn.shifts:
        assert {round(shift.noise, 9), round(shift.turnover, 9)} <= drawn


def test_untrusted_text_stays_text(turn):
    for frame in (flipped(turn, most=3).table, contested(turn).table):
        shown = html_table(as_polars(frame), {}, "", None)
        assert "<img" not in shown
        assert "&lt;img" in shown
    assert "\x1b" not in flipped(turn).text
    assert len(flipped(turn, most=3).table) == 3


def test_a_flip_stands_with_both_verdicts_and_the_run_that_it_is_of(turn):
    for row, flip in zip(flipped(turn, most=5).table.iter_rows(named=True), turn.flips, strict=False):
        assert (row["run"], row["axis"], row["judge"]) == (flip.item, "argument_validity", flip.judge)
        assert flip.before.verdict in row["v1"].split()
        assert flip.after.verdict in row["v2"].split()


def test_nothing_flipped_and_one_version_of_confidence_are_drawn_too():
    codes, confidences, task = world(np.random.default_rng(2), tasks=12, repeats=1)
    codes[1], confidences[:] = codes[0], np.nan
    ratings = table(codes, confidences, task).with_columns(confidence=pl.lit(None, dtype=pl.Float64))
    turn = turn_of(ratings)
    assert "No verdict flipped" in flipped(turn).text
    assert len(flipped(turn).table) == 0
    for part in (agreement_by_version([turn]), judges_moved(turn), beliefs_moved(turn)):
        assert inline(part.plot()).startswith("<img")
    assert not plt.get_fignums()


def test_no_judge_splits_a_panel_by_a_word_that_takes_no_side():
    """The grid of contested runs has those that the sentence beside it counts."""
    ratings = table(*world(np.random.default_rng(3), tasks=12, hit=(0.75, 0.6))).filter(pl.col("repeat") == 0)
    first = (pl.col("rater") == ratings["rater"][0]) & (pl.col("item_id").hash(0) % 3 == 0)
    verdict = pl.when(first).then(pl.lit("uncertain")).otherwise("verdict")
    newest = turn_of(ratings.with_columns(verdict=verdict))
    drawn = [tick.get_text() for tick in contested(newest).plot().get_yticklabels()]
    assert 0 < len(drawn) == newest.contested.n_split < newest.n_items


def test_what_a_polars_table_does_not_know_is_null():
    """NaN is above every number there: a judge of whom nothing is known passed `low > 0`."""
    frame = table_of([{"low": float("nan")}, {"low": 0.5}], "polars")
    assert frame.filter(pl.col("low") > 0)["low"].to_list() == [0.5]
