"""`axisjudge.judge`: the judging run as one call, from a script, a notebook or the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from axisjudge.checks import InputError, listed, whole
from axisjudge.judges import JudgeLike, in_one_call, make_judges
from axisjudge.judging.judging_run import JudgingRun
from axisjudge.judging.plan import PATIENCE_S, RunOptions, make_plan
from axisjudge.protocol import locked_judges, plan_of, read_ledger, read_lock, read_split
from axisjudge.protocol.gate import admit
from axisjudge.protocol.ledger import openings
from axisjudge.rubric.axes import load_rubric
from axisjudge.rubric.next_version import check_versions
from axisjudge.trajectory import Trajectory, as_runs
from axisjudge.verdict import AXES
from axisjudge.workbench import own

if TYPE_CHECKING:
    import polars as pl


def judge(
    trajectories: Sequence[Trajectory],
    judges: Sequence[JudgeLike] = ("rules",),
    axes: Sequence[str] | None = None,
    *,
    versions: Mapping[str, str] | None = None,
    split: str | None = None,
    exploratory: bool = False,
    repeats: int = 1,
    again: bool = False,
    out: str | Path | None = None,
    concurrency: int = 16,
    keep_lost: bool = False,
    retry: Sequence[str] = (),
    one_call: bool = False,
    progress: bool | None = None,
    patience_s: float = PATIENCE_S,
    budget_usd: float | None = None,
    allow_unpriced: bool = False,
    confirm: bool = False,
    batch: bool = False,
    keep_prompts: str | Path | None = None,
) -> pl.DataFrame:
    """Have judges grade trajectories and return the ratings table of this run.

    Parameters
    ----------
    trajectories : sequence of Trajectory
    judges : sequence of str, JudgeSpec or Judge
        Judge specs such as ``"rules"`` or ``"anthropic:claude-sonnet-4-6"``, and judges of your own: a function wrapped
        by `axisjudge.judge_function`, or an instance of a class derived from `axisjudge.Judge`. They resume, cost,
        lose, repeat and record like the others.
    axes : sequence of str, optional
        By default all five.
    versions : mapping of axis to rubric version, optional
        By default each axis's current rubric.
    split : str, optional
        Judge only this side of the workbench's split; each rating then bears it. A held-out side needs a lock that
        holds and an opening (`axisjudge.protocol`). Where there is a split and no side is named, held-out tasks among
        the trajectories are refused.
    exploratory : bool
        Judge held-out tasks without lock and opening. Every rating of the run bears the flag ``exploratory``, and so
        does every report made from them; the ledger counts the look.
    repeats : int
        How often each question is asked.
    again : bool
        Ask everything once more (`repeats` times), as the repeats after those in `out`: an anchor set judged again with
        every run, which `axisjudge.studies.succession.bridge` watches. A last repeat that a stopped run left open is
        completed instead.
    out : path, optional
        A JSONL file that ratings are appended to and read back from: what it holds is not asked again. Without it
        the ratings live in memory only.
    concurrency : int
        Calls under way at once, of each judge.
    keep_lost : bool
        Leave lost verdicts lost instead of asking again.
    retry : sequence of str
        Losses that would come again and are asked again all the same: ``refused``, ``truncated``.
    one_call : bool
        Have judges that write answer for all axes of a run in one call: cheaper, and another question. Their ratings
        bear a name of their own (``,one_call=True``) and are nowhere taken for those of single calls.
    progress : bool, optional
        Show a progress bar; by default on a terminal and in a notebook (of free judges after a second).
    patience_s : float
        How long a provider may stay closed (429, 503, 529) before its judges are given up.
    budget_usd : float, optional
        Stop before the call that could pass this sum; the same call with a higher one goes on from there.
    allow_unpriced : bool
        Ask models that have no list price.
    confirm : bool
        Spend more than `axisjudge.judging.estimate.ASK_ABOVE_USD` without being asked first.
    batch : bool
        By the batch interfaces of Anthropic and OpenAI: half price, within a day, and resumed by the same call.
    keep_prompts : path, optional
        Keep the whole prompt of each call beside its hash in this file (JSON Lines), each once.

    Returns
    -------
    polars.DataFrame
        One row a rating (``axisjudge.ratings.SCHEMA``), those that were there before included; only ratings that
        belong to this run's questions (with `again`, to this repeat). Interrupted without `out`, what had come.

    Warns
    -----
    axisjudge.judges.lifecycle.RetirementWarning
        A judge that is asked will be shut down: its provider's models endpoint says so, or data/lifecycle.toml.

    Raises
    ------
    InputError
        A judge, an axis, a version or a path that cannot be used; held-out tasks before lock and opening. The message
        names it and the cure.
    """
    trajectories = as_runs(trajectories)
    options = RunOptions(
        concurrency=concurrency,
        progress=progress,
        patience_s=patience_s,
        budget_usd=budget_usd,
        allow_unpriced=allow_unpriced,
        confirm=confirm,
        batch=batch,
        keep_prompts=keep_prompts,
    )
    run = judging_run(
        trajectories,
        judges,
        axes,
        versions=versions,
        split=split,
        exploratory=exploratory,
        repeats=repeats,
        again=again,
        out=out,
        keep_lost=keep_lost,
        retry=retry,
        one_call=one_call,
    )
    return run.carry_out(options)


def held_out_run(
    trajectories: Sequence[Trajectory], *, side: str | None = None, out: str | Path | None = None
) -> JudgingRun:
    """The run on a held-out side that the lock describes: its judges, its rubric versions, its plan's axes.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The runs of the study; those of the side are taken.
    side : str, optional
        Which, where several sides are held out.
    out : path, optional
        By default data/ratings/opening-K.jsonl, so that each opening has its own ratings.

    Raises
    ------
    InputError
        No split, no lock that holds, no opening under it; several held-out sides and none named.
    """
    split, lock = read_split(), read_lock()
    if side is None and len(split.held_out) > 1:
        raise InputError("side", "several are held out", list(split.held_out), "name one (--side)")
    axes = plan_of(lock).axes
    versions: dict[str, str] = {axis: lock["rubrics"][axis]["version"] for axis in axes}
    opening = len(openings(read_ledger()))
    path = out or own() / "data" / "ratings" / f"opening-{opening}.jsonl"
    judges = locked_judges(lock)
    return judging_run(trajectories, judges, axes, versions=versions, split=side or split.held_out[0], out=path)


def judging_run(
    trajectories: Sequence[Trajectory],
    judges: Sequence[JudgeLike],
    axes: Sequence[str] | None = None,
    *,
    versions: Mapping[str, str] | None = None,
    split: str | None = None,
    exploratory: bool = False,
    repeats: int = 1,
    again: bool = False,
    out: str | Path | None = None,
    keep_lost: bool = False,
    retry: Sequence[str] = (),
    one_call: bool = False,
) -> JudgingRun:
    """The run that `judge` would carry out with the same arguments: to be planned first, looked at, and carried out.

    Everything that can be wrong is found here; the judges are made once, for the plan and for the run.
    """
    whole("repeats", repeats)
    listed("axes", axes)
    listed("retry", retry)
    if again and out is None:
        raise InputError("again", "needs the file with the earlier ratings", cure="name it with out")
    versions = versions or {}
    asked = list(axes) if axes else list(AXES)
    if unknown := [axis for axis in versions if axis not in asked]:
        raise InputError("versions", "must name an axis that is judged", unknown[0])
    loaded = {axis: load_rubric(axis, versions.get(axis)) for axis in asked}
    check_versions(loaded.values())
    rubrics = {axis: loaded[axis] for axis in AXES if axis in loaded}  # one order, so that a joint prompt is the same
    raters = make_judges(in_one_call(judges) if one_call else judges)
    admitted = admit(trajectories, raters, rubrics, split=split, exploratory=exploratory)
    plan_of = partial(
        make_plan,
        admitted.trajectories,
        raters,
        rubrics,
        repeats=repeats,
        again=again,
        keep_lost=keep_lost,
        retry=retry,
        stamps=admitted.stamps,
    )
    return JudgingRun(lambda done: plan_of(done=done), admitted, out)
