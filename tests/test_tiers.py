"""The shape of the package: who may import whom, which package is whose, how long a file may be."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import axisjudge
from axisjudge.datasets.registry import demo_paths

ROOT = Path(axisjudge.__file__).parent

TIERS = [
    {"checks", "docs", "families", "sharing"},
    {"results", "cluster"},
    {"workbench", "trajectory", "verdict"},
    {"rubric", "spec", "ratings"},
    {"stats"},
    {"readers", "judges", "labels", "twins", "datasets"},
    {"imports"},
    {"scores", "protocol"},
    {"judging"},
    {"sources", "figures"},
    {"studies/_shared"},
    {"studies"},
    {"explorer", "service", "inspect_scorer", "pytest_plugin"},
    {"report"},
    {"iterating"},
    {"cli"},
]
TIER = {room: tier for tier, rooms in enumerate(TIERS) for room in rooms}

FOUNDATIONS = {"numpy", "polars", "pydantic", "pydantic_core"}
# outside package -> the rooms that may import it
HOMES = {
    "aiolimiter": {"judging", "service"},
    "anthropic": {"judges"},
    "anywidget": {"explorer"},
    "dask": {"cluster"},
    "detect_secrets": {"sharing"},
    "fastapi": {"service"},
    "fontTools": {"report"},  # matplotlib has it: what it writes into a PDF
    "filelock": {"ratings", "protocol", "service", "report", "iterating", "spec"},
    "genai_prices": {"judges"},
    "gepa": {"iterating"},
    "h11": {"service"},
    "httpx2": {"judges"},  # the transport of both SDKs
    "anyio": {"inspect_scorer"},
    "inspect_ai": {"inspect_scorer"},
    "ipywidgets": {"explorer"},  # anywidget brings it
    "IPython": {"studies", "figures", "report", "explorer", "iterating"},
    "itables": {"report"},  # its bundle is read as a file: to import it would bring pandas
    "jax": {"stats"},
    "jinja2": {"figures", "studies", "report"},
    "jupyter_client": {"report"},
    "jupyter_core": {"report"},
    "cattrs": {"studies"},
    "PIL": {"report"},  # matplotlib has it: small pictures of the front page
    "matplotlib": {"figures", "studies", "report"},
    "seaborn": {"figures", "studies"},
    "narwhals": {"ratings", "studies"},
    "nbconvert": {"report"},
    "nbclient": {"report"},
    "nbformat": {"report"},
    "nh3": {"report"},
    "numpyro": {"stats"},
    "openai": {"judges"},
    "papermill": {"report"},
    "pooch": {"datasets"},
    "posthog": {"service"},
    "prometheus_client": {"service"},
    "pytest": {"pytest_plugin"},
    "scipy": {"stats", "scores"},
    "sqlalchemy": {"service"},
    "starlette": {"service"},
    "statsmodels": {"stats"},
    "tqdm": {"cluster", "judging"},
    "traitlets": {"explorer", "report"},
    "typer": {"cli"},
    "uvicorn": {"service"},
    "yaml": {"rubric", "scores"},
    "zipfile_zstd": {"readers"},
}

FILES = sorted(ROOT.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(module: tuple[str, ...]) -> str:
    """The room of a module of the package: a study is a room of its own, and so is what studies share."""
    parts = module[1:3] if module[1:2] == ("studies",) else module[1:2]
    return "/".join(parts)


def tier_of(room: str) -> int:
    """The tier of a room; every study but what they share stands on that of the studies."""
    name = room if room in TIER else room.split("/")[0]
    assert name in TIER, f"{room} stands in no tier"
    return TIER[name]


def module_of(path: Path) -> tuple[str, ...]:
    parts = ("axisjudge", *path.relative_to(ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def imports_of(path: Path) -> set[tuple[str, ...]]:
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            base = tuple((node.module or "").split("."))
            found |= {(*base, alias.name) for alias in node.names} if base == ("axisjudge",) else {base}
    return found


def test_a_room_imports_only_from_lower_tiers() -> None:
    wrong = []
    for path in FILES:
        room = room_of(module_of(path))
        if room in ("", "__main__"):
            continue
        for module in imports_of(path):
            if module[0] != "axisjudge" or len(module) == 1 or module[1] == "__version__":
                continue
            if (other := room_of(module)) != room and tier_of(other) >= tier_of(room):
                wrong.append(f"{path.relative_to(ROOT)} (tier {tier_of(room)}) imports {other} (tier {tier_of(other)})")
    assert wrong == []


def test_each_outside_package_has_its_home() -> None:
    wrong = []
    for path in FILES:
        room = room_of(module_of(path)).split("/")[0]
        for package in {module[0] for module in imports_of(path)}:
            if package in sys.stdlib_module_names or package in FOUNDATIONS or package == "axisjudge":
                continue
            if room not in (homes := HOMES.get(package, set())):
                wrong.append(f"{path.relative_to(ROOT)}: {package} is at home in {homes or 'no room'}")
    assert wrong == []


def test_a_file_is_read_whole() -> None:
    long = {str(path.relative_to(ROOT)): n for path in FILES if (n := len(path.read_text().splitlines())) > 600}
    assert not long


def test_files_of_a_room_import_each_other_without_cycles() -> None:
    """Imports for type checkers and inside functions count: a reader follows them all the same."""
    modules = {module: path for path in FILES if len(module := module_of(path)) > 1}  # the top level is lazy
    graph = {module: imported_modules(path, modules) - {module} for module, path in modules.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a cycle: {' -> '.join('.'.join(module) for module in error.args[1])}")


def imported_modules(path: Path, modules: dict[tuple[str, ...], Path]) -> set[tuple[str, ...]]:
    """The modules of the package that a file imports, by their own names."""
    imported = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("axisjudge"):
            base = tuple(node.module.split("."))
            targets = {full if (full := (*base, alias.name)) in modules else base for alias in node.names}
            imported |= targets & modules.keys()
    return imported


def test_paths_that_contributing_names_are_there() -> None:
    words = re.findall(r"`([\w./]+)`", (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    paths = {word for word in words if word.startswith(("axisjudge/", "tests/")) and "NAME" not in word}
    assert paths
    assert {path for path in paths if not (ROOT.parent / path).exists()} == set()


def test_a_public_class_has_a_name_of_its_own() -> None:
    """Two things of one name puzzle whoever reads across rooms."""
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_contributing_names_every_room_in_its_tier() -> None:
    text = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = {int(tier): rooms for tier, rooms in re.findall(r"^\| (\d+) \| (.+) \|$", text, re.MULTILINE)}
    assert sorted(rows) == list(range(len(TIERS)))
    missing = {room: tier for room, tier in TIER.items() if not re.search(rf"(?<![\w/]){room}\b", rows[tier])}
    assert missing == {}


def test_the_front_door_says_a_line_of_every_name() -> None:
    named = set(re.findall(r"`(\w+)`", axisjudge.__doc__ or ""))
    assert named == set(axisjudge.__all__) - {"__version__"}


def test_a_record_changes_and_compares_only_where_it_can() -> None:
    """It is frozen unless its own file sets a field; and ``==`` of one that holds a table would raise."""
    table, wrong = re.compile(r"\b(DataFrame|LazyFrame|Series|ndarray|NDArray|Floats|Ints|Array)\b"), []
    for path in FILES:
        nodes = list(ast.walk(tree_of(path)))
        is_set = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
        for node in (each for each in nodes if isinstance(each, ast.ClassDef)):
            made = "".join(text for each in node.decorator_list if "dataclass" in (text := ast.unparse(each)))
            own = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            fields = {ast.unparse(each.target): each.annotation for each in own}
            if made and "frozen=True" not in made and not is_set & fields.keys():
                wrong.append(f"{path.relative_to(ROOT)}: {node.name} can be changed, and nothing in its file does")
            if made and "eq=False" not in made and any(table.search(ast.unparse(each)) for each in fields.values()):
                wrong.append(f"{path.relative_to(ROOT)}: {node.name} holds a table and is compared by its fields")
    assert wrong == []


@pytest.mark.parametrize(("command", "most"), [("check", 60), ("agreement", 80)])
def test_a_command_enters_few_files(command: str, most: int, tmp_path: Path) -> None:
    """The modules of ours that stand loaded when it ends: what a reader has to know of to follow it."""
    table, ratings = tmp_path / "t.csv", tmp_path / "r.jsonl"
    table.write_text("id,judge,human\n" + "".join(f"{n},{n % 2},{n % 3 // 2}\n" for n in range(30)))
    runs = axisjudge.read_trajectories(*demo_paths()).trajectories[:30]
    axisjudge.judge(runs, ["rules", "simulated:wren"], out=ratings, progress=False)
    given = {"check": table, "agreement": ratings}[command]
    code = f"""
import sys
from axisjudge.cli import main
sys.argv = ["axisjudge", "{command}", {str(given)!r}]
try:
    main()
except SystemExit as end:
    print(end.code, sum(name.partition(".")[0] == "axisjudge" for name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ended, entered = done.stderr.splitlines()[-1].split()
    assert ended in ("None", "0"), done.stderr
    assert int(entered) <= most
