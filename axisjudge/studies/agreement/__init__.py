"""Do judges agree, and what is their agreement worth? (notebook 02, `axisjudge agreement`)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.cluster import InTurn, Workers
from axisjudge.ratings.counts import COUNTED, PatternCounts, counted, crossed_with, in_sum
from axisjudge.ratings.dataset import NEVER_NULL, DatasetPart, parts_of
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, EMPTY_RUN, LABELS, MADE_UP, as_ratings, by_raters
from axisjudge.ratings.scales import has_words
from axisjudge.results import columns
from axisjudge.sources import Source, about_empty_runs, about_ratings, refuse_texts, source_of
from axisjudge.stats.clusters import ALIKE, Alike
from axisjudge.stats.comparisons.ranking import Reversal
from axisjudge.stats.estimate import IntervalTerms
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, made_up_raters, native, questions_in_order
from axisjudge.studies._shared.pooled import Pooled, pooled
from axisjudge.studies._shared.ranking import Disagreements, PanelTriage, disagreements, panel_triage
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies.agreement import against_labels
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.by_family import CrossFamily, WithLabels, families_of_counts, reversal_of
from axisjudge.studies.agreement.by_question import (
    AgreementByAxis,
    QuestionAgreement,
    agreement_by_axis,
    question_agreement,
)
from axisjudge.studies.agreement.by_question import published_agreement as published_agreement
from axisjudge.studies.agreement.sentences import Agreed


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Ratings of one scale with what every part needs of them, worked out once."""

    source: Source
    kind: Kind
    ci_level: float
    alike: Alike = "items"
    crossed: str = ""

    @property
    def terms(self) -> IntervalTerms:
        """What is independent, and the level of intervals."""
        return {"cluster_unit": self.source.cluster_unit, "ci_level": self.ci_level}

    @property
    def in_words(self) -> bool:
        """Whether there are judges, who give words: numbers cannot be pooled, be split on or be right."""
        return bool(self.source.judges) and all(has_words(scale) for scale in self.source.ratings["scale"].unique())

    @property
    def made_up(self) -> tuple[str, ...]:
        """Raters whose ratings no judge gave."""
        return made_up_raters(self.source.ratings)

    @property
    def table(self) -> Table:
        """The ratings as the caller's kind of table."""
        return native(self.source.ratings, self.kind)

    @cached_property
    def panels(self) -> tuple[Pooled, ...]:
        """The items of each question."""
        steps = self.source.step_level
        return tuple(pooled(self.table, question, step_level=steps) for question in self.source.questions)

    @cached_property
    def whole(self) -> Pooled:
        """The items of all questions."""
        if len(self.panels) == 1:
            return self.panels[0]
        return pooled(self.table, self.source.questions, step_level=self.source.step_level)


#: What a part is made of: a table, a source, or what another part has read already.
Judged = Given | Source | JudgedItems


