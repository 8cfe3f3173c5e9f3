"""Ways of putting judges together: by hand, against scikit-learn, on planted truth, and on tasks left out."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import cohen_kappa_score

from axisjudge.checks import InputError
from axisjudge.stats.panel_models import (
    PanelVotes,
    accuracies,
    conditional_logit,
    dawid_skene,
    family_weights,
    folds,
    held_out,
    likeliest,
    probability_of,
    pulls,
    softmax,
    temperature,
    vote,
)
from axisjudge.stats.panel_nested import judges_worth, kappa_with, nested
from axisjudge.stats.panel_ways import (
    LOGISTIC_TRIED,
    RIDGE_TRIED,
    WAYS,
    _gains,
    fit_panel,
    logistic_path,
    ordered_path,
    refit_panel,
    ridge,
    ridge_path,
    stacked,
)


def planted(accuracy, n_tasks=40, size=5, q=2, seed=0, families=None, lost=0.0) -> PanelVotes:
    """Independent judges of these accuracies, wrong words all alike; labels are the truth."""
    rng = np.random.default_rng(seed)
    n = n_tasks * size
    truth = rng.integers(0, q, n)
    other = (truth[:, None] + rng.integers(1, q, (n, len(accuracy)))) % q
    words = np.where(rng.random((n, len(accuracy))) < accuracy, truth[:, None], other).astype(float)
    words[rng.random(words.shape) < lost] = np.nan
    names = families or tuple("abcdefghij"[: len(accuracy)])
    return PanelVotes(words, truth.astype(float), np.ones(n), np.repeat(np.arange(n_tasks), size), names, q)


def answers(panel, votes):
    return panel.words(panel.probabilities(votes.words))


def rising(n_tasks=100, size=5, seed=0, noise=(0.7, 1.2, 1.2), shift=(0.0, -0.8, -0.8)) -> PanelVotes:
    """Words 0 to 4 of judges who see a latent grade with noise and a harsh shift; the highest word is the commonest."""
    rng = np.random.default_rng(seed)
    n = n_tasks * size
    grade = rng.standard_normal(n)
    limits = [-2.0, -1.3, -0.7, 0.0]
    seen = grade[:, None] + shift + np.array(noise) * rng.standard_normal((n, len(noise)))
    words, labels = np.searchsorted(limits, seen).astype(float), np.searchsorted(limits, grade).astype(float)
    return PanelVotes(
        words, labels, np.ones(n), np.repeat(np.arange(n_tasks), size), tuple("abc"[: len(noise)]), 5, True
    )


def test_a_vote_by_hand_with_families_ties_and_silence():
    words = np.array([[0, 1, 1], [0, 0, 1], [1, np.nan, np.nan], [np.nan] * 3, [0, 0, 0], [0, 1, np.nan]])
    assert likeliest(vote(words, np.ones(3), 2).scores(words))[[0, 1, 2, 4]].tolist() == [1, 0, 1, 0]
    weights = family_weights(["red", "blue", "blue"])
    panel = vote(words, weights, 2)
    shares = panel.scores(words)
    assert shares[0] == pytest.approx([0.5, 0.5], abs=1e-8)
    assert likeliest(shares)[0] == 0, "level words: the one that is commoner among all votes"
    assert shares[5] == pytest.approx([1 / 1.5, 0.5 / 1.5], abs=1e-8), "only the weights of those who answered"
    assert np.isnan(shares[3]).all()
    assert np.isnan(likeliest(shares)[3])


def test_words_that_are_no_words_are_refused():
    with pytest.raises(InputError, match="must be positions below 2"):
        vote(np.array([[0.0, 2.0]]), np.ones(2), 2)
    with pytest.raises(InputError, match="needs one entry for each of the 3 judges"):
        PanelVotes(np.zeros((2, 3)), np.zeros(2), np.ones(2), np.arange(2), ("a",), 2)
    with pytest.raises(InputError, match="labels of 5 tasks"):
        fit_panel(planted([0.8, 0.7], n_tasks=3), "logistic", rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="did you mean 'majority'"):
        fit_panel(planted([0.8]), "majorty", rng=np.random.default_rng(0))


def test_dawid_and_skene_find_accuracies_without_labels_and_odds_add_up():
    truth = [0.9, 0.8, 0.7, 0.65, 0.6]
    votes = planted(truth, n_tasks=800, q=3, lost=0.1)
    panel = dawid_skene(votes.words, 3)
    confusion = np.exp(panel.table)
    assert confusion.sum(axis=1) == pytest.approx(np.ones((5, 3)))
    assert np.einsum("jvv->jv", confusion).mean(axis=1) == pytest.approx(truth, abs=0.03)
    assert (np.diff(panel.weights) < 0.05).all()
    some = votes.words[:50]
    by_hand = np.array(
        [
            [
                np.exp(panel.intercept[c])
                * np.prod([confusion[j, int(word), c] for j, word in enumerate(row) if not np.isnan(word)])
                for c in range(3)
            ]
            for row in some
        ]
    )
    assert panel.probabilities(some) == pytest.approx(by_hand / by_hand.sum(axis=1, keepdims=True))


def test_dawid_and_skene_take_shared_errors_for_truth():
    votes = planted([0.75, 0.75, 0.85])
    copied = np.column_stack([votes.words[:, [0, 0, 0, 0]], votes.words[:, 2]])
    panel = dawid_skene(copied, 2)
    assert (likeliest(panel.scores(copied)) == votes.words[:, 0]).all()


def test_the_conditional_logit_is_scikit_learn_s_where_there_are_two_classes():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((300, 4))
    y = (rng.random(300) < 1 / (1 + np.exp(-x @ [1, -0.5, 0, 2]))).astype(int)
    weight = rng.uniform(0.5, 2, 300)
    weight /= weight.mean()
    features = np.stack([np.zeros_like(x), x], axis=1)
    theirs = LogisticRegression(C=1 / 7.0, fit_intercept=False, tol=1e-8).fit(x, y, sample_weight=weight).coef_[0]
    for start in (None, np.full(4, 30.0)):  # from afar a whole step leads too far
        found = conditional_logit(features, y, np.full(4, 7.0), weights=weight, start=start)
        assert found == pytest.approx(theirs, abs=1e-4)


def test_the_temperature_takes_back_what_scores_were_multiplied_with():
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((6_000, 3))
    labels = (rng.random((6_000, 1)) > softmax(scores).cumsum(axis=1)).sum(axis=1)
    assert temperature(3 * scores, labels) == pytest.approx(1 / 3, rel=0.08)
    assert temperature(np.full((3, 2), np.nan), np.zeros(3, dtype=int)) == 1.0


@pytest.mark.parametrize("path", [logistic_path, ridge_path])
def test_too_strong_a_penalty_ends_at_a_vote_of_families(path):
    votes = planted([0.9, 0.6, 0.6, 0.55], families=("a", "b", "b", "b"), q=3)
    (panel,) = path(votes, ((0.0, 1e9),))
    families = fit_panel(votes, "families_equal", rng=np.random.default_rng(0))
    shares = families.scores(votes.words)
    clear = np.abs(np.diff(np.sort(shares, axis=1)[:, 1:], axis=1))[:, 0] > 0.2
    same = answers(panel, votes) == answers(families, votes)
    assert clear.sum() > 100
    assert same[clear].mean() > 0.97


def by_least_squares(votes, power, strength, direction):
    """scikit-learn's ridge of the classes on judges' words, after the common slope of the families' vote is taken."""
    given = np.eye(votes.n_categories)[votes.words.astype(int)]
    target = np.eye(votes.n_categories)[votes.labels.astype(int)]
    share = np.einsum("j,ijc->ic", direction, given)
    weight, apart = (
        votes.weights / votes.weights.mean(),
        [each - np.average(each, axis=0, weights=votes.weights) for each in (share, target)],
    )
    slope = (weight[:, None] * apart[0] * apart[1]).sum() / (weight[:, None] * apart[0] ** 2).sum()
    fit = Ridge(alpha=strength).fit(given.reshape(len(given), -1), target - slope * share, sample_weight=weight)
    return fit.predict(given.reshape(len(given), -1)) + slope * share


