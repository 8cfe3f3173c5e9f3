"""What a profile lets one compare: failures that judges share, ranks of axes and agents, agents of like reward."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import one_of
from axisjudge.figures.theme import (
    ACCENT,
    QUIET,
    at_the_right,
    dress,
    in_words,
    interval_mark,
    legend_below,
    named_rows,
    new_axes,
    percent_axis,
)
from axisjudge.results import columns, plain
from axisjudge.stats.agreement.effective import Coincidence, coincidence_test
from axisjudge.stats.comparisons.paired import ProfileTest, holm, paired_sign_flip, profile_test
from axisjudge.stats.comparisons.ranking import Reversal, fewest_changes, pooled_by_cluster, rank_sets
from axisjudge.stats.correction import ALL_AGENTS
from axisjudge.stats.estimate import QUANTITIES
from axisjudge.studies._shared.frames import Kind, Table, frame_of, mean_of, rows_of, table_of, with_ends
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.panel import MEASURES, Panel
from axisjudge.studies.failures.profile import FailureProfile, success_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A seed, or a generator that several parts draw from in turn.
Draws = np.random.Generator | int


class SharedFailures(
    Part,
    caption="Consensus failures, all agents, and what chance would give",
    formats=dict.fromkeys(("consensus", "if_independent", "low", "high"), ".1%") | {"p_holm": ".4f"},
):
    """Per axis, all agents together: consensus, what independent verdicts would give, and a test of coincidence.

    `p_holm` is adjusted over the axes.
    """

    profile: FailureProfile
    tests: dict[str, Coincidence]
    p_holm: dict[str, float]

    @property
    def shared(self) -> tuple[str, ...]:
        """The axes on which the judges fail the same runs more often than chance."""
        return tuple(axis for axis, p in self.p_holm.items() if p <= 1 - self.profile.ci_level)

    @property
    def table(self) -> Table:
        """One row an axis: consensus observed and if independent, pairs of judges that coincide, p value."""
        consensus = columns(
            "axis consensus=consensus.rate.estimate", with_ends("if_independent", "consensus.independent")
        )
        counts = columns("coinciding_pairs=observed expected_pairs=expected")
        rows = [
            row | rows_of([self.tests[row["axis"]]], counts)[0] | {"p_holm": self.p_holm[row["axis"]]}
            for row in rows_of(self.profile.totals, consensus)
        ]
        return table_of(rows, self.profile.panel.kind)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Observed consensus per axis over all agents, beside what independent judge errors would give."""
        profile = self.profile
        tasks = many(len(set(profile.panel.clusters)), "task")
        note = f"share of runs, all agents; {profile.ci_level:.0%} intervals over {tasks}"
        ax = new_axes(7.0, 1.3 + 0.5 * len(profile.axes)) if ax is None else ax
        pairs = [(cell.consensus.rate, cell.consensus.independent) for cell in profile.totals]
        for row, (observed, independent) in enumerate(pairs):
            interval_mark(ax, observed, row - 0.14)
            interval_mark(ax, independent, row + 0.14, colour=QUIET, filled=False)
        ax.plot([], [], "o", color=ACCENT, label="observed")
        ax.plot([], [], "o", color=QUIET, markerfacecolor="white", label="if the judges' verdicts shared nothing")
        legend_below(ax, inches=0.35, ncols=2)
        named_rows(ax, [in_words(axis) for axis in profile.axes])
        percent_axis(ax, np.nanmax([0.2, *(end for pair in pairs for of in pair for end in (of.estimate, of.ci_high))]))
        return dress(ax, "Consensus failures and what independent errors would give", note)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {axis: {**asdict(test), "p_holm": self.p_holm[axis]} for axis, test in self.tests.items()}

    @property
    def answer(self) -> str:
        """On which axes failures are shared, and the axis where that shows most."""
        refused = {axis: test.refusal for axis, test in self.tests.items() if test.refusal}
        tested = [axis for axis in self.tests if axis not in refused]
        start = say.shared_failures(self.shared, tested, refused, 1 - self.profile.ci_level)
        if not self.shared:
            return start
        widest = max(self.shared, key=lambda axis: self.tests[axis].observed - self.tests[axis].expected)
        consensus = self.profile.cell(ALL_AGENTS, widest).consensus
        return f"{start} {say.largest_excess(widest, self.tests[widest], consensus)}"


