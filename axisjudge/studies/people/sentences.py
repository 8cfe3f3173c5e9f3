"""All that is said of judges against people; codes and numbers decide."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from axisjudge.stats.alternative_annotator import FEWEST_PEOPLE
from axisjudge.stats.correction import FEWEST_LABELS, CorrectedRate, CorrectedRates
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.fairness import Fair, StratumFairness
from axisjudge.studies._shared.words import (
    agreeing,
    briefly,
    by_text,
    directed,
    if_twice,
    in_points,
    listed,
    many,
    overturned,
    p_words,
    reasons,
    share,
    spanned,
)
from axisjudge.studies.people import compared
from axisjudge.studies.people.judges import MARGIN, Claim, ClaimAnswer, ClaimKind, ClaimReason, JudgeComparison

_CLAIMED = {
    ClaimKind.BEATS_ONE_WORD: "is right more often than always saying the commonest word",
    ClaimKind.AS_A_PERSON: f"is at most {100 * MARGIN:.0f} points less often right than a person",
    ClaimKind.STANDS_IN: "may stand in for one of these people (at epsilon {epsilon:g})",
    ClaimKind.FINDS_FAILURES: "finds more than half of the failures that people see",
    ClaimKind.RATE_HOLDS: "reports the failure rate that people would, without correction",
    ClaimKind.ADDS_TO_LABELS: "makes the failure rate clearly more exact than the labels alone",
}


def claimed(claim: Claim) -> str:
    """What is claimed of the judge."""
    return _CLAIMED[claim.kind].format(epsilon=claim.figures.stand_in.judge.epsilon)


def because(claim: Claim) -> str:
    """Why the claim has its answer: the figure that decided, or why there is none."""
    match claim.reason:
        case ClaimReason.FIGURE:
            return _figure(claim.kind, claim.figures)
        case ClaimReason.CHOSEN:
            return str(claim.reason).format(claim.panel.drawn.sampling.removeprefix("by_").replace("_", " "))
        case ClaimReason.NO_INTERVAL if claim.kind in (ClaimKind.RATE_HOLDS, ClaimKind.ADDS_TO_LABELS):
            return claim.figures.corrected.labels_alone.reason if claim.figures.corrected else ""
        case ClaimReason.NO_INTERVAL:
            return {
                ClaimKind.BEATS_ONE_WORD: claim.figures.over_constant,
                ClaimKind.AS_A_PERSON: claim.figures.behind,
                ClaimKind.FINDS_FAILURES: claim.figures.majority.sensitivity.given,
            }[claim.kind].reason
        case ClaimReason.REFUSED if claim.kind is ClaimKind.STANDS_IN:
            return claim.figures.stand_in.refusal
        case ClaimReason.REFUSED if claim.figures.rates is not None:
            return claim.figures.rates.overall.refusal
        case ClaimReason.TOO_WEAK if claim.figures.rates is not None:
            return "; ".join(claim.figures.rates.overall.warnings)
    return claim.reason.value


def _not_yet(claim: Claim) -> str:
    """What would show a claim that is not shown yet."""
    if claim.answer is not ClaimAnswer.NOT_SHOWN:
        return ""
    return (
        f"; about {claim.more:,} labelled items more would show it" if claim.more else "; more labels may show it false"
    )


def claim_row(claim: Claim) -> dict[str, str]:
    """The claim in words, for results.json, with how many other verdicts would give another answer."""
    names = {"question": claim.question, "judge": claim.judge, "short": claim.kind.value}
    answered = {"answer": claim.answer.value, "because": because(claim) + _not_yet(claim)}
    other = overturned(claim.reversal) if claim.reversal else "–"
    return {**names, "text": claimed(claim), **answered, "overturned_by": other}


def _figure(kind: ClaimKind, judge: JudgeComparison) -> str:
    match kind, judge.corrected:
        case ClaimKind.BEATS_ONE_WORD, _:
            more = in_points(judge.over_constant)
            return (
                f"{directed(more, 'more often', 'less often')} right than the commonest word, where it gave a verdict"
            )
        case ClaimKind.AS_A_PERSON, _:
            behind = in_points(judge.behind)
            return f"{directed(behind, 'less often', 'more often')} right than a person, against the other people"
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
    weak = "; ".join(rate.warnings) if labels_alone else ClaimReason.TOO_WEAK.value if rate.warnings else ""
    return rate.refusal or weak


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
#: So many people are named, and so many judges who share a place.
_NAMED, _FEW = 6, 3


def weakest_sentence(comparison: compared.HumanComparison) -> str:
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


def opening(comparison: compared.HumanComparison) -> list[str]:
    """What comes first: who must be looked at, what may be claimed and what not, whose labels these are."""
    n, rest = comparison.n_left_out, "of other repeats, of the other level (step_level), or of runs without messages"
    return [
        *strangers_sentences(comparison),
        count_sentence(comparison),
        *(claim_sentence(comparison, kind) for kind in dict.fromkeys(claim.kind for claim in comparison.claims)),
        *filter(None, [weakest_sentence(comparison)]),
        *by_text((question.question, question_sentence(question)) for question in comparison.questions),
        *([f"Left out: {many(n, 'rating')} of judges, {rest}."] if n else []),
    ]


def strangers_sentences(comparison: compared.HumanComparison) -> list[str]:
    """The people who agree with nobody."""
    return [f"Look at the labels first, {each.where}: {each.what}; {each.cure}." for each in comparison.strangers]


def answer(comparison: compared.HumanComparison) -> str:
    """How often judges say what people say, who is best, and who may stand in where enough people labelled.

    Where somebody agrees with nobody, that comes first, and who is best waits for it.
    """
    best = [shares_sentence(comparison), best_sentence(comparison)]
    stands = stands_in_counted(comparison) if _people(comparison) >= FEWEST_PEOPLE else ""
    return " ".join(filter(None, (*(strangers_sentences(comparison)[:1] or best), stands)))


def _people(comparison: compared.HumanComparison) -> int:
    """How many people labelled one question at most."""
    return max((len(question.panel.people) for question in comparison.questions), default=0)


def shares_sentence(comparison: compared.HumanComparison) -> str:
    """The range of the shares on which judges say what people say, and what the commonest word alone would get."""
    known = [(judge, given) for _, judge in comparison.pairs() if (given := judge.majority.accuracy.given).n_items]
    if not known:
        return ""
    n = sum(question.n_reference for question in comparison.questions)
    alone = max(judge.majority.constant_accuracy for judge, _ in known)
    between, items = spanned([given.estimate for _, given in known], ".0%"), many(n, "labelled item")
    decided = Counter[str]()
    for judge, given in known:
        decided[judge.judge] += given.n_items
    judges = len(decided)
    if {*decided.values()} != {n}:
        of_these = spanned([*decided.values()], ",.0f")
        items = f"the labelled items with a verdict that takes a side ({of_these} of {n:,})"
    beats = [claim.answer for claim in comparison.claims if claim.kind is ClaimKind.BEATS_ONE_WORD]
    counts = (beats.count(ClaimAnswer.MAY), beats.count(ClaimAnswer.MAY_NOT))
    if len(comparison.questions) == 1 < judges and any(counts):
        more, less = (str(count or "none") for count in counts)
        often = f"agree with people more often than the commonest word alone would ({alone:.0%}), {less} less often"
        rest = f", and of {n_open} it cannot be told" if (n_open := judges - sum(counts)) else ""
        return f"Of {judges} judges {more} {often}{rest}; each agrees on {between} of {items}."
    who = "The judge says" if judges == 1 else f"The {judges} judges say"
    would = f"would match{' at most' * (len(comparison.questions) > 1)} {alone:.0%}"
    return f"{who} what people say on {between} of {items}; always saying the commonest word {would}."


def best_sentence(comparison: compared.HumanComparison) -> str:
    """Who has the highest kappa: told on one question, counted over several."""
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
        return f"Which judge is best cannot be told {where}: these labels cannot separate the first."
    named = listed([f"{judge} on {question}" for question, judge in alone], most=_NAMED)
    n_left = len(several) - len(alone)
    rest = f"; on the other {many(n_left, 'question')} the first are too close to tell" if n_left else ""
    return f"Best by kappa with people: {named}{rest}."


def stands_in_counted(comparison: compared.HumanComparison) -> str:
    """Of how many judges it may be claimed that they stand in for a person; shown false apart from not shown."""
    asked = [claim for claim in comparison.claims if claim.kind is ClaimKind.STANDS_IN]
    counts = {answer: sum(claim.answer is answer for claim in asked) for answer in ClaimAnswer}
    if counts[ClaimAnswer.NOT_CHECKED] == len(asked):
        return f"Whether a judge may stand in for a person cannot be told: {because(asked[0])}." if asked else ""
    words = {
        ClaimAnswer.NOT_SHOWN: "not shown yet",
        ClaimAnswer.MAY_NOT: "shown false",
        ClaimAnswer.NOT_CHECKED: "not checked",
    }
    rest = [f"{word}: {counts[answer]}" for answer, word in words.items() if counts[answer]]
    tail = f" ({'; '.join(rest)})" if rest else ""
    may = counts[ClaimAnswer.MAY] or "none"
    cases = "pairs of judge and question" if len(comparison.questions) > 1 else "judges"
    return f"Of {len(asked)} {cases}, {may} may stand in for one of these people{tail}, exploratory."


def next_step(comparison: compared.HumanComparison) -> str:
    """What to label, or which page says more."""
    if comparison.strangers:
        return f"Settle the labels first: {comparison.strangers[0].cure}."
    if (more := FEWEST_PEOPLE - _people(comparison)) > 0:
        far = points_off(comparison)
        rates = f"Correct failure rates by labels: judges' own are up to {many(far, 'point')} off. " if far else ""
        label = f"Have {many(more, 'more person')} label the same items (axisjudge label)"
        return f"{rates}{label}, which says whether a judge may stand in for a person."
    asked = [claim for claim in comparison.claims if claim.kind is ClaimKind.STANDS_IN]
    if any(claim.answer is ClaimAnswer.NOT_SHOWN for claim in asked):
        return "Have the same people label more items: page 09 says how many, page 13 what may stand meanwhile."
    return "Page 13 says which verdicts may stand without a person."


def count_sentence(comparison: compared.HumanComparison) -> str:
    """How many claims may be made."""
    claims = comparison.claims
    may, not_shown, false, unchecked = (sum(claim.answer is answer for claim in claims) for answer in ClaimAnswer)
    chance = 0.025 * (len(claims) - unchecked)
    alone = f" Each is tested alone: were none true, about {chance:.0f} would pass by chance, so they are exploratory."
    return (
        f"Of {many(len(claims), 'claim')}, one for each kind, judge and question, {may or 'none'} may be made. "
        f"The others: {not_shown} not shown yet, {false} shown false, {unchecked} not checked."
        f"{alone if chance >= 0.5 else ''}"
    )


def claim_sentence(comparison: compared.HumanComparison, kind: ClaimKind) -> str:
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
        parts.append(f"is shown false of {'the others' if may or not_shown else 'every judge'}")
    elif may_not:
        parts.append(f"is shown false of {_who(may_not, judges)}")
    if unchecked:
        where = f" for {_who(unchecked, judges)}" if may or may_not or not_shown else ""
        parts.append(f"could not be checked{where}, because {', or '.join(dict.fromkeys(map(because, unchecked)))}")
    return f"'{claimed(asked[0])}' {'; '.join(parts)}."


def _with_more(claims: Sequence[Claim]) -> str:
    """How many labels more would do at least."""
    more = min((claim.more for claim in claims if claim.more is not None), default=None)
    return f", where it would take at least about {many(more, 'more labelled item')}" if more is not None else ""


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


def question_sentence(question: compared.QuestionComparison) -> str:
    """How many items carry labels, whose, how drawn, and how far people agree among themselves."""
    panel, people = question.panel, question.panel.people
    named = listed(people, most=_NAMED)
    ties = f"; people are split on {question.n_tied} more" if question.n_tied else ""
    drawn = "all are labelled" if panel.drawn.in_full else _DRAWN[panel.drawn.sampling]
    problem = f": {panel.drawn.reason}" if panel.drawn.problem else ""
    drawn += f"; each {panel.cluster_unit if panel.alike == 'clusters' else 'item'} counts alike"
    left = f" Left out: {many(panel.n_unjudged, 'labelled item')} that no judge rated." if panel.n_unjudged else ""
    start = (
        f"{question.n_reference:,} of {many(len(panel.items), 'item')} carry a label that takes a side "
        f"({named}{ties}); {drawn}{problem}.{left}"
    )
    if people == ("reference",):
        return f"{start} {_REFERENCE}"
    if not question.ceiling:
        return f"{start} One person labelled, so that what people agree on among themselves is not known."
    kappa, percent = question.ceiling["kappa"], question.ceiling["percent"]
    if math.isnan(percent.estimate):
        return f"{start} No two people labelled the same item, so that what they agree on is not known."
    return f"{start} People among themselves agree on {percent.estimate:.0%}; {kappa.label} {kappa.worded()}."


def kappa_sentence(comparison: compared.HumanComparison) -> str:
    """For each question the range of kappas with people, who may have the highest, and people among themselves."""
    by_question = [_kappas(question) for question in comparison.questions]
    return " ".join(filter(None, by_question)) or "No judge has a kappa with people: see the reasons in results.json."


def _kappas(question: compared.QuestionComparison) -> str:
    known = _known(map(_kappa, question.judges))
    if not known:
        return ""
    kind = "kappa (quadratic weights)" if question.panel.ordered else "kappa"
    values, verb = _span(known), "is" if len(known) == 1 else "was observed"
    beside = f"; people among themselves {question.ceiling['kappa'].worded()}" if question.ceiling else ""
    best = best_by_kappa(question, by_name=True)
    return f"On {question.question}, {kind} with people {verb} {values}{beside}. {best}".rstrip()


def _kappa(judge: JudgeComparison) -> Estimate:
    return judge.majority.coefficients["kappa"]


def one_best(question: compared.QuestionComparison) -> bool:
    """Whether one judge stands alone at rank 1 and its interval lies above the kappas of all others.

    A judge that decides on few items may stand alone by luck: its interval is wide then.
    """
    ranks = question.kappa_ranks
    if ranks.refusal or len(ranks.first) != 1:
        return False
    others = [_kappa(judge).estimate for at, judge in enumerate(question.judges) if at != ranks.first[0]]
    low = _kappa(question.judges[ranks.first[0]]).ci_low
    return all(math.isnan(other) or low > other for other in others)


def best_by_kappa(question: compared.QuestionComparison, *, by_name: bool = False) -> str:
    """Which judges may have the highest kappa, by simultaneous rank sets; empty for a single judge."""
    ranks, judges = question.kappa_ranks, question.panel.judges
    if len(judges) < 2:
        return ""
    if ranks.refusal:
        return f"Which judge is best is not shown: {ranks.refusal}."
    first = [judges[j] for j in ranks.first]
    if one_best(question):
        return f"Of {len(judges)} judges, {first[0]} has the highest kappa with people."
    if len(first) in (1, len(judges)):
        return f"Which of the {len(judges)} judges is best cannot be told from these labels."
    which = f" ({listed(first)})" if by_name and len(first) <= _FEW else ""
    by = f"By kappa, which {'counts how far off a miss is' if question.panel.ordered else 'takes chance off'},"
    return f"{by} {len(first)} of {len(judges)} judges share first place; these labels cannot separate them{which}."


def _known(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Those that are defined, the smallest first."""
    return sorted((each for each in estimates if not math.isnan(each.estimate)), key=lambda each: each.estimate)


