"""May a new judge take the old one's place? (notebook 10)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.succession.study import Succession, succession

__all__ = ["Succession", "succession"]

open_door(succession)
