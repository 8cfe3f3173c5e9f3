"""Argument validity: were the arguments well formed, and known to the agent when it used them?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from axisjudge.judges.rules.facts import AgentCall, Facts, plain, stands_in
from axisjudge.judges.rules.findings import Clean, Finding
from axisjudge.judges.rules.formats import is_example, is_identifier
from axisjudge.judges.rules.tool_selection import is_unknown

_BLAMES = re.compile(
    r"(?i)not found|does(?: not|n't) exist|\bno (?!longer)\w+ (?:with|for|by|named|called|found|\S*\d)|no such|invalid"
    r"|unrecogni[sz]ed|missing|required|unexpected|malformed|validation|out of range|not a valid|unsupported|add up"
    r"|(?:should|must|do(?:es)? not|doesn't|don't) (?:match|differ|be different from)"
    r"|mismatch|type ?error|value ?error|not recogni[sz]ed|expected",
)
_RULES_OUT = re.compile(r"\b(?:should|must|may only|can only|has to)\b", re.IGNORECASE)
_STATE = re.compile(
    r"(?i)non-\w+|already|cannot be|can't be|status|insufficient|enough|balance|available|no longer|sold out|expired"
    r"|invalid state\b(?! code)|permission|forbidden|denied|unauthori[sz]ed|locked|time[d ]?-?out|rate limit|temporar"
    r"|try again|internal|server|connection",
)
_UNKNOWN_RECORD = re.compile(r"not found|does(?: not|n't) exist|\bno (?!longer)\w+|unknown", re.IGNORECASE)
_NUMBER_WORD = re.compile(r"(?<![\w-])\d{2,}(?![\w-])")
_PATH = re.compile(r"(?:[\w.~-]*/)+[\w.*-]*|[\w-]+\.[a-z]{1,5}|\w+://\S+", re.IGNORECASE)
_LONGEST_REFUSAL, _FEW_DIGITS = 300, 3
_STANDS_FOR_ANY = re.compile(
    r"placeholder|example\b|dummy|invalid|unknown|your_|demo|sample|on_file|_for_|x{3,}|\?{2,}|<|>|\.\.\.|(\d)\1{4,}"
    r"|(?<!\d)1234(?:5(?:67?8?9?)?)?(?!\d)",
    re.IGNORECASE,
)
_NEW_OR_OLD = re.compile(r"^(?:new|old|from|to|target|source)_?")
_KEY_OF_RECORD = re.compile(r"_ids?$|[a-z]I[dD]s?$")


def findings(facts: Facts) -> Iterator[Finding]:
    """All that the rules hold against the arguments of the agent's calls."""
    for call in facts.calls:
        faulty = [
            *_malformed(call),
            *_ungrounded(facts, call),
            *_misplaced(facts, call),
            *_numbers_from_nowhere(facts, call),
        ]
        yield from faulty
        exists = not is_unknown(facts, call)  # a tool that does not exist has no form to break
        if exists and not faulty and call.failed:
            yield from _refused(facts, call)


def clean(facts: Facts) -> Clean:
    """What is said when nothing was found: correct where a schema left nothing to choose, else uncertain."""
    if not facts.calls:
        return Clean("not_applicable", 0.95, (), "The agent called no tool, so there are no arguments to judge.")
    steps = tuple(sorted({call.step for call in facts.calls}))
    if all(call.schema is not None and call.succeeded and allows_one_value(call.schema.usable) for call in facts.calls):
        return Clean("correct", 0.90, steps, "Every call went through, and its tool's schema leaves nothing to choose.")
    fit = sum(call.schema is not None for call in facts.calls)
    known = (
        "No schemas are known"
        if not fit
        else "The calls fit their tools' schemas"
        if fit == len(facts.calls)
        else f"The {fit} of {len(facts.calls)} calls whose tool's schema is known fit it"
    )
    used = {value: call.step for call in reversed(facts.calls) for _, value in call.references}
    held = sum(facts.seen_before(value, step) for value, step in used.items())
    grounded = (
        f"{'the one identifier' if held == 1 else f'each of the {held} identifiers'} used had been given before"
        if held == len(used) > 0
        else f"{held} of the {len(used)} identifiers used had been given before"
        if used
        else "no argument is an identifier that could be looked for in what was given before"
    )
    text = f"{known}, and {grounded}. Whether these were the values that were wanted cannot be told."
    return Clean("uncertain", 0.30, steps, text)


