"""One conversation from the model calls and tool runs of a trace, each step where it first occurs.

A model call repeats what was said before it, and a tool's run tells a call that the model has told too. A model's
record may end after its tool has run (a stream that is closed late, a record around the whole loop), and clocks differ:
whoever tells a piece first makes it a step, and what tells it again adds nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from axisjudge.readers.events import Steps, iso, seconds
from axisjudge.readers.traces.pieces import Piece
from axisjudge.trajectory import Step


@dataclass(frozen=True)
class ModelCall:
    """A call of a model: times in nanoseconds since 1970, what it was given, what it gave back, and what went wrong."""

    id: str
    start: int
    end: int
    before: Sequence[Piece]
    after: Sequence[Piece]
    failed: bool = False
    problem: str = ""


@dataclass(frozen=True)
class ToolRun:
    """A run of a tool: the call it stands for, whose text is what came back; `end` is None where nothing came."""

    start: int
    end: int | None
    call: Piece
    failed: bool = False
    problem: str = ""


@dataclass
class _Said:
    """A piece that is a step, and by whom: a model's ``reply``, a ``history``, or a tool's ``run``."""

    piece: Piece
    by: str


@dataclass
class _Conversation:
    steps: Steps = field(default_factory=Steps)
    said: list[_Said] = field(default_factory=list)
    waiting: list[Piece] = field(default_factory=list)
    answered: list[Piece] = field(default_factory=list)
    heard: dict[str, str] = field(default_factory=dict)

    def history(self, model: ModelCall) -> int:
        """What a model call was given, as far as it is new; gives the number of pieces said by then."""
        left = list(self.said)
        for piece in model.before:
            known = next((said for said in left if said.piece.is_same(piece)), None)
            if known is None and piece.kind == "result" and not piece.id:  # texts of one result differ between records
                runs = (s for s in left if s.by == "run" and s.piece.kind == "result")
                known = next((s for s in runs if piece.name in (None, s.piece.name)), None)
            if known is None:
                self._say(piece, iso(model.start), f"before {model.id}", "history")
            else:
                left.remove(known)
        return len(self.said)

    def reply(self, model: ModelCall, pieces: Sequence[Piece], moment: int, since: int) -> None:
        """What a model call gave back, but for what others have told since it was made."""
        ahead = [said for said in self.said[since:] if said.by != "reply"]
        for piece in pieces:
            known = next((said for said in ahead if said.piece.is_same(piece)), None)
            if known is None:
                self._say(piece, iso(moment), model.id, "reply")
            else:
                ahead.remove(known)

    def called(self, run: ToolRun) -> None:
        """A tool begins to run; its call is a step unless a model's record has told it."""
        if _call_of(run, self.waiting) is None and _call_of(run, self.answered) is None:
            self._say(run.call, iso(run.start), None, "run")

    def result(self, run: ToolRun, end: int) -> None:
        """A tool's result arrives, unless a model has already heard it."""
        asked = _call_of(run, self.waiting)
        if asked is None and (stated := _call_of(run, self.answered)) is not None:
            self.answered.remove(stated)
            return
        call = asked or run.call
        self.waiting = [other for other in self.waiting if other is not call]
        content = self.heard.get(call.id) if call.id else None
        text = (run.call.text if content is None else content) or run.problem
        self.said.append(_Said(Piece("result", "tool", text, call.id, call.name), "run"))
        took = seconds(end - run.start, 1e9)
        self.steps.result(call.id, text, iso(end), error=run.failed, name=call.name, duration_s=took)

    def _say(self, piece: Piece, timestamp: str | None, message: str | None, by: str) -> None:
        self.said.append(_Said(piece, by))
        if piece.kind == "call":
            self.waiting.append(piece)
            self.steps.call(piece.call(), timestamp, message=message)
        elif piece.kind == "result":
            call = next((other for other in self.waiting if not piece.id or other.id == piece.id), None)
            if call is not None:
                self.waiting.remove(call)
                self.answered.append(call)
            name = piece.name or (call.name if call else None)
            self.steps.result(piece.id, piece.text, timestamp, error=piece.error, name=name)
        elif piece.kind == "thinking":
            self.steps.thinking(piece.text, timestamp)
        else:
            self.steps.text(piece.role, piece.text, timestamp, message=message and f"{message} {piece.role}")


