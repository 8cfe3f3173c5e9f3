"""Every statistic of the room in one registry, and what all of them must satisfy.

The agreement coefficients have more properties of their own in test_agreement_properties.py. A public function that is
neither a statistic here nor named as something else fails the last test.
"""

import doctest
import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest

import axisjudge.stats
from axisjudge.stats.agreement.chance_corrected import (
    case_bounds,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    kappa_when_decided,
    krippendorff_alpha,
    percent_agreement,
    scott_pi,
)
from axisjudge.stats.agreement.effective import effective_judges, leave_out, majority_accuracy
from axisjudge.stats.agreement.measured import interval_alpha, intraclass_correlation
from axisjudge.stats.agreement.soft import beliefs, case_weighted, soft_agreement, split_change
from axisjudge.stats.alternative_annotator import alternative_annotator, failing_word
from axisjudge.stats.betting import betting_sequence, change_sequence, evidence_of_change, evidence_of_rate
from axisjudge.stats.calibration import (
    auroc,
    expected_calibration_error,
    fit_isotonic,
    fit_mid_rank,
    fit_platt,
    reliability_curve,
    risk_coverage,
)
from axisjudge.stats.clustered import paired_share_difference, standardised_share
from axisjudge.stats.comparisons.equivalence import drift, equivalence, repeats_change
from axisjudge.stats.comparisons.paired import paired_change, stratified_change
from axisjudge.stats.comparisons.ranking import optimism_bound, optimism_of_one
from axisjudge.stats.correction import corrected_rate, proportion_again
from axisjudge.stats.escalation import decides_alone, triage
from axisjudge.stats.fairness import self_preference
from axisjudge.stats.prediction_powered import prediction_powered_mean
from axisjudge.stats.proportions import clustered_mean, clustered_proportion
from axisjudge.stats.reference import against_reference, balanced_accuracy, cited_steps, leave_one_out
from axisjudge.stats.repeats import (
    citation_overlap,
    citation_validity,
    flips_by_confidence,
    self_agreement,
    variance_components,
)

PREFIX = "axisjudge.stats."
MODULES = sorted(each.name for each in pkgutil.walk_packages(axisjudge.stats.__path__, PREFIX) if not each.ispkg)

WORDS = np.array(["incorrect", "correct"], dtype=object)


@dataclass(frozen=True, eq=False)
class Sample:
    """Items as two judges rated them, with labels and tasks."""

    ratings: np.ndarray
    confidence: np.ndarray
    label: np.ndarray
    task: np.ndarray
    cited: np.ndarray

    def taking(self, rows) -> "Sample":
        return Sample(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def swapped(self) -> "Sample":
        return Sample(self.ratings[:, ::-1], self.confidence[:, ::-1], self.label, self.task, self.cited[:, ::-1])

    @property
    def right(self) -> np.ndarray:
        return np.where(np.isnan(self.ratings[:, 0]), np.nan, self.ratings[:, 0] == self.label)

    @property
    def words(self) -> np.ndarray:
        return np.where(np.isnan(self.ratings), None, WORDS[np.nan_to_num(self.ratings).astype(int)])


@pytest.fixture
def sample() -> Sample:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 96).astype(float)
    ratings = np.where(rng.random((96, 2)) < 0.8, label[:, None], 1 - label[:, None])
    ratings[rng.random((96, 2)) < 0.05] = math.nan
    cited = np.empty((96, 2), dtype=object)
    for cell in np.ndindex(cited.shape):
        cited[cell] = rng.choice(10, size=2, replace=False).tolist()
    return Sample(ratings, rng.uniform(0.5, 1, (96, 2)), label, np.repeat(np.arange(24), 4), cited)


