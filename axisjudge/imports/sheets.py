"""Tables of any kind: CSV, TSV, JSON, JSON Lines, Parquet, Excel; packed (.gz, .zip) or from standard input.

JSON is read by its shape: a list of records or of rows, one under any name, a map of records by id, or columns. Records
inside a record are spread out (``scores.tone``). A list of records inside each record becomes a row each where its
records name themselves (DeepEval's metrics); where they do not, they stand side by side by their position.
"""

from __future__ import annotations

import ast
import csv
import gzip
import json
import re
import shlex
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from axisjudge.checks import InputError
from axisjudge.imports.in_a_cell import out_of_maps, raters_apart, records_in, rows_in_lists
from axisjudge.imports.recognise import CANDIDATES, NAMES, recognise, texts, tokens, who
from axisjudge.imports.rewardbench import pairs_in
from axisjudge.labels.own import decoded, separated, under_headings
from axisjudge.labels.reading import read_bytes, read_json, read_json_lines
from axisjudge.ratings.edge import taken, words_in
from axisjudge.ratings.scales import plain

#: Under these a record in a list says which of them it is.
_NAMING = {"name", *NAMES["question"], *NAMES["rater"]}
#: Of few sources each says who rated, of many where a text is from.
_SOURCE = "source"
LINES = (".jsonl", ".ndjson")
_EXCEL = (".xlsx", ".xlsm", ".xls")
_PLAIN = (".csv", ".tsv", ".json", *LINES, ".parquet", ".eval", *_EXCEL)
SUFFIXES = (*_PLAIN, ".gz", ".zip")

Row = dict[str, Any]
#: A column's cells as the file has them: a list, or a series where there may be millions.
Cells = list[Any] | pl.Series
Columns = Mapping[str, Cells]

#: Records without a name inside a record stand side by side up to so many; scalars up to so many, if they are short.
_MOST_RECORDS, _MOST_SCALARS, _SHORT = 4, 12, 30
#: A key of more letters is no id: its record goes by its number.
_LONGEST_ID = 120
#: A column of records has rows of them where at least one row in so many holds any.
_SELDOM = 10
#: More columns are no table of raters or questions.
_MOST_COLUMNS = 1_000
_OF_CONTEXT = words_in("context history messages log conversation")
_OF_ASKING = words_in("prompt prompts instruction instructions input inputs")
_OF_WORDS = words_in("probabilities logprobs")
#: Exports to CSV write such a record into one cell.
_OF_OBJECTS = words_in("scores feedback feedback_scores evaluation evaluations metrics metadata")
#: A list of records is the table where it has at least so many times the rows of every other one.
_CLEARLY = 3
#: Separated values of more bytes are read by polars.
_LARGE = 20_000_000
#: Cells that are Python objects at once.
AT_ONCE = 50_000
_WEB = ("http:/", "https:/", "s3:/", "gs:/", "hf:/")


