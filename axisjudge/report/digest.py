"""What a report was made from: hashes of files, code and notebook, versions, and the one digest that sums them up."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from glob import has_magic
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent
#: What makes a page of a notebook, whatever this imports.
_MAKERS = ("page", "room", "run", "render", "kernel")
_OTHERS = (".j2", ".css", ".js", ".html", ".json", ".md", ".bib", ".toml")
_NAME = re.compile(r"axisjudge(?:\.\w+)+")


def file_sha256(path: Path) -> str:
    """Hash of a file, or of all files of a folder with their names."""
    if path.is_dir():
        return sum_up((file.relative_to(path).as_posix(), file_sha256(file)) for file in files_below(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def notebook_sha256(notebook: Any) -> str:
    """Hash of a notebook's cells: kind, source and tags, whatever its outputs and identifiers."""
    return sum_up((f"{cell.cell_type} {cell.metadata.get('tags', [])}", cell.source) for cell in notebook.cells)


def input_digest(workbench: Path, notebook: Any, parameters: Mapping[str, Any]) -> str:
    """One hash of what is known of a report before it is made.

    The notebook, the parameters, what this package means to it (`package_sha256`), the versions of the
    packages it stands on, and every file or folder that a parameter names. What a run reads beside is known afterwards;
    see `axisjudge.report.made`.
    """
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return sum_up(
        (
            ("notebook", notebook_sha256(notebook)),
            ("parameters", repr(sorted(parameters.items()))),
            ("package", package_sha256(code)),
            ("versions", repr(versions())),
            *named_inputs(parameters, workbench).items(),
        )
    )


class Module(NamedTuple):
    """The hash of a module's meaning, the modules that it names, and by name those that it looks up when asked."""

    sha256: str
    names: tuple[str, ...]
    lazy: Mapping[str, str]


def package_sha256(code: str) -> str:
    """Hash of the modules that a notebook's code can reach, and of every file of the package that is no Python."""
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
    front = ("axisjudge", "axisjudge.studies")  # packages that notebooks see
    asked += [lazy[f"{room}.{word}"] for room in front for word in words if f"{room}.{word}" in lazy]
    reached, seen = set[str](), set[str]()
    while asked:
        name = asked.pop()
        if name in seen:
            continue
        seen.add(name)
        asked += [lazy[name]] if name in lazy else []
        while name and name not in modules:  # a name in a module
            name = name.rpartition(".")[0]
        while name and name not in reached:  # and the packages around it
            reached.add(name)
            asked += modules[name].names
            name = name.rpartition(".")[0]
    return reached


def _stamp() -> tuple[tuple[str, int, int], ...]:
    """Every Python file with its size and time, so that a changed one is read anew."""
    return tuple((str(path), (it := path.stat()).st_size, it.st_mtime_ns) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def _modules(stamp: tuple[tuple[str, int, int], ...]) -> dict[str, Module]:
    """All modules by name; what was read of a file is kept beside its bytecode, as reading all takes seconds."""
    kept_at = PACKAGE / "__pycache__" / "meaning.json"
    me = Path(__file__).stat()
    own = [me.st_size, me.st_mtime_ns]  # what reads the files may change too
    try:
        by, kept = json.loads(kept_at.read_text(encoding="utf-8"))
        kept = kept if by == own else {}
    except (OSError, ValueError):
        kept = {}
    read = {path: kept.get(path) or [] for path, *_ in stamp}
    for path, *state in stamp:
        if read[path][:2] != state:
            read[path] = [*state, *_module(Path(path))]
    if read != kept:
        try:
            kept_at.parent.mkdir(exist_ok=True)
            kept_at.write_text(json.dumps([own, read]), encoding="utf-8")
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
    names = set(_imported(tree))
    looks_up = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
    lazy = dict(_looked_up(tree, _dotted(path))) if looks_up else {}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    names |= {match for text in texts for match in _NAME.findall(text)} - set(lazy.values())
    return Module(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(sorted(names)), lazy)


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
    listed: Any = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.List))
    for node in listed:
        yield from ((each.value, f"{name}.{each.value}") for each in node.value.elts if _is_text(each))
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if _is_text(key) and _is_text(value):
                    home = str(value.value)  # type: ignore[attr-defined]
                    yield str(key.value), home if home.startswith("axisjudge") else f"{name}.{home}"  # type: ignore[union-attr]


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@cache
def versions() -> dict[str, str]:
    """Versions of Python, this package and the packages it requires."""
    from axisjudge import __version__

    names = [re.split(r"[^\w.-]", line)[0] for line in metadata.requires("axisjudge") or [] if "extra ==" not in line]
    required = {name: metadata.version(name) for name in sorted(names)}
    return {"python": ".".join(map(str, sys.version_info[:3])), "axisjudge": __version__, **required}


