"""Judges and people on the same items, as arrays; what was left out on the way is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from csv import reader
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, WayOut
from axisjudge.imports.cells import each_by, of_bad, pass_rules
from axisjudge.imports.items import telling_apart
from axisjudge.imports.recognise import NAMES, Recognised, in_order, named_column, tokens
from axisjudge.ratings.edge import AFFIRMING, DENYING, FAILING, MOST_WORDS, PASSING, side, word, words_in
from axisjudge.ratings.scales import Level, are_measured, codes_of_none, in_degrees, one_line, plain
from axisjudge.stats.clusters import Alike
from axisjudge.stats.reference import majority
from axisjudge.stats.uneven_draws import Families, apart_reason, comparable_features
from axisjudge.studies._shared.frames import Floats
from axisjudge.studies.check.columns import ROW, Roles, confidence_of

#: Columns of such a name say on which occasion a row was made, as dates do: what is off that day is so in all its rows.
_OCCASIONS = words_in("day date week month batch build commit session occasion round shift night timestamp created_at")
_DATE = r"^\d{4}-\d\d?-\d\d?"
#: What words of a side mean, where yes fails and where it passes.
_EITHER = ({"pass": "fail", "fail": "pass"}, {"pass": "pass", "fail": "fail"})
# words that hang on the question where they stand alone
_SINGLE = words_in("y t n f 1 0")


@dataclass(frozen=True)
class Question:
    """The words that count. With two sides, `failing` is the one that sensitivity is about, coded 1; `passing` 0.

    With more words, or with two of which nothing says which is failing, `failing` is empty and words are coded by
    their place in `words`. `values` are the numbers that words are, where all are, or their ranks in a stated order.
    `named` is the column whose name says so; `stated` is the level that the caller names.
    """

    words: tuple[str, ...]
    code: Mapping[str, int]
    failing: str = ""
    passing: str = ""
    assumed: bool = False
    named: str = ""
    stated: Level | None = None

    @property
    def directed(self) -> bool:
        """Whether it is known which word is the failing one."""
        return bool(self.failing)

    @property
    def values(self) -> tuple[float, ...]:
        """The words as numbers, in their order; empty where a word is none and no order was told."""
        if all(map(_is_number, self.words)):
            return tuple(map(float, self.words))
        return tuple(map(float, range(len(self.words)))) if self.stated == "ordinal" else ()

    @property
    def level(self) -> Level:
        """As told; else ordinal where more than two words are numbers, so that distances count, and nominal."""
        return self.stated or ("ordinal" if len(self.words) > 2 and self.values else "nominal")

    @property
    def many_grades(self) -> bool:
        """Whether how far two are apart tells more than what was made of each grade."""
        return self.level == "ordinal" and len(self.words) > 5


def question(
    spoken: Mapping[str, Counter[str]],
    *,
    people: Sequence[str] = (),
    words: Sequence[str] = (),
    positive: str = "",
    scale: str = "",
) -> Question:
    """Work out the question's words from the words of each rater.

    Parameters
    ----------
    spoken : mapping
        How often each rater said each word.
    people : sequence of str
        The columns whose words name the two sides where raters use different ones.
    words : sequence of str
        The passing and the failing word, in this order; or more than two words that stand as they are.
    positive : str
        The word that a judge should catch; every other word then counts as passing.
    scale : str
        ``nominal``, or ``ordinal`` with the words in their order where they are no numbers (``ordinal:low,mid,high``).

    Raises
    ------
    InputError
        A word that is none of those named, or words of which it is not known what they mean beside pass and fail.
    """
    counts = sum(spoken.values(), Counter[str]())
    if not counts:
        raise InputError("ratings", "hold no verdict", cure="name the columns with --judge and --human")
    if len(counts) > MOST_WORDS or (are_measured(counts) and not (scale or words or positive)):
        few = ", ".join(each for each, _ in counts.most_common(4))
        numbers = {name: [*map(float, used)] for name, used in spoken.items() if all(map(_is_number, used))}
        why = f"; a question has {MOST_WORDS} words at most" if len(counts) > MOST_WORDS else ", more than grades have"
        rule = f"hold {len(counts)} different values ({few}, ...){why}"
        ways = [WayOut(pass_rules({name: (min(of), max(of)) for name, of in numbers.items() if len({*of}) > 2}))]
        ways += [WayOut(("--scale", "ordinal"), "to count near misses less")] * (len(counts) <= MOST_WORDS)
        cure = "say from where on a score passes" if numbers else "name other columns"
        raise InputError("ratings", rule, cure=cure, ways=ways if numbers else ())
    if scale:
        return _on_scale(scale, counts)
    if words:
        return _named([word(each) or each for each in words], counts)
    if positive:
        return _caught(word(positive) or positive, counts)
    return _recognised(counts, spoken, people)


def _on_scale(scale: str, counts: Counter[str]) -> Question:
    level, _, rest = scale.partition(":")
    told = next(reader([rest], skipinitialspace=True), [])
    order = [word(each) or each for each in told] or sorted(counts, key=in_order)
    if level not in ("nominal", "ordinal") or len(set(order)) < 2:
        raise InputError("--scale", "must be nominal, ordinal, or ordinal:LOWEST,...,HIGHEST", scale)
    if level == "ordinal" and not rest and not all(map(_is_number, order)):
        cure = f"name the words from the lowest to the highest: --scale ordinal:{','.join(order)}"
        raise InputError("--scale", "ordinal needs an order where words are no numbers", scale, cure)
    if others := [each for each in counts if each not in order]:
        raise InputError("--scale", f"leaves out {_listed(others, counts)}", scale)
    code = {each: rank for rank, each in enumerate(order)}
    return Question(tuple(order), code, stated="ordinal" if level == "ordinal" else "nominal")


def _named(named: Sequence[str], counts: Counter[str]) -> Question:
    if len(set(named)) < 2 or len(set(named)) < len(named):
        raise InputError("--words", "needs two words or more, each once", ",".join(named))
    code = {each: index for index, each in enumerate(named)}
    if len(named) == 2 and named[0] in PASSING and named[1] in FAILING:  # their synonyms mean the same
        code |= dict.fromkeys(PASSING, 0) | dict.fromkeys(FAILING, 1)
    if others := [each for each in counts if each not in code]:
        none = len(others) == len(counts)
        occur = f"PASS,FAIL are two of the words that occur, the passing one first: {' or '.join(sorted(others))}"
        ways = () if none else _ways_out(others, [*named, *others])
        raise InputError("--words", f"leaves out {_listed(others, counts)}", cure=occur if none else "", ways=ways)
    if len(named) > 2:
        return Question(tuple(named), code)
    return Question((named[0], named[1]), code, failing=named[1], passing=named[0])


def _caught(positive: str, counts: Counter[str]) -> Question:
    kinds = (PASSING, FAILING, AFFIRMING, DENYING)
    like = next((kind for kind in kinds if positive in kind), frozenset())  # words that mean the same
    caught = [each for each in counts if each == positive or each in like]
    if not caught:
        raise InputError("--positive", f"must be one of the words that occur: {', '.join(sorted(counts))}", positive)
    others = sorted((each for each in counts if each not in caught), key=lambda each: -counts[each])
    of_question, of_value = AFFIRMING | DENYING, PASSING | FAILING
    if counts.keys() & of_question and counts.keys() & of_value and all(map(side, counts)):
        both = ", ".join(sorted(counts))
        rule = f"is not enough where columns use words of two kinds ({both})"
        raise InputError("--positive", rule, positive, "write all columns in the same two words")
    opposite = next((each for each in others if side(each)), None) if len(others) < 2 else None
    passing = opposite or (others[0] if len(others) == 1 else f"not {positive}")
    code = dict.fromkeys(caught, 1) | dict.fromkeys(others, 0)
    return Question((passing, positive), code, failing=positive, passing=passing)


def _recognised(counts: Counter[str], spoken: Mapping[str, Counter[str]], people: Sequence[str]) -> Question:
    words = sorted(counts)
    codes = codes_of_none(counts)
    if not codes and all(map(_is_number, words)):
        return _numbers(counts)
    degrees, unsaid = in_degrees(words)
    ordered = f"ordinal:{one_line(degrees)}"
    if degrees and not unsaid:
        return _on_scale(ordered, counts)
    if degrees:
        rule = f"hold words of degree, and where {', '.join(unsaid)} stands among them is not known"
        ways = [WayOut(("--scale", ordered), f"in the order {', '.join(degrees)}")]
        ways.append(WayOut(("--scale", "nominal"), "to take them as names"))
        raise InputError("ratings", rule, cure="name them from the lowest to the highest", ways=ways)
    known = [each for each in words if (each not in codes if codes else side(each))]
    if len(known) == len(words):
        code = {each: int(side(each) == "fail") for each in words}
        theirs = {each for name in people for each in spoken[name]}
        passing, failing = (_spoken(counts, code, index, theirs) for index in (0, 1))
        mixed = not any(each in PASSING | FAILING for each in words)
        return Question((passing, failing), code, failing=failing, passing=passing, assumed=mixed)
    if clear := [each for each in known if codes or each not in _SINGLE]:
        unknown = [each for each in words if each not in known]
        where = [name for name, used in spoken.items() if used.keys() & set(unknown)]
        rule = f"hold {_listed(unknown, counts)} beside {_listed(clear, counts)} (in {', '.join(where)})"
        raise InputError("ratings", rule, ways=_ways_out(unknown, words))
    return Question(tuple(words), {each: index for index, each in enumerate(words)})


def _numbers(counts: Counter[str]) -> Question:
    numbers = sorted(counts, key=float)
    if set(numbers) <= {"0", "1"} or set(numbers) <= {"-1", "1"}:
        failing = "-1" if "-1" in numbers else "0"
        return Question(("1", failing), {"1": 0, failing: 1}, failing=failing, passing="1", assumed=True)
    if len(numbers) == 1:
        raise InputError("ratings", f"hold a single word, {numbers[0]!r}", cure="--words PASS,FAIL names both")
    return Question(tuple(numbers), {each: index for index, each in enumerate(numbers)})


def _spoken(counts: Counter[str], code: Mapping[str, int], index: int, theirs: set[str]) -> str:
    """People's word of a side, the commonest if they use several; where none occurs, a plain one."""
    words = [each for each in counts if code[each] == index]
    if words:
        return max(words, key=lambda each: (each in theirs, counts[each], each))
    opposite = next(iter(counts))
    for one, other in (("yes", "no"), ("true", "false"), ("1", "0"), ("correct", "incorrect"), ("pass", "fail")):
        if opposite in (one, other):
            return other if opposite == one else one
    return ("pass", "fail")[index]


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d+(\.\d+)?", text))


