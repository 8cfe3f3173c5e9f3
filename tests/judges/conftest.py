"""A small trajectory and rubrics that the tests of judges share."""

from datetime import date

import pytest

from axisjudge.rubric import Rubric
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory
from axisjudge.verdict import AXES, Axis

KEY = "not-a-key-0123456789"


@pytest.fixture
def trajectory() -> Trajectory:
    return Trajectory(
        id="run-zebra",
        source="test",
        agent="agent-quagga",
        task_id="7",
        domain="shop",
        reward=0.375,
        termination="user_stop",
        meta={"secret_of_meta": "okapi"},
        policy="Confirm every change with the customer before you make it.",
        tools=(
            ToolSchema(
                name="find_order",
                description="Look an order up.",
                kind="read",
                parameters={"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
            ),
        ),
        steps=(
            Step(index=0, role="system", content="You serve customers of a shop."),
            Step(index=1, role="user", content="Where is my parcel B-17?"),
            Step(
                index=2,
                role="assistant",
                tool_calls=(ToolCall(id="c1", name="find_order", arguments={"order": "B-17", "full": True}),),
            ),
            Step(
                index=3,
                role="tool",
                content="no such order: B-17 (naïve lookup, Zürich)",
                tool_call_id="c1",
                tool_name="find_order",
                error=True,
            ),
            Step(
                index=4,
                role="user",
                content="Let me look.",
                tool_calls=(ToolCall(name="check_phone", arguments={}, requestor="user"),),
            ),
            Step(index=5, role="assistant", content="It is not in our records."),
        ),
    )


@pytest.fixture
def rubrics() -> dict[Axis, Rubric]:
    return {
        axis: Rubric(
            axis=axis,
            version="v1",
            date=date(2026, 1, 1),
            status="draft",
            changes="first",
            text=f"## Question\nDid the agent do well on {axis}?\n",
        )
        for axis in AXES
    }


@pytest.fixture(autouse=True)
def _no_real_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that open nothing, and no address but those that a test gives."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    for name in ("OPENAI_COMPATIBLE_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
