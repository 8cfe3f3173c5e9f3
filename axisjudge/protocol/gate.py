"""The gate before judging: which trajectories a run may judge, what each rating will bear, and what leaks between
the sides.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, in_unit_interval, one_of
from axisjudge.protocol import ledger
from axisjudge.protocol.ledger import digest, openings, read_ledger
from axisjudge.protocol.lock import NEXT, read_lock, status
from axisjudge.protocol.split import FILE as SPLIT
from axisjudge.protocol.split import Split, check_names, find_split, read_split, study_check
from axisjudge.ratings.edge import BY_JUDGE
from axisjudge.ratings.table import read_every_line
from axisjudge.rubric.axes import RubricText
from axisjudge.trajectory import Trajectory
from axisjudge.workbench import home

if TYPE_CHECKING:
    from axisjudge.judges.base import Judge


# Ratings of held-out runs that are there before the opening: whoever saw them has tuned on what was to confirm.

#: Where ratings are looked for when no file is named; relative to the workbench.
FOLDER = "data/ratings"
#: The reason under which tasks that were rated stand on the open side.
REASON = "rated before the split"


@dataclass(frozen=True)
class RatedBefore:
    """Judges' ratings of held-out runs that no opening stamped, and of which runs, tasks and by whom they are."""

    n_ratings: int
    n_runs: int
    tasks: tuple[str, ...]
    raters: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.n_ratings > 0

    @property
    def rule(self) -> str:
        """What is there, in words."""
        tasks = f"{len(self.tasks)} held-out task{'s' * (len(self.tasks) != 1)}"
        return f"{self.n_ratings:,} ratings of {self.n_runs:,} runs of {tasks} are there already"

    @property
    def sentence(self) -> str:
        """What is there, by whom, and what to do about it."""
        return f"Not held out in truth: {self.rule} ({', '.join(self.raters)}); {self.cure}."

    @property
    def cure(self) -> str:
        """What to do about it."""
        return "keep their tasks open (axisjudge split make PATHS --rated-open), or go on with --despite-ratings"


def rated_before(ratings: pl.DataFrame | None, split: Split) -> RatedBefore:
    """The ratings of runs on a held-out side that were not made under an opening.

    Parameters
    ----------
    ratings : polars.DataFrame, optional
        A ratings table; labels (people's, planted) are passed over. None: those of the workbench (`kept_ratings`).
    split : Split
    """
    table = kept_ratings() if ratings is None else ratings
    if table is None:
        return RatedBefore(0, 0, (), ())
    opened = [entry.flag for entry in openings(read_ledger())]
    stamped = pl.col("flags").list.eval(pl.element().is_in(opened)).list.any().fill_null(value=False)
    held_out = pl.col("cluster_id").is_in(list(split.held_out_tasks)) | pl.col("split").is_in(list(split.held_out))
    early = table.filter(BY_JUDGE, held_out.fill_null(value=False), ~stamped)
    names = early.select(pl.col("cluster_id", "rater").cast(pl.String).unique().sort().implode())
    tasks, raters = (names[name].to_list()[0] for name in ("cluster_id", "rater")) if early.height else ([], [])
    return RatedBefore(early.height, early["trajectory_id"].n_unique(), tuple(tasks), tuple(raters))


def rated_tasks(ratings: pl.DataFrame | None = None) -> dict[str, str]:
    """The tasks of which judges rated any run, each with the reason why it may not be held out."""
    table = kept_ratings() if ratings is None else ratings
    return (
        {}
        if table is None
        else dict.fromkeys(table.filter(BY_JUDGE)["cluster_id"].drop_nulls().unique().sort(), REASON)
    )


def kept_ratings(paths: Sequence[Path] = ()) -> pl.DataFrame | None:
    """Every line of the ratings files named, by default of those in data/ratings; None where there is none."""
    files = paths or [path for path in sorted((home() / FOLDER).glob("*")) if path.suffix in (".jsonl", ".parquet")]
    return read_every_line(*files) if files else None


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


# Leakage between sides: runs and user scenarios that are nearly the same on both.
# Texts are compared as sets of shingles (runs of five words) by Jaccard's coefficient. MinHash signatures and bands
# find the pairs worth comparing, so the work grows with the number of texts and not with its square; each pair found is
# then measured exactly (Broder 1997, doi:10.1109/SEQUEN.1997.666900; Leskovec, Rajaraman and Ullman, Mining of Massive
# Datasets, section 3.4).

