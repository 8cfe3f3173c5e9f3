"""What a report was made from: as noted, the ground on which it is stale or up to date, and as its page says it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from axisjudge.figures.markup import literal
from axisjudge.report import digest
from axisjudge.report.digest import git_commit, versions
from axisjudge.report.drawn import KINDS
from axisjudge.report.links import EXPLORER
from axisjudge.sharing import in_words
from axisjudge.workbench import write_whole

#: Below reports/: the notes, which hold paths of this machine and stay out of git, and the locks of reports.
NOTES = ".made"
#: Whether a page may claim anything held out hangs on these, also while they are not there.
RECORD = ("rubrics/split.json", "rubrics/lock.json", "rubrics/ledger.jsonl")
_ABSENT, UNSURE = "absent", "changed while it was read"


def note_path(folder: Path) -> Path:
    """Where the note on the report in `folder` is kept."""
    return folder.parent / NOTES / f"{folder.name}.json"


def write_note(
    folder: Path, home: Path, made_from: str, read: Mapping[str, Any], *, began: float, seconds: float
) -> None:
    """Note what the report in `folder` was made from.

    Parameters
    ----------
    made_from : str
        `axisjudge.report.digest.input_digest`, as it was when the run began.
    read : mapping
        What `axisjudge.report.room.read_so_far` gave: ``files``, and ``listed`` as pairs of folder and pattern.
    began : float
        When the run began, in seconds since 1970: a file that changed since counts as changed, whatever was read of it.
    seconds : float
        How long it took.
    """
    files = {*read["files"], *(str(home / name) for name in RECORD)}
    note = {
        "made_from": made_from,
        "files": {_named(path, home): _state(Path(path), began) for path in sorted(files)},
        "listed": [[_named(folder, home), pattern, _listing(folder, pattern)] for folder, pattern in read["listed"]],
        "published": _published(folder),
        "seconds": round(seconds, 2),
    }
    write_whole(note_path(folder), json.dumps(note, indent=1))


def read_note(folder: Path) -> dict[str, Any]:
    """The note on the report in `folder`; empty where there is none."""
    try:
        note = json.loads(note_path(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def why_stale(folder: Path, home: Path, made_from: str) -> str:
    """Why the report in `folder` must be made anew; empty where nothing that it used has changed."""
    note = read_note(folder)
    if not note:
        return "it was not made here yet"
    if note.get("made_from") != made_from:
        return "its notebook, its parameters or the package have changed"
    if note.get("published") != _published(folder):
        return "its published files have changed"
    for name, state in note["files"].items():
        if _state(home / name) != state:
            return f"{name} has changed"
    for name, pattern, listing in note["listed"]:
        if _listing(str(home / name), pattern) != listing:
            return f"other files are in {name}"
    return ""


def _published(folder: Path) -> dict[str, str]:
    built = (path.relative_to(folder).as_posix() for path in (*figures_in(folder), *tables_in(folder)))
    names = ["results.json", "report.md", "report.html", EXPLORER, *built]
    return {name: _state(folder / name) for name in names}


def figures_in(folder: Path) -> list[Path]:
    """The figures of a report in each of `KINDS`, in order."""
    return sorted(path for kind in KINDS for path in (folder / "figures").glob(f"*.{kind}"))


def tables_in(folder: Path) -> list[Path]:
    """The tables of a report as CSV and LaTeX, in order."""
    return sorted(path for kind in ("csv", "tex") for path in (folder / "tables").glob(f"*.{kind}"))


def _state(path: Path, began: float | None = None) -> str:
    if path.is_dir() or not path.exists():
        return _ABSENT
    return UNSURE if began is not None and path.stat().st_mtime > began else digest.file_sha256(path)


def _listing(folder: str, pattern: str) -> str:
    """The names in a folder that fit a pattern, those of hidden files, locks and caches left out."""
    start = Path(folder)
    if not start.is_dir():
        return _ABSENT
    paths = start.iterdir() if not pattern else start.glob(pattern)
    names = (path.relative_to(start).as_posix() if path.is_relative_to(start) else str(path) for path in paths)
    kept = (name for name in names if not name.startswith(".") and not name.endswith((".lock", "__pycache__")))
    return digest.sum_up((name, "") for name in sorted(kept))


def _named(path: str, home: Path) -> str:
    """Relative to the workbench where it is below it."""
    return Path(path).relative_to(home).as_posix() if Path(path).is_relative_to(home) else path


_Rows = Sequence[Mapping[str, Any]]


def provenance_cell(workbench: Path, results: Mapping[str, Any], raters: _Rows, costs: _Rows, seconds: float) -> Any:
    """A markdown cell with date, commit, versions, parameters, hashes of inputs, counts of raters and their costs."""
    import nbformat

    run = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "computed in": f"{seconds:.1f} s",
        "commit": git_commit(workbench),
        "made again by": results["command"],
    }
    if taken := in_words(results.get("secrets", {}), may_stay=False):
        run["keys and tokens"] = taken
    parts = [
        "## Provenance",
        _table("run", run),
        _table("parameter", {name: repr(value) for name, value in results["parameters"].items()}),
        _table("input (sha256)", results["inputs"]),
        _rows(raters, ("rater", "rater_kind", "family", "model", "ratings", "lost")),
        _rows(
            [
                {name: f"{row[name]:,.3f}" if isinstance(row[name], float) else row[name] for name in row}
                for row in costs
            ],
            _PAID,
        ),
        _rows([_brief(row) for row in results["judged_with"] if any(map(row.get, _READ))], _ASKED),
        "Versions: " + ", ".join(f"{name} {version}" for name, version in versions().items()) + ".",
    ]
    cell = nbformat.v4.new_markdown_cell("\n\n".join(filter(None, parts)))  # type: ignore[no-untyped-call]
    cell.metadata["tags"] = ["provenance"]
    return cell


def _table(head: str, values: Mapping[str, Any]) -> str:
    lines = [f"| {literal(name)} | {literal(str(value))} |" for name, value in values.items()]
    return "\n".join([f"| {head} | value |", "|---|---|", *lines]) if lines else ""


_PER_1000 = "$ per 1,000 verdicts"
_PAID = ("judge", "calls", "verdicts", "lost", "tokens in", "cached share", "tokens out", "spent $", _PER_1000)
_ASKED = ("rater", "question", "returned_models", "rubric", "prompts", "prompts_sha256")


#: That a rater was given a rubric or a prompt, or said which model it was.
_READ = ("rubric_sha256", "prompts", "returned_models")


def _brief(row: Mapping[str, Any]) -> dict[str, Any]:
    rubric = f"{row['rubric_version']} ({row['rubric_sha256'][:12]})" if row["rubric_sha256"] else None
    prompts = row["prompts_sha256"] and row["prompts_sha256"][:12]
    models = ", ".join(row["returned_models"]) or None
    return {**row, "returned_models": models, "rubric": rubric, "prompts_sha256": prompts}


def _rows(rows: _Rows, names: Sequence[str]) -> str:
    lines = [[literal(str(row[name] if row[name] is not None else "–")) for name in names] for row in rows]
    numbers = {name for name in names if all(isinstance(row[name], int) for row in rows)}
    head = [[name.replace("_", " ") for name in names], ["---:" if name in numbers else "---" for name in names]]
    return "\n".join("| " + " | ".join(line) + " |" for line in [*head, *lines]) if rows else ""
