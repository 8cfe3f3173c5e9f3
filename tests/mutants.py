"""Do the nearest tests notice? Places of the package are drawn by seed, changed one at a time, and tried.

`make mutants ARGS="--draw 100 --seed 1"`. cosmic-ray makes the changes, in an environment of its own; tests run in the
project's, on a copy of the tree. A mutant is killed where a fast test of its own room (tests/ROOM) fails that passes
without it. Files that name what was changed go first; the first failure ends it, and so does the limit, after which a
mutant counts as a survivor.
Places count alike, however many changes a tool knows for one. Left out are annotations, changes that do not compile,
and changes to another kind of thing (a sum to a shift, an equality to an identity), which any run would notice.
"""

import argparse
import difflib
import json
import math
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("stats", "judging", "readers", "protocol")
KIN = re.compile(
    "Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr|Is_IsNot|IsNot_Is"
    "|((Eq|NotEq|Lt|LtE|Gt|GtE)_){1,2}(Eq|NotEq|Lt|LtE|Gt|GtE)|USub_UAdd|Delete_.*"
)


@dataclass(frozen=True)
class Mutant:
    file: str
    place: tuple[int, int]
    operator: str
    occurrence: int
    scope: tuple[str, ...]

    def text(self, source: str) -> str | None:
        """The file with this one change, or None where it would not compile."""
        visitor = MutationVisitor(self.occurrence, get_operator(self.operator)())
        changed: str = visitor.walk(parso.parse(source)).get_code()
        try:
            compile(changed, self.file, "exec")
        except (SyntaxError, ValueError):
            return None
        return None if changed == source else changed


def operators() -> list[str]:
    """Those without arguments that change a thing to one of its kind."""
    names = [name for name in operator_names() if not name.startswith("core/Variable")]
    return [name for name in names if not (part := name.partition("Operator_")[2]) or KIN.fullmatch(part)]


def annotates(node: parso.tree.NodeOrLeaf | None) -> bool:
    """Whether a node is part of an annotation (PEP 563: never evaluated)."""
    while node is not None and node.parent is not None:
        above = node.parent
        if above.type in ("tfpdef", "annassign") and node is not above.children[0] and above.children[1] is node:
            return True
        if above.type == "funcdef" and node is above.annotation:
            return True
        node = above
    return False


def scope(node: parso.tree.NodeOrLeaf) -> tuple[str, ...]:
    names = []
    while node is not None:
        if node.type in ("funcdef", "classdef"):
            names.append(node.name.value)
        node = node.parent
    return tuple(names)


def mutants(rooms: list[str]) -> list[list[Mutant]]:
    """All mutants, in a list for each place and kind of change."""
    places: dict[tuple[str, tuple[int, int], str], list[Mutant]] = {}
    for path in sorted(path for room in rooms for path in (ROOT / "axisjudge" / room).rglob("*.py")):
        file, tree = str(path.relative_to(ROOT)), parso.parse(path.read_text())
        nodes = list(ast_nodes(tree))
        for name in operators():
            operator, occurrence = get_operator(name)(), 0
            for node in nodes:
                for start, _ in operator.mutation_positions(node):
                    if not annotates(node):
                        key = (file, start, name.split("_")[0])
                        places.setdefault(key, []).append(Mutant(file, start, name, occurrence, scope(node)))
                    occurrence += 1
    return list(places.values())


def nearest(mutant: Mutant, tree: Path) -> list[str]:
    """Test files of the mutant's room, those first that name what was changed."""
    path = Path(mutant.file)
    names = re.findall(r"^(?:def|class) ([a-z]\w+)", (tree / path).read_text(), re.MULTILINE | re.IGNORECASE)
    words = {path.stem: 3, ".".join(path.with_suffix("").parts): 3} | dict.fromkeys(names, 1)
    words |= {part: 2 for name in mutant.scope for part in name.split("_") if len(part) > 3}
    words |= dict.fromkeys((name for name in mutant.scope if not name.startswith("__")), 6)

    def weight(test: Path) -> float:
        text = test.read_text()
        named = sum(worth for word, worth in words.items() if re.search(rf"\b{re.escape(word)}\b", text))
        return -named - 8 * (path.stem.strip("_") in test.stem or test.stem.removeprefix("test_") in path.parts)

    tests = sorted((tree / "tests" / path.parts[1]).rglob("test_*.py"), key=lambda test: (weight(test), test.name))
    return [str(test.relative_to(tree)) for test in tests]


def copy(where: Path) -> None:
    """The tree as it stands, with the shared data beside it where this checkout has them."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name)
    if (ROOT.parent / "shared").is_dir():
        (where.parent / "shared").symlink_to(ROOT.parent / "shared")


#: Runs in the project's Python: imports what tests import but the package itself, once, and forks for each mutant.
SERVER = """
import importlib, json, os, resource, sys, tempfile, time
sys.path.insert(0, os.getcwd())
import pytest

