"""Calls in text, messages of traces, runs of services and speakers by hand."""

from typing import Any

import pytest

from axisjudge.checks import InputError
from axisjudge.readers import inspect_logs
from axisjudge.readers.chats import agents, exported
from axisjudge.readers.chats.call_forms import (
    calls_at,
    elements_in,
    opens_with,
    shaped_like_call,
    tools_named,
    value_of,
)
from axisjudge.readers.chats.in_text import beside, read_calls
from axisjudge.readers.chats.parts import Conversation, exchange
from axisjudge.readers.events import Tally
from axisjudge.readers.messages import Unread
from axisjudge.readers.trace_spans import Span, pieces_of
from axisjudge.readers.traces import chat_forms, gen_ai, openinference, opentelemetry, services
from axisjudge.readers.traces.runs import SpannedRun, _model_call, _run_of, _threads, _tool_run, _trace
from axisjudge.trajectory import Step, ToolCall

S = 10**9

# Calls in text.


def steps(*said: tuple[str, str]) -> tuple[Step, ...]:
    """Steps by role and text; a call of its own kind stands after a dagger: ``text†name``."""
    made = []
    for index, (role, text) in enumerate(said):
        content, _, name = text.partition("†")
        calls = (ToolCall(id=f"own-{name}", name=name),) if name else ()
        made.append(Step(index=index, role=role, content=content, tool_calls=calls))  # type: ignore[arg-type]
    return tuple(made)


def outline(*said: tuple[str, str], tools: tuple[str, ...] = (), policy: str | None = None) -> list[tuple[Any, ...]]:
    found = read_calls(steps(*said), tools, policy)
    assert [step.index for step in found] == list(range(len(found)))
    return [(step.role, step.content, *(call.name for call in step.tool_calls)) for step in found]


CALL, ANSWER = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', "<tool_response>x</tool_response>"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ([("assistant", f"So. {CALL}"), ("user", ANSWER)], [("assistant", "So.", "f"), ("tool", "x")]),
        (
            [("assistant", f"{CALL}{CALL}"), ("user", f"Here: {ANSWER} and {ANSWER} now.")],
            [
                ("assistant", "", "f", "f"),
                ("user", "Here:"),
                ("tool", "x"),
                ("user", "and"),
                ("tool", "x"),
                ("user", "now."),
            ],
        ),
        ([("assistant", f"<think>{CALL}</think>No.")], [("assistant", f"<think>{CALL}</think>No.")]),
        ([("assistant", f"`{CALL}` is how.")], [("assistant", f"`{CALL}` is how.")]),
        ([("user", CALL)], [("user", CALL)]),
        ([("system", ANSWER), ("assistant", CALL)], [("system", ANSWER), ("assistant", "", "f")]),
        ([("assistant", '{"name": "f", "arguments": {}}')], [("assistant", "", "f")]),
        ([("assistant", '{"name": "f"}')], [("assistant", '{"name": "f"}')]),
        (
            [("assistant", 'Like {"name": "f", "arguments": {}}')],
            [("assistant", 'Like {"name": "f", "arguments": {}}')],
        ),
        (  # beside calls of its own kind only what was answered is a call
            [("assistant", f"{CALL}†own"), ("assistant", CALL)],
            [("assistant", CALL, "own"), ("assistant", CALL)],
        ),
        (
            [("assistant", "†own"), ("assistant", CALL), ("user", ANSWER)],
            [("assistant", "", "own"), ("assistant", "", "f"), ("tool", "x")],
        ),
        ([("assistant", f"```\n{CALL}\n```")], [("assistant", f"```\n{CALL}\n```")]),
        ([("assistant", f"```\n{CALL}\n```"), ("user", ANSWER)], [("assistant", "```\n\n```", "f"), ("tool", "x")]),
        (
            [("assistant", f"One. {CALL}\n{ANSWER}\nTwo. {CALL}\n{ANSWER}\nDone.")],
            [
                ("assistant", "One.", "f"),
                ("tool", "x"),
                ("assistant", "Two.", "f"),
                ("tool", "x"),
                ("assistant", "Done."),
            ],
        ),
        (
            [("assistant", 'Action:\n{"name": "respond", "arguments": {"content": "Hello."}}')],
            [("assistant", 'Action:\n{"name": "respond", "arguments": {"content": "Hello."}}')],
        ),
    ],
)
def test_what_of_a_text_is_a_call_and_what_came_back(said: list[tuple[str, str]], read: list[tuple[Any, ...]]) -> None:
    assert outline(*said) == read


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>nothing here</tool_call>",
        "<my_tool_call>x</my_tool_call>",
        "<|tool_invocation|>",
        "<run_it>\n<path>a</path>\n</run_it>",
    ],
)
def test_a_call_that_nobody_can_read_refuses_the_run(text: str) -> None:
    with pytest.raises(Unread):
        outline(("assistant", text))
    assert outline(("assistant", f"`{text}`"))[0][0] == "assistant"  # quoted it is an example


def test_a_call_that_nobody_ran_is_named_by_its_beginning() -> None:
    talk = steps(("assistant", f"Hm. {CALL} {CALL}†own"), ("assistant", f"```\n{CALL}\n```"), ("user", CALL))
    assert list(beside(talk)) == [(0, f"{CALL} {CALL}"[:60])]
    alone = steps(("user", "?"), ("assistant", f"```\n{CALL}\n```"))
    assert [index for index, _ in beside(alone)] == [1]  # in a run without any call a fence may be one


