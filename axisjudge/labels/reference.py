"""The reference rater: what a benchmark itself knows of a task, as located faults on the five axes.

tau2-bench and tau-bench state, for every task, the changes that a right run makes and the words that it must tell. Of a
run that failed, the difference between these and what the agent did is a fault with a place:

| what the agent did | axis | step |
|---|---|---|
| the expected change with other arguments | argument_validity | the first call with these, refused or not |
| a change that no expected one asks for | tool_selection | the first call of this tool on the record |
| left out a change that it had tried as expected, and that an earlier one shut off | sequencing | the earlier one |
| left out a change, and made another of the same record or handed over instead | tool_selection | that call |
| left out a change that it had tried and that was refused | termination | the last refused attempt on the record |
| left out a change, and nothing stands in its place | termination | not placed |
| all changes right, in another order, and the database differs | sequencing | the first out of order |
| did not tell what had to be told | result_interpretation | not placed |

Changes are calls of tools that write, and that did not fail. They are matched one to one: equal ones first, then those
of one tool, most equal arguments first. Lists of one length are compared as rows without order (items with their new
items). Two changes are of one record where the identifiers of one are among the other's. A change that stands in
another's place is one fault with it. An expected change that was tried as expected, and refused although nothing had
changed its record, is none: the benchmark's own call fares no better. Where the benchmark found the database as
expected, no change is held against the agent, whatever it was; nor is one that a later, expected one wrote over. A
fault that is not placed has no step: figures at the step leave it out.

It is circular with reward by construction: it looks at failed runs alone, and says nothing of a run that passed, nor
of an axis without a fault. It is not circular with judges, who see neither task nor reward. It does not see a fault
that left the database right, and takes another way to a right end for a fault where the benchmark does.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from axisjudge.labels.decisions import of_run
from axisjudge.ratings.edge import completed_rows
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Axis
from axisjudge.workbench import find

#: Raised whenever a rule changes what is held against a run.
VERSION = "reference-3"
#: Which tools of the benchmarks write, as their own code declares it.
TOOL_KINDS = "data/reference/tool_kinds.csv"
HANDOVER = "transfer_to_human_agents"
_IDENTIFIES = re.compile(r"^(?!payment).*_id$")


class FaultKind(StrEnum):
    """How a failed run differs from what its task expects."""

    WRONG_ARGUMENT = "wrong_argument"
    EXTRA_WRITE = "extra_write"
    REPLACED_WRITE = "replaced_write"
    MISSING_WRITE = "missing_write"
    ORDER = "order"
    NOT_COMMUNICATED = "not_communicated"


AXIS_OF: Mapping[FaultKind, Axis] = {
    FaultKind.WRONG_ARGUMENT: "argument_validity",
    FaultKind.EXTRA_WRITE: "tool_selection",
    FaultKind.REPLACED_WRITE: "tool_selection",
    FaultKind.MISSING_WRITE: "termination",
    FaultKind.ORDER: "sequencing",
    FaultKind.NOT_COMMUNICATED: "result_interpretation",
}


@dataclass(frozen=True)
class Fault:
    """One difference: its kind, the steps where it shows (none where it is not placed), and what was expected."""

    kind: FaultKind
    steps: tuple[int, ...]
    expected: str

    @property
    def axis(self) -> Axis:
        """The axis that the fault is one of."""
        return AXIS_OF[self.kind]


@dataclass(frozen=True, eq=False)
class WriteCall:
    """A call of a tool that writes: made at a step, or expected (no step)."""

    name: str
    arguments: Mapping[str, Any]
    step: int | None = None
    compare: tuple[str, ...] | None = None

    @property
    def words(self) -> str:
        """The call as one line."""
        return f"{self.name}({', '.join(f'{key}={json.dumps(value)}' for key, value in self.arguments.items())})"

    def differing(self, made: WriteCall) -> list[str]:
        """The arguments in which a call that was made differs from this expected one."""
        names = self.compare if self.compare is not None else sorted({*self.arguments, *made.arguments})
        if _rows(self.arguments) == _rows(made.arguments):
            return []
        return [name for name in names if self.arguments.get(name) != made.arguments.get(name)]


def read_tool_kinds() -> dict[str, str]:
    """Tool -> read, write or generic, over the domains of the benchmarks; no name has two kinds."""
    with find(TOOL_KINDS).open(encoding="utf-8", newline="") as lines:
        return {row["tool"]: row["kind"] for row in csv.DictReader(lines)}


def reference_faults(run: Trajectory, kinds: Mapping[str, str]) -> list[Fault]:
    """What a run's own task holds against it, with steps; nothing for a run that passed or whose task is not known.

    Parameters
    ----------
    run : Trajectory
        As the readers of tau2 and tau-bench give it: `reward`, and the task's knowledge under ``expected`` in `meta`.
    kinds : mapping
        Tool -> kind (`read_tool_kinds`); what the run's own tools declare goes before it.
    """
    expected = run.meta.get("expected")
    if not isinstance(expected, dict) or run.reward is None or run.reward >= 1:
        return []
    faults = [*_not_communicated(run, expected["communicate"])]
    if expected["database_matches"] is not True:
        kinds = {**kinds, **run.kinds}
        wanted = [
            WriteCall(
                action["name"], action["arguments"], None, None if (names := action["compare"]) is None else (*names,)
            )
            for action in expected["actions"]
            if kinds.get(action["name"]) == "write"
        ]
        differs = expected["database_matches"] is False
        made, refused = (_changes(run, kinds, failed=failed) for failed in (False, True))
        faults = [*_differences(run, wanted, made, refused, differs=differs), *faults]
    return faults


def reference_ratings(trajectories: Iterable[Trajectory]) -> pl.DataFrame:
    """Located faults as a ratings table: ``incorrect`` on the axis of each, citing its steps.

    Everything else has no rating here: what the reference does not hold against a run is unlabelled, not correct, so
    that these labels show how many faults a judge finds and never how often it cries wolf.

    Returns
    -------
    polars.DataFrame
        One rating for each run and axis with a fault: `rater`, `rater_kind` and `family` ``reference``, the kinds of
        fault under `flags`, what was expected under `rationale`.
    """
    kinds = read_tool_kinds()
    rows = [row for run in trajectories for row in _rows_of(run, reference_faults(run, kinds))]
    fixed = {"scale": "verdict", "verdict": "incorrect", "mechanism": "program", "rater_version": VERSION}
    return completed_rows(rows, rater="reference", rater_kind="reference", family="reference", **fixed)


def _rows_of(run: Trajectory, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    for axis in dict.fromkeys(fault.axis for fault in faults):
        of_axis = [fault for fault in faults if fault.axis == axis]
        yield {
            **of_run(run),
            "question": axis,
            "prompt_sha256": run.content_sha256,
            "cited_step_indices": sorted({step for fault in of_axis for step in fault.steps}),
            "rationale": " ".join(fault.expected for fault in of_axis),
            "flags": sorted({fault.kind.value for fault in of_axis}),
        }


def _differences(
    run: Trajectory, wanted: list[WriteCall], made: list[WriteCall], refused: list[WriteCall], *, differs: bool
) -> Iterator[Fault]:
    pairs, left, extra = _matched(wanted, made)
    for one, other in pairs:
        if names := one.differing(other):
            given = ", ".join(f"{name}={json.dumps(one.arguments.get(name))}" for name in names)
            begun = [early for early in _attempts(other, refused) if {*names} <= {*one.differing(early)}]
            yield Fault(FaultKind.WRONG_ARGUMENT, _at([*begun, other][0]), f"Expected of {one.name}: {given}.")
    handover = next((step.index for step in run.steps for call in step.agent_calls if call.name == HANDOVER), None)
    matched = [other for one, other in pairs if not one.differing(other)]
    extra = [other for other in extra if not any(_overwrites(later, other) for later in matched)]
    for one in left:
        as_expected = next((early for early in refused if early.name == one.name and not one.differing(early)), None)
        if as_expected is not None:
            before = [other for other in made if _of_one_record(one, other) and not _earlier(as_expected, other)]
            extra = [other for other in extra if other not in before]
            if before and not any(other is before[-1] and first.differing(other) for first, other in pairs):
                yield Fault(FaultKind.ORDER, _at(before[-1]), f"Expected first {one.words}.")
            continue
        instead = next((other for other in extra if _of_one_record(one, other)), None)
        alike = [other for other in refused if _of_one_record(one, other)]
        tried = [other for other in alike if other.name == one.name] or alike
        extra = [other for other in extra if other is not instead]
        if instead is not None or handover is not None:
            steps = (handover,) if instead is None and handover is not None else _at(instead or one)
            yield Fault(FaultKind.REPLACED_WRITE, steps, f"Expected {one.words}.")
        else:
            yield Fault(FaultKind.MISSING_WRITE, _at(tried[-1]) if tried else (), f"Expected {one.words}.")
    for other in extra:
        yield Fault(FaultKind.EXTRA_WRITE, _at([*_attempts(other, refused), other][0]), f"Expected no {other.words}.")
    if differs and len(pairs) == len(made) and not left and not any(one.differing(other) for one, other in pairs):
        order = [other for _, other in sorted(pairs, key=lambda pair: wanted.index(pair[0]))]
        late = next((b for a, b in zip(order, made, strict=True) if a is not b), None)
        if late is not None:
            in_order = ", then ".join(one.words for one in wanted)
            yield Fault(FaultKind.ORDER, _at(late), f"Expected in this order: {in_order}.")


def _matched(
    wanted: list[WriteCall], made: list[WriteCall]
) -> tuple[list[tuple[WriteCall, WriteCall]], list[WriteCall], list[WriteCall]]:
    """Pairs of expected and made changes of one tool, fewest differences first; then what is left of each."""
    candidates = sorted(
        (len(one.differing(other)), i, j)
        for i, one in enumerate(wanted)
        for j, other in enumerate(made)
        if one.name == other.name
    )
    of_wanted: dict[int, int] = {}
    for _, i, j in candidates:
        if i not in of_wanted and j not in of_wanted.values():
            of_wanted[i] = j
    pairs = [(wanted[i], made[j]) for i, j in sorted(of_wanted.items())]
    left = [one for i, one in enumerate(wanted) if i not in of_wanted]
    return pairs, left, [other for j, other in enumerate(made) if j not in of_wanted.values()]


def _changes(run: Trajectory, kinds: Mapping[str, str], *, failed: bool) -> list[WriteCall]:
    """The agent's calls of tools that write: those that went through, or those that failed."""
    results = run.call_results
    return [
        WriteCall(call.name, call.arguments, step.index)
        for step in run.steps
        for number, call in enumerate(step.tool_calls, start=1)
        if call.requestor == "assistant" and kinds.get(call.name) == "write" and isinstance(call.arguments, dict)
        if _failed(results.get((step.index, number))) is failed
    ]


