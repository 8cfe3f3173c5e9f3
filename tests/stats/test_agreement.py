"""Agreement coefficients: published values, other programs, and what is said where a value is undefined."""

import itertools
import json
import math
from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from scipy.stats import norm, t
from sklearn.metrics import cohen_kappa_score

from axisjudge.checks import InputError
from axisjudge.stats.agreement.chance_corrected import (
    agreement_coefficients,
    bias_index,
    category_shares,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    percent_agreement,
    prevalence_index,
    scott_pi,
)
from axisjudge.stats.agreement.coefficient_intervals import _cells, rare, shows_few
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, coefficient_of_two, rating_patterns
from axisjudge.stats.clusters import clustered_variance

NAN = math.nan
#: Coefficients whose chance is how often the raters used each word.
CHANCE_BY_USE = ("cohen", "scott", "fleiss", "krippendorff")

# Krippendorff (2011), Computing Krippendorff's alpha-reliability, section C: 4 observers, 12 units; also the example of
# Gwet (2014), table 4.10, for AC1
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T

# the 10 x 14 example of Fleiss' kappa (counts of 14 raters in 5 categories), as in the Wikipedia article on it
FLEISS_COUNTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def from_table(both_correct, first_only, second_only, both_incorrect):
    rows = [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    return np.repeat(rows, [both_correct, first_only, second_only, both_incorrect], axis=0)


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491)])
def test_krippendorffs_own_example(level, value):
    found = krippendorff_alpha(KRIPPENDORFF, level=level)
    assert found.estimate == pytest.approx(value, abs=5e-5)
    assert (found.n_items, found.n_raters, found.n_missing) == (11, 4, 7)
    assert "items with a single rating: 1" in found.notes


def test_gwets_own_example():
    assert gwet_ac1(KRIPPENDORFF).estimate == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(KRIPPENDORFF).estimate == pytest.approx(0.76117, abs=5e-6)  # Gwet's convention
    assert percent_agreement(KRIPPENDORFF).estimate == pytest.approx(0.81818, abs=5e-6)


def test_fleiss_example():
    ratings = [np.repeat(np.arange(1.0, 6.0), counts) for counts in FLEISS_COUNTS]
    found = fleiss_kappa(ratings)
    assert found.ci_low < found.estimate < found.ci_high
    assert found.estimate == pytest.approx(0.210, abs=5e-4)
    assert found.observed_agreement == pytest.approx(0.378, abs=5e-4)
    assert found.expected_agreement == pytest.approx(0.213, abs=5e-4)


def test_cohen_examples():
    # Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions, 3rd ed., table 18.1: kappa .676
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    ratings = [[row, column] for row in range(3) for column in range(3) for _ in range(table[row][column])]
    assert cohen_kappa(np.array(ratings, dtype=float)).estimate == pytest.approx(0.676, abs=5e-4)


@pytest.mark.parametrize(
    ("axis", "tables", "kappas", "ac1"),
    [
        # what the published agreement of two judges (n = 20) and its any-judge-incorrect counts imply
        ("tool_selection", [(16, 1, 0, 3)], [0.83], 0.93),
        ("argument_validity", [(19, 1, 0, 0)], [0.0], 0.95),
        ("sequencing", [(17, 1, 1, 1), (17, 2, 0, 1)], [0.44, 0.46], 0.88),
        ("result_interpretation", [(14, 1, 2, 3), (14, 3, 0, 3)], [0.57, 0.58], 0.77),
        ("termination", [(18, 1, 1, 0), (18, 2, 0, 0)], [-0.05, 0.0], 0.89),
    ],
)
def test_the_published_twenty(axis, tables, kappas, ac1):
    for table, kappa in zip(tables, kappas, strict=True):
        assert cohen_kappa(from_table(*table)).estimate == pytest.approx(kappa, abs=5e-3), axis
        assert gwet_ac1(from_table(*table), categories=[0, 1]).estimate == pytest.approx(ac1, abs=6e-3), axis


