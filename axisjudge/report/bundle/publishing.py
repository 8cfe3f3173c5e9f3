"""`axisjudge report --publish`: from ratings to a folder that a journal or a reader can check."""

from __future__ import annotations

import base64
import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axisjudge.checks import InputError
from axisjudge.figures.legible import is_empty
from axisjudge.figures.markup import visible
from axisjudge.report import digest
from axisjudge.report.bundle import check, citing
from axisjudge.report.bundle.article import Writeup
from axisjudge.report.bundle.inputs import Inputs, checked_settings, copy_inputs, of_votes
from axisjudge.report.bundle.parts import Section
from axisjudge.report.bundle.printing import print_pdf
from axisjudge.report.drawn import KINDS, drawn_bytes, reading_of, title_of_figure
from axisjudge.report.tables.files import write_table
from axisjudge.results import dumps

if TYPE_CHECKING:
    from axisjudge.rubric import RubricText

#: Packages whose versions the methods name.
_NAMED = ("axisjudge", "python", "numpy", "scipy", "polars", "matplotlib")


@dataclass(frozen=True)
class Published:
    """A bundle: its folder, the parts it has, of which ratings, and why there is no PDF where there is none."""

    folder: Path
    parts: tuple[str, ...]
    n_figures: int
    n_tables: int
    about: str
    without_pdf: str


def publish(
    name: str,
    ratings: Sequence[str],
    labels: Sequence[str] = (),
    trajectories: Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    title: str = "",
    authors: Sequence[str] = (),
    bib: str | Path | None = None,
    home: Path,
) -> Published:
    """Write one document from ratings, with all that it stands on, as a folder.

    Parameters
    ----------
    name : str
        The bundle's name, for ``reports/bundles/NAME`` of the workbench; with a slash the folder itself.
    ratings, labels, trajectories : sequence of str
        Files, folders or patterns; of ratings also ``votes:tau2`` and the other shipped votes.
    settings : mapping, optional
        See `axisjudge.report.bundle.inputs.SETTINGS`.
    title : str
        By default the name in words.
    authors : sequence of str
        ``Given Family`` each; by default those of the workbench's pyproject.toml.
    bib : path, optional
        BibTeX entries that are listed beside those of the methods.
    home : Path
        The workbench: its split, lock and ledger say what may be claimed, its rubrics are printed.

    Raises
    ------
    InputError
        The ratings answer no question, a file is missing, or the folder holds something else than a bundle.
    """
    target = Path(name) if re.search(r"[/\\]", name) else home / "reports" / "bundles" / name
    if target.exists() and not (target / check.SETTINGS_FILE).exists() and any(target.iterdir()):
        raise InputError(str(target), "holds something else than a bundle", cure="choose another name")
    checked = checked_settings(of_votes(ratings) | dict(settings or {}))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
        folder = Path(aside) / target.name
        folder.mkdir()
        copy_inputs(ratings, labels, trajectories, folder / check.INPUTS)
        try:
            results, inputs, parts = check.compute(folder, checked)
        except InputError as error:  # what is wrong with a copy is wrong with what was given
            where = re.sub(rf"{re.escape(str(folder / check.INPUTS))}[/\\]\w+[/\\]", "", error.where)
            raise InputError(where, error.rule, error.found, error.cure) from None
        _write(folder / "results.json", dumps(results))
        figures = {part.name: _figures(part, folder / "figures") for part in parts}
        _tables(parts, folder / "tables")
        rubrics, unknown = _rubrics(inputs)
        works = _works(parts, Path(bib) if bib else None)
        writeup = Writeup(
            title=title or target.name.replace("_", " "),
            authors=citing.authors_of(home, authors),
            parts=parts,
            figures=figures,
            settings=checked,
            rubrics={each: rubric.text for each, rubric in rubrics.items()},
            unknown_rubrics=unknown,
            files=_hashes(folder),
            versions={each: version for each, version in digest.versions().items() if each in _NAMED},
            works=works,
            about=inputs.source.about,
            **_said_of(inputs),
        )
        without_pdf = _documents(folder, writeup)
        _write(folder / "references.bib", "\n\n".join(work.text for work in works.values()) + "\n")
        _write(folder / "CITATION.cff", citing.citation_cff(writeup.title, writeup.authors, writeup.abstract))
        kept = {"title": writeup.title, "authors": list(writeup.authors), "settings": checked}
        _write(folder / check.SETTINGS_FILE, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        check.write_manifest(folder)
        if target.exists():
            shutil.rmtree(target)
        folder.replace(target)
    n_tables = sum(len(part.tables) for part in parts)
    n_figures = sum(map(len, figures.values()))
    return Published(target, tuple(part.name for part in parts), n_figures, n_tables, inputs.source.about, without_pdf)


def _said_of(inputs: Inputs) -> dict[str, Any]:
    """What the ratings say of themselves: scope, standing, and what judges were asked with."""
    from axisjudge.protocol.standing import standing_of
    from axisjudge.report.scope import asked_of, scope_of

    ratings = inputs.source.ratings
    return {"scope": scope_of(ratings), "standing": standing_of(ratings), "asked": asked_of(ratings)}


def _figures(part: Section, folder: Path) -> list[tuple[str, str]]:
    """Every figure of a part as PNG, SVG and PDF, without dates and versions; names and captions."""
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
            note = (part.study.banner or "").partition(":")[0] or None
            for kind, picture in zip(KINDS, drawn_bytes(figure, note, *KINDS), strict=True):
                (folder / f"{named}.{kind}").write_bytes(picture)
            title = title_of_figure(figure) or name.replace("_", " ").capitalize()
            parts = (f"{title.rstrip('.')}.", part.findings.get(name, ""), reading_of(figure))
            made.append((named, " ".join(filter(None, parts))))
            plt.close(figure)
    return made


def _tables(parts: Sequence[Section], folder: Path) -> None:
    for part in parts:
        for name, (caption, frame) in part.tables.items():
            write_table(folder, f"{part.name}_{name}", frame, caption)


def _rubrics(inputs: Inputs) -> tuple[dict[str, RubricText], list[str]]:
    """The rubrics that the ratings name by their hash, as far as the workbench has them; and those it has not."""
    from axisjudge.rubric import list_rubrics
    from axisjudge.verdict import AXES

    columns = ["question", "rubric_version", "rubric_sha256"]
    named = inputs.source.ratings.select(columns).drop_nulls("rubric_sha256").unique().sort(columns)
    texts = {rubric.sha256: rubric for axis in AXES for rubric in list_rubrics(axis)} if named.height else {}
    found = {f"{axis} {version}": texts.get(sha) for axis, version, sha in named.iter_rows()}
    return {name: text for name, text in found.items() if text}, [name for name, text in found.items() if not text]


def _works(parts: Sequence[Section], bib: Path | None) -> dict[str, citing.Work]:
    """What the parts cite, in their order, then all of the author's own entries."""
    shipped = citing.read_works(citing.SHIPPED)
    cited = {key: shipped[key] for part in parts for key in part.cites}
    return cited | (citing.read_works(bib) if bib else {})


def _hashes(folder: Path) -> dict[str, str]:
    inputs = sorted(path for path in (folder / check.INPUTS).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): digest.file_sha256(path) for path in inputs}


