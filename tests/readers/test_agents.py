"""Sessions, frameworks and benchmarks: each a small file of its own shape, counted by its own JSON beside ours."""

import json
from pathlib import Path

import pytest

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories

TIME = "2026-03-01T10:00:0{}.000Z"
CALL = {"path": "lamp.txt"}


def pi(entry, parent=None, **message):
    return {"type": "message", "id": entry, "parentId": parent, "timestamp": TIME.format(1), "message": message}


PI = [
    {"type": "session", "id": "s", "timestamp": TIME.format(0), "cwd": "/tower"},
    pi("a", role="user", content=[{"type": "text", "text": "Light it."}]),
    pi(
        "b",
        "a",
        role="assistant",
        model="m",
        content=[
            {"type": "thinking", "thinking": "Where is it?"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "1", "name": "read", "arguments": CALL},
        ],
    ),
    pi(
        "c",
        "b",
        role="toolResult",
        toolCallId="1",
        toolName="read",
        content=[{"type": "text", "text": "x"}],
        isError=True,
    ),
    {"type": "model_change", "id": "d", "parentId": "c", "timestamp": TIME.format(2), "modelId": "n"},
    pi("e", "d", role="bashExecution", command="ls", output="lamp.txt"),
    pi("f", "e", role="assistant", model="m", content=[], errorMessage="aborted", stopReason="aborted"),
]


def qwen(kind, parts, **more):
    role = "model" if kind == "assistant" else "user"
    about = {"uuid": f"{kind}{more}", "sessionId": "s", "timestamp": TIME.format(1), "type": kind, "cwd": "/"}
    return about | {"message": {"role": role, "parts": parts}} | more


QWEN = [
    qwen("user", [{"text": "Light it."}]),
    qwen(
        "assistant",
        [{"text": "Hm.", "thought": True}, {"functionCall": {"id": "1", "name": "read", "args": CALL}}],
        model="q",
    ),
    qwen(
        "tool_result",
        [{"functionResponse": {"id": "1", "name": "read", "response": {"output": "x"}}}],
        toolCallResult={"status": "error"},
    ),
    {"uuid": "t", "sessionId": "s", "type": "system", "subtype": "ui_telemetry", "systemPayload": {"n": 1}},
    qwen("assistant", [{"text": "Done."}], model="q"),
]


def goose(role, *content):
    return {"id": "m", "role": role, "created": 1772359200, "content": list(content)}


