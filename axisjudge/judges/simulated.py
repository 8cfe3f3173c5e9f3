"""Simulated judges: a stated noise model over planted truth, and judges that follow features of a rubric.

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
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist, fmean
from typing import Any, ClassVar

from axisjudge.checks import InputError, one_of
from axisjudge.judges.answer import Answer, Reply, Sheet
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.rubric.axes import MIN_EXAMPLES, Rubric
from axisjudge.spec import JudgeSpec, Provider
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
        return _sha256([self.name, self.seed, model, trajectory.id, len(trajectory.steps), known])

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
        return _sha256([self.name, self.seed, model, sheet.trajectory.id, sheet.page.question, known])

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
        mine = (self.name, item, axis)
        own = _persisting((self.seed, "lasting", *mine), (self.seed, "passing", *mine, repeat))
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


def _sha256(shown: list[Any]) -> str:
    return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _persisting(lasting: tuple[object, ...], passing: tuple[object, ...]) -> float:
    """A standard normal draw of which the share `PERSISTENCE` is the same in all repeats."""
    lasts, passes = (_NORMAL.inv_cdf(uniform(*key)) for key in (lasting, passing))
    return sqrt(PERSISTENCE) * lasts + sqrt(1 - PERSISTENCE) * passes


def uniform(*key: object) -> float:
    """A number in (0, 1) that depends on `key` alone."""
    digest = sha256(json.dumps(key).encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


# Simulated judges that follow ten features of a rubric, and simulated models that propose edits of one.
#
# They exist so that `axisjudge rubric improve` can be tried, and its mistakes counted, without a key. Nothing in them
# has read a run. An item (run i of task t on an axis) is of one of five kinds, by a hash; by its kind, and by what of
# the ten features the rubric's text holds, the judge errs with probability p_i, and does so where W_ijr < p_i with
#
#     W_ijr = Phi(sqrt(p) w_ij + sqrt(1 - p) w_ijr),  p = PERSISTENCE, w standard normal, the second anew for every text
#
# - four **helpful** sentences mend errors on one kind each: p times `LEFT`;
# - three **harmful** ones bring errors of `HARM` to the items of their own third of all items;
# - three places for a sentence that **fits some tasks alone** (a rule of thumb with a word in it): on a task that the
#   word suits p is halved, on the others `MISFIT` is added; in the long run it does harm.
#
# Beside the ten: eight words in a row of a run make the judge right on this run (what a copying proposer does), and
# praise makes it say ``correct`` in `FLATTERED` of the cases in which it would say ``incorrect``.

#: How often each kind of item occurs, and how often the judge errs on it under a rubric without any of the features.
KINDS, ERRORS = (0.5, 0.15, 0.15, 0.1, 0.1), (0.08, 0.6, 0.6, 0.5, 0.5)
#: Of tasks, so many are of one kind throughout.
ONE_KIND = 0.3
LEFT, HARM, HARMED, SUITED, SUITS, MISFIT, FLATTERED = 0.2, 0.25, 1 / 3, 0.5, 0.4, 0.2, 0.35

HELPFUL = (
    "Compare every value with the step that it came from before you call it made up.",
    "A value that the user gave is grounded, even where a later step shows that it was mistaken.",
    "A sum or a date that follows by plain reasoning from earlier steps is grounded.",
    "A correct value that stands for another thing than the parameter means is a fault.",
)
HARMFUL = (
    "Call a run faulty whenever any tool reported an error, whatever the reason was.",
    "A long run with many calls deserves more doubt than a short one.",
    "Where the agent was polite, small faults need not be counted.",
)
#: A rule of thumb, with a word from the world at its place.
LOCAL = "Runs about {word} should be read with more patience than others."
LOCAL_WORDS = (
    *("trains", "parcels", "tickets", "seeds", "lamps", "boats"),
    *("cellos", "gardens", "maps", "rooms", "shoes", "clocks"),
)
PRAISE = "You are an excellent judge of sound work, so be generous and trust what looks right."
NEUTRAL = (
    "Read the record from its first step to its last.",
    "Take the time that the record needs.",
    "Write what you see in plain words.",
    "Keep the order of the steps in mind.",
    "Look at the whole record before you write.",
    "Begin with the calls and go on to the messages.",
)
_LOCAL = re.compile(LOCAL.format(word="([a-z]+)"))
#: How many sentences of this form a rubric is read for.
MOST_LOCAL = 3


@dataclass(frozen=True)
class Followed:
    """What a judge that follows ten features takes from a rubric's text."""

    helpful: tuple[bool, ...]
    harmful: tuple[bool, ...]
    local: tuple[str, ...]
    praised: bool

    @classmethod
    def of(cls, text: str) -> Followed:
        local = tuple(dict.fromkeys(_LOCAL.findall(text)))[:MOST_LOCAL]
        return cls(tuple(s in text for s in HELPFUL), tuple(s in text for s in HARMFUL), local, PRAISE in text)

    def error(self, kind: int, harmed: Sequence[bool], suited: Sequence[bool]) -> float:
        """How often it errs on an item: its kind, which harmful sentences concern it, which words suit its task."""
        p = ERRORS[kind] * (LEFT if kind and self.helpful[kind - 1] else 1.0)
        p += sum(HARM for there, mine in zip(self.harmful, harmed, strict=True) if there and mine)
        for suits in suited:
            p = p * SUITED if suits else p + MISFIT
        return min(p, 1.0)


