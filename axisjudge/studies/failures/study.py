"""`axisjudge.studies.failures`: everything about where agents fail, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from axisjudge.ratings.edge import as_ratings
from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.studies._shared.frames import Table, table_of
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.domains import DomainProfiles, by_domain
from axisjudge.studies.failures.figures import plot_independence, plot_profile_heatmap, plot_rank_sets, plot_success
from axisjudge.studies.failures.independence import SharedFailures, shared_failures
from axisjudge.studies.failures.likeness import ProfileComparison, compare_profiles
from axisjudge.studies.failures.order import rank_agents, rank_axes, rank_reversal, rank_success
from axisjudge.studies.failures.profiles import FailureProfile, failure_profile


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Failures(RatedResult):
    """Failure profiles with what may be concluded from them.

    `axes` ranks the axes over all agents by any judge, `axes_consensus` by consensus, `axes_per_agent` for each agent;
    `agents` ranks the agents by their failures, `success` by end-task success. `likeness` compares agents of like
    reward by any judge, `likeness_consensus` by consensus.
    """

    profile: FailureProfile
    shared: SharedFailures
    axes: Ranking
    axes_consensus: Ranking
    axes_per_agent: Mapping[str, Ranking]
    agents: Ranking
    success: Ranking
    likeness: ProfileComparison
    likeness_consensus: ProfileComparison
    domains: DomainProfiles
    axes_reversal: Reversal | None = None
    agents_reversal: Reversal | None = None

    @property
    def table(self) -> Table:
        """Failures per agent and axis, last over all agents."""
        return self.profile.to_frame()

    @property
    def answer(self) -> str:
        """Which axis and which agent fail most, if any can be told apart."""
        return say.answer(self.profile, self.axes, self.agents)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was judged, the extremes, and every comparison in words."""
        rankings = (self.axes_consensus, self.agents, self.success)
        return (
            say.sample(self.profile),
            say.extremes(self.profile, "any"),
            say.extremes(self.profile, "consensus"),
            say.false_failures(self.profile),
            self.shared.sentence,
            *(ranking.sentence for ranking in rankings),
            f"By any judge: {self.likeness.sentence}",
            f"By consensus: {self.likeness_consensus.sentence}",
            self.domains.sentence,
            *filter(None, [self.reversals_sentence]),
        )

    @property
    def first_to_fix(self) -> Table:
        """For each agent the axis that fails most often, and whether it can be told apart: a table."""
        rows = [
            {"agent": agent, "highest": ranking.leader, "first_to_fix": ranking.answer}
            for agent, ranking in self.axes_per_agent.items()
        ]
        return table_of(rows, self.profile.panel.kind)

    @property
    def reversals_sentence(self) -> str:
        """On how many verdicts the answer hangs; empty where there is nothing to overturn."""
        return say.rank_reversals(self.axes_reversal, self.agents_reversal)

    def plots(self) -> Mapping[str, Plot]:
        """Heatmaps by both measures, independence, and what may hold which rank."""
        return {
            "failures_any_judge": partial(plot_profile_heatmap, self.profile.grid("any")),
            "failures_consensus": partial(plot_profile_heatmap, self.profile.grid("consensus")),
            "independence": partial(plot_independence, self.profile, measure="consensus"),
            "rank_of_axes": partial(plot_rank_sets, self.axes),
            "success": partial(plot_success, self.profile),
            "rank_of_agents": partial(plot_rank_sets, self.agents),
        }


def failures(
    ratings: Any,
    rewards: Any = None,
    *,
    judges: Sequence[str] | None = None,
    repeat: int = 0,
    success_at: float = 1.0,
    like_margin: float = 0.1,
    ci_level: float = 0.95,
    seed: int = 0,
) -> Failures:
    """Where do agents fail, and which axis should be fixed first?

    Parameters
    ----------
    ratings : table
        A ratings table of one or several judges (polars, pandas, arrow, or a dict of columns).
    rewards : table or sequence of Trajectory, optional
        Columns trajectory_id and reward, or the runs themselves; a run succeeds at `success_at` or more.
    judges : sequence of str, optional
        Which raters make the panel; by default all but the planted truth and people.
    repeat : int
        Which repeat of the judges; the others are counted as left out.
    like_margin : float
        Success rates that differ by no more than this are called like.
    ci_level : float
        Level of intervals, of rank sets and (its complement) of tests.
    seed : int
        Of the permutations.

    Returns
    -------
    Failures
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`; intervals take tasks as clusters.

    Raises
    ------
    InputError
        No verdicts of judges on whole trajectories, or two ratings of one judge on one run and axis.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> found = axisjudge.studies.failures(axisjudge.judge(runs, ["rules"], progress=False), runs)
    >>> len(found.table)
    25
    """
    rng = np.random.default_rng(seed)
    profile = failure_profile(ratings, rewards, judges=judges, repeat=repeat, success_at=success_at, ci_level=ci_level)
    table = as_ratings(ratings)
    result = Failures(
        made_up=made_up_raters(table.filter(pl.col("rater").is_in(profile.panel.judges))),
        profile=profile,
        shared=shared_failures(profile, rng=rng),
        axes=rank_axes(profile, measure="any", rng=rng),
        axes_consensus=rank_axes(profile, measure="consensus", rng=rng),
        axes_per_agent={agent: rank_axes(profile, agent=agent, rng=rng) for agent in profile.agents},
        agents=rank_agents(profile, rng=rng),
        success=rank_success(profile, rng=rng),
        likeness=compare_profiles(profile, like_margin=like_margin, rng=rng),
        likeness_consensus=compare_profiles(profile, measure="consensus", like_margin=like_margin, rng=rng),
        domains=by_domain(profile),
    )
    return replace(
        result,
        axes_reversal=rank_reversal(profile, result.axes, "axes", seed=seed),
        agents_reversal=rank_reversal(profile, result.agents, "agents", seed=seed),
    )
