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

from collections import defaultdict
from collections.abc import Iterable, Mapping
from random import Random

from axisjudge.checks import InputError
from axisjudge.labels.sampling import Drawn, Sampling

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
