"""What a judge may decide alone at a stated error, and what it hands on to people; with labels, or by agreement and
confidence alone.

Thresholds are tested from the most confident items downwards, each hypothesis "among items at or above it the judge
errs in more than `risk`" at level 1 - `confidence_level`, until one is not rejected. The order and the threshold with
which it begins are fixed before labels are seen, so that no correction for many thresholds is needed (fixed-sequence
testing). It begins where the bound would be lowest, were the confidences taken at their word: earlier, a single error
among few items would end it. The test is the upper end of the clustered interval of `axisjudge.stats.proportions`,
so that tasks and not items are its units, and labels that were drawn with unequal probabilities count with their
weights. Among few confident items errors are too rare to show how they gather in tasks: there the intraclass
correlation of the errors in the largest set is expected, itself joined with `ERROR_ICC`.

A bound that assumes nothing of the errors within a task (a bet by task) cannot do with so few: at a risk r it needs
log(1 / .05) / -log(1 - r) tasks without a single error, 29 at .1 and 59 at .05. Nor do labels of few runs carry
much by any other: of final verdicts on AgentProcessBench (25 tasks of five runs, risk .1) .38 to .50 could stand by
their true errors; counting runs as independent and taking the best threshold seen, which is not valid, lets .04 to .08
stand in two of the sets, and this .01 (.34 and .23 in the third).

References
----------
Jung, Brahman and Choi (2025), Trust or Escalate, arXiv:2407.18370. Angelopoulos, Bates, Candes, Jordan and Lei (2025),
Learn then Test, Ann. Appl. Stat. 19:1641-1662, arXiv:2110.01052 (fixed-sequence testing of thresholds). Waudby-Smith
and Ramdas (2024), JRSS B 86:1-27, doi:10.1093/jrsssb/qkad009 (bets).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_each
from axisjudge.results import Result, columns
from axisjudge.stats import uneven_draws
from axisjudge.stats.calibration import auroc, fit_mid_rank
from axisjudge.stats.clustered import more_for_upper_end, upper_end_at
from axisjudge.stats.clusters import ERROR_ICC, clustered_variance, effective_clusters
from axisjudge.stats.estimate import ClusteredShare, Estimate
from axisjudge.stats.proportions import cluster_codes, clustered_proportion

#: Thresholds tried, at even steps of the items from the most confident down.
STEPS = 20


Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Threshold:
    """One threshold of the sequence: the share of the judged items at or above it, and the error among the labelled."""

    threshold: float
    share: float
    error: ClusteredShare


@dataclass(frozen=True)
class Alone(Result):
    """What a judge may decide alone.

    `share` is the share of the judged items at or above `threshold`, `error` the judge's error among them that people
    labelled (its interval is two-sided at 2 `confidence_level` - 1, so that its upper end is the bound that was
    tested). `refusal` says why nothing may be decided alone, and is empty otherwise. `tests` holds every threshold that
    was tested, in order; the last one failed unless all passed. `more_labels` says how many more labels of the same
    kind would carry the threshold at which the sequence ended, if the error there is what was seen; None where no
    number would, or nothing failed.
    """

    _keys = ("share", "threshold", "error", "risk", "confidence_level", "n_items", "refusal", "more_labels")

    share: float
    threshold: float
    error: ClusteredShare | None
    risk: float
    confidence_level: float
    n_items: int
    refusal: str = ""
    tests: tuple[Threshold, ...] = ()
    more_labels: int | None = None


def decides_alone(
    confidence: ArrayLike,
    error: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    risk: float = 0.1,
    confidence_level: float = 0.95,
    cluster_unit: str = "cluster",
) -> Alone:
    """The largest share of items, the most confident first, of which the judge errs in at most `risk`.

    Parameters
    ----------
    confidence : array, shape (n_items,)
        The judge's confidence; NaN where it gave no verdict or no confidence.
    error : array of 1, 0 or NaN, shape (n_items,)
        1 where the judge and people differ, NaN where people did not label. Labels must be a random sample of the
        items, or all of them, or have `weights`.
    clusters : array, shape (n_items,), optional
    weights : array, shape (n_items,), optional
        1 over the probability with which an item was drawn for labelling, up to a factor; read where it is labelled.
    risk : float
        The error that is allowed among the items decided alone.
    confidence_level : float
        How sure the bound on that error must be.

    Returns
    -------
    Alone

    Examples
    --------
    >>> sure, unsure = [0.9] * 100, [0.6] * 100
    >>> found = decides_alone(sure + unsure, [1] * 3 + [0] * 97 + [1] * 40 + [0] * 60)
    >>> found.share, found.threshold, found.refusal
    (0.5, 0.9, '')
    """
    in_open_unit_interval("risk", risk)
    in_open_unit_interval("confidence_level", confidence_level)
    sure, wrong = np.asarray(confidence, dtype=np.float64), np.asarray(error, dtype=np.float64)
    one_each("error", wrong, sure.size, of="confidences")
    if confidence_level <= 0.5:
        raise InputError("confidence_level", "must be above .5", confidence_level)
    judged = ~np.isnan(sure)
    labelled = judged & ~np.isnan(wrong)

    def nothing(refusal: str) -> Alone:
        return Alone(0.0, math.nan, None, risk, confidence_level, int(judged.sum()), refusal)

    if not labelled.any():
        return nothing("no item has a confidence, a verdict and a label")
    if np.unique(sure[labelled]).size < 2:
        return nothing("its confidence is the same everywhere, and so says nothing of single items")
    ends = thresholds(sure[labelled])
    return sequence(
        ends,
        [sure >= end for end in ends],
        judged,
        [wrong] * len(ends),
        [1 - sure] * len(ends),
        clusters,
        weights=weights,
        risk=risk,
        confidence_level=confidence_level,
        cluster_unit=cluster_unit,
    )


def sequence(
    ends: Sequence[float] | Floats,
    kept: Sequence[Flags],
    judged: Flags,
    wrong: Sequence[Floats],
    expected: Sequence[Floats],
    clusters: ArrayLike | None,
    *,
    weights: ArrayLike | None = None,
    risk: float,
    confidence_level: float,
    cluster_unit: str = "cluster",
) -> Alone:
    """Fixed-sequence tests of sets of items, in the order in which they are given.

    Parameters
    ----------
    ends : sequence of float
        What each set is known by: its threshold.
    kept : sequence of array of bool, shape (n_items,)
        The items of each set; order and sets must not depend on labels.
    judged : array of bool, shape (n_items,)
        The items of which shares are taken.
    wrong : sequence of array of 1, 0 or NaN, shape (n_items,)
        Errors for each set, which may differ: a cascade's items move from stage to stage. NaN is without a label.
    expected : sequence of array, shape (n_items,)
        1 less the confidence of each item in each set: what its error would be, were confidences calibrated. Only where
        the sequence begins depends on it.
    """
    groups = cluster_codes(clusters, judged.size)
    weight = np.ones(judged.size) if weights is None else np.asarray(weights, dtype=np.float64)
    labelled = ~np.isnan(wrong[0])
    if not (weight[labelled] > 0).all():
        raise InputError("weights", "must be positive where there is a label", weight[labelled])
    level = 2 * confidence_level - 1
    every = kept[-1] & labelled & judged
    gathered = _error_icc(wrong[-1][every], groups[every], weight[every])

    def bound(inside: Flags, errors: Floats) -> ClusteredShare:
        counted = inside & labelled
        return clustered_proportion(
            errors[counted],
            None if clusters is None else groups[counted],
            weights=weight[counted],
            cluster_unit=cluster_unit,
            expected_icc=gathered,
            unseen=False,
            ci_level=level,
        )

    def bound_at(share: float, inside: Flags) -> float:
        counted = inside & labelled
        return upper_end_at(share, groups[counted], weights=weight[counted], expected_icc=ERROR_ICC, ci_level=level)

    n_judged = int(judged.sum())
    carried = [at for at, inside in enumerate(kept) if _speak_for(weight, inside & judged, judged, labelled)]
    if not carried:
        few = "labels drawn with so uneven probabilities speak for too few items: label more of the kinds rarely drawn"
        return Alone(0.0, math.nan, None, risk, confidence_level, n_judged, few)
    ends, kept = [ends[at] for at in carried], [kept[at] for at in carried]
    wrong, expected = [wrong[at] for at in carried], [expected[at] for at in carried]
    if (start := _start(kept, [inside & labelled for inside in kept], expected, weight, bound_at, risk)) is None:
        n_labelled = int((labelled & judged).sum())
        few = f"{n_labelled} labelled items: without a single error they could not show {100 * risk:g}%"
        return Alone(0.0, math.nan, None, risk, confidence_level, n_judged, few)
    tests: list[Threshold] = []
    for end, inside, errors in zip(ends[start:], kept[start:], wrong[start:], strict=True):
        tests.append(Threshold(float(end), float(inside[judged].mean()), bound(inside, errors)))
        if not tests[-1].error.ci_high <= risk:  # NaN is no proof
            break
    failed = not tests[-1].error.ci_high <= risk
    more = _more_labels(tests[-1].error, risk) if failed else None
    passed = tests[:-1] if failed else tests
    about = {"tests": tuple(tests), "more_labels": more}
    if not passed:
        first = tests[0].error
        seen = f"among its {first.n_items:,} most confident items it errs in {first.estimate:.0%}"
        refusal = f"{seen}, and up to {first.ci_high:.0%} cannot be excluded"
        return Alone(0.0, math.nan, None, risk, confidence_level, n_judged, refusal, **about)  # type: ignore[arg-type]
    best = passed[-1]
    return Alone(best.share, best.threshold, best.error, risk, confidence_level, n_judged, **about)  # type: ignore[arg-type]


def _error_icc(errors: Floats, groups: NDArray[np.intp], weight: Floats) -> float:
    """The intraclass correlation of errors within tasks, joined with the one that is expected."""
    n_eff, items = effective_clusters(np.bincount(groups, weights=weight)), effective_clusters(weight)
    if n_eff <= 1 or items <= n_eff * (1 + 1e-12):  # one task, or every item its own
        return ERROR_ICC
    influence = weight * (errors - np.average(errors, weights=weight)) / weight.sum()
    effect = clustered_variance(influence, groups, weights=weight, prior=ERROR_ICC).design_effect
    return (effect - 1) / (items / n_eff - 1)


def _start(
    kept: Sequence[Flags],
    counted: Sequence[Flags],
    expected: Sequence[Floats],
    weight: Floats,
    bound_at: Callable[[float, Flags], float],
    risk: float,
) -> int | None:
    """Where a sequence begins, known before labels are seen; None where not even no error at all would do."""
    promised = np.full(len(kept), np.inf)
    for position, (inside, count) in enumerate(zip(kept, counted, strict=True)):
        if count.any() and bound_at(0.0, inside) <= risk:
            error = float(np.average(np.clip(expected[position][count], 0.0, 1.0), weights=weight[count]))
            promised[position] = bound_at(error, inside)
    return int(promised.argmin()) if np.isfinite(promised).any() else None


def _speak_for(weight: Floats, inside: Flags, judged: Flags, labelled: Flags) -> bool:
    """Whether the labels inside stand for its items, by their weights; labels of about even weight always do.

    They must be worth enough of even weight, and stand for as many items as there are, but for a standard error:
    with less, some kind of item that was rarely drawn has no label there, and its errors would pass unseen.
    """
    mine, all_labels = weight[inside & labelled], weight[judged & labelled]
    if not mine.size or all_labels.max() <= uneven_draws.CLASS_RATIO * all_labels.min():
        return True
    covered, n_eff = mine.sum() / all_labels.sum() * judged.sum() / inside.sum(), effective_clusters(mine)
    return bool(n_eff >= uneven_draws.FEWEST_EFFECTIVE_LABELS and covered >= 1 - 1 / math.sqrt(n_eff))


def _more_labels(error: ClusteredShare, risk: float) -> int | None:
    """How many more labels among these items would bring the upper end to the risk, clusters growing as items do."""
    if math.isnan(error.ci_high) or error.estimate >= risk:
        return None
    return more_for_upper_end(error, risk)


def thresholds(confidence: Floats) -> Floats:
    """Distinct confidences from the highest down, `STEPS` of them at most, at even steps of the items."""
    ends = np.quantile(confidence, 1 - np.arange(1, STEPS + 1) / STEPS, method="inverted_cdf")
    return np.unique(ends)[::-1]


# Triage without labels: what agreement and confidence together say of an item, and which items to read first.


@dataclass(frozen=True, eq=False)
class Triage(Result):
    """Agreement by confidence.

    A judge is sure of an item when its confidence reaches its own `quantile`; an item is sure when all judges that
    decide on it are.
    `agree_sure` is the strongest signal; `disagree_unsure` flags the item. `agreement_sure` and `agreement_unsure`
    are the shares of agreeing items, `auc` the probability that an item with agreement has the higher lowest rank of
    confidence of one with and one without. `mean_when_agreeing` and `mean_when_disagreeing` hold each judge's mean
    confidence. `read_first` orders the items' positions: disagreements of unsure judges, other disagreements, unsure
    agreements; each by the lowest rank of confidence. Items on which fewer than two judges decide, with a confidence,
    are left out and counted.
    """

    _keys = columns(
        "agree_sure agree_unsure disagree_sure disagree_unsure n_missing quantile agreement_sure agreement_unsure auc"
    )

    agree_sure: int
    agree_unsure: int
    disagree_sure: int
    disagree_unsure: int
    agreement_sure: Estimate
    agreement_unsure: Estimate
    auc: Estimate
    mean_when_agreeing: Floats
    mean_when_disagreeing: Floats
    read_first: tuple[int, ...]
    n_missing: int
    quantile: float


def triage(
    ratings: ArrayLike,
    confidences: ArrayLike,
    *,
    quantile: float = 0.5,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> Triage:
    """The 2 x 2 of agreement by per-judge confidence quantile, and what follows from it.

    Parameters
    ----------
    ratings, confidences : array, shape (n_items, n_raters)
        Verdict codes and confidences; confidences are compared within a judge only. A judge without either on an item
        decides nothing there, as one that says `uncertain`, and the others are compared.
    quantile : float
        From which of its own quantiles a judge counts as sure.
    clusters : array, shape (n_items,), optional
        Which items belong together.
    """
    in_open_unit_interval("quantile", quantile)
    matrix, confidence = np.asarray(ratings, dtype=np.float64), np.asarray(confidences, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape != confidence.shape or matrix.shape[1] < 2:
        raise InputError(
            "confidences", f"needs the shape of the ratings {matrix.shape}, two raters or more", confidence.shape
        )
    decides = ~np.isnan(matrix) & ~np.isnan(confidence)
    kept = np.flatnonzero(decides.sum(axis=1) >= 2)
    if not kept.size:
        raise InputError("ratings", "no item has a verdict and a confidence of two judges")
    decides = decides[kept]
    matrix, confidence = (np.where(decides, each[kept], np.nan) for each in (matrix, confidence))
    agree = np.nanmin(matrix, axis=1) == np.nanmax(matrix, axis=1)
    used = decides.any(axis=0)
    limits = np.full(used.size, np.nan)
    limits[used] = np.nanquantile(confidence[:, used], quantile, axis=0)
    sure = ~(confidence < limits).any(axis=1)
    ranks = [fit_mid_rank(column[~np.isnan(column)], source="")(column, source="") for column in confidence[:, used].T]
    lowest_rank = np.nanmin(ranks, axis=0)
    groups = None if clusters is None else np.asarray(clusters)[kept]

    def share(of: NDArray[np.bool_]) -> Estimate:
        values = np.where(of, agree, np.nan)
        return clustered_proportion(values, groups, cluster_unit=cluster_unit, ci_level=ci_level)

    shares = share(np.asarray(sure)), share(np.asarray(~sure))
    auc = auroc(lowest_rank, agree, clusters=groups, cluster_unit=cluster_unit, ci_level=ci_level)
    stage = np.select([~agree & ~sure, ~agree, ~sure], [0, 1, 2], 3)
    order = np.lexsort((lowest_rank, stage))
    return Triage(
        agree_sure=int((agree & sure).sum()),
        agree_unsure=int((agree & ~sure).sum()),
        disagree_sure=int((~agree & sure).sum()),
        disagree_unsure=int((~agree & ~sure).sum()),
        agreement_sure=shares[0],
        agreement_unsure=shares[1],
        auc=auc,
        mean_when_agreeing=_means(confidence, agree),
        mean_when_disagreeing=_means(confidence, ~agree),
        read_first=tuple(kept[order[stage[order] < 3]].tolist()),
        n_missing=int(len(np.asarray(ratings)) - kept.size),
        quantile=quantile,
    )


def _means(confidence: Floats, rows: NDArray[np.bool_]) -> Floats:
    given = np.ma.masked_invalid(confidence[rows])
    return np.asarray(given.mean(axis=0).filled(np.nan)) if rows.any() else np.full(confidence.shape[1], np.nan)
