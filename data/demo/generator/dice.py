"""Seeded choices built on `Random.random` alone, the one method whose sequence Python promises to keep."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Thing = TypeVar("Thing")


class Dice:
    """Choices that depend on nothing but the words given as seed."""

    def __init__(self, *seed: object) -> None:
        self._random = Random("/".join(str(part) for part in seed))

    def share(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def chance(self, probability: float) -> bool:
        return self.share() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self.share() * (high - low + 1))

    def pick(self, things: Sequence[Thing]) -> Thing:
        return things[int(self.share() * len(things))]

    def sample(self, things: Sequence[Thing], count: int) -> list[Thing]:
        return self.shuffled(things)[:count]

    def shuffled(self, things: Sequence[Thing]) -> list[Thing]:
        left = list(things)
        return [left.pop(int(self.share() * len(left))) for _ in things]

    def digits(self, count: int) -> str:
        """Digits without a leading zero."""
        return str(self.whole(10 ** (count - 1), 10**count - 1))
