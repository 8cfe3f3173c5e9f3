"""What a plan declares is computed as it says, tested, and adjusted over the whole family."""

import numpy as np
import polars as pl
import pytest

from axisjudge.protocol import AnalysisPlan
from axisjudge.ratings import ratings_frame, to_matrix
from axisjudge.stats.agreement.soft import beliefs, soft_agreement
from axisjudge.stats.calibration import fit_mid_rank
from axisjudge.studies._shared.pooled import SMALLEST_P, declared_results, declared_sentence
from axisjudge.studies.agreement.by_question import agreement_by_axis
from axisjudge.verdict import Rating

AXES = ("tool_selection", "termination")


def table(words, *, axes=AXES, per_task=4, flag="opening:1:aaaaaaaaaaaa"):
    """words: axis -> items x judges of verdict words."""
    rows = [
        Rating(
            trajectory_id=f"t{item:03d}",
            cluster_id=f"c{item // per_task:03d}",
            task_id=f"c{item // per_task:03d}",
            question=axis,
            rater=f"judge-{judge}",
            rater_kind="llm",
            family=f"family-{judge}",
            verdict=word,
            flags=(flag,),
        )
        for axis in axes
        for item, said in enumerate(words[axis])
        for judge, word in enumerate(said)
    ]
    return ratings_frame(rows)


def words(rng, *, items=60, judges=2, agree=0.0):
    """Verdicts, incorrect in a third of cases; with probability `agree` all judges say what the first says."""
    said = np.where(rng.random((items, judges)) < 1 / 3, "incorrect", "correct").astype(object)
    together = rng.random(items) < agree
    said[together] = said[together][:, :1]
    return said


def both(rng, **how):
    return {axis: words(rng, **how) for axis in AXES}


def test_it_is_the_statistic_that_the_reports_show():
    found = table(both(np.random.default_rng(1), agree=0.6))
    results = declared_results(found, AnalysisPlan(axes=AXES, statistic="krippendorff_alpha", ci_level=0.9))
    shown = agreement_by_axis(found, ci_level=0.9, rng=0).questions
    assert {each.axis: str(each.estimate) for each in results} == {
        one.question: str(one.coefficients["alpha"]) for one in shown
    }  # one number on one page, its interval drawn alike


def test_what_is_declared_is_followed():
    said = both(np.random.default_rng(2), agree=0.6)
    said["termination"][:20] = "uncertain"
    kept, left_out = (
        declared_results(table(said), AnalysisPlan(axes=("termination",), uncertain=policy))[0].estimate
        for policy in ("category", "exclude")
    )
    assert (kept.n_items, left_out.n_items) == (60, 40)
    assert kept.n_clusters == 15


def test_p_is_where_the_interval_touches_nothing():
    result = declared_results(table(both(np.random.default_rng(3), agree=0.25)), AnalysisPlan(axes=("termination",)))[0]
    assert SMALLEST_P < result.p_value < 1
    for level, outside in ((1 - result.p_value * 1.05, True), (1 - result.p_value * 0.95, False)):
        plan = AnalysisPlan(axes=("termination",), ci_level=level)
        found = declared_results(table(both(np.random.default_rng(3), agree=0.25)), plan)[0].estimate
        assert (found.ci_low > 0) == outside


@pytest.mark.slow
def test_holm_runs_over_all_pairs_of_all_axes():
    results = declared_results(table(both(np.random.default_rng(4), judges=3, agree=0.3)), AnalysisPlan(axes=AXES))
    assert len(results) == 6
    assert {each.judges for each in results} >= {("judge-0", "judge-1"), ("judge-1", "judge-2")}
    order = sorted(results, key=lambda each: each.p_value)
    assert order[0].p_holm == pytest.approx(min(1, 6 * order[0].p_value))
    assert "Holm over 6 tests" in declared_sentence(results)


def test_only_the_last_opening_enters():
    rng = np.random.default_rng(5)
    first, second = both(rng, agree=1.0), both(rng)
    mixed = pl.concat([table(first), table(second, flag="opening:2:bbbbbbbbbbbb")])
    plan = AnalysisPlan(axes=("termination",))
    assert declared_results(mixed, plan)[0].estimate == declared_results(table(second), plan)[0].estimate


