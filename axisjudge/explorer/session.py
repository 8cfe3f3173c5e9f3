"""One person's sitting: which items, in which order, by which instructions; and a word of theirs as a rating."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from axisjudge.checks import InputError, one_of
from axisjudge.explorer.shown import shown_run
from axisjudge.labels.decisions import label_base, label_word, shown_sections
from axisjudge.labels.sampling import Drawn, Sampling
from axisjudge.rubric import Rubric, load_rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, VERDICTS, Axis, Rating, check_citations

#: The key that goes to each axis, on the keyboard's left hand; termination is the end.
KEYS: dict[Axis, str] = {
    "tool_selection": "T",
    "argument_validity": "A",
    "sequencing": "S",
    "result_interpretation": "R",
    "termination": "E",
}
#: Stands in a page that asks for the person's name itself.
UNNAMED = "unnamed"
#: How sure a person may say to be: half and half, up to as good as certain.
CONFIDENCES = (0.5, 0.65, 0.8, 0.9, 0.99)


@dataclass(frozen=True)
class Session:
    """What one person labels: drawn trajectories in the order of the plan, the axes asked of each, and the rubrics.

    Raises
    ------
    InputError
        A drawn trajectory is not among those given.
    """

    rater: str | None
    sampling: Sampling
    trajectories: tuple[Trajectory, ...]
    rubrics: Mapping[Axis, Rubric]

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory], sampling: Sampling, rater: str | None) -> Session:
        """The session of a plan, with the current rubric of each axis."""
        runs = {run.id: run for run in trajectories}
        if missing := [name for name in sampling.trajectory_ids if name not in runs]:
            cure = "give the trajectories that the plan was drawn from"
            raise InputError("trajectories", f"{len(missing)} of the plan are not among them", missing[0], cure)
        drawn = tuple(runs[name] for name in sampling.trajectory_ids)
        return cls(rater, sampling, drawn, {axis: load_rubric(axis) for axis in AXES})

    @cached_property
    def _drawn(self) -> Mapping[str, Mapping[str | None, Drawn]]:
        """Of each run what was drawn of it: single axes, or all (None)."""
        drawn: defaultdict[str, dict[str | None, Drawn]] = defaultdict(dict)
        for each in self.sampling.items:
            drawn[each.trajectory_id][each.question] = each
        return drawn

    def axes_of(self, item: int) -> tuple[Axis, ...]:
        """The axes asked of an item: all, unless the plan drew single ones."""
        asked = self._drawn[self.trajectories[item].id]
        return tuple(axis for axis in AXES if axis in asked or None in asked)

    def about(self) -> dict[str, Any]:
        """What the labeller must know beside the trajectories; plain JSON, without a word about any of them."""
        return {
            "rater": self.rater,
            "verdicts": list(VERDICTS),
            "confidences": list(CONFIDENCES),
            "axes": [_asked(self.rubrics[axis]) for axis in AXES],
            "items": [{"axes": list(self.axes_of(item))} for item in range(len(self.trajectories))],
        }

    def run(self, item: int) -> dict[str, Any]:
        """A trajectory as it is shown."""
        return shown_run(self.trajectories[item])

    def base(self, item: int, axis: Axis) -> dict[str, Any]:
        """The fields of a label that are known beforehand, the flags of the draw left out."""
        return label_base(self.trajectories[item], self.rubrics[axis], UNNAMED if self.rater is None else self.rater)

    def drawn_flags(self, item: int, axis: Axis) -> list[str]:
        """How this item was drawn, as flags of its label."""
        drawn = self._drawn[self.trajectories[item].id]
        return self.sampling.flags_for(drawn.get(axis) or drawn[None])

    def rating(self, item: int, axis: str, label: Mapping[str, Any], seconds: float, created_at: str) -> Rating:
        """What the person said of one axis, as a rating.

        Raises
        ------
        InputError
            The axis, the verdict, the confidence or a cited step does not exist.
        """
        asked = self.axes_of(item)
        known = asked[asked.index(one_of("axis", axis, asked))]
        if label["verdict"] is not None:
            one_of("verdict", label["verdict"], VERDICTS)
        if label["confidence"] is not None and label["confidence"] not in CONFIDENCES:
            raise InputError("confidence", f"must be one of {', '.join(map(str, CONFIDENCES))}", label["confidence"])
        if absent := check_citations(label["cited"], len(self.trajectories[item].steps)):
            raise InputError("cited step", "does not exist in this trajectory", absent[0])
        word = label_word(label["verdict"], label["confidence"], label["cited"], label["note"], seconds)
        word["flags"] += self.drawn_flags(item, known)
        return Rating(**self.base(item, known), **word, created_at=created_at)


def _asked(rubric: Rubric) -> dict[str, Any]:
    title = rubric.axis.replace("_", " ").capitalize()
    return {"name": rubric.axis, "key": KEYS[rubric.axis], "title": title, "sections": shown_sections(rubric)}
