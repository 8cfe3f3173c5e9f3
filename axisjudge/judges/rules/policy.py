"""What a policy lets be done to a record, as far as its words can be held against what a result shows of that record.

Read are sentences such as "Economy flights can be cancelled only if insurance is bought", their alternatives ("or if",
or the lines below "if any of the following is true") and what these rest on: an age in hours or days, something that
the record has or has not, its kind, or what others did. What cannot be read is taken to hold.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from axisjudge.judges.rules import phrases, verbs
from axisjudge.judges.rules.facts import AgentCall, Facts

_LETS = re.compile(
    r"(?P<who>[^.;:,\n]{0,200}?)\bcan(?: only| always)? be (?P<done>[a-z]+ed)\b"
    r"(?P<when>(?:[^.;:\n](?!\band (?:\w+ ){1,4}can(?:not)? ))*)(?P<list>:?(?:\n\s*[-*] [^\n]*)*)"
)
_LIMITS = re.compile(r"\b(?:only|if|within|unless|when)\b")
_AGE = re.compile(r"\bwithin (?:the (?:last|past|first) )?(\d{1,5}) (hour|hr|day)s?\b")
_NOW = re.compile(r"\b(?:current|present) (?:date and )?time is:? (\S+ ?\S*)", re.IGNORECASE)
_MADE_AT = re.compile(r"(?:creat|book|plac|order|purchas)\w*_(?:at|on|date|time)$")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")
_FILLERS = re.compile(r"\b(?:otherwise|and|an?|the|then|so|in|this|case)\b|[-*]")
_ALL = re.compile(r"\b(?:all|any|every|each)\b")
_IT_IS = re.compile(r"\W*(?:if )?it is (.+?)\W*$")
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}
_FEWEST_LETTERS = 5


def ruled_out(facts: Facts, call: AgentCall) -> int | None:
    """The step that had shown a record to which the policy does not let be done what a call does; None where it may.

    Of several tools of one verb the policy's words do not tell which they mean.
    """
    verb = _first_word(call.name)
    allowed = _allowed(facts.rulebook, verb)
    if not allowed or [name for name in facts.write_tools if _first_word(name) == verb] != [call.name]:
        return None
    shown = [
        (step, len(record), record)
        for key, value in call.identifiers
        for record, other in facts.records.get(value, ())
        if record.get(key) == value and (step := other.result_step or 0) < call.step
    ]
    if not shown:
        return None
    step, _, record = max(shown, key=lambda one: one[:2])
    meant = (ways for who, ways in allowed if _meant(facts, who, record))
    may = (_may_hold(facts, call, way, record) for ways in meant for way in ways)
    return None if any(may) else step


def _first_word(name: str) -> str:
    """The verb of a tool's name as it stands there."""
    return re.sub(r"(?<=[a-z])[^a-z].*", "", name).lower()


@lru_cache(maxsize=256)
def _allowed(rulebook: str, verb: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(whose, ways) of everything that a policy lets be done; empty where it sets no condition."""
    allowed, limited = [], False
    for match in _LETS.finditer(rulebook.replace("**", "").lower()):
        if verbs.is_form_of(match["done"], verb):
            listed = [line.strip(" -*:") for line in match["list"].splitlines()]
            ways = [line for line in listed if line] or re.split(r",? or (?=if |when |within )", match["when"])
            allowed.append((match["who"], tuple(ways)))
            limited |= _LIMITS.search(match["when"]) is not None
    return tuple(allowed) if limited else ()


def _meant(facts: Facts, who: str, record: dict[str, Any]) -> bool:
    """Whether words for records may mean this one: "all", no kind at all, or a kind that it may be of."""
    kinds = [" ".join(_FILLERS.sub(" ", part).split()) for part in re.split(r"\bor\b|,|/", who)]
    return _ALL.search(who) is not None or any(_may_be(facts, kind, record) for kind in kinds if kind)


def _may_be(facts: Facts, kind: str, record: dict[str, Any]) -> bool:
    """Whether a record may be of a kind ("business flight"): not where the policy names its own kind beside that."""
    adjective = kind.rpartition(" ")[0]
    own = {str(value).lower().replace("_", " ") for value in record.values() if isinstance(value, str) and value}
    if not adjective or own & {kind, adjective}:
        return True
    beside = [line for line in facts.rulebook.lower().splitlines() if _has_word(adjective, line)]
    return not any(_has_word(value, line) for line in beside for value in own)


def _has_word(word: str, line: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", line) is not None


def _may_hold(facts: Facts, call: AgentCall, way: str, record: dict[str, Any]) -> bool:
    """Whether a condition may hold of a record: none of its parts is known not to."""
    return not any(_fails(facts, call, part, record) for part in re.split(r",? and\b", way))


def _fails(facts: Facts, call: AgentCall, part: str, record: dict[str, Any]) -> bool:
    if (age := _AGE.search(part)) is not None:
        today = [now[1] for now in _NOW.finditer(facts.rulebook)]
        days = [str(value) for key, value in record.items() if _MADE_AT.search(key)]
        now, made = (next(filter(None, map(_moment, texts)), None) for texts in (today, days))
        unit = timedelta(days=1) if age[2] == "day" else timedelta(hours=1)
        return now is not None and made is not None and now - made > int(age[1]) * unit
    words = {*re.findall(r"[a-z]+", part)}
    has = [_YES_NO.get(str(value).lower()) for key, value in record.items() if {*key.lower().split("_")} <= words]
    if any(value is not None for value in has):
        return (True in has) is bool(words & {"no", "not", "without"})
    verb = _first_word(call.name)
    if any(verbs.is_form_of(word, verb) for word in words):  # others did it: true where somebody says so
        others = [word for word in words if len(word) >= _FEWEST_LETTERS and not verbs.is_form_of(word, verb)]
        spoken = [text for index, text in facts.user_messages if index < call.step]
        spoken += [other.result for other in facts.calls if (other.result_step or call.step) < call.step]
        sentences = [sentence.lower() for text in spoken for sentence in phrases.sentences_of(text)]
        return not any(verb in sentence and all(word in sentence for word in others) for sentence in sentences)
    kind = _IT_IS.match(part)
    return kind is not None and not _may_be(facts, " ".join(_FILLERS.sub(" ", kind[1]).split()), record)


def _moment(text: str) -> datetime | None:
    match = _MOMENT.match(text)
    try:
        return None if match is None else datetime.fromisoformat(match[0])
    except ValueError:
        return None
