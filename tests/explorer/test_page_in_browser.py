"""The page from disk in a real browser: label, reload, resume, undo, download; readable by everybody."""

import json
from dataclasses import replace

import pytest
from explorer.driving import STORE_WAITS, assert_accessible, focused, in_sight, press, verdict_on, wait_for_trajectory
from playwright.sync_api import expect

from axisjudge.explorer import write_page
from axisjudge.explorer.session import Session
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import draw_at_random, with_drawn
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, VERDICTS

HOST = "#labeller"


@pytest.fixture
def visit(browser, session, tmp_path):
    """Open the page in a fresh browser; whatever goes wrong in it, or leaves it, is an error of the test."""
    contexts, faults = [], []

    def open_page(*, rater="rater one", script="", **options):
        path = write_page(tmp_path / "page.html", replace(session, rater=rater))
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 850}, **options})
        context.add_init_script(STORE_WAITS + script)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or faults.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("article, form")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def label_all(page, word="1"):
    press(page, *([word, "Enter"] * len(AXES)))


def test_three_trajectories_by_keyboard_with_a_reload_between(visit, session, tmp_path):
    page = visit()
    press(page, "j", "j", "j", "j", "c", "2", "+", "-", "m")  # cite step 4, incorrect, sure, a note
    page.keyboard.type("The arguments are not JSON.")
    press(page, "Escape", "Enter", "1", "Enter", "3", "Enter", "4", "Enter", "1")
    assert [verdict_on(page, axis) for axis in AXES] == [
        "incorrect",
        "correct",
        "uncertain",
        "not_applicable",
        "correct",
    ]
    press(page, "Enter")
    wait_for_trajectory(page, 1)
    assert page.locator(".pace").text_content() == "1 done, about 1 min left"
    press(page, "1", "Enter", "2")

    page.reload()
    wait_for_trajectory(page, 1)
    assert [verdict_on(page, axis) for axis in AXES[:3]] == ["correct", "incorrect", None]
    press(page, "u")
    assert verdict_on(page, AXES[1]) is None
    press(page, "u")
    assert verdict_on(page, AXES[0]) is None
    label_all(page)
    wait_for_trajectory(page, 2)
    label_all(page, "3")
    assert page.locator(".pace").text_content() == "all done"

    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "rater-one.jsonl"
    download.value.save_as(tmp_path / "back.jsonl")
    labels = with_drawn(read_labels(tmp_path / "back.jsonl"))
    assert labels.height == 3 * len(AXES)
    assert set(labels["rater"]) == {"rater one"}
    assert labels.select("drawn", "drawn_probability", "drawn_from").unique().rows() == [("random", 1.0, 3)]
    first = labels.filter(trajectory_id=session.trajectories[0].id, question=AXES[0]).to_dicts()[0]
    assert (first["verdict"], first["confidence"], first["cited_step_indices"]) == ("incorrect", 0.9, [4])
    assert first["rationale"] == "The arguments are not JSON."
    assert first["prompt_sha256"] == session.base(0, AXES[0])["prompt_sha256"]
    assert labels["created_at"].str.to_datetime("%Y-%m-%dT%H:%M:%SZ").null_count() == 0


@pytest.mark.slow
def test_every_letter_of_a_note_is_there_after_a_reload(visit):
    page = visit()
    press(page, "m")
    page.keyboard.type("half a thou", delay=20)
    note = page.get_by_label("Note on Tool selection")
    expect(note).to_have_value("half a thou")
    page.reload()
    expect(note).to_have_value("half a thou")
    page.locator("article").first.focus()
    press(page, "u")
    expect(note).to_have_value("")


@pytest.mark.slow
def test_who_labels_is_asked_once_where_the_page_does_not_know(visit, pictures, tmp_path):
    page = visit(rater=None)
    assert_accessible(page, HOST)
    page.screenshot(path=pictures / "page-welcome.png")
    page.keyboard.type("Żaneta O'Neil")
    press(page, "Enter")
    page.wait_for_selector("article")
    press(page, "1")
    page.reload()
    page.wait_for_selector("article")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "Żaneta-O-Neil.jsonl"
    download.value.save_as(tmp_path / "back.jsonl")
    assert read_labels(tmp_path / "back.jsonl")["rater"].to_list() == ["Żaneta O'Neil"]


