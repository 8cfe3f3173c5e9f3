"""The next version of a rubric: begun as a draft, and refused as a judge's rubric where it is none yet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from axisjudge.checks import InputError, one_of
from axisjudge.rubric.axes import Rubric, list_rubrics, load_rubric
from axisjudge.verdict import AXES
from axisjudge.workbench import own

#: Stands for what changed until somebody has said it; the lint asks for it.
UNSAID = "TO SAY in one sentence"


def begin_version(axis: str, base: str | None = None, *, changes: str = "") -> Path:
    """Write the next version of an axis's rubric as a draft with the text of `base`; nothing is opened or judged.

    Parameters
    ----------
    axis : str
    base : str, optional
        The version whose text it begins with, such as ``v3``; by default the current one.
    changes : str, optional
        What will be changed, in one sentence.

    Returns
    -------
    Path
        The new file, ``rubrics/AXIS/v<k + 1>.md``.

    Raises
    ------
    InputError
        No such axis or version, or a draft that still has the text of `base`.
    """
    import yaml

    axis = one_of("axis", axis, AXES)
    before = load_rubric(axis, base)
    versions = list_rubrics(axis)
    if unedited := [each.version for each in versions if each.status == "draft" and same_text(each, before)]:
        rule = f"is a draft with the text of {before.version}"
        raise InputError(f"rubrics/{axis}/{unedited[-1]}.md", rule, cure="edit it, or remove it")
    version = f"v{1 + max(int(each.version[1:]) for each in versions)}"
    front = {"axis": axis, "version": version, "date": date.today(), "status": "draft", "changes": changes or UNSAID}
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=10_000)
    path = own() / "rubrics" / axis / f"{version}.md"
    with path.open("x", encoding="utf-8") as file:
        file.write(f"---\n{head}---\n{before.text}")
    return path


def same_text(one: Rubric, other: Rubric) -> bool:
    """Whether two versions tell judges the same; spaces and line ends do not count."""
    return one.version != other.version and one.text.split() == other.text.split()


def check_versions(rubrics: Iterable[Rubric]) -> None:
    """Check, before anything is judged, that each rubric is a version of its own among those of its axis.

    Raises
    ------
    InputError
        An earlier version has the same text, or two versions of the axis are current.
    """
    for rubric in rubrics:
        versions = list_rubrics(rubric.axis)
        where = f"rubrics/{rubric.axis}/{rubric.version}.md"
        if current := [each.version for each in versions if each.status == "current"][1:]:
            cure = "make all but one superseded"
            first = next(each.version for each in versions if each.status == "current")
            raise InputError(f"rubrics/{rubric.axis}", f"{', '.join([first, *current])} are all current", cure=cure)
        earlier = [each for each in versions if int(each.version[1:]) < int(rubric.version[1:])]
        if twin := next((each for each in earlier if same_text(each, rubric)), None):
            cure = f"edit it before it judges, or judge with {twin.version}"
            raise InputError(where, f"has the text of {twin.version} under a new number", cure=cure)
