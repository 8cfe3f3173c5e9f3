"""Twins: seeded edits of trajectories after which a judge's verdict must, may or must not move; no labels needed."""

from axisjudge.twins.make import EDITS, INJECTIONS, TwinSet, make_twins
from axisjudge.twins.twin import EXPECTED, Expectation, Twin, broken_axis, twin_of, twins_in

__all__ = [
    "EDITS",
    "EXPECTED",
    "INJECTIONS",
    "Expectation",
    "Twin",
    "TwinSet",
    "broken_axis",
    "make_twins",
    "twin_of",
    "twins_in",
]
