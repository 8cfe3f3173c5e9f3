"""The labeller from a server on loopback: who labels what, two people at once, nothing said saved that is not there."""

import json
import re
import signal
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from explorer.conftest import run
from explorer.driving import assert_accessible, press, verdict_on
from playwright.sync_api import expect

from axisjudge.checks import InputError
from axisjudge.explorer.log import LabelLog
from axisjudge.explorer.serving import LabelServer, assigned, progress
from axisjudge.labels.record import read_labels
from axisjudge.labels.sampling import draw_at_random, drawn_of, read_sampling
from axisjudge.readers import write_trajectories
from axisjudge.verdict import AXES

HOST = "#labeller"


def plans(folder):
    return {path.name.split(".")[0]: read_sampling(path) for path in folder.glob("*.sampling.json")}


@pytest.mark.parametrize("overlap", [0, 4, 10, None])
def test_everybody_labels_the_overlap_and_the_rest_is_dealt_once(tmp_path, overlap):
    runs = [run(number) for number in range(10)]
    sampling = draw_at_random(runs, seed=3)
    assigned(sampling, ["ann", "ben"], tmp_path, overlap=overlap)
    given = {name: set(plan.trajectory_ids) for name, plan in plans(tmp_path).items()}
    assert given["ann"] | given["ben"] == set(sampling.trajectory_ids)
    assert len(given["ann"] & given["ben"]) == (10 if overlap is None else overlap)
    assert abs(len(given["ann"]) - len(given["ben"])) <= 1
    both = plans(tmp_path)
    assert {item.probability for plan in both.values() for item in plan.items} == {1.0}, "the deal is no further draw"
    if overlap is None:
        assert both["ann"].trajectory_ids != both["ben"].trajectory_ids, "nobody's order is another's"
    assigned(sampling, ["ann", "ben", "cal"], tmp_path, overlap=overlap)
    after = {name: set(plan.trajectory_ids) for name, plan in plans(tmp_path).items()}
    assert {name: after[name] for name in given} == given, "who has begun keeps their runs"
    assert after["cal"] == set(sampling.trajectory_ids[:overlap])


@pytest.mark.parametrize(
    ("people", "overlap", "message"),
    [
        ((), None, "link of their own"),
        (("a b", "a-b"), None, "one file"),
        (("ann",), 4, "at most the 3"),
        (("../x",), 1, "letter"),
    ],
)
def test_who_cannot_be_told_apart_is_refused(runs, tmp_path, people, overlap, message):
    with pytest.raises(InputError, match=message):
        assigned(draw_at_random(runs, seed=1), people, tmp_path, overlap=overlap)


