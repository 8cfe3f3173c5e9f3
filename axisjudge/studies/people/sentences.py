"""A comparison with people in words: what was claimed and why it holds, and one sentence for each part of the page."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.corrected_agents import CorrectedRates
from axisjudge.stats.rates.correction import FEWEST_LABELS
from axisjudge.studies._shared.words import (
    agreeing,
    briefly,
    by_text,
    directed,
    in_points,
    listed,
    many,
    reasons,
)
from axisjudge.studies.people.claim_words import because, claimed
from axisjudge.studies.people.claims import Claim, ClaimAnswer, ClaimKind
from axisjudge.studies.people.comparison import HumanComparison, QuestionComparison
from axisjudge.studies.people.judge_comparison import JudgeComparison
from axisjudge.studies.people.trials import FewLabels, PlantedRate

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
_REFERENCE = (
    "The reference is no person: it holds what the benchmark knows of its tasks against runs that failed, and nothing "
    "else. With reward it goes round in a circle, with judges it does not."
)
#: So many people are named.
_NAMED = 6


def weakest_sentence(comparison: HumanComparison) -> str:
    """Which claim that may be made hangs on the fewest verdicts or labels; empty where none may be made."""
    made = [claim for claim in comparison.claims if claim.answer is ClaimAnswer.MAY]
    known = [(each.changes, claim, each) for claim in made if (each := claim.reversal) and each.changes is not None]
    if not known:
        return ""
    changes, claim, reversal = min(known, key=lambda row: row[0])
    of_labels = reversal.what == "label"
    others = f"other labels on {many(changes, 'item')}" if of_labels else many(changes, f"different {reversal.what}")
    return (
        f"The most fragile claim is that {claim.judge} {claimed(claim)} ({claim.question}): {others}"
        f"{'' if reversal.exact else ', or fewer,'} would overturn it."
    )


def opening(comparison: HumanComparison) -> list[str]:
    """What comes first: who must be looked at, what may be claimed and what not, whose labels these are."""
    return [
        *strangers_sentences(comparison),
        count_sentence(comparison),
        *(claim_sentence(comparison, kind) for kind in dict.fromkeys(claim.kind for claim in comparison.claims)),
        *filter(None, [weakest_sentence(comparison)]),
        *by_text((question.question, question_sentence(question)) for question in comparison.questions),
    ]


def strangers_sentences(comparison: HumanComparison) -> list[str]:
    """The people who agree with nobody."""
    return [f"Look at the labels first, {each.where}: {each.what}; {each.cure}." for each in comparison.strangers]


def answer(comparison: HumanComparison) -> str:
    """Who may be the best judge, who may stand in for a person, and how far off failure rates are.

    Where somebody agrees with nobody, that comes first, and who is best waits for it.
    """
    first = strangers_sentences(comparison)[:1] or [_best(comparison)]
    rest = (stands_in_counted(comparison), farthest_sentence(comparison))
    return " ".join(filter(None, (*first, *rest)))


def _best(comparison: HumanComparison) -> str:
    """Who may have the highest kappa: named on one question, counted over several."""
    if len(comparison.questions) == 1:
        return best_by_kappa(comparison.questions[0])
    several = [question for question in comparison.questions if len(question.panel.judges) > 1]
    if not several:
        return ""
    alone = [(q.question, q.panel.judges[q.kappa_ranks.first[0]]) for q in several if one_best(q)]
    where = f"on {many(len(several), 'question')}"
    if all(math.isnan(mean) for question in several for mean in question.kappa_ranks.means):
        return f"Which judge agrees best with people cannot be said: none has a kappa with them {where}."
    if not alone:
        return f"No judge is shown to be the best by kappa with people {where}."
    named = listed([f"{judge} on {question}" for question, judge in alone], most=_NAMED)
    left = len(several) - len(alone)
    rest = f"; on the other {many(left, 'question')} none is shown to be" if left else ""
    return f"Shown to be best by kappa with people: {named}{rest}."


def stands_in_counted(comparison: HumanComparison) -> str:
    """Of how many judges it may be claimed that they stand in for a person; shown false apart from not shown."""
    asked = [claim for claim in comparison.claims if claim.kind is ClaimKind.STANDS_IN]
    counts = {answer: sum(claim.answer is answer for claim in asked) for answer in ClaimAnswer}
    what = "That a judge may stand in for one of these people"
    if counts[ClaimAnswer.NOT_CHECKED] == len(asked):
        return f"{what} could not be checked, because {because(asked[0])}." if asked else ""
    words = {
        ClaimAnswer.NOT_SHOWN: "not shown yet",
        ClaimAnswer.MAY_NOT: "shown false",
        ClaimAnswer.NOT_CHECKED: "not checked",
    }
    rest = [f"{word}: {counts[answer]}" for answer, word in words.items() if counts[answer]]
    tail = f" ({'; '.join(rest)})" if rest else ""
    may = counts[ClaimAnswer.MAY] or "none"
    return f"{what} may be claimed in {may} of {many(len(asked), 'case')}{tail}, exploratory."


def count_sentence(comparison: HumanComparison) -> str:
    """How many claims may be made."""
    claims = comparison.claims
    order = (ClaimAnswer.MAY, ClaimAnswer.NOT_SHOWN, ClaimAnswer.MAY_NOT, ClaimAnswer.NOT_CHECKED)
    may, not_shown, false, unchecked = (sum(claim.answer is answer for claim in claims) for answer in order)
    chance = 0.025 * (len(claims) - unchecked)
    alone = f" Each is tested alone: were none true, about {chance:.0f} would pass by chance, so they are exploratory."
    return (
        f"Of {many(len(claims), 'claim')}, one for each kind, judge and question, {may or 'none'} may be made. "
        f"The others: {not_shown} not shown yet, {false} shown false, {unchecked} not checked."
        f"{alone if chance >= 0.5 else ''}"
    )


def claim_sentence(comparison: HumanComparison, kind: ClaimKind) -> str:
    """Of whom one claim may be made, of whom not, and what could not be checked with the reasons."""
    asked = [claim for claim in comparison.claims if claim.kind is kind]
    may, not_shown, may_not, unchecked = (
        [claim for claim in asked if claim.answer is answer] for answer in ClaimAnswer
    )
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
        parts.append(f"could not be checked{where}, because {', or '.join(reasons)}")
    return f"'{claimed(asked[0])}' {'; '.join(parts)}."


def _with_more(claims: Sequence[Claim]) -> str:
    """How many labels more would do at least."""
    more = sorted(claim.more for claim in claims if claim.more is not None)
    if not more:
        return ""
    return f", where it would take at least about {many(more[0], 'more labelled item')}"


def _who(claims: Sequence[Claim], judges: Sequence[str]) -> str:
    """The judges of whom something holds, by question; questions of the same judges stand together."""
    by_names: dict[str, list[str]] = {}
    for question in dict.fromkeys(claim.question for claim in claims):
        named = [claim.judge for claim in claims if claim.question == question]
        others = [judge for judge in judges if judge not in named]
        names = listed(named, most=_NAMED)
        if 1 < len(judges) > 2 * len(others):
            names = f"all judges but {listed(others, most=_NAMED)}" if others else "all judges"
        by_names.setdefault(names, []).append(question)
    return ", and ".join(f"{names} on {listed(questions)}" for names, questions in by_names.items())


def question_sentence(question: QuestionComparison) -> str:
    """How many items carry labels, whose, how drawn, and how far people agree among themselves."""
    panel, people = question.panel, question.panel.people
    named = listed(people, most=_NAMED)
    ties = f"; people are split on {question.n_tied} more" if question.n_tied else ""
    drawn = "all are labelled" if panel.drawn.in_full else _DRAWN[panel.drawn.sampling]
    problem = f": {panel.drawn.reason}" if panel.drawn.problem else ""
    left = f" Left out: {many(panel.n_unjudged, 'labelled item')} that no judge rated." if panel.n_unjudged else ""
    start = (
        f"{question.n_reference:,} of {many(len(panel.items), 'item')} carry a label that takes a "
        f"side ({named}{ties}); {drawn}{problem}.{left}"
    )
    if people == ("reference",):
        return f"{start} {_REFERENCE}"
    if not question.ceiling:
        return f"{start} One person labelled, so that what people agree on among themselves is not known."
    kappa, percent = question.ceiling["kappa"], question.ceiling["percent"]
    if math.isnan(percent.estimate):
        return f"{start} No two people labelled the same item, so that what they agree on is not known."
    return f"{start} People among themselves agree on {percent.estimate:.0%}; {kappa.label} {kappa.worded()}."


def kappa_sentence(comparison: HumanComparison) -> str:
    """For each question the range of kappas with people, who may have the highest, and people among themselves."""
    by_question = [_kappas(question) for question in comparison.questions]
    return " ".join(filter(None, by_question)) or "No judge has a kappa with people: see the reasons in results.json."


def _kappas(question: QuestionComparison) -> str:
    known = _known(map(_kappa, question.judges))
    if not known:
        return ""
    kind = "kappa (quadratic weights)" if question.panel.ordered else "kappa"
    values, verb = _span(known), "is" if len(known) == 1 else "was observed"
    beside = f"; people among themselves {question.ceiling['kappa'].worded()}" if question.ceiling else ""
    return f"{question.question}: {kind} with people {verb} {values}{beside}. {best_by_kappa(question)}".rstrip()


def _kappa(judge: JudgeComparison) -> Estimate:
    return judge.majority.coefficients["kappa"]


def one_best(question: QuestionComparison) -> bool:
    """Whether one judge stands alone at rank 1 and its interval lies above the kappas of all others.

    A judge that decides on few items may stand alone by luck: its interval is wide then.
    """
    ranks = question.kappa_ranks
    if ranks.refusal or len(ranks.first) != 1:
        return False
    others = [_kappa(judge).estimate for at, judge in enumerate(question.judges) if at != ranks.first[0]]
    low = _kappa(question.judges[ranks.first[0]]).ci_low
    return all(math.isnan(other) or low > other for other in others)


def best_by_kappa(question: QuestionComparison) -> str:
    """Which judges may have the highest kappa, by simultaneous rank sets; empty for a single judge."""
    ranks, judges = question.kappa_ranks, question.panel.judges
    if len(judges) < 2:
        return ""
    if ranks.refusal:
        return f"Which judge is best on {question.question} is not shown: {ranks.refusal}."
    sure, first = f"{ranks.ci_level:.0%} jointly", [judges[j] for j in ranks.first]
    if one_best(question):
        return f"Of {len(judges)} judges, {first[0]} has the highest kappa with people on {question.question} ({sure})."
    if len(first) in (1, len(judges)):
        which = f"Which of {len(judges)} judges has the highest kappa with people on {question.question}"
        return f"{which} cannot be told ({sure})."
    return (
        f"Of {len(judges)} judges, {listed(first, 'or', most=_NAMED)} may have the highest kappa with people on "
        f"{question.question} and cannot be told apart ({sure})."
    )


def _known(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Those that are defined, the smallest first."""
    return sorted((each for each in estimates if not math.isnan(each.estimate)), key=lambda each: each.estimate)


