"""How many trajectories, labels, people and repeats? (notebook 09, `axisjudge plan`)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from axisjudge.checks import enough_for
from axisjudge.cluster import watched
from axisjudge.figures import theme
from axisjudge.ratings import as_ratings
from axisjudge.results import columns
from axisjudge.spec import JudgeSpec
from axisjudge.stats import planning
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.alternative_annotator import FEWEST_PEOPLE
from axisjudge.stats.estimate import plural
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, made_up_raters, table_of
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import listed, many, named, sentence_case
from axisjudge.studies.plan import pilots


def plot_plans(curves: Mapping[str, planning.StudyCurve], *, title: str, ax: theme.Axes | None = None) -> theme.Axes:
    """Half width (or power) against size, one line a scenario; a ring marks the size at which the target is met.

    Bars show the standard deviation of the half width between studies: yours may be luckier or not.
    """
    import matplotlib as mpl
    import seaborn as sns

    ax = theme.new_axes(6.8, 3.9) if ax is None else ax
    first = next(iter(curves.values()))
    ax.axhline(first.target, color=theme.QUIET, linewidth=1, linestyle=(0, (4, 3)))
    met = sorted({curve.needed for curve in curves.values() if curve.needed is not None})
    for colour, (label, curve) in zip(sns.color_palette("colorblind", len(curves)), curves.items(), strict=True):
        sizes = [point.n for point in curve.points]
        values = [point.power if curve.of_power else point.half_width for point in curve.points]
        spread = None if curve.of_power else [point.spread for point in curve.points]
        line: dict[str, Any] = {"fmt": "o-", "color": colour, "markersize": 4, "linewidth": 1.6, "elinewidth": 1}
        ax.errorbar(sizes, values, yerr=spread, label=label, **line)
        if curve.needed is not None:
            ax.plot(curve.needed, curve.target, "o", color=colour, markersize=11, fillstyle="none", markeredgewidth=1.8)
            up = met.index(curve.needed) % 2 == 0  # neighbours stand on two sides
            beside: Any = {"xytext": (0, 9 if up else -9), "va": "bottom" if up else "top"}
            how: Any = {"textcoords": "offset points", "ha": "center", "fontsize": theme.LABEL, "color": theme.INK}
            ax.annotate(f"{curve.needed:,}", (curve.needed, curve.target), **beside, **how)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    ax.set_xticks(sorted({point.n for curve in curves.values() for point in curve.points}))
    ax.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    ax.set_ylim(0, 1.02 if first.of_power else None)
    if first.of_power:
        ax.yaxis.set_major_formatter(theme.percent_tick)
    what = "power" if first.of_power else "half width of the interval"
    kept = "" if first.of_power else f"line: {planning.ASSURANCE:.0%} of studies lie below; "
    bars = "" if first.of_power else "; bars: its standard deviation between studies"
    theme.legend_below(ax, inches=0.55, ncols=4)
    note = f"{kept}dashed: the target; ring: {plural(first.unit)} enough for it"
    how = f"{what} by number of {plural(first.unit)}; {note}{bars}"
    return theme.dress(ax, title, note, how=how, x=f"{first.unit}s", y=what, lines="y")


#: How a line ends that is drawn from the tasks of a pilot.
_FROM_PILOT = ", from the pilot"
#: Judges by name with their sensitivity and specificity.
QUALITIES = {"strong judge (.95, .95)": (0.95, 0.95), "fair (.85, .85)": (0.85, 0.85), "weak (.60, .50)": (0.6, 0.5)}


class PilotFigures(Part, name="pilot", caption="What the pilot gives to assume"):
    """What a pilot says of one question; None where it says too little, for the reason in `too_little`."""

    _flat = ("pilot",)

    pilot: pilots.Pilot | None
    too_little: str

    @property
    def table(self) -> Table:
        """One row: prevalence, agreement and kappa of the first two judges, tasks."""
        named = columns("question prevalence kappa agreement n_tasks")
        return frame_of([self.pilot] if self.pilot else [], named, self.kind)

    @property
    def answer(self) -> str:
        """The pilot in words, or why it says too little; empty where none was given."""
        return pilots.pilot_sentence(self.pilot) if self.pilot else self.too_little


def pilot_figures(ratings: Given | None, *, question: str = "argument_validity") -> PilotFigures:
    """The figures of a pilot's judges on one question; the first two judges are those compared."""
    if ratings is None:
        return PilotFigures(None, "", kind="pandas")
    table = as_ratings(ratings)
    pilot, too_little = enough_for(lambda: pilots.pilot_of(table, question))
    return PilotFigures(pilot, too_little, kind=kind_of(ratings), made_up=made_up_raters(table))


