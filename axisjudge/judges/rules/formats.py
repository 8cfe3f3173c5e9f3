"""Formats that mean the same everywhere: amounts of money, dates and identifiers, in text and in JSON.

Patterns begin with the characters that can open a match and look back afterwards: that is what makes them fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

#: Texts whose amounts, days and identifiers are remembered: a twin shares most of the steps of its run.
_SHARED = 4_096
_FEW = 512  # of what is large
_MOST = 1e300

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_AMOUNT = re.compile(
    rf"(?P<sign>(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF)\b)\s?-?)?(?P<number>{_NUMBER})"
    r"(?P<unit>\s?(?:USD|EUR|GBP|CHF|dollars?|euros?)\b|\s?[€£](?!\d)|\s?(?:%|[kKmMgGtT][gGbB]?\b|cm\b|inch|hours?\b)|\w)?"
)
_COMMA_DECIMAL = re.compile(r"(?<![\d.,])(\d{1,3}(?:[.\s]\d{3})+|\d+),(\d{2})(?!\d)")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,4}(?:\.\d{1,2})?)[kK]\b")
_MONEY_WORDS = ("USD", "EUR", "GBP", "CHF", "dollar", "dollars", "euro", "euros", "€", "£")
_HUNDREDTHS = re.compile(r"\d+(?:,\d{3})*\.\d\d")
_OTHER_DECIMALS = re.compile(r",\d\d?(?!\d)|\s\d{3}(?:,|\b)")  # "1.234,56", "1 234,56": read as another number here
_MEASURED = re.compile(
    r"\s?(?:m?s|secs?|seconds?|mins?|minutes?|h|hrs?|days?|weeks?|months?|years?|uhr|[ap]\.?m|[kcm]?m|miles?|met(?:er|re)s?"
    r"|feet|ft|inch(?:es)?|k?g|lbs?|oz|percent|points?|stars?|degrees?|times|x)\b",
    re.IGNORECASE,
)
_NAMES_A_NUMBER = re.compile(
    r"\b(?:version|release|v|section|chapter|clause|article|step|figure|level|scores?|ratio|accuracy|similarity|rating"
    r"|probability|confidence|p|average|mean|at|from|until|till)\W{0,3}(?:(?:of|is|was|to|and)\W{1,2}){0,2}$",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b[A-Z][A-Za-z]+ $")
_MONEY_NAME = re.compile(
    r"\b(?:(?:sub)?total|price|cost|amount|fee|fine|refund|balance|credit|charge|payment|paid|pay|owed?|due|sum|tax) $",
    re.IGNORECASE,
)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_NUMERIC_DATE = re.compile(
    r"(\d{4})[-/.](\d{2})[-/.](\d{2})(?!\d)|(\d{1,2})(?P<sign>[-/.])(\d{1,2})(?P=sign)(\d{4})(?![\d/])"
)
_MONTH_FIRST = re.compile(rf"({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}})\b)?")
_DAY_FIRST = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+|-)(?:of\s+)?({_MONTH})\b(?:(?:,?\s+|-)(\d{{4}})\b)?")
_SHORT_DATE = re.compile(r"(?<![\d/.])(\d{1,2})(?:/(\d{1,2})(?![\d]|/\d{4})|\.(\d{1,2})\.(?!\d{4}))")
_COMPACT_DATE = re.compile(r"(?<!\d)(\d{4})(\d{2})(\d{2})(?!\d)")
_LAST = date.max.toordinal()
#: A moment with its offset may fall on the day before or after elsewhere.
_ZONED = re.compile(
    r"\b(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8]))[tT ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[zZ]\b|[+-]\d{2}:?\d{2})"
)
_EPOCH = re.compile(r"(?<![\d.])(\d{10})(?:\d{3})?(?![\d.])")
_MONTH_FIRST_ANY_CASE = re.compile(_MONTH_FIRST.pattern, re.IGNORECASE)
_DAY_FIRST_ANY_CASE = re.compile(_DAY_FIRST.pattern, re.IGNORECASE)

_NUMBERED_NAME = re.compile(r"[A-Za-z]\w*_[A-Za-z]*\d{4,}")
_MEASURE = re.compile(r"\d+[A-Z]+")
_CLOCK_OR_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T.*)?|\d{1,2}:\d{2}.*|\d+(?:-\d+)+|\d+-[A-Za-z]+s?")
_NUMBERED_WORD = re.compile(r"[A-Za-z]+-\d{1,2}")


class Amount(NamedTuple):
    """An amount in a text: hundredths, whether hundredths were written out, where it stands, its wording."""

    cents: int
    exact: bool
    start: int
    text: str


class Day(NamedTuple):
    """A calendar day; `year` is None where it was not said."""

    year: int | None
    month: int
    day: int

    def agrees(self, other: Day) -> bool:
        """Same month and day, and the same year where both say one."""
        same_year = self.year is None or other.year is None or self.year == other.year
        return same_year and (self.month, self.day) == (other.month, other.day)


class Leaf(NamedTuple):
    """A scalar inside a JSON value, the key it stands under (items of a list under the list's), the object it is in."""

    key: str
    value: Any
    owner: dict[str, Any] | None


def to_cents(number: str | float) -> int:
    """Hundredths, rounded: ``to_cents("1,619.34") == 161934``; at most `_MOST`, which is no amount of anything."""
    return round(min(float(number.replace(",", "") if isinstance(number, str) else number), _MOST) * 100)


@lru_cache(maxsize=_SHARED)
def amounts_in(text: str) -> tuple[Amount, ...]:
    """Amounts of money in a text: with a currency sign or word, or a bare number with exactly two decimals."""
    return tuple(
        Amount(to_cents(match["number"]), "." in match["number"], match.start(), match.group().strip())
        for match in _AMOUNT.finditer(text)
        if _is_money(match, text)
    )


def _is_money(match: re.Match[str], text: str) -> bool:
    unit = (match["unit"] or "").strip()
    before = text[match.start() - 1] if match.start() else " "
    if text[match.end() : match.end() + 1] == "." and text[match.end() + 1 : match.end() + 2].isdigit():
        return False  # a version or a clock
    if _OTHER_DECIMALS.match(text, match.end("number")) and (match["sign"] or unit in ("", *_MONEY_WORDS)):
        return False
    if match["sign"]:
        return unit in ("", *_MONEY_WORDS)
    if before.isalnum() or before in "_.,#/" or (unit and unit not in _MONEY_WORDS):
        return False
    return bool(unit) or (_HUNDREDTHS.fullmatch(match["number"]) is not None and not _is_measure(match, text))


def _is_measure(match: re.Match[str], text: str) -> bool:
    """Whether a bare number is one of a version, a clock, a length: what stands beside it says so."""
    before = text[max(0, match.start() - 40) : match.start()]
    name = _NAME.search(before) is not None and _MONEY_NAME.search(before) is None
    return name or bool(_MEASURED.match(text, match.end("number")) or _NAMES_A_NUMBER.search(before))


def plain_numbers_in(text: str) -> set[int]:
    """Every number that stands alone in a text, in hundredths (what an amount told later may rest on).

    "1.200,50" and "1.2k" count as the numbers that they may be.
    """
    comma = {to_cents(re.sub(r"[.\s]", "", match[1]) + "." + match[2]) for match in _COMMA_DECIMAL.finditer(text)}
    thousands = {to_cents(float(match[1]) * 1_000) for match in _THOUSANDS.finditer(text)}
    return (
        comma
        | thousands
        | {
            to_cents(match["number"])
            for match in _AMOUNT.finditer(text)
            if len(match["number"]) < 12
            and not (match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "_#"))
        }
    )


