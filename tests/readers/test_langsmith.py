"""LangSmith's runs, written by hand from the schema of its SDK, and counted once more by a few lines of their own."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from readers.made_logs import only, outline

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories
from axisjudge.readers.traces.chat_forms import messages_in

UUID = "00000000-0000-4000-8000-0000000000{:02d}"
SAID = [
    ("system", "Be brief."),
    ("user", "Count."),
    ("assistant", " [find {'hall': 1}] [find {'hall': 2}]"),
    ("tool", "P-1"),
    ("tool", "no such hall"),
    ("assistant", "One."),
]
CALLS = [{"name": "find", "args": {"hall": hall}, "id": f"c{hall}", "type": "tool_call"} for hall in (1, 2)]
RESULTS = [("c1", "P-1", "success"), ("c2", "no such hall", "error")]
TOOL = {"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": {"type": "object"}}}


def stamp(second: float) -> str:
    return f"2026-05-04T10:00:{second:09.6f}"


def run(number: int, kind: str, start: float, end: float | None, parent: int | None = 0, **more: Any) -> dict[str, Any]:
    """A run as `Client.list_runs` gives it, model_dump(mode="json")."""
    trace = UUID.format(more.pop("trace", 0))
    order = f"20260504T10000{int(start)}000000Z{trace}"
    return {
        "id": UUID.format(number),
        "name": {"tool": "find", "llm": "ChatOpenAI"}.get(kind, "agent"),
        "run_type": kind,
        "start_time": stamp(start),
        "end_time": None if end is None else stamp(end),
        "extra": {"metadata": {"ls_model_name": "gpt-5-mini"}} if kind == "llm" else {},
        "error": None,
        "parent_run_id": None if parent is None else UUID.format(parent),
        "trace_id": trace,
        "dotted_order": order if parent is None else f"{order}.20260504T10000{int(start)}000000Z{UUID.format(number)}",
        "status": "success",
        **more,
    }


def constructor(name: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}


def lc_messages() -> list[dict[str, Any]]:
    """The conversation as langchain_core's ``dumpd`` writes its messages."""
    results = [constructor("ToolMessage", content=t, tool_call_id=i, status=s, type="tool") for i, t, s in RESULTS]
    return [
        constructor("SystemMessage", content="Be brief.", type="system"),
        constructor("HumanMessage", content="Count.", type="human"),
        constructor("AIMessage", content="", tool_calls=CALLS, invalid_tool_calls=[], type="ai"),
        *results,
        constructor("AIMessage", content="One.", type="ai"),
    ]


def plain_messages() -> list[dict[str, Any]]:
    """The same as ``message.model_dump()``."""
    return [message["kwargs"] for message in lc_messages()]


def anthropic_in_langchain() -> list[dict[str, Any]]:
    """The same where the model's parts tell the calls once more."""
    messages = plain_messages()
    blocks = [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in CALLS]
    messages[2] = {**messages[2], "content": blocks}
    return messages


def openai_messages() -> list[dict[str, Any]]:
    calls = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
        for c in CALLS
    ]
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": i, "content": t} for i, t, _ in RESULTS),
        {"role": "assistant", "content": "One."},
    ]


def langchain_io(messages: list[Any]) -> list[tuple[Any, Any]]:
    def output(message: Any) -> dict[str, Any]:
        return {"generations": [[{"text": "", "generation_info": {"finish_reason": "stop"}, "message": message}]]}

    return [({"messages": [messages[:2]]}, output(messages[2])), ({"messages": [messages[:5]]}, output(messages[5]))]


def openai_io() -> list[tuple[Any, Any]]:
    messages = openai_messages()

    def output(message: Any) -> dict[str, Any]:
        return {"id": "x", "object": "chat.completion", "choices": [{"finish_reason": "stop", "message": message}]}

    return [
        ({"messages": messages[:2], "model": "gpt-5-mini"}, output(messages[2])),
        ({"messages": messages[:5], "model": "gpt-5-mini"}, output(messages[5])),
    ]


def responses_io() -> list[tuple[Any, Any]]:
    calls = [
        {"type": "function_call", "id": f"fc-{c['id']}", "call_id": c["id"], "name": "find",
         "arguments": json.dumps(c["args"])} for c in CALLS
    ]  # fmt: skip
    heard = [{"type": "function_call_output", "call_id": i, "output": t} for i, t, _ in RESULTS]
    asked = {"role": "user", "content": "Count."}
    last = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]}
    common = {"instructions": "Be brief.", "model": "gpt-5-mini", "text": {"format": {"type": "text"}}}
    return [
        ({"input": [asked], **common}, {"object": "response", "output": calls, "finish_reason": "stop"}),
        ({"input": [asked, *calls, *heard], **common}, {"object": "response", "output": [last], "stop_reason": "stop"}),
    ]


