"""Labels said to be drawn at random, compared with the other items by task."""

import math

import numpy as np
import pytest
from scipy.stats import beta, hypergeom, norm
from scipy.stats import t as student

from axisjudge.checks import InputError
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clopper_pearson_interval, wilson_interval
from axisjudge.stats.uneven_draws import (
    LabelledSample,
    _over_uneven_draws,
    _within,
    allowing_for_unseen,
    comparable_features,
    drawn_apart,
    eff_per_item,
    in_classes,
    known_of_all,
    label_weights,
    not_standing_for_all,
    post_stratified_interval,
    probability_classes,
    standing_for,
    weights_within,
)


@pytest.mark.parametrize(
    ("how", "low", "high"),
    [("items", 0, 0.03), ("one a task", 0, 0.03), pytest.param("failures", 0.7, 1, marks=pytest.mark.slow)],
)
def test_labels_drawn_by_verdict_show_and_labels_at_random_seldom_do(how, low, high):
    """60 tasks of 4: failures labelled three times as often, a share of all items, one item of each task."""

    rng, task, times = np.random.default_rng(3), np.repeat(np.arange(60), 4), 200
    found = 0
    for _ in range(times):
        failed = 0.6 * rng.normal(size=60)[task] + 0.8 * rng.normal(size=240) > 0.5
        chance = np.where(failed, 0.6, 0.2) if how == "failures" else np.full(240, 0.3)
        labelled = rng.random(240) < chance
        if how == "one a task":
            labelled = np.arange(240) == np.repeat(4 * np.arange(60) + rng.integers(0, 4, 60), 4)
        agents = {f"agent {k}": np.arange(240) % 4 == k for k in range(4)}
        found += "failed" in drawn_apart(labelled, {"failed": failed, **agents}, task)
    assert low <= found / times <= high


RAGGED = [30, 20, 10, 8, 6, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[4] * 20, [10] * 20, RAGGED])
def test_twenty_tasks_show_failures_labelled_three_times_as_often(sizes):
    """Before, none of these was found: of ragged tasks too few carry a test over tasks."""
    rng, task, power, false = np.random.default_rng(5), np.repeat(np.arange(20), sizes), 0, 0
    for _ in range(60):
        failed = 0.5 * rng.normal(size=20)[task] + 0.87 * rng.normal(size=task.size) > 0.5
        for tripled in (True, False):
            labelled = rng.random(task.size) < (np.where(failed, 0.75, 0.25) if tripled else 0.4)
            found = "failed" in drawn_apart(labelled, {"failed": failed}, task)
            power, false = power + (found and tripled), false + (found and not tripled)
    assert power / 60 > 0.5
    assert false <= 3


def test_a_rare_word_alone_shows_nothing():
    """One item of a rare word among ten of its task, labelled alone: p is .1, where a normal one would be .003."""
    task, word, labelled = np.repeat(np.arange(30), 10), np.zeros(300), np.zeros(300, dtype=bool)
    word[0] = labelled[0] = labelled[15] = labelled[25] = True
    assert not drawn_apart(labelled, {"rare": word}, task)


