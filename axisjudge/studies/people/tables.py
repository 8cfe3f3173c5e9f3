"""The tables of a comparison with people, each a row a thing; of the caller's kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.fairness import StratumFairness
from axisjudge.stats.raters.reference import Bounded
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies._shared.words import in_cell, in_points
from axisjudge.studies.people.compared import HumanComparison, PlantedRate, QuestionComparison
from axisjudge.studies.people.fairness import QuestionFairness
from axisjudge.studies.people.judges import JudgeComparison
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
    rows = [claim_row(claim) for claim in comparison.claims]
    columns = {"question": "question", "judge": "judge", "claim": "text", "answer": "answer", "because": "because"}
    columns |= {"overturned by": "overturned_by"}
    return table_of([{name: row[key] for name, key in columns.items()} for row in rows], comparison.kind)


#: Headings of the coefficients with people, of words and of words in order.
_NOMINAL, _ORDERED = ("kappa", "AC1", "nominal alpha"), ("quadratic kappa", "quadratic AC2", "ordinal alpha")


def judges_table(comparison: HumanComparison) -> Table:
    """One row a question and judge against the majority of people, with what people reach among themselves."""

    def rows(question: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        one, ceiling = judge.majority, in_cell(question.ceiling["kappa"]) if question.ceiling else "one person"
        figures = [*(_share(getattr(one, name).given) for name in SHARES), *map(in_cell, one.coefficients.values())]
        yield one.n_items, *figures, _share(one.coverage), _percent(one.constant_accuracy), ceiling

    named = _ORDERED if all(question.panel.ordered for question in comparison.questions) else _NOMINAL
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

    kappa = (_ORDERED if all(question.panel.ordered for question in comparison.questions) else _NOMINAL)[0]
    columns = ("person", "n", "judge's accuracy", "person's", f"judge's {kappa}", "their own", "behind")
    return _by_judge(comparison, columns, rows)


def failing_table(comparison: HumanComparison) -> Table:
    """One row a question and judge: precision, recall and F1 of the word that means failure."""

    def rows(_: QuestionComparison, judge: JudgeComparison) -> Iterable[Row]:
        if judge.failing is not None:
            of = judge.failing
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
    shares = {"judge says": "apparent", "labels alone": "labels_alone", "corrected": "rate"}
    rows = [
        {"question": one.question, "judge": one.judge, "planted": one.planted}
        | {name: _share(getattr(one.corrected, key)) for name, key in shares.items()}
        | {"holds the planted rate": one.held, "judge's interval does": one.held_by_judge}
        for one in rates
    ]
    return table_of(rows, kind)


def _by_judge(
    comparison: HumanComparison,
    columns: Sequence[str],
    rows: Callable[[QuestionComparison, JudgeComparison], Iterable[Row]],
) -> Table:
    """Rows of every question and judge."""
    names = ("question", "judge", *columns)
    every = [
        dict(zip(names, (question.question, judge.judge, *row), strict=True))
        for question, judge in comparison.pairs()
        for row in rows(question, judge)
    ]
    return table_of(every, comparison.kind, columns=names)


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
    rows = [(each, one) for each in fairness for one in each.differences]
    rows.sort(key=lambda row: math.inf if math.isnan(row[1].p_adjusted) else row[1].p_adjusted)
    return table_of([_unfair_row(each, one) for each, one in rows], kind, columns=_UNFAIR)


def _unfair_row(each: QuestionFairness, one: StratumFairness) -> dict[str, Any]:
    share, p = one.of.share, one.p_adjusted
    figures = (share.n_items, _share(share), _points(one.of.difference))
    names = (each.question, each.by, one.judge, one.measure, one.of.stratum)
    tested = ("–", one.answer.value, "–") if math.isnan(p) else (f"{p:.3f}", one.answer.value, f"{one.within:.0%}")
    return dict(zip(_UNFAIR, (*names, *figures, *tested), strict=True))


def strata_rates_table(fairness: Sequence[QuestionFairness], kind: Kind) -> Table:
    """One row a question and judge: the failure rate corrected by all labels together, and by each stratum's own."""
    columns = ("question", "by", "judge", "corrected together", "by strata of their own", "why not")
    rows = [
        (each.question, each.by, one.judge, _share(one.together), _share(one.own_strata), one.own_strata.reason)
        for each in fairness
        for one in each.rates
    ]
    return table_of([dict(zip(columns, row, strict=True)) for row in rows], kind)
