"""The edge where tables of any kind come in, and go back as the caller's kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.ratings import SCHEMA, as_ratings
from axisjudge.ratings.edge import MADE_UP as MADE_UP
from axisjudge.ratings.edge import of_columns, of_narwhals, with_families
from axisjudge.results import columns as named_columns
from axisjudge.results import row
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.verdict import AXES

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Floats = NDArray[np.float64]


def words_of(codes: Floats, words: Sequence[str]) -> NDArray[np.object_]:
    """Positions in `words` as words; None where nothing came."""
    return np.asarray(np.array([*words, None], dtype=object)[np.where(np.isnan(codes), -1, codes).astype(int)])


def mean_of(values: Floats) -> float:
    """Mean of what is there; NaN where nothing is."""
    given = values[~np.isnan(values)]
    return float(given.mean()) if given.size else math.nan


def cube(table: pl.DataFrame, sides: Mapping[str, Sequence[Any]], values: pl.Series) -> Floats:
    """Values as an array with an axis for each column of `sides`, whose known values it names; NaN where none is."""
    at = (
        table[name].replace_strict(list(known), list(range(len(known))), return_dtype=pl.Int64).to_numpy()
        for name, known in sides.items()
    )
    array = np.full([len(known) for known in sides.values()], np.nan)
    array[tuple(at)] = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return array


def over_tasks(
    table: pl.DataFrame, values: pl.Expr, *, ci_level: float, tasks: str = "cluster_id", of: Any = clustered_proportion
) -> Estimate:
    """The share, or the mean, of `values` where they are known, with its interval over the column `tasks`."""
    known = table.select(values.cast(pl.Float64).fill_null(math.nan)).to_series().to_numpy()
    share: Estimate = of(known, table[tasks].to_numpy(), cluster_unit="task", ci_level=ci_level)
    return share


def questions_in_order(questions: Iterable[str]) -> list[str]:
    """The five axes among the questions in the project's order, then the others by name."""
    named = set(questions)
    return [*(axis for axis in AXES if axis in named), *sorted(named - set(AXES))]


def first_of_each(table: pl.DataFrame, columns: Sequence[str], n_keys: int = 1) -> pl.DataFrame:
    """Each key (the first of `columns`) once, in order; where rows of it differ, the first by what they say."""
    rows = table.select(columns).unique().sort(columns, nulls_last=True)
    return rows.unique(list(columns)[:n_keys], keep="first", maintain_order=True)


def commonest(labels: pl.DataFrame) -> pl.DataFrame:
    """item_id, question and label: the commonest verdict of each item and question; no row on a tie."""
    item = ("item_id", "question")
    counts = labels.drop_nulls("verdict").group_by(*item, "verdict").len()
    top = counts.filter(pl.col("len") == pl.col("len").max().over(*item))
    return top.filter(pl.len().over(*item) == 1).select(*item, label="verdict")


SCOPE = "All of this is about these judges, agents and tasks."


