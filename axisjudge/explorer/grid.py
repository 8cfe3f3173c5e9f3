"""Runs x judges on every axis: what the explorer shows before a run is opened, and what it shows then.

Held-out runs stay shut until the held-out side has been opened.
"""

from __future__ import annotations

import gc
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.explorer.session import KEYS
from axisjudge.explorer.shown import shown_run
from axisjudge.labels.decisions import decided, decision_base
from axisjudge.labels.panel import BY_PERSON
from axisjudge.protocol import Split, find_split, gate, ledger
from axisjudge.protocol.split import check_names
from axisjudge.ratings import as_ratings
from axisjudge.ratings.edge import BY_LABELLER, answer_words
from axisjudge.ratings.scales import has_words
from axisjudge.rubric import Rubric, list_rubrics, load_rubric
from axisjudge.studies._shared.frames import MADE_UP, banner
from axisjudge.studies._shared.words import many
from axisjudge.trajectory import Trajectory, as_runs
from axisjudge.verdict import AXES, OPEN, STATUSES, VERDICTS

#: Flags that say how a rating came about, not that something is wrong with it.
_USUAL = re.compile(r"(drawn|opening|decided|answer)\w*:|exploratory$|not_asked")

#: Labels, those of simulated people among them.
_LABELLING = (BY_LABELLER | BY_PERSON).fill_null(False)
#: What is kept of a rating: a row of all columns takes three times as long.
_KEPT = (
    *("trajectory_id", "task_id", "agent", "domain", "question", "scale", "split", "rater", "rater_kind", "family"),
    *("rubric_version", "rubric_sha256", "repeat", "status", "verdict", "value", "confidence"),
    *("cited_step_indices", "invalid_citations", "rationale", "flags"),
)

Row = Mapping[str, Any]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for cycles: among the rows of thousands of runs it takes longer than making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclass(frozen=True)
class Column:
    """One judge on one question, under one version of its rubric where there are several."""

    question: str
    rater: str
    version: str | None


