"""What the rules find, how sure each kind of finding is, and how findings become one answer per axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from axisjudge.judges.answer import Answer
from axisjudge.verdict import Axis, Word


@dataclass(frozen=True)
class Kind:
    """A kind of finding: the axis it belongs to, the verdict it carries and how sure it is.

    `on` is False where the kind does not hold on runs that nothing was made on (`STATED_MARGIN`); `reads_words`
    says that it rests on what people say in English (`phrases.is_english`).
    """

    axis: Axis
    verdict: Literal["incorrect", "uncertain"]
    confidence: float
    on: bool = True
    reads_words: bool = False


#: A kind is off by default where it flagged `FEWEST_FLAGGED` runs or more of the sets that nothing was made on and the
#: lower end of the share of them that failed (95%, over tasks) does not lie `STATED_MARGIN` above the share of all runs
#: of these sets. Reward does not see every fault of a run, so that the share is a lower bound of the kind's precision.
#: data/reference/rules_findings.csv holds the counts; ``rules,all=true`` turns every kind on. A kind that flagged fewer
#: runs is not known and stays on.
STATED_MARGIN, FEWEST_FLAGGED = 0.05, 5


#: Every kind of finding. The confidences were set by hand, from what each rule can see and how often its flags were
#: right when read by eye on real runs, before any human label was looked at. `axisjudge confidence` tells what they are
#: worth. Of the demo, seed 1 was seen while the rules were written; another seed is the honest test.
KINDS: dict[str, Kind] = {
    # tool_selection
    "unknown_tool": Kind("tool_selection", "incorrect", 0.95),
    "unlisted_tool": Kind("tool_selection", "uncertain", 0.40),
    "same_failing_call": Kind("tool_selection", "incorrect", 0.85, on=False),
    "tool_against_words": Kind("tool_selection", "incorrect", 0.75, reads_words=True),
    "tool_against_last_words": Kind("tool_selection", "incorrect", 0.65, reads_words=True),
    "refused_again": Kind("tool_selection", "incorrect", 0.65),
    "handed_over_midway": Kind("tool_selection", "incorrect", 0.65),
    "handed_over_unread": Kind("tool_selection", "incorrect", 0.70),
    "words_for_a_tool": Kind("tool_selection", "incorrect", 0.65, reads_words=True),
    "wider_than_asked": Kind("tool_selection", "incorrect", 0.75, reads_words=True),
    "against_policy": Kind("tool_selection", "incorrect", 0.75),
    # argument_validity
    "not_an_object": Kind("argument_validity", "incorrect", 0.95),
    "missing_parameter": Kind("argument_validity", "incorrect", 0.95),
    "missing_but_accepted": Kind("argument_validity", "uncertain", 0.40),
    "unknown_parameter": Kind("argument_validity", "incorrect", 0.90),
    "not_in_enum": Kind("argument_validity", "incorrect", 0.90),
    "wrong_type": Kind("argument_validity", "incorrect", 0.85),
    "fabricated": Kind("argument_validity", "incorrect", 0.90),
    "mistyped": Kind("argument_validity", "incorrect", 0.70, on=False),
    "placeholder": Kind("argument_validity", "incorrect", 0.85),
    "misplaced": Kind("argument_validity", "incorrect", 0.85),
    "number_from_nowhere": Kind("argument_validity", "incorrect", 0.70),
    "argument_blamed": Kind("argument_validity", "incorrect", 0.75),
    "argument_blamed_mended": Kind("argument_validity", "incorrect", 0.65),
    "unlike_successful_calls": Kind("argument_validity", "incorrect", 0.60),
    "rule_of_the_tool": Kind("argument_validity", "uncertain", 0.40),
    "no_schema": Kind("argument_validity", "uncertain", 0.30),
    # sequencing
    "after_refusal": Kind("sequencing", "incorrect", 0.85, reads_words=True),
    "unconfirmed": Kind("sequencing", "incorrect", 0.75, on=False, reads_words=True),
    "unasked": Kind("sequencing", "incorrect", 0.60, reads_words=True),
    "unread": Kind("sequencing", "incorrect", 0.75, on=False),
    "identical_write": Kind("sequencing", "incorrect", 0.90),
    # result_interpretation
    "amount": Kind("result_interpretation", "incorrect", 0.75, reads_words=True),
    "unexplained_total": Kind("result_interpretation", "incorrect", 0.60, on=False, reads_words=True),
    "not_told": Kind("result_interpretation", "incorrect", 0.75, reads_words=True),
    "date": Kind("result_interpretation", "incorrect", 0.70, reads_words=True),
    "computed_date": Kind("result_interpretation", "uncertain", 0.40, reads_words=True),
    "status": Kind("result_interpretation", "incorrect", 0.70, reads_words=True),
    "against_status": Kind("result_interpretation", "incorrect", 0.60),
    "error_as_success": Kind("result_interpretation", "incorrect", 0.75, reads_words=True),
    "never_done": Kind("result_interpretation", "incorrect", 0.80, reads_words=True),
    # termination
    "cut_off": Kind("termination", "incorrect", 0.90),
    "ended_in_error": Kind("termination", "incorrect", 0.95),
    "outside_cause": Kind("termination", "uncertain", 0.40),
    "after_handover": Kind("termination", "incorrect", 0.80),
    "keeps_talking": Kind("termination", "incorrect", 0.60, reads_words=True),
    "open_question": Kind("termination", "incorrect", 0.75, reads_words=True),
    "confirmed_not_done": Kind("termination", "incorrect", 0.75, reads_words=True),
    "given_up": Kind("termination", "incorrect", 0.60),
    "no_reply": Kind("termination", "incorrect", 0.70),
    "no_reply_due": Kind("termination", "uncertain", 0.40),
    "success_after_failure": Kind("termination", "incorrect", 0.80, reads_words=True),
}


@dataclass(frozen=True)
class Finding:
    """One thing that a rule found: its kind, the steps that show it and one sentence about it."""

    kind: str
    steps: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Clean:
    """What is said of an axis when no rule found anything: the word, how sure, the steps looked at, one sentence."""

    verdict: Word
    confidence: float
    steps: tuple[int, ...]
    text: str


_MOST_SENTENCES = 4


def answer(findings: Iterable[Finding], clean: Clean, *, every_kind: bool = False) -> Answer:
    """One answer from all findings of an axis: a fault outweighs a doubt, a doubt outweighs silence.

    Kinds that are off by default count only with `every_kind`; one that was found is told, as it may belie `clean`.
    """
    given = list(findings)
    every = [finding for finding in given if every_kind or KINDS[finding.kind].on]
    for verdict in ("incorrect", "uncertain"):
        if chosen := [finding for finding in every if KINDS[finding.kind].verdict == verdict]:
            return _from(chosen, verdict, max(KINDS[finding.kind].confidence for finding in chosen))
    text = clean.text
    if given:
        text = (
            f"Not counted, as its kind ({given[0].kind}) was right too seldom: {given[0].text} Apart from that: {text}"
        )
    return _ok(clean.verdict, clean.confidence, clean.steps, text, ())


def _from(chosen: list[Finding], verdict: Word, confidence: float) -> Answer:
    steps = tuple(sorted({step for finding in chosen for step in finding.steps}))
    sentences = [finding.text for finding in chosen[:_MOST_SENTENCES]]
    if len(chosen) > _MOST_SENTENCES:
        sentences.append(f"And {len(chosen) - _MOST_SENTENCES} more of the kind.")
    return _ok(verdict, confidence, steps, " ".join(sentences), tuple(sorted({finding.kind for finding in chosen})))


def _ok(verdict: Word, confidence: float, steps: tuple[int, ...], rationale: str, flags: tuple[str, ...]) -> Answer:
    return Answer("ok", verdict, confidence, "rule", None, steps, rationale, flags)
