"""Edits of values: an argument from nowhere, and an amount told as another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from axisjudge.trajectory import Step, Trajectory
from axisjudge.twins.runs import (
    Block,
    blocks_of,
    identifiers_in,
    record_in,
    rewritten,
    text_of,
    text_of_all,
)
from axisjudge.twins.twin import Edited, Refused

_AMOUNT = re.compile(r"(?<![\d.,-])\d{1,3}(?:,\d{3})*\.\d{2}(?!\d)|(?<![\d.,-])\d+\.\d{2}(?!\d)")
_TRIES = 40
#: An amount told wrong by less may pass for rounding, which is no fault.
LEAST_ERROR = 1.0


def fabricated_argument(run: Trajectory, rng: Random) -> Edited | Refused:
    """An identifier that an earlier result gave is replaced by one of the same shape that no step holds.

    The tool takes it: its result and all that is said later bear the new identifier, as in a run in which a guess
    happened to hit. A real tool would often have refused it; a refusal would change the rest of the run beyond what an
    edit can follow. Values that the user spoke of, and numbers that other identifiers share, are left alone, because
    they would give the twin away.
    """
    places = list(_fabricable(run))
    if not places:
        return Refused("no identifier from a result goes into a call without the user naming it")
    block, old = rng.choice(places)
    new = _unheard(old, run, rng)
    if new is None:
        return Refused("no identifier of that shape is left")
    steps = run.steps[: block.start] + tuple(
        rewritten(step, lambda text: text.replace(old, new)) for step in run.steps[block.start :]
    )
    names = ", ".join(call.name for call in block.calls if old in identifiers_in(call.arguments))
    return Edited.in_place(
        run, steps, f"Step {block.start} calls {names} with {new}, which no step holds, instead of {old}."
    )


def _fabricable(run: Trajectory) -> Iterator[tuple[Block, str]]:
    for block in blocks_of(run):
        before, after = run.steps[: block.start], run.steps[block.start :]
        given = text_of_all(step for step in before if step.role == "tool")
        by_user = text_of_all(step for step in run.steps if step.role in ("user", "system")) + (run.policy or "")
        everything = text_of_all(run.steps)
        for value in sorted({found for call in block.calls for found in identifiers_in(call.arguments)}):
            number = _number(value)
            shared = everything.count(number) != everything.count(value)
            if not block.failed and value in given and number not in by_user and not shared and _is_free(value, after):
                yield block, value


def _is_free(value: str, after: tuple[Step, ...]) -> bool:
    """Whether no later result fails: an error may be about the very value."""
    return not any(step.error and value in text_of(step) for step in after)


def _number(identifier: str) -> str:
    """The longest row of digits in an identifier."""
    return str(max(re.findall(r"\d+", identifier), key=len))


def _unheard(identifier: str, run: Trajectory, rng: Random) -> str | None:
    """An identifier of the same shape whose number stands nowhere in the run or its policy."""
    everything = text_of_all(run.steps) + (run.policy or "")
    number = _number(identifier)
    for _ in range(_TRIES):
        other = str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in number[1:])
        if other not in everything:
            return identifier.replace(number, other)
    return None


def misreported_amount(run: Trajectory, rng: Random) -> Edited | Refused:
    """An amount that a result holds is told to the user with two digits exchanged or one changed.

    Only where no change of a record and no call with the amount follows, so that nothing but the telling is wrong.
    Later mentions by both sides follow. Where the same message does a sum with the amount, the sum no longer comes
    out; a real misreading does that too.
    """
    places = list(_tellings(run))
    if not places:
        return Refused("no amount of a result is told after the last change")
    at, old = rng.choice(places)
    new = _misread(old, run, rng)
    if new is None:
        return Refused("no misreading of the amount is left")
    exact = re.compile(rf"(?<![\d.,]){re.escape(old)}(?!\d)")
    steps = tuple(
        rewritten(step, lambda text: exact.sub(new, text)) if step.index >= at and step.role != "tool" else step
        for step in run.steps
    )
    return Edited.in_place(run, steps, f"Step {at} tells the user {new} where a result holds {old}.")


def _tellings(run: Trajectory) -> Iterator[tuple[int, str]]:
    kinds = run.kinds
    last_change = max((s.index for s in run.steps for c in s.agent_calls if kinds.get(c.name) == "write"), default=-1)
    held: set[float] = set()
    by_user: set[float] = set()
    for step in run.steps:
        said = {_value(amount) for amount in _AMOUNT.findall(step.content)}
        if step.role == "tool":
            held |= _numbers(record_in(step)) | said
        elif step.role == "user":
            by_user |= said
        elif step.role == "assistant" and not step.tool_calls and step.index > last_change:
            for amount in dict.fromkeys(_AMOUNT.findall(step.content)):
                calls = [text_of(later) for later in run.steps[step.index :] if later.tool_calls]
                called = any(amount in call for call in calls)
                if _value(amount) in held - by_user - {0.0} and not called:
                    yield step.index, amount


def _numbers(value: object) -> set[float]:
    if isinstance(value, dict | list):
        members = value.values() if isinstance(value, dict) else value
        return set().union(*map(_numbers, members))
    return {abs(float(value))} if isinstance(value, int | float) and not isinstance(value, bool) else set()


def _value(amount: str) -> float:
    return float(amount.replace(",", ""))


def _misread(amount: str, run: Trajectory, rng: Random) -> str | None:
    """The amount with two neighbouring digits exchanged or one digit changed, equal to no amount of the run."""
    everything = text_of_all(run.steps) + (run.policy or "")
    taken = {_value(found) for found in _AMOUNT.findall(everything)}
    taken |= set().union(*(_numbers(record_in(step)) for step in run.steps if step.role == "tool"))
    digits = [place for place, letter in enumerate(amount) if letter.isdigit()]
    for _ in range(_TRIES):
        letters = list(amount)
        first = rng.randrange(len(digits))
        if first + 1 < len(digits) and rng.random() < 0.5:
            here, there = digits[first], digits[first + 1]
            letters[here], letters[there] = letters[there], letters[here]
        else:
            letters[digits[first]] = str(rng.randint(1, 9))
        other = "".join(letters)
        if abs(_value(other) - _value(amount)) < LEAST_ERROR:
            continue
        if _value(other) not in taken and (not other.startswith("0") or amount.startswith("0")):
            return other
    return None
