"""Signals and grades as ratings: one line a judged signal, so that programs, models and people enter alike.

The question of a signal is ``CATEGORY.SIGNAL`` (``agent.relevance``) on the scale ``unit``, its `interaction_id` the
interaction's number, none for necessity; that of a goal check is ``goal.N``, N from 1, on the scale ``check``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

import polars as pl

from axisjudge.scores.axis.judged.signals import (
    JUDGED,
    UNJUDGED,
    Audit,
    CategorySignals,
    GoalCheck,
    Grade,
    Necessity,
    Signals,
    limited_grade,
)
from axisjudge.scores.axis.transcript.categories import CATEGORIES, Category
from axisjudge.scores.axis.transcript.run import AxisRun
from axisjudge.verdict import Rating

#: How the ratings of one question are made into one number: each rater's mean over repeats, and of raters this.
Combine = Literal["mean", "median"]

#: Kinds of raters that are models, and so have a family that an agent can share.
MODELS = ("llm", "decision_model")

_GOAL = "goal"
#: Begins the flags that name the interactions which were not needed.
UNNECESSARY = "unnecessary "
_CHECK = "check:"


def signal_questions(category: Category) -> tuple[str, ...]:
    """The questions asked of each interaction of a category: success, and the agent's weight and relevance."""
    return tuple(f"{category}.{signal}" for signal in (JUDGED if category == "agent" else JUDGED[:1]))


def goal_question(number: int) -> str:
    """The question of a scenario's goal check by its number, from 1."""
    return f"{_GOAL}.{number}"


def check_flag(check: GoalCheck) -> str:
    """A flag that says which check was graded, so that a grade is never taken for another check's."""
    return f"{_CHECK}{sha256(check.check.encode(errors='replace')).hexdigest()[:12]}"


class JudgedNumber(NamedTuple):
    """One number that was said of a category: its question, the interaction (None: all of them), the reason, flags."""

    question: str
    id: int | None
    value: float
    rationale: str | None
    flags: tuple[str, ...] = ()


def judged_of(category: Category, signals: CategorySignals) -> Iterator[JudgedNumber]:
    """Every number that was said of a category's interactions; what was not judged is left out.

    Where necessity has no number, what is known to be needless stands on that interaction's own ratings.
    """
    needed = signals.necessity
    needless = needed.unnecessary if category == "agent" and needed.score is None else ()
    for audit in signals.audits:
        flags: tuple[str, ...] = (f"{UNNECESSARY}{audit.id}",) if audit.id in needless else ()
        for question in signal_questions(category):
            value = getattr(audit, question.partition(".")[2])
            if value is not None:
                yield JudgedNumber(question, audit.id, value, audit.rationale or None, flags)
    if category == "agent" and needed.score is not None:
        flags = tuple(f"{UNNECESSARY}{id}" for id in needed.unnecessary)
        yield JudgedNumber("agent.necessity", None, needed.score, needed.rationale, flags)


def ratings_of_signals(run: AxisRun, signals: Signals, *, rater: str = "rules") -> list[Rating]:
    """What one rater said of a run's signals, as ratings; what was not judged is no rating."""
    return [
        Rating(
            trajectory_id=run.id,
            interaction_id=None if judged.id is None else str(judged.id),
            task_id=run.task_id,
            cluster_id=run.cluster_id,
            agent=run.agent,
            question=judged.question,
            scale="unit",
            value=judged.value,
            rationale=judged.rationale,
            flags=list(judged.flags),
            rater=rater,
            rater_kind="rules",
            family=rater,
            rater_version="2",
        )
        for category, of_category in signals.items()
        for judged in judged_of(category, of_category)
    ]


def signals_of_ratings(ratings: pl.DataFrame, *, combine: Combine = "mean") -> Signals:
    """The signals of one run from its ratings: each rater's mean over repeats, then the mean or median of raters.

    A category that was asked about and of which every rating was lost is there, without audits.
    """
    signals: dict[Category, CategorySignals] = {}
    for category in CATEGORIES:
        if ratings.filter(pl.col("question").str.starts_with(f"{category}.")).is_empty():
            continue
        by_point = _answers(ratings, f"{category}.")
        ids = sorted({int(id) for _, id in by_point if id is not None and id.isdigit()})
        audits = tuple(_audit(by_point, id, combine) for id in ids)
        signals[category] = CategorySignals(audits, _necessity(by_point, combine))
    return signals


