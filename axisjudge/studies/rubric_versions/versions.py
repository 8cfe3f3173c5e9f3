"""Two versions of one rubric on the same runs: the ratings of both as arrays, and what stands aside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, EMPTY_RUN, VERDICT_ON_RUN, once
from axisjudge.stats.agreement.soft import beliefs
from axisjudge.stats.comparisons.progress import mean_of_repeats
from axisjudge.studies._shared.arrays import Floats, words_of
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.ranked_confidence import fitted_maps
from axisjudge.verdict import VERDICTS

#: The side of a split on which rubrics are tuned, and the sides on which they are not, unless a split says otherwise.
CALIBRATION, HELD_OUT = "calibration", ("evaluation",)


class RankedOver(StrEnum):
    """The ratings among which confidences are ranked."""

    CALIBRATION = "the calibration split"
    NO_SPLIT = "these ratings, which name no split"


@dataclass(frozen=True)
class UncomparedRatings:
    """Ratings that do not enter; `lost` ones stand in the table and count neither way."""

    held_out: int
    empty_runs: int
    one_version_only: int
    lost: int


@dataclass(frozen=True, eq=False)
class Versions:
    """Ratings of one axis under two rubric versions, by the judges and on the runs that both have.

    `codes` holds positions in `VERDICTS`, `confidences` and `ranks` (mid-ranks among the judge's own, see `_ranks`)
    have the same shape: versions (before, after) x items x judges x repeats, NaN where nothing came. `clusters` are
    numbers from 0. `aside` names the judges that read no rubric, `left_out` counts what does not enter.
    """

    axis: str
    before: str
    after: str
    judges: tuple[str, ...]
    families: tuple[str, ...]
    items: tuple[str, ...]
    clusters: NDArray[np.intp]
    codes: Floats
    confidences: Floats
    ranks: Floats
    ranked_over: RankedOver
    same_text: bool
    aside: tuple[str, ...]
    left_out: UncomparedRatings

    @property
    def names(self) -> tuple[str, str]:
        """The two versions, the older first."""
        return self.before, self.after

    @property
    def n_repeats(self) -> tuple[int, int]:
        """How often each version was asked."""
        first, second = (~np.isnan(self.codes).all(axis=(1, 2))).sum(axis=1).tolist()
        return first, second

    @cached_property
    def verdicts(self) -> Floats:
        """Each judge's commonest verdict over the repeats: versions x items x judges."""
        return commonest(self.codes)

    @property
    def flipped(self) -> NDArray[np.bool_]:
        """Where a judge's commonest verdict is another one: items x judges."""
        before, after = self.verdicts
        return np.asarray(~np.isnan(before) & ~np.isnan(after) & (before != after))

    @cached_property
    def beliefs(self) -> Floats:
        """Each judge's mean belief that the run is correct, on its own scale: versions x items x judges."""
        return mean_of_repeats(beliefs(words_of(self.codes, VERDICTS), self.confidences))

    @property
    def agreement(self) -> Floats:
        """Share of pairs of judges with one verdict: versions x items x repeats, NaN without a pair of verdicts."""
        one, other = np.array(list(combinations(range(len(self.judges)), 2))).T
        first, second = self.codes[:, :, one], self.codes[:, :, other]
        both = ~(np.isnan(first) | np.isnan(second))
        n_pairs = both.sum(axis=2)
        return np.where(n_pairs > 0, (first == second).sum(axis=2) / np.maximum(n_pairs, 1), np.nan)

    def stacked(self, of: Floats, version: int) -> tuple[Floats, NDArray[np.intp]]:
        """Items of all repeats of one version, one under the other, x judges; and their clusters."""
        repeats = [at for at in range(of.shape[3]) if not np.isnan(self.codes[version, :, :, at]).all()]
        return np.concatenate([of[version, :, :, at] for at in repeats]), np.tile(self.clusters, len(repeats))


def read_versions(
    ratings: Given, axis: str, before: str, after: str, *, held_out: Sequence[str] = HELD_OUT
) -> tuple[Versions, pl.DataFrame]:
    """The ratings of `axis` under two rubric versions, and the rows behind them.

    Ratings of held-out tasks (`split` is one of the sides `held_out`) never enter: a rubric is not tuned on them.

    Raises
    ------
    InputError
        A version without ratings, fewer than two judges or no run in common, several ratings for one run, judge,
        version and repeat, a version whose text changed after it had judged, or nothing but held-out ratings.
    """
    if before == after:
        raise InputError("versions", "must be two different ones", before)
    where = f"ratings of {axis}"
    asked = as_ratings(ratings).filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("question") == axis)
    is_open = ~pl.col("split").is_in(list(held_out)).fill_null(False)
    open_to_tuning = asked.filter(is_open)
    if open_to_tuning.is_empty() and not asked.is_empty():
        rule = "a rubric is compared on the calibration side; all these ratings are of held-out tasks"
        raise InputError(where, rule, cure="judge the calibration split")
    reading = open_to_tuning.filter(pl.col("rubric_version").is_not_null())
    under_both = reading.filter(pl.col("rubric_version").is_in([before, after]))
    chosen = under_both.filter(~EMPTY_RUN)
    _check(axis, reading, chosen, (before, after))
    judges = _in_both(chosen, "rater", before, after)
    if len(judges) < 2:
        cure = "have a second judge, of another family, grade both versions"
        raise TooLittle(where, "agreement needs two judges that rated both versions", judges, cure)
    of_judges = chosen.filter(pl.col("rater").is_in(judges))
    items = _in_both(of_judges, "item_id", before, after)
    if not items:
        raise TooLittle(where, f"no run was judged under {before} and {after}", cure="judge the same runs")
    table = of_judges.filter(pl.col("item_id").is_in(items)).sort("item_id", "rater", "rubric_version", "repeat")
    panel = table.select("family", "rater").sort("family", "rater").unique("rater", keep="first", maintain_order=True)
    cube, clusters = _cubes(table, items, panel["rater"].to_list(), (before, after))
    ranks, ranked_over = _ranks(ratings, is_open, panel["rater"].to_list(), cube["confidence"])
    texts = table.group_by("rubric_version").agg(pl.col("rubric_sha256").first())["rubric_sha256"]
    pair = Versions(
        axis=axis,
        before=before,
        after=after,
        judges=tuple(panel["rater"]),
        families=tuple(panel["family"]),
        items=tuple(items),
        clusters=clusters,
        codes=cube["code"],
        confidences=cube["confidence"],
        ranks=ranks,
        ranked_over=ranked_over,
        same_text=texts.n_unique() == 1 and texts.null_count() == 0,
        aside=tuple(open_to_tuning.filter(pl.col("rubric_version").is_null())["rater"].unique().sort()),
        left_out=UncomparedRatings(
            held_out=asked.height - open_to_tuning.height,
            empty_runs=under_both.height - chosen.height,
            one_version_only=chosen.height - table.height,
            lost=table.filter(pl.col("status") != "ok").height,
        ),
    )
    return pair, table


