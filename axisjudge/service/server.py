"""The service in one process: store, sender of events, door and API; and how long each connection may take."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from http import HTTPStatus
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from axisjudge.checks import InputError
from axisjudge.service.access import Door
from axisjudge.service.answers import MEDIA_TYPE, problem
from axisjudge.service.store import ScoreStore
from axisjudge.service.telemetry import EventSender, Sink, set_up_logs

# Connections that cannot be held open: how many there may be, and how long each may take to say what it wants.

#: Seconds for the head of a request, for its body, and for a client to take an answer in.
HEAD_SECONDS, BODY_SECONDS, ANSWER_SECONDS = 10.0, 30.0, 30.0
#: Connections beyond the limit that are still answered (503) rather than cut off.
_ANSWERED_BEYOND = 32
#: File descriptors for all else: the store's pool, logs, connections not yet accepted.
_OTHER_FILES = 320
BACKLOG = 128
#: The step of a connection on which uvicorn waits for a next request, with a deadline of its own.
_IDLE_AFTER_AN_ANSWER = "idle"


def affordable_connections(wanted: int) -> int:
    """`wanted`, or fewer where the limit on open files forbids so many; the soft limit is raised as far as it goes."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _ANSWERED_BEYOND + BACKLOG + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        wanted = max(8, soft - (needed - wanted))
    return wanted


class _JoinedWrites:
    """A transport that sends what is written in one turn of the loop at once; uvicorn writes head and body apart.

    Each would be a packet that the kernel carries to the client, and wakes it for.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._unsent: list[bytes] = []

    def write(self, part: bytes) -> None:
        """Take a part of an answer."""
        if not self._unsent:
            self._loop.call_soon(self.flush)
        self._unsent.append(part)

    def flush(self) -> None:
        """Send what was written."""
        if self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    def close(self) -> None:
        """Send what was written, and close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with deadlines on what the client has to do, and a limit on connections.

    uvicorn has a deadline for idle connections only: one that sends half a head, or half a body, stays for ever. Its
    ``limit_concurrency`` counts requests, which such connections never become. Here each step has a deadline, and the
    limit counts connections. Beyond it the one that has kept the service waiting longest makes room: half a head, half
    a body, or nothing to ask. Where all are at work, those just beyond are answered 503, further ones are cut off.
    """

    _deadline: asyncio.TimerHandle | None = None
    _step: Any = None
    _awaited: dict[LimitedProtocol, None]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, and start the clock."""
        limit = self.limit_concurrency
        self.limit_concurrency = None  # counted here
        self._joined = _JoinedWrites(transport, self.loop)
        super().connection_made(cast(asyncio.Transport, self._joined))
        self._awaited = vars(self.server_state).setdefault("awaited", {})
        if limit is not None and len(self.connections) > limit and self._awaited:
            next(iter(self._awaited))._make_room()
        elif limit is not None and len(self.connections) > limit + _ANSWERED_BEYOND:
            transport.abort()
        elif limit is not None and len(self.connections) > limit:
            headers = {"Retry-After": "1", "Connection": "close"}
            self.app = problem(503, "too many connections just now", headers=headers)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take it, and see how far the request is."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._set(None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """An answer that was given before the request had been read to its end leaves the rest no more time."""
        self._joined.flush()
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client does not take the answer in."""
        super().pause_writing()
        self.loop.call_later(ANSWER_SECONDS, self._cut_off_unread)

    def timeout_keep_alive_handler(self) -> None:
        """Close when idle, and for good if the last answer is never taken in."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(ANSWER_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """A request that is no HTTP, in the one form of errors."""
        self._refuse(400, msg)

    def _watch(self) -> None:
        step = self.conn.their_state
        if step is h11.IDLE and self.timeout_keep_alive_task is not None:
            self._set(_IDLE_AFTER_AN_ANSWER)
        elif step is h11.IDLE:
            self._set(step, HEAD_SECONDS)
        elif step is h11.SEND_BODY:
            self._set(step, BODY_SECONDS)
        else:
            self._set(None)

    def _set(self, step: Any, seconds: float | None = None) -> None:
        if step is not None and step is self._step:
            return  # the deadline is one for the whole step, not from byte to byte
        if self._deadline is not None:
            self._deadline.cancel()
        self._step = step
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_late)
        self._awaited.pop(self, None)
        if step is not None:
            self._awaited[self] = None

    def _too_late(self) -> None:
        self._refuse(408, f"the request was not complete in time ({'body' if self._step is h11.SEND_BODY else 'head'})")

    def _make_room(self) -> None:
        if self._step is _IDLE_AFTER_AN_ANSWER:  # it asked nothing, and must not take a word for its next answer
            self._awaited.pop(self, None)
            self.transport.close()
        else:
            self._refuse(503, "too many connections just now")

    def _refuse(self, status: int, detail: str) -> None:
        self._awaited.pop(self, None)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and not self.transport.is_closing():
            answer = problem(status, detail)
            length = str(len(answer.body))
            headers = [("content-type", MEDIA_TYPE), ("content-length", length), ("connection", "close")]
            head = h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase.encode())
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _cut_off_unread(self) -> None:
        if self.flow.write_paused:
            self.transport.abort()


def serve(
    store: ScoreStore,
    sink: Sink,
    door: Door,
    *,
    host: str,
    port: int,
    connections: int,
    behind_proxy: bool,
    access_log: str,
) -> None:
    """Serve until SIGTERM or Ctrl-C; port 0 takes a free one. Says where it listens once it does.

    `connections` is how many there may be at once; with `behind_proxy` the addresses that a trusted proxy forwards
    (FORWARDED_ALLOW_IPS, by default 127.0.0.1) are taken for the callers'. `access_log` is a file, ``-`` or ``off``.
    """
    import uvicorn

    from axisjudge.service.api import create_app

    listener = _listener(host, port)
    set_up_logs(access_log)
    sys.setswitchinterval(0.001)  # the loop that answers is not to wait 5 ms for the thread that scores
    # uvicorn raises the signal that ended it once more; the events that wait are to be sent before the process ends.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with EventSender(store, sink) as sender:
        app = create_app(store, door, scored=sender.wake)
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            limit_concurrency=affordable_connections(connections),
            backlog=BACKLOG,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=20,
            proxy_headers=behind_proxy,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
        )
        address, bound, *_ = listener.getsockname()
        shown = f"[{address}]" if ":" in address else address
        print(f"scorecard: listening on http://{shown}:{bound}", flush=True)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            app.state.writer.close()


def _listener(host: str, port: int) -> socket.socket:
    """A listening socket that knows it is TCP: only then does asyncio send answers at once (TCP_NODELAY).

    Otherwise the second packet of an answer waits for the client's delayed acknowledgement, 40 ms.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
        return listener
    except (OSError, OverflowError) as error:
        raise InputError("--host, --port", f"cannot be listened on ({error})", f"{host}:{port}") from None
