"""What do rules, reference, reward and people say of the same runs? (notebook 14)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.figures import theme
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN, once
from axisjudge.results import columns
from axisjudge.stats.estimate import Estimate, plural
from axisjudge.studies._shared.frames import Given, Kind, kind_of, made_up_raters, to_polars
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import judge_words, many, share
from axisjudge.studies.located import sentences as say
from axisjudge.studies.located.counts import ANY_AXIS as ANY_AXIS
from axisjudge.studies.located.counts import (
    LEAST_CONFIDENCE,
    AgainstReading,
    Decided,
    FaultsFound,
    KindCount,
    against_reading,
    decided_by,
    faults_found,
    faults_met,
    faults_not_met,
    kind_counts,
    partings,
    share_found,
    sure_enough,
)

_COLOURS = (theme.QUIET, theme.ACCENT, "#D55E00", "#009E73", "#CC79A7")
#: Who holds a fault against a run (the judge, the reference): colour, ink, hatch, for print as well, and name.
_HOLDERS = {
    (True, True): (theme.ACCENT, "white", "", "{judge} and the reference"),
    (False, True): ("#56B4E9", theme.INK, "//", "the reference alone"),
    (True, False): ("#D55E00", theme.INK, "xx", "{judge} alone"),
    (False, False): ("#d9d9d9", theme.INK, "", "neither"),
}


def _over_tasks(rates: Iterable[Estimate]) -> str:
    """Level and unit of intervals whose numbers of tasks differ."""
    first = next(iter(rates), None)
    return theme.level(first) if first is None else f"{theme.level(first)} over {plural(first.cluster_unit)}"


_RATINGS = (
    *("trajectory_id", "step_index", "interaction_id", "cluster_id", "domain", "question", "scale", "repeat", "status"),
    *("rater", "rater_kind", "rater_version", "verdict", "cited_step_indices"),
)


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """Verdicts of judges on runs with an outcome (`verdicts`, with half and failed), and `labels`."""

    verdicts: pl.DataFrame
    labels: pl.DataFrame
    n_without: int
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
        Runs whose `failed` is null are left out, as those that it does not name, and are counted (`n_without`).
    labels : table, optional
        A ratings table of those who give labels; by default `ratings`.

    Raises
    ------
    InputError
        No verdict of a judge on a run with an outcome, or two ratings of a judge or labeller on one run and axis.
    """
    outcomes = to_polars(runs, ("trajectory_id", "domain", "half", "failed"), where="runs")
    words, failed = pl.col("trajectory_id", "domain", "half").cast(pl.String), pl.col("failed").cast(pl.Boolean)
    outcomes = outcomes.drop_nulls("failed").with_columns(words, failed)
    first = VERDICT_ON_RUN & (pl.col("repeat") == 0)
    given = to_polars(ratings, _RATINGS, where="ratings").filter(first)
    labelled = given if labels is None else to_polars(labels, _RATINGS, where="labels").filter(first)
    truth = labelled.filter(BY_LABELLER, pl.col("verdict").is_not_null())
    every = given.filter(BY_JUDGE, pl.col("verdict").is_not_null()).drop("domain")
    judged = every.join(outcomes, on="trajectory_id")
    if judged.is_empty():
        cure = "name the outcome of the runs that were judged"
        raise TooLittle("ratings", "must hold verdicts of judges on runs with an outcome", cure=cure)
    several = pl.col("rater_version").drop_nulls().n_unique().over("rater") > 1
    named = judged.with_columns(judge=pl.when(several).then("rater_version").otherwise("rater"))
    once(named, "judge", "trajectory_id", "question", rule="one verdict for each judge, run and axis")
    truth = truth.drop("domain").join(outcomes.select("trajectory_id", "domain"), on="trajectory_id")
    n_without = every["trajectory_id"].n_unique() - judged["trajectory_id"].n_unique()
    return JudgedRuns(named, truth, n_without, made_up_raters(given), kind_of(ratings))