class ReadTable(NamedTuple):
    """The columns of a table, cells as the file has them, and what was done to get them, in words.

    Where rows are those of a list in each record, `outer` holds the columns of the records themselves, a row each.
    """

    columns: Columns
    notes: tuple[str, ...] = ()
    outer: Columns = MappingProxyType({})

    def rows(self) -> list[Row]:
        """The same row by row."""
        return [dict(zip(self.columns, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True)]

    def taken(self, rows: pl.Series) -> ReadTable:
        """Some of its rows, by their numbers."""
        return ReadTable(at_rows(self.columns, rows.to_list()), self.notes, self.outer)


def at_rows(columns: Columns, which: Sequence[int]) -> Columns:
    """Columns at some rows, by their numbers; a series stays one."""
    return {
        name: cells[which] if isinstance(cells, pl.Series) else [cells[n] for n in which]
        for name, cells in columns.items()
    }


def each_cell(cells: Cells, change: Callable[[Any], Any]) -> Cells:
    """A column with every cell changed; a series stays one, and few of its cells are objects at once."""
    if isinstance(cells, list):
        return [change(cell) for cell in cells]
    parts = (cells[at : at + AT_ONCE] for at in range(0, len(cells), AT_ONCE))
    return pl.concat([pl.Series([change(cell) for cell in part], dtype=pl.String) for part in parts])


@contextmanager
def unpacked(path: Path, command: str = "check") -> Iterator[Path]:
    """The file itself, or what is packed in a .gz or .zip or comes from standard input (``-``), as a file.

    Raises
    ------
    InputError
        An address of the web, an archive of several files, or something inside that cannot be read.
    """
    if str(path).startswith(_WEB):
        address = str(path).replace(":/", "://", 1) if "://" not in str(path) else str(path)
        name = path.name or "table.csv"
        cure = f"fetch it first: curl -L -o {name} '{address}' && axisjudge {command} {name}"
        raise InputError(address, "is an address, and files are read", cure=cure)
    if str(path) != "-" and path.suffix not in (".gz", ".zip"):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        name, raw = _unpacked(path, command)
        inner = Path(folder) / Path(name).name
        inner.write_bytes(raw)
        try:
            yield inner
        except InputError as error:
            where = error.where.replace(str(inner), f"{path}" if path.suffix == ".gz" else f"{path} ({name})")
            cure = error.cure.replace(str(inner), str(path))
            raise InputError(where, error.rule, error.found, cure, error.ways) from error


def _unpacked(path: Path, command: str) -> tuple[str, bytes]:
    if str(path) == "-":
        raw = sys.stdin.buffer.read()
        if raw[:4] == b"PAR1":
            return "stdin.parquet", raw
        start = raw.lstrip()[:1]
        lines = start == b"{" and b"\n{" in raw.replace(b"\r", b"")
        return f"stdin{'.jsonl' if lines else '.json' if start in (b'{', b'[') else '.csv'}", raw
    raw = read_bytes(path)
    try:
        if path.suffix == ".gz":
            return path.stem, gzip.decompress(raw)
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
            tables = [name for name in names if Path(name).suffix in _PLAIN]
            if len(tables) == 1:
                return tables[0], archive.read(tables[0])
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(str(path), f"cannot be unpacked ({error})") from error
    listed = ", ".join((tables or names)[:6]) + (", ..." if len(tables or names) > 6 else "")
    if not tables:
        raise InputError(str(path), f"holds no table ({listed})", cure="a table or JSON file is needed")
    cure = f"unpack it: unzip {path} -d {path.stem} && axisjudge {command} {path.stem}/{tables[0]}"
    raise InputError(str(path), f"holds {len(tables)} tables ({listed}), and one is read", cure=cure)


def read_sheet(path: Path) -> ReadTable:
    """The columns of a table: Parquet, Excel, JSON or JSON Lines, else separated values.

    Separated values may have commas, semicolons, tabs or bars between them, UTF-8 (marked or not) or UTF-16.

    Raises
    ------
    InputError
        The file is broken or empty, is no table, two columns share a name, or a row has other cells than the header.
    """
    if path.suffix.lower() in _EXCEL:
        return _excel(path)
    large = path.suffix in (".csv", ".tsv") and path.is_file() and path.stat().st_size > _LARGE
    above: list[str] = []
    if (columns := _large(path) if large else None) is None:
        raw = read_bytes(path)
        if raw[:6] == b"ARROW1":
            return _of_frame(path, pl.read_ipc, "an Arrow file")
        if raw[:4] == b"PAR1" or path.suffix == ".parquet":
            return _of_frame(path, pl.read_parquet, "a Parquet file")
        text = decoded(path, raw)
        if path.suffix.lower() in (".json", *LINES) or text.lstrip()[:1] in ("{", "["):
            content = json_content(path)
            if (sheet := table_in(content, path)) is None and isinstance(content, Mapping):
                one = _spread(content)
                sheet = ReadTable({name: [cell] for name, cell in one.items()}) if len(one) <= _MOST_COLUMNS else None
            if sheet is None:
                raise InputError(str(path), "must be a list of objects, one a row, or an object of columns")
            return sheet
        columns, above = separated(path, text)
    apart, notes, outer = raters_apart(columns)
    opened, of_cells = _opened({name: _joined(cells) for name, cells in apart.items()})
    return ReadTable(opened, (*above, *notes, *of_cells), outer)


def _opened(columns: Columns) -> tuple[dict[str, Cells], list[str]]:
    """The columns with a record in each cell spread out, where these are verdicts or kept beside them; and which."""
    made: dict[str, Cells] = {}
    notes = []
    for name, cells in columns.items():
        records, n_none = ([], 0) if tokens(name) & (_OF_ASKING | _OF_CONTEXT | _OF_WORDS) else records_in(cells)
        if not records or not (plain(name) in _OF_OBJECTS or who(name) or _says_verdicts(records)):
            made[name] = cells
            continue
        made |= _positions(name, records, 1)
        notes.append(f"{name}: read as the record in each cell{f', {n_none} without one as empty' * bool(n_none)}")
    return made, notes


def _joined(cells: Cells) -> Cells:
    """Cells of several labels each, written as lists (``['a', 'b']``), as ``a + b``; ``[]`` and others as they are."""
    used = cells.unique() if isinstance(cells, pl.Series) else {*cells}
    filled = {cell for cell in used if cell[:1] == "[" and cell[-1:] == "]" and cell != "[]"}
    if not filled or not all(len(cell) <= _SHORT for cell in {*used} - filled):
        return cells
    try:
        lists = {cell: ast.literal_eval(cell) for cell in filled}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cells
    if not all(isinstance(each, list) and _are_labels(each) for each in lists.values()):
        return cells
    if len(sizes := {*map(len, lists.values())} - {0}) == 1 and sizes != {1}:  # places of one list, as in an order
        return cells
    return each_cell(cells, lambda cell: " + ".join(sorted(lists[cell])) if cell in lists else cell)


def _large(path: Path) -> Columns | None:
    """Separated values by polars; None where they are not plain, or columns share a name."""
    with path.open("rb") as stream:
        head = stream.readline().decode("utf-8-sig", errors="replace")
    separator = max((",", ";", "\t", "|"), key=head.count)
    try:
        frame = pl.read_csv(path, separator=separator, infer_schema=False, empty_string_is_null=False)
    except pl.exceptions.PolarsError:
        return None  # the slow reader names the row
    frame = taken(frame, ~pl.all_horizontal(pl.all() == ""))  # blank lines
    heads = next(csv.reader([head], delimiter=separator), [])
    names = [name.strip() or f"column {number}" for number, name in enumerate(heads, start=1)]
    return dict(zip(names, frame.get_columns(), strict=True)) if len(names) == len(set(names)) == frame.width else None


def json_content(path: Path) -> Any:
    """What a JSON or JSON Lines file holds; lines become a list."""
    if path.suffix in LINES:
        try:
            return read_json_lines(path)
        except InputError:
            if path.read_bytes().lstrip()[:1] == b"[":  # one list over many lines
                return read_json(path)
            raise
    try:
        return read_json(path)
    except InputError:
        if path.read_bytes().count(b"\n") > 1 and path.read_bytes().lstrip()[:1] == b"{":
            return read_json_lines(path)
        raise


def table_in(content: Any, path: Path | str = "file") -> ReadTable | None:
    """The table that JSON holds; None if there is none.

    Raises
    ------
    InputError
        It holds several, none of which is clearly the one.
    """
    if pairs := pairs_in(content, Path(path)):
        return ReadTable(_beside_each_other(pairs[0]), tuple(pairs[1]))
    if not (tables := _tables(content)):
        return None

    rated = {name: bool(_list_of_rows([_spread(record) for record in rows])) for name, rows in tables}
    tables.sort(key=lambda each: (not rated[each[0]], -len(each[1])))
    (name, rows), rest = tables[0], tables[1:]
    sole = rest and rated[name] and not rated[rest[0][0]]
    if rest and not sole and len(rest[0][1]) * _CLEARLY > len(rows):
        listed = ", ".join(f"{each or 'the list'} ({len(records)})" for each, records in tables[:4])
        out = re.sub(r"\W+", "_", name.rpartition(".")[2]).strip("_")
        cure = f"take one: jq {shlex.quote(f'.{name}')} {shlex.quote(str(path))} > {out}.json"
        raise InputError(str(path), f"holds several lists of records: {listed}", cure=cure)
    records, notes, outer = _columns_of(rows)
    apart, more, outer = (records, [], outer) if outer else raters_apart(records)
    columns, of_cells = _opened(apart)
    notes += [*more, *of_cells]
    if len(columns) > _MOST_COLUMNS:
        few = ", ".join([*columns][:3])
        rule = f"has {len(columns):,} columns in {len(rows):,} rows ({few}, ...): names of columns may be ids"
        raise InputError(str(path), rule, cure="write a row a rating")
    if name:
        notes.insert(0, f"rows are the {len(rows):,} records in {name}")
    notes += [f"not read: {', '.join(f'{each} ({len(rows)} records)' for each, rows in rest)}"] * bool(rest)
    return ReadTable(columns, tuple(notes), outer) if columns else None


def _tables(content: Any, name: str = "", depth: int = 0) -> list[tuple[str, list[Row]]]:
    """Lists of records under any name, with that name."""
    content = rows_in_lists(content) or content
    if isinstance(content, list):
        if content and all(isinstance(each, list) and len(each) == 2 and _is_records(each[1]) for each in content):
            content = [{"group_id": key, **record} for key, records in content for record in records]  # key and records
        return [(name, content)] if content and all(isinstance(row, dict) for row in content) else []
    if not isinstance(content, Mapping) or depth > 3:
        return []
    values = list(content.values())
    if columns := _column_lists(content):
        return [(name, [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)])]
    if len(values) > _MOST_RECORDS and all(map(_is_records, values)) and _alike([records[0] for records in values]):
        return [(name, [{"id": key, **record} for key, records in content.items() for record in records])]
    named = {key: key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key) for key in content}  # as jq does
    inner = [
        one for key, each in content.items() for one in _tables(each, f"{name}.{named[key]}".lstrip("."), depth + 1)
    ]
    if len(values) > 1 and _alike(values):  # a map of records by id, or of raters' words
        if all(who(str(key)) for key in content) and all(len(value) > _MOST_RECORDS * len(values) for value in values):
            things = dict.fromkeys(thing for value in values for thing in value)
            return [(name, [{"id": of, **{key: each.get(of) for key, each in content.items()}} for of in things])]
        long = any(len(str(key)) > _LONGEST_ID for key in content)
        ids = (f"record {n}" if long else key for n, key in enumerate(content, start=1))
        whole = [{"id": key, **value} for key, value in zip(ids, values, strict=True)]
        parts = (part for value in values for part in (value, *value.values()) if isinstance(part, Mapping))
        columnar = any(map(_column_lists, parts))
        few = all(len(rows) < len(whole) * _CLEARLY or not name for _, rows in inner)
        if not inner or (few and not columnar):
            return [(name, whole)]
    return inner


