"""The decision rule for a new rubric version: what may be said of a new rubric version, and from how many tasks.

The rule, in this order. A = the version before, B = the version after; the unit is the task, never the run.

1. Fewer than `FEWEST_TASKS` tasks: **too few items to tell**.
2. The share of agreeing pairs of judges moved if (a) the task-level sign-flip test rejects at `LEVEL`, Holm-adjusted
   over the declared family of axes, and (b) the change exceeds run-to-run noise wherever that was measured. Then:
   **worse** if it fell; **progress** if it rose and chance-corrected agreement (Krippendorff's alpha) did not fall.
   Where noise was not measured the word is **noise not measured** instead: in simulations with runs that drift as a
   whole (SD .2 on the probit scale, 50 tasks) tests over tasks alone call that progress in a fifth of cases.
   Agreement that rose only because one word became commoner is not progress: it goes on to 3, and else is called **no
   change**, with that reason.
3. Else **hedging only** if a judge's confidence moved on runs where its verdict did not, by the same two tests (Holm
   over the judges).
4. Else **no change** if a change of `MARGIN` or more is excluded: the 90% interval lies inside it (two one-sided
   tests), or no task changed at all, and so many tasks would have shown it.
5. Else **too few items to tell**, with the number of tasks that would do.

Measured (tests/stats/test_progress.py; 12, 25 and 50 tasks x 4 runs, three repeats, 1,000 simulations each):
where nothing changed, progress in .009 to .013 and worse in .004 to .025; where runs drift as a whole, progress in .026
to .051 and worse in .021 to .049; under hedging alone, progress in .009 to .013 and hedging only in .96 or more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.results import Result
from axisjudge.stats.betting import FEWEST_NULL
from axisjudge.stats.comparisons.paired import holm, paired_change
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import FEWEST_CLUSTERS, cluster_codes, normal_quantile, t_quantile


class VersionOutcome(StrEnum):
    """What may be said of a new version."""

    PROGRESS = "progress"
    WORSE = "worse"
    HEDGING_ONLY = "hedging only"
    NO_CHANGE = "no change"
    NOISE_NOT_MEASURED = "noise not measured"
    TOO_FEW = "too few items to tell"


class ProgressReason(StrEnum):
    """Which part of the rule decided."""

    TOO_FEW_TASKS = "too few tasks"
    ROSE = "agreement rose"
    FELL = "agreement fell"
    ROSE_UNREPEATED = "agreement rose, noise not measured"
    FELL_UNREPEATED = "agreement fell, noise not measured"
    WITHIN_NOISE = "within the noise of runs"
    ONE_WORD = "all verdicts are one word"
    CHANCE = "no rise beyond chance"
    CONFIDENCES_MOVED = "confidences moved"
    MARGIN_EXCLUDED = "margin excluded"
    NEITHER_SHOWN = "neither shown"


#: The smallest change of agreement that is worth another version: one pair of judges in ten.
MARGIN = 0.10
#: Level of every test, for all axes of the declared family together.
LEVEL = 0.05
#: With what probability the stated number of tasks finds a change of that size.
POWER = 0.80
#: Below this no standard error between tasks is given anywhere in the package, and no word here either.
FEWEST_TASKS = FEWEST_CLUSTERS
#: How often to ask for the noise: with two repeats of one version the spread rests on one degree of freedom and hides
#: changes of six standard errors; with three of both versions it rests on four (2.1 standard errors).
REPEATS = 3
#: Nobody is advised to ask a version more often than this.
MOST_REPEATS = 20


@dataclass(frozen=True)
class RunNoise:
    """How far a whole run of one version moves by itself.

    `spread` is the standard deviation of the mean over all items between repeats of one version, pooled over versions
    on `degrees` degrees of freedom; `threshold` is what a change between the two versions' means must exceed: the
    one-sided t quantile of `LEVEL` times the standard error of their difference. What moves all items of a run
    together (a change at the provider's, say) is invisible to tests over tasks; it shows here, as far as the repeats
    were made apart.
    """

    spread: float
    degrees: int
    threshold: float
    repeats: tuple[int, int]

    def hides(self, change: float) -> bool:
        """Whether a change of this size may be noise of runs."""
        return not abs(change) > self.threshold


@dataclass(frozen=True)
class Moved(Result):
    """The change of one quantity from A to B: over tasks, and beside the noise of runs (None: not measured).

    `p_value` is that of the sign flips of whole tasks, `p_adjusted` the same after Holm, `n_changed_tasks` how many
    tasks changed at all; `task_spread` is the standard deviation of the change between tasks.
    """

    change: Estimate
    p_value: float
    p_adjusted: float
    n_changed_tasks: int
    task_spread: float
    noise: RunNoise | None

    @property
    def mean(self) -> float:
        """Mean change over items."""
        return self.change.estimate

    @property
    def significant(self) -> bool:
        """Whether the test over tasks rejects at `LEVEL`."""
        return self.p_adjusted <= LEVEL

    @property
    def hidden(self) -> bool:
        """Whether noise of runs may explain it."""
        return self.noise is not None and self.noise.hides(self.mean)

    @property
    def established(self) -> bool:
        """Whether both tests say that it moved."""
        return self.significant and not self.hidden


@dataclass(frozen=True)
class ProgressVerdict:
    """The verdict: what may be said, and which parts of the rule decided.

    `needed` is the number of tasks that would tell, where these do not. Where the change is
    `ProgressReason.WITHIN_NOISE`, `repeats` is how often both versions would have to be asked (None: more than
    `MOST_REPEATS` times).
    """

    outcome: VersionOutcome
    reasons: tuple[ProgressReason, ...]
    noise_measured: bool
    needed: int | None = None
    repeats: int | None = None

    @property
    def lacks_repeats(self) -> bool:
        """Whether repeats, not tasks, are what is missing."""
        return self.outcome is VersionOutcome.TOO_FEW and ProgressReason.WITHIN_NOISE in self.reasons


def moved(
    values: ArrayLike,
    clusters: NDArray[np.intp],
    *,
    cluster_unit: str = "task",
    occasions: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
) -> Moved:
    """Test the change of a quantity from A to B.

    Parameters
    ----------
    values : array, shape (2, n_items, n_repeats)
        The quantity under A and under B on every item in every repeat; NaN where missing. Repeats are averaged within
        an item.
    clusters : array, shape (n_items,)
        The task of each item.
    occasions : two sequences of int, shape (n_repeats,), optional
        Where A and B were never asked together: on which occasion each repeat was. Those of one share its day, so that
        occasions are the repeats that measure noise; where neither has `FEWEST_NULL` of them nothing does.
    """
    first, second = mean_of_repeats(np.asarray(values, dtype=np.float64))
    tested = paired_change(first, second, clusters=clusters, cluster_unit=cluster_unit, rng=seed)
    return Moved(
        change=tested.change,
        p_value=tested.p_value,
        p_adjusted=tested.p_value,
        n_changed_tasks=tested.n_changed,
        task_spread=_task_spread(second - first, clusters),
        noise=run_noise(values if occasions is None else _by_occasion(values, occasions)),
    )


def _by_occasion(values: ArrayLike, occasions: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """The mean over each occasion's repeats; one column, which shows no noise, where occasions are too few."""
    given, codes = np.asarray(values, dtype=np.float64), np.asarray(occasions)
    if max(np.unique(each[each >= 0]).size for each in codes) < FEWEST_NULL:
        return mean_of_repeats(given)[..., None]
    of = [
        [mean_of_repeats(own[:, code == number]) for number in range(codes.max() + 1)]
        for own, code in zip(given, codes, strict=True)
    ]
    return np.moveaxis(np.array(of), 1, 2)


def run_noise(values: ArrayLike) -> RunNoise | None:
    """The noise of whole runs from repeats of one version or both; None without any.

    Only items that came back in all repeats of both versions count, so that a repeat does not move by its lost items.
    """
    asked = [each[:, ~np.isnan(each).all(axis=0)] for each in np.asarray(values, dtype=np.float64)]
    complete = ~np.isnan(asked[0]).any(axis=1) & ~np.isnan(asked[1]).any(axis=1)
    repeats = (asked[0].shape[1], asked[1].shape[1])
    degrees = sum(repeats) - 2
    if degrees < 1 or 0 in repeats or not complete.any():
        return None
    means = [each[complete].mean(axis=0) for each in asked]
    spread = math.sqrt(sum(float(((mean - mean.mean()) ** 2).sum()) for mean in means) / degrees)
    error = spread * math.sqrt(1 / repeats[0] + 1 / repeats[1])
    return RunNoise(spread, degrees, t_quantile(degrees, 1 - 2 * LEVEL) * error, repeats)


def adjusted(changes: Sequence[Moved]) -> list[Moved]:
    """The same with p values adjusted by Holm over all of them."""
    p_values = holm([each.p_value for each in changes])
    return [replace(each, p_adjusted=float(p)) for each, p in zip(changes, p_values, strict=True)]


def decide(agreement: Moved, alphas: tuple[float, float], confidences: Sequence[Moved]) -> ProgressVerdict:
    """Apply the rule (see the module's text).

    Parameters
    ----------
    agreement : Moved
        Change of the share of agreeing pairs, adjusted over the declared family of axes.
    alphas : (float, float)
        Krippendorff's alpha under A and under B.
    confidences : sequence of Moved
        Change of each judge's confidence on runs where its verdict stayed, adjusted over the judges.
    """
    measured = agreement.noise is not None
    needed = tasks_needed(agreement.mean, agreement.task_spread)
    if agreement.change.n_clusters < FEWEST_TASKS:
        return ProgressVerdict(
            VersionOutcome.TOO_FEW, (ProgressReason.TOO_FEW_TASKS,), measured, max(needed or 0, FEWEST_TASKS)
        )
    fell, chance = agreement.mean < 0, _chance(alphas)
    if agreement.established and (fell or chance is None):
        if not measured:
            unrepeated = ProgressReason.FELL_UNREPEATED if fell else ProgressReason.ROSE_UNREPEATED
            return ProgressVerdict(VersionOutcome.NOISE_NOT_MEASURED, (unrepeated,), measured)
        return ProgressVerdict(
            VersionOutcome.WORSE if fell else VersionOutcome.PROGRESS,
            (ProgressReason.FELL if fell else ProgressReason.ROSE,),
            measured,
        )
    doubts = _doubts(agreement, chance)
    if any(each.established for each in confidences):
        return ProgressVerdict(VersionOutcome.HEDGING_ONLY, (*doubts, ProgressReason.CONFIDENCES_MOVED), measured)
    if excludes_margin(agreement):
        return ProgressVerdict(VersionOutcome.NO_CHANGE, (*doubts, ProgressReason.MARGIN_EXCLUDED), measured)
    if agreement.established:  # it moved, but not beyond chance: more tasks of the same would not mend that
        return ProgressVerdict(VersionOutcome.NO_CHANGE, doubts, measured)
    if agreement.significant:
        return ProgressVerdict(VersionOutcome.TOO_FEW, doubts, measured, needed, _repeats_needed(agreement))
    return ProgressVerdict(VersionOutcome.TOO_FEW, (ProgressReason.NEITHER_SHOWN,), measured, needed)


def tasks_needed(change: float, task_spread: float) -> int | None:
    """Tasks that would settle it with probability `POWER`: n = ((z_LEVEL + z_POWER) SD / delta)^2.

    delta is the larger of what was observed and what is left of `MARGIN` beside it: the nearer of finding the one and
    excluding the other. Where no task changed, as many as would show a share of `MARGIN` at `LEVEL`. None without two
    tasks.
    """
    if math.isnan(task_spread) or math.isnan(change):
        return None
    if task_spread == 0:
        return math.ceil(math.log(LEVEL) / math.log(1 - MARGIN)) if change == 0 else FEWEST_TASKS
    delta = max(abs(change), MARGIN - abs(change))
    quantiles = normal_quantile(1 - LEVEL) + normal_quantile(2 * POWER - 1)
    return max(FEWEST_TASKS, math.ceil((quantiles * task_spread / delta) ** 2))


def excludes_margin(agreement: Moved) -> bool:
    """Whether a change of `MARGIN` or more, up or down, is excluded at `LEVEL` (two one-sided tests over tasks)."""
    n_tasks = agreement.change.n_clusters
    if agreement.n_changed_tasks == 0:
        return bool((1 - MARGIN) ** n_tasks <= LEVEL)
    half = t_quantile(n_tasks - 1, 1 - 2 * LEVEL) * agreement.task_spread / math.sqrt(n_tasks)
    return abs(agreement.mean) + half < MARGIN


def mean_of_repeats(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the last dimension of what is there; NaN where nothing is."""
    there = ~np.isnan(values)
    total = np.where(there, values, 0.0).sum(axis=-1)
    return np.where(there.any(axis=-1), total / np.maximum(there.sum(axis=-1), 1), np.nan)


def _chance(alphas: tuple[float, float]) -> ProgressReason | None:
    """Why a rise of agreement is not one beyond chance; None where it is."""
    before, after = alphas
    if math.isnan(after):
        return ProgressReason.ONE_WORD
    return ProgressReason.CHANCE if after < before else None


def _doubts(agreement: Moved, chance: ProgressReason | None) -> tuple[ProgressReason, ...]:
    if agreement.significant and agreement.hidden:
        return (ProgressReason.WITHIN_NOISE,)
    return (chance,) if agreement.established and chance else ()


def _repeats_needed(agreement: Moved) -> int | None:
    """How many repeats of both versions would lift such a change over the noise, were the spread what it seems."""
    if (noise := agreement.noise) is None:
        return None
    enough = (
        repeats
        for repeats in range(max(REPEATS, *noise.repeats), MOST_REPEATS + 1)
        if t_quantile(2 * repeats - 2, 1 - 2 * LEVEL) * noise.spread * math.sqrt(2 / repeats) < abs(agreement.mean)
    )
    return next(enough, None)


def _task_spread(change: NDArray[np.float64], clusters: NDArray[np.intp]) -> float:
    """Standard deviation between tasks of the task's part in the mean change; NaN with fewer than two tasks."""
    kept = ~np.isnan(change)
    groups = np.unique(cluster_codes(clusters, change.size)[kept], return_inverse=True)[1]
    if not kept.any() or groups.max() < 1:
        return math.nan
    sums, sizes = np.bincount(groups, weights=change[kept]), np.bincount(groups)
    residuals = (sums - sizes * change[kept].mean()) / sizes.mean()
    return float(np.sqrt((residuals**2).sum() / groups.max()))
