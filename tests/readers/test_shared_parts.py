"""What all readers share, by hand: values, times, arguments, schemas and parts, each at its limit."""

import io
from typing import Any

import pytest

from axisjudge.checks import InputError
from axisjudge.readers import events, messages
from axisjudge.readers.chats import parts
from axisjudge.readers.chats.response_items import add_items
from axisjudge.readers.events import LoggedRun, Steps, Tally
from axisjudge.readers.messages import Note, Unread
from axisjudge.trajectory import ToolCall

DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("told", "ns"),
    [
        (1, 10**9),  # seconds since 1970, to the year 5138
        (10**11 - 1, (10**11 - 1) * 10**9),
        (10**11, 10**17),  # milliseconds: in 1973
        (10**14 - 1, (10**14 - 1) * 10**6),
        (10**14, 10**17),  # microseconds
        (10**17 - 1, (10**17 - 1) * 10**3),
        (10**17, 10**17),  # nanoseconds
        (-2, -2 * 10**9),
        (1.5, 1_500_000_000),
        (" 7 ", 7 * 10**9),
        ("1970-01-02T00:00:00", DAY),  # UTC where no zone is named
        ("1970-01-02T01:00:00.000002+02:00", DAY - 3600 * 10**9 + 2_000),
        (" 1971-01-01T00:00:01Z ", 365 * DAY + 10**9),
    ],
)
def test_a_point_in_time_by_its_unit(told: Any, ns: int) -> None:
    assert events.nanoseconds(told) == ns


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "00.000000Z"), (1_999, "00.000001Z"), (999_999_999, "00.999999Z"), (2 * 10**9, "02.000000Z")]
)
def test_a_time_is_told_to_the_microsecond(ns: int, text: str) -> None:
    assert events.iso(ns) == f"1970-01-01T00:00:{text}"


@pytest.mark.parametrize(
    ("value", "unit", "known"),
    [
        *((0, 1, 0.0), (1500, 1000, 1.5), (2.5, 1, 2.5), (-0.1, 1, None), (float("inf"), 1, None), (True, 1, None)),
        *(("1", 1, None), (None, 1, None)),
    ],
)
def test_seconds_are_numbers_from_0_on(value: Any, unit: float, known: float | None) -> None:
    assert events.seconds(value, unit) == known


@pytest.mark.parametrize(
    ("value", "decoded", "as_list"),
    [
        (' {"a": 1}', {"a": 1}, [' {"a": 1}']),
        ("[1, 2]", [1, 2], [1, 2]),
        ("{no", "{no", ["{no"]),
        ("12", "12", ["12"]),
        ("", "", [""]),
        (None, None, []),
        (0, 0, [0]),
        ([None], [None], [None]),
        ({}, {}, [{}]),
    ],
)
def test_json_text_stands_for_its_value(value: Any, decoded: Any, as_list: list[Any]) -> None:
    assert events.json_of(value) == decoded
    assert events.listed(value) == as_list


def test_words_of_an_event() -> None:
    assert [events.type_of({"type": kind}) for kind in ("a", 3, None)] == ["a", "type 3", "type null"]
    assert events.type_of({"kind": "x" * 99, "type": ["y" * 99]}) == "type " + '["' + "y" * 38
    assert events.type_of({"kind": 1}, "kind") == "kind 1"
    assert events.text_at({"a": "", "b": 2, "c": "yes", "d": "no"}, "a", "b", "c", "d") == "yes"
    assert events.text_at({"a": ""}, "a") is None
    assert [events.as_text(value) for value in ("é", None, {"a": "é"}, False)] == ["é", "", '{"a": "é"}', "false"]
    assert (events.dict_of({"a": {"b": 1}}, "a"), events.dict_of({"a": [1]}, "a")) == ({"b": 1}, {})


def test_the_lines_of_a_log_and_what_is_counted_of_them() -> None:
    raw = b'\xef\xbb\xbf{"a": 1}\n\n  \n[2]\n{"b": "\\ud83d"}\n{"c": \n{"d": "\\ud83d"\nwords\n'
    lines = list(events.log_lines(io.BytesIO(raw)))
    assert [line.position for line in lines] == [f"line {n}" for n in (1, 4, 5, 6, 7, 8)]
    tally = Tally()
    assert list(events.events_of(lines, tally)) == [("line 1", {"a": 1}), ("line 5", {"b": "?"})]
    assert tally.notes() == (
        Note("line 4", events.NOT_JSON, "", 2),
        Note("line 5", events.MENDED, "", 1),
        Note("line 6", events.BROKEN, "", 2),
    )


