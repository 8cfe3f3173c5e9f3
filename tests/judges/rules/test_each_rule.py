"""Each rule with a run that it must flag and a near-miss that it must leave alone."""

import asyncio
from collections.abc import Callable
from dataclasses import astuple
from hashlib import sha256
from typing import Any

import pytest
from judges.rules.conftest import TOOLS

from axisjudge import demo_paths, judge, read_trajectories
from axisjudge.judges.answer import ENDED_UNDER_WAY, MAYBE_PAID, NOT_SENT, ONE_CALL
from axisjudge.judges.rules.findings import KINDS
from axisjudge.judges.rules.judge import VERSION, RulesJudge, grade_trajectory
from axisjudge.judging.run import done_of
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import ToolSchema, Trajectory
from axisjudge.verdict import AXES, Axis

Lines = list[tuple[Any, ...]]
Play = Callable[..., Trajectory]


def read(loan: str = "LN-40213", **more: Any) -> Lines:
    shown = {"loan_id": loan, "title_id": "TT-77100", "status": "lent", "due": "2031-03-14", **more}
    return [("call", "", ("show_loan", {"loan_id": loan})), ("result", shown)]


def modify(arguments: Any, answer: tuple[Any, ...] = ("result", {"status": "extended"})) -> Lines:
    return [("call", "", ("modify_loan", arguments)), answer]


ASK: Lines = [("user", "Please extend my loan LN-40213 by two weeks.")]
AGREE: Lines = [("agent", "I would extend loan LN-40213 by 2 weeks. Do you agree?"), ("user", "Yes.")]
READY: Lines = [*ASK, *read(), *AGREE]
GOOD = {"loan_id": "LN-40213", "weeks": 2}
DONE: Lines = [*READY, *modify(GOOD), ("agent", "Your loan has been extended. Anything else?")]
BYE: Lines = [("user", "No, that is all. Goodbye!")]


TITLES: Lines = [
    ("call", "", ("show_title", {"title_id": "TT-77100"})),
    ("result", {"titles": [{"available": True}, {"available": True}, {"available": False}]}),
]
PART: Lines = [
    ("user", "Please cancel the Atlas."),
    *read(books=[{"name": "Atlas"}, {"name": "Herbal"}]),
]
CANCEL: Lines = [("call", "", ("cancel_loan", {"loan_id": "LN-40213"})), ("result", {"status": "cancelled"})]
HANDOVER: Lines = [("call", "", ("transfer_to_human_agents", {})), ("result", "ok")]

