"""What comes back from a judge: an answer to each point it was asked about, what the call cost, or how it failed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axisjudge.checks import printable
from axisjudge.judges.prompt import CallPrompt, Prefix
from axisjudge.rubric.axes import RubricText
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import ConfidenceSource, Status, Word

# Text that others wrote, made fit to be kept in a ratings file: short, writable, and without keys.

#: Characters that are kept of an error's or a reply's own text.
KEPT_OF_RAW = 200

#: Environment variables and names in code that hold what nobody else may see.
SECRET_NAME = re.compile(r"(?i)(key|token|secret|passw|credential)")

_SHORTEST_SECRET = 8


def without_secrets(text: str, *secrets: str) -> str:
    """The text without `secrets`, without what looks like a key, without the query of an address."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    text = re.sub(r"(?i)\b(bearer\s+|(sk|key)-)[\w.*-]{6,}", "[key]", text)
    text = re.sub(r"(https?://)[^\s/@\"']+@", r"\1", text)
    return re.sub(r"(https?://[^\s?\"']+)\?[^\s\"']*", r"\1", text)


def keepable(text: str) -> str:
    """The head of a text that came from somebody's code: writable, and without the keys of this environment."""
    mine = [value for name, value in os.environ.items() if SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET]
    writable = text.encode("utf-8", "replace").decode("utf-8")
    return head(without_secrets(" ".join(writable.split()), *mine))


def reason_of(error: BaseException) -> str:
    """An error in one line, such as ``ValueError: no such page``."""
    message = keepable(str(error))
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def head(raw: str, length: int = KEPT_OF_RAW) -> str:
    """The first characters of a text, as many as are kept; a longer one says that it was cut."""
    return raw if len(raw) <= length else raw[:length] + " [cut]"


# What kind of failure a call met: one that passes, a limit, or one that every further call would meet too.
# Errors are known by what all clients give them (a status, headers, a body), not by their classes, so that a function
# that calls a provider is understood as well as a judge of this package.

FailureKind = Literal[
    "limit", "passing", "timeout", "key", "quota", "model", "request", "too_long", "refused", "unreadable"
]

#: Failures that the next call would meet too, until somebody mends the key, the account, the name or the options.
LASTING: frozenset[FailureKind] = frozenset({"key", "quota", "model", "request"})

#: What statuses mean.
_STATUSES: Mapping[FailureKind, tuple[int, ...]] = {
    "key": (401, 403),
    "quota": (402,),
    "model": (404,),
    "timeout": (408, 504),
    "passing": (409, 424, 425),
    "too_long": (413,),
    "limit": (429, 498, 503, 529),
}
_KINDS = {status: kind for kind, statuses in _STATUSES.items() for status in statuses}

#: Codes and words by which a provider tells what a bare status does not.
_QUOTA = re.compile(
    "(?i)insufficient_quota|billing_hard_limit|billing_not_active|credit balance is too low|spend_limit_reached"
    "|budget_exceeded|used all available credits"
)
#: Words of an empty account where the status is that of a limit or of a key (Moonshot, Z.ai, SiliconFlow).
_EMPTY = re.compile("(?i)exceeded_current_quota|insufficient.{0,3}(balance|credits|funds)|balance is insufficient")
#: How long a limit asks to be waited for, in words: OpenAI, Gemini, Azure.
_WAIT = re.compile(r"(?i)(?:retry|try again) (?:in|after) (?:(\d+)h)?(?:(\d+)m(?!s))?(\d+(?:\.\d+)?) ?(ms|s)")
#: Some answer a wrong key with status 400.
_KEY = re.compile(r"(?i)api[_ ]key[_ ](not[_ ]valid|invalid|expired)|invalid[_ ]api[_ ]key")
#: In the words of OpenAI, Anthropic, Bedrock, Gemini, LiteLLM, vLLM, SGLang, llama.cpp, LM Studio, and Hugging Face.
_TOO_LONG = re.compile(
    r"(?i)context_length_exceeded|(prompt|input).{0,40} is too long|maximum (model|context) length"
    r"|context ?(window|size|limit)|context length|must have less than \d+ tokens|max_new_tokens`? must be"
    r"|exceeds the maximum number of tokens"
)
#: OpenAI and Azure; LiteLLM for Azure; Alibaba, DeepSeek, xAI.
_REFUSED = re.compile(
    "content_policy_violation|content_filter|invalid_prompt|bio_policy|misalignment_policy_violation|input was flagged"
    "|ContentPolicyViolation|data_?inspection_?failed|Content Exists Risk|violates usage guidelines"
)
#: The model's reply came, was paid, and did not keep to the form that was asked for (Groq).
_UNREADABLE = re.compile("json_validate_failed")
#: Errors of clients whose connection ended before the reply did: the work may have been done, as after a timeout.
_BROKEN_OFF = re.compile(
    "RemoteProtocolError|ReadError|DecodingError|IncompleteRead"
    "|ServerDisconnectedError|ClientOSError|ClientConnectionResetError|ClientResponseError|ClientPayloadError"
)


