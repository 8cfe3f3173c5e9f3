"""The explorer's file in a real browser: from a filter to the cited step, a link sent and opened."""

import csv
import itertools

import polars as pl
import pytest
from explorer.driving import assert_accessible, opened, press
from explorer.rated import rating, ratings_of
from playwright.sync_api import expect

from axisjudge.datasets import demo_paths
from axisjudge.explorer import Grid, write_explorer, write_page
from axisjudge.explorer.session import Session
from axisjudge.judging import judge
from axisjudge.labels.sampling import draw_at_random
from axisjudge.ratings import ratings_frame
from axisjudge.readers import read_trajectories
from axisjudge.verdict import AXES, Rating

HOST = "#explorer"


def runs_shown(page):
    return page.locator(".rows .name").all_text_contents()


def counted(page):
    return page.locator(".counted").text_content()


@pytest.mark.slow
def test_from_the_flips_to_the_cited_step_in_one_key(visit):
    page = visit("only=flipped")
    assert counted(page).startswith("1 of 15 items (6.7 %) in 1 of 3 runs")
    press(page, "d")
    assert opened(page) == ("run-0", "Argument validity", 6)
    cards = page.get_by_role("region", name="Verdicts and reasons")
    assert cards.locator(".card").count() == 4, "two judges, each under both versions"
    page.get_by_text("What changed in the rubric from v2 to v3").click()
    page.locator("ins").first.wait_for()


FILTERS = {
    "split": ["run-0", "run-1", "run-2"],
    "opposed": ["run-0", "run-1"],
    "unsure": ["run-2"],
    "steps": [],
    "flipped": ["run-0"],
    "noise": [],
    "against": ["run-2"],
    "flagged": ["run-2"],
    "lost": ["run-2"],
    "undecided": ["run-0", "run-1", "run-2"],
    "split,flagged": ["run-2"],
}


@pytest.mark.slow
def test_each_filter_leaves_the_items_that_it_names(visit):
    page = visit()
    for marks, left in FILTERS.items():
        page.evaluate("marks => { location.hash = `only=${marks}`; }", marks)
        expect(page.locator(".rows .name"), marks).to_have_text(left)
    statuses = page.get_by_label("Verdict").locator("option").all_text_contents()
    assert "lost: refused" in statuses
    assert "lost: truncated" not in statuses, "none was"
    page.evaluate("location.hash = 'word=lost refused'")
    expect(page.locator(".rows .name")).to_have_text(["run-2"])


@pytest.mark.slow
def test_words_are_found_in_ids_reasons_and_folded_text(visit):
    page = visit()
    press(page, "/")
    page.keyboard.type('"price": 29.10')
    expect(page.locator(".counted")).to_contain_text("3 of 3 runs")
    expect(page.locator(".counted")).not_to_contain_text("searching")
    page.get_by_label("Search runs and reasons").fill("no answer came")
    expect(page.locator(".rows .name")).to_have_text(["run-2"])
    page.get_by_label("Search runs and reasons").fill("#W1")
    expect(page.locator(".rows .name")).to_have_text(["run-1"])
    press(page, "Escape", "j", "Enter")
    opened(page)
    expect(page.locator(".matches")).to_contain_text("3 of 8 steps")
    steps = [press(page, "f") or opened(page)[2] for _ in range(4)]
    assert len(set(steps[:3])) == 3, "each step with the words in turn"
    assert steps[3] == steps[0], "round and round"
    assert page.evaluate("CSS.highlights.get('found').size") >= 3
    page.get_by_label("Search runs and reasons").fill("/no \\w+ came$/i")
    expect(page.locator(".rows .name")).to_have_text(["run-2"])
    page.get_by_label("Search runs and reasons").fill("/no (answer/")
    expect(page.locator(".counted")).to_contain_text("no regular expression")
    page.get_by_label("Search runs and reasons").fill("nowhere to be found")
    page.get_by_text("No item passes these filters.").wait_for()


