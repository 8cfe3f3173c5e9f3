"""Statuses of records: what results gave, what the agent told, and changes that a status had ruled out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from axisjudge.judges.rules import words
from axisjudge.judges.rules.facts import Call, Facts
from axisjudge.judges.rules.findings import Finding

_NOT_IN_STATE = re.compile(r"\bnon-([a-z]+)\b|\bnot (?:in )?(?:an? )?([a-z]+)(?: status| state)?\b", re.IGNORECASE)
_STATUS_IS = r"\bstatus\b\W{0,6}(?:is|of|as)?\W{0,4}(?:now |currently |still )?\W{0,4}"
_RECORD_IS = r"\b(?:is|are|was|marked as|shows as|listed as)(?: now| currently| already| still)?\W{1,5}"


def told_statuses(facts: Facts) -> Iterator[Finding]:
    """A status told of a record that is none of those which results had given it."""
    given: dict[str, dict[str, int]] = {}
    results = [(call.result_step, pair) for call in facts.calls if call.succeeded for pair in _statuses(call)]
    for index, text in facts.told:
        while results and (results[0][0] or 0) < index:
            step, (record, status) = results.pop(0)
            given.setdefault(record, {})[status] = step or 0
        vocabulary = {status for record in given.values() for status in record}
        for sentence in words.sentences_of(text) if vocabulary else ():
            named = [record for record in given if record.lstrip("#") in sentence] or (
                list(given) if len(given) == 1 else []
            )
            said = _status_said(sentence, vocabulary) if len(named) == 1 else None
            if said is not None and not any(said in status or status in said for status in given[named[0]]):
                last, step = max(given[named[0]].items(), key=lambda pair: pair[1])
                told = f"Step {index} tells that {named[0]} is {said!r}, but step {step} had returned {last!r}."
                yield Finding("status", (step, index), told)


def against_status(facts: Facts) -> Iterator[Finding]:
    """A change refused for a record's state, although a result had already shown that state."""
    seen = {status for call in facts.calls for _, status in _statuses(call)}
    for call in facts.writes:
        wanted = _state_wanted(call)
        if wanted is None or not any(wanted in status for status in seen):
            continue
        for other in reversed(facts.calls):
            shown = [
                status for record, status in _statuses(other) if record in {value for _, value in call.identifiers}
            ]
            if shown and other.succeeded and other.result_step is not None and other.result_step < call.step:
                if wanted not in shown[0]:
                    text = (
                        f"{call.name} at step {call.step} needs a record that is {wanted}, but step {other.result_step}"
                        f" had shown it as {shown[0]!r}; the tool refuses it at step {call.result_step}."
                    )
                    yield Finding("against_status", (other.result_step, *call.steps), text)
                break


def _state_wanted(call: Call) -> str | None:
    match = _NOT_IN_STATE.search(call.result) if call.failed else None
    return None if match is None else (match[1] or match[2]).lower()


def _statuses(call: Call) -> Iterator[tuple[str, str]]:
    """(record id, status) of every object in a result that has both."""
    for key, value, owner in call.result_leaves:
        if key == "status" and isinstance(value, str) and value and owner is not None:
            names = [inner for name, inner in owner.items() if isinstance(inner, str) and name.lower().endswith("id")]
            if names:
                yield names[0], value.lower()


def _status_said(sentence: str, vocabulary: set[str]) -> str | None:
    lowered = sentence.lower()
    for status in sorted((status for status in vocabulary if status in lowered), key=len, reverse=True):
        word = re.escape(status)
        match = re.search(rf"{_STATUS_IS}{word}\b|{_RECORD_IS}{word}\b(?![ -]\w*(?:ed|ing)\b)", lowered)
        if match is not None and not words.is_conditional(lowered[: match.start()]):
            return status
    return None
