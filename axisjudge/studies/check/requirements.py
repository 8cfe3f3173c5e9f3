"""Requirements of a judge on the labels of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.stats.requirements import Decision, requirement_of
from axisjudge.studies.check.tables import NAMES

if TYPE_CHECKING:
    from axisjudge.stats.estimate import Estimate
    from axisjudge.studies.check.checked import Checked
    from axisjudge.studies.check.compute import JudgeCheck

MEASURES = {
    "caught": "sensitivity",
    "passed": "specificity",
    "recall": "sensitivity",
    "accuracy": "agreement",
    "failure_rate": "failure_rate",
    **{name: name for name in NAMES},
}


def decide(result: Checked, requirements: Iterable[str]) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge, or ``JUDGE.MEASURE>=NUMBER`` for one.

    A requirement is met when the lower bound reaches the number, fallen short of when the upper bound does not, and
    otherwise cannot be told from these labels; with ``<=`` the ends change places.

    Raises
    ------
    InputError
        Not of this form, an unknown measure or judge, or a measure that the question does not have.
    """
    decisions: list[Decision] = []
    for text in requirements:
        required = requirement_of(text, MEASURES)
        judges = [judge for judge in result.judges if required.of in (None, judge.name)]
        if not judges:
            raise InputError("--require", "names no judge of the table", required.of)
        name = MEASURES[required.measure]
        decisions += [required.decided(judge.name, _measure(judge, name)) for judge in judges]
    return tuple(decisions)


def _measure(judge: JudgeCheck, name: str) -> Estimate:
    if name == "failure_rate" and judge.said_failing is not None:
        return judge.said_failing if judge.corrected is None else judge.corrected.rate
    if name not in judge.measures:
        cure = f"this question has {', '.join(judge.measures)}; --positive WORD names a word to be caught"
        raise InputError("--require", f"{name} is no measure of this question", cure=cure)
    return judge.measures[name]
