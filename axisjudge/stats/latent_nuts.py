"""The same posterior as `axisjudge.stats.latent_sampler`, drawn by NUTS of numpyro; needs the extra ``bayes``.

Whether items fail, how hard they are and what judges settled on are summed out of the likelihood, so that what is left
is smooth. Most of its time (half a minute for 250 items, 76 s for 545) is compiling, anew for each shape of a study.
Chains start near the prior's middle, since a panel that is mostly wrong says the same as one that is mostly right of
the opposite truth: that they agree is said of this one reading.

References
----------
Hoffman and Gelman (2014), The No-U-Turn Sampler, JMLR 15:1593-1623. Phan, Pradhan and Jankowiak (2019), Composable
effects for flexible and accelerated probabilistic programming in NumPyro, arXiv:1912.11554.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import log_ndtr, logsumexp
from numpyro.distributions import Beta, HalfNormal, Normal
from numpyro.infer import MCMC, NUTS, init_to_median

from axisjudge.checks import InputError
from axisjudge.stats import latent_sampler

#: Above numpyro's .8, at which a few steps in a thousand diverge where a deviation is near 0.
ACCEPTED = 0.95


def sample(
    seen: latent_sampler.Observed,
    *,
    series: int,
    draws: int,
    burn_in: int,
    keep: tuple[str, ...],
    rng: np.random.Generator,
) -> latent_sampler.Draws:
    """Run the sampler on one study: as `axisjudge.stats.latent_sampler.sample`, with `series` chains of it.

    `failing` is the mean probability that an item fails, given each draw.

    Parameters
    ----------
    seen : Observed
        Of one study: the first length is 1.
    series, draws, burn_in : int
        How many chains, kept draws of each, and draws of adaptation before them.
    keep : tuple of str
        Factors whose effects are kept.

    Raises
    ------
    InputError
        Several studies.
    """
    if len(seen.incorrect) != 1:
        raise InputError("seen", "must be one study", len(seen.incorrect))
    with jax.enable_x64(True):
        chains = MCMC(
            # from the prior's middle: a judge who is mostly wrong and mostly flips says the same as one who is neither
            NUTS(density, target_accept_prob=ACCEPTED, init_strategy=init_to_median),
            num_warmup=burn_in,
            num_samples=draws,
            num_chains=series,
            chain_method="vectorized",
            progress_bar=False,
        )
        chains.run(jax.random.PRNGKey(int(rng.integers(2**31))), seen, extra_fields=("diverging",))
        drawn = {name: np.asarray(each) for name, each in chains.get_samples(group_by_chain=True).items()}
        divergent = int(chains.get_extra_fields()["diverging"].sum())
    return latent_sampler.Draws(
        intercept=drawn["mu"],
        deviations=_stacked([drawn[f"s {name}"] for name in seen.factors], drawn["mu"].shape),
        effects={name: drawn[f"s {name}"][..., None] * drawn[f"u {name}"] for name in keep},
        right=drawn["theta"],
        shared=drawn["k"],
        flips=drawn["e"] if seen.repeated else np.zeros((*drawn["mu"].shape, seen.given.shape[-1])),
        failing=drawn["failing"].mean(axis=1, dtype=np.float64),
        n_divergent=divergent,
    )


def _stacked(deviations: list[latent_sampler.Floats], draws: tuple[int, ...]) -> latent_sampler.Floats:
    """Deviations of all factors, (series, draws, factors); of no factor an empty last axis."""
    return np.stack(deviations, axis=-1) if deviations else np.zeros((*draws, 0))


def density(seen: latent_sampler.Observed) -> None:
    """The model, in the symbols of `axisjudge.stats.latent_sampler`."""
    eta = jnp.full(seen.labels.shape[1], numpyro.sample("mu", Normal(*latent_sampler.FAILING)))
    for name, levels in seen.factors.items():
        deviation = numpyro.sample(f"s {name}", HalfNormal(latent_sampler.FACTOR_SCALE))
        unit = numpyro.sample(f"u {name}", Normal(0, 1).expand([int(levels.max()) + 1]))
        eta = eta + (deviation * unit)[levels]
    means, widths = (
        jnp.array(each) for each in zip(latent_sampler.SENSITIVITY, latent_sampler.SPECIFICITY, strict=True)
    )
    mean = numpyro.sample("m", Normal(means, widths))
    spread = numpyro.sample("t", HalfNormal(latent_sampler.JUDGE_SCALE).expand([2]))
    judge = numpyro.sample("r", Normal(0, 1).expand([2, seen.given.shape[-1]]))
    shared = numpyro.sample("k", HalfNormal(latent_sampler.FACTOR_SCALE))
    theta = numpyro.deterministic("theta", mean[:, None] + spread[:, None] * judge)
    both = _log_seen(seen, theta, shared) + jnp.stack([log_ndtr(eta), log_ndtr(-eta)])
    labels = seen.labels[0]
    unknown, either = np.isnan(labels), jnp.logaddexp(*both)
    failing = jnp.where(unknown, jnp.exp(both[0] - either), labels)
    numpyro.deterministic("failing", failing.astype(jnp.float32))  # kept for every draw and item
    numpyro.factor("seen", jnp.where(unknown, either, jnp.where(labels == 1, both[0], both[1])).sum())


def _log_seen(seen: latent_sampler.Observed, theta: jax.Array, shared: jax.Array) -> jax.Array:
    """Log probability of each item's verdicts where it fails and where not, (2, items), over its difficulty."""
    at = theta[:, None] + shared * latent_sampler.POINTS[:, None]  # (2, nodes, judges)
    right, wrong = log_ndtr(at), log_ndtr(-at)
    incorrect, other = jnp.stack([right[0], wrong[1]]), jnp.stack([wrong[0], right[1]])
    n_incorrect, n_other = seen.incorrect[0], seen.correct[0]
    if seen.repeated:
        flip = numpyro.sample("e", Beta(*latent_sampler.FLIP).expand([seen.given.shape[-1]]))
        kept, flipped = jnp.log1p(-flip), jnp.log(flip)
        yes, no = n_incorrect * kept + n_other * flipped, n_other * kept + n_incorrect * flipped
        of_judges = jnp.logaddexp(incorrect[:, None] + yes[:, None], other[:, None] + no[:, None]).sum(axis=-1)
    else:
        of_judges = n_incorrect @ incorrect.swapaxes(1, 2) + n_other @ other.swapaxes(1, 2)
    return logsumexp(of_judges + np.log(latent_sampler.WEIGHTS), axis=-1)
