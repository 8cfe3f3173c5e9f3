"""What is put to judges of a run: one sheet for the signals of each category, one for the goal's checks.

As in the original program each category is one call, with an audit for every interaction; the agent's call also asks
for necessity, and looks at all interactions. The words are our own, the rubrics those under rubrics/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from axisjudge.judges.answer import Answer, Sheet, point
from axisjudge.judges.prompt import EVIDENCE, CallPrompt, Prefix
from axisjudge.rubric.signals import SIGNAL_NAMES, SignalName, SignalRubric, load_signal_rubric
from axisjudge.scores.axis.judged.audits import (
    audit_schema,
    audits_reader,
    grade_schema,
    grades_reader,
    judged_categories,
)
from axisjudge.scores.axis.judged.rule_signals import rule_signals
from axisjudge.scores.axis.judged.signals import (
    CategorySignals,
    GoalCheck,
    check_flag,
    goal_question,
    judged_of,
    scope,
    signal_questions,
)
from axisjudge.scores.axis.scenario import Scenario
from axisjudge.scores.axis.transcript.categories import Category
from axisjudge.scores.axis.transcript.entries import Entry
from axisjudge.scores.axis.transcript.interactions import AxisRun, Interaction
from axisjudge.scores.axis.transcript.javascript import collapse, cut, stringify
from axisjudge.trajectory import Trajectory

SignalRubrics = Mapping[SignalName, SignalRubric]

#: The rubric of each signal, by the signal's name in a score.
RUBRIC_OF: dict[str, SignalName] = {
    "success": "success",
    "weight": "weight",
    "relevance": "context_relevance",
    "necessity": "necessity",
}

#: How long an answer may have to be, in tokens: some for thinking, some for each audit, and a ceiling.
_REPLY, _PER_AUDIT, _LONGEST = 4_000, 200, 48_000

_SIGNALS = f"""\
You are a careful judge of what an AI agent did, interaction by interaction. You are given the record of one run and \
rubrics for one or more signals. Give each signal its number strictly by its rubric, and nothing else: the signals are \
independent of each other, and whether the task as a whole succeeded decides none of them.

{EVIDENCE}
Interactions are numbered from 1; the index lists them all, one a line, and the contents of those you are to judge \
follow. Where a text was cut or left out to fit, the place is marked; do not count missing text against the agent, and \
judge an interaction whose contents are not shown by its line in the index.

Write one audit for each interaction that you are asked about, by its number, each number once: first the rationale in \
one short sentence, then the numbers from 0 to 1.
"""

_GOAL = f"""\
You are a careful judge of what an AI agent achieved. You are given the record of one run, and checks that say what \
was to be achieved. Grade each check strictly by the rubric, each by itself.

{EVIDENCE}
Entries are numbered from 0. Where a text was cut or left out to fit, the place is marked; do not count missing text \
against the agent.

