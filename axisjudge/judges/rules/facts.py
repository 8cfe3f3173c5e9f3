"""What a program can read off a trajectory, extracted once and shared by the axes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from axisjudge.judges.rules import formats, phrases, verbs
from axisjudge.trajectory import Step, ToolCall, ToolKind, ToolSchema, Trajectory

_FAILED = re.compile(
    r"\s*(?:error\b|exception\b|traceback\b|failed\b|\{\s*\"(?:error|exception)\"\s*:\s*(?!null|false|\"\"|\{\}|\[\])"
    r"|\{\s*\"status\"\s*:\s*\"(?:error|failed|failure)\")",
    re.IGNORECASE,
)
_ID_PARAMETER = re.compile(r"(?:^|_)ids?$|[a-z]I[dD]s?$|^email$")
_SPELLED = re.compile(r"\b(?:at|underscore|hyphen|dash|hash(?:tag)?|pound|dot)\b", re.IGNORECASE)
_SPACED = re.compile(r"[ /\n\t]")
_FINAL_NUMBER = re.compile(r"\d{5,}$")
_SQUEEZE = re.compile(r"[\W_]+")
_RUNS_PROGRAMS = re.compile(
    r"(?:^|_)(?:bash|sh|shell|exec\w*|terminal|console|python|interpreter|cmd|command|code|script|tests?|pytest|jest|lint\w*"
    r"|build|compil\w*|evaluate|eval|repl|notebook|typecheck|make|npm|cargo|gradle|sql)(?:_|$)",
    re.IGNORECASE,
)
_PROGRAM_PARAMETERS = {"command", "cmd", "commands", "script", "code", "source_code", "sql"}
_RECORD = re.compile(r"#?(?:[A-Z]{1,6}[-_]?\d+|[A-Za-z]*[-_]?\d{3,})|[^@]+@.+")
_OWN_MARK = re.compile(r"idempoten|nonce|correlation|request_?id|trace_?id|client_?token", re.IGNORECASE)
_ID_ENDING = re.compile(r"_?(?:id|number|no|code|key)s?$")
BEFORE_ALL = -1  #: the place of the policy and the tool descriptions: known before the first step


@dataclass(frozen=True)
class AgentCall:
    """A call of the agent with its result. `result_step` is None when no result came.

    `kind` is what the source or the user says of the tool. It is None where nobody says, and is not guessed from the
    tool's name: no rule holds a call of unknown kind against the agent as a change, and none takes it for harmless.
    """

    step: int
    name: str
    arguments: dict[str, Any] | str
    arguments_error: str | None
    schema: ToolSchema | None
    kind: ToolKind | None
    result_step: int | None
    result: str
    failed: bool

    @property
    def succeeded(self) -> bool:
        """A result came and is not an error."""
        return self.result_step is not None and not self.failed

    @property
    def may_have_changed(self) -> bool:
        """The call did not fail, and its tool changes something or nobody says that it does not."""
        return not self.failed and self.kind in (None, "write")

    @property
    def runs_program(self) -> bool:
        """The tool runs what it is given: its result is a program's output, which says nothing of the arguments.

        Such a program may have changed something even where it failed.
        """
        names = set(self.arguments) if isinstance(self.arguments, dict) else set()
        return bool(_PROGRAM_PARAMETERS & names) or _RUNS_PROGRAMS.search(_snake(self.name)) is not None

    @property
    def steps(self) -> tuple[int, ...]:
        """The step of the call and of its result."""
        return (self.step,) if self.result_step is None else (self.step, self.result_step)

    @cached_property
    def values(self) -> list[formats.Leaf]:
        """Every scalar argument with the parameter it stands under."""
        return formats.leaves(self.arguments) if isinstance(self.arguments, dict) else []

    @cached_property
    def identifiers(self) -> tuple[tuple[str, str], ...]:
        """(parameter, value) of the arguments that name a record, each once."""
        return tuple(dict.fromkeys(_identifiers(self.values)))

    def named_in(self, text: str) -> bool:
        """Whether one of its identifiers stands in a text."""
        lowered = text.lower()
        return any(plain(value) in lowered for _, value in self.identifiers)

    @cached_property
    def references(self) -> tuple[tuple[str, str], ...]:
        """The identifiers that name a record which was there before.

        Left out are words that the tool takes as they are ("START", "eu-west-1") and the id of what it makes itself.
        """
        return tuple(pair for pair in self.identifiers if not (self.succeeded and self._is_own_word(*pair)))

    def _is_own_word(self, parameter: str, value: str) -> bool:
        record = _ID_ENDING.sub("", _snake(parameter).lower())
        made = verbs.makes(self.name) and bool(record) and record in _snake(self.name).lower()
        return (
            made
            or _OWN_MARK.search(parameter) is not None
            or not (formats.is_identifier(value) or _RECORD.fullmatch(value))
        )

    @property
    def result_leaves(self) -> tuple[formats.Leaf, ...]:
        """Every scalar of a JSON result; empty where the result is not JSON."""
        return formats.leaves_in(self.result)

    def same_as(self, other: AgentCall) -> bool:
        """Same tool, same arguments."""
        return self.name == other.name and self.arguments == other.arguments


@dataclass(frozen=True)
class SourceText:
    """A text the agent did not write itself, in lower case, by the step at which it came to know it."""

    step: int
    text: str
    from_user: bool

    @cached_property
    def squeezed(self) -> str:
        """The text without spaces, signs and the spoken names of signs."""
        return _SQUEEZE.sub("", _SPELLED.sub("", self.text))

    @cached_property
    def days(self) -> frozenset[formats.Day]:
        """Every day that the text may name."""
        return formats.days_given(self.text)

    def holds(self, key: str) -> bool:
        """Whether a token stands in the text; in the user's words also its number alone, or the token spelled out."""
        if stands_in(key, self.text):
            return True
        if not self.from_user:
            return False
        number = _FINAL_NUMBER.search(key)
        if number is not None and (stands_in(number.group(), self.text) or number.group() in self.squeezed):
            return True  # the user gave the number, the agent put the letters before it
        squeezed = _SQUEEZE.sub("", key)
        return len(squeezed) >= 5 and squeezed in self.squeezed


