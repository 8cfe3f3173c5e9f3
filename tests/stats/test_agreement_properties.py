"""What every agreement coefficient must satisfy, whichever it is."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from axisjudge.stats.agreement import chance_corrected as agreement
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, rating_patterns

CATEGORIES = [1.0, 2.0, 4.0]

TWO = arrays(float, st.tuples(st.integers(1, 25), st.just(2)), elements=st.sampled_from([*CATEGORIES, math.nan]))


def estimates(ratings, categories=CATEGORIES, weights=None):
    """Every coefficient of two raters' ratings, without its interval."""
    patterns = rating_patterns(ratings, categories=categories, weights=weights)
    return {
        name: float(
            found.estimate(patterns.counts @ found.sums(patterns.codes, patterns.categories), patterns.categories)
        )
        for name, found in COEFFICIENTS.items()
    }


def same(first, second):
    return first == pytest.approx(second, abs=1e-9, nan_ok=True)


@settings(deadline=None)
@given(TWO, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(ratings, random):
    order = list(range(len(ratings)))
    random.shuffle(order)
    assert same(estimates(ratings), estimates(ratings[order]))


@settings(deadline=None)
@given(TWO)
def test_the_order_of_raters_does_not_matter(ratings):
    assert same(estimates(ratings), estimates(ratings[:, ::-1]))


@settings(deadline=None)
@given(TWO)
def test_names_of_categories_do_not_matter_to_nominal_coefficients(ratings):
    renamed = np.select([ratings == 1, ratings == 2, ratings == 4], [7.0, 3.0, 5.0], math.nan)
    first, second = estimates(ratings), estimates(renamed, categories=[3, 5, 7])
    nominal = [name for name, found in COEFFICIENTS.items() if not found.ordered]
    assert same({name: first[name] for name in nominal}, {name: second[name] for name in nominal})


@settings(deadline=None)
@given(TWO)
def test_ordered_coefficients_take_a_change_of_unit(ratings):
    assert same(estimates(ratings), estimates(10 * ratings + 3, categories=[13, 23, 43]))
    assert same(estimates(ratings), estimates(-ratings, categories=[-4, -2, -1]))


@settings(deadline=None)
@given(TWO)
def test_items_given_twice_count_as_weight_two(ratings):
    twice = estimates(np.vstack([ratings, ratings]))
    assert same(twice, estimates(ratings, weights=np.full(len(ratings), 2.0)))


@pytest.mark.slow
@settings(deadline=None)
@given(TWO, st.integers(0, 5))
def test_weight_nought_is_absence(ratings, n):
    more = np.vstack([ratings, np.tile([1.0, 4.0], (n, 1))])
    assert same(
        estimates(ratings, weights=np.ones(len(ratings))),
        estimates(more, weights=np.r_[np.ones(len(ratings)), np.zeros(n)]),
    )


@settings(deadline=None)
@given(arrays(float, st.integers(2, 25), elements=st.sampled_from(CATEGORIES)))
def test_perfect_agreement_is_one_or_undefined_never_less(column):
    found = estimates(np.column_stack([column, column]))
    varied = np.unique(column).size > 1
    assert all(math.isnan(value) or value == pytest.approx(1) for value in found.values()), found
    for name, value in found.items():
        if name.startswith(("percent", "gwet")):
            assert value == pytest.approx(1), name
        elif name.startswith(("cohen", "scott", "fleiss", "krippendorff")):
            assert math.isnan(value) != varied, name


@settings(deadline=None)
@given(TWO)
def test_no_coefficient_exceeds_one(ratings):
    for value in estimates(ratings).values():
        assert math.isnan(value) or value <= 1 + 1e-12


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(TWO, st.booleans())
def test_intervals_hold_the_estimate(ratings, grouped):
    clusters = np.arange(len(ratings)) // 3 if grouped else None
    for found in agreement_coefficients(ratings, list(COEFFICIENTS), categories=CATEGORIES, clusters=clusters).values():
        if math.isnan(found.ci_low):
            assert found.reason
        else:
            assert found.ci_low <= found.estimate + 1e-12
            assert found.estimate <= found.ci_high + 1e-12
            assert found.method


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(TWO)
def test_intervals_do_not_depend_on_the_order_of_items_or_clusters(ratings):
    names = list(COEFFICIENTS)
    clusters = np.arange(len(ratings)) % 7
    first = agreement_coefficients(ratings, names, categories=CATEGORIES, clusters=clusters)
    turned = agreement_coefficients(ratings[::-1], names, categories=CATEGORIES, clusters=-clusters[::-1])
    for name in names:
        ends = (first[name].ci_low, first[name].ci_high)
        assert ends == pytest.approx((turned[name].ci_low, turned[name].ci_high), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("n_raters", [3, 5])
def test_more_raters(n_raters):
    rng = np.random.default_rng(n_raters)
    truth = rng.choice(CATEGORIES, size=(80, 1))
    ratings = np.where(rng.random((80, n_raters)) < 0.7, truth, rng.choice(CATEGORIES, size=(80, n_raters)))
    names = [name for name, found in COEFFICIENTS.items() if not found.two_raters]
    first = agreement_coefficients(ratings, names)
    turned = agreement_coefficients(ratings[:, ::-1], names)
    assert {name: value.estimate for name, value in first.items()} == pytest.approx(
        {name: value.estimate for name, value in turned.items()}, nan_ok=True
    )


def test_every_public_coefficient_is_in_the_registry():
    """A coefficient that is offered, not registered, would escape all the tests above; one may be registered alone."""
    offered = {
        name
        for name, function in inspect.getmembers(agreement, inspect.isfunction)
        if function.__module__ == agreement.__name__
        and not name.startswith("_")
        and inspect.signature(function).return_annotation == "Agreement"
    }
    assert {"percent_agreement", "cohen_kappa", "krippendorff_alpha"} <= offered
    ratings = [[1.0, 1.0], [2.0, 1.0], [4.0, 4.0]]
    reached = set()
    for name in offered:
        function = getattr(agreement, name)
        choice = next((key for key in ("weights", "level") if key in inspect.signature(function).parameters), None)
        for option in _options(name):
            found = function(ratings, **({choice: option} if choice else {}))
            assert isinstance(found, Agreement)
            reached.add(found.coefficient)
    assert reached <= set(COEFFICIENTS)


def _options(name):
    return {
        "cohen_kappa": ("unweighted", "linear", "quadratic"),
        "fleiss_kappa": ("unweighted", "quadratic"),
        "gwet_ac2": ("linear", "quadratic"),
        "krippendorff_alpha": ("nominal", "ordinal", "interval"),
    }.get(name, (None,))


@pytest.mark.parametrize(("n_items", "n_clusters"), [(12, 12), (60, 60), (24, 6)])  # posterior, bootstrap, posterior
def test_an_interval_does_not_hang_on_what_else_is_asked_for(n_items, n_clusters):
    ratings = np.random.default_rng(3).choice([1.0, 2.0], size=(n_items, 3), p=[0.6, 0.4])
    ratings[:, 1] = np.where(np.arange(n_items) % 4 == 0, ratings[:, 1], ratings[:, 0])
    clusters = np.arange(n_items) % n_clusters
    names = [name for name, one in COEFFICIENTS.items() if not one.two_raters]
    together = agreement_coefficients(ratings, names, clusters=clusters)
    for name in names:
        alone = agreement_coefficients(ratings, [name], clusters=clusters)[name]
        assert (alone.ci_low, alone.ci_high) == pytest.approx(
            (together[name].ci_low, together[name].ci_high), nan_ok=True
        )
    assert together["krippendorff_alpha"].ci_low < together["krippendorff_alpha"].ci_high
