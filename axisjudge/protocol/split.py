"""Splits: each task stands on one side, by a hash of its name and a stored salt; and where the runs of a study are.

rubrics/split.json holds the rule (salt, shares, sides that are held out, tasks used while tuning) and what follows from
it (every task of the study with its side, and a fingerprint of each of its trajectories). The second part can be worked
out from the first: a file in which they disagree was edited, and is refused with the task's name.

A hash spreads few tasks unevenly, so the salt is drawn until sides are near their shares: by counts of tasks alone,
before anything is known of them. It is kept: which tasks stand together stays at random, and a task that comes later
goes where the hash sends it.
"""

from __future__ import annotations

import json
import os
import secrets
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError

from axisjudge.checks import InputError, one_of
from axisjudge.protocol.ledger import ProtocolRecord, digest, faults_of, one_writer, read_json, read_ledger, write_json
from axisjudge.trajectory import Trajectory
from axisjudge.workbench import home

if TYPE_CHECKING:
    from axisjudge.readers import Reading


# Where the runs of a study are: written down when the split is made, so that no later command is told again.

NEXT = "axisjudge split make PATHS"


class RunSource(ProtocolRecord):
    """Files, folders or globs, and what they lack: arguments of `axisjudge.read_trajectories`.

    Paths are relative to the workbench.
    """

    paths: tuple[str, ...]
    agent: str | None = None
    domain: str | None = None
    tools: str | None = None
    policy: str | None = None
    tool_kinds: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        paths: Sequence[str | Path],
        *,
        agent: str | None = None,
        domain: str | None = None,
        tools: Path | None = None,
        policy: Path | None = None,
        tool_kinds: Sequence[str] = (),
    ) -> Self:
        """The source that these arguments name, from where the caller stands."""
        return cls(
            paths=tuple(map(_from_workbench, paths)),
            agent=agent,
            domain=domain,
            tools=tools and _from_workbench(tools),
            policy=policy and _from_workbench(policy),
            tool_kinds=tuple(tool_kinds),
        )

    def read(self, *, strict: bool = True) -> Reading:
        """The runs that are there now."""
        from axisjudge.readers import read_trajectories

        tools, policy = (given and home() / given for given in (self.tools, self.policy))
        paths = [os.path.normpath(home() / path) for path in self.paths]
        lacking = {"agent": self.agent, "domain": self.domain, "tools": tools, "policy": policy}
        return read_trajectories(*paths, tool_kinds=self.tool_kinds, strict=strict, **lacking)  # type: ignore[arg-type]


def read_sources(sources: Sequence[RunSource], *, strict: bool = True) -> Reading:
    """The runs of all sources, each run once.

    Raises
    ------
    InputError
        The split does not say where its runs are, or they are no longer there.
    """
    from axisjudge.readers import Reading

    if not sources:
        cure = f"name them, or write them down once more: {NEXT}"
        raise InputError("trajectories", "none named, and the split does not say where its runs are", cure=cure)
    readings = [source.read(strict=strict) for source in sources]
    return Reading(
        tuple({run.id: run for reading in readings for run in reading.trajectories}.values()),
        tuple(file for reading in readings for file in reading.files),
        tuple(warning for reading in readings for warning in reading.warnings),
        tuple(file for reading in readings for file in reading.refused),
    )


def _from_workbench(path: str | Path) -> str:
    return Path(os.path.relpath(Path(path).absolute(), home())).as_posix()


FILE = "rubrics/split.json"
SHARES: Mapping[str, float] = {"calibration": 0.5, "evaluation": 0.5}

_FINGERPRINT = 16
_RULE = ("salt", "shares", "held_out", "tuned_on")