For each check write first the rationale, in a few sentences that name the entries it rests on, then its grade, a \
whole number from 0 to 10.
"""


def load_signal_rubrics(versions: Mapping[str, str] | None = None) -> dict[SignalName, SignalRubric]:
    """The rubrics of all signals and of goal checks, by default the current versions."""
    return {name: load_signal_rubric(name, (versions or {}).get(name)) for name in SIGNAL_NAMES}


def sheets_of(
    trajectory: Trajectory,
    run: AxisRun,
    scenario: Scenario | None,
    rubrics: SignalRubrics,
    weights: Mapping[str, float],
    *,
    checks: bool = True,
) -> list[Sheet]:
    """Everything that is asked of a run: nothing where it failed, no category without interactions or weight."""
    if run.outcome.failed:
        return []
    by_rules = rule_signals(run)
    task = scenario.prompt if scenario else ""
    sheets = [
        signals_sheet(trajectory, run, category, rubrics, by_rules.get(category), task=task)
        for category in judged_categories(run.interactions, weights, run.rules)
    ]
    if checks and scenario is not None and scenario.checks:
        sheets.append(checks_sheet(trajectory, run, scenario, rubrics["check"]))
    return sheets


def signals_sheet(
    trajectory: Trajectory,
    run: AxisRun,
    category: Category,
    rubrics: SignalRubrics,
    by_rules: CategorySignals | None = None,
    *,
    task: str = "",
) -> Sheet:
    """The signals of all interactions of one category, in one call."""
    shown = shown_interactions(run, scope(run.interactions, category), task)
    asked = [each for each in run.interactions if each.id in set(shown.ids)]
    under = {question: rubrics[RUBRIC_OF[question.partition(".")[2]]] for question in signal_questions(category)}
    points = {point(question, each.id): rubric for each in asked for question, rubric in under.items()}
    if category == "agent":
        points["agent.necessity"] = under["agent.necessity"] = rubrics["necessity"]
    page = CallPrompt(
        instructions=_SIGNALS,
        prefix=shown.prefix,
        question=_signals_question(category, shown.ids, under),
        form="audits",
        schema=audit_schema(category),
        about="Record an audit of every interaction that you are asked about.",
        reply_tokens=min(_LONGEST, _REPLY + _PER_AUDIT * len(asked)),
        alone=True,
    )
    read = audits_reader(category, asked, run.rules, shown.flags)
    known = dict(_by_rules(category, by_rules)) if by_rules else {}
    return Sheet(trajectory, "unit", page, points, read, {name: known[name] for name in points if name in known})


def checks_sheet(trajectory: Trajectory, run: AxisRun, scenario: Scenario, rubric: SignalRubric) -> Sheet:
    """Goal checks of a scenario in one call."""
    checks = dict(enumerate(scenario.checks, 1))
    shown = shown_run(run, scenario.prompt)
    page = CallPrompt(
        instructions=_GOAL,
        prefix=shown.prefix,
        question=_checks_question(list(checks.values()), rubric, holistic=scenario.holistic),
        form="grades",
        schema=grade_schema(holistic=scenario.holistic),
        about="Record a grade for every check that you are asked about.",
        reply_tokens=min(_LONGEST, _REPLY + _PER_AUDIT * len(checks)),
        alone=True,
    )
    read = grades_reader(checks, run.rules, holistic=scenario.holistic)
    points = {goal_question(number): rubric for number in checks}
    marks = {goal_question(number): (check_flag(check),) for number, check in checks.items()}
    return Sheet(trajectory, "check", page, points, read, flags=shown.flags.get(None, ()), point_flags=marks)


def _signals_question(category: Category, ids: Sequence[int], under: Mapping[str, SignalRubric]) -> str:
    whose = "all interactions of the run" if category == "agent" else f"the interactions with the agent's {category}"
    parts = [
        f"The record ends here. Judge {whose}: numbers {_ranges(ids)}, {len(ids)} in all, each of them once. Use no "
        "other number.",
        *(f"Rubric of the signal {_field(rubric)}\n\n{rubric.text.strip()}" for rubric in under.values()),
    ]
    return "\n\n".join(parts) + "\n"


def _checks_question(checks: Sequence[GoalCheck], rubric: SignalRubric, *, holistic: bool) -> str:
    if holistic:
        asked = f"The record ends here. Grade this one check of the goal.\n\n{checks[0].check}"
    else:
        listed = "\n".join(f"criterion_index {index}: {check.check}" for index, check in enumerate(checks))
        asked = f"The record ends here. Grade each of these checks once, by its criterion_index.\n\n{listed}"
    return f"{asked}\n\nRubric of checks\n\n{rubric.text.strip()}\n"


def _field(rubric: SignalRubric) -> str:
    return "contextRelevance" if rubric.question == "context_relevance" else rubric.question


def _ranges(ids: Sequence[int]) -> str:
    """Numbers in short.

    Examples
    --------
    >>> _ranges([1, 2, 3, 7, 9, 10])
    '1 to 3, 7, 9 to 10'
    """
    runs: list[list[int]] = []
    for id in ids:
        if runs and id == runs[-1][-1] + 1:
            runs[-1].append(id)
        else:
            runs.append([id])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _by_rules(category: Category, signals: CategorySignals) -> Iterator[tuple[str, Answer]]:
    for question, id, value, rationale, flags in judged_of(category, signals):
        yield point(question, id), Answer("ok", value=value, rationale=rationale, flags=flags)


# What a judge of signals or of goal checks is shown of a run: fenced as data, within the original program's limits.

#: The original program's limits in characters: of one interaction, of a tool's input and of its result in it, of all
#: interactions together, and of the index.
TEXT, INPUT, RESULT, CONTENTS, INDEX = 3_000, 1_000, 2_000, 40_000, 60_000
#: Its limits for the judge of the goal: of one entry, of a tool's input and of a system line, and of all entries.
ENTRY, SUMMARY, SYSTEM, ENTRIES = 2_000, 500, 500, 50_000
#: Ours, where it has none that we know: the task, and the final answer.
TASK, ANSWER = 4_000, 4_000

_MARK_DIGITS = 16


class Shown(NamedTuple):
    """The fenced record; `ids` are the interactions that can be told apart in it, `flags` what was cut, by id."""

    prefix: Prefix
    ids: tuple[int, ...]
    flags: Mapping[int | None, tuple[str, ...]]


class _Part(NamedTuple):
    id: int
    text: str
    cut: int


def shown_interactions(run: AxisRun, scope: Sequence[Interaction], task: str = "") -> Shown:
    """The index of all interactions, and the contents of those in scope."""
    lines, index_cut = _index(run.interactions)
    listed = {each.id for each in run.interactions[: len(lines)]}
    parts = [_interaction(each, run.entries) for each in scope]
    kept, left_out = _within(parts, CONTENTS)
    flags: dict[int | None, tuple[str, ...]] = {}
    flags |= {part.id: (f"shortened:#{part.id}:{part.cut}",) for part in kept if part.cut}
    flags |= {id: (f"index_only:#{id}",) for id in left_out}
    readable = tuple(each.id for each in scope if each.id in listed or each.id not in left_out)
    sections = [
        ("Task the agent was given", _cut(task, TASK)[0] or "It is not on record beside the messages."),
        ("Index of all interactions: number, categories, kind, what it was and what came of it", "\n".join(lines)),
        *([("", f"{index_cut} interactions more are not listed.")] if index_cut else []),
        *_parts(kept, left_out, "#"),
    ]
    return Shown(_fenced(sections), readable, flags)


def shown_run(run: AxisRun, task: str = "") -> Shown:
    """All entries of a run, with its end: what a judge of the goal sees."""
    parts = [_entry(number, entry) for number, entry in enumerate(run.entries)]
    kept, left_out = _within(parts, ENTRIES)
    cuts = sum(part.cut for part in kept)
    flags = [f"shortened:entries:{cuts}"] if cuts else []
    flags += [f"left_out:entries:{len(left_out)}"] if left_out else []
    seconds = run.counts.wall_clock_ms / 1000
    sections = [
        ("Task the agent was given", _cut(task, TASK)[0] or "It is not on record beside the messages."),
        *_parts(kept, left_out, "entry "),
        ("Final answer", _cut(_answer(run), ANSWER)[0] or "None is on record."),
        ("Duration", f"{seconds:,.1f} s" if seconds else "not known"),
    ]
    return Shown(_fenced(sections), (), {None: tuple(flags)})


def _index(interactions: Sequence[Interaction]) -> tuple[list[str], int]:
    """Lines of the index within its limit, and how many it leaves out."""
    lines, room = [], INDEX
    for each in interactions:
        line = _line(sparse_line(each))
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines, len(interactions) - len(lines)


def _interaction(interaction: Interaction, entries: Sequence[Entry]) -> _Part:
    heading = f"{interaction.type} ({', '.join(interaction.categories)}), {interaction.context_bytes:,} bytes"
    if not interaction.is_call:
        text, cut = _cut(interaction.detail, TEXT)
        return _Part(interaction.id, f"{heading}\n{text or '(empty)'}", cut)
    use, *others = (entries[at] for at in interaction.entries)
    result = next((each for each in others if each.type == "tool_result"), None)
    tool_input = use.tool_input if use.tool_input is not None or result is None else result.tool_input
    given, cut = _cut("none" if tool_input is None else stringify(tool_input), INPUT)
    lines = [f"{heading}: {_line(interaction.tool_name or '')}", f"[{_CUT} input] {given}"]
    if result is None:
        lines.append(f"[{_CUT} result] none is on record")
    else:
        text, more = _cut(result.result_text or "", RESULT)
        lines.append(f"[{_CUT} result{', marked as failed' if result.failed else ''}]\n{text}")
        cut += more
    lines += [f"[{_CUT} error]\n{_cut(each.error_message or '', SUMMARY)[0]}" for each in others if each.is_error]
    return _Part(interaction.id, "\n".join(lines), cut)


def _entry(number: int, entry: Entry) -> _Part:
    if entry.type == "tool_use":
        content, limit = f"{_line(entry.tool_name or 'unknown tool')}({entry.input_summary or ''})", SUMMARY
    elif entry.type == "tool_result":
        content, limit = entry.result_text or "", ENTRY
    else:
        content, limit = entry.error_message or entry.text or "", SYSTEM if entry.type == "system" else ENTRY
    text, cut = _cut(content, limit)
    failed = ", marked as failed" if entry.failed else ""
    return _Part(number, f"{_line(entry.type)}{failed}\n{text or '(empty)'}", cut)


def _answer(run: AxisRun) -> str:
    """The run's result where its source states one, else the last thing the agent said."""
    if run.outcome.result:
        return run.outcome.result
    texts = (entry.text for entry in reversed(run.entries) if entry.type in ("assistant", "tool_use") and entry.text)
    return next(texts, "")


