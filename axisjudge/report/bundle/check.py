"""Whether a bundle is what it says: all that it says is made anew from its inputs, and its files are hashed."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, once_each
from axisjudge.report.bundle.article import RELATED, RELATED_BLANK
from axisjudge.report.bundle.composing import INPUTS, MANIFEST, SETTINGS_FILE, compose, files_of, print_pdf, versions
from axisjudge.report.bundle.inputs import checked_settings
from axisjudge.report.difference import ResultDifference, differences, read_results
from axisjudge.report.digest import file_sha256
from axisjudge.results import dumps


@dataclass(frozen=True)
class BundleCheck:
    """What a check found.

    Attributes
    ----------
    differences : tuple of ResultDifference
        Numbers and words that come out otherwise, the first first; ``before`` is what the bundle says.
    files : tuple of str
        Files that are not what is computed, differ from the manifest, are missing, or that it does not name.
    notes : tuple of str
        What is not computed anew, and therefore the author's word.
    n_numbers : int
        Numbers that were compared.
    made_with, checked_with : str
        Versions of the package.
    """

    differences: tuple[ResultDifference, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]
    n_numbers: int
    made_with: str
    checked_with: str

    @property
    def holds(self) -> bool:
        """Whether everything is as the bundle says."""
        return not self.differences and not self.files


def standing_in_words(ratings: pl.DataFrame) -> dict[str, str]:
    """What the workbench knows of the standing of ratings: the headline and the sentence of its protocol."""
    from axisjudge.protocol.standing import standing_of

    standing = standing_of(ratings)
    return {"headline": standing.headline, "sentence": standing.sentence if standing.matters else ""}


def check_bundle(folder: str | Path) -> BundleCheck:
    """Make a bundle's results, article, tables and figures anew, from its inputs and without the network, and compare.

    A sentence of the author's own may stand in ``article.md``; a number that nothing computes may not, but under the
    heading of related work. Figures are compared where they are drawn by the same version of matplotlib.

    Raises
    ------
    InputError
        The folder is no bundle, or what it was made from is no longer whole.
    """
    from axisjudge.protocol.gate import EXPLORATORY

    bundle = Path(folder)
    kept = _kept(bundle)
    results = read_results(bundle)
    now = versions()
    draws = kept["versions"].get("matplotlib") == now["matplotlib"]
    with tempfile.TemporaryDirectory(prefix="axisjudge-check-") as aside:
        again = Path(aside) / "again"
        shutil.copytree(bundle / INPUTS, again / INPUTS)
        own_works = bundle / "references.bib"
        try:
            made, made_results = compose(again, kept, own_works if own_works.exists() else None, draws=draws)
        except InputError as error:
            if changed := changed_files(bundle):
                raise InputError(str(folder), f"cannot be computed anew, as {changed[0]}", str(error)) from None
            raise
        numbers = json.loads(dumps(made_results))
        changes = list(differences(results, numbers)) or list(differences(results, numbers, ordered=True))
        changes.sort(
            key=lambda each: each.where.startswith("inputs.")
        )  # numbers first, then the hash that goes with them
        headline, is_explored = kept["standing"]["headline"], pl.col("flags").list.contains(EXPLORATORY)
        if made.source.ratings.filter(is_explored).height and EXPLORATORY.upper() not in headline:
            changes.append(ResultDifference("standing.headline", headline, EXPLORATORY.upper()))
        texts = list(_texts(bundle, again, draws=draws))
        is_other, without_pdf = _is_other_print(bundle / "article.pdf", again / "article.html")
        other = ["article.pdf is not the article in print"] if is_other else []
        files = dict.fromkeys([*_other_files(bundle, again, draws=draws), *other, *changed_files(bundle)])
    notes = [] if draws else ["figures are not compared: they were drawn by another version of matplotlib"]
    notes += [f"article.pdf is not compared ({without_pdf}); print it anew from article.html"] if without_pdf else []
    if kept["standing"]["sentence"]:
        notes.append("what is said of lock and openings is the word of the workbench that it was made in")
    notes += [str(each) for each in texts if isinstance(each, str)]
    changes += [each for each in texts if not isinstance(each, str)]
    made_with = kept["versions"]["axisjudge"]
    return BundleCheck(tuple(changes), tuple(files), tuple(notes), _count(results), made_with, now["axisjudge"])


def _kept(bundle: Path) -> dict[str, Any]:
    """What ``bundle.json`` says, checked."""
    try:
        kept = json.loads((bundle / SETTINGS_FILE).read_text(encoding="utf-8"), object_pairs_hook=once_each)
        known: dict[str, Any] = {"settings": checked_settings(kept["settings"])}
        known |= {"title": str(kept["title"]), "authors": [str(each) for each in kept["authors"]]}
        known |= {"release": {name: str(kept["release"][name]) for name in ("license", "version", "date")}}
        known |= {"columns": 2 if int(kept["columns"]) == 2 else 1}
        made = {name: str(version) for name, version in kept["versions"].items()}
        standing = {name: str(kept["standing"][name]) for name in ("headline", "sentence")}
        return known | {"versions": versions() | made, "standing": standing}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        cure = "make bundles of older versions anew" if isinstance(error, KeyError) else ""
        rule = f"is no bundle: {SETTINGS_FILE} cannot be read ({error})"
        raise InputError(str(bundle), rule, cure=cure) from None


#: Where an author may write numbers: the text between this heading and the next.
_RELATED = (f"## {RELATED}", rf"\section{{{RELATED}}}")


#: What authors write in, and there with what: markup that could hide or redefine what others wrote is none of it.
_OWN = {
    "article.md": re.compile(r"<(?!https?:)\S|^(?:```|~~~)", re.MULTILINE),
    "article.tex": re.compile(
        r"\^\^|\\(?!(?:cite[tp]?|emph|text(?:bf|it|tt|sc)|url|href|ref|label|footnote|(?:sub)*paragraph|subsection|item)\b"
        r"|(?:begin|end)\{(?:itemize|enumerate|quote)\}|[^A-Za-z])"
    ),
}
#: What LaTeX and a browser make of an article, beside it.
_PRINTED = re.compile(r"article\.(?:pdf|aux|log|out)")

#: When a PDF was printed, the only bytes that differ from print to print, and by which browser and fonts.
_WHEN, _PRINTED_BY = re.compile(rb"\(D:[^)]*\)"), re.compile(rb"/(?:Creator|Producer) \([^)]*|/BaseFont /\S+")


def _texts(bundle: Path, again: Path, *, draws: bool) -> Iterator[ResultDifference | str]:
    """Where the article is not what is made again; as a note what an author added without numbers."""
    for name in ("article.md", "article.html", "article.tex", "references.bib", "CITATION.cff"):
        held, made = (_lines(folder / name, pictures=draws) for folder in (bundle, again))
        matcher = SequenceMatcher(None, held, made, autojunk=False)
        for kind, start, end, first, last in matcher.get_opcodes() if held != made else ():
            where = f"{name}, line {start + 1}"
            added = " ".join(held[start:end])
            is_words = name in _OWN and not _OWN[name].search("\n".join(held[start:end]))
            if kind != "insert" and is_words and _is_own(held, start, end, made[first:last]):
                yield f"{where} is the author's: {added[:80]}"
            elif kind != "equal":
                yield ResultDifference(where, added, " ".join(made[first:last]))


def _is_own(lines: list[str], start: int, end: int, made: list[str]) -> bool:
    """Whether lines are an author's: words without a number, or what stands in the place of related work."""
    heads = ("## ", r"\section")
    heading = next((line for line in reversed(lines[:start]) if line.startswith(heads)), "")
    if heading in _RELATED and not any(line.startswith(heads) for line in lines[start:end]):
        return not made or made == [RELATED_BLANK]
    return not made and not re.search(r"\d", " ".join(lines[start:end]))


