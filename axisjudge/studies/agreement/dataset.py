"""Agreement in a dataset of ratings, which is counted part by part and never read whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.cluster import InTurn, Workers
from axisjudge.ratings.counts import COUNTED, PatternCounts, counted, in_sum
from axisjudge.ratings.dataset import NEVER_NULL, DatasetPart, parts_of
from axisjudge.ratings.scales import has_words
from axisjudge.ratings.selection import BY_JUDGE, EMPTY_RUN, LABELS, MADE_UP
from axisjudge.sources.source import about_empty_runs, about_ratings, refuse_texts
from axisjudge.stats.estimate import IntervalTerms
from axisjudge.studies._shared.scope import questions_in_order
from axisjudge.studies.agreement import PanelAgreement
from axisjudge.studies.agreement.by_family import CrossFamily, families_of_counts
from axisjudge.studies.agreement.by_question import AgreementByAxis, QuestionAgreement, agreement_of_counts

#: Of several ratings of an item by one rater, under other prompts or versions, the one written last counts.
_ONCE = ("item_id", "question", "rater", "repeat")
#: Parts of which a worker looks at a column or two at once.
A_LOOK = 16


@dataclass(frozen=True, eq=False)
class _Counted:
    """What parts of a question hold: counts (None without ratings of the level), all ratings, those of the level, and
    those of other repeats by judges.
    """

    counts: PatternCounts | None
    n_all: int
    n_ratings: int
    n_repeats: int


def agreement_of_dataset(
    path: str,
    *,
    steps: bool = False,
    questions: Sequence[str] = (),
    scale: str = "",
    coefficient: str = "",
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    workers: Workers | None = None,
) -> tuple[PanelAgreement, ...]:
    """Do the judges of a dataset agree? One result for each scale, five-axis verdicts first.

    The figures are those of `axisjudge.studies.agreement` on the same ratings, to the last digit: both compute them
    from counts. What needs single items (the list of disagreements, triage by confidence, confidence-weighted
    variants, the worth of the panel, reversals, scores of steps) is left out. Memory grows with clusters x patterns.

    Parameters
    ----------
    path : str
        A dataset (`axisjudge.ratings.dataset`), on a disk or an object storage.
    steps, questions, scale, coefficient, cluster_unit, ci_level
        As in `axisjudge.studies.agreement` and `axisjudge.sources.sources_of`.
    workers : Workers, optional
        Where the parts are counted; by default in this process, one after another.

    Raises
    ------
    InputError
        No dataset, or one without ratings of steps, of these questions or on this scale.
    """
    workers, parts = workers or InTurn(), parts_of(path)
    of_runs = any(not part.scan().filter(pl.col("step_index").is_null()).head(1).collect().is_empty() for part in parts)
    step_level = steps or not of_runs
    for question in questions:
        one_of("question", question, sorted({part.question for part in parts}))
    empty = {run for runs in workers.map(_empty_runs, parts, _name, at_once=A_LOOK) for run in runs}
    names = questions_in_order(part.question for part in parts)
    groups = [[part for part in parts if part.question == name] for name in names]
    kept = workers.kept(partial(_count, step_level=step_level, empty=sorted(empty)), groups, _sum, _in_short, _name)
    every = {name: (whole, _sum(briefs)) for name, (whole, briefs) in zip(names, kept, strict=True)}
    n_all = sum(short.n_all for _, short in every.values())
    chosen = [
        _Question(name, whole, short.counts, short.n_ratings, short.n_repeats)
        for name, (whole, short) in every.items()
        if short.counts is not None and (not questions or name in questions)
    ]
    if not chosen:
        raise InputError(path, f"holds no ratings{' of steps' if steps else ''}")
    scales = list(dict.fromkeys(each.counts.scale for each in chosen))
    wanted = [one_of("scale", scale, scales)] if scale else sorted(scales, key=lambda each: each != "verdict")
    intervals: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    results = []
    for each in wanted:
        own = [question for question in chosen if question.counts.scale == each]
        what = "steps" if step_level else "runs"
        about = about_ratings(what, each, path, n_all - sum(question.n_ratings for question in own))
        about += about_empty_runs(len(empty)) + _about_older(own)
        results.append(_agreement(own, about, len(empty), coefficient, intervals, path, workers))
    return tuple(results)


@dataclass(frozen=True, eq=False)
class _Question:
    """A question, where its counts are `kept`, those `counts` in short, its ratings and those of other repeats."""

    name: str
    kept: Any
    counts: PatternCounts
    n_ratings: int
    n_repeats: int


def _agreement(
    own: Sequence[_Question],
    about: str,
    n_empty: int,
    coefficient: str,
    intervals: IntervalTerms,
    path: str,
    workers: Workers,
) -> PanelAgreement:
    for each in own:
        refuse_texts(each.name, len(each.counts.categories), path)
    kinds = {name: kind for each in own for _, name, kind in each.counts.raters}
    judges = {name for name, kind in kinds.items() if kind not in LABELS}
    rated = [name for name in kinds if not judges or name in judges]
    families = bool(judges) and has_words(own[0].counts.scale)
    apart = [(each.name, [each.kept]) for each in own]
    together = [("all questions", [each.kept for each in own])] if len(own) > 1 else []  # takes longest, hence first
    panels = [*together, *apart] if families else []
    found = workers.map(partial(_of_families, coefficient=coefficient, intervals=intervals), panels, itemgetter(0))
    made_up = tuple(sorted(name for name, kind in kinds.items() if kind in MADE_UP))
    questions = workers.map(partial(_of_question, raters=rated, intervals=intervals), apart, itemgetter(0))
    of_families = [(replace(each, made_up=made_up), share) for each, share in found]
    overall = AgreementByAxis(
        tuple(questions),
        uncertain="exclude",
        left_out={"repeats": sum(each.n_repeats for each in own), "empty_runs": n_empty},
        made_up=made_up,
    )
    if not of_families:
        return PanelAgreement(about=about, overall=overall)
    (whole, share_decided), *_ = of_families
    by_question = {each.where: each for each, _ in of_families[-len(own) :]}
    return PanelAgreement(
        about=about, overall=overall, by_question=by_question, together=whole, share_decided=share_decided
    )


def _of_families(
    of: tuple[str, Sequence[_Counted]], *, coefficient: str, intervals: IntervalTerms
) -> tuple[CrossFamily, float]:
    """The agreement of the judges' families on one question or several."""
    return families_of_counts([each.counts for each in of[1] if each.counts is not None], coefficient, intervals)


