"""What each format is known by: the least of it, and near misses, of which each lacks one thing or has one amiss."""

from typing import Any

import pytest

from axisjudge.readers.logs import LOGS
from axisjudge.readers.reading import FORMATS

KNOWN: dict[str, Any] = {form.FORMAT: form for form in (*FORMATS, *LOGS)}

USER = {"role": "user", "content": "?"}
ROWS = {"context.trace_id": "t", "context.span_id": "s"}

#: The least that is known; what is no longer.
CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "own": (
        [
            {"id": "r", "source": "s", "steps": []},
            {"id": "r", "source": "s"},
            {"id": "r", "source": "s", "steps": [], "x": 1},
        ],
        [{"id": "r", "steps": []}, {"source": "s", "steps": []}, {"id": "r", "source": "s", "x": 1}, [], None],
    ),
    "atif": (
        [{"schema_version": "ATIF-v1.4", "steps": []}, [{"schema_version": "ATIF-", "steps": []}, 3]],
        [{"schema_version": "v1.4", "steps": []}, {"schema_version": "ATIF-1", "steps": {}}, {"steps": []}, [], [3]],
    ),
    "openhands": (
        [
            [{"kind": "MessageEvent", "source": "user"}],
            [{"action": "run", "source": "agent", "timestamp": "T"}],
            [{"observation": "run", "source": "agent", "timestamp": "T"}],
            {"instance_id": "i", "history": [{"kind": "MessageEvent", "source": "user"}]},
            {"history": [[{"kind": "MessageEvent", "source": "user"}, {}]]},
        ],
        [
            [{"kind": "MessageEvent"}],
            [{"kind": "Message", "source": "user"}],
            [{"action": "run", "source": "agent"}],
            [{"action": "run", "timestamp": "T"}],
            [{"action": 1, "source": "agent", "timestamp": "T"}],
            [{"source": "agent", "timestamp": "T"}],
            {"kind": "MessageEvent", "source": "user"},  # alone it is no list of events
            {"instance_id": "i", "history": []},
            {"history": [{"x": 1}]},
        ],
    ),
    "adk_eval_set": (
        [
            {"eval_cases": [{"eval_id": "e"}]},
            [{"query": "?", "expected_tool_use": []}],
            [{"data": [{"query": "?", "expected_tool_use": []}]}],
        ],
        [
            {"eval_cases": []},
            {"eval_cases": [{}]},
            [{"query": "?"}],
            [{"expected_tool_use": []}],
            {"query": "?", "expected_tool_use": []},
            [{"eval_id": "e"}],
        ],
    ),
    "openai_agents_state": (
        [
            {"$schemaVersion": "1", "originalInput": "?", "generatedItems": []},
            {"$schemaVersion": "1", "original_input": "?", "generated_items": []},
        ],
        [
            {"$schemaVersion": "1", "originalInput": "?", "generated_items": []},
            {"originalInput": "?", "generatedItems": []},
            {"$schemaVersion": "1", "generated_items": []},
        ],
    ),
    "letta": (
        [
            [{"message_type": "user_message"}],
            {"message_type": "user_message"},
            {"agents": [{"messages": [], "agent_type": "a"}]},
        ],
        [
            [{"message_type": "user"}],
            {"agents": []},
            {"agents": [{"messages": []}]},
            {"agents": [{"agent_type": "a"}]},
            [],
        ],
    ),
    "inspect": (
        [{"eval": {"task": "t", "model": "m"}}],
        [
            {"eval": {"task": "t"}},
            {"eval": {"model": "m"}},
            {"task": "t", "model": "m"},
            [{"eval": {"task": "t", "model": "m"}}],
        ],
    ),
    "tau2": (
        [
            {"info": {}, "tasks": [], "simulations": []},
            {"info": {}, "tasks": [], "simulation_index": []},
            {"info": {"environment_info": {}}, "tasks": []},
            {"task_id": "t", "termination_reason": "r", "messages": []},
            [{"task_id": "t", "termination_reason": "r", "ticks": []}],
            {"task_id": "t", "messages": [], "run_info": {}},
            [{"task_id": "t", "messages": [], "reward_info": {}}],
        ],
        [
            {"info": {}, "tasks": []},
            {"info": {}, "simulations": []},
            {"tasks": [], "simulations": []},
            {"task_id": "t", "termination_reason": "r"},
            {"task_id": "t", "messages": []},
            {"termination_reason": "r", "messages": []},
            {"task_id": "t", "run_info": {}},
            {"task_id": "t", "messages": [], "run_info": 1, "reward_info": 1},
            [],
            [3],
        ],
    ),
    "tau_bench": ([{"traj": [], "task_id": 1}, [{"traj": [], "task_id": 1}]], [{"traj": []}, {"task_id": 1}, [], [3]]),
    "agentrx": (
        [{"traj": [], "task_id": 1, "records": []}, [{"traj": [], "task_id": 1, "records": []}]],
        [{"traj": [], "task_id": 1}, {"task_id": 1, "records": []}, []],
    ),
    "bfcl": (
        [{"id": "a", "result": [], "latency": 1, "input_token_count": 1}],
        [
            {"id": "a", "result": [], "latency": 1},
            {"id": "a", "result": [], "input_token_count": 1},
            {"result": [], "latency": 1, "input_token_count": 1},
            [],
        ],
    ),
    "toolbench": (
        [
            {"answer_generation": {}, "tree": {}},
            {"answer_generation": {}, "trys": []},
            {"1": {"answer": {"answer_details": []}}},
        ],
        [
            {"answer_generation": {}},
            {"tree": {}, "trys": []},
            {"answer_generation": 1, "tree": 1},
            {},
            {"1": {"answer": {}}},
            [],
        ],
    ),
    "swe_agent": (
        [
            {"history": [{"role": "user"}], "trajectory": []},
            {"history": [{"role": "user", "action": "ls"}]},
            {"messages": [], "trajectory_format": "mini-swe-agent-1"},
            {"messages": [], "info": {"mini_version": "1"}},
            [{"content": "```mswea_bash_command\nls\n```"}],
        ],
        [
            {"history": [{"role": "user"}]},
            {"history": [], "trajectory": []},
            {"history": [{"content": "x"}], "trajectory": []},
            {"messages": {}, "trajectory_format": "mini-swe-agent-1"},
            {"messages": [], "trajectory_format": "swe-agent"},
            {"messages": [], "info": {}},
            [{"content": "```bash\nls\n```"}],
        ],
    ),
    "pydantic_ai": (
        [[{"kind": "request", "parts": []}], {"messages": [{"kind": "response", "parts": []}]}],
        [
            [],
            [{"kind": "request"}],
            [{"kind": "ask", "parts": []}],
            [{"kind": "request", "parts": []}, {"kind": "request"}],
        ],
    ),
    "smolagents": (
        [[{"task": "?"}, {"step_number": 1, "observations": "o"}], {"steps": [{"step_number": 1, "tool_calls": []}]}],
        [[{"step_number": 1}], [{"observations": "o"}], [], {"steps": []}],
    ),
    "openai_responses": (
        [
            {"object": "response"},
            {"response": {"object": "response"}},
            [{"type": "function_call", "name": "f"}, USER],
            [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "?"}]}],
            {"input": [USER], "model": "m"},
            {"input": [USER], "output": []},
            {"output": [{"type": "reasoning"}]},
            [{"type": "reasoning"}, {"id": "x"}],
        ],
        [
            {"object": "response", "messages": []},
            [USER],
            [{"type": "function_call"}, {"x": 1}],
            [{"type": "function_call"}, {"id": "x", "y": 1}],
            {"input": [USER]},
            {"input": [{"x": 1}], "model": "m"},
            {"input": [], "model": "m"},
            [{"type": "message", "role": "user", "content": [{"type": "text", "text": "?"}]}],
        ],
    ),
    "gemini_contents": (
        [
            [{"role": "user", "parts": []}],
            [{"parts": {"text": "?"}}],
            {"contents": "?", "model": "m"},
            {"history": [{"parts": []}]},
            {"candidates": [{"finishReason": "STOP"}]},
            {"candidates": [{"content": {}}]},
            [{"author": "user", "content": {"parts": []}}],
            {"events": [{"author": "a"}, {"author": "user", "content": {"parts": []}}]},
        ],
        [
            [],
            [{"role": "user"}],
            [{"parts": [{"type": "text"}]}],
            [{"parts": []}, {"x": 1}],
            {"contents": "?"},
            {"candidates": [{}]},
            {"events": [{"content": {"parts": []}}]},
            {"events": [{"author": "a"}]},
        ],
    ),
    "langchain_messages": (
        [
            [{"type": "human", "content": "?"}],
            [{"type": "ai", "data": {}}],
            [{"type": "AIMessageChunk", "content": ""}],
            [{"lc": 1, "id": ["x", "HumanMessage"]}],
            [{"type": "remove"}],
            [{"type": "chat", "role": "user", "content": "?"}],
            {"values": {"channel_values": {"messages": [{"type": "human", "content": "?"}]}}},
            [{"agent": {"messages": [{"type": "ai", "content": ""}]}}],
        ],
        [
            [],
            [{"type": "human"}],
            [{"type": "human", "role": "user", "content": "?"}],
            [{"type": "robot", "content": "?"}],
            [{"lc": 1, "id": []}],
            [{"lc": 1, "id": ["HumanMessage", "x"]}],
            [{"lc": 1, "type": "human", "content": "?"}],
            [{"type": "human", "content": "?"}, USER],
            {"values": {"state": {"output": {"messages": [{"type": "human", "content": "?"}]}}}},  # too deep
            [{"agent": {"messages": [{"type": "ai", "content": ""}]}, "other": 1}],
            [{"agent": {"messages": [USER]}}],
        ],
    ),
    "autogen_events": (
        [
            [{"type": "TextMessage", "source": "a"}],
            [{"type": "UserMessage", "content": "?"}],
            [{"type": "StructuredMessage[X]", "source": "a"}],
            [{"type": "NewEvent", "source": "a"}],
            {"messages": [{"type": "TextMessage", "source": "a"}]},
            {"agent_states": {"a": {"llm_context": {"messages": [{"type": "UserMessage", "content": "?"}]}}}},
        ],
        [
            [],
            [{"type": "TextMessage"}],
            [{"type": "UserMessage", "source": "a"}],
            [{"type": "text", "source": "a"}],
            {"message": [{"type": "TextMessage", "source": "a"}]},
            [{"type": "TextMessage", "source": "a"}, USER],
        ],
    ),
    "bedrock_converse": (
        [
            [{"role": "assistant", "content": [{"toolUse": {}}]}],
            [{"role": "user", "content": [{"toolResult": {}}]}],
            {"toolConfig": {}},
            {"output": {"message": {"role": "assistant", "content": [{"toolUse": {}}]}}},
        ],
        [
            [{"role": "assistant", "content": [{"text": "?"}]}],
            [{"role": "assistant", "content": [{"type": "x", "toolUse": {}}]}],
            [{"content": [{"toolUse": {}}]}],
            [{"role": "assistant", "content": [{"toolUse": 1}]}],
            {"messages": [USER]},
        ],
    ),
    "ai_sdk": (
        [
            [{"role": "assistant", "content": [{"type": "tool-call"}]}],
            [{"role": "user", "parts": [{"type": "text"}]}],
            {"messages": [{"role": "tool", "content": [{"type": "tool-result"}]}]},
        ],
        [
            [{"role": "assistant", "content": [{"type": "tool_use"}]}],
            [{"content": [{"type": "tool-call"}]}],
            [{"role": "user", "parts": [{"type": "text"}, {"text": "?"}]}],
            [{"role": "user", "parts": []}],
        ],
    ),
    "anthropic_messages": (
        [
            [{"role": "user", "content": [{"type": "tool_result"}]}],
            [{"role": "user", "content": [{"type": "image", "source": {}}]}],
            [{"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}],
            [{"role": "assistant", "content": [{"type": "redacted_thinking"}]}],
            {"type": "message", "role": "assistant", "stop_reason": None},
            {"custom_id": "c", "result": {"type": "errored"}},
            {"messages": [USER], "system": "s"},
            {"messages": [{"role": "system", "content": ""}], "anthropic_version": "v"},
            {"messages": [USER], "tools": [{"input_schema": {}}]},
        ],
        [
            [USER],
            [{"content": [{"type": "tool_result"}]}],
            [{"role": "user", "content": [{"type": "image"}]}],
            [{"role": "assistant", "content": [{"type": "thinking"}]}],
            {"type": "message", "role": "assistant"},
            {"type": "message", "role": "user", "stop_reason": None},
            {"role": "assistant", "stop_reason": None},
            {"custom_id": "c", "result": {"type": "done"}},
            {"result": {"type": "errored"}},
            {"messages": [USER]},
            {"messages": [], "system": "s"},
            {"messages": [{"content": "?"}], "system": "s"},
            {"messages": [{"role": "developer", "content": "?"}], "system": "s"},
            {"messages": [{"role": "assistant", "tool_calls": [1]}], "system": "s"},
            {"messages": [USER], "tools": [{"parameters": {}}]},
        ],
    ),
    "named_speakers": (
        [
            [{**USER, "name": "a"}, {**USER, "name": "b"}],
            [USER, {"role": "tool", "content": "", "tool_responses": [1]}],
            {"chat_history": [{"role": "anna", "content": ""}, {"role": "ben", "content": ""}]},
            [{**USER, "sender": "a"}, {**USER, "sender": "b"}],
        ],
        [
            [{**USER, "name": "a"}, {**USER, "name": "a"}],
            [{**USER, "name": "a"}, USER],
            [{**USER, "name": "a"}, {"role": "tool", "name": "b", "content": ""}],
            [{**USER, "name": "a"}, {"role": "user", "name": "b"}],
            {"chats": [{**USER, "name": "a"}, {**USER, "name": "b"}]},
            [{**USER, "name": "a"}, {**USER, "name": 3}],
        ],
    ),
    "sharegpt": (
        [
            [{"from": "human", "value": "?"}],
            {"conversations": [USER]},
            {"conversation": [{"from": "gpt", "value": None}]},
        ],
        [
            [],
            [{"from": "human"}],
            [{"from": 1, "value": "?"}],
            [{"value": "?"}],
            {"conversation": [USER]},
            {"conversations": []},
        ],
    ),
    "openai_chat": (
        [
            [USER],
            [{"role": "assistant"}, {"role": "developer"}],
            {"messages": []},
            {"messages": [USER, {}]},  # what is amiss further on is told by whoever reads it
            [{"messages": [USER]}],
            {"choices": [{"message": {}}]},
            {"body": {"messages": []}},
        ],
        [[{"role": "assistant"}], [], {"messages": [{"content": "?"}]}, {"choices": [{}]}, USER, [3]],
    ),
    "claude_code": (
        [
            {"type": "user", "message": {"role": "user"}},
            {"type": "assistant", "message": {"role": "assistant"}},
            {"type": "system", "subtype": "init", "session_id": "s"},
            {"type": "result", "subtype": "success", "sessionId": "s"},
            {"type": "queue-operation"},
            {"type": "summary", "summary": "s", "leafUuid": "l"},
        ],
        [
            {"message": {"role": "user"}},
            {"type": "user", "message": {}},
            {"type": "user", "message": "role"},
            {"type": "system", "subtype": "init"},
            {"type": "system", "session_id": "s"},
            {"type": "summary", "summary": "s"},
            {"type": "other", "message": {"role": "user"}},
        ],
    ),
    "gemini": (
        [
            {"sessionId": "s", "projectHash": "p"},
            {"type": "init", "session_id": "s", "model": "m"},
            {"type": "tool_use", "tool_id": "t"},
            {"type": "tool_result", "tool_id": "t"},
            {"type": "gemini", "content": ""},
        ],
        [
            {"sessionId": "s"},
            {"projectHash": "p"},
            {"type": "init", "session_id": "s"},
            {"type": "init", "model": "m"},
            {"type": "tool_use"},
            {"type": "gemini"},
            {"type": "message", "content": "", "tool_id": "t"},
        ],
    ),
    "pi": (
        [{"type": "session", "cwd": "/", "id": "s"}, {"type": "message", "message": {"role": "toolResult"}}],
        [
            {"type": "session", "cwd": "/"},
            {"type": "session", "id": "s"},
            {"cwd": "/", "id": "s"},
            {"type": "message", "message": {"role": "tool"}},
            {"type": "message", "uuid": "u", "message": {"role": "user"}},
            {"message": {"role": "user"}},
        ],
    ),
    "qwen_code": (
        [
            {"type": "user", "uuid": "u", "sessionId": "s", "message": {"parts": []}},
            {"type": "system", "uuid": "u", "sessionId": "s", "systemPayload": {}},
        ],
        [
            {"type": "user", "uuid": "u", "sessionId": "s", "message": {}},
            {"type": "user", "sessionId": "s", "message": {"parts": []}},
            {"type": "user", "uuid": "u", "message": {"parts": []}},
            {"type": "other", "uuid": "u", "sessionId": "s", "message": {"parts": []}},
        ],
    ),
    "goose": (
        [
            {"type": "message", "message": {"role": "user", "created": 1, "content": []}},
            {"working_dir": "/", "conversation": []},
            {"working_dir": "/", "description": "d"},
            {"role": "assistant", "content": [{"type": "toolRequest"}]},
            {"role": "user", "created": 1, "content": "x"},
        ],
        [
            {"type": "message", "message": {"created": 1, "content": []}},
            {"type": "message", "message": USER},
            {"working_dir": "/"},
            {"conversation": []},
            {"role": "assistant", "content": [{"type": "text"}]},
            {"role": "user", "created": 1},
            {"created": 1, "content": []},
        ],
    ),
    "opencode": (
        [{"part": {}, "sessionID": "s"}, {"info": {}, "messages": [{"parts": [], "info": {}}]}],
        [
            {"part": {}},
            {"sessionID": "s"},
            {"part": 1, "sessionID": "s"},
            {"info": {}, "messages": []},
            {"messages": [{"parts": [], "info": {}}]},
            {"info": {}, "messages": [{"parts": []}]},
            {"info": {}, "messages": [{"info": {}}]},
        ],
    ),
    "copilot_chat_replay": (
        [
            {"promptId": "p", "logs": []},
            {"prompts": [{"promptId": "p", "logs": []}]},
            {"prompt": "?", "logs": [{"kind": "request"}, {"kind": "toolCall"}]},
        ],
        [
            {"promptId": "p"},
            {"prompt": "?", "logs": []},
            {"prompt": "?", "logs": [{"kind": "request"}, {"kind": "other"}]},
            {"logs": [{"kind": "request"}]},
            {"prompts": [{"prompt": "?"}]},
        ],
    ),
    "opentelemetry": (
        [
            {"data": [{"spans": []}]},
            {"resourceSpans": []},
            {"batches": []},
            {"trace": {"batches": []}},
            {"context": {"trace_id": "t", "span_id": "s"}},
            ROWS,
            {"traceId": "t", "spans": [{"context": {"trace_id": "t", "span_id": "s"}}]},
            {"columns": ["context.trace_id"], "data": [["t"]], "index": ["s"]},
            {"context.trace_id": {"0": "t"}},
            {"0": ROWS, "1": ROWS},
        ],
        [
            {"data": []},
            {"data": [{}]},
            {"resourceSpans": {}},
            {"context": {"trace_id": "t"}},
            {"context": {"span_id": "s"}},
            {"context.trace_id": 1},
            {"columns": ["x"], "data": [["t"]]},
            {"0": ROWS, "1": {}},
            {},
        ],
    ),
    "axis": (
        [
            {"transcript": []},
            {"output": {"transcript": []}},
            {"results": [{"transcript": []}, {}]},
            {"type": "tool_use", "content": {}},
            {"transcript": [{"type": "tool_use", "content": {}}]},
        ],
        [
            {"transcript": {}},
            {"transcript": [{"type": "tool_use"}]},
            {"results": []},
            {"results": [{}, {"transcript": []}]},
            {"type": "tool_use"},
            {"content": {}},
            {"type": "tool_use", "content": "x"},
        ],
    ),
    "codex": (
        [
            {"type": "response_item", "payload": {}},
            {"type": "message", "role": "user", "content": []},
            {"type": "function_call"},
            {"id": "s", "timestamp": "T", "instructions": None},
        ],
        [
            {"type": "later", "payload": {}},
            {"type": "response_item"},
            {"type": "message", "content": []},
            {"type": "message", "role": "user", "content": "x"},
            {"id": "s", "timestamp": "T"},
            {"id": "s", "instructions": None},
        ],
    ),
    "codex_exec": ([{"type": "thread.started"}, {"type": "item.completed"}], [{"type": "thread"}, {"type": "item"}]),
    "langsmith": (
        [
            {"run_type": "llm", "id": "r"},
            {"run_type": "llm", "run_id": "r"},
            {"runs": [{"run_type": "llm", "id": "r"}]},
        ],
        [{"run_type": "llm"}, {"id": "r"}, {"run_type": 1, "id": "r"}, {"runs": []}],
    ),
    "langfuse": (
        [
            {"id": "t", "timestamp": "T", "observations": []},
            {"trace": {"id": "t"}, "observations": []},
            {"id": "o", "traceId": "t", "type": "SPAN", "startTime": "T"},
            {"data": [{"id": "o", "traceId": "t", "type": "SPAN", "startTime": "T"}], "meta": {}},
        ],
        [
            {"id": "t", "observations": []},
            {"timestamp": "T", "observations": []},
            {"id": "o", "traceId": "t", "type": "SPAN"},
            {"data": [{"id": "o", "traceId": "t", "type": "SPAN", "startTime": "T"}]},
            {"data": [], "meta": {}},
        ],
    ),
    "mlflow": (
        [
            {"info": {"trace_id": "t"}, "data": {"spans": [{"attributes": {"mlflow.spanType": "LLM"}}]}},
            {"request_id": "t", "spans": [{"attributes": {"mlflow.spanType": "LLM"}}]},
            {"traces": [{"trace_id": "t", "spans": [{"attributes": {"mlflow.x": 1, "y": 1}}]}]},
        ],
        [
            {"info": {}, "data": {"spans": [{"attributes": {"mlflow.spanType": "LLM"}}]}},
            {"trace_id": "t", "spans": [{"attributes": {"x": 1}}]},
            {"trace_id": "t", "spans": [{}]},
            {"trace_id": "t", "spans": []},
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_format_is_known_by_what_only_it_has(name: str) -> None:
    known, others = CASES[name]
    recognise = KNOWN[name].recognise
    assert [value for value in known if not recognise(value)] == []
    assert [value for value in [*others, None, 3, "text", [], {}] if recognise(value)] == []
