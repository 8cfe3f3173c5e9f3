"""Numbers and names as they stand in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from axisjudge.results import written
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.comparisons.ranking import Reversal
from axisjudge.stats.correction import CorrectedRate
from axisjudge.stats.escalation import Triage
from axisjudge.stats.estimate import Estimate, no_interval
from axisjudge.stats.estimate import many as many
from axisjudge.stats.estimate import named as named
from axisjudge.stats.estimate import plural as plural
from axisjudge.stats.proportions import FEWEST_CLUSTERS
from axisjudge.verdict import AXES

#: Letters that names in a row take up at most.
LONGEST_ROW = 300
#: Names of those who share first place; more are counted.
_NAMED_FIRST = 6

#: What sentences write in words: axes and coefficients as code names them, but in code and commands.
_SPOKEN = {axis: axis.replace("_", " ") for axis in AXES} | {
    each.name: named(each.label) for each in COEFFICIENTS.values()
}
_CODED = re.compile(rf"`[^`]*`|(?<![\w=/.:\"'-])(?<!-axis )(?:{'|'.join(_SPOKEN)})(?![\w=/\"'-])(?!\.\w)")


def spoken(text: str) -> str:
    """Prose with axes and coefficients by their names in words."""

    def word(match: re.Match[str]) -> str:
        name, before = _SPOKEN.get(match[0], match[0]), text[max(0, match.start() - 2) : match.start()]
        return sentence_case(name) if before in ("", ". ", "? ") else name

    return _CODED.sub(word, text)


def equal_to(n_judges: int, effective: Estimate, spec: str = ".2f") -> str:
    """What judges are worth; of those who err together less often than by chance no number beyond theirs is named."""
    if effective.estimate > n_judges:
        return f"are worth no less than {n_judges} independent ones, as they rarely err on the same items"
    return f"are worth {effective.worded(spec)} independent ones"


def judge_words(judge: str) -> str:
    """What sentences call a judge: the rules, in whatever version and with whatever options, are no model."""
    return "the rules (no model)" if re.fullmatch(r"rules(-\d+|,.*)?", judge) else judge


def agreeing(count: int, noun: str, one: str, several: str) -> str:
    """A count with its noun and a verb that agrees: ``1 run is``, ``2 runs are``."""
    return f"{many(count, noun)} {one if count == 1 else several}"


def sentence_case(text: str) -> str:
    """The text with its first letter large; names further on stay as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def share(rate: Estimate) -> str:
    """Share and interval: ``71%, 49% to 87%``; where there is none, why."""
    return f"not known: {rate.reason}" if math.isnan(rate.estimate) else f"{rate.estimate:.0%}, {rate.interval('.0%')}"


def if_twice(rate: CorrectedRate) -> str:
    """What a corrected rate would be, had labels been drawn with the outcome; empty where they were not at random."""
    would = f" Had what fails been labelled twice as often as the rest, it would be {rate.if_twice:.0%}."
    return "" if math.isnan(rate.if_twice) else would


def directed(
    difference: Estimate, more: str = "more", less: str = "less", *, unit: str = "point", spec: str = ".0f"
) -> str:
    """A difference by its direction: ``5 points more (2 to 8)``, ``1 point less (4 less to 2 more)``, or why unknown.

    An interval on one side of zero needs no direction of its own; one that holds zero has one at either end.
    """
    if math.isnan(difference.estimate):
        return f"not known ({difference.reason})"
    size = f"{abs(difference.estimate):{spec}}"
    if float(size.replace(",", "")) == 0:
        head = f"neither {more} nor {less}"
    else:
        of = f" {unit if size == '1' else plural(unit)}" if unit else ""
        head = f"{size}{of} {more if difference.estimate > 0 else less}"
    low, high = difference.ci_low, difference.ci_high
    if math.isnan(low):
        return f"{head} ({no_interval(difference.reason)})"
    ends = [_end(bound, spec) for bound in (low, high)]
    if low * high > 0:
        first, second = ends if low > 0 else reversed(ends)
    else:
        ways = zip((low, high), ends, (less, more), strict=True)
        first, second = (f"{end} {way}" if bound else end for bound, end, way in ways)
    return f"{head} ({first} to {second})"


