"""What may be claimed of judges against people? (notebook 03, `axisjudge compare`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.people.study import People, people

__all__ = ["People", "people"]

open_door(people)
