"""Which agreements to trust and which items to read first, by how sure the judges were."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.analysis.frames import Kind, kind_of, table_of
from axisjudge.analysis.pooled import Pooled, pooled
from axisjudge.stats.confidence import auroc
from axisjudge.stats.estimate import Estimate, UndefinedStatisticWarning
from axisjudge.stats.intervals import clustered_proportion

Floats = NDArray[np.float64]

NO_CONFIDENCES = "fewer than two judges gave confidences"


@dataclass(frozen=True)
class JudgeConfidence:
    """What one judge's confidence says of its agreement with the others.

    `auc` is the chance that the judge was surer on an item where it sides with the majority of the other judges than
    on one where it does not. The mean confidences are on the judge's own scale and not to be compared across judges.
    """

    judge: str
    family: str
    auc: Estimate
    mean_when_siding: float
    mean_when_opposed: float
    n_siding: int
    n_opposed: int


@dataclass(frozen=True, eq=False)
class Triage:
    """Agreement of the panel by its confidence.

    An item is `sure` when the mean of its judges' confidence ranks lies above the median of that mean over all items;
    a judge's rank is the share of its own confidences below this one. `counts[sure][agree]` are the four cells.
    `reason` says why there is no triage, and is empty otherwise.
    """

    where: str
    judges: tuple[JudgeConfidence, ...]
    counts: tuple[tuple[int, int], tuple[int, int]]
    agreement_sure: Estimate
    agreement_unsure: Estimate
    auc: Estimate
    n_left_out: int
    reason: str
    kind: Kind

    def to_frame(self) -> Any:
        """One row a judge."""
        rows = [
            {
                "judge": judge.judge,
                "family": judge.family,
                "auc": judge.auc.estimate,
                "low": judge.auc.ci_low,
                "high": judge.auc.ci_high,
                "confidence_when_siding": judge.mean_when_siding,
                "confidence_when_opposed": judge.mean_when_opposed,
                "siding": judge.n_siding,
                "opposed": judge.n_opposed,
            }
            for judge in self.judges
        ]
        return table_of(rows, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        (unsure_split, unsure_agree), (sure_split, sure_agree) = self.counts
        return {
            "sure_agree": sure_agree,
            "sure_split": sure_split,
            "unsure_agree": unsure_agree,
            "unsure_split": unsure_split,
            "agreement_sure": self.agreement_sure.to_dict(),
            "agreement_unsure": self.agreement_unsure.to_dict(),
            "auc": self.auc.to_dict(),
            "judges": [{**vars(judge), "auc": judge.auc.to_dict()} for judge in self.judges],
            "n_left_out": self.n_left_out,
            "reason": self.reason,
        }

    @property
    def sentence(self) -> str:
        """Agreement of the surer and the less sure half, and what the AUC says."""
        if self.reason:
            return f"{self.where}: no triage by confidence, because {self.reason}."
        split = self.counts[1][0]
        return (
            f"{self.where}: all judges agree on {_share(self.agreement_sure)} of the surer half of the items and on "
            f"{_share(self.agreement_unsure)} of the other; AUC of confidence for agreement {_said(self.auc)} "
            f"({self.auc.clusters}). {split} items are split although the panel is sure: these question the rubric."
        )


def triage(
    ratings: Any,
    question: str | Sequence[str],
    *,
    repeat: int = 0,
    step_level: bool = False,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Triage:
    """Cross agreement with confidence; no labels are needed.

    Parameters are those of `axisjudge.analysis.pooled.pooled`, with what a cluster is and the level of the intervals.
    Confidences are compared within a judge only, by rank.
    """
    panel = pooled(ratings, question, repeat=repeat, step_level=step_level)
    codes, ranks = panel.codes[:, : panel.n_judges], confidence_ranks(panel)
    given = ~np.isnan(codes) & ~np.isnan(ranks)
    used = given.sum(axis=1) >= 2
    about: dict[str, Any] = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    if not used.any():
        none = Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason=NO_CONFIDENCES, **about)
        return Triage(panel.where, (), ((0, 0), (0, 0)), none, none, none, len(used), NO_CONFIDENCES, kind_of(ratings))
    mean_rank, agree = item_confidence(ranks)[used], unanimous(codes)[used]
    clusters = panel.clusters[used]
    sure = mean_rank > np.median(mean_rank)
    unsure_cells, sure_cells = ((int((~part).sum()), int(part.sum())) for part in (agree[~sure], agree[sure]))
    return Triage(
        where=panel.where,
        judges=tuple(_judge(panel, number, about) for number in range(panel.n_judges) if given[:, number].any()),
        counts=(unsure_cells, sure_cells),
        agreement_sure=clustered_proportion(agree[sure], clusters[sure], **about),
        agreement_unsure=clustered_proportion(agree[~sure], clusters[~sure], **about),
        auc=_auc(mean_rank, agree, clusters, about),
        n_left_out=int((~used).sum()),
        reason="",
        kind=kind_of(ratings),
    )


def confidence_ranks(panel: Pooled) -> Floats:
    """Each judge's confidences as mid-ranks among its own, from 0 to 1; shape (items, judges), NaN without confidence.

    Ranks rid of a judge's habit of high or low figures; equal confidences share one rank.
    """
    confidences = panel.confidences[:, : panel.n_judges]
    return np.column_stack([mid_ranks(column, column) for column in confidences.T])


def mid_ranks(values: ArrayLike, reference: ArrayLike) -> Floats:
    """The empirical distribution function of `reference` at `values`, counting equal ones half.

    Examples
    --------
    >>> mid_ranks([0.5, 0.9], [0.5, 0.9, 0.9, 0.95])
    array([0.125, 0.5  ])
    """
    at, sample = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    ordered = np.sort(sample[~np.isnan(sample)])
    if not ordered.size:
        return np.full(at.shape, np.nan)
    below = np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")
    return np.where(np.isnan(at), np.nan, below / (2 * ordered.size))


def item_confidence(ranks: Floats) -> Floats:
    """Mean of the judges' confidence ranks on each item; NaN where none is given."""
    given = ~np.isnan(ranks)
    total = np.where(given, ranks, 0.0).sum(axis=1)
    return np.where(given.any(axis=1), total / np.maximum(given.sum(axis=1), 1), np.nan)


