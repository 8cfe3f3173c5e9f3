"""Cells as spreadsheets and programs leave them, what columns say of each other, and the judgements of their rows.

Missing cells are words, numbers have percent signs or commas for points; of bad things a yes is no praise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, product
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, WayOut
from axisjudge.cluster import watched
from axisjudge.imports.in_a_cell import rows_of_items
from axisjudge.imports.judgement import JUDGED, ImportOptions, share_of, word_or_none
from axisjudge.imports.recognise import (
    CONFIDENCE,
    HUMAN,
    KIND_WORDS,
    LEAST_OWN_IDS,
    NAMES,
    Recognised,
    as_word,
    in_order,
    kind_of,
    says_verdicts,
    texts,
    tokens,
    who,
)
from axisjudge.imports.sheets import AT_ONCE, Cells, Columns, at_rows, each_cell
from axisjudge.labels.own import steps_of
from axisjudge.ratings.edge import MOST_WORDS, NO_VERDICT, SCHEMA, alike, same_choices, side, word, words_in
from axisjudge.ratings.scales import checked_scale, number_of, plain
from axisjudge.verdict import RaterKind

#: Fields that are whole numbers.
WHOLE = ("step_index", "repeat", "input_tokens", "cached_tokens", "output_tokens")
#: What may stand beside a wide column, by words of its name.
SIDES = {
    "confidence": CONFIDENCE,
    "rationale": frozenset(NAMES["rationale"]),
    "cited_step_indices": words_in("steps cited indices"),
}
#: Words of a rater's column that its confidence may go without.
PLAIN = words_in("label verdict answer rating decision judge llm score value final pred prediction said judgment")
#: Fields that a judgement has in a form of its own, and not as a rating has them.
_OWN = ("trajectory_id", "question", "rater", "verdict", "rater_kind")
#: Columns left out are named up to so many.
MOST_NAMED = 12
_PERCENT = r"^\d+(?:[.,]\d+)?\s*%$"
_COMMA = r"^-?\d+,\d+$"
_THOUSANDS = r"^-?[1-9]\d{0,2}(?:,\d{3})+$"
_OF_MOST = r"^(\d+(?:\.\d+)?)\s*/\s*(\d+)$"
#: The last words of a judge's text.
_VERDICT_AT_END = r"(?is)\s.*(?:\b(?:verdict|judge?ment|rating|grade|decision)\b\W*[:=]\W*|\[\[)([\w.+-]+?)\W*$"
#: What a program wrote in place of a verdict.
_FAILURE = (
    r"^(?:api |http )?(?:error|exception)\b.*(?:limit|time|connect|overload|quota|\b[45]\d\d\b|json|pars|server|api)"
)
#: Words of a name that say nothing of what was asked.
_OF_FORM = words_in(
    "ground as by of the is final parsed raw ratings scores quality class choice word id text response coder hf"
) | (
    words_in("output completion generation reply majority mean average median consensus rater eval evaluation")
    | words_in("mini nano opus sonnet haiku flash pro turbo instruct chat base large small plus preview it thinking")
)
_CORRECT = words_in("correct correctness accurate accuracy")
_AGREES = words_in("correct match agree agreement")
#: A version or size of a model: v2, 4o, 70b, 8x7b, r1.
_VERSION = re.compile(r"v?\d+(x?\d*[a-z])?|r\d+")
#: One of two answers, with what may stand before its letter or number.
_OF_ANSWER = r"(?:model|assistant|response|answer|output|option|choice|system|summary|candidate|completion)[\W_]*"
_TWO_ANSWERS = ({"a", "b"}, {"1", "2"}, {"left", "right"}, {"first", "second"})
#: Things of which yes is the bad answer; of the second it hangs on what was asked.
_BAD = words_in(
    "toxic toxicity harmful harm unsafe hallucinated hallucination hallucinations hallucinates hallucinating "
    "biased bias erroneous violation violations violates violated offensive hateful hate abusive abuse "
    "spam unfaithful incorrect wrong inaccurate unsupported unfair fail failed fails failure contradiction contradicts "
    "contradictory leak leaked sexist racist misogynous vulgar profane profanity insult threat obscene unethical "
    "jailbroken jailbreak misleading deceptive plagiarized buggy bug malicious irrelevant redundant misinformation"
)
_EITHER = words_in("error errors refusal refused refuses refuse abstained abstention flagged flag issue")
_NEGATED = words_in("not no non free without absence lack detection detector")
_SIGNS = {">=": ge, "<=": le, ">": gt, "<": lt}
TURNED = words_in("swapped swap flipped flip reversed reverse inverted")
_ORDERED = words_in("order ordering position presentation")


def mended(columns: Columns, meant: Iterable[str], keep: str) -> tuple[Columns, list[str]]:
    """The columns with such cells as what they mean, and what was changed, in words.

    Parameters
    ----------
    columns : mapping of columns
    meant : iterable of str
        Words that the user has said something of: they stay.
    keep : str
        The option that says something of a word.
    """
    columns, notes = rows_of_items(columns)
    made = dict(columns)
    said = [each.strip().lower() for each in meant]
    for head, words in texts(columns).to_dict().items():
        used = words.drop_nulls().str.strip_chars().unique()
        if (changed := _change(used.filter(~used.str.to_lowercase().is_in(said)), keep)) is not None:
            change, stated = changed
            made[head] = each_cell(columns[head], partial(_cell, change=change))
            notes.append(f"{head}: {stated}")
    return made, notes


def _cell(cell: object, change: Mapping[str, object]) -> object:
    text = "" if cell is None else cell
    return change.get(text.strip(), cell) if isinstance(text, str) else cell


def _change(words: pl.Series, keep: str) -> tuple[dict[str, object], str] | None:
    """What the words of a column mean, where they are not what they look like, and how to say so."""
    folded = words.str.to_lowercase()
    empty = folded.is_in([*NO_VERDICT])
    empty |= folded.str.contains(_FAILURE) & (len(words) <= 3 * MOST_WORDS)
    if len(words) == 1 and folded[0] == "checked":  # as a box that is not ticked is written
        return {"": "unchecked"}, f"empty cells are read as unchecked (else: {keep} checked=WORD)"
    if not (empty | folded.str.contains(r"[%,/:\[]")).any():
        return None
    others = words.filter(~empty)
    if of_text := _at_end(others):
        return of_text
    percent, comma = others.str.contains(_PERCENT), others.str.contains(_COMMA)
    pointed = decimal_points(others)
    plain = others.str.replace_all("_", "x").cast(pl.Float64, strict=False).is_finite().fill_null(value=False)
    of_most = others.str.extract_groups(_OF_MOST)
    shares = len(others) > 1 and not of_most.struct[0].null_count() and of_most.struct[1].n_unique() == 1
    numbers = bool((plain | percent | comma).all()) or shares
    verdicts = numbers or (len(others) <= MOST_WORDS and says_verdicts(word(each) or "" for each in others))
    answer = folded.is_in(["none", "n/a"])  # beside minor and major; a program's None stands out by its capital
    answer &= (words != "None") | others.str.contains("^[A-Z]").any()
    nothing = sorted(words.filter(empty if verdicts else empty & ~answer))
    change: dict[str, object] = dict.fromkeys(nothing)
    notes = [f"{', '.join(nothing)} counted as empty (else: {keep} WORD=WORD)"] if nothing else []
    if len(others) and percent.all():
        change |= {each: str(float(each.rstrip("% ").replace(",", ".")) / 100) for each in others}
        notes.append("percentages read as shares of 1")
    elif shares:
        change |= dict(zip(others, of_most.struct[0], strict=True))
        notes.append(f"scores of {of_most.struct[1][0]} read as numbers")
    elif numbers and (pointed != others).any():
        change |= dict(zip(others, pointed, strict=True))
        notes.append("commas read as decimal points")
    return (change, "; ".join(notes)) if change else None


def decimal_points(words: pl.Series) -> pl.Series:
    """Cells whose numbers have commas for points (0,5) with points; those of whole numbers part thousands and stay."""
    comma = words.str.contains(_COMMA)
    if words.filter(comma).str.contains(_THOUSANDS).all():
        return words
    return words.zip_with(~comma, words.str.replace(",", ".", literal=True))


def _at_end(words: pl.Series) -> tuple[dict[str, object], str] | None:
    """The verdict that ends each text of a judge (``... Verdict: PASS``, ``[[A]]``), where nearly all have one."""
    if not len(words) or words.head(50).str.contains(_VERDICT_AT_END).mean() < LEAST_OWN_IDS:  # type: ignore[operator]
        return None
    last = words.str.extract(_VERDICT_AT_END)
    used = last.drop_nulls().unique()
    if len(used) > MOST_WORDS or len(used) == len(words) or not says_verdicts(word(each) or "" for each in used):
        return None
    none = f", {last.null_count()} texts without one counted as empty" * bool(last.null_count())
    return dict(zip(words, last, strict=True)), f"read as the verdict that ends each text{none}"


def row_by_row(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The judgements of several columns in the order of the rows, one column at a time for the memory's sake."""
    if len(parts) == 1:
        return parts[0]
    order = pl.concat([part["row"].cast(pl.Int64) * len(parts) + n for n, part in enumerate(parts)]).arg_sort()
    names = dict.fromkeys(name for part in parts for name in part.columns)
    absent = {
        name: pl.Series(name, [None], dtype=next(p.schema[name] for p in parts if name in p.columns)) for name in names
    }
    return pl.DataFrame(
        [
            pl.concat(
                [part[name] if name in part.columns else absent[name].new_from_index(0, part.height) for part in parts]
            ).gather(order)
            for name in names
        ]
    )


