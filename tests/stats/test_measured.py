"""Intraclass correlations and interval alpha: published values, independent counts, clusters, and reasons."""

import krippendorff
import numpy as np
import pytest
from scipy import stats

from axisjudge.checks import InputError
from axisjudge.stats.agreement.chance_corrected import krippendorff_alpha
from axisjudge.stats.agreement.measured import FORMS, interval_alpha, intraclass_correlation
from axisjudge.stats.clusters import clustered_variance

#: Six targets, four judges: Shrout and Fleiss (1979), table 2.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def scores(n=60, k=4, *, seed=1, missing=0.0, clusters=20):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % clusters
    table = rng.normal(size=clusters)[group, None] + rng.normal(size=(n, 1)) + rng.normal(size=(n, k))
    table[rng.random((n, k)) < missing] = np.nan
    return table, group


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    [
        ("1", 0.17, -0.13, 0.72),
        ("A,1", 0.29, 0.02, 0.76),
        ("C,1", 0.71, 0.34, 0.95),
        ("k", 0.44, -0.88, 0.91),
        ("A,k", 0.62, 0.07, 0.93),
        ("C,k", 0.91, 0.68, 0.99),
    ],
)
def test_the_published_values_of_all_six_forms(form, value, low, high):
    """Values: Shrout and Fleiss (1979), table 4; intervals: the F intervals that R's psych prints for these data."""
    found = intraclass_correlation(SHROUT_FLEISS, form=form)
    assert (found.estimate, found.ci_low, found.ci_high) == pytest.approx((value, low, high), abs=0.005)
    assert found.label == f"ICC({form})"


def test_unequal_numbers_of_ratings_are_a_one_way_analysis_of_variance():
    table, _ = scores(missing=0.3)
    groups = [row[~np.isnan(row)] for row in table if (~np.isnan(row)).sum() >= 2]
    sizes, total = np.array([len(group) for group in groups]), np.concatenate(groups)
    between = sum(len(group) * (group.mean() - total.mean()) ** 2 for group in groups) / (len(groups) - 1)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (total.size - len(groups))
    k = (total.size - (sizes**2).sum() / total.size) / (len(groups) - 1)
    found = intraclass_correlation(table, form="1")
    assert found.estimate == pytest.approx((between - within) / (between + (k - 1) * within))
    assert found.n_items == len(groups)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_interval_alpha_is_krippendorff_s(missing):
    table, group = scores(missing=missing)
    found = interval_alpha(table, clusters=group)
    assert found.estimate == pytest.approx(krippendorff.alpha(table.T, level_of_measurement="interval"))
    assert found.estimate == pytest.approx(krippendorff_alpha(table, level="interval").estimate)
    assert (found.n_clusters, found.cluster_unit) == (20, "cluster")


def test_numbers_in_another_unit_agree_alike():
    table, group = scores(missing=0.2)
    for statistic in (interval_alpha, lambda *a, **k: intraclass_correlation(*a, form="1", **k)):
        here, there = statistic(table, clusters=group), statistic(1e6 + 1e-3 * table, clusters=group)
        assert (here.estimate, here.ci_low, here.ci_high) == pytest.approx(
            (there.estimate, there.ci_low, there.ci_high), abs=1e-6
        )


@pytest.mark.parametrize("statistic", [interval_alpha, intraclass_correlation])
def test_clustered_intervals_cover(statistic):
    """Components of variance .36 (cluster), .64 (item) and 1 (rest): both are 1/2 in the population."""
    rng, hits = np.random.default_rng(5), []
    group = np.repeat(np.arange(25), 4)
    for _ in range(400):
        item = 0.6 * rng.normal(size=25)[group] + 0.8 * rng.normal(size=100)
        found = statistic(item[:, None] + rng.normal(size=(100, 3)), clusters=group)
        hits.append(found.ci_low <= 0.5 <= found.ci_high)
    assert np.mean(hits) >= 0.915  # .94 in 1,000, less 2 standard errors


