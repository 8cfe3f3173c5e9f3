"""Label files: separated values, what is told of a file from outside, and our own JSON Lines and CSV.

Ours hold every field. CSV cannot tell an empty text from none. By hand a few columns will do: trajectory_id, rater,
and either question and verdict, or one column for each axis.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from pydantic import ValidationError

from axisjudge.checks import InputError, WayOut, one_of
from axisjudge.families import family_of
from axisjudge.labels.reading import read_bytes
from axisjudge.ratings import read_ratings
from axisjudge.ratings.scales import MOST_WORDS, checked_scale, number_of, on_scale, plain, recognised_scale
from axisjudge.ratings.table import json_line
from axisjudge.sharing import plain_cell, safe_cell
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, NO_AXIS, OPEN, VERDICTS, Rating

# Tables as separated values, with commas, semicolons, tabs or bars between them.

_SEPARATORS = (",", ";", "\t", "|")
#: What each cell of Qualtrics' own ids holds; and how often each word of a column of few words stands, on average.
_OF_SURVEY, _OFTEN = '{"ImportId"', 3


def separated_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file of separated values under its header.

    Raises
    ------
    InputError
        The file is broken or empty, two columns share a name, or a row has other cells than the header.
    """
    columns, _ = separated(path, decoded(path, read_bytes(path)))
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, map(plain_cell, row), strict=True)) for row in rows]


#: How files begin that hold tables and are no text, and what wrote them.
_NO_TEXT = {
    b"SQLite format 3": "SQLite",
    b"ARROW1": "Arrow (Feather)",
    b"\x89HDF": "HDF5",
    b"%PDF": "PDF",
    b"PK\x03\x04": "zip",
    **{bytes([0x80, protocol]): "Python's pickle" for protocol in (2, 3, 4, 5)},
}


def decoded(path: Path, raw: bytes) -> str:
    """The text of a table: UTF-8, marked or not, or UTF-16; an empty one is refused."""
    if kind := next((kind for start, kind in _NO_TEXT.items() if raw.startswith(start)), ""):
        cure = "write it as CSV, JSON Lines or Parquet"
        if kind == "SQLite":
            cure = f"name a table or a query: sqlite3 -header -csv {path} 'select * from TABLE' > {path.stem}.csv"
        raise InputError(str(path), f"is a file of {kind}, and no text", cure=cure)
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = next(line for line in raw.splitlines() if not line.isascii())
        ways = [
            f"if {line[:40].decode(name, errors='replace')!r} stands there: "
            f"iconv -f {name} -t UTF-8 {path} > utf8-{path.name}"
            for name in ("WINDOWS-1252", "WINDOWS-1251", "SHIFT_JIS", "GB18030")
            if "\ufffd" not in raw.decode(name, errors="replace")
        ]
        raise InputError(str(path), "must be UTF-8", cure="; ".join(("save it as UTF-8", *ways))) from error
    if not text.strip():
        raise InputError(str(path), "is empty")
    return text


def separated(path: Path, text: str) -> tuple[dict[str, list[str]], list[str]]:
    """The columns of separated values and what stands above their rows, as `under_headings` gives them."""
    lines = [line for line in text.splitlines() if line.strip()]
    with_cells = (line for line in lines if line[0] != "#" and any(each in line for each in _SEPARATORS))
    head = next(with_cells, lines[0])  # and no title
    separator = max(_SEPARATORS, key=head.count)
    if separator not in head and len({line.count(" ") for line in lines}) == 1:
        separator = " "  # of a file whose every line has as many
    csv.field_size_limit(1 << 30)

    def read(**how: Any) -> list[list[str]]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, **how)
        return [row for row in rows if row]

    try:
        rows = read()
    except csv.Error as error:
        rows = read(quoting=csv.QUOTE_NONE) if separator == "\t" else [[]]  # between tabs quotes may be letters
        cure = "a quoted cell must end with a quote, and a quote inside one is doubled"
        if len(rows[0]) < 2 or len({*map(len, rows)}) > 1:
            raise InputError(str(path), f"is not readable as a table ({error})", cure=cure) from error
    return under_headings(path, rows)


