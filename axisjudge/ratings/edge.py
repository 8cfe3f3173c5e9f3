"""The edge where ratings tables of any kind come in, the words of any question, and which ratings an analysis takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.families import family_of
from axisjudge.ratings.scales import categories_of, has_words, number_of, recognised_scale
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import SCHEMA_VERSION, Rating

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

_TYPES: dict[str, Any] = {
    **dict.fromkeys(("schema_version", "step_index", "repeat"), pl.Int64),
    **dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens"), pl.Int64),
    **dict.fromkeys(("value", "confidence", "cost_usd", "latency_s"), pl.Float64),
    **dict.fromkeys(("cited_step_indices", "invalid_citations"), pl.List(pl.Int64)),
    "flags": pl.List(pl.String),
}

#: Columns of the ratings table in the record's order. `probabilities` is JSON text, because its words differ by scale.
SCHEMA: dict[str, Any] = {name: _TYPES.get(name, pl.String) for name in Rating.model_fields}

#: What a table must have; of the first two one is enough, and so of the last two. The rest follows or is empty.
_NEEDED = ("question", "rater", "rater_kind")


def as_ratings(frame: Any, *, where: str = "ratings") -> pl.DataFrame:
    """A ratings table of any kind as polars, with every column of the record.

    Parameters
    ----------
    frame : table
        polars (eager or lazy), pandas with any dtypes, arrow, or a dict of columns. It needs trajectory_id (or
        item_id), question, rater, rater_kind, and verdict (or value); other columns follow from these or are empty.
        Columns that a rating does not have are passed over.
    where : str
        The argument's name, for errors.

    Raises
    ------
    InputError
        Not a table, needed columns are missing (all are named), or a column is of a type that cannot be taken.
    """
    if isinstance(frame, pl.DataFrame) and frame.schema == _WHOLE:
        return with_families(frame)
    return completed_ratings(_polars(frame, where), where)


_WHOLE = pl.Schema(SCHEMA)


def _polars(frame: Any, where: str) -> pl.DataFrame:
    import narwhals.stable.v2 as nw

    try:
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if isinstance(frame, Mapping):
            return of_columns(frame)
        return of_narwhals(nw.from_native(frame, eager_only=True))
    except ModuleNotFoundError as error:
        cure = f"install {error.name}, or hand over a dict of columns"
        raise InputError(where, "this kind of table needs another package", error.name, cure) from error
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        rule = "must be a polars, pandas or arrow table, or a dict of columns"
        raise InputError(where, rule, type(frame).__name__) from error


def of_columns(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A dict of columns as polars; cells of several kinds in one column become texts."""
    return pl.DataFrame({name: [_or_none(cell) for cell in cells] for name, cells in columns.items()}, strict=False)


def of_narwhals(table: nw.DataFrame[Any]) -> pl.DataFrame:
    """A narwhals table as polars; pandas' columns of objects of several kinds, which arrow refuses, cell by cell."""
    try:
        own: pl.DataFrame = table.to_polars()
        return own
    except (TypeError, ValueError):
        return of_columns({name: table[name].to_list() for name in table.columns})


def _or_none(cell: Any) -> Any:
    """A cell, None where numpy or pandas write NaN, NA or NaT for nothing."""
    is_nothing = isinstance(cell, float) and cell != cell
    return None if is_nothing or type(cell).__name__ in ("NAType", "NaTType") else cell


def completed_ratings(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """A table with the columns that a rating needs, completed to all of the record and in its order.

    Raises
    ------
    InputError
        Needed columns are missing (all are named), or a column is of a type that cannot be taken.
    """
    given = set(table.columns)
    missing = [name for name in _NEEDED if name not in given]
    missing += [] if given & {"trajectory_id", "item_id"} else ["trajectory_id"]
    missing += [] if given & {"verdict", "value"} else ["verdict"]
    if missing:
        raise InputError(
            where, f"lacks the columns {', '.join(missing)}", ", ".join(table.columns), "add or rename them"
        )
    known = table.select([_typed(table, name, where) for name in SCHEMA if name in given])
    absent = [name for name in SCHEMA if name not in given]
    whole = known.with_columns([pl.lit(_EMPTY.get(name), dtype=SCHEMA[name]).alias(name) for name in absent])
    filled = whole.with_columns([pl.col(name).fill_null([]) for name in LISTS])
    return _derived(filled, set(absent)).select(list(SCHEMA))


#: Columns that hold lists.
LISTS = tuple(name for name, kind in SCHEMA.items() if kind.base_type() == pl.List)
_EMPTY: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "repeat": 0}


