"""What the service says of itself: request ids, an access log of JSON lines, metrics, and logs that cannot flood."""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import random
import re
import sys
import time
from datetime import UTC, datetime
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axisjudge.service.problems import MEDIA_TYPE, problem
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
