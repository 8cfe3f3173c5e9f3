"""What a person is shown of a trajectory: what judges are shown, and no more.

Reward, agent, task, domain, id and meta stay out, and so does every verdict.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

#: How a step of a special kind is headed.
_KINDS = {"thinking": "Agent, to itself", "error": "Error that belongs to no call"}


def shown_run(trajectory: Trajectory) -> dict[str, Any]:
    """The trajectory as the labeller draws it: steps, tools, policy and how the run ended; plain JSON.

    Texts are as they stand in the record; the browser lays out what is JSON.
    """
    calls = {at: asked.call for at, asked in trajectory.answered_calls.items()}
    return {
        "ended": trajectory.termination,
        "policy": _policy(trajectory),
        "tools": None
        if trajectory.tools is None
        else [_tool(tool, trajectory.kinds.get(tool.name)) for tool in trajectory.tools],
        "steps": [_step(step, calls) for step in trajectory.steps],
    }


def _policy(trajectory: Trajectory) -> str | None:
    policy = (trajectory.policy or "").strip()
    for step in trajectory.steps:
        if policy and step.role == "system" and policy in step.content:
            return f"It stands in step {step.index}."
    return policy or None


def _tool(tool: ToolSchema, kind: str | None) -> dict[str, Any]:
    parameters = json.dumps(tool.parameters, ensure_ascii=False)
    return {"name": tool.name, "kind": kind, "description": tool.description.strip(), "parameters": parameters}


def _step(step: Step, calls: Mapping[int, ToolCall]) -> dict[str, Any]:
    answered = calls.get(step.index)
    return {
        "index": step.index,
        "role": step.role,
        "heading": _KINDS.get(step.kind or ""),
        "text": step.content,
        "answers": (step.tool_name or (answered.name if answered else "unknown tool")) if step.role == "tool" else None,
        "by_user": answered is not None and answered.requestor == "user",
        "error": bool(step.error),
        "calls": [_call(call) for call in step.tool_calls],
    }


def _call(call: ToolCall) -> dict[str, Any]:
    """A call with its arguments as (name, text); raw text has no name."""
    if isinstance(call.arguments, str):
        pairs, fault = [("", call.arguments)], call.arguments_error or "raw text"
    else:
        pairs, fault = [(name, json.dumps(value, ensure_ascii=False)) for name, value in call.arguments.items()], None
    return {"name": call.name, "by_user": call.requestor == "user", "fault": fault, "arguments": pairs}