def judged_items(
    ratings: Judged,
    *,
    judges: Sequence[str] | None = None,
    question: str = "",
    step_level: bool = False,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> JudgedItems:
    """Ratings of one scale, five-axis verdicts if there are any, read once for all parts; each takes a table as well.

    Parameters
    ----------
    judges : sequence of str, optional
        Which judges; by default all. People and planted truth stay.
    question : str
        One question alone.
    step_level, cluster_unit
        Ratings of steps instead of whole runs, and what `cluster_id` is; a `Source` knows both.

    Raises
    ------
    InputError
        No ratings, or none of this question or these judges.
    """
    if isinstance(ratings, JudgedItems):
        return ratings
    kind = kind_of(ratings.ratings if isinstance(ratings, Source) else ratings)
    if isinstance(ratings, Source) and judges is None and not question:
        return JudgedItems(ratings, kind, ci_level)
    if isinstance(ratings, Source):
        step_level, cluster_unit = ratings.step_level, ratings.cluster_unit
    given = ratings.ratings if isinstance(ratings, Source) else as_ratings(ratings)
    wanted = by_raters(given.filter(BY_JUDGE), judges)["rater"].unique().implode()
    table = given if judges is None else given.filter(~BY_JUDGE | pl.col("rater").is_in(wanted))
    chosen = (question,) if question else ()
    source = source_of(table, "the ratings", steps=step_level, questions=chosen, cluster_unit=cluster_unit)
    return JudgedItems(source, kind, ci_level)


def per_question(ratings: Judged) -> AgreementByAxis:
    """Every coefficient of the scale on each question, with its interval: of the judges, people left aside."""
    of = judged_items(ratings)
    source, unit = of.source, "" if of.source.cluster_unit == "task" else of.source.cluster_unit
    table = of.table
    if of.crossed:
        judged = source.ratings.filter(BY_JUDGE) if source.judges else source.ratings
        day = "day" if of.crossed == "created_at" else of.crossed.removesuffix("_id")
        table, unit = native(crossed_with(judged, of.crossed), of.kind), f"{source.cluster_unit} and {day}"
    return agreement_by_axis(
        table,
        raters=source.judges or None,
        step_level=source.step_level,
        cluster_unit=unit,  # what a table's tasks are, it says itself
        alike=of.alike,
        ci_level=of.ci_level,
    )


def families(ratings: Judged, *, coefficient: str = "") -> CrossFamily | None:
    """Agreement within families, across them and with people, of verdicts that take a side; several questions within.

    `coefficient` is any name of `axisjudge.stats.agreement.coefficients.COEFFICIENTS`; by default Cohen's kappa, with
    quadratic weights where the scale is ordered. None where there is no judge, or numbers alone.
    """
    of = judged_items(ratings)
    return _families(of, of.source.questions, coefficient)[0] if of.in_words else None


def _families(of: JudgedItems, questions: Sequence[str], coefficient: str) -> tuple[CrossFamily, float]:
    counts = {each.question: each for each in counted(of.source.ratings.lazy(), step_level=of.source.step_level)}
    cross, share = families_of_counts([counts[each] for each in questions], coefficient, of.terms, of.kind)
    return replace(cross, made_up=of.made_up), share


def with_labels(families: CrossFamily) -> WithLabels:
    """Each judge of `families` with those who label."""
    return WithLabels(families, kind=families.kind, made_up=families.made_up)


def overturned(ratings: Judged, by_question: Mapping[str, CrossFamily]) -> dict[str, Reversal]:
    """How many verdicts given otherwise would overturn that judges agree beyond chance, on each question where so."""
    of = judged_items(ratings)
    both = zip(by_question.values(), (panel.decided() for panel in of.panels), strict=True)
    return {one.where: reversal_of(panel, of.terms) for one, panel in both if one.alpha_judges.ci_low > 0}


def step_scores(ratings: Judged) -> against_labels.StepScores | None:
    """Judges of single steps against people, by the rules of AgentProcessBench; None where no steps are labelled."""
    of = judged_items(ratings)
    scores = against_labels.step_scores_of(of.source, of.ci_level)
    return scores and replace(scores, kind=of.kind)


def worth(ratings: Judged) -> against_labels.PanelWorth | None:
    """How many independent judges the panel is worth against labels, whole and without a judge or a family."""
    of = judged_items(ratings)
    return (
        replace(against_labels.panel_worth(of.whole.decided(), **of.terms), made_up=of.made_up) if of.in_words else None
    )


def by_confidence(ratings: Judged, *, seed: int = 0) -> against_labels.Confident | None:
    """Case-weighted coefficients and soft agreement; `seed` is of the permutations."""
    of = judged_items(ratings)
    if not of.in_words:
        return None
    confident = against_labels.confident_agreement(of.table, of.whole, **of.terms, seed=seed)
    return replace(confident, made_up=of.made_up)


def triage(ratings: Judged, *, quantile: float = 0.5) -> PanelTriage | None:
    """What to trust and what to read; a judge is sure of an item from this quantile of its own confidences on."""
    of = judged_items(ratings)
    return replace(panel_triage(of.whole, quantile=quantile, **of.terms), made_up=of.made_up) if of.in_words else None


def split_items(ratings: Judged, *, most: int = 20) -> Disagreements | None:
    """The items on which judges differ, `most` of them, in the order to read them."""
    of = judged_items(ratings)
    return replace(disagreements(of.table, of.whole, most=most), made_up=of.made_up) if of.in_words else None


class PanelAgreement(Study):
    """Agreement per question, and of the judges as a panel: every two of them, against labels, by their confidence.

    `about` says what the ratings are. `by_question` and `together` hold the agreement of every two raters on each
    question and within all, of verdicts that take a side, `share_decided` of all; these and what follows are None where
    there is no judge, `confident` also where it was not asked for. `steps` has the scores of judges where people
    labelled steps.
    """

    _keys = columns(
        "agreement=overall families effective_judges=worth share_decided confident triage split steps reversals"
    )

    about: str
    overall: AgreementByAxis
    together: CrossFamily | None = None
    by_question: dict[str, CrossFamily] = field(default_factory=dict)
    share_decided: float = math.nan
    steps: against_labels.StepScores | None = None
    worth: against_labels.PanelWorth | None = None
    confident: against_labels.Confident | None = None
    triage: PanelTriage | None = None
    split: Disagreements | None = None
    reversals: dict[str, Reversal] = field(default_factory=dict)

    @property
    def families(self) -> tuple[CrossFamily, ...]:
        """Agreement of every two raters on each question, and within all of them where there are several."""
        each = tuple(self.by_question.values())
        return (*each, self.together) if self.together and len(each) > 1 else each

    @property
    def answer(self) -> str:
        """How often two judges agree beside chance, and which families agree with which."""
        return answer_of(self.overall, self.together)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Agreement per question, and of the panel within and across families, against labels and by confidence."""
        return (self.about, *self.overall.sentences(), *self.of_panel)

    @property
    def of_panel(self) -> tuple[str, ...]:
        """What is said of the panel beyond agreement per question, and on how many verdicts that hangs."""
        parts = (self.together, self.worth, self.confident, self.triage, self.steps)
        answers = [part.answer for part in parts if part is not None]
        return *answers, *filter(None, [words.reversals(list(self.reversals.items()))])

    @property
    def agreed(self) -> Agreed:
        """Whether the judges agree beyond chance, by the interval of their alpha."""
        return agreed(self.together)


def agreed(together: CrossFamily | None) -> Agreed:
    """Whether judges agree beyond chance, by the interval of their alpha."""
    if together is None or math.isnan(together.alpha_judges.ci_low):
        return Agreed.NOT_TOLD
    alpha = together.alpha_judges
    if alpha.ci_low > 0:
        return Agreed.BEYOND_CHANCE
    return Agreed.BELOW_CHANCE if alpha.ci_high < 0 else Agreed.NOT_SHOWN


def answer_of(overall: AgreementByAxis, together: CrossFamily | None) -> str:
    """How often two judges agree beside chance, and which families agree with which."""
    if together is None and (first := [each.sentences()[0] for each in overall.questions if each.coefficients]):
        return " ".join(first)
    if together is None or len(together.judges) < 2:
        judges = together.judges if together else ()
        return words.one_judge(judges, sum(question.n_rated for question in overall.questions))
    decided = [question.share_decided or 0.0 for question in overall.questions]
    return words.answer(agreed(together), together, min(decided))


def next_step(together: CrossFamily | None, effective: against_labels.PanelWorth | None) -> str:
    """What to do with so much agreement: whom to ask, what to label, what to read."""
    judges = together.judges if together else ()
    return words.next_step(judges, len(set(together.families[: len(judges)])) if together else 0, effective)


def agreement(
    ratings: Given | Source,
    *,
    steps: bool = False,
    coefficient: str = "",
    weighted: bool = True,
    sure_quantile: float = 0.5,
    most: int = 20,
    cluster_unit: str = "task",
    alike: Alike = "items",
    crossed: str = "",
    ci_level: float = 0.95,
    seed: int = 0,
) -> PanelAgreement:
    """Do judges agree, and what is their agreement worth?

    Parameters
    ----------
    ratings : table or Source
        A ratings table (polars, pandas, arrow, or a dict of columns): people's labels and planted truth stand in it as
        raters of kind ``human`` and ``planted``. Or what `axisjudge.sources.load_source` gives.
    steps : bool
        Ratings of steps instead of whole trajectories; of a `Source` it is known.
    coefficient : str
        As `families` takes it.
    weighted : bool
        Add the confidence-weighted variants, whose permutations take their time on large tables.
    sure_quantile, most, seed
        As `triage`, `split_items` and `by_confidence` take them.
    cluster_unit : str
        What `cluster_id` is; of a `Source` it is known.
    alike : str
        Whether in the coefficients of each question every item counts alike (``items``) or every cluster
        (``clusters``); pairs, families and what follows from them take items.
    crossed : str
        A column that groups items beside their clusters: ``agent``, ``domain``, ``run_id``, or ``created_at`` by its
        day. Intervals of coefficients of words are by both (`axisjudge.stats.clusters`, two ways); pairs, families,
        scores of steps and what follows from them are known for one way alone, and are left out.
    ci_level : float
        Level of all intervals.

    Returns
    -------
    PanelAgreement
        Its parts by name, `.answer`, `.sentences`, `.figures()`, `.save(path)`; intervals take clusters as independent.

    Raises
    ------
    InputError
        No ratings, or several for one item, question and rater.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules", "simulated:heron"], progress=False)
    >>> axisjudge.studies.agreement(ratings, weighted=False).overall.table["question"].to_list()
    ['tool_selection', 'argument_validity', 'sequencing', 'result_interpretation', 'termination']
    """
    one_of("alike", alike, ALIKE)
    of = judged_items(ratings, step_level=steps, cluster_unit=cluster_unit, ci_level=ci_level)
    of = replace(of, alike=alike, crossed=crossed)
    known: dict[str, Any] = {"about": of.source.about, "overall": per_question(of)}
    if crossed:
        return PanelAgreement(**known | {"about": known["about"] + words.ONE_WAY})
    known["steps"] = step_scores(of)
    if not of.in_words:
        return PanelAgreement(**known)
    questions = of.source.questions
    together, share_decided = _families(of, questions, coefficient)
    apart = {each: _families(of, [each], coefficient)[0] for each in questions} if len(questions) > 1 else {}
    apart = apart or {questions[0]: together}
    return PanelAgreement(
        **known,
        together=together,
        by_question=apart,
        share_decided=share_decided,
        worth=worth(of),
        confident=by_confidence(of, seed=seed) if weighted else None,
        triage=triage(of, quantile=sure_quantile),
        split=split_items(of, most=most),
        reversals=overturned(of, apart),
    )


open_door(agreement)


#: Of several ratings of an item by one rater, under other prompts or versions, the one written last counts.
_ONCE = ("item_id", "question", "rater", "repeat")
#: Parts of which a worker looks at a column or two at once.
A_LOOK = 16


@dataclass(frozen=True, eq=False)
class _Counted:
    """What parts of a question hold: counts (None without ratings of the level), all ratings, those of the level, and
    those of other repeats by judges and by people.
    """

    counts: PatternCounts | None
    n_all: int
    n_ratings: int
    n_repeats: int
    n_by_people: int


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
        _Question(name, whole, short.counts, short)
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
        about = about_ratings(what, each, path, n_all - sum(question.short.n_ratings for question in own))
        about += about_empty_runs(len(empty)) + _about_older(own)
        results.append(_agreement(own, about, coefficient, intervals, path, workers))
    return tuple(results)


@dataclass(frozen=True, eq=False)
class _Question:
    """A question, where its counts are `kept`, those `counts` in short, and how many ratings it has."""

    name: str
    kept: Any
    counts: PatternCounts
    short: _Counted


def _agreement(
    own: Sequence[_Question],
    about: str,
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
    cross = workers.map(partial(_of_families, coefficient=coefficient, intervals=intervals), panels, itemgetter(0))
    made_up = tuple(sorted(name for name, kind in kinds.items() if kind in MADE_UP))
    questions = workers.map(partial(_of_question, raters=rated, intervals=intervals), apart, itemgetter(0))
    of_families = [(replace(each, made_up=made_up), share) for each, share in cross]
    overall = AgreementByAxis(
        tuple(questions),
        uncertain="exclude",
        left_out={
            "repeats": sum(each.short.n_repeats if judges else each.short.n_by_people for each in own),
            "empty_runs": 0,  # `about` says so
        },
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
    return question_agreement(own, cluster_unit=unit, ci_level=intervals["ci_level"])


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
    if not counts:
        return _Counted(None, n_all, 0, 0, 0)
    again = pl.col("repeat") != 0
    by_judges, by_people = kept.select((again & BY_JUDGE).sum(), n=(again & BY_LABELLER).sum()).collect().row(0)
    return _Counted(counts[0], n_all, n_taken, by_judges, by_people)


_TOTALS = ("n_all", "n_ratings", "n_repeats", "n_by_people")


def _sum(parts: Sequence[_Counted]) -> _Counted:
    counts = [part.counts for part in parts if part.counts is not None]
    totals = (sum(getattr(part, name) for part in parts) for name in _TOTALS)
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
