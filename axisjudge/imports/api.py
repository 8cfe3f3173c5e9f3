"""Import: which form each file has, and all of them as one ratings table."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, WayOut, shaped, tried
from axisjudge.cluster import watched
from axisjudge.families import family_of
from axisjudge.imports import harness, inspect_scores, promptfoo, sets, sheets, tracing
from axisjudge.imports.cells import each_by, rows_where
from axisjudge.imports.columns import read_table
from axisjudge.imports.finishing import ratings_of_judgements
from axisjudge.imports.items import TRIED_ON, makers, named_after, refuse_on_its_side, rows_to_try, telling_apart
from axisjudge.imports.judgement import DRAW, ImportedFile, ImportOptions, judged
from axisjudge.imports.recognise import may_answer, recognise, texts, who
from axisjudge.labels import own
from axisjudge.labels.formats import Terms, argilla, crowd_kit, failure_sets, label_studio
from axisjudge.labels.formats.exchange import UNKNOWN, stated_draw
from axisjudge.labels.own import Read
from axisjudge.ratings import SCHEMA, ratings_frame, read_ratings
from axisjudge.ratings.edge import alike, with_families
from axisjudge.readers import inspect_logs, read_trajectories
from axisjudge.sharing import plain_cell
from axisjudge.verdict import IDENTITY, Rating

#: Forms whose ratings state all themselves, and forms whose columns may be named.
_STATED = {"axisjudge", sets.AGENTPROCESSBENCH}
_SHEETS = {"csv", "tsv", "json", "parquet", "excel"}


#: Labelling tools and sets of labels: how a file is known, and how it is read.
_LABELLING: dict[str, tuple[Callable[[Any], bool], Callable[[Path, ImportOptions], Read]]] = {
    "label-studio": (label_studio.recognises, label_studio.read_label_studio),
    "argilla": (argilla.recognises, argilla.read_argilla),
    "agentrx": (failure_sets.is_agentrx, failure_sets.read_agentrx_failures),
    "who-and-when": (failure_sets.is_who_and_when, failure_sets.read_who_and_when),
    "mast": (failure_sets.is_mast, failure_sets.read_mast),
}
#: Tools whose exports say themselves who rated: how one is known, and how it is read.
_TOOLS: tuple[tuple[str, Callable[[Any], Any], Callable[[Path, Any], ImportedFile]], ...] = (
    ("Inspect", inspect_logs.recognise, lambda path, _: inspect_scores.read_log(path)),
    ("Inspect", inspect_scores.recognises_scores, inspect_scores.read_scores),
    ("promptfoo", promptfoo.results_in, promptfoo.read_results),
    ("a harness", harness.harness_of, harness.read_harness),
)
_OF_RUNS = "who-and-when"
_NUMBER = "axisjudge row"


@dataclass(frozen=True, eq=False)
class Imported:
    """A ratings table, the form of each file with its number of ratings, and what must be said aloud.

    `passed_over` names the files of a folder of which nothing was taken, with the reason; `columns` says what the
    columns of each table are taken for, and why (once for tables alike).
    """

    ratings: pl.DataFrame
    files: tuple[tuple[Path, str, int], ...]
    notes: tuple[str, ...]
    passed_over: tuple[str, ...] = ()
    columns: tuple[dict[str, str], ...] = ()


def import_ratings(
    paths: Iterable[str | Path],
    options: ImportOptions | None = None,
    *,
    with_draw: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Imported:
    """Read ratings by people, models and programs from files of other tools.

    Parameters
    ----------
    paths : iterable of path
        Files, or folders: a label set as its authors publish it, else every file in it that is of a known form.
    options : ImportOptions, optional
        What the files do not say.
    with_draw : bool
        People's labels record how their items were drawn, ``unknown`` where nobody says it.
    progress : callable, optional
        Is told what is being done where it may take long.

    Returns
    -------
    Imported
        One ratings table; a question has one scale over all files.

    Raises
    ------
    InputError
        A file is broken or of no known form, or something that a rating needs is not said.
    """
    given = options or ImportOptions()
    named = [Path(path) for path in paths]
    try:
        return _with_idle(_imported(named, given, with_draw=with_draw), named, given, with_draw=with_draw)
    except InputError as error:
        refused = error
    if progress:
        progress("refused; trying the commands that may help")
    refused = _with_ways(refused, named, given, with_draw=with_draw)
    if len(refused.ways) != 1 or not (way := refused.ways[0]).clear:
        raise refused from None
    given = given.with_options(way.options)
    imported = _with_idle(_imported(named, given, with_draw=with_draw), named, given, with_draw=with_draw)
    note = f"no option was given, and names and cells decide: {shlex.join(way.options)} (other options win)"
    return replace(imported, notes=(note, *imported.notes))


def ratings_ways(
    path: Path, source: str, when: str = "to take it as ratings without a comparison", *, strict: bool = False
) -> list[WayOut]:
    """The commands that take a file as ratings, where no comparison of a judge with people can be made of it.

    Where none does, there are none. With `strict` what is refused is raised, and there are none for ratings of one side
    alone where the file is a table of their items, in which the other side's words may stand.
    """
    out, whole = ("--out", "ratings.jsonl"), ("axisjudge", "import", source)
    try:
        imported = import_ratings([path])
    except InputError as error:
        if strict and not error.ways:
            raise
        ways = [WayOut((*way.options, *out), f"{when}, {way.when}".rstrip(", "), whole) for way in error.ways]
        return ways[:2]
    if {form for _, form, _ in imported.files} == {"axisjudge"}:  # ratings already
        return [WayOut((), "to see how its raters agree", ("axisjudge", "agreement", source))]
    if strict and {"human"} < {*imported.ratings["rater_kind"]}:
        when = "before `axisjudge check ratings.jsonl`"
    elif strict and path.suffix != ".eval":
        with suppress(InputError):
            rows = len(next(iter(sheets.read_sheet(path).columns.values()), ()))
            return [] if rows == imported.ratings["item_id"].n_unique() else [WayOut(out, when, whole)]
    return [WayOut(out, when, whole)]


def _with_ways(refused: InputError, named: Sequence[Path], given: ImportOptions, *, with_draw: bool) -> InputError:
    """The refusal with the commands that lead to ratings; where none of its own does, those that take one column."""
    read: ReadOnce = {}

    def attempt(more: Sequence[str]) -> Imported:
        return _imported(named, given.with_options(more), with_draw=with_draw, read=read)

    error = tried(refused, attempt) if refused.ways else refused
    if not error.ways and not read:
        with suppress(InputError):
            attempt(())
    sheet = read.get(named[0], {}).get("sheet") if len(named) == 1 else None
    if isinstance(sheet, sheets.ReadTable) and not (given.kinds or given.columns or given.item or given.rater_column):
        known = recognise(texts(sheet.columns), outer=sheet.outer)
        refuse_on_its_side(str(named[0]), known, "import by_rating.csv --out ratings.jsonl")
    if (
        error.ways
        or given.question
        or given.columns
        or not isinstance(sheet, sheets.ReadTable)
        or tool_of(named[0], [*sheet.columns])
    ):
        return error
    ways = _one_column_each(str(named[0]), sheet)
    with_ways = tried(InputError(error.where, error.rule, error.found, error.cure, ways), attempt)
    return with_ways if with_ways.ways else error  # what was guessed and leads nowhere tells nobody anything


#: Columns that are proposed one by one.
_MOST_TRIED = 6


def _one_column_each(where: str, sheet: sheets.ReadTable) -> list[WayOut]:
    """The options that take one column of a table, for each that may hold answers; what has no name gets the file's."""
    known = recognise(texts(sheet.columns), outer=sheet.outer)
    ways = []
    raters = [name for name in known.of("rater") if known.columns[name].distinct > 1 and name not in makers(known)]
    tells = telling_apart(known.frame, [], raters, known) if len(raters) == 1 and not known.item else []
    who_rated = each_by("--item", tells) if len(raters) == 1 else ("--rater", named_after(where))
    for name in may_answer(known, list(known.columns)):
        column_options = ("--column", f"{name}=verdict", "--question", name, *who_rated)
        kinds = [("llm", "models"), ("human", "people")]
        side = who(name) or who(raters[0] if len(raters) == 1 else "")
        kinds = [each for each in kinds if (each[0] == "human") == (side == "people")] if side else kinds
        kind_options = {kind: ("--kind", kind, *DRAW * (kind == "human")) for kind, _ in kinds}
        ways += [WayOut((*column_options, *kind_options[kind]), f"if {source} said {name}") for kind, source in kinds]
    return ways[:_MOST_TRIED]


