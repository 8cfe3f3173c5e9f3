"""Conversations of model APIs and frameworks: fixtures of ours from public schemas, counted again from the raw JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from axisjudge.checks import InputError
from axisjudge.readers import Reading, read_trajectories
from axisjudge.trajectory import Trajectory

CHATS = Path(__file__).parent / "fixtures" / "chats"


def raw(name: str) -> Any:
    text = (CHATS / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a JSON value, itself included."""
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dicts(member)


Counts = tuple[int, int, int]  # calls, results, failed results


def blocks(value: Any) -> Counts:
    """Anthropic: by block types; an error is marked or has a code."""
    calls = [d for d in dicts(value) if str(d.get("type")).endswith("tool_use")]
    results = [d for d in dicts(value) if "tool_use_id" in d]
    failed = [d for d in results if d.get("is_error") or "error_code" in str(d.get("content"))]
    return len(calls), len(results), len(failed)


def items(value: Any) -> Counts:
    """OpenAI Responses: by item types; an approval counts where no call came of it."""
    every = [d for d in dicts(value) if isinstance(d.get("type"), str)]
    used = {d["approval_request_id"] for d in every if d["type"] == "mcp_call"}
    asked = [d for d in every if d["type"] == "mcp_approval_request" and d["id"] not in used]
    calls = [d for d in every if d["type"].endswith("_call") or d["type"] == "program"]
    hosted = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call")
    results = [d for d in every if d["type"].endswith("_output") or d["type"] in hosted or d.get("approve") is False]
    failed = [
        d for d in results if d.get("status") == "failed" or d.get("approve") is False or '_code": 1' in json.dumps(d)
    ]
    return len(calls) + len(asked), len(results), len(failed)


def langchain(value: Any) -> Counts:
    """LangChain: by distinct call ids, wherever they stand."""
    lists = [d[key] for d in dicts(value) for key in ("tool_calls", "invalid_tool_calls") if d.get(key)]
    results = [d for d in dicts(value) if "tool_call_id" in d]
    failed = [d for d in results if d.get("status") == "error"]
    return len({call["id"] for calls in lists for call in calls}), len(results), len(failed)


def gemini(value: Any) -> Counts:
    """Gemini: by the keys of parts, in either case."""
    keys = [(key.replace("_", "").lower(), d[key]) for d in dicts(value) for key in d]
    calls = [k for k, v in keys if k in ("functioncall", "toolcall", "executablecode")]
    results = [v for k, v in keys if k in ("functionresponse", "toolresponse", "codeexecutionresult")]
    failed = [v for v in results if "FAILED" in str(v.get("outcome")) or "error" in (v.get("response") or {})]
    return len(calls), len(results), len(failed)


def autogen(value: Any) -> Counts:
    """AutoGen: by distinct ids of calls and results, and one for each piece of code."""
    calls = {d["id"] for d in dicts(value) if "arguments" in d and "id" in d}
    results = {d["call_id"]: d.get("is_error") for d in dicts(value) if "call_id" in d}
    code = [d for d in dicts(value) if "code_blocks" in d]
    ran = [d for d in dicts(value) if "exit_code" in d]
    failed = sum(bool(told) for told in results.values()) + sum(d["exit_code"] != 0 for d in ran)
    return len(calls) + len(code), len(results) + len(ran), failed


def openai(value: Any) -> Counts:
    """Chat messages: by ``tool_calls``, results by their role; AutoGen joins several in ``tool_responses``."""
    calls = [call for d in dicts(value) for call in d.get("tool_calls") or []]
    results = [d for d in dicts(value) if d.get("role") == "tool" and "tool_responses" not in d]
    return len(calls), len(results), sum(d.get("error") is True for d in results)


def bedrock(value: Any) -> Counts:
    """Bedrock: by the keys of parts."""
    results = [d["toolResult"] for d in dicts(value) if "toolResult" in d]
    failed = [result for result in results if result["status"] == "error"]
    return sum("toolUse" in d for d in dicts(value)), len(results), len(failed)


