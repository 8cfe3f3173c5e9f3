"""Maps of confidence, fitted on the calibration split and frozen: Platt, isotonic, and mid-ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, all_in_unit_interval, one_of
from axisjudge.results import Result
from axisjudge.stats.confidence.calibration import isotonic_fit

Floats = NDArray[np.float64]

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
    found = np.where(knots[nearest] == given, ranks[nearest], share_below[position])
    return np.where(np.isnan(given), np.nan, found)


def _below(ranks: Floats) -> Floats:
    """Share below each knot, from mid-ranks: each knot's own mass is twice its mid-rank less what lies below."""
    below = np.zeros(ranks.size)
    for number in range(1, ranks.size):
        below[number] = 2 * ranks[number - 1] - below[number - 1]
    return below


def _fitting(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    given, outcome = _checked(confidence), np.asarray(correct, dtype=np.float64)
    if given.shape != outcome.shape:
        raise InputError("correct", f"needs one entry for each of the {given.size} confidences", outcome.shape)
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
