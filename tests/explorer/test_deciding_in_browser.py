"""Deciding who is right in the explorer's file, in a real browser: by keys, kept, read back, never lost."""

import json
from pathlib import Path
from shutil import copy

import polars as pl
import pytest
from explorer.driving import in_sight, opened, press
from explorer.rated import rating, ratings_of
from playwright.sync_api import expect

from axisjudge.explorer import Grid, write_explorer
from axisjudge.labels.decisions import decisions_of
from axisjudge.ratings import ratings_frame, read_ratings


@pytest.mark.slow
def test_a_decision_is_kept_downloaded_and_read_back(visit, runs, tmp_path):
    page = visit("only=undecided")
    press(page, "d")
    assert opened(page)[0] == "run-0"
    press(page, "w")
    where = page.get_by_text("a private window forgets")
    expect(where).to_be_visible()
    page.keyboard.type("Ann")
    press(page, "Enter", "1")
    page.get_by_text("1 decided, 1 new right").wait_for()
    expect(where).to_have_count(0)
    press(page, "d", "w", "3")
    page.get_by_text("2 decided").wait_for()
    page.get_by_role("button", name="not applicable").click()
    page.get_by_text("Decided: both wrong, not applicable").wait_for()
    page.reload()
    page.get_by_text("2 decided").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Decisions").click()
    assert download.value.suggested_filename == "Ann.decisions.jsonl"
    download.value.save_as(tmp_path / "back.jsonl")
    back = read_ratings(tmp_path / "back.jsonl")
    assert {each.way: each.decided for each in decisions_of(back)} == {"by_flip": 1, "by_disagreement": 1}
    assert sorted(back["verdict"]) == ["incorrect", "not_applicable"]
    again = Grid.of(pl.concat([ratings_of(runs), back]), runs)
    base = again.base(0, "argument_validity")
    assert base["prompt_sha256"] == back.filter(trajectory_id="run-0")["prompt_sha256"][0]
    write_explorer(tmp_path / "again.html", again)
    page.goto((tmp_path / "again.html").as_uri() + "#run=run-0&axis=argument_validity")
    page.get_by_text("decision: new right").wait_for()


@pytest.mark.slow
def test_who_takes_a_side_is_asked_about_before_who_takes_none(visit, runs, tmp_path):
    """Two of four are uncertain everywhere; on run-2 the others contradict each other."""
    said = {"a": "uncertain", "b": "uncertain", "c": "correct", "d": "correct"}
    rows = [rating(run, "sequencing", judge, word) for run in runs[:2] for judge, word in said.items()]
    rows += [rating(runs[2], "sequencing", judge, word) for judge, word in (said | {"d": "incorrect"}).items()]
    file = write_explorer(tmp_path / "four.html", Grid.of(ratings_frame(rows), runs))
    page = visit(file=file)
    press(page, "d")
    assert opened(page)[0] == "run-2", "against uncertain alone is no contradiction"
    options = page.locator(".deciding .options button")
    expect(options).to_have_text(["1 correct (3)", "2 incorrect (4)", "3 Both wrong", "4 Cannot tell"])
    press(page, "Escape")
    page.get_by_role("button", name="Against ?").click()
    press(page, "Escape", "d")
    assert opened(page)[0] == "run-0", "where nothing else is shown"
    expect(options).to_have_text(["1 correct (3, 4)", "2 uncertain (1, 2)", "3 Both wrong", "4 Cannot tell"])


@pytest.mark.slow
def test_what_is_typed_while_a_run_opens_is_typed_when_it_is_open(visit):
    page = visit("only=undecided")
    page.evaluate("() => { pageHost.run = (at) => new Promise((go) => { window.go = () => go(openedRun(at)); }); }")
    press(page, "d", "w")
    page.keyboard.type("Ann")
    press(page, "Enter", "1")
    expect(page.locator(".waiting")).to_have_text("Opening…")
    page.evaluate("go()")
    page.get_by_text("1 decided, 1 new right").wait_for()
    assert opened(page) == ("run-0", "Argument validity", 6)
    expect(page.locator(".who strong")).to_have_text("Ann")
    press(page, "/")
    page.keyboard.type("no answer")
    expect(page.locator(".rows .name")).to_have_text(["run-2"])


@pytest.mark.slow
def test_what_is_decided_stays_when_the_page_is_left_at_once_or_open_twice(visit):
    page = visit("only=undecided")
    press(page, "d", "w")
    page.keyboard.type("Ann")
    press(page, "Enter", "1")
    page.get_by_text("1 decided").wait_for()
    press(page, "d")
    page.locator(".opened h2", has_text="run-1").wait_for()
    page.wait_for_selector(".deciding button")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Go on as Ann").click()
    other.get_by_text("1 decided").wait_for()
    page.bring_to_front()
    page.evaluate("BroadcastChannel.prototype.postMessage = () => {}")  # it is left before it could tell the other tab
    press(page, "w", "1")
    page.reload()
    page.get_by_text("2 decided").wait_for()
    other.get_by_text("2 decided").wait_for()
    other.close()


