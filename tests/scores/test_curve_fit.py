"""Fitted curves: what is recovered, what is refused, and what is said of raw 0, raw 1 and noise."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scores.curve_worlds import World

from axisjudge.checks import InputError
from axisjudge.scores.curves.curve import CurveFit, LogNormalCurve
from axisjudge.scores.curves.fit import (
    fit_criterion_curve,
    fit_norm_curve,
    fit_ordinal_curve,
    read_curves,
    write_curves,
)
from axisjudge.scores.curves.forms import FORMS, compare_forms, isotonic_shares, noise_effect

LARGE = World(n_tasks=1500, runs=4)


def sample(world: World, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    raw = world.raw(rng)
    return raw, world.human(rng, raw)


def reason(fit: CurveFit) -> str:
    assert fit.curve is None
    assert math.isnan(fit.median.estimate)
    assert math.isnan(fit.sigma.estimate)
    assert np.isnan(fit.band([0.5]).score).all()
    assert all(refusal.collect for refusal in fit.refusals)
    return fit.refusals[0].reason


@pytest.mark.parametrize(("median", "sigma"), [(0.5, 0.4), (0.6, 0.2), (0.35, 0.8)])
def test_planted_median_and_sigma_are_recovered_from_peoples_scores(median, sigma) -> None:
    world = World(n_tasks=1500, runs=4, median=median, sigma=sigma)
    raw, human = sample(world)
    fit = fit_criterion_curve(raw, human, world.tasks)
    assert fit.median.estimate == pytest.approx(median, rel=0.03)
    assert fit.sigma.estimate == pytest.approx(sigma, rel=0.05)
    assert fit.score_name == "criterion_score"


def test_planted_median_and_sigma_are_recovered_from_labels() -> None:
    rng = np.random.default_rng(1)
    raw = LARGE.raw(rng)
    words = np.array(["poor", "fair", "good", "excellent"])
    fit = fit_ordinal_curve(raw, words[LARGE.labels(rng, raw)].tolist(), words.tolist(), "good", LARGE.tasks)
    assert fit.median.estimate == pytest.approx(0.5, rel=0.03)
    assert fit.sigma.estimate == pytest.approx(0.4, rel=0.05)
    assert "'good' or better" in fit.meaning


def test_a_populations_median_and_spread_are_recovered() -> None:
    world = World(n_tasks=1500, runs=4, centre=-1.0, spread=0.3)
    fit = fit_norm_curve(sample(world)[0], world.tasks)
    assert fit.median.estimate == pytest.approx(math.exp(-1.0), rel=0.02)
    assert fit.sigma.estimate == pytest.approx(0.3, rel=0.03)
    assert fit.score_name == "norm_score"
    assert float(fit.band(fit.median.estimate).score) == pytest.approx(50)


def test_bands_hold_the_score_and_widen_away_from_the_data() -> None:
    world = World(n_tasks=30)
    raw, human = sample(world)
    fit = fit_criterion_curve(raw, human, world.tasks)
    at = np.array([0.0, 0.05, 0.3, 0.5, 0.9, 1.0, math.nan])
    band, whole = fit.band(at), fit.band(at, simultaneous=True)
    known = slice(1, 6)
    assert (band.low[known] < band.score[known]).all()
    assert (band.score[known] < band.high[known]).all()
    assert (whole.low[known] < band.low[known]).all()
    assert [each[0] for each in band] == [0, 0, 0]
    assert np.isnan([each[-1] for each in band]).all()
    assert fit.line.standard_error(-3.0) > fit.line.standard_error(-0.7)


def test_a_mended_band_closes_at_raw_1_and_is_that_of_resampling() -> None:
    world = World(n_tasks=200)
    raw, human = sample(world)
    fit = fit_criterion_curve(raw, human, world.tasks)
    assert fit.curve is not None
    band = fit.band([0.4, 0.8, 1.0], mended=True)
    assert band.score == pytest.approx(100 * fit.curve.mended([0.4, 0.8, 1.0]))
    assert [each[2] for each in band] == pytest.approx([100, 100, 100])
    rng = np.random.default_rng(2)
    drawn = rng.multivariate_normal([fit.line.intercept, fit.line.slope], fit.line.covariance, size=4000)
    curves = [LogNormalCurve(math.exp(-b0 / b1), 1 / b1) for b0, b1 in drawn]
    error = np.std([100 * curve.mended([0.4, 0.8]) for curve in curves], axis=0)
    half = (band.high - band.low)[:2] / 2
    assert half == pytest.approx(fit.line.width() * error, rel=0.08)


@pytest.mark.parametrize(("centre", "spread"), [(-0.13, 0.07), (-0.045, 0.028)])
def test_the_designs_that_identify_nothing_are_refused(centre, spread) -> None:
    """Raw 5-95% at .77-.98 and at .91-1.0 with 50 runs and a true curve of .5 / .4: no median can be read off."""
    world = World(n_tasks=50, runs=1, centre=centre, spread=spread)
    reasons = []
    for seed in range(40):
        raw, human = sample(world, seed)
        reasons.append(reason(fit_criterion_curve(raw, human, world.tasks)))
    outside = sum("worth 50" in each for each in reasons)
    falling = sum("do not rise" in each for each in reasons)
    assert outside + falling == 40
    assert falling > 0 if spread < 0.05 else outside > 30


def test_a_weak_slope_has_honest_wide_intervals() -> None:
    world = World(n_tasks=15, runs=1, spread=0.08, noise=1.5)
    fits = [fit_criterion_curve(*sample(world, seed), world.tasks) for seed in range(40)]
    standing = [fit for fit in fits if fit.curve]
    unbounded = [fit for fit in standing if math.isinf(fit.sigma.ci_high)]
    assert len(unbounded) > len(standing) / 2
    for fit in unbounded:
        assert (fit.median.ci_low, fit.median.ci_high) == (0.0, math.inf)
        assert "no upper end" in fit.warnings[0]


def test_few_tasks_are_refused() -> None:
    world = World(n_tasks=9, runs=10)
    raw, human = sample(world)
    assert "9 tasks" in reason(fit_criterion_curve(raw, human, world.tasks))
    assert "9 tasks" in reason(fit_norm_curve(raw, world.tasks))
    assert "0 runs" in reason(fit_criterion_curve([], []))


def test_a_falling_slope_is_refused() -> None:
    raw, human = sample(World())
    assert "do not rise" in reason(fit_criterion_curve(raw, 100 - human, World().tasks))


def test_equal_raw_scores_are_refused() -> None:
    assert "three different" in reason(fit_criterion_curve(np.full(40, 0.9), np.arange(40)))
    assert "equal" in reason(fit_criterion_curve(np.linspace(0.1, 0.9, 40), np.full(40, 80)))


def test_people_who_jump_from_0_to_100_are_refused() -> None:
    raw = np.linspace(0.1, 0.9, 40)
    assert "without overlap" in reason(fit_criterion_curve(raw, np.where(raw > 0.5, 100, 0)))


def test_a_mass_at_raw_1_makes_the_population_form_degenerate() -> None:
    raw = sample(World(n_tasks=30, centre=-0.1))[0]
    refused = fit_norm_curve(raw, World(n_tasks=30).tasks)
    assert "raw score of 1" in reason(refused)
    assert "harder tasks" in refused.refusals[0].collect


def test_a_population_half_at_raw_0_is_refused() -> None:
    raw = np.concatenate([np.zeros(30), np.linspace(0.1, 0.9, 20)])
    assert "raw 0" in reason(fit_norm_curve(raw))


def test_a_population_of_another_shape_is_warned_of() -> None:
    rng = np.random.default_rng(1)
    raw = np.where(rng.random(400) < 0.5, 0.1, 0.8) * np.exp(0.03 * rng.normal(size=400))
    assert any("not percentiles" in warning for warning in fit_norm_curve(raw).warnings)


def test_raw_0_is_left_out_and_the_effect_of_a_floor_is_shown() -> None:
    world = World(n_tasks=60)
    raw, human = sample(world)
    without = fit_criterion_curve(raw, human, world.tasks)
    zeros = fit_criterion_curve(
        np.append(raw, [0, 0, 0]), np.append(human, [40, 30, 20]), np.append(world.tasks, [0] * 3)
    )
    assert zeros.median.estimate == without.median.estimate
    assert zeros.sigma.estimate == without.sigma.estimate
    full = fit_criterion_curve(np.append(raw, [1, 1]), np.append(human, [90, 95]), np.append(world.tasks, [0, 0]))
    n_top = int((raw == 1).sum())
    assert [(fit.n_zero, fit.n_top) for fit in (without, zeros, full)] == [(0, n_top), (3, n_top), (0, n_top + 2)]
    assert "people give them 30 on average" in " ".join(zeros.warnings)
    effects = {each.floor: each.sigma for each in zeros.floor_effects}
    assert effects[None] == zeros.sigma.estimate
    assert effects[1e-3] > effects[1e-2] > 1.2 * effects[None]
    floored = fit_criterion_curve(
        np.append(raw, [0, 0, 0]), np.append(human, [40, 30, 20]), np.append(world.tasks, [0] * 3), floor=1e-2
    )
    assert floored.sigma.estimate == pytest.approx(effects[1e-2])
    assert "count as 0.01" in " ".join(floored.warnings)


def test_missing_values_are_counted() -> None:
    raw, human = sample(World())
    raw[0], human[1] = math.nan, math.nan
    fit = fit_criterion_curve(raw, human, World().tasks)
    assert (fit.median.n_missing, fit.median.n_items) == (2, 46)


def test_noise_flattens_the_curve_and_repeats_undo_it() -> None:
    """True curve .5 / .4; the judge adds .2 to ln raw, which alone would give sigma .54."""
    rng = np.random.default_rng(3)
    world = World(n_tasks=3000, runs=1, centre=-0.9)
    true = world.raw(rng)
    human, runs = np.repeat(world.human(rng, true), 3), np.repeat(np.arange(3000), 3)
    judged = np.repeat(true, 3) * np.exp(0.2 * rng.normal(size=9000))
    kept = judged <= 1
    fit = fit_criterion_curve(judged[kept], human[kept], runs[kept])
    assert fit.curve is not None
    found = noise_effect(fit.curve.median, fit.curve.sigma, judged[kept], runs[kept])
    assert fit.curve.sigma > 0.5
    assert found.noise_sd == pytest.approx(0.2, rel=0.05)
    assert found.sigma == pytest.approx(0.4, rel=0.06)
    assert found.median == pytest.approx(0.5, rel=0.03)
    assert "as noisy as these" in found.sentence


def test_without_repeats_the_noise_is_said_to_be_unknown() -> None:
    found = noise_effect(0.5, 0.4, [0.4, 0.5, 0.6], ["a", "b", "c"])
    assert math.isnan(found.sigma)
    assert "noise is unknown" in found.sentence


def test_noise_that_explains_the_whole_spread_is_said_to() -> None:
    found = noise_effect(0.5, 0.05, [0.3, 0.7, 0.4, 0.6, 0.5, 0.8], [1, 1, 2, 2, 3, 3])
    assert math.isnan(found.sigma)
    assert "a step" in found.sentence


@pytest.mark.parametrize("form", ["log_normal", "log_logistic"])
def test_the_form_behind_the_data_predicts_unseen_tasks_best(form) -> None:
    rng = np.random.default_rng(4)
    raw = rng.uniform(0.05, 1, 1200)
    z = np.log(raw / 0.5)
    mean = 100 * (ndtr(z / 0.3) if form == "log_normal" else expit(z / 0.1))
    human = mean + np.minimum(mean, 100 - mean) * rng.uniform(-0.5, 0.5, 1200)
    losses = {each.form: each for each in compare_forms(raw, human, np.repeat(np.arange(300), 4))}
    assert list(losses) == list(FORMS)
    assert min(("log_normal", "log_logistic", "assumed", "constant"), key=lambda name: losses[name].error) == form
    assert losses["constant"].excess.ci_low > 0
    assert losses["assumed"].excess.ci_low > 0


def test_cross_validation_holds_out_whole_tasks() -> None:
    """A task that repeats itself must not tell on itself: an isotonic fit to singles would score 0 error."""
    rng = np.random.default_rng(5)
    tasks = np.repeat(np.arange(40), 5)
    raw, human = rng.uniform(0.1, 1, 40)[tasks], rng.uniform(0, 100, 40)[tasks]
    losses = {each.form: each.error for each in compare_forms(raw, human, tasks)}
    assert losses["isotonic"] > 25


def test_isotonic_through_rising_points_is_those_points() -> None:
    shares = isotonic_shares(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.4, 0.9]), np.array([0.0, 0.1, 0.5, 0.7, 1.0]))
    assert shares.tolist() == pytest.approx([0.2, 0.2, 0.4, 0.65, 0.9])


def test_a_curve_file_gives_the_same_scores(tmp_path) -> None:
    raw, human = sample(World())
    fits = {
        "all": fit_criterion_curve(raw, human, World().tasks),
        "refused": fit_criterion_curve(raw, 100 - human, World().tasks),
    }
    path = tmp_path / "curve.json"
    write_curves(path, fits)
    again = read_curves(path)
    at = np.linspace(0, 1, 11)
    for mended in (False, True):
        for mine, theirs in zip(fits["all"].band(at, mended=mended), again["all"].band(at, mended=mended), strict=True):
            assert mine == pytest.approx(theirs, abs=1e-12)
    assert again["all"].median == fits["all"].median
    assert again["refused"].refusals == fits["refused"].refusals
    assert np.isnan(again["refused"].band(at).score).all()


def test_an_unbounded_interval_survives_its_file(tmp_path) -> None:
    world = World(n_tasks=15, runs=1, spread=0.08, noise=1.5)
    fits = (fit_criterion_curve(*sample(world, seed), world.tasks) for seed in range(40))
    fit = next(each for each in fits if math.isinf(each.sigma.ci_high))
    write_curves(tmp_path / "curve.json", {"all": fit})
    assert read_curves(tmp_path / "curve.json")["all"].sigma == fit.sigma


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: fit_criterion_curve([0.5, 1.5], [50, 60]), "raw scores lie in"),
        (lambda: fit_criterion_curve([0.5, 0.6], [50, 101]), "scores lie in"),
        (lambda: fit_criterion_curve([0.5, 0.6], [50]), "one score for each run"),
        (lambda: fit_criterion_curve([0.5, 0.6], [50, 60], ["a"]), "one entry for each of the 2 runs"),
        (lambda: fit_criterion_curve([0.5, 0.6], [50, 60], floor=0), "floor"),
        (lambda: fit_ordinal_curve([0.5], ["good"], ["bad", "good"], "bad"), "cut: must be one of good"),
        (lambda: fit_ordinal_curve([0.5], ["fine"], ["bad", "good"], "good"), "found 'fine'"),
        (lambda: compare_forms([0.5], [50]), "two or more"),
        (lambda: noise_effect(0.5, 0.4, [0.5], [1, 2]), "runs: needs one"),
    ],
)
def test_malformed_input_is_refused_with_a_cure(build, message) -> None:
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"all": 1}', '{"all": {"axisjudge_curve": 1}}', '{"all": {"x": 1}}'])
def test_what_is_no_curve_file_says_so(text, tmp_path) -> None:
    path = tmp_path / "curve.json"
    path.write_text(text)
    with pytest.raises(InputError, match="curve"):
        read_curves(path)
    with pytest.raises(InputError, match="no such curve file"):
        read_curves(tmp_path / "none.json")
