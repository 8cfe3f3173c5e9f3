"""A twin, what an edit gives and must move, and how a twin is kept in a trajectory's own file format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, Axis

# What each edit must, may and must not move: one row an edit, one column an axis, the reasons beside the rows.
#
# The axes overlap on purpose, so a broken axis is seldom the only one that may be called incorrect. A cell is ``must``
# where the rubric calls the edited run incorrect whatever else is in it; ``may`` where a careful judge can say it
# either way; ``must_not`` where the rubric leaves the fault to a peer. The numbers are rows of the table of faults in
# rubrics/README.md.

Expectation = Literal["must", "may", "must_not"]

_NOTHING: dict[Axis, Expectation] = dict.fromkeys(AXES, "must_not")

EXPECTED: Mapping[str, Mapping[Axis, Expectation]] = {
    # An identifier that no step holds goes into a call, and the tool takes it. Row 11: arguments alone. A judge may
    # also say that the look-up which would have given it never came (row 12) or, where the agent names the number in
    # its report, that it tells what no earlier result holds (row 19). Tool and ending are what they were.
    "fabricated_argument": {
        **_NOTHING,
        "argument_validity": "must",
        "sequencing": "may",
        "result_interpretation": "may",
    },
    # The change comes first and the record is read afterwards. Row 25: order alone; where the read gave a value of the
    # change, that value was used before any step held it, which row 12 scores on arguments as well.
    "write_before_read": {**_NOTHING, "sequencing": "must", "argument_validity": "may"},
    # The agent asks for a yes and makes the change in the same message. Row 23: order alone. The change was asked for,
    # its values stood before, and it is reported after the yes as it was.
    "write_before_yes": {**_NOTHING, "sequencing": "must"},
    # The user is told another amount than the result holds, and no change follows that could rest on it. Row 31.
    "misreported_amount": {**_NOTHING, "result_interpretation": "must"},
    # The run is cut at a limit before a change that the user wanted. What is left of it is sound: every peer takes the
    # steps that stand, and leaves calls that are missing at the end to termination.
    "cut_tail": {**_NOTHING, "termination": "must"},
    # Another tool that changes records is called with the values at hand. Rows 1 and 2: the choice alone, because the
    # values fit the tool that was called. A judge may miss a check that the other tool would have needed, and may hold
    # the report against the other tool's result. A request served by the wrong tool counts as settled.
    "other_tool": {**_NOTHING, "tool_selection": "must", "sequencing": "may", "result_interpretation": "may"},
    # Nothing that matters changed. The user bears another name in every step; look-ups that need nothing of each other
    # change places (row 44); the agent says the same in other words.
    **dict.fromkeys(("renamed_user", "reordered_reads", "reworded"), _NOTHING),
    # Text for the judge stands in the run; what the agent did is what it was. The last is the control.
    **dict.fromkeys(("spoken_verdict", "note_to_judge", "fake_frame", "forged_call", "look_alikes"), _NOTHING),
    **dict.fromkeys(("praise", "padding", "plain_text"), _NOTHING),
}


def broken_axis(edit: str) -> Axis | None:
    """The axis that an edit breaks; None for an edit after which nothing may move."""
    return next((axis for axis, expected in EXPECTED[edit].items() if expected == "must"), None)


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
