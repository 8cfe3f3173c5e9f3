"""`axisjudge.iterate`: edit a rubric, run one cell, read what changed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.datasets import demo_paths
from axisjudge.judges import JudgeLike, make_judges
from axisjudge.judging import judging_run
from axisjudge.judging.forecast import Forecast, forecast
from axisjudge.protocol import Split, find_split
from axisjudge.rubric import Rubric, list_rubrics, load_rubric
from axisjudge.spec import PANELS, panel
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.flips_page import FlipsPage, contested_html
from axisjudge.studies.rubric_versions.study import RubricVersions, rubric_versions
from axisjudge.studies.rubric_versions.versions import HELD_OUT
from axisjudge.verdict import AXES, IDENTITY
from axisjudge.workbench import home, own

if TYPE_CHECKING:
    from axisjudge.trajectory import Trajectory

#: Where trajectories and ratings are looked for when none are named; relative to the workbench.
TRAJECTORIES, RATINGS = "data/trajectories", "data/ratings/ratings.jsonl"


@dataclass(frozen=True, eq=False)
class Iteration:
    """What one call of `iterate` showed: in a notebook a page of its own, in a terminal its sentences.

    `result` is None where nothing was asked yet (`dry_run`).
    """

    notes: tuple[str, ...]
    forecast: Forecast
    result: RubricVersions | None

    def __repr__(self) -> str:
        if self.result is None:
            return "\n".join(self.notes)
        banner = [self.result.banner] if self.result.banner else []
        flips = FlipsPage(self.result.turns[-1]).to_text()
        return "\n".join([*self.notes, "", *banner, *self.result.sentences, "", flips])

    def _repr_html_(self) -> str:
        notes = "".join(f'<p style="color: #6b6b6b">{html.escape(line)}</p>' for line in self.notes)
        if self.result is None:
            return notes
        from axisjudge.figures.inline import inline

        turn, banner = self.result.turns[-1], self.result.banner
        figures = "".join(inline(draw(), note=banner) for draw in self.result.plots().values())
        read_next = f"<p>{sentences.READ_NEXT}</p>{contested_html(turn.contested)}"
        return f"{notes}{self.result._repr_html_()}{figures}{FlipsPage(turn).to_html()}{read_next}"


def iterate(
    axis: str,
    version: str,
    *,
    against: str | None = None,
    trajectories: str | Path | Sequence[str | Path] | Sequence[Trajectory] | None = None,
    judges: Sequence[JudgeLike] | str | None = None,
    ratings: str | Path | None = None,
    repeats: int | None = None,
    dry_run: bool = False,
    progress: bool | None = None,
) -> Iteration:
    """Judge a rubric version on the calibration side, as far as that was not done, and compare it with the one before.

    Before anything is asked a line says how many calls and input tokens are to come.

    Parameters
    ----------
    axis, version : str
        The rubric, ``rubrics/<axis>/<version>.md``; a draft will do.
    against : str, optional
        The version to compare with, by default the one before it; what is missing of it is judged too.
    trajectories : path or paths, or trajectories, optional
        By default the files in data/trajectories, else the shipped demo. Of files the calibration side of the split is
        taken; trajectories given as such are refused if one of them is held out.
    judges : sequence of judges as `axisjudge.judge` takes them, or the name of a panel, optional
        By default the judges that the ratings file has on the version before.
    ratings : path, optional
        The ratings file, by default data/ratings/ratings.jsonl; new ratings are appended.
    repeats : int, optional
        How often each version is asked; by default as often as the version before was, at least once. Three tell
        run-to-run noise from change.
    dry_run : bool
        Only say what is to come.
    progress : bool, optional
        Show a progress bar; by default when standard error is a terminal.

    Returns
    -------
    Iteration

    Raises
    ------
    InputError
        No such version, none before it, no judges to take, held-out trajectories, or a version that was edited after it
        had judged.
    """
    axis = one_of("axis", axis, AXES)
    new = load_rubric(axis, version)
    old = load_rubric(axis, against) if against else _before(new)
    out = Path(ratings) if ratings is not None else own() / RATINGS
    split = find_split()
    side = split.open_side if split else None
    runs, notes = _runs(trajectories, split)
    known = _known(out, axis, runs)
    for rubric in (old, new):
        _refuse_edited(rubric, known)
    raters = make_judges(_judges(judges, known, old))
    times = repeats or _times_asked(known, old)
    how: dict[str, Any] = {"split": side, "repeats": times, "out": out}
    asked = [judging_run(runs, raters, [axis], versions={axis: rubric.version}, **how) for rubric in (old, new)]
    calls = forecast(run.plan() for run in asked)
    notes = (*notes, f"{axis} {new.version} against {old.version}, {times}x each. {sentences.cost(calls)}")
    if dry_run:
        return Iteration(notes, calls, None)
    print(notes[-1], flush=True)
    tables = [run.carry_out(progress=progress) for run in asked]
    others = _known(out, axis, runs).filter(~pl.col("rubric_version").is_in([old.version, new.version]))
    table = pl.concat([*tables, others.filter(pl.col("rater").is_in(tables[0]["rater"].unique().implode()))])
    table = table.unique(subset=list(IDENTITY), keep="first", maintain_order=True)
    steps, held_out = {run.id: len(run.steps) for run in runs}, split.held_out if split else HELD_OUT
    result = rubric_versions(table, {axis: [old.version, new.version]}, steps=steps, held_out=held_out)
    return Iteration(notes[:-1], calls, result)


def _before(rubric: Rubric) -> Rubric:
    older = [each for each in list_rubrics(rubric.axis) if int(each.version[1:]) < int(rubric.version[1:])]
    if not older:
        rule = "is the first version: there is none to compare it with"
        cure = "write the next one, or name against="
        raise InputError(f"rubrics/{rubric.axis}/{rubric.version}.md", rule, cure=cure)
    return older[-1]


def _runs(
    trajectories: str | Path | Sequence[str | Path] | Sequence[Trajectory] | None, split: Split | None
) -> tuple[list[Trajectory], tuple[str, ...]]:
    """The trajectories to judge, and what must be said of them."""
    from axisjudge.readers import read_trajectories
    from axisjudge.trajectory import Trajectory

    notes: list[str] = []
    without_split = () if split else (sentences.NO_SPLIT,)
    if isinstance(trajectories, Sequence) and not isinstance(trajectories, str) and trajectories:
        given = [run for run in trajectories if isinstance(run, Trajectory)]
        if len(given) == len(trajectories):
            _refuse_held_out(given, split)
            return given, without_split
    if trajectories is None:
        folder = home() / TRAJECTORIES
        filled = folder.is_dir() and any(folder.iterdir())
        paths: list[str | Path] = [folder] if filled else list(demo_paths())
        notes.append(f"Trajectories of {TRAJECTORIES if filled else 'the shipped demo'}.")
    else:
        paths = [trajectories] if isinstance(trajectories, (str, Path)) else [Path(str(path)) for path in trajectories]
    runs = list(read_trajectories(*paths).trajectories)
    if split is None:
        return runs, (*notes, *without_split)
    sides = [split.side_of(run) for run in runs]
    if all(side in split.held_out for side in sides):
        cure = "a rubric is tuned on the other side: name its files"
        raise InputError("trajectories", f"all {len(runs)} are held out ({', '.join(split.held_out)})", cure=cure)
    mine = [run for run, side in zip(runs, sides, strict=True) if side == split.open_side]
    return mine, (*notes, sentences.ONE_SIDE.format(runs=len(mine), side=split.open_side, others=len(runs) - len(mine)))


def _refuse_held_out(runs: Sequence[Trajectory], split: Split | None) -> None:
    held = [run for run in runs if split and split.side_of(run) in split.held_out]
    if held and split:
        rule = f"a rubric is not tuned on held-out tasks; {len(held)} of these are ({', '.join(split.held_out)})"
        cure = f"take those of the {split.open_side} side"
        raise InputError("trajectories", rule, f"task {held[0].cluster_id}", cure)


def _known(out: Path, axis: str, runs: Sequence[Trajectory]) -> pl.DataFrame:
    """Ratings of these runs on the axis that the file has; an empty table where there is no file."""
    from axisjudge.ratings import ratings_frame, read_ratings

    table = read_ratings(out) if out.exists() else ratings_frame([])
    mine = pl.col("trajectory_id").is_in([run.id for run in runs]) & (pl.col("question") == axis)
    return table.filter(mine & pl.col("step_index").is_null())


def _refuse_edited(rubric: Rubric, known: pl.DataFrame) -> None:
    """A version that has judged is not edited: its ratings would be of two texts under one name."""
    mine = known.filter((pl.col("rubric_version") == rubric.version) & pl.col("rubric_sha256").is_not_null())
    if (other := mine.filter(pl.col("rubric_sha256") != rubric.sha256)).height:
        rule = f"was edited after it had judged ({other.height} ratings are of another text)"
        number = 1 + max(int(each.version[1:]) for each in list_rubrics(rubric.axis))
        cure = f"put it back as it was and save the new text as v{number}.md"
        raise InputError(f"rubrics/{rubric.axis}/{rubric.version}.md", rule, cure=cure)


def _judges(judges: Sequence[JudgeLike] | str | None, known: pl.DataFrame, old: Rubric) -> Sequence[JudgeLike]:
    if isinstance(judges, str):
        return panel(judges) if judges in PANELS else [judges]
    if judges:
        return judges
    raters = known.filter(pl.col("rubric_version") == old.version)["rater"].unique().sort().to_list()
    if not raters:
        rule = f"no judge has rated these runs under {old.version} yet, so that none can be taken over"
        raise InputError("judges", rule, cure=f"name some, or a panel ({', '.join(PANELS)})")
    return raters


def _times_asked(known: pl.DataFrame, old: Rubric) -> int:
    """How many repeats the file has of the version before."""
    repeats = known.filter(pl.col("rubric_version") == old.version)["repeat"].unique()
    return max(1, len(repeats))
