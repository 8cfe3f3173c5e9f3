"""The old and the new judge, each beside people's labels of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.ratings import to_matrix
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.scales import level_of
from axisjudge.ratings.selection import BY_LABELLER
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.reference import majority
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, with_ends, with_own_ends
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many
from axisjudge.studies.succession.bridge import BridgeTerms
from axisjudge.studies.succession.verdicts import verdicts_of


@dataclass(frozen=True)
class BesideLabels(Result):
    """One judge on one question: accuracy and the scale's kappa with the commonest label, on `n_items` labelled items.

    Items whose labels tie have no commonest one and are left out.
    """

    question: str
    judge: str
    accuracy: Estimate
    kappa: Agreement


class AgainstLabels(Part, name="labels", caption="Each judge against the labels"):
    """Both judges on every question that people labelled."""

    _keys = ("judges",)

    judges: tuple[BesideLabels, ...]
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a question and judge: accuracy, and the scale's kappa."""
        named = columns("question judge n=accuracy.n_items", with_own_ends("accuracy"), "coefficient=kappa.label")
        kappa = with_ends("value", "kappa", low="value_low", high="value_high")
        return frame_of(self.judges, named | kappa, self.kind)

    @property
    def behind(self) -> dict[str, str]:
        """Labelled items."""
        return {"only": "labelled"}

    @property
    def answer(self) -> str:
        """How often each judge is right, question by question."""
        return " ".join(
            f"{each.judge} on {each.question}: right on {each.accuracy.worded('.0%')} of "
            f"{many(each.accuracy.n_items, 'labelled item')}."
            for each in self.judges
        )


def against_labels(
    ratings: Given,
    labels: Given,
    old: str,
    new: str,
    *,
    steps: bool = False,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> AgainstLabels:
    """Accuracy and kappa of the old and the new judge's first ratings against people's labels.

    Parameters
    ----------
    ratings, labels : table
        Ratings tables; of `labels` the raters of kind ``human`` or ``planted`` count.
    old, new : str
        The judges' names.
    steps : bool
        Ratings of steps instead of whole trajectories.

    Raises
    ------
    InputError
        No label is of an item that one of the judges rated.
    """
    judged = _verdicts(ratings, steps)
    judged = judged.filter(pl.col("rater").is_in([old, new]))
    first = judged.filter(pl.col("repeat") == pl.col("repeat").min().over("rater")).with_columns(repeat=pl.lit(0))
    stated = _verdicts(labels, steps).filter(BY_LABELLER)
    people = stated["rater"].unique().sort().to_list()
    labelled = first.join(stated.select("item_id", "question").unique(), on=["item_id", "question"], how="semi")
    questions = labelled["question"].unique(maintain_order=True).to_list()
    if not questions:
        raise TooLittle("labels", f"must be of items that {old} or {new} rated")
    table = pl.concat([labelled, stated.with_columns(repeat=pl.lit(0))], how="diagonal_relaxed")
    terms = BridgeTerms(cluster_unit=cluster_unit, ci_level=ci_level)
    rows = [row for question in questions for row in _rows(table, question, (old, new), people, steps, terms)]
    return AgainstLabels(tuple(rows), kind_of(ratings))


def _verdicts(ratings: Given, steps: bool) -> pl.DataFrame:
    """The verdicts that count in a failure rate, with kinds and families of raters."""
    kept = verdicts_of(ratings, steps=steps).select("item_id", "question", "scale").unique()
    return as_ratings(ratings).join(kept, on=["item_id", "question", "scale"], how="semi")


def _rows(
    table: pl.DataFrame, question: str, judges: Sequence[str], people: Sequence[str], steps: bool, terms: BridgeTerms
) -> list[BesideLabels]:
    matrix = to_matrix(table, question, raters=[*judges, *people], step_level=steps)
    label = majority(matrix.codes[:, len(judges) :], len(matrix.categories))
    ordered = level_of(table.filter(pl.col("question") == question)["scale"][0]) == "ordinal"
    name = "cohen_kappa_quadratic" if ordered else "cohen_kappa"
    clusters = np.unique(matrix.clusters, return_inverse=True)[1]
    how: dict[str, Any] = {"clusters": clusters, "cluster_unit": terms.cluster_unit, "ci_level": terms.ci_level}
    rows = []
    for column, judge in enumerate(judges):
        pair = np.column_stack([matrix.codes[:, column], label])
        same = np.where(np.isnan(pair).any(axis=1), np.nan, pair[:, 0] == pair[:, 1])
        if not np.isnan(same).all():
            categories = range(len(matrix.categories))
            kappa = agreement_coefficients(pair, [name], categories=categories, **how)[name]
            rows.append(BesideLabels(question, judge, clustered_proportion(same, **how), kappa))
    return rows