@dataclass(frozen=True)
class Facts:
    """The parts of a trajectory that rules look at."""

    trajectory: Trajectory
    calls: tuple[AgentCall, ...]
    agent_messages: tuple[tuple[int, str], ...]
    user_messages: tuple[tuple[int, str], ...]
    sources: tuple[SourceText, ...]
    tools: dict[str, ToolSchema] | None
    rulebook: str
    _first_seen: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, trajectory: Trajectory) -> Facts:
        """Read the facts off a trajectory."""
        tools = None if trajectory.tools is None else {tool.name: tool for tool in trajectory.tools}
        steps, kinds = trajectory.steps, trajectory.kinds
        made, results = list(_made(steps)), trajectory.call_results
        calls = tuple(
            _call(step, call, results.get(key), (tools or {}).get(call.name), kinds.get(call.name))
            for step, key, call in made
        )
        agents = {at for at, asked in trajectory.answered_calls.items() if asked.call.requestor == "assistant"}
        return cls(
            trajectory=trajectory,
            calls=calls,
            agent_messages=tuple(
                (s.index, s.content) for s in steps if s.role == "assistant" and not s.kind and s.content.strip()
            ),
            user_messages=tuple((s.index, s.content) for s in steps if s.role == "user" and s.content.strip()),
            sources=tuple(_sources(trajectory, agents)),
            tools=tools,
            rulebook="\n".join(
                [trajectory.policy or "", *(s.content for s in steps if s.role == "system" and not s.kind)]
            ),
        )

    @cached_property
    def is_english(self) -> bool:
        """Whether what the user says, and what the agent says, may be read with English word lists."""
        return all(phrases.is_english(text for _, text in side) for side in (self.user_messages, self.agent_messages))

    @cached_property
    def shows_what_was_given(self) -> bool:
        """Whether a word of the agent's can be held against what it had been given.

        Not where several agents speak, because one may report what it saw elsewhere; nor in mere talk, without
        results, tools or a policy, where the agent speaks from what it knows.
        """
        speakers = {step.agent for step in self.trajectory.steps if step.role == "assistant"}
        given = bool(self.tools or self.trajectory.policy) or any(call.result_step is not None for call in self.calls)
        return len(speakers) <= 1 and given

    @cached_property
    def writes(self) -> tuple[AgentCall, ...]:
        """Calls of tools that change state, as the source or the user says."""
        return tuple(call for call in self.calls if call.kind == "write")

    @cached_property
    def write_tools(self) -> tuple[str, ...]:
        """Names of the tools that change state and are offered (or, where no list is known, called)."""
        kinds = self.trajectory.kinds.items()
        return tuple(name for name, kind in kinds if kind == "write" and (self.tools is None or name in self.tools))

    @cached_property
    def records(self) -> dict[str, list[tuple[dict[str, Any], AgentCall]]]:
        """The records that results showed, by each identifier that stands in them, with the call that showed them."""
        records: dict[str, list[tuple[dict[str, Any], AgentCall]]] = {}
        for call in self.calls:
            for key, value, owner in call.result_leaves if call.succeeded else ():
                if owner is not None and _names_a_record(key) and isinstance(value, str):
                    records.setdefault(value, []).append((owner, call))
        return records

    @cached_property
    def undocumented(self) -> tuple[AgentCall, ...]:
        """Calls that did not fail, of tools of which nobody says whether they change state."""
        return tuple(call for call in self.calls if call.kind is None and not call.failed)

    @cached_property
    def write_verbs(self) -> frozenset[str]:
        """Verbs of the tools that change state, offered or called."""
        return frozenset(verbs.verb_of(name) for name, kind in self.trajectory.kinds.items() if kind == "write")

    @cached_property
    def claims(self) -> tuple[tuple[int, str], ...]:
        """(step, participle) of everything that the agent tells as done."""
        return tuple((index, word) for index, text in self.agent_messages for word in phrases.claims_of(text))

    @cached_property
    def keys_of(self) -> dict[str, set[str]]:
        """The keys under which results show the identifiers that the agent used."""
        used = {value for call in self.calls for _, value in call.identifiers}
        keys: dict[str, set[str]] = {}
        for call in self.calls:
            for key, value, _ in call.result_leaves:
                if isinstance(value, str) and value in used:
                    keys.setdefault(value, set()).add(key)
        return keys

    @cached_property
    def result_keys(self) -> set[str]:
        """Every key under which a result shows something."""
        return {leaf.key for call in self.calls for leaf in call.result_leaves}

    def last_agent_message(self, step: int) -> tuple[int, str] | None:
        """The agent's last words before a step."""
        return next(((index, text) for index, text in reversed(self.agent_messages) if index < step), None)

    def last_user_message(self, step: int) -> tuple[int, str] | None:
        """The user's last words before a step."""
        return next(((index, text) for index, text in reversed(self.user_messages) if index < step), None)

    def first_seen(self, token: str) -> int | None:
        """The first step at which a token stands in a text that the agent did not write; None if it never does.

        Case, a leading ``#`` and, in the user's words, spaces and spelled-out signs do not matter.
        """
        key = plain(token)
        if key not in self._first_seen:
            self._first_seen[key] = next((s.step for s in self.sources if s.holds(key)), None)
        return self._first_seen[key]

    def seen_before(self, token: str, step: int) -> bool:
        """Whether a token was known to the agent before a step."""
        seen = self.first_seen(token)
        return seen is not None and seen < step

    def user_gave(self, token: str, step: int) -> bool:
        """Whether the user had said a token before a step, be it spelled out or its number alone."""
        key = plain(token)
        return any(source.from_user and source.step < step and source.holds(key) for source in self.sources)

    def returned_after(self, call: AgentCall, value: str) -> int | None:
        """The first step after a call that brings a value to the agent; results of calls that carried it left out."""
        key = plain(value)
        echoes = {
            other.result_step for other in self.calls if any(plain(str(leaf.value)) == key for leaf in other.values)
        }
        later = (s.step for s in self.sources if s.step > call.step and s.step not in echoes and stands_in(key, s.text))
        return next(later, None)


