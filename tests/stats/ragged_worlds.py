"""Ragged designs whose truth is planted: for every interval and rule its own and its competitors', on the same draws.

Competitors: CR3 (leave one cluster out) with t on Kish's effective clusters less one, a studentised bootstrap of
clusters, Jeffreys' interval as if items were independent, and ppi-python. Outcomes share a normal effect of their
cluster on the probit scale, so that shares and correlations of the population are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri, stdtrit
from stats.probit_panels import pattern_probabilities

from axisjudge.datasets.votes import published_votes
from axisjudge.stats.agreement.chance_corrected import (
    agreement_coefficients,
    case_bounds,
    cohen_kappa,
    kappa_when_decided,
)
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, rating_patterns
from axisjudge.stats.agreement.effective import effective_judges
from axisjudge.stats.agreement.soft import soft_agreement
from axisjudge.stats.calibration import reliability_curve
from axisjudge.stats.clusters import STEP_ICC, effective_clusters
from axisjudge.stats.comparisons.equivalence import drift
from axisjudge.stats.comparisons.paired import paired_change, paired_sign_flip
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.link_lines import fractional_line
from axisjudge.stats.proportions import clustered_proportion, jeffreys_interval
from axisjudge.stats.reference import against_reference, balanced_accuracy

Ends = tuple[float, float]
Methods = dict[str, Ends]

SIZES = {
    "5 x 4": [4] * 5,
    "60 x 1": [1] * 60,
    "12 x 4": [4] * 12,
    "50 x 4": [4] * 50,
    "5 x 12": [12] * 5,
    "12 x 12": [12] * 12,
    "25 x 12": [12] * 25,
    "5 of 40..2": [40, 12, 8, 4, 2],
    "12 of 60..2": [60, 20, 10, 5, 5, 3] + [2] * 6,
    "12 geometric": [round(size) for size in np.geomspace(60, 2, 12)],
    "25 of 40..4": [round(size) for size in np.geomspace(40, 4, 25)],
    "50 of 60..2": [round(size) for size in np.geomspace(60, 2, 50)],
    "one of 100, 50 of 2": [100] + [2] * 50,
    "one of 100, 5 of 2": [100] + [2] * 5,
}
RESAMPLES = 199


def cr3_kish(value: np.ndarray, task: np.ndarray) -> Ends:
    """Mean with the leave-one-cluster-out error and t on Kish's effective clusters less one."""
    sums, sizes = np.bincount(task, weights=value), np.bincount(task)
    return left_out(value.mean(), (sums.sum() - sums) / (sizes.sum() - sizes), sizes)


def cr3_kish_of(statistic: Callable[..., float], task: np.ndarray, *rows: np.ndarray) -> Ends:
    """The same of any statistic of rows, one leave-one-cluster-out value after the other."""
    without = [statistic(*(each[task != one] for each in rows)) for one in np.unique(task)]
    return left_out(statistic(*rows), np.array(without), np.bincount(task))


def left_out(whole: float, without: np.ndarray, sizes: np.ndarray) -> Ends:
    half = stdtrit(effective_clusters(sizes) - 1, 0.975) * math.sqrt(float(((without - whole) ** 2).sum()))
    return whole - half, whole + half


def bootstrap_t(value: np.ndarray, task: np.ndarray, rng: np.random.Generator) -> Ends:
    """Studentised bootstrap of whole clusters for a mean."""
    sums, sizes = np.bincount(task, weights=value), np.bincount(task)
    counts = rng.multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size), size=RESAMPLES)
    means = counts @ sums / (counts @ sizes)
    of_cluster = (sums - means[:, None] * sizes) ** 2
    errors = np.sqrt((counts * of_cluster).sum(axis=1)) / (counts @ sizes)
    mean = value.mean()
    error = math.sqrt(((sums - mean * sizes) ** 2).sum()) / value.size
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num((means - mean) / errors, posinf=50, neginf=-50)
    low, high = np.quantile(t, [0.025, 0.975])
    return mean - high * error, mean - low * error


def outcomes(sizes, share, icc, rng):
    task = np.repeat(np.arange(len(sizes)), sizes)
    chance = ndtr((ndtri(share) - math.sqrt(icc) * rng.standard_normal(len(sizes))) / math.sqrt(1 - icc))
    return (rng.random(task.size) < chance[task]).astype(float), task


