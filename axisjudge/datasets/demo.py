"""The demo that ships with the workbench."""

from pathlib import Path

from axisjudge.checks import InputError
from axisjudge.workbench import find


def demo_paths() -> list[Path]:
    """The demo's results files, one an agent.

    Raises
    ------
    InputError
        When the workbench has none.
    """
    return _paths("results", "*.json", "python data/demo/generator --out data/demo")


def demo_truth() -> Path:
    """The planted truth beside the demo: ratings whose rater_kind is ``planted``."""
    return find("data/demo") / "planted.jsonl"


def demo_transcripts() -> list[Path]:
    """The demo's agent transcripts: AXIS reports of two agents, four scenarios, three repeats.

    Raises
    ------
    InputError
        When the workbench has none.
    """
    return _paths("transcripts", "*/*.json", "python data/demo/transcripts/make.py --out FOLDER")


def demo_goal_grades() -> Path:
    """Grades of the demo transcripts' goal checks: ratings whose rater_kind is ``planted``."""
    return find("data/demo") / "transcripts" / "goal_grades.jsonl"


def demo_runs() -> Path:
    """The demo's run set for the run scorecard: planted from beginning to end."""
    return find("data/demo") / "runs" / "runs.jsonl"


def demo_run_labels() -> Path:
    """The planted labels of the demo's run set, as ratings."""
    return find("data/demo") / "runs" / "labels.jsonl"


def _paths(name: str, pattern: str, cure: str) -> list[Path]:
    folder = find("data/demo") / name
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise InputError(str(folder), f"holds no {name}", cure=cure)
    return paths
