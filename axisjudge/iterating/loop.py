"""The calibration loop from the split to the opened held-out side, walked in a temporary copy of the workbench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from axisjudge import protocol, workbench
from axisjudge.judges import JudgeLike
from axisjudge.judging import judge
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import IDENTITY


def rehearse(
    trajectories: Sequence[Trajectory],
    judges: Sequence[JudgeLike],
    axis: str,
    versions: Sequence[str],
    *,
    repeats: int = 3,
    tuned_on: Mapping[str, str] | None = None,
    salt: str = "demo",
    statistic: str = "cohen_kappa",
    progress: bool | None = None,
) -> pl.DataFrame:
    """Split, judge the calibration side under each version, lock the last one, open the held-out side and judge it.

    From here on the workbench is a temporary copy, whose split, lock and ledger these are; the checkout's own are not
    touched. The notebook ``loop`` takes the same steps cell by cell.

    Parameters
    ----------
    trajectories : sequence of Trajectory
    judges : sequence of judges as `axisjudge.judge` takes them
        Those that read rubrics are locked; two at least must.
    axis, versions : str, sequence of str
        The axis and the versions of its rubric in their order.
    repeats : int
        How often each version is asked on the calibration side.
    tuned_on : mapping of task to reason, optional
        Tasks used while tuning: none of them is held out.
    salt : str
        Of the split.
    statistic : str
        What the analysis plan declares.

    Returns
    -------
    polars.DataFrame
        Ratings of both sides.
    """
    workbench.use(protocol.rehearsal())
    split = protocol.make_split(trajectories, salt=salt, tuned_on=tuned_on or {})
    asked = [
        judge(
            trajectories,
            judges,
            [axis],
            versions={axis: version},
            split=split.open_side,
            repeats=repeats,
            progress=progress,
        )
        for version in versions
    ]
    seen = pl.concat(asked).unique(IDENTITY, keep="first", maintain_order=True)
    readers = sorted(seen.filter(pl.col("rubric_version") == versions[-1])["rater"].unique())
    plan = protocol.AnalysisPlan(
        axes=(axis,), statistic=statistic, maps=protocol.freeze_maps(seen, split, raters=readers)
    )
    last = {axis: versions[-1]}
    protocol.make_lock(readers, plan, versions=last, ratings=seen)
    protocol.open_holdout(f"{axis} {versions[-1]} is final")
    held_out = judge(trajectories, readers, [axis], versions=last, split=split.held_out[0], progress=progress)
    return pl.concat([seen, held_out])
