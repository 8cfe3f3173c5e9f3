"""The run scorecard: the worked example of the text, each rule, and what must hold whatever comes in."""

import doctest
import importlib
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from scores.card_runs import NOON, RESOURCES, RULES, at, completed, run, score_of, stages

from axisjudge.checks import InputError
from axisjudge.scores.run_score.rules import latency, round_half_up, tier_of, weighted_score
from axisjudge.scores.run_score.runs import runs_frame
from axisjudge.scores.run_score.score import frozen_baseline, score_run, score_runs


@pytest.mark.parametrize("name", ["rules", "score"])
def test_the_examples_in_the_docstrings(name):
    found = doctest.testmod(importlib.import_module(f"axisjudge.scores.run_score.{name}"))
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
        card = score_run(run(outcome=outcome, wall_seconds=1.0))
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
        card = score_run(run(stages=given, outcome="FAILED"))
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
