"""The gate: new runs against a baseline, each scenario and agent decided on the interval over repeats."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, ClassVar, NamedTuple
from xml.etree import ElementTree

from axisjudge.checks import InputError, TooLittle, once_each, one_of, printable
from axisjudge.results import Result, dumps
from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.curves.curve import CurveFit
from axisjudge.stats.comparisons.equivalence import (
    least_change,
    mean_bounds,
    repeats_above,
    repeats_change,
    repeats_to_exclude,
    unseen_share,
)
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import banner
from axisjudge.studies._shared.words import apart
from axisjudge.studies.axis_result import sentences as say
from axisjudge.studies.axis_result.runs import QUANTITIES
from axisjudge.trajectory import Trajectory
from axisjudge.workbench import own, write_whole

FORMAT = "axisjudge-baseline/1"
#: The success that the original program gives a call with an error that nobody judged.
FAILED_SUCCESS = 0.3
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: How programs say that what they called could not be reached (errno names, and curl's and Python's words for them).
_UNREACHED = re.compile(
    r"\bE(CONNREFUSED|CONNRESET|CONNABORTED|HOSTUNREACH|NETUNREACH|NOTFOUND|TIMEDOUT|AI_AGAIN|PIPE)\b"
    r"|connection (refused|reset)|(could not|couldn't|failed to) (connect|resolve)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class ScoredRun(Result):
    """What a baseline keeps of one run.

    `scores` has the composite and the four dimensions, None where there is none; `ends` are those of the composite.
    `broken` is None, or says why nothing of the run can have worked: it failed, or each of its calls did. `calls` is
    how many it made; baselines made before it was kept do not know.
    """

    scenario: str
    agent: str
    trajectory_id: str
    scores: Mapping[str, float | None]
    ends: tuple[float, float]
    broken: str | None = None
    calls: int | None = field(default=None, compare=False)

    @property
    def pair(self) -> tuple[str, str]:
        """Scenario and agent."""
        return self.scenario, self.agent


@dataclass(frozen=True, kw_only=True)
class Baseline(Result):
    """Runs with their scores under one name, and the ruler they were measured with."""

    name: str
    ruler: Mapping[str, Any]
    runs: tuple[ScoredRun, ...]


def scored_runs(trajectories: Sequence[Trajectory], results: Sequence[AxisResult]) -> tuple[ScoredRun, ...]:
    """What a gate compares of each run, ordered by scenario, agent and run.

    Raises
    ------
    InputError
        A run of no scenario: nothing says which runs are repeats of one another.
    """
    runs = []
    for trajectory, result in zip(trajectories, results, strict=True):
        if result.task_id is None:
            cure = "name the scenario with --checks, or give runs that name their task, as AXIS reports do"
            raise InputError(
                f"run {result.trajectory_id}", "names no scenario, so its repeats are not known", cure=cure
            )
        dimensions: dict[str, float | None] = {each.name: each.score for each in result.dimensions}
        runs.append(
            ScoredRun(
                scenario=result.task_id,
                agent=result.agent or "not stated",
                trajectory_id=result.trajectory_id,
                scores={name: {**dimensions, "composite": result.composite}[name] for name in QUANTITIES},
                ends=result.interval,
                broken=_broken(trajectory, result),
                calls=sum(each.is_call for each in result.interactions),
            )
        )
    return tuple(sorted(runs, key=lambda each: (*each.pair, each.trajectory_id)))


def ruler_of(results: Iterable[AxisResult], curves: Mapping[str, CurveFit] | None = None) -> dict[str, Any]:
    """By what the scores were measured: only scores of one ruler can be compared."""
    results = list(results)
    return {
        "rules": sorted({each.rules.name for each in results}),
        "judged_by": sorted({each.judged_by for each in results}),
        "weights": dict(results[0].weights) if results else {},
        "curves": {name: repr(fit.curve) for name, fit in sorted((curves or {}).items())},
    }


def folder() -> Path:
    """Where baselines are kept: the folder ``baselines`` of the workbench, without one that of the working folder."""
    try:
        return own() / "baselines"
    except InputError:
        return Path("baselines")


def path_of(name: str) -> Path:
    """The file of a baseline.

    Raises
    ------
    InputError
        A name of other than 1 to 64 letters, digits, ``-`` and ``_``.
    """
    if not _NAME.fullmatch(name):
        raise InputError("baseline", "a name is 1 to 64 letters, digits, - and _", name)
    return folder() / f"{name}.json"


def save_baseline(baseline: Baseline) -> Path:
    """Write the baseline as a whole, replacing what bore its name; git keeps what was there."""
    target = path_of(baseline.name)
    write_whole(target, dumps({"format": FORMAT, **baseline.to_dict()}))
    return target


def read_baseline(name: str) -> Baseline:
    """The baseline of that name.

    Raises
    ------
    InputError
        There is none of that name, or its file is no baseline.
    """
    path = path_of(name)
    if not path.is_file():
        kept = ", ".join(sorted(each.stem for each in path.parent.glob("*.json"))) or "none yet"
        raise InputError(f"baseline {name}", f"is not there; kept are: {kept}", cure="make it with --save-baseline")
    return replace(_baseline(path.read_bytes(), str(path)), name=name)  # its file's, as copies are made


@dataclass(frozen=True)
class Commit(Result):
    """One commit's state of a baseline, for one scenario and agent."""

    commit: str
    date: str
    subject: str
    scenario: str
    agent: str
    n_runs: int
    n_broken: int
    means: Mapping[str, float]


