"""How many verdicts would have to be otherwise for judges not to agree beyond chance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from axisjudge.results import Result
from axisjudge.stats.comparisons.reversal import Reversal, fewest_changes
from axisjudge.studies._shared.pooled import Pooled
from axisjudge.studies._shared.scope import Intervals
from axisjudge.studies._shared.words import overturned
from axisjudge.studies.agreement.cross_family import CrossFamily, judges_alpha


@dataclass(frozen=True)
class AgreementReversal(Result):
    """What would overturn that judges agree beyond chance on one question, or on all of them."""

    where: str
    reversal: Reversal


def agreement_reversals(
    panels: list[tuple[Pooled, CrossFamily]], intervals: Intervals
) -> tuple[AgreementReversal, ...]:
    """The fewest verdicts that would bring the lower end of alpha to 0, wherever it lies above."""
    beyond = [(panel, found) for panel, found in panels if found.alpha_judges.ci_low > 0]
    return tuple(AgreementReversal(found.where, _reversal(panel, intervals)) for panel, found in beyond)


def _reversal(panel: Pooled, intervals: Intervals) -> Reversal:
    """Verdicts that agree with most judges go to the commonest other word, the rarest agreements first."""
    judged = panel.codes[:, : panel.n_judges]
    counts = (judged[:, :, None] == np.arange(len(panel.categories))).sum(axis=1)
    common = counts.argmax(axis=1)  # of each item
    often = np.bincount(common, minlength=len(panel.categories))
    by_use = np.argsort(-counts.sum(axis=0), kind="stable")
    other = np.where(common == by_use[0], by_use[1], by_use[0]).astype(np.float64)
    item, judge = np.nonzero(judged == common[:, None])
    size = np.bincount(panel.clusters)[panel.clusters]
    orders = [
        np.lexsort((item, judge, often[common[item]])),
        np.lexsort((judge, item, panel.clusters[item], -size[item], often[common[item]])),
    ]

    def holds(changed: NDArray[np.intp]) -> bool:
        codes = panel.codes.copy()
        codes[item[changed], judge[changed]] = other[item[changed]]
        low = judges_alpha(replace(panel, codes=codes), **intervals).ci_low
        return bool(low > 0)

    return fewest_changes(holds, orders, exact=False)


def reversals_sentence(reversals: tuple[AgreementReversal, ...]) -> str:
    """On how many verdicts the agreement beyond chance hangs; empty where there is none."""
    if not reversals:
        return ""
    each = "; ".join(f"{one.where} {overturned(one.reversal)}" for one in reversals)
    return f"Verdicts that, given otherwise, would leave agreement beyond chance not shown: {each}."
