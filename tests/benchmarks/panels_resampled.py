"""Ways of putting judges together, by resampled studies on real votes: accuracy and kappa from 10, 25, 50% of tasks.

    python tests/benchmarks/panels_resampled.py SET DRAWS

SET is tau2, hotpotqa, bfcl (each with -final or -step) or summeval-CRITERION. Each draw fits every way on the labels of
some tasks and tries it on all other tasks. Prints, and asserts nothing. The guarantee: studies.panels.guarantee_table.
"""

import sys
from pathlib import Path

import numpy as np

from axisjudge.datasets import published_votes
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.agreement.patterns import rating_patterns
from axisjudge.stats.panels.dawid_skene import dawid_skene
from axisjudge.stats.panels.linear import likeliest
from axisjudge.stats.panels.votes import Votes
from axisjudge.stats.panels.ways import WAYS, calibrated, fit_panel
from axisjudge.studies.panels.voted import Voted, voted

SHARED = Path(__file__).parents[3] / "shared" / "data"
SHARES = (0.1, 0.25, 0.5)


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


if __name__ == "__main__":
    ways(sys.argv[1], int(sys.argv[2]))