def history(name: str) -> list[Commit]:
    """Mean scores of a baseline per commit of its file, the newest first, one row a scenario and agent.

    Raises
    ------
    InputError
        The file stands in no git repository, or was never committed.
    """
    path = path_of(name).absolute()
    listed = _git(path, "log", "--format=%H%x1f%cs%x1f%s", "--", path.name).splitlines()
    if not listed:
        raise InputError(f"baseline {name}", "was never committed", cure=f"git add {path.name} and commit it")
    rows = []
    for line in listed:
        commit, date, subject = line.split("\x1f", 2)
        try:
            text = _git(path, "show", f"{commit}:./{path.name}")
        except InputError:  # the commit that took the file away
            continue
        for (scenario, agent), runs in by_pair(_baseline(text, f"{path.name} at {commit[:8]}").runs).items():
            broken = sum(each.broken is not None for each in runs)
            means = {each: fmean(scores) for each in QUANTITIES if (scores := values(runs, each))}
            rows.append(Commit(commit[:8], date, subject, scenario, agent, len(runs), broken, means))
    return rows


def by_pair(runs: Iterable[ScoredRun]) -> dict[tuple[str, str], list[ScoredRun]]:
    """Runs by scenario and agent, in order."""
    pairs: dict[tuple[str, str], list[ScoredRun]] = {}
    for run in sorted(runs, key=lambda each: each.pair):
        pairs.setdefault(run.pair, []).append(run)
    return pairs


def values(runs: Iterable[ScoredRun], quantity: str) -> list[float]:
    """The scores that there are."""
    return [float(score) for each in runs if (score := each.scores.get(quantity)) is not None]


def _broken(trajectory: Trajectory, result: AxisResult) -> str | None:
    """Why nothing of a run can have worked; None where some of it did, or it called nothing."""
    if result.failed:
        return "the run failed"
    answers = [each.content or "" for each in trajectory.steps if each.role == "tool"]
    if answers and all(_UNREACHED.search(text) for text in answers):
        return f"none of its {len(answers)} calls reached what it called"
    calls = {each.id for each in result.interactions if each.is_call}
    rows = [row for row in result.signal_rows if row["id"] in calls]
    failed = {row["id"] for row in rows if row["success"] is not None and row["success"] <= FAILED_SUCCESS}
    return f"each of its {len(calls)} calls failed" if calls and failed == calls else None


