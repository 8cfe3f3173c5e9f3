"""What happened in a run, and which steps do judges point to? (notebook 06)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl

from axisjudge.checks import InputError, TooLittle
from axisjudge.figures import theme
from axisjudge.protocol import no_such_run
from axisjudge.results import columns
from axisjudge.studies._shared.frames import Given, Table, kind_of, table_of, to_polars
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import listed, many
from axisjudge.studies.trace.run import TracedRun, TracedVerdict, joined, most_contested, traced, verdicts_of
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import VERDICTS as WORDS

_ROLES = {"system": "#efefef", "user": "#cfe3d4", "assistant": "#c9d9ee", "tool": "#efe3c4"}


def plot_trace(run: TracedRun, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Steps from left to right, one row per judge and axis in conflict, a mark at every step that the judge cites.

    The mark's shape and colour are the verdict; at the right stand the verdict and the judge's own confidence. All axes
    are drawn where judges contradict each other on none.
    """
    axes = run.contested or run.axes
    n_steps, n_rows = len(run.steps), len(axes) + sum(len(run.on(axis)) for axis in axes)
    ax = theme.new_axes(min(max(7.5, 3.5 + 0.24 * n_steps), 14), 1.5 + 0.25 * n_rows) if ax is None else ax
    for step in run.steps:
        ax.barh(-1.2, 0.92, left=step.index - 0.46, color=_ROLES[step.role], height=0.8, linewidth=0)
        if step.calls:
            ax.plot(step.index, -1.2, marker="v", color=theme.INK, markersize=4)
    labels = {-1.2: "who acts"}
    row = 0
    for number, axis in enumerate(axes):
        judged = run.on(axis)
        if number % 2 == 0:
            ax.axhspan(row - 0.5, row + len(judged) + 0.5, color="#f6f6f6", zorder=0, linewidth=0)
        ax.text(-0.5, row, theme.in_words(axis), va="center", fontsize=theme.SMALL, fontweight="bold", color=theme.INK)
        for height, given in enumerate(judged, start=row + 1):
            _row(ax, height, given, n_steps)
            labels[height] = given.judge
        row += len(judged) + 1
    ax.set_yticks(list(labels), list(labels.values()))
    ax.set_ylim(n_rows - 0.4, -1.9)
    ax.set_xlim(-0.8, max(n_steps, 1) - 0.2)
    roles, cited = {step.role for step in run.steps}, {each.verdict for each in run.verdicts if each.cited}
    marks: dict[str, Any] = {role: {"marker": "s", "color": _ROLES[role]} for role in _ROLES if role in roles}
    marks["calls a tool"] = {"marker": "v", "color": theme.INK, "markersize": 4}
    for verdict, look in theme.VERDICTS.items():
        if verdict in cited:
            marks[f"cited for {theme.in_words(verdict)}"] = {"marker": look.marker, "color": look.colour}
    theme.legend_below(ax, marks, inches=0.5, ncols=4)
    which = f"; the {len(axes)} of {len(run.axes)} axes on which they contradict each other" if run.contested else ""
    note = f"one run of {many(n_steps, 'step')}; {many(len(run.judges), 'judge')}{which}"
    how = f"a mark is a cited step, its shape the verdict; {note}; of one run there is no interval"
    theme.dress(ax, "Steps that the judges cite, per axis", note, how=how, x="step")
    ax.tick_params(axis="y", labelsize=theme.SMALL)
    ax.locator_params(axis="x", integer=True)
    return ax


def _row(ax: theme.Axes, row: int, given: TracedVerdict, n_steps: int) -> None:
    colour, marker, _ = theme.look_of(given.verdict)
    inside = [step for step in given.cited if 0 <= step < n_steps]
    ax.plot([-0.5, n_steps - 0.5], [row, row], color=theme.FAINT, linewidth=0.6, zorder=1)
    ax.plot(inside, [row] * len(inside), marker, color=colour, markersize=7.5, markeredgewidth=1.2, zorder=3)
    sure = "" if given.confidence is None else f" {given.confidence:.2f}"
    beyond = f", cites {len(given.invalid)} that do not exist" if given.invalid else ""
    theme.at_the_right(ax, row, f"{theme.in_words(given.word)}{sure}{beyond}", size=theme.SMALL, colour=colour)