#: File -> what it holds, kept while commands are tried on it.
ReadOnce = dict[Path, dict[str, Any]]


def _imported(
    named: Sequence[Path], given: ImportOptions, *, with_draw: bool, read: ReadOnce | None = None
) -> Imported:
    readings, passed_over = [], []
    for path, alone in watched([*_files(named)], "reading files"):
        try:
            with sheets.unpacked(path, "import") as opened, shaped(str(path)):
                kept = None if read is None else read.setdefault(path, {})
                readings.append((path, _reading(opened, given, kept)))
                for option, told in (("--where", given.where), ("--pass-if", given.pass_if)):
                    if told and (form := readings[-1][1].format) not in _SHEETS:
                        raise InputError(
                            option, f"chooses rows of a table or marks in it, and {path} is read as {form}"
                        )
        except InputError as error:
            if alone:
                raise
            passed_over.append(str(error))
    if not readings:
        cure = "; ".join(passed_over[:3]) + (f"; and {len(passed_over) - 3} more" if len(passed_over) > 3 else "")
        raise InputError(", ".join(map(str, named)), "holds no file of ratings that can be read", cure=cure)
    imported = _together(readings, given, passed_over)
    return _with_draw(imported, given) if with_draw else imported


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """The files, and whether each was named alone (or belongs to a set that was)."""
    for path in paths:
        if not path.exists() and not str(path).startswith(("-", "http:/", "https:/")):
            raise InputError(str(path), "no such file")
        if not path.is_dir():
            yield path, True
        elif whole := sets.files_of(path):
            yield from ((file, True) for file in whole)
        else:
            inner = sorted(file for file in path.rglob("*") if file.suffix in sheets.SUFFIXES and file.is_file())
            shown = (file for file in inner if not any(p.startswith(".") for p in file.relative_to(path).parts))
            yield from ((file, False) for file in shown)