@pytest.mark.slow
def test_a_browser_that_keeps_nothing_says_so(visit):
    page = visit(script="IDBObjectStore.prototype.add = () => { throw new Error('full') }")
    press(page, "1")
    page.get_by_text("Not saved: this browser keeps nothing; download").wait_for()


@pytest.mark.slow
def test_saved_is_said_when_the_line_is_on_disk_and_not_before(visit):
    """The transaction is held open; what it asks of the browser is strict durability."""
    hold = """
        window.asked = []; window.isHeld = true;
        const begin = IDBDatabase.prototype.transaction;
        IDBDatabase.prototype.transaction = function (stores, mode, options) {
            const work = begin.call(this, stores, mode, options);
            if (mode === "readwrite" && stores === "lines") {
                window.asked.push(options?.durability);
                const commit = work.commit.bind(work);
                work.commit = () => {
                    if (!window.isHeld) return commit();
                    const store = work.objectStore("lines");
                    const again = () => (window.isHeld ? (store.count().onsuccess = again) : undefined);
                    again();
                };
            }
            return work;
        };"""
    page = visit(script=hold)
    press(page, "1")
    expect(page.locator(".saved")).to_have_text("Saving…")
    page.wait_for_timeout(500)
    expect(page.locator(".saved")).to_have_text("Saving…")
    page.evaluate("window.isHeld = false")
    expect(page.locator(".saved")).to_have_text("Saved")
    assert page.evaluate("window.asked") == ["strict"]


@pytest.mark.slow
def test_a_second_person_in_the_same_browser_is_neither_the_first_nor_sees_them(visit):
    first = visit(rater=None)
    first.keyboard.type("Ann")
    press(first, "Enter")
    first.wait_for_selector("article")
    press(first, "2", "m")
    first.keyboard.type("a word of Ann")
    expect(first.locator(".saved")).to_have_text("Saved")
    expect(first.locator(".who strong")).to_have_text("Ann")
    second = first.context.new_page()
    second.goto(first.url)
    second.locator("form").wait_for()
    assert second.locator("article").count() == 0, "nobody's labels before somebody says who they are"
    second.keyboard.type("Bob")
    press(second, "Enter")
    second.wait_for_selector("article")
    assert [verdict_on(second, axis) for axis in AXES] == [None] * 5
    assert "a word of Ann" not in in_sight(second)
    press(second, "1")
    expect(second.locator(".saved")).to_have_text("Saved")
    assert verdict_on(first, AXES[0]) == "incorrect"
    second.get_by_role("button", name="Not you?").click()
    second.locator("form").wait_for()
    second.keyboard.type("Ann")
    press(second, "Enter")
    expect(second.get_by_label("Note on Tool selection")).to_have_value("a word of Ann")
    assert verdict_on(second, AXES[0]) == "incorrect"
    first.reload()
    first.wait_for_selector("article")
    expect(first.locator(".who strong")).to_have_text("Ann")
    assert verdict_on(first, AXES[0]) == "incorrect"


@pytest.mark.slow
def test_a_store_that_is_cleared_under_the_page_is_filled_again(visit):
    page = visit()
    press(page, "2", "a", "3")
    expect(page.locator(".saved")).to_have_text("Saved")
    cleared = {"origin": "file:///", "storageTypes": "all"}
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", cleared)
    press(page, "s", "1")
    expect(page.locator(".saved")).to_have_text("Saved", timeout=20_000)
    again = page.context.new_page()
    again.goto(page.url)
    again.get_by_role("button", name="Go on as rater one").click()
    again.wait_for_selector("article")
    assert [verdict_on(again, axis) for axis in AXES[:3]] == ["incorrect", "uncertain", "correct"]


@pytest.mark.slow
def test_what_could_not_be_kept_is_asked_about_whoever_is_there_and_goes_with_the_next_word(visit, tmp_path):
    page = visit(rater=None)
    page.keyboard.type("Ann")
    press(page, "Enter")
    page.wait_for_selector("article")
    fails = "window.add = IDBObjectStore.prototype.add; IDBObjectStore.prototype.add = () => { throw Error(); };"
    page.evaluate(f"() => {{ {fails} }}")
    press(page, "2")
    page.get_by_text("Not saved: this browser keeps nothing").wait_for()
    page.get_by_role("button", name="Not you?").click()
    page.get_by_label("Your name").fill("Ben")
    press(page, "Enter")
    page.wait_for_selector("article")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    page.evaluate("() => { IDBObjectStore.prototype.add = window.add; }")
    press(page, "3")
    expect(page.locator(".saved")).to_have_text("Saved")
    (tmp_path / "other.html").write_text("<p>another page</p>")
    page.goto((tmp_path / "other.html").as_uri())
    assert asked == ["beforeunload"]
    page.go_back()
    page.get_by_label("Your name").fill("Ann")  # opened afresh, it asks in this tab too
    press(page, "Enter")
    page.wait_for_selector("article")
    assert verdict_on(page, AXES[0]) == "incorrect"


