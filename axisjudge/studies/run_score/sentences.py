"""What run scores allow to be said; which of it is true is decided where the numbers are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.words import directed, listed, many, sentence_case


class Ranks(StrEnum):
    """How the score ranks runs beside labels: what the interval of its AUC allows to be said."""

    ALIKE = "alike"
    AGAINST = "against"
    UNTOLD = "untold"


NO_CURVE = "No S-curve is fitted to the raw score (score / 100): {reason}."
NO_LABELS = "Without labels it cannot be told what the score measures."
UNLABELLED = "The labels given say nothing of these scores;"
HOW_IT_WENT = "A score says how a run went, not whether its result is right."
NO_REWARD = "No trajectory has a score and an end-task reward, so that the two cannot be compared."


def counts(n_runs: int, n_agents: int, n_scored: int) -> str:
    """How many runs of how many agents, and how many have a score."""
    scored = "all" if n_scored == n_runs > 0 else f"{n_scored or 'none'}"
    return f"{many(n_runs, 'run')} of {many(n_agents, 'agent')}, {scored} scored."


def means(of_agents: Mapping[str, Estimate]) -> str:
    """The range of the agents' mean scores, without saying who is highest: the rank sets answer that."""
    known = sorted(mean.estimate for mean in of_agents.values() if not math.isnan(mean.estimate))
    if not known:
        return "No agent has a scored run, so that there is no mean score."
    if len(known) == 1:
        return f"The mean score is {known[0]:.1f}; one agent has nothing to be ranked against."
    return f"Over runs, the mean scores of {many(len(known), 'agent')} go from {known[0]:.1f} to {known[-1]:.1f}."


def moved_by(shares: Mapping[str, float]) -> str:
    """Which component the scores' differences come from most; empty where there is none."""
    if not shares:
        return ""
    most = max(shares, key=lambda name: shares[name])
    return f"{sentence_case(most.replace('_', ' '))} moves it most, with {shares[most]:.0%} of the scores' variance."


def next_step(calibrated: Any) -> str:
    """What to label, or what the score may be used for."""
    if calibrated is None:
        return "Have people say of some runs whether their result is right (-p labels=FILE)."
    if calibrated.ranks is Ranks.AGAINST:
        return "Do not rank by this score: read the runs with high scores that people call bad."
    if calibrated.ranks is Ranks.UNTOLD:
        return "Have people label more runs, as these labels are too few to tell."
    wrong = f"of 100 pairs {100 - round(100 * calibrated.auc.estimate)} are the wrong way round"
    return f"Use the score to choose which runs to read, not which to accept: {wrong}."


def gain(points: Estimate) -> str:
    """Whether the S-curve forecasts better than the score as it stands."""
    moved = directed(points, "smaller", "larger", unit="", spec=".3f")
    return f"On unseen specs the squared error of the S-curve is {moved} than that of score / 100, {points.clusters}."


def neutral(of: Any) -> str:
    """How many scores hold a neutral 50 (or `several` in one score), and how far these could move (the median)."""
    if not of.n_wide:
        return ""
    what, that, it = ("components are", "these", "them") if of.several else ("a component is", "that component", "it")
    return (
        f"In {many(of.n_wide, 'run')} {what} the neutral 50 for want of data; with {that} at 0 the score "
        f"is {of.span:g} points lower than with {it} at 100{'' if of.n_wide == 1 else ' (median)'}."
    )


def lowest(cell: Mapping[str, Any] | None) -> str:
    """Where the lowest mean of a component stands: what an agent's score would gain from, weight considered."""
    if cell is None:
        return "No component could be computed in any run."
    name = cell["component"].replace("_", " ")
    return (
        f"The lowest observed mean of a component is {cell['mean']:.0f}, {name} of {cell['agent']} "
        f"({many(cell['runs'], 'run')}); components of agents are not tested against each other."
    )


def parting(gaps: tuple[float, float] | None, n_changed: int, n_runs: int) -> str:
    """How far the trends by the two baselines part, in the first period and in the last."""
    if gaps is None:
        return "No scored run has an end time, so there is no trend."
    first, last = gaps
    return (
        f"The frozen baseline gives {_more(first)} than the rolling one in the first period and {_more(last)} in the "
        f"last; by it {n_changed or 'none'} of {many(n_runs, 'run')} {'stands' if n_changed == 1 else 'stand'} "
        "in another tier."
    )


def _more(points: float) -> str:
    return f"{abs(points):.1f} points {'more' if points >= 0 else 'less'}"