REQUEST = {
    "type": "toolRequest",
    "id": "1",
    "toolCall": {"status": "success", "value": {"name": "read", "arguments": CALL}},
}
RESPONSE = {
    "type": "toolResponse",
    "id": "1",
    "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "x"}], "isError": True}},
}
GOOSE = [
    {"id": "s", "working_dir": "/", "description": "lamp", "message_count": 3},
    goose("user", {"type": "text", "text": "Light it."}),
    goose("assistant", {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I look."}, REQUEST),
    goose("user", RESPONSE),
    goose("assistant", {"type": "text", "text": "Done."}),
]
STATE = {"status": "error", "input": CALL, "error": "x", "time": {"start": 1772359200000, "end": 1772359201500}}
PARTS = [
    {"type": "step-start"},
    {"type": "reasoning", "text": "Hm."},
    {"type": "text", "text": "I look."},
    {"type": "tool", "callID": "1", "tool": "read", "state": STATE},
]
OPENCODE = {
    "info": {"id": "s", "title": "lamp"},
    "messages": [
        {"info": {"role": "user", "id": "1"}, "parts": [{"type": "text", "text": "Light it."}]},
        {"info": {"role": "assistant", "id": "2", "providerID": "p", "modelID": "q"}, "parts": PARTS},
    ],
}
REPLAY = {
    "exportedAt": TIME.format(0),
    "prompts": [
        {
            "promptId": "s",
            "prompt": "Light it.",
            "logs": [
                {
                    "id": "r",
                    "kind": "request",
                    "name": "panel",
                    "metadata": {"model": "q"},
                    "response": {"type": "success", "message": ["I look."]},
                },
                {
                    "id": "1",
                    "kind": "toolCall",
                    "tool": "read",
                    "args": json.dumps(CALL),
                    "time": TIME.format(1),
                    "response": ["x"],
                },
            ],
        }
    ],
}
#: As it is exported since: no id of a prompt, and one that goes on stands again, as seen.
REPLAY_AGAIN = {
    "exportedAt": TIME.format(0),
    "prompts": [
        {"prompt": "Light it.", "hasSeen": seen, "logs": REPLAY["prompts"][0]["logs"][seen : seen + 1]}
        for seen in (False, True)
    ],
}
GOOSE_STREAM = [
    {"type": "message", "message": {"role": "user", "created": 1, "content": [{"type": "text", "text": "Light it."}]}},
    *(
        {"type": "message", "message": {"id": "m", "role": "assistant", "created": 2, "content": [part]}}
        for part in (
            {"type": "text", "text": "I l"},
            {"type": "text", "text": "ook."},
            {
                "type": "toolRequest",
                "id": "1",
                "toolCall": {"status": "success", "value": {"name": "read", "arguments": CALL}},
            },
        )
    ),
    {
        "type": "message",
        "message": {
            "role": "user",
            "created": 3,
            "content": [
                {
                    "type": "toolResponse",
                    "id": "1",
                    "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "x"}]}},
                }
            ],
        },
    },
    {"type": "complete", "total_tokens": 7},
]
WRITTEN = {"id": "1", "function": {"name": "run", "arguments": json.dumps(CALL)}, "type": "function"}
META = {
    "function_name": "run",
    "tool_call_id": "1",
    "model_response": {"id": "r", "model": "q", "choices": [{"message": {"tool_calls": [WRITTEN]}}]},
}
OPENHANDS_0 = {
    "instance_id": "s",
    "metadata": {"llm_config": {"model": "q"}},
    "test_result": {"report": {"resolved": True}},
    "history": [
        {"id": 0, "timestamp": TIME.format(0), "source": "user", "action": "message", "args": {"content": "Light it."}},
        {
            "id": 1,
            "timestamp": TIME.format(1),
            "source": "agent",
            "action": "run",
            "args": {"command": "x", "thought": "I look."},
            "tool_call_metadata": META,
        },
        {
            "id": 2,
            "timestamp": TIME.format(2),
            "source": "agent",
            "observation": "run",
            "content": "x",
            "cause": 1,
            "tool_call_metadata": META,
            "extras": {"metadata": {"exit_code": 2}},
        },
        {
            "id": 3,
            "timestamp": TIME.format(3),
            "source": "environment",
            "observation": "agent_state_changed",
            "content": "",
        },
    ],
}
FLAT = {"id": "1", "name": "run", "arguments": json.dumps(CALL), "origin": "completion"}
OPENHANDS_1 = [
    {
        "kind": "SystemPromptEvent",
        "source": "agent",
        "system_prompt": {"type": "text", "text": "Be kind."},
        "tools": [{"title": "run"}],
    },
    {
        "kind": "MessageEvent",
        "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": "Light it."}]},
    },
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": "I look."}],
        "reasoning_content": "Hm.",
        "tool_name": "run",
        "tool_call_id": "1",
        "tool_call": FLAT,
        "llm_response_id": "r",
    },
    {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_name": "run",
        "tool_call_id": "1",
        "observation": {"kind": "X", "content": [{"type": "text", "text": "x"}], "is_error": True},
    },
    {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "stats", "value": {}},
]
USED = {
    "tool_uses": [{"id": "1", "name": "read", "args": CALL}],
    "tool_responses": [{"id": "1", "name": "read", "response": {"result": "x"}}],
}
ADK = {
    "eval_set_id": "set",
    "eval_cases": [
        {
            "eval_id": "a",
            "conversation": [
                {
                    "invocation_id": "i-1",
                    "user_content": {"parts": [{"text": "Light it."}]},
                    "intermediate_data": USED,
                    "final_response": {"parts": [{"text": "Done."}]},
                }
            ],
        },
        {"eval_id": "b", "conversation_scenario": {"starting_prompt": "Hi"}},
    ],
}
ADK_OLD = [
    {"query": "Light it.", "expected_tool_use": [{"tool_name": "read", "tool_input": CALL}], "reference": "Done."}
]
STATE_OF_AGENTS = {
    "$schemaVersion": "1.0",
    "originalInput": "Light it.",
    "currentAgent": {"name": "keeper"},
    "generatedItems": [
        {
            "type": "reasoning_item",
            "rawItem": {"type": "reasoning", "content": [{"type": "input_text", "text": "Hm."}]},
        },
        {
            "type": "tool_call_item",
            "agent": {"name": "keeper"},
            "rawItem": {"type": "function_call", "callId": "1", "name": "read", "arguments": json.dumps(CALL)},
        },
        {
            "type": "tool_call_output_item",
            "rawItem": {
                "type": "function_call_result",
                "callId": "1",
                "name": "read",
                "output": {"type": "text", "text": "x"},
            },
        },
        {
            "type": "message_output_item",
            "rawItem": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        },
    ],
}
LETTA = [
    {"message_type": "user_message", "id": "1", "date": TIME.format(1), "content": "Light it."},
    {"message_type": "reasoning_message", "id": "2", "date": TIME.format(2), "reasoning": "Hm."},
    {
        "message_type": "tool_call_message",
        "id": "2",
        "date": TIME.format(2),
        "tool_call": {"name": "read", "arguments": json.dumps(CALL), "tool_call_id": "1"},
    },
    {
        "message_type": "tool_return_message",
        "id": "3",
        "date": TIME.format(3),
        "tool_return": "x",
        "status": "error",
        "tool_call_id": "1",
    },
    {"message_type": "assistant_message", "id": "4", "date": TIME.format(4), "content": "Done."},
]
LETTA_FILE = {
    "agents": [
        {
            "id": "agent-0",
            "agent_type": "memgpt_agent",
            "system": "Be kind.",
            "llm_config": {"model": "q"},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Light it."}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "read", "arguments": json.dumps(CALL)}}
                    ],
                },
                {
                    "role": "tool",
                    "content": [{"type": "text", "text": "x"}],
                    "tool_call_id": "1",
                    "tool_returns": [{"tool_call_id": "1", "status": "error", "func_response": "x"}],
                },
            ],
        }
    ]
}
COUNTS = {"input_token_count": [[3, 4]], "output_token_count": [[1, 1]], "latency": [[0.1, 0.1]]}
BFCL = {
    "id": "multi_turn_base_0",
    "result": [[[{"read": json.dumps(CALL)}], "Done."]],
    **COUNTS,
    "inference_log": [
        [{"role": "state_info", "class_name": "Tower", "content": {}}],
        {"role": "inference_input", "content": "no turn"},
        {
            "begin_of_turn_query": [{"role": "user", "content": "Light it."}],
            "step_0": [
                {"role": "assistant", "content": [{"read": json.dumps(CALL)}]},
                {"role": "handler_log", "content": "decoded", "model_response_decoded": ["read(path='lamp.txt')"]},
                {"role": "tool", "content": '{"error": "no such file"}'},
            ],
            "step_1": [{"role": "assistant", "content": "Done."}],
        },
    ],
}
BFCL_SINGLE = {
    "id": "simple_0",
    "result": "[tower.read(path='lamp.txt', times=2)]",
    "input_token_count": 3,
    "output_token_count": 1,
    "latency": 0.1,
}