def _listed(words: Sequence[str], counts: Counter[str]) -> str:
    return ", ".join(f"{each!r} ({counts[each]:,})" for each in words[:6]) + (", ..." if len(words) > 6 else "")


def _ways_out(words: Sequence[str], every: Sequence[str]) -> list[WayOut]:
    """What may be done with words that lie on neither side."""
    left_out = tuple(part for each in words for part in ("--missing", each))
    ways = [WayOut(left_out, "to leave them out and count them")]
    if (caught := [each for each in every if side(each) == "fail"]) and not all(map(_is_number, every)):
        ways.append(WayOut(("--positive", caught[0]), f"to ask for {caught[0]} against all others"))
    if len(words) == 1 and len(every) == 2:
        order = sorted(every, key=lambda each: (side(each) == "fail") - (side(each) == "pass"))
        ways.append(WayOut(("--words", one_line(order)), f"if {order[0]} passes and {order[1]} fails"))
    elif len(every) > 2:
        ways.append(WayOut(("--words", one_line(every)), "to take every word as it stands"))
    return ways


#: What a rater's word stands for: (rater, or nothing for all) and word -> word; nothing for no verdict.
Meant = Mapping[tuple[str, str], str | None]

_NOUNS = {"run": "run", "trajectory": "run", "trace": "run", "step": "step", "sample": "sample"}


