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
from axisjudge.ratings.words import AFFIRMING, DENYING, FAILING, MOST_WORDS, PASSING, side, word, words_in

# words that hang on the question where they stand alone
_SINGLE = words_in("y t n f 1 0")


@dataclass(frozen=True)
class Question:
    """The words that count. With two sides, `failing` is the one that sensitivity is about, coded 1; `passing` 0.

    With more words, or with two of which nothing says which is failing, `failing` is empty and words are coded by
    their place in `words`. `values` are the numbers that words are, where all are, or their places in a told order.
    `told` is the level that the caller names.
    """

    words: tuple[str, ...]
    code: Mapping[str, int]
    failing: str = ""
    passing: str = ""
    assumed: bool = False
    told: Level | None = None

    @property
    def directed(self) -> bool:
        """Whether it is known which word is the failing one."""
        return bool(self.failing)

    @property
    def values(self) -> tuple[float, ...]:
        """The words as numbers, in their order; empty where a word is none and no order was told."""
        if all(map(_is_number, self.words)):
            return tuple(map(float, self.words))
        return tuple(map(float, range(len(self.words)))) if self.told == "ordinal" else ()

    @property
    def level(self) -> Level:
        """As told; else ordinal where more than two words are numbers, so that distances count, and nominal."""
        return self.told or ("ordinal" if len(self.words) > 2 and self.values else "nominal")


def one_line(words: Sequence[str]) -> str:
    """Words in a line that ``--words`` takes: parted by commas, one that holds a comma in quotation marks."""
    line = StringIO()
    writer(line, lineterminator="").writerow(words)
    return line.getvalue()


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
    if len(counts) > MOST_WORDS:
        few = ", ".join(each for each, _ in counts.most_common(4))
        rule = f"hold {len(counts)} different values ({few}, ...); a question has {MOST_WORDS} words at most"
        name = next((name for name, said in spoken.items() if len(said) > MOST_WORDS), next(iter(spoken)))
        cure = f"say from where on a score passes, such as --pass-if '{name} >= 0.5', or name other columns"
        raise InputError("ratings", rule, cure=cure)
    if scale:
        return _on_scale(scale, counts)
    if words:
        return _named([word(each) or each for each in words], counts)
    if positive:
        return _caught(word(positive) or positive, counts)
    return _recognised(counts, spoken, people)


def _on_scale(scale: str, counts: Counter[str]) -> Question:
    level, _, rest = scale.partition(":")
    order = [word(each) or each for each in rest.split(",")] if rest else sorted(counts, key=_in_order)
    if level not in ("nominal", "ordinal") or len(set(order)) < 2:
        raise InputError("--scale", "must be nominal, ordinal, or ordinal:LOWEST,...,HIGHEST", scale)
    if level == "ordinal" and not rest and not all(map(_is_number, order)):
        cure = f"name the words from the lowest to the highest: --scale ordinal:{','.join(order)}"
        raise InputError("--scale", "ordinal needs an order where words are no numbers", scale, cure)
    if others := [each for each in counts if each not in order]:
        raise InputError("--scale", f"leaves out {_listed(others, counts)}", scale)
    code = {each: place for place, each in enumerate(order)}
    return Question(tuple(order), code, told="ordinal" if level == "ordinal" else "nominal")


def _in_order(text: str) -> tuple[float, str]:
    return (float(text) if _is_number(text) else float("inf"), text)


def _named(named: Sequence[str], counts: Counter[str]) -> Question:
    if len(set(named)) < 2 or len(set(named)) < len(named):
        raise InputError("--words", "needs two words or more, each once", ",".join(named))
    code = {each: place for place, each in enumerate(named)}
    if len(named) == 2 and named[0] in PASSING and named[1] in FAILING:  # their synonyms mean the same
        code |= dict.fromkeys(PASSING, 0) | dict.fromkeys(FAILING, 1)
    if others := [each for each in counts if each not in code]:
        none = len(others) == len(counts)
        occur = f"PASS,FAIL are two of the words that occur, the passing one first: {' or '.join(sorted(others))}"
        cure = occur if none else _ways_out(others)
        raise InputError("--words", f"leaves out {_listed(others, counts)}", cure=cure)
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
    of_question, of_worth = AFFIRMING | DENYING, PASSING | FAILING
    if counts.keys() & of_question and counts.keys() & of_worth and all(map(side, counts)):
        both = ", ".join(sorted(counts))
        rule = f"is not enough where columns use words of two kinds ({both})"
        raise InputError("--positive", rule, positive, "write all columns in the same two words")
    opposite = next((each for each in others if side(each)), None) if len(others) < 2 else None
    passing = opposite or (others[0] if len(others) == 1 else f"not {positive}")
    code = dict.fromkeys(caught, 1) | dict.fromkeys(others, 0)
    return Question((passing, positive), code, failing=positive, passing=passing)


def _recognised(counts: Counter[str], spoken: Mapping[str, Counter[str]], people: Sequence[str]) -> Question:
    found = sorted(counts)
    if all(map(_is_number, found)):
        return _numbers(counts)
    known = [each for each in found if side(each)]
    if len(known) == len(found):
        code = {each: int(side(each) == "fail") for each in found}
        theirs = {each for name in people for each in spoken[name]}
        passing, failing = (_spoken(counts, code, place, theirs) for place in (0, 1))
        mixed = not any(each in PASSING | FAILING for each in found)
        return Question((passing, failing), code, failing=failing, passing=passing, assumed=mixed)
    if clear := [each for each in known if each not in _SINGLE]:
        unknown = [each for each in found if each not in known]
        where = [name for name, said in spoken.items() if said.keys() & set(unknown)]
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


def _spoken(counts: Counter[str], code: Mapping[str, int], place: int, theirs: set[str]) -> str:
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