@lru_cache(maxsize=4096)
def _names_a_record(key: str) -> bool:
    return _ID_PARAMETER.search(key) is not None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)


def plain(token: str) -> str:
    """A token as it is compared: lower case, without a leading ``#``."""
    return token.lower().replace("\xa0", " ").strip().lstrip("#")


def _identifiers(values: list[formats.Leaf]) -> Iterator[tuple[str, str]]:
    for parameter, value, _ in values:
        if not isinstance(value, str) or not (text := value.strip()) or len(text) > 60 or _SPACED.search(text):
            continue
        if _ID_PARAMETER.search(parameter) or formats.is_identifier(text) or (text.isdigit() and len(text) >= 5):
            yield parameter, text


def _made(steps: tuple[Step, ...]) -> Iterator[tuple[Step, tuple[int, int], ToolCall]]:
    for step in steps:
        for number, call in enumerate(step.tool_calls, start=1):
            if call.requestor == "assistant" and step.role == "assistant":
                yield step, (step.index, number), call


def _call(
    step: Step, call: ToolCall, result: Step | None, schema: ToolSchema | None, kind: ToolKind | None
) -> AgentCall:
    return AgentCall(
        step=step.index,
        **{name: getattr(call, name) for name in ("name", "arguments", "arguments_error")},
        schema=schema,
        kind=kind,
        result_step=None if result is None else result.index,
        result="" if result is None else result.content,
        failed=result is not None and (result.error is True or _FAILED.match(result.content) is not None),
    )


def _sources(trajectory: Trajectory, agents: set[int]) -> Iterator[SourceText]:
    offered = "\n".join(f"{tool.description} {tool.parameters}" for tool in trajectory.tools or ())
    yield SourceText(BEFORE_ALL, f"{trajectory.policy or ''}\n{offered}".lower(), False)
    for step in trajectory.steps:
        if step.content and (step.role in ("system", "user") or step.index in agents):
            yield SourceText(step.index, step.content.lower().replace("\xa0", " "), step.role == "user")


def stands_in(token: str, text: str) -> bool:
    """Whether a token stands in a text by itself, not as part of a longer word or number."""
    start = text.find(token) if token else -1
    while start >= 0:
        end = start + len(token)
        if not (start and _joins(text[start - 1])) and not (end < len(text) and _joins(text[end])):
            return True
        start = text.find(token, start + 1)
    return False


def _joins(char: str) -> bool:
    return char.isalnum() or char == "_"
