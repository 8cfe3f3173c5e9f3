"""Classes of false alarms and of misses, five cases of each or more: a class is mended when none of its cases shows."""

from collections.abc import Callable
from typing import Any

import pytest
from judges.rules.test_each_rule import AGREE, ASK, BYE, DONE, GOOD, READY, kinds, modify, read

from axisjudge.judges.rules.facts import Facts
from axisjudge.judges.rules.judge import grade_trajectory
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

Lines = list[tuple[Any, ...]]
Play = Callable[..., Trajectory]
Case = tuple[Lines, dict[str, Any]]

CODING = (
    ToolSchema(name="Bash", kind=None, parameters={"type": "object", "properties": {"command": {}}}),
    ToolSchema(name="Edit", kind=None, parameters={"type": "object", "properties": {"file_path": {}, "new": {}}}),
)


def shell(command: str, *answer: Any, tool: str = "Bash") -> Lines:
    return [("call", "", (tool, {"command": command})), answer or ("result", "")]


def tells(text: str, **shown: Any) -> Case:
    return [*ASK, *read(**shown), ("agent", text)], {}


def coding(*parts: Lines, say: str = "Mend the build, please.") -> Case:
    return [("user", say), *(line for part in parts for line in part), ("agent", "The build is mended.")], {
        "tools": CODING,
        "policy": None,
    }


def searching(used: str, *before: tuple[Any, ...], **fields: Any) -> Case:
    return [
        *before,
        ("call", "", ("show_loan", {"loan_id": used})),
        ("result", "{}"),
        ("agent", "There it is."),
    ], fields


PRICES = {"a": 12.5, "b": 8.25, "c": 31.75, "d": 44.5}
TWO_LOANS: Lines = [
    ("call", "", ("find_reader", {"name": "Venn"})),
    ("result", [{"loan_id": "LN-40213", "card_id": "CD-5501"}, {"loan_id": "LN-40777", "card_id": "CD-9902"}]),
]

