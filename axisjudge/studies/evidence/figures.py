"""Figures of what stands behind verdicts: cited steps that judges share, and judges that are asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from axisjudge.studies._shared.citations import CitationReport
from axisjudge.studies.evidence.repeats import RepeatReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
