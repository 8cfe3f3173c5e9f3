"""What JavaScript does differently from Python, where the original AXIS program's numbers depend on it.

Lengths and cuts are in UTF-16 units, numbers are doubles, halves are rounded up, ``\\s`` and ``Date`` have their own
rules. A date and time without an offset is local time in JavaScript; here it is UTC, so that no result depends on the
machine.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any

#: What ``\s`` matches in JavaScript (Python's also matches U+001C-1F and U+0085 and lacks U+FEFF).
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACES = re.compile(f"[{SPACE}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")

_LARGEST_EXACT = 2**53
_MS_OF_DAY = 86_400_000
#: The largest time value of ECMAScript, in milliseconds.
_LARGEST_TIME = 8.64e15

_DATE = r"([+-]\d{6}|\d{4})(?:-(\d\d)(?:-(\d\d))?)?"
_TIME = r"(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
_ISO = re.compile(rf"{_DATE}(?:[Tt ]{_TIME} ?([Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII)
_RFC_2822 = re.compile(
    r"(?:[A-Za-z]{3},? +)?(\d{1,2}) +([A-Za-z]{3})[a-z]* +(\d{4})"
    r"(?: +(\d\d):(\d\d)(?::(\d\d))?)?(?: *(GMT|UTC?|Z|[+-]\d{4}))?",
    re.ASCII,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def is_number(value: Any) -> bool:
    """Whether JavaScript calls it a number: a bool is none, NaN is one."""
    kind = type(value)
    return kind is int or kind is float


def as_double(value: float) -> float:
    """A number as a double; an integer too large for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def half_up(value: float) -> float:
    """``Math.round``: the nearest whole number, halves towards plus infinity; NaN stays NaN."""
    return math.floor(value + 0.5) if math.isfinite(value) else value


def number_text(value: float) -> str:
    """A number as JavaScript writes it.

    Examples
    --------
    >>> number_text(1.0), number_text(1e21), number_text(-0.0), number_text(1e-7)
    ('1', '1e+21', '0', '1e-7')
    """
    if isinstance(value, int) and abs(value) <= _LARGEST_EXACT:
        return str(value)
    double = as_double(value)
    if not math.isfinite(double):
        return "NaN" if math.isnan(double) else "-Infinity" if double < 0 else "Infinity"
    if double == 0:
        return "0"
    mantissa, _, exponent = f"{abs(double)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return ("-" if double < 0 else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Number::toString of ECMAScript: `digits` with the decimal point after the first `point` of them."""
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def stringify(value: Any) -> str:
    """``JSON.stringify(value)`` of a value that came from JSON.

    Examples
    --------
    >>> stringify({"b": 1.0, "10": True, "2": [None, "é"]})
    '{"2":[null,"é"],"10":true,"b":1}'
    """
    text = _encoded(value) if _is_plain(value) else _written(value)
    return text if text.isascii() else _SURROGATE.sub(lambda unit: f"\\u{ord(unit[0]):04x}", text)


def _is_plain(value: Any) -> bool:
    """Whether Python writes the value as JavaScript does: no fractions, no large numbers, no numbers as keys."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is dict:
        return all(not key[:1].isdigit() and (type(item) is str or _is_plain(item)) for key, item in value.items())
    if kind is list:
        return all(map(_is_plain, value))
    return kind is int and -_LARGEST_EXACT <= value <= _LARGEST_EXACT


_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_encoded(key)}:{_written(value[key])}" for key in ordered_keys(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if is_number(value):
        return number_text(value) if math.isfinite(as_double(value)) else "null"
    return _encoded(value)


def ordered_keys(value: dict[str, Any]) -> list[str]:
    """Keys in JavaScript's order: array indices first, ascending, then the others as they came."""
    digits = [key for key in value if key.isdigit() and key.isascii()]
    indices = [key for key in digits if str(int(key)) == key and int(key) < 2**32 - 1]
    if not indices:
        return list(value)
    known = set(indices)
    return sorted(indices, key=int) + [key for key in value if key not in known]


def utf8_length(text: str) -> int:
    """Bytes of the text in UTF-8; a lone surrogate counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def utf16_length(text: str) -> int:
    """UTF-16 units of the text: what ``length`` says in JavaScript."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, units: int, *, within: bool = False) -> str:
    """The text cut to `units` UTF-16 units with three dots after it; `within` makes these part of the `units`."""
    if 2 * len(text) <= units or utf16_length(text) <= units:
        return text
    kept = units - 3 if within else units
    if text.isascii():
        return text[:kept] + "..."
    return text.encode("utf-16-le", "surrogatepass")[: 2 * kept].decode("utf-16-le", "surrogatepass") + "..."


def collapse(text: str) -> str:
    """Runs of white space as one space, none at the ends."""
    return _SPACES.sub(" ", text).strip(" ")


def time_ms(value: Any) -> int | None:
    """``new Date(value).getTime()``: milliseconds since 1970, None where the date is invalid.

    ISO 8601 (fractions cut to milliseconds, a space or a lower-case t between date and time), RFC 2822, and numbers;
    a string of digits alone is invalid.
    """
    if isinstance(value, str):
        ms = iso_ms(value)
        return _rfc_2822_ms(value) if ms is None else ms
    if is_number(value):
        double = as_double(value)
        return math.trunc(double) if abs(double) <= _LARGEST_TIME else None
    return None


def iso_ms(text: str) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 date and time, None where it is none."""
    if len(text) == 24 and text[16] == ":" and text[19] == "." and text[23] == "Z":  # as most programs write it
        of_minute, start = text[17:19] + text[20:23], _minute_ms(text[:16])
        if start is not None and of_minute.isascii() and of_minute.isdigit() and of_minute < "60":
            return start + int(of_minute)
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    days = _days(int(year), int(month or 1), int(day or 1))
    if days is None or hour is None:
        return None if days is None else days * _MS_OF_DAY
    milliseconds = int((fraction or "")[:3].ljust(3, "0"))
    of_day = _of_day(int(hour), int(minute), int(second or 0), milliseconds)
    return None if of_day is None else days * _MS_OF_DAY + of_day - _offset_ms(offset)


@lru_cache(maxsize=1024)
def _minute_ms(text: str) -> int | None:
    """Milliseconds of a date with hour and minute, in UTC; None where it is none, or midnight written as 24:00."""
    return None if text[11:13] == "24" else iso_ms(f"{text}:00Z")


def _rfc_2822_ms(text: str) -> int | None:
    match = _RFC_2822.fullmatch(text.strip())
    if match is None or match[2].lower() not in _MONTHS:
        return None
    days = _days(int(match[3]), _MONTHS.index(match[2].lower()) + 1, int(match[1]))
    of_day = _of_day(int(match[4] or 0), int(match[5] or 0), int(match[6] or 0), 0)
    if days is None or of_day is None:
        return None
    offset = match[7] if (match[7] or "Z")[0] in "+-" else None
    return days * _MS_OF_DAY + of_day - _offset_ms(offset)


@lru_cache(maxsize=256)
def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01; February 30 is March 2, as V8 has it."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _of_day(hour: int, minute: int, second: int, millisecond: int) -> int | None:
    midnight = hour == 24 and minute == second == millisecond == 0
    if not midnight and (hour > 23 or minute > 59 or second > 59):
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + millisecond


def _offset_ms(offset: str | None) -> int:
    if offset is None or offset in "Zz":
        return 0
    minutes = int(offset[1:3]) * 60 + int(offset[-2:])
    return (minutes if offset[0] == "+" else -minutes) * 60_000
