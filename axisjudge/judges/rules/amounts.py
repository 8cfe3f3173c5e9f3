"""Which amounts an agent had been given, and whether an amount that it tells can be explained by them.

An amount is explained when a source contains it, when it is the sum or difference of two amounts known, a small
multiple or part of one, a percentage that the message names of one, a total within one result (a fee in the same result
taken off or not), or a total of amounts told in the same message. The more amounts are known, the more pass by chance:
tests/judges/rules/chance.py says how many.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from axisjudge.judges.rules.formats import Amount, Leaf, amounts_in, plain_numbers_in, to_cents

_MOST_PARTS = 8  # subsets of more than 8 parts explain too much by chance
_LARGEST = 10**9  # longer numbers are identifiers
_LONGEST_NUMBER, _MOST_TIMES = 14, 100
_IN_CENTS = re.compile(r"cents?$|_minor$|minor_", re.IGNORECASE)
_PRICE = re.compile(r"[€$£]|\d[.,]\d\d(?!\d)")
_QUANTITY = re.compile(r"^(?:quantity|qty|count|units|pieces|nights|passengers)$", re.IGNORECASE)


class SmallNumbers(NamedTuple):
    """What a message may have reckoned with: small whole numbers, and percentages as shares."""

    times: set[int]
    shares: set[float]


@dataclass
class KnownAmounts:
    """Amounts the agent has been given so far, in hundredths.

    `direct` holds every number, `money` those that may be summands, `totals` the sums within one result.
    """

    direct: set[int] = field(default_factory=set)
    money: set[int] = field(default_factory=set)
    totals: set[int] = field(default_factory=set)

    def add_words(self, text: str) -> None:
        """Take in what a person or a policy said."""
        numbers, money = _numbers_in(text)
        self.direct |= numbers
        self.money |= money

    def add_result(self, text: str, result_leaves: Sequence[Leaf]) -> None:
        """Take in a tool result: the numbers of its JSON, else of its words."""
        if not result_leaves:
            self.add_words(text)
            self.totals |= _totals([amount.cents for amount in amounts_in(text)])
            return
        if "$" in text:
            self.money |= {amount.cents for amount in amounts_in(text)}
        self.add_leaves(result_leaves)

    def add_leaves(self, result_leaves: Sequence[Leaf]) -> None:
        """Take in the numbers of a JSON value, and their totals by key."""
        groups: dict[str, list[int]] = defaultdict(list)
        for name, value, owner in result_leaves:
            if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and _PRICE.search(value):
                groups[name] += plain_numbers_in(value)
            elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST:
                in_cents = isinstance(value, int) and _IN_CENTS.search(name) is not None
                groups[name].append(abs(int(value) if in_cents else to_cents(value)))
                groups["times"] += [abs(to_cents(value)) * times for times in _times(owner) if times > 1]
        for key, values in groups.items():
            others = {one for name, some in groups.items() if name != key for one in some}
            totals = _totals(values)
            self.money.update(values)
            self.totals |= totals | {total - one for total in totals | _pairs(values) for one in others}
        self.direct |= self.money

    def add_explained(self, cents: int) -> None:
        """Take in an amount that was told and explained: later ones may rest on it."""
        self.money.add(cents)
        self.direct.add(cents)

    def explain(self, amount: Amount, before: list[int], counts: SmallNumbers) -> str | None:
        """How an amount can be explained, None if it cannot; `before` are the amounts told earlier in the message."""
        cents = amount.cents
        if cents == 0 or cents in self.direct:
            return "contained"
        if not amount.exact and any(cents + part in self.direct for part in range(-99, 100)):
            return "rounded"
        if any(abs(cents - one) in self.money or cents + one in self.money for one in self.money):
            return "sum or difference of two"
        if any(cents == count * one or cents == round(one / count) for one in self.money for count in counts.times):
            return "multiple or part"
        if any(
            cents in (round(one * p), one - round(one * p), one + round(one * p), one - round(one / (1 + p)))
            for one in self.money
            for p in counts.shares
        ):
            return "percentage"
        if cents in self.totals:
            return "total within one result"
        if cents in _totals(before[-_MOST_PARTS:]) | _runs(before):
            return "total of amounts told"
        if any(cents - run in self.money for run in _runs(before)):
            return "total of amounts told and one known"
        if cents in _differences(before[-_MOST_PARTS:]):
            return "difference of two totals told"
        return None


@lru_cache(maxsize=16)  # runs of one source share their policy
def _numbers_in(text: str) -> tuple[frozenset[int], frozenset[int]]:
    return frozenset(plain_numbers_in(text)), frozenset(amount.cents for amount in amounts_in(text))


def _times(owner: dict[str, Any] | None) -> list[int]:
    """How many of a thing a record speaks of."""
    return [
        value
        for name, value in (owner or {}).items()
        if isinstance(value, int) and not isinstance(value, bool) and _QUANTITY.search(name) and value <= _MOST_TIMES
    ]


def _totals(values: list[int]) -> set[int]:
    """The total of all, and of every three or more where there are few (pairs are tried elsewhere)."""
    if len(values) < 3:
        return set()
    if len(values) > _MOST_PARTS:
        return {sum(values)}
    return {sum(part) for size in range(3, len(values) + 1) for part in combinations(values, size)}


def _pairs(values: list[int]) -> set[int]:
    return {one + other for one, other in combinations(values, 2)} if len(values) <= _MOST_PARTS else set()


def _differences(values: list[int]) -> set[int]:
    """What two totals differ by: of the last amounts and those before them, or of every second one (old, new, ...)."""
    if len(values) < 3:
        return set()
    pairs = values[len(values) % 2 :]
    split = {
        abs(sum(values[middle:]) - sum(values[start:middle]))
        for start in range(len(values) - 2)
        for middle in range(start + 1, len(values))
    }
    return split | {abs(sum(pairs[start::2]) - sum(pairs[start + 1 :: 2])) for start in range(0, len(pairs), 2)}


def _runs(values: list[int]) -> set[int]:
    """Totals of the last two, three, ... amounts."""
    return {sum(values[start:]) for start in range(len(values) - 1)}
