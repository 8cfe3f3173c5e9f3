"""The tables of a comparison with people, each a row a thing; of the caller's kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from axisjudge.cluster import watched
from axisjudge.figures import theme
from axisjudge.results import columns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.fairness import StratumFairness
from axisjudge.stats.reference import Bounded
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies._shared.words import in_cell, in_points
from axisjudge.studies.people.compared import HumanComparison, PlantedRate, QuestionComparison, QuestionFairness
from axisjudge.studies.people.judges import ClaimAnswer, ClaimKind, JudgeComparison
from axisjudge.studies.people.sentences import claim_row, rate_note

Row = Sequence[Any]

SHARES = ("accuracy", "sensitivity", "specificity")


def claims_table(comparison: HumanComparison) -> Table:
    """One row a question and judge, one column a claim: may, not shown yet, may not, or not checked."""
    kinds = list(dict.fromkeys(claim.kind for claim in comparison.claims))

    def rows(question: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        answers = {claim.kind: claim.answer.value for claim in question.claims if claim.judge == judge.judge}
        yield [answers.get(kind, "–") for kind in kinds]

    return _by_judge(comparison, [kind.value for kind in kinds], rows)


def reasons_table(comparison: HumanComparison) -> Table:
    """One row a claim, with the figure behind the answer and how many other verdicts would overturn it."""
    named = columns("question judge claim=text answer because", {"overturned by": "overturned_by"})
    rows = (claim_row(claim) for claim in watched(list(comparison.claims), "what would overturn a claim"))
    return _table([*named], ([row[key] for key in named.values()] for row in rows), comparison.kind)


#: Headings of the coefficients with people: of words, of words in order, of questions of both kinds.
_NOMINAL, _ORDERED = ("kappa", "AC1", "nominal alpha"), ("quadratic kappa", "quadratic AC2", "ordinal alpha")
_BOTH = ("kappa, quadratic of grades", "AC1, AC2 of grades", "alpha, ordinal of grades")


def _headings(comparison: HumanComparison) -> tuple[str, ...]:
    ordered = {question.panel.ordered for question in comparison.questions}
    return _BOTH if len(ordered) > 1 else _ORDERED if ordered == {True} else _NOMINAL


def judges_table(comparison: HumanComparison) -> Table:
    """One row a question and judge against the majority of people, with what people reach among themselves."""

    def rows(question: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        one, ceiling = judge.majority, in_cell(question.ceiling["kappa"]) if question.ceiling else "one person"
        figures = [*(_share(getattr(one, name).given) for name in SHARES), *map(in_cell, one.coefficients.values())]
        yield one.n_items, *figures, _share(one.coverage), _percent(one.constant_accuracy), ceiling

    named = _headings(comparison)
    columns = ("n", *SHARES, *named, "verdicts given", "always one word", f"people's {named[0]}")
    return _by_judge(comparison, columns, rows)


def bounds_table(comparison: HumanComparison) -> Table:
    """What lost and undecided verdicts could hide: shares as given, and had each been wrong, or right.

    The interval runs from the lower end of the one to the upper end of the other.
    """

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        one = judge.majority
        if missing := one.accuracy.given.n_missing:
            yield missing, one.n_items, *(_bounded(getattr(one, name)) for name in SHARES)

    return _by_judge(comparison, ("no verdict", "of", *SHARES), rows)


def left_out_table(comparison: HumanComparison) -> Table:
    """One row a question, judge and person: both against the majority of the other people, on the same items."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        for one in judge.left_out:
            both = (one.judge, one.themselves)
            shares = [_share(rater.accuracy.given) for rater in both]
            kappas = [in_cell(rater.coefficients["kappa"]) for rater in both]
            yield one.person, one.themselves.n_items, *shares, *kappas, _points(judge.behind)

    kappa = f"judge's {_headings(comparison)[0]}"
    columns = ("person", "n", "judge's accuracy", "person's", kappa, "their own", "behind")
    return _by_judge(comparison, columns, rows)


