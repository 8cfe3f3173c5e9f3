"""The twin matrix: what is counted, against whom, and when a claim is met; and the halo."""

import dataclasses
import json
import math

import matplotlib as mpl
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.studies.twins.matrix import NoInterval, Thresholds, halo, twin_matrix
from axisjudge.studies.twins.sentences import brief, claims, grid, halo_sentence, next_step
from axisjudge.trajectory import Trajectory
from axisjudge.twins import EDITS, Twin

mpl.use("Agg")


def pair(number, edit="misreported_amount"):
    """An original's id and a twin of it, each a task of its own; ids are agent-task, as `table` reads them."""
    return f"a-{number:03d}", Twin(
        f"a-{number:03d}", Trajectory(id=f"twin-{number:03d}", source="test"), edit, (), "x."
    )


def words(befores, afters, axis="result_interpretation"):
    """Ratings of originals and twins, one letter each, and the twins."""
    rated, twins = {}, []
    for number, (before, after) in enumerate(zip(befores, afters, strict=True)):
        original, twin = pair(number)
        rated |= {original: {axis: before}, twin.trajectory.id: {axis: after}}
        twins.append(twin)
    return rated, twins


def cell_of(table, befores, afters, axis="result_interpretation", **declared):
    rated, twins = words(befores, afters, axis)
    return twin_matrix(table(rated), twins, thresholds=Thresholds(**declared)).cell("j1", "misreported_amount", axis)


def test_only_originals_called_correct_start_and_the_others_are_counted(table):
    cell = cell_of(table, "ccccicuxn", "iicciiici")
    assert (cell.n_twins, cell.started, cell.not_correct, cell.original_lost) == (9, 5, 3, 1)
    assert (cell.moved, cell.rate.n_items) == (3, 5)


def test_undecided_and_lost_twins_are_counted_and_held_against_a_must(table):
    cell = cell_of(table, "c" * 6, "iiiunx")
    assert (cell.moved, cell.uncertain, cell.not_applicable, cell.lost) == (3, 1, 1, 1)
    assert cell.rate.estimate == 1.0
    assert cell.strict.estimate == 0.5
    assert cell.expected == "must"


def test_undecided_and_lost_twins_are_held_against_a_must_not_as_well(table):
    cell = cell_of(table, "c" * 4, "cuxc", axis="termination")
    assert cell.expected == "must_not"
    assert cell.rate.estimate == 0.0
    assert cell.strict.estimate == 0.5


@pytest.mark.parametrize(
    ("axis", "afters", "claim"),
    [
        ("result_interpretation", "i" * 40, "met"),
        ("result_interpretation", "i" * 8, "not shown"),  # 8 of 8: the lower bound is .63
        ("result_interpretation", "c" * 40, "failed"),
        ("termination", "c" * 100, "met"),  # 0 of 100: the upper bound is .036
        ("termination", "c" * 40, "not shown"),  # 0 of 40: .088, no proof of sameness
        ("termination", "i" * 20 + "c" * 20, "failed"),
    ],
)
def test_a_claim_is_decided_by_the_bound_not_by_the_estimate(table, axis, afters, claim):
    assert cell_of(table, "c" * len(afters), afters, axis).claim == claim


def test_the_bounds_are_clopper_and_pearsons_for_one_twin_a_task(table):
    """Rule of three, exactly: 0 of 100 has the upper bound 1 - .025^(1/100)."""
    cell = cell_of(table, "c" * 100, "c" * 100, "termination")
    assert cell.strict.ci_high == pytest.approx(1 - 0.025 ** (1 / 100), abs=1e-12)
    assert cell_of(table, "c" * 100, "c" * 100, "termination", margin=0.03).claim == "not shown"


def test_a_may_cell_makes_no_claim(table):
    rated, twins = words("cccc", "iiii", "sequencing")
    fabricated = [dataclasses.replace(twin, edit="fabricated_argument") for twin in twins]
    cell = twin_matrix(table(rated), fabricated).cell("j1", "fabricated_argument", "sequencing")
    assert (cell.expected, cell.claim, cell.moved) == ("may", "", 4)


def test_tasks_are_the_unit(table):
    """Twelve twins of one task are one observation: no interval, so no claim."""
    rated, twins = words("c" * 12, "i" * 12)
    one_task = table(rated).with_columns(cluster_id=pl.lit("retail/1"))
    cell = twin_matrix(one_task, twins).cell("j1", "misreported_amount", "result_interpretation")
    assert cell.strict.n_clusters == 1
    assert math.isnan(cell.strict.ci_low)
    assert cell.claim == "not shown"


def test_a_judge_without_ratings_of_an_axis_has_lost_originals_not_moved_ones(table):
    rated, twins = words("ccc", "iii")
    cell = twin_matrix(table(rated), twins).cell("j1", "misreported_amount", "termination")
    assert (cell.started, cell.original_lost, cell.moved) == (0, 3, 0)
    assert brief(cell) == "must_not: no original correct"


