"""Figures of failure profiles: who fails where, how sure the order is, and what independent errors would give."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.legible import LONGEST
from axisjudge.figures.marks import at_the_right, interval_mark, named_rows, percent_axis, percent_ends
from axisjudge.figures.theme import ACCENT, LABEL, QUIET, SMALL, describe, dress, grid, in_words, legend_below, new_axes
from axisjudge.stats.estimate import many
from axisjudge.stats.rates.corrected_agents import ALL_AGENTS
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies.failures.profiles import FailureProfile, RateGrid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Agents that stand beside each other; more stand below each other.
_BESIDE = 8


def plot_profile_heatmap(grid: RateGrid, *, ax: Axes | None = None) -> Axes:
    """Failure rates, axes down and agents across; each cell says count, n and interval, so colour is never needed.

    Where there are many agents they stand down and the axes across.
    """
    down = len(grid.agents) > _BESIDE
    axes = [fill(in_words(axis), 16) if down else in_words(axis) for axis in grid.axes]
    agents = [agent if down else fill(agent, 16) or agent for agent in grid.agents]
    rows, columns = (agents, axes) if down else (axes, agents)
    names = max(1.9, 0.5 + LABEL / 120 * min(LONGEST, max(map(len, rows))))  # inches
    ax = new_axes(names + 1.35 * len(columns), 1.0 + 0.62 * len(rows)) if ax is None else ax
    rates = np.array([[rate.estimate for rate in row] for row in grid.rates])
    plot_heatmap(rates.T if down else rates, ax=ax, rows=rows, columns=columns, gamma=0.6)
    for axis, line in enumerate(zip(grid.counts, grid.rates, strict=True)):
        for agent, (count, rate) in enumerate(zip(*line, strict=True)):
            row, column = (agent, axis) if down else (axis, agent)
            if not rate.n_items:
                cell_text(ax, row, column, "not judged", quiet=True, fontsize=SMALL)
                continue
            cell_text(ax, row, column, f"{count}/{rate.n_items}", down=-0.15, fontsize=LABEL + 1.5)
            cell_text(ax, row, column, percent_ends(rate), down=0.22, fontsize=SMALL)
    if ALL_AGENTS in grid.agents[1:]:
        apart = ax.axhline if down else ax.axvline
        apart(grid.agents.index(ALL_AGENTS), color="white", linewidth=9)
    dress(ax, grid.title)
    describe(ax, f"in each cell failed runs of those decided; {grid.note}")
    ax.set_xlabel(grid.note, fontsize=SMALL, color=QUIET, loc="left")
    return ax


def plot_rank_sets(ranking: Ranking, *, ax: Axes | None = None) -> Axes:
    """For each name the ranks it may hold, its place by the point estimate, and the estimate itself in words.

    Empty where nothing can be ranked: an order by point estimates would say what the ranking refuses to say.
    """
    sets = ranking.sets
    count = len(ranking.names)
    ax = new_axes(7.0, 1.1 + 0.4 * count) if ax is None else ax
    for index, j in enumerate(() if sets.refusal else sets.order):
        ax.plot([sets.rank_low[j], sets.rank_high[j]], [index, index], color=ACCENT, linewidth=7, alpha=0.25)
        ax.plot(index + 1, index, "o", color=ACCENT, markersize=8)
        at_the_right(ax, index, "–" if np.isnan(sets.means[j]) else f"{sets.means[j]:.0%}")
    named_rows(ax, [in_words(ranking.names[j]) for j in sets.order])
    ax.set_xticks(range(1, count + 1, 1 + count // 16))
    ax.set_xlim(0.6, count + 0.4)
    grid(ax)
    ax.set_xlabel(
        f"rank by {ranking.quantity} (1 = highest); at the right the rate itself", fontsize=SMALL, color=QUIET
    )
    note = sets.refusal or f"bars: {sets.ci_level:.0%} rank sets, all together; {many(sets.n_clusters, 'task')}"
    subject = ranking.subject[0].upper() + ranking.subject[1:]
    dress(ax, f"{subject}: possible ranks", note)
    of = many(sets.n_clusters, "task")
    meaning = f"of {of}; dots: ranks by the observed rate, bars: all ranks that cannot be excluded"
    describe(
        ax, note if sets.refusal else f"{sets.ci_level:.0%} intervals of ranks, all together, by sign flips {meaning}"
    )
    return ax


def plot_independence(profile: FailureProfile, *, measure: str = "consensus", ax: Axes | None = None) -> Axes:
    """Observed failure rates per axis over all agents, beside what independent judge errors would give."""
    ax = new_axes(7.0, 1.3 + 0.5 * len(profile.axes)) if ax is None else ax
    shown = [profile.cell(ALL_AGENTS, axis).failures(measure) for axis in profile.axes]
    for index, failures in enumerate(shown):
        interval_mark(ax, failures.rate, index - 0.14)
        interval_mark(ax, failures.independent, index + 0.14, colour=QUIET, filled=False)
    ax.plot([], [], "o", color=ACCENT, label="observed")
    ax.plot([], [], "o", color=QUIET, markerfacecolor="white", label="if the judges' verdicts shared nothing")
    legend_below(ax, inches=0.35, ncols=2)
    named_rows(ax, [in_words(axis) for axis in profile.axes])
    drawn = [end for cell in shown for rate in (cell.rate, cell.independent) for end in (rate.estimate, rate.ci_high)]
    percent_axis(ax, np.nanmax([0.2, *drawn]))
    word = {"any": "Any-judge", "consensus": "Consensus"}[measure]
    tasks = many(len(set(profile.panel.clusters)), "task")
    note = f"share of runs, all agents; {profile.ci_level:.0%} intervals over {tasks}"
    return dress(ax, f"{word} failures and what independent errors would give", note)


def plot_success(profile: FailureProfile, *, ax: Axes | None = None) -> Axes:
    """End-task success rate of every agent with its interval."""
    ax = new_axes(7.0, 1.0 + 0.4 * len(profile.agents)) if ax is None else ax
    rates = [profile.success(agent) for agent in profile.agents]
    for index, rate in enumerate(rates):
        interval_mark(ax, rate, index)
        count = f"{rate.estimate * rate.n_items:.0f} of {rate.n_items}" if rate.n_items else "no reward"
        at_the_right(ax, index, count)
    named_rows(ax, profile.agents)
    percent_axis(ax)
    tasks = len(set(profile.panel.clusters))
    return dress(ax, "End-task success", f"share of runs; {profile.ci_level:.0%} intervals over {many(tasks, 'task')}")
