"""One question as judges voted on it and people labelled it, ready to be put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.labels.sampling import LOOKED_AT, with_drawn
from axisjudge.labels.simulated_people import FAMILY
from axisjudge.ratings import to_matrix
from axisjudge.ratings.scales import level_of
from axisjudge.ratings.selection import BY_LABELLER, raters_of
from axisjudge.stats.panels.votes import PanelVotes
from axisjudge.stats.raters.reference import majority
from axisjudge.stats.rates.correction import SAMPLING
from axisjudge.studies._shared.frames import Given, Kind, kind_of, to_polars
from axisjudge.studies._shared.scope import made_up_raters

Floats = NDArray[np.float64]

#: Who gives labels: people, planted truth and simulated people.
BY_PEOPLE = BY_LABELLER | (pl.col("family") == FAMILY)

COLUMNS = (
    *("item_id", "trajectory_id", "step_index", "cluster_id", "agent", "question", "scale", "repeat"),
    *("rater", "rater_kind", "family", "model", "status", "verdict", "value", "confidence", "flags", "mechanism"),
)
#: What the ratings of a fitted panel bear as their mechanism.
MECHANISM = "panel"


class DrawScheme(StrEnum):
    """How the labelled items were drawn, as far as a guarantee is concerned."""

    NONE = "none"
    FULL = "full"
    RANDOM = "random"
    WEIGHTED = "weighted"
    UNKNOWN = "unknown"
    SEVERAL = "several"
    LOOKED_AT = "looked_at"
    BY_LABEL = "by_label"
    PARTIAL = "partial"

    @property
    def carries(self) -> bool:
        """Whether a share among the labelled items says anything of all."""
        return self in (DrawScheme.FULL, DrawScheme.RANDOM, DrawScheme.WEIGHTED)


@dataclass(frozen=True, eq=False)
class Voted:
    """Items of one question x judges, with labels where there are any.

    `words` (items, judges) and `labels` (items,) hold positions in `categories`, NaN where there is none; `confidences`
    are the judges' own. `weights` (items,) are 1 over the probability of the draw where it is known, else 1.
    """

    question: str
    scale: str
    categories: tuple[str, ...]
    judges: tuple[str, ...]
    families: tuple[str, ...]
    models: tuple[str, ...]
    items: tuple[str, ...]
    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    words: Floats
    confidences: Floats
    labels: Floats
    weights: Floats
    draw: DrawScheme
    cluster_unit: str
    made_up: tuple[str, ...] = ()
    kind: Kind = "polars"

    @property
    def votes(self) -> PanelVotes:
        """The arrays that the statistics take."""
        groups = np.unique(np.array(self.tasks), return_inverse=True)[1].astype(np.intp)
        return PanelVotes(
            self.words, self.labels, self.weights, groups, self.families, len(self.categories), self.ordered
        )

    @property
    def n_labelled(self) -> int:
        """How many items have a label."""
        return int((~np.isnan(self.labels)).sum())

    @property
    def n_voted(self) -> int:
        """On how many items a judge gave a word."""
        return int((~np.isnan(self.words)).any(axis=1).sum())

    @property
    def n_confident(self) -> int:
        """How many judges gave confidences."""
        return int((~np.isnan(self.confidences)).any(axis=0).sum())

    @property
    def ordered(self) -> bool:
        """Whether the words have an order, so that near misses count in part."""
        return level_of(self.scale) == "ordinal" and self.scale != "step"

    def of(self, judges: Sequence[str]) -> Voted:
        """The same items with these judges' columns, in this order; NaN for a judge that rated nothing here."""
        place = {name: column for column, name in enumerate(self.judges)}
        empty = np.full((len(self.items), 1), np.nan)
        pick = [place.get(name, len(self.judges)) for name in judges]
        words, sure = (np.hstack([each, empty])[:, pick] for each in (self.words, self.confidences))
        families, models = (tuple([*names, ""][p] for p in pick) for names in (self.families, self.models))
        return replace(self, judges=tuple(judges), words=words, confidences=sure, families=families, models=models)


