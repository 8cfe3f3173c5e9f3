"""What studies give back: parts (a table, its plot and its sentence) and their composition, saved and loaded."""

from __future__ import annotations

import gzip
import html
import json
import re
import typing
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial, wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.results import Result, reached
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Kind, Table, banner, frame_of, narwhals_of, native

if TYPE_CHECKING:
    from cattrs.preconf.json import JsonConverter
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = typing.TypeVar("Drawn", bound=Callable[..., Any])


def _names_as_they_are(plot: Drawn) -> Drawn:
    """Plots draw names of judges and agents letter by letter: dollars in them begin no formula."""

    @wraps(plot)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        import matplotlib as mpl

        with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # it is drawn as a box
            return plot(*args, **kwargs)

    return typing.cast("Drawn", drawn)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Kept(Result):
    """A frozen result that shows its answer, and is saved and loaded by the types of its fields."""

    study: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "study" not in cls.__dict__:  # the folder's name is that of the call and of the report
            parts = cls.__module__.split(".")
            cls.study = parts[parts.index("studies") + 1] if "studies" in parts else parts[-1]

    @property
    def banner(self) -> str:
        """What must stand above all that is shown of ratings that no judge gave; empty otherwise."""
        return ""

    @property
    @abstractmethod
    def answer(self) -> str:
        """What is answered, with number, interval and n; or that it cannot be told, and why."""

    def save(self, path: str | Path) -> Path:
        """Write the whole result to one file (gzipped JSON); `load` gives it back."""
        from axisjudge import __version__

        text = json.dumps(
            {"study": self._saved_as(), "axisjudge": __version__, "result": _converter().unstructure(self)}
        )
        path = Path(path)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))  # same result, same bytes
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that `save` wrote.

        Raises
        ------
        InputError
            No such file, no result, or the result of another study or part.
        """
        try:
            saved = json.loads(gzip.decompress(Path(path).read_bytes()))
            study, values = saved["study"], saved["result"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(str(path), "is no saved result", str(error)) from None
        if study != cls._saved_as():
            raise InputError(str(path), f"must be a result of {cls._saved_as()}", study)
        return _converter().structure(values, cls)

    @classmethod
    def _saved_as(cls) -> str:
        return cls.study

    def __repr__(self) -> str:
        return f"{type(self).__name__}({f'{self.banner} {self.answer}'.strip()})"

    def _head(self) -> str:
        answer, warning = f"<p><strong>{html.escape(self.answer)}</strong></p>", html.escape(self.banner)
        red = '<p style="border-left: 4px solid #b3261e; padding-left: 8px">'
        return f"{red}{warning}</p>{answer}" if warning else answer


@typing.dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Part(_Kept):
    """A table, its plot and its sentence: what one public function of a study gives back.

    Attributes
    ----------
    table : DataFrame of the caller's kind
        One row a thing that was counted or estimated; a researcher filters, joins and draws it.
    kind : str
        The package of the caller's tables.
    answer : str
        One or two sentences, computed.
    plot : method
        ``plot(ax=None) -> Axes``, by default a mark with its interval for each row of the table.
    made_up : tuple of str
        The raters behind it whose ratings no judge gave; they are named wherever it is shown.

    Notes
    -----
    A class says how a page shows it, ``class Rates(Part, caption="Failure rates")``, and is a frozen dataclass by that:
    `name` (under which its values are kept, the class's own in small letters if it says none), `caption`, `formats` of
    its table's columns, whether it is `of_ratings` (published figures are not). `behind` says which items all rows are
    of beyond what their columns say. Of a table that is a frame, or one row an object, `_rows` is where these stand,
    and where in each its values do; another class has a `table` of its own.
    """

    name: ClassVar[str] = ""
    caption: ClassVar[str] = ""
    formats: ClassVar[Mapping[str, str]] = {}
    of_ratings: ClassVar[bool] = True
    _rows: ClassVar[tuple[str, Mapping[str, str]]] = ("", {})
    _behind: ClassVar[Mapping[str, str]] = {}
    kind: Kind = field(default="polars", metadata={"plain": False})
    made_up: tuple[str, ...] = field(default=(), metadata={"plain": False})

    def __init_subclass__(
        cls,
        *,
        name: str = "",
        caption: str = "",
        formats: Mapping[str, str] | None = None,
        of_ratings: bool = True,
        behind: Mapping[str, str] | None = None,
    ) -> None:
        super().__init_subclass__()
        cls._behind = behind or cls._behind
        cls.name = name or cls.__dict__.get("name") or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        for plot in [each for each in cls.__dict__ if each.startswith("plot")]:
            setattr(cls, plot, _names_as_they_are(cls.__dict__[plot]))
        if name or caption:
            cls.caption, cls.formats, cls.of_ratings = caption or cls.caption, formats or cls.formats, of_ratings
        dataclass(frozen=True, eq=False, repr=False)(cls)

    @property
    def table(self) -> Table:
        """A DataFrame of the caller's kind."""
        rows = reached(self, self._rows[0])
        return native(rows, self.kind) if isinstance(rows, pl.DataFrame) else frame_of(rows, self._rows[1], self.kind)

    @property
    def behind(self) -> Mapping[str, str] | typing.Sequence[Mapping[str, str]] | None:
        """Filters of the explorer for all rows of the table, or for each; None where none select what rows count."""
        return self._behind or ()

    @property
    def declared(self) -> tuple[str, str | None]:
        """The statistic that it shows and nothing else, and of which axis, as an analysis plan declares them."""
        return "", None

    @property
    def banner(self) -> str:
        """The warning where ratings are made up."""
        return banner(self.made_up)

    @_names_as_they_are
    def plot(self, ax: Axes | None = None) -> Axes:
        """A mark with its interval for each row of the table; another figure where the part has one."""
        from axisjudge.figures.theme import plot_rows

        table = narwhals_of(self.table, "table").to_polars()
        return plot_rows(table, self.caption or self.name.replace("_", " ").capitalize(), ax=ax)

    @classmethod
    def _saved_as(cls) -> str:
        return f"{cls.study}.{cls.name}"

    def _repr_html_(self) -> str:
        from axisjudge.figures.markup import inline, untypeset

        table = getattr(self.table, "_repr_html_", str)()
        folded = f"<details><summary>Table: {len(self.table):,} rows</summary>{table}</details>"
        whole = f"{self._head()}{inline(self.plot())}{folded}"
        return untypeset(f'<div style="max-width: 100%; overflow-x: auto">{whole}</div>')


@typing.dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Study(_Kept):
    """The composition of a study's parts, held by name as its fields, for commands and scripts.

    A class below it is a frozen dataclass by that.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, eq=False, repr=False, kw_only=True)(cls)

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by the names of their fields, in order; of several in one field ``field key``."""
        named: dict[str, Part] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Part):
                named[each.name] = value
            elif isinstance(value, Mapping | tuple):
                value = value if isinstance(value, Mapping) else dict(enumerate(value, start=1))
                named |= {f"{each.name} {key}": part for key, part in value.items() if isinstance(part, Part)}
        return named

    @property
    def answer(self) -> str:
        """What the first part answers, unless a study has more to say."""
        return next(iter(self.parts.values())).answer

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each part answers, those left out that have nothing to say."""
        return tuple(part.answer for part in self.parts.values() if part.answer)

    def figures(self) -> dict[str, Figure]:
        """The figure of each part, drawn anew."""
        return {name: part.plot().get_figure(root=True) for name, part in self.parts.items()}  # type: ignore[misc]

    @property
    def banner(self) -> str:
        """The warning where ratings behind a part are made up."""
        return banner(sorted({rater for part in self.parts.values() for rater in part.made_up}))

    def _repr_html_(self) -> str:
        from axisjudge.figures.markup import untypeset

        listed = "".join(
            f"<li><code>.{html.escape(name)}</code> {html.escape(part.answer)}</li>"
            for name, part in self.parts.items()
        )
        return untypeset(f"{self._head()}<details><summary>Its parts</summary><ul>{listed}</ul></details>")


class _Door(ModuleType):
    """A module that is called like its main function: ``axisjudge.studies.failures(ratings)``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._study(*args, **kwargs)


def open_door(study: Callable[..., Any]) -> None:
    """Let the folder of a study be called like the function `study`, with its signature and its documentation."""
    import inspect
    import sys

    home = sys.modules[study.__module__]
    module = home if hasattr(home, "__path__") else sys.modules[study.__module__.rpartition(".")[0]]
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

    def frame(saved: Mapping[str, str], _: object) -> pl.DataFrame:
        return pl.DataFrame.deserialize(StringIO(saved["frame"]), format="json")

    def bare(table: pl.DataFrame) -> dict[str, str]:
        """The table without masks of columns that lack nothing: what is read back has none, and bytes stay the same."""
        return {"frame": table.select(pl.all().slice(0)).serialize(format="json")}

    converter.register_unstructure_hook(pl.DataFrame, bare)
    converter.register_structure_hook(pl.DataFrame, frame)
    converter.register_unstructure_hook(pl.Series, lambda row: bare(row.to_frame()))
    converter.register_structure_hook(pl.Series, lambda saved, of: frame(saved, of).to_series())
    include_subclasses(Estimate, converter, subclasses=estimates, union_strategy=partial(configure_tagged_union))
    return converter
