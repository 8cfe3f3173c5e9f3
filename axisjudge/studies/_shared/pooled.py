"""Several questions of a ratings table as one items x raters matrix: judges by family and name, labels last."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.labels.panel import reference_of
from axisjudge.protocol.plan import AnalysisPlan
from axisjudge.ratings import RatingMatrix, to_matrix
from axisjudge.ratings.counts import PatternCounts, cluster_unit_of
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, EMPTY_RUN, VERDICT_ON_RUN, as_ratings, raters_of
from axisjudge.ratings.edge import LABELS as LABELS
from axisjudge.ratings.scales import Level, level_of
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients, set_aside
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, coefficient_names
from axisjudge.stats.agreement.soft import CaseWeighted, beliefs, case_weighted, soft_agreement
from axisjudge.stats.comparisons.paired import holm
from axisjudge.stats.estimate import UNDECIDED, Estimate, IntervalTerms
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared import frames, words
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many


class Groups(TypedDict):
    """Which items belong together; None where each stands alone."""

    clusters: NDArray[np.integer] | None
    cluster_unit: str


class Codes(Groups):
    """Which numbers a coefficient may meet, and which items belong together."""

    categories: list[float]


@dataclass(frozen=True, eq=False)
class CodedVerdicts:
    """Verdicts of one question as numbers, ready for a coefficient.

    `codes` are items x raters (of counts patterns x raters), `decided` the same with NaN for `undecided` words;
    `clusters` are those of items (of rows of counts), and count from 1.
    """

    codes: NDArray[np.float64]
    decided: NDArray[np.float64]
    sided: list[float]
    undecided: list[float]
    categories: list[float]
    clusters: NDArray[np.integer]
    cluster_unit: str

    @property
    def n_clusters(self) -> int:
        """How many clusters the items come from."""
        return int(self.clusters.max())

    @property
    def groups(self) -> Groups:
        """Arguments of any estimate: clusters, none where each item is its own."""
        return {"clusters": None if self.cluster_unit == "item" else self.clusters, "cluster_unit": self.cluster_unit}

    @property
    def how(self) -> Codes:
        """Arguments of a coefficient: categories and clusters."""
        return {"categories": self.categories, **self.groups}


def code_counts(counts: PatternCounts, uncertain: str) -> CodedVerdicts:
    """Verdicts of one question as numbers; `uncertain` and `not_applicable` as categories of their own, or left out."""
    return _coded(counts.codes, counts.categories, counts.clusters, counts.cluster_unit, uncertain)


def code_verdicts(table: pl.DataFrame, matrix: RatingMatrix, uncertain: str) -> CodedVerdicts:
    """The same item by item, in the matrix's order, for what needs more of an item than its verdicts."""
    clusters = pl.Series(matrix.clusters).rank("dense").to_numpy().astype(np.intp) - 1
    unit = cluster_unit_of(table) if clusters.max() + 1 < len(matrix.items) else "item"
    return _coded(matrix.codes, matrix.categories, clusters, unit, uncertain)


def _coded(
    codes: NDArray[np.float64],
    categories: Sequence[str],
    clusters: NDArray[np.integer],
    cluster_unit: str,
    uncertain: str,
) -> CodedVerdicts:
    undecided = [float(code) for code, word in enumerate(categories) if word in UNDECIDED]
    sided = [float(code) for code in range(len(categories)) if float(code) not in undecided]
    decided = set_aside(codes, undecided)
    excluded = uncertain == "exclude"
    return CodedVerdicts(
        codes=decided if excluded else codes,
        decided=decided,
        sided=sided,
        undecided=undecided,
        categories=sided if excluded else [*sided, *undecided],
        clusters=clusters + 1,
        cluster_unit=cluster_unit,
    )