def test_high_agreement_with_kappa_zero_is_explained():
    found = cohen_kappa(from_table(19, 1, 0, 0))
    assert found.estimate == 0
    assert "agree on 95%" in found.sentence()
    assert "98% of the ratings are of the commonest category" in found.sentence()
    assert any("one category only" in note for note in found.notes)
    assert found.prevalence_index == pytest.approx(19 / 20)  # |a - d| / n
    assert found.bias_index == pytest.approx(1 / 20)  # |b - c| / n
    assert cohen_kappa(from_table(10, 0, 0, 10)).sentence() == ""
    apart = cohen_kappa(from_table(14, 4, 0, 2))
    assert (
        "80% of the ratings are of the commonest category and two raters are up to 20 points apart" in apart.sentence()
    )
    near = cohen_kappa(np.tile([[0, 1], [1, 1], [2, 1], [1, 2], [1, 0.0]], (8, 1)), weights="quadratic")
    assert "With near misses counted in part the raters agree on 80% (20% word for word)" in near.sentence()


def test_of_three_raters_kappa_is_that_of_every_pair():
    ratings = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
    found = agreement_coefficients(ratings, ["cohen_kappa", "gwet_ac1"])
    pairs = ["cohen_kappa[0,1]", "cohen_kappa[0,2]", "cohen_kappa[1,2]"]
    assert list(found) == [*pairs, "gwet_ac1"]
    assert found["cohen_kappa[0,2]"].estimate == pytest.approx(cohen_kappa_score(ratings[:, 0], ratings[:, 2]))
    for level in ("nominal", "ordinal"):
        of_two = COEFFICIENTS[coefficient_of_two(level)]
        assert of_two.two_raters
        assert of_two.ordered == (level == "ordinal")


# other programs


def load(folder, dataset, kind, codes):
    annotations = json.loads((folder / "alttest" / dataset / f"{kind}_annotations.json").read_text())
    items = sorted({item for rater in annotations.values() for item in rater})
    matrix = [
        [NAN if (word := rater.get(item)) is None else codes[str(word)] for rater in annotations.values()]
        for item in items
    ]
    return np.array(matrix), list(annotations)


@pytest.mark.parametrize("dataset", ["mtbench", "cebab_stars", "summeval"])
@pytest.mark.parametrize(("group", "kind"), [("humans", "human"), ("llms", "llm")])
def test_two_independent_programs_on_public_data(shared_data, oracles, dataset, group, kind):
    expected = json.loads((oracles / "agreement.json").read_text())[dataset]
    ratings, raters = load(shared_data, dataset, kind, expected["category_codes"])
    wanted = {
        "percent_agreement": expected[group]["identity"]["pa_unit_mean"],
        "fleiss_kappa": expected[group]["identity"]["fleiss_gwet"],
        "gwet_ac1": expected[group]["identity"]["ac"],
    }
    for level, alpha in expected[group]["krippendorff_alpha"].items():
        wanted["krippendorff_alpha" + ("" if level == "nominal" else f"_{level}")] = alpha
    found = agreement_coefficients(ratings, list(wanted))
    assert {name: value.estimate for name, value in found.items()} == pytest.approx(wanted, abs=1e-9)
    pair_names = {
        "percent": "percent_agreement",
        "scott_pi": "scott_pi",
        "ac1": "gwet_ac1",
        "ac2_linear": "gwet_ac2_linear",
        "ac2_quadratic": "gwet_ac2_quadratic",
        "alpha_nominal": "krippendorff_alpha",
        "alpha_ordinal": "krippendorff_alpha_ordinal",
        "alpha_interval": "krippendorff_alpha_interval",
    }
    for pair, figures in (expected[group]["cohen_pairs"] or {}).items():
        columns = [raters.index(name) for name in pair.split(" | ")]
        wanted = {pair_names[name]: value for name, value in figures.items() if name in pair_names}
        found = agreement_coefficients(ratings[:, columns], list(wanted))
        assert {name: value.estimate for name, value in found.items()} == pytest.approx(wanted, abs=1e-9)


