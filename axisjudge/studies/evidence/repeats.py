"""The same judge asked again: how far it agrees with itself, by axis and by how sure it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import IntervalTerms
from axisjudge.stats.raters.repeats import ConfidenceBand, SelfAgreement, flips_by_confidence, self_agreement
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, table_of, to_polars, with_ends
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.variances import (
    QuestionVariance,
    by_question,
    question_variance,
    repeated_verdicts,
    spread,
)
from axisjudge.studies._shared.words import listed
from axisjudge.studies.evidence import sentences as words
from axisjudge.studies.evidence.sentences import NoBands, NoRepeat
from axisjudge.verdict import VERDICTS

_FRAME = columns(
    "judge family question items=n_items repeats=n_repeats",
    with_ends("agreement", "with_itself.agreement", low="agreement_low", high="agreement_high"),
    with_ends("flips", "with_itself.flips", low="flips_low", high="flips_high"),
    "tasks=with_itself.flips.n_clusters refusal=refusal.value",
)


@dataclass(frozen=True)
class JudgeRepeats(Result):
    """One judge on one question asked several times.

    `with_itself` is None where `refusal` says why. Each of the four verdicts is a category of its own. `bands` end at
    the quantiles of the judge's own mean confidences over all questions; where they are empty `no_bands` says why.
    """

    judge: str
    family: str
    question: str
    n_items: int
    n_repeats: int
    with_itself: SelfAgreement | None
    bands: tuple[ConfidenceBand, ...]
    no_bands: NoBands
    refusal: NoRepeat


@dataclass(frozen=True)
class RepeatReport(Result):
    """Self-agreement and flips per judge and question, and variance components per question."""

    _keys = ("judges", "variances")

    judges: tuple[JudgeRepeats, ...]
    variances: tuple[QuestionVariance, ...]
    kind: Kind

    @property
    def any_again(self) -> bool:
        """Whether a judge was asked several times: without one there is nothing to show."""
        return any(each.with_itself for each in self.judges)

    def to_frame(self) -> Table:
        """One row a judge and question."""
        return frame_of(self.judges, _FRAME, self.kind)

    @property
    def sentences(self) -> tuple[str, ...]:
        """How far judges agree with themselves, who cannot be said, and where the variance of verdicts comes from."""
        if not self.judges:
            return (words.NO_VERDICT,)
        by_judge = [
            [each for each in self.judges if each.judge == judge] for judge in {e.judge: 0 for e in self.judges}
        ]
        again = [mine for mine in by_judge if any(each.with_itself for each in mine)]
        once = [mine[0].judge for mine in by_judge if mine not in again]
        variances = [each for each in self.variances if each.components is not None]
        return (
            *(sentence for mine in again for sentence in _sentences(mine)),
            *([words.ASKED_ONCE.format(judges=listed(once))] if once else []),
            *(words.variance(each.question, each.judges, each.components) for each in variances if each.components),
        )


def repeat_report(
    ratings: Given, *, n_bands: int = 3, cluster_unit: str = "task", ci_level: float = 0.95
) -> RepeatReport:
    """Self-agreement, flips by confidence, and variance components of verdicts on whole trajectories.

    Variance components are of 0/1 verdicts: 1 incorrect, 0 correct or not applicable; runs that lack a decided verdict
    of any judge and repeat are left out and counted. Arguments and errors as `axisjudge.studies.evidence`.
    """
    table = repeated_verdicts(ratings)
    if n_bands < 2:
        raise InputError("n_bands", "must be 2 or more", n_bands)
    intervals: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    judges = tuple(
        _judge(asked, edges, intervals)
        for mine in table.sort("family", "rater").partition_by("family", "rater", maintain_order=True)
        for edges in [_edges(mine, n_bands)]
        for asked in by_question(mine)
    )
    return RepeatReport(judges, tuple(question_variance(asked) for asked in by_question(table)), kind_of(ratings))


def _edges(mine: pl.DataFrame, n_bands: int) -> list[float]:
    """0, the inner quantiles of the judge's mean confidences, 1; equal quantiles stand once."""
    given = mine.drop_nulls("confidence").group_by("trajectory_id", "question").agg(pl.col("confidence").mean())
    if given.is_empty():
        return []
    inner = np.quantile(given["confidence"].to_numpy(), np.arange(1, n_bands) / n_bands)
    return sorted({0.0, *inner.tolist(), 1.0})


class _Sample(IntervalTerms):
    clusters: list[str]


