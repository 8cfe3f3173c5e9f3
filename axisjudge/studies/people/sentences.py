"""A comparison with people in words: what was claimed and why it holds, and one sentence for each part of the page."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.alternative_annotator import stand_in
from axisjudge.stats.rates.correction import FEWEST_LABELS, CorrectedRate
from axisjudge.studies._shared.words import in_points, many, share
from axisjudge.studies.people.claims import MARGIN, Answer, Claim, ClaimKind, Reason
from axisjudge.studies.people.comparison import HumanComparison, QuestionComparison
from axisjudge.studies.people.judge_comparison import JudgeComparison
from axisjudge.studies.people.trials import FewLabels, PlantedRate

_CLAIMED = {
    ClaimKind.BEATS_ONE_WORD: "is right more often than always saying the commonest word",
    ClaimKind.AS_A_PERSON: f"is at most {100 * MARGIN:.0f} points less often right than a person",
    ClaimKind.STANDS_IN: "may stand in for one of these people (epsilon {epsilon:g})",
    ClaimKind.FINDS_FAILURES: "finds more than half of the failures that people see",
    ClaimKind.RATE_HOLDS: "reports the failure rate that people would, without correction",
    ClaimKind.ADDS_TO_LABELS: "makes the failure rate clearly more exact than the labels alone",
}
_NOT_OF_ALL = "so that shares among them are not those of all items"
_DRAWN = {
    "random": "they were drawn at random",
    "by_judge_verdict": f"they were drawn by a judge's verdict, {_NOT_OF_ALL}",
    "by_key": f"they were drawn by a recorded key, {_NOT_OF_ALL}",
    "by_human_label": f"they were drawn by the human label, {_NOT_OF_ALL}",
    "by_flip": "they are decisions on verdicts that flipped",
    "by_disagreement": "they are decisions on items on which judges were split",
    "unknown": "how they were drawn is not known",
}
_CHOSEN_BY = {
    "by_judge_verdict": "judge verdict",
    "by_key": "key",
    "by_human_label": "human label",
    "by_flip": "flip",
    "by_disagreement": "disagreement",
}
_REFERENCE = (
    "The reference is no person: it holds what the benchmark knows of its tasks against runs that failed, and nothing "
    "else. With reward it goes round in a circle, with judges it does not."
)
#: So many people are named.
_NAMED = 6


def claimed(claim: Claim) -> str:
    """What is claimed of the judge."""
    return _CLAIMED[claim.kind].format(epsilon=claim.figures.stand_in.judge.epsilon)


def because(claim: Claim) -> str:
    """Why the claim has its answer: the figure that decided, or why there is none."""
    match claim.reason:
        case Reason.FIGURE:
            return _figure(claim.kind, claim.figures)
        case Reason.CHOSEN:
            return str(claim.reason).format(_CHOSEN_BY[claim.sampling])
        case Reason.NO_INTERVAL:
            return {
                ClaimKind.BEATS_ONE_WORD: claim.figures.over_constant,
                ClaimKind.AS_A_PERSON: claim.figures.behind,
                ClaimKind.FINDS_FAILURES: claim.figures.majority.sensitivity.given,
            }[claim.kind].reason
        case Reason.REFUSED if claim.kind is ClaimKind.STANDS_IN:
            tests = claim.figures.stand_in
            return stand_in(tests.judge, tests.constant, tests.beyond_constant)
        case Reason.REFUSED if claim.figures.rates is not None:
            return claim.figures.rates.overall.refusal
        case Reason.TOO_WEAK if claim.figures.rates is not None:
            return "; ".join(claim.figures.rates.overall.warnings)
    return claim.reason.value


def _not_yet(claim: Claim) -> str:
    """What would show a claim that is not shown yet."""
    if claim.answer is not Answer.NOT_SHOWN:
        return ""
    return (
        f"; about {claim.more:,} labelled items more would show it" if claim.more else "; more labels may show it false"
    )


def claim_row(claim: Claim) -> dict[str, str]:
    """The claim in words, for results.json."""
    names = {"question": claim.question, "judge": claim.judge, "short": claim.kind.value}
    return {**names, "text": claimed(claim), "answer": claim.answer.value, "because": because(claim) + _not_yet(claim)}


def _figure(kind: ClaimKind, judge: JudgeComparison) -> str:
    match kind, judge.corrected:
        case ClaimKind.BEATS_ONE_WORD, _:
            more = in_points(judge.over_constant)
            interval = more.interval("+.0f")
            return f"{more.estimate:+.0f} points over the commonest word, {interval}, on the items with a verdict"
        case ClaimKind.AS_A_PERSON, _:
            behind = in_points(judge.behind)
            return f"{behind.estimate:+.0f} points behind a person, {behind.interval('+.0f')}, against the other people"
        case ClaimKind.STANDS_IN, _:
            test = judge.stand_in.judge
            return f"winning rate {test.winning_rate:.2f}, advantage probability {test.advantage.estimate:.2f}"
        case ClaimKind.FINDS_FAILURES, _:
            return f"sensitivity {share(judge.majority.sensitivity.given)}"
        case ClaimKind.RATE_HOLDS, CorrectedRate() as corrected:
            return f"it says {corrected.apparent.estimate:.0%}, corrected {share(corrected.rate)}"
        case _, CorrectedRate() as corrected:
            return f"{share(corrected.rate)}, by {corrected.rate.method}"
    return ""


def rate_note(rate: CorrectedRate) -> str:
    """What must be known of a corrected rate; widths stand in the row already."""
    labels_alone = rate.rate.method == rate.labels_alone.method
    weak = "; ".join(rate.warnings) if labels_alone else Reason.TOO_WEAK.value if rate.warnings else ""
    return rate.refusal or weak


def opening(comparison: HumanComparison) -> list[str]:
    """What comes first: who must be looked at, what may be claimed and what not, whose labels these are."""
    return [
        *strangers_sentences(comparison),
        count_sentence(comparison),
        *(claim_sentence(comparison, kind) for kind in dict.fromkeys(claim.kind for claim in comparison.claims)),
        *(question_sentence(question) for question in comparison.questions),
    ]


def strangers_sentences(comparison: HumanComparison) -> list[str]:
    """The people who agree with nobody."""
    return [f"Look at the labels first. {each.where}: {each.what}; {each.cure}." for each in comparison.strangers]


def count_sentence(comparison: HumanComparison) -> str:
    """How many claims may be made."""
    claims = comparison.claims
    may, not_shown, may_not, unchecked = (sum(claim.answer is answer for claim in claims) for answer in Answer)
    chance = 0.025 * (len(claims) - unchecked)
    alone = f" Each is tested alone: were none true, about {chance:.0f} would be made, so that they are exploratory."
    return (
        f"Of {many(len(claims), 'claim')}, one for each judge and question, {may} may be made, {not_shown} are not "
        f"shown yet, {may_not} are shown false, and {unchecked} could not be checked."
        f"{alone if chance >= 0.5 else ''}"
    )


def claim_sentence(comparison: HumanComparison, kind: ClaimKind) -> str:
    """Of whom one claim may be made, of whom not, and what could not be checked with the reasons."""
    asked = [claim for claim in comparison.claims if claim.kind is kind]
    may, not_shown, may_not, unchecked = ([claim for claim in asked if claim.answer is answer] for answer in Answer)
    judges = list(dict.fromkeys(claim.judge for claim in comparison.claims))
    parts = []
    if may:
        parts.append(f"may be claimed of {_who(may, judges)}")
    if not_shown:
        parts.append(f"is not shown yet of {_who(not_shown, judges)}{_with_more(not_shown)}")
    if may_not and not unchecked:
        others = "is shown false of the others" if may or not_shown else "is shown false of every judge"
        parts.append(others)
    elif may_not:
        parts.append(f"is shown false of {_who(may_not, judges)}")
    if unchecked:
        where = f" for {_who(unchecked, judges)}" if may or may_not or not_shown else ""
        reasons = dict.fromkeys(because(claim) for claim in unchecked)
        parts.append(f"could not be checked{where}: {', and '.join(reasons)}")
    return f"'{claimed(asked[0])}' {'; '.join(parts)}."


def _with_more(claims: Sequence[Claim]) -> str:
    """How many labels more would do at least and at most."""
    more = sorted(claim.more for claim in claims if claim.more is not None)
    if not more:
        return ""
    enough = f"{more[0]:,}" if more[0] == more[-1] else f"{more[0]:,} to {more[-1]:,}"
    return f", where {enough} labelled items more would do for {len(more)} of them"


def _who(claims: Sequence[Claim], judges: Sequence[str]) -> str:
    parts = []
    for question in dict.fromkeys(claim.question for claim in claims):
        named = [claim.judge for claim in claims if claim.question == question]
        others = [judge for judge in judges if judge not in named]
        names = ", ".join(named)
        if 1 < len(judges) > 2 * len(others):
            names = f"all judges but {', '.join(others)}" if others else "all judges"
        parts.append(f"{question} ({names})")
    return "; ".join(parts)


def question_sentence(question: QuestionComparison) -> str:
    """How many items carry labels, whose, how drawn, and how far people agree among themselves."""
    panel, people = question.panel, question.panel.people
    named = ", ".join(people[:_NAMED]) + (f" and {len(people) - _NAMED} more" if len(people) > _NAMED else "")
    ties = f"; people are split on {question.n_tied} more" if question.n_tied else ""
    drawn = "all are labelled" if panel.drawn.in_full else _DRAWN[panel.drawn.sampling]
    problem = f": {panel.drawn.reason}" if panel.drawn.problem else ""
    left = f" Left out: {many(panel.n_unjudged, 'labelled item')} that no judge rated." if panel.n_unjudged else ""
    start = (
        f"{question.question}: {question.n_reference:,} of {len(panel.items):,} items have a label that takes a side "
        f"({named}{ties}); {drawn}{problem}.{left}"
    )
    if people == ("reference",):
        return f"{start} {_REFERENCE}"
    if not question.ceiling:
        return f"{start} One person labelled, so that what people agree on among themselves is not known."
    kappa, percent = question.ceiling["kappa"], question.ceiling["percent"]
    return f"{start} People among themselves agree on {percent.estimate:.0%}; {kappa.label} {kappa.worded()}."


def kappa_sentence(comparison: HumanComparison) -> str:
    """The highest and the lowest kappa with the majority, and that of people among themselves on the same question."""
    known = _known(comparison, lambda judge: judge.majority.coefficients["kappa"])
    if not known:
        return "No judge has a kappa with people: see the reasons in results.json."
    parts = []
    for start, pick in (("The highest", max), ("the lowest", min)):
        kappa, judge, question = pick(known, key=lambda each: each[0].estimate)
        kind = "kappa (quadratic weights)" if question.panel.ordered else "kappa"
        beside = f", people among themselves {question.ceiling['kappa'].worded()}" if question.ceiling else ""
        parts.append(f"{start} {kind} with people is that of {judge} on {question.question}, {kappa.worded()}{beside}")
    kappa, best, question = max(known, key=lambda each: each[0].estimate)
    return f"{'; '.join(parts)}. {_ranked(question, best)}".rstrip()


def _ranked(question: QuestionComparison, best: str) -> str:
    """Whether the highest kappa of several judges is shown to be the highest."""
    ranks, judges = question.kappa_ranks, question.panel.judges
    if len(judges) < 2:
        return ""
    if ranks.refusal:
        return f"Which judge is best is not shown: {ranks.refusal}."
    others = [judges[j] for j in ranks.first if judges[j] != best]
    if not others:
        return f"On {question.question} {best} is best of {len(judges)} judges (simultaneous rank sets)."
    named = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
    return (
        f"On {question.question} it is not told apart from {named} (simultaneous rank sets), and the highest of "
        f"{len(judges)} figures is too high on average."
    )


def _known(
    comparison: HumanComparison, of: Callable[[JudgeComparison], Estimate]
) -> list[tuple[Estimate, str, QuestionComparison]]:
    """The estimates that are defined, with judge and question."""
    every = [(of(judge), judge.judge, question) for question, judge in comparison.pairs()]
    return [each for each in every if not math.isnan(each[0].estimate)]


def behind_sentence(comparison: HumanComparison) -> str:
    """Who comes closest to a person against the other people, and who stays farthest behind."""
    known = _known(comparison, lambda judge: judge.behind)
    if not known:
        return "One person labelled, so that a judge and a person cannot be set against the same others."
    (least, near, here), (most, far, there) = (pick(known, key=lambda each: each[0].estimate) for pick in (min, max))
    return (
        f"Against the majority of the other people {near} on {here.question} is {in_points(least).worded('+.0f')} "
        f"points less often right than the person left out, {far} on {there.question} "
        f"{in_points(most).worded('+.0f')} points."
    )


def stand_in_sentence(comparison: HumanComparison) -> str:
    """How many tests were passed, how many of them by constant judges too, and how many once words count alike."""
    tests = [judge.stand_in for _, judge in comparison.pairs() if not judge.stand_in.judge.refusal]
    if not tests:
        return "Nobody could be tested: the alternative annotator test needs people who share items."
    passed = sum(test.judge.passed for test in tests)
    hollow = sum(test.judge.passed and test.constant.passed for test in tests)
    balanced = sum(test.balanced.passed for test in tests)
    return (
        f"At epsilon {comparison.epsilon:g}, {passed} of {len(tests)} tests are passed; in {hollow} of these a judge "
        "that always says the same passes as well, so that they show nothing. With rare and common words counting "
        f"alike, {balanced} are passed."
    )


def steps_sentence(comparison: HumanComparison) -> str:
    """For each judge, how many of the steps that people name it names too, over all questions."""
    counts: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for _, judge in comparison.pairs():
        if judge.cited:
            exact, near = (round(one.found.estimate * one.found.n_items) for one in judge.cited)
            counts[judge.judge].append((judge.cited[0].found.n_items, exact, near))
    if not counts:
        return "Nobody cites a step for a failure, so there is no evidence to compare."
    parts = []
    for name, of_questions in counts.items():
        steps, exact, near = (sum(column) for column in zip(*of_questions, strict=True))
        parts.append(f"{name} {exact} of {steps} ({near} within one)")
    return f"Of the steps that people name for failures the judges name too: {', '.join(parts)}."


def farthest_sentence(comparison: HumanComparison) -> str:
    """Which judge's own failure rate lies farthest from the corrected one, or why no rate was corrected."""
    known = comparison.corrected
    if not known:
        reasons = {judge.rates.overall.refusal for _, judge in comparison.pairs() if judge.rates}
        return f"No failure rate was corrected: {'; '.join(sorted(reasons)) or 'the scale knows no failure'}."
    question, judge, rates = max(
        known, key=lambda each: abs(each[2].overall.apparent.estimate - each[2].overall.rate.estimate)
    )
    says, corrected = rates.overall.apparent.estimate, rates.overall.rate.worded(".0%")
    start = f"Of {len(known)} rates the one farthest off is that of {judge} on {question.question}"
    return f"{start}: it says {says:.0%}, corrected {corrected}."


