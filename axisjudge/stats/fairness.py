"""Where a judge is unfair: failures missed more often in one stratum than elsewhere, or of agents of its own family.

For strata of items (agents, domains, lengths) and a share p of right verdicts among the items that count (those that
people fail for a sensitivity), each stratum s is set against all others r:

    D_s = p_s - p_r        MOVER of two clustered shares, tasks as units

A stratum's p value is the level at which that interval reaches 0, so that interval and test agree. Tasks that have
items on both sides make the two shares move together: the correlation of their totals over tasks, less its own error
on Fisher's z, enters MOVER from 10 effective tasks on either side.

References
----------
Holland and Wainer (1993), Differential Item Functioning. Zou and Donner (2008), doi:10.1002/sim.3095 (MOVER).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_each
from axisjudge.results import Result, columns
from axisjudge.stats import proportions
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficient_intervals import leave_one_cluster_out, rare
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, RatingPatterns, rating_patterns
from axisjudge.stats.clustered import cluster_correlation
from axisjudge.stats.clusters import effective_clusters, effective_degrees
from axisjudge.stats.comparisons.paired import holm
from axisjudge.stats.comparisons.ranking import RankSets, rank_sets
from axisjudge.stats.correction import pairwise_level
from axisjudge.stats.estimate import ClusteredShare, Ends, Estimate, difference_ends

Floats = NDArray[np.float64]

#: Level of Holm's correction over all judges and strata of one question.
LEVEL = 0.05
#: p values are not told more exactly than this.
_LEAST_P = 1e-6
_HALVINGS = 24


@dataclass(frozen=True)
class StratumShare(Result):
    """The share in one stratum, its difference from all other strata, and the p value of that (NaN without one)."""

    stratum: str
    share: ClusteredShare
    difference: Estimate
    p_value: float


class Fair(StrEnum):
    """Whether a judge treats a stratum as the others."""

    DIFFERS = "differs"
    NOT_SHOWN = "no difference shown"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class StratumFairness(Result):
    """One judge in one stratum by one measure: its share, the difference from elsewhere, and Holm's p value.

    `within` is the bound that this difference keeps together with all others of its question and way of sorting, at 95%
    (Bonferroni); NaN where it has no interval.
    """

    _keys = columns(
        "judge measure stratum=of.stratum share=of.share.in_short less_elsewhere=of.difference.in_short",
        "n_items=of.share.n_items p_adjusted within answer",
    )

    judge: str
    measure: str
    of: StratumShare
    p_adjusted: float
    within: float

    @property
    def answer(self) -> Fair:
        """Whether a difference is shown."""
        if math.isnan(self.p_adjusted):
            return Fair.NOT_TRIED
        return Fair.DIFFERS if self.p_adjusted <= LEVEL else Fair.NOT_SHOWN


def stratum_shares(
    right: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    tested: bool = True,
) -> tuple[StratumShare, ...]:
    """The share of ones in each stratum, set against all other strata together.

    Parameters
    ----------
    right : array of 1, 0 or NaN, shape (n_items,)
        NaN values do not count: for a sensitivity, all items that people did not fail.
    strata : array of str or None, shape (n_items,)
        Items of no stratum (None) do not count.
    clusters : array, shape (n_items,), optional
        The task of each item; without it items are independent.
    cluster_unit, ci_level
        What a cluster is, and the level of each interval by itself.
    tested : bool
        Without it p values, which ask for many intervals, are left out (NaN).

    Returns
    -------
    tuple of StratumShare
        One for each stratum in the order of names.

    Raises
    ------
    InputError
        Arrays of two lengths, or fewer than two strata.
    """
    in_open_unit_interval("ci_level", ci_level)
    outcome, names = np.asarray(right, dtype=np.float64), np.asarray(strata, dtype=object)
    one_each("strata", names, outcome.size)
    of_some = np.array([name is not None for name in names], dtype=bool)
    every = sorted(set(names[of_some].tolist()))
    if len(every) < 2:
        raise InputError("strata", "must be two or more", every)
    groups = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1][of_some]
    given = outcome[of_some]
    counts = ~np.isnan(given)
    n_clusters = int(counts.sum()) if groups is None else np.unique(groups[counts]).size
    shares = []
    for name in every:
        mine = names[of_some] == name
        here, rest = (
            proportions.clustered_proportion(
                np.where(side, given, np.nan), groups, cluster_unit=cluster_unit, ci_level=ci_level
            )
            for side in (mine, ~mine)
        )

        correlation = _together(here, rest, np.where(mine, given, np.nan), np.where(mine, np.nan, given), groups)

        def difference(
            level: float, here: ClusteredShare = here, rest: ClusteredShare = rest, correlation: float = correlation
        ) -> Estimate:
            moved = share_difference(proportions.share_at(here, level), proportions.share_at(rest, level), correlation)
            return replace(moved, n_clusters=n_clusters)

        p_value = _p_value(difference(ci_level), difference) if tested else math.nan
        shares.append(StratumShare(name, here, difference(ci_level), p_value))
    return tuple(shares)


def fair_shares(
    right: Mapping[tuple[str, str], Floats],
    strata: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> tuple[StratumFairness, ...]:
    """Each judge's shares by measure (of `right`, as `stratum_shares` takes them) in each stratum, tested together."""

    def compared(level: float, *, tested: bool = True) -> list[tuple[str, str, StratumShare]]:
        shares = {
            name: stratum_shares(of, strata, clusters, cluster_unit=cluster_unit, ci_level=level, tested=tested)
            for name, of in right.items()
        }
        return [(*name, each) for name, every in shares.items() for each in every]

    tried = compared(ci_level)
    p_adjusted = holm([each.p_value for *_, each in tried])
    family = max(1, int(np.isfinite(p_adjusted).sum()))
    at_once = [each.difference for *_, each in compared(1 - (1 - ci_level) / family, tested=False)]
    return tuple(
        StratumFairness(judge, measure, each, float(p), max(abs(wide.ci_low), abs(wide.ci_high)))
        for (judge, measure, each), p, wide in zip(tried, p_adjusted, at_once, strict=True)
    )