def _end(bound: float, spec: str) -> str:
    """The size of an interval's end; where it would be rounded to zero, which it is not, what it is below."""
    end = f"{abs(bound):{spec}}"
    return f"under {end[:-1]}1" if bound and float(end.replace(",", "")) == 0 else end


def apart(one: float, other: float, spec: str) -> float:
    """The first number less the second, of what is printed of them; in points where the spec is of per cent."""
    first, second = (float(f"{each:{spec}}".replace(",", "").rstrip("%")) for each in (one, other))
    return first - second


def in_points(difference: Estimate) -> Estimate:
    """A difference of shares in percentage points."""
    low, high = 100 * difference.ci_low, 100 * difference.ci_high
    return replace(difference, estimate=100 * difference.estimate, ci_low=low, ci_high=high)


def briefly(estimate: Estimate, spec: str = ".2f") -> str:
    """Value and interval without the reason where either is missing: `reasons` says it once for several."""
    return "undefined" if math.isnan(estimate.estimate) else in_cell(estimate, spec)


def reasons(*estimates: Estimate) -> str:
    """Why values or intervals are missing, each reason once, in brackets; empty where none is missing."""
    missing = dict.fromkeys(one.reason for one in estimates if math.isnan(one.ci_low) and one.reason)
    return f" (no value or no interval: {'; '.join(missing)})" if missing else ""


def by_text(texts: Iterable[tuple[str, str]]) -> list[str]:
    """``a and b: text`` for names of which the same is to be said, names with nothing to be said left out."""
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text, []).append(name)
    return [f"{listed(of)}: {text}" for text, of in names.items() if text]


def in_cell(estimate: Estimate, spec: str = ".2f") -> str:
    """Value and interval as a cell of a table holds them; a dash where there is neither, and no reasons."""
    if math.isnan(estimate.estimate):
        return "–" if math.isnan(estimate.ci_low) else estimate.interval(spec)
    return written(estimate.estimate, spec) if math.isnan(estimate.ci_low) else estimate.worded(spec)


def counted(count: int, rate: Estimate) -> str:
    """Count, share and interval: ``17 of 24 runs (71%, 49% to 87%)``."""
    return f"{count} of {many(rate.n_items, 'run')} ({share(rate)})"


def listed(names: Sequence[str], last: str = "and", most: int | None = None) -> str:
    """Names in a row: ``a, b and c``; of more than `most`, or than fit, the first ones, ``a, b and 7 more``."""
    if most is not None and len(names) > (most := fitting(names, most)):
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def fitting(names: Sequence[str], most: int) -> int:
    """How many of these names stand in a row: `most`, and fewer, two at least, where they would fill a paragraph."""
    return min(most, max(2, sum(end <= LONGEST_ROW for end in accumulate(len(name) + 2 for name in names))))


