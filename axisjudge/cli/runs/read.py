"""`axisjudge read`: what is in these trajectories."""

import json as json_text
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show

if TYPE_CHECKING:
    from axisjudge.readers.summary import RunCounts
    from axisjudge.trajectory import Trajectory

MOST_WARNINGS = 40


def read(
    paths: options.Paths,
    tools: options.Tools = None,
    tool_kind: options.ToolKinds = [],  # noqa: B006
    policy: options.Policy = None,
    agent: options.Agent = None,
    domain: options.Domain = None,
    strict: options.Strict = False,
    to: Annotated[
        str | None,
        typer.Option(help="Write the trajectories to this file as axisjudge's own JSON Lines (or .gz); or atif."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --to atif: a folder, a file a run; or a .jsonl (.gz), a line a run.")
    ] = None,
    cluster: options.Cluster = None,
    json: show.Json = False,
) -> None:
    """Counts, agents, tasks, domains, steps, tools, rewards, endings and warnings; nothing is judged.

    A file that is broken, empty or of no known format is listed with its reason and the others are read; the exit code
    is then 1.
    """
    from axisjudge.cluster import workers_of
    from axisjudge.readers import summarise
    from axisjudge.readers.by_file import made_of_files
    from axisjudge.readers.events import NO_STEP
    from axisjudge.readers.own import write_lines

    target = Path(to) if to is not None and to != "atif" else out
    if (to == "atif") != (out is not None):
        raise InputError("--to", "atif and --out go together", to, "such as --to atif --out runs/")

    runs: list[RunCounts] = []
    context: dict[str, Any] = {"tools": tools, "policy": policy, "agent": agent, "domain": domain}
    with workers_of(cluster) as workers:
        work = partial(_written_and_counted, form=None if to is None else "atif" if to == "atif" else "own")
        reading = made_of_files(paths, work, workers, **context, tool_kinds=tool_kind, strict=strict)
        lines = _counting(reading, runs)
        if target is None:
            deque(lines, maxlen=0)
        elif to == "atif" and not {".jsonl", ".ndjson", ".gz"} & {target.suffix}:
            _write_each(target, lines)
        else:
            write_lines(target, lines)
    show.account.refused += reading.refused
    summary = summarise(runs, files=len(reading.files), warnings=reading.warnings).to_dict()
    if json:
        lists = {name: [asdict(row) for row in getattr(reading, name)] for name in ("files", "warnings", "refused")}
        show.as_json({**summary, **lists, **({} if target is None else {"to": str(target)})})
        return
    for name, value in summary.items():
        counts = value.items() if isinstance(value, dict) else ()
        words = ", ".join(f"{show.text(key)} {show.text(count)}" for key, count in counts)
        typer.echo(f"{name.replace('_', ' '):<20}{words or show.text(value or 0)}")
    show.table([asdict(file) for file in reading.files], "Files")
    if reading.warnings:
        ordered = sorted(reading.warnings, key=lambda warning: warning.rule == NO_STEP)
        listed = ordered[:MOST_WARNINGS]
        show.table([asdict(warning) for warning in listed], "Warnings")
        if rest := len(reading.warnings) - len(listed):
            typer.echo(f"  and {rest} more, all of them counted above and listed with --json")
    if target is not None:
        typer.echo(f"\n{len(runs)} trajectories: {target}")


def _counting(made: "Iterable[tuple[bytes, RunCounts]]", runs: "list[RunCounts]") -> "Iterator[bytes]":
    """The lines one by one; what the summary takes is kept in `runs`."""
    for line, run in made:
        runs.append(run)
        yield line


def _write_each(folder: Path, lines: "Iterable[bytes]") -> None:
    """Each trajectory of ATIF in a file of its own, by its place among them and its id."""
    import re

    folder.mkdir(parents=True, exist_ok=True)
    for number, line in enumerate(lines, 1):
        name = re.sub(r"[^\w.-]+", "_", str(json_text.loads(line)["session_id"]))[:80]
        (folder / f"{number:04d}-{name}.json").write_bytes(line)


def _written_and_counted(runs: "Sequence[Trajectory]", *, form: str | None) -> "list[tuple[bytes, RunCounts]]":
    """Each trajectory as a line of the form that is wanted, and what the summary takes of it."""
    from axisjudge.readers.atif import atif_line
    from axisjudge.readers.own import line_of
    from axisjudge.readers.summary import counted

    write = {"own": line_of, "atif": atif_line}.get(form or "")
    return [(write(run) if write else b"", counted(run)) for run in runs]
