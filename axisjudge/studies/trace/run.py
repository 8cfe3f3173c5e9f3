"""One trajectory step by step: what happened, what each judge said of each axis, and which steps it points to."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import polars as pl

from axisjudge.checks import InputError, TooLittle
from axisjudge.figures import theme
from axisjudge.figures.markup import cut, literal, markdown_rows, template, untypeset, visible
from axisjudge.ratings.edge import VERDICT_ON_RUN, as_ratings, once
from axisjudge.results import Result
from axisjudge.stats.repeats import chance_jaccard, jaccard, step_distance
from axisjudge.studies._shared.frames import Given, banner, made_up_raters
from axisjudge.trajectory import AskedCall, Step, ToolCall, Trajectory
from axisjudge.verdict import AXES

NOT_STATED = "not stated"


def joined(things: Iterable[object]) -> str:
    """Things in a row."""
    return ", ".join(map(str, things))


@dataclass(frozen=True)
class TracedVerdict:
    """One judge's verdict on one axis; `verdict` is None where it was lost, and `status` says how."""

    axis: str
    judge: str
    family: str
    status: str
    verdict: str | None
    confidence: float | None
    cited: tuple[int, ...]
    invalid: tuple[int, ...]
    rationale: str

    @property
    def word(self) -> str:
        """The verdict, or why there is none."""
        return self.verdict or f"lost ({self.status})"

    cited_steps = property(lambda self: joined(self.cited))
    not_in_the_run = property(lambda self: joined(self.invalid))


@dataclass(frozen=True)
class Overlap:
    """Two judges on one axis and the steps of the run that they cite.

    `jaccard` is the number of shared steps over those that either cites, `chance` what it would be if both had cited as
    many steps at random, `distance` the mean number of steps to the nearest one that the other cites.
    """

    axis: str
    judges: tuple[str, str]
    same_verdict: bool
    shared: tuple[int, ...]
    n_either: int
    jaccard: float
    chance: float
    distance: float

    named = property(lambda self: " / ".join(self.judges))
    both_cite = property(lambda self: joined(self.shared))


def verdicts_of(ratings: Given, repeat: int) -> pl.DataFrame:
    """The verdicts on whole trajectories in one repeat.

    Raises
    ------
    InputError
        There are none.
    """
    table = as_ratings(ratings).filter(VERDICT_ON_RUN, pl.col("repeat") == repeat)
    if table.is_empty():
        raise TooLittle(
            "ratings",
            "must hold verdicts on whole trajectories",
            cure="those of steps and on other scales do not count",
        )
    return table


def most_contested(verdicts: pl.DataFrame) -> str:
    """The trajectory on which the judges are most divided.

    The one with the most axes on which one judge says correct and another incorrect; among equals the one with the
    most steps cited for an incorrect verdict, then the first by id.
    """
    wrong = pl.col("verdict") == "incorrect"
    by_axis = verdicts.group_by("trajectory_id", "question").agg(
        contested=wrong.any() & (pl.col("verdict") == "correct").any(),
        cited=pl.col("cited_step_indices").filter(wrong).explode().drop_nulls().n_unique(),
    )
    runs = by_axis.group_by("trajectory_id").agg(pl.col("contested").sum(), pl.col("cited").sum())
    ordered = runs.sort("contested", "cited", "trajectory_id", descending=[True, True, False])
    return str(ordered["trajectory_id"][0])


def judgements(verdicts: pl.DataFrame) -> tuple[TracedVerdict, ...]:
    """The verdicts on one trajectory by axis, family and judge.

    Raises
    ------
    InputError
        Two verdicts of one judge on one axis.
    """
    known = {axis: index for index, axis in enumerate(AXES)}
    order = pl.col("question").replace_strict(known, default=len(AXES), return_dtype=pl.Int64)
    once(verdicts, "question", "rater", rule="one rating for each judge and axis")
    lists = pl.col("cited_step_indices", "invalid_citations").fill_null([])
    columns = ("question", "rater", "family", "status", "verdict", "confidence")
    rows = verdicts.sort(order, "question", "family", "rater").select(
        *columns, lists, pl.col("rationale").fill_null("")
    )
    return tuple(
        TracedVerdict(axis, judge, family, status, verdict, sure, tuple(cited), tuple(invalid), visible(rationale))
        for axis, judge, family, status, verdict, sure, cited, invalid, rationale in rows.iter_rows()
    )


