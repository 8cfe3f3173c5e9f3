"""The run scorecard: the worked example of the text, each rule, and what must hold whatever comes in."""

import doctest
import importlib
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.scores.scorecard import (
    COMPONENTS,
    Run,
    ScorecardRules,
    frozen_baseline,
    runs_frame,
    score_run,
    score_runs,
    scorecards,
    tier_of,
    without,
)
from axisjudge.scores.scorecard.components import latency, round_half_up, weighted_score

RULES = ScorecardRules()
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
WORKSPACE = {"agent_id": "agent-a", "workspace_id": "space-1"}
RESOURCES = {"memory_peak_bytes": 10.0, "memory_limit_bytes": 100.0, "cpu_throttled_ms": 0.0, "cpu_wall_ms": 1000.0}


def at(minutes: float) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


def run(run_id: str = "run-1", **fields) -> Run:
    return Run.model_validate({"run_id": run_id, **WORKSPACE, **fields})


def stages(first: int, executed: int) -> list[dict]:
    return [{"name": f"gate-{k}", "attempts": 1 if k < first else 3, "passed": True} for k in range(executed)]


def completed(walls, *, start=0.0, name="old", **fields) -> list[Run]:
    return [
        run(f"{name}-{k}", outcome="COMPLETED", wall_seconds=float(wall), ended_at=at(start + k), **fields)
        for k, wall in enumerate(walls)
    ]


def score_of(*components: int) -> int:
    return int(weighted_score(components, RULES.whole_weights))


@pytest.mark.parametrize("name", ["rules", "components", "baseline", "card"])
def test_the_examples_in_the_docstrings(name):
    found = doctest.testmod(importlib.import_module(f"axisjudge.scores.scorecard.{name}"))
    assert found.attempted
    assert not found.failed


class TestWorkedExample:
    """Components 100, 85, 72, 93 are 89.2, so 89, Gold (the text)."""

    def test_from_components(self):
        assert score_of(100, 85, 72, 93) == 89
        assert tier_of(89) == "Gold"

    def test_from_a_run(self):
        """17 of 20 stages at once; 120 s against a p50 of 100 s (72); a tenth of the memory, never throttled (93)."""
        this = run(
            "run-x", outcome="COMPLETED", stages=stages(17, 20), wall_seconds=120.0, ended_at=at(60), **RESOURCES
        )
        card = score_run(this, completed([100] * 5))
        assert card.answer() == {
            "run_id": "run-x",
            "score": 89,
            "tier": "Gold",
            "formula_version": "2",
            "axes": {"completion": 100, "error_rate": 85, "latency": 72, "resource_efficiency": 93},
        }
        assert (card.low, card.high, card.reasons) == (89, 89, {})


class TestRounding:
    def test_halves_round_up_not_to_even(self):
        assert round_half_up([0.5, 1.5, 2.5, 49.5]).tolist() == [1, 2, 3, 50]

    def test_a_half_that_binary_fractions_miss_is_still_a_half(self):
        """In floats this sum is 5.499999999999999; by hand it is 5.4 + 0.1 = 5.5."""
        assert 0.4 * 0 + 0.3 * 18 + 0.2 * 0 + 0.1 * 1 < 5.5
        assert score_of(0, 18, 0, 1) == 6

    def test_every_score_equals_exact_arithmetic(self):
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, 101, (20_000, 4))
        exact = (2 * (4 * drawn[:, 0] + 3 * drawn[:, 1] + 2 * drawn[:, 2] + drawn[:, 3]) + 10) // 20
        assert (weighted_score(drawn, RULES.whole_weights) == exact).all()


class TestCompletion:
    @pytest.mark.parametrize(("outcome", "points"), [("COMPLETED", 100), ("BLOCKED", 30), ("FAILED", 0)])
    def test_points(self, outcome, points):
        assert score_run(run(outcome=outcome)).components["completion"] == points

    @pytest.mark.parametrize("outcome", ["completed", "DONE", "", None])
    def test_unknown_is_neutral_with_a_reason_or_an_error_when_strict(self, outcome):
        card = score_run(run(outcome=outcome))
        assert card.components["completion"] == 50
        assert "outcome" in card.reasons["completion"]
        with pytest.raises(InputError, match=r"run run-1, completion.*outcome"):
            score_run(run(outcome=outcome), strict=True)


