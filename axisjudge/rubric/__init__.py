"""Rubrics: what judges are told of an axis, of a signal and of a goal check; and what is wrong with one."""

from axisjudge.rubric.axes import Rubric, list_rubrics, load_rubric, read_rubric

__all__ = ["Rubric", "list_rubrics", "load_rubric", "read_rubric"]
