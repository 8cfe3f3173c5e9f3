"""A judge bridged to its successor, and drift, from stored ratings alone."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import axisjudge
from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths, published_votes
from axisjudge.ratings.edge import completed
from axisjudge.studies.succession import (
    JudgeBridge,
    against_labels,
    anchor_tasks,
    doubts,
    drift_in_short,
    drift_of_judge,
    drift_sentence,
    largest_shift,
    next_step,
    not_restated,
    succession,
    verdict,
    widened,
)
from axisjudge.studies.succession.bridge import NOT_RANDOM, drift_rows, verdicts_of, watch_drift

OLD, NEW = "simulated:heron", "simulated:plover"


@pytest.fixture(scope="module")
def runs():
    return axisjudge.read_trajectories(*demo_paths()).trajectories


def runs_apart(ratings):
    return ratings.with_columns(run_id=pl.format("run {}", "repeat"))


@pytest.fixture(scope="module")
def bridged(runs):
    """The old judge on everything, three times, in a run each; the new one on every second task."""
    old = runs_apart(axisjudge.judge(runs, [OLD], ["sequencing", "termination"], repeats=3, progress=False))
    anchors = [run for run in runs if int(run.task_id[-2:]) % 2]
    return pl.concat([old, axisjudge.judge(anchors, [NEW], ["sequencing", "termination"], progress=False)])


def test_the_bridge_counts_what_changed_on_the_anchors(bridged):
    found = succession(bridged, OLD, NEW).bridge.bridge
    assert [bridge.question for bridge in found.bridges] == ["sequencing", "termination"]
    of_axis = bridged.filter((pl.col("question") == "termination") & (pl.col("repeat") == 0))
    wide = of_axis.pivot("rater", index="item_id", values="verdict").drop_nulls()
    bridge = found.bridges[1]
    assert bridge.n_anchors == wide.height == 56
    assert bridge.equivalence.agreement.estimate == pytest.approx((wide[OLD] == wide[NEW]).mean())
    assert bridge.to_incorrect == ((wide[NEW] == "incorrect") & wide[OLD].is_in(["correct", "not_applicable"])).sum()
    assert bridge.equivalence.self_agreement.n_items == 112  # over everything the old judge was asked again
    assert bridge.kappa.n_clusters == 14


def test_a_judge_that_succeeds_itself_is_equivalent(bridged):
    mine = bridged.filter(pl.col("rater") == OLD)
    twin = mine.filter(pl.col("repeat") == 0).with_columns(rater=pl.lit("twin"))
    found = succession(pl.concat([mine, twin]), OLD, "twin").bridge.bridge
    assert all(bridge.equivalence.equivalent for bridge in found.bridges)
    assert all(bridge.shift_within and bridge.agreement_enough for bridge in found.bridges)
    assert verdict(found).startswith("twin may take the place of simulated:heron on sequencing and termination")
    assert doubts(found) == []
    decided = [each for each in found.restated if each.rate.apparent.n_missing == 0]
    assert decided
    for each in decided:  # everything was bridged, so that nothing changes
        assert each.rate.rate.estimate == pytest.approx(each.before.estimate)


def test_more_anchors_are_counted_where_the_observed_shift_lies_within_the_margin(bridged):
    found = succession(bridged, OLD, NEW).bridge.bridge.bridges[0].equivalence
    for shift, half, tasks in ((0.03, 0.04, 40), (0.0, 0.05, 10), (0.06, 0.01, None)):
        seen = replace(found.shift, estimate=shift, ci_low=shift - half, ci_high=shift + half, n_clusters=10)
        assert anchor_tasks(replace(found, shift=seen, margin=0.05)) == tasks


def test_old_rates_are_restated_with_more_doubt_or_not_at_all(bridged):
    found = succession(bridged, OLD, NEW).bridge.bridge
    assert len(found.restated) == 8
    assert np.median([each.extra_doubt for each in found.restated]) > 1
    assert widened(found)
    unknown = succession(bridged, OLD, NEW, drawn="unknown").bridge.bridge
    assert all("not known" in each.rate.refusal for each in unknown.restated)
    assert widened(unknown) == []
    assert len(not_restated(unknown)) == 1
    nameless = succession(bridged.with_columns(agent=pl.lit(None, pl.String)), OLD, NEW).bridge.bridge.restated
    assert [(each.agent, each.before.n_clusters) for each in nameless] == [(None, 27), (None, 28)]
    assert len(nameless) == 2


def test_anchors_that_were_picked_show_no_equivalence_of_all_runs(bridged):
    mine = bridged.filter(pl.col("rater") == OLD)
    twin = pl.concat([mine, mine.filter(pl.col("repeat") == 0).with_columns(rater=pl.lit("twin"))])
    found = succession(twin, OLD, "twin", drawn="by_judge_verdict").bridge.bridge
    assert not any(bridge.equivalence.equivalent for bridge in found.bridges)
    assert all(bridge.equivalence.reasons == (NOT_RANDOM,) for bridge in found.bridges)
    assert "not drawn at random" in doubts(found)[0]
    with pytest.raises(InputError, match="drawn: must be one of random, by_judge_verdict, unknown"):
        succession(bridged, OLD, NEW, drawn="by_human_label")


def test_another_rubric_is_not_taken_for_another_judge(bridged):
    later = (pl.col("rater") == NEW) | (pl.col("repeat") == 2)
    text = pl.when(later).then(pl.lit("v2")).otherwise(pl.lit("v1"))
    versions = bridged.with_columns(rubric_version=text, rubric_sha256=text)
    with pytest.raises(InputError, match="need one rubric for sequencing; found '2 texts of v1 and v2'"):
        succession(versions, OLD, NEW)
    with pytest.raises(InputError, match="need one rubric for sequencing"):
        watch_drift(versions, OLD)


def test_results_are_plain_and_tables_come_back_in_kind(bridged):
    found = succession(bridged.to_pandas(), OLD, NEW)
    assert isinstance(found.bridge.table, pd.DataFrame)
    assert len(found.restated.table) == 8
    assert len(found.drift.table) == 0
    assert json.loads(json.dumps(found.bridge.to_dict()))["bridges"][0]["found"]["equivalent"] is False


def test_refusals_name_what_is_missing(bridged):
    with pytest.raises(InputError, match="must hold ratings by openai:gpt-5; found 'ratings by simulated:heron and"):
        succession(bridged, "openai:gpt-5", NEW)
    apart = bridged.filter((pl.col("rater") == OLD) | (pl.col("question") == "none"))
    other = bridged.filter(pl.col("rater") == NEW).with_columns(item_id=pl.lit("x") + pl.col("item_id"))
    with pytest.raises(InputError, match="judge an anchor set"):
        succession(pl.concat([apart, other]), OLD, NEW)
    with pytest.raises(InputError, match="keep those of one prompt_sha256"):
        succession(pl.concat([bridged, bridged]), OLD, NEW)
    with pytest.raises(InputError, match="must be another judge"):
        succession(bridged, OLD, OLD)
    with pytest.raises(InputError, match="did you mean 'sequencing'"):
        succession(bridged, OLD, NEW, questions=["termination", "sequencin"])


def test_a_steady_judge_goes_on_and_a_changed_one_is_stopped(bridged):
    mine = bridged.filter(pl.col("rater") == OLD)
    steady = watch_drift(mine, OLD)
    assert (steady.stopped_at, len(steady.occasions), steady.n_items) == (None, 2, 224)
    assert "no change reaches the stop rule" in drift_sentence(steady)
    stricter = (
        mine.filter(pl.col("repeat") == 0)
        .with_row_index()
        .with_columns(
            repeat=pl.lit(3, mine.schema["repeat"]),
            verdict=pl.when(pl.col("index") % 5 == 0).then(pl.lit("incorrect")).otherwise("verdict"),
        )
    )
    stricter = stricter.drop("index").select(mine.columns)
    early = watch_drift(runs_apart(pl.concat([mine, stricter])), OLD)
    assert early.stopped_at is None  # two runs in between do not show how far whole runs differ
    again = mine.with_columns(pl.col("repeat") + 3)
    late = stricter.with_columns(repeat=pl.lit(6, mine.schema["repeat"]))
    stopped = watch_drift(runs_apart(pl.concat([mine, again, late], how="vertical_relaxed")), OLD)
    assert stopped.stopped_at == 7
    assert "Stop: on occasion 7 the failure rate was" in drift_sentence(stopped)
    assert json.loads(json.dumps(stopped.to_dict()))["changes"][5]["stop"] is True


def test_the_repeats_of_one_run_are_one_occasion_and_do_not_measure_its_noise(bridged):
    mine = bridged.filter(pl.col("rater") == OLD).with_columns(run_id=pl.lit("first"))
    with pytest.raises(InputError, match=f"two occasions.*{mine['repeat'].n_unique()} repeats of one run"):
        watch_drift(mine, OLD)
    early = drift_of_judge(mine, OLD)  # the page says it, and keeps the answer of its bridge
    assert (early.drift, "two occasions" in early.answer) == (None, True)
    other = pl.when(pl.col("item_id").hash(0) % 5 == 0).then(pl.lit("incorrect")).otherwise("verdict")
    later = mine.filter(pl.col("repeat") == 0).with_columns(run_id=pl.lit("later"), repeat=pl.col("repeat") + 3)
    steady, stricter = (pl.concat([mine, each]) for each in (later, later.with_columns(verdict=other)))
    assert [(seen.number, seen.n_repeats) for seen in watch_drift(steady, OLD).seen] == [(1, 3), (2, 1)]
    assert [watch_drift(each, OLD).stopped_at for each in (steady, stricter)] == [None, None]
    assert [each.noise for each in watch_drift(steady, OLD).occasions] == ["not_measured"]
    assert [watch_drift(each, OLD).exit_code for each in (steady, stricter)] == [4, 4]
    assert "noise of occasions was not measured" in drift_sentence(watch_drift(stricter, OLD))
    assert "small ones may be there" in drift_in_short(watch_drift(steady, OLD))


def test_another_model_behind_the_name_stops_whatever_it_says(bridged):
    mine = bridged.filter(pl.col("rater") == OLD)
    model = pl.when(pl.col("repeat") == 2).then(pl.lit("m-2")).otherwise(pl.lit("m-1"))
    found = watch_drift(mine.with_columns(returned_model=model), OLD)
    assert (found.model_changed, found.stopped_at) == ((3,), 3)
    assert "m-2 answered, before it m-1" in drift_sentence(found)
    assert "though" not in drift_in_short(found)
    assert [row["model"] for row in drift_rows(found)] == ["m-1", "m-1", "m-2"]


def test_an_occasion_without_verdicts_is_told_and_is_no_other_model(bridged):
    mine = bridged.filter(pl.col("rater") == OLD)
    lost = pl.col("repeat") == 2
    model, verdict = pl.when(~lost).then(pl.lit("m-1")), pl.when(~lost).then("verdict")
    found = watch_drift(mine.with_columns(returned_model=model, verdict=verdict), OLD)
    assert found.stopped_at is None
    assert "Nothing can be compared with the first on occasion 3." in drift_sentence(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["changes"][1]["p_value"] is None


def test_a_rule_that_cannot_stop_says_so(bridged):
    mine = bridged.filter((pl.col("rater") == OLD) & pl.col("task_id").is_in(["01-01", "01-02", "01-03"]))
    found = watch_drift(mine, OLD)
    assert found.exit_code == 4
    assert "On occasion 2 and 3, with 3 tasks, no verdicts could have said stop" in drift_sentence(found)


def test_one_occasion_is_no_drift(bridged):
    with pytest.raises(InputError, match="must hold ratings by nobody; found 'ratings by simulated:heron"):
        watch_drift(bridged, "nobody")
    with pytest.raises(InputError, match="two occasions"):
        watch_drift(bridged, NEW)


def test_the_answer_names_the_largest_shift_with_its_interval(bridged):
    found = succession(bridged, OLD, NEW)
    shifts = {each.question: each.equivalence.shift for each in found.bridge.bridge.bridges}
    most = max(shifts, key=lambda question: abs(shifts[question].estimate))
    assert f"on {most}: its failure rate is {abs(100 * shifts[most].estimate):.1f} points" in found.answer
    lost = pl.when(pl.col("rater") != NEW).then("verdict")
    nothing = succession(bridged.with_columns(verdict=lost), OLD, NEW).bridge.bridge
    assert "no anchor did both decide" in largest_shift(nothing)
    assert "judge more anchors" in next_step(JudgeBridge(nothing))


def test_a_judge_that_was_asked_once_reaches_no_mark(bridged):
    once = bridged.filter(pl.col("repeat") == 0)
    found = succession(once, OLD, NEW).bridge.bridge
    assert "ask it about the anchors again" in next_step(JudgeBridge(found))
    for bridge in found.bridges:
        assert np.isnan(bridge.least_agreement)
        assert not bridge.agreement_enough


def test_an_anchor_set_is_watched_beside_the_bridge(bridged):
    watched = succession(bridged, OLD, NEW, anchors=bridged.filter(pl.col("rater") == OLD))
    assert watched.drift.to_dict() == watch_drift(bridged, OLD).to_dict()
    assert watched.drift.table["occasion"].to_list() == [1, 2, 3]
    assert watched.drift.answer == drift_sentence(watched.drift.drift)
    assert set(succession(bridged, OLD, NEW).drift.table.columns) == {"occasion"}


#: The old judge and the new one on eight runs, one a task: j1 and j2, a letter each.
PAIRS = ("ic", "cc", "ci", "ci", "nc", "uc", "cx", "ii")


@pytest.fixture
def by_hand(table):
    old_and_new = table({f"ant-{number}": {"sequencing": pair} for number, pair in enumerate(PAIRS)})
    again = table({f"ant-{number}": {"sequencing": pair[0]} for number, pair in enumerate(PAIRS)}, repeat=1)
    return pl.concat([old_and_new, again])


def test_verdicts_that_changed_are_counted_by_direction(by_hand):
    (bridge,) = succession(by_hand, "j1", "j2").bridge.bridge.bridges
    assert (bridge.to_correct, bridge.to_incorrect, bridge.one_sided) == (1, 2, 3)
    assert bridge.equivalence.shift.estimate == pytest.approx(1 / 5)  # of five on which both took a side
    assert bridge.least_agreement == pytest.approx(1 - 0.05)  # the old judge says the same again


def test_the_shift_must_lie_within_the_margin_at_both_ends(by_hand, bridged):
    (bridge,) = succession(by_hand, "j1", "j2").bridge.bridge.bridges
    shift = bridge.equivalence.shift
    assert shift.ci_low < -0.05
    assert not bridge.shift_within
    stricter = bridged.with_columns(
        verdict=pl.when((pl.col("rater") == NEW) & (pl.col("trajectory_id").hash(0) % 3 == 0))
        .then(pl.lit("incorrect"))
        .otherwise("verdict")
    )
    for one_way in succession(stricter, OLD, NEW).bridge.bridge.bridges:  # beyond the margin at the upper end alone
        assert one_way.equivalence.shift.ci_low > -0.05
        assert not one_way.shift_within


def test_independent_runs_get_the_posterior_and_widths_are_compared(by_hand, table):
    from scipy.stats import beta

    many = {f"ant-{number}": {"sequencing": PAIRS[number % 8]} for number in range(48)}
    (each,) = succession(table(many), "j1", "j2").bridge.bridge.restated
    decided = [pair[0] for pair in PAIRS * 6 if pair[0] in "ic"]
    ones, n = decided.count("i"), len(decided)
    assert (each.before.ci_low, each.before.ci_high) == pytest.approx(beta(ones + 0.5, n - ones + 0.5).interval(0.95))
    new = each.rate.rate
    assert each.extra_doubt == pytest.approx(
        (new.ci_high - new.ci_low) / (each.before.ci_high - each.before.ci_low), nan_ok=False
    )


def test_the_first_stop_counts(bridged):
    mine = bridged.filter(pl.col("rater") == OLD)
    other = pl.when(pl.col("repeat") >= 1).then(pl.lit("m-2")).otherwise(pl.lit("m-1"))
    found = watch_drift(mine.with_columns(returned_model=other), OLD)
    assert (found.model_changed, found.stopped_at) == ((2, 3), 2)


def test_step_ratings_are_bridged_and_named_where_they_are_not_asked_for():
    """Two judges of the shipped votes, whose labels are -1, 0 and +1 on steps."""
    table = published_votes("tau2", "step")
    one, other = "GPT-5.2", "GPT-5.2-Chat"
    with pytest.raises(InputError, match=r"74,697 ratings of steps'; say steps=true"):
        succession(table, one, other)
    (bridge,) = succession(table, one, other, steps=True, cluster_unit="query").bridge.bridge.bridges
    mine = table.filter(pl.col("rater").is_in([one, other]))
    codes = mine.pivot("rater", index="item_id", values="verdict").drop_nulls().select(one, other).cast(pl.Int64)
    expected = cohen_kappa_score(codes[one], codes[other], weights="quadratic")
    assert bridge.kappa.estimate == pytest.approx(expected)
    assert bridge.to_incorrect == ((codes[one] >= 0) & (codes[other] == -1)).sum()
    people = table.filter(pl.col("rater") == "people").select("item_id", people="verdict")
    for each in against_labels(table, table, one, other, steps=True, cluster_unit="query").judges:
        both = table.filter(pl.col("rater") == each.judge).join(people, on="item_id").drop_nulls("verdict")
        assert each.accuracy.estimate == pytest.approx((both["verdict"] == both["people"]).mean())
    with pytest.raises(InputError, match="leave out steps"):
        verdicts_of(table.with_columns(step_index=pl.lit(None, pl.Int64)), steps=True)


def occasions(rises, *, items=100, repeats=3, seed=3):
    """A judge on one anchor set; its failure rate rises from .2 by `rises` points an occasion."""
    rng = np.random.default_rng(seed)
    clear = rng.random(items)  # items keep their place: runs of one judge differ little
    rows = [
        {"trajectory_id": f"t{item}", "item_id": f"t{item}", "cluster_id": f"t{item}", "repeat": repeats * at + run}
        | {"run_id": f"r{at:02d}", "verdict": "incorrect" if clear[item] + 0.02 * rng.normal() < rate else "correct"}
        for at, rate in enumerate(0.2 + 0.01 * np.array(rises))
        for run in range(repeats)
        for item in range(items)
    ]
    constants = {"rater": "j", "rater_kind": "llm", "family": "f", "question": "termination", "scale": "verdict"}
    return completed(pl.DataFrame(rows).to_dict(as_series=False), **constants)


def test_all_occasions_together_show_a_slow_drift_and_none_where_there_is_none():
    steady, slow = (watch_drift(occasions(rises), "j") for rises in ([0] * 16, range(0, 32, 2)))
    assert steady.evidence.stopped_at is None
    assert steady.evidence.largest < 20
    assert slow.evidence.stopped_at is not None
    assert "drift is shown" in drift_sentence(slow)
    assert ("yet all occasions together show drift" in drift_in_short(slow)) == (slow.stopped_at is None)
    assert "though" not in drift_in_short(slow)
    assert [row["evidence"] for row in drift_rows(slow)][1:] == slow.evidence.e_values.tolist()
