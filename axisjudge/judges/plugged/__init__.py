"""Judges that are functions of the user's own: a prompt in, a verdict out."""

from axisjudge.judges.plugged.function import FunctionJudge, Prompt, judge_function

__all__ = ["FunctionJudge", "Prompt", "judge_function"]
