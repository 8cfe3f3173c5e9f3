"""Did a new rubric make the judges agree, or only less sure? (notebook 01, `rubric compare`, `axisjudge.iterate`)"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.figures import theme
from axisjudge.protocol import make_split, rehearsal
from axisjudge.protocol.ledger import read_json, write_json
from axisjudge.protocol.split import FILE, read_split
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.soft import beliefs, raw_soft_agreement, split_change
from axisjudge.stats.betting import ConfidenceSequence, SequenceEvidence, change_sequence, evidence_of_change
from axisjudge.stats.comparisons.progress import VersionOutcome, adjusted, decide, mean_of_repeats, moved
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_mean
from axisjudge.studies._shared.frames import Given, Table, frame_of, kind_of, rows_by, table_of, to_polars
from axisjudge.studies._shared.pooled import Declared
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import many, sentence_case
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.turns import FLIPPED, Steps, Turn, turn_of
from axisjudge.studies.rubric_versions.turns import beliefs_moved as beliefs_moved
from axisjudge.studies.rubric_versions.turns import contested as contested
from axisjudge.studies.rubric_versions.turns import flipped as flipped
from axisjudge.studies.rubric_versions.turns import judges_moved as judges_moved
from axisjudge.studies.rubric_versions.versions import HELD_OUT, VersionAgreement, Versions, read_versions
from axisjudge.trajectory import Trajectory

#: Columns of the table of turns, and where their figures stand.
TURN = columns(
    "axis before after runs=n_items tasks=agreement.change.n_clusters change=agreement.mean",
    "low=agreement.change.ci_low high=agreement.change.ci_high p=agreement.p_value",
    "p_holm=agreement.p_adjusted verdict=outcome",
)
#: Coefficients along the trail: colour and marker.
_TRAIL = {"percent": (theme.ACCENT, "o"), "alpha": (FLIPPED, "s")}
_DRAWN = ("percent", "ac1", "alpha", "soft")
_MARKERS = ("o", "s", "D", "^")


class AgreementByVersion(Part, caption="Agreement under each version"):
    """Agreement on one axis under each version of its rubric, every version once, in the order of the turns.

    `n_items` are the runs that each version was last compared on, `outcomes` what may be said of each turn.
    """

    _keys = ("versions",)

    axis: str
    versions: tuple[VersionAgreement, ...]
    n_items: tuple[int, ...]
    n_judges: int
    outcomes: tuple[VersionOutcome, ...]
    headlines: tuple[str, ...]

    @property
    def table(self) -> Table:
        """One row a version and coefficient, with its interval."""
        shown = columns("estimate low=ci_low high=ci_high tasks=n_clusters")
        rows = [
            {"axis": self.axis, "version": version.version} | row | {"repeats": version.n_repeats}
            for version in self.versions
            for row in rows_by("coefficient", version.named, shown)
        ]
        return table_of(rows, self.kind)

    @property
    def answer(self) -> str:
        """What may be said of each turn, the newest first."""
        return " ".join(reversed(self.headlines))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Raw and chance-corrected agreement under each version, with intervals over tasks; older ones paler."""
        import seaborn as sns

        versions = self.versions
        ax = theme.new_axes(7.4, 1.5 + 0.18 * len(_DRAWN) * len(versions)) if ax is None else ax
        colours = sns.light_palette(theme.ACCENT, len(versions) + 1).as_hex()[1:]
        beside: dict[str, Any] = {"va": "center", "color": theme.QUIET, "fontsize": theme.SMALL - 1.5}
        for number, (version, colour) in enumerate(zip(versions, colours, strict=True)):
            marker = _MARKERS[number % len(_MARKERS)]
            for row, name in enumerate(_DRAWN):
                at, value = row + (number - (len(versions) - 1) / 2) * 0.7 / len(versions), version.named.get(name)
                if value is None or math.isnan(value.estimate):
                    ax.text(0.01, at, "several pairs" if value is None else "undefined", **beside)
                else:
                    theme.interval_mark(ax, value, at, colour=colour, marker=marker, size=6)
                    right = float(np.nanmax([value.estimate, value.ci_high]))
                    name_at: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
                    ax.annotate(version.version, (right, at), **name_at, color=theme.QUIET, fontsize=theme.SMALL)
        ax.axvline(0, color=theme.FAINT, linewidth=0.8, zorder=0)
        theme.named_rows(ax, [sentences.LABELS[name] for name in _DRAWN])
        repeats = ", ".join(f"{version.version} asked {version.n_repeats}x" for version in versions)
        note = f"{theme.intervals(versions[-1].coefficients['percent'])}; {many(self.n_items[0], 'run')}; {repeats}"
        return theme.dress(ax, f"Agreement on {theme.in_words(self.axis)} by rubric version", note, lines="x")

    def plot_trail(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Agreement under every version in order, with intervals over tasks, and between two what may be said."""
        ax = theme.new_axes(max(5.0, 1.6 + 1.5 * len(self.versions)), 3.6) if ax is None else ax
        for number, (name, (colour, marker)) in enumerate(_TRAIL.items()):
            at = [position + 0.07 * (2 * number - 1) for position in range(len(self.versions))]
            values = [version.named[name] for version in self.versions]
            ax.plot(at, [value.estimate for value in values], color=colour, linewidth=1, alpha=0.45)
            for position, value in zip(at, values, strict=True):
                theme.interval_mark(ax, value, position, colour=colour, marker=marker, upright=True)
        for position, outcome in enumerate(self.outcomes):
            steps = "\n".join(str(outcome).split(" ", 1))
            ax.annotate(steps, (position + 0.5, 1.06), ha="center", va="bottom", fontsize=theme.SMALL, color=theme.INK)
        asked = zip(self.versions, self.n_items, strict=True)
        ticks = [f"{version.version}\n{many(n, 'run')}, {version.n_repeats}x" for version, n in asked]
        ax.set_xticks(range(len(ticks)), ticks)
        ax.set_xlim(-0.5, len(ticks) - 0.5)
        ax.set_ylim(min(0.0, *ax.get_ylim()), 1.3)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
        ax.axhline(0, color=theme.FAINT, linewidth=0.8, zorder=0)
        looks = {sentences.LABELS[name]: {"color": colour, "marker": mark} for name, (colour, mark) in _TRAIL.items()}
        theme.legend_below(ax, looks, inches=0.55)
        note = f"{theme.intervals(self.versions[-1].coefficients['percent'])}; {many(self.n_judges, 'judge')}"
        return theme.dress(ax, f"The trail of {theme.in_words(self.axis)}", note, lines="y")


def agreement_by_version(turns: Sequence[Turn]) -> AgreementByVersion:
    """Agreement under each version, from the turns of one axis in their order."""
    newest = {version.version: (turn, version) for turn in turns for version in turn.versions}
    return AgreementByVersion(
        axis=turns[0].axis,
        versions=tuple(version for _, version in newest.values()),
        n_items=tuple(turn.n_items for turn, _ in newest.values()),
        n_judges=len(turns[-1].judges),
        outcomes=tuple(turn.decision.outcome for turn in turns),
        headlines=tuple(turn.headline for turn in turns),
        kind=turns[0].kind,
        made_up=tuple(sorted({rater for turn in turns for rater in turn.made_up})),
    )


class RubricVersions(Study):
    """What each new version of the rubrics changed: one `Turn` for every axis and pair of consecutive versions.

    `agreement` has agreement by version of every axis; the parts of a turn are made of it (`judges_moved`,
    `beliefs_moved`, `flipped`, `contested`).
    """

    agreement: Mapping[str, AgreementByVersion]
    turns: tuple[Turn, ...]

    @property
    def table(self) -> Table:
        """One row a turn: the change of agreement with its interval and test, and what may be said."""
        return frame_of(self.turns, TURN, self.turns[0].kind)

    answer = property(lambda self: sentences.course(self.turns))


def answer_of(compared: RubricVersions, declared: Sequence[Declared] = ()) -> str:
    """Agreement under the newest version, what its turn is, whether judges are less sure; what tasks held out say."""
    held_out = sentences.confirmed([(each.statistic, each.estimate, each.p_holm) for each in declared])
    turn = compared.turns[-1]
    who, moved = sentences.less_sure(turn.shifts)
    return f"{turn.found}; {who}. {sentence_case(turn.reason)}; {moved}. {sentence_case(held_out)}."


def next_step(compared: RubricVersions, declared: Sequence[Declared] = ()) -> str:
    """What to do after the newest turn: repeats, tasks, the next version, or the tasks held out."""
    return sentences.next_step(compared.turns[-1], opened=bool(declared))


def rubric_versions(
    ratings: Given,
    changes: Mapping[str, Sequence[str]],
    *,
    steps: Steps = None,
    held_out: Sequence[str] = HELD_OUT,
    most: int = 12,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    seed: int = 0,
) -> RubricVersions:
    """Did new versions of a rubric make the judges agree, or only less sure?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns) that holds all versions, repeats included.
    changes : mapping of axis to its versions in order
        Each version is compared with the one before. The first changes of all axes are one declared family whose tests
        are adjusted by Holm, and so are the second ones, and so on.
    steps : mapping or table, optional
        Number of steps of each run, for the overlap of citations that chance would give.
    held_out : sequence of str
        Sides of the split whose ratings never enter.
    most : int
        How many contested items are listed.
    cluster_unit : str
        What `cluster_id` holds.
    ci_level : float
        Level of the intervals. The tests of the rule have their own (`axisjudge.stats.comparisons.progress.LEVEL`).
    seed : int
        Of sign flips where there are too many to count, and of resamples.

    Returns
    -------
    RubricVersions
        `.turns`, one part for each change, and `.agreement` by axis.

    Raises
    ------
    InputError
        No change, fewer than two versions, or ratings that cannot be compared: a version without ratings, fewer than
        two judges or no run in common, a version whose text changed after it had judged.

    Examples
    --------
    >>> import axisjudge, polars as pl
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories[:48]
    >>> judges, axis = ["simulated:jackdaw", "simulated:dunnock"], "argument_validity"
    >>> both = [axisjudge.judge(runs, judges, [axis], versions={axis: v}, progress=False) for v in ("v1", "v2")]
    >>> result = axisjudge.studies.rubric_versions(pl.concat(both), {axis: ["v1", "v2"]})
    >>> len(result.turns), len(result.agreement[axis].table)
    (1, 10)
    """
    if not changes or any(len(versions) < 2 for versions in changes.values()):
        raise InputError("changes", "needs two versions or more of each axis", dict(changes))
    how, kind, turns = {"cluster_unit": cluster_unit, "ci_level": ci_level}, kind_of(ratings), []
    for number in range(max(map(len, changes.values())) - 1):
        family = {axis: both for axis, of in changes.items() if len(both := of[number : number + 2]) == 2}
        read = [read_versions(ratings, axis, *both, held_out=held_out) for axis, both in family.items()]
        changed = [
            moved(pair.agreement, pair.clusters, cluster_unit=cluster_unit, occasions=pair.occasions, seed=seed)
            for pair, _ in read
        ]
        turns += [
            turn_of(*each, agreement, seed=seed, steps=steps, most=most, how=how, family=tuple(family), kind=kind)
            for each, agreement in zip(read, adjusted(changed), strict=True)
        ]
    agreement = {axis: agreement_by_version([turn for turn in turns if turn.axis == axis]) for axis in changes}
    return RubricVersions(agreement=agreement, turns=tuple(turns))


_COLUMNS = ("version", "judge", "verdict", "confidence", "cited_step_indices", "citation_overlap")


class PublishedCourse(Part, caption="The published verdicts on one run, by version", of_ratings=False):
    """One run under several versions: verdicts and beliefs, raw soft agreement, and the rule's word on each turn.

    One row a version and judge.
    """

    _rows = "rows", {}
    _keys = ("versions", "rows", "agree", "raw_soft_agreement", "words", "changes")

    rows: pl.DataFrame
    judges: tuple[str, ...]
    agree: Mapping[str, bool]
    raw_soft_agreement: Mapping[str, float]
    changes: tuple[str, ...]
    overlaps: tuple[str, ...]
    words: tuple[VersionOutcome, ...]

    versions = property(lambda self: tuple(self.agree))
    answer = property(sentences.published_course)

    def beliefs(self, judge: str) -> list[float]:
        """A judge's belief that the run is correct under each version."""
        return self.rows.filter(judge=judge)["belief"].to_list()

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Each judge's belief that the one published run is correct, version by version; crosses say incorrect."""
        ax = theme.new_axes(6.4, 3.2) if ax is None else ax
        across = range(len(self.versions))
        for judge, colour in zip(self.judges, (FLIPPED, theme.ACCENT), strict=False):
            held = self.beliefs(judge)
            ax.plot(across, held, color=colour, linewidth=1.8, zorder=1)
            for at, value in enumerate(held):
                ax.plot(at, value, "o" if value > 0.5 else "X", color=colour, markersize=8, markeredgecolor="white")
            below: dict[str, Any] = {"xytext": (0, -9), "textcoords": "offset points", "va": "top"}
            ax.annotate(judge.rpartition(":")[2], (0, held[0]), **below, fontsize=theme.SMALL, color=colour)
        ax.axhline(0.5, color=theme.FAINT, linewidth=1, zorder=0)
        ax.set_xticks(across, self.versions)
        ax.set_xlim(-0.2, len(self.versions) - 0.8)
        ax.set_ylim(-0.1, 1.05)
        title = f"The published run under {many(len(self.versions), 'version')}"
        note = "one run of one task, so there is no interval; a cross marks the verdict incorrect"
        return theme.dress(ax, title, note, y="belief that the run is correct")