class Split(ProtocolRecord):
    """Which side each task stands on.

    Parameters
    ----------
    salt : str
        What the hash of a task is salted with.
    shares : dict of side to share
        In order; they add up to 1.
    held_out : tuple of str
        The sides that are judged only after lock and opening.
    tuned_on : dict of task to reason
        Tasks that were looked at while a rubric was tuned. They stand on the first side that is not held out.
    tasks : dict of side to dict of task to list of fingerprints
        The tasks of the study, as far as they were seen.
    runs : dict of trajectory id to task
        The runs of the study, so that one that is held out can be called so.
    sources : tuple of Source
        Where the runs are read from, as far as that was said.
    """

    salt: str
    shares: dict[str, float]
    held_out: tuple[str, ...]
    tuned_on: dict[str, str] = Field(default_factory=dict)
    tasks: dict[str, dict[str, list[str]]] = Field(default_factory=dict)
    runs: dict[str, str] = Field(default_factory=dict)
    sources: tuple[RunSource, ...] = ()

    def side_of(self, task: Trajectory | str) -> str:
        """The side of a trajectory, or of a task by its name (a trajectory's `cluster_id`)."""
        name = task if isinstance(task, str) else task.cluster_id
        if name in self.tuned_on:
            return self.open_side
        uniform = int(sha256((self.salt + name).encode()).hexdigest()[:13], 16) / 16**13
        inner = list(accumulate(self.shares.values()))[:-1]  # shares add up to 1 only as far as floats do
        return list(self.shares)[bisect(inner, uniform)]

    @property
    def open_side(self) -> str:
        """The first side that is not held out."""
        return next(side for side in self.shares if side not in self.held_out)

    @property
    def rule(self) -> dict[str, Any]:
        """What decides the side of every task, also of tasks not seen yet; a lock holds this."""
        return self.model_dump(mode="json", include=set(_RULE))

    @property
    def lopsided(self) -> dict[str, tuple[int, int]]:
        """Sides far from their share: how many tasks they have, of how many that were not used while tuning."""
        free = [task for tasks in self.tasks.values() for task in tasks if task not in self.tuned_on]
        far = lopsided(off_shares(self.side_of, free, self.shares), len(free))
        return {side: (sum(self.side_of(task) == side for task in free), len(free)) for side in far}

    @property
    def held_out_tasks(self) -> dict[str, list[str]]:
        """The held-out tasks of the study with the fingerprints of their trajectories."""
        return {task: prints for side in self.held_out for task, prints in self.tasks.get(side, {}).items()}

    @property
    def data_sha256(self) -> str:
        """Hash of the held-out tasks and their trajectories."""
        return digest(self.held_out_tasks)

    def knows(self, task: str) -> bool:
        """Whether a task belongs to the study."""
        return any(task in tasks for tasks in self.tasks.values())


@dataclass(frozen=True)
class Holding:
    """What one side of a split holds of some trajectories; `mean_reward` is over the `rewarded` ones."""

    side: str
    held_out: bool
    share: float
    trajectories: int
    tasks: int
    tuned_on: int
    agents: int
    rewarded: int
    mean_reward: float | None


