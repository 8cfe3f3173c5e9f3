"""Do judges that agree point at the same steps, and does a judge agree with itself? (notebook 12)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.evidence.study import Evidence, evidence

__all__ = ["Evidence", "evidence"]

open_door(evidence)
