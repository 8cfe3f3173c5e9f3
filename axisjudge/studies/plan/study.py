"""`axisjudge.studies.plan`: how large a study must be and what it costs, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from axisjudge.checks import enough_for
from axisjudge.ratings import as_ratings
from axisjudge.spec import JudgeSpec
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.planning.studies import SIZES, plan_agreement, plan_corrected_rate, plan_stand_in
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, table_of
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies._shared.words import sentence_case
from axisjudge.studies.plan.figures import plot_plans, plot_repeats
from axisjudge.studies.plan.pilots import Pilot, pilot_of
from axisjudge.studies.plan.prices import TOKENS, StudyPlan, judge_prices, study_plan
from axisjudge.studies.plan.repeats import PanelError, panel_errors
from axisjudge.studies.plan.sentences import answer, pilot_sentence, plan_sentence, repeats_sentence
from axisjudge.studies.plan.tables import plan_rows

#: Judges by name with their sensitivity and specificity.
QUALITIES = {"strong judge (.95, .95)": (0.95, 0.95), "fair (.85, .85)": (0.85, 0.85), "weak (.60, .50)": (0.6, 0.5)}
#: The fewest who may label an item for the claim, and the default of its plan.
PEOPLE = 3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Plan(RatedResult):
    """Plans of four kinds.

    `agreement` has a plan for each coefficient, the first with prices, `pilot_agreement` the first coefficient's from
    the pilot instead of assumptions. `labels` is by quality of the judge, `stand_in` by share of failures. `repeats`
    are the pilot's; `pilot` and what comes of it are None or empty where none was given, or where it says too little,
    for the reason in `no_pilot`.
    """

    pilot: Pilot | None
    agreement: Mapping[str, StudyPlan]
    pilot_agreement: StudyPlan | None
    labels: Mapping[str, StudyPlan]
    stand_in: Mapping[str, StudyPlan]
    repeats: tuple[PanelError, ...]
    kind: Kind
    no_pilot: str = ""

    @property
    def first(self) -> StudyPlan:
        """The plan for the first coefficient, with prices."""
        return next(iter(self.agreement.values()))

    @property
    def table(self) -> Table:
        """One row a number of tasks: the half width of the first coefficient, and the cost."""
        return table_of(plan_rows(self.first), self.kind)

    @property
    def answer(self) -> str:
        """How many tasks, labels and items the targets take."""
        tasks = {COEFFICIENTS[name].label: plan for name, plan in self.agreement.items()}
        return answer(tasks, self.labels, self.stand_in, self.no_pilot)

    @property
    def of_pilot(self) -> str:
        """The pilot in words, or why it says too little; empty where none was given."""
        return pilot_sentence(self.pilot) if self.pilot else self.no_pilot

    @property
    def sentences(self) -> tuple[str, ...]:
        """The pilot, and every plan with its assumptions."""
        return (
            *filter(None, [self.of_pilot]),
            *(plan_sentence(plan) for plan in self.agreement.values()),
            *([plan_sentence(self.pilot_agreement)] if self.pilot_agreement else []),
            *(f"{sentence_case(name)}: {plan_sentence(plan)}" for name, plan in self.labels.items()),
            *(plan_sentence(plan) for plan in self.stand_in.values()),
            repeats_sentence(self.repeats),
        )

    def plots(self) -> Mapping[str, Plot]:
        """What studies of growing size give, and what repeats give."""
        agreement = {COEFFICIENTS[name].label: plan.curve for name, plan in self.agreement.items()}
        if self.pilot_agreement:
            agreement[f"{next(iter(agreement))}, from the pilot"] = self.pilot_agreement.curve
        labels, claims = ({name: p.curve for name, p in plans.items()} for plans in (self.labels, self.stand_in))
        title = "Items for the claim that a judge may stand in for a person"
        repeats = {"repeats": partial(plot_repeats, self.repeats)} if self.repeats else {}
        return {
            "agreement": partial(plot_plans, agreement, title="Tasks for agreement of two judges"),
            "labels": partial(plot_plans, labels, title="Labels for a corrected failure rate"),
            "stand_in": partial(plot_plans, claims, title=title),
            **repeats,
        }


def plan(
    ratings: Given | None = None,
    *,
    question: str = "argument_validity",
    half_width: float = 0.1,
    rate_half_width: float = 0.05,
    power: float = 0.8,
    prevalence: float = 0.2,
    kappa: float = 0.6,
    per_task: int = 4,
    epsilon: float = 0.1,
    coefficients: Sequence[str] = ("cohen_kappa", "gwet_ac1"),
    qualities: Mapping[str, tuple[float, float]] = QUALITIES,
    shares: Sequence[float] = (0.1, 0.3, 0.5),
    judges: Sequence[str | JudgeSpec] = (),
    usd_per_label: float | None = None,
    sizes: Sequence[int] = SIZES[:7],
    seed: int = 0,
) -> Plan:
    """How many trajectories, labels, people and repeats do you need, and what do they cost?

    Parameters
    ----------
    ratings : table, optional
        A pilot: ratings of two judges or more, asked twice or more for what repeats buy.
    question : str
        The pilot's question.
    half_width, rate_half_width, power : float
        Wanted half widths of agreement coefficients and of a corrected failure rate, and the wanted probability that
        the claim 'may stand in for a person' can be made.
    prevalence, kappa, per_task, epsilon : float, float, int, float
        Assumed share of failures, agreement of two judges, runs of one task, and how much worse than a person the
        judge may be.
    coefficients : sequence of str
        Names of `axisjudge.stats.agreement.coefficients.COEFFICIENTS`; the first is priced and planned from the pilot.
    qualities : mapping of name to (sensitivity, specificity)
        Judges whose rate is corrected.
    shares : sequence of float
        Shares of failures for which the claim is planned.
    judges, usd_per_label : sequence of str, float
        Specs to be priced, at the pilot's tokens where it counted them, and what a label costs.
    sizes, seed : sequence of int, int
        Sizes that are simulated until the target is well met, and the seed of every simulation.

    Returns
    -------
    Plan
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        A target or an assumption out of range, or a judge without a list price.

    Examples
    --------
    >>> import axisjudge
    >>> plans = axisjudge.studies.plan(half_width=0.3, shares=[0.3], sizes=(10, 20))
    >>> list(plans.table.columns)
    ['tasks', 'half width', 'without interval', 'USD']
    """
    table = None if ratings is None else as_ratings(ratings)
    pilot, no_pilot = (None, "") if table is None else enough_for(lambda: pilot_of(table, question))
    prices = judge_prices(judges, pilot.tokens if pilot and pilot.tokens else TOKENS)
    agreeing = partial(plan_agreement, half_width, sizes=sizes, rng=seed)
    stated = partial(agreeing, prevalence=prevalence, kappa=kappa, per_task=per_task)
    first = coefficients[0]
    curves = {name: stated(coefficient=name) for name in coefficients}
    piloted = None
    if pilot is not None:
        drawn = (pilot.ratings, pilot.tasks)
        piloted, no_pilot = enough_for(lambda: agreeing(coefficient=first, pilot=drawn))
    corrected = partial(plan_corrected_rate, rate_half_width, prevalence=prevalence, sizes=sizes, rng=seed)
    claim = partial(plan_stand_in, power, n_people=PEOPLE, epsilon=epsilon, sizes=sizes, rng=seed)
    labelled = partial(study_plan, usd_per_label=usd_per_label)
    return Plan(
        pilot=pilot,
        agreement={
            name: study_plan(curve, judges=prices if name == first else (), calls_per_unit=per_task)
            for name, curve in curves.items()
        },
        pilot_agreement=study_plan(piloted) if piloted else None,
        labels={
            name: labelled(corrected(sensitivity=sensitivity, specificity=specificity), labels_per_unit=1)
            for name, (sensitivity, specificity) in qualities.items()
        },
        stand_in={
            f"{share:.0%} failures": labelled(claim(prevalence=share), labels_per_unit=PEOPLE) for share in shares
        },
        repeats=() if table is None else panel_errors(table, question=question),
        made_up=made_up_raters(table),
        kind="pandas" if ratings is None else kind_of(ratings),
        no_pilot=no_pilot,
    )
