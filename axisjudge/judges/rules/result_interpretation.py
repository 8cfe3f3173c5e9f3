"""Result interpretation: does what the agent told the user stand in what it had been given?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from axisjudge.judges.rules import formats, phrases, verbs, wishes
from axisjudge.judges.rules.amounts import KnownAmounts, SmallNumbers
from axisjudge.judges.rules.facts import BEFORE_ALL, AgentCall, Facts, plain, stands_in
from axisjudge.judges.rules.findings import Clean, Finding

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
    r"(?i)\b(?:tomorrow|yesterday|overnight|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:next|following|previous|last|coming|this|same) (?:day|week|month|year)|(?:day|week|month)s?"
    r" (?:later|before|after|earlier|prior|from)|(?:later|earlier) (?:the same|that) day"
    r"|\d+[- ](?:calendar |business |working )?(?:day|week|month)s?)\b",
)
_NEXT_DAY = re.compile(r"\d{2}:\d{2}(?::\d{2})?\s?\+1\b")
_COUNT = re.compile(r"(?<![\w.,$#-])([2-9]|1\d|20)(?![\w%]|[.,]\d)")
_PARTS = {"half": 2, "halves": 2, "double": 2, "twice": 2, "third": 3, "quarter": 4, "two": 2, "three": 3, "four": 4}
_PART = re.compile(rf"\b(?:{'|'.join(_PARTS)})\b", re.IGNORECASE)
_PERCENT = re.compile(r"(?<![\w.,])(\d{1,2}(?:\.\d{1,2})?)\s?(?:%|percent\b)")
_SUPPOSED = re.compile(
    r"(?i)\b(?:if|would|could|might|suppos\w+|assum\w+|imagin\w+|say,|example|e\.g\.|in case"
    r"|after (?:mov|transferr)ing)(?!\w)",
)


def findings(facts: Facts) -> Iterator[Finding]:
    """All that the rules hold against what the agent told the user."""
    if facts.shows_what_was_given:
        yield from unexplained_amounts(facts)
        yield from _dates(facts)
    for index, asked in wishes.unanswered(facts):
        yield Finding("not_told", (index,), f"Step {index} asks for {asked}, and no later step tells it.")
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
    checked = tuple(index for index, text in messages if formats.amounts_in(text) or formats.days_in(text))
    if not checked:
        text = "After its calls the agent told no amount or date, so a rule has little to check."
        return Clean("uncertain", 0.30, tuple(index for index, _ in messages[-1:]), text)
    if not (facts.is_english and facts.shows_what_was_given):
        why = "more than one agent speaks, or nothing was given" if facts.is_english else "the talk is not in English"
        text = f"What the agent told was not held against what it had been given: {why}."
        return Clean("uncertain", 0.30, checked, text)
    text = (
        "Every amount and date told stands somewhere in what the agent had been given, or can be reckoned "
        "from it. Whether it is that of the thing spoken of, and whether the rest was told as it was, cannot be told."
    )
    return Clean("uncertain", 0.30, checked, text)


def amounts_by_message(facts: Facts) -> Iterator[tuple[int, str, tuple[formats.Amount, ...], KnownAmounts]]:
    """Each message of the agent that tells amounts, with the amounts known before it (one object, growing)."""
    known = KnownAmounts()
    results = {call.result_step: call for call in facts.calls}
    waiting = 0
    for index, text in facts.agent_messages:
        if not (amounts := formats.amounts_in(text)):
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
    """Amounts told that nothing known explains; a kind of their own in a sentence about totals or suppositions."""
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


def explain_all(
    amounts: Sequence[formats.Amount], known: KnownAmounts, counts: SmallNumbers
) -> list[tuple[formats.Amount, str | None]]:
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
    flagged: set[formats.Day] = set()
    for index, text in facts.agent_messages:
        for readings, wording in formats.days_in(text):
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


def _day_is_known(facts: Facts, readings: tuple[formats.Day, ...], step: int) -> bool:
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


def _after(day: formats.Day) -> str:
    """The month and day of which this one is the next, as results write it; empty where it has no year."""
    if day.year is None:
        return "\n\n"
    try:
        return (date(day.year, day.month, day.day) - timedelta(days=1)).strftime("%m-%d")
    except (ValueError, OverflowError):
        return "\n\n"


def never_done(facts: Facts) -> Iterator[tuple[int, str, int | None]]:
    """(step, participle, step of a failed result) where a tool's work is told as done and no call had done it."""
    claimed: set[str] = set()
    for index, word in facts.claims:
        if word not in claimed and _is_tools_work(facts, word) and not _is_backed(facts, word, index):
            claimed.add(word)
            tried = [call for call in facts.writes if call.step < index and _does(call, word)]
            yield index, word, tried[-1].result_step if tried else None