def weighted_votes(q, seed=5):
    votes = planted([0.85, 0.7, 0.6], n_tasks=12, q=q, seed=seed, families=("a", "b", "b"))
    return replace(votes, weights=np.where(np.arange(60) % 3 == 0, 2.0, 1.0))


def families_vote(votes, power):
    """One vote a family times a power of the log odds beyond chance, with one labelled task more that tells nothing."""
    q, n = votes.n_categories, 12
    right = np.average(votes.words == votes.labels[:, None], axis=0, weights=votes.weights)
    accuracy = (n * right + 1 / q) / (n + 1)
    return np.array([1, 0.5, 0.5]) * np.log((q - 1) * accuracy / (1 - accuracy)) ** power


@pytest.mark.parametrize(("q", "power"), [(2, 0.0), (3, 0.0), (3, 3.0)])
def test_the_ridge_is_scikit_learn_s_beside_the_vote_of_families(q, power):
    votes = weighted_votes(q)
    (panel,) = ridge_path(votes, [(power, 7.0)])
    expected = by_least_squares(votes, power, 7.0, families_vote(votes, power))
    assert panel.scores(votes.words) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("path", "q", "power"), [(logistic_path, 2, 0.0), (logistic_path, 3, 3.0), (ordered_path, 3, 0.0)]
)
def test_a_path_maximises_its_penalised_likelihood(path, q, power):
    """By scipy: a_c + sum_j (s f_j + d_j) 1[v_j = c], with words in order also c sum_j (t f_j + e_j) (v_j - m_j)."""
    votes = weighted_votes(q)
    (panel,) = path(votes, [(power, 6.0)])
    weight, truth = votes.weights / votes.weights.mean(), votes.labels.astype(int)
    f, height = families_vote(votes, power), votes.words / (q - 1)
    above = height - np.average(height, axis=0, weights=weight)

    def scores(beta):
        a, (s, *d), (t, *e) = np.r_[0.0, beta[: q - 1]], beta[q - 1 : q + 3], beta[q + 3 :]
        own = (votes.words[:, :, None] == np.arange(q)).transpose(0, 2, 1) @ (s * f + d)
        return a + own + (path is ordered_path) * np.arange(q) * (above @ (t * f + e))[:, None]

    def loss(beta):
        penalty = np.r_[np.full(q - 1, 0.1), ([0.01] + [6.0] * 3) * 2]
        log_p = np.log(softmax(scores(beta)))[np.arange(60), truth]
        return -weight @ log_p + penalty @ beta**2 / 2

    best = minimize(loss, np.zeros(q + 7), tol=1e-10).x
    assert panel.probabilities(votes.words) == pytest.approx(softmax(scores(best)), abs=2e-4)