def _documents(folder: Path, writeup: Writeup) -> str:
    """article.md, article.html that stands alone, and article.pdf; why there is none, where there is none."""
    text = writeup.markdown()
    _write(folder / "article.md", text)
    _write(folder / "article.html", _html(text, writeup.title, folder))
    with tempfile.TemporaryDirectory(prefix="axisjudge-print-") as aside:
        opened = Path(aside) / "article.html"  # on paper nothing can be unfolded
        _write(opened, _html(text, writeup.title, folder).replace("<details>", "<details open>"))
        return print_pdf(opened, folder / "article.pdf")


def _html(text: str, title: str, folder: Path) -> str:
    from jinja2 import Environment, FileSystemLoader
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    from axisjudge.report.paper import with_anchors
    from axisjudge.report.render import TEMPLATES, css, safe_html

    def inline(found: re.Match[str]) -> str:
        picture = base64.b64encode((folder / found[1]).read_bytes()).decode()
        return f"(data:image/png;base64,{picture})"

    markup = markdown2html_mistune(re.sub(r"\((figures/[a-z0-9_]+\.png)\)", inline, text))
    body = with_anchors(safe_html(re.sub(r'<a class="anchor-link"[^>]*>[^<]*</a>', "", markup)))
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    return visible(environment.get_template("article.html.j2").render(title=title, body=body, css=css()))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
