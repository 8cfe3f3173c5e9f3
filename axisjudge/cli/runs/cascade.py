"""What `axisjudge judge --cascade` does: a cheap judge on everything, a strong one on what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.judging.cascade import Cascade
    from axisjudge.judging.judging_run import JudgingRun
    from axisjudge.trajectory import Trajectory


def run_cascade(
    trajectories: Sequence[Trajectory],
    cascade: Cascade,
    arguments: dict[str, Any],
    money: dict[str, Any],
    *,
    max_lost: float,
    dry_run: bool,
    json: bool,
) -> None:
    """Ask the first judge, then the second; the budget is one for both."""
    from axisjudge.cli.runs.judged import losses, print_estimate, print_outcome, stop, tally
    from axisjudge.judging import judging_run
    from axisjudge.judging.cascade import first_run, second_run

    first = first_run(trajectories, cascade, **arguments)
    if dry_run:
        most = judging_run(trajectories, [cascade.second], **arguments)
        for run, words in ((first, "First judge"), (most, "Second judge, at most")):
            estimate = run.estimate(money["concurrency"], batch=money["batch"])
            if json:
                show.as_json({"judge": words, "plan": run.plan().rows(), "estimate": estimate.rows()})
                continue
            show.table(run.plan().rows(), words)
            print_estimate(estimate)
        return
    ratings = _carried_out(first, money)
    if (code := first.outcome.code(max_lost)) in (3, 130):
        print_outcome(first.outcome, quiet=json)
        stop(code)
    second = second_run(trajectories, cascade, ratings, **arguments)
    spent = sum(end.spent_usd for end in first.outcome.ends)
    left = money["budget_usd"] and max(money["budget_usd"] - spent, 1e-9)
    judged = _carried_out(second, {**money, "budget_usd": left})
    if json:
        counts = {"first": tally(ratings), "second": tally(judged), "lost": losses(judged)}
        show.as_json({"out": str(arguments["out"]), **counts, "ends": second.outcome.rows()})
    else:
        show.table(tally(ratings), "First judge")
        show.table(tally(judged), "Second judge: what the first is unsure of, and a share of the rest")
        typer.echo(
            f"\n{judged.height} of {ratings.height} verdicts were asked of {cascade.second}; weight each by 1/p."
        )
        print_outcome(second.outcome)
    stop(second.outcome.code(max_lost))


def _carried_out(run: JudgingRun, money: dict[str, Any]) -> Any:
    from axisjudge.cli.runs.judged import print_outcome

    try:
        return run.carry_out(**money)
    except KeyboardInterrupt:
        print_outcome(run.outcome)
        raise
