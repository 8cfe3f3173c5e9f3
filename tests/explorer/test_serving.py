"""The labeller from a server on loopback: who labels what, two people at once, nothing said saved that is not there."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from shutil import which
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cli.conftest import axisjudge
from explorer.conftest import run
from explorer.driving import assert_accessible, in_sight, press, verdict_on, wait_for_trajectory
from explorer.rated import JUDGES, rating
from playwright.sync_api import expect

from axisjudge.checks import InputError
from axisjudge.explorer import write_page
from axisjudge.explorer.log import LabelLog, now
from axisjudge.explorer.serving import LabelServer, assigned, progress
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import draw_at_random, drawn_of, read_sampling
from axisjudge.ratings import RatingsWriter
from axisjudge.readers import write_trajectories
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, VERDICTS

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
        (("ann", "ann "), 1, "single spaces"),
        (("jose\u0301",), 1, "letter"),
        (("zoe.decisions",), 1, "no .decisions"),  # the file of zoe's decisions
        (("\u00e9" * 120,), 1, "160 bytes"),
        (("Zoe",), 1, "nearly that of another person"),
    ],
)
def test_who_cannot_be_told_apart_is_refused(runs, tmp_path, people, overlap, message):
    assigned(draw_at_random(runs, seed=1), ["zoe"], tmp_path)
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
        given = json.load(answer)
        assert given["re"] == re
        return given["content"]


@contextmanager
def listening(runs, people, folder):
    """A server in this process; gives each person's link."""
    assigned(draw_at_random(runs, seed=1), people, folder)
    with LabelServer(runs, people, folder) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server.links()
        server.shutdown()
        thread.join()


def said(verdict="incorrect", axis=AXES[0], **more):
    label = {"verdict": verdict, "confidence": None, "cited": [], "note": ""}
    return {"content": {"item": 0, "axis": axis, "label": label, "seconds": 1, **more}}


@pytest.mark.parametrize("harm", [lambda file: file.unlink(), lambda file: os.truncate(file, 1500)])
def test_a_file_that_lost_labels_takes_none_until_it_is_put_back(runs, tmp_path, harm):
    file = tmp_path / "ann.jsonl"
    with listening(runs, ["ann"], tmp_path) as links:
        for number, axis in enumerate(AXES[:3]):
            ask(links["ann"], "save", said(axis=axis), re=str(number))
        whole = file.read_bytes()
        harm(file)
        for question in ("7", "7", "8"):
            with pytest.raises(HTTPError, match="503"):
                ask(links["ann"], "save", said(axis=AXES[3]), re=question)
        file.write_bytes(whole)
        ask(links["ann"], "save", said(axis=AXES[3]), re="7")
    assert [line.question for line in LabelLog(file).lines()] == list(AXES[:4])


def test_while_no_label_can_be_written_trajectories_are_shown_and_labelled(browser, runs, tmp_path):
    file = tmp_path / "ann.jsonl"
    with listening(runs, ["ann"], tmp_path) as links:
        page = sit_down(browser, links["ann"])
        press(page, "1", "a", "1")
        saved(page)
        whole = file.read_bytes()
        file.write_bytes(whole.partition(b"\n")[0] + b"\n")  # refused as on a full disk, until it is whole again
        press(page, "2")
        page.get_by_text("Not saved: ").wait_for()
        page.reload()
        page.wait_for_selector("article")
        assert verdict_on(page, AXES[1]) == "incorrect"
        for number in (1, 2):
            press(page, "n")
            wait_for_trajectory(page, number)
            press(page, "t", "3")
        file.write_bytes(whole)
        saved(page)
        page.context.close()
    lines = LabelLog(file).lines()
    assert [line.verdict for line in lines] == ["correct", "correct", "incorrect", "uncertain", "uncertain"]
    assert len({line.trajectory_id for line in lines[-3:]}) == 3


def test_a_label_of_another_content_than_is_there_by_now_is_refused(runs, tmp_path):
    with listening(runs, ["ann"], tmp_path) as links:
        shown = ask(links["ann"], "item", {"content": 0})["shown"]
        ask(links["ann"], "save", said(shown=shown))
    changed = [run.model_copy(update={"policy": "Another policy."}) for run in map(Trajectory.model_copy, runs)]
    with listening([Trajectory(**run.model_dump()) for run in changed], ["ann"], tmp_path) as links:
        with pytest.raises(HTTPError, match="400"):
            ask(links["ann"], "save", said("correct", shown=shown))
        assert ask(links["ann"], "start", {"content": None})["labels"] == {}, "what was said of other content"


