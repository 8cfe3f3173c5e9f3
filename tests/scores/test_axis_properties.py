"""What must hold for every transcript: bounds, order, monotony, and that no rule set loses an entry."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scores.axis_cases import at

from axisjudge.scores.axis.dimensions import BOUNDS_MS, severity_weighted, speed
from axisjudge.scores.axis.judged.rule_signals import rule_signals
from axisjudge.scores.axis.judged.signals import Audit, CategorySignals, Necessity, scope
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, score_run
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RULE_SETS, UPSTREAM
from axisjudge.scores.axis.transcript.entries import entries_of_axis
from axisjudge.scores.axis.transcript.interactions import interactions_of, pair_entries, run_of_axis
from axisjudge.scores.curves.curve import AXIS_CURVE, LogNormalCurve, axis_score, normal_cdf_approximation

unit = st.floats(0, 1)
texts = st.text(max_size=30)
times = st.none() | st.just("never") | st.integers(0, 200_000).map(at)
ids = st.sampled_from(["", "a", "b", "c"])
names = st.sampled_from(["Bash", "Read", "WebFetch", "TodoWrite", "mcp__x__y", "unheard_of", ""])


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["assistant", "tool_use", "tool_result", "error", "system", "user", "odd"]))
    content: dict[str, Any] = {"text": draw(texts)}
    if kind == "tool_use":
        content |= {"tool_name": draw(names), "tool_id": draw(ids), "parameters": {"command": draw(texts)}}
    if kind == "tool_result":
        content |= {"tool_id": draw(ids), "output": draw(texts), "is_error": draw(st.booleans())}
    return {"type": kind, "timestamp": draw(times), "content": content}


transcripts = st.lists(entries(), max_size=12)
rule_sets = st.sampled_from(list(RULE_SETS.values()))


@settings(deadline=None)
@given(transcripts, rule_sets)
def test_every_entry_belongs_to_one_interaction(raw: list[Any], rules: Any) -> None:
    found = interactions_of(entries_of_axis(raw, rules), rules)
    members = [at for each in found for at in each.entries]
    assert sorted(members) == list(range(len(raw)))
    assert [each.id for each in found] == list(range(1, len(found) + 1))
    assert [each.entries[0] for each in found] == sorted(each.entries[0] for each in found)


@settings(deadline=None)
@given(transcripts)
def test_pairs_join_a_call_and_a_result(raw: list[Any]) -> None:
    found = entries_of_axis(raw, UPSTREAM)
    for one, other in pair_entries(found).items():
        assert {found[one].type, found[other].type} == {"tool_use", "tool_result"}


@settings(deadline=None)
@given(transcripts, unit, unit)
def test_better_signals_never_lower_a_score(raw: list[Any], first: float, second: float) -> None:
    run = run_of_axis(raw, id="run")
    worse, better = sorted((first, second))

    def scored(value: float) -> list[float]:
        said = {
            name: CategorySignals(
                tuple(Audit(each.id, value, value, value) for each in scope(run.interactions, name)), Necessity(value)
            )
            for name in ("environment", "service", "agent")
        }
        return [each.score for each in score_run(run, said).dimensions[1:] if each.score is not None]

    assert all(low <= high for low, high in zip(scored(worse), scored(better), strict=True))


@settings(deadline=None)
@given(transcripts, rule_sets)
def test_scores_lie_within_their_bounds(raw: list[Any], rules: Any) -> None:
    run = run_of_axis(raw, id="run", rules=rules)
    result = score_run(run, rule_signals(run))
    for each in result.dimensions[1:]:
        assert each.score is not None
        assert 0 <= each.low <= each.score <= each.high <= 100
    assert result.bounds[0] <= result.interval[0] <= result.interval[1] <= result.bounds[1]
    goal_points = round(100 * DEFAULT_WEIGHTS["goal_achievement"])
    assert result.interval[1] - result.interval[0] in (goal_points, 0)


@settings(deadline=None)
@given(
    st.sampled_from([("environment",), ("service",), ("agent",), ("environment", "service")]), st.integers(-5, 60_000)
)
def test_slower_is_never_better(categories: Any, duration: int) -> None:
    assert speed(categories, duration) >= speed(categories, duration + 1) or duration <= 0


@pytest.mark.parametrize("category", BOUNDS_MS)
def test_bounds_of_speed_are_inclusive(category: Any) -> None:
    bounds = BOUNDS_MS[category]
    assert [speed((category,), bound) for bound in bounds] == [1.0, 0.9, 0.8, 0.6]
    assert [speed((category,), bound + 1) for bound in bounds] == [0.9, 0.8, 0.6, 0.4]


@settings(deadline=None)
@given(st.lists(st.sampled_from([1.0, 0.9, 0.8, 0.6, 0.4]), min_size=1, max_size=20), st.integers(0, 19))
def test_one_faster_interaction_never_lowers_the_mean(speeds: list[float], place: int) -> None:
    faster = list(speeds)
    faster[place % len(speeds)] = 1.0
    assert severity_weighted(faster) >= severity_weighted(speeds) - 1e-12
    assert min(speeds) - 1e-12 <= severity_weighted(speeds) <= sum(speeds) / len(speeds) + 1e-12


@settings(deadline=None)
@given(unit, unit)
def test_the_score_never_falls(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert axis_score(low) <= axis_score(high)


def test_published_points_of_the_curve() -> None:
    """The table of the original program's curve."""
    points = {0.2: 1, 0.3: 10, 0.4: 29, 0.5: 50, 0.6: 68, 0.7: 80, 0.75: 84, 0.8: 88, 0.85: 91, 0.9: 93, 0.92: 94}
    assert {raw: axis_score(raw) for raw in points} == points
    assert (axis_score(0.95), axis_score(0), axis_score(-1), axis_score(2)) == (95, 0, 0, 100)


@settings(deadline=None)
@given(st.floats(0.01, 1))
def test_the_approximation_is_near_the_curve(raw: float) -> None:
    import math

    z = (math.log(raw) - math.log(AXIS_CURVE.median)) / AXIS_CURVE.sigma
    assert normal_cdf_approximation(z) == pytest.approx(float(AXIS_CURVE.apply(raw)), abs=1.5e-7)


def test_the_curve_is_a_parameter_of_each_dimension() -> None:
    run = run_of_axis([{"type": "tool_use", "timestamp": at(0), "content": {"tool_name": "Bash"}}], id="run")
    said = {"environment": CategorySignals((Audit(1, 0.5),))}
    gentle = score_run(run, said, curves={"environment": LogNormalCurve(0.2, 0.4)}).dimension("environment")
    assert gentle.score > score_run(run, said).dimension("environment").score
    assert DOCUMENTED.name == "documented"