def calls(text: str, *tools: str) -> list[tuple[Any, ...]]:
    opened = opens_with(frozenset(tools)).search(text)
    return (
        []
        if opened is None
        else [(call.name, call.given, call.id, text[call.end :]) for call in calls_at(text, opened, "")]
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            '<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}", "id": "7"}</tool_call>!',
            [("f", {"a": 1}, "7", "</tool_call>!")],
        ),
        (
            '<tool_call>{"function": {"name": "f", "parameters": {}}, "id": 7}</tool_call>',
            [("f", {}, None, "</tool_call>")],
        ),
        (
            '<tool_call>[{"name": "f"}, {"name": "g"}]</tool_call>',
            [("f", None, None, "</tool_call>"), ("g", None, None, "</tool_call>")],
        ),
        (
            "<function=f><parameter=a>1</parameter><parameter=b>\nx\n</parameter></function>!",
            [("f", {"a": 1, "b": "x"}, None, "!")],
        ),
        ('<function=f>{"a": 1}</function>', [("f", {"a": 1}, None, "")]),
        ('<invoke name="f"><parameter name="a">true</parameter></invoke>!', [("f", {"a": True}, None, "!")]),
        ("<|python_tag|>f.call(a=1)<|eom_id|>!", [("f", {"a": 1}, None, "!")]),
        ("<|python_tag|>f(1)<|eom_id|>", [("code_interpreter", {"code": "f(1)"}, None, "")]),
        ("<|python_tag|>x = 1", [("code_interpreter", {"code": "x = 1"}, None, "")]),
        ('[TOOL_CALLS]f[CALL_ID]7[ARGS]{"a": 1}!', [("f", {"a": 1}, "7", "!")]),
        (
            "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>!",
            [("f", {}, "functions.f:0", "!")],
        ),
        ('to=functions.f <|message|>{"a": 1}<|call|>!', [("f", {"a": 1}, None, "<|call|>!")]),
        ("Action: f\nAction Input: x\nObservation: y", [("f", {"input": "x"}, None, "Observation: y")]),
        ("Action: f\nAction Input:\nObservation: y", [("f", {}, None, "Observation: y")]),
        ("Action: f[x]\nNext", [("f", {"input": "x"}, None, "Next")]),
        ('<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>!', [("f", {"a": 1}, None, "!")]),
        (
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>!",
            [("f", {}, None, "!")],
        ),
        ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}<｜tool▁call▁end｜>!", [("function", {}, None, "!")]),
        ("<｜tool▁call▁begin｜>f<｜tool▁sep｜>words<｜tool▁call▁end｜>!", [("f", "words", None, "!")]),
        ("<search> x </search>!", [("search", {"query": "x"}, None, "!")]),
        ("<execute_bash>ls</execute_bash>!", [("execute_bash", {"code": "ls"}, None, "!")]),
        ("```tool_code\nf(a=1)\n```!", [("f", {"a": 1}, None, "!")]),
        ("<read><path>a</path><n>2</n></read>!", [("read", {"path": "a", "n": 2}, None, "!")]),
        ("<read>a</read>", [("read", {"input": "a"}, None, "")]),
        ("<read>is open", []),
    ],
)
def test_a_call_of_each_form_with_where_it_ends(text: str, found: list[tuple[Any, ...]]) -> None:
    assert calls(text, "read") == found


def test_tools_are_known_by_name_where_they_are_described_or_answered() -> None:
    policy = "# read_file\n<read_file><path>a</path></read_file>\n# other\n- think\n<think></think>"
    talk = steps(("user", "[list for 'a'] Result:\nx"), ("assistant", "<open_it>\n<path>a</path>\n</open_it>"))
    assert tools_named((), (), policy) == {"read_file"}
    assert tools_named((), ("f", "no-name", "think"), None) == {"f"}
    assert tools_named(talk, (), None) == {"list", "open_it"}
    assert tools_named(talk[1:], (), None) == frozenset()  # nothing was answered
    assert shaped_like_call("<open_it>\n<path>a</path>\n</open_it>") == "open_it"
    assert shaped_like_call("<open_it>\nsee <b>a</b>\n</open_it>") is None
    assert elements_in("<a>1</a>x") is None
    assert elements_in("<a></a>1</a><b>\n2\n</b>") == [("a", "</a>1"), ("b", "2")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' {"a": 1} ', {"a": 1}),
        ("{'a': None}", {"a": None}),
        ("[1, 2]", [1, 2]),
        ("12", "12"),
        ("{no", "{no"),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
    ],
)
def test_json_or_pythons_way_of_it(text: str, value: Any) -> None:
    assert value_of(text) == value


# Messages of traces.

