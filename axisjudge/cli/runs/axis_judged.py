"""What `axisjudge axis-result` does with judges: ask them, and show what each says and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.judging import JudgingRun, RunOptions
    from axisjudge.judging.signals import SignalQuestions
    from axisjudge.scores.axis.scoring import Scoring
    from axisjudge.studies.axis_result import JudgedResults


def questions_of(how: Scoring, *, allow_own_family: bool, exploratory: bool) -> SignalQuestions:
    """What judges are asked: all signals, and the goal checks where no grades are given."""
    from axisjudge.judging.signals import SignalQuestions

    return SignalQuestions(
        scenarios=how["scenarios"],
        checks=how["grades"] is None,
        rules=how["rules"],
        weights=how["weights"],
        allow_own_family=allow_own_family,
        exploratory=exploratory,
    )


def place_of(out: Path | None) -> Path:
    """Where ratings of signals are kept."""
    from axisjudge.workbench import own

    return out or own() / "data" / "ratings" / "axis_signals.jsonl"


def ask(run: JudgingRun, options: RunOptions, *, quiet: bool = False) -> pl.DataFrame:
    """The ratings of these judges on the runs, those that were there included; ends with 3 at the budget."""
    from axisjudge.cli.runs.judged import carried_out, print_outcome, stop
    from axisjudge.judging.outcome import AT_BUDGET

    ratings = carried_out(run, options, quiet=quiet)
    if run.outcome.code() == AT_BUDGET:
        print_outcome(run.outcome, quiet=quiet)
        stop(AT_BUDGET)
    return ratings


def print_judges(judged: JudgedResults) -> None:
    """A result a judge beside the combined one, and the agreement on every signal."""
    show.table(judged.to_frame().to_dicts(), "Results by judge")
    if judged.agreement is not None:
        show.table(judged.agreement.rows(), "Agreement on each signal")
        show.lines(judged.agreement.sentences, apart=True)


def print_lost(ratings: pl.DataFrame, out: Path) -> None:
    """What was lost and why, and where the ratings are."""
    from axisjudge.cli.runs.judged import losses

    if lost := losses(ratings):
        show.table(lost, "Lost answers (the same command asks for them again)")
    typer.echo(f"\nRatings: {out}")
