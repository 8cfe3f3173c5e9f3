"""A page that says what cannot be said: what becomes of a notebook whose data hold too little for its question."""

from __future__ import annotations

import sys
from typing import Any

import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.ratings.table import ratings_frame
from axisjudge.report.page import Page

#: The code that a kernel runs after a cell that ended in `TooLittle`.
CODE = "from axisjudge.report.unanswered import answer_why\nanswer_why(globals(), {name!r})"

#: How papermill marks the cells that it adds around a cell that failed.
_MARK = "papermill-error-cell-tag"

#: What of a notebook holds whatever its data say.
_KEPT = ("## Limits", "## Things to try next")


def answer_why(names: dict[str, Any], name: str) -> None:
    """Let the page in a notebook's `names` answer why it has no answer; one that is not begun yet begins with this.

    Where the page has answered already, the sentences end what it could say. results.json has them as `unanswered`.
    """
    why = sys.last_value
    page = names.get("page")
    if not isinstance(why, TooLittle):
        raise TypeError(f"the last cell ended in {type(why).__name__}")
    if not isinstance(page, Page):
        page = Page(name, _rated(names))
        page.banner()
    page.record("unanswered", why.sentences)
    if page.answer_text:
        page.say(f"Here the page ends. {why.sentences}")
    else:
        page.answer(f"These data hold too little to answer the question of this page. {why.sentences}")


def cut_short(book: Any, at: int, outputs: list[Any]) -> Any:
    """The notebook as far as it ran: cell `at` ended it and has `outputs` in place of the error.

    Of the cells after it stay those that hold whatever the data say, so that no heading stands over nothing.
    """
    cells = [cell for cell in book.cells if _MARK not in cell.metadata.get("tags", [])]
    kept = [output for output in cells[at].outputs if output.output_type != "error"]
    cells[at].outputs = [*kept, *outputs]
    if not kept and cells[at - 1].cell_type == "markdown" and at > 1:
        cells[at - 1].source = ""
    book.cells = [*cells[: at + 1], *(cell for cell in cells[at + 1 :] if cell.source.startswith(_KEPT))]
    return book


def _rated(names: dict[str, Any]) -> pl.DataFrame:
    """The ratings among what a notebook has named so far, the last ones; none if there are none."""
    given = [getattr(value, "ratings", value) for name, value in names.items() if not name.startswith("_")]
    tables = [each for each in given if isinstance(each, pl.DataFrame) and {"rater", "rater_kind"} <= set(each.columns)]
    return tables[-1] if tables else ratings_frame([])