HUMAN, AI = {"type": "human", "content": "?"}, {"type": "ai", "content": "!"}


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ("?", [("user", "?")]),
        ("  ", []),
        ('{"input": "?"}', [("user", "?")]),
        (["human", "?"], [("user", "?")]),
        (["a", "b"], [("user", "a"), ("user", "b")]),
        (["human", "?", "!"], [("user", "human"), ("user", "?"), ("user", "!")]),
        ([["ai", "!"], HUMAN], [("assistant", "!"), ("user", "?")]),
        ({"messages": [[HUMAN, AI]]}, [("user", "?"), ("assistant", "!")]),
        ({"system": "S.", "messages": [HUMAN]}, [("system", "S."), ("user", "?")]),
        ({"system": 3, "prompt": "?"}, [("user", "?")]),
        ({"generations": [[{"text": "x", "message": AI}]]}, [("assistant", "!")]),
        ({"choices": [{"message": {"role": "assistant", "content": "!"}}]}, [("assistant", "!")]),
        ({"question": "?"}, [("user", "?")]),
        ({"question": "?", "n": 1}, []),
        ({"question": "?", "more": "x"}, []),
        ([{"type": "tool_use", "id": "1", "name": "f"}], [("user", [{"type": "tool_use", "id": "1", "name": "f"}])]),
        ({"tool_calls": [{"id": "1"}]}, [("user", None)]),
        ({"role": "assistant", "n": 1}, []),
        (3, []),
    ],
)
def test_the_messages_that_a_record_holds(held: Any, found: list[Any]) -> None:
    assert [(message["role"], message["content"]) for message in chat_forms.messages_in(held, "user")] == found


def test_a_record_that_may_hide_a_call_is_refused() -> None:
    with pytest.raises(Unread):
        chat_forms.messages_in({"tool_call": {"a": 1}, "b": 2}, "user")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"type": "AIMessageChunk", "content": "!"}, ("assistant", "!", [], None)),
        (
            {
                "type": "constructor",
                "id": ["x", "ToolMessage"],
                "kwargs": {"content": "x", "tool_call_id": "1", "status": "error"},
            },
            ("tool", "x", [], True),
        ),
        ({"type": "tool", "data": {"content": "x", "status": "success"}}, ("tool", "x", [], False)),
        (
            {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [{"id": "1"}]}},
            ("assistant", "", [{"id": "1"}], None),
        ),
        (
            {
                "type": "ai",
                "content": "",
                "tool_calls": [{"id": "2"}],
                "additional_kwargs": {"tool_calls": [{"id": "1"}]},
            },
            ("assistant", "", [{"id": "2"}], None),
        ),
        (
            {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "f"}}},
            ("assistant", "", [{"function": {"name": "f"}}], None),
        ),
        (
            {"type": "ai", "content": "", "tool_calls": [{"id": "2"}], "function_call": {"name": "f"}},
            ("assistant", "", [{"id": "2"}], None),
        ),
        (
            {"type": "ai", "content": "", "invalid_tool_calls": [{"id": "3", "args": "{"}]},
            ("assistant", "", [{"id": "3", "args": "{", "arguments": "{"}], None),
        ),
        ({"type": "chat", "content": "C.", "role": "system"}, ("system", "C.", [], None)),
        ({"role": "user", "content": "?", "status": "error"}, ("user", "?", [], None)),
    ],
)
def test_a_message_in_the_forms_of_its_client(record: dict[str, Any], message: tuple[Any, ...]) -> None:
    found = chat_forms.message_of(record)
    assert (found["role"], found["content"], found["tool_calls"], found.get("is_error")) == message


def test_a_call_of_openinference_that_lost_its_name_is_a_call() -> None:
    (piece,) = pieces_of([openinference._message({"role": "assistant", "function_call_arguments_json": '{"a": 1}'})])
    assert (piece.kind, piece.name, piece.given) == ("call", "unknown", {"a": 1})


def test_thoughts_and_a_refusal_beside_the_content_of_a_services_message_are_read() -> None:
    thought = {"type": "ai", "content": "A.", "additional_kwargs": {"reasoning_content": "Hm."}}
    refused = {"role": "assistant", "content": None, "refusal": "No."}
    pieces = pieces_of([chat_forms.message_of(thought), chat_forms.message_of(refused)])
    assert [(piece.kind, piece.text) for piece in pieces] == [("thinking", "Hm."), ("text", "A."), ("text", "No.")]


def test_why_a_model_stopped_wherever_it_says_so() -> None:
    deep: Any = {"finish_reason": "stop"}
    for _ in range(5):
        deep = {"a": deep}
    assert chat_forms.finish_in(deep) == "stop"  # five levels down, the sixth record
    assert chat_forms.finish_in({"a": deep}) is None
    assert chat_forms.finish_in([{"stop_reason": "a"}, {"stop_reason": "b"}, {}]) == "b"
    assert chat_forms.finish_in({"x": [], "stop_reason": "end", "y": {"stop_reason": "no"}}) == "end"
    deep = [{"finish_reason": "stop"}]
    for _ in range(4):
        deep = [deep]
    assert (chat_forms.finish_in(deep), chat_forms.finish_in([deep])) == ("stop", None)


# Runs of services.


def ran(name: str, kind: str, start: float, end: float | None = None, **given: Any) -> SpannedRun:
    known: dict[str, Any] = {"trace": "t", "parent": None, "name": name, "inputs": None, "outputs": None}
    return SpannedRun(
        **known | {"id": name, "kind": kind, "start": int(start * S), "end": end and int(end * S)} | given
    )


