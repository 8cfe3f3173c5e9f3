"""A person who agrees with nobody, where the others agree with each other, or who always says the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import polars as pl

from axisjudge.labels.lint.codes import FEWEST_TASKS
from axisjudge.labels.lint.finding import ALPHA, LabelFault, NotChecked, by_rater, sums_by, words_by_item
from axisjudge.stats.comparisons.paired import paired_sign_flip

#: A person with less than this share of the others' agreement beyond chance is a stranger to them.
SHARE = 0.5
#: From so many labels on, saying the same every time is worth a word even where nobody else labelled.
FEWEST_LABELS = 10

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


def constant_raters(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """People whose labels of a question are all one word while others' labels of the same items are not.

    The chance that one of the others would have said that word alone is q^G: q is the share of the others' tasks on
    which they said nothing else, G the tasks of this person. Since q is the mean over tasks, the true chance is no
    greater when tasks differ. Bonferroni over people and questions.
    """
    given = labels.filter(pl.col("verdict").is_not_null())
    n_tests = given.select("rater", "question").unique().height
    alone: dict[str, list[str]] = defaultdict(list)
    for rater, table in by_rater(given):
        for (question,), own in table.group_by("question", maintain_order=True):
            if own["verdict"].n_unique() > 1:
                continue
            word = str(own["verdict"][0])
            others = given.filter(
                (pl.col("question") == question)
                & (pl.col("rater") != rater)
                & pl.col("item_id").is_in(own["item_id"].implode())
            )
            tasks = others.group_by("rater", "cluster_id").agg(only=(pl.col("verdict") == word).all())
            shared = own.filter(pl.col("item_id").is_in(others["item_id"].unique().implode()))["cluster_id"].n_unique()
            p = math.nan if tasks.is_empty() else float(tasks["only"].mean() or 0.0) ** shared  # type: ignore[arg-type]
            if p * n_tests < ALPHA and own.height >= FEWEST_LABELS:
                what = f"{rater} said `{word}` {own.height} times of {own.height}, and others did not"
                sure = f"p = {p * n_tests:.2g} (q^G on {shared} tasks, Bonferroni over {n_tests})"
                cure = "ask the person; leave these labels out of majorities and of the person-person ceiling"
                yield LabelFault("constant annotator", "error", what, f"{rater}, {question}", sure, cure)
            elif tasks.is_empty():
                alone[f"{rater}\n{word}"] += [str(question)] * own.height
    for name, questions in alone.items():
        rater, word = name.split("\n")
        whole = given.filter(pl.col("rater") == rater)
        n = len(questions)
        if n >= FEWEST_LABELS and whole.filter(pl.col("question").is_in(questions))["verdict"].n_unique() == 1:
            what = f"all {n} labels are `{word}`, and nobody else labelled these items"
            where = f"{rater}, {', '.join(dict.fromkeys(questions))}"
            sure = "certain that they are; whether that is right cannot be seen"
            cure = "labels of one word give neither specificity nor a chance-corrected agreement: label others too"
            yield LabelFault("constant annotator", "warning", what, where, sure, cure)
