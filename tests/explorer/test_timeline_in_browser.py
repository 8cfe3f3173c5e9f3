"""The line of time of an AXIS run in a real browser: what ran at once, who waited, what took points, and its record."""

import json
import sys

import pytest
from explorer.conftest import HOSTILE
from explorer.driving import assert_accessible
from playwright.sync_api import expect

from axisjudge.datasets import demo_transcripts
from axisjudge.explorer.timeline import timeline_html, write_timeline
from axisjudge.scores.axis.result import deductions
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.trajectory import Step, ToolCall, Trajectory

HOST = "#timeline"


def at(second):
    return f"2026-11-01T12:00:{second:06.3f}Z"


def call(name, number, start, **arguments):
    return ToolCall(id=f"c{number}", name=name, arguments=arguments, timestamp=at(start))


@pytest.fixture(scope="module")
def scored():
    """Two commands at once, a question that a person takes 20 s to answer, and a file that is not there."""
    calls = (call("Bash", 1, 2.0, command="make"), call("Bash", 2, 2.5, command="make docs"))
    ask, read = call("AskUserQuestion", 3, 9.0, question="Which?"), call("Read", 4, 31.0, path="gone.txt")
    steps = (
        Step(index=0, role="user", content=f"Build it. {HOSTILE}", timestamp=at(0)),
        Step(index=1, role="assistant", content="Both at once.", tool_calls=calls, timestamp=at(2.5)),
        Step(index=2, role="tool", tool_call_id="c2", content=HOSTILE, timestamp=at(5)),
        Step(index=3, role="tool", tool_call_id="c1", content="built", timestamp=at(8)),
        Step(index=4, role="assistant", tool_calls=(ask,), timestamp=at(9)),
        Step(index=5, role="tool", tool_call_id="c3", content="the first", timestamp=at(29)),
        Step(index=6, role="assistant", tool_calls=(read,), timestamp=at(31)),
        Step(index=7, role="tool", tool_call_id="c4", content="no such file", error=True, timestamp=at(31.1)),
        Step(index=8, role="assistant", content="It is built.", timestamp=at(33)),
    )
    run = Trajectory(id="run-1", source="test", agent="agent", task_id="build", steps=steps)
    return run, axis_results([run])[0]


@pytest.fixture
def visit(browser, scored, tmp_path):
    """Open the page in a fresh browser; whatever goes wrong in it, or leaves it, is an error of the test."""
    file = write_timeline(tmp_path / "timeline.html", [scored])
    contexts, faults = [], []

    def open_page(**options):
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("request", lambda request: request.url.startswith("file:") or faults.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector(".interaction")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def opened(page):
    return [int(number) for number in page.locator("article.of-it .number").all_text_contents()]


@pytest.mark.slow
def test_what_ran_at_once_who_waited_and_the_way_from_points_to_the_record(visit, scored):
    page = visit()
    first, second = (
        page.locator(".lane[aria-label=environment] .interaction", has_text=f"#{n} Bash").bounding_box() for n in (3, 4)
    )
    assert first["x"] < second["x"] < first["x"] + first["width"]
    assert second["y"] >= first["y"] + first["height"]  # at once: one below the other, not one over the other
    assert page.locator(".lane[aria-label=person] .interaction").count() == 2
    last, axis = page.locator(".ticks span").last.bounding_box(), page.locator(".ticks").bounding_box()
    assert last["x"] + last["width"] <= axis["x"] + axis["width"] + 1  # beyond it the chart cuts long times off
    asked = page.locator(".lane[aria-label=person] .interaction", has_text="AskUserQuestion")
    assert "waits for a person's answer" in asked.get_attribute("aria-label")
    page.locator(".lane[aria-label=environment] .interaction", has_text="#4 Bash").click()
    assert opened(page) == [1, 2]
    taken = deductions(scored[1])
    assert page.locator(".taken li").count() == len(taken)
    page.get_by_role("button", name="success", exact=False).first.click()
    own = [each for each in taken if (each.dimension, each.signal) == ("environment", "success")]
    assert page.locator(".taken .points").all_text_contents() == [f"−{each.points:.1f}" for each in own]
    expect(page.locator(".interaction:not(.dim)")).to_have_count(len({each.interaction for each in own}))
    page.locator(".taken button").click()
    assert opened(page) == [6, 7]
    assert (
        page.locator(".interaction[aria-pressed=true]").get_attribute("aria-label").startswith("#6 Read, environment")
    )
    page.keyboard.press("Tab")
    page.locator(".chart").press("ArrowRight")
    assert opened(page) == [8]
    assert page.evaluate("window.broken") is None


@pytest.mark.slow
def test_several_runs_have_a_list_and_an_address_each(browser, scored, tmp_path):
    again = scored[0].model_copy(update={"id": "run 2"})
    file = write_timeline(tmp_path / "runs.html", [scored, (again, axis_results([again])[0])], opened=1)
    page = browser.new_page(viewport={"width": 1300, "height": 900}, color_scheme="dark")
    page.goto(file.as_uri())
    current, name = page.locator("nav a[aria-current]"), page.locator(".timeline header p").first
    expect(page.locator("nav a")).to_have_count(2)
    expect(current).to_contain_text("run 2")
    expect(name).to_have_text("run 2")
    page.locator("nav a").first.click()
    expect(name).to_have_text("run-1")
    assert page.url.endswith("#run-1")
    page.locator(".interaction").nth(2).click()
    assert opened(page)
    page.go_back()
    expect(name).to_have_text("run 2")
    page.emulate_media(media="print")
    expect(page.locator("nav")).to_be_hidden()
    expect(page.locator(HOST)).to_have_attribute("data-theme", "light")
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_and_whole_on_a_phone_and_on_paper(visit, pictures, scheme):
    page = visit(color_scheme=scheme)
    page.locator(".interaction").nth(3).click()
    assert_accessible(page, HOST)
    page.screenshot(path=pictures / f"timeline-{scheme}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=pictures / f"timeline-phone-{scheme}.png", full_page=True)
    page.emulate_media(media="print")
    assert page.locator(".record article").last.bounding_box()["height"] > 10
    assert page.evaluate("document.documentElement.scrollHeight") > page.locator(".record").bounding_box()["height"]


def test_the_same_run_gives_the_same_bytes_and_no_markup_of_its_own(scored):
    page = timeline_html([scored])
    assert page == timeline_html([scored])
    assert "<img" not in page
    assert "https://" not in page.replace("https://away.example", "")


@pytest.mark.slow
def test_the_command_writes_the_page_of_the_run_it_explains(monkeypatch, tmp_path, capsys):
    from axisjudge.cli import main

    source = str(demo_transcripts()[0])
    monkeypatch.setattr(sys, "argv", ["axisjudge", "axis-result", source, "--html", str(tmp_path / "p.html"), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    result = json.loads(capsys.readouterr().out)["results"][0]
    assert f"<title>AXIS: {result['trajectory_id']}</title>" in (tmp_path / "p.html").read_text()
