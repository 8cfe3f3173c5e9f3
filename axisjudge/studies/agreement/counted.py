"""Agreement in a dataset of ratings, which is counted part by part and never read whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.cluster import InTurn, Workers
from axisjudge.ratings.counts import COUNTED, PatternCounts, counted, in_sum
from axisjudge.ratings.dataset import Part, parts_of
from axisjudge.ratings.scales import has_words
from axisjudge.ratings.selection import BY_JUDGE, EMPTY_RUN, LABELS, MADE_UP
from axisjudge.sources.source import about_empty_runs, about_ratings, refuse_texts
from axisjudge.studies._shared.scope import Intervals, questions_in_order
from axisjudge.studies.agreement.by_question import AgreementByAxis, QuestionAgreement, agreement_of_counts
from axisjudge.studies.agreement.cross_family import CrossFamily, families_of_counts
from axisjudge.studies.agreement.study import PanelAgreement

#: Of several ratings of an item by one rater, under other prompts or versions, the one written last counts.
_ONCE = ("item_id", "question", "rater", "repeat")
#: Parts of a question that are held before they are added up: rows of one cluster in several of them become one.
_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class _Counted:
    """What a part holds: its counts, the ratings in it, those of other repeats by judges, and by whom it is rated."""

    counts: PatternCounts
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
    empty = {run for runs in workers.map(_empty_runs, parts, _name) for run in runs}
    work = partial(_count, step_level=step_level, empty=sorted(empty))
    n_all, by_question = _summed(workers.map(work, parts, _name))
    chosen = {name: each for name, each in by_question.items() if not questions or name in questions}
    if not chosen:
        raise InputError(path, f"holds no ratings{' of steps' if steps else ''}")
    scales = list(dict.fromkeys(each.counts.scale for each in chosen.values()))
    kept = [one_of("scale", scale, scales)] if scale else sorted(scales, key=lambda each: each != "verdict")
    intervals: Intervals = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    results = []
    for each in kept:
        own = [part for part in chosen.values() if part.counts.scale == each]
        what = "steps" if step_level else "runs"
        about = about_ratings(what, each, path, n_all - sum(part.n_ratings for part in own))
        about += about_empty_runs(len(empty)) + _about_older(own)
        results.append(_agreement(own, about, len(empty), coefficient, intervals, path, workers))
    return tuple(results)


def _agreement(
    parts: Sequence[_Counted],
    about: str,
    n_empty: int,
    coefficient: str,
    intervals: Intervals,
    path: str,
    workers: Workers,
) -> PanelAgreement:
    counts = [part.counts for part in parts]
    for each in counts:
        refuse_texts(each.question, len(each.categories), path)
    kinds = {name: kind for each in counts for _, name, kind in each.raters}
    judges = {name for name, kind in kinds.items() if kind not in LABELS}
    rated = [name for name in kinds if not judges or name in judges]
    families = bool(judges) and has_words(counts[0].scale)
    work = partial(_of_question, raters=rated, families=families, coefficient=coefficient, intervals=intervals)
    apart = workers.map(work, [_unnamed(each) for each in counts], lambda each: each.question)
    whole = families_of_counts(counts, coefficient, intervals) if families and len(counts) > 1 else None  # meanwhile
    questions, of_families = zip(*apart, strict=True)
    result = PanelAgreement(
        about=about,
        overall=AgreementByAxis(
            questions,
            uncertain="exclude",
            made_up=tuple(sorted(name for name in rated if kinds[name] in MADE_UP)),
            left_out={"repeats": sum(part.n_repeats for part in parts), "empty_runs": n_empty},
        ),
        steps=(),
        made_up=tuple(sorted(name for name, kind in kinds.items() if kind in MADE_UP)),
    )
    if not families:
        return result
    together, share_decided = whole or of_families[0]
    by_question = tuple(each for each, _ in of_families)
    return replace(result, by_question=by_question, together=together, share_decided=share_decided)


def _unnamed(counts: PatternCounts) -> PatternCounts:
    """Counts whose clusters are numbers, which is enough for one question and travels light."""
    return replace(counts, cluster_ids=pl.int_range(len(counts.cluster_ids), dtype=pl.UInt32, eager=True))


def _of_question(
    counts: PatternCounts, *, raters: Sequence[str], families: bool, coefficient: str, intervals: Intervals
) -> tuple[QuestionAgreement, tuple[CrossFamily, float] | None]:
    """The agreement of these raters on one question, and that of the judges' families where it is wanted."""
    own = counts.of([name for name in counts.names if name in raters])
    unit = "" if intervals["cluster_unit"] == "task" else intervals["cluster_unit"]
    (agreement,) = agreement_of_counts([own], cluster_unit=unit, ci_level=intervals["ci_level"]).questions
    return agreement, families_of_counts([counts], coefficient, intervals) if families else None


def _empty_runs(part: Part) -> list[str]:
    """The runs of a part without messages, which all judges rate alike by definition."""
    return part.scan().filter(EMPTY_RUN).select(pl.col("trajectory_id").unique()).collect()["trajectory_id"].to_list()


def _count(part: Part, *, step_level: bool, empty: Sequence[str]) -> tuple[int, _Counted | None]:
    """The ratings of a part, and its counts; None where it has no ratings of the level."""
    every = part.scan().select(COUNTED).collect().lazy()  # once, rather than a scan for each number
    taken = every.filter(pl.col("step_index").is_not_null() == step_level)
    kept = taken.filter(~pl.col("trajectory_id").is_in(list(empty))) if empty else taken
    n_all, n_taken = (int(lines.select(pl.len()).collect().item()) for lines in (every, taken))
    counts = counted(kept, step_level=step_level, once=_ONCE)
    n_repeats = kept.filter(BY_JUDGE & (pl.col("repeat") != 0)).select(pl.len()).collect().item()
    return n_all, _Counted(counts[0], n_taken, n_repeats) if counts else None


def _summed(parts: Iterable[tuple[int, _Counted | None]]) -> tuple[int, dict[str, _Counted]]:
    """The parts of each question together, by question in the order of the five axes, and all ratings."""
    n_all, held = 0, dict[str, list[_Counted]]()
    for n_ratings, part in parts:
        n_all += n_ratings
        if part is not None:
            own = held.setdefault(part.counts.question, [])
            own.append(part)
            if len(own) == _AT_ONCE:
                own[:] = [_sum(own)]
    return n_all, {name: _sum(held[name]) for name in questions_in_order(held)}


def _sum(parts: Sequence[_Counted]) -> _Counted:
    counts = in_sum([part.counts for part in parts])
    return _Counted(counts, sum(part.n_ratings for part in parts), sum(part.n_repeats for part in parts))


def _about_older(parts: Sequence[_Counted]) -> str:
    n_older = sum(part.counts.n_older for part in parts)
    return f" Left out: {n_older:,} ratings by an older prompt, rubric or rater version." if n_older else ""


def _name(part: Part) -> str:
    return part.name