@dataclass(frozen=True)
class Grid:
    """Runs, columns, and each rating in its cell; `shut` says how many held-out runs are left out.

    `cells` and `labels` hold the rows of the ratings table: of (run, column) each repeat, of a run each label.
    """

    questions: tuple[str, ...]
    columns: tuple[Column, ...]
    runs: tuple[str, ...]
    cells: Mapping[tuple[str, int], Sequence[Row]]
    labels: Mapping[str, Sequence[Row]]
    trajectories: Mapping[str, Trajectory]
    sides: Mapping[str, str]
    notes: tuple[str, ...] = ()
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)

    @classmethod
    @_uncollected()
    def of(cls, ratings: Any, trajectories: Iterable[Trajectory] = ()) -> Grid:
        """The grid of a ratings table of any kind, held-out runs left out until they are opened.

        Raises
        ------
        InputError
            Nothing is left to show: no ratings of whole runs, or all held out.
        """
        given = as_ratings(ratings)
        table, runs, shut = without_held_out(given, as_runs(trajectories))
        whole = table.filter(pl.col("step_index").is_null() & pl.col("interaction_id").is_null())
        unfinished = (
            whole["flags"].list.contains(OPEN)
            & ~whole["flags"].list.eval(pl.element().str.starts_with("decided:")).list.any()
        )
        chosen = _latest(whole.filter(~unfinished.fill_null(False)))
        if chosen.is_empty():
            cure = "the explorer shows these, not ratings of steps"
            raise InputError("ratings", "hold none of whole runs", cure=cure)
        judged = chosen.filter(~_LABELLING)
        judges, labelled = (judged, chosen.filter(_LABELLING)) if len(judged) else (chosen, judged)
        known = {run.id: run for run in runs}
        names = _in_order(chosen["trajectory_id"].unique(maintain_order=True).to_list(), known)
        parts = len(table) - len(whole)
        without = [name for name in names if name not in known]
        unrated = len(known.keys() - set(names))
        made_up = chosen.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"].unique(maintain_order=True).to_list()
        notes = (
            banner(made_up),
            shut,
            f"{many(parts, 'rating')} of single steps or interactions not shown." if parts else "",
            f"{many(len(without), 'rated run')} without a record here (first {without[0]})."
            if known and without
            else "",
            f"{many(unrated, 'run')} without a rating left out." if unrated else "",
            "No trajectories were given: verdicts and reasons only." if not known else "",
        )
        columns = _columns(judges)
        questions = tuple(dict.fromkeys(c.question for c in columns))
        column_of = {(c.question, c.rater, c.version): at for at, c in enumerate(columns)}
        cells: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in judges.sort("repeat", maintain_order=True).select(_KEPT).iter_rows(named=True):
            cells[row["trajectory_id"], column_of[row["question"], row["rater"], row["rubric_version"]]].append(row)
        labels: defaultdict[str, list[Row]] = defaultdict(list)
        for row in labelled.select(_KEPT).iter_rows(named=True):
            labels[row["trajectory_id"]].append(row)
        return cls(
            questions=questions,
            columns=columns,
            runs=tuple(names),
            cells=cells,
            labels=labels,
            trajectories=known,
            sides=sides_of(runs),
            notes=tuple(filter(None, notes)),
            rubrics={axis: load_rubric(axis) for axis in AXES if axis in questions},
        )

    @_uncollected()
    def index(self) -> dict[str, Any]:
        """All that the grid itself needs, as plain JSON: no reason, no step.

        A cell is a list of repeats, each ``[word, confidence, cited steps, flagged, repeat]``; a word is a position in
        `words`, a lost verdict ``-1 -`` its position in `statuses`.
        """
        raters = list(dict.fromkeys(column.rater for column in self.columns))
        people = list(dict.fromkeys(row["rater"] for rows in self.labels.values() for row in rows))
        rated = chain.from_iterable((*self.cells.values(), *self.labels.values()))
        who = {row["rater"]: {"kind": row["rater_kind"], "family": row["family"]} for row in rated}
        words = list(dict.fromkeys((*VERDICTS, *sorted(self._words()))))
        code = {word: at for at, word in enumerate(words)}
        code |= {f"status {status}": -1 - at for at, status in enumerate(STATUSES)}
        tools: list[str] = []
        return {
            "questions": [
                {"name": q, "title": q.replace("_", " ").capitalize(), "key": _key(q)} for q in self.questions
            ],
            "judges": [{"name": name, **who[name]} for name in raters],
            "people": [{"name": name, **who[name]} for name in people],
            "columns": [[self.questions.index(c.question), raters.index(c.rater), c.version] for c in self.columns],
            "words": words,
            "statuses": list(STATUSES),
            "runs": [self._run(name, people, code, tools) for name in self.runs],
            "notes": list(self.notes),
            "tools": tools,
            "decidable": [q for q in self.questions if q in self.rubrics],
        }

    def opened(self, at: int) -> dict[str, Any]:
        """A run as it is shown when it is opened: its record, every reason, what labels say. Plain JSON."""
        name = self.runs[at]
        run = self.trajectories.get(name)
        reasons = {
            column: [_reason(row) for row in self.cells[name, column]]
            for column in range(len(self.columns))
            if (name, column) in self.cells
        }
        notes = [
            {**_reason(row), "rater": row["rater"], "question": row["question"]} for row in self.labels.get(name, ())
        ]
        return {"run": run and shown_run(run), "reward": run and run.reward, "reasons": reasons, "notes": notes}

    def record(self, at: int) -> tuple[Trajectory | None, list[Row]]:
        """A run and all its ratings and labels, as they are."""
        name = self.runs[at]
        of_run = (self.cells.get((name, column), ()) for column in range(len(self.columns)))
        return self.trajectories.get(name), [*chain.from_iterable(of_run), *self.labels.get(name, ())]

    def base(self, at: int, question: str) -> dict[str, Any]:
        """The fields of a decision on one item that are known before it is made.

        Raises
        ------
        InputError
            The run's record is not here, or the question has no rubric.
        """
        name = self.runs[at]
        if name not in self.trajectories or question not in self.rubrics:
            raise InputError(f"decision on {name}", "needs the run's record and one of the five axes", question)
        seen = [
            (c.rater, c.version, row["repeat"], _answer(row), row["rationale"])
            for index, c in enumerate(self.columns)
            if c.question == question
            for row in self.cells.get((name, index), ())
        ]
        return decision_base(self.trajectories[name], self.rubrics[question], seen)

    def rubric_changes(self) -> dict[str, list[Any]]:
        """Of each question judged under several versions: each version after the first against the one before.

        A change is ``{before, after, words}`` with words as ``[sign, text]``: ``=`` kept, ``-`` gone, ``+`` new.
        Versions whose text is not in this workbench, or differs from the one judged by, are left out.
        """
        changes: dict[str, list[Any]] = {}
        for question in self.rubrics:
            versions = sorted({c.version for c in self.columns if c.question == question and c.version}, key=natural)
            texts = {rubric.version: rubric for rubric in list_rubrics(question)}
            of_question = {at for at, column in enumerate(self.columns) if column.question == question}
            judged = {row["rubric_sha256"] for (_, at), rows in self.cells.items() for row in rows if at in of_question}
            known = [texts[v].text for v in versions if v in texts and texts[v].sha256 in judged]
            if len(versions) > 1 and len(known) == len(versions):
                pairs = zip(versions, versions[1:], known, known[1:], strict=False)
                changes[question] = [
                    {"before": old, "after": new, "words": word_diff(before, after)}
                    for old, new, before, after in pairs
                ]
        return changes

    def _words(self) -> set[str]:
        rows = chain.from_iterable((*self.cells.values(), *self.labels.values()))
        return {answer for row in rows if (answer := _answer(row)) is not None}

    def _run(self, name: str, people: list[str], code: Mapping[str, int], tools: list[str]) -> dict[str, Any]:
        run = self.trajectories.get(name)
        cells = [[_cell(row, code) for row in self.cells.get((name, at), ())] for at in range(len(self.columns))]
        labelled = [row for row in self.labels.get(name, ()) if row["question"] in self.questions]
        names = [(self.questions.index(row["question"]), people.index(row["rater"])) for row in labelled]
        rated = chain.from_iterable(self.cells.get((name, at), ()) for at in range(len(self.columns)))
        about: Row = next(chain(rated, self.labels.get(name, ())), {})
        return {
            "id": name,
            "agent": run.agent if run else about.get("agent"),
            "domain": run.domain if run else about.get("domain"),
            "task": run.task_id if run else about.get("task_id"),
            "side": self.sides.get(name) or about.get("split"),
            "steps": len(run.steps) if run else None,
            "answer": answer_words(run) if run else None,
            "at": _tools_at(run, {step for each in cells for repeat in each for step in repeat[2]}, tools)
            if run
            else {},
            "cells": cells,
            "labels": [
                [*at, *_cell(row, code)[:4], decided(row["flags"])] for at, row in zip(names, labelled, strict=True)
            ],
        }


