"""What `axisjudge axis-result` does with judges: ask them, and show what each says and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from axisjudge.judges import JudgeLike
    from axisjudge.judging.judging_run import Money
    from axisjudge.judging.signals import SignalQuestions
    from axisjudge.scores.axis.scoring import Scoring
    from axisjudge.studies.axis_result.judged import JudgedResults
    from axisjudge.trajectory import Trajectory


def judges_of(named: Sequence[str], panel: str | None) -> list[JudgeLike]:
    """The judges named one by one and those of a panel."""
    from axisjudge.spec import panel as panel_of

    return [*named, *(panel_of(panel) if panel else [])]


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


def print_plan(
    trajectories: Sequence[Trajectory], judges: Sequence[JudgeLike], questions: SignalQuestions, out: Path
) -> None:
    """The calls to come and what is there, with the length of the prompts and the price."""
    from axisjudge.cli.runs.judged import print_estimate
    from axisjudge.judging.signals import signals_run

    run = signals_run(trajectories, judges, questions, out=out)
    plan = run.plan()
    letters = sum(len(part) for group in plan.groups for call in group for part in call.inquiry.prompt())
    show.table(plan.rows(), f"{plan.n_calls} calls to make, {letters:,} characters of prompts")
    print_estimate(run.estimate())


def ask(
    trajectories: Sequence[Trajectory],
    judges: Sequence[JudgeLike],
    questions: SignalQuestions,
    out: Path,
    money: Money,
    *,
    quiet: bool = False,
) -> pl.DataFrame:
    """The ratings of these judges on the runs, those that were there included; ends with 3 at the budget."""
    from axisjudge.cli.runs.judged import print_outcome, stop
    from axisjudge.judging.outcome import AT_BUDGET
    from axisjudge.judging.signals import signals_run

    run = signals_run(trajectories, judges, questions, out=out)
    ratings = run.carry_out(**money)
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