def test_an_event_is_forgiven_unless_it_may_carry_a_call() -> None:
    tally = Tally()
    with tally.forgiving("line 3", {"type": "note"}):
        raise InputError("a", "must be text")
    assert tally.notes() == (Note("line 3", events.WRONG_SHAPE, "a: must be text"),)
    for event, error in (({"type": "tool_use"}, InputError("a", "must be text")), ({}, Unread("a", "x"))):
        with pytest.raises(Unread, match=r"^line 3, a: "), tally.forgiving("line 3", event):
            raise error
    with pytest.raises(Unread):
        tally.unknown("later", {"tool_calls": [1]}, "line 4")
    tally.unknown("later", {"tool_calls": []}, "line 4")
    assert tally.text([{"type": "text", "text": "a"}, {"type": "image"}], "content", "line 5") == "a\n[image]"
    assert [(note.position, note.detail) for note in tally.notes()[1:]] == [("line 4", "later"), ("line 5", "image")]


def call(name: str, **given: Any) -> ToolCall:
    return ToolCall(name=name, **given)


def test_what_is_of_one_message_is_one_step_with_the_times_of_its_parts() -> None:
    steps = Steps()
    steps.agent, steps.source_index = "a", 4
    steps.text("assistant", "One.", "T1", message="m")
    steps.text("assistant", "Two.", "T2", message="m", joint=" ")
    steps.call(call("read", id="1"), "T3", message="m")
    steps.call(call("write", id="2"), "T4", message="m")
    (step,) = steps.all()
    assert (step.content, step.timestamp, step.content_timestamp) == ("One. Two.", "T4", "T2")
    assert [each.timestamp for each in step.tool_calls] == ["T3", None]
    assert (step.agent, step.source_index, step.index) == ("a", 4, 0)
    steps.text("assistant", "Next.", "T5", message="n")
    steps.text("assistant", "After.", "T5")
    steps.text("assistant", "Last.", "T5")  # of no named message: each its own
    steps.call(call("read", id="3"), "T6")  # a call of no named message joins the agent's step
    steps.thinking("Hm.", None)
    steps.call(call("read", id="4"), None)  # thinking is joined by nothing
    steps.result("2", "done", "T7", error=False)
    steps.result("9", "?", None, error=None, name="own", duration_s=2.0)
    steps.error("broke", "T8")
    told = [(s.role, s.kind, s.content, len(s.tool_calls), s.tool_name) for s in steps.all()[1:]]
    assert told == [
        ("assistant", None, "Next.", 0, None),
        ("assistant", None, "After.", 0, None),
        ("assistant", None, "Last.", 1, None),
        ("assistant", "thinking", "Hm.", 0, None),
        ("assistant", None, "", 1, None),
        ("tool", None, "done", 0, "write"),
        ("tool", None, "?", 0, "own"),
        ("system", "error", "broke", 0, None),
    ]
    assert [(s.error, s.duration_s) for s in steps.all()[-3:-1]] == [(False, None), (None, 2.0)]
    assert steps.all()[3].content_timestamp == "T5"
    assert len(steps) == 9


def test_a_step_that_lost_nothing_keeps_its_times() -> None:
    steps = Steps()
    steps.text("user", "a", "T1", message="m")
    steps.text("user", "b", None, message="m")
    steps.text("user", "c", "T1", message="m")
    steps.text("user", "d", "T1", message="other")
    assert [(s.content, s.timestamp, s.content_timestamp) for s in steps.all()] == [
        ("a\nb\nc", "T1", None),
        ("d", "T1", None),
    ]
    steps.overlay(1, [{"content": "e"}])
    assert [(s.content, s.timestamp, s.index) for s in steps.all()] == [("a\nb\nc", "T1", 0), ("e", "T1", 1)]
    steps.text("user", "f", "T1", message="other")  # what was laid over is joined by nothing
    assert len(steps) == 3
    steps.overlay(2, [{"role": "user", "content": "g"}, {"role": "assistant"}])  # as many as are kept, by themselves
    assert [(s.content, s.timestamp, s.index) for s in steps.all()[2:]] == [("g", None, 2), ("", None, 3)]
    for nothing in (None, {"content": "x"}, [1]):
        steps.overlay(0, nothing)
    assert [s.content for s in steps.all()] == ["a\nb\nc", "e", "g", ""]