def completed_rows(rows: Sequence[Mapping[str, Any]], **constants: Any) -> pl.DataFrame:
    """The ratings table of rows of some of its columns; `constants` hold for every row."""
    names = rows[0] if rows else ("trajectory_id",)
    return completed({name: [row[name] for row in rows] for name in names}, **constants)


def completed(columns: Mapping[str, Sequence[Any] | pl.Series], **constants: Any) -> pl.DataFrame:
    """The ratings table of some of its columns; `constants` hold for every row, the rest is null (or an empty list)."""
    given = pl.DataFrame(columns, schema_overrides={name: SCHEMA[name] for name in columns})
    fixed = {**_EMPTY, "status": "ok", **constants}
    return given.with_columns(
        *(pl.lit(value, dtype=SCHEMA[name]).alias(name) for name, value in fixed.items() if name not in columns),
        *(pl.lit([], dtype=SCHEMA[name]).alias(name) for name in LISTS if name not in columns),
        *(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in set(SCHEMA) - set(fixed) - {*columns, *LISTS}),
    ).select(list(SCHEMA))


def _typed(table: pl.DataFrame, name: str, where: str) -> pl.Series:
    """A column as the record has it: whole numbers that pandas made fractions, NaN for nothing, numbers for words."""
    column, kind = table[name], SCHEMA[name]
    try:
        if column.dtype.is_float() and kind != pl.List:
            column = column.fill_nan(None)
            if kind == pl.String and (column.drop_nulls() % 1 == 0).all():
                column = column.cast(pl.Int64)
        if column.dtype == pl.Object:
            column = pl.Series(name, [_or_none(cell) for cell in column], strict=False)
        return column.cast(kind)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        rule = f"a column is of the wrong type ({name} must be {kind})"
        raise InputError(where, rule, str(column.dtype), "cast it first") from error


def _derived(table: pl.DataFrame, absent: set[str]) -> pl.DataFrame:
    """What follows from other columns where it is absent: items, clusters, families, statuses, scales."""
    if "trajectory_id" in absent:
        table = table.with_columns(trajectory_id=pl.col("item_id").str.replace(r"#\d+$", ""))
        steps = pl.col("item_id").str.extract(r"#(\d+)$").cast(pl.Int64)
        table = table.with_columns(step_index=steps if "step_index" in absent else "step_index")
    answered = pl.col("verdict").is_not_null() | pl.col("value").is_not_null()
    known = {
        "item_id": ITEM_ID,
        "cluster_id": pl.coalesce("task_id", "trajectory_id"),
        "status": pl.when(answered).then(pl.lit("ok")).otherwise(pl.lit("parse_error")),
    }
    table = with_families(table.with_columns(**{name: value for name, value in known.items() if name in absent}))
    return _with_scales(table) if "scale" in absent else table


def with_families(table: pl.DataFrame) -> pl.DataFrame:
    """Where no family is stated, that of the rater's name, else the name; of people and rules their kind."""
    if not table["family"].null_count():
        return table
    families = {name: family_of(name) or name for name in table["rater"].drop_nulls().unique()}
    family = pl.col("rater").replace_strict(families, default=None, return_dtype=pl.String)
    own = pl.col("rater_kind").is_in(["human", "rules"])
    return table.with_columns(family=pl.coalesce("family", pl.when(own).then("rater_kind").otherwise(family)))


#: How an item's name is made.
ITEM_ID = (
    pl.when(pl.col("step_index").is_not_null())
    .then(pl.col("trajectory_id") + "#" + pl.col("step_index").cast(pl.String))
    .when(pl.col("interaction_id").is_not_null())
    .then(pl.col("trajectory_id") + "@" + pl.col("interaction_id"))
    .otherwise(pl.col("trajectory_id"))
)


def _with_scales(table: pl.DataFrame) -> pl.DataFrame:
    answers = (
        table.select("question", answer=pl.coalesce("verdict", pl.col("value").cast(pl.String))).drop_nulls().unique()
    )
    scales = {
        question: recognised_scale(question, answers.filter(pl.col("question") == question)["answer"])
        for question in answers["question"].unique(maintain_order=True)
    }
    scale = pl.col("question").replace_strict(scales, default="verdict", return_dtype=pl.String)
    return table.with_columns(scale=scale)


