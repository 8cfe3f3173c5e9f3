"""What the latent model takes: items with the verdicts of judges, labels where there are any, and what groups items."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError

Floats = NDArray[np.float64]
Levels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RatedItems:
    """Items x judges.

    `incorrect` and `given` (items, judges) count the repeats in which a judge calls the item incorrect, and all that
    say either word; `labels` (items,) are 1 failing, 0 not, NaN unknown. `groups` maps the name of what groups items
    (``task``, ``agent``, ``axis``, ``run``) to the level of every item, numbers from 0.
    """

    incorrect: Floats
    given: Floats
    labels: Floats
    groups: Mapping[str, Levels]

    def __post_init__(self) -> None:
        shape = self.incorrect.shape
        if len(shape) != 2 or not all(shape):
            raise InputError("incorrect", "must be items x judges, at least one of each", shape)
        if self.given.shape != shape:
            raise InputError("given", f"needs the shape of the verdicts {shape}", self.given.shape)
        if ((self.incorrect < 0) | (self.incorrect > self.given)).any():
            raise InputError("incorrect", "must count some of the repeats that were given")
        if self.labels.shape != shape[:1] or not np.isin(self.labels[~np.isnan(self.labels)], (0.0, 1.0)).all():
            raise InputError("labels", f"must be 1, 0 or NaN for each of {shape[0]} items", self.labels.shape)
        for name, levels in self.groups.items():
            if levels.shape != shape[:1]:
                raise InputError(name, f"needs one level for each of {shape[0]} items", levels.shape)

    @property
    def n_items(self) -> int:
        """How many items."""
        return int(self.incorrect.shape[0])

    @property
    def n_judges(self) -> int:
        """How many judges."""
        return int(self.incorrect.shape[1])

    @property
    def repeated(self) -> bool:
        """Whether a judge gave an item more than one verdict."""
        return bool((self.given > 1).any())

    @cached_property
    def factors(self) -> Mapping[str, Levels]:
        """What the items' log odds vary by, each with the level of every item.

        Left out is what has one level, what groups items as another does, and what holds one item a level: a single
        yes or no shows no variance of its own.
        """
        kept: dict[str, Levels] = {}
        for names in (("axis",), ("agent",), ("task",), ("agent", "axis"), ("task", "axis"), ("run",)):
            if all(name in self.groups for name in names):
                levels = crossed([self.groups[name] for name in names])
                if 1 < levels.max() + 1 < self.n_items and not any(_same(levels, other) for other in kept.values()):
                    kept[" x ".join(names)] = levels
        return kept


def crossed(levels: Sequence[Levels]) -> Levels:
    """Levels of several groupings taken together, numbers from 0."""
    return np.unique(np.stack(levels, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)


def _same(one: Levels, other: Levels) -> bool:
    """Whether two groupings put the same items together."""
    pairs = len(set(zip(one.tolist(), other.tolist(), strict=True)))
    return bool(pairs == one.max() + 1 == other.max() + 1)


def of_levels(names: Sequence[str]) -> tuple[tuple[str, ...], Levels]:
    """Names in order of appearance, and the number of each entry's."""
    order = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return tuple(order), np.fromiter((order[name] for name in names), dtype=np.intp, count=len(names))


def pairs(k: int) -> tuple[list[int], list[int]]:
    """All pairs of `k` judges as two lists of positions."""
    both = list(itertools.combinations(range(k), 2))
    return [first for first, _ in both], [second for _, second in both]