@pytest.mark.slow
def test_decisions_outlive_the_file_that_is_written_anew(visit, runs, explorer_file, tmp_path):
    file = Path(copy(explorer_file, tmp_path))
    page = visit("only=undecided", file)
    press(page, "d", "w")
    page.keyboard.type("Ann")
    press(page, "Enter", "1", "d")
    page.locator(".opened h2", has_text="run-1").wait_for()
    press(page, "w", "1")
    page.get_by_text("2 decided").wait_for()
    page.reload()
    table = ratings_of(runs)
    of_run_1 = pl.col("trajectory_id") == "run-1"
    said = pl.when(of_run_1).then(pl.lit("said otherwise")).otherwise("rationale")
    write_explorer(file, Grid.of(table.with_columns(rationale=said), runs[::-1]))
    page.reload()
    page.wait_for_selector(".filters")
    press(page, "d")
    page.get_by_text("1 decided, 1 new right").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Decisions").click()
    download.value.save_as(tmp_path / "back.jsonl")
    back = read_ratings(tmp_path / "back.jsonl")
    assert sorted(back["trajectory_id"]) == ["run-0", "run-1"], "what was decided on other words is given back too"


def decide_as(page, name, *keys):
    """Say who one is, and press these keys on the first item that is to be decided."""
    page.get_by_label("Your name, as it shall stand with your decisions").fill(name)
    press(page, "Enter")
    expect(page.locator(".who strong")).to_have_text(name, timeout=30_000)
    press(page, *keys)


def saved(page):
    expect(page.locator(".saved")).to_have_text("Saved")


@pytest.mark.slow
def test_a_comment_goes_with_the_decision_and_both_are_taken_back_with_their_trail(visit, tmp_path):
    page = visit("only=undecided")
    decide_as(page, "Ann", "d", "w", "1")
    page.get_by_text("1 decided, 1 new right").wait_for()
    press(page, "c")
    page.keyboard.type("because of step 6", delay=15)
    saved(page)
    page.reload()
    page.wait_for_selector(".deciding button")
    press(page, "w", "2")
    page.get_by_text("1 decided, 0 new right, 1 old right").wait_for()
    expect(page.get_by_label("Comment on your decision")).to_have_value("because of step 6")
    press(page, "u")
    page.get_by_text("1 decided, 1 new right, 0 old right").wait_for()
    press(page, "u")
    page.get_by_text("0 decided").wait_for()
    press(page, "u")
    expect(page.locator(".explorer > .said[role=status]")).to_have_text("Nothing to take back")
    saved(page)
    page.reload()
    page.get_by_text("0 decided").wait_for()
    page.locator(".trail summary").click()
    expect(page.locator(".trail li").last).to_contain_text("taken back")
    with page.expect_download() as download:
        page.get_by_role("button", name="Decisions").click()
    download.value.save_as(tmp_path / "back.jsonl")
    assert decisions_of(read_ratings(tmp_path / "back.jsonl")) == []
    lines = [json.loads(line) for line in (tmp_path / "back.jsonl").read_text().splitlines()]
    assert [line["flags"][-1] for line in lines][-3:] == ["decided:old_right", "decided:new_right", "taken_back"]
    assert "because of step 6" in {line["rationale"] for line in lines}


@pytest.mark.slow
def test_two_people_in_one_browser_neither_see_nor_change_what_the_other_said(visit, tmp_path):
    ann = visit("only=undecided")
    expect(ann.locator(".who")).to_contain_text("Deciding as nobody yet")
    decide_as(ann, "Ann", "d", "w", "1")
    ann.get_by_text("1 decided, 1 new right").wait_for()
    press(ann, "c")
    ann.keyboard.type("a word of Ann")
    saved(ann)
    bob = ann.context.new_page()
    bob.goto(ann.url)
    bob.wait_for_selector(".deciding button")
    assert bob.locator(".deciding [aria-pressed=true]").count() == 0, "nobody's before somebody says who they are"
    decide_as(bob, "Bob")
    expect(bob.locator(".who strong")).to_have_text("Bob")
    press(bob, "w", "2")
    bob.get_by_text("1 decided, 0 new right, 1 old right").wait_for()
    assert "a word of Ann" not in in_sight(bob)
    saved(bob)
    press(bob, "u")
    bob.get_by_text("0 decided").wait_for()
    press(bob, "w", "2")
    saved(bob)
    for page, name, verdict in ((ann, "Ann", "decided:new_right"), (bob, "Bob", "decided:old_right")):
        page.reload()
        expect(page.locator(".who strong")).to_have_text(name)
        with page.expect_download() as download:
            page.get_by_role("button", name="Decisions").click()
        download.value.save_as(tmp_path / name)
        lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert {line["rater"] for line in lines} == {f"{name} (deciding)"}
        assert lines[-1]["flags"][-1] == verdict
    bob.get_by_role("button", name="Not you?").click()
    expect(bob.locator(".who")).to_contain_text("Deciding as nobody yet")
    assert bob.locator(".deciding [aria-pressed=true]").count() == 0
    decide_as(bob, "Ann")
    expect(bob.get_by_label("Comment on your decision")).to_have_value("a word of Ann")


