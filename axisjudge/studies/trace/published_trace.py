"""One run's verdicts side by side, an axis a row: of our judges, and of the published run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from axisjudge.results import Result
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, table_of, to_polars
from axisjudge.studies.trace import sentences
from axisjudge.studies.trace.judgements import TracedVerdict

_COLUMNS = ("axis", "judge", "family", "verdict", "confidence", "cited_step_indices")


@dataclass(frozen=True)
class PublishedTrace(Result):
    """The published verdicts of the judges on one run; steps that were not published are not known, not absent."""

    of_ratings: ClassVar[bool] = False  # published verdicts; a page's banner does not concern them
    _keys: ClassVar = ("judgements", "sentence")

    judgements: tuple[TracedVerdict, ...]
    kind: Kind

    def to_frame(self) -> Table:
        """One row an axis."""
        return table_of(side_by_side(self.judgements, unknown="not published"), self.kind)

    @property
    def sentence(self) -> str:
        """How far the judges are of one mind, where they cite common steps, and how their confidences differ."""
        return sentences.published(self.judgements)


def published_trace(verdicts: Given) -> PublishedTrace:
    """Read published verdicts on one run.

    Parameters
    ----------
    verdicts : table
        Columns axis, judge, family, verdict, confidence, cited_step_indices (numbers apart by spaces, empty where they
        were not published).

    Raises
    ------
    InputError
        A column is missing.
    """
    table = to_polars(verdicts, _COLUMNS, where="verdicts")
    judgements = tuple(
        TracedVerdict(
            axis=row["axis"],
            judge=row["judge"],
            family=row["family"],
            status="ok",
            verdict=row["verdict"],
            confidence=row["confidence"],
            cited=tuple(int(step) for step in str(row["cited_step_indices"] or "").split()),
            invalid=(),
            rationale="",
        )
        for row in table.iter_rows(named=True)
    )
    return PublishedTrace(judgements, kind_of(verdicts))


def side_by_side(judgements: Sequence[TracedVerdict], *, unknown: str = "–") -> list[dict[str, Any]]:
    """One row an axis: each judge's verdict at its confidence, then the steps that all of them cite."""
    judges = list(dict.fromkeys(each.judge for each in judgements))
    rows = []
    for axis in dict.fromkeys(each.axis for each in judgements):
        of = {each.judge: each for each in judgements if each.axis == axis}
        cells = {judge: sentences.brief(of[judge]) if judge in of else "–" for judge in judges}
        rows.append({"axis": axis, **cells, "cited by all": joined(common_steps(of.values())) or unknown})
    return rows


def common_steps(judgements: Iterable[TracedVerdict]) -> tuple[int, ...]:
    """The steps that all of them cite; none where fewer than two judged."""
    cited = [set(each.cited) for each in judgements]
    return tuple(sorted(set.intersection(*cited))) if len(cited) > 1 else ()


def joined(things: Iterable[object]) -> str:
    """Numbers or names with commas between them."""
    return ", ".join(map(str, things))