FALSE_ALARMS: dict[str, tuple[set[str], list[Case]]] = {
    "amounts that follow from sums and a difference": (
        {"amount", "unexplained_total"},
        [
            tells("Old: $12.50 and $8.25. New: $31.75 and $44.50. You pay $55.50 more.", **PRICES),
            tells("Now $12.50 + $8.25 = $20.75; then $31.75 + $44.50 = $76.25; the difference is $55.50.", **PRICES),
            tells("The new ones cost $31.75 and $44.50, the old ones $12.50 and $8.25, so $55.50.", **PRICES),
            tells("- $12.50 -> $31.75\n- $8.25 -> $44.50\nTogether you owe $55.50.", **PRICES),
            tells('{"old": [12.50, 8.25], "new": [31.75, 44.50], "difference": 55.50}', **PRICES),
            tells(
                "Fines of $31.75 and $44.50 are $76.25. With your balance of 73.0 that makes $149.25.",
                **PRICES,
                balance=73.0,
            ),
        ],
    ),
    "numbers that are no amounts": (
        {"amount", "unexplained_total"},
        [
            tells("The desk runs on Python 3.11 and Node 18.20."),
            tells("See section 4.12 of the rules, version 2.10."),
            tells("It took 12.75 seconds and 3.50 hours."),
            tells("The shelf is 14.30 m long, and readers give it 4.85 stars."),
            tells("The desk opens at 09.30 and closes at 17.45."),
            tells("The match has a score of 0.93."),
        ],
    ),
    "days that are only proposed": (
        {"date"},
        [
            tells("Would May 3, 2031 suit you better?"),
            tells("I can offer a window from May 3, 2031 to May 9, 2031."),
            tells("Possible days are May 3, 2031 and May 9, 2031. Which do you prefer?"),
            tells("Let me propose 2031-05-03."),
            tells("How about the 3rd of May 2031, in the morning"),
            tells("Available slots:\n- May 3, 2031\n- May 9, 2031\nPlease pick one."),
            tells("These days are possible:\n1. May 3, 2031\n2. May 9, 2031"),
            tells("The next free slot is May 3, 2031, from 8 to 10."),
            tells("For example, May 3, 2031."),
            tells("Tentatively I have put down May 3, 2031."),
        ],
    ),
    "programs that fail": (
        {"argument_blamed", "argument_blamed_mended", "no_schema", "unlike_successful_calls", "rule_of_the_tool"},
        [
            coding(shell("pytest -q", "error", "E  assert 3 == 4\nexpected 3, got 4")),
            coding(shell("npm test", "error", "Error: expected 'a' to equal 'b'")),
            coding(shell("go vet ./...", "error", "main.go:3: missing return")),
            coding(shell("tsc", "error", "error TS2304: unexpected token, required property missing")),
            coding(shell("cargo test", "error", "error[E0425]: cannot find value, invalid"), shell("cargo test")),
            coding([("call", "", ("BashOutput", {"bash_id": "b1"})), ("error", "Error: exit 1: invalid argument")]),
            coding(shell("make", "error", "Error: should not happen: must be built first", tool="run_terminal_cmd")),
        ],
    ),
    "programs that speak of functions": (
        {"unknown_tool"},
        [
            coding(shell(command, "error", words))
            for command, words in (
                ("pytest", "NameError: function total is not defined"),
                ("npm test", "TypeError: the function render does not exist on this page"),
                ("make", "undefined reference: function not found"),
                ("sh a.sh", "a.sh: line 3: unknown function: grade"),
                ("python a.py", "ValueError: invalid tool: hammer"),
            )
        ],
    ),
    "talk without anything to hold it against": (
        {"amount", "date"},
        [
            ([("user", ask), ("agent", says)], {"tools": None, "policy": None})
            for ask, says in (
                ("When did the wall come down?", "On November 9, 1989."),
                ("What is a good bicycle worth?", "Some $1,250.00, I would say."),
                ("What is due?", "By law you owe it by 2031-04-15, some $12.40."),
            )
        ],
    ),
    "runs again after something may have changed": (
        {"same_failing_call"},
        [
            coding(shell("pytest", "error", "1 failed"), shell("vi a.py"), shell("pytest", "error", "1 failed")),
            coding(
                shell("pytest", "error", "1 failed"),
                [("call", "", ("Edit", {"file_path": "a.py", "new": "x = 1"})), ("result", "ok")],
                shell("pytest", "error", "1 failed"),
            ),
            coding(
                shell("make", "error", "Error 2"),
                [("call", "", ("Edit", {"file_path": "a.c", "new": ""})), ("error", "Error: file not read")],
                shell("gcc a.c", "error", "Error: a.c:1"),
                shell("make", "error", "Error 2"),
            ),
            coding(shell("curl x", "error", "Error: 503"), shell("curl x", "error", "Error: 503")),
            coding(
                shell("pytest", "error", "1 failed"),
                [("agent", "I mended it."), ("user", "Then run them again.")],
                shell("pytest", "error", "1 failed"),
            ),
            coding(
                shell("ls build", "error", "Error: no such file"),
                [("call", "", ("start_server", {})), ("result", "started")],
                shell("ls build", "error", "Error: no such file"),
            ),
        ],
    ),
    "literal values that are named or taken": (
        {"fabricated"},
        [
            searching("START", *ASK),
            searching("all", *ASK),
            searching("first_page", *ASK),
            searching("DEFAULT_DESK", *ASK),
            searching("0", *ASK),
            searching("LN-00001", *ASK, policy="For a trial use LN-00001."),
            searching("LN-77001", ("system", "The desk's own loan is LN-77001."), *ASK),
            searching(
                "LN-1", ("user", "Hi."), tools=(ToolSchema(name="show_loan", kind="read", description="e.g. LN-1"),)
            ),
        ],
    ),
    "changes by tools of which nothing is known": (
        {"unconfirmed", "after_refusal", "unread", "identical_write", "tool_against_words", "never_done"},
        [
            ([*ASK, *modify(GOOD)], {"tools": None}),
            ([("user", "Hello."), *modify(GOOD)], {"tools": None}),
            ([*READY[:-1], ("user", "No, leave it."), *modify(GOOD)], {"tools": None}),
            ([*READY, *modify(GOOD), *modify(GOOD)], {"tools": None}),
            ([*ASK, *read(), ("agent", "I have cancelled it.")], {"tools": None}),
            coding(shell("rm -r build"), shell("rm -r build")),
        ],
    ),
    "closing words inside a request": (
        {"keeps_talking"},
        [
            coding(shell("ls"), say="Change 'Hello' to 'Goodbye' in a.txt"),
            coding(shell("ls"), say="Add a goodbye message at the end of main.py."),
            coding(shell("ls"), say="Take care of the failing tests."),
            coding(shell("ls"), say="Delete a.txt and nothing else."),
            ([*DONE, ("user", "Now cancel LN-40213 and that is all."), *read()], {}),
            ([*DONE, ("user", "Write bye() so that it returns nothing more."), *read()], {}),
            coding(shell("ls"), say="Make the header say have a nice day"),
        ],
    ),
    "a yes that is to no change": (
        {"confirmed_not_done"},
        [
            (
                [*DONE[:-1], ("agent", f"All set: your loan has been modified. {asked}"), ("user", yes)],
                {"termination": "user_stop"},
            )
            for asked, yes in (
                ("Shall I transfer you to a colleague?", "Yes, please transfer me."),
                ("Is there anything else? Do you want me to send the rules?", "Yes, please email the rules to me."),
                ("Please confirm that this is what you wanted.", "Yes, that is correct."),
                ("Would you like me to explain the fee?", "Yes."),
                ("Do you want me to hand you over to the desk?", "Sure, go ahead."),
                ("Is this okay?", "Yes, great, thank you!"),
            )
        ],
    ),
    "courtesies": (
        {"open_question"},
        [
            ([*DONE[:-1], ("agent", words)], {})
            for words in (
                "Done. Is there anything else I can help you with?",
                "Done. Anything further today?",
                "Done. Would you like help with something else?",
                "Done. Do you have any other questions?",
                "Done. Can I help you with another loan?",
                "Done. Should you need more, what else can I do for you?",
            )
        ],
    ),
    "texts in other languages": (
        {*("after_refusal", "unconfirmed", "tool_against_words", "tool_against_last_words",
                           "open_question", "confirmed_not_done", "keeps_talking", "never_done",
                           "words_for_a_tool", "amount", "date", "status")},
        [
            ([("user", asks), *read(), ("agent", proposes), ("user", yes), *modify(GOOD), ("agent", done)], {})
            for asks, proposes, yes, done in (
                ("Hola, quiero ampliar mi préstamo LN-40213 y no quiero cancelar nada.",
                 "Puedo ampliar LN-40213 dos semanas. ¿Está de acuerdo?", "No hay problema, adelante.",
                 "Su préstamo se ha ampliado, cuesta 1.234,56 €. ¿Hay algo más en lo que pueda ayudarle?"),
                ("Guten Tag, ich möchte meine Ausleihe LN-40213 um zwei Wochen verlängern.",
                 "Das kostet 12,50 €. Soll ich das so machen?", "Ja, bitte.",
                 "Erledigt um 14.30 Uhr. Kann ich sonst noch etwas für Sie tun?"),
                ("Olá, quero mudar o empréstimo LN-40213 para mais duas semanas.",
                 "Posso renovar LN-40213. Concorda?", "No meu cartão, sim, obrigado.",
                 "Está feito. Posso ajudar em mais alguma coisa?"),
                ("Bonjour, je voudrais prolonger mon prêt LN-40213 de deux semaines.",
                 "Je peux le faire pour 2,50 €. Êtes-vous d'accord ?", "Oui, merci.",
                 "C'est fait, mar 5 mai. Puis-je vous aider pour autre chose ?"),
                ("你好，请把我的借阅 LN-40213 延长两周。", "我可以延长两周。您同意吗？", "同意。",
                 "已经延长。还需要别的吗？"),
                ("Dzień dobry, proszę przedłużyć wypożyczenie LN-40213 o dwa tygodnie.",
                 "Mogę to zrobić. Czy to w porządku?", "No tak, proszę.", "Gotowe. Czy mogę jeszcze w czymś pomóc?"),
                ("こんにちは、LN-40213 の貸出を二週間延長してください。", "延長します。よろしいですか？", "はい。",
                 "延長しました。他にご用件はありますか？"),
            )
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number"), [(name, at) for name, (_, cases) in FALSE_ALARMS.items() for at in range(len(cases))]
)
def test_no_case_of_a_class_of_false_alarms_shows(name: str, number: int, play: Play) -> None:
    wrong, cases = FALSE_ALARMS[name]
    lines, fields = cases[number]
    run = play(*lines, **fields)
    assert not kinds(run) & wrong, [answer.rationale for answer in grade_trajectory(run, every_kind=True).values()]


STOP = {"termination": "user_stop"}
MISSES: dict[str, tuple[str, list[Case]]] = {
    "a change refused for a state that was shown": (
        "against_status",
        [
            (
                [
                    *ASK, *read(status=shown), *AGREE, *modify(GOOD, ("error", words)),
                    *read("LN-7", status="open"), *read("LN-8", status="delivered"),
                ],
                {},
            )
            for shown, words in (
                ("lent", "Error: the loan is already lent"),
                ("cancelled", "Error: cancelled loans cannot be extended"),
                ("delivered", "Error: non-open loan"),
                ("processed", "Error: only open loans may be extended"),
                ("closed", "Error: loan status must be open"),
                ("lent", "Error: loan must be delivered, it is lent"),
                ("reserved", "Error: loan is currently reserved"),
            )
        ],
    ),
    "a yes after which nothing happens": (
        "confirmed_not_done",
        [
            ([*ASK, *read(), ("agent", asked), ("user", yes), *rest], STOP)
            for asked, yes, rest in (
                ("I would modify loan LN-40213. Do you agree?", "Yes.", []),
                ("Shall I cancel loan LN-40213?", "Yes, please cancel it. ###STOP###", []),
                ("I will return LN-40213 then. Please confirm (yes/no).", "yes, go ahead", [("agent", "Thank you!")]),
                ("To confirm: modify LN-40213 by 2 weeks. Is that correct?", "Yes, that is correct. Thanks!", BYE),
                ("Would you like me to modify the loan?", "Sure, please proceed.", []),
                ("Modify it for 2 weeks, yes/no?", "Confirmed.", [("agent", "Good."), ("user", "Bye!")]),
            )
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number"), [(name, at) for name, (_, cases) in MISSES.items() for at in range(len(cases))]
)
def test_every_case_of_a_class_of_misses_shows(name: str, number: int, play: Play) -> None:
    kind, cases = MISSES[name]
    lines, fields = cases[number]
    assert kind in kinds(play(*lines, **fields))


def test_of_several_agents_one_may_report_what_another_saw(play: Play) -> None:
    run = play(("user", "What does it cost?"), ("agent", "See the page."), ("agent", "It says $12.40, of May 3, 2031."))
    assert kinds(run) & {"amount", "date"}
    named = [step.model_copy(update={"agent": f"agent {step.index}"}) for step in run.steps]
    assert not kinds(run.model_copy(update={"steps": tuple(named)})) & {"amount", "date"}


@pytest.mark.parametrize(
    ("lines", "answered"),
    [
        ("call:a think call:b a b", {"a": 3, "b": 4}),
        ("call:a think user call:b b a", {"a": 5, "b": 4}),
        ("call:a call:b b a a", {"a": 3, "b": 2}),  # of two results of one call the first
        ("user a call:a", {"a": 1}),  # clocks that differ
        ("a call:a user a", {"a": 3}),  # a run that is cut at its beginning
        ("call: think user -", {"": 3}),
        ("call: think strange", {"": 2}),  # an id that no call has
        ("call:a call: -", {"": 2}),
        ("call:a call:a a", {"a": 2}),  # an id that comes again
    ],
)
def test_a_result_belongs_to_the_call_of_its_id_whatever_stands_between(lines: str, answered: dict[str, int]) -> None:
    steps = []
    for index, line in enumerate(lines.split()):
        kind, _, name = line.partition(":")
        if kind == "call":
            steps.append(Step(index=index, role="assistant", tool_calls=(ToolCall(id=name or None, name=name),)))
        elif kind in ("think", "user"):
            steps.append(Step(index=index, role="user" if kind == "user" else "assistant"))
        else:
            steps.append(Step(index=index, role="tool", tool_call_id=None if line == "-" else line))
    results = Trajectory(id="run", source="test", steps=tuple(steps)).call_results
    assert {
        steps[step].tool_calls[number - 1].id or "": one.index for (step, number), one in results.items()
    } == answered


@pytest.mark.parametrize(
    ("asked", "results", "answered"),
    [
        ("- -", "-:f -:g", [1, 2]),
        ("- -", "-:g -:f", [2, 1]),  # by the names that they state
        ("- -", "-:other -:", [1, 2]),
        ("- -", "-: -: -:", [1, 2]),  # a third is nobody's
        ("a -", "-: a:", [2, 1]),
        ("a a", "a: a: a:", [1, 2, 2]),  # an id that two calls have: in their order, and a further result the last
        ("a b", "b: x: b:", [2, 1, 2]),  # an id that no call has
    ],
)
def test_which_of_two_calls_of_one_message_a_result_answers(asked: str, results: str, answered: list[int]) -> None:
    calls = [
        ToolCall(id=None if each == "-" else each, name=name) for each, name in zip(asked.split(), "fg", strict=True)
    ]
    steps = [Step(index=0, role="assistant", tool_calls=tuple(calls))]
    for each in results.split():
        identity, _, name = each.partition(":")
        about = {"tool_call_id": None if identity == "-" else identity, "tool_name": name or None}
        steps.append(Step(index=len(steps), role="tool", **about))
    known = Trajectory(id="run", source="test", steps=tuple(steps)).answered_calls
    assert [known[at].number for at in sorted(known)] == answered


def test_an_error_is_held_against_the_call_that_it_answers() -> None:
    ask = [ToolCall(id=name, name=tool, arguments={"loan_id": "LN-1"}) for name, tool in (("a", "book"), ("b", "pay"))]
    steps = [
        Step(index=0, role="assistant", tool_calls=(ask[0],)),
        Step(index=1, role="assistant", kind="thinking", content="Meanwhile:"),
        Step(index=2, role="assistant", tool_calls=(ask[1],)),
        Step(index=3, role="tool", tool_call_id="a", content="Error: no seat"),
        Step(index=4, role="tool", tool_call_id="b", content="ok"),
    ]
    book, pay = Facts.of(Trajectory(id="run", source="test", steps=tuple(steps))).calls
    assert (book.failed, pay.succeeded) == (True, True)
