"""The parts of what the panels study finds, which its tables and sentences read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from axisjudge.stats.agreement.effective import EffectiveJudges
from axisjudge.stats.confidence.calibration import ReliabilityCurve
from axisjudge.stats.panels.nested import JudgeWorth, NestedWay
from axisjudge.studies._shared.frames import Kind
from axisjudge.studies._shared.result import StudyResult
from axisjudge.studies.panels.fitted import FittedPanel
from axisjudge.studies.panels.frontier import Frontier
from axisjudge.studies.panels.trust import Trust


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Combined(StudyResult):
    """Judges put together.

    `ways` holds every way on tasks left out (empty without labels), `panel` the chosen one fitted on all labels,
    `reliability` its probabilities on tasks left out, `worth` what each of its judges adds, `effective` how many
    independent judges the ones it asks are worth, `trust` what may stand at each risk (the strictest first). On
    `n_voted` of the items a judge gave a word; `n_confident` judges gave confidences.
    """

    panel: FittedPanel
    ways: Mapping[str, NestedWay]
    worth: tuple[JudgeWorth, ...]
    reliability: ReliabilityCurve | None
    effective: EffectiveJudges | None
    trust: tuple[Trust, ...]
    frontier: Frontier
    prices: Mapping[str, float | None]
    n_items: int
    n_voted: int
    n_confident: int
    n_tasks: int
    n_labelled: int
    n_labelled_tasks: int
    cluster_unit: str
    made_up: tuple[str, ...]
    kind: Kind
