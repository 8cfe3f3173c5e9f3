"""Many AXIS Results: scenarios, means, and two sets of runs compared over repeats."""

import json
import math

import numpy as np
import polars as pl
import pytest

import axisjudge
from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.datasets import demo_goal_grades, demo_transcripts
from axisjudge.scores.axis.judged.signals import GoalCheck
from axisjudge.scores.axis.rule_sets import UPSTREAM
from axisjudge.scores.axis.scenario import Scenario, axis_results, rule_ratings
from axisjudge.studies._shared.frames import made_up_raters
from axisjudge.studies.axis_result.runs import (
    agent_means,
    all_runs,
    compare_runs,
    compare_sources,
    one_run,
    weakest_signals,
)
from axisjudge.studies.axis_result.sentences import Direction, NotCompared, of_run
from axisjudge.trajectory import Step, ToolCall, Trajectory

NAMES = ("source", "compare")


@pytest.fixture(scope="module")
def runs():
    return axisjudge.read_trajectories(*demo_transcripts()).trajectories


@pytest.fixture(scope="module")
def grades():
    return axisjudge.read_ratings(demo_goal_grades())


@pytest.fixture(scope="module")
def results(runs, grades):
    return axis_results(runs, grades=grades)


def timed(task=None, id="run", **about):
    """A trajectory of one call that takes a second, read from no file."""
    steps = (
        Step(index=0, role="user", content="Fix it.", timestamp="2026-03-14T09:00:00Z"),
        Step(
            index=1,
            role="assistant",
            content="I look.",
            tool_calls=(ToolCall(id="a", name="Bash", arguments={"command": "ls"}),),
            timestamp="2026-03-14T09:00:02Z",
        ),
        Step(index=2, role="tool", content="a.py", tool_call_id="a", error=False, timestamp="2026-03-14T09:00:03Z"),
    )
    return Trajectory(id=id, source="test", task_id=task, steps=steps, **about)


def test_graded_runs_have_one_number_and_ungraded_ones_an_interval(runs, results):
    assert len(results) == 24
    assert all(each.composite is not None and each.interval == (each.composite,) * 2 for each in results)
    ungraded = axis_results(runs[:1])[0]
    assert ungraded.composite is None
    assert ungraded.interval[1] - ungraded.interval[0] == 40
    assert "goal checks without a grade" in ungraded.marks[0]


@pytest.mark.slow
def test_signals_as_ratings_give_the_same_scores_as_the_rules_themselves(runs, results, grades):
    by_table = axis_results(runs, signals=rule_ratings(runs), grades=grades)
    assert [each.dimensions for each in by_table] == [each.dimensions for each in results]
    assert {each.judged_by for each in by_table} == {"rules"}


def test_the_upstream_rules_score_every_run_too(runs, grades):
    upstream = axis_results(runs, grades=grades, rules=UPSTREAM)
    assert all(isinstance(each.composite, int) for each in upstream)
    assert {each.rules.name for each in upstream} == {"upstream"}


def test_steps_of_any_trajectory_are_timed():
    (result,) = axis_results([timed()])
    assert [(each.type, each.duration_ms) for each in result.interactions] == [
        ("user", None),
        ("assistant", 0),
        ("tool_use", 1000),
    ]
    assert result.slowest.duration_ms == 1000


def test_a_stated_duration_beats_the_time_stamps():
    run = timed()
    steps = (*run.steps[:2], run.steps[2].model_copy(update={"duration_s": 0.25}))
    (result,) = axis_results([run.model_copy(update={"steps": steps})])
    assert result.slowest.duration_ms == 250


def test_calls_of_the_user_simulator_are_left_out_and_said():
    run = timed()
    call = ToolCall(id="u", name="check", requestor="user")
    user = (
        Step(index=3, role="user", content="", tool_calls=(call,)),
        Step(index=4, role="tool", content="yes", tool_call_id="u"),
    )
    (result,) = axis_results([run.model_copy(update={"steps": (*run.steps, *user)})])
    assert [each.type for each in result.interactions] == ["user", "assistant", "tool_use", "user"]
    assert "calls of the user simulator left out: 1" in result.marks


