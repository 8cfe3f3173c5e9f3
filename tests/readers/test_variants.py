"""Forms of known formats that no fixture has: each with the calls and results that whoever reads the JSON counts."""

import json
from pathlib import Path
from typing import Any

import pytest
from conversations import chat, write
from test_traces import otlp

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories

USER = {"role": "user", "content": "Where is P-11?"}
SEARCH = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "P-11"}}
MCP = {"type": "mcp_call", "id": "m", "name": "find", "server_label": "halls", "arguments": "{}", "output": "hall 7"}
CLICK = {"type": "computer_call", "id": "c", "call_id": "k", "action": {"type": "click", "x": 1, "y": 2}}
BLOCKS = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "P-11"}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "url": "u"}]},
    {"type": "mcp_tool_use", "id": "m", "name": "find", "server_name": "halls", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": True, "content": [{"type": "text", "text": "none"}]},
]
ASKED = {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"id": "P-11"}}}]}
FOUND = {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"hall": 7}}}]}
TALK = [
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "k", "name": "find"}]},
    {"role": "user", "parts": [{"type": "tool_call_response", "id": "k", "result": "hall 7"}]},
]
OF_AI_SDK = {"toolCallId": "k", "toolName": "find", "args": "{}"}
CALL = {"id": "k", "type": "function", "function": {"name": "find", "arguments": "{}"}}


def span(number: int, **attributes: Any) -> dict[str, Any]:
    told = {key.replace("__", "."): value for key, value in attributes.items()}
    return {"id": str(number), "name": f"span {number}", "start": number, "end": number + 0.5, "attributes": told}


def model(*parts: dict[str, Any], before: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    given = json.dumps([USER] if before is None else before)
    answer = json.dumps([{"role": "assistant", "parts": [*parts]}])
    return otlp([span(1, gen_ai__input__messages=given, gen_ai__output__messages=answer)])


def langsmith(outputs: dict[str, Any]) -> dict[str, Any]:
    times = {"start_time": "2025-05-05T10:00:00", "end_time": "2025-05-05T10:00:01"}
    return {
        "id": "r", "trace_id": "r", "run_type": "llm", "name": "m", **times, "inputs": {"messages": [USER]},
        "outputs": outputs,
    }  # fmt: skip


#: Form -> its JSON, calls, results.
FORMS: dict[str, tuple[Any, int, int]] = {
    "OTel, a tool of the provider": (
        model(
            {"type": "reasoning", "content": "Search first."},
            {"type": "server_tool_call", "id": "s", "name": "web_search", "server_tool_call": {"query": "P-11"}},
            {"type": "server_tool_call_response", "id": "s", "server_tool_call_response": {"results": ["hall 7"]}},
        ),
        1,
        1,
    ),
    "OTel, items of Responses": (model({"type": "text", "content": "Hall 7."}, before=[USER, SEARCH, MCP]), 2, 2),
    "OTel, Anthropic's blocks": (model(*BLOCKS), 2, 2),
    "OTel, an agent's span with the whole talk": (
        otlp([span(1, pydantic_ai__all_messages=json.dumps(TALK))]),
        1,
        1,
    ),
    "AI SDK's spans": (
        otlp(
            [
                span(1, ai__prompt__messages=json.dumps([USER]), ai__response__toolCalls=json.dumps([OF_AI_SDK])),
                span(2, ai__toolCall__name="find", ai__toolCall__id="k", ai__toolCall__result="hall 7"),
            ]
        ),
        1,
        1,
    ),
    "LangSmith, items of Responses": (langsmith({"output": [SEARCH, MCP, CLICK]}), 3, 2),
    "LangSmith, Anthropic's blocks": (langsmith({"role": "assistant", "content": BLOCKS}), 2, 2),
    "Gemini, calls that the client made by itself": (
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Hall 7."}]}}],
            "automatic_function_calling_history": [{"role": "user", "parts": [{"text": "?"}]}, ASKED, FOUND],
        },
        1,
        1,
    ),
    "Gemini, chunks of a stream": (
        [
            {"responseId": "r", "candidates": [{"content": {"role": "model", "parts": [{"text": "I look."}]}}]},
            {"responseId": "r", "candidates": [{"content": ASKED, "finishReason": "STOP"}]},
        ],
        1,
        0,
    ),
    "ADK, events": (
        [{"author": "user", "content": {"parts": [{"text": "?"}]}}, {"author": "clerk", "content": ASKED},
         {"author": "clerk", "content": FOUND}],
        1,
        1,
    ),
    "Swarm, a response": (
        {
            "messages": [
                USER,
                {"role": "assistant", "sender": "desk", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "k", "tool_name": "find", "content": "hall 7"},
                {"role": "assistant", "sender": "hall", "content": "Hall 7."},
            ],
            "agent": {"name": "hall"},
        },
        1,
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_calls_and_results_are_all_there(tmp_path: Path, form: str) -> None:
    value, calls, results = FORMS[form]
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(value))
    reading = read_trajectories(file)
    steps = [step for run in reading for step in run.steps]
    assert len(reading) == 1
    assert sum(len(step.tool_calls) for step in steps) == calls
    assert sum(step.role == "tool" for step in steps) == results
    if form == "Swarm, a response":
        assert [(step.role, step.agent) for step in steps][::3] == [("user", None), ("assistant", "hall")]


def test_a_span_of_an_unknown_kind_that_names_a_call_refuses_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(otlp([span(1, acme__tool_call__name="find", acme__tool_call__input="P-11")])))
    with pytest.raises(InputError, match="span 1"):
        read_trajectories(file)


@pytest.mark.parametrize("key", ["messages", "conversation", "trajectory", "dialogue", "chat"])
def test_messages_under_another_name(tmp_path: Path, key: str) -> None:
    records = [{"id": f"r{n}", key: chat()} for n in range(2)]
    runs = read_trajectories(write(tmp_path / "x.json", records)).trajectories
    assert [(run.id, len(run.steps), len(run.steps[1].tool_calls)) for run in runs] == [("r0", 4, 1), ("r1", 4, 1)]


def test_a_chat_message_among_the_items_of_a_response_keeps_its_calls(tmp_path: Path) -> None:
    """It was read as text, without its calls and without a word."""
    user, asks, answer, last = chat()
    (run,) = read_trajectories(
        write(tmp_path / "x.json", {"input": [user], "output": [asks, answer, last]})
    ).trajectories
    assert [(step.role, len(step.tool_calls), step.tool_call_id) for step in run.steps] == [
        ("user", 0, None),
        ("assistant", 1, None),
        ("tool", 0, "c1"),
        ("assistant", 0, None),
    ]
