"""Which agreements to trust, and which items to read first, by how sure the judges were; no labels are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from axisjudge.results import Result, columns
from axisjudge.stats.confidence.calibration import auroc
from axisjudge.stats.confidence.triage import Triage
from axisjudge.stats.confidence.triage import triage as triage_of
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.stats.raters.reference import majority
from axisjudge.studies._shared import sentences as words
from axisjudge.studies._shared.arrays import Floats, mean_of
from axisjudge.studies._shared.frames import Kind, Table, frame_of, with_ends
from axisjudge.studies._shared.pooled import Pooled
from axisjudge.studies._shared.ranked_confidence import NoRanks
from axisjudge.studies._shared.result import Part

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class JudgeConfidence(Result):
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


@dataclass(frozen=True, eq=False, repr=False)
class PanelTriage(Part):
    """The 2 x 2 of agreement by confidence, and each judge's confidence beside.

    `cells` is None where there is no triage, and `reason` says why.
    """

    name: ClassVar = "triage"
    caption: ClassVar = "Each judge's confidence when siding with the others' majority"
    _keys = ("judges", "reason")
    _flat = ("cells",)

    where: str
    cells: Triage | None
    judges: tuple[JudgeConfidence, ...]
    reason: NoRanks
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a judge."""
        means = "confidence_when_siding=mean_when_siding confidence_when_opposed=mean_when_opposed"
        shown = columns("judge family", with_ends("auc", "auc"), means, "siding=n_siding opposed=n_opposed")
        return frame_of(self.judges, shown, self.kind)

    @property
    def answer(self) -> str:
        """Agreement where all judges are sure and elsewhere, and what the AUC says."""
        if self.cells is None:
            return words.NO_TRIAGE.format(where=self.where, reason=self.reason)
        return words.triage(self.where, self.cells)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The four cells of agreement by confidence, counts and shares inside."""
        from axisjudge.figures.triage import plot_triage

        return super().plot(ax) if self.cells is None else plot_triage(self.where, self.cells, ax=ax)


def panel_triage(
    panel: Pooled, *, quantile: float = 0.5, cluster_unit: str = "task", ci_level: float = 0.95
) -> PanelTriage:
    """Agreement of a panel by its confidence; confidences are compared within a judge only.

    A judge is sure of an item from `quantile` of its own confidences on. Words that take no side are no verdicts, as
    in every figure of agreement.
    """
    panel = panel.decided()
    both = ~np.isnan(panel.judged) & ~np.isnan(panel.confidences[:, : panel.n_judges])
    having = np.flatnonzero(both.any(axis=0)).tolist()
    if not (both.sum(axis=1) >= 2).any():
        return PanelTriage(panel.where, None, (), NoRanks.NO_CONFIDENCES, panel.kind)
    intervals: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    two_by_two = triage_of(
        panel.codes[:, having], panel.confidences[:, having], quantile=quantile, clusters=panel.clusters, **intervals
    )
    judges = tuple(_judge(panel, number, intervals) for number in having)
    return PanelTriage(panel.where, two_by_two, judges, NoRanks.NONE, panel.kind)


def sides_with_others(codes: Floats, number: int, n_categories: int) -> Floats:
    """1 where a judge says what most others say, 0 where not; NaN on a tie of the others or without a verdict."""
    own, others = codes[:, number], majority(np.delete(codes, number, axis=1), n_categories)
    return np.where(np.isnan(own) | np.isnan(others), np.nan, own == others)


def _judge(panel: Pooled, number: int, intervals: IntervalTerms) -> JudgeConfidence:
    confidence = panel.confidences[:, number]
    siding = sides_with_others(panel.judged, number, len(panel.categories))
    found = auroc(confidence, siding, clusters=panel.clusters, **intervals)
    return JudgeConfidence(
        judge=panel.raters[number],
        family=panel.families[number],
        auc=found,
        mean_when_siding=mean_of(confidence[siding == 1]),
        mean_when_opposed=mean_of(confidence[siding == 0]),
        n_siding=int((siding == 1).sum()),
        n_opposed=int((siding == 0).sum()),
    )
