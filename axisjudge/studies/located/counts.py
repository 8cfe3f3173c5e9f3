"""Counts of located truth: what judges decide, which located faults they find, who holds a fault against which run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.datasets.votes import published_findings, published_reading, published_verdicts
from axisjudge.judges.rules.findings import FEWEST_FLAGGED, STATED_MARGIN
from axisjudge.labels.agentrx import ANY_STEP
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN, once
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared.frames import over_tasks
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES


@dataclass(frozen=True, eq=False)
class LocatedSource:
    """Judges' ratings with labels of kind reference or human, and the outcome of each run.

    `findings` counts what the rules' kinds of finding flag, where that is known, and `reading` holds the faults of runs
    that were read by hand; `about` says what this is.
    """

    ratings: pl.DataFrame
    runs: pl.DataFrame
    findings: pl.DataFrame | None
    about: str
    reading: pl.DataFrame | None = None


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
    if ratings:
        cure = "name the runs they are of with trajectories"
        raise InputError("ratings", "faults are located in runs, and none are named", ratings, cure)
    if one_of("source", source, ("published", "demo")) == "demo":
        return _demo()
    table, runs = published_verdicts(subset)
    return LocatedSource(table, runs, published_findings(), _PUBLISHED, published_reading())


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
    rated = pl.col("trajectory_id").is_in(demo.ratings["trajectory_id"].implode())
    located = read_reference(*demo_paths()).filter(rated)
    about = (
        f"{demo.about} The reference knows only what each task expects, and so holds faults against failed runs alone; "
        "what was planted is known of every run."
    )
    return LocatedSource(pl.concat([demo.ratings, located]), runs, None, about)


def _outcomes(runs: Iterable[Trajectory]) -> pl.DataFrame:
    outcomes = [(run.id, run.domain or "", "all", run.reward < 1) for run in runs if run.reward is not None]
    return pl.DataFrame(outcomes, schema=["trajectory_id", "domain", "half", "failed"], orient="row")


_PUBLISHED = (
    "Verdicts on 883 public runs, shipped without their texts: tau2-bench retail (four agents), tau-bench airline "
    "(one), AgentRx (tau-bench retail, one), and questions of HotpotQA answered by search; the reference is what a "
    "task expects. "
    "The rules judged them in two versions, before they learned to abstain and now."
)


#: Judges by their names, versions of the rules by their numbers.
IN_ORDER = pl.col("judge").str.replace(r"^rules-(\d)$", "rules-0${1}")
#: Stands for every axis together: a run is called incorrect where any axis is.
ANY_AXIS = "any axis"
#: In counts of findings: all runs of a set and task, flagged or not.
ANY_RUN = "any run"
#: Among axes: a run, whatever the axes.
WHOLE_RUN = "run"
#: Whose faults the others are held against in runs read by hand, who read some of them too, and who says nothing of
#: runs that passed.
READER, SECOND_READER, REFERENCE = "reader", "reader two", "reference"
#: A line less sure than this is barely a fault ("in doubt: no fault, or confidence 1"), and counts as none.
LEAST_CONFIDENCE = 2
#: Sets that the rules were made on, and sets that nothing was made on.
SIDES = ("made on", "kept back")


#: The verdicts on several axes as one.
_ON_SOME_AXIS = (
    pl.when((pl.col("verdict") == "incorrect").any())
    .then(pl.lit("incorrect"))
    .when((pl.col("verdict") == "uncertain").any())
    .then(pl.lit("uncertain"))
    .otherwise(pl.lit("correct"))
)


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
    first = pl.first("domain", "cluster_id", "failed")
    return table.group_by("judge", "trajectory_id", maintain_order=True).agg(first, verdict=_ON_SOME_AXIS)


def _decided(table: pl.DataFrame, judge: str, domain: str, half: str, axis: str, ci_level: float) -> Decided:
    word, failed, counts = pl.col("verdict"), pl.col("failed"), Counter(table["verdict"])
    incorrect, applies = word == "incorrect", word != "not_applicable"

    def share(of: pl.Expr, among: pl.Expr) -> Estimate:
        return over_tasks(table, pl.when(among).then(of), ci_level=ci_level)

    return Decided(
        judge=judge,
        domain=domain,
        half=half,
        axis=axis,
        n_runs=table.height,
        n_incorrect=counts["incorrect"],
        n_correct=counts["correct"],
        n_uncertain=counts["uncertain"],
        n_not_applicable=counts["not_applicable"],
        decided=share(word.is_in(["correct", "incorrect"]), applies),
        precision=share(failed, incorrect),
        recall=share(incorrect, failed),
        said_correct=share(word == "correct", failed & applies),
        failing=share(failed, pl.lit(True)),
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


_IS_FAULT = (pl.col("verdict") == "incorrect") & pl.col("question").is_in([*AXES, ANY_STEP])


def faults_not_met(table: pl.DataFrame, labels: pl.DataFrame, met: pl.DataFrame) -> dict[str, int]:
    """Of each judge how many located faults have no verdict of it on their axis, and so count nowhere."""
    n_faults = labels.filter(_IS_FAULT).height
    missed = {judge: n_faults - met.filter(pl.col("judge") == judge).height for judge in table["judge"].unique().sort()}
    return {judge: count for judge, count in missed.items() if count}


def faults_met(table: pl.DataFrame, labels: pl.DataFrame, *, within: int) -> pl.DataFrame:
    """A row for each labeller's fault and judge of the same run; of the labels only `incorrect` counts.

    A fault whose axis is not known (`ANY_STEP`) is found where the judge calls the run incorrect on some axis, at its
    step where it cites that on one of these. Such faults do not count among those of ``any axis``.

    Raises
    ------
    InputError
        Two verdicts of one labeller, or of one judge, on one run and axis.
    """
    faults = labels.filter(_IS_FAULT)
    for rows, who in ((faults, "rater"), (table, "judge")):
        once(rows, who, "trajectory_id", "question", rule=f"one verdict for each {who}, run and axis")
    wrong, of_run = pl.col("verdict") == "incorrect", ("judge", "trajectory_id")
    verdicts = table.select(*of_run, "question", "verdict", cited="cited_step_indices")
    cited = pl.col("cited").filter(wrong).list.explode()
    on_some = {"question": pl.lit(ANY_STEP), "verdict": _ON_SOME_AXIS, "cited": cited}
    anywhere = verdicts.group_by(of_run, maintain_order=True).agg(**on_some)
    flagged = table.group_by(of_run).agg(flagged=wrong.any())
    met = faults.join(pl.concat([verdicts, anywhere]), on=["trajectory_id", "question"]).join(flagged, on=of_run)
    met = met.sort("rater", IN_ORDER, "domain", "trajectory_id", "question")
    near = [
        None if not len(steps) else word == "incorrect" and any(abs(a - b) <= within for a in steps for b in cited)
        for steps, cited, word in met.select("cited_step_indices", "cited", "verdict_right").iter_rows()
    ]
    return met.with_columns(pl.Series("near", near, dtype=pl.Boolean))


def share_found(met: pl.DataFrame, judge: str, ci_level: float) -> Estimate:
    """Of all faults in all sets the share that a judge calls incorrect on their axis, over tasks of all sets.

    Of a set with axes the faults without one do not count, as in `faults_found`.
    """
    of_axis = pl.col("question") != ANY_STEP
    own = met.filter(pl.col("judge") == judge).filter(of_axis | ~of_axis.any().over("rater", "domain"))
    of_all_sets = own.with_columns(cluster_id=pl.concat_str("domain", "cluster_id", separator="/"))
    return over_tasks(of_all_sets, pl.col("verdict_right") == "incorrect", ci_level=ci_level)


def faults_found(met: pl.DataFrame, *, within: int, ci_level: float) -> Iterator[FaultsFound]:
    """The shares of every judge, set and axis among the faults of `faults_met`."""
    word, on_axis = pl.col("verdict_right"), pl.col("question")
    for (labeller, judge, domain), of_set in met.group_by("rater", "judge", "domain", maintain_order=True):
        for axis in (*AXES, ANY_STEP, ANY_AXIS):
            mine = of_set.filter(on_axis != ANY_STEP if axis == ANY_AXIS else on_axis == axis)
            if not mine.is_empty():
                outcomes = (word == "incorrect", pl.col("near"), pl.col("flagged"), word == "uncertain")
                each = (*outcomes, word == "not_applicable")
                shares = (over_tasks(mine, of, ci_level=ci_level) for of in each)
                yield FaultsFound(str(labeller), str(judge), str(domain), axis, mine.height, within, *shares)


def faults_in(
    ratings: pl.DataFrame, labels: pl.DataFrame, *, within: int = 1, ci_level: float = 0.95
) -> list[FaultsFound]:
    """Whether the judges of a ratings table find the faults that labels locate, without the runs or their outcomes."""
    judged = ratings.filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("repeat") == 0, pl.col("verdict").is_not_null())
    located = labels.filter(VERDICT_ON_RUN, BY_LABELLER).with_columns(pl.col("domain").fill_null("all"))
    met = faults_met(judged.with_columns(judge="rater"), located, within=within)
    return list(faults_found(met, within=within, ci_level=ci_level))


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


def partings(table: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Runs by judge, data set and outcome, and by who holds a fault against them: the judge, the reference, people.

    `reference` and `people` are null where they say nothing of such runs: the reference of runs that passed, people of
    runs that they did not label.
    """
    wrong, by = pl.col("verdict") == "incorrect", ("judge", "domain", "failed", "judge_says", "reference", "people")
    kinds = {"reference": "reference", "people": "human"}
    held = labels.group_by("trajectory_id").agg(
        wrong.filter(pl.col("rater_kind") == kind).max().alias(name) for name, kind in kinds.items()
    )
    known = pl.col("failed") & pl.col("domain").is_in(labels.filter(rater_kind="reference")["domain"].implode())
    runs = over_axes(table).join(held, on="trajectory_id", how="left")
    runs = runs.with_columns(judge_says=wrong, reference=pl.when(known).then(pl.col("reference").fill_null(False)))
    return runs.group_by(by).agg(n_runs=pl.len().cast(pl.Int64)).sort(IN_ORDER, *by, nulls_last=True)