@lru_cache(maxsize=_SHARED)
def days_in(text: str, *, any_case: bool = False) -> tuple[tuple[tuple[Day, ...], str], ...]:
    """Dates in a text, each with its possible readings (``03/04/2024`` has two) and its wording."""
    month_first, day_first = (_MONTH_FIRST_ANY_CASE, _DAY_FIRST_ANY_CASE) if any_case else (_MONTH_FIRST, _DAY_FIRST)
    matches = [(tuple(_numeric(match)), match) for match in _NUMERIC_DATE.finditer(text)]
    matches += [((_named(match[1], match[2], match[3]),), match) for match in month_first.finditer(text)]
    matches += [((_named(match[2], match[1], match[3]),), match) for match in day_first.finditer(text)]
    return tuple(
        (days, match.group())
        for readings, match in sorted(matches, key=lambda pair: pair[1].start())
        if (days := tuple(day for day in readings if 1 <= day.month <= 12 and 1 <= day.day <= 31))
        and not (match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] == "/"))
    )


@lru_cache(maxsize=_SHARED)
def days_given(text: str) -> frozenset[Day]:
    """Every day that a text may name, in any form: "6/2", "20310602" and seconds since 1970 too."""
    days = {day for readings, _ in days_in(text, any_case=True) for day in readings}
    for match in _SHORT_DATE.finditer(text):
        one, other = int(match[1]), int(match[2] or match[3])
        days |= {Day(None, one, other), Day(None, other, one)}
    days |= {Day(int(match[1]), int(match[2]), int(match[3])) for match in _COMPACT_DATE.finditer(text)}
    moments = [date(1970, 1, 1) + timedelta(seconds=int(match[1])) for match in _EPOCH.finditer(text)]
    for match in _ZONED.finditer(text):
        with suppress(ValueError):  # the year 0000
            moments.append(date.fromisoformat(match[1]))
    for moment in moments:
        around = (moment.toordinal() + shift for shift in (-1, 0, 1))
        days |= {Day(day.year, day.month, day.day) for n in around if 0 < n <= _LAST for day in (date.fromordinal(n),)}
    return frozenset(days)


