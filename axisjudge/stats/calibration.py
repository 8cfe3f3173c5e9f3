"""Confidence against labels: the CORP decomposition of the Brier score, ECE beside it, ranking, risk; and its
recalibration.

`confidence` is the probability a judge gave to its own verdict and `correct` whether the verdict equals the label.
Confidences of different sources (verbalized, token probability) are never pooled: call these once for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, all_in_unit_interval, in_open_unit_interval, one_each, one_of, positive
from axisjudge.results import Result
from axisjudge.stats.clusters import AGREEMENT_ICC, NO_LEAN, clustered_variance, effective_clusters
from axisjudge.stats.estimate import Ends, Estimate, counts_of, without_interval
from axisjudge.stats.proportions import (
    FEWEST_CLUSTERS,
    FEWEST_RARE,
    cluster_codes,
    jackknife_interval,
    lean_to_unseen,
    with_unseen,
)

Floats = NDArray[np.float64]

BAND_RESAMPLES = 1000
#: More distinct confidences are drawn for the band in so many groups of neighbours.
BAND_GROUPS = 500


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Reliability of confidences and the CORP decomposition: brier = miscalibration - discrimination + uncertainty.

    `confidence` (distinct values in order) and `calibrated` (the isotonic share of correct verdicts at each) are the
    curve, `count` how often each value was given; `band_low` and `band_high` hold all of the curve that a perfectly
    calibrated judge would show with so few items: inside it, nothing is shown to be wrong. `ece` is the calibration
    error in `ece_bins` bins of equal width, which is well above 0 for a calibrated judge of few items: read it
    against `ece_if_calibrated`, its mean in the same resamples.
    """

    confidence: Floats
    calibrated: Floats
    count: NDArray[np.intp]
    band_low: Floats
    band_high: Floats
    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    ece: float
    ece_if_calibrated: float
    ece_bins: int
    n_items: int
    n_missing: int

    def __repr__(self) -> str:
        return (
            f"ReliabilityCurve(Brier {self.brier:.3f} = {self.miscalibration:.3f} - {self.discrimination:.3f} + "
            f"{self.uncertainty:.3f}, {self.n_items} items)"
        )


def reliability_curve(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    bins: int = 10,
    band_level: float = 0.9,
    rng: np.random.Generator | int | None = None,
) -> ReliabilityCurve:
    """Reliability diagram by isotonic regression, with the decomposition of the Brier score it implies.

    miscalibration = mean Brier of the confidences - mean Brier of the isotonic fit; discrimination = Brier of the
    overall share of correct verdicts - Brier of the isotonic fit; uncertainty = Brier of the overall share.

    Parameters
    ----------
    confidence, correct : array, shape (n_items,)
        Confidence in [0, 1] and 0/1; items with NaN in either are left out and counted.
    clusters : array, shape (n_items,), optional
        Which items belong together: the band is widened by the root of the design effect of what the judge gets right
        beyond its confidence.
    bins : int
        Bins of the ECE.
    band_level : float
        Share of calibrated judges whose whole curve lies within the consistency band.
    rng : numpy.random.Generator or int, optional
        Source of the band's resamples; a fixed seed by default.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), PNAS 118:e2016191118, doi:10.1073/pnas.2016191118.
    """
    positive("bins", bins)
    in_open_unit_interval("band_level", band_level)
    given, outcome, kept = _pairs(confidence, correct)
    if given.size == 0:
        raise InputError("confidence", "needs at least one item with a confidence and a label", kept.size)
    values, position, count = np.unique(given, return_inverse=True, return_counts=True)
    share = np.bincount(position, weights=outcome) / count
    fitted = isotonic_fit(share, count)
    base = outcome.mean()
    generator = np.random.default_rng(0 if rng is None else rng)
    group = np.arange(values.size) * min(BAND_GROUPS, values.size) // values.size
    heavy = np.bincount(group, weights=count)
    centre = np.bincount(group, weights=count * values) / heavy
    spread = math.sqrt(_design_effect(outcome - given, clusters, kept))
    shares = generator.binomial(heavy.astype(np.int64), centre, size=(BAND_RESAMPLES, centre.size)) / heavy
    drawn = centre + spread * (shares - centre)
    curves = np.array([isotonic_fit(row, heavy) for row in drawn]).clip(0, 1)
    low, high = (np.interp(values, centre, end) for end in _simultaneous(curves, band_level))
    brier = float(((given - outcome) ** 2).mean())
    fitted_brier = float(((fitted[position] - outcome) ** 2).mean())
    uncertainty = float(base * (1 - base))
    return ReliabilityCurve(
        confidence=values,
        calibrated=fitted,
        count=count.astype(np.intp),
        band_low=low,
        band_high=high,
        brier=brier,
        miscalibration=brier - fitted_brier,
        discrimination=uncertainty - fitted_brier,
        uncertainty=uncertainty,
        ece=_ece(values, share, count, bins),
        ece_if_calibrated=float(np.mean([_ece(centre, row, heavy, bins) for row in drawn])),
        ece_bins=bins,
        n_items=given.size,
        n_missing=int((~kept).sum()),
    )


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> float:
    """ECE: the mean over items of |share correct - mean confidence| in bins of equal width (the last one closed).

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI, doi:10.1609/aaai.v29i1.9602.
    """
    given, outcome, _ = _pairs(confidence, correct)
    if given.size == 0:
        return math.nan
    return _ece(given, outcome, np.ones(given.size), bins)