def random_ratings(rng, n_items=60, n_raters=2, missing=0.0, categories=(1.0, 2.0, 3.0, 4.0)):
    truth = rng.choice(categories, size=(n_items, 1))
    ratings = np.where(
        rng.random((n_items, n_raters)) < 0.6, truth, rng.choice(categories, size=(n_items, n_raters))
    ).astype(float)
    ratings[rng.random(ratings.shape) < missing] = NAN
    return ratings


@pytest.mark.parametrize("seed", range(10))
def test_cohen_equals_scikit_learn(seed):
    ratings = random_ratings(np.random.default_rng(seed))
    for weights, theirs in (("unweighted", None), ("linear", "linear"), ("quadratic", "quadratic")):
        assert cohen_kappa(ratings, weights=weights).estimate == pytest.approx(
            cohen_kappa_score(*ratings.T, weights=theirs), abs=1e-12
        )


def test_weighted_kappa_sees_a_gap_in_the_scale_where_scikit_learn_does_not():
    """Weights are of values (1, 2, 5), so that 2 to 5 is farther than 1 to 2; scikit-learn counts positions."""
    ratings = np.array([[1, 1], [2, 2], [5, 5], [1, 2], [1, 2], [2, 5.0]])
    by_position = cohen_kappa_score(*ratings.T, weights="linear")
    first, second = ratings.T
    chance = np.abs(first[:, None] - second).mean()
    by_value = 1 - np.abs(first - second).mean() / chance
    assert cohen_kappa(ratings, weights="linear").estimate == pytest.approx(by_value)
    assert abs(by_value - by_position) > 0.01


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_equals_krippendorff_with_missing_ratings(seed, level):
    ratings = random_ratings(np.random.default_rng(seed), n_raters=4, missing=0.2)
    theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=level)
    assert krippendorff_alpha(ratings, level=level).estimate == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_equals_statsmodels_where_no_rating_is_missing(seed):
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    ratings = random_ratings(np.random.default_rng(seed), n_raters=4)
    assert fleiss_kappa(ratings).estimate == pytest.approx(theirs(aggregate_raters(ratings)[0]), abs=1e-12)


def test_statsmodels_takes_a_missing_rating_for_a_category():
    """aggregate_raters gives NaN a column of its own, so that raters 'agree' on having said nothing."""
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    counts, labels = aggregate_raters(KRIPPENDORFF)
    assert np.isnan(labels).any()
    assert theirs(counts) == pytest.approx(0.568, abs=5e-3)
    assert fleiss_kappa(KRIPPENDORFF).estimate == pytest.approx(0.761, abs=5e-4)


def test_fleiss_pools_items_not_ratings():
    """With unequal numbers of ratings, pooling all ratings gives .7605 on the same table (.7608 over units of two)."""
    counts = np.array([(value == KRIPPENDORFF).sum(axis=1) for value in range(1, 6)]).T
    n = counts.sum(axis=1)
    observed = (counts * (counts - 1)).sum(axis=1)[n > 1] / (n * (n - 1))[n > 1]
    pooled = counts.sum(axis=0) / counts.sum()
    assert 1 - (1 - observed.mean()) / (1 - (pooled**2).sum()) == pytest.approx(0.76047, abs=5e-6)
    assert fleiss_kappa(KRIPPENDORFF).estimate == pytest.approx(0.76117, abs=5e-6)


def test_scikit_learn_refuses_missing_ratings_where_ours_takes_what_both_rated():
    ratings = random_ratings(np.random.default_rng(3), missing=0.2)
    with pytest.raises((ValueError, RuntimeWarning), match=r"NaN|invalid value"):
        cohen_kappa_score(*ratings.T)
    complete = ratings[~np.isnan(ratings).any(axis=1)]
    assert cohen_kappa(ratings).estimate == pytest.approx(cohen_kappa_score(*complete.T), abs=1e-12)
    assert cohen_kappa(ratings).n_missing == np.isnan(ratings).sum()


# formulas by another road


