"""Every code of the rule has words, and the words carry the numbers of the turn."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from axisjudge.stats.comparisons.progress import ProgressReason, ProgressVerdict, VersionOutcome, decide, moved
from axisjudge.stats.estimate import Estimate
from axisjudge.studies.rubric_versions import sentences


def change_of(per_task, repeats=3):
    """One item a task, both versions repeated without noise."""
    before = np.full((len(per_task), repeats), 0.4)
    return moved(np.stack([before, before + np.array(per_task)[:, None]]), np.arange(len(per_task)))


def turn_of(agreement, decision):
    """What sentences of a turn read of it, alpha undefined under the new version."""
    alphas = [Estimate(estimate=value, n_items=9, n_clusters=9) for value in (0.5, math.nan)]
    versions = [SimpleNamespace(coefficients={"alpha": alpha}) for alpha in alphas]
    return SimpleNamespace(agreement=agreement, decision=decision, versions=versions)


@pytest.mark.parametrize("reason", ProgressReason)
def test_each_reason_has_words_without_gaps(reason):
    decision = ProgressVerdict(VersionOutcome.TOO_FEW, (reason,), noise_measured=False)
    words = sentences.reason(turn_of(change_of([0.1] * 12), decision))
    assert words
    assert not set(words) & set("{}")


def test_the_outcome_is_never_without_the_remark_that_noise_was_not_measured():
    once, repeated = change_of([0.0] * 40, repeats=1), change_of([0.0] * 40)
    assert "not measured" in sentences.outcome(turn_of(once, decide(once, (0.5, 0.5), [])))
    assert sentences.outcome(turn_of(repeated, decide(repeated, (0.5, 0.5), []))) == "no change"


def test_who_lacks_repeats_is_told_how_many_and_not_how_many_tasks():
    """Runs of one version differ by .4 as a whole; the tasks all say that agreement rose by .2."""
    values = np.stack([np.tile([0.0, 0.4], (20, 1)), np.tile([0.2, 0.6], (20, 1))])
    decision = decide(moved(values, np.arange(20)), (0.1, 0.5), [])
    (told,) = sentences.needed(turn_of(moved(values, np.arange(20)), decision))
    assert str(decision.repeats) in told
    assert "tasks would tell" not in told


def test_flips_that_are_not_listed_are_counted():
    turn = SimpleNamespace(flips=[None] * 9, axis="x", before="old", after="new")
    assert "9" in sentences.flips_counted(SimpleNamespace(turn=turn, most=3))
    assert "3" in sentences.flips_counted(SimpleNamespace(turn=turn, most=3))
    assert "12" not in sentences.flips_counted(SimpleNamespace(turn=turn, most=12))


@pytest.mark.parametrize(
    ("statistic", "value", "p", "agree"),
    [
        ("ac1", 0.4, 0.001, True),
        ("ac1", 0.1, 0.3, False),
        ("ac1", -0.4, 0.001, False),
        ("case_weighted_kappa", 0.1, 0.01, False),
    ],
)
def test_judges_agree_beyond_chance_only_where_what_was_declared_is_agreement_above_it(statistic, value, p, agree):
    found = Estimate(estimate=value, ci_low=value - 0.05, ci_high=value + 0.05, n_items=50, n_clusters=12)
    assert ("judges agree beyond chance" in sentences.confirmed([(statistic, found, p)])) == agree
    shown = "2 are" if agree or statistic == "case_weighted_kappa" else "none are"
    assert f"of 2 declared results {shown} shown" in sentences.confirmed([(statistic, found, p)] * 2)


def test_declared_results_without_a_test_are_given_and_not_counted_as_not_shown():
    two = [
        ("percent_agreement", Estimate(estimate=value, n_items=9, n_clusters=9), float("nan")) for value in (0.8, 0.9)
    ]
    assert "0.80 to 0.90 in 2 declared results, untested" in sentences.confirmed(two)
