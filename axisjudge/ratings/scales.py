"""Scales: which words and numbers a question takes, and which scale a set of answers shows.

``verdict`` (the axes' four words), ``step`` (-1, 0, +1), ``nominal:<words>``, ``ordinal:LOW-HIGH`` (whole numbers) have
a word for each answer. ``unit`` (0 to 1), ``check`` (0 to 10) and ``interval:LOW-HIGH`` have numbers alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from csv import writer
from io import StringIO
from typing import Literal

from axisjudge.checks import InputError
from axisjudge.verdict import VERDICTS

#: More words than this are kept on the open scale ``nominal``, which does not repeat them with every rating.
MOST_WORDS = 50
#: Whole numbers over a wider range than this are measured rather than graded.
_MOST_GRADES = 20
#: More different fractions, or numbers of such a range, than this are measured too; 1 to 5 by halves are grades.
_MOST_STEPS = 10
_NUMBERS = re.compile(r"(ordinal|interval):(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")
#: What surveys write for no answer.
_CODES = (-1, -9, -99, -999, 77, 88, 97, 98, 99, 999)
#: Beside 0 and 1 alone a code is a seldom answer: of a scale -1, 0, 1 more lie at its end.
_SELDOM = 0.2
_STEP_WORDS = {-1.0: "-1", 0.0: "0", 1.0: "+1"}


def number_of(word: object) -> float | None:
    """The finite number that a word is, or None; true and false are words."""
    if word is None or isinstance(word, bool) or "_" in (text := str(word)):  # Python reads 22_6 as 226
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def codes_of_none(answers: Iterable[str]) -> list[str]:
    """Of grades those that surveys write for no answer, apart from all others: 99 among 1 to 5, -1 among 0 to 4.

    `answers` may be counts of the words; among 0 and 1 alone a code must be seldom.

    >>> codes_of_none(["1", "2", "3", "99"]), codes_of_none(["-1", "0", "1"]), codes_of_none(["-1", *"01" * 3])
    (['99'], [], ['-1'])
    """
    words = Counter(answers)
    numbers = {each: number_of(each) for each in words}
    rest = [number for number in numbers.values() if number not in _CODES]
    grades = all(number is not None and 0 <= number <= 10 for number in rest)
    codes = [each for each, number in numbers.items() if number in _CODES]
    seldom = {*rest} - {0, 1} or sum(words[each] for each in codes) <= _SELDOM * words.total()
    return codes if grades and seldom and len(codes) < len(rest) else []


def word_of(answer: object) -> str:
    """An answer as a word: true and false as JSON writes them."""
    return str(answer).lower() if isinstance(answer, bool) else str(answer).strip()


def checked_scale(where: str, scale: str) -> str:
    """Return `scale` if it is one, else raise InputError."""
    kind, _, rest = scale.partition(":")
    words = rest.split(",")
    if scale in ("verdict", "step", "unit", "check", "nominal"):
        return scale
    if kind == "nominal" and all(words) and len(set(words)) == len(words):
        return scale
    if (ends := _NUMBERS.fullmatch(scale)) and float(ends[2]) < float(ends[3]) and (kind == "interval" or _whole(ends)):
        return scale
    rule = "must be verdict, step, unit, check, ordinal:LOW-HIGH, interval:LOW-HIGH or nominal:WORD,WORD"
    raise InputError(where, rule, scale)


def _whole(ends: re.Match[str]) -> bool:
    return ends[2].isdecimal() and ends[3].isdecimal()


def ends_of(scale: str) -> tuple[float, float] | None:
    """The lowest and the highest number of a scale of numbers; None for scales of words."""
    fixed = {"unit": (0.0, 1.0), "check": (0.0, 10.0), "step": (-1.0, 1.0)}
    if ends := _NUMBERS.fullmatch(scale):
        return float(ends[2]), float(ends[3])
    return fixed.get(scale)


def categories_of(scale: str) -> tuple[str, ...] | None:
    """The words of a scale in their order; None where it does not name them, or has numbers alone."""
    kind, _, rest = scale.partition(":")
    if scale == "verdict":
        return VERDICTS
    if scale == "step":
        return ("-1", "0", "+1")
    if kind == "nominal" and rest:
        return tuple(rest.split(","))
    if kind == "ordinal":
        low, high = checked_scale("scale", scale).removeprefix("ordinal:").split("-")
        return tuple(str(value) for value in range(int(low), int(high) + 1))
    return None


#: Words that a scale names in a heading; of more only their number is said.
_MOST_NAMED = 6


def scale_in_words(scale: str) -> str:
    """A scale as a heading says it.

    >>> scale_in_words("nominal:no,yes"), scale_in_words("nominal:a,b,c,d,e,f,g"), scale_in_words("ordinal:1-5")
    ('nominal: no, yes', 'nominal, 7 words', 'ordinal, 1 to 5')
    """
    if numbers := _NUMBERS.fullmatch(scale):
        return f"{numbers[1]}, {numbers[2]} to {numbers[3]}"
    kind, _, rest = scale.partition(":")
    if not rest:
        return scale
    words = rest.split(",")
    return f"{kind}: {', '.join(words)}" if len(words) <= _MOST_NAMED else f"{kind}, {len(words)} words"


Level = Literal["nominal", "ordinal", "interval"]


def level_of(scale: str) -> Level:
    """What differences between answers on a scale mean, and so which coefficients count them.

    ``nominal`` (``verdict``, ``nominal``): other or the same. ``ordinal`` (``ordinal:LOW-HIGH``, ``step``): nearer or
    farther. ``interval`` (``unit``, ``check``, ``interval:LOW-HIGH``): a distance.
    """
    kind = scale.partition(":")[0]
    if kind in ("verdict", "nominal"):
        return "nominal"
    return "ordinal" if kind in ("ordinal", "step") else "interval"


def has_words(scale: str) -> bool:
    """Whether answers on this scale are words that a coefficient may count, rather than numbers alone."""
    return level_of(scale) != "interval"


def on_scale(scale: str, answer: object) -> tuple[str | None, float | None] | None:
    """Verdict and value of an answer on a scale, or None where it does not lie on it."""
    kind, number = scale.partition(":")[0], number_of(answer)
    if kind in ("verdict", "nominal"):
        return _word_on(scale, word_of(answer))
    ends = ends_of(scale)
    if number is None or ends is None or not ends[0] <= number <= ends[1]:
        return None
    if kind == "step":
        return (_STEP_WORDS[number], number) if number in _STEP_WORDS else None
    if kind == "ordinal":
        return (str(int(number)), number) if number.is_integer() else None
    return None, number


def _word_on(scale: str, word: str) -> tuple[str, None] | None:
    if scale == "verdict":
        word = plain(word)
    words = categories_of(scale)
    if words is not None and word not in words and (number := number_of(word)) is not None and number.is_integer():
        word = str(int(number))  # a table may hold 1 as 1.0
    return (word, None) if words is None or word in words else None


def plain(name: str) -> str:
    """A name in lower case with underscores: ``Tool-Selection`` is ``tool_selection``."""
    return "_".join(name.casefold().replace("-", " ").replace("_", " ").split())


def recognised_scale(question: str, answers: Iterable[object]) -> str:
    """The scale that answers show.

    Words: ``verdict`` where all are of its four, else nominal. Numbers: two whole ones are two words; -1, 0 and 1 are
    ``step``; other whole ones are grades from 0 or 1 to the highest one seen; fractions lie on ``unit``, ``check`` or
    an interval.

    Raises
    ------
    InputError
        Numbers and words stand under one question.
    """
    used = {word_of(answer) for answer in answers}
    numbers = {word: number for word in used if (number := number_of(word)) is not None}
    if len(numbers) == len(used) and used:
        return _of_numbers(set(numbers.values()))
    several = any(" + " in each for each in used)  # labels of which several may apply, numbered
    if len(numbers) > max(2, len(used) - len(numbers)) and not several:
        others = sorted(used - numbers.keys())
        cure = f"--missing {others[0]!r} if it means no rating, --word-map {others[0]!r}=NUMBER if it means one"
        raise InputError(question, f"has numbers and also {len(others)} words", others[0], cure)
    return _of_words(used)


def _of_words(used: Collection[str]) -> str:
    if used and {plain(word) for word in used} <= set(VERDICTS):
        return "verdict"
    return nominal_of(used)


def nominal_of(words: Collection[str]) -> str:
    """The nominal scale of these words; the open one where they are too many to name, or hold a comma."""
    closed = 0 < len(words) <= MOST_WORDS and not any("," in word for word in words)
    return f"nominal:{','.join(sorted(words))}" if closed else "nominal"


def _of_numbers(used: set[float]) -> str:
    low, high = min(used), max(used)
    if not all(number.is_integer() for number in used):
        return _of_fractions(low, high)
    if used <= {0.0, 1.0}:
        return "nominal:0,1"
    if used <= {-1.0, 0.0, 1.0}:
        return "step"
    if used == {1.0, 2.0}:
        return "nominal:1,2"
    if low < 0 or high > _MOST_GRADES:
        return _of_fractions(low, high)
    return f"ordinal:{min(int(low), 1)}-{int(high)}"


def are_measured(answers: Collection[str]) -> bool:
    """Whether answers are numbers that are measured rather than graded, as shares and percentages are.

    >>> are_measured([f"{n / 10}" for n in range(11)]), are_measured([f"{n / 2}" for n in range(6)])
    (True, False)
    """
    numbers = len(answers) > _MOST_STEPS and all(number_of(each) is not None for each in answers)
    return numbers and not codes_of_none(answers) and level_of(recognised_scale("", answers)) == "interval"


#: Words of one order, from the lowest; of strength before another word; of neither side.
_ORDERS = [
    line.split(", ")
    for line in (
        "never, almost never, rarely, seldom, occasionally, sometimes, often, usually, almost always, always",
        "very low, low, mid, medium, moderate, high, very high",
        "very poor, poor, below average, fair, average, good, above average, very good, excellent, outstanding",
        "none, trivial, minor, moderate, major, severe, critical",
        "not at all, slightly, somewhat, moderately, mostly, very, extremely, completely",
    )
]
_STRONG = ("strongly", "very", "extremely", "completely", "totally", "fully", "highly", "definitely")
_WEAK = ("slightly", "somewhat", "rather", "mildly", "mostly", "moderately", "partly", "partially")
_STRENGTH = {**dict.fromkeys(_WEAK, 1), **dict.fromkeys(_STRONG, 3)}
_MIDDLE = re.compile(r"neither\b.*|neutral|undecided|unsure|not sure|no opinion|mixed")


def one_line(words: Sequence[str]) -> str:
    """Words in a line that ``--words`` takes: parted by commas, one that holds a comma in quotation marks."""
    line = StringIO()
    writer(line, lineterminator="").writerow(words)
    return line.getvalue()


def in_degrees(words: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words of degree from the lowest to the highest, and those of them that no list knows; nothing for other words.

    >>> in_degrees(["agree", "strongly agree", "disagree", "neutral"])
    (('disagree', 'neutral', 'agree', 'strongly agree'), ())
    >>> in_degrees(["agree", "meh", "disagree", "strongly disagree"])[1], in_degrees(["cat", "dog", "bird"])
    (('meh',), ((), ()))
    """
    orders = [{each: float(order.index(each)) for each in words if each in order} for order in _ORDERS]
    ranks = max((*orders, _by_sides(words)), key=len)
    if len(ranks) < 3 or len(ranks) * 2 <= len(words) or len({*ranks.values()}) < len(ranks):
        return (), ()
    unknown = tuple(sorted({*words} - ranks.keys()))
    return tuple(sorted(words, key=lambda each: ranks.get(each, 0.0))), unknown