def steps_of(models: Sequence[ModelCall], runs: Sequence[ToolRun]) -> tuple[Step, ...]:
    """The steps of some model calls and tool runs, in the order of time."""
    talk = _Conversation()
    heard = (piece for model in models for piece in model.before if piece.kind == "result")
    talk.heard = {piece.id: piece.text for piece in heard if piece.id}
    moments = [(run.start, 1, number, 0) for number, run in enumerate(runs)]
    moments += [(run.end, 2, number, 0) for number, run in enumerate(runs) if run.end is not None]
    cuts = _told_by(models, runs)
    for number, model in enumerate(models):
        begun, stated = cuts.get(number, (model.end, len(model.after)))
        begun, stated = (begun, stated) if begun < model.end else (model.end, len(model.after))
        moments.append((begun, -1, number, 0) if begun <= model.start else (model.start, 3, number, 0))
        moments.append((begun, 0, number, stated))
        moments += [(model.end, 0, number, -stated)] if stated < len(model.after) or begun < model.end else []
    since: dict[int, int] = {}
    for moment, what, number, stated in sorted(moments):
        if what in (-1, 3):
            since[number] = talk.history(models[number])
        elif what == 1:
            talk.called(runs[number])
        elif what == 2:
            talk.result(runs[number], moment)
        else:
            model = models[number]
            talk.reply(model, model.after[:stated] if stated > 0 else model.after[-stated:], moment, since[number])
            if model.failed and (stated <= 0 or stated == len(model.after)) and moment == model.end:
                talk.steps.error(model.problem, iso(model.end))
    return talk.steps.all()


def continues(earlier: Sequence[ModelCall], later: Sequence[ModelCall]) -> bool:
    """Whether the later calls go on with the talk of the earlier ones: the first was given what a model had said."""
    said = {piece.content for model in earlier for piece in model.after}
    first = min(later, key=lambda model: model.start, default=None)
    return first is not None and any(piece.content in said for piece in first.before)


def _told_by(models: Sequence[ModelCall], runs: Iterable[ToolRun]) -> dict[int, tuple[int, int]]:
    """For each model whose calls were run: when the first of them began, and how many pieces its reply had by then.

    A call is made before its tool runs, whenever the record of the model ends.
    """
    order = sorted(range(len(models)), key=lambda number: models[number].start)
    free = [(m, p) for m in order for p, piece in enumerate(models[m].after) if piece.kind == "call"]
    cuts: dict[int, tuple[int, int]] = {}
    for run in sorted(runs, key=lambda run: run.start):
        begun = [(m, p) for m, p in free if run.call.id or models[m].start <= run.start]
        call = _call_of(run, [models[m].after[p] for m, p in begun])
        found = next(((m, p) for m, p in begun if models[m].after[p] is call), None)
        if found is not None:
            free.remove(found)
            first, stated = cuts.get(found[0], (run.start, 0))
            cuts[found[0]] = (min(first, run.start), max(stated, found[1] + 1))
    return cuts


def _call_of(run: ToolRun, calls: Iterable[Piece]) -> Piece | None:
    """The call that a tool's run belongs to: by its id, where one has none by name and arguments, else by name."""
    open_calls = list(calls)
    if run.call.id and (by_id := next((call for call in open_calls if call.id == run.call.id), None)):
        return by_id
    alike = [call for call in open_calls if call.name == run.call.name and not (call.id and run.call.id)]
    return next((call for call in alike if call.content == run.call.content), alike[0] if alike else None)
