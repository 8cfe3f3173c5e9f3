"""The gate: new runs against a baseline, each scenario and agent decided on the interval over repeats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean
from typing import ClassVar, NamedTuple

from axisjudge.checks import InputError, one_of
from axisjudge.results import Result
from axisjudge.stats.comparisons.repeats import (
    least_change,
    mean_bounds,
    repeats_above,
    repeats_change,
    repeats_to_exclude,
    unseen_share,
)
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.scope import banner
from axisjudge.studies.axis_result.gate import sentences as say
from axisjudge.studies.axis_result.gate.baseline import Baseline, ScoredRun, by_pair, values
from axisjudge.studies.axis_result.runs import QUANTITIES


class ScenarioOutcome(StrEnum):
    """What was decided of one scenario and agent."""

    HELD = "held"
    REGRESSED = "regressed"
    COLLAPSED = "collapsed"
    BELOW_FLOOR = "below floor"
    CANNOT_TELL = "cannot tell"
    MISSING = "missing"
    NEW = "new"


#: Exit codes of the command; the gate's is 1 where one decision has it, else 4, else 0.
EXIT = {
    ScenarioOutcome.HELD: 0,
    ScenarioOutcome.NEW: 0,
    ScenarioOutcome.CANNOT_TELL: 4,
    ScenarioOutcome.MISSING: 4,
    ScenarioOutcome.REGRESSED: 1,
    ScenarioOutcome.COLLAPSED: 1,
    ScenarioOutcome.BELOW_FLOOR: 1,
}
#: The fall in points that fails where no rule is given.
DEFAULT_FALL = -5.0
#: The ends between which every score lies.
SCALE = (0.0, 100.0)
_SHORT = {"goal": "goal_achievement", "axis_result": "composite", "axis": "composite"}


class Rule(NamedTuple):
    """A fall that fails: the change of `quantity` lies below `margin` points."""

    quantity: str
    margin: float

    def __str__(self) -> str:
        return f"{self.quantity}<{self.margin:g}"


@dataclass(frozen=True, kw_only=True)
class GateDecision(Result):
    """What was decided of one scenario and agent by one rule.

    `before` and `after` are means over the runs that have the score, `change` their difference over repeats in points
    with its interval; all NaN where there is none.
    """

    _also: ClassVar = {"sentence": "sentence"}

    scenario: str
    agent: str
    rule: str
    outcome: ScenarioOutcome
    n_before: int
    n_after: int
    before: float = math.nan
    after: float = math.nan
    change: Estimate | None = None
    reason: str = ""

    @property
    def exit_code(self) -> int:
        """1 where it fails, 4 where it cannot be told, else 0."""
        return EXIT[self.outcome]

    @property
    def sentence(self) -> str:
        """The decision in a line."""
        return say.decision(
            self.scenario, self.agent, self.rule, self.outcome, self.before, self.after, self.change, self.reason
        )


@dataclass(frozen=True, kw_only=True)
class Gate(Result):
    """All decisions of new runs against a baseline, or against a floor alone."""

    _also: ClassVar = {"exit_code": "exit_code", "answer": "answer", "warning": "warning"}

    baseline: str | None
    decisions: tuple[GateDecision, ...]
    made_up: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 where a fall is shown, a floor broken, runs collapsed, a file unread; 4 where it cannot be told; else 0."""
        codes = {each.exit_code for each in self.decisions}
        return 1 if 1 in codes or self.unread else 4 if 4 in codes else 0

    @property
    def warning(self) -> str:
        """That raters were simulated or planted; empty where none was."""
        return banner(self.made_up)

    @property
    def answer(self) -> str:
        """What the gate says as a whole."""
        return say.answer(self.exit_code, [each.outcome for each in self.decisions], self.baseline, len(self.unread))


