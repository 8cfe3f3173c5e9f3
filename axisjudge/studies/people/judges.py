"""One judge on one question against people: every figure, with that of a person beside it, and corrected rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.labels.panel import DrawProblem, LabelledPanel
from axisjudge.results import Result, columns
from axisjudge.stats.alternative_annotator import FEWEST_PEOPLE, FailingWord, StandIn, failing_word, standing_in
from axisjudge.stats.comparisons.ranking import Reversal, fewest_changes, worst_orders
from axisjudge.stats.correction import CorrectedRate, CorrectedRates, Sampling, corrected_by_agent, corrected_rate
from axisjudge.stats.estimate import Estimate, nothing_of
from axisjudge.stats.reference import (
    AgainstReference,
    CitedSteps,
    LeftOut,
    behind_people,
    cited_steps,
    leave_one_out,
    over_constant,
    sensitivity_against,
)
from axisjudge.stats.uneven_draws import apart_reason, comparable_features
from axisjudge.studies._shared.frames import Floats


def corrected_rates(
    panel: LabelledPanel, judge: int, *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRates | None:
    """Corrected rates of the judge at a position of the panel; None where the scale knows no failure."""
    if panel.failing is None:
        return None

    def rate(rows: NDArray[np.bool_], level: float) -> CorrectedRate:
        return corrected_of(panel, judge, rows, ci_level=level, seed=seed)

    return corrected_by_agent(rate, panel.agents, panel.asked[:, judge], ci_level=ci_level)


def corrected_of(
    panel: LabelledPanel, judge: int, rows: NDArray[np.bool_], *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRate:
    """The judge's failure rate on these items, corrected by the labels among them."""
    verdicts, labels = panel.failed_items(panel.judged[:, judge]), panel.failing_labels
    sampling, problem = _sampling(panel, panel.judges[judge])
    several = len(set(panel.agents[rows].tolist())) > 1
    problem = problem or _drawn_otherwise(panel, judge, sampling, several_agents=several)
    corrected = corrected_rate(
        verdicts[rows],
        labels[rows],
        sampling=sampling,
        probability=None if panel.drawn.probability is None else panel.drawn.probability[rows],
        clusters=None if panel.clusters is None else panel.clusters[rows],
        cluster_unit=panel.cluster_unit,
        ci_level=ci_level,
        draw_known=True,
        rng=seed,
    )
    if not problem:
        return corrected
    return replace(corrected, refusal=problem, rate=nothing_of(corrected.rate, problem))


@lru_cache(maxsize=256)
def _drawn_otherwise(panel: LabelledPanel, judge: int, sampling: Sampling, *, several_agents: bool) -> str:
    """Why the labels of all items that this judge was asked are not drawn as they say; agents alone may be apart."""
    asked = panel.asked[:, judge]
    labelled = ~np.isnan(panel.failing_labels[asked])
    by_verdict = sampling == "by_judge_verdict" and panel.drawn.probability is None
    if panel.drawn.in_full or labelled.all() or not labelled.any() or not (sampling == "random" or by_verdict):
        return ""
    runs = np.unique(np.array(panel.runs)[asked], return_inverse=True)[1]
    families = comparable_features(
        panel.judged[asked],
        panel.categories,
        agents=panel.agents[asked] if several_agents else None,
        lengths=np.bincount(runs)[runs],
    )
    words = np.nan_to_num(panel.judged[asked, judge], nan=len(panel.categories)).astype(np.intp)
    return apart_reason(labelled, families, panel.groups[asked], words if by_verdict else None)


def _sampling(panel: LabelledPanel, judge: str) -> tuple[Sampling, str]:
    """The way of drawing as this judge's correction may use it, and in words why it may not."""
    drawn = panel.drawn
    if drawn.problem:
        return "unknown", drawn.reason
    own = drawn.key in (None, f"{judge}: {panel.question}")
    if drawn.sampling == "by_judge_verdict" and drawn.probability is None and not own:
        return "unknown", DrawProblem.OTHER_JUDGE.format(drawn.key)
    return drawn.sampling, ""


