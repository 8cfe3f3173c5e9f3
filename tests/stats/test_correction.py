"""Corrected failure rates: published and hand-made values, what each way of drawing labels allows, every refusal."""

import math

import numpy as np
import pytest
from ppi_py import ppi_mean_pointestimate
from scipy.stats import t
from stats.labelled_worlds import WORLDS, World

from axisjudge.checks import InputError
from axisjudge.stats.clusters import OUTCOME_ICC, clustered_variance
from axisjudge.stats.correction import (
    ALL_AGENTS,
    SAMPLING,
    Counts,
    corrected_by_agent,
    corrected_difference,
    corrected_rank_sets,
    corrected_rate,
    lang_reiczigel_interval,
    pairwise_level,
    rogan_gladen,
)
from axisjudge.stats.prediction_powered import prediction_powered_mean
from axisjudge.stats.proportions import clustered_proportion, score_interval, wilson_interval
from axisjudge.stats.uneven_draws import LabelledSample, eff_per_item, post_stratified_interval, rate_by_bets
from axisjudge.studies._shared.words import if_twice

NONE = math.nan


def items(*kinds):
    """Items from (verdict, label, how many)."""
    verdict, label = ([value for *pair, n in kinds for value in [pair[side]] * n] for side in (0, 1))
    return np.array(verdict, float), np.array(label, float)


BASE = items((1, 1, 18), (1, 0, 6), (1, NONE, 176), (0, 0, 72), (0, 1, 4), (0, NONE, 724))


def test_the_post_stratified_rate_by_hand():
    found = corrected_rate(*BASE, sampling="random")
    assert found.rate.estimate == pytest.approx(0.2 * 18 / 24 + 0.8 * 4 / 76)
    assert found.apparent.estimate == pytest.approx(0.2)
    assert found.labels_alone.estimate == pytest.approx(22 / 100)
    assert found.rate.method == "post-stratified, hull of Beta(1/2) posterior and MOVER-Wilson"
    assert found.rate.ci_high - found.rate.ci_low < 0.8 * (found.labels_alone.ci_high - found.labels_alone.ci_low)
    assert [(each.verdict, each.n_items, each.n_labelled) for each in found.strata] == [
        ("incorrect", 200, 24),
        ("other", 800, 76),
    ]
    assert not found.warnings


def test_rogan_gladen_has_its_published_value():
    """epiR's epi.prev: 23 of 150 positive, sensitivity .96, specificity .89: 5.1 per 100 (manual of epiR)."""
    assert rogan_gladen(Counts(23, 150), Counts(960, 1000), Counts(890, 1000)) == pytest.approx(0.051, abs=5e-4)


def test_lang_reiczigel_with_a_judge_that_is_known_is_the_agresti_coull_interval_moved():
    """With sensitivity and specificity exact, eq. 16 leaves p' +- z sqrt(p'(1 - p') / n') over their sum less 1."""
    z, exact = 1.959963984540054, 1e12
    p, n = (40 + z**2 / 2) / (200 + z**2), 200 + z**2
    low, high = lang_reiczigel_interval(Counts(40, 200), Counts(0.9 * exact, exact), Counts(0.95 * exact, exact))
    for end, bound in ((-1, low), (1, high)):
        assert bound == pytest.approx((p + end * z * math.sqrt(p * (1 - p) / n) + 0.95 - 1) / 0.85, abs=1e-6)
    assert wilson_interval(40, 200)[1] > low


def test_lang_reiczigel_by_its_formula():
    """One hit and one miss more of 40 and 60, z^2 / 2 of each of 200; P + 2 z^2 (P v_se - (1 - P) v_sp) +- z sd(P)."""
    z = 1.6448536269514722
    p, n = (60 + z**2 / 2) / (200 + z**2), 200 + z**2
    se, sp = 37 / 42, 46 / 62
    v_p, v_se, v_sp = p * (1 - p) / n, se * (1 - se) / 42, sp * (1 - sp) / 62
    rate = (p + sp - 1) / (se + sp - 1)
    centre = rate + 2 * z**2 * (rate * v_se - (1 - rate) * v_sp)
    half = z * math.sqrt(v_p + rate**2 * v_se + (1 - rate) ** 2 * v_sp) / (se + sp - 1)
    found = lang_reiczigel_interval(Counts(60, 200), Counts(36, 40), Counts(45, 60), ci_level=0.9)
    assert found == pytest.approx((max(0, centre - half), centre + half))


