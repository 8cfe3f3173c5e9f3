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
    """Verdicts other than the commonest become it, on items with the most of them first: alpha lives on such items.

    In one order all of an item's, in the other half of them on every item first, so that judges differ there.
    """
    judged = panel.codes[:, : panel.n_judges]
    common = np.bincount(judged[~np.isnan(judged)].astype(np.intp)).argmax()
    rare = ~np.isnan(judged) & (judged != common)
    share = rare.sum(axis=1) / np.maximum((~np.isnan(judged)).sum(axis=1), 1)
    item, judge = np.nonzero(rare)
    second_half = np.cumsum(rare, axis=1)[item, judge] > rare.sum(axis=1)[item] / 2
    orders = [np.lexsort((judge, item, -share[item])), np.lexsort((judge, item, -share[item], second_half))]

    def holds(changed: NDArray[np.intp]) -> bool:
        codes = panel.codes.copy()
        codes[item[changed], judge[changed]] = common
        low = judges_alpha(replace(panel, codes=codes), **intervals).ci_low
        return bool(low > 0)

    return fewest_changes(holds, orders, exact=False)


def reversals_sentence(reversals: tuple[AgreementReversal, ...]) -> str:
    """On how many verdicts the agreement beyond chance hangs; empty where there is none."""
    if not reversals:
        return ""
    each = "; ".join(f"{one.where}: {overturned(one.reversal)}" for one in reversals)
    return f"How many verdicts, given otherwise, would leave agreement beyond chance not shown. {each}."
