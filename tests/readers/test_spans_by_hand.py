"""Spans, pieces of conversation and the order in which they become steps, by hand."""

import json
from typing import Any

import pytest

from axisjudge.readers import trace_spans as spans
from axisjudge.readers.events import Tally, nanoseconds
from axisjudge.readers.messages import Unread
from axisjudge.readers.trace_spans import ModelCall, Piece, Span, ToolRun, continues, pieces_of, plain, steps_of

S = 10**9


# Spans.


def test_nested_attributes_go_by_dotted_names_and_json_is_not_opened() -> None:
    nested = {
        "a": {"b": 1, "c": {}},
        "m": [{"x": 1}, {"x": 2}],
        "input": {"value": {"k": 1}, "parameters": [{"y": 1}]},
        "n": None,
        "l": [1, {}],
        "e": [],
    }
    known = {"a.b": 1, "m.0.x": 1, "m.1.x": 2, "input.value": {"k": 1}, "input.parameters": {"0": {"y": 1}}}
    assert spans.flat(nested) == known | {"l": [1, {}], "e": []}


def test_numbered_names_stand_for_records_in_the_order_of_their_numbers() -> None:
    attributes = {"p.0.role": "a", "p.1.tools.0.n": 1, "p.1.tools.1.n": 2, "p.10.role": "d", "p.2.role": "c"}
    attributes |= {"q.0.x": 1, "p.0.role.deep": 2, "pp.0.role": "no"}
    assert spans.numbered(attributes, "p") == [
        {"role": "a"},
        {"tools": [{"n": 1}, {"n": 2}]},
        {"role": "c"},
        {"role": "d"},
    ]
    assert spans.numbered({"p.0": "text", "p.1.x": 1}, "p") == [{"x": 1}]
    assert spans.numbered({"p.a.x": 1}, "p") == []


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ({"stringValue": "a"}, "a"),
        ({"intValue": "7"}, 7),
        ({"doubleValue": 0.5}, 0.5),
        ({"boolValue": False}, False),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "b"}]}}, [1, "b"]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "1"}}]}}, {"k": 1}),
        ({}, {}),
        ("as it is", "as it is"),
    ],
)
def test_a_value_of_otlp(value: Any, known: Any) -> None:
    assert spans._value(value) == known


JAEGER = {
    "traceID": "t", "spanID": "s", "operationName": "n", "startTime": 5, "duration": 3,
    "tags": [{"key": "a", "value": 1}],
    "logs": [{"fields": [{"key": "event", "value": "e"}, {"key": "b", "value": 2}]}],
    "references": [{"refType": "FOLLOWS_FROM", "spanID": "x"}, {"refType": "CHILD_OF", "spanID": "p"}],
}  # fmt: skip
OTLP = {
    "traceId": "t", "spanId": "s", "name": "n", "startTimeUnixNano": "5000", "endTimeUnixNano": "8000",
    "parentSpanId": "p", "attributes": [{"key": "a", "value": {"intValue": "1"}}],
    "events": [{"name": "e", "attributes": [{"key": "b", "value": {"intValue": "2"}}]}],
}  # fmt: skip
PHOENIX = {
    "context": {"trace_id": "t", "span_id": "s"}, "name": "n", "parent_id": "p",
    "start_time": "1970-01-01T00:00:00.000005", "end_time": "1970-01-01T00:00:00.000008Z", "attributes": {"a": 1},
    "events": [{"name": "e", "attributes": {"b": 2}}],
}  # fmt: skip


def read(value: dict[str, Any]) -> list[Span]:
    return list(spans.spans_of(value, "line 1", Tally()))


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ({"data": [{"spans": [JAEGER]}]}, {"event": "e"}),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [OTLP]}]}]}, {}),
        ({"trace": {"batches": [{"instrumentationLibrarySpans": [{"spans": [OTLP]}]}]}}, {}),
        (PHOENIX, {}),
        ({"data": [PHOENIX]}, {}),
    ],
)
def test_a_span_of_each_export_is_one_span(value: dict[str, Any], more: dict[str, Any]) -> None:
    assert read(value) == [Span("t", "s", "p", "n", 5_000, 8_000, {"a": 1}, [("e", {**more, "b": 2})], False, "")]


