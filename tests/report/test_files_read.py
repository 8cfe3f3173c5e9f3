"""Which files a report notes as read, beside those whose time of reading the file system moved."""

import os
import shutil
from pathlib import Path

import nbformat
import pytest

from axisjudge.report import digest, run_report
from axisjudge.report.made import read_note
from axisjudge.workbench import home

NAMES = [path.stem for path in sorted((home() / "notebooks").glob("[0-9]*.ipynb"))]
LONG_AGO = 946_684_800.0


def given(bench: Path) -> list[Path]:
    return [path for name in ("data", "rubrics") for path in (bench / name).rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbench of its own: git would read every file."""
    bench = tmp_path_factory.mktemp("bench")
    for name in ("data", "rubrics", "notebooks"):
        shutil.copytree(home() / name, bench / name, ignore=shutil.ignore_patterns("cache", "__pycache__"))
    (bench / "reports").mkdir()
    for path in (bench / "notebooks").glob("[0-9]*.ipynb"):  # each says in the end what of the package it had loaded
        book = nbformat.read(path, as_version=4)
        loaded = "'\\n'.join(name for name in sys.modules if name.split('.')[0] == 'axisjudge')"
        code = f"import pathlib, sys\npathlib.Path({str(bench / f'{path.stem}.loaded')!r}).write_text({loaded})"
        book.cells.append(nbformat.v4.new_code_cell(code))
        nbformat.write(book, path)
    probe = given(bench)[0]
    os.utime(probe, (LONG_AGO, probe.stat().st_mtime))
    probe.read_bytes()
    if probe.stat().st_atime == LONG_AGO:
        pytest.skip("this file system does not keep when a file was read")
    return bench


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_report_notes_the_files_that_it_reads_and_no_other(copy: Path, name: str) -> None:
    for path in given(copy):
        os.utime(path, (LONG_AGO, path.stat().st_mtime))
    note = read_note(run_report(name, workbench=copy).folder)
    read = {str(path.relative_to(copy)) for path in given(copy) if path.stat().st_atime != LONG_AGO}
    noted = {file for file in note["files"] if (copy / file).exists() and file.split("/")[0] in ("data", "rubrics")}
    assert not [folder for folder, *_ in note["listed"] if Path(folder).is_absolute()]
    cells = nbformat.read(copy / "notebooks" / f"{name}.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    rubrics = {str(path.relative_to(copy)) for path in (copy / "rubrics").rglob("*.md")}
    assert noted <= read
    if not rubrics <= read:  # a rehearsal copies all rubrics, and reads some of the copies
        assert read == noted
    assert {file for file in read - noted if not file.startswith("rubrics/")} == set()
    loaded = set((copy / f"{name}.loaded").read_text().splitlines())
    assert loaded <= digest._reached(code, digest._modules(digest._stamp())), "what it loads is what it hangs on"
