"""Whom to cite: authors of a writeup, its CITATION.cff, and the works in a file of BibTeX."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.figures.markup import visible

#: The works that methods cite.
SHIPPED = Path(__file__).resolve().parent / "references.bib"
#: Who stands in CITATION.cff where nobody is named: the format requires an author, and no name is made up.
NOBODY = "anonymous"


@dataclass(frozen=True)
class Work:
    """An entry of a file of BibTeX: its key, its fields, and its text there."""

    key: str
    fields: Mapping[str, str]
    text: str

    @property
    def sentence(self) -> str:
        """Authors, year, title, where, and an address."""
        values = {name: re.sub(r"[{}]", "", value).replace("--", "–") for name, value in self.fields.items()}
        authors = values.get("author", "").replace(" and ", "; ")
        volume = " ".join(filter(None, [values.get("journal") or values.get("booktitle"), values.get("volume")]))
        where = ", ".join(filter(None, [volume, values.get("pages")]))
        preprint = f"arXiv:{values['eprint']}" if "eprint" in values else ""
        address = f"https://doi.org/{values['doi']}" if "doi" in values else values.get("url", "")
        parts = [f"{authors} ({values.get('year', 'n.d.')})", values.get("title", self.key), where, preprint, address]
        return ". ".join(part.rstrip(".") for part in parts if part)


def authors_of(home: Path, given: Sequence[str]) -> list[str]:
    """The authors that are given, else those of the workbench's pyproject.toml."""
    if given:
        return list(given)
    return [author["name"] for author in _project(home).get("authors", []) if "name" in author]


def release_of(home: Path, released: str = "") -> dict[str, str]:
    """Licence and version of the workbench's pyproject.toml, where it names them, and the day of the release.

    Raises
    ------
    InputError
        `released` is no day.
    """
    try:
        day = date.fromisoformat(released) if released else datetime.now(UTC).date()
    except ValueError:
        raise InputError("--date", "must be a day, such as 2026-11-26", released) from None
    project = _project(home)
    licence = project.get("license", "")
    licence = licence.get("text", "") if isinstance(licence, Mapping) else licence
    return {"license": str(licence), "version": str(project.get("version", "")), "date": day.isoformat()}


def _project(home: Path) -> dict[str, Any]:
    """What pyproject.toml says of the workbench; nothing where there is none."""
    try:
        return dict(tomllib.loads((home / "pyproject.toml").read_text(encoding="utf-8")).get("project", {}))
    except (OSError, tomllib.TOMLDecodeError):
        return {}


def citation_cff(kept: Mapping[str, Any], abstract: str) -> str:
    """CITATION.cff 1.2.0 of what stands in ``bundle.json``; see https://citation-file-format.github.io."""
    people = [_person(author) for author in kept["authors"]] or [{"name": NOBODY}]
    release = kept["release"]
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these results, please cite them.",
        "type: dataset",
        f"title: {_scalar(kept['title'])}",
        "authors:",
        *(
            f"{'  - ' if first else '    '}{name}: {_scalar(value)}"
            for person in people
            for first, (name, value) in zip((True, False), person.items(), strict=False)
        ),
        *(f"{name}: {_scalar(release[name])}" for name in ("version", "license") if release[name]),
        f"date-released: {release['date']}",
        f"abstract: {_scalar(abstract)}",
    ]
    return "\n".join(lines) + "\n"


def _scalar(text: str) -> str:
    """Text as YAML takes it whatever stands in it: JSON's strings are YAML's."""
    return json.dumps(visible(text), ensure_ascii=False)


def read_works(path: Path) -> dict[str, Work]:
    """The entries of a file of BibTeX by their keys.

    Raises
    ------
    InputError
        It cannot be read, or an entry has no end or no key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "must be a file of BibTeX", str(error)) from None
    works = {}
    for match in re.finditer(r"^[ \t]*@(\w+)\s*\{\s*([^\s,{}]*)\s*,", text, flags=re.MULTILINE):
        if match[1].lower() in ("comment", "string", "preamble"):
            continue
        end = _closing(text, text.index("{", match.start()))
        if end is None or not match[2]:
            line = text.count("\n", 0, match.start()) + 1
            raise InputError(f"{path.name}, line {line}", "an entry must have a key and an end", match[0].strip())
        works[match[2]] = Work(match[2], _fields(text[match.end() : end]), text[match.start() : end + 1].strip())
    return works


def _fields(body: str) -> dict[str, str]:
    """``name = {value}`` or ``name = "value"`` or ``name = 1990``, values over several lines too."""
    fields, at = {}, 0
    while match := re.compile(r"\s*,?\s*([\w-]+)\s*=\s*").match(body, at):
        start = match.end()
        if body[start : start + 1] == "{":
            end = _closing(body, start)
            end = len(body) if end is None else end
            value, at = body[start + 1 : end], end + 1
        elif body[start : start + 1] == '"':
            end = body.find('"', start + 1)
            end = len(body) if end < 0 else end
            value, at = body[start + 1 : end], end + 1
        else:
            bare = re.compile(r"[^,\s]*").match(body, start)
            value, at = (bare[0], bare.end()) if bare else ("", start + 1)
        fields[match[1].lower()] = " ".join(value.split())
    return fields


def _closing(text: str, opening: int) -> int | None:
    """Where the brace that opens at `opening` is closed."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return None


def _person(author: str) -> dict[str, str]:
    """``Given Family`` or ``Family, Given``; one word is a name as a whole."""
    family, comma, given = (part.strip() for part in author.partition(","))
    if not comma:
        given, _, family = author.strip().rpartition(" ")
    return {"family-names": family, "given-names": given} if given and family else {"name": author.strip()}