def failing_table(comparison: HumanComparison) -> Table:
    """One row a question and judge: precision, recall and F1 of the word that means failure."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        if of := judge.failing:
            yield of.precision.n_items, of.recall.n_items, *map(in_cell, (of.precision, of.recall, of.f1))

    return _by_judge(comparison, ("flagged, with label", "failed, with side", "precision", "recall", "F1"), rows)


def stand_in_table(comparison: HumanComparison) -> Table:
    """One row a question and judge: the alternative annotator test, the best constant judge beside it."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        test, beside = judge.stand_in.judge, judge.stand_in
        if not test.refusal:
            constant = (beside.constant_word, beside.constant.winning_rate)
            balanced = (beside.balanced.winning_rate, beside.balanced_constant.winning_rate)
            passed = "yes" if test.passed else "no"
            yield len(test.tested), test.winning_rate, in_cell(test.advantage), passed, *constant, *balanced

    test = ("people", "winning rate", "advantage", "passed")
    columns = (*test, "constant", "its winning rate", "balanced", "constant, balanced")
    return _by_judge(comparison, columns, rows)


def steps_table(comparison: HumanComparison) -> Table:
    """One row a question, judge and distance: cited steps against people's; empty where nobody cites any."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        for one in judge.cited:
            yield one.within, one.n_items, one.n_both, *map(_share, (one.precision, one.recall, one.found))

    return _by_judge(comparison, ("within", "failures", "both cite", "precision", "recall", "found of all"), rows)


def rates_table(comparison: HumanComparison) -> Table:
    """One row a question, judge and agent: the judge's failure rate, the corrected one, that of the labels alone."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        for agent, one, ranks in judge.rates.listed if judge.rates is not None else ():
            counts = (one.rate.n_items, one.rate.n_items - one.rate.n_missing)
            rates = (_percent(one.apparent.estimate), _share(one.rate), _share(one.labels_alone))
            yield agent, *counts, *rates, ranks, rate_note(one)

    columns = ("agent", "items", "labels", "judge says", "corrected", "labels alone", "rank", "note")
    return _by_judge(comparison, columns, rows)


def differences_table(comparison: HumanComparison) -> Table:
    """One row a question, judge and two agents whose failure rates were corrected: first minus second, in points."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        for agent, other, difference in judge.rates.differences if judge.rates is not None else ():
            if not math.isnan(difference.estimate):
                yield agent, other, _points(difference)

    return _by_judge(comparison, ("agent", "other", "difference"), rows)


def confusion_table(comparison: HumanComparison) -> Table:
    """One row a question, judge and word of the people: how often the judge said what."""
    words = list(dict.fromkeys(word for question in comparison.questions for word in question.panel.sides))

    def rows(question: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        for word, counts in zip(question.panel.categories, judge.majority.confusion.tolist(), strict=True):
            of = dict(zip(question.panel.categories, counts, strict=False))
            if sum(counts):
                yield word, *(of.get(other, 0) for other in words), counts[-1]

    return _by_judge(comparison, ("people say", *(f"judge: {word}" for word in words), "judge: no side"), rows)


def planted_table(rates: Iterable[PlantedRate], kind: Kind) -> Table:
    """One row a question and judge: the planted failure rate beside the judge's own and the corrected one."""
    names = ("question", "judge", "planted", "judge says", "labels alone", "corrected", "holds the planted rate")
    shares = attrgetter("corrected.apparent", "corrected.labels_alone", "corrected.rate")
    rows = (
        (one.question, one.judge, one.planted, *map(_share, shares(one)), one.held, one.held_by_judge) for one in rates
    )
    return _table((*names, "judge's interval does"), rows, kind)


def _by_judge(
    comparison: HumanComparison,
    columns: Sequence[str],
    rows: Callable[[QuestionComparison, JudgeComparison], Iterable[Row]],
) -> Table:
    """Rows of every question and judge."""
    every = ((of.question, judge.judge, *row) for of, judge in comparison.pairs() for row in rows(of, judge))
    return _table(("question", "judge", *columns), every, comparison.kind)


def _table(columns: Sequence[str], rows: Iterable[Row], kind: Kind) -> Table:
    return table_of([dict(zip(columns, row, strict=True)) for row in rows], kind, columns=columns)


def _percent(rate: float) -> str:
    return "–" if math.isnan(rate) else f"{rate:.0%}"


def _share(rate: Estimate) -> str:
    return in_cell(rate, ".0%")


def _points(difference: Estimate) -> str:
    return in_cell(in_points(difference), "+.0f")


def _bounded(rate: Bounded) -> str:
    points, ends = ((rate.worst, rate.best), (rate.low, rate.high))
    of_all, with_sampling = (" to ".join(map(_percent, each)) for each in (points, ends))
    return f"{_percent(rate.given.estimate)}, {of_all} (interval {with_sampling})"


_UNFAIR = (
    *("question", "by", "judge", "measure", "stratum", "items", "share"),
    *("minus elsewhere", "p, Holm", "answer", "none larger than"),
)


