"""What a tool does is documented or unknown; where it is unknown, no rule concludes anything from it."""

from pathlib import Path
from typing import Any

import pytest
from judges.rules.conftest import TOOLS, Play
from judges.rules.test_each_rule import CASES, modify, read

from axisjudge.judges.rules.judge import grade_trajectory
from axisjudge.readers import read_trajectories
from axisjudge.trajectory import Trajectory

#: Findings that rest on a tool's changing something, or on its not changing anything.
ON_A_KIND = {
    *("confirmed_not_done", "against_policy", "handed_over_unread"),
    *("after_refusal", "unconfirmed", "unread", "identical_write", "tool_against_words", "tool_against_last_words"),
    *("wider_than_asked", "number_from_nowhere", "error_as_success", "never_done", "no_reply", "after_handover"),
    *("success_after_failure",),
}
WITHOUT_KINDS = tuple(tool.model_copy(update={"kind": None}) for tool in TOOLS)


def flags(run: Trajectory) -> set[str]:
    return {flag for answer in grade_trajectory(run, every_kind=True).values() for flag in answer.flags}


def renamed(run: Trajectory, names: dict[str, str]) -> Trajectory:
    """The same run, its tools under other names."""
    steps = tuple(
        step.model_copy(
            update={
                "tool_calls": tuple(
                    call.model_copy(update={"name": names.setdefault(call.name, f"tool_{len(names)}")})
                    for call in step.tool_calls
                )
            }
        )
        for step in run.steps
    )
    return run.model_copy(update={"steps": steps})


@pytest.mark.parametrize("tools", [None, WITHOUT_KINDS], ids=["no tools", "tools without kinds"])
@pytest.mark.parametrize("kind", sorted(ON_A_KIND))
def test_no_fault_that_rests_on_a_kind_is_found_without_kinds(kind: str, tools: Any, play: Play) -> None:
    fault, _, fields = CASES[kind]
    assert kind in flags(play(*fault, **fields))
    assert not flags(play(*fault, **{**fields, "tools": tools})) & ON_A_KIND


@pytest.mark.parametrize("kind", sorted(ON_A_KIND))
def test_kinds_that_the_user_states_are_as_good_as_documented_ones(kind: str, play: Play) -> None:
    fault, _, fields = CASES[kind]
    stated = {tool.name: tool.kind for tool in TOOLS}
    run = play(*fault, **{**fields, "tools": WITHOUT_KINDS, "tool_kinds": stated})
    documented = play(*fault, **fields)
    assert flags(run) == flags(documented)
    assert run.content_sha256 != play(*fault, **{**fields, "tools": WITHOUT_KINDS}).content_sha256


def test_what_the_user_states_goes_before_what_the_tools_say(play: Play) -> None:
    fault, _, fields = CASES["unconfirmed"]
    assert "unconfirmed" not in flags(play(*fault, **fields, tool_kinds={"modify_loan": "read"}))


@pytest.mark.parametrize(("between", "expected"), [("read", True), ("generic", True), ("write", False), (None, False)])
def test_a_call_that_may_have_changed_something_excuses_a_repetition(
    between: str | None, expected: bool, play: Play
) -> None:
    loan = {"loan_id": "LN-40213", "weeks": 2}
    known = {} if between is None else {"settle": between}
    settle = [("call", "", ("settle", {})), ("result", "ok")]
    start = [("user", "Renew loan LN-40213 by 2 weeks, please."), *read("LN-40213")]
    stated = {"tool_kinds": {"show_loan": "read", "modify_loan": "write"} | known, "tools": None}
    twice = play(*start, *modify(loan), *settle, *modify(loan), **stated)
    assert ("identical_write" in flags(twice)) is expected
    refused = modify(loan, ("error", "Error: refused"))
    again = play(*start, *refused, *settle, *refused, **stated)
    assert ("same_failing_call" in flags(again)) is expected


def test_a_clean_word_on_the_order_needs_kinds(play: Play) -> None:
    run = [("user", "Is LN-40213 lent?"), *read("LN-40213"), ("agent", "Yes.")]
    assert grade_trajectory(play(*run))["sequencing"].verdict != "uncertain"
    answer = grade_trajectory(play(*run, tools=None))["sequencing"]
    assert answer.verdict == "uncertain"
    assert "show_loan" in (answer.rationale or "")


@pytest.mark.slow
def test_real_runs_without_kinds_get_the_same_faults_whatever_their_tools_are_called(shared_data: Path) -> None:
    runs = read_trajectories(shared_data / "tau_bench" / "gpt-4o-airline.json").trajectories
    names: dict[str, str] = {}
    for run in runs:
        other = renamed(run, names)
        before, after = grade_trajectory(run), grade_trajectory(other)
        assert [answer.verdict == "incorrect" for answer in before.values()] == [
            answer.verdict == "incorrect" for answer in after.values()
        ]
        assert not flags(run) & ON_A_KIND
    assert len(runs) == 200