def test_lang_reiczigel_counts_passes_as_it_counts_failures():
    low, high = lang_reiczigel_interval(Counts(60, 200), Counts(36, 40), Counts(45, 60))
    assert lang_reiczigel_interval(Counts(140, 200), Counts(45, 60), Counts(36, 40)) == pytest.approx(
        (1 - high, 1 - low)
    )


@pytest.mark.parametrize("share", [0.03, 0.97])
def test_a_rate_near_an_end_has_no_interval_beyond_it(share):
    rng = np.random.default_rng(0)
    for _ in range(40):
        label = (rng.random(rng.integers(20, 200)) < share).astype(float)
        verdict = np.where(rng.random(label.size) < 0.9, label, 1 - label)
        label[rng.random(label.size) < 0.5] = NONE
        rate = corrected_rate(verdict, label, sampling="random", draw_known=True).rate
        assert math.isnan(rate.ci_low) or 0 <= rate.ci_low <= rate.ci_high <= 1


def test_the_prediction_powered_mean_is_that_of_ppi_python():
    said, told, *_ = World(n_labelled=800, n_judged=4000).draw(np.random.default_rng(1))
    asked = ~np.isnan(told)
    found = prediction_powered_mean(said, told)
    assert found.estimate == pytest.approx(ppi_mean_pointestimate(told[asked], said[asked], said[~asked]), abs=1e-3)
    assert found.ci_high - found.ci_low < 2 * 1.96 * math.sqrt(0.21 / 800)


def test_the_prediction_powered_mean_leaves_a_useless_judge_out():
    rng = np.random.default_rng(2)
    told = np.where(rng.random(1000) < 0.3, rng.random(1000) < 0.4, np.nan)
    found = prediction_powered_mean(np.ones(1000), told)
    assert found.estimate == pytest.approx(np.nanmean(told))
    assert "weight of the judge 0.00" in found.method
    own = told[~np.isnan(told)]
    expected = score_interval(own.mean(), own.size, t.ppf(0.975, own.size - 1))
    assert (found.ci_low, found.ci_high) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("sizes", [[4] * 30, [20, 12, 8, 8] + [3] * 10 + [1] * 6], ids=["even", "uneven"])
def test_a_judge_that_says_the_same_of_all_leaves_the_share_of_the_labels(share, sizes):
    rng = np.random.default_rng(4)
    task = np.repeat(np.arange(2 * len(sizes)), 2 * sizes)
    failed = (rng.random(task.size) < rng.beta(share + 1e-9, 1 - share + 1e-9, 2 * len(sizes))[task]).astype(float)
    label = np.where(task < len(sizes), failed, NONE)
    found = prediction_powered_mean(np.full(task.size, 0.3), label, clusters=task)
    alone = clustered_proportion(label[task < len(sizes)], task[task < len(sizes)])
    assert found.in_short == pytest.approx(alone.in_short)
    mirrored = prediction_powered_mean(np.full(task.size, 0.3), 1 - label, clusters=task)
    assert (mirrored.ci_low, mirrored.ci_high) == pytest.approx((1 - found.ci_high, 1 - found.ci_low))


def test_the_mean_of_numbers_reaches_further_where_large_clusters_were_not_seen():
    """t standard errors, of the labels' own clusters, and to the side that sizes and outcomes point to further."""
    rng = np.random.default_rng(6)
    sizes = np.r_[30, 18, 12, np.full(20, 3)]
    task = np.repeat(np.arange(23), sizes)
    score = 5 + np.minimum(sizes, 12)[task] + rng.standard_normal(task.size)
    found = prediction_powered_mean(np.zeros(task.size), score, clusters=task)
    known = clustered_variance((score - score.mean()) / task.size, task, prior=OUTCOME_ICC)
    below, above = known.lean.quantiles(t.ppf(0.975, known.degrees))
    assert above > below
    expected = score.mean() - below * known.error, score.mean() + above * known.error
    assert (found.ci_low, found.ci_high) == pytest.approx(expected)
    assert "all labels are equal" in prediction_powered_mean(score, np.full(task.size, 7.0), clusters=task).reason
    assert "all labels are equal" in prediction_powered_mean(score, np.full(task.size, 0.5), clusters=task).reason


