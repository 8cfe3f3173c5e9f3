"""How many independent judges a panel is worth against labels, and what it is without a judge or a family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from axisjudge.results import Result, columns
from axisjudge.stats.agreement.effective import EffectiveJudges, WithoutOne, effective_judges, leave_out
from axisjudge.studies._shared.frames import Table, rows_of, table_of
from axisjudge.studies._shared.pooled import Pooled
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.sentences import NoWorth


@dataclass(frozen=True, eq=False)
class PanelWorth(Result):
    """A panel against labels; `measured` is None where it cannot be measured, and `reason` says why.

    A judge is right where its word is the label's, with several labellers the commonest of theirs; items where these
    tie have no label.
    """

    _keys = columns(
        "n_effective=measured.n_effective by_label_error accuracy majority=measured.majority",
        "n_majority=measured.n_majority n_tied=measured.n_tied n_answered best_single=measured.best_single",
        "without_judge without_family n_unlabelled reason",
    )

    panel: Pooled
    measured: EffectiveJudges | None
    without_judge: tuple[WithoutOne, ...]
    without_family: tuple[WithoutOne, ...]
    n_unlabelled: int
    reason: NoWorth

    where = property(lambda self: self.panel.where)
    judges = property(lambda self: self.panel.judges)
    families = property(lambda self: self.panel.families[: self.panel.n_judges])

    def to_frame(self) -> Table:
        """One row for the panel, then one without each family and one without each judge."""
        if self.measured is None:
            return table_of([], self.panel.kind)
        whole = WithoutOne("nobody", len(self.judges), self.measured.n_effective.estimate, self.measured.majority)
        parts = {"family": self.without_family, "judge": self.without_judge}
        named = [("nobody", whole), *((f"{what} {one.left_out}", one) for what, of in parts.items() for one in of)]
        figures = columns("judges=n_judges effective_judges=n_effective majority_accuracy=majority")
        rows = rows_of((one for _, one in named), figures)
        return table_of([{"without": name, **row} for (name, _), row in zip(named, rows, strict=True)], self.panel.kind)

    @property
    def behind(self) -> list[dict[str, str]]:
        """The labelled items of each row's judges, as the explorer's filters."""
        family = dict(zip(self.judges, self.families, strict=True))
        left = [list(self.judges)]
        left += [[judge for judge in self.judges if family[judge] != one.left_out] for one in self.without_family]
        left += [[judge for judge in self.judges if judge != one.left_out] for one in self.without_judge]
        return [{"label": "any", "judge": "\n".join(judges)} for judges in left]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report; the reason alone where there is nothing else."""
        return {"reason": self.reason} if self.measured is None else super().to_dict()

    @property
    def by_label_error(self) -> list[dict[str, float]]:
        """Effective judges, and the mean correlation of errors, at each assumed share of wrong labels."""
        names = ("label_error", "n_effective", "mean_rho")
        return [dict(zip(names, row, strict=True)) for row in (self.measured.by_label_error if self.measured else ())]

    @property
    def accuracy(self) -> dict[str, float]:
        """Each judge's share of items on which it says what the label says."""
        return dict(zip(self.judges, self.measured.accuracy.tolist(), strict=True)) if self.measured else {}

    @property
    def n_answered(self) -> dict[str, int]:
        """On how many labelled items each judge gave a word: the base of its accuracy."""
        return dict(zip(self.judges, self.measured.n_answered, strict=True)) if self.measured else {}

    @property
    def sentence(self) -> str:
        """Effective judges with interval and band, and the majority beside the best judge."""
        if self.measured is None:
            return words.NO_WORTH.format(where=self.where, reason=self.reason)
        best = int(np.nan_to_num(self.measured.accuracy, nan=-1.0).argmax())
        return words.worth_in_full(self.where, self.judges, self.measured, best, self.panel.planted)


def panel_worth(panel: Pooled, *, cluster_unit: str = "task", ci_level: float = 0.95) -> PanelWorth:
    """The effective number of judges against labels, with leave-one-judge-out and leave-one-family-out."""
    codes, label, families = panel.judged, panel.label, panel.families[: panel.n_judges]
    reason = NoWorth.NO_LABELS if np.isnan(label).all() else NoWorth.TOO_FEW if panel.n_judges < 2 else NoWorth.NONE
    n_unlabelled = int(np.isnan(label).sum())
    if reason is not NoWorth.NONE:
        return PanelWorth(panel, None, (), (), n_unlabelled, reason)
    measured = effective_judges(codes, label, clusters=panel.clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    without_judge, without_family = (tuple(leave_out(codes, label, of)) for of in (panel.judges, families))
    return PanelWorth(panel, measured, without_judge, without_family, n_unlabelled, reason)
