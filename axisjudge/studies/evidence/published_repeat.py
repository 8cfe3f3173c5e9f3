"""A published repeat of one judge: what one item asked again shows, and what it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.raters.repeats import SelfAgreement, self_agreement
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, table_of, to_polars
from axisjudge.studies.evidence import sentences as words


@dataclass(frozen=True)
class PublishedRepeat(Result):
    """One judge's published calls with one prompt on one run and axis, in their order."""

    _keys = ("simulation", "axis", "judge", "calls", "with_itself")
    of_ratings: ClassVar[bool] = False  # published figures; a page's banner does not concern them

    simulation: int
    axis: str
    judge: str
    calls: tuple[tuple[str, float], ...]
    with_itself: SelfAgreement
    kind: Kind

    def to_frame(self) -> Table:
        """One row a call."""
        rows = [
            {"call": call, "verdict": verdict, "confidence": confidence}
            for call, (verdict, confidence) in enumerate(self.calls, start=1)
        ]
        return table_of(rows, self.kind)

    @property
    def sentence(self) -> str:
        """What one item asked again shows, and what it does not."""
        return words.published(self.judge, self.axis, self.simulation, self.calls, self.with_itself.flips)


def published_repeat(calls: Given) -> PublishedRepeat:
    """What a published repeat of one judge on one run and axis shows and does not show.

    Parameters
    ----------
    calls : table
        Columns simulation, axis, judge, call, verdict, confidence: one row a call, two or more.

    Raises
    ------
    InputError
        Fewer than two calls, a call that stands twice, or calls of several judges, runs or axes.
    """
    columns = ("simulation", "axis", "judge", "call", "verdict", "confidence")
    table = to_polars(calls, columns, where="calls").sort("call")
    if table.select("simulation", "axis", "judge").n_unique() > 1:
        raise InputError("calls", "must be of one judge on one run and axis", cure="filter first")
    if table.height < 2 or table["call"].is_duplicated().any():
        raise InputError("calls", "must be two or more, each once", table["call"].to_list())
    row = table.row(0, named=True)
    words = list(dict.fromkeys(table["verdict"]))
    return PublishedRepeat(
        simulation=row["simulation"],
        axis=row["axis"],
        judge=row["judge"],
        calls=tuple(table.select("verdict", "confidence").iter_rows()),
        with_itself=self_agreement([[float(words.index(word)) for word in table["verdict"]]]),
        kind=kind_of(calls),
    )