def _lines(path: Path, *, pictures: bool) -> list[str]:
    """The lines of a text that say something; of HTML one a tag or text."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(?=<)|(?<=>)", "\n", text) if path.suffix == ".html" else text
    text = text if pictures else re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]*", "", text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _other_files(bundle: Path, again: Path, *, draws: bool) -> Iterator[str]:
    """Files that are not what is made again, or not made again, whatever the manifest says of them."""
    made, held = (set(files_of(top)) for top in (again, bundle))
    for name in sorted(made & held):
        if name.startswith(("tables/", "figures/")) and (again / name).read_bytes() != (bundle / name).read_bytes():
            yield f"{name} does not hold what is computed"
    first, second = (json.loads((top / SETTINGS_FILE).read_text(encoding="utf-8")) for top in (again, bundle))
    if first != second:
        yield f"{SETTINGS_FILE} holds more than is read of it"
    yield from (f"{name} is missing" for name in sorted(made - held))
    for name in sorted(held - made):
        if not _PRINTED.fullmatch(name) and (draws or not name.startswith("figures/")):
            yield f"{name} is made by no part of this bundle"


def _is_other_print(pdf: Path, page: Path) -> tuple[bool, str]:
    """Whether a PDF is another one than this browser prints of the page, or why that cannot be told."""
    if not pdf.exists():
        return False, ""
    if why := print_pdf(page, page.with_suffix(".pdf")):
        return False, why
    held, made = (_WHEN.sub(b"", each.read_bytes()) for each in (pdf, page.with_suffix(".pdf")))
    if set(_PRINTED_BY.findall(held)) != set(_PRINTED_BY.findall(made)):
        return False, "another program printed it, or other fonts did"
    return held != made, ""


def write_manifest(folder: Path) -> None:
    """Hashes of all files, one a line, as ``sha256sum --check`` reads them."""
    lines = [f"{file_sha256(folder / name)}  {name}\n" for name in files_of(folder)]
    (folder / MANIFEST).write_text("".join(lines), encoding="utf-8")


def changed_files(folder: Path) -> list[str]:
    """What differs from the manifest, a line each."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except OSError:
        return [f"{MANIFEST} is missing"]
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    there = set(files_of(folder))
    changed = [name for name in sorted(listed) if name in there and file_sha256(folder / name) != listed[name]]
    return [
        *(f"{name} is not the file in {MANIFEST}" for name in changed),
        *(f"{name} is missing" for name in sorted(set(listed) - there)),
        *(f"{name} is not in {MANIFEST}" for name in sorted(there - set(listed))),
    ]


def files_of_authors(folder: Path) -> list[str]:
    """The files of a bundle that its authors put there, and the texts in which they wrote."""
    changed = changed_files(folder)
    added = [name for line in changed if (name := line.removesuffix(f" is not in {MANIFEST}")) != line]
    edited = [name for name in _OWN if f"{name} is not the file in {MANIFEST}" in changed]
    texts = [path for name in _OWN if (path := folder / name).exists() and name not in edited]
    related = [path.name for path in texts if RELATED_BLANK not in path.read_text(encoding="utf-8", errors="replace")]
    return [*edited, *related, *(name for name in added if not _PRINTED.fullmatch(name))]


def _count(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count, value.values() if isinstance(value, dict) else value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))
