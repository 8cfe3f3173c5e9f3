"""The demo as it is generated and as it is committed."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"


def generator_module(name: str) -> ModuleType:
    """A module of the generator, which is no installed package."""
    sys.path.insert(0, str(DEMO))
    try:
        return __import__(f"generator.{name}", fromlist=[name])
    finally:
        sys.path.remove(str(DEMO))


@pytest.fixture(scope="session")
def demo_folder() -> Path:
    return DEMO


@pytest.fixture(scope="session")
def simulations(demo_folder: Path) -> list[dict[str, Any]]:
    """Every committed run, with the agent's name added."""
    runs = []
    for path in sorted((demo_folder / "results").glob("*.json")):
        results = json.loads(path.read_text())
        runs += [{**run, "agent": results["info"]["agent_info"]["llm"]} for run in results["simulations"]]
    return runs


@pytest.fixture(scope="session")
def planted(demo_folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (demo_folder / "planted.jsonl").read_text().splitlines()]
