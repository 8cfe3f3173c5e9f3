"""Fixtures that every test may use."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import typer.testing

# A command line is built from its signatures once a process, not once for each of hundreds of calls of a test.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]
# Workers share the cores: threads of linear algebra beside them wait for each other, three times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# jsonschema's check of addresses, which no schema here asks for, builds its grammars when it is imported: 2 s a worker.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# Thousands of collected tests live to the end: to look through them for garbage took a twentieth of the time.
gc.set_threshold(200_000, 20, 20)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """No test leaves its figures open for the next ones, of which matplotlib warns."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real public data beside the checkout; tests that need it are skipped, and say so, where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data (../shared/data) is not on this machine")
    return folder


@pytest.fixture(scope="session")
def alttest(shared_data: Path) -> Callable[[str], Any]:
    """A set of the alternative annotator test by its name, as a ratings table; each is read once."""
    from axisjudge.imports import import_ratings

    return cache(lambda name: import_ratings([shared_data / "alttest" / name], with_draw=False).ratings)


@pytest.fixture
def whole_bench(tmp_path: Path) -> Path:
    """A workbench of its own, so that a test never writes into the shipped reports."""
    from axisjudge.workbench import home

    for name in ("notebooks", "rubrics"):
        (tmp_path / name).symlink_to(home() / name)
    (tmp_path / "data").mkdir()
    for path in (home() / "data").iterdir():
        if path.name not in ("cache", "ratings"):
            (tmp_path / "data" / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture(scope="session")
def oracles() -> Path:
    """Expected results from original programs, beside the checkout."""
    folder = ROOT.parent / "shared" / "oracles"
    if not folder.is_dir():
        pytest.skip("oracles (../shared/oracles) are not on this machine")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium without a window; where it is absent the tests that need it are skipped."""
    program = which("chromium") or which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed; on Debian: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser last: its driver keeps an event loop running in the thread, which others cannot share.

    Slow tests may take an hour: simulations do on a busy machine.
    """
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))


def pytest_configure() -> None:
    """Ctrl-C is heard even where the tests were started in the background, with the signal ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--benchmark-run", action="store_true", help="run tests/benchmarks, which print and never fail on time"
    )
