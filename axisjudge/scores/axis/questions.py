"""Signals and grades as ratings: one line a judged signal, so that programs, models and people enter alike.

The question of a signal is ``CATEGORY.SIGNAL`` (``agent.relevance``) on the scale ``unit``, its `interaction_id` the
interaction's number, none for necessity; that of a goal check is ``goal.N``, N from 1, on the scale ``check``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from axisjudge.scores.axis.categories import CATEGORIES, Category
from axisjudge.scores.axis.goal import Check, Grade, limited_grade
from axisjudge.scores.axis.run import AxisRun
from axisjudge.scores.axis.signals import JUDGED, Audit, CategorySignals, Necessity, Signals
from axisjudge.verdict import RaterKind, Rating

_GOAL = "goal"
_UNNECESSARY = "unnecessary "


def signal_questions(category: Category) -> tuple[str, ...]:
    """The questions asked of each interaction of a category: success, and the agent's weight and relevance."""
    return tuple(f"{category}.{signal}" for signal in (JUDGED if category == "agent" else JUDGED[:1]))


def ratings_of_signals(
    run: AxisRun, signals: Signals, *, rater: str = "rules", rater_kind: RaterKind = "rules", version: str = "1"
) -> list[Rating]:
    """What one rater said of a run's signals, as ratings; what was not judged is no rating."""
    who = {"rater": rater, "rater_kind": rater_kind, "family": rater, "rater_version": version}
    found = []
    for category, said in signals.items():
        for audit in said.audits:
            for question in signal_questions(category):
                value = getattr(audit, question.partition(".")[2])
                if value is not None:
                    about = {"interaction_id": str(audit.id), "rationale": audit.rationale or None}
                    found.append(_rating(run, question, value, scale="unit", **about, **who))
        if said.necessity.score is not None and category == "agent":
            flags = [f"{_UNNECESSARY}{id}" for id in said.necessity.unnecessary]
            reason = said.necessity.rationale
            rating = _rating(
                run, "agent.necessity", said.necessity.score, scale="unit", rationale=reason, flags=flags, **who
            )
            found.append(rating)
    return found


def ratings_of_grades(run: AxisRun, grades: Iterable[Grade], **who: Any) -> list[Rating]:
    """Grades of a run's goal checks as ratings; `who` gives rater, rater_kind and family."""
    return [
        _rating(run, f"{_GOAL}.{number}", grade.score, scale="check", rationale=grade.rationale or None, **who)
        for number, grade in enumerate(grades, 1)
        if grade.score is not None
    ]


def signals_of_ratings(ratings: pl.DataFrame) -> Signals:
    """The signals of one run from its ratings: each rater's mean over repeats, then the mean over raters."""
    found: dict[Category, CategorySignals] = {}
    for category in CATEGORIES:
        about = _answers(ratings, f"{category}.")
        if not about:
            continue
        ids = sorted({int(id) for _, id in about if id is not None and id.isdigit()})
        audits = tuple(_audit(about, id) for id in ids)
        found[category] = CategorySignals(audits, _necessity(about.get(("necessity", None))))
    return found


def grades_of_ratings(ratings: pl.DataFrame, checks: Sequence[Check]) -> list[Grade]:
    """The grades of one run's goal checks from its ratings; a check that nobody graded has None."""
    about = _answers(ratings, f"{_GOAL}.")
    grades = []
    for number, check in enumerate(checks, 1):
        rows = about.get((str(number), None))
        mean = _mean(rows)
        rationale = "; ".join(row["rationale"] for row in rows or () if row["rationale"])
        grades.append(Grade(check, None if mean is None else limited_grade(mean), rationale))
    return grades


def raters_of_ratings(ratings: pl.DataFrame) -> list[str]:
    """Who judged signals or goal checks."""
    asked = ratings.filter(pl.col("question").str.contains(r"^(environment|service|agent|goal)\."))
    return sorted(set(asked["rater"]))


_Rows = list[dict[str, Any]]


def _answers(ratings: pl.DataFrame, prefix: str) -> dict[tuple[str, str | None], _Rows]:
    """Rows with a value by what follows the prefix in the question, and by interaction."""
    kept = ratings.filter(pl.col("question").str.starts_with(prefix) & pl.col("value").is_not_null())
    found: dict[tuple[str, str | None], _Rows] = {}
    for row in kept.select("question", "interaction_id", "rater", "value", "rationale", "flags").to_dicts():
        found.setdefault((row["question"].removeprefix(prefix), row["interaction_id"]), []).append(row)
    return found


def _mean(rows: _Rows | None) -> float | None:
    if not rows:
        return None
    raters = dict.fromkeys(row["rater"] for row in rows)
    return fmean(fmean(row["value"] for row in rows if row["rater"] == rater) for rater in raters)


def _audit(about: dict[tuple[str, str | None], _Rows], id: int) -> Audit:
    success, weight, relevance = (_mean(about.get((name, str(id)))) for name in JUDGED)
    return Audit(id, success, weight, relevance, _said(about, id))


def _said(about: dict[tuple[str, str | None], _Rows], id: int) -> str:
    rows = [row for name in JUDGED for row in about.get((name, str(id)), ())]
    return "; ".join(dict.fromkeys(row["rationale"] for row in rows if row["rationale"]))


def _necessity(rows: _Rows | None) -> Necessity:
    if not rows:
        return Necessity()
    flags = {flag for row in rows for flag in row["flags"] or () if flag.startswith(_UNNECESSARY)}
    ids = tuple(sorted(int(flag.removeprefix(_UNNECESSARY)) for flag in flags))
    return Necessity(_mean(rows), ids, "; ".join(row["rationale"] for row in rows if row["rationale"]))


def _rating(run: AxisRun, question: str, value: float, **about: Any) -> Rating:
    return Rating(
        trajectory_id=run.id,
        task_id=run.task_id,
        cluster_id=run.cluster_id,
        agent=run.agent,
        question=question,
        value=value,
        **about,
    )
