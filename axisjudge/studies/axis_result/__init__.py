"""What is behind an AXIS Result? (notebook 07, `axisjudge axis-result`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.axis_result.study import AxisResults, axis_result

__all__ = ["AxisResults", "axis_result"]

open_door(axis_result)