class _Plans(Part):
    """Plans by scenario: what studies of growing size give, simulated, and what they cost."""

    _flat = ("plans",)

    plans: Mapping[str, pilots.StudyPlan]

    @property
    def table(self) -> Table:
        """A row a scenario and size."""
        rows = [{"scenario": name} | row for name, plan in self.plans.items() for row in pilots.plan_rows(plan)]
        return table_of([{head.lower().replace(" ", "_"): row[head] for head in row} for row in rows], self.kind)

    @property
    def needed(self) -> dict[str, int | None]:
        """The size at which each scenario meets the target; None where none tried does."""
        return {name: plan.curve.needed for name, plan in self.plans.items()}

    @property
    def answer(self) -> str:
        """Every plan with its assumptions."""
        return " ".join(plan_sentence(plan, sentence_case(name)) for name, plan in self.plans.items())

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """One line a scenario; a ring where the target is met."""
        curves = {name: plan.curve for name, plan in self.plans.items()}
        return plot_plans(curves, title=self.caption, ax=ax)


class TasksForAgreement(_Plans, name="agreement", caption="Tasks for agreement of two judges"):
    """Tasks for a wanted half width of agreement of two judges; the first coefficient has prices."""


class LabelsForRate(_Plans, name="labels", caption="Labels for a corrected failure rate", of_ratings=False):
    """Labels for a wanted half width of a corrected failure rate, by quality of the judge."""


class ItemsForClaim(
    _Plans,
    name="stand_in",
    caption="Items for the claim that a judge may stand in for a person",
    of_ratings=False,
):
    """Items for a wanted power of the claim that a judge may stand in for a person, by share of failures."""


def tasks_for_agreement(
    pilot: PilotFigures | None = None,
    *,
    half_width: float = 0.1,
    prevalence: float = 0.2,
    kappa: float = 0.6,
    per_task: int = 4,
    coefficients: Sequence[str] = ("cohen_kappa", "gwet_ac1"),
    judges: Sequence[str | JudgeSpec] = (),
    sizes: Sequence[int] = planning.SIZES[:7],
    seed: int = 0,
) -> TasksForAgreement:
    """How many tasks a coefficient of agreement takes, by assumptions, and by drawing from a pilot's own tasks.

    Parameters
    ----------
    pilot : PilotFigures, optional
        Plans the first coefficient from its tasks as well, and gives the tokens of a call.
    half_width : float
        Wanted half width of the interval.
    prevalence, kappa, per_task : float, float, int
        Assumed share of failures, agreement of two judges, runs of one task.
    coefficients : sequence of str
        Names of `axisjudge.stats.agreement.coefficients.COEFFICIENTS`; the first is priced.
    judges : sequence of str
        Specs to be priced, at the pilot's tokens where it counted them.
    sizes, seed : sequence of int, int
        Sizes that are simulated until the target is well met, and the seed.

    Raises
    ------
    InputError
        A target or an assumption out of range, or a judge without a list price.
    """
    known = pilot.pilot if pilot else None
    prices = pilots.judge_prices(judges, known.tokens if known and known.tokens else pilots.TOKENS)
    assumed = {"prevalence": prevalence, "kappa": kappa, "per_task": per_task}
    plans = {}
    for at, name in enumerate(watched(coefficients, "tasks for agreement")):
        curve = planning.plan_agreement(half_width, coefficient=name, sizes=sizes, rng=seed, **assumed)  # type: ignore[arg-type]
        plans[COEFFICIENTS[name].label] = pilots.study_plan(curve, judges=() if at else prices, calls_per_unit=per_task)
    if known is not None:
        first, drawn = coefficients[0], (known.ratings, known.tasks)
        drawn_from, _ = enough_for(
            lambda: planning.plan_agreement(half_width, coefficient=first, pilot=drawn, sizes=sizes, rng=seed)
        )
        if drawn_from is not None:
            plans[f"{COEFFICIENTS[first].label}{_FROM_PILOT}"] = pilots.study_plan(drawn_from)
    made_up = pilot.made_up if pilot else ()
    return TasksForAgreement(plans, kind=pilot.kind if pilot else "pandas", made_up=made_up)


