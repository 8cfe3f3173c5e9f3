"""Designs that no method was made on, run once a release: sizes that go with outcomes, heavy tails, agents, real votes.

Held back on `HELD_BACK`: intervals of `axisjudge.stats.clusters` were chosen on lognormal sizes with probit rates and
on other judges of the hotpotqa steps, before any of these was run. `python -m stats.ragged_table 300 "held back:
share"` from tests/ runs one family; a cell that a method is later made on moves to `ragged_table.cells`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri
from scipy.stats import beta
from stats.ragged_worlds import Methods, bootstrap_t, cr3_kish, ends, left_out

from axisjudge.datasets.votes import published_votes
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficient_intervals import leave_one_cluster_out
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, rating_patterns
from axisjudge.stats.comparisons.paired import paired_change
from axisjudge.stats.proportions import clustered_proportion

#: When these designs were set apart.
HELD_BACK = "2026-11-25"
Cell = tuple[str, str, float, Callable[[np.random.Generator], Methods]]
Sizes = Callable[[np.random.Generator, int], np.ndarray]

_SIZES: dict[str, Sizes] = {
    "gamma": lambda rng, n: np.ceil(rng.gamma(0.6, 14, n)),
    "few giants": lambda rng, n: np.where(rng.random(n) < 0.15, 40, rng.integers(2, 7, n)),
    "Pareto": lambda rng, n: np.minimum(np.ceil(3 * (1 + rng.pareto(1.5, n))), 200),
}
_COEFFICIENTS = ["gwet_ac1", "gwet_ac2_quadratic", "cohen_kappa", "percent_agreement"]


def _tasks(sizes: str, related: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of tasks and their rates: Beta(.8, 1.9), of mean .3, by the rank of the size with this correlation."""
    items = _SIZES[sizes](rng, n).astype(int)
    rank = np.argsort(np.argsort(items + rng.random(n))) / n + 0.5 / n
    score = related * ndtri(rank) + math.sqrt(1 - related**2) * rng.standard_normal(n)
    return items, beta.ppf(ndtr(score), 0.8, 1.9)


@cache
def _true_share(sizes: str, related: float) -> float:
    items, rate = _tasks(sizes, related, 400_000, np.random.default_rng(0))
    return float(items @ rate / items.sum())


def share(sizes: str, related: float, n_tasks: int, rng: np.random.Generator) -> Methods:
    """A failure rate, each item alike."""
    items, rate = _tasks(sizes, related, n_tasks, rng)
    task = np.repeat(np.arange(n_tasks), items)
    value = (rng.random(task.size) < rate[task]).astype(float)
    return {
        "ours": ends(clustered_proportion(value, task)),
        "CR3-Kish": cr3_kish(value, task),
        "bootstrap-t": bootstrap_t(value, task, rng),
    }


def change(sizes: str, n_tasks: int, rng: np.random.Generator) -> Methods:
    """A change of 0 over items, where large tasks get better and small ones worse."""
    items, _ = _tasks(sizes, 0.0, n_tasks, rng)
    middle = _middle(sizes)
    chance = np.clip(0.5 + 0.25 * np.sign(items - middle) * _scale(sizes, items > middle), 0, 1)
    task = np.repeat(np.arange(n_tasks), items)
    before, after = (rng.random(task.size) < of for of in (0.5, chance[task]))
    found = paired_change(before.astype(float), after.astype(float), clusters=task, rng=rng)
    return {"ours": ends(found.change), "p": (0.0, 0.0) if found.p_value > 0.05 else (1.0, 1.0)}


@cache
def _middle(sizes: str) -> float:
    return float(np.median(_SIZES[sizes](np.random.default_rng(0), 100_001)))


@cache
def _ratio(sizes: str) -> float:
    items = _SIZES[sizes](np.random.default_rng(0), 400_001)
    middle = _middle(sizes)
    return float(items[items < middle].sum() / items[items > middle].sum())


def _scale(sizes: str, large: np.ndarray) -> np.ndarray:
    return np.where(large, min(1.0, _ratio(sizes)), min(1.0, 1 / _ratio(sizes)))