def overlaps(given: Sequence[TracedVerdict], n_steps: int) -> tuple[Overlap, ...]:
    """The overlap of each two judges on each axis; a lost verdict has no evidence to overlap."""
    pairs = combinations([each for each in given if each.verdict is not None], 2)
    return tuple(_overlap(one, other, n_steps) for one, other in pairs if one.axis == other.axis)


def _overlap(one: TracedVerdict, other: TracedVerdict, n_steps: int) -> Overlap:
    first, second = ({step for step in each.cited if 0 <= step < n_steps} for each in (one, other))
    return Overlap(
        axis=one.axis,
        judges=(one.judge, other.judge),
        same_verdict=one.verdict == other.verdict,
        shared=tuple(sorted(first & second)),
        n_either=len(first | second),
        jaccard=jaccard(first, second),
        chance=chance_jaccard(len(first), len(second), n_steps) if first and second else math.nan,
        distance=step_distance(first, second),
    )


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

    called = property(lambda self: joined(name for name, _, _ in self.calls))
    citing = property(lambda self: "; ".join(f"{each.axis} {each.word} ({each.judge})" for each in self.cited_by))

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
        steps=tuple(_traced(step, given, trajectory.answered_calls) for step in trajectory.steps),
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


def _traced(step: Step, given: Sequence[TracedVerdict], calls: Mapping[int, AskedCall]) -> TracedStep:
    answered = step.tool_name or (calls[step.index].call.name if step.index in calls else None)
    return TracedStep(
        index=step.index,
        role=step.role,
        text=visible(step.content.strip()),
        calls=tuple((visible(call.name), _arguments(call), call.requestor == "assistant") for call in step.tool_calls),
        answers=visible(answered) if answered else None,
        error=step.error is True,
        cited_by=tuple(each for each in given if step.index in each.cited),
    )


def _arguments(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return visible(call.arguments)
    given = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return visible(", ".join(given))


#: Longer texts are folded in HTML and cut in markdown, where the cut is stated.
FOLD, CUT = 600, 280


@dataclass(frozen=True)
class TracePage:
    """A trace that notebooks and pages can show."""

    run: TracedRun

    def to_html(self) -> str:
        """The trace as HTML with inline styles only: no script, no address, long texts folded."""
        warning = banner(self.run.made_up)
        return template("axisjudge.studies.trace", "trace.html.j2").render(
            run=self.run, banner=warning, look_of=theme.look_of, in_words=theme.in_words, fold=FOLD
        )

    def to_markdown(self) -> str:
        """The trace as markdown: facts, verdicts, then the steps, untrusted text fenced as code."""
        facts = [f"- {name}: {literal(value)}" for name, value in self.run.facts.items()]
        steps = [part for step in self.run.steps for part in _step_lines(step)]
        return "\n".join([*facts, "", *_verdict_lines(self.run), "", *steps])

    def _repr_html_(self) -> str:
        return untypeset(self.to_html())


def _verdict_lines(run: TracedRun) -> list[str]:
    given = {(each.axis, each.judge): each for each in run.verdicts}
    rows = [
        [theme.in_words(axis), *(literal(_spoken(given.get((axis, judge)))) for judge in run.judges)]
        for axis in run.axes
    ]
    return markdown_rows(["axis", *map(literal, run.judges)], rows)


def _step_lines(step: TracedStep) -> list[str]:
    who = f"{step.role} ({literal(step.answers)})" if step.answers else step.role
    cited = "; ".join(f"{theme.in_words(each.axis)}, {each.word}, by {literal(each.judge)}" for each in step.cited_by)
    head = f"**Step {step.index}, {who}**{' (error)' if step.error else ''}{f' (cited for {cited})' if cited else ''}"
    parts = [step.text, *(f"{name}({arguments})" for name, arguments, _ in step.calls)]
    return [head, "", *_fenced("\n".join(cut(part, CUT) for part in parts if part)), ""]


def _fenced(text: str) -> list[str]:
    """A code block whose fence is longer than any run of tildes inside, so that text cannot end it."""
    fence = "~" * max([3, *(len(run) + 1 for run in re.findall(r"~+", text))])
    return [f"{fence}text", text or "(empty)", fence]


def _spoken(given: TracedVerdict | None) -> str:
    if given is None:
        return "–"
    sure = "" if given.confidence is None else f" {given.confidence:.2f}"
    cited = f" @ {', '.join(map(str, given.cited))}" if given.cited else ""
    return f"{theme.look_of(given.verdict).sign} {theme.in_words(given.word)}{sure}{cited}"