@pytest.mark.slow
def test_a_download_holds_what_another_tab_said_that_was_killed_before_it_told(visit):
    page = visit()
    press(page, "2")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Go on as rater one").click()
    other.wait_for_selector("article")
    other.evaluate("BroadcastChannel.prototype.postMessage = () => {}")
    press(other, "a", "3")
    expect(other.locator(".saved")).to_have_text("Saved")
    other.close()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert len(download.value.path().read_text().splitlines()) == 2
    again = page.context.new_page()
    again.goto(page.url)
    again.get_by_role("button", name="Go on as rater one").click()
    expect(page.locator(f"input[name={AXES[1]}-verdict][value=uncertain]")).to_be_checked()


@pytest.mark.slow
def test_names_that_hardly_differ_are_people_apart_and_those_that_look_the_same_are_one(visit):
    """All in one browser at once, a tab each."""
    names = [
        "Ann",
        "ann",
        "__proto__",
        "a/b",
        "a b",
        "../x",
        "🙂",
        "🙃",
        "x" * 80,
        "x" * 79 + "y",
        "José",
        "last",
        "<b>",
    ]
    pages = {}

    def sit(name):
        page = next(iter(pages.values())).context.new_page() if pages else visit(rater=None)
        if pages:
            page.goto(next(iter(pages.values())).url)
        page.get_by_label("Your name").fill(name)
        press(page, "Enter")
        page.wait_for_selector("article")
        return page

    for n, name in enumerate(names):
        page = pages[name] = sit(name)
        assert verdict_on(page, AXES[0]) is None
        assert "word number" not in in_sight(page)
        press(page, str(1 + n % 4), "m")
        page.keyboard.type(f"word number {n}.")
        expect(page.locator(".saved")).to_have_text("Saved")
    for n, (name, page) in enumerate(pages.items()):
        page.reload()
        page.wait_for_selector("article")
        expect(page.locator(".who strong")).to_have_text(name)
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert download.value.suggested_filename[0] not in "-."
        lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
        assert [(line["rater"], line["rationale"]) for line in lines] == [(name, f"word number {n}.")]
    for typed, n in ((" Jose\u0301", 10), ("a\u00a0 b\u200b", 4)):
        expect(sit(typed).get_by_label("Note on Tool selection")).to_have_value(f"word number {n}.")


def test_a_click_beside_everything_takes_no_key_away(visit):
    page = visit()
    for n, place in enumerate((".pace", ".who", ".saved", "body")):
        page.locator(place).click(force=True, position={"x": 1, "y": 1})
        page.evaluate(f"'{place}' === 'body' && document.activeElement.blur()")
        press(page, str(1 + n))
        assert verdict_on(page, AXES[0]) == VERDICTS[n]