@pytest.mark.parametrize(
    ("given", "outputs", "call", "failed"),
    [
        ({"a": 1}, "x", ({"a": 1}, "x", None), False),
        ({"input": '{"a": 1}'}, {"output": "x"}, ({"a": 1}, "x", None), False),
        ({"input": "{'a': 1}"}, {"output": "x", "more": 1}, ({"a": 1}, '{"output": "x", "more": 1}', None), False),
        ({"input": "words"}, None, ({"input": "words"}, "", None), False),
        ({"input": "{}", "b": 1}, "x", ({"input": "{}", "b": 1}, "x", None), False),
        ({"type": "tool_call", "args": {"a": 1}}, "x", ({"a": 1}, "x", None), False),
        ({"type": "tool_call", "args": 3}, "x", ({"type": "tool_call", "args": 3}, "x", None), False),
        (
            {},
            {"output": {"type": "tool", "content": "x", "tool_call_id": "1", "status": "error"}},
            ({}, "x", "1"),
            True,
        ),
        ({}, {"type": "tool", "content": "x", "tool_call_id": "1", "status": "success"}, ({}, "x", "1"), False),
    ],
)
def test_a_run_of_a_tool(given: Any, outputs: Any, call: tuple[Any, ...], failed: bool) -> None:
    found = _tool_run(ran("f", "tool", 1, 2, inputs=given, outputs=outputs))
    assert ((found.call.given, found.call.text, found.call.id), found.failed, found.problem) == (call, failed, "")
    assert (found.start, found.end, found.call.name) == (S, 2 * S, "f")
    told = _tool_run(ran("f", "tool", 1, inputs=given, outputs=outputs, problem="broke", call="9"))
    assert (told.failed, told.problem, told.call.id, told.end) == (True, "broke", call[2] or "9", None)


def test_what_a_model_was_given_and_gave() -> None:
    asked, said = {"messages": [HUMAN]}, {"messages": [HUMAN, AI]}
    chain = _model_call(ran("c", "chain", 1, inputs=asked, outputs=said))
    assert [piece.text for piece in chain.after] == ["!"]  # its state holds what it was given once more
    model = _model_call(ran("m", "llm", 1, 3, inputs=asked, outputs=said, problem="broke"))
    assert [piece.text for piece in model.after] == ["?", "!"]
    assert (model.failed, model.problem, model.start, model.end, chain.end) == (True, "broke", S, 3 * S, S)


def traced(*runs: SpannedRun) -> Any:
    tally = Tally()
    return _trace(list(runs), "p", tally), [(note.rule, note.times) for note in tally.notes()]


def test_the_runs_of_a_trace_that_tell_its_talk() -> None:
    asked, said = {"messages": [HUMAN]}, {"messages": [AI]}
    outer = ran("outer", "llm", 2, 9, parent="root", inputs=asked, outputs=said)
    inner = ran("inner", "llm", 3, 8, parent="outer", inputs=asked, outputs=said)
    tool = ran("f", "tool", 4, 5, parent="root", inputs={}, outputs="x")
    root = ran("root", "chain", 1, 10, inputs=asked, outputs=said)
    trace, notes = traced(inner, tool, outer, root)
    assert (trace.root.id, [run.id for run, _ in trace.models], len(trace.tools)) == ("root", ["inner"], 1)
    assert notes == [("an event that is no step", 2)]
    alone, notes = traced(root)
    assert ([run.id for run, _ in alone.models], notes) == (["root"], [])
    empty, notes = traced(ran("m", "llm", 1), ran("f", "tool", 2, parent="m"))
    assert (empty.models, len(empty.tools)) == ([], 1)
    assert dict(notes)["a run without inputs and outputs"] == 1
    orphan, _ = traced(ran("a", "llm", 1, parent="b", inputs=asked), ran("b", "llm", 2, parent="gone", inputs=asked))
    assert orphan.root.id == "b"  # the one whose parent is not here, though it began later


def test_traces_of_a_thread_are_one_run_where_they_go_on() -> None:
    first = traced(ran("a", "llm", 1, 2, inputs=[HUMAN], outputs=AI, thread="th", trace="t1", task="task", model="m"))[
        0
    ]
    said = {"role": "assistant", "content": "3", "finish_reason": "stop"}
    second = traced(ran("b", "llm", 3, 4, inputs=[HUMAN, AI, HUMAN], outputs=said, thread="th", trace="t2", model="m"))
    second = second[0]
    other = traced(ran("c", "llm", 5, 6, inputs=[HUMAN], outputs=AI, thread="th", trace="t3", failed=True))[0]
    assert [(name, [each.root.id for each in talk]) for name, talk in _threads([second, first])] == [("th", ["a", "b"])]
    apart = [(name, [each.root.id for each in talk]) for name, talk in _threads([other, second, first])]
    assert apart == [("t1", ["a", "b"]), ("t3", ["c"])]
    assert [name for name, _ in _threads([first])] == ["t1"]
    run = _run_of("th", [first, second], "p", "langsmith", Tally()).trajectory
    assert run is not None
    assert (run.id, run.agent, run.task_id, run.termination) == ("th", "m", "task", "stop")
    assert run.meta == {"traces": ["t1", "t2"], "name": "b"}
    assert [(step.role, step.content) for step in run.steps] == [
        ("user", "?"),
        ("assistant", "!"),
        ("user", "?"),
        ("assistant", "3"),
    ]
    assert _run_of("t3", [other], "p", "langsmith", Tally()).trajectory.termination == "error"  # type: ignore[union-attr]


ONE, TWO = "1" * 36, "2" * 36