class _OfRun(Part):
    """A part of one run: its rows lead to that run."""

    run: TracedRun

    @property
    def behind(self) -> dict[str, str]:
        """This run."""
        return {"run": self.run.trajectory_id}


class RunTimeline(_OfRun, name="trace", caption="The steps of the run, and who cites them for what"):
    """One run step by step, with the steps that each judge cites; `n_runs` is how many it was chosen from."""

    _rows = "run.steps", columns("step=index role text=short calls=called error cited_by=citing")
    _flat = ("run",)

    n_runs: int

    @property
    def answer(self) -> str:
        """Which run this is, and how far the judges are of one mind."""
        run, n_runs = self.run, self.n_runs
        given = [each for each in run.verdicts if each.word in WORDS]
        which = f"run {run.trajectory_id}" + (f", one of {n_runs:,}" if n_runs > 1 else "")
        if not given:
            return f"On {which}, no judge gave a verdict: {many(len(run.verdicts), 'verdict')} lost."
        judges = {each.judge for each in given}
        if len(judges) == 1:
            failed = [each.axis for each in given if each.word == "incorrect"]
            what = f"calls {listed(failed)} incorrect" if failed else "calls no axis incorrect"
            asked = f"({many(len(run.axes), 'axis')} asked)"
            return f"On {which}, {given[0].judge} {what} {asked}. One judge has nobody to agree with."
        return f"On {which}, {_of_one_mind(run, len(judges))}. {ONE_RUN}"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The steps from left to right, with every judge's marks."""
        return plot_trace(self.run, ax=ax)


def run_timeline(
    ratings: Given, runs: Trajectory | Sequence[Trajectory], trajectory_id: str = "", *, repeat: int = 0
) -> RunTimeline:
    """One run with what the judges say of it and where they point.

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns); ratings of other trajectories, of single steps
        and of other repeats are passed over.
    runs : Trajectory or sequence of Trajectory
        The run, or those to choose from.
    trajectory_id : str, optional
        Which of several; by default the most contested one: the run with the most axes on which one judge says correct
        and another incorrect, among equals the one with the most steps cited for an incorrect verdict.
    repeat : int
        Which repeat of the judges.

    Raises
    ------
    InputError
        No such run, or several of one id; no verdicts on it, or two of one judge on one axis.
    """
    verdicts = verdicts_of(ratings, repeat)
    if isinstance(runs, Trajectory):
        run, n_runs = runs, 1
    else:
        here = verdicts if trajectory_id else verdicts.filter(pl.col("trajectory_id").is_in([run.id for run in runs]))
        if here.is_empty():
            raise TooLittle("ratings", "must hold verdicts on one of these runs", cure="judge some of them first")
        run, n_runs = pick(runs, trajectory_id or most_contested(here)), len(runs)
    shown = traced(run, verdicts)
    return RunTimeline(shown, n_runs, kind=kind_of(ratings), made_up=shown.made_up)


def pick(runs: Sequence[Trajectory], trajectory_id: str) -> Trajectory:
    """The one run of that id; where there is none, the nearest id is suggested."""
    named = [run for run in runs if run.id == trajectory_id]
    if len(named) > 1:
        raise InputError("trajectory_id", "must name one run", f"{trajectory_id}, the id of {len(named)} runs")
    if named:
        return named[0]
    raise no_such_run("trajectory_id", trajectory_id, [run.id for run in runs])