def unanimous(codes: Floats) -> NDArray[np.bool_]:
    """Whether all judges that gave a verdict gave the same."""
    low, high = (np.where(np.isnan(codes), fill, codes) for fill in (np.inf, -np.inf))
    return np.asarray(low.min(axis=1) == high.max(axis=1))


def _auc(values: Floats, outcome: NDArray[np.bool_], clusters: NDArray[np.intp], about: dict[str, Any]) -> Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedStatisticWarning)  # the reason is in the result
        return auroc(values, outcome.astype(np.float64), clusters=clusters, **about)


def _judge(panel: Pooled, number: int, about: dict[str, Any]) -> JudgeConfidence:
    confidence = panel.confidences[:, number]
    siding = sides_with_others(panel.codes[:, : panel.n_judges], number)
    used = ~np.isnan(confidence) & ~np.isnan(siding)
    with_others = siding[used] == 1
    own = confidence[used]
    return JudgeConfidence(
        judge=panel.raters[number],
        family=panel.families[number],
        auc=_auc(own, with_others, panel.clusters[used], about),
        mean_when_siding=_mean(own[with_others]),
        mean_when_opposed=_mean(own[~with_others]),
        n_siding=int(with_others.sum()),
        n_opposed=int((~with_others).sum()),
    )


def sides_with_others(codes: Floats, number: int) -> Floats:
    """1 where a judge says what most others say, 0 where not; NaN on a tie of the others or without a verdict."""
    others = np.delete(codes, number, axis=1)
    counts = (others[:, :, None] == np.unique(codes[~np.isnan(codes)])).sum(axis=1)
    top = counts.max(axis=1, initial=0)
    clear = (top > 0) & ((counts == top[:, None]).sum(axis=1) == 1) & ~np.isnan(codes[:, number])
    majority = np.unique(codes[~np.isnan(codes)])[counts.argmax(axis=1)]
    return np.where(clear, codes[:, number] == majority, np.nan)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else math.nan


def _share(found: Estimate) -> str:
    interval = "no interval" if math.isnan(found.ci_low) else f"{found.ci_low:.0%} to {found.ci_high:.0%}"
    return f"{found.estimate:.0%} [{interval}]"


def _said(found: Estimate) -> str:
    interval = "no interval" if math.isnan(found.ci_low) else f"{found.ci_low:.2f} to {found.ci_high:.2f}"
    return f"{found.estimate:.2f} [{interval}]"
