"""What kind of failure a call met: one that passes, a limit, or one that every further call would meet too.

Errors are known by what all clients give them (a status, headers, a body), not by their classes, so that a function
that calls a provider is understood as well as a judge of this package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast

from axisjudge.judges.redaction import KEPT_OF_RAW, without_secrets
from axisjudge.verdict import Status

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
    "passing": (409, 425),
    "too_long": (413,),
    "limit": (429, 503, 529),
}
_KINDS = {status: kind for kind, statuses in _STATUSES.items() for status in statuses}

#: Codes and words by which a provider tells what a bare status does not.
_QUOTA = re.compile(
    "insufficient_quota|billing_hard_limit|billing_not_active|credit balance is too low|spend_limit_reached"
)
#: Some answer a wrong key with status 400.
_KEY = re.compile(r"(?i)api[_ ]key[_ ](not[_ ]valid|invalid)|invalid[_ ]api[_ ]key")
_TOO_LONG = re.compile(r"(?i)context_length_exceeded|prompt is too long|maximum context length|context (window|size)")
_REFUSED = re.compile("content_policy_violation|content_filter|invalid_prompt|bio_policy|misalignment_policy_violation")
#: Errors of clients whose connection ended before the reply did: the work may have been done, as after a timeout.
_BROKEN_OFF = re.compile(
    "RemoteProtocolError|ReadError|DecodingError|IncompleteRead"
    "|ServerDisconnectedError|ClientOSError|ClientConnectionResetError"
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
        return _redirected(error, status)
    if isinstance(stated, Mapping) and not (isinstance(status, int) and status >= 400):
        return failure_in_reply(stated.get("error") or stated, *secrets)
    if not isinstance(status, int):
        return _without_status(error)
    body = _body(error)
    code, message = _code(body), _message(body) or "no message"
    words = f"HTTP {status} {type(error).__name__}"
    kind = _kind(status, f"{code} {message}")
    if status == 400 and _KEY.search(f"{code} {message}"):
        return Failure("key", words)
    if status not in (401, 403):  # a provider's word on a key may quote it
        words = f"{words}: {without_secrets(message, *secrets)}"[:KEPT_OF_RAW]
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    if kind == "limit" and headers.get("x-should-retry") == "false":
        kind = "quota"
    return Failure(kind, words, _retry_after_s(headers), maybe_paid=kind == "timeout")


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
    code, message = _code(body), _message(body) or "no message"
    status = next((int(word) for word in code.split() if re.fullmatch("[45][0-9]{2}", word)), None)
    kind = _kind_by_code(code, message, status)
    words = f"an error in the reply: {code or 'without a code'}"
    if kind != "key":
        words = f"{words}: {without_secrets(message, *secrets)}"[:KEPT_OF_RAW]
    return Failure(kind, words, maybe_paid=kind in ("passing", "timeout", "request"))


def _redirected(error: BaseException, status: int) -> Failure:
    """A run goes to the address that was named: what answers that it has moved is told, and not followed."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    target = without_secrets(str(headers.get("location") or "another address"))[:KEPT_OF_RAW]
    return Failure(
        "request", f"HTTP {status}: redirected to {target}, and not followed; name that address if it is meant"
    )


def broken_off(words: str) -> Failure:
    """A reply that ended before it was whole: the work may have been done, as after a timeout."""
    return Failure("timeout", f"the connection broke off ({words})", maybe_paid=True)


def unreadable(words: str) -> Failure:
    """A reply that came, was paid, and cannot be read."""
    return Failure("unreadable", words, maybe_paid=True)


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


def _kind(status: int, told: str) -> FailureKind:
    if _QUOTA.search(told):
        return "quota"
    if status in (400, 413, 422):
        if _TOO_LONG.search(told):
            return "too_long"
        if _REFUSED.search(told):
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
    places = (each for each in (inner, details, body) if isinstance(each, Mapping))
    names = ("code", "type", "error_code", "status")
    return " ".join(str(place[name]) for place in places for name in names if place.get(name))


def _message(body: Any) -> str:
    """The provider's own message, from a body of either shape ({error: {message}} or {message})."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        said = inner.get("message") if isinstance(inner, Mapping) else body.get("message")
        if isinstance(said, str):
            return " ".join(said.split())
    return ""


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that are asked for, as a number or a date; None where it lies in the past or cannot be read."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(TypeError, ValueError, KeyError):
            if (seconds := unit_s * _number_or_date(headers[name])) > 0:
                return seconds
    return None


def _number_or_date(asked: str) -> float:
    with suppress(ValueError):
        return float(asked)
    return (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
