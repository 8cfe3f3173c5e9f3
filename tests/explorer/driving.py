"""Driving the labeller as a person does, by keyboard, and looking at what it shows."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


#: A fault of any page that touches its store before the browser has answered it: Chromium may then keep nothing.
STORE_WAITS = """{
    let isAnswered = false;
    const ask = LockManager.prototype.query;
    LockManager.prototype.query = function () {
        return ask.call(this).then((answer) => ((isAnswered = true), answer));
    };
    for (const name of ["getItem", "setItem", "removeItem"]) {
        const touch = Storage.prototype[name];
        Storage.prototype[name] = function (...given) {
            if (!isAnswered) console.error(`${name} before the browser answers`);
            return touch.apply(this, given);
        };
    }
}"""


def in_sight(page):
    """Every text of a page and of its fields, what stands in shadow trees included."""
    return page.evaluate(
        """() => {
            const texts = (root) => [...root.querySelectorAll("*")].flatMap((element) => [
                element.value ?? "",
                ...[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data),
                ...(element.shadowRoot ? texts(element.shadowRoot) : []),
            ]);
            return texts(document).join("\\n");
        }"""
    )


def verdict_on(page, axis):
    """The verdict shown for an axis, or None."""
    checked = page.locator(f"section.axis input[name={axis}-verdict]:checked")
    return checked.get_attribute("value") if checked.count() else None


def trajectory_shown(page):
    return int(page.locator("select", has_text="Trajectory").input_value())


def wait_for_trajectory(page, number):
    """Wait until the trajectory at this place, counted from 0, is shown."""
    expect(page.locator("select", has_text="Trajectory")).to_have_value(str(number))


def assert_accessible(page, host):
    """No violation of axe's rules (WCAG A and AA, and best practice) in what is ours."""
    found = Axe().run(page, context={"include": [[host]]}, options={"resultTypes": ["violations"]})
    violations = found.response["violations"]
    assert not violations, "\n".join(
        f"{v['id']}: {[(n['target'], n['failureSummary']) for n in v['nodes']]}" for v in violations
    )


def focused(page):
    """What has the focus, looked for inside the shadow tree."""
    return page.evaluate(
        """() => {
            let element = document.activeElement;
            while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
            return element?.getAttribute("aria-label") ?? element?.textContent.slice(0, 40) ?? "";
        }"""
    )


def opened(page):
    """(run, axis, step) that are open in the explorer."""
    page.wait_for_selector(".opened article[aria-current]")
    axis = page.locator(".tabs [aria-pressed=true] .axis-name").text_content()
    step = page.locator(".opened article[aria-current] .number").text_content()
    return page.locator(".opened h2").text_content(), axis, int(step)
