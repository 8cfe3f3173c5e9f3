"""Tables of located truth: every figure with its ends, and the short ones of the page, shares as counts or in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from axisjudge.labels.crosswalk import ANY_STEP
from axisjudge.results import columns
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import with_ends, with_own_ends
from axisjudge.studies.located.decided import ANY_AXIS, Decided
from axisjudge.studies.located.faults import FaultsFound
from axisjudge.studies.located.parting import KindCount

DECIDED: Mapping[str, str] = columns(
    "judge domain half axis n_runs incorrect=n_incorrect correct=n_correct uncertain=n_uncertain",
    "not_applicable=n_not_applicable",
    *map(with_own_ends, ("decided", "precision", "recall")),
    "failing=failing.estimate",
)
FAULTS: Mapping[str, str] = columns(
    "labeller judge domain axis n_faults",
    with_ends("on_axis", "on_axis"),
    with_own_ends("at_step"),
    with_ends("on_any_axis", "on_any", low="on_any_low", high="on_any_high"),
    "undecided=undecided.estimate not_applicable=not_applicable.estimate",
)
PARTINGS: Mapping[str, str] = columns("judge domain failed judge_says reference people n_runs")
KINDS: Mapping[str, str] = columns(
    "kind axis flagged=n_flagged failed=n_failed",
    with_ends("precision", "precision"),
    "looked_at=looked_at.estimate unseen=unseen.estimate labelled_steps=on_steps.n_items",
    "wrong_steps=on_steps.estimate",
)
#: From so many items on a share has an interval beside it; of fewer the count says all.
FEWEST = 10


def decided_in_words(rows: Iterable[Decided]) -> list[dict[str, Any]]:
    """What a judge says on each axis of each set, how much that decides, and how it stands to the outcome."""
    rows = [*rows]
    return [
        {
            "judge": one.judge,
            "set": one.domain,
            **({} if one.half == "all" else {"half": one.half}),
            **_axis(one, rows),
            "runs": one.n_runs,
            **({} if one.axis == ANY_AXIS else {"axis applies": one.n_runs - one.n_not_applicable}),
            "decided": share(one.decided),
            "correct": one.n_correct,
            "incorrect": one.n_incorrect,
            "of these failed": share(one.precision),
            "of all failed": share(one.failing).split(" (")[0],
            "failed runs flagged": share(one.recall),
        }
        for one in rows
    ]


def faults_in_words(rows: Iterable[FaultsFound]) -> list[dict[str, Any]]:
    """Located faults, and how many of them each judge finds: on their axis, at their step, on any axis."""
    rows = [*rows]
    return [
        {
            "located by": one.labeller,
            "judge": one.judge,
            "set": one.domain,
            **_axis(one, rows),
            "faults": one.n_faults,
            "on their axis": count(one.on_axis),
            "at their step": count(one.at_step),
            "on any axis": count(one.on_any),
            "undecided": count(one.undecided).split(" (")[0],
            "called not applicable": "–" if one.axis == ANY_STEP else count(one.not_applicable).split(" (")[0],
        }
        for one in rows
    ]


def _axis(one: Decided | FaultsFound, rows: Sequence[Decided | FaultsFound]) -> dict[str, str]:
    """The axis of a row, where a table has several."""
    return {"axis": one.axis} if len({row.axis for row in rows}) > 1 else {}


def kinds_in_words(rows: Iterable[KindCount]) -> list[dict[str, Any]]:
    """What each kind of finding flags, and how many of the runs flagged had failed."""
    return [
        {
            "kind": one.kind,
            "axis": one.axis,
            "failed of flagged": count(one.precision),
            "looked at": count(one.looked_at).split(" (")[0],
            "unseen": count(one.unseen).split(" (")[0],
            "wrong of labelled steps": count(one.on_steps).split(" (")[0],
        }
        for one in rows
    ]


def count(rate: Estimate) -> str:
    """A share as a count, ``13 of 142 (4% to 20%)``; of few items without ends, of none a dash."""
    if not rate.n_items:
        return "–"
    ends = f" ({rate.interval('.0%')})" if rate.n_items >= FEWEST else ""
    return f"{round(rate.estimate * rate.n_items)} of {rate.n_items:,}{ends}"


def share(rate: Estimate) -> str:
    """A share with its ends, ``9% (4% to 20%)``; of few items as a count, of none a dash."""
    return rate.worded(".0%") if rate.n_items >= FEWEST else count(rate)