def claimed_success(facts: Facts) -> Iterator[tuple[AgentCall, int]]:
    """(failed change, step) where the last change of its kind failed and the next words tell of success only."""
    for call in facts.writes:
        alike = [other for other in facts.calls if other.name == call.name and other.step >= call.step]
        after = [(index, text) for index, text in facts.agent_messages if index > (call.result_step or call.step)]
        if not call.failed or len(alike) > 1 or not after or any(phrases.admits_failure(text) for _, text in after):
            continue
        index, text = after[0]
        verb = verbs.verb_of(call.name)
        others_done = any(
            other.succeeded and other.may_have_changed and other.step >= call.step for other in facts.calls
        )
        claimed = any(verbs.is_form_of(word, verb) for step, word in facts.claims if step == index)
        if claimed or (phrases.tells_success(text) and not others_done):
            yield call, index


def _is_tools_work(facts: Facts, word: str) -> bool:
    return any(verbs.is_form_of(word, verb) for verb in facts.write_verbs)


def _does(call: AgentCall, word: str) -> bool:
    return verbs.same_family(word, verbs.verb_of(call.name))


def _is_backed(facts: Facts, word: str, step: int) -> bool:
    """Whether a call had done it, or a user or a result speaks of it."""
    done = (call for call in facts.calls if call.succeeded and (call.result_step or 0) < step and call.kind != "read")
    if any(call.kind is None or _does(call, word) for call in done):
        return True  # what a tool of unknown kind did is not known, so it may have been this
    return any(BEFORE_ALL < source.step < step and word[:6] in source.text for source in facts.sources)


_WANTED_STATE = re.compile(
    r"\bnon-([a-z]+)\b|\bnot (?:in )?(?:an? )?(?!be\b|been\b)([a-z]+)(?: status| state)?\b"
    r"|\b(?:must|has to|have to|needs? to|should) be (?:in )?(?:an? )?([a-z]+)\b|\bonly (?:an? )?([a-z]+)\b"
    r"|\brequires?(?: an?)?(?: status| state)?\W{1,3}([a-z]+)\b"
)
_STATE_WORD = re.compile(r"(?:ed|ing|active|open|closed)$")  # "non-delivered", but not "non-refundable"
_STATUS_IS = r"\bstatus\b\W{0,6}(?:is|of|as)?\W{0,4}(?:now |currently |still )?\W{0,4}"
_IS_NOT = r"\b(?:is|are|was|has|have|had)(?: not|n['’]t)(?: yet)?(?: been)?(?: yet)? "
_STATES = {
    *("pending", "delivered", "processed", "shipped", "open", "active", "inactive", "cancelled", "canceled", "closed"),
    *("completed", "confirmed", "paid", "unpaid", "overdue", "approved", "scheduled", "booked", "issued", "reserved"),
    *("lent", "available", "suspended", "enabled", "draft", "published", "archived"),
}
_RECORD_IS = r"\b(?:is|are|was|marked as|shows as|listed as)(?: now| currently| already| still)?\W{1,5}"


class Given(NamedTuple):
    """A status that a result gave: what names the record, the kind of record, the status, the step."""

    record: str
    kind: str
    status: str
    step: int


def contradicted_statuses(facts: Facts) -> Iterator[Finding]:
    """A status told of a record that is none of those which results had given it, or denied though it is the last."""
    given = [one for call in facts.calls if call.succeeded for one in _statuses(call)]
    for index, text in facts.agent_messages:
        known = [one for one in given if one.step < index]
        for sentence in phrases.sentences_of(text) if known else ():
            yield from _status_faults(sentence, index, known)


def _status_faults(sentence: str, index: int, known: list[Given]) -> Iterator[Finding]:
    lowered = sentence.lower().replace("_", " ")
    if not any(one.status in lowered for one in known):
        return
    about = [one for one in known if stands_in(one.record, lowered)]
    kinds = {one.kind for one in about}
    status, denied = _claimed_status(lowered, {one.status for one in known if one.kind in kinds})
    if status is None:
        return
    last = max(about, key=lambda one: one.step)
    wrong = last.status == status if denied else not any(status in one.status or one.status in status for one in about)
    if wrong:
        claim = f"Step {index} tells that {last.record} is {'not ' if denied else ''}{status!r}"
        yield Finding("status", (last.step, index), f"{claim}, but step {last.step} had returned {last.status!r}.")