def under_headings(path: Path, rows: list[list[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """The columns of a table's rows by their names, and what stands above the rows beside one line of headings.

    Titles and comments above the headings are left out. A heading over several columns (``GPT-4o,,Human,``) goes before
    what is below it (``GPT-4o verdict``); where each column has its own, what is below it (a survey's whole question)
    is left out. A second column of a name is ``name (2)``, and is left out where it repeats the first in every row.
    Sums below a blank line are left out.
    """
    above: list[str] = []
    while len(rows) > 1 and _is_above(rows[0], rows[1:]):
        above.append(" ".join(filter(None, map(str.strip, rows.pop(0)))))
    names, number, notes = [" ".join(name.split()) for name in rows.pop(0)], 2 + len(above), []
    if titles := " / ".join(filter(None, above)):
        notes.append(f"above the headings: {titles[:60]!r}")
    while rows and _are_headings(rows[0], rows[1:], names):
        row = [" ".join(cell.split()) for cell in rows.pop(0)]
        if not all(names) or len({*names}) < len(names):
            over: Iterator[str] = itertools.accumulate(names, lambda before, name: name or before)
            names = [" ".join(filter(None, pair)) for pair in zip(over, row, strict=True)]
        notes.append(f"headings too: {', '.join(filter(None, row))[:60]!r}, which stands below the first ones")
        number += 1
    if below := _below(rows):
        rows = rows[: -len(below) - 1]
        notes.append(
            f"below a blank line and no rows: {' / '.join(' '.join(filter(None, row)) for row in below)[:60]!r}"
        )
    for at, row in enumerate(rows, start=number):
        if len(row) != len(names):
            rule = f"has {len(row)} cells where the header has {len(names)}"
            raise InputError(f"{path}, row {at}", rule, cure="quote cells that hold the separator")
    columns: dict[str, list[str]] = {}
    for position, name in enumerate(names):
        cells, n_before = [row[position] for row in rows], names[:position].count(name) if name else 0
        if (name or any(cells)) and (not n_before or cells != columns[name]):
            columns[f"{name} ({n_before + 1})" if n_before else name or f"column {position + 1}"] = cells
    return columns, notes


def _is_above(row: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether a first line is empty, a title, or a comment of another width than the rows, and no headings."""
    width = Counter(map(len, rest)).most_common(1)[0][0]
    comment = row[0].lstrip().startswith("#") and len(row) != width
    title = width > 1 and row[0] and not any(map(str.strip, row[1:])) and sum(map(bool, map(str.strip, rest[-1]))) > 1
    return bool(comment or title) or not any(map(str.strip, row))


def _below(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """The few last lines, below a blank one, of which each leaves a cell empty that every row above fills."""
    blank = max((at for at, row in enumerate(rows) if not any(map(str.strip, row))), default=-1)
    above, below = [row for row in rows[: max(blank, 0)] if any(map(str.strip, row))], rows[blank + 1 :]
    if not above or len(below) * 10 > len(above) or {*map(len, rows)} != {len(rows[0])}:
        return []
    always = [at for at, cells in enumerate(zip(*above, strict=True)) if all(map(str.strip, cells))]
    return below if all(any(not row[at].strip() for at in always) for row in below) else []


def _are_headings(row: Sequence[str], rest: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Whether a line below the headings has further ones: a survey's ids, or nothing that a column holds again.

    No cell of it is a number, and columns of few words tell that it is none of theirs: two, each with a heading of its
    own, or one where a heading above stands over several.
    """
    filled = [cell for cell in row if cell.strip()]
    if not filled or all(_OF_SURVEY in cell for cell in filled):
        return bool(filled)
    if (
        {*map(len, rest)} != {len(names)}
        or len(row) != len(names)
        or any(number_of(cell) is not None for cell in filled)
    ):
        return False
    below = [(cell, cells) for cell, cells in zip(row, zip(*rest, strict=True), strict=True) if cell.strip()]
    if any(cell in cells for cell, cells in below):
        return False
    alien = [cell for cell, cells in below if any(cells) and len({*cells}) * _OFTEN <= len(cells)]
    again = len({*filter(None, names)}) < len([*filter(None, names)])
    return len(alien) >= 2 - again and (again or not all(names) or len({*alien}) > 1)


# What a label file does not say, told from outside; and a word of any file as a rating of ours.

#: Beside the question ``termination`` a form asks for these in ``termination_note``, ``termination_confidence``, ...
SIDES = ("note", "confidence", "steps")
#: Stands for every question in `Terms.scales`.
ANY = "*"
_OPEN_NOMINAL = "nominal"
OF_RUN = ("task_id", "cluster_id", "agent", "domain")
#: What to say of files that name failures alone.
ONLY_FAILURES = "only failures are labelled here: neither specificity nor a failure rate can be estimated"
#: What a reader gives back: ratings, and what must be said aloud of the file.
Read = tuple[list[Rating], list[str]]


@dataclass(frozen=True, kw_only=True)
class Naming:
    """What the names in a file stand for, told by the person who imports.

    Parameters
    ----------
    rater : str, optional
        Who rated, where the file names nobody.
    axes : mapping
        The file's name of a question -> an axis, or another name of ours.
    words : mapping
        The file's word -> our verdict (``pass`` -> ``correct``).
    scales : mapping
        Question, or ``*`` for all -> scale, for questions that are not axes.
    trajectories : mapping
        Trajectories by id: tasks, agents and domains come from there.
    """

    #: Whether grades are refused without a told scale: those of people's labels, which count as the truth.
    numbers_need_scale: ClassVar[bool] = False

    rater: str | None = None
    axes: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    trajectories: Mapping[str, Trajectory] = field(default_factory=dict)

    def question_of(self, name: str) -> str:
        """Our name of a file's question: mapped, or an axis in another spelling, or as it is."""
        axis = plain(name)
        return self.axes.get(name) or (axis if axis in AXES else name)

    def scale_of(self, question: str) -> str | None:
        """The scale of a question: an axis has one, others have what was told."""
        return "verdict" if question in AXES else self.scales.get(question, self.scales.get(ANY))

    def known_of_run(self, trajectory_id: str) -> dict[str, Any]:
        """Task, cluster, agent and domain of a run as far as its trajectory, if it was given, says them."""
        run = self.trajectories.get(trajectory_id)
        values = {} if run is None else {name: getattr(run, name) for name in OF_RUN}
        return {name: value for name, value in values.items() if value is not None}

    def word_fields(self, where: str, question: str, word: object) -> dict[str, Any]:
        """The fields scale, verdict and value of a word that was said.

        Raises
        ------
        InputError
            The word is not on the scale, or it is a number and no scale was told.
        """
        if isinstance(word, list):
            if len(word) != 1:
                raise InputError(where, f"{question} takes one word", word)
            (word,) = word
        mapped = self.words.get(str(word), word)
        if (scale := self.scale_of(question)) is not None:
            return _on_scale(where, scale, mapped)
        if self.numbers_need_scale and (not isinstance(mapped, str) or number_of(mapped) is not None):
            cure = f"tell it with --scale {question}=ordinal:1-5, say"
            raise InputError(where, f"{question} has numbers on an unknown scale", word, cure)
        return {"scale": _OPEN_NOMINAL, "verdict": str(mapped), "value": None}

    def run_fields(self, trajectory_id: str, **known: Any) -> dict[str, Any]:
        """What was rated: from the trajectory if it was given, else what the file knows."""
        stated = {name: value for name, value in known.items() if value is not None}
        fields = {**self.known_of_run(trajectory_id), **stated}
        return {"trajectory_id": trajectory_id, "cluster_id": fields.get("task_id") or trajectory_id, **fields}


@dataclass(frozen=True, kw_only=True)
class Terms(Naming):
    """What is told of a file of labels; `question` is what was asked, where the file has one question without a name.

    A name in `axes` stands for an axis, or for ``no_axis``.
    """

    numbers_need_scale = True
    question: str | None = None

    def __post_init__(self) -> None:
        for axis in self.axes.values():
            one_of("axis map", axis, (*AXES, NO_AXIS))

    @property
    def as_options(self) -> list[str]:
        """The rater and the scales as a command is told them."""
        options = [("--rater", self.rater)] if self.rater else []
        options += [("--scale", f"{question}={scale}") for question, scale in self.scales.items()]
        return [shlex.join(each) for each in options]


def by_person(rater: str) -> dict[str, Any]:
    """The fields that say that a person rated."""
    return {"rater": rater, "rater_kind": "human", "family": "human"}


def by_model(name: str) -> dict[str, Any]:
    """The fields that say that a model rated."""
    return {"rater": name, "rater_kind": "llm", "family": family_of(name) or name, "model": name}


def taken_back(label: Rating, *flags: str) -> Rating:
    """A label whose word does not count; what was said stays in `flags`, before its own."""
    change = {"status": "refused", "verdict": None, "value": None, "flags": [*flags, *label.flags]}
    return label.model_copy(update=change)


def of_one_rater(ratings: Sequence[Rating], form: str) -> None:
    """Refuse labels of several raters, where a format names none."""
    if len({rating.rater for rating in ratings}) > 1:
        raise InputError("labels", f"{form} holds one rater's labels", cure="export one person at a time")


def grouped(ratings: Iterable[Rating], by: str) -> dict[str, list[Rating]]:
    """Labels by a field (trajectory_id, item_id), in the order in which its values come."""
    groups: dict[str, list[Rating]] = {}
    for rating in ratings:
        groups.setdefault(getattr(rating, by), []).append(rating)
    return groups


def finished(ratings: Iterable[Rating], aloud: Counter[str] | None = None) -> list[Rating]:
    """Ratings whose open scales are those that the words used show, and whose repeats are numbered.

    Texts are no words of a scale: with `aloud` their questions are left out and counted there, else they are refused.
    A second word of one rater on one item and question is kept as repeat 1, a third as repeat 2.
    """
    every = list(ratings)
    words: defaultdict[str, set[str]] = defaultdict(set)
    for rating in every:
        if rating.scale == _OPEN_NOMINAL and rating.verdict is not None:
            words[rating.question].add(rating.verdict)
    scales, texts = {}, set()
    for question, used in words.items():
        with_comma = min((word for word in used if "," in word), default=None)
        if all(number_of(word) is not None for word in used):
            scales[question] = recognised_scale(question, used)
        elif aloud is not None and (with_comma or len(used) > MOST_WORDS):
            texts.add(question)
        elif with_comma:
            cure = "map it to another word with --word-map"
            raise InputError(question, "a word of a nominal scale holds no comma", with_comma, cure)
        else:
            scales[question] = f"nominal:{','.join(sorted(used))}"
    n_before: Counter[tuple[str, ...]] = Counter()
    closed = []
    for rating in every:
        change: dict[str, Any] = {}
        if rating.scale == _OPEN_NOMINAL:
            if aloud is not None and rating.question in texts:
                aloud[f"answers to {rating.question} are texts, and are left out"] += 1
                continue
            scale = scales.get(rating.question, "nominal:")
            change = {"scale": scale}
            if rating.verdict is not None:
                change = _on_scale(rating.item_id, scale, rating.verdict)
        key = (rating.item_id, rating.question, rating.rater)
        if n_before[key]:
            change["repeat"] = n_before[key]
        n_before[key] += 1
        closed.append(rating.model_copy(update=change) if change else rating)
    return closed


def ratings_of(table: pl.DataFrame) -> list[Rating]:
    """The rows of a ratings table as records."""
    ratings = []
    for row in table.iter_rows(named=True):
        row |= {name: row[name] or [] for name in ("cited_step_indices", "invalid_citations", "flags")}
        row["probabilities"] = row["probabilities"] and json.loads(row["probabilities"])
        ratings.append(Rating(**row))
    return ratings


def split_side(name: str) -> tuple[str, str | None]:
    """``termination_note`` -> (termination, note); a plain question has no side."""
    question, _, side = name.rpartition("_")
    return (question, side) if question and side in SIDES else (name, None)


def item_of(name: str) -> tuple[str, int | None]:
    """Trajectory and step of an item's name, ``trajectory`` or ``trajectory#step``."""
    run, mark, step = name.rpartition("#")
    return (run, int(step)) if mark and run and step.isdecimal() else (name, None)


def steps_of(where: str, steps: Iterable[object]) -> list[int]:
    """Cited steps, which files hold as numbers or as text."""
    numbers = []
    for step in steps:
        try:
            numbers.append(int(str(step)))
        except ValueError:
            raise InputError(where, "a cited step is a whole number", step) from None
    return sorted(set(numbers))


def word(
    where: str,
    base: Mapping[str, Any],
    name: str,
    answer: Any,
    sides: Mapping[str, Any],
    terms: Naming,
    aloud: Counter[str] | None = None,
) -> Iterator[Rating]:
    """A rating of what was said under a file's question, with its note, confidence and steps; none if all is empty.

    An answer of several parts (labels, an order, spans) is none where no scale is told, which is counted in `aloud`,
    or refused without.
    Sides without a word are an unfinished label, which is kept as the labeller keeps it.
    """
    question = terms.question_of(name)
    if split_side(name)[1] and question == name:
        raise InputError(where, "belongs to no question of this file", name)
    if answer in (None, "", []) and not sides:
        return
    several = isinstance(answer, list) and (len(answer) > 1 or any(isinstance(each, Mapping) for each in answer))
    if several and aloud is not None and terms.scale_of(question) is None:
        aloud[f"answers to {name} have several parts each, which no rating has, and are left out"] += 1
        return
    confidence = sides.get("confidence")
    if confidence is not None and on_scale("unit", confidence) is None:
        raise InputError(where, "confidence lies in [0, 1]", confidence)
    fields: dict[str, Any] = {
        "rationale": sides.get("note"),
        "confidence": None if confidence is None else number_of(confidence),
        "confidence_source": None if confidence is None else "human",
        "cited_step_indices": steps_of(where, sides.get("steps", ())),
    }
    if answer in (None, "", []):
        fields |= {"status": "refused", "flags": [OPEN], "scale": terms.scale_of(question) or "nominal"}
    else:
        fields |= terms.word_fields(where, question, answer)
    yield Rating(**base, question=question, **fields)


#: What these words mean on an axis; others are asked for, because a hint must not turn a verdict round.
_MEANT = {
    **dict.fromkeys(("pass", "passed", "ok", "good", "right", "success"), "correct"),
    **dict.fromkeys(("fail", "failed", "bad", "wrong", "failure"), "incorrect"),
    **dict.fromkeys(("unsure", "unknown", "unclear", "undecided"), "uncertain"),
    **dict.fromkeys(("na", "n/a", "not applicable"), "not_applicable"),
}


def word_error(where: str, rule: str, words: Iterable[str]) -> InputError:
    """The refusal of words of another file that say nothing on an axis, with what they can mean where that is known."""
    each = sorted(set(words))
    meant = {word: _MEANT.get(word.casefold().strip(), "") for word in each}
    options = tuple(part for word, verdict in meant.items() if verdict for part in ("--word-map", f"{word}={verdict}"))
    cure = "say what they mean"
    if unknown := [word for word, verdict in meant.items() if not verdict]:
        cure = f"say by --word-map which of them is meant by {', '.join(map(repr, unknown))}"
        cure += f", and {' '.join(options)}" * bool(options)
    return InputError(where, rule, each if len(each) > 1 else each[0], cure, [] if unknown else [WayOut(options)])


def _on_scale(where: str, scale: str, answer: object) -> dict[str, Any]:
    if on := on_scale(checked_scale("scale", scale), answer):
        return {"scale": scale, "verdict": on[0], "value": on[1]}
    if scale == "verdict":
        raise word_error(where, f"a verdict is one of {', '.join(VERDICTS)}", [str(answer)])
    if scale.startswith("nominal:"):
        one_of(f"{where}: word", str(answer), scale.removeprefix("nominal:").split(","))
    raise InputError(where, f"must lie on the scale {scale}", answer)


_FIELDS = tuple(Rating.model_fields)
_JSON = ("cited_step_indices", "invalid_citations", "flags", "probabilities")
#: Columns of which a person's own sheet may have any.
_ABOUT = ("task_id", "cluster_id", "agent", "domain", "created_at")


def read_own_jsonl(path: Path, _: Terms) -> Read:
    """Our JSON Lines; of several lines of one label the last one counts."""
    ratings = ratings_of(read_ratings(path))
    lines = sum(1 for line in path.read_bytes().splitlines() if line.strip())
    older = lines - len(ratings)
    return ratings, [f"{older} earlier lines of the same labels are superseded"] if older else []


def write_own_jsonl(ratings: Sequence[Rating], _: Terms) -> str:
    """One rating a line."""
    return b"".join(json_line(rating) for rating in ratings).decode()


def write_own_csv(ratings: Sequence[Rating], _: Terms) -> str:
    """One rating a row, all fields; lists and probabilities as JSON, nothing as an empty cell."""
    out = io.StringIO(newline="")
    sheet = csv.DictWriter(out, _FIELDS, lineterminator="\n")
    sheet.writeheader()
    for rating in ratings:
        sheet.writerow({name: _cell(name, value) for name, value in rating.model_dump().items()})
    return out.getvalue()


def _cell(name: str, value: Any) -> Any:
    if value is None or value == []:
        return ""
    if name in _JSON:
        return json.dumps(value, ensure_ascii=False)
    return repr(value) if isinstance(value, float) else safe_cell(value)


def read_own_csv(path: Path, terms: Terms) -> Read:
    """Our CSV, or a person's own sheet with few columns.

    Raises
    ------
    InputError
        A column is missing or unknown, or a row breaks a rule of the record.
    """
    rows = separated_rows(path)
    heads = list(rows[0]) if rows else list(_FIELDS)
    if set(heads) == set(_FIELDS):
        return [_full(f"{path}:{number}", row) for number, row in enumerate(rows, start=2)], []
    return finished(_by_hand(path, rows, heads, terms)), []


def _full(where: str, row: Mapping[str, str]) -> Rating:
    fields: dict[str, Any] = {name: cell for name, cell in row.items() if cell != ""}
    try:
        fields |= {name: json.loads(fields[name]) for name in _JSON if name in fields}
        fields |= {name: float(fields[name]) for name in ("confidence",) if name in fields}
        return Rating(**fields)
    except ValidationError as error:
        fault = error.errors()[0]
        raise InputError(where, f"not a rating: {'.'.join(map(str, fault['loc']))} {fault['msg']}") from error
    except ValueError as error:
        raise InputError(where, f"not a rating: {error}") from error


def _by_hand(path: Path, rows: Sequence[Mapping[str, str]], heads: Sequence[str], terms: Terms) -> Iterator[Rating]:
    if "trajectory_id" not in heads:
        cure = "name the column trajectory_id, or say the format"
        raise InputError(str(path), "labels need a column trajectory_id", heads, cure)
    long = "question" in heads
    asked = [name for name in heads if terms.question_of(name) in (*AXES, *terms.axes.values())]
    beside = {name: {side: f"{name}_{side}" for side in SIDES} for name in asked}  # each answer's column, and its sides
    if long:
        beside = {"verdict": {"note": "rationale", "confidence": "confidence", "steps": "cited_step_indices"}}
    known = {"trajectory_id", "step_index", "rater", *_ABOUT, *beside, *(("question",) if long else ())}
    known.update(*(sides.values() for sides in beside.values()))
    if unknown := [name for name in heads if name not in known]:
        cure = "leave it out, or map it to an axis with --axis-map"
        raise InputError(str(path), "a column is neither an axis nor a field of a label", unknown[0], cure)
    if not beside:
        raise InputError(str(path), "needs columns question and verdict, or a column for an axis", heads)
    for number, row in enumerate(rows, start=2):
        where = f"{path}:{number}"
        if not (rater := row.get("rater") or terms.rater):
            raise InputError(where, "a label needs its rater", cure="name the person with --rater")
        step = row.get("step_index")
        base = {
            **terms.run_fields(row["trajectory_id"], **{name: row.get(name) or None for name in _ABOUT}),
            "step_index": steps_of(where, [step])[0] if step else None,
            **by_person(rater),
        }
        for column, names in beside.items():
            sides: dict[str, Any] = {side: row[name] for side, name in names.items() if row.get(name)}
            if "steps" in sides:
                sides["steps"] = sides["steps"].strip("[] ").replace(",", " ").replace(";", " ").split()
            yield from word(where, base, row["question"] if long else column, row.get(column), sides, terms)