def typed_column(path: str, first: int, ours: str, cells: Cells) -> pl.Series:
    """A column as our field takes it."""
    if isinstance(cells, pl.Series) and cells.dtype == SCHEMA[ours] == pl.String and ours != "rater_kind":
        return cells.set(cells == "", None)
    made = []
    for at in watched(range(0, len(cells), AT_ONCE), f"reading {ours}", delay=1):
        part = enumerate(cells[at : at + AT_ONCE], start=first + at)
        made.append(pl.Series([_typed(f"{path}:{row}", ours, cell) for row, cell in part], dtype=SCHEMA[ours]))
    return pl.concat(made)


def _typed(where: str, ours: str, cell: object) -> Any:
    """A cell as our field takes it."""
    if cell in (None, "", []) or cell != cell:
        return None
    if ours in ("cited_step_indices", "invalid_citations"):
        steps = cell if isinstance(cell, list) else str(cell).strip("[] ").replace(",", " ").replace(";", " ").split()
        return steps_of(where, steps)
    if ours == "flags":
        return cell if isinstance(cell, list) else [str(cell)]
    if ours in WHOLE or ours in ("cost_usd", "latency_s", "value"):
        number = number_of(cell)
        if number is None or (ours in WHOLE and not number.is_integer()):
            raise InputError(where, f"{ours} takes a {'whole ' if ours in WHOLE else ''}number", cell)
        return int(number) if ours in WHOLE else number
    if ours == "rater_kind":
        return _kind(where, cell)
    return share_of(where, cell) if ours == "confidence" else str(cell)


