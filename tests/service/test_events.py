"""Events arrive at least once, in a file and at a server that speaks PostHog's protocol on loopback."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from axisjudge.checks import InputError
from axisjudge.scores.run_score.runs import Run
from axisjudge.service.store import ScoreStore
from axisjudge.service.telemetry import EventSender, JsonLinesSink, PostHogSink, SinkError, drain, sink_from


@pytest.fixture
def store(tmp_path):
    store = ScoreStore(str(tmp_path / "scores.sqlite"))
    yield store
    store.close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def runs(*numbers):
    return [Run(run_id=f"run-{k}", agent_id="agent-a", workspace_id="w", outcome="COMPLETED") for k in numbers]


def wait_for(condition, seconds=10.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def names(path):
    return [json.loads(line)["run_id"] for line in path.read_text().splitlines()]


class PostHogServer:
    """Takes batches as PostHog does; answers 503 while `is_down`."""

    def __init__(self):
        self.is_down, self.events = False, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if not outer.is_down:
                    outer.events += body["batch"]
                self.send_response(503 if outer.is_down else 200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def posthog():
    server = PostHogServer()
    yield server
    server.stop()


def test_the_event_says_what_the_text_says(store, tmp_path):
    store.add(runs(1))
    assert drain(store, JsonLinesSink(tmp_path / "events.jsonl")) == 1
    (event,) = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    assert event["event"] == "agent.run.scored"
    assert (event["run_id"], event["score"], event["tier"], event["formula_version"]) == ("run-1", 70, "Gold", "2")
    assert event["axes"] == {"completion": 100, "error_rate": 50, "latency": 50, "resource_efficiency": 50}
    assert set(event["reasons"]) == {"error_rate", "latency", "resource_efficiency"}
    assert store.waiting() == []


@pytest.mark.slow
def test_a_file_that_is_down_and_up_again(store, tmp_path):
    folder = tmp_path / "not-there"
    with EventSender(store, JsonLinesSink(folder / "events.jsonl"), pause=0.01, longest_pause=0.05) as sender:
        store.add(runs(1, 2))
        sender.wake()
        time.sleep(0.1)
        assert len(store.waiting()) == 2
        folder.mkdir()
        wait_for(lambda: not store.waiting())
        store.add(runs(3))
        sender.wake()
        wait_for(lambda: not store.waiting())
    assert names(folder / "events.jsonl") == ["run-1", "run-2", "run-3"]


def test_a_torn_line_is_not_joined_to_the_next(store, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "agent.run.sc')
    store.add(runs(1))
    drain(store, JsonLinesSink(path))
    assert json.loads(path.read_text().splitlines()[1])["run_id"] == "run-1"


def test_killed_between_sink_and_store_sends_again(store, tmp_path):
    """The sink has the events, the store does not know it yet: they come again, none is lost."""
    store.add(runs(1, 2))
    sink = JsonLinesSink(tmp_path / "events.jsonl")
    sink.send([event for _, event in store.waiting()])
    assert drain(store, sink) == 2
    assert names(tmp_path / "events.jsonl") == ["run-1", "run-2"] * 2


def test_a_run_that_was_scored_many_times_is_one_event_a_batch(store, tmp_path):
    """The last score goes out, for whatever the sink knows of that run."""
    path = tmp_path / "events.jsonl"
    same = {"agent_id": "a", "workspace_id": "w", "outcome": "COMPLETED"}
    ends = [f"2026-11-01T12:{minute:02}:00Z" for minute in (9, 8, 7, 6, 5, 4, 3, 2, 1, 30)]
    late = [
        Run(run_id=f"run-{number}", wall_seconds=40.0 + 30 * number, ended_at=end, **same)
        for number, end in enumerate(ends)
    ]
    store.add(late[-1:])
    drain(store, JsonLinesSink(path))
    (first,) = map(json.loads, path.read_text().splitlines())
    for one in late[:-1]:
        store.add([one])
    assert len(store.waiting(1000)) > len(late)
    drain(store, JsonLinesSink(path))
    events = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert len({event["run_id"] for event in events}) == len(events) <= len(late)
    assert all(event["score_id"] == store.get(event["run_id"])["score_id"] for event in events)
    assert {event["run_id"]: event["supersedes"] for event in events}.get("run-9") == first["score_id"]
    assert store.waiting() == []


def test_posthog_down_and_up_again(store, posthog):
    posthog.is_down = True
    with EventSender(store, PostHogSink("not-a-key", posthog.url), pause=0.01, longest_pause=0.05) as sender:
        store.add(runs(*range(4)))
        sender.wake()
        time.sleep(0.2)
        assert len(store.waiting()) == 4
        posthog.is_down = False
        wait_for(lambda: not store.waiting())
    assert {event["properties"]["run_id"] for event in posthog.events} == {f"run-{k}" for k in range(4)}
    first = posthog.events[0]
    assert (first["event"], first["distinct_id"]) == ("agent.run.scored", "agent-a")
    assert first["uuid"].replace("-", "") == first["properties"]["score_id"]
    assert first["properties"]["axes"]["completion"] == 100


def test_a_posthog_that_nobody_answers_for_is_a_sink_that_is_down(store):
    store.add(runs(1))
    with pytest.raises(SinkError):
        drain(store, PostHogSink("not-a-key", "http://127.0.0.1:9"))
    assert len(store.waiting()) == 1


def test_sinks_by_name(tmp_path):
    assert isinstance(sink_from("posthog", "s.sqlite", {"POSTHOG_API_KEY": "not-a-key"}), PostHogSink)
    with pytest.raises(InputError, match="POSTHOG_API_KEY: must hold"):
        sink_from("posthog", "s.sqlite", {})
    assert sink_from(None, "scores/s.sqlite", {}).path.as_posix() == "scores/s.events.jsonl"
    assert sink_from(None, "postgresql://u:not-a-key@host/n", {}).path.name == "scorecard-events.jsonl"
