"""`axisjudge read`: what is in these trajectories."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show


def read(
    paths: Annotated[list[Path], typer.Argument(help="Trajectory files, folders or globs.")],
    tools: Annotated[Path | None, typer.Option(help="Tool schemas, where the source lacks them.")] = None,
    policy: Annotated[Path | None, typer.Option(help="The agent's policy, where the source lacks it.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's name, where the source lacks it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False,
) -> None:
    """Counts, agents, tasks, domains, steps, tools, rewards, endings and warnings; nothing is judged."""
    from axisjudge.readers import read_trajectories

    reading = read_trajectories(*paths, tools=tools, policy=policy, agent=agent)
    if json:
        show.as_json(reading.summary())
        return
    for name, value in reading.summary().items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count}" for key, count in value.items()) or "-"
        typer.echo(f"{name:<18} {show.text(value)}")
    show.table(
        [{"file": w.file, "position": w.position, "rule": w.rule, "detail": w.detail} for w in reading.warnings],
        "Warnings",
    )
