"""`axisjudge.studies.agreement`: whether judges agree, and what their agreement is worth, in one call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from axisjudge.ratings.counts import counted
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.scales import has_words
from axisjudge.results import columns
from axisjudge.sources import Source, source_of
from axisjudge.stats.estimate import IntervalTerms
from axisjudge.studies._shared.disagreements import Disagreements, disagreements
from axisjudge.studies._shared.frames import Given, Table, kind_of, native, table_of
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies._shared.triage import PanelTriage, panel_triage
from axisjudge.studies.agreement import cross_family, figures
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.by_question import AgreementByAxis, agreement_by_axis
from axisjudge.studies.agreement.confident import Confident, confident_agreement
from axisjudge.studies.agreement.effective import PanelWorth, panel_worth
from axisjudge.studies.agreement.sentences import Agreed
from axisjudge.studies.agreement.steps import StepScores, step_scores_of


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PanelAgreement(RatedResult):
    """Agreement per question, and of the judges as a panel: every two of them, against labels, by their confidence.

    `about` says what the ratings are. `by_question` and `together` hold the agreement of every two raters on each
    question and on all, of verdicts that take a side, `share_decided` of all; these and what follows are None where
    there is no judge, `confident` also where it was not asked for. `steps` has the scores of judges where people
    labelled steps.
    """

    _keys = columns(
        "agreement=overall families effective_judges=worth share_decided confident triage split steps", "reversals"
    )

    about: str
    overall: AgreementByAxis
    steps: tuple[StepScores, ...]
    by_question: tuple[cross_family.CrossFamily, ...] = ()
    together: cross_family.CrossFamily | None = None
    share_decided: float = math.nan
    worth: PanelWorth | None = None
    confident: Confident | None = None
    triage: PanelTriage | None = None
    split: Disagreements | None = None
    reversals: tuple[cross_family.AgreementReversal, ...] = ()

    @property
    def table(self) -> Table:
        """One row a question: counts, every coefficient with its interval, prevalence."""
        return self.overall.to_frame()

    @property
    def families(self) -> tuple[cross_family.CrossFamily, ...]:
        """Agreement of every two raters on each question, and on all of them where there are several."""
        return (*self.by_question, self.together) if self.together and len(self.by_question) > 1 else self.by_question

    @property
    def family_table(self) -> Table:
        """One row a question: agreement within and across families, alpha of judges and of people."""
        return table_of(cross_family.family_rows(self.families), self.overall.kind)

    @property
    def agreed(self) -> Agreed:
        """Whether the judges agree beyond chance, by the interval of their alpha."""
        if self.together is None or math.isnan(self.together.alpha_judges.ci_low):
            return Agreed.NOT_TOLD
        alpha = self.together.alpha_judges
        if alpha.ci_low > 0:
            return Agreed.BEYOND_CHANCE
        return Agreed.BELOW_CHANCE if alpha.ci_high < 0 else Agreed.NOT_SHOWN

    @property
    def answer(self) -> str:
        """Whether the judges agree beyond chance, and how many independent judges they are worth."""
        if self.together is None or self.worth is None or len(self.together.judges) < 2:
            judges = self.together.judges if self.together else ()
            return words.one_judge(judges, sum(question.n_rated for question in self.overall.questions))
        together = self.together
        worth = words.worth_in_short(together.judges, self.worth.measured, self.worth.reason)
        apart = words.apart_in_short(together.label, together.difference, bool(together.labellers))
        alpha = (together.alpha_label, together.alpha_judges, self.share_decided)
        return words.answer(self.agreed, *alpha, worth, apart)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Agreement per question, and of the panel within and across families, against labels and by confidence."""
        return (self.about, *self.overall.sentences(), *self.of_panel, *(scores.sentence for scores in self.steps))

    @property
    def of_panel(self) -> tuple[str, ...]:
        """What is said of the panel beyond agreement per question."""
        parts = (self.together, self.worth, self.confident, self.triage)
        sentences = [part.sentence for part in parts if part is not None]
        return *sentences, *filter(None, [self.reversals_sentence])

    @property
    def reversals_sentence(self) -> str:
        """On how many verdicts the answer hangs; empty where there is nothing to overturn."""
        return words.reversals([(one.where, one.reversal) for one in self.reversals])

    def plots(self) -> Mapping[str, Plot]:
        """Matrices of every two raters, families; judges against labels, their worth, and triage where there is one."""
        plots: dict[str, Plot] = {}
        if self.by_question:
            plots["agreement_matrix"] = partial(figures.plot_agreement_matrices, self.by_question)
            plots["families"] = partial(figures.plot_families, self.by_question)
        if self.together and self.together.labellers:
            plots["with_labels"] = partial(figures.plot_with_labels, self.together)
        if self.worth and self.worth.measured:
            plots["effective_judges"] = partial(figures.plot_panel_worth, self.worth)
        if self.triage and self.triage.table:
            plots["triage"] = partial(figures.plot_triage, self.triage)
        return plots


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
        Of every two raters: any name of `axisjudge.stats.agreement.coefficients.COEFFICIENTS`; by default Cohen's
        kappa, with quadratic weights where the scale is ordered.
    weighted : bool
        Add the confidence-weighted variants, whose permutations take their time on large tables.
    sure_quantile : float
        A judge is sure of an item from this quantile of its own confidences on.
    most : int
        How many disagreements are listed.
    cluster_unit : str
        What `cluster_id` is; of a `Source` it is known.
    ci_level : float
        Level of all intervals.
    seed : int
        Of the permutations.

    Returns
    -------
    PanelAgreement
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`; intervals take clusters as independent.

    Raises
    ------
    InputError
        No ratings, or several for one item, question and rater.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules", "simulated:heron"], progress=False)
    >>> axisjudge.studies.agreement(ratings, weighted=False).table["question"].to_list()
    ['tool_selection', 'argument_validity', 'sequencing', 'result_interpretation', 'termination']
    """
    if isinstance(ratings, Source):
        source, kind = ratings, kind_of(ratings.ratings)
    else:
        source = source_of(as_ratings(ratings), "the ratings", steps=steps, cluster_unit=cluster_unit)
        kind = kind_of(ratings)
    table = native(source.ratings, kind)
    unit = "" if source.cluster_unit == "task" else source.cluster_unit  # what a table's tasks are, it says itself
    overall = agreement_by_axis(
        table, raters=source.judges or None, step_level=source.step_level, cluster_unit=unit, ci_level=ci_level
    )
    result = partial(
        PanelAgreement,
        about=source.about,
        overall=overall,
        steps=step_scores_of(source),
        made_up=made_up_raters(source.ratings),
    )
    if not source.judges or not all(has_words(scale) for scale in source.ratings["scale"].unique()):
        return result()  # numbers alone have no words to pool, to split on or to be right about
    panels = [pooled(table, question, step_level=source.step_level) for question in source.questions]
    whole = panels[0] if len(panels) == 1 else pooled(table, source.questions, step_level=source.step_level)
    intervals: IntervalTerms = {"cluster_unit": source.cluster_unit, "ci_level": ci_level}
    by_question = {each.question: each for each in counted(source.ratings.lazy(), step_level=source.step_level)}
    counts = [by_question[each] for each in source.questions]
    families = partial(cross_family.families_of_counts, coefficient=coefficient, intervals=intervals, kind=kind)
    together, share_decided = families(counts)
    apart = tuple(families([each])[0] for each in counts) if len(counts) > 1 else (together,)
    every = [(together, whole.decided())]
    if len(panels) > 1:
        every += [(one, panel.decided()) for one, panel in zip(apart, panels, strict=True)]
    return result(
        by_question=apart,
        together=together,
        share_decided=share_decided,
        reversals=cross_family.agreement_reversals(every, intervals),
        worth=panel_worth(whole.decided(), **intervals),
        confident=confident_agreement(table, whole, **intervals, seed=seed) if weighted else None,
        triage=panel_triage(whole, quantile=sure_quantile, **intervals),
        split=disagreements(table, whole, most=most),
    )
