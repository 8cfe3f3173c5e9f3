r"""The writeup as LaTeX that compiles alone: ``pdflatex article.tex``, twice, in a folder with ``figures/``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from axisjudge.figures.markup import visible
from axisjudge.report.bundle.article import AVAILABLE, NOBODY_NAMED, RELATED, RELATED_BLANK, TABLES, Writeup
from axisjudge.report.bundle.parts import Section
from axisjudge.report.tables import GAP, PAGE, SPREAD, as_latex, latex

#: Letters that the fonts of every LaTeX have; others are written by their number, but under XeLaTeX and LuaLaTeX.
_KNOWN = re.compile("[\x20-\x7e\n\u00a1-\u00ac\u00ae-\u0148\u014a-\u017e\u2013\u2014\u2018\u2019\u201c\u201d\u2026]")

_PREAMBLE = r"""\documentclass[10pt%(twocolumn)s]{article}
%% Figures are in figures/, as wide as they stand here; the works are in references.bib too.
\usepackage[letterpaper,textwidth=%(width)sin,textheight=9in]{geometry}
\setlength{\columnsep}{%(gap)sin}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
%(letters)s\else
  \usepackage{fontspec}
\fi
\usepackage{textcomp,array,booktabs,graphicx}
\usepackage[hidelinks]{hyperref}
\setlength{\emergencystretch}{3em}
\begin{document}
"""


def article_tex(writeup: Writeup, *, columns: int) -> str:
    """The whole document for pages of one or two columns.

    Tables and figures that fit no column of 3.3 inches span both; text in figures and tables is of 7 points or more.
    """
    body = "\n\n".join(filter(None, _body(writeup, columns)))
    known = {
        "twocolumn": ",twocolumn" if columns == 2 else "",
        "width": SPREAD if columns == 2 else PAGE,
        "gap": GAP,
        "letters": "".join(map(_declared, sorted(set(_KNOWN.sub("", body))))),
    }
    return f"{_PREAMBLE % known}{body}\n\\end{{document}}\n"


def _declared(letter: str) -> str:
    """What stands for a letter that the fonts lack: its number."""
    return rf"  \DeclareUnicodeCharacter{{{ord(letter):04X}}}{{{{\scriptsize[U+{ord(letter):04X}]\allowbreak}}}}" + "\n"


def _body(writeup: Writeup, columns: int) -> Iterator[str]:
    authors = r" \and ".join(map(latex, writeup.kept["authors"])) or NOBODY_NAMED
    yield rf"\title{{{latex(writeup.kept['title'])}}}" + f"\n\\author{{{authors}}}\n\\date{{}}\n\\maketitle"
    yield from (rf"\noindent\textbf{{{latex(warning)}}}" for warning in writeup.warnings)
    yield "\\begin{abstract}\n" + latex(writeup.answers) + "\n\\end{abstract}"
    yield rf"\section{{{RELATED}}}"
    yield RELATED_BLANK
    yield r"\section{Methods}"
    for number, block in enumerate(writeup.methods):
        text = re.sub(r"\{\[\}@(\w+)\{\]\}", r"\\cite{\1}", latex(block.text))
        yield rf"\paragraph{{{latex(block.head)}.}} {_breakable(text)}"
        if block.table:
            yield as_latex(block.table[1], block.table[0], f"methods{number}", columns=columns)
    yield r"\section{Results}"
    for part in writeup.parts:
        yield from _result(writeup, part, columns)
    yield r"\section{Limits}"
    yield _items(writeup.limits)
    yield r"\section{Data and code availability}"
    yield re.sub(r"`([^`]+)`", r"\\texttt{\1}", latex(AVAILABLE).replace(r"{\textasciigrave}", "`"))
    yield _items([f"{name}: {digest[:16]} (first digits of its SHA-256)" for name, digest in writeup.files.items()])
    yield from _references(writeup)
    if writeup.rubrics:
        yield "\\appendix\n\\section{Rubrics}"
        for name, text in writeup.rubrics.items():
            lines = "\\par\n".join(map(latex, visible(text).strip().split("\n")))
            yield rf"\subsection{{{latex(name)}}}" + f"\n{{\\small\\raggedright\\noindent {lines}\\par}}"


def _result(writeup: Writeup, part: Section, columns: int) -> Iterator[str]:
    """The answer of a part, its first tables, its figures, and what it says in numbers."""
    yield rf"\subsection{{{latex(part.heading)}}}"
    yield latex(part.answer)
    for name, (caption, frame) in list(part.tables.items())[:TABLES]:
        named = f"{part.name}_{name}"
        yield as_latex(frame, caption, named, columns=columns, whole=f"tables/{named}.csv")
    for name, caption in writeup.figures[part.name]:
        yield (
            # spans both columns where it is wider than one, which its file says
            rf"\setbox0=\hbox{{\includegraphics{{figures/{name}.pdf}}}}"
            + r"\ifdim\wd0>\columnwidth\def\floated{figure*}\else\def\floated{figure}\fi"
            + f"\n\\begin{{\\floated}}\n  \\centering\\includegraphics{{figures/{name}.pdf}}\n"
            + rf"  \caption{{{latex(caption)}}}"
            + rf"\label{{fig:{name}}}"
            + "\n\\end{\\floated}"
        )
    yield _items(writeup.sentences_of(part))


def _items(sentences: list[str]) -> str:
    if not sentences:
        return ""
    lines = "\n".join(rf"  \item {_breakable(latex(sentence))}" for sentence in sentences)
    return "\\begin{itemize}\\raggedright\n" + lines + "\n\\end{itemize}"


def _breakable(text: str) -> str:
    """Long words (names of models, hashes) may break after a hyphen, a slash or a stop, and after ten letters."""
    return re.sub(r"[^\s{}\\$]{24,}", lambda word: re.sub(r"([-/._:]|.{10})", r"\1\\allowbreak{}", word[0]), text)


def _references(writeup: Writeup) -> Iterator[str]:
    if writeup.works:
        items = (rf"\bibitem{{{key}}} {_breakable(latex(work.sentence))}." for key, work in writeup.works.items())
        yield "\\begin{thebibliography}{99}\\raggedright\n" + "\n".join(items) + "\n\\end{thebibliography}"