def anthropic_io() -> list[tuple[Any, Any]]:
    blocks = [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in CALLS]
    heard = [{"type": "tool_result", "tool_use_id": i, "content": t, "is_error": s == "error"} for i, t, s in RESULTS]
    asked, replied = {"role": "user", "content": "Count."}, {"role": "assistant", "content": blocks}
    common = {"system": "Be brief.", "model": "gpt-5-mini"}
    last = {"role": "assistant", "content": [{"type": "text", "text": "One."}], "stop_reason": "stop"}
    return [
        ({"messages": [asked], **common}, {**replied, "stop_reason": "tool_use"}),
        ({"messages": [asked, replied, {"role": "user", "content": heard}], **common}, last),
    ]


FORMS = {
    "langchain constructors": lambda: langchain_io(lc_messages()),
    "langchain messages": lambda: langchain_io(plain_messages()),
    "langchain with anthropic's parts": lambda: langchain_io(anthropic_in_langchain()),
    "openai wrapper": openai_io,
    "openai responses wrapper": responses_io,
    "anthropic wrapper": anthropic_io,
}


def agent_trace(form: str, late: float = 1.5, tool_ids: bool = True) -> list[dict[str, Any]]:
    """A chain with two model calls and, between them, two tools that run at once."""
    (asked, called), (heard, told) = FORMS[form]()
    tools = []
    for number, ((identity, text, status), call) in enumerate(zip(RESULTS, CALLS, strict=True), 3):
        message = constructor("ToolMessage", content=text, tool_call_id=identity, status=status, type="tool")
        outputs = {"output": message if tool_ids else text}
        error = None if status == "success" else "ValueError('no such hall')"
        given = {"input": str(call["args"])} if tool_ids else call["args"]
        tools.append(run(number, "tool", 2, 1.5 + number / 3, inputs=given, outputs=outputs, error=error))
    return [
        run(0, "chain", 0.5, 7, None, inputs={"messages": []}, outputs={"messages": []}),
        run(1, "llm", 1, late, inputs=asked, outputs=called,
            extra={"metadata": {"ls_model_name": "gpt-5-mini"}, "invocation_params": {"tools": [TOOL]}}),
        *tools,
        run(2, "llm", 5, 6, inputs=heard, outputs=told),
    ]  # fmt: skip


