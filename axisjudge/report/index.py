"""The front page of all reports."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from axisjudge.figures.markup import visible
from axisjudge.report.gallery import LIST, read_gallery
from axisjudge.report.render import TEMPLATES, css


def write_index(reports: Path) -> Path:
    """Write reports/index.html: every published report with its title, answer, banner and first figure.

    The gallery leads, real measurements follow, then what simulated or planted ratings show.
    """
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    cards = [
        _card(path.parent) for path in sorted(reports.glob("*/results.json")) if (path.parent / "report.html").exists()
    ]
    cards.sort(key=lambda card: bool(card["banner"]))
    listed = read_gallery(reports.parent) if (reports / "gallery" / LIST).exists() else {}
    kept = [
        _card(reports / "gallery" / name, entry.data)
        for name, entry in listed.items()
        if (reports / "gallery" / name / "results.json").exists()
    ]
    page = visible(environment.get_template("reports.html.j2").render(gallery=kept, reports=cards, css=css()))
    staged = reports / ".index.html"
    staged.write_text(page, encoding="utf-8")
    return staged.replace(reports / "index.html")


def _banners(results: dict[str, Any]) -> list[str]:
    return [banner for banner in (results.get("standing", {}).get("banner"), results["banner"]) if banner]


def _page_of(folder: Path) -> str:
    """The page of a report, else, in a fresh clone, its text."""
    return "report.html" if (folder / "report.html").exists() else "report.md"


def _card(folder: Path, data: str = "") -> dict[str, Any]:
    name = f"gallery/{folder.name}" if folder.parent.name == "gallery" else folder.name
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    figures = [folder / "figures" / f"{name}.png" for name in results["figures"][:1]]
    return {
        "address": f"{name}/{_page_of(folder)}",
        "title": results["title"],
        "data": data,
        "finding": results.get("answer") or results.get("finding") or next(iter(results["findings"]), ""),
        "banner": "; ".join(banner.partition(":")[0] for banner in _banners(results)),
        "thumbnail": base64.b64encode(figures[0].read_bytes()).decode() if figures else "",
    }
