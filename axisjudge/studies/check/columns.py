"""Which column is what: recognised from names and cells, said, and refused where two readings are possible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.imports.columns import KIND_WORDS, NAMES
from axisjudge.ratings.scales import plain
from axisjudge.studies.check.reading import Cells, CellTable
from axisjudge.studies.check.words import MOST_WORDS, NO_VERDICT, side, word, words_in

_HUMAN = words_in("human humans people person gold golden truth groundtruth expert reviewer manual sme")
_LABEL = words_in("label labels target expected reference actual annotation annotator")
_JUDGE = words_in("judge judges llm model verdict verdicts prediction predicted pred evaluator grader autorater")
_CONFIDENCE = words_in("conf confidence confidences probability prob certainty")
_PLAIN = words_in("label verdict answer rating decision judge llm score value final pred prediction said")
#: Names of what several rows share; a name of rows as well says so only where it repeats.
_CLUSTERS = (
    *NAMES["cluster_id"],
    *NAMES["task_id"],
    *("task_name", "query", "case", "case_id", "scenario", "problem", "question_id", "prompt_id"),
    *("conversation_id", "session_id"),
)
_ITEMS = tuple(name for name in NAMES["trajectory_id"] if name not in _CLUSTERS)

#: A column names items only if at least this share of its rows has an id of its own; a repeat's number does not.
LEAST_OWN_IDS = 0.9


@dataclass(frozen=True)
class Roles:
    """What the columns are; as a caller's wishes, empty where it is to be recognised.

    In a long table `judges` and `people` are names in the column `rater`. Cells of `missing` hold no verdict.
    """

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    cluster: str = ""
    item: str = ""
    confidence: Mapping[str, str] = field(default_factory=dict)
    rater: str = ""
    value: str = ""
    left_out: tuple[str, ...] = ()
    missing: frozenset[str] = NO_VERDICT

    @property
    def long(self) -> bool:
        """Whether a row is one rating, and not one item with all its ratings."""
        return bool(self.rater)


def roles_of(table: CellTable, wishes: Roles) -> Roles:
    """Work out what each column is.

    Raises
    ------
    InputError
        A column that is named and not there, or columns that could each be what is sought; the message names them and
        the option that decides.
    """
    for option, name in (("--cluster", wishes.cluster), ("--item", wishes.item), ("--rater", wishes.rater)):
        if name and name != "none":
            _column(table, option, name)
    if _is_long(table, wishes):
        return _long(table, wishes)
    for option, names in (("--judge", wishes.judges), ("--human", wishes.people)):
        for name in names:
            _column(table, option, name)
    people = wishes.people or _people(table, wishes)
    judges = wishes.judges or _judges(table, people, wishes)
    if both := set(judges) & set(people):
        raise InputError("--judge", "a column is a judge or people, not both", sorted(both))
    item = wishes.item or _item(table, {*judges, *people})
    cluster = _cluster(table, wishes, {*judges, *people, item})
    confidence = _confidences(table, judges, wishes)
    left_out = table.others({*judges, *people, item, cluster, *confidence.values()})
    return Roles(tuple(judges), tuple(people), cluster, item, confidence, left_out=left_out)


def _is_long(table: CellTable, wishes: Roles) -> bool:
    if wishes.rater or wishes.value:
        return True
    named = (*wishes.judges, *wishes.people)
    if any(name in table.columns for name in named):
        return False
    rater, value = _first(table, NAMES["rater"]), _first(table, NAMES["verdict"])
    if not rater or not value or rater == value:
        return False
    raters = {cell.strip() for cell in table.columns[rater] if cell}
    if not 2 <= len(raters) <= 200 or len(raters) * 2 > table.n_rows:
        return False
    return all(name in raters for name in named) if named else not _wide_judges(table, value, rater, wishes)


def _wide_judges(table: CellTable, value: str, rater: str, wishes: Roles) -> bool:
    """Whether the words of `value` stand in another column too, as in a wide table with a column `model`."""
    judge_words = _words(table.columns[value], wishes.missing)
    others = [name for name in table.columns if name not in (value, rater) and not _tokens(name) & _CONFIDENCE]
    return any(_shares_words(_words(table.columns[name], wishes.missing), judge_words) for name in others)


def _long(table: CellTable, wishes: Roles) -> Roles:
    value = _column(table, "--value", wishes.value or _first(table, NAMES["verdict"]))
    rater = _column(table, "--rater", wishes.rater or _first(table, NAMES["rater"]))
    item = _column(table, "--item", wishes.item or _first(table, _ITEMS) or _first(table, _CLUSTERS))
    raters = list(dict.fromkeys(cell.strip() for cell in table.columns[rater] if cell and cell.strip()))
    people = wishes.people or _long_people(table, rater, raters, wishes)
    judges = wishes.judges or tuple(name for name in raters if name not in people)
    for option, names in (("--judge", judges), ("--human", people)):
        if absent := [name for name in names if name not in raters]:
            raise InputError(option, f"must name raters of column {rater!r}", absent, f"they are {', '.join(raters)}")
    confidence_column = wishes.confidence.get("", "") or _first(table, tuple(_CONFIDENCE))
    confidence = dict.fromkeys(judges, confidence_column) if confidence_column else {}
    cluster = _cluster(table, wishes, {rater, value, item}, item=item)
    left_out = table.others({rater, value, item, cluster, confidence_column})
    return Roles(tuple(judges), tuple(people), cluster, item, confidence, rater, value, left_out)


def _long_people(table: CellTable, rater: str, raters: Sequence[str], wishes: Roles) -> tuple[str, ...]:
    if kind := _first(table, NAMES["rater_kind"]):
        pairs = zip(table.columns[rater], table.columns[kind], strict=True)
        human = {who.strip() for who, what in pairs if who and what and KIND_WORDS.get(plain(what)) == "human"}
    else:
        human = {name for name in raters if _tokens(name) & _HUMAN}
        human |= {name for name in raters if "annotator" in _tokens(name)} if wishes.judges else set()
    if wishes.judges:
        human = human or set(raters) - set(wishes.judges)
    if not human - set(wishes.judges):
        listed = ", ".join(raters[:8])
        raise InputError("--human", f"which raters of column {rater!r} are people?", listed, "name them, once each")
    return tuple(name for name in raters if name in human and name not in wishes.judges)


def _people(table: CellTable, wishes: Roles) -> tuple[str, ...]:
    taken = {*wishes.judges, *wishes.confidence.values(), wishes.cluster, wishes.item}
    words = {name: _words(cells, wishes.missing) for name, cells in table.columns.items() if name not in taken}
    free = [name for name, used in words.items() if 1 <= len(used) <= MOST_WORDS]
    people = [name for name in free if _tokens(name) & _HUMAN and not _tokens(name) & _CONFIDENCE]
    people += [
        name for name in free if name not in people and _tokens(name) & _LABEL and _tokens(name) <= _LABEL | {"id"}
    ]
    stems = {re.sub(r"[\W_]*\w?\d*$", "", name.casefold()) for name in people}
    if len(people) == 1 or (len(people) > 1 and len(stems) == 1 and all(_numbered(name) for name in people)):
        return tuple(people)
    if people:
        cure = "name people's column, or several people by --human once each"
        raise InputError("--human", f"{', '.join(people)} could each be what people said", cure=cure)
    raise InputError("--human", "no column is recognised as what people said", cure=f"name one; {table.named()}")


def _judges(table: CellTable, people: Sequence[str], wishes: Roles) -> tuple[str, ...]:
    judge_words = {each for name in people for each in _words(table.columns[name], wishes.missing)}
    taken = {*people, *wishes.confidence.values(), wishes.cluster, wishes.item}
    free = [name for name in table.columns if name not in taken and not _tokens(name) & (_CONFIDENCE | _HUMAN)]
    words = {name: _words(table.columns[name], wishes.missing) for name in free}
    alike = [name for name in free if _shares_words(words[name], judge_words, leave=_is_judge(name))]
    named = [name for name in alike if _is_judge(name)]
    if named or len(alike) == 1:
        return tuple(named or alike)
    if alike:
        cure = "name each judge by --judge"
        raise InputError("--judge", f"{', '.join(alike)} could each be a judge", cure=cure)
    if scores := [name for name in free if len(words[name]) > MOST_WORDS and _is_judge(name)]:
        rule = f"{', '.join(scores)} holds more than {MOST_WORDS} different values, and no words"
        raise InputError("--judge", rule, cure="cut a score into words at your threshold first")
    rule = f"no column has the words that people used ({', '.join(sorted(judge_words)[:6])})"
    raise InputError("--judge", rule, cure=table.named())


def _cluster(table: CellTable, wishes: Roles, taken: set[str], item: str = "") -> str:
    if wishes.cluster:
        return "" if wishes.cluster == "none" else wishes.cluster
    names = [name for name in table.columns if plain(name) in _CLUSTERS and name not in taken]
    of_rows = {name: _partition(table, name, item) for name in names}
    repeated = {name: groups for name, groups in of_rows.items() if 1 < len(set(groups)) < len(groups)}
    if len({tuple(groups) for groups in repeated.values()}) > 1:
        listed = ", ".join(repeated)
        cure = "choose one; `--cluster none` takes every row as independent"
        raise InputError("--cluster", f"{listed} could each say which rows belong together", cure=cure)
    return next(iter(repeated), "")


def _partition(table: CellTable, name: str, item: str) -> list[int]:
    cells = table.columns[name]
    if item:  # one entry an item, not one a rating
        cells = list(dict(zip(table.columns[item], cells, strict=True)).values())
    order: dict[str | None, int] = {}
    return [order.setdefault(cell, len(order)) for cell in cells]


def _item(table: CellTable, taken: set[str]) -> str:
    names = [name for want in _ITEMS for name in table.columns if plain(name) == want and name not in taken]
    kinds = {name: len(set(table.columns[name])) / table.n_rows for name in names}
    return max((name for name in names if kinds[name] >= LEAST_OWN_IDS), key=lambda name: kinds[name], default="")


def repeating_id(roles: Roles) -> str:
    """A column of a wide table that is named like an id and was not taken for one, because its values repeat."""
    of_rows = () if roles.long or roles.item else roles.left_out
    return next((name for name in of_rows if plain(name) in _ITEMS), "")


def _confidences(table: CellTable, judges: Sequence[str], wishes: Roles) -> dict[str, str]:
    confidences = {}
    for judge, name in wishes.confidence.items():
        judge = judge or (judges[0] if len(judges) == 1 else "")
        if judge not in judges:
            raise InputError("--confidence", "must be JUDGE=COLUMN", f"{judge}={name}", f"judges: {', '.join(judges)}")
        confidences[judge] = _column(table, "--confidence", name)
    free = [
        name for name in table.columns if name not in (*judges, *confidences.values()) and _tokens(name) & _CONFIDENCE
    ]
    for judge in judges:
        mine = [name for name in free if _tokens(name) - _CONFIDENCE - _PLAIN == _tokens(judge) - _PLAIN]
        if len(judges) == 1 and len(free) == 1 and not _tokens(free[0]) & _HUMAN:
            mine = free
        if judge not in confidences and len(mine) == 1:
            confidences[judge] = mine[0]
    return confidences


def _column(table: CellTable, option: str, name: str) -> str:
    if not name:
        raise InputError(option, "no column is recognised for it", cure=table.named())
    if name not in table.columns:
        raise InputError(option, "must name a column of the file", name, table.named())
    return name


def _first(table: CellTable, names: Sequence[str]) -> str:
    lower = {plain(name): name for name in reversed(list(table.columns))}
    return next((lower[name] for name in names if name in lower), "")


def _words(cells: Cells, missing: frozenset[str]) -> set[str]:
    return {text for cell in set(cells) if (text := word(cell, missing)) is not None}


def _shares_words(words: set[str], judge_words: set[str], *, leave: bool = False) -> bool:
    """Whether a column answers the question that `judge_words` answers: the same words, or words of the same two sides.

    With `leave`, as for a column named like a judge, half of its words may be its own.
    """
    if not words or len(words) > MOST_WORDS:
        return False
    if words <= judge_words or (leave and len(words & judge_words) * 2 >= len(words)):
        return True
    return bool(judge_words) and all(map(side, judge_words)) and sum(map(bool, map(side, words))) * 2 >= len(words)


def _tokens(name: str) -> set[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return set(re.split(r"[^a-z0-9]+", spaced.casefold())) - {""}


def _is_judge(name: str) -> bool:
    return bool(_tokens(name) & _JUDGE or family_of(name))


def _numbered(name: str) -> bool:
    return bool(re.search(r"([\W_]\w|\d+)$", name)) or _tokens(name) <= _HUMAN | _LABEL
