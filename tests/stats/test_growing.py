"""More data never turns an answer into a refusal, for every figure that may be refused (definitions.md)."""

import math

import numpy as np
import pytest
from stats.latent.latent_worlds import study

from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.effective import coincidence_test, effective_judges
from axisjudge.stats.agreement.measured import interval_alpha, intraclass_correlation
from axisjudge.stats.agreement.pairs import overturned_agreement, paired_coefficient
from axisjudge.stats.agreement.soft import case_weighted, soft_agreement
from axisjudge.stats.alternative_annotator import alternative_annotator, failing_word
from axisjudge.stats.calibration import auroc
from axisjudge.stats.comparisons.paired import paired_change, profile_test
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.fairness import reference_ranks, stratum_shares
from axisjudge.stats.latent_panel import NoModel, latent_panel
from axisjudge.stats.latent_sampler import RatedItems
from axisjudge.stats.proportions import clustered_mean
from axisjudge.stats.reference import balanced_accuracy
from axisjudge.stats.repeats import self_agreement

RNG = np.random.default_rng(1)
N = 400
#: The first items of every study; those after them come in other ways.
FIRST = 200
ALIKE, CARRIED = np.arange(N) // 4, np.r_[np.arange(FIRST) // 4, np.full(120, 3), 50 + np.arange(80) // 4]


class Study:
    """Three judges' latent scores and verdicts, their confidences, and the truth, of items in tasks."""

    def __init__(self, then: str) -> None:
        rng = np.random.default_rng(3)
        more = np.arange(N) >= FIRST
        self.task = CARRIED if then == "in one task" else ALIKE
        score = rng.standard_normal((N, 1)) + 0.6 * rng.standard_normal((N, 3))
        truth = (score[:, 0] + 0.6 * rng.standard_normal(N) < -0.6).astype(float)
        if then in ("all pass", "all fail"):
            score[more] = (1.5 if then == "all pass" else -2.5) + 0.1 * rng.standard_normal((more.sum(), 3))
            truth[more] = float(then == "all fail")
        if then == "a judge is silent":
            score[more, 1] = np.nan
        self.said = np.where(np.isnan(score), np.nan, score < -0.6)
        if then == "a judge is right":
            truth[more] = self.said[more, 0]
        if then == "nobody labels":
            truth[more] = np.nan
        self.score, self.truth = score, truth
        self.right = np.where(np.isnan(truth), np.nan, self.said[:, 0] == truth)
        self.sure = 0.5 + 0.5 * rng.random(score.shape)
        self.label = np.where(np.arange(N) % 3 == 0, truth, np.nan)


THEN = ("alike", "in one task", "all pass", "all fail", "a judge is silent", "a judge is right", "nobody labels")

