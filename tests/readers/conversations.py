"""Tiny conversations of our own in the shapes of the formats."""

import json
from pathlib import Path
from typing import Any


def chat() -> list[dict[str, Any]]:
    """Four OpenAI chat messages: a question, a call, its result, an answer."""
    call = {"id": "c1", "type": "function", "function": {"name": "find_parcel", "arguments": '{"parcel_id": "P-11"}'}}
    return [
        {"role": "user", "content": "Where is parcel P-11?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "hall 7"},
        {"role": "assistant", "content": "In hall 7."},
    ]


def tau_bench_run(task_id: int = 3, trial: int = 0, **more: Any) -> dict[str, Any]:
    """One run of a tau-bench results file."""
    info = {"task": {"user_id": "nobody"}, "source": "user", "reward_info": {"reward": 1.0, "info": {"r_actions": 1.0}}}
    return {"task_id": task_id, "reward": 1.0, "info": info, "traj": chat(), "trial": trial, **more}


def simulation(number: int = 0, **more: Any) -> dict[str, Any]:
    """One tau2 simulation; the user simulator calls a tool of its own."""
    messages = [
        {
            "role": "assistant",
            "content": "Hello.",
            "tool_calls": None,
            "turn_idx": 0,
            "timestamp": "2026-01-01T10:00:00",
        },
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "u1", "name": "look_at_label", "arguments": {}, "requestor": "user"}],
            "turn_idx": 1,
        },
        {"role": "tool", "id": "u1", "content": "P-11", "requestor": "user", "error": False, "turn_idx": 2},
        {"role": "user", "content": "Where is P-11, and P-404?", "turn_idx": 3},
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [
                {"id": "a1", "name": "find_parcel", "arguments": {"parcel_id": "P-11"}, "requestor": "assistant"},
                {"id": "a2", "name": "find_parcel", "arguments": {"parcel_id": "P-404"}, "requestor": "assistant"},
            ],
            "turn_idx": 4,
        },
        {"role": "tool", "id": "a1", "content": "hall 7", "requestor": "assistant", "error": False, "turn_idx": 5},
        {"role": "tool", "id": "a2", "content": "unknown", "requestor": "assistant", "error": True, "turn_idx": 6},
        {"role": "assistant", "content": "Hall 7; P-404 is unknown.", "turn_idx": 7},
    ]
    return {
        "id": f"sim-{number}",
        "task_id": str(number),
        "termination_reason": "user_stop",
        "reward_info": {"reward": 0.5, "reward_basis": ["DB"], "reward_breakdown": {"DB": 0.5}},
        "messages": messages,
        "trial": 0,
        "seed": 11,
        **more,
    }


def results(*simulations: dict[str, Any], **environment: Any) -> dict[str, Any]:
    """A tau2 results file with these simulations."""
    return {
        "timestamp": "2026-01-01T10:00:00",
        "info": {
            "agent_info": {"implementation": "llm_agent", "llm": "gpt-4.1-mini"},
            "environment_info": {"domain_name": "parcels", "policy": "Be brief.", "tool_defs": None, **environment},
        },
        "tasks": [],
        "simulations": list(simulations),
    }


def write(path: Path, value: Any) -> Path:
    """Write a JSON file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path
