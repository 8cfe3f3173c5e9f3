"""Clustered intervals over ragged clusters: coverage where the truth is planted, and more data never refused.

The rule (../shared/spec/definitions.md): mean coverage at least .95, minimum at least .93 over the grid. Outcomes share
a normal effect of their cluster on the probit scale, so that the true share is `share`; two raters' latent scores share
the cluster's and the item's effects, so that the true coefficients are those of a bivariate normal (`probit_panels`).
"""

import csv
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from stats.held_back import resampled_votes, votes
from stats.probit_panels import true_coefficient
from stats.ragged_table import MEASURED, measured, summary, table
from stats.ragged_worlds import SIZES, keyed, outcomes
from stats.small_studies_table import FINDINGS
from stats.small_studies_table import MEASURED as SMALL

from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.soft import case_weighted
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.proportions import clustered_mean, clustered_proportion
from axisjudge.stats.repeats import self_agreement

COEFFICIENTS = ["percent_agreement", "cohen_kappa", "gwet_ac1", "krippendorff_alpha"]


def held(found, truth):
    return math.nan if math.isnan(found.ci_low) else float(found.ci_low <= truth <= found.ci_high)


def share_coverage(sizes, share, icc, replicates):
    rng = np.random.default_rng([len(sizes), round(100 * share), round(100 * icc)])
    return np.mean([held(clustered_proportion(*outcomes(sizes, share, icc, rng)), share) for _ in range(replicates)])


def change_coverage(sizes, icc, replicates):
    """Changes of -1, 0 and 1 with mean .05, from a latent normal with the cluster's part `icc`."""
    rng = np.random.default_rng([len(sizes), round(100 * icc)])
    task = np.repeat(np.arange(len(sizes)), sizes)
    hits = []
    for _ in range(replicates):
        latent = math.sqrt(icc) * rng.standard_normal(len(sizes))[task]
        rank = ndtr(latent + math.sqrt(1 - icc) * rng.standard_normal(task.size))
        hits.append(held(clustered_mean(np.where(rank < 0.15, -1.0, np.where(rank > 0.8, 1.0, 0.0)), task), 0.05))
    return np.mean(hits)


def coefficient_coverage(sizes, prevalence, replicates, n_raters=2, names=COEFFICIENTS):
    rng = np.random.default_rng([len(sizes), round(100 * prevalence), n_raters])
    task = np.repeat(np.arange(len(sizes)), sizes)
    truth = {name: true_coefficient(name, prevalence, n_raters=n_raters, correlation=0.6) for name in names}
    hits = {name: [] for name in names}
    for _ in range(replicates):
        score = math.sqrt(0.2) * rng.standard_normal(len(sizes))[task][:, None]
        score = score + math.sqrt(0.4) * rng.standard_normal((task.size, 1))
        own = rng.standard_normal((len(sizes), n_raters))[task]  # a rater's own view of the task
        score = score + math.sqrt(0.2) * own + math.sqrt(0.2) * rng.standard_normal((task.size, n_raters))
        ratings = (score < ndtri(prevalence)).astype(float)
        for name, found in agreement_coefficients(ratings, names, categories=[0, 1], clusters=task, rng=rng).items():
            hits[name].append(held(found, truth[name]))
    return {name: float(np.nanmean(hit)) for name, hit in hits.items()}


@pytest.mark.parametrize("name", ["12 of 60..2", "25 of 40..4"])
def test_shares_and_changes_of_ragged_tasks_are_covered(name):
    found = [share_coverage(SIZES[name], share, 0.3, 400) for share in (0.3, 0.9)]
    found.append(change_coverage(SIZES[name], 0.3, 400))
    assert min(found) >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 400)


@pytest.mark.slow
def test_agreement_over_ragged_tasks_is_covered():
    found = coefficient_coverage(SIZES["12 of 60..2"], 0.3, 150)
    assert min(found.values()) >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 150)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_shares_and_changes_over_the_grid():
    cells = list(itertools.product(SIZES, (0.05, 0.15, 0.3, 0.5, 0.95), (0.02, 0.1, 0.2, 0.3)))
    shares = [share_coverage(SIZES[name], share, icc, 2000) for name, share, icc in cells]
    changes = [
        change_coverage(SIZES[name], icc, 2000) for name in SIZES if len(SIZES[name]) >= 10 for icc in (0.02, 0.3)
    ]
    for found in (shares, changes):
        assert np.mean(found) >= 0.95
        assert min(found) >= 0.93 - 0.012  # 2,000 studies: two Monte Carlo errors


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ac1_of_twenty_redrawn_queries_of_real_steps_is_covered():
    """Two of the fifty hotpotqa queries hold 4 to 5 deviations: without both .86 of studies were covered."""
    judges, task = votes("hotpotqa", "step")
    for rater, words in judges.items():
        truth = agreement_coefficients(words, ["gwet_ac1"], categories=range(3), rng=0)["gwet_ac1"].estimate
        rng = np.random.default_rng(len(rater))
        ends = [resampled_votes(words, task, "gwet_ac1", 20, rng)["ours"] for _ in range(400)]
        covered = np.mean([low <= truth <= high for low, high in ends])
        assert covered >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 400), rater


