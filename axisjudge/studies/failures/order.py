"""Which axis to fix first, and which agent fails least: rank sets, where 'cannot be told apart' is an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import one_of
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.comparisons.reversal import Reversal, fewest_changes
from axisjudge.stats.rates.corrected_agents import ALL_AGENTS
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.words import many
from axisjudge.studies.failures.panel import Panel
from axisjudge.studies.failures.profiles import FailureProfile


def rank_axes(
    profile: FailureProfile, *, agent: str = ALL_AGENTS, measure: str = "any", rng: np.random.Generator
) -> Ranking:
    """Rank the axes by how often they fail, for one agent or over all: which one to fix first."""
    failed = profile.panel.failed(measure)
    if agent != ALL_AGENTS:
        one_of("agent", agent, profile.agents)
    kept = np.array([agent in (ALL_AGENTS, name) for name in profile.panel.agents])
    clusters = np.array(profile.panel.clusters)[kept]
    table = np.stack([_by_task(column, clusters) for column in failed[kept].T], axis=1)
    sets = rank_sets(table, ci_level=profile.ci_level, rng=rng)
    subject = f"the {len(profile.axes)} axes of {agent}"
    return Ranking(subject, _QUANTITY[measure], profile.axes, sets, profile.panel.kind)


def rank_agents(profile: FailureProfile, *, measure: str = "any", rng: np.random.Generator) -> Ranking:
    """Rank the agents by the share of axes on which their runs fail, all axes weighing the same."""
    failed = profile.panel.failed(measure)
    counted = ~np.isnan(failed)
    share = np.where(counted.any(axis=1), np.nansum(failed, axis=1) / np.maximum(counted.sum(axis=1), 1), np.nan)
    return _agents(profile, share, f"{_QUANTITY[measure]} over axes", rng)


def rank_success(profile: FailureProfile, *, rng: np.random.Generator) -> Ranking:
    """Rank the agents by end-task success."""
    return _agents(profile, profile.succeeded, "success rate", rng)


def agents_by_task(profile: FailureProfile, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tasks x agents: the mean of a value of runs, NaN where an agent has none on a task."""
    agents, clusters = np.array(profile.panel.agents), np.array(profile.panel.clusters)
    columns = [_by_task(np.where(agents == agent, values, np.nan), clusters) for agent in profile.agents]
    return np.stack(columns, axis=1)


_QUANTITY = {"any": "any-judge failure rate", "consensus": "consensus failure rate"}


def _agents(profile: FailureProfile, values: NDArray[np.float64], quantity: str, rng: np.random.Generator) -> Ranking:
    sets = rank_sets(agents_by_task(profile, values), ci_level=profile.ci_level, rng=rng)
    subject = f"the {many(len(profile.agents), 'agent')}"
    return Ranking(subject, quantity, profile.agents, sets, profile.panel.kind)


def _by_task(values: NDArray[np.float64], clusters: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of the values of every task; NaN where there is none."""
    codes = np.unique(clusters, return_inverse=True)[1]
    given = ~np.isnan(values)
    counts = np.bincount(codes, weights=given)
    sums = np.bincount(codes, weights=np.where(given, values, 0.0))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def rank_reversal(profile: FailureProfile, ranking: Ranking, of: str, *, seed: int) -> Reversal | None:
    """The fewest verdicts that would change what may hold rank 1 by any-judge failures; None where all may.

    `of` is ``axes`` or ``agents``. Two orders are tried: failures of the highest are taken away, those by the fewest
    judges first, and failures are given to the next; a failure by several judges counts as several verdicts.
    """
    if ranking.sets.refusal or len(ranking.first) == len(ranking.names):
        return None
    panel, (top, rival) = profile.panel, ranking.sets.order[:2]
    column = np.arange(len(panel.axes)) if of == "axes" else np.array(panel.agents)[:, None]
    names = np.arange(len(panel.axes)) if of == "axes" else np.array(ranking.names)
    mine, others = (np.broadcast_to(column == names[each], panel.applicable.shape) for each in (top, rival))
    failing = np.nansum(panel.incorrect, axis=2)
    taken = [(cell, judge) for cell in _cells(mine & (failing > 0), failing) for judge in _judges(panel, cell, 1.0)]
    given = [(cell, _judges(panel, cell, 0.0)[0]) for cell in _cells(others & (panel.any_judge() == 0), failing)]
    changes = [(*cell, judge) for cell, judge in [*taken, *given]]

    def holds(changed: NDArray[np.intp]) -> bool:
        incorrect = panel.incorrect.copy()
        for number in changed:
            incorrect[changes[number]] = 1 - incorrect[changes[number]]
        other = replace(profile, panel=replace(panel, incorrect=incorrect))
        rank = rank_axes if of == "axes" else rank_agents
        return rank(other, rng=np.random.default_rng(seed)).first == ranking.first

    orders = [np.arange(len(taken)), np.arange(len(taken), len(changes))]
    return fewest_changes(holds, orders, exact=False) if holds(np.array([], dtype=np.intp)) else None


def _cells(wanted: NDArray[np.bool_], failing: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Positions of runs and axes, those that the fewest judges fail first."""
    run, axis = np.nonzero(wanted)
    order = np.argsort(failing[run, axis], kind="stable")
    return list(zip(run[order].tolist(), axis[order].tolist(), strict=True))


def _judges(panel: Panel, cell: tuple[int, int], verdict: float) -> list[int]:
    return np.flatnonzero(panel.incorrect[cell] == verdict).tolist()