#: Columns of the tables, and where their figures stand.
_DECIDED = columns(
    "judge domain half axis n_runs incorrect=n_incorrect correct=n_correct uncertain=n_uncertain",
    "not_applicable=n_not_applicable decided~ precision~ recall~ failing~",
)
_FAULTS = columns(
    "labeller judge domain axis n_faults on_axis~ at_step~ on_any_axis=on_any.estimate",
    "on_any_low=on_any.ci_low on_any_high=on_any.ci_high undecided~ not_applicable~",
)
_KINDS = columns(
    "kind axis made_on~ made_on_flagged=made_on.n_items kept_back_flagged=kept_back.n_items",
    "kept_back~ base=base holds=holds labelled_steps=on_steps.n_items wrong_steps~=on_steps",
)
_READ = columns("rater axis n_runs faults=precision.n_items precision~ read=recall.n_items recall~ at_step~")


class SharesDecided(Part, name="decided", caption="What each judge decides, and how it stands to the outcome"):
    """How much each judge decides on each axis of each data set, and how that stands to the outcome.

    A row a judge, set, half (all: both) and axis; ``any axis`` is a run called incorrect on some axis.
    """

    _rows = "decided", _DECIDED

    _keys: ClassVar = ("decided",)

    decided: tuple[Decided, ...]
    n_without: int = 0

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, two versions of one apart."""
        return tuple(dict.fromkeys(one.judge for one in self.decided))

    @property
    def answer(self) -> str:
        """Of how many runs each judge takes a side, and how often it then passes a failed run."""
        left_out = f"{many(self.n_without, 'judged run')} without an outcome left out." if self.n_without else ""
        return " ".join(filter(None, (*say.decided_sentences(self.decided), left_out)))

    @property
    def worth(self) -> str:
        """What an `incorrect` is worth against the outcome, and on each half of the tasks."""
        return f"{say.precision_sentence(self.decided)} {say.halves_sentence(self.decided)}"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Share of runs on which each judge takes a side, by data set and axis, with counts at the right."""
        rows = [one for one in self.decided if one.half == "all" and one.axis != ANY_AXIS]
        heights = list(dict.fromkeys((one.domain, one.axis) for one in rows))
        judges = list(dict.fromkeys(one.judge for one in rows))
        colours = {judge: _COLOURS[number % len(_COLOURS)] for number, judge in enumerate(judges)}
        ax = theme.new_axes(7.4, 1.4 + 0.34 * len(heights)) if ax is None else ax
        for one in rows:
            number = judges.index(one.judge)
            height = heights.index((one.domain, one.axis)) + 0.22 * (number - (len(judges) - 1) / 2)
            theme.interval_mark(ax, one.decided, height, colour=colours[one.judge], filled=number > 0, size=5)
            if one.judge == judges[-1]:
                theme.at_the_right(ax, height, f"{one.n_incorrect} incorrect, {one.n_correct} correct")
        marks = {judge: {"color": colour, "markerfacecolor": colour} for judge, colour in colours.items()}
        marks |= {judge: marks[judge] | {"markerfacecolor": "white"} for judge in judges[:1]}
        theme.legend_below(ax, marks, ncols=len(judges))
        theme.named_rows(ax, [f"{domain}, {theme.in_words(axis).lower()}" for domain, axis in heights])
        theme.percent_axis(ax)
        note = f"runs to which the axis applies; at the right what {judges[-1]} says"
        how = f"{_over_tasks(one.decided for one in rows)}; at the right: how many verdicts {judges[-1]} gave"
        return theme.dress(ax, "Share decided", note, how=how)


def shares_decided(judged: JudgedRuns, *, ci_level: float = 0.95) -> SharesDecided:
    """Shares decided, precision and recall against the outcome, with intervals over tasks."""
    halves = tuple(half for half in judged.verdicts["half"].unique().sort() if half != "all")
    rows = tuple(decided_by(judged.verdicts, halves, ci_level))
    return SharesDecided(rows, judged.n_without, kind=judged.kind, made_up=judged.made_up)


