"""Arrays of numbers in which NaN stands for what is not there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def words_of(codes: Floats, words: Sequence[str]) -> NDArray[np.object_]:
    """Positions in `words` as words; None where nothing came."""
    return np.asarray(np.array([*words, None], dtype=object)[np.where(np.isnan(codes), -1, codes).astype(int)])


def mean_of(values: Floats) -> float:
    """Mean of what is there; NaN where nothing is."""
    given = values[~np.isnan(values)]
    return float(given.mean()) if given.size else math.nan
