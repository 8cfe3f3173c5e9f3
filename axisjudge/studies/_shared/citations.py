"""The steps that judges cite: whether they exist, and whether judges who agree point at the same evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from numbers import Integral
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.figures import theme
from axisjudge.ratings.edge import BY_JUDGE, VERDICT_ON_RUN, as_ratings, once
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import FAILED, Estimate, IntervalTerms
from axisjudge.stats.repeats import (
    FEWEST_ITEMS,
    CitationOverlap,
    VarianceComponents,
    citation_overlap,
    citation_validity,
    same_verdict_other_evidence,
    variance_components,
)
from axisjudge.studies._shared import frames, words
from axisjudge.studies._shared.result import Part
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import check_citations


class NoChance(StrEnum):
    """Why there is no overlap by chance to compare with."""

    NONE = ""
    NO_STEPS = "chance needs the number of steps of each run, which was not given"


_FRAME = columns(
    "question rubric_version judge other_judge items=n_items both_cite=cited.n_both one_cites=cited.n_one",
    "none_cites=cited.n_none overlap~~=cited.overlap chance=cited.chance excess~=cited.excess",
    "step_distance=cited.distance.estimate same_verdict=n_same_verdict no_common_step=n_apart",
)


@dataclass(frozen=True)
class JudgeCitations(Result):
    """One judge's citations: how many of its verdicts cite a step, and the share of cited steps that exist."""

    judge: str
    family: str
    n_verdicts: int
    n_citing: int
    n_cited: int
    n_invalid: int
    validity: Estimate

    @property
    def sentence(self) -> str:
        """In how many verdicts it cites steps, and how many of these exist."""
        steps = (self.n_cited - self.n_invalid, self.n_cited)
        return words.cited_validity(self.judge, (self.n_citing, self.n_verdicts), steps, self.validity)


@dataclass(frozen=True)
class PairCitations(Result):
    """Two judges on one question under one rubric version (None where neither judge reads a rubric).

    `cited` holds overlap, chance and step distance over the `n_items` runs with a verdict of both. Of `n_same_verdict`
    runs with one verdict, `no_common_step` names those on which both cite existing steps and share none.
    """

    question: str
    rubric_version: str | None
    judges: tuple[str, str]
    families: tuple[str, str]
    cited: CitationOverlap
    n_items: int
    n_same_verdict: int
    no_common_step: tuple[str, ...]

    judge = property(lambda self: self.judges[0])
    other_judge = property(lambda self: self.judges[1])
    n_apart = property(lambda self: len(self.no_common_step))


class SharedSteps(Part, name="citations", caption="Shared evidence per question and pair of judges"):
    """The steps that two judges share, beside chance, for each question, rubric version and pair; validity per judge.

    `refusal` says why there is no chance overlap. One row for each question, rubric version and pair of judges.
    """

    _rows = "pairs", _FRAME

    judges: tuple[JudgeCitations, ...]
    pairs: tuple[PairCitations, ...]
    refusal: NoChance
    repeats_left_out: int

    @property
    def any_cited(self) -> bool:
        """Whether a judge cites a step: without one there is nothing to show."""
        return any(judge.n_cited for judge in self.judges)

    def judges_frame(self) -> frames.Table:
        """One row a judge: its citations and the share of them that exist."""
        counts = "judge family n_verdicts n_citing n_cited n_invalid"
        shown = columns(counts, "validity~~ tasks=validity.n_clusters")
        return frames.frame_of(self.judges, shown, self.kind)

    @property
    def answer(self) -> str:
        """What citations show and what they do not."""
        return " ".join(self.sentences)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Overlap of cited steps, a panel a question; the tick is chance."""
        return plot_citation_overlap(self, ax=ax) if any(pair.cited.n_both for pair in self.pairs) else super().plot(ax)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What citations show and what they do not, one by one."""
        if not self.any_cited:
            return (words.NOTHING_CITED if self.judges else words.NO_VERDICT_OF_A_JUDGE,)
        return (
            self.overlap_sentence,
            *self.evidence_sentences,
            *(judge.sentence for judge in self.judges if judge.n_cited),
            *self.version_sentences,
            *words.steps_of_one_repeat(self.repeats_left_out),
        )

    overlap_sentence = property(words.cited_overlap)

    @property
    def evidence_sentences(self) -> tuple[str, ...]:
        """Of equal verdicts, how many share no cited step."""
        same, apart = (sum(pair.n_same_verdict for pair in self.pairs), sum(pair.n_apart for pair in self.pairs))
        where = [*dict.fromkeys(pair.question for pair in self.pairs if pair.no_common_step)]
        everywhere = len(where) == len({pair.question for pair in self.pairs})
        return (words.other_evidence(same, apart, () if everywhere else where),) if same else ()

    @property
    def version_sentences(self) -> tuple[str, ...]:
        """For each question the mean overlap of the same pairs of judges under each version of a rubric."""
        sentences = []
        for question in dict.fromkeys(pair.question for pair in self.pairs):
            by_version: dict[str | None, dict[tuple[str, str], float]] = {}
            for pair in self.pairs:
                if pair.question == question and pair.cited.n_both:
                    by_version.setdefault(pair.rubric_version, {})[pair.judges] = pair.cited.overlap.estimate
            shared = set.intersection(*map(set, by_version.values())) if by_version else set()
            if len(by_version) > 1 and shared:
                n = len(shared)
                means = {of: sum(overlap[both] for both in shared) / n for of, overlap in by_version.items()}
                sentences.append(words.overlap_by_version(question, means, n))
        return tuple(sentences)


