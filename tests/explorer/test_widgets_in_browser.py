"""Both widgets in a browser without a notebook: messages go to Python by a bridge that may lose them or be cut."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from explorer.driving import press, verdict_on
from explorer.rated import ratings_of
from playwright.sync_api import expect

from axisjudge.explorer import explore, open_labeller
from axisjudge.explorer.front import script
from axisjudge.explorer.log import LabelLog
from axisjudge.verdict import AXES

#: A widget's view, its model's messages given to Python; `window.fault(message)` may be "throw", or "lose" it.
SHOW = """async ([module, host, traits]) => {
    const { default: widget } = await import(`/${module}`);
    const heard = [];
    const send = (message) => {
        const fault = window.fault?.(message);
        if (fault === "throw") throw new Error("no kernel");
        if (fault === "lose") return;
        window.toPython(host, message).then((answer) => answer && heard.forEach((hear) => hear(answer)));
    };
    const on = (kind, hear) => kind === "msg:custom" && heard.push(hear);
    const model = { get: (name) => traits[name], set() {}, save_changes() {}, on, off() {}, send };
    widget.render({ model, el: document.getElementById(host) });
}"""


class Cells(BaseHTTPRequestHandler):
    def do_GET(self):
        is_script = self.path.endswith(".js")
        body = (script(self.path[1:]) if is_script else "<!doctype html><div id=one></div><div id=two></div>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Kernel:
    """Widgets by the place where they are shown; while it is down, for all or one of them, nothing is answered."""

    def __init__(self):
        self.widgets, self.is_down = {}, False

    def __call__(self, host, message):
        if self.is_down in (True, host):
            return None
        answers = []
        self.widgets[host].send = answers.append
        self.widgets[host]._hear(None, message, None)
        return json.loads(json.dumps(answers[0]))

    def show(self, page, host, widget):
        self.widgets[host] = widget
        names = ("about", "grid", "at", "place", "rater")
        traits = {name: getattr(widget, name) for name in widget.trait_names(sync=True) if name in names}
        page.evaluate(SHOW, ["explorer_widget.js" if "grid" in traits else "widget.js", host, traits])
        page.locator(f"#{host} :is(article, .rows .cell)").first.wait_for()


@pytest.fixture
def sit_down(browser):
    """A fresh browser at the notebook, and the kernel behind it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cells)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    kernel, contexts = Kernel(), []

    def open_page():
        contexts.append(browser.new_context(viewport={"width": 1360, "height": 850}))
        page = contexts[-1].new_page()
        page.expose_function("toPython", kernel)
        page.goto(f"http://127.0.0.1:{server.server_port}/lab")
        return page, kernel

    yield open_page
    for context in contexts:
        context.close()
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("face", ["labeller", "explorer"])
def test_each_cell_opens_for_the_person_whom_it_names(sit_down, runs, tmp_path, face):
    page, kernel = sit_down()
    for host, name in (("one", "ann"), ("two", "ben")):
        of = {"rater": name, "folder": tmp_path}
        kernel.show(
            page, host, open_labeller(runs, **of) if face == "labeller" else explore(ratings_of(runs), runs, **of)
        )
    for host, name in (("one", "ann"), ("two", "ben")):
        expect(page.locator(f"#{host} .who strong")).to_have_text(name)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["throw", "lose"])
def test_a_word_that_went_astray_is_never_written_after_a_newer_one(sit_down, runs, tmp_path, fault):
    page, kernel = sit_down()
    kernel.show(page, "one", open_labeller(runs, rater="ann", folder=tmp_path))
    page.evaluate(
        f"() => {{ let n = 0; window.fault = ({{ kind }}) => (kind === 'save' && n++ === 0 ? '{fault}' : null) }}"
    )
    page.locator("article").first.click()
    press(page, "1", "2", "3")
    expect(page.locator(".saved")).to_have_text("Saved", timeout=20_000)
    assert [line.verdict for line in LabelLog(tmp_path / "ann.jsonl").lines()] == ["correct", "incorrect", "uncertain"]


@pytest.mark.slow
def test_a_word_that_waited_in_one_browser_does_not_go_over_a_newer_one_from_another(sit_down, runs, tmp_path):
    (page, kernel), (other, _) = sit_down(), sit_down()
    widget = open_labeller(runs, rater="ann", folder=tmp_path)
    kernel.show(page, "one", widget)
    kernel.show(other, "two", widget)
    kernel.is_down = True
    page.locator("article").first.click()
    press(page, "1", "a", "3")
    page.get_by_text("Not saved: the kernel does not answer").wait_for()
    page.goto("about:blank")
    kernel.is_down = False
    other.locator("article").first.click()
    press(other, "2")
    expect(other.locator(".saved")).to_have_text("Saved", timeout=20_000)
    page.go_back()
    kernel.show(page, "one", widget)
    expect(page.locator(f"input[name={AXES[1]}-verdict]:checked")).to_have_value("uncertain")
    assert verdict_on(page, AXES[0]) == "incorrect", "what was said later, and saved, stands"
    expect(page.locator(".saved")).to_have_text(re.compile("^Saved; what you said later"), timeout=20_000)
    said = [line.verdict for line in LabelLog(tmp_path / "ann.jsonl").lines()]
    assert said == ["incorrect", "correct", "incorrect", "uncertain"], "what nobody spoke over is sent; both are kept"
    page.locator("article").first.click()
    press(page, "u")
    expect(page.locator(f"input[name={AXES[0]}-verdict]:checked")).to_have_value("correct")


@pytest.mark.slow
def test_a_decision_that_waited_in_one_browser_does_not_go_over_a_newer_one_from_another(sit_down, runs, tmp_path):
    (page, kernel), (other, _) = sit_down(), sit_down()
    widget = explore(ratings_of(runs), runs, rater="ann", folder=tmp_path)
    for each, host in ((page, "one"), (other, "two")):
        kernel.show(each, host, widget)
        each.locator(f"#{host} .grid").focus()
        press(each, "d")
        each.locator(".deciding .options button").first.wait_for()
    kernel.is_down = True
    press(page, "w", "1")
    page.wait_for_timeout(1200)
    press(other, "w", "2")
    other.get_by_text("Not saved: the kernel does not answer").wait_for()
    for each, still in ((other, "one"), (page, False)):
        kernel.is_down = still
        expect(each.locator(".saved")).to_have_text("Saved", timeout=20_000)
        expect(each.locator(".deciding [aria-pressed=true]")).to_have_text(re.compile("Old"))
    said = [line.flags[-1] for line in LabelLog(tmp_path / "ann.decisions.jsonl").lines()]
    assert said[-1] == "decided:old_right"
    assert "decided:new_right" in said
