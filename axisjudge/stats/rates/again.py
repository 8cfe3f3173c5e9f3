"""Shares that are worked out once: a rate is corrected by many draws of labels, and the judge's own share is one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from axisjudge.stats.estimate import ClusteredShare
from axisjudge.stats.rates.proportions import clustered_proportion


def proportion_again(
    values: NDArray[np.float64], groups: NDArray[np.intp] | None, cluster_unit: str, ci_level: float
) -> ClusteredShare:
    """`clustered_proportion` of values and codes of clusters, remembered by what they hold."""
    codes = None if groups is None else np.asarray(groups, dtype=np.intp).tobytes()
    return _proportion(np.asarray(values, dtype=np.float64).tobytes(), codes, cluster_unit, ci_level)


@lru_cache(maxsize=512)
def _proportion(values: bytes, groups: bytes | None, cluster_unit: str, ci_level: float) -> ClusteredShare:
    clusters = None if groups is None else np.frombuffer(groups, dtype=np.intp)
    return clustered_proportion(np.frombuffer(values), clusters, cluster_unit=cluster_unit, ci_level=ci_level)