def _numeric(match: re.Match[str]) -> Iterator[Day]:
    if match[1]:
        yield Day(int(match[1]), int(match[2]), int(match[3]))
    else:
        yield Day(int(match[7]), int(match[4]), int(match[6]))
        yield Day(int(match[7]), int(match[6]), int(match[4]))


def _named(month: str, day: str, year: str | None) -> Day:
    return Day(int(year) if year else None, MONTHS.index(month[:3].lower()) + 1, int(day))


def is_identifier(token: str) -> bool:
    """Whether a token looks like a name that a system gave: letters with digits, or six digits and more.

    Examples
    --------
    >>> [is_identifier(token) for token in ("#W2378156", "mia_li_3668", "6086499569", "HAT136", "ZFA04Y")]
    [True, True, True, True, True]
    >>> [is_identifier(token) for token in ("1080p", "12-inch", "2024-05-15", "size_10", "256GBSSD")]
    [False, False, False, False, False]
    >>> [is_identifier(token) for token in ("2005-2008", "COVID-19", "1937\u5e743\u67086\u65e5")]
    [False, False, False]
    """
    core = token.lstrip("#")
    if not core.isascii() or _NUMBERED_WORD.fullmatch(core):
        return False  # systems name in ASCII; a word and its number are a name that people gave
    if core.isdigit():
        return len(core) >= 6
    if _CLOCK_OR_DATE.fullmatch(core):
        return core.replace("-", "").isdigit() and len(core) >= 11
    if "_" in core:
        return _NUMBERED_NAME.fullmatch(core) is not None
    if core.upper() != core or _MEASURE.fullmatch(core):
        return False
    digits = sum(char.isdigit() for char in core)
    return digits >= 2 and (len(core) >= 6 or (token[0] == "#" and digits >= 3))


def is_example(token: str) -> bool:
    """Whether an identifier's digits stand for any ("#W0000000")."""
    digits = "".join(char for char in token if char.isdigit())
    return len(set(digits[-4:])) == 1 or digits[:6] in "0123456789"


@lru_cache(maxsize=_FEW)
def leaves_in(text: str) -> tuple[Leaf, ...]:
    """Every scalar of a text that is a JSON object or list; nothing of any other."""
    parsed = parse_json(text)
    return tuple(leaves(parsed)) if isinstance(parsed, dict | list) else ()


def parse_json(text: str) -> Any:
    """The JSON value of a tool result, or None when it is not JSON."""
    if text[:1] not in '{[-0123456789"':
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(value: Any) -> list[Leaf]:
    """Every scalar inside a JSON value, in order."""
    collected: list[Leaf] = []
    _collect(value, "", None, collected)
    return collected


def _collect(value: Any, key: str, owner: dict[str, Any] | None, collected: list[Leaf]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _collect(inner, name, value, collected)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, key, owner, collected)
    else:
        collected.append(Leaf(key, value, owner))
