"""One turn of the calibration loop as one call: judge what is new, and set it beside the version before."""

from axisjudge.iterating.estimate import Estimate, estimate
from axisjudge.iterating.turn import Turn, iterate

__all__ = ["Estimate", "Turn", "estimate", "iterate"]