def run(arguments, limit, note=False):
    with tempfile.TemporaryFile("w+") as printed:
        if not (child := os.fork()):
            os.setsid()
            os.dup2(printed.fileno(), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            code = int(pytest.main(arguments))
            if note:
                print("MODULES", *(name for name in sys.modules if not name.startswith(("axisjudge", "__", "test"))))
            sys.stdout.flush()
            os._exit(code)
        end = time.monotonic() + 8 * limit
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.05)
        try:
            os.killpg(child, 9)
        except ProcessLookupError:
            pass
        code = os.waitstatus_to_exitcode(ended[1] if ended[0] else os.waitpid(child, 0)[1])
        printed.seek(0)
        return code, printed.read()

for name in run(["--collect-only", "-q", *sys.argv[1:]], 100, note=True)[1].rpartition("MODULES")[2].split():
    try:
        importlib.import_module(name)
    except BaseException:
        pass
for line in sys.stdin:
    print(json.dumps(run(*json.loads(line))), flush=True)
"""


def served(tree: Path) -> subprocess.Popen[str]:
    command = [str(ROOT / ".venv/bin/python"), "-c", SERVER, *(f"tests/{room}" for room in ROOMS)]
    env = os.environ | {"PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=tree, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def failed(server: subprocess.Popen[str], tests: list[str], limit: int) -> str | None:
    """The first test that fails; "" where none does, None where the limit ends them."""
    options = ["-xq", "-n", "0", "-p", "no:cacheprovider", "--tb", "no", "-m", "not slow", "--timeout", "200"]
    assert server.stdin is not None and server.stdout is not None
    print(json.dumps([[*options, *tests], limit]), file=server.stdin, flush=True)
    code, printed = json.loads(server.stdout.readline())
    if code in (0, 5):
        return ""
    named = re.findall(r"^(?:FAILED|ERROR) ([^ \[]+)", printed, re.MULTILINE)
    return None if code < 0 else [*named, "an error before any test"][0]


def tried(
    mutant: Mutant,
    changed: str,
    tree: Path,
    server: subprocess.Popen[str],
    limit: int,
    stamp: int,
    sound: dict[str, bool],
) -> str:
    """killed (and by which test), survived, or out of time."""
    path, source = tree / mutant.file, (tree / mutant.file).read_text()
    path.write_text(changed)
    os.utime(path, (stamp, stamp))  # by which Python knows that its bytecode is another's
    tests = [*nearest(mutant, tree), *(f"--deselect={test}" for test, passes in sound.items() if not passes)]
    try:
        test = failed(server, tests, limit)
    finally:
        path.write_text(source)
        os.utime(path, (stamp + 1, stamp + 1))
    if not test:
        return "out of time" if test is None else "survived"
    if test not in sound:
        sound[test] = "::" not in test or failed(server, [test], limit) == ""
    return f"killed by {test}" if sound[test] else tried(mutant, changed, tree, server, limit, stamp + 2, sound)


def interval(killed: int, drawn: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95% interval of a share."""
    middle, share = 1 + z**2 / drawn, killed / drawn
    half = z * math.sqrt(share * (1 - share) / drawn + z**2 / (4 * drawn**2))
    return (share + z**2 / (2 * drawn) - half) / middle, (share + z**2 / (2 * drawn) + half) / middle


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--draw", type=int, default=100)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--rooms", default=",".join(ROOMS))
    words.add_argument("--limit", type=int, default=30, help="seconds of a core for the tests of one mutant")
    given = words.parse_args()
    places, draw = mutants(given.rooms.split(",")), random.Random(given.seed)
    draw.shuffle(places)
    outcomes: list[str] = []
    sound: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        copy(tree)
        server = served(tree)
        for place in places:
            mutant = draw.choice(place)
            source = (tree / mutant.file).read_text()
            if (changed := mutant.text(source)) is None:
                continue
            began = time.monotonic()
            outcomes.append(tried(mutant, changed, tree, server, given.limit, 10**9 + 1000 * len(outcomes), sound))
            lines = [line for line in difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0) if line[3:4]]
            seconds = f"{time.monotonic() - began:.0f} s"
            print(f"{mutant.file}:{mutant.place[0]} {mutant.operator[5:]}: {outcomes[-1]} ({seconds})", flush=True)
            if not outcomes[-1].startswith("killed"):
                print(
                    *(line for line in lines if line[:3] not in ("---", "+++") and line[:2] != "@@"),
                    sep="\n",
                    flush=True,
                )
            if len(outcomes) == given.draw:
                break
    killed = sum(outcome.startswith("killed") for outcome in outcomes)
    low, high = interval(killed, len(outcomes))
    print(f"{killed} of {len(outcomes)} killed: {killed / len(outcomes):.2f} (95% interval {low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
