"""One question as judges and people answered it: words, who was asked, cited steps, agents, how labels were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.labels.sampling import LOOKED_AT, with_drawn
from axisjudge.labels.simulated_people import FAMILY
from axisjudge.ratings import to_matrix
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_LABELLER, EMPTY_RUN
from axisjudge.stats.raters.reference import AgainstReference, against_reference, majority
from axisjudge.stats.rates.correction import SAMPLING, Sampling
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given

#: Who gives labels: people, planted truth, and simulated people (simulated judges do not).
BY_PEOPLE = BY_LABELLER | (pl.col("family") == FAMILY)

#: The word that means failure, by scale; other scales have none.
FAILING = {"verdict": "incorrect", "step": "-1"}
UNDECIDED = ("uncertain",)


class DrawProblem(StrEnum):
    """Why labels correct nothing although they say how they were drawn."""

    SEVERAL_WAYS = "labels were drawn in several ways ({}): compare them apart"
    TWO_PROBABILITIES = "two labels of {} state different probabilities"
    LOOKED_AT = "no rate follows from items chosen because judges disagree on them"
    OTHER_JUDGE = "labels were drawn by {}, and the probabilities were not recorded"


@dataclass(frozen=True, eq=False)
class Drawn:
    """How the labelled items were drawn: the way, the probabilities and the key that decided, where recorded.

    `problem` says why the draw cannot be used, and `detail` of what; `in_full` says that every item is labelled.
    """

    sampling: Sampling
    probability: Floats | None = None
    key: str | None = None
    problem: DrawProblem | None = None
    detail: str = ""
    in_full: bool = False

    @property
    def chosen(self) -> bool:
        """Whether shares among the labelled items are not those of all items."""
        return not self.in_full and self.sampling in ("by_judge_verdict", "by_key", "by_human_label", *LOOKED_AT)

    @property
    def reason(self) -> str:
        """The problem in words; empty where there is none."""
        return "" if self.problem is None else self.problem.format(self.detail)


@dataclass(frozen=True, eq=False)
class LabelledPanel:
    """Items of one question x judges and people; `runs` are the trajectories that the items are of.

    `judged` and `labelled` hold positions in `categories`, NaN where a rater gave nothing; `asked` says which judge was
    asked. `clusters` is None, and `cluster_unit` the item, where no two items belong together. `cited` holds, by rater
    and item, the cited steps. `n_unjudged` counts labelled items that no judge rated; they are left out.
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
    cited: dict[str, dict[str, list[int] | None]]
    drawn: Drawn
    n_unjudged: int = 0

    @property
    def failing(self) -> int | None:
        """Position of the word that means failure; None where the scale knows no failure."""
        word = FAILING.get(self.scale)
        return None if word is None else self.categories.index(word)

    @property
    def undecided(self) -> tuple[int, ...]:
        """Positions of words that take no side."""
        return tuple(self.categories.index(word) for word in UNDECIDED if word in self.categories)

    @property
    def sides(self) -> dict[str, int]:
        """The words that take a side, with their positions."""
        return {word: code for code, word in enumerate(self.categories) if word not in UNDECIDED}

    @property
    def decided_labels(self) -> Floats:
        """People's words, with those that take no side as NaN."""
        return np.where(np.isin(self.labelled, self.undecided), np.nan, self.labelled)

    @property
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

    @property
    def ordered(self) -> bool:
        """Whether the words have an order."""
        return self.grades or self.scale == "step"

    @property
    def against(self) -> partial[AgainstReference]:
        """Compares a rater's words with a reference for the same items."""
        words = partial(against_reference, n_categories=len(self.categories), failing=self.failing)
        grouped = partial(words, clusters=self.clusters, cluster_unit=self.cluster_unit)
        return partial(grouped, undecided=self.undecided, ordered=self.ordered)

    def steps(self, rater: str, item: int) -> list[int]:
        """The steps that a rater cites for the item at a position."""
        return self.cited[rater].get(self.items[item]) or []

    def failed(self, codes: Floats) -> Floats:
        """1 where the word means failure, 0 for any other that takes a side, NaN otherwise."""
        given = ~np.isnan(codes) & ~np.isin(codes, self.undecided)
        return np.where(given, codes == self.failing, np.nan)


