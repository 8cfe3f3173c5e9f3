"""Whether one judge may take another's place, or has drifted; and a change between repeats of one task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_each
from axisjudge.results import Result
from axisjudge.stats.betting import FEWEST_NULL, evidence_of_runs, occasion_means
from axisjudge.stats.clusters import AGREEMENT_ICC
from axisjudge.stats.comparisons.paired import DRAWS, PairedChange, mean_change, paired_change, stratified_change
from axisjudge.stats.estimate import Estimate, IntervalTerms, no_interval
from axisjudge.stats.proportions import clustered_proportion, t_quantile

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
        Of the old judge asked again (`stats.repeats.self_agreement`); without it condition 2 is not shown.
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
    one_each("after", new, old.size, of="items before")
    one_each("same", equal, old.size)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": 1 - 2 * level}
    lost = np.isnan(equal)
    agreement = clustered_proportion(equal, clusters, expected_icc=AGREEMENT_ICC, unseen=False, **terms)
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
        yield f"the failure rate may have moved by {low:+z.3f} to {high:+z.3f}, beyond {margin:z.2f}"
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

    An occasion says stop where the evidence of all occasions so far (`stats.betting.evidence_of_drift`)
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
    items = [_over_runs(each) for each in runs]
    means = occasion_means(runs)
    there = np.flatnonzero(~np.isnan(means))
    together = evidence_of_runs(occasions, level=level)
    evidence = dict(zip(there[1:].tolist(), together.e_values.tolist(), strict=True)) if together else {}
    changes = []
    for k, later in enumerate(items[1:], start=1):
        change = paired_change(
            items[0], later, clusters=clusters, cluster_unit=cluster_unit, ci_level=ci_level, rng=rng
        )
        least = max(2.0 ** (1 - change.change.n_clusters), 1 / (DRAWS + 1))
        beyond = _noise_threshold(means[: k + 1], level)
        stop = bool(change.p_value <= level and evidence.get(k, 1.0) >= (1 - 1e-12) / level)
        noise: Noise = "not_measured" if math.isnan(beyond) else "measured"
        changes.append(Occasion(k + 1, change, level, stop, least <= level, noise, beyond))
    return changes


def _runs(occasion: ArrayLike) -> NDArray[np.float64]:
    verdicts = np.asarray(occasion, dtype=np.float64)
    if verdicts.ndim not in (1, 2):
        raise InputError("occasions", "must each be items, or items x runs", verdicts.shape)
    return verdicts[:, None] if verdicts.ndim == 1 else verdicts


def _over_runs(verdicts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the given verdicts; NaN where there is none."""
    given = (~np.isnan(verdicts)).sum(axis=1)
    return np.where(given > 0, np.nansum(verdicts, axis=1) / np.maximum(given, 1), np.nan)


def _noise_threshold(means: NDArray[np.float64], level: float) -> float:
    """How far the last occasion lies from the mean of those before it without a change, by one look at this level."""
    null = means[:-1][~np.isnan(means[:-1])]
    if len(null) < FEWEST_NULL or math.isnan(means[-1]):
        return math.nan
    return t_quantile(len(null) - 1, 1 - level) * float(null.std(ddof=1)) * math.sqrt(1 + 1 / len(null))


# Change between the repeats of one task before and after, also where repeats never differ.

#: Repeats on each side from which on equal ones count as repeats that do not vary.
FEWEST_ALIKE = 3


def split_chance(n_before: int, n_after: int) -> float:
    """How likely all of one set are of one kind and all of the other of another, were both sets alike: at the most.

    max over p of p^n (1 - p)^m = n^n m^m / (n + m)^(n + m), with n runs before and m after.

    Examples
    --------
    >>> split_chance(3, 3)
    0.015625
    """
    total = n_before + n_after
    return float((n_before / total) ** n_before * (n_after / total) ** n_after)


def unseen_share(n_repeats: int, level: float = 0.95) -> float:
    """The largest share of runs that shows in none of so many repeats with a probability of 1 - `level`.

    1 - (1 - level)^(1 / n): what is rarer than this, n repeats do not exclude.

    Examples
    --------
    >>> round(unseen_share(3), 3), round(unseen_share(58), 3)
    (0.632, 0.05)
    """
    return float(1 - (1 - level) ** (1 / n_repeats))


def least_change(
    before: Sequence[float], after: Sequence[float], *, scale: tuple[float, float], level: float = 0.95
) -> float:
    r"""Lower bound of mean after less mean before that allows for runs which were not drawn, on a bounded scale.

    For repeats in order, :math:`x_{(1)} \le \dots \le x_{(n)}`, and spacings D of n uniform draws (Dirichlet of ones),
    :math:`D_0 a + \sum_i D_i x_{(i)}` bounds the mean from below at the quantile 1 - `level`, with a the scale's lower
    end; from above with its upper end. The bound of the change is that quantile of the difference of both. Equal
    repeats of x give :math:`x - p (x - a)` with p of `unseen_share`: nothing varied is not no variation. 20,000 draws,
    always the same.

    References
    ----------
    Gaffke (2005), Math. Methods Stat. 14:451-467. Learned-Miller and Thomas (2020), arXiv:1905.06208 (at least as
    high as the Clopper-Pearson bound for 0 and 1, where it equals it; its level is proved for these and conjectured).
    """
    rng = np.random.default_rng(0)
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    return float(np.quantile(_means(second, scale[0], rng) - _means(first, scale[1], rng), 1 - level))