@pytest.mark.parametrize("seed", range(5))
def test_ac2_by_its_formula_over_items(seed):
    """pa, p_k and pe of Gwet (2014), written out item by item."""
    ratings = random_ratings(np.random.default_rng(seed), n_raters=3, missing=0.2)
    values = np.unique(ratings[~np.isnan(ratings)])
    for kind in ("linear", "quadratic"):
        distance = np.abs(values[:, None] - values) / np.ptp(values)
        weight = 1 - (distance if kind == "linear" else distance**2)
        agreement, shares = [], []
        for row in ratings:
            given = row[~np.isnan(row)]
            if given.size:
                shares.append([(given == value).mean() for value in values])
            if given.size > 1:
                positions = np.searchsorted(values, given)
                agreement.append(np.mean([weight[i, j] for i, j in itertools.permutations(positions, 2)]))
        share = np.mean(shares, axis=0)
        chance = weight.sum() * (share * (1 - share)).sum() / (values.size * (values.size - 1))
        expected = (np.mean(agreement) - chance) / (1 - chance)
        assert gwet_ac2(ratings, weights=kind).estimate == pytest.approx(expected, abs=1e-12)


def test_scott_and_fleiss_are_one_for_two_complete_raters():
    ratings = random_ratings(np.random.default_rng(1))
    assert scott_pi(ratings).estimate == pytest.approx(fleiss_kappa(ratings).estimate, abs=1e-12)


def test_declared_categories_change_ac1_and_are_named():
    ratings = from_table(16, 1, 0, 3)
    observed, declared = gwet_ac1(ratings), gwet_ac1(ratings, categories=[0, 1, 2, 3])
    assert declared.estimate > observed.estimate
    assert declared.notes == (f"over 4 possible categories; over the 2 that occur it is {observed.estimate:.3f}",)


# degenerate and wrong input


def quietly(call):
    return call()


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_all_missing_is_undefined_with_a_reason(name):
    found = agreement_coefficients(np.full((4, 2), NAN), [name])[name]
    assert "no item has ratings of two raters" in found.reason
    assert math.isnan(found.estimate)
    assert "no item has ratings of two raters" in found.reason
    assert found.n_missing == 8


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_no_items_at_all(name):
    undefined = agreement_coefficients(np.empty((0, 2)), [name])[name]
    assert "no item has ratings of two raters" in undefined.reason
    assert math.isnan(undefined.estimate)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_one_category_only(name):
    """1 where chance is known without use (percent, AC1, AC2); where chance is taken from use, undefined, not 1."""
    found = quietly(lambda: agreement_coefficients(np.ones((30, 2)), [name], categories=[0, 1])[name])
    if math.isnan(found.estimate):
        assert "one category" in found.reason
        assert math.isnan(found.ci_low)
    else:
        assert found.estimate == 1
        assert found.ci_low < 1
    assert math.isnan(found.estimate) or not name.startswith(CHANCE_BY_USE)
    assert found.estimate == 1 or not name.startswith(("percent", "gwet"))


def test_ac1_asks_what_could_have_been_said():
    undefined = gwet_ac1(np.ones((5, 2)))
    assert "name all that could be given" in undefined.reason
    assert math.isnan(undefined.estimate)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_a_single_item_has_no_interval(name):
    found = quietly(lambda: agreement_coefficients([[0.0, 1.0]], [name], categories=[0, 1])[name])
    if name != "percent_agreement":
        assert math.isnan(found.ci_low)
        assert found.reason
    else:
        assert (found.ci_low, found.ci_high) == pytest.approx((0, 0.975))  # exact, of one trial


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_a_constant_rater_is_no_agreement_beyond_chance(name):
    found = quietly(lambda: agreement_coefficients(from_table(15, 0, 5, 0), [name], categories=[0, 1])[name])
    assert any("makes kappa 0" in note for note in found.notes) == ("cohen" in name)
    if "cohen" in name:
        assert found.estimate == 0
    elif name.startswith(CHANCE_BY_USE):
        assert found.estimate < 0