class PooledSample(IntervalTerms):
    """What every estimate takes of a panel: its clusters, what they are, and the level of intervals."""

    clusters: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Items (of one or several questions) x raters.

    `codes` holds positions in `categories`, NaN where a rater gave nothing; `confidences` has the same shape;
    `clusters` are numbers from 0; `question` says of which question each item is. Of counts (`pooled_counts`) `codes`
    are patterns x raters, `rows` says which of them the items of a cluster show, and `times` how many items these are.
    The first `n_judges` raters are judges, the others give labels. `planted` says that all labels are planted truth,
    `kind` which tables the caller uses.
    """

    questions: tuple[str, ...]
    question: NDArray[np.intp]
    items: tuple[str, ...]
    clusters: NDArray[np.integer]
    codes: frames.Floats
    confidences: frames.Floats
    categories: tuple[str, ...]
    scale: str
    raters: tuple[str, ...]
    families: tuple[str, ...]
    n_judges: int
    planted: bool
    repeat: int
    kind: frames.Kind
    times: NDArray[np.integer] | None = None
    rows: NDArray[np.integer] | None = None

    @property
    def ordered(self) -> bool:
        """Whether the words have an order."""
        return level_of(self.scale) == "ordinal"

    @property
    def level(self) -> Level:
        """Of the scale: words in order, or words alone."""
        return "ordinal" if self.ordered else "nominal"

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges."""
        return self.raters[: self.n_judges]

    @property
    def judged(self) -> frames.Floats:
        """The judges' words: items x judges."""
        return self.codes[:, : self.n_judges]

    @property
    def labellers(self) -> tuple[str, ...]:
        """Names of those who give labels."""
        return self.raters[self.n_judges :]

    @property
    def strata(self) -> NDArray[np.intp] | None:
        """The question of each item, or row of items, where there are several."""
        return self.question if len(self.questions) > 1 else None

    @property
    def n_clusters(self) -> int:
        """How many clusters the items come from."""
        return int(self.clusters.max()) + 1 if self.clusters.size else 0

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.codes) if self.times is None else int(self.times.sum())

    @property
    def label(self) -> frames.Floats:
        """Each item's label: the commonest word with a side of those who label, NaN on a tie or without any."""
        return reference_of(self.codes[:, self.n_judges :], self.categories)

    def decided(self) -> Pooled:
        """The same items with the words that take no side as missing, and the others alone as categories."""
        sided = [code for code, word in enumerate(self.categories) if word not in UNDECIDED]
        position = np.full(len(self.categories) + 1, np.nan)  # the last is of what was missing before
        position[sided] = np.arange(len(sided))
        codes = position[np.nan_to_num(self.codes, nan=len(self.categories)).astype(np.intp)]
        return replace(self, codes=codes, categories=tuple(self.categories[code] for code in sided))

    def without_items(self) -> Pooled:
        """Who rated what, on which scale, of no items: it takes no memory and travels light."""
        none = {name: getattr(self, name)[:0] for name in ("question", "items", "clusters", "codes", "confidences")}
        return replace(self, **none, times=None, rows=None)

    @property
    def share_decided(self) -> float:
        """The share of the judges' verdicts that take a side; NaN without any."""
        every, sided = (self._n_verdicts(codes) for codes in (self.judged, self.decided().judged))
        return sided / every if every else math.nan

    def _n_verdicts(self, codes: frames.Floats) -> int:
        number = (~np.isnan(codes)).sum(axis=1)
        return int(number.sum() if self.times is None or self.rows is None else self.times @ number[self.rows])

    @property
    def where(self) -> str:
        """The questions in words."""
        return self.questions[0] if len(self.questions) == 1 else f"{len(self.questions)} questions together"


