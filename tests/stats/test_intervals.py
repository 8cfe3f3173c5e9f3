"""Intervals for proportions: published values, exact enumeration, and simulation with clusters."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, ndtri
from scipy.stats import beta, betabinom, binom, t

from axisjudge.checks import InputError
from axisjudge.stats.clusters import NO_LEAN, Lean
from axisjudge.stats.estimate import Estimate, decided, difference_ends, exit_code
from axisjudge.stats.proportions import (
    bootstrap_interval,
    clopper_pearson_interval,
    cluster_codes,
    clustered_ends,
    clustered_mean,
    clustered_proportion,
    interval_on,
    jackknife_interval,
    jeffreys_interval,
    score_interval,
    share_at,
    t_quantile,
    wilson_interval,
)

PREVALENCES = (0.05, 0.3, 0.5)


@pytest.mark.parametrize(
    ("interval", "successes", "n", "low", "high"),
    [
        # Newcombe (1998), Stat. Med. 17:857-872, table I: 81/263, 15/148, 0/20, 1/29
        (wilson_interval, 81, 263, 0.2553, 0.3662),
        (wilson_interval, 15, 148, 0.0624, 0.1605),
        (wilson_interval, 0, 20, 0.0, 0.1611),
        (wilson_interval, 1, 29, 0.0061, 0.1718),
        (clopper_pearson_interval, 81, 263, 0.2527, 0.3676),
        (clopper_pearson_interval, 15, 148, 0.0578, 0.1617),
        (clopper_pearson_interval, 0, 20, 0.0, 0.1684),
        (clopper_pearson_interval, 1, 29, 0.0009, 0.1776),
    ],
)
def test_published_intervals(interval, successes, n, low, high):
    assert interval(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_jeffreys_reaches_the_end_it_has_not_left():
    assert jeffreys_interval(0, 10)[0] == 0
    assert jeffreys_interval(10, 10)[1] == 1


@pytest.mark.parametrize("n", [5, 20, 40, 200])
def test_independent_items_are_covered_by_exact_enumeration(n):
    """Over proportions .005-.995 the rule covers .93 or more everywhere, and .95 on average."""
    outcomes = [clustered_proportion([1.0] * ones + [0.0] * (n - ones)) for ones in range(n + 1)]
    low, high = (np.array([getattr(outcome, end) for outcome in outcomes]) for end in ("ci_low", "ci_high"))
    shares = np.linspace(0.005, 0.995, 400)[:, None]
    coverage = (binom.pmf(np.arange(n + 1), n, shares) * ((low <= shares) & (shares <= high))).sum(axis=1)
    assert coverage.min() >= 0.93
    assert coverage.mean() >= 0.95


def probit_clusters(n_clusters, size, prevalence, icc, replicates, rng):
    """0/1 outcomes of replicates x clusters x items that share a normal task effect of intraclass correlation `icc`."""
    task = rng.standard_normal((replicates, n_clusters, 1))
    own = rng.standard_normal((replicates, n_clusters, size))
    return (math.sqrt(icc) * task + math.sqrt(1 - icc) * own < ndtri(prevalence)).astype(float)


def coverage_of_clustered_proportion(n_clusters, size, prevalence, icc=0.3, replicates=1000):
    rng = np.random.default_rng([n_clusters, size, round(100 * prevalence)])
    clusters = np.repeat(np.arange(n_clusters), size)
    draws = probit_clusters(n_clusters, size, prevalence, icc, replicates, rng).reshape(replicates, -1)
    intervals = [clustered_proportion(draw, clusters) for draw in draws]
    return np.mean([found.ci_low <= prevalence <= found.ci_high for found in intervals])


def five_of_four(narrower=1.0):
    """Interval of every outcome of 5 clusters of 4: clusters with each number of ones, orders, low and high ends."""
    outcomes = list(itertools.combinations_with_replacement(range(5), 5))
    counts = np.array([np.bincount(outcome, minlength=5) for outcome in outcomes])
    orders = np.exp(gammaln(6) - gammaln(counts + 1).sum(axis=1))
    tasks, ends = np.repeat(np.arange(5), 4), []
    for outcome in outcomes:
        found = clustered_proportion(np.concatenate([[1.0] * ones + [0.0] * (4 - ones) for ones in outcome]), tasks)
        quantile = narrower * t_quantile(found.degrees, 0.95)
        own = (found.ci_low, found.ci_high)
        ends.append(own if narrower == 1 else score_interval(found.estimate, 20 / found.design_effect, quantile))
    return counts, orders, *np.array(ends).T


def exact_coverage(counts, orders, low, high, icc):
    """Over shares .02 to .98, clusters with a share of their own from a Beta distribution."""
    shares, spread = np.arange(0.02, 0.985, 0.02), 1 / icc - 1
    found = []
    for share in shares:
        chance = betabinom.pmf(np.arange(5), 4, share * spread, (1 - share) * spread)
        found.append((orders * (chance**counts).prod(axis=1))[(low <= share) & (share <= high)].sum())
    return np.array(found)


def test_five_clusters_of_four_by_exact_enumeration():
    """The width is not free: Wilson's a tenth narrower would break the rule for clusters as like as any measured."""
    now, narrower = five_of_four(), five_of_four(0.9)
    for icc in (0.1, 0.3, 0.4, 0.97):
        coverage = exact_coverage(*now, icc)
        assert coverage.min() >= 0.93
        assert coverage.mean() >= 0.95
    assert exact_coverage(*narrower, 0.4).min() < 0.92
    assert exact_coverage(*narrower, 0.4).mean() < 0.95


