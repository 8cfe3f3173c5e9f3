"""Plans: the models do what they say, the sizes found agree with large-sample theory, and refusals are counted."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t
from stats.labelled_worlds import World

from axisjudge.checks import InputError, TooLittle
from axisjudge.stats.agreement.chance_corrected import cohen_kappa, gwet_ac1
from axisjudge.stats.comparisons.paired import paired_sign_flip
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.planning import (
    StudyQuestion,
    allocate_budget,
    crossing,
    half_widths,
    kappa_panel,
    latent_correlation,
    one_more_judged,
    panel_error,
    plan_agreement,
    plan_corrected_rate,
    plan_stand_in,
    powers,
    tasks_for_change,
)
from axisjudge.stats.proportions import clustered_proportion


@pytest.mark.parametrize(("prevalence", "kappa"), [(0.05, 0.4), (0.2, 0.6), (0.5, 0.8)])
def test_the_panel_has_the_kappa_and_prevalence_that_it_was_asked_for(prevalence, kappa):
    ratings, tasks = kappa_panel(40_000, 2, np.random.default_rng(1), prevalence=prevalence, kappa=kappa)
    assert ratings.mean() == pytest.approx(prevalence, abs=0.005)
    assert cohen_kappa(ratings, categories=[0, 1]).estimate == pytest.approx(kappa, abs=0.02)
    assert np.bincount(tasks).tolist() == [2] * 40_000
    if prevalence == 0.5:  # items of a task share .4 of what judges share: 1/4 + asin(.4 rho) / (2 pi)
        both = (ratings[::2, 0] * ratings[1::2, 1]).mean()
        assert both == pytest.approx(0.25 + math.asin(0.4 * latent_correlation(0.5, kappa)) / (2 * math.pi), abs=0.006)


@pytest.mark.parametrize("kappa", [0.0, 0.6, 0.95, 0.999])
def test_half_a_prevalence_has_a_closed_form(kappa):
    """At prevalence 1/2 both say incorrect with probability 1/4 + asin(rho) / (2 pi) (Sheppard 1899)."""
    rho = latent_correlation(0.5, kappa)
    assert 4 * (0.25 + math.asin(rho) / (2 * math.pi)) - 1 == pytest.approx(kappa, abs=1e-6)


def test_tasks_of_one_item_agree_with_the_large_sample_error_of_kappa():
    """Fleiss, Cohen and Everitt (1969), doi:10.1037/h0028106, two by two with equal margins."""
    p, kappa = 0.3, 0.6
    both = p * p + kappa * p * (1 - p)
    table = np.array([[both, p - both], [p - both, 1 - 2 * p + both]])
    margin, chance = np.array([p, 1 - p]), p * p + (1 - p) ** 2
    inner = sum(table[i, i] * (1 - 2 * margin[i] * (1 - kappa)) ** 2 for i in range(2))
    cross = (1 - kappa) ** 2 * sum(table[i, j] * (margin[i] + margin[j]) ** 2 for i, j in ((0, 1), (1, 0)))
    variance = (inner + cross - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2
    expected = variance * (1.96 / 0.1) ** 2
    found = plan_agreement(0.1, kappa=kappa, prevalence=p, sizes=(80, 160, 320, 640))
    assert expected < found.needed < 1.25 * expected  # four of five studies meet it, not every other


def test_labels_agree_with_the_variance_of_post_stratification():
    p, right, n_judged = 0.2, 0.9, 2000
    q = p * right + (1 - p) * (1 - right)
    within = sum(share * rate * (1 - rate) for share, rate in ((q, p * right / q), (1 - q, p * (1 - right) / (1 - q))))
    between = p * (1 - p) - within
    expected = within / ((0.05 / 1.96) ** 2 - between / n_judged)
    found = plan_corrected_rate(0.05, prevalence=p, n_judged=n_judged, sizes=(40, 80, 160, 320))
    assert expected < found.needed < 1.3 * expected


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_a_plan_of_labels_keeps_its_half_width_with_one_run_of_each_task_and_more_labels_of_whole_tasks(whole):
    """1,000 runs in tasks of 4 whose failures share a correlation of .3 (probit), at two shares of failures.

    Of whole tasks the labels are as many times more as the design effect of 40 such tasks says; four of five studies
    keep the half width to within a twentieth, and all intervals cover. Without the design effect: wider by a quarter.
    """
    for target, rates in ((0.06, (0.3, 0.85, 0.85)), (0.05, (0.1, 0.8, 0.95))):
        named = dict(zip(("prevalence", "sensitivity", "specificity"), rates, strict=True))
        needed = plan_corrected_rate(target, **named, sizes=(40, 80, 160, 320), rng=0).needed
        halves, covered, effects = [], [], []
        for seed in range(150):
            rng = np.random.default_rng(seed)
            _, failed, tasks, _ = World(160, 0, *rates, per_task=4, icc=0.3).draw(rng)
            effects.append(clustered_proportion(failed, tasks).design_effect)
        for seed in range(150):
            rng = np.random.default_rng(1000 + seed)
            verdict, failed, tasks, _ = World(1000, 0, *rates, per_task=4, icc=0.3).draw(rng)
            order = rng.permutation(250)
            of_each = order[:needed] * 4 + rng.integers(0, 4, min(needed, 250))
            chosen = np.isin(tasks, order[: round(needed * np.median(effects) / 4)]) if whole else of_each
            label = np.full(1000, np.nan)
            label[chosen] = failed[chosen]
            rate = corrected_rate(verdict, label, sampling="random", clusters=tasks, draw_known=True, rng=0).rate
            halves.append((rate.ci_high - rate.ci_low) / 2)
            covered.append(rate.ci_low <= rates[0] <= rate.ci_high)
        assert np.quantile(halves, 0.8) <= 1.06 * target
        assert np.mean(covered) >= 0.91  # .95 less two errors of 150 draws


def test_a_pilot_is_drawn_from_by_whole_tasks():
    ratings, tasks = kappa_panel(60, 4, np.random.default_rng(2), prevalence=0.3, kappa=0.6)
    found = plan_agreement(0.12, pilot=(ratings, tasks), sizes=(20, 40, 80, 160))
    stated = plan_agreement(0.12, kappa=0.6, prevalence=0.3, per_task=4, sizes=(20, 40, 80, 160))
    assert found.assumed["pilot tasks"] == 60
    assert found.needed == pytest.approx(stated.needed, rel=0.4)
    assert not found.of_power
    with pytest.raises(InputError, match="needs 10 tasks or more"):
        plan_agreement(0.1, pilot=(ratings[:20], tasks[:20]))


def test_ac1_is_planned_with_all_words_that_judges_may_use():
    """The report counts four words, and AC1 with four has a narrower interval than with the two that occur."""
    declared, observed = (
        plan_agreement(0.03, coefficient="gwet_ac1", n_categories=count, sizes=(320,)).points[0].half_width
        for count in (4, 2)
    )
    ratings, tasks = kappa_panel(320, 1, np.random.default_rng(0), prevalence=0.2, kappa=0.6)
    reported = gwet_ac1(ratings, categories=range(4), clusters=tasks)
    assert declared == pytest.approx((reported.ci_high - reported.ci_low) / 2, rel=0.1)
    assert declared < 0.8 * observed


def test_a_coefficient_of_two_raters_is_planned_for_the_first_two_of_a_pilot():
    ratings, tasks = kappa_panel(40, 4, np.random.default_rng(4), prevalence=0.3, kappa=0.6, n_raters=3)
    three = plan_agreement(0.2, pilot=(ratings, tasks), sizes=(20, 40))
    assert three == plan_agreement(0.2, pilot=(ratings[:, :2], tasks), sizes=(20, 40))


def test_no_simulated_draw_is_refused_as_one_that_was_not_at_random():
    """A program draws the labels: tests of whether people drew them at random would refuse some by chance."""
    assert plan_corrected_rate(0.02, sizes=(80,), replicates=150).points[0].refused == 0


def test_what_is_planned_for_is_the_half_width_that_four_of_five_studies_keep():
    """Of .1 to .5 that is .42, SD sqrt(.02); a normal's 80% quantile errs by sqrt(.16) / phi = 1.43 SD / sqrt n."""
    given = iter([0.1, 0.2, 0.3, 0.4, 0.5] + [math.nan] + [0.3] * 4 + [0.08] * 5 + [0.08] * 5)

    def study(n, source):
        half = next(given)
        return Estimate(estimate=0.5, ci_low=0.5 - half, ci_high=0.5 + half, n_items=n, n_clusters=n)

    found = half_widths(StudyQuestion("a share", "item", 0.1, {}), study, (80, 10, 20, 40), 5, None)
    assert [point.n for point in found.points] == [10, 20, 40]  # .08 is four fifths of what is wanted
    first, lost, _ = found.points
    assert (first.half_width, first.spread) == pytest.approx((0.42, math.sqrt(0.02)))
    assert first.error == pytest.approx(math.sqrt(0.16) / norm.pdf(norm.ppf(0.8)) * math.sqrt(0.02 / 5), rel=1e-3)
    assert (lost.refused, lost.half_width) == pytest.approx((0.2, 0.3))  # and it takes no part in the size
    assert found.needed == math.ceil(10 * 4 ** (math.log(0.42 / 0.1) / math.log(0.42 / 0.08)))