def _together(
    here: ClusteredShare, rest: ClusteredShare, mine: Floats, others: Floats, groups: NDArray[np.intp] | None
) -> float:
    """The correlation of two shares over tasks, less its standard error on Fisher's z; 0 where few tasks show it."""
    n_eff = min(here.effective_clusters, rest.effective_clusters)
    if groups is None or not n_eff >= proportions.FEWEST_CLUSTERS:
        return 0.0
    seen = min(0.99, cluster_correlation(mine, others, groups))
    return max(0.0, math.tanh(math.atanh(seen) - 1 / math.sqrt(n_eff - 3)))


def share_difference(first: ClusteredShare, second: ClusteredShare, correlation: float = 0.0) -> Estimate:
    """First share minus second, of different items, by MOVER with the correlation of the two.

    Examples
    --------
    >>> from axisjudge.stats.proportions import clustered_proportion
    >>> share_difference(clustered_proportion([1] * 18 + [0] * 2), clustered_proportion([1] * 10 + [0] * 10))
    Estimate(0.400 [0.085 to 0.644], 40 items in 40 items)
    """
    gap = first.estimate - second.estimate
    result = partial(
        Estimate,
        estimate=gap,
        n_items=first.n_items + second.n_items,
        n_clusters=first.n_clusters + second.n_clusters,
        cluster_unit=first.cluster_unit,
        ci_level=first.ci_level,
    )
    if math.isnan(first.ci_low) or math.isnan(second.ci_low):
        return result(reason=first.reason or second.reason)
    low, high = difference_ends(first, second, correlation)
    return result(ci_low=max(-1.0, low), ci_high=min(1.0, high), method="MOVER of two shares")


def _p_value(difference: Estimate, at: Callable[[float], Estimate]) -> float:
    """1 - the level at which the interval just holds 0; NaN without an interval."""
    if math.isnan(difference.ci_low):
        return math.nan
    least, most = _LEAST_P, 1 - _LEAST_P
    if not _holds_zero(at(1 - least)):
        return least
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        least, most = (middle, most) if _holds_zero(at(1 - middle)) else (least, middle)
    return most


def _holds_zero(difference: Estimate) -> bool:
    return difference.ci_low <= 0 <= difference.ci_high