@pytest.mark.slow
def test_a_page_that_is_written_anew_goes_on_with_what_was_said_of_the_same_runs(visit, session, tmp_path):
    page = visit()
    label_all(page)  # the first run whole, and the first axis of the second one
    wait_for_trajectory(page, 1)
    press(page, "2")
    expect(page.locator(".saved")).to_have_text("Saved")
    first, second, *_ = session.trajectories
    later = replace(
        session, trajectories=session.trajectories[:0:-1], rater="rater one"
    )  # without the first, backwards
    write_page(tmp_path / "page.html", later)
    page.reload()
    page.wait_for_selector("article")
    page.locator("select", has_text="Trajectory").select_option(str(later.trajectories.index(second)))
    wait_for_trajectory(page, later.trajectories.index(second))
    assert verdict_on(page, AXES[0]) == "incorrect"
    given = []
    page.on("download", lambda download: given.append(download))
    page.get_by_role("button", name="Download").click()
    while len(given) < 2:
        page.wait_for_timeout(50)
    files = {each.suggested_filename: read_labels(each.path()) for each in given}
    assert {name: set(found["trajectory_id"]) for name, found in files.items()} == {
        "rater-one.jsonl": {second.id},
        "rater-one.earlier.jsonl": {first.id},
    }
    press(page, "u")  # what was said on the page before
    expect(page.locator(".saved")).to_have_text("Saved")
    write_page(tmp_path / "page.html", replace(session, rater="rater one"))  # back to the first one
    page.reload()
    page.wait_for_selector("article")
    page.locator("select", has_text="Trajectory").select_option("0")
    wait_for_trajectory(page, 0)
    assert [verdict_on(page, axis) for axis in AXES] == ["correct"] * 5
    page.locator("select", has_text="Trajectory").select_option("1")
    wait_for_trajectory(page, 1)
    assert verdict_on(page, AXES[0]) is None, "the last word stands, whatever page it was said on"
    counted = """() => new Promise((resolve) => {
        const asked = indexedDB.open("axisjudge", 1);
        asked.onsuccess = () => {
            const counting = asked.result.transaction("lines").objectStore("lines").count();
            counting.onsuccess = () => resolve(counting.result);
        };
    })"""
    assert page.evaluate(counted) == 7, "nothing is kept twice"
    press(page, "u")
    wait_for_trajectory(page, 0)
    assert [verdict_on(page, axis) for axis in AXES] == ["correct"] * 4 + [None]
    page.get_by_role("button", name="Not you?").click()
    page.locator("form").wait_for()
    page.keyboard.type("Bob")
    press(page, "Enter")
    page.wait_for_selector("article")
    assert [verdict_on(page, axis) for axis in AXES] == [None] * 5, "what another person said is theirs alone"


@pytest.mark.slow
def test_a_second_tab_takes_up_what_the_first_one_says_and_stays_where_it_is(visit):
    first = visit()
    second = first.context.new_page()
    second.goto(first.url)
    second.wait_for_selector("form, article")
    if second.locator("form").count():
        second.get_by_role("button", name="Go on as rater one").click()
    second.wait_for_selector("article")
    picker = second.locator("select", has_text="Trajectory")
    picker.select_option("1")
    wait_for_trajectory(second, 1)
    press(first, "2")
    expect(picker.locator("option").first).to_contain_text("begun", timeout=20_000)
    wait_for_trajectory(second, 1)
    picker.select_option("0")
    expect(second.locator(f"input[name={AXES[0]}-verdict][value=incorrect]")).to_be_checked()
    press(second, "m")
    second.keyboard.type("typed while")
    press(first, "e", "3")
    expect(second.locator("input[name=termination-verdict][value=uncertain]")).to_be_checked(timeout=20_000)
    second.keyboard.type(" the other labels")
    with second.expect_download() as download:
        second.get_by_role("button", name="Download").click()
    kept = {label["question"]: label for label in map(json.loads, download.value.path().read_text().splitlines())}
    assert kept["termination"]["verdict"] == "uncertain", "what the other tab saved comes with what this one says"
    assert kept[AXES[1]]["rationale"] == "typed while the other labels"


@pytest.mark.slow
def test_keys_wait_until_the_trajectory_is_there(visit):
    """All in one go, before the run is unpacked: none is lost, none lands on what is left or on another axis."""
    page = visit()
    page.locator(HOST).evaluate(
        """host => {
            const picker = host.shadowRoot.querySelector("select");
            picker.value = "2";
            picker.dispatchEvent(new Event("change"));
            const options = (key) => ({ key, bubbles: true, composed: true });
            for (const key of ["e", "2", "ArrowDown", "c", "p", "s", "3"])
                host.shadowRoot.querySelector(".pane").dispatchEvent(new KeyboardEvent("keydown", options(key)));
        }"""
    )
    wait_for_trajectory(page, 1)
    expect(page.locator("input[name=sequencing-verdict]:checked")).to_have_value("uncertain")
    assert verdict_on(page, "termination") is None
    press(page, "n")
    wait_for_trajectory(page, 2)
    assert [verdict_on(page, axis) for axis in AXES] == [None] * 4 + ["incorrect"]
    expect(page.locator("section.axis", has=page.locator("input[name=termination-verdict]"))).to_contain_text("step 1")


