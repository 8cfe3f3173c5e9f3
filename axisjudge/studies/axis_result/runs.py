"""AXIS Results of runs in parts: one run taken apart, all runs, their agents, and two sets compared over repeats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.figures import theme
from axisjudge.protocol import no_such_run
from axisjudge.results import Result, columns
from axisjudge.scores.axis.judged.signals import SIGNALS
from axisjudge.scores.axis.result import DIMENSIONS, AxisResult
from axisjudge.scores.axis.transcript.interactions import ACTING, Interaction
from axisjudge.stats.comparisons.paired import PairedChange, paired_change, stratified_change
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_mean
from axisjudge.studies._shared.frames import Kind, Table, mean_of, native, rows_by, rows_of
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many
from axisjudge.studies.axis_result import sentences as say
from axisjudge.studies.axis_result.sentences import WAITS, Direction, NotCompared
from axisjudge.trajectory import Trajectory

#: What is compared: the composite and the four dimensions.
QUANTITIES = ("composite", *DIMENSIONS)
_OF_INTERACTIONS = SIGNALS[:4]
_MOST_ROWS = 20
_RUN = {"trajectory_id": "trajectory_id", "agent": "agent", "task": "task_id", "axis_result": "shown", "band": "band"}
_COUNTS = {"interactions": "counts.interactions", "errors": "counts.errors"}
_MEAN = {"mean": "estimate", "low": "ci_low", "high": "ci_high", "runs": "n_items", "tasks": "n_clusters"}
#: Columns of the table of changes, and where their figures stand.
_CHANGE = columns("quantity before after change~~=over_repeats shown=direction.value p_over_tasks=over_tasks.p_value")
#: Rows and colours of the categories, after Okabe and Ito.
_CATEGORIES = {"environment": "#0072B2", "service": "#CC79A7", "agent": "#8a8a8a"}
_ERROR = "#D55E00"
#: A mark takes this share of the whole time at least, so that a call of some milliseconds can be seen.
_LEAST_WIDTH = 0.004
#: A name whose bar lies nearer to an end of the line than this share of it is written inwards.
_NEAR_THE_EDGE = 0.15


class OneRun(
    Part,
    name="run",
    caption="The four dimensions of this run, and their signals",
    formats={"share": ".1f", **dict.fromkeys(("score", "low", "high"), ".0f"), "raw": ".3f"},
):
    """One run taken apart: its four dimensions and their signals, on a line of time."""

    _flat = ("run",)

    run: AxisResult

    @property
    def table(self) -> Table:
        """One row a dimension; `low` and `high` have everything missing or unknown at its worst and at its best."""
        return native(pl.DataFrame(self.run.dimension_rows, infer_schema_length=None), self.kind)

    @property
    def answer(self) -> str:
        """The run in a few sentences, with the marks that must be known of it."""
        return " ".join([*say.of_run(self.run), *map(say.marked, self.run.marks)])

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Interactions from left to right, one row a category; a bar is as long as the interaction took.

        A diamond stands where the duration of a call or of a text is unknown, a cross where the interaction failed; a
        pale bar is time that a person took. The longest bar of each row is named for what it is: a call, a text and the
        writing of what follows it, a wait. A call of two categories stands in both rows.
        """
        ax = theme.new_axes(9.5, 2.9) if ax is None else ax
        timed = [each for each in self.run.interactions if each.start_ms is not None]
        end = max((1.0, *((each.start_ms or 0) + (each.duration_ms or 0) for each in timed))) / 1000
        rows = {category: row for row, category in enumerate(_CATEGORIES)}
        for each in timed:
            start, length = (each.start_ms or 0) / 1000, (each.duration_ms or 0) / 1000
            for category in each.categories:
                row, colour = rows[category], _CATEGORIES[category]
                if each.duration_ms is None and each.type in ACTING:
                    ax.plot(start, row, "D", color=colour, markersize=4, markerfacecolor="white")
                elif each.duration_ms is not None:
                    bar: dict[str, Any] = {"left": start, "height": 0.55, "color": colour}
                    ax.barh(row, max(length, _LEAST_WIDTH * end), **bar, alpha=0.25 if each.wait else 0.75)
                if each.has_error:
                    ax.plot(start, row - 0.42, "X", color=_ERROR, markersize=6)
        ax.set_xlim(-0.01 * end, 1.01 * end)
        for name, row in rows.items():
            _name_longest(ax, [each for each in timed if each.categories[0] == name and each.duration_ms], row)
        unknown = theme.HOLLOW | {"marker": "D", "markersize": 4}
        marks: dict[str, Any] = {"duration unknown": unknown, "failed": {"marker": "X", "color": _ERROR}}
        if any(each.wait for each in timed):
            marks["waits for a person"] = {"marker": "s", "color": theme.QUIET, "alpha": 0.25, "markersize": 7}
        theme.legend_below(ax, marks, inches=0.55, ncols=3)
        ax.set_yticks(list(rows.values()), list(rows))
        ax.set_ylim(len(rows) - 0.4, -0.75)
        counts, nothing = self.run.counts, "" if timed else "; no time stamps, so there is nothing to draw"
        happened = f"{many(counts.interactions, 'interaction')}, {many(counts.errors, 'error')}"
        note = f"{happened}; AXIS Result {self.run.shown}{nothing}"
        how = f"a bar is an interaction, a cross one that failed; {note}; one run, so no interval"
        return theme.dress(ax, "One run, by category", note, how=how, x="seconds from the run's start", lines="x")


