"""Tool selection: does the tool exist, was a refused call repeated, does a change fit what was spoken of?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from axisjudge.judges.rules import policy, verbs, wishes
from axisjudge.judges.rules.facts import AgentCall, Facts
from axisjudge.judges.rules.findings import Clean, Finding
from axisjudge.judges.rules.result_interpretation import never_done

_NO_SUCH_TOOL = re.compile(
    r"(?i)(?:unknown|no such|invalid|unrecogni[sz]ed) (?:tool|function)"
    r"|\b(?:tool|function)\b.{0,60}\b(?:not (?:found|exist|available|defined)|does(?: not|n't) exist)",
)
_FIRST_WORDS = 200
_PASSING = re.compile(
    r"time[d ]?-?out|temporar|try again|retry|rate limit|too many requests|unavailable|internal|server error|connection"
    r"|\b(?:429|500|502|503|504)\b",
    re.IGNORECASE,
)


def findings(facts: Facts) -> Iterator[Finding]:
    """All that the rules hold against the choice of tools."""
    yield from _unknown(facts)
    yield from _repeated(facts)
    yield from _refused_again(facts)
    yield from _handed_over_midway(facts)
    for call in facts.writes:
        yield from _against_words(facts, call)
        if call.succeeded and (part := wishes.only_a_part(facts, call)) is not None:
            text = f"Step {part[0]} asks to cancel {part[1]} alone; {call.name} at step {call.step} cancels the whole."
            yield Finding("wider_than_asked", (part[0], call.step), text)
        if call.succeeded and (shown := policy.ruled_out(facts, call)) is not None:
            text = (
                f"{call.name} at step {call.step} goes against the policy for such a record as step {shown} had shown."
            )
            yield Finding("against_policy", (shown, *call.steps), text)
    for index, verb, failed in never_done(facts):
        if failed is None:
            text = f"Step {index} tells the user that something was {verb}, but no tool was called for it."
            yield Finding("words_for_a_tool", (index,), text)


def clean(facts: Facts) -> Clean:
    """What is said when nothing was found: nothing to choose where no tool was offered, else uncertain."""
    if facts.tools == {} and not facts.calls:
        return Clean("not_applicable", 0.95, (), "No tool was offered and none was called.")
    if not facts.calls:
        text = "The agent called no tool; whether one was needed is more than a rule can tell."
        return Clean("uncertain", 0.30, (), text)
    steps = tuple(sorted({call.step for call in facts.calls}))
    known = "Every tool exists" if facts.tools is not None else "No call was refused as unknown"
    rest = "" if facts.undocumented or not facts.is_english else ", and no change goes against what was spoken of"
    text = f"{known}, no refused call was repeated unchanged{rest}. Whether other calls were needed cannot be told."
    return Clean("uncertain", 0.30, steps, text)


def is_unknown(facts: Facts, call: AgentCall) -> bool:
    """Whether a tool is not there: the list lacks it, or the answer says so.

    Where a tool answers that is not on the list, the list is not all of the run's, and its lack says nothing.
    """
    says_so = call.failed and not call.runs_program and _NO_SUCH_TOOL.search(call.result[:_FIRST_WORDS]) is not None
    return says_so or (
        _unlisted(facts, call) and not any(_unlisted(facts, one) and one.succeeded for one in facts.calls)
    )


def _unlisted(facts: Facts, call: AgentCall) -> bool:
    return bool(facts.tools) and call.schema is None


def _tools_are(calls: list[AgentCall]) -> str:
    names, first = {call.name for call in calls}, calls[0]
    if len(names) == 1:
        return f"The tool {first.name!r} called at step {first.step} is"
    return f"{len(names)} tools, {first.name!r} called at step {first.step} the first of them, are"


def _unknown(facts: Facts) -> Iterator[Finding]:
    answered = [call for call in facts.calls if _unlisted(facts, call) and call.succeeded]
    if answered:
        steps = tuple(sorted({step for call in answered for step in call.steps}))
        text = f"{_tools_are(answered)} not on the list of tools, but answered: the list is not all of this run's."
        yield Finding("unlisted_tool", steps, text)
    for call in facts.calls:
        if call not in answered and is_unknown(facts, call):
            text = f"The tool {call.name!r} called at step {call.step} does not exist."
            yield Finding("unknown_tool", call.steps, text)


def _repeated(facts: Facts) -> Iterator[Finding]:
    """A call that failed, made again unchanged although nothing that could help had happened since."""
    for position, call in enumerate(facts.calls):
        if not call.failed or _PASSING.search(call.result):
            continue
        for earlier in reversed(facts.calls[:position]):
            if earlier.may_have_changed and earlier.succeeded:
                break
            if earlier.runs_program and not (earlier.same_as(call) and earlier is facts.calls[position - 1]):
                break  # a program may have changed something, failed or not
            if earlier.same_as(call) and earlier.failed:
                requests = facts.last_user_message(call.step)
                if earlier.step != call.step and (requests is None or requests[0] < earlier.step):
                    text = (
                        f"{call.name} is called at step {call.step} exactly as at step {earlier.step}, where it failed."
                    )
                    yield Finding("same_failing_call", (*earlier.steps, *call.steps), text)
                break


def given_up(facts: Facts) -> Iterator[AgentCall]:
    """The last refused call of each tool that changes something and never went through afterwards."""
    last = {call.name: call for call in facts.writes if not verbs.hands_over(call.name)}
    for call in last.values():
        if call.failed and not _PASSING.search(call.result):
            yield call


def _refused_again(facts: Facts) -> Iterator[Finding]:
    """A tool that refuses a change, and refuses it again with other arguments."""
    for name in dict.fromkeys(call.name for call in facts.writes):
        refused = [call for call in facts.writes if call.name == name and call.failed]
        if len({call.step for call in refused}) > 1:
            steps = tuple(sorted({step for call in refused for step in call.steps}))
            at = " and ".join(map(str, sorted({call.step for call in refused})))
            yield Finding("refused_again", steps, f"{name} refuses the changes asked of it at steps {at}.")


def _handed_over_midway(facts: Facts) -> Iterator[Finding]:
    """The user is handed over after a change was made, or one or the look-ups failed and nothing else was tried."""
    handed = next((call for call in facts.calls if verbs.hands_over(call.name) and call.succeeded), None)
    if handed is None:
        return
    before = [call for call in facts.writes if call.step < handed.step and not verbs.hands_over(call.name)]
    open_call = next((call for call in given_up(facts) if call.step < handed.step), None)
    if open_call is not None:
        text = f"{open_call.name} was refused at step {open_call.step}, and step {handed.step} hands over."
        yield Finding("handed_over_midway", (open_call.step, handed.step), text)
    elif any(call.succeeded for call in before):
        text = f"Step {handed.step} hands over after a change was made at step {before[-1].step}."
        yield Finding("handed_over_midway", (handed.step,), text)
    elif (failed := _looked_in_vain(facts, handed.step)) is not None:
        text = f"Step {failed} looks something up in vain, and step {handed.step} hands over with no record read."
        yield Finding("handed_over_unread", (failed, handed.step), text)


def _looked_in_vain(facts: Facts, step: int) -> int | None:
    """The last look-up that failed before a step, where no record had been read by then."""
    looked = [call for call in facts.calls if call.step < step and call.kind == "read"]
    failed = [call.step for call in looked if call.failed]
    return failed[-1] if failed and not any(call.succeeded and call.result_leaves for call in looked) else None


def _against_words(facts: Facts, call: AgentCall) -> Iterator[Finding]:
    """A change whose verb nobody has spoken of, while the user spoke of what another tool does."""
    verb = verbs.verb_of(call.name)
    requests = [(index, text) for index, text in facts.user_messages if index < call.step]
    own = [(index, text) for index, text in facts.agent_messages if index < call.step]
    if not requests or not own or not verbs.has_family(verb):
        return
    others = sorted(other for other in facts.write_verbs - {verb} if verbs.has_family(other))
    if not any(verbs.mentions(text, verb) for _, text in (*requests, *own)):
        spoken = [other for other in others if any(verbs.mentions(text, other) for _, text in requests)]
        kind, where = "tool_against_words", requests[-1][0]
    else:
        about = [own[-1], requests[-1], *((i, text) for i, text in (*requests, *own) if call.named_in(text))]
        if any(verbs.mentions(text, verb) for _, text in about):
            return
        spoken = [other for other in others if all(verbs.names(text, other) for _, text in (own[-1], requests[-1]))]
        kind, where = "tool_against_last_words", requests[-1][0]
    if spoken:
        text = (
            f"{call.name} is called at step {call.step}, but nobody had asked or offered to {verb} there;"
            f" the words before it speak of another change ({', '.join(spoken)})."
        )
        yield Finding(kind, (where, call.step), text)
