"""Sides of a split near their shares: a hash spreads few tasks unevenly, so the salt is drawn until it does not.

The salt is chosen by counts of tasks alone, before anything is known of them, and is kept: which tasks stand together
stays at random, and a task that comes later goes where the hash sends it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping

#: Salts that are tried at most, and how far from its share a side may stay: a task, or so many of all tasks.
DRAWS, NEAR = 200, 0.02
#: From here on a side is called lopsided: further from its share than this, and than a task.
FAR = 0.1

SideOf = Callable[[str], str]


def balanced_salt(rule: Callable[[str], SideOf], tasks: Collection[str], shares: Mapping[str, float]) -> str:
    """A random salt under which the sides of `tasks` come near to their shares; of `DRAWS` the nearest.

    Parameters
    ----------
    rule : callable
        Gives for a salt the function that says the side of a task.
    """
    best, nearest = "", float("inf")
    for _ in range(DRAWS):
        salt = secrets.token_hex(8)
        off = max(abs(each) for each in off_shares(rule(salt), tasks, shares).values())
        if off < nearest:
            best, nearest = salt, off
        if nearest * len(tasks) <= max(0.5, NEAR * len(tasks)):
            break
    return best


def off_shares(side_of: SideOf, tasks: Collection[str], shares: Mapping[str, float]) -> dict[str, float]:
    """How far the share of tasks on each side is from its share; 0 where there are no tasks."""
    sides = [side_of(task) for task in tasks]
    return {side: sides.count(side) / len(sides) - share if sides else 0.0 for side, share in shares.items()}


def lopsided(off: Mapping[str, float], n_tasks: int) -> list[str]:
    """The sides that are further from their shares than `FAR`, and than one task."""
    return [side for side, by in off.items() if abs(by) > FAR and abs(by) * n_tasks > 1]