def commonest(codes: Floats) -> Floats:
    """The commonest verdict over repeats, of equally common ones that given first; shape (..., repeats) -> (...)."""
    best = (codes[..., :, None] == codes[..., None, :]).sum(axis=-1).argmax(axis=-1)  # NaN equals nothing
    return np.asarray(np.take_along_axis(codes, best[..., None], axis=-1)[..., 0])


def _check(axis: str, reading: pl.DataFrame, chosen: pl.DataFrame, versions: tuple[str, str]) -> None:
    where = f"ratings of {axis}"
    for version in versions:
        mine = chosen.filter(pl.col("rubric_version") == version)
        if mine.is_empty():
            cure = f"judge it first (versions={{'{axis}': '{version}'}}); judges that read no rubric do not count"
            raise TooLittle(where, f"none under {version}", sorted(set(reading["rubric_version"])), cure)
        if mine["verdict"].null_count() == mine.height:
            rule = f"every verdict under {version} is lost, so that there is nothing to compare"
            raise TooLittle(where, rule, f"{mine.height} lost", "judge again: lost verdicts are asked anew")
        if (texts := mine["rubric_sha256"].drop_nulls().unique().sort().to_list())[1:]:
            rule = f"{version} was edited after it had judged: its ratings carry {len(texts)} texts"
            raise InputError(where, rule, [text[:12] for text in texts], "write the next version instead")
    rule = "one rating for each run, judge, rubric version and repeat"
    cure = "filter by prompt_sha256 or rater_version first"
    once(chosen, "item_id", "rater", "rubric_version", "repeat", rule=rule, where=where, cure=cure)


def _in_both(table: pl.DataFrame, column: str, before: str, after: str) -> list[str]:
    """Values of a column that occur under both versions, sorted."""
    of = [set(table.filter(pl.col("rubric_version") == version)[column]) for version in (before, after)]
    return sorted(of[0] & of[1])


def _cubes(
    table: pl.DataFrame, items: Sequence[str], judges: Sequence[str], versions: tuple[str, str]
) -> tuple[dict[str, Floats], NDArray[np.intp]]:
    """Codes and confidences as versions x items x judges x repeats, and the items' clusters."""
    repeats = table["repeat"].unique().sort().to_list()
    sides = {"rubric_version": versions, "item_id": items, "rater": judges, "repeat": repeats}
    at = tuple(_places(table, column, known).to_numpy() for column, known in sides.items())
    given = table.select(pl.when(pl.col("verdict").is_not_null()).then("confidence"))["confidence"]
    values = {"code": _places(table, "verdict", VERDICTS), "confidence": given}
    cubes = {name: np.full([len(known) for known in sides.values()], math.nan) for name in values}
    for name, column in values.items():
        cubes[name][at] = column.cast(pl.Float64).fill_null(math.nan).to_numpy()
    first = table.unique("item_id", keep="first").sort("item_id")
    clusters = np.unique(first["cluster_id"].to_numpy(), return_inverse=True)[1].astype(np.intp)
    return cubes, clusters


def _places(table: pl.DataFrame, column: str, known: Sequence[Any]) -> pl.Series:
    """The position of each value of a column among those that are known."""
    return table[column].replace_strict(list(known), list(range(len(known))), return_dtype=pl.Int64)


def _ranks(ratings: Given, is_open: pl.Expr, judges: Sequence[str], confidences: Floats) -> tuple[Floats, RankedOver]:
    """Each judge's confidences as mid-ranks among its own under all rubric versions and axes of the calibration side.

    Ranks taken within a version would erase the very shift that should show.
    """
    given = as_ratings(ratings).filter(
        pl.col("rater").is_in(list(judges)) & pl.col("confidence").is_not_null() & is_open
    )
    maps, named = fitted_maps(given)
    ranks = np.full(confidences.shape, math.nan)
    for number, judge in enumerate(judges):
        if judge in maps:
            ranks[:, :, number] = maps[judge](confidences[:, :, number], source=judge)
    return ranks, RankedOver.CALIBRATION if named else RankedOver.NO_SPLIT
