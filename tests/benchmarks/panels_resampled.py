"""Ways of putting judges together and the guarantee, by resampled studies on real votes.

    python tests/benchmarks/panels_resampled.py ways SET DRAWS        accuracy and kappa from 10, 25, 50% of tasks
    python tests/benchmarks/panels_resampled.py guarantee SET STUDIES error of what may stand, against the risk

SET is tau2, hotpotqa, bfcl (each with -final or -step) or summeval-CRITERION. Prints, and asserts nothing.

`ways`: each draw fits every way on the labels of some tasks and tries it on all other tasks.
`guarantee`: a panel (logistic) is fitted on a quarter of the tasks. The other tasks are the population: a study draws
as many tasks from them, with replacement, and finds the threshold by its labels; the realised error is that of what is
kept of the whole population. Under shift the threshold is applied to another set.
"""

import sys
from pathlib import Path

import numpy as np

from axisjudge.datasets import published_votes
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.agreement.patterns import rating_patterns
from axisjudge.stats.confidence.escalation import decides_alone
from axisjudge.stats.panels.dawid_skene import dawid_skene
from axisjudge.stats.panels.linear import likeliest
from axisjudge.stats.panels.votes import Votes
from axisjudge.stats.panels.ways import WAYS, calibrated, fit_panel
from axisjudge.studies.panels.voted import Voted, voted

SHARED = Path(__file__).parents[3] / "shared" / "data"
SHARES = (0.1, 0.25, 0.5)
RISKS = (0.02, 0.05, 0.1, 0.2)
STUDIES_A_FIT = 50


def load(name: str) -> Voted:
    """The labelled items of a set."""
    kind, _, part = name.partition("-")
    if kind == "summeval":
        from axisjudge.labels.alttest import read_alttest

        return voted(read_alttest(SHARED / "alttest" / "summeval"), question=part)
    return voted(published_votes(kind, part), question=part)


def labelled(votes: Votes) -> Votes:
    """The items with a label alone."""
    return votes.only(votes.labelled)


def kappa(words, truth, votes: Votes, ordered: bool) -> float:
    """Cohen's kappa, quadratic where words have an order."""
    coefficient = COEFFICIENTS["cohen_kappa_quadratic" if ordered else "cohen_kappa"]
    seen = rating_patterns(np.column_stack([words, truth]), categories=range(votes.n_categories))
    sums = (coefficient.sums(seen.codes, seen.categories) * seen.counts[:, None]).sum(axis=0)
    observed, expected = coefficient.disagreements(sums, seen.categories)
    return float(1 - observed / expected)


def ways(name: str, draws: int) -> None:
    """Mean accuracy and kappa on the tasks left, with Monte Carlo errors."""
    whole = load(name)
    votes = labelled(whole.votes)
    tasks = np.unique(votes.groups)
    blind = dawid_skene(votes.words, votes.n_categories)
    print(name, votes.words.shape, tasks.size, "tasks", flush=True)
    for share in SHARES:
        found = {way: [] for way in WAYS}
        for draw in range(draws):
            rng = np.random.default_rng([draw, int(100 * share)])
            train = np.isin(votes.groups, rng.permutation(tasks)[: max(5, round(share * tasks.size))])
            seen, rest = votes.hidden(train), votes.only(~train)
            for way in WAYS:
                panel = calibrated(blind, seen) if way == "dawid_skene" else fit_panel(seen, way, rng=rng)
                words = likeliest(panel.scores(rest.words))
                found[way].append(((words == rest.labels).mean(), kappa(words, rest.labels, votes, whole.ordered)))
        best = np.array(found["best_single"])[:, 0]
        for way, pairs in found.items():
            accuracy, of_kappa = np.array(pairs).T
            gain = accuracy - best
            print(
                f"  {share:.0%} {way:15} accuracy {accuracy.mean():.3f} ({accuracy.std() / draws**0.5:.3f}) "
                f"kappa {np.nanmean(of_kappa):.3f} gain {gain.mean():+.3f} ({gain.std() / draws**0.5:.3f}; "
                f"5% to 95% of draws {np.quantile(gain, 0.05):+.3f} to {np.quantile(gain, 0.95):+.3f})",
                flush=True,
            )


def guarantee(name: str, studies: int, shifted: list[str]) -> None:
    """Shares of studies whose realised error exceeds the risk, of items kept, and of refusals."""
    votes = labelled(load(name).votes)
    others = {other: labelled(load(other).votes) for other in shifted}
    tasks = np.unique(votes.groups)
    found = {risk: [] for risk in RISKS}
    moved = {(risk, other): [] for risk in RISKS for other in others}
    for fit in range(-(-studies // STUDIES_A_FIT)):
        rng = np.random.default_rng([fit, 7])
        train = np.isin(votes.groups, rng.permutation(tasks)[: tasks.size // 4])
        panel = fit_panel(votes.hidden(train), "logistic", rng=rng)
        sure, wrong, groups = answers(panel, votes.only(~train))
        apart = {other: answers(panel, each)[:2] for other, each in others.items()}
        rows = [np.flatnonzero(groups == task) for task in np.unique(groups)]
        for _ in range(STUDIES_A_FIT):
            picked = [rows[number] for number in rng.integers(len(rows), size=len(rows))]
            items = np.concatenate(picked)
            drawn = np.repeat(np.arange(len(picked)), [each.size for each in picked])
            for risk in RISKS:
                alone = decides_alone(sure[items], wrong[items], drawn, risk=risk)
                kept = sure >= (2 if alone.refusal else alone.threshold)
                error = wrong[kept].mean() if kept.any() else 0.0
                found[risk].append((error > risk, kept.mean(), bool(alone.refusal)))
                for other, (confidence, bad) in apart.items():
                    there = confidence >= (2 if alone.refusal else alone.threshold)
                    moved[risk, other].append((there.any() and bad[there].mean() > risk, there.mean()))
    n = len(found[RISKS[0]])
    print(f"{name}: {n} studies of {-(-studies // STUDIES_A_FIT)} fits, {len(rows)} tasks each")
    for risk, rows_of in found.items():
        exceeds, kept, refused = np.mean(rows_of, axis=0)
        by_fit = np.reshape([row[0] for row in rows_of], (-1, STUDIES_A_FIT)).mean(axis=1)
        error = by_fit.std(ddof=1) / by_fit.size**0.5 if by_fit.size > 1 else float("nan")
        given = kept / (1 - refused) if refused < 1 else 0.0
        print(
            f"  risk {risk:.2f}: exceeds {exceeds:.4f} (MC {error:.4f}), kept {kept:.3f} ({given:.3f} where granted), "
            f"refused {refused:.3f}",
            *(
                f"; on {other} exceeds {np.mean(moved[risk, other], axis=0)[0]:.3f} "
                f"kept {np.mean(moved[risk, other], axis=0)[1]:.3f}"
                for other in others
            ),
            flush=True,
        )


def answers(panel, votes: Votes):
    """Confidence and error of each item, and its task."""
    p = panel.probabilities(votes.words)
    words = likeliest(p)
    given = ~np.isnan(words)
    return p.max(axis=1)[given], (words != votes.labels)[given].astype(float), votes.groups[given]


if __name__ == "__main__":
    what, name, count, *shift = sys.argv[1:]
    ways(name, int(count)) if what == "ways" else guarantee(name, int(count), shift)
