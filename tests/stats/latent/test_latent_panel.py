"""The latent model on data that say little, and against counts that need no model."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_less
from scipy.stats import norm
from stats.latent.latent_worlds import study

from axisjudge.checks import InputError
from axisjudge.stats import latent_panel as latent
from axisjudge.stats.latent_panel import FIXED, Quantities, convergence
from axisjudge.stats.latent_sampler import (
    FACTOR_SCALE,
    FAILING,
    FLIP,
    JUDGE_SCALE,
    POINTS,
    WEIGHTS,
    Draws,
    Observed,
    RatedItems,
    _State,
    crossed,
    sample,
)

NAMES = {"agent": list("abcd"), "axis": list("vwxyz")}


@pytest.fixture
def quick(monkeypatch):
    """Few draws, which agree by fiat: what is tested is not the noise."""
    monkeypatch.setattr(latent, "DRAWS", 120)
    monkeypatch.setattr(latent, "BURN_IN", 60)
    monkeypatch.setattr(latent.Convergence, "converged", True)


def drawn(items, series=3, draws=200):
    seen = Observed(items.incorrect[None], items.given[None], items.labels[None], items.factors)
    keep = tuple(name for name in items.factors if name in FIXED)
    found = sample(seen, series=series, draws=draws, burn_in=80, keep=keep, rng=np.random.default_rng(1))
    return found, Quantities.of(found, items)


def plain(incorrect, labels, *, tasks):
    n = len(incorrect)
    groups = {"task": np.arange(n) * tasks // n, "agent": np.zeros(n, int), "axis": np.zeros(n, int)}
    return RatedItems(np.asarray(incorrect, float), np.ones(np.shape(incorrect)), np.asarray(labels, float), groups)


def test_without_errors_and_with_labels_the_rate_is_that_of_a_proportion():
    """200 labelled items of judges that are always right: the rate's posterior is nearly a proportion's."""
    truth = (np.arange(200) % 4 == 0).astype(float)
    _, found = drawn(plain(np.stack([truth, truth], axis=1), truth, tasks=200))
    assert found.failing.mean() == pytest.approx(0.25, abs=0.02)
    assert found.failing.std() == pytest.approx(np.sqrt(0.25 * 0.75 / 200), rel=0.25)
    assert found.sensitivity.mean() > 0.93
    assert found.specificity.mean() > 0.97
    assert found.called.mean() == pytest.approx(found.failing.mean(), abs=0.05)


def test_skills_are_those_that_many_labels_show():
    """600 labelled items: a strict and a lenient judge, of which one says the other word in a tenth of its repeats."""
    rng, fails = np.random.default_rng(7), np.arange(600) % 2
    skill, flips = np.array([[0.9, 0.6], [0.65, 0.95]]), np.array([0.1, 0.0])
    settled = np.where(rng.random((600, 2)) < skill[1 - fails], fails[:, None], 1 - fails[:, None])
    flipped = rng.random((600, 2, 3)) < flips[:, None]
    items = plain(settled, fails, tasks=600)
    given, incorrect = np.full((600, 2), 3.0), (settled[..., None] ^ flipped).sum(axis=-1)
    _, found = drawn(replace(items, given=given, incorrect=incorrect.astype(float)), series=1, draws=150)
    shown = [settled[fails == 1].mean(axis=0), 1 - settled[fails == 0].mean(axis=0)]
    assert found.sensitivity.mean(axis=(0, 1)) == pytest.approx(shown[0], abs=0.04)
    assert found.specificity.mean(axis=(0, 1)) == pytest.approx(shown[1], abs=0.04)
    assert found.flips.mean(axis=(0, 1)) == pytest.approx(flips, abs=0.03)


def test_one_judge_with_labels_has_rates_and_no_effective_number_and_chains_that_disagree_say_nothing(monkeypatch):
    world = study(np.random.default_rng(2), tasks=3, agents=2, axes=2, judges=((0.8,), (0.9,)), labelled=1.0)
    names = {"agent": ["a", "b"], "axis": ["x", "y"]}
    for name, few in (("DRAWS", 40), ("BURN_IN", 20)):
        monkeypatch.setattr(latent, name, few)
    monkeypatch.setattr(latent.Convergence, "converged", False)
    apart = latent.latent_panel(world.items, names, ["one"])
    assert (apart.refusal, apart.cells) == (latent.NoModel.NOT_CONVERGED, ())
    assert apart.effective.reason == latent.NoModel.NOT_CONVERGED.value
    assert math.isnan(apart.effective.estimate)
    monkeypatch.setattr(latent.Convergence, "converged", True)
    found = latent.latent_panel(world.items, names, ["one"])
    assert found.effective.reason == "one judge"
    assert 0 < found.cells[-1].failing.ci_low < found.cells[-1].failing.ci_high < 1
    assert "judge" not in {one.source for one in found.components}
    silent = replace(world.items, incorrect=np.zeros((12, 1)), given=np.zeros((12, 1)))
    assert latent.latent_panel(silent, names, ["one"]).refusal is latent.NoModel.NO_VERDICTS


def studies_of_the_model(series, repeats, rng):
    """Parameters drawn from the prior, and what judges and labels of 12 items say under them, as states of the sampler.

    By the text of `latent_sampler`, difficulty on its nodes; some judges said nothing of some items.
    """
    levels = dict(zip(("task", "agent", "axis"), np.indices((3, 2, 2)).reshape(3, -1), strict=True))
    given = np.full((12, 3), float(repeats))
    given[3, 1] = given[4:6, 0] = 0
    factors = RatedItems(np.zeros((12, 3)), given, np.full(12, math.nan), levels).factors
    state = _State(Observed(np.zeros((1, 12, 3)), given[None], np.full((1, 12), math.nan), factors), series, rng)
    state.beta = np.hstack([rng.normal(*FAILING, (series, 1)), rng.normal(0, FACTOR_SCALE, (series, len(factors)))])
    state.spread, state.shared = rng.normal(0, JUDGE_SCALE, (series, 2)), abs(rng.normal(0, FACTOR_SCALE, series))
    state.hard = rng.choice(POINTS, (series, 12), p=WEIGHTS)
    state.flips = rng.beta(*FLIP, (series, 3)) if repeats > 1 else np.zeros((series, 3))
    effects = (state.effect(name)[:, of] for name, of in factors.items())
    fails = state.failing = rng.random((series, 12)) < norm.cdf(state.beta[:, :1] + sum(effects))
    skill = np.where(fails[..., None], state.theta[:, None, 0], state.theta[:, None, 1])
    right = rng.random((series, 12, 3)) < norm.cdf(skill + (state.shared[:, None] * state.hard)[..., None])
    state.settled = right == fails[..., None]
    said = rng.binomial(given.astype(int), np.where(state.settled, 1 - state.flips[:, None], state.flips[:, None]))
    state.seen = Observed(said * 1.0, given[None], np.where(np.arange(12) % 4 == 0, fails, math.nan), factors)
    return state


def quantities(state):
    """Means, squares and products with the verdicts of whatever is drawn, of every series."""
    of = [
        state.beta[:, 0],
        state.shared,
        *state.mean.T,
        *abs(state.spread.T),
        state.theta[:, 0, 0],
        state.theta[:, 1, 1],
    ]
    of += [*state.flips.T, state.failing.mean(axis=1), state.failing[:, 1] & state.failing[:, 2], state.hard[:, 1]]
    of += [state.settled.mean(axis=(1, 2)), *abs(state.beta[:, 1:].T)]
    for name in state.names:
        first, second = state.effect(name).T[:2]
        of += [first, first * second]
    said = state.seen.incorrect
    by = [said.mean(axis=(1, 2)), said[:, :, 0].mean(axis=1), (said[:, :, 1] * said[:, :, 2]).mean(axis=1)]
    by += [said[:, :4].mean(axis=(1, 2)), (said.mean(axis=2) * np.nan_to_num(state.seen.labels)).mean(axis=1)]
    return np.stack([one * each for one in np.array(of, dtype=float) for each in (np.ones(len(said)), one, *by)])


@pytest.mark.parametrize("repeats", [1, 2])
def test_steps_of_the_sampler_leave_parameters_and_verdicts_jointly_as_the_model_drew_them(repeats):
    """Geweke (2004), doi:10.1198/016214504000001132: 200 means over 1,200 studies stay, by their paired errors."""
    state = studies_of_the_model(1200, repeats, np.random.default_rng(2))
    before = quantities(state)
    for _ in range(6):
        state.step()
    moved = quantities(state) - before
    assert np.abs(moved.mean(axis=1) / (moved.std(axis=1) / math.sqrt(1200) + 1e-12)).max() < 4


def test_what_is_read_off_a_draw_is_what_verdicts_simulated_by_its_model_show():
    """A share of the variance is the covariance of two verdicts that have nothing but its source in common."""
    rng, n, mean, shared, flip = np.random.default_rng(6), 400_000, -0.5, 0.7, 0.1
    groups = dict(zip(("task", "agent", "axis"), (each.ravel() for each in np.indices((6, 2, 2))), strict=True))
    items = RatedItems(np.zeros((24, 3)), np.full((24, 3), 2.0), np.full(24, math.nan), groups)
    sds = dict(zip(items.factors, (0.5, 0.4, 0.6, 0.3, 0.7), strict=True))
    effects = {name: rng.normal(size=items.factors[name].max() + 1) for name in sds if name in FIXED}
    skill = np.array([[1.2, 0.8, 0.3], [1.5, 0.9, 1.8]])
    draw = Draws(
        *(np.array([[each]]) for each in (mean, list(sds.values()))),
        effects={name: each[None, None] for name, each in effects.items()},
        **{name: np.array([[each]]) for name, each in {"right": skill, "shared": shared, "flips": [flip] * 3}.items()},
        failing=np.zeros((1, 24)),
    )
    found = Quantities.of(draw, items)

    def fails(start, left):
        return start + math.hypot(1, *left) * rng.normal(size=n) > 0

    def verdicts(failing, judge):
        right = skill[1 - failing.astype(int), judge] + shared * rng.normal(size=n) + rng.normal(size=n) > 0
        return right == failing

    def covariance(one, other):
        return np.cov(one ^ (rng.random(n) < flip), other ^ (rng.random(n) < flip))[0, 1]

    def any_judge():
        return rng.integers(0, 3, n)

    random = [sds["task"], sds["task x axis"]]
    cells = [mean + effects["agent"][i // 2] + effects["axis"][i % 2] + effects["agent x axis"][i] for i in range(4)]
    rates = np.array([fails(cell, random).mean() for cell in cells])
    assert found.failing.ravel() == pytest.approx(rates, abs=0.005)
    right = skill[..., None] + shared * rng.normal(size=n) + rng.normal(size=(2, 3, n)) > 0
    of_fails, of_others = right.mean(axis=-1)
    assert found.sensitivity.ravel() == pytest.approx(of_fails, abs=0.005)
    assert found.specificity.ravel() == pytest.approx(of_others, abs=0.005)
    assert found.called.ravel() == pytest.approx(
        rates * of_fails.mean() + (1 - rates) * (1 - of_others.mean()), abs=0.005
    )
    rho = np.corrcoef(np.where(rng.random(n) < rates.mean(), right[0], right[1]))[np.triu_indices(3, 1)].mean()
    assert found.effective.item() == pytest.approx(3 / (1 + 2 * rho), abs=0.01)

    of = {}
    for name, sd in sds.items():
        start, left = mean + sd * rng.normal(size=n), [other for key, other in sds.items() if key != name]
        of[name] = covariance(*(verdicts(fails(start, left), any_judge()) for _ in range(2)))
    item, judge = fails(mean, sds.values()), any_judge()
    of["run on its axis"] = covariance(*(verdicts(item, any_judge()) for _ in range(2))) - sum(of.values())
    of["judge"] = covariance(*(verdicts(fails(mean, sds.values()), judge) for _ in range(2)))
    one = verdicts(item, judge)
    whole = (one ^ (rng.random(n) < flip)).var()
    of["repeat"] = whole - covariance(one, one)
    of["judge x item"] = whole - sum(of.values())
    assert {name: each.item() for name, each in found.components.items()} == pytest.approx(
        {name: each / whole for name, each in of.items()}, abs=0.01
    )


def test_items_fail_where_all_judges_say_so_without_a_label():
    truth = (np.arange(60) % 4 == 0).astype(float)
    found, _ = drawn(plain(np.stack([truth] * 4, axis=1), np.full(60, math.nan), tasks=60), draws=60)
    assert_array_less(found.failing[:, truth == 0], 0.3)
    assert_array_less(0.7, found.failing[:, truth == 1])


@pytest.mark.parametrize("said", [0.0, 1.0])
def test_no_failures_and_nothing_but_failures_bound_the_rate(said):
    items = plain(np.full((20, 2), said), np.full(20, said), tasks=5)
    _, found = drawn(items, draws=120)
    low, high = np.quantile(found.failing, [0.025, 0.975])
    assert 0 < low < high < 1
    assert (high < 0.45) if said == 0 else (low > 0.4)


def test_factors_that_the_items_cannot_show_are_left_out():
    task = np.repeat(np.arange(5), 4)
    groups = {"task": task, "agent": np.tile(np.arange(4), 5), "axis": np.zeros(20, int), "run": np.arange(20)}
    items = RatedItems(np.zeros((20, 1)), np.ones((20, 1)), np.full(20, np.nan), groups)
    assert list(items.factors) == ["agent", "task"]  # one run an item, one axis: no variance of their own
    assert crossed([task, groups["agent"]]).max() == 19


def test_what_cannot_be_told_is_refused_with_its_reason(quick):
    world = study(np.random.default_rng(2), tasks=3, labelled=0.0)
    unlabelled = latent.latent_panel(world.items, NAMES, ["one", "other"])
    every = unlabelled.cells[-1]
    assert np.isnan(every.failing.estimate)
    assert "look alike" in every.failing.reason
    assert every.called.ci_low < every.called.estimate < every.called.ci_high
    assert np.isnan(unlabelled.effective.estimate)
    assert np.isnan(unlabelled.probabilities).all()
    one_task = replace(world.items, groups={**world.items.groups, "task": np.zeros(60, int)})
    refused = latent.latent_panel(one_task, NAMES, ["one", "other"])
    assert refused.refusal is latent.NoModel.ONE_TASK
    assert not refused.cells


@pytest.mark.slow
def test_missing_verdicts_unequal_runs_and_repeats_are_taken(quick):
    world = study(np.random.default_rng(3), tasks=4, repeats=2, flips=0.1, labelled=0.5)
    keep = np.random.default_rng(4).random(world.items.given.shape) < 0.7
    some = np.arange(80) % 7 != 0
    items = RatedItems(
        (world.items.incorrect * keep)[some], (world.items.given * keep)[some], world.items.labels[some],
        {name: np.unique(levels[some], return_inverse=True)[1] for name, levels in world.items.groups.items()},
    )  # fmt: skip
    found = latent.latent_panel(items, NAMES, ["one", "other"])
    shares = [one.share.estimate for one in found.components]
    assert sum(shares) == pytest.approx(1.0, abs=0.02)
    assert {"repeat", "judge", "judge x item"} <= {one.source for one in found.components}
    assert all(0 <= one.flips.ci_low <= one.flips.ci_high <= 1 for one in found.judges)
    assert found.cells[-1].failing.n_missing == int((items.given == 0).sum())
    np.testing.assert_array_equal(found.probabilities[items.labels == 1], 1.0)


def test_chains_that_disagree_and_chains_that_stick_do_not_converge():
    rng = np.random.default_rng(5)
    good = rng.normal(size=(4, 500))
    assert convergence([good]).converged
    assert convergence([good]).effective_draws == pytest.approx(2000, rel=0.2)
    assert convergence([good + np.arange(4)[:, None]]).ratio > 1.3
    lost = np.where(np.arange(500) == 499, np.nan, good)
    assert not convergence([good, lost]).converged
    walk = np.cumsum(good, axis=1)
    assert convergence([walk]).effective_draws < 50
    correlated = np.zeros((4, 2000))
    noise = rng.normal(size=(4, 2000))
    for t in range(1, 2000):
        correlated[:, t] = 0.8 * correlated[:, t - 1] + noise[:, t]
    assert convergence([correlated]).effective_draws == pytest.approx(8000 * 0.2 / 1.8, rel=0.25)


def test_malformed_items_are_refused():
    ones = np.ones((4, 2))
    groups = {"task": np.arange(4)}
    with pytest.raises(InputError, match="must count some of the repeats"):
        RatedItems(2 * ones, ones, np.full(4, np.nan), groups)
    with pytest.raises(InputError, match="labels"):
        RatedItems(ones, ones, np.full(4, 2.0), groups)
    with pytest.raises(InputError, match="must hold agent"):
        latent.latent_panel(RatedItems(ones, ones, np.full(4, np.nan), groups), NAMES, ["one", "other"])


# The sampler against another one: numpyro's NUTS on the same study, with the truth summed out (`numpyro_oracle`).

ORACLE = Path(__file__).parent / "numpyro_oracle.json"


@pytest.mark.slow
def test_posteriors_of_two_samplers_agree_within_their_monte_carlo_error():
    """20 runs x 5 axes, two judges, 25 labels: means within 4 errors, ends within 4 of a quantile's."""
    oracle = json.loads(ORACLE.read_text())
    assert oracle["by"]["divergent"] == 0
    assert oracle["by"]["largest R hat"] < 1.01
    task, agent, axis = (each.ravel() for each in np.indices(oracle["shape"]))
    incorrect = np.array([[float(word) for word in row] for row in oracle["incorrect"]]).T
    labels = np.array([math.nan if word == "." else float(word) for word in oracle["labels"]])
    groups = {"task": task, "agent": agent, "axis": axis, "run": crossed([task, agent])}
    items = RatedItems(incorrect, np.ones_like(incorrect), labels, groups)
    seen = Observed(incorrect[None], items.given[None], labels[None], items.factors)
    drawn = sample(seen, series=6, draws=700, burn_in=150, keep=FIXED, rng=np.random.default_rng(5))
    found = Quantities.of(drawn, items)
    for name, fewest in (("failing", 200), ("sensitivity", 120), ("specificity", 120)):
        draws, of = getattr(found, name), {key: np.array(value) for key, value in oracle[name].items()}
        error = of["sd"] / math.sqrt(fewest)  # of our mean, at the effective draws that these series have at least
        assert_array_less(np.abs(draws.mean(axis=(0, 1)) - of["mean"]), 4 * error, err_msg=name)
        for end, q in (("low", 0.025), ("high", 0.975)):
            away = np.abs(np.quantile(draws, q, axis=(0, 1)) - of[end])
            assert_array_less(away, 4 * 2.7 * error, err_msg=f"{name} {end}")  # a normal's: sqrt(q (1 - q)) / density