def node(kind, text, *children, **more):
    return {"node_type": kind, "description": text, "children": list(children), **more}


TRIED = node(
    "Action",
    "read",
    node("Action Input", "{}", node("Thought", "Not so."), observation='{"error": "none", "response": ""}'),
)
TREE = node(
    "Action Input",
    "",
    TRIED,
    node("Action", "Finish", node("Action Input", '{"return_type": "give_answer"}', observation="ok")),
)
TOOLBENCH = {
    "win": True,
    "tree": {"tree": TREE},
    "answer_generation": {"query": "Light it.", "finish_type": "give_answer", "function": [{"name": "read"}]},
}
ANSWERED = {
    "role": "tool",
    "message": str({"name": "read", "arguments": "{}", "response": '{"error": "", "response": "x"}'}),
    "next": [],
}
STABLE = {
    "82": {
        "query": "Light it.",
        "available_tools": [],
        "answer": {"method": "CoT@1", "answer_details": [{"role": "user", "message": "Light it.", "next": [ANSWERED]}]},
    }
}

#: Format, records (a list is a line each where the name ends so), runs, and of all steps: calls, results, thinking.
FILES = {
    "pi.jsonl": ("pi", PI, 1, 1, 1, 1),
    "qwen.jsonl": ("qwen_code", QWEN, 1, 1, 1, 1),
    "goose.jsonl": ("goose", GOOSE, 1, 1, 1, 1),
    "goose.json": ("goose", GOOSE[0] | {"conversation": GOOSE[1:]}, 1, 1, 1, 1),
    "opencode.json": ("opencode", OPENCODE, 1, 1, 1, 1),
    "opencode.jsonl": (
        "opencode",
        [{"type": "x", "sessionID": "s", "timestamp": 1772359200000, "part": p} for p in PARTS],
        1,
        1,
        1,
        1,
    ),
    "replay.json": ("copilot_chat_replay", REPLAY, 1, 1, 1, 0),
    "replay-again.json": ("copilot_chat_replay", REPLAY_AGAIN, 1, 1, 1, 0),
    "goose-stream.jsonl": ("goose", GOOSE_STREAM, 1, 1, 1, 0),
    "openhands-0.jsonl": ("openhands", [OPENHANDS_0, OPENHANDS_0 | {"instance_id": "t"}], 2, 2, 2, 0),
    "openhands-1.json": ("openhands", OPENHANDS_1, 1, 1, 1, 1),
    "openhands-1.jsonl": ("openhands", OPENHANDS_1, 1, 1, 1, 1),
    "adk.evalset.json": ("adk_eval_set", ADK, 1, 1, 1, 0),
    "adk.test.json": ("adk_eval_set", ADK_OLD, 1, 1, 0, 0),
    "state.json": ("openai_agents_state", STATE_OF_AGENTS, 1, 1, 1, 1),
    "letta.json": ("letta", LETTA, 1, 1, 1, 1),
    "letta.af": ("letta", LETTA_FILE, 1, 1, 1, 0),
    "bfcl.jsonl": ("bfcl", [BFCL, BFCL_SINGLE], 2, 2, 1, 0),
    "toolbench.json": ("toolbench", TOOLBENCH, 1, 2, 2, 0),
    "stable.json": ("toolbench", STABLE, 1, 1, 1, 0),
}


