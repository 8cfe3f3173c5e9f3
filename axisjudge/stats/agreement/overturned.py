"""How many verdicts would have to be otherwise for agreement beyond chance not to be shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.stats.agreement.pairs import coefficient_of
from axisjudge.stats.comparisons.reversal import Reversal, fewest_changes


def overturned_agreement(codes: NDArray[np.float64], coefficient: str, n_categories: int, **sample: Any) -> Reversal:
    """The fewest verdicts that would bring the lower end of a coefficient of all raters to 0.

    Verdicts other than the commonest become it, on items with the most of them first: alpha lives on such items. In one
    order all of an item's, in the other half of them on every item first, so that judges differ there.

    Parameters
    ----------
    codes : array, shape (n_items, n_raters)
        Positions of words below `n_categories`; NaN where a rater gave none.
    sample
        clusters, cluster_unit and ci_level.
    """
    given = ~np.isnan(codes)
    common = np.bincount(codes[given].astype(np.intp)).argmax()
    rare = given & (codes != common)
    share = rare.sum(axis=1) / np.maximum(given.sum(axis=1), 1)
    item, judge = np.nonzero(rare)
    second_half = np.cumsum(rare, axis=1)[item, judge] > rare.sum(axis=1)[item] / 2
    orders = [np.lexsort((judge, item, -share[item])), np.lexsort((judge, item, -share[item], second_half))]

    def holds(changed: NDArray[np.intp]) -> bool:
        otherwise = codes.copy()
        otherwise[item[changed], judge[changed]] = common
        return bool(coefficient_of(otherwise, coefficient, n_categories, **sample).ci_low > 0)

    return fewest_changes(holds, orders, exact=False)