class TestErrorRate:
    @pytest.mark.parametrize(("first", "executed", "points"), [(3, 3, 100), (2, 3, 67), (1, 8, 13), (0, 4, 0)])
    def test_share_of_stages_passed_at_once_half_up(self, first, executed, points):
        assert score_run(run(stages=stages(first, executed))).components["error_rate"] == points

    def test_failed_at_the_only_attempt_is_not_passed(self):
        failed = [{"name": "lint", "attempts": 1, "passed": False}, {"name": "test", "attempts": 1, "passed": True}]
        assert score_run(run(stages=failed)).components["error_rate"] == 50

    def test_a_stage_of_no_attempts_was_not_executed(self):
        skipped = [*stages(1, 1), {"name": "deploy", "attempts": 0, "passed": False}]
        assert score_run(run(stages=skipped)).components["error_rate"] == 100

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (None, "no stages given"),
            ([], "no stage was executed"),
            ([{"name": "lint", "attempts": -1, "passed": True}], "negative"),
        ],
    )
    def test_no_stages_is_unavailable_not_zero(self, given, reason):
        card = score_run(run(stages=given))
        assert card.components["error_rate"] == 50
        assert reason in card.reasons["error_rate"]

    def test_more_passed_than_executed_is_no_count(self):
        table = pl.DataFrame({"run_id": ["a"], "stages_executed": [3], "stages_passed_first": [4]})
        assert score_runs(table)["error_rate_reason"][0] == "more stages passed than were executed"


class TestLatency:
    @pytest.mark.parametrize(
        ("ratio", "points"), [(0, 100), (0.5, 100), (1, 80), (1.75, 50), (2.99, 0), (3, 0), (3.5, 0), (100, 0)]
    )
    def test_curve(self, ratio, points):
        assert latency(ratio * 60, 60, full_at=0.5, zero_at=3.0) == points

    def test_full_at_one_is_the_original_program(self):
        assert latency([30, 60, 120, 180], 60, full_at=1.0, zero_at=3.0).tolist() == [100, 100, 50, 0]

    def test_p50_of_zero_is_full_only_for_zero_seconds(self):
        instant = completed([0] * 5)
        for wall, points in ((0.0, 100), (0.001, 0)):
            card = score_run(run(wall_seconds=wall, ended_at=at(60)), instant)
            assert card.components["latency"] == points
            assert "latency" not in card.reasons

    def test_a_tiny_baseline_does_not_overflow(self):
        assert latency(1e8, 5e-324, full_at=0.5, zero_at=3.0) == 0


class TestBaseline:
    def card(self, history, **fields):
        return score_run(run(**{"wall_seconds": 60.0, "ended_at": at(600), **fields}), history)

    def test_median_of_an_even_number_is_the_mean_of_the_middle_two(self):
        assert self.card(completed([1, 2, 3, 5, 8, 13])).baseline_seconds == 4

    def test_only_the_last_twenty(self):
        card = self.card(completed([1000] * 30 + [60] * 20))
        assert (card.baseline_seconds, card.baseline_runs) == (60, 20)

    def test_fewer_than_five_is_no_baseline(self):
        card = self.card(completed([60] * 4))
        assert card.components["latency"] == 50
        assert card.reasons["latency"] == "4 completed runs before it; a baseline needs 5"
        assert self.card(completed([60] * 5)).components["latency"] == 80

    def test_only_completed_runs_of_the_same_workspace(self):
        other = completed([1] * 9, name="other", workspace_id="space-2")
        failed = [
            old.model_copy(update={"run_id": f"f-{old.run_id}", "outcome": "FAILED"}) for old in completed([1] * 9)
        ]
        assert self.card([*completed([60] * 5), *other, *failed]).baseline_seconds == 60

    def test_a_run_never_counts_for_itself(self):
        this = run(outcome="COMPLETED", wall_seconds=1.0, ended_at=at(600))
        card = score_run(this, [*completed([60] * 5), this])
        assert (card.baseline_seconds, card.baseline_runs) == (60, 5)

    def test_runs_of_one_instant_are_not_before_each_other(self):
        twins = [old.model_copy(update={"ended_at": at(600)}) for old in completed([1] * 9)]
        assert self.card(twins).baseline_runs == 0

    def test_at_the_edge_of_the_window_the_longer_of_one_instant_count(self):
        """22 before; the oldest three ended together, and one of them still fits."""
        together = [old.model_copy(update={"ended_at": at(-1)}) for old in completed([7, 9, 8], name="tie")]
        later = completed([1] * 9 + [20] * 10)
        assert self.card([*together, *later]).baseline_seconds == 14.5  # of 1 x 9, 9, 20 x 10
        assert self.card([*reversed(later), *reversed(together)]).baseline_seconds == 14.5

    def test_offsets_are_one_time(self):
        east = completed([60] * 5)
        there = [
            old.model_copy(
                update={"ended_at": (NOON + timedelta(hours=9, minutes=k)).replace(tzinfo=None).isoformat() + "+09:00"}
            )
            for k, old in enumerate(east)
        ]
        assert self.card(there).baseline_runs == 5
        assert score_run(run(wall_seconds=60.0, ended_at=at(0)), there).baseline_runs == 0

    def test_frozen_is_the_p50_of_the_first_runs_and_needs_no_end_time(self):
        table = runs_frame([*completed([100] * 20 + [10] * 20), *completed([5] * 4, workspace_id="new", name="n")])
        frozen = frozen_baseline(table)
        assert frozen == {"space-1": 100.0}
        card = score_run(run(wall_seconds=100.0), baseline=frozen)
        assert card.components["latency"] == 80
        missing = score_run(run(wall_seconds=100.0, workspace_id="new"), baseline=frozen)
        assert missing.reasons["latency"] == "no frozen baseline of this workspace"

    def test_a_frozen_trend_shows_what_a_rolling_one_hides(self):
        table = runs_frame(completed([100] * 25 + [50] * 40))
        rolling, frozen = (
            score_runs(table, baseline=kind)["latency"][-1] for kind in ("rolling", frozen_baseline(table))
        )
        assert (rolling, frozen) == (80, 100)