def written(folder: Path, name: str, records: object) -> Path:
    lines = "\n".join(map(json.dumps, records)) if name.endswith(".jsonl") else json.dumps(records)
    (folder / name).write_text(lines)
    return folder / name


def test_what_goes_on_is_no_further_turn(tmp_path: Path) -> None:
    names = ("replay-again.json", "goose-stream.jsonl")
    again, streamed = (next(iter(read_trajectories(written(tmp_path, name, FILES[name][1])))) for name in names)
    assert [step.content for step in again.steps if step.role == "user"] == ["Light it."]
    assert [step.content for step in streamed.steps if step.content][:2] == ["Light it.", "I look."]


@pytest.mark.parametrize("name", FILES)
def test_every_call_and_result_is_read(tmp_path: Path, name: str) -> None:
    form, records, runs, calls, results, thinking = FILES[name]
    reading = read_trajectories(written(tmp_path, name, records))
    steps = [step for run in reading for step in run.steps]
    found = [
        sum(len(s.tool_calls) for s in steps),
        sum(s.role == "tool" for s in steps),
        sum(s.kind == "thinking" for s in steps),
    ]
    assert (len(reading), *found) == (runs, calls, results, thinking)
    assert {file.format for file in reading.files} == {form}
    first = next(call for step in steps for call in step.tool_calls)
    assert first.name.split(".")[-1] in ("read", "run")
    assert "toolbench" in form or first.arguments.get("path", first.arguments.get("command")) in ("lamp.txt", "x")
    assert steps[0].content in ("Light it.", "Be kind.") or steps[0].kind == "thinking"


@pytest.mark.parametrize(
    "name",
    [
        "pi.jsonl",
        "qwen.jsonl",
        "goose.jsonl",
        "opencode.json",
        "openhands-0.jsonl",
        "openhands-1.json",
        "letta.json",
        "bfcl.jsonl",
        "toolbench.json",
    ],
)
def test_a_call_that_failed_is_marked(tmp_path: Path, name: str) -> None:
    steps = [step for run in read_trajectories(written(tmp_path, name, FILES[name][1])) for step in run.steps]
    assert next(step for step in steps if step.role == "tool").error is True


