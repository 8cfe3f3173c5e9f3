"""Argument and input checks with one wording: what, the rule, the value found, the cure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence, Sized
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_T = TypeVar("_T")
#: How a rule begins whose subject is the place.
_VERBS = ("must ", "need ", "needs ", "holds ", "gave ")


class OneLine(Exception):
    """An exception that a notebook shows as the line of the cell and its own message, without frames of libraries."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in the place of the traceback."""
        from pathlib import Path
        from traceback import extract_tb

        frames = extract_tb(getattr(self, "__traceback__", None))
        cells = [frame for frame in frames if frame.line and not Path(frame.filename).exists()]  # a cell is no file
        return [*(f"line {cell.lineno}: {cell.line}" for cell in cells), f"{type(self).__name__}: {self}"]


def printable(text: str, kept: str = "") -> str:
    """The text with a question mark for each letter that a terminal would obey; those `kept` stay."""
    return "".join(letter if letter.isprintable() or letter in kept else "?" for letter in text)


class WayOut(NamedTuple):
    """Options that mend a refused command; `when` they are right, in words; `instead` of which command, if another.

    They are `clear` where the cells and names decide, so that a command may take them unasked and say so.
    """

    options: tuple[str, ...]
    when: str = ""
    instead: tuple[str, ...] = ()
    clear: bool = False


class InputError(OneLine, ValueError):
    """Something a user gave cannot be used; the message is one line that says what, where and how to mend it.

    Parameters
    ----------
    where : str
        The argument, option or file (with its position) at fault.
    rule : str
        What must hold there.
    found : object, optional
        The value found; shortened to 80 characters in the message.
    cure : str, optional
        What to do about it.
    ways : sequence of WayOut
        Options that would each do it; they stand behind the cure, as whole commands where the command is known.
    """

    def __init__(
        self, where: str, rule: str, found: object = None, cure: str = "", ways: Sequence[WayOut] = ()
    ) -> None:
        self.where, self.rule, self.found, self.cure, self.ways = where, rule, found, cure, tuple(ways)
        super().__init__(self.message())

    def message(self, command: Sequence[str] = ()) -> str:
        """The message; its ways out as whole commands where `command` is the one that was refused."""
        parts = [f"{self.where}: {self.rule}"]
        if self.found is not None:
            parts.append(f"found {_short(self.found)}")
        ways = [
            f"{way.when}{': ' * bool(way.when)}{shlex.join(_with_more(way.instead or command, way.options))}"
            for way in self.ways
        ]
        parts += [": ".join(filter(None, (self.cure, "; ".join(ways))))] if self.cure or ways else []
        return " ".join("; ".join(parts).splitlines())  # a file's name, say, may hold a line end

    def inside(self, outer: str) -> InputError:
        """The same fault told from further out: `outer`, then where it stands there."""
        where = ", ".join(filter(None, (outer, self.where)))
        return InputError(where, self.rule, self.found, self.cure, self.ways)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, object, str, tuple[WayOut, ...]]]:
        """What another process makes the same error of."""
        return type(self), (self.where, self.rule, self.found, self.cure, self.ways)


#: What a reader's code raises where a file has another shape than its format.
_TRIPPED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@contextmanager
def shaped(where: str) -> Iterator[None]:
    """Tell what the block trips over, in a file of another shape than its format, as an InputError; such stay."""
    try:
        yield
    except InputError:
        raise
    except _TRIPPED as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(where, "has another shape than its format", reason, "export the file again") from error


def _with_more(command: Sequence[str], options: Sequence[str]) -> list[str]:
    """A command with further options, each with its value once."""
    whole = list(command)
    starts = [n for n, word in enumerate(options) if n == 0 or word.startswith("--")]
    for first, end in pairwise([*starts, len(options)]):
        more = [*options[first:end]]
        if more not in ([*whole[n : n + len(more)]] for n in range(len(whole))):
            whole += more
    return whole


#: A refusal proposes so many commands, of so many that are tried.
_MOST_WAYS, _MOST_TRIED = 4, 12


