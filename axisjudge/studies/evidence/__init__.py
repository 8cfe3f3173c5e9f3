"""Do judges point at the same steps, and does a judge agree with itself? (notebook 02)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from axisjudge.figures.marks import interval_mark, intervals, named_rows, percent_tick
from axisjudge.figures.theme import (
    ACCENT,
    INK,
    LABEL,
    QUIET,
    SMALL,
    describe,
    dress,
    grid,
    in_words,
    new_axes,
    side_by_side,
)
from axisjudge.ratings.edge import as_ratings
from axisjudge.studies._shared.citations import CitationReport, citation_report
from axisjudge.studies._shared.frames import Given, Table, made_up_raters
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies.evidence import sentences as say
from axisjudge.studies.evidence.chance import BesideChance, beside_chance
from axisjudge.studies.evidence.repeats import (
    PublishedRepeat,
    RepeatReport,
    SelfPreferenceReport,
    published_repeat,
    repeat_report,
    self_preference_report,
)
from axisjudge.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "AskedAgain",
    "BesideChance",
    "CitationsOfJudges",
    "Evidence",
    "PublishedRepeat",
    "SelfPreferenceReport",
    "SharedSteps",
    "asked_again",
    "beside_chance",
    "cited_steps",
    "evidence",
    "own_family",
    "published_repeat",
    "shared_steps",
]

_MARKERS = "osD^vP*X"


def plot_citation_overlap(report: CitationReport, *, ax: Axes | None = None) -> Axes:
    """Overlap of cited steps for each pair of judges, a panel a question; the tick is chance."""
    pairs = [pair for pair in report.pairs if pair.cited.n_both]
    questions = list(dict.fromkeys(pair.question for pair in pairs))
    names = list(dict.fromkeys(_names(pair.judges, pair.rubric_version) for pair in pairs))
    figure, axes = _panels(questions, names, ax)
    for ax, question in zip(axes, questions, strict=True):
        for pair in (pair for pair in pairs if pair.question == question):
            at = names.index(_names(pair.judges, pair.rubric_version))
            overlap = pair.cited.overlap
            interval_mark(ax, overlap, at, size=5)
            ax.plot(pair.cited.chance, at, "|", color="#A34700", markersize=11, markeredgewidth=1.8)
        _named(ax, question)
    axes[0].set_xlim(left=0)
    axes[0].plot([], [], "o-", color=ACCENT, label="overlap (Jaccard) with its interval over tasks")
    axes[0].plot(
        [], [], "|", color="#A34700", markersize=11, markeredgewidth=1.8, label="the same by chance in these runs"
    )
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=SMALL, labelcolor=QUIET)
    widest = max((pair.cited.overlap for pair in pairs), key=lambda estimate: estimate.n_clusters)
    describe(figure, f"dots: shared steps over steps cited by either; ticks: the same by chance; {intervals(widest)}")
    return axes[0]


def plot_self_agreement(report: RepeatReport, *, ax: Axes | None = None) -> Axes:
    """Self-agreement of each judge that was asked again, a panel a question."""
    asked = [(each, each.with_itself.agreement) for each in report.judges if each.with_itself is not None]
    questions = list(dict.fromkeys(each.question for each, _ in asked))
    names = list(dict.fromkeys(_short(each.judge) for each, _ in asked))
    figure, axes = _panels(questions, names, ax)
    for ax, question in zip(axes, questions, strict=True):
        for at, estimate in (
            (names.index(_short(e.judge)), estimate) for e, estimate in asked if e.question == question
        ):
            interval_mark(ax, estimate, at, marker=_MARKERS[at % len(_MARKERS)], size=5)
        _named(ax, question)
    axes[0].set_xlabel("share of equal verdicts in two calls, with its interval over tasks", loc="left")
    axes[0].xaxis.label.set(fontsize=SMALL, color=QUIET)
    widest = max((estimate for _, estimate in asked), key=lambda estimate: estimate.n_clusters)
    describe(figure, f"share of equal verdicts in two calls for the same run; {intervals(widest)}")
    return axes[0]


def _named(ax: Axes, question: str) -> None:
    dress(ax, "")
    ax.set_title(in_words(question), loc="left", fontsize=LABEL, fontweight="bold", color=INK)


def _panels(questions: list[str], names: list[str], ax: Axes | None) -> tuple[Figure, list[Axes]]:
    import matplotlib as mpl

    ax = new_axes(1.85 * len(questions) + 1.6, 0.34 * len(names) + 1.3) if ax is None else ax
    axes = side_by_side(ax, len(questions), sharex=True)
    for each in axes:
        named_rows(each, names)
        each.tick_params(axis="y", labelsize=SMALL)
        each.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
        each.xaxis.set_major_formatter(percent_tick)
        grid(each)
    return axes[0].figure, axes  # type: ignore[return-value]


def _names(judges: tuple[str, str], version: str | None) -> str:
    both = " and ".join(_short(judge) for judge in judges)
    return both if version is None else f"{both}, {version}"


def _short(judge: str) -> str:
    return judge.removeprefix("simulated:")


@dataclass(frozen=True, eq=False, repr=False)
class SharedSteps(Part):
    """The steps that two judges share, beside chance, for each question, rubric version and pair of judges."""

    name: ClassVar = "citations"
    caption: ClassVar = "Shared evidence per question and pair of judges"

    citations: CitationReport

    @property
    def table(self) -> Table:
        """One row for each question, rubric version and pair of judges."""
        return self.citations.to_frame()

    @property
    def unshared(self) -> Table:
        """Equal verdicts without a common step, one row a run and pair: to be read first."""
        return self.citations.listed()

    @property
    def answer(self) -> str:
        """What citations show and what they do not."""
        return " ".join(self.citations.sentences)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Overlap of cited steps, a panel a question; the tick is chance."""
        both = any(pair.cited.n_both for pair in self.citations.pairs)
        return plot_citation_overlap(self.citations, ax=ax) if both else super().plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Judges, pairs and why there is no chance."""
        return self.citations.to_dict()


def shared_steps(
    ratings: Given,
    runs: Sequence[Trajectory] = (),
    *,
    repeat: int = 0,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> SharedSteps:
    """Do judges that agree point at the same steps?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns).
    runs : sequence of Trajectory
        The runs that were rated (others are passed over): their numbers of steps tell which shared steps are chance.
    repeat : int
        Which repeat of the judges is looked at.
    cluster_unit : str
        What `cluster_id` is.
    ci_level : float
        Of all intervals.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat, or runs that contradict the ratings.
    """
    table = as_ratings(ratings)
    rated = set(table["trajectory_id"])
    steps = {run.id: len(run.steps) for run in runs if run.id in rated} or None
    report = citation_report(ratings, steps=steps, repeat=repeat, cluster_unit=cluster_unit, ci_level=ci_level)
    return SharedSteps(report, made_up=made_up_raters(table))


@dataclass(frozen=True, eq=False, repr=False)
class CitationsOfJudges(Part):
    """Citations per judge, and the share of cited steps that exist."""

    name: ClassVar = "cited_steps"
    caption: ClassVar = "Citations per judge, and the share of cited steps that exist"

    citations: CitationReport

    @property
    def table(self) -> Table:
        """One row a judge."""
        return self.citations.judges_frame()

    @property
    def answer(self) -> str:
        """How many of each judge's cited steps exist."""
        return " ".join(judge.sentence for judge in self.citations.judges if judge.n_cited)

    def to_dict(self) -> dict[str, Any]:
        """Every judge; the pairs stand with the shared steps."""
        return {"judges": [judge.to_dict() for judge in self.citations.judges]}


