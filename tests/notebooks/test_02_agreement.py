"""Notebook 02 runs on every source, says what it must, and follows the rules of notebooks."""

import ast
import itertools
import json
import re

import nbformat
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from axisjudge.families import family_of
from axisjudge.ratings.table import write_ratings
from axisjudge.report import run_report
from axisjudge.sources import load_source
from axisjudge.workbench import home

NAME = "02_agreement"
PARTS = {"agreement", "families", "effective_judges", "confident", "triage", "published", "citations", "repeats"}


def report(bench, **parameters):
    folder = run_report(NAME, parameters, workbench=bench).folder
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results, (folder / "report.md").read_text(encoding="utf-8"), folder


def test_it_keeps_the_rules_of_notebooks():
    notebook = nbformat.read(home() / "notebooks" / f"{NAME}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    lines = [[line for line in cell.source.splitlines() if line.strip()] for cell in code]
    assert len(notebook.cells) <= 25
    assert sum(map(len, lines)) <= 80
    assert max(map(len, lines)) <= 20
    assert not any(cell.outputs or cell.execution_count for cell in code)
    forbidden = ast.FunctionDef | ast.ClassDef | ast.Try | ast.Lambda
    assert not any(isinstance(node, forbidden) for cell in code for node in ast.walk(ast.parse(cell.source)))
    assert notebook.cells[0].source.startswith("# ")
    assert "?" in notebook.cells[0].source.splitlines()[0]


@pytest.mark.slow
def test_its_cells_run_on_one_question_of_the_demo(tmp_path):
    """Every cell in this process: no kernel, and no figure is written."""
    demo = load_source("demo")
    own = tmp_path / "ratings.jsonl"
    write_ratings(demo.ratings.filter(pl.col("question") == "termination"), own)
    first, *rest = nbformat.read(home() / "notebooks" / f"{NAME}.ipynb", as_version=4).cells[1:]
    names = {}
    exec(first.source, names)
    names["ratings"] = str(own)
    for cell in rest:
        if cell.cell_type == "code":
            exec(cell.source, names)
    page, said = names["page"], " ".join(names["page"].findings)
    assert set(page.results) >= PARTS
    assert {"families", "with_labels", "triage", "calibration", "citations"} <= set(page.figures)
    assert re.search(r"\d+% of 111 items.*alpha", page.answer_text), (
        "the share in plain words, the coefficient behind it"
    )
    assert "raw agreement" not in said


@pytest.mark.slow
def test_on_the_demo_it_bears_the_banner_and_all_parts(bench):
    results, page, folder = report(bench, source="demo")
    assert "Simulated and planted ratings" in results["banner"]
    assert set(results["results"]) >= PARTS
    assert {f"families.{kind}" for kind in ("pdf", "png", "svg")} <= {each.name for each in folder.glob("figures/*")}
    assert "Items to read first" in page
    assert results["results"]["confident"]["normalised"].startswith("ranks within these ratings")


def independent_kappas(path, weights):
    """Which pairs of judges are of one family, and every pair's kappa by scikit-learn, from the raw file."""
    labels = json.loads(path.read_text(encoding="utf-8"))
    pairs = list(itertools.combinations(labels, 2))
    kappas = [
        cohen_kappa_score(
            [labels[a][item] for item in labels[a]], [labels[b][item] for item in labels[a]], weights=weights
        )
        for a, b in pairs
    ]
    return np.array([family_of(a) == family_of(b) for a, b in pairs]), np.array(kappas)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["agentprocessbench", "summeval"])
def test_on_real_judges(bench, shared_data, monkeypatch, source):
    monkeypatch.setenv("AXISJUDGE_DATA", str(shared_data))
    results, _, _ = report(bench, source=source)
    found = results["results"]
    assert results["banner"] is None
    assert found["triage"]["agreement_sure"]["n_clusters"] == 28  # of the demo: votes have no confidences
    if source == "agentprocessbench":
        assert found["effective_judges"]["n_effective"]["estimate"] == pytest.approx(2.27, abs=0.005)
        scores = {score["judge"]: score for score in found["step_scores"]["judges"]}
        gemini = scores["Gemini-3-Flash-Preview-Thinking"]
        assert gemini["step_accuracy"]["estimate"] == pytest.approx(0.8347, abs=5e-5)
        assert gemini["kappa"]["cluster_unit"] == "query"
    else:
        together = found["families"]
        assert together["coefficient"] == "cohen_kappa_quadratic"
        path = shared_data / "alttest" / "summeval" / "llm_annotations.json"
        families, kappas = independent_kappas(path, "quadratic")
        assert together["within"]["estimate"] < np.mean(kappas[families])  # one table counts that criteria differ
        alphas = [each["coefficients"]["ordinal_alpha"]["estimate"] for each in found["agreement"]["questions"]]
        assert min(alphas) < together["alpha_judges"]["estimate"] < max(alphas) < 0.326
        assert together["same"]["n_items"] == 6400
        families, plain = independent_kappas(path, None)
        assert (plain[families].mean(), plain[~families].mean()) == (
            pytest.approx(0.372, abs=5e-4),
            pytest.approx(0.150, abs=5e-4),
        )  # what unweighted kappa gives, whose grades are words without order