def kind_counts(findings: pl.DataFrame, ci_level: float) -> Iterator[KindCount]:
    """Every kind of finding over all data sets of each side; intervals are over tasks."""
    runs, kinds = findings.filter(kind=ANY_RUN), findings.filter(pl.col("kind") != ANY_RUN)
    for (kind, axis), rows in kinds.sort("axis", "kind").group_by("kind", "axis", maintain_order=True):
        made_on, kept_back = (_share(rows.filter(side=side), "failed", "flagged", ci_level) for side in SIDES)
        among = runs.filter(pl.col("side") == SIDES[1], pl.col("subset").is_in(rows["subset"].unique().implode()))
        base = int(among["failed"].sum()) / max(int(among["flagged"].sum()), 1)
        holds = None if kept_back.n_items < FEWEST_FLAGGED else bool(kept_back.ci_low > base + STATED_MARGIN)
        on_steps = _share(rows, "wrong_steps", "steps", ci_level)
        yield KindCount(str(kind), str(axis), made_on, kept_back, base, on_steps, holds)


def _share(rows: pl.DataFrame, ones: str, of: str, ci_level: float) -> Estimate:
    """A share with its interval over tasks, from counts by task."""
    tasks = rows.group_by("task_id", maintain_order=True).agg(pl.col(ones, of).sum())
    values = [np.repeat([1.0, 0.0], [hits, n - hits]) for hits, n in tasks.select(ones, of).iter_rows()]
    clusters = np.repeat(tasks["task_id"].to_numpy(), tasks[of].to_numpy())
    return clustered_proportion(np.concatenate([*values, []]), clusters, cluster_unit="task", ci_level=ci_level)


