"""What a report prints of held-out data, on the first screen, in results.json and in the index."""

import json

import nbformat
import numpy as np
import polars as pl
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import axisjudge
from axisjudge import protocol
from axisjudge.datasets import demo_paths
from axisjudge.protocol import AnalysisPlan, Standing, make_lock, open_holdout
from axisjudge.report import Page, page, run_report
from axisjudge.report.index import write_index
from axisjudge.report.page import MARKDOWN_MIME, PAGE_FILE, REPORT_DIR
from axisjudge.stats.calibration import fit_mid_rank
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.ranking import confidence_ranks


@pytest.fixture
def shown(monkeypatch):
    """Everything that a page displays."""
    bundles = []
    monkeypatch.setattr(page, "_show", lambda bundle, metadata=None: bundles.append(bundle))
    return bundles


@pytest.fixture
def staging(tmp_path, monkeypatch):
    folder = tmp_path / "01_page"
    folder.mkdir()
    monkeypatch.setenv(REPORT_DIR, str(folder))
    return folder


@pytest.fixture
def opened(split):
    make_lock(["rules"], AnalysisPlan(axes=("termination",)))
    return open_holdout("the rubrics are final")


def judged(runs, **how):
    return axisjudge.judge(runs, ["rules"], ["termination"], progress=False, **how)


def test_a_page_of_no_study_is_as_it_was(bench, runs, shown, staging):
    Page("01_page", judged(runs)).banner()
    assert "Standing" not in shown[0][MARKDOWN_MIME]
    assert "standing" not in json.loads((staging / PAGE_FILE).read_text())


def test_held_out_data_print_opening_and_plan(opened, runs, shown, staging):
    made = Page("01_page", judged(runs, split="evaluation"))
    made.banner()
    for kind in ("text/html", MARKDOWN_MIME, "text/plain"):
        assert "made when they were opened, once" in shown[0][kind]
        assert "Declared before opening: Cohen" in shown[0][kind]
    assert made.note("cohen_kappa", "termination") is None
    assert (
        made.note("gwet_ac1", "termination") == made.note("cohen_kappa", "sequencing") == made.note() == "Exploratory"
    )
    said = json.loads((staging / PAGE_FILE).read_text())["standing"]
    assert (said["opening"], said["exploratory"], said["banner"]) == (1, False, None)
    assert said["plan"]["axes"] == ["termination"]


def test_only_the_declared_table_goes_without_the_word(opened, runs, shown, staging):
    made = Page("01_page", judged(runs, split="evaluation"))
    made.table([{"a": 1}], caption="anything")
    made.table([{"a": 1}], statistic="cohen_kappa", axis="termination")
    made.table([{"a": 1}], of_ratings=False)
    assert ["Exploratory" in bundle[MARKDOWN_MIME] for bundle in shown] == [True, False, False]


@pytest.fixture
def demo_opened(bench):
    """The demo's held-out side judged by two simulated judges, under a plan with frozen maps."""
    runs = axisjudge.read_trajectories(*demo_paths()).trajectories
    judges, how = ["simulated:heron", "simulated:wren"], {"axes": ["sequencing", "termination"], "progress": False}
    split = protocol.make_split(runs, salt="demo")
    maps = protocol.freeze_maps(axisjudge.judge(runs, judges, split="calibration", **how), split)
    make_lock(judges, AnalysisPlan(axes=("sequencing", "termination"), statistic="gwet_ac1", maps=maps))
    open_holdout("once")
    return axisjudge.judge(runs, judges, split="evaluation", **how)


def test_the_declared_results_stand_on_the_first_screen_adjusted_by_holm(demo_opened, shown, staging):
    made = Page("01_page", demo_opened)
    made.banner()
    banner, first = shown  # that the judges are simulated stands on top, and the results in the next block
    assert banner["text/plain"].startswith("Simulated ratings: ")
    assert "Confirmatory, as declared (Holm over 2 tests against agreement by chance)" in first["text/plain"]
    said = json.loads((staging / PAGE_FILE).read_text())["declared"]
    assert [each["axis"] for each in said] == ["sequencing", "termination"]
    least = min(said, key=lambda each: each["p_value"])
    assert least["p_holm"] == pytest.approx(2 * least["p_value"])
    unknown = pl.col("flags").list.eval(pl.element().str.replace("opening:1", "opening:7"))
    assert not Page("01_page", demo_opened.with_columns(unknown)).declared


