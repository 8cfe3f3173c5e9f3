"""A small library whose desk the agent keeps: short runs are written as lists of (who, what, ...)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

POLICY = "Before any change, say what you will do and wait for the reader's explicit yes. A renewal costs $2.50."
Play = Callable[..., Trajectory]


def _tool(name: str, kind: str, required: tuple[str, ...], /, **properties: Any) -> ToolSchema:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSchema.model_validate({"name": name, "kind": kind, "parameters": schema})


TOOLS = (
    _tool("find_reader", "read", ("name",), name={"type": "string"}),
    _tool("show_loan", "read", ("loan_id",), loan_id={"type": "string"}),
    _tool("show_title", "read", ("title_id",), title_id={"type": "string"}),
    _tool(
        "modify_loan",
        "write",
        ("loan_id", "weeks"),
        loan_id={"type": "string"},
        weeks={"type": "integer"},
        reason={"type": "string", "enum": ["holiday", "illness"]},
    ),
    _tool("cancel_loan", "write", ("loan_id",), loan_id={"type": "string"}),
    _tool("return_loan", "write", ("loan_id",), loan_id={"type": "string"}),
    _tool("send_book", "write", ("loan_id", "street"), loan_id={"type": "string"}, street={"type": "string"}),
    _tool("transfer_to_human_agents", "generic", (), summary={"type": "string"}),
)


def play(*lines: tuple[Any, ...], tools: Any = TOOLS, policy: str | None = POLICY, **fields: Any) -> Trajectory:
    """Steps from ("user" | "agent", text), ("call", text, (name, arguments), ...), ("result" | "error", content)."""
    steps: list[Step] = []
    waiting: list[str] = []
    for index, (who, what, *calls) in enumerate(lines):
        if who == "call":
            made = tuple(_call(f"call-{index}-{place}", *call) for place, call in enumerate(calls))
            waiting = [call.id or "" for call in made]
            steps.append(Step(index=index, role="assistant", content=what, tool_calls=made))
        elif who in ("result", "error"):
            content = what if isinstance(what, str) else json.dumps(what)
            steps.append(
                Step(index=index, role="tool", content=content, tool_call_id=waiting.pop(0), error=who == "error")
            )
        else:
            steps.append(Step(index=index, role={"agent": "assistant"}.get(who, who), content=what))
    return Trajectory(id="run", source="test", steps=tuple(steps), tools=tools, policy=policy, **fields)


def _call(call_id: str, name: str, arguments: Any) -> ToolCall:
    wrong = None if isinstance(arguments, dict) else "Expecting value: line 1 column 1 (char 0)"
    return ToolCall(id=call_id, name=name, arguments=arguments, arguments_error=wrong)


LOAN = {"loan_id": "LN-40213", "title_id": "TT-77100", "status": "lent", "due": "2031-03-14", "fees": [1.2, 3.05, 4.5]}

OPENING: list[tuple[Any, ...]] = [
    ("user", "Hello, this is Ottilie Venn. Could you extend my loan LN-40213 by two weeks?"),
    ("call", "", ("show_loan", {"loan_id": "LN-40213"})),
    ("result", LOAN),
    ("agent", "Loan LN-40213 is due on March 14, 2031. I would extend it by 2 weeks for $2.50. Do you agree?"),
    ("user", "Yes, please."),
]
CHANGE: list[tuple[Any, ...]] = [
    ("call", "", ("modify_loan", {"loan_id": "LN-40213", "weeks": 2})),
    ("result", {"loan_id": "LN-40213", "status": "extended", "due": "2031-03-28"}),
    ("agent", "Your loan LN-40213 has been extended until March 28, 2031. Anything else?"),
]
CLOSING: list[tuple[Any, ...]] = [("user", "No, that is all. Goodbye!"), ("agent", "You are welcome, goodbye.")]


@pytest.fixture(name="play")
def _play() -> Play:
    return play


@pytest.fixture
def opening() -> list[tuple[Any, ...]]:
    """Five steps (0-4): a request, the loan read, the change proposed, a yes."""
    return list(OPENING)


@pytest.fixture
def change() -> list[tuple[Any, ...]]:
    """Three steps: the change, its result, a true report."""
    return list(CHANGE)


@pytest.fixture
def closing() -> list[tuple[Any, ...]]:
    """Two steps: the reader and the agent part."""
    return list(CLOSING)