def post_stratified_sum(rates: list[Estimate], sizes: ArrayLike, correlation: ArrayLike | None = None) -> Estimate:
    """The rate of all items from rates of strata, sum_s W_s p_s with W_s the stratum's share of the items, by MOVER.

    Parameters
    ----------
    rates : list of Estimate
        One of each stratum, of different items.
    sizes : array, shape (n_strata,)
        Items in each stratum, or its share of the mix that the rate is carried to.
    correlation : array, shape (n_strata, n_strata), optional
        Of the strata's rates, where they share clusters; none by default.

    References
    ----------
    Zou and Donner (2008), doi:10.1002/sim.3095.
    """
    size = np.asarray(sizes, dtype=np.float64)
    weight = size / size.sum()
    point = np.array([rate.estimate for rate in rates])
    estimate = float(weight @ point)
    result = partial(
        Estimate,
        estimate=estimate,
        n_items=sum(rate.n_items for rate in rates),
        n_missing=sum(rate.n_missing for rate in rates),
        n_clusters=sum(rate.n_clusters for rate in rates),
        cluster_unit=rates[0].cluster_unit,
        ci_level=rates[0].ci_level,
    )
    if reasons := [rate.reason for rate in rates if math.isnan(rate.ci_low)]:
        return result(reason=reasons[0])
    low, high = (np.array([getattr(rate, end) for rate in rates]) for end in ("ci_low", "ci_high"))
    r = np.eye(len(rates)) if correlation is None else np.asarray(correlation, dtype=np.float64)
    below, above = (math.sqrt(part @ r @ part) for part in (weight * (point - low), weight * (high - point)))
    ends = max(0.0, estimate - below), min(1.0, estimate + above)
    return result(ci_low=ends[0], ci_high=ends[1], method="MOVER over strata of their own")


# Do judges miss more failures of agents of their own family? With refusals where that cannot be told.
# Without labels a judge family that likes an agent family may only be lenient towards good agents: leniency times agent
# quality looks like a preference of either sign where there is none.

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
        one_each(name, values, len(verdict))
    groups = proportions.cluster_codes(tasks, len(verdict))
    missed = verdict
    if failed is not None:
        truth = np.asarray(failed, dtype=np.float64)
        one_each("failed", truth, len(verdict))
        missed = np.where((truth == 1)[:, None], verdict, np.nan)
    table = _table(missed, judge_families, agents, agent_families)
    refusal = _refusal(judge_families, agents, agent_families, failed)
    if refusal:
        return SelfPreference({}, table, refusal)
    shared = [family for family in dict.fromkeys(judge_families) if family in set(agent_families)]
    preferences = {
        family: _preference(missed, family, judge_families, agents, agent_families, groups, ci_level)
        for family in shared
    }
    return SelfPreference(preferences, table, "")


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
    elif n < proportions.FEWEST_CLUSTERS or np.isnan(left_out).any():
        ends = Ends(reason=f"too few failed items: {n} tasks, and some agents fail in one task only")
    else:
        degrees = effective_degrees(counts.sum(axis=(1, 2)))
        interval = proportions.jackknife_interval(estimate, left_out, degrees=degrees, ci_level=ci_level)
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


# Rank sets of raters by their agreement with one reference, for raters that decide on many items and on few.

#: How large the cluster is that was not seen, beside the mean cluster; `reference_ranks` says what it is for.
UNSEEN = 0.6