def _span(known: Sequence[Estimate]) -> str:
    ends = (known[0], known[-1])
    return known[0].worded() if len(known) == 1 else f"from {' to '.join(map(briefly, ends))}{reasons(*ends)}"


def failing_sentence(comparison: compared.HumanComparison) -> str:
    """The range of F1 of failures; judges are not tested against each other by it."""
    known = _known(judge.failing.f1 for _, judge in comparison.pairs() if judge.failing)
    if not known:
        return "No F1 of failures: the scale knows none, or no judge takes a side where people see one."
    return f"F1 of failures was observed {'at ' if len(known) == 1 else ''}{_span(known)}; judges are not ranked by it."


def bounds_sentence(comparison: compared.HumanComparison) -> str:
    """How many verdicts took no side or were lost, by the judge that lacks most; empty where all are given."""
    lacking = [(judge.majority.accuracy.given.n_missing, judge) for _, judge in comparison.pairs()]
    n, most = max(lacking, key=lambda each: each[0])
    of = many(most.majority.n_items, "labelled item")
    return f"{most.judge} lacks most verdicts that take a side: on {n:,} of {of}." if n else ""


def behind_sentence(comparison: compared.HumanComparison) -> str:
    """How far judges stay behind a person against the other people: the range, and how many are shown to."""
    known = _known(judge.behind for _, judge in comparison.pairs())
    if not known:
        return "One person labelled, so that a judge and a person cannot be set against the same others."
    ends = [directed(in_points(end), "less often right", "more often right") for end in (known[0], known[-1])]
    behind, alone = sum(each.ci_low > 0 for each in known), len(known) == 1
    values = f"the judge is {ends[0]}" if alone else f"a judge was observed between {ends[0]} and {ends[1]}"
    of = "1 judge and question" if alone else f"{len(known)} pairs of judge and question"
    return (
        f"Against the majority of the other people {values} than the person left out. Shown to be less often right: "
        f"{behind or 'none'} of {of}."
    )


