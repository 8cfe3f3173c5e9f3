"""Where do agents fail? (notebook 05, `axisjudge profile`)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import one_of
from axisjudge.figures import theme
from axisjudge.results import columns
from axisjudge.stats.agreement.effective import Coincidence, coincidence_test
from axisjudge.stats.comparisons.paired import ProfileTest, holm, paired_sign_flip, profile_test
from axisjudge.stats.comparisons.ranking import Reversal, fewest_changes, pooled_by_cluster, rank_sets
from axisjudge.stats.correction import ALL_AGENTS as ALL_AGENTS
from axisjudge.stats.estimate import QUANTITIES, Estimate
from axisjudge.studies._shared.frames import Table, mean_of, rows_by, rows_of, table_of
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import many, p_words
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.panel import MEASURES, Panel
from axisjudge.studies.failures.profile import DomainProfiles as DomainProfiles
from axisjudge.studies.failures.profile import FailureProfile as FailureProfile
from axisjudge.studies.failures.profile import PublishedProfile as PublishedProfile
from axisjudge.studies.failures.profile import by_domain as by_domain
from axisjudge.studies.failures.profile import failure_profile as failure_profile
from axisjudge.studies.failures.profile import published_profile as published_profile
from axisjudge.studies.failures.profile import success_of

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
        consensus = columns("axis consensus=consensus.rate.estimate if_independent~~=consensus.independent")
        counts = {"coinciding_pairs": "observed", "expected_pairs": "expected"}
        rows = [
            row | rows_of([self.tests[row["axis"]]], counts)[0] | {"p_holm": self.p_holm[row["axis"]]}
            for row in rows_of(self.profile.totals, consensus)
        ]
        return table_of(rows, self.kind)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Observed consensus per axis over all agents, beside what independent judge errors would give."""
        profile = self.profile
        tasks = many(len(set(profile.panel.clusters)), "task")
        note = f"share of runs, all agents; {profile.ci_level:.0%} intervals over {tasks}"
        ax = theme.new_axes(7.0, 1.3 + 0.5 * len(profile.axes)) if ax is None else ax
        pairs = [(cell.consensus.rate, cell.consensus.independent) for cell in profile.totals]
        for row, (observed, independent) in enumerate(pairs):
            theme.interval_mark(ax, observed, row - 0.14)
            theme.interval_mark(ax, independent, row + 0.14, colour=theme.QUIET, filled=False)
        theme.legend_below(ax, {"observed": theme.FILLED, "if the judges' verdicts shared nothing": theme.HOLLOW})
        theme.named_rows(ax, [theme.in_words(axis) for axis in profile.axes])
        ends = (end for pair in pairs for of in pair for end in (of.estimate, of.ci_high))
        theme.percent_axis(ax, np.nanmax([0.2, *ends]))
        return theme.dress(ax, "Consensus failures and what independent errors would give", note)

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
    p_holm = dict(zip(tests, adjusted.tolist(), strict=True))
    return SharedFailures(profile, tests, p_holm, kind=profile.kind, made_up=profile.made_up)


