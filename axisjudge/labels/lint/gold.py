"""Gold labels: merged ones that are always one person's, and labels behind which one vote stands."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

import polars as pl

from axisjudge.labels.lint.finding import ALPHA, LabelFault, NotChecked, Severity, some, words_by_item

#: Names under which merged labels go.
NAMES = ("gold", "key", "merged", "consensus", "majority", "adjudicated", "final", "ground_truth", "reference")
#: From this share on, single votes are more than stragglers.
MANY = 0.1


def gold_raters(labels: pl.DataFrame, named: Collection[str] = ()) -> tuple[str, ...]:
    """The raters whose labels are merged ones: those named, else those that are called so."""
    raters = labels["rater"].unique(maintain_order=True).to_list()
    return tuple(rater for rater in raters if rater in named or (not named and rater.casefold() in NAMES))


def one_label_wins(labels: pl.DataFrame, gold: Collection[str]) -> Iterator[LabelFault]:
    """A merged label that is one person's wherever people differ.

    Under a fair merge the label of an item is that of one of its votes drawn at random, or the majority's. So the
    chance that it is always this person's is the product, over items on which this person is contradicted, of the
    person's share of the votes, or 1 where the person is in the majority; one item a task. Bonferroni over people.
    """
    if not gold:
        raise NotChecked("no rater is a merged label (name it with --gold)")
    task = dict(labels.select("item_id", "cluster_id").iter_rows())
    for merged in gold:
        contested: defaultdict[str, dict[str, float]] = defaultdict(dict)
        lost: set[str] = set()
        for items in words_by_item(labels).values():
            for item, words in items.items():
                votes = Counter(word for rater, word in words.items() if rater not in gold)
                if merged not in words or len(votes) < 2:
                    continue
                for rater in words.keys() - set(gold):
                    mine = votes[words[rater]]
                    share = 1.0 if mine * 2 > votes.total() else mine / votes.total()
                    contested[rater][task[item]] = max(share, contested[rater].get(task[item], 0.0))
                    lost |= {rater} if words[merged] != words[rater] else set()
        for rater, shares in contested.items():
            p = math.prod(shares.values()) * len(contested)
            if rater not in lost and p < ALPHA:
                what = f"{merged} is {rater}'s label on every item on which people differ ({len(shares)} tasks)"
                sure = f"p = {p:.2g} were the merge fair (product of vote shares, Bonferroni)"
                cure = f"do not count {merged} and {rater} as two; merge anew by majority or adjudicate the differences"
                yield LabelFault("one label wins", "error", what, f"{merged}, {rater}", sure, cure)


def single_votes(labels: pl.DataFrame, gold: Collection[str]) -> Iterator[LabelFault]:
    """Items behind whose label one person stands, or nobody that is known."""
    few: list[str] = []
    questions: Counter[str] = Counter()
    considered = 0
    for question, items in words_by_item(labels).items():
        for item, words in items.items():
            if gold and not words.keys() & set(gold):
                continue
            considered += 1
            if len(words.keys() - set(gold)) <= 1:
                few.append(item)
                questions[question] += 1
    if few:
        behind = "the merged label of" if gold else "the label of"
        severity: Severity = "warning" if len(few) >= MANY * considered else "note"
        what = f"{behind} {len(few)} of {considered} items rests on one person, or on nobody that is known"
        cure = "have a second person label these items: without one there is no person-person ceiling"
        where = f"{some(list(questions), 5)}: {some(few)}"
        yield LabelFault("single vote", severity, what, where, "certain", cure)
