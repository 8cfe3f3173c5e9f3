"""How much of the data would have to be otherwise for a conclusion to fall."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result


@dataclass(frozen=True)
class Reversal(Result):
    """The fewest `changes` of `what` (verdicts, say) that overturn a conclusion; None where no order tried does.

    Where not `exact` fewer may do: the orders that were tried are those that promise to be worst, not all.
    """

    changes: int | None
    n_candidates: int
    exact: bool
    what: str = field(default="verdict", repr=False)


def fewest_changes(holds: Callable[[NDArray[np.intp]], bool], orders: Iterable[ArrayLike], *, exact: bool) -> Reversal:
    """The fewest changes that overturn a conclusion, in any of some orders of making them.

    Parameters
    ----------
    holds : callable
        Whether the conclusion holds after changing the items at these positions; it holds with none changed.
    orders : iterable of array of int
        Positions in the order in which they are changed.
    exact : bool
        Whether the conclusion depends on the number of changes alone and every further change moves it the same way,
        so that one order stands for all.

    Returns
    -------
    Reversal
        In each order the number is doubled until the conclusion falls, then halved to where it first did.

    Raises
    ------
    InputError
        The conclusion does not hold as it stands.

    Examples
    --------
    A majority of 7 of 10 falls when 2 of the 7 change:

    >>> fewest_changes(lambda changed: 7 - len(changed) > 5, [range(7)], exact=True)
    Reversal(changes=2, n_candidates=7, exact=True)
    """
    if not holds(np.array([], dtype=np.intp)):
        raise InputError("conclusion", "must hold as it stands")
    fewest, most_candidates = None, 0
    for order in orders:
        positions = np.asarray(list(order) if isinstance(order, range) else order, dtype=np.intp)
        most_candidates = max(most_candidates, positions.size)
        limit = positions.size if fewest is None else min(positions.size, fewest - 1)
        found = _first_fall(lambda k, positions=positions: holds(positions[:k]), limit)  # type: ignore[misc]
        fewest = fewest if found is None else found
    return Reversal(fewest, most_candidates, fewest == 1 or (exact and fewest is not None))


def worst_orders(candidates: ArrayLike, clusters: ArrayLike) -> list[NDArray[np.intp]]:
    """Two orders of changing items: cluster after cluster, the fullest first, and spread over the clusters in turn.

    Changes within one cluster make the variance between clusters large; changes spread out move the estimate alone.
    """
    positions, groups = np.asarray(candidates, dtype=np.intp), np.asarray(clusters)
    codes = np.unique(groups[positions], return_inverse=True)[1]
    sizes = np.bincount(codes) if codes.size else np.array([], dtype=np.intp)
    turn = np.zeros(positions.size, dtype=np.intp)
    for code in range(sizes.size):
        turn[codes == code] = np.arange(sizes[code])
    together = np.lexsort((codes, -sizes[codes])) if codes.size else positions
    return [positions[together], positions[np.lexsort((codes, turn))]] if codes.size else [positions]


def _first_fall(holds: Callable[[int], bool], most: int) -> int | None:
    """The first number at which `holds` is False, if it stays False; None where it holds at all numbers tried."""
    least, trial = 0, 1
    while trial < most and holds(trial):
        least, trial = trial, 2 * trial
    fallen = min(trial, most)
    if fallen < 1 or holds(fallen):
        return None
    while fallen - least > 1:
        middle = (least + fallen) // 2
        least, fallen = (middle, fallen) if holds(middle) else (least, middle)
    return fallen