FIGURES = {
    "soft": lambda s, n: soft_agreement(1 / (1 + np.exp(-2 * s.score[:n, :2])), clusters=s.task[:n]),
    "effective": lambda s, n: effective_judges(s.said[:n], s.truth[:n], clusters=s.task[:n]).n_effective,
    "case-weighted": lambda s, n: case_weighted(s.said[:n, :2], s.sure[:n, :2], clusters=s.task[:n], rng=RNG),
    "balanced": lambda s, n: balanced_accuracy(s.right[:n], s.truth[:n], s.task[:n]),
    "auroc": lambda s, n: auroc(s.sure[:n, 0], s.right[:n], clusters=s.task[:n]),
    "mean": lambda s, n: clustered_mean(s.score[:n, 0], s.task[:n]),
    "paired": lambda s, n: paired_change(s.said[:n, 0], s.said[:n, 1], clusters=s.task[:n]).change,
    "interval alpha": lambda s, n: interval_alpha(s.score[:n], clusters=s.task[:n]),
    "icc": lambda s, n: intraclass_correlation(s.score[:n], form="1", clusters=s.task[:n]),
    "corrected": lambda s, n: corrected_rate(s.said[:n, 0], s.label[:n], sampling="random", clusters=s.task[:n]).rate,
    "f1": lambda s, n: failing_word(s.said[:n, 0], s.truth[:n], clusters=s.task[:n]).f1,
    "self-agreement": lambda s, n: self_agreement(s.said[:n], clusters=s.task[:n]).agreement,
    "difference of pairs": lambda s, n: pairs_apart(s.said[:n], s.task[:n]),
    "fairness": lambda s, n: (
        stratum_shares(s.right[:n], np.arange(n) % 2, s.task[:n], cluster_unit="task")[0].difference
    ),
    "equal words": lambda s, n: agreement_coefficients(
        s.said[:n], ["gwet_ac1"], categories=[0, 1], clusters=s.task[:n]
    )["gwet_ac1"],
}
REFUSALS = {
    "ranks": lambda s, n: (
        reference_ranks(s.said[:n], s.truth[:n], categories=[0.0, 1.0], clusters=s.task[:n], rng=RNG).refusal
    ),
    "rank sets": lambda s, n: rank_sets(s.said[:n].reshape(-1, 4, 3).mean(axis=1), rng=RNG).refusal,
    "profiles": lambda s, n: profile_test(s.said[:n].reshape(-1, 4, 3), rng=RNG).refusal,
    "coincidence": lambda s, n: coincidence_test(s.said[:n].reshape(-1, 4, 3), rng=RNG).refusal,
    "alternative annotator": lambda s, n: (
        alternative_annotator(s.truth[:n], s.said[:n], clusters=s.task[:n], least_instances=30).refusal
    ),
}


def pairs_apart(said, task):
    """Kappa of judges 0 and 1 less that of 0 and 2."""
    task = np.unique(task, return_inverse=True)[1]
    about = {"n_categories": 2, "clusters": task, "cluster_unit": "task", "ci_level": 0.95}
    of = paired_coefficient(said, "cohen_kappa", **about)
    return of.difference([0], [1], (of.mean([0], ""), of.mean([1], "")))


def test_a_judge_and_its_copy_agree_alike_with_a_third_and_hardly_a_doubt_is_left():
    first = Study("alike")
    found, copied = pairs_apart(first.said, first.task), pairs_apart(first.said[:, [0, 1, 1]], first.task)
    assert copied.estimate == 0
    assert copied.ci_high - copied.ci_low < (found.ci_high - found.ci_low) / 5


def test_agreement_falls_at_latest_where_no_item_has_the_rarer_word_of_both():
    first = Study("alike")
    said = first.said[:, :2]
    found = overturned_agreement(said, "cohen_kappa", 2, clusters=np.unique(first.task, return_inverse=True)[1])
    rarer = said == (said.mean() < 0.5)
    assert 1 < found.changes <= rarer.all(axis=1).sum()
    assert found.n_candidates == rarer.sum()


@pytest.mark.slow
@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("name", FIGURES)
def test_once_there_is_an_interval_there_is_one(name, then):
    given, study = False, Study(then)
    for n in (8, 24, 40, 80, 100, 140, 200, 212, 260, 320, 332, 400):
        found = FIGURES[name](study, n)
        assert not (given and math.isnan(found.ci_low)), (n, found.reason)
        given |= not math.isnan(found.ci_low)
    assert given


@pytest.mark.slow
@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("name", REFUSALS)
def test_once_something_is_answered_it_is_answered(name, then):
    answered, study = False, Study(then)
    for n in (8, 24, 40, 80, 140, 200, 212, 260, 320, 400):
        refusal = REFUSALS[name](study, n)
        assert not (answered and refusal), (n, refusal)
        answered |= not refusal
    assert answered