class FaultsByJudge(Part, name="faults", caption="Located faults, and how many of them each judge finds"):
    """Located faults, and how many of them each judge finds: on their axis, at their step, on any axis."""

    _rows = "faults", _FAULTS
    _keys = ("faults", "within", "left_out")

    faults: tuple[FaultsFound, ...]
    within: int
    together: Estimate
    left_out: dict[str, int]

    @property
    def answer(self) -> str:
        """What the last judge finds of the faults that are located."""
        return say.answer(self.faults, self.together)

    @property
    def compared(self) -> str:
        """What is found, on the axis and at the step, by the last version of the rules and every other judge."""
        return f"{say.faults_sentence(self.faults)} {say.left_out_sentence(self.left_out)}".strip()

    def plot(self, ax: theme.Axes | None = None, *, by_axis: bool = False) -> theme.Axes:
        """Share of located faults that the last judge finds on their axis: a row a set and labeller, or each axis."""
        if not self.faults:
            return super().plot(ax)
        judge = list(dict.fromkeys(one.judge for one in self.faults))[-1]
        own = [one for one in self.faults if one.judge == judge]
        whole = {(one.domain, one.labeller) for one in own if one.axis == ANY_AXIS}  # steps without an axis have none
        rows = [one for one in own if (one.axis == ANY_AXIS) != by_axis or (one.domain, one.labeller) not in whole]
        if not by_axis:
            rows.sort(key=lambda one: -one.on_axis.estimate)
        ax = theme.new_axes(7.4, 1.4 + 0.4 * len(rows)) if ax is None else ax
        for height, one in enumerate(rows):
            theme.interval_mark(ax, one.on_axis, height, size=6)
            theme.at_the_right(ax, height, f"{say.ones([one.on_axis])} of {one.n_faults:,}")
        axis = ": {}" if by_axis else ""
        names = [f"{one.domain}, by {one.labeller}{axis.format(theme.in_words(one.axis).lower())}" for one in rows]
        theme.named_rows(ax, names)
        theme.percent_axis(ax)
        note = f"share of located faults that are found; {_over_tasks(one.on_axis for one in rows)}"
        total = f"{say.ones([self.together]):,} of {self.together.n_items:,} ({share(self.together)})"
        return theme.dress(ax, f"Located faults found by {judge_words(judge)}: {total}", note)


def faults_by_judge(judged: JudgedRuns, *, within: int = 1, ci_level: float = 0.95) -> FaultsByJudge:
    """Which located faults are found.

    Parameters
    ----------
    within : int
        How many steps a cited one may lie from the fault's, to be at the step.
    """
    met = faults_met(judged.verdicts, judged.labels, within=within)
    rows = tuple(faults_found(met, within=within, ci_level=ci_level))
    last = list(dict.fromkeys(one.judge for one in rows))[-1:]
    together = share_found(met, "".join(last), ci_level)
    left_out = faults_not_met(judged.verdicts, judged.labels, met)
    return FaultsByJudge(rows, within, together, left_out, kind=judged.kind, made_up=judged.made_up)