@pytest.mark.slow
def test_names_are_offered_while_one_types_and_one_of_them_filters(visit):
    page = visit()
    offered = page.locator("datalist option")
    search = page.get_by_label("Search runs and reasons")
    search.press_sequentially("RUN-")
    expect(offered).to_have_count(3)
    assert offered.evaluate_all("options => options.map(({ value }) => value)") == ["run-0", "run-1", "run-2"]
    search.press_sequentially("1")
    expect(page.locator(".rows .name")).to_have_text(["run-1"])
    search.fill("")
    expect(offered).to_have_count(0)


@pytest.mark.slow
def test_a_filtered_list_is_put_in_order(visit):
    page = visit()
    page.get_by_role("button", name="Split").click()
    assert runs_shown(page) == ["run-0", "run-1", "run-2"]
    page.get_by_label("Order", exact=True).select_option("unsure")
    assert runs_shown(page)[0] == "run-1", "beta is .55 sure of it"
    assert counted(page).startswith("3 of 15 items")
    press(page, "d")
    assert opened(page)[0] == "run-1", "keys go in the order that is shown"
    page.get_by_label("Order", exact=True).select_option("task")
    assert runs_shown(page) == ["run-0", "run-1", "run-2"]


@pytest.mark.slow
def test_a_head_sorts_and_sorts_the_other_way_round(visit):
    page = visit("on=termination")
    head = page.get_by_role("columnheader", name="run")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert runs_shown(page) == ["run-2", "run-1", "run-0"]
    assert "sort=-run" in page.url
    beta = page.locator(".heads [aria-label*=beta]")
    beta.click()
    beta.click()
    assert runs_shown(page)[0] == "run-2", "lost comes after all words, first when turned round"
    beta.click()
    assert "sort" not in page.url
    page.get_by_label("Search runs and reasons").fill("/NO ans\\w+ C.me$/")
    expect(page.locator(".rows .name")).to_have_text(["run-2"])


@pytest.mark.slow
def test_tools_and_steps_that_faults_hang_on_are_summed_and_lead_to_their_items(visit):
    page = visit()
    page.get_by_text("Faults", exact=True).click()
    sums = page.locator(".sums")
    expect(sums).to_contain_text("2 verdicts “incorrect” among the items shown")
    tables = sums.locator("table")
    assert tables.nth(0).locator("tbody tr").all_text_contents() == ["no tool: words alone150 %1", "cancel150 %1"]
    assert tables.nth(1).locator("tbody tr").all_text_contents() == ["step 6150 %1", "step 5150 %1"]
    assert_accessible(page, HOST)
    sums.get_by_role("button", name="cancel").click()
    expect(page.locator(".rows .name")).to_have_text(["run-1"])
    assert "tool=cancel" in page.url