def one_run(
    results: Sequence[AxisResult], run_id: str = "", *, kind: Kind = "polars", made_up: tuple[str, ...] = ()
) -> OneRun:
    """The run of that id; without one that with the most failed or unnecessary interactions, the first of equals.

    Raises
    ------
    InputError
        When there is no run, or none of that id.
    """
    if not results:
        raise TooLittle("source", "holds no transcript")
    by_id = {each.trajectory_id: each for each in reversed(results)}  # of one id the first
    if run_id and run_id not in by_id:
        raise no_such_run("run_id", run_id, [each.trajectory_id for each in results])
    chosen = [by_id[run_id]] if run_id else results
    most = max(chosen, key=lambda each: each.counts.errors + len(each.dimension("agent").necessity.unnecessary))
    return OneRun(most, kind=kind, made_up=made_up)


class WeakestSignals(Part, caption="Interactions of this run with a signal below 1"):
    """Where one run lost points: interactions with a signal below 1, the lowest first, with the judge's reason."""

    rows: tuple[Mapping[str, Any], ...]

    @property
    def table(self) -> Table:
        """The first twenty; unjudged signals are empty."""
        kinds = {"dimension": pl.String, "id": pl.Int64, "what": pl.String, "duration_ms": pl.Int64}
        schema = {**kinds, **dict.fromkeys(_OF_INTERACTIONS, pl.Float64), "reason": pl.String}
        rows = [{name: row[name] for name in schema} for row in self.rows[:_MOST_ROWS]]
        return native(pl.DataFrame(rows, schema=schema), self.kind)

    answer = property(say.weakest)


def weakest_signals(of: OneRun) -> WeakestSignals:
    """Interactions of the run with a signal below 1, the lowest first."""
    given = [([row[name] for name in _OF_INTERACTIONS if row[name] is not None], row) for row in of.run.signal_rows]
    weak = sorted(((min(signals), row) for signals, row in given if min(signals) < 1), key=lambda each: each[0])
    return WeakestSignals(tuple(row for _, row in weak), kind=of.kind, made_up=of.made_up)


