"""Confidences against labels: right by hand, each source apart, and what cannot be measured is said."""

import math
import re

import numpy as np
import polars as pl
import pytest
from judged import ratings

from axisjudge.checks import InputError
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies.confidence import Missing, calibration, gap

YES, NO, MAYBE, OPEN = "correct", "incorrect", "uncertain", "not_applicable"


def labels(words):
    return ratings({"truth": words}, kinds={"truth": "planted"})


def judged(words, confidence, **columns):
    return ratings({"judge": words}, confidences={"judge": confidence}).with_columns(
        confidence_source=pl.lit("verbalized"), **columns
    )


def test_accuracy_brier_and_auroc_by_hand():
    found = calibration(judged([YES, YES, NO, NO], [0.9, 0.8, 0.7, 0.6]), labels([YES, NO, NO, YES])).judges[0]
    assert (found.accuracy, found.mean_confidence) == (0.5, pytest.approx(0.75))
    assert found.curve.brier == pytest.approx((0.1**2 + 0.8**2 + 0.3**2 + 0.6**2) / 4)
    assert found.auc.estimate == 0.75
    parts = found.curve.miscalibration - found.curve.discrimination + found.curve.uncertainty
    assert parts == pytest.approx(found.curve.brier)
    assert "right on 50% of 4 verdicts, " in found.sentence
    assert "and 75% sure on average, 25 points more" in found.sentence
    alone = clustered_proportion([1, 0, 1, 0])
    assert (found.right.ci_low, found.right.ci_high) == (alone.ci_low, alone.ci_high)


def test_sources_of_confidence_are_never_pooled():
    table = judged([YES] * 4 + [NO] * 4, [0.9] * 4 + [0.5] * 4).with_columns(
        confidence_source=pl.when(pl.col("item_id") < "t00004").then(pl.lit("verbalized")).otherwise(pl.lit("native"))
    )
    found = calibration(table, labels([YES] * 8)).judges
    assert [(one.source, one.curve.n_items, one.accuracy) for one in found] == [("native", 4, 0), ("verbalized", 4, 1)]


def test_uncertain_lost_and_unlabelled_are_left_out_and_counted_never_wrong():
    table = judged([YES, MAYBE, OPEN, None, YES, NO, YES, YES], [0.9, 0.5, 0.5, None, 0.9, 0.8, 0.9, 0.9])
    people = {"p1": [*[YES] * 5, NO, MAYBE, YES], "p2": [*[YES] * 4, NO, NO, OPEN, MAYBE]}
    found = calibration(table, ratings(people, kinds=dict.fromkeys(people, "human"))).judges[0]
    assert (found.curve.n_items, found.accuracy) == (3, 1.0)
    assert (found.n_no_side, found.n_lost, found.n_unlabelled) == (2, 1, 2)
    assert "Left out: 2 without a side, 1 lost, 2 without a label." in found.sentence


def test_a_judge_that_never_takes_a_side_is_named_and_alone_is_no_answer_without_a_reason():
    silent = judged([MAYBE, OPEN], [0.9, 0.6])
    alone = calibration(silent, labels([YES, NO]))
    assert alone.missing is Missing.NO_SIDE
    assert alone.missing in alone.answer
    beside = pl.concat([silent, judged([YES, NO], [0.9, 0.6]).with_columns(rater=pl.lit("other"))])
    assert calibration(beside, labels([YES, NO])).without == ("judge",)


def test_what_is_not_counted_is_said_other_repeats_and_verdicts_without_a_confidence():
    first = judged([YES, YES, NO, NO], [0.9, 0.8, None, None])
    again = first.with_columns(repeat=pl.lit(3, dtype=pl.Int64))
    found = calibration(pl.concat([first, again]), labels([YES, NO, NO, YES]))
    assert (found.judges[0].curve.n_items, found.judges[0].n_unsure) == (2, 2)
    assert "2 without such a confidence" in found.judges[0].sentence
    assert found.to_dict()["calibration"]["repeats_left_out"] == 4
    assert any("4 ratings of other repeats" in sentence for sentence in found.sentences)


