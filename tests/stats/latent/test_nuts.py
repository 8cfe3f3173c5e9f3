"""numpyro's NUTS against our sampler, on real votes and on a study with repeats, holes and labels.

NUTS runs in a process of its own: once jax is loaded, a process may not fork any more without a warning.
"""

import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, halfnorm, norm

from axisjudge.checks import InputError
from axisjudge.datasets import published_votes
from axisjudge.stats.latent_panel import DRAWS, NoModel, latent_panel
from axisjudge.stats.latent_sampler import Observed, RatedItems, crossed, sample
from axisjudge.studies import few_runs

TESTS = Path(__file__).parents[2]
JUDGES = ["GPT-5.2", "Kimi-K2.5", "DeepSeek-V3.2"]


def with_repeats():
    """6 tasks x 4 agents x 3 axes: one judge asked three times and flipping one verdict in ten, one with holes."""
    rng = np.random.default_rng(31)
    task, agent, axis = (each.ravel() for each in np.indices((6, 4, 3)))
    failing = rng.random(task.size) < 0.25 + 0.1 * agent
    right = np.where(failing, 0.8, 0.92)[:, None] > rng.random((task.size, 3))
    settled = right == failing[:, None]
    given = np.tile([3.0, 1.0, 1.0], (task.size, 1))
    given[::7, 1] = 0
    incorrect = np.where(settled, given, 0.0)
    flips = rng.binomial(3, 0.1, task.size)
    incorrect[:, 0] = np.where(settled[:, 0], 3 - flips, flips)
    labels = np.where(rng.random(task.size) < 0.3, failing.astype(float), math.nan)
    groups = {"task": task, "agent": agent, "axis": axis, "run": crossed([task, agent])}
    return RatedItems(incorrect, given, labels, groups), {"agent": list("abcd"), "axis": list("xyz")}, list("ABC")


def numbers(panel):
    rates = [cell.failing for cell in panel.cells]
    for judge in panel.judges:
        rates += [judge.sensitivity, judge.specificity, judge.leniency, judge.flips]
    rates += [part.share for part in panel.components] + [panel.effective]
    known = [rate for rate in rates if not math.isnan(rate.estimate)]
    return {
        "rates": [(rate.estimate, rate.ci_low, rate.ci_high) for rate in known],
        "probabilities": panel.probabilities.tolist(),
        "refusal": panel.refusal.value,
        "sampler": panel.sampler,
    }


def votes(**options):
    return few_runs(published_votes("tau2", "final"), judges=JUDGES, runs=20, seed=4, **options)


def study(name, sampler):
    if name == "votes":
        return votes(sampler=sampler).rates.model
    return latent_panel(*STUDIES[name](), seed=4, sampler=sampler)


def one_a_task():
    """24 tasks of one run, agent and axis: nothing groups the items."""
    rng = np.random.default_rng(8)
    failing = rng.random(24) < 0.4
    incorrect = (np.where(failing, 0.85, 0.1)[:, None] > rng.random((24, 2))).astype(float)
    groups = {"task": np.arange(24), "agent": np.zeros(24, int), "axis": np.zeros(24, int)}
    items = RatedItems(incorrect, np.ones_like(incorrect), np.where(failing, 1.0, 0.0), groups)
    return items, {"agent": ["a"], "axis": ["x"]}, ["A", "B"]


STUDIES = {"repeats": with_repeats, "one a task": one_a_task}


def by_nuts(expression):
    """What an expression of this module gives in a process of its own."""
    code = f"import json; from stats.latent.test_nuts import *; print(json.dumps({expression}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def observed(items):
    return Observed(items.incorrect[None], items.given[None], items.labels[None], items.factors)


def a_point(items):
    """Values of all that the density is a function of."""
    rng, n_judges = np.random.default_rng(2), items.n_judges
    point = {"mu": -0.4, "k": 0.7, "m": np.array([0.8, 1.1]), "t": np.array([0.3, 0.5]), "e": rng.random(n_judges) / 4}
    point["r"] = rng.normal(size=(2, n_judges))
    for name, levels in items.factors.items():
        point |= {f"s {name}": 0.2 + rng.random(), f"u {name}": rng.normal(size=levels.max() + 1)}
    return point if items.repeated else {name: value for name, value in point.items() if name != "e"}


def log_density_of_nuts(name):
    import jax  # in its own process alone, see above
    from numpyro.infer.util import log_density

    from axisjudge.stats.latent_nuts import density

    items = STUDIES[name]()[0]
    with jax.enable_x64(True):
        return float(log_density(density, (observed(items),), {}, a_point(items))[0])


