"""What does a run score measure? (notebook 08, `axisjudge scorecard`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.run_score.study import RunScore, run_score

__all__ = ["RunScore", "run_score"]

open_door(run_score)
