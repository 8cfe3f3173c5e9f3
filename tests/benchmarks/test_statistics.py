"""What agreement with intervals costs, side by side with the packages one would otherwise resample in a loop."""

import itertools
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from axisjudge.stats.agreement import agreement_coefficients

NAMES = ["krippendorff_alpha", "gwet_ac1", "fleiss_kappa", "cohen_kappa"]
REPLICATES = 1_000


def ratings(n_items: int, n_raters: int = 4, missing: float = 0.1) -> np.ndarray:
    """Four nominal labels; raters see the truth in 7 of 10 items and guess otherwise."""
    rng = np.random.default_rng([n_items, n_raters])
    truth = rng.integers(0, 4, (n_items, 1))
    given = np.where(rng.random((n_items, n_raters)) < 0.7, truth, rng.integers(0, 4, (n_items, n_raters))).astype(
        float
    )
    given[rng.random(given.shape) < missing] = np.nan
    return given


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """The median of several timings after one call to warm up."""
    call()
    timings = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        timings.append(time.perf_counter() - start)
    return float(np.median(timings))


def test_side_by_side_on_a_hundred_thousand_items() -> None:
    """All of ours together against each other tool alone; others are timed on a few resamples and multiplied."""
    import krippendorff
    from sklearn.metrics import cohen_kappa_score

    given = ratings(100_000)
    rng = np.random.default_rng(0)
    ours = seconds(lambda: agreement_coefficients(given, NAMES))

    def alpha_loop() -> None:
        drawn = given[rng.integers(0, len(given), len(given))]
        krippendorff.alpha(reliability_data=drawn.T, level_of_measurement="nominal")

    def kappa_loop() -> None:
        drawn = given[rng.integers(0, len(given), len(given))]
        for first, second in itertools.combinations(range(4), 2):
            pair = drawn[:, [first, second]]
            pair = pair[~np.isnan(pair).any(axis=1)].astype(int)
            cohen_kappa_score(pair[:, 0], pair[:, 1])

    table = {
        "axisjudge: alpha, AC1, Fleiss, 6 kappas": ours,
        "krippendorff in a loop: alpha alone": REPLICATES * seconds(alpha_loop, 3),
        "scikit-learn in a loop: 6 kappas alone": REPLICATES * seconds(kappa_loop, 3),
    }
    print(f"\n100,000 items x 4 raters, 10% missing, {REPLICATES:,} replicates")
    for name, cost in table.items():
        print(f"  {name:<45}{cost:10.3f} s {cost / ours:10.0f} x")


def test_clustered_items() -> None:
    given = ratings(100_000)
    tasks = np.repeat(np.arange(25_000), 4)
    cost = seconds(lambda: agreement_coefficients(given, NAMES, clusters=tasks))
    print(f"\n25,000 tasks x 4 items x 4 raters, all nine intervals by jackknife: {cost:.3f} s")


def test_cost_against_n_and_raters() -> None:
    print("\nseconds for alpha, AC1, Fleiss and all kappas, independent items")
    print("  items    " + "".join(f"{n_raters:>9} raters" for n_raters in range(2, 7)))
    for n_items in (1_000, 10_000, 100_000, 1_000_000):
        costs = []
        for n_raters in range(2, 7):
            given = ratings(n_items, n_raters)
            costs.append(seconds(partial(agreement_coefficients, given, NAMES), 3))
        print(f"  {n_items:>9,}" + "".join(f"{cost:>16.3f}" for cost in costs))