@pytest.mark.parametrize(("second", "kept"), [("T2", [None, None]), ("T3", ["T1", "T3"])])
def test_results_that_all_bear_their_calls_times_came_at_a_time_unknown(second: str, kept: list[str | None]) -> None:
    steps = Steps()
    steps.call(call("read", id="1"), "T1", message="m")
    steps.call(call("read", id="2", timestamp="T2"), "T1", message="m")
    steps.result("1", "a", "T1", error=None)
    steps.result("2", "b", second, error=None)
    steps.result("other", "c", "T9", error=None)
    steps.forget_shared_times()
    assert [s.timestamp for s in steps.all()[1:]] == [*kept, "T9"]


def test_a_result_that_says_how_long_it_took_keeps_its_time() -> None:
    steps = Steps()
    steps.call(call("read", id="1"), "T1")
    steps.result("1", "a", "T1", error=None, duration_s=1.0)
    steps.forget_shared_times()
    assert steps.all()[1].timestamp == "T1"


def test_the_agent_of_a_log_is_the_model_heard_most() -> None:
    run = LoggedRun("claude_code", "line 1", Tally())
    run.steps.text("user", "?", None)
    assert (run.finish("r").trajectory.agent, run.finish("r").trajectory.meta) == (None, {})  # type: ignore[union-attr]
    run.models.update(["a"])
    assert run.finish("r").trajectory.meta == {}  # type: ignore[union-attr]
    run.models.update(["b", "b"])
    run.usage = {"1": {"tokens": 1}, "2": {"tokens": 2}}
    run.meta = {"models": "said by the log"}
    found = run.finish("r", task_id="t", policy="Be kind.").trajectory
    assert found is not None
    assert (found.agent, found.task_id, found.policy) == ("b", "t", "Be kind.")
    assert found.meta == {"usage": [{"tokens": 1}, {"tokens": 2}], "models": ["b", "a"]}
    assert run.finish(None).trajectory.id == messages.content_id(run.steps.all())  # type: ignore[union-attr]


def deep(n: int) -> Any:
    return {"type": "tool_use"} if not n else {"a": [deep(n - 1)]}


def test_a_call_is_looked_for_eight_levels_down() -> None:
    assert messages.carries_call(deep(4))  # each level of ours is an object and a list
    assert not messages.carries_call(deep(5))
    assert messages.carries_call({"a": {"type": "tool_use"}}, depth=1)
    assert not messages.carries_call({"a": {"type": "tool_use"}}, depth=0)
    assert not messages.carries_call([{"type": "tool_use"}], depth=0)
    assert [messages.carries_call({"tool_calls": held}) for held in (None, [], "", 1, "x", [1])] == [False] * 4 + [
        True
    ] * 2


@pytest.mark.parametrize(
    ("raw", "arguments", "problem"),
    [
        ({"a": 1}, {"a": 1}, None),
        (None, {}, None),
        ("  ", {}, None),
        ("{}", {}, None),
        ("[1]", "[1]", "a list, not an object"),
        ("null", "null", "null, not an object"),
        ("true", "true", "true or false, not an object"),
        ("1.5", "1.5", "a number, not an object"),
        ([1], "[1]", "a list, not an object"),
        (0, "0", "a number, not an object"),
        (False, "False", "true or false, not an object"),
        ('{"a": NaN}', '{"a": NaN}', "not valid JSON"),
        ("{", "{", "not valid JSON"),
    ],
)
def test_arguments_are_an_object_or_say_why_not(raw: Any, arguments: Any, problem: str | None) -> None:
    found, why = messages.arguments_of(raw)
    assert found == arguments
    assert why is None if problem is None else str(why).startswith(problem)