def rule_of(text: str) -> Rule:
    """A rule from ``QUANTITY<NUMBER``, a fall in points.

    Raises
    ------
    InputError
        Not of this form, no such quantity, or a number above 0.
    """
    match = re.fullmatch(r"\s*([A-Za-z_]+)\s*<\s*([+-]?\d+(?:\.\d+)?)\s*", text)
    if not match:
        raise InputError("--fail-if", "must be QUANTITY<NUMBER, a change in points", text, "such as environment<-5")
    quantity = one_of("--fail-if", _SHORT.get(match[1].casefold(), match[1].casefold()), QUANTITIES)
    if (margin := float(match[2])) > 0:
        raise InputError("--fail-if", "the number is a fall in points, 0 or below", match[2], f"give -{match[2]}")
    return Rule(quantity, margin)


def default_rules(runs: Iterable[ScoredRun]) -> tuple[Rule, ...]:
    """A fall of the composite by more than five points; of the process dimensions where runs have no composite."""
    known = all(each.scores["composite"] is not None for each in runs)
    return tuple(Rule(name, DEFAULT_FALL) for name in (QUANTITIES[:1] if known else QUANTITIES[2:]))


def gate(
    runs: Sequence[ScoredRun],
    baseline: Baseline | None,
    *,
    rules: Sequence[Rule] = (),
    floor: float | None = None,
    made_up: Sequence[str] = (),
    unread: Sequence[str] = (),
    ci_level: float = 0.95,
) -> Gate:
    """Decide new runs against a baseline, and against a floor under the mean composite.

    A fall is shown when the change's whole interval lies below the rule's margin, at a level shared out over all
    decisions, so that a gate of many does not fail by chance. It is excluded when the interval at `ci_level` lies
    above the margin, and so does the mean with what as many repeats may have missed (`least_change`): three equal
    repeats do not exclude that every second run falls. To let all pass, each must hold, which needs no sharing out.
    Between the two, repeats are too few to tell. Runs of which nothing worked, where the baseline's did, collapsed,
    however few they are; so did runs that called nothing, where each of the baseline's called something: an
    environment that is not there deducts nothing. A floor holds where the mean lies above it with what as many runs may
    have missed (`mean_bounds`), and is broken where the upper bound lies below it.

    Parameters
    ----------
    runs : sequence of ScoredRun
    baseline : Baseline, optional
        Without it only the floor is looked at.
    rules : sequence of Rule
        Without any, `default_rules`.
    floor : float, optional
        The mean composite of runs of a scenario and agent must not lie below it.
    made_up : sequence of str
        Raters that are no judges, for the record.
    unread : sequence of str
        Files that could not be read, or not whole, each with its reason: a gate passes on nothing that is missing.
    """
    now, before = by_pair(runs), by_pair(baseline.runs if baseline else ())
    rules = rules or default_rules([*runs, *(baseline.runs if baseline else ())])
    shared = [pair for pair in now if pair in before]
    strict = 1 - (1 - ci_level) / max(1, len(shared) * len(rules))
    decisions: list[GateDecision] = []
    for name in sorted(now.keys() | before.keys()):
        pair = _Pair(*name, before.get(name, []), now.get(name, []))
        if baseline is not None:
            decisions += _compared(pair, rules, ci_level, strict)
        if floor is not None and pair.new:
            decisions.append(_above(pair, floor, ci_level, 1 - (1 - ci_level) / len(now)))
    against = baseline.name if baseline else None
    return Gate(baseline=against, decisions=tuple(decisions), made_up=tuple(made_up), unread=tuple(unread))


class _Pair(NamedTuple):
    """The runs of one scenario and agent: the baseline's and the new ones."""

    scenario: str
    agent: str
    old: Sequence[ScoredRun]
    new: Sequence[ScoredRun]

    def decided(self, rule: str, outcome: ScenarioOutcome, reason: str = "") -> GateDecision:
        """A decision on these runs, with the means of their composites."""
        before, after = (fmean(values(runs, "composite") or [math.nan]) for runs in (self.old, self.new))
        return GateDecision(
            scenario=self.scenario,
            agent=self.agent,
            rule=rule,
            outcome=outcome,
            n_before=len(self.old),
            n_after=len(self.new),
            before=before,
            after=after,
            reason=reason,
        )

    @property
    def same(self) -> bool:
        """Whether the new runs are the baseline's own with the scores they had."""
        known = {each.trajectory_id: each for each in self.old}
        return len(self.new) == len(self.old) and all(known.get(each.trajectory_id) == each for each in self.new)


