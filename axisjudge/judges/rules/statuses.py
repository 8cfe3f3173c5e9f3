"""Statuses of records: what results gave, what the agent told, and changes that a status had ruled out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from axisjudge.judges.rules import phrases as phrases
from axisjudge.judges.rules.facts import AgentCall, Facts, plain, stands_in
from axisjudge.judges.rules.findings import Finding
from axisjudge.judges.rules.formats import is_identifier, leaves_in

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
    status, denied = _status_said(lowered, {one.status for one in known if one.kind in kinds})
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
    said_of_record = (
        rf"\b(?:already|currently|is|are|was|been|status:?)\W{{1,4}}(?:an? )?['\"]?{word}\b(?!\W*(?:order|record)s?\b)"
    )
    ruled_out = rf"\b{word}\b \w+ (?:cannot|can't|can not|may not|must not)\b|\b(?:cannot|can't)\b[^.]*\b{word} \w+"
    named = rf"\b(?:invalid|wrong|current) (?:state|status)\W+{word}\b"
    return re.search(f"{said_of_record}|{ruled_out}|{named}", refusal) is not None


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
    found = []
    for key, value, owner in leaves_in(result):
        if isinstance(value, str) and value and owner is not None and _tells_status(key, owner):
            status = value.lower().replace("_", " ")
            ids = [(name, inner) for name, inner in owner.items() if isinstance(inner, str) and _names(name, inner)]
            amounts = (inner for inner in owner.values() if isinstance(inner, float) and not inner.is_integer())
            records = [*(plain(inner) for _, inner in ids), *(f"{inner:.2f}" for inner in amounts)]
            found += [(record, ids[0][0] if ids else "", status) for record in records]
    return tuple(found)


def _tells_status(key: str, owner: dict[str, Any]) -> bool:
    """Whether a key is the one of its record that tells its status: ``status``, or ``account_status`` alone."""
    if key in ("status", "state"):
        return True
    return [name for name in owner if name == "state" or name.lower().endswith("status")] == [key]


def _names(key: str, value: str) -> bool:
    return bool(value) and (key.lower().endswith("id") or is_identifier(value))


def _status_said(lowered: str, vocabulary: set[str]) -> tuple[str | None, bool]:
    """The status that a sentence tells, and whether it denies it."""
    for status in sorted((status for status in vocabulary if status in lowered), key=len, reverse=True):
        word = re.escape(status)
        denied = re.search(rf"{_IS_NOT}{word}\b", lowered)
        claim = re.search(rf"{_STATUS_IS}{word}\b|{_RECORD_IS}{word}\b(?![ -]\w*(?:ed|ing)\b)", lowered)
        match = denied or claim
        if match is not None and not phrases.is_conditional(lowered[: match.start()]):
            return status, denied is not None
    return None, False
