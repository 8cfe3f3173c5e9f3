"""Which runs to label next: the less sure a panel is of one, the likelier it is drawn, with known probabilities.

    pi_i = min(1, n x_i / sum x)        x_i = mean over the run's items of sqrt(c (1 - c)), c the panel's confidence

An error rate is estimated best with few labels where items are drawn in proportion to the standard deviation of their
errors (Neyman), which a calibrated confidence gives before anybody labels. No x is below a share of their mean, so that
confident errors are met as well and no weight 1/pi becomes large. Runs are drawn systematically along tasks in random
order, so that no task has more than its part.

References
----------
Cochran (1977), Sampling Techniques, sections 5.5 and 9A.13. Madow (1949), doi:10.1214/aoms/1177729988 (systematic
sampling with unequal probabilities).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import polars as pl

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.labels.sampling import Drawn, Sampling
from axisjudge.results import Result
from axisjudge.stats.betting import ConfidenceSequence, Price, betting_sequence, price_of_looking

#: No run is drawn with less than this share of the mean probability: confident errors count, and weights stay mild.
LEAST = 0.4


def draw_uncertain(confidences: Iterable[tuple[str, str, float]], n: int, *, key: str, seed: int) -> Sampling:
    """Draw runs by how unsure a panel is of them.

    Parameters
    ----------
    confidences : iterable of (trajectory id, task, confidence)
        One for each item of the frame; several items of one run count by their mean.
    n : int
        How many runs.
    key : str
        What decides, in words: the panel and the hash of its fit.
    seed : int
        Of the order of tasks and runs, and of the start.

    Returns
    -------
    Sampling
        ``by_key`` with each run's probability, which sum to `n`.

    Raises
    ------
    InputError
        No item, or fewer runs than `n`.
    """
    spread: defaultdict[str, list[float]] = defaultdict(list)
    task_of: dict[str, str] = {}
    for run, task, confidence in sorted(confidences):  # sums do not depend on the order of arrival
        spread[run].append(max(0.0, confidence * (1 - confidence)) ** 0.5)
        task_of[run] = task
    if not 1 <= n <= len(spread):
        raise InputError("--n", f"must lie between 1 and the {len(spread)} runs that there are", n)
    size = {run: sum(values) / len(values) for run, values in spread.items()}
    floor = LEAST * sum(size.values()) / len(size) or 1.0
    probability = inclusion({run: max(each, floor) for run, each in size.items()}, n)
    random = Random(seed)
    tasks = {task: random.random() for task in sorted(set(task_of.values()))}
    order = sorted(probability, key=lambda run: (tasks[task_of[run]], Random(f"{seed} {run}").random()))
    chosen = _systematic(order, probability, random.random())
    random.shuffle(chosen)
    items = tuple(Drawn(run, min(probability[run], 1.0)) for run in chosen)
    return Sampling("by_key", items, key=key, seed=seed, n_frame=len(size))


def inclusion(sizes: Mapping[str, float], n: int) -> dict[str, float]:
    """Probabilities in proportion to size that sum to `n`; those that would pass 1 are drawn surely.

    Examples
    --------
    >>> inclusion({"a": 1.0, "b": 1.0, "c": 8.0}, 2)
    {'a': 0.5, 'b': 0.5, 'c': 1.0}
    """
    sure: set[str] = set()
    while True:
        rest = sum(size for run, size in sizes.items() if run not in sure)
        share = (n - len(sure)) / rest if rest else 0.0
        over = {run for run, size in sizes.items() if run not in sure and size * share > 1}
        if not over:
            return {run: 1.0 if run in sure else size * share for run, size in sizes.items()}
        sure |= over


def _systematic(order: list[str], probability: Mapping[str, float], start: float) -> list[str]:
    """Every run in whose stretch of the summed probabilities a point start + 0, 1, 2 ... falls."""
    chosen, total = [], 0.0
    for run in order:
        before, total = total, total + probability[run]
        if int(total - start + 1) > int(before - start + 1):
            chosen.append(run)
    return chosen


# Labelling until a failure rate is known well enough, with a look after every label.
# Tasks come in random order, one run of each (`draw_at_random`), and people label in this order. The labels up to the
# first run that nobody has labelled are looked at: the order was drawn before anybody saw a label, so that a confidence
# sequence holds whenever labelling stops, and any other rate can be estimated from the same labels.

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


def still_open(plan: Sampling, labels: pl.DataFrame | None, looks: Sequence[Look]) -> list[Drawn]:
    """The plan's items, in its order, that lack a label on a question that is not known well enough."""
    asked = [each.question for each in looks if not each.enough]
    there = set() if labels is None else set(labels.select("question", "trajectory_id").iter_rows())
    return [item for item in plan.items if any((question, item.trajectory_id) not in there for question in asked)]


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
