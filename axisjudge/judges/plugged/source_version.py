"""The version of a function that has none given: a hash of what it is made of.

Part of it are the function's own source (without its decorators), that of the functions and classes of the same module
or notebook that it reaches by name, directly or through each other, and the constants (text, numbers, tuples of these)
that they read from there. So an edited prompt or helper makes another judge, which is asked anew. Not part of it are
other modules, objects such as clients and lists, names that the function itself assigns to, and names that say key,
token, secret or password.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.answer import SECRET_NAME

_DIGITS = 12
_CONSTANTS = (str, bytes, int, float, complex, bool, type(None))


def source_version(function: Callable[..., Any]) -> str:
    """``source-`` and the first digits of a hash of the function's source and of what it reaches by name.

    Raises
    ------
    InputError
        The function is not written in Python.
    """
    seen: dict[str, str] = {}
    for root in _roots(function):
        _collect(root, seen)
    if not seen:
        rule = "its source cannot be read, so that an edit would not be noticed"
        raise InputError("judge_function", rule, getattr(function, "__name__", function), "give it a version")
    text = "\n".join(f"{name}\n{part}" for name, part in sorted(seen.items()))
    return f"source-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def _roots(function: Any) -> Iterator[Any]:
    """The functions behind a callable; what a partial or an object adds stands beside them as constants."""
    if isinstance(function, partial):
        yield from _roots(function.func)
        yield ("arguments", (function.args, tuple(sorted(function.keywords.items()))))
    elif isinstance(function, MethodType):
        yield function.__func__
        yield from _state(function.__self__)
    elif isinstance(function, FunctionType | type):
        yield function
    elif isinstance(vars(type(function)).get("__call__"), FunctionType):
        yield type(function)
        yield from _state(function)


def _state(instance: object) -> Iterator[tuple[str, Any]]:
    yield (
        type(instance).__qualname__,
        tuple(
            (name, value)
            for name, value in sorted(getattr(instance, "__dict__", {}).items())
            if _is_constant(name, value)
        ),
    )


def _collect(part: Any, seen: dict[str, str]) -> None:
    if isinstance(part, tuple):
        name, value = part
        seen[f"constant {name}"] = _stable(value)
        return
    key = f"{part.__module__}.{part.__qualname__}"
    if key in seen:
        return
    seen[key] = _source(part)
    if isinstance(part, type):
        methods = [inspect.unwrap(each) for each in vars(part).values() if isinstance(each, FunctionType)]
        for method in methods:
            _reach(method, seen)
    else:
        _reach(inspect.unwrap(part), seen)


def _reach(function: FunctionType, seen: dict[str, str]) -> None:
    """What a function reads by name: from its module, and from the functions around it."""
    codes = list(_codes(function.__code__))
    assigned = {name for code in codes for name in _assigned(code)}
    names = sorted({name for code in codes for name in (*code.co_names, *code.co_freevars)} - assigned)
    around = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in names:
        if name in around:
            try:
                value = around[name].cell_contents
            except ValueError:  # not assigned yet
                continue
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            continue
        value = getattr(value, "__dict__", {}).get("__wrapped__", value)  # a cached helper, say
        if _is_constant(name, value):
            seen[f"constant {name}"] = _stable(value)
        elif isinstance(value, FunctionType | type) and value.__module__ == function.__module__:
            _collect(value, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _assigned(code: CodeType) -> Iterator[str]:
    """Global names, and names of functions around it, that a function assigns to: a counter, say."""
    import dis

    for step in dis.get_instructions(code):
        is_around = step.opname == "STORE_DEREF" and step.argval in code.co_freevars
        if is_around or step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            yield str(step.argval)


def _is_constant(name: str, value: object) -> bool:
    return not SECRET_NAME.search(name) and _is_plain(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return type(value) in (tuple, frozenset) and all(map(_is_plain, value))
    return type(value) in _CONSTANTS


def _stable(value: object) -> str:
    """A text of a constant that is the same in every process; sets have no order of their own."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_stable, value)))}}}"
    return f"({', '.join(map(_stable, value))})" if isinstance(value, tuple) else repr(value)


def _source(part: Any) -> str:
    """The source of a function or class without its decorators; of one without a source, its compiled code."""
    try:
        text = textwrap.dedent(inspect.getsource(part))
    except (OSError, TypeError):
        return _compiled(part)
    try:
        first = ast.parse(text).body[0]
    except SyntaxError:  # a lambda in the middle of an expression
        return text
    if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return "\n".join(text.splitlines()[first.lineno - 1 :])
    return text


def _compiled(part: Any) -> str:
    if isinstance(part, type):
        methods = [each for each in vars(part).values() if isinstance(each, FunctionType)]
        return "\n".join(map(_compiled, methods))
    return "\n".join(
        repr((code.co_code, code.co_names)) + _stable(tuple(c for c in code.co_consts if not isinstance(c, CodeType)))
        for code in _codes(part.__code__)
    )
