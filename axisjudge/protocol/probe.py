"""A fixed run that every judge's prompt is assembled for: whatever changes the prompt changes its hash."""

from __future__ import annotations

from hashlib import sha256

from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.prompt import KEPT_AT_LEAST, build_prefix
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

#: One of everything that the prompt renders in a way of its own.
PROBE = Trajectory(
    id="probe",
    source="probe",
    agent="an agent",
    agent_family="a family",
    task_id="a task",
    domain="a domain",
    reward=1.0,
    termination="user_stop",
    policy="Ask before you change anything.",
    tools=(
        ToolSchema(name="find", description="Find a record.", kind="read", parameters={"type": "object"}),
        ToolSchema(name="change", kind="write"),
    ),
    steps=(
        Step(index=0, role="system", content="Be of service."),
        Step(index=1, role="user", content="Please change record 7 to blue."),
        Step(
            index=2,
            role="assistant",
            content="One moment.",
            tool_calls=(
                ToolCall(id="a", name="find", arguments={"number": 7, "exact": True}),
                ToolCall(id="b", name="change", arguments="{blue", arguments_error="not JSON"),
            ),
        ),
        Step(index=3, role="tool", tool_call_id="a", tool_name="find", content="record 7: red. " * 400),
        Step(index=4, role="tool", tool_call_id="b", tool_name="change", content="cannot read that", error=True),
        Step(index=5, role="user", tool_calls=(ToolCall(id="c", name="check", requestor="user"),)),
        Step(index=6, role="tool", tool_call_id="c", content="checked", error=False),
        Step(index=7, role="assistant"),
    ),
    meta={"trial": 0},
)

#: Short enough that the long result is cut.
PROBE_BUDGET = KEPT_AT_LEAST + 2_000


def truncation_sha256() -> str:
    """Hash of the probe shortened to fit: how the record is rendered, and how what is too long is cut."""
    prefix = build_prefix(PROBE, budget=PROBE_BUDGET)
    return sha256(f"{prefix.text}{prefix.cuts}{prefix.excess}".encode()).hexdigest()


def prompt_hashes(judge: Judge, rubrics: Rubrics) -> dict[str, str]:
    """Hash of all that a judge is shown of the probe, by axis; a joint judge is shown all axes at once.

    Empty for judges that are shown no prompt: a program, a noise model (which knows planted truth alone).
    """
    if judge.kind == "simulated" or not judge.reads_rubrics:
        return {}
    if judge.joint:
        return {"all": judge.prompt_sha256(PROBE, rubrics)}
    return {axis: judge.prompt_sha256(PROBE, {axis: rubric}) for axis, rubric in rubrics.items()}
