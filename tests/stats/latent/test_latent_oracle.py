"""The sampler against another one: numpyro's NUTS on the same study, with the truth summed out (`numpyro_oracle`)."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_less

from axisjudge.stats.latent_panel import FIXED, Quantities
from axisjudge.stats.latent_sampler import Observed, RatedItems, crossed, sample

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