@dataclass(frozen=True, eq=False)
class Votes:
    """What judges and people said of the same items.

    `ratings` (items x judges) and `labels` (items x people) hold codes of `question`, NaN where none; `reference` is
    what people said together (the majority of several; NaN where they are tied). `clusters` says which items belong
    together (two columns: in two ways), None where every row is on its own; `unit` and `crossed` are what clusters are,
    `noun` what an item is. `spoken` counts each rater's words, `items` names the items, and `reasons` holds a judge's
    reasons where a column has them.
    """

    judges: tuple[str, ...]
    people: tuple[str, ...]
    question: Question
    ratings: Floats
    labels: Floats
    reference: Floats
    confidence: Floats
    clusters: NDArray[Any] | None
    unit: str
    noun: str
    n_copies: int
    n_tied: int
    spoken: Mapping[str, Counter[str]]
    items: pl.Series
    reasons: Mapping[str, pl.Series]
    agents: NDArray[np.object_] | None = None
    occasions: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    alike: Alike = "items"
    crossed: str = ""

    @property
    def by(self) -> str:
        """What intervals are by: ``task``, or ``task and day``."""
        return f"{self.unit} and {self.crossed}" if self.crossed else self.unit

    @property
    def ways(self) -> list[NDArray[Any]]:
        """The clusters in each way in which items are grouped."""
        return [] if self.clusters is None else [*np.atleast_2d(self.clusters.T)]

    @property
    def n_items(self) -> int:
        """How many items there are, labelled or not."""
        return int(self.reference.size)

    @property
    def n_labelled(self) -> int:
        """How many items have people's word."""
        return int(self.labelled.sum())

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items people labelled."""
        return ~np.isnan(self.reference)

    @property
    def in_full(self) -> bool:
        """Whether people looked at every item, though their words may be tied."""
        return not self.n_unseen

    @property
    def n_unseen(self) -> int:
        """How many items nobody labelled."""
        return int(np.isnan(self.labels).all(axis=1).sum())

    def how(self, ci_level: float) -> dict[str, Any]:
        """What every interval takes: the clusters of the items, what a cluster is, and the level."""
        return {"clusters": self.clusters, "cluster_unit": self.by, "ci_level": ci_level}

    @cached_property
    def families(self) -> Families:
        """What labelled and unlabelled items can be compared by."""
        return comparable_features(self.ratings, self.question.words, agents=self.agents)

    @cached_property
    def apart(self) -> str:
        """Why the labels are no random draw of the items; empty where nothing shows it."""
        return apart_reason(self.labelled, self.families, self.ways[0] if self.ways else np.arange(self.n_items))

    @property
    def cluster_sizes(self) -> NDArray[np.intp]:
        """How many items each cluster has, of two ways the first."""
        sizes = np.unique(self.ways[0], return_counts=True)[1] if self.ways else np.ones(self.n_items)
        return np.asarray(sizes, dtype=np.intp)

    @property
    def n_clusters(self) -> int:
        """How many of them there are."""
        return int(self.cluster_sizes.size)


def votes_of(
    known: Recognised, roles: Roles, *, words: Sequence[str], positive: str, scale: str = "", meant: Meant | None = None
) -> Votes:
    """Arrays of a table whose columns are known.

    Raises
    ------
    InputError
        Words that cannot be read, items that stand twice with different ratings, a confidence outside [0, 1].
    """
    table, n_copies = _items_of(known, roles)
    raters = (*roles.judges, *roles.people)
    words_of = {name: _words(table[name], name, roles.missing, meant or {}) for name in raters}
    spoken = {name: Counter(dict(of.drop_nulls().value_counts(name="n").rows())) for name, of in words_of.items()}
    asked = question(spoken, people=roles.people, words=words, positive=positive, scale=scale)
    asked = _by_name(asked, spoken, roles)
    coded = {name: _codes(cells, asked) for name, cells in words_of.items()}
    labels = np.column_stack([coded[name] for name in roles.people])
    reference = majority(labels, len(asked.words))
    return Votes(
        judges=roles.judges,
        people=roles.people,
        question=asked,
        ratings=np.column_stack([np.empty((table.height, 0)), *(coded[name] for name in roles.judges)]),
        labels=labels,
        reference=reference,
        confidence=np.column_stack(
            [np.empty((table.height, 0)), *(confidence_of(table, judge, roles) for judge in roles.judges)]
        ),
        clusters=_clusters(table, roles),
        unit=_unit(roles.cluster) or "item",
        crossed=_unit(roles.crossed),
        noun=next((noun for part, noun in _NOUNS.items() if part in roles.item.casefold().split("_")), "item"),
        n_copies=n_copies,
        n_tied=int((np.isnan(reference) & ~np.isnan(labels).all(axis=1)).sum()),
        spoken=spoken,
        items=table[_ITEM],
        reasons={
            judge: table[f"reason of {judge}"] for judge in roles.reasons if f"reason of {judge}" in table.columns
        },
        agents=_agents(table, roles),
        occasions={name: cells.to_numpy() for name, cells in _occasions_of(table, roles).items()},
    )


def _unit(column: str) -> str:
    stem = re.sub(r"[\W_]*(id|index|name)$", "", column, flags=re.IGNORECASE) or column
    return stem.replace("_", " ").casefold()


def _by_name(asked: Question, spoken: Mapping[str, Counter[str]], roles: Roles) -> Question:
    """Of words whose meaning hangs on the question (1, yes), what the columns' names make of it (``human_toxic``).

    Raises
    ------
    InputError
        Names of which either may be meant (``refusal``).
    """
    names = [roles.value] if roles.long else [*roles.people, *roles.judges]
    open_words = {rater: sorted(used) for rater, used in spoken.items() if used and used.keys() <= AFFIRMING | DENYING}
    mixed = asked.directed and not asked.assumed and len(open_words) < len(spoken)
    name, sure = of_bad(names if asked.assumed else [each for each in names if each in open_words and mixed])
    if not name:
        return asked
    if mixed:  # beside pass and fail
        meant = [each_by("--words", (f"{name}:{each}={of[side(each)]}" for each in open_words[name])) for of in _EITHER]
        ways = [WayOut(meant[0], f"if yes of {name} fails"), WayOut(meant[1], "if it passes")]
        raise InputError("--words", f"whether yes of {name} is good hangs on what was asked", ways=ways)
    if not sure:
        ways = [
            WayOut(("--positive", asked.passing), f"if {asked.passing} of {name} is bad"),
            WayOut(("--positive", asked.failing), "if it is good"),
        ]
        raise InputError("--positive", f"whether {asked.passing} of {name} is good hangs on what was asked", ways=ways)
    caught = question(spoken, people=roles.people, positive=asked.passing)
    return replace(caught, named=name)


_ITEM = "axisjudge item"


def _items_of(known: Recognised, roles: Roles) -> tuple[pl.DataFrame, int]:
    """One row an item with each rater's cell, its confidence and reason; and how many rows repeat another whole."""
    frame = known.frame.with_row_index(ROW, offset=1)
    if not roles.item:
        return _wide(frame.with_columns(pl.format("row {}", ROW).alias(_ITEM)), roles), 0
    whole = frame.unique(known.frame.columns, keep="first", maintain_order=True)
    n_copies = frame.height - whole.height
    named = whole.with_columns(pl.col(roles.item).str.strip_chars().fill_null("").alias(_ITEM))
    if roles.long:
        return _pivoted(named, known, roles), n_copies
    named = named.with_columns(
        pl.when(pl.col(_ITEM) == "").then(pl.format("row {}", ROW)).otherwise(_ITEM).alias(_ITEM)
    )
    if (twice := named.filter(pl.col(_ITEM).is_duplicated())).height:
        first = twice.filter(pl.col(_ITEM) == twice[_ITEM][0])
        rater = next((name for name in (*roles.judges, *roles.people) if first[name].n_unique() > 1), "")
        what = (
            f"{rater} rated {twice[_ITEM][0]!r} twice, {_both(first, rater)}"
            if rater
            else f"{twice[_ITEM][0]!r} stands twice"
        )
        _refuse_twice(known, roles, f"{what} (rows {first[ROW][0]} and {first[ROW][1]})")
    return _wide(named, roles), n_copies


