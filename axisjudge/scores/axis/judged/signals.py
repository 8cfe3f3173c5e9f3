"""What is judged of each interaction (signals) and of the goal (checks, graded), and what stands in for what is not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.scales import ends_of
from axisjudge.scores.axis.transcript.categories import CATEGORIES, Category
from axisjudge.scores.axis.transcript.interactions import AxisRun, Interaction
from axisjudge.scores.axis.transcript.javascript import half_up
from axisjudge.verdict import Rating

#: The five signals, in the order in which they are added up.
SIGNALS = ("success", "speed", "weight", "relevance", "necessity")
#: Those that are judged of each interaction.
JUDGED = ("success", "weight", "relevance")
#: Weight of each signal in each dimension.
SIGNAL_WEIGHTS: dict[Category, tuple[float, ...]] = {
    "environment": (0.7, 0.3, 0.0, 0.0, 0.0),
    "service": (0.7, 0.3, 0.0, 0.0, 0.0),
    "agent": (0.1, 0.1, 0.2, 0.2, 0.4),
}

#: The word by which a signal that nobody judged is known.
DEFAULT = "default"
_SUCCESS, _SUCCESS_OF_ERROR = 1.0, 0.3
#: Necessity where no judge was asked or its answer could not be read.
DEFAULT_NECESSITY = 0.8


class Audit(NamedTuple):
    """One interaction's judged signals, each in [0, 1], or None where it was not judged."""

    id: int
    success: float | None = None
    weight: float | None = None
    relevance: float | None = None
    rationale: str = ""

    @property
    def judged(self) -> bool:
        """Whether any signal of it was."""
        return any(value is not None for value in (self.success, self.weight, self.relevance))


class Necessity(NamedTuple):
    """Were the interactions needed? One score for all of a category, with the ids of those that were not."""

    score: float | None = None
    unnecessary: tuple[int, ...] = ()
    rationale: str = DEFAULT


#: Nobody said anything of necessity.
UNJUDGED = Necessity()


class CategorySignals(NamedTuple):
    """What one judge said of one category's interactions."""

    audits: tuple[Audit, ...] = ()
    necessity: Necessity = UNJUDGED


#: Signals of each category that was judged; one that is absent was not.
Signals = Mapping[Category, CategorySignals]


def scope(interactions: list[Interaction], category: Category) -> list[Interaction]:
    """The interactions that a category's judge sees: the agent's sees all."""
    return interactions if category == "agent" else [each for each in interactions if category in each.categories]


def with_defaults(
    given: CategorySignals | None, interactions: list[Interaction], category: Category
) -> CategorySignals:
    """Signals completed as the original program does: its defaults for every interaction that the judge left out.

    Where no judge was asked (`given` is None) only interactions that stand in this category first are filled in.
    """
    if given is None:
        unjudged = [each for each in interactions if each.categories[0] == category]
        return CategorySignals(tuple(map(_default, unjudged)), Necessity(DEFAULT_NECESSITY))
    known = {audit.id for audit in given.audits}
    missing = [each for each in scope(interactions, category) if each.id not in known]
    by_id = {each.id: each for each in interactions}
    audits = [*(_filled(audit, by_id[audit.id]) for audit in given.audits), *map(_default, missing)]
    necessity = given.necessity
    if necessity.score is None:
        necessity = necessity._replace(score=DEFAULT_NECESSITY)
    return CategorySignals(tuple(sorted(audits)), necessity)


def _default(interaction: Interaction) -> Audit:
    success = _SUCCESS_OF_ERROR if interaction.has_error else _SUCCESS
    return Audit(interaction.id, success, 1.0, 1.0, DEFAULT)


def _filled(audit: Audit, interaction: Interaction) -> Audit:
    default = _default(interaction)
    return Audit(
        audit.id,
        default.success if audit.success is None else audit.success,
        default.weight if audit.weight is None else audit.weight,
        default.relevance if audit.relevance is None else audit.relevance,
        audit.rationale,
    )


# Goal achievement: checks with weights, grades from 0 to 10, and the score they give.


class GoalCheck(NamedTuple):
    """What must hold for the goal to be reached; weights count relative to their sum."""

    check: str
    weight: float = 1.0


class Grade(NamedTuple):
    """A check's grade from 0 to 10, a whole number where one judge gave it; None where nobody graded it."""

    check: GoalCheck
    score: float | None = None
    rationale: str = ""


def limited_grade(score: float) -> float:
    """A grade rounded to a whole number (halves up) and limited to 0 to 10; NaN stays NaN."""
    rounded = half_up(score)
    return rounded if math.isnan(rounded) else min(10, max(0, rounded))


def goal_score(grades: Sequence[Grade]) -> float | None:
    """100 times the weighted mean of grade / 10, rounded half up; None where a check has no grade.

    No checks, or weights that add up to 0, give 0.
    """
    if any(grade.score is None for grade in grades):
        return None
    total = sum(grade.check.weight for grade in grades)
    if not grades or total == 0:
        return 0
    weighted = sum(grade.score / 10 * grade.check.weight for grade in grades if grade.score is not None)
    return half_up(100 * weighted / total)


def goal_bounds(grades: Sequence[Grade]) -> tuple[float, float]:
    """The goal score with every missing grade at 0 and at 10."""
    ends = [[grade._replace(score=end if grade.score is None else grade.score) for grade in grades] for end in (0, 10)]
    low, high = (goal_score(each) or 0 for each in ends)
    return low, high


# Signals and grades as ratings: one line a judged signal, so that programs, models and people enter alike.

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
    """Rows with a value by what follows the prefix in the question, and by interaction.

    Raises
    ------
    InputError
        A signal that is not from 0 to 1, or a grade of a check that is not from 0 to 10.
    """
    kept = ratings.filter(pl.col("question").str.starts_with(prefix), pl.col("value").fill_nan(None).is_not_null())
    scale = "check" if prefix == f"{_GOAL}." else "unit"
    low, high = ends_of(scale) or (0.0, 1.0)
    is_on = (pl.col("scale") == scale) & pl.col("value").is_between(low, high)
    for row in kept.filter(~is_on).head(1).to_dicts():
        rule = f"must be from {low:g} to {high:g}, on the scale {scale}"
        raise InputError(f"rating of {row['question']}", rule, (row["value"], row["scale"]))
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