def make_split(
    trajectories: Iterable[Trajectory],
    *,
    salt: str | None = None,
    shares: Mapping[str, float] | None = None,
    held_out: Sequence[str] | None = None,
    tuned_on: Mapping[str, str] | None = None,
    source: RunSource | None = None,
) -> Split:
    """Make the split of the workbench, or add trajectories to the one that is there, and write it.

    No task changes its side when trajectories are added; only naming it in `tuned_on` moves it, off the held-out side.
    A split file that was removed after a lock is made again by the rule in the ledger.

    Parameters
    ----------
    trajectories : iterable of Trajectory
    salt : str, optional
        By default the one that is there, or a random one under which the sides come near to their shares.
    shares : mapping of side to share, optional
        By default half calibration, half evaluation.
    held_out : sequence of str, optional
        By default the last side.
    tuned_on : mapping of task to reason, optional
        Tasks that were used while tuning; a task is named as in `cluster_id`, or by its `task_id` where that is plain.
    source : Source, optional
        Where the trajectories are read from; commands that come later read them from there.

    Raises
    ------
    InputError
        A split is there, or was locked, with another salt, other shares or other held-out sides; a task that does not
        exist; a run that stands in the split under another task; `tuned_on` leaves no task to hold out.
    """
    given = list(trajectories)
    if salt is not None and not salt.strip():
        raise InputError("salt", "must be a word or a number, or be left out for a random one", salt)
    with one_writer(FILE) as path:
        if path.exists():
            split = _same_rule(read_split(), salt, shares, held_out)
        elif (locked := locked_rule()) is not None:
            split = _same_rule(locked, salt, shares, held_out)
        else:
            sides = dict(shares or SHARES)
            kept = tuple(held_out) if held_out is not None else tuple(sides)[-1:]
            split = Split(salt=salt or "", shares=sides, held_out=kept)
            _check_rule(split)
        check_names(split, given)
        tasks_given = {trajectory.cluster_id for trajectory in given}
        known = tasks_given | {task for tasks in split.tasks.values() for task in tasks}
        named = {_task_named(name, known): reason for name, reason in (tuned_on or {}).items()}
        split = split.model_copy(update={"tuned_on": dict(sorted({**split.tuned_on, **named}.items()))})
        if not split.salt:
            free = sorted(tasks_given - set(split.tuned_on))
            chosen = balanced_salt(lambda drawn: split.model_copy(update={"salt": drawn}).side_of, free, split.shares)
            split = split.model_copy(update={"salt": chosen})
        split = split.model_copy(
            update={
                "tasks": _placed(split, given),
                "runs": dict(sorted((split.runs | {run.id: run.cluster_id for run in given}).items())),
                "sources": tuple(dict.fromkeys([*split.sources, *([source] if source else [])])),
            }
        )
        if named and not split.held_out_tasks:
            rule = f"all {len(known)} tasks were used while tuning, so that none is left to hold out"
            raise InputError("tuned_on", rule, cure="add runs of tasks that nobody has looked at")
        write_json(path, split.model_dump(mode="json"))
        return split


def held_out_side(name: str) -> str | None:
    """The held-out side on which a run of that id stands, by the workbench's split; None where it stands on none."""
    split = find_split()
    side = split.side_of(split.runs[name]) if split and name in split.runs else None
    return side if split and side in split.held_out else None


def no_such_run(where: str, name: str, known: Sequence[str]) -> InputError:
    """The error for a run that is not among those known: it is held out, or the nearest name is suggested."""
    if side := held_out_side(name):
        cure = "it can be looked at after lock and opening: axisjudge holdout open --reason TEXT"
        return InputError(where, f"this run is held out ({side})", name, cure)
    near = get_close_matches(name, known, n=1)
    cure = f"did you mean {near[0]!r}?" if near else "axisjudge read lists what a file holds"
    return InputError(where, f"no such run among {len(known):,}", name, cure)


def read_split() -> Split:
    """The split of the workbench.

    Raises
    ------
    InputError
        There is none, it was removed from a study that has begun, or it was edited so that a task stands on another
        side than the rule says; the message names the task, and the reason where it was used while tuning.
    """
    path = home() / FILE
    if not path.exists():
        if read_ledger():
            cure = f"put it back as git has it, or make it again by the rule in the ledger: {NEXT}"
            raise InputError(FILE, "the split was removed: the ledger has entries of its study", cure=cure)
        raise InputError(FILE, "there is no split yet", cure=f"make one: {NEXT}")
    try:
        split = Split.model_validate(read_json(path, FILE))
    except ValidationError as error:
        raise InputError(FILE, f"is not a split ({faults_of(error)})", cure="put it back as git has it") from error
    _check_rule(split)
    for side, tasks in split.tasks.items():
        one_of(f"{FILE}: side of tasks", side, split.shares)
        for task in tasks:
            _check_side(split, task, side)
    return split


def find_split() -> Split | None:
    """The split of the workbench, if there is one; one that was removed from under a ledger is an InputError."""
    return read_split() if (home() / FILE).exists() or read_ledger() else None


