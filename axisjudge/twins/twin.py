"""A twin, what an edit gives, and how a twin is kept in a trajectory's own file format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axisjudge.trajectory import Step, Trajectory
from axisjudge.twins.expected import EXPECTED, Expectation, broken_axis
from axisjudge.verdict import Axis

#: Where a twin's trajectory keeps what it is; judges are never shown `meta`.
META_KEY = "twin"


@dataclass(frozen=True)
class Edited:
    """What an edit makes of a run: its steps, which of them changed (by their new index), and a sentence on it.

    `termination` is the new word for how the run ended, None where it is as before; `fields` are other fields of the
    run that changed; `place` is where text was put in, None where none was.
    """

    steps: tuple[Step, ...]
    changed: tuple[int, ...]
    what: str
    termination: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    place: str | None = None

    @classmethod
    def in_place(cls, run: Trajectory, steps: Sequence[Step], what: str) -> Edited:
        """An edit that neither adds nor takes out a step."""
        return cls(tuple(steps), tuple(at for at, step in enumerate(steps) if step != run.steps[at]), what)


@dataclass(frozen=True)
class Refused:
    """An edit that cannot be made in a run, and why."""

    reason: str


@dataclass(frozen=True)
class Twin:
    """An edited run beside its original.

    Attributes
    ----------
    original_id : str
    trajectory : Trajectory
        Task, agent, domain, tools and policy as the original's; an id of its own; no reward, because nobody ran it.
    edit : str
        One of `axisjudge.twins.EDITS` or `INJECTIONS`.
    changed_steps : tuple of int
        Indices in the twin of the steps that differ from the original's or stand in another place of the order.
    what : str
        What was changed, for people.
    place : str or None
        Where text for the judge was put in; None for other edits.
    """

    original_id: str
    trajectory: Trajectory
    edit: str
    changed_steps: tuple[int, ...]
    what: str
    place: str | None = None

    @property
    def axis(self) -> Axis | None:
        """The axis that was broken; None where nothing that matters changed."""
        return broken_axis(self.edit)

    @property
    def expected(self) -> Mapping[Axis, Expectation]:
        """What must, may and must not move."""
        return EXPECTED[self.edit]


def as_twin(original: Trajectory, edit: str, seed: int, edited: Edited) -> Twin:
    """The edited run as a trajectory of its own that says in `meta` what it is."""
    about = {
        "of": original.id,
        "edit": edit,
        "axis": broken_axis(edit),
        "seed": seed,
        "changed_steps": list(edited.changed),
        "what": edited.what,
        **({"place": edited.place} if edited.place else {}),
    }
    trajectory = original.model_copy(
        update={
            **edited.fields,
            "id": f"{original.id}~{edit}-{seed}",
            "steps": edited.steps,
            "termination": edited.termination or original.termination,
            "reward": None,
            "meta": {META_KEY: about},
        }
    )
    return Twin(original.id, trajectory, edit, edited.changed, edited.what, edited.place)


def twin_of(trajectory: Trajectory) -> Twin | None:
    """The twin that a trajectory says it is, None for any other run."""
    about: Any = trajectory.meta.get(META_KEY)
    if not isinstance(about, Mapping) or about.get("edit") not in EXPECTED:
        return None
    return Twin(
        str(about["of"]),
        trajectory,
        about["edit"],
        tuple(about["changed_steps"]),
        str(about["what"]),
        about.get("place"),
    )


def twins_in(trajectories: Iterable[Trajectory]) -> list[Twin]:
    """The twins among trajectories, such as those of a file that was written before."""
    return [twin for trajectory in trajectories if (twin := twin_of(trajectory)) is not None]