def test_confidences_of_held_out_data_are_normalised_by_the_lock_and_not_refitted(demo_opened):
    panel = pooled(demo_opened, "termination")
    ranks, basis = confidence_ranks(demo_opened, panel)
    assert basis == "ranks by the maps frozen in the lock"
    plan = protocol.plan_of(protocol.read_lock())
    frozen = [plan.confidence_map(judge)(panel.confidences[:, n], source=judge) for n, judge in enumerate(panel.judges)]
    np.testing.assert_array_equal(ranks.T, frozen)
    refitted = fit_mid_rank(panel.confidences[:, 0], source="")(panel.confidences[:, 0], source="")
    assert not np.allclose(ranks[:, 0], refitted, equal_nan=True)
    stranger = demo_opened.with_columns(pl.col("rater").replace("simulated:wren", "another"))
    basis = confidence_ranks(stranger, pooled(stranger, "termination"))[1]
    assert "; of another, which it has no map of, ranks within these ratings, which hold none of the" in basis


def test_exploratory_stands_first_with_its_reason_and_on_every_table(split, runs, shown, staging):
    made = Page("01_page", judged(runs, split="evaluation", exploratory=True))
    made.banner()
    made.table([{"a": 1}])
    assert shown[0]["text/plain"].startswith("EXPLORATORY: ")
    assert shown[0][MARKDOWN_MIME].startswith("> **EXPLORATORY")
    assert "judged with --exploratory" in shown[0]["text/html"]
    _, scope, table = shown
    assert "made in an exploratory look" in scope["text/plain"]
    assert "Exploratory" in table["text/html"]
    assert "Exploratory" in table[MARKDOWN_MIME]
    assert json.loads((staging / PAGE_FILE).read_text())["standing"]["exploratory"] is True


def test_a_banner_says_every_reason_of_a_standing(bench, runs, shown):
    page = Page("01_page", judged(runs))
    page.standing = Standing(reasons=("the ledger was lost",))
    page.banner()
    assert shown[0]["text/plain"].startswith("EXPLORATORY: the ledger was lost.")


CELL = """\
from axisjudge import read_ratings, workbench
from axisjudge.report import Page

page = Page("01_held_out", read_ratings(workbench.home() / ratings))
page.banner()
page.record("n", 1)
page.say("One sentence.")"""


@pytest.mark.slow
def test_a_report_on_held_out_data_from_end_to_end(opened, bench, runs):
    """Papermill's parameters as they are; made anew when the ledger changes, which lies among the rubrics."""
    judged(runs, split="evaluation", out=bench / "data" / "ratings" / "r.jsonl")
    parameters = new_code_cell('ratings: str = "data/ratings/r.jsonl"  # x', metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell("# Held out?"), parameters, new_code_cell(CELL)]
    nbformat.write(new_notebook(cells=cells), bench / "notebooks" / "01_held_out.ipynb")
    first = run_report("held_out", workbench=bench)
    said = json.loads((first.folder / "results.json").read_text())["standing"]["headline"]
    assert "made when they were opened, once" in said
    for text in ((first.folder / "report.md").read_text(), first.html.read_text().partition("<main>")[2]):
        assert text.index(said) < text.index("Held out?")
    protocol.open_holdout("once more")
    second = run_report("held_out", workbench=bench)
    assert second.status == "written"
    assert json.loads((second.folder / "results.json").read_text())["standing"]["looks"] == 2
    path = bench / "rubrics" / "ledger.jsonl"
    path.write_text(path.read_text().replace("once more", "for the first time"))
    third = run_report("held_out", workbench=bench)
    text = (third.folder / "report.md").read_text()
    assert text.startswith("> **EXPLORATORY")
    assert "ledger.jsonl:3: the chain is broken" in text.replace("\\", "")
    assert "EXPLORATORY" in write_index(bench / "reports").read_text()