def locked_rule() -> Split | None:
    """The rule of the split that was locked last, as the ledger has it: all but the tasks; None before any lock."""
    rules = [entry.lock["split"] for entry in read_ledger() if entry.lock and entry.lock.get("split")]
    return Split.model_validate({name: rules[-1][name] for name in _RULE}) if rules else None


def fingerprint(trajectory: Trajectory) -> str:
    """A short hash of what happened in a run: messages, calls and ending; not tools or policy, which may come later."""
    steps = [
        [step.role, step.content, [[call.name, call.arguments] for call in step.tool_calls]]
        for step in trajectory.steps
    ]
    text = json.dumps([steps, trajectory.termination], sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:_FINGERPRINT]


def holdings(split: Split, trajectories: Iterable[Trajectory]) -> list[Holding]:
    """What each side holds, in the order of the sides."""
    sides: dict[str, list[Trajectory]] = {side: [] for side in split.shares}
    for trajectory in trajectories:
        sides[split.side_of(trajectory)].append(trajectory)
    return [_holding(split, side, members) for side, members in sides.items()]


def study_check(split: Split, trajectories: Sequence[Trajectory], side: str) -> None:
    """Check that trajectories of `side` are those that the split was made of; on other sides new runs may join.

    Raises
    ------
    InputError
        A task, or on a held-out side a run, that was not there when the split was made.
    """
    check_names(split, trajectories)
    cure = f"add it first: {NEXT}"
    held_out = split.held_out_tasks if side in split.held_out else None
    for trajectory in trajectories:
        if not split.knows(trajectory.cluster_id):
            rule = "holds only the tasks that it was made of, so that all of them are on record"
            raise InputError(FILE, rule, trajectory.cluster_id, cure)
        if held_out is not None and fingerprint(trajectory) not in held_out.get(trajectory.cluster_id, ()):
            rule = f"the {side} side holds only the runs that it was made of"
            raise InputError(FILE, rule, f"{trajectory.id} of task {trajectory.cluster_id}", cure)


def _holding(split: Split, side: str, members: Sequence[Trajectory]) -> Holding:
    rewards = [trajectory.reward for trajectory in members if trajectory.reward is not None]
    tasks = {trajectory.cluster_id for trajectory in members}
    return Holding(
        side=side,
        held_out=side in split.held_out,
        share=split.shares[side],
        trajectories=len(members),
        tasks=len(tasks),
        tuned_on=len(tasks & set(split.tuned_on)),
        agents=len({trajectory.agent for trajectory in members if trajectory.agent is not None}),
        rewarded=len(rewards),
        mean_reward=sum(rewards) / len(rewards) if rewards else None,
    )


def _placed(split: Split, trajectories: Iterable[Trajectory]) -> dict[str, dict[str, list[str]]]:
    """All tasks seen so far on their sides, in order, each with the fingerprints of its trajectories."""
    prints: dict[str, set[str]] = defaultdict(set)
    for tasks in split.tasks.values():
        for task, known in tasks.items():
            prints[task].update(known)
    for trajectory in trajectories:
        prints[trajectory.cluster_id].add(fingerprint(trajectory))
    return {
        side: {task: sorted(prints[task]) for task in sorted(prints) if split.side_of(task) == side}
        for side in split.shares
    }


def _same_rule(
    split: Split, salt: str | None, shares: Mapping[str, float] | None, held_out: Sequence[str] | None
) -> Split:
    asked = {"salt": salt, "shares": shares and dict(shares), "held_out": held_out and tuple(held_out)}
    for name, value in asked.items():
        if value is not None and value != getattr(split, name):
            cure = "leave it out to go on with this study; a new one needs a workbench of its own"
            raise InputError(FILE, f"has another {name} ({getattr(split, name)})", value, cure)
    return split


