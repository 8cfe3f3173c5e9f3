"""All that a bundle says, written from its inputs: to publish it, and to hold a published one against."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.figures.markup import visible
from axisjudge.figures.theme import is_empty
from axisjudge.report import digest
from axisjudge.report.bundle import citing
from axisjudge.report.bundle.article import Writeup
from axisjudge.report.bundle.inputs import read_inputs
from axisjudge.report.bundle.parts import Section, parts_of, results_of
from axisjudge.report.bundle.typeset import article_tex
from axisjudge.report.drawn import drawn_bytes, narrow, reading_of, title_of_figure
from axisjudge.report.scope import ratings_sha256
from axisjudge.report.tables import COLUMN, PAGE, SPREAD, write_table
from axisjudge.results import dumps
from axisjudge.studies._shared.words import spoken

INPUTS, SETTINGS_FILE, RUBRICS, MANIFEST = "inputs", "bundle.json", "rubrics", "MANIFEST.sha256"
#: Packages whose versions the methods name.
_NAMED = ("axisjudge", "python", "numpy", "scipy", "polars", "matplotlib")
#: Names of browsers of one engine, the only one that prints without a window on every system.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def versions() -> dict[str, str]:
    """The packages behind the numbers, with their versions."""
    return {name: version for name, version in digest.versions().items() if name in _NAMED}


def compose(
    folder: Path, kept: Mapping[str, Any], own_works: Path | None, *, draws: bool = True
) -> tuple[Writeup, dict[str, Any]]:
    """Write results, tables, figures and texts of a bundle beside its inputs, from these and `kept` alone.

    Parameters
    ----------
    folder : Path
        Holds ``inputs/``: ratings, labels, runs, and the rubrics that judges read.
    kept : mapping
        What stands in ``bundle.json``: title, authors, licence, version and date, columns, settings, versions of
        packages, and what the workbench said of its lock.
    own_works : path, optional
        BibTeX entries that are listed beside those of the methods.
    draws : bool
        Without, figures are named and described, and not drawn into files.

    Raises
    ------
    InputError
        The ratings answer no question, or are no longer whole.
    """
    settings = kept["settings"]
    inputs = read_inputs(folder / INPUTS, settings)
    parts = parts_of(inputs)
    if not parts:
        cure = "name ratings of two judges at least, or labels beside one"
        raise InputError("--from", "the ratings answer no question of a writeup", cure=cure)
    results = {
        "axisjudge": kept["versions"]["axisjudge"],
        "inputs": {"ratings": ratings_sha256(inputs.source.ratings)},
        "settings": settings,
        "parts": results_of(parts),
    }
    _write(folder / "results.json", dumps(results))
    columns = kept["columns"]
    figures = {part.name: _figures(part, folder / "figures", columns, draws=draws) for part in parts}
    for part in parts:
        for name, (caption, frame) in part.tables.items():
            write_table(folder / "tables", f"{part.name}_{name}", frame, caption, columns=columns)
    texts, unknown = _rubrics(inputs.source.ratings, folder / INPUTS / RUBRICS)
    works = _works(parts, own_works)
    writeup = Writeup(
        kept=kept,
        source=inputs.source,
        parts=parts,
        figures=figures,
        rubrics=texts,
        unknown_rubrics=unknown,
        intervals=_intervals(json.loads(dumps(results["parts"]))),
        files={name: digest.file_sha256(folder / name) for name in files_of(folder) if name.startswith(f"{INPUTS}/")},
        works=works,
    )
    article = writeup.markdown()
    bib = "\n".join(work.text for work in works.values())
    _write(folder / "article.md", article)
    _write(folder / "article.html", _html(article, kept["title"], folder, bib))
    _write(folder / "references.bib", "\n\n".join(work.text for work in works.values()) + "\n")
    _write(folder / "article.tex", article_tex(writeup, columns=columns))
    _write(folder / "CITATION.cff", citing.citation_cff(kept, writeup.abstract))
    _write(folder / SETTINGS_FILE, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return writeup, results


def _figures(part: Section, folder: Path, columns: int, *, draws: bool) -> list[tuple[str, str]]:
    """Every figure of a part, without dates and versions: as PNG and SVG for the web, as PDF at the width of a column.

    Returns names and captions.
    """
    import matplotlib.pyplot as plt

    folder.mkdir(exist_ok=True)
    made = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # it is drawn as a box
        for name, figure in part.study.figures().items():
            if name in part.shown_elsewhere or is_empty(figure):  # as on a page: nothing of it can be computed
                plt.close(figure)
                continue
            named = f"{part.name}_{name}"
            title = title_of_figure(figure) or name.replace("_", " ").capitalize()
            words = (f"{title.rstrip('.')}.", part.findings.get(name, ""), spoken(reading_of(figure)))
            made.append((named, " ".join(filter(None, words))))
            if draws:
                note = (part.study.banner or "").partition(":")[0] or None
                pictures = dict(zip(("png", "svg"), drawn_bytes(figure, note, "png", "svg"), strict=True))
                rooms = (COLUMN, SPREAD) if columns == 2 else (PAGE, PAGE)
                pictures["pdf"] = narrow(figure, note, "pdf", *rooms) or b""
                for kind, picture in pictures.items():
                    (folder / f"{named}.{kind}").write_bytes(picture)
            plt.close(figure)
    return made


def _intervals(results: Any) -> dict[str, int]:
    """How many intervals were made how; of numbers that differ from one to the next the least and the largest."""
    kinds: dict[str, list[list[str]]] = {}
    for method in _methods(results):
        kinds.setdefault(_NUMBER.sub("{}", method), []).append(_NUMBER.findall(method))
    ranges = {
        kind: [sorted(set(slot), key=float) for slot in zip(*numbers, strict=True)] for kind, numbers in kinds.items()
    }
    counted = {
        kind.format(*(f"{slot[0]} to {slot[-1]}" if len(slot) > 1 else slot[0] for slot in slots)): len(kinds[kind])
        for kind, slots in ranges.items()
    }
    return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))


def _methods(results: Any) -> Iterator[str]:
    """The `method` of every estimate that has an interval."""
    if isinstance(results, dict):
        if results.get("method") and results.get("ci_low") is not None:
            yield str(results["method"]).replace("{", "(").replace("}", ")")
        results = list(results.values())
    for each in results if isinstance(results, list) else ():
        yield from _methods(each)


def named_rubrics(ratings: pl.DataFrame) -> dict[str, str]:
    """The rubrics that ratings name, such as ``termination v2``, with their hashes."""
    columns = ["question", "rubric_version", "rubric_sha256"]
    named = ratings.select(columns).drop_nulls("rubric_sha256").unique().sort(columns)
    return {f"{axis} {version}": sha for axis, version, sha in named.iter_rows()}


def _rubrics(ratings: pl.DataFrame, folder: Path) -> tuple[dict[str, str], list[str]]:
    """The texts in the folder that have the hashes which ratings name, by name, and the names without."""
    read = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))
    by_hash = {sha256(text.encode()).hexdigest(): text for text in read}
    named = named_rubrics(ratings)
    texts = {name: by_hash[sha] for name, sha in named.items() if sha in by_hash}
    return texts, [name for name in named if name not in texts]


def _works(parts: Sequence[Section], bib: Path | None) -> dict[str, citing.Work]:
    """What the parts cite, in their order, then all of the author's own entries."""
    shipped = citing.read_works(citing.SHIPPED)
    cited = {key: shipped[key] for part in parts for key in part.cites}
    own = citing.read_works(bib) if bib else {}
    return cited | {key: work for key, work in own.items() if key not in cited}