@pytest.mark.slow
def test_who_comes_after_a_word_that_was_not_kept_finds_their_own(visit):
    page = visit("only=undecided")
    decide_as(page, "Ben", "d", "w", "2")
    saved(page)
    page.get_by_role("button", name="Not you?").click()
    decide_as(page, "Ann")
    page.evaluate("() => { IDBObjectStore.prototype.add = () => { throw new Error('full'); }; }")
    press(page, "w", "1")
    page.get_by_text("Not saved: this browser keeps nothing").wait_for()
    page.get_by_role("button", name="Not you?").click()
    decide_as(page, "Ben")
    page.get_by_text("1 decided, 0 new right, 1 old right").wait_for()


@pytest.mark.slow
def test_a_decision_is_saved_when_it_is_on_the_disk_and_not_before(visit):
    page = visit("only=undecided")
    page.evaluate("""() => {
        const append = KEPT.append.bind(KEPT);
        KEPT.append = (...given) => new Promise((go) => { window.go = go; }).then(() => append(...given));
    }""")
    decide_as(page, "Ann", "d", "w", "1")
    page.get_by_text("1 decided").wait_for()
    page.wait_for_timeout(300)
    expect(page.locator(".saved")).to_have_text("Saving…")
    page.evaluate("go()")
    saved(page)
    page.evaluate("() => { KEPT.append = () => Promise.reject(new Error('full')); }")
    press(page, "w", "2")
    expect(page.locator(".saved")).to_have_text("Not saved: full")


@pytest.mark.slow
def test_a_view_keeps_filters_order_and_columns_under_a_name_for_its_person_and_for_a_link(visit):
    page = visit()
    shown = lambda page: (page.locator(".rows .name").all_text_contents(), page.locator(".heads .about").count())  # noqa: E731
    press_heads = lambda: page.get_by_role("columnheader", name="run").get_by_role("button").dblclick()  # noqa: E731
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Name of this view").fill("odd ones")
    press(page, "Enter")
    expect(page.locator(".explorer > .said[role=status]")).to_contain_text("Say first who you are")
    decide_as(page, "Ann")
    page.get_by_role("button", name="Split").click()
    press_heads()
    page.locator(".columns", has_text="Columns").locator("summary").click()
    page.get_by_label("steps", exact=True).check()
    page.get_by_label("2 beta v3").uncheck()
    kept = shown(page)
    assert kept == (["run-2", "run-1"], 4), "without beta's newest version run-0 is split no more"
    page.get_by_label("Name of this view").fill("odd ones")
    press(page, "Enter")
    expect(page.locator(".views li")).to_have_count(1)
    assert "view=odd+ones" in page.url
    link = page.url
    page.get_by_role("button", name="Against ?").click()
    assert "view=" not in page.url, "what was changed is no longer what was kept"
    page.evaluate("location.hash = ''")
    expect(page.locator(".rows .name")).to_have_count(3)
    page.reload()
    page.get_by_text("Views", exact=True).click()
    page.get_by_role("button", name="odd ones", exact=True).click()
    assert shown(page) == kept
    assert page.url == link
    elsewhere = visit(link.partition("#")[2])
    assert shown(elsewhere) == kept, "the link holds all of it"
    expect(elsewhere.locator("summary", has_text="View: odd ones")).to_be_visible()
    page.get_by_role("button", name="Not you?").click()
    expect(page.locator(".views li")).to_have_count(0)
    decide_as(page, "Bob")
    expect(page.locator(".views li")).to_have_count(0)
    page.get_by_role("button", name="Not you?").click()
    decide_as(page, "Ann")
    page.get_by_role("button", name="Forget the view odd ones").click()
    expect(page.locator(".views li")).to_have_count(0)
    expect(page.get_by_text("Views", exact=True)).to_be_visible()
