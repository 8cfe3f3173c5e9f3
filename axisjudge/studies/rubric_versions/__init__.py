"""Did a new rubric make the judges agree, or only less sure? (notebook 01, `rubric compare`, `axisjudge.iterate`)"""

from axisjudge.studies._shared.result import open_door
from axisjudge.studies.rubric_versions.study import RubricVersions, rubric_versions

__all__ = ["RubricVersions", "rubric_versions"]

open_door(rubric_versions)
