"""Published agreement counts of two judges: what they imply together, and what so few tasks allow to be said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.rates.proportions import wilson_interval
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, table_of, to_polars
from axisjudge.studies._shared.result import Part
from axisjudge.studies.agreement import sentences as words

#: Intraclass correlation of outcomes within a task that is assumed where the pairing by task was not published.
ICC = 0.3
#: Agreement by axis, failures by any judge, and one call that was made twice.
_PUBLISHED = ("agreement_by_axis", "any_judge_incorrect", "repeat")
#: Both incorrect, one of them, the other, neither.
_JOINT = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@dataclass(frozen=True)
class ImpliedTable(Result):
    """The two judges' common table on one axis, as far as counts of agreement and of any-judge failures fix it.

    Cohen's kappa and Gwet's AC1 are given over all ways to share the one-sided failures between the judges.
    """

    axis: str
    n: int
    agree: int
    both_incorrect: int
    one_incorrect: int
    kappa: tuple[float, float]
    ac1: tuple[float, float]
    if_independent: tuple[float, float]
    if_clustered: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class PublishedAgreement(Part):
    """Implied tables of all axes; `effective_items` is what the items are worth at an intraclass correlation `ICC`."""

    name: ClassVar = "published"
    caption: ClassVar = "Published agreement of two judges, and what it implies"
    of_ratings: ClassVar = False  # published figures; a page's banner does not concern them
    _keys = ("axes", "n_tasks", "effective_items", "icc")
    icc: ClassVar[float] = ICC

    axes: tuple[ImpliedTable, ...]
    n_tasks: int
    effective_items: float
    kind: Kind

    @property
    def table(self) -> Table:
        """One row an axis."""
        ranges = {"cohen_kappa": "kappa", "gwet_ac1": "ac1", "if_independent": "if_independent"}
        ranges |= {f"as_{self.n_tasks}_tasks": "if_clustered"}
        counts = ("both_incorrect", "one_incorrect")
        rows = [
            {"axis": one.axis, "agree": f"{one.agree} of {one.n}"}
            | {name: getattr(one, name) for name in counts}
            | {name: _range(getattr(one, of)) for name, of in ranges.items()}
            for one in self.axes
        ]
        return table_of(rows, self.kind)

    @property
    def answer(self) -> str:
        """What five tasks allow."""
        best = max(self.axes, key=lambda one: one.agree)
        reads = (_range(best.if_independent), _range(best.if_clustered))
        none = [one.axis for one in self.axes if not one.both_incorrect]
        return words.published(f"{best.agree} of {best.n}", reads, self.n_tasks, self.effective_items, self.icc, none)


def published_tables() -> dict[Path, pl.DataFrame]:
    """The published tables of the workbench by their files: agreement by axis, any-judge failures, a repeated call."""
    folder = workbench.home() / "data" / "published"
    return {path: pl.read_csv(path) for path in (folder / f"{name}.csv" for name in _PUBLISHED)}


def published_agreement(agreement: Given, failures: Given, *, n_tasks: int) -> PublishedAgreement:
    """The tables that published counts imply, if every disagreement is correct against incorrect.

    Parameters
    ----------
    agreement : table
        Columns axis, agree, n.
    failures : table
        Columns axis, agent, incorrect, n: runs that at least one judge called incorrect.
    n_tasks : int
        Tasks behind the n runs, equally many runs each.

    Raises
    ------
    InputError
        The two tables contradict each other.
    """
    counts = to_polars(agreement, ("axis", "agree", "n"), where="agreement")
    any_judge = to_polars(failures, ("axis", "agent", "incorrect", "n"), where="failures")
    totals = dict(any_judge.group_by("axis").agg(pl.col("incorrect").sum()).iter_rows())
    n = int(counts["n"][0])
    effective = n / (1 + (n / n_tasks - 1) * ICC)
    axes = tuple(_implied(axis, agree, of, totals.get(axis, -1), effective / n) for axis, agree, of in counts.rows())
    return PublishedAgreement(axes, n_tasks, effective, kind_of(agreement))


def _implied(axis: str, agree: int, n: int, any_incorrect: int, share_effective: float) -> ImpliedTable:
    one = n - agree
    both = any_incorrect - one
    if not 0 <= both <= agree:
        counts = f"{agree} of {n} agree, {any_incorrect} by any judge"
        raise InputError(f"published counts of {axis}", "agreement and any-judge failures must fit together", counts)
    splits = [(both, first, one - first, agree - both) for first in range(one // 2 + 1)]
    kappas, ac1s = ([_coefficient(name, table) for table in splits] for name in ("cohen_kappa", "gwet_ac1"))
    return ImpliedTable(
        axis=axis,
        n=n,
        agree=agree,
        both_incorrect=both,
        one_incorrect=one,
        kappa=(min(kappas), max(kappas)),
        ac1=(min(ac1s), max(ac1s)),
        if_independent=wilson_interval(agree, n),
        if_clustered=wilson_interval(agree * share_effective, n * share_effective),
    )


def _coefficient(name: str, counts: tuple[int, int, int, int]) -> float:
    """A coefficient of two judges from their joint counts."""
    coefficient, words = COEFFICIENTS[name], np.array([0.0, 1.0])
    return float(coefficient.estimate(np.array(counts) @ coefficient.sums(_JOINT, words), words))


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{round(end, 2) + 0.0:.2f}" for end in ends)
    return low if low == high else f"{low} to {high}"