def _baseline(text: str | bytes, where: str) -> Baseline:
    from cattrs.preconf.json import make_converter

    try:
        saved = json.loads(text, object_pairs_hook=once_each)
        if saved["format"] != FORMAT:
            raise InputError(where, f"must be of format {FORMAT}", saved["format"])
        baseline = make_converter(detailed_validation=False).structure(saved, Baseline)
        for run in baseline.runs:
            if set(run.scores) != set(QUANTITIES):
                raise KeyError(f"scores of run {run.trajectory_id}")
            if not all(each is None or SCALE[0] <= each <= SCALE[1] for each in (*run.scores.values(), *run.ends)):
                raise ValueError(f"a score of run {run.trajectory_id} lies outside 0 to 100")
        if len({(*run.pair, run.trajectory_id) for run in baseline.runs}) < max(1, len(baseline.runs)):
            raise ValueError("it holds no run, or one twice")  # which would be a repeat that nobody made
        return baseline
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(where, "is no baseline", what, "make it anew with --save-baseline") from None


def _git(path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError) as error:
        message = getattr(error, "stderr", None) or str(error)
        raise InputError(path.name, "its history needs git and a repository", message.strip().splitlines()[0]) from None


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
    own_runs: bool = False

    @property
    def exit_code(self) -> int:
        """1 where it fails, 4 where it cannot be told, else 0."""
        return EXIT[self.outcome]

    @property
    def points(self) -> float:
        """The change in points, of the means as they are printed."""
        return apart(self.after, self.before, ".1f")

    sentence = property(say.decision)


@dataclass(frozen=True, kw_only=True)
class Gate(Result):
    """All decisions of new runs against a baseline, or against a floor alone."""

    _also: ClassVar = {"exit_code": "exit_code", "answer": "answer", "warning": "warning"}

    baseline: str | None
    decisions: tuple[GateDecision, ...]
    made_up: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    ci_level: float = 0.95

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
        n_own = sum(each.own_runs for each in self.decisions)
        outcomes = [each.outcome for each in self.decisions]
        return say.answer(self.exit_code, outcomes, self.baseline, len(self.unread), n_own)


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
    rules = tuple(dict.fromkeys(rules)) or default_rules([*runs, *(baseline.runs if baseline else ())])
    shared = [pair for pair in now if pair in before]
    strict = 1 - (1 - ci_level) / max(1, len(shared) * len(rules))
    decisions: list[GateDecision] = []
    for name in sorted(now.keys() | before.keys()):
        pair = _Pair(*name, before.get(name, []), now.get(name, []))
        if baseline is not None:
            decisions += _compared(pair, rules, ci_level, strict)
        if floor is not None and pair.new:
            decisions.append(_above(pair, floor, ci_level, 1 - (1 - ci_level) / len(now)))
    if not decisions and not unread:
        raise TooLittle("runs", "must be one or more: a gate passes on nothing that is missing")
    against = baseline.name if baseline else None
    return Gate(
        baseline=against, decisions=tuple(decisions), made_up=tuple(made_up), unread=tuple(unread), ci_level=ci_level
    )


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
        fewest, fall = min(len(first), len(second)), min(change.estimate, 0.0) - rule.margin
        how: Any = {"scale": SCALE, "ci_level": ci_level, "sd": math.hypot(stdev(first), stdev(second))}
        needed = repeats_to_exclude(fall, fmean((*first, *second)), **how)
        reason = say.unseen(unseen_share(fewest, ci_level), fewest, needed)
    decided = pair.decided(str(rule), outcome, reason)
    return replace(decided, before=fmean(first), after=fmean(second), change=change, own_runs=pair.same)


