"""One person, question or word in two spellings; a question on two scales."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import polars as pl

from axisjudge.labels.lint.finding import LabelFault, Severity

#: Shorter names differ by one letter because they are different names.
SHORTEST = 5
#: A misspelt word is rare beside the word that was meant.
RARE = 0.02


def spelling_variants(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """Raters, questions and words that differ in case, blanks and marks alone, or in one letter."""
    items: dict[str, set[tuple[str, str]]] = {}
    for rater, item, question in labels.select("rater", "item_id", "question").iter_rows():
        items.setdefault(rater, set()).add((item, question))
    for one, two in combinations(sorted(items), 2):
        if _same(one, two):
            yield _finding("rater", one, two, "warning", "certain but for two people of one name")
        elif _one_slip(one, two) and not items[one] & items[two]:
            yield _finding("rater", one, two, "note", "a guess: one letter apart, and no item labelled by both")
    questions = sorted(labels["question"].unique())
    for one, two in combinations(questions, 2):
        if _same(one, two):
            yield _finding("question", one, two, "error", "certain")
    nominal = labels.filter(pl.col("scale").str.starts_with("nominal:") & pl.col("verdict").is_not_null())
    for (question,), table in nominal.group_by("question", maintain_order=True):
        counts = Counter(table["verdict"].to_list())
        for one, two in combinations(sorted(counts), 2):
            rare = min(counts[one], counts[two]) <= max(1, RARE * max(counts[one], counts[two]))
            if _same(one, two):
                yield _finding(f"word of {question}", one, two, "error", "certain")
            elif rare and _one_slip(one, two):
                yield _finding(f"word of {question}", one, two, "warning", "a guess: one letter apart, one is rare")


def changed_scales(labels: pl.DataFrame) -> Iterator[LabelFault]:
    """A question whose labels stand on several scales."""
    scales = labels.group_by("question", maintain_order=True).agg(pl.col("scale").unique().sort())
    for question, used in scales.iter_rows():
        if len(used) > 1:
            what = f"labels of {question} stand on {len(used)} scales"
            cure = "import again with one --scale for the question, or name the question anew"
            yield LabelFault("one scale a question", "error", what, " and ".join(used), "certain", cure)


def _finding(kind: str, one: str, two: str, severity: Severity, sure: str) -> LabelFault:
    what = f"{kind} in two spellings"
    cure = f"if they are one, write {one!r} in both places"
    return LabelFault("spelling", severity, what, f"{one!r} and {two!r}", sure, cure)


def _same(one: str, two: str) -> bool:
    letters = ["".join(letter for letter in name.casefold() if letter.isalnum()) for name in (one, two)]
    return letters[0] == letters[1] != ""


def _one_slip(one: str, two: str) -> bool:
    """One letter more, less, other, or two swapped; digits and single-letter parts number things and do not count."""
    one, two = sorted((one.casefold(), two.casefold()), key=len)
    if len(one) < SHORTEST or len(two) - len(one) > 1:
        return False
    start = next((at for at, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), len(one))
    rest, other = one[start:], two[start:]
    slips = [(rest[1:], other[1:]), (rest, other[1:]), (rest[2:], other[2:] if rest[:2] == other[1::-1] else None)]
    if not any(left == right for left, right in slips[:2]) and not (len(rest) > 1 and slips[2][0] == slips[2][1]):
        return False
    changed = rest[:1] + other[:1]
    alone = all(len(part) == 1 for part in (_part(one, start), _part(two, start)))
    return not any(letter.isdigit() for letter in changed) and not alone


def _part(name: str, position: int) -> str:
    """The part of a name, between marks and blanks, in which a letter stands."""
    left = right = min(position, len(name) - 1)
    while left > 0 and name[left - 1].isalnum():
        left -= 1
    while right < len(name) and name[right].isalnum():
        right += 1
    return name[left:right]
