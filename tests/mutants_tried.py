"""The half of `tests/mutants.py` that runs in the project's Python: a room is collected once, each mutant is a fork.

In the fork the one function that differs gets its new code. What stands outside of functions, and a function that was
called while tests were collected (what it made is there already: closures, tables, caches), is tried in a process of
its own.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

called: set[CodeType] = set()  # before any change


def functions(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from [each] if each.co_flags & 2 else functions(each)


def swapped(file: str, before: str, after: str) -> bool:
    """Give the function that differs its new code; False where that is not possible."""
    value: Any = sys.modules.get(file[:-3].replace("/__init__", "").replace("/", "."))
    if value is None:  # it will be read from the changed file
        return True
    one, two = (list(functions(compile(text, file, "exec"))) for text in (before, after))
    differ = [pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]]
    if len(one) != len(two) or len(differ) != 1 or "<" in differ[0][0].co_qualname:
        return False
    old, new = differ[0]
    for name in old.co_qualname.split("."):
        value = vars(value)[name]
    while not hasattr(value, "__code__") or hasattr(value, "__wrapped__"):
        inside = [getattr(value, name, None) for name in ("fget", "func", "__func__", "__wrapped__")]
        if not any(inside):
            return False
        value = next(filter(None, inside))
    if value.__code__.co_firstlineno == old.co_firstlineno and value.__code__ not in called:
        value.__code__ = new
    return value.__code__ is new


def tried(arguments: list[str], limit: int, change: list[str]) -> tuple[int, str]:
    """The exit code of pytest in a fork, and what it printed; below 0 where its time ran out."""
    with tempfile.TemporaryFile("w+") as printed:
        if not (child := os.fork()):
            os.setsid()
            os.dup2(printed.fileno(), 1)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            code = 3
            with suppress(BaseException):
                if change and not swapped(*change):
                    os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments])
                code = int(pytest.main(arguments))
                sys.stdout.flush()
            os._exit(code)
        end = time.monotonic() + 8 * limit
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            os.killpg(child, 9)
        status = ended[1] if ended[0] else os.waitpid(child, 0)[1]
        printed.seek(0)
        return os.waitstatus_to_exitcode(status), printed.read()


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    answers = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
    pytest.main(["--collect-only", *sys.argv[1:]])
    sys.setprofile(None)
    print("collected", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(tried(*json.loads(line))), file=answers, flush=True)
