"""Rubrics: what judges are told of an axis, of a signal and of a goal check; and what is wrong with one."""

from axisjudge.rubric.axes import (
    MIN_EXAMPLES,
    SECTIONS,
    TOKEN_CEILING,
    Rubric,
    RubricText,
    list_rubrics,
    load_rubric,
    read_rubric,
)
from axisjudge.rubric.next_version import begin_version, check_newest, check_versions, promote_version

__all__ = [
    "MIN_EXAMPLES",
    "SECTIONS",
    "TOKEN_CEILING",
    "Rubric",
    "RubricText",
    "begin_version",
    "check_newest",
    "check_versions",
    "list_rubrics",
    "load_rubric",
    "promote_version",
    "read_rubric",
]
