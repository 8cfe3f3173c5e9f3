"""The files of the demo: tau2 results per agent, and the planted truth as ratings."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from generator.agents import AGENTS, Agent
from generator.assignment import assign
from generator.catalogue import Record
from generator.conversation import MAX_STEPS, Run
from generator.dice import Dice
from generator.kinds import AXES, ENDING, READING
from generator.play import play
from generator.policy import policy_text
from generator.reward import goal_actions, reward_info
from generator.shop import Shop
from generator.tasks import Task, build_tasks
from generator.toolset import tool_definitions
from generator.world import World

DOMAIN = "cycleshop"


def build(seed: int) -> dict[str, Any]:
    """File name -> content (JSON values, or a list of rating lines for ``planted.jsonl``)."""
    world, tasks = build_tasks(seed)
    results: dict[str, Any] = {}
    ratings: list[Record] = []
    for agent in AGENTS:
        plan = assign(agent, tasks, Dice(seed, agent.name, "assignment"))
        simulations = []
        for number, task in enumerate(tasks):
            run, termination = simulate(world, task, agent, seed, number, plan.get(task.task_id, []))
            simulation = simulation_record(world, run, termination, seed, number)
            simulations.append(simulation)
            ratings += planted_ratings(run, simulation["id"])
        results[f"results/{agent.name}.json"] = results_file(world, tasks, agent, seed, simulations)
    results["planted.jsonl"] = ratings
    return results


def simulate(world: World, task: Task, agent: Agent, seed: int, number: int, plan: list[str]) -> tuple[Run, str]:
    """Play one run and make sure that what was planned was planted."""
    start = datetime.fromisoformat(world.today) + timedelta(
        hours=8, minutes=17 * number, seconds=AGENTS.index(agent) * 71
    )
    dice = Dice(seed, task.task_id, agent.name)
    run = Run(Shop(world.records(), world.today), task, agent, dice, start, list(plan))
    termination = play(run)
    planted = {p.flag.removeprefix("fault:") for p in run.planted if p.flag.startswith("fault:")}
    assert planted == set(plan), f"{task.task_id} {agent.name}: planned {plan}, planted {planted}"
    for request in task.requests:  # what a run decided about a request ends with the run
        for decided in ("in_advance", "asks_reason", "disputes"):
            request.facts.pop(decided, None)
    return run, termination


def simulation_record(world: World, run: Run, termination: str, seed: int, number: int) -> Record:
    start = run.messages[0]["timestamp"] if run.messages else run.clock.isoformat(timespec="microseconds")
    end = run.clock.isoformat(timespec="microseconds")
    return {
        "id": f"{run.task.task_id}-{run.agent.name}",
        "task_id": run.task.task_id,
        "timestamp": end,
        "start_time": start,
        "end_time": end,
        "duration": round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3),
        "termination_reason": termination,
        "agent_cost": None,
        "user_cost": None,
        "reward_info": reward_info(world, run, termination),
        "messages": run.messages,
        "trial": 0,
        "seed": seed * 1000 + number,
    }


def results_file(world: World, tasks: list[Task], agent: Agent, seed: int, simulations: list[Record]) -> Record:
    return {
        "timestamp": simulations[-1]["end_time"],
        "info": {
            "git_commit": "none",
            "num_trials": 1,
            "max_steps": MAX_STEPS,
            "max_errors": 10,
            "user_info": {
                "implementation": "scripted_user",
                "llm": None,
                "llm_args": None,
                "global_simulation_guidelines": None,
            },
            "agent_info": {"implementation": "scripted_agent", "llm": agent.name, "llm_args": {"family": agent.family}},
            "environment_info": {
                "domain_name": DOMAIN,
                "policy": policy_text(world.today),
                "tool_defs": tool_definitions(),
            },
            "seed": seed,
        },
        "tasks": [task_record(task) for task in tasks],
        "simulations": simulations,
    }


def task_record(task: Task) -> Record:
    return {
        "id": task.task_id,
        "description": {"purpose": "; ".join(request.kind for request in task.requests), "relevant_policies": None},
        "user_scenario": {
            "persona": task.persona,
            "instructions": {
                "domain": DOMAIN,
                "reason_for_call": "; then ".join(request.wish for request in task.requests),
                "known_info": f"You are {task.customer['name']}, {task.customer['email']}, "
                f"postcode {task.customer['address']['postcode']}.",
                "unknown_info": None,
                "task_instructions": f"You write in a {task.persona} manner.",
            },
        },
        "ticket": None,
        "initial_state": None,
        "evaluation_criteria": {
            "actions": goal_actions(task),
            "env_assertions": None,
            "communicate_info": task.told,
            "nl_assertions": None,
            "reward_basis": ["DB", "COMMUNICATE"],
        },
    }


CLEAN = {
    "tool_selection": "Each wish was met with the tool that is made for it.",
    "argument_validity": "All arguments are well formed and come from the customer or from results.",
    "sequencing": "The customer was identified, the records were read, and changes came after a yes.",
    "result_interpretation": "What was told agrees with the results and the rules.",
    "termination": "The conversation ended when everything asked for was settled.",
}


def planted_ratings(run: Run, trajectory_id: str) -> list[Record]:
    """The planted truth of a run: one rating for each axis."""
    return [_rating(run, trajectory_id, axis) for axis in AXES]


def _rating(run: Run, trajectory_id: str, axis: str) -> Record:
    faults = [p for p in run.planted if p.axis == axis and p.flag.startswith("fault:")]
    shown = faults or [p for p in run.planted if p.axis == axis]
    called = bool(run.steps_with("read", "write", "generic"))
    if shown:
        verdict, steps = ("incorrect" if faults else "correct"), sorted({step for p in shown for step in p.steps})
        rationale = " ".join(dict.fromkeys(p.rationale for p in shown))
    elif not run.messages or (not called and axis != ENDING):
        verdict, steps, rationale = "not_applicable", [], "No tool was called, so this axis has nothing to judge."
    else:
        verdict, steps, rationale = "correct", _clean_steps(run, axis), CLEAN[axis]
    flags = list(dict.fromkeys(p.flag for p in shown)) + (["compound"] if any(p.compound for p in faults) else [])
    return {
        "schema_version": 1,
        "trajectory_id": trajectory_id,
        "item_id": trajectory_id,
        "task_id": run.task.task_id,
        "cluster_id": f"{DOMAIN}/{run.task.task_id}",
        "agent": run.agent.name,
        "domain": DOMAIN,
        "question": axis,
        "scale": "verdict",
        "rater": "planted",
        "rater_kind": "planted",
        "family": "planted",
        "rater_version": "1",
        "repeat": 0,
        "status": "ok",
        "verdict": verdict,
        "cited_step_indices": steps,
        "rationale": rationale,
        "flags": flags,
    }


def _clean_steps(run: Run, axis: str) -> list[int]:
    """Where to look when nothing is wrong: the changes made, what was told after results, or the last words."""
    if axis == ENDING:
        return run.agent_steps()[-1:]
    if axis == READING:
        return run.telling_steps()[:4]
    return (run.steps_with("write") or run.steps_with("read", "generic"))[:4]


def as_bytes(name: str, content: Any) -> bytes:
    """JSON as it stands in the file: one line a record for ratings, else compact."""
    values = content if name.endswith(".jsonl") else [content]
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)