@pytest.mark.parametrize(
    ("record", "known"),
    [
        ({"type": "function", "function": {"name": "f", "description": "d"}}, ("f", "d", None, {})),
        ({"type": "custom", "custom": {"name": "f"}, "kind": "write"}, ("f", "", "write", {})),
        ({"name": "f", "doc": "d", "params": {"type": "object"}}, ("f", "d", None, {"type": "object"})),
        ({"type": "web_search"}, ("web_search", "", None, {})),
        ({"type": "web_search", "name": "f"}, ("f", "", None, {})),
        ({"name": "f", "kind": "think"}, ("f", "", "generic", {})),
        ({"function": {"name": "f", "kind": "read"}}, ("f", "", "read", {})),
        ({"name": "f", "annotations": {"readOnlyHint": True, "destructiveHint": True}}, ("f", "", "read", {})),
        ({"name": "f", "annotations": {"readOnlyHint": False}}, ("f", "", "write", {})),
        ({"name": "f", "annotations": {"readOnlyHint": 1}}, ("f", "", None, {})),
        ({"name": "f", "annotations": {"destructiveHint": True}}, ("f", "", "write", {})),
        ({"name": "f", "annotations": {"destructiveHint": False}}, ("f", "", None, {})),
        ({"name": "f", "annotations": "none"}, ("f", "", None, {})),
        (
            {"name": "f", "input_schema": {"type": "object"}, "params": {"x": "string"}},
            ("f", "", None, {"type": "object"}),
        ),
        ({"name": "f", "parameters": {}, "inputSchema": {"properties": {}}}, ("f", "", None, {"properties": {}})),
        (
            {
                "name": "f",
                "parameters": {"zip": "string", "how": "as a word", "at": {"enum": [1]}},
                "required": ["zip"],
            },
            (
                "f",
                "",
                None,
                {"type": "object", "required": ["zip"]}
                | {"properties": {"zip": {"type": "string"}, "how": {"description": "as a word"}, "at": {"enum": [1]}}},
            ),
        ),
    ],
)
def test_a_schema_from_any_of_the_usual_forms(record: dict[str, Any], known: tuple[Any, ...]) -> None:
    schema = messages.tool_schema(record, "tools[0]")
    assert (schema.name, schema.description, schema.kind, schema.parameters) == known


@pytest.mark.parametrize("record", [{"type": "function"}, {"type": 3}, {"function": "f"}])
def test_a_tool_without_a_name_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^tools\[0\]\."):
        messages.tool_schema(record, "tools[0]")


@pytest.mark.parametrize(
    ("value", "reward"), [(None, None), (True, 1.0), (0, 0.0), (0.5, 0.5), ("1", "no"), (float("nan"), "no")]
)
def test_a_reward_is_a_finite_number(value: Any, reward: Any) -> None:
    if reward == "no":
        with pytest.raises(InputError, match="reward: must be a finite number or null"):
            messages.reward_of(value, "reward")
    else:
        assert messages.reward_of(value, "reward") == reward


def test_an_id_is_that_of_what_was_done_and_not_of_when() -> None:
    steps, later = Steps(), Steps()
    steps.text("user", "a", "T1")
    later.source_index = 7
    later.text("user", "a", "T2")
    assert messages.content_id(steps.all(), "t") == messages.content_id(later.all(), "t")
    assert len(messages.content_id(steps.all())) == 16
    assert len({messages.content_id(steps.all(), *also) for also in ((), ("t",), ("t", None), (None, "t"))}) == 4


def test_places_are_json_paths() -> None:
    assert messages.at("", "simulations", 3, "id") == "simulations[3].id"
    assert messages.at("a", 0) == "a[0]"
    with pytest.raises(InputError, match=r"^a\.b: must be text; found 'nothing'"):
        messages.field({}, "b", str, "a")
    with pytest.raises(InputError, match=r"^a\.b: must be an object; found 3"):
        messages.field({"b": 3}, "b", dict, "a", {})
    assert messages.field({"b": None}, "b", dict, "a", {}) == {}


# Parts of messages.


def part(record: Any) -> tuple[Any, ...]:
    """Kind, text, call or id and name, and error."""
    notes: list[Note] = []
    made = parts.part_of(record, "p", notes)
    if made is None:
        return (None, [note.detail for note in notes])
    if made.call:
        return (made.kind, made.call.id, made.call.name, made.call.arguments, made.call.arguments_error)
    return (made.kind, made.text, *((made.id, made.name, made.error) if made.kind == "result" else ()))


