"""Rubrics: ``rubrics/<axis>/v<k>.md``, front matter and prose with fixed sections.

What is judged of a run beside the five axes has rubrics of the same form (`axisjudge.rubric.signals`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from axisjudge.checks import DuplicateKey, InputError, once_each, one_of
from axisjudge.verdict import AXES, VERDICTS, Axis
from axisjudge.workbench import home

#: Sections of a current rubric, in this order, each a level-2 heading.
SECTIONS = ("Question", "In scope", "Not in scope", "Verdicts", "Worked examples", "Citing steps", "Closing directive")

#: No rubric may be longer. A token is counted as four characters, which is near the truth for English prose in the
#: current tokenizers and needs no tokenizer offline.
TOKEN_CEILING = 2_000

MIN_EXAMPLES = 3


class RubricText(BaseModel):
    """One version of a rubric. `text` is the prose that judges are shown; `sha256` is its hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    date: date
    status: Literal["draft", "current", "superseded"]
    changes: str
    text: str

    @property
    def sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    @property
    def tokens(self) -> int:
        """Length in tokens, counted as four characters each."""
        return -(-len(self.text) // 4)

    @property
    def headings(self) -> list[str]:
        """Level-2 headings in order, one that stands twice included."""
        return [heading for heading, _ in _parts(self.text)]

    @property
    def sections(self) -> dict[str, str]:
        """Level-2 headings and what stands under them, in order."""
        return dict(_parts(self.text))

    @property
    def examples(self) -> list[str]:
        """The worked examples (level-3 headings under that section)."""
        body = self.sections.get("Worked examples", "")
        return [part.strip() for part in re.split(r"(?m)^### +", body)[1:]]


@lru_cache
def _parts(text: str) -> tuple[tuple[str, str], ...]:
    """Each level-2 heading with what stands under it; a run's every label asks for it."""
    parts = re.split(r"(?m)^## +(.+?) *$", text)[1:]
    return tuple(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


class Rubric(RubricText):
    """One version of one axis's rubric; `chosen_draft` is a draft of a search that a person took, not shown better."""

    axis: Axis
    chosen_draft: str | None = None


Kind = TypeVar("Kind", bound=RubricText)


def load_rubric(axis: str, version: str | None = None) -> Rubric:
    """The rubric of `axis` in `version` (``v3``), by default the one whose status is current.

    Raises
    ------
    InputError
        No such axis or version, or the file breaks a rule; the message names file and rule.
    """
    axis = one_of("axis", axis, AXES)
    return chosen_version(list_rubrics(axis), axis, version)


def list_rubrics(axis: str) -> list[Rubric]:
    """All versions of an axis, oldest first."""
    return [read_rubric(path) for path in version_paths(axis)]


def read_rubric(path: Path) -> Rubric:
    """Read one rubric file and check it.

    Every version needs valid front matter that agrees with the file's place. A current one also needs the sections
    `SECTIONS` in order, at most `TOKEN_CEILING` tokens, `MIN_EXAMPLES` worked examples that each end with their verdict
    and one of them a near-miss, the owning axis in every line of Not in scope, and all four verdicts defined. Drafts
    and superseded versions stay as they were written.

    Raises
    ------
    InputError
        The message names the file and the rule it breaks.
    """
    rubric, where = read_text(path, Rubric), short_path(path)
    if (rubric.axis, rubric.version) != (path.parent.name, path.stem):
        rule, cure = "axis and version must match the file's place", "write them as its folder and name do, or move it"
        raise InputError(where, rule, f"{rubric.axis} {rubric.version}", cure)
    if rubric.status == "current":
        _check_current(where, rubric)
    return rubric


def version_paths(folder: str) -> list[Path]:
    """The files ``rubrics/FOLDER/v<k>.md``, oldest first."""
    paths = list((home() / "rubrics" / folder).glob("*.md"))
    for path in paths:
        if not re.fullmatch(r"v[1-9]\d*", path.stem):
            raise InputError(f"rubrics/{folder}/{path.name}", "rubric files are named v1.md, v2.md, ...")
    return sorted(paths, key=lambda path: int(path.stem[1:]))


def chosen_version(rubrics: Sequence[Kind], name: str, version: str | None) -> Kind:
    """The version asked for, by default the one whose status is current."""
    by_version = {rubric.version: rubric for rubric in rubrics}
    if version is not None:
        return by_version[one_of(f"version of {name}", version, list(by_version))]
    current = [rubric for rubric in rubrics if rubric.status == "current"]
    if len(current) != 1:
        rule, cure = (
            "exactly one version must have status current",
            "set status of one to current, of others to superseded",
        )
        raise InputError(f"rubrics/{name}", rule, [each.version for each in current] or "none", cure)
    return current[0]


def short_path(path: Path) -> str:
    """A rubric's file as messages name it."""
    return "/".join(path.parts[-3:])


def read_text(path: Path, kind: type[Kind]) -> Kind:
    """Front matter and prose of a file.

    Raises
    ------
    InputError
        It is not text, or its front matter is not that of `kind`.
    """
    import yaml

    where = short_path(path)
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(where, "must be UTF-8 text", error.reason) from error
    match = re.fullmatch(r"---\n(.*?)\n---\n+(.*)", content, flags=re.DOTALL)
    if match is None:
        raise InputError(where, "must begin with front matter between two lines of ---")
    try:
        return kind(**yaml_in(match[1]), text=match[2].strip() + "\n")
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise InputError(where, f"front matter is not valid: {'; '.join(faults)}") from error
    except (yaml.YAMLError, TypeError) as error:
        raise InputError(where, f"front matter is not valid: {' '.join(str(error).split())}") from error


def yaml_in(text: str) -> Any:
    """What a YAML text holds.

    Raises
    ------
    yaml.YAMLError
        It is none, or has a key twice, of which yaml itself takes the last.
    """
    import yaml

    class Once(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            try:
                once_each([(self.construct_object(key, deep=True), None) for key, _ in node.value])
            except DuplicateKey as error:
                raise yaml.constructor.ConstructorError(None, None, error.msg, node.start_mark) from error
            return super().construct_mapping(node, deep)

    return yaml.load(text, Once)  # a safe one


def check_form(where: str, rubric: RubricText, sections: Sequence[str]) -> None:
    """Sections in order, the ceiling of tokens, and enough worked examples: what every current rubric must have."""
    if tuple(rubric.headings) != tuple(sections):
        raise InputError(where, f"sections must be {', '.join(sections)}, in this order", rubric.headings)
    if rubric.tokens > TOKEN_CEILING:
        raise InputError(where, f"must not be longer than {TOKEN_CEILING} tokens (4 characters each)", rubric.tokens)
    if len(rubric.examples) < MIN_EXAMPLES:
        raise InputError(where, f"needs at least {MIN_EXAMPLES} worked examples (### headings)", len(rubric.examples))


def _check_current(where: str, rubric: Rubric) -> None:
    check_form(where, rubric, SECTIONS)
    if not any("near-miss" in example.lower() for example in rubric.examples):
        raise InputError(where, "one worked example must be marked as a near-miss")
    for example in rubric.examples:
        if not example.endswith(tuple(f"Verdict: `{word}`" for word in VERDICTS)):
            cure = "end it with a line such as Verdict: `correct`"
            raise InputError(where, "each worked example must end with its verdict", example.splitlines()[0], cure)
    peers = [f"`{axis}`" for axis in AXES if axis != rubric.axis]
    for line in filter(None, rubric.sections["Not in scope"].splitlines()):
        if not any(peer in line for peer in peers):
            raise InputError(where, "each line of Not in scope must name the peer axis that owns the question", line)
    if missing := [word for word in VERDICTS if f"`{word}`" not in rubric.sections["Verdicts"]]:
        raise InputError(where, "all four verdicts must be defined", cure=f"define {', '.join(missing)}")
