"""What people who looked at the flips decided: how many of them are improvements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from axisjudge.labels.decisions import decided
from axisjudge.labels.sampling import drawn_of
from axisjudge.studies.rubric_versions.versions import Flip


class Looked(StrEnum):
    """How a flip came out: by what most people who decided on it said, of equally many that they differ."""

    IMPROVED = "new_right"
    WORSENED = "old_right"
    BOTH_WRONG = "both_wrong"
    CANNOT_TELL = "cannot_tell"
    PEOPLE_DIFFER = "people_differ"


@dataclass(frozen=True)
class LookedAt:
    """The flips of one turn as people decided on them; `flips` in all, those that nobody looked at among them.

    They were looked at because they flipped: the counts are no rate of anything else.
    """

    flips: int
    counts: Mapping[Looked, int]

    @property
    def looked_at(self) -> int:
        """Flips on which anybody decided."""
        return sum(self.counts.values())


def looked_at(flips: Sequence[Flip], axis: str, versions: tuple[str, str], decisions: pl.DataFrame | None) -> LookedAt:
    """Count the decisions on the flips between two versions of one axis's rubric.

    Parameters
    ----------
    flips : sequence of Flip
    axis : str
    versions : tuple of str
        The older and the newer.
    decisions : polars.DataFrame, optional
        Labels, those among them that are decisions by flip (`axisjudge.labels.decisions`); of one person and flip the
        last one counts.
    """
    of = {(flip.item, f"{flip.judge} {versions[0]} to {versions[1]}"): flip for flip in flips}
    answers: dict[tuple[str, str], dict[str, str]] = {}
    rows = () if decisions is None else decisions.filter(question=axis).sort("created_at").iter_rows(named=True)
    for row in rows:
        flags = row["flags"] or []
        key, answer = (row["item_id"], drawn_of(flags)["drawn_by"]), decided(flags)
        if answer is not None and key in of:
            flip = of[key]
            if drawn_of(flags)["drawn_stratum"] == f"{flip.before.verdict} to {flip.after.verdict}":
                answers.setdefault(key, {})[row["rater"]] = answer
    counts = Counter(_of_most(list(given.values())) for given in answers.values())
    return LookedAt(len(flips), {each: counts[each] for each in Looked})


def _of_most(answers: Sequence[str]) -> Looked:
    """The commonest answer; `PEOPLE_DIFFER` where two are equally common."""
    (first, n), *others = Counter(answers).most_common()
    return Looked.PEOPLE_DIFFER if others and others[0][1] == n else Looked(first)
