"""`axisjudge rubric compare`: did the new versions of some rubrics make the judges agree?"""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show
from axisjudge.cli.options import pairs


def compare(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files that hold both versions of each axis.")],
    change: Annotated[list[str], typer.Option(help="An axis and its two versions, as axis=v2:v3; one for each axis.")],
    json: show.Json = False,
) -> None:
    """Two versions each of one rubric or several on the calibration side: one family of tests, adjusted by Holm."""
    from axisjudge.protocol import find_split
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.studies.rubric_versions import rubric_versions
    from axisjudge.studies.rubric_versions.versions import HELD_OUT

    split = find_split()
    held_out = split.held_out if split else HELD_OUT
    result = rubric_versions(read_ratings(*ratings), _changes(change), held_out=held_out)
    if json:
        show.as_json({"family": [turn.axis for turn in result.turns], "turns": result.turns})
        return
    if result.banner:
        typer.echo(result.banner)
    title = f"Change of agreement, task by task; Holm over {len(result.turns)} axes"
    show.table(plain(result.table), title)
    for turn in result.turns:
        typer.echo(f"\n{turn.headline}")
        for sentence in turn.details:
            typer.echo(f"  {sentence}")


def _changes(given: list[str]) -> dict[str, tuple[str, str]]:
    from axisjudge.checks import InputError, one_of
    from axisjudge.verdict import AXES

    form, cure = "axis=before:after", "for example argument_validity=v2:v3"
    changes: dict[str, tuple[str, str]] = {}
    for axis, versions in pairs("--change", given, form, cure=cure).items():
        before, _, after = versions.partition(":")
        if not before or not after:
            raise InputError("--change", f"is written {form}", versions, cure)
        changes[one_of("--change", axis, AXES)] = before, after
    return changes
