"""Requirements of a judge on the labels of a table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.stats.requirements import Decision, decided
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

    Raises
    ------
    InputError
        As `axisjudge.stats.requirements.decided` does.
    """
    return decided(requirements, MEASURES, [((one.name,), one.name, partial(_measure, one)) for one in result.judges])


def _measure(judge: JudgeCheck, asked: str) -> Estimate:
    name = MEASURES[asked]
    if name == "failure_rate" and judge.said_failing is not None:
        return judge.said_failing if judge.corrected is None else judge.corrected.rate
    if name not in judge.measures:
        cure = f"this question has {', '.join(judge.measures)}; --positive WORD names a word to be caught"
        raise InputError("--require", f"{name} is no measure of this question", cure=cure)
    return judge.measures[name]