@dataclass(frozen=True)
class AgainstReading(Result):
    """One rater against the faults that another, by default a reader, holds against the same runs, on one axis.

    A fault is a run and axis (``any axis``: all of these; ``run``: a run, whatever the axes). `precision` is the share
    of the rater's faults that the reader has, `recall` the share of the reader's that the rater has, `at_step` the
    share where it has them at the reader's step. Of the reference, which says nothing of runs that passed, the failed
    runs alone are counted.
    """

    rater: str
    axis: str
    n_runs: int
    precision: Estimate
    recall: Estimate
    at_step: Estimate


def sure_enough(reading: pl.DataFrame, least: int = LEAST_CONFIDENCE) -> pl.DataFrame:
    """The table with readers' faults of less confidence taken for none; without a confidence (first runs) all count."""
    sure = pl.col("confidence").fill_null(LEAST_CONFIDENCE) >= least
    return reading.with_columns(pl.when(sure).then(pl.col("step", "axis"))).unique(maintain_order=True)


def against_reading(reading: pl.DataFrame, *, within: int = 1, ci_level: float = 0.95) -> Iterator[AgainstReading]:
    """Every rater of a table of faults against those of the reader; intervals are over tasks.

    Of a second reader only the runs that both read are counted.
    """
    runs = reading.select("trajectory_id", "task_id", "failed").unique(maintain_order=True)
    pairs = runs.join(pl.DataFrame({"axis": AXES}), how="cross")
    faults = reading.drop_nulls("axis").group_by("rater", "trajectory_id", "axis").agg(pl.col("step").drop_nulls())
    for rater in reading.filter(pl.col("rater") != READER)["rater"].unique(maintain_order=True):
        table = pairs.filter("failed") if rater == REFERENCE else pairs
        if rater == SECOND_READER:
            second = reading.filter(rater=SECOND_READER)["trajectory_id"]
            table = table.filter(pl.col("trajectory_id").is_in(second.implode()))
        for name, who in (("read", READER), ("held", rater)):
            steps = faults.filter(rater=who).select("trajectory_id", "axis", pl.col("step").alias(name))
            table = table.join(steps, on=("trajectory_id", "axis"), how="left", maintain_order="left")
        near = [
            any(abs(a - b) <= within for a in read or () for b in held or ())
            for read, held in table.select("read", "held").iter_rows()
        ]
        has = pl.col("read", "held").is_not_null()
        table = table.with_columns(has).with_columns(pl.Series("near", near, dtype=pl.Boolean))
        whole = table.group_by("trajectory_id", "task_id", maintain_order=True).agg(
            pl.col("read", "held", "near").any()
        )
        for axis in (*AXES, ANY_AXIS, WHOLE_RUN):
            own = whole if axis == WHOLE_RUN else table if axis == ANY_AXIS else table.filter(axis=axis)
            yield _against(own, str(rater), axis, ci_level)


