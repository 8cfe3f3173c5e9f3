"""All that is said of panels in words; codes and numbers decide."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from axisjudge.stats.agreement.effective import EffectiveJudges
from axisjudge.stats.estimate import plural
from axisjudge.stats.panel_models import accuracies
from axisjudge.stats.panel_nested import REFERENCE
from axisjudge.studies._shared.words import directed, equal_to, in_points, listed, many
from axisjudge.studies.panels.trust import Frontier, PointKind, Trust, TrustVerdict
from axisjudge.studies.panels.voted import DrawScheme, FittedPanel, Voted

#: Ways in words.
NAMES = {
    "majority": "majority",
    "families_equal": "families counted equally",
    "dawid_skene": "Dawid and Skene, without labels",
    "best_single": "best single judge",
    "best_majority": "majority of the best",
    "logistic": "weighted by labels (logistic)",
    "ordered": "weighted by labels, words in order",
    "ridge": "stacked by labels (ridge)",
}

#: A kappa that is lower by more than this is said beside a gain in accuracy.
LOWER_KAPPA = 0.02
#: A way that is right more often than the chosen one by this is named beside it.
LEAST_MORE = 0.005

_NO_DRAW = {
    DrawScheme.UNKNOWN: "the labels do not say how they were drawn (--sampling random, if they were drawn at random)",
    DrawScheme.UNRECORDED: "labels were drawn by a key or a verdict, and with which probabilities was not recorded",
    DrawScheme.SEVERAL: "labels were drawn in several ways or state two probabilities, which cannot be put together",
    DrawScheme.LOOKED_AT: "items were labelled because judges disagree on them, and no rate follows from that",
    DrawScheme.PARTIAL: "by their probabilities labels stand for fewer items than there are: label the rest of the "
    "draw",
    DrawScheme.BY_LABEL: "labels were drawn by what people say, and no error of judges follows from that",
}


def gain(of_ways: Any) -> str:
    """The chosen way against the best single judge, on tasks that neither was chosen on."""
    votes, chosen, ways = of_ways.votes, of_ways.panel.way, of_ways.ways
    if not votes.n_voted:
        items = many(len(votes.items), "item")
        return f"No judge gave a verdict on any of {items}: all were lost, and there is nothing to put together."
    if not ways:
        few = "no item has a label" if not votes.n_labelled else "too few tasks have labels"
        return (
            f"{NAMES[chosen].capitalize()}: {few}, so nothing shows whether this is better than any judge alone, "
            "and its probabilities are shares of votes."
        )
    mine, best = ways[chosen], ways[REFERENCE]
    of, other = f"of {votes.n_labelled:,} labelled items", f"of other {plural(votes.cluster_unit)} than"
    if chosen == REFERENCE:
        return f"The best single judge is right on {best.accuracy.estimate:.1%} {of} {other} it was made from."
    panel, points = f"the panel {NAMES[chosen]}", in_points(mine.gain)
    first = int(np.nanargmax(accuracies(votes.votes)))
    alone, silent = votes.judges[first], int(np.isnan(votes.words[votes.votes.labelled, first]).sum())
    single = "than the best single judge"
    if not math.isnan(points.ci_low) and points.ci_low > 0:
        verdict, who = f"T{panel[1:]} is shown to be better {single}", "it"
    elif not math.isnan(points.ci_high) and points.ci_high < 0:
        verdict, who = f"T{panel[1:]} is shown to be worse {single}", "it"
    elif better := [way for way, each in ways.items() if each.gain.ci_low > 0]:
        others = f"{listed([NAMES[way] for way in better])} would be, were it the only one of {len(ways) - 1} looked at"
        verdict, who = f"T{panel[1:]} is not shown to be better {single}; {others}", panel
    else:
        verdict, who = f"No panel is shown to be better {single}", panel
    common = f"; panels are tried on items {other} they were made from"
    if mine.gain.estimate > 0 and mine.kappa.estimate < best.kappa.estimate - LOWER_KAPPA:
        common += "; the panel's kappa is lower, as part of what it gains is to say the commoner words more often"
    if plain := chosen != "majority" and "majority" in ways and ways["majority"].gain.ci_high < 0:
        common += f"; the plain majority is shown to be worse: {directed(in_points(ways['majority'].gain), spec='.1f')}"
    top = max(ways, key=lambda way: ways[way].accuracy.estimate)
    highest = ""
    if ways[top].accuracy.estimate > mine.accuracy.estimate + LEAST_MORE:
        highest = (
            f" Of all ways {NAMES[top]} is right most often here, on {ways[top].accuracy.estimate:.1%} (way {top})."
        )
    right = f"{who} is right on {mine.accuracy.estimate:.1%} {of}, {directed(points, spec='.1f')}"
    if plain:
        right += f"; the plain majority on {ways['majority'].accuracy.estimate:.1%}"
    judge = f"That judge ({alone} on all labels) is right on {best.accuracy.estimate:.1%}"
    lost = f", {many(silent, 'item')} without a verdict of it counted as wrong" if silent else ""
    return f"{verdict}: {right}. {judge}{lost}{common}.{highest}"


def read(votes: Voted, panel: FittedPanel) -> str:
    """What was put together."""
    families = Counter(panel.families)
    of_families = "1 family" if len(families) == 1 else f"{len(families)} families"
    some, n = "" if votes.n_voted == len(votes.items) else f"{votes.n_voted:,} of ", votes.n_confident
    them = "The confidences that one judge gave are" if n == 1 else f"Confidences of {n} judges are"
    unread = f" {them} not used: a panel takes words alone (one judge by its own confidence: panel trust --judge)."
    return (
        f"{many(len(panel.judges), 'judge')} of {of_families} voted on "
        f"{some}{many(len(votes.items), 'item')}; "
        f"the panel asks {len(panel.asked)} of these judges.{unread if n else ''}"
    )


def calibrated(of: Any) -> str:
    """How far the panel's probabilities can be taken at their word."""
    if (curve := of.curve) is None:
        return "No label shows how far the panel's probabilities can be taken at their word."
    inside = "no more than" if curve.ece <= curve.ece_if_calibrated else "against"
    return (
        f"On tasks left out the panel's probabilities have a Brier score of {curve.brier:.3f} "
        f"({curve.miscalibration:.3f} of it miscalibration) and a calibration error of {curve.ece:.3f}, {inside} the "
        f"{curve.ece_if_calibrated:.3f} that a perfectly calibrated panel would show on as many items."
    )


