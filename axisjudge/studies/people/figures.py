"""Figures of judges against people: agreement beside the ceiling, corrected failure rates, the stand-in test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from axisjudge.figures import theme
from axisjudge.figures.marks import interval_mark, intervals, named_rows, percent_tick
from axisjudge.stats.estimate import Estimate
from axisjudge.studies.people.compared import HumanComparison, QuestionComparison
from axisjudge.studies.people.judges import JudgeComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORRECTED, CEILING = "#D55E00", "#e4e4e4"


def plot_against_people(comparison: HumanComparison, *, ax: Axes | None = None) -> Axes:
    """The share of items on which each judge says what people say, the highest first.

    Grey is what people reach among themselves; the line is a judge that always says the commonest word.
    """

    def draw(ax: Axes, row: int, judge: JudgeComparison) -> None:
        _mark(ax, row, judge.majority.accuracy.given)

    def backdrop(ax: Axes, question: QuestionComparison) -> None:
        if question.ceiling:
            _band(ax, question.ceiling["percent"])
        alone = [judge.majority.constant_accuracy for judge in question.judges]
        ax.axvline(float(np.nanmax(alone)), color=CORRECTED, linewidth=1.2, zorder=1)

    grey = "grey: people among themselves" if comparison.has_ceiling else "one person labelled, so there is no ceiling"
    note = f"share of items on which the judge says what people say; line: always the commonest word; {grey}"
    drawn = [judge.majority.accuracy.given for _, judge in comparison.pairs()]
    return _panels(comparison, draw, backdrop, "Judges against people", note, drawn, percent=True, ax=ax)


def plot_corrected_rates(comparison: HumanComparison, *, ax: Axes | None = None) -> Axes:
    """Failure rates of all agents: what each judge says (hollow), and what people would say, corrected (filled)."""

    def draw(ax: Axes, row: int, judge: JudgeComparison) -> None:
        if judge.rates is not None:
            own = judge.rates.overall.apparent.estimate
            ax.plot(own, row + 0.16, "o", markersize=5, markerfacecolor="white", markeredgecolor=theme.ACCENT)
            _mark(ax, row - 0.16, judge.rates.overall.rate, colour=CORRECTED)

    def backdrop(ax: Axes, question: QuestionComparison) -> None:
        """The labels without a judge; the widest of the judges', which differ by the items each was asked."""
        alone = [judge.rates.overall.labels_alone for judge in question.judges if judge.rates is not None]
        widths = [np.nan_to_num(each.ci_high - each.ci_low) for each in alone]
        if alone:
            _band(ax, alone[int(np.argmax(widths))])

    note = "hollow: share that the judge calls incorrect; filled: corrected by people's labels; grey: the labels alone"
    drawn = [judge.rates.overall.rate for _, judge in comparison.pairs() if judge.rates is not None]
    return _panels(
        comparison, draw, backdrop, "Failure rates, as judges say and as people would", note, drawn, percent=True, ax=ax
    )


def plot_stand_in(comparison: HumanComparison, *, ax: Axes | None = None) -> Axes:
    """Advantage probability of every judge over one more person; the line is the best constant judge."""

    def draw(ax: Axes, row: int, judge: JudgeComparison) -> None:
        test, constant = judge.stand_in.judge, judge.stand_in.constant.advantage.estimate
        _mark(ax, row, test.advantage, filled=test.passed)
        ax.plot([constant] * 2, [row - 0.35, row + 0.35], color=CORRECTED, linewidth=1.6)

    note = (
        f"mean share of items on which the judge does at least as well as a person; filled: passes at epsilon "
        f"{comparison.epsilon:g}; bar: the best judge that always says one word"
    )
    drawn = [judge.stand_in.judge.advantage for _, judge in comparison.pairs()]
    return _panels(comparison, draw, None, "May a judge stand in for a person?", note, drawn, percent=True, ax=ax)


def _panels(
    comparison: HumanComparison,
    draw: Callable[[Axes, int, JudgeComparison], None],
    backdrop: Callable[[Axes, QuestionComparison], None] | None,
    title: str,
    note: str,
    drawn: Sequence[Estimate],
    *,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """One panel a question side by side, judges from top to bottom in one order, those first that people agree with."""
    import matplotlib.pyplot as plt

    shares: dict[str, list[float]] = {}
    for _, judge in comparison.pairs():
        shares.setdefault(judge.judge, []).append(np.nan_to_num(judge.majority.accuracy.given.estimate))
    judges = sorted(shares, key=lambda name: -float(np.mean(shares[name])))
    n = len(comparison.questions)
    size = (max(7.0, 2.0 + 1.75 * n), 0.27 * len(judges) + 1.5)
    if ax is not None and n == 1:
        figure: Any = ax.get_figure(root=True)
        axes = np.array([[ax]])
    else:
        figure, axes = plt.subplots(1, n, figsize=size, sharex=True, sharey=True, squeeze=False)
        figure.set_layout_engine("constrained", w_pad=0.05)
    for ax, question in zip(axes[0], comparison.questions, strict=True):
        if backdrop is not None:
            backdrop(ax, question)
        for judge in question.judges:
            draw(ax, judges.index(judge.judge), judge)
        ax.set_title(theme.in_words(question.question), fontsize=theme.LABEL, color=theme.INK, loc="left")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.spines["bottom"].set_color(theme.FAINT)
        ax.grid(axis="x", color=theme.FAINT, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(length=0, labelsize=theme.SMALL, colors=theme.INK)
        ax.xaxis.set_major_formatter(percent_tick if percent else "{x:.2f}")
    named_rows(axes[0][0], [judge.removeprefix("simulated:") for judge in judges])
    figure.suptitle(title, x=0.01, ha="left", fontsize=theme.TITLE, color=theme.INK, fontweight="bold")
    figure.supxlabel(note, x=0.01, ha="left", fontsize=theme.SMALL, color=theme.QUIET)
    widest = max(drawn, key=lambda estimate: estimate.n_clusters, default=None)
    theme.describe(figure, note if widest is None else f"{note}; {intervals(widest)}")
    return axes[0][0]  # type: ignore[no-any-return]


def _mark(ax: Axes, row: float, estimate: Estimate, *, colour: str = theme.ACCENT, filled: bool = True) -> None:
    """An estimate with its interval, and a dash at the edge where there is none."""
    interval_mark(ax, estimate, row, colour=colour, filled=filled, size=5, solid_capstyle="butt")
    if math.isnan(estimate.estimate):
        ax.annotate(
            "–", (0.02, row), xycoords=("axes fraction", "data"), color=theme.QUIET, fontsize=theme.SMALL, va="center"
        )


def _band(ax: Axes, estimate: Estimate) -> None:
    """Grey over the interval, if there is one."""
    if not math.isnan(estimate.ci_low):
        ax.axvspan(estimate.ci_low, estimate.ci_high, color=CEILING, linewidth=0, zorder=0)
