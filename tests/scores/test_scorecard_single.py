"""One run in plain Python and a table of runs: the same scores, whatever the runs hold."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.scores.run_score.rules import ScorecardRules
from axisjudge.scores.run_score.runs import Run, parse_run, runs_frame
from axisjudge.scores.run_score.score import (
    RollingBaseline,
    ended_at,
    enters_baseline,
    score_run,
    score_runs,
    score_single,
    scorecards,
)

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)

measurements = st.one_of(
    st.none(), st.sampled_from([0.0, -1.0, 1e300, math.nan, math.inf, -math.inf]), st.floats(0, 1e4), st.integers(0, 99)
).map(lambda value: value if value is None else float(value))
ends = st.one_of(
    st.none(),
    st.sampled_from(["never", "1999-12-31T23:00:00Z", "2100-01-02", "2026-11-01T12:05:00+02:00", "2026-11-01T12:03"]),
    st.integers(0, 6).map(lambda minute: (NOON + timedelta(minutes=minute)).isoformat()),
)
stages = st.one_of(
    st.none(),
    st.lists(st.fixed_dictionaries({"attempts": st.integers(-1, 3), "passed": st.booleans()}), max_size=4),
)
fields = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(["COMPLETED", "COMPLETED", "COMPLETED", "BLOCKED", "FAILED", "lost", None]),
        "stages": stages,
        "wall_seconds": measurements,
        "memory_peak_bytes": measurements,
        "memory_limit_bytes": measurements,
        "cpu_throttled_ms": measurements,
        "cpu_wall_ms": measurements,
        "ended_at": ends,
        "scored": st.sampled_from([True, True, True, False]),
    }
)
all_rules = st.sampled_from(
    [
        ScorecardRules(min_samples=1),
        ScorecardRules(window=3, min_samples=2, full_at=1.0),
        ScorecardRules(
            weights={"completion": 0.1, "error_rate": 0.2, "latency": 0.3, "resource_efficiency": 0.4}, min_samples=1
        ),
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(fields, min_size=1, max_size=9), all_rules)
def test_the_same_as_the_table(drawn, rules):
    runs = [Run(run_id=f"run-{k}", agent_id="a", workspace_id="w", **each) for k, each in enumerate(drawn)]
    entering = [(ended_at(run), run.wall_seconds) for run in runs if enters_baseline(run)]
    rolling = RollingBaseline(entering, window=rules.window)
    alone = [score_single(run, *rolling.before(ended_at(run)), rules) for run in runs]
    assert alone == list(scorecards(score_runs(runs_frame(runs), rules=rules)))


def test_the_worked_example():
    use = {"memory_peak_bytes": 10.0, "memory_limit_bytes": 100.0, "cpu_throttled_ms": 0.0, "cpu_wall_ms": 1000.0}
    gates = [{"name": f"g{k}", "attempts": 1 if k < 17 else 2, "passed": True} for k in range(20)]
    run = Run(
        run_id="x", agent_id="a", workspace_id="w", outcome="COMPLETED", stages=gates, wall_seconds=120.0,
        ended_at=NOON.isoformat(), **use,
    )  # fmt: skip
    card = score_single(run, 100.0, 5, ScorecardRules())
    assert (card.score, card.tier, list(card.components.values())) == (89, "Gold", [100, 85, 72, 93])


@pytest.mark.parametrize("nothing", [{}, {"stages": []}, {"stages": [{"attempts": 0, "passed": False}]}])
def test_an_empty_run_has_no_score_and_says_why(nothing):
    run = {"run_id": "x", "agent_id": "a", "workspace_id": "w", "ended_at": NOON.isoformat(), **nothing}
    for card in (score_run(run), score_single(Run.model_validate(run), None, 0, ScorecardRules())):
        assert (card.score, card.low, card.high, card.tier, card.components) == (None, None, None, "Unranked", {})
        assert len(card.reasons) == 4


@pytest.mark.parametrize("one", [{"outcome": "lost"}, {"wall_seconds": math.nan}, {"cpu_wall_ms": 0.0}])
def test_one_unusable_thing_is_no_empty_run(one):
    assert score_run({"run_id": "x", "agent_id": "a", "workspace_id": "w", **one}).score == 50


def test_a_key_given_twice_is_refused():
    line = '{"run_id": "x", "agent_id": "a", "workspace_id": "w", "outcome": "FAILED", "outcome": "COMPLETED"}'
    with pytest.raises(InputError, match="outcome"):
        parse_run(line, "runs.jsonl:1")
    stage = '{"attempts": 1, "passed": false, "passed": true}'
    nested = f'{{"run_id": "x", "agent_id": "a", "workspace_id": "w", "stages": [{stage}]}}'
    with pytest.raises(InputError, match="passed"):
        parse_run(nested, "runs.jsonl:1")


@pytest.mark.parametrize("wrong", ["", "a\nb", "\x00", "x" * 501])
def test_an_artefact_is_one_line(wrong):
    with pytest.raises(InputError, match="artefact"):
        score_run({"run_id": "x", "agent_id": "a", "workspace_id": "w", "artefact": wrong}, strict=True)


def test_names_that_are_no_text_are_left_out_and_a_baseline_that_is_no_number_is_refused():
    run = {"run_id": "a", "agent_id": "b", "workspace_id": "w", "outcome": "COMPLETED"}
    assert score_run(run | {1: 2}) == score_run(run)  # type: ignore[dict-item]
    with pytest.raises(InputError, match="must be seconds from 0 up; found '60'"):
        score_run(run, baseline={"w": "60"})  # type: ignore[dict-item]
