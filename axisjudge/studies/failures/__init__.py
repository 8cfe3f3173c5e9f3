"""Where do agents fail? (notebook 05, `axisjudge profile`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.failures.study import Failures, failures

__all__ = ["Failures", "failures"]

open_door(failures)
