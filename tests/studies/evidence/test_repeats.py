"""Repeats: right by hand, refused where a judge was asked once, the published repeat as what it is."""

import json
import math

import polars as pl
import pytest

from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.judging import judge
from axisjudge.ratings import ratings_frame
from axisjudge.readers import read_trajectories
from axisjudge.studies.evidence.repeats import NoBands, NoRepeat, asked_again, published_repeat, variance
from axisjudge.workbench import home


@pytest.fixture
def asked(one_rating):
    """A table from {judge: {run: letters of its repeats}}; confidences by {(judge, run): c}, .8 otherwise."""

    def make(words, confidences=None, axis="termination"):
        return ratings_frame(
            one_rating(
                run,
                axis,
                name,
                letter,
                repeat=repeat,
                confidence=None if letter == "x" else (confidences or {}).get((name, run), 0.8),
            )
            for name, runs in words.items()
            for run, letters in runs.items()
            for repeat, letter in enumerate(letters)
        )

    return make


def test_pairs_and_flips_by_hand(asked):
    found = asked_again(asked({"j1": {"a-1": "ccc", "b-1": "cci", "a-2": "ixi", "b-2": "xxc"}}))
    (each,) = found.judges
    assert (each.n_items, each.n_repeats) == (4, 3)
    assert each.with_itself.agreement.estimate == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert each.with_itself.flips.estimate == pytest.approx(1 / 3)
    assert (each.with_itself.flips.n_items, each.with_itself.flips.n_missing) == (3, 1)
    assert (each.with_itself.flips.n_clusters, each.with_itself.flips.cluster_unit) == (2, "task")
    assert "j1, asked 3 times, repeats its verdict in 78%" in found.sentences[0]


def test_uncertain_is_a_verdict_and_lost_is_none(asked):
    (each,) = asked_again(asked({"j1": {"a-1": "cu", "a-2": "cx"}})).judges
    assert each.with_itself.flips.estimate == 1
    assert each.with_itself.flips.n_items == 1


def test_intervals_are_between_tasks_not_items(asked):
    runs = {f"{agent}-{task}": "ci" if task % 3 == 0 else "cc" for task in range(30) for agent in "abcd"}
    (each,) = asked_again(asked({"j1": runs})).judges
    assert each.with_itself.flips.estimate == pytest.approx(1 / 3)
    assert each.with_itself.flips.n_clusters == 30
    assert each.with_itself.flips.ci_high - each.with_itself.flips.ci_low > 0.3  # 120 independent items would give .17


def test_bands_are_of_each_judge_s_own_scale(asked):
    confidences = {
        (name, f"a-{task}"): base + 0.01 * task for name, base in (("j1", 0.1), ("j2", 0.6)) for task in range(30)
    }
    words = {name: {f"a-{task}": "ci" if task < 10 else "cc" for task in range(30)} for name in ("j1", "j2")}
    found = asked_again(asked(words, confidences))
    for each in found.judges:
        assert [band.flips.n_items for band in each.bands] == [10, 10, 10]
        assert [band.flips.estimate for band in each.bands] == [1, 0, 0]
    assert found.judges[0].bands[-1].low < found.judges[1].bands[0].high  # other limits for other judges
    (said,) = (text for text in found.sentences if text.startswith("j1 changed"))
    assert "10 of 10 items" in said
    assert "none of 10 items" in said


def test_equal_or_absent_confidences_have_no_bands_and_say_why(asked):
    runs = {f"a-{task}": "cc" for task in range(12)}
    table = asked({"j1": runs})
    (each,) = asked_again(table).judges
    assert (each.bands, each.no_bands) == ((), NoBands.EQUAL_CONFIDENCES)
    (each,) = asked_again(table.with_columns(confidence=pl.lit(None, dtype=pl.Float64))).judges
    assert (each.bands, each.no_bands) == ((), NoBands.NO_CONFIDENCES)


def test_one_repeat_is_refused_in_a_sentence(asked):
    found = asked_again(asked({"j1": {"a-1": "c", "a-2": "i"}, "j2": {"a-1": "c"}}))
    assert not found.any_again
    assert [each.refusal for each in found.judges] == [NoRepeat.ONE_REPEAT] * 2
    assert all(each.with_itself is None for each in found.judges)
    assert found.sentences == (f"No self-agreement of j1 and j2: {NoRepeat.ONE_REPEAT}.",)
    assert found.table["agreement"][0] is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_judge_asked_once_does_not_empty_the_others(asked):
    runs = {f"a-{task}": "ci" for task in range(12)}
    found = asked_again(asked({"j1": runs, "j2": runs, "j3": dict.fromkeys(runs, "c")}))
    assert found.any_again
    assert any(sentence.startswith("No self-agreement of j3") for sentence in found.sentences)
    (variance,) = found.variances
    assert variance.judges == ("j1", "j2")
    assert variance.components.n_items == 12