@pytest.mark.parametrize("seed", range(3))
def test_by_the_judges_verdict_its_own_strata_are_the_probabilities(seed):
    said, told, *_ = WORLDS["judge-enriched"].draw(np.random.default_rng(seed))
    share = {word: (~np.isnan(told[said == word])).mean() for word in (0.0, 1.0)}
    given = corrected_rate(said, told, sampling="by_judge_verdict", probability=[share[word] for word in said]).rate
    found = corrected_rate(said, told, sampling="by_judge_verdict").rate
    assert found.estimate == pytest.approx(given.estimate)
    assert (found.ci_low, found.ci_high) == pytest.approx((given.ci_low, given.ci_high), abs=0.01)
    alone = corrected_rate(said, told, sampling="by_judge_verdict").labels_alone.estimate
    assert alone == pytest.approx(found.estimate)  # weighted, the labels alone have the same estimate
    assert np.nanmean(told) > alone + 0.03  # unweighted they do not


def test_large_samples_take_the_prediction_powered_mean():
    said, told, *_ = WORLDS["large"].draw(np.random.default_rng(3))
    assert corrected_rate(said, told, sampling="random").rate.method.startswith("prediction-powered")


@pytest.mark.parametrize("verdict", [1.0, 0.0, NONE])
def test_a_constant_or_ever_uncertain_judge_gives_what_the_labels_say_and_a_warning(verdict):
    _, told = BASE
    found = corrected_rate(np.full(told.size, verdict), told, sampling="random")
    assert found.rate == found.labels_alone
    assert found.rate.estimate == pytest.approx(0.22)
    assert (found.rate.n_items, found.rate.n_missing, found.rate.n_clusters) == (1000, 900, 100)
    assert any("too weak to help" in warning for warning in found.warnings)


def test_a_judge_by_lot_is_said_to_be_too_weak_with_both_widths():
    _, told = BASE
    found = corrected_rate(np.random.default_rng(1).integers(0, 2, told.size), told, sampling="random")
    corrected, alone = (each.ci_high - each.ci_low for each in (found.rate, found.labels_alone))
    (weak,) = [warning for warning in found.warnings if "too weak to help" in warning]
    assert weak.endswith(f"interval is {corrected:.2f} wide, that of the labels alone {alone:.2f}")


def test_a_judge_worse_than_a_coin_is_warned_of_and_cannot_correct_labels_drawn_by_label():
    said, told = BASE
    at_random = corrected_rate(1 - said, told, sampling="random")
    assert any("no more often than others" in warning for warning in at_random.warnings)
    assert at_random.rate == at_random.labels_alone
    by_label = corrected_rate(1 - said, told, sampling="by_human_label")
    assert "no better than a coin" in by_label.refusal
    assert math.isnan(by_label.rate.estimate)


def test_lost_and_uncertain_verdicts_are_a_stratum_of_their_own():
    said, told = items((1, 1, 10), (0, 0, 30), (NONE, 1, 8), (NONE, 0, 2), (NONE, NONE, 40), (0, NONE, 100))
    found = corrected_rate(said, told, sampling="random", draw_known=True)
    assert found.rate.estimate == pytest.approx((10 + 0 + 50 * 0.8) / 190)
    assert found.strata[-1].verdict == "none"
    assert found.strata[-1].share_incorrect == 0.8
    assert found.apparent.n_missing == 50
    assert (
        "verdict failing" in corrected_rate(said, told, sampling="random").refusal
    )  # by chance all ten in 2 of a million


def test_a_common_verdict_without_labels_leaves_the_labels_alone_or_counts_against_both_ends():
    said, told = items((1, NONE, 60), (0, 0, 20), (0, 1, 5), (0, NONE, 100))
    assert "labels are said to be drawn at random" in corrected_rate(said, told, sampling="random").refusal
    at_random = corrected_rate(said, told, sampling="random", draw_known=True)
    assert at_random.rate == at_random.labels_alone
    assert "labels stand alone" in at_random.warnings[0]
    by_verdict = corrected_rate(said, told, sampling="by_judge_verdict")
    assert by_verdict.rate.ci_low < 125 / 185 * 5 / 25 < 60 / 185 + 125 / 185 * 5 / 25 < by_verdict.rate.ci_high
    assert by_verdict.rate.estimate == pytest.approx(0.5 * 60 / 185 + 125 / 185 * 5 / 25)
    assert "32% of the items" in by_verdict.warnings[0]
    assert math.isnan(by_verdict.labels_alone.estimate)


