"""Gemini's ``generateContent``: requests (``contents``), responses (``candidates``), both, batches, lists of contents.

Who writes it: programs that keep what they send to and get from the Gemini API or Vertex AI, the google-genai package
(snake_case), batch files (``{key, request}``, ``{key, response}``), and sessions of the Agent Development Kit, whose
``events`` name their ``author``. Schema: https://ai.google.dev/api/caching#Content and
https://ai.google.dev/api/generate-content.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.chats.parts import (
    Conversation,
    MessagePart,
    exchange,
    grow,
    is_record_or_list,
    list_of_objects,
    records_in,
    result_text,
    schemas,
)
from axisjudge.readers.events import ENCRYPTED, Steps, as_text, dict_of, text_at, type_of
from axisjudge.readers.messages import (
    Note,
    ReadRun,
    Unread,
    at,
    call_of,
    carries_call,
    left_out,
    members,
    objects,
    refuse_unread,
    word,
)
from axisjudge.trajectory import Role, ToolCall, ToolSchema

FORMAT = "gemini_contents"
_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "assistant": "assistant",
    "function": "tool",
    "tool": "tool",
    "system": "system",
}
_BESIDE = {"thought_signature", "thought", "part_metadata", "video_metadata", "media_resolution"}
#: What the kinds of a provider's own calls are called among the tools of a request.
_TOOLS = {"google_search_web": "google_search", "google_search_image": "google_search"}
_READ = (
    *("candidates", "automaticFunctionCallingHistory", "tools", "toolConfig", "events", "contents"),
    *("history", "response"),
)
_SEARCHED = "a search of the model's own, told beside the answer, is no step"
_NO_ERROR = {"OUTCOME_OK": False, "OUTCOME_FAILED": True, "OUTCOME_DEADLINE_EXCEEDED": True}


def recognise(value: Any) -> bool:
    """Whether the JSON value holds contents, a request or a response of ``generateContent``, or a batch of them."""
    return _is_contents(value) or _are_events(value) or is_record_or_list(value, _is_record)


def read(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    """The conversations of a file; each candidate of a response ends one of its own."""
    if _is_contents(value):
        value = {"contents": value}
    if _are_events(value):
        value = {"events": value}
    for path, record in _whole(records_in(value, where)):
        yield from _conversations(record, path)


def _is_contents(value: Any) -> bool:
    contents = list_of_objects(value)
    parts = [part for content in contents for part in list_of_objects(content.get("parts"))]
    return (
        bool(contents)
        and all(isinstance(content.get("parts"), list | dict) for content in contents)
        and not any("type" in part for part in parts)
    )


def _are_events(value: Any) -> bool:
    events = list_of_objects(value)
    stated = [event["content"] for event in events if isinstance(event.get("content"), dict)]
    return all("author" in event for event in events) and _is_contents(stated)


def _whole(records: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records; the chunks of one streamed answer, which share its id, are put together."""
    path, answer = "", dict[str, Any]()
    for spot, record in records:
        chunk = _camel(record)
        own, stated = (list_of_objects(one.get("candidates")) for one in (answer, chunk))
        if (
            chunk.get("responseId")
            and chunk["responseId"] == _camel(answer).get("responseId")
            and len(own) == len(stated) == 1
        ):
            before, after = dict_of(own[0], "content"), dict_of(stated[0], "content")
            parts = _joint(list_of_objects(before.get("parts")), list_of_objects(after.get("parts")))
            candidate = {**own[0], **stated[0], "content": {**before, **after, "parts": parts}}
            answer = {**answer, **chunk, "candidates": [candidate]}
            continue
        if answer:
            yield path, answer
        path, answer = spot, record
    if answer:
        yield path, answer