def _together(
    readings: Sequence[tuple[Path, ImportedFile]], options: ImportOptions, passed_over: Sequence[str]
) -> Imported:
    judgements = _one_table(readings)
    key = ("thing", "question", "rater", "word")  # the truth beside each of several judges stands in each file
    elsewhere = pl.col("where").n_unique().over(key) > 1
    copies = (pl.col("kind") == "human") & pl.col("row").is_not_null() & (pl.int_range(pl.len()).over(key) > 0)
    kept = judgements if len(readings) < 2 else judgements.filter(~(elsewhere & copies).fill_null(value=False))
    n_copies, judgements = judgements.height - kept.height, kept
    unused = _unused(judgements, [reading for _, reading in readings], options)
    stated = [_named_by_us(reading, options) for _, reading in readings if reading.ratings is not None]
    judgements, tables, left_out = _chosen(judgements, stated, options)
    names = Counter(path.name for path, _ in readings)
    notes = _of_files([(_short(path, names), note) for path, reading in readings for note in reading.notes])
    if not judgements.is_empty():
        table, recognised = ratings_of_judgements(judgements, options)
        tables.append(table)
        notes += recognised
    if n_copies:
        notes.append(f"{n_copies} labels of people stand in several files alike, and are taken once")
    if left_out:
        notes.append(f"questions left out: {', '.join(left_out)}")
    del judgements  # of millions of rows, they would stand beside the ratings
    ratings = pl.concat(tables) if len(tables) > 1 else tables[0] if tables else pl.DataFrame(schema=SCHEMA)
    if ratings.is_empty():
        raise InputError(", ".join(str(path) for path, _ in readings), "hold no ratings", cure="; ".join(notes))
    ratings = _with_families(ratings, options)
    if any(reading.format == _OF_RUNS for _, reading in readings):
        again = pl.int_range(pl.len(), dtype=pl.Int64).over([name for name in IDENTITY if name != "repeat"])
        if n_again := int(ratings.select((again > 0).sum()).item()):
            notes.append(f"{n_again} runs stand in these files twice; their further labels are repeats 1, 2 and so on")
        ratings = ratings.with_columns(repeat=pl.col("repeat") + again)
    if alike(ratings, *IDENTITY):
        twice = ratings.filter(ratings.select(IDENTITY).is_duplicated())
        items = ", ".join(twice["item_id"].unique(maintain_order=True).head(3))
        raise InputError(
            "files", "a rating stands in them once", f"twice of {items}", "name each file and each run once"
        )
    counts = [
        len(reading.judgements) + (0 if reading.ratings is None else reading.ratings.height) for _, reading in readings
    ]
    files = tuple((path, reading.format, count) for (path, reading), count in zip(readings, counts, strict=True))
    of_files = [({"file": path.name}, reading.columns) for path, reading in readings if reading.columns]
    several = any(of != of_files[0][1] for _, of in of_files)
    columns = tuple(
        {**name, **row} if several else row for name, of in of_files[: None if several else 1] for row in of
    )
    return Imported(ratings, files, (*notes, *unused, *_strangers(ratings)), tuple(passed_over), columns)


