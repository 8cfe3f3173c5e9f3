"""Figures of judges against people: every judge has a row, undefined values are marked, colours are not alone."""

from collections.abc import Iterator

import matplotlib
import numpy as np
import polars as pl
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from judged import ratings

from axisjudge.studies.people import people as study
from axisjudge.studies.people.tables import plot_against_people, plot_corrected_rates, plot_stand_in

PLOTS = (plot_against_people, plot_corrected_rates, plot_stand_in)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def compared(*people, undecided=False):
    rng = np.random.default_rng(1)
    truth = rng.random(80) < 0.3
    words = {
        name: np.where(truth ^ (rng.random(80) < 0.15), "incorrect", "correct").tolist() for name in ("a", "b", *people)
    }
    if undecided:
        words["b"] = ["uncertain"] * 80
    both = [ratings(words, kinds=dict.fromkeys(people, "human"), question=name) for name in ("one", "two")]
    table = pl.concat(both)
    return study(table, n_draws=0).claims.comparison


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_each_question_has_a_panel_and_each_judge_a_row(plot):
    figure = plot(compared("ann", "bo", "cy")).get_figure()
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["one", "two"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b"]
    top, bottom = sorted(figure.axes[0].get_ylim())
    assert top < 0 < 1 < bottom
    figure.canvas.draw()


@pytest.mark.parametrize("plot", PLOTS)
def test_a_judge_without_a_value_is_marked(plot):
    figure = plot(compared("ann", undecided=True)).get_figure()
    if plot is not plot_corrected_rates:  # what people say of undecided items can be known
        assert "–" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.slow
def test_the_ceiling_is_drawn_where_there_is_one():
    assert "grey: people among themselves" in plot_against_people(compared("ann", "bo")).get_figure().get_supxlabel()
    assert "grey" not in plot_against_people(compared("ann")).get_figure().get_supxlabel()


def test_judges_stand_by_the_share_on_which_they_say_what_people_say():
    found = compared("ann")
    ax = plot_against_people(found)
    shares = {judge.judge: judge.majority.accuracy.given.estimate for judge in found.questions[0].judges}
    named = [label.get_text() for label in ax.get_yticklabels()]
    assert named == sorted(shares, key=shares.get, reverse=True)


def test_passing_is_told_by_filling_and_not_by_colour_alone():
    found = compared("ann", "bo", "cy")
    figure = plot_stand_in(found).get_figure()
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    faces = [line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "o"]
    passed = [judge.stand_in.judge.passed for judge in found.questions[0].judges]
    assert sorted(rows) == sorted(judge.judge for judge in found.questions[0].judges)
    assert [face != "white" for face in faces] == passed