@pytest.mark.parametrize("statistic", [interval_alpha, intraclass_correlation])
def test_where_raters_have_nothing_in_common_on_a_kind_of_task_twenty_tasks_cover_and_fewer_are_refused(statistic):
    """A fifth of tasks are of the kind; a jackknife with t on Kish's clusters less one covered .85 of 12, .92 of 20."""

    def world(n_tasks):
        task = np.repeat(np.arange(n_tasks), rng.integers(2, 9, n_tasks))
        apart = (rng.random(n_tasks) < 0.2)[task]
        first, other, noise = rng.beta(0.8, 1.6, task.size), rng.beta(0.8, 1.6, task.size), rng.normal(size=task.size)
        return np.column_stack([first, np.where(apart, other, first + 0.1 * noise)]), task

    rng = np.random.default_rng(2)
    truth = statistic(world(20_000)[0]).estimate
    found = [statistic(scores, clusters=task) for scores, task in (world(20) for _ in range(300))]
    assert np.mean([each.ci_low <= truth <= each.ci_high for each in found]) >= 0.93 - 2 * 0.0147
    scores, task = world(12)
    assert "too few for an interval" in statistic(scores, clusters=task).reason


def test_what_is_undefined_says_why():
    alike = [[3.0, 3.0]] * 12
    assert "nothing varies" in intraclass_correlation(alike).reason
    assert "chance alone" in interval_alpha(alike).reason
    assert "no item has ratings of two" in interval_alpha([[1.0, np.nan]]).reason
    assert (
        "1 item has ratings of all raters, and two are needed"
        in intraclass_correlation([[1.0, 2.0], [1.0, np.nan]]).reason
    )
    assert "too few for an interval" in intraclass_correlation(SHROUT_FLEISS, clusters=[0, 0, 1, 1, 2, 2]).reason
    perfect = intraclass_correlation([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    assert (perfect.estimate, perfect.reason[:20]) == (1.0, "agreement is perfect")
    with pytest.raises(InputError, match="form: must be one of"):
        intraclass_correlation(SHROUT_FLEISS, form="2,1")
    assert len(FORMS) == 6


@pytest.mark.parametrize(
    ("missing", "statistic"),
    [
        (0.2, interval_alpha),
        (0.2, lambda table, **how: intraclass_correlation(table, form="1", **how)),
        (0, lambda table, **how: intraclass_correlation(table, form="C,1", **how)),
        (0, intraclass_correlation),
    ],
)
def test_an_interval_rests_on_what_each_item_moves_on_fisher_s_z(missing, statistic):
    """By leaving every item out in turn; from 20 clusters on."""
    table, group = scores(n=42, k=3, missing=missing, clusters=21)
    found, kept = statistic(table, clusters=group, ci_level=0.9), (~np.isnan(table)).sum(axis=1) >= 2
    without = [statistic(np.delete(table, at, axis=0)).estimate for at in np.flatnonzero(kept)]
    z, n = np.arctanh(without), kept.sum()
    codes = np.unique(group[kept], return_inverse=True)[1]
    spread = clustered_variance((z.mean() - z) * (n - 1) / n, codes, prior=0.3, rare=True)
    below, above = spread.lean.quantiles(stats.t.ppf(0.95, spread.degrees))
    ends = np.tanh(np.arctanh(found.estimate) + np.array([-below, above]) * spread.error)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    few, enough = (statistic(np.nan_to_num(table[: 2 * each]), clusters=group[: 2 * each] % each) for each in (19, 20))
    assert ("19 clusters" in few.reason, enough.reason) == (True, "")


@pytest.mark.parametrize(("form", "single"), [("k", "1"), ("A,k", "A,1"), ("C,k", "C,1")])
def test_the_mean_of_k_ratings_is_stepped_up_from_one(form, single):
    """Spearman and Brown: k r / (1 + (k - 1) r), of the value and both ends."""
    table, _ = scores(n=12, k=3)
    one, mean = (intraclass_correlation(table, form=each, ci_level=0.8) for each in (single, form))
    for end in ("estimate", "ci_low", "ci_high"):
        r = getattr(one, end)
        assert getattr(mean, end) == pytest.approx(3 * r / (1 + 2 * r))
