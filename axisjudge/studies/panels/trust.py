"""Which verdicts of a panel, or of one judge, may stand without a person, with a bound on their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, in_open_unit_interval, one_of
from axisjudge.judges.pricing import LISTED_AT, Tokens, cost_usd
from axisjudge.results import Result
from axisjudge.stats.escalation import Alone, decides_alone
from axisjudge.stats.estimate import ClusteredShare, Estimate
from axisjudge.stats.panel_models import PanelVotes, accuracies, held_out, probability_of
from axisjudge.stats.panel_nested import CascadeRates, cascade, kappa_with, price_of, stage_of
from axisjudge.stats.panel_ways import stacked
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.stats.uneven_draws import comparable_features, drawn_apart
from axisjudge.studies._shared.frames import Floats
from axisjudge.studies.panels.voted import DrawScheme, FittedPanel, Voted


class TrustVerdict(StrEnum):
    """What may be said of verdicts that would stand without a person."""

    GRANTED = "granted"
    NO_LABELS = "no_labels"
    DRAW = "draw"
    TUNED = "tuned"
    APART = "apart"
    UNLABELLED = "unlabelled"
    NOT_SHOWN = "not_shown"


@dataclass(frozen=True)
class TrustStratum(Result):
    """Items of one word or one agent: how many verdicts stand, and the error among those that people labelled."""

    by: str
    name: str
    n_items: int
    n_kept: int
    error: ClusteredShare

    @property
    def share(self) -> float:
        """Share of the stratum's items that stand."""
        return self.n_kept / self.n_items if self.n_items else 0.0


@dataclass(frozen=True)
class Trust(Result):
    """What may stand without a person.

    `alone` holds threshold, share kept, the error among the kept and its bound; `strata` the same by the word that was
    given and by agent. `n_tuned` labelled items were left out because the panel was fitted on their tasks (0 where
    `cross_fitted` says that probabilities of fits without their task stand in). A verdict `within` so many steps of
    people's counts as right. Agents and words in `unlabelled` have no label, and nothing of theirs stands;
    `apart` names in what labelled items differ from the others although the draw is said to be random.
    """

    subject: str
    question: str
    verdict: TrustVerdict
    alone: Alone
    strata: tuple[TrustStratum, ...]
    n_items: int
    n_labelled: int
    n_tuned: int
    draw: DrawScheme
    cluster_unit: str
    cross_fitted: bool = False
    within: int = 0
    unlabelled: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def granted(self) -> bool:
        """Whether any verdict may stand."""
        return self.verdict is TrustVerdict.GRANTED

    @property
    def n_kept(self) -> int:
        """How many verdicts stand."""
        return round(self.alone.share * self.alone.n_items)

    @property
    def share(self) -> float:
        """Share of the verdicts that stand."""
        return self.n_kept / self.n_items

    @property
    def n_labelled_kept(self) -> int:
        """How many of those that stand have a label."""
        return 0 if self.alone.error is None else self.alone.error.n_items

    @property
    def n_rest(self) -> int:
        """How many items people read: those below the threshold, and those without a verdict."""
        return self.n_items - self.n_kept

    @property
    def worst(self) -> TrustStratum | None:
        """The stratum with the highest error among ten labelled kept items or more; None where there is none."""
        known = [each for each in self.strata if each.error.n_items >= FEWEST_OF_STRATUM]
        return max(known, key=lambda each: each.error.estimate) if known else None


#: Labelled kept items below which no stratum is called the worst.
FEWEST_OF_STRATUM = 10