class RunVerdicts(_OfRun, name="verdicts", caption="Who says what, how sure, and citing which steps"):
    """Who says what of the run, how sure, and citing which steps."""

    _rows = "run.verdicts", columns("axis judge verdict=word confidence cited_steps not_in_the_run")
    _keys: ClassVar = {"verdicts": "run.verdicts"}

    @property
    def side_by_side(self) -> Table:
        """One row an axis: each judge's verdict at its confidence, and the steps that all cite."""
        return table_of(side_by_side(self.run.verdicts), self.kind, columns=("axis",))

    @property
    def answer(self) -> str:
        """Who says what on each axis that is not found correct by all."""
        return " ".join(verdict_sentences(self.run))


def run_verdicts(timeline: RunTimeline) -> RunVerdicts:
    """The verdicts on the run, axis by axis."""
    return RunVerdicts(timeline.run, kind=timeline.kind, made_up=timeline.made_up)


class RunOverlaps(
    _OfRun, name="overlaps", caption="Shared evidence: cited by both over cited by either, and the same by chance"
):
    """Steps that two judges share on an axis: cited by both over cited by either, and the same by chance."""

    _rows = (
        "run.overlaps",
        columns(
            "axis judges=named same_verdict both_cite either_cites=n_either overlap=jaccard by_chance=chance distance"
        ),
    )
    _keys: ClassVar = {"overlaps": "run.overlaps"}

    @property
    def answer(self) -> str:
        """How far equal verdicts share evidence."""
        if not self.run.overlaps:
            return "No axis has verdicts of two judges, so that there is no common evidence to look for."
        agree = [pair for pair in self.run.overlaps if pair.same_verdict]
        if not agree:
            return "No two judges give the same verdict on an axis, so that there is no common evidence to look for."
        grounded = sum(bool(pair.shared) for pair in agree)
        alone = dict.fromkeys(pair.axis for pair in agree if not pair.shared and pair.n_either)
        cite = f"in {grounded} of them they cite a common step" if grounded else "they never cite a common step"
        apart = f"; the pairs without one are on {listed(list(alone))}" if alone else ""
        return f"In {many(len(agree), 'pair')} of verdicts two judges say the same on an axis; {cite}{apart}."


def run_overlaps(timeline: RunTimeline) -> RunOverlaps:
    """How far two judges point to the same steps of the run."""
    return RunOverlaps(timeline.run, kind=timeline.kind, made_up=timeline.made_up)


