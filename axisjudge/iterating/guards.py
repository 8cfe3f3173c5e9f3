"""What no edit of a rubric may do, found before a judge reads it: a run's content, length, names, lost meaning.

A rubric that holds a run's words scores well on that run and says nothing of the next. So nothing may enter it that
stands in a run and not in the text that was edited: identifiers, names, amounts, or eight words in a row. What is said
here is said to the user, and to the proposer as the reason why its edit never judged.
"""

from __future__ import annotations

import re
import unicodedata
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
#: Of the words of a near-miss or a criterion so many stay at least, whatever an edit does.
KEPT_SHARE = 0.5
#: What a run's identifiers and amounts look like: a digit among letters, three digits and more, an address; a number.
_IDENTIFIER = re.compile(
    r"#?\b(?=\w*\d)(?=\w*[^\W\d])[\w-]{3,}\b|\b\d{3,}\b|[^\s<>\"'`]+(?:@|://)[^\s<>\"'`]*[^\s<>\"'`.,;:)]"
)
_NUMBER = re.compile(r"([$\u20ac\u00a3]\s?)?(\d[\d.,]*?)(?:[.,](\d{1,2}))?(?![\d.,]*\d)")
#: Words, of scripts that set no blanks between them every letter.
_SCRIPTS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_SCRIPTS}]|[^\W{_SCRIPTS}]+")
#: A word with a capital, and what stands before it: nothing of it where a sentence begins.
_CAPITAL = re.compile(r"(?<![.?!] )(?<!\n)(?<!^)(?<![^\W\d_])[^\W\d_]{3,}")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
#: A word by itself, and no part of an identifier or an address.
_ALONE = re.compile(r"(?<![\w@./-])[^\W\d_]{3,}(?![\w@/-]|\.\w)")


@dataclass(frozen=True)
class RunContent:
    """What the runs of a study hold that may not enter a rubric: words compared whatever their case and their width."""

    runs: tuple[Trajectory, ...]

    @cached_property
    def rows(self) -> frozenset[int]:
        """Hashes of every eight words in a row."""
        return frozenset(hash(row) for text in self._texts for row in _rows(text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(number for text in self._texts for number in _numbers(text))

    @cached_property
    def names(self) -> frozenset[str]:
        """Words that have a capital within sentences and never go without one."""
        capital, alone = (
            {word for text in self._texts for word in pattern.findall(text)} for pattern in (_CAPITAL, _ALONE)
        )
        names = {word.casefold() for word in capital if word[0].isupper() and word[1:].islower()}
        return frozenset(names - {word for word in alone if word.islower()})

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_plain(text) for run in self.runs for text in _said(run)))

    @cached_property
    def agents(self) -> frozenset[str]:
        return frozenset(name for run in self.runs for name in (run.agent, run.agent_family) if name)

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self._texts).casefold()

    def holds(self, word: str) -> bool:
        """Whether a word stands in a run as a word of its own."""
        return re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", self._joined) is not None


def _said(run: Trajectory) -> Iterable[str]:
    for step in run.steps:
        yield step.content
        for call in step.tool_calls:
            given = call.arguments
            yield given if isinstance(given, str) else " ".join(map(str, given.values()))


def _plain(text: str) -> str:
    """A text with letters of every width and composition alike."""
    return unicodedata.normalize("NFKC", text)


def _words(text: str) -> list[str]:
    return _WORD.findall(_plain(text).casefold())


def _rows(text: str) -> Iterable[tuple[str, ...]]:
    words = _words(text)
    return (tuple(words[at : at + IN_A_ROW]) for at in range(len(words) - IN_A_ROW + 1))


def _numbers(text: str) -> set[str]:
    """Amounts of a text, without separators of thousands and zeros at the end."""
    found = set()
    for currency, whole, rest in set(_NUMBER.findall(text)):
        whole, rest = re.sub(r"\D", "", whole), rest.rstrip("0")
        if currency or rest or len(whole) > 1:
            found.add(f"{whole}.{rest}" if rest else whole)
    return found


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
    text, before = _plain(text), _plain(before)
    known_rows, known = set(_rows(before)), set(_words(before))
    row = next((each for each in _rows(text) if each not in known_rows and hash(each) in content.rows), None)
    if row is not None:
        yield f"it holds {IN_A_ROW} words in a row of a run: {' '.join(row)!r}"
    old = known | {word.casefold() for word in _IDENTIFIER.findall(before)}
    identifiers = (word for word in _IDENTIFIER.findall(text) if word.casefold() not in old and content.holds(word))
    amounts = iter(sorted((_numbers(text) - _numbers(before)) & content.numbers))
    known_letters = {word.casefold() for word in _LETTERS.findall(before)}
    new = (word for word in _LETTERS.findall(text) if word.casefold() not in known_letters)
    names = (word for word in new if word.casefold() in content.names)
    for kind, words in (("an identifier", identifiers), ("an amount", amounts), ("a name", names)):
        if (word := next(words, None)) is not None:
            yield f"it holds {kind} of a run: {word!r}"
    if hidden := next((letter for letter in text if _is_hidden(letter) and letter not in before), None):
        yield f"it holds a letter that is not seen: {hidden!r}"


def _is_hidden(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "C" and letter not in "\n\t"


def _named(text: str, before: str, names: Sequence[str]) -> Iterable[str]:
    """Names however their parts are joined: gpt-5, GPT 5 and gpt5 are one."""
    for name in dict.fromkeys(names):
        parts = re.findall(r"[^\W\d_]+|\d+", name)
        joined = r"[\W_]*".join(parts)
        pattern = re.compile(rf"(?<![^\W_]){joined}(?![^\W_])", re.IGNORECASE)
        if len("".join(parts)) > 2 and pattern.search(text) and not pattern.search(before):
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
        same = [each for each in kept if _bare(head) in each and each.endswith(verdict)]
        if "near-miss" in head.lower() and not any(_keeps(each, example) for each in same):
            yield f"a near-miss is gone, cut down or ends otherwise: {head!r}"
    for section in ("In scope", "Not in scope", "Verdicts"):
        before, after = (_criteria(rubric.sections.get(section, "")) for rubric in (first, now))
        for head, criterion in before.items():
            if not _keeps(after.get(head, ""), criterion):
                yield f"{section} has lost a criterion: {head!r}"


def _criteria(section: str) -> dict[str, str]:
    """The points of a section by their heads."""
    return {match[1]: match[2] for match in re.finditer(r"(?m)^- `?([\w ]+?)`?:(.*)$", section)}


def _keeps(after: str, before: str) -> bool:
    """Whether at least `KEPT_SHARE` of the words stay, counted by their number: other words may say the same."""
    return len(_words(after)) >= KEPT_SHARE * len(_words(before))


def _bare(head: str) -> str:
    """An example's heading without its number."""
    return re.sub(r"^\d+\. *", "", head)


def replace_text(rubric: Rubric, text: str, **more: str) -> Rubric:
    """The same rubric with another text."""
    return rubric.model_copy(update={"text": text, **more})