def _judge(asked: pl.DataFrame, edges: list[float], intervals: IntervalTerms) -> JudgeRepeats:
    runs = asked.select("trajectory_id", "cluster_id").unique("trajectory_id").sort("trajectory_id")
    repeats = asked["repeat"].unique().sort().to_list()
    codes = pl.col("verdict").replace_strict(list(VERDICTS), list(range(len(VERDICTS))), return_dtype=pl.Float64)
    with_itself: SelfAgreement | None = None
    bands: tuple[ConfidenceBand, ...] = ()
    no_bands = NoBands.ONE_REPEAT
    if len(repeats) > 1:
        verdicts = spread(asked.with_columns(value=codes), runs["trajectory_id"], repeats)
        confidences = spread(asked.with_columns(value="confidence"), runs["trajectory_id"], repeats)
        sample: _Sample = {**intervals, "clusters": runs["cluster_id"].to_list()}
        with_itself = self_agreement(verdicts, **sample)
        bands, no_bands = _bands(verdicts, confidences, edges, sample)
    return JudgeRepeats(
        judge=asked["rater"][0],
        family=asked["family"][0],
        question=asked["question"][0],
        n_items=runs.height,
        n_repeats=len(repeats),
        with_itself=with_itself,
        bands=bands,
        no_bands=no_bands,
        refusal=NoRepeat.NONE if with_itself else NoRepeat.ONE_REPEAT,
    )


def _bands(
    verdicts: NDArray[np.float64], confidences: NDArray[np.float64], edges: list[float], sample: _Sample
) -> tuple[tuple[ConfidenceBand, ...], NoBands]:
    if not edges or np.isnan(confidences).all():
        return (), NoBands.NO_CONFIDENCES
    bands = flips_by_confidence(verdicts, confidences, edges=edges, **sample)
    return (tuple(bands), NoBands.NONE) if len(bands) > 1 else ((), NoBands.EQUAL_CONFIDENCES)


def _sentences(mine: list[JudgeRepeats]) -> list[str]:
    """One judge on all questions, and its flips in its least sure and its surest band."""
    judge, repeats = mine[0].judge, max(each.n_repeats for each in mine)
    again = words.asked_again(judge, repeats, {each.question: each.with_itself for each in mine if each.with_itself})
    bands = [band for each in mine for band in each.bands]
    if not bands:
        return [again]
    ends = (min(band.low for band in bands), max(band.low for band in bands))
    unsure, sure = (_flips([band for band in bands if band.low == end]) for end in ends)
    return [again, words.flips_by_sureness(judge, unsure, sure)]


def _flips(bands: list[ConfidenceBand]) -> tuple[int, int]:
    """Items on which the verdict changed, and all."""
    flips = [band.flips for band in bands]
    return round(sum(each.estimate * each.n_items for each in flips)), sum(each.n_items for each in flips)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedRepeat(Part):
    """One judge's published calls with one prompt on one run and axis, in their order."""

    _keys = ("simulation", "axis", "judge", "calls", "with_itself")
    name: ClassVar = "published_repeat"
    caption: ClassVar = "The same call, made twice"
    of_ratings: ClassVar = False  # published figures; a page's banner does not concern them

    simulation: int
    axis: str
    judge: str
    calls: tuple[tuple[str, float], ...]
    with_itself: SelfAgreement
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a call."""
        rows = [
            {"call": call, "verdict": verdict, "confidence": confidence}
            for call, (verdict, confidence) in enumerate(self.calls, start=1)
        ]
        return table_of(rows, self.kind)

    @property
    def answer(self) -> str:
        """What one item asked again shows, and what it does not."""
        return words.published(self.judge, self.axis, self.simulation, self.calls, self.with_itself.flips)


def published_repeat(calls: Given) -> PublishedRepeat:
    """What a published repeat of one judge on one run and axis shows and does not show.

    Parameters
    ----------
    calls : table
        Columns simulation, axis, judge, call, verdict, confidence: one row a call, two or more.

    Raises
    ------
    InputError
        Fewer than two calls, a call that stands twice, or calls of several judges, runs or axes.
    """
    columns = ("simulation", "axis", "judge", "call", "verdict", "confidence")
    table = to_polars(calls, columns, where="calls").sort("call")
    if table.select("simulation", "axis", "judge").n_unique() > 1:
        raise InputError("calls", "must be of one judge on one run and axis", cure="filter first")
    if table.height < 2 or table["call"].is_duplicated().any():
        raise InputError("calls", "must be two or more, each once", table["call"].to_list())
    row = table.row(0, named=True)
    said = list(dict.fromkeys(table["verdict"]))
    return PublishedRepeat(
        simulation=row["simulation"],
        axis=row["axis"],
        judge=row["judge"],
        calls=tuple(table.select("verdict", "confidence").iter_rows()),
        with_itself=self_agreement([[float(said.index(word)) for word in table["verdict"]]]),
        kind=kind_of(calls),
    )
