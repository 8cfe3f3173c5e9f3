"""Records of conversations: a request, its response, what wraps them, and the trajectory that comes of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from axisjudge.readers.events import Steps, dict_of
from axisjudge.readers.messages import Found, Note, at, content_id, made, name_of, objects, reward_of, tool_schema, word
from axisjudge.trajectory import ToolSchema, Trajectory

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
            request, position = record[key], at(where, key)
            break
    if isinstance(request.get("body"), dict):
        request, position = request["body"], at(position, "body")
    response = dict_of(record, "response")
    response = dict_of(response, "body") or response
    if not response and isinstance(message := dict_of(record, "result").get("message"), dict):
        response = message
    outer = record
    if (custom := word(record.get("custom_id") or record.get("key"))) and "task_id" not in record:
        outer = {**record, "task_id": custom}  # a batch's question and its answer are of one task,
        if request is record:  # but two records: the answer goes by its own id
            outer = {key: value for key, value in outer.items() if key not in ("custom_id", "key")}
    return Exchange(request, response, outer, position)


def records_in(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The record that a value is, or those that it lists, with their places."""
    if isinstance(value, dict):
        yield where, value
    else:
        yield from ((at(where, number), record) for number, record in enumerate(objects(value, where)))


def is_record_or_list(value: Any, test: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether a value passes the test, or is a list of objects whose first passes it."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and test(first)


#: A record (empty for a bare list), its messages, where it stands, and where they stand.
Thread = tuple[dict[str, Any], list[dict[str, Any]], str, str]


def holds_list(value: Any, is_list: Callable[[Any], bool], key: str) -> bool:
    """Whether a value is such a list of messages, or a record, or list of records, with one under `key`."""
    return is_list(value) or is_record_or_list(value, lambda record: is_list(record.get(key)))


def threads_in(
    value: Any, where: str, is_list: Callable[[Any], bool], key: str | Callable[[dict[str, Any]], str]
) -> Iterator[Thread]:
    """The lists of messages of a value: the value itself, or what its records have under `key`."""
    if is_list(value):
        yield {}, value, where, where
        return
    for place, record in records_in(value, where):
        name = key if isinstance(key, str) else key(record)
        yield record, objects(record.get(name), at(place, name)), place, at(place, name)


def list_of_objects(value: Any) -> list[dict[str, Any]]:
    """A list whose members are all objects; an empty one for anything else. For questions, not for reading."""
    return value if isinstance(value, list) and all(isinstance(member, dict) for member in value) else []


class Conversation(Steps):
    """A conversation of a format as it grows, with what is noted of it; `outer` is the record that states more."""

    def __init__(self, source: str, where: str, outer: dict[str, Any]) -> None:
        super().__init__()
        self.source, self.origin, self.outer = source, where, outer

    def found(
        self,
        *,
        identity: str | None = None,
        agent: str | None = None,
        termination: str | None = None,
        policy: str | None = None,
        tools: tuple[ToolSchema, ...] | None = None,
        hosted: Iterable[str] = (),
        meta: dict[str, Any] | None = None,
    ) -> Found:
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
        named = name_of(stated["agent"]) or agent
        task_id = word(stated["task_id"])
        ended = stated["termination"] or termination
        own = word(outer.get("custom_id") or outer.get("key") or outer.get("id")) or identity
        kept = {
            key: value for key, value in metadata.items() if key not in _STATED or (key == "reward" and reward is None)
        }
        trajectory = made(
            Trajectory,
            where,
            id=own or content_id(done, task_id, named, ended),
            source=self.source,
            agent=named,
            task_id=task_id,
            domain=stated["domain"],
            reward=reward_of(reward, at(where, "reward")),
            termination=ended,
            steps=done,
            tools=tools,
            policy=stated["policy"] or policy,
            meta=kept | (meta or {}),
        )
        return Found(where, trajectory, tuple(self.notes))


def schemas(
    records: list[tuple[str, dict[str, Any]]],
    notes: list[Note],
    where: str,
    *,
    named: Callable[[dict[str, Any]], Any] = lambda _: None,
) -> tuple[ToolSchema, ...]:
    """The schemas of tools with their places; `named` gives a tool its name where it has none of its own."""
    made_of: dict[str, ToolSchema] = {}
    for place, record in records:
        name = dict_of(record, "function").get("name") or record.get("name") or named(record)
        if name is None:
            notes.append(Note(where, "a tool without a name is left out of the tools", str(record.get("type"))))
            continue
        schema = tool_schema(record if "function" in record else {**record, "name": name}, place)
        made_of.setdefault(schema.name, schema)
    return tuple(made_of.values())