def p_words(p: float) -> str:
    """A p value; permutations do not resolve much below .001."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def overturned(reversal: Reversal) -> str:
    """How many, given otherwise, overturn it: ``3 verdicts``, ``the labels of 2 items or fewer``, or none tried."""
    if reversal.changes is None:
        return "none of those tried"
    of_labels = f"the labels of {many(reversal.changes, 'item')}"
    changes = of_labels if reversal.what == "label" else many(reversal.changes, reversal.what)
    return f"{changes}{'' if reversal.exact else ' or fewer'}"


NO_VERDICT_OF_A_JUDGE = "No judge gave a verdict on an axis of a whole run here, so there is no evidence to compare."
NOTHING_CITED = "No judge cites a step, so there is no evidence to compare."
NO_TRIAGE = "{where}: no triage by confidence, because {reason}."


def cited_validity(judge: str, counts: tuple[int, int], steps: tuple[int, int], validity: Estimate) -> str:
    """In how many of its verdicts (`counts`) a judge cites steps, and how many of the `steps` exist."""
    citing, verdicts = counts
    existing, cited = steps
    return (
        f"{judge} cites steps in {citing:,} of {many(verdicts, 'verdict')}; {existing:,} of {cited:,} cited steps "
        f"exist ({share(validity)}; {validity.clusters})."
    )


def cited_overlap(of: Any) -> str:
    """Overlap over all pairs of judges and questions, beside chance, or why that is not known."""
    cited = [pair.cited for pair in of.pairs if pair.cited.n_both]
    if not cited:
        return "No run has citations of two judges on one question, so there is no overlap."
    n = len(cited)
    spread = "The mean overlap of cited steps (cited by both judges, of those that either cites)"
    where = f"over {many(n, 'pair')} of judges on {'one' if n == 1 else 'a'} question"
    if of.refusal:
        figures = spanned([pair.overlap.estimate for pair in cited])
        return f"{spread} is {figures} {where}; how much of it is chance is not known: {of.refusal}."
    above = sum(pair.excess.ci_low > 0 for pair in cited)
    excess = [pair.excess.estimate for pair in cited]
    by = f"exceeds chance within the run by {spanned(excess)}"
    if min(excess) <= 0:
        by = f"differs from that by chance within the run by {spanned(excess, '+.2f')}"
    shown = f"in {above or 'none'} of them it" if n > 1 else "it" if above else "it is not shown that it"
    lies = "lies" if n == 1 and not above else "is shown to lie"
    return f"{spread} {by}, {where}; {shown} {lies} above chance."


def other_evidence(same: int, apart: int, where: Sequence[str]) -> str:
    """Of equal verdicts, how many share no cited step; `where` names questions unless it is on all of them."""
    if not apart:
        return f"Of {many(same, 'pair')} of equal verdicts, every one in which both cite steps has a step in common."
    start = (
        f"Of {many(same, 'pair')} of equal verdicts, {apart:,} {'cites' if apart == 1 else 'cite'} no step in common"
    )
    return f"{start}, all on {listed(where)}." if where else f"{start}."


def overlap_by_version(question: str, means: Mapping[str | None, float], n_pairs: int) -> str:
    """The mean overlap of the same pairs of judges under each version of a rubric."""
    whose = "one pair" if n_pairs == 1 else f"the same {n_pairs} pairs"
    versions = listed([f"{mean:z.2f} under {version}" for version, mean in means.items()])
    overlap = f"the mean overlap of the steps that {whose} of judges cite (cited by both, of those that either cites)"
    return f"{question}: {overlap} is {versions}; the versions may have been asked about different runs."


def steps_of_one_repeat(n_left_out: int) -> list[str]:
    """That citations are those of one repeat; nothing where there is no other."""
    if not n_left_out:
        return []
    are = "is" if n_left_out == 1 else "are"
    return [f"Only the steps cited in one repeat count; {many(n_left_out, 'rating')} of other repeats {are} left out."]


def other_repeats(n_left_out: int) -> list[str]:
    """That one repeat counts; nothing where there is no other."""
    left_out = f"Left out: {many(n_left_out, 'rating')} of other repeats; one repeat is compared at a time."
    return [left_out] if n_left_out else []


def split_items(of: Any) -> str:
    """How many items are split, and the order of the list."""
    if not of.n_split:
        return f"On none of {many(of.n_items, 'item')} did two judges give different verdicts."
    those = "it is listed" if of.n_split == 1 else f"{len(of.listed)} are listed, {of.order}"
    return f"Judges are split (not all say the same) on {of.n_split:,} of {many(of.n_items, 'item')}; {those}."


def triage(where: str, of: Triage) -> str:
    """Agreement where all judges are sure and elsewhere, and what the AUC says."""
    sure, unsure = of.agreement_sure, of.agreement_unsure
    on_sure = f"the judges agree on {sure.worded('.0%')} of {many(sure.n_items, 'item')} on which all of them are sure"
    if math.isnan(sure.estimate):
        on_sure = "on no item are all judges sure"
    tells = "the confidence of the least sure judge tells agreement from disagreement"
    auc = f"How well {tells} cannot be told: {of.auc.reason}"
    if not math.isnan(of.auc.estimate):
        auc = f"{sentence_case(tells)} with an AUC of {of.auc.worded()}, where one half is chance"
    elsewhere = "there are no others"
    if not math.isnan(unsure.estimate):
        elsewhere = f"they agree on {unsure.worded('.0%')} of {many(unsure.n_items, 'item')} on which one is not"
    return (
        f"{where}: {on_sure}; {elsewhere}. {auc} ({of.auc.clusters}). Judges disagree on "
        f"{of.disagree_sure or 'none'} of the items on which all are sure (such items question the rubric) and on "
        f"{of.disagree_unsure or 'none'} of the others (such items question the trajectory or the rubric)."
    )


def ranking(of: Any) -> str:
    """What rank sets allow to be said, with observed ends of those spoken of: no name that they do not support."""
    subject, quantity, names, sets, ends = of.subject, of.quantity, of.names, of.sets, of.ends
    head, top, everyone = sentence_case(subject), [names[j] for j in sets.first], range(len(names))
    if sets.refusal:
        alone = f"Only {names[0]} was rated, so that nothing is ranked by {quantity}."
        few = f"{many(sets.n_clusters, of.unit)}, and a ranking needs at least {FEWEST_CLUSTERS}"
        why = few if sets.n_clusters < FEWEST_CLUSTERS else sets.refusal
        return alone if len(names) == 1 else f"{head} are not ranked by {quantity}: {why}."
    sure = f"{sets.ci_level:.0%} sure, by differences within {many(sets.n_clusters, of.unit)}"
    if len(top) == 1:
        others = ends([j for j in everyone if j not in sets.first])
        return f"Of {subject}, {top[0]} has the highest {quantity}, {ends(sets.first)}; the others: {others} ({sure})."
    if sets.tied and sets.differ:
        return (
            f"{head} differ in their {quantity} ({ends(everyone)}), but we cannot say which has the highest ({sure})."
        )
    if sets.tied:
        return f"We cannot say which of {subject} has the highest {quantity}: all lie at {ends(everyone)} ({sure})."
    first = listed(top) if len(top) <= _NAMED_FIRST else f"{len(top)} of {len(names)}"
    return (
        f"Of {subject}, {first} share first place by {quantity} (observed {ends(sets.first)}): "
        f"{many(sets.n_clusters, of.unit)} cannot separate them."
    )


def declared(tests: Sequence[tuple[str, str, Sequence[str], Estimate, float]]) -> str:
    """The declared tests (statistic, axis, judges, estimate, p by Holm) in words; empty without any."""
    if not tests:
        return ""
    several = len({tuple(judges) for _, _, judges, *_ in tests}) > 1
    parts = [
        f"{statistic} on {axis}{f' of {listed(judges)}' if several else ''} {_declared(estimate, p)}"
        for statistic, axis, judges, estimate, p in tests
    ]
    family = f"Holm over {len(tests)} tests" if len(tests) > 1 else "one test"
    against = "" if all(math.isnan(p) for *_, p in tests) else f" ({family} against agreement by chance)"
    return f"Confirmatory, as declared{against}: {'; '.join(parts)}."


def _declared(estimate: Estimate, p: float) -> str:
    if math.isnan(estimate.estimate) or math.isnan(p):
        return estimate.worded()
    return f"{estimate.estimate:z.2f} ({estimate.interval()}, {p_words(p)})"


def spanned(values: Sequence[float], spec: str = ".2f") -> str:
    """The least and the most of these numbers, ``0.24 to 0.40``; one where both look alike."""
    low, high = (written(end, spec) for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