def test_one_cluster_gives_no_interval():
    found = cohen_kappa(from_table(5, 1, 1, 3), clusters=["a"] * 10)
    assert "fewer than two clusters" in found.reason
    assert math.isnan(found.ci_low)
    assert not math.isnan(found.estimate)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa(np.ones((4, 3))), "ratings: Cohen's kappa is of two raters"),
        (lambda: gwet_ac1(np.ones((4, 1))), "two raters or more"),
        (lambda: gwet_ac1([["correct", "incorrect"]]), "ratings: must be numbers"),
        (lambda: gwet_ac1([[0.0, 5.0]], categories=[0, 1]), r"found \[5.0\]"),
        (lambda: gwet_ac1([[0.0, 1.0]], categories=[0, 0]), "categories: must be distinct numbers"),
        (lambda: gwet_ac1([[0.0, math.inf]]), "must be finite or NaN"),
        (lambda: cohen_kappa([[0.0, 1.0]], weights="cubic"), "weights: must be one of"),
        (lambda: krippendorff_alpha([[0.0, 1.0]], level="ratio"), "level: must be one of"),
        (lambda: agreement_coefficients([[0.0, 1.0]], ["kappa"]), "names: must be one of"),
        (lambda: gwet_ac1([[0.0, 1.0]], ci_level=95), "ci_level: must lie between 0 and 1"),
    ],
)
def test_messages_say_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_same_input_gives_the_same_interval():
    ratings = random_ratings(np.random.default_rng(1), n_items=300)
    assert cohen_kappa(ratings) == cohen_kappa(ratings)
    assert cohen_kappa(ratings, rng=1).ci_low != cohen_kappa(ratings, rng=2).ci_low


def test_an_agreement_prints_its_clusters_and_turns_into_json():
    found = gwet_ac1(from_table(16, 1, 0, 3), clusters=np.repeat(np.arange(5), 4), cluster_unit="task")
    assert "20 items in 5 tasks" in repr(found)
    assert "design effect" in found.method
    assert json.loads(json.dumps(found.to_dict()))["prevalence"] == {"0.0": 7 / 40, "1.0": 33 / 40}


def test_many_patterns_are_jackknifed_and_agree_with_the_bootstrap(monkeypatch):
    """Five raters have thousands of patterns; leaving out one item of each pattern costs one pass over them."""
    ratings = random_ratings(np.random.default_rng(4), n_items=3000, n_raters=5, missing=0.1)
    left_out = krippendorff_alpha(ratings)
    assert "linearised" in left_out.method
    monkeypatch.setattr("axisjudge.stats.agreement.coefficient_intervals.MOST_FOR_BOOTSTRAP", 10**6)
    resampled = krippendorff_alpha(ratings)
    assert "bootstrap" in resampled.method
    assert (left_out.ci_low, left_out.ci_high) == pytest.approx((resampled.ci_low, resampled.ci_high), abs=0.003)
    monkeypatch.undo()
    alone = krippendorff_alpha(
        ratings, clusters=np.arange(3000) % 2999
    )  # two items share a cluster, the rest stand alone
    assert (left_out.ci_low, left_out.ci_high) == pytest.approx((alone.ci_low, alone.ci_high), abs=1e-4)


