"""What a plan says: how much is needed, what it costs, what one more unit buys, and on which assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from axisjudge.judges.pricing import price_list_version
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.estimate import plural
from axisjudge.stats.planning.study_curve import ASSURANCE
from axisjudge.studies._shared.words import listed, many, named, sentence_case
from axisjudge.studies.plan.pilots import JudgePrice, LabelledPilot, PanelError, Pilot, StudyPlan

#: Said of standard errors of a pilot with few judges.
LOWER_BOUNDS = (
    "With fewer than 5 judges it cannot be estimated how far their leniency differs; these errors leave that out and "
    "are lower bounds."
)


#: Assumptions whose names are the code's.
_NAMES = {"ci_level": "interval level", "per_task": "items a task"}


def plan_sentence(plan: StudyPlan, of: str = "") -> str:
    """What is needed, what it costs, what one more buys, on which assumptions; `of` names the line that is meant."""
    prices = (
        f"Costs of judging follow the list prices of the package genai-prices {plan.price_list}."
        if plan.price_list
        else ""
    )
    needed = _needed(plan)
    start = f"{of}: {needed[:1].lower()}{needed[1:]}" if of else needed
    return " ".join(filter(None, (start, _one_more(plan), _fading(plan), prices)))


def answer(
    agreement: Mapping[str, StudyPlan],
    labels: Mapping[str, StudyPlan],
    claims: Mapping[str, StudyPlan],
    no_pilot: str = "",
) -> str:
    """What the targets take: tasks for agreement, labels for a corrected rate, items for the claim; on what terms."""
    halves = "; ".join(needs(plans) for plans in (agreement, labels) if plans)
    power = [f"{sentence_case(needs(claims))}."] if claims else []
    start = "The pilot is too small to plan from, and all" if no_pilot else "All"
    words = [f"{sentence_case(halves)}."] if halves else []
    return " ".join([*words, *power, f"{start} of this is from assumptions, which only a pilot can test."])


def needs(plans: Mapping[str, StudyPlan]) -> str:
    """What one target takes: under one assumption, or under the easiest and the hardest of several."""
    order = sorted(plans.items(), key=lambda plan: plan[1].curve.needed or math.inf)
    ends = order if len(order) < 3 else (order[0], order[-1])
    short = [(name.partition(" (")[0], plan) for name, plan in ends]
    what = _together(ends[0][1])
    takes = " to ".join(f"{_size(plan)} ({name})" for name, plan in short if plan.peak is None)
    never = [name for name, plan in short if plan.peak is not None]
    tried = min((plan.curve.points[-1].n for _, plan in short if plan.peak is not None), default=0)
    upto = f"with up to {tried:,} {plural(ends[0][1].curve.unit)}"
    if not takes:
        return f"{what} is not reached {upto} ({listed(never)})"
    return f"{takes} are needed for {what}{f'; with {listed(never)} it is not reached {upto}' if never else ''}"


def pilot_sentence(pilot: Pilot) -> str:
    """Who is compared, on how much, and how they agree."""
    runs, tasks = many(len(pilot.ratings), "run"), many(pilot.n_tasks, "task")
    kappa = "no kappa, as they say one word alone," if math.isnan(pilot.kappa) else f"kappa {pilot.kappa:.2f}"
    return (
        f"The pilot on {pilot.question}: {pilot.prevalence:.0%} of verdicts say incorrect; {listed(pilot.judges[:2])} "
        f"have {kappa} over all words that they say, and agree on {pilot.agreement:.0%} ({runs} of {tasks})."
    )


def labelled_pilot_sentence(pilot: LabelledPilot) -> str:
    """The figures, with their n: a small pilot gives rough ones."""
    items = "items with planted labels" if pilot.planted else "labelled items"
    return (
        f"The pilot: {pilot.judge} on {pilot.n_items} {items}, failures {pilot.prevalence:.0%}, sensitivity "
        f"{pilot.sensitivity:.2f}, specificity {pilot.specificity:.2f}."
    )


def judged_sentence(gain: float, judges: Sequence[JudgePrice]) -> str:
    """What one more judged run buys beside one more label."""
    costs = [price.usd_per_call for price in judges if price.usd_per_call is not None]
    known = costs and len(costs) == len(judges)
    price = f" for {_usd(sum(costs))} (genai-prices {price_list_version()})" if known else ""
    return f"One more judged run{price} narrows the half width by {gain:.2g}, by the large-sample formula."


def repeats_sentence(errors: Sequence[PanelError]) -> str:
    """Two calls spent either way on one question, and what the figures leave out."""
    if not errors:
        return "What repeats buy cannot be told: it takes two judges that were asked twice."
    by_panel = {(each.judges, each.repeats): each.standard_error for each in errors}
    spent = (
        f"Two calls per item: one judge asked twice leaves a standard error of {by_panel[1, 2]:.3f}, two judges "
        f"{by_panel[2, 1]:.3f}."
    )
    return f"{spent} {LOWER_BOUNDS}" if errors[0].fixed_judges else spent


#: What agreement is measured by where several coefficients are planned together.
_AGREEMENT = "agreement of two judges"


def _together(plan: StudyPlan) -> str:
    curve = plan.curve
    what = _AGREEMENT if curve.what in COEFFICIENTS else curve.what
    if curve.of_power:
        return f"a power of {curve.target:.0%} with {what}"
    return f"{what} to within {curve.target:.3g} in {ASSURANCE:.0%} of studies"


def _wanted(plan: StudyPlan) -> str:
    curve = plan.curve
    what = named(COEFFICIENTS[curve.what].label) if curve.what in COEFFICIENTS else curve.what
    if curve.of_power:
        return f"{what} a power of {curve.target:.0%}"
    return f"the interval of {what} a half width of {curve.target:.3g} or less in {ASSURANCE:.0%} of studies"


def _size(plan: StudyPlan) -> str:
    curve = plan.curve
    if curve.needed is None:
        tried = many(curve.points[-1].n, curve.unit)
        return f"more than {tried}"
    needed = many(curve.needed, curve.unit)
    return f"{needed} or fewer" if plan.met_by_smallest else f"about {needed}"


def _needed(plan: StudyPlan) -> str:
    curve, price = plan.curve, plan.usd_per_unit
    assumed = "; ".join(
        f"{_NAMES.get(name, name)} {value:.3g}" if isinstance(value, float) else f"{_NAMES.get(name, name)} {value}"
        for name, value in curve.assumed.items()
        if name != "coefficient"  # it is named already
    )
    if curve.needed is None:
        return f"Up to {many(curve.points[-1].n, curve.unit)} do not give {_wanted(plan)}. Assumed: {assumed}."
    cost = "" if price is None else f" (about {_usd(curve.needed * price)})"
    return f"{sentence_case(_size(plan))}{cost} give {_wanted(plan)}. Assumed: {assumed}."


def _one_more(plan: StudyPlan) -> str:
    if math.isnan(plan.one_more):
        return ""
    price = "" if plan.usd_per_unit is None else f", for {_usd(plan.usd_per_unit)},"
    return f"At that size one more {plan.curve.unit}{price} narrows the half width by {plan.one_more:.2g}."


def _fading(plan: StudyPlan) -> str:
    if plan.peak is None:
        return ""
    return (
        f"The power is highest, at {plan.peak.power:.0%}, near {many(plan.peak.n, plan.curve.unit)} and falls with "
        "more, because a judge that always says one word passes too: ask for a smaller epsilon, or draw items by a "
        "recorded key so that failures are not rare."
    )


def _usd(amount: float) -> str:
    return f"${amount:,.0f}" if amount >= 100 else f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.3f}"
