"""From a source's messages to steps: the parts that several formats share."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from axisjudge.checks import InputError
from axisjudge.trajectory import Record, Requestor, Role, Step, ToolCall, ToolKind, ToolSchema, Trajectory

T = TypeVar("T")
R = TypeVar("R", bound=Record)

#: The roles of chat messages, and which of ours each is.
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
}
#: What tells of a message and holds none of its parts, though it may repeat them.
_BESIDE = ("raw_data", "usage", "logprobs", "metadata", "provider_specific_fields")
#: Types of parts of a content.
TEXT_PARTS = {"text", "input_text", "output_text"}
REASONING_PARTS = {"reasoning", "thinking", "redacted_thinking"}
_KINDS: dict[str, ToolKind] = {"read": "read", "write": "write", "generic": "generic", "think": "generic"}
#: Words of a name that make it one of a call or of what came back: alone, or beside one that names what is called.
_CALL_WORDS = {"call", "calls", "invocation", "invocations", "executable", "observation"}
_CALLED = {"tool", "function", "mcp", "code", "command", "shell", "computer", "server"}
_DONE = {"use", "uses", "result", "results", "response", "responses", "output", "outputs", "request", "execution"}
_DONE |= {"requests", "return", "returns", "exec", "messages"}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JSON_NAMES = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


class Note(NamedTuple):
    """Something a reader saw that does not stop it: where in the file (first), the rule, what was found, how often."""

    position: str
    rule: str
    detail: str
    times: int = 1


class ReadRun(NamedTuple):
    """A trajectory, where it stood, and what was noted; `file` is set when it came from a further file."""

    position: str
    trajectory: Trajectory | None
    notes: tuple[Note, ...] = ()
    file: Path | None = None


class ValueFormat(NamedTuple):
    """A format of whole values: its name, whether it knows a value, and the runs in one."""

    FORMAT: str
    recognise: Callable[[Any], bool]
    read: Callable[[Any, str, Path], Iterator[ReadRun]]


class Unread(InputError):
    """Something carries a call or a result and cannot be read, so the file is refused."""

    def __init__(self, where: str, value: object = None, *, rule: str = "", cure: str = "") -> None:
        rule = rule or "may carry a call or a result, and cannot be read"
        cure = cure or "a run is read with all its calls or not at all: convert it, or take it out"
        super().__init__(where, rule, value, cure)


def names_call(name: Any) -> bool:
    """Whether a type or a key is named like a call or a result: ``tool_use``, ``functionResponse``, ``mcp-call``."""
    words = {word.lower() for word in _WORDS.findall(name)} if isinstance(name, str) else set()
    return bool(words & _CALL_WORDS or (words & _CALLED and words & _DONE) or name in ("tool", "function"))


def carries_call(value: Any, depth: int = 8) -> bool:
    """Whether a message, part or event of a kind that nobody here knows may hold a call or a result.

    It goes by names: those of types, and those of keys whose values are text, lists or objects that are not empty.
    """
    if isinstance(value, list):
        return any(carries_call(member, depth - 1) for member in value) if depth else False
    if not isinstance(value, dict):
        return False
    filled = {key: inner for key, inner in value.items() if inner and isinstance(inner, str | list | dict)}
    if names_call(value.get("type")) or any(names_call(key) for key in filled):
        return True
    return bool(depth) and any(carries_call(inner, depth - 1) for inner in filled.values())


def field(record: dict[str, Any], key: str, kind: type[T], where: str, default: T | None = None) -> T:
    """`record[key]`, which must be of `kind`; null or absent gives `default`, and is an error where there is none."""
    value = record.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind):
        held = value if key in record else "nothing"
        raise InputError(at(where, key), f"must be {_JSON_NAMES[kind]}", held, "export the file again")
    return value


def made(record: type[R], where: str, /, **fields: Any) -> R:
    """A record of ours from a source's fields; one of the wrong shape is told by its JSON path."""
    try:
        return record(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            at(where, *first["loc"]), first["msg"].removeprefix("Input "), first["input"], "export the file again"
        ) from error