def crossed(n_tasks: int, rng: np.random.Generator) -> Methods:
    """Four agents on every task, task x agent effects, one to four runs each: the failure rate of these agents."""
    runs, chance = rng.integers(1, 5, (n_tasks, 4)), _of_agents(n_tasks, rng)
    task = np.repeat(np.repeat(np.arange(n_tasks), 4), runs.ravel())
    value = (rng.random(task.size) < np.repeat(chance.ravel(), runs.ravel())).astype(float)
    return {"ours": ends(clustered_proportion(value, task)), "CR3-Kish": cr3_kish(value, task)}


def _of_agents(n_tasks: int, rng: np.random.Generator) -> np.ndarray:
    """Each agent's rate on each task."""
    effect = 0.5 * rng.standard_normal((n_tasks, 1)) + 0.5 * rng.standard_normal((n_tasks, 4))
    return np.asarray(ndtr((ndtri(np.array([0.1, 0.2, 0.35, 0.55])) + effect) / math.sqrt(0.5)))


#: Effects of days, of mean 0 and SD 1; the way of two crossed groupings that has few clusters.
_DAYS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform days": lambda rng, n: rng.uniform(-math.sqrt(3), math.sqrt(3), n),
    "heavy-tailed days": lambda rng, n: rng.standard_t(5, n) / math.sqrt(5 / 3),
}


def _right_by_day(days: str, base: float, of_task: float, of_day: float, n: tuple[int, int], rng: np.random.Generator):
    """The rate of each task on each day; tasks are Laplace."""
    task = of_task * rng.laplace(0, math.sqrt(0.5), n[0])
    return ndtr(base + task[:, None] + of_day * _DAYS[days](rng, n[1])[None, :])


@cache
def true_by_day(days: str, base: float, of_task: float, of_day: float) -> float:
    """The rate of any task on any day."""
    rng = np.random.default_rng(0)
    return float(_right_by_day(days, base, of_task, of_day, (2000, 2000), rng).mean())