def plot_citation_overlap(report: SharedSteps, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Overlap of cited steps for each pair of judges, a panel a question; the tick is chance."""
    pairs = [pair for pair in report.pairs if pair.cited.n_both]
    questions = list(dict.fromkeys(pair.question for pair in pairs))
    names = list(dict.fromkeys(_names(pair.judges, pair.rubric_version) for pair in pairs))
    figure, axes = panels_of_questions(questions, names, ax)
    tick: dict[str, Any] = {"color": "#A34700", "markersize": 11, "markeredgewidth": 1.8}
    for ax, question in zip(axes, questions, strict=True):
        for pair in (pair for pair in pairs if pair.question == question):
            at = names.index(_names(pair.judges, pair.rubric_version))
            overlap = pair.cited.overlap
            theme.interval_mark(ax, overlap, at, size=5)
            ax.plot(pair.cited.chance, at, "|", **tick)
        named_panel(ax, question)
    axes[0].set_xlim(left=0)
    axes[0].plot([], [], "o-", color=theme.ACCENT, label="overlap (Jaccard) with its interval over tasks")
    axes[0].plot([], [], "|", **tick, label="the same by chance in these runs")
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=theme.SMALL, labelcolor=theme.QUIET)
    widest = max((pair.cited.overlap for pair in pairs), key=lambda estimate: estimate.n_clusters)
    dots = "dots: shared steps over steps cited by either; ticks: the same by chance"
    theme.describe(figure, f"{dots}; {theme.intervals(widest)}")
    return axes[0]


def _names(judges: tuple[str, str], version: str | None) -> str:
    both = " and ".join(short_name(judge) for judge in judges)
    return both if version is None else f"{both}, {version}"


def short_name(judge: str) -> str:
    """A judge's name without what every simulated one has."""
    return judge.removeprefix("simulated:")


def named_panel(ax: theme.Axes, question: str) -> None:
    """Name a panel by its question."""
    theme.dress(ax, "")
    ax.set_title(theme.in_words(question), loc="left", fontsize=theme.LABEL, fontweight="bold", color=theme.INK)


def panels_of_questions(
    questions: list[str], names: list[str], ax: theme.Axes | None
) -> tuple[theme.Figure, list[theme.Axes]]:
    """A panel a question with a row a name, shares across."""
    import matplotlib as mpl

    ax = theme.new_axes(1.85 * len(questions) + 1.6, 0.34 * len(names) + 1.3) if ax is None else ax
    axes = theme.side_by_side(ax, len(questions), sharex=True)
    for each in axes:
        theme.named_rows(each, names)
        each.tick_params(axis="y", labelsize=theme.SMALL)
        each.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
        each.xaxis.set_major_formatter(theme.percent_tick)
        theme.grid(each)
    return axes[0].figure, axes  # type: ignore[return-value]


def shared_steps(
    ratings: frames.Given,
    runs: Sequence[Trajectory] = (),
    *,
    steps: frames.Given | None = None,
    repeat: int = 0,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> SharedSteps:
    """Do judges that agree point at the same steps? Validity and overlap of steps cited on whole trajectories.

    A judge without a rubric version (it reads no rubric) is compared with the others under each of their versions.

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns).
    runs : sequence of Trajectory
        The runs that were rated (others are passed over): their numbers of steps tell which shared steps are chance.
    steps : mapping or table, optional
        Instead of runs the number of steps of each: ``{trajectory_id: n_steps}``, or a table of these. Without
        either chance is refused.
    repeat : int
        Which repeat; the others are left out and counted.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and rubric version; a run without steps; or steps that contradict what
        the ratings say of invalid citations.
    """
    rated = as_ratings(ratings)
    ids = set(rated["trajectory_id"])
    if steps is None and len(runs):
        steps = {run.id: len(run.steps) for run in runs if run.id in ids}
    table = rated.filter(VERDICT_ON_RUN & BY_JUDGE & pl.col("verdict").is_not_null())
    lists = pl.col("cited_step_indices", "invalid_citations").fill_null([])
    kept = _once(table.filter(pl.col("repeat") == repeat).with_columns(lists))
    n_steps = None if steps is None else _checked_steps(frames.per_run(steps, "n_steps", where="steps"), kept)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    return SharedSteps(
        judges=tuple(_judge(mine, terms) for mine in _parts(kept, "family", "rater")),
        pairs=tuple(_pairs(kept, n_steps, terms)),
        refusal=NoChance.NO_STEPS if n_steps is None else NoChance.NONE,
        repeats_left_out=table.height - kept.height,
        kind=frames.kind_of(ratings),
        made_up=frames.made_up_raters(rated),
    )


def _once(kept: pl.DataFrame) -> pl.DataFrame:
    rule = "one rating for each run, question, judge and rubric version"
    keys = ("trajectory_id", "question", "rater", "rubric_version")
    return once(kept, *keys, rule=rule, cure="filter by prompt_sha256 or rater_version first")


def _checked_steps(n_steps: dict[str, Any], kept: pl.DataFrame) -> dict[str, int]:
    columns = ("trajectory_id", "cited_step_indices", "invalid_citations")
    for run, cited, invalid in kept.select(columns).iter_rows():
        n = n_steps.get(run)
        if not isinstance(n, Integral) or n < 0:
            cure = "give the trajectories of all rated runs"
            raise InputError("steps", f"needs the number of steps of run {run}", n, cure)
        if set(check_citations(cited, int(n))) != set(invalid):
            rule = f"run {run} has {n} steps, which contradicts the invalid citations in the ratings"
            raise InputError("steps", rule, f"cited {cited}, invalid {invalid}", "take the steps of the runs judged")
    return {run: int(n_steps[run]) for run in kept["trajectory_id"].unique()}


def _parts(table: pl.DataFrame, *columns: str) -> list[pl.DataFrame]:
    return table.sort(columns).partition_by(columns, maintain_order=True)


def _judge(mine: pl.DataFrame, terms: IntervalTerms) -> JudgeCitations:
    cited, invalid = mine["cited_step_indices"].to_list(), mine["invalid_citations"].to_list()
    validity = citation_validity(cited, invalid, clusters=mine["cluster_id"].to_list(), **terms)
    return JudgeCitations(
        judge=mine["rater"][0],
        family=mine["family"][0],
        n_verdicts=mine.height,
        n_citing=sum(map(bool, cited)),
        n_cited=validity.n_items,
        n_invalid=sum(step in set(wrong) for steps, wrong in zip(cited, invalid, strict=True) for step in steps),
        validity=validity,
    )


def _pairs(kept: pl.DataFrame, n_steps: dict[str, int] | None, terms: IntervalTerms) -> list[PairCitations]:
    pairs: list[PairCitations] = []
    if not kept["cited_step_indices"].list.len().sum():
        return pairs  # nothing to compare, and pairs of many judges take their time
    for question in frames.questions_in_order(kept["question"]):
        asked = kept.filter(pl.col("question") == question)
        versions: list[str | None] = [*asked["rubric_version"].drop_nulls().unique().sort()]
        for version in versions or [None]:
            under = asked.filter(pl.col("rubric_version").is_null() | pl.col("rubric_version").eq_missing(version))
            _once(under.with_columns(rubric_version=pl.lit(version)))
            judges = _parts(under, "family", "rater")
            pairs += [_pair(one, other, version, n_steps, terms) for one, other in combinations(judges, 2)]
    return [pair for pair in pairs if pair.n_items]


def _pair(
    one: pl.DataFrame,
    other: pl.DataFrame,
    version: str | None,
    n_steps: dict[str, int] | None,
    terms: IntervalTerms,
) -> PairCitations:
    both = one.join(other, on="trajectory_id", suffix="_other").sort("trajectory_id")
    runs: list[str] = both["trajectory_id"].to_list()
    first, second = _existing(both, ""), _existing(both, "_other")
    verdicts, verdicts_other = both["verdict"].to_list(), both["verdict_other"].to_list()
    known = n_steps or {run: max(a | b, default=-1) + 1 for run, a, b in zip(runs, first, second, strict=True)}
    lengths = [known[run] for run in runs]
    overlap = citation_overlap(first, second, lengths, clusters=both["cluster_id"].to_list(), **terms)
    if n_steps is None:  # chance takes them
        bare = replace(overlap.excess, method="", reason=NoChance.NO_STEPS.value, notes=())
        nothing = replace(bare, estimate=math.nan, ci_low=math.nan, ci_high=math.nan)
        overlap = replace(overlap, chance=math.nan, excess=nothing)
    apart = same_verdict_other_evidence(verdicts, verdicts_other, first, second)
    return PairCitations(
        question=one["question"][0],
        rubric_version=version,
        judges=(one["rater"][0], other["rater"][0]),
        families=(one["family"][0], other["family"][0]),
        cited=overlap,
        n_items=len(runs),
        n_same_verdict=sum(a == b for a, b in zip(verdicts, verdicts_other, strict=True)),
        no_common_step=tuple(runs[at] for at in apart),
    )


def _existing(both: pl.DataFrame, suffix: str) -> list[set[int]]:
    columns = (f"cited_step_indices{suffix}", f"invalid_citations{suffix}")
    return [set(cited) - set(invalid) for cited, invalid in both.select(columns).iter_rows()]


class NoVariance(StrEnum):
    """Why verdicts have no variance components."""

    NONE = ""
    ONE_JUDGE = "fewer than two judges were asked several times"
    ONE_REPEAT = "the judges have fewer than two repeats in common"


@dataclass(frozen=True)
class QuestionVariance(Result):
    """Variance components on one question over the judges that were asked several times; None where there is none.

    `seldom` are judges that decide on so few items that too few would be left of which all judges decided.
    """

    question: str
    judges: tuple[str, ...]
    components: VarianceComponents | None
    refusal: NoVariance
    seldom: tuple[str, ...] = ()


def by_question(table: pl.DataFrame) -> list[pl.DataFrame]:
    return [table.filter(pl.col("question") == question) for question in frames.questions_in_order(table["question"])]


def question_variance(asked: pl.DataFrame) -> QuestionVariance:
    question = asked["question"][0]
    judges = [mine for mine in asked.sort("family", "rater").partition_by("rater") if mine["repeat"].n_unique() > 1]
    every = [mine["rater"][0] for mine in judges]
    judges = _deciding(judges)
    names = tuple(mine["rater"][0] for mine in judges)
    seldom = tuple(name for name in every if name not in names)
    if len(judges) < 2:
        return QuestionVariance(question, names, None, NoVariance.ONE_JUDGE)
    repeats = sorted(set.intersection(*(set(mine["repeat"]) for mine in judges)))
    if len(repeats) < 2:
        return QuestionVariance(question, names, None, NoVariance.ONE_REPEAT)
    runs = asked["trajectory_id"].unique().sort().to_list()
    again = pl.concat(judges).filter(pl.col("repeat").is_in(repeats))
    failed = again["verdict"].replace_strict(FAILED, default=None, return_dtype=pl.Float64)
    verdicts = frames.cube(again, {"trajectory_id": runs, "rater": names, "repeat": repeats}, failed)
    task_of = dict(asked.select("trajectory_id", "cluster_id").iter_rows())
    tasks, when = [task_of[run] for run in runs], _occasions(judges, repeats)
    components = variance_components(verdicts, occasions=when, tasks=tasks)
    return QuestionVariance(question, names, components, NoVariance.NONE, seldom)


def _deciding(judges: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The judges, without those that decide seldomest as long as all decide on too few items together."""
    kept = list(judges)
    decided = pl.col("verdict").is_in([*FAILED]).fill_null(value=False).all()
    of = {id(mine): {*mine.group_by("trajectory_id").agg(decided).filter("verdict")["trajectory_id"]} for mine in kept}
    while len(kept) > 2 and len(set.intersection(*(of[id(mine)] for mine in kept))) < FEWEST_ITEMS:
        seldomest = min(kept, key=lambda mine: len(of[id(mine)]))
        kept = [mine for mine in kept if mine is not seldomest]
    return kept


def _occasions(judges: Sequence[pl.DataFrame], repeats: Sequence[int]) -> list[int]:
    """The occasion of each repeat: those that every judge gave in one run of judging are of one, or of none named."""
    run = pl.col("run_id").drop_nulls().mode().sort().first()
    runs_of = [dict(mine.group_by("repeat").agg(run).iter_rows()) for mine in judges]
    named = [tuple(runs[repeat] for runs in runs_of) for repeat in repeats]
    return [named.index(each) for each in named]


def question_variances(ratings: frames.Given) -> tuple[QuestionVariance, ...]:
    """Variance components of 0/1 verdicts on whole trajectories (1 incorrect, 0 otherwise decided), by question.

    Parameters
    ----------
    ratings : table
        A ratings table of one rubric and prompt for each judge and question.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat.
    """
    return tuple(question_variance(asked) for asked in by_question(repeated_verdicts(ratings)))


def repeated_verdicts(ratings: frames.Given) -> pl.DataFrame:
    """The judges' verdicts on whole trajectories, all repeats, each once."""
    table = as_ratings(ratings)
    given = table.filter(VERDICT_ON_RUN & BY_JUDGE & pl.col("verdict").is_not_null())
    key = ("trajectory_id", "question", "rater", "repeat")
    return once(given, *key, rule="one rating for each run, question, judge and repeat")