def test_one_scenario_holds_for_all_and_several_are_told_apart_by_task():
    one = Scenario("fix", "", (GoalCheck("fixed", 1.0),))
    other = Scenario("ship", "", (GoalCheck("shipped", 1.0),))
    (result,) = axis_results([timed()], scenarios=[one])
    assert (result.task_id, result.grades[0].check.check) == ("fix", "fixed")
    first, second = axis_results([timed("ship", "a"), timed("fix", "b")], scenarios=[one, other])
    assert (first.grades[0].check.check, second.grades[0].check.check) == ("shipped", "fixed")
    with pytest.raises(InputError, match="no scenario bears its task's name"):
        axis_results([timed("paint")], scenarios=[one, other])


def test_tables_of_runs_and_agents(results):
    frame = all_runs(results).table
    assert frame.height == 24
    assert frame["trajectory_id"].is_unique().all()
    found = agent_means(results)
    means = found.agents
    assert [each.agent for each in means] == ["alder-large", "cedar-mini"]
    assert means[0].means["composite"].estimate == pytest.approx(
        np.mean([each.composite for each in results if each.agent == "alder-large"])
    )
    assert found.table.height == 10
    assert math.isnan(means[0].means["composite"].ci_low)  # four tasks
    json.dumps([each.to_dict() for each in means], allow_nan=False)


def test_a_comparison_says_what_repeats_allow(results):
    found = compare_sources(results, (), names=NAMES)
    assert found.names == ("alder-large", "cedar-mini")
    assert (found.n_before, found.n_after, len(found.tasks)) == (12, 12, 4)
    changes = {each.quantity: each for each in found.changes}
    composite = changes["composite"].over_repeats
    per_task = all_runs(results).table.with_columns(pl.col("axis_result").cast(pl.Int64))
    tasks = per_task.group_by("task", "agent").agg(pl.col("axis_result").mean())
    means = tasks.group_by("agent").agg(pl.col("axis_result").mean()).sort("agent")
    assert composite.estimate == pytest.approx(means["axis_result"][1] - means["axis_result"][0])
    assert composite.ci_low < composite.estimate < composite.ci_high
    assert changes["environment"].direction is Direction.NOT_SHOWN
    assert "over_tasks" in changes["agent"].to_dict()
    assert changes["agent"].over_tasks.smallest_p == 0.125
    assert found.table.height == 5


def test_a_set_compared_with_itself_shows_no_change(results):
    found = compare_runs(results, results)
    assert {each.direction for each in found.changes} == {Direction.NOT_SHOWN}
    assert found.sentence.startswith("no change is shown")


def test_five_looks_hold_together_at_the_level_asked_for(results):
    alone, joint = (compare_sources(results, (), names=NAMES, ci_level=level) for level in (0.75, 0.95))
    assert {round(each.over_repeats.ci_level, 6) for each in joint.changes} == {0.99}
    assert {round(each.over_repeats.ci_level, 6) for each in alone.changes} == {0.95}
    goal = next(each for each in alone.changes if each.quantity == "goal_achievement")
    assert goal.direction is Direction.LOWER  # looked at alone it would be shown; among five it is not
    assert "no change is shown in any of 5 scores" in joint.answer
    assert "the largest: goal achievement is" in joint.answer


def test_sets_without_a_shared_task_are_refused(results):
    found = compare_runs(results, axis_results([timed("elsewhere")]))
    assert (found.changes, found.refusal) == ((), NotCompared.NO_SHARED_TASK)
    assert found.table.height == 0
    assert compare_sources(results[:12], (), names=NAMES).refusal is NotCompared.ONE_SET


