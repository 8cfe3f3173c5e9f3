"""What a panel is fitted on: everybody's words, the labels of some items, and which items belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.stats.panels.linear import Floats

#: Parts of a cross-validation.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class PanelVotes:
    """Items x judges, with labels.

    `words` (items, judges) are positions below `n_categories`, NaN where a judge gave none; `labels` (items,) are NaN
    where nobody labelled; `weights` are 1 over the probability with which an item was drawn for labelling; `groups`
    number the tasks; `families` name each judge's. `ordered` says that the words have an order, that of positions.
    """

    words: Floats
    labels: Floats
    weights: Floats
    groups: NDArray[np.intp]
    families: tuple[str, ...]
    n_categories: int
    ordered: bool = False

    def __post_init__(self) -> None:
        n, k = self.words.shape
        shapes = {"labels": self.labels.shape, "weights": self.weights.shape, "groups": self.groups.shape}
        for name, shape in shapes.items():
            if shape != (n,):
                raise InputError(name, f"needs one entry for each of the {n} items", shape)
        if len(self.families) != k:
            raise InputError("families", f"needs one for each of the {k} judges", len(self.families))

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items have a label, shape (n_items,)."""
        given: NDArray[np.bool_] = ~np.isnan(self.labels)
        return given

    @property
    def n_labelled_groups(self) -> int:
        """Tasks with a label."""
        return int(np.unique(self.groups[self.labelled]).size)

    def only(self, kept: NDArray[np.bool_]) -> PanelVotes:
        """These items alone."""
        rows = {name: getattr(self, name)[kept] for name in ("words", "labels", "weights", "groups")}
        return replace(self, **rows)

    def hidden(self, kept: NDArray[np.bool_]) -> PanelVotes:
        """All items, with the labels of these alone."""
        return replace(self, labels=np.where(kept, self.labels, np.nan))

    def without(self, judge: int) -> PanelVotes:
        """All items, as if this judge had said nothing."""
        words = self.words.copy()
        words[:, judge] = np.nan
        return replace(self, words=words)


def folds(groups: NDArray[np.intp], rng: np.random.Generator, n_folds: int = FOLDS) -> NDArray[np.intp]:
    """A part for each item, shape (n_items,), whole tasks together and as many tasks in each part as can be."""
    names, position = np.unique(groups, return_inverse=True)
    part = np.arange(names.size) % max(1, min(n_folds, names.size))
    return np.asarray(rng.permutation(part)[position], dtype=np.intp)


def held_out(
    votes: PanelVotes, rng: np.random.Generator, n_folds: int = FOLDS
) -> Iterator[tuple[PanelVotes, NDArray[np.bool_]]]:
    """For each part the votes with the labels of the other parts alone, and which items are the part's."""
    part = np.full(votes.groups.size, -1, dtype=np.intp)
    part[votes.labelled] = folds(votes.groups[votes.labelled], rng, n_folds)
    for fold in range(int(part.max(initial=-1)) + 1):
        inside = part == fold
        yield votes.hidden(votes.labelled & ~inside), inside


def accuracies(votes: PanelVotes) -> Floats:
    """Each judge's accuracy on the labelled items, shape (n_judges,); an item without its word counts as wrong."""
    rows = votes.labelled
    right = votes.words[rows] == votes.labels[rows, None]
    return np.asarray(np.average(right, axis=0, weights=votes.weights[rows]))
