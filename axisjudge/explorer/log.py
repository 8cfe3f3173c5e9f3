"""The file behind the labeller: every change is a line at once, and the lines tell where one stopped."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from axisjudge.checks import InputError
from axisjudge.explorer.session import Session
from axisjudge.ratings import RatingsWriter
from axisjudge.verdict import Rating, identity


def now(ago: float | None = None) -> str:
    """The instant `ago` seconds before this one, as labels bear it; a browser's own clock may be wrong."""
    then = datetime.now(UTC) - timedelta(seconds=min(max(ago or 0.0, 0.0), 1e9))
    return then.isoformat(timespec="seconds").replace("+00:00", "Z")


class LabelLog:
    """One person's labels in a file that is only ever added to; of several lines of one label the last one counts.

    Every line is on the disk before `append` returns, so that no killed kernel and no machine that goes down loses
    what was said to be saved. The file is open only while a line is written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        #: Bytes that were there when this log last looked: a file that holds fewer has lost what was said to be saved.
        self._size = 0

    def append(self, label: Rating) -> Rating | None:
        """Write one label; behind one that comes after a later said one that is written once more, and returned.

        Raises
        ------
        OSError
            The file cannot be written now, or has lost what it held: the same label may be tried again.
        """
        try:
            with RatingsWriter(self.path, wait=2.0) as writer:
                if self.path.stat().st_size < self._size:
                    cure = "put it back; a server or kernel that is started anew goes on with what is there"
                    raise InputError(str(self.path), "has lost labels that were written to it", cure=cure)
                later = self._later(label) if (label.created_at or "") < now() else None
                writer.append([label, later] if later else [label])
                writer.sync()
                self._size = self.path.stat().st_size
        except InputError as error:
            raise OSError(str(error)) from error
        return later

    def _later(self, label: Rating) -> Rating | None:
        lines = map(Rating.model_validate_json, filter(None, reversed(self.path.read_bytes().split(b"\n")[:-1])))
        last = next((line for line in lines if identity(line) == identity(label)), None)
        # what was said in times to come was said by a wrong clock
        return last if last and (label.created_at or "") < (last.created_at or "") <= now() else None

    def lines(self) -> list[Rating]:
        """All lines in the order in which they were written; a torn last one is left out.

        Raises
        ------
        InputError
            A line is not a rating.
        """
        if not self.path.exists():
            return []
        *whole, last = (there := self.path.read_bytes()).split(b"\n")
        self._size = max(self._size, len(there) - len(last))
        if last:
            warnings.warn(f"{self.path}: the last line is torn and left out", stacklevel=2)
        return [self._rating(number, line) for number, line in enumerate(whole, start=1) if line.strip()]

    def _rating(self, number: int, line: bytes) -> Rating:
        try:
            return Rating.model_validate_json(line)
        except ValidationError as error:
            rule = error.errors()[0]["msg"]
            raise InputError(f"{self.path}:{number}", f"not a rating: {rule}") from error


class Sittings:
    """Everybody who labels here, each with a session and a log of their own; every question says whose it is.

    ``named(name)`` opens a person's session and log.
    """

    def __init__(self, named: Callable[[str], tuple[Session, LabelLog]]) -> None:
        self._named = named
        self._open: dict[str, tuple[Session, LabelLog]] = {}
        #: The log of whoever came last.
        self.last: LabelLog | None = None

    def open(self, rater: str) -> tuple[Session, LabelLog]:
        """The session and the log of a person."""
        if rater not in self._open:
            session, log = self._named(rater)
            if others := {line.rater for line in log.lines()} - {session.rater}:
                raise InputError(str(log.path), f"holds the labels of {min(others)}", cure="take another name")
            self._open[rater] = session, log
        self.last = self._open[rater][1]
        return self._open[rater]

    def answer(self, kind: str, content: Any) -> Any:
        """What a browser asked for.

        ``name`` says who labels; then, each with ``{rater, content}``: ``start`` asks where one stopped, ``item`` for a
        trajectory, ``save`` keeps a label of what was ``shown``, said ``ago`` seconds ago, and says what stands if that
        was said later.

        Raises
        ------
        InputError
            The name cannot be a file's name, or that person's labels were begun with another draw; what the label says
            does not exist, or it is of another content than the run has by now.
        OSError
            The label cannot be written now.
        """
        if kind == "name":
            session, log = self.open(content)
            key = sha256(f"{log.path}#{session.sampling.plan_flag}".encode()).hexdigest()[:16]
            return {**session.about(), "place": key}
        session, log = self.open(content["rater"])
        sent = content["content"]
        if kind == "start":
            return state_of(session, log.lines())
        if kind == "item":
            return {**session.run(sent), "shown": session.trajectories[sent].content_sha256}
        there = session.trajectories[sent["item"]].content_sha256
        if sent.get("shown", there) != there:
            raise InputError("run", "is another one by now than was labelled", cure="open the page again and label it")
        time = now(sent.get("ago"))
        later = log.append(session.rating(sent["item"], sent["axis"], sent["label"], sent["seconds"], time))
        return later and _label(later)


def state_of(session: Session, lines: Iterable[Rating]) -> dict[str, Any]:
    """Where a person stopped, as the labeller takes it: labels, what undo goes back through, seconds per item.

    A line that says again what stood before the change on top is an undo, and takes that change away. Labels by other
    instructions, of other items or of another person are passed over.
    """
    items = {
        identity(Rating(**session.base(item, axis), status="refused")): (item, axis)
        for item in range(len(session.trajectories))
        for axis in session.axes_of(item)
    }
    labels: dict[str, Any] = {}
    history: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    for line in lines:
        if (item_axis := items.get(identity(line))) is None:
            continue
        item, axis = item_axis
        before, after = labels.get(f"{item}/{axis}", NOTHING), _label(line)
        change = {"item": item, "axis": axis, "before": before}
        if history and history[-1] == {**change, "before": after}:
            history.pop()
        elif before != after:
            history.append(change)
        labels[f"{item}/{axis}"] = after
        seconds[str(item)] = max(seconds.get(str(item), 0.0), line.latency_s or 0.0)
    return {"labels": labels, "history": history, "seconds": seconds}


def by_other_instructions(session: Session, lines: Iterable[Rating]) -> int:
    """How many labels of these trajectories by this person were given by another rubric, or of other content."""
    runs = {run.id for run in session.trajectories}
    shown = {session.base(item, axis)["prompt_sha256"] for item in range(len(runs)) for axis in session.axes_of(item)}
    others = (line for line in lines if line.rater == session.rater and line.trajectory_id in runs)
    return len({identity(line) for line in others if line.prompt_sha256 not in shown})


#: A label nobody has touched.
NOTHING: dict[str, Any] = {"verdict": None, "confidence": None, "cited": [], "note": ""}


def _label(line: Rating) -> dict[str, Any]:
    return {
        "verdict": line.verdict,
        "confidence": line.confidence,
        "cited": line.cited_step_indices,
        "note": line.rationale or "",
    }