def test_a_clock_that_was_set_back_keeps_no_later_word_away(runs, session, tmp_path, monkeypatch):
    path = tmp_path / "rater-one.jsonl"
    label = session.rating(0, AXES[0], said("correct")["content"]["label"], 1, "2999-01-01T00:00:00Z")
    LabelLog(path).append(label)
    earlier = label.model_copy(update={"verdict": "incorrect", "created_at": now(ago=60)})
    assert LabelLog(path).append(earlier) is None
    assert [line.verdict for line in LabelLog(path).lines()] == ["correct", "incorrect"]


@pytest.mark.parametrize(
    "answer", [{}, *(pytest.param(each, marks=pytest.mark.slow) for each in ({"content": None}, {"error": "who?"}))]
)
def test_what_stands_between_is_not_taken_for_the_server(browser, runs, tmp_path, answer):
    with listening(runs, ["ann"], tmp_path) as links:
        page = sit_down(browser, links["ann"])
        page.wait_for_timeout(300)  # the run behind is asked for ahead
        page.route("**/api", lambda route: route.fulfill(json=answer, status=401 if "error" in answer else 200))
        press(page, "2")
        page.get_by_text("Not saved: the server does not answer").wait_for()
        page.unroute("**/api")
        saved(page)
        page.context.close()
    assert [line.verdict for line in LabelLog(tmp_path / "ann.jsonl").lines()] == ["incorrect"]


@pytest.mark.slow
def test_what_a_server_that_was_started_anew_has_lost_is_sent_again(browser, command, tmp_path):
    process, links = command(people=("ann",))
    page = sit_down(browser, links["ann"])
    press(page, "2", "a", "3", "s", "1")
    saved(page)
    process.kill()
    process.wait()
    (tmp_path / "labels" / "ann.jsonl").unlink()
    press(page, "r", "4")
    page.get_by_text("Not saved: the server does not answer").wait_for()
    command(int(re.search(r":(\d+)/", links["ann"])[1]), ("ann",))
    file = tmp_path / "labels" / "ann.jsonl"
    wait_until = time.monotonic() + 30
    while not file.exists() or len({line.question for line in LabelLog(file).lines()}) < 4:
        assert time.monotonic() < wait_until
        page.wait_for_timeout(200)
    saved(page)
    page.context.close()
    words = {line.question: line.verdict for line in LabelLog(file).lines()}
    assert [words[axis] for axis in AXES[:4]] == ["incorrect", "uncertain", "correct", "not_applicable"]


def test_a_token_opens_one_sitting_and_a_question_asked_twice_is_written_once(runs, tmp_path):
    runs = [run.model_copy(update={"policy": "The key is AKIA" + "ABCDEFGH23456789."}) for run in runs]
    with listening(runs, ["ann", "ben"], tmp_path) as links:
        label = {"verdict": "incorrect", "confidence": None, "cited": [2], "note": "ann's"}
        change = {"item": 0, "axis": AXES[0], "label": label, "seconds": 3}
        for _ in range(2):
            ask(links["ann"], "save", {"rater": "ben", "content": change}, re="7")  # whose it is, the token says
        assert ask(links["ann"], "start", {"content": None})["labels"] == {f"0/{AXES[0]}": label}
        assert ask(links["ben"], "start", {"content": None})["labels"] == {}
        assert "ann's" not in json.dumps([ask(links["ben"], "name", None), ask(links["ben"], "item", {"content": 1})])
        assert ask(links["ben"], "item", {"content": 1})["policy"].startswith("The key is [secret: AWS Access Key ")
        wrong = links["ann"][:-1] + ("0" if links["ann"][-1] != "0" else "1")
        with pytest.raises(HTTPError, match="403"):
            ask(wrong, "start", {"content": None})
        with pytest.raises(HTTPError, match="400"):
            ask(links["ann"], "save", {"content": {**change, "axis": "sequence"}}, re="8")
        with urlopen(links["ann"].partition("#")[0]) as page:
            assert "Please cancel order" not in page.read().decode(), "the page holds no run"
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
    assert "a word of ann" not in in_sight(ben)
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
    assert "a word of ann" not in in_sight(ann)
    labels = {name: read_labels(tmp_path / "labels" / f"{name}.jsonl") for name in ("ann", "ben")}
    assert labels["ann"]["verdict"].to_list() == ["incorrect"]
    assert sorted(labels["ben"]["verdict"]) == ["correct", "uncertain"]
    assert {name: set(table["rater"]) for name, table in labels.items()} == {"ann": {"ann"}, "ben": {"ben"}}
    for page in (ann, ben):
        page.context.close()


