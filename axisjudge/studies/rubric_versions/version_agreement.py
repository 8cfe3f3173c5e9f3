"""Agreement under one rubric version, and what of its change is flips and what is hedging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from axisjudge.results import Result
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import coefficient_names
from axisjudge.stats.agreement.soft import SoftAgreement, beliefs, soft_agreement, split_change
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.arrays import mean_of, words_of
from axisjudge.studies.rubric_versions.versions import Versions
from axisjudge.verdict import VERDICTS


@dataclass(frozen=True)
class PairAgreement(Result):
    """Soft agreement of two judges on normalised confidences."""

    _keys = ("judges",)
    _flat = ("soft",)

    judges: tuple[str, str]
    soft: SoftAgreement


@dataclass(frozen=True)
class VersionAgreement(Result):
    """Agreement under one version, all its repeats one under the other with the task as the unit.

    `coefficients` holds percent, kappa, ac1 and alpha, `soft` soft agreement of each pair of judges; `shares` how
    common each verdict is.
    """

    version: str
    n_repeats: int
    coefficients: Mapping[str, Agreement]
    soft: tuple[PairAgreement, ...]
    shares: Mapping[str, float]

    @property
    def named(self) -> dict[str, Estimate]:
        """Every coefficient by name; soft agreement of several pairs under the names of both judges."""
        alone = len(self.soft) == 1
        soft = {"soft" if alone else f"soft {' / '.join(pair.judges)}": pair.soft for pair in self.soft}
        return {**self.coefficients, **soft}


@dataclass(frozen=True)
class SoftSplit:
    """Mean change of raw soft agreement on normalised confidences: `total` = `flips` + `hedging`."""

    total: float
    flips: float
    hedging: float


def version_agreement(pair: Versions, version: int, ci_level: float, cluster_unit: str, seed: int) -> VersionAgreement:
    """Agreement under the version at place `version` (0: before, 1: after)."""
    codes, clusters = pair.stacked(pair.codes, version)
    names = coefficient_names(len(pair.judges))
    values = agreement_coefficients(
        codes,
        list(names.values()),
        categories=list(map(float, range(len(VERDICTS)))),
        clusters=clusters,
        cluster_unit=cluster_unit,
        ci_level=ci_level,
        rng=seed,
    )
    # a rank is mapped to [1/2, 1], so that a belief stays on its verdict's side
    held = beliefs(words_of(codes, VERDICTS), (1 + pair.stacked(pair.ranks, version)[0]) / 2)
    given = codes[~np.isnan(codes)]
    return VersionAgreement(
        version=pair.names[version],
        n_repeats=pair.n_repeats[version],
        coefficients={name: values[key] for name, key in names.items()},
        soft=tuple(
            PairAgreement(
                (pair.judges[one], pair.judges[other]),
                soft_agreement(held[:, [one, other]], clusters=clusters, cluster_unit=cluster_unit, ci_level=ci_level),
            )
            for one, other in combinations(range(len(pair.judges)), 2)
        ),
        shares={word: float((given == code).mean()) for code, word in enumerate(VERDICTS)} if given.size else {},
    )


def soft_split(pair: Versions) -> SoftSplit:
    """The change of raw soft agreement, split, over pairs of judges and repeats that both versions have."""
    words, sure = words_of(pair.codes, VERDICTS), (1 + pair.ranks) / 2
    parts = [
        split_change(*(of[version][:, [one, other], repeat] for version in (0, 1) for of in (words, sure)))
        for one, other in combinations(range(len(pair.judges)), 2)
        for repeat in range(pair.codes.shape[3])
    ]
    return SoftSplit(
        *(mean_of(np.stack([getattr(part, name) for part in parts])) for name in ("total", "flips", "hedging"))
    )
