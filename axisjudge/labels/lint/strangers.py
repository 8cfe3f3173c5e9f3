"""A person who agrees with nobody, where the others agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from axisjudge.labels.lint.codes import FEWEST_TASKS, paired
from axisjudge.labels.lint.finding import ALPHA, Finding, NotChecked
from axisjudge.labels.lint.told import Floats, by_rater, sign_flip_p, sums_by, words_by_item

#: A person with less than this share of the others' agreement beyond chance is a stranger to them.
SHARE = 0.5

Rows = Sequence[tuple[str, str, str]]


def strangers(labels: pl.DataFrame) -> Iterator[Finding]:
    """People whose agreement with the others is far below the others' own.

    Agreement beyond chance is observed agreement with the commonest word of the others less what the two
    distributions of words give by chance. Tested, by sign flips over tasks, is whether a person's lies below half the
    median of all people's. Bonferroni over people and questions.
    """
    judged = words_by_item(labels)
    rows: dict[tuple[str, str], Rows] = {}
    for rater, table in by_rater(labels.filter((pl.col("repeat") == 0) & pl.col("verdict").is_not_null())):
        for (question,), mine in table.group_by("question", maintain_order=True):
            found = paired(mine, str(question), rater, [judged])
            if len({task for task, _, _ in found}) >= FEWEST_TASKS:
                rows[str(question), rater] = found
    asked = {question: [key for key in rows if key[0] == question] for question, _ in rows}
    if not any(len(keys) > 2 for keys in asked.values()):
        raise NotChecked(f"takes three people who share {FEWEST_TASKS} tasks")
    rng = np.random.default_rng(0)
    excess = {key: _beyond_chance(found) for key, found in rows.items()}
    for question, keys in asked.items():
        usual = float(np.median([excess[key].mean() for key in keys]))
        for key in keys if len(keys) > 2 and usual > 0 else ():
            short = SHARE * usual - excess[key]
            p = sign_flip_p(sums_by((task for task, _, _ in rows[key]), short), rng, one_sided=True) * len(rows)
            if p < ALPHA and short.mean() > 0:
                yield Finding(
                    "agrees with nobody",
                    "error",
                    f"agreement beyond chance is {excess[key].mean():+.2f}, the median of all people {usual:+.2f}",
                    f"{key[1]}, {question}",
                    f"p = {p:.2g} of half the median (sign flips over tasks, Bonferroni over {len(rows)})",
                    "look whether these labels belong to other items (shifted rows) or another question; leave them "
                    "out of majorities until then",
                )


def _beyond_chance(rows: Rows) -> Floats:
    """For each item 1 if the words are equal, less the chance that two words drawn from both distributions are."""
    n = len(rows)
    mine, theirs = Counter(said for _, said, _ in rows), Counter(reference for _, _, reference in rows)
    chance = sum(mine[word] * theirs[word] for word in mine) / n**2
    return np.array([float(said == reference) - chance for _, said, reference in rows])