@pytest.mark.slow
def test_of_two_browsers_without_a_server_the_later_word_stands_and_both_are_kept(browser, command, tmp_path):
    """One person in two browsers, of which one is a day ahead; the server takes their words as they happen to come."""
    process, links = command(people=("ann",))
    port = int(re.search(r":(\d+)/", links["ann"])[1])
    pages = [sit_down(browser, links["ann"]) for _ in range(2)]
    pages[0].evaluate("() => { const now = Date.now; Date.now = () => now() + 86_400_000; }")
    for page in pages:
        press(page, "1")
        saved(page)
    for turn in range(4):
        process.kill()
        process.wait()
        older, newer = pages if turn % 2 else pages[::-1]
        press(older, "2")
        newer.wait_for_timeout(1200 + 300 * turn)
        press(newer, "3")
        process, _ = command(port, ("ann",))
        for page in pages:
            expect(page.locator(".saved")).to_have_text(re.compile("^Saved"), timeout=20_000)
            page.evaluate("dispatchEvent(new Event('focus'))")
            expect(page.locator(f"input[name={AXES[0]}-verdict]:checked")).to_have_value("uncertain")
        said = [line.verdict for line in LabelLog(tmp_path / "labels" / "ann.jsonl").lines()]
        assert said[-1] == "uncertain"
        assert said.count("incorrect") == turn + 1
        for page in pages:
            press(page, "1")
            expect(page.locator(".saved")).to_have_text(re.compile("^Saved"), timeout=20_000)
    for page in pages:
        page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["blocked", "full"])
def test_where_a_browser_keeps_nothing_no_page_says_saved_and_none_is_in_the_way(
    browser, command, session, explorer_file, tmp_path, how
):
    """Chromium that may store nothing, or has no room: all is shown, and goes out by download or to the server."""
    _, links = command(people=("ann",))
    labelling = write_page(tmp_path / "labelling.html", session).as_uri()
    address = {"labelling": labelling, "explorer": f"{explorer_file.as_uri()}#run=run-0&axis=argument_validity"}
    settings = tmp_path / "profile" / "Default" / "Preferences"
    settings.parent.mkdir(parents=True)
    stored = {"default_content_setting_values": {"cookies": 2 if how == "blocked" else 1}}
    settings.write_text(json.dumps({"profile": stored}))
    context = browser.browser_type.launch_persistent_context(
        settings.parents[1], executable_path=which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )
    asked = []
    for face, where in {**address, "served": links["ann"]}.items():
        page = context.new_page()
        page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
        if how == "full":
            origin = "file://" if face != "served" else links["ann"].partition("/#")[0]
            context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 2000})
        page.goto(where)
        page.wait_for_selector(".deciding .options button, article")
        if face == "explorer":
            page.get_by_label("Your name, as it shall stand with your decisions").fill("ann")
            press(page, "Enter", "w")
        press(page, "2")
        if face == "served":
            saved(page)
            assert asked == ["beforeunload", "beforeunload"]
            continue
        expect(page.locator(".saved")).to_have_text(re.compile("^Not saved: this browser keeps nothing; download"))
        with page.expect_download() as download:
            page.get_by_role("button", name="Decisions" if face == "explorer" else "Download").click()
        assert len(download.value.path().read_text().splitlines()) == 1
        page.reload()
    context.close()
    assert [line.verdict for line in LabelLog(tmp_path / "labels" / "ann.jsonl").lines()] == ["incorrect"]


