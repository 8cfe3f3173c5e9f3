"""`axisjudge.iterate`: edit a rubric, run one cell, read what changed; `axisjudge.improve`: a model writes edits."""

from axisjudge.iterating.improving import improve
from axisjudge.iterating.iteration import Iteration, iterate
from axisjudge.iterating.loop import rehearse
from axisjudge.iterating.work import BudgetReachedError

__all__ = ["BudgetReachedError", "Iteration", "improve", "iterate", "rehearse"]