WORDS = 5
#: 25 bands of 5 hashes: a pair of similarity .8 is missed once in 20,000, one of .6 once in 8.
BANDS, ROWS = 25, 5
THRESHOLD = 0.8

_PRIME = np.uint64(4_294_967_311)  # the first prime above 2**32

KINDS = ("run", "scenario")


@dataclass(frozen=True)
class Leak:
    """Two tasks on different sides whose runs, or user scenarios, are nearly the same: the most similar pair."""

    kind: str
    similarity: float
    tasks: tuple[str, str]
    sides: tuple[str, str]
    trajectories: tuple[str, str]


def find_leaks(trajectories: Iterable[Trajectory], split: Split, *, threshold: float = THRESHOLD) -> tuple[Leak, ...]:
    """Pairs of tasks on different sides that are nearly the same, the most similar first.

    Parameters
    ----------
    trajectories : iterable of Trajectory
    split : Split
    threshold : float
        The least Jaccard similarity that is listed. Below about .6 not every pair is found.

    Returns
    -------
    tuple of Leak
        One for each kind (``run``: everything said and called but the system's messages; ``scenario``: the user's
        first message), task and other side: of texts that many tasks share, not every pair.
    """
    in_unit_interval("threshold", threshold)
    runs = list(trajectories)
    leaks: dict[tuple[str, str, str], Leak] = {}
    for kind, texts in (("run", map(_all_text, runs)), ("scenario", map(_scenario, runs))):
        for similarity, first, second in _near(list(texts), runs, split, threshold):
            leak = _leak(kind, similarity, runs[first], runs[second], split)
            key = (kind, *leak.tasks)
            if key not in leaks or leak.similarity > leaks[key].similarity:
                leaks[key] = leak
    return tuple(sorted(leaks.values(), key=lambda leak: (-leak.similarity, leak.kind, leak.tasks)))


def shingles(text: str) -> frozenset[int]:
    """Hashes of all runs of `WORDS` words; a shorter text is one shingle, an empty one has none."""
    words = re.findall(r"\w+", text.lower())
    starts = range(max(1, len(words) - WORDS + 1)) if words else ()
    return frozenset(crc32(" ".join(words[start : start + WORDS]).encode()) for start in starts)


def similarity_of(first: frozenset[int], second: frozenset[int]) -> float:
    """Jaccard's coefficient: shared shingles over all shingles; 0 where both are empty."""
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def signature(hashes: Iterable[int]) -> NDArray[np.uint64]:
    """MinHash signature, shape (BANDS * ROWS,): the least of (a x + b) mod p over the shingles, for fixed a and b."""
    rng = np.random.default_rng(20_261_122)
    a = rng.integers(1, 2**32, size=(BANDS * ROWS, 1), dtype=np.uint64)
    b = rng.integers(0, 2**31, size=(BANDS * ROWS, 1), dtype=np.uint64)
    x = np.fromiter(hashes, dtype=np.uint64)
    least: NDArray[np.uint64] = ((a * (x >> np.uint64(1)) + b) % _PRIME).min(axis=1)
    return least


def _near(
    texts: Sequence[str], runs: Sequence[Trajectory], split: Split, threshold: float
) -> Iterator[tuple[float, int, int]]:
    """Positions of each task's run and of one like it on each other side; equal texts are compared once."""
    tasks: dict[frozenset[int], dict[str, int]] = defaultdict(dict)  # of each text the first run of every task
    sides: dict[frozenset[int], dict[str, int]] = defaultdict(dict)  # and of every side
    for position, (text, run) in enumerate(zip(texts, runs, strict=True)):
        if hashes := shingles(text):
            tasks[hashes].setdefault(run.cluster_id, position)
            sides[hashes].setdefault(split.side_of(run), position)
    pairs = [*((text, text) for text in tasks), *_candidates(list(tasks))]
    for first, second in pairs:
        if (similarity := similarity_of(first, second)) >= threshold:
            for here, there in ((first, second), (second, first)):
                for position in tasks[here].values():
                    own = split.side_of(runs[position])
                    yield from ((similarity, position, other) for side, other in sides[there].items() if side != own)