def test_a_power_is_sought_until_it_is_well_above_the_target_or_lost_again():
    def found(*shares, target=0.8):
        of = dict(zip((10, 20, 40, 80), shares, strict=False))
        given = {n: iter([True] * round(20 * share) + [False] * 20) for n, share in of.items()}
        asked = StudyQuestion("a claim", "item", target, {})
        return powers(asked, lambda n, source: next(given[n]), list(of), 20, None)

    lost = found(0.0, 0.5, 0.0, 1.0)  # at 10 it is not won yet, at 40 it is lost
    assert ([point.power for point in lost.points], lost.needed) == ([0.0, 0.5, 0.0], None)
    risen = found(0.5, 0.85, 0.9, 1.0)  # .9 is half of what the target leaves
    assert [point.n for point in risen.points] == [10, 20, 40]
    assert risen.needed == math.ceil(10 * 2 ** (0.3 / 0.35))
    assert risen.of_power
    assert risen.points[0].error == pytest.approx(math.sqrt(0.25 / 20))
    assert lost.points[0].error == pytest.approx(math.sqrt(0.25 / 20 / 20))  # as if half a study had reached it


@pytest.mark.slow
def test_more_items_do_not_help_where_a_constant_judge_passes_too():
    found = plan_stand_in(epsilon=0.2, prevalence=0.1, sizes=(40, 160, 640))
    assert found.needed is None
    assert found.points[-1].power < 0.05
    balanced = plan_stand_in(epsilon=0.15, prevalence=0.5, sizes=(20, 40, 80, 160))
    assert 30 <= balanced.needed <= 160


