"""Files and tables of any kind as columns of cell texts, nothing guessed and nothing dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.imports.recognise import texts
from axisjudge.imports.sheets import read_sheet, unpacked
from axisjudge.studies._shared.frames import Kind, kind_of, narwhals_of

_OF_TOOLS = (".json", ".jsonl", ".eval")
_SIGNS = {">=": ge, "<=": le, ">": gt, "<": lt}


@dataclass(frozen=True)
class CellTable:
    """Cells as texts, null where empty; `kind` is the package whose tables the caller uses."""

    frame: pl.DataFrame
    source: str
    kind: Kind = "pandas"
    notes: tuple[str, ...] = ()

    def where(self, conditions: Iterable[str]) -> CellTable:
        """The rows that meet every condition ``COLUMN=WORD``."""
        conditions, kept = list(conditions), self.frame
        for condition in conditions:
            name, equals, word = condition.partition("=")
            if not equals or name not in kept.columns:
                cure = f"the columns are {', '.join(kept.columns)}"
                raise InputError("--where", "must be COLUMN=WORD with a column of the file", condition, cure)
            kept = kept.filter(pl.col(name).fill_null("").str.strip_chars() == word.strip())
        if not kept.height:
            raise InputError("--where", "leaves no row", ", ".join(conditions))
        return replace(self, frame=kept)

    def passing(self, rules: Iterable[str]) -> CellTable:
        """The table with numbers as pass or fail, by rules ``COLUMN >= NUMBER``; an empty cell stays empty."""
        frame = self.frame
        for rule in rules:
            parts = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*", rule)
            if not parts or parts[1] not in frame.columns:
                cure = f"such as --pass-if 'score >= 0.5'; the columns are {', '.join(frame.columns)}"
                raise InputError("--pass-if", "must be COLUMN >= NUMBER with a column of the file", rule, cure)
            numbers = frame[parts[1]].str.strip_chars().cast(pl.Float64, strict=False)
            if (off := frame[parts[1]].filter(numbers.is_null())).drop_nulls().len():
                raise InputError(f"--pass-if {rule!r}", f"{parts[1]} must hold numbers", off.drop_nulls()[0])
            passed = _SIGNS[parts[2]](numbers, float(parts[3]))
            words = pl.when(passed).then(pl.lit("pass")).when(passed.not_()).then(pl.lit("fail"))
            frame = frame.with_columns(words.alias(parts[1]))
        return replace(self, frame=frame)

    def with_item(self, names: Sequence[str]) -> tuple[CellTable, str]:
        """The table and the column that names its items: of several, one that joins them."""
        if len(names) < 2:
            return self, names[0] if names else ""
        if absent := [name for name in names if name not in self.frame.columns]:
            cure = f"the columns are {', '.join(self.frame.columns)}"
            raise InputError("--item", "must name a column of the file", absent[0], cure)
        joined = " + ".join(names)
        return replace(self, frame=self.frame.with_columns(pl.concat_str(names, separator="/").alias(joined))), joined


def read_cells(table: Any) -> CellTable:
    """A file (any that `axisjudge.imports.sheets` reads), a pandas, polars or arrow table, or a dict of columns.

    Raises
    ------
    InputError
        Not a table, no rows, columns that share a name or differ in length.
    """
    source = "table"
    notes: tuple[str, ...] = ()
    kind: Kind = "pandas"
    given: Mapping[Any, Sequence[Any]]
    if isinstance(table, (str, Path)):
        source = str(Path(table))
        with unpacked(Path(table)) as path:
            if path.suffix in _OF_TOOLS and path.is_file():
                _refuse_export(path, source)
            given, notes = read_sheet(path)
    elif isinstance(table, Mapping):
        given = {name: list(values) for name, values in table.items()}
    else:
        kind, frame = kind_of(table), narwhals_of(table, "table")
        given = {name: frame[name].to_list() for name in frame.columns}
    lengths = {str(name): len(cells) for name, cells in given.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(source, "all columns must be of one length", lengths)
    if not any(lengths.values()):
        raise InputError(source, "holds no rows", cure="a header line and one row a rated item are needed")
    return CellTable(texts({str(name): cells for name, cells in given.items()}), source, kind, tuple(notes))


def _refuse_export(path: Path, source: str) -> None:
    """Refuse the export of a tool, which is told from a table by what `import` reads."""
    from axisjudge.imports.api import tool_of

    if tool := tool_of(path):
        rule = f"is an export of {tool}, which says itself who rated what"
        cure = f"axisjudge import {source} --out ratings.jsonl && axisjudge agreement ratings.jsonl"
        raise InputError(source, rule, cure=cure)