# kind of finding -> (run that shows it, near-miss that does not, fields of the trajectory)
CASES: dict[str, tuple[Lines, Lines, dict[str, Any]]] = {
    "unknown_tool": ([*ASK, ("call", "", ("peek", {})), ("error", "Unknown tool")], DONE, {}),
    "unlisted_tool": ([*ASK, ("call", "", ("peek", {})), ("result", "{}")], DONE, {}),
    "same_failing_call": (
        [*READY, *modify(GOOD, ("error", "Error: reserved")), *modify(GOOD, ("error", "Error: reserved"))],
        [*READY, *modify(GOOD, ("error", "Error: timeout, try again")), *modify(GOOD)],
        {},
    ),
    "tool_against_words": (
        [*READY, ("call", "", ("cancel_loan", {"loan_id": "LN-40213"})), ("result", {"status": "cancelled"})],
        [
            *READY[:-1],
            ("user", "Yes. Or rather, cancel it."),
            ("call", "", ("cancel_loan", {"loan_id": "LN-40213"})),
            ("result", "{}"),
        ],
        {},
    ),
    "tool_against_last_words": (
        [
            ("user", "I thought I would cancel something."),
            *read(),
            ("agent", "So shall I return LN-40213 for you?"),
            ("user", "Yes, return it."),
            ("call", "", ("cancel_loan", {"loan_id": "LN-40213"})),
            ("result", {"status": "cancelled"}),
        ],
        [
            ("user", "I thought I would cancel LN-40213."),
            *read(),
            ("agent", "So shall I return it for you?"),
            ("user", "Yes, return it."),
            ("call", "", ("return_loan", {"loan_id": "LN-40213"})),
            ("result", {"status": "returned"}),
        ],
        {},
    ),
    "words_for_a_tool": (
        [*ASK, *read(), ("agent", "I have cancelled your loan.")],
        [*ASK, *read(), ("agent", "If you like, your loan can be cancelled.")],
        {},
    ),
    "refused_again": (
        [*READY, *modify(GOOD, ("error", "Error: no")), *modify({**GOOD, "weeks": 1}, ("error", "Error: no"))],
        [*READY, *modify(GOOD, ("error", "Error: no")), *modify({**GOOD, "weeks": 1})],
        {},
    ),
    "handed_over_midway": (
        [*DONE, ("call", "", ("transfer_to_human_agents", {})), ("result", "ok")],
        [*READY, ("call", "", ("transfer_to_human_agents", {})), ("result", "ok")],
        {},
    ),
    "handed_over_unread": (
        [*ASK, *read()[:1], ("error", "Error: not found"), *HANDOVER],
        [*ASK, *read()[:1], ("error", "Error: not found"), *read("LN-58001"), *HANDOVER],
        {},
    ),
    "against_policy": (
        [*ASK, *read(hold=True), ("agent", "Shall I cancel it?"), ("user", "Yes."), *CANCEL],
        [*ASK, *read(hold=False), ("agent", "Shall I cancel it?"), ("user", "Yes."), *CANCEL],
        {"policy": "A loan can be cancelled only if there is no hold on it."},
    ),
    "wider_than_asked": (
        [*PART, ("agent", "I would cancel the Atlas. Do you agree?"), ("user", "Yes."), *CANCEL],
        [*PART, ("agent", "I would cancel the whole loan. Do you agree?"), ("user", "Yes."), *CANCEL],
        {},
    ),
    "not_an_object": ([*READY, *modify("LN-40213, 2", ("error", "bad request"))], DONE, {}),
    "missing_parameter": ([*READY, *modify({"loan_id": "LN-40213"}, ("error", "no"))], DONE, {}),
    "missing_but_accepted": ([*READY, *modify({"loan_id": "LN-40213"})], DONE, {}),
    "unknown_parameter": (
        [*READY, *modify({**GOOD, "months": 1})],
        [*READY, *modify({**GOOD, "reason": "holiday"})],
        {},
    ),
    "not_in_enum": (
        [*READY, *modify({**GOOD, "reason": "mood"})],
        [*READY, *modify({**GOOD, "reason": "illness"})],
        {},
    ),
    "wrong_type": (
        [*READY, *modify({"loan_id": "LN-40213", "weeks": "2"})],
        [*READY, *modify({"loan_id": "LN-40213", "weeks": 2.0})],
        {},
    ),
    "fabricated": (
        [("user", "Extend my loan, please."), *read("LN-58001")],
        [("user", "Extend my loan, number 5 8 0 0 1, please."), *read("LN-58001")],
        {},
    ),
    "mistyped": (
        [*ASK, *read("LN-40231")[:1], ("error", "Error: not found"), *read(), *AGREE],
        [*ASK, *read(), *AGREE],
        {},
    ),
    "placeholder": (
        [*ASK, ("call", "", ("show_loan", {"loan_id": "LN-00000"})), ("error", "Error: not found")],
        [("user", "It is LN-00000."), ("call", "", ("show_loan", {"loan_id": "LN-00000"})), ("result", "{}")],
        {},
    ),
    "misplaced": (
        [*ASK, *read(), ("call", "", ("show_loan", {"loan_id": "TT-77100"})), ("result", "{}")],
        [*ASK, *read(), ("call", "", ("show_title", {"title_id": "TT-77100"})), ("result", "{}")],
        {},
    ),
    "number_from_nowhere": (
        [
            ("user", "Send LN-40213 to 17 Quince Row."),
            *read(),
            ("call", "", ("send_book", {"loan_id": "LN-40213", "street": "71 Quince Row"})),
        ],
        [
            ("user", "Send LN-40213 to 17 Quince Row."),
            *read(),
            ("call", "", ("send_book", {"loan_id": "LN-40213", "street": "17 Quince Row"})),
        ],
        {},
    ),
    "argument_blamed": (
        [*READY, *modify({"loan_id": "LN-40213", "weeks": 99}, ("error", "Error: weeks out of range"))],
        [
            ("user", "It is LN-99999."),
            ("call", "", ("show_loan", {"loan_id": "LN-99999"})),
            ("error", "loan not found"),
        ],
        {},
    ),
    "argument_blamed_mended": (
        [*READY, *modify({**GOOD, "weeks": 99}, ("error", "weeks out of range")), *modify(GOOD)],
        [*READY, *modify(GOOD, ("error", "the loan is already reserved")), *modify({**GOOD, "weeks": 1})],
        {},
    ),
    "rule_of_the_tool": (
        [*READY, *modify(GOOD, ("error", "weeks must be even in spring"))],
        [*READY, *modify(GOOD, ("error", "the shelf is locked"))],
        {},
    ),
    "no_schema": (
        [*READY, *modify(GOOD, ("error", "it went wrong"))],
        [*READY, *modify(GOOD, ("error", "it went wrong")), *modify(GOOD)],
        {"tools": None},
    ),
    "unlike_successful_calls": (
        [*READY, *modify({"loan_id": "LN-40213"}, ("error", "it went wrong")), *modify(GOOD)],
        [*READY, *modify(GOOD, ("error", "it went wrong")), *modify(GOOD)],
        {"tools": None},
    ),
    "after_refusal": (
        [*READY[:-1], ("user", "No, leave it."), *modify(GOOD)],
        [*READY[:-1], ("user", "No problem, go ahead."), *modify(GOOD)],
        {},
    ),
    "unconfirmed": (
        [*ASK, *read(), *modify(GOOD)],
        [("user", "Please extend loan LN-40213 by two weeks; no need to ask."), *read(), *modify(GOOD)],
        {},
    ),
    "unasked": (
        [("user", "Extend LN-40213 by two weeks."), *read(), ("agent", "It is due soon."), *modify(GOOD)],
        [("user", "Extend LN-40213 by two weeks."), *read(), ("agent", "Shall I?"), ("user", "Yes."), *modify(GOOD)],
        {},
    ),
    "unread": ([*ASK, *AGREE, *modify(GOOD)], [*ASK, *AGREE, *read(), *modify(GOOD)], {}),
    "identical_write": ([*DONE, *modify(GOOD)], [*DONE, *modify({**GOOD, "weeks": 1}), *modify(GOOD)], {}),
    "amount": (
        [*ASK, *read(fine=12.4, postage=3.15), ("agent", "The fine is $14.20.")],
        [*ASK, *read(fine=12.4, postage=3.15), ("agent", "That is $15.55, of which $12.40 is the fine.")],
        {},
    ),
    "unexplained_total": (
        [*ASK, *read(fees=[1.1, 2.2, 4.4]), ("agent", "In total you owe $9.81.")],
        [*ASK, *read(fees=[1.1, 2.2, 4.4]), ("agent", "In total you owe $7.70.")],
        {},
    ),
    "not_told": (
        [("user", "How many titles are available?"), *TITLES, ("agent", "There are 3 titles."), *READY],
        [("user", "How many titles are available?"), *TITLES, ("agent", "Of 3 titles two are available."), *READY],
        {},
    ),
    "date": (
        [*ASK, *read(), ("agent", "It is due on March 15, 2031.")],
        [*ASK, *read(), ("agent", "It is due on 14 March.")],
        {},
    ),
    "computed_date": (
        [*ASK, *read(), ("agent", "Two days later is March 16, 2031.")],
        [*ASK, *read(), ("agent", "The due day is 03/14/2031.")],
        {},
    ),
    "status": (
        [*ASK, *read("LN-40213"), *read("LN-58001", status="reserved"), ("agent", "LN-40213 is reserved.")],
        [*ASK, *read("LN-40213"), *read("LN-58001", status="reserved"), ("agent", "LN-40213 is lent.")],
        {},
    ),
    "against_status": (
        [*READY, *modify(GOOD, ("error", "Error: a loan that is not reserved")), *read("LN-7", status="reserved")],
        [*READY, *modify(GOOD, ("error", "Error: a loan that is not lent")), *read("LN-7", status="reserved")],
        {},
    ),
    "never_done": (
        [*READY, *modify(GOOD, ("error", "Error: reserved")), ("agent", "Your loan has been modified.")],
        [*READY, *modify(GOOD), ("agent", "Your loan has been modified.")],
        {},
    ),
    "error_as_success": (
        [*READY, *modify(GOOD, ("error", "Error: reserved")), ("agent", "All set, enjoy your book!")],
        [*READY, *modify(GOOD, ("error", "Error: reserved")), ("agent", "Sorry, that could not be done.")],
        {},
    ),
    "success_after_failure": (
        [*READY, *modify(GOOD, ("error", "Error: reserved")), ("agent", "All set, enjoy your book!")],
        [*READY, *modify(GOOD, ("error", "Error: busy")), *modify({**GOOD, "weeks": 1}), ("agent", "All set!")],
        {},
    ),
    "cut_off": (DONE, [*DONE, *BYE, ("agent", "Goodbye."), ("user", "Bye!")], {"termination": "max_steps"}),
    "ended_in_error": (DONE, [], {"termination": "agent_error"}),
    "outside_cause": (DONE, [], {"termination": "infrastructure_error"}),
    "keeps_talking": (
        [*DONE, *BYE, ("agent", "A newsletter?"), ("user", "No. Bye."), ("agent", "A poster, then?")],
        [*DONE, *BYE, ("agent", "A newsletter?"), ("user", "Which one would you take?"), ("agent", "A poster, then?")],
        {},
    ),
    "after_handover": (
        [*READY, ("call", "", ("transfer_to_human_agents", {})), ("result", "ok"), *modify(GOOD)],
        [*DONE, ("call", "", ("transfer_to_human_agents", {})), ("result", "ok")],
        {},
    ),
    "open_question": ([*ASK, ("agent", "By how many weeks?")], DONE, {}),
    "confirmed_not_done": (
        [*READY, ("agent", "Thank you, goodbye."), ("user", "That is all. Goodbye!")],
        [*READY, *modify(GOOD, ("error", "Error: reserved")), ("user", "That is all. Goodbye!")],
        {"termination": "user_stop"},
    ),
    "given_up": (
        [*READY, *modify(GOOD, ("error", "Error: reserved")), ("agent", "That is not possible."), *BYE],
        [*READY, *modify(GOOD, ("error", "Error: reserved")), *modify({**GOOD, "weeks": 1}), ("agent", "Done."), *BYE],
        {},
    ),
    "no_reply": ([("agent", "Hello."), *ASK, *read()], [*ASK, *read(), ("agent", "It is lent.")], {}),
    "no_reply_due": ([("agent", "Hello."), *ASK, *read()], [*ASK, *read(), ("agent", "It is lent.")], {"tools": None}),
}


