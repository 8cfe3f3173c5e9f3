"""Do judges agree, and what is their agreement worth? (notebook 02, `axisjudge agreement`)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from axisjudge.ratings.counts import counted
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.scales import has_words
from axisjudge.ratings.selection import BY_JUDGE
from axisjudge.results import columns
from axisjudge.sources import Source, source_of
from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.stats.estimate import IntervalTerms
from axisjudge.studies._shared.disagreements import Disagreements, disagreements
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, native
from axisjudge.studies._shared.pooled import Pooled, pooled
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies._shared.triage import PanelTriage, panel_triage
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.against_labels import (
    Confident,
    PanelWorth,
    StepScores,
    confident_agreement,
    panel_worth,
    step_scores_of,
)
from axisjudge.studies.agreement.by_family import (
    CrossFamily,
    WithLabels,
    families_of_counts,
    reversal_of,
)
from axisjudge.studies.agreement.by_question import AgreementByAxis, agreement_by_axis
from axisjudge.studies.agreement.published import published_agreement
from axisjudge.studies.agreement.sentences import Agreed

__all__ = [
    "JudgedItems",
    "PanelAgreement",
    "agreement",
    "answer_of",
    "by_confidence",
    "families",
    "judged_items",
    "overturned",
    "per_question",
    "published_agreement",
    "split_items",
    "step_scores",
    "triage",
    "with_labels",
    "worth",
]


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Ratings of one scale with what every part needs of them, worked out once."""

    source: Source
    kind: Kind
    ci_level: float

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
    table = given if judges is None else given.filter(~BY_JUDGE | pl.col("rater").is_in(list(judges)))
    chosen = (question,) if question else ()
    source = source_of(table, "the ratings", steps=step_level, questions=chosen, cluster_unit=cluster_unit)
    return JudgedItems(source, kind, ci_level)


def per_question(ratings: Judged) -> AgreementByAxis:
    """Every coefficient of the scale on each question, with its interval: of the judges, people left aside."""
    of = judged_items(ratings)
    source, unit = of.source, of.source.cluster_unit
    return agreement_by_axis(
        of.table,
        raters=source.judges or None,
        step_level=source.step_level,
        cluster_unit="" if unit == "task" else unit,  # what a table's tasks are, it says itself
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
    found, share = families_of_counts([counts[each] for each in questions], coefficient, of.terms, of.kind)
    return replace(found, made_up=of.made_up), share


def with_labels(families: CrossFamily) -> WithLabels:
    """Each judge of `families` with those who label."""
    return WithLabels(families, made_up=families.made_up)


def overturned(ratings: Judged, by_question: Mapping[str, CrossFamily]) -> dict[str, Reversal]:
    """How many verdicts given otherwise would overturn that judges agree beyond chance, on each question where so."""
    of = judged_items(ratings)
    both = zip(by_question.values(), (panel.decided() for panel in of.panels), strict=True)
    return {one.where: reversal_of(panel, of.terms) for one, panel in both if one.alpha_judges.ci_low > 0}


def step_scores(ratings: Judged) -> StepScores | None:
    """Judges of single steps against people, by the rules of AgentProcessBench; None where no steps are labelled."""
    of = judged_items(ratings)
    return next((replace(each, kind=of.kind) for each in step_scores_of(of.source)), None)


def worth(ratings: Judged) -> PanelWorth | None:
    """How many independent judges the panel is worth against labels, whole and without a judge or a family."""
    of = judged_items(ratings)
    return replace(panel_worth(of.whole.decided(), **of.terms), made_up=of.made_up) if of.in_words else None


def by_confidence(ratings: Judged, *, seed: int = 0) -> Confident | None:
    """Case-weighted coefficients and soft agreement; `seed` is of the permutations."""
    of = judged_items(ratings)
    if not of.in_words:
        return None
    found = confident_agreement(of.table, of.whole, **of.terms, seed=seed)
    return replace(found, made_up=of.made_up)


def triage(ratings: Judged, *, quantile: float = 0.5) -> PanelTriage | None:
    """What to trust and what to read; a judge is sure of an item from this quantile of its own confidences on."""
    of = judged_items(ratings)
    return replace(panel_triage(of.whole, quantile=quantile, **of.terms), made_up=of.made_up) if of.in_words else None


def split_items(ratings: Judged, *, most: int = 20) -> Disagreements | None:
    """The items on which judges differ, `most` of them, in the order to read them."""
    of = judged_items(ratings)
    return replace(disagreements(of.table, of.whole, most=most), made_up=of.made_up) if of.in_words else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PanelAgreement(Study):
    """Agreement per question, and of the judges as a panel: every two of them, against labels, by their confidence.

    `about` says what the ratings are. `by_question` and `together` hold the agreement of every two raters on each
    question and within all, of verdicts that take a side, `share_decided` of all; these and what follows are None where
    there is no judge, `confident` also where it was not asked for. `steps` has the scores of judges where people
    labelled steps.
    """

    _keys = columns(
        "agreement=overall families effective_judges=worth share_decided confident triage split steps", "reversals"
    )

    about: str
    overall: AgreementByAxis
    together: CrossFamily | None = None
    by_question: dict[str, CrossFamily] = field(default_factory=dict)
    share_decided: float = math.nan
    steps: StepScores | None = None
    worth: PanelWorth | None = None
    confident: Confident | None = None
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
        """How often two judges agree, how often with people, and how many independent judges they are worth."""
        return answer_of(self.overall, self.together, self.worth)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Agreement per question, and of the panel within and across families, against labels and by confidence."""
        return (self.about, *self.overall.sentences(), *self.of_panel)

    @property
    def of_panel(self) -> tuple[str, ...]:
        """What is said of the panel beyond agreement per question, and on how many verdicts that hangs."""
        parts = (self.together, self.worth, self.confident, self.triage, self.steps)
        told = [part.answer for part in parts if part is not None]
        return *told, *filter(None, [words.reversals(list(self.reversals.items()))])

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


def answer_of(overall: AgreementByAxis, together: CrossFamily | None, worth: PanelWorth | None) -> str:
    """How often two judges agree, how often with people, and how many independent judges they are worth."""
    if together is None or worth is None or len(together.judges) < 2:
        judges = together.judges if together else ()
        return words.one_judge(judges, sum(question.n_rated for question in overall.questions))
    decided = [question.share_decided or 0.0 for question in overall.questions]
    return words.answer(agreed(together), together, min(decided), worth)


def agreement(
    ratings: Given | Source,
    *,
    steps: bool = False,
    coefficient: str = "",
    weighted: bool = True,
    sure_quantile: float = 0.5,
    most: int = 20,
    cluster_unit: str = "task",
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
    of = judged_items(ratings, step_level=steps, cluster_unit=cluster_unit, ci_level=ci_level)
    known: dict[str, Any] = {"about": of.source.about, "overall": per_question(of), "steps": step_scores(of)}
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
