"""The writeup as text: markdown with figures and tables, from the results, the lock and the ratings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from axisjudge.figures.markup import literal, visible
from axisjudge.report.bundle.citing import Work
from axisjudge.report.bundle.parts import Section
from axisjudge.report.paper import slug
from axisjudge.report.scope import Scope, asked_of, scope_of
from axisjudge.report.tables import markdown_table
from axisjudge.sources import Source
from axisjudge.studies._shared.frames import SCOPE
from axisjudge.studies._shared.words import listed, many, sentence_case, spoken

#: Columns of a table on the page; the rest stands in its CSV.
COLUMNS = 9
#: Where a table's number goes; a character that no page can hold otherwise, because `visible` writes it out.
_TABLE = "\x00"
_AFTER, _APPENDIX = ("Limits", "Data and code availability", "References"), "Appendix: rubrics"
#: Tables of a part on the page; all are files.
TABLES = 3
NOBODY_NAMED = "No author is named."  # none is made up
RELATED = "Related work"
RELATED_BLANK = "To be written by the authors: what others found, and what of it these results bear out."
AVAILABLE = (
    "The ratings and labels behind every number stand in `inputs/`, the numbers in `results.json`, every table as CSV "
    "and LaTeX in `tables/`, every figure as PNG, SVG and PDF in `figures/`, the hash of every file in "
    "`MANIFEST.sha256`. In this folder `axisjudge report --check .` computes all numbers anew from the ratings, "
    "without the network, and names the first that differs."
)
_NO_PROTOCOL = (
    "No rating is of a held-out run under a lock of this workbench: what was chosen (judges, rubrics, statistics) may "
    "have been chosen with an eye on these data."
)


class MethodParagraph(NamedTuple):
    """A paragraph of the methods: its head, plain text, and caption and rows of the table that goes with it."""

    head: str
    text: str
    table: tuple[str, pl.DataFrame] | None = None


@dataclass(frozen=True)
class Writeup:
    """All that a writeup says beside its results.

    `kept` is what stands in ``bundle.json``, with what the workbench knew of lock and openings (empty where no rating
    is of a held-out run). `figures` are name and caption of every part's figures, in order; `rubrics` the texts of the
    rubrics that judges read, by name and version, as far as the workbench has them, `unknown_rubrics` those it has not.
    `intervals` counts the intervals of the results by how they were made.
    """

    kept: Mapping[str, Any]
    source: Source
    parts: Sequence[Section]
    figures: Mapping[str, Sequence[tuple[str, str]]]
    rubrics: Mapping[str, str]
    unknown_rubrics: Sequence[str]
    intervals: Mapping[str, int]
    files: Mapping[str, str]
    works: Mapping[str, Work]

    @cached_property
    def scope(self) -> Scope:
        """What its numbers are conditional on."""
        return scope_of(self.source.ratings)

    @property
    def abstract(self) -> str:
        """The answers, one after the other, under what must be said before them."""
        return " ".join([*self.warnings, self.answers])

    @property
    def answers(self) -> str:
        """What the parts found, in their order."""
        return " ".join(part.answer for part in self.parts)

    @property
    def warnings(self) -> list[str]:
        """What stands above everything: exploratory, simulated or planted ratings."""
        return [banner for banner in (self.kept["standing"]["headline"], self.scope.banner) if banner]

    @property
    def methods(self) -> list[MethodParagraph]:
        """How all of it was made, from the code that ran; of text a citation is written ``[@key]``."""
        raters = [{**row, "lost": row["lost"] or 0} for row in self.scope.raters]
        table = pl.DataFrame(raters, infer_schema_length=None).drop("model")
        software = ", ".join(f"{name} {version}" for name, version in self.kept["versions"].items())
        return [
            MethodParagraph(
                "Material",
                " ".join(filter(None, [self.source.about, self.scope.sentence, self.scope.retirement])),
                ("Who rated", table),
            ),
            self._asked(),
            MethodParagraph("Protocol", spoken(self.kept["standing"]["sentence"]) or _NO_PROTOCOL),
            MethodParagraph("Intervals", self._intervals()),
            MethodParagraph("Random numbers", self._random()),
            MethodParagraph("Software", f"{software}."),
            *(
                [MethodParagraph("Coefficients and corrections", self._cited())]
                if any(part.cites for part in self.parts)
                else []
            ),
        ]

    def _intervals(self) -> str:
        settings = self.kept["settings"]
        unit, level = settings["cluster_unit"], settings["ci_level"]
        used = listed([f"{kind} ({many(count, 'interval')})" for kind, count in self.intervals.items()])
        return (
            f"Intervals have a level of {level:.0%}. They take each {unit} as independent of the others, so that "
            "several ratings of one do not count as several observations. "
            f"{f'They were made so: {used}. ' if used else ''}"
            "Where no correction is named, each of several claims is to be read alone."
        )

    def _random(self) -> str:
        drawn = [each for part in self.parts for each in part.draws]
        seed = f"The seed is {self.kept['settings']['seed']}"
        if not drawn:
            return f"No number of this text takes draws. {seed}."
        return f"{seed}; what has a seed of its own names it. {' '.join(drawn)}"

    @property
    def limits(self) -> list[str]:
        """What the results do not say."""
        return [
            *(limit for part in self.parts for limit in part.limits),
            f"{SCOPE.rstrip('.')}; others may give other numbers.",
            "Judges answer differently on another day or under another version of a model; what was returned stands in "
            "the methods as far as it was recorded.",
        ]

    def sentences_of(self, part: Section) -> list[str]:
        """What a part says beside its answer, and neither methods nor limits do."""
        return [spoken(each) for each in part.study.sentences if each not in ("", self.source.about, SCOPE)]

    def markdown(self) -> str:
        """The whole document."""
        sections = (
            self._head(),
            "## Abstract",
            literal(self.answers),
            self._contents(),
            f"## {RELATED}",
            RELATED_BLANK,
            "## Methods",
            *self._methods(),
            "## Results",
            *self._results(),
            "## Limits",
            "\n".join(f"- {literal(limit)}" for limit in self.limits),
            "## Data and code availability",
            AVAILABLE,
            "\n".join(
                [
                    "| input | sha256 |",
                    "| --- | --- |",
                    *(f"| {literal(of)} | {sha} |" for of, sha in self.files.items()),
                ]
            ),
            "## References",
            *(f"[{number}] {literal(work.sentence)}." for number, work in enumerate(self.works.values(), start=1)),
            *self._appendix(),
        )
        first, *rest = "\n\n".join(filter(None, sections)).split(f"**{_TABLE}")  # tables have their numbers last
        numbered = (f"**Table {number}.{after}" for number, after in enumerate(rest, start=1))
        return visible(first + "".join(numbered)) + "\n"

    def _head(self) -> str:
        byline = literal(listed(authors)) if (authors := self.kept["authors"]) else NOBODY_NAMED
        banners = [f"> **{literal(warning)}**" for warning in self.warnings]
        return "\n\n".join([f"# {literal(self.kept['title'])}", byline, *banners])

    def _contents(self) -> str:
        """Every section, and every part of the results with its own anchor."""
        last = [*_AFTER, *([_APPENDIX] if self.rubrics else [])]
        lines = [RELATED, "Methods", "Results", *(f"  {part.heading}" for part in self.parts), *last]
        indented = (
            f"{line[: len(line) - len(line.lstrip())]}- [{literal(line.strip())}](#{slug(line)})" for line in lines
        )
        return "\n".join(["**Contents**", "", *indented])

    def _methods(self) -> list[str]:
        blocks = []
        for block in self.methods:
            text = re.sub(r"\\\[@(\w+)\\\]", lambda key: f"[{self._number(key[1])}]", literal(block.text))
            blocks.append(f"**{block.head}.** {text}")
            if block.table:
                blocks.append(markdown_table(block.table[1], {}, f"{_TABLE} {block.table[0]}.", None, most=60))
        return blocks

    def _asked(self) -> MethodParagraph:
        head = "What judges were asked"
        read = [
            row
            for row in asked_of(self.source.ratings)
            if row["rubric_sha256"] or row["prompts"] or row["returned_models"]
        ]
        if not read:
            return MethodParagraph(
                head, "The ratings name no rubric, no prompt and no returned model, so none can be given here."
            )
        rows = [
            {
                "rater": row["rater"],
                "question": row["question"],
                "returned model": ", ".join(row["returned_models"]) or None,
                "rubric": row["rubric_version"],
                "rubric sha256": row["rubric_sha256"] and row["rubric_sha256"][:12],
                "prompts": row["prompts"],
                "prompts sha256": row["prompts_sha256"] and row["prompts_sha256"][:12],
            }
            for row in read
        ]
        texts = "Texts of rubrics stand in the appendix." if self.rubrics else ""
        unknown = list(self.unknown_rubrics)
        missing = f"The texts of {listed(unknown)} are not in this workbench." if unknown else ""
        prompts = "A judge's prompts are given by their number and one hash of all of them."
        frame = pl.DataFrame(rows, infer_schema_length=None)
        text = " ".join(filter(None, [texts, missing, prompts]))
        return MethodParagraph(head, text, ("Rubrics, prompts and returned models", frame))

    def _cited(self) -> str:
        cited = [f"{what} [@{key}]" for part in self.parts for key, what in part.cites.items()]
        return sentence_case(f"{listed(cited)}.")

    def _number(self, key: str) -> int:
        return list(self.works).index(key) + 1

    def _results(self) -> list[str]:
        blocks: list[str] = []
        n_figures = 0
        for part in self.parts:
            blocks += [f"### {literal(part.heading)}", f"**{literal(part.answer)}**"]
            tables = []
            for name, (caption, frame) in list(part.tables.items())[:TABLES]:
                file = f"tables/{part.name}_{name}.csv"
                tables.append(markdown_table(frame, {}, f"{_TABLE} {caption}.", None, columns=COLUMNS, whole=file))
            blocks += tables[:1]
            for name, caption in self.figures[part.name]:
                n_figures += 1
                text = literal(caption)
                blocks.append(f"![{text}](figures/{name}.png)\n\n*Figure {n_figures}. {text}*")
            numbers = "\n".join(f"- {literal(sentence)}" for sentence in self.sentences_of(part))
            blocks += tables[1:]
            blocks.append(f"<details>\n<summary>In numbers</summary>\n\n{numbers}\n\n</details>" if numbers else "")
        return blocks

    def _appendix(self) -> list[str]:
        if not self.rubrics:
            return []
        texts = [f"### {literal(name)}\n\n~~~~~~text\n{text.strip()}\n~~~~~~" for name, text in self.rubrics.items()]
        return [f"## {_APPENDIX}", *texts]