def ai_sdk(value: Any) -> Counts:
    """AI SDK: by call ids; a part of the user interface with an output is a call and its result."""
    parts = [d for d in dicts(value) if "toolCallId" in d]
    results = [d for d in parts if "output" in d or "errorText" in d]
    failed = [d for d in results if "errorText" in d or "error" in str(dict(d["output"]).get("type"))]
    return len({d["toolCallId"] for d in parts}), len(results), len(failed)


def sharegpt(value: Any) -> Counts:
    """ShareGPT: by who speaks, and by tags outside of thoughts and of what is no agent's."""
    turns = [d for d in dicts(value) if "from" in d]
    calls = [json.loads(d["value"]) for d in turns if d["from"] == "function_call"]
    written = [d["value"].split("</think>")[-1] for d in turns if d["from"] == "gpt"]
    tagged = sum(text.count("<tool_call>") for text in written)
    results = sum(d["value"].count("<tool_response>") or 1 for d in turns if d["from"] in ("observation", "tool"))
    return sum(len(call) if isinstance(call, list) else 1 for call in calls) + tagged, results, 0


def tags(value: Any) -> Counts:
    """Calls and results as text: by their tags."""
    said = [(d["role"], d["content"]) for d in dicts(value) if "role" in d]
    calls = sum(text.count("</tool_call>") for role, text in said if role == "assistant")
    return calls, sum(text.count("<tool_response>") for role, text in said if role == "user"), 0


def pydantic_ai(value: Any) -> Counts:
    """Pydantic AI: by kinds of parts; a tool asks for another try where it failed."""
    kinds = [d["part_kind"] for d in dicts(value) if "part_kind" in d]
    calls, failed = sum(kind.endswith("tool-call") for kind in kinds), kinds.count("retry-prompt")
    return calls, sum(kind.endswith("tool-return") for kind in kinds) + failed, failed


def smolagents(value: Any) -> Counts:
    """smolagents: by calls of a step; what came back stands once a step."""
    acted = [d for d in dicts(value) if d.get("tool_calls")]
    failed = sum(bool(d["error"]) for d in acted)
    return sum(len(d["tool_calls"]) for d in acted), len(acted), failed


#: File, format, trajectories and steps counted by hand, and the count of its calls and results from the raw JSON.
FILES: list[tuple[str, str, int, int, Callable[[Any], Counts]]] = [
    ("anthropic_exchange.json", "anthropic_messages", 1, 15, blocks),
    ("anthropic_messages.json", "anthropic_messages", 1, 14, blocks),
    ("anthropic_batch_requests.jsonl", "anthropic_messages", 2, 2, blocks),
    ("anthropic_batch_results.jsonl", "anthropic_messages", 2, 1, blocks),
    ("responses_exchange.json", "openai_responses", 1, 32, items),
    ("responses_items.json", "openai_responses", 1, 32, items),
    ("responses_batch.jsonl", "openai_responses", 1, 1, items),
    ("completions_batch.jsonl", "openai_chat", 2, 2, openai),
    ("flat_calls.json", "openai_chat", 1, 8, openai),
    ("tau2_task.json", "tau2", 1, 7, openai),
    ("langchain_dicts.json", "langchain_messages", 1, 8, langchain),
    ("langchain_dumps.json", "langchain_messages", 1, 8, langchain),
    ("langchain_lines.jsonl", "langchain_messages", 1, 8, langchain),
    ("langgraph_state.json", "langchain_messages", 1, 8, langchain),
    ("langgraph_updates.jsonl", "langchain_messages", 1, 8, langchain),
    ("gemini_exchange.json", "gemini_contents", 1, 13, gemini),
    ("gemini_snake.json", "gemini_contents", 1, 12, gemini),
    ("gemini_contents.json", "gemini_contents", 1, 12, gemini),
    ("gemini_batch.jsonl", "gemini_contents", 2, 2, gemini),
    ("adk_session.json", "gemini_contents", 1, 4, gemini),
    ("autogen_result.json", "autogen_events", 1, 12, autogen),
    ("autogen_stream.jsonl", "autogen_events", 1, 12, autogen),
    ("autogen_state.json", "autogen_events", 1, 6, autogen),
    ("ag2_chat_result.json", "named_speakers", 1, 7, openai),
    ("named_roles.json", "named_speakers", 1, 3, openai),
    ("bedrock_exchange.json", "bedrock_converse", 1, 5, bedrock),
    ("sharegpt_calls.json", "sharegpt", 2, 9, sharegpt),
    ("sharegpt_text.jsonl", "sharegpt", 2, 12, sharegpt),
    ("text_calls.json", "openai_chat", 1, 9, tags),
    ("pydantic_ai.json", "pydantic_ai", 1, 9, pydantic_ai),
    ("smolagents_memory.json", "smolagents", 1, 10, smolagents),
    ("ai_sdk_messages.json", "ai_sdk", 1, 7, ai_sdk),
    ("ai_sdk_ui.json", "ai_sdk", 1, 6, ai_sdk),
]