def _of_files(notes: Sequence[tuple[str, str]]) -> list[str]:
    """What is said of each file; what is said of several alike, once."""
    by_note: dict[str, list[str]] = {}
    for name, note in notes:
        by_note.setdefault(note, []).append(name)
    return [f"{names[0] if len(names) == 1 else f'{len(names)} files'}: {note}" for note, names in by_note.items()]


def _short(path: Path, names: Mapping[str, int]) -> str:
    return path.name if names[path.name] == 1 else f"{path.parent.name}/{path.name}"


def _one_table(readings: Sequence[tuple[Path, ImportedFile]]) -> pl.DataFrame:
    """The judgements of all files; AltTest's with what all items' names of their set say together."""
    of_set = [each.judgements for _, each in readings if each.format == sets.ALTTEST]
    every = [one for each in of_set if not isinstance(each, pl.DataFrame) for one in each]
    tables = []
    for _, reading in readings:
        rows = reading.judgements
        if reading.format == sets.ALTTEST and not isinstance(rows, pl.DataFrame) and rows:
            rows = sets.with_names(rows, [one for one in every if one.fields["domain"] == rows[0].fields["domain"]])
        if len(rows):
            tables.append(rows if isinstance(rows, pl.DataFrame) else judged(rows))
    return pl.concat(tables, how="diagonal") if len(tables) > 1 else tables[0] if tables else judged([])


def _named_by_us(reading: ImportedFile, options: ImportOptions) -> pl.DataFrame:
    """Ratings that state all themselves, their questions by the names that they are to have."""
    assert reading.ratings is not None
    named = options.axes if reading.format in _STATED else {}
    return reading.ratings.with_columns(pl.col("question").replace(named)) if named else reading.ratings


#: What was told -> the option that tells it.
OPTIONS = {
    "rater": "--rater", "axes": "--axis-map", "words": "--word-map", "scales": "--scale", "missing": "--missing",
    "kind": "--kind", "kinds": "--kind", "families": "--family", "trajectories": "--trajectories",
    "columns": "--column", "item": "--item", "rater_column": "--rater-column", "repeats": "--repeats",
    "question": "--question", "sampling": "--sampling",
}  # fmt: skip


