"""Scores per agent and component, and what could not be computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from axisjudge.results import Result
from axisjudge.scores.run_score import COMPONENTS, TIERS, UNRANKED, ScorecardRules
from axisjudge.scores.run_score.reasons import too_few_before
from axisjudge.scores.run_score.score import DEFAULT
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_mean
from axisjudge.studies.run_score import sentences as say

ORDER = (*sorted(TIERS, key=lambda tier: -TIERS[tier]), UNRANKED)
_COMPONENTS = {"agent": pl.String, "component": pl.String, "mean": pl.Float64, "runs": pl.Int64}
_REASONS = {"component": pl.String, "reason": pl.String, "runs": pl.Int64}


@dataclass(frozen=True, eq=False)
class ScoreSummary(Result):
    """Counts and means of scores.

    Parameters
    ----------
    frame : polars.DataFrame
        The scores themselves, one row a run.
    means : mapping of agent to Estimate
        Intervals over specs.
    agents, reasons : polars.DataFrame
        One row an agent; one row a component and reason for a neutral 50.
    """

    _keys = ("agents", "means", "components", "reasons", "sentences")

    frame: pl.DataFrame
    means: Mapping[str, Estimate]
    agents: pl.DataFrame
    reasons: pl.DataFrame

    @property
    def scores(self) -> pl.DataFrame:
        """agent and score of every scored run."""
        return self.frame.filter(pl.col("score").is_not_null()).select(pl.col("agent_id").alias("agent"), "score")

    @property
    def components(self) -> pl.DataFrame:
        """Mean of each component per agent, over the runs in which it could be computed, with their number."""
        rows = []
        for agent in self.means:
            own = self.frame.filter(pl.col("agent_id") == agent)
            for name in COMPONENTS:
                known = own.filter(pl.col(name).is_not_null() & pl.col(f"{name}_reason").is_null())
                rows.append({"agent": agent, "component": name, "mean": known[name].mean(), "runs": known.height})
        return pl.DataFrame(rows, schema=_COMPONENTS)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is scored, and how much of it is neutral for want of data."""
        scored = self.frame.filter(pl.col("score").is_not_null())
        wide = scored.filter(pl.col("score_high") > pl.col("score_low"))
        span = float(np.median((wide["score_high"] - wide["score_low"]).to_numpy())) if wide.height else 0.0
        return (
            say.counts(self.frame.height, len(self.means), scored.height),
            *filter(None, [say.neutral(wide.height, span)]),
        )

    @property
    def mean_range(self) -> str:
        """How far the agents' mean scores lie apart, in words."""
        return say.means(self.means)

    @property
    def lowest_component(self) -> str:
        """Where the lowest mean of a component stands, in words."""
        known = self.components.drop_nulls("mean").sort("mean", "agent")
        return say.lowest(known.row(0, named=True) if known.height else None)


def describe(scored: pl.DataFrame, *, rules: ScorecardRules = DEFAULT, ci_level: float = 0.95) -> ScoreSummary:
    """Summarise what `score_runs` gave by these rules: per agent the mean over specs, median, tiers, range."""
    table = scored.with_columns(pl.col("agent_id").fill_null("unknown"))
    unranked = UNRANKED in set(table["tier"])
    means, agents = {}, []
    for name in table["agent_id"].unique().sort():
        own = table.filter(pl.col("agent_id") == name)
        known = own.filter(pl.col("score").is_not_null())
        specs = known.select(pl.coalesce("spec_id", "run_id")).to_series().to_list()
        unit = "spec" if known["spec_id"].null_count() < known.height else "run"
        scores = np.asarray(known["score"].to_numpy(), dtype=float)
        mean = means[name] = clustered_mean(scores, specs, cluster_unit=unit, ci_level=ci_level)
        tiers = {tier: int((own["tier"] == tier).sum()) for tier in ORDER if tier != UNRANKED or unranked}
        row = {"agent": name, "runs": own.height, "mean": mean.estimate, "low": mean.ci_low, "high": mean.ci_high}
        agents.append({**row, "median": known["score"].median(), **tiers})
    return ScoreSummary(table, means, pl.DataFrame(agents), _reasons(table, rules))


def _reasons(scored: pl.DataFrame, rules: ScorecardRules) -> pl.DataFrame:
    """How often each component was neutral, and why; however few runs stood before one, it is the same reason."""
    few = too_few_before(rules.min_samples, pl.col("baseline_runs"))
    rows: list[dict[str, Any]] = []
    for name in COMPONENTS:
        why = pl.col(f"{name}_reason")
        reason = pl.when(why == few).then(pl.lit(too_few_before(rules.min_samples))).otherwise(why).alias("reason")
        counted = scored.select(reason).drop_nulls().to_series().value_counts(name="runs")
        ordered = counted.sort("runs", "reason", descending=[True, False])
        rows += [{"component": name, **row} for row in ordered.to_dicts()]
    return pl.DataFrame(rows, schema=_REASONS)
