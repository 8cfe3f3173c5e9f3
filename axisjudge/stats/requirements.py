"""Requirements decided on the bound that counts: met, short of it, or too few labels to tell."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate, no_interval

Outcome = Literal["met", "short", "cannot_tell"]
#: By which names a requirement may be of a judge, what a decision calls it, and its estimates (None: not measured).
Measured = tuple[tuple[str, ...], str, Callable[[str], Estimate | None]]
#: Exit codes of commands, the worst of all decisions.
EXIT = {"met": 0, "short": 1, "cannot_tell": 4}


@dataclass(frozen=True)
class Decision:
    """One requirement of one judge; `bound` is the end of the interval that decided."""

    requirement: str
    judge: str
    outcome: Outcome
    estimate: float
    ci_low: float
    ci_high: float
    reason: str = ""

    def sentence(self) -> str:
        """What was required, what is known."""
        if math.isnan(self.ci_low):
            known = no_interval(self.reason)
        else:
            known = f"{self.estimate:.3f}, {self.ci_low:.3f} to {self.ci_high:.3f}"
        said = {"met": "met", "short": "fell short", "cannot_tell": "too few labels to tell"}[self.outcome]
        return f"{self.judge}: {self.requirement}: {said} ({known})"


class Requirement(NamedTuple):
    """``MEASURE>=NUMBER`` or ``NAME.MEASURE>=NUMBER``, read; `of` is the name or None."""

    text: str
    of: str | None
    measure: str
    sign: str
    number: float

    def decided(self, judge: str, known: Estimate) -> Decision:
        """Met when the lower bound reaches the number, short of it when the upper one does not; `<=` the reverse."""
        low, high = known.ci_low, known.ci_high
        reached, missed = (low >= self.number, high < self.number)
        if self.sign == "<=":
            reached, missed = (high <= self.number, low > self.number)
        outcome: Outcome = "met" if reached else "short" if missed else "cannot_tell"  # NaN decides nothing
        return Decision(self.text, judge, outcome, known.estimate, low, high, known.reason)


def requirement_of(text: str, measures: Collection[str]) -> Requirement:
    """Read a requirement.

    Raises
    ------
    InputError
        Not of this form, an unknown measure, or a number that no share or coefficient can reach.
    """
    match = re.fullmatch(
        r"\s*(?:(?P<of>.+)\.)?(?P<name>[A-Za-z]\w*)\s*(?P<sign>>=|<=)\s*(?P<number>\d+(\.\d*)?|\.\d+)\s*", text
    )
    if not match or match["name"].casefold() not in measures:
        raise InputError("--require", "must be MEASURE>=NUMBER", text, f"measures: {', '.join(measures)}")
    if (number := float(match["number"])) > 1:
        cure = f"{number:g}% is {number / 100:g}" if number <= 100 else ""
        raise InputError("--require", "compares a share or a coefficient, at most 1", text, cure)
    return Requirement(text.strip(), match["of"], match["name"].casefold(), match["sign"], number)


def decided(
    requirements: Iterable[str], measures: Collection[str], judges: Collection[Measured]
) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge, ``NAME.MEASURE>=NUMBER`` for those of that name.

    A requirement is met when the lower bound reaches the number, fallen short of when the upper bound does not, and
    otherwise cannot be told from these labels; with ``<=`` the ends change places.

    Raises
    ------
    InputError
        Not of this form, an unknown measure or name, or a measure that none of these judges has.
    """
    decisions: list[Decision] = []
    for text in requirements:
        required = requirement_of(text, measures)
        named = [(judge, estimates) for names, judge, estimates in judges if required.of in (None, *names)]
        if not named:
            raise InputError("--require", "names no judge or question of these ratings", required.of)
        known = [(judge, estimates(required.measure)) for judge, estimates in named]
        if all(estimate is None for _, estimate in known):
            raise InputError("--require", f"{required.measure} is no measure of {required.of or 'these'}", text)
        decisions += [required.decided(judge, estimate) for judge, estimate in known if estimate is not None]
    return tuple(decisions)


def exit_code(decisions: Collection[Decision]) -> int:
    """1 where one is shown to fall short, else 4 where one cannot be told, else 0."""
    outcomes = {each.outcome for each in decisions}
    return next((EXIT[name] for name in ("short", "cannot_tell") if name in outcomes), 0)
