"""The pages of axisjudge/docs: every block of commands prints what stands below it, in a workbench of its own."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import axisjudge
from axisjudge.stats.estimate import QUANTITIES

DOCS = Path(axisjudge.__file__).parent / "docs"
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What differs from day to day: times, and what stands in the folder of temporary files.
DATED = re.compile(r"\d+(\.\d+)? s\b|in \d+ days|/\S+/bench\b")


def output_of(command: str, bench: Path) -> list[str]:
    """The lines that a command prints, its warnings among them."""
    env = {**os.environ, "COLUMNS": "118", "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=bench, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert "Traceback" not in done.stdout
    return [line.rstrip() for line in done.stdout.strip("\n").splitlines()]


def run_block(kind: str, body: str, bench: Path) -> str:
    """A block as it should stand on the page: of each command as many lines as now, and "..." for the rest."""
    if kind == "python":
        subprocess.run([sys.executable, "-c", body], cwd=bench, check=True)
        return body
    lines = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        lines += [
            f"$ {command}",
            *(printed := output_of(command, bench))[: (keep := len(shown) - (shown[-1:] == ["..."]))],
        ]
        lines += ["..."] * (len(printed) > keep)
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page.name for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text()])
def test_what_a_page_prints_is_what_the_commands_print(page: str, tmp_path: Path) -> None:
    """With AXISJUDGE_DOCS=write in the environment the pages are written anew instead."""
    bench = tmp_path / "bench"
    subprocess.run([sys.executable, "-m", "axisjudge", "init", str(bench), "--demo"], check=True, capture_output=True)
    text = (DOCS / page).read_text(encoding="utf-8")
    now = BLOCK.sub(lambda block: f"```{block[1]}\n{run_block(block[1], block[2], bench)}```", text)
    if os.environ.get("AXISJUDGE_DOCS") == "write":
        (DOCS / page).write_text(now.replace(str(bench), "bench"), encoding="utf-8")
        return
    plain = [DATED.sub("", form.replace(str(bench), "bench")).splitlines() for form in (now, text)]
    assert plain[0] == plain[1]


def test_the_reference_prints_the_register_of_quantities() -> None:
    """With AXISJUDGE_DOCS=write in the environment the table is written anew instead."""
    page = DOCS / "reference.md"
    cells = [(*each[:3], f"`{each.function}`") for each in QUANTITIES.values()]
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells]
    table = "\n".join(["| figure | formula | over | computed by |", "| --- | --- | --- | --- |", *rows]) + "\n"
    text = page.read_text(encoding="utf-8")
    if os.environ.get("AXISJUDGE_DOCS") == "write":
        there = re.compile(r"\| figure \| formula .*?(?=\n## )|(?<=not in it\.\n\n)(?=## )", re.DOTALL)
        page.write_text(there.sub(lambda _: table, text), encoding="utf-8")
        return
    assert f"\n{table}\n" in text
    for module, _, name in (each.function.rpartition(".") for each in QUANTITIES.values()):
        assert hasattr(import_module(module), name)
