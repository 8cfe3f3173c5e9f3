"""Prevalence and bias: why percent agreement and a chance-corrected coefficient can tell different stories."""

from __future__ import annotations

import itertools
import math

import numpy as np

from axisjudge.stats.agreement.coefficients import category_counts
from axisjudge.stats.agreement.patterns import Floats, RatingPatterns


def category_shares(patterns: RatingPatterns) -> Floats:
    """Share of each category among the ratings of items with two ratings or more."""
    paired = patterns.paired
    totals = patterns.counts[paired] @ category_counts(patterns.codes[paired], patterns.categories.size)
    return np.asarray(totals / max(totals.sum(), 1.0))


def prevalence_index(shares: Floats) -> float:
    """How uneven categories are: 0 equal, 1 only one; |a - d| / n for two raters and two categories."""
    q = shares.size
    return math.sqrt(max(0.0, (q * float((shares**2).sum()) - 1) / (q - 1))) if q > 1 else 1.0


def bias_index(patterns: RatingPatterns) -> float:
    """Largest total variation distance between two raters' category shares, on the items both rated."""
    largest = 0.0
    for pair in itertools.combinations(range(patterns.n_raters), 2):
        codes = patterns.codes[:, pair]
        both = (codes >= 0).all(axis=1)
        if not (n := patterns.counts[both].sum()):
            continue
        first, second = (
            np.bincount(codes[both, side], weights=patterns.counts[both], minlength=patterns.categories.size) / n
            for side in (0, 1)
        )
        largest = max(largest, float(np.abs(first - second).sum()) / 2)
    return largest