@pytest.mark.parametrize(
    ("span", "failed", "problem"),
    [
        ({**OTLP, "status": {"code": 2, "message": "m"}}, True, "m"),
        ({**OTLP, "status": {"code": "STATUS_CODE_ERROR"}}, True, ""),
        ({**OTLP, "status": {"code": 1, "message": "m"}}, False, "m"),
        ({**PHOENIX, "status_code": "ERROR", "status_message": "m"}, True, "m"),
        ({**PHOENIX, "status": {"status_code": "ERROR", "description": "m"}}, True, "m"),
        ({**PHOENIX, "status_code": "OK", "status": {"status_code": "ERROR"}}, False, ""),
        ({**JAEGER, "tags": [{"key": "error", "value": True}]}, True, ""),
        ({**JAEGER, "tags": [{"key": "otel.status_code", "value": "ERROR"}]}, True, ""),
        ({**JAEGER, "tags": [{"key": "otel.status_description", "value": "m"}]}, False, "m"),
    ],
)
def test_whether_a_span_failed(span: dict[str, Any], failed: bool, problem: str) -> None:
    where = {
        "traceId": {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
        "traceID": {"data": [{"spans": [span]}]},
    }
    (found,) = read(next((where[key] for key in where if key in span), span))
    assert (found.failed, found.problem) == (failed, problem)


def test_spans_without_what_a_span_needs_are_counted_and_the_others_read() -> None:
    tally = Tally()
    lacking = [
        {key: value for key, value in JAEGER.items() if key != name} for name in ("traceID", "spanID", "duration")
    ]
    wrong = [{**JAEGER, "startTime": "noon"}, {**JAEGER, "tags": [3]}]
    alone = {key: JAEGER[key] for key in ("traceID", "spanID", "startTime", "duration")}
    found = list(spans.spans_of({"data": [{"spans": [*lacking, *wrong, alone]}, {}]}, "line 1", tally))
    assert [(span.parent, span.attributes, span.events) for span in found] == [(None, {}, [])]
    assert [note.times for note in tally.notes()] == [5]
    (open_end,) = read({key: value for key, value in PHOENIX.items() if key != "end_time"})
    assert open_end.end == open_end.start


@pytest.mark.parametrize(
    "value",
    [
        {"context.trace_id": "t", "context.span_id": "s", "attributes.a": 1, "span_kind": "LLM"},
        {"columns": ["context.trace_id", "attributes.a", "span_kind"], "index": ["s"], "data": [["t", 1, "LLM"]]},
        {"context.trace_id": {"s": "t"}, "attributes.a": {"s": 1}, "span_kind": {"s": "LLM"}},
        {"s": {"context.trace_id": "t", "attributes.a": 1, "span_kind": "LLM"}},
        {"context.trace_id": "t", "span_id": "s", "attributes": {"a": 1}, "span_kind": "LLM", "attributes.b": None},
    ],
)
def test_a_row_of_a_dataframe_is_a_span_however_it_is_laid_out(value: dict[str, Any]) -> None:
    (record,) = spans.records(value)
    assert record["context"] == {"trace_id": "t", "span_id": "s"}
    assert record["attributes"] == {"a": 1, "openinference.span.kind": "LLM"}


# Pieces.

CALL = Piece("call", id="1", name="read", given={"a": 1})


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Piece("call", id="1", name="write"), True),  # by their ids
        (Piece("call", id="2", name="read", given={"a": 1}), False),
        (Piece("call", name="read", given='{"a": 1}'), True),  # by what they hold
        (Piece("call", name="read", given={"a": 2}), False),
        (Piece("call", name="write", given={"a": 1}), False),
        (Piece("result", "tool", id="1"), False),
    ],
)
def test_two_records_of_one_piece(other: Piece, same: bool) -> None:
    assert (CALL.is_same(other), other.is_same(CALL)) == (same, same)


