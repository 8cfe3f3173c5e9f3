"""Ratings of one's own on every scale, several questions in one file, and steps: notebooks 02, 03 and 10 take them."""

import json
import random

import krippendorff
import numpy as np
import polars as pl
import pytest

from axisjudge.datasets import published_votes
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.ratings import write_ratings
from axisjudge.report import ReportError, run_report

RATERS = {"anna": "human", "bert": "human", "gpt-4o": "llm", "qwen3-8b": "llm"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Four questions on four scales in one file that names its columns in another language."""
    chance = random.Random(1)
    rows = []
    for number in range(60):
        share, stars, seconds = chance.random(), chance.randint(1, 5), chance.uniform(20, 90)
        for rater, kind in RATERS.items():
            answers = {
                "quality": min(1.0, max(0.0, share + chance.gauss(0, 0.1))),
                "stars": min(5, max(1, stars + chance.choice([-1, 0, 0, 0, 1]))),
                "seconds": round(seconds + chance.gauss(0, 8), 1),
                "ok": "ja" if chance.random() < 0.5 + share / 3 else "nein",
            }
            rows += [
                {"fall": f"r{number}", "wer": rater, "art": kind, "frage": question, "antwort": answer}
                for question, answer in answers.items()
            ]
    path = tmp_path_factory.mktemp("scales") / "scales.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    columns = {"fall": "trajectory_id", "wer": "rater", "art": "rater_kind", "frage": "question", "antwort": "verdict"}
    return import_ratings([path], ImportOptions(columns=columns)).ratings


def results(bench, notebook, **parameters):
    folder = run_report(notebook, parameters, workbench=bench).folder
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]


def test_each_question_has_the_scale_that_its_answers_show(table):
    scales = dict(table.select("question", "scale").unique().rows())
    assert {question: scale.partition(":")[0] for question, scale in scales.items()} == {
        "quality": "unit", "stars": "ordinal", "seconds": "interval", "ok": "nominal",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("question", ["quality", "seconds", "stars", "ok"])
def test_notebooks_02_and_03_take_every_scale(bench, table, question):
    path = bench / "scales.parquet"
    write_ratings(table, path)
    found = results(bench, "02_agreement", ratings=str(path), question=question)
    (only,) = found["agreement"]["questions"]
    level = {"quality": "interval", "seconds": "interval", "stars": "ordinal", "ok": "nominal"}[question]
    coefficients = only["coefficients"]
    judges = [rater for rater, kind in RATERS.items() if kind == "llm"]
    mine = table.filter((pl.col("question") == question) & pl.col("rater").is_in(judges))
    answer = "value" if level != "nominal" else "verdict"
    wide = mine.pivot("rater", index="item_id", values=answer).drop("item_id")
    values = wide.to_numpy().T if level != "nominal" else (wide.to_numpy().T == "ja").astype(float)
    expected = krippendorff.alpha(np.asarray(values, dtype=float), level_of_measurement=level)
    (alpha,) = (coefficients[name] for name in coefficients if name.endswith("alpha"))
    assert alpha["estimate"] == pytest.approx(expected)
    assert any(name.startswith("icc") for name in coefficients) == (level == "interval")
    assert any("nominal" in name or name == "kappa" for name in coefficients) == (level == "nominal")
    if level == "interval":
        with pytest.raises(ReportError, match="never right or wrong"):
            results(bench, "03_people", ratings=str(path), question=question)
        return
    compared = results(bench, "03_people", ratings=str(path), question=question)["comparison"]
    assert [each["question"] for each in compared["questions"]] == [question]
    assert {judge["judge"] for judge in compared["questions"][0]["judges"]} == set(judges)


@pytest.fixture
def votes(bench):
    """Finals and steps of few queries by few judges in one file."""
    every = published_votes("tau2", "both")
    raters = ["people", "GPT-5.2", "Kimi-K2.5", "Qwen3-8B"]
    queries = sorted(set(every["task_id"]))[:12]
    path = bench / "votes.parquet"
    write_ratings(every.filter(pl.col("rater").is_in(raters) & pl.col("task_id").is_in(queries)), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("notebook", "more"),
    [
        ("02_agreement", {}),
        ("03_people", {}),
        ("10_succession", {"old": "GPT-5.2", "new": "Kimi-K2.5"}),
    ],
)
def test_steps_of_a_file_that_holds_finals_as_well(bench, votes, notebook, more):
    found = json.dumps(results(bench, notebook, ratings=str(votes), steps=True, **more))
    assert '"step"' in found
    assert '"final"' not in found
