"""tau2-bench: a results file (older and v1.0), its directory form, single simulations, and one file per task.

A results file holds ``info``, ``tasks`` and ``simulations``. In the directory form ``results.json`` holds all but the
simulations, which stand one a file in ``simulations/`` beside it. A file per task, as its forks publish them for
viewers, holds ``task``, ``run_info``, ``reward_info`` and ``messages``.

Schema: https://github.com/sierra-research/tau2-bench, src/tau2/data_model/simulation.py and message.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers import messages as chat
from axisjudge.readers.chats.parts import chat_steps
from axisjudge.readers.expectations import tau2_expectations
from axisjudge.readers.source import json_values, opened
from axisjudge.trajectory import ToolSchema, Trajectory

FORMAT = "tau2"
_KEPT_AS_META = ("trial", "seed", "duration", "agent_cost", "user_cost", "mode")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a tau2 results file, the index of its directory form, a task's file, or simulations."""
    if isinstance(value, list):
        return bool(value) and (_is_simulation(value[0]) or _is_of_task(value[0]))
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("info"), dict) and "tasks" in value:
        return "simulations" in value or "simulation_index" in value or "environment_info" in value["info"]
    return _is_simulation(value) or _is_of_task(value)


def _is_simulation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"task_id", "termination_reason"} <= value.keys()
        and ("messages" in value or "ticks" in value)
    )


def _is_of_task(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"task_id", "messages"} <= value.keys()
        and any(isinstance(value.get(key), dict) for key in ("run_info", "reward_info"))
    )


def read(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The simulations of a results file, in the directory form those of the files in ``simulations/``.

    Calls by the user simulator keep ``requestor="user"``.
    """
    if isinstance(value, list):
        for number, one in enumerate(chat.objects(value, where)):
            yield from read(one, chat.at(where, number), folder)
        return
    if not isinstance(value.get("info"), dict) or "tasks" not in value:
        yield _run_of(value, {}, where) if _is_simulation(value) else _of_task(value, where)
        return
    run = chat.field(value, "info", dict, where)
    run = {**run, "tasks": value["tasks"]}
    if "simulations" in value:
        path = chat.at(where, "simulations")
        for number, simulation in enumerate(chat.objects(value["simulations"], path)):
            yield _run_of(simulation, run, chat.at(path, number))
    else:
        yield from _from_directory(value, run, where, folder / "simulations")


def _from_directory(value: dict[str, Any], run: dict[str, Any], where: str, folder: Path) -> Iterator[chat.ReadRun]:
    listed = [str(entry.get("id")) for entry in chat.members(value, "simulation_index", where)]
    files = sorted(file for file in folder.glob("*.json*") if file.is_file())
    if not files and listed:
        rule = f"lists {len(listed)} simulations, and simulations/ beside it has none"
        raise InputError(where, rule, cure="copy them")
    seen = set()
    for file in files:
        read = _from_file(file, run)
        identity = read.trajectory.id if read.trajectory else file.stem
        seen.add(identity)
        if listed and identity not in listed:
            note = chat.Note("", "a simulation that results.json does not list", identity)
            read = read._replace(notes=(*read.notes, note))
        yield read
    for absent in (name for name in listed if name not in seen):
        yield chat.ReadRun(where, None, (chat.Note(where, "a listed simulation has no file", absent),))


def _from_file(file: Path, run: dict[str, Any]) -> chat.ReadRun:
    try:
        with opened(file) as stream:
            (_, simulation), *_ = json_values(stream)
        if not recognise(simulation) or "termination_reason" not in simulation:
            raise InputError("", "must hold one tau2 simulation")
        return _run_of(simulation, run, "")._replace(file=file)
    except InputError as error:
        raise error.inside(f"simulations/{file.name}") from error


def _of_task(value: dict[str, Any], where: str) -> chat.ReadRun:
    """The run of a task's file, whose ``run_info`` holds what a simulation says of itself."""
    run = chat.field(value, "run_info", dict, where, {})
    scenario = chat.field(chat.field(value, "task", dict, where, {}), "user_scenario", dict, chat.at(where, "task"), {})
    instructions = scenario.get("instructions")
    domain = value.get("domain") or (instructions.get("domain") if isinstance(instructions, dict) else None)
    simulation = {**run, "duration": run.get("duration_sec", run.get("duration")), **value}
    named = chat.word(value.get("id") or run.get("simulation_id") or run.get("id"))
    environment = {"environment_info": {"domain_name": domain}, "tasks": [value.get("task")]}
    read = _run_of({**simulation, "id": named or "unnamed"}, environment, where)
    if named is None and read.trajectory:
        own = chat.content_id(read.trajectory.steps, value["task_id"], value.get("trial"))
        read = read._replace(trajectory=read.trajectory.model_copy(update={"id": own}))
    return read


def _run_of(simulation: dict[str, Any], run: dict[str, Any], where: str) -> chat.ReadRun:
    if simulation.get("messages") is None and simulation.get("ticks"):
        raise InputError(where, "is a voice run kept as ticks", cure="export it with its messages; only those are read")
    notes: list[chat.Note] = []
    environment = chat.field(run, "environment_info", dict, "info", {})
    agent = chat.field(run, "agent_info", dict, "info", {})
    judged = chat.field(simulation, "reward_info", dict, where, {})
    kept = {key: simulation.get(key) for key in _KEPT_AS_META}
    kept |= {"reward_basis": judged.get("reward_basis"), "reward_breakdown": judged.get("reward_breakdown")}
    kept["expected"] = tau2_expectations(simulation, run.get("tasks"))
    trajectory = chat.made(
        Trajectory,
        where,
        id=chat.field(simulation, "id", str, where),
        source=FORMAT,
        agent=agent.get("llm"),
        agent_family=chat.word(chat.field(agent, "llm_args", dict, "info.agent_info", {}).get("family")),
        task_id=chat.word(simulation.get("task_id")),
        domain=environment.get("domain_name"),
        reward=chat.reward_of(judged.get("reward"), chat.at(where, "reward_info.reward")),
        termination=simulation.get("termination_reason"),
        steps=chat_steps(chat.members(simulation, "messages", where), chat.at(where, "messages"), notes),
        tools=_tools(environment.get("tool_defs")),
        policy=simulation.get("policy") or environment.get("policy"),
        meta={key: value for key, value in kept.items() if value is not None},
    )
    return chat.ReadRun(where, trajectory, tuple(notes))


def _tools(definitions: Any) -> tuple[ToolSchema, ...] | None:
    if definitions is None:
        return None
    path = "info.environment_info.tool_defs"
    records = chat.objects(list(definitions.values()) if isinstance(definitions, dict) else definitions, path)
    return tuple(chat.tool_schema(record, chat.at(path, number)) for number, record in enumerate(records))
