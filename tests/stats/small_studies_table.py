"""One table: what small studies answer. 5 to 25 tasks x 4 agents x 2 judges x 5 axes, with differences and without.

``python -m stats.small_studies_table 1000`` from tests/ writes data/reference/small_studies.csv with 1,000 replicates
a cell and Monte Carlo errors (``1000 now selection``: who is first, and whether any differ, alone); the second
argument names the rules measured: ``before`` with a package of before the intervals of ragged clusters (649d777^) on
the path, else ``now``. Latent failures are probit: axis and agent effects, a shared effect of the task (ICC .25) and
one of the run; each judge sees them with an error of its own. In the world with nothing in it all axes and all agents
fail alike (at .2) and judges share nothing beyond chance; what is called there is called falsely.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.comparisons.paired import profile_test
from axisjudge.stats.comparisons.ranking import _all_alike, _not_first
from axisjudge.stats.fairness import stratum_shares
from axisjudge.stats.proportions import FEWEST_CLUSTERS, clustered_proportion

#: Where the measured table stands.
MEASURED = Path(__file__).parents[2] / "data" / "reference" / "small_studies.csv"
N_TASKS = (5, 10, 15, 25)
AGENTS, JUDGES, AXES = 4, 2, 5
#: Probit effects that make failure rates of .08 to .5 over axes and a factor of two over agents.
AXIS_EFFECT = np.array([-1.4, -1.1, -0.8, -0.4, 0.0])
AGENT_EFFECT = np.array([-0.4, -0.1, 0.1, 0.4])
COMMON = -0.84
#: Share of the latent variance that tasks and runs hold, and the chance that a judge errs.
TASK, RUN, ERROR = 0.25, 0.25, 0.1

#: What is asked, and whether the answer is a finding (which may be false) or an interval.
SELECTED = ("which axis fails most", "axes differ", "which agent fails most", "agents differ")
FINDINGS = (
    "judges agree beyond chance",
    *SELECTED,
    "profiles of agents differ",
    "a judge is unfair to an agent",
)
INTERVALS = ("agreement of an axis has an interval", "failure rate of agent and axis has an interval", "...of agent")


def verdicts(rng: np.random.Generator, n_tasks: int, effects: bool) -> tuple[np.ndarray, np.ndarray]:
    """Failures as they are, tasks x agents x axes, and as judges see them, with judges last."""
    shape = (n_tasks, AGENTS, AXES)
    level = AXIS_EFFECT + AGENT_EFFECT[:, None] if effects else COMMON
    shared = np.sqrt(TASK) * rng.normal(size=(n_tasks, 1, 1)) + np.sqrt(RUN) * rng.normal(size=(n_tasks, AGENTS, 1))
    true = shared + np.sqrt(1 - TASK - RUN) * rng.normal(size=shape) + level > 0
    if not effects:  # each judge has tasks of its own that it is strict on, and nothing else
        own = np.sqrt(TASK) * rng.normal(size=(n_tasks, 1, 1, JUDGES)) + np.sqrt(1 - TASK) * rng.normal(
            size=(*shape, JUDGES)
        )
        return true, own + COMMON > 0
    return true, true[..., None] ^ (rng.random((*shape, JUDGES)) < ERROR)


def selected(seen: np.ndarray, rng: np.random.Generator) -> dict[str, bool]:
    """Whether one axis and one agent are called first, and whether any differ, by the p values of `rank_sets`."""
    if len(seen) < FEWEST_CLUSTERS:
        return dict.fromkeys(SELECTED, False)
    tables = [seen.any(axis=3).mean(axis=over) for over in (1, 2)]
    tests = [(_not_first(each, int(each.mean(axis=0).argmax())), _all_alike(each, rng)) for each in tables]
    return dict(zip(SELECTED, (p <= 0.05 for both in tests for p in both), strict=True))


def answers(rng: np.random.Generator, n_tasks: int, effects: bool) -> dict[str, float]:
    """Whether each question is answered, as 1 or 0, or the share of its figures that are."""
    true, seen = verdicts(rng, n_tasks, effects)
    any_judge = seen.any(axis=3).astype(float)
    task = np.broadcast_to(np.arange(n_tasks)[:, None, None], true.shape)
    agent = np.broadcast_to(np.array([f"a{k}" for k in range(AGENTS)], dtype=object)[:, None], true.shape)
    pairs, clusters = seen.reshape(-1, JUDGES).astype(float), task.ravel()

    def alpha(rows: np.ndarray, groups: np.ndarray) -> float:
        found = agreement_coefficients(rows, ["krippendorff_alpha"], categories=[0, 1], clusters=groups)
        return found["krippendorff_alpha"].ci_low

    profiles = profile_test(any_judge, rng=rng)
    truth = true.ravel()
    unfair = 0.0
    if len(set(truth.tolist())) == 2:
        right = np.where(truth, pairs[:, 0], np.nan)
        p_values = [each.p_value for each in stratum_shares(right, agent.ravel(), clusters)]
        unfair = float(np.nanmin([*p_values, 1.0]) * AGENTS <= 0.05)  # Holm's first step
    by_axis = [
        np.isfinite(alpha(seen[:, :, k].reshape(-1, JUDGES).astype(float), task[:, :, k].ravel())) for k in range(AXES)
    ]
    cells = [
        np.isfinite(clustered_proportion(any_judge[:, j, k], task[:, j, k]).ci_low)
        for j in range(AGENTS)
        for k in range(AXES)
    ]
    rows = [
        np.isfinite(clustered_proportion(any_judge[:, j].ravel(), task[:, j].ravel()).ci_low) for j in range(AGENTS)
    ]
    said = (alpha(pairs, clusters) > 0, *selected(seen, rng).values(), profiles.p_value <= 0.05, unfair)
    shares = (np.mean(by_axis), np.mean(cells), np.mean(rows))
    return dict(zip((*FINDINGS, *INTERVALS), map(float, (*said, *shares)), strict=True))


def _selection(rng: np.random.Generator, n_tasks: int, effects: bool) -> dict[str, float]:
    found = selected(verdicts(rng, n_tasks, effects)[1], rng)
    return {question: float(said) for question, said in found.items()}


def table(replicates: int, selection_alone: bool, seed: int = 0) -> Iterator[tuple[str, int, str, float, float]]:
    """World, tasks, question, share answered, its Monte Carlo error."""
    for effects in (True, False):
        for n_tasks in N_TASKS:
            rng = np.random.default_rng([seed, n_tasks, effects])
            study = _selection if selection_alone else answers
            runs = [study(rng, n_tasks, effects) for _ in range(replicates)]
            for question in runs[0]:
                values = np.array([run[question] for run in runs])
                error = values.std() / np.sqrt(replicates)
                yield "differences" if effects else "nothing", n_tasks, question, float(values.mean()), float(error)


def write(rules: str, replicates: int, selection_alone: bool = False) -> None:
    """Rows of these rules (and of `SELECTED`, where only those are measured) are replaced, others kept."""
    columns = ("rules", "world", "tasks", "question", "share", "error", "replicates")
    kept = []
    if MEASURED.exists():
        with MEASURED.open(newline="") as file:
            new = set(SELECTED) if selection_alone else {*FINDINGS, *INTERVALS}
            kept = [row for row in csv.DictReader(file) if row["rules"] != rules or row["question"] not in new]
    for row in table(replicates, selection_alone):
        print(rules, *row, flush=True)
        *named, share, error = row
        kept.append(dict(zip(columns, (rules, *named, f"{share:.4g}", f"{error:.2g}", replicates), strict=True)))
    with MEASURED.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


if __name__ == "__main__":
    asked = [*sys.argv[1:], *("100", "now")[len(sys.argv) - 1 :]]
    write(asked[1], int(asked[0]), asked[2:] == ["selection"])