def reference_ranks(
    ratings: ArrayLike,
    reference: ArrayLike,
    *,
    coefficient: str = "cohen_kappa",
    categories: Sequence[float],
    clusters: ArrayLike,
    ci_level: float = 0.95,
    rng: np.random.Generator,
) -> RankSets:
    r"""Simultaneous rank sets of raters by a coefficient of each with the reference (rank 1 agrees most).

    A cluster that carries most of a difference is often not in the sample: of 50 queries the longest, on which one
    judge fails, is absent from every third redrawing, and then the judge looks better than its equal. So each pair
    has one more cluster, .6 times as large as the mean one, on which the rater that leads is wrong on every item and
    the other right.

    Raters are paired by cluster on jackknife pseudo-values :math:`n_j A_j - (n_j - 1) A_{j,-g}`, with n_j the clusters
    g in which rater j decided on an item; elsewhere it has none. Pseudo-values of a rater whose coefficient rests on
    fewer than 10 effective clusters or 5 expected rarer words vary too little: three verdicts, all right, not at all.
    Such a rater is told apart only where the intervals of the two coefficients, at the level of all pairs, say so; the
    pairs of the others share what is left of 1 - `ci_level`.

    Parameters
    ----------
    ratings : array, shape (n_items, n_raters)
        Label values; NaN where a rater decided nothing.
    reference : array, shape (n_items,)
        Label values; NaN where there is none.
    coefficient : str
        A coefficient of two raters, by its name in `COEFFICIENTS`.
    categories : sequence of float
        All values that could be given.
    clusters : array, shape (n_items,)
        Which items belong together.

    Notes
    -----
    Equal judges by real votes of AgentProcessBench (2, 4, 10 or 20 of them, spoilt to one kappa over the 50 queries of
    a subset, 25 or 50 of which are redrawn, 300 studies a cell) are told apart in .03 at most. The size .6
    was chosen on the steps of hotpotqa and bfcl; those of tau2 and all results were held back. Without it the sign
    flip and the bootstrap-t together told them apart in .02 to .24. The price: of the real
    judges' pairs that differ .52 are told apart by steps of 50 queries of tau2 (.48 before), .20 by results of bfcl
    (.29 before).

    Of three judges of one accuracy (.8), one of which decides on 3, 5 or 8 of 200 items in 50 tasks, some were told
    apart in .53, .43 and .17 of studies by pseudo-values alone.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91(1), doi:10.1093/restud/rdad006. Zou and
    Donner (2008), doi:10.1002/sim.3095 (the interval of a difference from two intervals).
    """
    given, truth = np.asarray(ratings, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    pairs = [np.column_stack([column, truth]) for column in given.T]
    patterns = [rating_patterns(pair, categories=categories, clusters=clusters) for pair in pairs]
    sizes = [effective_clusters(each.cluster_sizes()) for each in patterns]
    few = np.array([n < proportions.FEWEST_CLUSTERS or rare(each) for n, each in zip(sizes, patterns, strict=True)])
    columns = [np.full(np.unique(np.asarray(clusters)).size, math.nan) for _ in pairs]
    wrong, right = np.full((2, len(pairs)), math.nan)
    for j in np.flatnonzero(~few).tolist():
        columns[j] = _pseudo_values(coefficient, patterns[j])
        wrong[j], right[j] = _unseen(coefficient, patterns[j])
    sets = rank_sets(np.column_stack(columns), unseen=wrong[:, None] - right, ci_level=ci_level, rng=rng)
    if len(pairs) < 2 or not few.any():
        return sets
    level = pairwise_level(len(pairs), ci_level)
    n_many = int((~few).sum())
    left = (1 - level) * n_many * (n_many - 1) / 2
    known = [
        agreement_coefficients(pair, [coefficient], categories=categories, clusters=clusters, ci_level=level, rng=rng)
        for pair in pairs
    ]
    above = np.nan_to_num(sets.p_values, nan=1.0) <= left
    for j, k in itertools.permutations(range(len(pairs)), 2):
        if few[j] or few[k]:
            above[j, k] = difference_ends(known[j][coefficient], known[k][coefficient])[0] > 0
    return replace(
        sets,
        means=np.array([each[coefficient].estimate for each in known]),
        rank_low=1 + above.sum(axis=0),
        rank_high=len(pairs) - above.sum(axis=1),
        n_clusters=max(each[coefficient].n_clusters for each in known),
        method=f"{sets.method}; raters with few items by intervals of all differences (MOVER), Bonferroni",
        refusal="",
        first_p=math.nan,
    )


def _pseudo_values(coefficient: str, patterns: RatingPatterns) -> Floats:
    """One value for each cluster in which the rater decided, NaN for the others."""
    whole, without = leave_one_cluster_out(COEFFICIENTS[coefficient], patterns)
    decided = np.bincount(patterns.cluster[patterns.compared], minlength=without.size) > 0
    n = int(decided.sum())
    return np.where(decided, n * whole - (n - 1) * without, math.nan)


def _unseen(coefficient: str, patterns: RatingPatterns) -> tuple[float, float]:
    """What one more cluster would move a rater's pseudo-values by, were it wrong on all its items, and right on all.

    Its items have the reference's words in their shares; a wrong rater says the commonest other word.
    """
    formula, codes = COEFFICIENTS[coefficient], patterns.codes
    sums = formula.sums(codes, patterns.categories)
    total, n = patterns.counts @ sums, np.unique(patterns.cluster[patterns.compared]).size
    both = np.where(patterns.paired, patterns.counts, 0.0)
    words = np.bincount(np.maximum(codes[:, 1], 0), both, minlength=patterns.categories.size)
    order = np.argsort(-words, kind="stable")
    other = np.where(np.arange(words.size) == order[0], order[1], order[0])
    moved = []
    for word in (other, np.arange(words.size)):
        added = UNSEEN * words / n @ formula.sums(np.column_stack([word, np.arange(words.size)]), patterns.categories)
        moved.append(
            n
            * float(formula.estimate(total + added, patterns.categories) - formula.estimate(total, patterns.categories))
        )
    return moved[0], moved[1]
