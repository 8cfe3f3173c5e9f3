"""Trajectories from files: one module per format, recognised from content."""

from axisjudge.readers.own import write_trajectories
from axisjudge.readers.reading import (
    FileRead,
    Reading,
    ReadWarning,
    Summary,
    TrajectoryStream,
    iter_trajectories,
    read_trajectories,
    summarise,
)

__all__ = [
    "FileRead",
    "ReadWarning",
    "Reading",
    "Summary",
    "TrajectoryStream",
    "iter_trajectories",
    "read_trajectories",
    "summarise",
    "write_trajectories",
]
