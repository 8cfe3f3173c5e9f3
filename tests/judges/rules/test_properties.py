"""What must hold for any run: determinism, renumbering, shifted steps, citations that exist, words in the rationale."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoilt import spoilt

from axisjudge.datasets import demo_paths
from axisjudge.judges import Answer
from axisjudge.judges.rules.formats import amounts_in, days_in
from axisjudge.judges.rules.judge import RulesJudge, grade_trajectory
from axisjudge.readers import read_trajectories
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory
from axisjudge.twins import make_twins
from axisjudge.verdict import AXES, check_citations
from tests.judges.rules.chance import pass_rate, shuffled_pass_rate

Lines = list[tuple[Any, ...]]
Play = Callable[..., Trajectory]

SNIPPETS = (
    "Please cancel loan LN-40213.",
    "Yes, go ahead.",
    "No, that is all. Goodbye!",
    "The fine is $12.40, due on March 14, 2031.",
    "Your loan LN-40213 has been cancelled.",
    "Shall I extend LN-58001?",
    '{"loan_id": "LN-40213", "status": "lent", "fine": 12.4}',
    "Error: loan LN-40213 not found",
    "",
)
ROLES = st.sampled_from(("system", "user", "assistant", "tool"))
NAMES = st.sampled_from(("show_loan", "cancel_loan", "modify_loan", "peek", ""))
ARGUMENTS = st.sampled_from(
    ({"loan_id": "LN-40213"}, {"loan_id": "LN-58001", "weeks": 2}, {}, "not json", {"x": [None, 1]})
)


@st.composite
def runs(draw: st.DrawFn) -> Trajectory:
    steps = []
    for index in range(draw(st.integers(0, 8))):
        role = draw(ROLES)
        calls = (
            draw(st.lists(st.builds(ToolCall, name=NAMES, arguments=ARGUMENTS), max_size=2))
            if role == "assistant"
            else []
        )
        steps.append(Step(index=index, role=role, content=draw(st.sampled_from(SNIPPETS)), tool_calls=tuple(calls)))
    ended = draw(st.sampled_from((None, "user_stop", "max_steps", "agent_error")))
    return Trajectory(id="drawn", source="test", steps=tuple(steps), termination=ended)


def core(answer: Answer) -> tuple[Any, ...]:
    return answer.verdict, answer.confidence, answer.flags


@given(runs())
@settings(max_examples=200, deadline=None)
def test_any_run_gets_five_answers_that_cite_steps_which_exist(run: Trajectory) -> None:
    answers = grade_trajectory(run)
    assert set(answers) == set(AXES)
    for answer in answers.values():
        assert not check_citations(answer.cited_step_indices, len(run.steps))
        assert answer.confidence is not None
        assert 0 <= answer.confidence <= 1
        assert answer.rationale
        if answer.verdict == "incorrect":
            named = {int(number) for number in re.findall(r"\b(?:steps?|Step) (\d+)", answer.rationale)}
            assert not run.steps or named & set(answer.cited_step_indices)
    assert grade_trajectory(run) == answers


@given(runs())
@settings(max_examples=150, deadline=None)
def test_a_system_message_in_front_shifts_every_citation_by_one(run: Trajectory) -> None:
    front = Step(index=0, role="system", content="You keep the desk of a library.")
    moved = tuple(step.model_copy(update={"index": step.index + 1}) for step in run.steps)
    if not moved:
        return
    shifted = grade_trajectory(run.model_copy(update={"steps": (front, *moved)}))
    for axis, answer in grade_trajectory(run).items():
        assert core(shifted[axis]) == core(answer)
        assert shifted[axis].cited_step_indices == tuple(index + 1 for index in answer.cited_step_indices)


#: Times and numbers that stand in results and texts of strangers.
ODD = (
    *("0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-28T23:00:00Z", "\u0662\u0660\u0662\u0664-01-01T00:00Z"),
    *(f"$ {'9' * 400}", "9" * 5000, f"{'1' * 400},50", f"within {'9' * 20} days", '{"fee": 1e999, "sum": NaN}', "null"),
)


@pytest.mark.parametrize("seed", range(4))
def test_schemas_and_results_of_strangers_end_neither_the_rules_nor_an_edit(seed: int) -> None:
    draw = Random(seed)
    for run in draw.sample(read_trajectories(*demo_paths()).trajectories, 4):
        tools = []
        for tool in run.tools or ():
            (record,) = spoilt({"parameters": tool.parameters}, 1, seed=draw.randrange(10**6))
            spoilt_tool = record.get("parameters")
            tools.append(tool.model_copy(update={"parameters": spoilt_tool if isinstance(spoilt_tool, dict) else {}}))
        odd = [step.content and draw.random() < 0.3 for step in run.steps]
        steps = [
            step.model_copy(update={"content": draw.choice(ODD)}) if of_strangers else step
            for step, of_strangers in zip(run.steps, odd, strict=True)
        ]
        other = run.model_copy(update={"tools": tuple(tools), "steps": tuple(steps)})
        assert set(grade_trajectory(other, every_kind=True)) == set(AXES)
        make_twins([other, run])


ONE_WAY = {"type": "object", "properties": {"desk": {"const": "main"}}, "required": ["desk"]}
OFFERED = st.lists(
    st.sampled_from([(name, kind, free) for name in ("show_loan", "hours") for kind in ("read", "write", None)
                     for free in (True, False)]),
    min_size=1, max_size=2, unique_by=lambda tool: tool[0],
)  # fmt: skip


@pytest.mark.slow
@given(st.data())
@settings(max_examples=80, deadline=None)
def test_correct_is_said_only_where_what_is_checked_exhausts_the_axis(data: st.DataObject) -> None:
    offered = [
        ToolSchema(name=name, kind=kind, parameters={} if free else ONE_WAY) for name, kind, free in data.draw(OFFERED)
    ]
    steps = [Step(index=0, role="user", content="Is it open?")]
    for number, tool in enumerate(data.draw(st.lists(st.sampled_from(offered), max_size=3))):
        call = ToolCall(id=f"c{number}", name=tool.name, arguments={"desk": "main"})
        steps.append(Step(index=len(steps), role="assistant", content="", tool_calls=(call,)))
        failed = data.draw(st.booleans())
        steps.append(Step(index=len(steps), role="tool", content="9 to 5", tool_call_id=call.id, error=failed))
    steps.append(Step(index=len(steps), role="assistant", content="It is open."))
    steps.append(Step(index=len(steps), role="user", content="Thanks, that is all. Bye!"))
    policy = data.draw(st.sampled_from((None, "Look it up first.")))
    run = Trajectory(id="drawn", source="test", steps=tuple(steps), tools=tuple(offered), policy=policy)
    calls = [step for step in steps if step.tool_calls]
    called = {call.name for step in calls for call in step.tool_calls}
    kinds = {tool.name: tool.kind for tool in offered}
    reads_alone = {kinds[name] for name in called} <= {"read"}
    exhausted = {
        "tool_selection": False,
        "argument_validity": bool(calls)
        and not any(step.error for step in steps)
        and all(tool.parameters == ONE_WAY for tool in offered if tool.name in called),
        "sequencing": len(calls) > 1 and reads_alone and policy is None,
        "result_interpretation": False,
        "termination": set(kinds.values()) == {"read"},
    }
    words = {axis: answer.verdict == "correct" for axis, answer in grade_trajectory(run).items()}
    assert words == exhausted


def renumbered(run: Trajectory, names: dict[str, str]) -> Trajectory:
    text = run.model_dump_json()
    for old, new in names.items():
        text = text.replace(old, new)
    return Trajectory.model_validate_json(text)


def test_other_identifiers_give_the_same_verdicts(play: Play, opening: Lines, change: Lines, closing: Lines) -> None:
    names = {"LN-40213": "LN-93817", "TT-77100": "TT-20468", "LN-58001": "LN-61553"}
    sound = play(*opening, *change, *closing)
    invented = play(
        ("user", "Hello."), ("call", "", ("show_loan", {"loan_id": "LN-58001"})), ("error", "loan not found")
    )
    for run in (sound, invented):
        before, after = grade_trajectory(run), grade_trajectory(renumbered(run, names))
        assert {axis: core(answer) for axis, answer in before.items()} == {axis: core(a) for axis, a in after.items()}
        assert [a.cited_step_indices for a in before.values()] == [a.cited_step_indices for a in after.values()]
    assert grade_trajectory(invented)["argument_validity"].verdict == "incorrect"


def test_nothing_but_what_a_judge_is_shown_moves_the_rules(play: Play, opening: Lines) -> None:
    run = play(*opening)
    other = run.model_copy(update={"id": "other", "agent": "somebody", "reward": 0.0, "meta": {"hint": "wrong"}})
    assert grade_trajectory(run) == grade_trajectory(other)
    assert run.content_sha256 == other.content_sha256


def test_the_judge_is_a_family_of_its_own_and_names_its_version(play: Play, opening: Lines) -> None:
    judge = RulesJudge(JudgeSpec.parse("rules"))
    assert (judge.kind, judge.family, judge.rater, judge.mechanism) == ("rules", "rules", "rules", "program")
    assert judge.version is not None
    assert judge.version.startswith("rules-")
    assert judge.joint
    assert not judge.reads_rubrics
    run = play(*opening)
    assert judge.prompt_sha256(run, {}) == run.content_sha256
    asked = dict.fromkeys(AXES[:2], Rubric.model_construct())
    assert asyncio.run(judge.grade(run, asked)).answers == grade_trajectory(run, AXES[:2])


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("it costs $1,619.34, or 95.08 EUR", [161934, 9508]),
        ("**$5** and 12.50 and version 2.1.0, 40.25% of them; 3.75", [500, 1250, 375]),
        ("order 12345 of 2031-03-14 at 10.30.15", []),
        ('{"price": 53.48, "weeks": 2}', [5348]),
        ("$3k, $4.50-$6", [450, 600]),
    ],
)
def test_amounts_are_found_as_people_write_them(text: str, cents: list[int]) -> None:
    assert [amount.cents for amount in amounts_in(text)] == cents


@given(st.integers(1, 10**7))
def test_an_amount_reads_back_as_it_was_written(cents: int) -> None:
    assert [amount.cents for amount in amounts_in(f"You owe ${cents / 100:,.2f} today.")] == [cents]


@pytest.mark.parametrize(
    "text", ["2031-03-14", "March 14, 2031", "14th of March 2031", "Mar. 14", "03/14/2031", "14/03/2031"]
)
def test_dates_agree_however_they_are_written(text: str) -> None:
    ((iso,), _), *_ = days_in("2031-03-14")
    assert any(iso.agrees(day) for days, _ in days_in(f"due on {text}.") for day in days)


def test_shuffled_amounts_pass_less_often_than_true_ones(play: Play) -> None:
    prices = (3.17, 8.29, 14.63, 21.41, 30.77)
    asked = [("user", "What does it cost?"), ("call", "", ("show_title", {"title_id": "TT-1"}))]
    all_runs = [play(*asked, ("result", {"price": price}), ("agent", f"It costs ${price}.")) for price in prices]
    told, shuffled = pass_rate(all_runs), shuffled_pass_rate(all_runs, rng=Random(1))
    assert told.rate == 1.0
    assert (told.n_tried, shuffled.n_tried) == (5, 5)
    assert shuffled.rate == 0.0
    assert shuffled == shuffled_pass_rate(all_runs, rng=Random(1))


@pytest.mark.slow
def test_real_runs_are_graded_whole_and_chance_is_stated(shared_data: Path) -> None:
    """Counts only: what the flags are worth is told by tests/benchmarks/rules_on_real_data.py."""
    files = sorted((shared_data / "tau2_retail").glob("*.json"))
    policy = shared_data / "context" / "retail_policy.md"
    trajectories = read_trajectories(*files, tools=shared_data / "context" / "tools.json", policy=policy).trajectories
    answers = [grade_trajectory(run) for run in trajectories]
    assert len(answers) == 456
    empty = [answer for answer, run in zip(answers, trajectories, strict=True) if not run.steps]
    assert len(empty) == 7
    assert all(answer["termination"].verdict == "incorrect" for answer in empty)
    for answer, run in zip(answers, trajectories, strict=True):
        for one in answer.values():
            assert not check_citations(one.cited_step_indices, len(run.steps))
    told = pass_rate(trajectories[::4])
    shuffled = shuffled_pass_rate(trajectories[::4], rng=Random(1))
    assert told.n_tried > 500
    # a rule that lets every stranger's amount pass would be no rule
    assert shuffled.rate < 0.15 < told.rate
