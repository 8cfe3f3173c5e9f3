"""What the columns of a table are: long (a rating a row) or wide (a column a rater, or a column a question)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError, one_of
from axisjudge.imports.cells import mended
from axisjudge.imports.judgement import ImportedFile, Judgement
from axisjudge.imports.options import ImportOptions
from axisjudge.imports.sheets import Row, heads_of
from axisjudge.labels.formats.terms import steps_of
from axisjudge.ratings.scales import checked_scale, number_of, plain
from axisjudge.verdict import AXES, RATER_KINDS, RaterKind, Rating

#: Our field, and the names that others give it; an earlier name wins.
NAMES: dict[str, tuple[str, ...]] = {
    "trajectory_id": (
        *("trajectory_id", "item_id", "item", "sample_id", "example_id", "instance_id", "record_id", "trace_id"),
        *("run_id", "conversation_id", "session_id", "dialogue_id", "id", "task_id", "task", "sample", "example"),
        *("instance", "case", "case_id", "test_id", "trajectory", "run", "uid", "uuid", "idx", "index"),
        *("row_id", "row"),
    ),
    "rater": (
        *("rater", "judge", "annotator", "rater_id", "judge_id", "judge_name", "annotator_id", "worker", "worker_id"),
        "grader",
        *("evaluator", "labeler", "labeller", "coder", "scorer", "reviewer", "judge_model", "model"),
    ),
    "question": ("question", "criterion", "axis", "metric", "aspect", "dimension", "attribute", "key", "rubric"),
    "verdict": (
        *("verdict", "label", "rating", "judgment", "judgement", "score", "grade", "annotation", "answer", "value"),
        *("vote", "decision", "outcome", "result"),
    ),
    "confidence": ("confidence", "conf", "certainty"),
    "rationale": ("rationale", "reason", "reasoning", "explanation", "justification", "comment", "note", "notes"),
    "task_id": ("task_id", "task"),
    "cluster_id": (
        *("cluster_id", "cluster", "query_id", "query_index", "scenario_id", "problem_id", "thread_id", "document_id"),
        *("doc_id", "group_id", "group"),
    ),
    "agent": ("agent", "system"),
    "domain": ("domain", "dataset", "subset"),
    "step_index": ("step_index", "step"),
    "model": ("model",),
    "family": ("family",),
    "rater_kind": ("rater_kind", "rater_type", "annotator_kind", "annotator_type", "kind", "source_type"),
    "repeat": ("repeat",),
    "created_at": ("created_at", "timestamp"),
    "cited_step_indices": ("cited_step_indices", "cited_steps"),
    "rater_version": ("rater_version",),
    "rubric_version": ("rubric_version",),
    "scale": ("scale",),
}
IGNORED = "ignore"
#: What may stand beside a wide column, by the ending of its name.
_SIDES = {
    "confidence": ("confidence", "conf", "certainty"),
    "rationale": ("rationale", "reason", "reasoning", "explanation", "justification", "note", "comment"),
    "cited_step_indices": ("steps", "cited_step_indices"),
}
#: What others call our kinds of raters.
KIND_WORDS: dict[str, RaterKind] = {
    **{kind: kind for kind in RATER_KINDS},
    **dict.fromkeys(("person", "people", "annotation", "expert", "annotator"), "human"),
    **dict.fromkeys(("llm_judge", "model", "ai", "eval"), "llm"),
    **dict.fromkeys(("code", "rule", "heuristic", "programmatic"), "rules"),
}
#: Columns that hold what was judged, not what was said of it.
_TEXTS = (
    *("prompt", "input", "output", "response", "text", "content", "completion", "context", "reference", "expected"),
    *("target", "instruction", "query", "document", "summary", "model_output", "generation", "messages", "url"),
    *("inputs", "outputs", "reference_outputs", "metadata", "name", "title", "epoch", "user_id", "tags", "state"),
)
#: A column of more different or longer words is text, not answers.
_MOST_WORDS, _LONGEST = 50, 60


@dataclass(frozen=True)
class Layout:
    """What the columns of a table are.

    `roles` maps our fields to columns. `answers` are the columns of a wide table, each a rater (`by_rater`) or a
    question; `sides` holds what stands beside each. `left_out` are columns that say nothing here.
    """

    roles: Mapping[str, str]
    answers: tuple[str, ...] = ()
    by_rater: bool = False
    sides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def note(self) -> str:
        """What was recognised, in words."""
        said = [f"{column} is {ours}" for ours, column in self.roles.items() if column != ours]
        if self.answers:
            said.append(f"{'raters' if self.by_rater else 'questions'} are {', '.join(self.answers)}")
        if self.left_out:
            said.append(f"left out: {', '.join(self.left_out)}")
        return f"columns: {'; '.join(said)} (else: --column THEIRS=OURS)" if said else ""


def read_table(path: Path, rows: Sequence[Row], options: ImportOptions, form: str) -> ImportedFile:
    """Judgements of a table, long or wide.

    Raises
    ------
    InputError
        Columns that are needed are missing (all are named), or a cell cannot be read.
    """
    if not rows:
        return ImportedFile(form)
    rows, changed = mended(rows, {*options.words, *options.missing})
    layout = layout_of(str(path), rows, options)
    first = 2 if path.suffix in (".csv", ".tsv") else 1
    found: list[Judgement] = []
    for number, row in enumerate(rows, start=first):
        found.extend(_judgements(f"{path}:{number}", row, layout))
    return ImportedFile(form, tuple(found), notes=tuple(filter(None, [layout.note(), *changed])))


def layout_of(where: str, rows: Sequence[Row], options: ImportOptions) -> Layout:
    """What the columns of a table are, from their names, their cells, and what was told."""
    heads = heads_of(rows)
    roles, rest = _roles(where, rows, heads, options)
    named = set(options.kinds) - {options.rater}
    if named & set(heads) and "rater" in roles and options.rater_column is None and not options.columns:
        rest = [*rest, *(roles.pop(name) for name in ("rater", "verdict") if name in roles)]
    long = "verdict" in roles and ("rater" in roles or bool(options.rater))
    if long:
        return _checked(where, Layout(roles, left_out=tuple(rest)), heads, options)
    if "rater" not in roles and not options.rater and not set(options.columns.values()) & {"verdict"}:
        rest = [name for name in heads if name in rest or name == roles.get("verdict")]
        roles = {ours: column for ours, column in roles.items() if ours != "verdict"}
    sides = {name: _beside(name, rest) for name in rest}
    beside = {column for found in sides.values() for column in found.values()}
    by_rater = "rater" not in roles and not options.rater and not any(plain(name) in AXES for name in rest)
    answers = [name for name in rest if name not in beside and not _is_text(name) and _are_answers(rows, name)]
    if by_rater:
        answers = _raters(rows, answers, named, only_named=options.kind is None)
    if by_rater and len(answers) == 1 and answers[0] not in named and plain(answers[0]) in NAMES["verdict"]:
        rest.remove(answers[0])
        return _checked(where, Layout({**roles, "verdict": answers[0]}, left_out=tuple(rest)), heads, options)
    if not by_rater and any(plain(name) in AXES or name in options.axes for name in answers) and "verdict" not in roles:
        answers = [name for name in answers if plain(name) in AXES or name in options.axes or name in options.scales]
    used = {*answers, *(column for name in answers for column in sides[name].values())}
    left_out = tuple(name for name in rest if name not in used)
    kept = {name: sides[name] for name in answers}
    return _checked(where, Layout(roles, tuple(answers), by_rater, kept, left_out), heads, options)


def _is_text(name: str) -> bool:
    """Whether a column says what was judged, by its name or that of the record it was in (``inputs.city``)."""
    return plain(name) in NAMES["trajectory_id"] or bool({plain(name), plain(name.partition(".")[0])} & {*_TEXTS})


def _raters(rows: Sequence[Row], answers: Sequence[str], named: set[str], *, only_named: bool) -> list[str]:
    """The columns that answer one question: those that are named, and those that share answers with another."""
    if only_named and named & set(answers):
        return [name for name in answers if name in named]
    used = {name: {str(row.get(name)) for row in rows} - {"", "None"} for name in answers}
    ranges = {name: _range(words) for name, words in used.items()}

    def alike(one: str, other: str) -> bool:
        first, second = ranges[one], ranges[other]
        if first is None or second is None:
            return bool(used[one] & used[other])
        return first[0] <= second[1] and second[0] <= first[1]

    return [
        name
        for name in answers
        if name in named or len(answers) == 1 or any(alike(name, other) for other in answers if other != name)
    ]


def _range(words: set[str]) -> tuple[float, float] | None:
    """The lowest and the highest of words that are all numbers."""
    numbers = [number for word in words if (number := number_of(word)) is not None]
    return (min(numbers), max(numbers)) if numbers and len(numbers) == len(words) else None


def _roles(
    where: str, rows: Sequence[Row], heads: Sequence[str], options: ImportOptions
) -> tuple[dict[str, str], list[str]]:
    """Our field -> column, options or by name, and the columns that are none."""
    fields = (*NAMES, *Rating.model_fields, IGNORED)
    roles: dict[str, str] = {}
    columns = {**options.columns, **({options.rater_column: "rater"} if options.rater_column else {})}
    if absent := [name for name in columns if name not in heads]:
        raise InputError(where, f"has no column {', '.join(absent)}; it has", ", ".join(heads))
    for theirs, ours in columns.items():
        ours = "trajectory_id" if ours == "item_id" else one_of(f"--column {theirs}", ours, fields)
        if ours != IGNORED:
            roles[ours] = theirs
    taken = set(columns)
    by_name = {plain(name): name for name in reversed(heads)}
    for ours, names in NAMES.items():
        free = [by_name[name] for name in names if name in by_name and by_name[name] not in taken]
        free = [name for name in free if _fits(rows, name, ours)]
        if ours not in roles and free and not (ours == "rater" and options.rater):
            roles[ours] = free[0]
            taken.add(free[0])
    return roles, [name for name in heads if name not in taken]


def _beside(name: str, heads: Sequence[str]) -> dict[str, str]:
    """Our field -> column of what stands beside a wide column: ``gpt_confidence`` beside ``gpt``."""
    by_name = {plain(head.replace("/", "_").replace(".", "_")): head for head in heads}
    own = plain(name.replace("/", "_").replace(".", "_"))
    bases = {own, own.removesuffix("_value").removesuffix("_score")}
    found: dict[str, str] = {}
    for ours, endings in _SIDES.items():
        for base, ending in product(bases, endings):
            if column := by_name.get(f"{base}_{ending}") or by_name.get(f"{ending}_{base}"):
                found.setdefault(ours, column)
    return found


def _are_answers(rows: Sequence[Row], name: str) -> bool:
    """Whether the cells of a column are answers: numbers, or few and short words."""
    cells = {cell for row in rows if not isinstance(cell := row.get(name), dict | list) and cell not in (None, "")}
    if not cells:
        return False
    words = {str(cell) for cell in cells if number_of(cell) is None}
    few = len(words) <= min(_MOST_WORDS, max(3, len(rows) // 2))
    return few and max((len(word) for word in words), default=0) <= _LONGEST


def _fits(rows: Sequence[Row], name: str, ours: str) -> bool:
    """Whether the cells of a column can be what its name says: a question may be a prompt, a kind that of a task."""
    cells = [cell for row in rows if (cell := row.get(name)) not in (None, "")]
    if ours == "question":
        return _are_answers(rows, name)
    if plain(name) == ours:  # our own name is meant; a cell that does not fit is refused later
        return True
    if ours == "rater_kind":
        return all(plain(str(cell)) in KIND_WORDS for cell in cells)
    if ours == "scale":
        return all(_is_scale(str(cell)) for cell in cells)
    if ours in _WHOLE:
        return all((number := number_of(cell)) is not None and number.is_integer() for cell in cells)
    return not (ours == "confidence" and any(number_of(cell) is None for cell in cells))


def _is_scale(cell: str) -> bool:
    try:
        return bool(checked_scale("scale", cell))
    except InputError:
        return False


def _checked(where: str, layout: Layout, heads: Sequence[str], options: ImportOptions) -> Layout:
    """Refuse a table that lacks what a rating needs, with everything that it lacks."""
    lacking = []
    if "trajectory_id" not in layout.roles:
        lacking.append("what was rated (--column THEIRS=trajectory_id)")
    if "verdict" not in layout.roles and not layout.answers:
        lacking.append("the answers (--column THEIRS=verdict)")
    if "rater" not in layout.roles and not options.rater and not layout.by_rater:
        lacking.append("who rated (--rater-column THEIRS, or --rater NAME)")
    asked = "question" in layout.roles or len(options.question) == 1 or (layout.answers and not layout.by_rater)
    if not asked:
        lacking.append("what was asked (--question NAME, or --column THEIRS=question)")
    if lacking and not (options.kind or options.kinds or "rater_kind" in layout.roles):
        lacking.append("what the raters are (--kind llm, decision_model, rules or human; or NAME=KIND)")
    if lacking:
        raise InputError(where, f"lacks {'; '.join(lacking)}", ", ".join(heads))
    return layout


def _judgements(where: str, row: Row, layout: Layout) -> Iterator[Judgement]:
    roles = layout.roles
    thing = row.get(roles["trajectory_id"])
    if thing in (None, ""):
        raise InputError(where, f"the cell {roles['trajectory_id']} is empty", cure="name what was rated in every row")
    about = {ours: _cell(where, ours, row.get(column)) for ours, column in roles.items() if ours not in _OWN}
    if roles.get("trajectory_id") == roles.get("task_id"):
        about.pop("task_id", None)
    rater, question = (_text(row.get(roles[name])) if name in roles else None for name in ("rater", "question"))
    kind = _kind(where, row.get(roles["rater_kind"])) if "rater_kind" in roles else None
    if not layout.answers:
        yield Judgement(where, str(thing), question, rater, row.get(roles["verdict"]), kind, None, about)
    for name in layout.answers:
        word = row.get(name)
        if word in (None, "") or word != word:  # an empty cell of a wide table: not rated
            continue
        beside = {ours: _cell(where, ours, row.get(column)) for ours, column in layout.sides[name].items()}
        asked, by = (question, name) if layout.by_rater else (name, rater)
        yield Judgement(where, str(thing), asked, by, word, kind, None, {**about, **beside})


_OWN = ("trajectory_id", "question", "rater", "verdict", "rater_kind")
_WHOLE = ("step_index", "repeat", "input_tokens", "cached_tokens", "output_tokens")


def _text(cell: object) -> str | None:
    return None if cell in (None, "") else str(cell)


def _cell(where: str, ours: str, cell: object) -> Any:
    """A cell as our field takes it."""
    if cell in (None, "", []) or cell != cell:
        return None
    if ours in ("cited_step_indices", "invalid_citations"):
        steps = cell if isinstance(cell, list) else str(cell).strip("[] ").replace(",", " ").replace(";", " ").split()
        return steps_of(where, steps)
    if ours == "flags":
        return cell if isinstance(cell, list) else [str(cell)]
    if ours in _WHOLE or ours in ("cost_usd", "latency_s", "value"):
        number = number_of(cell)
        if number is None or (ours in _WHOLE and not number.is_integer()):
            raise InputError(where, f"{ours} takes a {'whole ' if ours in _WHOLE else ''}number", cell)
        return int(number) if ours in _WHOLE else number
    return cell if ours == "confidence" else str(cell)


def _kind(where: str, cell: object) -> RaterKind | None:
    if cell in (None, ""):
        return None
    if (kind := KIND_WORDS.get(plain(str(cell)))) is None:
        cure = "map the column with --column NAME=ignore and say --kind"
        raise InputError(where, f"a kind of rater is one of {', '.join(KIND_WORDS)}", cell, cure)
    return kind
