"""Copies of a JSON value of which one member is gone, or something else."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

_OTHERS = (None, "x", ["a"], [], {}, 3, -1.5, True, {"a": None}, [{}], [None])


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The path to each member, however deep."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inside:
        yield (key,)
        yield from ((key, *path) for path in places(member))


def spoilt(value: Any, n: int, seed: int = 0) -> Iterator[Any]:
    """`n` such copies, drawn by seed."""
    draw, paths = Random(seed), list(places(value))
    for _ in range(n):
        copy = deepcopy(value)
        *outer, last = draw.choice(paths)
        holder = copy
        for key in outer:
            holder = holder[key]
        if draw.randrange(4):
            holder[last] = deepcopy(draw.choice(_OTHERS))
        else:
            del holder[last]
        yield copy
