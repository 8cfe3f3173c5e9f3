"""One question as judges and people answered it: words, who was asked, cited steps, agents, how labels were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.labels.draw import Draw, draw_of
from axisjudge.labels.simulated_people import BY_PEOPLE
from axisjudge.ratings import to_matrix
from axisjudge.ratings.edge import EMPTY_RUN, as_ratings, raters_of, sides_of, taken
from axisjudge.stats.agreement.chance_corrected import set_aside
from axisjudge.stats.clusters import Alike
from axisjudge.stats.raters.reference import AgainstReference, against_reference, majority

Floats = NDArray[np.float64]

UNDECIDED = ("uncertain",)


@dataclass(frozen=True, eq=False)
class LabelledPanel:
    """Items of one question x judges and people; `runs` are the trajectories that the items are of.

    `judged` and `labelled` hold positions in `categories`, NaN where a rater gave nothing; `asked` says which judge was
    and labelled item, the cited steps where there are any. `n_unjudged` counts labelled items that no judge rated; they
    are left out; `alike` says whether items or clusters count alike in shares and agreement.
    """

    question: str
    scale: str
    items: tuple[str, ...]
    runs: tuple[str, ...]
    judged: Floats
    asked: NDArray[np.bool_]
    labelled: Floats
    categories: tuple[str, ...]
    judges: tuple[str, ...]
    families: tuple[str, ...]
    people: tuple[str, ...]
    agents: NDArray[np.object_]
    clusters: NDArray[np.intp] | None
    cluster_unit: str
    cited: dict[str, dict[str, list[int]]]
    drawn: Draw
    n_unjudged: int = 0
    alike: Alike = "items"

    @property
    def failing(self) -> int | None:
        """Position of the word that means failure; None where the scale knows no failure."""
        words = [word for word, failed in sides_of(self.scale).items() if failed]
        return self.categories.index(words[0]) if words else None

    @property
    def undecided(self) -> tuple[int, ...]:
        """Positions of words that take no side."""
        return tuple(self.categories.index(word) for word in UNDECIDED if word in self.categories)

    @property
    def sides(self) -> dict[str, int]:
        """The words that take a side, with their positions."""
        return {word: code for code, word in enumerate(self.categories) if word not in UNDECIDED}

    @cached_property
    def decided_labels(self) -> Floats:
        """People's words, with those that take no side as NaN."""
        return self.sided(self.labelled)

    @cached_property
    def reference(self) -> Floats:
        """Each item's label: the commonest word of the people, NaN on a tie or without any."""
        return majority(self.decided_labels, len(self.categories))

    @property
    def groups(self) -> NDArray[np.intp]:
        """The cluster of each item, each its own where no two belong together."""
        return np.arange(len(self.items)) if self.clusters is None else self.clusters

    @property
    def grades(self) -> bool:
        """Whether the words are grades."""
        return self.scale.startswith("ordinal:")

    def with_labels(self) -> LabelledPanel:
        """The items that some person labelled."""
        rows = np.flatnonzero((~np.isnan(self.labelled)).any(axis=1))
        names: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in rows) for name in ("items", "runs")}
        arrays = {name: getattr(self, name)[rows] for name in ("judged", "asked", "labelled", "agents")}
        return replace(self, **names, **arrays, clusters=None if self.clusters is None else self.clusters[rows])

    @property
    def ordered(self) -> bool:
        """Whether the words have an order."""
        return self.grades or self.scale == "step"

    @property
    def against(self) -> partial[AgainstReference]:
        """Compares a rater's words with a reference for the same items."""
        words = partial(against_reference, n_categories=len(self.categories), failing=self.failing)
        grouped = partial(words, clusters=self.clusters, cluster_unit=self.cluster_unit, alike=self.alike)
        return partial(grouped, undecided=self.undecided, ordered=self.ordered)

    def steps(self, rater: str, item: int) -> list[int]:
        """The steps that a rater cites for the item at a position."""
        return self.cited.get(rater, {}).get(self.items[item], [])

    def sided(self, codes: Floats) -> Floats:
        """The words that take a side, NaN for all others."""
        return set_aside(codes, self.undecided)

    def failed(self, codes: Floats) -> Floats:
        """1 where the word means failure, 0 for any other that takes a side, NaN otherwise."""
        sided = self.sided(codes)
        return np.where(np.isnan(sided), np.nan, sided == self.failing)