@pytest.mark.parametrize(
    ("more", "trace", "parent"),
    [
        ({}, "r", None),
        ({"dotted_order": f"20260101T000000000000Z{ONE}"}, ONE, None),
        ({"dotted_order": f"20260101T000000000000Z{ONE}.20260101T000001000000Z{TWO}"}, ONE, ONE),
        (
            {"dotted_order": f"20260101T000000000000Z{ONE}.20260101T000001000000Z{TWO}.20260101T000002000000Zr"},
            ONE,
            TWO,
        ),
        ({"dotted_order": f"20260101T000000000000Z{ONE}.x", "parent_run_id": "p", "trace_id": "t"}, "t", "p"),
    ],
)
def test_a_run_of_langsmith_and_what_is_above_it(more: dict[str, Any], trace: str, parent: str | None) -> None:
    record = {"id": "r", "run_type": "llm", "name": "n", "start_time": "1970-01-01T00:00:01"} | more
    found = services._langsmith_run(record)
    assert (found.id, found.trace, found.parent, found.start, found.end) == ("r", trace, parent, S, None)
    assert (found.kind, found.name, found.failed, found.tools, found.thread, found.model) == (
        "llm",
        "n",
        False,
        [],
        None,
        None,
    )


def test_what_a_run_of_langsmith_states() -> None:
    extra = {"invocation_params": {"model": "i", "tools": [{"name": "f"}]}, "tool_call_id": "c"}
    record = {"run_id": "r", "run_type": "llm", "start_time": 1, "end_time": 2, "status": "error", "error": "e"}
    record |= {"inputs": '{"a": 1}', "outputs": {"b": 2}, "reference_example_id": 7}
    found = services._langsmith_run(record | {"extra": extra | {"metadata": {"session_id": 3, "thread_id": None}}})
    assert (found.id, found.end, found.failed, found.problem, found.task) == ("r", 2 * S, True, "e", "7")
    assert (found.inputs, found.outputs, found.model, found.tools, found.call) == (
        {"a": 1},
        {"b": 2},
        "i",
        [{"name": "f"}],
        "c",
    )
    assert found.thread == "3"
    named = services._langsmith_run(
        record | {"extra": extra | {"metadata": {"ls_model_name": "m", "thread_id": "t", "session_id": 3}}}
    )
    assert (named.model, named.thread) == ("m", "t")
    assert services._langsmith_run(record | {"custom_metadata": {"ls_model_name": "m"}}).model == "m"


SCHEMA = {"role": "tool", "content": {"type": "function", "function": {"name": "f"}}}


def test_what_an_observation_of_langfuse_states() -> None:
    record = {"id": 1, "traceId": "t", "type": "generation", "startTime": "1970-01-01T00:00:01", "endTime": 2}
    record |= {"parentObservationId": 5, "level": "ERROR", "statusMessage": "e", "providedModelName": "m"}
    record |= {"input": [SCHEMA, USER_SAID], "output": '["x"]', "metadata": {"task_id": "7", "tool_call_id": "c"}}
    found = services._langfuse_run(record)
    assert (found.id, found.trace, found.parent, found.kind, found.start, found.end) == ("1", "t", "5", "llm", S, 2 * S)
    assert (found.problem, found.model, found.inputs, found.outputs) == ("e", "m", [USER_SAID], ["x"])
    assert (found.tools, found.task, found.call) == ([SCHEMA["content"]], "7", "c")
    plain = services._langfuse_run(
        {**record, "type": "SPAN", "level": "DEFAULT", "model": "n", "input": "?", "endTime": None}
    )
    assert (plain.kind, plain.problem, plain.model, plain.inputs, plain.tools, plain.end) == (
        "span",
        None,
        "n",
        "?",
        [],
        None,
    )
    assert services._langfuse_run({**record, "statusMessage": None}).problem == "error"
    for other in (
        {**SCHEMA, "tool_call_id": "1"},
        {**SCHEMA, "role": "user"},
        {"role": "tool", "content": {"type": "function"}},
    ):
        assert services._langfuse_run({**record, "input": [other]}).inputs == [other]  # a result, and no schema


USER_SAID = {"role": "user", "content": "?"}


def test_a_trace_of_langfuse_stands_above_its_observations() -> None:
    first, second = (
        {"id": "a", "startTime": "2026-01-02"},
        {"id": "b", "startTime": "2026-01-01", "parentObservationId": "a"},
    )
    trace = {"id": "t", "timestamp": "2026-01-03", "observations": [first, second, 3], "name": "n"}
    above, one, two = services._langfuse_records(trace)
    assert (above["type"], above["traceId"], above["startTime"], above["name"]) == ("TRACE", "t", "2026-01-01", "n")
    assert [(each["traceId"], each["parentObservationId"]) for each in (one, two)] == [("t", "t"), ("t", "a")]
    assert [each["id"] for each in services._langfuse_records({"trace": {"id": "t"}, "observations": [first]})] == [
        "t",
        "a",
    ]
    with pytest.raises(InputError, match="names its observations and does not hold them; found 'a'"):
        list(services._langfuse_records({**trace, "observations": ["a"]}))


