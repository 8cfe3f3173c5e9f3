"""The end-task reward, computed as a benchmark does: records against the goal's records, and what had to be told."""

from __future__ import annotations

import json
from typing import Any

from generator.catalogue import Record
from generator.conversation import Run
from generator.shop import Shop
from generator.tasks import Task
from generator.toolset import TOOLS
from generator.world import World


def goal_records(world: World, task: Task) -> Record:
    """The records after the goal's actions and nothing else."""
    shop = Shop(world.records(), world.today)
    for name, arguments in task.goal:
        content, error = shop.run(name, arguments)
        assert not error, f"{task.task_id}: {name} {arguments}: {content}"
    return shop.records


def reward_info(world: World, run: Run, termination: str) -> Record:
    """tau2's reward block of a run."""
    same = run.shop.records == goal_records(world, run.task)
    spoken = " ".join(m["content"] or "" for m in run.messages if m["role"] == "assistant")
    checks = [
        {"info": words, "met": words in spoken, "justification": "" if words in spoken else "not said by the agent"}
        for words in run.task.told
    ]
    told = all(check["met"] for check in checks)
    ended_well = termination == "user_stop"
    calls = [call for message in run.messages for call in message.get("tool_calls") or []]
    return {
        "reward": float(same and told and ended_well),
        "db_check": {"db_match": same, "db_reward": float(same)},
        "env_assertions": [],
        "action_checks": [_action_check(action, calls) for action in goal_actions(run.task)],
        "nl_assertions": None,
        "communicate_checks": checks,
        "reward_basis": ["DB", "COMMUNICATE"],
        "reward_breakdown": {"DB": float(same), "COMMUNICATE": float(told)},
        "info": None
        if ended_well
        else {"note": f"Simulation terminated prematurely. Termination reason: {termination}"},
    }


def goal_actions(task: Task) -> list[Record]:
    return [
        {
            "action_id": f"{task.task_id}_{number}",
            "requestor": "assistant",
            "name": name,
            "arguments": arguments,
            "info": None,
            "compare_args": [] if name == "hand_over" else None,
        }
        for number, (name, arguments) in enumerate(task.goal)
    ]


def _action_check(action: Record, calls: list[Record]) -> Record:
    def same(call: Record) -> bool:
        if call["name"] != action["name"]:
            return False
        return action["compare_args"] == [] or _plain(call["arguments"]) == _plain(action["arguments"])

    match = any(same(call) for call in calls)
    kind = TOOLS[action["name"]][0]
    return {"action": action, "action_match": match, "action_reward": float(match), "tool_type": kind}


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