def _candidates(sets: Sequence[frozenset[int]]) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Pairs that agree in all hashes of at least one band."""
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for position, hashes in enumerate(sets):
        for band, rows in enumerate(signature(hashes).reshape(BANDS, ROWS)):
            buckets[band, rows.tobytes()].append(position)
    pairs = {pair for members in buckets.values() for pair in combinations(members, 2)}
    return [(sets[first], sets[second]) for first, second in sorted(pairs)]


def _leak(kind: str, similarity: float, first: Trajectory, second: Trajectory, split: Split) -> Leak:
    one, two = sorted((first, second), key=lambda run: (list(split.shares).index(split.side_of(run)), run.cluster_id))
    return Leak(
        kind=kind,
        similarity=similarity,
        tasks=(one.cluster_id, two.cluster_id),
        sides=(split.side_of(one), split.side_of(two)),
        trajectories=(one.id, two.id),
    )


def _all_text(run: Trajectory) -> str:
    parts = []
    for step in run.steps:
        if step.role != "system":
            parts.append(step.content)
            parts += [f"{call.name} {call.arguments}" for call in step.tool_calls]
    return " ".join(parts)


def _scenario(run: Trajectory) -> str:
    return next((step.content for step in run.steps if step.role == "user" and step.content.strip()), "")


# What others call held out, checked against what was used while tuning; and what tunes, against what is held out.


def tuned_tasks(runs: pl.DataFrame, reason: str) -> Mapping[str, str]:
    """The tasks of a table (task_id, used_in_tuning) of which any run was used while tuning, each with `reason`."""
    used = runs.filter(pl.col("used_in_tuning"))["task_id"].cast(pl.String).unique(maintain_order=True)
    return dict.fromkeys(used.to_list(), reason)


def check_held_out(split: Split, tasks: Sequence[str]) -> None:
    """Check that runs which somebody calls held out may be called so.

    Parameters
    ----------
    split : Split
        It names the tasks that were used while tuning.
    tasks : sequence of str
        The task of each run that is called held out.

    Raises
    ------
    InputError
        Runs of a task that was used while tuning are among them; the message names the task and counts its runs.
    """
    counts = Counter(task for task in tasks if task in split.tuned_on)
    for task, count in counts.items():
        rule = f"{count} of the {len(tasks)} runs are not held out: task {task} was used while tuning"
        raise InputError("held-out runs", f"{rule} ({split.tuned_on[task]})", cure="leave its runs out")


def check_tuning(tasks: Iterable[str], *, where: str = "ratings") -> None:
    """Check that nothing is tuned on the held-out side.

    Parameters
    ----------
    tasks : iterable of str
        The tasks on which something (a panel of judges) is to be fitted.

    Raises
    ------
    InputError
        A task of them is held out.
    """
    split = find_split()
    held_out = sorted(set(split.held_out_tasks) & set(tasks)) if split else []
    if split and held_out:
        rule = (
            f"{len(held_out)} of these tasks are held out ({', '.join(split.held_out)}), and nothing is tuned on them"
        )
        raise InputError(where, rule, f"task {held_out[0]}", f"give those of the side {split.open_side} alone")


def check_panel(rater: str, sha256: str, ratings: pl.DataFrame) -> None:
    """Check that a fitted panel may speak of these ratings' items.

    On held-out tasks only a panel that is locked as it is may do so, under a lock that holds; ratings made with
    --exploratory may be taken anyhow, since what is made of them is exploratory too.

    Raises
    ------
    InputError
        Held-out tasks, and the panel is not locked, is locked otherwise, or the lock no longer holds.
    """
    split = find_split()
    if split is None:
        return
    explored = pl.col("flags").list.contains(EXPLORATORY).fill_null(value=False)
    rows = ratings.filter(pl.col("cluster_id").is_in(list(split.held_out_tasks)) & ~explored)
    if rows.is_empty():
        return
    where, cure = f"panel {rater}", f"lock it before: {NEXT} --panel-file FILE"
    now = status()
    if not now.holds:
        raise InputError(where, f"these are held-out items, and {now.reasons[0]}", cure=cure)
    locked = read_lock().get("panels", {}).get(rater)
    if locked is None or locked["sha256"] != sha256:
        what = "is not in the lock" if locked is None else "is locked as another fit"
        raise InputError(where, f"these are held-out items, and the panel {what}", sha256[:12], cure)
