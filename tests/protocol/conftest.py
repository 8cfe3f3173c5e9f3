"""A workbench of its own for every test: the rubrics copied, no split, no lock, no ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from judging.worlds import trajectories

from axisjudge import protocol, workbench
from axisjudge.protocol import AnalysisPlan, Split
from axisjudge.trajectory import Trajectory


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Path]:
    with workbench.at(protocol.rehearsal(tmp_path / "bench")) as home:
        yield home


@pytest.fixture
def runs() -> list[Trajectory]:
    """24 runs of 12 tasks."""
    return trajectories(24)


@pytest.fixture
def split(bench: Path, runs: list[Trajectory]) -> Split:
    return protocol.make_split(runs, salt="s", tuned_on={"library/0": "the rubric was tuned on it"})


@pytest.fixture
def plan() -> AnalysisPlan:
    return AnalysisPlan(axes=("termination", "sequencing"), statistic="cohen_kappa")


@pytest.fixture
def locked(split: Split, plan: AnalysisPlan) -> dict[str, object]:
    return protocol.make_lock(["rules", "openai:gpt-5.2-2025-12-11,effort=low"], plan)
