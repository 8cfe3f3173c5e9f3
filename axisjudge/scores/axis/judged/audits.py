"""The answers to a sheet of signals or of goal checks: their JSON schemas, and what a reply says of every point.

The form is the original program's, so that one reading serves its judges' replies too. Under rules with bounds a reply
is read strictly: a value outside its scale, an interaction that was not shown, one audited twice, a missing field make
the point lost, never a number. Under rules with defaults it is read as the program reads it (`scores.axis.replies`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from axisjudge.checks import InputError
from axisjudge.judges.answer import Answer, ReadSheet, head, point
from axisjudge.judges.prompt import object_schema
from axisjudge.scores.axis.judged import signals
from axisjudge.scores.axis.judged.signals import UNNECESSARY, GoalCheck, goal_question, signal_questions
from axisjudge.scores.axis.rule_sets import RuleSet
from axisjudge.scores.axis.transcript.categories import CATEGORIES, Category
from axisjudge.scores.axis.transcript.interactions import Interaction
from axisjudge.scores.axis.transcript.javascript import as_double, is_number

#: A judged signal in a reply, by its name here.
FIELDS = {"success": "success", "weight": "weight", "relevance": "contextRelevance"}
NOT_AUDITED = "the reply holds no audit of this interaction"
NOT_GRADED = "the reply holds no grade of this check"
UNKNOWN = "unknown_interaction"

Schema = dict[str, Any]


def audit_schema(category: Category) -> Schema:
    """What a judge of a category writes: an audit of every interaction, and for the agent necessity."""
    numbers = {FIELDS[name.partition(".")[2]]: {"type": "number"} for name in signal_questions(category)}
    audit = object_schema(id={"type": "integer"}, rationale={"type": "string"}, **numbers)
    fields = {"audits": {"type": "array", "items": audit}}
    if category == "agent":
        ids = {"type": "array", "items": {"type": "integer"}}
        fields["necessity"] = object_schema(rationale={"type": "string"}, unnecessaryIds=ids, score={"type": "number"})
    return object_schema(**fields)


def grade_schema(*, holistic: bool) -> Schema:
    """What a judge of the goal writes: a grade of every check, or one of the goal as a whole."""
    if holistic:
        return object_schema(rationale={"type": "string"}, score={"type": "integer"})
    numbers = {"criterion_index": {"type": "integer"}, "rationale": {"type": "string"}, "score": {"type": "integer"}}
    return object_schema(grades={"type": "array", "items": object_schema(**numbers)})


def audits_reader(
    category: Category, scope: Sequence[Interaction], rules: RuleSet, flags: Mapping[int | None, tuple[str, ...]]
) -> Callable[[str], ReadSheet]:
    """The reader of a reply about a category's interactions; `flags` are those of each interaction's ratings."""

    def read(text: str) -> ReadSheet:
        reply = (
            _by_program(text, category, scope, rules) if rules.missing == "defaults" else _audits(text, category, scope)
        )
        answers = {name: _flagged(answer, flags.get(_id_of(name), ())) for name, answer in reply.answers.items()}
        return ReadSheet(answers, reply.flags)

    return read


def grades_reader(checks: Mapping[int, GoalCheck], rules: RuleSet, *, holistic: bool) -> Callable[[str], ReadSheet]:
    """The reader of a reply about goal checks, by their numbers in the scenario; in the reply they count from 0."""

    def read(text: str) -> ReadSheet:
        if rules.missing == "defaults":
            grades = _grades_by_program(text, list(checks.values()), rules, holistic=holistic)
        else:
            grades = _grades(text, len(checks), holistic=holistic)
        return ReadSheet({goal_question(number): grade for number, grade in zip(checks, grades, strict=True)})

    return read


def _audits(text: str, category: Category, scope: Sequence[Interaction]) -> ReadSheet:
    questions = signal_questions(category)
    points = [point(question, each.id) for each in scope for question in questions]
    if category == "agent":
        points.append("agent.necessity")
    reply, fault = _strict(text)
    given = reply.get("audits")
    if not fault and not isinstance(given, list):
        fault = "audits must be a list"
    if fault:
        return ReadSheet({name: _lost(f"{fault}; received: {head(text)}") for name in points})
    audits: dict[int, list[Mapping[str, Any]]] = {each.id: [] for each in scope}
    unknown = []
    for audit in given if isinstance(given, list) else ():
        id = audit.get("id") if isinstance(audit, dict) else None
        if _is_whole(id) and id in audits:
            audits[id].append(audit)
        else:
            unknown.append(id)
    answers = {
        point(question, id): _audit(given_audits, FIELDS[question.partition(".")[2]])
        for id, given_audits in audits.items()
        for question in questions
    }
    if category == "agent":
        answers["agent.necessity"] = _necessity(reply.get("necessity"), set(audits))
    return ReadSheet(answers, tuple(f"{UNKNOWN}:{_writable(head(str(id), 20))}" for id in unknown))


def _audit(given: Sequence[Mapping[str, Any]], field: str) -> Answer:
    if fault := _fault(given, NOT_AUDITED, "audited"):
        return _lost(fault)
    return _number(given[0].get(field), field, given[0]["rationale"], most=1)


def _fault(given: Sequence[Mapping[str, Any]], absent: str, done: str) -> str:
    """Why what was given of one point cannot be taken; empty where it can."""
    if not given:
        return absent
    if any(each != given[0] for each in given):
        return f"{done} {len(given)} times, and not alike"
    rationale = given[0].get("rationale")
    return "" if isinstance(rationale, str) else f"rationale must be a text; found {head(json.dumps(rationale))}"


def _necessity(given: Any, known_ids: set[int]) -> Answer:
    if not isinstance(given, dict):
        return _lost("the reply says nothing of necessity")
    ids, rationale = given.get("unnecessaryIds"), given.get("rationale")
    if not isinstance(ids, list) or not all(map(_is_whole, ids)) or not isinstance(rationale, str):
        return _lost("necessity needs a list of whole numbers (unnecessaryIds) and a rationale")
    answer = _number(given.get("score"), "necessity", rationale, most=1)
    ids = list(dict.fromkeys(ids))
    return _flagged(answer, [f"{UNNECESSARY}{id}" if id in known_ids else f"{UNKNOWN}:{id}" for id in ids])


def _grades(text: str, count: int, *, holistic: bool) -> list[Answer]:
    reply, fault = _strict(text)
    given = [{**reply, "criterion_index": 0}] if holistic else reply.get("grades")
    if not fault and not isinstance(given, list):
        fault = "grades must be a list"
    if fault:
        return [_lost(f"{fault}; received: {head(text)}")] * count
    by_index: dict[int, list[Mapping[str, Any]]] = {}
    for grade in given if isinstance(given, list) else ():
        if isinstance(grade, dict) and _is_whole(grade.get("criterion_index")):
            by_index.setdefault(grade["criterion_index"], []).append(grade)
    return [_graded(by_index.get(index, [])) for index in range(count)]


def _graded(given: Sequence[Mapping[str, Any]]) -> Answer:
    if fault := _fault(given, NOT_GRADED, "graded"):
        return _lost(fault)
    score = given[0].get("score")
    if not _is_whole(score):
        return _lost(f"score must be a whole number from 0 to 10; found {head(json.dumps(score))}")
    return _number(score, "score", given[0]["rationale"], most=10)


def _by_program(text: str, category: Category, scope: Sequence[Interaction], rules: RuleSet) -> ReadSheet:
    """A reply as the original program reads it; what it fills in for lack of an audit is left to the scoring."""
    read = reply_object(text) is not None
    signals = signals_of_reply(text, category, list(scope), rules)
    audits = {audit.id: audit for audit in signals.audits}
    fault = NOT_AUDITED if read else f"no JSON object; received: {head(text)}"
    answers: dict[str, Answer] = {}
    for each in scope:
        audit = audits.get(each.id)
        for question in signal_questions(category):
            value = None if audit is None else getattr(audit, question.partition(".")[2])
            answers[point(question, each.id)] = (
                _lost(fault) if audit is None or value is None else _ok(value, audit.rationale)
            )
    if category == "agent":
        needed = signals.necessity
        in_scope = {each.id for each in scope}
        flags = tuple(f"{UNNECESSARY}{int(id)}" for id in needed.unnecessary if id in in_scope)
        score = needed.score
        answers["agent.necessity"] = _lost(fault) if score is None else _flagged(_ok(score, needed.rationale), flags)
    return ReadSheet(answers)


def _grades_by_program(text: str, checks: Sequence[GoalCheck], rules: RuleSet, *, holistic: bool) -> list[Answer]:
    if reply_object(text) is None:
        return [_lost(f"no JSON object; received: {head(text)}")] * len(checks)
    try:
        grades = grades_of_reply(text, checks, rules, holistic=holistic)
    except InputError as error:  # the program breaks off at a grade that is null
        return [_lost(error.rule)] * len(checks)
    return [
        _lost("the score is no number")
        if grade.score is None or grade.score != grade.score
        else _ok(grade.score, grade.rationale)
        for grade in grades
    ]


def _strict(text: str) -> tuple[dict[str, Any], str]:
    """The one object that a text is, or why it is none."""
    try:
        reply = strict_json(text)
    except (ValueError, RecursionError) as error:
        return {}, f"no JSON object and nothing else ({error})"
    return (reply, "") if isinstance(reply, dict) else ({}, "the reply is no JSON object")


def _number(value: Any, name: str, rationale: str, *, most: float) -> Answer:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        return _lost(f"{name} must be a number from 0 to {most}; found {head(json.dumps(value))}")
    return _ok(value, rationale)


def _ok(value: float, rationale: str) -> Answer:
    return Answer("ok", value=float(value), rationale=_writable(rationale) or None)


def _lost(reason: str) -> Answer:
    return Answer("parse_error", rationale=_writable(reason))


def _flagged(answer: Answer, flags: Sequence[str]) -> Answer:
    return replace(answer, flags=(*answer.flags, *flags)) if flags else answer


def _id_of(name: str) -> int | None:
    id = name.partition("@")[2]
    return int(id) if id else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _writable(text: str) -> str:
    """The text without halves of a surrogate pair, which JSON can hold and no file."""
    return text.encode(errors="replace").decode()


# What a judge's reply in AXIS's own format says: audits of interactions, necessity, grades of goal checks.

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
            audits[int(audit["id"])] = _program_audit(audit, category, rules)
    return signals.CategorySignals(tuple(audits.values()), _program_necessity(reply, rules))


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


def _program_audit(audit: dict[str, Any], category: Category, rules: RuleSet) -> signals.Audit:
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


def _program_necessity(reply: dict[str, Any], rules: RuleSet) -> signals.Necessity:
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