@pytest.mark.parametrize("rater", ["Qwen3-30B-A3B-Thinking-2507", "Qwen3-4B-Thinking-2507"])
def test_ac2_of_ten_redrawn_queries_allows_for_a_far_word_that_none_of_them_was_given(rater):
    """A twentieth of tau2 finals are two words apart: of words seen alone .885 and .92 of studies were covered."""
    judges, task = votes("tau2", "final")
    name, rng = "gwet_ac2_quadratic", np.random.default_rng(3)
    truth = agreement_coefficients(judges[rater], [name], categories=range(3), rng=0)[name].estimate
    ends = [resampled_votes(judges[rater], task, name, 10, rng)["ours"] for _ in range(300)]
    assert np.mean([low <= truth <= high for low, high in ends]) >= 0.93 - 2 * 0.0147


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("n_raters", [2, 13])
def test_agreement_over_the_grid(n_raters):
    names = COEFFICIENTS if n_raters == 2 else ["fleiss_kappa", "gwet_ac1"]
    found = [
        coverage
        for name in SIZES
        for prevalence in (0.1, 0.3, 0.5)
        for coverage in coefficient_coverage(SIZES[name], prevalence, 500, n_raters, names).values()
    ]
    assert np.mean(found) >= 0.95
    assert min(found) >= 0.93 - 0.025  # 500 studies: two Monte Carlo errors


@pytest.mark.parametrize("n_raters", [2, 3, 13])
def test_more_items_and_raters_never_turn_an_interval_into_a_refusal(n_raters):
    """Every prefix of a growing study, also one that grows in a single task, has intervals once it had one."""
    rng = np.random.default_rng(n_raters)
    item = rng.standard_normal((140, 1)) + 0.5 * rng.standard_normal((140, n_raters))
    ratings, task = (item < -1.0).astype(float), np.r_[np.arange(100) // 4, np.full(40, 3)]
    names = ["fleiss_kappa", "gwet_ac1", "krippendorff_alpha"]
    for clusters in (None, task):
        given = dict.fromkeys([*names, "share"], False)
        for n in (5, 8, 12, 20, 40, 60, 98, 99, 100, 101, 120, 140):
            groups = None if clusters is None else clusters[:n]
            found = agreement_coefficients(ratings[:n], names, categories=[0, 1], clusters=groups)
            found["share"] = clustered_proportion(ratings[:n, 0], groups)
            for name, each in found.items():
                assert not (given[name] and math.isnan(each.ci_low)), (name, n, each.reason)
                given[name] |= not math.isnan(each.ci_low)
        assert all(given.values())


@pytest.mark.parametrize("n_repeats", [2, 3, 4])
def test_more_repeats_and_items_never_lose_self_agreement_its_interval(n_repeats):
    """Three repeats of eight items, or of items on which nothing flips, were refused where two were answered."""
    rng = np.random.default_rng(n_repeats)
    said = (rng.random((60, 4)) < 0.2).astype(float)
    for steady in (said, np.zeros((60, 4))):
        for n in (3, 8, 12, 60):
            found = self_agreement(steady[:n, :n_repeats]).agreement
            assert found.ci_low <= found.estimate <= found.ci_high <= 1, (n, found.reason)


def test_three_repeats_of_two_words_are_a_proportion_between_a_third_and_one():
    """The share of equal pairs is 1 or 1/3: estimate and ends are 1/3 + 2/3 of those of the share that never flips."""
    said = np.array([[0, 0, 0]] * 17 + [[0, 1, 0]] * 3)
    found, never = self_agreement(said).agreement, clustered_proportion([1.0] * 17 + [0.0] * 3)
    ends = [(each.estimate, each.ci_low, each.ci_high) for each in (found, never)]
    assert ends[0] == pytest.approx([1 / 3 + 2 / 3 * end for end in ends[1]])


def test_case_weighted_agreement_answers_at_forty_tasks_of_four_and_with_more():
    """40 x 4 items with 15% failures: the size of the design text's own wish, refused in four of five studies."""
    rng = np.random.default_rng(5)
    for n_tasks in (40, 80):
        task = np.repeat(np.arange(n_tasks), 4)
        score = rng.standard_normal((task.size, 1)) + 0.5 * rng.standard_normal((task.size, 2))
        said = (score < ndtri(0.15) * math.sqrt(1.25)).astype(float)
        found = case_weighted(said, 0.5 + 0.5 * rng.random(said.shape), clusters=task, rng=rng)
        assert found.ci_low <= found.estimate <= found.ci_high


@pytest.mark.parametrize(("n_labels", "ratio"), [(120, 10), (60, 160)])
def test_labels_drawn_by_an_uneven_key_cover(n_labels, ratio):
    rng = np.random.default_rng(6)
    found = np.array([keyed(n_labels, ratio, 0.2, rng)["ours"] for _ in range(40)])
    held = (found[:, 0] <= 0.2) & (found[:, 1] >= 0.2)
    assert held.mean() >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 40)


