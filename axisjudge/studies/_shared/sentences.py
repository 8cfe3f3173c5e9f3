"""The words of what several studies show: citations, splits, triage, rank sets and declared results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.confidence.triage import Triage
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.citations import CitationOverlap
from axisjudge.studies._shared.words import agreeing, listed, many, p_words, sentence_case, share

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


def cited_overlap(pairs: Sequence[CitationOverlap], without_chance: str) -> str:
    """Overlap over all pairs of judges and questions, beside chance; `without_chance` says why that is not known."""
    cited = [pair for pair in pairs if pair.n_both]
    if not cited:
        return "No run has citations of two judges on one question, so there is no overlap."
    spread = f"Over {many(len(cited), 'pair')} of judges on a question the mean overlap (Jaccard) of cited steps"
    if without_chance:
        figures = _range([pair.overlap.estimate for pair in cited])
        return f"{spread} is {figures}; how much of it is chance is not known: {without_chance}."
    above = sum(pair.excess.ci_low > 0 for pair in cited)
    by = _range([pair.excess.estimate for pair in cited], "+.2f")
    return (
        f"{spread} lies {by} from what chance within the run gives; it is shown to lie above that in {above or 'none'}."
    )


def other_evidence(same: int, apart: int, where: Sequence[str]) -> str:
    """Of equal verdicts, how many share no cited step; `where` names questions unless it is on all of them."""
    if not apart:
        return f"Of {many(same, 'pair')} of equal verdicts, none cites steps that have nothing in common."
    start = (
        f"Of {many(same, 'pair')} of equal verdicts, {apart:,} {'cites' if apart == 1 else 'cite'} no step in common"
    )
    return f"{start}, all on {listed(where)}." if where else f"{start}."


def overlap_by_version(question: str, means: Mapping[str | None, float], n_pairs: int) -> str:
    """The mean overlap of the same pairs of judges under each version of a rubric."""
    whose = "one pair" if n_pairs == 1 else f"the same {n_pairs} pairs"
    versions = listed([f"{mean:.2f} under {version}" for version, mean in means.items()])
    return f"{question}: the steps that {whose} of judges cite overlap (Jaccard) by {versions}; the runs may differ."


def other_repeats(n_left_out: int) -> list[str]:
    """That citations are those of one repeat; nothing where there is no other."""
    if not n_left_out:
        return []
    are = "is" if n_left_out == 1 else "are"
    return [f"Citations are of one repeat; {many(n_left_out, 'rating')} of other repeats {are} left out."]


def split_items(n_split: int, n_items: int, n_listed: int, order: str) -> str:
    """How many items are split, and the order of the list."""
    if not n_split:
        return f"Judges are split on none of {many(n_items, 'item')}."
    those = "it is listed" if n_split == 1 else f"{n_listed} are listed, {order}"
    return f"Judges are split on {n_split:,} of {many(n_items, 'item')}; {those}."


def triage(where: str, of: Triage) -> str:
    """Agreement where all judges are sure and elsewhere, and what the AUC says."""
    sure, unsure = (
        "no item" if math.isnan(rate.estimate) else f"{rate.worded('.0%')} of {many(rate.n_items, 'item')}"
        for rate in (of.agreement_sure, of.agreement_unsure)
    )
    return (
        f"{where}: the judges agree on {sure} where all of them are sure, and on {unsure} elsewhere. The confidence of "
        f"the least sure judge tells agreement from splits with an AUC of {of.auc.worded()}, {of.auc.clusters}. "
        f"{agreeing(of.disagree_sure, 'item', 'is', 'are')} split although all are sure (look at the rubric), "
        f"{many(of.disagree_unsure, 'item')} where one judge is not (look at the trajectory or the rubric)."
    )


def ranking(subject: str, quantity: str, names: Sequence[str], sets: RankSets, observed: str, unit: str) -> str:
    """What rank sets allow to be said, with the observed range: no name that they do not support."""
    head, top = sentence_case(subject), [names[j] for j in sets.first]
    if sets.refusal:
        alone = f"{names[0]} has nothing to be ranked against by {quantity}."
        return alone if len(names) == 1 else f"{head} are not ranked by {quantity}: {sets.refusal}."
    sure = f"observed {observed}; {sets.ci_level:.0%} jointly, {many(sets.n_clusters, unit)}"
    if sets.tied:
        return f"{head} cannot be told apart by {quantity} ({sure})."
    if len(top) == 1:
        return f"Of {subject}, {top[0]} has the highest {quantity}, alone at rank 1 ({sure})."
    below = [name for name in names if name not in top]
    rest = f"; {listed(below)} {'is' if len(below) == 1 else 'are'} not among them" if below else ""
    may = f"{listed(top, 'or')} may have the highest {quantity} and cannot be told apart"
    return f"Of {subject}, {may} ({sure}){rest}."


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
    return f"Declared and confirmed{against}: {'; '.join(parts)}."


def _declared(estimate: Estimate, p: float) -> str:
    if math.isnan(estimate.estimate) or math.isnan(p):
        return estimate.worded()
    return f"{estimate.estimate:.2f} ({estimate.interval()}, {p_words(p)})"


def _range(values: Sequence[float], spec: str = ".2f") -> str:
    low, high = f"{min(values):{spec}}", f"{max(values):{spec}}"
    return low if low == high else f"{low} to {high}"
