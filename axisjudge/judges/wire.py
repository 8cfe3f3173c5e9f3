"""What may pass between a judge and its server: one address, so many bytes, so long, and what was mended on the way.

A reply is cut off at its size, as it comes and as it is unpacked; a request goes to the address that the judge's name
states and to no other one, whatever a redirect or a reply says.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Any
from urllib.parse import parse_qs, urlsplit

from axisjudge.judges.answer import Failure, unreadable

#: Bytes of one reply, packed or unpacked, and of one line of a stream: what Python makes of 4 MB of JSON has 100 MB.
MOST_BYTES = 4_000_000
#: Bytes of a stream: one of 128,000 tokens has about 40 MB.
MOST_STREAMED = 64_000_000
#: Bytes of the results of a batch, which has 20,000 requests at the most.
MOST_FETCHED = 1_000_000_000
#: Bytes of a comment before a reply.
_LONGEST_COMMENT = 100_000
#: Encodings that can be unpacked piece by piece, within the limit.
UNPACKED = ("gzip", "deflate", "x-gzip")

#: Where a gateway tells what a call cost beside the reply, and not in its usage: LiteLLM's proxy.
COST_HEADER = "x-litellm-response-cost"


@dataclass
class Noted:
    """Of the call under way: what was mended in its reply, and the US dollars that a gateway told in headers."""

    repairs: list[str] = field(default_factory=list)
    usd: float | None = None


#: Set for each call.
NOTED: ContextVar[Noted | None] = ContextVar("NOTED", default=None)

Hook = Callable[[Any], Awaitable[None]]


class WireError(Exception):
    """What came, or what was to be sent, is not let through; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.words)
        self.failure = failure


def note_repair(what: str) -> None:
    """Count something that was mended in the reply that is being read."""
    if (noted := NOTED.get()) is not None and what not in noted.repairs:
        noted.repairs.append(what)


def usd_of(stated: Any) -> float | None:
    """An amount of US dollars as a gateway tells it; None where it is none."""
    with suppress(TypeError, ValueError):
        usd = float("nan" if isinstance(stated, bool) else stated)
        return usd if 0 <= usd < inf else None
    return None


def _note_cost(response: Any) -> None:
    if (noted := NOTED.get()) is not None and (usd := usd_of(response.headers.get(COST_HEADER))) is not None:
        noted.usd = usd + (noted.usd or 0.0)


def api_version(url: str | None) -> str | None:
    """The version of an interface that an address states, as Azure's do."""
    return next(iter(parse_qs(urlsplit(url or "").query).get("api-version", [])), None)


def origin(url: Any) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address of the SDKs' transport."""
    default = {"https": 443, "http": 80}.get(url.scheme)
    return (url.scheme, url.host, url.port or default)


def guard(http: Any, address: Any, watching: Hook | None = None) -> None:
    """Hold an SDK's transport to one address, and to replies of a size that a reply can have."""
    mine = origin(address)

    async def only_there(request: Any) -> None:
        if origin(request.url) != mine:
            words = f"not sent: {request.url.host} is not the address that was named ({address.host})"
            raise WireError(Failure("request", words))
        request.headers["accept-encoding"] = "identity"

    async def capped(response: Any) -> None:
        if watching is not None:
            await watching(response)
        _note_cost(response)
        is_batch = response.request.url.path.endswith(("/content", "/results"))
        response.stream = _capped(response, is_batch=is_batch and response.request.method == "GET")

    hooks = http.event_hooks
    http.event_hooks = {"request": [*hooks["request"], only_there], "response": [*hooks["response"], capped]}


def _capped(response: Any, *, is_batch: bool) -> Any:
    from httpx2 import AsyncByteStream

    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in (*UNPACKED, "identity", ""):
        raise WireError(unreadable(f"the reply is packed as {encoding[:20]}, which was not asked for"))
    is_stream = is_streamed(response)
    most = MOST_FETCHED if is_batch else MOST_STREAMED if is_stream else MOST_BYTES
    source = response.stream

    class Capped(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            pieces = unpacked(source, most) if encoding in UNPACKED else within(source, most)
            async for piece in in_lines(pieces, MOST_BYTES) if is_stream else without_comments(pieces):
                yield piece

        async def aclose(self) -> None:
            await source.aclose()

    return Capped()


def is_streamed(response: Any) -> bool:
    """Whether a reply comes as server-sent events."""
    return str(response.headers.get("content-type", "")).startswith("text/event-stream")


async def sent_whole(stream: Any) -> dict[str, Any] | None:
    """The reply of a server that was asked for a stream and sends none; None where it streams."""
    if not is_streamed(stream.response):
        raw = await stream.response.aread()
        if raw.lstrip().startswith(b"<"):
            raise WireError(unreadable("a page came", raw.decode(errors="replace")))
        with suppress(ValueError):
            reply = json.loads(raw)
            return reply if isinstance(reply, dict) else None
    return None


def _too_large(most: int) -> WireError:
    return WireError(unreadable(f"the reply is longer than {most / 1e6:,.0f} MB"))


async def within(source: AsyncIterator[bytes] | Any, most: int) -> AsyncIterator[bytes]:
    """The pieces of a reply, up to so many bytes."""
    left = most
    async for piece in source:
        left -= len(piece)
        if left < 0:
            raise _too_large(most)
        yield piece


async def in_lines(pieces: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The pieces of a stream, none of whose lines has more bytes than that."""
    begun = 0
    async for piece in pieces:
        lengths = [len(line) for line in piece.split(b"\n")]
        lengths[0] += begun
        if max(lengths) > most:
            raise _too_large(most)
        begun = lengths[-1]
        yield piece


async def unpacked(source: Any, most: int) -> AsyncIterator[bytes]:
    """The pieces of a packed reply, never more than the limit at once: a few kilobytes can stand for gigabytes."""
    unpack, left = zlib.decompressobj(47), most  # 47: gzip or zlib, whichever it is
    async for piece in within(source, most):
        try:
            plain = unpack.decompress(piece, left + 1)
        except zlib.error as error:
            raise WireError(unreadable("the reply cannot be unpacked")) from error
        left -= len(plain)
        if left < 0 or unpack.unconsumed_tail:
            raise _too_large(most)
        yield plain


async def without_comments(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A reply that is no stream, without the lines before it by which routers keep a connection awake.

    Such a line begins with a colon, as no JSON does (``: OPENROUTER PROCESSING``).
    """
    head: bytes | None = b""
    async for piece in pieces:
        if head is None:
            yield piece
            continue
        head = (head + piece).lstrip()
        while head.startswith(b":") and b"\n" in head:
            note_repair("comment")
            head = head.partition(b"\n")[2].lstrip()
        if head and (not head.startswith(b":") or len(head) > _LONGEST_COMMENT):
            yield head
            head = None
    if head:
        yield head
