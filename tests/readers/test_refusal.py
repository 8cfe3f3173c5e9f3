"""What carries a call or a result is read, or the file is refused: never left out with a warning."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from conversations import chat, results, simulation, tau_bench_run, write
from hypothesis import given
from hypothesis import strategies as st
from readers.made_logs import claude, codex, item
from test_bad_transcripts import LOOSE, VALUES, places_in, survives
from test_chats import CHATS, FILES, raw
from test_traces import otlp

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories
from axisjudge.readers.messages import carries_call, names_call

#: Parts that no source here writes; each may carry a call or a result by its type or by a key.
UNREAD: list[dict[str, Any]] = [
    {"type": "quantum_tool_use", "payload": {"q": 1}},
    {"type": "agent_invocation", "target": "find_parcel"},
    {"type": "function_response", "value": "hall 7"},
    {"type": "extra", "toolCall": {"name": "find_parcel"}},
    {"type": "extra", "inner": [{"call_id": "c1", "text": "hall 7"}]},
    {"mcpResult": {"text": "hall 7"}},
]
HARMLESS: list[dict[str, Any]] = [
    {"type": "hologram", "data": "aA=="},
    {"type": "video_url", "video_url": {"url": "https://example.org/v"}},
    {"type": "map", "points": [{"x": 1}]},
]


def with_part(part: dict[str, Any]) -> dict[str, Any]:
    """One file of each kind with this part in an assistant's content, but for logs of events."""
    texts = [{"type": "text", "text": "Hall 7."}, part]
    turn = {"role": "assistant", "content": texts}
    user = {"role": "user", "content": "Where is P-11?"}
    asked = {"type": "tool_use", "id": "a", "name": "find_parcel", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "hall 7"}
    blocks = [user, {"role": "assistant", "content": [asked]}, {"role": "user", "content": [answer]}, turn]
    responses = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"type": "message", **turn}]
    untyped = {key: value for key, value in part.items() if key != "type"}
    times = {"start": 1, "end": 2}
    sample = {"id": 1, "epoch": 1, "messages": [user, turn]}
    return {
        "openai_chat": [*chat()[:1], turn],
        "tau_bench": [tau_bench_run(traj=[user, turn])],
        "tau2": results(simulation(messages=[user, turn])),
        "inspect": {"eval": {"task": "t", "model": "m"}, "samples": [sample]},
        "anthropic_messages": blocks,
        "openai_responses": responses,
        "langchain_messages": [{"type": "human", "content": "?"}, {"type": "ai", "content": texts}],
        "gemini_contents": [{"role": "model", "parts": [{"text": "Hall 7."}, untyped]}],
        "named_speakers": [{**user, "name": "ann"}, {**turn, "name": "clerk"}],
        "autogen_events": [{"type": "TextMessage", "source": "user", "content": "?"}, {"source": "a", **part}]
        if str(part.get("type")).endswith("Event")
        else [{"type": "MultiModalMessage", "source": "a", "content": "Hall 7."}],
        "bedrock_converse": [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f"}}]}, turn],
        "ai_sdk": [{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "f"}]}, turn],
        "claude_code": [claude("user", "?", 0), claude("assistant", texts, 1)],
        "codex": [codex(1, {"type": "message", **turn})],
        "opentelemetry": otlp([{**times, "id": "1", "attributes": {"gen_ai.output.messages": json.dumps([turn])}}]),
        "langsmith": {
            "id": "r",
            "run_type": "llm",
            "start_time": "2025-05-05T10:00:00",
            "inputs": {"messages": [user]},
            "outputs": {"message": turn},
        },
        "gemini": {"sessionId": "g", "projectHash": "h", "messages": [{"type": "user", "content": texts}]},
    }


KINDS = sorted(with_part(HARMLESS[0]).keys() - {"autogen_events"})


def carries(kind: str, part: dict[str, Any]) -> bool:
    """Whether the part may carry a call there: Gemini's parts have no type, and `toolCall` is a name of its own."""
    if kind != "gemini_contents":
        return True
    return "toolCall" not in part and carries_call({key: value for key, value in part.items() if key != "type"})


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        pytest.param(kind, part, id=f"{kind} {json.dumps(part)[:30]}")
        for kind in KINDS
        for part in UNREAD
        if carries(kind, part)
    ],
)
def test_a_part_that_may_carry_a_call_refuses_the_file(tmp_path: Path, kind: str, part: dict[str, Any]) -> None:
    value = with_part(part)[kind]
    with pytest.raises(InputError, match=r"may carry a call or a result|name: must be text") as caught:
        read_trajectories(write(tmp_path / "x.json", value))
    assert "\n" not in str(caught.value)
    assert caught.value.cure


