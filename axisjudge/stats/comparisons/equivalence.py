"""Whether one judge may take another's place, and whether a judge has drifted: paired ratings of the same items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.results import Result
from axisjudge.stats.clusters import AGREEMENT_ICC
from axisjudge.stats.comparisons.paired import PairedChange, mean_change, paired_change
from axisjudge.stats.comparisons.sign_flips import DRAWS
from axisjudge.stats.estimate import Estimate, IntervalTerms, no_interval
from axisjudge.stats.rates.proportions import clustered_proportion, t_quantile
from axisjudge.stats.sequences.evidence import FEWEST_NULL, evidence_of_runs, occasion_means

#: A shift of the failure rate, and a loss of agreement, up to which two judges count as equivalent. A choice, to be
#: made before looking: differences between agents that are smaller than this do not survive a change of judge.
MARGIN = 0.05


@dataclass(frozen=True)
class Equivalence(Result):
    """Two conditions for 'equivalent', each at one-sided level `level`.

    `shift` is the mean of after minus before, `agreement` the share of items with the same verdict, `self_agreement`
    what the old judge reaches with itself (None where it was asked once). Their intervals have level 1 - 2 `level`, so
    that each end is a one-sided bound. `reasons` says which condition is not shown, and is empty for equivalence.
    """

    _keys = ("shift", "agreement", "self_agreement", "margin", "reasons", "equivalent")

    shift: Estimate
    agreement: Estimate
    self_agreement: Estimate | None
    margin: float
    level: float
    reasons: tuple[str, ...]

    @property
    def equivalent(self) -> bool:
        """Both conditions hold. False means 'not shown', never 'different'."""
        return not self.reasons


def equivalence(
    before: ArrayLike,
    after: ArrayLike,
    same: ArrayLike,
    *,
    self_agreement: Estimate | None = None,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    margin: float = MARGIN,
    level: float = 0.05,
) -> Equivalence:
    """Whether a new judge is equivalent to an old one on the items both rated.

    1. Two one-sided tests: the interval of the mean shift lies within -margin and margin.
    2. The lower bound of agreement is at least the old judge's agreement with itself, minus the margin. Without it a
       tenth of verdicts flipped each way would pass as no shift.

    Nor is it shown where a larger share of items than the margin lacks a word of one of them.

    Parameters
    ----------
    before, after : array of 1 (incorrect), 0 or NaN, shape (n_items,)
        The two judges' verdicts.
    same : array of 1, 0 or NaN, shape (n_items,)
        Whether the two gave the same word.
    self_agreement : Estimate, optional
        Of the old judge asked again (`stats.raters.repeats.self_agreement`); without it condition 2 is not shown.
    clusters : array, shape (n_items,), optional
        The task of each item.
    margin : float
        Largest shift, and largest loss of agreement, that does not matter.
    level : float
        Of each one-sided test.

    References
    ----------
    Schuirmann (1987), J. Pharmacokinet. Biopharm. 15:657-680, doi:10.1007/BF01068419 (two one-sided tests); Zou and
    Donner (2008), Stat. Med. 27:1693-1702, doi:10.1002/sim.3095 (MOVER).
    """
    in_open_unit_interval("margin", margin)
    in_open_unit_interval("level", level)
    old, new, equal = (np.asarray(values, dtype=np.float64) for values in (before, after, same))
    if not (old.ndim == 1 and old.shape == new.shape == equal.shape):
        raise InputError("after", f"needs one value for each of the {old.shape} items before", new.shape)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": 1 - 2 * level}
    lost = np.isnan(equal)
    agreement = clustered_proportion(equal, clusters, expected_icc=AGREEMENT_ICC, **terms)
    shift = mean_change(new - old, clusters, **terms)
    reasons = tuple(_reasons(lost, shift, agreement, self_agreement, margin))
    return Equivalence(shift, agreement, self_agreement, margin, level, reasons)


def _reasons(
    lost: NDArray[np.bool_], shift: Estimate, agreement: Estimate, own: Estimate | None, margin: float
) -> Iterator[str]:
    """Why two judges do not count as equivalent; verdicts are not lost at random, so no more may be than may change."""
    if lost.size and lost.mean() > margin:
        yield f"{lost.sum()} of {lost.size} items lack a verdict of one of the two judges, a share beyond {margin:.2f}"
    low, high = shift.ci_low, shift.ci_high
    if math.isnan(low):
        yield f"the shift has {no_interval(shift.reason)}"
    elif not (-margin < low and high < margin):
        yield f"the failure rate may have moved by {low:+.3f} to {high:+.3f}, beyond {margin:.2f}"
    if own is None:
        yield "the old judge was asked once, so that its agreement with itself is not known"
    elif math.isnan(agreement.ci_low) or math.isnan(own.estimate):
        yield f"agreement has {no_interval(agreement.reason or own.reason)}"
    elif agreement.ci_low < own.estimate - margin:
        itself = f"where the old judge reaches {own.estimate:.3f} with itself"
        yield f"agreement may be as low as {agreement.ci_low:.3f}, {itself}"


Noise = Literal["measured", "not_measured"]


@dataclass(frozen=True)
class Occasion:
    """One occasion on the anchor set compared with the first: the paired change, and whether it says stop.

    `in_reach` is False where no verdicts on so many tasks could give a p value small enough to stop. `noise` is
    ``not_measured`` before four earlier occasions: then nothing says stop, because a whole occasion may lie off by more
    than its items and its repeats show. `threshold` is the distance from the mean of the earlier occasions that an
    unchanged judge rarely reaches on one look (t), NaN without noise; `allowed` is what the p value of tasks may be.
    """

    number: int
    change: PairedChange
    allowed: float
    stop: bool
    in_reach: bool
    noise: Noise = "not_measured"
    threshold: float = math.nan


def drift(
    occasions: Sequence[ArrayLike],
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    level: float = 0.05,
    ci_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> list[Occasion]:
    """The anchor set judged on each occasion against the first, with a stop rule that allows looking every time.

    An occasion says stop where the evidence of all occasions so far (`stats.sequences.evidence.evidence_of_drift`)
    reaches 1 / level and the task-level sign-flip p value of its change from the first is at most `level`. The evidence
    takes the occasions as the units and their noise from between them, so that a judge that never changes is stopped
    with probability `level` at most, however often one looks, where the means of its occasions are near normal and
    independent. Repeats of one occasion share the day's build and say nothing of it: they are averaged, the same
    number of each occasion. Before a fifth occasion nothing is stopped, and `noise` says why.

    Parameters
    ----------
    occasions : sequence of array of 1 (incorrect), 0 or NaN, each of shape (n_items,) or (n_items, n_runs)
        The verdicts on the same items, the first occasion first.
    clusters : array, shape (n_items,), optional
        The task of each item.

    Returns
    -------
    list of Occasion
        One for each occasion after the first.
    """
    in_open_unit_interval("level", level)
    if len(occasions) < 2:
        raise InputError("occasions", "must be two or more", len(occasions))
    runs = [_runs(occasion) for occasion in occasions]
    rng = np.random.default_rng(0 if rng is None else rng)
    items = [_over_runs(each, axis=1) for each in runs]
    means = occasion_means(runs)
    there = np.flatnonzero(~np.isnan(means))
    together = evidence_of_runs(occasions, level=level)
    evidence = dict(zip(there[1:].tolist(), together.e_values.tolist(), strict=True)) if together else {}
    found = []
    for k, later in enumerate(items[1:], start=1):
        change = paired_change(
            items[0], later, clusters=clusters, cluster_unit=cluster_unit, ci_level=ci_level, rng=rng
        )
        least = max(2.0 ** (1 - change.change.n_clusters), 1 / (DRAWS + 1))
        beyond = _noise_threshold(means[: k + 1], level)
        stop = bool(change.p_value <= level and evidence.get(k, 1.0) >= (1 - 1e-12) / level)
        noise: Noise = "not_measured" if math.isnan(beyond) else "measured"
        found.append(Occasion(k + 1, change, level, stop, least <= level, noise, beyond))
    return found


def _runs(occasion: ArrayLike) -> NDArray[np.float64]:
    verdicts = np.asarray(occasion, dtype=np.float64)
    if verdicts.ndim not in (1, 2):
        raise InputError("occasions", "must each be items, or items x runs", verdicts.shape)
    return verdicts[:, None] if verdicts.ndim == 1 else verdicts


def _over_runs(verdicts: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Mean of the given verdicts; NaN where there is none."""
    given = (~np.isnan(verdicts)).sum(axis=axis)
    return np.where(given > 0, np.nansum(verdicts, axis=axis) / np.maximum(given, 1), np.nan)


def _noise_threshold(means: NDArray[np.float64], level: float) -> float:
    """How far the last occasion lies from the mean of those before it without a change, by one look at this level."""
    null = means[:-1][~np.isnan(means[:-1])]
    if len(null) < FEWEST_NULL or math.isnan(means[-1]):
        return math.nan
    return t_quantile(len(null) - 1, 1 - level) * float(null.std(ddof=1)) * math.sqrt(1 + 1 / len(null))
