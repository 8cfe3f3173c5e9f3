"""Signals by rules: a program judges success, weight, relevance and necessity, offline, each with its reason.

It follows the rubrics under ``rubrics/axis_signals`` as far as it can see without understanding, and says nothing
beyond: whether a result shows that the call did what it was made for (`outcome`); whether a text came in twice, or is
too short to weigh; whether what came in bears a name or number that the user's task led to; which calls asked again
what was known. Whether a long result was needed whole, whether a text without such a name belongs to the task, and
whether all else was needed, it leaves unjudged. Lines that are no action of the agent count as perfect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from axisjudge.scores.axis.judged.outcome import CallOutcome, looks_only, outcome_of, purpose_of, waits
from axisjudge.scores.axis.judged.signals import UNJUDGED, Audit, CategorySignals, Necessity, Signals, scope
from axisjudge.scores.axis.transcript.categories import CATEGORIES, Category
from axisjudge.scores.axis.transcript.entries import Entry
from axisjudge.scores.axis.transcript.interactions import AxisRun, Interaction
from axisjudge.scores.axis.transcript.javascript import stringify

#: Up to this many bytes (some 250 words) an interaction is short: a small call is never heavy, however useless.
SHORT_BYTES = 1_500
#: Weight of a longer text that came in a second time, unchanged (``rubrics/axis_signals/weight``).
REPEATED_WEIGHT = 0.2

#: A name or number that does not occur by chance: with a digit and a letter, joined by _ . / or by an inner capital,
#: or of five digits and more.
_NAME = re.compile(
    r"[A-Za-z]+-\d{3,}|(?=\w*\d)(?=\w*[A-Za-z])\w{4,}|\d{5,}|[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+|[\w-]{2,}\.[A-Za-z]\w{1,4}\b"
    r"|[\w.-]{3,}(?:/[\w.-]{3,})+|[\w.+-]+@[\w.-]+"
)
#: Of such characters names are made, and each has one of these in it: other words are not looked at twice.
_WORD, _MAY_BE_NAME = re.compile(r"[\w.+/@-]+"), re.compile(r"[\d_/@]|[a-z][A-Z]|\.[A-Za-z]")
#: Lines that the agent did not write.
_GIVEN = ("user", "system")


def rule_signals(run: AxisRun) -> Signals:
    """The signals of a run as the rules see them, for every category that has interactions."""
    seen = _Seen(run)
    signals: dict[Category, CategorySignals] = {}
    for category in CATEGORIES:
        in_scope = scope(run.interactions, category)
        if not in_scope:
            continue
        audits = tuple(seen.audit(each) for each in in_scope)
        if category != "agent":
            audits = tuple(audit._replace(weight=None, relevance=None) for audit in audits)
        audits = tuple(audit for audit in audits if audit.judged)
        signals[category] = CategorySignals(audits, seen.necessity() if category == "agent" else Necessity())
    return signals


class _Seen:
    """What can be seen of a run: how its calls came out, which repeat an earlier one, and what bears on the task."""

    def __init__(self, run: AxisRun) -> None:
        self.entries, self.interactions = run.entries, run.interactions
        self.calls = [each for each in run.interactions if each.is_call]
        self.outcomes = {
            call.id: outcome_of(call, run.entries[call.entries[0]], _result(call, run.entries)) for call in self.calls
        }
        self.repeats = _repeats(run.interactions, run.entries, self.outcomes)
        self.second_times = _second_times(run.interactions, run.entries)
        self.on_task = _on_task(run.interactions, run.entries)

    def audit(self, interaction: Interaction) -> Audit:
        """The signals of one interaction with the reasons of all that is not perfect."""
        if interaction.type in _GIVEN:
            return Audit(interaction.id, 1.0, 1.0, 1.0, "no action of the agent")
        if interaction.type == "error":
            return Audit(interaction.id, 0.0, 1.0, None, "an error outside any call")
        outcome = self.outcomes.get(interaction.id, CallOutcome(1.0 if interaction.detail.strip() else None))
        reasons = [outcome.reason]
        if (before := self.repeats.get(interaction.id)) is not None:
            reasons.append(f"asks again what #{before} asked, and nothing changed between")
        weight, why = self._weight(interaction)
        relevance = 1.0 if interaction.id in self.on_task else None
        return Audit(interaction.id, outcome.success, weight, relevance, "; ".join(filter(None, [*reasons, why])))

    def necessity(self) -> Necessity:
        """Which interactions were not needed, as far as that can be seen; a number only where there was no call."""
        if not self.calls:
            return Necessity(1.0, (), "no calls")
        return UNJUDGED._replace(unnecessary=tuple(sorted(self.repeats)))

    def _weight(self, interaction: Interaction) -> tuple[float | None, str]:
        if interaction.context_bytes <= SHORT_BYTES:
            return 1.0, ""
        if (before := self.second_times.get(interaction.id)) is not None:
            return REPEATED_WEIGHT, f"brings in once more the text that #{before} brought in"
        return None, ""


def _repeats(
    interactions: Sequence[Interaction], entries: Sequence[Entry], outcomes: dict[int, CallOutcome]
) -> dict[int, int]:
    """Calls that look again and see the same, or fail again alike, with nothing between that may have changed it.

    Between two of a person's messages files may have changed; a call that asks how far something has come is none.
    """
    asked: dict[tuple[str | None, str], tuple[Interaction, str | None]] = {}
    repeats: dict[int, int] = {}
    for each in interactions:
        if each.type == "user":
            asked = {key: before for key, before in asked.items() if "environment" not in before[0].categories}
        if not each.is_call:
            continue
        use, result = entries[each.entries[0]], _result(each, entries)
        service = "service" in each.categories and "environment" not in each.categories
        looks = looks_only(use.tool_name, purpose_of(use.tool_name, use.tool_input, service=service))
        key = (use.tool_name, stringify(use.tool_input))
        text = None if result is None else result.result_text
        before = asked.get(key)
        failed = outcomes[each.id].success == 0
        if (
            before
            and before[1] == text
            and each.answered
            and (looks or failed)
            and not waits(use.tool_name, use.tool_input)
        ):
            repeats[each.id] = before[0].id
            continue
        if not looks and not failed:
            asked.clear()
        asked[key] = (each, text)
    return repeats


def _second_times(interactions: Sequence[Interaction], entries: Sequence[Entry]) -> dict[int, int]:
    """Interactions that bring in a longer text which an earlier one brought in word for word."""
    first: dict[str, int] = {}
    second: dict[int, int] = {}
    for each in interactions:
        result = _result(each, entries) if each.is_call else None
        text = (each.detail if result is None else result.result_text or "").strip()
        if len(text.encode(errors="replace")) > SHORT_BYTES and first.setdefault(text, each.id) != each.id:
            second[each.id] = first[text]
    return second


def _on_task(interactions: Sequence[Interaction], entries: Sequence[Entry]) -> set[int]:
    """Interactions whose text bears a name or number that the user gave, or that one of them led to.

    A short result leads on to what it names; a long one would lead everywhere. Pages from the web are left out: another
    matter may share a name.
    """
    known: set[str] = set()
    on_task: set[int] = set()
    for each in interactions:
        if each.type == "user":
            known |= _names(each.detail)
        if each.type in _GIVEN:
            continue
        use, result = entries[each.entries[0]], _result(each, entries) if each.is_call else None
        given = _names(stringify(use.tool_input)) if each.is_call and use.tool_input is not None else set()
        brought = _names((result.result_text or "") if result is not None else each.detail)
        if _of_the_web(use) or known.isdisjoint(given | brought):
            continue
        on_task.add(each.id)
        known |= given if each.context_bytes > SHORT_BYTES else given | brought
    return on_task


def _names(text: str) -> set[str]:
    words = filter(_MAY_BE_NAME.search, set(_WORD.findall(text)))
    return {name.lower() for name in _NAME.findall(" ".join(words))}


def _of_the_web(use: Entry) -> bool:
    return "web" in (use.tool_name or "").lower() or (use.tool_name or "").lower() in ("fetch", "curl", "wget")


def _result(call: Interaction, entries: Sequence[Entry]) -> Entry | None:
    return next((entries[at] for at in call.entries[1:] if entries[at].type == "tool_result"), None)
