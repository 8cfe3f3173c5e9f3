"""A person who agrees with nobody, where the others agree with each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import polars as pl

from axisjudge.labels.lint.codes import FEWEST_TASKS
from axisjudge.labels.lint.columns import sums_by, words_by_item
from axisjudge.labels.lint.finding import ALPHA, LabelFault, NotChecked
from axisjudge.stats.comparisons.paired import paired_sign_flip

#: A person with less than this share of the others' agreement beyond chance is a stranger to them.
SHARE = 0.5

#: A pair of people -> item -> 1 if their words are equal, else 0, less the chance of equal words.
Excess = dict[tuple[str, str], dict[str, float]]


def strangers(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """People whose agreement with the others is far below that of the others among themselves.

    Agreement beyond chance of two people is their observed agreement less what their two distributions of words give by
    chance. Tested, by sign flips over tasks, is whether the mean over a person's pairs lies below half the mean over
    all other pairs. Bonferroni over people and questions.
    """
    task = dict(labels.select("item_id", "cluster_id").iter_rows())
    rng = np.random.default_rng(0)
    tested = []
    for question, items in words_by_item(labels).items():
        pairs = _excess(items)
        for person in sorted({name for pair in pairs for name in pair}):
            own: defaultdict[str, list[float]] = defaultdict(list)
            others: list[float] = []
            for pair, values in pairs.items():
                others += () if person in pair else values.values()
                for item in values if person in pair else ():
                    own[item].append(values[item])
            if others and len({task[item] for item in own}) >= FEWEST_TASKS:
                mine = np.array([np.mean(values) for values in own.values()])
                tested.append((question, person, float(np.mean(others)), mine, [task[item] for item in own]))
    if not tested:
        raise NotChecked(f"takes three people who share {FEWEST_TASKS} tasks")
    for question, person, usual, mine, tasks in tested:
        short = SHARE * usual - mine
        if usual <= 0 or short.mean() <= 0:
            continue
        p = paired_sign_flip(sums_by(tasks, short), rng=rng, one_sided=True)[0] * len(tested)
        if p < ALPHA:
            what = f"agreement beyond chance is {mine.mean():+.2f} with the others, {usual:+.2f} among these"
            sure = f"p = {p:.2g} of half of theirs (sign flips over tasks, Bonferroni over {len(tested)})"
            cure = "look whether these labels belong to other items (shifted rows) or another question; leave them out"
            cure += " of majorities until then"
            yield LabelFault("agrees with nobody", "error", what, f"{person}, {question}", sure, cure)


def _excess(items: Mapping[str, Mapping[str, str]]) -> Excess:
    shared: defaultdict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    for item, words in items.items():
        for one, two in combinations(sorted(words), 2):
            shared[one, two][item] = words[one], words[two]
    excess: Excess = {}
    for pair, pairs in shared.items():
        first, second = (Counter(words[side] for words in pairs.values()) for side in (0, 1))
        chance = sum(first[word] * second[word] for word in first) / len(pairs) ** 2
        excess[pair] = {item: float(words[0] == words[1]) - chance for item, words in pairs.items()}
    return excess