def cited_steps(shared: SharedSteps) -> CitationsOfJudges:
    """Whether cited steps exist, judge by judge."""
    return CitationsOfJudges(shared.citations, made_up=shared.made_up)


@dataclass(frozen=True, eq=False, repr=False)
class AskedAgain(Part):
    """Self-agreement and flips per judge and question, and where the variance of verdicts comes from."""

    name: ClassVar = "repeats"
    caption: ClassVar = "Each judge asked again"

    repeats: RepeatReport

    @property
    def table(self) -> Table:
        """One row a judge and question."""
        return self.repeats.to_frame()

    @property
    def answer(self) -> str:
        """How far judges agree with themselves, and who cannot be said."""
        return " ".join(self.repeats.sentences)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share of equal verdicts in two calls, a panel a question."""
        return plot_self_agreement(self.repeats, ax=ax) if self.repeats.any_again else super().plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Judges and variances."""
        return self.repeats.to_dict()


def asked_again(ratings: Given, *, n_bands: int = 3, cluster_unit: str = "task", ci_level: float = 0.95) -> AskedAgain:
    """Does a judge agree with itself?

    Parameters
    ----------
    n_bands : int
        Into how many bands a judge's items are split at the quantiles of its mean confidence over repeats.
    """
    report = repeat_report(ratings, n_bands=n_bands, cluster_unit=cluster_unit, ci_level=ci_level)
    return AskedAgain(report, made_up=made_up_raters(as_ratings(ratings)))


def own_family(
    ratings: Given, runs: Sequence[Trajectory] = (), *, repeat: int = 0, ci_level: float = 0.95
) -> SelfPreferenceReport | None:
    """Are judges kinder to agents of their own family? None where no agent's family is known."""
    rated = set(as_ratings(ratings)["trajectory_id"])
    families = {run.id: run.agent_family for run in runs if run.id in rated and run.agent_family}
    return self_preference_report(ratings, families, repeat=repeat, ci_level=ci_level) if families else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Evidence(Study):
    """Cited steps of judges, judges asked again, and judges of an agent's own family (None: no family is known)."""

    shared: SharedSteps
    cited: CitationsOfJudges
    repeats: AskedAgain
    self_preference: SelfPreferenceReport | None

    @property
    def answer(self) -> str:
        """Whether judges share more steps than chance, and who agrees least with itself."""
        return answer_of(self.shared, self.repeats)


def answer_of(shared: SharedSteps, repeats: AskedAgain) -> str:
    """Whether judges share more steps than chance, and who agrees least with itself."""
    judges = repeats.repeats.judges
    again = {f"{each.judge} on {each.question}": each.with_itself for each in judges if each.with_itself}
    citations = shared.citations
    return say.answer(citations.overlap_sentence if citations.any_cited else citations.sentences[0], again)


def evidence(
    ratings: Given,
    runs: Sequence[Trajectory] = (),
    *,
    repeat: int = 0,
    n_bands: int = 3,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Evidence:
    """Do judges point at the same steps, and does a judge agree with itself?

    Parameters
    ----------
    ratings, runs, repeat, cluster_unit, ci_level
        As `shared_steps` takes them; the ratings with all repeats.
    n_bands
        As `asked_again` takes it.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat, or runs that contradict the ratings.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules", "simulated:heron"], repeats=2, progress=False)
    >>> len(axisjudge.studies.evidence(ratings, runs).shared.table)
    5
    """
    shared = shared_steps(ratings, runs, repeat=repeat, cluster_unit=cluster_unit, ci_level=ci_level)
    return Evidence(
        shared=shared,
        cited=cited_steps(shared),
        repeats=asked_again(ratings, n_bands=n_bands, cluster_unit=cluster_unit, ci_level=ci_level),
        self_preference=own_family(ratings, runs, repeat=repeat, ci_level=ci_level),
    )


open_door(evidence)
