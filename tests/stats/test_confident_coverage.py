"""Coverage of the intervals that use confidences or labels: soft and case-weighted agreement, AUROC, effective judges.

The rule of the agreement coefficients holds for them too: at least .93 wherever an interval is given, .95 in the mean.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from axisjudge.stats.agreement.effective import effective_judges
from axisjudge.stats.agreement.soft import beliefs, case_weighted, soft_agreement
from axisjudge.stats.calibration import auroc

WORDS = np.array(["correct", "incorrect"], dtype=object)
TASK, ITEM = 0.3, 0.4
DESIGNS = [(20, 1), (5, 4), (12, 4), (50, 4), (200, 1)]  # clusters x items


def sure_panel(n_clusters, size, prevalence, rng, n_judges=4):
    """The probit panel with confidences that rise with the distance from the threshold, and the truth behind it."""
    n_items = n_clusters * size
    shared = math.sqrt(TASK) * np.repeat(rng.standard_normal(n_clusters), size)[:, None]
    shared = shared + math.sqrt(ITEM) * rng.standard_normal((n_items, 1))
    score = shared + math.sqrt(1 - TASK - ITEM) * rng.standard_normal((n_items, n_judges))
    cut = ndtri(prevalence)
    sure = ndtr(1.2 * np.abs(score - cut) - 1 + 0.5 * rng.standard_normal(score.shape))
    truth = (shared[:, 0] / math.sqrt(TASK + ITEM) < cut).astype(float)
    return (score < cut).astype(float), 0.5 + 0.5 * sure, truth, np.repeat(np.arange(n_clusters), size)


def estimates(verdict, confidence, truth, tasks):
    pair, sure = verdict[:, :2], confidence[:, :2]
    return {
        "soft": soft_agreement(beliefs(WORDS[pair.astype(int)], sure), clusters=tasks),
        "case_weighted": case_weighted(pair, sure, clusters=tasks, categories=[0, 1]),
        "auroc": auroc(sure[:, 0], pair[:, 0] == truth, clusters=tasks),
        "effective": effective_judges(verdict, truth, clusters=tasks).n_effective,
    }


def coverage(design, prevalence, replicates, monkeypatch, n_true=50_000):
    """Share of intervals that hold the value of `n_true` tasks of four, where a tenth of runs or more have one."""
    monkeypatch.setattr("axisjudge.stats.agreement.soft.PERMUTATIONS", 1)
    rng = np.random.default_rng([*design, round(100 * prevalence)])
    true = {name: found.estimate for name, found in estimates(*sure_panel(n_true, 4, prevalence, rng)).items()}
    hits = {name: [] for name in true}
    for _ in range(replicates):
        for name, found in estimates(*sure_panel(*design, prevalence, rng)).items():
            if not math.isnan(found.ci_low):
                hits[name].append(found.ci_low <= true[name] <= found.ci_high)
    return {name: float(np.mean(hit)) for name, hit in hits.items() if len(hit) >= replicates / 10}


@pytest.mark.slow
def test_a_few_designs_are_covered(monkeypatch):
    found = coverage((50, 4), 0.3, 100, monkeypatch, n_true=10_000)
    assert set(found) == {"soft", "case_weighted", "auroc", "effective"}
    assert min(found.values()) >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 100)


def test_five_tasks_have_no_interval(monkeypatch):
    assert coverage((5, 4), 0.3, 20, monkeypatch, n_true=2_000) == {}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_whole_grid(monkeypatch):
    everything = []
    for design in DESIGNS:
        for prevalence in (0.05, 0.3, 0.5):
            found = coverage(design, prevalence, 1000, monkeypatch)
            print(design, prevalence, {name: f"{share:.3f}" for name, share in found.items()})
            everything += found.values()
    assert min(everything) >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 1000)
    assert np.mean(everything) >= 0.95