def test_what_a_span_of_mlflow_states() -> None:
    attributes = {
        "mlflow.spanType": '"LLM"',
        "mlflow.spanInputs": '{"a": 1}',
        "mlflow.spanOutputs": "words",
        "model": "m",
    }
    span_ = {"span_id": "s", "parent_id": "p", "name": "n", "start_time": 1, "end_time": 2, "attributes": attributes}
    value = {"info": {"request_id": "t", "tags": {"task_id": "7"}}, "data": {"spans": [span_]}}
    (record,) = services._spans({"trace": value})
    found = services._mlflow_run(record)
    assert (found.id, found.trace, found.parent, found.kind, found.start, found.end) == (
        "t s",
        "t",
        "t p",
        "llm",
        S,
        2 * S,
    )
    assert (found.inputs, found.outputs, found.model, found.task, found.problem) == ({"a": 1}, "words", "m", "7", None)
    newer = {
        "context": {"span_id": "s"},
        "start_time_unix_nano": 5,
        "end_time_unix_nano": 0,
        "attributes": {"mlflow.spanType": "TOOL"},
    }
    (record,) = services._spans({"trace_id": "t", "request_id": "no", "spans": [newer | {"status": {"code": "ERROR"}}]})
    found = services._mlflow_run(record)
    assert (found.id, found.parent, found.kind, found.end, found.problem) == ("t s", None, "tool", None, "error")
    for code, problem in ((2, "m"), ("2", "m"), ("STATUS_CODE_ERROR", "m"), (1, None), ("OK", None)):
        record = record._replace(fields={**newer, "status_code": code, "status_message": "m"})
        assert services._mlflow_run(record).problem == problem
    given = record._replace(
        fields={**newer, "attributes": {"mlflow.spanType": "TOOL", "mlflow.spanInputs": "{'a': 1}"}}
    )
    assert services._mlflow_run(given).inputs == {"a": 1}


# Spans of models and tools.


def span(attributes: dict[str, Any], name: str = "n", **given: Any) -> Span:
    return Span("t", "s", None, name, 0, 1, attributes, given.get("events", []), given.get("failed", False), "")


KIND = "openinference.span.kind"


@pytest.mark.parametrize(
    ("attributes", "failed", "before", "after"),
    [
        ({KIND: "LLM", "input.value": "?", "output.value": "!"}, False, [("user", "?")], [("assistant", "!")]),
        ({KIND: "LLM", "input.value": "?", "output.value": "!"}, True, [("user", "?")], []),
        ({KIND: "CHAIN", "input.value": "?", "output.value": "!"}, False, [], []),
        (
            {
                KIND: "LLM",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "?",
                "input.value": "no",
            }
            | {"llm.output_messages.0.message.content": "!", "output.value": "no"},
            True,
            [("user", "?")],
            [("assistant", "!")],
        ),
        (
            {KIND: "LLM", "input.value": '{"messages": [{"role": "system", "content": "S."}]}'},
            False,
            [("system", "S.")],
            [],
        ),
        ({KIND: "LLM", "input.value": '{"a": 1}'}, False, [("user", '{"a": 1}')], []),
    ],
)
def test_what_a_span_of_openinference_tells(
    attributes: dict[str, Any], failed: bool, before: list[Any], after: list[Any]
) -> None:
    one = span(attributes, failed=failed)
    assert [(piece.role, piece.text) for piece in openinference.pieces_before(one)] == before
    assert [(piece.role, piece.text) for piece in openinference.pieces_after(one)] == after


def test_messages_of_openinference_with_parts_calls_and_results() -> None:
    told = {
        "0.message.role": "user",
        "0.message.tool_call_id": "1",
        "0.message.content": "x",
        "1.message.role": "assistant",
        "1.message.content": "So.",
        "1.message.contents.0.tool_call.id": "2",
        "1.message.contents.0.tool_call.function.name": "f",
        "2.message.role": "assistant",
        "2.message.contents.0.message_content.type": "text",
        "2.message.contents.0.message_content.text": "Now.",
        "2.message.content": "no",
        "2.message.tool_calls.0.tool_call.id": "3",
        "2.message.tool_calls.0.tool_call.function.name": "g",
        "3.message.role": "assistant",
        "3.message.function_call_name": "h",
        "3.message.function_call_arguments_json": "{}",
    }
    pieces = openinference.pieces_before(
        span({KIND: "LLM"} | {f"llm.input_messages.{key}": value for key, value in told.items()})
    )
    assert [(piece.kind, piece.role, piece.text, piece.id, piece.name) for piece in pieces] == [
        ("result", "tool", "x", "1", None),
        ("text", "assistant", "So.", None, None),
        ("call", "assistant", "", "2", "f"),
        ("text", "assistant", "Now.", None, None),
        ("call", "assistant", "", "3", "g"),
        ("call", "assistant", "", None, "h"),
    ]