def _tools_at(run: Trajectory, cited: set[int], tools: list[str]) -> dict[int, list[int]]:
    """Of each cited step the tools that it calls or answers, by their place in `tools`, which grows."""
    calls = run.answered_calls
    cited_tools: dict[int, list[int]] = {}
    for at in sorted(cited & set(range(len(run.steps)))):
        step = run.steps[at]
        answered = [step.tool_name or (calls[at].call.name if at in calls else "")] if step.role == "tool" else []
        for name in filter(None, [*(call.name for call in step.tool_calls), *answered]):
            if name not in tools:
                tools.append(name)
            cited_tools.setdefault(at, []).append(tools.index(name))
    return cited_tools


def _latest(table: pl.DataFrame) -> pl.DataFrame:
    """One rating of each item, question, rater, rubric version and repeat: the one written last."""
    one = ["item_id", "question", "rater", "rubric_version", "repeat"]
    newest = table.unique(subset=one, keep="last", maintain_order=True)
    if older := table.height - newest.height:
        warnings.warn(f"{older} ratings by an older prompt or rater version are not shown", stacklevel=5)
    return newest


def _columns(judges: pl.DataFrame) -> tuple[Column, ...]:
    """By question (the five axes first), then judge, then version."""
    order = {axis: at for at, axis in enumerate(AXES)}
    one = ["question", "rater", "rubric_version"]
    rows = judges.select("question", "rater", "family", "rubric_version").unique(one, keep="first").rows()
    ranked = sorted(rows, key=lambda r: (order.get(r[0], len(order)), r[0], r[2] or "", r[1], natural(r[3] or "")))
    return tuple(Column(question, rater, version) for question, rater, _, version in ranked)


