"""The words of evidence: judges asked again, a published repeat, and judges of an agent's own family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

from axisjudge.stats.estimate import Estimate
from axisjudge.stats.repeats import SelfAgreement, VarianceComponents
from axisjudge.studies._shared.words import directed, in_points, listed, many


class NoRepeat(StrEnum):
    """Why a judge cannot be compared with itself."""

    NONE = ""
    ONE_REPEAT = "asked once, so that how far a judge agrees with itself cannot be seen"


class NoBands(StrEnum):
    """Why flips cannot be split by confidence."""

    NONE = ""
    ONE_REPEAT = "asked once, so that how far a judge agrees with itself cannot be seen"
    EQUAL_CONFIDENCES = "its confidences are too much alike to be split at their quantiles"
    NO_CONFIDENCES = "it gave no confidences"


ASKED_ONCE = f"No self-agreement of {{judges}}: {NoRepeat.ONE_REPEAT}."
BASIS = "{where}: {items} that {labels} call incorrect."
NO_VERDICT = "No judge gave a verdict, so there is no repeat."


def asked_again(judge: str, n_repeats: int, repeats: Mapping[str, SelfAgreement]) -> str:
    """One judge's agreement with itself: the range over questions."""
    known = {name: each.agreement for name, each in repeats.items() if not math.isnan(each.agreement.estimate)}
    asked = f"{judge}, asked {many(n_repeats, 'time')},"
    if not known:
        return f"{asked} gave no run two verdicts, so that its agreement with itself is not known."
    least, most = (pick(known.items(), key=lambda each: each[1].estimate) for pick in (min, max))
    clusters = max(known.values(), key=lambda agreement: agreement.n_clusters).clusters
    if least[1].estimate == most[1].estimate:
        every = f" on each of {many(len(known), 'question')}" if len(known) > 1 else f" on {least[0]}"
        return f"{asked} repeats its verdict in {_share(least[1])} of pairs of calls{every}; {clusters}."
    return (
        f"{asked} repeats its verdict least often on {least[0]}, in {_share(least[1])} of pairs of calls, and most "
        f"often on {most[0]}, in {_share(most[1])}; {clusters}. Questions are not tested against each other."
    )


def _share(rate: Estimate) -> str:
    return f"{rate.estimate:.0%} ({rate.interval('.0%')})"


def flips_by_sureness(judge: str, unsure: tuple[int, int], sure: tuple[int, int]) -> str:
    """Flips of items in a judge's least sure and its surest band: how many of how many."""
    return (
        f"{judge} changed its verdict on {unsure[0] or 'none'} of {many(unsure[1], 'item')} where it is least sure and "
        f"on {sure[0] or 'none'} of {many(sure[1], 'item')} where it is surest."
    )


def variance(question: str, judges: Sequence[str], components: VarianceComponents) -> str:
    """Where the variance of verdicts comes from."""
    n_repeats = components.n_repeats * components.n_occasions
    counted = ((components.n_items, "run"), (components.n_judges, "judge"), (n_repeats, "repeat"))
    sample = ", ".join(many(count, noun) for count, noun in counted)
    if math.isnan(components.item):
        return f"{question}: no variance components, because {components.reason}."
    biases = listed([f"{bias:+.3f} ({judge})" for judge, bias in zip(judges, components.bias, strict=True)])
    of_tasks = not math.isnan(components.task)
    parts = {
        "lies between tasks": components.task,
        "between items of a task" if of_tasks else "lies between items": components.item,
        "between judges": components.judge,
        "in what judges differ on from item to item": components.item_judge,
        "between occasions": components.occasion,
        "in what occasions differ on from item to item": components.item_occasion,
        "between repeats": components.error,
    }
    known = {name: each for name, each in parts.items() if not math.isnan(each)}
    total = sum(known.values()) or 1.0
    shares = listed([f"{each / total:.0%} {name}" for name, each in known.items()])
    lie = "the shares that they call incorrect differ from their mean by"
    few = many(components.n_judges, "judge")
    fixed = f" With {few} the variance between judges cannot be estimated; {lie} {biases}."
    left = f"; {many(components.n_missing, 'run')} that lack a verdict left out" if components.n_missing else ""
    by_judge = fixed if math.isnan(components.judge) else ""
    when = f" Repeats of {many(components.n_occasions, 'occasion')} do not show how far other days differ."
    days = when if math.isnan(components.occasion) else ""
    return f"{question}: of the variance of verdicts {shares} ({sample}{left}).{by_judge}{days}"


def published(judge: str, axis: str, simulation: int, calls: Sequence[tuple[str, float]], flips: Estimate) -> str:
    """What one item asked again shows, and what it does not."""
    said = ", then ".join(f"{verdict} at confidence {confidence:.2f}" for verdict, confidence in calls)
    least = min(confidence for _, confidence in calls)
    shows = (
        f"It shows that this judge can change its verdict while its confidence stays at {least:.2f} or above"
        if flips.estimate
        else "It shows one verdict that did not change"
    )
    return (
        f"{judge} on {axis} of simulation {simulation} said {said}. {shows}. It does not show how often, nor which "
        f"of the calls is right: even one item drawn at random would allow a flip rate of {flips.interval('.1%')}, and "
        "this one was picked for publication."
    )


#: The other judges are the comparison, and one of them may prefer its own.
RELATIVE = "Figures are relative to the other judges: one family's preference moves the figures of the others."


def no_agent(runs: int) -> list[str]:
    """Runs that cannot enter; nothing where there are none."""
    return [f"Left out: {many(runs, 'run')} without an agent or an agent family."] if runs else []


def leniency_alone(where: str, refusal: str, labelled: bool) -> str:
    """Why there is no preference, and what the table is."""
    of = "failed items that a judge family calls correct" if labelled else "verdicts that say correct"
    table = f"The table gives the share of {of}, and no p value."
    return f"{where}: only the bare shares can be shown ({refusal}). {table}"


def preference(family: str, lead: Estimate) -> str:
    """How many more failures of its own family's agents a family of judges misses."""
    if math.isnan(lead.estimate):
        return f"{family}: no self-preference, because {lead.reason}."
    return (
        f"Of failures of {family} agents beside those of other agents, {family} judges miss "
        f"{directed(in_points(lead))} than other judges do ({'; '.join([lead.clusters, *lead.notes])})."
    )


def answer(overlap: str, again: Mapping[str, SelfAgreement]) -> str:
    """Shared evidence over all pairs, the range of self-agreement, and what neither shows."""
    known = {name: each.agreement for name, each in again.items() if not math.isnan(each.agreement.estimate)}
    last = "Neither common steps nor repeated verdicts show that a verdict is right."
    if not known:
        return f"{overlap} How far a judge agrees with itself cannot be told: none gave two verdicts on one run. {last}"
    least, most = (pick(known.values(), key=lambda agreement: agreement.estimate) for pick in (min, max))
    sample = f"{many(least.n_items, 'item')} in {least.clusters}"
    if len(known) == 1 or least.estimate == most.estimate:
        which = f"{next(iter(known))} repeats its verdict" if len(known) == 1 else "judges repeat their verdicts"
        return f"{overlap} Asked again, {which} in {least.worded('.0%')} of pairs of calls ({sample}). {last}"
    alike = len({(each.n_items, each.n_clusters) for each in known.values()}) == 1
    return (
        f"{overlap} Asked again, judges repeat their verdicts in {least.worded('.0%')} to {most.worded('.0%')} of "
        f"pairs of calls, depending on judge and question ({sample}{'' if alike else ' at the lowest'}). {last}"
    )