def labels_for_rate(
    *,
    half_width: float = 0.05,
    prevalence: float = 0.2,
    qualities: Mapping[str, tuple[float, float]] = QUALITIES,
    usd_per_label: float | None = None,
    sizes: Sequence[int] = planning.SIZES[:7],
    seed: int = 0,
    kind: Kind = "pandas",
) -> LabelsForRate:
    """How many labels a failure rate takes that is corrected for the judge's errors, by sensitivity and specificity."""
    plans = {}
    for name, (sensitivity, specificity) in watched(list(qualities.items()), "labels for a rate"):
        curve = planning.plan_corrected_rate(
            half_width, sensitivity=sensitivity, specificity=specificity, prevalence=prevalence, sizes=sizes, rng=seed
        )
        plans[name] = pilots.study_plan(curve, usd_per_label=usd_per_label, labels_per_unit=1)
    return LabelsForRate(plans, kind=kind)


def items_for_claim(
    *,
    power: float = 0.8,
    shares: Sequence[float] = (0.1, 0.3, 0.5),
    epsilon: float = 0.1,
    n_people: int = FEWEST_PEOPLE,
    usd_per_label: float | None = None,
    sizes: Sequence[int] = planning.SIZES[:7],
    seed: int = 0,
    kind: Kind = "pandas",
) -> ItemsForClaim:
    """How many items the claim 'may stand in for a person' takes, each labelled by all people, by share of failures."""
    plans = {}
    for share in watched(shares, "items for the claim"):
        curve = planning.plan_stand_in(
            power, n_people=n_people, epsilon=epsilon, prevalence=share, sizes=sizes, rng=seed
        )
        plans[f"{share:.0%} failures"] = pilots.study_plan(curve, usd_per_label=usd_per_label, labels_per_unit=n_people)
    return ItemsForClaim(plans, kind=kind)


class RepeatsBought(Part, name="repeats", caption="More judges or more repeats"):
    """Standard error of an item's mean verdict for panels of k judges asked r times, from a pilot with repeats."""

    _rows = "errors", columns("question judges repeats calls standard_error fixed_judges")

    errors: tuple[pilots.PanelError, ...]

    @property
    def answer(self) -> str:
        """What a repeat buys beside a judge."""
        return repeats_sentence(self.errors)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Standard error of an item's mean verdict against the number of calls, one line a number of judges."""
        import seaborn as sns

        if not self.errors:
            return super().plot(ax)
        ax = theme.new_axes(6.4, 3.4) if ax is None else ax
        counts = sorted({each.judges for each in self.errors})
        for colour, count in zip(sns.color_palette("colorblind", len(counts)), counts, strict=True):
            mine = [each for each in self.errors if each.judges == count]
            values = [each.standard_error for each in mine]
            ax.plot([each.calls for each in mine], values, "o-", color=colour, label=many(count, "judge"))
        ax.set_ylim(bottom=0)
        theme.legend_below(ax, inches=0.55, ncols=4)
        note, x = "standard error of an item's mean verdict", "calls per item (judges x repeats)"
        how = f"{note}, from variances estimated once and without interval"
        return theme.dress(ax, "More judges or more repeats", note, how=how, x=x, lines="y")


def repeats_bought(ratings: Given | None, *, question: str = "argument_validity") -> RepeatsBought:
    """What more judges and more repeats buy, from the variance components of a pilot."""
    errors = () if ratings is None else pilots.panel_errors(ratings, question=question)
    made_up = () if ratings is None else made_up_raters(as_ratings(ratings))
    return RepeatsBought(errors, kind="pandas" if ratings is None else kind_of(ratings), made_up=made_up)


class Plan(Study):
    """Plans of four kinds, and the pilot behind them."""

    pilot: PilotFigures
    tasks: TasksForAgreement
    labels: LabelsForRate
    stand_in: ItemsForClaim
    repeats: RepeatsBought

    @property
    def answer(self) -> str:
        """How many tasks, labels and people it takes, and on what that rests."""
        return answer_of(self.pilot, self.tasks, self.labels, self.stand_in)


