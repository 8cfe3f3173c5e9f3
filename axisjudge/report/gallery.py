"""Reports of real data that are kept in git: which there are, and their table of contents."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.figures.markup import literal, visible

FOLDER, LIST = "reports/gallery", "gallery.toml"


_ABOUT = (
    "Reports of real judges and real people, as numbers only. `axisjudge report --gallery` makes them from the votes "
    "and verdicts that ship with the workbench and from public sets that `axisjudge data fetch` has. The part tau2 of "
    "AgentProcessBench is in [02_agreement](../02_agreement/report.md) and [03_people](../03_people/report.md); "
    "published tables are computed again in [01_rubric_versions](../01_rubric_versions/report.md), "
    "[02_agreement](../02_agreement/report.md), [05_failures](../05_failures/report.md) "
    "and [06_trace](../06_trace/report.md)."
)


@dataclass(frozen=True)
class GalleryEntry:
    """A report of the gallery: its notebook, what its data are called, and the parameters that it is run with."""

    notebook: str
    data: str
    parameters: dict[str, Any]


def read_gallery(home: Path) -> dict[str, GalleryEntry]:
    """The entries of reports/gallery/gallery.toml, in their order.

    Raises
    ------
    InputError
        There is no such file, or an entry of another shape.
    """
    path = home / FOLDER / LIST
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            name: GalleryEntry(str(entry.pop("notebook")), str(entry.pop("data")), entry)
            for name, entry in listed.items()
        }
    except (OSError, tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        cure = 'an entry is [name], notebook = "02_agreement", data = "AltTest", and a line for each parameter'
        raise InputError(f"{FOLDER}/{LIST}", f"cannot be read ({error})", cure=cure) from None


def write_contents(home: Path) -> None:
    """README.md of the gallery: every report with its question and its finding."""
    lines = ["# Gallery", "", _ABOUT, ""]
    for name, entry in read_gallery(home).items():
        results = home / FOLDER / name / "results.json"
        if results.exists():
            said = json.loads(results.read_text(encoding="utf-8"))
            finding = said.get("answer") or said["finding"] or next(iter(said["findings"]), "")
            question = f"[{literal(said['title'])}]({name}/report.md)"
            lines += [f"- **{literal(entry.data)}**: {question} (`{said['command']}`): {literal(finding)}"]
    (home / FOLDER / "README.md").write_text(visible("\n".join(lines)) + "\n", encoding="utf-8")
