"""Do the intervals cover? Exact enumeration at n = 20, and simulation of panels whose true agreement is known.

The rule: over the grid, coverage of a 95% interval is .95 or more on average and .93 or more everywhere; more is
allowed. A value that is undefined in a sample (both raters constant) offers no interval and is not counted.
"""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm
from stats.probit_panels import ITEM, TASK, pattern_probabilities, probit_panel, true_coefficient

from axisjudge.stats.agreement.chance_corrected import agreement_coefficients

PAIR = ["percent_agreement", "cohen_kappa", "scott_pi", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha"]
PANEL = ["percent_agreement", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha"]
ORDERED = [
    *("cohen_kappa_linear", "cohen_kappa_quadratic", "gwet_ac2_linear", "gwet_ac2_quadratic"),
    *("krippendorff_alpha_ordinal", "krippendorff_alpha_interval"),
]
DESIGNS = [(20, 1), (5, 4), (12, 4), (50, 4), (200, 1)]
PREVALENCES = [0.05, 0.3, 0.5]


def test_the_true_values_are_those_of_the_bivariate_normal():
    limit = norm.ppf(0.3)
    both = multivariate_normal.cdf([limit, limit], cov=[[1, 0.7], [0.7, 1]])
    expected = [1 - 0.6 + both, 0.3 - both, 0.3 - both, both]
    assert pattern_probabilities(0.3)[1] == pytest.approx(expected, abs=1e-5)


def exact_coverage(names, n=20, correlations=(0.2, 0.4, 0.7), prevalences=(0.05, 0.1, 0.3, 0.5)):
    """Coverage at n independent items of two raters, summed over all 2 x 2 tables with their probabilities.

    Intervals are drawn: an end that lies by the truth falls on either side, so coverage is the mean over four draws.
    """
    tables = np.array(
        [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
    )
    cells = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    found = [
        agreement_coefficients(np.repeat(cells, table, axis=0), names, categories=[0, 1], rng=seed)
        for seed in range(4)
        for table in tables
    ]
    ways = gammaln(n + 1) - gammaln(tables + 1).sum(axis=1)
    coverage = {}
    for name in names:
        low, high = (
            np.reshape([getattr(table[name], end) for table in found], (4, -1)) for end in ("ci_low", "ci_high")
        )
        offered = ~np.isnan(low)
        for correlation in correlations:
            for prevalence in prevalences:
                chance = pattern_probabilities(prevalence, correlation=correlation)[1]
                probability = np.exp(ways + (tables * np.log(chance)).sum(axis=1))
                truth = true_coefficient(name, prevalence, correlation=correlation)
                hit = (low <= truth) & (truth <= high)
                covered, asked = (((offered & each) * probability).sum() for each in (hit, True))
                coverage[name, correlation, prevalence] = covered / asked
    return coverage


def simulated_coverage(names, n_clusters, size, prevalence, *, n_raters=2, replicates=1000):
    rng = np.random.default_rng([n_clusters, size, round(100 * prevalence), n_raters])
    truth = {name: true_coefficient(name, prevalence, n_raters=n_raters) for name in names}
    hits = {name: [] for name in names}
    for _ in range(replicates):
        ratings, clusters = probit_panel(n_clusters, size, prevalence, rng, n_raters=n_raters)
        groups = clusters if size > 1 else None
        for name, found in agreement_coefficients(ratings, names, categories=[0, 1], clusters=groups, rng=rng).items():
            if not np.isnan(found.ci_low):
                hits[name].append(found.ci_low <= truth[name] <= found.ci_high)
    return {name: float(np.mean(hit)) for name, hit in hits.items()}


@pytest.mark.slow
def test_twenty_items_by_exact_enumeration():
    coverage = exact_coverage(["cohen_kappa", "gwet_ac1"])
    assert min(coverage.values()) >= 0.93
    assert np.mean(list(coverage.values())) >= 0.95


@pytest.mark.parametrize(
    ("n_clusters", "size", "prevalence"),
    [(5, 4, 0.3), (12, 4, 0.05), (50, 4, 0.3)],
)
@pytest.mark.slow
def test_kappa_in_clusters(n_clusters, size, prevalence):
    (coverage,) = simulated_coverage(["cohen_kappa"], n_clusters, size, prevalence).values()
    assert coverage >= 0.93


@pytest.mark.slow
def test_three_raters_with_few_failures():
    assert min(simulated_coverage(["gwet_ac1"], 12, 4, 0.05, n_raters=3, replicates=500).values()) >= 0.93


@pytest.mark.slow
def test_twenty_items_all_coefficients():
    coverage = exact_coverage(PAIR)
    assert min(coverage.values()) >= 0.93
    assert np.mean(list(coverage.values())) >= 0.95


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n_raters", [2, 3])
def test_the_whole_grid(n_raters):
    names = PAIR if n_raters == 2 else PANEL
    grid = {
        (*design, prevalence): simulated_coverage(names, *design, prevalence, n_raters=n_raters, replicates=3000)
        for design in DESIGNS
        for prevalence in PREVALENCES
    }
    for cell, coverage in grid.items():
        print(cell, {name: f"{share:.3f}" for name, share in coverage.items()})
    everything = [share for coverage in grid.values() for share in coverage.values()]
    assert min(everything) >= 0.93
    assert np.mean(everything) >= 0.95


def three_grades(n_clusters, size, shares, rng):
    """Two raters' grades 0, 1, 2: the probit panel's latent scores cut at the quantiles of `shares`."""
    shared = np.repeat(rng.standard_normal(n_clusters), size)[:, None]
    own, noise = rng.standard_normal((n_clusters * size, 1)), rng.standard_normal((n_clusters * size, 2))
    score = np.sqrt(TASK) * shared + np.sqrt(ITEM) * own + np.sqrt(1 - TASK - ITEM) * noise
    return np.searchsorted(norm.ppf(np.cumsum(shares)[:-1]), score).astype(float)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ordered_coefficients_of_three_grades():
    """The true values are those of two million items."""
    everything = []
    for shares in ((0.05, 0.05, 0.9), (0.15, 0.15, 0.7), (0.3, 0.4, 0.3)):
        rng = np.random.default_rng([round(100 * share) for share in shares])
        many = agreement_coefficients(three_grades(2_000_000, 1, shares, rng), ORDERED, categories=[0, 1, 2])
        for n_clusters, size in DESIGNS:
            clusters = np.repeat(np.arange(n_clusters), size) if size > 1 else None
            hits = {name: [] for name in ORDERED}
            for _ in range(1500):
                ratings = three_grades(n_clusters, size, shares, rng)
                found = agreement_coefficients(ratings, ORDERED, categories=[0, 1, 2], clusters=clusters, rng=rng)
                for name, value in found.items():
                    if not np.isnan(value.ci_low):
                        hits[name].append(value.ci_low <= many[name].estimate <= value.ci_high)
            coverage = {name: float(np.mean(hit)) for name, hit in hits.items()}
            print(shares, (n_clusters, size), {name: f"{share:.3f}" for name, share in coverage.items()})
            everything += coverage.values()
    assert min(everything) >= 0.93
    assert np.mean(everything) >= 0.95


def test_a_bootstrap_of_rare_failures_would_not_cover():
    """Why the posterior is there: percentiles over 5 clusters of 4 at prevalence .05 often have no width."""
    rng = np.random.default_rng(1)
    flat = 0
    for _ in range(200):
        ratings, clusters = probit_panel(5, 4, 0.05, rng)
        agree = np.bincount(clusters, weights=ratings[:, 0] == ratings[:, 1]) / 4
        means = agree[rng.integers(0, 5, size=(200, 5))].mean(axis=1)
        flat += bool(np.ptp(means) == 0)
    assert flat / 200 > 0.2
    found = agreement_coefficients(np.zeros((20, 2)), ["gwet_ac1"], categories=[0, 1], clusters=np.arange(20) // 4)
    assert found["gwet_ac1"].ci_high - found["gwet_ac1"].ci_low > 0.2