def answer_of(pilot: PilotFigures, tasks: TasksForAgreement, *others: _Plans) -> str:
    """What the target takes of tasks for agreement, and what `others` take; by which assumption; what that rests on."""
    assumed = {name: plan for name, plan in tasks.plans.items() if not name.endswith(_FROM_PILOT)}
    drawn = f", but for the curve drawn from the pilot's {'simulated ' if pilot.made_up else ''}tasks"
    rest = f"{'The pilot is too small to plan from: all' if pilot.too_little else 'All'} is assumed"
    takes, ends = zip(*(needs(plans) for plans in (assumed, *(each.plans for each in others)) if plans), strict=True)
    rest += drawn if len(assumed) < len(tasks.plans) else ""
    short, range_ = sentence_case(", ".join(takes)), "; ".join(ends)
    easy = f"So {planning.ASSURANCE:.0%} of studies meet it, from the easiest assumption to the hardest ({range_})."
    return f"{'About ' * short[0].isdigit()}{short}. {easy} {rest}."


def next_step(pilot: PilotFigures, tasks: TasksForAgreement) -> str:
    """Make a pilot of one's own, or judge what it says is missing."""
    if pilot.pilot is None or pilot.made_up:
        asked = "of your own with two judges, asked three times each"
        return f"Judge {planning.FEWEST_PILOT_TASKS} tasks or more {asked}, and plan again from them."
    from_pilot = next((plan for name, plan in tasks.plans.items() if name.endswith(_FROM_PILOT)), None)
    needed = None if from_pilot is None else from_pilot.curve.needed
    if from_pilot is not None and needed is None:
        return f"Plan for a wider interval: as the pilot's own tasks differ, this one takes {_size(from_pilot)}."
    if needed is None or needed <= pilot.pilot.n_tasks:
        return "Have people label some of the pilot's runs (axisjudge label): agreement is not correctness."
    more = many(needed - pilot.pilot.n_tasks, "more task")
    return f"Judge {more}: as the pilot's own tasks differ, about {needed:,} are needed."


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
    sizes: Sequence[int] = planning.SIZES[:7],
    seed: int = 0,
) -> Plan:
    """How many trajectories, labels, people and repeats do you need, and what do they cost?

    Parameters
    ----------
    ratings : table, optional
        A pilot: ratings of two judges or more, asked twice or more for what repeats buy.
    question : str
        The pilot's question.
    half_width, prevalence, kappa, per_task, coefficients, judges
        As `tasks_for_agreement` takes them.
    rate_half_width, qualities, usd_per_label
        As `labels_for_rate` takes them.
    power, shares, epsilon
        As `items_for_claim` takes them.

    Raises
    ------
    InputError
        A target or an assumption out of range, or a judge without a list price.

    Examples
    --------
    >>> import axisjudge
    >>> plans = axisjudge.studies.plan(half_width=0.3, shares=[0.3], sizes=(10, 20))
    >>> list(plans.tasks.table.columns)
    ['scenario', 'tasks', 'half_width', 'without_interval', 'usd']
    """
    pilot = pilot_figures(ratings, question=question)
    drawn: dict[str, Any] = {"sizes": sizes, "seed": seed}
    assumed: dict[str, Any] = {"kappa": kappa, "per_task": per_task, "coefficients": coefficients, "judges": judges}
    priced: dict[str, Any] = {"usd_per_label": usd_per_label, "kind": pilot.kind, **drawn}
    return Plan(
        pilot=pilot,
        tasks=tasks_for_agreement(pilot, half_width=half_width, prevalence=prevalence, **assumed, **drawn),
        labels=labels_for_rate(half_width=rate_half_width, prevalence=prevalence, qualities=qualities, **priced),
        stand_in=items_for_claim(power=power, shares=shares, epsilon=epsilon, **priced),
        repeats=repeats_bought(ratings, question=question),
    )


#: Said of standard errors of a pilot with few judges.
LOWER_BOUNDS = (
    "With fewer than 5 judges it cannot be estimated how far their leniency differs; these errors leave that out and "
    "are lower bounds."
)


#: Assumptions whose names are the code's.
_NAMES = {"ci_level": "interval level", "per_task": "items a task"}