@pytest.mark.parametrize(("n_clusters", "prevalence"), [(12, 0.05), (12, 0.3), (50, 0.05)])
def test_clustered_items_are_covered(n_clusters, prevalence):
    assert coverage_of_clustered_proportion(n_clusters, 4, prevalence) >= 0.93


@pytest.mark.slow
def test_clustered_items_are_covered_over_the_grid():
    grid = itertools.product((5, 12, 25, 50), PREVALENCES, (0.1, 0.3, 0.5))
    coverage = [coverage_of_clustered_proportion(n, 4, p, icc, replicates=4000) for n, p, icc in grid]
    assert min(coverage) >= 0.93
    assert np.mean(coverage) >= 0.95


def test_clusters_widen_the_interval():
    agreed = [1.0] * 19 + [0.0]
    tasks = np.repeat(np.arange(5), 4)
    alone, grouped = clustered_proportion(agreed), clustered_proportion(agreed, tasks, cluster_unit="task")
    assert grouped.ci_low < alone.ci_low < alone.estimate
    assert "5 tasks" in str(grouped)
    assert grouped.n_clusters == 5
    assert alone.cluster_unit == "item"


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, math.nan]), st.integers(0, 30)), min_size=2, max_size=80))
def test_order_and_names_of_clusters_do_not_matter(rows):
    values, clusters = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    if np.unique(clusters[~np.isnan(values)]).size < 2:
        return
    first = clustered_proportion(values, clusters)
    turned = clustered_proportion(values[::-1], [f"task {cluster}" for cluster in clusters[::-1]])
    assert (first.ci_low, first.ci_high) == pytest.approx((turned.ci_low, turned.ci_high))
    assert 0 <= first.ci_low <= first.estimate <= first.ci_high <= 1
    assert first.n_items + first.n_missing == len(rows)


def test_nothing_is_said_without_values():
    found = clustered_proportion([math.nan, math.nan])
    assert "no value" in found.reason
    assert math.isnan(found.estimate)
    assert found.n_missing == 2
    assert found.reason


