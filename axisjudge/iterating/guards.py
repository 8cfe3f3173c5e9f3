"""What no edit of a rubric may do, found before a judge reads it: a run's content, length, names, lost meaning.

A rubric that holds a run's words scores well on that run and says nothing of the next. So nothing may enter it that
stands in a run and not in the text that was edited: identifiers, names, amounts, or eight words in a row. What is said
here is said to the user, and to the proposer as the reason why its edit never judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from axisjudge.rubric import SECTIONS, Rubric
from axisjudge.rubric.lint import RubricFile, lint_file
from axisjudge.trajectory import Trajectory

#: Words in a row that may not be a run's.
IN_A_ROW = 8
#: How much longer than its first text a rubric may grow: tokens of four characters, or the share, whichever is more.
MOST_TOKENS, MOST_SHARE = 150, 0.25
#: What a run's identifiers and amounts look like: a digit among letters, or three digits and more, or a currency.
_IDENTIFIER = re.compile(r"#?\b(?=\w*\d)(?=\w*[A-Za-z_-])[\w-]{3,}\b|\b\d{3,}\b")
_AMOUNT = re.compile(r"[$€£]\s?\d[\d.,]*|\b\d+[.,]\d+\b|\b\d{2,}\b")
_NAME = re.compile(r"(?<![.?!:\n#`*_-] )(?<!^)(?<!\n)\b[A-Z][a-z]{2,}\b")


@dataclass(frozen=True)
class RunContent:
    """What the runs of a study hold that may not enter a rubric."""

    runs: tuple[Trajectory, ...]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word for text in self._texts for word in re.findall(r"[\w#$€£.,-]+", text))

    @cached_property
    def rows(self) -> frozenset[int]:
        """Hashes of every eight words in a row."""
        return frozenset(hash(row) for text in self._texts for row in _rows(text))

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(text for run in self.runs for text in _said(run))

    @cached_property
    def agents(self) -> frozenset[str]:
        return frozenset(name for run in self.runs for name in (run.agent, run.agent_family) if name)

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self._texts)

    def holds(self, word: str) -> bool:
        """Whether a word stands in a run as a word of its own."""
        return word in self.words or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self._joined) is not None


def _said(run: Trajectory) -> Iterable[str]:
    for step in run.steps:
        yield step.content
        for call in step.tool_calls:
            given = call.arguments
            yield given if isinstance(given, str) else " ".join(map(str, given.values()))


def _rows(text: str) -> Iterable[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[at : at + IN_A_ROW]) for at in range(len(words) - IN_A_ROW + 1))


def refusals(text: str, first: Rubric, content: RunContent, names: Sequence[str]) -> list[str]:
    """Why a text may not become a rubric's; nothing where it may.

    Parameters
    ----------
    text : str
        The whole text of the candidate.
    first : Rubric
        The version that the search began with, of which it may take over what it holds.
    content : RunContent
    names : sequence of str
        Judges, models and families, which a rubric may not name.
    """
    found = [*_of_runs(text, first.text, content), *_named(text, first.text, [*content.agents, *names])]
    tokens, most = -(-len(text) // 4), first.tokens + most_growth(first)
    if tokens > most:
        found.append(f"it is too long: {tokens} tokens, at most {most}")
    return [*found, *_form(text, first), *_meaning(text, first)]


def most_growth(first: Rubric) -> int:
    """Tokens by which a text may be longer than its first one."""
    return max(MOST_TOKENS, round(MOST_SHARE * first.tokens))


def _of_runs(text: str, before: str, content: RunContent) -> Iterable[str]:
    known_rows = set(_rows(before))
    row = next((each for each in _rows(text) if each not in known_rows and hash(each) in content.rows), None)
    if row is not None:
        yield f"it holds {IN_A_ROW} words in a row of a run: {' '.join(row)!r}"
    for kind, pattern in (("an identifier", _IDENTIFIER), ("an amount", _AMOUNT), ("a name", _NAME)):
        known = set(pattern.findall(before)) | set(re.findall(r"\w+", before))
        for word in dict.fromkeys(pattern.findall(text)):
            if word not in known and content.holds(word):
                yield f"it holds {kind} of a run: {word!r}"
                break


def _named(text: str, before: str, names: Sequence[str]) -> Iterable[str]:
    for name in dict.fromkeys(names):
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        if len(name) > 2 and pattern.search(text) and not pattern.search(before):
            yield f"it names an agent or a judge: {name!r}"


def _form(text: str, first: Rubric) -> Iterable[str]:
    """What the lint finds in this text and not in the first one; the sections stay as they are."""
    file = _file(text, first)
    if [head for head, _, _ in file.sections] != list(SECTIONS):
        yield f"its sections must be {', '.join(SECTIONS)}, in this order"
    known = {(each.rule, each.found) for each in lint_file(_file(first.text, first))}
    yield from (f"{each.rule}: {each.found}" for each in lint_file(file) if (each.rule, each.found) not in known)


def _file(text: str, first: Rubric) -> RubricFile:
    front = {"axis": first.axis, "version": first.version, "status": "draft", "changes": "an edit"}
    name = f"rubrics/{first.axis}/{first.version}.md"
    return RubricFile(name, first.axis, first.version, front, tuple(text.splitlines()), 1)


def _meaning(text: str, first: Rubric) -> Iterable[str]:
    """Each criterion keeps what shows where it ends: verdicts, owners of other questions, near-misses."""
    now = replace_text(first, text)
    kept = now.examples
    for example in first.examples:
        head, verdict = example.splitlines()[0], example.splitlines()[-1]
        if "near-miss" in head.lower() and not any(_bare(head) in each and each.endswith(verdict) for each in kept):
            yield f"a near-miss is gone or ends otherwise: {head!r}"
    for section in ("In scope", "Not in scope", "Verdicts"):
        before, after = (rubric.sections.get(section, "") for rubric in (first, now))
        heads = [match[1] for match in re.finditer(r"(?m)^- `?([\w ]+?)`?:", before)]
        for head in heads:
            if not re.search(rf"(?m)^- `?{re.escape(head)}`?:", after):
                yield f"{section} has lost a criterion: {head!r}"


def _bare(head: str) -> str:
    """An example's heading without its number."""
    return re.sub(r"^\d+\. *", "", head)


def replace_text(rubric: Rubric, text: str, **more: str) -> Rubric:
    """The same rubric with another text."""
    return rubric.model_copy(update={"text": text, **more})