def _both(rows: pl.DataFrame, column: str) -> str:
    different = rows[column].unique(maintain_order=True)
    return " and ".join((word(each) or "nothing") if each else "nothing" for each in different[:2])


def _wide(frame: pl.DataFrame, roles: Roles) -> pl.DataFrame:
    return frame.with_columns(
        **{f"confidence of {judge}": pl.col(column) for judge, column in roles.confidence.items()},
        **{f"reason of {judge}": pl.col(column) for judge, column in roles.reasons.items()},
    )


def _pivoted(frame: pl.DataFrame, known: Recognised, roles: Roles) -> pl.DataFrame:
    """A long table as one row an item and a column a rater."""
    rater, sure = pl.col(roles.rater).str.strip_chars(), next(iter(roles.confidence.values()), "")
    rated = frame.filter(rater.is_in([*roles.judges, *roles.people])).with_columns(rater.alias("axisjudge rater"))
    if nameless := rated.filter(pl.col(_ITEM) == "")[ROW].to_list():
        where = f"column {roles.item!r}, row {nameless[0]}"
        raise InputError(
            where, "every rating needs the item that it is about", cure="fill in the cell, or leave out the row"
        )
    keys = [_ITEM, "axisjudge rater"]
    if (twice := rated.filter(pl.struct(keys).is_duplicated())).height:
        first = twice.filter(pl.struct(keys) == twice.select(pl.struct(keys))[0].to_series()[0])
        both = _both(first, roles.value)
        both = both if " and " in both else f"{both} and {both}"
        rule = f"{first['axisjudge rater'][0]} rated {first[_ITEM][0]!r} twice, {both}"
        _refuse_twice(known, roles, f"{rule} (rows {first[ROW][0]} and {first[ROW][1]})")
    of_items = [
        name
        for name in _occasions_of(rated, roles)
        if rated.group_by(_ITEM).agg(pl.col(name).n_unique())[name].max() == 1
    ]
    items = rated.unique(_ITEM, keep="first", maintain_order=True).select(
        _ITEM, ROW, *filter(None, (roles.cluster, roles.crossed)), *of_items
    )
    for cluster in filter(None, (roles.cluster, roles.crossed)):
        groups = rated.group_by(_ITEM).agg(pl.col(cluster).n_unique().alias("n"), pl.col(cluster).unique())
        if several := groups.filter(pl.col("n") > 1).rows():
            item, _, names = several[0]
            rule = f"puts {item!r} in two clusters, {names[0]!r} and {names[1]!r}"
            raise InputError(f"column {cluster!r}", rule, cure="an item belongs to one")
    for name in (*roles.judges, *roles.people):
        mine = rated.filter(pl.col("axisjudge rater") == name)
        columns = {name: roles.value}
        if name in roles.judges:
            columns |= {f"confidence of {name}": sure} if sure else {}
            columns |= {f"reason of {name}": roles.reasons[name]} if name in roles.reasons else {}
        items = items.join(
            mine.select(_ITEM, **{ours: pl.col(theirs) for ours, theirs in columns.items()}), on=_ITEM, how="left",
            maintain_order="left",
        )  # fmt: skip
    return items


