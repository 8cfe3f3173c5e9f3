"""Do the nearest tests notice? Places of the package are drawn by seed, changed one at a time, and tried.

`make mutants ARGS="--draw 100 --seed 1"`. cosmic-ray makes the changes, in an environment of its own; tests run in the
project's, on a copy of the tree. A mutant is killed where a fast test of its own room (tests/ROOM) fails that passes
without it. Files that name what was changed go first; the first failure ends it, and so does a limit, which kills
none. Places count alike, however many changes a tool knows for one. Left out are annotations, changes that do not
compile, and changes to another kind of thing (a sum to a shift, an equality to an identity).
"""

import argparse
import difflib
import json
import os
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["stats", "judging", "readers", "protocol"]
OPTIONS = ["-xqmnot slow", "-n0", "-pno:cacheprovider", "--tb=no", "--timeout=60", "-Wignore:Module"]
KIN = re.compile(
    "Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr|Is_IsNot|IsNot_Is"
    "|((Eq|NotEq|Lt|LtE|Gt|GtE)_){1,2}(Eq|NotEq|Lt|LtE|Gt|GtE)|USub_UAdd|Delete_.*|"
)


def above(node: Any) -> Iterator[Any]:
    while node is not None:
        yield node
        node = node.parent


def is_annotation(node: Any) -> bool:
    pairs = ((each, each.parent) for each in above(node) if each.parent is not None)
    held = {
        "tfpdef": lambda of: of.children[2],
        "annassign": lambda of: of.children[1],
        "funcdef": lambda of: of.annotation,
    }
    return any(of.type in held and held[of.type](of) is each for each, of in pairs)


def mutants(rooms: list[str]) -> list[list[tuple[str, int, str, int, list[str]]]]:
    """File, line, operator, its how-manieth change there and the names around it; a list for each place and kind."""
    names = [name for name in operator_names() if not name.startswith("core/Variable")]
    places: dict[tuple[str, tuple[int, int], str], list[Any]] = {}
    for path in sorted(path for room in rooms for path in (ROOT / "axisjudge" / room).rglob("*.py")):
        file, nodes = str(path.relative_to(ROOT)), list(ast_nodes(parso.parse(path.read_text())))
        for name in (name for name in names if KIN.fullmatch(name.partition("Operator_")[2])):
            operator = get_operator(name)()
            changes = ((node, start) for node in nodes for start, _ in operator.mutation_positions(node))
            for number, (node, start) in enumerate(changes):
                if not is_annotation(node):
                    around = [each.name.value for each in above(node) if each.type in ("funcdef", "classdef")]
                    mutant = (file, start[0], name, number, around)
                    places.setdefault((file, start, name.split("_")[0]), []).append(mutant)
    return list(places.values())


def changed(source: str, operator: str, number: int) -> str | None:
    text = MutationVisitor(number, get_operator(operator)()).walk(parso.parse(source)).get_code()
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return None
    return str(text) if text != source else None


def nearest(path: Path, around: list[str], tree: Path) -> list[str]:
    """Test files of the mutant's room, those first that name what was changed."""
    names = re.findall(r"^(?:def|class) ([A-Za-z]\w+)", (tree / path).read_text(), re.MULTILINE)
    worth = dict.fromkeys(names, 1) | {part: 2 for name in around for part in name.split("_") if len(part) > 3}
    worth |= dict.fromkeys(around, 6) | {path.stem: 3, ".".join(path.with_suffix("").parts): 3}

    def weight(test: Path) -> int:
        named = sum(n for word, n in worth.items() if re.search(rf"\b{re.escape(word)}\b", test.read_text()))
        return -named - 8 * (path.stem.strip("_") in test.stem or test.stem.removeprefix("test_") in path.parts)

    tests = sorted((tree / "tests" / path.parts[1]).rglob("test_*.py"), key=lambda test: (weight(test), test.name))
    return [str(test.relative_to(tree)) for test in tests]


class Server:
    """A process of the project's Python in which a room's tests are collected; each try is a fork of it."""

    def __init__(self, tree: Path, room: str) -> None:
        command = [str(ROOT / ".venv/bin/python"), "tests/mutants_tried.py", *OPTIONS, f"tests/{room}"]
        env, pipe = os.environ | {"PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}, subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=tree, env=env, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout.readline() == "collected\n"  # before any file is changed

    def failed(self, tests: list[str], limit: int, change: list[str]) -> str | None:
        """The first test that fails; "" where none does, None where the limit or a test's own ends them."""
        print(json.dumps([[*OPTIONS, *tests], limit, change]), file=self.process.stdin, flush=True)
        code, printed = json.loads(self.process.stdout.readline())
        named = re.findall(r"^(?:FAILED|ERROR) ([^ \[\n]+)", printed, re.MULTILINE)
        is_late = code < 0 or "from pytest-timeout" in printed
        return "" if code in (0, 5) else None if is_late else [*named, "an error before any test"][0]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--draw", type=int, default=100)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--rooms", nargs="*", default=ROOMS)
    words.add_argument("--limit", type=int, default=150, help="seconds of a core for the tests of one mutant")
    given = words.parse_args()
    places, draw = mutants(given.rooms), random.Random(given.seed)
    draw.shuffle(places)
    drawn, killed, stamp = 0, 0, 10**9
    servers: dict[str, Server] = {}
    unsound: set[str] = set()  # tests that fail without a change
    sound: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        tar = f"git ls-files -coz --exclude-standard | tar c --null -T - | tar x -C {tree}"
        subprocess.run(tar, shell=True, cwd=ROOT, check=True)
        (tree.parent / "shared").symlink_to(ROOT.parent / "shared")
        while places and drawn < given.draw:
            file, line, operator, number, around = draw.choice(places.pop())
            path, room = tree / file, Path(file).parts[1]
            source = path.read_text()
            if (text := changed(source, operator, number)) is None:
                continue
            servers[room] = servers.get(room) or Server(tree, room)
            test: str | None = "?"
            while test and test not in sound:
                path.write_text(text)
                os.utime(path, (stamp := stamp + 1, stamp))  # by which Python knows that its bytecode is another's
                tests = [*nearest(Path(file), around, tree), *(f"--deselect={each}" for each in unsound)]
                test = servers[room].failed(tests, given.limit, [file, source, text])
                path.write_text(source)
                os.utime(path, (stamp := stamp + 1, stamp))
                if test and test not in sound:
                    passes = "::" not in test or servers[room].failed([test], given.limit, []) == ""
                    (sound if passes else unsound).add(test)
            outcome = f"killed by {test}" if test else "out of time" if test is None else "survived"
            drawn, killed = drawn + 1, killed + bool(test)
            print(f"{killed}/{drawn} {file}:{line} {operator[5:]}: {outcome}", flush=True)
            if not test:
                print(
                    *list(difflib.unified_diff(source.splitlines(), text.splitlines(), n=0))[3:], sep="\n", flush=True
                )


if __name__ == "__main__":
    main()
