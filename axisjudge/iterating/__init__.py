"""`axisjudge.iterate`: edit a rubric, run one cell, read what changed."""

from axisjudge.iterating.iteration import Iteration, iterate
from axisjudge.iterating.loop import rehearse

__all__ = ["Iteration", "iterate", "rehearse"]