@pytest.mark.slow
def test_two_runs_stand_side_by_side_with_their_steps_aligned(visit, runs, tmp_path, pictures):
    """The second looks up twice, cancels another order and thanks in other words; all else is the same."""
    system, asks, looks, found, cancels, failed, says, thanks = runs[0].steps
    again = [looks, found.model_copy(update={"content": "nothing of that name"})]
    other_order = cancels.tool_calls[0].model_copy(update={"arguments": {"order_id": "#W9"}, "arguments_error": None})
    changed = [cancels.model_copy(update={"tool_calls": (other_order,)}), failed]
    rest = [says, thanks.model_copy(update={"content": "Thanks a lot, bye."})]
    steps = [system, asks, *again, looks, found, *changed, *rest]
    steps = [step.model_copy(update={"index": at}) for at, step in enumerate(steps)]
    second = runs[0].model_copy(update={"id": "run-other", "steps": tuple(steps), "agent": "another"})
    every = [*runs, second]
    page = visit(
        "run=run-0&axis=sequencing", file=write_explorer(tmp_path / "two.html", Grid.of(ratings_of(every), every))
    )
    opened(page)
    press(page, "b")
    expect(page.locator(".heads-of h3")).to_contain_text(["run-0", "run-other"])
    assert "with=run-other" in page.url
    signs = page.locator(".pair .how").all_text_contents()
    assert signs == ["=", "=", "·", "·", "=", "=", "≠", "=", "=", "≈"]
    expect(page.locator(".pane > p")).to_contain_text(
        "8 steps side by side, 6 of them the same; 0 only in run-0, 2 only"
    )
    expect(page.get_by_role("region", name="Verdicts and reasons on the run beside")).to_contain_text("beta says so")
    assert page.locator(".pairs article.cited .number").all_text_contents() == ["2", "2"], "each as its judges cite"
    status = page.locator(".explorer > .said[role=status]")
    press(page, "x")
    expect(status).to_have_text("Step 4, another call or result; 2 of 2 places at which they part")
    press(page, "x")
    expect(status).to_have_text("Step 2 of the run beside, in one run alone; 1 of 2 places at which they part")
    link = page.url
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert_accessible(page, HOST)
        page.screenshot(path=pictures / f"explorer-beside-{theme}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    assert_accessible(page, HOST)
    assert page.locator(HOST).evaluate("host => host.scrollWidth <= host.clientWidth")
    page.screenshot(path=pictures / "explorer-beside-phone.png")
    page.set_viewport_size({"width": 1400, "height": 900})
    press(page, "e")
    expect(page.locator(".tabs [aria-pressed=true] .axis-name")).to_have_text("Termination")
    expect(page.locator(".pair .how").first).to_be_visible()
    press(page, "Shift+B")
    expect(page.locator(".pair")).to_have_count(0)
    beside = page.get_by_label("Another run beside this one")
    beside.fill("run-1")
    press(page, "Enter")
    expect(page.locator(".heads-of h3").last).to_contain_text("run-1")
    elsewhere = visit(file=tmp_path / "two.html")
    elsewhere.goto(link)
    elsewhere.reload()
    expect(elsewhere.locator(".heads-of h3").last).to_contain_text("run-other")
    press(elsewhere, "j")
    expect(elsewhere.locator(".pair")).to_have_count(0)


@pytest.mark.slow
def test_the_whole_conversation_is_shown_as_it_was_sent(visit, runs):
    page = visit("run=run-0&axis=sequencing&step=3")
    opened(page)
    found = page.locator("article.tool .text").first
    assert found.text_content().startswith('{\n  "order_id": "#W0",\n'), "laid out to be read"
    press(page, "v")
    expect(page.get_by_role("button", name="As sent")).to_have_attribute("aria-pressed", "true")
    assert opened(page)[2] == 3, "one stays at the step"
    page.locator("article").last.scroll_into_view_if_needed()
    expect(page.locator("article > .body")).to_have_count(8)
    texts = [step.content for step in runs[0].steps if step.content]
    assert page.locator("article > .body > .text").all_text_contents() == texts, "every letter, nothing folded"
    assert page.locator(".call dd").all_text_contents() == ['{"order_id": "#W0"}', "{no"]
    expect(page.locator(".given")).to_contain_text("Cancel nothing.")
    expect(page.locator(".given pre")).to_be_visible()
    assert page.locator(".run .fold").count() == 0
    assert_accessible(page, HOST)
    press(page, "n")
    assert opened(page)[2] == 2, "cited steps are gone to as before"
    press(page, "j")
    page.locator(".opened h2", has_text="run-1").wait_for()
    expect(page.locator("article.tool .text").first).to_contain_text('{"order_id": "#W1", "total"')
    press(page, "v", "/")
    page.keyboard.type('29, "price": 29.10, "options"')
    expect(page.locator(".counted")).to_contain_text("3 of 3 runs")
    expect(page.locator(".matches")).to_contain_text("1 in 1 of 8 steps")


def test_by_keys_through_items_steps_and_judges(visit):
    page = visit("axis=sequencing")
    press(page, "d")
    assert opened(page) == ("run-1", "Sequencing", 5)
    press(page, "n")
    assert opened(page)[2] == 2, "after the last cited step comes the first"
    press(page, "2")
    assert opened(page)[2] == 5
    press(page, "n", "n", "p")
    assert opened(page)[2] == 5, "judge 2 cites this step alone"
    press(page, "j")
    page.locator(".opened h2", has_text="run-2").wait_for()
    assert opened(page)[:2] == ("run-2", "Sequencing"), "the next item keeps the axis"
    press(page, "e")
    assert opened(page)[1] == "Termination"
    press(page, "k", "k", "k")
    page.locator(".opened h2", has_text="run-0").wait_for()
    press(page, "Escape")
    expect(page.locator(".opened")).to_be_hidden()


@pytest.mark.slow
def test_a_link_to_a_step_can_be_sent_and_back_restores_the_list(visit):
    page = visit("run=run-1&axis=sequencing&step=7")
    assert opened(page) == ("run-1", "Sequencing", 7)
    page = visit("on=sequencing")
    page.locator(".chosen select").first.select_option("")
    page.get_by_role("button", name="Against ?").click()
    assert runs_shown(page) == ["run-2"]
    page.locator(".rows .name", has_text="run-2").click()
    opened(page)
    assert "run=run-2" in page.url
    assert "only=unsure" in page.url
    page.go_back()
    expect(page.locator(".opened")).to_be_hidden()
    assert runs_shown(page) == ["run-2"]
    page.go_forward()
    assert opened(page)[0] == "run-2"
    page.reload()
    assert opened(page)[0] == "run-2"
    assert runs_shown(page) == ["run-2"]


@pytest.mark.slow
def test_a_link_to_what_is_not_here_says_so(visit):
    page = visit("run=run-9&axis=sequencing")
    expect(page.locator(".explorer > .said[role=status]")).to_contain_text("No run run-9")


@pytest.mark.slow
def test_a_verdict_is_never_told_by_colour_alone(visit):
    page = visit()
    signs = {
        page.locator(f".rows .cell.{word}:not(.label)").first.text_content()[0]
        for word in ("correct", "incorrect", "uncertain", "is-lost")
    }
    assert len(signs) == 4
    assert page.locator(".rows .cell i").text_content() == "●●○"
    names = page.locator(".rows .cell").evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")
    assert all(names)
    assert "beta v1, Termination: lost (refused)" in names


@pytest.mark.slow
def test_text_of_runs_and_judges_is_text(visit):
    page = visit("run=run-1&axis=sequencing")
    opened(page)
    assert "onerror=" in page.locator(".words").text_content()
    assert page.evaluate("window.broken") is None
    assert page.locator(f"{HOST} img, {HOST} script").count() == 0


@pytest.mark.slow
def test_a_selection_goes_away_as_a_table(visit, tmp_path):
    page = visit("on=sequencing&only=split")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "items.csv")
    (row,) = csv.DictReader((tmp_path / "items.csv").read_text().splitlines())
    assert (row["run"], row["axis"], row["beta v1"], row["beta v1 confidence"]) == (
        "run-1",
        "sequencing",
        "incorrect",
        "0.55",
    )


