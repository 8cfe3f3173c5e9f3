"""The latent model again, by another sampler: NUTS of numpyro, with truth and difficulty summed out of the likelihood.

With the extra ``bayes``, from tests/, ``python -m stats.latent.numpyro_oracle`` writes the posterior of the study in
numpyro_oracle.json beside that study. Nothing is shared with the package: the density is
written from the formulas of `axisjudge.stats.latent_sampler`.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import erfc, logsumexp
from numpyro.diagnostics import summary
from numpyro.infer import MCMC, NUTS

ORACLE = Path(__file__).with_suffix(".json")
SEED, CHAINS, WARM_UP, DRAWS = 7, 4, 500, 500
FIXED = ("axis", "agent", "agent x axis")


def log_phi(z):
    return jnp.log(jnp.maximum(erfc(-z / jnp.sqrt(2.0)) / 2, 1e-280))


def model(incorrect, labels, levels):
    """`levels` holds each factor's level of every item; the density of one study."""
    eta = numpyro.sample("mu", dist.Normal(-0.6, 0.9))
    for name, of in levels.items():
        deviation = numpyro.sample(f"s {name}", dist.HalfNormal(0.6))
        unit = numpyro.sample(f"u {name}", dist.Normal(0, 1).expand([int(of.max()) + 1]))
        eta = eta + (deviation * unit)[of]
    mean = numpyro.sample("m", dist.Normal(jnp.array([0.9, 1.2]), 0.6))
    spread = numpyro.sample("t", dist.HalfNormal(0.4).expand([2]))
    shared = numpyro.sample("k", dist.HalfNormal(0.6))
    unit = numpyro.sample("r", dist.Normal(0, 1).expand([2, incorrect.shape[1]]))
    theta = numpyro.deterministic("theta", mean[:, None] + spread[:, None] * unit)
    points, weights = np.polynomial.hermite_e.hermegauss(7)
    hit, kept = theta[:, None] + shared * jnp.array(points)[:, None]  # (nodes, judges) each
    log_weight = jnp.log(weights / weights.sum())
    failing = logsumexp(incorrect @ log_phi(hit).T + (1 - incorrect) @ log_phi(-hit).T + log_weight, axis=1)
    passing = logsumexp(incorrect @ log_phi(-kept).T + (1 - incorrect) @ log_phi(kept).T + log_weight, axis=1)
    failing, passing = failing + log_phi(eta), passing + log_phi(-eta)
    of_label = jnp.where(labels == 1, failing, passing)
    numpyro.factor("seen", jnp.where(np.isnan(labels), jnp.logaddexp(failing, passing), of_label).sum())


def rates(drawn, levels, n_agents, n_axes):
    """Failing of every agent and axis, sensitivity and specificity, of every draw."""
    phi = lambda z: np.asarray(erfc(-z / np.sqrt(2)) / 2)  # noqa: E731
    effect = {name: drawn[f"s {name}"][..., None] * drawn[f"u {name}"] for name in FIXED}
    cell = effect["agent"][..., :, None] + effect["axis"][..., None, :]
    cell = cell + effect["agent x axis"].reshape(*cell.shape[:2], n_agents, n_axes)
    random = sum(drawn[f"s {name}"] ** 2 for name in levels if name not in FIXED)
    level = np.sqrt(1 + drawn["k"] ** 2)[..., None]
    return {
        "failing": phi((drawn["mu"][..., None, None] + cell) / np.sqrt(1 + random)[..., None, None]),
        "sensitivity": phi(drawn["theta"][:, :, 0] / level),
        "specificity": phi(drawn["theta"][:, :, 1] / level),
    }


def main():
    numpyro.enable_x64()
    oracle = json.loads(ORACLE.read_text())
    incorrect = np.array([[int(word) for word in row] for row in oracle["incorrect"]], float).T
    labels = np.array([np.nan if word == "." else int(word) for word in oracle["labels"]], float)
    _, n_agents, n_axes = oracle["shape"]
    task, agent, axis = (each.ravel() for each in np.indices(oracle["shape"]))
    levels = {
        "axis": axis, "agent": agent, "task": task, "agent x axis": agent * n_axes + axis,
        "task x axis": task * n_axes + axis, "run": task * n_agents + agent,
    }  # fmt: skip
    sampler = MCMC(NUTS(model, target_accept_prob=0.9), num_warmup=WARM_UP, num_samples=DRAWS, num_chains=CHAINS)
    sampler.run(jax.random.PRNGKey(SEED), incorrect, labels, levels, extra_fields=("diverging",))
    drawn = {name: np.asarray(each) for name, each in sampler.get_samples(group_by_chain=True).items()}
    found = rates(drawn, levels, n_agents, n_axes)
    checked = summary(found, group_by_chain=True).values()
    oracle["by"] = {
        "numpyro": numpyro.__version__, "jax": jax.__version__, "seed": SEED, "draws": CHAINS * DRAWS,
        "divergent": int(sampler.get_extra_fields()["diverging"].sum()),
        "largest R hat": round(max(float(np.max(each["r_hat"])) for each in checked), 4),
        "fewest effective draws": round(min(float(np.min(each["n_eff"])) for each in checked)),
    }  # fmt: skip
    for name, draws in found.items():
        of = {"mean": draws.mean(axis=(0, 1)), "sd": draws.std(axis=(0, 1))}
        of |= dict(zip(("low", "high"), np.quantile(draws, [0.025, 0.975], axis=(0, 1)), strict=True))
        oracle[name] = {what: np.round(value, 4).tolist() for what, value in of.items()}
    lines = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in oracle.items())
    ORACLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