def _words(cells: pl.Series, rater: str, missing: frozenset[str], meant: Meant) -> pl.Series:
    """A rater's words, null where it gave none."""
    words: dict[str, str | None] = {}
    for cell in cells.unique().drop_nulls():
        text = word(cell, missing)
        for name in ((rater, text), ("", text)):
            if text is not None and name in meant:
                text = meant[name]  # type: ignore[index]
                break
        words[cell] = text
    return cells.replace_strict(words, default=None, return_dtype=pl.String) if words else cells


def _codes(words: pl.Series, asked: Question) -> Floats:
    code = {text: float(index) for text, index in asked.code.items()}
    return words.replace_strict(code, default=None, return_dtype=pl.Float64).fill_null(float("nan")).to_numpy()


def _clusters(table: pl.DataFrame, roles: Roles) -> NDArray[Any] | None:
    ways = []
    for column in filter(None, (roles.cluster, roles.crossed)):
        names = _by_day(table[column].str.strip_chars())
        if names.null_count():
            row = table[ROW].filter(names.is_null())[0]
            cure = "fill it in, or say --cluster none"
            raise InputError(f"column {column!r}, row {row}", "every row needs its cluster", cure=cure)
        ways.append(names.rank("dense").to_numpy())
    return np.column_stack(ways) if len(ways) > 1 else next(iter(ways), None)