def _with_idle(imported: Imported, named: Sequence[Path], given: ImportOptions, *, with_draw: bool) -> Imported:
    """The ratings, with what was told and changes none: files that are no tables are read without it."""
    if _SHEETS.issuperset(form for _, form, _ in imported.files):
        return imported
    idle = []
    for name, option in OPTIONS.items():
        told, drawn = getattr(given, name), name == "kind" or name.startswith("sampling")
        if not told or (drawn and not with_draw):  # of `label import` all are people, and it draws itself
            continue
        by_name = isinstance(told, Mapping) and name != "trajectories"
        for each in told if by_name else [told]:
            rest: dict[str, Any] = {"sampling_key": None} if name == "sampling" else {}
            rest[name] = None if isinstance(told, str) else type(told)()
            if by_name:
                rest[name] = {key: told[key] for key in told if key != each}
            with suppress(InputError):  # it is needed
                without = _imported(named, replace(given, **rest), with_draw=with_draw)
                if without.ratings.equals(imported.ratings):
                    words = [each] if isinstance(each, str) else each if isinstance(each, tuple) else []
                    idle.append(" ".join((option, *words)))
    notes = [f"changes nothing here: {', '.join(idle)}"] if idle else []
    return replace(imported, notes=(*imported.notes, *notes))


def _unused(judgements: pl.DataFrame, readings: Sequence[ImportedFile], options: ImportOptions) -> list[str]:
    """What was told of questions and words that no table has."""
    if not _SHEETS.issuperset(each.format for each in readings):
        return []
    questions = {*judgements["question"].unique()}
    questions |= {options.question_of(name) for name in questions if name is not None}
    words = {*judgements["word"].unique()} if options.words or options.missing else set()
    of_raters = judgements.select(pl.col("rater").fill_null(str(options.rater)) + ":" + pl.col("word")).to_series()
    words |= {*of_raters.unique()} if options.words else set()
    none = {"--axis-map": set(options.axes) - questions, "--word-map": set(options.words) - words}
    none["--missing"] = set(options.missing) - words
    runs = {*judgements["thing"].str.replace("#[0-9]+$", "").unique()} if options.trajectories else set()
    none["--trajectories"] = set() if runs & {*options.trajectories} else {*list(options.trajectories)[:1]}
    return [f"{option} names what is not here: {', '.join(sorted(names))}" for option, names in none.items() if names]


def _chosen(
    judgements: pl.DataFrame, tables: Sequence[pl.DataFrame], options: ImportOptions
) -> tuple[pl.DataFrame, list[pl.DataFrame], list[str]]:
    """The judgements and ratings of the questions that are wanted, where the files name them; and the others' names."""
    asked = judgements["question"].unique(maintain_order=True).drop_nulls().to_list()
    rated = list(dict.fromkeys(name for table in tables for name in table["question"].unique(maintain_order=True)))
    named = list(dict.fromkeys((*asked, *rated)))
    wanted = {name for name in named if name in options.question or options.question_of(name) in options.question}
    if not wanted:
        if options.question and named and not judgements["question"].null_count():
            rule = f"names none of the questions here: {', '.join(named)}"
            raise InputError("--question", rule, options.question[0])
        return judgements, list(tables), []
    is_wanted = pl.col("question").is_in(list(wanted))
    kept = judgements.filter(pl.col("question").is_null() | is_wanted)
    return kept, [table.filter(is_wanted) for table in tables], [name for name in named if name not in wanted]


def _with_families(ratings: pl.DataFrame, options: ImportOptions) -> pl.DataFrame:
    for option, named in (("--family", options.families), ("--kind", options.kinds)):
        if strangers := sorted(named.keys() - set(ratings["rater"])):
            there = ", ".join(sorted(set(ratings["rater"])))
            raise InputError(option, f"names a rater that is not here; there are {there}", strangers[0])
    if options.kinds:  # a person's family is none of a model's, nor where a confidence is from
        kind = pl.col("rater").replace_strict(dict(options.kinds), default=pl.col("rater_kind"), return_dtype=pl.String)
        same = [
            pl.when(kind == pl.col("rater_kind")).then(name).alias(name) for name in ("family", "confidence_source")
        ]
        ratings = with_families(ratings.with_columns(*same, rater_kind=kind))
    family = pl.col("rater").replace_strict(dict(options.families), default=pl.col("family"), return_dtype=pl.String)
    return ratings.with_columns(family=family) if options.families else ratings


