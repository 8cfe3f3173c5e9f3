"""Claims in words: what is claimed of a judge, the answer, and the figure or the reason behind it."""

from __future__ import annotations

from axisjudge.stats.rates.correction import CorrectedRate
from axisjudge.studies._shared.words import directed, in_points, overturned, share
from axisjudge.studies.people.claims import MARGIN, Claim, ClaimAnswer, ClaimKind, ClaimReason
from axisjudge.studies.people.judge_comparison import JudgeComparison

_CLAIMED = {
    ClaimKind.BEATS_ONE_WORD: "is right more often than always saying the commonest word",
    ClaimKind.AS_A_PERSON: f"is at most {100 * MARGIN:.0f} points less often right than a person",
    ClaimKind.STANDS_IN: "may stand in for one of these people (at epsilon {epsilon:g})",
    ClaimKind.FINDS_FAILURES: "finds more than half of the failures that people see",
    ClaimKind.RATE_HOLDS: "reports the failure rate that people would, without correction",
    ClaimKind.ADDS_TO_LABELS: "makes the failure rate clearly more exact than the labels alone",
}
_CHOSEN_BY = {
    "by_judge_verdict": "judge verdict",
    "by_key": "key",
    "by_human_label": "human label",
    "by_flip": "flip",
    "by_disagreement": "disagreement",
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
            return str(claim.reason).format(_CHOSEN_BY[claim.panel.drawn.sampling])
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
