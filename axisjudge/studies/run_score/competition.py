"""Runs of one spec against each other: who is offered for review, and how much of that is luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import InputError, TooLittle
from axisjudge.results import Result, columns
from axisjudge.scores.run_score.reasons import of_end_time, of_measurement
from axisjudge.scores.run_score.rules import TIE_BREAKS
from axisjudge.scores.run_score.winning import win_probability
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.words import many
from axisjudge.studies.run_score import sentences as say


@dataclass(frozen=True, eq=False)
class Competition(Result):
    """Runs of a spec in order, and what repeats say of the agents.

    `ranked` has the scored runs of `spec`, best first (with their artefacts, if any); `tied` is how many share the
    highest score. `wins` holds for every agent the probability that its next run scores highest; `agents` the rank
    sets of the mean scores.
    """

    tie_breaks: ClassVar = TIE_BREAKS
    _keys = columns("ranked=listed spec tie_breaks tied wins agents sentences")

    spec: str | None
    ranked: pl.DataFrame
    tied: int
    wins: Mapping[str, Estimate]
    agents: Ranking

    @property
    def listed(self) -> pl.DataFrame:
        """The runs in order, with times in words."""
        return self.ranked.with_columns(pl.col("ended_at").dt.to_string("iso:strict"))

    @property
    def table(self) -> pl.DataFrame:
        """One row an agent, the likeliest to win first."""
        rows = [
            {"agent": name, "wins": each.estimate, "low": each.ci_low, "high": each.ci_high, "specs": each.n_clusters}
            for name, each in sorted(self.wins.items(), key=lambda each: -np.nan_to_num(each[1].estimate))
        ]
        return pl.DataFrame(rows)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Who is offered for review, and what may be said of the agents."""
        top = self.ranked.row(0, named=True) if self.ranked.height else None
        offer = () if self.spec is None else (say.offer(self.spec, top, self.ranked.height, self.tied),)
        said = self.agents.answer
        alone = said if self.spec is None else f"On {self.spec} alone, {said[:1].lower()}{said[1:]}"
        return (*offer, say.luck(self.wins), alone)


def compete(
    scored: pl.DataFrame,
    runs: pl.DataFrame,
    *,
    spec: str | None = None,
    ci_level: float = 0.95,
    rng: np.random.Generator,
) -> Competition:
    """Rank the runs of a spec by score, and its agents by what their repeats allow to be said.

    `scored` is what `score_runs` gave for `runs`, which have the wall time that breaks ties. With a `spec` its runs are
    ranked, and wins are over it alone.

    Raises
    ------
    InputError
        No run has a spec, or none the one named.
    """
    handed = [name for name in ("artefact",) if name in runs.columns and runs[name].is_not_null().any()]
    beside = runs.select("run_id", "wall_seconds", *handed)
    table = comparable(scored.join(beside, on="run_id", how="left"))
    if spec is not None:
        if spec not in set(scored["spec_id"].drop_nulls()):
            raise InputError("spec", "no run of this spec", spec, "see spec_id in the runs")
        table = table.filter(pl.col("spec_id") == spec)
        if table.is_empty():
            raise TooLittle("runs", f"none of {spec} has a score, so that none is ranked")
    elif table.is_empty():
        raise InputError("runs", "none has a spec_id and a score: nothing to compare", scored.height)
    ranked = in_order(table) if spec is not None else table.clear()
    scores, agents, specs = (table[name].to_numpy() for name in ("score", "agent_id", "spec_id"))
    wins = win_probability(scores.astype(np.float64), agents, specs, cluster_unit="spec", ci_level=ci_level)
    means = table.pivot("agent_id", index="spec_id", values="score", aggregate_function="mean", sort_columns=True)
    names = tuple(sorted(wins))
    by_spec = means.sort("spec_id").select(pl.col(names).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    sets = rank_sets(by_spec, ci_level=ci_level, rng=rng)
    tied = int((ranked["score"] == ranked["score"].max()).sum()) if ranked.height else 0
    quantity = "mean score" if spec is not None else "mean score over specs"
    ranking = Ranking(f"the {many(len(names), 'agent')}", quantity, names, sets, unit="spec", share=False)
    return Competition(spec, ranked, tied, wins, ranking)


def comparable(scored: pl.DataFrame) -> pl.DataFrame:
    """The runs that have a spec and a score."""
    return scored.filter(pl.col("spec_id").is_not_null() & pl.col("score").is_not_null())


def in_order(scored: pl.DataFrame) -> pl.DataFrame:
    """Runs best first: by score, then by the tie-breaks; runs without a score come last. Needs ``wall_seconds``.

    A wall time or an end that cannot be true is not known, and wins no tie.
    """
    unusable = {"wall_seconds": of_measurement("wall_seconds"), "ended_at": of_end_time()}
    scored = scored.with_columns(pl.when(why.is_null()).then(name).alias(name) for name, why in unusable.items())
    keys = ("score", "completion", "error_rate", "wall_seconds", "ended_at", "run_id")
    ordered = scored.sort(*keys, descending=[True, True, True, False, False, False], nulls_last=True)
    scores = ("score", "tier", "score_low", "score_high", "completion", "error_rate", "latency", "resource_efficiency")
    handed = [name for name in ("artefact",) if name in ordered.columns]
    return ordered.select("run_id", "agent_id", *scores, "wall_seconds", "ended_at", *handed).with_row_index("rank", 1)
