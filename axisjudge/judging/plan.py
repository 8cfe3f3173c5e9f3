"""The plan of a judging run: which calls are to be made, which ratings are there already, and how it is carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError, one_of, positive
from axisjudge.judges.answer import question_and_interaction
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judging.inquiry import Inquiry, OfAxes
from axisjudge.protocol.gate import Stamp
from axisjudge.rubric.axes import RubricText
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import STATUSES, Status, item_id

#: Losses that the same question would meet again: the model refuses, or prompt and reply are too long for it.
COME_AGAIN: tuple[Status, ...] = ("refused", "truncated")
#: How long a provider may stay closed before its judges are given up.
PATIENCE_S = 3_600.0

Identity = tuple[Any, ...]
Done = Mapping[Identity, Status]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run that change no question; `axisjudge.judge` says what each of them means.

    `agreed`: it is a part of something whose cost was told, and agreed to, as a whole; nothing is said of it again.

    Raises
    ------
    InputError
        A number that must be positive is not.
    """

    concurrency: int = 16
    progress: bool | None = None
    patience_s: float = PATIENCE_S
    budget_usd: float | None = None
    allow_unpriced: bool = False
    confirm: bool = False
    agreed: bool = False
    batch: bool = False
    keep_prompts: str | Path | None = None

    def __post_init__(self) -> None:
        positive("concurrency", self.concurrency)
        positive("patience", self.patience_s)
        if self.budget_usd is not None:
            positive("budget", self.budget_usd)


@dataclass(frozen=True)
class Call:
    """One inquiry put to one judge: all its points together, of which the ratings in `wanted` are still missing.

    `stamp` is what the ratings bear of the protocol: their side of the split, their opening.
    """

    judge: Judge
    inquiry: Inquiry
    wanted: tuple[str, ...]
    repeat: int
    prompt_sha256: str
    stamp: Stamp = field(default_factory=Stamp)

    @property
    def trajectory(self) -> Trajectory:
        return self.inquiry.trajectory

    @property
    def rubrics(self) -> Mapping[Any, RubricText]:
        """Every point that is asked about, with its rubric."""
        return self.inquiry.rubrics

    def identity(self, point: str) -> Identity:
        """The identity that this call's rating of a point will have (verdict.IDENTITY, in that order)."""
        judge = self.judge
        question, interaction = question_and_interaction(point)
        item = item_id(self.trajectory.id, None, interaction)
        return (item, question, judge.rater, judge.version, self.prompt_sha256, self.repeat)


def call_of(judge: Judge, inquiry: Inquiry, repeat: int, stamp: Stamp | None = None) -> Call:
    """The call that asks everything of an inquiry."""
    return Call(judge, inquiry, tuple(inquiry.rubrics), repeat, inquiry.prompt_sha256(judge), stamp or Stamp())


@dataclass(frozen=True)
class JudgingPlan:
    """What a run will do.

    `groups` holds the calls, those of one trajectory, judge and repeat together: the first of a group goes ahead, so
    that the provider has cached the shared part of the prompt when the others follow. `identities` names every rating
    that belongs to the run, `cached` counts those that are there already, `kept_lost` those that were lost and stay so.
    """

    groups: tuple[tuple[Call, ...], ...]
    identities: frozenset[Identity]
    cached: int
    kept_lost: int
    judges: tuple[Judge, ...]

    @property
    def asked(self) -> list[Judge]:
        """The judges that will be asked, and not only answer without it (`Inquiry.unasked`)."""
        asked = {call.judge for group in self.groups for call in group if call.inquiry.unasked(call.judge) is None}
        return [judge for judge in self.judges if judge in asked]

    @property
    def n_calls(self) -> int:
        return sum(len(group) for group in self.groups)

    @property
    def n_ratings(self) -> int:
        return sum(len(call.wanted) for group in self.groups for call in group)

    def rows(self) -> list[dict[str, Any]]:
        """The plan as a table: for each judge the calls and ratings to come, and the ratings that are there."""
        rows = []
        for judge in self.judges:
            calls = [call for group in self.groups for call in group if call.judge is judge]
            to_come = sum(len(call.wanted) for call in calls)
            asked = sum(identity[2:4] == (judge.rater, judge.version) for identity in self.identities)
            rows.append(
                {
                    "judge": judge.rater,
                    "family": judge.family,
                    "calls": len(calls),
                    "ratings": to_come,
                    "there already": asked - to_come,
                }
            )
        return rows


