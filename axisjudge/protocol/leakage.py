"""Leakage between sides: runs and user scenarios that are nearly the same on both.

Texts are compared as sets of shingles (runs of five words) by Jaccard's coefficient. MinHash signatures and bands find
the pairs worth comparing, so the work grows with the number of texts and not with its square; each pair found is then
measured exactly (Broder 1997, doi:10.1109/SEQUEN.1997.666900; Leskovec, Rajaraman and Ullman, Mining of Massive
Datasets, section 3.4).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import in_unit_interval
from axisjudge.protocol.split import Split
from axisjudge.trajectory import Trajectory

WORDS = 5
#: 25 bands of 5 hashes: a pair of similarity .8 is missed once in 20,000, one of .6 once in 8.
BANDS, ROWS = 25, 5
THRESHOLD = 0.8

_PRIME = np.uint64(4_294_967_311)  # the first prime above 2**32

KINDS = ("run", "scenario")


@dataclass(frozen=True)
class Leak:
    """Two tasks on different sides whose runs, or user scenarios, are nearly the same: the most similar pair."""

    kind: str
    similarity: float
    tasks: tuple[str, str]
    sides: tuple[str, str]
    trajectories: tuple[str, str]


def find_leaks(trajectories: Iterable[Trajectory], split: Split, *, threshold: float = THRESHOLD) -> tuple[Leak, ...]:
    """Pairs of tasks on different sides that are nearly the same, the most similar first.

    Parameters
    ----------
    trajectories : iterable of Trajectory
    split : Split
    threshold : float
        The least Jaccard similarity that is listed. Below about .6 not every pair is found.

    Returns
    -------
    tuple of Leak
        One for each kind (``run``: everything said and called but the system's messages; ``scenario``: the user's
        first message) and pair of tasks.
    """
    in_unit_interval("threshold", threshold)
    runs = list(trajectories)
    leaks: dict[tuple[str, str, str], Leak] = {}
    for kind, texts in (("run", map(_all_text, runs)), ("scenario", map(_scenario, runs))):
        for similarity, first, second in _near(kind, list(texts), runs, split, threshold):
            leak = _leak(kind, similarity, runs[first], runs[second], split)
            key = (kind, *leak.tasks)
            if key not in leaks or leak.similarity > leaks[key].similarity:
                leaks[key] = leak
    return tuple(sorted(leaks.values(), key=lambda leak: (-leak.similarity, leak.kind, leak.tasks)))


def shingles(text: str) -> frozenset[int]:
    """Hashes of all runs of `WORDS` words; a shorter text is one shingle, an empty one has none."""
    words = re.findall(r"\w+", text.lower())
    starts = range(max(1, len(words) - WORDS + 1)) if words else ()
    return frozenset(crc32(" ".join(words[start : start + WORDS]).encode()) for start in starts)


def similarity_of(first: frozenset[int], second: frozenset[int]) -> float:
    """Jaccard's coefficient: shared shingles over all shingles; 0 where both are empty."""
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def signature(hashes: Iterable[int]) -> NDArray[np.uint64]:
    """MinHash signature, shape (BANDS * ROWS,): the least of (a x + b) mod p over the shingles, for fixed a and b."""
    rng = np.random.default_rng(20_261_122)
    a = rng.integers(1, 2**32, size=(BANDS * ROWS, 1), dtype=np.uint64)
    b = rng.integers(0, 2**31, size=(BANDS * ROWS, 1), dtype=np.uint64)
    x = np.fromiter(hashes, dtype=np.uint64)
    least: NDArray[np.uint64] = ((a * (x >> np.uint64(1)) + b) % _PRIME).min(axis=1)
    return least


def _near(
    kind: str, texts: Sequence[str], runs: Sequence[Trajectory], split: Split, threshold: float
) -> Iterator[tuple[float, int, int]]:
    """Pairs of positions on different sides with their similarity; texts that are equal are compared once a task."""
    sets = [shingles(text) for text in texts]
    groups: dict[tuple[frozenset[int], str], int] = {}
    for position, (hashes, run) in enumerate(zip(sets, runs, strict=True)):
        if hashes:
            groups.setdefault((hashes, run.cluster_id), position)
    sides = {position: split.side_of(runs[position]) for position in groups.values()}
    for first, second in _candidates({position: sets[position] for position in sides}):
        if sides[first] != sides[second]:
            similarity = similarity_of(sets[first], sets[second])
            if similarity >= threshold:
                yield similarity, first, second


def _candidates(sets: dict[int, frozenset[int]]) -> set[tuple[int, int]]:
    """Pairs that agree in all hashes of at least one band."""
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for position, hashes in sets.items():
        for band, rows in enumerate(signature(hashes).reshape(BANDS, ROWS)):
            buckets[band, rows.tobytes()].append(position)
    return {pair for members in buckets.values() for pair in combinations(members, 2)}


def _leak(kind: str, similarity: float, first: Trajectory, second: Trajectory, split: Split) -> Leak:
    one, two = sorted((first, second), key=lambda run: (list(split.shares).index(split.side_of(run)), run.cluster_id))
    return Leak(
        kind=kind,
        similarity=similarity,
        tasks=(one.cluster_id, two.cluster_id),
        sides=(split.side_of(one), split.side_of(two)),
        trajectories=(one.id, two.id),
    )


def _all_text(run: Trajectory) -> str:
    parts = []
    for step in run.steps:
        if step.role != "system":
            parts.append(step.content)
            parts += [f"{call.name} {call.arguments}" for call in step.tool_calls]
    return " ".join(parts)


def _scenario(run: Trajectory) -> str:
    return next((step.content for step in run.steps if step.role == "user" and step.content.strip()), "")