@dataclass(frozen=True, eq=False)
class JudgeComparison(Result):
    """One judge on one question against people.

    `majority` is against the commonest word of the people (of the only person where there is one), `persons` against
    each of them, `left_out` beside each of them against the others. `over_constant` is the share of items with a
    verdict on which the judge, and not the commonest word, is right, less the reverse; `behind` the mean over people of
    the share of items on which that person, and not the judge, has the word of the others, less the reverse. `cited`
    holds steps exactly and within one, `failing` precision, recall and F1 of the word that means failure (None on a
    scale without one).
    """

    _keys = columns(
        "judge family majority over_constant behind stand_in cited rates failing persons=persons_in_short left_out"
    )

    judge: str
    family: str
    majority: AgainstReference
    persons: dict[str, AgainstReference]
    left_out: tuple[LeftOut, ...]
    over_constant: Estimate
    behind: Estimate
    stand_in: StandIn
    cited: tuple[CitedSteps, ...]
    rates: CorrectedRates | None
    failing: FailingWord | None

    @property
    def corrected(self) -> CorrectedRate | None:
        """The failure rate of all agents, where it could be corrected."""
        return None if self.rates is None or self.rates.overall.refusal else self.rates.overall

    @property
    def persons_in_short(self) -> dict[str, Any]:
        """Against single people, the estimates with their intervals alone."""
        return {name: against.in_short for name, against in self.persons.items()}


def compare_judge(panel: LabelledPanel, number: int, *, epsilon: float, ci_level: float, seed: int) -> JudgeComparison:
    """Everything about the judge at position `number`."""
    verdicts, asked = panel.judged[:, number], panel.asked[:, number]
    against = partial(panel.against, verdicts, asked=asked, ci_level=ci_level)
    figures = _figures(panel, number, verdicts, epsilon, ci_level)
    return JudgeComparison(
        judge=panel.judges[number],
        family=panel.families[number],
        persons={name: against(panel.labelled[:, person]) for person, name in enumerate(panel.people)},
        left_out=leave_one_out(verdicts, panel.decided_labels, panel.people, **against.keywords),
        cited=_cited(panel, number, ci_level),
        rates=corrected_rates(panel, number, ci_level=ci_level, seed=seed),
        failing=_failing(panel, verdicts, ci_level),
        **{name: figure() for name, figure in figures.items()},
    )


def against_majority(panel: LabelledPanel, number: int, ci_level: float) -> AgainstReference:
    """The judge at position `number` against the majority of people."""
    return panel.against(panel.judged[:, number], panel.reference, asked=panel.asked[:, number], ci_level=ci_level)


def with_verdicts(
    panel: LabelledPanel, judge: JudgeComparison, verdicts: Floats, figures: Collection[str]
) -> JudgeComparison:
    """The judge had it given these verdicts, with only the named `figures` anew; failure rates of all agents alone."""
    number, ci_level = panel.judges.index(judge.judge), judge.over_constant.ci_level
    judged = panel.judged.copy()
    judged[:, number] = verdicts
    other, asked = replace(panel, judged=judged), panel.asked[:, number]
    anew = _figures(panel, number, verdicts, judge.stand_in.judge.epsilon, ci_level)
    how: dict[str, Any] = {**panel.against.keywords, "asked": asked, "ci_level": ci_level}
    failures = partial(sensitivity_against, verdicts, panel.reference, **how)
    anew["majority"] = lambda: replace(judge.majority, sensitivity=failures())  # all that a claim reads of it
    anew["rates"] = lambda: CorrectedRates(corrected_of(other, number, asked, ci_level=ci_level))
    return replace(judge, **{name: anew[name]() for name in figures})


def _figures(
    panel: LabelledPanel, number: int, verdicts: Floats, epsilon: float, ci_level: float
) -> dict[str, Callable[[], Any]]:
    """What claims are read from, by name, each as a function that works it out."""
    unit: dict[str, Any] = {"cluster_unit": panel.cluster_unit, "ci_level": ci_level}
    of, alike = {"clusters": panel.clusters, **unit}, panel.alike
    n_categories, labels = len(panel.categories), panel.decided_labels
    test = partial(standing_in, verdicts, panel.labelled, panel.categories, epsilon=epsilon, names=panel.people, **of)
    return {
        "majority": lambda: against_majority(panel, number, ci_level),
        "over_constant": lambda: over_constant(panel.sided(verdicts), panel.reference, alike=alike, **of),
        "behind": lambda: behind_people(
            panel.sided(verdicts), labels, n_categories=n_categories, clusters=panel.groups, alike=alike, **unit
        ),
        "stand_in": lambda: test(scale="ordinal" if panel.grades else "nominal"),
    }


def _failing(panel: LabelledPanel, verdicts: Floats, ci_level: float) -> FailingWord | None:
    """The failing word against the majority of people, on the items with a verdict that takes a side."""
    if panel.failing is None:
        return None
    flagged, failed = panel.failed(verdicts), panel.failed(panel.reference)
    return failing_word(flagged, failed, clusters=panel.clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)