# Which ratings an analysis takes: whole trajectories, judges apart from labellers, one rating of a kind.

#: People's labels, planted truth and what a benchmark knows of its tasks: whose word judges are compared with.
LABELS = ("human", "planted", "reference")
#: Raters whose word is made up: never shown without a banner.
MADE_UP = ("simulated", "planted")

#: Ratings of whole trajectories, neither of a step nor of an interaction.
WHOLE_RUN = pl.col("step_index").is_null() & pl.col("interaction_id").is_null()
#: Verdicts in words on whole trajectories.
VERDICT_ON_RUN = WHOLE_RUN & (pl.col("scale") == "verdict")
#: Ratings by judges, and by those who give labels.
BY_LABELLER = pl.col("rater_kind").is_in(LABELS).fill_null(False)
BY_JUDGE = ~BY_LABELLER

#: Ratings of runs without messages, which follow from the definition.
EMPTY_RUN = pl.col("flags").list.contains("empty_run").fill_null(False)

SEVERAL = "filter by rubric_version, prompt_sha256 or rater_version first"


def raters_of(table: pl.DataFrame) -> list[str]:
    """The names of all raters, by family and name."""
    return table.select("family", "rater").unique().sort("family", "rater")["rater"].to_list()


def by_raters(table: pl.DataFrame, names: Sequence[str] | None, *, where: str = "judges") -> pl.DataFrame:
    """The ratings of these raters; all where none are named.

    Raises
    ------
    InputError
        One of them rated nothing here; the message names the nearest of those that did.
    """
    if names is None:
        return table
    known = table["rater"].unique().sort().to_list()
    return table.filter(pl.col("rater").is_in([one_of(where, name, known) for name in names]))


def taken(table: pl.DataFrame, rule: pl.Expr) -> pl.DataFrame:
    """The rows of which `rule` holds; where it holds of all, the table itself and no copy."""
    rows = table.select(rule.fill_null(value=False)).to_series()
    return table if rows.all() else table.filter(rows)


def alike(table: pl.DataFrame, *key: str) -> bool:
    """Whether two rows agree in the columns `key`, or in all; by hashes, which take a fraction of the memory."""
    return table.select(key or pl.all()).hash_rows().n_unique() < table.height


def once(table: pl.DataFrame, *key: str, rule: str, where: str = "ratings", cure: str = SEVERAL) -> pl.DataFrame:
    """The table, if no two of its rows agree in the columns `key`.

    Raises
    ------
    InputError
        Two rows agree; the message names `rule` and the first of them.
    """
    twice = table.filter(pl.struct(*key).is_duplicated())
    if not twice.is_empty():
        raise InputError(where, rule, " ".join(str(twice[name][0]) for name in key), cure)
    return table


# Words of any question: which cells mean the same, which hold none, and which side a word takes by itself.

#: More different words than this are no question with words.
MOST_WORDS = 20


def words_in(text: str) -> frozenset[str]:
    """The words in a line of text."""
    return frozenset(text.split())


#: Cells that hold no verdict.
NO_VERDICT = words_in(r". .. ... ? ?? - -- --- – — na n.a n.a. n/a #n/a nan null none nil <na> nat \n") | {""}
#: Words that say by themselves what is good.
PASSING = words_in("pass passed passing correct right good ok okay success successful succeeded") | words_in(
    "valid accept accepted acceptable approve approved satisfied resolved chosen checked"
)
FAILING = words_in("fail failed failing failure incorrect wrong bad unsuccessful invalid reject rejected") | words_in(
    "unacceptable unsatisfied unresolved unchecked"
)
#: Words whose meaning hangs on the question; without a word of the user's, the first are taken as passing.
AFFIRMING = words_in("yes true 1 y t sí si oui ja sim да 是 はい ✓ ✔ ✅ ☑")
DENYING = words_in("no false 0 n f non nein não nee нет 否 いいえ ✗ ✘ ❌ ☒")


def word(cell: str | None, missing: frozenset[str] = NO_VERDICT) -> str | None:
    """A cell without case, outer space, marks around it and needless decimals.

    >>> [word(each) for each in (" PASS", "Yes.", "**no**", "1.0", "+1", "n.a.")]
    ['pass', 'yes', 'no', '1', '1', None]
    """
    if cell is None:
        return None
    text = " ".join(cell.split()).casefold()
    bare = re.sub(r"^[*_`\"']+|(?<=[^\W\d_])[.!]+$|[*_`\"']+$", "", text)
    if text in missing or bare in missing:
        return None
    if re.fullmatch(r"[+-]?\d+(\.0*)?", bare):
        return str(int(bare.split(".")[0]))
    return bare