def unfair_table(fairness: Sequence[QuestionFairness], kind: Kind) -> Table:
    """One row a question, judge, measure and stratum, those that differ most surely first."""
    every = [(each, one) for each in fairness for one in each.differences]
    every.sort(key=lambda row: math.inf if math.isnan(row[1].p_adjusted) else row[1].p_adjusted)
    return _table(_UNFAIR, (_unfair(each, one) for each, one in every), kind)


def _unfair(each: QuestionFairness, one: StratumFairness) -> Row:
    share, p = one.of.share, one.p_adjusted
    names = (each.question, each.by, one.judge, one.measure, one.of.stratum, share.n_items, _share(share))
    tested = ("–", one.answer.value, "–") if math.isnan(p) else (f"{p:.3f}", one.answer.value, f"{one.within:.0%}")
    return *names, _points(one.of.difference), *tested


def strata_rates_table(fairness: Sequence[QuestionFairness], kind: Kind) -> Table:
    """One row a question and judge: the failure rate corrected by all labels together, and by each stratum's own."""
    columns = ("question", "by", "judge", "corrected together", "by strata of their own", "why not")
    every = ((each, one, one.own_strata) for each in fairness for one in each.rates)
    rows = ((of.question, of.by, one.judge, _share(one.together), _share(own), own.reason) for of, one, own in every)
    return _table(columns, rows, kind)


_CARRIED = {
    "says_failing": "the judge says incorrect",
    "right": "the judge says what people say",
    "corrected": "people would say incorrect",
}


def carried_table(fairness: Sequence[QuestionFairness], kind: Kind) -> Table:
    """One row a question, judge and share: among these runs, and carried to the stated mix."""
    columns = ("question", "by", "judge", "share of runs", "here", "in the mix", "why not")
    every = ((each, one, (_share(one.here), _share(one.there))) for each in fairness for one in each.carried)
    rows = ((of.question, of.by, one.judge, _CARRIED[one.measure], *both, one.there.reason) for of, one, both in every)
    return _table(columns, rows, kind)


_BEATS = {ClaimAnswer.MAY: "more", ClaimAnswer.MAY_NOT: "less"}
CORRECTED, CEILING = "#D55E00", "#e4e4e4"


def plot_against_people(comparison: HumanComparison, *, ax: theme.Axes | None = None) -> theme.Axes:
    """The share of items on which each judge says what people say, the highest first.

    Grey is what people reach among themselves; the line is a judge that always says the commonest word.
    """

    claims = (claim for claim in comparison.claims if claim.kind is ClaimKind.BEATS_ONE_WORD)
    beats = {(claim.question, claim.judge): _BEATS.get(claim.answer, "cannot tell") for claim in claims}
    answers = {id(judge): beats.get((question.question, judge.judge), "") for question, judge in comparison.pairs()}

    def draw(ax: theme.Axes, row: int, judge: JudgeComparison) -> None:
        word = answers[id(judge)]
        _mark(ax, row, judge.majority.accuracy.given, filled=word == "more")
        theme.at_the_right(ax, row, word, size=theme.SMALL)

    def backdrop(ax: theme.Axes, question: QuestionComparison) -> None:
        if question.ceiling:
            _band(ax, question.ceiling["percent"])
        alone = max(
            (one for judge in question.judges if (one := judge.majority.constant_accuracy) >= 0), default=math.nan
        )
        if math.isnan(alone):
            return
        ax.axvline(alone, color=CORRECTED, linewidth=1.2, zorder=1)
        beside: Any = {"xytext": (3, 0), "textcoords": "offset points", "va": "bottom", "fontsize": theme.SMALL}
        ax.annotate(f"{alone:.0%}", (alone, len(question.judges) - 0.55), **beside, color=CORRECTED)

    grey = "; grey: people among themselves" if comparison.has_ceiling else ""
    line = "line: always the commonest word; right: more or less often, compared item by item"
    note = f"share of verdicts with a side that people say too; {line}{grey}"
    drawn = [judge.majority.accuracy.given for _, judge in comparison.pairs()]
    return _panels(comparison, draw, backdrop, "Judges against people", note, drawn, ax=ax)