def tiers_kept(n_kept: int, n_pairs: int, tiers: Sequence[str]) -> str:
    """How often an agent's next run of a spec stood in the same tier."""
    if not n_pairs:
        return "No agent has two scored runs of one spec."
    return (
        f"An agent ran a spec again {many(n_pairs, 'time')} and stood in the same tier {many(n_kept, 'time')} "
        f"({n_kept / n_pairs:.0%}): {listed(tiers)} are labels of runs, not of agents."
    )


def offer(spec: str, top: Mapping[str, Any] | None, n_runs: int, n_tied: int) -> str:
    """Which run of a spec is offered for review."""
    if top is None:
        return f"No run of {spec} has a score."
    offered = f"{top['run_id']} ({top['agent_id']})"
    score = f"with a score of {top['score']}"
    if top["score_low"] != top["score_high"]:
        score += f" ({top['score_low']} to {top['score_high']}, as components are missing)"
    artefact = f" (artefact: {top['artefact']})" if top.get("artefact") else ""
    ties = f"; {n_tied} runs share that score and the tie-breaks decide" if n_tied > 1 else ""
    return (
        f"Of {many(n_runs, 'run')} of {spec}, {offered} is offered for review{artefact} {score}{ties}. "
        "The highest score of several runs does not show that its agent is the best."
    )


def luck(wins: Mapping[str, Estimate]) -> str:
    """How often each agent's next run would score highest."""
    if reasons := sorted({each.reason for each in wins.values() if math.isnan(each.estimate)}):
        return f"No probability of winning: {reasons[0]}."
    likeliest = sorted(wins.items(), key=lambda each: -each[1].estimate)
    known = not all(math.isnan(each.ci_low) for each in wins.values())
    sure = {name: f" ({each.interval('.0%')})" if known else "" for name, each in likeliest}
    agents = [f"{name} in {each.estimate:.0%}{sure[name]}" for name, each in likeliest]
    specs = many(next(iter(wins.values())).n_clusters, "spec")
    return (
        f"Were each agent to run once more, the highest score would come from {listed(agents, most=6)} of "
        f"cases ({specs}{'' if known else ', so without intervals'})."
    )


def against_labels(labels: str, dropped: str, auc: Estimate, share_good: float) -> str:
    """How well the score goes with labels."""
    left_out = f", with {dropped} left out because it comes from the same source" if dropped else ""
    sample = f"{many(auc.n_items, 'run')} of {auc.clusters}"
    return f"Against {labels}{left_out}, the AUC of the score is {auc.worded()} ({sample}; {share_good:.0%} are good)."


def forecast(median: Estimate, loss: Mapping[str, float]) -> str:
    """Where the S-curve reaches one half, and the errors of three forecasts."""
    half = f"one half at a score of {100 * median.estimate:.0f}"
    if math.isfinite(median.ci_low) and math.isfinite(median.ci_high):
        half += f" ({100 * median.ci_low:.0f} to {100 * median.ci_high:.0f})"
    errors = {name: f"{value:.3f}" for name, value in loss.items()}
    return (
        f"The S-curve reaches {half}. On specs left out of the fit the mean squared error is {errors['base_rate']} for "
        f"the base rate, {errors['linear']} for score / 100 as it stands and {errors['s_curve']} for the S-curve."
    )


def wrong_way(components: Sequence[str]) -> str:
    """Components that alone would rank runs against the labels."""
    auc = "intervals of their AUCs lie" if components[1:] else "interval of its AUC lies"
    return f"Alone, {listed(components)} would rank runs against the labels: the {auc} below one half."


def ranking(ranks: Ranks, labels: str, auc: Estimate) -> str:
    """Whether the score ranks runs as labels do."""
    sample = f"{many(auc.n_items, 'run')} of {auc.clusters}"
    ends = f"{100 * auc.ci_low:.0f} to {100 * auc.ci_high:.0f}; " if math.isfinite(auc.ci_low) else ""
    higher = (
        f"of 100 pairs of a good run and one that is not good, by {labels}, the good one scores higher in "
        f"{100 * auc.estimate:.0f} ({ends}AUC of {sample}; 50 would be chance)"
    )
    match ranks:
        case Ranks.ALIKE:
            return f"Mostly: {higher}."
        case Ranks.AGAINST:
            return f"No, the score ranks runs against the labels: {higher}."
        case Ranks.UNTOLD:
            figures = f"AUC {auc.worded()}, {sample}; one half is chance"
            return f"Whether the score ranks runs in line with {labels} cannot be told: {figures}."


def worked(exact: float, score: int, tier: str, as_printed: bool | None) -> str:
    """The weighted sum of an example, its score and tier, and whether the text prints the same."""
    beside = "" if as_printed is None else f", {'as' if as_printed else 'other than'} the text prints"
    return f"The weighted sum is {exact:g}, so the score is {score} and the tier {tier}{beside}."
