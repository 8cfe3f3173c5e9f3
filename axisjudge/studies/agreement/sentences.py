"""The words of agreement: why something cannot be given, and what figures say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np

from axisjudge.stats.agreement.chance_corrected import Agreement, CaseBounds
from axisjudge.stats.agreement.soft import CaseWeighted
from axisjudge.stats.comparisons.ranking import Reversal
from axisjudge.stats.estimate import NamedEstimate
from axisjudge.studies._shared.words import apart as apart
from axisjudge.studies._shared.words import (
    directed,
    equal_to,
    listed,
    many,
    named,
    other_repeats,
    overturned,
    p_words,
    spanned,
)
from axisjudge.studies._shared.words import sentence_case as sentence_case

#: So many raters are named in a row with a figure each.
_NAMED = 3


class NoWorth(StrEnum):
    """Why a panel cannot be counted in independent judges."""

    NONE = ""
    NO_LABELS = (
        "there are no labels: without them judges are compared with the panel's own mean alone, and distances from it "
        "correlate at -1/(k-1) whatever the judges share"
    )
    TOO_FEW = "a panel needs two judges"


#: Why there is no pair of raters to take a mean over.
NO_FAMILY_OF_TWO, ONE_FAMILY = "no family has two judges here", "all judges are of one family"
ONE_LABELLER, NO_LABELS = "fewer than two people labelled", "there are no labels"


#: What is said where items are grouped in two ways.
ONE_WAY = (
    " Intervals are by both ways of grouping; families, scores of steps and what follows from pairs are known for one "
    "way alone, and left out."
)


class Agreed(StrEnum):
    """Whether judges agree beyond chance."""

    BEYOND_CHANCE = "beyond_chance"
    NOT_SHOWN = "not_shown"
    BELOW_CHANCE = "below_chance"
    NOT_TOLD = "not_told"


_AGREED = {
    Agreed.BEYOND_CHANCE: "more than chance alone would give",
    Agreed.NOT_SHOWN: "which is not shown to be more than chance would give",
    Agreed.BELOW_CHANCE: "less than chance alone would give",
    Agreed.NOT_TOLD: "and whether that is more than chance cannot be told",
}
#: How much more two families of a group agree than any other two, so that the group is told of.
_GROUPED = 0.1


def of_labels(planted: bool) -> str:
    """What those who label are called."""
    return "planted truth" if planted else "people"


def answer(agreed: Agreed, together: Any, share_decided: float) -> str:
    """Which families agree with which, then shares of equal words beside chance."""
    alpha, same = together.alpha_judges, together.same
    if math.isnan(same.estimate):
        return "Whether the judges agree cannot be told: no item has comparable verdicts of two judges."
    two = "The two judges" if len(together.judges) == 2 else f"On average two of the {len(together.judges)} judges"
    sided = f" ({share_decided:.0%} of verdicts take a side)" if share_decided < 1 else ""
    first = f"{two} give the same word to {same.estimate:.0%} of {many(alpha.n_items, 'item')}{sided}"
    name, undefined = together.alpha_label.partition(",")[0], math.isnan(alpha.estimate)
    reason = alpha.reason if undefined else f"{name} {alpha.estimate:z.2f}, {alpha.interval()}"
    chance = f"{_AGREED[agreed]} ({reason})"
    return f"{_by_family(together)} {first}, {chance}.".lstrip()


def _by_family(together: Any) -> str:
    """The families that agree with each other and with no other one, or the means within and across; empty without."""
    own = sorted(set(together.families[: len(together.judges)]))
    means = {
        frozenset((two.family_1, two.family_2)): two.mean.estimate
        for two in together.by_family
        if two.family_1 != two.family_2 and {two.family_1, two.family_2} <= set(own)
    }
    if not any(map(math.isnan, means.values())) and (group := family_group(own, means)):
        inside = [mean for two, mean in means.items() if two <= set(group)]
        others = [mean for two, mean in means.items() if not two <= set(group)]
        rest = listed([family for family in own if family not in group], "or")
        return (
            f"Judges of {listed(group)} agree most with each other ({together.label}: {spanned(inside)} "
            f"between two families); where one is of {rest}, it is {spanned(others)}."
        )
    within, across = together.within.estimate, together.across.estimate
    if math.isnan(within + across):
        return ""
    of = named(together.label)
    return f"The mean {of} of two judges is {within:z.2f} within a family, and {across:z.2f} across families."


def family_group(families: Sequence[str], means: Mapping[frozenset[str], float]) -> list[str]:
    """The families of which any two agree by `_GROUPED` more than any two that are not both of them; empty if none."""
    best: list[str] = []
    order = sorted(families, key=lambda one: -sum(mean for two, mean in means.items() if one in two))
    for size in range(2, len(order)):
        group = set(order[:size])
        inside, outside = ([mean for two, mean in means.items() if (two <= group) is into] for into in (True, False))
        if min(inside) >= max(outside) + _GROUPED:
            best = sorted(group)
    return best


def next_step(judges: Sequence[str], families: int, effective: Any) -> str:
    """What to do with so much agreement."""
    if len(judges) < 2:
        return "Ask a second judge of another family (axisjudge judge)."
    if effective is None or effective.measured is None:
        return "Have people label some of these items (axisjudge label): only then is it known who is right."
    number = effective.measured.n_effective
    if not math.isnan(number.ci_low) and number.estimate < len(judges) / 2:
        return (
            f"Do not count {len(judges)} votes as {len(judges)} opinions: as these judges err on the same items, they "
            f"{equal_to(len(judges), number, '.1f')}."
        )
    other = "" if families > 1 else "Add a judge of another family. "
    return f"{other}Read the items on which judges are split first: they are listed below."


def one_judge(judges: Sequence[str], n_items: int) -> str:
    """That one judge cannot agree."""
    who = f"only {judges[0]} judged" if judges else "no judge gave a verdict"
    return f"Whether judges agree cannot be told: {who} ({many(n_items, 'item')}), and it takes two."


def headline(
    question: str, items: str, raters: Sequence[str], n_common: int, coefficients: Mapping[str, NamedEstimate]
) -> str:
    """All coefficients of a question with their intervals."""
    if not coefficients:
        who = f"one rater ({raters[0]})" if raters else "no rater"
        return f"{question}: {items}, {who}: agreement needs a second."
    percent = coefficients.get("percent")
    if all(math.isnan(each.estimate) for each in coefficients.values()):
        return f"{question}: {len(raters)} raters, but no item has comparable verdicts of two."
    values = ", ".join(f"{each.label} {each.worded()}" for each in coefficients.values() if each is not percent)
    agree = "gave numbers to" if percent is None else f"agree on {percent.worded('.0%')} of"
    return f"{question}: {len(raters)} raters {agree} {items} ({n_common:,} with a verdict of every rater); {values}."


def raters_an_item(fewest: int, most: int, n_single: int) -> list[str]:
    """How many raters an item has, where it differs, and how many items have nothing to compare."""
    remarks = [f"an item has {fewest} to {most} raters."] if fewest != most else []
    return [*remarks, *([f"items with a single rating, not compared: {n_single:,}."] if n_single else [])]


def unused(coefficient: NamedEstimate, never: Sequence[str]) -> list[str]:
    """That words which nobody said move a coefficient; nothing where they do not."""
    if not never or not isinstance(coefficient, Agreement) or not coefficient.remarks.unused:
        return []
    moved = f"{coefficient.label} is {coefficient.estimate:z.3f} {coefficient.remarks.unused}"
    return [f"{moved} (never said: {', '.join(never)})."]


def gaps(what: str, counts: Mapping[str, int]) -> list[str]:
    """Who lacks how many ratings, those who lack most first; nothing where nobody does."""
    lacking = sorted(((count, rater) for rater, count in counts.items() if count), key=lambda each: -each[0])
    most = [f"{count:,} of {rater}" for count, rater in lacking[:_NAMED]]
    others = sum(count for count, _ in lacking[_NAMED:])
    rest = [f"{others:,} of {many(len(lacking) - _NAMED, 'other')} together"] if others else []
    return [f"{what}: {listed([*most, *rest])}."] if most else []


NO_WORTH = "{where}: the effective number of judges cannot be given, because {reason}."
UNWEIGHTED = "{where}: agreement is not weighted by confidence, because {reason}."
LOST = "lost verdicts, counted neither as correct nor as incorrect"
NOT_ASKED = "items without a rating"


def undecided(bounds: CaseBounds | None) -> list[str]:
    """What agreement could be had every verdict been decided; nothing where all were."""
    if bounds is None or not bounds.n_undecided:
        return []
    kappa = f", and Cohen's kappa, sampling counted, between {bounds.kappa_low:z.2f} and {bounds.kappa_high:z.2f}"
    return [
        f"a verdict is undecided or lost on {bounds.n_undecided:,} of {many(bounds.n_items, 'item')}; had all been "
        f"decided, agreement would lie between {bounds.percent_worst:.0%} and {bounds.percent_best:.0%}"
        f"{'' if math.isnan(bounds.kappa_high - bounds.kappa_low) else kappa}."
    ]


def left_out(counts: Mapping[str, int]) -> list[str]:
    """Ratings that were not compared."""
    runs, remarks = counts.get("empty_runs"), other_repeats(counts.get("repeats", 0))
    empty = f"Left out: {many(runs or 0, 'run')} without messages, rated by definition and not judged."
    return [*remarks, empty] if runs else remarks


def families(of: Any) -> str:
    """Within against across, with intervals, and whether families in general differ; or why it cannot be said."""
    where, label, within, across = of.where, of.label, of.within, of.across
    if math.isnan(within.estimate) and math.isnan(across.estimate):
        return f"{where}: no mean {named(label)} within families ({within.reason}) nor across ({across.reason})."
    if math.isnan(within.estimate):
        return f"{where}: {within.reason}; across families the mean {named(label)} is {across.worded('.3f')}."
    if math.isnan(across.estimate):
        return f"{where}: {across.reason}; within it the mean {named(label)} is {within.worded('.3f')}."
    difference = replace(of.difference, estimate=apart(within.estimate, across.estimate, ".3f"))
    first = (
        f"On {where}, the mean {named(label)} of two judges is {within.worded('.3f')} within a family and "
        f"{across.worded('.3f')} across: {directed(difference, 'higher within', 'lower within', unit='', spec='.3f')}, "
        f"for these judges ({difference.clusters}; large families have most pairs)."
    )
    p = of.p_families
    deals = f"With families dealt to these judges at random, they agree as much more in {p:.0%} of deals"
    shown = "so that it is shown" if p <= 1 - difference.ci_level else "so that it is not shown"
    return first if math.isnan(p) else f"{first} {deals}, {shown} of families in general."


def with_labels(part: Any) -> str:
    """The lowest and the highest, and people among themselves; empty without labels."""
    of, label, people = part.families, named(part.families.label), part.families.among_people
    known = [(name, mean) for name, mean in of.with_labels.items() if not math.isnan(mean.estimate)]
    if not known:
        return f"No judge has a {label} with labels: there are none, or no items in common."
    who = of_labels(of.panel.planted)
    (low, least), (high, most) = (pick(known, key=lambda each: each[1].estimate) for pick in (min, max))
    among = "" if math.isnan(people.estimate) else f"; people among themselves {people.worded()}"
    if low == high:
        return f"{sentence_case(label)} of {low} with {who} is {least.worded()}{among}."
    ends = f"from {least.worded()} ({low}) to {most.worded()} ({high})"
    return f"{sentence_case(label)} with {who} was observed {ends}{among}."


def alpha(of: Any) -> str:
    """Krippendorff's alpha of all judges together, and of people where there are two or more."""
    judges, people = of.alpha_judges, of.alpha_people
    among = "" if math.isnan(people.estimate) else f"; of people among themselves {people.worded('.3f')}"
    return f"{of.where}: {named(of.alpha_label)} of all judges together is {judges.worded('.3f')}{among}."


