"""What others call held out, checked against what was used while tuning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from axisjudge.checks import InputError
from axisjudge.protocol.split import Split


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