class TestResources:
    @pytest.mark.parametrize(
        ("peak", "limit", "throttled", "elapsed", "points"),
        [
            (0, 100, 0, 10, 100),
            (100, 100, 10, 10, 0),
            (300, 100, 99, 10, 0),
            (50, 100, 0, 10, 65),
            (0, 100, 10, 10, 70),
        ],
    )
    def test_seven_parts_memory_three_parts_cpu(self, peak, limit, throttled, elapsed, points):
        fields = dict(zip(RESOURCES, map(float, (peak, limit, throttled, elapsed)), strict=True))
        assert score_run(run(**fields)).components["resource_efficiency"] == points

    @pytest.mark.parametrize("missing", list(RESOURCES))
    def test_half_of_it_is_not_enough(self, missing):
        card = score_run(run(**RESOURCES | {missing: None}))
        assert card.components["resource_efficiency"] == 50
        assert card.reasons["resource_efficiency"] == f"{missing} not given"

    @pytest.mark.parametrize("nothing", ["memory_limit_bytes", "cpu_wall_ms"])
    def test_nothing_to_use(self, nothing):
        assert score_run(run(**RESOURCES | {nothing: 0.0})).reasons["resource_efficiency"] == f"{nothing} is 0"


class TestFailSafe:
    def test_flawless_without_baseline_and_resources_is_85_from_70_to_100(self):
        card = score_run(run(outcome="COMPLETED", stages=stages(5, 5), wall_seconds=1.0, ended_at=at(0)))
        assert (card.score, card.low, card.high, card.tier) == (85, 70, 100, "Gold")
        assert set(card.reasons) == {"latency", "resource_efficiency"}

    def test_nothing_known_is_fifty_of_0_to_100(self):
        card = score_run(run())
        assert (card.score, card.low, card.high) == (50, 0, 100)
        assert set(card.reasons) == set(COMPONENTS)

    @pytest.mark.parametrize("field", ["wall_seconds", *RESOURCES])
    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (-1.0, "is negative"),
            (math.nan, "is not a finite number"),
            (math.inf, "is not a finite number"),
            (-math.inf, "is not a finite number"),
            (1e300, "is absurdly large"),
        ],
    )
    def test_what_cannot_be_a_measurement_is_neutral_with_a_reason(self, field, value, reason):
        fields = {"wall_seconds": 1.0, "ended_at": at(600), **RESOURCES, field: value}
        card = score_run(run(**fields), completed([60] * 5))
        assert set(card.reasons) == {"completion", "error_rate"} | {
            "latency" if field == "wall_seconds" else "resource_efficiency"
        }
        assert f"{field} {reason}" in card.reasons.values()

    @pytest.mark.parametrize(
        "ended_at", [None, "yesterday", "1970-01-01T00:00:00Z", "2126-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"]
    )
    def test_an_end_time_that_cannot_be(self, ended_at):
        assert "end time" in score_run(run(wall_seconds=1.0, ended_at=ended_at), completed([60] * 5)).reasons["latency"]

    def test_runs_with_unusable_times_enter_no_baseline(self):
        spoilt = [
            old.model_copy(update={"run_id": f"bad-{k}", **wrong})
            for k, (old, wrong) in enumerate(
                zip(
                    completed([1] * 4),
                    (
                        {"wall_seconds": -5.0},
                        {"wall_seconds": math.nan},
                        {"ended_at": None},
                        {"ended_at": "1970-01-01"},
                    ),
                    strict=True,
                )
            )
        ]
        card = score_run(run(wall_seconds=60.0, ended_at=at(600)), [*completed([60] * 5), *spoilt])
        assert (card.baseline_seconds, card.baseline_runs) == (60, 5)

    def test_fields_that_cannot_be_read_do_not_raise(self):
        wrong = {"run_id": "a b", "outcome": 7, "stages": "lint", "wall_seconds": "fast", "cpu": 1, "agent_id": None}
        card = score_run(wrong)
        assert (card.run_id, card.score) == ("unidentified", 50)
        assert card.reasons["latency"].startswith("wall_seconds: ")
        assert card.reasons["error_rate"].startswith("stages: ")
        with pytest.raises(InputError):
            score_run(wrong, strict=True)

    def test_a_source_of_the_baseline_that_raises_does_not_raise(self):
        def broken():
            raise ConnectionError("no database")

        this = run(wall_seconds=1.0, ended_at=at(0))
        assert score_run(this, broken).reasons["latency"] == "the source of the baseline failed (ConnectionError)"
        with pytest.raises(ConnectionError):
            score_run(this, broken, strict=True)

    def test_a_run_that_is_not_scored_is_unranked_and_still_typical(self):
        history = [old.model_copy(update={"scored": False}) for old in completed([60] * 5)]
        cards = list(scorecards(score_runs(runs_frame([*history, run(wall_seconds=60.0, ended_at=at(600))]))))
        assert (cards[0].score, cards[0].tier, cards[0].components, cards[0].reasons) == (None, "Unranked", {}, {})
        assert cards[-1].components["latency"] == 80