def informative(
    n_tasks: int, share: float, icc: float, rng: np.random.Generator, *, spread: float = 0.8, related: float = 0.8
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes whose tasks' rates go with their lognormal sizes (median 4.5), and the task of each item."""
    size = rng.standard_normal(n_tasks)
    other = related * size + math.sqrt(1 - related**2) * rng.standard_normal(n_tasks)
    items = np.maximum(1, np.round(np.exp(1.5 + spread * size))).astype(int)
    task = np.repeat(np.arange(n_tasks), items)
    chance = ndtr((ndtri(share) + math.sqrt(icc) * other) / math.sqrt(1 - icc))
    return (rng.random(task.size) < chance[task]).astype(float), task


def shares(design: str, share: float, rng: np.random.Generator) -> Methods:
    """Failure rates with an intraclass correlation of .3."""
    value, task = outcomes(SIZES[design], share, 0.3, rng)
    ours = clustered_proportion(value, task)
    return {
        "ours": (ours.ci_low, ours.ci_high),
        "CR3-Kish": cr3_kish(value, task),
        "bootstrap-t": bootstrap_t(value, task, rng),
        "Jeffreys": jeffreys_interval(value.sum(), value.size),
    }


def changes(design: str, rng: np.random.Generator) -> Methods:
    """Paired changes of -1, 0 and 1 with mean .05."""
    task = np.repeat(np.arange(len(SIZES[design])), SIZES[design])
    latent = math.sqrt(0.3) * rng.standard_normal(len(SIZES[design]))[task]
    rank = ndtr(latent + math.sqrt(0.7) * rng.standard_normal(task.size))
    moved = np.where(rank < 0.15, -1.0, np.where(rank > 0.8, 1.0, 0.0))
    ours = paired_change(np.where(moved < 0, 1.0, 0.0), np.where(moved > 0, 1.0, 0.0), clusters=task, rng=rng).change
    return {
        "ours": (ours.ci_low, ours.ci_high),
        "CR3-Kish": cr3_kish(moved, task),
        "bootstrap-t": bootstrap_t(moved, task, rng),
    }


def kappas(design: str, prevalence: float, rng: np.random.Generator) -> Methods:
    """Cohen's kappa of two judges whose scores share the task's and the item's part."""
    sizes = SIZES[design]
    task = np.repeat(np.arange(len(sizes)), sizes)
    score = math.sqrt(0.2) * rng.standard_normal(len(sizes))[task][:, None]
    score = score + math.sqrt(0.4) * rng.standard_normal((task.size, 1))
    score = score + math.sqrt(0.2) * rng.standard_normal((len(sizes), 2))[task]
    said = (score + math.sqrt(0.2) * rng.standard_normal((task.size, 2)) < ndtri(prevalence)).astype(float)
    return _kappa_ends(said, task, rng)


def _kappa_ends(said: np.ndarray, task: np.ndarray, rng: np.random.Generator) -> Methods:
    ours = cohen_kappa(said, categories=[0, 1], clusters=task, rng=rng)
    cells = np.array(
        [np.bincount(task, weights=(said == pair).all(axis=1)) for pair in ((0, 0), (0, 1), (1, 0), (1, 1))]
    )
    every = cells.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        whole, without = np.arctanh(_kappa(every))[0], np.arctanh(_kappa(every - cells))
        low, high = np.tanh(left_out(float(whole), without, np.bincount(task))).tolist()
    return {"ours": ends(ours), "CR3-Kish": (low, high)}


def _kappa(cells: np.ndarray) -> np.ndarray:
    n = cells.sum(axis=0)
    agreed = (cells[0] + cells[3]) / n
    chance = ((cells[2] + cells[3]) * (cells[1] + cells[3]) + (cells[0] + cells[1]) * (cells[0] + cells[2])) / n**2
    with np.errstate(all="ignore"):
        return (agreed - chance) / (1 - chance)


def keyed(n_labels: int, ratio: float, share: float, rng: np.random.Generator, known: bool = True) -> Methods:
    """Labels of 1,500 judged items, drawn up to `ratio` times as often where a key that follows failure is high."""
    from ppi_py import ppi_mean_ci

    latent = rng.standard_normal(1500)
    failed = latent < ndtri(share)
    said = np.where(failed, rng.random(1500) < 0.8, rng.random(1500) >= 0.8).astype(float)
    odds = np.where(ndtr(-(latent + rng.standard_normal(1500)) / math.sqrt(2)) > 0.8, 1.0, 1 / ratio)
    probability = np.minimum(1, n_labels * odds / odds.sum())
    asked = rng.random(1500) < probability
    label = np.where(asked, failed, np.nan)
    stated = probability if known else np.where(asked, probability, np.nan)
    ours = corrected_rate(said, label, sampling="by_key", probability=stated).rate
    low, high = ppi_mean_ci(
        failed[asked].astype(float), said[asked], said[~asked], alpha=0.05, w=(1 / probability[asked])
    )
    return {"ours": (ours.ci_low, ours.ci_high), "ppi-python": (low.item(), high.item())}


def real_steps(subset: str = "hotpotqa") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each of 20 judges: whether it is right at every step that people labelled, and the step's query."""
    votes = published_votes(subset, "step")
    by_people = pl.col("rater_kind") == "human"
    labels = votes.filter(by_people, pl.col("verdict").is_not_null()).select("item_id", "cluster_id", label="verdict")
    task = np.unique(labels["cluster_id"].to_numpy(), return_inverse=True)[1]
    found = {}
    for (rater,), mine in votes.filter(~by_people).partition_by("rater", as_dict=True).items():
        both = labels.join(mine.select("item_id", "verdict"), on="item_id", how="left", maintain_order="left")
        found[str(rater)] = ((both["verdict"] == both["label"]).fill_null(False).cast(float).to_numpy(), task)
    return found


def resampled(value: np.ndarray, task: np.ndarray, n_tasks: int, rng: np.random.Generator) -> Methods:
    """Step accuracy of tasks drawn with replacement."""
    chosen = rng.integers(0, task.max() + 1, n_tasks)
    items = [np.flatnonzero(task == one) for one in chosen]
    drawn, groups = value[np.concatenate(items)], np.repeat(np.arange(n_tasks), [item.size for item in items])
    ours = clustered_proportion(drawn, groups, expected_icc=STEP_ICC)
    return {
        "ours": (ours.ci_low, ours.ci_high),
        "CR3-Kish": cr3_kish(drawn, groups),
        "bootstrap-t": bootstrap_t(drawn, groups, rng),
    }


def ends(found: Estimate) -> Ends:
    return found.ci_low, found.ci_high


def probit(sizes: list[int], rng: np.random.Generator, *, n: int, task: float, item: float) -> tuple[np.ndarray, ...]:
    """Latent scores of `n` raters that share the task's and the item's part, and the task of each item."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    score = math.sqrt(task) * rng.standard_normal((len(sizes), 1))[group]
    score = score + math.sqrt(item) * rng.standard_normal((group.size, 1))
    return score + math.sqrt(1 - task - item) * rng.standard_normal((group.size, n)), group


def missing(design: str, rng: np.random.Generator) -> Methods:
    """A judge's accuracy of .7 where it loses 30% of its wrong verdicts and 5% of its right ones."""
    score, task = probit(SIZES[design], rng, n=1, task=0.3, item=0.0)
    right = score[:, 0] < ndtri(0.7)
    lost = rng.random(task.size) < np.where(right, 0.05, 0.3)
    truth = (rng.random(task.size) < 0.4).astype(float)
    given = np.where(lost, math.nan, np.where(right, truth, 1 - truth))
    found = against_reference(given, truth, n_categories=2, clusters=task).accuracy
    return {"ours": (found.low, found.high), "verdicts given": ends(found.given)}


def missing_kappa(design: str, rng: np.random.Generator) -> Methods:
    """Kappa of two judges of which one loses 30% of the verdicts that part them and 5% of the others."""
    score, task = probit(SIZES[design], rng, n=2, task=0.2, item=0.4)
    both = (score < ndtri(0.3)).astype(float)
    parted = both[:, 0] != both[:, 1]
    both[rng.random(task.size) < np.where(parted, 0.3, 0.05), 1] = math.nan
    bounds = case_bounds(both, categories=[0, 1])
    given = cohen_kappa(both, categories=[0, 1], clusters=task, rng=rng)
    return {
        "ours": kappa_when_decided(both, categories=[0, 1], clusters=task, rng=rng),
        "bounds, points": (bounds.kappa_worst, bounds.kappa_best),
        "verdicts given": ends(given),
    }


def coefficient(design: str, name: str, cuts: tuple[float, ...], rng: np.random.Generator) -> Methods:
    """A coefficient of two raters whose words are a latent score cut at these shares."""
    score, task = probit(SIZES[design], rng, n=2, task=0.2, item=0.4)
    words = np.searchsorted(ndtri(np.array(cuts)), score).astype(float)
    categories = range(len(cuts) + 1)
    given = agreement_coefficients(words, [name], categories=categories, clusters=task, rng=rng)
    kish = cr3_kish_of(lambda rows: coefficient_of(name, rows, categories), task, words)
    return {"ours": ends(given[name]), "CR3-Kish": kish}


def coefficient_of(name: str, words: np.ndarray, categories: Iterable[int]) -> float:
    """A coefficient of independent items, without an interval."""
    patterns, chosen = rating_patterns(words, categories=list(categories)), COEFFICIENTS[name]
    return float(
        chosen.estimate(patterns.counts @ chosen.sums(patterns.codes, patterns.categories), patterns.categories)
    )


def in_the_long_run(of: Callable[[np.ndarray], float], n: int, task: float, item: float) -> float:
    """What a figure of `n` raters' latent scores is in the population: of 400,000 items in tasks of their own."""
    return of(probit([1] * 400_000, np.random.default_rng(0), n=n, task=task, item=item)[0])


def near_identical(design: str, rng: np.random.Generator) -> Methods:
    """Kappa of a judge and another that says the same but for 1 verdict in 50."""
    first, task = outcomes(SIZES[design], 0.3, 0.3, rng)
    both = np.column_stack([first, np.where(rng.random(task.size) < 0.02, 1 - first, first)])
    return _kappa_ends(both, task, rng)


def kappa_of_near_identical() -> float:
    agreed, other = 0.98, 0.3 * 0.98 + 0.7 * 0.02
    chance = 0.3 * other + 0.7 * (1 - other)
    return (agreed - chance) / (1 - chance)


def effective(design: str, item: float, rng: np.random.Generator) -> Methods:
    """How many judges six are worth that are wrong on 30% of the items, often on the same ones."""
    score, task = probit(SIZES[design], rng, n=6, task=0.2, item=item)
    truth = (rng.random(task.size) < 0.4).astype(float)
    said = np.where(score < ndtri(0.7), truth[:, None], 1 - truth[:, None])
    ours = effective_judges(said, truth, clusters=task).n_effective
    return {"ours": ends(ours), "CR3-Kish": cr3_kish_of(_worth, task, said == truth[:, None])}


def _worth(right: np.ndarray) -> float:
    k = right.shape[1]
    return k / (1 + (k - 1) * (np.corrcoef(right.T).sum() - k) / (k * (k - 1)))


def true_effective(item: float) -> float:
    patterns, probability = pattern_probabilities(0.7, n_raters=2, correlation=0.2 + item)
    both = float(probability[patterns.all(axis=1)].sum())
    return 6 / (1 + 5 * (both - 0.49) / 0.21)


def balanced(design: str, rng: np.random.Generator) -> Methods:
    """Balanced accuracy of a judge that finds 70% of failures and passes 90% of the rest."""
    failed, task = outcomes(SIZES[design], 0.3, 0.3, rng)
    share = probit(SIZES[design], rng, n=1, task=0.3, item=0.0)[0][:, 0]
    right = share < ndtri(np.where(failed == 1, 0.7, 0.9))
    kish = cr3_kish_of(lambda hit, of: (hit[of == 1].mean() + hit[of == 0].mean()) / 2, task, right, failed)
    return {"ours": ends(balanced_accuracy(right.astype(float), failed, task)), "CR3-Kish": kish}


def soft(design: str, share: float, rng: np.random.Generator) -> Methods:
    """Soft agreement of two judges whose confidences follow how clear an item is."""
    score, task = probit(SIZES[design], rng, n=2, task=0.2, item=0.4)
    beliefs = beliefs_of(score, share)
    return {"ours": ends(soft_agreement(beliefs, clusters=task)), "CR3-Kish": cr3_kish_of(_soft, task, beliefs)}


def _soft(beliefs: np.ndarray) -> float:
    first, second = beliefs.T
    return 1 - float(np.abs(first - second).mean() / np.abs(first[:, None] - second).mean())


def beliefs_of(score: np.ndarray, share: float) -> np.ndarray:
    return ndtr(2 * (score - ndtri(share)))


def band(design: str, rng: np.random.Generator) -> Methods:
    """Whether a calibrated judge's whole curve lies within the 95% consistency band: 0 to 0 where it does."""
    score, task = probit(SIZES[design], rng, n=1, task=0.3, item=0.0)
    sure = rng.uniform(0.5, 1, task.size)
    right = (score[:, 0] < ndtri(sure)).astype(float)
    found = {}
    for method, groups in (("ours", task), ("items alone", None)):
        of = reliability_curve(sure, right, clusters=groups, band_level=0.95, rng=rng)
        outside = (of.calibrated < of.band_low - 1e-9) | (of.calibrated > of.band_high + 1e-9)
        found[method] = _called(bool(outside.any()))
    return found


def flipped(design: str, worse: float, better: float, rng: np.random.Generator) -> Methods:
    """Whether the sign flip of tasks keeps a null: 0 to 0 where it does. Of independent items ours is the mid-p."""
    task = np.repeat(np.arange(len(SIZES[design])), SIZES[design])
    rank = ndtr(probit(SIZES[design], rng, n=1, task=0.3, item=0.0)[0][:, 0])
    change = np.where(rank < worse, -1.0, np.where(rank > 1 - better, 1.0, 0.0))
    found = paired_change(np.zeros(task.size), change, clusters=task, rng=rng)
    exact, _ = paired_sign_flip(np.bincount(task, weights=change), rng=rng)
    return {"ours": _called(found.p_value <= 0.05), "exact": _called(exact <= 0.05)}


def power(design: str, worse: float, better: float, rng: np.random.Generator) -> Methods:
    """As `flipped` where there is a change: 0 to 0 where it is called."""
    return {f"power, {name}": _called(not ends[0]) for name, ends in flipped(design, worse, better, rng).items()}


def curve(design: str, rng: np.random.Generator) -> Methods:
    """The raw score at which half of the labels say good: .5, on its logarithm, with a sigma of .4."""
    noise, task = probit(SIZES[design], rng, n=1, task=0.3, item=0.0)
    z = math.log(0.5) + 0.5 * rng.standard_normal(task.size)
    good = (noise[:, 0] < (z - math.log(0.5)) / 0.4).astype(float)
    line = fractional_line(z, good, task)
    return {"ours": line.crossing()[1:]}


def ranked(runs: tuple[int, ...], n_tasks: int, rng: np.random.Generator) -> Methods:
    """Agents that fail alike (.3), with so many runs a task each: 0 to 0 where none is told apart."""
    task = math.sqrt(0.3) * rng.standard_normal(n_tasks)
    means = [
        (task[:, None] + math.sqrt(0.7) * rng.standard_normal((n_tasks, m)) < ndtri(0.3)).mean(axis=1) for m in runs
    ]
    return {"ours": _called(not rank_sets(np.column_stack(means), rng=rng).tied)}


def watched(n_tasks: int, spread: float, n_runs: int, rng: np.random.Generator) -> Methods:
    """A judge that never changes on ten occasions of some runs, each run off by normal noise on the probit scale."""
    item = rng.standard_normal((n_tasks, 1))
    occasions = []
    for _ in range(10):
        level = ndtri(0.3) * math.sqrt(2) + spread * rng.standard_normal(n_runs)
        occasions.append((item + rng.standard_normal((n_tasks, n_runs)) < level).astype(float))
    return {"ours": _called(any(occasion.stop for occasion in drift(occasions, rng=rng)))}


def _called(falsely: bool) -> Ends:
    return (1.0, 1.0) if falsely else (0.0, 0.0)
