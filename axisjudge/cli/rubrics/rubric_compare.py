"""`axisjudge rubric compare`: did the new versions of some rubrics make the judges agree?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.options import pairs

if TYPE_CHECKING:
    import polars as pl


def compare(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files that hold both versions of each axis.")],
    change: Annotated[list[str], typer.Option(help="An axis and its two versions, as axis=v2:v3; one for each axis.")],
    looking: Annotated[
        bool, typer.Option("--looking", help="Intervals that hold however often you look while tasks come in.")
    ] = False,
    json: show.Json = False,
) -> None:
    """Compare two versions of a rubric, or of several, on the calibration side: one family of tests, by Holm.

    Exit 4 where models judged two versions at different times and the noise of occasions was not measured.
    """
    from axisjudge.protocol import find_split
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.studies.rubric_versions import rubric_versions
    from axisjudge.studies.rubric_versions.versions import HELD_OUT

    split = find_split()
    held_out = split.held_out if split else HELD_OUT
    if looking:
        _looked(read_ratings(*ratings), _changes(change), held_out, json=json)
        return
    result = rubric_versions(read_ratings(*ratings), _changes(change), held_out=held_out)
    code = 4 if any(turn.pair.apart for turn in result.turns) else 0
    if json:
        show.as_json({"family": [turn.axis for turn in result.turns], "turns": result.turns})
        raise typer.Exit(code)
    if result.banner:
        typer.echo(result.banner)
    title = f"Change of agreement, task by task; Holm over {len(result.turns)} axes"
    show.table(plain(result.table), title)
    for turn in result.turns:
        typer.echo(f"\n{turn.headline}")
        for sentence in turn.details:
            typer.echo(f"  {sentence}")
    raise typer.Exit(code)


def _looked(ratings: pl.DataFrame, changes: dict[str, tuple[str, str]], held_out: Sequence[str], *, json: bool) -> None:
    from axisjudge.studies._shared.frames import banner, made_up_raters
    from axisjudge.studies.rubric_versions import looked_change, looked_sentences
    from axisjudge.studies.rubric_versions.versions import read_versions

    pairs_read = [read_versions(ratings, axis, *both, held_out=held_out) for axis, both in changes.items()]
    level = 1 - 0.05 / len(pairs_read)
    looks = [looked_change(*pair, ci_level=level) for pair in pairs_read]
    sentences, rows = looked_sentences(looks), [look.row() for look in looks]
    if json:
        show.as_json({"looks": rows, "sentences": sentences})
        return
    if made_up := made_up_raters(ratings):
        typer.echo(banner(made_up))
    show.table(rows, f"Change of agreement, {level:.1%} at every look")
    show.lines(sentences)


def _changes(given: list[str]) -> dict[str, tuple[str, str]]:
    from axisjudge.verdict import AXES

    form, cure = "axis=before:after", "for example argument_validity=v2:v3"
    changes: dict[str, tuple[str, str]] = {}
    for axis, versions in pairs("--change", given, form, cure=cure).items():
        before, _, after = versions.partition(":")
        if not before or not after:
            raise InputError("--change", f"is written {form}", versions, cure)
        changes[one_of("--change", axis, AXES)] = before, after
    return changes
