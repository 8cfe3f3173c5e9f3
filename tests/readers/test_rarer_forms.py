"""Rarer shapes of known formats: what each says, step by step, and which of them are refused or warned of."""

import json
from pathlib import Path
from typing import Any

import pytest
from conversations import simulation, write
from readers.made_logs import at, claude, codex, counted, function, gave, item, log, only, outline
from test_agents import BFCL_SINGLE, META, STATE_OF_AGENTS, goose, node
from test_agents import USED as USED_BY_ADK
from test_traces import otlp

from axisjudge.checks import InputError
from axisjudge.readers import inspect_logs, read_trajectories
from axisjudge.readers import reading as reading_module
from axisjudge.readers.events import iso

GIVEN = {"path": "lamp.txt"}
WRITTEN = json.dumps(GIVEN)
CALL = {"id": "1", "type": "function", "function": {"name": "read", "arguments": WRITTEN}}
USER = {"role": "user", "content": "Light it."}
ASKS = ("user", "Light it.")
READS = ("assistant", " [read {'path': 'lamp.txt'}]")
ANSWERS = ("tool", "x")
DONE = ("assistant", "Done.")
FUNCTION = {"type": "function_call", "call_id": "1", "name": "read", "arguments": WRITTEN}


def langchain(kind: str, content: Any = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, **more}}


def said(content: Any, kind: str = "TextMessage", source: str = "keeper", **more: Any) -> dict[str, Any]:
    return {"type": kind, "source": source, "content": content, **more}


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "source": "agent", "timestamp": at(1), **more}


def acted(number: int, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"id": number, "source": source, "timestamp": at(number), **more}


def adk(**between: Any) -> dict[str, Any]:
    turn = {"user_content": {"parts": [{"text": "Light it."}]}, "intermediate_data": between}
    turn["final_response"] = {"parts": [{"text": "Done."}]}
    return {"eval_set_id": "set", "eval_cases": [{"eval_id": "a", "conversation": [turn]}]}


def tried(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"answer_generation": {"query": "Light it."}, "trys": [{"chain": list(nodes)}], **more}


def converted(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"82": {"query": "Light it.", "answer": {"answer_details": list(nodes)}}}


def replay(*logs: dict[str, Any]) -> dict[str, Any]:
    return {"prompts": [{"promptId": "s", "prompt": "Light it.", "logs": list(logs)}]}


def opencode(*parts: dict[str, Any], **about: Any) -> dict[str, Any]:
    return {
        "info": {"id": "s"},
        "messages": [{"info": {"role": "assistant", "id": "2", **about}, "parts": list(parts)}],
    }


def pydantic(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"part_kind": "user-prompt", "content": "Light it."}
    return [{"kind": "request", "parts": [asked]}, {"kind": "response", "parts": list(parts)}]


def gemini(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"contents": "Light it.", "candidates": [{"content": content, **more}]}


def sharegpt(*turns: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"conversations": [{"from": who, "value": text} for who, text in turns], **more}


def in_text(text: str) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": text}]


def trace(**attributes: Any) -> dict[str, Any]:
    held = {key.replace("__", "."): value for key, value in attributes.items()}
    return otlp([{"id": "1", "start": 1, "end": 2, "attributes": held}])


def smith(*runs: tuple[str, Any, Any]) -> dict[str, Any]:
    """Runs of a chain in LangSmith; whose they are is told by their order alone."""
    root = {"id": "r", "trace_id": "r", "run_type": "chain", "start_time": at(0), "dotted_order": "x" * 36}
    told = [
        {
            "id": f"{n}" * 36,
            "trace_id": "r",
            "run_type": kind,
            "name": "read",
            "start_time": at(2 * n),
            "end_time": at(2 * n + 1),
        }
        | {"dotted_order": f"{'x' * 36}.{str(n) * 36}", "inputs": given, "outputs": gave}
        for n, (kind, given, gave) in enumerate(runs, 1)
    ]
    return root | {"child_runs": told}


def replied(*parts: Any) -> dict[str, Any]:
    answer = json.dumps([{"role": "assistant", "parts": list(parts)}])
    return trace(gen_ai__input__messages=json.dumps([USER]), gen_ai__output__messages=answer)


BFCL = {key: value for key, value in BFCL_SINGLE.items() if key != "result"}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
USED = {"toolUse": {"toolUseId": "1", "name": "read", "input": GIVEN}}
MADE = {"parts": [{"function_call": {"id": "1", "name": "read", "args": GIVEN}}]}
GAVE = {"parts": [{"function_response": {"id": "1", "name": "read", "response": {"result": "x"}}}]}
SNAKE = {"$schemaVersion": "1.0", "current_agent": {"name": "keeper"}, "original_input": [USER]}
SNAKE["generated_items"] = [{"type": "tool_call_item", "raw_item": FUNCTION}, {"type": "tool_approval_item"}]

