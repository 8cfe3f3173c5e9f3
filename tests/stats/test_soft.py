"""Soft agreement: identities, published beliefs, coverage, and hedging that must not pass for progress."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from sklearn.metrics import cohen_kappa_score
from stats.ragged_worlds import SIZES, outcomes

from axisjudge.checks import InputError
from axisjudge.stats.agreement.soft import beliefs, case_weighted, raw_soft_agreement, soft_agreement, split_change

UNIT = st.floats(0, 1).map(lambda share: round(share, 2))


def test_beliefs_of_the_four_verdicts():
    words = ["correct", "incorrect", "uncertain", "not_applicable", None]
    assert beliefs(words, [0.9] * 5) == pytest.approx([0.9, 0.1, 0.5, math.nan, math.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("words", "confidences", "raw"),
    [  # the published run, argument_validity by rubric version
        (["incorrect", "correct"], [0.95, 0.97], 0.08),
        (["incorrect", "correct"], [0.60, 0.96], 0.44),
        (["correct", "correct"], [0.98, 0.96], 0.98),
    ],
)
def test_the_published_item(words, confidences, raw):
    assert raw_soft_agreement(*beliefs(words, confidences)) == pytest.approx(raw)


@pytest.mark.parametrize("seed", range(5))
def test_hard_beliefs_give_cohens_kappa(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, 60)
    second = np.where(rng.random(60) < 0.7, first, rng.integers(0, 2, 60))
    found = soft_agreement(np.column_stack([first, second]))
    assert found.estimate == pytest.approx(cohen_kappa_score(first, second))
    agreed, by_chance = (first == second).mean(), sum((first == k).mean() * (second == k).mean() for k in (0, 1))
    assert (found.raw, found.chance) == pytest.approx((agreed, by_chance))


@pytest.mark.parametrize("seed", range(5))
def test_squared_distances_give_lins_concordance(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 40))
    second = (first + second) / 2
    covariance = np.cov(first, second, bias=True)
    lin = 2 * covariance[0, 1] / (covariance[0, 0] + covariance[1, 1] + (first.mean() - second.mean()) ** 2)
    assert soft_agreement(np.column_stack([first, second]), squared=True).estimate == pytest.approx(lin)


@settings(deadline=None)
@given(st.lists(st.tuples(UNIT, UNIT, st.integers(0, 30)), min_size=2, max_size=60), st.booleans())
def test_sorting_gives_the_double_sum_and_leaving_out_the_recomputed_value(rows, squared):
    pair = np.array([row[:2] for row in rows])
    power = 2 if squared else 1
    across = (np.abs(pair[:, 0][:, None] - pair[:, 1]) ** power).mean()
    found = soft_agreement(pair, squared=squared, clusters=[row[2] for row in rows])
    if across > 1e-9:
        assert found.estimate == pytest.approx(1 - (np.abs(pair[:, 0] - pair[:, 1]) ** power).mean() / across, abs=1e-6)
        assert math.isnan(found.ci_low) or found.ci_low <= found.estimate <= found.ci_high
    turned = soft_agreement(pair[::-1, ::-1], squared=squared, clusters=[-row[2] for row in rows[::-1]])
    assert (turned.ci_low, turned.ci_high) == pytest.approx((found.ci_low, found.ci_high), nan_ok=True, abs=1e-6)


def test_the_jackknife_leaves_whole_clusters_out():
    rng = np.random.default_rng(2)
    pair = np.column_stack([first := rng.random(48), np.clip(first + rng.normal(0, 0.2, 48), 0, 1)])
    clusters = np.repeat(np.arange(12), 4)
    left_out = [soft_agreement(pair[clusters != cluster]).estimate for cluster in range(12)]
    z = np.arctanh(left_out)
    error = math.sqrt(11 / 12 * ((z - z.mean()) ** 2).sum())
    found = soft_agreement(pair, clusters=clusters)
    assert found.ci_high == pytest.approx(math.tanh(math.atanh(found.estimate) + 2.501859 * error), abs=1e-6)  # t(5.5)


def test_two_judges_that_hedge_share_nothing():
    """Raw soft agreement .94, corrected 0: the case for the correction."""
    rng = np.random.default_rng(1)
    found = soft_agreement(0.5 + rng.uniform(-0.09, 0.09, (4000, 2)))
    assert found.raw == pytest.approx(0.94, abs=0.01)
    assert found.ci_low < 0 < found.ci_high


def normal_beliefs(n_clusters, size, rng):
    """Two judges' beliefs from correlated normal scores with a shared task effect, pushed through the normal cdf."""
    task = np.repeat(rng.standard_normal(n_clusters), size)[:, None]
    item = rng.standard_normal((n_clusters * size, 1))
    noise = rng.standard_normal((n_clusters * size, 2))
    return ndtr(0.5 + math.sqrt(0.3) * task + math.sqrt(0.4) * item + math.sqrt(0.3) * noise)


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "size"), [(12, 4), (50, 4), (200, 1)])
def test_intervals_cover(n_clusters, size):
    rng = np.random.default_rng([n_clusters, size])
    truth = soft_agreement(normal_beliefs(200_000, 1, rng)).estimate
    clusters = np.repeat(np.arange(n_clusters), size)
    found = [soft_agreement(normal_beliefs(n_clusters, size, rng), clusters=clusters) for _ in range(1000)]
    assert np.mean([each.ci_low <= truth <= each.ci_high for each in found]) >= 0.93


