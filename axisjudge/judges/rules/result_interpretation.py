"""Result interpretation: does what the agent told the user stand in what it had been given?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from axisjudge.judges.rules import phrases, wishes
from axisjudge.judges.rules.amounts import KnownAmounts, SmallNumbers
from axisjudge.judges.rules.claims import claimed_success, never_done
from axisjudge.judges.rules.facts import Facts, stands_in
from axisjudge.judges.rules.findings import Clean, Finding
from axisjudge.judges.rules.formats import (
    Amount,
    Day,
    amounts_in,
    days_in,
    form_of,
    identifiers_in,
    is_example,
    is_named_as_identifier,
    to_cents,
)
from axisjudge.judges.rules.statuses import against_status, contradicted_statuses

_HEDGED = re.compile(
    r"(?:about|approx(?:\.|imately)?|around|roughly|over|under|below|above|than|up to|at (?:least|most)|almost|nearly"
    r"|between|e\.g\.,?|example,?|~|≈|<|>)\s*\**$",
    re.IGNORECASE,
)
_COMPUTED = re.compile(
    r"\b(?:total\w*|sum|differen\w+|altogether|combined|overall|net|sav\w+|subtotal|remain\w+|left|each|per|additional|extra"
    r"|increase|decrease|monthly|weekly|daily|a (?:month|week|day|night|year)"
    r"|every)\b|[=+−×]|\bminus\b|\bplus\b|_total|total_|_difference",
    re.IGNORECASE,
)
_RELATIVE_DAY = re.compile(
    r"\b(?:tomorrow|yesterday|overnight|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:next|following|previous|last|coming|this|same) (?:day|week|month|year)|(?:day|week|month)s?"
    r" (?:later|before|after|earlier|prior|from)|(?:later|earlier) (?:the same|that) day"
    r"|\d+[- ](?:calendar |business |working )?(?:day|week|month)s?)\b",
    re.IGNORECASE,
)
_NEXT_DAY = re.compile(r"\d{2}:\d{2}(?::\d{2})?\s?\+1\b")
_COUNT = re.compile(r"(?<![\w.,$#-])([2-9]|1\d|20)(?![\w%]|[.,]\d)")
_PARTS = {"half": 2, "halves": 2, "double": 2, "twice": 2, "third": 3, "quarter": 4, "two": 2, "three": 3, "four": 4}
_PART = re.compile(rf"\b(?:{'|'.join(_PARTS)})\b", re.IGNORECASE)
_PERCENT = re.compile(r"(?<![\w.,])(\d{1,2}(?:\.\d{1,2})?)\s?(?:%|percent\b)")
_SUPPOSED = re.compile(
    r"\b(?:if|would|could|might|suppos\w+|assum\w+|imagin\w+|say,|example|e\.g\.|in case"
    r"|after (?:mov|transferr)ing)(?!\w)",
    re.IGNORECASE,
)


def findings(facts: Facts) -> Iterator[Finding]:
    """All that the rules hold against what the agent told the user."""
    if facts.shows_what_was_given:
        yield from unexplained_amounts(facts)
        yield from _dates(facts)
        yield from _identifiers(facts)
    for index in wishes.never_told(facts):
        yield Finding("not_told", (index,), f"Step {index} asks for an amount, and no later step tells the user any.")
    yield from _amounts_of_others(facts)
    yield from contradicted_statuses(facts)
    yield from against_status(facts)
    for call, index in claimed_success(facts):
        text = f"{call.name} failed at step {call.result_step}, but step {index} tells the user of a success."
        yield Finding("error_as_success", (call.result_step or call.step, index), text)
    for index, verb, failed in never_done(facts):
        text = f"Step {index} tells the user that something was {verb}, but no call before it had done that."
        yield Finding("never_done", (index,) if failed is None else (failed, index), text)


def clean(facts: Facts) -> Clean:
    """What is said when nothing was found."""
    answered = [call.step for call in facts.calls if call.result_step is not None]
    if not answered:
        text = "No result came back to the agent, and it told nothing that only a result could hold."
        return Clean("not_applicable", 0.80, (), text)
    messages = [(index, text) for index, text in facts.agent_messages if index > answered[0]]
    checked = tuple(index for index, text in messages if amounts_in(text) or days_in(text) or identifiers_in(text))
    if not checked:
        text = "After its calls the agent told no amount, date or identifier, so a rule has little to check."
        return Clean("uncertain", 0.30, tuple(index for index, _ in messages[-1:]), text)
    if not (facts.is_english and facts.shows_what_was_given):
        why = "more than one agent speaks, or nothing was given" if facts.is_english else "the talk is not in English"
        text = f"What the agent told was not held against what it had been given: {why}."
        return Clean("uncertain", 0.30, checked, text)
    text = (
        "Every amount, date and identifier told stands somewhere in what the agent had been given, or can be reckoned "
        "from it. Whether it is that of the thing spoken of, and whether the rest was told as it was, cannot be told."
    )
    return Clean("uncertain", 0.30, checked, text)


def amounts_by_message(facts: Facts) -> Iterator[tuple[int, str, tuple[Amount, ...], KnownAmounts]]:
    """Each message of the agent that tells amounts, with the amounts known before it (one object, growing)."""
    known = KnownAmounts()
    results = {call.result_step: call for call in facts.calls}
    waiting = 0
    for index, text in facts.agent_messages:
        if not (amounts := amounts_in(text)):
            continue
        while waiting < len(facts.sources) and (source := facts.sources[waiting]).step < index:
            waiting += 1
            if (call := results.get(source.step)) is not None:
                known.add_result(source.text, call.result_leaves)
                if call.succeeded:
                    known.add_leaves(call.values)
            else:
                known.add_words(source.text)
        yield index, text, amounts, known


def unexplained_amounts(facts: Facts) -> Iterator[Finding]:
    """Amounts told that nothing known explains; in a sentence about totals or suppositions a doubt, else a fault."""
    flagged: set[int] = set()
    for index, text, amounts, known in amounts_by_message(facts):
        for amount, way in explain_all(amounts, known, counts_in(text)):
            if way or amount.cents in flagged or _HEDGED.search(text, 0, amount.start):
                continue
            flagged.add(amount.cents)
            sentence = _around(text, amount.start)
            reckoned = _COMPUTED.search(sentence) is not None or _SUPPOSED.search(sentence) is not None
            kind = "unexplained_total" if reckoned else "amount"
            sentence = f"Step {index} tells {amount.text}, which no earlier result, message or policy contains"
            yield Finding(kind, (index,), f"{sentence}, and no sum, difference or total of what was known gives it.")


_MOVES_MONEY = re.compile(r"\b(?:refund|charge|differen|get back|receive back)\w*", re.IGNORECASE)


def _amounts_of_others(facts: Facts) -> Iterator[Finding]:
    """An amount told of a change just made that only a record of the same form has which no change had named."""
    made = [call for call in facts.writes if call.succeeded and call.result_step is not None]
    for index, text in facts.agent_messages if made else ():
        before = [call for call in made if (call.result_step or 0) < index]
        amounts = [
            one
            for one in amounts_in(text)
            if _MOVES_MONEY.search(sentence := _around(text, one.start)) and len(amounts_in(sentence)) == 1
        ]
        if not before or not amounts:
            continue
        own, other = _amounts_by_owner(facts, {str(leaf.value) for call in before for leaf in call.values}, index)
        known = KnownAmounts(set(own), set(own))
        for amount in amounts:
            if own and amount.cents in other and known.explain(amount, [], counts_in(text)) is None:
                words = (
                    f"Step {index} tells {amount.text}, the amount of {other[amount.cents]}, which no change had named."
                )
                yield Finding("amount_of_another", (before[-1].step, index), words)


def _amounts_by_owner(facts: Facts, ids: set[str], step: int) -> tuple[set[int], dict[int, str]]:
    """Amounts of the records that calls name, and those of other records of the same form, each with one of its ids."""
    shown = [
        (name, record)
        for name, records in facts.records.items()
        for record, result in records
        if (result.result_step or 0) < step
    ]
    mine = [record for _, record in shown if ids & {inner for inner in record.values() if isinstance(inner, str)}]
    own = {to_cents(inner) for record in mine for inner in record.values() if isinstance(inner, float)}
    forms = {frozenset(record) for record in mine}
    other = {
        to_cents(inner): name
        for name, record in shown
        if frozenset(record) in forms and not any(record is one for one in mine)
        for inner in record.values()
        if isinstance(inner, float)
    }
    return own, {cents: name for cents, name in other.items() if cents not in own}


def explain_all(
    amounts: Sequence[Amount], known: KnownAmounts, counts: SmallNumbers
) -> list[tuple[Amount, str | None]]:
    """How each amount of one message is explained (None: not at all); those explained are added to what is known.

    A second round lets an amount rest on one that the message tells only after it.
    """
    before: list[int] = []
    ways: list[str | None] = [None] * len(amounts)
    for _ in range(2):
        for position, amount in enumerate(amounts):
            if ways[position] is None and (way := known.explain(amount, before, counts)) is not None:
                ways[position] = way
                known.add_explained(amount.cents)
                before.append(amount.cents)
    return list(zip(amounts, ways, strict=True))


def counts_in(text: str) -> SmallNumbers:
    """Small whole numbers in a text, by which a price may have been multiplied or parted, and percentages."""
    times = {int(count) for count in _COUNT.findall(text)} | {_PARTS[word.lower()] for word in _PART.findall(text)}
    return SmallNumbers(times, {float(share) / 100 for share in _PERCENT.findall(text)})


def _around(text: str, position: int) -> str:
    """The line or sentence around a place in a text."""
    marks = ("\n", ". ", "? ", "! ", "\\n")
    start = max(text.rfind(mark, 0, position) for mark in marks)
    ends = [end for mark in marks if (end := text.find(mark, position)) >= 0]
    return text[start + 1 : min(ends, default=len(text))]


def _dates(facts: Facts) -> Iterator[Finding]:
    """Dates told that nothing known contains; a doubt where somebody spoke of days by counting from others."""
    flagged: set[Day] = set()
    for index, text in facts.agent_messages:
        for readings, wording in days_in(text):
            if readings[0] in flagged or _day_is_known(facts, readings, index) or _is_proposed(text, wording):
                continue
            flagged.add(readings[0])
            request = facts.last_user_message(index)
            counted = any(_RELATIVE_DAY.search(sentence) for sentence in (request[1] if request else "", text))
            sentence = f"Step {index} tells the date {wording}, which no earlier result, message or policy contains."
            yield Finding("computed_date" if counted else "date", (index,), sentence)


def _is_proposed(text: str, wording: str) -> bool:
    """Whether a day is only put to the user, in a question or as what may be: it is no word about a result."""
    sentence = phrases.with_heading(text, wording)
    return "?" in sentence or phrases.is_conditional(sentence) or phrases.offers(sentence)


def _day_is_known(facts: Facts, readings: tuple[Day, ...], step: int) -> bool:
    """Whether a source names the day, or the agent itself had searched for it."""
    spellings = {f"{day.month:02d}-{day.day:02d}" for day in readings}
    for source in facts.sources:
        if source.step < step:
            if any(spelling in source.text for spelling in spellings):
                return True
            if _NEXT_DAY.search(source.text) and any(_after(day) in source.text for day in readings):
                return True
            if any(day.agrees(one) for one in source.days for day in readings):
                return True
    searched = (str(leaf.value) for call in facts.calls if call.step <= step for leaf in call.values)
    return any(spelling in value for value in searched for spelling in spellings)


def _after(day: Day) -> str:
    """The month and day of which this one is the next, as results write it; empty where it has no year."""
    if day.year is None:
        return "\n\n"
    try:
        return (date(day.year, day.month, day.day) - timedelta(days=1)).strftime("%m-%d")
    except (ValueError, OverflowError):
        return "\n\n"


def _identifiers(facts: Facts) -> Iterator[Finding]:
    flagged: set[str] = set()
    for index, text in facts.agent_messages:
        for token, start in identifiers_in(text):
            last = token.rpartition("_")[2]  # "card_3668" for a gift_card_3668, or a key that the agent made of an id
            if token in flagged or facts.seen_before(last, index, ending=True):
                continue
            if form_of(token) not in facts.forms and "@" not in token and not is_named_as_identifier(text, start):
                continue  # a standard, a model or a formula
            flagged.add(token)
            if not is_example(token, text, start) and not _tried_in_vain(facts, token, index):
                sentence = f"Step {index} tells {token!r}, which no earlier result, message or policy contains."
                yield Finding("identifier", (index,), sentence)


def _tried_in_vain(facts: Facts, token: str, step: int) -> bool:
    """Whether the agent only names what it had looked for itself; a wrong value in a call is argument validity's."""
    used = (str(leaf.value).lower() for call in facts.calls if call.step < step for leaf in call.values)
    return any(stands_in(token.lower().lstrip("#"), value) for value in used)