@pytest.mark.slow
def test_no_share_of_a_word_that_the_scale_does_not_know(browser, tmp_path):
    judge = {"question": "final", "rater": "j", "rater_kind": "llm", "family": "j", "scale": "step"}
    words = enumerate(("-1", "0", "+1"))
    rows = [Rating(trajectory_id=f"r{n}", cluster_id=f"t{n}", verdict=word, **judge) for n, word in words]
    page = browser.new_page()
    page.goto(write_explorer(tmp_path / "steps.html", Grid.of(ratings_frame(rows), ())).as_uri())
    expect(page.locator(".legend li")).to_have_text("1 j 3 given")
    page.close()


@pytest.mark.slow
def test_columns_that_are_hidden_count_for_nothing(visit):
    page = visit("on=sequencing&only=split")
    page.get_by_text("Columns").click()
    page.get_by_label("2 beta v1").click()
    assert runs_shown(page) == []
    page.get_by_label("2 beta v1").click()
    assert runs_shown(page) == ["run-1"]


@pytest.mark.slow
def test_a_link_narrows_to_one_judge_to_two_or_to_versions_and_counts_among_these_alone(visit):
    page = visit("judge=alpha&only=repeats")
    expect(page.locator(".rows .name")).to_have_text(["run-1"])
    page.evaluate("location.hash = 'judge=beta&only=repeats'")
    expect(page.locator(".rows .name")).to_have_count(0)
    page.evaluate("location.hash = 'judge=alpha&beside=beta'")
    expect(page.locator(".counted")).to_contain_text("14 of 15 items")  # beta is lost on one
    page.evaluate("location.hash = 'judge=beta&versions=v2&only=flipped'")
    expect(page.locator(".rows .name")).to_have_count(0)
    page.evaluate("location.hash = 'judge=alpha&only=flipped'")
    expect(page.locator(".rows .name")).to_have_count(0)
    page.evaluate("location.hash = 'judge=beta&versions=v2,v3&only=flipped'")
    expect(page.locator(".rows .name")).to_have_text(["run-0"])


