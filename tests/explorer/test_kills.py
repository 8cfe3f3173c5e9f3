"""Browser, kernel and server are killed and tabs closed at random instants: what was said to be saved is there."""

import json
import os
import random
import signal
import time
import warnings
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from shutil import which
from threading import Timer
from urllib.error import URLError

import pytest
from explorer.test_serving import ask, command  # noqa: F401
from playwright.sync_api import Error, sync_playwright

from axisjudge.explorer import write_page
from axisjudge.explorer.log import LabelLog
from axisjudge.verdict import AXES, VERDICTS

SEED = int(os.environ.get("AXISJUDGE_SEED", "37"))
#: All lines that this browser keeps, in the order in which they were written.
LINES = """() => new Promise((resolve, reject) => {
    const asked = indexedDB.open("axisjudge", 1);
    asked.onerror = () => reject(asked.error);
    asked.onsuccess = () => {
        const all = asked.result.transaction("lines").objectStore("lines").getAll();
        all.onsuccess = () => { asked.result.close(); resolve(all.result.map(({ line }) => line)); };
    };
})"""
ANSWERS = ("new_right", "old_right", "both_wrong", "cannot_tell")


def other_digits(rng):
    """1 to 4 for ever, none twice in a row, so that every key is a change."""
    last = 0
    while True:
        last = rng.choice([digit for digit in (1, 2, 3, 4) if digit != last])
        yield last


def press_until_killed(page, keys, rng):
    """Press keys until the page is gone; which were pressed, and how many of them "Saved" was said of."""
    pressed, said = [], 0
    for digit in other_digits(rng):
        try:
            for key in keys(digit):
                page.keyboard.press(key)
            pressed.append(digit)
            if page.locator(".saved").text_content(timeout=1000) == "Saved":
                said = len(pressed)
        except Error:
            return pressed, said
    raise AssertionError


@pytest.fixture(params=["labelling", "explorer"])
def face(request, session, explorer_file, tmp_path):
    """(address, keys of a change, what a kept line says): of each page."""
    if request.param == "labelling":
        path = write_page(tmp_path / "labelling.html", session)
        return path.as_uri(), lambda digit: [str(digit)], lambda line: VERDICTS.index(line["label"]["verdict"]) + 1
    flag = "decided:"
    answer = lambda line: ANSWERS.index(line["label"]["flags"][-1].removeprefix(flag)) + 1  # noqa: E731
    return f"{explorer_file.as_uri()}#only=flipped", lambda digit: ["w", str(digit)], answer


def begin(page, address):
    page.set_default_timeout(30_000)
    page.goto(address)
    page.wait_for_selector("article, .rows .cell, form")
    name = page.get_by_label("Your name, as it shall stand with your decisions")
    if page.locator(".explorer").count() and name.count():
        name.fill("Ann")
        page.keyboard.press("Enter")
        page.keyboard.press("d")
        page.wait_for_selector(".deciding button")


def kept(page, address, meaning):
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("article, .rows .cell, form")
    return [meaning(line) for line in page.evaluate(LINES)]


def kill_tabs(browser, face, n, seed):
    """Close a tab under the keys `n` times; [(kept lines, keys pressed, of how many "Saved" was said)]."""
    address, keys, meaning = face
    rng, found = random.Random(seed), []
    for _ in range(n):
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page = context.new_page()
        begin(page, address)
        at, pressed, said = time.monotonic() + rng.uniform(0.05, 1.2), [], 0
        for digit in other_digits(rng):
            if time.monotonic() > at:
                break
            for key in keys(digit):
                page.keyboard.press(key)
            pressed.append(digit)
            if page.locator(".saved").text_content() == "Saved":
                said = len(pressed)
        page.close(run_before_unload=False)
        found.append((kept(context.new_page(), address, meaning), pressed, said))
        context.close()
    return found


def lost(found):
    """How many changes were said to be saved and are not there, or not in their order."""
    return sum(sum(a != b for a, b in zip(lines + [None] * said, pressed[:said])) for lines, pressed, said in found)  # noqa: B905


def test_a_tab_that_is_closed_loses_nothing_that_was_said_saved(browser, face):
    found = kill_tabs(browser, face, 1, SEED)
    assert lost(found) == 0
    assert sum(said for _, _, said in found) > 0


@pytest.mark.slow
def test_eight_tabs_that_are_closed(browser, face, capsys):
    report(capsys, "tab closed", kill_tabs(browser, face, 4, SEED + 1))


def report(capsys, what, found):
    with capsys.disabled():
        print(f"\n{what}: {len(found)} kills, {sum(said for *_, said in found)} changes said saved, lost {lost(found)}")
    assert lost(found) == 0
    assert sum(said for *_, said in found) > len(found)


