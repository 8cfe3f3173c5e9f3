"""What may be claimed of judges against people? (notebook 03, `axisjudge compare`)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.figures import theme
from axisjudge.labels.panel import BY_PEOPLE, labelled_panel, prepared, questions_of
from axisjudge.ratings.edge import MADE_UP, as_ratings, by_raters, strata_of
from axisjudge.results import columns, row
from axisjudge.stats.clusters import Alike
from axisjudge.studies._shared.frames import SCOPE, Given, Table, kind_of, native
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies.people import compared, sentences, tables
from axisjudge.trajectory import Trajectory

#: A figure of nothing, which a page says in words.
NOTHING = pl.DataFrame()


class Claims(
    Part,
    name="comparison",
    caption="The claims: may be made, not shown yet, may not (shown false), or could not be checked",
):
    """Six claims of every judge and question: may be made, not shown yet, shown false, or not checked."""

    comparison: compared.HumanComparison

    @property
    def table(self) -> Table:
        """One row a question and judge, one column a claim."""
        return tables.claims_table(self.comparison)

    @property
    def reasons(self) -> Table:
        """One row a claim, with the figure behind its answer and how many other verdicts would overturn it."""
        return tables.reasons_table(self.comparison)

    @property
    def answer(self) -> str:
        """What may be claimed and what not, and whose labels these are."""
        return " ".join(sentences.opening(self.comparison))

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain values, the claims in words; the parts made of it hold nothing else."""
        questions = [
            question.to_dict() | {"claims": [sentences.claim_row(each) for each in question.claims]}
            for question in self.comparison.questions
        ]
        lines = [*filter(None, [self.banner]), *sentences.opening(self.comparison), SCOPE]
        head = {"banner": self.banner, "epsilon": self.comparison.epsilon}
        return head | {"sentences": lines, "questions": questions}


class _OfComparison(Part):
    """A part of judges against people; all its numbers stand with the claims."""

    comparison: compared.HumanComparison

    def to_dict(self) -> dict[str, Any]:
        """How many rows."""
        return {"n_rows": len(self.table)}


class AgainstPeople(
    _OfComparison, name="against_people", caption="Each judge against the majority of people", behind={"label": "any"}
):
    """Each judge against the majority of people, and, beside a person, against the other people.

    `failing` has precision, recall and F1 of the word that means failure; `bounds` what lost and undecided verdicts
    could hide; `confusion` who says what of the same items; `left_out` judge and person before the same others; `steps`
    the steps that judges cite against those that people cite.
    """

    table = property(lambda self: tables.judges_table(self.comparison))
    failing = property(lambda self: tables.failing_table(self.comparison))
    bounds = property(lambda self: tables.bounds_table(self.comparison))
    confusion = property(lambda self: tables.confusion_table(self.comparison))
    left_out = property(lambda self: tables.left_out_table(self.comparison))
    steps = property(lambda self: tables.steps_table(self.comparison))

    @property
    def answer(self) -> str:
        """Kappa and F1 with people, beside a person, and of the steps that people name."""
        return " ".join(filter(None, (part(self.comparison) for part in sentences.AGAINST_PEOPLE)))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The share of items on which a judge says what people say; grey: people among themselves."""
        return tables.plot_against_people(self.comparison, ax=ax)


class StandsIn(
    _OfComparison,
    name="stand_in",
    caption="Winning rate and advantage probability of each judge, the best constant judge beside it",
    behind={"label": "any"},
):
    """The alternative annotator test, with the best constant judge beside each."""

    table = property(lambda self: tables.stand_in_table(self.comparison))

    @property
    def answer(self) -> str:
        """How many tests were passed, and how many of them by constant judges too."""
        return sentences.stand_in_sentence(self.comparison)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Advantage probability over one more person; nothing where one person labelled."""
        drawn = self.comparison.has_ceiling
        return tables.plot_stand_in(self.comparison, ax=ax) if drawn else theme.plot_rows(NOTHING, self.caption, ax=ax)