def _check_rule(split: Split) -> None:
    if len(split.shares) < 2 or not all(share > 0 for share in split.shares.values()):
        raise InputError(f"{FILE}: shares", "two sides or more, each with a share above 0", split.shares)
    if abs(sum(split.shares.values()) - 1) > 1e-9:
        raise InputError(f"{FILE}: shares", "must add up to 1", sum(split.shares.values()))
    for side in split.held_out:
        one_of(f"{FILE}: held_out", side, split.shares)
    if not 0 < len(set(split.held_out)) < len(split.shares):
        raise InputError(f"{FILE}: held_out", "at least one side is held out and one is not", split.held_out)


def _check_side(split: Split, task: str, side: str) -> None:
    if (rightly := split.side_of(task)) == side:
        return
    cure = "put the file back as git has it"
    if task in split.tuned_on and side in split.held_out:
        rule = f"task {task} was used while tuning ({split.tuned_on[task]}) and may not stand on a held-out side"
        raise InputError(FILE, rule, side, cure)
    raise InputError(FILE, f"task {task} belongs on the {rightly} side and was moved", side, cure)


def check_names(split: Split, trajectories: Iterable[Trajectory]) -> None:
    """Refuse a task that goes by another name than in the split: it would be hashed to a side of its own.

    Names are compared, and of runs whose task is not known what happened in them.
    """
    known = {task: prints for tasks in split.tasks.values() for task, prints in tasks.items()}
    ends = {end: task for task in known for end in _endings(task)}
    task_of = {each: task for task, prints in known.items() for each in prints}
    for trajectory in trajectories:
        name = trajectory.cluster_id
        if name in known:
            continue
        other = ends.get(name) or next((end for end in _endings(name) if end in known), None)
        if other is not None and trajectory.task_id is not None:
            cure = "read the runs with the same --domain as when the split was made"
            raise InputError(FILE, f"knows a task {other}, which may be the same", name, cure)
        if trajectory.steps and (other := task_of.get(fingerprint(trajectory))) is not None:
            cure = "give the run its task's name, as when the split was made"
            raise InputError(FILE, f"holds this very run as one of task {other}", name, cure)


def _endings(task: str) -> Iterator[str]:
    domain, slash, rest = task.partition("/")
    if domain and slash:
        yield rest


def _task_named(name: str, known: set[str]) -> str:
    if name in known:
        return name
    matches = sorted(task for task in known if name in _endings(task))
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError("task used while tuning", f"could be {' or '.join(matches)}", name, "give its domain too")
    return one_of("task used while tuning", name, sorted(known))


#: Salts that are tried at most, and how far from its share a side may stay: a task, or so many of all tasks.
DRAWS, NEAR = 200, 0.02
#: From here on a side is called lopsided: further from its share than this, and than a task.
FAR = 0.1

SideOf = Callable[[str], str]


def balanced_salt(rule: Callable[[str], SideOf], tasks: Collection[str], shares: Mapping[str, float]) -> str:
    """A random salt under which the sides of `tasks` come near to their shares; of `DRAWS` the nearest.

    Parameters
    ----------
    rule : callable
        Gives for a salt the function that says the side of a task.
    """
    best, nearest = "", float("inf")
    for _ in range(DRAWS):
        salt = secrets.token_hex(8)
        off = max(abs(each) for each in off_shares(rule(salt), tasks, shares).values())
        if off < nearest:
            best, nearest = salt, off
        if nearest * len(tasks) <= max(0.5, NEAR * len(tasks)):
            break
    return best


def off_shares(side_of: SideOf, tasks: Collection[str], shares: Mapping[str, float]) -> dict[str, float]:
    """How far the share of tasks on each side is from its share; 0 where there are no tasks."""
    sides = [side_of(task) for task in tasks]
    return {side: sides.count(side) / len(sides) - share if sides else 0.0 for side, share in shares.items()}


def lopsided(off: Mapping[str, float], n_tasks: int) -> list[str]:
    """The sides that are further from their shares than `FAR`, and than one task."""
    return [side for side, by in off.items() if abs(by) > FAR and abs(by) * n_tasks > 1]