def tried(
    error: InputError,
    attempt: Callable[[tuple[str, ...]], object],
    steps: int = 2,
    done: list[tuple[str, ...]] | None = None,
) -> InputError:
    """The same refusal with those ways out that lead to an answer, each carried on to its end.

    Parameters
    ----------
    error : InputError
    attempt : callable
        Does the refused thing with further options, and raises what is refused then.
    steps : int
        How many refusals on the way are followed.
    done : list, optional
        What was tried before; after `_MOST_TRIED` no more is.
    """
    ways: list[WayOut] = []
    dead, done = "", [] if done is None else done
    for left, way in zip(range(len(error.ways), 0, -1), error.ways, strict=True):
        if len(ways) >= _MOST_WAYS or len(done) >= _MOST_TRIED:
            break
        most = max(_MOST_WAYS - len(ways) - left + 1, 1)  # each way that is left may have one
        done.append(way.options)
        try:
            attempt(way.options)
        except InputError as further:
            if steps and further.ways:
                on = tried(further, lambda more, way=way: attempt((*way.options, *more)), steps - 1, done).ways  # type: ignore[misc]
                whens = [", ".join(filter(None, (way.when, each.when))) for each in on]
                ways += [
                    WayOut((*way.options, *each.options), when, way.instead, way.clear and each.clear)
                    for each, when in zip(on, whens, strict=True)
                ][:most]
            dead = dead or f"{shlex.join(way.options)} is not enough: {further.rule}"
        else:
            ways.append(way)
    cure = error.cure if ways or not dead else f"{error.cure} ({dead})".strip()
    return type(error)(error.where, error.rule, error.found, cure, ways[:_MOST_WAYS])


class DuplicateKey(json.JSONDecodeError):
    """A key that an object of a JSON text has twice, which is its `doc`; readers would silently take the last."""


def once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object (as ``object_pairs_hook`` of `json.loads`); a key given twice is a `DuplicateKey`."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateKey(f"key {twice!a:.80} is given twice", twice, 0)
    return fields


class TooLittle(InputError):
    """What was given is well formed and holds too little for an answer: no label, one judge, every verdict lost.

    A command ends with the line; a report becomes a page that says it (`axisjudge.report.kernel`).
    """

    @property
    def sentences(self) -> str:
        """The message as prose: 'Labels must ...', 'Ratings: no item ...' where the rule has a subject of its own."""
        number = f"; found {self.found}" if isinstance(self.found, int) else ""
        where = self.where if "." in self.where else f"{self.where.lstrip('-').capitalize()}"  # a file's name stays
        text = f"{where}{' ' if self.rule.startswith(_VERBS) else ': '}{self.rule}{number}."
        return f"{text} {self.cure[0].upper()}{self.cure[1:]}." if self.cure else text


def enough_for(compute: Callable[[], _T]) -> tuple[_T | None, str]:
    """What `compute` gives, or None and the sentences that say why what was given is too little for it."""
    try:
        return compute(), ""
    except TooLittle as error:
        return None, error.sentences


def _short(value: Any, limit: int = 80) -> str:
    is_number = getattr(value, "shape", None) == () and hasattr(value, "item")  # numpy's: 5.0, not np.float64(5.0)
    text = " ".join(repr(value.item() if is_number else value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(where: str, given: object, *of_one: type) -> None:
    """Refuse one value where a list is asked for: a text is no list of its letters."""
    if isinstance(given, (str, *of_one)):
        raise InputError(where, "must be a list", given, f"write {where}=[...]")


def one_of(where: str, value: str, allowed: Collection[str]) -> str:
    """Return `value` if it is one of `allowed`, else raise InputError with the nearest spelling as the cure."""
    if value in allowed:
        return value
    from difflib import get_close_matches

    near = get_close_matches(value, list(allowed), n=1)
    cure = f"did you mean {near[0]!r}?" if near else ""
    raise InputError(where, f"must be one of {', '.join(allowed)}", value, cure)


def in_unit_interval(where: str, value: float) -> float:
    """Return `value` if 0 <= value <= 1, else raise InputError."""
    if not 0.0 <= value <= 1.0:  # NaN fails too
        raise InputError(where, "must lie in [0, 1]", value)
    return value


def all_in_unit_interval(where: str, values: NDArray[np.float64]) -> None:
    """Raise InputError with the first of the `values` that lies outside [0, 1]; NaN is none."""
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise InputError(where, "must lie in [0, 1]", values[outside][0])


def one_each(where: str, values: Sized, n: int, of: str = "items") -> None:
    """Raise InputError unless `values` is one row with an entry for each of `n` items."""
    shape = values.shape if hasattr(values, "shape") else (len(values),)
    if shape != (n,):
        raise InputError(where, f"needs one entry for each of the {n} {of}", *(shape if len(shape) == 1 else [shape]))


def positive(where: str, value: float) -> float:
    """Return `value` if it is greater than zero, else raise InputError."""
    if not value > 0:
        raise InputError(where, "must be greater than 0", value)
    return value


def whole(where: str, value: Any) -> int:
    """Return `value` if it is a whole number greater than zero, else raise InputError."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InputError(where, "must be a whole number", value)
    positive(where, number := value.__index__())
    return number


def in_open_unit_interval(where: str, value: float) -> float:
    """Return `value` if 0 < value < 1, else raise InputError."""
    if not 0.0 < value < 1.0:
        raise InputError(where, "must lie between 0 and 1, neither included", value)
    return value