def grades_of_ratings(ratings: pl.DataFrame, checks: Sequence[GoalCheck], *, combine: Combine = "mean") -> list[Grade]:
    """The grades of one run's goal checks from its ratings; a check that nobody graded has None.

    Ratings that say which check they grade count for that check alone. One grade is rounded to a whole number, as the
    program does; what several are combined to is not rounded again.
    """
    by_point = _answers(ratings, f"{_GOAL}.")
    grades = []
    for number, check in enumerate(checks, 1):
        rows = [row for row in by_point.get((str(number), None), ()) if _is_about(row, check)]
        score = _combined(rows, combine)
        if score is not None and len(rows) == 1:
            score = limited_grade(score)
        rationale = "; ".join(row["rationale"] for row in rows or () if row["rationale"])
        grades.append(Grade(check, score, rationale))
    return grades


def judged_by(ratings: pl.DataFrame, combine: Combine = "mean") -> str:
    """Who judged signals or goal checks, and what was made of the numbers of several."""
    raters = sorted(set(asked_of_axis(ratings)["rater"]))
    return ", ".join(raters) + (f" (the {combine} of {len(raters)}, signal by signal)" if len(raters) > 1 else "")


def marks_of_judges(ratings: pl.DataFrame | None, agent_family: str | None) -> list[str]:
    """What a reader must know of the models that judged a run: of the agent's own family, held out, numbers lost."""
    if ratings is None:
        return []
    asked = asked_of_axis(ratings)
    models = asked.filter(pl.col("rater_kind").is_in(MODELS))
    marks = []
    if agent_family and (own := sorted(set(models.filter(pl.col("family") == agent_family)["rater"]))):
        marks.append(f"judged by a model of the agent's own family ({agent_family}): {', '.join(own)}")
    if agent_family is None and not models.is_empty():
        marks.append("the agent's model family is not known, so a judge may be of its own family")
    if not asked.filter(pl.col("flags").list.contains("exploratory")).is_empty():
        marks.append("EXPLORATORY: held-out runs judged without lock and opening")
    lost = asked.filter(pl.col("status") != "ok").group_by("status").len().sort("status").rows()
    if lost:
        counts = ", ".join(f"{count} by {status}" for status, count in lost)
        what = "the goal" if asked["question"].str.starts_with(f"{_GOAL}.").all() else "signals"
        marks.append(f"answers of judges on {what} were lost: {counts}")
    return marks


def asked_of_axis(ratings: pl.DataFrame) -> pl.DataFrame:
    """The ratings of signals and goal checks among others."""
    return ratings.filter(pl.col("question").str.contains(r"^(environment|service|agent|goal)\."))


_Rows = list[dict[str, Any]]


def _answers(ratings: pl.DataFrame, prefix: str) -> dict[tuple[str, str | None], _Rows]:
    """Rows with a value by what follows the prefix in the question, and by interaction."""
    kept = ratings.filter(pl.col("question").str.starts_with(prefix) & pl.col("value").is_not_null())
    by_point: dict[tuple[str, str | None], _Rows] = {}
    for row in kept.select("question", "interaction_id", "rater", "value", "rationale", "flags").to_dicts():
        by_point.setdefault((row["question"].removeprefix(prefix), row["interaction_id"]), []).append(row)
    return by_point


def _combined(rows: _Rows | None, combine: Combine) -> float | None:
    if not rows:
        return None
    raters = dict.fromkeys(row["rater"] for row in rows)
    means = [fmean(row["value"] for row in rows if row["rater"] == rater) for rater in raters]
    return fmean(means) if combine == "mean" else median(means)


def _is_about(row: dict[str, Any], check: GoalCheck) -> bool:
    named = [flag for flag in row["flags"] or () if flag.startswith(_CHECK)]
    return not named or check_flag(check) in named


def _audit(by_point: dict[tuple[str, str | None], _Rows], id: int, combine: Combine) -> Audit:
    success, weight, relevance = (_combined(by_point.get((name, str(id))), combine) for name in JUDGED)
    return Audit(id, success, weight, relevance, _rationales(by_point, id))


def _rationales(by_point: dict[tuple[str, str | None], _Rows], id: int) -> str:
    rows = [row for name in JUDGED for row in by_point.get((name, str(id)), ())]
    return "; ".join(dict.fromkeys(row["rationale"] for row in rows if row["rationale"]))


def _necessity(by_point: dict[tuple[str, str | None], _Rows], combine: Combine) -> Necessity:
    rows = by_point.get(("necessity", None), [])
    flags = {flag for each in by_point.values() for row in each for flag in row["flags"] or ()}
    ids = tuple(sorted(int(flag.removeprefix(UNNECESSARY)) for flag in flags if flag.startswith(UNNECESSARY)))
    if not rows:
        return UNJUDGED._replace(unnecessary=ids)
    return Necessity(_combined(rows, combine), ids, "; ".join(row["rationale"] for row in rows if row["rationale"]))