@pytest.mark.parametrize("size", [1, 2])
def test_what_is_rare_is_missed_by_a_few_labels(size):
    """50 labels of 1,050 items, of which 14 have a word and none is labelled: .5 by chance, .002 by the score's t."""
    item = np.arange(1050 // size * size)
    labelled, word = item < 50, item >= item.size - 14
    assert not drawn_apart(labelled, {"rare": word}, item // size)
    assert drawn_apart(labelled, {"frequent": item >= item.size // 2}, item // size)


def _three_judges(rng, chance_of):
    """60 tasks of 4 with three judges that err in .15 and four agents; labelled by `chance_of` failing and verdicts."""
    task = np.repeat(np.arange(60), 4)
    failed = 0.5 * rng.normal(size=60)[task] + 0.87 * rng.normal(size=240) > 0.52
    said = np.where(rng.random((240, 3)) < 0.15, ~failed[:, None], failed[:, None]).astype(float)
    agents = np.array([f"a{k}" for k in rng.integers(0, 4, 240)], dtype=object)
    labelled = rng.random(240) < chance_of(failed, said, agents)
    label = np.where(labelled, failed, np.nan)
    return said, label, task, comparable_features(said, ["correct", "incorrect"], agents=agents)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chance_of", "sampling", "low", "high"),
    [
        (lambda failed, said, agents: 0.35, "random", 0, 1),
        (lambda failed, said, agents: np.where(failed, 0.66, 0.22), "random", 8, 12),
        (lambda failed, said, agents: np.where(agents == "a0", 0.0, 0.45), "random", 12, 12),
        (lambda failed, said, agents: np.where(said[:, 0] == 1, 0.66, 0.22), "by_judge_verdict", 0, 1),
        (lambda failed, said, agents: np.where(said[:, 1] == 1, 0.66, 0.22), "by_judge_verdict", 7, 12),
    ],
)
def test_a_rate_is_refused_where_labels_were_not_drawn_as_is_said(chance_of, sampling, low, high):
    """Failures labelled three times as often, an agent without a label, another judge's verdict; and as is said."""
    rng, refused = np.random.default_rng(2), 0
    for _ in range(12):
        said, label, task, known = _three_judges(rng, chance_of)
        found = corrected_rate(said[:, 0], label, sampling=sampling, clusters=task, features=known)
        refused += "labelled items differ from the others" in found.refusal and np.isnan(found.rate.estimate)
    assert low <= refused <= high


def test_what_labelled_and_other_items_are_compared_by():
    words = np.array([[0, 0], [0, 1], [1, math.nan], [math.nan, math.nan]])
    by_verdict, others = comparable_features(
        words, ["pass", "fail"], agents=["a", None, "b", "a"], lengths=[5, 1, 1, 9]
    )
    assert {name: np.asarray(each).tolist() for name, each in by_verdict.items()} == {"verdict fail": [0, 0.5, 1, 0]}
    assert {name: np.asarray(each).tolist() for name, each in others.items()} == {
        "unanimity": [1, 0, 1, 0],
        "agent a": [1, 0, 0, 1],
        "agent b": [0, 0, 1, 0],
        "length": [3 / 4, 1.5 / 4, 1.5 / 4, 1],
    }
    three, nothing = comparable_features(words[:, :1], ["pass", "fail", "unsure"])
    assert list(three) == ["verdict pass", "verdict fail", "verdict unsure"]
    assert nothing == {}


# Parts by hand.


def test_labels_within_clusters_are_compared_as_draws_without_replacement():
    """Sum over clusters of m x mean, of variance m (n - m) / n x S^2; one that is labelled whole tells nothing."""
    x = np.array([1.0, 3, 2, 2, 5, 1, 1, 4, 4, 3, 9, 0])
    task, asked = np.repeat([0, 1, 2], [4, 6, 2]), np.array([0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1], dtype=bool)
    gap, variance = 0.0, 0.0
    for of, m in ((x[:4], 2), (x[4:10], 2)):
        gap += x[asked & np.isin(x, of) & (task == (0 if of.size == 4 else 1))].sum() - m * of.mean()
        variance += m * (of.size - m) / of.size * of.var(ddof=1)
    assert _within(asked * 1.0, x, task) == pytest.approx(2 * norm.sf(abs(gap) / math.sqrt(variance)))
    assert math.isnan(_within(asked * 1.0, np.ones(12), task))
    assert math.isnan(_within(np.repeat([1.0, 0, 1], [4, 6, 2]), x, task))


@pytest.mark.parametrize(("both", "p"), [(8, 0.00411), (7, 0.04504)])
def test_small_p_values_are_those_of_all_ways_to_label(both, p):
    """10 labels of 30 items of which 12 have a word, 4 expected: hypergeometric, as far to either side."""
    word, asked = np.arange(30) < 12, np.isin(np.arange(30), [*range(both), *range(20, 30 - both)])
    hits = np.arange(11)
    assert hypergeom.pmf(hits, 30, 12, 10)[np.abs(hits - 4) >= both - 4].sum() == pytest.approx(p, rel=5e-3)
    assert _within(asked * 1.0, word * 1.0, np.zeros(30, dtype=int)) == pytest.approx(p, rel=0.4)


def test_the_score_over_clusters_by_hand():
    """U over the root of the squares of its parts, by t on the clusters that carry it less one."""
    task = np.repeat(np.arange(4), [2, 3, 4, 5])
    given, feature = np.random.default_rng(6).random((2, 14))
    feature -= feature.mean()
    share = np.array([given[task == one].mean() for one in range(4)]) - given.mean()
    parts = np.array([share[one] * feature[task == one].sum() for one in range(4)])
    carried = (parts**2).sum() ** 2 / (parts**4).sum()
    p = 2 * student.sf(abs(parts.sum()) / math.sqrt((parts**2).sum()), carried - 1)
    assert _over_uneven_draws(given, feature, task) == pytest.approx(p)
    assert p > 0.05
    assert math.isnan(_over_uneven_draws(given, feature, np.zeros(14, dtype=int)))


def test_several_features_are_looked_at_together_by_holm():
    rng = np.random.default_rng(4)
    asked = np.arange(60) < 25
    features = {"word": np.arange(60) % 5 < np.where(asked, 3, 1), "length": rng.random(60)}
    alone = {name: drawn_apart(asked, {name: each}, np.arange(60), level=0)[name] for name, each in features.items()}
    both = drawn_apart(asked, features, np.arange(60), level=0)
    assert alone["word"] < 0.5 * alone["length"]
    assert both == {"word": 2 * alone["word"], "length": alone["length"]}
    for times, is_named in ((0.999, False), (1.001, True)):
        assert ("word" in drawn_apart(asked, features, np.arange(60), level=1 - times * both["word"])) == is_named
    # of two equal tests the smaller p is doubled: items of two a task, labelled by tasks
    pairs = np.repeat(np.arange(30), 2)
    by_task = drawn_apart(pairs < 12, {"length": features["length"]}, pairs, level=0)["length"]
    centred = (pairs < 12) - 0.4, features["length"] - features["length"].mean()
    assert by_task == pytest.approx(
        _over_uneven_draws(*centred, pairs)
    )  # no test within whole tasks: nothing to double


def test_weights_and_classes_of_labels_by_hand():
    asked = np.array([True, False, True])
    assert label_weights([0.5, math.nan, 0.25], asked).tolist() == [2, 0, 4]
    assert label_weights([1, 0, 1], asked).tolist() == label_weights(None, asked).tolist() == [1, 0, 1]
    for wrong in ([0.0, 1, 1], [1.01, 1, 1], [1.0, 1]):
        with pytest.raises(InputError, match="probability"):
            label_weights(wrong, asked)
    labelled = np.array([True, False, False, True, True])
    assert weights_within(np.array([0, 0, 0, 1, 1]), labelled).tolist() == [3, 0, 0, 1, 1]
    probability = np.array([0.9, 0.31, 0.3, 0.1, 0.03, math.nan, 0.99, 0])  # a class is a factor of 3
    asked = np.arange(8) < 5
    assert probability_classes(probability, asked).tolist() == [0, 0, 1, 2, 3, -1, 0, 4]
    assert probability_classes([0.9, 0.31, 0.5], np.ones(3, dtype=bool)) is None
    assert [known_of_all(each) for each in (None, [0.5, 1], [0.5, math.nan])] == [True, True, False]


def sample(label, weight=None, strata=None, groups=None, **how):
    label = np.asarray(label, dtype=float)
    own = np.where(np.isnan(label), 0.0, 1.0 if weight is None else weight)
    codes = np.zeros(label.size, dtype=int) if strata is None else np.asarray(strata)
    return LabelledSample(codes, label, own, np.arange(label.size) if groups is None else groups, **how)


def test_labels_that_stand_for_too_few_items_show_it_by_more_than_an_error():
    """Four labels are worth four of even weight: half of the items may be missing by chance, less may not."""
    label = np.r_[np.ones(4), np.full(12, math.nan)]
    assert standing_for(sample(label, 2.0)) == 0.5
    assert not_standing_for_all(sample(label, 2.0)) == ""
    assert "49%" in not_standing_for_all(sample(label, 1.97))
    found = Estimate(estimate=0.3, ci_low=0.2, ci_high=0.4, n_items=9, n_clusters=9)
    wider = allowing_for_unseen(found, 0.9)
    assert (wider.ci_low, wider.ci_high) == pytest.approx((0.18, 0.46))
    assert allowing_for_unseen(found, 1.1) == found


def test_a_class_of_probability_is_parted_by_verdict_from_three_labels_of_each_on():
    verdict = np.tile([0, 1], 10)
    classes = np.repeat([0, 1], 10)
    label = np.where(np.isin(np.arange(20), [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14]), 1.0, math.nan)
    parted, reason = in_classes(sample(label, strata=verdict), classes)
    assert reason == ""
    assert parted.strata.tolist() == [0, 1] * 5 + [2] * 10  # two labels of verdict 1 in the second class
    assert (parted.prior, parted.undrawn) == (pytest.approx(0.5 * 2 / 3), True)


def test_labels_of_unknown_classes_need_to_be_worth_fifty_and_to_stand_for_half_of_each_verdict():
    label = np.r_[np.ones(50), np.full(50, math.nan)]
    classes = np.where(np.arange(100) < 50, np.arange(50).repeat(2) % 2, -1)
    kept, reason = in_classes(sample(label, strata=np.arange(100) % 2), classes)
    assert (reason, kept.classes.tolist()) == ("", [*classes[:50], *[0] * 50])
    label[49] = math.nan
    assert "worth 49" in in_classes(sample(label), classes)[1]
    label[49] = 1.0
    for n_rare, refused in (
        (24, False),
        (25, True),
        (5, False),
    ):  # 6 of 50 labels, 12 of 100 items; 5 items are too few
        rare = np.r_[np.arange(50) < 6 * (n_rare > 5), np.arange(50) < n_rare - 6 * (n_rare > 5)]
        assert bool(in_classes(sample(label, strata=rare.astype(int)), classes)[1]) == refused, n_rare


def test_one_stratum_has_the_wider_of_the_exact_or_wilson_s_and_the_posterior_s_ends():
    """5 of 14 labels: Clopper and Pearson's; 5 of 15: Wilson's, or Jeffreys' where it reaches further."""
    for n, plain in ((14, clopper_pearson_interval), (15, wilson_interval)):
        label = np.r_[np.ones(5), np.zeros(n - 5), np.full(60, math.nan)]
        estimate, low, high = post_stratified_interval(sample(label))
        posterior, own = beta.ppf([0.025, 0.975], 5.5, n - 4.5), plain(5, n)
        assert estimate == pytest.approx(5 / n)
        assert (low, high) == pytest.approx((min(posterior[0], own[0]), max(posterior[1], own[1])), abs=0.01)


def test_two_strata_reach_as_far_as_the_root_of_their_squares():
    """MOVER: q (p - l) of each and z^2 sum q (p - P)^2 / n of the shares; it is wider than the posterior here."""
    label = np.r_[np.ones(7), np.zeros(1), np.full(32, math.nan), np.zeros(8), np.full(152, math.nan)]
    estimate, low, high = post_stratified_interval(sample(label, strata=np.repeat([0, 1], [40, 160])))
    q, p = np.array([0.2, 0.8]), np.array([7 / 8, 0])
    ends = np.array([clopper_pearson_interval(k, 8) for k in (7, 0)]).T
    of_shares = norm.ppf(0.975) ** 2 * (q * (p - q @ p) ** 2).sum() / 200
    below, above = (math.sqrt(((q * (p - end)) ** 2).sum() + of_shares) for end in ends)
    assert estimate == pytest.approx(q @ p)
    assert high == pytest.approx(estimate + above)
    assert low <= estimate - below + 1e-12


def test_an_item_is_worth_what_its_cluster_leaves_of_it():
    """(z / t)^2 over the design effect: of clusters of equal items that are 12 of 48, with t on what it is known on."""
    groups = np.repeat(np.arange(12), 4)
    influence = np.repeat(np.r_[np.ones(6), -np.ones(6)], 4) / 48
    found = eff_per_item(sample(np.ones(48), groups=3 * groups), influence, np.ones(48, dtype=bool))
    held = min(12, 4 * (1.3 / 0.3) ** 2)  # expected 1 + 3 x .3; clusters of equal items make it give way
    assert found == pytest.approx((norm.ppf(0.975) / student.ppf(0.975, held + 11)) ** 2 / 4)


@pytest.mark.parametrize("word", [0.0, 1.0])
def test_labels_that_all_say_the_same_leave_room_for_tasks_unlike_those_seen(word):
    """Of 12 tasks a kind that fails as a whole is only known to be rarer than 1 - .05^(1/12)."""
    task, verdict = np.repeat(np.arange(36), 4), np.tile([1.0, 0.0], 72)
    label = np.where(task < 12, word, math.nan)
    rate = corrected_rate(verdict, label, sampling="random", clusters=task).rate
    assert abs(word - (rate.ci_low if word else rate.ci_high)) >= 1 - 0.05 ** (1 / 12) - 1e-12


def test_a_corrected_rate_reaches_further_where_large_tasks_fail_more():
    """As the share of the labels alone does: large tasks that were not drawn are missing to one side."""
    rng = np.random.default_rng(2)
    sizes = np.tile([24, 16, 10, *[3] * 16], 3)
    task = np.repeat(np.arange(57), sizes)
    failed = (rng.random(task.size) < np.where(sizes >= 10, 0.6, 0.1)[task]).astype(float)
    verdict = np.where(rng.random(task.size) < 0.9, failed, 1 - failed)
    found = corrected_rate(verdict, np.where(task < 19, failed, math.nan), sampling="random", clusters=task).rate
    assert found.ci_high - found.estimate > 1.2 * (found.estimate - found.ci_low)
