"""An executed notebook as a paper: answer first, contents, one or two sentences under a figure and the rest folded."""

from __future__ import annotations

import copy
import html
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from axisjudge.figures.markup import literal

#: In the metadata of an output: what it is to the page (a banner, the answer, a figure, a table, a sentence).
ABOUT = "axisjudge"
#: What goes into report.md, beside what the page shows.
MARKDOWN_MIME = "application/vnd.axisjudge.markdown"
#: Sentences, and lines that a page says, which stand under a figure; the rest folds.
SENTENCES, LINES = 3, 2
#: Letters of an answer that stand on the first screen, three lines; the rest of it follows the figure.
LEAD = 190
#: A page with fewer sections needs no list of them.
SECTIONS = 3
FOLD = "In numbers"
#: Sections that never fold, whatever is in them.
_OPEN = ("Limits",)
#: The heading of what the title's cell says beyond its first paragraph.
PREFACE = "About this page"
#: Tags of the cells between which a section folds under its heading.
OPENS, CLOSES = "opens-section", "closes-section"

_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)\s+(?=[A-Z\"(*`]|\w+: )")
_NOT_IN_FIGURE = "Figure 1 shows none of them."
#: What stands under the title, in this order.
_FRONT = ("banner", "data", "answer", "figure", "rest", "scope")
_HEADING = re.compile(r"^##\s+(.+)$", flags=re.MULTILINE)


def slug(text: str) -> str:
    """A heading as the end of an address, as GitHub makes it."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text.strip().lower()))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text; emphasis and code are never cut in two."""
    pieces: list[str] = []
    for piece in _END.split(" ".join(text.split())):
        if pieces and (pieces[-1].count("**") % 2 or pieces[-1].count("`") % 2):
            pieces[-1] += f" {piece}"
        elif piece:
            pieces.append(piece)
    return pieces


def lead(answer: str) -> tuple[str, str]:
    """The first sentences of an answer, as many as three lines hold, one at least; and the rest."""
    first, *rest = sentences_of(answer) or [""]
    while rest and len(first) + 1 + len(rest[0]) <= LEAD:
        first = f"{first} {rest.pop(0)}"
    return first, " ".join(rest)


def about(output: Any) -> dict[str, Any]:
    """What an output is to the page; empty for what no page put there."""
    return dict(output.get("metadata", {}).get(ABOUT, {}))


def sections(notebook: Any) -> list[str]:
    """The headings of the second level, in order."""
    cells = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return [heading.strip() for source in cells for heading in _HEADING.findall(source)]


def arranged(notebook: Any) -> Any:
    """A copy in the order of a paper.

    Under the title stand the banners, or where there are none what the data are, the answer, the first figure that is
    not folded, what else the answer says, the scope and the contents, then all else in its order. The first sentence
    after a figure goes into its caption, unless the answer is it; sentences beyond the first ones fold away, and so
    does a section that shows no figure and no table, under its heading.
    """
    book, front, used = copy.deepcopy(notebook), [], set[str]()
    front += _about_data(book)
    outputs = (output for cell in book.cells for output in cell.get("outputs", []))
    answer = " ".join(output.data["text/plain"] for output in outputs if about(output).get("is") in ("answer", "rest"))
    section = "start"
    for cell in book.cells:
        if cell.cell_type == "markdown":
            section = next((slug(heading) for heading in reversed(_HEADING.findall(cell.source))), section)
        if cell.cell_type == "code":
            front += [output for output in cell.outputs if about(output).get("is") in _FRONT and not _is_figure(output)]
            left = [output for output in cell.outputs if about(output).get("is") not in _FRONT or _is_figure(output)]
            cell.outputs = list(_composed(left, section, used, answer))
    if any(about(output)["is"] == "answer" for output in front):
        leading = _leading_figure(book)
        if leading and not about(leading[0]).get("of_ratings", True):
            shows = about(leading[0]).get("shows", "")
            _not_of_figure([output for output in front if about(output)["is"] == "banner"], shows)
        front += leading
    front.sort(key=lambda output: _FRONT.index(about(output)["is"]))
    return _folded(_with_front(book, front))


def _folded(book: Any) -> Any:
    """Sections without a figure or table that is seen stand between cells that open and close a fold."""
    from nbformat.v4 import new_markdown_cell

    cells: list[Any] = []
    prose = ((at, cell) for at, cell in enumerate(book.cells) if cell.cell_type == "markdown")
    begins = [at for at, cell in prose if _HEADING.match(cell.source) or "provenance" in _tags(cell)]
    begins.append(len(book.cells))
    for start, end in zip([0, *begins], begins, strict=False):
        section = book.cells[start:end]
        heading = _HEADING.match(section[0].source) if section and start in begins else None
        if heading and heading[1].strip() not in _OPEN and not any(_is_seen(cell) for cell in section):
            section[0].source = section[0].source[heading.end() :].strip()
            opens, closes = new_markdown_cell(heading[0]), new_markdown_cell("")  # type: ignore[no-untyped-call]
            opens.metadata["tags"], closes.metadata["tags"] = [OPENS], [CLOSES]
            section = [opens, *section, closes]
        cells += section
    book.cells = cells
    return book


def _is_figure(output: Any) -> bool:
    return bool(about(output).get("is") == "figure")


def _tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _is_seen(cell: Any) -> bool:
    """Whether a cell shows a figure or a table under no fold, or bears the provenance, which has its own."""
    folds = 0
    for output in cell.get("outputs", []):
        known = about(output)
        folds += bool(known.get("opens")) - bool(known.get("closes"))
        if not folds and not known.get("folded") and known.get("is") in ("figure", "table"):
            return True
    return "provenance" in _tags(cell)


def _leading_figure(book: Any) -> list[Any]:
    """The first figure that stands under no fold, taken out of its cell; none where there is none."""
    for cell in book.cells:
        folds = 0
        for output in cell.get("outputs", []):
            known = about(output)
            folds += bool(known.get("opens")) - bool(known.get("closes"))
            if known.get("is") == "figure" and not folds:
                cell.outputs.remove(output)
                return [output]
    return []


def _not_of_figure(banners: Iterable[Any], shows: str) -> None:
    """Let the banners say that the figure under the answer shows other things than what they warn of."""
    for banner in banners:
        words = banner.data["text/plain"]
        text = f"{words} {_NOT_IN_FIGURE}"
        if shows and about(banner).get("of_ratings"):
            text = f"Figure 1 is {shows}; below it are {words[0].lower()}{words[1:]}"
        data = banner.data
        data["text/html"] = data["text/html"].replace(html.escape(words), html.escape(text))
        data["text/plain"], data[MARKDOWN_MIME] = text, f"> **{literal(text)}**"


def _about_data(book: Any) -> list[Any]:
    """The first sentence said before answer and figures, taken from there; none where a banner warns of the data."""
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    kinds = [about(output).get("is") for output in outputs]
    if "answer" not in kinds or "banner" in kinds or "sentence" not in kinds[: kinds.index("answer")]:
        return []
    if "figure" in kinds[: kinds.index("sentence")]:  # it is what that shows
        return []
    sentence = outputs[kinds.index("sentence")]
    first, *rest = sentences_of(sentence.data["text/markdown"])
    sentence.data["text/markdown"] = " ".join(rest)
    return [_output(first, first, {"is": "data"})]


def _with_front(book: Any, front: list[Any]) -> Any:
    """What comes under the title, before the rest of the title's cell; first of all where there is no title."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    headings = sections(book)
    said = [new_code_cell("", outputs=front)] if front else []  # type: ignore[no-untyped-call]
    for at, cell in enumerate(book.cells):
        if cell.cell_type == "markdown" and (match := re.search(r"^#\s+.+$", cell.source, flags=re.MULTILINE)):
            under = [*said]
            if len(headings) >= SECTIONS:
                lines = [f"- [{heading}](#{slug(heading)})" for heading in headings]
                contents = new_markdown_cell("\n".join(["**Contents**", "", *lines]))  # type: ignore[no-untyped-call]
                contents.metadata["tags"] = ["contents"]
                under.append(contents)
            if under:
                first, _, more = cell.source[match.end() :].strip().partition("\n\n")
                cell.source = cell.source[: match.end()]
                rest = [new_markdown_cell(first)] if first else []  # type: ignore[no-untyped-call]
                if more:
                    rest.append(new_markdown_cell(f"## {PREFACE}\n\n{more}"))  # type: ignore[no-untyped-call]
                book.cells[at + 1 : at + 1] = [*under, *rest]
            return book
    book.cells[:0] = said
    return book


def _composed(outputs: list[Any], section: str, used: set[str], answer: str) -> Iterator[Any]:
    """The outputs of a cell: figures with their captions, sentences folded."""
    name = section
    groups: list[list[Any]] = [
        list(group) for _, group in groupby(outputs, key=lambda output: about(output).get("is") == "sentence")
    ]
    following: list[list[Any]] = [*groups[1:], []]
    for group, after in zip(groups, following, strict=False):
        if about(group[0]).get("is") == "sentence":
            lines = [line for output in group if (line := output.data["text/markdown"])]
            yield from _prose(lines, _once(f"finding-{name}", used)) if lines else ()
            continue
        for output in group:
            known = about(output)
            name = known.get("name", name)
            if known.get("is") == "figure":
                _caption(output, known, after[0] if after and output is group[-1] else None, used, answer)
            yield output


def _once(anchor: str, used: set[str]) -> str:
    """An anchor that no other finding has."""
    numbers = (f"{anchor}-{number}" if number > 1 else anchor for number in range(1, len(used) + 3))
    anchor = next(each for each in numbers if each not in used)
    used.add(anchor)
    return anchor


def _caption(figure: Any, known: dict[str, Any], after: Any, used: set[str], answer: str) -> None:
    """Number, title, finding and how the figure is read; without the number also for those who cannot see it.

    The finding is the first sentence of the output after the figure, and is taken from there; where the answer says it
    those who see the figure read it there.
    """
    finding, about_figure = "", figure.metadata[ABOUT]
    if after and not about(after).get("missing"):
        finding, *rest = sentences_of(after.data["text/markdown"])
        after.data["text/markdown"] = " ".join(rest)
        about_figure["anchor"] = _once(f"finding-{known['name']}", used)
    finding = html.unescape(re.sub(r"\\([^\w\s]|_)|\*\*|`", r"\1", finding))
    title, how = known["caption"].rstrip(".") + ".", known.get("reading", "")
    alt = figure.metadata["image/png"]["alt"] = " ".join(filter(None, (title, finding, how)))
    caption = about_figure["caption"] = alt if finding not in answer else f"{title} {how}".rstrip()
    figure.data[MARKDOWN_MIME] = (
        f"![{literal(alt)}](figures/{known['name']}.png)\n\n*Figure {known['number']}. {literal(caption)}*"
    )


def _prose(lines: list[str], anchor: str) -> Iterator[Any]:
    """One paragraph of one or two lines, and the rest as a list that folds."""
    pieces = [sentence for line in lines[:LINES] for sentence in sentences_of(line)]
    rest = [*pieces[SENTENCES:], *lines[LINES:]]
    shown, rest = (pieces[:SENTENCES], rest) if len(rest) > 1 else ([*pieces[:SENTENCES], *rest], [])
    yield _output(" ".join(shown), " ".join(shown), {"is": "finding", "anchor": anchor})
    if rest:
        folded = "\n".join(f"- {line}" for line in rest)
        markdown = f"<details>\n<summary>{FOLD}</summary>\n\n{folded}\n\n</details>"
        yield _output(folded, markdown, {"is": "fold", "head": FOLD})


def _output(text: str, markdown: str, known: dict[str, Any]) -> Any:
    from nbformat.v4 import new_output

    bundle = {"text/markdown": text, "text/plain": text, MARKDOWN_MIME: markdown}
    return new_output("display_data", bundle, metadata={ABOUT: known})  # type: ignore[no-untyped-call]


def with_anchors(markup: str) -> str:
    """Headings of the second and third level with the anchors that contents name; `markup` is clean already."""
    return re.sub(r"<(h[23])>(.*?)</\1>", _anchored, markup, flags=re.DOTALL)


def _anchored(match: re.Match[str]) -> str:
    words = html.unescape(re.sub(r"<[^>]+>", "", match[2]))
    return f'<{match[1]} id="{html.escape(slug(words))}">{match[2]}</{match[1]}>'


def without_paths(text: str) -> str:
    """What was printed as a warning without the file and the line of code that it names."""
    lines: Iterable[str] = text.splitlines()
    kept, after = [], False
    for line in lines:
        match = re.match(r"\S+\.py:\d+: (?:\w+Warning: )?(.*)", line)
        if not (after and line.startswith("  ")):
            kept.append(f"Warning: {match[1]}" if match else line)
        after = bool(match)
    return "\n".join(kept) + ("\n" if text.endswith("\n") else "")