def _in_order(names: Sequence[str], known: Mapping[str, Trajectory]) -> list[str]:
    """Runs as the trajectories stand, then those without a record, by name."""
    rated = set(names)
    return [name for name in known if name in rated] + sorted(rated - known.keys())


def _answer(row: Row) -> str | None:
    if row["status"] != "ok":
        return None
    if has_words(row["scale"]) and row["verdict"] is not None:
        return str(row["verdict"])
    return None if row["value"] is None else f"{row['value']:g}"


def _cell(row: Row, code: Mapping[str, int]) -> list[Any]:
    answer = _answer(row)
    sure = row["confidence"]
    flagged = bool(row["invalid_citations"]) or any(not _USUAL.match(flag) for flag in row["flags"] or ())
    return [
        code[answer] if answer is not None else code[f"status {row['status']}"],
        None if sure is None or math.isnan(sure) else round(sure, 4),
        list(row["cited_step_indices"] or ()),
        int(flagged),
        row["repeat"],
    ]


def _reason(row: Row) -> dict[str, Any]:
    flags = [flag for flag in row["flags"] or () if not _USUAL.match(flag)]
    return {"why": row["rationale"], "flags": flags, "absent": list(row["invalid_citations"] or ())}


def _key(question: str) -> str | None:
    return next((key for axis, key in KEYS.items() if axis == question), None)


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A key that sorts v2 before v10."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.findall(r"\d+|\D+", name))


def word_diff(before: str, after: str) -> list[tuple[str, str]]:
    """Two texts word by word: ``=`` kept, ``-`` gone, ``+`` new; joined, ``=`` and ``+`` give `after`."""
    old, new = re.findall(r"\s+|[^\s]+", before), re.findall(r"\s+|[^\s]+", after)
    parts: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(("=", "".join(old[a:b])))
            continue
        parts += [(sign, text) for sign, text in (("-", "".join(old[a:b])), ("+", "".join(new[c:d]))) if text]
    return parts


def without_held_out(
    ratings: pl.DataFrame, trajectories: Sequence[Trajectory]
) -> tuple[pl.DataFrame, list[Trajectory], str]:
    """Ratings and runs that may be looked at, and a sentence on those that stay shut (empty where none does).

    A run is held out if its task is, by its trajectory or by its rating, or if its rating bears a held-out side. After
    an opening of these very data all may be looked at.

    Raises
    ------
    InputError
        All of them are held out and not opened; a task goes by another name than in the split.
    """
    split = find_split()
    if split is None or is_opened(split):
        return ratings, list(trajectories), ""
    check_names(split, trajectories)
    tasks = list(split.held_out_tasks)
    sides = pl.col("split").is_in(list(split.held_out)).fill_null(False)
    shut = set(ratings.filter(pl.col("cluster_id").is_in(tasks) | sides)["trajectory_id"])
    shut |= {run.id for run in trajectories if run.cluster_id in split.held_out_tasks}
    if not shut:
        return ratings, list(trajectories), ""
    left = ratings.filter(~pl.col("trajectory_id").is_in(sorted(shut)))
    if left.is_empty():
        raise InputError("ratings", f"all {len(shut)} runs are held out and not opened", cure=f"open them: {gate.OPEN}")
    note = f"Shut until lock and opening: {many(len(shut), 'held-out run')} ({', '.join(split.held_out)})."
    return left, [run for run in trajectories if run.id not in shut], note


def is_opened(split: Split) -> bool:
    """Whether the held-out side has been opened with the runs that stand on it now."""
    opened = ledger.openings(ledger.read_ledger())
    return bool(opened) and opened[-1].data_sha256 == split.data_sha256


def sides_of(trajectories: Sequence[Trajectory]) -> dict[str, str]:
    """The side of each run that belongs to the study; empty where there is no split."""
    split = find_split()
    return {} if split is None else {run.id: split.side_of(run) for run in trajectories if split.knows(run.cluster_id)}