def _span(known: Sequence[Estimate]) -> str:
    ends = (known[0], known[-1])
    return known[0].worded() if len(known) == 1 else f"from {' to '.join(map(briefly, ends))}{reasons(*ends)}"


def failing_sentence(comparison: HumanComparison) -> str:
    """The range of F1 of failures; judges are not tested against each other by it."""
    known = _known(judge.failing.f1 for _, judge in comparison.pairs() if judge.failing)
    if not known:
        return "No F1 of failures: the scale knows none, or no judge takes a side where people see one."
    return f"F1 of failures was observed {'at ' if len(known) == 1 else ''}{_span(known)}; judges are not ranked by it."


def behind_sentence(comparison: HumanComparison) -> str:
    """How far judges stay behind a person against the other people: the range, and how many are shown to."""
    known = _known(judge.behind for _, judge in comparison.pairs())
    if not known:
        return "One person labelled, so that a judge and a person cannot be set against the same others."
    ends = [directed(in_points(end), "less often right", "more often right") for end in (known[0], known[-1])]
    behind = sum(each.ci_low > 0 for each in known)
    who = "the judge is" if len(known) == 1 else "a judge was observed between"
    values = ends[0] if len(known) == 1 else f"{ends[0]} and {ends[1]}"
    return (
        f"Against the majority of the other people {who} {values} than the person left out. Shown to be less "
        "often right: "
        f"{behind or 'none'} of {many(len(known), 'judge and question' if len(known) == 1 else 'pair')}"
        f"{'' if len(known) == 1 else ' of judge and question'}."
    )


