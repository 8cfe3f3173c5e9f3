"""A share of a run for one of several machines: which trajectories it judges, and how fast it may ask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self, cast

from axisjudge.checks import InputError
from axisjudge.judges import JudgeLike
from axisjudge.spec import JudgeSpec, parse_specs
from axisjudge.trajectory import Trajectory

#: What a provider grants to all machines together.
_RATES = ("rpm", "tpm")


@dataclass(frozen=True)
class Shard:
    """The `number`-th of `of` shards. Each trajectory is in one of them, by its id alone, on whatever machine."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2/4``.

        Examples
        --------
        >>> Shard.parse("2/4")
        Shard(number=2, of=4)
        """
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError("--shard", "is written i/n, i from 1 to n", text, "for example 2/4")
        return cls(int(match[1]), int(match[2]))

    def holds(self, trajectory_id: str) -> bool:
        """Whether this shard judges the trajectory: the SHA-256 of its id, taken as a number, modulo `of`."""
        return int.from_bytes(sha256(trajectory_id.encode()).digest()) % self.of == self.number - 1

    def of_runs(self, trajectories: Iterable[Trajectory]) -> list[Trajectory]:
        """The trajectories of this shard."""
        return [run for run in trajectories if self.holds(run.id)]

    def of_judges(self, judges: Sequence[JudgeLike]) -> list[JudgeSpec]:
        """The judges, each with its part of what they may ask in a minute (``rpm``, ``tpm``); their names stay."""
        return [
            spec.model_copy(
                update={"options": {key: v / self.of if key in _RATES else v for key, v in spec.options.items()}}
            )
            for spec in parse_specs(cast("Sequence[str | JudgeSpec]", judges))  # which refuses a judge given as itself
        ]

    def alone_in(self, ratings: Path, rated: Iterable[str], trajectories: Iterable[Trajectory]) -> None:
        """Refuse a file in which runs of another shard are `rated`: shards would write over or into each other."""
        if others := sorted({run.id for run in trajectories if not self.holds(run.id)}.intersection(rated)):
            cure = f"give each shard its file ({self.beside(ratings).name}); axisjudge ratings merge joins them"
            raise InputError(str(ratings), f"holds runs of another shard than {self.number}/{self.of}", others[0], cure)

    def beside(self, ratings: Path) -> Path:
        """The ratings file of this shard: ``ratings-2-of-4.jsonl`` for ``ratings.jsonl``."""
        return ratings.with_stem(f"{ratings.stem}-{self.number}-of-{self.of}")