def plan_sentence(plan: pilots.StudyPlan, of: str = "") -> str:
    """What is needed, what it costs, what one more buys, on which assumptions; `of` names the line that is meant."""
    needed = _needed(plan)
    parts = [f"{of}: {needed[:1].lower()}{needed[1:]}" if of else needed]
    if not math.isnan(plan.one_more):
        price = "" if plan.usd_per_unit is None else f", for {pilots.in_dollars(plan.usd_per_unit)},"
        one = f"At that size one more {plan.curve.unit}{price} narrows"
        parts.append(f"{one} the half width by {plan.one_more:.2g}.")
    if plan.peak is not None:
        parts.append(
            f"The power is highest, at {plan.peak.power:.0%}, near {many(plan.peak.n, plan.curve.unit)} and falls with "
            "more, because a judge that always says one word passes too: ask for a smaller epsilon, or draw items by a "
            "recorded key so that failures are not rare."
        )
    if plan.price_list:
        parts.append(f"Costs of judging follow the list prices of the package genai-prices {plan.price_list}.")
    return " ".join(parts)


def needs(plans: Mapping[str, pilots.StudyPlan]) -> tuple[str, str]:
    """What a target takes and costs, under one assumption or under the easiest and the hardest; and which these are."""
    lost = [name for name, plan in plans.items() if plan.curve.needed is None and plan.peak]  # more items make it worse
    lost = lost if len(lost) < len(plans) else []
    order = sorted((name for name in plans if name not in lost), key=lambda name: plans[name].curve.needed or math.inf)
    names = order if len(order) < 3 else [order[0], order[-1]]
    ends = [plans[name] for name in names]
    curve, usd = ends[0].curve, ends[-1].usd_needed
    size = " to ".join(map(_size, ends))
    if all(plan.curve.needed and not plan.met_by_smallest for plan in ends):
        size = f"{' to '.join(f'{plan.curve.needed:,}' for plan in ends)} {plural(curve.unit)}"
    cost = "" if usd is None else f" ({'' if len(ends) == 1 else '≤ '}{pilots.in_dollars(usd)})"
    out_of_reach = f", out of reach at {listed(lost)}" if lost else ""
    assumed = f"{' to '.join(name.partition(' (')[0] for name in names)}{out_of_reach}"
    if curve.of_power:
        return f"{size} by {curve.assumed['people']} people to let a judge stand in for them{cost}", assumed
    what = "agreement" if curve.what in COEFFICIENTS else curve.what.replace("corrected ", "")
    return f"{size} to know {what} to ±{curve.target:.3g}{cost}", assumed


def repeats_sentence(errors: Sequence[pilots.PanelError]) -> str:
    """Two calls spent either way on one question, and what the figures leave out."""
    if not errors:
        return "What repeats buy cannot be told: it takes two judges that were asked twice."
    by_panel = {(each.judges, each.repeats): each.standard_error for each in errors}
    spent = (
        f"Two calls per item: one judge asked twice leaves a standard error of {by_panel[1, 2]:.3f}, two judges "
        f"{by_panel[2, 1]:.3f}."
    )
    return f"{spent} {LOWER_BOUNDS}" if errors[0].fixed_judges else spent


def _wanted(plan: pilots.StudyPlan) -> str:
    curve = plan.curve
    what = named(COEFFICIENTS[curve.what].label) if curve.what in COEFFICIENTS else curve.what
    if curve.of_power:
        return f"{what} a power of {curve.target:.0%}"
    return f"the interval of {what} a half width of {curve.target:.3g} or less in {planning.ASSURANCE:.0%} of studies"


def _size(plan: pilots.StudyPlan) -> str:
    curve = plan.curve
    if curve.needed is None:
        tried = many(curve.points[-1].n, curve.unit)
        return f"more than {tried}"
    needed = many(curve.needed, curve.unit)
    return f"{needed} or fewer" if plan.met_by_smallest else f"about {needed}"


def _needed(plan: pilots.StudyPlan) -> str:
    curve = plan.curve
    assumed = "; ".join(
        f"{_NAMES.get(name, name)} {value:.3g}" if isinstance(value, float) else f"{_NAMES.get(name, name)} {value}"
        for name, value in curve.assumed.items()
        if name != "coefficient"  # it is named already
    )
    if curve.needed is None:
        return f"Up to {many(curve.points[-1].n, curve.unit)} do not give {_wanted(plan)}. Assumed: {assumed}."
    cost = "" if plan.usd_needed is None else f" (about {pilots.in_dollars(plan.usd_needed)})"
    return f"{sentence_case(_size(plan))}{cost} give {_wanted(plan)}. Assumed: {assumed}."


open_door(plan)
