"""Termination: did the run stop of itself, at the right time, and with nothing left open?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from axisjudge.judges.rules import phrases, verbs
from axisjudge.judges.rules.facts import AgentCall, Facts
from axisjudge.judges.rules.findings import Clean, Finding
from axisjudge.judges.rules.result_interpretation import claimed_success
from axisjudge.judges.rules.tool_selection import given_up

_CUT_OFF = re.compile(r"max|limit|budget|timeout|timed|truncat|length|exceeded", re.IGNORECASE)
_ERROR = re.compile(r"error|exception|crash|fail|invalid", re.IGNORECASE)
_OUTSIDE = re.compile(r"user_?error|infra|environment|network|api_?error|cancel|interrupt", re.IGNORECASE)
_USER_LEFT = re.compile(r"user", re.IGNORECASE)


def findings(facts: Facts) -> Iterator[Finding]:
    """All that the rules hold against how the run ended."""
    yield from _ending(facts)
    yield from _keeps_talking(facts)
    yield from _after_handover(facts)
    yield from _left_open(facts)
    yield from _confirmed_not_done(facts)
    yield from _success_after_failure(facts)
    yield from _not_brought_about(facts)


def clean(facts: Facts) -> Clean:
    """What is said when nothing was found."""
    steps = facts.trajectory.steps
    if not steps:
        return Clean("not_applicable", 0.95, (), "The run holds no message, and nothing says how it ended.")
    last = tuple(index for index, _ in facts.agent_messages[-1:]) or (steps[-1].index,)
    if not facts.is_english:
        text = "The run was not cut off. Whether anything was left open cannot be told: the talk is not in English."
        return Clean("uncertain", 0.30, last, text)
    if _nothing_can_be_left(facts):
        text = "The user closed, nothing is left open, and no tool on the list could have changed anything."
        return Clean("correct", 0.80, last, text)
    text = (
        "The run was not cut off, and no question is left open. "
        "Whether all that was wanted had been done cannot be told."
    )
    return Clean("uncertain", 0.30, last, text)


def _nothing_can_be_left(facts: Facts) -> bool:
    """Every tool only reads, and the user's last words close the conversation with nothing asked or promised."""
    kinds = facts.trajectory.kinds
    last = [index for index, _ in facts.user_messages[-1:]]
    return (
        facts.tools is not None
        and all(kinds.get(name) == "read" for name in {*facts.tools, *(call.name for call in facts.calls)})
        and bool(last)
        and last == _closings(facts)[-1:]
    )


def _ending(facts: Facts) -> Iterator[Finding]:
    ended = facts.trajectory.termination or ""
    steps = facts.trajectory.steps
    own = [step.index for step in steps if step.role == "assistant"]
    last = tuple(sorted({*own[-1:], *(step.index for step in steps[-1:])}))
    if _OUTSIDE.search(ended):
        yield Finding("outside_cause", last, f"The run was ended from outside ({ended}){_at(last)}.")
    elif _ERROR.search(ended):
        yield Finding("ended_in_error", last, f"The run ended in an error ({ended}){_at(last)}.")
    elif _CUT_OFF.search(ended) and not _only_talk_was_cut(facts):
        yield Finding("cut_off", last, f"The run was cut off ({ended}){_at(last)} before it had come to an end.")


def _at(last: tuple[int, ...]) -> str:
    return f" at step {last[-1]}" if last else " without a single message"


def _only_talk_was_cut(facts: Facts) -> bool:
    """The user had closed, and no call came after: the limit cut nothing but talk."""
    closed = _closings(facts)[-1:]
    return bool(closed) and all(call.step < closed[0] for call in facts.calls)


def _closings(facts: Facts) -> list[int]:
    """Where the user closes: the agent has begun, and nothing that it asked or promised is open."""
    begun = next((step.index for step in facts.trajectory.steps if step.role == "assistant"), None)
    return [
        index
        for index, text in facts.user_messages
        if begun is not None and index > begun and phrases.closes(text) and not _is_open(facts, index)
    ]


def _is_open(facts: Facts, step: int) -> bool:
    before = facts.last_agent_message(step)
    return before is not None and (phrases.asks_something(before[1]) or phrases.promises_more(before[1]))