def test_a_stack_is_better_than_the_best_judge_by_more_than_an_error_or_leans_on_it():
    """Of 20 tasks of one item one that is right more is within the error, sqrt(.05^2 + .05^2) and more; two are not."""
    of_tasks = np.arange(20), np.ones(20)
    assert [_gains((np.arange(20) < k).astype(float), *of_tasks) for k in (0, 1, 2)] == [False, False, True]
    assert not _gains(-(np.arange(20) < 9).astype(float), *of_tasks)
    assert not _gains((np.arange(20) < 2).astype(float), np.minimum(np.arange(20), 10), np.ones(20))  # one task of ten


def test_what_a_word_speaks_for_is_its_own_score_above_the_mean_of_the_others():
    assert pulls(np.array([[[3.0, 1, 2], [0, 2, 0], [5, 5, 5]]])) == pytest.approx([(1.5 + 2 + 0) / 3])
    assert probability_of(np.array([0.0, 2, np.nan]), np.array([[0.5, 0.3, 0.2]] * 3), 1) == pytest.approx(
        [0.8, 0.5, np.nan], nan_ok=True
    )


@pytest.mark.parametrize("way", WAYS)
def test_every_way_beats_a_coin_gives_probabilities_and_does_not_mind_the_order(way):
    votes = planted([0.85, 0.75, 0.7, 0.65], q=3, lost=0.05)
    train = votes.groups < 20
    votes = replace(votes, ordered=WAYS[way].in_order)
    panel = fit_panel(votes.hidden(train), way, rng=np.random.default_rng(1))
    p = panel.probabilities(votes.words)
    given = ~np.isnan(p).any(axis=1)
    assert p[given].sum(axis=1) == pytest.approx(np.ones(given.sum()))
    assert (answers(panel, votes) == votes.labels)[~train].mean() > 0.64
    order = [2, 0, 3, 1]
    turned = PanelVotes(
        votes.words[:, order], votes.labels, votes.weights, votes.groups, tuple("cadb"), 3, votes.ordered
    )
    again = fit_panel(turned.hidden(train), way, rng=np.random.default_rng(1))
    assert again.weights == pytest.approx(panel.weights[order], abs=1e-6)
    assert again.probabilities(turned.words) == pytest.approx(p, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("way", [way for way, each in WAYS.items() if not each.by_labels])
def test_ways_without_labels_need_none_and_do_not_change_their_words_with_them(way):
    votes = planted([0.8, 0.7, 0.6])
    blind = fit_panel(votes.hidden(np.zeros(200, dtype=bool)), way, rng=np.random.default_rng(0))
    seeing = fit_panel(votes, way, rng=np.random.default_rng(0))
    assert (answers(blind, votes) == answers(seeing, votes)).all()
    assert seeing.temperature != blind.temperature


def test_parts_keep_tasks_together_and_hide_their_labels():
    votes = planted([0.8], n_tasks=23)
    part = folds(votes.groups, np.random.default_rng(0))
    assert all(np.unique(part[votes.groups == task]).size == 1 for task in range(23))
    assert np.ptp([np.unique(votes.groups[part == each]).size for each in range(5)]) <= 1
    seen = np.zeros(votes.labels.size)
    for training, inside in held_out(votes, np.random.default_rng(0)):
        assert not set(votes.groups[inside]) & set(votes.groups[training.labelled])
        seen += inside
    assert (seen == 1).all()


def test_weights_of_labels_count_as_repeated_items():
    votes = planted([0.8, 0.7], n_tasks=10)
    twice = np.where(votes.groups < 3, 2.0, 1.0)
    weighted = PanelVotes(votes.words, votes.labels, twice, votes.groups, votes.families, 2)
    rows = np.repeat(np.arange(50), twice.astype(int))
    repeated = votes.only(np.ones(50, dtype=bool))
    repeated = PanelVotes(
        votes.words[rows], votes.labels[rows], np.ones(rows.size), votes.groups[rows], votes.families, 2
    )
    assert accuracies(weighted) == pytest.approx(accuracies(repeated))


def test_nested_figures_are_those_of_tasks_left_out():
    """Eight judges that toss coins: whatever sees the labels that it is tried on is right more often than half."""
    votes = planted([0.5] * 8, n_tasks=30, seed=6)
    noise = nested(votes, ways=["best_single", "logistic", "ridge"], seed=1)
    for each in noise.values():
        assert each.accuracy.estimate == pytest.approx(0.5, abs=0.13), "nothing is there to be learnt"
    assert noise["best_single"].gain.estimate == 0


def test_nested_shows_a_panel_that_is_better_and_one_that_is_not():
    good = nested(planted([0.75] * 7, n_tasks=80), ways=["majority", "logistic"])
    assert good["majority"].gain.ci_low > 0
    assert good["logistic"].gain.ci_low > 0
    assert good["majority"].kappa.estimate > 0.7
    logistic, truth = good["logistic"], planted([0.75] * 7, n_tasks=80).labels.astype(int)
    of_truth, of_word = (logistic.probabilities[np.arange(400), each] for each in (truth, logistic.words.astype(int)))
    assert logistic.log_loss == pytest.approx(-np.log(of_truth).mean())
    assert logistic.calibration_error == pytest.approx(of_word.mean() - (logistic.words == truth).mean())
    assert logistic.accuracy.estimate == pytest.approx((logistic.words == truth).mean())
    lone = nested(planted([0.95, 0.6, 0.6, 0.6], n_tasks=80), ways=["majority", "best_single", "logistic"])
    assert lone["majority"].gain.ci_high < 0
    assert lone["logistic"].gain.estimate > -0.03
    assert lone["logistic"].calibration_error == pytest.approx(0, abs=0.05)


def test_a_judge_s_worth_is_what_is_lost_without_it():
    votes = planted([0.9, 0.65, 0.5], n_tasks=80)
    panel = fit_panel(votes, "logistic", rng=np.random.default_rng(0))
    worth = {each.judge: each for each in judges_worth(votes, "logistic", panel)}
    assert worth[0].gain.ci_low > 0.05
    assert worth[0].loss > worth[1].loss > -0.01
    assert worth[2].gain.ci_low <= 0 <= worth[2].gain.ci_high
    assert worth[0].accuracy == pytest.approx(0.9, abs=0.04)


def test_a_refit_keeps_the_recipe():
    votes = planted([0.85, 0.7, 0.6])
    panel = fit_panel(votes, "logistic", rng=np.random.default_rng(0))
    again = refit_panel(votes, "logistic", panel, rng=np.random.default_rng(9))
    assert again.recipe == panel.recipe
    assert {part[:2] for part in panel.recipe.parts} <= set(LOGISTIC_TRIED)
    assert again.weights == pytest.approx(panel.weights, abs=1e-3)


def hard_alike(accuracy, spread, n_tasks, size=5, seed=0) -> PanelVotes:
    """Two words; judges of these accuracies who err on the same hard items, by a probit of this spread."""
    rng = np.random.default_rng(seed)
    n = n_tasks * size
    truth, hard = rng.integers(0, 2, n), 0.8 * rng.standard_normal(n) + 0.6 * rng.standard_normal(n_tasks).repeat(size)
    ease = ndtri(accuracy) * np.sqrt(1 + spread**2) + spread * hard[:, None]
    right = ease + rng.standard_normal(ease.shape) > 0
    words = np.where(right, truth[:, None], 1 - truth[:, None]).astype(float)
    return PanelVotes(
        words, truth.astype(float), np.ones(n), np.repeat(np.arange(n_tasks), size), tuple("abcdefghijklmnopqrst"), 2
    )


def test_a_stack_does_not_lose_to_a_judge_that_is_better_than_all_others_together():
    """One judge of .88 and 19 of .75 that share their errors, 25 tasks; without leaning a stack loses .04."""
    gains = []
    for seed in range(5):
        votes = hard_alike([0.88] + [0.75] * 19, 1.5, 400, seed=seed)
        seen, rest = votes.only(votes.groups < 25), votes.only(votes.groups >= 25)
        panel, best = (fit_panel(seen, way, rng=np.random.default_rng(0)) for way in ("logistic", "best_single"))
        gains.append((answers(panel, rest) == rest.labels).mean() - (answers(best, rest) == rest.labels).mean())
    assert np.mean(gains) > -0.01
    alone = fit_panel(planted([0.75] * 7, n_tasks=80), "logistic", rng=np.random.default_rng(0))
    assert alone.recipe.best == 0, "among equals nobody is leaned on"
    no_better = fit_panel(planted([0.6] * 3, n_tasks=20, seed=2), "logistic", rng=np.random.default_rng(0)).recipe
    assert no_better.best == 0
    assert 0.5 < sum(count for *_, count in no_better.parts) < 1, "as sure as held-out tasks allow"


def test_the_ordered_stack_beats_the_best_judge_in_kappa_and_says_each_word_as_often_as_people():
    """Labels lean to the top, two of three judges are harsh; accuracy and quadratic kappa on tasks not seen."""
    votes = rising()
    seen, rest = votes.hidden(votes.groups < 50), votes.only(votes.groups >= 50)
    panel = fit_panel(seen, "ordered", rng=np.random.default_rng(0))
    scores = panel.scores(rest.words)
    words = answers(panel, rest)
    said, given = (np.bincount(each.astype(int), minlength=5) / words.size for each in (words, rest.labels))
    assert said == pytest.approx(given, abs=0.08)
    best = answers(fit_panel(seen, "best_single", rng=np.random.default_rng(0)), rest)
    kappas = [cohen_kappa_score(each, rest.labels, weights="quadratic") for each in (words, best)]
    assert kappas[0] > kappas[1] + 0.02
    assert kappas[0] > cohen_kappa_score(likeliest(scores), rest.labels, weights="quadratic")
    assert (words == rest.labels).mean() > (best == rest.labels).mean() - 0.03
    unseen = rest.labels != 0
    never = fit_panel(rest.only(unseen), "ordered", rng=np.random.default_rng(0))
    assert (answers(never, rest) > 0).all(), "a word that no label has is not said"
    with pytest.raises(InputError, match="takes an order of words"):
        fit_panel(replace(votes, ordered=False), "ordered", rng=np.random.default_rng(0))
    assert "ordered" not in nested(planted([0.9, 0.7], n_tasks=10))


def test_the_ordered_stack_is_no_worse_where_errors_have_no_order():
    """Wrong words are any word: nearness tells nothing, and one judge says the lowest word of everything."""
    votes = replace(planted([0.96, 0.8, 0.75], n_tasks=60, q=4), ordered=True)
    votes.words[:, 1] = 0.0
    found = nested(votes, ways=["best_single", "ordered"])
    assert found["ordered"].gain.estimate > -0.02
    assert found["ordered"].kappa.estimate > found["best_single"].kappa.estimate - 0.02


def test_a_stack_that_finds_nothing_in_its_judges_answers_by_what_is_common():
    votes = planted([0.9], n_tasks=30)
    votes.words[:] = 1.0
    for way in ("ridge", "logistic"):
        panel = fit_panel(votes, way, rng=np.random.default_rng(0))
        assert panel.asked.all()
        assert panel.recipe.parts == ()
        assert (answers(panel, votes) == 1).all(), "the commoner of the labels' words"


def test_a_stack_whose_judges_are_silent_where_labels_are_gives_words_elsewhere():
    votes = rising(n_tasks=20)
    votes.words[:50], votes.labels[50:] = np.nan, np.nan
    for way in ("ordered", "logistic"):
        panel = fit_panel(votes, way, rng=np.random.default_rng(0))
        assert np.isnan(answers(panel, votes)).tolist() == [True] * 50 + [False] * 50
    assert panel.recipe.best == 0


def test_a_stack_of_a_given_penalty_is_the_path_s_and_a_vote_is_refitted_as_it_is_fitted():
    votes = planted([0.85, 0.7])
    (path,) = logistic_path(votes, [(0.0, 10.0)])
    assert stacked(votes, 10.0).table == pytest.approx(path.table)
    order = rising(n_tasks=40)
    share = [
        np.bincount(each.astype(int), minlength=5) / 200
        for each in (answers(stacked(order, 10.0), order), order.labels)
    ]
    assert share[0] == pytest.approx(share[1], abs=0.06)
    panel = fit_panel(votes, "majority", rng=np.random.default_rng(0))
    assert refit_panel(votes, "majority", panel, rng=np.random.default_rng(1)).table == pytest.approx(panel.table)


def test_a_stack_that_labels_speak_against_still_gives_its_own_words():
    """A temperature of 0 would make all words level, and every item the first one."""
    votes = planted([0.2, 0.25, 0.2], n_tasks=20)
    blind = fit_panel(votes.hidden(np.zeros(100, dtype=bool)), "majority", rng=np.random.default_rng(0))
    seeing = fit_panel(votes, "majority", rng=np.random.default_rng(0))
    assert (answers(seeing, votes) == answers(blind, votes)).all()
    assert seeing.probabilities(votes.words) == pytest.approx(0.5, abs=0.001)


def test_kappa_counts_items_as_they_were_drawn():
    """Weights of 3 and 1 are items that stand three times and once; with equal ones nothing changes."""
    votes = rising(n_tasks=40)
    words = votes.words[:, 1]
    weights = np.where(votes.labels > 2, 3.0, 1.0)
    found = kappa_with(words, replace(votes, weights=weights))
    rows = np.repeat(np.arange(words.size), weights.astype(int))
    theirs = cohen_kappa_score(words[rows], votes.labels[rows], weights="quadratic")
    assert found.estimate == pytest.approx(theirs)
    assert found.ci_low < theirs < found.ci_high
    equal = [kappa_with(words, replace(votes, weights=np.full(words.size, each))) for each in (1.0, 7.0)]
    assert equal[0] == equal[1]
    one_task = kappa_with(words, replace(votes, weights=weights, groups=np.zeros_like(votes.groups)))
    assert one_task.estimate == found.estimate
    assert math.isnan(one_task.ci_low)
    assert equal[0].estimate == pytest.approx(cohen_kappa_score(words, votes.labels, weights="quadratic"))


@pytest.mark.slow
def test_the_paired_interval_of_the_gain_covers_what_is_gained():
    """Two judges of one accuracy and a majority of five: the gain on all tasks there could be, by 400 studies."""
    large = planted([0.75] * 5, n_tasks=4000, seed=1)
    majority = fit_panel(large, "majority", rng=np.random.default_rng(0))
    truth = (answers(majority, large) == large.labels).mean() - 0.75
    covered = []
    for seed in range(400):
        gain = nested(planted([0.75] * 5, n_tasks=60, seed=seed), ways=["majority"], seed=seed)["majority"].gain
        covered.append(gain.ci_low <= truth <= gain.ci_high)
    assert np.mean(covered) >= 0.93 - 2 * 0.011


@pytest.mark.parametrize(
    ("accuracy", "size"), [([0.95, 0.6, 0.6, 0.6], 1), ([0.8] * 3 + [0.5] * 4, 3), ([0.75] * 5 + [0.5] * 4, 5)]
)
def test_a_majority_of_the_best_takes_as_many_as_help(accuracy, size):
    """Coins beside good judges make a majority worse, and so do poor ones beside one that is nearly always right."""
    panel = fit_panel(planted(accuracy, n_tasks=100), "best_majority", rng=np.random.default_rng(0))
    assert panel.asked.tolist() == [True] * size + [False] * (len(accuracy) - size)


def test_where_nobody_answered_what_is_labelled_the_strongest_penalty_is_taken():
    votes = planted([0.9, 0.8])
    there = np.arange(200) < 20
    silent = replace(
        votes, words=np.where(there[:, None], math.nan, votes.words), labels=np.where(there, votes.labels, math.nan)
    )
    assert ridge(silent, np.random.default_rng(0)).recipe.parts == ((*max(RIDGE_TRIED), 1.0),)