def made_up_raters(*tables: pl.DataFrame | None) -> tuple[str, ...]:
    """The raters of ratings that a program made that plays a judge, or that were put there on purpose."""
    made = (table.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"] for table in tables if table is not None)
    return tuple(sorted({rater for raters in made for rater in raters}))


def banner(made_up: Sequence[str]) -> str:
    """The warning that some ratings are made up, naming their raters; empty where there are none."""
    return f"SIMULATED OR PLANTED ratings, not the verdicts of judges: {', '.join(made_up)}." if made_up else ""


Kind = Literal["polars", "pandas", "pyarrow"]


class Table(Protocol):
    """A table of polars, pandas or arrow: columns with names, taken by name."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __len__(self) -> int: ...


#: What a caller may give: a table, or a dict of columns.
Given = Table | Mapping[str, Any]


def to_polars(frame: Given, columns: Iterable[str], *, where: str) -> pl.DataFrame:
    """The named columns of a polars, pandas or arrow table, or of a dict of columns, as polars.

    Raises
    ------
    InputError
        Not a table, or a column is missing; `where` names the argument.
    """
    names = list(columns)
    if isinstance(frame, pl.DataFrame) and set(names) <= set(frame.columns):
        own = frame.select(names)
        return with_families(own) if {"rater", "rater_kind", "family"} <= set(names) else own
    if set(names) <= SCHEMA.keys() and "rater" in names:
        return as_ratings(frame, where=where).select(names)
    table = narwhals_of(of_columns(frame) if isinstance(frame, Mapping) else frame, where)
    if missing := [name for name in names if name not in table.columns]:
        raise InputError(where, f"must have the columns {', '.join(names)}", cure=f"add {', '.join(missing)}")
    return of_narwhals(table.select(names))


def columns_of(frame: Given) -> list[str]:
    """The names of a table's columns."""
    return list(frame if isinstance(frame, Mapping) else narwhals_of(frame, "table").columns)


def kind_of(frame: Given | pl.LazyFrame) -> Kind:
    """Which package's tables the caller uses: ``polars``, ``pandas`` or ``pyarrow`` (pandas for a dict)."""
    if isinstance(frame, Mapping):
        return "pandas"
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return "polars"
    implementation = str(narwhals_of(frame, "table").implementation)
    kinds: dict[str, Kind] = {"pandas": "pandas", "pyarrow": "pyarrow"}
    return kinds.get(implementation, "polars")


def table_of(rows: Sequence[Mapping[str, Any]], kind: Kind, *, columns: Sequence[str] = ()) -> Table:
    """Rows as a table of the caller's kind; `columns` names them where there may be no row to tell."""
    import narwhals.stable.v2 as nw

    names = list(rows[0]) if rows else columns
    values = {name: [row[name] for row in rows] for name in names}
    blank = {name: _type_of(name) for name, cells in values.items() if all(cell is None for cell in cells)}
    table = nw.from_dict(values, backend=kind)
    if kind == "polars":  # a column of nothing has a type all the same, and NaN, above all numbers there, is null
        table = table.with_columns(nw.col(name).cast(type_) for name, type_ in blank.items())
        table = table.with_columns(nw.selectors.by_dtype(nw.Float64).fill_nan(None))
    elif kind == "pandas":
        table = table.with_columns(nw.col(name).cast(type_) for name, type_ in blank.items() if type_ is nw.Float64)
    own: Table = table.to_native()
    return own


def _type_of(name: str) -> Any:
    """What a column holds where a table has no row, or nothing in it: words, yes or no, else numbers."""
    import narwhals.stable.v2 as nw

    return nw.String if name in _WORDS else nw.Boolean if name in ("flipped", "same_verdict") else nw.Float64


#: Columns of words.
_WORDS = named_columns(
    "agent agent_family agents axis band both_cite category claim claimed cluster_unit coefficient "
    "commonest_verdict component dimension domain edit expected family family_1 family_2 feature form item judge "
    "judge_family judge_said judges kind label labeller lineage measure method name note of one_rationale one_says "
    "other other_family other_judge other_rationale other_says outcome people_said quantity question rater reason "
    "refusal role rubric_version rule run scale scenario sentence source spec stratum task tool trajectory_id unit "
    "verdict version way what widest_axis word"
)


def frame_of(parts: Iterable[object], columns: Mapping[str, str], kind: Kind) -> Table:
    """One row a part; `columns` says where in it each value stands (``{"low": "auc.ci_low"}``), None beyond None."""
    return table_of(rows_of(parts, columns), kind, columns=list(columns))


def rows_of(parts: Iterable[object], columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row a part, as `frame_of` takes them."""
    return [row(part, columns) for part in parts]


def rows_by(column: str, parts: Mapping[str, object], columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row a part as `frame_of` takes them, its name first, in `column`."""
    return [{column: name} | row(part, columns) for name, part in parts.items()]


def native(table: pl.DataFrame, kind: Kind) -> Table:
    """A polars table as one of the caller's kind."""
    own: Table = table if kind == "polars" else table.to_pandas() if kind == "pandas" else table.to_arrow()
    return own


def narwhals_of(frame: Table, where: str) -> nw.DataFrame[Any]:
    """A polars, pandas or arrow table as narwhals has it; `where` names the argument in the error."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        given: Any = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
        whole: nw.DataFrame[Any] = nw.from_native(given, eager_only=True)
        _ = whole.schema  # two columns of one name come to light here
        return whole
    except DuplicateError as error:
        names = str(error).splitlines()[-1].strip("- ")
        raise InputError(where, "has two columns of one name", names, "rename one") from None
    except TypeError:
        rule = "must be a polars, pandas or arrow table, or a dict of columns"
        raise InputError(where, rule, type(frame).__name__) from None


def per_run(given: Given, column: str, *, where: str) -> dict[str, Any]:
    """A mapping of trajectory_id to the fact.

    Parameters
    ----------
    given : mapping or table
        ``{trajectory_id: fact}``, or a table with the columns trajectory_id and `column`.
    where : str
        The caller's argument, for messages.

    Raises
    ------
    InputError
        Not such a table, or two facts of one run.
    """
    if isinstance(given, Mapping) and "trajectory_id" not in given:
        return dict(given)
    table = to_polars(given, ("trajectory_id", column), where=where).unique()
    if not (twice := table.filter(table["trajectory_id"].is_duplicated())).is_empty():
        raise InputError(where, f"one {column} for each run", twice["trajectory_id"].sort()[0])
    return dict(table.iter_rows())
