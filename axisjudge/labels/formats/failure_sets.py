"""Annotations of failures of two public sets, on the axes by their crosswalks (`axisjudge.labels.agentrx`).

Who&When (ag2ai/Agents_Failure_Attribution, arXiv 2505.00212): one decisive error a run, with the agent who made it and
its step, counted from 0 in the run's ``history``. It has no categories, so the axis is open: the label stands under
``any step`` unless its record names an ``axis``, or ``mistake_reason=AXIS`` is told for all.

MAST (mcemri/MAD, arXiv 2503.13657): 14 failure modes of a run, without steps. In the set labelled by people each
record has ``annotations``, a mode with the word of every annotator; in the whole set ``mast_annotation``, modes by
number, from the set's own LLM. Modes of earlier rounds count under the name that they have now. Modes that the
crosswalk leaves open are told by name or number (``1.1=tool_selection``). A run is named by its system, its LLM, its
benchmark or round and its trace; traces of one name are numbered.

Of both only failures are labels: what nobody named is unlabelled, not correct.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError, one_of
from axisjudge.labels import agentrx, own
from axisjudge.labels.reading import holds_records, read_json
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, NO_AXIS, Axis, Rating

_DECISIVE = {"history", "mistake_agent", "mistake_step"}
_NUMBERED = re.compile(r"\s*(?:FM-)?(\d\.\d)\s*")
_ANNOTATOR = re.compile(r"annotator_\w+")


def is_who_and_when(content: object) -> bool:
    """Whether parsed JSON is a run with its decisive error, or a list of such."""
    return holds_records(_listed(content), *_DECISIVE)


def is_mast(content: object) -> bool:
    """Whether parsed JSON is a list of runs with modes of failure."""
    runs = _listed(content)
    return holds_records(runs, "mas_name") and all({"annotations", "mast_annotation"} & one.keys() for one in runs)


def read_who_and_when(path: Path, terms: own.Naming) -> own.Read:
    """Decisive errors as ratings: ``incorrect``, citing their step, the agent's name in the flags.

    Raises
    ------
    InputError
        A step does not stand in its run's history.
    """
    runs = {tuple(step.content for step in run.steps): run for run in terms.trajectories.values()}
    ratings, without = [], 0
    for record in _listed(read_json(path)):
        turns = tuple(str(message.get("content") or "") for message in record["history"])
        run = runs.get(turns)
        without += run is None
        name = run.id if run else f"who-and-when/{record.get('question_ID') or path.stem}"
        ratings.append(_decisive(record, name, len(run.steps if run else turns), path, terms))
    lost = [f"{without} labels belong to no run that is read; they stand under their question's id"] if without else []
    return ratings, [own.ONLY_FAILURES, *lost]


def _decisive(record: Mapping[str, Any], run: str, n_steps: int, path: Path, terms: own.Naming) -> Rating:
    step = str(record["mistake_step"])
    if not step.isdecimal() or int(step) >= n_steps:
        rule = f"mistake_step must be a position in the history of {n_steps} messages"
        raise InputError(str(path), rule, step)
    stated = record.get("axis") or terms.axes.get("mistake_reason")
    return Rating(
        **own.by_person(terms.rater or "people"),
        **terms.run_fields(run),
        item_id=run,
        question=agentrx.ANY_STEP if stated is None else one_of("axis", str(stated), AXES),
        scale="verdict",
        verdict="incorrect",
        cited_step_indices=[int(step)],
        rationale=record.get("mistake_reason"),
        flags=[f"agent:{record['mistake_agent']}"],
    )


def read_mast(path: Path, terms: own.Naming) -> own.Read:
    """Modes of failure as ratings: ``incorrect`` on their axis, the modes in the flags; none cites a step.

    Raises
    ------
    InputError
        A record names no trace.
    """
    ratings, left, runs = [], Counter[str](), Counter[str]()
    for record in _listed(read_json(path)):
        if "trace_id" not in record:
            raise InputError(str(path), "every record of MAST needs trace_id", sorted(record))
        by_rater: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for rater, name in _modes(record):
            mode, axis = _axis_of(name, terms)
            if axis is None:
                left[mode] += 1
            elif mode not in by_rater[rater, axis]:
                by_rater[rater, axis].append(mode)
        set_name = record.get("benchmark_name") or record.get("round")
        name = "/".join(str(part) for part in (record["mas_name"], record.get("llm_name"), set_name) if part)
        runs[trace := f"{name}/{record['trace_id']}"] += 1
        run = trace if runs[trace] == 1 else f"{trace}#{runs[trace]}"
        for (rater, axis), modes in by_rater.items():
            who = own.by_person(terms.rater or rater) if rater else own.by_model(terms.rater or "mast-annotator")
            fields = who | terms.run_fields(run, agent=str(record["mas_name"])) | {"item_id": run, "question": axis}
            flags = [f"mode:{mode}" for mode in modes]
            ratings.append(Rating(**fields, scale="verdict", verdict="incorrect", flags=flags))
    names = ", ".join(f"{mode} {count}" for mode, count in sorted(left.items()))
    notes = [own.ONLY_FAILURES, "MAST states no steps, and its traces are logs in a string, which no reader takes"]
    return ratings, notes + ([f"failures of modes that map to no axis are left out: {names}"] if left else [])


def _modes(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(annotator, mode) of every failure; no annotator's name for the set's own LLM."""
    for one in record.get("annotations") or ():
        yield from (
            (rater, str(one["failure mode"]).splitlines()[0])
            for rater, word in one.items()
            if _ANNOTATOR.fullmatch(rater) and str(word).strip().lower() in ("true", "1", "yes")
        )
    for number, word in (record.get("mast_annotation") or {}).items():
        if word == 1:
            yield "", str(number)