def at(where: str, *keys: str | int) -> str:
    """The JSON path of a member: ``at("simulations", 3, "id")`` is ``simulations[3].id``."""
    for key in keys:
        where = f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}" if where else key
    return where


def objects(values: Any, where: str) -> list[dict[str, Any]]:
    """`values`, which must be a list of JSON objects."""
    if not isinstance(values, list):
        raise InputError(where, "must be a list", values, "export the file again")
    for position, value in enumerate(values):
        if not isinstance(value, dict):
            raise InputError(at(where, position), "must be an object", value, "export the file again")
    return values


def members(record: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """`record[key]` as a list of JSON objects, empty where it is null or absent."""
    return [] if record.get(key) is None else objects(record[key], at(where, key))


def word(value: Any) -> str | None:
    """`value` as text, None where it is null: ids and task ids are numbers in some sources."""
    return None if value is None else str(value)


def name_of(value: Any) -> str | None:
    """A name as text; an object, as Swarm keeps its agents, goes by its own name."""
    return word(value.get("name")) if isinstance(value, dict) else word(value)


def reward_of(value: Any, where: str) -> float | None:
    """The end-task reward: a finite number, or None where the source has none."""
    if value is None:
        return None
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    raise InputError(where, "must be a finite number or null", value)


def text_of(content: Any, where: str, notes: list[Note]) -> str:
    """The text of a message's content: text, null, or a list of parts.

    Reasoning is left out, since nobody but the agent saw it; any other part that is not text leaves its kind in
    brackets. Both are noted. A part that may carry a call or a result is refused.
    """
    if content is None or isinstance(content, str):
        return content or ""
    texts = []
    for part in objects(content, where):
        kind = str(part.get("type"))
        if kind in TEXT_PARTS:
            texts.append(field(part, "text", str, where))
        elif kind == "refusal":
            texts.append(field(part, "refusal", str, where))
        elif kind in REASONING_PARTS:
            notes.append(Note(where, "reasoning is left out", kind))
        elif carries_call(part):
            raise Unread(where, part)
        else:
            texts.append(left_out(kind, where, notes))
    return "\n".join(texts)


def left_out(kind: str, where: str, notes: list[Note]) -> str:
    """What stands for a part that is not text; a note tells of it."""
    notes.append(Note(where, "content that is not text is left out", kind))
    return f"[{kind}]"


def arguments_of(raw: Any) -> tuple[dict[str, Any] | str, str | None]:
    """A call's arguments as a dict, or as the raw text together with the reason why they are none.

    Null and blank text stand for a call without arguments.

    Examples
    --------
    >>> arguments_of('{"order": 7}'), arguments_of("[7]")
    (({'order': 7}, None), ('[7]', 'a list, not an object'))
    """
    if isinstance(raw, dict):
        return raw, None
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, None
    if not isinstance(raw, str):
        return str(raw), f"{_json_name(raw)}, not an object"
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        return raw, f"not valid JSON: {error}"
    return (value, None) if isinstance(value, dict) else (raw, f"{_json_name(value)}, not an object")


def call_of(where: str, name: str, given: Any, **fields: Any) -> ToolCall:
    """A call of a tool by its name and its arguments as a source has them; `fields` are the others of a `ToolCall`."""
    arguments, problem = arguments_of(given)
    return made(ToolCall, where, **{"name": name, "arguments": arguments, "arguments_error": problem, **fields})


def _json_name(value: Any) -> str:
    return _JSON_NAMES.get(type(value), "a number")


def refuse_unread(message: dict[str, Any], where: str, read: Iterable[str]) -> None:
    """Refuse a message with a member, beside those that are read, that may carry a call or a result."""
    known = {*read, *_BESIDE}
    for key in message:
        if key not in known and carries_call({key: message[key]}):
            raise Unread(at(where, key), message[key])


def role_of(message: dict[str, Any], where: str) -> Role:
    """The role of a message (``developer`` is a system message, ``function`` a tool result)."""
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise InputError(at(where, "role"), f"must be one of {', '.join(ROLES)}", role)
    return ROLES[role]


def chat_calls(message: dict[str, Any], requestor: Requestor, where: str) -> tuple[ToolCall, ...]:
    """The calls of a message: OpenAI's, with ``function`` or ``custom`` inside, or flat ones, as tau2 writes them."""
    calls = []
    records = members(message, "tool_calls", where)
    if old_style := message.get("function_call"):
        records = [*records, {"function": old_style}]
    for position, record in enumerate(records):
        path = at(where, "tool_calls", position)
        own = record.get("id")
        own = str(own) if isinstance(own, int | float) else own or None
        about = {"id": own, "requestor": record.get("requestor") or requestor}
        if record.get("type") == "custom":
            custom = field(record, "custom", dict, path)
            name = field(custom, "name", str, at(path, "custom"))
            text = {"arguments": str(custom.get("input")), "arguments_error": "the input of a custom tool is free text"}
            calls.append(call_of(path, name, None, **about, **text))
            continue
        flat = "function" not in record
        function = record if flat else field(record, "function", dict, path)
        name = field(function, "name", str, path if flat else at(path, "function"))
        given = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
        calls.append(call_of(path, name, given, **about))
    return tuple(calls)


def content_id(steps: Iterable[Step], *also: Any) -> str:
    """An id for a trajectory whose source gives none: a hash of its steps and of what tells two runs apart.

    The source's own numbering and its clock do not enter, so the same run in two formats has one id.
    """
    digest = sha256("\0".join(word(part) or "" for part in also).encode())
    for step in steps:
        digest.update(step.model_dump_json(exclude={"source_index", "timestamp", "content_timestamp"}).encode())
    return digest.hexdigest()[:16]


def tool_schema(record: dict[str, Any], where: str) -> ToolSchema:
    """A tool schema from any of the usual forms.

    OpenAI (``function`` or ``custom`` inside, or flat), Anthropic (``input_schema``), MCP (``inputSchema``), tau2's
    ``tool_defs`` (``doc``, ``params``), and the short form in which ``parameters`` maps a name to its JSON type. What
    the tool does is its ``kind``, else what MCP's ``annotations`` say.
    """
    form = next((key for key in ("function", "custom") if key in record), None)
    inner = record[form] if form else record
    if not isinstance(inner, dict):
        raise InputError(at(where, str(form)), "must be an object", inner)
    if "name" not in inner and isinstance(record.get("type"), str) and record["type"] != "function":
        inner = {**inner, "name": record["type"]}  # a provider's own tool (web_search) goes by its type
    held = next((key for key in ("parameters", "input_schema", "inputSchema", "params") if inner.get(key)), None)
    parameters: dict[str, Any] = field(inner, held, dict, where) if held else {}
    if parameters and parameters.get("type") != "object" and not isinstance(parameters.get("properties"), dict):
        parameters = _from_short_form(parameters, field(inner, "required", list, where, []))
    return made(
        ToolSchema,
        where,
        name=field(inner, "name", str, where),
        description=inner.get("description") or inner.get("doc") or "",
        kind=_KINDS.get(str(record.get("kind", inner.get("kind")))) or _annotated_kind(inner.get("annotations")),
        parameters=parameters,
    )


def _annotated_kind(annotations: Any) -> ToolKind | None:
    """What MCP's annotations say a tool does, None where they do not say.

    A hint counts where it is stated; the protocol's defaults, which assume the worst of a silent tool, are no word on
    it. ``destructiveHint`` has a meaning only where the tool is not read-only, and false says no more than "additive".
    Source: https://modelcontextprotocol.io/specification/2025-06-18/schema#toolannotations
    """
    hints = annotations if isinstance(annotations, dict) else {}
    if isinstance(read_only := hints.get("readOnlyHint"), bool):
        return "read" if read_only else "write"
    return "write" if hints.get("destructiveHint") is True else None


_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def _from_short_form(parameters: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """``{"zip": "string"}`` as a JSON schema; a word that is no JSON type says nothing about the values allowed."""
    properties = {
        name: kind if isinstance(kind, dict) else {"type": kind} if kind in _JSON_TYPES else {"description": str(kind)}
        for name, kind in parameters.items()
    }
    return {"type": "object", "properties": properties, "required": required}
