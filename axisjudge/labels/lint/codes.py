"""Codes that changed meaning: labels that agree with others only after words are exchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
import polars as pl

from axisjudge.labels.lint.finding import ALPHA, LabelFault, NotChecked, by_rater, sums_by, words_by_item
from axisjudge.stats.comparisons.paired import paired_sign_flip

FEWEST_TASKS = 10
#: With more words only exchanges of two are tried.
MOST_WORDS = 5


def exchanged_codes(labels: pl.DataFrame, judges: pl.DataFrame) -> Iterator[LabelFault]:
    """People, or batches of a person, whose words fit the others' better after an exchange.

    The reference of an item is the commonest word of the other people, or of judges where no other person labelled.
    The best exchange is tested by flipping, task by task, the sign of (labels that fit after it - labels that fit as
    they are); its p value is multiplied by the number of exchanges tried and of tests. Grades on an ordinal scale can
    only be turned round.
    """
    rng = np.random.default_rng(0)
    others = [words_by_item(labels), words_by_item(judges)]
    scales = dict(labels.select("question", "scale").iter_rows())
    tested = []
    for rater, table in by_rater(labels.filter((pl.col("repeat") == 0) & pl.col("verdict").is_not_null())):
        for (question, batch), mine in table.group_by("question", "batch", maintain_order=True):
            rows = _paired(mine, str(question), rater, others)
            if len({task for task, _, _ in rows}) >= FEWEST_TASKS:
                tested.append((rater, str(question), str(batch), table["batch"].n_unique() > 1, rows))
    if not tested:
        raise NotChecked(f"no person shares {FEWEST_TASKS} tasks with another rater")
    for rater, question, batch, several, rows in tested:
        words = sorted({word for row in rows for word in row[1:]})
        exchanges = _exchanges(scales[question], words)
        best = max(exchanges, key=lambda exchange: _fits(rows, exchange), default=None)
        if best is None or _fits(rows, best) <= _fits(rows, {}):
            continue
        gain = np.array([float(best[label] == reference) - float(label == reference) for _, label, reference in rows])
        scores = sums_by((task for task, _, _ in rows), gain)
        p = paired_sign_flip(scores, rng=rng, one_sided=True, draws=99_999)[0] * len(exchanges) * len(tested)
        if p < ALPHA:
            swapped = ", ".join(f"{word} for {best[word]}" for word in words if best[word] != word)
            as_is, exchanged = (_fits(rows, each) / len(rows) for each in ({}, best))
            what = f"agreement is {as_is:.0%} as it is and {exchanged:.0%} reading {swapped}"
            where = f"{rater}, {question}" + (f", batch {batch}" if several else "")
            sure = f"p = {p:.2g} (sign flips over tasks, times {len(exchanges)} exchanges and {len(tested)} tests)"
            cure = "compare the instructions of this person or batch with the others', and map the words at import"
            yield LabelFault("codes changed meaning", "error", what, where, sure, cure)


def _paired(
    mine: pl.DataFrame, question: str, rater: str, others: Sequence[Mapping[str, Mapping[str, Mapping[str, str]]]]
) -> list[tuple[str, str, str]]:
    """(task, the person's word, the reference) for each item with a clear reference."""
    rows = []
    for item, task, label in mine.select("item_id", "cluster_id", "verdict").iter_rows():
        for source in others:
            votes = Counter(word for who, word in source.get(question, {}).get(item, {}).items() if who != rater)
            top = votes.most_common(2)
            if top and (len(top) == 1 or top[0][1] > top[1][1]):
                rows.append((task, label, top[0][0]))
                break
    return rows


def _exchanges(scale: str, words: Sequence[str]) -> list[dict[str, str]]:
    """The ways in which words may have been exchanged, each as word -> meaning."""
    if scale.startswith("ordinal:"):
        low, high = map(int, scale.removeprefix("ordinal:").split("-"))
        return [{str(value): str(low + high - value) for value in range(low, high + 1)}]
    if scale == "step":
        return [{"-1": "+1", "0": "0", "+1": "-1"}]
    if len(words) > MOST_WORDS:
        pairs = [(one, two) for position, one in enumerate(words) for two in words[:position]]
        return [{**dict(zip(words, words, strict=True)), one: two, two: one} for one, two in pairs]
    every = [dict(zip(words, meanings, strict=True)) for meanings in permutations(words)]
    return [exchange for exchange in every if any(word != meaning for word, meaning in exchange.items())]


def _fits(rows: Sequence[tuple[str, str, str]], exchange: Mapping[str, str]) -> int:
    return sum(exchange.get(label, label) == reference for _, label, reference in rows)