def plot_corrected_rates(comparison: HumanComparison, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Failure rates of all agents: what each judge says (hollow), and what people would say, corrected (filled)."""

    def draw(ax: theme.Axes, row: int, judge: JudgeComparison) -> None:
        if judge.rates is not None:
            own = judge.rates.overall.apparent.estimate
            ax.plot(own, row + 0.16, "o", markersize=5, markerfacecolor="white", markeredgecolor=theme.ACCENT)
            _mark(ax, row - 0.16, judge.rates.overall.rate, colour=CORRECTED)

    def backdrop(ax: theme.Axes, question: QuestionComparison) -> None:
        """The labels without a judge; the widest of the judges', which differ by the items each was asked."""
        alone = [judge.rates.overall.labels_alone for judge in question.judges if judge.rates is not None]
        widths = [np.nan_to_num(each.ci_high - each.ci_low) for each in alone]
        if alone:
            _band(ax, alone[int(np.argmax(widths))])

    note = "hollow: share that the judge calls incorrect; filled: corrected by people's labels; grey: the labels alone"
    drawn = [judge.rates.overall.rate for _, judge in comparison.pairs() if judge.rates is not None]
    return _panels(comparison, draw, backdrop, "Failure rates, as judges say and as people would", note, drawn, ax=ax)


def plot_stand_in(comparison: HumanComparison, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Advantage probability of every judge over one more person; the line is the best constant judge."""

    def draw(ax: theme.Axes, row: int, judge: JudgeComparison) -> None:
        test, constant = judge.stand_in.judge, judge.stand_in.constant.advantage.estimate
        _mark(ax, row, test.advantage, filled=test.passed)
        ax.plot([constant] * 2, [row - 0.35, row + 0.35], color=CORRECTED, linewidth=1.6)

    note = (
        f"mean share of items on which the judge does at least as well as a person; filled: passes at epsilon "
        f"{comparison.epsilon:g}; bar: the best judge that always says one word"
    )
    drawn = [judge.stand_in.judge.advantage for _, judge in comparison.pairs()]
    return _panels(comparison, draw, None, "May a judge stand in for a person?", note, drawn, ax=ax)


def _panels(
    comparison: HumanComparison,
    draw: Callable[[theme.Axes, int, JudgeComparison], None],
    backdrop: Callable[[theme.Axes, QuestionComparison], None] | None,
    title: str,
    note: str,
    drawn: Sequence[Estimate],
    *,
    ax: theme.Axes | None = None,
) -> theme.Axes:
    """One panel a question side by side, judges from top to bottom in one order, those first that people agree with."""
    import matplotlib.pyplot as plt

    shares: dict[str, list[float]] = {}
    for _, judge in comparison.pairs():
        shares.setdefault(judge.judge, []).append(np.nan_to_num(judge.majority.accuracy.given.estimate))
    judges = sorted(shares, key=lambda name: -float(np.mean(shares[name])))
    n = len(comparison.questions)
    size = (max(7.0, 2.0 + 1.75 * n), (0.27 if len(judges) < 13 else 0.21) * len(judges) + 1.3)
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
        if n > 1:
            ax.set_title(theme.in_words(question.question), fontsize=theme.LABEL, color=theme.INK, loc="left")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.spines["bottom"].set_color(theme.FAINT)
        ax.grid(axis="x", color=theme.FAINT, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(length=0, labelsize=theme.LABEL, colors=theme.INK)
        ax.xaxis.set_major_formatter(theme.percent_tick)
    theme.named_rows(axes[0][0], [judge.removeprefix("simulated:") for judge in judges])
    figure.suptitle(title, x=0.01, ha="left", fontsize=theme.TITLE, color=theme.INK, fontweight="bold")
    figure.supxlabel(note, x=0.01, ha="left", fontsize=theme.SMALL, color=theme.QUIET)
    widest = max(drawn, key=lambda estimate: estimate.n_clusters, default=None)
    theme.describe(figure, note if widest is None else f"{note}; {theme.intervals(widest)}")
    return axes[0][0]  # type: ignore[no-any-return]


def _mark(ax: theme.Axes, row: float, estimate: Estimate, *, colour: str = theme.ACCENT, filled: bool = True) -> None:
    """An estimate with its interval, and a dash at the edge where there is none."""
    theme.interval_mark(ax, estimate, row, colour=colour, filled=filled, size=5, solid_capstyle="butt")
    if math.isnan(estimate.estimate):
        ax.annotate(
            "–", (0.02, row), xycoords=("axes fraction", "data"), color=theme.QUIET, fontsize=theme.SMALL, va="center"
        )


def _band(ax: theme.Axes, estimate: Estimate) -> None:
    """Grey over the interval, if there is one."""
    if not math.isnan(estimate.ci_low):
        ax.axvspan(estimate.ci_low, estimate.ci_high, color=CEILING, linewidth=0, zorder=0)
