"""What the user asked for, held against what was called and told: nothing but the words of asking is understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from axisjudge.judges.rules import phrases, verbs
from axisjudge.judges.rules.facts import AgentCall, Facts, plain
from axisjudge.judges.rules.formats import Leaf, is_identifier

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
_FEWEST_PARTS = 3


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
    stem = _ASKED_AS.get(verb, rf"{re.escape(verb.rstrip('e'))}\w*")
    request = rf"\b{stem}\b[^.?!,;]{{0,40}}\b{re.escape(thing.rstrip('s'))}"
    if re.search(request, text, re.IGNORECASE) is None:
        return False
    return any(
        _ASKS.search(sentence) and not _DENIES.search(sentence) and re.search(request, sentence, re.IGNORECASE)
        for sentence in phrases.sentences_of(text)
    )


def never_told(facts: Facts) -> Iterator[int]:
    """Steps where the user asks for an amount and no later word of the agent holds any."""
    last = max((index for index, text in facts.agent_messages if _MONEY.search(text)), default=-1)
    for index, text in facts.user_messages:
        if index > last and any(
            _ASKS_AMOUNT.search(sentence) and _WANTS_TO_KNOW.search(sentence) for sentence in phrases.sentences_of(text)
        ):
            yield index


class Replacement(NamedTuple):
    """A record taken for another: what both are, what else stood beside the new one, in their features."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    beside: tuple[Mapping[str, Any], ...]
    name: str


def choices(facts: Facts, call: AgentCall) -> Iterator[Replacement]:
    """Where a change names old and new records in two lists of one length, and results showed the features of both."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    for name, new in arguments.items():
        old = arguments.get(name.removeprefix("new_"))
        if name.startswith("new_") and isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
            for one, other in zip(old, new, strict=True):
                if (before := _features(facts, one, call.step)) and (after := _features(facts, other, call.step)):
                    beside = tuple(_beside(facts, other, set(after[0]), call.step))
                    yield Replacement(before[0], after[0], beside, str(other))


def _features(facts: Facts, value: object, step: int) -> tuple[dict[str, Any], str] | None:
    """The features of a record, and the result that showed them: the one part of it that is itself a record."""
    for record, result in facts.records.get(str(value), ()):
        parts = [inner for inner in record.values() if isinstance(inner, dict) and inner]
        if result.result_step is not None and result.result_step < step and len(parts) == 1:
            return parts[0], result.result
    return None


def _beside(facts: Facts, value: object, names: set[str], step: int) -> Iterator[dict[str, Any]]:
    """Features of the records that stood in one result with this one and are to be had."""
    shown = [result for _, result in facts.records.get(str(value), ()) if (result.result_step or 0) < step]
    for owner in {id(leaf.owner): leaf.owner for result in shown for leaf in result.result_leaves}.values():
        parts = [inner for inner in (owner or {}).values() if isinstance(inner, dict)]
        if len(parts) == 1 and set(parts[0]) == names and not any(inner is False for inner in (owner or {}).values()):
            yield parts[0]


def passed_over(facts: Facts, choice: Replacement) -> str | None:
    """A feature's value that the user had named, that neither record has, though one beside it has it."""
    for name, taken in choice.new.items():
        if facts.user_said(str(taken)):
            continue
        for value in dict.fromkeys(str(other[name]) for other in choice.beside):
            unlike = value not in (str(taken), str(choice.old.get(name)))
            if unlike and len(value) >= _FEWEST_LETTERS and facts.user_said(value):
                return value
    return None


def not_its_own(facts: Facts, call: AgentCall) -> tuple[str, str] | None:
    """(parameter, value) of an identifier that is not the record's own, and of a kind that nobody had named.

    A record shows its own under the same key; what was named is seen by the words in the identifier, or any word of
    the record that it names.
    """
    if not isinstance(call.arguments, dict):
        return None
    for parameter, value in call.identifiers:
        if call.arguments.get(parameter) != value or facts.user_gave(value, call.step):
            continue
        named = [other for name, other in call.identifiers if name != parameter]
        shown = [other for other in facts.calls if other.succeeded and (other.result_step or 0) < call.step]
        of_record = [leaves for other in shown if any(_names(leaves := other.result_leaves, one) for one in named)]
        own = {leaf.value for leaves in of_record for leaf in leaves if leaf.key == parameter}
        if own and value not in own and not _kind_was_named(facts, value):
            return parameter, value
    return None


def _names(leaves: tuple[Leaf, ...], value: str) -> bool:
    """Whether a result is the record of an identifier: it stands in its first part."""
    return any(leaf.value == value and leaf.owner is leaves[0].owner for leaf in leaves)


def _kind_was_named(facts: Facts, value: str) -> bool:
    label = [part for part in re.findall(r"[a-z]+", value.lower()) if len(part) >= _FEWEST_LETTERS]
    words = {str(inner).lower() for record, _ in facts.records.get(value, ()) for inner in record.values()}
    spoken = any(facts.user_said(word) for word in words if len(word) >= _FEWEST_LETTERS)
    return not label or not is_identifier(value) or spoken or all(facts.user_said(part) for part in label)


def mixed_record(facts: Facts, call: AgentCall) -> tuple[str, str] | None:
    """(parameter, value) that nobody gave, in a call that takes all else of one record as a result had shown it."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    given = {key: one for key, one in arguments.items() if isinstance(one, str) and one and not key.endswith("id")}
    if len(given) < _FEWEST_PARTS:
        return None
    best: dict[str, str] | None = None
    for other in facts.calls:
        if not other.succeeded or (other.result_step or 0) >= call.step:
            continue
        for owner in {id(leaf.owner): leaf.owner for leaf in other.result_leaves if leaf.owner}.values():
            if set(given) <= set(owner):
                unlike = {key: value for key, value in given.items() if plain(str(owner[key])) != plain(value)}
                if not unlike:
                    return None
                if 2 * len(unlike) <= len(given) and (best is None or len(unlike) < len(best)):
                    best = unlike
    missing = [(key, value) for key, value in (best or {}).items() if not facts.user_said(value)]
    return missing[0] if missing else None
