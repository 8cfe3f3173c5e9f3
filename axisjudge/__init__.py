"""axisjudge: a calibration research workbench for LLM judges of agent tool use.

The names below are loaded when they are first used, so that ``import axisjudge`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisjudge import studies
    from axisjudge.datasets import demo_paths
    from axisjudge.explorer import explore
    from axisjudge.iterating import iterate
    from axisjudge.judges import Answer, Judge, Reply, judge_function
    from axisjudge.judging import judge
    from axisjudge.ratings import read_ratings, to_matrix
    from axisjudge.readers import read_trajectories, write_trajectories
    from axisjudge.rubric import load_rubric
    from axisjudge.spec import JudgeSpec, Provider
    from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

__version__ = "0.1.0"

_HOME = {
    "Step": "axisjudge.trajectory",
    "ToolCall": "axisjudge.trajectory",
    "ToolSchema": "axisjudge.trajectory",
    "Trajectory": "axisjudge.trajectory",
    "Answer": "axisjudge.judges",
    "Judge": "axisjudge.judges",
    "JudgeSpec": "axisjudge.spec",
    "Provider": "axisjudge.spec",
    "Reply": "axisjudge.judges",
    "demo_paths": "axisjudge.datasets",
    "explore": "axisjudge.explorer",
    "iterate": "axisjudge.iterating",
    "judge": "axisjudge.judging",
    "judge_function": "axisjudge.judges",
    "load_rubric": "axisjudge.rubric",
    "read_ratings": "axisjudge.ratings",
    "read_trajectories": "axisjudge.readers",
    "to_matrix": "axisjudge.ratings",
    "write_trajectories": "axisjudge.readers",
}

__all__ = [
    "Answer",
    "Judge",
    "JudgeSpec",
    "Provider",
    "Reply",
    "Step",
    "ToolCall",
    "ToolSchema",
    "Trajectory",
    "__version__",
    "demo_paths",
    "explore",
    "iterate",
    "judge",
    "judge_function",
    "load_rubric",
    "read_ratings",
    "read_trajectories",
    "studies",
    "to_matrix",
    "write_trajectories",
]


def __getattr__(name: str) -> Any:
    if name == "studies":
        return import_module("axisjudge.studies")
    if name not in _HOME:
        raise AttributeError(f"module 'axisjudge' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