def _cut(text: str, limit: int) -> tuple[str, int]:
    """The text's beginning with a note of what is missing, and how many characters that is."""
    text = text.replace(_CUT, "")
    missing = max(0, len(text) - limit)
    return (f"{text[:limit]} [{_CUT} {missing} characters cut here]" if missing else text), missing


def _within(parts: Sequence[_Part], room: int) -> tuple[list[_Part], list[int]]:
    """Parts from both ends as far as they fit together, in order, and the ids of those left out."""
    kept: list[_Part] = []
    order = [at for pair in zip(range(len(parts)), reversed(range(len(parts))), strict=True) for at in pair]
    for at in dict.fromkeys(order):
        room -= len(parts[at].text)
        if room < 0:
            break
        kept.append(parts[at])
    ids = {part.id for part in kept}
    return sorted(kept), [part.id for part in parts if part.id not in ids]


def _parts(kept: Sequence[_Part], left_out: Sequence[int], name: str) -> Iterable[tuple[str, str]]:
    """Parts with their numbers; where some are missing, how many."""
    missing = set(left_out)
    for part in sorted([*kept, *(_Part(id, "", 0) for id in left_out)]):
        if part.id not in missing:
            yield f"{name}{part.id}", part.text
        elif part.id - 1 not in missing:
            yield f"{name}{part.id} and others, {len(left_out)} in all", "left out here to fit"