class AllRuns(Part, caption="Every run with its slowest call and its weakest signals below 75"):
    """Every run's composite or the ends of its interval, its dimensions, its slowest call and its weakest signals."""

    _keys: ClassVar = {"runs": "table"}

    results: tuple[AxisResult, ...]

    @property
    def table(self) -> Table:
        """One row a run."""
        rows = []
        for each in self.results:
            slow, low, high = each.slowest, *each.bounds
            row = rows_of([each], _RUN)[0] | {score_column(of.name): of.score for of in each.dimensions}
            row |= {"bounds": f"{low:g} to {high:g}"} | rows_of([each], _COUNTS)[0]
            row["slowest_call"] = slow and f"#{slow.id} {slow.tool_name} {slow.duration_ms / 1000:,.1f} s"
            rows.append(row | {"weakest": "; ".join(map(str, each.insights)) or None, "marks": len(each.marks)})
        return native(pl.DataFrame(rows, infer_schema_length=None), self.kind)

    answer = property(say.runs_counted)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Every run's composite, one row a task and agent; a line where it is an interval, whiskers for its bounds."""
        groups: dict[tuple[str, str], list[AxisResult]] = {}
        for each in self.results:
            groups.setdefault((each.task_id or each.cluster_id, each.agent or "not stated"), []).append(each)
        ax = theme.new_axes(8.0, 1.2 + 0.34 * len(groups)) if ax is None else ax
        for row, (_, runs) in enumerate(sorted(groups.items())):
            middle = (len(runs) - 1) / 2
            for repeat, each in enumerate(runs):
                height = row + 0.22 * (repeat - middle) / max(1, middle)
                ax.plot(each.bounds, [height, height], color=theme.FAINT, linewidth=1.2)
                ax.plot(each.interval, [height, height], color=theme.ACCENT, linewidth=2)
                if each.composite is not None:
                    ax.plot(each.composite, height, "o", color=theme.ACCENT, markersize=5)
        theme.named_rows(ax, [f"{task}, {agent}" for task, agent in sorted(groups)])
        ax.set_xlim(-1, 101)
        runs_drawn = many(len(self.results), "run")
        how = (
            f"a dot is one of {runs_drawn}. Blue lines go from goal 0 to goal 100 where the goal was not graded, grey "
            "lines from missing signals at their worst to their best: both are bounds, not confidence intervals"
        )
        note = f"{runs_drawn}; grey: what is missing at its ends"
        return theme.dress(ax, "Every run's AXIS Result", note, how=how, x="AXIS Result", lines="x")


def all_runs(results: Sequence[AxisResult], *, kind: Kind = "polars", made_up: tuple[str, ...] = ()) -> AllRuns:
    """Every run on one row."""
    return AllRuns(tuple(results), kind=kind, made_up=made_up)


def score_column(dimension: str) -> str:
    """The column of a dimension's score: an agent has a name and a score."""
    return f"{dimension.removesuffix('_achievement')}_score"


@dataclass(frozen=True)
class AgentMeans(Result):
    """Mean scores of one agent's runs; intervals are over tasks where there are enough of them."""

    agent: str
    n_runs: int
    n_failed: int
    means: Mapping[str, Estimate]


class MeansOfAgents(
    Part, name="agents", caption="Mean scores per agent (intervals over tasks need ten tasks)", formats={"mean": ".1f"}
):
    """Mean scores of every agent's runs."""

    agents: tuple[AgentMeans, ...]

    @property
    def table(self) -> Table:
        """One row an agent and quantity, with the interval over tasks where there is one."""
        rows = [{"agent": each.agent} | row for each in self.agents for row in rows_by("quantity", each.means, _MEAN)]
        rows = [row for row in rows if row["runs"]]
        return native(pl.DataFrame(rows, infer_schema_length=None), self.kind)

    answer = property(say.of_means)


def agent_means(
    results: Sequence[AxisResult], *, ci_level: float = 0.95, kind: Kind = "polars", made_up: tuple[str, ...] = ()
) -> MeansOfAgents:
    """Mean composite and dimensions per agent, clustered by task; failed runs count with their score of 0."""
    rows = []
    for agent in sorted({each.agent or "" for each in results}):
        runs = [each for each in results if (each.agent or "") == agent]
        tasks = [each.cluster_id for each in runs]
        means = {
            name: clustered_mean(values(runs, name), tasks, cluster_unit="task", ci_level=ci_level)
            for name in QUANTITIES
        }
        rows.append(AgentMeans(agent or "not stated", len(runs), sum(each.failed for each in runs), means))
    return MeansOfAgents(tuple(rows), kind=kind, made_up=made_up)


