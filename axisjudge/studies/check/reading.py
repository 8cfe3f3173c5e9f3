"""Files and tables of any kind as columns of cell texts, nothing guessed and nothing dropped in silence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.imports.sheets import read_columns
from axisjudge.studies._shared.frames import Kind, kind_of, narwhals_of

Cells = list[str | None]


@dataclass(frozen=True)
class CellTable:
    """Columns of texts, None where a cell is empty; `kind` is the package whose tables the caller uses."""

    columns: Mapping[str, Cells]
    source: str
    kind: Kind = "pandas"

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), []))

    def where(self, conditions: Iterable[str]) -> CellTable:
        """The rows that meet every condition ``COLUMN=WORD``."""
        conditions, kept = list(conditions), list(range(self.n_rows))
        for condition in conditions:
            name, equals, word = condition.partition("=")
            if not equals or name not in self.columns:
                raise InputError("--where", "must be COLUMN=WORD with a column of the file", condition, self.named())
            cells = self.columns[name]
            kept = [row for row in kept if (cells[row] or "").strip() == word.strip()]
        if not conditions:
            return self
        if not kept:
            raise InputError("--where", "leaves no row", ", ".join(conditions))
        columns = {name: [cells[row] for row in kept] for name, cells in self.columns.items()}
        return CellTable(columns, self.source, self.kind)

    def named(self) -> str:
        """The columns, for the end of an error."""
        return f"the columns are {', '.join(self.columns)}"


def read_cells(table: Any) -> CellTable:
    """A file (CSV, TSV, JSON, JSON Lines, Parquet), a pandas, polars or arrow table, or a dict of columns.

    Raises
    ------
    InputError
        Not a table, no rows, columns that share a name or differ in length.
    """
    if isinstance(table, (str, Path)):
        path = Path(table)
        columns = {name: _cells(values) for name, values in read_columns(path).items()}
        return _checked(CellTable(columns, str(path)))
    if isinstance(table, Mapping):
        columns = {str(name): _cells(list(values)) for name, values in table.items()}
        return _checked(CellTable(columns, "table"))
    frame = narwhals_of(table, "table")
    columns = {str(name): _cells(frame[name].to_list()) for name in frame.columns}
    return _checked(CellTable(columns, "table", kind_of(table)))


def _checked(table: CellTable) -> CellTable:
    lengths = {name: len(cells) for name, cells in table.columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(table.source, "all columns must be of one length", lengths)
    if not table.n_rows:
        raise InputError(table.source, "holds no rows", cure="a header line and one row a rated item are needed")
    return table


def _cells(values: Sequence[Any]) -> Cells:
    return [_cell(value) for value in values]


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value)