def effective_in_full(of: Any) -> str:
    """Effective judges with interval and band, and the majority beside the best judge, each with its base."""
    if of.measured is None:
        return NO_WORTH.format(where=of.where, reason=of.reason)
    where, judges, measured, number = of.where, of.judges, of.measured, of.measured.n_effective
    if math.isnan(number.ci_low):
        first = f"{where}: how many independent judges the {len(judges)} are worth cannot be told: {number.reason}."
    else:
        band = [(error, value) for error, value, _ in measured.by_label_error if error and not math.isnan(value)]
        band = [] if of.panel.planted else band  # planted truth has no error
        with_error = listed([f"{value:z.2f} if {error:z.0%}" for error, value in band] or [""])
        with_error = f"{with_error} of the labels are wrong" if band else ""
        first = (
            f"{where}: {len(judges)} judges {equal_to(len(judges), number)}, from "
            f"{many(number.n_items, 'item')} in {number.clusters}{'. It would be ' + with_error if with_error else ''}."
        )
    if not measured.n_majority:
        return f"{first} No labelled item has a verdict, so that there is no majority."
    best = int(np.nan_to_num(measured.accuracy, nan=-1.0).argmax())
    ties = f"{many(measured.n_tied, 'tie')}, shared among the words that tie" if measured.n_tied else "no ties"
    return (
        f"{first} Their majority is right on {measured.majority:.1%} of {many(measured.n_majority, 'labelled item')} "
        f"that any of them judged ({ties}). The best single judge is right on {measured.best_single:.1%} "
        f"({judges[best]}, {many(measured.n_answered[best], 'item')}); picked as the highest of {len(judges)}, this "
        "is too high on average."
    )


