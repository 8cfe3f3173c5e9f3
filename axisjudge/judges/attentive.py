"""Simulated judges that follow a rubric, in two stated respects, so that rubric versions can be rehearsed offline.

Like every simulated judge these have read nothing of the run (see `axisjudge.judges.simulated`). Beyond that noise
model they have one fault that a rubric can mend: where an axis is planted correct and a peer axis of the same run is
planted incorrect, they take the peer's fault for one of this axis. With w independent standard normal draws, o the
judge's `overreach` and s what the rubric leaves of it,

    W_ijr = Phi(sqrt(p) w_ij + sqrt(1 - p) w_ijr),   p = PERSISTENCE;      says ``incorrect`` if W < o s

Two features of the rubric's text count, and nothing else in it:

- at least `MIN_EXAMPLES` worked examples: s = LEFT_BY_EXAMPLES, else s = 1;
- a section Not in scope: the judge hesitates where it overreaches. Without it the confidence lies in the upper half of
  the judge's range, with it in the lower third.

What passes (the draws that differ between repeats) is drawn anew for every text, as it would be for every call.

This imitates a published case (data/published: one judge, one item, from incorrect .95 to incorrect .60 to correct .98
over three versions). It shows what the calibration loop says of such a course. That a rubric of this kind does this
to a real judge is assumed, not shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import ClassVar

from axisjudge.checks import one_of
from axisjudge.judges.answer import Answer, Reply
from axisjudge.judges.base import Rubrics
from axisjudge.judges.featured import FEATURED, PROPOSERS, FeaturedJudge, SimulatedProposer
from axisjudge.judges.simulated import PERSISTENCE, PROFILES, PlantedVerdict, Profile, SimulatedJudge, uniform
from axisjudge.rubric import MIN_EXAMPLES, Rubric
from axisjudge.spec import JudgeSpec, Provider
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, Axis

LEFT_BY_EXAMPLES = 0.1

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Attentive(Profile):
    """A profile with `overreach`: the rate of taking a peer's fault for this axis's while no example forbids it."""

    overreach: float


#: Birds again; each a family of its own.
ATTENTIVE: dict[str, Attentive] = {
    # strict, and blames an axis for its peers' faults unless shown where the border lies
    "jackdaw": Attentive((0.90, 0.88, 0.84, 0.88, 0.90), (0.96, 0.97, 0.94, 0.94, 0.96), 0.01, 0.55, 0.98, 0.7, 0.6),
    # mild, and seldom led astray
    "dunnock": Attentive((0.86, 0.85, 0.80, 0.84, 0.86), (0.97, 0.97, 0.96, 0.95, 0.97), 0.01, 0.60, 0.97, 0.6, 0.04),
}


class AttentiveJudge(SimulatedJudge):
    """``simulated:jackdaw`` and ``simulated:dunnock``: answers depend on two features of the rubric."""

    reads_rubrics: bool = True
    profiles: ClassVar[Mapping[str, Profile]] = ATTENTIVE

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        peers = {axis: self._blamed(trajectory, axis) for axis in sorted(rubrics)}
        texts = {axis: rubrics[axis].sha256 for axis in sorted(rubrics)}
        shown = [super().prompt_sha256(trajectory, rubrics), LEFT_BY_EXAMPLES, peers, texts]
        return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        answers = {axis: self.answer_by(rubric, trajectory, axis, repeat) for axis, rubric in rubrics.items()}
        return Reply(answers=answers, cost_usd=0.0)

    def answer_by(self, rubric: Rubric, trajectory: Trajectory, axis: Axis, repeat: int = 0) -> Answer:
        """The noise model's answer, or the overreaching one where this judge overreaches under this rubric."""
        occasion = int(sha256(f"{rubric.sha256} {repeat}".encode()).hexdigest()[:12], 16)
        answer = self.answer(trajectory, axis, occasion)
        peer = self._blamed(trajectory, axis)
        if peer is None or answer.verdict != "correct":
            return answer
        left = LEFT_BY_EXAMPLES if len(rubric.examples) >= MIN_EXAMPLES else 1.0
        if self._draw(trajectory.id, axis, occasion) >= ATTENTIVE[self.name].overreach * left:
            return answer
        scoped = "Not in scope" in rubric.sections
        height = uniform(self.seed, "hesitation", self.name, trajectory.id, axis, occasion)
        height = height / 3 if scoped else (1 + height) / 2
        cited = self._planted(trajectory, peer).steps
        doubt = ", though the rubric sends it there" if scoped else "; the rubric draws no border"
        return replace(
            answer,
            verdict="incorrect",
            confidence=round(self.profile.low + (self.profile.high - self.profile.low) * height, 2),
            cited_step_indices=cited,
            rationale=f"Simulated, nothing was read: takes a planted fault of {peer} for one of {axis}{doubt}.",
        )

    def _blamed(self, trajectory: Trajectory, axis: Axis) -> Axis | None:
        """The first peer axis with a planted fault, where this axis has none."""
        if self._planted(trajectory, axis).verdict != "correct":
            return None
        peers: list[tuple[Axis, PlantedVerdict]] = [
            (peer, planted) for peer in AXES if peer != axis and (planted := self.truth.get((trajectory.id, peer)))
        ]
        return next((peer for peer, planted in peers if planted.verdict == "incorrect"), None)

    def _draw(self, item: str, axis: Axis, occasion: int) -> float:
        lasting = _NORMAL.inv_cdf(uniform(self.seed, "overreach", self.name, item, axis))
        passing = _NORMAL.inv_cdf(uniform(self.seed, "overreach", self.name, item, axis, occasion))
        return _NORMAL.cdf(sqrt(PERSISTENCE) * lasting + sqrt(1 - PERSISTENCE) * passing)


def simulated_judge(spec: JudgeSpec) -> SimulatedJudge:
    """The simulated judge, or proposer of edits, that a spec names."""
    name = one_of("simulated judge", spec.model or "", [*PROFILES, *ATTENTIVE, *FEATURED, *PROPOSERS])
    if name in PROPOSERS:
        return SimulatedProposer(spec)
    if name in FEATURED:
        return FeaturedJudge(spec)
    return AttentiveJudge(spec) if name in ATTENTIVE else SimulatedJudge(spec)


PROVIDER = Provider(
    simulated_judge,
    {"family": str, "seed": int, "truth": Path},
    family=lambda name: f"simulated-{name}",
    model="a profile name",
    free=True,
)
