"""Conversations, whoever's words they are in: records of them, and messages with text, thinking, calls and results."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from axisjudge.readers import messages as chat
from axisjudge.readers.events import ENCRYPTED, Steps, as_text, dict_of, text_at, type_of
from axisjudge.trajectory import Role, Step, ToolCall, ToolSchema, Trajectory

# Records of conversations: a request, its response, what wraps them, and the trajectory that comes of them.

_STATED = ("agent", "task_id", "domain", "reward", "termination", "policy")


class Exchange(NamedTuple):
    """A request, its response (empty where there is none), and the record around them that may state more."""

    request: dict[str, Any]
    response: dict[str, Any]
    outer: dict[str, Any]
    position: str


def exchange(record: dict[str, Any], where: str) -> Exchange:
    """A record taken apart: one that is itself the request, ``{request, response}``, or a line of a batch file.

    Batch lines are ``{custom_id, params}`` and ``{custom_id, result: {message}}`` (Anthropic), ``{custom_id, body}``
    and ``{custom_id, response: {body}}`` (OpenAI), ``{key, request}`` and ``{key, response}`` (Gemini).
    """
    request, position = record, where
    for key in ("params", "request", "body"):
        if isinstance(record.get(key), dict):
            request, position = record[key], chat.at(where, key)
            break
    if isinstance(request.get("body"), dict):
        request, position = request["body"], chat.at(position, "body")
    response = dict_of(record, "response")
    response = dict_of(response, "body") or response
    if not response and isinstance(message := dict_of(record, "result").get("message"), dict):
        response = message
    outer = record
    if (custom := chat.word(record.get("custom_id") or record.get("key"))) and "task_id" not in record:
        outer = {**record, "task_id": custom}  # a batch's question and its answer are of one task,
        if request is record:  # but two records: the answer goes by its own id
            outer = {key: value for key, value in outer.items() if key not in ("custom_id", "key")}
    return Exchange(request, response, outer, position)


def records_in(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The record that a value is, or those that it lists, with their places."""
    if isinstance(value, dict):
        yield where, value
    else:
        yield from ((chat.at(where, number), record) for number, record in enumerate(chat.objects(value, where)))