def test_what_cannot_be_had_says_why():
    said = {"termination": words(np.random.default_rng(6), judges=1)}
    missing, alone = declared_results(table(said, axes=("termination",)), AnalysisPlan(axes=AXES))
    assert (missing.estimate.reason, alone.estimate.reason) == ("0 judges rated it", "1 judge rated it")
    assert np.isnan(alone.p_holm)
    assert "undefined" in declared_sentence((alone,))
    nobody, somebody = declared_results(
        table(said, axes=("termination",)), AnalysisPlan(axes=AXES, statistic="failure_rate")
    )
    assert nobody.estimate.reason == "0 judges rated it"
    assert not np.isnan(somebody.estimate.estimate)


@pytest.mark.slow
def test_judges_who_agree_by_chance_are_seldom_confirmed():
    """300 tables of independent judges, 15 tasks x 4 runs, kappa: p <= .05 in .05 within three standard errors."""
    plan = AnalysisPlan(axes=("termination",))
    rng = np.random.default_rng(7)
    p = [declared_results(table(both(rng)), plan)[0].p_value for _ in range(300)]
    assert np.mean(np.array(p) <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def with_confidence(found, rng):
    return found.with_columns(
        confidence=pl.Series(rng.uniform(0.5, 1, found.height)), confidence_source=pl.lit("verbalized")
    )


def maps_of(found):
    """Mid-rank maps as a lock keeps them, fitted on the same table: only their use is tested here."""
    return {
        rater: fit_mid_rank(
            found.filter(pl.col("rater") == rater)["confidence"].to_numpy(), source=f"{rater} verbalized"
        ).to_dict()
        for rater in found["rater"].unique().sort()
    }


def test_a_failure_rate_needs_one_judge_and_has_no_null():
    said = both(np.random.default_rng(3))
    alone = table(said).filter(pl.col("rater") == "judge-0")
    results = declared_results(alone, AnalysisPlan(axes=AXES, statistic="failure_rate"))
    assert [each.judges for each in results] == [("judge-0",)] * 2
    for each in results:
        assert each.estimate.estimate == pytest.approx((said[each.axis][:, 0] == "incorrect").mean())
        assert each.estimate.n_clusters == 15
        assert np.isnan(each.p_holm)
    assert declared_sentence(results).startswith("Confirmatory, as declared: failure_rate on tool_selection 0.27")


def test_soft_agreement_is_on_the_maps_of_the_plan_and_refused_without():
    found = with_confidence(table(both(np.random.default_rng(4), agree=0.7)), np.random.default_rng(5))
    plan = AnalysisPlan(axes=("termination",), statistic="soft_agreement", maps=maps_of(found))
    (result,) = declared_results(found, plan)
    matrix = to_matrix(found.filter(pl.col("question") == "termination"), "termination")
    sure = np.column_stack(
        [
            plan.confidence_map(rater)(matrix.confidences[:, at], source=f"{rater} verbalized")
            for at, rater in enumerate(matrix.raters)
        ]
    )
    words = np.array(matrix.categories, dtype=object)[matrix.codes.astype(int)]
    expected = soft_agreement(beliefs(words, sure), clusters=np.repeat(np.arange(15), 4))
    assert (result.estimate.estimate, result.estimate.ci_low) == (expected.estimate, expected.ci_low)
    assert 0.05 < result.p_value <= 1  # its interval holds 0
    (refused,) = declared_results(found, AnalysisPlan(axes=("termination",), statistic="soft_agreement"))
    assert "no map" in refused.estimate.reason
    assert np.isnan(refused.p_value)


def test_case_weighting_is_tested_by_shuffled_confidences():
    found = with_confidence(table(both(np.random.default_rng(6), agree=0.5)), np.random.default_rng(7))
    plan = AnalysisPlan(
        axes=("termination",), statistic="case_weighted_kappa", weighting="minimum", maps=maps_of(found)
    )
    (result,) = declared_results(found, plan)
    assert result.estimate.combine == "minimum"
    assert result.p_value == result.estimate.p_value
    assert 0.01 < result.p_value <= 1  # confidences are noise here
