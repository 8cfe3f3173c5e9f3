"""A panel's verdicts as arrays, every way in which one can be absent kept apart, and its failures of agents on axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.ratings.edge import BY_JUDGE, MADE_UP, VERDICT_ON_RUN, as_ratings, on_verdicts, once
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.effective import independent_panel
from axisjudge.stats.estimate import Estimate, all_fail, any_fails
from axisjudge.stats.proportions import cluster_codes, clustered_proportion
from axisjudge.studies._shared.frames import Kind, first_of_each, kind_of, mean_of, questions_in_order

UNNAMED = "(agent not named)"
#: The two ways in which a panel fails a run on an axis.
MEASURES = {"any": "any judge says incorrect", "consensus": "all judges that decide, two at least, say incorrect"}
#: Fields of a panel with an entry a run, and arrays with a row a run.
_OF_RUNS, _OF_VERDICTS = ("runs", "agents", "clusters", "domains"), ("incorrect", "not_applicable", "uncertain", "lost")

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Panel:
    """Verdicts of several judges on whole trajectories.

    `incorrect` has one row a run, then axes, then judges: 1 incorrect, 0 correct, NaN without a side: the
    judge said `uncertain` or `not_applicable`, its call was `lost`, or nobody asked.
    """

    runs: tuple[str, ...]
    agents: tuple[str, ...]
    clusters: tuple[str, ...]
    domains: tuple[str | None, ...]
    axes: tuple[str, ...]
    judges: tuple[str, ...]
    families: tuple[str, ...]
    incorrect: NDArray[np.float64]
    not_applicable: Flags
    uncertain: Flags
    lost: Flags
    repeats_left_out: int
    kind: Kind
    made_up: tuple[str, ...] = ()

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Every agent once, by name."""
        return tuple(sorted(set(self.agents)))

    @cached_property
    def tasks(self) -> NDArray[np.intp]:
        """The clusters as numbers."""
        return cluster_codes(self.clusters, len(self.clusters))

    @property
    def not_rated(self) -> Flags:
        """True where there is no rating at all."""
        return np.isnan(self.incorrect) & ~self.not_applicable & ~self.uncertain & ~self.lost

    @property
    def decided(self) -> Flags:
        """True where the judge says correct or incorrect."""
        return ~np.isnan(self.incorrect)

    @property
    def applicable(self) -> Flags:
        """Runs x axes: False where every verdict given is not applicable."""
        return np.asarray(self.decided.any(axis=2) | ~self.not_applicable.any(axis=2))

    def failed(self, measure: str) -> NDArray[np.float64]:
        """Runs x axes: 1 where the panel fails a run on an axis by one of the two `MEASURES`, 0 where not, else NaN."""
        return self.any_judge() if one_of("measure", measure, MEASURES) == "any" else self.consensus()

    def any_judge(self) -> NDArray[np.float64]:
        """Runs x axes: 1 where at least one judge says incorrect, 0 where one decides otherwise and none says so.

        NaN where no judge decides.
        """
        return any_fails(self.incorrect)

    def consensus(self) -> NDArray[np.float64]:
        """Runs x axes: 1 where all judges that decide (two at least) say incorrect, 0 where one decides otherwise.

        NaN where fewer than two decide.
        """
        return all_fail(self.incorrect)

    def where(self, kept: Flags) -> Panel:
        """The panel on some of the runs."""
        chosen: dict[str, Any] = {name: tuple(compress(getattr(self, name), kept)) for name in _OF_RUNS}
        return replace(self, **chosen, **{name: getattr(self, name)[kept] for name in _OF_VERDICTS})


def panel_of(
    ratings: Any, *, judges: Sequence[str] | None = None, repeat: int = 0, cluster: str = "cluster_id"
) -> Panel:
    """Spread the verdicts of a panel over runs, axes and judges; arguments as `failure_profile`.

    Raises
    ------
    InputError
        No such ratings, a judge that is not in the table, or two ratings of one judge on one item.
    """
    table = as_ratings(ratings)
    table = table.with_columns(cluster_id=pl.col(one_of("cluster", cluster, table.columns)).cast(pl.String))
    return panel_of_parts([table], judges=judges, repeat=repeat, kind=kind_of(ratings))