def test_a_kind_that_was_drawn_160_times_less_often_and_has_no_label_may_all_fail_or_none():
    probability = np.r_[np.full(100, 0.8), np.full(900, 0.005)]
    label = np.r_[np.tile([1.0, 0.0], 50), np.full(900, np.nan)]
    found = corrected_rate(np.tile([1.0, 0.0], 500), label, sampling="by_key", probability=probability)
    assert found.rate.ci_low < 0.1 * 0.5 < 0.9 + 0.1 * 0.5 < found.rate.ci_high
    assert "90% of the items" in found.warnings[0]


def test_the_measured_table_keeps_the_rule_or_refuses():
    """data/reference/coverage.csv: ours covers .95 in the mean and .93 at least, but for Monte Carlo error."""
    rows = [row for row in measured() if row.method == "ours" and row.refused < 0.9]
    assert len(rows) > 80, MEASURED
    assert np.mean([row.covered for row in rows]) >= 0.95
    assert not [row for row in rows if row.covered < 0.93 - 2 * row.error]


def test_small_studies_call_no_true_null():
    """data/reference/small_studies.csv: of 1,000 studies with nothing in them at most 5% call any one thing."""
    with SMALL.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["rules"] == "now" and row["question"] in FINDINGS]
    assert {int(row["tasks"]) for row in rows} == {5, 10, 15, 25}
    false = [row for row in rows if row["world"] == "nothing"]
    assert not [
        row for row in false if float(row["share"]) > 0.05 + 2 * math.sqrt(0.05 * 0.95 / int(row["replicates"]))
    ]
    first = "axes differ"
    called = [float(row["share"]) for row in rows if row["world"] == "differences" and row["question"] == first]
    assert called == sorted(called)


def test_the_page_quotes_the_measured_table():
    text = " ".join((Path(__file__).parents[2] / "axisjudge" / "docs" / "why.md").read_text(encoding="utf-8").split())
    quoted = re.search(
        r"`data/reference/coverage\.csv`: (\.\d+) at the least in (\d+) cells that methods were made on, "
        r"(\d+)% under \.93; (\.\d+) and (\d+)% in (\d+) held back",
        text,
    )
    assert quoted
    least, n, under, held_least, held_under, n_held = map(float, quoted.groups())
    for stated, held in (((n, least, under), False), ((n_held, held_least, held_under), True)):
        cells, covered, short = summary(held)
        assert stated == (cells, pytest.approx(covered, abs=5e-4), round(100 * short))
    small = re.search(
        r"That axes differ can be said in (\d+)% of simulated studies at (\d+) tasks x 4 agents, in (\d+)% at "
        r"(\d+), and at (\d+) never \(`data/reference/small_studies\.csv`\)",
        text,
    )
    assert small
    with SMALL.open(newline="") as file:
        told = {
            int(row["tasks"]): round(100 * float(row["share"]))
            for row in csv.DictReader(file)
            if (row["rules"], row["world"], row["question"]) == ("now", "differences", "axes differ")
        }
    first, at_first, second, at_second, never = map(int, small.groups())
    assert (first, second, 0) == (told[at_first], told[at_second], told[never])


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("what", ["share 0.3", "kappa at 0.3", "paired change", "rank sets of equal agents", "AC1"])
def test_the_table_is_what_is_measured_again(what):
    """Another run of rows gives what was written, within four Monte Carlo errors of both."""
    written = {(row.what, row.design, row.method): row for row in measured()}
    for row in table(200, [what]):
        before = written.get((row.what, row.design, row.method))
        if before is None:
            assert row.method != "ours", "a competitor may not be measured yet"
            continue
        assert abs(row.covered - before.covered) <= 4 * math.hypot(row.error, before.error), (row, before)
