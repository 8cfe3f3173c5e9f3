"""Error and kappa against price: single judges, pairs, cascades and fitted panels, on tasks they were not fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.judges.pricing import LISTED_AT, Tokens, cost_usd
from axisjudge.results import Result
from axisjudge.stats.estimate import ClusteredShare, Estimate
from axisjudge.stats.panels.cascade import CascadeRates, cascade, price_of, stage_of
from axisjudge.stats.panels.linear import probability_of
from axisjudge.stats.panels.nested import kappa_with
from axisjudge.stats.panels.stacking import stacked
from axisjudge.stats.panels.votes import PanelVotes, accuracies, held_out
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies.panels.voted import Voted

Floats = NDArray[np.float64]

#: Confidences at which a stage of a cascade keeps an item.
SURE = (0.7, 0.8, 0.9)
#: The penalty with which judges of a point are weighted: few judges need little.
PENALTY = 10.0
#: Sizes of fitted panels, of the best judges first; judges of a cascade.
SIZES, STAGES = (3, 5, 8), 4


class PointKind(StrEnum):
    """What a point of the frontier is."""

    SINGLE = "single judge"
    PAIR = "pair"
    PANEL = "fitted panel"
    CASCADE = "cascade"


@dataclass(frozen=True)
class Point(Result):
    """One way of spending money on an item: its price in US dollars, its error and its kappa on tasks left out."""

    kind: PointKind
    judges: tuple[str, ...]
    price: float
    error: ClusteredShare
    kappa: Estimate
    dominated: bool
    sure: float | None = None


@dataclass(frozen=True)
class Frontier(Result):
    """All points, and the cascade with a guarantee. `unpriced` judges have no known price and are in no point.

    `by_kappa` says that points are compared by their kappa with people: words have an order, and near misses count.
    """

    points: tuple[Point, ...]
    unpriced: tuple[str, ...]
    ladder: tuple[str, ...]
    guaranteed: CascadeRates | None
    by_kappa: bool = False

    @property
    def best(self) -> tuple[Point, ...]:
        """The points that no other one beats in price and error, cheapest first."""
        return tuple(sorted((point for point in self.points if not point.dominated), key=lambda point: point.price))


def frontier(
    votes: Voted,
    prices: Mapping[str, float | None],
    *,
    order: Sequence[str] = (),
    risk: float = 0.1,
    level: float = 0.95,
    seed: int = 0,
) -> Frontier:
    """Error against price, on tasks left out; on words in order kappa with people (quadratic weights) against price.

    Judges of a point are weighted by the labels of the other tasks (`logistic` or `ordered`), single judges stand as
    they are. A cascade asks the judges of `order` in turn, else the undominated single judges from the cheapest on; an
    item stays with the first stage that is sure enough of it, the last one takes the rest. The cascade with a guarantee
    (`guaranteed`) leaves the rest to people.

    Raises
    ------
    InputError
        `order` names a judge that is not there or has no price, or one twice.
    """
    if len(set(order)) < len(order):
        raise InputError("cascade", "asks each judge once", ", ".join(order))
    for name in order:
        if prices.get(one_of("cascade", name, votes.judges)) is None:
            raise InputError("cascade", "a judge in it needs a price", name, "give one with prices, or name it local")
    arrays = votes.votes
    known = [column for column, name in enumerate(votes.judges) if prices.get(name) is not None]
    unpriced = tuple(name for name in votes.judges if prices.get(name) is None)
    cost = np.array([prices.get(name) or 0.0 for name in votes.judges])
    seen = arrays.only(arrays.labelled)
    if np.isnan(seen.words).all() or not known:
        return Frontier((), unpriced, (), None)
    terms = {"weights": seen.weights, "cluster_unit": votes.cluster_unit}

    def point(kind: PointKind, columns: Sequence[int], words: Floats, price: float, sure: float | None = None) -> Point:
        wrong = (words != seen.labels).astype(float)  # NaN differs from any label
        error = clustered_proportion(wrong, seen.groups, **terms)  # type: ignore[arg-type]
        kappa = kappa_with(words, seen, cluster_unit=votes.cluster_unit)
        return Point(kind, tuple(votes.judges[column] for column in columns), price, error, kappa, False, sure)

    points = [point(PointKind.SINGLE, [j], seen.words[:, j], float(cost[j])) for j in known]
    ladder = [votes.judges.index(name) for name in order] or _ladder(points, votes.judges, votes.ordered)
    ranked = [j for j in np.argsort(-accuracies(seen), kind="stable").tolist() if j in set(known)]
    groups = [(PointKind.PAIR, list(pair)) for pair in combinations(ranked[:PAIRED], 2)]
    groups += [(PointKind.PANEL, ranked[:size]) for size in SIZES if size <= len(ranked)]
    groups += [(PointKind.PANEL, known)] if len(known) > max(SIZES) else []
    for kind, columns in groups:
        words = _held_out(seen, columns, seed)[0]
        points.append(point(kind, columns, words, float(cost[columns].sum())))
    guaranteed = None
    if len(ladder) > 1:
        stages = [_held_out(seen, ladder[: stage + 1], seed) for stage in range(len(ladder))]
        words, sure = (np.column_stack(each) for each in zip(*stages, strict=True))
        for limit in SURE:
            stage = np.minimum(stage_of(sure, limit), len(ladder) - 1)
            price = price_of(stage, cost[ladder].tolist())
            points.append(point(PointKind.CASCADE, ladder, words[np.arange(len(stage)), stage], price, limit))
        wrong = np.where(np.isnan(words), np.nan, words != seen.labels[:, None])
        if votes.draw.carries:
            guaranteed = cascade(
                sure,
                wrong,
                cost[ladder].tolist(),
                seen.groups,
                risk=risk,
                confidence_level=level,
                **terms,  # type: ignore[arg-type]
            )
    marked = tuple(replace(each, dominated=_dominated(each, points, votes.ordered)) for each in points)
    return Frontier(marked, unpriced, tuple(votes.judges[j] for j in ladder), guaranteed, votes.ordered)


#: Pairs are made of so many of the best judges: pairs of others are beaten by one of theirs.
PAIRED = 8


def _ladder(points: Sequence[Point], judges: Sequence[str], by_kappa: bool) -> list[int]:
    """The single judges that none beats, from the cheapest, the best of those beyond `STAGES`."""
    best = sorted((each for each in points if not _dominated(each, points, by_kappa)), key=lambda each: each.price)
    return [judges.index(each.judges[0]) for each in best][-STAGES:]


def _dominated(point: Point, points: Sequence[Point], by_kappa: bool) -> bool:
    """Whether another point is no dearer and errs no more, and is better in one of the two."""

    def cost(each: Point) -> tuple[float, float]:
        return each.price, -np.nan_to_num(each.kappa.estimate) if by_kappa else each.error.estimate

    mine = cost(point)
    return any(cost(other)[0] <= mine[0] and cost(other)[1] <= mine[1] and cost(other) != mine for other in points)


def _held_out(votes: PanelVotes, columns: Sequence[int], seed: int) -> tuple[Floats, Floats]:
    """Words of these judges together and their probabilities, each task's from a fit without it."""
    families = tuple(votes.families[column] for column in columns)
    some = replace(votes, words=votes.words[:, list(columns)], families=families)
    words, sure = np.full((2, votes.labels.size), np.nan)
    for training, inside in held_out(some, np.random.default_rng(seed)):
        if not training.labelled.any():  # all labels are of one task
            continue
        panel = stacked(training, PENALTY)
        p = panel.probabilities(some.words[inside])
        words[inside] = panel.words(p)
        sure[inside] = probability_of(words[inside], p)
    return words, sure