def panel_of_parts(
    parts: Iterable[pl.DataFrame], *, judges: Sequence[str] | None = None, repeat: int = 0, kind: Kind = "polars"
) -> Panel:
    """The panel of ratings in several tables, each of which is let go when the next is asked for.

    One table holds all ratings of a run on an axis (`axisjudge.ratings.table.ratings_in_parts`).
    """
    votes = [votes_of(part, judges, repeat) for part in parts]
    known = {rater for each in votes for rater in each.raters}
    for judge in judges or ():
        one_of("judges", judge, sorted(known))
    return panel_of_votes(votes, kind=kind)


def panel_of_votes(votes: Iterable[PanelPart], *, kind: Kind = "polars") -> Panel:
    """The panel of the verdicts of all parts."""
    held = [*votes]
    kept = [each for each in held if not each.cells.is_empty()]
    if not kept:
        cure = "name a file of such: people's labels, steps and other scales do not count here"
        raise InputError("ratings", "must hold verdicts of judges on whole trajectories", cure=cure)
    return _spread(kept, sum(each.left_out for each in held), kind)


@dataclass(frozen=True, eq=False)
class PanelPart:
    """The verdicts of a part; `cells` has a row each: positions in `runs`, `judges` and `axes`, and one of `_WORDS`."""

    runs: pl.DataFrame
    judges: pl.DataFrame
    axes: pl.DataFrame
    cells: pl.DataFrame
    raters: frozenset[str]
    left_out: int
    made_up: frozenset[str]


#: What a cell of the panel holds; 0 where there is no rating.
_WORDS = {"correct": 1, "incorrect": 2, "not_applicable": 3, "uncertain": 4}
_LOST = 5
#: Who, what and of whom: the columns of each side of the panel, the first of which names it.
_RUN, _JUDGE, _AXIS = ("trajectory_id", "agent", "cluster_id", "domain"), ("rater", "family"), ("question",)