def weighted(where: str, normalised: str, product: CaseWeighted, minimum: CaseWeighted) -> str:
    """Whether weighting by confidence changes the panel's agreement, and whether the minimum says the same."""
    if math.isnan(product.estimate):
        return f"{where}: no case-weighted alpha of the panel, because {product.reason}."
    change = f"from {product.unweighted:z.2f} to {product.weighted:z.2f}"
    if math.isnan(product.ci_low) and product.estimate == 0:
        return (
            f"{where}: weighting cases by confidence changes nothing (alpha {product.unweighted:z.2f}): "
            f"{product.reason}."
        )
    by_product, by_minimum = (
        directed(
            replace(each, estimate=apart(each.weighted, each.unweighted, ".2f")), "higher", "lower", unit="", spec=".2f"
        )
        for each in (product, minimum)
    )
    return (
        f"{where}: with cases weighted by the judges' confidence ({normalised}) alpha of the panel goes {change}: "
        f"{by_product} with products of confidences, {by_minimum} with the smaller one. With these weights "
        f"{many(product.n_items, 'item')} count as much as {product.kish_n:.0f} of equal weight; "
        f"{p_words(product.p_value)} for so large a change if confidence said nothing beyond the verdict."
    )


def steps(scores: Any) -> str:
    """The range of observed distances from people: kappa and step accuracy at both ends."""
    known = [each for each in scores.judges if not math.isnan(each.kappa.estimate)]
    where = f"On {many(scores.n_steps, 'step')} of {many(scores.n_runs, 'run')}"
    if not known:
        why = "; ".join(dict.fromkeys(each.kappa.reason for each in scores.judges)) or "no judge rated them"
        return f"{where} no judge has a kappa with people: {why}."
    low, high = (pick(known, key=lambda each: each.kappa.estimate) for pick in (min, max))
    kappas, accuracies = ([getattr(end, of).worded(".3f") for end in (low, high)] for of in ("kappa", "step_accuracy"))
    without = [each.judge for each in scores.judges if math.isnan(each.kappa.estimate)]
    rest = f" Without a kappa: {listed(without)}." if without else ""
    where = f"{where} in {high.kappa.clusters}"
    if low is high:
        figures = f"has a kappa with people, unweighted, of {kappas[0]}; step accuracy {accuracies[0]}"
        return f"{where}, {low.judge} {figures}.{rest}"
    return (
        f"{where}, {low.judge} has the lowest observed kappa with people, unweighted, {kappas[0]}, and {high.judge} "
        f"the highest, {kappas[1]}. Their step accuracies are {accuracies[0]} and {accuracies[1]}.{rest}"
    )