@pytest.mark.parametrize(
    ("attributes", "known"),
    [
        (
            {KIND: "TOOL", "tool.name": "f", "input.value": "{'a': 1}", "output.value": "x", "tool.id": "1"},
            ("f", {"a": 1}, "x", "1"),
        ),
        (
            {KIND: "TOOL", "output.value": '{"content": "x", "tool_call_id": "2"}', "tool.id": "1"},
            ("n", None, "x", "2"),
        ),
        ({KIND: "TOOL", "output.value": '{"tool_call_id": "2"}'}, ("n", None, '{"tool_call_id": "2"}', "2")),
        ({KIND: "LLM", "tool.name": "f"}, None),
        ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "1"}, ("n", None, "", "1")),
        (
            {"gen_ai.tool.name": "f", "gen_ai.tool.call.result": "x", "gen_ai.tool.call.arguments": "{}"},
            ("f", "{}", "x", None),
        ),
        ({"ai.toolCall.name": "f", "ai.toolCall.id": "1"}, ("f", None, "", "1")),
        ({"traceloop.span.kind": "tool", "traceloop.entity.name": "f"}, ("f", None, "", None)),
        ({"gen_ai.operation.name": "chat"}, None),
    ],
)
def test_the_call_that_a_span_of_a_tool_stands_for(attributes: dict[str, Any], known: tuple[Any, ...] | None) -> None:
    one = span(attributes, "execute_tool n" if "gen_ai.operation.name" in attributes else "n")
    piece = openinference.tool_piece(one) or gen_ai.tool_piece(one)
    assert (piece and (piece.name, piece.given, piece.text, piece.id)) == known


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        (
            "gen_ai.system_instructions",
            '["S.", {"content": "T."}, {"type": "x"}, 3]',
            [("system", "S."), ("system", "T.")],
        ),
        ("gen_ai.prompt.0.content", "?", [("assistant", "?")]),
        ("gen_ai.input.messages", '[{"role": "user", "content": "?"}]', [("user", "?")]),
        ("ai.prompt.messages", '[{"role": "user", "content": "?"}]', [("user", "?")]),
        (
            "gcp.vertex.agent.llm_request",
            '{"config": {"system_instruction": "S."}, "contents": [{"role": "user", "parts": [{"text": "?"}]}]}',
            [("system", "S."), ("user", "?")],
        ),
        ("gcp.vertex.agent.llm_request", "[1]", []),
    ],
)
def test_what_a_span_of_gen_ai_was_given(key: str, value: str, found: list[Any]) -> None:
    assert [(piece.role, piece.text) for piece in gen_ai.pieces_before(span({key: value}))] == found
    inside = span({}, events=[("gen_ai.client.inference.operation.details", {key: value}), ("other", {key: "no"})])
    assert [(piece.role, piece.text) for piece in gen_ai.pieces_before(inside)] == found


@pytest.mark.parametrize(
    ("event", "before", "after"),
    [
        (("gen_ai.user.message", {"content": "?"}), [("user", "?")], []),
        (("gen_ai.choice", {"message": '{"content": "!"}'}), [], [("assistant", "!")]),
        (("gen_ai.choice", {"content": "!"}), [], [("assistant", "!")]),
        (("gen_ai.content.prompt", {"gen_ai.prompt": '[{"role": "user", "content": "?"}]'}), [("user", "?")], []),
        (("gen_ai.content.completion", {"gen_ai.completion": '[{"content": "!"}]'}), [], [("assistant", "!")]),
        (("user.message", {"content": "?"}), [], []),
        (("gen_ai.user.note", {"content": "?"}), [], []),
    ],
)
def test_what_an_event_of_gen_ai_tells(event: Any, before: list[Any], after: list[Any]) -> None:
    one = span({}, events=[event])
    assert [(piece.role, piece.text) for piece in gen_ai.pieces_before(one)] == before
    assert [(piece.role, piece.text) for piece in gen_ai.pieces_after(one)] == after


def test_what_contains_a_call_is_outer() -> None:
    parents = {"a": "b", "b": "c", "c": None, "d": "e", "e": "d"}
    assert opentelemetry.outer_of(["a"], parents.get) == {"b", "c"}
    assert opentelemetry.outer_of(["d"], parents.get) == {"e", "d"}  # a circle ends
    assert opentelemetry.outer_of(["c"], parents.get) == set()
    tally = Tally()
    tools = opentelemetry.schemas_of([[{"name": "f"}], [{"name": "f", "description": "d"}, {}]], tally, "p")
    assert [(tool.name, tool.description) for tool in tools or ()] == [("f", "d")]
    assert len(tally.notes()) == 1
    assert opentelemetry.schemas_of([[], []], tally, "p") is None


# Speakers, records, letters.


def said(*lines: str) -> list[dict[str, Any]]:
    """Messages as ``role name`` with a ``!`` where it calls."""
    made = []
    for line in lines:
        role, name, *call = line.split()
        made.append(
            {"role": role, "content": "x"}
            | ({"name": name} if name != "-" else {})
            | ({"tool_calls": [1]} if call else {})
        )
    return made


@pytest.mark.parametrize(
    ("lines", "roles"),
    [
        (["user a", "assistant b"], {}),
        (["user -", "assistant a", "assistant b"], {}),
        (["assistant a", "user b"], {"a": "user", "b": "assistant"}),  # the first speaker is no assistant
        (["user a", "user b"], {"a": "user", "b": "assistant"}),  # nobody answers
        (["user a", "assistant b !"], {"a": "user", "b": "assistant"}),  # all that an assistant says is a call
        (["user a", "assistant b", "user b"], {"a": "user", "b": "assistant"}),  # one name in two roles
        (["user a", "assistant human"], {}),
        (["user a", "user Human", "user b"], {"a": "assistant", "Human": "user", "b": "assistant"}),
        (["user a !", "user b", "user c"], {"a": "assistant", "b": "user", "c": "assistant"}),
        (["user -", "assistant a", "user b"], {"a": "user", "b": "assistant"}),
        (["anna -", "ben -"], {"anna": "user", "ben": "assistant"}),
    ],
)
def test_who_is_the_user_where_roles_cannot_be_believed(lines: list[str], roles: dict[str, str]) -> None:
    assert exported._roles(said(*lines)) == roles


def conversation(outer: dict[str, Any], **given: Any) -> Any:
    steps_of_it = Conversation("x", "p", outer)
    steps_of_it.text("user", "?", None)
    return steps_of_it.finish(**given).trajectory


