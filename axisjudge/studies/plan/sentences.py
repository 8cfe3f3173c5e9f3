"""What a plan says: how much is needed, what it costs, what one more unit buys, and on which assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from axisjudge.judges.pricing import price_list_version
from axisjudge.stats.planning.study_curve import ASSURANCE
from axisjudge.studies._shared.words import listed, many
from axisjudge.studies.plan.pilots import LabelledPilot, Pilot
from axisjudge.studies.plan.prices import JudgePrice, StudyPlan
from axisjudge.studies.plan.repeats import PanelError

#: Said of standard errors of a pilot with few judges.
LOWER_BOUNDS = "Fewer than 5 judges: what judges as such differ by is not in these figures, which are lower bounds."


def plan_sentence(plan: StudyPlan) -> str:
    """What is needed, what it costs, what one more buys, and on which assumptions."""
    prices = f"Judges at the list prices of genai-prices {plan.price_list}." if plan.price_list else ""
    return " ".join(filter(None, (_needed(plan), _one_more(plan), _fading(plan), prices)))


def needs(plans: Mapping[str, StudyPlan]) -> str:
    """What one target takes under each of several assumptions."""
    first = next(iter(plans.values()))
    sizes = "; ".join(f"{name} {_size(plan)}" for name, plan in plans.items())
    return f"{_wanted(first)} takes, in {first.curve.unit}s: {sizes}."


def pilot_sentence(pilot: Pilot) -> str:
    """Who is compared, on how much, and how they agree."""
    runs, tasks = many(len(pilot.ratings), "run"), many(pilot.n_tasks, "task")
    return (
        f"The pilot on {pilot.question}: {pilot.prevalence:.0%} failures; {listed(pilot.judges[:2])} have kappa "
        f"{pilot.kappa:.2f} and agree on {pilot.agreement:.0%} ({runs} of {tasks})."
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
    return f"One more judged run{price} narrows it by {gain:.6f}, by the large-sample formula."


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


def _wanted(plan: StudyPlan) -> str:
    curve = plan.curve
    if curve.of_power:
        return f"A power of {curve.target:.0%} for {curve.what}"
    return f"A half width of {curve.target:.3g} for {curve.what} in {ASSURANCE:.0%} of studies"


def _size(plan: StudyPlan) -> str:
    curve = plan.curve
    if curve.needed is None:
        return f"more than {curve.points[-1].n:,}" if plan.peak is None else "out of reach"
    return f"{curve.needed:,} or fewer" if plan.met_by_smallest else f"about {curve.needed:,}"


def _needed(plan: StudyPlan) -> str:
    curve, price = plan.curve, plan.usd_per_unit
    assumed = "; ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in curve.assumed.items()
    )
    if curve.needed is None:
        return f"{_wanted(plan)} is not reached with up to {curve.points[-1].n:,} {curve.unit}s ({assumed})."
    cost = "" if price is None else f", about {_usd(curve.needed * price)}"
    about = "is met by" if plan.met_by_smallest else "needs about"
    return f"{_wanted(plan)} {about} {curve.needed:,} {curve.unit}s{cost} ({assumed})."


def _one_more(plan: StudyPlan) -> str:
    if math.isnan(plan.one_more):
        return ""
    price = "" if plan.usd_per_unit is None else f" for {_usd(plan.usd_per_unit)}"
    return f"One more {plan.curve.unit}{price} then narrows it by {plan.one_more:.5f}."


def _fading(plan: StudyPlan) -> str:
    if plan.peak is None:
        return ""
    return (
        f"The power is highest near {plan.peak.n:,} {plan.curve.unit}s ({plan.peak.power:.0%}) and falls with more, "
        "because the best constant judge passes too: ask for a smaller epsilon, or draw items by a recorded key so "
        "that failures are not rare."
    )


def _usd(amount: float) -> str:
    return f"${amount:,.0f}" if amount >= 100 else f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.3f}"