def _cited(panel: LabelledPanel, number: int, ci_level: float) -> tuple[CitedSteps, ...]:
    """Cited steps against those of every person who cites any, exactly and within one; nothing on other scales."""
    if panel.scale != "verdict":
        return ()
    flagged, judge, person, clusters = panel.judged[:, number] == panel.failing, [], [], []
    for position, name in enumerate(panel.people):
        failed = (panel.labelled[:, position] == panel.failing) & panel.asked[:, number]
        for item in np.flatnonzero(failed).tolist():
            judge.append(panel.steps(panel.judges[number], item) if flagged[item] else None)
            person.append(panel.steps(name, item))
            clusters.append(panel.groups[item])
    if not any(person):
        return ()
    steps = partial(cited_steps, judge, person, clusters=clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)
    return tuple(steps(within=within) for within in (0, 1))


class ClaimKind(StrEnum):
    """What people like to claim of a judge; the value heads a column."""

    BEATS_ONE_WORD = "beats one word"
    AS_A_PERSON = "as a person"
    STANDS_IN = "stands in"
    FINDS_FAILURES = "finds failures"
    RATE_HOLDS = "rate holds"
    ADDS_TO_LABELS = "adds to labels"


class ClaimAnswer(StrEnum):
    """Whether a claim may be made; `MAY_NOT` is shown to be false, `NOT_SHOWN` neither that nor true."""

    MAY = "may"
    NOT_SHOWN = "not shown yet"
    MAY_NOT = "may not"
    NOT_CHECKED = "not checked"


class ClaimReason(StrEnum):
    """Why a claim has its answer."""

    FIGURE = "the figure"
    NO_INTERVAL = "its figure has no interval"
    REFUSED = "its test was refused"
    TOO_WEAK = "the judge is too weak to help"
    CHOSEN = "labels were drawn by {}, and shares among such labels are not those of all items"
    ONE_WORD = "all labels are of one word"
    AS_OFTEN = "it is right exactly as often"
    NO_FAILURE = "people see no failure"
    NO_SIDE = "the judge takes no side on any failure that people see"
    NO_VERDICT = "the judge takes no side on any item"
    ALL_LABELLED = "every item has a label, so that nothing is left to correct"


#: Points by which a judge may be less often right than a person and still be called as good.
MARGIN = 0.05
#: Level at which a judge is shown to be worse than a person by epsilon or more.
Q = 0.05
#: Sensitivity that 'finds failures' must lie above.
MOST_FAILURES = 0.5
#: Claims about shares among the labelled items, and those that a draw leaves as they are: sensitivity is within a human
#: label, and the alternative annotator test sets judge and people against each other on whatever a key has chosen.
_AMONG_LABELLED = {ClaimKind.BEATS_ONE_WORD, ClaimKind.AS_A_PERSON, ClaimKind.STANDS_IN, ClaimKind.FINDS_FAILURES}
_STILL_CHECKED = {"by_human_label": {ClaimKind.FINDS_FAILURES}, "by_key": {ClaimKind.STANDS_IN}}

