"""`axisjudge.iterate`: edit a rubric, run one cell, read what changed."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.datasets import demo_paths
from axisjudge.figures.markup import cut, untypeset
from axisjudge.iterating.work import RubricSentence, beside_flips, cited_on_flips, rubric_sentences
from axisjudge.judges import JudgeLike, make_judges
from axisjudge.judging import judging_run
from axisjudge.judging.estimate import PlanEstimate, asked_yes
from axisjudge.judging.judging_run import AT_BUDGET, JudgingRun
from axisjudge.judging.plan import JudgingPlan, RunOptions, together
from axisjudge.labels.decisions import SUFFIX, decided
from axisjudge.labels.sampling import drawn_of
from axisjudge.protocol import RunSource, Split, check_tuning, find_split, make_split
from axisjudge.rubric import Rubric, list_rubrics, load_rubric
from axisjudge.spec.judge_spec import PANELS, panel
from axisjudge.studies._shared.frames import SCOPE
from axisjudge.studies._shared.words import listed, many
from axisjudge.studies.rubric_versions import (
    RubricVersions,
    beliefs_moved,
    contested,
    flipped,
    judges_moved,
    rubric_versions,
)
from axisjudge.studies.rubric_versions.sentences import APART
from axisjudge.studies.rubric_versions.turns import Turn
from axisjudge.studies.rubric_versions.versions import HELD_OUT, Flip
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, IDENTITY
from axisjudge.workbench import home, own

if TYPE_CHECKING:
    from axisjudge.explorer.grid_widget import Explorer

#: Where trajectories and ratings are looked for when none are named; relative to the workbench.
TRAJECTORIES, RATINGS = "data/trajectories", "data/ratings/ratings.jsonl"
#: Files or runs; none: those of the workbench.
Given = str | Path | Sequence[str | Path] | Sequence[Trajectory] | None
#: Where decisions on flips are looked for.
DECISIONS = "data/labels"


@dataclass(frozen=True, eq=False, repr=False)
class Iteration:
    """What one call of `iterate` showed: in a notebook a page with the explorer, in a terminal its sentences.

    `result` compares every version of the trail with the one before it, the asked one last; it is None where nothing
    was asked yet (`dry_run`). `looked_at` counts what people decided on the last turn's flips. `ratings` and `runs` are
    what the comparison rests on, `plan` what was left to ask, `rater` who decides.
    """

    notes: tuple[str, ...]
    plan: JudgingPlan
    result: RubricVersions | None
    looked_at: LookedAt | None = None
    ratings: pl.DataFrame | None = None
    runs: tuple[Trajectory, ...] = ()
    rater: str | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn that was asked for."""
        return self.result.turns[-1] if self.result else None

    @property
    def exit_code(self) -> int:
        """4 where the noise of occasions was not measured, as `axisjudge rubric compare` ends then; 0 else."""
        return 4 if self.turn and self.turn.pair.apart else 0

    @property
    def decided(self) -> str:
        """How many of the flips are improvements, in words; empty where nothing was asked."""
        return looked_at_words(self.looked_at) if self.looked_at else ""

    @cached_property
    def explorer(self) -> Explorer | None:
        """Runs x judges on the axis, flipped verdicts first; None where nothing was asked yet."""
        if self.ratings is None or self.turn is None:
            return None
        from axisjudge.explorer.grid_widget import explore

        flipped = "&only=flipped" if self.turn.flips else ""
        return explore(self.ratings, self.runs, at=f"axis={self.turn.axis}{flipped}", rater=self.rater)

    def _ipython_display_(self) -> None:
        from IPython import display

        show: Any = display  # IPython's own functions bear no types
        show.publish_display_data({"text/html": untypeset(self._head()), "text/plain": repr(self)})
        if self.explorer is not None:
            show.display(self.explorer)
            show.publish_display_data({"text/html": untypeset(self._folded()), "text/plain": ""})

    def __repr__(self) -> str:
        if self.result is None or self.turn is None:
            return "\n".join(self.notes)
        banner = [self.result.banner] if self.result.banner else []
        words = [self.result.answer, self.decided, *self.turn.brief, SCOPE]
        texts = (judges_moved(self.turn).text, flipped(self.turn).text)
        return "\n".join([*self.notes, "", *banner, *words, "", texts[0], "", texts[1]])

    def _repr_html_(self) -> str:
        return untypeset(f"{self._head()}{self._folded()}")

    def _head(self) -> str:
        """Notes, the verdict in words, what people decided on the flips."""
        notes = "".join(f"<p>{html.escape(line)}</p>" for line in self.notes)
        if self.result is None or self.turn is None:
            return notes
        banner = f'<p style="border-left: 4px solid #b3261e; padding-left: 8px">{html.escape(self.result.banner)}</p>'
        apart = APART.format(before=self.turn.before, after=self.turn.after) if self.turn.pair.apart else ""
        words = [self.result.answer, apart, self.decided, cited_words(self.cited)]
        lines = "".join(f"<p><strong>{html.escape(each)}</strong></p>" for each in words if each)
        return f"{notes}{banner if self.result.banner else ''}{lines}"

    @cached_property
    def rubric(self) -> tuple[RubricSentence, ...]:
        """The sentences of both versions: kept, gone and new."""
        if self.turn is None:
            return ()
        texts = (load_rubric(self.turn.axis, version).text for version in (self.turn.before, self.turn.after))
        return rubric_sentences(*texts)

    @property
    def cited(self) -> pl.DataFrame:
        """Cited steps summed over flips: by the sentence of the rubric that the new reason hangs on, with their tools.

        A reason hangs on the sentence that shares most words with it (`axisjudge.iterating.work.hangs_on`).
        """
        return cited_on_flips(self.turn.flips if self.turn else (), self.rubric, self.runs)

    def _folded(self) -> str:
        """The rubric's change beside each flip; charts and tables, each under its fold."""
        if self.result is None or self.turn is None:
            return ""
        from axisjudge.figures.markup import inline
        from axisjudge.report.tables import tables_in_notebook

        turn, judges, split = self.turn, judges_moved(self.turn), contested(self.turn)
        flips, trail = flipped(turn), self.result.agreement[turn.axis].plot_trail()
        charts = (trail, judges.plot_matrices(), split.plot(), judges.plot(), beliefs_moved(turn).plot())
        tables = {flips.answer: flips.table, READ_NEXT: split.table, turn.caption: turn.table}
        beside = beside_flips(turn.flips, self.rubric, (turn.before, turn.after))
        folds = {
            BESIDE: beside + tables_in_notebook({CITED: self.cited}),
            "Charts": "".join(inline(each, note=self.result.banner) for each in charts),
            "Flips, what to read next, and every figure of the turn": tables_in_notebook(tables),
            "In numbers": "".join(f"<p>{html.escape(each)}</p>" for each in (*turn.details, SCOPE)),
        }
        return "".join(
            f"<details{' open' if head == BESIDE else ''}><summary>{head}</summary>"
            f'<div style="max-width: 100%; overflow-x: auto">{shown}</div></details>'
            for head, shown in folds.items()
        )