def _by_sides(words: Collection[str]) -> dict[str, float]:
    """Ranks of words of two opposite sides (satisfied, dissatisfied), by the strength that stands before each."""
    parts = {each: re.fullmatch(rf"(?:({'|'.join(_STRENGTH)}) )?(.+)", each) for each in words}
    bases = {part[2] for part in parts.values() if part}
    below = {
        base
        for base in bases
        for prefix in ("dis", "un", "in", "im", "not ")
        if base.removeprefix(prefix) in bases - {base}
    }
    above = {base for base in bases if any(other != base and other.endswith(base) for other in below)}
    ranks = {each: 0.0 for each in words if _MIDDLE.fullmatch(each)}
    for each, part in parts.items():
        if part and part[2] in below | above:
            ranks[each] = _STRENGTH.get(part[1], 2) * (-1.0 if part[2] in below else 1.0)
    return ranks if below and len(ranks) > 2 and any(part and part[1] in _STRONG for part in parts.values()) else {}


def _of_fractions(low: float, high: float) -> str:
    if low >= 0 and high <= 1:
        return "unit"
    if low >= 0 and 5 < high <= 10:
        return "check"
    if low >= 0 and 10 < high <= 100:
        return "interval:0-100"
    return f"interval:{math.floor(low)}-{math.ceil(high)}"
