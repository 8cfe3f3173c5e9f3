"""axisjudge: a calibration research workbench for LLM judges of agent tool use.

These names are loaded when they are first used, so that ``import axisjudge`` costs next to nothing.

- `read_trajectories`: the runs of files, folders and globs, of any format that is known
- `write_trajectories`: runs as files of the package's own format
- `Trajectory`, `Step`, `ToolCall`, `ToolSchema`: one run, its messages, its calls, and the tools it was offered
- `demo_paths`: the runs that come with the package
- `load_rubric`: one axis's rubric of one version
- `judge`: judges' ratings of runs, resumed where they were broken off
- `Judge`, `JudgeSpec`, `Provider`: what judges are, how one is named, and who makes them
- `judge_function`: a judge made of a function, a prompt in and a verdict out
- `Answer`, `Reply`: a judge's word on one axis, and all that came of one call
- `read_ratings`, `to_matrix`: the ratings of files, and one question's verdicts as items x raters
- `studies`: one function a question, ratings in and one result out
- `iterate`: judge a version of a rubric on the calibration side, and compare it with the one before
- `improve`: have a model write edits of a rubric, and data decide whether one is better
- `explore`: runs x judges on every axis as a grid, each verdict with the steps that it cites
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisjudge import studies
    from axisjudge.datasets import demo_paths
    from axisjudge.explorer import explore
    from axisjudge.iterating import improve, iterate
    from axisjudge.judges import Answer, Judge, Reply, judge_function
    from axisjudge.judging import judge
    from axisjudge.ratings import read_ratings, to_matrix
    from axisjudge.readers import read_trajectories, write_trajectories
    from axisjudge.rubric import load_rubric
    from axisjudge.spec import JudgeSpec, Provider
    from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory

__version__ = "4.0.0"

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
    "improve": "axisjudge.iterating",
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
    "improve",
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