def processes(folder, kind):
    """The processes of the browser that uses this profile: the main one, or those that show its tabs."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            of_kind = "--type=renderer" in words if kind == "tab" else "--type=" not in words
            if f"--user-data-dir={folder} " in words and of_kind:
                found.append(int(entry.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("what", "least"), [("browser", 7), ("tab", 3)])
def test_fifteen_browsers_and_seven_tabs_that_crash(face, what, least, tmp_path, capsys):
    if which("chromium") is None:
        pytest.skip("chromium is not installed")
    n = least + ("labelling" in face[0])
    report(capsys, f"{what} killed", kill_browsers(face, n, SEED + 2, tmp_path, what))


def kill(folder, kind):
    for process in processes(folder, kind):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def kill_browsers(face, n, seed, folder, what):
    """SIGKILL for a browser or its tabs while keys are pressed; a new one on the same profile says what is there."""
    address, keys, meaning = face
    rng, found = random.Random(seed), []
    for number in range(n):
        profile = folder / f"profile-{number}"
        options = {"executable_path": which("chromium"), "args": ["--no-sandbox", "--disable-gpu"]}
        with sync_playwright() as driver:
            context = driver.chromium.launch_persistent_context(str(profile), **options)
            page = context.new_page()
            begin(page, address)
            killers = [Timer(rng.uniform(0.05, 1.5), kill, (profile, what))]
            killers += [Timer(8, kill, (profile, "browser"))]  # a driver may wait for ever for a tab that crashed
            for killer in killers:
                killer.start()
            pressed, said = press_until_killed(page, keys, rng)
            for killer in killers:
                killer.join()
        (profile / "SingletonLock").unlink(missing_ok=True)
        with sync_playwright() as driver:
            context = driver.chromium.launch_persistent_context(str(profile), **options)
            found.append((kept(context.new_page(), address, meaning), pressed, said))
            context.close()
    return found


def change(digit):
    label = {"verdict": VERDICTS[digit - 1], "confidence": None, "cited": [], "note": ""}
    return {"item": 0, "axis": AXES[0], "label": label, "seconds": 1}


def lines_of(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a torn last line is left out with a word
        return [VERDICTS.index(line.verdict) + 1 for line in LabelLog(path).lines()]


@pytest.mark.slow
def test_ten_servers(command, tmp_path, capsys):  # noqa: F811
    rng, found = random.Random(SEED + 3), []
    for number in range(10):
        process, links = command(people=(f"p{number}",))
        link = links[f"p{number}"]
        killer = Timer(rng.uniform(0.05, 1.0), process.kill)
        killer.start()
        pressed = []
        try:
            for serial, digit in enumerate(other_digits(rng)):
                ask(link, "save", {"content": change(digit)}, re=str(serial))
                pressed.append(digit)
        except (URLError, ConnectionError, HTTPException):  # cut off in its headers, or in its body
            pass
        killer.join()
        process.wait()
        found.append((lines_of(tmp_path / "labels" / f"p{number}.jsonl"), pressed, len(pressed)))
    report(capsys, "server", found)


@pytest.mark.slow
def test_ten_kernels(runs, tmp_path, capsys):
    """A real kernel holds the widget; each change is a message that is answered when its line is on the disk."""
    from jupyter_client.manager import KernelManager

    from axisjudge.readers import write_trajectories

    write_trajectories(tmp_path / "runs.jsonl", runs)
    rng, found = random.Random(SEED + 4), []
    for number in range(10):
        kernel = KernelManager(kernel_name="python3")
        kernel.start_kernel(env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")})
        client = kernel.client()
        client.start_channels()
        client.wait_for_ready(timeout=120)
        begun = f"""import json
from axisjudge import read_trajectories
from axisjudge.explorer import open_labeller
widget = open_labeller(read_trajectories({str(tmp_path / "runs.jsonl")!r}).trajectories, folder={str(tmp_path)!r})
widget.answer("name", "p{number}")"""
        assert client.execute_interactive(begun, timeout=120)["content"]["status"] == "ok"
        killer = Timer(rng.uniform(0.05, 1.0), os.kill, (kernel.provisioner.pid, signal.SIGKILL))
        killer.start()
        pressed = []
        for digit in other_digits(rng):
            said = json.dumps({"rater": f"p{number}", "content": change(digit)})
            serial = client.execute(f"widget.answer('save', json.loads({said!r}))")
            if not is_answered(client, serial, kernel):
                break
            pressed.append(digit)
        killer.join()
        client.stop_channels()
        kernel.cleanup_resources()
        found.append((lines_of(tmp_path / f"p{number}.jsonl"), pressed, len(pressed)))
    report(capsys, "kernel", found)


def is_answered(client, serial, kernel):
    from queue import Empty

    while kernel.is_alive():
        try:
            reply = client.get_shell_msg(timeout=0.2)
        except Empty:
            continue
        if reply["parent_header"].get("msg_id") == serial:
            return reply["content"]["status"] == "ok"
    return False
