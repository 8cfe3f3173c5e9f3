"""Repeats: hand counts, recovered components, and the published repeat."""

import itertools
import math

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.proportions import clopper_pearson_interval
from axisjudge.stats.repeats import _fewest_equal_pairs, flips_by_confidence, self_agreement, variance_components


def test_the_published_repeat():
    """One call said correct at .98, the next incorrect at .90: one item, one flip, and no more than that."""
    found = self_agreement([[1.0, 0.0]])
    assert found.flips.estimate == 1
    assert found.agreement.estimate == 0
    assert found.flips.ci_low == pytest.approx(0.025)  # exact, of one trial: nothing is known yet
    (band,) = flips_by_confidence([[1.0, 0.0]], [[0.98, 0.90]])
    assert (band.low, band.high, band.flips.estimate) == (0.9, 1.0, 1)


def test_pairs_and_flips_by_hand():
    found = self_agreement([[1, 1, 1], [1, 1, 0], [1, math.nan, 1], [math.nan, math.nan, 0]])
    assert found.agreement.estimate == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert found.flips.estimate == pytest.approx(1 / 3)
    assert found.flips.n_missing == 1


def test_flips_grow_with_repeats_and_agreement_does_not():
    rng = np.random.default_rng(1)
    verdicts = (rng.random((4000, 5)) < 0.8).astype(float)
    two, five = self_agreement(verdicts[:, :2]), self_agreement(verdicts)
    assert two.agreement.estimate == pytest.approx(0.68, abs=0.02)
    assert five.agreement.estimate == pytest.approx(0.68, abs=0.02)
    assert two.flips.estimate == pytest.approx(0.32, abs=0.02)
    assert five.flips.estimate > 0.6


def test_bands_of_confidence():
    ratings = [[1, 1], [1, 0], [0, 0], [1, 1]]
    confidence = [[0.95, 0.97], [0.6, 0.5], [0.9, 0.9], [math.nan, math.nan]]
    low, high = flips_by_confidence(ratings, confidence)
    assert (low.low, low.flips.estimate, low.flips.n_items) == (0.0, 1, 1)
    assert (high.low, high.flips.estimate, high.flips.n_items) == (0.9, 0, 2)


def test_components_are_recovered():
    """P(1) = .5 + item + judge + item.judge, each +-c with equal chance, of variance c squared; error p (1 - p)."""
    rng = np.random.default_rng(2)
    n, k, r = 3000, 40, 4
    item = 0.2 * rng.choice([-1, 1], (n, 1, 1))
    judge = 0.1 * np.resize([-1, 1], (1, k, 1))
    both = 0.15 * rng.choice([-1, 1], (n, k, 1))
    share = 0.5 + item + judge + both
    found = variance_components((rng.random((n, k, r)) < share).astype(float))
    assert found.item == pytest.approx(0.04, abs=0.004)
    assert found.judge == pytest.approx(0.01, abs=0.002)
    assert found.item_judge == pytest.approx(0.0225, abs=0.003)
    assert found.error == pytest.approx((share * (1 - share)).mean(), abs=0.003)


def test_tasks_and_occasions_have_components_of_their_own():
    """As above, with tasks of three items, builds that a judge is off by as a whole, and that move single items."""
    rng = np.random.default_rng(5)
    n_tasks, k, b, r = 1200, 8, 12, 2
    task = np.repeat(np.arange(n_tasks), 3)
    n = task.size
    judge = np.resize([-0.08, 0.08], (1, k, 1))
    occasion = 0.07 * np.stack([rng.permuted(np.resize([-1, 1], b)) for _ in range(k)])[None]
    parts = [0.12 * rng.choice([-1, 1], shape) for shape in ((n_tasks, 1, 1), (n, 1, 1), (n, k, 1), (n, k, b))]
    share = 0.5 + parts[0][task] + parts[1] + parts[2] * 0.5 + parts[3] * 0.4 + judge + occasion
    verdicts = (rng.random((n, k, b, r)) < share[..., None]).astype(float).reshape(n, k, b * r)
    found = variance_components(verdicts, occasions=np.repeat(np.arange(b), r), tasks=task)
    known = [found.task, found.item, found.item_judge, found.item_occasion, found.judge, found.occasion]
    expected = [0.0144, 0.0144, 0.0036, 0.0144 * 0.16, 0.0064 * 8 / 7, 0.0049 * 12 / 11]
    assert known == pytest.approx(expected, abs=0.0012)
    assert (found.n_occasions, found.n_repeats) == (b, r)
    one_day = variance_components(verdicts[:, :, :2])
    assert math.isnan(one_day.occasion)
    assert one_day.item_judge > found.item_judge  # one occasion passes for what a judge always does
    short = variance_components(verdicts[:, :, :4], occasions=[0, 0, 1, 1])
    assert (math.isnan(short.occasion), "2 occasions are too few" in short.reason) == (True, True)


