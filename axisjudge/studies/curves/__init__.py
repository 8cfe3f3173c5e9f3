"""Why a curve, and how sure is it? (notebook 04, `axisjudge curve`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.curves.study import Curves, curves

__all__ = ["Curves", "curves"]

open_door(curves)
