"""Does a judge notice what is broken, and only that? (notebook 11, `axisjudge twins`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.twins.study import Twins, twins

__all__ = ["Twins", "twins"]

open_door(twins)
