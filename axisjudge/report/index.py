"""The front page of all reports, as a story, real measurements before made-up ones; and the gallery of those in git."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.figures.markup import literal, visible
from axisjudge.report.made import NOTES
from axisjudge.report.paper import sentences_of
from axisjudge.report.render import TEMPLATES, css
from axisjudge.workbench import write_whole

#: The story: chapters in order, each with the reports that tell it, by their names without numbers.
CHAPTERS = {
    "Look": ("failures", "trace", "located"),
    "Do judges agree?": ("agreement",),
    "Do they agree with people?": ("people",),
    "Which verdicts can be trusted?": ("panels", "succession", "twins"),
    "Make the rubric better": ("loop", "rubric_versions", "improvement", "plan"),
    "Scores": ("curves", "axis_result", "run_score"),
}
_REST = "More"
#: Width and height of a picture at most, and its colours: a page of thirty stays under 500 kB.
_SIZE, _COLOURS = (480, 360), 32


def write_index(reports: Path) -> Path:
    """Write reports/index.html: every published report with its question, the first sentence of its answer, its banner
    and its first figure, chapter by chapter; within a chapter real measurements lead.
    """
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    listed = read_gallery(reports.parent) if (reports / "gallery" / LIST).exists() else {}
    folders = [(path.parent, "") for path in sorted(reports.glob("*/results.json"))]
    folders = [(folder, data) for folder, data in folders if (folder / "report.html").exists()]
    kept = [(reports / "gallery" / name, entry.data) for name, entry in listed.items()]
    cards = [_card(folder, data) for folder, data in (*folders, *kept) if (folder / "results.json").exists()]
    cards.sort(key=lambda card: bool(card["banner"]))
    cards = _one_a_question(cards)
    story = {chapter: [card for card in cards if card["chapter"] == chapter] for chapter in (*CHAPTERS, _REST)}
    page = environment.get_template("reports.html.j2").render(
        story={chapter: chapter_cards for chapter, chapter_cards in story.items() if chapter_cards}, css=css()
    )
    write_whole(reports / "index.html", visible(page))
    return reports / "index.html"


def _one_a_question(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first card of every question; it lists the others, which answer the question of other data."""
    first: dict[str, dict[str, Any]] = {}
    for card in cards:
        if (leading := first.setdefault(card["title"], card)) is not card:
            leading["others"].append(card)
    return [*first.values()]


def _chapter(name: str) -> str:
    """The chapter that a report belongs to: by its name, or by its beginning in the gallery."""
    chapters = (
        chapter
        for chapter, names in CHAPTERS.items()
        if any(name == each or name.startswith(f"{each}_") for each in names)
    )
    return next(chapters, _REST)


def _thumbnail(picture: Path, kept: Path) -> str:
    """The picture, small and of few colours, as base64; kept by its hash and size, so that it is made once."""
    from PIL import Image

    content = picture.read_bytes()
    small = kept / f"{hashlib.sha256(content).hexdigest()[:20]}-{_SIZE[0]}-{_COLOURS}.png"
    if not small.exists():
        image = Image.open(io.BytesIO(content)).convert("RGB")
        image.thumbnail(_SIZE)
        kept.mkdir(exist_ok=True)
        image.quantize(_COLOURS).save(small, "PNG", optimize=True)
    return base64.b64encode(small.read_bytes()).decode()


def _answer(results: dict[str, Any]) -> str:
    """The answer of a report, else what it finds first."""
    return str(results.get("answer") or results.get("finding") or next(iter(results["findings"]), ""))


def _results(folder: Path) -> dict[str, Any]:
    """What a report says; of one that another version or somebody else wrote its name, with what can be read."""
    try:
        read = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        read = None
    return {"title": folder.name, "figures": [], "findings": [], "banner": ""} | (
        read if isinstance(read, dict) else {}
    )


def _card(folder: Path, data: str = "") -> dict[str, Any]:
    in_gallery = folder.parent.name == "gallery"
    name = f"gallery/{folder.name}" if in_gallery else folder.name
    reports = folder.parents[1] if in_gallery else folder.parent
    results = _results(folder)
    figures = [folder / "figures" / f"{each}.png" for each in results["figures"][:1]]
    figures = [figure for figure in figures if figure.exists()]
    leads = f"First {results['leads'].partition(' with ')[0]}" if "leads" in results else ""
    banners = (results.get("standing", {}).get("banner"), leads, results["banner"])
    return {
        "chapter": _chapter(folder.name if in_gallery else folder.name.lstrip("0123456789_")),
        "address": f"{name}/report.{'html' if (folder / 'report.html').exists() else 'md'}",  # text in a fresh clone
        "number": "" if in_gallery else folder.name.partition("_")[0],
        "title": results["title"],
        "data": data,
        "others": [],
        "finding": next(iter(sentences_of(_answer(results))), ""),
        "banner": "; ".join(banner.partition(":")[0] for banner in banners if banner),
        "thumbnail": _thumbnail(figures[0], reports / NOTES) if figures else "",
    }


FOLDER, LIST = "reports/gallery", "gallery.toml"
_ABOUT = (
    "Reports of real judges and real people, as numbers only. `axisjudge report --gallery` makes them from the votes "
    "and verdicts that ship with the workbench and from public sets that `axisjudge data fetch` has. The part tau2 of "
    "AgentProcessBench is in [02_agreement](../02_agreement/report.md) and [03_people](../03_people/report.md); "
    "published tables are computed again in [01_rubric_versions](../01_rubric_versions/report.md), "
    "[02_agreement](../02_agreement/report.md), [05_failures](../05_failures/report.md) "
    "and [06_trace](../06_trace/report.md)."
)


@dataclass(frozen=True)
class GalleryEntry:
    """A report of the gallery: its notebook, what its data are called, and the parameters that it is run with."""

    notebook: str
    data: str
    parameters: dict[str, Any]


def read_gallery(home: Path) -> dict[str, GalleryEntry]:
    """The entries of reports/gallery/gallery.toml, in their order.

    Raises
    ------
    InputError
        There is no such file, or an entry of another shape.
    """
    path = home / FOLDER / LIST
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            name: GalleryEntry(str(entry.pop("notebook")), str(entry.pop("data")), entry)
            for name, entry in listed.items()
        }
    except (OSError, tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        cure = 'an entry is [name], notebook = "02_agreement", data = "AltTest", and a line for each parameter'
        raise InputError(f"{FOLDER}/{LIST}", f"cannot be read ({error})", cure=cure) from None


def write_contents(home: Path) -> None:
    """README.md of the gallery: every report with its question and its finding."""
    lines = ["# Gallery", "", _ABOUT, ""]
    for name, entry in read_gallery(home).items():
        results = home / FOLDER / name / "results.json"
        if results.exists():
            report = json.loads(results.read_text(encoding="utf-8"))
            question = f"[{literal(report['title'])}]({name}/report.md)"
            lines += [f"- **{literal(entry.data)}**: {question} (`{report['command']}`): {literal(_answer(report))}"]
    (home / FOLDER / "README.md").write_text(visible("\n".join(lines)) + "\n", encoding="utf-8")
