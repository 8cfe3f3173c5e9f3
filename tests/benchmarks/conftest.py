"""Benchmarks print what they measure and assert nothing about time; they run only when asked (`make bench`)."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--benchmark-run"):
        return
    here = pytest.mark.skip(reason="a benchmark: run it with `make bench`")
    for item in items:
        if "benchmarks" in item.path.parts:
            item.add_marker(here)