class PublishedTrace(Part, caption="A run and its verdicts as published", of_ratings=False):
    """The published verdicts of the judges on one run; steps that were not published are not known, not absent.

    `title` heads the figure of its steps.
    """

    _keys: ClassVar = {"judgements": "judgements", "steps": "steps", "sentence": "answer"}

    judgements: tuple[TracedVerdict, ...]
    steps: tuple[tuple[int, str], ...] = ()
    title: str = ""

    @property
    def table(self) -> Table:
        """One row an axis."""
        return table_of(side_by_side(self.judgements, unknown="not published"), self.kind)

    @property
    def _shows(self) -> str:
        judges = listed(list(dict.fromkeys(each.judge for each in self.judgements)))
        return f"a real run, published with the verdicts of {judges}"

    @property
    def answer(self) -> str:
        """How far the judges are of one mind, where they cite common steps, and how their confidences differ."""
        names = dict.fromkeys(each.axis for each in self.judgements)
        axes = {axis: [each for each in self.judgements if each.axis == axis] for axis in names}
        agree = [axis for axis, of in axes.items() if len({each.word for each in of}) == 1]
        failed = [axis for axis in agree if axes[axis][0].word == "incorrect"]
        common = {axis: sorted(set.intersection(*(set(each.cited) for each in axes[axis]))) for axis in failed}
        judges = list(dict.fromkeys(each.judge for each in self.judgements))
        named = {axis: f" (step{'s' * (len(of) > 1)} {listed([*map(str, of)])})" for axis, of in common.items() if of}
        wrong = [f"{theme.in_words(axis)} is wrong{named.get(axis, ', citing no common step')}" for axis in failed]
        called = f": {listed(wrong)}" if wrong else ""
        on = f"all {len(axes)} axes" if len(agree) == len(axes) > 1 else f"{len(agree)} of {many(len(axes), 'axis')}"
        return f"{listed(judges)} give the same verdict on {on}{called}."

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """What happened, from above to below, with the axes on which judges call a step wrong; empty without steps."""
        ax = theme.new_axes(5.4, 0.9 + 0.42 * len(self.steps)) if ax is None else ax
        blamed: dict[int, dict[str, list[str]]] = {}
        for each in self.judgements:
            for step in each.cited if each.verdict == "incorrect" else ():
                blamed.setdefault(step, {}).setdefault(each.axis, []).append(each.judge)
        for row, (step, what) in enumerate(self.steps):
            wrong = blamed.get(step, {})
            look = theme.VERDICTS["incorrect" if wrong else "not_applicable"]
            ax.plot(0, row, "X" if wrong else "o", color=look.colour, markersize=10 if wrong else 6)
            words: dict[str, Any] = {"va": "center", "fontsize": theme.LABEL}
            ax.text(-0.04, row, f"step {step}", **words, ha="right", color=theme.QUIET)
            ax.text(0.04, row, what, **words, color=theme.INK if wrong else theme.QUIET)
            named = "; ".join(f"{theme.in_words(axis)}: {many(len(of), 'judge')}" for axis, of in wrong.items())
            ax.text(0.04, row + 0.36, named, va="center", fontsize=theme.SMALL, color=look.colour)
        ax.plot([0, 0], [0, max(0, len(self.steps) - 1)], color=theme.FAINT, linewidth=2, zorder=0)
        ax.set(xlim=(-0.2, 1), ylim=(len(self.steps) - 0.3, -0.5))
        ax.set_axis_off()
        how = "selected steps, read downwards; a cross: cited by judges, who call wrong what the orange words name"
        return theme.dress(ax, self.title or self.caption, how=how)


def published_trace(verdicts: Given, steps: Given | None = None, *, title: str = "") -> PublishedTrace:
    """Read published verdicts on one run.

    Parameters
    ----------
    verdicts : table
        Columns axis, judge, family, verdict, confidence, cited_step_indices (numbers apart by spaces, empty where they
        were not published).
    steps : table, optional
        Columns step and what: what happened at the steps that are told of, in their order.
    title : str
        What went wrong, in a few words, over the figure of the steps.

    Raises
    ------
    InputError
        A column is missing.
    """
    needed = ("axis", "judge", "family", "verdict", "confidence", "cited_step_indices")
    judgements = tuple(
        TracedVerdict(
            **{name: row[name] for name in needed[:-1]},
            status="ok",
            cited=tuple(int(step) for step in str(row["cited_step_indices"] or "").split()),
            invalid=(),
            rationale="",
        )
        for row in to_polars(verdicts, needed, where="verdicts").iter_rows(named=True)
    )
    rows = () if steps is None else to_polars(steps, ("step", "what"), where="steps").select("step", "what").iter_rows()
    return PublishedTrace(judgements, tuple(rows), title, kind=kind_of(verdicts))


def side_by_side(judgements: Sequence[TracedVerdict], *, unknown: str = "–") -> list[dict[str, Any]]:
    """One row an axis: each judge's verdict at its confidence, then the steps that all of them cite."""
    judges = list(dict.fromkeys(each.judge for each in judgements))
    rows = []
    for axis in dict.fromkeys(each.axis for each in judgements):
        of = {each.judge: each for each in judgements if each.axis == axis}
        cells = {judge: brief(of[judge]) if judge in of else "–" for judge in judges}
        cited = [set(each.cited) for each in of.values()]
        common = sorted(set.intersection(*cited)) if len(cited) > 1 else ()
        rows.append({"axis": axis, **cells, "cited by all": joined(common) or unknown})
    return rows