def _occasions_of(table: pl.DataFrame, roles: Roles) -> dict[str, pl.Series]:
    """Days, builds and the like that several rows share, of columns that are taken for nothing else."""
    occasions = {}
    for name in (each for each in roles.left_out if each in table.columns):
        cells = _by_day(table[name].str.strip_chars())
        named = tokens(name) & _OCCASIONS or plain(name) in _OCCASIONS or cells.str.contains(_DATE).all()
        if named and not cells.null_count() and 1 < cells.n_unique() <= cells.len() / 2:
            occasions[name] = cells.rank("dense").cast(pl.Int64)
    return occasions


def _by_day(cells: pl.Series) -> pl.Series:
    """Dates with a time cut to their day; other cells as they stand."""
    timed = cells.drop_nulls().str.contains(_DATE + r"[T ]\d").all()
    return cells.str.extract(f"({_DATE[1:]})") if timed else cells


def _agents(table: pl.DataFrame, roles: Roles) -> NDArray[np.object_] | None:
    """Who acted, where a column that is nothing else says so; by it labelled and other items are compared."""
    name = named_column([each for each in roles.left_out if each in table.columns], NAMES["agent"])
    return table[name].to_numpy().astype(object) if name else None


def differing(votes: Votes, number: int) -> list[dict[str, Any]]:
    """The items on which the judge at `number` says something else than people."""
    truth, verdicts, words = votes.reference, votes.ratings[:, number], votes.question.words
    judge = votes.judges[number]
    reasons = votes.reasons.get(judge)
    at = np.flatnonzero((verdicts != truth) & ~np.isnan(verdicts) & ~np.isnan(truth))
    return [
        {
            "item": votes.items[int(row)],
            "judge": judge,
            "judge_said": words[int(verdicts[row])],
            "people_said": words[int(truth[row])],
            "reason": None if reasons is None else reasons[int(row)],
        }
        for row in at
    ]


