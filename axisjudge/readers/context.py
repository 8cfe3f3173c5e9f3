"""What the source lacks and the user supplies: agent, domain, tool schemas (``--tools``) and policy (``--policy``)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError, one_of
from axisjudge.readers.messages import at, objects, tool_schema
from axisjudge.readers.source import json_values, opened
from axisjudge.trajectory import ToolSchema, Trajectory

Tools = tuple[ToolSchema, ...]


@dataclass(frozen=True)
class Context:
    """What to fill in where a trajectory says nothing itself.

    `tools` maps a domain to its schemas; the key None holds for every domain.
    """

    agent: str | None = None
    domain: str | None = None
    tools: dict[str | None, Tools] = field(default_factory=dict)
    policy: str | None = None

    def fill(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with what it lacked; what its source says is never replaced."""
        missing: dict[str, Any] = {}
        if trajectory.agent is None and self.agent is not None:
            missing["agent"] = self.agent
        if trajectory.domain is None and self.domain is not None:
            missing["domain"] = self.domain
        domain = trajectory.domain or self.domain
        if trajectory.tools is None and (tools := self.tools_of(domain)) is not None:
            missing["tools"] = tools
        if trajectory.policy is None and self.policy is not None:
            missing["policy"] = self.policy
        return trajectory.model_copy(update=missing) if missing else trajectory

    def tools_of(self, domain: str | None) -> Tools | None:
        """The schemas for a domain, None where the file has none for it."""
        return self.tools.get(None, self.tools.get(domain))


def load_context(agent: str | None, domain: str | None, tools: str | Path | None, policy: str | Path | None) -> Context:
    """The context that options name.

    Parameters
    ----------
    agent, domain : str, optional
    tools : path, optional
        A JSON file of tool schemas; ``FILE#DOMAIN`` takes one domain of a file that is ordered by domain and holds it
        for every trajectory.
    policy : path, optional
        A text file.
    """
    schemas = load_tools(tools) if tools else {}
    return Context(agent, domain, schemas, _text(Path(policy), "--policy") if policy else None)


def load_tools(given: str | Path) -> dict[str | None, Tools]:
    """Tool schemas by domain (None: for every domain), from any of the usual forms.

    A list of tools as OpenAI, Anthropic or MCP write them, alone or under ``tools``; tau2's ``tool_defs``; or an object
    that maps domains to such lists, whose ``parameters`` may be in the short form ``{name: JSON type}``.

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
            (_, value), *_ = json_values(stream)
        by_domain = _by_domain(value)
    except InputError as error:
        raise InputError(_joined(f"--tools {path}", error.where), error.rule, error.found, error.cure) from error
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
        lists = {name: member for name, member in value.items() if isinstance(member, list)}
        if lists:
            return {domain: _schemas(tools, domain) for domain, tools in lists.items()}
        if value and all(isinstance(member, dict) and "name" in member for member in value.values()):
            return {None: _schemas(list(value.values()), "")}
    raise InputError("", "holds no tools", cure="give a list of tools, or an object that maps domains to lists")


def _schemas(values: list[Any], where: str) -> Tools:
    schemas = tuple(tool_schema(record, at(where, number)) for number, record in enumerate(objects(values, where)))
    names = [schema.name for schema in schemas]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(where, "each tool must be there once", twice)
    return schemas


def _text(path: Path, option: str) -> str:
    try:
        with opened(path) as stream:
            return stream.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {path}, byte {error.start}", "must be UTF-8", cure="save it as UTF-8") from error
    except InputError as error:
        raise InputError(f"{option} {path}", error.rule, error.found, error.cure) from error


def _joined(file: str, position: str) -> str:
    return f"{file}, {position}" if position else file