def _malformed(call: AgentCall) -> Iterator[Finding]:
    if isinstance(call.arguments, str):
        why = call.arguments_error or "not a JSON object"
        yield Finding(
            "not_an_object", call.steps, f"At step {call.step} the arguments of {call.name} cannot be read: {why}."
        )
    elif call.schema is not None:
        for kind, part in schema_faults(call.arguments, call.schema.usable):
            if kind == "missing_parameter" and call.succeeded:
                kind = "missing_but_accepted"  # the tool did without it, so its schema may be wrong
            yield Finding(kind, call.steps, f"At step {call.step}, in the call of {call.name}, {part}.")


def _ungrounded(facts: Facts, call: AgentCall) -> Iterator[Finding]:
    """An identifier that no other step contains."""
    for parameter, value in call.references:
        if not facts.seen_before(value, call.step) and facts.returned_after(call, value) is None:
            text = f"At step {call.step} {parameter} = {value!r} is given to {call.name}; no other step contains it."
            yield Finding(_made_up(facts, call, value), call.steps, text)


def _made_up(facts: Facts, call: AgentCall, value: str) -> str:
    """What an identifier that nobody gave is: a stand-in for any, put right at once, or else taken for real."""
    if _STANDS_FOR_ANY.search(value) or (sum(map(str.isdigit, value)) > _FEW_DIGITS and is_example(value)):
        return "placeholder"
    return "mistyped" if call.failed and _is_mended(facts, call) else "fabricated"


def _is_mended(facts: Facts, call: AgentCall) -> bool:
    """Whether a later call of the same tool went through."""
    return any(other.name == call.name and other.succeeded and other.step > call.step for other in facts.calls)


def _misplaced(facts: Facts, call: AgentCall) -> Iterator[Finding]:
    """An identifier of one kind of record given where another kind is wanted, as the keys of results show."""
    for parameter, value in call.identifiers:
        keys, wanted = facts.keys_of.get(value, set()), _record_word(parameter)
        if not keys or not all(_KEY_OF_RECORD.search(key) and not _related(_record_word(key), wanted) for key in keys):
            continue
        known_kind = any(_related(_record_word(key), wanted) for key in facts.result_keys)
        if known_kind and not facts.user_gave(value, call.step):
            text = (
                f"At step {call.step} {parameter} = {value!r} is given to {call.name},"
                f" but results show that value as {', '.join(sorted(keys))}."
            )
            yield Finding("misplaced", call.steps, text)


def _record_word(key: str) -> str:
    """``new_item_ids`` and ``item_id`` both speak of an item."""
    return _NEW_OR_OLD.sub("", _KEY_OF_RECORD.sub("", key)).lower()


def _related(one: str, other: str) -> bool:
    return bool(one and other) and (one.endswith(other) or other.endswith(one))


def _numbers_from_nowhere(facts: Facts, call: AgentCall) -> Iterator[Finding]:
    """A number inside a worded argument of a change (a house number, a size) that nobody and nothing had given."""
    if call.kind != "write":
        return
    own = [text for index, text in facts.agent_messages if index <= call.step]
    for parameter, value, _ in call.values:
        if not isinstance(value, str) or " " not in value.strip() or len(value) > 60:
            continue
        for number in _NUMBER_WORD.findall(value):
            if not facts.seen_before(number, call.step) and not any(stands_in(number, text) for text in own):
                text = f"At step {call.step} {parameter} = {value!r} holds {number}, which no earlier step contains."
                yield Finding("number_from_nowhere", call.steps, text)


def _refused(facts: Facts, call: AgentCall) -> Iterator[Finding]:
    """A failed call whose error speaks of the arguments, unless the user gave them or the record's state is meant."""
    words = " ".join(call.result.split())[:120]
    if call.runs_program or len(call.result) > _LONGEST_REFUSAL:
        return  # a program's output, or a page: not the tool's word about its arguments
    if _STATE.search(call.result) or (_UNKNOWN_RECORD.search(call.result) and _may_be_asked(facts, call)):
        return
    if _BLAMES.search(call.result):
        text = f"At step {call.result_step} the tool refuses the arguments given at step {call.step}: {words!r}."
        kind = "argument_blamed_mended" if _is_mended(facts, call) else "argument_blamed"
        yield Finding(kind, call.steps, text)
    elif _RULES_OUT.search(call.result):
        text = f"At step {call.result_step} the tool names a rule against the call of step {call.step}: {words!r}."
        yield Finding("rule_of_the_tool", call.steps, text)
    elif call.schema is None:
        yield from _unlike_accepted(facts, call)


