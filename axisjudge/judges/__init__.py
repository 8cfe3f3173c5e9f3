"""Judges: everything that can be asked for a verdict, made from specs. An SDK is imported only when a spec names it."""

from axisjudge.judges.answer import Answer, Reply
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.making import JudgeLike, in_one_call, make_judges
from axisjudge.judges.plugged import FunctionJudge, Prompt, judge_function

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
