"""Labelling until a failure rate is known well enough, with a look after every label.

Tasks come in random order, one run of each (`draw_at_random`), and people label in this order. The labels up to the
first run that nobody has labelled are looked at: the order was drawn before anybody saw a label, so that a confidence
sequence holds whenever labelling stops, and any other rate can be estimated from the same labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.labels.sampling import Sampling
from axisjudge.results import Result
from axisjudge.stats.sequences.betting import ConfidenceSequence, Price, betting_sequence, price_of_looking

#: Rates nearer to 0 or 1 are priced as this: nobody plans for no failure at all.
_RAREST = 0.02


@dataclass(frozen=True, eq=False)
class Look(Result):
    """One question after the labels so far: the sequence, whether it is narrow enough, and what the rest may cost.

    `n_ahead` counts labels after a gap, which are not looked at yet. `price` is at the rate seen so far, None before
    the first label and where the half width is out of reach.
    """

    question: str
    rate: ConfidenceSequence
    half_width: float
    n_ahead: int
    price: Price | None

    @property
    def enough(self) -> bool:
        """Whether labelling may stop."""
        return self.rate.tasks_until(self.half_width) is not None

    @property
    def n_more(self) -> int | None:
        """About how many more labels it takes at the rate seen so far; None where nobody can say."""
        if self.enough:
            return 0
        return None if self.price is None else max(1, self.price.looking - self.rate.n_items)


def look(plan: Sampling, labels: pl.DataFrame | None, questions: Sequence[str], *, half_width: float) -> list[Look]:
    """Look at every question after the labels so far.

    Parameters
    ----------
    plan : Sampling
        Drawn at random with one run of each task; its order is the order of labelling.
    labels : ratings table, optional
        People's labels; where several labelled a run, the share who say incorrect counts. Words that take no side do
        not count, but keep their place.
    questions : sequence of str
        The axes to be known.
    half_width : float
        How narrow the interval of each must be, in (0, 1).

    Raises
    ------
    InputError
        The plan was drawn in another way, or the half width lies outside (0, 1).
    """
    in_open_unit_interval("half width", half_width)
    if plan.method != "random" or not plan.one_per_task:
        rule = "must be a random draw of one run of each task, to be looked at after every label"
        raise InputError("plan", rule, plan.method, "let `axisjudge label next` draw it")
    return [_look(plan, labels, question, half_width) for question in questions]


def _look(plan: Sampling, labels: pl.DataFrame | None, question: str, half_width: float) -> Look:
    failed = {} if labels is None else _failed(labels.filter(pl.col("question") == question))
    runs = plan.trajectory_ids
    reached = next((position for position, run in enumerate(runs) if run not in failed), len(runs))
    values = np.array([failed[run] for run in runs[:reached]], dtype=np.float64)
    rate = betting_sequence(values, np.array(runs[:reached]))
    return Look(question, rate, half_width, sum(run in failed for run in runs[reached:]), _price(rate, half_width))


def _failed(labels: pl.DataFrame) -> dict[str, float]:
    """Share of people who say incorrect among those who take a side, by run; NaN where none does."""
    failed = pl.col("verdict").replace_strict({"incorrect": 1.0, "correct": 0.0}, default=None, return_dtype=pl.Float64)
    shares = labels.group_by("trajectory_id").agg(failed.mean())
    return {run: math.nan if share is None else share for run, share in shares.iter_rows()}


def _price(rate: ConfidenceSequence, half_width: float) -> Price | None:
    if math.isnan(rate.estimate):
        return None
    try:
        return price_of_looking(float(np.clip(rate.estimate, _RAREST, 1 - _RAREST)), half_width)
    except InputError:
        return None
