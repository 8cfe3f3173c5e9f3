"""A panel's verdicts as arrays: runs x axes x judges, with every way in which a verdict can be absent kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, VERDICT_ON_RUN, once
from axisjudge.studies._shared.frames import Kind, kind_of
from axisjudge.studies._shared.scope import questions_in_order

UNNAMED = "(agent not named)"


Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Panel:
    """Verdicts of several judges on whole trajectories.

    `incorrect` has one row a run, then axes, then judges: 1 incorrect, 0 correct or not applicable, NaN undecided.
    Undecided is `uncertain` (the judge said so), `lost` (the call failed) or not rated (nobody asked).
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

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Every agent once, by name."""
        return tuple(sorted(set(self.agents)))

    @property
    def domain_names(self) -> tuple[str, ...]:
        """Every domain that is named, once."""
        return tuple(sorted({domain for domain in self.domains if domain is not None}))

    @property
    def not_rated(self) -> Flags:
        """True where there is no rating at all."""
        return np.isnan(self.incorrect) & ~self.uncertain & ~self.lost

    @property
    def decided(self) -> Flags:
        """True where the judge gave a verdict other than uncertain."""
        return ~np.isnan(self.incorrect)

    @property
    def applicable(self) -> Flags:
        """Runs x axes: False where every verdict given is not applicable."""
        said_otherwise = np.logical_or.reduce(self.decided & ~self.not_applicable, axis=2)
        said_so = np.logical_or.reduce(self.not_applicable, axis=2)
        applicable: Flags = said_otherwise | ~said_so
        return applicable

    def any_judge(self) -> NDArray[np.float64]:
        """Runs x axes: 1 where at least one judge says incorrect, 0 where one decides otherwise and none says so.

        NaN where no judge decides, or the axis does not apply.
        """
        return np.where(self.applicable, _most(self.incorrect), np.nan)

    def consensus(self) -> NDArray[np.float64]:
        """Runs x axes: 1 where all judges that decide (two at least) say incorrect, 0 where one decides otherwise.

        NaN where fewer than two decide and none of them otherwise, the axis does not apply, or the panel is one judge.
        """
        if len(self.judges) < 2:
            return np.full(self.incorrect.shape[:2], np.nan)
        least = -_most(-self.incorrect)
        alone = (self.decided.sum(axis=2) < 2) & (least == 1)
        return np.where(self.applicable & ~alone, least, np.nan)

    def where(self, kept: Flags) -> Panel:
        """The panel on some of the runs."""
        at = np.flatnonzero(kept)
        return replace(
            self,
            runs=tuple(self.runs[i] for i in at),
            agents=tuple(self.agents[i] for i in at),
            clusters=tuple(self.clusters[i] for i in at),
            domains=tuple(self.domains[i] for i in at),
            incorrect=self.incorrect[at],
            not_applicable=self.not_applicable[at],
            uncertain=self.uncertain[at],
            lost=self.lost[at],
        )


def panel_of(ratings: Any, *, judges: Sequence[str] | None = None, repeat: int = 0) -> Panel:
    """Spread the verdicts of a panel over runs, axes and judges; arguments as `axisjudge.studies.failures`.

    Raises
    ------
    InputError
        No such ratings, a judge that is not in the table, or two ratings of one judge on one item.
    """
    table = as_ratings(ratings).filter(VERDICT_ON_RUN)
    chosen = _of_panel(table, judges)
    kept = chosen.filter(pl.col("repeat") == repeat)
    if kept.is_empty():
        raise InputError("ratings", "must hold verdicts of judges on whole trajectories", cure="judge some runs first")
    once(kept, "trajectory_id", "question", "rater", rule="one rating for each run, axis and judge")
    return _spread(kept, chosen.height - kept.height, kind_of(ratings))


def _of_panel(table: pl.DataFrame, judges: Sequence[str] | None) -> pl.DataFrame:
    if judges is None:
        return table.filter(BY_JUDGE)
    known = sorted(set(table["rater"]))
    return table.filter(pl.col("rater").is_in([one_of("judges", judge, known) for judge in judges]))


def _spread(kept: pl.DataFrame, left_out: int, kind: Kind) -> Panel:
    runs = kept.select("trajectory_id", "agent", "cluster_id", "domain").unique("trajectory_id").sort("trajectory_id")
    raters = kept.select("rater", "family").unique("rater").sort("family", "rater")
    axes = questions_in_order(kept["question"].unique(maintain_order=True))
    names = {"trajectory_id": runs["trajectory_id"], "question": pl.Series(axes), "rater": raters["rater"]}
    at = tuple(
        kept[column].replace_strict(known, pl.int_range(len(known), eager=True)).to_numpy()
        for column, known in names.items()
    )
    shape = (runs.height, len(axes), raters.height)

    def said(*words: str) -> Flags:
        placed = np.zeros(shape, dtype=bool)
        placed[at] = kept["verdict"].is_in(words).fill_null(False).to_numpy()
        return placed

    lost = np.zeros(shape, dtype=bool)
    lost[at] = (kept["status"] != "ok").to_numpy()
    return Panel(
        runs=tuple(runs["trajectory_id"]),
        agents=tuple(agent or UNNAMED for agent in runs["agent"]),
        clusters=tuple(runs["cluster_id"]),
        domains=tuple(runs["domain"]),
        axes=tuple(axes),
        judges=tuple(raters["rater"]),
        families=tuple(raters["family"]),
        incorrect=np.where(said("incorrect"), 1.0, np.where(said("correct", "not_applicable"), 0.0, np.nan)),
        not_applicable=said("not_applicable"),
        uncertain=said("uncertain"),
        lost=lost,
        repeats_left_out=left_out,
        kind=kind,
    )


def _most(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest vote of each item; NaN where there is none."""
    largest: NDArray[np.float64] = np.fmax.reduce(votes, axis=2)
    return largest