def side(text: str) -> str:
    """``pass`` or ``fail`` (``not ok``, too), or nothing for a word of no side."""
    denied = text[4:] if text[:4] in ("not ", "not_") else ""
    return "pass" if text in PASSING | AFFIRMING else "fail" if text in FAILING | DENYING or denied in PASSING else ""


#: What stands before the letter or number of an answer in a choice between answers.
_OF_ANSWERS = re.compile(r"(model|assistant|response|answer|output|option|choice|system|summary|candidate)[\s_-]*")


def same_choices(own: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Word -> the other side's word for the same choice between answers, or that passes or fails as it does.

    Nothing unless each has exactly one; but A>B and A>>B may both be A, and a tie nothing where the other has none.

    >>> same_choices(["a", "b"], ["model_a", "model_b"]), same_choices(["pass", "fail"], ["yes", "no"])
    ({'a': 'model_a', 'b': 'model_b'}, {'pass': 'yes', 'fail': 'no'})
    >>> same_choices(["a>b", "b>>a", "b>a", "a=b"], ["a", "b"])
    {'a>b': 'a', 'b>>a': 'b', 'b>a': 'b'}
    """
    words, others = [*own], [*theirs]
    of_sides = all(side(word(each) or "") for each in (*words, *others))

    def bare(text: str) -> str:
        answer = text.casefold().replace("[[c]]", "tie").strip("[]() ")
        answer = re.sub(r"^([ab])\s*>+\s*[ab]$", r"\1", re.sub(r"^a\s*[=~≈]+\s*b$", "tie", answer))
        return side(word(text) or "") if of_sides else _OF_ANSWERS.sub("", answer, count=1)

    by_choice = {bare(each): each for each in others}
    pairs = {each: by_choice.get(bare(each), "") for each in words}
    if graded := any(">" in each for each in words):
        pairs = {each: of for each, of in pairs.items() if of or bare(each) != "tie"}
    once = all(pairs.values()) and (graded or len({*pairs.values()}) == len(words)) and len(by_choice) == len(others)
    known = once and not {*words} <= {*others}
    return pairs if known and len({*by_choice} & {"a", "b", "1", "2", "left", "right", "pass", "fail"}) > 1 else {}


def of_unlike_scales(own: Iterable[str], theirs: Iterable[str]) -> bool:
    """Whether two say 0 and 1, and 1 and 2, or numbers of which one's go twice as far: of unlike scales."""
    one, other = frozenset(own), frozenset(theirs)
    if {one, other} == {frozenset("01"), frozenset("12")}:
        return True
    numbers = [[number for each in words if (number := number_of(each)) is not None] for words in (one, other)]
    if min(len(one), len(other)) <= 2 or [*map(len, numbers)] != [len(one), len(other)] or min(map(min, numbers)) < 0:
        return False
    low, high = sorted(numbers, key=max)
    return max(high) >= 2 * max(low) and (max(low) >= 4 or any(number % 1 for number in low))


def sides_of(scale: str) -> dict[str, float]:
    """What each word of a scale says of an item: 1 failing, 0 passing; words that leave it open are not in it.

    The axes' scale and ``step`` define it; on a nominal scale it is known where the two sides have a word each
    (``nominal:fail,pass``), whatever other words there are.

    >>> sides_of("nominal:fail,pass"), sides_of("ordinal:1-5")
    ({'fail': 1.0, 'pass': 0.0}, {})
    """
    if scale == "verdict":
        return {"incorrect": 1.0, "correct": 0.0}
    if scale == "step":
        return {"-1": 1.0, "0": 0.0, "+1": 0.0}
    if not scale.startswith("nominal:"):
        return {}
    taken = {each: side(word(each) or "") for each in categories_of(scale) or ()}
    failing, passing = ([each for each, which in taken.items() if which == name] for name in ("fail", "pass"))
    return {failing[0]: 1.0, passing[0]: 0.0} if len(failing) == len(passing) == 1 else {}


def on_verdicts(table: pl.DataFrame) -> pl.DataFrame:
    """Ratings on nominal scales whose two sides are known, as verdicts: incorrect, correct, uncertain for the rest."""
    for scale in table["scale"].drop_nulls().unique():
        if scale.startswith("nominal:") and (sides := sides_of(scale)):
            words = {each: "incorrect" if failed else "correct" for each, failed in sides.items()}
            verdict = pl.col("verdict").replace_strict(words, default=pl.lit("uncertain"), return_dtype=pl.String)
            mine = pl.col("scale") == scale
            table = table.with_columns(
                verdict=pl.when(mine & pl.col("verdict").is_not_null()).then(verdict).otherwise("verdict"),
                scale=pl.when(mine).then(pl.lit("verdict")).otherwise("scale"),
            )
    return table


# From the long table to items x raters.


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """Items x raters for one question: what the statistics take.

    `codes` holds positions in `categories` as floats, NaN where a rater gave nothing; on a scale of numbers alone
    (``unit``, ``check``, ``interval``) it holds the numbers, and there are no categories. `confidences` has the same
    shape.
    """

    codes: NDArray[np.float64]
    confidences: NDArray[np.float64]
    categories: tuple[str, ...]
    items: tuple[str, ...]
    clusters: tuple[str, ...]
    raters: tuple[str, ...]
    families: tuple[str, ...]

    def __repr__(self) -> str:
        lost = int(np.isnan(self.codes).sum())
        return f"RatingMatrix({len(self.items)} items x {len(self.raters)} raters, {lost} missing)"


def to_matrix(
    ratings: Any,
    question: str,
    *,
    raters: Sequence[str] | None = None,
    repeat: int = 0,
    step_level: bool = False,
) -> RatingMatrix:
    """Spread one question's verdicts into an items x raters matrix.

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, a dict of columns) with one rating for each item, rater and repeat;
        more (two prompts, say) are refused.
    question : str
        An axis, a signal, a check.
    raters : sequence of str, optional
        Which raters, in this order; by default all, by family and name.
    repeat : int
        Which repeat.
    step_level : bool
        Ratings of steps instead of whole trajectories.
    """
    chosen = _table(ratings).filter(
        (pl.col("question") == question)
        & (pl.col("repeat") == repeat)
        & (pl.col("step_index").is_not_null() == step_level)
    )
    if chosen.is_empty():
        raise InputError("question", "the table has no such ratings", question)
    people = chosen.select("family", "rater").unique().sort("family", "rater")
    names = list(raters) if raters is not None else people["rater"].to_list()
    chosen = chosen.filter(pl.col("rater").is_in(names))
    first = chosen.with_row_index("row").select(pl.col("row").min().over("item_id"))["row"].to_numpy()
    new = first == np.arange(len(first))  # items stand in the order in which they first occur
    items = chosen.filter(pl.Series(new)).select("item_id", "cluster_id")
    cell, categories, given = coded(chosen, (np.cumsum(new) - 1)[first], items["item_id"], names)
    codes, confidences = np.full((2, len(items) * len(names)), np.nan)
    codes[cell] = given
    confidences[cell] = np.where(np.isnan(given), np.nan, chosen["confidence"].cast(pl.Float64).to_numpy())
    shape = (len(items), len(names))
    family = dict(people.select("rater", "family").iter_rows())
    return RatingMatrix(
        codes.reshape(shape),
        confidences.reshape(shape),
        categories,
        tuple(items["item_id"].to_list()),
        tuple(items["cluster_id"].to_list()),
        tuple(names),
        tuple(family.get(name, "") for name in names),
    )


_USED = {
    *("question", "repeat", "step_index", "rater", "family", "item_id", "cluster_id"),
    *("scale", "verdict", "value", "confidence"),
}


def _table(ratings: Any) -> pl.DataFrame:
    is_whole = isinstance(ratings, pl.DataFrame) and set(ratings.columns) >= _USED - {"value"}
    return ratings if is_whole else as_ratings(ratings)


def coded(
    ratings: pl.DataFrame, item: NDArray[np.intp], item_ids: pl.Series, names: Sequence[str]
) -> tuple[NDArray[np.intp], tuple[str, ...], NDArray[np.float64]]:
    """Of each rating of one question its cell (item x rater), and its answer as a number; and the words in their order.

    `item` numbers the items, whose ids are `item_ids`. A word is its place among the words; no answer is NaN.

    Raises
    ------
    InputError
        Two scales, two ratings of an item by one rater, or a word that is none of the scale.
    """
    scales = ratings["scale"].unique().sort().to_list()
    if len(scales) != 1:
        raise InputError("ratings", "one question has one scale", scales)
    cell = item * len(names) + _positions(ratings["rater"], names).astype(np.intp)
    if (twice := np.bincount(cell) > 1).any():
        found, where = item_ids[int(twice.argmax()) // len(names)], f"ratings of {ratings['question'][0]}"
        raise InputError(where, "one rating for each item and rater", found, SEVERAL)
    if not has_words(scales[0]):
        return cell, (), ratings["value"].cast(pl.Float64).to_numpy()
    words = categories_of(scales[0]) or tuple(sorted(ratings["verdict"].drop_nulls().unique()))
    return cell, words, _positions(ratings["verdict"], words)


def _positions(words: pl.Series, known: Sequence[str]) -> NDArray[np.float64]:
    """Where each word stands in `known`, NaN for none."""
    at = words.replace_strict(list(known), list(range(len(known))), default=None, return_dtype=pl.Float64)
    if at.null_count() > words.null_count():
        unknown = words.filter(at.is_null() & words.is_not_null())[0]
        raise InputError(f"{words.name}s", f"must be one of {', '.join(known)}", unknown)
    return at.to_numpy()


# Strata of runs in which a judge may be unfair: agents, domains, lengths of runs and of answers.


#: What runs can be sorted by.
BY = ("agent", "domain", "length", "answer")
#: Names of thirds, from the shortest.
_THIRDS = ("short", "middle", "long")

#: What sorts the runs -> run -> stratum.
Strata = Mapping[str, Mapping[str, str]]


def strata_of(
    ratings: pl.DataFrame, by: Sequence[str], trajectories: Sequence[Trajectory] | None = None
) -> dict[str, dict[str, str]]:
    """The stratum of every run, for each way of sorting them.

    Parameters
    ----------
    ratings : ratings table
        Agents and domains stand in it; lengths of runs too, where steps were rated.
    by : sequence of str
        ``agent``, ``domain``, ``length`` (messages of the run) and ``answer`` (words of the agent's last message);
        lengths are cut into thirds of the runs.
    trajectories : sequence of Trajectory, optional
        The runs, of which lengths are taken; without them there are none, but for `length` where steps were rated.

    Raises
    ------
    InputError
        Another word.
    """
    sorted_by = {}
    for name in dict.fromkeys(by):
        one_of("by", name, BY)
        if name in ("agent", "domain"):
            named = ratings.drop_nulls(name).select("trajectory_id", name).unique()
            sorted_by[name] = {run: str(value) for run, value in named.iter_rows()}
        else:
            unit = "messages" if name == "length" else "words"
            sorted_by[name] = thirds(_lengths(ratings, name, trajectories), unit)
    return sorted_by


def thirds(lengths: Mapping[str, int], unit: str) -> dict[str, str]:
    """Runs cut into thirds by length; equal lengths stay together.

    Examples
    --------
    >>> list(thirds({"a": 2, "b": 9, "c": 4}, "messages").values())
    ['short (2 to 2 messages)', 'long (9 to 9 messages)', 'middle (4 to 4 messages)']
    """
    if not lengths:
        return {}
    cuts = np.quantile(list(lengths.values()), [1 / 3, 2 / 3], method="inverted_cdf")
    third = {run: int(np.searchsorted(cuts, length)) for run, length in lengths.items()}
    names = {}
    for number in sorted(set(third.values())):
        mine = [lengths[run] for run, of in third.items() if of == number]
        names[number] = f"{_THIRDS[number]} ({min(mine):,} to {max(mine):,} {unit})"
    return {run: names[number] for run, number in third.items()}


def _lengths(ratings: pl.DataFrame, name: str, trajectories: Sequence[Trajectory] | None) -> dict[str, int]:
    if trajectories is not None:
        runs = set(ratings["trajectory_id"])
        measured = {run.id: answer_words(run) if name == "answer" else len(run.steps) for run in trajectories}
        return {run: length for run, length in measured.items() if run in runs}
    steps = ratings.drop_nulls("step_index")
    if name == "length" and not steps.is_empty():
        return dict(steps.group_by("trajectory_id").agg(pl.col("step_index").max() + 1).sort("trajectory_id").rows())
    return {}


def answer_words(run: Trajectory) -> int:
    """Words of the agent's last message that has any."""
    messages = [step.content for step in run.steps if step.role == "assistant" and step.content]
    return len(messages[-1].split()) if messages else 0
