"""The committed reports: people are no judges, and what others published bears no banner of the page's ratings."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.report.scope import scope_of

REPORTS = sorted((Path(__file__).parents[2] / "reports").glob("*/results.json"))


@pytest.mark.parametrize("path", REPORTS, ids=[path.parent.name for path in REPORTS])
def test_nobody_who_labels_is_counted_among_judges(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    judges, agents_and_tasks = found["conditional_on"].pop("judges"), ("agents", "tasks")
    others = {name for kind, names in found["conditional_on"].items() if kind not in agents_and_tasks for name in names}
    assert not {*judges} & {*others, "people", "reference", "planted"}
    counted = re.search(
        r"from (\d+) judges? ", found["scope"]["sentence"] if isinstance(found["scope"], dict) else found["scope"]
    )
    assert int(counted[1] if counted else 0) == len(judges)


@pytest.mark.parametrize("path", REPORTS, ids=[path.parent.name for path in REPORTS])
def test_published_tables_and_figures_bear_no_banner(path: Path) -> None:
    lines = path.with_name("report.md").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if "published" in line.lower() and line.startswith(("**Table", "*Figure", "| published")):
            after = next(
                (n for n, later in enumerate(lines) if n > number and later.startswith(("## ", "**Table"))), None
            )
            assert not any("ratings: not measurements" in later for later in lines[number:after]), line


def test_there_are_published_tables_to_look_at() -> None:
    told = "\n".join(path.with_name("report.md").read_text(encoding="utf-8") for path in REPORTS)
    assert len(REPORTS) == 14
    assert "as published" in told
    assert "ratings: not measurements" in told, "pages with simulated ratings say so elsewhere"


def test_the_scope_of_an_import_counts_people_apart(tmp_path: Path) -> None:
    words = {"item": ["a", "b"], "gpt": ["yes", "no"], "ann": ["yes", "yes"], "bob": ["no", "no"]}
    pl.DataFrame(words).write_csv(tmp_path / "t.csv")
    options = ImportOptions(kind="llm", kinds={"ann": "human", "bob": "human"}, question=("solved",))
    scope = scope_of(import_ratings([tmp_path / "t.csv"], options).ratings)
    assert scope.conditional_on["judges"] == ["gpt"]
    assert scope.conditional_on["people"] == ["ann", "bob"]
    assert scope.banner is None
