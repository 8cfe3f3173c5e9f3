"""A workbench of its own for every notebook that a test runs."""

from pathlib import Path

import pytest


@pytest.fixture
def bench(whole_bench: Path) -> Path:
    return whole_bench
