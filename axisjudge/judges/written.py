"""Judges that write their answer as JSON: a verdict on one axis or on each of them, or the answers to a sheet.

With the option ``one_call`` a judge is asked about all axes of a run at once. That costs less and is another question:
a verdict may colour the next one (notebook 11 measures that). The option stands in the judge's name, so that such
ratings are nowhere taken for those of single calls.
"""

from __future__ import annotations

import json
import re
import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import ValidationError

from axisjudge.judges.answer import ONE_CALL, Answer, ReadSheet, Reply, Sheet, all_lost, fault_of, head, lost
from axisjudge.judges.base import Rubrics
from axisjudge.judges.prompt import (
    INSTRUCTIONS,
    JOINT_INSTRUCTIONS,
    CallPrompt,
    Prefix,
    joint_question,
    object_schema,
    question,
)
from axisjudge.judges.remote import REPAIRED, VERDICT, Body, NoReplyError, RemoteJudge
from axisjudge.spec import JudgeSpec
from axisjudge.verdict import Axis, Verdict, verdict_schema

#: Made once: it stands in every request.
SCHEMA = verdict_schema()

#: The form of an answer about several axes, and the tokens that each of them may take.
VERDICTS = "verdicts"
JOINT_REPLY_TOKENS = 1_500

#: What `RemoteJudge.read` finds in a reply: an end without an answer, a text, or the fields of a tool call.
Content = Answer | str | Mapping[str, Any]


class WrittenJudge(RemoteJudge):
    """A judge behind an API that writes; subclasses turn a page into a request."""

    @abstractmethod
    def body(self, page: CallPrompt) -> Body:
        """The request: messages, schema, mechanism and parameters, nothing of transport."""

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.joint = bool(spec.options.get("one_call", False))
        self.is_strict = bool(spec.options.get("strict", False))

    @property
    def axes_form(self) -> str:
        return VERDICTS if self.joint else VERDICT

    def axes_body(self, prefix: Prefix, n_steps: int, rubrics: Rubrics) -> Body:
        if self.joint:
            asked, about = joint_question(rubrics, n_steps), "Record your verdict on each axis."
            reply = JOINT_REPLY_TOKENS * len(rubrics)
            schema = joint_schema(tuple(rubrics))
            return self.body(CallPrompt(JOINT_INSTRUCTIONS, prefix, asked, VERDICTS, schema, about, reply, alone=True))
        asked = question(rubrics[only_axis(rubrics)], n_steps)
        return self.body(CallPrompt(INSTRUCTIONS, prefix, asked, VERDICT, SCHEMA, "Record your verdict on the axis."))

    def axes_answers(self, content: Content, rubrics: Rubrics) -> dict[Axis, Answer]:
        if self.joint:
            return verdicts_from(content, rubrics, strict=self.is_strict)
        answer = content if isinstance(content, Answer) else verdict_from(content, strict=self.is_strict)
        return {only_axis(rubrics): answer}

    def points(self, sheet: Sheet) -> tuple[str, ...]:
        return sheet.points

    def sheet_sha256(self, sheet: Sheet) -> str:
        """Hash of the request body, in which what is shown is present by its own hash."""
        return self._sha256_of(self.body(sheet.page.by_hash))

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        begun = time.perf_counter()
        try:
            received = await self._asked(self.body(sheet.page), sheet.page.form)
        except NoReplyError as end:
            return self._failed(sheet.points, end, begun)
        filled = _filled(received.content, sheet, strict=self.is_strict)
        return self._reply(filled.answers, received, begun, filled.flags)


@cache
def joint_schema(axes: tuple[Axis, ...]) -> dict[str, Any]:
    """JSON schema of an object with a verdict on each of these axes."""
    return object_schema(**dict.fromkeys(axes, SCHEMA))


def only_axis(rubrics: Rubrics) -> Axis:
    """The axis of a call to a judge that is asked once an axis."""
    (axis,) = rubrics
    return axis


class UnclearError(ValueError):
    """A text that holds no object, or one that can be read in two ways; says which."""


