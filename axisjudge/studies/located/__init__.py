"""What do rules, reference, reward and people say of the same runs? (notebook 14)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN, once
from axisjudge.results import columns
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, to_polars, with_ends, with_own_ends
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.located import sentences as say
from axisjudge.studies.located.counts import (
    ANY_AXIS,
    Decided,
    FaultsFound,
    KindCount,
    Parting,
    decided_by,
    faults_found,
    kind_counts,
    partings,
)
from axisjudge.studies.located.figures import plot_decided, plot_faults_found, plot_partings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ANY_AXIS",
    "FaultsByJudge",
    "JudgedRuns",
    "KindsOfFinding",
    "Located",
    "RunsByHolder",
    "SharesDecided",
    "faults_by_judge",
    "judged_runs",
    "kinds_of_finding",
    "located",
    "runs_by_holder",
    "shares_decided",
]

_RATINGS = (
    *("trajectory_id", "step_index", "interaction_id", "cluster_id", "domain", "question", "scale", "repeat", "status"),
    *("rater", "rater_kind", "rater_version", "verdict", "cited_step_indices"),
)


@dataclass(frozen=True)
class JudgedRuns:
    """Verdicts of judges on runs with an outcome (`verdicts`, with half and failed), and `labels`."""

    verdicts: pl.DataFrame
    labels: pl.DataFrame
    made_up: tuple[str, ...]
    kind: Kind


def judged_runs(ratings: Given, runs: Given, *, labels: Given | None = None) -> JudgedRuns:
    """Verdicts beside outcomes and labels, from which the parts are made.

    Parameters
    ----------
    ratings : table
        A ratings table. Raters of kind reference, human or planted give labels, all others judge; two versions of one
        judge count as two.
    runs : table
        Columns trajectory_id, domain, half and failed: the outcome of each run, and which half of the data it is of.
    labels : table, optional
        A ratings table of those who give labels; by default `ratings`.

    Raises
    ------
    InputError
        No verdict of a judge on a run with an outcome, or two ratings of one judge on one run and axis.
    """
    outcomes = to_polars(runs, ("trajectory_id", "domain", "half", "failed"), where="runs")
    given = to_polars(ratings, _RATINGS, where="ratings").filter(VERDICT_ON_RUN, pl.col("repeat") == 0)
    labelled = given if labels is None else to_polars(labels, _RATINGS, where="labels").filter(VERDICT_ON_RUN)
    truth = labelled.filter(BY_LABELLER, pl.col("verdict").is_not_null())
    judged = given.filter(BY_JUDGE, pl.col("verdict").is_not_null()).drop("domain").join(outcomes, on="trajectory_id")
    if judged.is_empty():
        cure = "name the outcome of the runs that were judged"
        raise TooLittle("ratings", "must hold verdicts of judges on runs with an outcome", cure=cure)
    several = pl.col("rater_version").drop_nulls().n_unique().over("rater") > 1
    named = judged.with_columns(judge=pl.when(several).then("rater_version").otherwise("rater"))
    once(named, "judge", "trajectory_id", "question", rule="one verdict for each judge, run and axis")
    truth = truth.drop("domain").join(outcomes.select("trajectory_id", "domain"), on="trajectory_id")
    return JudgedRuns(named, truth, made_up_raters(given), kind_of(ratings))


class SharesDecided(Part, name="decided", caption="What each judge decides, and how it stands to the outcome"):
    """How much each judge decides on each axis of each data set, and how that stands to the outcome."""

    _keys = ("decided",)

    decided: tuple[Decided, ...]
    kind: Kind

    @property
    def table(self) -> Table:
        """A row a judge, set, half (all: both) and axis; ``any axis`` is a run called incorrect on some axis."""
        counts = columns("judge domain half axis n_runs incorrect=n_incorrect correct=n_correct uncertain=n_uncertain")
        counts |= columns("not_applicable=n_not_applicable", *map(with_own_ends, ("decided", "precision", "recall")))
        return frame_of(self.decided, counts | {"failing": "failing.estimate"}, self.kind)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, two versions of one apart."""
        return tuple(dict.fromkeys(one.judge for one in self.decided))

    @property
    def answer(self) -> str:
        """Of how many runs each judge takes a side, and how often it then passes a failed run."""
        return " ".join(say.decided_sentences(self.decided))

    @property
    def worth(self) -> str:
        """What an `incorrect` is worth against the outcome, and on each half of the tasks."""
        return f"{say.precision_sentence(self.decided)} {say.halves_sentence(self.decided)}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share of runs on which each judge takes a side."""
        return plot_decided(self.decided, ax=ax)


def shares_decided(judged: JudgedRuns, *, ci_level: float = 0.95) -> SharesDecided:
    """Shares decided, precision and recall against the outcome, with intervals over tasks."""
    halves = tuple(half for half in judged.verdicts["half"].unique().sort() if half != "all")
    rows = tuple(decided_by(judged.verdicts, halves, ci_level))
    return SharesDecided(rows, judged.kind, made_up=judged.made_up)