def voted(
    ratings: Given,
    labels: Given | None = None,
    *,
    question: str = "",
    judges: Sequence[str] | None = None,
    step_level: bool | None = None,
    sampling: str | None = None,
    cluster_unit: str = "task",
) -> Voted:
    """The votes and labels of one question.

    Parameters
    ----------
    ratings : table
        Ratings of judges; people's labels may stand among them.
    labels : table, optional
        People's labels, where they stand apart.
    question : str
        Which one, where there are several.
    judges : sequence of str, optional
        Which raters; by default all but people, planted truth and other panels.
    step_level : bool, optional
        Ratings of steps; by default whole runs, unless there are none.
    sampling : str, optional
        How the labelled items were drawn, if the labels do not say and not all are labelled.

    Raises
    ------
    InputError
        No judge, several questions and none named, numbers instead of words, or two ratings of one judge on an item.
    """
    given = to_polars(ratings, COLUMNS, where="ratings")
    told = given.filter(BY_PEOPLE) if labels is None else to_polars(labels, COLUMNS, where="labels").filter(BY_PEOPLE)
    judged = _chosen(given.filter(~BY_PEOPLE), question, judges, step_level)
    asked = str(judged["question"][0])
    steps = bool(judged["step_index"].is_not_null().any())
    of_question = (pl.col("question") == asked) & (pl.col("step_index").is_not_null() == steps)
    word = of_question & (pl.col("repeat") == 0) & pl.col("verdict").is_not_null()
    people = told.filter(word & pl.col("item_id").is_in(judged["item_id"].unique().implode()))
    if labels is not None and people.is_empty():
        cure = "check that question and trajectory ids are the same"
        raise TooLittle("labels", f"must hold words of people on {asked} for items that judges rated", None, cure)
    names = raters_of(judged)
    if judges is not None:
        names = [name for name in judges if name in set(names)]
    labellers = people["rater"].unique().sort().to_list()
    if (judged["status"] == "ok").any() and not judged["verdict"].is_not_null().any():
        raise InputError("ratings", "must be words: numbers alone cannot be voted on", asked)
    matrix = to_matrix(pl.concat([judged, people]), asked, raters=[*names, *labellers], step_level=steps)
    if not matrix.categories:
        raise TooLittle("ratings", "must hold a verdict of a judge: all were lost", asked, "judge again")
    k = len(names)
    reference = (
        majority(matrix.codes[:, k:], len(matrix.categories)) if labellers else np.full(len(matrix.items), np.nan)
    )
    agent = dict(judged.drop_nulls("agent").select("item_id", "agent").iter_rows())
    model = dict(judged.drop_nulls("model").select("rater", "model").iter_rows())
    draw, weights = _drawn(people, matrix.items, reference, sampling)
    return Voted(
        question=asked,
        scale=str(judged["scale"][0]),
        categories=matrix.categories,
        judges=tuple(names),
        families=matrix.families[:k],
        models=tuple(model.get(name, "") for name in names),
        items=matrix.items,
        tasks=matrix.clusters,
        agents=tuple(agent.get(item, "") for item in matrix.items),
        words=matrix.codes[:, :k],
        confidences=matrix.confidences[:, :k],
        labels=reference,
        weights=weights,
        draw=draw,
        cluster_unit=cluster_unit,
        made_up=made_up_raters(judged, people),
        kind=kind_of(ratings),
    )


def _chosen(judged: pl.DataFrame, question: str, judges: Sequence[str] | None, step_level: bool | None) -> pl.DataFrame:
    if judged.is_empty():
        raise TooLittle("ratings", "must be of judges, and none is", cure="judge some runs first")
    rows = judged.filter((pl.col("repeat") == 0) & ~pl.col("flags").list.contains("empty_run").fill_null(value=False))
    if judges is not None:
        for name in judges:
            one_of("judge", name, sorted(set(rows["rater"])))
        rows = rows.filter(pl.col("rater").is_in(list(judges)))
    else:
        rows = rows.filter(pl.col("mechanism").ne_missing(MECHANISM))
    whole = rows.filter(pl.col("step_index").is_null())
    steps = step_level if step_level is not None else whole.is_empty()
    rows = rows.filter(pl.col("step_index").is_not_null()) if steps else whole
    if rows.is_empty():
        raise TooLittle("ratings", f"must be of judges, on {'steps' if steps else 'whole runs'}, and none is")
    questions = rows["question"].unique(maintain_order=True).to_list()
    if not question and len(questions) > 1:
        cure = f"name one of {', '.join(sorted(questions))} with question (--question)"
        raise InputError("ratings", "one panel answers one question", f"{len(questions)} questions", cure)
    return rows.filter(pl.col("question") == one_of("question", question or questions[0], questions))


def _drawn(
    people: pl.DataFrame, items: tuple[str, ...], reference: Floats, sampling: str | None
) -> tuple[DrawScheme, Floats]:
    """How the labels were drawn, and what each labelled item stands for."""
    weights = np.ones(len(items))
    if people.is_empty():
        return DrawScheme.NONE, weights
    if people["item_id"].n_unique() == len(items):
        return DrawScheme.FULL, weights
    stated = with_drawn(people)
    ways = set(stated.select("drawn", "drawn_by").unique().rows())
    methods = {way for way, _ in ways}
    if methods == {"unknown"}:
        if sampling is None or one_of("sampling", sampling, SAMPLING) == "unknown":
            return DrawScheme.UNKNOWN, weights
        methods = {sampling}
        return (DrawScheme.BY_LABEL if "by_human_label" in methods else _without(methods)), weights
    if methods <= set(LOOKED_AT):
        return DrawScheme.LOOKED_AT, weights
    if len(ways) > 1:
        return DrawScheme.SEVERAL, weights
    if methods == {"by_human_label"}:
        return DrawScheme.BY_LABEL, weights
    if stated["drawn_probability"].null_count():
        return _without(methods), weights
    known = dict(stated.select("item_id", "drawn_probability").iter_rows())
    probability = np.array([cast(float, known.get(item, np.nan)) for item in items])
    given = ~np.isnan(probability) & ~np.isnan(reference)
    weights[given] = 1.0 / probability[given]
    if methods != {"random"} and _stand_for_fewer(weights[given], len(items)):
        return DrawScheme.PARTIAL, np.ones(len(items))
    if given.any() and np.ptp(probability[given]) < 1e-12:
        return DrawScheme.RANDOM, np.ones(len(items))
    return DrawScheme.WEIGHTED, weights


def _stand_for_fewer(weights: Floats, n_items: int) -> bool:
    """Whether labelled items stand for fewer than all, by two standard errors and a tenth: some kind has no label.

    The sum of 1 / p over drawn items estimates how many items there are (Horvitz and Thompson 1952), with the variance
    sum (1 - p) / p^2 where items are drawn one by one.
    """
    error = np.sqrt((weights * (weights - 1)).sum())
    return bool(weights.sum() < min(0.9 * n_items, n_items - 2 * error))


def _without(methods: set[str]) -> DrawScheme:
    """A draw of which no probabilities are known: only one at random needs none."""
    return DrawScheme.RANDOM if methods == {"random"} else DrawScheme.UNKNOWN