def test_one_cluster_has_an_estimate_but_no_interval():
    found = clustered_proportion([1, 0, 1, 1], ["a"] * 4, cluster_unit="task")
    assert "one task" in found.reason
    assert found.estimate == 0.75
    assert math.isnan(found.ci_low)
    assert "no interval" in str(found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clustered_proportion([0, 2]), "values: must be one row of 0, 1 or NaN"),
        (lambda: clustered_proportion([0, 1], [1]), "clusters: needs one entry for each of the 2 items"),
        (lambda: cluster_codes([1.0, math.nan], 2), "clusters: every item needs a label"),
        (lambda: wilson_interval(3, 2), "successes: must lie between 0 and n = 2"),
        (lambda: wilson_interval(0, 0), "n: must be greater than 0"),
        (lambda: wilson_interval(1, 2, ci_level=95), "ci_level: must lie between 0 and 1"),
    ],
)
def test_messages_say_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_estimate_is_short_and_escaped():
    found = Estimate(estimate=0.5, reason="<b>few</b>", n_items=2, n_clusters=1, cluster_unit="task")
    assert repr(found) == "Estimate(0.500 [no interval: <b>few</b>], 2 items in 1 task)"
    assert "<b>" not in found._repr_html_()
    assert found.worded() == "0.50 (no interval: <b>few</b>)"
    assert replace(found, ci_low=0.2, ci_high=0.8).worded() == "0.50 (0.20 to 0.80)"
    assert replace(found, estimate=math.nan).worded() == "undefined (<b>few</b>)"
    assert found.to_dict()["ci_low"] is None


@pytest.mark.parametrize(("n_clusters", "size"), [(12, 4), (50, 4), (200, 1)])
def test_clustered_means_are_covered(n_clusters, size):
    """Uniform values shifted by a normal task effect; true mean 0."""
    rng = np.random.default_rng([n_clusters, size])
    clusters = np.repeat(np.arange(n_clusters), size)
    hits = 0
    for _ in range(1000):
        found = clustered_mean(
            rng.uniform(-1, 1, clusters.size) + 0.5 * rng.standard_normal(n_clusters)[clusters], clusters
        )
        hits += found.ci_low <= 0 <= found.ci_high
    assert hits / 1000 >= 0.93


def test_few_clusters_and_equal_values_have_a_mean_without_an_interval():
    undefined = clustered_mean([1.0, 2.0, 4.0])
    assert "too few" in undefined.reason
    assert math.isnan(undefined.ci_low)
    undefined = clustered_mean([1.0] * 20)
    assert "equal" in undefined.reason
    assert math.isnan(undefined.ci_low)
    undefined = clustered_mean([math.nan])
    assert "no value" in undefined.reason
    assert math.isnan(undefined.estimate)


def test_ends_of_a_difference_are_newcombes():
    """Newcombe (1998), Stat. Med. 17:873-890, table II (a), method 10: 56/70 less 48/80 from Wilson's ends."""
    first, second = (
        Estimate(estimate=hits / n, ci_low=low, ci_high=high, n_items=n, n_clusters=n)
        for hits, n in ((56, 70), (48, 80))
        for low, high in [wilson_interval(hits, n)]
    )
    assert difference_ends(first, second) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_ends_of_a_difference_draw_together_where_both_move_together():
    """By hand at r = .5: .2 - sqrt(.01 + .0025 - .005) and .2 + sqrt(.04 + .01 - .02)."""
    first, second = (
        Estimate(estimate=at, ci_low=low, ci_high=high, n_items=9, n_clusters=9)
        for at, low, high in ((0.5, 0.4, 0.7), (0.3, 0.2, 0.35))
    )
    ends = (0.2 - 0.0075**0.5, 0.2 + 0.03**0.5)
    assert difference_ends(first, second, 0.5) == pytest.approx(ends)


def test_ends_of_few_clusters_allow_for_a_kind_that_none_of_them_is():
    """Nine clusters: 1 - .1^(1/9) of clusters at level .9 may be unlike all; the exact interval below 15 of a kind."""
    lean = Lean(below=0.3, above=0.5, clusters=9)
    rarest = 1 - 0.1 ** (1 / 9)
    for share, n in ((0.5, 100), (0.5, 30), (0.5, 29), (0.1, 100)):
        low, high = score_interval(share, n, t_quantile(8, 0.9))
        if min(share, 1 - share) * n < 15:
            exact = clopper_pearson_interval(share * n, n, ci_level=0.9)
            low, high = min(low, exact[0]), max(high, exact[1])
        assert clustered_ends(share, n, 8, Lean(clusters=9), 0.9) == pytest.approx((low, high))
        wide = min(low, max(0, share - 0.3 * rarest)), max(high, share + 0.5 * rarest)
        assert clustered_ends(share, n, 8, lean, 0.9) == pytest.approx(wide)
    assert clustered_ends(0.1, 20, 8, NO_LEAN, 0.9) == score_interval(0.1, 20, t_quantile(8, 0.9))