def _compared(pair: _Pair, rules: Sequence[Rule], ci_level: float, strict: float) -> list[GateDecision]:
    """What the rules say of one scenario and agent; one decision where they cannot be asked."""
    if not pair.old or not pair.new:
        return [pair.decided("both sets", ScenarioOutcome.NEW if pair.new else ScenarioOutcome.MISSING)]
    broken = [each.broken for each in pair.new if each.broken is not None]
    if len(broken) == len(pair.new) and not all(each.broken for each in pair.old):
        return [pair.decided("runs work", ScenarioOutcome.COLLAPSED, broken[0])]
    if all(each.calls == 0 for each in pair.new) and all(each.calls for each in pair.old):
        return [pair.decided("runs work", ScenarioOutcome.COLLAPSED, say.NO_CALLS)]
    return [_fall(pair, rule, ci_level, strict) for rule in rules]


def _fall(pair: _Pair, rule: Rule, ci_level: float, strict: float) -> GateDecision:
    first, second = values(pair.old, rule.quantity), values(pair.new, rule.quantity)
    if n := len(pair.old) + len(pair.new) - len(first) - len(second):
        return pair.decided(str(rule), ScenarioOutcome.CANNOT_TELL, say.no_score(rule.quantity, n))
    change = repeats_change(first, second, scale=SCALE, ci_level=ci_level)
    outcome, reason = ScenarioOutcome.CANNOT_TELL, change.reason
    if pair.same:
        outcome, reason = ScenarioOutcome.HELD, say.SAME_RUNS
    elif change.ci_low >= rule.margin and least_change(first, second, scale=SCALE, level=ci_level) >= rule.margin:
        outcome = ScenarioOutcome.HELD
    elif repeats_change(first, second, scale=SCALE, ci_level=strict).ci_high < rule.margin:
        outcome = ScenarioOutcome.REGRESSED
    elif change.ci_high < rule.margin:
        reason = say.NOT_AMONG_MANY
    elif not math.isnan(change.ci_low) and change.estimate >= rule.margin:
        needed = repeats_to_exclude(-rule.margin, fmean((*first, *second)), scale=SCALE, ci_level=ci_level)
        reason = say.unseen(unseen_share(len(second), ci_level), len(second), needed)
    decided = pair.decided(str(rule), outcome, reason)
    return replace(decided, before=fmean(first), after=fmean(second), change=change)


def _above(pair: _Pair, floor: float, level: float, strict: float) -> GateDecision:
    """The mean composite of the new runs against the floor, by its bounds; both ends where goals are ungraded.

    That it holds is said at `level`, that it is broken at the level shared out over all floors, `strict`.
    """
    ends = [[each.ends[end] for each in pair.new] for end in (0, 1)]
    low, high = map(fmean, ends)
    least, most = mean_bounds(ends[0], scale=SCALE, level=level)[0], mean_bounds(ends[1], scale=SCALE, level=strict)[1]
    mean, reasons = (low, []) if low == high else (math.nan, [say.between(low, high)])
    outcome = ScenarioOutcome.HELD if least >= floor else ScenarioOutcome.BELOW_FLOOR
    if least < floor <= most:
        outcome = ScenarioOutcome.CANNOT_TELL
        reasons.append(say.floor_unsure(len(pair.new), least, repeats_above(floor, low, scale=SCALE, level=level)))
    decided = pair.decided(f"composite>={floor:g}", outcome, "; ".join(reasons))
    return replace(decided, n_before=0, before=math.nan, after=mean)