def _dealt_by_task(panel: Panel) -> NDArray[np.float64]:
    """Tasks x runs x axes x judges; a run's place is its agent and which of the agent's runs on the task it is."""
    runs = pl.DataFrame({"agent": panel.agents, "task": panel.clusters})
    numbered = runs.select("agent", number=pl.int_range(pl.len()).over("agent", "task")).rows()
    rows, columns = ({name: at for at, name in enumerate(dict.fromkeys(side))} for side in (panel.clusters, numbered))
    dealt = np.full((len(rows), len(columns), *panel.incorrect.shape[1:]), np.nan)
    dealt[[rows[task] for task in panel.clusters], [columns[run] for run in numbered]] = panel.incorrect
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
    kind = profile.kind
    return Ranking(subject, QUANTITIES[profile.rule].words, profile.axes, sets, kind=kind, made_up=profile.made_up)


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
    return Ranking(subject, quantity, profile.agents, sets, kind=profile.kind, made_up=profile.made_up)


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
    codes, agents = profile.panel.tasks, np.array(profile.panel.agents)
    columns = []
    for agent in profile.agents:
        given = (agents == agent) & ~np.isnan(values)
        counts = np.bincount(codes, weights=given)
        sums = np.bincount(codes, weights=np.where(given, values, 0.0))
        columns.append(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
    return np.stack(columns, axis=1)


class FirstToFix(Part, name="axes_per_agent", caption="Which axis to fix first, per agent"):
    """For each agent the axis that fails most often, its rate with the interval of that axis alone, and what is first.

    The highest of several observed rates lies above the true one more often than not: what may be called first is
    what `rankings` tell apart.
    """

    _flat = ("rankings",)

    rankings: Mapping[str, Ranking]
    highest: Mapping[str, Estimate]

    @property
    def table(self) -> Table:
        """One row an agent."""
        rows = rows_by("agent", self.rankings, {"highest": "leader", "first_to_fix": "briefly"})
        ends = rows_by("agent", self.highest, {"low": "ci_low", "high": "ci_high"})
        return table_of([one | other for one, other in zip(rows, ends, strict=True)], self.kind)

    answer = property(say.first_to_fix)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The highest observed rate of each agent, and of which axis."""
        ax = theme.new_axes(7.0, 1.0 + 0.4 * len(self.rankings)) if ax is None else ax
        for row, (agent, ranking) in enumerate(self.rankings.items()):
            theme.interval_mark(ax, self.highest[agent], row)
            theme.at_the_right(ax, row, ranking.briefly)
        theme.named_rows(ax, list(self.rankings))
        theme.percent_axis(ax)
        ends = theme.level(next(iter(self.highest.values()), None))
        note = f"{ends} of that axis alone; at the right: which may be called first"
        return theme.dress(ax, "The highest failure rate of an axis, per agent", note)


def first_to_fix(profile: FailureProfile, *, rng: Draws = 0) -> FirstToFix:
    """The axes of each agent, ranked by themselves, with no correction over the agents."""
    rng = np.random.default_rng(rng)
    rankings = {agent: rank_axes(profile, agent=agent, rng=rng) for agent in profile.agents}
    tops = {agent: of.names[int(of.sets.order[0])] for agent, of in rankings.items()}
    highest = {agent: profile.cell(agent, axis).failures(profile.rule).rate for agent, axis in tops.items()}
    return FirstToFix(rankings, highest, kind=profile.kind, made_up=profile.made_up)


class AgentSuccess(
    Part,
    name="agents_by_success",
    caption="End-task success, and axes failed in a run on average",
    formats=dict.fromkeys(("success", "low", "high"), ".0%"),
):
    """End-task success of each agent, beside the mean number of axes that failed in a run."""

    _flat = ("ranking",)

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
        return table_of(rows, self.kind)

    @property
    def answer(self) -> str:
        """Which agents the rank sets tell apart by success."""
        return self.ranking.answer

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """End-task success rate of every agent with its interval."""
        profile = self.profile
        ax = theme.new_axes(7.0, 1.0 + 0.4 * len(profile.agents)) if ax is None else ax
        for row, rate in enumerate(success_of(profile, agent) for agent in profile.agents):
            theme.interval_mark(ax, rate, row)
            n = rate.n_items
            theme.at_the_right(ax, row, f"{rate.estimate * n:.0f} of {n}" if n else "no reward")
        theme.named_rows(ax, profile.agents)
        theme.percent_axis(ax)
        tasks = many(len(set(profile.panel.clusters)), "task")
        return theme.dress(ax, "End-task success", f"share of runs; {profile.ci_level:.0%} intervals over {tasks}")


def agent_success(profile: FailureProfile, *, rng: Draws = 0) -> AgentSuccess:
    """End-task success rates over clusters, and the agents ranked by them."""
    return AgentSuccess(profile, rank_success(profile, rng=rng), kind=profile.kind, made_up=profile.made_up)


class Reversals(Part, caption="Verdicts that would change what may hold rank 1"):
    """The fewest verdicts that would change which axes, and which agents, may fail most; None where all may."""

    axes: Reversal | None
    agents: Reversal | None

    @property
    def table(self) -> Table:
        """One row for axes and one for agents, where any are told apart."""
        told = {of: each for of, each in (("axes", self.axes), ("agents", self.agents)) if each is not None}
        rows = rows_by("of", told, {"verdicts": "changes", "exact": "exact"})
        return table_of(rows, self.kind, columns=("of", "verdicts", "exact"))

    answer = property(say.rank_reversals)


def rank_reversals(profile: FailureProfile, axes: Ranking, agents: Ranking, *, seed: int = 0) -> Reversals:
    """How many verdicts the ranks of axes and agents hang on, both by the profile's rule any judge.

    Notes
    -----
    Two orders are tried: failures of the highest are taken away, those by the fewest judges first, and failures are
    given to the next; a failure by several judges counts as several verdicts.
    """
    both = _rank_reversal(profile, axes, "axes", seed), _rank_reversal(profile, agents, "agents", seed)
    return Reversals(*both, kind=profile.kind, made_up=profile.made_up)


def _rank_reversal(profile: FailureProfile, ranking: Ranking, of: str, seed: int) -> Reversal | None:
    if ranking.sets.refusal or len(ranking.first) == len(ranking.names):
        return None
    panel, (top, rival) = profile.panel, ranking.sets.order[:2]
    column = np.arange(len(panel.axes)) if of == "axes" else np.array(panel.agents)[:, None]
    names = np.arange(len(panel.axes)) if of == "axes" else np.array(ranking.names)
    mine, others = (np.broadcast_to(column == names[each], panel.applicable.shape) for each in (top, rival))
    failing = np.nansum(panel.incorrect, axis=2)
    taken = [
        (*cell, judge)
        for cell in _cells(mine & (failing > 0), failing)
        for judge in np.flatnonzero(panel.incorrect[cell] == 1)
    ]
    passed = others & (panel.any_judge() == 0)
    given = [(*cell, np.flatnonzero(panel.incorrect[cell] == 0)[0]) for cell in _cells(passed, failing)]
    changes = [*taken, *given]

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
    Part,
    name="likeness",
    caption="Pairs of agents",
    formats={"profile_p": ".4f", "profile_p_holm": ".4f"},
    behind={"word": "incorrect"},
):
    """The test of all agents together, and of each pair. One row a pair."""

    _rows = "pairs", _COLUMNS
    _keys = ("overall", "like_margin", "pairs")

    overall: ProfileTest
    pairs: tuple[PairedProfiles, ...]
    like_margin: float
    ci_level: float

    @property
    def tested(self) -> tuple[PairedProfiles, ...]:
        """The pairs that the question is about: of like reward, or all when no rewards are known."""
        like = tuple(pair for pair in self.pairs if pair.like)
        known = any(pair.like is not None for pair in self.pairs)
        return like if known else self.pairs

    @property
    def answer(self) -> str:
        """Which agents of like reward fail differently."""
        if not self.tested:
            return say.NOBODY_ALIKE.format(100 * self.like_margin) if self.pairs else say.ONE_AGENT
        with_rewards = any(pair.like is not None for pair in self.pairs)
        differ = [pair for pair in self.tested if pair.p_holm <= 1 - self.ci_level]
        described = [say.apart(pair.agents, pair.p_holm, pair.widest_axis, pair.widest_gap) for pair in differ]
        refused = [pair.test.refusal for pair in self.tested if pair.test.refusal]
        pairs = say.profiles(self.like_margin if with_rewards else None, len(self.tested), described, refused)
        if self.overall.refusal or len(refused) == len(self.tested):
            return pairs
        shown = "" if self.overall.p_value <= 1 - self.ci_level else "not "
        shown = f"{shown}shown ({p_words(self.overall.p_value)})"
        return f"{pairs} Over all agents together, that profiles differ at all is {shown}."


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
    pairs = [_paired(profile, table, success, pair, like_margin, rng) for pair in numbers]
    known = any(pair.like is not None for pair in pairs)
    asked = [index for index, pair in enumerate(pairs) if pair.like or not known]
    p_holm = dict(zip(asked, holm([pairs[index].test.p_value for index in asked]), strict=True))
    return ProfileComparison(
        overall=profile_test(table, rng=rng) if numbers and len(profile.axes) > 1 else _nothing(numbers),
        pairs=tuple(replace(pair, p_holm=p_holm.get(index, math.nan)) for index, pair in enumerate(pairs)),
        like_margin=like_margin,
        ci_level=profile.ci_level,
        kind=profile.kind,
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