def _axis_of(name: str, terms: own.Naming) -> tuple[str, str | None]:
    """A mode as the crosswalk calls it, and its axis: told, or the crosswalk's; None where it is open or there is none.

    Sets were labelled in rounds that named and numbered modes otherwise: a mode with words goes by its words.
    """
    number = _NUMBERED.match(name)
    words = agentrx.category_key(name[number.end() :] if number else name)
    label = agentrx.numbered_modes("mast").get(words or (number[1] if number else ""))
    if label is None:
        return name, terms.axes.get(name)
    keys = (name, label.removeprefix("FM-").partition(" ")[0], label)
    axis = next((terms.axes[key] for key in keys if key in terms.axes), agentrx.read_crosswalk("mast")[label])
    return label, None if axis in (agentrx.BY_REASON, agentrx.NONE) else axis


def _listed(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content] if isinstance(content, dict) else []


# AgentRx's failures: runs with the failures that people found, each at a step and of a category.


_CATEGORIES = {
    "result_interpretation": "Misinterpretation of Tool Output",
    "argument_validity": "Invalid Invocation",
    "sequencing": "Instruction/Plan Adherence Failure",
    "tool_selection": "Intent Plan Misalignment",
}


def is_agentrx(content: object) -> bool:
    """Whether parsed JSON is a list of runs with failures."""
    return holds_records(content, "trajectory_id", "failures")


def read_agentrx_failures(path: Path, terms: own.Naming) -> own.Read:
    """Failures as ratings: ``incorrect`` on their axis, citing their steps.

    Raises
    ------
    InputError
        The runs were not given, or a failure does not fit its run.
    """
    if not terms.trajectories:
        cure = "name the runs with --trajectories"
        raise InputError(str(path), "AgentRx's step numbers are those of its runs", cure=cure)
    runs = read_json(path)
    stated: dict[int, Axis] = {
        int(failure["failure_id"]): failure["axis"]
        for run in (runs if is_agentrx(runs) else ())
        for failure in run["failures"]
        if failure.get("axis")
    }
    table = agentrx.read_agentrx(path, terms.trajectories.values(), by_reason=stated or agentrx.AXIS_BY_REASON)
    ratings = own.ratings_of(table)
    if terms.rater:
        ratings = [rating.model_copy(update={"rater": terms.rater}) for rating in ratings]
    users = sum(rating.question == NO_AXIS for rating in ratings)
    return ratings, [own.ONLY_FAILURES, f"{users} failures of the user's are kept under {NO_AXIS}"]


def write_agentrx_failures(ratings: Sequence[Rating], terms: own.Terms) -> str:
    """Runs with failures, one failure for each cited step.

    Raises
    ------
    InputError
        A label is no failure, cites no step, or its run was not given.
    """
    own.of_one_rater(ratings, "AgentRx")
    number, written = 0, []
    for run_id, labels in own.grouped(ratings, "trajectory_id").items():
        if (run := terms.trajectories.get(run_id)) is None:
            raise InputError("labels", "AgentRx needs the run of every label", run_id, "name it with --trajectories")
        failures = [failure for label in labels for failure in _failures(label, run)]
        for failure in failures:
            number += 1
            failure["failure_id"] = number
        written.append({"trajectory_id": run.task_id, "failures": failures})
    return json.dumps(written, ensure_ascii=False, indent=1) + "\n"


def _failures(label: Rating, run: Trajectory) -> Iterator[dict[str, Any]]:
    users = label.question == NO_AXIS
    nowhere = {agentrx.category_key(name).replace(" ", "_"): name for name in agentrx.read_crosswalk("agentrx")}
    category = nowhere.get(str(label.verdict)) if users else _CATEGORIES.get(label.question)
    if category is None or not (users or label.verdict == "incorrect"):
        word = f"{label.verdict} on {label.question}"
        raise InputError("labels", "AgentRx holds failures on its own axes alone", word, "export those alone")
    if not label.cited_step_indices:
        raise InputError("labels", "a failure of AgentRx stands at a step", f"{label.item_id}: none is cited")
    for position, step in enumerate(label.cited_step_indices):
        numbers = [each.source_index for each in run.steps if each.index == step]
        if not numbers or numbers[0] is None:
            raise InputError("labels", "a cited step needs AgentRx's own number", f"{label.item_id}: step {step}")
        yield {
            "step_number": numbers[0],
            "failure_category": category,
            "category_reason": (label.rationale or "") if position == 0 else "",
            **({} if users else {"axis": label.question}),
        }