def test_components_are_those_of_mean_squares_by_least_squares():
    """Sums of squares as what each effect takes from the rest of a least-squares fit; Searle, Casella and McCulloch."""
    shape, task = (12, 5, 4, 2), np.repeat([0, 1, 2], [2, 4, 6])
    (n, k, b, r), cube = shape, (np.random.default_rng(1).random(shape) < 0.6).astype(float)
    at = dict(zip("ijo", np.indices(shape).reshape(4, -1)[:3], strict=True))
    at["t"], at["_"] = task[at["i"]], np.zeros(cube.size, dtype=int)

    def left(*effects):
        cells = [np.unique(np.stack([at[one] for one in effect]), axis=1, return_inverse=True)[1] for effect in effects]
        x = np.column_stack([np.eye(cell.max() + 1)[cell.ravel()] for cell in cells])
        return float(((cube.ravel() - x @ np.linalg.lstsq(x, cube.ravel(), rcond=None)[0]) ** 2).sum())

    error = left("ijo") / (n * k * b * (r - 1))
    io = (left("ij", "jo") - left("ijo")) / (k * (n - 1) * (b - 1))
    o = (left("ij") - left("ij", "jo")) / (k * (b - 1))
    ij = (left("i", "j") - left("ij")) / ((n - 1) * (k - 1))
    j = (left("i") - left("i", "j")) / (k - 1)
    i, t = (left("t") - left("i")) / (12 - 3), (left("_") - left("t")) / (3 - 1)
    m = (12 - (4 + 16 + 36) / 12) / (3 - 1)
    found = variance_components(cube.reshape(n, k, b * r), occasions=np.repeat(np.arange(b), r), tasks=task)
    assert found.error == pytest.approx(error)
    assert [found.item_occasion, found.occasion] == pytest.approx([(io - error) / r, (o - io) / (n * r)])
    assert [found.item_judge, found.judge] == pytest.approx([(ij - io) / (b * r), (j - ij - o + io) / (n * b * r)])
    assert [found.item, found.task] == pytest.approx([(i - ij) / (k * b * r), (t - i) / (m * k * b * r)])
    once = variance_components(cube[:, :, 0], tasks=[0] * 12)  # one task: no variance between
    cell = cube[:, :, 0].mean(axis=2)
    of_error = ((cube[:, :, 0] - cell[..., None]) ** 2).sum() / (n * k)
    of_both = 2 * ((cell - cell.mean(axis=1, keepdims=True) - cell.mean(axis=0) + cell.mean()) ** 2).sum() / (11 * 4)
    assert [once.error, once.item_judge] == pytest.approx([of_error, (of_both - of_error) / 2])
    assert once.item == pytest.approx((2 * k * cell.mean(axis=1).var(ddof=1) - of_both) / (2 * k))
    assert math.isnan(once.task)


def test_no_words_of_an_item_have_fewer_equal_pairs_than_those_given_equally_often():
    """All words of an item of 2 to 5 repeats, counted out; fewer than two words in use count as two."""
    for n_words, n_repeats in itertools.product((2, 3), (2, 3, 4, 5)):
        every = list(itertools.product(range(n_words), repeat=n_repeats))
        equal = [np.mean([a == b for a, b in itertools.combinations(words, 2)]) for words in every]
        assert _fewest_equal_pairs(np.array(every, dtype=float)) == pytest.approx(min(equal))
    assert _fewest_equal_pairs(np.array([[1.0, 1, 1], [1, 1, np.nan]])) == 0
    assert _fewest_equal_pairs(np.array([[1.0, 1, 1]])) == pytest.approx(1 / 3)


def test_an_interval_of_self_agreement_is_that_of_a_share_above_the_least():
    """Of three repeats all are equal or one pair in three is: 1/3 + 2/3 of the share of the first."""
    ratings = np.array([[1, 1, 1]] * 6 + [[1, 0, 1]] * 4)
    low, high = (1 / 3 + 2 / 3 * end for end in clopper_pearson_interval(6, 10))
    found = self_agreement(ratings).agreement
    assert (found.ci_low, found.estimate, found.ci_high) == pytest.approx((low, 1 / 3 + 2 / 3 * 0.6, high))


def test_a_confidence_on_an_edge_belongs_to_the_band_above_and_the_last_band_is_closed():
    bands = flips_by_confidence([[1, 0], [0, 0], [1, 1]], [[0.6, 0.8], [0.9, 0.9], [1.0, 1.0]])
    assert [(each.low, each.high, each.flips.n_items) for each in bands] == [(0.7, 0.9, 1), (0.9, 1.0, 2)]


def test_few_judges_are_fixed_and_their_bias_is_given():
    verdicts = np.zeros((20, 2, 1))
    verdicts[:10] = 1
    verdicts[10:14, 0] = 1
    found = variance_components(verdicts)
    assert math.isnan(found.judge)
    assert found.bias == pytest.approx((0.1, -0.1))
    assert "too few" in found.reason
    assert math.isnan(found.error)  # one repeat


def test_incomplete_items_are_counted_and_too_few_refused():
    verdicts = np.ones((11, 2, 2))
    verdicts[9:, 0, 0] = math.nan
    found = variance_components(verdicts)
    assert "9 items" in found.reason
    assert found.n_missing == 2
    assert math.isnan(found.item)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: self_agreement([[1.0]]), "two repeats or more"),
        (lambda: flips_by_confidence([[1, 0]], [[0.5, 0.5]], edges=[0.9, 0.1]), "edges: must rise"),
        (lambda: flips_by_confidence([[1, 0]], [[0.5]]), "needs the shape of the ratings"),
        (lambda: variance_components([[1, 0]]), "items x judges x repeats"),
        (lambda: variance_components([[[2.0], [1.0]]]), "must be 0, 1 or NaN"),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()