def test_pieces_without_ids_are_the_same_by_role_and_text() -> None:
    assert Piece("text", "user", "a").is_same(Piece("text", "user", "a"))
    assert not Piece("text", "user", "a").is_same(Piece("text", "assistant", "a"))
    assert Piece("result", "tool", "a").is_same(Piece("result", "assistant", "a", name="x"))
    assert Piece("call", name="f", given=None).is_same(Piece("call", name="f", given={}))
    assert (Piece("call").call().name, CALL.call().arguments) == ("unknown", {"a": 1})


@pytest.mark.parametrize(
    ("message", "pieces"),
    [
        ({"role": "human", "content": "a"}, [Piece("text", "user", "a")]),
        ({"role": "model", "parts": ["a", {"text": "b"}]}, [Piece("text", text="a"), Piece("text", text="b")]),
        ({"content": "a"}, [Piece("text", "assistant", "a")]),
        ({"role": "user", "content": ""}, []),
        ({"role": "user", "content": '[{"type": "text", "text": "a"}]'}, [Piece("text", "user", "a")]),
        ({"role": "user", "content": "[1]"}, [Piece("text", "user", "[1]")]),
        (
            {"role": "tool", "id": "1", "name": "f", "content": [{"text": "a"}, {"text": "b"}], "is_error": True},
            [Piece("result", "tool", "a\nb", "1", "f", error=True)],
        ),
        (
            {"role": "tool", "tool_call_id": "1", "id": "2", "content": None, "is_error": 1},
            [Piece("result", "tool", "", "1", None)],
        ),
        (
            {
                "role": "assistant",
                "content": "a",
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
            },
            [Piece("text", text="a"), Piece("call", id="1", name="f", given={})],
        ),
        (
            {"tool_calls": [{"id": "1", "name": "f", "args": {"a": 1}}, 3]},
            [Piece("call", id="1", name="f", given={"a": 1})],
        ),
        (
            {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a": 1}'}, "reasoning_content": "Hm."},
            [Piece("thinking", text="Hm."), Piece("call", name="f", given={"a": 1})],
        ),
        ({"role": "assistant", "tool_calls": [{"id": 1}]}, [Piece("call", id="1", name="unknown", given={})]),
        ({"role": "assistant", "content": None, "refusal": "No."}, [Piece("text", text="No.")]),
        ({"role": "tool", "tool_call_id": 1, "content": "a"}, [Piece("result", "tool", "a", "1")]),
        ({"tool_call_id": "1", "content": "a"}, [Piece("result", "tool", "a", "1")]),  # its role is lost
        (json.dumps({"role": "user", "content": "a"}), [Piece("text", "user", "a")]),  # JSON in a list of texts
        (  # told as a part and once more beside it
            {
                "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}],
                "tool_calls": [{"id": "1", "name": "f"}],
            },
            [Piece("call", id="1", name="f", given={})],
        ),
        ({"type": "reasoning", "summary": [{"text": "a"}]}, [Piece("thinking", text="a")]),
        (
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            [Piece("call", id="1", name="f", given={})],
        ),
        ({"type": "function_call_output", "call_id": "1", "output": "a"}, [Piece("result", "tool", "a", "1")]),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a"}]},
            [Piece("result", "tool", "a", "1", error=False)],
        ),
        ({"role": "user", "content": [{"type": "thinking", "thinking": "a"}]}, [Piece("thinking", "assistant", "a")]),
    ],
)
def test_the_pieces_of_a_message(message: Any, pieces: list[Piece]) -> None:
    assert pieces_of([message, "no object"]) == pieces


def test_a_call_in_a_list_inside_a_content_is_refused_and_not_shown_as_text() -> None:
    with pytest.raises(Unread):
        pieces_of([{"role": "assistant", "content": [[{"type": "tool_use", "id": "1", "name": "f"}]]}])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content": [{"text": "a"}]}, "a"),
        ({"content": "a"}, '{"content": "a"}'),
        ([{"text": "a"}, {"x": 1}], '[{"text": "a"}, {"x": 1}]'),
        ([], "[]"),
        (None, ""),
        ("a", "a"),
    ],
)
def test_what_a_tool_gave_as_plain_text(content: Any, text: str) -> None:
    assert plain(content) == text


# Steps, in the order of time.