def published_course(verdicts: Given) -> PublishedCourse:
    """Read the published verdicts of two judges on one run under each version.

    Parameters
    ----------
    verdicts : table
        Columns version, judge, verdict, confidence, cited_step_indices, citation_overlap; two judges a version.
    """
    columns = ("version", "judge", "verdict", "confidence", "cited_step_indices", "citation_overlap")
    table = to_polars(verdicts, columns, where="verdicts").sort("version", "judge")
    by_version = {str(name): rows for (name,), rows in table.group_by("version", maintain_order=True)}
    if any(rows.height != 2 for rows in by_version.values()):
        counts = {name: rows.height for name, rows in by_version.items()}
        raise InputError("verdicts", "needs two judges for each version", counts)
    table = table.with_columns(belief=beliefs(table["verdict"].to_list(), table["confidence"].to_numpy()))
    belief = table["belief"].to_numpy().reshape(-1, 2)
    agree = {name: rows["verdict"].n_unique() == 1 for name, rows in by_version.items()}
    given = [([rows["verdict"].to_list()], [rows["confidence"].to_list()]) for rows in by_version.values()]
    # each version's verdicts on the one run are the one item of one task, by the rule of this page
    once = [np.array([[[float(old)]], [[float(new)]]]) for old, new in pairwise(agree.values())]
    nowhere = (math.nan, math.nan)
    return PublishedCourse(
        rows=table,
        judges=tuple(table["judge"].unique(maintain_order=True)),
        agree=agree,
        raw_soft_agreement=dict(zip(agree, raw_soft_agreement(*belief.T).tolist(), strict=True)),
        changes=tuple(split_change(*old, *new).sentence() for old, new in pairwise(given)),
        overlaps=tuple(rows["citation_overlap"][0] for rows in by_version.values()),
        words=tuple(decide(moved(each, np.zeros(1, dtype=np.intp)), nowhere, []).outcome for each in once),
        kind=kind_of(verdicts),
    )