class FaultsByJudge(Part, name="faults", caption="Located faults, and how many of them each judge finds"):
    """Located faults, and how many of them each judge finds: on their axis, at their step, on any axis."""

    _keys = ("faults", "within")

    faults: tuple[FaultsFound, ...]
    within: int
    kind: Kind

    @property
    def table(self) -> Table:
        """A row a labeller, judge, set and axis."""
        on_any = with_ends("on_any_axis", "on_any", low="on_any_low", high="on_any_high")
        found = columns(
            "labeller judge domain axis n_faults",
            *map(with_own_ends, ("on_axis", "at_step")),
            on_any,
            "undecided=undecided.estimate not_applicable=not_applicable.estimate",
        )
        return frame_of(self.faults, found, self.kind)

    @property
    def answer(self) -> str:
        """What the last judge finds of the faults that are located."""
        return say.answer(self.faults)

    @property
    def compared(self) -> str:
        """What is found, on the axis and at the step, by every judge."""
        return say.faults_sentence(self.faults)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares found on the axis, and at the step."""
        return plot_faults_found(self.faults, ax=ax) if self.faults else super().plot(ax)


def faults_by_judge(judged: JudgedRuns, *, within: int = 1, ci_level: float = 0.95) -> FaultsByJudge:
    """Which located faults are found.

    Parameters
    ----------
    within : int
        How many steps a cited one may lie from the fault's, to be at the step.
    """
    rows = tuple(faults_found(judged.verdicts, judged.labels, within=within, ci_level=ci_level))
    return FaultsByJudge(rows, within, judged.kind, made_up=judged.made_up)


class RunsByHolder(Part, name="partings", caption="Runs by what each says; empty where one says nothing of such runs"):
    """Runs by outcome and by who holds a fault against them: a judge, the reference, people."""

    _keys = ("partings",)

    partings: tuple[Parting, ...]
    kind: Kind

    @property
    def table(self) -> Table:
        """A row a judge, set, outcome and what each says."""
        return frame_of(self.partings, columns("judge domain failed judge_says reference people n_runs"), self.kind)

    @property
    def answer(self) -> str:
        """Where the last judge and the reference part."""
        return say.parting_sentence(self.partings)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Runs of each set and outcome, cut by who holds a fault against them; of the last judge."""
        return plot_partings(self.partings, ax=ax)


def runs_by_holder(judged: JudgedRuns) -> RunsByHolder:
    """Who holds a fault against the same run, by its outcome."""
    return RunsByHolder(tuple(partings(judged.verdicts, judged.labels)), judged.kind, made_up=judged.made_up)


class KindsOfFinding(Part, name="kinds", caption="Kinds of finding: how many of the runs that they flag had failed"):
    """What each of the rules' kinds of finding is worth: how many of the runs that it flags had failed."""

    _keys = ("kinds",)

    kinds: tuple[KindCount, ...]
    kind: Kind

    @property
    def table(self) -> Table:
        """A row a kind and axis."""
        worth = columns(
            "kind axis flagged=n_flagged failed=n_failed",
            with_ends("precision", "precision"),
            "looked_at=looked_at.estimate unseen=unseen.estimate labelled_steps=on_steps.n_items",
            "wrong_steps=on_steps.estimate",
        )
        return frame_of(self.kinds, worth, self.kind)

    @property
    def answer(self) -> str:
        """Which kinds are worth more than blind flagging."""
        return say.kinds_sentence(self.kinds)


def kinds_of_finding(findings: Given | None, *, ci_level: float = 0.95) -> KindsOfFinding:
    """What each kind of finding is worth.

    Parameters
    ----------
    findings : table, optional
        Columns kind, axis, half, flagged, failed, steps and wrong_steps.
    """
    names = ("kind", "axis", "half", "flagged", "failed", "steps", "wrong_steps")
    counts = () if findings is None else kind_counts(to_polars(findings, names, where="findings"), ci_level)
    return KindsOfFinding(tuple(counts), "polars" if findings is None else kind_of(findings))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Located(Study):
    """Judges beside the outcome, beside located faults, and run by run; counts of the rules' kinds of finding."""

    decided: SharesDecided
    faults: FaultsByJudge
    partings: RunsByHolder
    kinds: KindsOfFinding

    @property
    def answer(self) -> str:
        """What the last judge finds of the faults that are located."""
        return self.faults.answer


def located(
    ratings: Given,
    runs: Given,
    *,
    labels: Given | None = None,
    findings: Given | None = None,
    within: int = 1,
    ci_level: float = 0.95,
) -> Located:
    """What do judges, the reference, the outcome and people say of the same runs?

    Parameters
    ----------
    ratings, runs, labels
        As `judged_runs` takes them.
    findings
        As `kinds_of_finding` takes it.
    within : int
        How many steps a cited one may lie from the fault's, to be at the step.
    ci_level : float
        Level of intervals, over tasks.

    Raises
    ------
    InputError
        No verdict of a judge on a run with an outcome, or two ratings of one judge on one run and axis.

    Examples
    --------
    >>> from axisjudge.datasets.verdicts import published_verdicts
    >>> import axisjudge
    >>> found = axisjudge.studies.located(*published_verdicts("agentrx"))
    >>> sorted(set(found.faults.table["labeller"]))
    ['people', 'reference']
    """
    judged = judged_runs(ratings, runs, labels=labels)
    return Located(
        decided=shares_decided(judged, ci_level=ci_level),
        faults=faults_by_judge(judged, within=within, ci_level=ci_level),
        partings=runs_by_holder(judged),
        kinds=kinds_of_finding(findings, ci_level=ci_level),
    )


open_door(located)