@pytest.mark.parametrize(
    ("record", "known"),
    [
        ("a", ("text", "a")),
        ({"text": "a"}, ("text", "a")),
        ({"type": "input_text", "content": "a"}, ("text", "a")),
        ({"type": "refusal", "refusal": "no"}, ("text", "no")),
        ({"type": "image"}, ("text", "[image]")),
        ({"type": "thinking", "thinking": "", "reasoning": "b"}, ("thinking", "b")),
        ({"type": "reasoning", "summary": [{"text": "a"}, {"text": ""}, {"text": "b"}]}, ("thinking", "a\nb")),
        ({"type": "redacted_thinking", "data": "x"}, (None, ["redacted_thinking"])),
        ({"type": "tool_use", "id": 1, "name": "f", "input": {"a": 1}}, ("call", "1", "f", {"a": 1}, None)),
        ({"type": "tool-call", "toolCallId": "1", "toolName": "f", "args": "{"}, ("call", "1", "f", "{", "not valid")),
        ({"type": "mcp_tool_use", "name": "f", "server_name": "s"}, ("call", None, "mcp__s__f", {}, None)),
        ({"type": "invalid_tool_call", "name": "f", "args": "{}"}, ("call", None, "f", {}, None)),
        (
            {"type": "invalid_tool_call", "name": "f", "args": {"a": 1}, "error": "why"},
            ("call", None, "f", '{"a": 1}', "why"),
        ),
        ({"type": "tool_result", "tool_use_id": "1", "content": "a"}, ("result", "a", "1", None, False)),
        ({"type": "tool_result", "id": "1", "is_error": True}, ("result", "", None, None, True)),
        ({"type": "tool_result", "isError": True, "is_error": False}, ("result", "", None, None, False)),
        ({"type": "tool_result", "isError": True}, ("result", "", None, None, True)),
        ({"type": "tool_result", "status": "error"}, ("result", "", None, None, True)),
        ({"type": "tool_call_response", "id": "1", "response": 0}, ("result", "0", "1", None, False)),
        (
            {"type": "tool-result", "toolCallId": "1", "toolName": "f", "output": {"type": "text", "value": "a"}},
            ("result", "a", "1", "f", False),
        ),
        ({"type": "tool-result", "output": {"type": "error-text", "value": "a"}}, ("result", "a", None, None, True)),
        (
            {"type": "bash_tool_result", "content": {"return_code": 1}},
            ("result", '{"return_code": 1}', None, None, True),
        ),
        (
            {"type": "bash_tool_result", "content": {"return_code": 0}},
            ("result", '{"return_code": 0}', None, None, False),
        ),
        (
            {"type": "bash_tool_result", "content": {"type": "x_error"}},
            ("result", '{"type": "x_error"}', None, None, True),
        ),
    ],
)
def test_a_part_of_a_message(record: Any, known: tuple[Any, ...]) -> None:
    found = part(record)
    assert found[:-1] == known[:-1]
    assert found[-1] == known[-1] or str(found[-1]).startswith(str(known[-1]))


@pytest.mark.parametrize("record", [3, {"type": "tool_use"}, {"text": "a", "tool_calls": [1]}, {"type": "later_call"}])
def test_a_part_that_may_hide_a_call_is_refused(record: Any) -> None:
    with pytest.raises(Unread):
        parts.part_of(record, "p", [])


def test_what_a_tool_gave_is_text() -> None:
    notes: list[Note] = []
    content = ["a", {"type": "text", "text": "b"}, {"type": "image"}, {"type": "text", "text": 3}, {"type": "x"}]
    assert parts.result_text(content, "p", notes) == 'a\nb\n[image]\n{"type": "text", "text": 3}\n{"type": "x"}'
    assert [note.detail for note in notes] == ["image"]
    plain = [[], [1, "a"], {"value": 3}, {"value": "v"}, None]
    assert [parts.result_text(value, "p", notes) for value in plain] == ["[]", '[1, "a"]', '{"value": 3}', "v", ""]


def told(*given: dict[str, Any], role: Any = None) -> list[tuple[Any, ...]]:
    steps = Steps()
    for number, message in enumerate(given):
        parts.add_message(steps, message, f"m[{number}]", role=role)
    return [
        (s.role, s.content, [c.name for c in s.tool_calls])
        if s.role != "tool"
        else (s.content, s.tool_call_id, s.tool_name, s.error)
        for s in steps.all()
    ]