def _above(pair: _Pair, floor: float, level: float, strict: float) -> GateDecision:
    """The mean composite of the new runs against the floor, by its bounds; both ends where goals are ungraded.

    That it holds is said at `level`, that it is broken at the level shared out over all floors, `strict`.
    """
    ends = [[each.ends[end] for each in pair.new] for end in (0, 1)]
    low, high = map(fmean, ends)
    least, most = mean_bounds(ends[0], scale=SCALE, level=level)[0], mean_bounds(ends[1], scale=SCALE, level=strict)[1]
    mean, reasons = (low, []) if low == high else (math.nan, [say.bounds(low, high)])
    outcome = ScenarioOutcome.HELD if least >= floor else ScenarioOutcome.BELOW_FLOOR
    if least < floor <= most:
        outcome = ScenarioOutcome.CANNOT_TELL
        sd = stdev(ends[0]) if len(pair.new) > 1 else 0.0
        needed = repeats_above(floor, low, scale=SCALE, level=level, sd=sd)
        reasons.append(say.floor_unsure(len(pair.new), least, needed))
    decided = pair.decided(f"composite>={floor:g}", outcome, "; ".join(reasons))
    return replace(decided, n_before=0, before=math.nan, after=mean)


#: JUnit has a failure for what a check refuses, and an error for what could not be checked.
_ELEMENT = {1: "failure", 4: "error"}
_HEADS = ("scenario", "agent", "rule", "outcome", "before", "after", "change", "{:g}% interval", "runs")


def junit(gate: Gate) -> str:
    """JUnit XML: one suite, one case a decision, and one a file that could not be read."""
    codes = [*(each.exit_code for each in gate.decisions), *(4 for _ in gate.unread)]
    counts = {"tests": len(codes), "failures": codes.count(1), "errors": codes.count(4)}
    counted = {name: str(n) for name, n in counts.items()}
    top = ElementTree.Element("testsuites", counted)
    suite = ElementTree.SubElement(top, "testsuite", {"name": f"axis-result {gate.baseline or 'floor'}", **counted})
    for each in gate.decisions:
        name = {"classname": printable(f"{each.scenario}.{each.agent}"), "name": printable(each.rule)}
        case = ElementTree.SubElement(suite, "testcase", name)
        if element := _ELEMENT.get(each.exit_code):
            about = {"type": str(each.outcome), "message": printable(each.sentence)}
            ElementTree.SubElement(case, element, about).text = printable(each.sentence)
    for reason in map(printable, gate.unread):
        case = ElementTree.SubElement(suite, "testcase", {"classname": "files", "name": reason.split(": ")[0]})
        ElementTree.SubElement(case, "error", {"type": "unread", "message": reason}).text = reason
    ElementTree.indent(top)
    made: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return made.decode() + "\n"


def markdown(gate: Gate) -> str:
    """A summary in Markdown: the answer, then what failed before what could not be told before the rest."""
    order = {1: 0, 4: 1, 0: 2}
    decisions = sorted(gate.decisions, key=lambda each: order[each.exit_code])
    rows = [heads(gate), ("---",) * len(_HEADS)]
    for scenario, agent, rule, outcome, *numbers in map(row, decisions):
        rows.append((_cell(scenario), _cell(agent), f"`{rule}`", f"**{outcome}**", *numbers))
    notes = [f"- {_cell(text)}" for text in (*gate.unread, *(each.sentence for each in decisions if each.exit_code))]
    lines = [
        *([f"**{_cell(gate.warning)}**", ""] if gate.warning else []),
        _cell(gate.answer),
        "",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def heads(gate: Gate) -> tuple[str, ...]:
    """What the cells of `row` are."""
    return tuple(head.format(100 * gate.ci_level) for head in _HEADS)


def row(each: GateDecision) -> tuple[str, ...]:
    """A decision in cells, for a table: figures as they are told, so that a change is that of the means beside it."""
    change = each.change
    points = ("-", "-") if change is None else (f"{each.points:+z.1f}", change.interval("+.1f"))
    means = ("-" if math.isnan(mean) else f"{mean:.1f}" for mean in (each.before, each.after))
    return each.scenario, each.agent, each.rule, each.outcome, *means, *points, f"{each.n_before} / {each.n_after}"


def _cell(text: str) -> str:
    """Text that stays text: no cell, markup, link or line ends with it."""
    return "".join(f"\\{letter}" if letter in r"\`*_[]<>|#!~" else letter for letter in printable(text))