def pooled(
    ratings: frames.Given, question: str | Sequence[str], *, repeat: int = 0, step_level: bool = False
) -> Pooled:
    """The items of one question, or of several with one scale, as a matrix.

    Parameters
    ----------
    ratings : table
        A ratings table with one rating for each item, question and rater. Raters of kind ``human`` or ``planted`` give
        labels, all others are judges.
    question : str or sequence of str
        One question, or several whose items are pooled.
    repeat : int
        Which repeat.
    step_level : bool
        Ratings of steps instead of whole trajectories.

    Raises
    ------
    InputError
        No such ratings, several for one item, question and rater, or questions of different scales.
    """
    table = as_ratings(ratings)
    questions = (question,) if isinstance(question, str) else tuple(question)
    chosen = table.filter(pl.col("question").is_in(questions))
    judges, labellers = (raters_of(chosen.filter(kept)) for kept in (BY_JUDGE, BY_LABELLER))
    matrices = [
        to_matrix(chosen, name, raters=[*judges, *labellers], repeat=repeat, step_level=step_level)
        for name in questions
    ]
    categories = matrices[0].categories
    if any(matrix.categories != categories for matrix in matrices):
        raise InputError("question", "questions that are pooled need one scale", list(questions))
    names = np.concatenate([np.array(matrix.clusters) for matrix in matrices])
    return Pooled(
        questions=questions,
        question=np.repeat(np.arange(len(questions)), [len(matrix.items) for matrix in matrices]),
        items=tuple(item for matrix in matrices for item in matrix.items),
        clusters=np.unique(names, return_inverse=True)[1].astype(np.intp),
        codes=np.concatenate([matrix.codes for matrix in matrices]),
        confidences=np.concatenate([matrix.confidences for matrix in matrices]),
        categories=categories,
        scale=str(chosen["scale"][0]),
        raters=matrices[0].raters,
        families=matrices[0].families,
        n_judges=len(judges),
        repeat=repeat,
        planted=set(chosen.filter(BY_LABELLER)["rater_kind"]) == {"planted"},
        kind=frames.kind_of(ratings),
    )


def pooled_counts(panel: Sequence[PatternCounts], *, kind: frames.Kind = "polars") -> Pooled:
    """What agreement needs of the items of one question, or of several with one scale: rows of like items of one.

    Items and confidences are not among it.

    Raises
    ------
    InputError
        Questions of different scales.
    """
    raters = {rater[1]: rater for counts in panel for rater in counts.raters}
    by_family = sorted(raters.values())
    judges = [name for _, name, kind in by_family if kind not in LABELS]
    labellers = [name for _, name, kind in by_family if kind in LABELS]
    if len({(counts.scale, counts.categories) for counts in panel}) > 1:
        names = [counts.question for counts in panel]
        raise InputError("question", "questions that are pooled need one scale", names)
    of_raters = [counts.of([*judges, *labellers]) for counts in panel]
    cluster_ids = pl.concat([counts.cluster_ids for counts in of_raters]).unique().sort()
    first = np.cumsum([0, *(counts.patterns.height for counts in of_raters)])
    positions = [cluster_ids.search_sorted(counts.cluster_ids).to_numpy() for counts in of_raters]
    return Pooled(
        questions=tuple(counts.question for counts in panel),
        question=np.repeat(np.arange(len(panel)), [counts.rows.height for counts in of_raters]),
        items=(),
        clusters=np.concatenate([at[counts.clusters] for at, counts in zip(positions, of_raters, strict=True)]),
        codes=np.concatenate([counts.codes for counts in of_raters]),
        confidences=np.full((0, len(raters)), np.nan),
        categories=panel[0].categories,
        scale=panel[0].scale,
        raters=(*judges, *labellers),
        families=tuple(raters[name][0] for name in (*judges, *labellers)),
        n_judges=len(judges),
        planted={raters[name][2] for name in labellers} == {"planted"},
        repeat=0,
        kind=kind,
        times=np.concatenate([counts.times for counts in of_raters]),
        rows=np.concatenate([at + counts.pattern for at, counts in zip(first, of_raters, strict=False)]),
    )


# What the analysis plan declares, computed as it declares it: the only confirmed results of a held-out report.

#: Gives the statistic with an interval at a level.
AtLevel = Callable[[float], Estimate]
#: A statistic by the judges that it is of.
ByJudges = dict[tuple[str, ...], AtLevel]
NO_MAP = "no map of these judges' confidences was frozen in the plan"
#: Intervals rest on 2,000 draws at the most; levels beyond this one cannot be told apart.
SMALLEST_P = 0.001
#: Halvings of the range of p: to four digits.
_STEPS = 14
#: Statistics that agreement by chance does not fix at 0.
WITHOUT_NULL = ("percent_agreement", "failure_rate")