@pytest.mark.parametrize(
    ("name", "place"), [("pi.jsonl", 2), ("goose.jsonl", 2), ("letta.json", 2), ("openhands-1.json", 2)]
)
def test_a_call_of_unknown_shape_refuses_the_file(tmp_path: Path, name: str, place: int) -> None:
    records = json.loads(json.dumps(FILES[name][1]))
    text = json.dumps(records[place]).replace('"name"', '"called"')
    records[place] = json.loads(text)
    if name == "goose.jsonl":
        records[place]["content"][2] = {"type": "toolDelegation", "tool_request": {"x": 1}}
    with pytest.raises(InputError):
        read_trajectories(written(tmp_path, name, records))


def test_branches_of_a_session_are_a_run_each(tmp_path: Path) -> None:
    other = pi(
        "z",
        "a",
        role="assistant",
        model="m",
        content=[{"type": "toolCall", "id": "9", "name": "ring", "arguments": {}}],
    )
    runs = read_trajectories(written(tmp_path, "pi.jsonl", [*PI, other])).trajectories
    assert [(run.id, [call.name for step in run.steps for call in step.tool_calls]) for run in runs] == [
        ("s/f", ["read"]),
        ("s/z", ["ring"]),
    ]
    assert {run.task_id for run in runs} == {"s"}


CODEX = [
    {"type": "session_meta", "payload": {"id": "s"}},
    *(
        {"type": "response_item", "payload": item}
        for item in (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Light it."}]},
            {"type": "function_call", "call_id": "1", "name": "read", "arguments": json.dumps(CALL)},
            {"type": "function_call_output", "call_id": "1", "output": "x"},
        )
    ),
]
SESSIONS = {
    **{name: FILES[name][1] for name in ("pi.jsonl", "qwen.jsonl", "goose.jsonl", "opencode.jsonl")},
    "codex.jsonl": CODEX,
    "codex of before.jsonl": [{"id": "s", "timestamp": "", "instructions": None}, *(e["payload"] for e in CODEX[1:])],
    **{name.replace("json", "jsonl"): [FILES[name][1]] for name in ("goose.json", "opencode.json", "replay.json")},
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_further_down_a_file_is_a_run_of_its_own(tmp_path: Path, name: str) -> None:
    records = SESSIONS[name]
    other = json.loads(json.dumps(records).replace('"s"', '"t"').replace("Light it.", "Dim it."))
    (alone,) = read_trajectories(written(tmp_path, name, records))
    both = read_trajectories(written(tmp_path, f"both {name}", [*records, *other])).trajectories
    assert [run.id for run in both] == [alone.id, alone.id.replace("s", "t")] == ["s", "t"]
    assert [len(run.steps) for run in both] == 2 * [len(alone.steps)]


def test_a_fork_of_codex_is_one_run_with_what_it_goes_on_from(tmp_path: Path) -> None:
    fork = {"type": "session_meta", "payload": {"id": "fork", "forked_from_id": "s"}}
    (run,) = read_trajectories(written(tmp_path, "codex.jsonl", [fork, *CODEX, *CODEX[1:2]]))
    assert (run.id, len(run.steps)) == ("fork", 4)


def test_a_conversation_kept_one_event_a_file_is_one_run(tmp_path: Path) -> None:
    for number, event in enumerate(OPENHANDS_1):
        written(tmp_path, f"event-{number:05d}-x.json", event)
    reading = read_trajectories(tmp_path)
    assert [len(run.steps) for run in reading] == [5]
    assert not reading.refused


def test_a_result_inside_the_part_of_its_call_is_read(tmp_path: Path) -> None:
    part = {"type": "tool_call", "id": "1", "name": "read", "args": CALL, "result": "x"}
    chat = {
        "messages": [
            {"role": "user", "content": "Light it."},
            {"role": "assistant", "content": [part, {"type": "text", "text": "Done."}]},
        ]
    }
    (run,) = read_trajectories(written(tmp_path, "chat.json", chat))
    assert [(step.role, step.content, step.tool_name) for step in run.steps[1:]] == [
        ("assistant", "", None),
        ("tool", "x", "read"),
        ("assistant", "Done.", None),
    ]