def mean_bounds(values: Sequence[float], *, scale: tuple[float, float], level: float = 0.95) -> tuple[float, float]:
    r"""One-sided bounds of the mean of runs, each at `level`, on a bounded scale: what runs not drawn allow for.

    The quantiles 1 - `level` and `level` of the means of `least_change`, with the scale's lower and upper end. One run
    of x gives :math:`a + (1 - level) (x - a)` and :math:`b - (1 - level) (b - x)`.

    Examples
    --------
    >>> [round(end) for end in mean_bounds([80.1], scale=(0, 100))]
    [4, 99]
    """
    seen = np.asarray(values, dtype=np.float64)
    low, high = (_means(seen, end, np.random.default_rng(0)) for end in scale)
    return float(np.quantile(low, 1 - level)), float(np.quantile(high, level))


def repeats_above(
    floor: float, mean: float, *, scale: tuple[float, float], level: float = 0.95, sd: float = 0.0
) -> float:
    r"""About how many runs of `mean` show that it does not lie below `floor`, by the lower of `mean_bounds`.

    Of equal ones :math:`\log(1 - level) / \log(1 - (mean - floor) / (mean - a))`, of such that vary by `sd` more
    (`_of_varying`); infinite where `mean` is not above the floor.

    Examples
    --------
    >>> round(repeats_above(80, 95, scale=(0, 100)), 1)
    17.4
    """
    if mean <= floor:
        return math.inf
    share = (mean - floor) / (mean - scale[0])
    equal = 1.0 if share >= 1 else math.log(1 - level) / math.log(1 - share)
    return _of_varying(equal, mean - floor, sd, level)


def _of_varying(equal: float, gap: float, sd: float, level: float) -> float:
    """Runs that tell a mean to `gap`, as so many `equal` ones do: n of gap = gap equal / n + z sd / sqrt(n)."""
    noise = NormalDist().inv_cdf(level) * sd
    return ((noise + math.sqrt(noise**2 + 4 * gap**2 * equal)) / (2 * gap)) ** 2


def _means(values: NDArray[np.float64], end: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Means under random weights of the values and of one end of the scale."""
    n_draws = int(np.clip(10_000_000 // (values.size + 1), 2_000, 20_000))
    weights = rng.standard_exponential((n_draws, values.size + 1))
    means: NDArray[np.float64] = weights @ np.append(values, end) / weights.sum(axis=1)
    return means if n_draws == 20_000 else rng.choice(means, 20_000)


def repeats_to_exclude(
    fall: float, mean: float, *, scale: tuple[float, float], ci_level: float = 0.95, sd: float = 0.0
) -> float:
    """About how many repeats of `mean` on each side exclude a fall of so much by `repeats_change`.

    A share of runs unseen in n repeats is about E / n with E exponential, and moves the mean after by up to mean - a,
    the mean before by up to b - mean: the quantile of E (mean - a) + E' (b - mean), over the fall. Infinite for none.
    More where a change from one run to another varies by `sd` (`_of_varying`).

    Examples
    --------
    >>> 65 < repeats_to_exclude(5, 90, scale=(0, 100)) < 75
    True
    """
    if fall <= 0:
        return math.inf
    draws = np.random.default_rng(0).standard_exponential((20_000, 2)) @ np.array([mean - scale[0], scale[1] - mean])
    level = (1 + ci_level) / 2
    return _of_varying(float(np.quantile(draws, level)) / fall, fall, sd, level)


def repeats_change(
    before: Sequence[float],
    after: Sequence[float],
    *,
    scale: tuple[float, float] | None = None,
    ci_level: float = 0.95,
) -> Estimate:
    """Mean after less mean before, over repeats of one task.

    The interval is Welch's. Where all repeats of each set are equal, a difference between the sets counts when
    `split_chance` is at most half of what the level leaves. Without a difference nothing varied, which is not no
    variation: the interval holds what three repeats or more on each side do not exclude (`least_change`), on a known
    scale; else there is none.

    Parameters
    ----------
    before, after : sequence of float
        One value a run.
    scale : tuple of float, optional
        The lowest and the highest value that a run can have.
    ci_level : float

    Returns
    -------
    Estimate
        Without interval where repeats are too few, with the reason.
    """
    first, second = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
    change = stratified_change(
        first,
        second,
        before_strata=["task"] * first.size,
        after_strata=["task"] * second.size,
        ci_level=ci_level,
    )
    if not math.isnan(change.ci_low) or min(first.size, second.size) < 2:
        return change
    chance = split_chance(first.size, second.size)
    shown = chance <= (1 - ci_level) / 2 if change.estimate else min(first.size, second.size) >= FEWEST_ALIKE
    if not shown:
        reason = f"{first.size} and {second.size} repeats that never differ are too few to say that they never do"
        return replace(change, reason=reason)
    if not change.estimate:
        if scale is None:
            return replace(
                change, reason="nothing varied, and without the scale's ends what repeats exclude is unknown"
            )
        low = least_change(before, after, scale=scale, level=(1 + ci_level) / 2)
        high = -least_change(after, before, scale=scale, level=(1 + ci_level) / 2)
        method = "nothing varied: what so many repeats do not exclude"
        return replace(change, ci_low=low, ci_high=high, method=method, reason="")
    method = f"all repeats equal on each side: by chance in {chance:.1%} at most"
    return replace(change, ci_low=change.estimate, ci_high=change.estimate, method=method, reason="")
