"""What a judge's reply in AXIS's own format says: audits of interactions, necessity, grades of goal checks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from axisjudge.checks import InputError
from axisjudge.scores.axis.judged import signals
from axisjudge.scores.axis.rule_sets import RuleSet
from axisjudge.scores.axis.transcript.categories import CATEGORIES, Category
from axisjudge.scores.axis.transcript.interactions import Interaction
from axisjudge.scores.axis.transcript.javascript import as_double, is_number

#: What a number that cannot be used counts as.
_UNUSABLE = 0.5
_UNREADABLE = "Failed to parse judge response"
_NO_GRADE = "No grade provided"
_DECIMAL = re.compile(r"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)?", re.ASCII)


def strict_json(text: str) -> Any:
    """What a JSON text holds; NaN and Infinity, which JSON has not, are a ValueError."""
    return json.loads(text, parse_constant=_refuse)


def reply_object(text: str | None) -> dict[str, Any] | None:
    """The JSON object from the first ``{`` to the last ``}`` of a reply; None where that is not strict JSON."""
    if not text or "{" not in text:
        return None
    try:
        reply = strict_json(text[text.index("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    return reply if isinstance(reply, dict) else None


def judged_categories(
    interactions: list[Interaction], weights: Mapping[str, float], rules: RuleSet
) -> tuple[Category, ...]:
    """The categories whose judge is asked: those with interactions and with weight.

    The agent's judge needs an interaction of the agent's own, unless the rules have it audit always.
    """
    return tuple(
        category
        for category in CATEGORIES
        if weights[category] != 0
        and (
            any(category in each.categories for each in interactions)
            or (category == "agent" and rules.agent_always_audits and bool(interactions))
        )
    )


def signals_of_reply(
    text: str | None, category: Category, interactions: list[Interaction], rules: RuleSet
) -> signals.CategorySignals:
    """The signals in a reply; what it does not say stays None, and of two audits of one interaction the later wins.

    Under rules with defaults a value that is missing or no number becomes the program's default for it.
    """
    reply = reply_object(text)
    if reply is None:
        return signals.CategorySignals()
    ids = {each.id for each in signals.scope(interactions, category)}
    given = reply.get("audits")
    audits: dict[int, signals.Audit] = {}
    for audit in given if isinstance(given, list) else ():
        if isinstance(audit, dict) and is_number(audit.get("id")) and audit["id"] in ids:
            audits[int(audit["id"])] = _audit(audit, category, rules)
    return signals.CategorySignals(tuple(audits.values()), _necessity(reply, rules))


def grades_of_reply(
    text: str | None, checks: Sequence[signals.GoalCheck], rules: RuleSet, *, holistic: bool
) -> list[signals.Grade]:
    """The grades in a reply: of each check, or the one of a goal that is judged as a whole.

    Grades are rounded to whole numbers from 0 to 10. A check without a grade, or a reply that cannot be read, gives
    None, or 0 under rules with defaults.

    Raises
    ------
    InputError
        An element of the reply's grades is null.
    """
    reply = reply_object(text) or {}
    absent = 0 if rules.missing == "defaults" else None
    if holistic:
        if is_number(score := reply.get("score", "")):
            return [
                signals.Grade(checks[0], signals.limited_grade(as_double(score)), _text(reply.get("rationale"), ""))
            ]
        return [signals.Grade(checks[0], absent, _UNREADABLE)]
    grades = reply.get("grades")
    if not isinstance(grades, list):
        return [signals.Grade(check, absent, _UNREADABLE) for check in checks]
    if None in grades:
        raise InputError("goal reply", "each of its grades must be an object", None, "ask the judge again")
    numbered = [grade for grade in grades if isinstance(grade, dict) and is_number(grade.get("criterion_index"))]
    first = {grade["criterion_index"]: grade for grade in reversed(numbered)}
    return [_grade(check, first.get(index), absent) for index, check in enumerate(checks)]


def _grade(check: signals.GoalCheck, grade: dict[str, Any] | None, absent: float | None) -> signals.Grade:
    if grade is None:
        return signals.Grade(check, absent, _NO_GRADE)
    value: float | None = signals.limited_grade(_as_number(grade["score"]) if "score" in grade else math.nan)
    if value != value and absent is None:
        value = None
    rationale = grade.get("rationale")
    return signals.Grade(check, value, _NO_GRADE if rationale is None else str(rationale))


def _audit(audit: dict[str, Any], category: Category, rules: RuleSet) -> signals.Audit:
    success, weight, relevance = audit.get("success"), audit.get("weight"), audit.get("contextRelevance")
    with_defaults = rules.missing == "defaults"
    judged = _clamped(success) if with_defaults or is_number(success) else None
    absent = 1.0 if with_defaults else None
    takes_all = category == "agent" or with_defaults
    return signals.Audit(
        int(audit["id"]),
        judged,
        _clamped(weight) if is_number(weight) and takes_all else absent,
        _clamped(relevance) if is_number(relevance) and takes_all else absent,
        _text(audit.get("rationale"), ""),
    )


def _necessity(reply: dict[str, Any], rules: RuleSet) -> signals.Necessity:
    given = reply.get("necessity")
    if rules.missing == "bounds":
        if not isinstance(given, dict) or not is_number(given.get("score")):
            return signals.Necessity()
    elif isinstance(given, list):
        return signals.Necessity(_UNUSABLE, (), "")
    elif not isinstance(given, dict):
        return signals.Necessity(1.0)
    ids = given.get("unnecessaryIds")
    unnecessary = tuple(each for each in ids if is_number(each)) if isinstance(ids, list) else ()
    return signals.Necessity(_clamped(given.get("score")), unnecessary, _text(given.get("rationale"), ""))


def _clamped(value: Any) -> float:
    if not is_number(value) or not math.isfinite(as_double(value)):
        return _UNUSABLE
    return min(1.0, max(0.0, as_double(value)))


def _as_number(value: Any) -> float:
    """``Number(value)`` of a JSON value."""
    if value is None or isinstance(value, bool):
        return float(bool(value))
    if is_number(value):
        return as_double(value)
    if isinstance(value, list):
        return _as_number("" if not value or value[0] is None else value[0]) if len(value) < 2 else math.nan
    if isinstance(value, str):
        text = value.strip()
        return float(text or 0) if _DECIMAL.fullmatch(text) else math.nan
    return math.nan


def _text(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