def preference(sample: Sample) -> float:
    """Three judge families (the third always right) and two agents of each, by position within the task."""
    families = ["red", "green", "blue"]
    number = (sample.label + 2 * (sample.task % 3)).astype(int)
    agents = [f"agent {index}" for index in number]
    found = self_preference(
        np.column_stack([sample.ratings, sample.label]),
        families,
        agents,
        [families[index // 2] for index in number],
        failed=np.ones(len(number)),
        tasks=sample.task,
    )
    return found.preference["red"].estimate


def platt(sample: Sample) -> float:
    """Slope fitted to outcomes that rise with confidence."""
    return fit_platt(sample.confidence[:, 0], sample.confidence.sum(axis=1) > 1.4, source="a").values[0]


#: name -> (value of a sample, whether swapping the judges leaves it alone, whether giving items twice does)
STATISTICS: dict[str, tuple[Callable[[Sample], float], bool, bool]] = {
    "percent_agreement": (lambda s: percent_agreement(s.ratings).estimate, True, True),
    "cohen_kappa": (lambda s: cohen_kappa(s.ratings).estimate, True, True),
    "scott_pi": (lambda s: scott_pi(s.ratings).estimate, True, True),
    "fleiss_kappa": (lambda s: fleiss_kappa(s.ratings).estimate, True, True),
    "gwet_ac1": (lambda s: gwet_ac1(s.ratings).estimate, True, True),
    "gwet_ac2": (lambda s: gwet_ac2(s.ratings).estimate, True, True),
    "krippendorff_alpha": (lambda s: krippendorff_alpha(s.ratings).estimate, True, False),  # n - 1 in the chance term
    "interval_alpha": (lambda s: interval_alpha(s.confidence).estimate, True, False),  # n - 1, as alpha
    "intraclass_correlation": (lambda s: intraclass_correlation(s.confidence).estimate, True, False),  # n - 1
    "case_bounds": (lambda s: case_bounds(s.ratings, categories=[0, 1]).kappa_worst, True, True),
    "kappa_when_decided": (lambda s: kappa_when_decided(s.ratings, categories=[0, 1])[0], False, False),  # by draws
    "soft_agreement": (lambda s: soft_agreement(beliefs(s.words, s.confidence)).estimate, True, True),
    "split_change": (
        lambda s: float(np.nanmean(split_change(s.words, s.confidence, s.words, s.confidence**2).hedging)),
        True,
        True,
    ),
    "case_weighted": (lambda s: case_weighted(s.ratings, s.confidence).estimate, True, True),
    "balanced_accuracy": (lambda s: balanced_accuracy(s.right, s.label, s.task).estimate, False, True),
    "clustered_proportion": (lambda s: clustered_proportion(s.right, s.task).estimate, False, True),
    "proportion_again": (
        lambda s: proportion_again(s.right, s.task.astype(np.intp), "task", 0.95).estimate,
        False,
        True,
    ),
    "paired_share_difference": (
        lambda s: paired_share_difference(s.right, s.label, s.task).estimate,
        False,
        True,
    ),
    "decides_alone": (lambda s: decides_alone(s.confidence[:, 0], 1 - s.right, risk=0.4).share, False, False),
    "clustered_mean": (lambda s: clustered_mean(s.confidence[:, 0], s.task).estimate, False, True),
    "failing_word": (lambda s: failing_word(*s.ratings.T, clusters=s.task).f1.estimate, True, True),
    "citation_validity": (
        lambda s: citation_validity(s.cited[:, 0], [[max(steps)] for steps in s.cited[:, 0]]).estimate,
        False,
        True,
    ),
    "citation_overlap": (
        lambda s: citation_overlap(s.cited[:, 0], s.cited[:, 1], [10] * len(s.task)).excess.estimate,
        True,
        True,
    ),
    "reliability_curve": (lambda s: reliability_curve(s.confidence[:, 0], s.right).miscalibration, False, True),
    "expected_calibration_error": (lambda s: expected_calibration_error(s.confidence[:, 0], s.right), False, True),
    "auroc": (lambda s: auroc(s.confidence[:, 0], s.right).estimate, False, True),
    "risk_coverage": (lambda s: risk_coverage(s.confidence[:, 0], s.right).area, False, True),
    "effective_judges": (lambda s: effective_judges(s.ratings, s.label).n_effective.estimate, True, True),
    "majority_accuracy": (lambda s: majority_accuracy(s.ratings, s.label), True, True),
    "leave_out": (lambda s: sum(each.majority for each in leave_out(s.ratings, s.label, ["a", "b"])), True, True),
    "paired_change": (lambda s: paired_change(s.ratings[:, 0], s.label).change.estimate, False, True),
    "equivalence": (
        lambda s: equivalence(s.ratings[:, 0], s.label, s.right, clusters=s.task).shift.ci_low,
        False,
        True,
    ),
    "stratified_change": (
        lambda s: stratified_change(s.ratings[:, 0], s.label, before_strata=s.task, after_strata=s.task).estimate,
        False,
        True,
    ),
    "repeats_change": (
        lambda s: repeats_change(s.ratings[s.task < 12, 0], s.ratings[s.task >= 12, 0]).estimate,
        False,
        True,
    ),
    "drift": (
        lambda s: drift([s.label, s.ratings[:, 0]], clusters=s.task)[0].change.change.estimate,
        False,
        True,
    ),
    "optimism_bound": (lambda s: optimism_bound(s.ratings[:, 0] - s.label, 5, clusters=s.task), False, True),
    "optimism_of_one": (lambda s: optimism_of_one(s.right, 5, clusters=s.task), False, True),
    "self_agreement": (lambda s: self_agreement(s.ratings).flips.estimate, True, True),
    "flips_by_confidence": (
        lambda s: flips_by_confidence(s.ratings, s.confidence)[1].flips.estimate,
        True,
        True,
    ),
    "variance_components": (lambda s: variance_components(s.ratings[:, :, None]).bias[0] ** 2, True, True),
    "self_preference": (preference, False, True),
    "triage": (lambda s: triage(s.ratings, s.confidence).auc.estimate, True, True),
    "alternative_annotator": (
        lambda s: alternative_annotator(s.label, np.column_stack([s.ratings, s.label])).advantage.estimate,
        True,
        True,
    ),
    "corrected_rate": (
        lambda s: corrected_rate(s.label, s.ratings[:, 0], sampling="random").rate.estimate,
        False,
        True,
    ),
    "prediction_powered_mean": (  # cross-fitted: an item and its copy may lie in two folds
        lambda s: prediction_powered_mean(s.label, s.ratings[:, 0]).estimate,
        False,
        False,
    ),
    "against_reference": (
        lambda s: against_reference(s.ratings[:, 0], s.label, n_categories=2).accuracy.worst,
        False,
        True,
    ),
    "leave_one_out": (
        lambda s: sum(
            each.judge.accuracy.worst for each in leave_one_out(s.label, s.ratings, ["a", "b"], n_categories=2)
        ),
        True,
        True,
    ),
    "cited_steps": (lambda s: cited_steps(s.cited[:, 0], s.cited[:, 1]).precision.estimate, False, True),
    "fit_platt": (platt, False, False),  # its smoothed targets depend on n
    "fit_isotonic": (
        lambda s: float(fit_isotonic(s.confidence[:, 0], s.right, source="a")(0.8, source="a")),
        False,
        True,
    ),
    "fit_mid_rank": (lambda s: float(fit_mid_rank(s.confidence[:, 0], source="a")(0.8, source="a")), False, True),
}

#: Public functions that are parts of a statistic or plain formulas, tested where they stand.
PARTS = {
    "all_fail",
    "any_fails",
    "corrected_by_agent",
    "count_contrast",
    "decided",
    "exit_code",
    "fair_shares",
    "fewest_changes",
    "holm",
    "majority_right",
    "monte_carlo_p",
    "no_nearer_than_share",
    "paired_sign_flip",
    "post_stratified_sum",
    "profile_test",
    "rank_sets",
    "requirement_of",
    "share_difference",
    "shared_by_chance",
    "shared_hits",
    "sign_flips",
    "split",
    "standardised_share",
    "standing_in",
    "stratum_shares",
    "worst_orders",
    *("agreement_coefficients", "wilson_interval", "clopper_pearson_interval", "jeffreys_interval"),
    *(
        "bootstrap_interval",
        "jackknife_interval",
        "by_number",
        "lean_of",
        "cluster_codes",
        "cluster_correlation",
        "normal_quantile",
        "t_quantile",
        "coefficient_names",
        "coefficient_columns",
        "coefficient_of_two",
        "alpha_of",
        "rating_patterns",
        "coefficient",
    ),
    *("nominal_distance", "linear_distance", "quadratic_distance", "category_counts", "coefficient_interval", "rare"),
    *(
        "linearised",
        "moved_by",
        "scale_of",
        "too_few_clusters",
        "no_interval",
        "without_interval",
        "category_shares",
        "prevalence_index",
        "bias_index",
    ),
    *("set_aside", "beliefs"),
    *("expected_maximum", "standard_error", "mean_change"),
    *("raw_soft_agreement", "case_weights", "kish_n", "jaccard", "chance_jaccard", "step_distance"),
    *("same_verdict_other_evidence", "isotonic_fit", "best_constant", "stand_in", "benjamini_yekutieli"),
    *(
        "corrected_difference",
        "corrected_rank_sets",
        "pairwise_level",
        "rogan_gladen",
        "split_chance",
        "unseen_share",
        "repeats_to_exclude",
        "least_change",
        "mean_bounds",
        "repeats_above",
        "drawn_apart",
        "apart_reason",
        "comparable_features",
        "nothing_of",
        "lang_reiczigel_interval",
        "post_stratified_interval",
        "eff_per_item",
        "label_weights",
        "standing_for",
        "allowing_for_unseen",
        "unlabelled_share",
        "weights_within",
    ),
    *(
        "majority",
        "difference_ends",
        "sensitivity_against",
        "share_at",
        "counts_of",
        "bounded",
        "uncovered",
        "many",
        "many_clusters",
        "named",
        "plural",
        "behind_people",
        "over_constant",
    ),
    *(
        "effective_clusters",
        "effective_degrees",
        "halved_degrees",
        "clustered_variance",
        "more_for_half_width",
        "score_interval",
        "clustered_ends",
        "lean_to_unseen",
        "with_unseen",
    ),
    *("any_judge_rate", "coincidence_test", "consensus_rate", "independent_panel", "reference_ranks"),
    *(
        "pooled_by_cluster",
        "influences",
        "interval_on",
        "on_scale",
        "shows_few",
        "soft_ceiling",
        "balanced_pseudo_values",
        *("more_for_upper_end", "upper_end_at", "sequence", "thresholds"),
        *("joined_effect", "normal_part", "normal_part_of", "relative_weights"),
        "beyond_constant",
        "leave_one_cluster_out",
        "bounded_share",
        *("in_classes", "known_of_all", "not_standing_for_all", "probability_classes", "rate_by_bets"),
    ),
}
#: Modules with tests of their own kind.
ELSEWHERE = {
    "acceptance",
    "agreement.pairs",
    "betting",
    "comparisons.progress",
    "latent_nuts",
    "latent_panel",
    "latent_sampler",
    "link_lines",
    "panel_models",
    "panel_nested",
    "panel_ways",
    "planning",
}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(("ci_level", {0.95}), ("confidence_level", {0.95}), ("band_level", {0.9}), ("power", {0.8}), ("q", {0.05})),
        *(("level", {0.05, 0.95, 0.99}), ("risk", {0.1}), ("epsilon", {0.1, 0.2}), ("bins", {10}), ("quantile", {0.5})),
    ],
)
def test_levels_are_the_usual_ones_unless_another_is_said(name, values):
    owners = [vars(importlib.import_module(module)) for module in MODULES]
    owners += [vars(each) for owner in owners for each in owner.values() if inspect.isclass(each)]
    ours = {each for owner in owners for each in owner.values() if inspect.isfunction(each)}
    ours = {each for each in ours if each.__module__.startswith(PREFIX)}
    found = {
        inspect.signature(each).parameters[name].default
        for each in ours
        if name in each.__code__.co_varnames[: each.__code__.co_argcount + each.__code__.co_kwonlyargcount]
    }
    assert {each for each in found if isinstance(each, float | int)} == values