def faults_of_readers(reading: pl.DataFrame) -> pl.DataFrame:
    """Runs that both readers read, by axis and whole: whether each holds a fault against them (`one`, `two`)."""
    by = ("trajectory_id", "task_id")
    runs = reading.filter(rater=SECOND_READER).select(by).unique(maintain_order=True)
    axes = pl.DataFrame({"axis": [*AXES, WHOLE_RUN]})
    of_axis = reading.drop_nulls("axis").select("trajectory_id", "rater", "axis")
    faults = pl.concat([of_axis, of_axis.with_columns(axis=pl.lit(WHOLE_RUN))]).unique()
    table = runs.join(axes, how="cross")
    for name, rater in (("one", READER), ("two", SECOND_READER)):
        own = faults.filter(rater=rater).select("trajectory_id", "axis", pl.lit(1.0).alias(name))
        table = table.join(own, on=("trajectory_id", "axis"), how="left", maintain_order="left")
    return table.with_columns(pl.col("one", "two").fill_null(0.0))


def _against(table: pl.DataFrame, rater: str, axis: str, ci_level: float) -> AgainstReading:
    def share(of: str, among: str) -> Estimate:
        return over_tasks(table.filter(among), pl.col(of), tasks="task_id", ci_level=ci_level)

    shares = share("read", "held"), share("held", "read"), share("near", "read")
    return AgainstReading(rater, axis, table["trajectory_id"].n_unique(), *shares)