#: What it is -> its JSON (a tuple is lines), format, and the steps that whoever reads the JSON sees.
FORMS: dict[str, tuple[Any, str, list[tuple[str, str]]]] = {
    "bfcl, turns and steps without a log": (
        BFCL | {"result": [[[{"read": WRITTEN}], "Done."]], "reasoning_content": ["Hm."]},
        "bfcl",
        [READS, DONE],
    ),
    "bfcl, an argument that is no literal": (
        BFCL | {"result": "[read(path=lamp)]"},
        "bfcl",
        [("assistant", " [read {'path': 'lamp'}]")],
    ),
    "bfcl, calls and a sum": (BFCL | {"result": "[read(path=1), 2]"}, "bfcl", [("assistant", "[read(path=1), 2]")]),
    "toolbench, tries one after the other": (
        tried(node("Thought", "Hm."), node("Action", "read"), node("Action Input", WRITTEN, observation="x")),
        "toolbench",
        [ASKS, ("assistant", "Hm. [read {'path': 'lamp.txt'}]"), ANSWERS],
    ),
    "toolbench, a call without input, and one without an answer": (
        tried(tree={"tree": node("Action", "read", node("Action Input", WRITTEN, node("Action", "ring")))}),
        "toolbench",
        [ASKS, ("assistant", " [read {'path': 'lamp.txt'}] [ring {}]")],
    ),
    "toolbench, an empty turn and a record that is no text": (
        converted(
            {"role": "assistant", "message": ""},
            {"role": "tool", "message": {"name": "read", "arguments": WRITTEN, "response": "x"}},
        ),
        "toolbench",
        [READS, ANSWERS],
    ),
    "copilot, a thought, an answer that failed and a title": (
        replay(
            {"kind": "element", "id": "e"},
            {"kind": "request", "name": "title", "response": {"type": "success", "message": ["Lamps"]}},
            {"kind": "toolCall", "tool": "read", "args": WRITTEN, "thinking": {"text": "Hm."}},
            {"kind": "request", "name": "panel", "response": {"type": "failed", "reason": "no quota"}},
        ),
        "copilot_chat_replay",
        [ASKS, ("thinking", "Hm."), READS, ("error", "no quota")],
    ),
    "goose, a call that could not be read, its confirmation and an error": (
        (
            {"type": "message", "message": goose("user", {"type": "text", "text": "Light it."})},
            {
                "type": "message",
                "message": goose(
                    "assistant",
                    {"type": "toolRequest", "id": "1", "toolCall": {"status": "error", "error": "no JSON"}},
                    {"type": "toolConfirmationRequest", "id": "1"},
                ),
            },
            {"type": "error", "error": "stopped"},
        ),
        "goose",
        [ASKS, ("assistant", " [unreadable call {'status': 'error', 'error': 'no JSON'}]"), ("error", "stopped")],
    ),
    "opencode, a call without an end, a picture, and a message that failed": (
        opencode(
            {"type": "tool", "callID": "1", "tool": "read", "state": {"status": "running", "input": GIVEN}},
            {"type": "file", "mime": "image/png"},
            error={"name": "Aborted"},
        ),
        "opencode",
        [("assistant", "[file] [read {'path': 'lamp.txt'}]"), ("error", '{"name": "Aborted"}')],
    ),
    "opencode, a stream that ends in an error": (
        (
            {"type": "text", "sessionID": "s", "timestamp": 1, "part": {"type": "text", "text": "Done."}},
            {"type": "error", "sessionID": "s", "timestamp": 2, "error": "no quota"},
        ),
        "opencode",
        [DONE, ("error", "no quota")],
    ),
    "openhands, a system's word, a call without a thought, an error of nobody's": (
        {
            "instance_id": "s",
            "history": [
                acted(0, action="system", args={"content": "Be kind."}),
                acted(1, action="run", args={"command": "x", "thought": ""}, tool_call_metadata=META),
                acted(2, "environment", action="change_agent_state", args={}),
                acted(3, "environment", observation="error", content="lost"),
                acted(4, "environment", note="done"),
            ],
        },
        "openhands",
        [("system", "Be kind."), ("assistant", " [run {'path': 'lamp.txt'}]"), ("error", "lost")],
    ),
    "openhands, blocks of thought and an error of the conversation": (
        [
            event(
                "ActionEvent",
                thinking_blocks=[{"thinking": "Hm."}, {"thinking": ""}, {"thinking": "So."}],
                reasoning_content="So.",
                tool_call={"id": "1", "name": "read", "arguments": WRITTEN},
                tool_call_id="1",
            ),
            event("ConversationErrorEvent", detail="no quota", code="429"),
        ],
        "openhands",
        [("thinking", "So."), ("thinking", "Hm."), READS, ("error", "no quota")],
    ),
    "openhands, blocks of thought alone": (
        [
            event(
                "ActionEvent", thinking_blocks=[{"thinking": "Hm."}], thought=[], tool_call={"id": "1", "name": "read"}
            ),
            event("AbortEvent"),
        ],
        "openhands",
        [("thinking", "Hm."), ("assistant", " [read {}]")],
    ),
    "adk, events of an invocation": (
        adk(invocation_events=[{"author": "keeper", "content": MADE}, {"author": "keeper", "content": GAVE}]),
        "adk_eval_set",
        [ASKS, READS, ANSWERS, DONE],
    ),
    "adk, what its agents said between": (
        adk(intermediate_responses=[["keeper", [{"text": "I look."}]]], **USED_BY_ADK),
        "adk_eval_set",
        [ASKS, ("assistant", "I look. [read {'path': 'lamp.txt'}]"), ANSWERS, DONE],
    ),
    "adk, the older form with what its agents say": (
        [{"query": "Light it.", "expected_tool_use": [], "expected_intermediate_agent_responses": [{"text": "Done."}]}],
        "adk_eval_set",
        [ASKS, DONE],
    ),
    "agents, a state in Python's names": (SNAKE, "openai_agents_state", [ASKS, READS]),
    "letta, thoughts that are hidden, and a message of the server": (
        [
            {"message_type": "user_message", "id": "1", "content": "Light it."},
            {"message_type": "hidden_reasoning_message", "id": "2", "state": "redacted"},
            {"message_type": "event_message", "id": "3", "event_type": "compaction"},
            {"message_type": "assistant_message", "id": "4", "content": "Done."},
        ],
        "letta",
        [ASKS, DONE],
    ),
    "langchain, calls as OpenAI writes them, and a message taken out": (
        [
            langchain("human", "Light it."),
            langchain("remove", id="m"),
            langchain("ai", tool_calls=[CALL]),
            langchain("ai", "Done.", additional_kwargs={"tool_outputs": [{**FUNCTION, "call_id": "2"}]}),
        ],
        "langchain_messages",
        [ASKS, READS, DONE, READS],
    ),
    "autogen, what a memory held and what a model thought": (
        [said("Light it.", source="user"), said(["x"], "MemoryQueryEvent"), said("Done.", thought="Hm.")],
        "autogen_events",
        [ASKS, ("system", '["x"]'), ("thinking", "Hm."), DONE],
    ),
    "anthropic, an answer alone": (
        {"id": "m", "type": "message", "role": "assistant", "model": "q", "stop_reason": "tool_use"}
        | {"content": [{"type": "tool_use", "id": "1", "name": "read", "input": GIVEN}]},
        "anthropic_messages",
        [READS],
    ),
    "responses, texts in place of lists, one item told twice, and what went wrong": (
        {"request": {"model": "q", "input": "Light it."}}
        | {"response": {"object": "response", "output": [FUNCTION | {"id": "a"}] * 2, "error": {"message": "cut"}}},
        "openai_responses",
        [ASKS, READS, ("error", "cut")],
    ),
    "responses, calls of the provider that run, that failed, and whose server is away": (
        [
            FUNCTION,
            {"type": "web_search_call", "id": "w", "status": "in_progress"},
            {"type": "mcp_list_tools", "id": "l", "server_label": "halls", "tools": [], "error": "away"},
            {"type": "mcp_call", "id": "m", "name": "find", "arguments": "{}", "error": {"message": "none"}},
        ],
        "openai_responses",
        [
            ("assistant", " [read {'path': 'lamp.txt'}] [web_search {}]"),
            ("error", "away"),
            ("assistant", " [find {}]"),
            ("tool", "none"),
        ],
    ),
    "bedrock, a thought": (
        [USER | {"content": [{"text": "Light it."}]}, {"role": "assistant", "content": [THOUGHT, USED]}],
        "bedrock_converse",
        [ASKS, ("thinking", "Hm."), READS],
    ),
    "ai sdk, an older part with its call inside, and one that still runs": (
        [
            {"role": "user", "parts": [{"type": "text", "text": "Light it."}]},
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "tool-invocation",
                        "toolInvocation": {
                            "toolCallId": "1", "toolName": "read", "args": GIVEN, "state": "result", "result": "x"
                        },
                    },
                    {"type": "tool-ring", "toolCallId": "2", "state": "input-available", "input": {}},
                ],
            },
        ],
        "ai_sdk",
        [ASKS, READS, ANSWERS, ("assistant", " [ring {}]")],
    ),
    "pydantic, a thought that is signed alone, and a picture": (
        pydantic(
            {"part_kind": "thinking", "content": "", "signature": "s"},
            {"part_kind": "file", "content": {"kind": "binary"}},
            {"part_kind": "tool-call", "tool_name": "read", "args": WRITTEN, "tool_call_id": "1"},
        ),
        "pydantic_ai",
        [ASKS, ("assistant", "[file] [read {'path': 'lamp.txt'}]")],
    ),
    "smolagents, what was seen without a call": (
        [
            {"task": "Light it."},
            {"step_number": 1, "model_output": "Done.", "observations": "x", "observations_images": [0]},
        ],
        "smolagents",
        [ASKS, DONE, ("tool", "x\n[image]")],
    ),
    "smolagents, what was seen as JSON, and an error that is a text": (
        [
            {"task": "Light it."},
            {"step_number": 1, "model_output": "Done.", "observations": {"lamp": "x"}, "error": "no lamp"},
        ],
        "smolagents",
        [ASKS, DONE, ("error", "no lamp")],
    ),
    "sharegpt, turns with roles, and a call in a form of the model's own": (
        sharegpt(("human", "Light it."), ("function_call", f'Hm. <tool_call>{{"name": "read", "arguments": {WRITTEN}}}'
                                           "</tool_call>"), ("observation", "x")),
        "sharegpt",
        [ASKS, ("assistant", "Hm. [read {'path': 'lamp.txt'}]"), ANSWERS],
    ),
    "gemini, one text asked, a search behind the answer, a picture in a result": (
        gemini(
            {"functionCall": {"name": "read", "args": GIVEN}},
            {"functionResponse": {"name": "read", "response": {"output": "x"}, "parts": [{"inlineData": {}}]}},
            groundingMetadata={"webSearchQueries": ["lamps"]},
        ),
        "gemini_contents",
        [ASKS, READS, ("tool", "x\n[inlineData]")],
    ),
    "langchain, a content that is one part, a refusal, a call that could not be parsed": (
        [
            langchain("human", {"type": "text", "text": "Light it."}),
            langchain(
                "ai",
                [
                    {"type": "refusal", "refusal": "No."},
                    {"type": "invalid_tool_call", "id": "1", "name": "read", "args": "{", "error": "no JSON"},
                ],
            ),
        ],
        "langchain_messages",
        [ASKS, ("assistant", "No. [read {]")],
    ),
    "named speakers, a function that answers": (
        [
            USER | {"name": "ann"},
            {"role": "assistant", "name": "keeper", "function_call": CALL["function"], "content": ""},
            {"role": "function", "name": "read", "content": "x"},
        ],
        "named_speakers",
        [ASKS, READS, ANSWERS],
    ),
    "in text, Python that is no expression": (
        in_text("<|python_tag|>x = 1<|eom_id|>"),
        "openai_chat",
        [ASKS, ("assistant", " [code_interpreter {'code': 'x = 1'}]")],
    ),
    "in text, Python whose arguments are computed": (
        in_text("<|python_tag|>read(path=lamp())<|eom_id|>"),
        "openai_chat",
        [ASKS, ("assistant", " [code_interpreter {'code': 'read(path=lamp())'}]")],
    ),
    "otel, items of Responses as an answer": (
        replied({"type": "reasoning", "content": ""}, FUNCTION),
        "opentelemetry",
        [ASKS, READS],
    ),
    "otel, a thought of Responses among the messages": (
        trace(
            gen_ai__input__messages=json.dumps([USER, {"type": "reasoning", "summary": [{"text": "Hm."}]}]),
            gen_ai__output__messages=json.dumps([{"role": "assistant", "content": "Done."}]),
        ),
        "opentelemetry",
        [ASKS, ("thinking", "Hm."), DONE],
    ),
    "otel, a tool's answer in parts, an attribute that is both a text and a record": (
        trace(
            **{
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Light it.",
                "gen_ai.prompt.0.content.0.text": "Light it!",
                "gen_ai.prompt.1.role": "tool",
                "gen_ai.prompt.1.content": '[{"text": "x"}]',
                "gen_ai.completion.0.content": "Done.",
            }
        ),
        "opentelemetry",
        [ASKS, ANSWERS, DONE],
    ),
    "otel, a text of the AI SDK": (
        trace(ai__prompt__messages=json.dumps([USER]), ai__response__text="Done."),
        "opentelemetry",
        [ASKS, DONE],
    ),
    "otel, an older event of what was asked and answered": (
        otlp(
            [
                {
                    "id": "1", "start": 1, "end": 2, "attributes": {"gen_ai.request.model": "q"},
                    "events": [
                        ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps([USER])}),
                        ("gen_ai.content.completion", {"gen_ai.completion": '[{"content": "Done."}]'}),
                    ],
                }
            ]
        ),
        "opentelemetry",
        [ASKS, DONE],
    ),
    "otel, a tool's arguments as a record, its result as parts of a content": (
        trace(
            gen_ai__tool__name="read",
            gen_ai__tool__call__arguments=GIVEN,
            gen_ai__tool__call__result="x",
            gen_ai__operation__name="execute_tool",
        ),
        "opentelemetry",
        [READS, ANSWERS],
    ),
    "axis, an item of an agent's own with its result": (
        [
            {"type": "user", "timestamp": at(0), "content": {"text": "Light it."}},
            {
                "type": "assistant",
                "timestamp": at(1),
                "content": {"type": "mcp_tool_call", "id": "1", "arguments": GIVEN, "output": "x", "is_error": True},
            },
        ],
        "axis",
        [ASKS, ("assistant", " [mcp_tool_call {'path': 'lamp.txt'}]"), ANSWERS],
    ),
    "sharegpt, turns with roles": (
        {"conversations": [USER, {"role": "assistant", "content": "Done."}]},
        "sharegpt",
        [ASKS, DONE],
    ),
    "chat, a refusal as a part": (
        [USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
        "openai_chat",
        [ASKS, ("assistant", "No.")],
    ),
    "in text, a tag that is never closed": (
        in_text("<read_file> is what I would call."),
        "openai_chat",
        [ASKS, ("assistant", "<read_file> is what I would call.")],
    ),
    "in text, elements with words between them": (
        in_text("<read_file>\n<path>lamp.txt</path> or\n</read_file>"),
        "openai_chat",
        [ASKS, ("assistant", "<read_file>\n<path>lamp.txt</path> or\n</read_file>")],
    ),
    "langsmith, a message with OpenAI's older call, a tool that is given the call": (
        smith(
            ("llm", {"messages": [USER]}, langchain("ai", additional_kwargs={"function_call": CALL["function"]})),
            ("tool", {"type": "tool_call", "name": "read", "args": GIVEN}, {"output": {"content": [{"text": "x"}]}}),
        ),
        "langsmith",
        [ASKS, READS, ANSWERS],
    ),
    "openinference, OpenAI's older call, and arguments that are neither JSON nor Python": (
        otlp(
            [
                {
                    "id": "1", "start": 1, "end": 2, "attributes": {
                        "openinference.span.kind": "LLM",
                        "llm.input_messages.0.message.role": "user",
                        "llm.input_messages.0.message.content": "Light it.",
                        "llm.output_messages.0.message.role": "assistant",
                        "llm.output_messages.0.message.function_call_name": "read",
                        "llm.output_messages.0.message.function_call_arguments_json": WRITTEN,
                    },
                },
                {
                    "id": "2", "start": 3, "end": 4, "attributes": {
                        "openinference.span.kind": "TOOL", "tool.name": "ring", "input.value": "{lamp",
                        "output.value": "x",
                    },
                },
            ]
        ),
        "openinference",
        [ASKS, ("assistant", " [read {'path': 'lamp.txt'}]"), ("assistant", " [ring {lamp]"), ANSWERS],
    ),
    "openinference, messages inside a value": (
        otlp(
            [
                {
                    "id": "1", "start": 1, "end": 2, "attributes": {
                        "openinference.span.kind": "LLM",
                        "input.value": json.dumps({"messages": [USER]}),
                        "output.value": "Done.",
                    },
                }
            ]
        ),
        "openinference",
        [ASKS, DONE],
    ),
    "claude code, a tool of the provider, and an error of the API": (
        (
            claude("user", "Light it.", 0),
            claude("assistant", [{"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}}], 1),
            claude("assistant", [gave("w", "x") | {"type": "web_search_tool_result"}], 2),
            {"type": "system", "subtype": "api_error", "error": "overloaded", "sessionId": "s1", "timestamp": at(3)},
        ),
        "claude_code",
        [ASKS, ("assistant", " [web_search {}]"), ANSWERS, ("error", "overloaded")],
    ),
    "codex, a snapshot, and what a program's own items begin with": (
        (
            codex(0, {"id": "r"}, "session_meta"),
            codex(1, {"type": "ghost_snapshot", "ghost_commit": {"id": "c"}}),
            codex(2, function("a", WRITTEN, "read")),
        ),
        "codex",
        [READS],
    ),
    "codex exec, an answer that begins": (
        (
            {"type": "thread.started", "thread_id": "t"},
            item("agent_message", "i0", "started", text=""),
            item("agent_message", "i0", text="Done."),
        ),
        "codex_exec",
        [DONE],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_rarer_form_says_what_its_json_says(tmp_path: Path, name: str) -> None:
    records, form, steps = FORMS[name]
    reading = (
        log(tmp_path / "x.jsonl", *records)
        if isinstance(records, tuple)
        else read_trajectories(write(tmp_path / "x.json", records))
    )
    assert [file.format for file in reading.files] == [form]
    assert outline(only(reading)) == steps


READ = [{"name": "read", "input_schema": {}}]
ADK_TURN = {"query": "Light it.", "expected_tool_use": [{"tool_name": "read"}]}

#: What it is -> its JSON (a tuple is lines), and what the refusal names.
REFUSED: dict[str, tuple[Any, str]] = {
    "bfcl, a log of a result": (
        BFCL
        | {
            "result": [],
            "inference_log": [{"begin_of_turn_query": [USER], "step_0": [{"role": "x", "tool_call": {"name": "f"}}]}],
        },
        "step_0",
    ),
    "toolbench, a call cut off": (converted({"role": "tool", "message": "{'name"}), "a call is cut off"),
    "toolbench, a record without a name": (converted({"role": "tool", "message": "{}"}), "a call is cut off"),
    "toolbench, nobody's turn": (converted({"role": "judge", "message": "x"}), "judge"),
    "toolbench, a node of another kind": (tried(node("Tool Reply", "x")), "Tool Reply"),
    "toolbench, an input of no tool": (tried(node("Action Input", "x")), "Action Input"),
    "openhands, a history of texts": ({"instance_id": "s", "history": ["Light it."]}, "known are"),
    "openhands, a call in neither form": ([event("SpeechEvent"), acted(1, tool_calls=[CALL])], r"\[1\]: may carry"),
    "openhands, an event with a call": ([event("SpeechEvent"), event("TwinEvent", tool_calls=[CALL])], "TwinEvent"),
    "agents, an item without the item": (
        STATE_OF_AGENTS | {"generatedItems": [{"type": "tool_call_item"}]},
        r"generatedItems\[0\]",
    ),
    "letta, a message with a call": (
        [
            {"message_type": "user_message", "content": "?"},
            {"message_type": "relay_message", "tool_call": {"name": "f"}},
        ],
        "relay_message",
    ),
    "langchain, a list that ends in no state": (
        [{"messages": [langchain("human", "?")]}, {"thread": 2}],
        r"\[1\]: must be a state with messages of LangChain",
    ),
    "langchain, a message that could not be written": (
        [{"lc": 1, "type": "not_implemented", "id": ["langchain", "AIMessage"], "repr": "AIMessage()"}],
        "AIMessage",
    ),
    "langchain, a call without a name": ([langchain("human", "?"), langchain("ai", tool_calls=[{"id": "1"}])], "name"),
    "autogen, an event with a call": ([said("?"), said("", "RelayEvent", tool_calls=[CALL])], "RelayEvent"),
    "anthropic, a list that ends in no request": (
        [
            {"model": "q", "max_tokens": 9, "system": [{"type": "text", "text": "Be kind."}], "messages": [USER]},
            {"run": 2},
        ],
        r"\[1\]",
    ),
    "responses, an item of an answer alone": ({"object": "response", "output": [5]}, r"json, output\[0\]"),
    "ai sdk, a call that is not there": (
        [{"role": "assistant", "parts": [{"type": "tool-invocation"}]}],
        "tool-invocation",
    ),
    "in text, a call of no tool": (
        in_text("<｜tool▁call▁begin｜> <｜tool▁sep｜>{}<｜tool▁call▁end｜>"),
        "names no tool",
    ),
    "sharegpt, two answers": (
        sharegpt(("human", "?"), chosen={"from": "gpt", "value": "a"}, rejected={"from": "gpt", "value": "b"}),
        "chosen and rejected",
    ),
    "sharegpt, nobody's turn": (sharegpt(("human", "?"), ("oracle", "x")), "must be one of .*oracle"),
    "sharegpt, a call that is none": (sharegpt(("human", "?"), ("function_call", "Hm.")), "Hm"),
    "langchain, a content that is a number": ([langchain("human", 5)], "5"),
    "named speakers, an answer that is no record": (
        [USER | {"name": "ann"}, {"role": "tool", "name": "read", "content": "", "tool_responses": ["x"]}],
        "x",
    ),
    "goose, nobody's turn": (
        (
            {"working_dir": "/", "id": "s"},
            goose("user", {"type": "text", "text": "?"}),
            goose("tool", {"toolCall": {}}),
        ),
        "role",
    ),
    "pi, nobody's turn with a call": (
        (
            {"type": "session", "id": "s", "timestamp": at(0), "cwd": "/"},
            {
                "type": "message",
                "id": "a",
                "parentId": None,
                "timestamp": at(1),
                "message": {"role": "x", "toolCall": CALL},
            },
        ),
        "x",
    ),
    "copilot, a log with a call": (replay({"kind": "toolRelay", "toolCall": {"name": "f"}}), "toolRelay"),
    "otel, a state of LangChain with a call": (
        {"id": "r", "run_type": "llm", "start_time": at(1), "inputs": {"state": {"tool_calls": [CALL]}, "n": 1}},
        "inputs or outputs",
    ),
    "langchain, a stream of events": (({"event": "on_chat_model_stream", "run_id": "r", "data": {}},), "final state"),
    "openai, a schema that is none": ({"messages": [USER], "tools": [{"function": "read"}]}, "function"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_that_may_hide_a_call_is_refused_by_name(tmp_path: Path, name: str) -> None:
    records, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        log(tmp_path / "x.jsonl", *records) if isinstance(records, tuple) else read_trajectories(
            write(tmp_path / "x.json", records)
        )


NOTHING = {"id": "q", "trace_id": "q", "run_type": "chain", "start_time": at(0), "inputs": {"n": 1}, "outputs": {}}

#: What it is -> its JSON (a tuple is lines), the rule of the warning and its detail.
WARNED: dict[str, tuple[Any, str, str]] = {
    "anthropic, tools of a server": (
        {"model": "q", "max_tokens": 9, "messages": [USER], "tools": [{"type": "mcp_toolset"}], "system": "Be kind."},
        "the tools are not listed one by one, so none is known",
        "mcp_toolset",
    ),
    "anthropic, a server beside the tools": (
        {"model": "q", "max_tokens": 9, "messages": [USER], "tools": READ, "mcp_servers": [{}], "system": "Be kind."},
        "the tools are not listed one by one, so none is known",
        "MCP",
    ),
    "responses, what came before": (
        {"object": "response", "output": [FUNCTION], "previous_response_id": "r0"},
        "what came before stands in another response",
        "r0",
    ),
    "gemini, tools of a server": (
        {"contents": "?", "config": {"tools": [{"mcp_servers": [{}]}]}, "candidates": [{"content": {"parts": []}}]},
        "the tools of a server are not listed, so none is known",
        "mcpServers",
    ),
    "gemini, a search behind the answer": (
        gemini({"text": "Done."}, groundingMetadata={"webSearchQueries": ["lamps"]}),
        "a search of the model's own, told beside the answer, is no step",
        '["lamps"]',
    ),
    "sharegpt, a tool without a name": (
        sharegpt(("human", "?"), tools='[{"type": "hologram"}]'),
        "a tool without a name is left out of the tools",
        "hologram",
    ),
    "otel, a line of something else": (
        (trace(gen_ai__completion__0__content="Done."), {"level": "info"}),
        "an event of unknown type is left out",
        "not an export of traces",
    ),
    "langsmith, a tool that nobody heard of": (
        {"id": "r", "run_type": "chain", "start_time": at(0), "inputs": {"messages": [USER]}}
        | {"child_runs": [{"id": "t", "run_type": "tool", "start_time": at(1), "parent_run_id": "r"}]},
        "a run without inputs and outputs",
        "tool",
    ),
    "langsmith, a trace of nothing": (
        smith(("llm", {"messages": [USER]}, {"message": {"role": "assistant", "content": "Done."}}))
        | {"child_runs": [*smith(("llm", {"messages": [USER]}, None))["child_runs"], NOTHING]},
        "a trace without a model call or a tool call",
        "",
    ),
    "copilot, a log of a kind that is new": (
        replay({"kind": "panel", "id": "e"}),
        "an event of unknown type is left out",
        "panel",
    ),
    "codex, a snapshot": (
        (codex(0, {"id": "r"}, "session_meta"), codex(1, {"type": "ghost_snapshot", "ghost_commit": {"id": "c"}})),
        "an event that is no step",
        "ghost_snapshot",
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_a_form_leaves_open_is_warned_of(tmp_path: Path, name: str) -> None:
    records, rule, detail = WARNED[name]
    reading = (
        log(tmp_path / "x.jsonl", *records)
        if isinstance(records, tuple)
        else read_trajectories(write(tmp_path / "x.json", records))
    )
    assert counted(reading).get((rule, detail)) == 1, counted(reading)
    assert not any(run.tools for run in reading)


def test_tokens_are_counted_anew_after_a_compaction(tmp_path: Path) -> None:
    """Each count is a total so far, of which the last is kept; where one falls, another has begun."""
    totals = [{"type": "token_count", "info": {"total_token_usage": {"input_tokens": n}}} for n in (10, 90, 20, 50)]
    done = {"type": "task_complete", "last_agent_message": None}
    lines = [
        codex(0, {"id": "r"}, "session_meta"),
        *(codex(n, e, "event_msg") for n, e in enumerate([*totals, done], 1)),
    ]
    run = only(log(tmp_path / "r.jsonl", *lines, codex(9, function("a"))))
    assert [count["input_tokens"] for count in run.meta["usage"]] == [90, 50]
    assert run.termination == "task_complete"


def test_a_result_that_history_words_otherwise_is_told_once(tmp_path: Path) -> None:
    """A tool's span gave "P-1"; what the next model was given of it has no id and other words."""
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "read", "arguments": GIVEN}]}]
    given = [USER, *asked, {"role": "tool", "name": "read", "content": "Result: x"}]
    tool = {"gen_ai.tool.name": "read", "gen_ai.tool.call.arguments": WRITTEN, "gen_ai.tool.call.result": "x"}

    def model(before: Any, after: Any) -> dict[str, Any]:
        return {"gen_ai.input.messages": json.dumps(before), "gen_ai.output.messages": json.dumps(after)}

    last = [{"role": "assistant", "content": "Done."}]
    for end in (3, 5):  # the second ends after the next model has heard of it
        spans = [
            {"id": "m1", "start": 1, "end": 2, "attributes": model([USER], asked)},
            {"id": "t", "start": 2.5, "end": end, "attributes": tool},
            {"id": "m2", "start": 4, "end": 6, "attributes": model(given, last)},
        ]
        run = only(log(tmp_path / "t.json", otlp(spans)))
        assert outline(run) == [ASKS, READS, ("tool", "x" if end == 3 else "Result: x"), DONE]


def test_the_members_of_a_team_are_a_run_each(tmp_path: Path) -> None:
    states = {name: {"agent_state": {"llm_context": {"messages": [said(name, "UserMessage")]}}} for name in "ab"}
    runs = read_trajectories(
        write(tmp_path / "x.json", {"type": "TeamState", "stop_reason": "s", "agent_states": states})
    )
    assert [(run.steps[0].content, run.termination) for run in runs] == [("a", None), ("b", None)]
    alone = {"messages": [said("?", source="user")], "stop_reason": "said stop"}
    assert only(read_trajectories(write(tmp_path / "y.json", alone))).termination == "said stop"


def test_what_an_exchange_says_of_policy_and_tools(tmp_path: Path) -> None:
    space = {"type": "namespace", "name": "lamps", "tools": [{"type": "function", "name": "read"}]}
    response = {"object": "response", "output": [FUNCTION], "instructions": [{"content": "Be kind."}, "Be brief."]}
    asked = {"model": "q", "max_tokens": 9, "system": "Be kind.\nBe brief.", "messages": [USER], "tools": READ}
    block = {"type": "tool_use", "id": "1", "name": "read", "input": GIVEN}
    answer = {"id": "m", "type": "message", "role": "assistant", "content": [block]}
    for record in (response | {"tools": [space]}, {"request": {"body": asked}, "response": {"body": answer}}):
        run = only(read_trajectories(write(tmp_path / "x.json", record)))
        assert (run.policy, [tool.name for tool in run.tools or ()]) == ("Be kind.\nBe brief.", ["read"])
        assert outline(run)[-1] == READS


@pytest.mark.parametrize("name", ["parcels.eval", "parcels.json"])
def test_samples_of_an_inspect_log_are_its_runs(tmp_path: Path, name: str) -> None:
    archive = Path(__file__).parent / "fixtures" / "parcels.eval"
    told = list(inspect_logs.samples_of(archive))
    path = archive
    if name.endswith("json"):
        path = write(tmp_path / name, {**told[0][0], "samples": [sample for _, sample, _ in told]})
    runs = read_trajectories(path).trajectories
    assert [run for _, _, run in inspect_logs.samples_of(path)] == list(runs)
    head, sample, run = told[0]
    assert inspect_logs.trajectory_of(sample, head["eval"]) == run
    for broken in (write(tmp_path / "other.json", {"eval": 1}), tmp_path / "other.eval"):
        broken.write_text("{}")
        with pytest.raises(InputError, match="other"):
            list(inspect_logs.samples_of(broken))


def test_an_array_is_cut_whatever_the_length_of_its_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member longer than the piece that is read, and one cut by its end, are whole; what breaks off is not cut."""
    monkeypatch.setattr(reading_module, "_PIECE_BYTES", 40)
    chats = [{"messages": [{"role": "user", "content": "lamp " * n}]} for n in (1, 90, 2)]
    path = write(tmp_path / "x.json", chats)
    text = path.read_text()
    assert [json.loads(text[span.start : span.end]) for span in reading_module.array_spans(path, 1)] == chats
    path.write_text(text[:-40])
    assert reading_module.array_spans(path, 1) == []


def test_two_sessions_of_gemini_in_one_log_are_two_runs(tmp_path: Path) -> None:
    begun = [{"type": "init", "session_id": name, "model": "m"} for name in "ab"]
    told = [{"type": "message", "role": "user", "content": name} for name in "ab"]
    runs = log(tmp_path / "g.jsonl", begun[0], told[0], begun[1], told[1])
    assert [(run.id, run.steps[0].content) for run in runs] == [("a", "a"), ("b", "b")]


def test_simulations_in_a_list_are_read_one_by_one(tmp_path: Path) -> None:
    runs = read_trajectories(write(tmp_path / "x.json", [simulation(0), simulation(1)])).trajectories
    assert [(run.id, len(run.steps)) for run in runs] == [("sim-0", 8), ("sim-1", 8)]


def test_a_file_that_breaks_leaves_nothing_of_what_was_read_before(tmp_path: Path) -> None:
    """Two runs of one file, of which the second is broken: the first is no run, and may be read from another file."""
    good = {"messages": [USER, {"role": "assistant", "content": "Done."}]}
    broken = {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}]}
    write(tmp_path / "a.json", [good, broken])
    write(tmp_path / "b.json", [good])
    reading = read_trajectories(tmp_path, strict=False)
    assert (len(reading), len(reading.refused), reading.warnings) == (1, 1, ())


def test_a_time_that_is_none_is_no_time() -> None:
    assert (iso(10**18), iso(10**30)) == ("2001-09-09T01:46:40.000000Z", None)
