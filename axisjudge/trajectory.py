"""What an agent did: a trajectory of steps, with the tools and the policy it worked under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticSerializationError

from axisjudge.checks import InputError

Role = Literal["system", "user", "assistant", "tool"]
Requestor = Literal["assistant", "user"]
ToolKind = Literal["read", "write", "generic"]
StepKind = Literal["thinking", "error"]
#: Where the duration of a call comes from: the agent measured and states it, or its result's time stamp less its own.
DurationSource = Literal["stated", "timestamps"]


def _unset(value: object) -> bool:
    """Fields that came later are not written where they say nothing, so that hashes of older trajectories stay."""
    return value is None or value == {}


class Record(BaseModel):
    """Frozen record that refuses unknown fields.

    A NaN or an infinity that a source has among a call's arguments is written as such, not as null.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class ToolCall(Record):
    """One call of a tool.

    `arguments` is a dict, or the raw string when it is not a JSON object; `arguments_error` then says why.
    `requestor` is ``user`` when the user simulator called the tool: such a call is kept but is not the agent's.
    `timestamp` is when this call was written, None where that is its step's time or unknown.
    """

    id: str | None = None
    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    arguments_error: str | None = None
    requestor: Requestor = "assistant"
    timestamp: str | None = Field(default=None, exclude_if=_unset)


class Step(Record):
    """One message. `index` is its 0-based position, the number that judges cite.

    `error` is True or False where the source marks tool errors and None where it does not say.
    `timestamp` is when the step was complete: a message written, a tool's result arrived.
    `content_timestamp` is when the content was written, None where that is the step's time or unknown: a message is
    complete only with its last call.
    `source_index` keeps the source's own numbering where it has one.
    `kind` is ``thinking`` for what the agent wrote to itself (role assistant), ``error`` for an error that belongs to
    no tool call (role system), None for an ordinary message. `duration_s` is how long the step took, in seconds, where
    the source states it. `agent` names who took the step, where a source names its speakers: several agents in one run.
    """

    index: int
    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    error: bool | None = None
    timestamp: str | None = None
    content_timestamp: str | None = Field(default=None, exclude_if=_unset)
    source_index: int | None = None
    kind: StepKind | None = Field(default=None, exclude_if=_unset)
    duration_s: float | None = Field(default=None, ge=0, allow_inf_nan=False, exclude_if=_unset)
    agent: str | None = Field(default=None, exclude_if=_unset)

    @property
    def agent_calls(self) -> tuple[ToolCall, ...]:
        """The calls of this step that the agent made (a user simulator's calls left out)."""
        return tuple(call for call in self.tool_calls if call.requestor == "assistant")


class ToolSchema(Record):
    """A tool as the agent saw it: `parameters` is a JSON schema.

    `kind` is what a call of it does: ``read`` looks and leaves everything as it was, ``write`` changes something,
    ``generic`` touches no record (a calculator, a handover). None where the source does not say: a name is no source.
    """

    name: str
    description: str = ""
    kind: ToolKind | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def usable(self) -> dict[str, Any]:
        """The parameters as a schema, down to its parts, without the words whose value JSON Schema does not allow."""
        return _usable(self.parameters)


def _usable(schema: Any) -> dict[str, Any]:
    held = schema.items() if isinstance(schema, dict) else ()
    kept = ((word, value, *_WORDS.get(word, (object, lambda value: value))) for word, value in held)
    return {word: read(value) for word, value, kind, read in kept if isinstance(value, kind)}


#: Words of a JSON schema that are read here: what each must hold, and what is usable of that.
_WORDS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "properties": (dict, lambda named: {name: _usable(one) for name, one in named.items()}),
    "required": (list, lambda names: [name for name in names if isinstance(name, str)]),
    **dict.fromkeys(("anyOf", "oneOf"), (list, lambda forms: list(map(_usable, forms)))),
    "items": (dict, _usable),
    "enum": (list, list),
}


class AskedCall(NamedTuple):
    """A call with its place: the index of its step, and its number there, from 1."""

    step: int
    number: int
    call: ToolCall


