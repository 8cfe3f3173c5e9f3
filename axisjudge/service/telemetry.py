"""What leaves the service: events of scored runs, each at least once, and what it says of itself in logs and
metrics.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import random
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axisjudge.checks import InputError
from axisjudge.service.answers import MEDIA_TYPE, problem
from axisjudge.service.store import ScoreStore

access_log = logging.getLogger("axisjudge.service.access")

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_FILE_BYTES, _FILES = 10 * 1024 * 1024, 5


class Metrics:
    """Counters of one application, in a registry of its own."""

    def __init__(self, store: ScoreStore) -> None:
        own = self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("scorecard_requests", "Requests answered.", labels, registry=own)
        self.seconds = Histogram(
            "scorecard_request_seconds", "Seconds to an answer.", ("route",), buckets=_SECONDS, registry=own
        )
        self.runs = Counter("scorecard_runs", "Runs handed in, by what came of them.", ("outcome",), registry=own)
        waiting = Gauge("scorecard_events_waiting", "Events that the sink does not have yet.", registry=own)
        waiting.set_function(store.count_waiting)


class Telemetry:
    """Gives each request an id, counts and logs it, and sees to it that every error has the one form.

    The id is the caller's ``X-Request-ID`` if it is a plain word of at most 64 characters, else a new one; the answer
    bears it. HEAD is answered as GET is; the server leaves the body out.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", given) else f"{random.getrandbits(128):032x}"
        scope.setdefault("state", {})["request_id"] = request_id
        replaced = False
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope

        async def answer(message: Message) -> None:
            nonlocal status, replaced
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                if status >= 400 and not headers.get("content-type", "").startswith(MEDIA_TYPE):
                    replaced = True
                    kept = {name: headers[name] for name in ("allow", "retry-after", "x-request-id") if name in headers}
                    detail = HTTPStatus(status).description or "the request was refused"
                    await problem(status, detail, headers=kept)(scope, receive, send)
            if not replaced:
                await send(message)

        try:
            await self.app(asked, receive, answer)
        finally:
            self._record(scope, getattr(asked.get("route"), "path", "none"), status, time.perf_counter() - began)

    def _record(self, scope: Scope, route: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        if access_log.isEnabledFor(logging.INFO):
            client, token = scope.get("client"), scope["state"].get("token")
            line = {
                "at": datetime.now(UTC).isoformat(),
                "request_id": scope["state"]["request_id"],
                "client": client and client[0],
                "token": token and token.token_id,
                "method": scope["method"][:16],
                "path": scope["path"][:300],
                "status": status,
                "ms": round(1000 * seconds, 2),
            }
            access_log.info(json.dumps(line))


_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


class FloodGate(logging.Filter):
    """Lets a few records of one kind through a minute and says how many it held back.

    A kind is a logger and the text before its arguments. Whoever opens thousands of connections, or sends nonsense,
    shall not fill the disk.
    """

    def __init__(self, at_most: int = 10, seconds: float = 60.0) -> None:
        super().__init__()
        self._at_most, self._seconds = at_most, seconds
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        if len(self._kinds) > 1000:
            self._kinds.clear()
        kind, now = (record.name, str(record.msg)[:60]), time.monotonic()
        since, count = self._kinds.get(kind, (now, 0))
        if now - since > self._seconds:
            if count > self._at_most:
                record.msg = f"{record.msg} ({count - self._at_most} more of this kind were held back)"
            since, count = now, 0
        self._kinds[kind] = (since, count + 1)
        return count < self._at_most


class TurningFile(logging.handlers.RotatingFileHandler):
    """A file that turns over once it is full; for that it asks the open file, and once, where logging's own looks at
    the path, writes the line out and seeks: two fifths of what a line costs."""

    def shouldRollover(self, record: logging.LogRecord) -> int:
        """Whether the file is full."""
        return int(self.stream is not None and os.fstat(self.stream.fileno()).st_size >= self.maxBytes)


def set_up_logs(access: str) -> None:
    """Warnings to standard error through a `FloodGate`; the access log to a file that turns over, or ``-``, or ``off``.

    The file and its predecessors hold at most 60 MB and six lines.
    """
    # No line says from which line of code, thread or process it comes, so that nobody needs to find out.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    warnings = logging.StreamHandler(sys.stderr)
    warnings.addFilter(FloodGate())
    warnings.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # a full disk must not write to standard error for each line it refuses
    logging.basicConfig(level=logging.WARNING, handlers=[warnings], force=True)
    access_log.propagate = False
    access_log.setLevel(logging.WARNING if access == "off" else logging.INFO)
    if access == "-":
        access_log.addHandler(logging.StreamHandler(sys.stdout))
    elif access != "off":
        access_log.addHandler(TurningFile(access, maxBytes=_FILE_BYTES, backupCount=_FILES, delay=True))


# Events of scored runs: where they go, and the sender that sees to it that each arrives at least once.

log = logging.getLogger("axisjudge.service")

Event = Mapping[str, Any]

#: Events that are taken from the store at once; of one run only the last of them goes out.
_BATCH = 5000
#: Seconds in which events gather before they are sent: one commit for many.
_GATHER = 0.5
#: Seconds to wait for an answer of PostHog.
_ANSWER_S = 10


class SinkError(Exception):
    """The sink did not take an event."""


class Sink(Protocol):
    """Takes events; whatever it raises means that they may not have arrived and are to be sent again."""

    def send(self, events: Sequence[Event]) -> None: ...


class JsonLinesSink:
    """Appends each event as one JSON line; a batch is on the disk before `send` returns.

    One service writes to one file. A line that a killed service left unfinished is ended, so that no event is joined to
    it; its event comes again.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def send(self, events: Sequence[Event]) -> None:
        with self.path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(b"".join(json.dumps(event).encode() + b"\n" for event in events))
            file.flush()
            os.fsync(file.fileno())


class PostHogSink:
    """Sends each event by PostHog's own client; the id of the score is the event's, so that PostHog counts it once.

    Parameters
    ----------
    key : str
        The project's key.
    host : str
        Where PostHog is.
    """

    def __init__(self, key: str, host: str) -> None:
        from posthog import Posthog

        logging.getLogger("posthog").setLevel(logging.CRITICAL)  # failures are ours to report
        # The client tells nobody whether its background queue arrived; in sync mode it answers for each event.
        self._client = Posthog(key, host=host, sync_mode=True, max_retries=0, timeout=_ANSWER_S)

    def send(self, events: Sequence[Event]) -> None:
        for event in events:
            properties = {name: value for name, value in event.items() if name != "event"}
            taken = self._client.capture(
                event["event"],
                distinct_id=event["agent_id"],
                properties=properties | {"$process_person_profile": False},
                timestamp=event["scored_at"],
                uuid=event["score_id"],
            )
            if taken is None:
                raise SinkError("PostHog did not take the event")


def last_of_each_run(events: Sequence[Event]) -> list[Event]:
    """Of each run the last event, which takes the place of whatever the first of them took the place of.

    Late runs score those after them anew, many times over where runs come in no order; what was said by nobody needs
    no correction.
    """
    supersedes: dict[str, Any] = {}
    last: dict[str, Event] = {}
    for event in events:
        supersedes.setdefault(event["run_id"], event.get("supersedes"))
        last.pop(event["run_id"], None)
        last[event["run_id"]] = event
    return [{**event, "supersedes": supersedes[run_id]} for run_id, event in last.items()]


def drain(store: ScoreStore, sink: Sink) -> int:
    """Send the events that wait when it begins; how many the sink took. Raises what the sink raises; the rest waits on.

    Of several services on one store one sends at a time, so that each event goes out once.
    """
    count, is_more = 0, True
    while is_more and store.count_waiting():
        with store.database.sending():
            batch = store.waiting(_BATCH)
            if batch:
                sink.send(last_of_each_run([event for _, event in batch]))
                store.sent([position for position, _ in batch])
        count += len(batch)
        is_more = len(batch) == _BATCH  # what comes meanwhile gathers for the next time
    return count


class EventSender:
    """A thread that brings waiting events from the store to the sink.

    Scoring never waits for it. While the sink is down events stay in the store, and are tried again after pauses that
    grow from `pause` to `longest_pause` seconds. An event is forgotten only after the sink took it, so a service that
    is killed in between sends it once more.
    """

    def __init__(self, store: ScoreStore, sink: Sink, *, pause: float = 0.5, longest_pause: float = 30.0) -> None:
        self._store, self._sink = store, sink
        self._pause, self._longest = pause, longest_pause
        self._wake, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="scorecard events", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._wake.set()
        self._thread.join(timeout=self._longest)

    def wake(self) -> None:
        """There is something to send."""
        self._wake.set()

    def _run(self) -> None:
        failures = 0
        while True:
            is_last = self._ending.is_set()
            try:
                drain(self._store, self._sink)
                if failures:
                    log.warning("events: the sink is back")
                failures = 0
            except Exception as error:  # whatever is wrong with a sink, scoring goes on
                failures += 1
                if failures == 1:
                    log.warning("events: the sink is down (%s); they wait in the store", type(error).__name__)
            if is_last:
                return
            if failures:
                self._ending.wait(min(self._pause * 2 ** min(failures - 1, 16), self._longest))
            else:
                self._wake.wait(self._longest)
                self._ending.wait(_GATHER)
            self._wake.clear()


def sink_from(events: str | None, store_url: str, environment: Mapping[str, str]) -> Sink:
    """The sink that the options name: ``posthog``, a file, or by default a file beside the working folder's store.

    Raises
    ------
    InputError
        PostHog is wanted and its key is not in POSTHOG_API_KEY, or the client is not installed.
    """
    if events == "posthog":
        from importlib.util import find_spec

        if find_spec("posthog") is None:
            raise InputError("--events", "posthog needs the extra `service`", cure="pip install 'axisjudge[service]'")
        key = environment.get("POSTHOG_API_KEY", "")
        if not key:
            raise InputError("POSTHOG_API_KEY", "must hold the project's key for --events posthog")
        return PostHogSink(key, environment.get("POSTHOG_HOST", "https://us.i.posthog.com"))
    if events is not None:
        return JsonLinesSink(events)
    return JsonLinesSink(beside_store(store_url, "events"))


def beside_store(store_url: str, name: str) -> Path:
    """The file of JSON lines that stands beside a SQLite store, or in the working folder for another one."""
    return Path(f"scorecard-{name}.jsonl") if "://" in store_url else Path(store_url).with_suffix(f".{name}.jsonl")
