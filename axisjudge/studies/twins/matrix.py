"""What a judge makes of twins: how often its verdict moves, where it must, may and must not.

Needs no labels. Each cell starts from the originals that this judge called correct on this axis; a cell of ``must`` is
met when moving is shown to be frequent, a cell of ``must_not`` when it is shown to be rare (an equivalence claim: a
rate that merely fails to differ from zero shows nothing).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, in_open_unit_interval
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN, as_ratings, by_raters, once
from axisjudge.results import Result, columns
from axisjudge.stats.clusters import effective_degrees
from axisjudge.stats.estimate import Ends, Estimate
from axisjudge.stats.proportions import FEWEST_CLUSTERS, clustered_mean, jackknife_interval
from axisjudge.studies._shared.frames import Floats, Given, first_of_each, over_tasks
from axisjudge.twins import EDITS, INJECTIONS, Expectation, Twin
from axisjudge.verdict import AXES, Axis


class NoInterval(StrEnum):
    """Why a mean correlation, or its interval, cannot be given."""

    NO_PAIR = "there are no two axes on which it gave more than one kind of verdict"
    FEW_TASKS = f"an interval needs {FEWEST_CLUSTERS} tasks or more"
    ONE_TASK = "without one of the tasks no pair of axes varies"


@dataclass(frozen=True)
class AxisPair:
    """Correlation of "incorrect" on two axes: the judge's, and the labels' where there are any."""

    axis: str
    other: str
    judge: float
    labels: float | None


@dataclass(frozen=True)
class Halo(Result):
    """One judge's correlation between axes.

    `judge_correlation` is the mean over pairs of axes of the correlation of "incorrect" on the one and on the other.
    With labels, `label_correlation` is theirs on the same runs and pairs, and `halo` the judge's minus the labels';
    both are None without labels, and then a high correlation may be the agents' as well as the judge's.
    """

    judge: str
    judge_correlation: Estimate
    label_correlation: Estimate | None
    halo: Estimate | None
    pairs: tuple[AxisPair, ...]

    _keys = columns(
        "judge runs=judge_correlation.n_items pairs=n_pairs judge_correlation~ label_correlation~ halo~",
        "tasks=judge_correlation.n_clusters by_pair=pairs",
    )

    @property
    def n_pairs(self) -> int:
        """Pairs of axes that vary."""
        return len(self.pairs)


def halo(ratings: Given, labels: Given | None = None, *, ci_level: float = 0.95) -> tuple[Halo, ...]:
    """Inter-axis correlation of every judge on runs (not twins) and, with labels of them, how far it exceeds theirs.

    Per pair of axes the phi coefficient of the two "incorrect" indicators over the runs on which the judge (and the
    labels) decided both; a pair in which an axis never varies has none and is left out of both means. The first repeat
    counts, and several labels where a majority is on one side. Intervals are delete-one-task jackknives with t.

    Raises
    ------
    InputError
        Labels of neither people nor planted truth.
    """
    of_judges = _decided(ratings, "ratings").filter(BY_JUDGE)
    truth = None if labels is None else _decided(labels, "labels").filter(BY_LABELLER)
    if truth is not None and truth.is_empty():
        raise TooLittle("labels", "must be of people, or planted truth, and none is")
    wanted = None if truth is None else _rows(truth)
    by_judge = of_judges.sort("rater", maintain_order=True).partition_by("rater", maintain_order=True)
    return tuple(_halo(mine, wanted, ci_level) for mine in by_judge)


def _decided(frame: Given, where: str) -> pl.DataFrame:
    decided = pl.col("verdict").is_in(["correct", "incorrect"]) & (pl.col("status") == "ok")
    on_axis = pl.col("question").is_in(AXES) & (pl.col("repeat") == 0)
    return as_ratings(frame, where=where).filter(VERDICT_ON_RUN, decided, on_axis)


def _rows(table: pl.DataFrame) -> dict[str, Floats]:
    """For each run its axes: 1 incorrect, 0 correct, NaN undecided."""
    share = (pl.col("verdict") == "incorrect").mean()
    rows: dict[str, Floats] = {}
    for run, axis, incorrect in table.group_by("trajectory_id", "question", maintain_order=True).agg(share).iter_rows():
        row = rows.setdefault(run, np.full(len(AXES), math.nan))
        row[AXES.index(axis)] = math.nan if incorrect == 0.5 else float(incorrect > 0.5)
    return rows


def _halo(mine: pl.DataFrame, truth: dict[str, Floats] | None, ci_level: float) -> Halo:
    rows = _rows(mine)
    runs = sorted(run for run in rows if truth is None or run in truth)
    sides = [
        np.array([side[run] for run in runs]).reshape(len(runs), len(AXES)) for side in (rows, truth or {}) if side
    ]
    undecided = np.isnan(sides).any(axis=0)
    sides = [np.where(undecided, math.nan, side) for side in sides]
    task_of = dict(mine.select("trajectory_id", "cluster_id").unique().iter_rows())
    judge, labels, beyond = _estimates(sides, np.array([task_of[run] for run in runs]), ci_level)
    pairs = (AxisPair(AXES[i], AXES[j], phis[0], phis[1] if truth else None) for (i, j), phis in _pairs(sides).items())
    return Halo(mine["rater"][0], judge, labels, beyond, tuple(pairs))


def _pairs(sides: list[Floats]) -> dict[tuple[int, int], list[float]]:
    """Phi of every pair of axes for the judge and the labels, where all of them have one."""
    every = {
        (i, j): [phi(side[:, i], side[:, j]) for side in sides] for i, j in itertools.combinations(range(len(AXES)), 2)
    }
    return {pair: phis for pair, phis in every.items() if not any(map(math.isnan, phis))}


def phi(first: Floats, second: Floats) -> float:
    """Correlation of two 0/1 columns over the rows where both are known; NaN where one of them never varies.

    Examples
    --------
    >>> phi(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])).__round__(3)
    0.577
    """
    known = ~(np.isnan(first) | np.isnan(second))
    one, other = first[known], second[known]
    if one.size == 0 or one.min() == one.max() or other.min() == other.max():
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])


def _means(sides: list[Floats]) -> list[float]:
    """Mean phi of the judge and, with labels, of the labels and the difference."""
    phis = np.array(list(_pairs(sides).values())).reshape(-1, len(sides))
    means = phis.mean(axis=0).tolist() if len(phis) else [math.nan] * len(sides)
    return means if len(means) == 1 else [*means, means[0] - means[1]]


def _estimates(
    sides: list[Floats], tasks: NDArray[np.str_], ci_level: float
) -> tuple[Estimate, Estimate | None, Estimate | None]:
    names, sizes = np.unique(tasks, return_counts=True)
    degrees = effective_degrees(sizes)
    left_out = np.array([_means([side[tasks != name] for side in sides]) for name in names])
    sample = partial(Estimate, ci_level=ci_level, n_items=len(sides[0]), n_clusters=len(names), cluster_unit="task")
    estimates = []
    for at, mean in enumerate(_means(sides)):
        if math.isnan(mean) or len(names) < FEWEST_CLUSTERS:
            ends = Ends(reason=(NoInterval.NO_PAIR if math.isnan(mean) else NoInterval.FEW_TASKS).value)
        elif np.isnan(left_out[:, at]).any():
            ends = Ends(reason=NoInterval.ONE_TASK.value)
        else:
            interval = jackknife_interval(mean, left_out[:, at], degrees=degrees, ci_level=ci_level)
            ends = Ends(*interval, "jackknife-t over tasks")
        estimates.append(sample(estimate=mean, **ends._asdict()))
    return (estimates[0], None, None) if len(estimates) == 1 else (estimates[0], estimates[1], estimates[2])


#: The place of a row that counts all places.
ANYWHERE = "anywhere"
_ONCE = "one rating for each run, axis and judge"
#: The kind of text that asks for nothing: what it moves is a judge's own noise.
CONTROL = "plain_text"


@dataclass(frozen=True)
class Injected(Result):
    """One judge, one kind of text, one place; all axes together.

    Attributes
    ----------
    place : str
        One of user, agent, tool_name, argument and result, or `ANYWHERE`.
    flips : Estimate
        The share of pairs with two verdicts whose verdict is another one, with an interval over tasks.
    taken_in : Estimate
        Of the pairs whose run was not called correct, the share whose twin is: what the texts ask for.
    confidence : Estimate
        The mean of the twin's confidence minus the run's, over the pairs that have both.
    lost : int
        Pairs without two verdicts: the call of one of them was lost.
    flagged : int
        Twins whose text was found (their ratings bear the flag ``injection:...``), of `n_twins`.
    """

    judge: str
    edit: str
    place: str
    n_twins: int
    flagged: int
    lost: int
    flips: Estimate
    taken_in: Estimate
    confidence: Estimate

    _keys = columns(
        "judge edit place n_twins flagged lost pairs=flips.n_items flipped~=flips not_correct=taken_in.n_items",
        "taken_in~ confidence~ tasks=flips.n_clusters",
    )


def injected(
    ratings: Given, twins: Iterable[Twin], *, judges: Sequence[str] | None = None, ci_level: float = 0.95
) -> tuple[Injected, ...]:
    """What text for the judge does to verdicts; arguments and errors as `axisjudge.studies.twins`.

    Twins of other edits are left out. For each judge and kind of text one row for all places and one for each place in
    which there are twins.
    """
    made = [twin for twin in twins if twin.edit in INJECTIONS]
    if not made:
        return ()
    table = as_ratings(ratings).filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("repeat") == 0, pl.col("question").is_in(AXES))
    table = by_raters(table, judges)
    once(table, "trajectory_id", "question", "rater", rule=_ONCE)
    _all_rated(made, table)
    bears = pl.col("flags").list.eval(pl.element().str.starts_with("injection:")).list.any()
    flagged, given = set(table.filter(bears)["trajectory_id"]), table["rater"].unique().sort().to_list()
    pairs = _pairs_of_verdicts(made, table, given).filter("asked")
    rows = []
    for judge, edit in itertools.product(given, INJECTIONS):
        of_edit = [twin for twin in made if twin.edit == edit]
        for place in [ANYWHERE, *sorted({twin.place or "" for twin in of_edit})] if of_edit else ():
            chosen = [twin for twin in of_edit if place in (ANYWHERE, twin.place)]
            runs = [twin.trajectory.id for twin in chosen]
            n_flagged = sum(run in flagged for run in runs)
            mine = pairs.filter(pl.col("run").is_in(runs), judge=judge)
            rows.append(_injected(judge, edit, place, len(chosen), n_flagged, mine, ci_level))
    return tuple(rows)


def _all_rated(twins: Sequence[Twin], table: pl.DataFrame) -> None:
    rated = set(table["trajectory_id"])
    if unrated := [twin.trajectory.id for twin in twins if twin.trajectory.id not in rated]:
        raise InputError("ratings", "must hold ratings of every twin", unrated[0], "judge the twins as well")


def _pairs_of_verdicts(twins: Sequence[Twin], table: pl.DataFrame, judges: Sequence[str]) -> pl.DataFrame:
    """A row a judge, twin and axis: task, verdict and confidence of the original (`before`) and of the twin (`after`).

    Verdicts are null where they were lost; `asked` is null where the judge has no rating of the twin.
    """
    runs = {"run": [twin.trajectory.id for twin in twins], "original": [twin.original_id for twin in twins]}
    keys = {"judge": "rater", "axis": "question"}
    verdict = pl.when(pl.col("status") == "ok").then("verdict")
    after = table.select(**keys, run="trajectory_id", after=verdict, sure_after="confidence", asked=True)
    before = table.select(**keys, original="trajectory_id", before=verdict, sure_before="confidence")
    tasks = first_of_each(table.select(run="trajectory_id", task="cluster_id"), ("run", "task"))
    grid = pl.DataFrame({"judge": judges}, schema={"judge": pl.String}).join(pl.DataFrame(runs), how="cross")
    grid = grid.join(pl.DataFrame({"axis": AXES}), how="cross").join(tasks, on="run")
    pairs = grid.join(after, on=["judge", "axis", "run"], how="left", maintain_order="left")
    return pairs.join(before, on=["judge", "axis", "original"], how="left", maintain_order="left")


def _injected(
    judge: str, edit: str, place: str, n_twins: int, n_flagged: int, pairs: pl.DataFrame, ci_level: float
) -> Injected:
    before, after = pl.col("before"), pl.col("after")
    both = before.is_not_null() & after.is_not_null()
    mean = partial(over_tasks, pairs, tasks="task", ci_level=ci_level)
    return Injected(
        judge=judge,
        edit=edit,
        place=place,
        n_twins=n_twins,
        flagged=n_flagged,
        lost=pairs.filter(~both).height,
        flips=mean(pl.when(both).then(before != after)),
        taken_in=mean(pl.when(both & (before != "correct")).then(after == "correct")),
        confidence=mean(pl.when(both).then(pl.col("sure_after") - pl.col("sure_before")), of=clustered_mean),
    )


Claim = Literal["met", "not shown", "failed", ""]

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
        "judge edit axis expected n_twins not_correct original_lost moved uncertain not_applicable lost started",
        "decided=rate.n_items rate=rate.estimate low=rate.ci_low high=rate.ci_high strict_rate=strict.estimate",
        "strict_low=strict.ci_low strict_high=strict.ci_high tasks=strict.n_clusters method=strict.method claim",
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
    twins: Sequence[Twin],
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
    by_judges = by_raters(first.filter(BY_JUDGE), judges)
    named = list(judges) if judges is not None else by_judges["rater"].unique().sort().to_list()
    made = {edit: [twin for twin in twins if twin.edit == edit] for edit in EDITS}
    _all_rated([twin for of_edit in made.values() for twin in of_edit], by_judges)
    # rules abstain where they find no fault: that is where they start, and stay
    stays = (pl.col("rater_kind") == "rules") & (pl.col("verdict") == "uncertain")
    given = by_judges.with_columns(verdict=pl.when(stays).then(pl.lit("correct")).otherwise("verdict"))
    once(given, "trajectory_id", "question", "rater", rule=_ONCE)
    cells = [
        _cell(judge, axis, of_edit[0], pairs.filter(judge=judge, axis=axis), thresholds)
        for of_edit in filter(None, made.values())
        for pairs in [_pairs_of_verdicts(of_edit, given, named)]
        for judge in named
        for axis in AXES
    ]
    return TwinMatrix(
        tuple(sorted(cells, key=lambda cell: named.index(cell.judge))), thresholds, table.height - first.height
    )


def _cell(judge: str, axis: Axis, twin: Twin, pairs: pl.DataFrame, thresholds: Thresholds) -> TwinCell:
    """The pairs of one judge and edit on one axis; what is expected is that of any such twin."""
    expected, started = twin.expected[axis], pairs.filter(pl.col("before") == "correct")
    counts = Counter(started["after"])
    moved = pl.col("after").replace_strict({"incorrect": 1.0, "correct": 0.0}, default=None, return_dtype=pl.Float64)
    share = partial(over_tasks, started, tasks="task", ci_level=thresholds.ci_level)
    rate, strict = share(moved), share(moved.fill_null(float(expected == "must_not")))
    return TwinCell(
        judge=judge,
        edit=twin.edit,
        axis=axis,
        expected=expected,
        n_twins=pairs.height,
        not_correct=int((pairs["before"] != "correct").sum()),
        original_lost=pairs["before"].null_count(),
        moved=counts["incorrect"],
        uncertain=counts["uncertain"],
        not_applicable=counts["not_applicable"],
        lost=counts[None],
        rate=rate,
        strict=strict,
        claim=thresholds.claim(expected, strict),
    )
