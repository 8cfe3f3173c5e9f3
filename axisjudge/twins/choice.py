"""Edit of the choice: another tool that changes records is called with the values at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from axisjudge.trajectory import ToolSchema, Trajectory
from axisjudge.twins.flow import is_scalar
from axisjudge.twins.runs import (
    Block,
    as_json,
    blocks_of,
    failed_before,
    identifiers_in,
    is_identifier,
    objects_in,
    record_in,
    writes_of,
)
from axisjudge.twins.twin import Edited, Refused

#: Tool -> arguments and result of calls that went through, from all runs at hand.
Examples = Mapping[str, Sequence[tuple[dict[str, Any], dict[str, Any]]]]
#: With fewer results of a tool it cannot be told what in them is always the same.
FEWEST_EXAMPLES = 2

_UNKNOWN = object()


def examples_of(runs: Iterable[Trajectory]) -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    """What each tool answered when it changed a record: the pattern for an answer that nobody gave."""
    examples: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for run in runs:
        for block in writes_of(run):
            call, record = block.calls[0], record_in(block.results[0])
            if isinstance(call.arguments, dict) and isinstance(record, dict):
                examples.setdefault(call.name, []).append((call.arguments, record))
    return examples


def other_tool(run: Trajectory, rng: Random, examples: Examples) -> Edited | Refused:
    """The last change is made with another tool on offer, coarser where there is one, and the report stays.

    The other tool takes a part of the call's values, or the same, or one more that a record of the run holds under
    the parameter's name. Its answer follows what it answered elsewhere in these runs: what repeats an argument repeats
    it, what is always the same is the same, the rest is what the record held before or, failing that, what the
    replaced tool answered. A real tool might have refused the record's state, and figures such as a refund are those
    of the original call.
    """
    if not run.tools:
        return Refused("the tools on offer are not known")
    writes = writes_of(run)
    if not writes:
        return Refused("no change was made")
    write = writes[-1]
    if failed_before(write, run):
        return Refused("the last change is a second try after an error")
    if _touched_besides(write, writes[:-1], run):
        return Refused("the record of the last change was changed before or is used again")
    replaced = record_in(write.results[0])
    if not isinstance(replaced, dict):
        return Refused("the last change answers with no record")
    held = {**replaced, **_before(replaced, write, run)}
    by_kind: dict[int, list[tuple[ToolSchema, dict[str, Any], dict[str, Any]]]] = {}
    for tool in run.tools:
        arguments = _arguments(tool, write, run)
        if arguments is None:
            continue
        answer = _answer(arguments, held, examples.get(tool.name, ()))
        if answer is not None:
            by_kind.setdefault(_distance(arguments, write), []).append((tool, arguments, answer))
    if not by_kind:
        return Refused("no other tool that changes records takes the values at hand")
    tool, arguments, answer = rng.choice(by_kind[min(by_kind)])
    call = write.calls[0].model_copy(update={"name": tool.name, "arguments": arguments})
    result = write.results[0].model_copy(
        update={"content": as_json(answer), "tool_name": write.results[0].tool_name and tool.name}
    )
    message = write.message.model_copy(update={"tool_calls": (call,)})
    steps = (*run.steps[: write.start], message, result, *run.steps[write.end :])
    what = f"Step {write.start} calls {tool.name} in place of {write.calls[0].name}."
    return Edited(steps, (write.start, write.start + 1), what)


def _touched_besides(write: Block, earlier: Sequence[Block], run: Trajectory) -> bool:
    """Whether another change is of the same record (the rest of a thing is then its whole), or a later call."""
    values = identifiers_in(write.calls[0].arguments)
    later = [call for step in run.steps[write.end :] for call in step.agent_calls]
    return any(values & identifiers_in(call.arguments) for call in [*later, *(block.calls[0] for block in earlier)])


def _distance(arguments: dict[str, Any], write: Block) -> int:
    """0: a part of the values (coarser); 1: the same values; 2: a value of the run was filled in."""
    given = write.calls[0].arguments
    assert isinstance(given, dict)
    return 2 if arguments.keys() - given.keys() else 1 if arguments.keys() == given.keys() else 0


def _arguments(tool: ToolSchema, write: Block, run: Trajectory) -> dict[str, Any] | None:
    """The values at hand that another tool takes; None where one is missing or the tool would do the same job."""
    given = write.calls[0].arguments
    if tool.kind != "write" or tool.name == write.calls[0].name or not isinstance(given, dict):
        return None
    arguments: dict[str, Any] = {}
    for name in tool.usable.get("required", ()):
        value = given.get(name, _UNKNOWN)
        if value is _UNKNOWN:
            value = _only_value(name, run, write)
        if value is _UNKNOWN:
            return None
        arguments[name] = value
    if not given.keys() & arguments.keys():
        return None
    dropped = given.keys() - arguments.keys()
    return None if any(len(set(_held(name.removesuffix("s"), run, write))) == 1 for name in dropped) else arguments


def _only_value(name: str, run: Trajectory, write: Block) -> Any:
    """The one identifier that the results before the change hold under this name.

    One that has an identifier at hand inside it is a part of that record, and a call for the only part does the same
    job as a call for the whole.
    """
    values = {value for value in _held(name, run, write) if is_identifier(str(value))}
    at_hand = identifiers_in(write.calls[0].arguments)
    if len(values) != 1 or any(other in str(value) for other in at_hand for value in values):
        return _UNKNOWN
    return values.pop()


def _before(replaced: dict[str, Any], write: Block, run: Trajectory) -> dict[str, Any]:
    """The record of the change as it was last read, empty where it was not read."""
    names = {key: value for key, value in replaced.items() if key.endswith("id") and is_identifier(str(value))}
    last: dict[str, Any] = {}
    for block in blocks_of(run):
        for result in block.results if block.start < write.start else ():
            record = record_in(result)
            if isinstance(record, dict) and next(iter(names), None) in record and names.items() <= record.items():
                last = record
    return last


def _held(name: str, run: Trajectory, write: Block) -> Iterator[Any]:
    for block in blocks_of(run):
        if block.start < write.start:
            for result in block.results:
                yield from (o[name] for o in objects_in(record_in(result)) if name in o and is_scalar(o[name]))


def _answer(
    arguments: dict[str, Any], held: dict[str, Any], examples: Sequence[tuple[dict[str, Any], dict[str, Any]]]
) -> dict[str, Any] | None:
    """What the tool would answer, by what it answered elsewhere; None where that cannot be told."""
    if len({as_json(given) for given, _ in examples}) < FEWEST_EXAMPLES:
        return None
    answer: dict[str, Any] = {}
    for key in examples[0][1]:
        values = [(given, record[key]) for given, record in examples if key in record]
        value = _value(key, values, arguments, held)
        if value is _UNKNOWN:
            return None
        answer[key] = value
    return answer


def _value(
    key: str, values: Sequence[tuple[dict[str, Any], Any]], arguments: dict[str, Any], held: dict[str, Any]
) -> Any:
    for name, value in arguments.items():
        if all(name in given and _same(given[name], answer) for given, answer in values):
            return value
    if len({as_json(answer) for _, answer in values}) == 1:
        return values[0][1]
    if all(isinstance(answer, dict) for _, answer in values):
        nested = [(given, answer) for given, answer in values]
        inner = held.get(key)
        built = _answer(arguments, inner if isinstance(inner, dict) else {}, nested)
        return _UNKNOWN if built is None else built
    return held.get(key, _UNKNOWN)


def _same(given: Any, answer: Any) -> bool:
    if isinstance(given, list) and isinstance(answer, list):
        return sorted(map(as_json, given)) == sorted(map(as_json, answer))
    return bool(given == answer)
