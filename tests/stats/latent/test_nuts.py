"""numpyro's NUTS against our sampler, on real votes and on a study with repeats, holes and labels.

NUTS runs in a process of its own: once jax is loaded, a process may not fork any more without a warning.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import published_votes
from axisjudge.stats.latent.panel import latent_panel
from axisjudge.stats.latent.rated import RatedItems, crossed
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
    return votes(sampler=sampler).model if name == "votes" else latent_panel(*with_repeats(), seed=4, sampler=sampler)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["votes", "repeats"])
def test_nuts_and_our_sampler_say_the_same(name):
    """Means within .15 of an interval's width, ends within .25: both have 100 effective draws at the least."""
    code = f"import json; from stats.latent.test_nuts import *; print(json.dumps(numbers(study({name!r}, 'nuts'))))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, check=True)
    theirs, ours = json.loads(ran.stdout.splitlines()[-1]), numbers(study(name, "gibbs"))
    assert (theirs["sampler"], theirs["refusal"], ours["refusal"]) == ("nuts", "", "")
    one, other = np.array(theirs["rates"]), np.array(ours["rates"])
    assert one.shape == other.shape
    width = (other[:, 2] - other[:, 1])[:, None]
    assert (np.abs(one - other) <= width * [0.15, 0.25, 0.25]).all(), np.round((one - other) / width, 2)
    assert np.abs(np.subtract(theirs["probabilities"], ours["probabilities"])).max() < 0.1


def test_without_numpyro_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "axisjudge.stats.latent.nuts", raising=False)
    with pytest.raises(InputError, match=r"axisjudge\[bayes\]"):
        votes(sampler="nuts")


def test_a_sampler_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="gibbs, nuts"):
        votes(sampler="nut")