@pytest.mark.parametrize(
    ("counts", "is_rare", "is_few"),
    [  # of 80: the expected rarer cell is 80 x (rarer ratings / 160)^2; it, and items that differ or not, are 5 or more
        ((17, 6, 57), False, False),  # 80 x (40 / 160)^2 = 5
        ((16, 7, 57), True, False),
        ((18, 4, 58), True, True),
        ((18, 5, 57), False, False),
        ((3, 75, 2), False, False),
        ((2, 76, 2), True, False),
        ((2, 6, 72), True, False),  # (2 x 2 + 6) / 2 = 5 uses each
        ((1, 7, 72), True, True),
    ],
)
def test_what_is_rare_by_hand(counts, is_rare, is_few):
    both, differ, neither = counts
    ratings = from_table(both, differ // 2, differ - differ // 2, neither)
    for of in (ratings, 1 - ratings):
        assert (rare(rating_patterns(of)), shows_few(rating_patterns(of))) == (is_rare, is_few)


@pytest.mark.parametrize(
    ("name", "raters", "prior"),
    [  # one for the unanimous, one for the others, each pattern as often as raters can change places
        ("cohen_kappa", 2, {"00": 1 / 2, "11": 1 / 2, "01": 1 / 2, "10": 1 / 2}),
        ("fleiss_kappa", 3, {"000": 1 / 2, "111": 1 / 2, "001": 1 / 2, "011": 1 / 2}),
        ("gwet_ac1", 4, {"0000": 1 / 2, "1111": 1 / 2, "0001": 4 / 14, "0011": 6 / 14, "0111": 4 / 14}),
    ],
)
def test_the_prior_of_patterns_by_hand(name, raters, prior):
    ratings = np.zeros((3, raters))
    ratings[1], ratings[2, -1] = 1, np.nan
    cells, counts, mass = _cells(COEFFICIENTS[name], rating_patterns(ratings))
    names = ["".join("?" if code < 0 else str(code) for code in cell) for cell in cells.tolist()]
    found = dict(zip(names, mass, strict=True))
    hole = {each for each in found if "?" in each}
    assert {each: mass for each, mass in found.items() if each not in hole} == pytest.approx(prior)
    assert [found[each] for each in hole] == [0]
    assert sorted(counts[counts > 0]) == [1, 1, 1]


def test_few_items_have_the_posterior_of_their_table():
    """Dirichlet(1/2) of four cells, counts by (z / t)^2 on 39 degrees, and the ends by t / z: as drawn here."""
    ratings = from_table(12, 4, 4, 20)
    scale = (norm.ppf(0.95) / t.ppf(0.95, 39)) ** 2
    drawn = np.random.default_rng(5).dirichlet(scale * np.array([12, 4, 4, 20]) + 0.5, 40_000)
    first, second = drawn[:, 0] + drawn[:, 1], drawn[:, 0] + drawn[:, 2]
    chance = first * second + (1 - first) * (1 - second)
    ends = np.quantile((drawn[:, 0] + drawn[:, 3] - chance) / (1 - chance), [0.05, 0.95])
    found = cohen_kappa(ratings, ci_level=0.9)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends), abs=0.02)


@pytest.mark.parametrize("name", ["cohen_kappa", "gwet_ac1"])
def test_clustered_intervals_rest_on_what_each_item_moves_on_fisher_s_z(name):
    """By leaving every item out in turn, 24 clusters of 5; alike, by leaving out clusters that each weigh the same."""
    rng, task = np.random.default_rng(8), np.repeat(np.arange(24), 5)
    kind = (rng.random(24) < 0.5)[task] ^ (rng.random(120) < 0.2)
    ratings = np.where(rng.random((120, 2)) < 0.15, ~kind[:, None], kind[:, None]).astype(float)

    def value(rows, weights=None):
        return COEFFICIENTS[name].value(rating_patterns(ratings[rows], categories=[0, 1], weights=weights))

    z = np.arctanh([value(np.arange(120) != at) for at in range(120)])
    spread = clustered_variance((z.mean() - z) * 119 / 120, task, prior=0.3, rare=True)
    below, above = spread.lean.quantiles(t.ppf(0.975, spread.degrees))
    ends = np.tanh(np.arctanh(value(task >= 0)) + np.array([-below, above]) * spread.error)
    found = agreement_coefficients(ratings, [name], clusters=task)[name]
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    some = np.where(np.arange(120) % 5 < 1 + task % 5)[0]  # 1 to 5 items a task
    weight = 1 / np.bincount(task[some])[task[some]]
    left = np.arctanh([value(some[task[some] != one], weight[task[some] != one]) for one in range(24)])
    half = t.ppf(0.975, 23) * math.sqrt(23 * left.var())
    ends = np.tanh(np.arctanh(value(some, weight)) + np.array([-half, half]))
    alike = agreement_coefficients(ratings[some], [name], clusters=task[some], alike="clusters")[name]
    assert (alike.ci_low, alike.ci_high) == pytest.approx(tuple(ends))


