"""Inspect AI logs: ``.json``, and ``.eval`` (a zip archive, deflate or zstd) with one file per sample."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

from pydantic_core import from_json

from axisjudge.checks import InputError
from axisjudge.readers import messages as chat
from axisjudge.readers.events import Steps
from axisjudge.readers.source import NotTrajectories
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

FORMAT = "inspect"
_HEADS = ("header.json", "_journal/start.json")
_ATTACHMENT = "attachment://"
# what Inspect's letters are worth in its own accuracy metric
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def recognise(value: Any) -> bool:
    """Whether the JSON value is an Inspect log."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and {"task", "model"} <= value["eval"].keys()


def read(value: dict[str, Any], where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The samples of a ``.json`` log."""
    position = chat.at(where, "samples")
    samples = chat.members(value, "samples", where)
    if not samples:
        yield _without_samples(value, where)
    for number, sample in enumerate(samples):
        yield _sample(sample, value["eval"], chat.at(position, number))


def read_archive(stream: BinaryIO) -> Iterator[chat.ReadRun]:
    """The samples of an ``.eval`` log, one after the other.

    Raises
    ------
    NotTrajectories
        When the archive is no Inspect log.
    """
    with _unpacked(stream) as (position, head, samples):
        if position != _HEADS[0]:
            yield chat.ReadRun("", None, (chat.Note("", "the log was never finished", f"it has no {_HEADS[0]}"),))
        if not samples:
            yield _without_samples(head, "")
        for name, sample in samples.items():
            yield _sample(sample(), head["eval"], name)


def samples_of(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], Trajectory]]:
    """The samples of a log with all that it says of them: the log's head, the sample as it stands, and the trajectory.

    Raises
    ------
    InputError
        The file is no Inspect log, or is broken.
    """
    where = str(path)
    if path.suffix != ".eval":
        log = from_json(path.read_bytes())
        if not recognise(log):
            raise InputError(where, "is no Inspect log")
        yield from _runs(log, enumerate(chat.members(log, "samples", where)), chat.at(where, "samples"))
        return
    try:
        with path.open("rb") as stream, _unpacked(stream) as (_, head, samples):
            yield from _runs(head, ((name, sample()) for name, sample in samples.items()), "")
    except InputError as error:
        raise error.inside(where) from error


def trajectory_of(sample: dict[str, Any], run: dict[str, Any]) -> Trajectory:
    """The trajectory of one sample as a log holds it; `run` is the log's head ``eval``.

    Raises
    ------
    InputError
        The sample is broken.
    """
    trajectory = _sample(sample, run, "sample").trajectory
    if trajectory is None:
        raise InputError("sample", "holds no run", sample.get("id"))
    return trajectory


def _runs(
    log: dict[str, Any], samples: Iterable[tuple[int | str, dict[str, Any]]], where: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any], Trajectory]]:
    for name, sample in samples:
        if (run := _sample(sample, log["eval"], chat.at(where, name)).trajectory) is not None:
            yield log, sample, run


@contextmanager
def _unpacked(stream: BinaryIO) -> Iterator[tuple[str, dict[str, Any], dict[str, Callable[[], Any]]]]:
    """An archive: the name of its head, the head, and how to get each sample."""
    import zipfile_zstd  # noqa: F401 (teaches zipfile method 93)

    try:
        with ZipFile(stream) as packed:
            names = packed.namelist()
            heads = [name for name in _HEADS if name in names]
            if not heads:
                raise NotTrajectories("", "is a zip archive without an Inspect header")
            head = _member(packed, heads[0])
            if not recognise(head):
                raise InputError(heads[0], "must name the task and the model", cure="export the log again")
            samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            yield heads[0], head, {name: partial(_member, packed, name) for name in samples}
    except (BadZipFile, EOFError, NotImplementedError) as error:
        raise InputError("", f"is a broken zip archive ({error})", cure="copy it again") from error


def _member(packed: ZipFile, name: str) -> Any:
    try:
        content = packed.read(name)
    except Exception as error:  # each compression has an error class of its own
        raise BadZipFile(f"{name}: {error}") from error
    try:
        return from_json(content)
    except ValueError as error:
        raise InputError(name, f"is not valid JSON ({error})", cure="export the log again") from error


def _without_samples(log: dict[str, Any], where: str) -> chat.ReadRun:
    return chat.ReadRun(where, None, (chat.Note(where, "the log has no samples", f"status {log.get('status')}"),))


def _sample(sample: dict[str, Any], run: dict[str, Any], where: str) -> chat.ReadRun:
    notes: list[chat.Note] = []
    attachments = chat.field(sample, "attachments", dict, where, {})
    position = chat.at(where, "messages")
    steps = _steps(chat.objects(_resolved(sample.get("messages") or [], attachments), position), position, notes)
    task_id, epoch = chat.word(sample.get("id")), sample.get("epoch")
    scores = chat.field(sample, "scores", dict, where, {})
    values = {name: score.get("value") if isinstance(score, dict) else score for name, score in scores.items()}
    trajectory = chat.made(
        Trajectory,
        where,
        id=sample.get("uuid") or chat.content_id(steps, run.get("run_id"), run["task"], task_id, epoch),
        source=FORMAT,
        agent=run["model"],
        task_id=task_id,
        domain=run["task"],
        reward=_reward(values),
        termination=_termination(sample, where),
        steps=steps,
        tools=_tools(sample, attachments, where),
        meta={key: value for key, value in {"epoch": epoch, "scores": values}.items() if value},
    )
    return chat.ReadRun(where, trajectory, tuple(notes))


def _resolved(value: Any, attachments: dict[str, str]) -> Any:
    """`value` with every ``attachment://`` replaced by the text it stands for; one that is absent stays."""
    if isinstance(value, str):
        return attachments.get(value.removeprefix(_ATTACHMENT), value) if value.startswith(_ATTACHMENT) else value
    if isinstance(value, list):
        return [_resolved(member, attachments) for member in value]
    if isinstance(value, dict):
        return {key: _resolved(member, attachments) for key, member in value.items()}
    return value


def _steps(messages: list[dict[str, Any]], where: str, notes: list[chat.Note]) -> tuple[Step, ...]:
    steps = Steps()
    for number, message in enumerate(messages):
        steps.where = position = chat.at(where, number)
        steps.source_index = number
        role = chat.role_of(message, position)
        error = chat.field(message, "error", dict, position, {})
        content, hosted = _content(message.get("content"))
        text = chat.text_of(content, chat.at(position, "content"), notes) or str(error.get("message") or "")
        if role == "tool":
            named = chat.word(message.get("function"))
            steps.result(chat.word(message.get("tool_call_id")), text, None, error=bool(error), name=named)
            continue
        steps.text(role, text, None, message=position)
        for call in (*_calls(message, position), *(_hosted_call(part, position) for part in hosted)):
            steps.call(call, None, message=position)
        for part in hosted:
            result, failed = part.get("result"), part.get("error")
            text = str(result or failed or "")
            steps.result(chat.word(part.get("id")), text, None, error=bool(failed), name=chat.word(part.get("name")))
    return steps.all()


def _content(content: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Content without the uses of tools that the provider ran, and those: each holds the call and its result."""
    if not isinstance(content, list):
        return content, []
    is_use = [isinstance(part, dict) and part.get("type") == "tool_use" for part in content]
    stated = list(zip(content, is_use, strict=True))
    return [part for part, use in stated if not use], [part for part, use in stated if use]


def _hosted_call(part: dict[str, Any], where: str) -> ToolCall:
    return chat.call_of(where, chat.field(part, "name", str, where), part.get("arguments"), id=part.get("id"))


def _calls(message: dict[str, Any], where: str) -> tuple[ToolCall, ...]:
    calls = []
    for number, record in enumerate(chat.members(message, "tool_calls", where)):
        position = chat.at(where, "tool_calls", number)
        about = {"id": record.get("id")} | ({"arguments_error": error} if (error := record.get("parse_error")) else {})
        calls.append(
            chat.call_of(position, chat.field(record, "function", str, position), record.get("arguments"), **about)
        )
    return tuple(calls)


def _tools(sample: dict[str, Any], attachments: dict[str, str], where: str) -> tuple[ToolSchema, ...] | None:
    """The tools that the model was offered in any of its calls; None where the log keeps no calls."""
    log = chat.field(sample, "transcript", dict, where, sample)  # older logs keep the events one level down
    position = chat.at(where, "events")
    offers = [
        chat.members(event, "tools", position)
        for event in chat.members(log, "events", where)
        if event.get("event") == "model"
    ]
    tools = chat.objects(_resolved([tool for offer in offers for tool in offer], attachments), position)
    schemas = [chat.tool_schema(tool, position) for tool in tools]
    return tuple({schema.name: schema for schema in schemas}.values()) if offers else None


def _reward(values: dict[str, Any]) -> float | None:
    """The value of the only score, where it is a number or one of Inspect's letters; several scores stay in `meta`.

    None where it is NaN, Inspect's own sign for unscored, or no number that an average could hold.
    """
    (value,) = values.values() if len(values) == 1 else (None,)
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return _LETTERS.get(value) if isinstance(value, str) else None


def _termination(sample: dict[str, Any], where: str) -> str | None:
    """``error``, ``<kind>_limit``, else the reason why the last reply stopped."""
    if sample.get("error"):
        return "error"
    if limit := chat.field(sample, "limit", dict, where, {}):
        return f"{limit.get('type')}_limit"
    choices = chat.members(chat.field(sample, "output", dict, where, {}), "choices", chat.at(where, "output"))
    return chat.word(choices[-1].get("stop_reason")) if choices else None
