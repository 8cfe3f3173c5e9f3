"""One table: intervals x ragged designs, coverage with its Monte Carlo error, and width beside competitors.

``python -m stats.ragged_table 300`` from tests/ prints it with 300 replicates a cell. Competitors: CR3 (leave one
cluster out) with t on Kish's effective clusters less one, a studentised bootstrap of clusters, Jeffreys' interval as if
items were independent, and ppi-python. Truths are planted; of real steps the share over all tasks is the truth, and
tasks are drawn from them with replacement.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri, stdtrit
from stats.probit_panels import true_coefficient

from axisjudge.datasets.votes import published_votes
from axisjudge.stats.agreement.chance_corrected import cohen_kappa
from axisjudge.stats.clusters import STEP_ICC, effective_clusters
from axisjudge.stats.comparisons.paired import paired_change
from axisjudge.stats.rates.correction import corrected_rate
from axisjudge.stats.rates.proportions import clustered_proportion, jeffreys_interval

SIZES = {
    "5 x 4": [4] * 5,
    "12 x 4": [4] * 12,
    "50 x 4": [4] * 50,
    "5 x 12": [12] * 5,
    "12 x 12": [12] * 12,
    "5 of 40..2": [40, 12, 8, 4, 2],
    "12 of 60..2": [60, 20, 10, 5, 5, 3] + [2] * 6,
    "12 geometric": [round(size) for size in np.geomspace(60, 2, 12)],
    "25 of 40..4": [round(size) for size in np.geomspace(40, 4, 25)],
    "50 of 60..2": [round(size) for size in np.geomspace(60, 2, 50)],
    "one of 100, 50 of 2": [100] + [2] * 50,
    "one of 100, 5 of 2": [100] + [2] * 5,
}
DESIGNS = ("5 x 4", "12 x 12", "12 of 60..2", "12 geometric", "25 of 40..4", "one of 100, 50 of 2")
RESAMPLES = 199


@dataclass(frozen=True)
class Row:
    """One method in one cell: how often its interval holds the truth, its mean width, how often it has none."""

    what: str
    design: str
    method: str
    covered: float
    error: float
    width: float
    refused: float

    def __str__(self) -> str:
        named = f"{self.what:24s} {self.design:20s} {self.method:16s}"
        return f"{named} {self.covered:.3f} +- {self.error:.3f}  width {self.width:.3f}  refused {self.refused:.2f}"


Ends = tuple[float, float]
Methods = dict[str, Ends]


def rows(what: str, design: str, truth: float, drawn: Callable[[], Methods], replicates: int) -> list[Row]:
    """Every method's row in one cell, all on the same draws."""
    found: dict[str, list[Ends]] = {}
    for _ in range(replicates):
        for method, ends in drawn().items():
            found.setdefault(method, []).append(ends)
    table = []
    for method, ends in found.items():
        low, high = np.array(ends).T
        given = ~np.isnan(low)
        covered = float(((low <= truth) & (truth <= high))[given].mean()) if given.any() else math.nan
        error = math.sqrt(max(covered * (1 - covered), 0.05 * 0.95) / max(given.sum(), 1))
        width = float((high - low)[given].mean()) if given.any() else math.nan
        table.append(Row(what, design, method, covered, error, width, 1 - float(given.mean())))
    return table


def cr3_kish(value: np.ndarray, task: np.ndarray) -> Ends:
    """Mean with the leave-one-cluster-out error and t on Kish's effective clusters less one."""
    sums, sizes = np.bincount(task, weights=value), np.bincount(task)
    mean, without = value.mean(), (sums.sum() - sums) / (sizes.sum() - sizes)
    half = stdtrit(effective_clusters(sizes) - 1, 0.975) * math.sqrt(((without - mean) ** 2).sum())
    return mean - half, mean + half


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
    ours = cohen_kappa(said, categories=[0, 1], clusters=task, rng=rng)
    cells = np.array(
        [np.bincount(task, weights=(said == pair).all(axis=1)) for pair in ((0, 0), (0, 1), (1, 0), (1, 1))]
    )
    without = _kappa(cells.sum(axis=1, keepdims=True) - cells)
    whole = float(_kappa(cells.sum(axis=1, keepdims=True))[0])
    with np.errstate(all="ignore"):
        error = math.sqrt(float(((np.arctanh(without) - np.arctanh(whole)) ** 2).sum()))
        half = stdtrit(effective_clusters(np.bincount(task)) - 1, 0.975) * error
        kish = tuple(np.tanh(np.arctanh(whole) + np.array([-half, half])).tolist())
    return {"ours": (ours.ci_low, ours.ci_high), "CR3-Kish": kish}


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


def table(replicates: int) -> Iterator[Row]:
    """All rows."""
    for design in DESIGNS:
        rng = np.random.default_rng([1, len(design)])
        for share in (0.02, 0.3):
            yield from rows(f"share {share}", design, share, partial(shares, design, share, rng), replicates)
        if len(SIZES[design]) >= 10:
            yield from rows("paired change", design, 0.05, partial(changes, design, rng), replicates)
        truth = true_coefficient("cohen_kappa", 0.3, n_raters=2, correlation=0.6)
        yield from rows("kappa", design, truth, partial(kappas, design, 0.3, rng), replicates)
    for ratio in (10, 40, 160):
        for n_labels in (60, 300):
            rng = np.random.default_rng([2, ratio, n_labels])
            for known in (True, False):
                named = f"{ratio}:1, {n_labels} labels{'' if known else ', own p'}"
                drawn = partial(keyed, n_labels, ratio, 0.1, rng, known)
                yield from rows("rate by a key", named, 0.1, drawn, replicates)
    for rater, (value, task) in real_steps().items():
        rng = np.random.default_rng([3, value.size])
        drawn = partial(resampled, value, task, 25, rng)
        yield from rows("real steps, 25 of 50", rater[-20:], float(value.mean()), drawn, replicates)


if __name__ == "__main__":
    for row in table(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(row, flush=True)
