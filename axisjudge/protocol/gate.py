"""The gate before judging: which trajectories a run may judge, and what each of its ratings will bear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.protocol import ledger
from axisjudge.protocol.lock import NEXT, read_lock, status
from axisjudge.protocol.rated_before import rated_before
from axisjudge.protocol.records import digest
from axisjudge.protocol.split import PLACE as SPLIT
from axisjudge.protocol.split import Split, check_names, find_split, read_split, study_check
from axisjudge.rubric import RubricText
from axisjudge.trajectory import Trajectory

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.judges.base import Judge

#: What a run judges by: the rubric of each axis, or of each signal.
Rubrics = Mapping[Any, RubricText]

EXPLORATORY = "exploratory"
OPEN = "axisjudge holdout open --reason TEXT"


@dataclass(frozen=True)
class Stamp:
    """What a rating bears of the protocol: its side, and flags (``opening:K:HASH`` or ``exploratory``)."""

    split: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Admitted:
    """The trajectories that a run may judge, with the stamp of each by its id.

    `look` says in words what an exploratory run sees of the held-out side; empty where it sees nothing of it.
    """

    trajectories: tuple[Trajectory, ...]
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    look: str = ""

    def record_look(self) -> None:
        """Write an exploratory look at the held-out side into the ledger; the same look is written once."""
        if not self.look:
            return
        data = read_split().data_sha256
        seen = {(entry.reason, entry.data_sha256) for entry in ledger.read_ledger() if entry.kind == EXPLORATORY}
        if (self.look, data) not in seen:
            ledger.append("exploratory", self.look, lock_sha256=None, data_sha256=data)


def admit(
    trajectories: Sequence[Trajectory],
    judges: Sequence[Judge],
    rubrics: Rubrics,
    *,
    split: str | None = None,
    exploratory: bool = False,
) -> Admitted:
    """Decide what a judging run may judge.

    Without `split`, everything is judged that is not held out: tasks that belong to no study, and tasks of the open
    sides. Held-out tasks among them are refused, never passed over in silence. With `split`, only that side is
    judged; a held-out side needs a lock that holds and an opening made under it. `exploratory` lifts the refusals, puts
    its flag on every rating of the run, and leaves a line in the ledger where held-out tasks are seen.

    Raises
    ------
    InputError
        What is missing, and the command that comes next.
    """
    known = read_split() if split is not None else find_split()
    flags = (EXPLORATORY,) if exploratory else ()
    if known is None:
        return Admitted(tuple(trajectories), {run.id: Stamp(None, flags) for run in trajectories})
    if split is None:
        check_names(known, trajectories)
        sides = {run.id: known.side_of(run) if known.knows(run.cluster_id) else None for run in trajectories}
        chosen = tuple(trajectories)
        held_out = [run for run in chosen if sides[run.id] in known.held_out]
        if held_out and not exploratory:
            raise _unasked(known, held_out)
    else:
        one_of("--split", split, known.shares)
        chosen = tuple(run for run in trajectories if known.side_of(run) == split)
        if not chosen:
            raise TooLittle("--split", f"none of the {len(trajectories)} trajectories stands on this side", split)
        study_check(known, chosen, split)
        sides = dict.fromkeys((run.id for run in chosen), split)
        held_out = list(chosen) if split in known.held_out else []
        if held_out and not exploratory:
            flags = (open_for(known, judges, rubrics, split).flag,)
    look = _look(held_out, judges, rubrics) if exploratory and held_out else ""
    return Admitted(chosen, {run.id: Stamp(sides[run.id], flags) for run in chosen}, look)


def open_runs(trajectories: Sequence[Trajectory]) -> tuple[list[Trajectory], tuple[str, ...]]:
    """The trajectories that may be judged without lock and opening, and a sentence on those that are left alone.

    For what shows or checks something and confirms nothing: demonstrations, twins. The sentence must be shown; there is
    none where nothing is held out.

    Raises
    ------
    InputError
        All of them are held out, or a task goes by another name than in the split.
    """
    split = find_split()
    if split is None:
        return list(trajectories), ()
    check_names(split, trajectories)
    mine = [run for run in trajectories if run.cluster_id not in split.held_out_tasks]
    held_out = len(trajectories) - len(mine)
    if not mine and held_out:
        sides = ", ".join(split.held_out)
        raise InputError("trajectories", f"all {held_out} are held out ({sides})", cure="name others")
    left = f"{held_out} of {len(trajectories)} runs are held out ({', '.join(split.held_out)}) and were left alone."
    return mine, (left,) if held_out else ()


def open_for(split: Split, judges: Sequence[Judge], rubrics: Rubrics, side: str) -> ledger.LedgerEntry:
    """The opening under which these judges may judge a held-out side with these rubrics.

    Raises
    ------
    InputError
        No lock, a lock that no longer holds, a broken ledger, no opening since; a judge or a rubric that is not locked.
    """
    lock, where = _holding_lock(side), f"--split {side}"
    opened = ledger.openings(ledger.read_ledger())
    if not opened:
        raise InputError(where, "the held-out side has not been opened", cure=f"open it: {OPEN}")
    if opened[-1].lock_sha256 != digest(lock):
        rule = f"opening {opened[-1].opening} was made under another lock"
        raise InputError(where, rule, cure=f"open it under this one: {OPEN}")
    if opened[-1].data_sha256 != split.data_sha256:
        rule = f"the held-out runs are not those of opening {opened[-1].opening}"
        raise InputError(where, rule, cure=f"open it with these: {OPEN}")
    for judge in judges:
        if judge.rater not in lock["judges"]:
            cure = f"judge with {', '.join(lock['judges'])}, or lock anew: {NEXT}"
            raise InputError(where, "only locked judges may judge here", judge.rater, cure)
    for axis, rubric in rubrics.items():
        locked = lock["rubrics"][axis]
        if rubric.sha256 != locked["sha256"]:
            rule = f"the rubric of {axis} is locked as {locked['version']}"
            raise InputError(where, rule, rubric.version, f"judge with that, or lock anew: {NEXT}")
    return opened[-1]


def open_holdout(
    reason: str, *, ratings: pl.DataFrame | None = None, despite_ratings: bool = False
) -> ledger.LedgerEntry:
    """Open the held-out side: an entry of the ledger with the reason, the lock and the data it is opened for.

    Parameters
    ----------
    reason : str
    ratings : polars.DataFrame, optional
        Where ratings of held-out runs are looked for that were made before; by default the files in data/ratings.
    despite_ratings : bool
        Open although there are some. The ledger then says so.

    Raises
    ------
    InputError
        No reason, no split, no lock, a lock that no longer holds, or ratings of held-out runs that are there already.
    LedgerError
        The ledger's chain is broken.
    """
    split = read_split()
    if not split.held_out_tasks:
        raise InputError(
            SPLIT, "no task stands on a held-out side", cure="add trajectories: axisjudge split make PATHS"
        )
    lock = _holding_lock("held-out")
    if early := rated_before(ratings, split):
        if not despite_ratings:
            raise InputError("held-out side", early.rule, ", ".join(early.raters), early.cure)
        reason = reason and f"{reason} (although {early.rule})"
    return ledger.append("opening", reason, lock_sha256=digest(lock), data_sha256=split.data_sha256)


def _holding_lock(side: str) -> dict[str, Any]:
    ledger.read_ledger()  # a broken chain is said first
    now = status()
    if not now.locked and not now.faults:
        rule = f"the {side} side may be judged only after lock and opening, and nothing is locked"
        raise InputError("lock", rule, cure=f"lock first: {NEXT}")
    if not now.holds:
        more = f" (and {len(now.reasons) - 1} more: axisjudge rubric status)" if len(now.reasons) > 1 else ""
        cure = f"put it back, or lock anew: {NEXT}"
        raise InputError("lock", f"it no longer holds: {now.reasons[0]}{more}", cure=cure)
    return read_lock()


def _unasked(split: Split, held_out: Sequence[Trajectory]) -> InputError:
    sides = ", ".join(split.held_out)
    rule = f"{len(held_out)} of these trajectories are held out ({sides})"
    cure = f"judge the rest with --split {split.open_side}; held-out ones come after lock and opening, with --split"
    return InputError("--split", rule, f"task {held_out[0].cluster_id}", cure)


def _look(held_out: Sequence[Trajectory], judges: Sequence[Judge], rubrics: Rubrics) -> str:
    tasks = len({run.cluster_id for run in held_out})
    versions = ", ".join(f"{axis} {rubric.version}" for axis, rubric in rubrics.items())
    names = ", ".join(judge.rater for judge in judges)
    return f"{len(held_out)} held-out runs of {tasks} tasks judged by {names} on {versions}"