CALLED: dict[str, Any] = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
ASKED: dict[str, Any] = {"role": "user", "parts": [{"text": "?"}]}
FOLDED: dict[str, Any] = {
    "gemini, a request": {"model": "m", "contents": {"inner": [ASKED, CALLED]}},
    "gemini, an answer": {"contents": [ASKED], "candidates": [{"content": {"inner": CALLED}}]},
    "gemini, an answer in a list": {"contents": [ASKED], "candidates": [{"content": [CALLED]}]},
    "gemini, a response": [
        {"key": "1", "request": {"contents": [ASKED]}, "response": {"inner": {"candidates": [CALLED]}}}
    ],
    "gemini, an event": [{"author": "user", "content": ASKED}, {"author": "a", "content": [CALLED]}],
    "langchain, kwargs in a list": [
        {"type": "human", "content": "?"},
        {"type": "ai", "content": "", "additional_kwargs": [{"tool_calls": [{"id": "1"}]}]},
    ],
    "langchain, a call of a tool in a list": [
        {"type": "human", "content": "?"},
        {"type": "ai", "content": "", "additional_kwargs": {"tool_outputs": [[{"type": "function_call"}]]}},
    ],
}


@pytest.mark.parametrize("case", sorted(FOLDED))
def test_a_call_in_a_shape_that_its_format_does_not_have_is_not_lost(tmp_path: Path, case: str) -> None:
    with pytest.raises(InputError, match=r"may carry a call or a result|must be an? \w+"):
        read_trajectories(write(tmp_path / "x.json", FOLDED[case]))


@pytest.mark.parametrize("part", HARMLESS, ids=lambda part: part["type"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("opentelemetry", "langsmith")])
def test_any_other_part_leaves_its_kind_and_a_warning(tmp_path: Path, kind: str, part: dict[str, Any]) -> None:
    reading = read_trajectories(write(tmp_path / "x.json", with_part(part)[kind]))
    assert [file.format for file in reading.files] == [kind]
    assert sum(warning.rule == "content that is not text is left out" for warning in reading.warnings) == 1
    texts = "\n".join(step.content for run in reading.trajectories for step in run.steps)
    assert "Hall 7." in texts
    assert "[" in texts


@pytest.mark.parametrize("key", ["tool_invocations", "toolCalls", "function_calls", "mcp_results", "observation"])
def test_a_member_of_a_message_that_may_carry_a_call_refuses_the_file(tmp_path: Path, key: str) -> None:
    spoilt = chat()
    spoilt[3][key] = [{"name": "find_parcel", "id": "c2"}]
    with pytest.raises(InputError, match=key):
        read_trajectories(write(tmp_path / "x.json", spoilt))
    spoilt[3][key] = []
    assert len(read_trajectories(write(tmp_path / "x.json", spoilt)).trajectories[0].steps) == 4


UNKNOWN_EVENTS = {
    "claude_code": ([claude("user", "?", 0)], {"type": "tool_output", "text": "hall 7"}),
    "codex": ([codex(0, {"id": "r"}, "session_meta")], codex(1, {"type": "teleport_call", "to": "Gent"})),
    "codex_exec": ([{"type": "thread.started", "thread_id": "t"}], item("robot_tool_call", "i1", what="lift")),
    "gemini": ([{"type": "init", "session_id": "g", "model": "m"}], {"type": "tool_outcome", "toolResult": "x"}),
    "axis": (
        [{"type": "user", "timestamp": "t", "content": {"text": "?"}}],
        {"type": "assistant", "timestamp": "t", "content": {"text": "a", "tool_calls": [{"name": "f"}]}},
    ),
}