def test_a_lean_moves_one_end_of_a_score_interval_alone():
    """Wilson's ends solve (p - share)^2 = q^2 p (1 - p) / n, each with its own q: t + .1 (2 t^2 + 1) + .2 above."""
    low, high = score_interval(0.3, 40, 2.0, Lean(1.0, True, 0.1, 0.2))
    for end, q in ((low, 2.0), (high, 2.0 + 0.1 * 9 + 0.2)):
        assert (end - 0.3) ** 2 == pytest.approx(q**2 * end * (1 - end) / 40)
    assert low < 0.3 < high
    assert (score_interval(0, 9, 2.0)[0], score_interval(1, 9, 2.0)[1]) == (0, 1)


@pytest.mark.parametrize(
    ("scale", "there"), [("identity", lambda x: x), ("fisher", math.atanh), ("logit", lambda x: math.log(x / (1 - x)))]
)
def test_resampled_intervals_are_t_on_their_scale(scale, there):
    """Jackknife: (n - 1) / n sum (z - mean z)^2 on n - 1 degrees; bootstrap: the SD of what was resampled."""
    z = np.array([there(each) for each in (0.4, 0.45, 0.5, 0.6)])
    back = {"identity": lambda x: x, "fisher": np.tanh, "logit": lambda x: 1 / (1 + np.exp(-x))}[scale]
    jackknife = math.sqrt(3 / 4 * ((z - z.mean()) ** 2).sum())
    for degrees, used in ((None, 3), (2.5, 2.5)):
        ends = back(there(0.5) + np.array([-1, 1]) * t.ppf(0.95, used) * jackknife)
        found = jackknife_interval(0.5, [0.4, 0.45, 0.5, 0.6], scale=scale, degrees=degrees, ci_level=0.9)
        assert found == pytest.approx(tuple(ends))
    ends = back(there(0.5) + np.array([-1, 1]) * t.ppf(0.975, 11) * z.std(ddof=1))
    assert bootstrap_interval(0.5, [0.4, 0.45, 0.5, 0.6], n=12, scale=scale) == pytest.approx(tuple(ends))


def test_a_share_at_another_level_is_that_of_its_items_at_that_level():
    rng = np.random.default_rng(1)
    values, tasks = (rng.random(60) < 0.3).astype(float), np.repeat(np.arange(15), 4)
    for groups in (None, tasks):
        found, wanted = (clustered_proportion(values, groups, ci_level=level) for level in (0.95, 0.8))
        assert share_at(found, 0.8) == wanted
    alone = share_at(clustered_proportion([1, 0], [0, 0]), 0.8)
    assert (alone.ci_level, math.isnan(alone.ci_low)) == (0.8, True)


@pytest.mark.parametrize(("interval", "prior"), [(clopper_pearson_interval, None), (jeffreys_interval, 0.5)])
def test_exact_and_posterior_ends_are_beta_quantiles(interval, prior):
    """Clopper and Pearson: Beta(k, n - k + 1) and Beta(k + 1, n - k); Jeffreys: Beta(k + 1/2, n - k + 1/2) for both."""
    for k, n in ((3, 10), (1.5, 4.5), (0, 8), (8, 8)):
        low = 0 if k == 0 else beta.ppf(0.05, k + (prior or 0), n - k + (prior or 1))
        high = 1 if k == n else beta.ppf(0.95, k + (prior or 1), n - k + (prior or 0))
        assert interval(k, n, ci_level=0.9) == pytest.approx((low, high))