def stand_in_sentence(comparison: compared.HumanComparison) -> str:
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


def steps_sentence(comparison: compared.HumanComparison) -> str:
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


def _off(rates: CorrectedRate) -> float:
    return abs(rates.apparent.estimate - rates.rate.estimate)


def _rated(comparison: compared.HumanComparison) -> list[tuple[compared.QuestionComparison, str, CorrectedRates]]:
    """The corrected rates of judges that gave a verdict."""
    return [each for each in comparison.corrected if not math.isnan(each[2].overall.apparent.estimate)]


def points_off(comparison: compared.HumanComparison) -> int:
    """How many points a judge's own failure rate lies from the corrected one at most, of what is printed; 0 if none."""
    known = [(rates.overall.apparent.estimate, rates.overall.rate.estimate) for *_, rates in _rated(comparison)]
    return max((abs(round(100 * own) - round(100 * corrected)) for own, corrected in known), default=0)


def farthest_sentence(comparison: compared.HumanComparison) -> str:
    """How far judges' own failure rates lie from the corrected ones at most, or why no rate was corrected."""
    known = [rates.overall for *_, rates in _rated(comparison)]
    if not known:
        reasons = {judge.rates.overall.refusal for _, judge in comparison.pairs() if judge.rates} - {""}
        why = "no judge gave a verdict" if comparison.corrected else "the scale knows no failure"
        return f"No failure rate was corrected: {'; '.join(sorted(reasons)) or why}."
    off = max(known, key=_off)
    points = abs(round(100 * off.apparent.estimate) - round(100 * off.rate.estimate))  # of what is printed
    rates = f"{off.apparent.estimate:.0%} where the corrected rate is {off.rate.worded('.0%')}"
    if len(known) == 1:
        return f"The judge's own failure rate is {rates}."
    if not points:
        return f"Judges' own failure rates are the corrected ones, to a point ({len(known)} rates compared)."
    return f"Judges' own failure rates are up to {many(points, 'point')} off: the farthest of {len(known)} is {rates}."