def _of_question(
    of: tuple[str, Sequence[_Counted]], *, raters: Sequence[str], intervals: IntervalTerms
) -> QuestionAgreement:
    """The agreement of these raters on one question."""
    [counts] = [each.counts for each in of[1] if each.counts is not None]
    own = counts.of([name for name in counts.names if name in raters])
    unit = "" if intervals["cluster_unit"] == "task" else intervals["cluster_unit"]
    (agreement,) = agreement_of_counts([own], cluster_unit=unit, ci_level=intervals["ci_level"]).questions
    return agreement


def _empty_runs(part: DatasetPart) -> list[str]:
    """The runs of a part without messages, which all judges rate alike by definition."""
    return part.scan().filter(EMPTY_RUN).select(pl.col("trajectory_id").unique()).collect()["trajectory_id"].to_list()


def _count(part: DatasetPart, *, step_level: bool, empty: Sequence[str]) -> _Counted:
    """The ratings of a part, and its counts."""
    every = part.scan().select(COUNTED).collect().lazy()  # once, rather than a scan for each number
    needed = [name for name in NEVER_NULL if name in COUNTED]
    if lacking := [column.name for column in every.select(pl.col(needed).is_null().any()).collect() if column.item()]:
        raise InputError(part.name, f"a rating needs {', '.join(lacking)}")
    taken = every.filter(pl.col("step_index").is_not_null() == step_level)
    kept = taken.filter(~pl.col("trajectory_id").is_in(list(empty))) if empty else taken
    n_all, n_taken = (int(lines.select(pl.len()).collect().item()) for lines in (every, taken))
    counts = counted(kept, step_level=step_level, once=_ONCE)
    n_repeats = kept.filter(BY_JUDGE & (pl.col("repeat") != 0)).select(pl.len()).collect().item() if counts else 0
    return _Counted(counts[0] if counts else None, n_all, n_taken if counts else 0, n_repeats)


def _sum(parts: Sequence[_Counted]) -> _Counted:
    counts = [part.counts for part in parts if part.counts is not None]
    totals = (sum(getattr(part, name) for part in parts) for name in ("n_all", "n_ratings", "n_repeats"))
    return _Counted(in_sum(counts) if counts else None, *totals)


def _in_short(part: _Counted) -> _Counted:
    """Who rated on which scale and how much, without the counts."""
    if part.counts is None:
        return part
    none = {name: getattr(part.counts, name).clear() for name in ("patterns", "rows", "cluster_ids")}
    return replace(part, counts=replace(part.counts, **none))


def _about_older(questions: Sequence[_Question]) -> str:
    n_older = sum(each.counts.n_older for each in questions)
    return f" Left out: {n_older:,} ratings by an older prompt, rubric or rater version." if n_older else ""


def _name(part: DatasetPart) -> str:
    return part.name