def kinds(run: Trajectory) -> set[str]:
    return {flag for answer in grade_trajectory(run, every_kind=True).values() for flag in answer.flags}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_fault_that_shows_it_and_a_near_miss_that_does_not(kind: str, play: Play) -> None:
    fault, near_miss, fields = CASES[kind]
    run = play(*fault, **fields)
    answer = grade_trajectory(run, every_kind=True)[KINDS[kind].axis]
    # a doubt does not show where the same axis has a fault
    shown = {finding for finding in kinds(run) if KINDS[finding].axis == KINDS[kind].axis}
    assert kind in shown, answer
    assert answer.verdict == KINDS[kind].verdict
    assert answer.confidence is not None
    assert answer.confidence >= KINDS[kind].confidence
    if near_miss:
        assert kind not in kinds(play(*near_miss, **fields))


def test_rules_that_answer_otherwise_are_another_version() -> None:
    """The kinds, and what is said of the demo with every kind on: where this changes, raise `VERSION` with it."""
    runs = read_trajectories(*demo_paths()).trajectories
    said = [
        (run.id, axis, astuple(one)) for run in runs for axis, one in grade_trajectory(run, every_kind=True).items()
    ]
    assert (VERSION, sha256(repr((KINDS, said)).encode()).hexdigest()[:12]) == ("rules-10", "3d684eb22445")