def _keeps_talking(facts: Facts) -> Iterator[Finding]:
    """The user closes and wants nothing more, and the agent asks again and again."""
    for index in _closings(facts):
        later = ((i, words) for i, words in facts.user_messages if i > index)
        resumed = next((i for i, words in later if not phrases.closes(words) and not phrases.refuses(words)), None)
        until = len(facts.trajectory.steps) if resumed is None else resumed
        questions = [i for i, words in facts.agent_messages if index < i < until and "?" in words]
        if len(questions) >= 2:
            text = f"The user closes at step {index}, yet the agent asks on at steps {', '.join(map(str, questions))}."
            yield Finding("keeps_talking", (index, *questions), text)
            return


def _after_handover(facts: Facts) -> Iterator[Finding]:
    handed = [call for call in facts.calls if call.kind != "read" and verbs.hands_over(call.name) and call.succeeded]
    if handed and (
        after := [call for call in facts.writes if call.step > handed[0].step and not verbs.hands_over(call.name)]
    ):
        words = f"The user was handed over at step {handed[0].step}, yet step {after[0].step} calls {after[0].name}."
        yield Finding("after_handover", (handed[0].step, after[0].step), words)


def _left_open(facts: Facts) -> Iterator[Finding]:
    """The run ends on a question, unless the user left, or on a result that was never told."""
    steps = facts.trajectory.steps
    if not steps or not facts.agent_messages or _USER_LEFT.search(facts.trajectory.termination or ""):
        return
    index, words = facts.agent_messages[-1]
    idle = all(call.step < index for call in facts.calls)
    if steps[-1].index == index and idle and phrases.asks_something(words):
        yield Finding("open_question", (index,), f"The run ends at step {index} on a question to the user.")
    elif facts.calls and _ends_untold(facts.calls[-1], steps[-1].index):
        yield _untold(facts.calls[-1], steps[-1].index)


def _untold(call: AgentCall, last: int) -> Finding:
    text = f"The run ends at step {last} on a tool result about which the user was told nothing"
    if call.kind is not None:
        return Finding("no_reply", (call.step, last), f"{text}.")
    text += f"; what {call.name} does is not documented, so it may be a last word."
    return Finding("no_reply_due", (call.step, last), text)


def _confirmed_not_done(facts: Facts) -> Iterator[Finding]:
    """The user's last word but for a farewell agrees to a change that the agent had put to them, and none follows."""
    for index, text in reversed(facts.user_messages if facts.write_verbs else ()):
        proposal = facts.last_agent_message(index)
        asked = proposal is not None and phrases.asks_consent(proposal[1])
        if proposal is not None and asked and phrases.agrees(text) and not phrases.refuses(text):
            break
        if not phrases.closes(text):
            return
    else:
        return
    after = [words for later, words in facts.agent_messages if later > index]
    named = _speaks_of_a_change(facts, proposal[1], text)
    acted = any(call.step > index and call.kind != "read" for call in facts.calls)
    if named and not acted and not any(phrases.admits_failure(words) or "?" in words for words in after):
        text = f"The user agrees at step {index} to what step {proposal[0]} proposes, and the run ends without it."
        yield Finding("confirmed_not_done", (proposal[0], index), text)


def _speaks_of_a_change(facts: Facts, proposal: str, answer: str) -> bool:
    """Whether what is agreed to is a change still to come: named by the answer, the question or what leads to it."""

    def named(text: str) -> bool:
        return any(verbs.mentions(text, verb) for verb in facts.write_verbs)

    asked, offered = " ".join(phrases.asking(proposal)), phrases.still_possible(proposal)
    if verbs.hands_over(answer) or verbs.hands_over(asked) or not (named(answer) or phrases.agrees_only(answer)):
        return False
    if phrases.asks_in_general(asked):
        return named(asked) or (named(offered) and not verbs.hands_over(offered))
    return named(asked) and not phrases.asks_to_tell(asked)


def _not_brought_about(facts: Facts) -> Iterator[Finding]:
    """A change that was refused and given up; not where others take over."""
    if any(verbs.hands_over(call.name) and call.succeeded for call in facts.calls):
        return
    for call in given_up(facts):
        text = f"{call.name} was refused at step {call.step}, and the run ends without it."
        yield Finding("given_up", call.steps, text)


def _ends_untold(call: AgentCall, last: int) -> bool:
    return call.result_step == last and call.kind != "generic" and not verbs.ends_the_run(call.name)


def _success_after_failure(facts: Facts) -> Iterator[Finding]:
    for call, index in claimed_success(facts):
        text = (
            f"{call.name} failed at step {call.result_step} and was not tried again; step {index} closes on a success."
        )
        yield Finding("success_after_failure", (call.result_step or call.step, index), text)
