"""Arrays of numbers in which NaN stands for what is not there."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_of(values: Floats) -> float:
    """Mean of what is there; NaN where nothing is."""
    given = values[~np.isnan(values)]
    return float(given.mean()) if given.size else math.nan
