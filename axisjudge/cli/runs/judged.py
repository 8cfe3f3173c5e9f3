"""What commands that ask judges print: what it will take, what came, what was lost, how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from axisjudge.judges import JudgeLike
    from axisjudge.judging import JudgingRun, RunOptions
    from axisjudge.judging.outcome import Outcome


def judges_of(named: Sequence[str], panel: str | None) -> list[JudgeLike]:
    """The judges named one by one and those of a panel."""
    from axisjudge.spec import panel as panel_of

    return [*named, *(panel_of(panel) if panel else [])]


def plan_fields(run: JudgingRun, options: RunOptions) -> dict[str, Any]:
    """What a run will ask, and what that takes and costs, for programs."""
    return {"plan": run.plan().rows(), "estimate": run.estimate(options).rows()}


def print_plan(run: JudgingRun, options: RunOptions, title: str = "", *, json: bool = False, **more: Any) -> None:
    """The same for people, as ranges; with `json` for programs, `more` beside it."""
    if json:
        show.as_json({**plan_fields(run, options), **more})
        return
    estimate = run.estimate(options)
    show.table(run.plan().rows(), title)
    if estimate.judges:
        show.table(estimate.rows(), "Tokens, list price in US dollars and minutes, low to high")
        typer.echo(f"\n{estimate.sentence}.")
    print_origins(run)


def print_origins(run: JudgingRun) -> None:
    """For each judge that is asked over a wire: whence its family, price and context are known, and who is asked."""
    from axisjudge.judges.remote import RemoteJudge

    for judge in run.plan().asked:
        if isinstance(judge, RemoteJudge):
            told = "; ".join(f"{name} {value}" for name, value in judge.origins().items())
            typer.echo(f"{judge.rater}: {told}.", err=True)


def carried_out(run: JudgingRun, options: RunOptions, *, quiet: bool = False) -> pl.DataFrame:
    """The ratings of a run; Ctrl-C is told how far it came."""
    try:
        return run.carry_out(options)
    except KeyboardInterrupt:
        print_outcome(run.outcome, quiet=quiet)
        raise


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