@pytest.mark.parametrize("kind", UNKNOWN_EVENTS)
def test_an_event_that_may_carry_a_call_refuses_the_log(tmp_path: Path, kind: str) -> None:
    before, unknown = UNKNOWN_EVENTS[kind]
    log = tmp_path / "log"
    log.write_text("\n".join(map(json.dumps, [*before, {"type": "weather", "sky": "grey"}])))
    assert read_trajectories(log).files[0].format == kind, "an event of another kind is counted and left out"
    log.write_text("\n".join(map(json.dumps, [*before, unknown])))
    with pytest.raises(InputError, match="may carry a call or a result"):
        read_trajectories(log)


def test_a_call_of_the_wrong_shape_refuses_a_log(tmp_path: Path) -> None:
    """It was counted as an event of the wrong shape, and the run had no call."""
    log = tmp_path / "log"
    nameless = [claude("user", "?", 0), claude("assistant", [{"type": "tool_use", "id": "a", "input": {}}], 1)]
    log.write_text("\n".join(map(json.dumps, nameless)))
    with pytest.raises(InputError, match=r"line 2.*name"):
        read_trajectories(log)


@pytest.mark.parametrize(
    ("name", "carries"),
    [
        ("tool_use", True),
        ("toolResult", True),
        ("mcp-call", True),
        ("FunctionResponse", True),
        ("executableCode", True),
        ("tools", False),
        ("tool_choice", False),
        ("recall", False),
        ("search_result", False),
        ("usage", False),
        (7, False),
    ],
)
def test_names_of_calls(name: Any, carries: bool) -> None:
    assert names_call(name) is carries


@pytest.mark.parametrize("name", [file[0] for file in FILES if file[0].endswith(".json")])
@LOOSE
@given(data=st.data())
def test_a_conversation_with_one_value_of_a_wrong_kind_is_read_or_refused(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    value = copy.deepcopy(raw(name))
    places = places_in(value)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = places[data.draw(st.integers(0, len(places) - 1))]
        container[key] = data.draw(VALUES)
    survives(tmp_path / "x", json.dumps(value).encode())


def test_one_unknown_item_of_responses_refuses_them(tmp_path: Path) -> None:
    items = raw("responses_items.json")
    for unknown in (
        {"type": "teleport_call", "id": "t", "role": "assistant"},
        {"type": "item_reference", "id": "lost"},
    ):
        with pytest.raises(InputError, match="may carry a call or a result"):
            read_trajectories(write(tmp_path / "x.json", {"object": "response", "output": [*items, unknown]}))
    again = {"type": "item_reference", "id": "fc_1"}
    reading = read_trajectories(write(tmp_path / "x.json", {"object": "response", "output": [*items, again]}))
    assert reading.trajectories[0].steps == read_trajectories(CHATS / "responses_items.json").trajectories[0].steps


def test_items_that_codex_shares_with_responses_are_read(tmp_path: Path) -> None:
    """They were left out as unknown: a run by an MCP server or a shell of the provider had no calls."""
    items = [entry for entry in raw("responses_items.json")[2:] if entry["type"] not in ("item_reference",)]
    log = tmp_path / "rollout.jsonl"
    log.write_text("\n".join(json.dumps(codex(number, item)) for number, item in enumerate(items)))
    reading = read_trajectories(log)
    (run,) = reading.trajectories
    names = {call.name for step in run.steps for call in step.tool_calls}
    assert reading.files[0].format == "codex"
    assert {"shell", "apply_patch", "computer", "file_search", "image_generation", "mcp__depot__trace"} <= names
    assert all(step.timestamp for step in run.steps)


def test_a_tool_that_the_provider_ran_is_read_from_inspect(tmp_path: Path) -> None:
    """Inspect keeps call and result in one part of the content (its ``ContentToolUse``)."""
    use = {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "web_search", "arguments": '{"q": "P-11"}'}
    parts = [{"type": "text", "text": "Hall 7."}, {**use, "result": "hall 7"}, {**use, "id": "x", "error": "limit"}]
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": parts}]
    value = {"eval": {"task": "t", "model": "m"}, "samples": [{"id": 1, "epoch": 1, "messages": messages}]}
    (run,) = read_trajectories(write(tmp_path / "x.json", value)).trajectories
    assert [(step.index, step.role, step.error) for step in run.steps] == [
        (0, "user", None),
        (1, "assistant", None),
        (2, "tool", False),
        (3, "tool", True),
    ]
    assert [call.arguments for call in run.steps[1].tool_calls] == [{"q": "P-11"}] * 2
