"""The command line of the generator."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from generator.policy import policy_text
from generator.readme import readme
from generator.results import as_bytes, build
from generator.tasks import build_tasks
from generator.toolset import tools_file


def files(seed: int) -> dict[str, bytes]:
    """Every file of the demo for one seed, by name."""
    world, _ = build_tasks(seed)
    made = {name: as_bytes(name, content) for name, content in build(seed).items()}
    made["tools.json"] = json.dumps(tools_file(), indent=1).encode() + b"\n"
    made["README.md"] = readme(seed, made).encode()
    made["policy.md"] = policy_text(world.today).encode()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python data/demo/generator", description="Write the demo trajectories.")
    parser.add_argument("--seed", type=int, default=1, help="which demo; the committed one is 1")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    arguments = parser.parse_args()
    for name, content in files(arguments.seed).items():
        path = arguments.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{path}  {len(content):,} bytes")