def test_of_a_sound_run_with_a_change_the_rules_abstain(
    play: Play, opening: Lines, change: Lines, closing: Lines
) -> None:
    answers = grade_trajectory(play(*opening, *change, *closing, termination="user_stop"), every_kind=True)
    assert {axis: answer.verdict for axis, answer in answers.items()} == dict.fromkeys(AXES, "uncertain")
    assert all(answer.status == "ok" and answer.confidence_source == "rule" for answer in answers.values())


@pytest.mark.parametrize(
    ("lines", "fields", "expected"),
    [
        ([], {"termination": "agent_error"}, ("not_applicable",) * 4 + ("incorrect",)),
        ([], {}, ("not_applicable",) * 5),
        ([("user", "Hello?"), ("agent", "Good day.")], {}, ("uncertain", *("not_applicable",) * 3, "uncertain")),
        ([("user", "Is it open on Sundays? Loan LN-40213."), *read(), ("agent", "Yes.")], {}, None),
    ],
)
def test_what_is_not_there_is_not_judged(play: Play, lines: Lines, fields: dict[str, Any], expected: Any) -> None:
    answers = grade_trajectory(play(*lines, **fields))
    if expected is None:  # one single look-up has no order
        assert answers["sequencing"].verdict == "not_applicable"
    else:
        assert tuple(answers[axis].verdict for axis in AXES) == expected


