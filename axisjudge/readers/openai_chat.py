"""Plain OpenAI chat messages: a list of messages, an object with ``messages``, a list of such, or one a line.

Also chat completions (``choices``), alone or after their request, and lines of the batch API. Schema:
https://platform.openai.com/docs/api-reference/chat. Calls may be flat, ``{id, name, arguments}``, as tau2 writes them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers import messages as chat
from axisjudge.readers.chats.parts import (
    Conversation,
    Exchange,
    add_message,
    exchange,
    list_of_objects,
    records_in,
)

FORMAT = "openai_chat"
_STATED = ("agent", "model", "task_id", "domain", "reward", "termination", "policy")


def recognise(value: Any) -> bool:
    """Whether the JSON value holds chat messages. A list of them must contain one that is not the agent's own."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    if isinstance(first.get("messages"), list):
        return all(isinstance(message, dict) and "role" in message for message in first["messages"][:1])
    if _choices(parts := exchange(first, "")) or isinstance(parts.request.get("messages"), list):
        return True
    others = ("system", "developer", "user")
    return isinstance(value, list) and any(isinstance(m, dict) and m.get("role") in others for m in value)


def read(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The conversations of a file.

    Beside ``messages`` a record may state id, tools, agent (or model), task_id, domain, reward, termination and
    policy, itself or in its ``metadata``; what else stands in ``metadata`` goes to `meta`.
    """
    if isinstance(value, list) and "role" in value[0]:
        yield _conversation({"messages": value}, where, where)
        return
    for place, record in records_in(value, where):
        yield from _conversations(record, place)


def _choices(parts: Exchange) -> list[dict[str, Any]]:
    """The choices of a chat completion, that of the response or the record itself."""
    choices = list_of_objects((parts.response or parts.request).get("choices"))
    return [choice for choice in choices if isinstance(choice.get("message"), dict)]


def _conversations(record: dict[str, Any], where: str) -> Iterator[chat.ReadRun]:
    """The conversation of a record; each choice of a completion ends one of its own."""
    parts = exchange(record, where)
    choices = _choices(parts)
    if not choices and parts.request is record and not parts.response:
        yield _conversation(record, where, chat.at(where, "messages"))
        return
    request, response, outer, position = parts
    stated = {key: outer[key] for key in (*_STATED, "metadata") if outer.get(key) is not None}
    stated |= {"tools": request.get("tools"), "model": response.get("model") or request.get("model")}
    messages = chat.objects(request.get("messages") or [], chat.at(position, "messages"))
    own = outer.get("custom_id") or outer.get("id") or response.get("id")
    for number, choice in enumerate(choices or [{}]):
        whole = {"id": f"{own}/{number}" if own and len(choices) > 1 else own, **stated}
        whole.setdefault("termination", choice.get("finish_reason"))
        whole["messages"] = [*messages, *([choice["message"]] if choice else [])]
        yield _conversation(whole, where, chat.at(position, "messages"))


def _conversation(record: dict[str, Any], where: str, where_messages: str) -> chat.ReadRun:
    metadata = dict(chat.field(record, "metadata", dict, where, {}))
    model, (query, sample) = record.get("model", metadata.pop("model", None)), _names_of_bench(record)
    task_id = chat.word(record.get("task_id", metadata.get("task_id"))) or query
    agent = chat.name_of(record.get("agent", metadata.get("agent"))) or chat.name_of(model)
    steps = Conversation(FORMAT, where, record | {"metadata": metadata, "task_id": task_id, "key": None})
    for number, message in enumerate(chat.objects(record.get("messages"), where_messages)):
        add_message(steps, message, chat.at(where_messages, number))
    offered, path = chat.members(record, "tools", where), chat.at(where, "tools")
    tools = tuple(chat.tool_schema(tool, chat.at(path, number)) for number, tool in enumerate(offered))
    identity = sample or chat.content_id(steps.all(), task_id, agent)
    return steps.finish(identity=identity, agent=agent, tools=None if record.get("tools") is None else tools)


def _names_of_bench(record: dict[str, Any]) -> tuple[str | None, str | None]:
    """The names by which AgentProcessBench's labels call the query and the run of a record; None for other records."""
    source, query, sample = (record.get(key) for key in ("data_source", "query_index", "sample_index"))
    if not isinstance(source, str) or not isinstance(query, int) or not isinstance(sample, int):
        return None, None
    return f"{source}:{query}", f"{source}:{query}:{sample}"