class RunsByHolder(Part, name="partings", caption="Runs by what each says; empty where one says nothing of such runs"):
    """Runs by outcome and by who holds a fault against them: a judge, the reference, people.

    A row a judge, set, outcome and what each says.
    """

    _rows = "partings", {}

    partings: pl.DataFrame

    answer = property(say.parting_sentence)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Failed and passing runs of each set, cut by who holds a fault against them; of the last judge."""
        judge = self.partings["judge"][-1]
        own = self.partings.filter(judge=judge).with_columns(pl.col("reference").fill_null(False))
        rows = [(domain, failed) for domain in own["domain"].unique(maintain_order=True) for failed in (True, False)]
        ax = theme.new_axes(7.4, 1.5 + 0.42 * len(rows)) if ax is None else ax
        hatched: dict[str, Any] = {"edgecolor": "white", "linewidth": 0}
        for height, (domain, failed) in enumerate(rows):
            here, left = own.filter(domain=domain, failed=failed), 0.0
            total = int(here["n_runs"].sum())
            for (says, reference), (colour, ink, hatch, _) in _HOLDERS.items():
                count = int(here.filter(judge_says=says, reference=reference)["n_runs"].sum())
                width = count / max(total, 1)
                ax.barh(height, width, left=left, color=colour, height=0.62, hatch=hatch, **hatched)
                if width > 0.04:
                    words: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": theme.SMALL, "color": ink}
                    under = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
                    ax.text(left + width / 2, height, str(count), **words, bbox=under)
                left += width
            theme.at_the_right(ax, height, f"{total} runs")
        for colour, _, hatch, label in _HOLDERS.values():
            ax.barh(0, 0, color=colour, hatch=hatch, label=label.format(judge=judge), **hatched)
        theme.legend_below(ax, ncols=4)
        theme.named_rows(ax, [f"{domain}, {'failed' if failed else 'passed'}" for domain, failed in rows])
        theme.percent_axis(ax)
        note = "the reference says nothing of runs that passed"
        how = f"counts of runs, without intervals; {note}"
        return theme.dress(ax, "Who holds a fault against the run", note, how=how)


def next_step(faults: FaultsByJudge) -> str:
    """Whom to ask, or what to label next."""
    return say.next_step(faults.faults)


def runs_by_holder(judged: JudgedRuns) -> RunsByHolder:
    """Who holds a fault against the same run, by its outcome."""
    return RunsByHolder(partings(judged.verdicts, judged.labels), kind=judged.kind, made_up=judged.made_up)


class KindsOfFinding(
    Part,
    name="kinds",
    caption="Kinds of finding: how many of the runs that they flag had failed, on sets made on and kept back",
):
    """What each kind of finding is worth: of the runs that it flags, the failed ones, where nothing was made on it."""

    _rows = "kinds", _KINDS

    kinds: tuple[KindCount, ...]

    answer = property(say.kinds_sentence)


def kinds_of_finding(findings: Given | None, *, ci_level: float = 0.95) -> KindsOfFinding:
    """What each kind of finding is worth.

    Parameters
    ----------
    findings : table, optional
        Columns kind, axis, side, subset, task_id, flagged, failed, steps and wrong_steps.
    """
    names = ("kind", "axis", "side", "subset", "task_id", "flagged", "failed", "steps", "wrong_steps")
    counts = () if findings is None else kind_counts(to_polars(findings, names, where="findings"), ci_level)
    return KindsOfFinding(tuple(counts), kind="polars" if findings is None else kind_of(findings))


class RunsRead(Part, name="reading", caption="Faults of rules and reference beside those of runs read by hand"):
    """Rules and reference against runs read by hand, by axis; ``any axis``: pairs of run and axis, ``run``: runs."""

    _rows = "raters", _READ

    raters: tuple[AgainstReading, ...]
    sentences: tuple[str, ...]

    @property
    def answer(self) -> str:
        """How many runs have a fault, and how often the reference and the rules have the reader's."""
        return " ".join(self.sentences) or "No runs were read by hand here."


def runs_read(
    reading: Given | None, *, within: int = 1, ci_level: float = 0.95, least_confidence: int = LEAST_CONFIDENCE
) -> RunsRead:
    """What reference and rules hold against runs that were read by hand, beside what the reader does.

    Parameters
    ----------
    reading : table, optional
        Columns trajectory_id, task_id, failed, rater, step, axis and confidence
        (`axisjudge.datasets.votes.published_reading`).
    within : int
        How many steps a rater's may lie from the reader's, to be at the step.
    least_confidence : int
        Readers' faults of less confidence (1 to 3) count as none; faults without a confidence count.
    """
    if reading is None:
        return RunsRead((), ())
    names = ("trajectory_id", "task_id", "failed", "rater", "step", "axis", "confidence")
    table = sure_enough(to_polars(reading, names, where="reading"), least_confidence)
    raters = tuple(against_reading(table, within=within, ci_level=ci_level))
    return RunsRead(raters, say.reading_sentences(table, raters), kind=kind_of(reading))


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
        No verdict of a judge on a run with an outcome, or two ratings of a judge or labeller on one run and axis.

    Examples
    --------
    >>> from axisjudge.datasets.votes import published_verdicts
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
