"""What every study gives back: one frozen result with a table, an answer, sentences and figures, saved and loaded."""

from __future__ import annotations

import gzip
import html
import json
import typing
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Table
from axisjudge.studies._shared.scope import banner

if TYPE_CHECKING:
    from cattrs.preconf.json import JsonConverter
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Draws one figure of a result.
Plot = Callable[[], "Axes | Figure"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudyResult(Result):
    """One study's result: everything that was computed, and how it is shown.

    A study's own class has its parts as fields, and says which `table` is the main one (of the kind of table that the
    caller gave, pandas where none was given), what the `answer` is in a sentence or two, what else the `sentences`
    say, and which figures there are (`plots`, each a function that draws it). It is a dataclass with ``repr=False``, so
    that a result shows its answer and not its arrays.
    """

    study: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "study" not in cls.__dict__:  # the folder's name is that of the call and of the report
            cls.study = cls.__module__.split(".")[-2]

    @property
    def banner(self) -> str:
        """What must stand above all that is shown of ratings that no judge gave; empty otherwise."""
        return ""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The main table: a DataFrame of the caller's kind."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """What the study answers, with number, interval and n; or that it cannot be told, and why."""

    @property
    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """What else there is to say."""

    @abstractmethod
    def plots(self) -> Mapping[str, Plot]:
        """The figures by name, each as a function that draws it."""

    def figure(self, name: str) -> Figure:
        """One figure, drawn anew.

        Raises
        ------
        InputError
            The result has no such figure.
        """
        plots = self.plots()
        if name not in plots:
            raise InputError("name", f"figures are {', '.join(plots) or 'none'}", name)
        figure: Figure = plots[name]().get_figure(root=True)  # type: ignore[assignment]
        return figure

    def figures(self) -> dict[str, Figure]:
        """All figures, drawn anew, by name."""
        return {name: self.figure(name) for name in self.plots()}

    def save(self, path: str | Path) -> Path:
        """Write the whole result to one file (gzipped JSON); `load` gives it back."""
        from axisjudge import __version__

        fields = _converter().unstructure(self)
        text = json.dumps({"study": self.study, "axisjudge": __version__, "result": fields})
        path = Path(path)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))  # same result, same bytes
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that `save` wrote.

        Raises
        ------
        InputError
            No such file, no result, or the result of another study.
        """
        try:
            saved = json.loads(gzip.decompress(Path(path).read_bytes()))
            study, fields = saved["study"], saved["result"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(str(path), "is no saved result", str(error)) from None
        if study != cls.study:
            raise InputError(str(path), f"must be a result of the study {cls.study}", study)
        return _converter().structure(fields, cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({f'{self.banner} {self.answer}'.strip()})"

    def _repr_html_(self) -> str:
        listed = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences)
        more = f"<details><summary>In numbers</summary><ul>{listed}</ul></details>" if listed else ""
        table = self.table
        draw = getattr(table, "_repr_html_", None)
        above = (
            f'<p style="border-left: 4px solid #b3261e; padding-left: 8px">{html.escape(self.banner)}</p>'
            if self.banner
            else ""
        )
        return f"{above}<p><strong>{html.escape(self.answer)}</strong></p>{draw() if draw else ''}{more}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RatedResult(StudyResult):
    """The result of a study of ratings; `made_up` names the raters whose ratings no judge gave."""

    made_up: tuple[str, ...]

    @property
    def banner(self) -> str:
        """The warning where ratings are made up."""
        return banner(self.made_up)


class _Door(ModuleType):
    """A module that is called like its main function: ``axisjudge.studies.failures(ratings)``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._study(*args, **kwargs)


def open_door(study: Callable[..., Any]) -> None:
    """Let the folder of a study be called like the function `study`, with its signature and its documentation."""
    import inspect
    import sys

    module = sys.modules[study.__module__.rpartition(".")[0]]
    module.__class__ = _Door
    module.__dict__.update(_study=study, __signature__=inspect.signature(study), __doc__=study.__doc__)


def _of_array(kind: Any) -> bool:
    return (typing.get_origin(kind) or kind) is np.ndarray


def _from_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": array.ravel().tolist()}


def _to_number(value: Any, _: Any) -> float:
    """A number as it was saved: a score of 96 points is no 96.0."""
    return value if type(value) is int else float(value)


def _to_named(converter: JsonConverter, kind: Any) -> Callable[[Any, Any], Any]:
    """NamedTuples by the types of their fields, which cattrs does not resolve where annotations are postponed."""
    hooks = [(converter.get_structure_hook(each), each) for each in typing.get_type_hints(kind).values()]
    return lambda values, _: kind(*(hook(value, each) for value, (hook, each) in zip(values, hooks, strict=True)))


def _converter() -> JsonConverter:
    """Dataclasses to JSON's types and back, by the types of their fields; estimates keep their own class."""
    return _converter_of(tuple(sorted(_below(Estimate), key=lambda kind: kind.__qualname__)))


def _below(kind: type[Estimate]) -> set[type[Estimate]]:
    return {each for sub in kind.__subclasses__() for each in (sub, *_below(sub))}


@cache
def _converter_of(estimates: tuple[type[Estimate], ...]) -> JsonConverter:
    from io import StringIO

    from cattrs.cols import is_frozenset, is_namedtuple
    from cattrs.preconf.json import make_converter
    from cattrs.strategies import configure_tagged_union, include_subclasses

    converter = make_converter()
    converter.register_unstructure_hook_func(_of_array, _from_array)
    converter.register_structure_hook_func(
        _of_array, lambda saved, _: np.array(saved["values"], dtype=saved["dtype"]).reshape(saved["shape"])
    )
    converter.register_structure_hook(float, _to_number)
    converter.register_structure_hook_factory(is_namedtuple, partial(_to_named, converter))
    converter.register_unstructure_hook(np.generic, lambda number: number.item())
    converter.register_unstructure_hook_func(is_frozenset, sorted)  # sets have no order, files need one
    converter.register_unstructure_hook(pl.DataFrame, lambda frame: {"frame": frame.serialize(format="json")})
    converter.register_structure_hook(
        pl.DataFrame, lambda saved, _: pl.DataFrame.deserialize(StringIO(saved["frame"]), format="json")
    )
    include_subclasses(Estimate, converter, subclasses=estimates, union_strategy=partial(configure_tagged_union))
    return converter