def test_what_a_record_states_wins_over_what_was_inferred() -> None:
    run = conversation(
        {"id": 7, "agent": {"name": "A"}, "reward": 1, "policy": "P.", "termination": "done"},
        agent="B",
        policy="Q.",
        termination="no",
    )
    assert (run.id, run.agent, run.reward, run.policy, run.termination) == ("7", "A", 1.0, "P.", "done")
    run = conversation(
        {"metadata": {"agent": "A", "task_id": 3, "reward": 0.5, "x": 1}, "key": "k"}, identity="i", meta={"y": 2}
    )
    assert (run.id, run.agent, run.task_id, run.reward, run.meta) == ("k", "A", "3", 0.5, {"x": 1, "y": 2})
    run = conversation({"metadata": {"reward": "high"}, "domain": None}, identity="i", agent="B")
    assert (run.id, run.agent, run.reward, run.meta) == ("i", "B", None, {"reward": "high"})
    with pytest.raises(InputError, match=r"p\.reward"):
        conversation({"reward": "high"})
    assert conversation({}).id == conversation({}).id != conversation({"task_id": "t"}).id
    hosted = conversation({}, tools=(), hosted=["b", "a", "b"]).tools
    assert [tool.name for tool in hosted] == ["a", "b"]
    assert conversation({}, hosted=["a"]).tools is None


@pytest.mark.parametrize(
    ("record", "request_", "response", "task", "position"),
    [
        ({"messages": []}, {"messages": []}, {}, None, "p"),
        ({"custom_id": "c", "params": {"a": 1}}, {"a": 1}, {}, "c", "p.params"),
        ({"custom_id": "c", "body": {"a": 1}, "response": {"body": {"b": 2}}}, {"a": 1}, {"b": 2}, "c", "p.body"),
        ({"request": {"body": {"a": 1}}, "response": {"b": 2}}, {"a": 1}, {"b": 2}, None, "p.request.body"),
        ({"key": "k", "request": {"a": 1}, "task_id": "t"}, {"a": 1}, {}, "t", "p.request"),
    ],
)
def test_a_record_taken_apart(record: Any, request_: Any, response: Any, task: str | None, position: str) -> None:
    parts = exchange(record, "p")
    assert (parts.request, parts.response, parts.outer.get("task_id"), parts.position) == (
        request_,
        response,
        task,
        position,
    )
    answer = exchange({"custom_id": "c", "result": {"message": {"b": 2}}}, "p")
    assert (answer.response, answer.outer) == ({"b": 2}, {"task_id": "c", "result": {"message": {"b": 2}}})


@pytest.mark.parametrize(
    ("scores", "reward"),
    [
        *(({"s": "C"}, 1.0), ({"s": "P"}, 0.5), ({"s": "I"}, 0.0), ({"s": "N"}, 0.0), ({"s": "X"}, None)),
        *(({"s": True}, 1.0), ({"s": 0.25}, 0.25), ({"s": [1]}, None), ({}, None), ({"s": 1, "t": 1}, None)),
    ],
)
def test_the_reward_of_an_inspect_sample(scores: dict[str, Any], reward: float | None) -> None:
    assert inspect_logs._reward(scores) == reward


def test_a_sample_of_inspect() -> None:
    use = {"type": "tool_use", "id": "9", "name": "web", "arguments": "{}", "error": "bad"}
    messages = [
        {"role": "user", "content": "attachment://a"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "So."}, use],
            "tool_calls": [{"id": "1", "function": "f", "arguments": {"a": 1}}],
        },
        {"role": "tool", "tool_call_id": "1", "function": "f", "content": "", "error": {"message": "broke"}},
    ]
    events = [{"event": "model", "tools": [{"name": "f"}]}, {"event": "tool", "tools": [{"name": "g"}]}]
    sample = {"id": 1, "epoch": 2, "attachments": {"a": "?"}, "messages": messages, "events": events}
    sample |= {"scores": {"s": {"value": "C"}}, "limit": {"type": "token"}}
    run = inspect_logs.trajectory_of(sample, {"task": "t", "model": "m"})
    assert [(s.role, s.content, [c.name for c in s.tool_calls], s.error) for s in run.steps] == [
        ("user", "?", [], None),
        ("assistant", "So.", ["f", "web"], None),
        ("tool", "bad", [], True),
        ("tool", "broke", [], True),
    ]
    assert (run.agent, run.task_id, run.domain, run.reward, run.termination) == ("m", "1", "t", 1.0, "token_limit")
    assert (run.meta, [tool.name for tool in run.tools or ()]) == ({"epoch": 2, "scores": {"s": "C"}}, ["f"])
    other = inspect_logs.trajectory_of({**sample, "error": "e", "events": [], "uuid": "u"}, {"task": "t", "model": "m"})
    assert (other.id, other.termination, other.tools) == ("u", "error", None)
    done = {"id": 1, "output": {"choices": [{"stop_reason": "a"}, {"stop_reason": "stop"}]}}
    assert inspect_logs.trajectory_of(done, {"task": "t", "model": "m"}).termination == "stop"


def test_items_that_tool_calls_hold_already_are_told_once() -> None:
    items = [
        {"type": "function_call", "call_id": "1"},
        {"type": "web_search_call", "id": "2"},
        {"type": "reasoning"},
        "x",
    ]
    rest, told = agents._content(items, {"1"})
    assert (rest, told) == ([{"type": "reasoning"}, "x"], [items[1]])
    assert agents._content("x", set()) == ("x", [])
