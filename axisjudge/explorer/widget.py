"""The labeller in a notebook, and how it is opened."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import polars as pl
import traitlets

from axisjudge.checks import InputError
from axisjudge.explorer.front import script
from axisjudge.explorer.log import LabelLog, Sittings, by_other_instructions
from axisjudge.explorer.session import Session
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import Sampling, draw_at_random, sampling_path, write_sampling
from axisjudge.ratings import ratings_frame
from axisjudge.trajectory import Trajectory, as_runs
from axisjudge.workbench import own

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


# Opening the labeller: the draw is made once, written down, and taken up again.


def open_labeller(
    trajectories: Sequence[Trajectory],
    *,
    rater: str = "",
    n: int | None = None,
    seed: int = 0,
    sampling: Sampling | None = None,
    folder: str | Path | None = None,
) -> Labeller:
    """The labeller as a widget; run again, it goes on where the person stopped.

    Parameters
    ----------
    trajectories : sequence of Trajectory
    rater : str
        The person's name; labels go to ``NAME.jsonl`` in `folder`, the plan to ``NAME.sampling.json``. The labeller
        asks for it if it is empty.
    n, seed : int
        How many trajectories and the seed, for a draw at random of one agent's trajectory per task.
    sampling : Sampling, optional
        Another draw: by a judge's verdict (`draw_by`), the items of another person (`draw_again`), ...
    folder : path, optional
        By default data/labels of the workbench.

    Raises
    ------
    InputError
        The person has begun with another draw, or the name cannot be a file's name.
    """
    trajectories = as_runs(trajectories)
    drawn = sampling or draw_at_random(trajectories, n, seed=seed)

    def named(name: str) -> tuple[Session, LabelLog]:
        path = labels_path(name.strip(), folder)
        write_sampling(sampling_path(path), drawn)
        session, log = Session.of(trajectories, drawn, name.strip()), LabelLog(path)
        if older := by_other_instructions(session, log.lines()):
            warnings.warn(
                f"{path}: {older} labels were given by another rubric, or of other content; "
                "they stay and are asked again",
                stacklevel=3,
            )
        return session, log

    return Labeller(named, rater)


#: Bytes of a name: 80 letters of two bytes each, and room for what is put behind them.
_LONGEST = 160


def labels_path(rater: str, folder: str | Path | None = None) -> Path:
    """Where a person's labels are kept; no file of another person, whatever a system makes of large and small letters.

    Raises
    ------
    InputError
        The name cannot be a file's name, or differs from that of another person in large and small letters alone.
    """
    letters = re.fullmatch(r"(?!.*\.(decisions|sampling)$)\w[\w.@-]*( [\w.@-]+)*", rater)
    if not letters or len(rater.encode()) > _LONGEST:
        rule = "must begin with a letter and hold letters, digits, single spaces, or . @ - _"
        raise InputError("rater", f"{rule} ({_LONGEST} bytes, no .decisions or .sampling at its end)", rater)
    path = Path(folder or own() / "data" / "labels") / f"{rater.replace(' ', '-')}.jsonl"
    kept = {each.name.split(".sampling.json")[0] for each in path.parent.glob("*.sampling.json")}
    if other := next((name for name in kept - {path.stem} if name.casefold() == path.stem.casefold()), None):
        raise InputError("rater", f"is nearly that of another person ({other})", rater, "take another name")
    return path


def decisions_path(rater: str, folder: str | Path | None = None) -> Path:
    """Where a person's decisions are kept: beside the blind labels, in a file of their own."""
    return labels_path(rater, folder).with_suffix(".decisions.jsonl")