def test_a_twin_nobody_judged_is_an_error(table):
    rated, twins = words("cc", "ii")
    del rated[twins[1].trajectory.id]
    with pytest.raises(InputError, match="every twin"):
        twin_matrix(table(rated), twins)


def test_two_ratings_of_one_run_are_refused_and_repeats_counted(table):
    rated, twins = words("cc", "ii")
    twice = pl.concat([table(rated), table(rated, rubric_version="v2")])
    with pytest.raises(InputError, match="one rating for each run"):
        twin_matrix(twice, twins)
    repeated = pl.concat([table(rated), table(rated, repeat=1)])
    assert twin_matrix(repeated, twins).repeats_left_out == 4


def test_people_and_planted_truth_are_no_judges(table):
    rated, twins = words("cc", "ii")
    both = pl.concat([table(rated), table(rated, rater="planted", rater_kind="planted")])
    assert twin_matrix(both, twins).judges == ("j1",)


def test_the_whole_is_valid_json_and_says_what_it_found(table):
    rated, twins = words("c" * 40, "i" * 40)
    matrix = twin_matrix(table(rated), twins)
    plain = {key: value for key, value in matrix.to_dict().items() if key != "cells"}
    assert json.loads(json.dumps(plain)) == plain
    assert claims(matrix, "j1")[0] == "Of 1 kind of planted fault j1 is shown to notice 1 in 80% of runs or more."
    (row,) = grid(matrix, "j1")
    assert row["result_interpretation"] == "must 40/40 91.2–100% met"


def test_the_figure_draws_every_cell_and_computes_nothing(table):
    from axisjudge.studies.twins import plot_twin_matrix

    rated, twins = words("c" * 40, "i" * 39 + "u")
    ax = plot_twin_matrix(twin_matrix(table(rated), twins))
    drawn = [text.get_text() for text in ax.texts]
    assert "39/39 ✓" in drawn
    assert "91.0–100%, 1 undecided" in drawn
    assert drawn.count("none correct") == 4


def test_the_answer_counts_all_judges_and_names_who_fails(table):
    rated, twins = words("c" * 40, "i" * 40)
    missed = {run: dict.fromkeys(axes, "c") for run, axes in rated.items()}
    two = pl.concat([table(rated), table(missed, rater="blind")])
    matrix = twin_matrix(two, twins)
    both, kept = claims(matrix, *matrix.judges)
    assert "counted judge by judge, blind and j1 are shown to notice 1 in 80% of runs or more, and miss 1" in both
    assert "Missed: misreported amount on result interpretation by blind." in kept
    assert "result interpretation (blind)" in next_step(matrix)
    assert "(j1)" not in next_step(matrix)
    alone = twin_matrix(table(rated), twins)
    assert "Missed" not in " ".join(claims(alone, *alone.judges))
    rules = twin_matrix(pl.concat([table(rated, rater=name) for name in ("rules", "rules,all=True")]), twins)
    assert "rules and rules,all=True are shown" in claims(rules, *rules.judges)[0]  # not the rules and the rules
    nothing = twin_matrix(table({run: {"termination": "c"} for run in rated}), twins)
    assert "No run with a fault planted in it" in claims(nothing, "j1")[0]


def test_ratings_of_interactions_are_not_of_runs(table):
    rated, twins = words("cc", "ii")
    part = table(rated, interaction_id="chat-1", verdict="correct")
    assert twin_matrix(pl.concat([table(rated), part]), twins).cells == twin_matrix(table(rated), twins).cells


def test_the_study_is_its_parts_and_keeps_twins_out_of_the_halo(table):
    from axisjudge.studies.twins import twins as study

    originals = many_runs(HALO)
    twin = pair(0)[1]
    rated = originals | {twin.trajectory.id: {"tool_selection": "i", "sequencing": "i"}}
    truth = table(many_runs(APART), rater="people", rater_kind="human")
    found = study(table(rated), [twin], truth, margin=0.1)
    assert found.halo.halos == halo(table(originals), truth)
    assert found.moved.matrix == twin_matrix(table(rated), [twin], thresholds=Thresholds(margin=0.1))
    assert found.moved.to_dict()["margin"] == 0.1
    assert len(found.moved.table) == 5
    assert study(table(rated), [twin]).halo.halos == halo(table(originals))


# Halo


def many_runs(letters):
    """Runs from (tool_selection, sequencing) letters, one task each."""
    return {f"a-{n:03d}": {"tool_selection": a, "sequencing": b} for n, (a, b) in enumerate(letters)}


