"""Notebooks as programs: finding them, and checking what is passed to them."""

from __future__ import annotations

import ast
import itertools
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from axisjudge.checks import InputError, one_of


@dataclass(frozen=True)
class Parameter:
    """A parameter of a notebook: its default, and the types it may have as Python writes them (``str``, ``None``)."""

    name: str
    default: Any
    types: tuple[str, ...]


def report_notebooks(workbench: Path) -> dict[str, Path]:
    """The notebooks that make reports, ``NN_name.ipynb``, by name and in order."""
    return {path.stem: path for path in sorted((workbench / "notebooks").glob("[0-9][0-9]_*.ipynb"))}


def find_notebook(name: str, workbench: Path) -> Path:
    """The notebook called `name`: with its number, without it, or by the number alone.

    Raises
    ------
    InputError
        No notebook has this name; the nearest is suggested.
    """
    known = report_notebooks(workbench)
    if not known:
        raise InputError("notebooks", "there is no notebook named NN_name.ipynb", str(workbench / "notebooks"))
    plain = {stem[3:]: stem for stem in known}
    wanted = name.removesuffix(".ipynb")
    wanted = (plain | {stem[:2]: stem for stem in known}).get(wanted, wanted)
    return known[one_of("report", wanted, list(known) if wanted[:1].isdigit() else [*known, *plain])]


def read_source(path: Path) -> SimpleNamespace:
    """The cells of the notebook in a file: what decides whether its report is up to date, read in no time.

    Raises
    ------
    InputError
        The file is not a notebook of format 4.
    """
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
        if book["nbformat"] != 4:
            raise InputError(str(path), "must be a notebook of format 4", book["nbformat"])
        return SimpleNamespace(
            cells=[
                SimpleNamespace(
                    cell_type=cell["cell_type"], source="".join(cell["source"]), metadata=cell.get("metadata", {})
                )
                for cell in book["cells"]
            ]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(str(path), "not a notebook", cure=str(error).splitlines()[0]) from error


def notebook_text(notebook: Any) -> str:
    """The notebook as the text of its file."""
    import nbformat

    return str(nbformat.writes(notebook))  # type: ignore[no-untyped-call]


def parameters_of(notebook: Any, name: str) -> dict[str, Parameter]:
    """The parameters in the cell tagged ``parameters``: assignments of literals, nothing else.

    Raises
    ------
    InputError
        No such cell, more than one, or something else than a literal in it.
    """
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        cure = "tag the cell that holds the parameters with `parameters`"
        raise InputError(f"notebook {name}", "needs exactly one cell tagged parameters", len(cells), cure)
    return parameters_in(cells[0].source, name)


def parameters_in(source: str, name: str) -> dict[str, Parameter]:
    """The parameters in the source of a cell of notebook `name`: assignments of literals, nothing else."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"parameters of {name}", "must be Python", str(error)) from None
    parameters = [_parameter(statement, name) for statement in statements]
    return {parameter.name: parameter for parameter in parameters}


def checked_parameters(parameters: Mapping[str, Parameter], given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The values of all parameters of notebook `name`: those given, in their types, and defaults.

    Text for a parameter of another type (as the command line gives it) is read as a Python literal.

    Raises
    ------
    InputError
        An unknown parameter (the nearest is named), or a value of the wrong type.
    """
    for key in given:
        if not parameters:
            raise InputError(f"parameter {key}", f"{name} takes no parameters")
        one_of(f"parameter of {name}", key, list(parameters))
    values = {key: parameter.default for key, parameter in parameters.items()}
    return values | {key: _typed(value, parameters[key], name) for key, value in given.items()}


def _parameter(statement: ast.stmt, name: str) -> Parameter:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            annotation = None
        case ast.AnnAssign(target=ast.Name(id=target), annotation=annotation, value=ast.expr() as value):
            pass
        case _:
            raise _not_literal(statement, name)
    try:
        default = ast.literal_eval(value)
    except (TypeError, ValueError):
        raise _not_literal(statement, name) from None
    if annotation is None:
        return Parameter(target, default, () if default is None else (type(default).__name__,))
    types = (part.strip().partition("[")[0] for part in ast.unparse(annotation).split("|"))
    return Parameter(target, default, tuple(types))


def _not_literal(statement: ast.stmt, name: str) -> InputError:
    return InputError(f"parameters of {name}", "each line must be `name: type = literal`", ast.unparse(statement))


def _typed(value: Any, parameter: Parameter, name: str) -> Any:
    types = parameter.types
    if isinstance(value, str) and types and ("str" not in types or (value == "None" and "None" in types)):
        value = _literal(value)
    if type(value) is int and "float" in types and "int" not in types:
        value = float(value)
    kind = "None" if value is None else type(value).__name__
    if types and kind not in types:
        raise InputError(f"parameter {parameter.name} of {name}", f"must be {' or '.join(types)}", value)
    return value


def _literal(text: str) -> Any:
    """The Python literal that `text` is, with ``true`` and ``false`` as people type them; else the text."""
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError):
        return text


#: How papermill begins the cell that it puts after the one tagged ``parameters``.
_INJECTED = "# Parameters\n"


def check_injected() -> None:
    """Check the cell that papermill injected into the notebook that runs here, if there is one.

    Papermill sets any name that it is given; one that the notebook does not know would leave its default in force, and
    the page would answer another question than was asked.

    Raises
    ------
    InputError
        The notebook has no such parameter (the nearest is named), or the value has another type.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells = [] if shell is None else list(shell.user_ns.get("In", []))
    for own, injected in itertools.pairwise(cells):
        if injected.startswith(_INJECTED) and own.strip():
            try:
                known = parameters_in(own, "this notebook")
                given = {name: each.default for name, each in parameters_in(injected, "this notebook").items()}
            except InputError:  # another cell that begins like it
                continue
            checked_parameters(known, given, "this notebook")
