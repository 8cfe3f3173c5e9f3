"""`axisjudge report --publish`: from ratings to a folder that a journal or a reader can check."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.report.bundle import check, citing
from axisjudge.report.bundle.composing import (
    INPUTS,
    RUBRICS,
    SETTINGS_FILE,
    compose,
    named_rubrics,
    print_pdf,
    versions,
)
from axisjudge.report.bundle.inputs import checked_settings, copy_inputs, of_votes, read_inputs


@dataclass(frozen=True)
class Published:
    """A bundle: its folder, the parts it has, of which ratings, and why there is no PDF where there is none."""

    folder: Path
    parts: tuple[str, ...]
    n_figures: int
    n_tables: int
    about: str
    without_pdf: str
    secrets: Mapping[str, int]


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
    columns: int = 1,
    released: str = "",
    redact: bool = True,
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
    columns : int
        Columns of a page of ``article.tex``, 1 or 2: tables, and figures as PDF, are made for their width.
    released : str
        The day in CITATION.cff, by default today; its licence and version are those of the workbench's pyproject.toml.
    redact : bool
        Take keys and tokens out of the copies of ratings, labels and runs that the folder holds.
    home : Path
        The workbench: its split, lock and ledger say what may be claimed, its rubrics are printed.

    Raises
    ------
    InputError
        The ratings answer no question, a file is missing, or the folder holds something else than a bundle, or one in
        which its authors wrote.
    """
    if columns not in (1, 2):
        raise InputError("--columns", "must be 1 or 2", columns)
    target = Path(name) if re.search(r"[/\\]", name) else home / "reports" / "bundles" / name
    if target.exists() and not (target / SETTINGS_FILE).exists() and any(target.iterdir()):
        raise InputError(str(target), "holds something else than a bundle", cure="choose another name")
    if target.exists() and (own := check.files_of_authors(target)):
        cure = "choose another name, or move it away"
        raise InputError(str(target), "holds what its authors wrote", ", ".join(own[:3]), cure)
    checked = checked_settings(of_votes(ratings) | dict(settings or {}))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
        folder = Path(aside) / target.name
        folder.mkdir()
        secrets = Counter[str]()
        copy_inputs(ratings, labels, trajectories, folder / INPUTS, secrets if redact else None)
        try:
            table = read_inputs(folder / INPUTS, checked).source.ratings
            _copy_rubrics(table, folder / INPUTS / RUBRICS)
            kept = {
                "title": title or target.name.replace("_", " "),
                "authors": citing.authors_of(home, authors),
                "release": citing.release_of(home, released),
                "columns": columns,
                "settings": checked,
                "versions": versions(),
                "standing": check.standing_in_words(table),
            }
            made, _ = compose(folder, kept, Path(bib) if bib else None)
        except InputError as error:  # what is wrong with a copy is wrong with what was given
            where = re.sub(rf"{re.escape(str(folder / INPUTS))}[/\\]\w+[/\\]", "", error.where)
            raise InputError(where, error.rule, error.found, error.cure) from None
        without_pdf = print_pdf(folder / "article.html", folder / "article.pdf")
        check.write_manifest(folder)
        if target.exists():
            shutil.rmtree(target)
        folder.replace(target)
    n_tables = sum(len(part.tables) for part in made.parts)
    n_figures = sum(map(len, made.figures.values()))
    names = tuple(part.name for part in made.parts)
    return Published(target, names, n_figures, n_tables, made.source.about, without_pdf, dict(secrets))


def _copy_rubrics(ratings: pl.DataFrame, folder: Path) -> None:
    """Put the rubrics that the ratings name by their hash beside them, as far as the workbench has them."""
    from axisjudge.rubric import list_rubrics
    from axisjudge.verdict import AXES

    named = named_rubrics(ratings)
    texts = {rubric.sha256: rubric.text for axis in AXES for rubric in list_rubrics(axis)} if named else {}
    for name, sha in named.items():
        if sha in texts:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name.replace(' ', '_')}.md").write_text(texts[sha], encoding="utf-8", newline="\n")