@pytest.mark.slow
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_everybody_can_read_it(visit, pictures, look):
    narrow = {"viewport": {"width": 420, "height": 860}} if look == "phone" else {}
    page = visit(color_scheme="dark" if look == "dark" else "light", **narrow)
    page.wait_for_selector(".rows .cell")
    assert_accessible(page, HOST)
    page.screenshot(path=pictures / f"explorer-{look}.png")
    press(page, "d")
    opened(page)
    assert_accessible(page, HOST)
    page.screenshot(path=pictures / f"explorer-{look}-open.png")
    assert page.locator(HOST).evaluate("host => host.scrollWidth <= host.clientWidth")


@pytest.mark.slow
def test_all_five_axes_are_in_view_beside_an_open_run(visit):
    page = visit()
    press(page, "d")
    opened(page)
    heads = page.locator(".heads .cell")
    browse = page.locator(".browse").bounding_box()
    assert heads.last.bounding_box()["x"] + heads.last.bounding_box()["width"] <= browse["x"] + browse["width"]
    assert page.locator(".group").count() == 5


#: Whether rows are drawn from edge to edge of what is in view.
FILLED = """() => {
    const root = document.querySelector("#explorer").shadowRoot, ends = (element) => element.getBoundingClientRect();
    const rows = [...root.querySelectorAll(".rows .row-of")].map(ends);
    const [head, grid] = [".heads", ".grid"].map((name) => ends(root.querySelector(name)));
    const [top, bottom] = [Math.min(...rows.map((row) => row.top)), Math.max(...rows.map((row) => row.bottom))];
    return top <= head.bottom && bottom >= grid.bottom - 16; // its scroll bar
}"""


@pytest.mark.slow
def test_the_demo_judged_by_four_is_a_short_document_with_a_run_open(visit, tmp_path):
    demo = read_trajectories(*demo_paths()).trajectories
    judges = ["rules", "simulated:sparrow", "simulated:wren", "simulated:heron"]
    table = judge(demo, judges, progress=False)
    page = visit(file=write_explorer(tmp_path / "demo.html", Grid.of(table, demo)))
    seen = []
    for keyed in ("d", *"jjjjjjjjjj"):
        press(page, keyed)
        opened(page)
        seen.append(page.locator(HOST).evaluate("host => host.shadowRoot.querySelectorAll('*').length"))
    assert max(seen) < 1000
    page.locator(".grid").evaluate("grid => { grid.scrollTop = 1409 }")
    page.wait_for_function(FILLED)