def stand_in_sentence(comparison: HumanComparison) -> str:
    """How many tests were passed, how many of them by constant judges too, and how many once words count alike."""
    tests = [judge.stand_in for _, judge in comparison.pairs() if not judge.stand_in.judge.refusal]
    if not tests:
        return "Nobody could be tested: the alternative annotator test needs people who share items."
    passed = sum(test.judge.passed for test in tests)
    hollow = sum(test.judge.passed and test.constant.passed for test in tests)
    balanced = sum(test.balanced.passed for test in tests)
    hollow_too = f"; in {hollow} of these a judge that always says the same passes as well, and they show nothing"
    return (
        f"At epsilon {comparison.epsilon:g}, {passed or 'none'} of {agreeing(len(tests), 'test', 'is', 'are')} passed"
        f"{hollow_too if hollow else ''}. With rare and common words counting alike: {balanced or 'none'}."
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
    return f"Of the steps to which people put failures, judges also name {listed(parts, most=_NAMED)}."


def _rated(comparison: HumanComparison) -> list[tuple[QuestionComparison, str, CorrectedRates]]:
    """The corrected rates of judges that gave a verdict."""
    return [each for each in comparison.corrected if not math.isnan(each[2].overall.apparent.estimate)]


def farthest_sentence(comparison: HumanComparison) -> str:
    """How far judges' own failure rates lie from the corrected ones at most, or why no rate was corrected."""
    known = [rates.overall for *_, rates in _rated(comparison)]
    if not known:
        reasons = {judge.rates.overall.refusal for _, judge in comparison.pairs() if judge.rates} - {""}
        why = "no judge gave a verdict" if comparison.corrected else "the scale knows no failure"
        return f"No failure rate was corrected: {'; '.join(sorted(reasons)) or why}."
    off = max(known, key=lambda each: abs(each.apparent.estimate - each.rate.estimate))
    points = round(100 * abs(off.apparent.estimate - off.rate.estimate))
    rates = f"{off.apparent.estimate:.0%} where the corrected rate is {off.rate.worded('.0%')}"
    if len(known) == 1:
        return f"The judge's own failure rate is {rates}."
    return f"Judges' own failure rates lie up to {many(points, 'point')} off: the farthest of {len(known)} is {rates}."


def rates_sentence(comparison: HumanComparison) -> str:
    """How far judges' own failure rates lie from the corrected ones, and which agents can be told apart."""
    known = _rated(comparison)
    if not known:
        return farthest_sentence(comparison)
    weak = sum(bool(rates.overall.warnings) for *_, rates in known)
    apart = [f"{question.question} ({judge})" for question, judge, rates in known if rates.apart]
    several = any(len(rates.by_agent) > 1 for *_, rates in known)
    agents = "No two agents can be told apart." if several else "Runs name no two agents, so agents are not compared."
    if apart:
        agents = f"Agents can be told apart on {listed(apart, most=_NAMED)}."
    too_weak = f" In {weak} the judge is too weak to narrow the interval of the labels alone." if weak else ""
    return f"{farthest_sentence(comparison)}{too_weak} {agents}"


def planted_sentence(rates: Sequence[PlantedRate]) -> str:
    """How many intervals hold the planted rate."""
    held, own = sum(rate.held for rate in rates), sum(rate.held_by_judge for rate in rates)
    return (
        f"The planted failure rate lies inside {held} of {many(len(rates), 'corrected interval')}, and inside {own} of "
        "the intervals round the judges' own rates."
    )


def few_labels_sentence(few: FewLabels) -> str:
    """How often the intervals hold the rate of all labels, and what the judges save."""
    tried = few.judges
    if tried.is_empty():
        few_runs = f", or {agreeing(few.n_runs, 'run', 'is', 'are')} too few" if few.n_runs < FEWEST_LABELS else ""
        return f"Few labels cannot be tried here: not every item is labelled, or the scale knows no failure{few_runs}."
    held, alone, width, without = (
        tried[name].to_numpy() for name in ("held", "held_by_labels", "width", "width_of_labels")
    )
    return (
        f"Had people labelled only {few.n_runs} runs, one of a task ({few.n_draws} draws), the corrected "
        f"interval would hold the rate of all labels in {held.mean():.0%} of the draws, averaged over judges (least "
        f"{held.min():.0%}), and that of the labels alone in {alone.mean():.0%}. The corrected intervals are "
        f"{width.mean():.2f} wide on average ({width.min():.2f} with the best judge), those of the labels alone "
        f"{without.mean():.2f}."
    )


#: One sentence for each part of a comparison.
PARTS = (kappa_sentence, failing_sentence, behind_sentence, stand_in_sentence, steps_sentence, rates_sentence)