class Trace(Study):
    """A run with the judges' verdicts and the steps they cite."""

    timeline: RunTimeline
    verdicts: RunVerdicts
    overlaps: RunOverlaps


def trace(
    ratings: Given, runs: Trajectory | Sequence[Trajectory], trajectory_id: str = "", *, repeat: int = 0
) -> Trace:
    """What happened in a run, and which steps do judges point to?

    Parameters
    ----------
    ratings, runs, trajectory_id, repeat
        As `run_timeline` takes them.

    Raises
    ------
    InputError
        No such run, or several of one id; no verdicts on it, or two of one judge on one axis.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> result = axisjudge.studies.trace(axisjudge.judge(runs, ["rules"], progress=False), runs)
    >>> len(result.timeline.table) == len(result.timeline.run.steps)
    True
    """
    timeline = run_timeline(ratings, runs, trajectory_id, repeat=repeat)
    return Trace(timeline=timeline, verdicts=run_verdicts(timeline), overlaps=run_overlaps(timeline))


#: What is not known from one run.
ONE_RUN = "Judges do not show who is right, nor one run how often they differ."


def next_step(run: TracedRun, *, published: bool = False) -> str:
    """Which verdicts to read, and who settles them; of a `published` run only what readers can do themselves."""
    if published:
        below = f"{'simulated ' * bool(run.made_up)}judges differ on run {run.trajectory_id}: label that one"
        return (
            f"Have a person label such a run before trusting two judges that agree. Below, {below} (axisjudge label)."
        )
    if run.contested:
        where = f"Read run {run.trajectory_id} below, on which judges differ ({listed(run.contested)})"
        return f"{where}, and label it yourself (axisjudge label): only people's labels say who is right."
    return "Read a run on which judges differ, those most split are listed below, and label it (axisjudge label)."


def _of_one_mind(run: TracedRun, n_judges: int) -> str:
    """On which axes judges contradict each other, and on how many all say correct."""
    axes = many(len(run.axes), "axis")
    where = f" ({listed(run.contested)})" if run.contested else ""
    clash = f"contradict each other on {len(run.contested) or 'none'} of {axes}{where}"
    return f"{many(n_judges, 'judge')} {clash}, and on {len(run.correct) or 'none'} do all of them say correct"


def verdict_sentences(run: TracedRun) -> tuple[str, ...]:
    """Who says what, one sentence for each axis that is not found correct by all."""
    return tuple(_on_axis(run, axis) for axis in run.axes if axis not in run.correct)


def _on_axis(run: TracedRun, axis: str) -> str:
    """On axis: verdicts with their judges and the steps they point to."""
    parts = []
    for verdict in dict.fromkeys(each.word for each in run.on(axis)):
        who = [each for each in run.on(axis) if each.word == verdict]
        steps = [str(step) for step in sorted({step for each in who for step in each.cited})]
        apart = len({tuple(sorted(set(each.cited))) for each in who}) > 1  # they do not all cite the same steps
        cite = "between them cite" if apart else "cite" if who[1:] else "cites"
        cited = f" and {cite} step{'s' if steps[1:] else ''} {listed(steps)}" if steps else ""
        names = [
            each.judge if each.confidence is None else f"{each.judge} ({each.confidence:.2f} sure)" for each in who
        ]
        says = f"{'say' if who[1:] else 'says'} {verdict}{cited}"
        parts.append(f"{listed(names)} {says if verdict in WORDS else f'gave no verdict: {verdict}'}")
    return f"{axis}: {'; '.join(parts)}."


def brief(judgement: TracedVerdict) -> str:
    """A verdict at its confidence: ``incorrect at 0.90``."""
    at = "" if judgement.confidence is None else f" at {judgement.confidence:.2f}"
    return f"{judgement.word}{at}"


open_door(trace)