def _kind(where: str, cell: object) -> RaterKind:
    if (kind := KIND_WORDS.get(plain(str(cell)))) is None:
        cure = "map the column with --column NAME=ignore and say --kind"
        raise InputError(where, f"a kind of rater is one of {', '.join(KIND_WORDS)}", cell, cure)
    return kind


def of_people(part: pl.DataFrame, options: ImportOptions) -> pl.Series:
    """Of each judgement, whether a person said it, as far as it is told, written or likely by the rater's name."""
    rater = part["rater"].fill_null(str(options.rater))
    names = rater.unique().to_list()
    given = rater.replace_strict(names, [options.kinds.get(name) for name in names], return_dtype=pl.String)
    likely = rater.replace_strict(
        names, [options.kind or kind_of(name) or "llm" for name in names], return_dtype=pl.String
    )
    return part.select(pl.coalesce(given, "kind", likely) == "human").to_series()


def cell_words(cells: Cells) -> pl.Series:
    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        words = cells.str.strip_chars()
        return words.set(words == "", None)
    return pl.Series([word_or_none(cell) for cell in cells], dtype=pl.String)


def without_copies(columns: Columns) -> tuple[Columns, int]:
    """The columns without rows that repeat another whole, where rows have an id or a text of their own."""
    cells = texts(columns)
    if cells.width < 3 or not alike(cells):
        return columns, 0
    kept = cells.with_row_index("").unique(cells.columns, keep="first", maintain_order=True)[""].to_list()
    return at_rows(columns, kept), cells.height - len(kept)