def make_plan(
    trajectories: Sequence[Trajectory],
    judges: Sequence[Judge],
    rubrics: Rubrics,
    *,
    repeats: int = 1,
    again: bool = False,
    done: Done | None = None,
    keep_lost: bool = False,
    retry: Sequence[str] = (),
    stamps: Mapping[str, Stamp] | None = None,
) -> JudgingPlan:
    """Work out which calls are missing.

    Parameters
    ----------
    trajectories, judges, rubrics
        Everything is asked of everybody: each trajectory on each axis of `rubrics` by each judge.
    repeats : int
        How often each question is asked; repeats are numbered from 0.
    again : bool
        Ask each question `repeats` times more: as the repeats after the last that is there, judge by judge. A last
        repeat that is not complete (the run was stopped) is completed first, as one of them.
    done : mapping of identity to status
        The ratings that are there. Those with status ok are not asked again; lost ones are, unless `keep_lost`, but for
        those that would be lost again (`COME_AGAIN`) and are not named in `retry`.
    stamps : mapping of trajectory id to Stamp
        What the ratings of a trajectory bear of the protocol; nothing, for those it does not name.

    Raises
    ------
    InputError
        Two trajectories share an id, or two judges a name and version (a replayed judge beside the real one).
    """
    check_ids("trajectories", trajectories)
    done, stamps = done or {}, stamps or {}
    questions = [
        (judge, [*_questions(judge, trajectory, rubrics, stamps.get(trajectory.id))])
        for trajectory in trajectories
        for judge in judges
    ]
    rounds: dict[Judge, Sequence[int]] = {judge: range(repeats) for judge in judges}
    if again:
        for judge in judges:
            own = [call for other, calls in questions for call in calls if other is judge]
            following = _next_repeat(own, done)
            rounds[judge] = range(following, following + repeats)
    asked = ([replace(call, repeat=repeat) for call in calls] for judge, calls in questions for repeat in rounds[judge])
    return plan_calls(asked, judges, done=done, keep_lost=keep_lost, retry=retry)


def check_ids(where: str, trajectories: Sequence[Trajectory]) -> None:
    """Refuse two trajectories of one id."""
    n_of = Counter(trajectory.id for trajectory in trajectories)
    if twice := next((name for name, n in n_of.items() if n > 1), None):
        raise InputError(where, "each id may occur once", twice)


def together(plans: Sequence[JudgingPlan]) -> JudgingPlan:
    """Several plans as one, a group of each in turn, so that they share an occasion: no call is made twice."""
    groups: list[tuple[Call, ...]] = []
    there: set[Identity] = set()
    for group in filter(None, chain.from_iterable(zip_longest(*(plan.groups for plan in plans)))):
        new = [call for call in group if not there.issuperset(call.identity(point) for point in call.wanted)]
        there.update(call.identity(point) for call in new for point in call.wanted)
        if new:
            groups.append(tuple(new))
    return JudgingPlan(
        tuple(groups),
        frozenset().union(*(plan.identities for plan in plans)),
        sum(plan.cached for plan in plans),
        sum(plan.kept_lost for plan in plans),
        tuple(dict.fromkeys(judge for plan in plans for judge in plan.judges)),
    )


def plan_calls(
    asked: Iterable[Sequence[Call]],
    judges: Sequence[Judge],
    *,
    done: Done,
    keep_lost: bool = False,
    retry: Sequence[str] = (),
) -> JudgingPlan:
    """The plan of groups of calls, of which those that are there already are left out.

    Raises
    ------
    InputError
        Two judges share a name and version; `retry` names what is no such loss.
    """
    for name in retry:
        one_of("retry", name, COME_AGAIN)
    stay = set(STATUSES if keep_lost else COME_AGAIN) - set(() if keep_lost else retry)
    names = [(judge.rater, judge.version) for judge in judges]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("judges", "each may rate once", twice[0], "replay it or ask it, not both")
    groups: list[tuple[Call, ...]] = []
    identities: set[Identity] = set()
    cached = kept_lost = 0
    for calls in asked:
        group = []
        for call in calls:
            mine = {point: call.identity(point) for point in call.rubrics}
            identities.update(mine.values())
            lost = [point for point in mine if done.get(mine[point], "ok") != "ok"]
            missing = [point for point in mine if mine[point] not in done]
            again = [point for point in lost if done[mine[point]] not in stay]
            kept_lost += len(lost) - len(again)
            cached += len(mine) - len(lost) - len(missing)
            wanted = [point for point in mine if point in missing or point in again]
            if wanted:
                group.append(replace(call, wanted=tuple(wanted)))
        if group:
            groups.append(tuple(group))
    return JudgingPlan(tuple(groups), frozenset(identities), cached, kept_lost, tuple(judges))


def _next_repeat(calls: Iterable[Call], done: Done) -> int:
    """The last repeat of these questions where it is not complete, else the one after it; lost verdicts are there."""
    asked = {call.identity(axis)[:-1] for call in calls for axis in call.rubrics}
    there = Counter(identity[-1] for identity in done if identity[:-1] in asked)
    if not there:
        return 0
    last: int = max(there)
    return last if there[last] < len(asked) else last + 1


def _questions(judge: Judge, trajectory: Trajectory, rubrics: Rubrics, stamp: Stamp | None) -> Iterator[Call]:
    """One call for all axes of a joint judge, else one an axis; asked for the first time."""
    for asked in [rubrics] if judge.joint else [{axis: rubric} for axis, rubric in rubrics.items()]:
        yield call_of(judge, OfAxes(trajectory, asked), 0, stamp)