def votes_of(part: pl.DataFrame, judges: Sequence[str] | None = None, repeat: int = 0) -> PanelPart:
    """What a panel takes of a table that holds all ratings of its runs on its axes."""
    table = on_verdicts(part).filter(VERDICT_ON_RUN)
    chosen = table.filter(BY_JUDGE if judges is None else pl.col("rater").is_in(list(judges)))
    kept = chosen.filter(pl.col("repeat") == repeat)
    once(kept, "trajectory_id", "question", "rater", rule="one rating for each run, axis and judge")
    runs, raters, axes = (first_of_each(kept, side) for side in (_RUN, _JUDGE, _AXIS))
    word = pl.when(pl.col("status") == "ok").then(pl.col("verdict").replace_strict(_WORDS, return_dtype=pl.UInt8))
    cells = kept.select(
        run=runs["trajectory_id"].search_sorted(kept["trajectory_id"]),
        judge=raters["rater"].search_sorted(kept["rater"]),
        axis=axes["question"].search_sorted(kept["question"]),
        word=word.otherwise(pl.lit(_LOST, dtype=pl.UInt8)),
    )
    known = frozenset(table["rater"].unique()) if judges is not None else frozenset()
    made_up = frozenset(kept.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"].unique())
    return PanelPart(runs, raters, axes, cells, known, chosen.height - kept.height, made_up)


def _spread(votes: Sequence[PanelPart], left_out: int, kind: Kind) -> Panel:
    runs, raters = (
        first_of_each(pl.concat([getattr(each, side) for each in votes]), columns)
        for side, columns in (("runs", _RUN), ("judges", _JUDGE))
    )
    by_family = raters.sort("family", "rater")
    judges = by_family["rater"].to_list()
    axes = questions_in_order(dict.fromkeys(axis for each in votes for axis in each.axes["question"]))
    words = np.zeros((runs.height, len(axes), raters.height), dtype=np.uint8)
    for each in votes:
        run = runs["trajectory_id"].search_sorted(each.runs["trajectory_id"]).to_numpy()
        axis = np.array([axes.index(name) for name in each.axes["question"]])
        judge = np.array([judges.index(name) for name in each.judges["rater"]])
        cells = each.cells
        words[run[cells["run"]], axis[cells["axis"]], judge[cells["judge"]]] = cells["word"].to_numpy()
    decided = np.array([np.nan, 0.0, 1.0, np.nan, np.nan, np.nan])  # of each word whether it says incorrect
    return Panel(
        runs=tuple(runs["trajectory_id"]),
        agents=tuple(agent or UNNAMED for agent in runs["agent"]),
        clusters=tuple(runs["cluster_id"]),
        domains=tuple(runs["domain"]),
        axes=tuple(axes),
        judges=tuple(judges),
        families=tuple(by_family["family"]),
        incorrect=decided[words],
        not_applicable=words == _WORDS["not_applicable"],
        uncertain=words == _WORDS["uncertain"],
        lost=words == _LOST,
        repeats_left_out=left_out,
        kind=kind,
        made_up=tuple(sorted({rater for each in votes for rater in each.made_up})),
    )


@dataclass(frozen=True)
class FailureRate:
    """How often a panel fails an axis, by one of the two `MEASURES`.

    `rate` is over the runs on which enough judges decided. `best` and `worst` are over all runs to which the axis
    applies (a consensus: to two judges), with every undecided verdict taken as correct and as incorrect. `independent`
    is the rate that the judges' own rates would give if their verdicts shared nothing.
    """

    count: int
    rate: Estimate
    best: float
    worst: float
    independent: Estimate


#: Columns of a table of failures by one measure, and where their figures stand.
_FIGURES = columns("incorrect=count judged=rate.n_items rate~~ best worst independent~")


@dataclass(frozen=True)
class Cell(Result):
    """One agent on one axis; ratings without a verdict are counted by their reason."""

    _keys = columns(
        "agent axis n_runs not_applicable uncertain lost not_rated",
        {f"any_{column}": f"any_judge.{path}" for column, path in _FIGURES.items()},
        {f"consensus_{column}": f"consensus.{path}" for column, path in _FIGURES.items()},
        "n_tasks=any_judge.rate.n_clusters method=any_judge.rate.method",
    )

    agent: str
    axis: str
    n_runs: int
    not_applicable: int
    uncertain: int
    lost: int
    not_rated: int
    any_judge: FailureRate
    consensus: FailureRate

    def failures(self, measure: str) -> FailureRate:
        """The failures by one of the two measures."""
        one_of("measure", measure, MEASURES)
        return self.any_judge if measure == "any" else self.consensus


def failures_of(panel: Panel, agent: str, axis: int, ci_level: float) -> Cell:
    """The failures of one agent (or all) on the axis at a position, by both rules."""
    applicable = panel.applicable[:, axis]
    failing = panel.incorrect[applicable, axis]
    clusters = panel.tasks[applicable]
    independent = independent_panel(failing, clusters, ci_level=ci_level)
    no_part = panel.not_applicable[applicable, axis]  # nor would it have one, had the others decided

    def failures(of: Callable[[NDArray[Any]], NDArray[Any]], independent: Estimate) -> FailureRate:
        failed = of(failing)
        best, worst = (mean_of(of(np.where(no_part, np.nan, np.nan_to_num(failing, nan=all_)))) for all_ in (0.0, 1.0))
        return FailureRate(
            int(np.nansum(failed)), rate_over_tasks(failed, clusters, ci_level), best, worst, independent
        )

    return Cell(
        agent=agent,
        axis=panel.axes[axis],
        n_runs=len(panel.runs),
        not_applicable=int((~applicable).sum()),
        uncertain=int(panel.uncertain[:, axis].sum()),
        lost=int(panel.lost[:, axis].sum()),
        not_rated=int(panel.not_rated[:, axis].sum()),
        any_judge=failures(any_fails, independent.any_judge),
        consensus=failures(all_fail, independent.consensus),
    )


def rate_over_tasks(values: NDArray[np.float64], clusters: NDArray[Any], ci_level: float) -> Estimate:
    """A proportion over tasks."""
    return clustered_proportion(values, clusters, cluster_unit="task", ci_level=ci_level)