def published(of: Any) -> str:
    """What few tasks allow: how a count reads were its items independent, and as so many tasks."""
    best = max(of.axes, key=lambda one: one.agree)
    unshared = [one.axis for one in of.axes if not one.both_incorrect]
    none = f" On {listed(unshared)} no failure is shared by both judges." if unshared else ""
    return (
        f"The interval of the published {best.agree} of {best.n} is {spanned(best.if_independent)} if its items were "
        f"independent. They come from {of.n_tasks} tasks, are worth about {of.effective_items:.1f} independent items "
        f"at a correlation of {of.icc} within a task, and then the interval is {spanned(best.if_clustered)}.{none}"
    )


def reversals(counts: Sequence[tuple[str, Reversal]]) -> str:
    """On how many verdicts the agreement beyond chance hangs; empty where there is none."""
    if not counts:
        return ""
    lost = "agreement beyond chance would no longer be shown"
    known = [(where, overturned(reversal)) for where, reversal in counts if reversal.changes is not None]
    lines = [f"On {where}, {lost} had {changes} been different." for where, changes in known]
    if len(known) > 1:
        each = listed([f"{changes} on {where}" for where, changes in known])
        lines = [f"{sentence_case(lost)} on an axis had this many been different there: {each}."]
    unmoved = [where for where, reversal in counts if reversal.changes is None]
    return " ".join([*lines, *([f"On {listed(unmoved)} no change that was tried would undo it."] if unmoved else [])])
