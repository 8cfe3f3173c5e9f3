"""Do judges miss more failures of agents of their own family? With refusals where that cannot be told.

Without labels a judge family that likes an agent family may only be lenient towards good agents: leniency times agent
quality looks like a preference of either sign where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.stats.clusters import effective_degrees
from axisjudge.stats.estimate import Ends, Estimate
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS, cluster_codes, jackknife_interval

Floats = NDArray[np.float64]

FEWEST_FAMILIES = 3
FEWEST_AGENTS = 2


@dataclass(frozen=True)
class LeniencyCell:
    """How often judges of one family say correct of agents of another, and how many verdicts that rests on."""

    judge_family: str
    agent_family: str
    says_correct: float
    n_verdicts: int
    n_agents: int


@dataclass(frozen=True)
class SelfPreference:
    """Self-preference of each judge family, or the bare shares alone, in which leniency and quality are mixed.

    `preference` holds for each family: its judges' miss rate P(says correct | people say incorrect) on agents of its
    own family minus that on others, minus the same difference of all other judges. It is empty where `refusal` says
    why. The table is of failed items where there are labels, of all items otherwise.
    """

    preference: dict[str, Estimate]
    table: tuple[LeniencyCell, ...]
    refusal: str


def self_preference(
    says_correct: ArrayLike,
    judge_families: Sequence[str],
    agents: Sequence[str],
    agent_families: Sequence[str],
    *,
    failed: ArrayLike | None,
    tasks: ArrayLike,
    ci_level: float = 0.95,
) -> SelfPreference:
    """Self-preference of judge families against labels.

    Rates are formed for each agent and averaged over a family's agents: the agent, not the item, is the unit.
    Intervals are the delete-one-task jackknife-t.

    Parameters
    ----------
    says_correct : array, shape (n_items, n_judges)
        1 where a judge says correct, 0 where incorrect, NaN otherwise.
    judge_families : sequence of str, shape (n_judges,)
    agents, agent_families : sequence of str, shape (n_items,)
    failed : array, shape (n_items,)
        1 where people say incorrect, 0 where correct, NaN where unlabelled; None without labels.
    tasks : array, shape (n_items,)
        The task of each item.
    """
    verdict = np.asarray(says_correct, dtype=np.float64)
    if verdict.ndim != 2 or verdict.shape[1] != len(judge_families):
        raise InputError("says_correct", f"must be items x {len(judge_families)} judges", verdict.shape)
    for name, values in (("agents", agents), ("agent_families", agent_families)):
        if len(values) != len(verdict):
            raise InputError(name, f"needs one for each of the {len(verdict)} items", len(values))
    groups = cluster_codes(tasks, len(verdict))
    missed = verdict
    if failed is not None:
        truth = np.asarray(failed, dtype=np.float64)
        if truth.shape != (len(verdict),):
            raise InputError("failed", f"needs one for each of the {len(verdict)} items", truth.shape)
        missed = np.where((truth == 1)[:, None], verdict, np.nan)
    table = _table(missed, judge_families, agents, agent_families)
    refusal = _refusal(judge_families, agents, agent_families, failed)
    if refusal:
        return SelfPreference({}, table, refusal)
    shared = [family for family in dict.fromkeys(judge_families) if family in set(agent_families)]
    found = {
        family: _preference(missed, family, judge_families, agents, agent_families, groups, ci_level)
        for family in shared
    }
    return SelfPreference(found, table, "")


def _refusal(
    judge_families: Sequence[str], agents: Sequence[str], agent_families: Sequence[str], failed: ArrayLike | None
) -> str:
    if failed is None:
        return "without labels a judge's leniency and an agent's quality cannot be told apart"
    if len(set(judge_families)) < FEWEST_FAMILIES:
        return f"fewer than {FEWEST_FAMILIES} judge families"
    shared = set(judge_families) & set(agent_families)
    if not shared:
        return "no judge family has agents of its own"
    for family in sorted(shared):
        own = {agent for agent, other in zip(agents, agent_families, strict=True) if other == family}
        rest = {agent for agent, other in zip(agents, agent_families, strict=True) if other != family}
        if min(len(own), len(rest)) < FEWEST_AGENTS:
            return f"fewer than {FEWEST_AGENTS} agents of {family} or of the others"
    return ""


def _preference(
    missed: Floats,
    family: str,
    judge_families: Sequence[str],
    agents: Sequence[str],
    agent_families: Sequence[str],
    groups: NDArray[np.intp],
    ci_level: float,
) -> Estimate:
    own_judges = np.array([other == family for other in judge_families])
    names = list(dict.fromkeys(agents))
    agent = np.array([names.index(name) for name in agents])
    families = dict(zip(agents, agent_families, strict=True))
    own_agents = np.array([families[name] == family for name in names])
    n_tasks = int(groups.max()) + 1
    misses, counts = np.zeros((2, n_tasks, len(names), missed.shape[1]))
    np.add.at(misses, (groups, agent), np.nan_to_num(missed))
    np.add.at(counts, (groups, agent), ~np.isnan(missed))
    used = counts.sum(axis=(1, 2)) > 0
    estimate = float(_contrast(misses.sum(axis=0), counts.sum(axis=0), own_agents, own_judges))
    left_out = _contrast(misses.sum(axis=0) - misses[used], counts.sum(axis=0) - counts[used], own_agents, own_judges)
    n = int(used.sum())
    if math.isnan(estimate):
        ends = Ends(reason=f"an agent has no failed item judged by {family} or by the others")
    elif n < FEWEST_CLUSTERS or np.isnan(left_out).any():
        ends = Ends(reason=f"too few failed items: {n} tasks, and some agents fail in one task only")
    else:
        degrees = effective_degrees(counts.sum(axis=(1, 2)))
        interval = jackknife_interval(estimate, left_out, degrees=degrees, ci_level=ci_level)
        ends = Ends(*interval, "jackknife-t over tasks")
    return Estimate(
        estimate=estimate,
        **ends._asdict(),
        ci_level=ci_level,
        n_items=int((~np.isnan(missed)).any(axis=1).sum()),
        n_raters=missed.shape[1],
        n_clusters=n,
        cluster_unit="task",
        notes=(f"{int(own_agents.sum())} agents of {family}, {int((~own_agents).sum())} others",),
    )


def _contrast(misses: Floats, counts: Floats, own_agents: NDArray[np.bool_], own_judges: NDArray[np.bool_]) -> Floats:
    """(own - other agents) of own judges minus the same of other judges; rates by agent, then means over agents."""

    def difference(judges: NDArray[np.bool_]) -> Floats:
        n = counts[..., judges].sum(axis=-1)
        rate = np.where(n > 0, misses[..., judges].sum(axis=-1) / np.maximum(n, 1), np.nan)
        return np.asarray(rate[..., own_agents].mean(axis=-1) - rate[..., ~own_agents].mean(axis=-1))

    return difference(own_judges) - difference(~own_judges)


def _table(
    missed: Floats, judge_families: Sequence[str], agents: Sequence[str], agent_families: Sequence[str]
) -> tuple[LeniencyCell, ...]:
    judges, rows = np.array(judge_families), np.array(agent_families)
    cells = []
    for judge_family in dict.fromkeys(judge_families):
        for agent_family in dict.fromkeys(agent_families):
            block = missed[np.ix_(rows == agent_family, judges == judge_family)]
            n = int((~np.isnan(block)).sum())
            share = float(np.nansum(block)) / n if n else math.nan
            n_agents = np.unique(np.array(agents)[rows == agent_family]).size
            cells.append(LeniencyCell(judge_family, agent_family, share, n, n_agents))
    return tuple(cells)
