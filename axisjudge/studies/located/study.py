"""`axisjudge.studies.located`: what rules, reference, reward and people say of the same runs, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN, once
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, to_polars, with_ends
from axisjudge.studies._shared.result import StudyResult
from axisjudge.studies._shared.scope import banner, made_up_raters
from axisjudge.studies.located import sentences
from axisjudge.studies.located.decided import ANY_AXIS, Decided, decided_by
from axisjudge.studies.located.faults import FaultsFound, faults_found
from axisjudge.studies.located.figures import plot_decided, plot_faults_found, plot_partings
from axisjudge.studies.located.parting import KindCount, Parting, kind_counts, partings

if TYPE_CHECKING:
    from axisjudge.studies._shared.result import Plot

_RATINGS = (
    *("trajectory_id", "step_index", "interaction_id", "cluster_id", "domain", "question", "scale", "repeat", "status"),
    *("rater", "rater_kind", "rater_version", "verdict", "cited_step_indices"),
)
_DECIDED = {
    **{name: name for name in ("judge", "domain", "half", "axis", "n_runs")},
    **{name: f"n_{name}" for name in ("incorrect", "correct", "uncertain", "not_applicable")},
    **with_ends("decided", "decided", low="decided_low", high="decided_high"),
    **with_ends("precision", "precision", low="precision_low", high="precision_high"),
    **with_ends("recall", "recall", low="recall_low", high="recall_high"),
    "failing": "failing.estimate",
}
_FAULTS = {
    **{name: name for name in ("labeller", "judge", "domain", "axis", "n_faults")},
    **with_ends("on_axis", "on_axis"),
    **with_ends("at_step", "at_step", low="at_step_low", high="at_step_high"),
    **with_ends("on_any_axis", "on_any", low="on_any_low", high="on_any_high"),
    "undecided": "undecided.estimate",
}
_KINDS = {
    "kind": "kind",
    "axis": "axis",
    "flagged": "n_flagged",
    "failed": "n_failed",
    **with_ends("precision", "precision"),
    "looked_at": "looked_at.estimate",
    "unseen": "unseen.estimate",
    "labelled_steps": "on_steps.n_items",
    "wrong_steps": "on_steps.estimate",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Located(StudyResult):
    """Judges beside the outcome, beside located faults, and run by run; counts of the rules' kinds of finding."""

    study: ClassVar[str] = "located"

    decided: tuple[Decided, ...]
    faults: tuple[FaultsFound, ...]
    partings: tuple[Parting, ...]
    kinds: tuple[KindCount, ...]
    within: int
    made_up: tuple[str, ...]
    kind: Kind

    @property
    def banner(self) -> str:
        """The warning where ratings are simulated or planted."""
        return banner(self.made_up)

    @property
    def table(self) -> Table:
        """How much each judge decides and how that stands to the outcome: all runs, by judge, set and axis."""
        return frame_of([one for one in self.decided if one.half == "all"], _DECIDED, self.kind)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, two versions of one apart."""
        return tuple(dict.fromkeys(one.judge for one in self.decided))

    def decided_by(self, judge: str) -> Table:
        """One judge by data set and axis, all runs."""
        rows = [one for one in self.decided if (one.judge, one.half) == (judge, "all") and one.axis != ANY_AXIS]
        return frame_of(
            rows, {column: of for column, of in _DECIDED.items() if column not in ("judge", "half")}, self.kind
        )

    def tables(self) -> dict[str, Table]:
        """Every table by name: decided, halves (all axes together), faults and partings of the last judge, kinds."""
        halves = [one for one in self.decided if one.half != "all" and one.axis == ANY_AXIS]
        last = self.judges[-1]
        parts = {name: name for name in ("judge", "domain", "failed", "judge_says", "reference", "people", "n_runs")}
        return {
            "decided": self.table,
            "halves": frame_of(halves, _DECIDED, self.kind),
            "faults": frame_of([one for one in self.faults if one.judge == last], _FAULTS, self.kind),
            "partings": frame_of([one for one in self.partings if one.judge == last], parts, self.kind),
            "kinds": frame_of(self.kinds, _KINDS, self.kind),
        }

    @property
    def answer(self) -> str:
        """What the last judge finds of the faults that are located."""
        return sentences.answer(self.faults)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is decided, what is found, where they part, what the kinds are worth."""
        return (
            *sentences.decided_sentences(self.decided),
            sentences.parting_sentence(self.partings),
            sentences.kinds_sentence(self.kinds),
        )

    def plots(self) -> Mapping[str, Plot]:
        """Share decided with precision, faults found, and who holds a fault against failed runs."""
        drawn: dict[str, Plot] = {"decided": partial(plot_decided, self.decided)}
        if self.faults:
            drawn["faults"] = partial(plot_faults_found, self.faults)
        return {**drawn, "partings": partial(plot_partings, self.partings)}


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
    ratings : table
        A ratings table. Raters of kind reference, human or planted give labels, all others judge; two versions of one
        judge count as two.
    runs : table
        Columns trajectory_id, domain, half and failed: the outcome of each run, and which half of the data it is of.
    labels : table, optional
        A ratings table of those who give labels; by default `ratings`.
    findings : table, optional
        Columns kind, axis, half, flagged, failed, steps and wrong_steps: counts of the rules' kinds of finding.
    within : int
        How many steps a cited one may lie from the fault's, to be at the step.
    ci_level : float
        Level of intervals, over tasks.

    Returns
    -------
    Located
        `.table`, `.tables()`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        No verdict of a judge on a run with an outcome, or two ratings of one judge on one run and axis.

    Examples
    --------
    >>> from axisjudge.datasets.verdicts import published_verdicts
    >>> import axisjudge
    >>> found = axisjudge.studies.located(*published_verdicts("agentrx"))
    >>> sorted({fault.labeller for fault in found.faults})
    ['people', 'reference']
    """
    outcomes = to_polars(runs, ("trajectory_id", "domain", "half", "failed"), where="runs")
    given = to_polars(ratings, _RATINGS, where="ratings").filter(VERDICT_ON_RUN, pl.col("repeat") == 0)
    labelled = given if labels is None else to_polars(labels, _RATINGS, where="labels").filter(VERDICT_ON_RUN)
    told = labelled.filter(BY_LABELLER, pl.col("verdict").is_not_null())
    judged = given.filter(BY_JUDGE, pl.col("verdict").is_not_null()).drop("domain").join(outcomes, on="trajectory_id")
    if judged.is_empty():
        cure = "name the outcome of the runs that were judged"
        raise InputError("ratings", "must hold verdicts of judges on runs with an outcome", cure=cure)
    named = judged.with_columns(_judge_name(judged))
    once(named, "judge", "trajectory_id", "question", rule="one verdict for each judge, run and axis")
    told = told.drop("domain").join(outcomes.select("trajectory_id", "domain"), on="trajectory_id")
    halves = tuple(half for half in named["half"].unique().sort() if half != "all")
    columns = ("kind", "axis", "half", "flagged", "failed", "steps", "wrong_steps")
    counts = None if findings is None else to_polars(findings, columns, where="findings")
    return Located(
        decided=tuple(decided_by(named, halves, ci_level)),
        faults=tuple(faults_found(named, told, within=within, ci_level=ci_level)),
        partings=tuple(partings(named, told)),
        kinds=() if counts is None else tuple(kind_counts(counts, ci_level)),
        within=within,
        made_up=made_up_raters(given),
        kind=kind_of(ratings),
    )


def _judge_name(judged: pl.DataFrame) -> pl.Expr:
    """The rater, or its version where several of one rater are here."""
    several = pl.col("rater_version").drop_nulls().n_unique().over("rater") > 1
    return pl.when(several).then("rater_version").otherwise("rater").alias("judge")
