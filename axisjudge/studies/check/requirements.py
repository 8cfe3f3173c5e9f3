"""Requirements of a judge on the labels of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.stats.requirements import Decision, decided
from axisjudge.studies.check.compute import JudgeCheck, judge_check
from axisjudge.studies.check.tables import NAMES

if TYPE_CHECKING:
    from axisjudge.stats.estimate import Estimate
    from axisjudge.studies.check.checked import Checked

MEASURES = {
    "caught": "sensitivity",
    "passed": "specificity",
    "recall": "sensitivity",
    "accuracy": "agreement",
    "failure_rate": "failure_rate",
    **{name: name for name in NAMES},
}


def decide(result: Checked, requirements: Iterable[str]) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge, or ``JUDGE.MEASURE>=NUMBER`` for one; all of them hold together.

    With k decisions each rests on an interval at 1 - (1 - level) / k (Bonferroni), so that the chance that any is
    called met wrongly stays below that of one.

    Raises
    ------
    InputError
        As `axisjudge.stats.requirements.decided` does.
    """
    asked = list(requirements)

    def at(judges: Iterable[JudgeCheck]) -> tuple[Decision, ...]:
        return decided(asked, MEASURES, [((one.name,), one.name, partial(_measure, one)) for one in judges])

    first = at(result.judges)
    if len(first) < 2:
        return first
    together = replace(result.terms, ci_level=level_of_each(len(first), result.terms.ci_level))
    return at([judge_check(result.votes, number, together) for number in range(len(result.judges))])


def level_of_each(count: int, ci_level: float) -> float:
    """The level of each of `count` intervals that hold together at `ci_level`."""
    return 1 - (1 - ci_level) / count


def verdict_line(decisions: Sequence[Decision], ci_level: float) -> str:
    """All requirements in one word, with the bound that decided the worst of them."""
    order = {"short": 0, "cannot_tell": 1, "met": 2}
    worst = min(decisions, key=lambda each: order[each.outcome])
    word = {"short": "Short", "cannot_tell": "Undecided", "met": "Met"}[worst.outcome]
    above = ">=" in worst.requirement
    end, name = (worst.ci_low, "at least") if above else (worst.ci_high, "at most")
    if worst.outcome == "short":
        end, name = (worst.ci_high, "at most") if above else (worst.ci_low, "at least")
    known = f"{worst.judge} has {name} {end:.3f}" if not math.isnan(end) else f"{worst.judge}: {worst.reason}"
    several = f", all {len(decisions)} together" if len(decisions) > 1 else ""
    return f"{word}: {worst.requirement} ({known}, at {ci_level:.0%} confidence{several})."


def _measure(judge: JudgeCheck, asked: str) -> Estimate:
    name = MEASURES[asked]
    if name == "failure_rate" and judge.said_failing is not None:
        return judge.said_failing if judge.corrected is None else judge.corrected.rate
    if name not in judge.measures:
        cure = f"this question has {', '.join(judge.measures)}; --positive WORD names a word to be caught"
        raise InputError("--require", f"{name} is no measure of this question", cure=cure)
    return judge.measures[name]
