"""Opening the labeller: the draw is made once, written down, and taken up again."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.explorer.session import Session
from axisjudge.labels.sampling import Sampling, draw_at_random, read_sampling, sampling_path, write_sampling
from axisjudge.trajectory import Trajectory, as_runs
from axisjudge.workbench import own

if TYPE_CHECKING:
    from axisjudge.explorer.widget import Labeller


def open_labeller(
    trajectories: Sequence[Trajectory],
    *,
    rater: str = "",
    n: int | None = None,
    seed: int = 0,
    sampling: Sampling | None = None,
    folder: str | Path | None = None,
) -> Labeller:
    """The labeller as a widget; run again, it goes on where the person stopped.

    Parameters
    ----------
    trajectories : sequence of Trajectory
    rater : str
        The person's name; labels go to ``NAME.jsonl`` in `folder`, the plan to ``NAME.sampling.json``. The labeller
        asks for it if it is empty.
    n, seed : int
        How many trajectories and the seed, for a draw at random of one agent's trajectory per task.
    sampling : Sampling, optional
        Another draw: by a judge's verdict (`draw_by`), the items of another person (`draw_again`), ...
    folder : path, optional
        By default data/labels of the workbench.

    Raises
    ------
    InputError
        The person has begun with another draw, or the name cannot be a file's name.
    """
    from axisjudge.explorer.log import LabelLog, by_other_instructions
    from axisjudge.explorer.widget import Labeller

    trajectories = as_runs(trajectories)
    drawn = sampling or draw_at_random(trajectories, n, seed=seed)

    def named(name: str) -> tuple[Session, LabelLog]:
        path = labels_path(name.strip(), folder)
        session, log = Session.of(trajectories, plan_beside(path, drawn), name.strip()), LabelLog(path)
        if older := by_other_instructions(session, log.lines()):
            warnings.warn(
                f"{path}: {older} labels were given by another rubric, or of other content; "
                "they stay and are asked again",
                stacklevel=3,
            )
        return session, log

    return Labeller(named, rater)


def labels_path(rater: str, folder: str | Path | None = None) -> Path:
    """Where a person's labels are kept."""
    if not re.fullmatch(r"\w[\w.@-]*( [\w.@-]+)*", rater):
        raise InputError("rater", "must begin with a letter and hold letters, digits, single spaces, or . @ - _", rater)
    return Path(folder or own() / "data" / "labels") / f"{rater.replace(' ', '-')}.jsonl"


def decisions_path(rater: str, folder: str | Path | None = None) -> Path:
    """Where a person's decisions are kept: beside the blind labels, in a file of their own."""
    return labels_path(rater, folder).with_suffix(".decisions.jsonl")


def plan_beside(labels: Path, sampling: Sampling) -> Sampling:
    """Write the plan beside its labels, or find the same one there.

    Raises
    ------
    InputError
        Another plan is there: the probabilities of labels that exist would no longer hold.
    """
    path = sampling_path(labels)
    if not path.exists():
        write_sampling(path, sampling)
        return sampling
    if read_sampling(path) != sampling:
        cure = "give the same trajectories, number and seed as before, or another name for this set"
        raise InputError(str(path), "these labels were begun with another draw", cure=cure)
    return sampling