def rates_sentence(comparison: compared.HumanComparison) -> str:
    """How far judges' own failure rates lie from the corrected ones, and which agents can be told apart."""
    known = _rated(comparison)
    if not known:
        return farthest_sentence(comparison)
    weak = sum(bool(rates.overall.warnings) for *_, rates in known)
    apart = [
        f"{question.question} ({judge})" for question, judge, rates in known if rates.ranks and not rates.ranks.tied
    ]
    several = any(len(rates.by_agent) > 1 for *_, rates in known)
    agents = "No two agents can be told apart." if several else "Runs name no two agents, so agents are not compared."
    if apart:
        agents = f"Agents can be told apart on {listed(apart, most=_NAMED)}."
    too_weak = f" In {weak} the judge is too weak to narrow the interval of the labels alone." if weak else ""
    twice = if_twice(max((rates.overall for *_, rates in known), key=_off))
    panels = [question.panel for question in comparison.questions if "not_applicable" in question.panel.categories]
    n_without = sum(int((each.judged == each.categories.index("not_applicable")).sum()) for each in panels)
    no_failure = f" Here not_applicable counts as no failure ({many(n_without, 'verdict')}); elsewhere it is left out."
    return f"{farthest_sentence(comparison)}{twice}{too_weak} {agents}{no_failure if n_without else ''}"