def _column_lists(content: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Lists of one length that stand beside each other, which are columns, and those of records below; else nothing."""
    lists = [value for value in content.values() if isinstance(value, list)]
    records = any(isinstance(next(iter(each), None), dict) for each in lists)
    inside = [len(cell) for cell in _spread(content).values() if isinstance(cell, list)]
    count, n_alike = Counter(inside).most_common(1)[0] if inside else (0, 0)
    sure = n_alike * 2 > len(inside) and count == max(inside) > _MOST_SCALARS  # few others, as names of judges
    if len(lists) < 2 or records or (len({*map(len, lists)}) > 1 and not sure):
        return {}
    alone = {name: cell for name, cell in content.items() if isinstance(cell, str) and len(cell) <= _LONGEST_ID}
    columns = {name: cell for name, cell in _spread(content).items() if isinstance(cell, list) and len(cell) == count}
    return {**columns, **{name: [cell] * count for name, cell in alone.items()}}  # what is said once is said of all


def _alike(values: Sequence[Any]) -> bool:
    records = all(isinstance(value, dict) and value for value in values)
    return records and len(set.intersection(*map(set, values))) * 2 >= max(map(len, values))


def _columns_of(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[Any]], list[str], Columns]:
    """Columns of records, spread out; and those of the records themselves where a list in each gave the rows."""
    rows: list[Row] = [_spread(out_of_maps(record)) for record in records]
    notes: list[str] = []
    outer: list[Row] = []
    beside: set[str] = set()  # lists side by side are not multiplied with each other
    while named := _list_of_rows(rows, beside):
        beside = {key for row in rows for key in row}
        outer = [{key: cell for key, cell in row.items() if key != named} for row in rows]
        rows, dropped = _exploded(rows, named)
        notes.append(f"each record in {named} is a row of its own")
        if dropped:
            notes.append(f"{dropped} rows have no record in {named}")
    columns = _beside_each_other(rows)
    if len(rows) == len(outer):  # one record in each list is said of the record itself
        outer = []
    return columns, notes + _accepted(columns), _beside_each_other(outer)


def _beside_each_other(rows: Sequence[Row]) -> dict[str, list[Any]]:
    heads = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, list[Any]] = {}
    for head in heads:
        columns |= _side_by_side(head or "column 1", [row.get(head) for row in rows])
    return columns


def _list_of_rows(rows: Sequence[Row], but: Set[str] = frozenset()) -> str:
    """The list of records in each row whose records are ratings of their own; nothing if there is none.

    They name themselves (DeepEval's metrics), or are many, or each has a judge's and people's own (claims).
    """
    counts = Counter(name for row in rows for name, cell in row.items() if _is_records(cell))
    names = {name for name, count in counts.items() if count * _SELDOM >= len(rows)} - but
    names = {name for name in names if not tokens(name) & _OF_CONTEXT}
    lists = {name: [row.get(name) for row in rows] for name in names}
    for name, cells in [*lists.items()]:  # an order of models is one verdict on all of them (AlpacaEval)
        if {key for cell in cells if _is_records(cell) for each in cell or () for key in each} == {"model", "rank"}:
            del lists[name]
    named = [name for name in sorted(lists) if _name_themselves(lists[name])]
    many = [name for name in sorted(lists) if any(_is_records(c) and len(c) > _MOST_RECORDS for c in lists[name] if c)]
    inside = [name for name in sorted(lists) if _hold_raters(lists[name])]
    return next(iter((*named, *inside, *(name for name in many if _says_verdicts(lists[name])))), "")


def _hold_raters(cells: Sequence[Any]) -> bool:
    """Whether records in each list hold a judge's and people's words, or a list of records that name themselves."""
    records = [each for cell in cells if _is_records(cell) for each in cell][:200]
    inner = {key for each in records for key, cell in each.items() if _is_records(cell)}
    both = any({"people", "judge"} <= {who(key) for key in {*_spread(each)} - CANDIDATES} for each in records)
    return both or any(_name_themselves([each.get(key) for each in records]) for key in inner)


def _says_verdicts(cells: Any) -> bool:
    """Whether records, or those inside them, have a cell that a person's or judge's word would stand in."""
    records = [each for cell in cells if _is_records(cell) for each in cell]
    return any(
        _says_verdicts([cell]) if isinstance(cell, list) else plain(key) in NAMES["verdict"] or bool(who(key))
        for record in records[:200]
        for key, cell in _spread(record).items()
    )


def _accepted(columns: dict[str, list[Any]]) -> list[str]:
    """Put people's own verdicts in place of whether they accepted the metric's (Ragas), and say so.

    A verdict that was not accepted is the edited one, else the other of two words; of more words it is not known.
    """
    if not {"metric_output", "is_accepted"} <= set(columns):
        return []
    outputs, accepted = columns["metric_output"], columns.pop("is_accepted")
    words = {cell for cell in outputs if isinstance(cell, str | int)}
    words = {0, 1} if words < {0, 1} else words
    other = {word: next(iter(words - {word})) for word in words} if len(words) == 2 else {}
    of_prompts = [name for name in columns if name.startswith("prompts.") and name.endswith(".verdict")]
    edits = [columns.pop(name) for name in (*of_prompts, "edited_output") if name in columns and "edited" in name]
    edited = [next((each for each in cells if each not in (None, "")), None) for cells in zip(*edits, strict=True)]
    edited = edited or [None] * len(outputs)
    for name in of_prompts:
        columns.pop(name, None)  # what metric_output was made of
    columns["human_verdict"] = [
        mine if mine not in (None, "") else cell if yes is True else other.get(cell) if yes is False else None
        for cell, yes, mine in zip(outputs, accepted, edited, strict=True)
    ]
    return ["human_verdict is metric_output where is_accepted says so, else the edited one or the other word"]


def _is_records(cell: Any) -> bool:
    return isinstance(cell, list) and bool(cell) and all(isinstance(each, dict) for each in cell)


def _name_themselves(cells: Sequence[Any]) -> bool:
    """Whether records in each list have a name of their own, as metrics and annotators do."""
    lists = [cell for cell in cells if _is_records(cell)]
    spread = [[_spread(each) for each in cell] for cell in lists[:200]]
    keys = set.intersection(*(set(each) for cell in spread for each in cell)) if spread else set()

    def tell_apart(key: str) -> bool:
        words = [[each[key] for each in cell] for cell in spread]
        own = (str, int) if plain(key.rpartition(".")[2]) in NAMES["rater"] else str  # a worker may be a number
        named = all(isinstance(word, own) and word != "" for cell in words for word in cell)
        few = plain(key) != _SOURCE or len({word for cell in words for word in cell}) <= max(map(len, words))
        return named and few and all(len(set(cell)) == len(cell) for cell in words)

    rated = any(plain(key.rpartition(".")[2]) in NAMES["verdict"] for key in keys)
    ends = ((key, {plain(key.rpartition(".")[2]), plain(key.partition(".")[0])}) for key in keys)
    named = (key for key, of in ends if of & {*_NAMING, _SOURCE})
    return (rated or any(len(cell) > 1 for cell in lists)) and any(map(tell_apart, named))


def _exploded(rows: Sequence[Row], name: str) -> tuple[list[Row], int]:
    made, dropped = [], 0

    def called(key: str, outer: Row) -> str:  # a ``name`` that says which of the list a record is says so
        own = {"name": "metric", _SOURCE: f"rating_{_SOURCE}"}.get(plain(key.rpartition(".")[2]), key)
        return f"{name}.{own}" if own in outer else own

    self_named = _name_themselves([row.get(name) for row in rows])  # else nothing was said of such a row
    for row in rows:
        outer = {key: cell for key, cell in row.items() if key != name}
        inner: Any = row.get(name)
        if not _is_records(inner):
            dropped += 1
            made += [outer] * self_named
            continue
        made += [
            outer | {f"{name}.number": number} | {called(key, outer): cell for key, cell in _spread(each).items()}
            for number, each in enumerate(inner, start=1)
        ]
    return made, dropped


def _side_by_side(head: str, cells: list[Any]) -> dict[str, list[Any]]:
    """A column, or one for each position of the lists in it; long lists stay as they are written."""
    lists = [cell for cell in cells if isinstance(cell, list)]
    if not lists:
        return {head: cells}
    longest, records = max(map(len, lists)), all(map(_is_records, filter(None, lists)))
    if records and 0 < longest <= _MOST_RECORDS:
        return _positions(head, cells, longest)
    as_many_as_apply = len({*map(len, lists)} - {0}) > 1 and all(map(_are_labels, cells))  # and no places of one list
    if as_many_as_apply and plain(head.rpartition(".")[2]) in NAMES["verdict"]:
        return {head: [" + ".join(sorted(cell)) or "[]" if isinstance(cell, list) else cell for cell in cells]}
    if longest == 1:
        return {head: [next(iter(cell), None) if isinstance(cell, list) else cell for cell in cells]}
    if plain(head.rpartition(".")[2]) in NAMES["rater"] and not any(map(_is_records, lists)):
        columns = _positions(head, cells, longest)
        return {(head if name == f"{head}.0" else name): column for name, column in columns.items()}
    if len({json.dumps(cell, default=str) for cell in lists}) == 1 and not any(map(_is_records, lists)):
        return {head: [", ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in cells]}
    scalar = (isinstance(each, str | int | float | None) for cell in lists for each in cell)
    short = (len(str(each)) <= _SHORT for cell in lists for each in cell if each is not None)
    if not records and longest <= _MOST_SCALARS and all(scalar) and all(short):
        return _positions(head, cells, longest)
    return {head: [json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell for cell in cells]}


def _are_labels(cell: Any) -> bool:
    """Whether a cell is empty or holds short words, each once, as where several labels apply."""
    words = cell if isinstance(cell, list) else []
    return all(isinstance(each, str) and len(each) <= _SHORT for each in words) and len({*words}) == len(words)


def _positions(head: str, cells: Sequence[Any], count: int) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for position in range(count):
        name = head if count == 1 else f"{head}.{position}"
        members = [cell[position] if isinstance(cell, list) and len(cell) > position else None for cell in cells]
        spread = [_spread(each) if isinstance(each, dict) else {} for each in members]
        if keys := list(dict.fromkeys(key for each in spread for key in each)):
            for key in keys:
                columns |= _side_by_side(f"{name}.{key}", [each.get(key) for each in spread])
        else:
            columns[name] = list(members)
    return columns


def flat(row: Mapping[str, Any]) -> Row:
    """A record whose records are spread out: ``scores.tone``."""
    spread: Row = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and value:
            spread |= {f"{name}.{inner}": cell for inner, cell in value.items()}
        else:
            spread[name] = value
    return spread


def _spread(row: Mapping[str, Any]) -> Row:
    """A record whose records are spread out as deep as they go."""
    made = flat(row)
    return made if made == row else _spread(made)


def _of_frame(path: Path, read: Callable[[Path], pl.DataFrame], kind: str) -> ReadTable:
    try:
        frame = read(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(str(path), f"is not {kind} ({str(error).splitlines()[0]})") from error
    if pairs := pairs_in(frame.to_dict(as_series=False), path) if "text_chosen" in frame.columns else None:
        return ReadTable(_beside_each_other(pairs[0]), tuple(pairs[1]))
    if not any(kind.is_nested() for kind in frame.dtypes) and "metric_output" not in frame.columns:
        return ReadTable(frame.to_dict())
    columns, notes, outer = _columns_of(list(frame.iter_rows(named=True)))
    return ReadTable(columns or {name: [] for name in frame.columns}, tuple(notes), outer)


def _excel(path: Path) -> ReadTable:
    """The sheets of a workbook, one below the other where they have the same headings."""
    try:
        sheets = pl.read_excel(path, sheet_id=0, infer_schema_length=0, has_header=False, raise_if_empty=False)
    except ModuleNotFoundError as error:
        cure = "pip install 'axisjudge[excel]', or save the sheet as CSV"
        raise InputError(str(path), "is an Excel file, which needs the extra `excel`", cure=cure) from error
    except Exception as error:  # fastexcel's own errors have no common class that is public
        raise InputError(str(path), f"is not a workbook ({str(error).splitlines()[0]})") from error
    cells = {
        name: [["" if cell is None else cell for cell in row] for row in sheet.rows()] for name, sheet in sheets.items()
    }
    read = {name: under_headings(path, rows) for name, rows in cells.items() if rows}
    filled = {name: columns for name, (columns, _) in read.items() if any(columns.values())}
    if not filled:
        raise InputError(str(path), "holds no rows", cure="a header line and one row a rated item are needed")
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, columns in filled.items():
        alike.setdefault(tuple(columns), []).append(name)
    left: list[str] = []
    if len(alike) > 1:
        rows = {names[0]: sum(len(next(iter(filled[name].values()))) for name in names) for names in alike.values()}
        rated = [names for names in alike.values() if recognise(texts(filled[names[0]])).of("verdict")]
        best, *rest = sorted(rated or alike.values(), key=lambda names: -rows[names[0]])
        # the others hold sums over its rows
        if len(best) == 1 and rated and all(rows[names[0]] * _CLEARLY < rows[best[0]] for names in rest):
            left = [name for name in filled if name not in best]
            filled = {name: filled[name] for name in best}
    if len(alike) > 1 and not left:
        each = "p.read_excel(f, sheet_name=n, infer_schema_length=0).with_columns(sheet=p.lit(n))"
        code = f"import polars as p; f = {str(path)!r}; p.concat([{each} for n in {best!r}])"
        out = re.sub(r"\W+", "_", best[0]) + ".csv"
        cure = f"take {', '.join(best)} as CSV: python -c {shlex.quote(f'{code}.write_csv({out!r})')}"
        raise InputError(str(path), f"has {len(filled)} sheets with different columns ({', '.join(filled)})", cure=cure)
    first, *others = filled.values()
    whole = {head: [cell for columns in filled.values() for cell in columns[head]] for head in first}
    if not others:
        of_left = [f"rows are those of the sheet {next(iter(filled))}; not read: {', '.join(left)}"] * bool(left)
        return ReadTable(whole, (*of_left, *(note for name in filled for note in read[name][1])))
    whole["sheet"] = [name for name, columns in filled.items() for _ in next(iter(columns.values()))]
    notes = dict.fromkeys(note for name in filled for note in read[name][1])
    return ReadTable(whole, (f"sheets {', '.join(filled)} are read one below the other", *notes))
