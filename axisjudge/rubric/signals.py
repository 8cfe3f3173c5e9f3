"""Rubrics of what is judged beside the five axes: the signals of an AXIS Result, and the checks of a goal.

``rubrics/axis_signals/<signal>/v<k>.md`` and ``rubrics/goal_checks/check/v<k>.md``: front matter and prose as the axes'
rubrics have them (`axisjudge.rubric`). They end in a number instead of a word and cite nothing, so they have a section
Scale in the place of Verdicts and Citing steps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

from axisjudge.checks import InputError, one_of
from axisjudge.rubric.axes import RubricText, check_form, chosen_version, read_text, short_path, version_paths

SignalName = Literal["success", "weight", "context_relevance", "necessity", "check"]
SIGNAL_NAMES: tuple[SignalName, ...] = get_args(SignalName)

#: Sections of a current rubric, in this order, each a level-2 heading.
SECTIONS = ("Question", "In scope", "Not in scope", "Scale", "Worked examples", "Closing directive")

#: Who may own what a rubric leaves out: the other rubrics, and speed, which a program measures.
_OWNERS = (*SIGNAL_NAMES, "speed")

#: How a worked example ends: the value or the grade that it gets.
_ENDINGS = dict.fromkeys(SIGNAL_NAMES, r"Value: `(0(\.\d+)?|1(\.0)?)`") | {"check": r"Grade: `(\d|10)`"}


class SignalRubric(RubricText):
    """One version of the rubric of a signal, or of goal checks."""

    question: SignalName


def load_signal_rubric(name: str, version: str | None = None) -> SignalRubric:
    """The rubric of a signal, or that of goal checks (``check``), by default the current version.

    Raises
    ------
    InputError
        No such signal or version, or the file breaks a rule; the message names file and rule.
    """
    name = one_of("signal", name, SIGNAL_NAMES)
    return chosen_version(list_signal_rubrics(name), name, version)


def list_signal_rubrics(name: str) -> list[SignalRubric]:
    """All versions of one signal's rubric, oldest first."""
    folder = "goal_checks" if name == "check" else "axis_signals"
    return [read_signal_rubric(path) for path in version_paths(f"{folder}/{name}")]


def read_signal_rubric(path: Path) -> SignalRubric:
    """Read one file and check it; drafts and superseded versions need only their front matter.

    Raises
    ------
    InputError
        The message names the file and the rule it breaks.
    """
    rubric, where = read_text(path, SignalRubric), short_path(path)
    if (rubric.question, rubric.version) != (path.parent.name, path.stem):
        name = f"{rubric.question} {rubric.version}"
        raise InputError(where, "question and version must match the file's place", name)
    if rubric.status == "current":
        _check_current(where, rubric)
    return rubric


def _check_current(where: str, rubric: SignalRubric) -> None:
    check_form(where, rubric, SECTIONS)
    for example in rubric.examples:
        if not re.search(rf"{_ENDINGS[rubric.question]}$", example):
            ending = "Grade: `7`" if rubric.question == "check" else "Value: `0.7`"
            cure = f"end it with a line such as {ending}"
            raise InputError(where, "each worked example must end with its number", example.splitlines()[0], cure)
    owners = [f"`{name}`" for name in _OWNERS if name != rubric.question]
    for line in filter(None, rubric.sections["Not in scope"].splitlines()):
        if not any(owner in line for owner in owners):
            raise InputError(where, "each line of Not in scope must name what owns the question", line)
