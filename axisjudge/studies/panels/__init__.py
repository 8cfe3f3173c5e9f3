"""Which judges, how put together, and which verdicts may stand? (notebook 13, `axisjudge panel`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.panels.study import Panels, panels

__all__ = ["Panels", "panels"]

open_door(panels)