def is_record_or_list(value: Any, test: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether a value passes the test, or is a list of objects whose first passes it."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and test(first)


#: A record (empty for a bare list), its messages, where it stands, and where they stand.
Thread = tuple[dict[str, Any], list[dict[str, Any]], str, str]


def threads_in(
    value: Any, where: str, is_list: Callable[[Any], bool], key: str | Callable[[dict[str, Any]], str]
) -> Iterator[Thread]:
    """The lists of messages of a value: the value itself, or what its records have under `key`."""
    if is_list(value):
        yield {}, value, where, where
        return
    for path, record in records_in(value, where):
        name = key if isinstance(key, str) else key(record)
        yield record, chat.objects(record.get(name), chat.at(path, name)), path, chat.at(path, name)


def format_of_lists(
    name: str, is_list: Callable[[Any], bool], key: str, conversation: Callable[..., chat.ReadRun]
) -> chat.ValueFormat:
    """The format of values that are such a list of messages, or a record, or list of records, with one under `key`."""

    def recognise(value: Any) -> bool:
        return is_list(value) or is_record_or_list(value, lambda record: is_list(record.get(key)))

    def read(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
        return (conversation(*thread) for thread in threads_in(value, where, is_list, key))

    return chat.ValueFormat(name, recognise, read)


def format_of_records(
    name: str,
    is_list: Callable[[Any], bool],
    key: str,
    is_record: Callable[[dict[str, Any]], bool],
    conversation: Callable[[dict[str, Any], str], chat.ReadRun],
) -> chat.ValueFormat:
    """The format of values that are a request or a response, a list of such, or a bare list of what stands at `key`."""

    def recognise(value: Any) -> bool:
        return is_list(value) or is_record_or_list(value, is_record)

    def read(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
        records = records_in({key: value} if is_list(value) else value, where)
        return (conversation(record, path) for path, record in records)

    return chat.ValueFormat(name, recognise, read)


def list_of_objects(value: Any) -> list[dict[str, Any]]:
    """A list whose members are all objects; an empty one for anything else. For questions, not for reading."""
    return value if isinstance(value, list) and all(isinstance(member, dict) for member in value) else []


class Conversation(Steps):
    """A conversation of a format as it grows, with what is noted of it; `outer` is the record that states more."""

    def __init__(self, source: str, where: str, outer: dict[str, Any]) -> None:
        super().__init__()
        self.source, self.origin, self.outer = source, where, outer

    def finish(
        self,
        *,
        identity: str | None = None,
        agent: str | None = None,
        termination: str | None = None,
        policy: str | None = None,
        tools: tuple[ToolSchema, ...] | None = None,
        hosted: Iterable[str] = (),
        meta: dict[str, Any] | None = None,
    ) -> chat.ReadRun:
        """The run; what the record or its ``metadata`` states wins over what was inferred.

        `hosted` names tools of the provider that were called: where the tools are known, they are among them.
        """
        outer, where, done = self.outer, self.origin, self.all()
        if tools is not None:
            listed = {tool.name for tool in tools}
            tools += tuple(ToolSchema(name=name) for name in sorted(set(hosted) - listed))
        metadata = dict_of(outer, "metadata")
        stated = {key: outer[key] if outer.get(key) is not None else metadata.get(key) for key in _STATED}
        reward = stated["reward"] if outer.get("reward") is not None or not isinstance(stated["reward"], str) else None
        named = chat.name_of(stated["agent"]) or agent
        task_id = chat.word(stated["task_id"])
        ended = stated["termination"] or termination
        own = chat.word(outer.get("custom_id") or outer.get("key") or outer.get("id")) or identity
        kept = {
            key: value for key, value in metadata.items() if key not in _STATED or (key == "reward" and reward is None)
        }
        trajectory = chat.made(
            Trajectory,
            where,
            id=own or chat.content_id(done, task_id, named, ended),
            source=self.source,
            agent=named,
            task_id=task_id,
            domain=stated["domain"],
            reward=chat.reward_of(reward, chat.at(where, "reward")),
            termination=ended,
            steps=done,
            tools=tools,
            policy=stated["policy"] or policy,
            meta=kept | (meta or {}),
        )
        return chat.ReadRun(where, trajectory, tuple(self.notes))


def schemas(
    records: list[tuple[str, dict[str, Any]]],
    notes: list[chat.Note],
    where: str,
    *,
    named: Callable[[dict[str, Any]], Any] = lambda _: None,
) -> tuple[ToolSchema, ...]:
    """The schemas of tools with their places; `named` gives a tool its name where it has none of its own."""
    made_of: dict[str, ToolSchema] = {}
    for path, record in records:
        name = dict_of(record, "function").get("name") or record.get("name") or named(record)
        if name is None:
            notes.append(chat.Note(where, "a tool without a name is left out of the tools", str(record.get("type"))))
            continue
        schema = chat.tool_schema(record if "function" in record else {**record, "name": name}, path)
        made_of.setdefault(schema.name, schema)
    return tuple(made_of.values())


# Parts of a message.

_CALLS = {
    *("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "invalid_tool_call"),
    *("server_tool_call", "tool-call"),
}
_RESULTS = {"tool_result", "server_tool_result", "tool-result", "tool_call_response", "server_tool_call_response"}
#: Results of Anthropic's own tools: ``web_search_tool_result``, ``mcp_tool_result``, ...
_RESULT_ENDING = "_tool_result"
#: Where a result stands in its part, or beside the call in the call's own part.
_HELD = ("content", "output", "result", "response", "server_tool_call_response")
_MESSAGE = ("role", "content", "tool_calls", "function_call", "tool_call_id", "tool_name", "tool_responses")
#: Where servers put what the model thought, beside the content: as text, or in blocks.
_THOUGHTS, _BLOCKS = ("reasoning_content", "reasoning", "thinking"), ("thinking_blocks", "reasoning_details")
BESIDE = (*_THOUGHTS, *_BLOCKS, "refusal")


class MessagePart(NamedTuple):
    """A part of a message; a result has its text, the id and name of its call, and whether it failed."""

    kind: Literal["text", "thinking", "call", "result"]
    text: str = ""
    call: ToolCall | None = None
    id: str | None = None
    name: str | None = None
    error: bool | None = None


def names_part_of_call(part: dict[str, Any]) -> bool:
    """Whether a part is one of Anthropic's blocks that calls a tool or holds what came back."""
    kind = type_of(part)
    return kind in ("tool_use", "server_tool_use", "mcp_tool_use", "tool_result") or (kind.endswith(_RESULT_ENDING))


def parts_of(content: Any, where: str, notes: list[chat.Note]) -> list[MessagePart]:
    """The parts of a message's content: text, null, one part, or a list of parts and texts.

    Raises
    ------
    InputError
        At a part that may carry a call or a result and is of no known kind, or whose call has no name.
    """
    if content is None or isinstance(content, str):
        return [MessagePart("text", content)] if content else []
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise chat.Unread(where, content)
    parts: list[MessagePart] = []
    for number, record in enumerate(content):
        path = chat.at(where, number)
        part = part_of(record, path, notes)
        parts += [] if part is None else [part]
        if part and part.call and any(record.get(key) is not None for key in _HELD):
            parts.append(_result(record, path, notes)._replace(id=part.call.id, name=part.call.name))
    return parts


def part_of(part: Any, where: str, notes: list[chat.Note]) -> MessagePart | None:
    """One part of a content; None where it holds nothing to read."""
    if isinstance(part, str):
        return MessagePart("text", part)
    if not isinstance(part, dict):
        raise chat.Unread(where, part)
    kind = type_of(part)
    if kind in chat.TEXT_PARTS or (
        "type" not in part and isinstance(part.get("text"), str) and not chat.carries_call(part, depth=1)
    ):
        return MessagePart("text", chat.field(part, "text" if "text" in part else "content", str, where))
    if kind == "refusal":
        return MessagePart("text", chat.field(part, "refusal", str, where))
    if kind in chat.REASONING_PARTS:
        return _thinking(part, where, notes)
    if kind in _CALLS:
        return MessagePart("call", call=_call(part, where))
    if kind in _RESULTS or (kind.endswith(_RESULT_ENDING)):
        return _result(part, where, notes)
    if chat.carries_call(part):
        raise chat.Unread(where, part)
    return MessagePart("text", chat.left_out(kind, where, notes))


def _thinking(part: dict[str, Any], where: str, notes: list[chat.Note]) -> MessagePart | None:
    entries = [entry for key in ("summary", "thinking", "content") for entry in list_of_objects(part.get(key))]
    texts = (text_at(entry, "text") for entry in entries)
    text = text_at(part, "thinking", "reasoning", "text", "content", "summary") or "\n".join(filter(None, texts))
    if not text:
        notes.append(chat.Note(where, ENCRYPTED, str(part.get("type"))))
    return MessagePart("thinking", text) if text else None


def _call(part: dict[str, Any], where: str) -> ToolCall:
    given = next((part[key] for key in ("input", "args", "arguments", "server_tool_call") if key in part), None)
    arguments, problem = chat.arguments_of(given)
    name = text_at(part, "name", "toolName")
    if name is None:
        raise chat.Unread(chat.at(where, "name"), part)
    if server := text_at(part, "server_name"):
        name = f"mcp__{server}__{name}"
    if part["type"] == "invalid_tool_call":
        problem = text_at(part, "error") or problem
    return chat.made(
        ToolCall,
        where,
        id=chat.word(part.get("id") or part.get("toolCallId")),
        name=name,
        arguments=arguments if problem is None else as_text(given),
        arguments_error=problem,
    )


def _result(part: dict[str, Any], where: str, notes: list[chat.Note]) -> MessagePart:
    content = next((part[key] for key in _HELD if part.get(key) is not None), None)
    failed = part.get("is_error", part.get("isError")) is True or part.get("status") == "error" or _failed(content)
    name = text_at(part, "toolName")
    names = ("tool_use_id", "tool_call_id", "toolCallId", *(["id"] if type_of(part).endswith("_response") else []))
    identity = next((chat.word(part[key]) for key in names if part.get(key)), None)
    return MessagePart("result", result_text(content, where, notes), id=identity, name=name, error=failed)


def _failed(content: Any) -> bool:
    """Whether the content of a provider's own tool is an error, or that of a program which ended with one."""
    inner = content if isinstance(content, dict) else {}
    kind = str(inner.get("type"))
    code = inner.get("return_code")
    return kind.endswith(("_error", "error-text", "error-json")) or (type(code) is int and code != 0)


def result_text(content: Any, where: str, notes: list[chat.Note]) -> str:
    """What a tool gave back as text: texts joined, pictures and documents marked as such, anything else as JSON."""
    if isinstance(content, list) and content and all(isinstance(part, str | dict) for part in content):
        return "\n".join(text for part in content if (text := _shown_part(part, where, notes)) is not None)
    if isinstance(content, dict) and isinstance(content.get("value"), str):  # AI SDK: {type: text, value}
        return str(content["value"])
    return as_text(content)


def _shown_part(part: Any, where: str, notes: list[chat.Note]) -> str | None:
    if isinstance(part, str):
        return part
    kind = str(part.get("type"))
    if kind in chat.TEXT_PARTS and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in ("image", "document", "image_url", "input_image", "input_file", "file", "audio", "media", "video"):
        return chat.left_out(kind, where, notes)
    if kind in chat.REASONING_PARTS:
        notes.append(chat.Note(where, "reasoning is left out", kind))
        return None
    return as_text(part)


def grow(steps: Steps, role: Role, parts: list[MessagePart], message: str, timestamp: str | None = None) -> None:
    """Add the parts of one message; what stands between two results is one step."""
    for part in parts:
        if part.kind == "text":
            steps.text(role, part.text, timestamp, message=message)
        elif part.kind == "thinking":
            steps.thinking(part.text, timestamp)
        elif part.call:
            by_user = role == part.call.requestor == "user"
            steps.call(part.call, timestamp, message=message, role="user" if by_user else "assistant")
        else:
            steps.result(part.id, part.text, timestamp, error=part.error, name=part.name)


def chat_steps(messages: list[dict[str, Any]], where: str, notes: list[chat.Note]) -> tuple[Step, ...]:
    """Steps of a list of chat messages."""
    steps = Steps()
    steps.notes = notes
    for number, message in enumerate(messages):
        add_message(steps, message, chat.at(where, number))
    return steps.all()


def add_message(steps: Steps, message: dict[str, Any], where: str, *, role: Role | None = None) -> None:
    """Add a message with a role: its content, and thoughts, calls or results that stand beside the content.

    Thoughts and calls that stand both in the content and beside it count once. A message's ``index`` is kept.
    """
    if together := chat.members(message, "tool_messages", where):  # results of tau2's that came at once
        for one in together:
            add_message(steps, one, where)
        return
    steps.where = where
    chat.refuse_unread(message, where, _MESSAGE)
    role = role or chat.role_of(message, where)
    number, stamp = message.get("index", message.get("turn_idx")), message.get("timestamp")
    timestamp = str(stamp) if isinstance(stamp, int | float) else stamp
    steps.source_index = number if type(number) is int else None
    is_answer = bool(message.get("tool_responses")) or (role == "tool" and not _holds_results(message.get("content")))
    if is_answer:
        _answer(steps, message, where, timestamp)
    content = [] if is_answer else parts_of(message.get("content"), chat.at(where, "content"), steps.notes)
    grow(steps, role, message_parts(message, content, role, where, steps.notes), where, timestamp)
    steps.source_index = None


def message_parts(
    message: dict[str, Any], content: list[MessagePart], role: Role, where: str, notes: list[chat.Note]
) -> list[MessagePart]:
    """All parts of a message: those of its content, and what stands beside it.

    Thoughts count where the content has none, a call where the content does not tell it: by its id, else by its name
    and arguments. A refusal, or nothing, stands in place of a content.
    """
    thinks = role == "assistant" and not any(part.kind == "thinking" for part in content)
    parts = [*(_thoughts(message, where, notes) if thinks else ()), *content]
    told = [part.call for part in parts if part.call]
    for call in chat.chat_calls(message, "user" if role == "user" else "assistant", where):
        twin = next((one for one in told if _is_same(one, call)), None)
        if twin is None:
            parts.append(MessagePart("call", call=call))
        else:
            told.remove(twin)
    refusal = chat.word(message.get("refusal")) or ""
    if role != "tool" and not message.get("content") and (refusal or all(part.kind == "thinking" for part in parts)):
        parts.append(MessagePart("text", refusal))
    return parts


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    if one.id and other.id:
        return one.id == other.id
    return (one.name, one.arguments) == (other.name, other.arguments)


def _thoughts(message: dict[str, Any], where: str, notes: list[chat.Note]) -> list[MessagePart]:
    if text := text_at(message, *_THOUGHTS):
        return [MessagePart("thinking", text)]
    blocks = next(filter(None, (list_of_objects(message.get(key)) for key in _BLOCKS)), [])
    return [part for block in blocks if (part := _thinking(block, where, notes))]


def _holds_results(content: Any) -> bool:
    """Whether a tool's message holds parts that say themselves which call they answer."""
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and type_of(part) in _RESULTS for part in parts)


def _answer(steps: Steps, message: dict[str, Any], where: str, timestamp: str | None) -> None:
    """A tool's message: one result, or those of several calls in ``tool_responses``."""
    answers = message.get("tool_responses") or [message]
    for answer in answers if isinstance(answers, list) else [answers]:
        if not isinstance(answer, dict):
            raise chat.Unread(where, answer)
        chat.refuse_unread(answer, where, (*_MESSAGE, "function"))
        failed = next((stated for key in ("error", "is_error") if isinstance(stated := answer.get(key), bool)), None)
        of_tool = message.get("role") == "function" or steps.agent is None  # else the name is a speaker's
        named = (answer.get("name") if of_tool else None) or dict_of(answer, "function").get("name")
        own = answer.get("id")  # tau2 keeps the id of the call in the message's own
        own = own if isinstance(own, str) and (own in steps.names or "requestor" in answer) else None
        steps.result(
            chat.word(answer.get("tool_call_id")) or own,
            result_text(answer.get("content"), chat.at(where, "content"), steps.notes),
            timestamp,
            error=failed,
            name=chat.word(named or answer.get("tool_name")),
        )
