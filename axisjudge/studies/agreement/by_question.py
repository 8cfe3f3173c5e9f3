"""How far raters agree on each question, how sure that is, and what it does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge import workbench
from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.ratings.counts import COUNTED, NOT_ASKED, PatternCounts, counted
from axisjudge.ratings.edge import EMPTY_RUN
from axisjudge.ratings.scales import Level, level_of
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, CaseBounds, Seed, case_bounds, kappa_when_decided
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.agreement.pairs import coefficients_at, columns_of
from axisjudge.stats.clusters import Alike, by_number
from axisjudge.stats.estimate import NamedEstimate, many, many_clusters, plural
from axisjudge.stats.proportions import wilson_interval
from axisjudge.studies._shared import frames
from axisjudge.studies._shared.pooled import code_counts
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import by_text, in_cell, sentence_case, spanned
from axisjudge.studies.agreement import sentences as words
from axisjudge.verdict import IDENTITY

_HEADINGS = {
    "ac1": "AC1",
    "alpha": "nominal alpha",
    "quadratic_kappa": "quadratic kappa",
    "ac2": "quadratic AC2",
    "ordinal_alpha": "ordinal alpha",
    "interval_alpha": "interval alpha",
}


def heading(column: str, coefficient: NamedEstimate | None) -> str:
    """How a column is headed for people; an intraclass correlation by its form."""
    if column == "icc":
        return "ICC" if coefficient is None else coefficient.label
    return _HEADINGS.get(column, column)


@dataclass(frozen=True)
class QuestionAgreement(Result):
    """Agreement on one question.

    `n_items` counts items with two ratings or more that enter the coefficients, and `n_clusters` where they come from;
    `n_rated` items with any rating, `n_single` those with one, `n_common` those with a verdict of every rater;
    `raters_an_item` is the fewest and the most among the `n_items`; `n_verdicts` counts all verdicts given. `lost`
    counts the ratings of each rater that came back without a verdict, `not_asked` the items it has no rating of.
    `coefficients` holds what the registry gives a column at the `level` of the scale: nominal `percent`, `kappa`
    (Cohen's for two raters, Fleiss' for more), `ac1`, `alpha`; ordinal `percent`, `quadratic_kappa`, `ac2`,
    `ordinal_alpha`; and for numbers `interval_alpha` and `icc`. It is empty for a single rater. `bounds` says what
    percent agreement and kappa could be had every undecided or lost verdict been decided.
    """

    question: str
    scale: str
    level: Level
    raters: tuple[str, ...]
    n_items: int
    n_rated: int
    n_single: int
    raters_an_item: tuple[int, int]
    n_clusters: int
    cluster_unit: str
    n_common: int
    lost: dict[str, int]
    not_asked: dict[str, int]
    undecided: dict[str, int]
    shares: dict[str, float]
    n_verdicts: int = 0
    coefficients: dict[str, NamedEstimate] = field(default_factory=dict)
    bounds: CaseBounds | None = None
    alike: Alike = "items"

    @property
    def share_decided(self) -> float | None:
        """The share of all verdicts given that take a side; None without any."""
        return 1 - sum(self.undecided.values()) / self.n_verdicts if self.n_verdicts else None

    def row(self) -> dict[str, Any]:
        """One row of the table, unrounded."""
        common = max(self.shares, key=lambda word: self.shares[word], default=None)
        row: dict[str, Any] = {
            **frames.rows_of([self], columns("question scale n_items n_rated n_clusters cluster_unit n_common"))[0],
            "n_lost": sum(self.lost.values()),
            "n_undecided": sum(self.undecided.values()),
            "share_decided": self.share_decided,
            "commonest_verdict": common,
            "commonest_share": self.shares.get(common or "", None),
        }
        figures = columns(*(f"{name}~" for name in columns_of(self.level)))
        figures |= {index: f"percent.{index}" for index in ("prevalence_index", "bias_index")}
        return row | {key: self._figure(*path.split(".")) for key, path in figures.items()}

    def brief(self) -> dict[str, Any]:
        """One row as people read it: counts, and each coefficient with its interval in one cell."""
        share = self.row()["commonest_share"]
        cells = {name: self.coefficients.get(name) for name in columns_of(self.level)}
        fewest, most = self.raters_an_item
        return {
            "question": self.question,
            "n": self.n_items,
            "clusters" if " and " in self.cluster_unit else plural(self.cluster_unit): self.n_clusters,
            "raters": str(most) if fewest == most else f"{fewest} to {most}",
            "lost": sum(self.lost.values()),
            "decided": "–" if self.share_decided is None else f"{self.share_decided:.0%}",
            "commonest": None if share is None else f"{share:.0%}",
            **{heading(name, cell): None if cell is None else in_cell(cell) for name, cell in cells.items()},
        }

    def _figure(self, name: str, what: str) -> float | None:
        value = getattr(self.coefficients.get(name), what, np.nan)
        return None if np.isnan(value) else value

    def sentences(self) -> list[str]:
        """What the figures say, in words."""
        n = self.n_items if self.coefficients else self.n_rated
        items = many(n, "item")
        if self.cluster_unit != "item":
            items += f" in {many_clusters(self.n_clusters, self.cluster_unit)}"
            items += f", each {self.cluster_unit if self.alike == 'clusters' else 'item'} alike"
        remarks = [f"{self.question}: {text}" for text in self.remarks()]
        return [words.headline(self.question, items, self.raters, self.n_common, self.coefficients), *remarks]

    def remarks(self) -> list[str]:
        """What must be known to read the figures: why they differ, and what they leave out."""
        kappa = self.coefficients.get("kappa", self.coefficients.get("quadratic_kappa"))
        of_kappa: tuple[str, ...] = ()
        if isinstance(kappa, Agreement):
            one = kappa.remarks.one_category
            of_kappa = (kappa.sentence(), one and f"{one}.")
        never = [word for word, share in self.shares.items() if not share]
        fewest, most = self.raters_an_item
        return [
            *filter(None, of_kappa),
            *(text for coefficient in self.coefficients.values() for text in words.unused(coefficient, never)),
            *words.raters_an_item(fewest, most, self.n_single),
            *words.gaps(words.LOST, self.lost),
            *words.gaps(words.NOT_ASKED, self.not_asked),
            *words.undecided(self.bounds),
        ]


class AgreementByAxis(
    Part, name="agreement", caption="Agreement of all judges, per question", behind={"only": "decided"}
):
    """Agreement on every question of a ratings table; `questions` in the table's order.

    `left_out` counts what does not enter: ratings of other `repeats`, and `empty_runs`, whose ratings follow from the
    definition, so that all raters agree on them without having judged.
    """

    _keys = ("uncertain", "banner", "scope", "left_out", "questions")
    scope: ClassVar[str] = frames.SCOPE

    questions: tuple[QuestionAgreement, ...]
    uncertain: str
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def table(self) -> frames.Table:
        """One row a question: counts, each coefficient of the registry with its interval, prevalence."""
        return _table([question.row() for question in self.questions], self.kind)

    def brief(self) -> frames.Table:
        """One row a question as people read it: counts, and each coefficient with its interval in one cell."""
        return _table([question.brief() for question in self.questions], self.kind)

    @property
    def answer(self) -> str:
        """What must be known to read the figures: of each question one paragraph, which says its name once."""
        remarks = ((each.question, " ".join(map(sentence_case, each.remarks()))) for each in self.questions)
        return " ".join(by_text(remarks))

    def by_scale(self) -> dict[str, AgreementByAxis]:
        """The questions of each scale apart, by scale: coefficients of two scales are no column."""
        scales = dict.fromkeys(question.scale for question in self.questions)
        return {
            scale: replace(self, questions=tuple(each for each in self.questions if each.scale == scale))
            for scale in scales
        }

    def sentences(self) -> list[str]:
        """The result in words: the banner where one is due, each question, and what all of it is conditional on."""
        by_question = [text for question in self.questions for text in question.sentences()]
        return [*filter(None, [self.banner]), *by_question, *words.left_out(self.left_out), frames.SCOPE]


def agreement_by_axis(
    ratings: frames.Given | pl.LazyFrame,
    *,
    raters: Sequence[str] | None = None,
    uncertain: Literal["category", "exclude"] = "exclude",
    repeat: int = 0,
    step_level: bool = False,
    cluster_unit: str = "",
    alike: Alike = "items",
    ci_level: float = 0.95,
    rng: Seed = None,
) -> AgreementByAxis:
    """Agreement of raters on each question of a ratings table.

    Parameters
    ----------
    ratings : polars, pandas or pyarrow table, or dict of columns
        A ratings table with one rating for each item, question and rater. A polars LazyFrame (`polars.scan_parquet`
        of millions of ratings) is read one question at a time, and of several ratings of one identity the last counts.
    raters : sequence of str, optional
        Which raters; by default all.
    uncertain : {"category", "exclude"}
        Whether `uncertain` and `not_applicable` are left out, as verdicts that were not given, or count as words of
        their own (then a rater that abstains disagrees with all that decide). Either way they are counted, and the
        bounds say what they could hide.
    repeat : int
        Which repeat of the judging.
    step_level : bool
        Ratings of steps instead of whole trajectories. Clusters stay those of the table, never the step.
    cluster_unit : str
        What `cluster_id` is; by default what it equals in the table: the task, the trajectory.
    alike : str
        Whether each item counts alike (``items``) or each cluster (``clusters``), in coefficients of words.
    ci_level : float
        Level of the intervals.
    rng : numpy.random.Generator or int, optional
        Source of resamples; a fixed seed by default.

    Raises
    ------
    InputError
        There are no such ratings, or several for one item, question and rater (two rubric versions, say).
    """
    one_of("uncertain", uncertain, ("category", "exclude"))
    once = IDENTITY if isinstance(ratings, pl.LazyFrame) else ()
    table = ratings if isinstance(ratings, pl.LazyFrame) else frames.to_polars(ratings, COUNTED, where="ratings").lazy()
    if raters is not None:
        table = table.filter(pl.col("rater").is_in(list(raters)))
    counts = counted(table, repeat=repeat, step_level=step_level, once=once)
    if not counts:
        raise TooLittle("ratings", "no such ratings", cure="check raters, repeat and step_level")
    made_up = {name for each in counts for _, name, kind in each.raters if kind in frames.MADE_UP}
    return AgreementByAxis(
        tuple(question_agreement(each, uncertain, cluster_unit, alike, ci_level, rng) for each in counts),
        uncertain,
        left_out=_left_out(table.filter(pl.col("step_index").is_not_null() == step_level), repeat),
        kind="polars" if isinstance(ratings, pl.LazyFrame) else frames.kind_of(ratings),
        made_up=tuple(sorted(made_up)),
    )


def _left_out(table: pl.LazyFrame, repeat: int) -> dict[str, int]:
    counts = table.select(
        (pl.col("repeat") != repeat).sum().alias("repeats"),
        pl.col("trajectory_id").filter(EMPTY_RUN).n_unique().alias("empty_runs"),
    )
    return counts.collect().row(0, named=True)


def _table(rows: Sequence[Mapping[str, Any]], kind: frames.Kind) -> frames.Table:
    """Rows of scales that differ in their coefficients, as one table."""
    parts = [pl.DataFrame([row], infer_schema_length=None) for row in rows]
    return frames.native(pl.concat(parts, how="diagonal_relaxed"), kind)


def question_agreement(
    counts: PatternCounts,
    uncertain: str = "exclude",
    cluster_unit: str = "",
    alike: Alike = "items",
    ci_level: float = 0.95,
    rng: Seed = None,
) -> QuestionAgreement:
    """Agreement of raters on one question, from counts; parameters are those of `agreement_by_axis`."""
    numbered = code_counts(counts, uncertain)
    if cluster_unit and numbered.cluster_unit != "item":
        numbered = replace(numbered, cluster_unit=cluster_unit)
    level = level_of(counts.scale)
    given, asked = counts.codes, counts.answers != NOT_ASKED
    coefficients: dict[str, NamedEstimate] = {}
    bounds = None
    if len(counts.names) > 1:
        rows: dict[str, Any] = {"rows": counts.pattern, "times": counts.times, "alike": alike}
        coefficients = coefficients_at(level, numbered.codes, **numbered.how, **rows, ci_level=ci_level, rng=rng)
        if level != "interval":
            of_all = asked.all(axis=1)
            decided, kept = numbered.decided[of_all], of_all[counts.pattern]
            bounds = case_bounds(decided, categories=numbered.sided, times=counts.items[of_all])
            if bounds.n_undecided and len(counts.names) == 2:
                kappa = kappa_when_decided(
                    decided,
                    categories=numbered.sided,
                    clusters=None if numbered.cluster_unit == "item" else counts.clusters[kept],
                    times=counts.times[kept],
                    rows=(np.cumsum(of_all) - 1)[counts.pattern[kept]],
                    ci_level=ci_level,
                    rng=rng,
                )
                bounds = replace(bounds, kappa_low=kappa[0], kappa_high=kappa[1])
    n, rated = counts.items, ~np.isnan(numbered.codes)
    number = rated.sum(axis=1)
    compared = number >= (2 if coefficients else 1)

    def of_raters(cells: NDArray[np.bool_]) -> dict[str, int]:
        return dict(zip(counts.names, (n @ cells).astype(int).tolist(), strict=True))

    def of_words(codes: NDArray[np.float64], words: Sequence[float]) -> dict[str, int]:
        return {counts.categories[int(code)]: int(n @ (codes == code).sum(axis=1)) for code in words}

    used, total = of_words(numbered.codes, sorted(numbered.categories)), int(n @ number)
    return QuestionAgreement(
        question=counts.question,
        scale=counts.scale,
        level=level,
        alike=alike,
        raters=counts.names,
        n_items=int(n[number >= 2].sum()),
        n_rated=int(n[number > 0].sum()),
        n_single=int(n[number == 1].sum()),
        raters_an_item=(int(number[compared].min()), int(number[compared].max())) if compared.any() else (0, 0),
        n_clusters=np.unique(by_number(counts.clusters[compared[counts.pattern]])[-1]).size,
        cluster_unit=numbered.cluster_unit,
        n_common=int(n[rated.all(axis=1)].sum()),
        lost=of_raters(asked & np.isnan(given)),
        not_asked=of_raters(~asked),
        undecided=of_words(given, numbered.undecided),
        shares={word: times / total for word, times in used.items() if total},
        n_verdicts=int(n @ (~np.isnan(given)).sum(axis=1)),
        coefficients=coefficients,
        bounds=bounds,
    )


#: Intraclass correlation of outcomes within a task that is assumed where the pairing by task was not published.
ICC = 0.3
#: Agreement by axis, failures by any judge, and one call that was made twice.
_PUBLISHED = ("agreement_by_axis", "any_judge_incorrect", "repeat")
#: Both incorrect, one of them, the other, neither.
_JOINT = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@dataclass(frozen=True)
class ImpliedTable(Result):
    """The two judges' common table on one axis, as far as counts of agreement and of any-judge failures fix it.

    Cohen's kappa and Gwet's AC1 are given over all ways to share the one-sided failures between the judges.
    """

    axis: str
    n: int
    agree: int
    both_incorrect: int
    one_incorrect: int
    kappa: tuple[float, float]
    ac1: tuple[float, float]
    if_independent: tuple[float, float]
    if_clustered: tuple[float, float]


class PublishedAgreement(
    Part, name="published", caption="Published agreement of two judges, and what it implies", of_ratings=False
):
    """Implied tables of all axes; `effective_items` is what the items are worth at an intraclass correlation `ICC`."""

    _keys = ("axes", "n_tasks", "effective_items", "icc")
    icc: ClassVar[float] = ICC

    axes: tuple[ImpliedTable, ...]
    n_tasks: int
    effective_items: float

    @property
    def table(self) -> frames.Table:
        """One row an axis."""
        ranges = {"cohen_kappa": "kappa", "gwet_ac1": "ac1", "if_independent": "if_independent"}
        ranges |= {f"as_{self.n_tasks}_tasks": "if_clustered"}
        counts = ("both_incorrect", "one_incorrect")
        rows = [
            {"axis": one.axis, "agree": f"{one.agree} of {one.n}"}
            | {name: getattr(one, name) for name in counts}
            | {name: spanned(getattr(one, of)) for name, of in ranges.items()}
            for one in self.axes
        ]
        return frames.table_of(rows, self.kind)

    answer = property(words.published)


def published_tables() -> dict[Path, pl.DataFrame]:
    """The published tables of the workbench by their files: agreement by axis, any-judge failures, a repeated call."""
    folder = workbench.home() / "data" / "published"
    return {path: pl.read_csv(path) for path in (folder / f"{name}.csv" for name in _PUBLISHED)}


def published_agreement(agreement: frames.Given, failures: frames.Given, *, n_tasks: int) -> PublishedAgreement:
    """The tables that published counts imply, if every disagreement is correct against incorrect.

    Parameters
    ----------
    agreement : table
        Columns axis, agree, n.
    failures : table
        Columns axis, agent, incorrect, n: runs that at least one judge called incorrect.
    n_tasks : int
        Tasks behind the n runs, equally many runs each.

    Raises
    ------
    InputError
        The two tables contradict each other.
    """
    counts = frames.to_polars(agreement, ("axis", "agree", "n"), where="agreement")
    any_judge = frames.to_polars(failures, ("axis", "agent", "incorrect", "n"), where="failures")
    totals = dict(any_judge.group_by("axis").agg(pl.col("incorrect").sum()).iter_rows())
    n = int(counts["n"][0])
    effective = n / (1 + (n / n_tasks - 1) * ICC)
    axes = tuple(_implied(axis, agree, of, totals.get(axis, -1), effective / n) for axis, agree, of in counts.rows())
    return PublishedAgreement(axes, n_tasks, effective, kind=frames.kind_of(agreement))


def _implied(axis: str, agree: int, n: int, any_incorrect: int, share_effective: float) -> ImpliedTable:
    one = n - agree
    both = any_incorrect - one
    if not 0 <= both <= agree:
        counts = f"{agree} of {n} agree, {any_incorrect} by any judge"
        raise InputError(f"published counts of {axis}", "agreement and any-judge failures must fit together", counts)
    splits = [(both, first, one - first, agree - both) for first in range(one // 2 + 1)]
    kappas, ac1s = ([_coefficient(name, table) for table in splits] for name in ("cohen_kappa", "gwet_ac1"))
    return ImpliedTable(
        axis=axis,
        n=n,
        agree=agree,
        both_incorrect=both,
        one_incorrect=one,
        kappa=(min(kappas), max(kappas)),
        ac1=(min(ac1s), max(ac1s)),
        if_independent=wilson_interval(agree, n),
        if_clustered=wilson_interval(agree * share_effective, n * share_effective),
    )


def _coefficient(name: str, counts: tuple[int, int, int, int]) -> float:
    """A coefficient of two judges from their joint counts."""
    coefficient, words = COEFFICIENTS[name], np.array([0.0, 1.0])
    return float(coefficient.estimate(np.array(counts) @ coefficient.sums(_JOINT, words), words))