def _with_draw(imported: Imported, options: ImportOptions) -> Imported:
    """People's labels with how their items were drawn, where they do not say it themselves."""
    flags = stated_draw(options.sampling, options.sampling_key)
    has_draw = pl.col("flags").list.eval(pl.element().str.starts_with("drawn")).list.any()
    silent = (pl.col("rater_kind") == "human") & ~has_draw.fill_null(False)
    unknown = 0 if options.sampling else imported.ratings.filter(silent).height
    if (imported.ratings["flags"].list.len() > 0).any():
        drawn = pl.concat_list("flags", pl.lit(flags, dtype=pl.List(pl.String)))
    else:
        drawn = pl.lit(flags, dtype=pl.List(pl.String))
    table = imported.ratings.with_columns(flags=pl.when(silent).then(drawn).otherwise("flags"))
    notes = [f"people's labels ({unknown}): {UNKNOWN}"] if unknown else []
    return replace(imported, ratings=table, notes=(*imported.notes, *notes))


def _strangers(ratings: pl.DataFrame) -> list[str]:
    """What to say of models whose family their name does not show."""
    models = (
        ratings.filter(pl.col("rater_kind").is_in(["llm", "decision_model"]))
        .select("rater", "model", "family")
        .unique()
    )
    unknown = sorted(
        {rater for rater, model, family in models.iter_rows() if family in (rater, model) and family_of(family) is None}
    )
    if not unknown:
        return []
    return [f"no family is known of {', '.join(unknown)}; each stands for its own (else: --family NAME=FAMILY)"]


def _once(read: dict[str, Any] | None, what: str, made: Callable[[], Any]) -> Any:
    """What is made of a file; where it is kept, made once, of a table the rows that commands are tried on."""
    if read is None:
        return made()
    if what not in read:
        content = made()
        if isinstance(content, sheets.ReadTable) and len(next(iter(content.columns.values()), ())) > TRIED_ON:
            content = content.taken(rows_to_try(recognise(texts(content.columns), outer=content.outer), TRIED_ON))
        read[what] = content
    return read[what]


def _reading(path: Path, options: ImportOptions, read: dict[str, Any] | None = None) -> ImportedFile:
    """One file, by its content."""
    if path.suffix == ".eval":
        return inspect_scores.read_log(path)
    if path.suffix not in (".json", ".jsonl", ".ndjson"):
        return _sheet(path, _once(read, "sheet", lambda: sheets.read_sheet(path)), options)
    content = _once(read, "content", lambda: sheets.json_content(path))
    if read_tool := next((reads for _, of, reads in _TOOLS if of(content) not in (None, False)), None):
        return read_tool(path, content)
    if sets.is_alttest(content, path):
        return sets.read_alttest_file(path, content, options)
    if (labels := _labels(path, content, options)) is not None:
        return labels
    if sets.is_agentprocessbench(content):
        return sets.read_agentprocessbench_file(path, content, options)
    if (imported := tracing.assessments_in(content)) is not None:
        return tracing.read_assessments(path, imported)
    rows = tracing.scores_in(content)
    if rows is None and isinstance(content, list) and content and all(isinstance(each, dict) for each in content):
        rows = [sheets.flat(each) for each in content]
    heads = list(dict.fromkeys(name for row in rows or () for name in row))
    if rows is not None and (taken := _of_tool(path, heads, lambda: rows)) is not None:
        return taken
    if (sheet := _once(read, "sheet", lambda: sheets.table_in(content, path))) is None:
        rule = "is in no form known here, and no table"
        raise InputError(str(path), rule, cure="write it as a table: a row a rating, or a column a rater")
    return _sheet(path, sheet, options)