@pytest.mark.parametrize("n_quiet", [1, 2, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_runs_that_called_nothing_show_no_better_environment(n_quiet, turned):
    """An environment that is not there deducts nothing; one run of several that called something is compared."""
    busy = [timed("t", f"b{number}") for number in range(3)]
    silent = (Step(index=0, role="user", content="Fix it."), Step(index=1, role="assistant", content="I cannot."))
    quiet = [
        timed("t", f"q{number}").model_copy(update={"steps": silent} if number < n_quiet else {}) for number in range(3)
    ]
    sides = [axis_results(side) for side in (busy, quiet)]
    found = compare_runs(*(reversed(sides) if turned else sides))
    assert (found.refusal is NotCompared.CALLED_NOTHING) == (n_quiet == 3)
    assert bool(found.changes) == (n_quiet < 3)


def test_the_answer_is_the_change_the_means_or_the_run(runs, grades):
    compared = studies.axis_result(runs[:12], runs[12:], grades=grades, names=("old", "new"))
    assert "From old to new" in compared.answer
    one_agent = studies.axis_result(runs[:12], grades=grades)
    assert "alder-large" in one_agent.answer
    assert f"{one_agent.agents.agents[0].means['composite'].estimate:.1f}" in one_agent.answer
    assert studies.axis_result(runs[:1]).answer.startswith(of_run(axis_results(runs[:1])[0])[0])


def test_a_run_in_words(results):
    part = one_run(results)
    one = part.run
    first = of_run(one)[0]
    assert one.trajectory_id in first
    assert f"AXIS Result {one.shown}" in first
    rows = weakest_signals(part).table
    lowest = rows.select(pl.min_horizontal("success", "speed", "weight", "relevance")).to_series()
    assert lowest.is_sorted()
    assert lowest.max() < 1
    assert one_run(results, results[3].trajectory_id).run is results[3]
    with pytest.raises(InputError, match="no such run among"):
        one_run(results, "nobody")
    with pytest.raises(InputError, match="holds no transcript"):
        one_run([])


def test_planted_grades_bear_their_banner(grades, runs):
    assert made_up_raters(grades, None) == tuple(grades["rater"].unique())
    assert made_up_raters(rule_ratings(runs[:1])) == ()
    assert set(rule_ratings(runs[:1])["rater_kind"]) == {"rules"}
    assert "PLANTED" in studies.axis_result(runs[:2], grades=grades).banner


def test_real_sessions_all_have_a_result_offline(shared_data):
    """Claude Code, Codex, Gemini and traces: a number only where the run failed, else an interval of 40 points."""
    found = axis_results(axisjudge.read_trajectories(shared_data / "transcripts", shared_data / "otel").trajectories)
    assert {each.source for each in found} >= {"claude_code", "codex", "codex_exec", "gemini", "opentelemetry"}
    for each in found:
        assert each.failed or each.interval[1] - each.interval[0] == 40
        assert all(each.dimension(name).score is not None for name in ("environment", "service", "agent"))
    without_times = [each for each in found if each.source == "codex_exec"]
    assert all(any("not comparable" in mark for mark in each.marks) for each in without_times)


def test_entries_without_a_type_are_left_out_and_said():
    raw = [{"type": "assistant", "timestamp": None, "content": {"text": "hello"}}, {"content": {}}, 7]
    run = Trajectory(id="run", source="axis", meta={"axis_entries": raw})
    (result,) = axis_results([run])
    assert result.counts.interactions == 1
    assert result.marks[0] == "entries without a type left out: 2"


def test_means_before_and_after_are_of_the_tasks_that_the_change_is_of_and_what_is_left_out_is_told(runs, grades):
    """Grades of a task on one side alone: its composite stood in the mean before, and in no change."""
    ungraded = (pl.col("agent") == "cedar-mini") & (pl.col("task_id") == "stock-export")
    found = studies.axis_result(runs, grades=grades.filter(~ungraded)).comparison
    for change in found.changes:
        assert change.over_repeats.estimate == pytest.approx(change.after - change.before)
    composite = next(each.over_repeats for each in found.changes if each.quantity == "composite")
    assert (composite.n_items, composite.n_clusters) == (18, 3)
    assert "composite 18 runs on 3 tasks" in found.answer
    alder, cedar = runs[:12], [run for run in runs[12:] if run.task_id != "stock-export"]
    assert "Left out: 1 task that" in studies.axis_result(alder, cedar).comparison.answer
    assert "Left out" not in studies.axis_result(runs).comparison.answer


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda runs, grades: studies.axis_result([*runs, runs[0]]), "each run counts once"),
        (lambda runs, grades: studies.axis_result(runs, [runs[0], runs[0]]), "each run counts once"),
        (lambda runs, grades: studies.axis_result("runs.json"), "must be Trajectory records"),
        (lambda runs, grades: studies.axis_result(runs, ci_level=95), "found 95$"),
        (lambda runs, grades: studies.axis_result(runs, grades=of(grades, value=pl.lit(90.0))), "from 0 to 10"),
        (lambda runs, grades: studies.axis_result(runs, grades=of(grades, scale=pl.lit("unit"))), "on the scale check"),
        (lambda runs, grades: studies.axis_result(runs, grades=of(grades, trajectory_id=pl.lit("x"))), "none of these"),
    ],
)
def test_what_would_count_twice_or_off_its_scale_or_nothing_is_refused(runs, grades, call, message):
    with pytest.raises(InputError, match=message):
        call(runs, grades)


def of(grades, **columns):
    return grades.with_columns(**columns)