ASKED, DONE = Piece("text", "user", "?"), Piece("text", "assistant", "Done.")
RESULT = Piece("result", "tool", "x", "1")


def model(start: float, end: float, before: list[Piece], after: list[Piece], **given: Any) -> ModelCall:
    return ModelCall(f"m{start}", int(start * S), int(end * S), before, after, **given)


def tool(start: float, end: float | None, call: Piece = CALL, text: str = "x", **given: Any) -> ToolRun:
    ran = Piece("call", text=text, id=call.id, name=call.name, given=call.given)
    return ToolRun(int(start * S), None if end is None else int(end * S), ran, **given)


def told(models: list[ModelCall], runs: list[ToolRun]) -> list[tuple[Any, ...]]:
    """What each step is and the second in which it stands."""
    found = []
    for step in steps_of(models, runs):
        what: Any = [call.name for call in step.tool_calls] or step.content
        found.append((step.kind or step.role, what, nanoseconds(step.timestamp) / S if step.timestamp else None))
    return found


FIRST, LAST = model(1, 2, [ASKED], [CALL]), model(4, 5, [ASKED, CALL, RESULT], [DONE])
WHOLE = [("user", "?", 1.0), ("assistant", ["read"], 2.0), ("tool", "x", 3.0), ("assistant", "Done.", 5.0)]


def test_what_is_repeated_is_one_step_where_it_first_occurs() -> None:
    assert told([FIRST, LAST], [tool(2.5, 3)]) == WHOLE
    steps = steps_of([FIRST, LAST], [tool(2.5, 3)])
    assert (steps[2].duration_s, steps[2].tool_name, steps[2].tool_call_id, steps[2].error) == (0.5, "read", "1", False)
    assert told([FIRST, LAST], []) == [*WHOLE[:2], ("tool", "x", 4.0), WHOLE[3]]
    assert steps_of([FIRST, LAST], [])[2].tool_name == "read"  # by its call, where it has no name of its own
    own = Piece("result", "tool", "x", "1", "own")
    assert steps_of([FIRST, model(4, 5, [ASKED, CALL, own], [DONE])], [])[2].tool_name == "own"
    assert steps_of([model(4, 5, [own], [])], [])[0].tool_call_id == "1"
    assert told([LAST, FIRST], [tool(2.5, 3)]) == WHOLE  # in whatever order they are listed


def test_a_call_is_made_before_its_tool_runs_whenever_the_models_record_ends() -> None:
    late = model(1, 9, [ASKED], [Piece("text", text="I read."), CALL, DONE])
    assert told([late], [tool(2.5, 3)]) == [
        ("user", "?", 1.0),
        ("assistant", ["read"], 2.5),
        ("tool", "x", 3.0),
        ("assistant", "Done.", 9.0),
    ]
    assert steps_of([late], [tool(2.5, 3)])[1].content == "I read."
    around = model(3, 9, [ASKED], [CALL])  # its clock is behind that of its tool
    assert told([around], [tool(2.5, 3)]) == [("user", "?", 3.0), ("assistant", ["read"], 2.5), ("tool", "x", 3.0)]


CALLS = [{"id": "1", "function": {"name": "read", "arguments": "{}"}}, {"id": "2", "function": {"name": "write"}}]
SAID_AND_CALLED: list[list[dict[str, Any]]] = [
    [{"role": "assistant", "content": "Look.", "tool_calls": CALLS}],
    [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "1", "name": "read", "arguments": "{}"},
        {"type": "function_call", "call_id": "2", "name": "write", "arguments": "{}"},
    ],
]


@pytest.mark.parametrize("said", SAID_AND_CALLED)
def test_a_reply_with_text_and_calls_is_one_step_wherever_it_is_told(said: list[dict[str, Any]]) -> None:
    replied = [("assistant", "Look.", ["read", "write"])]
    reply, history = model(1, 2, [], pieces_of(said)), model(3, 4, pieces_of(said), [])
    for calls, runs in (([reply], []), ([reply], [tool(2.5, 3)]), ([history], []), ([reply, history], [])):
        assert [(s.role, s.content, [c.name for c in s.tool_calls]) for s in steps_of(calls, runs)][:1] == replied