class RefusedTask(Part, caption="The published tasks that are left to hold out", of_ratings=False):
    """A task that was used while tuning and stands among the evaluation tasks: what it costs, and the refusal."""

    task: str
    n_items: int
    n_all: int
    held_out: tuple[str, ...]
    side: str
    refusal: str

    @property
    def table(self) -> Table:
        """One row a task that is left to hold out."""
        return table_of([{"task": task} for task in self.held_out], self.kind, columns=("task",))

    answer = property(sentences.refused_task)


def refused_task(tasks: Given, *, salt: str = "published") -> RefusedTask:
    """Split the published tasks in a rehearsal, move the one that was used in tuning, and keep what reading says.

    Parameters
    ----------
    tasks : table
        Columns task_id, agent, used_in_tuning.
    """
    table = to_polars(tasks, ("task_id", "agent", "used_in_tuning"), where="tasks")
    runs = [
        Trajectory(id=f"{task}-{agent}", source="published", task_id=str(task), agent=agent)
        for task, agent in table.select("task_id", "agent").iter_rows()
    ]
    used = [str(task) for task in table.filter(pl.col("used_in_tuning"))["task_id"].unique().sort()]
    if not used:
        raise InputError("tasks", "none was used in tuning, so that there is nothing to refuse")
    with tempfile.TemporaryDirectory() as folder, workbench.at(rehearsal(folder)):
        split = make_split(runs, salt=salt, tuned_on=dict.fromkeys(used, "a rubric was revised by looking at it"))
        side, path = split.side_of(used[0]), workbench.home() / FILE
        content = read_json(path, FILE)  # moved in the file, as an editor would
        content["tasks"].setdefault(split.held_out[0], {})[used[0]] = content["tasks"][side].pop(used[0])
        write_json(path, content)
        try:
            read_split()
        except InputError as error:
            refusal = str(error)
        else:
            raise RuntimeError("a split with a moved task was read as if nothing had happened")
    n_items, held_out = sum(run.task_id == used[0] for run in runs), tuple(split.held_out_tasks)
    return RefusedTask(used[0], n_items, len(runs), held_out, side, refusal, kind=kind_of(tasks))