def reported(n_judges=2, labels=(1.0, math.nan, 0.0, math.nan), repeats=1.0):
    """What is made of draws that are all alike, of two agents x two axes in two tasks."""
    groups = {"task": np.array([0, 0, 1, 1]), "agent": np.array([0, 1, 0, 1]), "axis": np.array([0, 0, 1, 1])}
    given = np.full((4, n_judges), repeats)
    given[0, 0] = 0
    items = RatedItems(np.zeros((4, n_judges)), given, np.array(labels), groups)
    return latent._Reported(items, {"agent": ["a", "b"], "axis": ["x", "y"]}, list("uvw")[:n_judges], 0.95, "gibbs")


def draws_alike(n_judges=2):
    failing, called = (np.tile(each, (1, 8, 1, 1)) for each in ([[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.8]]))
    of_judges = [np.tile(each, (1, 8, 1)) for each in ([0.8, 0.6, 0.7], [0.9, 0.7, 0.7], [0.05, 0.0, 0.1])]
    skills = [each[..., :n_judges] for each in of_judges]
    return Quantities(failing, called, *skills, {"task": np.full((1, 8), 0.3)}, np.full((1, 8), 1.5))


def test_a_report_says_what_its_draws_say():
    """Means over agents, axes or both; leniency is failures less those called: .25 - (.25 x .8 + .75 x .1)."""
    agreed = latent.Convergence(1.0, 500.0, 1000)
    found = reported().of(draws_alike(), np.array([1.0, 0.2, 0.0, 0.4]), agreed)
    cells = {(each.agent, each.axis): each for each in found.cells}
    assert list(cells) == [(agent, axis) for agent in ("a", "b", "all") for axis in ("x", "y", "all")]
    failing = [cells[key].failing.estimate for key in (("a", "x"), ("a", "all"), ("all", "y"), ("all", "all"))]
    assert failing == pytest.approx([0.1, 0.15, 0.3, 0.25])
    assert [cells[key].called.estimate for key in (("b", "x"), ("all", "all"))] == pytest.approx([0.7, 0.65])
    one = cells["a", "x"].failing
    assert (one.n_items, one.n_missing, one.n_clusters, one.n_raters) == (1, 1, 1, 2)
    assert (cells["all", "all"].failing.n_items, cells["all", "x"].failing.n_clusters) == (4, 1)
    first = found.judges[0]
    assert first.leniency.estimate == pytest.approx(0.25 - (0.25 * 0.8 + 0.75 * 0.1))
    assert (first.sensitivity.estimate, first.specificity.estimate) == pytest.approx((0.8, 0.9))
    assert first.flips.reason == "no judge was asked again"
    assert (found.effective.estimate, found.components[0].share.estimate) == pytest.approx((1.5, 0.3))
    assert (found.n_items, found.n_tasks, found.n_labelled) == (4, 2, 2)
    again = reported(repeats=2.0).of(draws_alike(), np.zeros(4), agreed)
    assert again.judges[0].flips.estimate == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("n_judges", "labels", "truth", "effective"),
    [
        (2, [math.nan] * 4, "no label and 2 judges", "effective judges are defined against labels only"),
        (3, [math.nan] * 4, "", "effective judges are defined against labels only"),
        (2, [1.0, *[math.nan] * 3], "", ""),
        (1, [1.0, *[math.nan] * 3], "", "one judge"),
    ],
)
def test_what_labels_and_judges_cannot_tell_is_left_out(n_judges, labels, truth, effective):
    found = reported(n_judges, labels).of(draws_alike(n_judges), np.full(4, 0.5), latent.Convergence(1.0, 500.0, 1000))
    for each in (found.cells[0].failing, found.judges[0].sensitivity, found.components[0].share):
        assert each.reason[: len(truth) or None] == truth
    assert found.cells[0].called.reason == ""
    assert found.effective.reason == effective
    assert np.isnan(found.probabilities).all() == bool(truth)


