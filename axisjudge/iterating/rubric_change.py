"""The rubric's change sentence by sentence, and the sentence that a judge's reason hangs on."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import polars as pl

from axisjudge.explorer.grid import word_diff
from axisjudge.studies.rubric_versions.versions import Flip
from axisjudge.trajectory import Trajectory

#: A reason hangs on a sentence where they share so many words of the rubric, the rarer ones counting more.
FEWEST_SHARED = 3
_STYLE = """<style>.axisjudge-beside { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 16px }
.axisjudge-beside > * { max-height: 32em; overflow: auto; overflow-wrap: anywhere; font-size: 90% }
.axisjudge-beside ins { background: rgba(0, 140, 60, .22); text-decoration: none }
.axisjudge-beside del { background: rgba(200, 30, 30, .18) } .axisjudge-beside article { margin-bottom: 10px }
@media (max-width: 700px) { .axisjudge-beside { grid-template-columns: minmax(0, 1fr) } }</style>"""


@dataclass(frozen=True)
class RubricSentence:
    """A sentence of either text: ``=`` kept, ``-`` gone, ``+`` new; `words` has those that differ, for a pair."""

    number: int
    sign: str
    text: str
    words: tuple[tuple[str, str], ...] = ()


def rubric_sentences(before: str, after: str) -> tuple[RubricSentence, ...]:
    """The sentences of two rubrics in one order; one that was reworded stands once, as its new text with `words`."""
    old, new = _split(before), _split(after)
    found: list[RubricSentence] = []

    def put(sign: str, text: str, words: Sequence[tuple[str, str]] = ()) -> None:
        found.append(RubricSentence(len(found) + 1, sign, text, tuple(words)))

    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            for text in new[c:d]:
                put("=", text)
            continue
        gone = old[a:b]
        for text in new[c:d]:
            alike = max(gone, key=lambda each: _likeness(each, text), default="")
            if alike and _likeness(alike, text) >= 0.5:
                gone.remove(alike)
                put("+", text, word_diff(alike, text))
            else:
                put("+", text)
        for text in gone:
            put("-", text)
    return tuple(found)


def hangs_on(reason: str | None, sentences: Sequence[RubricSentence]) -> RubricSentence | None:
    """The sentence that shares most with a reason: words that few sentences of the rubric hold count most.

    None where no sentence shares `FEWEST_SHARED` words. It is a hint where to read, not a measurement.
    """
    of = [_words(each.text) for each in sentences]
    held = Counter(word for words in of for word in words)
    said = _words(reason or "") & held.keys()
    weight = {word: math.log(1 + len(of) / held[word]) for word in said}
    shared = [(sum(weight[word] for word in words & said), at) for at, words in enumerate(of)]
    best, at = max(shared, default=(0.0, -1), key=lambda each: (each[0], -each[1]))
    return sentences[at] if best and len(of[at] & said) >= FEWEST_SHARED else None


def cited_on_flips(
    flips: Sequence[Flip], sentences: Sequence[RubricSentence], runs: Sequence[Trajectory]
) -> pl.DataFrame:
    """Of each sentence that new reasons hang on: flips, cited steps, and which tools these call or answer.

    The row without a number counts flips whose reason shares no words with the rubric.
    """
    steps = {run.id: run.steps for run in runs}
    kept = [each for each in sentences if each.sign != "-"]
    rows: dict[int | None, tuple[RubricSentence | None, list[Flip]]] = {}
    for flip in flips:
        sentence = hangs_on(flip.after.rationale, kept)
        rows.setdefault(sentence.number if sentence else None, (sentence, []))[1].append(flip)
    found = []
    for number, (sentence, mine) in sorted(rows.items(), key=lambda row: (row[0] is None, -len(row[1][1]))):
        cited = [steps[each.item][at] for each in mine for at in each.after.cited if at < len(steps.get(each.item, ()))]
        tools = Counter(
            name for step in cited for name in {step.tool_name, *(call.name for call in step.tool_calls)} if name
        )
        found.append(
            {
                "sentence": number,
                "rubric": sentence.text if sentence else None,
                "new": sentence.sign == "+" if sentence else None,
                "flips": len(mine),
                "cited_steps": len(cited),
                "tools": ", ".join(f"{name} {n}" for name, n in tools.most_common(4)),
            }
        )
    kinds = {"sentence": pl.Int64, "rubric": pl.String, "new": pl.Boolean, "flips": pl.Int64, "cited_steps": pl.Int64}
    return pl.DataFrame(found, schema={**kinds, "tools": pl.String})


def beside_flips(flips: Sequence[Flip], sentences: Sequence[RubricSentence], versions: tuple[str, str]) -> str:
    """The rubric's change on the left, numbered; on the right each flip with the sentences that its reasons hang on."""
    changed = [each for each in sentences if each.sign != "="]
    left = "".join(f"<p>{each.number}. {_marked(each)}</p>" for each in changed) or "<p>The texts are the same.</p>"
    old, new = ([each for each in sentences if each.sign != sign] for sign in ("+", "-"))
    right = ""
    for flip in flips:
        right += f"<article><strong>{html.escape(flip.item)}</strong>, {html.escape(flip.judge)}"
        for version, side, text in zip(versions, (flip.before, flip.after), (old, new), strict=True):
            sentence = hangs_on(side.rationale, text)
            points = f" <em>Hangs on {sentence.number}: {_marked(sentence)}</em>" if sentence else ""
            sure = "" if side.confidence is None else f" {side.confidence:.2f}"
            said = html.escape(f"{version}: {side.verdict}{sure}. {side.rationale or ''}")
            right += f"<br>{said}{points}"
        right += "</article>"
    return f"{_STYLE}<div class=axisjudge-beside><div>{left}</div><div>{right}</div></div>"


def _marked(sentence: RubricSentence) -> str:
    """A sentence with what is gone and what is new in it."""
    tags = {"+": "ins", "-": "del"}
    parts = sentence.words or ((sentence.sign, sentence.text),)
    return "".join(
        f"<{tags[sign]}>{html.escape(text)}</{tags[sign]}>" if sign in tags else html.escape(text)
        for sign, text in parts
    )


def _split(text: str) -> list[str]:
    """Lines, and in them sentences; headings stand by themselves."""
    lines = (line.strip() for line in text.splitlines())
    return [each for line in lines if line for each in re.split(r"(?<=[.?!;])\s+(?=\S)", line)]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3}


def _likeness(one: str, other: str) -> float:
    """Share of words that two sentences have in common (Jaccard)."""
    first, second = _words(one), _words(other)
    return len(first & second) / len(first | second) if first | second else 0.0