def planted_sentence(rates: Sequence[compared.PlantedRate]) -> str:
    """How many intervals hold the planted rate."""
    held, own = sum(rate.held for rate in rates), sum(rate.held_by_judge for rate in rates)
    return (
        f"The planted failure rate lies inside {held} of {many(len(rates), 'corrected interval')}, and inside {own} of "
        "the intervals round the judges' own rates."
    )


def few_labels_sentence(few: compared.FewLabels) -> str:
    """How often the intervals hold the rate of all labels, and what the judges save."""
    tried = few.judges
    if tried.is_empty():
        few_runs = f", or {agreeing(few.n_runs, 'run', 'is', 'are')} too few" if few.n_runs < FEWEST_LABELS else ""
        return f"Few labels cannot be tried here: not every item is labelled, or the scale knows no failure{few_runs}."
    names = ("held", "held_by_labels", "width", "width_of_labels", "runs")
    held, alone, width, without, runs = (tried[name].to_numpy() for name in names)
    return (
        f"Had people labelled only {spanned(runs.tolist(), '.0f')} runs, one of a task ({few.n_draws} draws), the "
        f"corrected interval would hold the rate of all labels in {held.mean():.0%} of the draws, averaged over judges "
        f"(least {held.min():.0%}), and that of the labels alone in {alone.mean():.0%}. The corrected intervals are "
        f"{width.mean():.2f} wide on average ({width.min():.2f} with the best judge), those of the labels alone "
        f"{without.mean():.2f}."
    )


