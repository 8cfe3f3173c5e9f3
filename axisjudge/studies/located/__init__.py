"""What do rules, reference, reward and people say of the same runs, and where do they part? (notebook 14)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.located.study import Located, located

__all__ = ["Located", "located"]

open_door(located)
