"""Strata of runs in which a judge may be unfair: agents, domains, lengths of runs and of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from axisjudge.checks import one_of
from axisjudge.trajectory import Trajectory

#: What runs can be sorted by.
BY = ("agent", "domain", "length", "answer")
#: Names of thirds, from the shortest.
_THIRDS = ("short", "middle", "long")

#: What sorts the runs -> run -> stratum.
Strata = Mapping[str, Mapping[str, str]]


def strata_of(
    ratings: pl.DataFrame, by: Sequence[str], trajectories: Sequence[Trajectory] | None = None
) -> dict[str, dict[str, str]]:
    """The stratum of every run, for each way of sorting them.

    Parameters
    ----------
    ratings : ratings table
        Agents and domains stand in it; lengths of runs too, where steps were rated.
    by : sequence of str
        ``agent``, ``domain``, ``length`` (messages of the run) and ``answer`` (words of the agent's last message);
        lengths are cut into thirds of the runs.
    trajectories : sequence of Trajectory, optional
        The runs, of which lengths are taken; without them there are none, but for `length` where steps were rated.

    Raises
    ------
    InputError
        Another word.
    """
    sorted_by = {}
    for name in dict.fromkeys(by):
        one_of("by", name, BY)
        if name in ("agent", "domain"):
            named = ratings.drop_nulls(name).select("trajectory_id", name).unique()
            sorted_by[name] = {run: str(value) for run, value in named.iter_rows()}
        else:
            unit = "messages" if name == "length" else "words"
            sorted_by[name] = thirds(_lengths(ratings, name, trajectories), unit)
    return sorted_by


def thirds(lengths: Mapping[str, int], unit: str) -> dict[str, str]:
    """Runs cut into thirds by length; equal lengths stay together.

    Examples
    --------
    >>> list(thirds({"a": 2, "b": 9, "c": 4}, "messages").values())
    ['short (2 to 2 messages)', 'long (9 to 9 messages)', 'middle (4 to 4 messages)']
    """
    if not lengths:
        return {}
    cuts = np.quantile(list(lengths.values()), [1 / 3, 2 / 3], method="inverted_cdf")
    third = {run: int(np.searchsorted(cuts, length)) for run, length in lengths.items()}
    names = {}
    for number in sorted(set(third.values())):
        mine = [lengths[run] for run, of in third.items() if of == number]
        names[number] = f"{_THIRDS[number]} ({min(mine):,} to {max(mine):,} {unit})"
    return {run: names[number] for run, number in third.items()}


def _lengths(ratings: pl.DataFrame, name: str, trajectories: Sequence[Trajectory] | None) -> dict[str, int]:
    if trajectories is not None:
        runs = set(ratings["trajectory_id"])
        measured = {run.id: answer_words(run) if name == "answer" else len(run.steps) for run in trajectories}
        return {run: length for run, length in measured.items() if run in runs}
    steps = ratings.drop_nulls("step_index")
    if name == "length" and not steps.is_empty():
        return dict(steps.group_by("trajectory_id").agg(pl.col("step_index").max() + 1).sort("trajectory_id").rows())
    return {}


def answer_words(run: Trajectory) -> int:
    """Words of the agent's last message that has any."""
    said = [step.content for step in run.steps if step.role == "assistant" and step.content]
    return len(said[-1].split()) if said else 0