#: What models think aloud before they answer, where their server does not take it out: in tags of many names, and in
#: the marks of Mistral, Cohere, Kimi and gpt-oss.
_NAMES = r"(?i:(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad))"
_ENDS = rf"</{_NAMES}>|\[/THINK\]|<\|END_THINKING\|>|◁/think▷|<\|channel\|>final[^<]*<\|message\|>"
#: What begins with an object is no thought: such an end stands in a text of it.
_THOUGHT = re.compile(rf"\A(?!\s*(?:```[\w-]*\s*)?{{).*(?:{_ENDS})", re.DOTALL)
_OPEN_THOUGHT = re.compile(rf"<{_NAMES}\b[^>]*>|\[THINK\]|<\|START_THINKING\|>|◁think▷|<\|channel\|>analysis")
#: Characters of a reply that is searched for an object, and places in it that are tried.
MOST_SEARCHED, MOST_TRIED = 200_000, 1_000
#: What stands between the words of ``not_applicable`` in other spellings.
_SPACES = re.compile(r"[\s-]+")
#: The repair of a verdict whose confidence came in words, and is left out.
IN_WORDS = "confidence_in_words"
#: How an object begins that has a field, whatever becomes of it: what stands behind it may be a part of it.
_FIELD = re.compile(r"""\{\s*["']?\w+["']?\s*:""")
_FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def begins_with_thought(text: str) -> bool:
    """Whether a reply begins with the marks of a thought."""
    return bool(_OPEN_THOUGHT.match(text.lstrip()))


def object_in(text: str, *, strict: bool = False) -> tuple[Any, list[str]]:
    """The JSON object that a reply is, and what had to be mended to find it.

    What stands before the end of a thought (``</think>`` and its like) is no answer; a fence around the object, words
    around the only object of the text, a list around it, and line breaks in its texts are passed over; an object that
    is given twice alike, and a key that is given twice with one value, are taken once.

    Parameters
    ----------
    strict : bool
        Take nothing but one object, without any mending.

    Raises
    ------
    UnclearError
        There is no object, or more than one, or a key has two values.
    """
    repairs: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, value in pairs:
            if key in fields:
                if strict or fields[key] != value:
                    raise UnclearError(f"the key {key[:40]!r} is given twice")
                repairs.append("duplicate_key")
            fields[key] = value
        return fields

    try:
        return _alone(json.JSONDecoder(object_pairs_hook=once).decode(text), repairs, strict=strict), repairs
    except json.JSONDecodeError as error:
        if strict:
            raise UnclearError(str(error)) from error
    if len(text) > MOST_SEARCHED:
        raise UnclearError("the reply is no JSON")
    mended, mends = text, []
    for name, form in (("thought", _THOUGHT), ("fence", _FENCE)):
        if match := form.match(mended):
            mended = match[1] if form.groups else mended[match.end() :]
            mends.append(name)
    repairs.clear()
    reader = json.JSONDecoder(object_pairs_hook=once, strict=False)
    try:
        return _alone(reader.decode(mended), repairs), [*(mends or ["line_break"]), *repairs]
    except json.JSONDecodeError:
        repairs.clear()
        return _only_object(reader, mended), [*mends, "words_around", *repairs]


def _alone(content: Any, repairs: list[str], *, strict: bool = False) -> Any:
    """What was found, or the object that stands in it as the only part of a list."""
    if strict or not isinstance(content, list) or len(content) != 1:
        return content
    repairs.append("list")
    return content[0]


def _only_object(reader: json.JSONDecoder, text: str) -> dict[str, Any]:
    """The one object that stands among words, no part of one; empty ones are none, and those that are alike are one."""
    objects: list[dict[str, Any]] = []
    at = n_tried = 0
    while (at := text.find("{", at)) >= 0:
        n_tried += 1  # each try may go through the whole text
        if n_tried > MOST_TRIED:
            raise UnclearError("the reply is no JSON, and too many braces stand in it")
        try:
            begun = at
            value, at = reader.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if _FIELD.match(text, at):
                raise UnclearError("the reply is no JSON, and an object in it is broken or cut off") from error
            at += 1
            continue
        if value and value not in objects:
            if not objects and _OPEN_THOUGHT.search(text, 0, begun):
                raise UnclearError("the thought before it has no end")
            objects.append(value)
    if len(objects) != 1:
        raise UnclearError(f"the reply is no JSON, and {len(objects) or 'no'} objects stand in it")
    return objects[0]


