"""How many trajectories, labels, people and repeats? (notebook 09, `axisjudge plan`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.plan.study import Plan, plan

__all__ = ["Plan", "plan"]

open_door(plan)
