"""What a judge makes of twins: how often its verdict moves, where it must, may and must not.

Needs no labels. Each cell starts from the originals that this judge called correct on this axis; a cell of ``must`` is
met when moving is shown to be frequent, a cell of ``must_not`` when it is shown to be rare (an equivalence claim: a
rate that merely fails to differ from zero shows nothing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, VERDICT_ON_RUN, once
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Given
from axisjudge.twins import EDITS, Expectation, Twin
from axisjudge.verdict import AXES, Axis

Claim = Literal["met", "not shown", "failed", ""]
#: (run, axis, judge) -> verdict, None where it was lost.
Verdicts = Mapping[tuple[str, str, str], str | None]

#: A judge that misses more than one broken run in five is little help in finding them. A convention, stated.
MUST_RATE = 0.8
#: A judge that calls one sound run in twenty incorrect doubles a failure rate of 5%. A convention, stated.
MUST_NOT_MARGIN = 0.05


@dataclass(frozen=True)
class TwinCell(Result):
    """One judge, one edit, one axis.

    Attributes
    ----------
    n_twins : int
        Twins made by the edit.
    not_correct, original_lost : int
        Twins left out because the judge gave the original another verdict than correct, or none.
    moved, uncertain, not_applicable, lost : int
        Twins of correct originals by what became of them: called incorrect, undecided in one of two ways, or without a
        verdict. The rest stayed correct.
    rate : Estimate
        Moved among the decided twins (correct or incorrect), with an interval over tasks.
    strict : Estimate
        Over all twins of correct originals, undecided and lost ones counted against the claim: as not moved where the
        verdict must move, as moved where it must not. The claim is decided on this one.
    claim : str
        ``met``, ``not shown`` or ``failed`` (the interval lies on the wrong side of the threshold); empty for ``may``.
    """

    judge: str
    edit: str
    axis: Axis
    expected: Expectation
    n_twins: int
    not_correct: int
    original_lost: int
    moved: int
    uncertain: int
    not_applicable: int
    lost: int
    rate: Estimate
    strict: Estimate
    claim: Claim

    _keys = columns(
        "judge edit axis expected n_twins not_correct original_lost moved uncertain not_applicable lost",
        "started decided=rate.n_items rate=rate.estimate low=rate.ci_low high=rate.ci_high",
        "strict_rate=strict.estimate strict_low=strict.ci_low strict_high=strict.ci_high",
        "tasks=strict.n_clusters method=strict.method claim",
    )

    @property
    def started(self) -> int:
        """Twins whose original the judge called correct."""
        return self.strict.n_items

    @property
    def undecided(self) -> int:
        """Twins of those on which it took no side, or whose verdict was lost."""
        return self.uncertain + self.not_applicable + self.lost


@dataclass(frozen=True)
class Thresholds:
    """What is claimed: a rate that must be reached, one that must not, and the level of the intervals."""

    must_rate: float = MUST_RATE
    margin: float = MUST_NOT_MARGIN
    ci_level: float = 0.95

    def __post_init__(self) -> None:
        in_open_unit_interval("must_rate", self.must_rate)
        in_open_unit_interval("margin", self.margin)

    def claim(self, expected: Expectation, strict: Estimate) -> Claim:
        """Decided by the interval; a NaN bound decides nothing."""
        if expected == "may":
            return ""
        if expected == "must":
            met, failed = strict.ci_low >= self.must_rate, strict.ci_high < self.must_rate
        else:
            met, failed = strict.ci_high < self.margin, strict.ci_low > self.margin
        return "met" if met else "failed" if failed else "not shown"


@dataclass(frozen=True)
class TwinMatrix(Result):
    """All cells, and the thresholds that were declared; `repeats_left_out` counts ratings that are not repeat 0."""

    cells: tuple[TwinCell, ...]
    thresholds: Thresholds
    repeats_left_out: int

    _keys = columns(
        "must_rate=thresholds.must_rate margin=thresholds.margin ci_level=thresholds.ci_level repeats_left_out cells"
    )

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, by name."""
        return tuple(dict.fromkeys(cell.judge for cell in self.cells))

    @property
    def edits(self) -> tuple[str, ...]:
        """The edits of which there are twins, those that break an axis first."""
        return tuple(dict.fromkeys(cell.edit for cell in self.cells))

    def cell(self, judge: str, edit: str, axis: str) -> TwinCell:
        """One cell."""
        for cell in self.cells:
            if (cell.judge, cell.edit, cell.axis) == (judge, edit, axis):
                return cell
        raise InputError("cell", "no such judge, edit and axis", f"{judge}, {edit}, {axis}")


