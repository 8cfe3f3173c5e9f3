"""Which runs to label next, and when to stop: tasks in random order, looked at after every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.labels.looks import Look
    from axisjudge.labels.sampling import Sampling
    from axisjudge.trajectory import Trajectory


class DrawRequest(NamedTuple):
    """What is drawn and for whom: the plan's file, the seed, labels so far, the runs, and a page for a person."""

    out: Path
    seed: int
    labels: list[Path]
    trajectories: list[Path]
    page: Path | None
    rater: str | None
    json: bool


def label_until(draw: DrawRequest, *, half_width: float, axis: str | None, n: int) -> None:
    """Draw the order of labelling once, then after every label say what comes next and whether it is enough."""
    from axisjudge.labels.looks import look
    from axisjudge.labels.record import read_labels
    from axisjudge.verdict import AXES

    if not draw.trajectories:
        raise InputError("--trajectories", "needs the runs to be labelled", cure="or name a fitted --panel")
    runs = show.runs_of(draw.trajectories).trajectories
    plan = _plan(runs, draw.out, draw.seed)
    labelled = read_labels(*draw.labels) if draw.labels else None
    looks = look(plan, labelled, [one_of("--axis", axis, AXES)] if axis else AXES, half_width=half_width)
    has = {run for each in looks for run in plan.trajectory_ids[: each.rate.n_items + each.rate.n_missing]}
    rest = [item for item in plan.items if item.trajectory_id not in has]
    following = [] if all(each.enough for each in looks) else rest[:n]
    if draw.page is not None and following:
        from axisjudge.explorer import write_page
        from axisjudge.explorer.session import Session

        write_page(draw.page, Session.of(runs, replace(plan, items=tuple(following)), draw.rater))
    if draw.json:
        named = {"plan": str(draw.out), "next": [item.trajectory_id for item in following], "runs": len(plan.items)}
        show.as_json({**named, "looks": [{**each.to_dict(), **_row(each)} for each in looks]})
        return
    show.table(
        [_row(each) for each in looks], f"Failure rates after the labels so far, to be known within {half_width:g}"
    )
    show.lines(_sentences(looks, len(plan.items)), apart=True)
    show.table([{"label next": item.trajectory_id} for item in following])


def _plan(runs: Sequence[Trajectory], out: Path, seed: int) -> Sampling:
    """The plan at `out`; drawn and written where there is none yet."""
    from axisjudge.labels.sampling import draw_at_random, read_sampling, write_sampling

    drawn = draw_at_random(runs, seed=seed)
    if not out.exists():
        write_sampling(out, drawn)
        return drawn
    plan = read_sampling(out)
    if missing := sorted(set(plan.trajectory_ids) - {run.id for run in runs}):
        raise InputError(
            str(out), "draws runs that are not there", missing[0], "name all --trajectories, or a new --out"
        )
    return plan


def _row(each: Look) -> dict[str, object]:
    half = (each.rate.ci_high - each.rate.ci_low) / 2
    return {
        "axis": each.question,
        "labels": each.rate.n_items,
        "rate": each.rate.estimate,
        "low": each.rate.ci_low,
        "high": each.rate.ci_high,
        "half width": half,
        "enough": "yes" if each.enough else "no",
        "more labels, about": each.n_more,
    }


def _sentences(looks: list[Look], n_runs: int) -> list[str]:
    lines = ["These intervals hold however often you look; one run of each task is labelled, in random order."]
    prices = [each.price for each in looks if each.price is not None]
    if prices:
        dearest = max(prices, key=lambda price: price.looking)
        lines.append(
            f"The price: at a rate of {dearest.rate:.0%} it takes about {dearest.looking:,} labels instead of "
            f"{dearest.fixed:,} fixed in advance, {dearest.times:.1f} times as many."
        )
        if dearest.looking > n_runs:
            lines.append(f"There are {n_runs:,} tasks: they may not do. A wider half width would need fewer.")
    if ahead := max(each.n_ahead for each in looks):
        lines.append(f"{ahead:,} labels come after a run that is not labelled yet, and are not looked at before it is.")
    if all(each.enough for each in looks):
        lines.append("Stop: every rate is known well enough.")
    return lines
