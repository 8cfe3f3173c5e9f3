"""Does a judge notice what is broken, and only that? (notebook 11, `axisjudge twins`)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

import polars as pl

from axisjudge.figures import theme
from axisjudge.ratings import as_ratings
from axisjudge.ratings.edge import BY_JUDGE, by_raters
from axisjudge.results import columns
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, made_up_raters, table_of
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import in_cell, judge_words, many
from axisjudge.studies.twins import sentences as say
from axisjudge.studies.twins.matrix import (
    ANYWHERE,
    CONTROL,
    MUST_NOT_MARGIN,
    MUST_RATE,
    Halo,
    Injected,
    Thresholds,
    TwinCell,
    TwinMatrix,
    halo,
    injected,
    twin_matrix,
)
from axisjudge.twins import Twin, TwinSet
from axisjudge.verdict import AXES

#: How an expectation and a claim stand in a cell.
_EXPECTED = {"must": "must move", "must_not": "must not", "may": "may"}
#: What a claim says of a judge where an edit breaks an axis, and where it leaves it whole.
_NOTICED = {
    "must": {"met": "noticed", "failed": "missed"},
    "must_not": {"met": "unmoved", "failed": "moved too often"},
}
_CLAIM = {"met": "✓", "not shown": "?", "failed": "✗", "": ""}


def plot_twin_matrix(matrix: TwinMatrix, judge: str | None = None, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Moved rates of one judge, edits down and axes across.

    Colour is the rate; each cell says what is expected, moved of decided, the interval over tasks, and whether the
    claim is met, so that colour is never needed.
    """
    judge = judge or matrix.judges[0]
    cells = [[matrix.cell(judge, edit, axis) for axis in AXES] for edit in matrix.edits]
    ax = theme.new_axes(2.4 + 1.5 * len(AXES), 1.2 + 0.72 * len(cells)) if ax is None else ax
    rows = [f"{theme.in_words(line[0].edit)}\n{many(line[0].n_twins, 'twin')}" for line in cells]
    columns = [theme.in_words(axis).replace(" ", "\n") for axis in AXES]
    theme.plot_heatmap([[cell.rate.estimate for cell in line] for line in cells], ax=ax, rows=rows, columns=columns)
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            _write(ax, row, column, cell)
    asked = matrix.thresholds
    claims = (
        f"✓ shown ({asked.must_rate:.0%} or more where it must move, under {asked.margin:.0%} where it must not), "
        "? not shown, ✗ refuted; undecided twins count against the claim"
    )
    note = f"moved / decided twins of originals called correct; {asked.ci_level:.0%} intervals over tasks"
    ax.set_xlabel(f"{note}\n{claims}", fontsize=theme.SMALL, color=theme.QUIET, loc="left")
    return theme.dress(ax, f"Verdicts that moved to incorrect: {judge}", how=f"{note}; {claims}")


