"""Where do agents fail? (notebook 05, `axisjudge profile`)"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from axisjudge.stats.correction import ALL_AGENTS
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.comparisons import (
    AgentSuccess,
    FirstToFix,
    ProfileComparison,
    Reversals,
    SharedFailures,
    agent_success,
    compare_profiles,
    first_to_fix,
    rank_agents,
    rank_axes,
    rank_reversals,
    shared_failures,
)
from axisjudge.studies.failures.profile import (
    DomainProfiles,
    FailureProfile,
    PublishedProfile,
    by_domain,
    failure_profile,
    published_profile,
)

__all__ = [
    "ALL_AGENTS",
    "AgentSuccess",
    "DomainProfiles",
    "FailureProfile",
    "Failures",
    "FirstToFix",
    "ProfileComparison",
    "PublishedProfile",
    "Reversals",
    "SharedFailures",
    "agent_success",
    "by_domain",
    "compare_profiles",
    "failure_profile",
    "failures",
    "first_to_fix",
    "published_profile",
    "rank_agents",
    "rank_axes",
    "rank_reversals",
    "shared_failures",
]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Failures(Study):
    """The profile, and what it lets one compare; `axes` and `agents` rank by any judge."""

    profile: FailureProfile
    shared: SharedFailures
    axes: Ranking
    axes_consensus: Ranking
    axes_per_agent: FirstToFix
    agents: Ranking
    success: AgentSuccess
    likeness: ProfileComparison
    likeness_consensus: ProfileComparison
    domains: DomainProfiles
    reversals: Reversals

    @property
    def answer(self) -> str:
        """Which axis and which agent fail most, if any can be told apart."""
        return say.answer(self.profile.panel, self.profile.totals, self.axes, self.agents)


def failures(
    ratings: Any,
    rewards: Any = None,
    *,
    judges: Sequence[str] | None = None,
    cluster: str = "cluster_id",
    repeat: int = 0,
    success_at: float = 1.0,
    like_margin: float = 0.1,
    ci_level: float = 0.95,
    seed: int = 0,
) -> Failures:
    """Where do agents fail, and which axis should be fixed first? The parts of the study, one after another.

    Parameters
    ----------
    ratings, rewards, judges, cluster, repeat, success_at, ci_level
        As `failure_profile` takes them.
    like_margin : float
        Success rates that differ by no more than this are called like.
    seed : int
        Of the permutations.

    Raises
    ------
    InputError
        No verdicts of judges on whole trajectories, or two ratings of one judge on one run and axis.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> found = axisjudge.studies.failures(axisjudge.judge(runs, ["rules"], progress=False), runs)
    >>> len(found.profile.table)
    25
    """
    rng = np.random.default_rng(seed)
    profile = failure_profile(
        ratings, rewards, judges=judges, cluster=cluster, repeat=repeat, success_at=success_at, ci_level=ci_level
    )
    consensus = profile.by("consensus")
    shared = shared_failures(profile, rng=rng)
    axes, axes_consensus = rank_axes(profile, rng=rng), rank_axes(consensus, rng=rng)
    per_agent, agents = first_to_fix(profile, rng=rng), rank_agents(profile, rng=rng)
    return Failures(
        profile=profile,
        shared=shared,
        axes=axes,
        axes_consensus=axes_consensus,
        axes_per_agent=per_agent,
        agents=agents,
        success=agent_success(profile, rng=rng),
        likeness=compare_profiles(profile, like_margin=like_margin, rng=rng),
        likeness_consensus=compare_profiles(consensus, like_margin=like_margin, rng=rng),
        domains=by_domain(profile),
        reversals=rank_reversals(profile, axes, agents, seed=seed),
    )


open_door(failures)
