"""Counts of located truth: what judges decide, which located faults they find, who holds a fault against which run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import one_of
from axisjudge.datasets.votes import published_findings, published_verdicts
from axisjudge.judges.rules.findings import FEWEST_FLAGGED, STATED_MARGIN
from axisjudge.labels.crosswalk import ANY_STEP
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES


@dataclass(frozen=True, eq=False)
class LocatedSource:
    """Judges' ratings with labels of kind reference or human, and the outcome of each run.

    `findings` counts what the rules' kinds of finding flag, where that is known; `about` says what this is.
    """

    ratings: pl.DataFrame
    runs: pl.DataFrame
    findings: pl.DataFrame | None
    about: str


def load_located(
    trajectories: str = "",
    *,
    source: str = "published",
    ratings: str = "",
    judges: Sequence[str] = ("rules",),
    tools: str = "",
    subset: str = "",
) -> LocatedSource:
    """Load ratings, reference and outcomes.

    Parameters
    ----------
    trajectories : str
        Results of tau2-bench or tau-bench (file, folder or glob); they go before `source`.
    source : str
        ``published``: the verdicts that ship with the workbench, of one `subset` or all. ``demo``: the shipped demo's
        runs with their simulated judges, located by the reference and by what was planted.
    ratings, judges, tools : str
        Of `trajectories`: a file of ratings of them, or else who judges them now, and their tool definitions.

    Raises
    ------
    InputError
        Files that cannot be read, no such source, or runs whose task says nothing of what was expected.
    """
    if trajectories:
        return _own(trajectories, ratings, judges, tools)
    if one_of("source", source, ("published", "demo")) == "demo":
        return _demo()
    table, runs = published_verdicts(subset)
    return LocatedSource(table, runs, published_findings(), _PUBLISHED)


def _own(trajectories: str, ratings: str, judges: Sequence[str], tools: str) -> LocatedSource:
    from axisjudge.judging import judge
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories
    from axisjudge.sources import read_reference

    read = read_trajectories(trajectories, tools=tools or None).trajectories
    judged = read_ratings(ratings, latest=True) if ratings else judge(read, judges)
    about = f"The runs in {Path(trajectories).name}, with the reference's own reading of their tasks."
    return LocatedSource(pl.concat([judged, read_reference(trajectories)]), _outcomes(read), None, about)


def _demo() -> LocatedSource:
    from axisjudge.datasets import demo_paths
    from axisjudge.readers import read_trajectories
    from axisjudge.sources import load_source, read_reference

    demo = load_source("demo")
    runs = _outcomes(read_trajectories(*demo_paths()).trajectories)
    located = read_reference(*demo_paths()).filter(
        pl.col("trajectory_id").is_in(demo.ratings["trajectory_id"].implode())
    )
    about = (
        f"{demo.about} The reference knows only what each task expects, and so holds faults against failed runs alone; "
        "what was planted is known of every run."
    )
    return LocatedSource(pl.concat([demo.ratings, located]), runs, None, about)


def _outcomes(runs: Iterable[Trajectory]) -> pl.DataFrame:
    outcomes = [(run.id, run.domain or "", "all", run.reward < 1) for run in runs if run.reward is not None]
    return pl.DataFrame(outcomes, schema=["trajectory_id", "domain", "half", "failed"], orient="row")


_PUBLISHED = (
    "Verdicts on 883 public runs, recorded and shipped with the workbench without their texts: tau2-bench retail (four "
    "agents), tau-bench airline (one), AgentRx (tau-bench retail, one), and questions of HotpotQA answered by search. "
    "The rules judged them in two versions, before they learned to abstain and now."
)


#: Stands for every axis together: a run is called incorrect where any axis is.
ANY_AXIS = "any axis"
#: In counts of findings: all runs of a set and task, flagged or not.
ANY_RUN = "any run"
#: Sets that the rules were made on, and sets that nothing was made on.
SIDES = ("made on", "kept back")


@dataclass(frozen=True)
class Decided(Result):
    """One judge on one axis of one data set, or of one half of it.

    `decided` is the share of the runs to which the axis applies of which the judge says correct or incorrect;
    `precision` the share of failed runs among those it calls incorrect, `recall` the share of failed runs that it does,
    `said_correct` the share of failed runs that it calls correct. `failing` is the share of runs that failed.
    """

    judge: str
    domain: str
    half: str
    axis: str
    n_runs: int
    n_incorrect: int
    n_correct: int
    n_uncertain: int
    n_not_applicable: int
    decided: Estimate
    precision: Estimate
    recall: Estimate
    said_correct: Estimate
    failing: Estimate


def decided_by(table: pl.DataFrame, halves: tuple[str, ...], ci_level: float) -> Iterator[Decided]:
    """The figures of every judge, data set, half and axis; `table` has one row a judge, run and axis.

    `halves` are the halves to tell apart; ``all`` stands for all runs.
    """
    for (judge, domain), of_set in table.group_by("judge", "domain", maintain_order=True):
        for half in ("all", *halves):
            runs = of_set if half == "all" else of_set.filter(half=half)
            for axis in (*AXES, ANY_AXIS):
                of_axis = over_axes(runs) if axis == ANY_AXIS else runs.filter(question=axis)
                if not of_axis.is_empty():
                    yield _decided(of_axis, str(judge), str(domain), half, axis, ci_level)


def over_axes(table: pl.DataFrame) -> pl.DataFrame:
    """One row a judge and run: incorrect if any axis is, else uncertain if any is, else correct."""
    words = pl.col("verdict")
    return table.group_by("judge", "trajectory_id", maintain_order=True).agg(
        pl.first("domain", "cluster_id", "failed"),
        pl.lit(ANY_AXIS).alias("question"),
        pl.when((words == "incorrect").any())
        .then(pl.lit("incorrect"))
        .when((words == "uncertain").any())
        .then(pl.lit("uncertain"))
        .otherwise(pl.lit("correct"))
        .alias("verdict"),
    )


def _decided(table: pl.DataFrame, judge: str, domain: str, half: str, axis: str, ci_level: float) -> Decided:
    words, failed = table["verdict"].to_numpy(), table["failed"].to_numpy().astype(bool)
    incorrect, applies = words == "incorrect", words != "not_applicable"
    tasks = table["cluster_id"].to_numpy()

    def share(of: NDArray[np.bool_], among: NDArray[np.bool_]) -> Estimate:
        values = np.where(among, of.astype(float), np.nan)
        return clustered_proportion(values, tasks, cluster_unit="task", ci_level=ci_level)

    return Decided(
        judge=judge,
        domain=domain,
        half=half,
        axis=axis,
        n_runs=len(words),
        n_incorrect=int(incorrect.sum()),
        n_correct=int((words == "correct").sum()),
        n_uncertain=int((words == "uncertain").sum()),
        n_not_applicable=int((~applies).sum()),
        decided=share(np.isin(words, ("correct", "incorrect")), applies),
        precision=share(failed, incorrect),
        recall=share(incorrect, failed),
        said_correct=share(words == "correct", failed & applies),
        failing=share(failed, np.ones(len(words), dtype=bool)),
    )


@dataclass(frozen=True)
class FaultsFound(Result):
    """One judge against the faults of one labeller on one axis (``any axis``: on whichever axis).

    A fault is a run and axis that the labeller calls incorrect. `on_axis` is the share that the judge calls incorrect
    on that axis, `at_step` the share where it also cites a step within `within` of the fault's, of the faults that have
    a step; `on_any` the share whose run it calls incorrect on some axis; `undecided` the share of which it is
    uncertain on that axis, `not_applicable` the share to which it says that the axis does not apply.
    """

    labeller: str
    judge: str
    domain: str
    axis: str
    n_faults: int
    within: int
    on_axis: Estimate
    at_step: Estimate
    on_any: Estimate
    undecided: Estimate
    not_applicable: Estimate


def faults_found(table: pl.DataFrame, labels: pl.DataFrame, *, within: int, ci_level: float) -> Iterator[FaultsFound]:
    """Every labeller's faults, for every judge of the same runs; of the labels only `incorrect` counts.

    A fault whose axis is not known (`ANY_STEP`) is found where the judge calls the run incorrect on some axis, at its
    step where it cites that on one of these. Such faults do not count among those of ``any axis``.
    """
    faults = labels.filter(pl.col("verdict") == "incorrect", pl.col("question").is_in([*AXES, ANY_STEP]))
    flagged = table.group_by("judge", "trajectory_id").agg((pl.col("verdict") == "incorrect").any().alias("flagged"))
    said = table.select("judge", "trajectory_id", "question", "verdict", pl.col("cited_step_indices").alias("cited"))
    said = pl.concat([said, _on_whichever_axis(said)])
    met = faults.join(said, on=["trajectory_id", "question"]).join(flagged, on=["judge", "trajectory_id"])
    if met.is_empty():
        return
    met = met.sort("rater", "judge", "domain", "trajectory_id", "question")
    rows = zip(met["cited_step_indices"], met["cited"], met["verdict_right"], strict=True)
    near = [
        None if not len(steps) else word == "incorrect" and any(abs(a - b) <= within for a in steps for b in cited)
        for steps, cited, word in rows
    ]
    met = met.with_columns(pl.Series("near", near, dtype=pl.Boolean))
    for (labeller, judge, domain), of_set in met.group_by("rater", "judge", "domain", maintain_order=True):
        for axis in (*AXES, ANY_STEP, "any axis"):
            of_axis = of_set.filter(
                pl.col("question") != ANY_STEP if axis == "any axis" else pl.col("question") == axis
            )
            if not of_axis.is_empty():
                who = {"labeller": str(labeller), "judge": str(judge), "domain": str(domain)}
                yield _faults_of(of_axis, axis=axis, within=within, ci_level=ci_level, **who)


def _on_whichever_axis(said: pl.DataFrame) -> pl.DataFrame:
    """One row a judge and run under `ANY_STEP`: incorrect if any axis is, with all steps cited there."""
    wrong = pl.col("verdict") == "incorrect"
    open_axis = pl.when((pl.col("verdict") == "uncertain").any()).then(pl.lit("uncertain")).otherwise(pl.lit("correct"))
    return said.group_by("judge", "trajectory_id", maintain_order=True).agg(
        pl.lit(ANY_STEP).alias("question"),
        pl.when(wrong.any()).then(pl.lit("incorrect")).otherwise(open_axis).alias("verdict"),
        pl.col("cited").filter(wrong).list.explode().alias("cited"),
    )


def faults_in(
    ratings: pl.DataFrame, labels: pl.DataFrame, *, within: int = 1, ci_level: float = 0.95
) -> list[FaultsFound]:
    """Whether the judges of a ratings table find the faults that labels locate, without the runs or their outcomes."""
    judged = ratings.filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("repeat") == 0, pl.col("verdict").is_not_null())
    located = labels.filter(VERDICT_ON_RUN, BY_LABELLER).with_columns(pl.col("domain").fill_null("all"))
    return list(faults_found(judged.with_columns(judge="rater"), located, within=within, ci_level=ci_level))


def _faults_of(
    faults: pl.DataFrame, *, labeller: str, judge: str, domain: str, axis: str, within: int, ci_level: float
) -> FaultsFound:
    def share(of: pl.Expr) -> Estimate:
        values = faults.select(of.cast(pl.Float64).alias("x"))["x"].fill_null(float("nan")).to_numpy()
        return clustered_proportion(values, faults["cluster_id"].to_numpy(), cluster_unit="task", ci_level=ci_level)

    return FaultsFound(
        labeller=labeller,
        judge=judge,
        domain=domain,
        axis=axis,
        n_faults=faults.height,
        within=within,
        on_axis=share(pl.col("verdict_right") == "incorrect"),
        at_step=share(pl.col("near")),
        on_any=share(pl.col("flagged")),
        undecided=share(pl.col("verdict_right") == "uncertain"),
        not_applicable=share(pl.col("verdict_right") == "not_applicable"),
    )


@dataclass(frozen=True)
class Parting(Result):
    """Runs of one data set on which a judge, the reference and people say the same, by outcome.

    `reference` and `people` are None where they say nothing of such runs: the reference of runs that passed, people of
    runs that they did not label.
    """

    judge: str
    domain: str
    failed: bool
    judge_says: bool
    reference: bool | None
    people: bool | None
    n_runs: int


@dataclass(frozen=True)
class KindCount(Result):
    """One kind of finding: of the runs that it flags, how many failed, on the sets it was made on and on others.

    `base` is the share of failed runs among all runs of the kept-back sets in which the kind flags any, `on_steps` the
    share of cited steps that people labelled wrong, of those that they labelled. `holds` is None where fewer than
    `FEWEST_FLAGGED` kept-back runs are flagged, else whether the lower end lies `STATED_MARGIN` above `base`.
    """

    kind: str
    axis: str
    made_on: Estimate
    kept_back: Estimate
    base: float
    on_steps: Estimate
    holds: bool | None


def partings(table: pl.DataFrame, labels: pl.DataFrame) -> Iterator[Parting]:
    """For every judge and data set, the runs by who holds a fault against them."""
    by = labels.group_by("trajectory_id", "rater_kind").agg((pl.col("verdict") == "incorrect").any().alias("says"))
    held = {kind: dict(by.filter(rater_kind=kind).select("trajectory_id", "says").iter_rows()) for kind in KINDS}
    knows = set(labels.filter(rater_kind="reference")["domain"])
    runs = over_axes(table)
    rows = [
        (
            *(row["judge"], row["domain"], row["failed"], row["verdict"] == "incorrect"),
            held["reference"].get(row["trajectory_id"], False) if row["failed"] and row["domain"] in knows else None,
            held["human"].get(row["trajectory_id"]),
        )
        for row in runs.iter_rows(named=True)
    ]
    names = ("judge", "domain", "failed", "judge_says", "reference", "people")
    counted = pl.DataFrame(rows, schema=names, orient="row").group_by(names, maintain_order=True).len("n_runs")
    for row in counted.sort(names, nulls_last=True).iter_rows(named=True):
        yield Parting(**row)


KINDS = ("reference", "human")


def kind_counts(findings: pl.DataFrame, ci_level: float) -> Iterator[KindCount]:
    """Every kind of finding over all data sets of each side; intervals are over tasks."""
    runs, kinds = findings.filter(kind=ANY_RUN), findings.filter(pl.col("kind") != ANY_RUN)
    for (kind, axis), rows in kinds.sort("axis", "kind").group_by("kind", "axis", maintain_order=True):
        sides = [_share(rows.filter(side=side), "failed", "flagged", ci_level) for side in SIDES]
        among = runs.filter(pl.col("side") == SIDES[1], pl.col("subset").is_in(rows["subset"].unique().implode()))
        n_failed, n_runs = (int(among[name].sum()) for name in ("failed", "flagged"))
        base = n_failed / max(n_runs, 1)
        kept = sides[1]
        yield KindCount(
            kind=str(kind),
            axis=str(axis),
            made_on=sides[0],
            kept_back=kept,
            base=base,
            on_steps=_share(rows, "wrong_steps", "steps", ci_level),
            holds=None if kept.n_items < FEWEST_FLAGGED else bool(kept.ci_low > base + STATED_MARGIN),
        )


def _share(rows: pl.DataFrame, ones: str, of: str, ci_level: float) -> Estimate:
    """A share with its interval over tasks, from counts by task."""
    counts = [*rows.group_by("task_id", maintain_order=True).agg(pl.col(ones, of).sum()).iter_rows()]
    values = [value for _, hits, n in counts for value in (*(1.0,) * hits, *(0.0,) * (n - hits))]
    tasks = [task for task, _, n in counts for _ in range(n)]
    return clustered_proportion(values, np.array(tasks), cluster_unit="task", ci_level=ci_level)