def test_a_message_with_calls_in_and_beside_its_content() -> None:
    beside = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    inside = [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "a", "input": {}}]
    answers = [
        {"role": "tool", "tool_call_id": "a", "content": "1", "is_error": True},
        {"role": "tool", "tool_responses": [{"tool_call_id": "b", "content": "2"}, {"content": "3", "error": "why"}]},
        {"role": "tool", "tool_responses": [{"content": "4", "function": {"name": "own"}, "tool_name": "no"}]},
        {"role": "tool", "tool_call_id": "b", "content": "5", "tool_name": "told"},
        {"role": "function", "name": "f", "content": "6", "tool_name": "no"},
        {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "7"}]},
    ]
    assert told({"role": "assistant", "content": inside, "tool_calls": beside}, *answers) == [
        ("assistant", "x", ["a", "b"]),
        ("1", "a", "a", True),
        ("2", "b", "b", None),
        ("3", None, None, None),
        ("4", None, "own", None),
        ("5", "b", "told", None),
        ("6", None, "f", None),
        ("7", "a", "a", False),
    ]
    assert told({"role": "assistant", "refusal": "No."}, {"role": "user", "content": ""}) == [
        ("assistant", "No.", []),
        ("user", "", []),
    ]
    assert told({"role": "someone", "content": "a"}, role="user") == [("user", "a", [])]
    with pytest.raises(InputError, match=r"m\[0\]\.role: must be one of system, developer, user"):
        told({"role": "someone", "content": "a"})
    with pytest.raises(Unread):
        told({"role": "tool", "tool_responses": ["a"]})


ASKS = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"hall": 7}'}}
SPOKE, THOUGHT = ("assistant", None, "Look.", ["read"]), ("assistant", "thinking", "Hm.", [])


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ({"content": "Look.", "tool_calls": [ASKS]}, [SPOKE]),
        ({"content": [{"type": "text", "text": "Look."}], "tool_calls": [ASKS]}, [SPOKE]),
        ({"content": ["Look."], "tool_calls": [ASKS["function"]]}, [SPOKE]),
        ({"content": "Look.", "function_call": ASKS["function"]}, [SPOKE]),
        ({"content": [{"type": "text", "text": "Look."}, {"type": "tool_use", "id": "c", "name": "read"}]}, [SPOKE]),
        (
            {
                "content": ["Look.", {"type": "tool_use", "name": "read", "input": {"hall": 7}}],
                "tool_calls": [ASKS, {**ASKS, "id": "d"}],
            },
            [(*SPOKE[:3], ["read", "read"])],  # the first is told twice
        ),
        ({"refusal": "Look.", "content": None}, [("assistant", None, "Look.", [])]),
        ({"content": [{"type": "refusal", "refusal": "Look."}]}, [("assistant", None, "Look.", [])]),
        *(
            ({"content": "Look.", "tool_calls": [ASKS], **thought}, [THOUGHT, SPOKE])
            for thought in (
                {"reasoning_content": "Hm."},
                {"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]},
                {"thinking": "Hm."},
                {"reasoning_content": "Hm.", "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]},
                {"thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]},
                {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm."}]},
            )
        ),
        (
            {"content": [{"type": "thinking", "thinking": "Hm."}, "Look."], "tool_calls": [ASKS], "reasoning": "Hm."},
            [THOUGHT, SPOKE],
        ),
        ({"reasoning_content": "Hm.", "content": ""}, [THOUGHT, ("assistant", None, "", [])]),
        ({"role": "user", "content": "Look.", "tool_calls": [ASKS]}, [("user", None, "Look.", ["read"])]),
        ({"role": "user", "content": "Look.", "reasoning": "Hm."}, [("user", None, "Look.", [])]),
        (
            {"role": "tool", "content": "x", "tool_calls": [ASKS]},
            [("tool", None, "x", []), ("assistant", None, "", ["read"])],
        ),
    ],
)
def test_every_form_of_a_message(message: dict[str, Any], known: list[Any]) -> None:
    steps = parts.chat_steps([{"role": "assistant", **message}], "m", [])
    assert [(step.role, step.kind, step.content, [call.name for call in step.tool_calls]) for step in steps] == known


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        ({"tool_call_id": "c", "content": "x"}, ("c", "read", "x", None)),
        ({"tool_call_id": "c", "content": [{"type": "text", "text": "x"}], "name": "own"}, ("c", "own", "x", None)),
        ({"id": "c", "content": "x", "error": True}, ("c", "read", "x", True)),  # tau2 keeps the call's id there
        ({"id": "msg-1", "content": "x"}, (None, None, "x", None)),
        ({"id": "c9", "requestor": "user", "content": "x"}, ("c9", None, "x", None)),
        ({"tool_call_id": 7, "content": 8, "is_error": True, "error": "why"}, ("7", None, "8", True)),
        ({"tool_call_id": "c", "content": None}, ("c", "read", "", None)),
        ({"tool_messages": [{"role": "tool", "id": "c", "content": "x"}]}, ("c", "read", "x", None)),
        ({"role": "function", "name": "read", "content": "x"}, (None, "read", "x", None)),
        ({"content": [{"type": "reasoning", "text": "Hm."}, "x"]}, (None, None, "x", None)),
    ],
)
def test_every_form_of_a_result(answer: dict[str, Any], known: Any) -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [ASKS]}
    (_, step) = parts.chat_steps([asked, {"role": "tool", **answer}], "m", [])
    assert (step.tool_call_id, step.tool_name, step.content, step.error) == known