def against_status(facts: Facts) -> Iterator[Finding]:
    """A change refused for a record's state, although a result had already shown that state."""
    vocabulary = {one.status for call in facts.calls for one in _statuses(call)}
    for call in facts.writes:
        known = _last_status(facts, call)
        if not call.failed or known is None:
            continue
        refusal = call.result.lower().replace("_", " ")
        wanted = [
            state
            for state in _states_wanted(refusal)
            if state in _STATES
            or any(state in status for status in vocabulary)
            or (f"non-{state}" in refusal and _STATE_WORD.search(state))
        ]
        if wanted and not any(state in known.status for state in wanted):
            needs = f"needs a record that is {' or '.join(wanted)}"
        elif not wanted and _names_as_reason(refusal, known.status):
            needs = f"is refused for a record that is {known.status}"
        else:
            continue
        text = (
            f"{call.name} at step {call.step} {needs}, but step {known.step} had shown it as {known.status!r};"
            f" the tool refuses it at step {call.result_step}."
        )
        yield Finding("against_status", (known.step, *call.steps), text)


def _last_status(facts: Facts, call: AgentCall) -> Given | None:
    """The last status that a result before a call had given to a record that it names."""
    used = {plain(value) for _, value in call.identifiers}
    for other in reversed(facts.calls):
        if other.succeeded and other.result_step is not None and other.result_step < call.step:
            for given in _statuses(other):
                if given.record in used:
                    return given
    return None


def _names_as_reason(refusal: str, status: str) -> bool:
    """Whether a refusal gives a state as its reason: "is already cancelled", "cancelled orders cannot"."""
    word = re.escape(status)
    of_record = (
        rf"\b(?:already|currently|is|are|was|been|status:?)\W{{1,4}}(?:an? )?['\"]?{word}\b(?!\W*(?:order|record)s?\b)"
    )
    ruled_out = rf"\b{word}\b \w+ (?:cannot|can't|can not|may not|must not)\b|\b(?:cannot|can't)\b[^.]*\b{word} \w+"
    named = rf"\b(?:invalid|wrong|current) (?:state|status)\W+{word}\b"
    return re.search(f"{of_record}|{ruled_out}|{named}", refusal) is not None


def _states_wanted(refusal: str) -> list[str]:
    """The states that a refusal asks for: "non-pending order", "must be delivered", "only lent books"."""
    return [next(word for word in match.groups() if word) for match in _WANTED_STATE.finditer(refusal)]


def _statuses(call: AgentCall) -> Iterator[Given]:
    """Every status in the result of a call."""
    if call.result_step is not None:
        yield from (Given(*each, call.result_step) for each in _statuses_in(call.result))


@lru_cache
def _statuses_in(result: str) -> tuple[tuple[str, str, str], ...]:
    """Record, kind and status of every status in a result, for each id and each amount with hundredths beside it."""
    statuses = []
    for key, value, owner in formats.leaves_in(result):
        if isinstance(value, str) and value and owner is not None and _tells_status(key, owner):
            status = value.lower().replace("_", " ")
            ids = [(name, inner) for name, inner in owner.items() if isinstance(inner, str) and _names(name, inner)]
            amounts = (inner for inner in owner.values() if isinstance(inner, float) and not inner.is_integer())
            records = [*(plain(inner) for _, inner in ids), *(f"{inner:.2f}" for inner in amounts)]
            statuses += [(record, ids[0][0] if ids else "", status) for record in records]
    return tuple(statuses)


def _tells_status(key: str, owner: dict[str, Any]) -> bool:
    """Whether a key is the one of its record that tells its status: ``status``, or ``account_status`` alone."""
    if key in ("status", "state"):
        return True
    return [name for name in owner if name == "state" or name.lower().endswith("status")] == [key]


def _names(key: str, value: str) -> bool:
    return bool(value) and (key.lower().endswith("id") or formats.is_identifier(value))


def _claimed_status(lowered: str, vocabulary: set[str]) -> tuple[str | None, bool]:
    """The status that a sentence tells, the longest and then the first of several, and whether it denies it."""
    named = (status for status in vocabulary if status in lowered)
    for status in sorted(named, key=lambda one: (-len(one), lowered.find(one))):
        word = re.escape(status)
        denied = re.search(rf"{_IS_NOT}{word}\b", lowered)
        claim = re.search(rf"{_STATUS_IS}{word}\b|{_RECORD_IS}{word}\b(?![ -]\w*(?:ed|ing)\b)", lowered)
        match = denied or claim
        if match is not None and not phrases.is_conditional(lowered[: match.start()]):
            return status, denied is not None
    return None, False
