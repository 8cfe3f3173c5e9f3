"""What the user asked for, held against what was called and told: nothing but the words of asking is understood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from axisjudge.judges.rules import formats, phrases, verbs
from axisjudge.judges.rules.facts import AgentCall, Facts

_WANTS_TO_KNOW = re.compile(r"\?|\bknow\b|\btell\b|\bcalculate\b|\bcompute\b|\blet me\b", re.IGNORECASE)
_MONEY = re.compile(r"[$€£]\s?-?\d|\b\d[\d,]*[.,]\d\d\b|\b\d+ ?(?:dollars?|euros?|USD|EUR|GBP|CHF)\b", re.IGNORECASE)
_FEWEST_LETTERS = 3
_HOW_MANY = re.compile(r"\bhow many\s+((?:[\w'-]+\s+){0,3}[\w'-]+)", re.IGNORECASE)
#: Words beside "how many" that name no thing.
_NO_THING = re.compile(r"there|available|currently|your|have|would|that|this|will|does|many|more|them|with|from")
#: Other words for the things that were asked about.
_THINGS = {"option", "available", "variant", "version", "kind", "type", "style", "model", "choice", "choose", "stock"}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER = re.compile(rf"(?<![\w.$#-])(\d{{1,3}}|{'|'.join(_NUMBERS)})(?![\w%]|[.,]\d)", re.IGNORECASE)
_IN_TOTAL = re.compile(r"\b(?:total|altogether|in all|sum)\b", re.IGNORECASE)
_TELLS_TOTAL = re.compile(r"total|altogether|in all|\bsum\b|combined", re.IGNORECASE)
_WHOLE = re.compile(r"entire|whole|all items|full order", re.IGNORECASE)


def unanswered(facts: Facts) -> Iterator[tuple[int, str]]:
    """(step, what) where the user asks how many there are, or for a total, and no later word of the agent tells it."""
    changes = sum(call.succeeded for call in facts.writes)
    for index, text in facts.user_messages:
        asks_total = any(
            _IN_TOTAL.search(part) and _WANTS_TO_KNOW.search(part) and "how many" not in part.lower()
            for part in phrases.sentences_of(text)
        )
        totals = (_TELLS_TOTAL.search(part) and _MONEY.search(part) for part in _later(facts, index))
        if asks_total and changes != 1 and not any(totals):
            yield index, "a total"  # of one change the amount is the total
        for asked in _HOW_MANY.findall(text):
            tokens = asked.lower().split()
            words = {one.rstrip("s") for one in tokens if len(one) > _FEWEST_LETTERS and not _NO_THING.fullmatch(one)}
            numbers = {number for part in _later(facts, index) for number in _numbers_of(part, words)}
            if words and (not numbers or ((counts := _counts(facts)) and not numbers & counts)):
                yield index, f"how many {asked} there are"


def _later(facts: Facts, step: int) -> list[str]:
    return [part for index, text in facts.agent_messages if index > step for part in phrases.sentences_of(text)]


def _numbers_of(sentence: str, words: set[str]) -> set[int]:
    """Small whole numbers of a sentence that speaks of some things."""
    if not any(word in sentence.lower() for word in words | _THINGS):
        return set()
    return {int(one) if one.isdigit() else _NUMBERS.index(one.lower()) + 1 for one in _NUMBER.findall(sentence)}


def _counts(facts: Facts) -> set[int]:
    """Of every set of records that results show: how many bear a mark (``"available": true``)."""
    counts: set[int] = set()
    for call in facts.calls:
        result = formats.parse_json(call.result) if call.succeeded else None
        for inner in result.values() if isinstance(result, dict) else ():
            records = [*inner.values()] if isinstance(inner, dict) else inner if isinstance(inner, list) else []
            if len(records) > 1 and all(isinstance(record, dict) for record in records):
                marks = {key for record in records for key, value in record.items() if isinstance(value, bool)}
                counts |= {sum(record.get(mark) is True for record in records) for mark in marks}
    return counts


def only_a_part(facts: Facts, call: AgentCall) -> tuple[int, str] | None:
    """(step, part) where the user had asked to cancel a part of a record, and the call cancels the whole.

    Not where the agent's words before it say that all of it goes.
    """
    verb, before = verbs.verb_of(call.name), facts.last_agent_message(call.step)
    if verb not in ("cancel", "delete") or (before is not None and _WHOLE.search(before[1])):
        return None
    wholes = [key.removesuffix("_id").lower() for key, _ in call.identifiers]
    for part in sorted(_parts_of(facts, {value for _, value in call.identifiers}, call.step)):
        for index, text in facts.user_messages:
            for sentence in phrases.sentences_of(text) if index < call.step and part in text.lower() else ():
                lowered = sentence.lower()
                if part in lowered and verbs.mentions(sentence, verb) and not any(one in lowered for one in wholes):
                    return index, part
    return None


def _parts_of(facts: Facts, ids: set[str], step: int) -> set[str]:
    """Names of the parts of a record of several that a result had shown."""
    for call in facts.calls:
        result = formats.parse_json(call.result) if call.succeeded and (call.result_step or 0) < step else None
        if isinstance(result, dict) and not ids.isdisjoint(map(str, result.values())):
            lists = [inner for inner in result.values() if isinstance(inner, list) and len(inner) > 1]
            records = [record for inner in lists for record in inner if isinstance(record, dict)]
            return {str(record["name"]).lower() for record in records if record.get("name")}
    return set()