def isotonic_fit(values: ArrayLike, weights: ArrayLike) -> Floats:
    """The non-decreasing sequence nearest to `values` in weighted squares: pool adjacent violators.

    References
    ----------
    Ayer et al. (1955), Ann. Math. Stat. 26:641-647, doi:10.1214/aoms/1177728423.
    """
    from scipy.optimize import isotonic_regression

    level = np.asarray(values, dtype=np.float64)
    if not level.size:
        return level
    return np.asarray(isotonic_regression(level, weights=np.asarray(weights, dtype=np.float64)).x, dtype=np.float64)


def auroc(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> Estimate:
    """Probability that a correct verdict has the higher confidence of a correct and a wrong one; ties count half.

    The interval is the delete-one-cluster jackknife-t on the logit, on the degrees of the outcome that stands in fewer
    clusters, with room for clusters unlike those seen (`proportions.clustered_ends`); with fewer than 10 clusters, or
    fewer than 5 of either outcome, there is none.

    References
    ----------
    Hanley and McNeil (1982), Radiology 143:29-36, doi:10.1148/radiology.143.1.7063747.
    """
    given, outcome, kept = _pairs(confidence, correct)
    groups = np.unique(cluster_codes(clusters, kept.size)[kept], return_inverse=True)[1]
    n_clusters = int(groups.max(initial=-1)) + 1
    right, wrong = outcome == 1, outcome == 0
    estimate = math.nan
    if not right.any() or not wrong.any():
        ends = Ends(reason="needs a correct and a wrong verdict at least")
    else:
        wins = _wins(given[right], given[wrong])
        losses = _wins(-given[wrong], -given[right])
        n_right, n_wrong = float(right.sum()), float(wrong.sum())
        estimate = float(wins.sum() / (n_right * n_wrong))
        if n_clusters < FEWEST_CLUSTERS or min(n_right, n_wrong) < FEWEST_RARE:
            ends = Ends(reason="too few clusters, or too few of one outcome")
        else:
            left_out = _auc_left_out(given, outcome, groups, n_clusters, wins, losses)
            # Each outcome's items, with the share of the other outcome that they stand on the right side of.
            sides = [(groups[right], wins / n_wrong), (groups[wrong], losses / n_right)]
            sizes = [np.unique(of, return_counts=True)[1] for of, _ in sides]
            alone = n_clusters == given.size
            degrees = n_clusters - 1.0 if alone else max(min(map(effective_clusters, sizes)) - 1, 1.0)
            low, high = jackknife_interval(estimate, left_out, scale="logit", degrees=degrees, ci_level=ci_level)
            if math.isnan(low):
                ends = without_interval("the ranking is perfect in the sample or without one cluster")
            else:
                for (of, placed), size in [] if alone else zip(sides, sizes, strict=True):
                    lean = lean_to_unseen(NO_LEAN, estimate, np.bincount(of, weights=placed)[np.unique(of)], size)
                    low, high = with_unseen(low, high, estimate, lean, ci_level)
                ends = Ends(low, high, "jackknife-t over clusters on the logit")
    counts = {"n_items": given.size, "n_missing": int((~kept).sum()), "n_clusters": n_clusters}
    return Estimate(estimate=estimate, **ends._asdict(), **counts_of(clusters, cluster_unit, ci_level, **counts))


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Share of wrong verdicts (`risk`) among the most confident share (`coverage`) of the verdicts."""

    threshold: Floats
    coverage: Floats
    risk: Floats
    area: float


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Risk of keeping only verdicts at or above each confidence; `area` under it, by steps of one verdict.

    Verdicts of equal confidence are kept or left together.

    References
    ----------
    El-Yaniv and Wiener (2010), J. Mach. Learn. Res. 11:1605-1641.
    """
    given, outcome, kept = _pairs(confidence, correct)
    if given.size == 0:
        raise InputError("confidence", "needs at least one item with a confidence and a label", kept.size)
    values, position, count = np.unique(-given, return_inverse=True, return_counts=True)
    kept = np.cumsum(count)
    risk = np.cumsum(np.bincount(position, weights=1 - outcome)) / kept
    return RiskCoverage(-values, kept / given.size, risk, float((risk * count).sum() / given.size))


def _pairs(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    given, outcome = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    one_each("correct", outcome, given.size, of="confidences")
    all_in_unit_interval("confidence", given)
    if not np.isin(outcome[~np.isnan(outcome)], (0.0, 1.0)).all():
        raise InputError("correct", "must be 0, 1 or NaN", correct)
    kept = ~np.isnan(given) & ~np.isnan(outcome)
    return given[kept], outcome[kept], kept


def _ece(values: Floats, share: Floats, count: ArrayLike, bins: int) -> float:
    weight = np.asarray(count, dtype=np.float64)
    box = np.minimum((values * bins).astype(int), bins - 1)
    gap = np.bincount(box, weights=weight * (share - values), minlength=bins)
    return float(np.abs(gap).sum() / weight.sum())


def _wins(winners: Floats, losers: Floats) -> Floats:
    """For each winner: how many losers lie below it, ties half."""
    ordered = np.sort(losers)
    return np.asarray((np.searchsorted(ordered, winners) + np.searchsorted(ordered, winners, side="right")) / 2)


def _wins_inside(given: Floats, right: NDArray[np.bool_], groups: NDArray[np.intp], n_clusters: int) -> Floats:
    """Wins among the verdicts of each cluster: the mid-ranks of its right ones minus those among themselves."""
    order = np.lexsort((given, groups))
    value, group = given[order], groups[order]
    new = np.r_[True, (np.diff(value) != 0) | (np.diff(group) != 0)]
    start = np.flatnonzero(new)
    tie = np.cumsum(new) - 1
    first = np.searchsorted(group, np.arange(n_clusters))
    rank = (start[tie] + np.r_[start[1:], value.size][tie] + 1) / 2 - first[group]
    of_right = np.bincount(group, weights=rank * right[order], minlength=n_clusters)
    n = np.bincount(groups[right], minlength=n_clusters)
    return np.asarray(of_right - n * (n + 1) / 2)


def _simultaneous(curves: Floats, level: float) -> tuple[Floats, Floats]:
    """Pointwise quantiles so far out that the share `level` of the curves lies between them everywhere."""
    n = len(curves)
    ordered = np.sort(curves, axis=0)
    below = np.array(
        [np.searchsorted(column, own, side="right") for column, own in zip(ordered.T, curves.T, strict=True)]
    )
    above = n - np.array([np.searchsorted(column, own) for column, own in zip(ordered.T, curves.T, strict=True)])
    deepest = np.sort(np.minimum(below, above).min(axis=0))  # how far from its outermost each curve stays
    depth = max(int(deepest[int((1 - level) * n)]), 1)
    return ordered[depth - 1], ordered[n - depth]


def _design_effect(residual: Floats, clusters: ArrayLike | None, kept: NDArray[np.bool_]) -> float:
    if clusters is None:
        return 1.0
    groups = cluster_codes(clusters, kept.size)[kept]
    if np.unique(groups).size < 2:
        raise InputError("clusters", "must be two or more", 1, "leave clusters out for items that are independent")
    centred = (residual - residual.mean()) / residual.size
    return clustered_variance(centred, groups, prior=AGREEMENT_ICC).design_effect


def _auc_left_out(
    given: Floats,
    outcome: Floats,
    groups: NDArray[np.intp],
    n_clusters: int,
    wins: Floats,
    losses: Floats,
) -> Floats:
    """The AUC without each cluster: its verdicts take their pairs along; pairs inside it, taken twice, return once."""
    right, wrong = outcome == 1, outcome == 0
    out = np.bincount(groups[right], weights=wins, minlength=n_clusters) + np.bincount(
        groups[wrong], weights=losses, minlength=n_clusters
    )
    inside = _wins_inside(given, right, groups, n_clusters)
    n_right = right.sum() - np.bincount(groups[right], minlength=n_clusters)
    n_wrong = wrong.sum() - np.bincount(groups[wrong], minlength=n_clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((wins.sum() - out + inside) / (n_right * n_wrong))


# Maps of confidence, fitted on the calibration split and frozen: Platt, isotonic, and mid-ranks.

#: Confidences of 0 and 1 have no logit; they count as this far inside.
EDGE = 1e-4
_KINDS = ("platt", "isotonic", "mid_rank")


@dataclass(frozen=True)
class ConfidenceMap(Result):
    """A monotone map of confidences to [0, 1], made of numbers that a lock can hold.

    `kind` is ``platt`` (`values` are slope and intercept on the logit), ``isotonic`` (`knots` and their `values`,
    straight lines between) or ``mid_rank`` (distinct confidences and their mid-ranks as shares). `source` names the
    confidences it was fitted on, and only those may go through it.
    """

    kind: str
    source: str
    values: tuple[float, ...]
    knots: tuple[float, ...] = ()
    n_fitted: int = 0

    def __call__(self, confidence: ArrayLike, *, source: str) -> Floats:
        """Map confidences; NaN stays NaN.

        Raises
        ------
        InputError
            The confidences come from another source (another judge, or verbalized against token probability).
        """
        if source != self.source:
            raise InputError("source", f"this map was fitted on {self.source}", source, "fit one map for each source")
        given = _checked(confidence)
        if self.kind == "platt":
            slope, intercept = self.values
            return np.asarray(1 / (1 + np.exp(-(slope * _logit(given) + intercept))))
        if self.kind == "isotonic":
            return np.where(np.isnan(given), np.nan, np.interp(given, self.knots, self.values))
        return _ranked(given, np.array(self.knots), np.array(self.values))

    @classmethod
    def from_dict(cls, frozen: dict[str, Any]) -> ConfidenceMap:
        """From the lock."""
        one_of("kind", frozen["kind"], _KINDS)
        return cls(
            kind=frozen["kind"],
            source=frozen["source"],
            values=tuple(frozen["values"]),
            knots=tuple(frozen["knots"]),
            n_fitted=frozen["n_fitted"],
        )


def fit_platt(confidence: ArrayLike, correct: ArrayLike, *, source: str) -> ConfidenceMap:
    """Logistic recalibration: P(correct) = expit(slope logit(confidence) + intercept), by maximum likelihood.

    Labels are taken as (n1 + 1) / (n1 + 2) and 1 / (n0 + 2), as Platt did, so that the fit exists where the classes are
    separated.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, in Advances in Large Margin Classifiers.
    """
    given, outcome = _fitting(confidence, correct)
    if np.ptp(given) == 0:
        raise InputError("confidence", "all are equal: a slope cannot be fitted", given[0])
    n_right, n_wrong = outcome.sum(), (1 - outcome).sum()
    target = np.where(outcome == 1, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    design = np.column_stack([_logit(given), np.ones(given.size)])
    beta = np.zeros(2)
    for _ in range(100):
        share = 1 / (1 + np.exp(-(design @ beta)))
        curvature = design.T @ (design * (share * (1 - share))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (target - share))
        beta = beta + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    if beta[0] <= 0:
        cure = "this judge's confidence carries no ranking to recalibrate"
        raise InputError("confidence", "must rise with the share of correct verdicts", f"slope {beta[0]:.3f}", cure)
    return ConfidenceMap("platt", source, (float(beta[0]), float(beta[1])), n_fitted=given.size)


def fit_isotonic(confidence: ArrayLike, correct: ArrayLike, *, source: str) -> ConfidenceMap:
    """Isotonic recalibration: the non-decreasing share of correct verdicts nearest to the labels.

    References
    ----------
    Zadrozny and Elkan (2002), KDD, doi:10.1145/775047.775151.
    """
    given, outcome = _fitting(confidence, correct)
    knots, position, count = np.unique(given, return_inverse=True, return_counts=True)
    fitted = isotonic_fit(np.bincount(position, weights=outcome) / count, count)
    return ConfidenceMap("isotonic", source, tuple(fitted.tolist()), tuple(knots.tolist()), given.size)


def fit_mid_rank(confidence: ArrayLike, *, source: str) -> ConfidenceMap:
    """Rank normalisation: the share of confidences below, ties half (the mid-rank empirical distribution function).

    Fit it on the whole calibration split with all rubric versions pooled: ranks taken within a version erase the very
    shift between versions that should show. It needs no labels.
    """
    given = _checked(confidence)
    given = given[~np.isnan(given)]
    if given.size == 0:
        raise InputError("confidence", "needs at least one value")
    knots, count = np.unique(given, return_counts=True)
    ranks = (np.cumsum(count) - count / 2) / given.size
    return ConfidenceMap("mid_rank", source, tuple(ranks.tolist()), tuple(knots.tolist()), given.size)


def _ranked(given: Floats, knots: Floats, ranks: Floats) -> Floats:
    """Mid-ranks of known values; of others the share of known values below."""
    position = np.searchsorted(knots, given)
    nearest = np.minimum(position, knots.size - 1)
    share_below = np.append(_below(ranks), 1.0)
    ranked = np.where(knots[nearest] == given, ranks[nearest], share_below[position])
    return np.where(np.isnan(given), np.nan, ranked)


def _below(ranks: Floats) -> Floats:
    """Share below each knot, from mid-ranks: each knot's own mass is twice its mid-rank less what lies below."""
    below = np.zeros(ranks.size)
    for number in range(1, ranks.size):
        below[number] = 2 * ranks[number - 1] - below[number - 1]
    return below


def _fitting(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    given, outcome = _checked(confidence), np.asarray(correct, dtype=np.float64)
    one_each("correct", outcome, given.size, of="confidences")
    kept = ~np.isnan(given) & ~np.isnan(outcome)
    given, outcome = given[kept], outcome[kept]
    if not np.isin(outcome, (0.0, 1.0)).all():
        raise InputError("correct", "must be 0, 1 or NaN", correct)
    if np.unique(outcome).size < 2:
        raise InputError("correct", "needs a correct and a wrong verdict at least", cure="label more items")
    return given, outcome


def _checked(confidence: ArrayLike) -> Floats:
    given = np.asarray(confidence, dtype=np.float64)
    all_in_unit_interval("confidence", given)
    return given


def _logit(share: Floats) -> Floats:
    inside = np.clip(share, EDGE, 1 - EDGE)
    return np.asarray(np.log(inside / (1 - inside)))
