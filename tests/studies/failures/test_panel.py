"""How verdicts of a panel become any-judge and consensus failures, and what happens to those that are absent."""

import math

import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.studies.failures.panel import panel_of

AXIS = "sequencing"


@pytest.mark.parametrize(
    ("letters", "any_judge", "consensus"),
    [
        ("ii", 1, 1),
        ("ic", 1, 0),
        ("cc", 0, 0),
        ("iu", 1, math.nan),  # whether both would say so is open
        ("cu", 0, math.nan),  # consensus takes two that decide, whatever the one says
        ("uu", math.nan, math.nan),
        ("ix", 1, math.nan),  # a lost verdict is no verdict
        ("xx", math.nan, math.nan),
        ("i.", 1, math.nan),
        ("in", 1, math.nan),  # the question does not arise: no side taken
        ("cn", 0, math.nan),
        ("nn", math.nan, math.nan),  # the axis does not apply
        ("nu", math.nan, math.nan),
        ("iiu", 1, 1),  # two decide and agree
        ("iuu", 1, math.nan),
        ("ciu", 1, 0),
    ],
)
def test_votes_of_one_item(table, letters, any_judge, consensus):
    # a second run keeps judges in the panel that say nothing on the first
    panel = panel_of(table({"ant-1": {AXIS: letters}, "ant-2": {AXIS: "c" * len(letters)}}))
    assert panel.any_judge()[0, 0] == pytest.approx(any_judge, nan_ok=True)
    assert panel.consensus()[0, 0] == pytest.approx(consensus, nan_ok=True)


def test_every_absent_verdict_is_counted_by_its_reason(table):
    panel = panel_of(table({"ant-1": {AXIS: "iux"}, "ant-2": {AXIS: "n.c"}}))
    assert panel.uncertain.sum() == 1
    assert panel.lost.sum() == 1
    assert panel.not_rated.sum() == 1
    assert panel.not_applicable.sum() == 1
    assert panel.decided.sum() == 2


def test_the_planted_truth_and_people_are_no_judges(table):
    judges = table({"ant-1": {AXIS: "ic"}})
    truth = judges.with_columns(rater=pl.lit("planted"), rater_kind=pl.lit("planted")).head(1)
    person = judges.with_columns(rater=pl.lit("person"), rater_kind=pl.lit("human")).head(1)
    assert panel_of(pl.concat([judges, truth, person])).judges == ("j1", "j2")


def test_judges_can_be_chosen_and_a_misspelt_one_is_named(table):
    ratings = table({"ant-1": {AXIS: "ici"}})
    assert panel_of(ratings, judges=["j3", "j1"]).judges == ("j1", "j3")
    with pytest.raises(InputError, match="did you mean 'j3'"):
        panel_of(ratings, judges=["jj3"])


def test_repeats_are_left_out_and_counted(table):
    first = table({"ant-1": {AXIS: "cc"}})
    second = table({"ant-1": {AXIS: "ii"}}, repeat=1)
    panel = panel_of(pl.concat([first, second]))
    assert panel.repeats_left_out == 2
    assert panel.any_judge()[0, 0] == 0
    assert panel_of(pl.concat([first, second]), repeat=1).any_judge()[0, 0] == 1


def test_two_ratings_of_one_judge_on_one_item_are_refused(table):
    twice = pl.concat([table({"ant-1": {AXIS: "c"}}), table({"ant-1": {AXIS: "i"}}, rater_version="2")])
    with pytest.raises(InputError, match="ant-1 sequencing"):
        panel_of(twice)


def test_ratings_of_steps_are_no_verdicts_on_runs(table):
    with pytest.raises(InputError, match="whole trajectories"):
        panel_of(table({"ant-1": {AXIS: "c"}}, step_index=3))


def test_a_missing_column_is_named(table):
    with pytest.raises(InputError, match="rater"):
        panel_of(table({"ant-1": {AXIS: "c"}}).drop("rater"))


def test_a_table_that_is_none_is_refused():
    with pytest.raises(InputError, match="polars, pandas or arrow"):
        panel_of([1, 2])


def test_a_part_of_the_runs_keeps_its_own(table):
    panel = panel_of(table({"ant-1": {AXIS: "ii"}, "bee-1": {AXIS: "cc"}}))
    part = panel.where(np.array(panel.agents) == "bee")
    assert part.runs == ("bee-1",)
    assert part.any_judge().tolist() == [[0.0]]