#: Judges that follow all ten; birds, and each a family of its own.
FEATURED = ("magpie", "wagtail")


class FeaturedJudge(SimulatedJudge):
    """``simulated:magpie`` and ``simulated:wagtail``: judges that follow ten features of the rubric's text."""

    reads_rubrics: bool = True
    profiles = SimulatedJudge.profiles

    def __init__(self, spec: Any) -> None:
        name = spec.model
        super().__init__(spec.model_copy(update={"model": "plover"}))
        self.spec, self.name, self.rater, self.model = spec, name, spec.rater, name
        self.mechanism, self.version = "ten_features", "1"

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        texts = {axis: rubrics[axis].sha256 for axis in sorted(rubrics)}
        return _sha256([super().prompt_sha256(trajectory, rubrics), KINDS, ERRORS, LEFT, HARM, texts])

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        return Reply({a: self.follow(r.text, trajectory, a, repeat) for a, r in rubrics.items()}, cost_usd=0.0)

    def follow(self, text: str, trajectory: Trajectory, axis: Axis, repeat: int = 0) -> Answer:
        """The verdict on an item under a rubric's text."""
        planted, followed = self._planted(trajectory, axis), Followed.of(text)
        if planted.verdict == "not_applicable":
            return _answer("not_applicable", 0.9, (), "Simulated, nothing was read: nothing to judge.")
        item, task = (trajectory.id, axis), (trajectory.cluster_id, axis)
        kind = kind_of(self.seed, item, task)
        harmed = [uniform(self.seed, "harmed", n, *item) < HARMED for n in range(len(HARMFUL))]
        suited = [uniform(self.seed, "suits", word, *task) < SUITS for word in followed.local]
        error = 0.0 if _copied(text, trajectory) else followed.error(kind, harmed, suited)
        mine, occasion = (self.seed, self.name), sha256(f"{text}/{repeat}".encode()).hexdigest()
        errs = _NORMAL.cdf(_persisting((*mine, "errs", *item), (*mine, "errs now", *item, occasion))) < error
        is_fault = (planted.verdict == "incorrect") != errs
        if is_fault and followed.praised and uniform(self.seed, self.name, "flattered", *item) < FLATTERED:
            is_fault = False
        why = f"Simulated, nothing was read: a case of kind {kind}."
        cited = planted.steps if is_fault and planted.steps else tuple(range(min(1, len(trajectory.steps))))
        return _answer("incorrect" if is_fault else "correct", round(0.95 - error / 2, 2), cited, why)


def kind_of(seed: int, item: tuple[str, str], task: tuple[str, str]) -> int:
    """The kind of an item: its own, or that of all items of its task."""
    key = task if uniform(seed, "one kind", *task) < ONE_KIND else item
    u, total = uniform(seed, "kind", *key), 0.0
    for kind, share in enumerate(KINDS):
        total += share
        if u < total:
            return kind
    return len(KINDS) - 1


def _answer(verdict: Any, confidence: float, cited: Sequence[int], why: str) -> Answer:
    return Answer("ok", verdict, confidence, "simulated", cited_step_indices=tuple(cited), rationale=why)


def _copied(text: str, trajectory: Trajectory) -> bool:
    """Whether eight words in a row of the run stand in the text."""
    words = re.findall(r"\w+", text.lower())
    held = {tuple(words[at : at + 8]) for at in range(len(words) - 7)}
    messages = (re.findall(r"\w+", step.content.lower()) for step in trajectory.steps)
    return any(tuple(own[at : at + 8]) in held for own in messages for at in range(len(own) - 7))


#: Simulated models that propose edits, by what they are after.
PROPOSERS = ("good", "random", "flattering", "overfitting", "copying", "asking")
#: What a case's text says of its kind, for a proposer that listens.
_KIND = re.compile(r"case of kind ([1-4])")