@pytest.fixture
def command(runs, tmp_path):
    """Start the server as a user does; gives the process and each person's link."""
    write_trajectories(tmp_path / "runs.jsonl", runs)
    started = []

    def start(port=0, people=("ann", "ben")):
        what = ["label", "page", str(tmp_path / "runs.jsonl"), "--serve", "--out", str(tmp_path / "labels")]
        who = [word for name in people for word in ("--rater", name)]
        process = subprocess.Popen(
            [sys.executable, "-m", "axisjudge", *what, *who, "--port", str(port)], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        process.stdout.readline()
        links = dict(re.match(r"  (\w+): (\S+)", process.stdout.readline()).groups() for _ in people)
        return process, links

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def ask(link, kind, content, re="1"):
    address, _, token = link.partition("#")
    body = json.dumps({"kind": kind, "re": re, "content": content}).encode()
    with urlopen(Request(f"{address}api", body, {"Authorization": f"Bearer {token}"})) as answer:
        return json.load(answer)["content"]


def test_a_token_opens_one_sitting_and_a_question_asked_twice_is_written_once(runs, tmp_path):
    from threading import Thread

    assigned(draw_at_random(runs, seed=1), ["ann", "ben"], tmp_path)
    with LabelServer(runs, ["ann", "ben"], tmp_path) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        links = server.links()
        label = {"verdict": "incorrect", "confidence": None, "cited": [2], "note": "ann's"}
        change = {"item": 0, "axis": AXES[0], "label": label, "seconds": 3}
        for _ in range(2):
            ask(links["ann"], "save", {"rater": "ben", "content": change}, re="7")  # whose it is, the token says
        assert ask(links["ann"], "start", {"content": None})["labels"] == {f"0/{AXES[0]}": label}
        assert ask(links["ben"], "start", {"content": None})["labels"] == {}
        assert "ann's" not in json.dumps([ask(links["ben"], "name", None), ask(links["ben"], "item", {"content": 1})])
        wrong = links["ann"][:-1] + ("0" if links["ann"][-1] != "0" else "1")
        with pytest.raises(HTTPError, match="403"):
            ask(wrong, "start", {"content": None})
        with pytest.raises(HTTPError, match="400"):
            ask(links["ann"], "save", {"content": {**change, "axis": "sequence"}}, re="8")
        with urlopen(links["ann"].partition("#")[0]) as page:
            assert "Please cancel order" not in page.read().decode(), "the page holds no run"
        server.shutdown()
        thread.join()
    (line,) = LabelLog(tmp_path / "ann.jsonl").lines()
    assert (line.rater, line.verdict, drawn_of(line.flags)["drawn"]) == ("ann", "incorrect", "random")
    assert not (tmp_path / "ben.jsonl").exists()
    assert (tmp_path / ".secret").stat().st_mode & 0o077 == 0
    ann, ben = progress(tmp_path)
    assert (ann["labels"], ann["shared"], ben["labels"], ben["assigned"]) == (1, 3, 0, 3)


def sit_down(browser, link, **options):
    page = browser.new_context(viewport={"width": 1360, "height": 850}, **options).new_page()
    page.goto(link)
    page.wait_for_selector("article")
    return page


def saved(page, timeout=20_000):
    expect(page.locator(".saved")).to_have_text("Saved", timeout=timeout)


@pytest.mark.slow
def test_two_people_in_two_places_label_one_set_while_the_server_is_killed(browser, command, tmp_path, pictures):
    process, links = command()
    port = int(re.search(r":(\d+)/", links["ann"])[1])
    ann, ben = (sit_down(browser, links[name]) for name in ("ann", "ben"))
    assert "#" not in ann.url, "the token does not stay in sight"
    press(ann, "2", "m")
    ann.keyboard.type("a word of ann")
    saved(ann)
    press(ben, "1")
    saved(ben)
    assert "a word of ann" not in ben.content()
    assert_accessible(ann, HOST)
    process.send_signal(signal.SIGKILL)
    process.wait()
    press(ben, "a", "3")
    ben.get_by_text("Not saved: the server does not answer").wait_for()
    ben.screenshot(path=pictures / "served-without-server.png")
    assert verdict_on(ben, AXES[1]) == "uncertain"
    command(port)
    saved(ben)
    expect(ben.locator(".late")).to_be_hidden()
    ann.reload()
    expect(ann.get_by_label("Note on Tool selection")).to_have_value("a word of ann")
    assert verdict_on(ann, AXES[0]) == "incorrect"
    ann.get_by_role("button", name="Not you?").click()
    ann.get_by_text("Open the link that was given to you").wait_for()
    assert "a word of ann" not in ann.content()
    labels = {name: read_labels(tmp_path / "labels" / f"{name}.jsonl") for name in ("ann", "ben")}
    assert labels["ann"]["verdict"].to_list() == ["incorrect"]
    assert sorted(labels["ben"]["verdict"]) == ["correct", "uncertain"]
    assert {name: set(table["rater"]) for name, table in labels.items()} == {"ann": {"ann"}, "ben": {"ben"}}
    for page in (ann, ben):
        page.context.close()