def is_scale(cell: str) -> bool:
    """Whether a cell names a scale."""
    try:
        return bool(checked_scale("scale", cell))
    except InputError:
        return False


def no_share(known: Recognised, name: str) -> bool:
    """Whether no cell of a confidence is a share of 1: high, medium, low, or 1 to 10."""
    cells = known.frame[name].drop_nulls().unique()
    return len(cells) > 0 and not any(0 <= number <= 1 for cell in cells if (number := number_of(cell)) is not None)


def beside(known: Recognised, name: str, heads: Iterable[str]) -> dict[str, str]:
    """Our field -> column of what stands beside a wide column: ``gpt_confidence`` beside ``gpt`` or ``gpt_verdict``."""
    own, plain_own, sides = tokens(name), tokens(name) - PLAIN, {}
    every = [tokens(head) for head in known.columns]
    for ours, endings in SIDES.items():
        named = {head: tokens(head) - endings for head in heads if head != name and says_beside(known, head, ours)}
        whole = [head for head, rest in named.items() if rest == own]
        near = [head for head, rest in named.items() if rest & own and rest - PLAIN == plain_own and rest not in every]
        if len(of := whole or near) == 1:
            sides[ours] = of[0]
    return sides


def says_beside(known: Recognised, head: str, ours: str) -> bool:
    """Whether a column is named for what stands beside verdicts, and can be it: a confidence has numbers."""
    column = known.columns[head]
    if not tokens(head) & SIDES[ours] or not column.filled:
        return False
    if ours == "confidence":
        return any(number_of(cell) is not None for cell in known.frame[head].drop_nulls().unique())
    return column.kind != "verdict"  # a model `(reasoning=low)` gives no reasons


def to_the_judge(
    known: Recognised, roles: dict[str, str], sides: Mapping[str, dict[str, str]], raters: Sequence[str],
    free: Sequence[str], told: Collection[str],
) -> list[str]:  # fmt: skip
    """Take from `roles` what is said of one of several raters, and give what names nobody to the only judge."""
    judges = [name for name in raters if who(name) != "people"]
    shared = [ours for ours in SIDES if ours in roles and roles[ours] not in told and len(raters) > 1]
    taken = {ours: roles.pop(ours) for ours in shared}
    for name, column in product(raters, taken.values()):  # a last part of its name may have made it a field of all
        sides[name].update(beside(known, name, [column]))
    for ours in ("confidence", "rationale") if len(judges) == 1 < len(raters) else ():
        if mine := only_beside(known, ours, [*free, *taken.values()]):
            sides[judges[0]].setdefault(ours, mine)
    return [*taken.values()]


def only_beside(known: Recognised, ours: str, heads: Iterable[str]) -> str:
    """The only column that is named for what stands beside verdicts, and not people's."""
    mine = [name for name in heads if says_beside(known, name, ours) and not tokens(name) & HUMAN]
    return mine[0] if len(mine) == 1 else ""


def agreeing(known: Recognised, names: Sequence[str], people: Sequence[str]) -> list[str]:
    """Those of the columns that say whether a judge's and a person's agree."""
    others = [name for name in names if name not in people]
    judged = [name for name in others if who(name) == "judge"] or others
    may = [name for name in others if who(name) != "judge" or tokens(name) & _AGREES]
    pairs = [(one, other) for one in judged for other in people]
    return [of for of in may if any(of not in pair and _says_agreement(known.frame, of, *pair) for pair in pairs)]


def _says_agreement(frame: pl.DataFrame, name: str, one: str, other: str) -> bool:
    """Whether a column says in every row whether two others agree."""
    texts_of = frame.select(as_word(name).alias("name"), (as_word(one) == as_word(other)).alias("alike")).drop_nulls()
    sides = {each: side(each) for each in texts_of["name"].unique()}
    if len(sides) != 2 or not all(sides.values()):
        return False
    passed = texts_of["name"].is_in([each for each, which in sides.items() if which == "pass"])
    return bool((passed == texts_of["alike"]).all())