def log_density_by_hand(items, point):
    """The priors, and for each item a sum over whether it fails, how hard it is and what each judge settled on."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    total = norm.logpdf(point["mu"], -0.6, 0.9) + halfnorm.logpdf(point["k"], scale=0.6)
    total += norm.logpdf(point["m"], [0.9, 1.2], 0.6).sum() + halfnorm.logpdf(point["t"], scale=0.4).sum()
    total += norm.logpdf(point["r"]).sum() + beta.logpdf(point.get("e", np.array([])), 1, 12).sum()
    eta = np.full(items.n_items, point["mu"])
    for name, levels in items.factors.items():
        deviation, unit = point[f"s {name}"], point[f"u {name}"]
        total += halfnorm.logpdf(deviation, scale=0.6) + norm.logpdf(unit).sum()
        eta += deviation * unit[levels]
    theta = point["m"][:, None] + point["t"][:, None] * point["r"]
    for at in range(items.n_items):
        seen = 0.0
        for fails, node in itertools.product((True, False), range(7)):
            if items.labels[at] == (not fails):  # NaN is neither
                continue
            part = norm.cdf(eta[at] if fails else -eta[at]) * weights[node] / weights.sum()
            for judge in range(items.n_judges):
                right = norm.cdf(theta[0 if fails else 1, judge] + point["k"] * nodes[node])
                given, said = int(items.given[at, judge]), int(items.incorrect[at, judge])
                flip = point["e"][judge] if items.repeated else 0.0
                part *= sum(
                    (right if settled == fails else 1 - right)
                    * flip ** (given - said if settled else said)
                    * (1 - flip) ** (said if settled else given - said)
                    for settled in (True, False)
                )
            seen += part
        total += np.log(seen)
    return total


def shapes_of_draws(name):
    import jax  # in its own process alone, see above
    from numpyro.handlers import seed, trace

    from axisjudge.stats.latent_nuts import density

    with jax.enable_x64(True):
        sites = trace(seed(density, 0)).get_trace(observed(STUDIES[name]()[0]))
    drawn = {site: each["value"] for site, each in sites.items() if each["type"] == "sample" and site != "seen"}
    return {site: [list(value.shape), len(set(value.ravel().tolist()))] for site, value in drawn.items()}


@pytest.mark.slow
def test_every_skill_level_and_flip_has_a_draw_of_its_own():
    items = STUDIES["repeats"]()[0]
    shapes = {"mu": [], "k": [], "m": [2], "t": [2], "r": [2, items.n_judges], "e": [items.n_judges]}
    for factor, levels in items.factors.items():
        shapes |= {f"s {factor}": [], f"u {factor}": [int(levels.max()) + 1]}
    drawn = by_nuts("shapes_of_draws('repeats')")
    assert drawn == {site: [shape, int(np.prod(shape))] for site, shape in shapes.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_density_is_the_model_summed_out_by_hand(name):
    items = STUDIES[name]()[0]
    assert by_nuts(f"log_density_of_nuts({name!r})") == pytest.approx(log_density_by_hand(items, a_point(items)))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["votes", *STUDIES])
def test_nuts_and_our_sampler_say_the_same(name):
    """Means within .08 of an interval's width, ends within .15: both have 100 effective draws at the least."""
    theirs, ours = by_nuts(f"numbers(study({name!r}, 'nuts'))"), numbers(study(name, "gibbs"))
    assert (theirs["sampler"], theirs["refusal"], ours["refusal"]) == ("nuts", "", "")
    one, other = np.array(theirs["rates"]), np.array(ours["rates"])
    assert one.shape == other.shape
    width = (other[:, 2] - other[:, 1])[:, None]
    assert (np.abs(one - other) <= width * [0.08, 0.15, 0.15]).all(), np.round((one - other) / width, 2)
    assert np.abs(np.subtract(theirs["probabilities"], ours["probabilities"])).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("n_divergent", "refusal"), [(0, ""), (2, ""), (3, NoModel.DIVERGED)])
def test_draws_that_diverge_refuse_the_model_where_there_are_many(monkeypatch, n_divergent, refusal):
    """Of 2,000 draws 2 may; of the longer run that follows 4 might."""

    def drawn(seen, *, draws, **options):
        found = sample(seen, draws=draws, **options)
        return replace(found, n_divergent=n_divergent if draws == DRAWS else 9)

    monkeypatch.setattr("axisjudge.stats.latent_panel._draws_of", lambda sampler: drawn)
    monkeypatch.setattr("axisjudge.stats.latent_panel.MORE", 2)
    panel = latent_panel(*one_a_task(), seed=1)
    assert panel.refusal == refusal
    assert panel.convergence.converged


def test_without_numpyro_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "axisjudge.stats.latent_nuts", raising=False)
    with pytest.raises(InputError, match=r"nuts needs jax, which is not installed; pip install 'axisjudge\[bayes\]'"):
        votes(sampler="nuts")


def test_a_sampler_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="gibbs, nuts"):
        votes(sampler="nut")
