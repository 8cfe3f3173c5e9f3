"""Files and tables of any kind as columns of cell texts, nothing guessed and nothing dropped in silence."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
        if not kept:
            raise InputError("--where", "leaves no row", ", ".join(conditions))
        return replace(self, columns={name: [cells[row] for row in kept] for name, cells in self.columns.items()})

    def others(self, names: Collection[str]) -> tuple[str, ...]:
        """The columns that are none of these."""
        return tuple(name for name in self.columns if name not in names)

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
    source = "table"
    kind: Kind = "pandas"
    given: Mapping[Any, Sequence[Any]]
    if isinstance(table, (str, Path)):
        source, given = str(Path(table)), read_columns(Path(table))
    elif isinstance(table, Mapping):
        given = {name: list(values) for name, values in table.items()}
    else:
        kind, frame = kind_of(table), narwhals_of(table, "table")
        given = {name: frame[name].to_list() for name in frame.columns}
    columns = {str(name): [_cell(value) for value in values] for name, values in given.items()}
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(source, "all columns must be of one length", lengths)
    if not any(lengths.values()):
        raise InputError(source, "holds no rows", cure="a header line and one row a rated item are needed")
    return CellTable(columns, source, kind)


def _cell(value: Any) -> str | None:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)