def git_commit(folder: Path) -> str:
    """The commit of the workbench, and whether it has changes that are not in it."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return "not a git checkout"
    return commit + (" with uncommitted changes" if _git(folder, "status", "--porcelain") else "")


def _text_with_paths(text: str, start: Path, put: Callable[[Path], str]) -> str:
    """A text with `put` of its parts that name files or folders, as seen from `start`.

    The whole text (``mine/ratings.jsonl``), what stands behind a colon (``replay:mine/ratings.jsonl``) or an equals
    sign (``simulated:heron,truth=mine/truth.jsonl``), and patterns (``runs/*.json``).
    """
    if len(text) > 1000:
        return text
    if existing := _existing(text, start):
        return put(existing)
    pieces = text.split(",")
    for at, piece in enumerate(pieces):
        named = re.sub(r"^[a-z][a-z-]+:", "", piece.rpartition("=")[2])
        if existing := _existing(named, start):
            pieces[at] = piece.removesuffix(named) + put(existing)
    return ",".join(pieces)


def _existing(text: str, start: Path) -> Path | None:
    """The file, folder or pattern of files that `text` names: it has a slash or a suffix, and something is there."""
    if not re.search(r"[/\\]|\.\w+$", text) or "\0" in text:
        return None
    path = start / text
    try:
        if path.exists():
            return path.resolve()
        return path.parent.resolve() / path.name if has_magic(text) and _matches(path) else None
    except OSError:
        return None


def with_paths(value: Any, start: Path, put: Callable[[Path], str]) -> Any:
    """A parameter's value, its lists and dicts through and through, with `put` of every path that it names."""
    if isinstance(value, str):
        return _text_with_paths(value, start, put)
    if isinstance(value, list | tuple):
        return [with_paths(item, start, put) for item in value]
    if isinstance(value, dict):
        return {key: with_paths(item, start, put) for key, item in value.items()}
    return value


def named_inputs(parameters: Mapping[str, Any], workbench: Path) -> dict[str, str]:
    """Hashes of the files and folders that parameters name, inside lists and judge specs too."""
    inputs: dict[str, str] = {}
    for key, value in parameters.items():
        paths: list[Path] = []
        with_paths(value, workbench, lambda path, kept=paths: kept.append(path) or "")  # type: ignore[misc]
        for path in paths:
            named = f"parameter {key}" if len(paths) == 1 else f"parameter {key}: {portable(path, workbench)}"
            inputs[named] = (
                file_sha256(path)
                if path.exists()
                else sum_up((each.name, file_sha256(each)) for each in _matches(path))
            )
    return inputs


def _matches(pattern: Path) -> list[Path]:
    return sorted(path for path in pattern.parent.glob(pattern.name) if not path.name.startswith("."))


def published_value(value: Any, workbench: Path) -> Any:
    """A parameter's value as it may be published: paths without the folders of this machine."""
    return with_paths(value, workbench, lambda path: portable(path, workbench))


def portable(path: Path, workbench: Path) -> str:
    """A path as it may be published: relative to the workbench, else the bare name."""
    resolved = path.resolve()
    return resolved.relative_to(workbench).as_posix() if resolved.is_relative_to(workbench) else resolved.name


def files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder in order, without caches, locks and hidden ones."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in ("__pycache__", "cache") or path.suffix == ".lock":
            continue
        if path.is_dir():
            yield from files_below(path)
        else:
            yield path


def sum_up(parts: Iterable[tuple[str, str]]) -> str:
    """One hash of named texts."""
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(f"{len(name)} {name} {len(content)} {content}\n".encode())
    return digest.hexdigest()


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
