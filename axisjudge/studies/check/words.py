"""The words of a question: which cells mean the same, which is the failing one, and what is not known is asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from csv import writer
from dataclasses import dataclass
from io import StringIO

from axisjudge.checks import InputError
from axisjudge.ratings.scales import Level

#: Cells that hold no verdict.
NO_VERDICT = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>", "nat", "-", "–", "—"})


def words_in(text: str) -> frozenset[str]:
    """The words in a line of text."""
    return frozenset(text.split())


# words that say by themselves what is good
_PASSING = words_in("pass passed passing correct right good ok okay success successful succeeded") | words_in(
    "valid accept accepted acceptable satisfied resolved"
)
_FAILING = words_in("fail failed failing failure incorrect wrong bad unsuccessful invalid reject rejected") | words_in(
    "unacceptable unsatisfied unresolved not_ok"
)
# words whose meaning hangs on the question; without a word of the user's, the first is taken as passing
_AFFIRMING, _DENYING = words_in("yes true 1 y t"), words_in("no false 0 n f")
_SINGLE = words_in("y t n f 1 0")

#: More different words than this are no question with words.
MOST_WORDS = 20


@dataclass(frozen=True)
class Question:
    """The words that count. With two sides, `failing` is the one that sensitivity is about, coded 1; `passing` 0.

    With more words, or with two of which nothing says which is failing, `failing` is empty and words are coded by
    their place in `words`. `values` are the numbers that words are, where all are.
    """

    words: tuple[str, ...]
    code: Mapping[str, int]
    failing: str = ""
    passing: str = ""
    assumed: bool = False

    @property
    def directed(self) -> bool:
        """Whether it is known which word is the failing one."""
        return bool(self.failing)

    @property
    def values(self) -> tuple[float, ...]:
        """The words as numbers, in their order; empty where a word is none."""
        return tuple(map(float, self.words)) if all(map(_is_number, self.words)) else ()

    @property
    def level(self) -> Level:
        """Ordinal where more than two words are numbers, so that distances between them count; else nominal."""
        return "ordinal" if len(self.words) > 2 and self.values else "nominal"


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


def one_line(words: Sequence[str]) -> str:
    """Words in a line that ``--words`` takes: parted by commas, one that holds a comma in quotation marks."""
    line = StringIO()
    writer(line, lineterminator="").writerow(words)
    return line.getvalue()


def side(text: str) -> str:
    """``pass`` or ``fail``, or nothing for a word of no side."""
    return "pass" if text in _PASSING | _AFFIRMING else "fail" if text in _FAILING | _DENYING else ""


def question(
    columns: Mapping[str, Sequence[str | None]],
    *,
    people: Sequence[str] = (),
    words: Sequence[str] = (),
    positive: str = "",
) -> Question:
    """Work out the question's words from the words of each column.

    Parameters
    ----------
    columns : mapping
        Words of each rater, None where it gave none.
    people : sequence of str
        The columns whose words name the two sides where raters use different ones.
    words : sequence of str
        The passing and the failing word, in this order; or more than two words that stand as they are.
    positive : str
        The word that a judge should catch; every other word then counts as passing.

    Raises
    ------
    InputError
        A word that is none of those named, or words of which it is not known what they mean beside pass and fail.
    """
    counts = Counter(each for cells in columns.values() for each in cells if each is not None)
    if not counts:
        raise InputError("ratings", "hold no verdict", cure="name the columns with --judge and --human")
    if len(counts) > MOST_WORDS:
        few = ", ".join(each for each, _ in counts.most_common(4))
        rule = f"hold {len(counts)} different values ({few}, ...); a question has {MOST_WORDS} words at most"
        raise InputError("ratings", rule, cure="cut scores into words first, or name other columns")
    if words:
        return _named([word(each) or each for each in words], counts)
    if positive:
        return _caught(word(positive) or positive, counts)
    return _recognised(counts, columns, people)


def _named(named: Sequence[str], counts: Counter[str]) -> Question:
    if len(set(named)) < 2 or len(set(named)) < len(named):
        raise InputError("--words", "needs two words or more, each once", ",".join(named))
    code = {each: place for place, each in enumerate(named)}
    if len(named) == 2 and named[0] in _PASSING and named[1] in _FAILING:  # their synonyms mean the same
        code |= dict.fromkeys(_PASSING, 0) | dict.fromkeys(_FAILING, 1)
    if others := [each for each in counts if each not in code]:
        none = len(others) == len(counts)
        occur = f"PASS,FAIL are two of the words that occur, the passing one first: {' or '.join(sorted(others))}"
        cure = occur if none else _ways_out(others)
        raise InputError("--words", f"leaves out {_listed(others, counts)}", cure=cure)
    if len(named) > 2:
        return Question(tuple(named), code)
    return Question((named[0], named[1]), code, failing=named[1], passing=named[0])


def _caught(positive: str, counts: Counter[str]) -> Question:
    kinds = (_PASSING, _FAILING, _AFFIRMING, _DENYING)
    like = next((kind for kind in kinds if positive in kind), frozenset())  # words that mean the same
    caught = [each for each in counts if each == positive or each in like]
    if not caught:
        raise InputError("--positive", f"must be one of the words that occur: {', '.join(sorted(counts))}", positive)
    others = sorted((each for each in counts if each not in caught), key=lambda each: -counts[each])
    of_question, of_worth = _AFFIRMING | _DENYING, _PASSING | _FAILING
    if counts.keys() & of_question and counts.keys() & of_worth and all(map(side, counts)):
        both = ", ".join(sorted(counts))
        rule = f"is not enough where columns use words of two kinds ({both})"
        raise InputError("--positive", rule, positive, "write all columns in the same two words")
    opposite = next((each for each in others if side(each)), None) if len(others) < 2 else None
    passing = opposite or (others[0] if len(others) == 1 else f"not {positive}")
    code = dict.fromkeys(caught, 1) | dict.fromkeys(others, 0)
    return Question((passing, positive), code, failing=positive, passing=passing)


def _recognised(counts: Counter[str], columns: Mapping[str, Sequence[str | None]], people: Sequence[str]) -> Question:
    found = sorted(counts)
    if all(map(_is_number, found)):
        return _numbers(counts)
    known = [each for each in found if side(each)]
    if len(known) == len(found):
        code = {each: int(side(each) == "fail") for each in found}
        theirs = {each for name in people for each in columns[name]}
        passing, failing = (_spoken(counts, code, place, theirs) for place in (0, 1))
        mixed = not any(each in _PASSING | _FAILING for each in found)
        return Question((passing, failing), code, failing=failing, passing=passing, assumed=mixed)
    if clear := [each for each in known if each not in _SINGLE]:
        unknown = [each for each in found if each not in known]
        where = [name for name, cells in columns.items() if set(cells) & set(unknown)]
        rule = f"hold {_listed(unknown, counts)} beside {_listed(clear, counts)} (in {', '.join(where)})"
        raise InputError("ratings", rule, cure=_ways_out(unknown))
    return Question(tuple(found), {each: place for place, each in enumerate(found)})


def _numbers(counts: Counter[str]) -> Question:
    found = sorted(counts, key=float)
    if set(found) <= {"0", "1"} or set(found) <= {"-1", "1"}:
        failing = "-1" if "-1" in found else "0"
        return Question(("1", failing), {"1": 0, failing: 1}, failing=failing, passing="1", assumed=True)
    if len(found) == 1:
        raise InputError("ratings", f"hold a single word, {found[0]!r}", cure="--words PASS,FAIL names both")
    return Question(tuple(found), {each: place for place, each in enumerate(found)})


def _spoken(counts: Counter[str], code: Mapping[str, int], place: int, theirs: set[str | None]) -> str:
    """People's word of a side, the commonest if they use several; where none occurs, a plain one."""
    words = [each for each in counts if code[each] == place]
    if words:
        return max(words, key=lambda each: (each in theirs, counts[each], each))
    opposite = next(iter(counts))
    for one, other in (("yes", "no"), ("true", "false"), ("1", "0"), ("correct", "incorrect"), ("pass", "fail")):
        if opposite in (one, other):
            return other if opposite == one else one
    return ("pass", "fail")[place]


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d+(\.\d+)?", text))


def _listed(words: Sequence[str], counts: Counter[str]) -> str:
    return ", ".join(f"{each!r} ({counts[each]:,})" for each in words[:6]) + (", ..." if len(words) > 6 else "")


def _ways_out(words: Sequence[str]) -> str:
    left_out = " ".join(f"--missing {each!r}" for each in words[:3])
    return (
        f"{left_out} leaves them out and counts them; --positive WORD asks for one word against all others; "
        "--words A,B,C takes every word as it stands"
    )
