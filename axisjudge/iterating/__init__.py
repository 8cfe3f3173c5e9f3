"""`axisjudge.iterate`: edit a rubric, run one cell, read what changed."""

from axisjudge.iterating.iteration import Iteration, iterate

__all__ = ["Iteration", "iterate"]