def as_meant(fields: Any, repairs: list[str]) -> Any:
    """The fields of a verdict, with a word in other letters, numbers in quotes and numpy's numbers as they are meant.

    A confidence in words (``high``) is none: it is left out, and the verdict stands (`IN_WORDS` among the repairs).
    """
    stated = {name: _plain(value) for name, value in fields.items()} if isinstance(fields, Mapping) else {}
    if (
        isinstance(word := stated.get("verdict"), str)
        and (plain := "_".join(_SPACES.split(word.strip().lower()))) != word
    ):
        stated["verdict"] = plain
        repairs.append("letters")
    if isinstance(text := stated.get("confidence"), str):
        share = text.strip().removesuffix("%")
        try:
            stated["confidence"] = float(share) / (100 if "%" in text else 1)
            repairs.append("number_as_text")
        except ValueError:
            stated["confidence"] = None
            repairs.append(IN_WORDS)
    cited = stated.get("cited_step_indices")
    with suppress(ValueError):
        if isinstance(cited, list) and any(isinstance(step, str) for step in cited):
            stated["cited_step_indices"] = [int(step) if isinstance(step, str) else step for step in cited]
            repairs.append("number_as_text")
    return stated or fields


def _plain(value: Any) -> Any:
    """A value with Python's own numbers and lists in the place of numpy's and their like."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def verdict_from(content: str | Mapping[str, Any], *, strict: bool = False) -> Answer:
    """A verdict that came as text or as fields, or a parse error; what was mended in a text is a flag."""
    repairs: list[str] = []
    try:
        fields, repairs = object_in(content, strict=strict) if isinstance(content, str) else (content, [])
        stated = fields if strict else as_meant(fields, repairs)
        none = {"confidence": None} if IN_WORDS in repairs else {}
        verdict = Verdict.model_validate({**stated, "confidence": 0.0} if none else stated)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is one, too
        raw = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
        fault = fault_of(error, "reply") if isinstance(error, ValidationError) else f"reply: {error}"
        return lost("parse_error", f"{head(fault)}; received: {head(raw)}")
    given = {**verdict.model_dump(), "cited_step_indices": tuple(verdict.cited_step_indices), **none}
    flags = tuple(f"{REPAIRED}:{each}" for each in dict.fromkeys(repairs))
    return Answer(status="ok", confidence_source=None if none else "verbalized", flags=flags, **given)


def verdicts_from(content: Content, rubrics: Rubrics, *, strict: bool = False) -> dict[Axis, Answer]:
    """The verdicts of one reply, axis by axis: what one of them lacks is lost for that axis alone."""
    if isinstance(content, Answer):
        return all_lost(rubrics, content.status, content.rationale or "")
    fields: Any = content
    repairs: list[str] = []
    if isinstance(content, str):
        try:
            fields, repairs = object_in(content, strict=strict)
        except (ValueError, RecursionError) as error:
            return all_lost(rubrics, "parse_error", f"reply: {error}; received: {head(content)}")
    if not isinstance(fields, Mapping):
        return all_lost(rubrics, "parse_error", f"reply: expected an object; received: {head(str(content))}")
    answers = {axis: verdict_from(fields.get(axis) or {}, strict=strict) for axis in rubrics}
    flags = (ONE_CALL, *(f"{REPAIRED}:{each}" for each in repairs))
    return {axis: replace(answer, flags=(*answer.flags, *flags)) for axis, answer in answers.items()}


def _filled(content: Content, sheet: Sheet, *, strict: bool) -> ReadSheet:
    if isinstance(content, Answer):
        return ReadSheet(all_lost(sheet.points, content.status, content.rationale or ""))
    if not isinstance(content, str):
        return sheet.read(json.dumps(content, ensure_ascii=False))
    try:
        fields, repairs = object_in(content, strict=strict)
    except (ValueError, RecursionError):  # the sheet says what is wrong with it
        return sheet.read(content)
    read = sheet.read(json.dumps(fields, ensure_ascii=False) if repairs else content)
    return ReadSheet(read.answers, (*read.flags, *(f"{REPAIRED}:{each}" for each in repairs)))
