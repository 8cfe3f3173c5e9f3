"""`axisjudge.studies.located`: what rules, reference, reward and people say of the same runs, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.labels.crosswalk import ANY_STEP
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN, once
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, to_polars
from axisjudge.studies._shared.result import StudyResult
from axisjudge.studies._shared.scope import banner, made_up_raters
from axisjudge.studies.located import sentences, tables
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
        return frame_of([one for one in self.decided if one.half == "all"], tables.DECIDED, self.kind)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, two versions of one apart."""
        return tuple(dict.fromkeys(one.judge for one in self.decided))

    def decided_in_words(self, judge: str, *, by_axis: bool) -> list[dict[str, Any]]:
        """One judge by data set, all runs, as a page shows it: on each axis, or on all together."""
        rows = (one for one in self.decided if (one.judge, one.half) == (judge, "all"))
        return tables.decided_in_words(one for one in rows if (one.axis != ANY_AXIS) == by_axis)

    def halves_in_words(self) -> list[dict[str, Any]]:
        """Every judge on each half of the tasks, all axes together, as a page shows it."""
        return tables.decided_in_words(one for one in self.decided if one.half != "all" and one.axis == ANY_AXIS)

    def faults_in_words(self, *, by_axis: bool, judge: str = "") -> list[dict[str, Any]]:
        """Located faults and who finds them, as a page shows it: by axis or on all together, of all judges or one."""
        rows = (one for one in self.faults if judge in ("", one.judge))
        return tables.faults_in_words(one for one in rows if (one.axis not in (ANY_AXIS, ANY_STEP)) == by_axis)

    def kinds_in_words(self) -> list[dict[str, Any]]:
        """What the rules' kinds of finding are worth, as a page shows it."""
        return tables.kinds_in_words(self.kinds)

    def tables(self) -> dict[str, Table]:
        """Every table by name: decided, halves (all axes together), faults, partings of the last judge, kinds."""
        halves = [one for one in self.decided if one.half != "all" and one.axis == ANY_AXIS]
        last = self.judges[-1]
        return {
            "decided": self.table,
            "halves": frame_of(halves, tables.DECIDED, self.kind),
            "faults": frame_of(self.faults, tables.FAULTS, self.kind),
            "partings": frame_of([one for one in self.partings if one.judge == last], tables.PARTINGS, self.kind),
            "kinds": frame_of(self.kinds, tables.KINDS, self.kind),
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
        raise TooLittle("ratings", "must hold verdicts of judges on runs with an outcome", cure=cure)
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
