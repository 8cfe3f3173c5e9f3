"""What `axisjudge judge --cascade` does: a cheap judge on everything, a strong one on what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.judging import RunOptions
    from axisjudge.judging.cascade import Cascade
    from axisjudge.trajectory import Trajectory


def run_cascade(
    trajectories: Sequence[Trajectory],
    cascade: Cascade,
    arguments: dict[str, Any],
    options: RunOptions,
    *,
    max_lost: float,
    dry_run: bool,
    json: bool,
) -> None:
    """Ask the first judge, then the second; the budget is one for both."""
    from axisjudge.cli.runs.judged import carried_out, losses, plan_fields, print_outcome, print_plan, stop, tally
    from axisjudge.judging.cascade import check_cascade, second_run
    from axisjudge.judging.outcome import Outcome

    first, most = check_cascade(trajectories, cascade, options=options, **arguments)
    if dry_run:
        if json:
            show.as_json({"cascade": [plan_fields(run, options) for run in (first, most)]})
            return
        print_plan(first, options, "First judge")
        print_plan(most, options, "Second judge, at most")
        return
    ratings = carried_out(first, options, quiet=json)
    if (code := first.outcome.code(max_lost)) in (3, 130):
        print_outcome(first.outcome, quiet=json)
        stop(code)
    second = second_run(trajectories, cascade, ratings, **arguments)
    judged = carried_out(second, options, quiet=json)
    both = Outcome(second.outcome.wanted, second.outcome.answered, (*first.outcome.ends, *second.outcome.ends))
    if json:
        counts = {"first": tally(ratings), "second": tally(judged), "lost": losses(judged)}
        show.as_json({"out": str(arguments["out"]), **counts, "ends": both.rows(), "stopped": both.sentences()})
    else:
        show.table(tally(ratings), "First judge")
        show.table(tally(judged), "Second judge: what the first is unsure of, and a share of the rest")
        typer.echo(
            f"\n{judged.height} of {ratings.height} verdicts were asked of {cascade.second}; weight each by 1/p."
        )
        print_outcome(both)
    stop(second.outcome.code(max_lost))