def test_a_mean_of_independent_values_has_the_interval_of_t():
    """From ten units on; those of clusters that hold an item each are the same."""
    values = np.random.default_rng(3).random(10)
    half = t.ppf(0.95, 9) * values.std(ddof=1) / math.sqrt(10)
    for clusters in (None, np.arange(10)):
        found = clustered_mean(np.r_[values, math.nan], clusters if clusters is None else [*clusters, 3], ci_level=0.9)
        assert (found.ci_low, found.ci_high) == pytest.approx((values.mean() - half, values.mean() + half))
        assert (found.n_items, found.n_missing, found.n_clusters) == (10, 1, 10)
    assert "9 independent units" in clustered_mean(values[:9]).reason


def test_the_exact_interval_gives_way_to_wilson_s_at_fifteen_of_either_outcome():
    methods = [clustered_proportion([1] * k + [0] * (40 - k)).method for k in (14, 15, 25, 26)]
    assert methods == ["Clopper-Pearson", "Wilson", "Wilson", "Clopper-Pearson"]


def test_names_of_clusters_are_numbered_and_every_item_is_its_own_without_any():
    assert cluster_codes(None, 3).tolist() == [0, 1, 2]
    for names, numbers in (
        (["b", "a", "b"], [1, 0, 1]),
        ([2, 0, 0], [1, 0, 0]),
        ([1, 0, 1], [1, 0, 1]),
        ([-1, 1, 1], [0, 1, 1]),
    ):
        assert cluster_codes(np.array(names), 3).tolist() == numbers


@pytest.mark.parametrize(("estimate", "error"), [(1.0, 0.1), (0.5, math.inf), (math.nan, 0.1)])
def test_what_is_not_finite_on_its_scale_has_no_interval(estimate, error):
    assert np.isnan(interval_on("fisher", estimate, error, 20, 0.95)).all()


def test_requirements_of_several_judges_rest_on_intervals_that_hold_together():
    """Three judges of 92 in 100 against .84: each passes by itself, at 1 - .05 / 3 none does."""

    def judges(ci_level):
        share = clustered_proportion([1] * 92 + [0] * 8, ci_level=ci_level)
        return [((name,), name, lambda measure: share) for name in "abc"]

    all_three = decided(["accuracy>=0.84"], ["accuracy"], judges)
    alone = decided(["b.accuracy>=0.84"], ["accuracy"], judges)
    assert ([each.outcome for each in all_three], alone[0].outcome) == (["cannot_tell"] * 3, "met")
    assert ("98.3%" in all_three[0].sentence(), "%" in alone[0].sentence()) == (True, False)
    assert decided(["a.accuracy>=0.84", "a.accuracy>=0.5"], ["accuracy"], judges)[0].outcome == "cannot_tell"


def test_a_requirement_is_met_missed_or_cannot_be_told_by_the_bound_that_counts():
    """Judges of 90, 60 and 30 in 100, Wilson: .826 to .945, .502 to .691, .219 to .396; and one of one task."""
    shares = {name: clustered_proportion([1] * n + [0] * (100 - n)) for name, n in (("a", 90), ("b", 60), ("c", 30))}
    shares["d"] = clustered_proportion([1, 0], [1, 1], cluster_unit="task")

    def decide(text):
        judges = [((name,), name, {"share": share}.get) for name, share in shares.items()]
        return decided([text], ["share", "kappa"], lambda level: judges)

    assert [each.outcome for each in decide("share>=0.55")] == ["met", "cannot_tell", "short", "cannot_tell"]
    assert [each.outcome for each in decide("share <= .55")] == ["short", "cannot_tell", "met", "cannot_tell"]
    assert "all values are of one task" in decide("d.share>=0.55")[0].sentence()
    codes = [exit_code(decide(text)) for text in ("share>=.55", "a.share>=.55", "d.share>=.55")]
    assert codes == [1, 0, 4]
    for text, rule in (
        ("share>0.5", "must be MEASURE>=NUMBER"),
        ("accuracy>=0.5", "must be MEASURE>=NUMBER"),
        ("share>=85", "at most 1; found 'share>=85'; 85% is 0.85"),
        ("e.share>=0.5", "names no judge or question"),
        ("a.kappa>=0.5", "kappa is no measure of a"),
    ):
        with pytest.raises(InputError, match=rule):
            decide(text)