def test_several_questions_are_said_to_be_together_and_one_person_counts_once():
    both = [judged([YES, NO], [0.9, 0.8]).with_columns(question=pl.lit(name)) for name in ("a", "b")]
    truth = [labels([YES, NO]).with_columns(question=pl.lit(name)) for name in ("a", "b")]
    assert "of 4 verdicts on 2 questions" in calibration(pl.concat(both), pl.concat(truth)).judges[0].sentence
    people = ratings({"p1": [YES, NO], "p2": [YES, YES]}, kinds={"p1": "human", "p2": "human"})
    again = people.filter(rater="p1").with_columns(repeat=pl.lit(1, dtype=pl.Int64))
    assert (
        calibration(both[0], pl.concat([people, again]).with_columns(question=pl.lit("a"))).judges[0].right.n_items == 1
    )


def test_labels_in_numbers_are_called_so():
    people = labels([YES, NO]).with_columns(verdict=pl.lit(None, dtype=pl.String), value=pl.lit(70.0))
    with pytest.raises(InputError, match="are numbers"):
        calibration(judged([YES, NO], [0.9, 0.8]), people)


@pytest.mark.parametrize(("accuracy", "confidence"), [(0.252, 0.906), (0.905, 0.2549), (0.4951, 0.5049)])
def test_the_gap_is_that_of_the_shares_beside_it(accuracy, confidence):
    right, sure, *points = map(int, re.findall(r"\d+", gap(accuracy, confidence)))
    assert points == ([abs(right - sure)] if right != sure else [])


def test_maps_are_fitted_on_the_calibration_split_and_tried_elsewhere_only():
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.6, 1, 400)
    right = rng.random(400) < confidence - 0.3  # overconfident by .3
    words = [YES if one else NO for one in right]
    split = pl.Series("split", ["calibration"] * 200 + ["evaluation"] * 200)
    found = calibration(judged(words, confidence.tolist(), split=split), labels([YES] * 400)).judges[0].recalibration
    assert (found.n_fitted, found.n_tested) == (200, 200)
    tested = slice(200, 400)
    assert found.as_given == pytest.approx(((confidence[tested] - right[tested]) ** 2).mean())
    assert found.platt < found.as_given - 0.05
    assert found.isotonic < found.as_given - 0.05


def test_without_a_split_nothing_is_recalibrated():
    found = calibration(judged([YES, NO] * 20, [0.9, 0.6] * 20), labels([YES, YES] * 20)).judges[0].recalibration
    assert math.isnan(found.platt)
    assert "no calibration split" in found.reason


def test_confidence_that_ranks_nothing_is_said_and_not_mapped():
    split = pl.Series("split", ["calibration"] * 20 + ["evaluation"] * 20)
    table = judged([YES, NO] * 20, [0.6, 0.9] * 20, split=split)
    found = calibration(table, labels([YES] * 40)).judges[0].recalibration
    assert math.isnan(found.platt)
    assert found.as_given == pytest.approx((0.4**2 + 0.9**2) / 2)
    assert "must rise with the share of correct verdicts" in found.reason


def test_judges_without_confidences_are_named():
    table = pl.concat([judged([YES, NO], [0.9, 0.6]), ratings({"mute": [YES, NO]})])
    found = calibration(table, labels([YES, YES]))
    assert found.without == ("mute",)
    assert found.sentences[-1].endswith(": mute.")


def test_wrong_input_is_named():
    table = judged([YES, NO], [0.9, 0.6])
    with pytest.raises(InputError, match="labels: must be of people, or planted truth"):
        calibration(table, table)
    with pytest.raises(InputError, match="labels: must label items that were rated"):
        calibration(table, labels([YES, YES]).with_columns(item_id=pl.lit("elsewhere")))
    with pytest.raises(InputError, match="ratings: must hold confidences on labelled items"):
        calibration(ratings({"judge": [YES]}), labels([YES]))
    with pytest.raises(InputError, match="ratings: must be of judges"):
        calibration(labels([YES]), labels([YES]))
    with pytest.raises(InputError, match="one rating for each item and question"):
        calibration(pl.concat([table, table]), labels([YES, YES]))
