"""The words of agreement: why something cannot be given, and what figures say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

from axisjudge.stats.agreement.case_weighted import CaseWeighted
from axisjudge.stats.agreement.effective import EffectiveJudges
from axisjudge.stats.agreement.undecided import CaseBounds
from axisjudge.stats.estimate import Estimate, NamedEstimate
from axisjudge.studies._shared.words import listed


class NoWorth(StrEnum):
    """Why a panel cannot be counted in independent judges."""

    NONE = ""
    NO_LABELS = (
        "there are no labels: residuals from the panel's own mean correlate at -1/(k-1) by construction, whatever the "
        "judges share"
    )
    TOO_FEW = "a panel needs two judges"


class NoMean(StrEnum):
    """Why a mean over pairs, or its interval, cannot be given."""

    NO_FAMILY_OF_TWO = "no family has two judges here"
    ONE_FAMILY = "all judges are of one family"
    ONE_LABELLER = "fewer than two people labelled"
    NO_LABELS = "there are no labels"
    UNDEFINED = "no pair of judges has a defined value"
    ONE_RATER = "one rater"
    WITHOUT_A_CLUSTER = "without some cluster a pair is undefined, or agrees fully"


class Agreed(StrEnum):
    """Whether judges agree beyond chance."""

    BEYOND_CHANCE = "beyond_chance"
    NOT_SHOWN = "not_shown"
    BELOW_CHANCE = "below_chance"
    NOT_TOLD = "not_told"


_AGREED = {
    Agreed.BEYOND_CHANCE: "The judges agree beyond chance",
    Agreed.NOT_SHOWN: "It is not shown that the judges agree beyond chance",
    Agreed.BELOW_CHANCE: "The judges agree less than chance alone would have them",
    Agreed.NOT_TOLD: "Whether the judges agree beyond chance cannot be told",
}


_UNTOLD = {NoWorth.NO_LABELS: "without labels", NoWorth.TOO_FEW: "of fewer than two"}


def answer(agreed: Agreed, label: str, alpha: Estimate, worth: str) -> str:
    """Agreement of the panel in number, interval and n, and what it is worth."""
    figure = f"{label}, of all {alpha.n_raters} is {alpha.worded()}"
    return f"{_AGREED[agreed]}: {figure}, {alpha.n_items:,} items in {alpha.clusters}. {worth}"


def worth_in_short(judges: Sequence[str], measured: EffectiveJudges | None, reason: NoWorth) -> str:
    """Effective judges in one sentence, or why they cannot be counted."""
    if measured is None:
        return f"How many independent judges they are worth cannot be told {_UNTOLD[reason]}."
    if math.isnan(measured.n_effective.estimate):
        return f"How many independent judges they are worth is undefined: {measured.n_effective.reason}."
    return f"Against labels {len(judges)} judges are worth {measured.n_effective.worded()} independent ones."


def headline(
    question: str, items: str, raters: Sequence[str], n_common: int, coefficients: Mapping[str, NamedEstimate]
) -> str:
    """All coefficients of a question with their intervals."""
    if not coefficients:
        who = f"one rater ({raters[0]})" if raters else "no rater"
        return f"{question}: {items}, {who}: agreement needs a second."
    percent = coefficients.get("percent")
    values = ", ".join(f"{each.label} {each.worded()}" for each in coefficients.values() if each is not percent)
    agree = "gave numbers to" if percent is None else f"agree on {percent.worded('.0%')} of"
    return f"{question}: {len(raters)} raters {agree} {items}, of which all judged {n_common:,}; {values}."


def raters_an_item(question: str, fewest: int, most: int, n_single: int) -> list[str]:
    """How many raters an item has, where it differs, and how many items have nothing to compare."""
    said = [f"{question}: an item has {fewest} to {most} raters."] if fewest != most else []
    return [*said, *([f"{question}: items with a single rating, not compared: {n_single:,}."] if n_single else [])]


def unused(question: str, found: NamedEstimate, never: Sequence[str]) -> list[str]:
    """That words which nobody said move a coefficient; nothing where they do not."""
    return [
        f"{question}: {found.label} is {found.estimate:.3f} {note} (never said: {', '.join(never)})."
        for note in found.notes
        if never and note.startswith("over ")
    ]


def gaps(question: str, what: str, counts: Mapping[str, int]) -> list[str]:
    """Who lacks how many ratings; nothing where nobody does."""
    lacking = ", ".join(f"{rater} {count}" for rater, count in counts.items() if count)
    return [f"{question}: {what}: {lacking}."] if lacking else []


MEAN_OF_FEW = "{clusters} clusters; an interval of a mean over pairs needs {fewest}"
DIFFERENCE_OF_FEW = "an interval of the difference needs {fewest} clusters and 5 of the rarer words"
PAIRS_LEFT_OUT = "{undefined} of {pairs} pairs are undefined and left out"
NO_WORTH = "{where}: the effective number of judges cannot be given, because {reason}."
UNWEIGHTED = "{where}: no confidence-weighted variant, because {reason}."
LOST = "lost verdicts, counted neither as correct nor as incorrect"
NOT_ASKED = "items without a rating"


def undecided(question: str, bounds: CaseBounds | None) -> list[str]:
    """What agreement could be had every verdict been decided; nothing where all were."""
    if bounds is None or not bounds.n_undecided:
        return []
    return [
        f"{question}: a verdict is undecided or lost on {bounds.n_undecided} of {bounds.n_items} items; had all been "
        f"decided, agreement would lie between {bounds.percent_worst:.0%} and {bounds.percent_best:.0%}."
    ]


def left_out(counts: Mapping[str, int]) -> list[str]:
    """Ratings that were not compared."""
    repeats, runs = counts.get("repeats"), counts.get("empty_runs")
    said = [f"Left out: {repeats} ratings of other repeats; one repeat is compared at a time."] if repeats else []
    empty = f"Left out: runs without messages ({runs}); they are rated by definition, not judged."
    return [*said, empty] if runs else said


def families(where: str, label: str, within: Estimate, across: Estimate, difference: Estimate) -> str:
    """Within against across, with intervals, or why it cannot be said."""
    if math.isnan(within.estimate):
        return f"{where}: {within.reason}; across families the mean {label} is {across.worded('.3f')}."
    if math.isnan(across.estimate):
        return f"{where}: {across.reason}; within it the mean {label} is {within.worded('.3f')}."
    return (
        f"{where}: the mean {label} of two judges is {within.worded('.3f')} within a family and "
        f"{across.worded('.3f')} across families, a difference of {difference.worded('.3f')}; {difference.clusters}."
    )


def alpha(where: str, label: str, judges: Estimate, people: Estimate) -> str:
    """Krippendorff's alpha of all judges together, and of people where there are two or more."""
    among = "" if math.isnan(people.estimate) else f"; of people among themselves {people.worded('.3f')}"
    return f"{where}: {label}, of all judges together is {judges.worded('.3f')}{among}."