@pytest.mark.parametrize("name", STATISTICS)
def test_the_order_of_items_does_not_matter(name, sample):
    value, _, _ = STATISTICS[name]
    shuffled = sample.taking(np.random.default_rng(2).permutation(96))
    assert value(sample) == pytest.approx(value(shuffled), abs=1e-9)
    assert not math.isnan(value(sample))


@pytest.mark.parametrize("name", [name for name, (_, symmetric, _) in STATISTICS.items() if symmetric])
def test_the_order_of_raters_does_not_matter(name, sample):
    value, _, _ = STATISTICS[name]
    assert value(sample) == pytest.approx(value(sample.swapped()), abs=1e-9)


@pytest.mark.parametrize("name", [name for name, (_, _, stable) in STATISTICS.items() if stable])
def test_items_given_twice_tell_nothing_new(name, sample):
    value, _, _ = STATISTICS[name]
    assert value(sample) == pytest.approx(value(sample.taking(np.tile(np.arange(96), 2))), abs=1e-9)


@pytest.mark.parametrize("name", STATISTICS)
def test_the_same_input_gives_the_same_value(name, sample):
    value, _, _ = STATISTICS[name]
    assert value(sample) == value(sample)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_hold(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_records_do_not_change_and_those_that_hold_arrays_are_compared_as_objects():
    """Arrays have no single truth value: == of two such records would fail, and their hash too."""
    found = [vars(importlib.import_module(module)) for module in MODULES]
    kinds = {each for owner in found for each in owner.values() if inspect.isclass(each) and is_dataclass(each)}
    for each in (each for each in kinds if each.__module__.startswith(PREFIX)):
        assert each.__dataclass_params__.frozen, each
        holds_arrays = any(re.search("Array|Floats|Codes", str(field.type)) for field in fields(each))
        assert ("__eq__" in vars(each)) != holds_arrays, each


@pytest.mark.parametrize(
    ("unit", "call"),
    [
        ("cluster_unit", lambda ones, **of: clustered_proportion(ones, **of)),
        ("cluster_unit", lambda ones, **of: clustered_mean(ones, **of)),
        ("cluster_unit", lambda ones, **of: betting_sequence(ones, **of)),
        ("cluster_unit", lambda ones, **of: change_sequence(ones, 1 - ones, **of)),
        ("unit", lambda ones, **of: evidence_of_rate(ones, rate=0.5, **of)),
        ("unit", lambda ones, **of: evidence_of_change(ones, 1 - ones, **of)),
        ("cluster_unit", lambda ones, **of: soft_agreement(np.column_stack([ones, ones]), **of)),
        ("cluster_unit", lambda ones, **of: auroc(np.linspace(0, 1, 24), ones, **of)),
        ("cluster_unit", lambda ones, **of: interval_alpha(np.column_stack([ones, ones]), **of)),
        (
            "cluster_unit",
            lambda ones, **of: effective_judges(np.column_stack([ones, 1 - ones]), ones, **of).n_effective,
        ),
        ("cluster_unit", lambda ones, **of: standardised_share(ones, ["a"] * 24, {"a": 1.0}, **of)),
        ("cluster_unit", lambda ones, **of: paired_share_difference(ones, 1 - ones, **of)),
        ("cluster_unit", lambda ones, **of: balanced_accuracy(ones, np.arange(24) % 3 > 0, **of)),
        ("cluster_unit", lambda ones, **of: prediction_powered_mean(ones, ones, **of)),
        ("cluster_unit", lambda ones, **of: gwet_ac1(np.column_stack([ones, 1 - ones]), **of)),
        ("cluster_unit", lambda ones, **of: case_weighted(np.column_stack([ones, ones]), np.full((24, 2), 0.9), **of)),
        (
            "cluster_unit",
            lambda ones, **of: (
                alternative_annotator(ones, np.column_stack([ones] * 3), least_instances=9, **of).advantage
            ),
        ),
    ],
)
def test_without_clusters_the_unit_is_an_item_and_with_them_it_is_theirs(unit, call):
    ones = np.tile([1.0, 0.0], 12)
    assert getattr(call(ones, cluster_unit="query"), unit) == "item"
    found = call(ones, clusters=np.arange(24) // 2, cluster_unit="query")
    assert getattr(found, unit) == "query"
    assert getattr(found, "n_clusters", 12) == 12


def test_no_statistic_is_missing():
    offered = set()
    for module in MODULES:
        if module.removeprefix(PREFIX) in ELSEWHERE:
            continue
        found = importlib.import_module(module)
        offered |= {
            name
            for name, function in inspect.getmembers(found, callable)  # a cached function is no function to inspect
            if not inspect.isclass(function)
            and getattr(function, "__module__", "") == found.__name__
            and not name.startswith("_")
        }
    assert offered == set(STATISTICS) | PARTS