def test_an_amount_in_a_fabricated_answer_without_any_call_is_still_a_fault(play: Play) -> None:
    answer = grade_trajectory(play(("user", "What do I owe?"), ("agent", "You owe $17.35.")))["result_interpretation"]
    assert answer.verdict == "incorrect"


def test_calls_of_the_user_simulator_are_not_the_agents(play: Play) -> None:
    run = play(*DONE, ("call", "", ("reboot_router", {})), ("result", "ok"))
    step = run.steps[-2]
    users = step.tool_calls[0].model_copy(update={"requestor": "user"})
    steps = (*run.steps[:-2], step.model_copy(update={"role": "user", "tool_calls": (users,)}), run.steps[-1])
    assert "unknown_tool" not in kinds(run.model_copy(update={"steps": steps}))


def test_without_a_demand_for_consent_a_clear_request_is_enough(play: Play) -> None:
    lines = [*ASK, *read(), *modify(GOOD)]
    assert "unconfirmed" not in kinds(play(*lines, policy=None))
    assert "unconfirmed" in kinds(play(*lines))


def test_a_kind_that_is_off_counts_only_when_asked_for(play: Play) -> None:
    run = play(*ASK, *read(), *modify(GOOD))
    off = {kind for kind, of in KINDS.items() if not of.on}
    assert "unconfirmed" in off
    assert not off & {flag for answer in grade_trajectory(run).values() for flag in answer.flags}
    judges = [RulesJudge(JudgeSpec.parse(spec)) for spec in ("rules", "rules,all=true")]
    words = [asyncio.run(judge.grade(run, {"sequencing": None})).answers["sequencing"].verdict for judge in judges]
    assert words == ["uncertain", "incorrect"]
    assert len({judge.rater for judge in judges}) == 2


READS = tuple(tool for tool in TOOLS if tool.kind == "read")
LOOKED: Lines = [("user", "Is LN-40213 lent?"), *read(), ("agent", "Yes."), ("user", "Thanks, that is all. Bye!")]


@pytest.mark.parametrize(
    ("axis", "exhausted", "not_exhausted"),
    [
        # an order matters only where something is changed or a text demands one
        ("sequencing", {"tools": READS, "policy": None}, {"tools": READS}),
        # nothing can be left undone where every tool only reads
        ("termination", {"tools": READS}, {}),
    ],
)
def test_correct_is_said_where_the_checks_exhaust_the_axis_and_nowhere_else(
    axis: Axis, exhausted: dict[str, Any], not_exhausted: dict[str, Any], play: Play
) -> None:
    lines = [*LOOKED[:-2], *read("LN-40213"), *LOOKED[-2:]]
    assert grade_trajectory(play(*lines, **exhausted))[axis].verdict == "correct"
    answer = grade_trajectory(play(*lines, **not_exhausted))[axis]
    assert answer.verdict == "uncertain"
    assert "cannot be told" in (answer.rationale or "")


def test_arguments_are_correct_where_a_schema_leaves_nothing_to_choose(play: Play) -> None:
    only = {"type": "object", "properties": {"desk": {"enum": ["main"]}}, "required": ["desk"]}
    free = {"type": "object", "properties": {"desk": {"type": "string"}}, "required": ["desk"]}
    calls = [("user", "Hello."), ("call", "", ("hours", {"desk": "main"})), ("result", "9-17"), ("agent", "9 to 17.")]
    for parameters, verdict in ((only, "correct"), (free, "uncertain")):
        tool = ToolSchema(name="hours", kind="read", parameters=parameters)
        assert grade_trajectory(play(*calls, tools=(tool,)))["argument_validity"].verdict == verdict


SHELL = (
    ToolSchema(name="run_shell", kind="write", parameters={"type": "object", "properties": {"command": {}}}),
    ToolSchema(name="edit_file", kind="generic", parameters={"type": "object", "properties": {"path": {}}}),
)
TESTS = ("call", "", ("run_shell", {"command": "pytest"}))
FAILING = ("error", "FAILED: expected 3, found 4; invalid state")


