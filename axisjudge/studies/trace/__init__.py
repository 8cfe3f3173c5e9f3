"""What happened in this run, and which steps do the judges point to? (notebook 06)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.trace.study import Trace, trace

__all__ = ["Trace", "trace"]

open_door(trace)
