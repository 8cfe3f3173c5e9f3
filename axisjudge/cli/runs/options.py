"""Options that every command that asks judges has: what may be spent, and who says yes to it."""

from pathlib import Path
from typing import Annotated

import typer

Tools = Annotated[Path | None, typer.Option(help="Tool schemas, where the source lacks them.")]
ToolKind = Annotated[
    list[str], typer.Option(help="What a tool does, as NAME=read, NAME=write or NAME=generic; repeatable.")
]
Policy = Annotated[Path | None, typer.Option(help="The agent's policy, where the source lacks it.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N trajectories.")]
Budget = Annotated[
    float | None, typer.Option(min=0.000001, help="US dollars: stop before the call that could pass them (exit 3).")
]
AllowUnpriced = Annotated[bool, typer.Option("--allow-unpriced", help="Ask models that have no list price.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Spend more than 5 dollars without being asked.")]
Json = Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")]