def test_the_same_seed_gives_the_same_plan():
    first, second = (plan_corrected_rate(0.1, sizes=(20, 40), rng=3) for _ in range(2))
    assert first == second


def test_a_stand_in_is_planned_for_the_three_people_that_its_test_asks_for_at_least():
    """Calderon, Reichart and Dror (2025): no fewer than three annotators."""
    assert plan_stand_in(sizes=(30,), replicates=20).assumed["people"] == 3


def test_the_size_lies_straight_between_two_on_the_log_log_scale():
    assert crossing([10, 40], [0.4, 0.2], 0.2 * math.sqrt(2)) == 20
    assert crossing([10, 40], [0.4, 0.2], 0.5) == 10
    assert crossing([10, 40], [0.4, 0.2], 0.1) is None
    assert crossing([], [], 0.1) is None


def test_no_other_split_of_a_budget_is_narrower():
    """W and B by hand: of 26 calls in 100 of which 18/26 are right, and 2 failures among 74."""
    within = 0.26 * (18 / 26) * (8 / 26) + 0.74 * (2 / 74) * (72 / 74)
    between = 0.16 - within
    found = allocate_budget(500, usd_per_label=2, usd_per_run=0.05, prevalence=0.2, sensitivity=0.9, specificity=0.9)
    assert 500 - 2.05 <= 2 * found.labels + 0.05 * found.judged <= 500
    judged = np.arange(100, 9000)
    labels = (500 - 0.05 * judged) / 2
    half = 1.959964 * np.sqrt(within / labels + between / judged)[labels <= judged].min()
    assert found.half_width == pytest.approx(half, rel=0.005)
    prices = {"usd_per_label": 2, "usd_per_run": 3}
    dear = allocate_budget(500, **prices, prevalence=0.2, sensitivity=0.9, specificity=0.9)
    assert (dear.labels, dear.judged) == (250, 0)
    two = allocate_budget(4, usd_per_label=2, usd_per_run=0.05, prevalence=0.2, sensitivity=0.9, specificity=0.9)
    assert (two.labels, two.judged) == (2, 0)  # the best split would label one
    with pytest.raises(InputError, match="two labels"):
        allocate_budget(3, **prices, prevalence=0.2, sensitivity=0.9, specificity=0.9)


def test_a_look_needs_the_same_tasks_whichever_way_differences_go():
    """By hand: 10 of 40 tasks of one item differ, the deviation is .5; t on 39 x 3 / 4 degrees, z^2 / 2 more tasks."""
    first, second = np.zeros(40), np.r_[np.ones(10), np.zeros(30)]
    looked = tasks_for_change(first, second, difference=0.2)
    reach = t.ppf(0.975, 39 * 0.75) + t.ppf(0.8, 39 * 0.75)
    assert looked.needed == math.ceil((reach * 0.5 / 0.2) ** 2 + 1.959964**2 / 2)
    flipped = np.arange(40) % 3 == 0
    both = np.where(flipped, second, first), np.where(flipped, first, second)
    assert tasks_for_change(*both, difference=0.2) == looked
    assert tasks_for_change(first, second, difference=0.2, most=45).needed == 45
    assert tasks_for_change(first, first, difference=0.2).needed == 40
    with pytest.raises(TooLittle, match="10 or more"):
        tasks_for_change(first[:9], second[:9], difference=0.2)


