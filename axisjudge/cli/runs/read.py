"""`axisjudge read`: what is in these trajectories."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import options, show

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
    json: show.Json = False,
) -> None:
    """Counts, agents, tasks, domains, steps, tools, rewards, endings and warnings; nothing is judged.

    A broken file among others is listed with its reason and the others are read; the exit code is then 1.
    """
    from axisjudge.readers import read_trajectories, write_trajectories
    from axisjudge.readers.events import NO_STEP

    reading = read_trajectories(
        *paths, tools=tools, policy=policy, agent=agent, domain=domain, tool_kinds=tool_kind, strict=strict
    )
    summary = reading.summary().to_dict()
    if to is not None:
        write_trajectories(to, reading)
    if json:
        lists = {name: [asdict(row) for row in getattr(reading, name)] for name in ("files", "warnings", "refused")}
        show.as_json({**summary, **lists, **({} if to is None else {"to": str(to)})})
        show.stop_if_refused(reading.refused, quiet=True)
        return
    for name, value in summary.items():
        counts = (
            ", ".join(f"{show.text(key)} {show.text(count)}" for key, count in value.items())
            if isinstance(value, dict)
            else ""
        )
        typer.echo(f"{name.replace('_', ' '):<20}{counts or show.text(value or 0)}")
    show.table([asdict(file) for file in reading.files], "Files")
    if reading.warnings:
        ordered = sorted(reading.warnings, key=lambda warning: warning.rule == NO_STEP)
        listed = ordered[:MOST_WARNINGS]
        show.table([asdict(warning) for warning in listed], "Warnings")
        if rest := len(reading.warnings) - len(listed):
            typer.echo(f"  and {rest} more, all of them counted above and listed with --json")
    if to is not None:
        typer.echo(f"\n{len(reading)} trajectories: {to}")
    show.stop_if_refused(reading.refused)