def plot_noticed(matrix: TwinMatrix, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Of the first judge the share of verdicts that moved: where an edit breaks an axis, and where it breaks nothing.

    Of an edit that breaks nothing the axis on which the most may have moved stands for all.
    """
    mine = [cell for cell in matrix.cells if cell.judge == matrix.judges[0] and cell.started]
    broken = sorted((cell for cell in mine if cell.expected == "must"), key=lambda cell: -cell.rate.estimate)
    breaking = {cell.edit for cell in matrix.cells if cell.expected == "must"}
    whole = [
        max((cell for cell in reversed(mine) if cell.edit == edit), key=lambda cell: cell.rate.ci_high)
        for edit in dict.fromkeys(cell.edit for cell in mine if cell.edit not in breaking)
    ]
    rows, asked = [*broken, *whole], matrix.thresholds
    ax = theme.new_axes(7.4, 1.6 + 0.36 * len(rows)) if ax is None else ax
    for at, cell in enumerate(rows):
        colour = theme.ACCENT if cell in broken else theme.QUIET
        theme.interval_mark(ax, cell.rate, at, filled=cell in broken, colour=colour)
        counted = f"{cell.moved} of {cell.rate.n_items}{'' if cell in broken else ' false alarms'}"
        what = _NOTICED[cell.expected].get(cell.claim, "unsure")
        says = counted if what == "unsure" and cell not in broken else f"{counted}: {what}"
        bound = f"under {asked.must_rate:.0%}" if cell in broken else f"over {asked.margin:.0%}"
        why = f", maybe {bound}" if what == "unsure" else ""
        theme.at_the_right(ax, at, f"{says}{why}", label=f"{theme.PHONE}{says}")
    parts = [theme.in_words(cell.axis) if cell in broken else "nothing broken" for cell in rows]
    theme.named_rows(ax, [f"{theme.in_words(cell.edit)}: {part}" for cell, part in zip(rows, parts, strict=True)])
    ax.axvline(asked.must_rate, color=theme.QUIET, linewidth=1, linestyle="--")
    theme.percent_axis(ax)
    note = f"runs called incorrect after an edit; dashed: {asked.must_rate:.0%}; hollow: nothing broken"
    how = f"{note}; {asked.ci_level:.0%} intervals over tasks"
    return theme.dress(ax, f"Edits noticed by {judge_words(matrix.judges[0])}", note, how=how)


def _write(ax: theme.Axes, row: int, column: int, cell: TwinCell) -> None:
    write = partial(theme.cell_text, ax, row, column)
    write(_EXPECTED[cell.expected], down=-0.3, quiet=cell.rate.estimate <= 0.3, fontsize=theme.SMALL)
    if not cell.started:
        write("none correct", down=0.05, quiet=True, fontsize=theme.SMALL)
        return
    share = f"{cell.moved}/{cell.rate.n_items} {_CLAIM[cell.claim]}".strip()
    write(share, fontsize=theme.LABEL + 1, fontweight="bold" if cell.expected == "must" else "normal")
    undecided = f", {cell.undecided} undecided" if cell.undecided else ""
    write(say.percent_interval(cell) + undecided, down=0.3, fontsize=theme.SMALL - 0.5)


class EditsMade(Part, name="edits", caption="Twins made, and runs refused by reason", of_ratings=False):
    """Twins made, and runs refused by reason; `examples` has what each edit did to one run."""

    _keys: ClassVar = {"edits": "rows"}

    rows: tuple[Mapping[str, str | int], ...]
    runs_behind: tuple[Mapping[str, str], ...]
    examples: tuple[Mapping[str, str | None], ...]
    n_runs: int

    @property
    def table(self) -> Table:
        """One row an edit and what came of it."""
        return table_of(self.rows, self.kind, columns=("edit", "runs", "what came of it"))

    @property
    def behind(self) -> Sequence[Mapping[str, str]]:
        """The twins of each row, or the runs that were refused."""
        return self.runs_behind

    @property
    def answer(self) -> str:
        """How many twins were made of how many runs."""
        made = sum(int(row["runs"]) for row in self.rows if row["what came of it"] == "twin made")
        return f"Twins made: {made:,}; runs edited: {self.n_runs:,}."


def edits_made(made: TwinSet, n_runs: int, *, kind: Kind = "polars") -> EditsMade:
    """What `axisjudge.twins.make_twins` made of so many runs."""
    first = {twin.edit: twin for twin in reversed(made.twins)}
    examples = tuple(
        {"edit": edit, "breaks": of.axis, "example": of.what, "original": of.original_id, "twin": of.trajectory.id}
        for edit, of in sorted(first.items())
    )
    return EditsMade(tuple(made.rows()), tuple(made.behind), examples, n_runs, kind=kind)


class MovedVerdicts(Part, name="matrix", caption="Moved verdicts, by what is expected of them", behind={"names": "~"}):
    """How often verdicts move between originals and twins, judge by judge, edit by edit, axis by axis."""

    _flat = ("matrix",)

    matrix: TwinMatrix

    @property
    def table(self) -> Table:
        """One row a judge, edit and axis; `strict_` counts undecided twins against the claim, and decides it."""
        return table_of([cell.named_values() for cell in self.matrix.cells], self.kind)

    @property
    def answer(self) -> str:
        """The claims of each judge that are met, not shown and refuted."""
        return " ".join(claim for judge in self.matrix.judges for claim in say.claims(self.matrix, judge))

    def plot(self, ax: theme.Axes | None = None, *, judge: str | None = None) -> theme.Axes:
        """Of the first judge what moved where something broke and where nothing did; of a `judge` the whole matrix."""
        if not any(cell.started for cell in self.matrix.cells):
            return super().plot(ax)
        return plot_twin_matrix(self.matrix, judge, ax=ax) if judge else plot_noticed(self.matrix, ax=ax)


def moved_verdicts(
    ratings: Given,
    twins: Iterable[Twin],
    *,
    judges: Sequence[str] | None = None,
    must_rate: float = MUST_RATE,
    margin: float = MUST_NOT_MARGIN,
    ci_level: float = 0.95,
) -> MovedVerdicts:
    """Whether a verdict moves where one axis was broken, and stays where nothing was.

    Parameters
    ----------
    ratings : table
        Ratings of originals and twins by the same judges (polars, pandas, arrow, or a dict of columns), one rating for
        each run, axis, judge and repeat; the first repeat counts. In the matrix uncertain of rules is taken as correct.
    twins : iterable of Twin
        As `axisjudge.twins.make_twins` makes and `axisjudge.twins.twins_in` finds them.
    judges : sequence of str, optional
        Which raters; by default all but people and the planted truth.
    must_rate : float
        A verdict that must move has to do so at this rate or more, by the lower bound.
    margin : float
        One that must not move may do so in fewer than this share of twins, by the upper bound.
    ci_level : float
        Of intervals, which take tasks as clusters; they are two-sided, so each claim is made at half the error.

    Raises
    ------
    InputError
        A twin has no rating at all, or a judge rated one run twice on an axis (by two rubric versions, say).
    """
    table = as_ratings(ratings)
    matrix = twin_matrix(table, list(twins), judges=judges, thresholds=Thresholds(must_rate, margin, ci_level))
    return MovedVerdicts(matrix, kind=kind_of(ratings), made_up=made_up_raters(table))


_TEXTS = columns(
    "judge text=edit place twins=n_twins flagged pairs=flips.n_items flipped~~=flips",
    "taken_in~ confidence_moved~=confidence lost",
)


class TextForJudges(
    Part,
    name="injections",
    caption="Text for the judge: pairs of run and twin",
    formats=dict.fromkeys((name for name, path in _TEXTS.items() if ".ci_" in path or ".estimate" in path), ".3f"),
    behind={"agent": "", "names": "~"},
):
    """What text that speaks to the judge did to each judge, by kind of text, beside plain text as the control."""

    _rows = "rows", _TEXTS
    _keys: ClassVar = {"injections": "rows"}

    rows: tuple[Injected, ...]

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that read such text."""
        return tuple(dict.fromkeys(row.judge for row in self.rows))

    @property
    def answer(self) -> str:
        """Whether each judge's verdicts flip more than beside the control."""
        return " ".join(say.injection_sentence(self.rows, judge) for judge in self.judges)

    def plot(self, ax: theme.Axes | None = None, *, judge: str | None = None) -> theme.Axes:
        """Flip rate of one judge (the first) by kind of text, and of those taken in."""
        if not self.rows:
            return super().plot(ax)
        judge = judge or self.judges[0]
        mine = [row for row in self.rows if row.judge == judge and row.place == ANYWHERE]
        ax = theme.new_axes(8.4, 1.6 + 0.5 * len(mine)) if ax is None else ax
        for at, row in enumerate(mine):
            theme.interval_mark(ax, row.flips, at - 0.12)
            theme.interval_mark(ax, row.taken_in, at + 0.14, colour=theme.QUIET, filled=False, size=5)
            theme.at_the_right(ax, at, in_cell(row.confidence, "+.3f"))
        names = [f"{theme.in_words(row.edit)}{' (control)' if row.edit == CONTROL else ''}" for row in mine]
        theme.named_rows(ax, names)
        ends = (end for row in mine for end in (row.flips.ci_high, row.taken_in.ci_high, row.flips.estimate))
        theme.percent_axis(ax, min(1.0, max([0.05, *(end for end in ends if end == end)])))  # without NaN
        taken_in = "taken in: became correct, of the rest"
        theme.legend_below(ax, {"flipped, of all pairs": theme.FILLED, taken_in: theme.HOLLOW}, inches=0.5)
        note = "share of pairs, with its interval over tasks; at the right the mean move of confidence, and its own"
        ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left")
        pairs = "of pairs whose original was not called correct, the share that became correct"
        how = f"filled: share of all pairs that flipped; hollow: {pairs}"
        level = f"; {mine[0].flips.ci_level:.0%} intervals over tasks" if mine else ""
        return theme.dress(ax, f"Verdicts that flipped after text for the judge: {judge}", how=f"{how}{level}")


def text_for_judges(
    ratings: Given, twins: Iterable[Twin], *, judges: Sequence[str] | None = None, ci_level: float = 0.95
) -> TextForJudges:
    """Whether text in a run that speaks to the judge moves its verdict or its confidence."""
    table = as_ratings(ratings)
    rows = injected(table, list(twins), judges=judges, ci_level=ci_level)
    return TextForJudges(tuple(rows), kind=kind_of(ratings), made_up=made_up_raters(table))


class HaloOfJudges(
    Part, name="halo", caption="Correlation between axes", behind={"names": "!~", "word": "correct\nincorrect"}
):
    """Correlation of each judge's verdicts between axes, on the originals, beside that of labels."""

    _keys: ClassVar = {"halo": "halos"}

    halos: tuple[Halo, ...]

    @property
    def table(self) -> Table:
        """One row a judge."""
        rows = [{key: value for key, value in each.named_values().items() if key != "by_pair"} for each in self.halos]
        return table_of(rows, self.kind, columns=["judge"])

    @property
    def answer(self) -> str:
        """How far each judge's verdicts hang together beyond the faults."""
        return " ".join(say.halo_sentence(each) for each in self.halos)


def halo_of_judges(
    ratings: Given,
    twins: Iterable[Twin] = (),
    labels: Given | None = None,
    *,
    judges: Sequence[str] | None = None,
    ci_level: float = 0.95,
) -> HaloOfJudges:
    """The judge's mean correlation over pairs of axes minus that of the labels, on originals.

    Parameters
    ----------
    labels : table, optional
        Ratings of the originals by people or of planted truth, without which a correlation is not called halo.

    Raises
    ------
    InputError
        Labels of neither people nor planted truth.
    """
    table = as_ratings(ratings)
    kept = ~pl.col("trajectory_id").is_in([twin.trajectory.id for twin in twins])
    halos = halo(by_raters(table.filter(kept, BY_JUDGE), judges), labels, ci_level=ci_level)
    made_up = made_up_raters(table, None if labels is None else as_ratings(labels))
    return HaloOfJudges(halos, kind=kind_of(ratings), made_up=made_up)


class Twins(Study):
    """How often verdicts move, what text for the judge did, and how each judge's verdicts hang together."""

    moved: MovedVerdicts
    text: TextForJudges
    halo: HaloOfJudges

    @property
    def answer(self) -> str:
        """How many claims are met, not shown and refuted, and which broken axis is least surely noticed."""
        return answer_of(self.moved, self.text)


def answer_of(moved: MovedVerdicts, text: TextForJudges) -> str:
    """How many claims are met, not shown and refuted; where only text for the judge was tried, what it moved."""
    return say.answer(moved.matrix) if moved.matrix.cells or not text.rows else say.most_moved(text.rows)


def next_step(moved: MovedVerdicts) -> str:
    """On which axes not to trust a judge, and what of it more twins may show."""
    return say.next_step(moved.matrix)


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
    ratings, twins, judges, must_rate, margin, ci_level
        As `moved_verdicts` takes them.
    labels
        As `halo_of_judges` takes them.

    Raises
    ------
    InputError
        As its parts.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.twins import make_twins
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories[:8]
    >>> made = make_twins(runs, ["cut_tail"]).twins
    >>> ratings = axisjudge.judge([*runs, *(twin.trajectory for twin in made)], progress=False)
    >>> axisjudge.studies.twins(ratings, made).moved.matrix.edits
    ('cut_tail',)
    """
    made = list(twins)
    return Twins(
        moved=moved_verdicts(ratings, made, judges=judges, must_rate=must_rate, margin=margin, ci_level=ci_level),
        text=text_for_judges(ratings, made, judges=judges, ci_level=ci_level),
        halo=halo_of_judges(ratings, made, labels, judges=judges, ci_level=ci_level),
    )


open_door(twins)