def trust_panel(
    panel: FittedPanel,
    votes: Voted,
    *,
    risk: float = 0.05,
    level: float = 0.95,
    cross_fitted: bool = False,
    within: int = 0,
) -> Trust:
    """What of a fitted panel's verdicts may stand.

    Labels of tasks that the panel was fitted on would flatter it, and are left out; with `cross_fitted` the
    probabilities from fits without the item's task stand in for them, which is nearly and not exactly what the bound
    takes for granted.

    Parameters
    ----------
    votes : Voted
        The judges' votes with the labels that the bound is to rest on.
    risk, level : float
        The error allowed among the verdicts that stand, and how sure the bound must be.
    within : int
        On words with an order: a verdict so many steps from people's is no error.
    """
    p = panel.probabilities(votes)
    fitted_on = set(panel.tuned_on)
    labels = votes.labels
    tuned = np.array([task in fitted_on for task in votes.tasks]) & ~np.isnan(labels)
    if cross_fitted:
        for row in np.flatnonzero(tuned):
            p[row] = panel.held_out.get(votes.items[row], (np.nan,) * len(panel.categories))
    left = replace(votes, labels=labels if cross_fitted else np.where(tuned, np.nan, labels))
    if tuned.any() and not cross_fitted and left.draw is DrawScheme.FULL:
        left = replace(left, draw=DrawScheme.RANDOM)  # whole tasks were left out, whatever their labels
    words = panel.words(p)
    sure = probability_of(words, p, within)
    n_tuned = 0 if cross_fitted else int(tuned.sum())
    trust = _trust(panel.rater, left, words, sure, risk, level, n_tuned, within)
    return replace(trust, cross_fitted=cross_fitted and bool(tuned.any()))


def trust_judge(votes: Voted, judge: str, *, risk: float = 0.05, level: float = 0.95, within: int = 0) -> Trust:
    """What of one judge's verdicts may stand, by its own confidence; `within` as in `trust_panel`.

    Raises
    ------
    InputError
        No such judge, or it gave no confidences, or some of two sources.
    """
    column = votes.judges.index(one_of("judge", judge, votes.judges))
    if judge in votes.two_sources:
        cure = "filter the ratings to one confidence_source"
        raise InputError(f"confidences of {judge}", "must be of one source", cure=cure)
    sure = votes.confidences[:, column]
    if np.isnan(sure).all():
        cure = "fit a panel: its probabilities serve as confidences"
        raise TooLittle(f"judge {judge}", "gave no confidences", None, cure)
    words = votes.words[:, column]
    return _trust(judge, votes, words, np.where(np.isnan(words), np.nan, sure), risk, level, 0, within)


def _trust(
    subject: str, votes: Voted, words: Floats, sure: Floats, risk: float, level: float, n_tuned: int, within: int
) -> Trust:
    in_open_unit_interval("risk", risk)
    if within and not (votes.ordered and 0 < within < len(votes.categories) - 1):
        raise InputError("within", "must lie between 0 and the steps of a scale with an order", within, "leave it out")
    if not 0.5 < level < 1:
        raise InputError("level", "must lie above .5 and below 1", level)
    labelled = ~np.isnan(votes.labels)
    wrong = np.where(labelled & ~np.isnan(words), np.abs(words - votes.labels) > within, np.nan)
    tasks = np.unique(np.array(votes.tasks), return_inverse=True)[1]
    n_labelled = int((labelled & ~np.isnan(sure)).sum())
    known = comparable_features(votes.words, votes.categories, agents=votes.agents)
    families = known if votes.draw is DrawScheme.RANDOM else ()
    apart = tuple(name for features in families for name in drawn_apart(labelled, features, tasks))
    unlabelled, unseen = _unlabelled(votes, words, labelled & ~np.isnan(sure))
    refused = {
        TrustVerdict.TUNED: not n_labelled and bool(n_tuned),
        TrustVerdict.NO_LABELS: not n_labelled,
        TrustVerdict.DRAW: not votes.draw.carries,
        TrustVerdict.APART: bool(apart),
        TrustVerdict.UNLABELLED: bool(np.isnan(sure[~unseen]).all()),
    }
    if why := [verdict for verdict, holds in refused.items() if holds]:
        verdict = why[0]
        alone = Alone(0.0, np.nan, None, risk, level, int((~np.isnan(sure)).sum()), verdict.value)
    else:
        sure, terms = np.where(unseen, np.nan, sure), {"weights": votes.weights, "cluster_unit": votes.cluster_unit}
        alone = decides_alone(sure, wrong, tasks, risk=risk, confidence_level=level, **terms)  # type: ignore[arg-type]
        verdict = TrustVerdict.NOT_SHOWN if alone.refusal else TrustVerdict.GRANTED
    kept = sure >= alone.threshold  # False everywhere where the threshold is NaN
    return Trust(
        subject=subject,
        question=votes.question,
        verdict=verdict,
        alone=alone,
        strata=_strata(votes, words, kept, wrong, tasks, level) if verdict is TrustVerdict.GRANTED else (),
        n_items=len(votes.items),
        n_labelled=n_labelled,
        n_tuned=n_tuned,
        draw=votes.draw,
        cluster_unit=votes.cluster_unit,
        within=within,
        unlabelled=unlabelled,
        apart=apart,
    )