def prepared(ratings: object, labels: object, repeat: int, step_level: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judges' and people's rows, without runs that have no messages (their ratings follow from the definition)."""
    tables = [as_ratings(table, where=name) for name, table in (("ratings", ratings), ("labels", labels))]
    level = (pl.col("step_index").is_not_null() == step_level) & (pl.col("repeat") == repeat) & ~EMPTY_RUN
    chosen = [taken(table, level) for table in tables]
    judges, people = taken(chosen[0], ~BY_PEOPLE), chosen[1].filter(BY_PEOPLE & pl.col("verdict").is_not_null())
    numbers = chosen[1].filter(BY_PEOPLE & pl.col("value").is_not_null())["scale"]
    level_words = "steps" if step_level else "whole runs"
    and_level = f", and whether single steps were rated: {level_words} are read now"
    if people.is_empty() and len(numbers):
        rule = "are numbers, which are near or far from a judge's and never right or wrong"
        raise InputError("labels", rule, numbers[0], "axisjudge agreement gives their ICC and interval alpha")
    if people.is_empty():
        raise TooLittle("labels", "must be of people, or planted truth, and none is", cure=f"check the file{and_level}")
    if judges.is_empty():
        raise TooLittle(
            "ratings", f"must be of judges, on {level_words}, and none is", cure=f"check the file{and_level}"
        )
    return judges, people


def labelled_panel(
    judges: pl.DataFrame,
    people: pl.DataFrame,
    question: str,
    *,
    sampling: str | None,
    cluster_unit: str,
    alike: Alike = "items",
) -> LabelledPanel:
    """The items of one question that judges were asked or people labelled, of the rows that `prepared` gives.

    `sampling` says how the labelled items were drawn, if the labels do not; `cluster_unit` what ``cluster_id`` holds.

    Raises
    ------
    InputError
        Two ratings of one rater on one item, judges and people on different scales, or `sampling` against the labels.
    """
    asked = judges.filter(pl.col("question") == question)
    every_label = people.filter(pl.col("question") == question)
    labels = every_label.filter(pl.col("item_id").is_in(asked["item_id"].unique().implode()))
    raters = [raters_of(table) for table in (asked, labels)]
    both = pl.concat([asked, labels])
    step_level = bool(both["step_index"].is_not_null().any())
    matrix = to_matrix(both, question, raters=[*raters[0], *raters[1]], repeat=both["repeat"][0], step_level=step_level)
    n_judges, judge = len(raters[0]), pl.col("rater").filter(~BY_PEOPLE)
    of_items = both.group_by("item_id", maintain_order=True).agg(
        pl.col("trajectory_id").last(),
        pl.col("agent").drop_nulls().last(),
        *(judge.eq(name).any().alias(f"asked {at}") for at, name in enumerate(raters[0])),
    )
    was_asked = of_items.select(f"asked {at}" for at in range(n_judges)).to_numpy()
    clusters = np.unique(np.array(matrix.clusters), return_inverse=True)[1].astype(np.intp)
    grouped = clusters.max(initial=-1) + 1 < clusters.size
    words = matrix.codes[:, n_judges:]
    return LabelledPanel(
        question=question,
        scale=str(both["scale"][0]),
        items=matrix.items,
        runs=tuple(of_items["trajectory_id"]),
        judged=matrix.codes[:, :n_judges],
        asked=was_asked,
        labelled=words,
        categories=matrix.categories,
        judges=tuple(raters[0]),
        families=matrix.families[:n_judges],
        people=tuple(raters[1]),
        agents=of_items["agent"].to_numpy().astype(object),
        clusters=clusters if grouped else None,
        cluster_unit=cluster_unit if grouped else "item",
        cited=_cited(both.filter(pl.col("item_id").is_in(labels["item_id"].unique().implode()))),
        drawn=draw_of(labels, matrix.items, sampling, in_full=bool((~np.isnan(words)).any(axis=1).all())),
        n_unjudged=every_label["item_id"].n_unique() - labels["item_id"].n_unique(),
        alike=alike,
    )


def _cited(ratings: pl.DataFrame) -> dict[str, dict[str, list[int]]]:
    grounded = ratings.filter(pl.col("cited_step_indices").list.len() > 0)
    return {
        str(rater): dict(rows.select("item_id", "cited_step_indices").iter_rows())
        for (rater,), rows in grounded.group_by("rater", maintain_order=True)
    }


def questions_of(people: pl.DataFrame, judges: pl.DataFrame, wanted: Sequence[str] | None) -> list[str]:
    """The questions that both answered on some item, in the order of the judges' table, or those that are wanted."""
    asked = judges.lazy().filter(pl.col("scale") != "unit").select("question", "item_id")
    both = asked.join(people.lazy(), on=["question", "item_id"], how="semi").select(pl.col("question").unique())
    common = set(both.collect()["question"])
    if wanted is not None:
        return [one_of("question", name, sorted(common)) for name in wanted]
    if not common:
        rule = "must answer a question about an item that judges answered too"
        raise InputError("labels", rule, sorted(set(people["question"])), "check that the trajectory ids are the same")
    return [name for name in judges["question"].unique(maintain_order=True) if name in common]