def test_ids_that_are_numbers_are_texts_on_both_sides() -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": 0, "name": "read"}, {"id": 7, **ASKS["function"]}]}
    steps = parts.chat_steps([asked, *({"role": "tool", "tool_call_id": n, "content": "x"} for n in (0, 7))], "m", [])
    assert [call.id for call in steps[0].tool_calls] == ["0", "7"]
    assert [step.tool_call_id for step in steps[1:]] == ["0", "7"]


def test_results_that_came_together_are_read_whatever_the_role_says_and_refused_where_they_cannot_be() -> None:
    message = {"role": "user", "content": "x", "tool_responses": [{"tool_call_id": "c", "content": "y"}]}
    (step,) = parts.chat_steps([message], "m", [])
    assert (step.role, step.content, step.tool_call_id) == ("tool", "y", "c")
    with pytest.raises(Unread):
        parts.chat_steps([{**message, "tool_responses": {"results": message["tool_responses"]}}], "m", [])


def test_a_message_keeps_its_own_number_and_a_speaker_names_no_tool() -> None:
    messages = [{"role": "user", "content": "a", "index": 3}, {"role": "user", "content": "b", "turn_idx": "4"}]
    assert [step.source_index for step in parts.chat_steps(messages, "m", [])] == [3, None]
    steps = Steps()
    steps.agent = "runner"
    parts.add_message(steps, {"role": "tool", "name": "runner", "content": "x"}, "m")
    assert steps.all()[0].tool_name is None


# Items of OpenAI's Responses API.


def items(*given: dict[str, Any]) -> list[tuple[Any, ...]]:
    steps = Steps()
    add_items(steps, [(f"i[{number}]", item) for number, item in enumerate(given)])
    return [
        (s.content, s.tool_call_id, s.tool_name, s.error)
        if s.role == "tool"
        else (s.role, s.kind, s.content, *((c.id, c.name, c.arguments) for c in s.tool_calls))
        for s in steps.all()
    ]


@pytest.mark.parametrize(
    ("item", "known"),
    [
        (
            {"type": "tool_search_output", "call_id": "1", "tools": [{"name": "f"}]},
            ('[{"name": "f"}]', "1", None, None),
        ),
        (
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "a"}]},
            ("a", "1", None, None),
        ),
        ({"type": "function_call_output", "id": "9", "output": "a", "status": "failed"}, ("a", None, None, True)),
        ({"type": "function_call_output", "call_id": "1", "output": "a", "name": "f"}, ("a", "1", "f", None)),
        ({"type": "local_shell_call_output", "id": "9", "output": "a"}, ("a", "9", None, None)),
        ({"type": "program_output", "call_id": "1", "result": {"a": 1}}, ('{"a": 1}', "1", None, None)),
        ({"type": "computer_call_output", "call_id": "1", "output": {"type": "b"}}, ("[b]", "1", None, None)),
        (
            {"type": "shell_call_output", "call_id": "1"}
            | {"output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 0}}]},
            ("a\nb", "1", None, False),
        ),
        (
            {"type": "shell_call_output", "call_id": "1"}
            | {"output": [{"outcome": {"exit_code": 2}}, {"stdout": "c", "outcome": {"type": "timeout"}}]},
            ("exit code 2\ntimed out\nc", "1", None, True),
        ),
        (
            {"type": "mcp_approval_response", "approval_request_id": "1", "approve": False, "reason": "no"},
            ("no", "1", None, True),
        ),
    ],
)
def test_what_came_back_in_an_item(item: dict[str, Any], known: tuple[Any, ...]) -> None:
    assert items(item) == [known]