@dataclass(frozen=True)
class Declared(Result):
    """One declared test: the statistic on an axis, for two judges or for all.

    `p_value` is of the null that the judges agree no better than chance, from the interval: the smallest p whose
    interval at level 1 - p lies on one side of 0 (never below `SMALLEST_P`). With ``case_weighted_kappa`` the estimate
    is its difference from kappa and p that of shuffled confidences. `p_holm` is adjusted over the family. Both are NaN
    where the statistic has no such null (percent agreement, a failure rate) or is undefined.
    """

    _keys = columns("axis statistic judges found=estimate p_value p_holm")

    axis: str
    statistic: str
    judges: tuple[str, ...]
    estimate: Estimate
    p_value: float = math.nan
    p_holm: float = math.nan

    def row(self) -> dict[str, Any]:
        """The test as a row of a table."""
        estimate = self.estimate
        shown = columns("axis statistic judges estimate~~ p=p_value p_holm n=estimate.n_items")
        row = frames.rows_of([self], shown)[0] | {"judges": ", ".join(self.judges)}
        return row | {f"{estimate.cluster_unit}s": estimate.n_clusters, "why not": estimate.reason or None}


def declared_results(ratings: pl.DataFrame, plan: AnalysisPlan, *, seed: int = 0) -> tuple[Declared, ...]:
    """Compute what a plan declares on the held-out ratings of the last opening; Holm runs over all of it.

    Parameters
    ----------
    ratings : polars.DataFrame
        A ratings table; only judges' first repeats that bear the stamp of its last opening enter.
    plan : AnalysisPlan
        Its statistic, axes, policy for uncertain and level are used as they are.
    seed : int
        Of resamples.

    Returns
    -------
    tuple of Declared
        One for each axis; with a statistic of two raters and more judges, one for each pair; of a failure rate one for
        each judge.
    """
    number = pl.col("flags").list.join(" ").str.extract(r"opening:(\d+):", 1).cast(pl.Int64)
    judged = ratings.filter(VERDICT_ON_RUN & BY_JUDGE & (pl.col("repeat") == 0) & ~EMPTY_RUN)
    rows = judged.filter(number.is_not_null() & (number == number.max()))
    tests = [test for axis in plan.axes for test in _tests(rows.filter(pl.col("question") == axis), axis, plan, seed)]
    adjusted = holm([test.p_value for test in tests])
    return tuple(replace(test, p_holm=float(p)) for test, p in zip(tests, adjusted, strict=True))


class DeclaredTests(Part, name="declared", caption="Declared before opening", formats={"p": ".3f", "p_holm": ".3f"}):
    """What the plan declares, on the held-out side: the only results that may be called confirmed."""

    tests: tuple[Declared, ...]
    items: Mapping[str, str]

    @property
    def table(self) -> frames.Table:
        """One row a test."""
        return frames.table_of([test.row() for test in self.tests], self.kind, columns=("axis", "statistic"))

    @property
    def answer(self) -> str:
        """The declared results in words; empty without any."""
        return declared_sentence(self.tests)

    @property
    def behind(self) -> Mapping[str, str]:
        """The held-out items that are decided."""
        return self.items

    @property
    def declared(self) -> tuple[str, str | None]:
        """The statistic of the plan."""
        axes = {test.axis for test in self.tests}
        return (self.tests[0].statistic if self.tests else "", axes.pop() if len(axes) == 1 else None)


def declared_on(held_out: pl.DataFrame, tests: Sequence[Declared], *, kind: frames.Kind = "polars") -> DeclaredTests:
    """The declared tests (`Page.declared`, `declared_results`) with the held-out ratings that they are of."""
    named = {"side": "split", "versions": "rubric_version"}
    items = {key: ",".join(held_out[column].drop_nulls().unique().sort()) for key, column in named.items()}
    return DeclaredTests(tuple(tests), items | {"only": "decided"}, kind=kind, made_up=frames.made_up_raters(held_out))


def declared_sentence(results: tuple[Declared, ...]) -> str:
    """The declared results in words; empty without any."""
    return words.declared([(each.statistic, each.axis, each.judges, each.estimate, each.p_holm) for each in results])


def _tests(rows: pl.DataFrame, axis: str, plan: AnalysisPlan, seed: int) -> list[Declared]:
    """The tests of one axis, not yet adjusted."""
    judges = rows["rater"].unique().sort().to_list()
    if len(judges) < (1 if plan.statistic == "failure_rate" else 2):
        nothing = Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason=f"{many(len(judges), 'judge')} rated it")
        return [Declared(axis, plan.statistic, tuple(judges), nothing)]
    matrix = to_matrix(rows, axis)
    statistics = declared_statistics(matrix, code_verdicts(rows, matrix, plan.uncertain), plan, seed)
    return [_test(axis, plan, who, at) for who, at in statistics.items()]


