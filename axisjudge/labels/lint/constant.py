"""A person who always says the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import polars as pl

from axisjudge.labels.lint.columns import by_rater
from axisjudge.labels.lint.finding import ALPHA, LabelFault

#: From so many labels on, saying the same every time is worth a word even where nobody else labelled.
FEWEST_LABELS = 10


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
