"""What an edit must know of a run: which result answers which call, what reads and what changes, who says a number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from axisjudge.trajectory import Step, ToolCall, Trajectory

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"[$€£]?\d[\d,]*(\.\d+)?")


@dataclass(frozen=True)
class Block:
    """A message of the agent with calls, and the results that follow it at once, in the order of the calls."""

    message: Step
    results: tuple[Step, ...]

    @property
    def start(self) -> int:
        return self.message.index

    @property
    def end(self) -> int:
        """Index of the first step after the block."""
        return self.start + 1 + len(self.results)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.message.tool_calls

    @property
    def failed(self) -> bool:
        """Whether any result is an error, by the source's mark or by how it begins."""
        return any(result.error or result.content.lower().startswith("error") for result in self.results)


def blocks_of(trajectory: Trajectory) -> list[Block]:
    """The agent's calls with their results; messages whose results do not follow at once are left out."""
    steps, blocks = trajectory.steps, []
    for step in steps:
        if not step.tool_calls or len(step.agent_calls) != len(step.tool_calls):
            continue
        results = steps[step.index + 1 : step.index + 1 + len(step.tool_calls)]
        answers = [result.tool_call_id for result in results if result.role == "tool"]
        if answers == [call.id for call in step.tool_calls]:
            blocks.append(Block(step, results))
    return blocks


def is_all(kind: str, block: Block, kinds: Mapping[str, str]) -> bool:
    """Whether every call of a block is of a tool of this kind."""
    return all(kinds.get(call.name) == kind for call in block.calls)


def writes_of(trajectory: Trajectory) -> list[Block]:
    """The blocks of one call each that changed a record."""
    kinds = trajectory.kinds
    return [
        block
        for block in blocks_of(trajectory)
        if len(block.calls) == 1 and is_all("write", block, kinds) and not block.failed
    ]


def failed_before(write: Block, run: Trajectory) -> bool:
    """Whether the change is a second try: an earlier call of its tool failed, and without it that is the last word."""
    earlier = (block for block in blocks_of(run) if block.start < write.start and block.failed)
    return any(call.name == write.calls[0].name for block in earlier for call in block.calls)


def text_of(step: Step) -> str:
    """All that a step says: its content and the arguments of its calls."""
    return " ".join([step.content, *(as_json(call.arguments) for call in step.tool_calls)])


def text_of_all(steps: Iterable[Step]) -> str:
    return "\n".join(map(text_of, steps))


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def record_in(step: Step) -> Any:
    """The JSON value of a tool's result, None where it is plain text."""
    try:
        return json.loads(step.content)
    except ValueError:
        return None


def walk(value: Any) -> Iterator[Any]:
    """A JSON value and every value inside it."""
    yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(member)


def strings_in(value: Any) -> Iterator[str]:
    """All string leaves of a JSON value."""
    return (one for one in walk(value) if isinstance(one, str))


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """All objects inside a JSON value, itself included."""
    return (one for one in walk(value) if isinstance(one, dict))


def is_identifier(text: str) -> bool:
    """Whether a value looks like a record's identifier: one word with three digits in a row, no date, no amount."""
    one_word = 4 <= len(text) <= 64 and not re.search(r"\s", text)
    if not one_word or _DATE.search(text) or not re.search(r"\d{3}", text):
        return False
    return not (_NUMBER.fullmatch(text) and ("." in text or len(text) < 6))


def identifiers_in(value: Any) -> set[str]:
    """The identifiers among the values of a call's arguments or of a result."""
    return set(filter(is_identifier, strings_in(value)))


def rewritten(step: Step, change: Callable[[str], str]) -> Step:
    """The step with `change` applied to all that it says; ids of calls, names of tools and times stay."""
    calls = tuple(
        call.model_copy(update={"arguments": _changed(call.arguments, change)}) if call.arguments else call
        for call in step.tool_calls
    )
    return step.model_copy(update={"content": change(step.content), "tool_calls": calls})


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _changed(member, change) for key, member in value.items()}
    return [_changed(member, change) for member in value] if isinstance(value, list) else value


def numbered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with indices that follow from their places.

    A source's own numbering is carried on where it is a constant apart from the index, else given up: a gap or a
    jump in it would tell the twin from a run.
    """
    apart = {step.source_index - step.index for step in steps if step.source_index is not None}
    shift = apart.pop() if len(apart) == 1 else None
    return tuple(
        step.model_copy(update={"index": index, "source_index": None if shift is None else index + shift})
        for index, step in enumerate(steps)
    )


def later_by(start: str | None, begun: str | None, ended: str | None) -> str | None:
    """The time `start` plus what passed from `begun` to `ended`; None where a time is missing or of no known form."""
    try:
        first, second, third = (datetime.fromisoformat(time or "") for time in (start, begun, ended))
        return (first + (third - second)).isoformat()
    except (ValueError, TypeError):
        return None


def untimed(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Calls that stand in another place: they take the time of the step in which they now stand."""
    return tuple(call.model_copy(update={"timestamp": None}) for call in calls)


def at_times_of(before: Sequence[Step], steps: Sequence[Step]) -> list[Step]:
    """The steps at the times of the places that they now hold, so that time never runs backwards."""
    return [
        step.model_copy(update={"timestamp": old.timestamp, "tool_calls": untimed(step.tool_calls)})
        for old, step in zip(before, steps, strict=True)
    ]