def members(panel: FittedPanel, effective: EffectiveJudges | None) -> str:
    """How many independent judges the panel is worth, and whether it is all one family."""
    asked = panel.asked_families
    one = f" All of them are of one family ({asked[0]}), whose errors they may share." if len(set(asked)) == 1 else ""
    if len(asked) == 1:
        return f"The panel asks one judge, {panel.asked[0]}."
    if effective is None or math.isnan(effective.n_effective.estimate):
        return f"The panel asks {many(len(asked), 'judge')}.{one}"
    number = effective.n_effective
    return f"The {len(asked)} judges that it asks {equal_to(len(asked), number, '.1f')}.{one}"


def stands(trust: Trust) -> str:
    """What may stand without a person at one risk, or why nothing may."""
    off = f" (more than {many(trust.within, 'grade')} off)" if trust.within else ""
    sure = f"{100 * trust.alone.confidence_level:g}% sure"
    if trust.verdict is TrustVerdict.GRANTED and trust.alone.error is not None:
        error = trust.alone.error
        return (
            f"{trust.n_kept:,} of {trust.n_items:,} verdicts ({trust.n_kept / trust.n_items:.0%}) may stand without a "
            f"person, those with a confidence of {trust.alone.threshold:.3f} or more: {error.estimate:.1%} of the "
            f"{error.n_items:,} labelled among them are wrong{off}, at most {error.ci_high:.1%} ({sure}), where "
            f"{100 * trust.alone.risk:g}% are allowed; "
            f"{f'the other {trust.n_rest:,} are left' if trust.n_rest else 'none is left'} to people."
        )
    terms = f"an error{off} of at most {100 * trust.alone.risk:g}% ({sure})"
    return f"No verdict of {trust.subject} may stand without a person at {terms}: {why(trust)}."


def stands_in_short(trust: Trust) -> str:
    """How many verdicts may stand and how many of them are wrong at most; empty where none may."""
    if not trust.granted or trust.alone.error is None:
        return ""
    sure = f"{100 * trust.alone.confidence_level:g}% sure"
    wrong = f"at most {trust.alone.error.ci_high:.1%} of them are wrong, {sure}"
    who = "the panel" if trust.subject.startswith("panel:") else trust.subject
    if trust.alone.error.n_items == trust.n_kept:
        kept = f"{trust.n_kept / trust.n_items:.0%}"
        return f"On new items like these let the surest {kept} of {who}'s verdicts stand ({wrong})"
    return f"Let {trust.n_kept:,} of {trust.n_items:,} verdicts of {who} stand, the surest ({wrong})"


def stands_in_full(trust: Trust) -> str:
    """The same with how many labels more would let more stand, and how far the bound holds."""
    nearly = (
        " As the panel was fitted on these tasks, each probability is that of a fit without the item's own task, and "
        "the bound holds approximately."
    )
    unseen = ""
    if trust.unlabelled and trust.granted:
        of = listed(trust.unlabelled, "or")
        unseen = f" Nothing of {of} stands: no label there, and the bound says nothing of it."
    return f"{stands(trust)}{unseen}{_more(trust)}{nearly if trust.cross_fitted and trust.granted else ''}"