def only(name: str) -> Trajectory:
    (run,) = read_trajectories(CHATS / name).trajectories
    return run


def counted(reading: Reading) -> Counts:
    steps = [step for run in reading.trajectories for step in run.steps]
    results = [step for step in steps if step.role == "tool"]
    return sum(len(step.tool_calls) for step in steps), len(results), sum(step.error is True for step in results)


def test_every_fixture_is_counted() -> None:
    assert sorted(path.name for path in CHATS.iterdir()) == sorted(name for name, *_ in FILES)


@pytest.mark.parametrize(("name", "form", "runs", "steps", "count"), FILES, ids=[file[0] for file in FILES])
def test_counts_equal_those_of_the_raw_json(
    name: str, form: str, runs: int, steps: int, count: Callable[[Any], Counts]
) -> None:
    reading = read_trajectories(CHATS / name)
    assert [file.format for file in reading.files] == [form]
    assert (len(reading.trajectories), sum(len(run.steps) for run in reading.trajectories)) == (runs, steps)
    assert counted(reading) == count(raw(name))
    assert all(step.index == place for run in reading.trajectories for place, step in enumerate(run.steps))


@pytest.mark.parametrize("name", [file[0] for file in FILES])
def test_recognised_from_content_whatever_the_name_and_layout(tmp_path: Path, name: str) -> None:
    other = tmp_path / "export"
    lines = raw(name)
    text = "\n".join(map(json.dumps, lines)) if name.endswith("l") else json.dumps(lines)
    other.write_text(text)
    assert read_trajectories(other).trajectories == read_trajectories(CHATS / name).trajectories


@pytest.mark.parametrize("name", [name for name, _, _, _, _ in FILES if name.endswith("l")])
def test_a_list_of_records_is_read_like_lines_of_them(tmp_path: Path, name: str) -> None:
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps(raw(name)))
    assert read_trajectories(listed).trajectories == read_trajectories(CHATS / name).trajectories


def test_anthropic_blocks_in_their_order() -> None:
    run = only("anthropic_exchange.json")
    assert (run.id, run.agent, run.agent_family, run.task_id) == (
        "msg_parcels",
        "claude-sonnet-4-5",
        "anthropic",
        "parcels-1",
    )
    assert (run.termination, run.policy, run.meta) == ("end_turn", "You trace parcels.", {"shift": "night"})
    assert [tool.name for tool in run.tools or ()] == ["find_parcel", "scan_label", "web_search"]
    kinds = [step.kind or step.role for step in run.steps]
    assert kinds == ["user", "thinking", "assistant", "tool", "tool", "user", *["assistant", "tool"] * 4, "assistant"]
    asks, hall, unknown = run.steps[2:5]
    assert (asks.content, [call.id for call in asks.tool_calls]) == ("I look both up.", ["toolu_1", "toolu_2"])
    assert (hall.content, hall.tool_name, hall.error) == ("hall 7\n[image]", "find_parcel", False)
    assert (unknown.content, unknown.tool_call_id, unknown.error) == ("unknown parcel", "toolu_2", True)
    assert [step.error for step in run.steps if step.tool_name == "web_search"] == [False, True]
    assert run.steps[10].tool_calls[0].name == "mcp__depot__trace"
    assert run.steps[13].content == "", "a result without content is one"