class TestRules:
    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ({"completion": 0.4, "error_rate": 0.3, "latency": 0.3, "resource_efficiency": 0.0}, "greater than 0"),
            ({"completion": 0.5, "error_rate": 0.3, "latency": 0.2, "resource_efficiency": 0.1}, "sum to 1"),
            ({"completion": 0.4, "error_rate": 0.3, "latency": 0.2, "resource_efficiency": math.nan}, "greater than 0"),
            ({"completion": 1.0}, "one weight for each"),
        ],
    )
    def test_weights_that_cannot_be_used(self, weights, said):
        with pytest.raises(InputError, match=said):
            ScorecardRules(weights=weights)

    def test_weights_may_miss_one_by_a_ten_thousandth(self):
        near = {"completion": 0.4001, "error_rate": 0.3, "latency": 0.2, "resource_efficiency": 0.1}
        assert weighted_score([100] * 4, ScorecardRules(weights=near).whole_weights) == 100
        with pytest.raises(InputError, match="sum to 1"):
            ScorecardRules(weights=near | {"completion": 0.4002})

    @pytest.mark.parametrize(
        "curve", [{"full_at": 3.0}, {"full_at": -1.0}, {"zero_at": math.inf}, {"min_samples": 0}, {"window": 3}]
    )
    def test_curves_that_cannot_be_used(self, curve):
        with pytest.raises(InputError):
            ScorecardRules(**curve)

    def test_without_a_component_the_others_keep_their_proportions(self):
        scored = score_runs(runs_frame([run(outcome="FAILED", stages=stages(1, 1))]))
        assert without(scored, "completion")[0] == pytest.approx((0.3 * 100 + 0.2 * 50 + 0.1 * 50) / 0.6)


percent = st.integers(0, 100)
weights = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(
    lambda drawn: ScorecardRules(weights=dict(zip(COMPONENTS, [w / sum(drawn) for w in drawn], strict=True)))
)


