"""Where the runs of a study are: written down when the split is made, so that no later command is told again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from axisjudge.checks import InputError
from axisjudge.protocol.records import ProtocolRecord
from axisjudge.workbench import home

if TYPE_CHECKING:
    from axisjudge.readers import Reading

NEXT = "axisjudge split make PATHS"


class RunSource(ProtocolRecord):
    """Files, folders or globs, and what they lack: arguments of `axisjudge.read_trajectories`.

    Paths are relative to the workbench.
    """

    paths: tuple[str, ...]
    agent: str | None = None
    domain: str | None = None
    tools: str | None = None
    policy: str | None = None
    tool_kinds: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        paths: Sequence[str | Path],
        *,
        agent: str | None = None,
        domain: str | None = None,
        tools: Path | None = None,
        policy: Path | None = None,
        tool_kinds: Sequence[str] = (),
    ) -> Self:
        """The source that these arguments name, from where the caller stands."""
        return cls(
            paths=tuple(map(_from_workbench, paths)),
            agent=agent,
            domain=domain,
            tools=tools and _from_workbench(tools),
            policy=policy and _from_workbench(policy),
            tool_kinds=tuple(tool_kinds),
        )

    def read(self, *, strict: bool = True) -> Reading:
        """The runs that are there now."""
        from axisjudge.readers import read_trajectories

        tools, policy = (given and home() / given for given in (self.tools, self.policy))
        paths = [os.path.normpath(home() / path) for path in self.paths]
        lacking = {"agent": self.agent, "domain": self.domain, "tools": tools, "policy": policy}
        return read_trajectories(*paths, tool_kinds=self.tool_kinds, strict=strict, **lacking)  # type: ignore[arg-type]


def read_sources(sources: Sequence[RunSource], *, strict: bool = True) -> Reading:
    """The runs of all sources, each run once.

    Raises
    ------
    InputError
        The split does not say where its runs are, or they are no longer there.
    """
    from axisjudge.readers import Reading

    if not sources:
        cure = f"name them, or write them down once more: {NEXT}"
        raise InputError("trajectories", "none named, and the split does not say where its runs are", cure=cure)
    readings = [source.read(strict=strict) for source in sources]
    return Reading(
        tuple({run.id: run for reading in readings for run in reading.trajectories}.values()),
        tuple(file for reading in readings for file in reading.files),
        tuple(warning for reading in readings for warning in reading.warnings),
        tuple(file for reading in readings for file in reading.refused),
    )


def _from_workbench(path: str | Path) -> str:
    return Path(os.path.relpath(Path(path).absolute(), home())).as_posix()