def _may_be_asked(facts: Facts, call: AgentCall) -> bool:
    """Whether "not found" is an answer: the agent looked for a file or page, or for what the user had named."""
    looked = call.kind != "write" and any(
        isinstance(one.value, str) and _PATH.fullmatch(one.value) for one in call.values
    )
    return looked or _all_from_user(facts, call)


def _all_from_user(facts: Facts, call: AgentCall) -> bool:
    """Whether the user gave every word that was passed on; a sign put before it is no fault, one left out is."""
    words = " ".join(text.lower().replace("\xa0", " ") for index, text in facts.user_messages if index < call.step)
    texts = [leaf.value.lower().replace("\xa0", " ").strip() for leaf in call.values if isinstance(leaf.value, str)]
    return bool(texts) and all(
        (stands_in(plain(text), words) or (is_identifier(text.upper()) and facts.user_gave(text, call.step)))
        and (text[:1] == "#" or "#" + text not in words)
        for text in texts
    )


def _unlike_accepted(facts: Facts, call: AgentCall) -> Iterator[Finding]:
    """Without a schema: what calls of the same tool that succeeded show."""
    accepted = [other for other in facts.calls if other.name == call.name and other.succeeded]
    if not accepted:
        text = f"{call.name} failed at step {call.result_step}, its schema is not known and no call of it succeeded."
        yield Finding("no_schema", call.steps, text)
    elif all(_shape(call) != _shape(other) for other in accepted):
        text = (
            f"The arguments of {call.name} at step {call.step} have another form than those of step {accepted[0].step}."
        )
        yield Finding("unlike_successful_calls", (*call.steps, accepted[0].step), text)


def _shape(call: AgentCall) -> dict[str, str]:
    arguments = call.arguments if isinstance(call.arguments, dict) else {"": call.arguments}
    return {key: type(value).__name__ for key, value in arguments.items()}


_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def schema_faults(value: Any, schema: dict[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """What is wrong with a value by a schema as `ToolSchema.usable` gives it: (kind of finding, sentence part).

    Words of a schema that are not known pass.
    """
    if unions := schema.get("anyOf") or schema.get("oneOf"):
        if all(any(True for _ in schema_faults(value, one, name)) for one in unions):
            yield "wrong_type", f"{name} = {_short(value)} fits none of the forms allowed"
        return
    if not _has_type(value, wanted := schema.get("type")):
        words = wanted if isinstance(wanted, str) else " or ".join(wanted or ())
        yield "wrong_type", f"{name} = {_short(value)} is not of type {words}"
        return
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed is not None and value not in allowed:
        yield "not_in_enum", f"{name} = {_short(value)} is not one of {', '.join(map(str, allowed))}"
    if isinstance(value, dict):
        yield from _object_faults(value, schema, name)
    if isinstance(value, list):
        for item in value:
            yield from schema_faults(item, schema.get("items", {}), name)


def allows_one_value(schema: dict[str, Any]) -> bool:
    """Whether an object of this schema can be given in one way only: no parameter, or constants alone.

    A schema that names no properties says nothing of them: ``{}`` allows anything.
    """
    properties = schema.get("properties")
    if properties is None or (not properties and schema.get("additionalProperties")):
        return False
    constant = all("const" in one or len(one.get("enum", ())) == 1 for one in properties.values())
    return constant and set(properties) <= set(schema.get("required", ()))


def _object_faults(value: dict[str, Any], schema: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    where = f" of {name}" if name else ""
    for missing in schema.get("required", ()):
        if missing not in value:
            yield "missing_parameter", f"the required parameter {missing}{where} is missing"
    if properties is None:
        return
    for key, inner in value.items():
        if key in properties:
            yield from schema_faults(inner, properties[key], key)
        elif schema.get("additionalProperties") in (None, False) and not (name and not properties):
            yield "unknown_parameter", f"there is no parameter {key}{where}"


def _has_type(value: Any, wanted: Any) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or not all(isinstance(one, str) and one in _JSON_TYPES for one in names):
        return True
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _JSON_TYPES[one]) for one in names)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
