"""One table: how often verdicts that stand without a person err more than the risk, on resampled real studies.

``python -m studies.panels.guarantee_table 2000`` from tests/ writes data/reference/guarantee.csv. A study labels all
items of tasks drawn with replacement; its threshold (computed from counts for all studies at once, which a test holds
against `decides_alone`) is held against the error among all items of the population that it keeps. Panels: one vote a
family, which needs no labels, and a ridge stack fitted on half of the tasks, with studies drawn from the other half.
On scales stacks are `ordered`, and an error is another grade than people's, or one more than a grade off (`within 1`).
A cross-fitted study (one in 4, as each fits six) fits its stack and tests its threshold on the same 25 tasks, by
probabilities of fits without the task; the panel of all 25 is held against the 125 other tasks of the three subsets
together. Parts named after the number are measured alone. `to` names the population that a threshold is taken to:
another one than it was tested on is shift.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from stats.panels.resampled_thresholds import Population, study_thresholds
from studies.panels.nested_table import SCALES
from studies.panels.nested_table import votes_of as of_source

from axisjudge.datasets import published_votes
from axisjudge.stats.escalation import decides_alone
from axisjudge.stats.panel_models import PanelVotes, held_out, probability_of
from axisjudge.stats.panel_ways import fit_panel, logistic, ordered, ridge
from axisjudge.studies.panels.voted import voted

MEASURED = Path(__file__).parents[3] / "data" / "reference" / "guarantee.csv"
COLUMNS = ("labels", "panel", "to", "tasks", "risk", "studies", "exceeded", "error", "kept", "refused")
SETS = tuple((subset, level) for subset in ("tau2", "hotpotqa") for level in ("final", "step"))
RISKS = (0.02, 0.05, 0.1, 0.2)
STACKS = {"ridge": ridge, "logistic": logistic}
#: Splits of the tasks into those that a stack is fitted on and those that studies are drawn from.
SPLITS = 40

Errors = tuple[np.ndarray, np.ndarray, np.ndarray]  # confidences, errors, tasks


def votes_of(subset: str, level: str) -> PanelVotes:
    votes = voted(published_votes(subset, level), step_level=level == "step").votes
    return votes.only(votes.labelled)


def errors(panel, votes: PanelVotes, within: int = 0) -> Errors:
    p = panel.probabilities(votes.words)
    words = panel.words(p)
    wrong = np.where(np.isnan(words), np.nan, np.abs(words - votes.labels) > within)
    return probability_of(words, p, within), wrong, votes.groups


def ends(population: Errors, n_tasks: int, studies: int, rng: np.random.Generator) -> np.ndarray:
    """Thresholds of studies that draw so many tasks with replacement, (studies, risks)."""
    counted = Population.of(*population)
    chances = np.full(len(counted.items), 1 / len(counted.items))
    parts = [rng.multinomial(n_tasks, chances, size=min(200, studies - at)) for at in range(0, studies, 200)]
    return np.concatenate([study_thresholds(counted, part.astype(float), RISKS) for part in parts])


def row(
    labels: str, panel: str, to: str, n_tasks: int, risk: float, error: np.ndarray, kept: np.ndarray, splits: int = 1
) -> dict:
    exceeded = float((error > risk).mean())  # NaN, nothing kept, does not
    noise = math.sqrt(max(exceeded * (1 - exceeded), 0.05 * 0.95) / len(error))
    if splits > 1:  # studies of one split have one panel
        noise = max(noise, float((error > risk).reshape(splits, -1).mean(axis=1).std(ddof=1)) / math.sqrt(splits))
    values = (labels, panel, to, n_tasks, risk, len(error), exceeded, noise, kept.mean(), np.isnan(error).mean())
    return dict(zip(COLUMNS, values, strict=True))


def shifted(of: tuple[str, str]) -> tuple[str, str]:
    """The other subset at the same level."""
    return next(each for each in SETS if each[0] != of[0] and each[1] == of[1])


def of_families(studies: int, rng: np.random.Generator) -> Iterator[dict]:
    every = {}
    for subset, level in SETS:
        votes = votes_of(subset, level)
        unlabelled = votes.hidden(np.zeros(votes.labels.size, dtype=bool))
        every[subset, level] = errors(fit_panel(unlabelled, "families_equal", rng=rng), votes)
    for own, population in every.items():
        found = ends(population, 50, studies, rng)
        for at, risk in enumerate(RISKS):
            for to in (own, shifted(own)):
                outcomes = Population.of(*every[to]).realised(found[:, at])
                yield row(" ".join(own), "one vote a family", " ".join(to), 50, risk, *outcomes)


def of_stacks(studies: int, rng: np.random.Generator) -> Iterator[dict]:
    for own in SETS:
        votes, others = votes_of(*own), votes_of(*shifted(own))
        parts = {" ".join(own): [], " ".join(shifted(own)): []}
        for _ in range(SPLITS):
            first = np.isin(votes.groups, rng.choice(np.unique(votes.groups), 25, replace=False))
            panel = ridge(votes.only(first), rng)
            half = errors(panel, votes.only(~first))
            found = ends(half, 25, studies // SPLITS, rng)
            for to, population in zip(parts, (half, errors(panel, others)), strict=True):
                counted = Population.of(*population)
                parts[to].append([counted.realised(of_risk) for of_risk in found.T])
        for at, risk in enumerate(RISKS):
            for to, of_split in parts.items():
                error, kept = (np.concatenate([each[at][column] for each in of_split]) for column in (0, 1))
                yield row(" ".join(own), "ridge stack", to, 25, risk, error, kept, SPLITS)


def of_scales(studies: int, rng: np.random.Generator) -> Iterator[dict]:
    """Ordered stacks of grades, fitted on half of the tasks; an error is another grade, or one further off than 1."""
    for own in SCALES:
        votes = of_source(own)
        tasks = np.unique(votes.groups)
        n_tasks = min(50, tasks.size // 2)
        parts = {within: [] for within in (0, 1)}
        for _ in range(SPLITS):
            first = np.isin(votes.groups, rng.choice(tasks, tasks.size // 2, replace=False))
            panel = ordered(votes.only(first), rng)
            for within, of_split in parts.items():
                half = errors(panel, votes.only(~first), within)
                found = ends(half, n_tasks, studies // SPLITS, rng)
                counted = Population.of(*half)
                of_split.append([counted.realised(of_risk) for of_risk in found.T])
        for at, risk in enumerate(RISKS):
            for within, of_split in parts.items():
                error, kept = (np.concatenate([each[at][column] for each in of_split]) for column in (0, 1))
                panel = "ordered stack, within 1" if within else "ordered stack"
                yield row(own, panel, own, n_tasks, risk, error, kept, SPLITS)


def together(level: str) -> PanelVotes:
    """The 150 tasks of the three subsets as one population."""
    parts = [votes_of(subset, level) for subset in ("tau2", "hotpotqa", "bfcl")]
    groups = [part.groups + 1000 * number for number, part in enumerate(parts)]
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "labels", "weights")]
    return PanelVotes(*columns, np.concatenate(groups), parts[0].families, parts[0].n_categories)


def cross_fitted(level: str, studies: int, rng: np.random.Generator) -> Iterator[dict]:
    for way in STACKS:
        fit, votes, outcomes = STACKS[way], together(level), {risk: [] for risk in RISKS}
        for _ in range(studies):
            first = np.isin(votes.groups, rng.choice(np.unique(votes.groups), 25, replace=False))
            own, others = votes.only(first), votes.only(~first)
            sure, wrong = np.full((2, own.labels.size), np.nan)
            for training, inside in held_out(own, rng):
                sure[inside], wrong[inside], _ = errors(fit(training.only(training.labelled), rng), own.only(inside))
            population = Population.of(*errors(fit(own, rng), others))
            for risk in RISKS:
                end = decides_alone(sure, wrong, own.groups, risk=risk).threshold
                outcomes[risk].append(population.realised(np.array([end])))
        for risk in RISKS:
            error, kept = np.concatenate(outcomes[risk], axis=1)
            yield row(f"all {level}", f"{way} stack, cross-fitted", "the other 125 tasks", 25, risk, error, kept)


def write(rows: list[dict]) -> None:
    """Rows of the same labels, panel, population and risk are replaced, others kept."""
    with MEASURED.open(newline="") as file:
        before = list(csv.DictReader(file))
    every = {tuple(str(each[name]) for name in ("labels", "panel", "to", "risk")): each for each in (*before, *rows)}
    with MEASURED.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(every.values())


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    every = {
        "families": (of_families, 1),
        "stacks": (of_stacks, 1),
        "scales": (of_scales, 1),
        "crossed finals": (partial(cross_fitted, "final"), 4),
        "crossed steps": (partial(cross_fitted, "step"), 4),
    }
    for part, times in (every[name] for name in sys.argv[2:] or every):
        for each in part(number // times, np.random.default_rng(17)):
            print(*each.values(), flush=True)
            write([{name: f"{value:.4g}" if isinstance(value, float) else value for name, value in each.items()}])
