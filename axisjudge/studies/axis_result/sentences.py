"""What AXIS Results allow to be said; which of it is true is decided where the numbers are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.axis.transcript.interactions import Wait
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import SCOPE, banner
from axisjudge.studies._shared.words import agreeing, directed, listed, many

#: So many agents are named in a row.
_NAMED = 6


class Direction(StrEnum):
    """What the interval of a change allows to be said."""

    HIGHER = "higher"
    LOWER = "lower"
    NOT_SHOWN = "not shown"
    CANNOT_TELL = "cannot tell"


class NotCompared(StrEnum):
    """Why two sets of runs are not compared, in words."""

    ONE_SET = "it takes two sets of runs, or two agents in one"
    NO_SHARED_TASK = "the two sets of runs share no task"
    CALLED_NOTHING = "the runs of one set called nothing, and what is not called loses no points"


#: What a wait is called.
WAITS: dict[Wait, str] = {
    "answer": "a person's answer",
    "refusal": "a person's refusal",
    "message": "a person's next message",
    "permission": "perhaps a permission",
}
REFUSED = "There is no comparison: {reason}."
UNGRADED = "No run has a graded goal, so that every AXIS Result is an interval and no number."
#: What must be known of every AXIS Result.
ASSUMED = "The curve behind these scores is assumed, not fitted to what people think of the runs."


def runs_counted(of: Any) -> str:
    """How many runs and agents, and how many runs failed: an error, or no result and an exit code other than 0."""
    n_failed, agents = sum(each.failed for each in of.results), {each.agent or "" for each in of.results}
    ended = [f"broke off with an error and {scores} 0" for scores in ("scores", "score")]
    failed = agreeing(n_failed, "run", *ended) if n_failed else "none broke off with an error"
    return f"{many(len(of.results), 'run')} of {many(len(agents), 'agent')}; {failed}."


def marked(mark: str) -> str:
    """A mark as a sentence."""
    return f"The run is marked: {mark}."


def weakest(of: Any) -> str:
    """How many interactions of a run have a signal below 1, and the lowest."""
    if not of.rows:
        return "No interaction of this run has a signal below 1."
    least = f"#{of.rows[0]['id']}, {of.rows[0]['what']}"
    return f"{agreeing(len(of.rows), 'interaction', 'has', 'have')} a signal below 1; the lowest is {least}."


def between(names: tuple[str, str], sentence: str) -> str:
    """The sentence of a comparison under the names of its two sides."""
    return f"From {names[0]} to {names[1]}, {sentence}"


def one_run(result: AxisResult) -> str:
    """The answer where there is one run alone."""
    return f"{of_run(result)[0]} One run cannot show a change. {ASSUMED}"


def of_run(result: AxisResult) -> list[str]:
    """One run: its result, what took long, what failed, and what was not needed."""
    counts = result.counts
    calls = sum(each.is_call for each in result.interactions)
    band = f" ({result.band})" if result.band else ""
    failed = f"{agreeing(counts.errors, 'call', 'failed', 'failed')}" if counts.errors else "no call failed"
    words = [
        f"Run {result.trajectory_id} has AXIS Result {result.shown}{band}: {many(calls, 'call')} in "
        f"{many(counts.interactions, 'interaction')} over {counts.wall_clock_ms / 1000:,.1f} s; {failed}."
    ]
    if slow := result.slowest:
        words.append(f"Its slowest call is #{slow.id} {slow.tool_name} with {slow.duration_ms / 1000:,.1f} s.")
    needed = result.dimension("agent").necessity
    if unnecessary := needed.unnecessary:
        rest = "" if needed.score is not None else " (whether the others were needed was not judged)"
        needless = agreeing(len(unnecessary), "interaction", "was", "were")
        words.append(f"{needless} found not needed: {listed([f'#{id}' for id in unnecessary])}{rest}.")
    if result.insights:
        words.append(f"Weakest below 75: {result.insight}.")
    return words


def of_means(of: Any) -> str:
    """The mean AXIS Result of every agent: its name, its mean and how many runs it has."""
    each_agent = [
        f"{agent} {mean.estimate:.1f} ({f'{mean.n_items} of ' if mean.n_items < n_runs else ''}{many(n_runs, 'run')} "
        f"on {mean.clusters}; {mean.interval('.1f')})"
        if mean.n_items
        else f"{agent} none, as no goal was graded in {many(n_runs, 'run')}"
        for agent, mean, n_runs in ((each.agent, each.means["composite"], each.n_runs) for each in of.agents)
    ]
    return f"Mean AXIS Result, of 100: {listed(each_agent, most=_NAMED)}."


def change(quantity: str, points: Estimate) -> str:
    """A change with its interval."""
    name = "the AXIS Result" if quantity == "composite" else quantity.replace("_", " ")
    return f"{name} is {directed(points, 'higher', 'lower', spec='.1f')}"


def comparison(of: Any) -> str:
    """The changes that are shown, that there are others, and those without an interval with the reason."""
    others, untold = (
        [each for each in of.changes if each.direction is kind] for kind in (Direction.NOT_SHOWN, Direction.CANNOT_TELL)
    )
    shown = [each for each in of.changes if each.direction in (Direction.HIGHER, Direction.LOWER)]
    after = "each" if of.n_before == of.n_after else f"and {of.n_after:,}"
    tasks = "; ".join(filter(None, (many(len(of.tasks), "task"), of.together)))
    runs = f"{many(of.n_before, 'run')} {after}, on the same {tasks}"
    if shown:
        rest = f"; {agreeing(len(others), 'other score', 'is', 'are')} not shown to change" if others else ""
        changes = f"{listed([change(each.quantity, each.over_repeats) for each in shown])}{rest} ({runs})."
    elif untold and not others:
        changes = f"{runs}."
    else:
        scores = f" in any of {many(len(others), 'score')}" if len(others) > 1 else ""
        most = max(others, key=lambda each: abs(each.over_repeats.estimate), default=None)
        largest = f"; the largest: {change(most.quantity, most.over_repeats)}" if most else ""
        changes = f"no change is shown{scores} ({runs}){largest}."
    changes = f"{changes}{_left_out(of)}"
    if not untold:
        return changes
    reason = "; ".join(dict.fromkeys(each.over_repeats.reason for each in untold))
    names = listed([f"{each.quantity} from {each.before:.1f} to {each.after:.1f}" for each in untold])
    return f"{changes} No interval ({reason}), so whether other repeats would show it cannot be told: {names}."


def _left_out(of: Any) -> str:
    """Tasks that only one side has, and scores that not all runs of the others have; empty where nothing is lost."""
    one_sided = len(of.only_before) + len(of.only_after)
    tasks = f" Left out: {many(one_sided, 'task')} that only one of the two has." if one_sided else ""
    fewer = [
        f"{each.quantity.replace('_', ' ')} {many(each.over_repeats.n_items, 'run')} on {each.over_repeats.clusters}"
        for each in of.changes
        if each.over_repeats.n_items < of.n_before + of.n_after
    ]
    return f"{tasks} Not all runs have every score: {listed(fewer)}." if fewer else tasks


def of_judges(raters: Sequence[str], families: Sequence[str], made_up: Sequence[str], within: float) -> list[str]:
    """Who judged, and when two judges agree."""
    who = f"{many(len(raters), 'judge')}, families {listed(sorted(set(families)))}: {listed(raters)}."
    rule = f"Judges agree on a signal where their numbers differ by {within:g} at most (a grade: by one)."
    return [*([banner(made_up)] if made_up else []), f"{who} {rule}"]


def of_agreement(
    weakest: tuple[str, str] | None, n_families: int, n_other_repeats: int, by_one: Sequence[str]
) -> list[str]:
    """On which signal judges agree least, and what the table does not say."""
    words = [f"They agree least on {weakest[0]}: {weakest[1]} of the pairs."] if weakest else []
    if by_one:
        words.append(f"Judged by one judge alone, so without agreement: {listed(by_one)}.")
    if n_families < 2:
        words.append("All judges are of one family, so nothing here is agreement across families.")
    if n_other_repeats:
        words.append(f"Left out: {many(n_other_repeats, 'rating')} of other repeats.")
    return [*words, SCOPE]


NO_CALLS = "none of them called anything, as the baseline's did"
SAME_RUNS = "these are the baseline's own runs"
NOT_AMONG_MANY = "beyond the margin on its own, but not surely so among as many decisions"
_VERDICT = {0: "passed", 1: "failed", 4: "cannot be told: repeats are too few, or runs or scores are missing"}
_OUTCOME = {
    "cannot tell": "cannot be told",
    "missing": "in the baseline, and not among these runs",
    "new": "not in the baseline, so not compared",
}


def no_score(quantity: str, n_runs: int) -> str:
    """Why a quantity cannot be compared."""
    return f"{many(n_runs, 'run')} without {quantity}"


def bounds(low: float, high: float) -> str:
    """A mean of which only the ends are known."""
    return f"bounds {low:.1f} and {high:.1f}, as goals are not graded"


def unseen(share: float, n_repeats: int, needed: float) -> str:
    """What repeats that show no fall do not exclude, and how many would."""
    more = f"; {math.ceil(needed)} or more such on each side would" if n_repeats < needed < math.inf else ""
    return f"{many(n_repeats, 'repeat')} cannot exclude a fall that comes in up to {share:.0%} of runs{more}"


def floor_unsure(n_runs: int, least: float, needed: float) -> str:
    """From where on the mean may lie, and how many runs like these would show that it holds the floor."""
    more = f"; about {math.ceil(needed)} runs like these would show that it holds" if n_runs < needed < math.inf else ""
    return f"{many(n_runs, 'run')} cannot exclude a mean from {math.floor(least)} on{more}"


def decision(of: Any) -> str:
    """One decision in a line: where, what was asked, what was decided, and the figures behind it."""
    means = [f"{each:z.1f}" for each in (of.before, of.after) if not math.isnan(each)]
    figures = [" to ".join(means)] if not math.isnan(of.after) else []
    if of.change is not None:
        figures.append(f"{of.points:+z.1f} points, {of.change.interval('+.1f')}")
    known = "; ".join([*figures, *filter(None, [of.reason])])
    outcome = _OUTCOME.get(of.outcome, of.outcome)
    return f"{of.scenario}, {of.agent}: {of.rule}: {outcome}{known and f' ({known})'}"


def answer(exit_code: int, outcomes: Sequence[str], baseline: str | None, n_unread: int = 0, n_own: int = 0) -> str:
    """The gate as a whole, with how many decisions came out how, and how many are of the baseline's own runs."""
    unread = [f"{many(n_unread, 'file')} could not be read"] if n_unread else []
    counts = [*unread, *(f"{n} {outcome}" for outcome, n in Counter(map(str, outcomes)).items())]
    against = f" against baseline {baseline}" if baseline else ""
    own = (
        f" {agreeing(n_own, 'decision', 'is', 'are')} of the baseline's own runs: nothing new was compared."
        if n_own
        else ""
    )
    return f"Gate {_VERDICT[exit_code]}{against}: {listed(counts)}.{own}"
