"""Results of benchmarks: tau-bench's first version and AgentRx's variant of it, BFCL, ToolBench and StableToolBench.

Of a tree that ToolBench searched every call that was tried is read, in the order of the search, as one run.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers import messages as chat
from axisjudge.readers.chats.call_forms import python_calls
from axisjudge.readers.chats.parts import (
    Conversation,
    chat_steps,
    is_record_or_list,
    list_of_objects,
    records_in,
    schemas,
)
from axisjudge.readers.events import NO_STEP, as_text, dict_of, listed, text_at
from axisjudge.readers.expectations import tau_bench_expectations
from axisjudge.trajectory import Trajectory


def _is_tau(value: Any) -> bool:
    return is_record_or_list(value, lambda first: {"traj", "task_id"} <= first.keys())


def _is_agentrx(value: Any) -> bool:
    return is_record_or_list(value, lambda first: {"traj", "task_id", "records"} <= first.keys())


def _read_tau(value: Any, where: str, source: str) -> Iterator[chat.ReadRun]:
    """The runs of a tau-bench results file: it names no agent, domain or id. AgentRx's messages are numbered."""
    for position, run in records_in(value, where):
        notes: list[chat.Note] = []
        steps = chat_steps(chat.objects(run.get("traj"), chat.at(position, "traj")), chat.at(position, "traj"), notes)
        details = chat.field(run, "info", dict, position, {})
        task_id, trial = chat.word(run.get("task_id")), chat.word(run.get("trial"))
        trajectory = chat.made(
            Trajectory,
            position,
            id=chat.content_id(steps, task_id, trial),
            source=source,
            task_id=task_id,
            reward=chat.reward_of(run.get("reward"), chat.at(position, "reward")),
            termination="error" if "error" in details else None,
            steps=steps,
            meta=_tau_meta(run, details),
        )
        yield chat.ReadRun(position, trajectory, tuple(notes))