def rates_sentence(comparison: HumanComparison) -> str:
    """How far judges' own failure rates lie from the corrected ones, and which agents can be told apart."""
    known = comparison.corrected
    if not known:
        return farthest_sentence(comparison)
    weak = sum(bool(rates.overall.warnings) for *_, rates in known)
    apart = [f"{question.question} ({judge})" for question, judge, rates in known if rates.apart]
    ranked = f"agents can be told apart on {', '.join(apart)}" if apart else "no two agents can be told apart anywhere"
    return (
        f"{farthest_sentence(comparison)} In {weak} the judge is too weak to make the interval clearly shorter than "
        f"that of the labels alone; {ranked}."
    )


def planted_sentence(rates: Sequence[PlantedRate]) -> str:
    """How many intervals hold the planted rate."""
    held, own = sum(rate.held for rate in rates), sum(rate.held_by_judge for rate in rates)
    return (
        f"Of {len(rates)} corrected intervals {held} hold the planted failure rate; of the intervals round the "
        f"judges' own rates {own} do."
    )


def few_labels_sentence(few: FewLabels) -> str:
    """How often the intervals hold the rate of all labels, and what the judges save."""
    if not few.judges:
        few_runs = f", or {few.n_runs} runs are too few" if few.n_runs < FEWEST_LABELS else ""
        return f"Few labels cannot be tried here: not every item is labelled, or the scale knows no failure{few_runs}."
    held, alone, width, without = (
        float(np.mean([getattr(judge, name) for judge in few.judges]))
        for name in ("held", "held_by_labels", "width", "width_of_labels")
    )
    worst = min(few.judges, key=lambda judge: judge.held)
    best = min(few.judges, key=lambda judge: judge.width)
    return (
        f"Had people labelled only {few.n_runs} runs, one of a task ({few.n_draws} draws), the corrected "
        f"interval would hold the rate of all labels in {held:.1%} of the draws, averaged over judges (least "
        f"{worst.held:.0%}, {worst.judge}), and that of the labels alone in {alone:.1%}. Mean widths are "
        f"{width:.2f} and {without:.2f}; the shortest is {best.width:.2f}, with {best.judge}."
    )


#: One sentence for each part of a comparison.
PARTS = (kappa_sentence, behind_sentence, stand_in_sentence, steps_sentence, rates_sentence)