@pytest.mark.slow
def test_thousands_of_runs_stay_a_short_document(browser, runs, tmp_path):
    steps = tuple(step.model_copy(update={"index": at}) for at, step in enumerate(runs[0].steps * 25))
    many = [run.model_copy(update={"id": f"run-{n}-{run.id}"}) for n in range(300) for run in runs[:1]]
    many[7] = many[7].model_copy(update={"steps": steps})
    one = ratings_of(runs).filter(pl.col("trajectory_id") == "run-0")
    table = pl.concat(one.with_columns(trajectory_id=pl.lit(each.id), item_id=pl.lit(each.id)) for each in many)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(write_explorer(tmp_path / "many.html", Grid.of(table, many)).as_uri())
    page.wait_for_selector(".rows .cell")
    nodes = "host => host.shadowRoot.querySelectorAll('*').length"
    assert page.locator(HOST).evaluate(nodes) < 1000
    press(page, "End")
    page.locator(".rows .name", has_text="run-299-").wait_for()
    drawn = "document.querySelector('#explorer').shadowRoot.querySelectorAll('.rows .row-of').length"
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {drawn})")
    page.pdf()
    assert page.evaluate("window.printed") == 300, "paper does not scroll"
    assert page.evaluate(drawn) < 100
    page.evaluate("location.hash = 'run=run-7-run-0&axis=sequencing&step=150'")
    expect(page.locator("article[aria-current] .body")).to_be_in_viewport()
    steps = page.locator("article"), page.locator("article > .body")
    assert steps[1].count() < 40, "the text of a step is laid out when it comes into view"
    assert page.locator(HOST).evaluate(nodes) < 1000, "steps come into the document as they come into view"
    page.locator(".ended").scroll_into_view_if_needed()
    expect(steps[1].last).to_contain_text("Thanks, bye.")
    page.get_by_label("Search runs and reasons").fill("Thanks, bye")
    expect(page.locator(".matches")).to_contain_text("25 of 200 steps")
    page.pdf()
    assert steps[0].count() == steps[1].count() == 200
    page.close()


#: Roles that a screen reader lets somebody act on, or tells where they stand.
SPOKEN = {
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "option",
    "columnheader",
    "rowheader",
}


def spoken(page):
    """Role, name and whether it takes the focus, of all that chromium tells a screen reader."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    for node in nodes:
        facts = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        if not node.get("ignored"):
            yield node["role"]["value"], node.get("name", {}).get("value", "").strip(), facts.get("focusable", False)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_a_screen_reader_is_told_what_each_control_is_and_what_changes(visit, runs, tmp_path, width):
    """Explorer, an open run and the labelling page; heads of columns say of what they are, changes are announced."""
    page = visit(viewport={"width": width, "height": 900})
    told = page.locator("[role=status]")
    page.wait_for_selector(".rows .cell", state="attached")
    for keys in ("", "d"):
        press(page, *keys)
        controls = [(role, name) for role, name, takes in spoken(page) if role in SPOKEN or takes]
        assert [each for each in controls if not each[1] and each[0] != "RootWebArea"] == []
    visit_again = visit(viewport={"width": width, "height": 900})
    visit_again.wait_for_selector(".rows .cell", state="attached")
    heads = [name for role, name, _ in spoken(visit_again) if role == "columnheader"]
    assert len(set(heads)) == len(heads)
    visit_again.get_by_label("Search runs and reasons").fill("alpha says")
    expect(visit_again.locator("[role=status]").filter(has_text="run")).not_to_have_count(0)
    assert told.count()
    labelling = write_page(
        tmp_path / "l.html", Session.of(runs, draw_at_random(runs, seed=1, one_per_task=False), None)
    )
    page.goto(labelling.as_uri())
    page.get_by_label("Your name").fill("Ann")
    press(page, "Enter")
    page.wait_for_selector("article")
    assert [
        each for each in spoken(page) if (each[0] in SPOKEN or each[2]) and not each[1] and each[0] != "RootWebArea"
    ] == []
    press(page, "2")
    expect(page.locator("[role=status]").filter(has_text="Saved")).not_to_have_count(0, timeout=30_000)


#: From the words set to the last run found, in seconds, and what the count says then.
SEARCHED = """async (words) => {
    const root = document.querySelector("#explorer").shadowRoot, find = root.querySelector(".find");
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    find.focus();
    await wait(2000);
    const began = performance.now();
    find.value = words;
    find.dispatchEvent(new Event("input"));
    await wait(160);
    while (root.querySelector(".counted").textContent.includes("searching")) await wait(10);
    return [(performance.now() - began) / 1000, root.querySelector(".counted").textContent];
}"""


def heap(page):
    """Megabytes that the page holds."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "JSHeapUsedSize") / 1e6


