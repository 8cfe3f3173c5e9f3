"""What commands that ask judges print: what it will take, what came, what was lost, how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.judging.estimate import Estimate
    from axisjudge.judging.outcome import Outcome


def print_estimate(estimate: Estimate) -> None:
    """What the calls to models will take and cost, as ranges."""
    if estimate.judges:
        show.table(estimate.rows(), "Tokens, list price in US dollars and minutes, low to high")
        typer.echo(f"\n{estimate.sentence}.")


def print_outcome(outcome: Outcome, *, quiet: bool = False) -> None:
    """The last lines of a run: judges that were stopped, what is left, what was spent."""
    if quiet:
        return
    if any(end.stopped or end.failures for end in outcome.ends) or outcome.was_interrupted:
        show.table(outcome.rows(), "How far each judge came")
    for sentence in outcome.sentences():
        typer.echo(f"\n{sentence}")


def stop(code: int) -> None:
    """End with an exit code other than 0."""
    if code:
        raise typer.Exit(code)


def tally(ratings: pl.DataFrame) -> list[dict[str, Any]]:
    """For each rater and axis: how many ratings, each verdict's count, and how many were lost."""
    import polars as pl

    from axisjudge.verdict import AXES, VERDICTS

    words = [(pl.col("verdict") == word).sum().alias(word) for word in VERDICTS]
    lost = (pl.col("status") != "ok").sum().alias("lost")
    grouped = ratings.group_by("rater", "question", maintain_order=True).agg(pl.len().alias("n"), *words, lost)
    tallies = grouped.rename({"question": "axis"}).to_dicts()
    return sorted(tallies, key=lambda row: (row["rater"], AXES.index(row["axis"])))


def losses(ratings: pl.DataFrame) -> list[dict[str, Any]]:
    """For each rater and status other than ok: how many ratings, and the commonest reason."""
    import polars as pl

    lost = ratings.filter(pl.col("status") != "ok").group_by("rater", "status")
    reason = pl.col("rationale").fill_null("no reason given").mode().sort().first().alias("commonest reason")
    return lost.agg(pl.len().alias("n"), reason).sort("rater", "status").to_dicts()