class TestProperties:
    @given(st.lists(percent, min_size=4, max_size=4), st.integers(0, 3), percent, weights)
    def test_monotone_in_each_component_and_within_its_bounds(self, drawn, place, other, rules):
        changed = [other if k == place else value for k, value in enumerate(drawn)]
        low, high = sorted([drawn, changed], key=lambda values: values[place])
        first, second = weighted_score(low, rules.whole_weights), weighted_score(high, rules.whole_weights)
        assert min(low) <= first <= second <= max(high)

    @given(st.integers(0, 100), weights)
    def test_equal_components_are_the_score_whatever_the_weights(self, value, rules):
        assert weighted_score([value] * 4, rules.whole_weights) == value

    @given(
        st.sampled_from(["COMPLETED", "BLOCKED", "FAILED", "?", None]),
        st.one_of(st.none(), st.floats()),
        st.one_of(st.none(), st.floats()),
        st.one_of(st.none(), st.lists(st.tuples(st.integers(-1, 4), st.booleans()), max_size=5)),
        st.sampled_from([None, "", at(60), "2026-11-01"]),
    )
    def test_any_run_gets_a_score_within_its_range(self, outcome, wall, peak, drawn, ended_at):
        gates = drawn and [{"attempts": tries, "passed": passed} for tries, passed in drawn]
        fields = RESOURCES | {"memory_peak_bytes": peak, "wall_seconds": wall}
        card = score_run(run(outcome=outcome, stages=gates, ended_at=ended_at, **fields), completed([60] * 6))
        assert 0 <= card.low <= card.score <= card.high <= 100
        assert all(0 <= value <= 100 for value in card.components.values())
        assert all(card.components[name] == 50 for name in card.reasons)
        assert (card.low == card.high) == (not card.reasons)
        assert card.tier == tier_of(card.score)

    ends = st.lists(
        st.tuples(
            st.integers(0, 12), st.sampled_from([1.0, 2.0, 30.0, 60.0]), st.sampled_from(["COMPLETED", "FAILED"])
        ),
        min_size=1,
        max_size=40,
    )

    @settings(max_examples=60, deadline=None)
    @given(ends, st.randoms(use_true_random=False))
    def test_neither_order_of_arrival_nor_names_matter_and_one_by_one_is_the_same(self, drawn, random):
        """Only 13 instants for up to 40 runs, so that ties abound; a small window, so that they stand at its edge."""
        rules = ScorecardRules(window=4, min_samples=2)
        runs = [
            run(f"run-{k}", outcome=outcome, wall_seconds=wall, ended_at=at(minute))
            for k, (minute, wall, outcome) in enumerate(drawn)
        ]
        together = {card.run_id: card for card in scorecards(score_runs(runs_frame(runs), rules=rules))}
        shuffled = random.sample(runs, len(runs))
        again = {card.run_id: card for card in scorecards(score_runs(runs_frame(shuffled), rules=rules))}
        assert again == together
        renamed = [one.model_copy(update={"run_id": f"z{len(runs) - k}"}) for k, one in enumerate(runs)]
        scores = score_runs(runs_frame(renamed), rules=rules)["score"].to_list()
        assert scores == [together[one.run_id].score for one in runs]
        one = random.choice(runs)
        assert score_run(one, runs, rules=rules) == together[one.run_id]


def test_many_workspaces_against_the_definition():
    """1,000 runs, by the words of the definition: filter, sort, take the last, median."""
    rng = np.random.default_rng(7)
    runs = [
        run(
            f"run-{k}",
            workspace_id=f"w{rng.integers(5)}",
            outcome=str(rng.choice(["COMPLETED", "FAILED"])),
            wall_seconds=float(rng.integers(1, 50)),
            ended_at=at(int(rng.integers(0, 300))),
        )
        for k in range(1000)
    ]
    scored = score_runs(runs_frame(runs))
    for one, p50 in zip(runs, scored["baseline_seconds"], strict=True):
        before = [
            (old.ended_at, old.wall_seconds)
            for old in runs
            if old.outcome == "COMPLETED" and old.workspace_id == one.workspace_id and old.ended_at < one.ended_at
        ]
        last = [wall for _, wall in sorted(before)[-20:]]
        assert p50 == (float(np.median(last)) if last else None)
