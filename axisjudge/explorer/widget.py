"""The labeller in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import polars as pl
import traitlets

from axisjudge.checks import InputError
from axisjudge.explorer.front import script
from axisjudge.explorer.log import LabelLog, Sittings
from axisjudge.explorer.session import Session
from axisjudge.labels.decisions import read_labels
from axisjudge.ratings import ratings_frame

#: What stands above the question who labels.
WELCOME = (
    "Your labels go to a file with your name, and a second sitting under the same name goes on where you stopped.",
)


class AnsweringWidget(anywidget.AnyWidget):
    """A widget that answers its browser's questions, each once: asked again, it says again what it said.

    A kernel that was busy hears a question several times. Were an old change written after a newer one, it would take
    the newer one's place.
    """

    def __init__(self, **traits: Any) -> None:
        self._answers: dict[str, dict[str, Any]] = {}
        super().__init__(**traits)
        self.on_msg(self._hear)

    def _hear(self, _: object, message: Mapping[str, Any], __: object) -> None:
        re, kind = message["re"], message["kind"]
        if (answer := self._answers.get(re)) is None:
            try:
                answer = {"re": re, "content": self.answer(kind, message["content"])}
            except (InputError, OSError) as error:
                answer = {"re": re, "error": str(error)}
        if kind in ("save", "decide"):
            self._answers[re] = answer
        self.send(answer)

    def answer(self, kind: str, content: Any) -> Any:
        """What the browser asked for."""
        raise NotImplementedError


class Labeller(AnsweringWidget):
    """Shows drawn trajectories one by one and writes every change of a label to its person's file at once.

    Who labels is named by the cell or says so in the browser; ``named(name)`` opens that person's session and log.
    Several browsers may show one widget, each to another person: every question says whose it is.

    The browser asks for one trajectory at a time; its state holds no trajectory, no verdict of a judge, no reward and
    no agent's name.
    """

    _esm = script("widget.js")
    about = traitlets.Dict().tag(sync=True)

    def __init__(self, named: Callable[[str], tuple[Session, LabelLog]], rater: str = "") -> None:
        self._sittings = Sittings(named)
        if rater:
            self._sittings.open(rater)
        super().__init__(about={"rater": rater or None, "welcome": WELCOME})

    def __repr__(self) -> str:
        return f"Labeller({self.path or 'nobody yet'})"

    @property
    def path(self) -> Path | None:
        """The file of whoever labelled last; None until somebody has given a name."""
        return None if self._sittings.last is None else self._sittings.last.path

    @property
    def labels(self) -> pl.DataFrame:
        """The labels in that file, as a ratings table; those without a verdict are left out."""
        return read_labels(self.path) if self.path is not None and self.path.exists() else ratings_frame([])

    def answer(self, kind: str, content: Any) -> Any:
        """What the browser asked for (`Sittings.answer`)."""
        return self._sittings.answer(kind, content)