def test_a_batch_request_and_its_result_do_not_clash() -> None:
    reading = read_trajectories(CHATS / "anthropic_batch_requests.jsonl", CHATS / "anthropic_batch_results.jsonl")
    first, second, answer, failure = reading.trajectories
    assert (first.id, second.id, answer.id) == ("p1", "p2", "msg_p1")
    assert (answer.task_id, failure.task_id, failure.termination, failure.steps) == ("p1", "p2", "errored", ())


def test_responses_items_in_their_order() -> None:
    run = only("responses_exchange.json")
    assert (run.id, run.agent, run.termination, run.policy) == (
        "resp_1",
        "gpt-5-2025-08-07",
        "completed",
        "You trace parcels.",
    )
    names = [call.name for step in run.steps for call in step.tool_calls]
    assert names[:2] + names[10:12] == ["find_parcel", "note", "mcp__depot__trace", "mcp__depot__erase"]
    assert set(names) <= {tool.name for tool in run.tools or ()}
    by_name = {step.tool_name: step for step in run.steps if step.role == "tool"}
    assert by_name["shell"].content == "P-11\nexit code 1\nno"
    assert {name for name, step in by_name.items() if step.error} == {
        "shell",
        "apply_patch",
        "code_interpreter",
        "mcp__depot__erase",
    }
    (code,) = (call for step in run.steps for call in step.tool_calls if call.name == "code_interpreter")
    assert code.arguments == {"code": "1/0"}, "the container was not the model's to choose"


