"""Words of any question: which cells mean the same, which hold none, and which side a word takes by itself."""

from __future__ import annotations

import re

import polars as pl

from axisjudge.ratings.scales import categories_of

#: Cells that hold no verdict.
NO_VERDICT = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>", "nat", "-", "–", "—"})
#: More different words than this are no question with words.
MOST_WORDS = 20


def words_in(text: str) -> frozenset[str]:
    """The words in a line of text."""
    return frozenset(text.split())


#: Words that say by themselves what is good.
PASSING = words_in("pass passed passing correct right good ok okay success successful succeeded") | words_in(
    "valid accept accepted acceptable satisfied resolved"
)
FAILING = words_in("fail failed failing failure incorrect wrong bad unsuccessful invalid reject rejected") | words_in(
    "unacceptable unsatisfied unresolved not_ok"
)
#: Words whose meaning hangs on the question; without a word of the user's, the first are taken as passing.
AFFIRMING, DENYING = words_in("yes true 1 y t"), words_in("no false 0 n f")


def word(cell: str | None, missing: frozenset[str] = NO_VERDICT) -> str | None:
    """A cell without case, outer space and needless decimals (``' PASS'`` is pass, ``1.0`` and ``+1`` are 1)."""
    if cell is None:
        return None
    text = " ".join(cell.split()).casefold()
    if text in missing:
        return None
    if re.fullmatch(r"[+-]?\d+(\.0*)?", text):
        return str(int(text.split(".")[0]))
    return text


def side(text: str) -> str:
    """``pass`` or ``fail``, or nothing for a word of no side."""
    return "pass" if text in PASSING | AFFIRMING else "fail" if text in FAILING | DENYING else ""


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
            said = pl.col("verdict").replace_strict(words, default=pl.lit("uncertain"), return_dtype=pl.String)
            mine = pl.col("scale") == scale
            table = table.with_columns(
                verdict=pl.when(mine & pl.col("verdict").is_not_null()).then(said).otherwise("verdict"),
                scale=pl.when(mine).then(pl.lit("verdict")).otherwise("scale"),
            )
    return table