def labels_on_page(page, name, *keys):
    """Label by these keys and leave a word that bears one's name; wait until both are saved."""
    press(page, *keys, "m")
    page.keyboard.type(f"a word of {name}")
    saved(page)
    press(page, "Escape")


def decides(page, name, key):
    """Say who one is in the explorer, decide on the flip, and leave a word."""
    page.get_by_label("Your name, as it shall stand with your decisions").fill(name)
    press(page, "Enter", "w", key)
    page.get_by_text("1 decided").wait_for()
    press(page, "c")
    page.keyboard.type(f"a word of {name}")
    saved(page)
    press(page, "Escape")


@pytest.mark.slow
def test_two_people_in_three_browsers_of_one_machine_see_and_change_nothing_of_each_other(
    browser, command, runs, session, explorer_file, tmp_path
):
    """Each in a browser of their own, and in one that they share in turn; on the served page and on both files."""
    _, links = command()
    file = write_page(tmp_path / "labelling.html", replace(session, rater=None))
    own = {"ann": browser.new_context(), "ben": browser.new_context()}
    both = browser.new_context()
    faces = {"served": "article", "labelling": "form, article", "explorer": ".deciding button"}
    address = {"labelling": file.as_uri(), "explorer": f"{explorer_file.as_uri()}#run=run-0&axis=argument_validity"}

    def visit(context, face, name):
        page = context.new_page()
        page.goto(links[name] if face == "served" else address[face])
        page.wait_for_selector(faces[face])
        return page

    def enter(page, name):
        page.locator("form").wait_for()
        page.get_by_label("Your name").fill(name)
        press(page, "Enter")
        page.wait_for_selector("article")

    def is_alone(page, name):
        other = {"ann": "ben", "ben": "ann"}[name]
        assert f"a word of {other}" not in in_sight(page), (name, page.url)

    digits = {"ann": "1", "ben": "2"}
    for context_of in (own.get, lambda _: both):
        for name, digit in digits.items():
            pages = {face: visit(context_of(name), face, name) for face in faces}
            enter(pages["labelling"], name)
            for face in ("served", "labelling"):
                is_alone(pages[face], name)
                if context_of(name) is not both or face == "labelling":
                    assert verdict_on(pages[face], AXES[0]) is None
                    labels_on_page(pages[face], name, digit)
            decides(pages["explorer"], name, digit)
            for page in pages.values():
                is_alone(page, name)
                page.reload()
            for face, page in pages.items():
                page.wait_for_selector(faces[face].split(",")[-1])
                expect(page.locator(".who strong")).to_have_text(name)
                is_alone(page, name)
            assert {verdict_on(pages[face], AXES[0]) for face in ("served", "labelling")} == {VERDICTS[int(digit) - 1]}
            if context_of(name) is both:
                press(pages["served"], "a", digit)  # goes on with what was said in the other browser
                saved(pages["served"])
            press(pages["explorer"], "Escape")  # with a view kept, and the run closed over one's word
            pages["explorer"].locator("summary", has_text="Views").click()
            pages["explorer"].get_by_label("Name of this view").fill(f"a word of {name}")
            press(pages["explorer"], "Enter")
            expect(pages["explorer"].locator(".views li")).to_have_count(1)
            for page in pages.values():
                page.get_by_role("button", name="Not you?").click()
                expect(page.get_by_text(f"a word of {name}")).to_have_count(0)
                assert f"a word of {name}" not in in_sight(page)
    for name, digit in digits.items():
        page = visit(own[name], "served", name)
        assert [verdict_on(page, axis) for axis in AXES[:2]] == [VERDICTS[int(digit) - 1]] * 2
        table = read_labels(tmp_path / "labels" / f"{name}.jsonl")
        assert table.select("rater", "verdict").unique().rows() == [(name, VERDICTS[int(digit) - 1])]
        assert set(table["rationale"].drop_nulls()) == {f"a word of {name}"}
        for context in (own[name], both):
            page = visit(context, "explorer", name)
            page.get_by_label("Your name, as it shall stand with your decisions").fill(name)
            press(page, "Enter")
            page.get_by_text("1 decided").wait_for()
            with page.expect_download() as download:
                page.get_by_role("button", name="Decisions").click()
            lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
            assert {line["rater"] for line in lines} == {f"{name} (deciding)"}
            assert lines[-1]["rationale"] == f"a word of {name}"
    for context in (*own.values(), both):
        context.close()