def test_two_messages_of_one_speaker_are_two_steps() -> None:
    messages = [{"role": role, "content": text} for role, text in (("user", "A"), ("user", "B"), ("assistant", "C"))]
    given = pieces_of([*messages, {"role": "assistant", "content": "D"}])
    assert [step.content for step in steps_of([model(1, 2, given, [])], [])] == ["A", "B", "C", "D"]


def test_a_tool_that_no_model_told_tells_its_own_call() -> None:
    other = Piece("call", name="write", given={})
    assert told([], [tool(2, 3, other)]) == [("assistant", ["write"], 2.0), ("tool", "x", 3.0)]
    assert told([FIRST], [tool(2.5, 3, other)])[2:] == [("assistant", ["write"], 2.5), ("tool", "x", 3.0)]
    assert told([FIRST], [tool(2.5, None)]) == WHOLE[:2]  # nothing came back
    failed = steps_of([FIRST], [tool(2.5, 3, text="", failed=True, problem="broke")])[2]
    assert (failed.content, failed.error) == ("broke", True)


def test_what_the_next_model_heard_is_what_the_tool_gave() -> None:
    heard = model(4, 5, [ASKED, CALL, Piece("result", "tool", "x, shortened", "1")], [DONE])
    assert told([FIRST, heard], [tool(2.5, 3)])[2] == ("tool", "x, shortened", 3.0)
    assert told([FIRST, heard], [tool(2.5, 6)])[2:] == [("tool", "x, shortened", 4.0), ("assistant", "Done.", 5.0)]
    nameless = model(4, 5, [ASKED, CALL, Piece("result", "tool", "in other words")], [DONE])
    assert told([FIRST, nameless], [tool(2.5, 3)]) == WHOLE
    other = model(4, 5, [ASKED, CALL, Piece("result", "tool", "other", name="write")], [DONE])
    assert ("tool", "other", 4.0) in told([FIRST, other], [tool(2.5, 3)])


def test_two_calls_alike_are_two_steps_and_each_result_goes_to_its_own() -> None:
    twice = [Piece("call", id="1", name="read", given={}), Piece("call", id="2", name="read", given={})]
    runs = [tool(2.5, 4, twice[1], "second"), tool(2.6, 3, twice[0], "first")]
    steps = steps_of([model(1, 2, [ASKED], twice)], runs)
    assert [call.id for call in steps[1].tool_calls] == ["1", "2"]
    assert [(step.content, step.tool_call_id) for step in steps[2:]] == [("first", "1"), ("second", "2")]
    plain_runs = [
        tool(2.5, 4, Piece("call", name="read", given={"b": 2}), "b"),
        tool(2.6, 3, Piece("call", name="read"), "a"),
    ]
    given = [Piece("call", id="1", name="read", given={"a": 1}), Piece("call", id="2", name="read", given={"b": 2})]
    steps = steps_of([model(1, 2, [ASKED], given)], plain_runs)
    assert [(step.content, step.tool_call_id) for step in steps[2:]] == [("a", "1"), ("b", "2")]


def test_a_model_that_failed_leaves_an_error_where_it_ends() -> None:
    assert told([model(1, 2, [ASKED], [], failed=True, problem="broke")], []) == [
        ("user", "?", 1.0),
        ("error", "broke", 2.0),
    ]
    both = model(1, 9, [ASKED], [CALL, DONE], failed=True, problem="broke")
    assert told([both], [tool(2.5, 3)])[-2:] == [("assistant", "Done.", 9.0), ("error", "broke", 9.0)]
    assert [step for step in told([both], [tool(2.5, 3)]) if step[0] == "error"] == [("error", "broke", 9.0)]


def test_a_talk_goes_on_where_what_a_model_said_was_given_to_the_next() -> None:
    assert continues([FIRST], [LAST])
    assert not continues([FIRST], [model(4, 5, [ASKED], [CALL])])  # the same question is no answer
    assert not continues([FIRST], [])
    assert not continues([FIRST], [LAST, model(3, 4, [ASKED], [DONE])])  # the earliest of them decides