def test_ends_leave_out_six_tenths_of_the_tails():
    draws = np.arange(1001.0)[None]
    found = reported()._estimate(draws, "")
    assert (found.ci_low, found.ci_high) == pytest.approx((15, 985))
    assert latent.tails(0.9) == pytest.approx((0.03, 0.97))


def test_convergence_by_its_definition():
    """Gelman et al. (2013), 11.4 and 11.5, of the halves of two chains of 41 draws, each term by a loop."""
    chains = np.random.default_rng(4).normal(size=(2, 41)).cumsum(axis=1)[:, :40] * [[1.0], [1.3]]
    chains = np.concatenate([chains, chains[:, -1:]], axis=1)  # an odd last draw is left out
    halves = chains[:, :40].reshape(4, 20)
    n, within = 20, halves.var(axis=1, ddof=1).mean()
    whole = (n - 1) / n * within + halves.mean(axis=1).var(ddof=1)
    centred = halves - halves.mean(axis=1, keepdims=True)
    rho = [1 - (within - sum(each[: n - t] @ each[t:] for each in centred) / 4 / (n - 1)) / whole for t in range(n)]
    total, t = 0.0, 0
    while t + 1 < n and rho[t] + rho[t + 1] > 0:
        total, t = total + rho[t] + rho[t + 1], t + 2
    found = convergence([chains])
    assert found.ratio == pytest.approx(math.sqrt(whole / within))
    assert found.effective_draws == pytest.approx(4 * n / (2 * total - 1))
    assert found.n_draws == 82
    noise = np.random.default_rng(5).normal(size=(2, 400))
    worst = convergence([noise, chains])
    assert worst.ratio == found.ratio
    assert convergence([noise]).effective_draws > 500


@pytest.mark.parametrize(
    ("ratio", "draws", "divergent", "converged", "diverged"),
    [(1.05, 100, 2, True, False), (1.0501, 100, 2, False, False), (1.05, 99.9, 3, False, True)],
)
def test_chains_agree_up_to_the_limits_and_one_draw_in_a_thousand_may_diverge(
    ratio, draws, divergent, converged, diverged
):
    found = latent.Convergence(ratio, draws, 2000, divergent)
    assert (found.converged, found.diverged) == (converged, diverged)