def shared_failures(profile: FailureProfile, *, rng: Draws = 0) -> SharedFailures:
    """Test for every axis whether the judges' incorrect verdicts coincide beyond chance.

    Parameters
    ----------
    rng : Generator or int
        Of the permutations.
    """
    rng, dealt = np.random.default_rng(rng), _dealt_by_task(profile.panel)
    tests = {axis: coincidence_test(dealt[:, :, at], rng=rng) for at, axis in enumerate(profile.axes)}
    adjusted = holm([test.p_value for test in tests.values()])
    return SharedFailures(profile, tests, dict(zip(tests, adjusted.tolist(), strict=True)), made_up=profile.made_up)


def _dealt_by_task(panel: Panel) -> NDArray[np.float64]:
    """Tasks x runs x axes x judges; a run's place is its agent and which of the agent's runs on the task it is."""
    tasks = {name: row for row, name in enumerate(dict.fromkeys(panel.clusters))}
    seen: Counter[tuple[str, str]] = Counter()
    at = []
    for agent, task in zip(panel.agents, panel.clusters, strict=True):
        at.append((tasks[task], (agent, seen[agent, task])))
        seen[agent, task] += 1
    places = {place: column for column, place in enumerate(dict.fromkeys(place for _, place in at))}
    dealt = np.full((len(tasks), len(places), *panel.incorrect.shape[1:]), np.nan)
    for run, (row, place) in enumerate(at):
        dealt[row, places[place]] = panel.incorrect[run]
    return dealt


def rank_axes(profile: FailureProfile, *, agent: str = ALL_AGENTS, rng: Draws = 0) -> Ranking:
    """Rank the axes by how often they fail by the profile's rule, for one agent or over all: which one to fix first.

    Notes
    -----
    Rank sets from paired comparisons within clusters, with sign flips of whole clusters (Mogstad and others 2024,
    https://doi.org/10.1093/restud/rdad006).
    """
    if agent != ALL_AGENTS:
        one_of("agent", agent, profile.agents)
    kept = np.array([agent in (ALL_AGENTS, name) for name in profile.panel.agents])
    columns = [column[:, None] for column in profile.failed[kept].T]
    table = _pooled(columns, np.array(profile.panel.clusters)[kept])
    sets = rank_sets(table, ci_level=profile.ci_level, rng=np.random.default_rng(rng))
    subject = f"the {len(profile.axes)} axes of {agent}" if len(profile.axes) > 1 else f"the only axis of {agent}"
    kind = profile.panel.kind
    return Ranking(subject, QUANTITIES[profile.rule].words, profile.axes, sets, kind, made_up=profile.made_up)


def rank_agents(profile: FailureProfile, *, rng: Draws = 0) -> Ranking:
    """Rank the agents by how often they fail, each run and axis alike."""
    return _ranked_agents(profile, profile.failed, f"{QUANTITIES[profile.rule].words} over axes", rng)


def rank_success(profile: FailureProfile, *, rng: Draws = 0) -> Ranking:
    """Rank the agents by end-task success."""
    return _ranked_agents(profile, profile.succeeded[:, None], "success rate", rng)


def _ranked_agents(profile: FailureProfile, values: NDArray[np.float64], quantity: str, rng: Draws) -> Ranking:
    agents = np.array(profile.panel.agents)[:, None]
    of_agents = [np.where(agents == agent, values, np.nan) for agent in profile.agents]
    table = _pooled(of_agents, np.array(profile.panel.clusters))
    sets = rank_sets(table, ci_level=profile.ci_level, rng=np.random.default_rng(rng))
    subject = f"the {many(len(profile.agents), 'agent')}"
    return Ranking(subject, quantity, profile.agents, sets, profile.panel.kind, made_up=profile.made_up)


def _pooled(alternatives: Sequence[NDArray[np.float64]], clusters: NDArray[Any]) -> NDArray[np.float64]:
    """Clusters x alternatives for `rank_sets`: of each its values, runs x axes, NaN where there is none."""
    codes = np.unique(clusters, return_inverse=True)[1]
    both = [(np.nansum(values, axis=1), (~np.isnan(values)).sum(axis=1)) for values in alternatives]
    sums, counts = (
        np.column_stack([np.bincount(codes, weights=each) for each in side]) for side in zip(*both, strict=True)
    )
    return pooled_by_cluster(sums, counts)