@pytest.mark.parametrize(("side", "key"), [("request", "input"), ("response", "output")])
def test_an_item_that_is_none_is_named_on_its_side_of_the_exchange(tmp_path: Path, side: str, key: str) -> None:
    told = json.loads((CHATS / "responses_exchange.json").read_text())
    told[side][key] = [5]
    (tmp_path / "x.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match=rf"x\.json, {side}\.{key}\[0\]"):
        read_trajectories(tmp_path / "x.json")


def test_what_the_openai_package_knows_as_items_is_known_here() -> None:
    from typing import get_args

    from openai.types.responses import ResponseInputItem, ResponseItem, ResponseOutputItem

    from axisjudge.readers.chats.response_items import ITEMS

    def types(union: Any) -> Iterator[str]:
        if fields := getattr(union, "model_fields", None):
            words = fields["type"].annotation
            yield from (
                word for inner in (words, *get_args(words)) for word in get_args(inner) if isinstance(word, str)
            )
        else:
            for inner in get_args(union):
                yield from types(inner)

    known = {kind for union in (ResponseItem, ResponseInputItem, ResponseOutputItem) for kind in types(union)}
    assert len(known) > 25
    assert known - ITEMS == {"message"}


@pytest.mark.slow  # the package alone takes seconds to import
def test_what_the_anthropic_package_knows_as_blocks_is_read() -> None:
    from typing import get_args, get_type_hints

    from anthropic.types import ContentBlock, ContentBlockParam
    from anthropic.types.beta import BetaContentBlock, BetaContentBlockParam

    from axisjudge.readers.chats.parts import parts_of

    def types(union: Any) -> Iterator[str]:
        if fields := getattr(union, "model_fields", None):
            yield from get_args(fields["type"].annotation)
        elif "type" in getattr(union, "__annotations__", {}):
            yield from get_args(get_args(get_type_hints(union, include_extras=True)["type"])[0])
        else:
            for inner in get_args(union):
                yield from types(inner)

    unions = (ContentBlock, ContentBlockParam, BetaContentBlock, BetaContentBlockParam)
    known = {kind for union in unions for kind in types(union)} - {"text"}
    assert {"tool_use", "mcp_tool_result", "web_fetch_tool_result", "container_upload"} <= known
    for kind in known:
        expected = "call" if kind.endswith("tool_use") else "result" if kind.endswith("tool_result") else None
        answers = {"tool_use_id": "i"} if expected == "result" else {}
        parts = parts_of([{"type": kind, "id": "i", "name": "n", "thinking": "t", **answers}], "", [])
        assert [part.kind for part in parts if part.kind in ("call", "result")] == ([expected] if expected else [])


def test_a_run_of_two_models_names_both_and_a_run_of_one_none_beside_its_agent(tmp_path: Path) -> None:
    def said(number: int, model: str) -> dict[str, Any]:
        return {"type": "ai", "data": {"content": f"Part {number}.", "response_metadata": {"model_name": model}}}

    asked = {"type": "human", "data": {"content": "Where is P-11?"}}
    for models in (["gpt-5", "gpt-5"], ["gpt-5", "claude-sonnet-4-5"]):
        file = tmp_path / f"{models[1]}.json"
        file.write_text(json.dumps([asked, *(said(number, model) for number, model in enumerate(models))]))
        (run,) = read_trajectories(file).trajectories
        assert run.meta.get("models") == (models if len(set(models)) > 1 else None)


def test_three_forms_of_langchain_are_one_conversation() -> None:
    first, *others = (
        only(name).steps for name in ("langchain_dicts.json", "langchain_dumps.json", "langgraph_state.json")
    )
    assert all(steps == first for steps in others)
    both, result, failed = first[2:5]
    assert (both.content, both.agent) == ("I look both up.", "tracer")
    assert [(call.name, call.arguments_error) for call in both.tool_calls] == [
        ("find_parcel", None),
        ("find_parcel", "cut off"),
    ]
    assert (result.error, failed.error, first[6].error) == (False, True, None)
    assert first[6].content == "hall 7\nshelf 3"


def test_both_cases_of_gemini_are_one_conversation() -> None:
    camel, snake = only("gemini_exchange.json"), only("gemini_snake.json")
    assert camel.steps[:-1] == snake.steps == only("gemini_contents.json").steps
    assert (camel.agent, camel.agent_family, camel.termination, camel.policy) == (
        "gemini-2.5-pro",
        "google",
        "STOP",
        "You trace parcels.",
    )
    assert camel.tools == snake.tools
    assert [tool.name for tool in camel.tools or ()] == ["find_parcel", "code_execution", "google_search"]
    assert (camel.tools or ())[0].parameters["properties"] == {"parcel_id": {"type": "string"}}
    assert [step.content for step in camel.steps if step.error] == ["unknown parcel", "ZeroDivisionError"]


def test_each_candidate_ends_a_run_of_its_own(tmp_path: Path) -> None:
    answers = [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"} for text in "ab"]
    value = {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}], "candidates": answers, "responseId": "r"}
    (tmp_path / "x.json").write_text(json.dumps(value))
    runs = read_trajectories(tmp_path / "x.json").trajectories
    assert [(run.id, run.steps[-1].content) for run in runs] == [("r/0", "a"), ("r/1", "b")]


def test_autogen_names_who_took_each_step() -> None:
    run = only("autogen_result.json")
    assert [(step.role, step.agent) for step in run.steps] == [
        ("user", "user"),
        ("assistant", "planner"),
        ("assistant", "tracer"),
        ("assistant", "tracer"),
        ("tool", "tracer"),
        ("tool", "tracer"),
        ("assistant", "tracer"),
        ("assistant", "coder"),
        ("tool", "coder"),
        ("user", "human_proxy"),
        ("assistant", "planner"),
        ("assistant", "planner"),
    ]
    assert run.steps[2].kind == "thinking"
    assert run.meta["agents"] == ["coder", "planner", "tracer"]
    assert run.steps == only("autogen_stream.jsonl").steps