@pytest.mark.slow
def test_both_pages_of_five_thousand_public_runs(browser, shared_data, tmp_path, capsys):
    """456 runs of tau2 again and again: size, memory, search; by axe, at two widths, light and dark."""
    once = read_trajectories(shared_data / "tau2_retail").trajectories
    names = [f"{n // len(once)}-{once[n % len(once)].id}" for n in range(5000)]
    many = [once[n % len(once)].model_copy(update={"id": name}) for n, name in enumerate(names)]
    words = [("a", "correct"), ("b", "correct"), ("c", "incorrect"), ("d", "uncertain")]
    rows = [rating(once[0], axis, judge, word, cited_step_indices=[2, 5]) for axis in AXES for judge, word in words]
    ids = pl.DataFrame({"trajectory_id": names, "item_id": names})
    table = (
        ratings_frame(rows).drop("trajectory_id", "item_id").join(ids, how="cross").select(ratings_frame(rows).columns)
    )
    explorer = write_explorer(tmp_path / "many.html", Grid.of(table, many), redact=False)
    labelling = write_page(
        tmp_path / "label.html", Session.of(many, draw_at_random(many, seed=1, one_per_task=False), None)
    )
    said = [f"explorer {explorer.stat().st_size / 1e6:.1f} MB, labelling {labelling.stat().st_size / 1e6:.1f} MB"]
    for width, scheme in itertools.product((390, 1400), ("light", "dark")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.goto(explorer.as_uri())
        page.wait_for_selector(".rows .cell", state="attached", timeout=90_000)
        assert_accessible(page, HOST)
        seconds, counted_runs = page.evaluate(SEARCHED, "exchange")
        regular, _ = page.evaluate(SEARCHED, "/refund\\w* of/")
        took = f"search {seconds:.2f} s ({counted_runs}), by regular expression {regular:.2f} s"
        said += [f"{width} {scheme}: heap {heap(page):.0f} MB, {took}"]
        page.get_by_role("button", name="Clear").click()
        for keys in ("d", "v", "vb"):
            press(page, *keys)
            opened_run = page.locator(".pair" if keys == "vb" else ".opened article[aria-current]").first
            opened_run.wait_for(state="attached")
            assert_accessible(page, HOST)
        page.goto(labelling.as_uri())
        page.get_by_label("Your name").fill("Ann")
        press(page, "Enter")
        page.wait_for_selector("article", timeout=90_000)
        press(page, "2", "Enter", "1")
        expect(page.locator(".saved")).to_have_text("Saved", timeout=30_000)
        assert_accessible(page, "#labeller")
        said += [f"{width} {scheme}: labelling heap {heap(page):.0f} MB"]
        context.close()
    with capsys.disabled():
        print("", *said, sep="\n")
    assert explorer.stat().st_size < 20e6
