"""What others call held out, checked against what was used while tuning; and what tunes, against what is held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from axisjudge.checks import InputError
from axisjudge.protocol.gate import EXPLORATORY
from axisjudge.protocol.lock import NEXT, read_lock, status
from axisjudge.protocol.split import Split, find_split


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