def why(trust: Trust) -> str:
    """Why nothing may stand."""
    if trust.verdict is TrustVerdict.NO_LABELS:
        return "no item has a verdict and a label"
    if trust.verdict is TrustVerdict.DRAW:
        return _NO_DRAW[trust.draw]
    if trust.verdict is TrustVerdict.APART:
        return (
            f"its labels are said to be drawn at random, but labelled items differ from the others in "
            f"{listed(trust.apart)}; draw with known probabilities (label next), or label the rest"
        )
    if trust.verdict is TrustVerdict.UNLABELLED:
        return f"no label is of {listed(trust.unlabelled, 'or')}; label some of them"
    if trust.verdict is TrustVerdict.TUNED:
        return (
            f"all {trust.n_tuned:,} labels are of tasks that it was fitted on; label other tasks, or take cross-fitted "
            "probabilities (--cross-fitted)"
        )
    return trust.alone.refusal


def _more(trust: Trust) -> str:
    """How many labels more would carry the threshold at which the tests ended."""
    if not trust.alone.tests or trust.alone.tests[-1].error.ci_high <= trust.alone.risk:
        return ""
    last = trust.alone.tests[-1]
    if trust.alone.more_labels is None:
        return (
            f" The next threshold, {last.threshold:.3f}, has an error of {last.error.estimate:.1%}: more labels alone "
            "would not lower it."
        )
    return (
        f" With about {many(trust.alone.more_labels, 'more label')} of such items {last.share:.0%} of verdicts could "
        f"stand (confidence {last.threshold:.3f} or more), if the error there stays at {last.error.estimate:.1%}."
    )


def worst(trust: Trust) -> str:
    """The word or agent with the highest error among the verdicts that stand."""
    stratum = trust.worst
    if not trust.granted:
        return "No verdict stands, of no word and no agent."
    if stratum is None:
        return "Among verdicts that stand, no word and no agent has labels enough to be looked at alone."
    beyond = ""
    if stratum.error.estimate > trust.alone.risk:
        beyond = " That is more than the risk, which holds for all verdicts that stand together and not for each part."
    which = {"word": "that say", "agent": "on agent"}[stratum.by]
    return (
        f"Of the verdicts that stand at a risk of {100 * trust.alone.risk:g}%, those {which} {stratum.name} err most: "
        f"{stratum.error.estimate:.1%} of {stratum.error.n_items:,} labelled ones are wrong "
        f"({stratum.error.interval('.0%')}).{beyond}"
    )


def spending(of: Any) -> str:
    """What money buys, and the cascade with a guarantee."""
    frontier: Frontier = of.frontier
    if not frontier.points:
        return "No judge has labelled verdicts and a price, so error cannot be set against price."
    unpriced = f" Without a known price, and so in no point: {listed(frontier.unpriced)}." if frontier.unpriced else ""
    first, last = frontier.best[0], frontier.best[-1]
    ends = [
        f"kappa {each.kappa.estimate:z.2f}" if frontier.by_kappa else f"error {each.error.estimate:z.1%}"
        for each in (first, last)
    ]
    where = f"{_point(first.kind, first.judges)} ({_dollars(first.price)} an item, {ends[0]})"
    if len(frontier.best) > 1:
        where = f"from {where} to {_point(last.kind, last.judges)} ({_dollars(last.price)}, {ends[1]})"
    by = "kappa" if frontier.by_kappa else "error"
    are = "is" if len(frontier.best) == 1 else "are"
    some = (
        f"Of {len(frontier.points):,} choices {len(frontier.best)} {are} beaten by no other in price and {by}: {where}."
    )
    span = some if len(frontier.points) > 1 else f"The only choice with a price is {where}."
    return f"{span}{_cascade(frontier)}{unpriced}"


def _cascade(frontier: Frontier) -> str:
    held = frontier.guaranteed
    if held is None:
        return ""
    names = " then ".join(frontier.ladder)
    if held.alone.refusal:
        return f" For the cascade {names} no threshold holds an error of {100 * held.alone.risk:g}%."
    return (
        f" The cascade {names} decides {held.alone.share:.0%} of the items at an error of at most "
        f"{100 * held.alone.risk:g}% for {_dollars(held.price)} an item, and leaves the rest to people."
    )


def _point(kind: PointKind, judges: tuple[str, ...]) -> str:
    if kind in (PointKind.SINGLE, PointKind.PAIR):
        return " with ".join(judges)
    return f"{kind.value} of {len(judges)}"


def _dollars(price: float) -> str:
    return "$0" if price == 0 else f"${price:.4f}"