def values(results: Sequence[AxisResult], quantity: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The composite or a dimension's score of every run; NaN where it has none."""
    scores = [each.composite if quantity == "composite" else each.dimension(quantity).score for each in results]
    return np.array([math.nan if score is None else score for score in scores], dtype=np.float64)


@dataclass(frozen=True)
class Change(Result):
    """One quantity's change between two sets of runs.

    `over_repeats` takes the tasks as given: would other repeats of these tasks show it? `over_tasks` asks of other
    tasks, with the sign-flip test of whole tasks; its interval needs ten tasks.
    """

    _also: ClassVar = {"change": "direction", "over_tasks": "over_tasks.change", "p_over_tasks": "over_tasks.p_value"}

    quantity: str
    before: float
    after: float
    over_repeats: Estimate
    over_tasks: PairedChange

    @property
    def direction(self) -> Direction:
        """What the interval over repeats allows to be said."""
        low, high = self.over_repeats.ci_low, self.over_repeats.ci_high
        if math.isnan(low):
            return Direction.CANNOT_TELL
        return Direction.HIGHER if low > 0 else Direction.LOWER if high < 0 else Direction.NOT_SHOWN


class RunComparison(Part, name="comparison", caption="Points per quantity", formats={"p_over_tasks": ".3f"}):
    """Two sets of runs on shared tasks, one change for the composite and for each dimension.

    Where they cannot be compared there are no changes, and `refusal` says why. One row a quantity.
    """

    _rows = "changes", _CHANGE

    _also: ClassVar = {"refusal": "reason"}

    names: tuple[str, str]
    changes: tuple[Change, ...]
    n_before: int
    n_after: int
    tasks: tuple[str, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    refusal: NotCompared | None = None

    @property
    def reason(self) -> str:
        """Why they are not compared; empty where they are."""
        return self.refusal or ""

    @property
    def answer(self) -> str:
        """What changed from one set to the other, or why that cannot be told."""
        return self.sentence if self.refusal else say.between(self.names, self.sentence)

    @property
    def sentence(self) -> str:
        """What changed, with its interval, and what could not be told."""
        return say.REFUSED.format(reason=self.refusal) if self.refusal else say.comparison(self)

    @property
    def together(self) -> str:
        """At which level all intervals over repeats hold at once (Bonferroni); empty where there is none."""
        level = next((each.over_repeats.ci_level for each in self.changes), None)
        n = len(QUANTITIES)
        return "" if level is None else f"{1 - n * (1 - level):.0%} sure for all {n} together"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Change of the composite and of each dimension, with intervals over repeats; clear of 0 is a change."""
        rows = self.changes
        ax = theme.new_axes(7.5, 1.3 + 0.4 * len(rows)) if ax is None else ax
        for row, each in enumerate(rows):
            theme.interval_mark(ax, each.over_repeats, row, filled=each.direction is not Direction.NOT_SHOWN)
            theme.at_the_right(ax, row, f"{each.before:.1f} → {each.after:.1f}")
        ax.axvline(0, color=theme.QUIET, linewidth=1)
        names = {"composite": "AXIS Result (all)"}
        theme.named_rows(ax, [names.get(each.quantity, theme.in_words(each.quantity)) for each in rows] or [""])
        bars = theme.level(rows[0].over_repeats if rows else None)
        note = f"filled: a change is shown; right: both means; {bars} over repeats of"
        note = f"{note} {many(len(self.tasks), 'task')}, {self.together}"
        before, after = self.names
        x = f"points of 100, {after} minus {before}"
        return theme.dress(ax, f"Change from {before} to {after}", self.reason or note, x=x, lines="x")


def compare_sources(
    results: Sequence[AxisResult], others: Sequence[AxisResult], *, names: tuple[str, str], **how: Any
) -> RunComparison:
    """The runs against the others; without those the first two agents among them, if there are two."""
    if others:
        return compare_runs(results, others, names=names, **how)
    agents = sorted({each.agent for each in results if each.agent})[:2]
    if len(agents) < 2:
        return RunComparison(names, (), len(results), 0, refusal=NotCompared.ONE_SET, kind=how.get("kind", "polars"))
    first, second = ([each for each in results if each.agent == agent] for agent in agents)
    return compare_runs(first, second, names=(agents[0], agents[1]), **how)


def compare_runs(
    before: Sequence[AxisResult],
    after: Sequence[AxisResult],
    *,
    names: tuple[str, str] = ("before", "after"),
    ci_level: float = 0.95,
    kind: Kind = "polars",
    made_up: tuple[str, ...] = (),
) -> RunComparison:
    """Compare two sets of runs on the tasks that both have, with intervals over repeats.

    The original program calls a difference of more than one point a change, whatever its noise; here a change is shown
    when its interval leaves out 0. Intervals over repeats hold at `ci_level` for all quantities together (Bonferroni).
    Runs that called nothing are not compared with runs that each called something: an environment that is not there
    deducts nothing.
    """
    first, second = ({each.cluster_id for each in side} for side in (before, after))
    shared = first & second
    kept = [[each for each in side if not shared or each.cluster_id in shared] for side in (before, after)]
    shown: Any = {"kind": kind, "made_up": made_up, "names": names, "tasks": tuple(sorted(shared))}
    shown |= {"n_before": len(kept[0]), "n_after": len(kept[1])}
    only: Any = {"only_before": tuple(sorted(first - shared)), "only_after": tuple(sorted(second - shared))}
    if not shared:
        return RunComparison(changes=(), refusal=NotCompared.NO_SHARED_TASK, **shown, **only)
    n_silent = [sum(not any(step.is_call for step in each.interactions) for each in side) for side in kept]
    if n_silent in ([0, len(kept[1])], [len(kept[0]), 0]):
        return RunComparison(changes=(), refusal=NotCompared.CALLED_NOTHING, **shown)
    changes = (_change(name, *kept, ci_level=ci_level) for name in QUANTITIES)
    known = tuple(each for each in changes if not math.isnan(each.over_repeats.estimate))
    return RunComparison(changes=known, **shown, **only)


def _change(quantity: str, before: list[AxisResult], after: list[AxisResult], *, ci_level: float) -> Change:
    sides = [(values(side, quantity), np.array([each.cluster_id for each in side])) for side in (before, after)]
    (first, first_tasks), (second, second_tasks) = sides
    joint = 1 - (1 - ci_level) / len(QUANTITIES)
    repeats = stratified_change(first, second, before_strata=first_tasks, after_strata=second_tasks, ci_level=joint)
    names = sorted(set(first_tasks.tolist()))
    means = [[mean_of(values[tasks == name]) for name in names] for values, tasks in sides]
    over_tasks = paired_change(means[0], means[1], clusters=names, ci_level=ci_level)
    both = np.array(means)[:, ~np.isnan(means).any(axis=0)]  # the change is of tasks that have the score on both sides
    return Change(quantity, mean_of(both[0]), mean_of(both[1]), repeats, over_tasks)


def _name_longest(ax: theme.Axes, bars: Sequence[Interaction], row: int) -> None:
    """The longest bar of a row, by what its time was: its end of the line where the text would leave the figure."""
    if not bars:
        return
    longest = max(bars, key=lambda each: each.duration_ms or 0)
    seconds = (longest.duration_ms or 0) / 1000
    what = longest.tool_name if longest.is_call else "a text and the writing of the next step"
    text = f"#{longest.id} {WAITS[longest.wait] if longest.wait else what}, {seconds:,.1f} s"
    middle = (longest.start_ms or 0) / 1000 + seconds / 2
    share = middle / max(ax.get_xlim()[1], 1e-9)
    align = "left" if share < _NEAR_THE_EDGE else "right" if share > 1 - _NEAR_THE_EDGE else "center"
    ax.annotate(text, (middle, row - 0.3), ha=align, va="bottom", fontsize=theme.SMALL, color=theme.INK)


#: Per kind of tokens what adds up to it, each with the names under which sources count it: an AXIS report's, and those
#: of agents' own logs. What is written to a cache was read in full; thoughts that are counted apart were written.
_INPUT = (("input", "input_tokens"), ("cache_creation_input_tokens",))
_CACHED = (("cacheReadInput", "cache_read_input_tokens", "cached_input_tokens", "cached"),)
_OUTPUT = (("output", "output_tokens"), ("thoughts",))


class RunUsage(NamedTuple):
    """What a run took, as its source counts it: tokens in, of cached input, out, and dollars; None where unstated."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


def usage_of(trajectory: Trajectory) -> RunUsage:
    """The usage that the source states for the run as a whole; turns that are counted one by one are added up.

    Whether cached input is part of the input differs from source to source, so the two are never added.
    """
    run = trajectory.meta.get("axis_run")
    run = run if isinstance(run, dict) else {}
    stated = run.get("tokenUsage", trajectory.meta.get("usage", trajectory.meta.get("stats")))
    turns: list[Mapping[str, Any]] = [
        each for each in (stated if isinstance(stated, list) else [stated]) if isinstance(each, dict)
    ]
    cost = run.get("totalCostUsd", trajectory.meta.get("total_cost_usd", trajectory.meta.get("agent_cost")))
    return RunUsage(
        _total(turns, _INPUT),
        _total(turns, _CACHED),
        _total(turns, _OUTPUT),
        float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )


def _total(turns: list[Mapping[str, Any]], kinds: tuple[tuple[str, ...], ...]) -> int | None:
    counts = [count for turn in turns for names in kinds if (count := _count(turn, names)) is not None]
    return sum(counts) if counts else None


def _count(turn: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The count under the first of these names that has one; whole numbers may be written as 12.0."""
    given = (turn.get(name) for name in names)
    return next((int(n) for n in given if isinstance(n, int | float) and not isinstance(n, bool) and n % 1 == 0), None)