@dataclass(frozen=True, eq=False)
class LookedChange(Result):
    """Change of the judges' agreement with an interval and evidence that hold at every look, tasks as they came.

    `fixed` is the interval of the same tasks, had their number been fixed in advance.
    """

    _keys = columns("axis versions tasks=change.n_clusters change~~ evidence=evidence.largest stop") | {
        "times the tasks": "times"
    }

    axis: str
    versions: str
    change: ConfidenceSequence
    evidence: SequenceEvidence
    fixed: Estimate

    stop = property(lambda self: "yes" if self.evidence.stopped_at else "no")

    @property
    def times(self) -> float:
        """How many times the tasks of a fixed number looking takes, for intervals of one width; NaN without both."""
        widths = [each.ci_high - each.ci_low for each in (self.change, self.fixed)]
        return float((widths[0] / widths[1]) ** 2)


def looked_change(
    pair: Versions, rated: pl.DataFrame, *, cluster_unit: str = "task", ci_level: float = 0.95
) -> LookedChange:
    """The change of agreement in the order in which tasks were first judged under both versions.

    Parameters
    ----------
    pair, rated : Versions, DataFrame
        What `read_versions` gives: the pair, and its ratings. Ratings without a time stand last, by name.

    Notes
    -----
    Holds whenever one stops, if the order of tasks does not depend on verdicts.
    """
    first, second = mean_of_repeats(pair.agreement)
    came = dict(rated.group_by("item_id").agg(pl.col("created_at").max()).iter_rows())
    order = np.array(sorted(range(len(pair.items)), key=lambda at: (came[pair.items[at]] or "~", pair.items[at])))
    before, after, tasks = first[order], second[order], pair.clusters[order]
    how: dict[str, Any] = {"largest": int(np.bincount(tasks).max()), "cluster_unit": cluster_unit}
    change = change_sequence(before, after, tasks, ci_level=ci_level, **how)
    evidence = evidence_of_change(before, after, tasks, level=1 - ci_level, **how)
    fixed = clustered_mean(after - before, tasks, cluster_unit=cluster_unit, ci_level=ci_level)
    return LookedChange(pair.axis, f"{pair.before} to {pair.after}", change, evidence, fixed)


looked_sentences = sentences.looked
open_door(rubric_versions)
