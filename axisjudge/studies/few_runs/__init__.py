"""What can 20 runs tell? (notebook 15)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.few_runs.study import FewRuns, few_runs

__all__ = ["FewRuns", "few_runs"]

open_door(few_runs)