def test_text_of_a_run_is_text(visit):
    page = visit()
    assert page.evaluate("window.broken") is None
    assert page.locator("img, script:not([type])").count() == 0
    assert (
        '</script><script>window.broken = 1</script><img src="https://away.example/x"'
        in page.locator("article").first.text_content()
    )


@pytest.mark.slow
def test_long_results_are_folded_and_open_by_mouse_and_key(visit):
    page = visit()
    result = page.locator("article").nth(3)
    assert '"price": 29.10' not in result.text_content()
    result.get_by_text("Show all").click()
    assert '"price": 29.10' in result.text_content()
    assert '"big": 12345678901234567890' in result.text_content()
    press(page, "o")
    assert '"price": 29.10' not in result.text_content()
    press(page, "Shift+O")
    assert '"price": 29.10' in result.text_content()


def test_a_text_of_a_million_letters_is_whole_in_blocks_that_are_laid_out_in_a_moment(browser, tmp_path):
    text = "".join(f"{n} \U0001f642 " if n % 5 else f"{n}\n" for n in range(100_000)) + "A" * 300_000
    run = Trajectory(id="long", source="test", steps=(Step(index=0, role="tool", content=text),))
    path = write_page(tmp_path / "page.html", Session.of([run], draw_at_random([run], seed=1), "rater one"))
    page = browser.new_context().new_page()
    page.goto(path.as_uri())
    page.get_by_text("Show all").click()
    blocks = page.locator("article .piece").all_text_contents()
    assert "".join(blocks) == text
    assert max(map(len, blocks)) <= 20_000
    page.context.close()


@pytest.mark.slow
def test_a_click_cites_and_a_second_click_does_not(visit):
    page = visit()
    number = page.get_by_role("button", name="Cite step 6 for Tool selection")
    number.click()
    assert number.get_attribute("aria-pressed") == "true"
    assert page.get_by_role("button", name="Step 6 is cited for Tool selection").is_visible()
    number.click()
    assert number.get_attribute("aria-pressed") == "false"


@pytest.mark.slow
def test_the_five_axes_stay_on_one_screen(visit):
    page = visit(viewport={"width": 1280, "height": 720})
    for _ in range(7):
        press(page, "j")
    for axis in AXES:
        assert page.locator(f"input[name={axis}-verdict]").first.is_visible()
        box = page.locator(f"input[name={axis}-verdict]").first.bounding_box()
        assert box["y"] + box["height"] < 720


@pytest.mark.slow
def test_on_a_phone_the_panel_leaves_the_run_two_thirds(visit):
    page = visit(viewport={"width": 390, "height": 844})
    assert page.locator("h1").count() == 1
    for keys in ((), ("1", "Enter"), ("i",)):  # the rubric opened takes no more
        press(page, *keys)
        run, panel = (page.locator(part).first.bounding_box() for part in (".pane", ".panel"))
        assert run["height"] / (run["height"] + panel["height"]) >= 0.66
        assert run["y"] + run["height"] <= panel["y"] + 1
        assert run["width"] > 380
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_by_tab_alone_everything_is_reached(visit):
    page = visit()
    reached = set()
    for _ in range(80):
        press(page, "Tab")
        reached.add(focused(page))
    for axis in ("Tool selection", "Argument validity", "Sequencing", "Result interpretation", "Termination"):
        assert any(axis in name for name in reached), axis
    assert {"correct", "50 percent sure", "Note on Tool selection", "Cite step 7 for Tool selection"} <= reached


@pytest.mark.parametrize(
    "look", ["light", pytest.param("dark", marks=pytest.mark.slow), pytest.param("narrow", marks=pytest.mark.slow)]
)
def test_everybody_can_read_it(visit, pictures, look):
    narrow = {"viewport": {"width": 480, "height": 860}} if look == "narrow" else {}
    page = visit(color_scheme="dark" if look == "dark" else "light", **narrow)
    press(page, "1", "Enter", "2", "j", "j", "j", "c", "j", "c", "-", "Enter", "3", "r", "4", "e", "a", "i")
    assert_accessible(page, HOST)
    page.screenshot(path=pictures / f"page-{look}.png")


@pytest.mark.slow
def test_the_list_of_keys_opens_and_closes(visit):
    page = visit()
    press(page, "?")
    assert_accessible(page, HOST)
    press(page, "2", "Escape", "1")
    assert verdict_on(page, AXES[0]) == "correct"
    assert page.get_by_text("cite the step").is_hidden()
