"""The labeller in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anywidget
import polars as pl
import traitlets

from axisjudge.checks import InputError
from axisjudge.explorer.front import script
from axisjudge.explorer.log import LabelLog, state_of
from axisjudge.explorer.session import Session
from axisjudge.labels.record import read_labels
from axisjudge.ratings import ratings_frame

#: What stands above the question who labels.
WELCOME = (
    "Your labels go to a file with your name, and a second sitting under the same name goes on where you stopped.",
)


class Labeller(anywidget.AnyWidget):
    """Shows drawn trajectories one by one and writes every change of a label to `log` at once.

    Without a session it asks first who labels, and takes session and log from ``named(name)``.

    The browser asks for one trajectory at a time; its state holds the instructions only, never a trajectory, a verdict
    of a judge, a reward or an agent's name.
    """

    _esm = script("widget.js")
    about = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        session: Session | None,
        log: LabelLog | None,
        named: Callable[[str], tuple[Session, LabelLog]] | None = None,
    ) -> None:
        self._session, self._log, self._named = session, log, named
        super().__init__(about=self._about())
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        if self._session is None or self._log is None:
            return "Labeller(nobody yet)"
        return f"Labeller({len(self._session.trajectories)} trajectories, {self._log.path})"

    @property
    def path(self) -> Path | None:
        """The file of labels; None until somebody has given a name."""
        return None if self._log is None else self._log.path

    @property
    def labels(self) -> pl.DataFrame:
        """The labels given so far, as a ratings table; those without a verdict are left out."""
        return read_labels(self.path) if self.path is not None and self.path.exists() else ratings_frame([])

    def _about(self) -> dict[str, Any]:
        if self._session is None or self._log is None:
            return {"place": "", "welcome": WELCOME}
        return {**self._session.about(), "place": f"{self._log.path}#{self._session.sampling.plan_flag}"}

    def _hear(self, _: object, message: Mapping[str, Any], __: object) -> None:
        try:
            self.send({"re": message["re"], "content": self.answer(message["kind"], message["content"])})
        except (InputError, OSError) as error:
            self.send({"re": message["re"], "error": str(error)})

    def answer(self, kind: str, content: Any) -> Any:
        """What the browser asked for.

        ``name`` says who labels, ``start`` asks where one stopped, ``item`` for a trajectory, ``save`` keeps a label.

        Raises
        ------
        InputError
            The name cannot be a file's name, or that person's labels were begun with another draw; what the label says
            does not exist.
        """
        if kind == "name" and self._named is not None:
            self._session, self._log = self._named(content)
            self.about = self._about()
            return self.about
        if self._session is None or self._log is None:
            raise InputError("labeller", "nobody has said who labels", cure="run the cell again")
        if kind == "start":
            return state_of(self._session, self._log.lines())
        if kind == "item":
            return self._session.run(content)
        created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        change = (content["item"], content["axis"], content["label"], content["seconds"])
        self._log.append(self._session.rating(*change, created))
        return None
