"""`axisjudge read`: what is in these trajectories."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
        Path | None, typer.Option(help="Write the trajectories to this file as axisjudge's own JSON Lines (or .gz).")
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

    runs: list[RunCounts] = []
    context: dict[str, Any] = {"tools": tools, "policy": policy, "agent": agent, "domain": domain}
    with workers_of(cluster) as workers:
        work = partial(_written_and_counted, lines=to is not None)
        reading = made_of_files(paths, work, workers, **context, tool_kinds=tool_kind, strict=strict)
        lines = _counting(reading, runs)
        if to is not None:
            write_lines(to, lines)
        else:
            deque(lines, maxlen=0)
    show.account.refused += reading.refused
    summary = summarise(runs, files=len(reading.files), warnings=reading.warnings).to_dict()
    if json:
        lists = {name: [asdict(row) for row in getattr(reading, name)] for name in ("files", "warnings", "refused")}
        show.as_json({**summary, **lists, **({} if to is None else {"to": str(to)})})
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
    if to is not None:
        typer.echo(f"\n{len(runs)} trajectories: {to}")


def _counting(made: "Iterable[tuple[bytes, RunCounts]]", runs: "list[RunCounts]") -> "Iterator[bytes]":
    """The lines one by one; what the summary takes is kept in `runs`."""
    for line, run in made:
        runs.append(run)
        yield line


def _written_and_counted(runs: "Sequence[Trajectory]", *, lines: bool) -> "list[tuple[bytes, RunCounts]]":
    """Each trajectory as a line of our own, where `lines` are wanted, and what the summary takes of it."""
    from axisjudge.readers.own import line_of
    from axisjudge.readers.summary import counted

    return [(line_of(run) if lines else b"", counted(run)) for run in runs]