class Trajectory(Record):
    """One run of one agent on one task.

    Parameters
    ----------
    id : str
        The source's own id, else a hash of the content; never a path.
    agent, agent_family, task_id, domain, reward, termination
        None where the source lacks them; nothing is guessed. `reward` is the end-task reward as the source gives
        it, `termination` the source's own word for how the run ended.
    source : str
        The format it was read from (``tau2``, ``tau_bench``, ...).
    steps : tuple of Step
        May be empty: a run that produced no message is kept and counted.
    tools : tuple of ToolSchema or None
        None when neither the source nor ``--tools`` supplies them.
    tool_kinds : dict of str to {"read", "write", "generic"}
        What a user states of tools by name (``--tool-kind``); it goes before what `tools` say.
    policy : str or None
        The agent's instructions, from the source or ``--policy``.
    meta : dict
        What else the source says (trial, seed, reward breakdown). Judges are never shown it.
    """

    id: str = Field(min_length=1)
    source: str
    agent: str | None = None
    agent_family: str | None = None
    task_id: str | None = None
    domain: str | None = None
    reward: float | None = Field(default=None, allow_inf_nan=False)
    termination: str | None = None
    steps: tuple[Step, ...] = ()
    tools: tuple[ToolSchema, ...] | None = None
    policy: str | None = None
    meta: dict[str, Any] = Field(default_factory=dict)
    tool_kinds: dict[str, ToolKind] = Field(default_factory=dict, exclude_if=_unset)

    @property
    def kinds(self) -> dict[str, ToolKind]:
        """Tool name -> what it does, for the tools of which the source or the user says so."""
        return {tool.name: tool.kind for tool in self.tools or () if tool.kind} | self.tool_kinds

    @property
    def call_durations(self) -> list[tuple[ToolCall, float | None, DurationSource | None]]:
        """Each call of the agent with its duration in seconds and where that comes from, both None where unknown.

        A call without an answer has no duration, nor has one whose answer bears an earlier time.
        """
        answers = self.call_results
        calls = [(call, step, at) for step in self.steps for at, call in enumerate(step.tool_calls, start=1)]
        agents = [each for each in calls if each[0].requestor == "assistant"]
        return [(call, *_duration(call, step, answers.get((step.index, at)))) for call, step, at in agents]

    @property
    def answered_calls(self) -> dict[int, AskedCall]:
        """The call that a result belongs to, as far as the record tells, by the index of the result's step.

        A result answers the call of its id, whatever stands between them: of calls with one id those of the last
        message before it, in their order, and any further one the last of them; a call after it where no other result
        answers that. Where no call has its id, or it has none, it answers the next call of the last message with calls
        that no result names, one of its name before others.
        """
        ids = {call.id for step in self.steps for call in step.tool_calls} - {None}
        named = {step.tool_call_id for step in self.steps if step.role == "tool"}
        waiting: dict[str | None, list[AskedCall]] = {}
        last: dict[str | None, AskedCall] = {}
        answered: dict[int, AskedCall] = {}
        early: list[Step] = []
        for step in self.steps:
            if step.tool_calls:
                waiting |= {key: [] for key in (None, *(call.id for call in step.tool_calls))}
            for number, call in enumerate(step.tool_calls, start=1):
                waiting[call.id if call.id in named else None].append(AskedCall(step.index, number, call))
            if step.role != "tool":
                continue
            key = step.tool_call_id if step.tool_call_id in ids else None
            if calls := waiting.get(key):
                asked = next((one for one in calls if one.call.name == step.tool_name), calls[0])
                calls.remove(asked)
                answered[step.index] = asked
                last |= {key: asked} if key is not None else {}
            elif key in last:
                answered[step.index] = last[key]
            elif key is not None:
                early.append(step)
        return answered | {step.index: calls.pop(0) for step in early if (calls := waiting[step.tool_call_id])}

    @property
    def call_results(self) -> dict[tuple[int, int], Step]:
        """The first result of each call that has one, by the index of the call's step and its number there, from 1."""
        answered = reversed(self.answered_calls.items())
        return {(asked.step, asked.number): self.steps[at] for at, asked in answered}

    @property
    def cluster_id(self) -> str:
        """The unit of independence: the task (within its domain), else the trajectory itself."""
        if self.task_id is None:
            return self.id
        return self.task_id if self.domain is None else f"{self.domain}/{self.task_id}"

    @property
    def content_sha256(self) -> str:
        """Hash of all that a judge is shown: steps, tools, policy and how the run ended; not id, agent or reward."""
        return self._content[0]

    @property
    def mark(self) -> str:
        """Sixteen digits that stand nowhere in what a judge is shown, so that nothing there can pass for a heading."""
        return self._content[1]

    @property
    def setting_mark(self) -> str:
        """The same for policy and tools: alike in all runs that have them alike, and absent from each of them."""
        return self._content[2]

    @cached_property
    def _content(self) -> tuple[str, str, str]:
        setting = {"tools", "policy", "tool_kinds"}
        try:
            shown = self.model_dump_json(include={"steps", "termination", *setting})
            of_setting = self.model_dump_json(include=setting)
        except (PydanticSerializationError, UnicodeEncodeError) as error:
            raise InputError(f"trajectory {self.id}", "must be writable as JSON", str(error)) from error
        digest = sha256(shown.encode()).hexdigest()
        mark = absent_from(shown, digest)
        return digest, mark, absent_from(shown + mark, sha256(of_setting.encode()).hexdigest())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Trajectory:
        """A copy with other fields; its hash is its own, not the one remembered here."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("_content", None)
        return copy


def _duration(call: ToolCall, step: Step, answer: Step | None) -> tuple[float | None, DurationSource | None]:
    begun, ended = call.timestamp or step.timestamp, answer.timestamp if answer else None
    if answer is not None and answer.duration_s is not None:
        return answer.duration_s, "stated"
    if begun is None or ended is None:
        return None, None
    try:
        took = (datetime.fromisoformat(ended.strip()) - datetime.fromisoformat(begun.strip())).total_seconds()
    except (TypeError, ValueError):  # one is no time, or has a zone where the other has none
        return None, None
    return (took, "timestamps") if took >= 0 else (None, None)


def absent_from(text: str, digest: str, digits: int = 16) -> str:
    """The first hexadecimal digits of a hash, hashed again while a text contains them."""
    while digest[:digits] in text:
        digest = sha256(digest.encode()).hexdigest()
    return digest[:digits]


def as_runs(trajectories: Any) -> list[Trajectory]:
    """Trajectories, or a single one, as a list.

    Raises
    ------
    InputError
        Something else is among them, such as the path of a file.
    """
    is_many = isinstance(trajectories, Iterable) and not isinstance(trajectories, (str, BaseModel))
    runs: list[Any] = list(trajectories) if is_many else [trajectories]
    if other := [run for run in runs if not isinstance(run, Trajectory)]:
        cure = "give those of axisjudge.read_trajectories(PATH)"
        raise InputError("trajectories", "must be Trajectory records", other[0], cure)
    return runs
