"""What a failure profile allows to be said, in sentences that are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from axisjudge.stats.agreement.effective import Coincidence, any_judge_rate
from axisjudge.stats.comparisons.ranking import Reversal
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.words import agreeing, counted, listed, many, overturned, p_words
from axisjudge.studies.failures.panel import Cell, FailureRate, Panel

#: The specificity at which false failures of a panel are stated, as an orientation.
SPECIFICITY = 0.95


def answer(panel: Panel, totals: Sequence[Cell], axes: Ranking, agents: Ranking) -> str:
    """Which axis and which agent fail most, as far as the rank sets tell any apart, and what it is not."""
    sample = f"{many(len(panel.runs), 'run')}, {many(len(panel.judges), 'judge')}"
    if not any(cell.any_judge.rate.n_items for cell in totals):
        return f"No failure rate can be given: no verdict was decided ({sample})."
    rule = f"A run fails on an axis if any judge calls it incorrect ({sample}), rightly or not."
    return f"{_first(totals, axes)} {_of_agents(agents)} {rule}"


def _of_agents(agents: Ranking) -> str:
    """The agent that fails most, with all rates, where one stands alone; else what the rank sets allow."""
    sets = agents.sets
    if sets.refusal or len(agents.first) != 1:
        return agents.answer
    rest = agents.ends([j for j in range(len(agents.names)) if j not in sets.first])
    most = f"{agents.first[0]} fails most: in {agents.ends(sets.first)} of cases (a run on an axis)"
    return f"Of {agents.subject}, {most}, the others in {rest} ({sets.ci_level:.0%} sure, task by task)."


def next_step(cells: Sequence[Cell], measure: str = "any") -> str:
    """Which runs to read first, and what labels would add."""
    failing = [cell for cell in cells if cell.failures(measure).count]
    if not failing:
        return "Have people label some runs that passed (axisjudge label): judges may miss what people see."
    most = max(failing, key=lambda cell: (cell.failures(measure).rate.estimate, cell.failures(measure).count))
    n = many(most.failures(measure).count, "run")
    rank = ", the highest rate observed" if len(cells) > 1 else ""
    return (
        f"Read the {n} that {most.agent} fails on {most.axis}{rank}, and have people label some (axisjudge label): "
        "only that says how often these judges are right."
    )


def _first(totals: Sequence[Cell], axes: Ranking) -> str:
    """The axis that fails most with its count and interval, where one stands alone; else what the rank sets allow."""
    if axes.sets.tied and not axes.sets.differ and not axes.sets.refusal:
        tasks = many(axes.sets.n_clusters, axes.unit)
        return (
            f"We cannot say which axis fails most: each does in {axes.ends(range(len(axes.names)))} of runs ({tasks})."
        )
    if axes.sets.refusal or len(axes.first) != 1:
        return axes.answer
    total = next(cell.any_judge for cell in totals if cell.axis == axes.first[0])
    sure = f"{axes.sets.ci_level:.0%}, {many(axes.sets.n_clusters, axes.unit)}"
    rate = counted(total.count, total.rate)
    return f"Of {axes.subject}, {axes.first[0]} fails most: {rate}, more often than each other one ({sure})."


def sample(panel: Panel) -> str:
    """How much was judged, and how much of it is undecided."""
    of = {"run": panel.runs, "agent": panel.agent_names, "task": set(panel.clusters), "judge": panel.judges}
    runs, agents, tasks, judges = (many(len(each), noun) for noun, each in of.items())
    counts = {name: int(getattr(panel, name).sum()) for name in ("uncertain", "lost", "not_rated")}
    parts = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    asked = many(panel.incorrect.size, "verdict")
    others = ", all others decided" if sum(counts.values()) < panel.incorrect.size else ""
    without = int(panel.not_applicable.sum())
    as_what = f" ({without:,} of them as not applicable)" if without else ""
    undecided = f"of {asked} asked for, {listed(parts)}{others}{as_what}" if parts else f"all {asked} decided{as_what}"
    return f"{runs} of {agents} on {tasks}, {many(len(panel.axes), 'axis')}, {judges}: {undecided}."


def extremes(of: Any) -> str:
    """The range of the observed rates with the cells at its ends, and how far undecided verdicts could move it."""
    every, measure = of.cells, of.rule
    by = "By the any-judge count" if measure == "any" else "By consensus"
    cells = [cell for cell in every if cell.failures(measure).rate.n_items]
    if not cells:
        few = "consensus takes two judges that decide" if measure == "consensus" else "nothing was decided"
        return f"{by} no rate can be given: {few}."
    high, low = (pick(cells, key=lambda cell: cell.failures(measure).rate.estimate) for pick in (max, min))
    top, bottom = high.failures(measure), low.failures(measure)
    if top.rate.estimate == bottom.rate.estimate:
        all_runs = f"{by} {top.rate.estimate:.0%} of runs fail"
        sentence = f"{all_runs}, whatever the agent and the axis ({many(len(cells), 'cell')} of the map)."
    else:
        least, most = (_end(cells, cell, measure) for cell in (low, high))
        sentence = (
            f"{by} the failure rate of one agent on one axis goes from {least} to {most}. Single cells are not tested "
            "against each other."
        )
    of_all = [cell.failures(measure) for cell in every]
    least, most = (max(each for each in map(attrgetter(end), of_all) if each == each) for end in ("best", "worst"))
    if max(most, top.rate.estimate) - min(least, top.rate.estimate) < 1e-9:
        return sentence
    ends = f"between {least:.0%} and {most:.0%}" if most > least else f"at {most:.0%}"
    return f"{sentence} Had the undecided verdicts been decided, either way, the highest rate would lie {ends}."


def _end(cells: Sequence[Cell], end: Cell, measure: str) -> str:
    failures = end.failures(measure)
    equal = sum(cell.failures(measure).rate.estimate == failures.rate.estimate for cell in cells)
    if equal > 1:
        return f"{failures.rate.estimate:.0%} (in {equal} cells)"
    return (
        f"{failures.rate.estimate:.0%} ({end.agent} on {end.axis}, {failures.count} of "
        f"{many(failures.rate.n_items, 'run')}, {failures.rate.interval('.0%')})"
    )


def observed_most(domain: str, panel: Panel, totals: Sequence[Cell]) -> str:
    """The axis with the highest observed rate of one domain, which is not tested against the others."""
    about = f"{domain} ({many(len(panel.agent_names), 'agent')}, {many(len(panel.runs), 'run')})"
    judged = [cell for cell in totals if cell.any_judge.rate.n_items]
    if not judged:
        return f"{about}: nothing was decided."
    cell = max(judged, key=lambda cell: cell.any_judge.rate.estimate)
    if not cell.any_judge.count:
        return f"{about}: no judge calls a run incorrect on any axis."
    return f"{about}: highest observed on {cell.axis}, {counted(cell.any_judge.count, cell.any_judge.rate)}."


def domains(parts: Mapping[str, tuple[Panel, Sequence[Cell]]]) -> str:
    """How many domains there are, and the highest observed rate of each."""
    if not parts:
        return "The runs name no domain."
    if len(parts) == 1:
        return f"All runs are of one domain ({next(iter(parts))})."
    each = " ".join(observed_most(domain, *part) for domain, part in parts.items())
    return f"{len(parts)} domains, whose axes are not tested against each other. {each}"


def false_failures(n_judges: int) -> str:
    """How many flawless runs a panel of this size would fail if its judges erred independently."""
    rate, six = (any_judge_rate([1 - SPECIFICITY] * n) for n in (n_judges, 6))
    return (
        f"For orientation: {agreeing(n_judges, 'independent judge', 'calls', 'call')} {rate:.1%} of flawless runs "
        f"failed on an axis if the specificity of each is {SPECIFICITY:.2f}; with 6 judges it would be {six:.0%}."
    )


def rank_reversals(both: Any) -> str:
    """How many verdicts would change what may hold rank 1; empty where nothing is told apart."""
    parts = [
        f"{_different(reversal)} would change which {of} may fail most"
        for of, reversal in (("axes", both.axes), ("agents", both.agents))
        if reversal is not None
    ]
    return f"By the any-judge count, {listed(parts)}." if parts else ""


def first_to_fix(part: Any) -> str:
    """For how many agents one axis may be called first; why for none, where nothing can be ranked."""
    rankings: Mapping[str, Ranking] = part.rankings
    alone = {agent: of.first[0] for agent, of in rankings.items() if not of.sets.refusal and len(of.first) == 1}
    named = "; ".join(f"{axis} for {agent}" for agent, axis in alone.items())
    why = named or "; ".join(dict.fromkeys(filter(None, (of.sets.refusal for of in rankings.values()))))
    start = f"For {len(alone) or 'none'} of {many(len(rankings), 'agent')} one axis may be called first"
    return f"{start}{': ' * bool(why)}{why}."


def _different(reversal: Reversal) -> str:
    if reversal.changes is None:
        return overturned(reversal)
    return f"{many(reversal.changes, f'different {reversal.what}')}{'' if reversal.exact else ' or fewer'}"


def published(of: Any) -> str:
    """What published counts of few tasks allow to be said: the least of all contrasts, and how many hold."""
    least = min(of.contrasts, key=lambda contrast: contrast.p_value)
    widest = max(of.rates.values(), key=lambda rate: rate.ci_high - rate.ci_low)
    none = next((rate for cell, rate in of.rates.items() if not of.counts[cell]), None)
    tells = f"{of.n_apart} of them {'tells' if of.n_apart == 1 else 'tell'}" if of.n_apart else "none of them tells"
    zero = f"0 of {of.n} is compatible with a failure rate of up to {none.ci_high:.0%}; " if none else ""
    first, second = least.counts
    return (
        f"With {many(of.n, 'task')} an agent, {zero}the widest interval is {widest.interval('.0%')}. Of "
        f"{many(len(of.contrasts), 'contrast')} of two agents on one axis the smallest p value is {least.p_value:.2f} "
        f"({first} against {second} of {of.n} on {least.axis}); after Holm's correction {tells} two agents apart."
    )


def extreme_agent(which: str, agent: str, failed: int, cells: int, least_p: float, level: float) -> dict[str, str]:
    """The finding that one agent is the strongest or the weakest (`which`), and whether a contrast shows it."""
    allow = f"Not shown: of its contrasts on one axis the smallest p value is {least_p:.2f}, before any correction."
    if least_p <= 1 - level:
        allow = f"A contrast of {agent} has p = {least_p:.2f} before Holm's correction."
    return _finding(f"{agent} is the {which} agent of the sample", f"{failed} of {cells} runs and axes failed", allow)


def alike(pair: tuple[str, str], axes: Sequence[str], n: int, open_to: float) -> dict[str, str]:
    """The finding that two agents have nearly the same profile."""
    what = f"{listed(pair)} have nearly the same profile"
    apart = f"counts differ on {listed(axes)} alone" if axes else "counts are the same on all axes"
    unseen = f"an agent with 0 of {n} failures may fail in up to {open_to:.0%} of runs"
    allow = f"Not shown: equal counts are not equal rates; {unseen}."
    return _finding(what, apart, allow)


def most_failed(axis: str, counts: Sequence[int], n: int, rate: Estimate) -> dict[str, str]:
    """The finding that one axis fails most."""
    figures = f"{listed([str(count) for count in counts])} of {n} runs failed, by agent"
    allow = (
        f"Not shown: {rate.estimate:.0%} of {many(n, 'run')} reads {rate.interval('.0%')}, and axes were not paired."
    )
    return _finding(f"{axis} fails most, and for most agents", figures, allow)


def _finding(what: str, figures: str, allows: str) -> dict[str, str]:
    return {"published finding": what, "figures": figures, "what the data allow": allows}


def shared_failures(shared: Sequence[str], tested: Sequence[str], refused: Mapping[str, str], level: float) -> str:
    """On which of the tested axes the judges fail the same runs, on which not, and which were not tested, with why."""
    if not tested:
        return f"Whether the judges share their failures cannot be tested: {next(iter(refused.values()), 'no axes')}."
    sure = f"at {level:.0%} with Holm's correction"
    parts = [f"On {len(shared)} of {many(len(tested), 'axis')} the judges fail the same runs beyond chance ({sure})."]
    if rest := [axis for axis in tested if axis not in shared]:
        parts.append(f"On {listed(rest)} what they fail could be independent errors.")
    if refused:
        parts.append(f"Not tested: {'; '.join(f'{axis} ({why})' for axis, why in refused.items())}.")
    return " ".join(parts)


def largest_excess(axis: str, pairs: Coincidence, consensus: FailureRate) -> str:
    """The axis on which the most pairs of judges fail the same run beyond what independent verdicts would give."""
    return (
        f"The most coincidences beyond chance are on {axis}: {many(pairs.observed, 'time')} two judges fail the same "
        f"run, where chance gives {pairs.expected:,.2f}; consensus on {counted(consensus.count, consensus.rate)}, "
        f"where independent verdicts would give {consensus.independent.worded('.0%')}."
    )


ONE_AGENT = "one agent has no other to be compared with."
NOBODY_ALIKE = "no two agents that share tasks have success rates within {:g} points of each other: none are compared."


def profiles(margin: float | None, n_tested: int, apart: Sequence[str], refused: Sequence[str]) -> str:
    """Which pairs of agents of like reward fail differently; `margin` is None where no rewards are known."""
    which = "(no rewards are known)" if margin is None else f"of like success (within {100 * margin:g} points)"
    if len(refused) == n_tested:
        return f"whether two agents {which} fail differently cannot be tested: {refused[0]}."
    start = f"of {many(n_tested, 'pair')} of agents {which}, {len(apart) or 'none'} can be said to differ"
    start += f": {'; '.join(apart)}." if apart else "."
    return f"{start} Not tested: {many(len(refused), 'pair')} ({refused[0]})." if refused else start


def apart(agents: tuple[str, str], p_holm: float, axis: str, gap: float) -> str:
    """Two agents that fail differently, and the axis on which they lie furthest apart."""
    first, second = agents
    more, less = agents if gap > 0 else (second, first)
    return (
        f"{first} and {second} ({p_words(p_holm)} after Holm; furthest apart on {axis}, where {more} fails "
        f"{100 * abs(gap):.0f} points more than {less} beyond the difference in their overall rates)"
    )