def prepared(ratings: Given, labels: Given, repeat: int, step_level: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judges' and people's rows, without runs that have no messages (their ratings follow from the definition)."""
    tables = [as_ratings(table, where=name) for name, table in (("ratings", ratings), ("labels", labels))]
    chosen = [
        table.filter((pl.col("step_index").is_not_null() == step_level) & (pl.col("repeat") == repeat) & ~EMPTY_RUN)
        for table in tables
    ]
    judges, people = chosen[0].filter(~BY_PEOPLE), chosen[1].filter(BY_PEOPLE & pl.col("verdict").is_not_null())
    numbers = chosen[1].filter(BY_PEOPLE & pl.col("value").is_not_null())["scale"]
    if people.is_empty() and len(numbers):
        rule = "are numbers, which are near or far from a judge's and never right or wrong"
        raise InputError("labels", rule, numbers[0], "axisjudge agreement gives their ICC and interval alpha")
    if people.is_empty():
        raise InputError("labels", "must hold labels of people, or planted truth", cure="check the file and step level")
    if judges.is_empty():
        raise InputError("ratings", "must hold ratings of judges on such items", cure="check the file and step level")
    return judges, people


def labelled_panel(
    judges: pl.DataFrame, people: pl.DataFrame, question: str, *, sampling: str | None, cluster_unit: str
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
    raters = [
        table.select("family", "rater").unique().sort("family", "rater")["rater"].to_list() for table in (asked, labels)
    ]
    both = pl.concat([asked, labels])
    step_level = bool(both["step_index"].is_not_null().any())
    matrix = to_matrix(both, question, raters=[*raters[0], *raters[1]], repeat=both["repeat"][0], step_level=step_level)
    n_judges, row_of = len(raters[0]), {item: row for row, item in enumerate(matrix.items)}
    was_asked = np.zeros((len(matrix.items), n_judges), dtype=bool)
    for item, rater in asked.select("item_id", "rater").iter_rows():
        was_asked[row_of[item], raters[0].index(rater)] = True
    agent = dict(both.drop_nulls("agent").select("item_id", "agent").iter_rows())
    run = dict(both.select("item_id", "trajectory_id").iter_rows())
    clusters = np.unique(np.array(matrix.clusters), return_inverse=True)[1].astype(np.intp)
    grouped = clusters.max(initial=-1) + 1 < clusters.size
    words = matrix.codes[:, n_judges:]
    return LabelledPanel(
        question=question,
        scale=str(both["scale"][0]),
        items=matrix.items,
        runs=tuple(run[item] for item in matrix.items),
        judged=matrix.codes[:, :n_judges],
        asked=was_asked,
        labelled=words,
        categories=matrix.categories,
        judges=tuple(raters[0]),
        families=matrix.families[:n_judges],
        people=tuple(raters[1]),
        agents=np.array([agent.get(item) for item in matrix.items], dtype=object),
        clusters=clusters if grouped else None,
        cluster_unit=cluster_unit if grouped else "item",
        cited={
            str(rater): dict(rows.select("item_id", "cited_step_indices").iter_rows())
            for (rater,), rows in both.group_by("rater", maintain_order=True)
        },
        drawn=_drawn(labels, row_of, sampling, bool((~np.isnan(words)).any(axis=1).all())),
        n_unjudged=every_label["item_id"].n_unique() - labels["item_id"].n_unique(),
    )


def _drawn(labels: pl.DataFrame, row_of: dict[str, int], sampling: str | None, all_labelled: bool) -> Drawn:
    """What the labels say of their draw, else what `sampling` says; a full count needs no draw."""
    given = cast(Sampling, one_of("sampling", sampling or "unknown", SAMPLING))
    if all_labelled:
        return Drawn(given if sampling else "random", in_full=True)
    stated = with_drawn(labels).with_columns(pl.col("drawn").replace("unknown", given))
    if sampling and (other := sorted(set(stated["drawn"]) - {given})):
        cure = "leave sampling out, or import the labels again"
        raise InputError("sampling", f"{given} is not what the labels say of their draw", other[0], cure)
    ways = stated.select("drawn", "drawn_by").unique().sort("drawn", "drawn_by").rows()
    if ways and {way for way, _ in ways} <= set(LOOKED_AT):
        return Drawn(ways[0][0], problem=DrawProblem.LOOKED_AT)
    if len(ways) != 1:
        names = ", ".join(sorted({way for way, _ in ways})) or "none"
        return Drawn("unknown", problem=DrawProblem.SEVERAL_WAYS, detail=names)
    way, key = ways[0]
    if stated["drawn_probability"].null_count():
        return Drawn(way, key=key)
    probability = np.full(len(row_of), np.nan)
    for item, value in stated.select("item_id", "drawn_probability").iter_rows():
        if not np.isnan(known := probability[row_of[item]]) and known != value:
            return Drawn("unknown", problem=DrawProblem.TWO_PROBABILITIES, detail=item)
        probability[row_of[item]] = value
    return Drawn(way, probability, key)


def questions_of(people: pl.DataFrame, judges: pl.DataFrame, wanted: Sequence[str] | None) -> list[str]:
    """The questions that both answered on some item, in the order of the judges' table, or those that are wanted."""
    both = judges.filter(pl.col("scale") != "unit").join(people, on=["question", "item_id"], how="semi")
    common = set(both["question"])
    if wanted is not None:
        return [one_of("question", name, sorted(common)) for name in wanted]
    if not common:
        rule = "must answer a question about an item that judges answered too"
        raise InputError("labels", rule, sorted(set(people["question"])), "check that the trajectory ids are the same")
    return [name for name in judges["question"].unique(maintain_order=True) if name in common]
