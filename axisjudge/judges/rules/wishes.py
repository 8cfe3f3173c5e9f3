"""What the user asked for, held against what was called and told: nothing but the words of asking is understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from axisjudge.judges.rules import phrases, verbs
from axisjudge.judges.rules.facts import AgentCall, Facts
from axisjudge.judges.rules.formats import is_identifier

_ASKS = re.compile(
    r"\b(?:want|need|like|please|can you|could you|can i|could i|wish|hop(?:e|ing)|would you|also|help|go ahead|yes)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"n['’]?t\b|\bnot\b|\bno\b|\bnever\b", re.IGNORECASE)
_ASKS_AMOUNT = re.compile(
    r"how much|\b(?:what|know|tell)\b[^.?!]{0,60}\b(?:total|amount|price|cost|difference|balance)\b"
    r"|\b(?:calculate|compute)\b",
    re.IGNORECASE,
)
_WANTS_TO_KNOW = re.compile(r"\?|\bknow\b|\btell\b|\bcalculate\b|\bcompute\b|\blet me\b", re.IGNORECASE)
_MONEY = re.compile(r"[$€£]\s?-?\d|\b\d[\d,]*[.,]\d\d\b|\b\d+ ?(?:dollars?|euros?|USD|EUR|GBP|CHF)\b", re.IGNORECASE)
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: Verbs of tools as people say them when they ask for just that; synonyms that mean much else are left out.
_ASKED_AS = {
    "modify": r"(?:chang|modif|updat|correct|switch|edit|replac)\w*",
    "update": r"(?:chang|modif|updat|correct|switch|edit|replac)\w*",
}
#: An object that more tools share says nothing of which of them is meant.
_MOST_TOOLS_OF_AN_OBJECT = 2
_FEWEST_LETTERS = 3


def never_tried(facts: Facts) -> Iterator[tuple[int, str, str]]:
    """(step, verb, object) where the user asks for a change by name and no tool that makes it was ever called.

    The object is the last word of the tool's name, where few tools share it: "change the address" and
    ``modify_order_address``, but not "change the order".
    """
    offered = [name for name in facts.write_tools if not verbs.hands_over(name)]
    names = {name: [part.lower() for part in _NAME_PART.findall(name)] for name in offered}
    shared = Counter(part for parts in names.values() for part in set(parts))
    called = {call.name for call in facts.calls}
    meant = {(verbs.verb_of(name), parts[-1]) for name, parts in names.items() if len(parts) > 1}
    for verb, thing in sorted(meant):
        alike = {name for name in offered if names[name][-1] == thing and verbs.verb_of(name) == verb}
        if shared[thing] <= _MOST_TOOLS_OF_AN_OBJECT and not alike & called:
            step = next((index for index, text in facts.user_messages if _asks_for(text, verb, thing)), None)
            if step is not None:
                yield step, verb, thing


def _asks_for(text: str, verb: str, thing: str) -> bool:
    request = _request(verb, thing)
    return request.search(text) is not None and any(
        _ASKS.search(sentence) and not _DENIES.search(sentence) and request.search(sentence)
        for sentence in phrases.sentences_of(text)
    )


@lru_cache
def _request(verb: str, thing: str) -> re.Pattern[str]:
    stem = _ASKED_AS.get(verb, rf"{re.escape(verb.rstrip('e'))}\w*")
    return re.compile(rf"\b{stem}\b[^.?!,;]{{0,40}}\b{re.escape(thing.rstrip('s'))}", re.IGNORECASE)


def never_told(facts: Facts) -> Iterator[int]:
    """Steps where the user asks for an amount and no later word of the agent holds any."""
    last = next((index for index, text in reversed(facts.agent_messages) if _MONEY.search(text)), -1)
    for index, text in facts.user_messages:
        if index > last and any(
            _ASKS_AMOUNT.search(sentence) and _WANTS_TO_KNOW.search(sentence) for sentence in phrases.sentences_of(text)
        ):
            yield index


def not_its_own(facts: Facts, call: AgentCall) -> tuple[str, str] | None:
    """(parameter, value) of an identifier that is not the record's own, and of a kind that nobody had named.

    A record shows its own under the same key; what was named is seen by the words in the identifier, or any word of
    the record that it names.
    """
    if not isinstance(call.arguments, dict):
        return None
    for parameter, value in call.identifiers:
        if parameter not in facts.result_keys or call.arguments.get(parameter) != value:
            continue
        if facts.user_gave(value, call.step):
            continue
        named = [other for name, other in call.identifiers if name != parameter]
        shown = [other for other in facts.calls if other.succeeded and (other.result_step or 0) < call.step]
        of_record = [other for other in shown if not other.first_values.isdisjoint(named)]
        own = {leaf.value for other in of_record for leaf in other.result_leaves if leaf.key == parameter}
        if own and value not in own and not _kind_was_named(facts, value):
            return parameter, value
    return None


def _kind_was_named(facts: Facts, value: str) -> bool:
    label = [part for part in re.findall(r"[a-z]+", value.lower()) if len(part) >= _FEWEST_LETTERS]
    words = {str(inner).lower() for record, _ in facts.records.get(value, ()) for inner in record.values()}
    spoken = any(facts.user_said(word) for word in words if len(word) >= _FEWEST_LETTERS)
    return not label or not is_identifier(value) or spoken or all(facts.user_said(part) for part in label)
