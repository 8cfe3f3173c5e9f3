"""Simulated judges: a stated noise model over planted truth, for demonstrations and for testing statistics.

A simulated judge has read nothing. It knows the planted verdict t of an item (trajectory i, axis a) and disturbs it.
With z independent standard normal draws, its error propensity in repeat r is

    e_ijr = sqrt(s) z_i + sqrt(1 - s) (sqrt(p) z_ij + sqrt(1 - p) z_ijr),   s = SHARED_DIFFICULTY, p = PERSISTENCE

so z_i, the difficulty of the item, is common to all simulated judges of one seed: the errors of two judges have a
tetrachoric correlation of s, those of two repeats of one judge s + (1 - s) p. With U = Phi(e), uniform on (0, 1), and
h the judge's hit rate on the axis (sensitivity where t is ``incorrect``, specificity where t is ``correct``) it says

    t if U < h,      ``uncertain`` if h <= U < h + u,      the opposite if U >= h + u

which makes P(says incorrect | t incorrect) = sensitivity and P(says correct | t correct) = specificity exactly, and u
the rate of ``uncertain``. A planted ``not_applicable`` is recognised at rate NOT_APPLICABLE_HIT, or else taken for
``correct``.

Confidence follows the clarity of the case, q = 2 Phi(|e - Phi^-1(h)|) - 1, mixed with noise by the judge's sharpness g,
and is spread over the range that is the family's habit:

    c = low + (high - low) (g q + (1 - g) U_c),     halfway down that range for ``uncertain``

A found fault is cited at each planted step (the step beside it at rate STEP_OFF, an index that does not exist at rate
INVALID_STEP); every other verdict cites one step of the agent's, drawn at random.

Signals and goal checks (`axisjudge.judges.answer`) it answers by the same propensity e, scaled to its error rate, about
the number b that the rules give the point (`SILENT` where they give none; for a goal check, of which they know nothing,
a number drawn in the upper part of the scale):

    v = b + SPREAD (1 - mean hit rate) e,     limited to the scale, in steps of a twentieth (grades: whole numbers)

Every draw comes from sha256 of (seed, judge, trajectory id, axis, repeat): the same item always gets the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from math import sqrt
from pathlib import Path
from statistics import NormalDist, fmean
from typing import ClassVar

from axisjudge.checks import InputError, one_of
from axisjudge.judges.answer import Answer, Reply, Sheet
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, Axis, RaterKind, Word
from axisjudge.workbench import find

SHARED_DIFFICULTY = 0.4
PERSISTENCE = 0.85
NOT_APPLICABLE_HIT = 0.95
STEP_OFF = 0.12
INVALID_STEP = 0.01
SPREAD = 1.5
SILENT = 0.8
LOWEST_GOAL = 0.4

_NORMAL = NormalDist()
_OPPOSITE: dict[Word, Word] = {"incorrect": "correct", "correct": "incorrect", "not_applicable": "correct"}


@dataclass(frozen=True)
class Profile:
    """One simulated judge: hit rates per axis in the order of `AXES`, rate of ``uncertain``, habit of confidence."""

    sensitivity: tuple[float, float, float, float, float]
    specificity: tuple[float, float, float, float, float]
    uncertain: float
    low: float
    high: float
    sharpness: float

    def hit_rate(self, axis: Axis, truth: Word) -> float:
        """P(says `truth` | truth) on `axis`."""
        if truth == "not_applicable":
            return NOT_APPLICABLE_HIT
        return (self.sensitivity if truth == "incorrect" else self.specificity)[AXES.index(axis)]


#: Named after birds, so that nobody takes them for models that exist. Each is a family of its own.
PROFILES: dict[str, Profile] = {
    # sure of itself even where it errs, and rather lenient
    "heron": Profile((0.84, 0.80, 0.76, 0.82, 0.86), (0.97, 0.96, 0.95, 0.94, 0.97), 0.01, 0.85, 0.98, 0.4),
    # strict, says so when it does not know, and hedges even where it is right
    "wren": Profile((0.92, 0.90, 0.88, 0.87, 0.90), (0.90, 0.91, 0.87, 0.88, 0.92), 0.05, 0.60, 0.95, 0.8),
    # in between, weak on sequencing, with confidences that mean something
    "plover": Profile((0.88, 0.86, 0.68, 0.84, 0.88), (0.94, 0.94, 0.93, 0.93, 0.95), 0.03, 0.50, 0.99, 0.9),
    # a small, erratic judge whose confidence says next to nothing
    "sparrow": Profile((0.70, 0.66, 0.60, 0.64, 0.72), (0.86, 0.84, 0.82, 0.80, 0.88), 0.02, 0.70, 0.95, 0.1),
}


@dataclass(frozen=True)
class PlantedVerdict:
    """The planted verdict on one axis of one trajectory, and the steps where the fault was planted."""

    verdict: Word
    steps: tuple[int, ...]


class SimulatedJudge(Judge):
    """``simulated:NAME[,seed=N][,truth=PATH]``: one of `PROFILES` over planted truth (see the module's text).

    `truth` is a file of ratings with rater_kind ``planted``, by default that of the shipped demo.
    """

    kind: RaterKind = "simulated"
    reads_rubrics: bool = False
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.name = one_of("simulated judge", spec.model or "", self.profiles)
        self.profile = self.profiles[self.name]
        self.seed = int(spec.options.get("seed", 0))
        self.mechanism = "noise_model"
        self.version = "1"

    @cached_property
    def truth_file(self) -> Path:
        named = self.spec.options.get("truth")
        return Path(named) if named else find("data/demo") / "planted.jsonl"

    @cached_property
    def truth(self) -> Mapping[tuple[str, str], PlantedVerdict]:
        """Planted truth by (trajectory id, axis)."""
        return read_planted(self.truth_file)

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        known = {axis: asdict(self._planted(trajectory, axis)) for axis in sorted(rubrics)}
        model = [SHARED_DIFFICULTY, PERSISTENCE, NOT_APPLICABLE_HIT, STEP_OFF, INVALID_STEP, asdict(self.profile)]
        shown = [self.name, self.seed, model, trajectory.id, len(trajectory.steps), known]
        return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        return Reply(answers={axis: self.answer(trajectory, axis, repeat) for axis in rubrics}, cost_usd=0.0)

    def answer(self, trajectory: Trajectory, axis: Axis, repeat: int = 0) -> Answer:
        """The noise model for one item: verdict, confidence, cited steps."""
        planted = self._planted(trajectory, axis)
        hit = self.profile.hit_rate(axis, planted.verdict)
        propensity = self._propensity(trajectory.id, axis, repeat)
        verdict = _disturbed(planted.verdict, _NORMAL.cdf(propensity), hit, self.profile.uncertain)
        cited = self._cited(trajectory, axis, repeat, planted, verdict)
        return Answer(
            status="ok",
            verdict=verdict,
            confidence=self._confidence(trajectory.id, axis, repeat, propensity - _NORMAL.inv_cdf(hit), verdict),
            confidence_source="simulated",
            cited_step_indices=cited,
            rationale=f"Simulated from planted truth, nothing was read; steps cited: {list(cited)}.",
        )

    def points(self, sheet: Sheet) -> tuple[str, ...]:
        return sheet.points

    def sheet_sha256(self, sheet: Sheet) -> str:
        known = {point: self._known(sheet, point) for point in sorted(sheet.points)}
        model = [SHARED_DIFFICULTY, PERSISTENCE, SPREAD, asdict(self.profile)]
        shown = [self.name, self.seed, model, sheet.trajectory.id, sheet.page.question, known]
        return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        return Reply({point: self._value(sheet, point, repeat) for point in sheet.points}, cost_usd=0.0)

    def _value(self, sheet: Sheet, point: str, repeat: int) -> Answer:
        """The noise model for one point of a sheet."""
        hits = fmean([*self.profile.sensitivity, *self.profile.specificity])
        disturbed = self._known(sheet, point) + SPREAD * (1 - hits) * self._propensity(
            sheet.trajectory.id, point, repeat
        )
        limited = min(1.0, max(0.0, disturbed))
        value = float(round(10 * limited)) if sheet.scale == "check" else round(20 * limited) / 20
        about = "Simulated: nothing was read; noise around what the rules say, or around a number drawn for a check."
        return Answer("ok", value=value, rationale=about)

    def _known(self, sheet: Sheet, point: str) -> float:
        if sheet.scale == "check":
            return LOWEST_GOAL + (1 - LOWEST_GOAL) * uniform(self.seed, "goal", sheet.trajectory.id, point)
        known = sheet.by_rules.get(point)
        return SILENT if known is None or known.value is None else known.value

    def _planted(self, trajectory: Trajectory, axis: Axis) -> PlantedVerdict:
        if (planted := self.truth.get((trajectory.id, axis))) is None:
            cure = "judge the demo, name the truth with ,truth=FILE, or take another judge"
            where = f"judge {self.rater}"
            rule = f"simulated judges know only planted truth, and {self.truth_file.name} has none for this on {axis}"
            raise InputError(where, rule, trajectory.id, cure)
        return planted

    def _propensity(self, item: str, axis: str, repeat: int) -> float:
        shared = _NORMAL.inv_cdf(uniform(self.seed, "difficulty", item, axis))
        lasting = _NORMAL.inv_cdf(uniform(self.seed, "lasting", self.name, item, axis))
        passing = _NORMAL.inv_cdf(uniform(self.seed, "passing", self.name, item, axis, repeat))
        own = sqrt(PERSISTENCE) * lasting + sqrt(1 - PERSISTENCE) * passing
        return sqrt(SHARED_DIFFICULTY) * shared + sqrt(1 - SHARED_DIFFICULTY) * own

    def _confidence(self, item: str, axis: Axis, repeat: int, distance: float, verdict: Word) -> float:
        clarity = 2 * _NORMAL.cdf(abs(distance)) - 1
        noise = uniform(self.seed, "confidence", self.name, item, axis, repeat)
        height = self.profile.sharpness * clarity + (1 - self.profile.sharpness) * noise
        if verdict == "uncertain":
            height /= 2
        return round(self.profile.low + (self.profile.high - self.profile.low) * height, 2)

    def _cited(
        self, trajectory: Trajectory, axis: Axis, repeat: int, planted: PlantedVerdict, verdict: Word
    ) -> tuple[int, ...]:
        key = (self.seed, "cited", self.name, trajectory.id, axis, repeat)
        if verdict == planted.verdict == "incorrect":
            steps = [_misplaced(step, len(trajectory.steps), uniform(*key, step)) for step in planted.steps]
            return tuple(sorted(set(steps)))
        acted = [step.index for step in trajectory.steps if step.role == "assistant"]
        return (acted[int(uniform(*key) * len(acted))],) if acted else ()


def read_planted(path: Path) -> dict[tuple[str, str], PlantedVerdict]:
    """Planted verdicts by (trajectory id, axis) from a ratings file.

    Raises
    ------
    InputError
        The file is missing, is not made of ratings, or holds no planted ones.
    """
    from axisjudge.ratings import read_ratings

    if not path.is_file():
        raise InputError(str(path), "simulated judges know only planted truth; no such file", cure="give ,truth=FILE")
    columns = ("trajectory_id", "question", "verdict", "cited_step_indices", "rater_kind", "step_index")
    rows = read_ratings(path).select(columns).iter_rows(named=True)
    planted = {
        (row["trajectory_id"], row["question"]): PlantedVerdict(row["verdict"], tuple(row["cited_step_indices"] or ()))
        for row in rows
        if row["rater_kind"] == "planted" and row["step_index"] is None and row["verdict"] in _OPPOSITE
    }
    if not planted:
        raise InputError(str(path), "holds no planted verdicts (rater_kind planted)", cure="give ,truth=FILE")
    return planted


def _disturbed(truth: Word, uniform: float, hit: float, uncertain: float) -> Word:
    if uniform < hit:
        return truth
    return "uncertain" if uniform < hit + uncertain else _OPPOSITE[truth]


def _misplaced(step: int, n_steps: int, uniform: float) -> int:
    """The planted step, rarely a step that does not exist, sometimes the one beside it."""
    if uniform < INVALID_STEP:
        return n_steps + 1
    if uniform < INVALID_STEP + STEP_OFF:
        return step + 1 if step + 1 < n_steps else max(step - 1, 0)
    return step


def uniform(*key: object) -> float:
    """A number in (0, 1) that depends on `key` alone."""
    digest = sha256(json.dumps(key).encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48
