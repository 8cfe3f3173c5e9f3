"""The run scorecard where something is missing or absurd, its rules, and what must hold whatever comes in."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scores.card_runs import RESOURCES, at, completed, run, stages

from axisjudge.checks import InputError
from axisjudge.scores.run_score.rules import COMPONENTS, ScorecardRules, tier_of, weighted_score
from axisjudge.scores.run_score.runs import runs_frame
from axisjudge.scores.run_score.score import score_run, score_runs, scorecards, without


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

    def test_nothing_usable_is_fifty_of_0_to_100(self):
        card = score_run(run(outcome="lost"))
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
        assert (card.run_id, card.score, card.tier) == ("unidentified", None, "Unranked")  # nothing is left of it
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

    @pytest.mark.slow
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