def nested(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {**runs[0], "child_runs": runs[1:]}


def cli(record: dict[str, Any]) -> dict[str, Any]:
    """As ``langsmith trace export --full`` writes a run."""
    kept = ("trace_id", "name", "run_type", "parent_run_id", "start_time", "end_time", "status", "inputs", "outputs")
    told = {"run_id": record["id"], **{key: record[key] for key in kept}, "error": record["error"]}
    return told | {"custom_metadata": record["extra"].get("metadata"), "tags": None}


CONTAINERS = {
    "list.json": lambda runs: json.dumps(runs, indent=1),
    "lines.jsonl": lambda runs: "\n".join(map(json.dumps, runs)),
    "backwards.jsonl": lambda runs: "\n".join(map(json.dumps, reversed(runs))),
    "query.json": lambda runs: json.dumps({"runs": runs, "cursors": {}}),
    "nested.json": lambda runs: json.dumps(nested(runs), default=str),
    "cli.jsonl": lambda runs: "\n".join(json.dumps(cli(record)) for record in runs),
    "cli get.json": lambda runs: json.dumps(
        {"trace_id": "x", "run_count": 5, "runs": [cli(record) for record in runs]}
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_conversation_from_every_export_and_client(tmp_path: Path, form: str, container: str) -> None:
    path = tmp_path / container
    path.write_text(CONTAINERS[container](agent_trace(form)))
    reading = read_trajectories(path)
    found = only(reading)
    assert outline(found) == SAID
    assert (found.source, found.id, found.agent, found.termination) == (
        "langsmith",
        UUID.format(0),
        "gpt-5-mini",
        "stop",
    )
    results = [step for step in found.steps if step.role == "tool"]
    assert [(step.tool_call_id, step.tool_name, step.error) for step in results] == [
        ("c1", "find", False),
        ("c2", "find", True),
    ]
    assert results[0].duration_s == pytest.approx(0.5)
    assert [tool.name for tool in found.tools or ()] == ([] if "cli" in container else ["find"])
    assert [(file.format, file.trajectories) for file in reading.files] == [("langsmith", 1)]
    assert reading.summary().warnings == {"an event that is no step": 1}


@pytest.mark.parametrize("late", [1.5, 2.1, 4.5, 5.5])
@pytest.mark.parametrize("tool_ids", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_late_model_runs_and_tools_without_ids_double_nothing(
    tmp_path: Path, form: str, tool_ids: bool, late: float
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(CONTAINERS["lines.jsonl"](agent_trace(form, late, tool_ids)))
    assert outline(only(read_trajectories(path))) == SAID


def test_root_runs_alone_tell_the_conversation(tmp_path: Path) -> None:
    messages = plain_messages()
    graph = run(0, "chain", 1, 9, None, inputs={"messages": messages[:2]}, outputs={"messages": messages})
    plain = run(1, "chain", 1, 2, None, trace=1, inputs={"question": "Where?"}, outputs={"output": "Here."})
    path = tmp_path / "roots.json"
    path.write_text(json.dumps([graph, plain]))
    first, second = read_trajectories(path).trajectories
    assert outline(first) == SAID
    assert [step.error for step in first.steps if step.role == "tool"] == [False, True]
    assert outline(second) == [("user", "Where?"), ("assistant", "Here.")]


def test_errors_and_tools_that_never_ended(tmp_path: Path) -> None:
    runs = agent_trace("openai wrapper")
    runs[0] |= {"error": "RateLimitError()", "status": "error"}
    runs[-1] |= {"error": "RateLimitError()", "outputs": None}
    runs[3] |= {"end_time": None, "outputs": None, "error": None}
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(runs))
    found = only(read_trajectories(path))
    assert found.termination == "error"
    assert outline(found)[-1] == ("error", "RateLimitError()")
    assert outline(found)[:4] == SAID[:4]


def test_traces_of_a_thread_that_go_on_are_one_conversation(tmp_path: Path) -> None:
    def turn(number: int, thread: str, history: list[str], reply: str) -> list[dict[str, Any]]:
        roles = ("user", "assistant")
        said = [{"role": roles[place % 2], "content": text} for place, text in enumerate(history)]
        outputs = {"choices": [{"message": {"role": "assistant", "content": reply}}]}
        extra = {"metadata": {"thread_id": thread}}
        more: dict[str, Any] = {"trace": number, "inputs": {"messages": said}, "outputs": outputs}
        return [run(number, "llm", number, number + 1, None, extra=extra, **more)]

    runs = [
        *turn(1, "a", ["One?"], "Yes."),
        *turn(2, "b", ["Three?"], "No."),
        *turn(3, "a", ["One?", "Yes.", "Two?"], "Also."),
        *turn(4, "b", ["Three?"], "Maybe."),  # the same task once more, not a second turn
    ]
    path = tmp_path / "threads.json"
    path.write_text(json.dumps(runs))
    found = {trajectory.id: outline(trajectory) for trajectory in read_trajectories(path)}
    assert found == {
        "a": [("user", "One?"), ("assistant", "Yes."), ("user", "Two?"), ("assistant", "Also.")],
        UUID.format(2): [("user", "Three?"), ("assistant", "No.")],
        UUID.format(4): [("user", "Three?"), ("assistant", "Maybe.")],
    }


@pytest.mark.parametrize("form", FORMS)
def test_counts_equal_an_independent_count(tmp_path: Path, form: str) -> None:
    """Calls by the ids that stand anywhere in the file, traces and tool runs by their own fields."""
    path = tmp_path / "runs.jsonl"
    path.write_text(CONTAINERS["lines.jsonl"](agent_trace(form)))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    ids = set(re.findall(r"\bc\d\b", path.read_text()))
    summary = read_trajectories(path).summary()
    assert summary.trajectories == len({line["trace_id"] for line in lines})
    assert summary.agent_tool_calls == len(ids) == sum(line["run_type"] == "tool" for line in lines)
    assert summary.tool_errors == sum(line["run_type"] == "tool" and line["error"] is not None for line in lines)


def test_runs_of_the_wrong_shape_are_counted(tmp_path: Path) -> None:
    runs = agent_trace("openai wrapper")
    path = tmp_path / "runs.jsonl"
    spoilt = [{"id": UUID.format(50), "run_type": "chain", "start_time": "soon"}, {"event": "no run"}]
    path.write_text("\n".join(map(json.dumps, [*runs, *spoilt])) + "\n{cut")
    reading = read_trajectories(path)
    assert outline(only(reading)) == SAID
    warnings = reading.summary().warnings
    assert warnings["an event of the wrong shape is left out"] == 1
    assert warnings["an event of unknown type is left out"] == 1
    assert warnings["a line of broken JSON is left out"] == 1


@pytest.mark.parametrize("spoil", [{"start_time": None}, {"run_type": None}, {"id": None, "run_id": None}])
def test_a_run_of_a_tool_without_its_place_in_the_trace_is_not_left_out(tmp_path: Path, spoil: dict[str, Any]) -> None:
    first, *runs = agent_trace("openai wrapper")
    at = next(n for n, run in enumerate(runs) if run["run_type"] == "tool")
    runs[at] = {key: value for key, value in (runs[at] | spoil).items() if key not in spoil}
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(first | {"child_runs": runs}))
    with pytest.raises(InputError, match="without its id or start, which tells of a call"):
        read_trajectories(path)


def test_a_pair_of_words_is_a_message_whoever_speaks() -> None:
    """LangChain takes ``("human", "Hello.")`` for a message; who speaks may bear OpenAI's names too."""
    said = [messages_in([who, "Hello."], "user")[0]["role"] for who in ("human", "user", "ai", "assistant")]
    assert said == ["user", "user", "assistant", "assistant"]