def _refuse_twice(known: Recognised, roles: Roles, rule: str) -> None:
    """Refuse rows of one item that differ, with the columns that would tell them apart."""
    keys = [roles.rater] if roles.long else []
    parts = roles.item.split(" + ")
    own = Recognised(known.frame.drop(roles.item) if len(parts) > 1 else known.frame, known.columns)
    where = f"column {roles.rater or roles.item!r}"
    if extra := telling_apart(own.frame, parts, keys, known):
        options = tuple(part for name in (*parts, *extra) for part in ("--item", name))
        when = f"if {' and '.join(extra)} tell{'s' * (len(extra) == 1)} what was rated"
        parting = [known.named(ours) for ours in ("question", "repeat")] if roles.long else []
        asked = next((name for name in parting if name in extra and known.columns[name].words), "")
        each = known.frame[asked].drop_nulls().unique(maintain_order=True).to_list() if asked else []
        ways = [WayOut(("--where", f"{asked}={one}")) for one in each]
        raise InputError(where, rule, ways=ways[:4] or [WayOut(options, when)])
    if roles.long:
        groups = [name for name in known.of("question", "cluster") if known.columns[name].words]
        groups = [name for name in groups if name not in (roles.rater, *parts)]
        firsts = {name: known.frame[name].drop_nulls()[0].strip() for name in groups if known.columns[name].filled}
        ways = [WayOut(("--where", f"{name}={first}")) for name, first in firsts.items()]
        raise InputError(where, rule, cure="keep one question and one repeat", ways=ways)
    together = WayOut(("--cluster", roles.item), "if its rows belong together")
    raise InputError(where, rule, cure="keep one" * (not roles.item), ways=[together] if roles.item else ())
