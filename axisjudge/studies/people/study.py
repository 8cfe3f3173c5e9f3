"""`axisjudge.studies.people`: what may be claimed of judges against people, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from axisjudge.labels.panel import labelled_panel, prepared, questions_of
from axisjudge.ratings.selection import MADE_UP
from axisjudge.ratings.strata import strata_of
from axisjudge.studies._shared.frames import Given, Table, kind_of, native
from axisjudge.studies._shared.result import Plot, StudyResult
from axisjudge.studies._shared.scope import SCOPE
from axisjudge.studies.people import sentences, tables
from axisjudge.studies.people.claim_words import claim_row
from axisjudge.studies.people.comparison import HumanComparison, compare_question, strangers_among
from axisjudge.studies.people.fairness import QuestionFairness, fairness
from axisjudge.studies.people.fairness_sentences import fairness_sentences, strata_rates_sentence
from axisjudge.studies.people.figures import plot_against_people, plot_corrected_rates, plot_stand_in
from axisjudge.studies.people.trials import FewLabels, PlantedRate, few_labels, planted_rates
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class People(StudyResult):
    """Judges against people: the figures of every judge and question, and what may be claimed of them.

    `few` tries few labels where all items are labelled; `planted` sets corrected rates beside planted ones, where the
    truth is known; `fairness` sets strata of runs beside each other, where a way of sorting them was asked for.
    """

    comparison: HumanComparison
    few: FewLabels
    planted: tuple[PlantedRate, ...] = ()
    fairness: tuple[QuestionFairness, ...] = ()

    @property
    def banner(self) -> str:
        """The warning where ratings or labels are made up."""
        return self.comparison.banner

    @property
    def table(self) -> Table:
        """One row a question and judge, one column a claim: may be made, may not, or not checked."""
        return tables.claims_table(self.comparison)

    def tables(self) -> dict[str, Table]:
        """Every table by name; those of things that are not there are empty."""
        kind = self.comparison.kind
        return {
            **{name: table(self.comparison) for name, table in tables.TABLES.items()},
            "planted": tables.planted_table(self.planted, kind),
            "few_labels": native(self.few.judges, kind),
            **{name: table(self.fairness, kind) for name, table in tables.OF_FAIRNESS.items()},
        }

    @property
    def answer(self) -> str:
        """Who may be best and stand in for a person, and how far off failure rates are; first who must be looked at."""
        return sentences.answer(self.comparison)

    @property
    def opening(self) -> tuple[str, ...]:
        """What comes first, in words: what may be claimed and what not, and whose labels these are."""
        return *filter(None, [self.comparison.banner]), *sentences.opening(self.comparison), SCOPE

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain values, the claims in words."""
        questions = [
            question.to_dict() | {"claims": [claim_row(each) for each in question.claims]}
            for question in self.comparison.questions
        ]
        head = {"banner": self.comparison.banner, "epsilon": self.comparison.epsilon}
        fairness = {"fairness": [each.to_dict() for each in self.fairness]} if self.fairness else {}
        return {**head, "sentences": list(self.opening), "questions": questions, **fairness}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What may be claimed and of whose labels, then one sentence for each part of the comparison."""
        planted = [sentences.planted_sentence(self.planted)] if self.planted else []
        few = [sentences.few_labels_sentence(self.few)] if self.few.n_draws else []
        parts = (part(self.comparison) for part in sentences.PARTS)
        return *self.opening, *parts, *planted, *few, *self.fairness_sentences

    @property
    def fairness_sentences(self) -> tuple[str, ...]:
        """Where judges are unfair, in words; nothing where no way of sorting runs was asked for."""
        return (*filter(None, [*fairness_sentences(self.fairness), strata_rates_sentence(self.fairness)]),)

    def plots(self) -> Mapping[str, Plot]:
        """Judges beside the ceiling; the stand-in test where several people labelled; rates that were corrected."""
        drawn = {
            "against_people": (plot_against_people, True),
            "stand_in": (plot_stand_in, self.comparison.has_ceiling),
            "corrected_rates": (plot_corrected_rates, self.comparison.corrected),
        }
        return {name: partial(plot, self.comparison) for name, (plot, there) in drawn.items() if there}


def people(
    ratings: Given,
    labels: Given | None = None,
    *,
    truth: Given | None = None,
    questions: Sequence[str] | None = None,
    sampling: str | None = None,
    epsilon: float = 0.2,
    repeat: int = 0,
    step_level: bool = False,
    cluster_unit: str = "task",
    by: Sequence[str] = (),
    trajectories: Sequence[Trajectory] | None = None,
    n_few: int = 30,
    n_draws: int = 100,
    ci_level: float = 0.95,
    seed: int = 0,
) -> People:
    """May a judge stand in for people, and how far off are its failure rates?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns); who gives labels in it is left aside, all others
        are judges.
    labels : table, optional
        A ratings table; raters of kind ``human`` or ``planted`` and simulated people give labels, all others are left
        aside. By default `ratings` itself.
    truth : table, optional
        Columns item_id, question and verdict: what was planted, where people were simulated from it.
    questions : sequence of str, optional
        By default all that both answered.
    sampling : str, optional
        How the labelled items were drawn (`axisjudge.stats.rates.correction.SAMPLING`), if the labels do not say.
    epsilon : float
        How much worse than a person a judge may be, for the alternative annotator test.
    step_level : bool
        Ratings of steps instead of whole trajectories; clusters stay those of the table.
    by : sequence of str
        Ways of sorting runs in which judges may be unfair: ``agent``, ``domain``, ``length``, ``answer``.
    trajectories : sequence of Trajectory, optional
        The runs, of which lengths are taken; without them lengths need ratings of steps.
    n_few, n_draws : int
        Where all items are labelled: how many runs would be labelled, and how often they are drawn (0: not tried).
    ci_level : float
        Level of all intervals.
    seed : int
        Of posterior draws, and of the draws of few labels.

    Returns
    -------
    People
        `.table`, `.tables()`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        No such labels or ratings, no common question, two ratings of one rater on one item, `sampling` against what the
        labels say.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.datasets import demo_truth
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules"], progress=False)
    >>> labels = axisjudge.read_ratings(demo_truth())
    >>> found = axisjudge.studies.people(ratings, labels, n_draws=0)
    >>> found.table.columns[:4]
    ['question', 'judge', 'beats one word', 'as a person']
    """
    judges, persons = prepared(ratings, ratings if labels is None else labels, repeat, step_level)
    names = questions_of(persons, judges, questions)
    panels = [labelled_panel(judges, persons, name, sampling=sampling, cluster_unit=cluster_unit) for name in names]
    strata = strata_of(pl.concat([judges, persons]), by, trajectories)
    raters = pl.concat(table.select("rater", "rater_kind").unique(maintain_order=True) for table in (judges, persons))
    made_up = raters.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"]
    comparison = HumanComparison(
        questions=tuple(compare_question(panel, epsilon=epsilon, ci_level=ci_level, seed=seed) for panel in panels),
        epsilon=epsilon,
        made_up=tuple(made_up.unique(maintain_order=True)),
        kind=kind_of(ratings),
        strangers=strangers_among(persons.filter(pl.col("question").is_in(names))),
    )
    return People(
        comparison=comparison,
        few=few_labels(comparison, n_runs=n_few, n_draws=n_draws, seed=seed),
        planted=() if truth is None else planted_rates(comparison, truth),
        fairness=tuple(each for panel in panels for each in fairness(panel, strata, ci_level=ci_level, seed=seed)),
    )
