"""What a function gave back, read as an answer: one of four forms, or a lost rating with the reason.

========================  ===========================================================================================
a word                    ``"correct"``, ``"incorrect"``, ``"uncertain"`` or ``"not_applicable"``, exactly
a tuple                   ``(word, confidence, rationale, cited_step_indices)``, shortened from the end as you like
a dict                    ``verdict``, and any of ``confidence``, ``rationale``, ``cited_step_indices``,
                          ``probabilities`` (word to number), ``confidence_source``; or, for what was lost,
                          ``status`` (refused, truncated, parse_error, api_error) with a ``rationale`` and no verdict;
                          besides ``usage`` (`axisjudge.judges.answer.Usage`), ``returned_model`` and ``call_id``
a `Verdict`               `axisjudge.verdict.Verdict`
========================  ===========================================================================================

A text that is a JSON object is read as that dict, so that a model's own JSON can be given back as it came. None of
these is mended: another word, a confidence outside [0, 1], a field that is not named here are status ``parse_error``.
Usage that a lost rating brings is kept, for it was paid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr, ValidationError, model_validator

from axisjudge.judges.answer import Answer, Usage, fault_of, lost
from axisjudge.judges.redaction import keepable
from axisjudge.verdict import VERDICTS, ConfidenceSource, Status, UnitInterval, Verdict, Word

_IN_ORDER = ("verdict", "confidence", "rationale", "cited_step_indices")
_OF_THE_CALL = ("usage", "returned_model", "call_id")
_NO_USAGE = Usage()


class _Call(BaseModel):
    """What a dict says of the call itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usage: Usage = _NO_USAGE
    returned_model: StrictStr | None = None
    call_id: StrictStr | None = None


class _Said(BaseModel):
    """What a dict says of the axis."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status = "ok"
    verdict: Word | None = None
    confidence: UnitInterval | None = None
    confidence_source: ConfidenceSource | None = None
    rationale: StrictStr | None = None
    cited_step_indices: tuple[StrictInt, ...] = ()
    probabilities: dict[Word, UnitInterval] | None = None

    @model_validator(mode="after")
    def _verdict_if_ok(self) -> Self:
        if (self.verdict is not None) != (self.status == "ok"):
            raise ValueError("status ok needs a verdict, and no other status carries one")
        return self


@dataclass(frozen=True)
class Returned:
    """An answer, and what is known of the call."""

    answer: Answer
    usage: Usage = _NO_USAGE
    returned_model: str | None = None
    call_id: str | None = None


def read_returned(returned: object, source: ConfidenceSource) -> Returned:
    """Read what a function gave back.

    Parameters
    ----------
    returned : object
        In one of the forms of this module's text.
    source : str
        Where its confidences come from, unless it says so itself.
    """
    fields = _fields(returned)
    if fields is None:
        rule = f"must be one of {', '.join(VERDICTS)}, a tuple, a dict or a Verdict"
        return Returned(lost("parse_error", f"{rule}; received {_shown(returned)}"))
    try:
        call = _Call.model_validate({name: fields[name] for name in _OF_THE_CALL if name in fields})
    except ValidationError as error:
        return Returned(_unreadable(error, returned))
    answer = _answer({name: value for name, value in fields.items() if name not in _OF_THE_CALL}, returned, source)
    return Returned(answer, call.usage, call.returned_model, call.call_id)


def _fields(returned: object) -> Mapping[Any, Any] | None:
    """What was given back as a dict; None where it has none of the forms."""
    if isinstance(returned, Verdict):
        return returned.model_dump()
    if isinstance(returned, Mapping):
        return returned
    if isinstance(returned, tuple):
        return dict(zip(_IN_ORDER, returned, strict=False)) if 0 < len(returned) <= len(_IN_ORDER) else None
    if not isinstance(returned, str):
        return None
    if returned in VERDICTS:
        return {"verdict": returned}
    try:
        parsed = json.loads(returned)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _answer(fields: Mapping[Any, Any], returned: object, source: ConfidenceSource) -> Answer:
    try:
        read = _Said.model_validate(fields)
    except ValidationError as error:
        return _unreadable(error, returned)
    if read.status != "ok":
        return lost(read.status, keepable(read.rationale or "the function says no more"))
    return Answer(
        status="ok",
        verdict=read.verdict,
        confidence=read.confidence,
        confidence_source=None if read.confidence is None else read.confidence_source or source,
        probabilities=None if read.probabilities is None else {str(word): p for word, p in read.probabilities.items()},
        cited_step_indices=read.cited_step_indices,
        rationale=read.rationale,
    )


def _unreadable(error: ValidationError, returned: object) -> Answer:
    return lost("parse_error", f"{keepable(fault_of(error))}; received {_shown(returned)}")


def _shown(returned: object) -> str:
    try:
        shown = repr(returned)
    except Exception as error:  # somebody else's __repr__
        shown = f"something whose repr raises {type(error).__name__}"
    return f"{type(returned).__name__} {keepable(shown)}"
