"""Events of scored runs: where they go, and the sender that sees to it that each arrives at least once."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from axisjudge.checks import InputError
from axisjudge.service.store import ScoreStore

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