Answered = tuple[ClaimAnswer, ClaimReason] | tuple[ClaimAnswer, ClaimReason, int | None]


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of one judge on the question of a panel, the answer, and why; `figures` hold the number that decided.

    Of a claim that is not shown yet `more` is about how many labelled items more would show it, if the figure stays as
    it is; None where it lies on the wrong side.
    """

    panel: LabelledPanel
    figures: JudgeComparison
    kind: ClaimKind
    answer: ClaimAnswer
    reason: ClaimReason
    more: int | None = None

    question = property(lambda self: self.panel.question)
    judge = property(lambda self: self.figures.judge)

    @cached_property
    def reversal(self) -> Reversal | None:
        """What would overturn the answer."""
        return overturned_by(self)


def claims_of(panel: LabelledPanel, judge: JudgeComparison) -> list[Claim]:
    """The answers for one judge on one question.

    Where labels were chosen, shares among them say nothing of all items: a judge's sensitivity among items drawn by
    its own verdict is too high (verification bias; Begg and Greenes 1983, doi:10.2307/2530820), and the commonest word
    is too rare there.
    """
    answers = {
        kind: answered(judge) for kind, answered in _ANSWERS.items() if kind in _OF_ALL or judge.rates is not None
    }
    if panel.drawn.chosen:
        unsound = _AMONG_LABELLED - _STILL_CHECKED.get(panel.drawn.sampling, set())
        answers |= {kind: (ClaimAnswer.NOT_CHECKED, ClaimReason.CHOSEN) for kind in answers if kind in unsound}
    return [Claim(panel, judge, kind, answer, reason, *more) for kind, (answer, reason, *more) in answers.items()]


#: What the answer to a claim is read from, where it depends on single verdicts.
_READ_FROM = {
    ClaimKind.BEATS_ONE_WORD: ("over_constant",),
    ClaimKind.AS_A_PERSON: ("behind",),
    ClaimKind.STANDS_IN: ("stand_in",),
    ClaimKind.FINDS_FAILURES: ("majority",),
    ClaimKind.RATE_HOLDS: ("rates",),
}


def overturned_by(claim: Claim) -> Reversal | None:
    """How many of the judge's verdicts, or of the labels, would have to be otherwise for the answer to be another.

    Of a claim that may be made right verdicts become wrong, of one that may not wrong ones right, by the verdict or by
    all the labels of the item; the fewer of both is given. None for answers that are neither, and for gains over the
    labels alone. Exact where only the number of changes counts: failures found, with independent items. Items that
    people fail and others are also tried apart: a failure rate moves with misses and with false alarms.
    """
    if claim.answer not in (ClaimAnswer.MAY, ClaimAnswer.MAY_NOT) or claim.kind not in _READ_FROM:
        return None
    panel = claim.panel if claim.kind is ClaimKind.RATE_HOLDS else claim.panel.with_labels()  # all that it depends on
    number = panel.judges.index(claim.judge)
    verdicts, truth = panel.judged[:, number], panel.reference
    decided = ~np.isnan(panel.sided(verdicts)) & ~np.isnan(truth) & panel.asked[:, number]
    first, last = (float(end(panel.sides.values())) for end in (min, max))
    harmful = claim.answer is ClaimAnswer.MAY
    candidates = decided & ((verdicts == truth) == harmful)
    changed, labelled = (np.where(kept == first, last, first) if harmful else kept for kept in (truth, verdicts))

    def holds(positions: NDArray[np.intp], *, of_labels: bool) -> bool:
        other, given = panel, verdicts.copy()
        if of_labels:
            labels = panel.labelled.copy()
            labels[positions] = np.where(np.isnan(labels[positions]), math.nan, labelled[positions, None])
            other = replace(panel, labelled=labels)
        else:
            given[positions] = changed[positions]
        figures = with_verdicts(other, claim.figures, given, _READ_FROM[claim.kind])
        return _ANSWERS[claim.kind](figures)[0] is claim.answer

    if not holds(np.array([], dtype=np.intp), of_labels=False):  # at the edge of random draws behind its interval
        return None
    exact = claim.kind is ClaimKind.FINDS_FAILURES and panel.clusters is None
    failed = truth == panel.failing
    by_kind = {
        "verdict": {ClaimKind.FINDS_FAILURES: [failed], ClaimKind.RATE_HOLDS: [failed, ~failed]},
        "label": {ClaimKind.FINDS_FAILURES: [failed, ~failed], ClaimKind.RATE_HOLDS: [failed, ~failed]},
    }
    reversals = []
    for what, among in by_kind.items():
        kept = [candidates & each for each in among.get(claim.kind, [decided])]
        orders = [order for each in kept for order in worst_orders(np.flatnonzero(each), panel.groups)]
        fewest = fewest_changes(partial(holds, of_labels=what == "label"), orders, exact=exact and what == "verdict")
        reversals.append(replace(fewest, what=what))
    return min(reversals, key=lambda each: math.inf if each.changes is None else each.changes)


def _above(figure: Estimate, bound: float) -> Answered:
    """Whether a figure is shown to lie above a bound, or not to; or how many items more would show it."""
    if math.isnan(figure.ci_low):
        return ClaimAnswer.NOT_CHECKED, ClaimReason.NO_INTERVAL
    if figure.ci_low > bound:
        return ClaimAnswer.MAY, ClaimReason.FIGURE
    if figure.ci_high <= bound:
        return ClaimAnswer.MAY_NOT, ClaimReason.FIGURE
    half, gap = figure.estimate - figure.ci_low, figure.estimate - bound
    return ClaimAnswer.NOT_SHOWN, ClaimReason.FIGURE, _more(figure.n_items, half, gap)


def _more(n: int, half: float, gap: float) -> int | None:
    """Items more until a half width shrinks to the gap; None where there is no gap."""
    return math.ceil(n * max((half / gap) ** 2 - 1, 0)) or 1 if gap > 1e-9 else None


def _beats_one_word(judge: JudgeComparison) -> Answered:
    more = judge.over_constant
    if judge.majority.constant_accuracy == 1:
        return ClaimAnswer.NOT_CHECKED, ClaimReason.ONE_WORD
    counts = judge.majority.confusion[:, :-1]
    commonest = counts.sum(axis=1).argmax()
    if more.estimate == 0 and counts.trace() == counts[commonest].sum() == counts[commonest, commonest]:  # never apart
        return ClaimAnswer.MAY_NOT, ClaimReason.AS_OFTEN
    return _above(more, 0.0)


def _as_a_person(judge: JudgeComparison) -> Answered:
    behind = judge.behind
    ahead = replace(behind, estimate=-behind.estimate, ci_low=-behind.ci_high, ci_high=-behind.ci_low)
    return _above(ahead, -MARGIN - 1e-12)


def _stands_in(judge: JudgeComparison) -> Answered:
    test = judge.stand_in.judge
    if test.refusal or len(test.tested) < FEWEST_PEOPLE:
        return ClaimAnswer.NOT_CHECKED, ClaimReason.REFUSED
    if not judge.stand_in.refusal:
        return ClaimAnswer.MAY, ClaimReason.FIGURE
    if test.passed:  # the constant passes as well, and the judge is not shown to be better
        is_open = judge.stand_in.beyond_constant.ci_high > 0
    else:  # shown to be worse by epsilon or more
        is_open = 2 * sum(person.p_value > 1 - Q for person in test.tested) <= len(test.tested)
    return ClaimAnswer.NOT_SHOWN if is_open else ClaimAnswer.MAY_NOT, ClaimReason.REFUSED


def _finds_failures(judge: JudgeComparison) -> Answered:
    sensitivity = judge.majority.sensitivity.given
    if math.isnan(sensitivity.ci_low):
        never = ClaimReason.NO_FAILURE if math.isnan(judge.majority.sensitivity.best) else ClaimReason.NO_SIDE
        return ClaimAnswer.NOT_CHECKED, ClaimReason.NO_INTERVAL if sensitivity.n_items else never
    return _above(sensitivity, MOST_FAILURES)


def _rate_holds(judge: JudgeComparison) -> Answered:
    if judge.corrected is None:
        return ClaimAnswer.NOT_CHECKED, ClaimReason.REFUSED
    rate, own = judge.corrected.rate, judge.corrected.apparent.estimate
    if math.isnan(rate.ci_low) or math.isnan(own):
        return ClaimAnswer.NOT_CHECKED, ClaimReason.NO_VERDICT if math.isnan(own) else ClaimReason.NO_INTERVAL
    below, above = own - rate.ci_low, rate.ci_high - own
    if max(below, above) <= MARGIN:
        return ClaimAnswer.MAY, ClaimReason.FIGURE
    if -min(below, above) > MARGIN:
        return ClaimAnswer.MAY_NOT, ClaimReason.FIGURE
    labelled = rate.n_items - rate.n_missing
    off, half = abs(own - rate.estimate), max(rate.ci_high - rate.estimate, rate.estimate - rate.ci_low)
    return ClaimAnswer.NOT_SHOWN, ClaimReason.FIGURE, _more(labelled, half, MARGIN - off)


def _adds_to_labels(judge: JudgeComparison) -> Answered:
    if judge.corrected is None:
        return ClaimAnswer.NOT_CHECKED, ClaimReason.REFUSED
    if not judge.corrected.rate.n_missing:
        return ClaimAnswer.NOT_CHECKED, ClaimReason.ALL_LABELLED
    alone = judge.corrected.labels_alone  # without a rate of its own where labels were drawn by what they say
    if math.isnan(alone.ci_low) and not math.isnan(alone.estimate):
        return ClaimAnswer.NOT_CHECKED, ClaimReason.NO_INTERVAL
    if judge.corrected.warnings:
        return ClaimAnswer.MAY_NOT, ClaimReason.TOO_WEAK
    return ClaimAnswer.MAY, ClaimReason.FIGURE


_ANSWERS = {
    ClaimKind.BEATS_ONE_WORD: _beats_one_word,
    ClaimKind.AS_A_PERSON: _as_a_person,
    ClaimKind.STANDS_IN: _stands_in,
    ClaimKind.FINDS_FAILURES: _finds_failures,
    ClaimKind.RATE_HOLDS: _rate_holds,
    ClaimKind.ADDS_TO_LABELS: _adds_to_labels,
}
#: Claims on every scale; the others need a word that means failure.
_OF_ALL = {ClaimKind.BEATS_ONE_WORD, ClaimKind.AS_A_PERSON, ClaimKind.STANDS_IN}