def about(name: str) -> frozenset[str]:
    """What a column's name says that it is of, and not who said it or in which form.

    >>> sorted(about("human_toxic")), sorted(about("response_a_gpt4")), sorted(about("judge_v2")), about("codellama-7b")
    (['toxic'], ['a'], [], frozenset())
    """
    every = {each for each in tokens(name.replace("CodeL", "codel")) if len(each) > 1 and not _VERSION.fullmatch(each)}
    own = {each for each in every if not who(each)} - {*NAMES["verdict"]} - _OF_FORM - _CORRECT
    letters = re.findall(rf"{_OF_ANSWER}([a-e]|\d)(?![a-z0-9])", name.casefold())
    return frozenset(own | {*letters} | ({"correct"} if every & _CORRECT else set()))


def of_bad(names: Iterable[str]) -> tuple[str, bool]:
    """The first name that is of something bad, so that yes fails (``human_toxic``), and whether that is sure.

    >>> of_bad(["judge", "human_toxic"]), of_bad(["is_not_toxic"]), of_bad(["judge_refusal"])
    (('human_toxic', True), ('', False), ('judge_refusal', False))
    """
    every = [(name, tokens(name)) for name in names]
    open_to_both = [(name, own) for name, own in every if own & (_BAD | _EITHER) and not own & _NEGATED]
    sure = next((name for name, own in open_to_both if own & _BAD), "")
    return sure or next((name for name, _ in open_to_both), ""), bool(sure)


def rows_where(frame: pl.DataFrame, conditions: Iterable[str]) -> pl.DataFrame:
    """The rows of cells as texts that meet every condition ``COLUMN=WORD`` (``COLUMN == WORD``).

    Raises
    ------
    InputError
        A condition is none, or names no column, or no row meets all.
    """
    conditions, kept = list(conditions), frame
    for condition in conditions:
        parts = re.fullmatch(r"(.+?)\s*==?\s*(.*?)\s*", condition, re.DOTALL)
        if not parts or parts[1] not in kept.columns:
            cure = f"the columns are {', '.join(kept.columns)}"
            raise InputError("--where", "must be COLUMN=WORD with a column of the file", condition, cure)
        kept = kept.filter(pl.col(parts[1]).fill_null("").str.strip_chars() == parts[2])
    if not kept.height:
        raise InputError("--where", "leaves no row", ", ".join(conditions))
    return kept


def passing(frame: pl.DataFrame, rules: Iterable[str], missing: Iterable[str]) -> dict[str, pl.Series]:
    """Columns of numbers as pass or fail, by rules ``COLUMN >= NUMBER``; a cell of `missing` holds no verdict.

    Raises
    ------
    InputError
        A rule is none, or names no column, or a cell of its column is no number.
    """
    none, made = NO_VERDICT | {word(each, frozenset()) or "" for each in missing}, {}
    for rule in rules:
        parts = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*", rule)
        if not parts or parts[1] not in frame.columns:
            cure = f"such as --pass-if 'score >= 0.5'; the columns are {', '.join(frame.columns)}"
            raise InputError("--pass-if", "must be COLUMN >= NUMBER with a column of the file", rule, cure)
        column, compare, bar = parts[1], _SIGNS[parts[2]], float(parts[3])
        words: dict[str, str] = {}
        for cell in frame[column].drop_nulls().unique(maintain_order=True):
            if (text := word(cell, none)) is None:
                continue
            if (number := number_of(text)) is None:
                raise InputError(f"--pass-if {rule!r}", f"{column} must hold finite numbers", cell)
            words[cell] = "pass" if compare(number, bar) else "fail"
        made[column] = frame[column].replace_strict(words, default=None, return_dtype=pl.String)
    return made