def files_of(folder: Path) -> list[str]:
    """The files of a bundle but for its manifest."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST)


#: A link that markdown makes of a name: what judges, agents and files are called may be an address.
_LINK = re.compile(r'<a href="((?:https?|mailto|ftp):[^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_ADDRESS = re.compile(r"\b(doi|url)\s*=\s*[{\"]([^}\"]+)")


def _html(text: str, title: str, folder: Path, works: str) -> str:
    """The page of an article, with links to the works that it cites and to nothing else."""
    from jinja2 import Environment, FileSystemLoader
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    from axisjudge.report.paper import with_anchors
    from axisjudge.report.render import TEMPLATES, css, safe_html

    def inline(match: re.Match[str]) -> str:
        file = folder / match[1]
        picture = base64.b64encode(file.read_bytes() if file.exists() else b"").decode()
        return f"(data:image/png;base64,{picture})"

    markup = markdown2html_mistune(re.sub(r"\((figures/[a-z0-9_]+\.png)\)", inline, text))
    cited = {f"https://doi.org/{each}" if kind == "doi" else each for kind, each in _ADDRESS.findall(works)}
    markup = _LINK.sub(lambda match: match[0] if match[1] in cited else match[2], markup)
    body = with_anchors(safe_html(re.sub(r'<a class="anchor-link"[^>]*>[^<]*</a>', "", markup)))
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    return visible(environment.get_template("article.html.j2").render(title=title, body=body, css=css()))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def print_pdf(page: Path, target: Path, *, seconds: float = 120) -> str:
    """Print the page in a file to `target`, with all that is folded in it open.

    Returns
    -------
    str
        Empty, or why there is no PDF: there is no such browser, or it printed nothing in time.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return f"no browser that prints was found (looked for {', '.join(BROWSERS[:3])})"
    with tempfile.TemporaryDirectory(prefix="axisjudge-print-") as private:
        command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # the browser refuses its sandbox to the superuser; the page is our own
        opened = Path(private) / page.name
        opened.write_text(page.read_text(encoding="utf-8").replace("<details>", "<details open>"), encoding="utf-8")
        command += [f"--user-data-dir={private}", f"--print-to-pdf={target.resolve()}", opened.as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=seconds, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"{Path(browser).name} did not print ({type(error).__name__})"
    return "" if target.exists() and target.stat().st_size else f"{Path(browser).name} printed nothing"