def test_variance_components_by_hand(asked):
    """Items differ, judges and repeats do not: all variance is of items, 1/4 with the n - 1 divisor."""
    runs = {f"a-{task}": "ii" if task % 2 else "cc" for task in range(10)}
    (variance,) = asked_again(asked({"j1": runs, "j2": runs})).variances
    found = variance.components
    assert found.item == pytest.approx(0.25 * 10 / 9)
    assert (found.item_judge, found.error) == (0, 0)
    assert found.bias == (0, 0)
    assert math.isnan(found.judge)  # two judges are fixed
    undecided = asked_again(asked({"j1": {**runs, "a-0": "cu"}, "j2": runs})).variances[0].components
    assert (undecided.n_items, undecided.n_missing) == (9, 1)


def test_repeats_of_one_run_of_judging_are_one_occasion(asked):
    """Two judges, eight repeats in four runs; on the last both say of every item what they do not say otherwise."""
    table = asked({judge: {f"a-{task}": "iiiiiicc" for task in range(10)} for judge in ("j1", "j2")})
    days = table.with_columns(run_id=pl.format("day {}", pl.col("repeat") // 2))
    (variance,) = asked_again(days).variances
    found = variance.components
    assert (found.n_occasions, found.n_repeats, found.error, found.item_occasion) == (4, 2, 0, 0)
    assert found.occasion == pytest.approx(0.25)  # of 1, 1, 1, 0
    assert "100% between occasions" in asked_again(days).sentences[-1]
    (unnamed,) = asked_again(table).variances
    assert (unnamed.components.n_occasions, math.isnan(unnamed.components.occasion)) == (1, True)
    assert "do not show how far other days differ" in asked_again(table).sentences[-1]


def test_all_lost_and_an_empty_table(asked):
    for table in (asked({"j1": {"a-1": "xx"}}), asked({})):
        found = asked_again(table)
        assert found.judges == ()
        assert found.table.height == 0
        assert found.sentences == ("No judge gave a verdict, so there is no repeat.",)


def test_messages(asked):
    table = asked({"j1": {"a-1": "cc"}})
    with pytest.raises(InputError, match="one rating for each run, question, judge and repeat"):
        asked_again(pl.concat([table, table]))
    with pytest.raises(InputError, match="n_bands: must be 2 or more"):
        asked_again(table, n_bands=1)


@pytest.fixture(scope="module")
def published():
    return pl.read_csv(home() / "data" / "published" / "repeat.csv")


def test_the_published_repeat_is_one_pair_and_no_rate(published):
    found = published_repeat(published)
    assert found.calls == (("correct", 0.98), ("incorrect", 0.90))
    assert found.with_itself.flips.ci_low == pytest.approx(0.025)  # exact, of one trial
    assert found.with_itself.flips.ci_high == 1
    assert "said correct at confidence 0.98, then incorrect at confidence 0.90" in found.answer
    assert "can change its verdict while its confidence stays at 0.90 or above" in found.answer
    assert "would allow a flip rate of 2.5% to 100.0%" in (found.answer)
    assert published_repeat(published.reverse()).calls == found.calls
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_published_repeat_that_did_not_flip_and_none(published):
    same = published_repeat(published.with_columns(verdict=pl.lit("correct")))
    assert "one verdict that did not change" in same.answer
    with pytest.raises(InputError, match="two or more"):
        published_repeat(published.head(1))
    with pytest.raises(InputError, match="one judge on one run and axis"):
        published_repeat(published.with_columns(axis=pl.Series(["termination", "sequencing"])))


@pytest.mark.slow
def test_the_demo():
    runs = read_trajectories(*demo_paths()).trajectories
    ratings = judge(runs, ["rules", "simulated:heron", "simulated:wren"], repeats=3, progress=False)
    found = asked_again(ratings)
    assert len(found.judges) == 15
    by_judge = {
        name: [each.with_itself.agreement.estimate for each in found.judges if each.judge == name and each.with_itself]
        for name in ("rules", "simulated:heron", "simulated:wren")
    }
    assert set(by_judge["rules"]) == {1.0}  # rules are deterministic
    assert all(0.7 < share < 1 for share in by_judge["simulated:heron"] + by_judge["simulated:wren"])
    for each in found.variances:  # the rules decide seldom: without them nearly all runs are split
        assert (each.judges, each.seldom) == (("simulated:heron", "simulated:wren"), ("rules",))
        assert each.components.n_items > 80
        assert "without rules, which decides" in variance(each, each.components)
    assert min(each.components.error for each in found.variances) > 0
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_verdict_a_run_says_nothing_of_a_judge_against_itself():
    runs = read_trajectories(*demo_paths()).trajectories[:2]
    found = studies.evidence(judge(runs, ["rules"], progress=False), runs)
    assert "none gave two verdicts on one run" in found.answer
