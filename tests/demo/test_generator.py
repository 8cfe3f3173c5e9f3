"""Same seed, same bytes; another seed, another demo; and what is committed is what the generator writes."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from axisjudge.ratings import read_ratings
from axisjudge.verdict import AXES

from .conftest import generator_module

command = generator_module("command")
kinds = generator_module("kinds")
files = cache(command.files)


@pytest.mark.slow
def test_same_seed_same_bytes() -> None:
    assert command.files(7) == files(7)


def test_the_bytes_do_not_depend_on_the_process(tmp_path: Path, demo_folder: Path) -> None:
    run = [sys.executable, str(demo_folder / "generator"), "--seed", "1", "--out", str(tmp_path)]
    subprocess.run(run, check=True, capture_output=True, env={"PYTHONHASHSEED": "12345"})
    written = list(tmp_path.rglob("*.*"))
    assert len(written) == 8
    for path in written:
        assert path.read_bytes() == (demo_folder / path.relative_to(tmp_path)).read_bytes(), path.name


def test_committed_files_are_what_seed_1_gives(demo_folder: Path) -> None:
    for name, content in files(1).items():
        assert (demo_folder / name).read_bytes() == content, f"{name}: regenerate the demo"


def test_another_seed_is_another_demo() -> None:
    one, two = files(1), files(2)
    assert one.keys() == two.keys()
    runs = [json.loads(made["results/cedar-mini.json"]) for made in (one, two)]
    orders = [
        {w for run in r["simulations"] for w in json.dumps(run["messages"]).split('"') if w[:3] == "FH-"} for r in runs
    ]
    assert len(orders[0] & orders[1]) < 0.02 * len(orders[0])
    reasons = [[task["description"]["purpose"] for task in r["tasks"]] for r in runs]
    assert reasons[0] != reasons[1]


def test_files_are_small(demo_folder: Path) -> None:
    sizes = [len(content) for content in files(1).values()]
    assert max(sizes) < 600_000
    assert sum(sizes) < 1_400_000


def test_generator_stands_alone(demo_folder: Path) -> None:
    for path in (demo_folder / "generator").glob("*.py"):
        text = path.read_text()
        assert "axisjudge" not in text, path.name
        assert len(text.splitlines()) <= 400, path.name


@pytest.mark.parametrize("seed", [1, 2, 3, 11, 30])
def test_every_axis_fails_and_passes_for_every_agent(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "planted.jsonl"
    path.write_bytes(files(seed)["planted.jsonl"])
    table = read_ratings(path)
    assert len(table) == 28 * 4 * 5
    for agent in table["agent"].unique():
        for axis in AXES:
            verdicts = table.filter(agent=agent, question=axis)["verdict"].to_list()
            assert verdicts.count("incorrect") >= 1, (agent, axis)
            assert verdicts.count("correct") >= 10, (agent, axis)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_near_misses_are_at_least_as_many_as_faults_on_every_axis(seed: int) -> None:
    lines = [json.loads(line) for line in files(seed)["planted.jsonl"].splitlines()]
    for axis in AXES:
        flags = [flag for line in lines if line["question"] == axis for flag in line["flags"]]
        faults, near = (sum(flag.startswith(word) for flag in flags) for word in ("fault:", "near_miss:"))
        assert near >= faults, axis


def test_every_kind_occurs(planted: list[dict]) -> None:  # type: ignore[type-arg]
    flags = {flag for line in planted for flag in line["flags"]}
    assert {f"fault:{kind}" for kind in kinds.FAULTS} <= flags
    assert {f"near_miss:{kind}" for kind in kinds.NEAR_MISSES} <= flags
    for axis in AXES:
        single = [kind for kind, shown in kinds.FAULTS.items() if set(shown) == {axis}]
        assert len(single) >= 6, axis
    assert sum(len(shown) > 1 for shown in kinds.FAULTS.values()) >= 5


def test_two_agents_of_like_reward_have_different_profiles(simulations: list, planted: list) -> None:  # type: ignore[type-arg]
    def reward(agent: str) -> float:
        rewards = [run["reward_info"]["reward"] for run in simulations if run["agent"] == agent]
        return sum(rewards) / len(rewards)

    def profile(agent: str) -> list[int]:
        return [
            sum(p["verdict"] == "incorrect" for p in planted if p["agent"] == agent and p["question"] == axis)
            for axis in AXES
        ]

    assert abs(reward("alder-large") - reward("damson-pro")) < 0.06
    difference = sum(abs(a - b) for a, b in zip(profile("alder-large"), profile("damson-pro"), strict=True))
    assert difference >= 8
