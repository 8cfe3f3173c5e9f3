"""Agreement that takes confidence into account: soft agreement of beliefs, and case-weighted agreement."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from axisjudge.results import Result, columns
from axisjudge.stats.agreement.case_weighted import CaseWeighted, case_weighted
from axisjudge.stats.agreement.coefficients import alpha_of, coefficient_names, coefficient_of_two
from axisjudge.stats.agreement.soft import SoftAgreement, beliefs, soft_agreement
from axisjudge.studies._shared.arrays import Floats, words_of
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, with_ends
from axisjudge.studies._shared.pooled import Pooled, PooledSample
from axisjudge.studies._shared.ranked_confidence import NoRanks, confidence_ranks
from axisjudge.studies.agreement import sentences as words

#: The sentence is about alpha, at the level of the scale.
_ALPHAS = (alpha_of("nominal"), alpha_of("ordinal"))

COMBINE: tuple[Literal["product", "minimum"], ...] = ("product", "minimum")

_PAIR = columns(
    "judge_1 judge_2 kappa=product.unweighted kappa_case_weighted=product.weighted",
    with_ends("difference", "product"),
    "p_value=product.p_value kish_n=product.kish_n minimum_difference=minimum.estimate",
)
_SOFT = columns(
    with_ends("soft", "soft", low="soft_low", high="soft_high"), "soft_ceiling=soft.ceiling soft_raw=soft.raw"
)
_PANEL = columns(
    "coefficient weights=combine unweighted case_weighted=weighted difference=estimate low=ci_low",
    "high=ci_high p_value kish_n n_items",
)


@dataclass(frozen=True)
class ConfidentPair(Result):
    """Two judges: soft agreement corrected for chance, and kappa with cases weighted by product and by minimum."""

    judges: tuple[str, str]
    families: tuple[str, str]
    soft: SoftAgreement | None
    product: CaseWeighted
    minimum: CaseWeighted

    judge_1 = property(lambda self: self.judges[0])
    judge_2 = property(lambda self: self.judges[1])


@dataclass(frozen=True)
class Confident(Result):
    """The confidence-weighted variants of one question or several; empty with a `reason` where confidences are missing.

    `panel` weights the coefficients of all judges together. `normalised` says what the ranks of confidence rest on.
    """

    _keys = ("pairs", "panel", "normalised", "reason")

    where: str
    pairs: tuple[ConfidentPair, ...]
    panel: tuple[CaseWeighted, ...]
    normalised: str
    reason: NoRanks
    kind: Kind

    def to_frame(self) -> Table:
        """One row a pair of judges."""
        soft = _SOFT if any(pair.soft for pair in self.pairs) else {}
        return frame_of(self.pairs, {**_PAIR, **soft, "n_items": "product.n_items"}, self.kind)

    def panel_frame(self) -> Table:
        """One row a coefficient of the whole panel."""
        return frame_of(self.panel, _PANEL, self.kind)

    @property
    def sentence(self) -> str:
        """Whether weighting by confidence changes the panel's agreement, and whether the minimum says the same."""
        if self.reason is not NoRanks.NONE:
            return words.UNWEIGHTED.format(where=self.where, reason=self.reason)
        alpha = {each.combine: each for each in self.panel if each.coefficient in _ALPHAS}
        return words.weighted(self.where, self.normalised, alpha["product"], alpha["minimum"])


def confident_agreement(
    ratings: Given, panel: Pooled, *, cluster_unit: str = "task", ci_level: float = 0.95, seed: int = 0
) -> Confident:
    """Soft and case-weighted agreement of judges on rank-normalised confidences.

    Soft agreement needs verdicts (the scale ``verdict``); a belief stays on its verdict's side, since ranks are mapped
    to 1/2 and above, and is 1/2 of a word that takes none, which coefficients leave out. `ratings` are those of the
    `panel`, `seed` is of the permutations.
    """
    ranks, normalised = confidence_ranks(ratings, panel)
    having = [judge for judge in range(panel.n_judges) if not np.isnan(ranks[:, judge]).all()]
    if len(having) < 2:
        return Confident(panel.where, (), (), normalised, NoRanks.NO_CONFIDENCES, panel.kind)
    sample: PooledSample = {"clusters": panel.clusters, "cluster_unit": cluster_unit, "ci_level": ci_level}
    sided = panel.decided()
    weighted = partial(
        case_weighted, categories=range(len(sided.categories)), strata=panel.question, rng=seed, **sample
    )
    codes, of_panel = sided.codes[:, having], coefficient_names(3, panel.level).values()  # pairs have Cohen's
    return Confident(
        where=panel.where,
        pairs=tuple(_pair(panel, ranks, list(pair), sample, weighted) for pair in itertools.combinations(having, 2)),
        panel=tuple(
            weighted(codes, ranks[:, having], coefficient=name, combine=combine)
            for name in of_panel
            for combine in COMBINE
            if name != "percent_agreement"
        ),
        normalised=normalised,
        reason=NoRanks.NONE,
        kind=panel.kind,
    )


def _pair(
    panel: Pooled, ranks: Floats, pair: list[int], sample: PooledSample, weighted: Callable[..., CaseWeighted]
) -> ConfidentPair:
    codes, confidence = panel.decided().codes[:, pair], ranks[:, pair]
    held = beliefs(words_of(panel.codes[:, pair], panel.categories), (1 + confidence) / 2)
    product, minimum = (
        weighted(codes, confidence, combine=combine, coefficient=coefficient_of_two(panel.level)) for combine in COMBINE
    )
    (first, second), (one, other) = ([names[at] for at in pair] for names in (panel.raters, panel.families))
    soft = soft_agreement(held, **sample) if "incorrect" in panel.categories else None
    return ConfidentPair((first, second), (one, other), soft, product, minimum)
