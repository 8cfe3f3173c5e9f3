"""Requirements of a judge, decided on the bound that counts: met, short of it, or too few labels to tell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from axisjudge.checks import InputError
from axisjudge.studies.check.tables import NAMES

if TYPE_CHECKING:
    from axisjudge.stats.estimate import Estimate
    from axisjudge.studies.check.checked import Checked
    from axisjudge.studies.check.compute import JudgeCheck

Outcome = Literal["met", "short", "cannot_tell"]

MEASURES = {
    "caught": "sensitivity",
    "passed": "specificity",
    "recall": "sensitivity",
    "accuracy": "agreement",
    "failure_rate": "failure_rate",
    **{name: name for name in NAMES},
}
#: Exit codes of the command, the worst of all decisions.
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
            known = f"no interval: {self.reason}" if self.reason else "no interval"
        else:
            known = f"{self.estimate:.3f}, {self.ci_low:.3f} to {self.ci_high:.3f}"
        said = {"met": "met", "short": "fell short", "cannot_tell": "too few labels to tell"}[self.outcome]
        return f"{self.judge}: {self.requirement}: {said} ({known})"


def decide(result: Checked, requirements: Iterable[str]) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge, or ``JUDGE.MEASURE>=NUMBER`` for one.

    A requirement is met when the lower bound reaches the number, fallen short of when the upper bound does not, and
    otherwise cannot be told from these labels; with ``<=`` the ends change places.

    Raises
    ------
    InputError
        Not of this form, an unknown measure or judge, or a measure that the question does not have.
    """
    return tuple(each for text in requirements for each in _one(result, text))


def _one(result: Checked, text: str) -> list[Decision]:
    match = re.fullmatch(
        r"\s*(?:(?P<judge>.+)\.)?(?P<name>[A-Za-z]\w*)\s*(?P<sign>>=|<=)\s*(?P<number>[\d.]+)\s*", text
    )
    listed = ", ".join(MEASURES)
    if not match or match["name"].casefold() not in MEASURES or not _is_number(match["number"]):
        raise InputError("--require", "must be MEASURE>=NUMBER", text, f"measures: {listed}")
    judges = [judge for judge in result.judges if match["judge"] in (None, judge.name)]
    if not judges:
        raise InputError("--require", "names no judge of the table", match["judge"])
    name, number = MEASURES[match["name"].casefold()], float(match["number"])
    return [_decision(text.strip(), judge, _measure(judge, name), match["sign"], number) for judge in judges]


def _measure(judge: JudgeCheck, name: str) -> Estimate:
    if name == "failure_rate" and judge.said_failing is not None:
        return judge.said_failing if judge.corrected is None else judge.corrected.rate
    if name not in judge.measures:
        cure = f"this question has {', '.join(judge.measures)}; --positive WORD names a word to be caught"
        raise InputError("--require", f"{name} is no measure of this question", cure=cure)
    return judge.measures[name]


def _decision(text: str, judge: JudgeCheck, found: Estimate, sign: str, number: float) -> Decision:
    low, high = found.ci_low, found.ci_high
    reached, missed = (low >= number, high < number) if sign == ">=" else (high <= number, low > number)
    outcome: Outcome = "met" if reached else "short" if missed else "cannot_tell"  # NaN decides nothing
    return Decision(text, judge.name, outcome, found.estimate, low, high, found.reason)


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d*)?|\.\d+", text))