@dataclass(frozen=True)
class Failure:
    """Why a call brought nothing.

    `words` are the provider's own, without keys; `retry_after_s` is what it asks to be left alone for, None where it
    names no time, or one that has passed; `maybe_paid` says that the provider may have done the work all the same.
    """

    kind: FailureKind
    words: str
    retry_after_s: float | None = None
    maybe_paid: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", printable(self.words))

    @property
    def status(self) -> Status:
        """The status of the ratings that are lost by it."""
        if self.kind == "too_long":
            return "truncated"
        return "refused" if self.kind == "refused" else "api_error"


def failure_of(error: BaseException, *secrets: str) -> Failure | None:
    """The failure that an error of some client stands for; None for one that says nothing of a provider."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    stated = _unlisted(getattr(error, "body", None))
    if isinstance(status, int) and 300 <= status < 400:
        return _redirected(error, status, *secrets)
    if isinstance(stated, Mapping) and not (isinstance(status, int) and status >= 400):
        return failure_in_reply(stated.get("error") or stated, *secrets)
    if isinstance(stated, str) and stated and status is None:
        return failure_in_reply(stated, *secrets)
    if not isinstance(status, int):
        return _without_status(error)
    body = _body(error)
    code, message = _code(body), _message(body) or _raw(body)
    words = f"HTTP {status} {type(error).__name__}"
    kind = _kind(status, f"{code} {message}")
    if status == 400 and _KEY.search(f"{code} {message}"):
        return Failure("key", words)
    if kind != "key":  # a provider's word on a key may quote it
        words = f"{words}: {without_secrets(message, *secrets)}"[:KEPT_OF_RAW]
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    if kind == "limit" and headers.get("x-should-retry") == "false":
        kind = "quota"
    wait_s = _retry_after_s(headers) or (_asked_in_words(message) if kind == "limit" else None)
    return Failure(kind, words, wait_s, maybe_paid=kind in ("timeout", "unreadable"))


#: What errors mean that come without a status, in a reply or in the results of a batch.
_CODES: Mapping[FailureKind, tuple[str, ...]] = {
    "key": ("authentication_error", "permission_error"),
    "quota": ("billing_error",),
    "model": ("not_found_error",),
    "limit": ("rate_limit_error", "rate_limit_exceeded", "overloaded_error", "token_limit_exceeded"),
    "timeout": ("timeout_error", "request_timeout"),
    "passing": ("api_error",),
}
_BY_CODE = {code: kind for kind, codes in _CODES.items() for code in codes}
#: Codes that nobody knows and that lay it to the server, as an unknown status from 500 on does.
_OF_THE_SERVER = re.compile(r"(?i)server|internal|upstream|unavailable|overload|time_?d?_?out|temporar|expired|cancel")


def failure_in_batch(code: str, message: str, status: int | None = None) -> Failure:
    """The failure that one request of a batch met: by its status where it has one, else by the code of its error."""
    kind = _kind_by_code(code, message, status)
    words = f"in a batch: {code or status}" + ("" if kind == "key" else f": {without_secrets(message)}")
    return Failure("passing" if kind == "timeout" else kind, words[:KEPT_OF_RAW])


def failure_in_reply(error: object, *secrets: str) -> Failure:
    """The failure that a provider tells after it had begun to answer, under status 200: in a stream, or in the body.

    Routers and gateways give the status of who is behind them as the code. An error that nobody knows counts as an
    unknown status does: one that lays it to the server (500 and above) may pass; any other one (400 and above) would
    come again, and may have been paid.
    """
    body = {"error": error if isinstance(error, Mapping) else getattr(error, "__dict__", {"message": str(error)})}
    code, message = _code(body), _message(body) or _raw(error)
    status = next((int(word) for word in code.split() if re.fullmatch("[45][0-9]{2}", word)), None)
    kind = _kind_by_code(code, message, status)
    words = f"an error in the reply: {code or 'without a code'}"
    if kind != "key":
        words = f"{words}: {without_secrets(message, *secrets)}"[:KEPT_OF_RAW]
    return Failure(kind, words, maybe_paid=kind in ("passing", "timeout", "request"))


def _redirected(error: BaseException, status: int, *secrets: str) -> Failure:
    """A run goes to the address that was named: what answers that it has moved is told, and not followed."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    target = without_secrets(str(headers.get("location") or "another address"), *secrets)[:KEPT_OF_RAW]
    return Failure(
        "request", f"HTTP {status}: redirected to {target}, and not followed; name that address if it is meant"
    )


