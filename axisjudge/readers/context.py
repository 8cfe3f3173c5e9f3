"""What the source lacks and the user supplies: agent, domain, tool schemas, what tools do, policy.

What a tool does (``read``, ``write``, ``generic``) comes from its schema's ``kind``, from MCP's annotations, or from
``--tool-kind NAME=read``, which goes before both. It is never taken from a tool's name, and where nobody states it, the
rules conclude nothing from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast, get_args

from axisjudge.checks import InputError, one_of
from axisjudge.readers.messages import at, members, objects, tool_schema
from axisjudge.readers.source import json_values, opened
from axisjudge.trajectory import ToolKind, ToolSchema, Trajectory

Tools = tuple[ToolSchema, ...]


class Supplied(TypedDict, total=False):
    """The parameters of `load_context`."""

    agent: str | None
    domain: str | None
    tools: str | Path | None
    policy: str | Path | None
    tool_kinds: Mapping[str, str] | Iterable[str] | None


@dataclass(frozen=True)
class Context:
    """What to fill in where a trajectory says nothing itself.

    `tools` maps a domain to its schemas; the key None holds for every domain. `tool_kinds` are the user's word on what
    a tool does, by name; they go before what a source says.
    """

    agent: str | None = None
    domain: str | None = None
    tools: dict[str | None, Tools] = field(default_factory=dict)
    policy: str | None = None
    tool_kinds: Mapping[str, ToolKind] = field(default_factory=dict)

    def fill(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with what it lacked; what its source says is never replaced."""
        tools = self.tools_of(trajectory.domain or self.domain)
        stated = {"agent": self.agent, "domain": self.domain, "policy": self.policy, "tools": tools}
        lacking = (name for name in stated if getattr(trajectory, name) is None)
        missing: dict[str, Any] = {name: stated[name] for name in lacking if stated[name] is not None}
        if self.tool_kinds:
            present = names_of_tools(trajectory) | {tool.name for tool in missing.get("tools", ())}
            kinds = {name: kind for name, kind in self.tool_kinds.items() if name in present}
            missing |= {"tool_kinds": trajectory.tool_kinds | kinds} if kinds else {}
        return trajectory.model_copy(update=missing) if missing else trajectory

    def tools_of(self, domain: str | None) -> Tools | None:
        """The schemas for a domain, None where the file has none for it."""
        return self.tools.get(None, self.tools.get(domain))


def names_of_tools(trajectory: Trajectory) -> set[str]:
    """The tools that a trajectory lists or calls."""
    called = {call.name for step in trajectory.steps for call in step.tool_calls}
    return called | {tool.name for tool in trajectory.tools or ()}


def load_context(**supplied: Unpack[Supplied]) -> Context:
    """The context that options name.

    Parameters
    ----------
    agent, domain : str, optional
    tools : path, optional
        A JSON file of tool schemas; ``FILE#DOMAIN`` takes one domain of a file that is ordered by domain and holds it
        for every trajectory.
    policy : path, optional
        A text file.
    tool_kinds : mapping or iterable of str, optional
        What tools do, by name; or as ``NAME=read``, ``NAME=write``, ``NAME=generic``.
    """
    tools, policy = supplied.get("tools"), supplied.get("policy")
    return Context(
        agent=supplied.get("agent"),
        domain=supplied.get("domain"),
        tools=load_tools(tools) if tools else {},
        policy=_text(Path(policy), "--policy") if policy else None,
        tool_kinds=stated_kinds(supplied.get("tool_kinds") or ()),
    )


def stated_kinds(stated: Mapping[str, str] | Iterable[str]) -> dict[str, ToolKind]:
    """What tools do, by name, from a mapping or from the pairs of ``--tool-kind NAME=KIND``.

    Raises
    ------
    InputError
        When a pair is no pair, a kind is none of read, write and generic, or a name has two kinds.

    Examples
    --------
    >>> stated_kinds(["show_loan=read", "extend_loan=write"])
    {'show_loan': 'read', 'extend_loan': 'write'}
    """
    pairs = stated.items() if isinstance(stated, Mapping) else (pair.rpartition("=")[::2] for pair in stated)
    kinds: dict[str, ToolKind] = {}
    for name, kind in pairs:
        if not name:
            raise InputError("--tool-kind", "is written NAME=KIND", kind, "for example show_loan=read")
        one_of(f"--tool-kind {name}", kind, get_args(ToolKind))
        if kinds.setdefault(name, cast(ToolKind, kind)) != kind:
            raise InputError(f"--tool-kind {name}", "must be stated once", f"{kinds[name]}, {kind}", "drop one of them")
    return kinds


def load_tools(given: str | Path) -> dict[str | None, Tools]:
    """Tool schemas by domain (None: for every domain), from any of the usual forms.

    A list of tools as OpenAI, Anthropic, MCP or Gemini write them, alone, one a line, under ``tools``, or in MCP's
    reply to ``tools/list``; tau2's ``tool_defs``; or an object that maps domains to such lists, whose ``parameters``
    may be in the short form ``{name: JSON type}``.

    Raises
    ------
    InputError
        When the file cannot be read, holds no tools, or two of one name in one list.
    """
    path, domain = Path(given), None
    if not path.exists() and "#" in str(given):
        name, _, domain = str(given).rpartition("#")
        path = Path(name)
    try:
        with opened(path) as stream:
            values = [value for _, value in json_values(stream)]
        by_domain = _by_domain(values[0] if len(values) == 1 else values)
    except InputError as error:
        raise error.inside(f"--tools {path}") from error
    if domain is None:
        return by_domain
    one_of(f"--tools {given}", domain, [name for name in by_domain if name])
    return {None: by_domain[domain]}


def _by_domain(value: Any) -> dict[str | None, Tools]:
    if isinstance(value, list):
        return {None: _schemas(value, "")}
    if isinstance(value, dict):
        if isinstance(value.get("tools"), list):
            return {None: _schemas(value["tools"], "tools")}
        if isinstance(value.get("result"), dict):
            return _by_domain(value["result"])  # a reply of JSON-RPC, as MCP sends it
        lists = {name: member for name, member in value.items() if isinstance(member, list)}
        if lists:
            return {domain: _schemas(tools, domain) for domain, tools in lists.items()}
        if value and all(isinstance(member, dict) and "name" in member for member in value.values()):
            return {None: _schemas(list(value.values()), "")}
    raise InputError("", "holds no tools", cure="give a list of tools, or an object that maps domains to lists")


def _schemas(values: list[Any], where: str) -> Tools:
    schemas = tuple(
        tool_schema(tool, path)
        for number, record in enumerate(objects(values, where))
        for path, tool in _declared(record, at(where, number))
    )
    names = [schema.name for schema in schemas]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(where, "each tool must be there once", twice)
    return schemas


def _declared(record: dict[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    """A tool and its place; the tools inside where it only groups some (Gemini, namespaces of OpenAI Responses)."""
    grouped = ["functionDeclarations", "function_declarations"]
    if record.get("type") == "namespace":
        grouped.append("tools")
    for key in grouped:
        if key in record:
            inside = enumerate(members(record, key, where))
            return [(at(where, key, number), tool) for number, tool in inside]
    return [(where, record)]


def _text(path: Path, option: str) -> str:
    try:
        with opened(path) as stream:
            return stream.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {path}, byte {error.start}", "must be UTF-8", cure="save it as UTF-8") from error
    except InputError as error:
        raise InputError(f"{option} {path}", error.rule, error.found, error.cure) from error