@pytest.mark.parametrize(
    ("kind", "lines", "fields"),
    [
        # two totals and their difference in one message, the totals themselves not told
        (
            "unexplained_total",
            [
                *ASK,
                *read(a=11.1, b=23.7, c=41.9, d=97.3),
                ("agent", "Old: $11.10, $23.70. New: $41.90, $97.30. The difference is $104.40."),
            ],
            {},
        ),
        # a day that is only put to the user
        ("date", [*ASK, *read(), ("agent", "Would a delivery between May 3, 2031 and May 9, 2031 suit you?")], {}),
        ("date", [*ASK, *read(), ("agent", "We could bring it on May 3, 2031.")], {}),
        # a flight that lands after midnight
        ("date", [*ASK, *read(arrives="01:00:00+1"), ("agent", "It arrives on March 15, 2031.")], {}),
        # a program's output says nothing of the arguments, and a program may have changed something
        ("argument_blamed", [("user", "Mend it."), TESTS, FAILING], {"tools": SHELL}),
        ("argument_blamed", [("user", "Mend it."), TESTS, FAILING], {"tools": None}),
        (
            "same_failing_call",
            [
                ("user", "Mend it."),
                TESTS,
                FAILING,
                ("call", "", ("run_shell", {"command": "sed -i s/3/4/ a.py; false"})),
                ("error", "exit code 1"),
                TESTS,
                FAILING,
            ],
            {"tools": SHELL},
        ),
        # of two statuses of one length the first is the record's, in every process
        (
            "status",
            [
                *ASK,
                *read(status="borrowed"),
                *read("LN-7", status="reserved"),
                ("agent", "LN-40213 is borrowed, the other is reserved."),
            ],
            {},
        ),
        # a plain word that the tool takes is no identifier
        ("fabricated", [*ASK, ("call", "", ("show_loan", {"loan_id": "START"})), ("result", "{}")], {}),
        # the agent put the letters before the number that the user gave
        (
            "argument_blamed_mended",
            [
                ("user", "It is number 77100."),
                ("call", "", ("show_title", {"title_id": "TT-77100"})),
                ("error", "title not found"),
                ("call", "", ("show_title", {"title_id": "TT-77100"})),
                ("result", "{}"),
            ],
            {},
        ),
    ],
)
def test_false_alarms_that_were_mended_as_classes(kind: str, lines: Lines, fields: dict[str, Any], play: Play) -> None:
    assert kind not in kinds(play(*lines, **fields))


@pytest.mark.parametrize(
    ("kind", "lines", "fields"),
    [
        ("against_status", [*READY, *modify(GOOD, ("error", "Error: the loan is already lent"))], {}),
        ("against_status", [*READY, *modify(GOOD, ("error", "Error: status must be overdue"))], {"status": "overdue"}),
        ("argument_blamed", [*READY, *modify({**GOOD, "weeks": 99}, ("error", "weeks: expected at most 4"))], {}),
        ("date", [*ASK, *read(), ("agent", "It is due on March 15, 2031.")], {}),
    ],
)
def test_misses_that_were_mended_as_classes(kind: str, lines: Lines, fields: dict[str, Any], play: Play) -> None:
    more = read("LN-7", **fields) if fields else []
    assert kind in kinds(play(*lines, *more, termination="user_stop"))


def test_only_the_axes_asked_for_are_answered(play: Play) -> None:
    axes: list[Axis] = ["termination", "sequencing"]
    assert list(grade_trajectory(play(*DONE), axes)) == axes


def test_what_could_not_be_held_against_anything_is_not_said_to_hold(play: Play) -> None:
    lines = [
        ("user", "请把我借的书续借两周。"),
        ("call", "", ("modify_loan", {"loan_id": "第一本", "weeks": 2})),
        ("result", {"status": "extended"}),
        ("agent", "已经续借到 2031-03-28，费用 $2.50。"),
        ("user", "谢谢，再见。"),
    ]
    answers = grade_trajectory(play(*lines, policy=None, termination="user_stop"))
    assert "had been given" not in (answers["argument_validity"].rationale or "")
    for axis in ("result_interpretation", "termination"):
        assert "not in English" in (answers[axis].rationale or "")
    assert "consent was not looked for" in (answers["sequencing"].rationale or "")


def test_what_the_rules_find_is_not_taken_for_what_became_of_a_call(play: Play) -> None:
    """A run in which the agent gave up was judged, and is not asked about again."""
    assert not {*KINDS} & {ENDED_UNDER_WAY, NOT_SENT, MAYBE_PAID, ONE_CALL}
    fault, _, fields = CASES["given_up"]
    ratings = judge([play(*fault, **fields)], judges=["rules"])
    assert ratings["flags"].list.contains("given_up").any()
    assert len(done_of(ratings)) == len(ratings)
