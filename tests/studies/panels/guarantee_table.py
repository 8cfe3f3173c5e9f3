"""One table: how often verdicts that stand without a person err more than the risk, on resampled real studies.

``python -m studies.panels.guarantee_table 2000`` from tests/ writes data/reference/guarantee.csv. A study labels all
items of tasks drawn with replacement; its threshold is held against the error among all items of the population that
it keeps. Panels: one vote a family, which needs no labels, and a ridge stack fitted on half of the tasks, with studies
drawn from the other half. Studies of the cross-fitted stack fit it and test the threshold on the same 25 tasks; they
are held against the 25 others, whose error is itself that of a sample. `to` names the population that a threshold is
taken to: another one than it was tested on is shift.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from axisjudge.datasets import published_votes
from axisjudge.stats.confidence.escalation import decides_alone
from axisjudge.stats.panels.linear import likeliest
from axisjudge.stats.panels.stacking import ridge
from axisjudge.stats.panels.votes import Votes, held_out
from axisjudge.stats.panels.ways import fit_panel
from axisjudge.studies.panels.voted import voted

MEASURED = Path(__file__).parents[3] / "data" / "reference" / "guarantee.csv"
COLUMNS = ("labels", "panel", "to", "tasks", "risk", "studies", "exceeded", "error", "kept", "refused")
SETS = tuple((subset, level) for subset in ("tau2", "hotpotqa") for level in ("final", "step"))
RISKS = (0.02, 0.05, 0.1, 0.2)
#: Splits of the tasks into those that a stack is fitted on and those that studies are drawn from.
SPLITS = 10

Errors = tuple[np.ndarray, np.ndarray, np.ndarray]  # confidences, errors, tasks


def votes_of(subset: str, level: str) -> Votes:
    votes = voted(published_votes(subset, level), step_level=level == "step").votes
    return votes.only(votes.labelled)


def errors(panel, votes: Votes) -> Errors:
    p = panel.probabilities(votes.words)
    words = likeliest(p)
    wrong = np.where(np.isnan(words), np.nan, words != votes.labels)
    return np.where(np.isnan(words), np.nan, p.max(axis=1)), wrong, votes.groups


def drawn(population: Errors, n_tasks: int, rng: np.random.Generator) -> Errors:
    sure, wrong, task = population
    rows = [np.flatnonzero(task == one) for one in rng.choice(np.unique(task), n_tasks)]
    at = np.concatenate(rows)
    return sure[at], wrong[at], np.repeat(np.arange(n_tasks), [each.size for each in rows])


def realised(threshold: float, population: Errors) -> tuple[float, float]:
    """Error among the items of the population that a threshold keeps, and their share; NaN and 0 where none is."""
    sure, wrong, _ = population
    kept = sure >= threshold  # NaN keeps nothing
    return (float(np.nanmean(wrong[kept])), float(kept.mean())) if kept.any() else (math.nan, 0.0)


def row(labels: str, panel: str, to: str, n_tasks: int, risk: float, outcomes: list[tuple[float, float]]) -> dict:
    error, kept = np.array(outcomes).T
    exceeded = float((error > risk).mean())  # NaN, nothing kept, does not
    noise = math.sqrt(max(exceeded * (1 - exceeded), 0.05 * 0.95) / len(outcomes))
    values = (labels, panel, to, n_tasks, risk, len(outcomes), exceeded, noise, kept.mean(), np.isnan(error).mean())
    return dict(zip(COLUMNS, values, strict=True))


def of_families(studies: int, rng: np.random.Generator) -> Iterator[dict]:
    every = {}
    for subset, level in SETS:
        votes = votes_of(subset, level)
        unlabelled = votes.hidden(np.zeros(votes.labels.size, dtype=bool))
        every[subset, level] = errors(fit_panel(unlabelled, "families_equal", rng=rng), votes)
    for (subset, level), population in every.items():
        other = next(each for each in SETS if each[0] != subset and each[1] == level)
        for risk in RISKS:
            ends = [decides_alone(*drawn(population, 50, rng), risk=risk).threshold for _ in range(studies)]
            for to in ((subset, level), other):
                outcomes = [realised(end, every[to]) for end in ends]
                yield row(f"{subset} {level}", "one vote a family", " ".join(to), 50, risk, outcomes)


def of_stacks(studies: int, rng: np.random.Generator) -> Iterator[dict]:
    for subset, level in SETS:
        votes = votes_of(subset, level)
        halves = []
        for _ in range(SPLITS):
            first = np.isin(votes.groups, rng.choice(np.unique(votes.groups), 25, replace=False))
            halves.append(errors(ridge(votes.only(first), rng), votes.only(~first)))
        for risk in RISKS:
            outcomes = [
                realised(decides_alone(*drawn(half, 25, rng), risk=risk).threshold, half)
                for half in halves
                for _ in range(studies // SPLITS)
            ]
            yield row(f"{subset} {level}", "ridge stack", f"{subset} {level}", 25, risk, outcomes)


def cross_fitted(studies: int, rng: np.random.Generator) -> Iterator[dict]:
    for subset, level in SETS:
        votes, outcomes = votes_of(subset, level), {risk: [] for risk in RISKS}
        for _ in range(studies):
            first = np.isin(votes.groups, rng.choice(np.unique(votes.groups), 25, replace=False))
            own, others = votes.only(first), votes.only(~first)
            sure, wrong = np.full((2, own.labels.size), np.nan)
            for training, inside in held_out(own, rng):
                sure[inside], wrong[inside], _ = errors(ridge(training.only(training.labelled), rng), own.only(inside))
            population = errors(ridge(own, rng), others)
            for risk in RISKS:
                end = decides_alone(sure, wrong, own.groups, risk=risk).threshold
                outcomes[risk].append(realised(end, population))
        for risk in RISKS:
            yield row(f"{subset} {level}", "ridge stack, cross-fitted", "the other 25 tasks", 25, risk, outcomes[risk])


def write(rows: list[dict]) -> None:
    with MEASURED.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rows = []
    for part, times in ((of_families, number), (of_stacks, number // 2), (cross_fitted, number // 50)):
        for each in part(times, np.random.default_rng(17)):
            print(*each.values(), flush=True)
            rows.append({name: f"{value:.4g}" if isinstance(value, float) else value for name, value in each.items()})
        write(rows)
