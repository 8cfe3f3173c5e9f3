"""Two services on one database: each event goes out once, and what both score is what one would."""

import json
import random
import threading
import time
from collections import Counter

import pytest

from axisjudge.scores.run_score.runs import Run
from axisjudge.scores.run_score.score import score_runs, scorecards
from axisjudge.service.store import ScoreStore
from axisjudge.service.telemetry import EventSender, JsonLinesSink, drain

from .load import Service, made_run, press, runs_in
from .test_service import scores_that_hold


class Slow:
    """A sink that takes its time, and remembers what it was sent."""

    def __init__(self):
        self.sent = []

    def send(self, events):
        time.sleep(0.05)
        self.sent += [event["score_id"] for event in events]


def runs(first, last):
    return [Run.model_validate(made_run(number, random.Random(number), late=0.0)) for number in range(first, last)]


@pytest.mark.slow
def test_senders_of_one_store_send_each_event_once(store_url):
    stores, sink = [ScoreStore(store_url) for _ in range(2)], Slow()
    wanted = 0
    senders = [EventSender(store, sink, pause=0.01) for store in stores]
    for sender in senders:
        sender.__enter__()
    for start in range(0, 200, 20):
        for store, sender, part in zip(stores, senders, (0, 10), strict=True):
            store.add(runs(start + part, start + part + 10))
            sender.wake()
        wanted += 20
        time.sleep(0.03)
    for sender in senders:
        sender.__exit__(None, None, None)
    assert stores[0].waiting() == []
    assert set(Counter(sink.sent).values()) == {1}
    assert len(sink.sent) >= wanted
    for store in stores:
        store.close()


def test_a_sender_that_is_stuck_does_not_keep_anybody_from_scoring(store_url):
    one, two = ScoreStore(store_url), ScoreStore(store_url)
    go_on = threading.Event()

    class Stuck:
        def send(self, events):
            go_on.wait(20)

    one.add(runs(0, 5))
    thread = threading.Thread(target=drain, args=(one, Stuck()))
    thread.start()
    time.sleep(0.1)
    began = time.monotonic()
    two.add(runs(5, 10))
    one.add(runs(10, 15))
    assert time.monotonic() - began < 5
    go_on.set()
    thread.join()
    drain(two, Stuck())  # what came meanwhile
    assert one.waiting() == []
    one.close()
    two.close()


@pytest.mark.slow
@pytest.mark.parametrize("store_url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("seconds", [1.0, 20.0])
def test_two_services_pressed_at_once(store_url, tmp_path, seconds):
    sinks = [tmp_path / f"events-{k}.jsonl" for k in range(2)]
    services = [Service(store_url, sink) for sink in sinks]
    found = [None, None]

    def one(k):
        found[k] = press(services[k], clients=3, seconds=seconds, first=k * 10**6)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for service in services:
        service.stop()
    assert found[0].unexpected == found[1].unexpected == []
    store = ScoreStore(store_url)
    drain(store, JsonLinesSink(sinks[0]))
    held = scores_that_hold(store)
    assert set(held) == set(found[0].acknowledged) | set(found[1].acknowledged)
    assert held == {card.run_id: card for card in scorecards(score_runs(runs_in(store)))}
    store.close()
    sent = [json.loads(line)["score_id"] for sink in sinks if sink.exists() for line in sink.read_text().splitlines()]
    assert set(Counter(sent).values()) == {1}
    assert len(sent) >= len(held)