def worth(where: str, judges: Sequence[str], measured: EffectiveJudges, best: int, planted: bool) -> str:
    """Effective judges with interval and band, and the majority beside the best judge, each with its base."""
    number = measured.n_effective
    if math.isnan(number.estimate):
        worth = f"{where}: how many independent judges the {len(judges)} are worth is undefined: {number.reason}."
    else:
        band = [(error, value) for error, value, _ in measured.by_label_error if error and not math.isnan(value)]
        band = [] if planted else band  # planted truth has no error
        with_error = "; ".join(f"{value:.2f} if {error:.0%} of the labels are wrong" for error, value in band)
        worth = (
            f"{where}: {len(judges)} judges are worth {number.worded()} independent ones, from {number.n_items:,} "
            f"items in {number.clusters}{', and ' + with_error if with_error else ''}."
        )
    if not measured.n_majority:
        return f"{worth} No labelled item has a verdict, so that there is no majority."
    ties = f"{measured.n_tied:,} ties, shared among the words that tie" if measured.n_tied else "no ties"
    verdict = "below" if measured.majority < measured.best_single else "not below"
    return (
        f"{worth} Their majority is right on {measured.majority:.1%} of {measured.n_majority:,} labelled items that "
        f"any of them judged ({ties}), {verdict} the best single judge ({judges[best]}, "
        f"{measured.best_single:.1%} of the {measured.n_answered[best]:,} it judged)."
    )


def weighted(where: str, normalised: str, product: CaseWeighted, minimum: CaseWeighted) -> str:
    """Whether weighting by confidence changes the panel's agreement, and whether the minimum says the same."""
    return (
        f"{where}: with cases weighted by the judges' confidence ({normalised}) alpha of the panel goes from "
        f"{product.unweighted:.2f} to {product.weighted:.2f}, a difference of {product.worded('+.2f')} with products "
        f"(worth {product.kish_n:.0f} of {product.n_items} items; p = {product.p_value:.3f} if confidence said "
        f"nothing beyond the verdict) and {minimum.worded('+.2f')} with minima."
    )


def steps(
    n_steps: int, n_runs: int, worst: tuple[str, Estimate, Estimate], best: tuple[str, Estimate, Estimate]
) -> str:
    """The widest and the narrowest distance from people: judge, kappa, step accuracy."""
    (low, lowest, least), (high, highest, most) = worst, best
    return (
        f"On {n_steps:,} steps of {n_runs} runs in {highest.clusters}, Cohen's kappa with people, unweighted, goes "
        f"from {lowest.worded('.3f')} for {low} to {highest.worded('.3f')} for {high}; their step accuracies are "
        f"{least.worded('.3f')} and {most.worded('.3f')}."
    )


def published(
    count: str, if_independent: str, n_tasks: int, effective_items: float, icc: float, if_clustered: str,
    without_shared_failure: Sequence[str],
) -> str:  # fmt: skip
    """What few tasks allow."""
    axes = without_shared_failure
    none = f" On {listed(axes)} no failure is shared by both judges." if axes else ""
    return (
        f"{count} reads {if_independent} if the items were independent; they are {n_tasks} tasks, worth about "
        f"{effective_items:.1f} items at a correlation of {icc} within a task, and then it reads {if_clustered}.{none}"
    )