def pass_rules(ranges: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Options that say from where on each of these columns of numbers passes: the middle of its range, of shares .5.

    >>> pass_rules({"score": (0, 0.9), "toxicity": (1, 5)})
    ('--pass-if', 'score >= 0.5', '--pass-if', 'toxicity < 3')
    """
    bars = {name: 0.5 if 0 <= low <= high <= 1 else round((low + high) / 2, 2) for name, (low, high) in ranges.items()}
    return each_by("--pass-if", (f"{name} {'<' if of_bad([name])[0] else '>='} {bar:g}" for name, bar in bars.items()))


def unlike(names: Iterable[str]) -> bool:
    """Whether columns are of unlike things by their names (``human_toxic``, ``judge_safe``).

    A word more may be the name of a rater, where no other word says who rated (``varc_error`` beside ``human_error``).
    """
    subjects = [(about(name), name) for name in names if about(name)]
    pairs = (sorted(pair, key=lambda each: len(each[0])) for pair in combinations(subjects, 2))
    return any(not (less == more or (less < more and not who(of))) for (less, _), (more, of) in pairs)


def asked_by_name(names: Iterable[str]) -> dict[str, list[str]]:
    """Question -> columns, where every name says what it is of and each is answered twice (``human_tone``)."""
    asked: dict[str, list[str]] = {}
    for name in names:
        asked.setdefault("_".join(sorted(about(name))), []).append(name)
    return asked if len(asked) > 1 and "" not in asked and min(map(len, asked.values())) > 1 else {}


def of_one_rater(names: Sequence[str]) -> bool:
    """Whether names tell questions of one rater: one role in all, and in each another word (``judge_tone``)."""
    roles, subjects = {who(name) for name in names}, {about(name) for name in names} - {frozenset()}
    return len(roles - {""}) == len(roles) == 1 < len(names) == len(subjects)


def is_setting(known: Recognised, name: str, answers: Sequence[str]) -> bool:
    """Whether a column says one thing in all rows that no other column of answers says, and that takes no side."""
    own = known.columns[name].words
    others = frozenset().union(*(known.columns[each].words for each in answers if each != name))
    return len(own) == 1 and len(answers) > 1 and not own & others and not any(map(side, own))


def chooses(known: Recognised, names: Iterable[str]) -> bool:
    """Whether one of these columns chooses between two answers."""
    sets = [{re.sub(f"^{_OF_ANSWER}", "", each.strip("[]() ")) for each in known.columns[name].words} for name in names]
    return any(two <= words and len(words) <= len(two) + 3 for words in sets for two in _TWO_ANSWERS)


def _in_both(known: Recognised, name: str) -> bool:
    """Whether the rows of most ids are two or three that have both words of a column: a pair in both orders."""
    for of in (each for each, column in known.columns.items() if column.filled and not column.words):
        words = known.frame.group_by(of).agg(pl.col(name).n_unique().alias("n"))["n"]
        if len(words) * 3 >= known.frame.height and (words == 2).sum() * 2 > len(words):
            return True
    return False


def turned(known: Recognised, verdicts: Sequence[str]) -> str:
    """Where verdicts choose between two answers, the column that says in which rows these stood the other way round."""
    if not chooses(known, verdicts):
        return ""
    for name, column in known.columns.items():
        own, words = tokens(name), [re.sub(r"[^a-z0-9]", "", each) for each in column.words]
        if len(words) != 2 or name in verdicts:
            continue
        mirrored = words[0] == words[1][::-1] and len(words[0]) > 1
        both = mirrored or any(TURNED & tokens(each) for each in column.words)
        flags = all(map(side, words)) and not who(name)
        if (own & TURNED and (flags or both)) or (own & _ORDERED and (both or _in_both(known, name))):
            return name
    return ""


def refuse_turned(known: Recognised, over: str, judges: Sequence[str]) -> None:
    """Refuse choices between two answers that stood the other way round in some rows, with the rows of one order."""
    of_rows = sorted(known.frame[over].drop_nulls().str.strip_chars().unique())[:2]
    ways = [WayOut(("--where", f"{over}={each}"), f"only rows with {over} {each}") for each in of_rows]
    ways.append(WayOut(each_by("--judge", judges), "if a word means the same answer in both orders"))
    rule = f"says in which rows the two answers stood the other way round, so that {judges[0]} may mean the other one"
    raise InputError(f"column {over!r}", rule, ways=ways)


def each_by(option: str, names: Iterable[str]) -> tuple[str, ...]:
    """The option once for each name."""
    return tuple(part for name in names for part in (option, name))


def words_meant(judge: str, own: Sequence[str], theirs: Iterable[str], *, alone: bool = False) -> list[WayOut]:
    """What a judge's words stand for among people's, as choices between answers or of two sides; else both ways round.

    The first is clear where the judge stands `alone`.
    """
    words = sorted(theirs, key=in_order)
    if meant := same_choices(own, words) or same_choices(words, own):
        whose = judge if {*meant} <= {*own} else ""
        pairs = each_by("--words", (f"{whose}:{one}={other}" for one, other in meant.items() if one != other))
        return [WayOut(("--judge", judge, *pairs), clear=alone)]
    if len(own) != 2 or len(words) != 2 or {*own} & {*words}:
        return []
    if any(map(side, own)) and not any(map(side, words)):  # true and false are no choice between two answers
        return []
    made = []
    for order in (words, words[::-1]):
        parts = [f"{judge}:{one}={other}" for one, other in zip(own, order, strict=True)]
        made.append(WayOut(("--judge", judge, *each_by("--words", parts)), f"if {own[0]} means {order[0]}"))
    return made


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

    def table(self, known: Recognised) -> tuple[dict[str, str], ...]:
        """One row a column: what it is, why, and what it is taken for; those that are not read come last."""
        taken = {part: ours for ours, name in self.roles.items() for part in (name, *name.split(" + "))}
        taken |= {column: f"{ours} of {name}" for name, of in self.sides.items() for ours, column in of.items()}
        taken |= dict.fromkeys(self.answers, "rater" if self.by_rater else "question")
        rows = [{**each, "taken as": taken.get(each["column"], "not read")} for each in known.table]
        return tuple(sorted(rows, key=lambda row: row["taken as"] == "not read"))


def judgements_of(
    path: Path, columns: Columns, known: Recognised, layout: Layout, options: ImportOptions
) -> tuple[pl.DataFrame, list[str]]:
    """The judgements of all rows, and how many cells were empty: no verdict of a judge, no label of a person."""
    first = 2 if path.suffix in (".csv", ".tsv") else 1
    roles, frame = layout.roles, known.frame

    def field(ours: str, column: str) -> pl.Series:
        return typed_column(str(path), first, ours, columns[column])

    things = frame[roles["trajectory_id"]]
    if things.null_count() and "rater" not in roles:
        number = pl.format("row {}", pl.int_range(first, first + frame.height))
        things = frame.select(pl.col(things.name).fill_null(number)).to_series()
    if things.null_count():
        where = f"{path}:{first + things.is_null().arg_true()[0]}"
        raise InputError(where, f"the cell {things.name} is empty", cure="name what was rated in every row")
    shared = {
        "row": pl.int_range(first, first + frame.height, dtype=pl.UInt32, eager=True),
        "thing": things,
        **{name: frame[roles[name]].str.strip_chars() for name in ("question", "rater") if name in roles},
        **({"kind": field("rater_kind", roles["rater_kind"])} if "rater_kind" in roles else {}),
        **{ours: field(ours, column) for ours, column in roles.items() if ours not in _OWN},
    }
    if roles["trajectory_id"] == roles.get("task_id"):
        shared.pop("task_id")
    rows = pl.DataFrame({name: column.alias(name) for name, column in shared.items()})
    unsaid = [name for name in JUDGED if name not in ("where", "word", *rows.columns)]
    rows = rows.with_columns(
        pl.lit(str(path)).alias("where"), *(pl.lit(None, pl.String).alias(name) for name in unsaid)
    )
    if not layout.answers:
        return rows.with_columns(word=cell_words(columns[roles["verdict"]])), []
    parts, notes = [], []
    for name in layout.answers:
        more = [field(ours, column).alias(ours) for ours, column in layout.sides[name].items()]
        part = rows.with_columns(
            pl.lit(name).alias("rater" if layout.by_rater else "question"),
            cell_words(columns[name]).alias("word"),
            *more,
        )
        empty = part["word"].is_null()
        if empty.any():
            lost = empty & ~of_people(part, options)
            part = part.filter(pl.col("word").is_not_null() | lost)
            if count := int(lost.sum()):
                notes.append(f"{name}: {count:,} empty cells are verdicts that did not come, and stay counted")
            if (count := int(empty.sum()) - count) and not layout.by_rater:
                notes.append(f"{name}: {count:,} empty cells of people are no labels, and are left out")
        parts.append(part)
    return row_by_row(parts), notes