def iterate(
    axis: str,
    version: str,
    *,
    against: str | None = None,
    trajectories: Given = None,
    judges: Sequence[JudgeLike] | str | None = None,
    ratings: str | Path | None = None,
    repeats: int | None = None,
    split: bool | None = None,
    dry_run: bool = False,
    progress: bool | None = None,
    rater: str | None = None,
    **money: Any,
) -> Iteration:
    """Judge a rubric version on the calibration side, as far as that was not done, and compare it with the one before.

    What is missing of both versions is asked in one run, item by item in turn, so that both see the same build of a
    judge. Where a model judged the version before at other times alone, and neither version in four runs, the noise of
    occasions was not measured: it is said, and nothing is called progress, or worse (`Iteration.exit_code` is 4).

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
    split : bool, optional
        Where there is no split yet: make one of the trajectories' files first (True), or go on without (False). By
        default it is asked, where somebody can be.
    dry_run : bool
        Only say what is to come.
    progress : bool, optional
        Show a progress bar; by default on a terminal and in a notebook (of free judges after a second).
    rater : str, optional
        Who decides on flips; by default the one person who has decided before, if it is one. Earlier decisions stand in
        the explorer at once.
    **money
        ``budget_usd``, ``allow_unpriced``, ``confirm`` and the others that `axisjudge.judge` takes. The budget is one
        for both versions.

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
    if old.version == new.version:
        raise InputError("against", "must be another version", old.version)
    out = Path(ratings) if ratings is not None else own() / RATINGS
    known_split = find_split() or (None if dry_run else _offer_split(trajectories, split))
    side = known_split.open_side if known_split else None
    runs, notes = calibration_runs(trajectories, known_split)
    known = _known(out, axis, runs)
    for rubric in (old, new):
        _refuse_edited(rubric, known)
    raters = make_judges(_judges(judges, known, old))
    if len(raters) < 2:  # asked and paid before that was said
        cure = "name a second one, of another family"
        raise TooLittle("judges", "must be two or more, as their agreement is compared", cure=cure)
    times = _times_asked(known, old) if repeats is None else repeats
    how: dict[str, Any] = {"split": side, "repeats": times, "out": out}
    asked = [judging_run(runs, raters, [axis], versions={axis: rubric.version}, **how) for rubric in (old, new)]
    options = RunOptions(progress=progress, **money)
    both = JudgingRun(lambda done: together([run.plan_of(done) for run in asked]), asked[0].admitted, out)
    plan = both.plan()
    to_come = cost_words(plan, both.estimate(options))
    notes = (*notes, f"{axis} {new.version} against {old.version}, {times}x each. {to_come}")
    if dry_run:
        return Iteration(notes, plan, None)
    print(notes[-1], flush=True)
    judged = _carried_out(both, options)
    others = _known(out, axis, runs).filter(~pl.col("rubric_version").is_in([old.version, new.version]))
    table = pl.concat([judged, others.filter(pl.col("rater").is_in(judged["rater"].unique().implode()))])
    table = table.unique(subset=list(IDENTITY), keep="first", maintain_order=True)
    steps, held_out = {run.id: len(run.steps) for run in runs}, known_split.held_out if known_split else HELD_OUT
    result = rubric_versions(table, {axis: _trail(table, old, new)}, steps=steps, held_out=held_out)
    decisions = _decisions()
    decided = looked_at(result.turns[-1].flips, axis, (old.version, new.version), decisions)
    return Iteration(notes[:-1], plan, result, decided, table, tuple(runs), rater or _only_rater(decisions))


def _trail(table: pl.DataFrame, old: Rubric, new: Rubric) -> list[str]:
    """The versions before the old one that can be compared with the one after them, then the old and the new one."""
    trail = [old.version, new.version]
    given = table.filter(pl.col("verdict").is_not_null() & pl.col("rubric_version").is_not_null())
    for version in sorted(given["rubric_version"].unique(), key=_number, reverse=True):
        mine, later = (given.filter(pl.col("rubric_version") == each) for each in (version, trail[0]))
        once = not mine.select("item_id", "rater", "repeat").is_duplicated().any()
        judges, items = (set(mine[name]) & set(later[name]) for name in ("rater", "item_id"))
        same_text = mine["rubric_sha256"].n_unique() == 1
        if _number(version) < _number(old.version) and once and same_text and len(judges) > 1 and items:
            trail.insert(0, version)
    return trail


def _number(version: str) -> int:
    return int(version.removeprefix("v"))


def _only_rater(decisions: pl.DataFrame | None) -> str | None:
    """The one person who has decided on flips; None where there is nobody, or several."""
    names = [] if decisions is None else decisions["rater"].unique().to_list()
    return names[0].removesuffix(SUFFIX) if len(names) == 1 else None


def _decisions() -> pl.DataFrame | None:
    """What people decided on flips and splits, from all their files; None where there is none."""
    from axisjudge.ratings import read_ratings

    paths = sorted((home() / DECISIONS).glob("*.decisions.jsonl"))
    return read_ratings(*paths) if paths else None


def _offer_split(trajectories: Given, wanted: bool | None) -> Split | None:
    """Make the split first, where that is wanted; ask, where nobody said and somebody can be asked."""
    from axisjudge.readers import read_trajectories

    paths = paths_of(trajectories)
    if wanted is False or not paths:
        return None
    if wanted is None and not asked_yes(OFFER):
        return None
    made = make_split(read_trajectories(*paths).trajectories, source=RunSource.of(paths))
    print(split_made(made), flush=True)
    return made


def _carried_out(run: JudgingRun, options: RunOptions) -> pl.DataFrame:
    """The ratings of both versions.

    Raises
    ------
    InputError
        The budget was reached: a version that is judged in part is compared with nothing.
    """
    table = run.carry_out(options)
    if run.outcome.code() == AT_BUDGET:
        rule = f"was reached before both versions were judged; {run.outcome.sentences()[-1]}"
        cure = "give a higher one: what is there is not asked again"
        raise InputError("budget_usd", rule, options.budget_usd, cure)
    return table


def _before(rubric: Rubric) -> Rubric:
    older = [each for each in list_rubrics(rubric.axis) if _number(each.version) < _number(rubric.version)]
    if not older:
        rule = "is the first version: there is none to compare it with"
        cure = "write the next one, or name against="
        raise InputError(f"rubrics/{rubric.axis}/{rubric.version}.md", rule, cure=cure)
    return older[-1]


def calibration_runs(trajectories: Given, split: Split | None) -> tuple[list[Trajectory], tuple[str, ...]]:
    """The trajectories to judge, and what must be said of them."""
    from axisjudge.readers import read_trajectories

    notes = [] if split else [NO_SPLIT]
    if given := [run for run in _listed(trajectories) if isinstance(run, Trajectory)]:
        check_tuning((run.cluster_id for run in given), where="trajectories")
        return given, tuple(notes)
    paths = paths_of(trajectories)
    if trajectories is None:
        where = TRAJECTORIES if paths == [home() / TRAJECTORIES] else "the shipped demo"
        notes.insert(0, f"Trajectories of {where}.")
    runs = list(read_trajectories(*paths).trajectories)
    if split is None:
        return runs, tuple(notes)
    if all(split.side_of(run) in split.held_out for run in runs):
        cure = "a rubric is tuned on the other side: name its files"
        raise InputError("trajectories", f"all {len(runs)} are held out ({', '.join(split.held_out)})", cure=cure)
    mine = [run for run in runs if split.side_of(run) == split.open_side]
    return mine, (*notes, one_side(len(mine), split.open_side, len(runs) - len(mine)))


def paths_of(trajectories: Given) -> list[str | Path]:
    """The files to read; none where trajectories are given as such."""
    if trajectories is None:
        folder = home() / TRAJECTORIES
        return [folder] if folder.is_dir() and any(folder.iterdir()) else list(demo_paths())
    return [path for path in _listed(trajectories) if isinstance(path, str | Path)]


def _listed(trajectories: Given) -> Sequence[str | Path | Trajectory]:
    return [trajectories] if isinstance(trajectories, str | Path) else trajectories or ()


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
        number = 1 + max(_number(each.version) for each in list_rubrics(rubric.axis))
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


# What people who looked at the flips decided: how many of them are improvements.


class Looked(StrEnum):
    """How a flip came out: by what most people who decided on it said, of equally many that they differ."""

    IMPROVED = "new_right"
    WORSENED = "old_right"
    BOTH_WRONG = "both_wrong"
    CANNOT_TELL = "cannot_tell"
    PEOPLE_DIFFER = "people_differ"


@dataclass(frozen=True)
class LookedAt:
    """The flips of one turn as people decided on them; `flips` in all, those that nobody looked at among them.

    They were looked at because they flipped: the counts are no rate of anything else.
    """

    flips: int
    counts: Mapping[Looked, int]

    @property
    def looked_at(self) -> int:
        """Flips on which anybody decided."""
        return sum(self.counts.values())


def looked_at(flips: Sequence[Flip], axis: str, versions: tuple[str, str], decisions: pl.DataFrame | None) -> LookedAt:
    """Count the decisions on the flips between two versions of one axis's rubric.

    Parameters
    ----------
    flips : sequence of Flip
    axis : str
    versions : tuple of str
        The older and the newer.
    decisions : polars.DataFrame, optional
        Labels, those among them that are decisions by flip (`axisjudge.labels.decisions`); of one person and flip the
        last one counts.
    """
    of = {(flip.item, f"{flip.judge} {versions[0]} to {versions[1]}"): flip for flip in flips}
    answers: dict[tuple[str, str], dict[str, str]] = {}
    rows = () if decisions is None else decisions.filter(question=axis).sort("created_at").iter_rows(named=True)
    for row in rows:
        flags = row["flags"] or []
        key, answer = (row["item_id"], drawn_of(flags)["drawn_by"]), decided(flags)
        if answer is not None and key in of:
            flip = of[key]
            if drawn_of(flags)["drawn_stratum"] == f"{flip.before.verdict} to {flip.after.verdict}":
                answers.setdefault(key, {})[row["rater"]] = answer
    counts = Counter(_of_most(list(given.values())) for given in answers.values())
    return LookedAt(len(flips), {each: counts[each] for each in Looked})


def _of_most(answers: Sequence[str]) -> Looked:
    """The commonest answer; `PEOPLE_DIFFER` where two are equally common."""
    (first, n), *others = Counter(answers).most_common()
    return Looked.PEOPLE_DIFFER if others and others[0][1] == n else Looked(first)


# Words: what is to come, what is compared, and what people decided on flips.

READ_NEXT = "Where the judges are split now, to be read next"
BESIDE = "The rubric's change, and beside it each flip with the sentence that its reasons hang on"
CITED = "Cited steps of flips, by the sentence of the new rubric that the reason shares most words with"
NO_SPLIT = (
    "There is no split: no task is held out yet (split=True makes one first, axisjudge split make PATHS too), so that "
    "nothing will be left to confirm this on."
)
OFFER = (
    "There is no split yet, so that no task is held out to confirm this on. Make one now, half of the tasks on either "
    "side?"
)


def one_side(n_runs: int, side: str, n_others: int) -> str:
    """Which runs are compared, and that the others are left alone."""
    return f"{many(n_runs, 'run')} of the {side} side; {many(n_others, 'run')} of other sides left alone."


#: What people decided on flips, by code: for one flip, and for several.
LOOKED = {
    Looked.IMPROVED: ("is an improvement", "are improvements"),
    Looked.WORSENED: ("is for the worse", "are for the worse"),
    Looked.BOTH_WRONG: ("is from one wrong verdict to another", "are from one wrong verdict to another"),
    Looked.CANNOT_TELL: ("cannot be told", "cannot be told"),
    Looked.PEOPLE_DIFFER: ("is one on which people differ", "are such that people differ"),
}


def looked_at_words(seen: LookedAt) -> str:
    """How many of the flips are improvements, by people who looked at them; no rate of anything else."""
    if not seen.flips:
        return "No verdict flipped, so that there is nothing to decide on."
    flips = many(seen.flips, "flip")
    if not seen.looked_at:
        return f"Of {flips} nobody has looked at any yet: decide on them in the explorer (W, then 1 to 4)."
    given = [(each, n) for each, n in seen.counts.items() if n or each is Looked.IMPROVED]
    parts = [f"{n} {LOOKED[each][n != 1]}" for each, n in given]
    left = seen.flips - seen.looked_at
    return f"Of {flips} {listed(parts)}{f'; {left} not looked at yet' if left else ''}."


def cited_words(on_flips: pl.DataFrame) -> str:
    """Which sentence of the rubric most new reasons hang on; empty where nothing flipped."""
    n, named = int(on_flips["flips"].sum()), on_flips.drop_nulls("sentence")
    if not n:
        return ""
    if named.is_empty():
        return f"No reason for {many(n, 'flip')} shares words enough with a sentence of the rubric."
    first = named.row(0, named=True)
    what = "a new one" if first["new"] else "one that was there before"
    return (
        f"Reasons of {named['flips'].sum()} of {many(n, 'flip')} point to a sentence of the rubric, "
        f"{first['flips']} of them to the same, {what}: \u201c{cut(first['rubric'], 120)}\u201d"
    )


def split_made(split: Split) -> str:
    """What the new split holds."""
    sides = listed([f"{many(len(tasks), 'task')} for {side}" for side, tasks in split.tasks.items()])
    return f"Split made: {sides}; held out: {', '.join(split.held_out)}."


def cost_words(plan: JudgingPlan, estimate: PlanEstimate) -> str:
    """What is to come, to be read before anything is asked."""
    there = many(plan.cached + plan.kept_lost, "rating")
    if not plan.n_calls:
        return f"Nothing to ask: all {there} are there."
    calls = f"To come: {many(plan.n_calls, 'call')}"
    if plan.cached + plan.kept_lost:
        calls += f"; {there} are there already"
    free = "Free: programs and simulated judges are sent no prompt"
    return f"{calls}. {estimate.sentence if estimate.judges else free}."