def _tau_meta(run: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    judged = details.get("reward_info")
    breakdown = judged.get("info") if isinstance(judged, dict) else None
    known = {"trial": run.get("trial"), "reward_breakdown": breakdown, "error": details.get("error")}
    known["expected"] = tau_bench_expectations(run)
    return {key: value for key, value in known.items() if value is not None}


# BFCL, the Berkeley Function Calling Leaderboard: lines of its result files, with the inference log where there is one


def _is_bfcl(value: Any) -> bool:
    return is_record_or_list(value, lambda first: {"id", "result", "latency", "input_token_count"} <= first.keys())


def _read_bfcl(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """Each line a run; only multi-turn runs have an inference log, so that others lack the question and the results."""
    for path, record in records_in(value, where):
        name = str(record["id"])
        steps = Conversation("bfcl", path, {"id": name, "task_id": name})
        if thought := record.get("reasoning_content"):
            steps.notes.append(chat.Note(path, "reasoning is left out", f"of {len(listed(thought))} turns"))
        log = record.get("inference_log")
        turns = (
            [turn for turn in log if isinstance(turn, dict) and "begin_of_turn_query" in turn]
            if isinstance(log, list)
            else []
        )
        for turn in turns:
            _add_logged(steps, turn, chat.at(path, "inference_log"))
        if not turns:
            for answer in _answers(record["result"]):
                _add_answer(steps, answer, None, path)
        usage = ("input_token_count", "output_token_count")
        totals = {key.replace("_count", "s"): _sum(record.get(key)) for key in usage}
        yield steps.finish(meta={"usage": totals})


def _answers(result: Any) -> Iterator[Any]:
    """The answers of the model, each a text or a list of calls, out of turns and their steps."""
    calls = list_of_objects(result)
    if isinstance(result, list) and not calls:
        for inner in result:
            yield from _answers(inner)
    else:
        yield result


def _add_logged(steps: Conversation, turn: dict[str, Any], where: str) -> None:
    for message in chat.members(turn, "begin_of_turn_query", where):
        steps.text("system" if message.get("role") == "system" else "user", as_text(message.get("content")), None)
    for name, logged in turn.items():
        if name == "begin_of_turn_query":
            continue
        messages = chat.objects(logged, chat.at(where, name))
        decoded = next((m["model_response_decoded"] for m in messages if m.get("model_response_decoded")), None)
        for message in messages:
            role = message.get("role")
            if role == "assistant":
                _add_answer(steps, message.get("content"), decoded, chat.at(where, name))
            elif role == "tool":
                content = as_text(message.get("content"))
                failed = isinstance(given := chat.arguments_of(content)[0], dict) and set(given) == {"error"}
                steps.result(None, content, None, error=failed)
            elif role not in ("handler_log", "state_info") and chat.carries_call(message):
                raise chat.Unread(chat.at(where, name), message)
            else:
                steps.notes.append(chat.Note(chat.at(where, name), NO_STEP, str(role)))


def _add_answer(steps: Conversation, answer: Any, decoded: Any, where: str) -> None:
    """One answer: calls as the API gave them, or written as Python, which BFCL decodes; else text."""
    begun = f"{where} {len(steps)}"
    written = (
        "\n".join(decoded) if isinstance(decoded, list) and all(isinstance(each, str) for each in decoded) else answer
    )
    if calls := list_of_objects(answer):
        for call in calls:
            for name, given in call.items():
                steps.call(chat.call_of(where, name, given), None, message=begun)
        return
    calls_in_text = python_calls(written) if isinstance(written, str) else []
    if not calls_in_text or written != answer:
        steps.text("assistant", as_text(answer), None, message=begun)
    for name, placed, named in calls_in_text:
        given = named | {f"argument_{n}": value for n, value in enumerate(placed, 1)}
        steps.call(chat.call_of(where, name, given), None, message=begun)


def _sum(counts: Any) -> int:
    return sum(map(_sum, counts)) if isinstance(counts, list) else int(counts) if type(counts) in (int, float) else 0


# ToolBench: a tree or chain of nodes a file; StableToolBench and ToolEval: answers by query id


def _is_toolbench(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("answer_generation"), dict) and ("tree" in value or "trys" in value):
        return True
    first = next(iter(value.values()), None)
    return isinstance(first, dict) and isinstance(dict_of(first, "answer").get("answer_details"), list)


def _read_toolbench(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    if "answer_generation" in value:
        yield _searched(value, where)
        return
    for name, record in value.items():
        answer, path = (
            chat.field(record, "answer", dict, chat.at(where, name)),
            chat.at(where, name, "answer", "answer_details"),
        )
        steps = Conversation(
            "toolbench", chat.at(where, name), {"task_id": str(name), "agent": text_at(answer, "method")}
        )
        for node in chat.objects(answer["answer_details"], path):
            _add_detail(steps, node, path)
        tools = [(path, dict_of(tool, "function") or tool) for tool in list_of_objects(record.get("available_tools"))]
        yield steps.finish(tools=schemas(tools, steps.notes, path) if tools else None)


def _add_detail(steps: Conversation, node: dict[str, Any], where: str) -> None:
    """A node of a converted answer and those after it."""
    role, message = node.get("role"), node.get("message")
    if role == "tool":
        record = _object(message)
        if not isinstance(record, dict) or "name" not in record:
            raise chat.Unread(where, message, rule="a call is cut off, or is no record of one")
        _add_call(steps, str(record["name"]), record.get("arguments"), record.get("response"), where)
    elif role in ("system", "user", "assistant"):
        if message or role != "assistant":
            steps.text(role, as_text(message), None)
    else:
        raise chat.Unread(where, role)
    for following in chat.members(node, "next", where):
        _add_detail(steps, following, where)


def _object(text: Any) -> Any:
    """What JSON or Python's own notation stands for."""
    if not isinstance(text, str):
        return text
    given, problem = chat.arguments_of(text)
    try:
        return ast.literal_eval(text) if problem else given
    except (ValueError, SyntaxError):
        return text


def _searched(value: dict[str, Any], where: str) -> chat.ReadRun:
    answer = value["answer_generation"]
    outcome = float(value["win"]) if isinstance(value.get("win"), bool) else None
    about = {"reward": outcome, "termination": text_at(answer, "finish_type")}
    steps = Conversation("toolbench", where, about)
    steps.text("user", as_text(answer.get("query")), None)
    tree = dict_of(dict_of(value, "tree"), "tree")
    if tree:
        _walk(steps, tree, None, chat.at(where, "tree", "tree"))
    for number, attempt in enumerate(chat.members(value, "trys", where)):
        path, name = chat.at(where, "trys", number, "chain"), None
        for node in chat.members(attempt, "chain", chat.at(where, "trys", number)):
            name = _add_node(steps, node, name, path)
    tools = [
        (chat.at(where, "answer_generation", "function"), tool) for tool in list_of_objects(answer.get("function"))
    ]
    return steps.finish(tools=schemas(tools, steps.notes, where) if tools else None)


def _walk(steps: Conversation, node: dict[str, Any], name: str | None, where: str) -> None:
    """A node of a tree and those below it, in the order in which they were tried."""
    name = _add_node(steps, node, name, where)
    below = chat.members(node, "children", where)
    for number, child in enumerate(below):
        _walk(steps, child, name, chat.at(where, "children", number))
    if node.get("node_type") == "Action" and not below and name:
        steps.call(chat.call_of(where, name, None), None)


def _add_node(steps: Conversation, node: dict[str, Any], name: str | None, where: str) -> str | None:
    """One node; the name of the tool that the next one gives its input."""
    kind, text = text_at(node, "node_type"), as_text(node.get("description"))
    if kind == "Action":
        return text
    if kind == "Thought":
        steps.text("assistant", text, None)
    elif kind == "Action Input" and name:
        _add_call(steps, name, text, node.get("observation"), where)
    elif kind != "Action Input" or text:
        raise chat.Unread(where, kind)
    return None


def _add_call(steps: Conversation, name: str, given: Any, answer: Any, where: str) -> None:
    steps.call(chat.call_of(where, name, given), None)
    if answer not in (None, ""):
        stated = _object(answer)
        failed = bool(stated["error"]) if isinstance(stated, dict) and "error" in stated else None
        steps.result(None, as_text(answer), None, error=failed, name=name)


AGENTRX = chat.ValueFormat("agentrx", _is_agentrx, lambda value, where, folder: _read_tau(value, where, "agentrx"))
TAU_BENCH = chat.ValueFormat("tau_bench", _is_tau, lambda value, where, folder: _read_tau(value, where, "tau_bench"))
BENCHMARKS = (
    AGENTRX,
    TAU_BENCH,
    chat.ValueFormat("bfcl", _is_bfcl, _read_bfcl),
    chat.ValueFormat("toolbench", _is_toolbench, _read_toolbench),
)