HALO = [("i", "i"), ("c", "c"), ("i", "i"), ("c", "c"), ("i", "c"), ("c", "c")] * 4
APART = [("i", "c"), ("c", "i"), ("i", "i"), ("c", "c"), ("i", "c"), ("c", "c")] * 4


def test_without_labels_there_is_a_correlation_and_no_halo(table):
    (found,) = halo(table(many_runs(HALO)))
    assert found.halo is None
    assert found.label_correlation is None
    assert "no halo" in halo_sentence(found)
    # 8 both, 4 first only, 12 none of 24: phi = (8 * 12 - 4 * 0) / sqrt(12 * 12 * 8 * 16)
    assert found.judge_correlation.estimate == pytest.approx(96 / math.sqrt(12 * 12 * 8 * 16))


def test_halo_is_the_judges_correlation_minus_the_labels(table):
    labels = table(many_runs(APART), rater="people", rater_kind="human")
    (found,) = halo(table(many_runs(HALO)), labels)
    # labels: 4 both, 8 first only, 4 second only, 8 none
    expected = 96 / math.sqrt(12 * 12 * 8 * 16) - (4 * 8 - 8 * 4) / math.sqrt(12 * 12 * 8 * 16)
    assert found.halo.estimate == pytest.approx(expected)
    assert found.halo.ci_low < expected < found.halo.ci_high
    assert found.halo.n_clusters == 24


def test_a_judge_that_is_the_labels_has_no_halo(table):
    same = table(many_runs(HALO), rater="people", rater_kind="human")
    (found,) = halo(table(many_runs(HALO)), same)
    assert found.halo.estimate == 0.0


def test_pairs_that_never_vary_say_so(table):
    (found,) = halo(table(many_runs([("c", "i"), ("c", "c")] * 10)))
    assert math.isnan(found.judge_correlation.estimate)
    assert found.judge_correlation.reason == NoInterval.NO_PAIR
    assert NoInterval.NO_PAIR in halo_sentence(found)
    assert found.pairs == ()


def test_what_one_side_left_undecided_counts_for_neither(table):
    labels = many_runs(APART)
    unsure = labels | {run: axes | {"sequencing": "u"} for run, axes in list(many_runs(HALO).items())[:3]}
    split = many_runs([("ic", "ic")] * 24)  # two labellers, one on either side: undecided as well
    tied = labels | dict(list(split.items())[:3])
    decided = {run: axes for run, axes in many_runs(HALO).items() if run not in list(labels)[:3]}
    (expected,) = halo(table(decided), table(labels, rater_kind="human"))
    for words_of in (unsure, tied):
        (found,) = halo(table(many_runs(HALO)), table(words_of, rater_kind="human"))
        for name in ("judge_correlation", "label_correlation"):
            assert getattr(found, name).estimate == pytest.approx(getattr(expected, name).estimate)


def test_few_tasks_have_no_interval(table):
    (found,) = halo(table(many_runs(HALO[:6])))
    assert found.judge_correlation.reason == NoInterval.FEW_TASKS
    assert math.isnan(found.judge_correlation.ci_low)
    assert NoInterval.FEW_TASKS in halo_sentence(found)


def test_a_judge_s_halo_is_plain_with_labels_and_without(table):
    (alone,) = halo(table(many_runs(HALO)))
    (beside,) = halo(table(many_runs(HALO)), table(many_runs(APART), rater="people", rater_kind="human"))
    assert (alone.to_dict()["halo"], alone.to_dict()["halo_low"], alone.to_dict()["pairs"]) == (None, None, 1)
    assert beside.to_dict()["halo_low"] == beside.halo.ci_low
    (pair_of_axes,) = beside.to_dict()["by_pair"]
    assert pair_of_axes["judge"] - pair_of_axes["labels"] == pytest.approx(beside.halo.estimate)


def test_labels_that_are_none_are_refused(table):
    with pytest.raises(InputError, match="people, or planted"):
        halo(table(many_runs(HALO)), table(many_runs(HALO)))


@pytest.mark.slow
def test_rules_on_the_demo_move_where_an_axis_is_plainly_broken():
    """Figures of our own judge on our own demo; they move when a rule or an edit does."""
    import axisjudge
    from axisjudge.datasets import demo_paths
    from axisjudge.readers import read_trajectories
    from axisjudge.twins import make_twins

    runs = read_trajectories(*demo_paths()).trajectories
    made = make_twins(runs, seed=0).twins
    matrix = twin_matrix(axisjudge.judge([*runs, *(twin.trajectory for twin in made)], progress=False), made)
    assert matrix.edits == EDITS
    assert matrix.cell("rules", "cut_tail", "termination").claim == "met"
    assert matrix.cell("rules", "fabricated_argument", "argument_validity").claim == "met"
    assert not [cell for cell in matrix.cells if cell.expected == "must_not" and cell.claim == "failed"]