#: A typical call of a judge on one item, where the ratings do not say what was paid: prompt and reply, in tokens.
TOKENS = Tokens(input=9_000, output=600)


def item_prices(
    votes: Voted,
    ratings: pl.DataFrame,
    *,
    local: Sequence[str] = (),
    prices: Mapping[str, float] | None = None,
    tokens: Tokens = TOKENS,
) -> dict[str, float | None]:
    """US dollars an item for each judge; None where nobody knows, which is not free.

    In this order: what `prices` says; 0 for judges, models or families named in `local`; the mean cost that the ratings
    record; the list price of a call of `tokens` by genai-prices.

    Raises
    ------
    InputError
        A price for a judge that is not there, or below 0.
    """
    given = dict(prices or {})
    for name, price in given.items():
        if name not in votes.judges or not price >= 0:
            raise InputError("prices", "must name judges of these ratings and be 0 or more", f"{name}={price}")
    paid: dict[str, float] = {}
    if "cost_usd" in ratings.columns:
        costs = ratings.filter(pl.col("cost_usd").is_not_null()).group_by("rater").agg(pl.col("cost_usd").mean())
        paid = dict(costs.iter_rows())
    found: dict[str, float | None] = {}
    for judge, family, model in zip(votes.judges, votes.families, votes.models, strict=True):
        if judge in given:
            found[judge] = given[judge]
        elif {judge, family, model} & set(local):
            found[judge] = 0.0
        else:
            found[judge] = paid.get(judge) if judge in paid else cost_usd(tokens, model, judge, at=LISTED_AT)
    return found