def test_independent_items_have_the_standard_error_of_resampled_items():
    """1,000 resamples on Fisher's z, t on 149 degrees; our own resamples give the same but for their noise."""
    drawn = np.random.default_rng(3).multinomial(150, np.array([50, 15, 15, 70]) / 150, 20_000) / 150
    first, second = drawn[:, 0] + drawn[:, 1], drawn[:, 0] + drawn[:, 2]
    chance = first * second + (1 - first) * (1 - second)
    half = t.ppf(0.975, 149) * np.arctanh((drawn[:, 0] + drawn[:, 3] - chance) / (1 - chance)).std(ddof=1)
    found = cohen_kappa(from_table(50, 15, 15, 70))
    assert np.arctanh(found.ci_high) - np.arctanh(found.estimate) == pytest.approx(half, rel=0.08)
    assert np.arctanh(found.estimate) - np.arctanh(found.ci_low) == pytest.approx(half, rel=0.08)


@pytest.mark.parametrize(
    ("gap", "prevalence", "bias", "said"),
    [
        (0.19, 0.9, 0.9, ""),
        (0.21, 0.5, 0.1, "chance at 60%."),
        (0.21, 0.51, 0.1, "chance at 60% (80% of the ratings are of the commonest category)."),
        (0.21, 0.5, 0.11, "(two raters are up to 11 points apart in how often they use a category)."),
        (0.21, 0.51, 0.11, "category and two raters are up to"),
    ],
)
def test_a_wide_gap_to_percent_agreement_is_explained_by_what_makes_it(gap, prevalence, bias, said):
    found = replace(
        cohen_kappa(from_table(10, 2, 3, 5)),
        estimate=0.7 - gap,
        observed_agreement=0.7,
        percent_agreement=0.7,
        expected_agreement=0.6,
        prevalence={0.0: 0.2, 1.0: 0.8},
        prevalence_index=prevalence,
        bias_index=bias,
    )
    assert said in found.sentence()
    assert bool(found.sentence()) == bool(said)
    assert "word for word" not in found.sentence()
    assert bool(said) == ("word for word" in replace(found, percent_agreement=0.65).sentence())


def test_prevalence_and_bias_by_hand():
    """Byrt, Bishop and Carlin (1993): |a - d| / n and |b - c| / n; of three categories of .5, .3 and .2 (.07)^.5."""
    found = cohen_kappa(from_table(40, 20, 5, 35))
    assert (found.prevalence_index, found.bias_index) == pytest.approx((0.05, 0.15))
    assert found.prevalence == pytest.approx({0.0: 0.475, 1.0: 0.525})
    assert prevalence_index(np.array([0.5, 0.3, 0.2])) == pytest.approx(0.07**0.5)
    assert prevalence_index(np.array([1.0])) == 1
    three = np.array([[1, 1, 2], [1, 2, 2], [1, 1, NAN], [1, 2, 1]])
    assert bias_index(rating_patterns(three)) == pytest.approx(2 / 3)  # the first against the third: 3 of 3, 1 of 3
    assert category_shares(rating_patterns([[1, 1], [1, 2], [2, NAN]])) == pytest.approx([0.75, 0.25])


def test_a_category_that_nobody_used_is_told_where_it_moves_the_value():
    ratings = from_table(16, 1, 0, 3)
    told = gwet_ac1(ratings, categories=[0, 1, 2]).remarks
    narrow = gwet_ac1(ratings).estimate
    assert told.unused == f"over 3 possible categories; over the 2 that occur it is {narrow:.3f}"
    assert gwet_ac1(np.tile(ratings[:1], (9, 1)), categories=[0, 1]).remarks.unused == ""
    assert cohen_kappa(ratings, categories=[0, 1, 2]).remarks.unused == ""
    same = from_table(400, 0, 1, 0)
    assert gwet_ac1(same, categories=[0, 1, 2]).remarks.unused == ""  # .997 either way
    one = cohen_kappa([[1, 0], [1, 1], [1, NAN]], categories=[0, 1]).remarks
    assert one.one_category
    assert one.single == "items with a single rating: 1"
    assert cohen_kappa(np.ones((9, 2)), categories=[0, 1]).remarks.one_category == "", "undefined, not 0"