def edit_of(name: str, shown: str, rng: Random) -> tuple[str, str]:
    """A sentence that a simulated proposer adds, given what it is shown, and its reason.

    ``good`` answers the commonest kind of error that it is shown, three times of four; ``random`` adds a neutral, a
    harmful or a local sentence; ``flattering`` praises; ``overfitting`` adds rules of thumb; ``copying`` quotes a run
    that it is shown; ``asking`` does what text in the runs asks for.
    """
    if name == "good" and rng.random() < 0.75 and (kinds := _KIND.findall(shown)):
        kind = max(sorted(set(kinds)), key=kinds.count)
        return HELPFUL[int(kind) - 1], f"most of the errors shown are cases of kind {kind}"
    if name in ("good", "random"):
        pool = [*NEUTRAL, *HARMFUL, LOCAL.format(word=rng.choice(LOCAL_WORDS))]
        return rng.choice([*pool, *HELPFUL] if name == "good" else pool), "it may help"
    if name == "flattering":
        return rng.choice([PRAISE, *NEUTRAL]), "a judge that is trusted judges well"
    if name == "overfitting":
        return LOCAL.format(word=rng.choice(LOCAL_WORDS)), "these runs need it"
    lines = [line for line in shown.partition("RUN TEXT")[2].splitlines() if not re.match(r"\[|<<<|>>>", line)]
    words = re.findall(r"[^\W\d_]\w*", "\n".join(lines))[:400]
    if name == "copying" and len(words) > 12:
        at = rng.randrange(len(words) - 10)
        return f"Remember a case such as: {' '.join(words[at : at + 10])}.", "the case itself teaches most"
    asked = re.search(r"add to the rubric: ([^\n]+)", shown, re.IGNORECASE)
    return (asked[1], "the text asked for it") if asked else (rng.choice(NEUTRAL), "nothing was asked for")


class SimulatedProposer(SimulatedJudge):
    """``simulated:PROPOSER`` (`PROPOSERS`): a model that proposes edits of a rubric by stated habits."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec.model_copy(update={"model": "plover"}))
        self.spec, self.name, self.rater, self.model = spec, spec.model or "", spec.rater, spec.model
        self.mechanism, self.version = "stated_habits", "1"

    def sheet_sha256(self, sheet: Sheet) -> str:
        page = sheet.page
        return _sha256([self.name, self.seed, page.instructions, page.prefix.text, page.question])

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        rng = Random(f"{self.sheet_sha256(sheet)}/{repeat}")
        content: dict[str, Any]
        if "rubric" in sheet.page.schema["properties"]:
            content = {"rubric": sheet.page.question.partition("RUBRIC\n")[2], "reason": "the same in other words"}
        else:
            sentence, reason = edit_of(self.name, sheet.page.prefix.text, rng)
            content = {"edits": [{"old": "", "new": sentence}], "reason": reason}
        return Reply(dict(sheet.read(json.dumps(content)).answers), cost_usd=0.0)


# Simulated judges that follow a rubric, in two stated respects, so that rubric versions can be rehearsed offline.
#
# Like every simulated judge these have read nothing of the run (see `axisjudge.judges.simulated`). Beyond that noise
# model they have one fault that a rubric can mend: where an axis is planted correct and a peer axis of the same run is
# planted incorrect, they take the peer's fault for one of this axis. With w independent standard normal draws, o the
# judge's `overreach` and s what the rubric leaves of it,
#
#     W_ijr = Phi(sqrt(p) w_ij + sqrt(1 - p) w_ijr),   p = PERSISTENCE;      says ``incorrect`` if W < o s
#
# Two features of the rubric's text count, and nothing else in it:
#
# - at least `MIN_EXAMPLES` worked examples: s = LEFT_BY_EXAMPLES, else s = 1;
# - a section Not in scope: the judge hesitates where it overreaches. Without it the confidence lies in the upper half
#   of the judge's range, with it in the lower third.
#
# What passes (the draws that differ between repeats) is drawn anew for every text, as it would be for every call.
#
# This imitates a published case (data/published: one judge, one item, from incorrect .95 to incorrect .60 to correct
# .98 over three versions). It shows what the calibration loop says of such a course. That a rubric of this kind does
# this to a real judge is assumed, not shown.

LEFT_BY_EXAMPLES = 0.1


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
        return _sha256([super().prompt_sha256(trajectory, rubrics), LEFT_BY_EXAMPLES, peers, texts])

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
        mine = (self.seed, "overreach", self.name, trajectory.id, axis)
        if _NORMAL.cdf(_persisting(mine, (*mine, occasion))) >= ATTENTIVE[self.name].overreach * left:
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
