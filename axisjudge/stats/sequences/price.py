"""What looking after every item costs, against a number of items fixed in advance."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.stats.rates.proportions import wilson_interval
from axisjudge.stats.sequences.betting import betting_sequence

#: Longest sequence that is tried; narrower intervals are not worth a person's labels.
MOST_ITEMS = 8192
_BITS = MOST_ITEMS.bit_length() - 1


class Price(NamedTuple):
    """Items until an interval is within +- `half_width`: fixed in advance, and looked at after every item."""

    rate: float
    half_width: float
    fixed: int
    looking: int

    @property
    def times(self) -> float:
        """How many times the items."""
        return self.looking / self.fixed


def price_of_looking(rate: float, half_width: float, *, ci_level: float = 0.95) -> Price:
    """Items that a betting sequence needs to come within +- `half_width`, and those that Wilson's interval needs.

    Both are counted on items that fail as evenly as the rate allows (van der Corput's order), one to a task.

    Raises
    ------
    InputError
        A rate or half width outside (0, 1), or a half width that would take more than 8,192 items.

    Examples
    --------
    >>> price_of_looking(0.2, 0.1)
    Price(rate=0.2, half_width=0.1, fixed=60, looking=149)
    """
    in_open_unit_interval("rate", rate)
    in_open_unit_interval("half_width", half_width)
    hits = (_van_der_corput() < rate).astype(np.float64)
    counts = range(1, MOST_ITEMS + 1)
    fixed = 1 + bisect_left(counts, -half_width, key=lambda n: -_half_width(rate, n, ci_level))
    n = 3 * fixed + 32
    while fixed <= MOST_ITEMS // 4:
        looking = betting_sequence(hits[:n], ci_level=ci_level).tasks_until(half_width)
        if looking is not None:
            return Price(rate, half_width, fixed, looking)
        if n >= MOST_ITEMS:
            break
        n *= 2
    raise InputError("half_width", f"would take more than {MOST_ITEMS:,} items", half_width, "ask for less")


def _half_width(rate: float, n: int, ci_level: float) -> float:
    low, high = wilson_interval(rate * n, n, ci_level=ci_level)
    return (high - low) / 2


def _van_der_corput() -> np.ndarray:
    """Numbers 0, 1/2, 1/4, 3/4, 1/8 ...: every stretch of them is spread evenly over [0, 1)."""
    number = np.arange(1 << _BITS)
    return sum((((number >> bit) & 1) / 2.0 ** (bit + 1) for bit in range(_BITS)), np.zeros(number.size))