def _joint(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of two chunks; where the first ends in a text, one of its kind goes on with it."""
    if before and after and all(isinstance(part.get("text"), str) for part in (before[-1], after[0])):
        last, following = before[-1], after[0]
        if last.get("thought") == following.get("thought"):
            return [*before[:-1], {**last, **following, "text": last["text"] + following["text"]}, *after[1:]]
    return [*before, *after]


def _is_record(record: dict[str, Any]) -> bool:
    request, response, *_ = exchange(record, "")
    asked = request.get("contents")
    if _is_contents(asked) or (isinstance(asked, str | dict) and "model" in request):
        return True
    if _is_contents(request.get("history")) or _are_events(request.get("events")):
        return True
    answers = list_of_objects((response or request).get("candidates"))
    return any(isinstance(answer.get("content"), dict) or "finishReason" in _camel(answer) for answer in answers)


def _conversations(record: dict[str, Any], where: str) -> Iterator[ReadRun]:
    request, response, outer, path = exchange(record, where)
    asked, answered = _camel(request), _camel(response or request)
    candidates = members(answered, "candidates", where)
    if candidates or response:
        refuse_unread(answered, where, _READ)
    for number, candidate in enumerate(candidates or [{}]):
        several = len(candidates) > 1
        steps = Conversation(FORMAT, where, outer | dict.fromkeys(("key", "id", "custom_id")) if several else outer)
        stated = _camel(answered).get("automaticFunctionCallingHistory")
        for spot, content, agent in _contents({"history": stated} if stated else asked, path):
            steps.agent = agent
            _add(steps, content, spot)
        steps.agent = None
        if candidate.get("content"):
            _add(steps, {"role": "model", **_camel(candidate["content"], where)}, at(where, "candidates", number))
        searches = _camel(dict_of(_camel(candidate), "groundingMetadata")).get("webSearchQueries")
        if isinstance(searches, list) and searches:
            steps.notes.append(Note(where, _SEARCHED, as_text(searches)))
        identity = word(answered.get("responseId"))
        yield steps.finish(
            identity=f"{identity}/{number}" if identity and several else identity,
            agent=word(answered.get("modelVersion") or asked.get("model")),
            termination=word(_camel(candidate).get("finishReason")),
            policy=_policy(asked),
            tools=_tools(asked, path, steps.notes),
            meta={"candidate": number} if several else {},
        )


def _contents(request: dict[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """The contents of a request with their places and, in a session of the Agent Development Kit, their authors."""
    for key in ("contents", "history"):
        given = request.get(key)
        if isinstance(given, str):
            given = {"role": "user", "parts": [{"text": given}]}
        for number, content in enumerate([given] if isinstance(given, dict) else objects(given or [], at(where, key))):
            yield at(where, key, number), content, None
    for number, event in enumerate(members(request, "events", where)):
        author = text_at(event, "author")
        if event.get("content"):
            spot = at(where, "events", number, "content")
            yield spot, _camel(event["content"], spot), None if author == "user" else author


def _add(steps: Steps, content: dict[str, Any], where: str) -> None:
    role = _ROLES.get(type_of(content, "role") if content.get("role") is not None else "user")
    if role is None:
        raise InputError(at(where, "role"), f"must be one of {', '.join(_ROLES)}", content.get("role"))
    steps.where = where
    refuse_unread(content, where, ("parts",))
    given = content.get("parts")
    records = [given] if isinstance(given, dict) else objects(given or [], at(where, "parts"))
    parts = (part_of(part, at(where, "parts", number), steps.notes) for number, part in enumerate(records))
    grow(steps, role, [part for part in parts if part], where)


def part_of(record: dict[str, Any], where: str, notes: list[Note]) -> MessagePart | None:
    """One part of a content; None where it holds nothing to read."""
    part = _camel(record)
    if call := part.get("functionCall") or part.get("toolCall"):
        return MessagePart("call", call=_call(call, where))
    if result := part.get("functionResponse") or part.get("toolResponse"):
        return _response(result, where, notes)
    if code := part.get("executableCode"):
        given = {key: value for key, value in _camel(code, where).items() if key != "id"}
        return MessagePart("call", call=call_of(where, "code_execution", given, id=word(code.get("id"))))
    if ran := part.get("codeExecutionResult"):
        failed = _NO_ERROR.get(str(_camel(ran, where).get("outcome")))
        return MessagePart(
            "result", as_text(ran.get("output")), id=word(ran.get("id")), name="code_execution", error=failed
        )
    if isinstance(part.get("text"), str):
        return (
            MessagePart("thinking" if part.get("thought") is True else "text", part["text"]) if part["text"] else None
        )
    if carries_call(part):
        raise Unread(where, part)
    kind = next((key for key in part if _snake(key) not in _BESIDE), None)
    if kind is None:
        notes.append(Note(where, ENCRYPTED, "thoughtSignature"))
        return None
    return MessagePart("text", left_out(kind, where, notes))


def _call(record: Any, where: str) -> ToolCall:
    call = _camel(record, where)
    name = text_at(call, "name") or _hosted(call)
    if not name or call.get("partialArgs") or call.get("willContinue"):
        raise Unread(where, record)
    return call_of(where, name, call.get("args"), id=word(call.get("id")))


def _hosted(record: dict[str, Any]) -> str:
    kind = (text_at(record, "toolType") or "").lower()
    return _TOOLS.get(kind, kind)


def _response(record: Any, where: str, notes: list[Note]) -> MessagePart:
    """A result: its ``output``, ``error`` or MCP's ``content`` where it holds that, else the response as JSON."""
    result = _camel(record, where)
    response = result.get("response")
    inner = response if isinstance(response, dict) else {}
    alone = inner[next(iter(inner))] if len(inner) == 1 and next(iter(inner)) in ("output", "result", "error") else None
    stated = inner["content"] if isinstance(inner.get("content"), list) else alone
    text = result_text(response if stated is None else stated, where, notes)
    for part in list_of_objects(result.get("parts")):
        text = f"{text}\n{left_out(next(iter(part), 'part'), where, notes)}".strip()
    name = text_at(result, "name") or _hosted(result) or None
    return MessagePart(
        "result",
        text,
        id=word(result.get("id")),
        name=name,
        error=bool(inner.get("error") or inner.get("isError")) or None,
    )


def _policy(request: dict[str, Any]) -> str | None:
    given = request.get("systemInstruction") or _camel(dict_of(request, "config")).get("systemInstruction")
    parts = given.get("parts") if isinstance(given, dict) else given
    parts = parts if isinstance(parts, list) else [parts]
    texts = (
        part if isinstance(part, str) else text_at(part, "text") if isinstance(part, dict) else None for part in parts
    )
    return "\n".join(filter(None, texts)) or None


def _tools(request: dict[str, Any], where: str, notes: list[Note]) -> tuple[ToolSchema, ...] | None:
    """The declared functions, and the provider's own tools by their names."""
    config = _camel(dict_of(request, "config"))
    given = request if request.get("tools") is not None else config
    if given.get("tools") is None:
        return None
    path = at(where, "tools")
    stated: list[tuple[str, dict[str, Any]]] = []
    for number, tool in enumerate(members(given, "tools", where)):
        for key, inner in _camel(tool).items():
            if key == "functionDeclarations":
                stated += [(at(path, number), _declared(function)) for function in objects(inner, at(path, number))]
            elif key == "mcpServers":
                notes.append(Note(path, "the tools of a server are not listed, so none is known", "mcpServers"))
                return None
            else:
                stated.append((at(path, number), {"name": _snake(key)}))
    return schemas(stated, notes, path)


def _declared(function: dict[str, Any]) -> dict[str, Any]:
    """A declared function with JSON Schema's lower-case types in place of Gemini's ``STRING``, ``OBJECT``, ..."""
    declared = _camel(function)
    return {
        "name": declared.get("name"),
        "description": declared.get("description"),
        "parameters": _lower_types(declared.get("parametersJsonSchema") or declared.get("parameters")),
    }


def _lower_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_lower_types(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
        for key, value in schema.items()
    }


def _camel(record: Any, where: str = "") -> dict[str, Any]:
    """An object with its own keys in camelCase, as the API writes them; the Python package writes snake_case."""
    if not isinstance(record, dict):
        raise Unread(where, record)
    return {_joined(key): value for key, value in record.items()}


def _joined(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest) if first else key


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