@pytest.mark.slow
def test_a_key_is_adjudicated_in_the_browser_to_its_end(browser, command, runs, tmp_path):
    """Two people label all, a third walks the disagreements blind, and judges meet the key that comes of it.

    All say correct but for ben on run-1, both judges on how run-0 ends, and the third where either said otherwise.
    """
    ratings, labels, ended = tmp_path / "ratings.jsonl", tmp_path / "labels", ("run-0", "termination")
    with RatingsWriter(ratings) as writer:
        word_of = lambda run, axis: "incorrect" if (run.id, axis) == ended else "correct"  # noqa: E731
        writer.append([rating(run, axis, j, word_of(run, axis)) for run in runs for axis in AXES for j in JUDGES])
    _, links = command()
    for name in ("ann", "ben"):
        page = sit_down(browser, links[name])
        for number, run_id in enumerate(read_sampling(labels / f"{name}.sampling.json").trajectory_ids):
            wait_for_trajectory(page, number)
            press(page, *["2" if (name, run_id) == ("ben", "run-1") else "1", "Enter"] * len(AXES))
        expect(page.locator(".pace")).to_have_text("all done")
        saved(page)
        page.context.close()
    files = [labels / "ann.jsonl", labels / "ben.jsonl"]
    plan, walk = tmp_path / "third.sampling.json", tmp_path / "third.html"
    queue = ["--ratings", ratings, "--agreements", 4, "--out", plan, "--seed", 5]
    made = axisjudge(
        "label", "queue", *files, *queue, "--page", walk, "--trajectories", tmp_path / "runs.jsonl", "--json"
    )
    assert made.returncode == 0, made.stderr
    strata = {row["stratum"]: row["queued"] for row in json.loads(made.stdout)["strata"]}
    assert strata == {"people differ": len(AXES), "judges against the key": 1, "agreement": 4}
    page = browser.new_context().new_page()
    page.goto(walk.as_uri())
    page.get_by_label("Your name").fill("zoe")
    press(page, "Enter")
    page.wait_for_selector("article")
    seen = in_sight(page)
    assert not [word for word in ("ann", "ben", "alpha", "beta", "people differ") if re.search(rf"\b{word}\b", seen)]
    queued = read_sampling(plan)
    items, wanted = {(each.trajectory_id, each.question) for each in queued.items}, {}
    for number, run_id in enumerate(queued.trajectory_ids):
        wait_for_trajectory(page, number)
        axes = [axis for axis in AXES if (run_id, axis) in items]
        expect(page.locator("section.axis")).to_have_count(len(axes))  # what is not in the queue is not asked
        for axis in axes:
            is_wrong = run_id == "run-1" or (run_id, axis) == ended
            wanted[run_id, axis] = "incorrect" if is_wrong else "correct"
            press(page, "2" if is_wrong else "1", "Enter")
        if number == 0:
            saved(page)
            page.reload()
            page.wait_for_selector("article")
    expect(page.locator(".pace")).to_have_text("all done")
    saved(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    third, key = tmp_path / download.value.suggested_filename, tmp_path / "key.jsonl"
    download.value.save_as(third)
    page.context.close()
    decided = ["--ratings", ratings, "--plan", plan, "--decisions", third, "--out", key, "--json"]
    done = axisjudge("label", "adjudicate", *files, *decided)
    assert done.returncode == 0, done.stderr
    table = read_labels(key)
    rows = table.select("trajectory_id", "question", "verdict").rows()
    assert {(run_id, axis): word for run_id, axis, word in rows} == wanted
    assert {flag for flags in table["flags"] for flag in flags if flag.startswith("key_before:")} == {
        "key_before:tie",
        "key_before:correct",
    }
    found = axisjudge("agreement", ratings, key, "--json")
    assert found.returncode == 0, found.stderr
    met = json.loads(found.stdout)["effective_judges"]
    assert (met["n_majority"], met["accuracy"]) == (10, {"alpha": 0.5, "beta": 0.5}), "right on 4 and on how run-0 ends"
