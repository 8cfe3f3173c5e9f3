"""Every benchmark can still be run: imported, and those of judging carried out with tiny sizes."""

from importlib import import_module
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "benchmarks"
#: Helpers of benchmarks; what calls Inspect AI runs in an environment of its own.
NO_BENCHMARKS = ("__init__", "conftest", "slow_server", "inspect_calls")
MODULES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NO_BENCHMARKS)

#: Sizes with which a benchmark takes a second or two.
TINY = {
    "test_overhead": {"CALLS": 10, "AT_ONCE": 4, "PAIRS": 1},
    "test_resume": {"RUNS": 10},
    "test_lanes": {"RUNS": 2, "PAIRS": 1},
    "test_statistics": {"REPLICATES": 20},
    "axis_speed": {"SIZES": (20,), "REPEATS": 1},
}


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("name", TINY)
def test_its_sizes_are_there(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    assert [size for size in TINY[name] if not hasattr(module, size)] == []


@pytest.mark.slow
def test_overhead_with_ten_calls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = _tiny("test_overhead", monkeypatch)
    with pytest.MonkeyPatch.context() as patch:
        for _ in benchmark.provider.__wrapped__(patch):
            benchmark.test_overhead_of_judging_over_the_bare_sdk(None)
    assert "10 calls, 4 at once" in capsys.readouterr().out


def test_resume_with_ten_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _tiny("test_resume", monkeypatch).test_planning_and_carrying_out_nothing(tmp_path)
    assert "50 ratings there" in capsys.readouterr().out


@pytest.mark.slow
def test_lanes_with_two_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _tiny("test_lanes", monkeypatch).test_a_healthy_judge_beside_a_dead_one()
    assert "healthy beside limited" in capsys.readouterr().out


def test_axis_speed_with_twenty_interactions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _tiny("axis_speed", monkeypatch).main()
    assert capsys.readouterr().out


def _tiny(name: str, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    benchmark = import_module(f"benchmarks.{name}")
    for size, value in TINY[name].items():
        monkeypatch.setattr(benchmark, size, value)
    return benchmark