def tool_of(path: Path, heads: Sequence[str] = ()) -> str:
    """The tool whose export a file is: JSON other than a table, or a table of columns `heads`; nothing if none."""
    if heads:
        return next((name for name, is_of_tool, _ in tracing.SHEETS if is_of_tool(heads)), "")
    if path.suffix not in (".json", *sheets.LINES):
        return "Inspect" if path.suffix == ".eval" else ""
    content = sheets.json_content(path)
    traced = [("MLflow", tracing.assessments_in), ("Phoenix or Langfuse", tracing.scores_in)]
    known = [(name, of) for name, of, _ in _TOOLS] + [(name, of) for name, (of, _) in _LABELLING.items()]
    return next((name for name, of in (*known, *traced) if of(content) not in (None, False)), "")


def _labels(path: Path, content: Any, options: ImportOptions) -> ImportedFile | None:
    """Files of labelling tools, which say themselves who is a person and who a model."""
    for name, (recognises, read) in _LABELLING.items():
        if recognises(content):
            remarks: list[str] = []
            if name == _OF_RUNS and not options.trajectories:  # its files hold the runs that their labels are of
                try:
                    runs = {run.id: run for run in read_trajectories(path).trajectories}
                    options = replace(options, trajectories=runs)
                except InputError as error:
                    remarks = [
                        f"labels have no task, agent and domain, as runs cannot be read: {error.where}: {error.rule}"
                    ]
            ratings, notes = read(path, options)
            return ImportedFile(name, ratings=ratings_frame(ratings), notes=(*notes, *remarks))
    return None


def _sheet(path: Path, sheet: sheets.ReadTable, options: ImportOptions) -> ImportedFile:
    """A table: ours, one of a tool whose columns are known, or any other; of rows in records those that are wanted."""
    if options.where:
        frame = texts(sheet.columns)
        kept = rows_where(frame.with_row_index(_NUMBER), options.where)
        by_record = {each.partition("=")[0].strip() for each in options.where} <= sheet.outer.keys()
        records = rows_where(texts(sheet.outer).with_row_index(_NUMBER), options.where)[_NUMBER] if by_record else ()
        outer = {name: [cells[n] for n in records] for name, cells in sheet.outer.items()}
        note = f"rows taken: {kept.height:,} of {frame.height:,}"
        sheet = sheets.ReadTable(sheet.taken(kept[_NUMBER]).columns, (*sheet.notes, note), outer)
    if (known := _of_tool(path, list(sheet.columns), sheet.rows)) is not None:
        return known
    if {*crowd_kit.COLUMNS, *crowd_kit.OURS} <= sheet.columns.keys():  # `task` says run and question once more
        own = {name: [plain_cell(str(cell or "")) for cell in cells] for name, cells in sheet.columns.items()}
        columns = {name: cells for name, cells in own.items() if name != "task"}
        sheet = sheets.ReadTable(columns, sheet.notes, sheet.outer)
    form = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".xlsx": "excel"}.get(path.suffix, "json")
    names_none = len(options.question) > 1  # several questions told choose among those of the file
    return read_table(path, sheet, replace(options, question=()) if names_none else options, form)


def _of_tool(path: Path, heads: Sequence[str], rows: Callable[[], list[sheets.Row]]) -> ImportedFile | None:
    """A table of ours, or of a tool whose columns are known."""
    ours = {"trajectory_id", "question", "rater", "rater_kind", "family", "status"}
    if ours <= set(heads) and path.suffix != ".csv" and set(heads) <= set(Rating.model_fields):
        return ImportedFile("axisjudge", ratings=read_ratings(path))
    if set(heads) == set(Rating.model_fields):
        return ImportedFile("axisjudge", ratings=ratings_frame(own.read_own_csv(path, Terms())[0]))
    for _, is_of_tool, read in tracing.SHEETS:
        if is_of_tool(heads):
            return read(path, rows())
    if "assessments" in heads and (imported := tracing.assessments_in(rows())) is not None:
        return tracing.read_assessments(path, imported)
    return None
