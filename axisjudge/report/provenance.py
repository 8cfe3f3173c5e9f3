"""Where a report comes from: the part that differs from run to run and so stands in the page alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from axisjudge.figures.markup import literal
from axisjudge.report.digest import git_commit, versions

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
    parts = [
        "## Provenance",
        _table("run", run),
        _table("parameter", {name: repr(value) for name, value in results["parameters"].items()}),
        _table("input (sha256)", results["inputs"]),
        _rows(raters, ("rater", "rater_kind", "family", "model", "ratings", "lost")),
        _rows([_rounded(row) for row in costs], _PAID),
        _rows([_brief(row) for row in results["judged_with"] if _has_read(row)], _ASKED),
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


def _has_read(row: Mapping[str, Any]) -> bool:
    """Whether a rater was given a rubric or a prompt, or said which model it was."""
    return bool(row["rubric_sha256"] or row["prompts"] or row["returned_models"])


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: f"{value:,.3f}" if isinstance(value, float) else value for name, value in row.items()}


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