def runs_by_day(shape: str, n: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """How often each task is run on each day."""
    match shape:
        case "once":
            return np.ones(n, dtype=int)
        case "unequal":
            return rng.poisson(1.5 * rng.gamma(1.0, 1.0, n[0])[:, None] * rng.gamma(3.0, 1 / 3, n[1])[None, :])
        case "ragged":
            return (rng.random(n) < 2.5 / n[1]).astype(int)
    runs = np.zeros(n, dtype=int)  # four times on one day
    runs[np.arange(n[0]), rng.integers(0, n[1], n[0])] = 4
    return runs


#: Days and rates (`true_by_day`), how often each task is run on each day, how many tasks and days.
Crossed = tuple[tuple[str, float, float, float], str, tuple[int, int]]
CROSSED: list[Crossed] = [
    (("uniform days", 0.5, 0.6, 0.6), "once", (20, 20)),
    (("uniform days", 0.5, 0.6, 0.6), "ragged", (40, 12)),
    (("heavy-tailed days", 0.5, 0.0, 0.6), "once", (25, 6)),
    (("heavy-tailed days", 0.5, 0.6, 0.0), "unequal", (30, 6)),
    (("heavy-tailed days", -1.8, 0.5, 0.4), "once", (40, 12)),
    (("uniform days", 1.45, 0.5, 0.4), "once", (30, 6)),
    (("uniform days", 0.5, 0.6, 0.6), "nested", (40, 12)),
]


def true_of_days(rates: tuple[str, float, float, float]) -> dict[str, float]:
    """The share on which the judge of `tasks_by_day` is right, kappa and AC1, of any task on any day."""
    right = true_by_day(*rates)
    judge = 0.3 * right + 0.7 * (1 - right)  # says so of what fails
    failing = (0.3 + judge) / 2
    chance = {"cohen_kappa": 0.3 * judge + 0.7 * (1 - judge), "gwet_ac1": 2 * failing * (1 - failing)}
    return {"share": right} | {name: (right - by) / (1 - by) for name, by in chance.items()}


def tasks_by_day(
    rates: tuple[str, float, float, float], shape: str, n: tuple[int, int], rng: np.random.Generator
) -> dict[str, Methods]:
    """A judge's agreement with people who fail three in ten, tasks and days crossed: a share, and beyond chance."""
    right, runs = _right_by_day(*rates, n, rng), runs_by_day(shape, n, rng)
    both = np.repeat(np.indices(n).reshape(2, -1).T, runs.ravel(), axis=0)
    same = rng.random(len(both)) < right[*both.T]
    label = rng.random(len(both)) < 0.3
    pair = np.column_stack([label == same, label]).astype(float)
    found: dict[str, Methods] = {"share": {}, "cohen_kappa": {}, "gwet_ac1": {}}
    for method, clusters in (("ours", both), ("by task", both[:, 0])):
        beyond = agreement_coefficients(pair, ["cohen_kappa", "gwet_ac1"], categories=(0, 1), clusters=clusters)
        for name, each in {"share": clustered_proportion(same, clusters), **beyond}.items():
            found[name][method] = ends(each)
    return found


def _by_day(what: str, *design: Any, rng: np.random.Generator) -> Methods:
    return tasks_by_day(*design, rng)[what]


@cache
def votes(subset: str, level: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Of each judge that was held back, its words beside people's, items x 2, and the query of each item."""
    table = published_votes(subset, level)  # type: ignore[arg-type]
    by_people = pl.col("rater_kind") == "human"
    labels = table.filter(by_people, pl.col("verdict").is_not_null()).select("item_id", "cluster_id", label="verdict")
    task = np.unique(labels["cluster_id"].to_numpy(), return_inverse=True)[1]
    words = {word: float(at) for at, word in enumerate(labels["label"].unique().sort())}
    found = {}
    for rater in sorted(table.filter(~by_people)["rater"].unique())[1::4]:
        mine = table.filter(pl.col("rater") == rater).select("item_id", "verdict")
        both = labels.join(mine, on="item_id", how="left", maintain_order="left").select("verdict", "label")
        found[str(rater)] = both.select(pl.all().replace_strict(words, default=None)).cast(pl.Float64).to_numpy()
    return found, task


def resampled_votes(words: np.ndarray, task: np.ndarray, name: str, n_tasks: int, rng: np.random.Generator) -> Methods:
    """A judge's agreement with people on queries drawn with replacement; the truth is that of all."""
    chosen = rng.integers(0, task.max() + 1, n_tasks)
    items = [np.flatnonzero(task == one) for one in chosen]
    groups = np.repeat(np.arange(n_tasks), [item.size for item in items])
    categories = range(int(np.nanmax(words[:, 1])) + 1)
    drawn = words[np.concatenate(items)]
    found = agreement_coefficients(drawn, [name], categories=categories, clusters=groups, rng=rng)
    patterns = rating_patterns(drawn, categories=list(categories), clusters=groups)
    kish = left_out(*leave_one_cluster_out(COEFFICIENTS[name], patterns), patterns.cluster_sizes())
    return {"ours": ends(found[name]), "CR3-Kish": kish}


def cells() -> Iterator[Cell]:
    """What, design, truth, and one study of it."""
    for sizes in _SIZES:
        for n_tasks in (12, 30, 80):
            for related in (0.8, -0.8, 0.0):
                named = f"{n_tasks} of {sizes}, {related:+g}"
                yield "held back: share", named, _true_share(sizes, related), partial(share, sizes, related, n_tasks)
            yield "held back: change", f"{n_tasks} of {sizes}", 0.0, partial(change, sizes, n_tasks)
    truth = float(_of_agents(100_000, np.random.default_rng(0)).mean())
    for n_tasks in (10, 30):
        yield "held back: crossed agents", f"{n_tasks} tasks", truth, partial(crossed, n_tasks)
    for rates, shape, n in CROSSED:
        named = f"{n[0]} tasks, {n[1]} {rates[0]} {rates[1:]}, {shape}"
        for what, right in true_of_days(rates).items():
            yield f"held back: {what} by task and day", named, right, partial(_by_day, what, rates, shape, n)
    for subset, level in (("bfcl", "step"), ("tau2", "final"), ("hotpotqa", "step")):
        judges, task = votes(subset, level)
        for rater, words in judges.items():
            categories = range(int(np.nanmax(words[:, 1])) + 1)
            whole = agreement_coefficients(words, _COEFFICIENTS, categories=categories, rng=0)
            for n_tasks in (10, 20):
                for name in _COEFFICIENTS:
                    study = partial(resampled_votes, words, task, name, n_tasks)
                    yield f"held back: {name}", f"{n_tasks} {subset} {level}, {rater}", whole[name].estimate, study
