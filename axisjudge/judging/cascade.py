"""A cascade: a cheap judge on everything, a strong one where the cheap one is unsure, and on a share of the rest.

A verdict is unsure where it is lost, bears no confidence, or one below `Cascade.below`; the strong judge is asked about
each of these with probability 1, and about each other one with probability `Cascade.audit`. The draw is a hash of seed,
item and axis, so that a resumed run draws the same. Each rating of the strong judge bears its stratum and probability
in the flags by which labels say how they were drawn (`axisjudge.labels.sampling`): a figure over all items weights each
rating by 1/p (Horvitz and Thompson, 10.1080/01621459.1952.10483446).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

from axisjudge.checks import InputError
from axisjudge.judges import JudgeLike, make_judges
from axisjudge.judging.api import judging_run
from axisjudge.judging.judging_run import JudgingRun, check_ready
from axisjudge.judging.plan import Call, Done, JudgingPlan, RunOptions, plan_calls
from axisjudge.labels.sampling import drawn_flags
from axisjudge.trajectory import Trajectory

if TYPE_CHECKING:
    import polars as pl

LOST, UNSURE, SURE = "lost", "unsure", "sure"


@dataclass(frozen=True)
class Cascade:
    """Who is asked first, who is asked after, and about what.

    Parameters
    ----------
    first, second : str, JudgeSpec or Judge
    below : float
        A confidence of the first judge below this is unsure.
    audit : float
        Probability with which the second judge is asked about what is sure; in (0, 1], so that every item may be.
    seed : int
        Of the draw.
    """

    first: JudgeLike
    second: JudgeLike
    below: float = 0.8
    audit: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.audit <= 1:
            cure = "without a share of the sure ones nothing can be said of them"
            raise InputError("audit", "must lie in (0, 1]", self.audit, cure)
        if not 0 <= self.below <= 1:
            raise InputError("below", "must lie in [0, 1]", self.below)
        first, second = make_judges([self.first]), make_judges([self.second])
        if {judge.rater for judge in first} & {judge.rater for judge in second}:
            raise InputError("cascade", "has one judge twice, whose second answer would be its first", second[0].rater)
        if second[0].joint:
            rule = "answers all axes in one call, and is to be asked about single ones"
            raise InputError(f"judge {self.second}", rule, cure="let it come first, or take another")

    @classmethod
    def parse(cls, text: str, **how: Any) -> Self:
        """Read ``CHEAP > STRONG``.

        Raises
        ------
        InputError
            There are not two specs.
        """
        specs = [part.strip() for part in text.split(">")]
        if len(specs) != 2 or not all(specs):
            raise InputError("--cascade", 'is written "SPEC > SPEC"', text, "the cheap judge first")
        return cls(specs[0], specs[1], **how)

    def probability(self, stratum: str) -> float:
        return self.audit if stratum == SURE else 1.0

    def stratum(self, row: Mapping[str, Any]) -> str:
        """Where a rating of the first judge stands."""
        if row["status"] != "ok":
            return LOST
        return UNSURE if row["confidence"] is None or row["confidence"] < self.below else SURE

    def draws(self, row: Mapping[str, Any]) -> bool:
        """Whether the second judge is asked."""
        key = f"{self.seed} {row['item_id']} {row['question']}"
        uniform = int(sha256(key.encode()).hexdigest()[:13], 16) / 16**13
        return uniform < self.probability(self.stratum(row))


def check_cascade(
    trajectories: Sequence[Trajectory],
    cascade: Cascade,
    axes: Sequence[str] | None = None,
    *,
    options: RunOptions | None = None,
    **how: Any,
) -> tuple[JudgingRun, JudgingRun]:
    """The run of the first judge, and what the second could be asked at most; all that can be wrong is found here.

    Raises
    ------
    InputError
        A combination that would end after the first judge was paid: all axes in one call, several repeats; a judge
        without a key, a price, or the batch interface that is asked for.
    """
    options = options or RunOptions()
    if how.get("one_call"):
        rule = "would have the second judge, which is asked about single axes, answer all of them"
        raise InputError("one_call", rule, cure="give it to the first judge alone: SPEC,one_call=true > SPEC")
    if how.get("again") or how.get("repeats", 1) > 1:
        name = "again" if how.get("again") else "repeats"
        rule = "asks the first judge more than once, and a cascade goes by one rating an item"
        raise InputError(name, rule, cure="judge by each of its judges in turn")
    first, most = (judging_run(trajectories, [judge], axes, **how) for judge in (cascade.first, cascade.second))
    for run in (first, most):
        if run.plan().groups:
            check_ready(run, run.estimate(options), options)
    return first, most


def second_run(
    trajectories: Sequence[Trajectory],
    cascade: Cascade,
    first: pl.DataFrame,
    axes: Sequence[str] | None = None,
    **how: Any,
) -> JudgingRun:
    """The run of the second judge, on what the ratings of the first leave to it.

    Parameters
    ----------
    first : polars.DataFrame
        Ratings of the first judge, one an item and axis.
    """
    rows = list(first.iter_rows(named=True))
    if twice := len(rows) - len({(row["item_id"], row["question"]) for row in rows}):
        raise InputError("cascade", "needs one rating of the first judge for each item and axis", f"{twice} more")
    drawn = {(row["item_id"], row["question"]): cascade.stratum(row) for row in rows if cascade.draws(row)}
    key = f"{first['rater'][0] if rows else cascade.first}: confidence below {cascade.below:g}"
    run = judging_run(trajectories, [cascade.second], axes, **how)
    judges = run.plan().judges
    retry, keep_lost = how.get("retry", ()), how.get("keep_lost", False)

    def stamped(call: Call) -> Call | None:
        (axis,) = call.rubrics
        stratum = drawn.get((call.trajectory.id, axis))
        if stratum is None:
            return None
        probability = cascade.probability(stratum)
        flags = drawn_flags("by_key", probability, key=key, stratum=stratum, n_frame=len(rows))
        return replace(call, stamp=replace(call.stamp, flags=(*call.stamp.flags, *flags)))

    whole = run.plan_of({})

    def plan_of(done: Done) -> JudgingPlan:
        groups = ([made for call in group if (made := stamped(call))] for group in whole.groups)
        return plan_calls(groups, judges, done=done, keep_lost=keep_lost, retry=retry)

    return JudgingRun(plan_of, run.admitted, how.get("out"))
