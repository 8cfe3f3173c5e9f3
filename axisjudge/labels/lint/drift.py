"""A person whose labels change over time or between batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from axisjudge.labels.lint.finding import ALPHA, Floats, LabelFault, NotChecked, as_number, by_rater, sums_by
from axisjudge.stats.comparisons.paired import holm, paired_sign_flip

#: Fewer tasks leave a sign-flip test too few signs to flip.
FEWEST_TASKS = 10


@dataclass(frozen=True)
class _Series:
    """One person's labels of a question: when (centred), what beside what was to be expected, of which task."""

    rater: str
    question: str
    over: str
    when: Floats
    residual: Floats
    tasks: tuple[str, ...]
    against: str

    @property
    def scores(self) -> Floats:
        return sums_by(self.tasks, self.when * self.residual)

    @property
    def halves(self) -> tuple[float, float]:
        early = self.when < 0
        return float(self.residual[early].mean()), float(self.residual[~early].mean())


def drifts(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """People whose labels trend over the time of labelling, or differ in one batch.

    What is tested is the person's label minus the mean of the others' on the same item, or, where nobody else labelled,
    minus the person's own mean for that agent and domain. The score of a task is the sum over its labels of (time rank
    - mean) (residual - mean); the sign-flip test over tasks needs no more than independent tasks. Holm over people,
    questions and batches at .01.
    """
    rng = np.random.default_rng(0)
    series = [one for rater, table in by_rater(labels) for one in _series(rater, table, labels)]
    if not series:
        raise NotChecked(f"no person has labels of {FEWEST_TASKS} tasks with times (created_at) or in several batches")
    adjusted = holm([paired_sign_flip(one.scores, rng=rng)[0] for one in series])
    for one, p in sorted(zip(series, adjusted, strict=True), key=lambda pair: pair[1]):
        if p < ALPHA:
            before, after = one.halves
            what = f"labels move {one.over}: {before:+.2f} before, {after:+.2f} after, against {one.against}"
            sure = f"p = {p:.2g} (sign flips of {len(set(one.tasks))} tasks, Holm over {len(series)})"
            cure = "show the instructions again, relabel a share of the early items, and compare the two"
            yield LabelFault("drift", "warning", what, f"{one.rater}, {one.question}", sure, cure)


def _series(rater: str, table: pl.DataFrame, labels: pl.DataFrame) -> Iterator[_Series]:
    for (question,), mine in table.filter(pl.col("repeat") == 0).group_by("question", maintain_order=True):
        others = labels.filter((pl.col("rater") != rater) & (pl.col("question") == question))
        own, against = _residuals(_numbered(mine), _numbered(others))
        if own.height == 0 or own["cluster_id"].n_unique() < FEWEST_TASKS:
            continue
        whens: Mapping[str, pl.Expr] = {}
        if own["batch"].n_unique() > 1:
            batches = own["batch"].unique(maintain_order=True).to_list()
            whens = {f"in batch {batch}": (pl.col("batch") == batch).cast(pl.Float64) for batch in batches[1:]}
        elif own["created_at"].null_count() == 0 and own["created_at"].n_unique() > 1:
            whens = {"over time": pl.col("created_at").rank("average") / own.height}
        for over, when in whens.items():
            at = own.select(when=when)["when"].to_numpy()
            residual = own["residual"].to_numpy()
            tasks = tuple(own["cluster_id"].to_list())
            yield _Series(rater, str(question), over, at - at.mean(), residual - residual.mean(), tasks, against)


def _numbered(labels: pl.DataFrame) -> pl.DataFrame:
    numbers = [as_number(*row) for row in labels.select("scale", "verdict", "value").iter_rows()]
    return labels.with_columns(number=pl.Series(numbers, dtype=pl.Float64)).filter(pl.col("number").is_not_null())


def _residuals(mine: pl.DataFrame, others: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The person's numbers less what was to be expected, and what that was."""
    means = others.group_by("item_id").agg(expected=pl.col("number").mean())
    shared = mine.join(means, on="item_id", maintain_order="left")
    if shared.height * 2 >= mine.height and shared.height:
        return shared.with_columns(residual=pl.col("number") - pl.col("expected")), "the others"
    expected = pl.col("number").mean().over("agent", "domain")
    return mine.with_columns(residual=pl.col("number") - expected), "the mean of the agent (items may differ)"
