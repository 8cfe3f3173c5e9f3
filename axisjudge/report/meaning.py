"""What this package means to a notebook: the code that it can reach, without comments, docstrings and layout.

A report is made anew where its numbers may have changed: not for a comment, nor for a study that it does not call.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent
#: What makes a page of a notebook, whatever this imports.
_MAKERS = ("page", "room", "run", "render", "provenance", "kernel", "unanswered")
_OTHERS = (".j2", ".css", ".js", ".html", ".json", ".md", ".bib", ".toml")
_NAME = re.compile(r"axisjudge(?:\.\w+)+")


class Module(NamedTuple):
    """The hash of a module's meaning, the modules that it names, and by name those that it looks up when asked."""

    sha256: str
    names: tuple[str, ...]
    lazy: Mapping[str, str]


def package_sha256(code: str) -> str:
    """Hash of the modules that a notebook's code can reach, and of every file of the package that is no Python."""
    from axisjudge.report.digest import file_sha256, files_below, sum_up

    modules = _modules(_stamp())
    reached = _reached(code, modules)
    others = (path for path in files_below(PACKAGE) if path.suffix in _OTHERS or "shipped" in path.parts)
    files = ((path.relative_to(PACKAGE).as_posix(), file_sha256(path)) for path in others)
    return sum_up([*((name, modules[name].sha256) for name in sorted(reached)), *files])


def _reached(code: str, modules: Mapping[str, Module]) -> set[str]:
    """Modules that code can reach by what it and they import, or look up by a name that stands in the code."""
    words = set(re.findall(r"\w+", code))
    lazy = {f"{name}.{word}": home for name, each in modules.items() for word, home in each.lazy.items()}
    asked = [*_NAME.findall(code), *(f"axisjudge.report.{name}" for name in _MAKERS)]
    asked += [home for name, home in lazy.items() if name.rpartition(".")[2] in words and _is_front(name)]
    reached, seen = set[str](), set[str]()
    while asked:
        name = asked.pop()
        if name in seen:
            continue
        seen.add(name)
        asked += [lazy[name]] if name in lazy else []
        while name and name not in modules:  # a name in a module
            name = name.rpartition(".")[0]
        for each in _with_parents(name):
            if each not in reached:
                reached.add(each)
                asked += modules[each].names
    return reached


def _is_front(name: str) -> bool:
    """Whether a name is looked up in a package that notebooks see: the package itself, or its studies."""
    return name.rpartition(".")[0] in ("axisjudge", "axisjudge.studies")


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1)) if name else iter(())


def _stamp() -> tuple[tuple[str, int, int], ...]:
    """Every Python file with its size and time, so that a changed one is read anew."""
    return tuple((str(path), (it := path.stat()).st_size, it.st_mtime_ns) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def _modules(stamp: tuple[tuple[str, int, int], ...]) -> dict[str, Module]:
    """All modules by name; what was read of a file is kept beside its bytecode, as reading all takes seconds."""
    kept_at = PACKAGE / "__pycache__" / "meaning.json"
    try:
        kept = json.loads(kept_at.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    read = {path: kept.get(path) or [] for path, *_ in stamp}
    for path, *state in stamp:
        if read[path][:2] != state:
            read[path] = [*state, *_module(Path(path))]
    if read != kept:
        try:
            kept_at.parent.mkdir(exist_ok=True)
            kept_at.write_text(json.dumps(read), encoding="utf-8")
        except OSError:  # a package that nobody may write into is read each time
            pass
    return {_dotted(Path(path)): Module(*of_file[2:]) for path, of_file in read.items()}


def _dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        _strip(node)
    found = set(_imported(tree))
    looks_up = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
    lazy = dict(_looked_up(tree, _dotted(path))) if looks_up else {}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found |= {match for text in texts for match in _NAME.findall(text)} - set(lazy.values())
    return Module(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(sorted(found)), lazy)


def _strip(node: ast.AST) -> None:
    """Take the docstring out of a module, class or function, and what only type checkers read."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        node.body = node.body[1:]
    node.body = [each for each in node.body if not _for_types(each)]


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("axisjudge"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("axisjudge"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _looked_up(tree: ast.Module, name: str) -> Iterable[tuple[str, str]]:
    """What a module looks up in its ``__getattr__``: names in a dict of modules, or in ``__all__`` as its own parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if _is_text(key) and _is_text(value):
                    home = str(value.value)  # type: ignore[attr-defined]
                    yield str(key.value), home if home.startswith("axisjudge") else f"{name}.{home}"  # type: ignore[union-attr]
    listed: Any = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.List))
    for node in listed:
        yield from ((each.value, f"{name}.{each.value}") for each in node.value.elts if _is_text(each))


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
