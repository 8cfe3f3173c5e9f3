"""A trace to be read: HTML for a page, markdown for the record. Everything in it is escaped; nothing in it can act."""

from __future__ import annotations

import re
from dataclasses import dataclass

from axisjudge.figures.markup import cut, literal, markdown_rows, template
from axisjudge.figures.theme import in_words, look_of
from axisjudge.studies._shared.scope import banner
from axisjudge.studies.trace.run import TracedRun, TracedStep, TracedVerdict

#: Longer texts are folded in HTML and cut in markdown, where the cut is stated.
FOLD, CUT = 600, 280


@dataclass(frozen=True)
class TracePage:
    """A trace that notebooks and pages can show."""

    run: TracedRun

    def to_html(self) -> str:
        """The trace as HTML with inline styles only: no script, no address, long texts folded."""
        warning = banner(self.run.made_up)
        return template("axisjudge.studies.trace", "trace.html.j2").render(
            run=self.run, banner=warning, look_of=look_of, in_words=in_words, fold=FOLD
        )

    def to_markdown(self) -> str:
        """The trace as markdown: facts, verdicts, then the steps, untrusted text fenced as code."""
        facts = [f"- {name}: {literal(value)}" for name, value in self.run.facts.items()]
        steps = [part for step in self.run.steps for part in _step_lines(step)]
        return "\n".join([*facts, "", *_verdict_lines(self.run), "", *steps])

    _repr_html_ = to_html


def _verdict_lines(run: TracedRun) -> list[str]:
    given = {(each.axis, each.judge): each for each in run.verdicts}
    rows = [
        [in_words(axis), *(literal(_spoken(given.get((axis, judge)))) for judge in run.judges)] for axis in run.axes
    ]
    return markdown_rows(["axis", *map(literal, run.judges)], rows)


def _step_lines(step: TracedStep) -> list[str]:
    who = f"{step.role} ({literal(step.answers)})" if step.answers else step.role
    cited = "; ".join(f"{in_words(each.axis)}, {each.word}, by {literal(each.judge)}" for each in step.cited_by)
    head = f"**Step {step.index}, {who}**{' (error)' if step.error else ''}{f' (cited for {cited})' if cited else ''}"
    parts = [step.text, *(f"{name}({arguments})" for name, arguments, _ in step.calls)]
    return [head, "", *_fenced("\n".join(cut(part, CUT) for part in parts if part)), ""]


def _fenced(text: str) -> list[str]:
    """A code block whose fence is longer than any run of tildes inside, so that text cannot end it."""
    fence = "~" * max([3, *(len(run) + 1 for run in re.findall(r"~+", text))])
    return [f"{fence}text", text or "(empty)", fence]


def _spoken(given: TracedVerdict | None) -> str:
    if given is None:
        return "–"
    sure = "" if given.confidence is None else f" {given.confidence:.2f}"
    cited = f" @ {', '.join(map(str, given.cited))}" if given.cited else ""
    return f"{look_of(given.verdict).sign} {in_words(given.word)}{sure}{cited}"