def test_ag2_roles_are_those_of_the_speakers_not_of_the_side_that_kept_the_history() -> None:
    run = only("ag2_chat_result.json")
    assert [(step.role, step.agent) for step in run.steps] == [
        ("user", "user_proxy"),
        ("assistant", "planner"),
        ("assistant", "tracer"),
        ("tool", "user_proxy"),
        ("tool", "user_proxy"),
        ("assistant", "tracer"),
        ("assistant", "planner"),
    ]
    assert [step.tool_call_id for step in run.steps[3:5]] == ["c1", "c2"]


def test_roles_that_fit_the_names_are_believed(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "name": "ann", "content": "Where is P-11?"},
        {"role": "user", "name": "bob", "content": "And P-12?"},
        {"role": "assistant", "name": "clerk", "content": "Hall 7."},
    ]
    (tmp_path / "x.json").write_text(json.dumps(chat))
    reading = read_trajectories(tmp_path / "x.json")
    assert [step.role for step in reading.trajectories[0].steps] == ["user", "user", "assistant"]
    assert reading.warnings == ()


def test_a_judge_sees_who_spoke_and_other_prompts_stay() -> None:
    from axisjudge.judges.prompt import shared_prefix

    text = shared_prefix(only("autogen_result.json")).text
    assert 'assistant "planner"' in text
    assert 'assistant "tracer", thinking to itself' in text
    plain = only("flat_calls.json")
    assert "agent" not in plain.model_dump()["steps"][0], "so that hashes of runs without speakers stay"


def test_flat_calls_and_tau2_files_per_task_say_the_same() -> None:
    flat, task = only("flat_calls.json"), only("tau2_task.json")
    told = [(step.role, step.content, step.tool_calls, step.tool_call_id, step.error) for step in flat.steps[1:]]
    assert told[:2] == [(s.role, s.content, s.tool_calls, s.tool_call_id, s.error) for s in task.steps][:2]
    assert [step.error for step in flat.steps if step.role == "tool"] == [False, True, False]
    assert [call.requestor for step in flat.steps for call in step.tool_calls] == ["assistant", "assistant", "user"]
    assert (task.id, task.task_id, task.domain, task.reward, task.termination) == (
        "sim-4",
        "4",
        "parcels",
        1.0,
        "user_stop",
    )


def test_openai_messages_one_a_line_are_one_conversation(tmp_path: Path) -> None:
    flat = raw("flat_calls.json")
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, flat)))
    (run,) = read_trajectories(tmp_path / "x.jsonl").trajectories
    assert run.steps == only("flat_calls.json").steps


def test_the_system_text_beside_a_sharegpt_conversation_is_its_policy(tmp_path: Path) -> None:
    said = [{"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hello."}]
    path = tmp_path / "x.jsonl"
    texts = {"a": "Be brief.", "b": None}
    path.write_text("\n".join(json.dumps({"id": n, "conversations": said, "system": t}) for n, t in texts.items()))
    assert {run.id: run.policy for run in read_trajectories(path).trajectories} == texts


def test_a_list_of_lists_is_one_conversation_each(tmp_path: Path) -> None:
    flat, lang = raw("flat_calls.json"), raw("langchain_dicts.json")
    (tmp_path / "x.json").write_text(json.dumps([flat, lang]))
    reading = read_trajectories(tmp_path / "x.json")
    assert [run.source for run in reading.trajectories] == ["openai_chat", "langchain_messages"]


def test_rules_judge_a_file_of_every_format(tmp_path: Path) -> None:
    """By the command, on all fixtures in one folder; runs that two fixtures tell alike count once."""
    from typer.testing import CliRunner

    from axisjudge.cli import app

    out = tmp_path / "ratings.jsonl"
    done = CliRunner().invoke(app, ["judge", str(CHATS), "--judge", "rules", "--out", str(out)])
    assert done.exit_code == 0, done.output
    rated = {json.loads(line)["trajectory_id"] for line in out.read_text().splitlines()}
    assert rated == {run.id for run in read_trajectories(CHATS).trajectories}
    assert len(rated) > 20
