"""An executed notebook as pages: one HTML file that needs nothing else, and markdown that keeps its bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from axisjudge.figures.markup import literal, visible
from axisjudge.report.paper import MARKDOWN_MIME, about, arranged, with_anchors, without_paths
from axisjudge.report.tables import sorting

TEMPLATES = Path(__file__).resolve().parent / "page"

_WORDS = """
    a b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img
    ins kbd li mark ol p pre q s samp section small span strong sub summary sup table tbody td tfoot th
    thead tr u ul var
"""
_TAGS = set(_WORDS.split())
_ATTRIBUTES = {
    "*": {"class", "style", "title", "lang"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "td": {"colspan", "rowspan", "data-order"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
    "ol": {"start"},
}
# Inline styles that can colour and space text but cannot move it over other things or fetch anything.
_PROPERTIES = """
    background-color border border-bottom border-color border-left border-radius border-right border-top border-style
    border-width color font-family font-size font-style font-variant-numeric font-weight line-height margin-bottom
    margin-top max-width min-width overflow-wrap padding padding-bottom padding-left padding-right padding-top
    text-align
    text-decoration vertical-align white-space width
"""
_STYLES = set(_PROPERTIES.split())
_SHOWN = ["text/html", "text/markdown", "image/png", "text/plain"]


def title_of(notebook: Any, name: str) -> str:
    """The notebook's first heading, else its name."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (match := re.search(r"^#\s+(.+)$", cell.source, flags=re.MULTILINE)):
            return str(match[1]).strip()
    return name


def report_html(notebook: Any, title: str, made_from: str, first: str = "") -> str:
    """The notebook as one self-contained page: no address is ever fetched, code folded away.

    Where it has tables to sort, the page carries our script for it, and its policy lets no other one run.

    `made_from` is kept in the page's head, so that a later run can tell whether the report is up to date. `first`
    stands above everything: what held-out data may claim belongs on the first screen, however long the preface is.
    """
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        config=Config(NbConvertBase={"display_data_priority": _SHOWN}),
        extra_template_basedirs=[str(TEMPLATES.parent)],
        template_name=TEMPLATES.name,
        exclude_anchor_links=True,
    )
    for each in (safe_html, with_anchors, without_paths):
        exporter.register_filter(each.__name__, each)  # type: ignore[no-untyped-call]
    book = arranged(notebook)
    outputs = (output for cell in book.cells for output in cell.get("outputs", []))
    tables = [output.data["text/html"] for output in outputs if about(output).get("is") == "table"]
    sorts = sorting() if any('"axisjudge-table sortable' in table for table in tables) else None
    fields = {"title": title, "made_from": made_from, "css": css(), "first": first, "sorting": sorts}
    page, _ = exporter.from_notebook_node(book, resources={"axisjudge": fields})
    return visible(str(page))


def report_markdown(notebook: Any, first: str = "") -> str:
    """The notebook's prose and what its page said, nothing that differs from run to run; `first` stands above it."""
    parts: list[str] = [f"> **{literal(first)}**"] if first else []
    for cell in arranged(notebook).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        parts += [
            output.data[MARKDOWN_MIME] for output in cell.get("outputs", []) if MARKDOWN_MIME in output.get("data", {})
        ]
    return visible("\n\n".join(part.strip() for part in parts)) + "\n"


def safe_html(markup: str) -> str:
    """`markup` without scripts, style sheets, remote images and anything else that could act."""
    import nh3

    return nh3.clean(
        visible(markup),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_safe_attribute,
        url_schemes={"http", "https", "mailto", "data"},
        filter_style_properties=_STYLES,
    )


def css() -> str:
    """The style sheet of all pages."""
    return (TEMPLATES / "page.css").read_text(encoding="utf-8")


def _safe_attribute(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        return value if re.match(r"data:image/(png|jpeg|gif);base64,", value) else None
    if attribute == "href":
        return value if re.match(r"https?://|mailto:|#|explorer\.html(#|$)", value) else None
    return value
