"""Simulated judges that follow ten features of a rubric, and simulated models that propose edits of one.

They exist so that `axisjudge rubric improve` can be tried, and its mistakes counted, without a key. Nothing in them has
read a run. An item (run i of task t on an axis) is of one of five kinds, by a hash; by its kind, and by what of the ten
features the rubric's text holds, the judge errs with probability p_i, and does so where W_ijr < p_i with

    W_ijr = Phi(sqrt(p) w_ij + sqrt(1 - p) w_ijr),    p = PERSISTENCE, w standard normal, the second anew for every text

- four **helpful** sentences mend errors on one kind each: p times `LEFT`;
- three **harmful** ones bring errors of `HARM` to the items of their own third of all items;
- three places for a sentence that **fits some tasks alone** (a rule of thumb with a word in it): on a task that the
  word suits p is halved, on the others `MISFIT` is added; in the long run it does harm.

Beside the ten: eight words in a row of a run make the judge right on this run (what a copying proposer does), and
praise makes it say ``correct`` in `FLATTERED` of the cases in which it would say ``incorrect``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import Any

from axisjudge.judges.answer import Answer, Reply, Sheet
from axisjudge.judges.base import Rubrics
from axisjudge.judges.simulated import PERSISTENCE, SimulatedJudge, uniform
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

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
_NORMAL = NormalDist()
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
        shown = [super().prompt_sha256(trajectory, rubrics), KINDS, ERRORS, LEFT, HARM, texts]
        return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()

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
        lasting = _NORMAL.inv_cdf(uniform(self.seed, self.name, "errs", *item))
        occasion = sha256(f"{text}/{repeat}".encode()).hexdigest()
        passing = _NORMAL.inv_cdf(uniform(self.seed, self.name, "errs now", *item, occasion))
        errs = _NORMAL.cdf(sqrt(PERSISTENCE) * lasting + sqrt(1 - PERSISTENCE) * passing) < error
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
    said = (re.findall(r"\w+", step.content.lower()) for step in trajectory.steps)
    return any(tuple(own[at : at + 8]) in held for own in said for at in range(len(own) - 7))


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
        shown = [self.name, self.seed, page.instructions, page.prefix.text, page.question]
        return sha256(json.dumps(shown).encode()).hexdigest()

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        rng = Random(f"{self.sheet_sha256(sheet)}/{repeat}")
        said: dict[str, Any]
        if "rubric" in sheet.page.schema["properties"]:
            said = {"rubric": sheet.page.question.partition("RUBRIC\n")[2], "reason": "the same in other words"}
        else:
            sentence, reason = edit_of(self.name, sheet.page.prefix.text, rng)
            said = {"edits": [{"old": "", "new": sentence}], "reason": reason}
        return Reply(dict(sheet.read(json.dumps(said)).answers), cost_usd=0.0)