class RatesByPeople(
    _OfComparison, name="corrected_rates", caption="Failure rates of all agents and of each, corrected by labels"
):
    """Failure rates of all agents and of each, corrected by labels.

    `few` tries few labels where all items are labelled; `planted` sets corrected rates beside planted ones, where the
    truth is known; `differences` are those of two agents, in points.
    """

    few: compared.FewLabels
    planted: tuple[compared.PlantedRate, ...]

    table = property(lambda self: tables.rates_table(self.comparison))
    differences = property(lambda self: tables.differences_table(self.comparison))
    few_labels = property(lambda self: native(self.few.judges, self.kind))
    planted_rates = property(lambda self: tables.planted_table(self.planted, self.kind))

    @property
    def answer(self) -> str:
        """How far judges' own rates are off, whether few labels would do, and how many intervals hold planted rates."""
        few = sentences.few_labels_sentence(self.few) if self.few.n_draws else ""
        planted = sentences.planted_sentence(self.planted) if self.planted else ""
        return " ".join(filter(None, [sentences.rates_sentence(self.comparison), few, planted]))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """What judges say, and what people would; nothing where no rate was corrected."""
        if self.comparison.corrected:
            return tables.plot_corrected_rates(self.comparison, ax=ax)
        return theme.plot_rows(NOTHING, self.caption, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Few labels; the rates stand with the claims."""
        return {"few_labels": self.few.to_dict()}


class Unfair(
    Part,
    name="fairness",
    caption="Right verdicts by stratum: what differs most surely first",
    behind={"only": "decided"},
):
    """Right verdicts by stratum, failure rates corrected by strata of their own (`own_strata`), and shares `carried`
    to another mix of the strata.
    """

    questions: tuple[compared.QuestionFairness, ...]

    table = property(lambda self: tables.unfair_table(self.questions, self.kind))
    own_strata = property(lambda self: tables.strata_rates_table(self.questions, self.kind))
    carried = property(lambda self: tables.carried_table(self.questions, self.kind))

    @property
    def answer(self) -> str:
        """Where judges are unfair; empty where no way of sorting runs was asked for."""
        lines = [*sentences.fairness_sentences(self.questions), sentences.strata_rates_sentence(self.questions)]
        return " ".join(filter(None, lines))

    def to_dict(self) -> dict[str, Any]:
        """Every way of sorting the runs of a question."""
        return {"fairness": [each.to_dict() for each in self.questions]} if self.questions else {}


def claims(
    ratings: Given,
    labels: Given | None = None,
    *,
    judges: Sequence[str] | None = None,
    questions: Sequence[str] | None = None,
    sampling: str | None = None,
    epsilon: float = 0.2,
    repeat: int = 0,
    step_level: bool = False,
    cluster_unit: str = "task",
    alike: Alike = "items",
    ci_level: float = 0.95,
    seed: int = 0,
) -> Claims:
    """What may be claimed of every judge; `people` says what the parameters are.

    Parameters
    ----------
    judges : sequence of str, optional
        Which judges; by default all.
    alike : str
        Whether in shares and agreement with people each item counts alike (``items``) or each task (``clusters``);
        in the alternative annotator test and in corrected failure rates items do.

    Raises
    ------
    InputError
        As `people` does.
    """
    whole = as_ratings(ratings)
    rated, persons = prepared(whole, whole if labels is None else labels, repeat, step_level)
    n_left_out = whole.filter(~BY_PEOPLE).height - rated.height
    rated = by_raters(rated, judges)
    names = questions_of(persons, rated, questions)
    of: dict[str, Any] = {"sampling": sampling, "cluster_unit": cluster_unit, "alike": alike}
    panels = [labelled_panel(rated, persons, name, **of) for name in names]
    raters = pl.concat(table.select("rater", "rater_kind").unique(maintain_order=True) for table in (rated, persons))
    made_up = tuple(raters.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"].unique(maintain_order=True))
    comparison = compared.HumanComparison(
        questions=tuple(
            compared.compare_question(panel, epsilon=epsilon, ci_level=ci_level, seed=seed) for panel in panels
        ),
        epsilon=epsilon,
        kind=kind_of(ratings),
        strangers=compared.strangers_among(persons.filter(pl.col("question").is_in(names))),
        n_left_out=n_left_out,
    )
    return Claims(comparison, kind=comparison.kind, made_up=made_up)


def against_people(of: Claims) -> AgainstPeople:
    """Each judge against the majority of people."""
    return AgainstPeople(of.comparison, kind=of.kind, made_up=of.made_up)


def stands_in(of: Claims) -> StandsIn:
    """The alternative annotator test; it takes three people."""
    return StandsIn(of.comparison, kind=of.kind, made_up=of.made_up)


def corrected_rates(
    of: Claims, *, truth: Given | None = None, n_few: int = 30, n_draws: int = 100, seed: int = 0
) -> RatesByPeople:
    """Failure rates of all agents and of each, as people would give them.

    Parameters
    ----------
    truth : table, optional
        Columns item_id, question and verdict: what was planted, where people were simulated from it.
    n_few, n_draws : int
        Where all items are labelled: how many runs would be labelled, and how often they are drawn (0: not tried).
    """
    few = compared.few_labels(of.comparison, n_runs=n_few, n_draws=n_draws, seed=seed)
    known = () if truth is None else compared.planted_rates(of.comparison, truth)
    return RatesByPeople(of.comparison, few, known, kind=of.kind, made_up=of.made_up)


def unfair(
    of: Claims,
    ratings: Given,
    labels: Given | None = None,
    *,
    by: Sequence[str] = (),
    mix: Mapping[str, float] | None = None,
    trajectories: Sequence[Trajectory] | None = None,
    repeat: int = 0,
    step_level: bool = False,
    ci_level: float = 0.95,
    seed: int = 0,
) -> Unfair:
    """Where judges are unfair.

    Parameters
    ----------
    by : sequence of str
        Ways of sorting runs: ``agent``, ``domain``, ``length``, ``answer``.
    mix : mapping of str to float, optional
        Shares of the strata of the one way in `by` in another mix, such as ``{"short": 0.8, "long": 0.2}``: failure
        rates and right verdicts are carried to it (`standardised_share`).
    trajectories : sequence of Trajectory, optional
        The runs, of which lengths are taken; without them lengths need ratings of steps.
    """
    if mix and len(by) != 1:
        raise InputError("mix", "needs one way of sorting runs", list(by), "name one with `by`")
    panels = [question.panel for question in of.comparison.questions]
    both = prepared(ratings, ratings if labels is None else labels, repeat, step_level) if by else ()
    strata = strata_of(pl.concat(both), by, trajectories) if by else {}
    fairness = tuple(
        each for panel in panels for each in compared.fairness(panel, strata, mix, ci_level=ci_level, seed=seed)
    )
    return Unfair(fairness, kind=of.kind, made_up=of.made_up)


#: Where each table of `People` stands.
_TABLES = columns(
    "claims=claims.table reasons=claims.reasons judges=judges.table failing=judges.failing bounds=judges.bounds "
    "left_out=judges.left_out stand_in=stand_in.table rates=rates.table differences=rates.differences "
    "steps=judges.steps confusion=judges.confusion planted=rates.planted_rates few_labels=rates.few_labels "
    "unfair=fairness.table strata_rates=fairness.own_strata carried=fairness.carried"
)


class People(Study):
    """Judges against people: what may be claimed of every judge and question, and the figures behind it."""

    claims: Claims
    judges: AgainstPeople
    stand_in: StandsIn
    rates: RatesByPeople
    fairness: Unfair

    @property
    def answer(self) -> str:
        """How often judges say what people say, who is best, who may stand in, how far off failure rates are."""
        return answer_of(self.claims)

    def tables(self) -> dict[str, Table]:
        """Every table by name, for commands; those of things that are not there are empty."""
        return row(self, _TABLES)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain values."""
        return self.claims.to_dict() | self.fairness.to_dict()


def answer_of(of: Claims) -> str:
    """How often judges say what people say, who is best, who may stand in; first who must be looked at."""
    return sentences.answer(of.comparison)


def next_step(of: Claims) -> str:
    """What to label, or which page says more."""
    return sentences.next_step(of.comparison)


def people(
    ratings: Given,
    labels: Given | None = None,
    *,
    truth: Given | None = None,
    by: Sequence[str] = (),
    mix: Mapping[str, float] | None = None,
    trajectories: Sequence[Trajectory] | None = None,
    n_few: int = 30,
    n_draws: int = 100,
    ci_level: float = 0.95,
    seed: int = 0,
    **how: Any,
) -> People:
    """What may be claimed of judges against people, and how far off are their failure rates?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns); who gives labels in it is left aside, all others
        are judges.
    labels : table, optional
        A ratings table; raters of kind ``human`` or ``planted`` and simulated people give labels, all others are left
        aside. By default `ratings` itself.
    truth, n_few, n_draws
        As `corrected_rates` takes them.
    by, mix, trajectories
        As `unfair` takes them.
    ci_level : float
        Level of all intervals.
    seed : int
        Of posterior draws, and of the draws of few labels.
    **how
        Of `claims`: `judges` and `questions` (by default all that both answered); `sampling`, how the labelled items
        were drawn (`axisjudge.stats.correction.SAMPLING`), if the labels do not say; `epsilon`, how much worse
        than a person a judge may be, for the alternative annotator test; `repeat`; `step_level`, ratings of steps
        instead of whole trajectories; `cluster_unit`.

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
    >>> found.claims.table.columns[:4]
    ['question', 'judge', 'beats one word', 'as a person']
    """
    of = claims(ratings, labels, ci_level=ci_level, seed=seed, **how)
    sorting: dict[str, Any] = {name: how[name] for name in ("repeat", "step_level") if name in how}
    sorting |= {"by": by, "mix": mix, "trajectories": trajectories}
    return People(
        claims=of,
        judges=against_people(of),
        stand_in=stands_in(of),
        rates=corrected_rates(of, truth=truth, n_few=n_few, n_draws=n_draws, seed=seed),
        fairness=unfair(of, ratings, labels, **sorting, ci_level=ci_level, seed=seed),
    )


open_door(people)