def rare_failures(sizes, share, wrong, rng):
    """Beliefs of two sure judges who each get some verdicts wrong, where few tasks hold most of the failures."""
    failed, task = outcomes(sizes, share, 0.3, rng)
    says = (failed[:, None] == 1) != (rng.random((task.size, 2)) < wrong)
    sure = rng.uniform(0.85, 1, says.shape)
    return np.where(says, 1 - sure, sure), task


@pytest.mark.slow
def test_intervals_cover_rare_failures_in_few_tasks():
    """Without degrees by the tasks of common failures the mean is .93 and the least .91."""
    covered = []
    for share, wrong in ((0.03, 0.1), (0.05, 0.1), (0.05, 0.03)):
        beliefs_of_all, _ = rare_failures([4] * 100_000, share, wrong, np.random.default_rng(1))
        truth = soft_agreement(beliefs_of_all).estimate
        for design in ("12 x 12", "25 x 12", "25 of 40..4"):
            rng = np.random.default_rng([len(design), round(100 * share), round(100 * wrong)])
            studies = (rare_failures(SIZES[design], share, wrong, rng) for _ in range(1000))
            found = [soft_agreement(of_two, clusters=task) for of_two, task in studies]
            given_one = [each for each in found if not math.isnan(each.ci_low)]
            assert len(given_one) > 600
            covered.append(np.mean([each.ci_low <= truth <= each.ci_high for each in given_one]))
    assert np.mean(covered) >= 0.95
    assert min(covered) >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 1000)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(["correct", "incorrect", "uncertain"])] * 4, *[UNIT] * 4), min_size=1))
def test_flips_and_hedging_add_up(rows):
    table = np.array(rows, dtype=object)
    before, after, sure, surer = table[:, :2], table[:, 2:4], table[:, 4:6].astype(float), table[:, 6:].astype(float)
    found = split_change(before, sure, after, surer)
    assert found.flips + found.hedging == pytest.approx(found.total)
    expected = raw_soft_agreement(*beliefs(after, surer).T) - raw_soft_agreement(*beliefs(before, sure).T)
    assert found.total == pytest.approx(expected)
    assert split_change(before, sure, before, surer).flips == pytest.approx(np.zeros(len(rows)))
    assert split_change(before, sure, after, sure).hedging == pytest.approx(np.zeros(len(rows)))


def test_hedging_alone_is_never_called_progress():
    words = [["incorrect", "correct"]]
    hedged = split_change(words, [[0.95, 0.97]], words, [[0.60, 0.96]])
    assert hedged.hedging == pytest.approx([0.36])
    assert hedged.flipped == 0
    assert hedged.sentence().endswith("all of it hedging: no verdict changed, so that none of it is progress")
    flipped = split_change(words, [[0.60, 0.96]], [["correct", "correct"]], [[0.98, 0.96]])
    assert flipped.flipped == 1
    assert flipped.flips > 0
    assert " by 1 flipped verdict, " in flipped.sentence()
    assert "progress" not in flipped.sentence()


def test_degenerate_beliefs_have_a_reason():
    undefined = soft_agreement([[0.9, 0.9]] * 20)
    assert "all beliefs are equal" in undefined.reason
    assert math.isnan(undefined.estimate)
    undefined = soft_agreement([[0.9, math.nan]])
    assert "no item has two beliefs" in undefined.reason
    assert math.isnan(undefined.estimate)
    few = soft_agreement([[0.9, 0.8], [0.1, 0.3]])
    assert "too few" in few.reason
    assert math.isnan(few.ci_low)
    assert not math.isnan(few.estimate)
    constant = soft_agreement(np.column_stack([np.full(30, 0.7), np.linspace(0, 1, 30)]))
    assert constant.estimate == pytest.approx(0)


def test_messages():
    with pytest.raises(InputError, match="items x 2"):
        soft_agreement([[0.1, 0.2, 0.3]])
    with pytest.raises(InputError, match=r"confidences: must lie in \[0, 1\]; found"):
        beliefs(["correct"], [95.0])
    with pytest.raises(InputError, match="needs the shape of the verdicts"):
        beliefs(["correct"], [0.5, 0.5])


@pytest.mark.parametrize("combine", ["product", "minimum"])
def test_shuffles_that_leave_kappa_undefined_do_not_speak_against_chance(combine):
    """Judges who always agree differ by nothing however cases are weighted, also where most weights are nought."""
    codes, sure = np.array([[0, 0]] * 6 + [[1, 1]] * 2), np.zeros((8, 2))
    sure[[0, 6]] = 1
    same = case_weighted(codes, sure, coefficient="cohen_kappa", combine=combine)
    assert (same.weighted, same.estimate, same.p_value) == (1, 0, 1)
