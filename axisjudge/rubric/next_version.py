"""The next version of a rubric: begun as a draft, and refused as a judge's rubric where it is none yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError, one_of
from axisjudge.rubric.axes import Rubric, list_rubrics, load_rubric, yaml_in
from axisjudge.verdict import AXES
from axisjudge.workbench import own, write_whole

#: Where the drafts of an axis stand that `axisjudge rubric improve` wrote.
DRAFTS = "drafts"
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
    axis = one_of("axis", axis, AXES)
    before = load_rubric(axis, base)
    versions = list_rubrics(axis)
    if unedited := [each.version for each in versions if each.status == "draft" and same_text(each, before)]:
        rule = f"is a draft with the text of {before.version}"
        raise InputError(f"rubrics/{axis}/{unedited[-1]}.md", rule, cure="edit it, or remove it")
    return write_version(axis, before.text, changes or UNSAID)


def write_version(axis: str, text: str, changes: str, **more: str) -> Path:
    """Write a text as the next version of an axis's rubric, a draft; `more` stands in its front matter."""
    version = f"v{1 + max(_number(each) for each in list_rubrics(axis))}"
    front = {"axis": axis, "version": version, "date": date.today(), "status": "draft", "changes": changes, **more}
    path = own() / "rubrics" / axis / f"{version}.md"
    path.touch(exist_ok=False)  # never over a version that somebody began meanwhile
    write_whole(path, with_front(front, text))
    return path


def read_draft(path: Path) -> tuple[dict[str, Any], str]:
    """Front matter and text of a draft of a search."""
    head, _, text = path.read_text(encoding="utf-8").removeprefix("---\n").partition("\n---\n")
    return yaml_in(head), text


def _take_draft(axis: str, key: str) -> str:
    """Write a draft of a search as the next version: a person's choice, which the search has not shown better."""
    folder, where = own() / "rubrics" / axis / DRAFTS, f"rubrics/{axis}/{DRAFTS}/{key}.md"
    front, text = read_draft(folder / f"{key}.md")
    if front["status"] == "refused":
        raise InputError(where, "was refused", front["refused"], "take another candidate")
    if there := version_that_says(axis, text):
        raise InputError(where, f"has the text of {there}", cure=f"axisjudge rubric promote {axis} {there}")
    reasons = [front["reason"]]
    while (parent := folder / f"{front['parent']}.md").exists():
        front, _ = read_draft(parent)
        reasons.insert(0, front["reason"])
    changes = "; ".join(dict.fromkeys(filter(None, reasons))) or "an edit that a model proposed"
    return write_version(axis, text, changes, chosen_draft=key).stem


def with_front(front: Mapping[str, Any], text: str) -> str:
    """What a rubric's file holds: front matter, then its text."""
    import yaml

    head = yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{head}---\n{text}"


def promote_version(axis: str, version: str) -> tuple[Path, str | None]:
    """Make a draft the current rubric of its axis; the one that was current is superseded. No text is changed.

    Parameters
    ----------
    axis : str
    version : str
        The draft, such as ``v5``; or a draft of a search by its id, which becomes the next version first, and says
        for good (`Rubric.chosen_draft`) that a person chose it and that it was not shown better.

    Returns
    -------
    Path
        The file of the new current version.
    str or None
        The version that it takes the place of.

    Raises
    ------
    InputError
        No such version, not a draft, one that nobody has edited or said the changes of, or one older than the current;
        a draft of a search that was refused, or whose text is that of a version.
    """
    axis = one_of("axis", axis, AXES)
    if version in {path.stem for path in (own() / "rubrics" / axis / DRAFTS).glob("*.md")}:
        load_rubric(axis)  # nothing is written where no version, or more than one, is current
        version = _take_draft(axis, version)
    draft, versions = load_rubric(axis, version), list_rubrics(axis)
    where = f"rubrics/{axis}/{version}.md"
    if draft.status != "draft":
        raise InputError(where, "must be a draft", draft.status, f"begin one: axisjudge rubric new {axis}")
    if UNSAID in draft.changes:
        raise InputError(where, "must say what changed", draft.changes, "say it in its front matter")
    check_versions([draft])
    current = next((each for each in versions if each.status == "current"), None)
    if current is not None and _number(current) > _number(draft):
        cure = f"begin a new one: axisjudge rubric new {axis} --from {version}"
        raise InputError(where, f"is older than {current.version}, which is current", cure=cure)
    changes = {draft.version: "current"} | ({current.version: "superseded"} if current else {})
    written = {own() / "rubrics" / axis / f"{each}.md": status for each, status in changes.items()}
    texts = {path: _with_status(path, status) for path, status in written.items()}  # all of them, or none is written
    for path, text in texts.items():
        write_whole(path, text)
    return next(iter(written)), current.version if current else None


def check_newest(rubrics: Iterable[Rubric]) -> None:
    """Check that no draft is newer than what would be locked, as a lock and its opening cannot be taken back.

    Raises
    ------
    InputError
        A newer draft of an axis exists.
    """
    for rubric in rubrics:
        newer = [
            each for each in list_rubrics(rubric.axis) if each.status == "draft" and _number(each) > _number(rubric)
        ]
        if newer:
            axis, last = rubric.axis, newer[-1].version
            cure = (
                f"axisjudge rubric promote {axis} {last}, or lock the older one on purpose: --rubric "
                f"{axis}={rubric.version}"
            )
            rule = f"is a draft newer than {rubric.version}, which would be locked"
            raise InputError(f"rubrics/{axis}/{last}.md", rule, cure=cure)


def _with_status(path: Path, status: str) -> str:
    """The file with another status in its front matter, however that is quoted or commented."""
    _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
    changed, n = re.subn(r"(?m)^status\s*:[^\n]*$", f"status: {status}", front)
    if n != 1:
        raise InputError(str(path), "must say its status once, on a line of its own", n)
    return f"---\n{changed}---\n{text}"


def _number(rubric: Rubric) -> int:
    return int(rubric.version[1:])


def same_text(one: Rubric, other: Rubric) -> bool:
    """Whether two versions tell judges the same; spaces and line ends do not count."""
    return one.version != other.version and one.text.split() == other.text.split()


def version_that_says(axis: str, text: str) -> str | None:
    """The first version of an axis whose rubric has this text, spaces and line ends aside."""
    return next((each.version for each in list_rubrics(axis) if each.text.split() == text.split()), None)


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
