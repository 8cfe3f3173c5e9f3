"""The notebooks as sources: stripped, short, half prose, and all the code that branches in the package."""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from axisjudge.report.notebook import parameters_of

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
REPORTS = [path for path in NOTEBOOKS if re.match(r"\d\d_", path.name)]

MOST_CELLS, MOST_CODE_LINES, MOST_LINES_A_CELL = 25, 80, 20
#: Share of words in a notebook that stand in prose.
PROSE = (0.4, 0.75)
#: Sections that close every report, in this order.
LAST_SECTIONS = ["Limits", "Things to try next"]
#: How a cell takes a frame in hand: filtered, joined, counted or drawn in plain polars, pandas or seaborn.
IN_HAND = (
    r"\.(filter|join|merge|group_by|groupby|query|sort|sort_values|nlargest|pivot|pivot_table|loc|unpivot|melt|plot)\b"
    r"|crosstab|\bsns\."
)
KEPT_IN_THE_PACKAGE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try)
SDKS = {"anthropic", "openai"}

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
every_report = pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def sources(path: Path, kind: str) -> list[str]:
    return [cell.source for cell in read(path).cells if cell.cell_type == kind]


def lines(source: str) -> list[str]:
    return [line for line in source.splitlines() if line.strip()]


def trees(path: Path) -> list[ast.Module]:
    return [ast.parse(source) for source in sources(path, "code")]


def imports(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_there_are_reports() -> None:
    assert REPORTS


@every_notebook
def test_outputs_are_stripped(path: Path) -> None:
    book = read(path)
    nbformat.validate(book)
    for cell in book.cells:
        assert not cell.get("outputs"), "strip it: nbstripout"
        assert cell.get("execution_count") is None, "strip it: nbstripout"
    assert "papermill" not in book.metadata


@every_notebook
def test_it_is_short(path: Path) -> None:
    code = [lines(source) for source in sources(path, "code")]
    assert len(read(path).cells) <= MOST_CELLS
    assert sum(map(len, code)) <= MOST_CODE_LINES
    assert max(map(len, code)) <= MOST_LINES_A_CELL


@every_report
def test_about_half_of_it_is_prose(path: Path) -> None:
    prose, code = (len(re.findall(r"\w+", " ".join(sources(path, kind)))) for kind in ("markdown", "code"))
    assert PROSE[0] <= prose / (prose + code) <= PROSE[1]


@every_notebook
def test_functions_classes_and_exceptions_live_in_the_package(path: Path) -> None:
    for tree in trees(path):
        assert not [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, KEPT_IN_THE_PACKAGE)]


@every_report
def test_the_title_is_the_question(path: Path) -> None:
    first = read(path).cells[0]
    titles = re.findall(r"^# .+", "\n".join(sources(path, "markdown")), flags=re.MULTILINE)
    assert first.cell_type == "markdown"
    assert len(titles) == 1
    assert first.source.startswith(titles[0])
    assert titles[0].endswith("?")


@every_report
def test_parameters_come_first_and_imports_next(path: Path) -> None:
    known = parameters_of(read(path), path.stem)
    assert known
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert "parameters" in code[0].metadata.tags
    _, second, *later = trees(path)
    assert set(map(type, second.body)) <= {ast.Import, ast.ImportFrom}
    assert not [ast.unparse(node) for tree in later for node in imports(tree)]


@every_report
def test_parameters_are_typed_and_commented(path: Path) -> None:
    source = sources(path, "code")[0]
    assert all(isinstance(node, ast.AnnAssign) for node in ast.parse(source).body)
    assert all("#" in line for line in lines(source))


@every_report
def test_it_closes_with_limits_and_things_to_try(path: Path) -> None:
    sections = re.findall(r"^## (.+)", "\n".join(sources(path, "markdown")), flags=re.MULTILINE)
    assert sections[-2:] == LAST_SECTIONS
    assert len(sections) > len(LAST_SECTIONS)
    assert read(path).cells[-1].cell_type == "markdown"


@every_report
def test_what_is_shown_can_be_taken_in_hand(path: Path) -> None:
    """Parts one by one, plain frames beside them, and a cell of one's own."""
    code, prose = sources(path, "code"), "\n".join(sources(path, "markdown"))
    assert sum(bool(re.search(IN_HAND, source)) for source in code) >= 4
    assert "## Your turn" in prose
    assert not re.findall(
        r"page\.(?:record|figure|table|banner|explorer)\(|formats=|behind=|of_ratings=", "\n".join(code)
    )


@every_report
def test_prose_stands_between_cells(path: Path) -> None:
    kinds = "".join(cell.cell_type[0] for cell in read(path).cells[3:])  # after title, parameters and imports
    assert "ccc" not in kinds, "two cells of code stand under one text at most"


@every_report
def test_the_page_bears_the_notebooks_name(path: Path) -> None:
    code = "\n".join(sources(path, "code"))
    assert f'Page("{path.stem}"' in code


@every_notebook
def test_no_provider_is_imported(path: Path) -> None:
    for tree in trees(path):
        for node in imports(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert not {name.partition(".")[0] for name in names} & SDKS


@every_notebook
def test_formulas_are_plain_text(path: Path) -> None:
    """A published page carries no program that could set mathematics, and neither do all markdown viewers."""
    for source in sources(path, "markdown"):
        assert not re.search(r"\$[^$\n]+\$|\\\(|\\\[|\\begin\{", source)


@every_notebook
def test_rows_come_in_one_order(path: Path) -> None:
    """polars groups in any order: what a cell groups last and shows is sorted by all that it is grouped by."""
    for cell in sources(path, "code"):
        groups = [each for each in re.findall(r"group_by\(([^()]*)\)", cell) if "maintain_order" not in each]
        ordered = {name for each in re.findall(r"\.sort\(([^()]*)\)", cell) for name in re.findall(r'"(\w+)"', each)}
        assert set(re.findall(r'"(\w+)"', groups[-1] if groups else "")) <= ordered, cell