def twin_matrix(
    ratings: Given,
    twins: Iterable[Twin],
    *,
    judges: Sequence[str] | None = None,
    thresholds: Thresholds | None = None,
) -> TwinMatrix:
    """How often verdicts move between originals and their twins; arguments and errors as `axisjudge.studies.twins`.

    A cell of ``must`` is met when the lower bound of its rate is at least `must_rate`, one of ``must_not`` when the
    upper bound lies below `margin`. Twins of one task, and their originals, are not independent. Twins with text for
    the judge are counted apart (`injections`).
    """
    thresholds = thresholds or Thresholds()
    table = as_ratings(ratings).filter(VERDICT_ON_RUN)
    first = table.filter(pl.col("repeat") == 0)
    by_judges = first.filter(BY_JUDGE)
    named = list(judges) if judges is not None else by_judges["rater"].unique().sort().to_list()
    verdicts = _verdicts(by_judges.filter(pl.col("rater").is_in(named)))
    clusters = dict(by_judges.select("trajectory_id", "cluster_id").unique().iter_rows())
    by_edit: dict[str, list[Twin]] = {edit: [] for edit in EDITS}
    for twin in (twin for twin in twins if twin.edit in by_edit):
        if twin.trajectory.id not in clusters:
            raise InputError(
                "ratings", "must hold ratings of every twin", twin.trajectory.id, "judge the twins as well"
            )
        by_edit[twin.edit].append(twin)
    cells = [
        _cell(judge, axis, made, verdicts, clusters, thresholds)
        for judge in named
        for made in filter(None, by_edit.values())
        for axis in AXES
    ]
    return TwinMatrix(tuple(cells), thresholds, table.height - first.height)


def _verdicts(ratings: pl.DataFrame) -> Verdicts:
    """Verdicts by run, axis and judge. Rules abstain where they find no fault: that is where they start, and stay."""
    stays = (pl.col("rater_kind") == "rules") & (pl.col("verdict") == "uncertain")
    ratings = ratings.with_columns(pl.when(stays).then(pl.lit("correct")).otherwise("verdict").alias("verdict"))
    once(ratings, "trajectory_id", "question", "rater", rule="one rating for each run, axis and judge")
    rows = ratings.select("trajectory_id", "question", "rater", "status", "verdict").iter_rows()
    return {(run, axis, judge): verdict if status == "ok" else None for run, axis, judge, status, verdict in rows}


def _cell(
    judge: str,
    axis: Axis,
    twins: Sequence[Twin],
    verdicts: Verdicts,
    clusters: Mapping[str, str],
    thresholds: Thresholds,
) -> TwinCell:
    before = [verdicts.get((twin.original_id, axis, judge)) for twin in twins]
    started = [twin.trajectory.id for twin, verdict in zip(twins, before, strict=True) if verdict == "correct"]
    after = [verdicts.get((run, axis, judge)) for run in started]
    tasks = np.array([clusters[run] for run in started])
    moved = np.array([{"incorrect": 1.0, "correct": 0.0}.get(verdict or "", np.nan) for verdict in after])
    expected = twins[0].expected[axis]
    against = np.where(np.isnan(moved), float(expected == "must_not"), moved)
    rate, strict = (_rate(values, tasks, thresholds.ci_level) for values in (moved, against))
    counts = Counter(after)
    return TwinCell(
        judge=judge,
        edit=twins[0].edit,
        axis=axis,
        expected=expected,
        n_twins=len(twins),
        not_correct=sum(verdict is not None and verdict != "correct" for verdict in before),
        original_lost=before.count(None),
        moved=counts["incorrect"],
        uncertain=counts["uncertain"],
        not_applicable=counts["not_applicable"],
        lost=counts[None],
        rate=rate,
        strict=strict,
        claim=thresholds.claim(expected, strict),
    )


def _rate(values: NDArray[np.float64], tasks: NDArray[np.str_], ci_level: float) -> Estimate:
    return clustered_proportion(values, tasks, cluster_unit="task", ci_level=ci_level)
