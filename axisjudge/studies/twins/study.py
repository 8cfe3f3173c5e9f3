"""`axisjudge.studies.twins`: whether judges notice what is broken, and only that, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from axisjudge.ratings import as_ratings
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, table_of
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.twins.figures import plot_injections, plot_twin_matrix
from axisjudge.studies.twins.halo import Halo, halo
from axisjudge.studies.twins.injections import Injected, injected
from axisjudge.studies.twins.matrix import MUST_NOT_MARGIN, MUST_RATE, Thresholds, TwinMatrix, twin_matrix
from axisjudge.studies.twins.sentences import answer, claims, halo_sentence, injection_sentence, most_moved
from axisjudge.studies.twins.tables import halo_row
from axisjudge.twins import Twin


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Twins(RatedResult):
    """How often verdicts move between originals and twins, and how each judge's verdicts on originals correlate.

    `injections` has what text for the judge did.

    `examples` has for each edit, by name, the axis that it breaks (None where it breaks none), what it did to one run,
    and the names of that run and of its twin.
    """

    matrix: TwinMatrix
    injections: tuple[Injected, ...]
    halos: tuple[Halo, ...]
    examples: Mapping[str, tuple[str | None, str, str, str]]
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a judge, edit and axis."""
        return table_of([cell.named_values() for cell in self.matrix.cells], self.kind)

    @property
    def halo_table(self) -> Table:
        """One row a judge: correlation between axes."""
        return table_of([halo_row(each) for each in self.halos], self.kind, columns=["judge"])

    @property
    def examples_table(self) -> Table:
        """One row an edit: what it breaks, and what it did to one run."""
        columns = ("breaks", "example", "original", "twin")
        rows = [{"edit": edit, **dict(zip(columns, told, strict=True))} for edit, told in self.examples.items()]
        return table_of(rows, self.kind, columns=["edit"])

    @property
    def answer(self) -> str:
        """How many claims are met, not shown and refuted, and which broken axis is least surely noticed."""
        return answer(self.matrix) if self.matrix.cells or not self.injections else most_moved(self.injections)

    @property
    def _on_injections(self) -> tuple[str, ...]:
        judges = dict.fromkeys(row.judge for row in self.injections)
        return tuple(injection_sentence(self.injections, judge) for judge in judges)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The claims of each judge, what text for the judge did, and its halo."""
        judges = (claims(self.matrix, judge) for judge in self.matrix.judges)
        return (*judges, *self._on_injections, *(halo_sentence(each) for each in self.halos))

    def plots(self) -> Mapping[str, Plot]:
        """The matrix of each judge, and what text for the judge did to it."""
        matrices = {
            f"twin_matrix_{number}": partial(plot_twin_matrix, self.matrix, judge)
            for number, judge in enumerate(self.matrix.judges)
        }
        judges = dict.fromkeys(row.judge for row in self.injections)
        texts = {
            f"injections_{number}": partial(plot_injections, self.injections, judge)
            for number, judge in enumerate(judges)
        }
        return {**matrices, **texts}


def twins(
    ratings: Given,
    twins: Iterable[Twin],
    labels: Given | None = None,
    *,
    judges: Sequence[str] | None = None,
    must_rate: float = MUST_RATE,
    margin: float = MUST_NOT_MARGIN,
    ci_level: float = 0.95,
) -> Twins:
    """Does a judge see what broke, and nothing else?

    Parameters
    ----------
    ratings : table
        Ratings of originals and twins by the same judges (polars, pandas, arrow, or a dict of columns), one rating for
        each run, axis, judge and repeat; the first repeat counts. In the matrix uncertain of rules is taken as correct.
    twins : iterable of Twin
        As `axisjudge.twins.make_twins` makes and `axisjudge.twins.twins_in` finds them.
    labels : table, optional
        Ratings of the originals by people or of planted truth, without which a correlation is not called halo.
    judges : sequence of str, optional
        Which raters; by default all but people and the planted truth.
    must_rate : float
        A verdict that must move has to do so at this rate or more, by the lower bound.
    margin : float
        One that must not move may do so in fewer than this share of twins, by the upper bound.
    ci_level : float
        Of intervals, which take tasks as clusters; they are two-sided, so each claim is made at half the error.

    Returns
    -------
    Twins
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        A twin has no rating at all, a judge rated one run twice on an axis (by two rubric versions, say), or labels of
        neither people nor planted truth.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.twins import make_twins
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories[:8]
    >>> made = make_twins(runs, ["cut_tail"]).twins
    >>> ratings = axisjudge.judge([*runs, *(twin.trajectory for twin in made)], progress=False)
    >>> axisjudge.studies.twins(ratings, made).matrix.edits
    ('cut_tail',)
    """
    made = list(twins)
    thresholds = Thresholds(must_rate, margin, ci_level)
    table = as_ratings(ratings)
    matrix = twin_matrix(table, made, judges=judges, thresholds=thresholds)
    is_twin = pl.col("trajectory_id").is_in([twin.trajectory.id for twin in made])
    by_named = pl.lit(True) if judges is None else pl.col("rater").is_in(list(judges))
    first = {twin.edit: (twin.axis, twin.what, twin.original_id, twin.trajectory.id) for twin in reversed(made)}
    return Twins(
        matrix=matrix,
        injections=injected(table, made, judges=judges, ci_level=ci_level),
        halos=halo(table.filter(~is_twin & by_named), labels, ci_level=ci_level),
        examples=dict(sorted(first.items())),
        made_up=made_up_raters(table, None if labels is None else as_ratings(labels)),
        kind=kind_of(ratings),
    )
