"""Judges: everything that can be asked for a verdict, made from specs. An SDK is imported only when a spec names it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisjudge.judges.answer import Answer, Reply
    from axisjudge.judges.base import Judge, Rubrics
    from axisjudge.judges.making import JudgeLike, in_one_call, make_judges
    from axisjudge.judges.plugged import FunctionJudge, Prompt, judge_function

_HOME = {
    "Answer": "answer",
    "FunctionJudge": "plugged",
    "Judge": "base",
    "JudgeLike": "making",
    "Prompt": "plugged",
    "Reply": "answer",
    "Rubrics": "base",
    "in_one_call": "making",
    "judge_function": "plugged",
    "make_judges": "making",
}

__all__ = [
    "Answer",
    "FunctionJudge",
    "Judge",
    "JudgeLike",
    "Prompt",
    "Reply",
    "Rubrics",
    "in_one_call",
    "judge_function",
    "make_judges",
]


def __getattr__(name: str) -> Any:
    """These names are loaded when they are first used: a module of this room alone does not bring the whole room."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