def agents_by_task(profile: FailureProfile, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tasks x agents: the mean of a value of runs, NaN where an agent has none on a task."""
    agents, clusters = np.array(profile.panel.agents), np.array(profile.panel.clusters)
    return np.stack(
        [_mean_by_task(np.where(agents == agent, values, np.nan), clusters) for agent in profile.agents], axis=1
    )


def _mean_by_task(values: NDArray[np.float64], clusters: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of the values of every task; NaN where there is none."""
    codes = np.unique(clusters, return_inverse=True)[1]
    given = ~np.isnan(values)
    counts = np.bincount(codes, weights=given)
    sums = np.bincount(codes, weights=np.where(given, values, 0.0))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


class FirstToFix(Part, name="axes_per_agent", caption="Which axis to fix first, per agent"):
    """For each agent the axis that fails most often, and whether it can be told apart."""

    rankings: Mapping[str, Ranking]
    kind: Kind

    @property
    def table(self) -> Table:
        """One row an agent."""
        rows = [
            {"agent": agent, "highest": ranking.leader, "first_to_fix": ranking.briefly}
            for agent, ranking in self.rankings.items()
        ]
        return table_of(rows, self.kind)

    @property
    def answer(self) -> str:
        """For how many agents one axis comes first."""
        return say.first_to_fix({agent: ranking.first for agent, ranking in self.rankings.items()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """The highest observed rate of each agent, and of which axis."""
        ax = new_axes(7.0, 1.0 + 0.4 * len(self.rankings)) if ax is None else ax
        for row, ranking in enumerate(self.rankings.values()):
            top = ranking.sets.means[ranking.sets.order[0]]
            ax.plot(top, row, "o", color=ACCENT, markersize=7)
            at_the_right(ax, row, ranking.briefly)
        named_rows(ax, list(self.rankings))
        percent_axis(ax)
        return dress(
            ax, "The highest failure rate of an axis, per agent", "at the right: which axis may be called first"
        )

    def to_dict(self) -> dict[str, Any]:
        """The ranking of each agent."""
        return {agent: ranking.to_dict() for agent, ranking in self.rankings.items()}


def first_to_fix(profile: FailureProfile, *, rng: Draws = 0) -> FirstToFix:
    """The axes of each agent, ranked by themselves, with no correction over the agents."""
    rng = np.random.default_rng(rng)
    rankings = {agent: rank_axes(profile, agent=agent, rng=rng) for agent in profile.agents}
    return FirstToFix(rankings, profile.panel.kind, made_up=profile.made_up)


class AgentSuccess(
    Part,
    name="agents_by_success",
    caption="End-task success, and axes failed in a run on average",
    formats=dict.fromkeys(("success", "low", "high"), ".0%"),
):
    """End-task success of each agent, beside the mean number of axes that failed in a run."""

    profile: FailureProfile
    ranking: Ranking

    @property
    def table(self) -> Table:
        """One row an agent."""
        profile, success = self.profile, columns("with_reward=n_items success=estimate low=ci_low high=ci_high")
        failed = {
            (agent, rule): sum(profile.cell(agent, axis).failures(rule).rate.estimate for axis in profile.axes)
            for agent in profile.agents
            for rule in MEASURES
        }
        rows = [
            {"agent": agent, "runs": profile.panel.agents.count(agent)}
            | rows_of([success_of(profile, agent)], success)[0]
            | {f"axes_failed_{rule}": float(failed[agent, rule]) for rule in MEASURES}
            for agent in profile.agents
        ]
        return table_of(rows, profile.panel.kind)

    @property
    def answer(self) -> str:
        """Which agents the rank sets tell apart by success."""
        return self.ranking.answer

    def plot(self, ax: Axes | None = None) -> Axes:
        """End-task success rate of every agent with its interval."""
        profile = self.profile
        ax = new_axes(7.0, 1.0 + 0.4 * len(profile.agents)) if ax is None else ax
        for row, agent in enumerate(profile.agents):
            rate = success_of(profile, agent)
            interval_mark(ax, rate, row)
            at_the_right(
                ax, row, f"{rate.estimate * rate.n_items:.0f} of {rate.n_items}" if rate.n_items else "no reward"
            )
        named_rows(ax, profile.agents)
        percent_axis(ax)
        tasks = many(len(set(profile.panel.clusters)), "task")
        return dress(ax, "End-task success", f"share of runs; {profile.ci_level:.0%} intervals over {tasks}")

    def to_dict(self) -> dict[str, Any]:
        """The ranking; the rates themselves are the profile's."""
        return self.ranking.to_dict()


def agent_success(profile: FailureProfile, *, rng: Draws = 0) -> AgentSuccess:
    """End-task success rates over clusters, and the agents ranked by them."""
    return AgentSuccess(profile, rank_success(profile, rng=rng), made_up=profile.made_up)


class Reversals(Part, caption="Verdicts that would change what may hold rank 1"):
    """The fewest verdicts that would change which axes, and which agents, may fail most; None where all may."""

    axes: Reversal | None
    agents: Reversal | None
    kind: Kind = "polars"

    @property
    def table(self) -> Table:
        """One row for axes and one for agents, where any are told apart."""
        named = {"axes": self.axes, "agents": self.agents}
        rows = [
            {"of": of, "verdicts": each.changes, "exact": each.exact} for of, each in named.items() if each is not None
        ]
        return table_of(rows, self.kind, columns=("of", "verdicts", "exact"))

    @property
    def answer(self) -> str:
        """On how many verdicts the order hangs; empty where there is nothing to overturn."""
        return say.rank_reversals(self.axes, self.agents)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {"axes": plain(self.axes), "agents": plain(self.agents)}


def rank_reversals(profile: FailureProfile, axes: Ranking, agents: Ranking, *, seed: int = 0) -> Reversals:
    """How many verdicts the ranks of axes and agents hang on, both by the profile's rule any judge.

    Notes
    -----
    Two orders are tried: failures of the highest are taken away, those by the fewest judges first, and failures are
    given to the next; a failure by several judges counts as several verdicts.
    """
    return Reversals(
        _rank_reversal(profile, axes, "axes", seed),
        _rank_reversal(profile, agents, "agents", seed),
        profile.panel.kind,
        made_up=profile.made_up,
    )


def _rank_reversal(profile: FailureProfile, ranking: Ranking, of: str, seed: int) -> Reversal | None:
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
        return rank(other, rng=seed).first == ranking.first

    orders = [np.arange(len(taken)), np.arange(len(taken), len(changes))]
    return fewest_changes(holds, orders, exact=False) if holds(np.array([], dtype=np.intp)) else None


def _cells(wanted: NDArray[np.bool_], failing: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Positions of runs and axes, those that the fewest judges fail first."""
    run, axis = np.nonzero(wanted)
    order = np.argsort(failing[run, axis], kind="stable")
    return list(zip(run[order].tolist(), axis[order].tolist(), strict=True))


def _judges(panel: Panel, cell: tuple[int, int], verdict: float) -> list[int]:
    return np.flatnonzero(panel.incorrect[cell] == verdict).tolist()


_COLUMNS = columns(
    "agents=both success_gap success_p like_reward=like profile_p=test.p_value profile_p_holm=p_holm",
    "widest_axis widest_gap tasks=test.n_clusters failures=test.n_failures",
)


@dataclass(frozen=True)
class PairedProfiles:
    """Two agents: their difference in success with its p value, and the test of their profiles.

    `like` is True when the success rates differ by no more than the margin, None when a reward is missing. `p_holm` is
    adjusted over the like pairs (over all pairs when no pair has rewards). `widest_axis` is where the failure rates,
    overall rate removed, lie furthest apart, and `widest_gap` by how much (first agent minus second).
    """

    agents: tuple[str, str]
    success_gap: float
    success_p: float
    like: bool | None
    test: ProfileTest
    p_holm: float
    widest_axis: str
    widest_gap: float

    both = property(lambda self: " / ".join(self.agents))


class ProfileComparison(
    Part, name="likeness", caption="Pairs of agents", formats={"profile_p": ".4f", "profile_p_holm": ".4f"}
):
    """The test of all agents together, and of each pair."""

    _keys = ("overall", "like_margin", "pairs")

    overall: ProfileTest
    pairs: tuple[PairedProfiles, ...]
    like_margin: float
    ci_level: float
    kind: Kind

    @property
    def tested(self) -> tuple[PairedProfiles, ...]:
        """The pairs that the question is about: of like reward, or all when no rewards are known."""
        like = tuple(pair for pair in self.pairs if pair.like)
        known = any(pair.like is not None for pair in self.pairs)
        return like if known else self.pairs

    @property
    def table(self) -> Table:
        """One row a pair."""
        return frame_of(self.pairs, _COLUMNS, self.kind)

    @property
    def behind(self) -> Mapping[str, str]:
        """Failures of the pair."""
        return {"word": "incorrect"}

    @property
    def answer(self) -> str:
        """Which agents of like reward fail differently."""
        if not self.tested:
            return say.nobody_alike(self.like_margin) if self.pairs else say.ONE_AGENT
        with_rewards = any(pair.like is not None for pair in self.pairs)
        differ = [pair for pair in self.tested if pair.p_holm <= 1 - self.ci_level]
        described = [say.apart(pair.agents, pair.p_holm, pair.widest_axis, pair.widest_gap) for pair in differ]
        refused = [pair.test.refusal for pair in self.tested if pair.test.refusal]
        pairs = say.profiles(self.like_margin if with_rewards else None, len(self.tested), described, refused)
        if self.overall.refusal or len(refused) == len(self.tested):
            return pairs
        return f"{pairs} {say.one_profile(self.overall.p_value)}"


def compare_profiles(profile: FailureProfile, *, like_margin: float = 0.1, rng: Draws = 0) -> ProfileComparison:
    """Test whether agents, and each two of them, have different profiles once their overall rate is removed.

    Parameters
    ----------
    like_margin : float
        Success rates that differ by no more are called like. It is a convention, not a finding: with few tasks a small
        observed difference does not show that two agents are equally good.
    """
    rng = np.random.default_rng(rng)
    table = np.stack([agents_by_task(profile, column) for column in profile.failed.T], axis=2)
    success = agents_by_task(profile, profile.succeeded)
    numbers = list(combinations(range(len(profile.agents)), 2))
    several = len(profile.axes) > 1
    pairs = [_paired(profile, table, success, pair, like_margin, rng) for pair in numbers]
    return ProfileComparison(
        overall=profile_test(table, rng=rng) if numbers and several else _nothing(numbers),
        pairs=_adjusted(pairs),
        like_margin=like_margin,
        ci_level=profile.ci_level,
        kind=profile.panel.kind,
        made_up=profile.made_up,
    )


def _nothing(numbers: Sequence[object]) -> ProfileTest:
    """No test, and why: one axis has no profile, one agent no other."""
    why = "one axis makes no profile" if numbers else "one agent has no other to be compared with"
    return ProfileTest(math.nan, math.nan, math.nan, 0, 0, 0, "none", why)


def _paired(
    profile: FailureProfile,
    table: NDArray[np.float64],
    success: NDArray[np.float64],
    pair: tuple[int, int],
    like_margin: float,
    rng: np.random.Generator,
) -> PairedProfiles:
    first, second = pair
    gaps = success[:, first] - success[:, second]
    known = bool((~np.isnan(gaps)).any())
    gap = mean_of(gaps)
    apart = np.array([mean_of(table[:, first, axis] - table[:, second, axis]) for axis in range(table.shape[2])])
    apart -= mean_of(apart)
    shared = bool((~np.isnan(apart)).any())
    widest = int(np.nanargmax(np.abs(apart))) if shared else 0
    return PairedProfiles(
        agents=(profile.agents[first], profile.agents[second]),
        success_gap=gap,
        success_p=paired_sign_flip(gaps, rng=rng)[0] if known else math.nan,
        like=abs(gap) <= like_margin + 1e-9 if known else None,
        test=profile_test(table[:, pair, :], rng=rng) if len(profile.axes) > 1 else _nothing(pair),
        p_holm=math.nan,
        widest_axis=profile.axes[widest] if shared else "",
        widest_gap=float(apart[widest]),
    )


def _adjusted(pairs: list[PairedProfiles]) -> tuple[PairedProfiles, ...]:
    """The pairs with Holm's p values over those that the question is about."""
    known = any(pair.like is not None for pair in pairs)
    asked = [place for place, pair in enumerate(pairs) if pair.like or not known]
    adjusted = holm([pairs[place].test.p_value for place in asked])
    p_holm = dict(zip(asked, adjusted, strict=True))
    return tuple(replace(pair, p_holm=p_holm.get(place, math.nan)) for place, pair in enumerate(pairs))
