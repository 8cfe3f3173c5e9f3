"""The part of JSON Schema that tool definitions use: properties, required, types, enums, items, unions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def faults(value: Any, schema: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """What is wrong with a value, as (kind of finding, sentence part); words of a schema that are not known pass."""
    if not isinstance(schema, dict):
        return
    if (unions := schema.get("anyOf") or schema.get("oneOf")) and isinstance(unions, list):
        if all(any(True for _ in faults(value, one, name)) for one in unions):
            yield "wrong_type", f"{name} = {_short(value)} fits none of the forms allowed"
        return
    if not _has_type(value, schema.get("type")):
        yield "wrong_type", f"{name} = {_short(value)} is not of type {_type_words(schema['type'])}"
        return
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(allowed, list) and value not in allowed:
        yield "not_in_enum", f"{name} = {_short(value)} is not one of {', '.join(map(str, allowed))}"
    if isinstance(value, dict):
        yield from _object_faults(value, schema, name)
    if isinstance(value, list):
        for item in value:
            yield from faults(item, schema.get("items"), name)


def allows_one_value(schema: Any) -> bool:
    """Whether an object of this schema can be given in one way only: no parameter, or constants alone.

    A schema that names no properties says nothing of them: ``{}`` allows anything.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or (not properties and schema.get("additionalProperties")):
        return False
    return all(
        isinstance(one, dict) and ("const" in one or len(one.get("enum") or ()) == 1) for one in properties.values()
    ) and set(properties) <= set(schema.get("required") or ())


def _object_faults(value: dict[str, Any], schema: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    where = f" of {name}" if name else ""
    for missing in schema.get("required") or ():
        if missing not in value:
            yield "missing_parameter", f"the required parameter {missing}{where} is missing"
    if not isinstance(properties, dict):
        return
    for key, inner in value.items():
        if key in properties:
            yield from faults(inner, properties[key], key)
        elif schema.get("additionalProperties") in (None, False) and not (name and not properties):
            yield "unknown_parameter", f"there is no parameter {key}{where}"


def _has_type(value: Any, wanted: Any) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or not all(isinstance(one, str) and one in _TYPES for one in names):
        return True
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _TYPES[one]) for one in names)


def _type_words(wanted: Any) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(wanted)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