@pytest.mark.parametrize(
    ("item", "known"),
    [
        (
            {"type": "function_call", "call_id": "1", "id": "2", "name": "f", "arguments": '{"a": 1}'},
            [("1", "f", {"a": 1})],
        ),
        ({"type": "custom_tool_call", "id": "2", "name": "f", "input": "x"}, [("2", "f", {"input": "x"})]),
        ({"type": "tool_search_call", "call_id": "1", "arguments": {"q": 1}}, [("1", "tool_search", {"q": 1})]),
        (
            {"type": "local_shell_call", "call_id": "1", "action": {"command": ["a"]}},
            [("1", "local_shell", {"command": ["a"]})],
        ),
        ({"type": "apply_patch_call", "call_id": "1", "operation": {"b": 1}}, [("1", "apply_patch", {"b": 1})]),
        (
            {"type": "mcp_call", "id": "1", "name": "f", "server_label": "s", "arguments": "{}", "output": "a"},
            [("1", "mcp__s__f", {}), ("a", "1", "mcp__s__f", None)],
        ),
        (
            {"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}", "error": {"message": "why"}},
            [("1", "f", {}), ("why", "1", "f", True)],
        ),
        ({"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}", "status": "calling"}, [("1", "f", {})]),
        (
            {"type": "web_search_call", "id": "1", "status": "failed", "queries": ["a"]},
            [("1", "web_search", {"queries": ["a"]}), ("[failed]", "1", "web_search", True)],
        ),
        (
            {"type": "web_search_call", "id": "1", "status": "incomplete"},
            [("1", "web_search", {}), ("[incomplete]", "1", "web_search", True)],
        ),
        (
            {"type": "web_search_call", "id": "1", "status": "completed"},
            [("1", "web_search", {}), ("[completed]", "1", "web_search", False)],
        ),
        ({"type": "web_search_call", "id": "1", "status": "searching"}, [("1", "web_search", {})]),
        (
            {"type": "code_interpreter_call", "id": "1", "code": "a", "status": "completed"}
            | {"outputs": [{"type": "logs", "logs": "b"}, {"type": "image"}]},
            [("1", "code_interpreter", {"code": "a"}), ("b\n[image]", "1", "code_interpreter", False)],
        ),
        (
            {"type": "file_search_call", "id": "1", "results": [{"a": 1}]},
            [("1", "file_search", {}), ('[{"a": 1}]', "1", "file_search", None)],
        ),
        (
            {"type": "image_generation_call", "id": "1", "result": "0123"},
            [("1", "image_generation", {}), ("[image]", "1", "image_generation", None)],
        ),
    ],
)
def test_a_call_in_an_item_with_what_the_provider_ran(item: dict[str, Any], known: list[tuple[Any, ...]]) -> None:
    first, *rest = items(item)
    assert [first[3], *rest] == known


def test_items_beside_calls() -> None:
    asked = {"type": "mcp_approval_request", "id": "r", "name": "f", "arguments": "{}"}
    done = {"type": "mcp_call", "id": "c", "name": "f", "arguments": "{}", "approval_request_id": "r", "output": "a"}
    approved = {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True}
    assert [step[0] for step in items(asked, approved, done)] == ["assistant", "a"]
    assert items(asked)[0][3] == ("r", "f", {})
    assert items({"type": "mcp_list_tools", "error": {"a": 1}}) == [("system", "error", '{"a": 1}')]
    assert items({"type": "mcp_list_tools"}, {"type": "compaction"}, {"type": "later"}) == []
    assert items({"role": "user", "content": "a"}, {"type": "message", "role": "developer", "content": None}) == [
        ("user", None, "a"),
        ("system", None, ""),
    ]
    thought = {"type": "reasoning", "summary": [{"text": "a"}], "content": [{"text": "b"}]}
    assert items(thought, {"type": "reasoning", "summary": []}) == [("assistant", "thinking", "a\nb")]
    with pytest.raises(Unread, match=r"^i\[0\]"):
        items({"type": "item_reference", "id": "gone"})
    assert len(items({"id": "c"}, done)) == 2
    with pytest.raises(Unread):
        items({"type": "later_tool_call"})
