"""Fixtures that every test may use."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real public data beside the checkout; tests that need it are skipped, and say so, where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data (../shared/data) is not on this machine")
    return folder


@pytest.fixture(scope="session")
def oracles() -> Path:
    """Expected results from original programs, beside the checkout."""
    folder = ROOT.parent / "shared" / "oracles"
    if not folder.is_dir():
        pytest.skip("oracles (../shared/oracles) are not on this machine")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--benchmark-run", action="store_true", help="run tests/benchmarks, which print and never fail on time"
    )