def _test(axis: str, plan: AnalysisPlan, judges: tuple[str, ...], at: AtLevel) -> Declared:
    estimate = at(plan.ci_level)
    if isinstance(estimate, CaseWeighted):
        return Declared(axis, plan.statistic, judges, estimate, estimate.p_value)
    p_value = math.nan if plan.statistic in WITHOUT_NULL else _p_value(at)
    return Declared(axis, plan.statistic, judges, estimate, p_value)


def _p_value(at: AtLevel) -> float:
    """The smallest p whose interval at level 1 - p leaves 0 out, by halving; NaN without an interval."""

    def leaves_out(p: float) -> bool:
        estimate = at(1 - p)
        return estimate.ci_low > 0 or estimate.ci_high < 0

    if math.isnan(at(0.95).ci_low):
        return math.nan
    low, high = SMALLEST_P, 1.0
    if leaves_out(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if leaves_out(middle) else (middle, high)
    return high


def declared_statistics(matrix: RatingMatrix, numbered: CodedVerdicts, plan: AnalysisPlan, seed: int) -> ByJudges:
    """The plan's statistic by judges: all, every two, or (of a failure rate) each."""
    if plan.statistic == "failure_rate":
        return _failure_rates(matrix, numbered)
    if plan.statistic in COEFFICIENTS:
        return _coefficients(matrix, numbered, plan.statistic, seed)
    return {
        tuple(matrix.raters[rater] for rater in pair): _confident(matrix, numbered, plan, list(pair), seed)
        for pair in itertools.combinations(range(len(matrix.raters)), 2)
    }


def _coefficients(matrix: RatingMatrix, numbered: CodedVerdicts, name: str, seed: int) -> ByJudges:
    raters = matrix.raters
    drawn = dict.fromkeys([*coefficient_names(len(raters)).values(), name])  # as in a table of agreement

    @cache
    def at(level: float) -> dict[str, Agreement]:
        return agreement_coefficients(numbered.codes, list(drawn), **numbered.how, ci_level=level, rng=seed)

    def of(key: str, level: float) -> Estimate:
        return at(level)[key]

    if not COEFFICIENTS[name].two_raters or len(raters) == 2:
        return {raters: partial(of, name)}
    pairs = itertools.combinations(range(len(raters)), 2)
    return {(raters[one], raters[two]): partial(of, f"{name}[{one},{two}]") for one, two in pairs}


def _failure_rates(matrix: RatingMatrix, numbered: CodedVerdicts) -> ByJudges:
    """Each judge's share of `incorrect`; a verdict without a side is a pass, or left out where the plan says so."""
    failed = matrix.categories.index("incorrect") if "incorrect" in matrix.categories else -1

    def rate(codes: NDArray[np.float64], level: float) -> Estimate:
        values = np.where(np.isnan(codes), np.nan, codes == failed)
        return clustered_proportion(values, **numbered.groups, ci_level=level)

    return {(rater,): partial(rate, numbered.codes[:, column]) for column, rater in enumerate(matrix.raters)}


def _confident(
    matrix: RatingMatrix, numbered: CodedVerdicts, plan: AnalysisPlan, pair: list[int], seed: int
) -> AtLevel:
    """Soft or case-weighted agreement of two judges, on confidences normalised by the plan's frozen maps."""
    raters = [matrix.raters[rater] for rater in pair]
    if any(rater not in plan.maps for rater in raters):
        return lambda level: Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason=NO_MAP)
    maps = [plan.confidence_map(rater) for rater in raters]
    normalised = [
        normal(matrix.confidences[:, at], source=normal.source) for normal, at in zip(maps, pair, strict=True)
    ]
    codes, sure = numbered.codes[:, pair], np.column_stack(normalised)
    if plan.statistic == "soft_agreement":
        believed = beliefs(frames.words_of(codes, matrix.categories), sure)
        return lambda level: soft_agreement(believed, **numbered.groups, ci_level=level)
    combine: Any = "product" if plan.weighting == "none" else plan.weighting
    weighted = partial(case_weighted, codes, sure, combine=combine, rng=seed)
    return lambda level: weighted(**numbered.how, ci_level=level)
