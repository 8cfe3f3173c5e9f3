"""One trajectory step by step: what happened, what each judge said of each axis, and which steps it points to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from axisjudge.checks import InputError
from axisjudge.figures.markup import visible
from axisjudge.results import Result
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.trace.judgements import Overlap, TracedVerdict, judgements, overlaps
from axisjudge.trajectory import Step, ToolCall, Trajectory

NOT_STATED = "not stated"


@dataclass(frozen=True)
class TracedStep:
    """One step as a reader sees it.

    `calls` are (name, arguments, made by the agent), `cited_by` the judgements that point to it.
    """

    index: int
    role: str
    text: str
    calls: tuple[tuple[str, str, bool], ...]
    answers: str | None
    error: bool
    cited_by: tuple[TracedVerdict, ...]

    @property
    def short(self) -> str:
        """Text and calls on one line of at most 160 characters."""
        calls = (f"{name}({arguments})" for name, arguments, _ in self.calls)
        flat = " ".join(" ".join([self.text, *calls]).split())
        return flat if len(flat) <= 160 else flat[:159] + "…"


@dataclass(frozen=True)
class TracedRun(Result):
    """A trajectory with the judges' verdicts on it; `made_up` names the raters that are no judges."""

    _keys: ClassVar[tuple[str, ...]] = ("trajectory_id", "facts", "n_steps", "verdicts", "overlaps", "contested")

    trajectory_id: str
    facts: Mapping[str, str]
    steps: tuple[TracedStep, ...]
    verdicts: tuple[TracedVerdict, ...]
    overlaps: tuple[Overlap, ...]
    made_up: tuple[str, ...]

    @property
    def n_steps(self) -> int:
        """How many steps the run has; results leave their text out."""
        return len(self.steps)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that were judged, in the project's order."""
        return tuple(dict.fromkeys(each.axis for each in self.verdicts))

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, by family and name."""
        return tuple(name for _, name in sorted({(each.family, each.judge) for each in self.verdicts}))

    @property
    def contested(self) -> tuple[str, ...]:
        """Axes on which one judge says correct and another incorrect."""
        return tuple(axis for axis in self.axes if {"correct", "incorrect"} <= self.words(axis))

    @property
    def correct(self) -> tuple[str, ...]:
        """Axes that all judges find correct."""
        return tuple(axis for axis in self.axes if self.words(axis) == {"correct"})

    def on(self, axis: str) -> tuple[TracedVerdict, ...]:
        """The judgements on one axis."""
        return tuple(each for each in self.verdicts if each.axis == axis)

    def words(self, axis: str) -> set[str]:
        """The different verdicts on one axis, lost ones by how they were lost."""
        return {each.word for each in self.on(axis)}


def traced(trajectory: Trajectory, verdicts: pl.DataFrame) -> TracedRun:
    """Put the judges' verdicts beside the steps of one trajectory; those on others are passed over.

    Raises
    ------
    InputError
        No verdicts on this trajectory, or two of one judge on one axis.
    """
    table = verdicts.filter(pl.col("trajectory_id") == trajectory.id)
    if table.is_empty():
        raise InputError("ratings", "hold no verdicts on this trajectory", trajectory.id, "judge it first")
    given = judgements(table)
    return TracedRun(
        trajectory_id=trajectory.id,
        facts=_facts(trajectory),
        steps=tuple(_traced(step, given, trajectory.steps) for step in trajectory.steps),
        verdicts=given,
        overlaps=overlaps(given, len(trajectory.steps)),
        made_up=made_up_raters(table),
    )


def _facts(trajectory: Trajectory) -> dict[str, str]:
    """What a reader has to know of the run; what the source does not say is said to be unknown."""
    roles = [step.role for step in trajectory.steps]
    known = [role for role in ("system", "user", "assistant", "tool") if role in roles]
    counts = ", ".join(f"{roles.count(role)} {role}" for role in known)
    facts = {
        "agent": trajectory.agent,
        "task": trajectory.task_id,
        "domain": trajectory.domain,
        "end-task reward": None if trajectory.reward is None else f"{trajectory.reward:g}",
        "ended with": trajectory.termination,
        "steps": f"{len(roles)} ({counts})" if roles else "none",
        "the agent's calls": str(sum(len(step.agent_calls) for step in trajectory.steps)),
    }
    return {name: NOT_STATED if value is None else visible(value) for name, value in facts.items()}


def _traced(step: Step, given: Sequence[TracedVerdict], steps: Sequence[Step]) -> TracedStep:
    return TracedStep(
        index=step.index,
        role=step.role,
        text=visible(step.content.strip()),
        calls=tuple((visible(call.name), _arguments(call), call.requestor == "assistant") for call in step.tool_calls),
        answers=visible(name) if (name := step.tool_name or _called(step, steps)) else None,
        error=step.error is True,
        cited_by=tuple(each for each in given if step.index in each.cited),
    )


def _called(step: Step, steps: Iterable[Step]) -> str | None:
    """The tool that a result answers, found by the id of its call."""
    if step.tool_call_id is None:
        return None
    names = (call.name for other in steps for call in other.tool_calls if call.id == step.tool_call_id)
    return next(names, None)


def _arguments(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return visible(call.arguments)
    given = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return visible(", ".join(given))