def _unlabelled(votes: Voted, words: Floats, labelled: NDArray[np.bool_]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Words and agents of which no item has a label, and their items: a bound says nothing of these."""
    of_word = {f"word {name}": words == code for code, name in enumerate(votes.categories)}
    of_agent = {f"agent {name}": np.array(votes.agents) == name for name in sorted(set(votes.agents) - {""})}
    every = {name: inside for name, inside in {**of_word, **of_agent}.items() if inside.any()}
    lacking = {name: inside for name, inside in every.items() if not labelled[inside].any()}
    return tuple(lacking), np.any([np.zeros(len(votes.items), dtype=bool), *lacking.values()], axis=0)


def _strata(
    votes: Voted, words: Floats, kept: NDArray[np.bool_], wrong: Floats, tasks: NDArray[np.intp], level: float
) -> tuple[TrustStratum, ...]:
    """By the word that was given and by agent, where there are several."""
    agents = sorted(set(votes.agents) - {""})
    parts = [("word", name, words == code) for code, name in enumerate(votes.categories)]
    parts += [("agent", name, np.array(votes.agents) == name) for name in agents if len(agents) > 1]
    how: dict[str, Any] = {"weights": votes.weights, "cluster_unit": votes.cluster_unit, "ci_level": 2 * level - 1}
    return tuple(
        TrustStratum(by, name, int(inside.sum()), int((kept & inside).sum()), error)
        for by, name, inside in parts
        if inside.any()
        for error in [clustered_proportion(np.where(kept & inside, wrong, np.nan), tasks, **how)]
    )


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

    @property
    def what(self) -> str:
        """What it is, of a cascade with the confidence below which the next judge is asked."""
        return self.kind.value if self.sure is None else f"{self.kind.value} at {self.sure:g}"

    @property
    def named(self) -> str:
        """Its judges in a row."""
        return ", ".join(self.judges)


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
    terms: dict[str, Any] = {"weights": seen.weights, "cluster_unit": votes.cluster_unit}

    def point(kind: PointKind, columns: Sequence[int], words: Floats, price: float, sure: float | None = None) -> Point:
        wrong = (words != seen.labels).astype(float)  # NaN differs from any label
        error = clustered_proportion(wrong, seen.groups, **terms)
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
            bound = {"risk": risk, "confidence_level": level} | terms
            guaranteed = cascade(sure, wrong, cost[ladder].tolist(), seen.groups, **bound)
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
) -> dict[str, float | None]:
    """US dollars an item for each judge; None where nobody knows, which is not free.

    In this order: what `prices` says; 0 for judges, models or families named in `local`; the mean cost that the ratings
    record; 0 for programs; the list price of a call of `TOKENS` by genai-prices.

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
    judges = list(zip(votes.judges, votes.families, votes.models, strict=True))
    free = {judge: 0.0 for judge, *of in judges if {judge, *of} & set(local)}
    programs = ratings.filter(pl.col("rater_kind").is_in(["rules", "simulated"]))["rater"].unique()
    known: dict[str, float | None] = {**dict.fromkeys(programs, 0.0), **paid, **free, **given}
    return {
        judge: known[judge] if judge in known else cost_usd(TOKENS, model, judge, at=LISTED_AT)
        for judge, _, model in judges
    }