def _failed(result: Step | None) -> bool:
    return result is None or result.error is True or result.content.startswith("Error")


def _not_communicated(run: Trajectory, communicate: Iterable[Mapping[str, Any]]) -> Iterator[Fault]:
    stated = [step.content.lower().replace(",", "") for step in run.steps if step.role == "assistant"]
    for one in communicate:
        met = one["met"] if one["met"] is not None else any(one["text"].lower() in text for text in stated)
        if not met:
            yield Fault(FaultKind.NOT_COMMUNICATED, (), f"Expected to tell: {one['text']}.")


def _attempts(change: WriteCall, refused: list[WriteCall]) -> list[WriteCall]:
    """Earlier calls of the same tool on the same record that were refused: where the change was begun."""
    alike = (one for one in refused if one.name == change.name and _of_one_record(one, change))
    return [one for one in alike if _earlier(one, change)]


def _earlier(one: WriteCall, other: WriteCall) -> bool:
    return one.step is not None and other.step is not None and one.step < other.step


def _overwrites(later: WriteCall, other: WriteCall) -> bool:
    """Whether a later change of the same tool and record gives every argument anew: the earlier left nothing."""
    alike = later.name == other.name and set(later.arguments) == set(other.arguments)
    return _earlier(other, later) and alike and _of_one_record(later, other)


def _at(change: WriteCall) -> tuple[int, ...]:
    return () if change.step is None else (change.step,)


def _of_one_record(one: WriteCall, other: WriteCall) -> bool:
    """Whether two changes are of one record: the identifiers of one are among the other's, a way to pay left aside."""
    mine, theirs = (
        {(key, str(value)) for key, value in change.arguments.items() if _IDENTIFIES.search(key)}
        for change in (one, other)
    )
    return bool(mine and theirs) and (mine <= theirs or theirs <= mine)


def _rows(arguments: Mapping[str, Any]) -> str:
    """Arguments with lists of one length as rows without order."""
    lists = {key: value for key, value in arguments.items() if isinstance(value, list)}
    rows: list[Any] = []
    for length in sorted({len(value) for value in lists.values()}):
        alike = {key: value for key, value in sorted(lists.items()) if len(value) == length}
        rows.append(
            [sorted(alike), sorted(json.dumps(row, sort_keys=True) for row in zip(*alike.values(), strict=True))]
        )
    plain = {key: value for key, value in arguments.items() if key not in lists}
    return json.dumps([plain, rows], sort_keys=True)