def test_where_all_items_are_labelled_the_rate_is_theirs_however_good_the_judge():
    _, told = items((0, 1, 30), (0, 0, 70))
    found = corrected_rate(np.zeros(100), told, sampling="random")
    assert found.rate == found.labels_alone
    assert (found.rate.estimate, found.rate.method, found.warnings) == (0.3, "Wilson", ())


@pytest.mark.parametrize(
    ("sampling", "label", "reason"),
    [
        ("unknown", BASE[1], "how the labelled items were drawn is not known"),
        ("by_key", BASE[1], "labels drawn by a key need the probability of each"),
        ("random", np.where(np.arange(1000) < 9, 1.0, NONE), "9 labelled items; a corrected rate needs 10"),
        ("by_human_label", np.where(BASE[1] == 1, NONE, BASE[1]), "0 labelled incorrect and 78 other"),
    ],
)
def test_every_refusal_says_why(sampling, label, reason):
    found = corrected_rate(BASE[0], label, sampling=sampling)
    assert reason in found.refusal
    assert found.rate.reason == found.refusal
    assert math.isnan(found.rate.estimate)
    assert found.apparent.estimate == pytest.approx(0.2)  # what the judge itself says can always be given
    assert found.to_dict()["rate"]["estimate"] is None


def test_only_the_way_of_drawing_decides_the_estimator():
    said, told, *_ = WORLDS["S6 half failures"].draw(np.random.default_rng(4))
    by_label = corrected_rate(said, told, sampling="by_human_label").rate
    assert by_label.method == "Rogan-Gladen, Lang-Reiczigel interval"
    assert by_label.ci_low <= 0.3 <= by_label.ci_high
    wrong = corrected_rate(said, told, sampling="random").rate
    assert wrong.ci_low > 0.3
    assert set(SAMPLING) == {"random", "by_judge_verdict", "by_key", "by_human_label", "unknown"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": [1.0, 0.5] * 500}, "verdict: must be one row of 1"),
        ({"label": [2.0] * 1000}, "label: must be one row of 1"),
        ({"label": [1.0] * 10}, "label: needs one entry for each of the 1000 items"),
        ({"sampling": "randm"}, "did you mean 'random'"),
        ({"probability": np.zeros(1000)}, r"probability: must lie in \(0, 1\] for every labelled item"),
        ({"probability": [0.1]}, "probability: must lie in"),
        ({"clusters": [1, 2]}, "clusters: needs one entry for each of the 1000 items"),
        ({"ci_level": 1.0}, "ci_level: must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_used_is_named(change, message):
    with pytest.raises(InputError, match=message):
        corrected_rate(**{"verdict": BASE[0], "label": BASE[1], "sampling": "random", **change})


def test_counts_that_cannot_be_are_named():
    with pytest.raises(InputError, match="counts: must hold 0 <= hits <= n"):
        Counts(3, 2)


def test_items_of_a_task_given_four_times_say_no_more():
    said, told, *_ = World(n_labelled=60, n_judged=60).draw(np.random.default_rng(5))
    once = corrected_rate(said, told, sampling="random").rate
    tasks = np.tile(np.arange(said.size), 4)
    four = corrected_rate(np.tile(said, 4), np.tile(told, 4), sampling="random", clusters=tasks).rate
    naive = corrected_rate(np.tile(said, 4), np.tile(told, 4), sampling="random").rate
    assert four.estimate == pytest.approx(once.estimate)
    assert four.ci_high - four.ci_low == pytest.approx(once.ci_high - once.ci_low, rel=0.1)
    assert naive.ci_high - naive.ci_low < 0.6 * (four.ci_high - four.ci_low)
    assert (four.n_clusters, four.cluster_unit) == (120, "task")


def test_the_same_input_gives_the_same_interval_and_order_does_not_matter():
    shuffled = np.random.default_rng(6).permutation(1000)
    first, again = (corrected_rate(*BASE, sampling="random").rate for _ in range(2))
    other = corrected_rate(BASE[0][shuffled], BASE[1][shuffled], sampling="random").rate
    assert first == again == other


def test_the_difference_is_movers():
    """Zou and Donner (2008): the distances of the two intervals combine as root of squares."""
    first = corrected_rate(*BASE, sampling="random")
    second = corrected_rate(BASE[0], np.where(BASE[1] == 1, 0, BASE[1]), sampling="random")
    found, a, b = corrected_difference(first, second), first.rate, second.rate
    assert found.estimate == pytest.approx(a.estimate - b.estimate)
    assert found.estimate - found.ci_low == pytest.approx(math.hypot(a.estimate - a.ci_low, b.ci_high - b.estimate))
    refused = corrected_rate(*BASE, sampling="unknown")
    assert corrected_difference(first, refused).reason == refused.refusal


def test_rates_of_one_task_have_no_interval_and_so_neither_difference_nor_ranks():
    """Python's max(0.0, nan) is 0: differences were "-3 (-3 to -3)" and ranks were told apart."""
    verdicts, labels = np.array([1, 0] * 10, dtype=float), np.array([1, 0, 0, 0] * 5, dtype=float)
    first = corrected_rate(verdicts, labels, sampling="random", clusters=np.zeros(20), cluster_unit="task")
    second = corrected_rate(1 - verdicts, 1 - labels, sampling="random", clusters=np.zeros(20), cluster_unit="task")
    found = corrected_difference(first, second)
    assert np.isnan([found.ci_low, found.ci_high]).all()
    assert "one task" in found.reason
    assert corrected_rank_sets([first, second]).refusal


@pytest.mark.slow
def test_the_interval_of_a_difference_covers():
    low, high = World(prevalence=0.2), World(prevalence=0.4, sensitivity=0.7)
    rng, inside = np.random.default_rng(7), 0
    for _ in range(1000):
        first, second = (corrected_rate(*w.draw(rng)[:2], sampling="random") for w in (high, low))
        found = corrected_difference(first, second)
        inside += found.ci_low <= 0.2 <= found.ci_high
    assert inside / 1000 >= 0.93


def rates(worlds, rng):
    level = pairwise_level(len(worlds))
    return [corrected_rate(*world.draw(rng)[:2], sampling="random", ci_level=level) for world in worlds]


@pytest.mark.slow
def test_rank_sets_seldom_part_agents_that_fail_alike():
    """Four agents with one failure rate, 15 labels each: a false rank in at most 5% of runs (s.e. 1%)."""
    rng = np.random.default_rng(9)
    worlds = [World(n_labelled=15, n_judged=45)] * 4
    wrong = sum(not corrected_rank_sets(rates(worlds, rng)).tied for _ in range(400))
    assert wrong / 400 <= 0.05


def test_rank_sets_part_agents_that_differ_much():
    sets = corrected_rank_sets(
        rates([World(prevalence=p, n_labelled=100) for p in (0.05, 0.4, 0.8)], np.random.default_rng(1))
    )
    assert sets.rank_low.tolist() == sets.rank_high.tolist() == [3, 2, 1]


def test_an_agent_without_a_rate_may_hold_any_rank_and_one_rate_is_not_ranked():
    level = pairwise_level(3)
    refused = corrected_rate(*BASE, sampling="unknown", ci_level=level)
    worlds = [World(prevalence=p, n_labelled=100) for p in (0.05, 0.5, 0.8)]
    first, _, second = rates(worlds, np.random.default_rng(1))
    sets = corrected_rank_sets([first, refused, second])
    assert (sets.rank_low[1], sets.rank_high[1]) == (1, 3)
    assert (sets.rank_low[0], sets.rank_high[2]) == (2, 2)
    alone = corrected_rank_sets([first, refused, refused])
    assert alone.refusal == "fewer than two corrected rates to compare"
    with pytest.raises(InputError, match="must have intervals at level"):
        corrected_rank_sets([first, second])


def test_the_change_of_estimator_in_large_samples_is_said():
    rng = np.random.default_rng(21)
    failed = rng.random(1500) < 0.3
    said = np.where(rng.random(1500) < 0.9, failed, ~failed).astype(float)
    few, many = (np.where(np.arange(1500) < n, failed.astype(float), np.nan) for n in (150, 500))
    assert corrected_rate(said, few, sampling="random").rate.notes == ()
    assert "prediction-powered" in corrected_rate(said, many, sampling="random").rate.notes[0]


def test_labels_that_miss_a_rarely_drawn_kind_bound_the_rate_by_bets():
    """30% of the items fail in .8 and are drawn 120 times less often: without them .04 of intervals held .31."""
    rng = np.random.default_rng(3)
    rare = np.arange(1500) % 10 < 3
    chance = np.where(rare, 0.0005, 0.06)
    for _ in range(12):
        failed = rng.random(1500) < np.where(rare, 0.8, 0.1)
        said = np.where(rng.random(1500) < 0.8, failed, ~failed).astype(float)
        asked = rng.random(1500) < chance
        label, probability = (np.where(asked, of, np.nan) for of in (failed, chance))
        found = corrected_rate(said, label, sampling="by_key", probability=probability)
        assert found.rate.ci_low <= 0.31 <= found.rate.ci_high < 1, found.refusal
        heavy = np.where(np.arange(1500) == int(np.flatnonzero(rare)[0]), 0.0005, probability)
        more = corrected_rate(said, np.where(heavy == 0.0005, 1.0, label), sampling="by_key", probability=heavy)
        assert more.rate.ci_low <= more.rate.estimate <= more.rate.ci_high, more.refusal


def test_labels_that_fall_short_of_all_items_allow_for_a_kind_unseen_by_what_they_lack():
    """Weights of labels count against each other; that they add up to 94% of the items, no error from all, widens."""
    word = np.tile([1.0] * 3 + [0.0] * 7, 40)
    label = np.where(np.arange(400) < 100, word, np.nan)
    drawn = np.where(np.arange(400) < 100, np.tile([0.2, 0.2, 1 / 3, 0.2, 1 / 3], 80), np.nan)
    full = np.nansum(1 / drawn) / 400
    whole, short = (
        corrected_rate(word, label, sampling="by_key", probability=drawn * full / share) for share in (1.0, 0.94)
    )
    assert short.rate.estimate == pytest.approx(whole.rate.estimate)
    for before, after in ((whole.rate, short.rate), (whole.labels_alone, short.labels_alone)):
        assert after.ci_low == pytest.approx(0.94 * before.ci_low)
        assert after.ci_high == pytest.approx(0.94 * before.ci_high + 0.06)


@pytest.mark.slow
@pytest.mark.parametrize(("n_labels", "share"), [(150, 0.1), (300, 0.06), (300, 0.1)])
def test_a_small_kind_that_labels_seldom_show_is_covered_though_their_own_probabilities_do_not_betray_it(
    n_labels, share
):
    """A tenth of the items or less fail in .9 and have a label in a quarter of draws: .86 to .91 held before."""
    rng, held = np.random.default_rng(6), []
    for _ in range(400):
        rare = rng.random(3000) < share
        failed = rng.random(3000) < np.where(rare, 0.9, 0.2)
        said = np.where(rng.random(3000) < 0.8, failed, ~failed).astype(float)
        chance = np.where(rare, 0.3 / share, (n_labels - 0.3) / (1 - share)) / 3000
        asked = rng.random(3000) < chance
        label, probability = (np.where(asked, of, np.nan) for of in (failed, chance))
        rate = corrected_rate(said, label, sampling="by_key", probability=probability).rate
        held.append(rate.ci_low <= share * 0.9 + (1 - share) * 0.2 <= rate.ci_high)
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / 400)


def test_all_differences_of_three_rates_hold_together_at_a_third_of_the_error():
    assert [pairwise_level(n) for n in (1, 2, 3)] == pytest.approx([0.95, 0.95, 1 - 0.05 / 3])


def test_an_item_that_is_its_own_cluster_is_worth_one():
    label = np.tile([1.0, 0.0, 0.0], 8)
    for groups, is_alone in ((np.arange(24), True), (np.arange(24) // 2, False)):
        sample = LabelledSample(np.zeros(24, int), label, np.ones(24), groups)
        worth = eff_per_item(sample, label - label.mean(), np.ones(24, dtype=bool))
        assert (worth == 1) == is_alone
    one = LabelledSample(np.zeros(24, int), label, np.ones(24), np.zeros(24, int))
    assert eff_per_item(one, label - label.mean(), np.ones(24, dtype=bool)) == 1 / 24  # as if all items were alike


def test_labels_of_one_class_count_by_their_weights():
    """Those of half the weight all fail, so that their share, .5, is far above the rate: the interval lay above it."""
    weight, label = np.repeat([2.0, 1.0, 20.0], [150, 150, 20]), np.repeat([0.0, 1.0, 0.0], [150, 150, 20])
    item = np.zeros(label.size, dtype=int)
    sample = LabelledSample(item, label, weight, np.arange(label.size), classes=np.repeat([0, 1], [300, 20]))
    estimate, low, high = post_stratified_interval(sample)
    assert estimate == pytest.approx(150 / 850)
    assert estimate - low == pytest.approx(high - estimate, rel=0.6)


def test_bets_on_equal_labels_win_what_a_formula_says_and_weights_that_add_up_to_too_many_are_refused():
    """All 40 items labelled, 30 failing: mean over b of (1 + b (1/p - 1))^30 (1 - b)^10 reaches 40 at the lower end."""
    sample = LabelledSample(np.zeros(40, int), np.repeat([1.0, 0.0], [30, 10]), np.ones(40), np.arange(40))
    estimate, low, high = rate_by_bets(sample)
    bets = 0.5 ** np.arange(1.0, 21)
    assert np.mean((1 + bets * (1 / low - 1)) ** 30 * (1 - bets) ** 10) == pytest.approx(40, rel=1e-5)
    assert np.mean((1 + bets * (1 / (1 - high) - 1)) ** 10 * (1 - bets) ** 30) == pytest.approx(40, rel=1e-5)
    assert estimate == 0.75
    label, said = np.r_[np.tile([1.0, 0.0], 100), np.full(200, np.nan)], np.tile([1.0, 0.0], 200)
    probability = np.r_[np.full(10, 0.001), np.full(190, 0.1), np.full(200, np.nan)]
    found = corrected_rate(said, label, sampling="by_key", probability=probability)
    assert "more items than there are" in found.refusal


def test_the_rate_had_failures_been_labelled_twice_as_often_is_the_true_one_where_they_were():
    rng = np.random.default_rng(3)
    truth = (rng.random(20_000) < 0.3).astype(float)
    verdict = np.where(rng.random(truth.size) < 0.3, 1 - truth, truth)
    label = np.where(rng.random(truth.size) < np.where(truth == 1, 0.4, 0.2), truth, np.nan)
    found = corrected_rate(verdict, label, sampling="random", draw_known=True)
    assert found.rate.ci_low > truth.mean()
    assert found.if_twice == pytest.approx(truth.mean(), abs=0.015)
    most = np.where(np.arange(truth.size) % 100, truth, np.nan)
    nearly = corrected_rate(verdict, most, sampling="random", draw_known=True)
    assert np.nansum(most) / truth.size <= nearly.if_twice <= truth.mean() + 0.001
    assert f"{found.if_twice:.0%}" in if_twice(found)
    by_verdict = corrected_rate(verdict, label, sampling="by_judge_verdict", draw_known=True)
    assert [if_twice(each) for each in (by_verdict, corrected_rate(verdict, truth, sampling="random"))] == ["", ""]


def test_agents_have_rates_of_their_own_differences_and_ranks_and_all_items_a_rate_together():
    rng = np.random.default_rng(5)
    agents = np.array(["b", "a", "c", None] * 300, dtype=object)
    truth = (rng.random(1200) < np.tile([0.1, 0.5, 0.5, 0.3], 300)).astype(float)
    verdict = np.where(rng.random(1200) < 0.9, truth, 1 - truth)
    label, asked = np.where(rng.random(1200) < 0.5, truth, NONE), np.arange(1200) >= 40

    def rate(rows, level):
        return corrected_rate(verdict[rows], label[rows], sampling="random", draw_known=True, ci_level=level)

    found = corrected_by_agent(rate, agents, asked)
    assert found.overall.rate == rate(asked, 0.95).rate  # items of no named agent count here
    assert found.agents == ("a", "b", "c")
    assert found.by_agent["b"].rate == rate(asked & (agents == "b"), 0.95).rate
    (one, other, gap), *_ = found.differences
    assert (one, other) == ("a", "b")
    assert gap.estimate == found.by_agent["a"].rate.estimate - found.by_agent["b"].rate.estimate
    ranks = [(name, ranks) for name, _, ranks in found.listed]
    assert ranks == [(ALL_AGENTS, ""), ("a", "1 to 2"), ("b", "3"), ("c", "1 to 2")]
    plain = found.to_dict()
    assert plain["differences"][0]["difference"] == list(gap.in_short)
    b = plain["by_agent"]["b"]
    assert (b["n_items"], b["n_labelled"]) == (290, (~np.isnan(label) & asked & (agents == "b")).sum())
    alone = corrected_by_agent(rate, np.where(agents == "a", agents, None), asked)
    assert [(name, ranks) for name, _, ranks in alone.listed] == [(ALL_AGENTS, "")]