def test_many_more_items_that_all_pass_do_not_refuse_a_difference():
    """n (1 - p)^2 of the rarer word falls as they come: below 5 it refused what 400 items had answered."""
    first = Study("alike")
    said = np.vstack([first.said, np.zeros((8000, 3))])
    task = np.r_[first.task, 100 + np.arange(8000) // 4]
    for n in (N, said.shape[0]):
        assert not math.isnan(pairs_apart(said[:n], task[:n]).ci_low)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_model_of_few_runs_answers_more_tasks_labels_and_judges():
    """Its gates: two tasks, a label or three judges, and chains that agree."""
    items = study(np.random.default_rng(2), tasks=8, labelled=0.5).items
    names = {"agent": list("abcd"), "axis": list("vwxyz")}
    answered = False
    for tasks in (1, 2, 4, 8):
        kept = items.groups["task"] < tasks
        groups = {name: level[kept] for name, level in items.groups.items()}
        some = RatedItems(items.incorrect[kept], items.given[kept], items.labels[kept], groups)
        found = latent_panel(some, names, ["one", "other"], seed=1)
        answered |= found.refusal is NoModel.NONE
        assert (found.refusal is NoModel.NONE) == answered == (tasks > 1), (tasks, found.convergence)


@pytest.mark.parametrize("ratio", [10, 160, 2000])
@pytest.mark.parametrize("known", [True, False], ids=["all probabilities", "those of labels"])
def test_ever_more_labels_of_an_uneven_draw_are_answered_from_the_first_ten_on(ratio, known):
    """Labels that stood for under half of the items were refused, and known kinds without a label."""
    rng = np.random.default_rng(ratio)
    for _ in range(5):
        failed, drawn = rng.random(600) < 0.2, rng.random(600)
        said = np.where(rng.random(600) < 0.8, failed, ~failed).astype(float)
        odds = np.where(rng.random(600) < np.where(failed, 0.5, 0.1), 1.0, 1 / ratio)
        for n in (12, 20, 40, 80, 160, 320):
            probability = np.minimum(1.0, n * odds / odds.sum())
            label = np.where(drawn < probability, failed, np.nan)
            if np.isfinite(label).sum() < 10:
                continue
            stated = probability if known else np.where(np.isnan(label), np.nan, probability)
            rate = corrected_rate(said, label, sampling="by_key", probability=stated).rate
            assert 0 <= rate.ci_low <= rate.estimate <= rate.ci_high <= 1, (n, rate.reason)


@pytest.mark.parametrize("sampling", ["by_judge_verdict", "by_key"])
def test_more_items_of_a_kind_that_was_not_drawn_widen_the_interval_by_their_share(sampling):
    said = np.r_[np.ones(100), np.zeros(400), np.full(600, np.nan)]
    label = np.where(np.arange(1100) % 5 == 0, np.arange(1100) % 25 < np.where(said == 1, 15, 5), np.nan)
    label[500:] = np.nan
    probability = np.r_[np.full(500, 0.2), np.full(600, 0.001)]
    ends = []
    for n in (500, 510, 600, 1100):
        found = corrected_rate(said[:n], label[:n], sampling=sampling, probability=probability[:n])
        ends.append([n * found.rate.ci_low, n * (1 - found.rate.ci_high)])
    assert np.ptp(ends, axis=0) == pytest.approx([0, 0], abs=6)  # so many items surely fail, and so many surely do not


def test_a_label_of_a_rare_kind_is_no_reason_to_refuse_where_every_item_s_probability_is_known():
    """One of 20 in 1,000 items that are drawn once in 100,000 times: by its own weight it outweighs all others."""
    rng = np.random.default_rng(0)
    said = (rng.random(1000) < 0.3).astype(float)
    truth = np.where(rng.random(1000) < 0.9, said, 1 - said)
    probability = np.where(np.arange(1000) < 20, 1e-5, 0.06)
    drawn = np.isin(np.arange(1000), rng.choice(np.arange(20, 1000), 60, replace=False))
    found = [
        corrected_rate(said, np.where(of, truth, np.nan), sampling="by_key", probability=probability)
        for of in (drawn, drawn | (np.arange(1000) == 3))
    ]
    assert [each.refusal for each in found] == ["", ""]
    assert found[1].rate.estimate == pytest.approx(found[0].rate.estimate, abs=0.03)