def broken_off(words: str) -> Failure:
    """A reply that ended before it was whole: the work may have been done, as after a timeout."""
    return Failure("timeout", f"the connection broke off ({words})", maybe_paid=True)


def unreadable(words: str, raw: str = "") -> Failure:
    """A reply that came, was paid, and cannot be read; with the head of what came."""
    return Failure("unreadable", f"{words}: {keepable(raw)}" if raw else words, maybe_paid=True)


def _without_status(error: BaseException) -> Failure | None:
    for each in _with_causes(error):
        if isinstance(known := getattr(each, "failure", None), Failure):
            return known
    names = [type(each).__name__ for each in _with_causes(error)]
    if any(map(_BROKEN_OFF.fullmatch, names)):  # first: SDKs call it a failure to connect when it comes from aiohttp
        return broken_off(names[-1])
    if any("Connect" in name and "Connection" not in name for name in names):  # it never reached the provider
        return Failure("passing", f"no connection ({names[-1]})")
    if any("Timeout" in name for name in names):
        return Failure("timeout", f"no reply in time ({names[-1]})", maybe_paid=True)
    if any("Connection" in name or "Protocol" in name or "Network" in name for name in names):
        return Failure("passing", f"the connection failed ({names[-1]})", maybe_paid=True)
    return None


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from, down to the first."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__


def _kind(status: int, message: str) -> FailureKind:
    if _QUOTA.search(message) or (status in (403, 429) and _EMPTY.search(message)):
        return "quota"
    if status in (400, 403, 413, 422):
        if _UNREADABLE.search(message):
            return "unreadable"
        if _TOO_LONG.search(message):
            return "too_long"
        if _REFUSED.search(message):
            return "refused"
    return _KINDS.get(status, "passing" if status >= 500 else "request")


def _kind_by_code(code: str, message: str, status: int | None) -> FailureKind:
    kind = _kind(status or 400, f"{code} {message}")
    if status is not None or kind != "request":
        return kind
    by_code = next((_BY_CODE[word] for word in code.split() if word in _BY_CODE), None)
    return by_code or ("passing" if _OF_THE_SERVER.search(code) else "request")


def _body(error: BaseException) -> Any:
    body = getattr(error, "body", None)
    if body is None:
        with suppress(Exception):  # clients that keep the reply beside the error; it may be no JSON
            body = cast(Any, error).response.json()
    return _unlisted(body)


def _unlisted(body: Any) -> Any:
    """An error that comes in a list of one, as Gemini's compatible endpoint sends it."""
    return body[0] if isinstance(body, list) and len(body) == 1 else body