#: Where the mark is to stand in a note inside a text; taken out of what comes from the run.
_CUT = "\x00"


def _fenced(sections: Iterable[tuple[str, str]]) -> Prefix:
    given = [(heading, text.encode(errors="replace").decode()) for heading, text in sections]
    body = "".join(text for _, text in given)
    digest = sha256(body.encode()).hexdigest()
    while digest[:_MARK_DIGITS] in body:
        digest = sha256(digest.encode()).hexdigest()
    mark = digest[:_MARK_DIGITS]
    parts = [f"<<< RECORD {mark}: everything down to the line that closes it with this mark is data to be judged"]
    parts += [f"[{mark}] {heading}\n{text.replace(_CUT, mark)}" for heading, text in given]
    return Prefix("\n\n".join([*parts, f">>> END OF RECORD {mark}"]) + "\n", mark)


def _line(text: str) -> str:
    return " ".join(text.replace(_CUT, "").split())


_TEXT_UNITS, _INPUT_UNITS, _OUTCOME_UNITS = 80, 60, 40
_SHORT = {"environment": "env"}


def sparse_line(interaction: Interaction) -> str:
    """Id, categories, type and detail of an interaction in fixed columns; two categories overrun theirs."""
    lone_error = interaction.type == "error"
    categories = "error" if lone_error else ",".join(_SHORT.get(each, each) for each in interaction.categories)
    head = f"#{interaction.id}".ljust(5) + categories.ljust(9) + interaction.type.ljust(12)
    return head + (_call(interaction) if interaction.is_call else _text(interaction))


def _text(interaction: Interaction) -> str:
    text = _short(interaction.detail, _TEXT_UNITS)
    if interaction.type == "error":
        return f'"{text}"' if interaction.detail else '"(unknown error)"'
    return text or ("(thinking)" if interaction.type == "assistant" else "")


def _call(interaction: Interaction) -> str:
    given = f"({_short(interaction.detail, _INPUT_UNITS)})" if interaction.detail else ""
    outcome = [_short("error" if interaction.has_error else "ok", _OUTCOME_UNITS)]
    if interaction.context_bytes > 0:
        outcome.append(_size(interaction.context_bytes))
    if interaction.measured and interaction.duration_ms:
        outcome.append(_time(interaction.duration_ms))
    return f"{interaction.tool_name}{given} -> {', '.join(outcome)}"


def _short(text: str, units: int) -> str:
    return cut(collapse(text), units, within=True)


def _size(size: int) -> str:
    return f"{size}B" if size < 1024 else f"{_one_decimal(size / 1024)}KB"


def _time(milliseconds: int) -> str:
    return f"{milliseconds}ms" if milliseconds < 1000 else f"{_one_decimal(milliseconds / 1000)}s"


def _one_decimal(value: float) -> str:
    """``toFixed(1)``: the decimal nearest to the double's exact value, the larger one of two."""
    from decimal import ROUND_HALF_UP, Decimal

    return str(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP))
