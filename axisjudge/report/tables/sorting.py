"""What sorts and searches the tables of a page: DataTables as itables brings it, packed into the page once."""

from __future__ import annotations

import gzip
import html
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from axisjudge.report.tables.markup import as_polars, html_table, is_sortable

_HERE = Path(__file__).resolve().parent
#: In the package of itables, whose import would bring pandas: the library as one module.
_LIBRARY = "itables/html/dt_bundle.js"
#: How that module ends: what it hands out, under which names.
_EXPORT = re.compile(r"\bexport\s*\{([^}]*)\};?")
#: Sorts what is there by now; before the library has come it does nothing, and the library sorts what it finds.
SORT = "<script>globalThis.axisjudgeSort?.()</script>"


@dataclass(frozen=True)
class Sorting:
    """The parts of a page that sort its tables.

    Attributes
    ----------
    markup : str
        The packet and the script that opens it, for the end of a page.
    css : str
        The style of what DataTables adds to a table.
    policy : str
        The hashes of the two scripts, as a content security policy names them. No other script may run.
    """

    markup: str
    css: str
    policy: str


@cache
def sorting() -> Sorting:
    """DataTables and how we use it. The same versions give the same bytes.

    Raises
    ------
    LookupError
        The library of the installed itables does not say which of its names is DataTables.
    """
    program, unpack = _program(), _text("unpack.js")
    packet = b64encode(gzip.compress(program.encode(), compresslevel=9, mtime=0)).decode()
    markup = f'<script type="text/plain" id="axisjudge-sorting">{packet}</script>\n<script>{unpack}</script>'
    return Sorting(markup, _text("sorting.css"), f"script-src '{_hash(unpack)}' '{_hash(program)}'")


def in_notebook(table: str, name: str, *, first: bool) -> str:
    """A table of a notebook as an output that sorts itself; the `first` one of a notebook brings the library.

    Where outputs may run nothing, as in a notebook that is not trusted, the table stands as it is.
    """
    brought = f"<style>{sorting().css}</style>{sorting().markup}" if first else ""
    region = f'<div class="axisjudge-region" tabindex="0" role="region" aria-label="{html.escape(name)}">{table}</div>'
    return f"{region}{brought}{SORT}"


def tables_in_notebook(frames: Mapping[str, Any]) -> str:
    """Tables by their captions as one output of a notebook, those that are long sorted."""
    shown, is_first = "", True
    for caption, frame in frames.items():
        table = as_polars(frame)
        markup = html_table(table, {}, caption, None)
        if is_sortable(table):
            markup, is_first = in_notebook(markup, caption, first=is_first), False
        shown += markup
    return shown


def _program() -> str:
    library = Path(str(distribution("itables").locate_file(_LIBRARY))).read_text(encoding="utf-8")
    handed_out = _EXPORT.search(library)
    main = handed_out and re.search(r"([\w$]+) as default", handed_out[1])
    if not handed_out or not main:
        raise LookupError(f"{_LIBRARY} hands out no default: DataTables is not found in it")
    inner = library[: handed_out.start()] + f"const DataTable = {main[1]};" + library[handed_out.end() :]
    return f'"use strict";\n(() => {{\n{inner}\n{_text("sorting.js")}}})();\n'


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