def _code(body: Any) -> str:
    inner = body.get("error") if isinstance(body, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    records = (each for each in (inner, details, body) if isinstance(each, Mapping))
    names = ("code", "type", "error_code", "status")
    return " ".join(str(record[name]) for record in records for name in names if record.get(name))


def _message(body: Any) -> str:
    """The provider's own message: {error: {message}} or text, {message}, {detail: text or list}, or a bare text."""
    if not isinstance(body, Mapping):
        return " ".join(body[: 10 * KEPT_OF_RAW].split()) if isinstance(body, str) else ""
    for name in ("error", "message", "Message", "detail"):
        text = body.get(name)
        text = _message(text) if isinstance(text, Mapping) else json.dumps(text) if isinstance(text, list) else text
        if isinstance(text, str) and text:
            behind = body.get("metadata")  # a router's: what who is behind it said
            raw = behind.get("raw") if isinstance(behind, Mapping) else None
            return " ".join(f"{text}: {raw}".split() if isinstance(raw, str) else text.split())
    return ""


def _raw(body: Any) -> str:
    """An error of a shape that nobody knows, as it came."""
    return json.dumps(body, ensure_ascii=False, default=str)[: 10 * KEPT_OF_RAW] if body else "no message"


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that are asked for, as a number or a date; None where it lies in the past or cannot be read."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(TypeError, ValueError, KeyError):
            if (seconds := unit_s * _number_or_date(headers[name])) > 0:
                return seconds
    return None


def _asked_in_words(message: str) -> float | None:
    if (asked := _WAIT.search(message)) is None:
        return None
    hours, minutes, rest, unit = asked.groups()
    return 3_600 * int(hours or 0) + 60 * int(minutes or 0) + float(rest) * (0.001 if unit == "ms" else 1.0)


def _number_or_date(asked: str) -> float:
    with suppress(ValueError):
        return float(asked)
    return (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()


@dataclass(frozen=True)
class Answer:
    """A judge's word on one axis, or its number for one point of a sheet.

    Only status ``ok`` carries a verdict or a value; what was lost says why in `rationale`.
    """

    status: Status
    verdict: Word | None = None
    confidence: float | None = None
    confidence_source: ConfidenceSource | None = None
    probabilities: dict[str, float] | None = None
    cited_step_indices: tuple[int, ...] = ()
    rationale: str | None = None
    flags: tuple[str, ...] = ()
    value: float | None = None


@dataclass(frozen=True)
class Reply:
    """What came back from one call: an answer for every axis or point asked, and what the call cost.

    `failure` says why nothing came, so that the run knows whether to wait, to ask again, or to ask no more.
    """

    answers: Mapping[Any, Answer]
    returned_model: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    call_id: str | None = None
    flags: tuple[str, ...] = ()
    failure: Failure | None = None

    @property
    def known_usd(self) -> float | None:
        """US dollars of the call; 0 where it failed before anything was done, None where nobody knows."""
        is_free = self.failure is not None and not self.failure.maybe_paid
        return 0.0 if self.cost_usd is None and is_free else self.cost_usd


#: Flag of ratings that came out of one call together.
ONE_CALL = "one_call"
#: Flag of a rating with the number of its tries that failed at a cost that nobody knows: each may have been paid.
MAYBE_PAID = "maybe_paid"
#: Flag of a rating of a call that was under way when its run ended: it is no loss of its judge, and asked again.
ENDED_UNDER_WAY = "broken_off"
#: Flag of a rating of a run that is too long to be sent.
NOT_SENT = "not_sent"

_NOT_WRITABLE = "text that cannot be written as UTF-8"

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Usage(BaseModel):
    """What a call cost: tokens (those that came from a cache are among the input), US dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    output_tokens: _Count | None = None
    cost_usd: _NonNegative | None = None


class _OfTheCall(Usage):
    """The fields of a `Reply` beside its answers."""

    returned_model: str | None
    latency_s: _NonNegative | None
    call_id: str | None
    flags: tuple[str, ...]


def whole(reply: object, points: Iterable[str]) -> Reply:
    """A reply that answers every point and whose other fields a rating can hold; what it lacks is lost."""
    asked = list(points)
    if not isinstance(reply, Reply) or not isinstance(reply.answers, Mapping):
        return Reply(all_lost(asked, "parse_error", f"the judge must give a Reply; received {type(reply).__name__}"))
    try:
        fields = _OfTheCall.model_validate({name: getattr(reply, name) for name in _OfTheCall.model_fields})
    except ValidationError as error:
        return Reply(all_lost(asked, "parse_error", keepable(fault_of(error))))
    if not _is_writable(fields):
        return Reply(all_lost(asked, "parse_error", _NOT_WRITABLE))
    answers = {point: _an_answer(reply.answers.get(point), point) for point in asked}
    return replace(reply, answers=answers, **fields.model_dump())


def after(failed: Reply | None, reply: Reply) -> Reply:
    """The reply to a call that was tried before: it bears what the tries that failed took, as far as they say so."""
    if failed is None:
        return reply
    totals: dict[str, Any] = {}
    for name in Usage.model_fields:
        known = [value for each in (failed, reply) if (value := getattr(each, name)) is not None]
        totals[name] = sum(known) if known else None
    return replace(reply, **totals)


def _an_answer(answer: object, point: str) -> Answer:
    if not isinstance(answer, Answer):
        return lost("parse_error", f"the reply has no answer to {point}")
    return answer if _is_writable(answer) else lost("parse_error", _NOT_WRITABLE)


def _is_writable(fields: object) -> bool:
    """Whether all text in it can be written to a file: half of a surrogate pair cannot."""
    try:
        "".join(str(value) for value in vars(fields).values()).encode()
    except UnicodeEncodeError:
        return False
    return True


def fault_of(error: ValidationError, whole: str = "given") -> str:
    """What is wrong with fields that were given, such as ``confidence: Input should be less than or equal to 1``."""
    faults = (f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg']}" for fault in error.errors())
    return "; ".join(faults)


def lost(status: Status, reason: str) -> Answer:
    """An answer without a verdict, and why."""
    return Answer(status, rationale=reason)


def all_lost(points: Iterable[str], status: Status, reason: str) -> dict[Any, Answer]:
    """No answer to anything, for one reason."""
    return {point: lost(status, reason) for point in points}


def not_sent(prefix: Prefix, points: Iterable[str]) -> Reply | None:
    """The reply where a trajectory is too long to be sent even shortened; None where it fits."""
    if not prefix.excess:
        return None
    reason = f"not sent: the trajectory is {prefix.excess} characters over the budget, tool results shortened"
    return Reply(all_lost(points, "truncated", reason), cost_usd=0.0, flags=(*prefix.flags, NOT_SENT))


class ReadSheet(NamedTuple):
    """What a reply says: an answer for every point, and flags that concern the reply as a whole."""

    answers: Mapping[str, Answer]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """What one call asks of one run.

    Parameters
    ----------
    trajectory : Trajectory
        Whose ratings the answers are.
    scale : str
        ``unit`` for signals, ``check`` for goal checks.
    page : Page
        What a judge that reads is shown.
    rubrics : mapping of point to RubricText
        All points of the sheet, each with the rubric that it is asked under.
    read : callable
        Reads a reply's text. A point that the reply does not answer as it must is lost, never filled in.
    by_rules : mapping of point to Answer
        What the rules say of the points they can judge: for judges that read nothing.
    flags : tuple of str
        What every rating made from this sheet bears.
    point_flags : mapping of point to tuple of str
        What the rating of a point bears beside them.
    """

    trajectory: Trajectory
    scale: str
    page: CallPrompt
    rubrics: Mapping[str, RubricText]
    read: Callable[[str], ReadSheet] = field(repr=False)
    by_rules: Mapping[str, Answer] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    point_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def points(self) -> tuple[str, ...]:
        return tuple(self.rubrics)


def point(question: str, interaction: int | None = None) -> str:
    """The point of a question about an interaction, or about the whole run."""
    return question if interaction is None else f"{question}@{interaction}"


def question_and_interaction(point: str) -> tuple[str, str | None]:
    """A point's question, and the interaction it is about.

    Examples
    --------
    >>> question_and_interaction("agent.success@12"), question_and_interaction("termination")
    (('agent.success', '12'), ('termination', None))
    """
    question, _, interaction = point.partition("@")
    return question, interaction or None