def test_tasks_of_unlike_sizes_and_hardly_any_difference_at_a_look():
    """D_c over the mean size of 3; where one task of 40 differs, kurtosis 40 leaves 3 of 39 degrees, and 5 are kept."""
    task = np.repeat(np.arange(20), [2, 4] * 10)
    second = np.isin(task, [0, 1, 2]).astype(float)
    found = tasks_for_change(np.zeros(60), second, task, difference=0.2, power=0.9, level=0.1)
    squares = np.array([2, 4, 2] + [0] * 17) ** 2 / 9
    assert found.deviation == pytest.approx(math.sqrt(squares.mean()))
    degrees = max(5, 19 * 3 * squares.sum() ** 2 / (20 * (squares**2).sum()))
    reach = t.ppf(0.95, degrees) + t.ppf(0.9, degrees)
    assert found.needed == math.ceil((reach * found.deviation / 0.2) ** 2 + norm.ppf(0.95) ** 2 / 2)
    one = tasks_for_change(np.zeros(40), np.arange(40) == 0, difference=0.05)
    assert one.needed == math.ceil((t.ppf(0.975, 5) + t.ppf(0.8, 5)) ** 2 / 40 / 0.0025 + norm.ppf(0.975) ** 2 / 2)


@pytest.mark.slow
def test_a_look_in_the_middle_spends_no_level_and_reaches_the_power():
    """20 tasks of 1 to 8 items, a look, then as many as it says: probit verdicts with and without a change."""
    rng, rejected = np.random.default_rng(3), {}
    for shift in (0.0, 0.1):
        said = []
        for _ in range(400):
            task = np.repeat(np.arange(400), rng.integers(1, 9, 400))
            shared = 0.6 * rng.standard_normal(400)[task] + 0.5 * rng.standard_normal(task.size)
            own = [0.4 * rng.standard_normal(400)[task] + rng.standard_normal(task.size) for _ in range(2)]
            deviation = math.sqrt(0.36 + 0.25 + 0.16 + 1)
            cuts = deviation * norm.ppf([0.4, 0.4 + shift])
            before, after = ((shared + each < cut).astype(float) for each, cut in zip(own, cuts, strict=True))
            seen = task < 20
            n = tasks_for_change(before[seen], after[seen], task[seen], difference=0.1, most=400).needed
            kept = task < n
            change = np.bincount(task[kept], weights=(after - before)[kept])
            said.append(paired_sign_flip(change, rng=rng, draws=999)[0] <= 0.05)
        rejected[shift] = np.mean(said)
    assert rejected[0.0] <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
    assert rejected[0.1] >= 0.8 - 2 * math.sqrt(0.8 * 0.2 / 400)


def test_judges_and_repeats_share_the_error_as_defined():
    assert panel_error(0.01, 0.03, 0.06, 2, 3) == pytest.approx(math.sqrt((0.01 + 0.03 + 0.02) / 2))
    assert panel_error(0.01, 0.03, 0.06, 2, 3, occasion=0.02) == pytest.approx(math.sqrt(0.08 / 2))
    assert panel_error(-0.05, 0.03, 0.0, 2, 3) == 0
    with pytest.raises(InputError, match="n_judges"):
        panel_error(0.1, 0.1, 0.1, 0, 1)


def test_bad_assumptions_are_named():
    with pytest.raises(InputError, match="kappa"):
        plan_agreement(0.1, kappa=1.0)
    with pytest.raises(InputError, match="prevalence"):
        plan_corrected_rate(0.1, prevalence=0.0)
    with pytest.raises(InputError, match="n_judged"):
        plan_corrected_rate(0.1, n_judged=5)


def test_all_judged_runs_may_be_labelled_and_no_more():
    planned = plan_corrected_rate(0.1, n_judged=40, sizes=(20, 40, 41), replicates=20, rng=0)
    assert [point.n for point in planned.points] == [20, 40]


def test_one_more_judged_run_is_worth_the_slope_of_the_two_phase_variance():
    how = {"prevalence": 0.2, "sensitivity": 0.9, "specificity": 0.9}
    q = 0.2 * 0.9 + 0.8 * 0.1
    within = q * (0.18 / q) * (1 - 0.18 / q) + (1 - q) * (0.02 / (1 - q)) * (1 - 0.02 / (1 - q))

    def half_width(n_judged, n_labels=130):
        return 1.959963984540054 * math.sqrt(within / n_labels + (0.16 - within) / n_judged)

    slope = half_width(1000) - half_width(1001)
    assert one_more_judged(half_width(1000), **how, n_judged=1000) == pytest.approx(slope, rel=2e-3)
    coin = one_more_judged(0.05, prevalence=0.2, sensitivity=0.5, specificity=0.5, n_judged=1000)
    assert coin == pytest.approx(0, abs=1e-12)  # a judge that tells nothing apart buys nothing