_RIGHT = {"sensitivity": "finds failures", "specificity": "spares what people pass"}
#: So many differences are told one by one.
_MOST_UNFAIR = 4


def fairness_sentences(fairness: Sequence[compared.QuestionFairness]) -> list[str]:
    """One or two sentences for each question and way of sorting its runs; refusals that are alike together."""
    refused: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in fairness:
        if each.refusal:
            refused[each.by, each.refusal].append(each.question)
    lines = [f"By {by} nothing is compared on {listed(questions)}: {why}." for (by, why), questions in refused.items()]
    tried = ((f"{each.question} by {each.by}", _by_stratum(each)) for each in fairness if not each.refusal)
    return [*by_text(tried), *lines]


def _by_stratum(each: compared.QuestionFairness) -> str:
    n_tried = sum(one.answer is not Fair.NOT_TRIED for one in each.differences)
    untried = len(each.differences) - n_tried
    rest = f" {many(untried, 'difference')} could not be tried." if untried else ""
    if not n_tried:
        return "no difference could be tried: the strata hold too little."
    if not each.unfair:
        within = f"all that is shown is that no difference is larger than {100 * each.within:.0f} points"
        left = within if each.within < 0.995 else "how large differences are is left open"
        return f"no difference is shown among {many(n_tried, 'comparison')}. That is not fairness: {left}.{rest}"
    largest = sorted(each.unfair, key=lambda one: -abs(one.of.difference.estimate))
    named = "; ".join(_difference(one) for one in largest[:_MOST_UNFAIR])
    more = f"; and {len(largest) - _MOST_UNFAIR} more" if len(largest) > _MOST_UNFAIR else ""
    tried = f"of {many(n_tried, 'difference')} {len(largest)} hold{'s' * (len(largest) == 1)} after Holm's correction"
    return f"{tried}: {named}{more}.{rest}"


def _difference(one: StratumFairness) -> str:
    gap = in_points(one.of.difference).estimate
    return (
        f"{one.judge} {_RIGHT[one.measure]} {abs(gap):.0f} points {'more' if gap > 0 else 'less'} often in the stratum "
        f"{one.of.stratum} than elsewhere ({p_words(one.p_adjusted)})"
    )


def strata_rates_sentence(fairness: Sequence[compared.QuestionFairness]) -> str:
    """How far failure rates move where each stratum is corrected by its own labels; empty without any."""
    # where all is labelled nothing can move
    partly = [(each, one) for each in fairness for one in each.rates if one.together.n_missing]
    both = [(each, one) for each, one in partly if not math.isnan(one.own_strata.estimate - one.together.estimate)]
    if not both:
        return ""
    each, one = max(both, key=lambda pair: abs(pair[1].own_strata.estimate - pair[1].together.estimate))
    moved = 100 * (one.own_strata.estimate - one.together.estimate)
    return (
        f"Corrected by strata of their own, failure rates move by {abs(moved):.1f} points at most ({one.judge}, "
        f"{each.question}, by {each.by}: {one.together.estimate:.0%} to {one.own_strata.estimate:.0%})."
    )


#: What is said of judges against people, part by part.
AGAINST_PEOPLE = (kappa_sentence, failing_sentence, behind_sentence, bounds_sentence, steps_sentence)
