"""`axisjudge curve fit` and `apply` as people run them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scores.curve_worlds import World
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app

WORLD = World(n_tasks=20, runs=3, centre=-0.9, spread=0.3)


def run(*arguments: object):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    raw = WORLD.raw(rng)
    human = WORLD.human(rng, raw)
    labels = np.array(["poor", "fair", "good"])[np.digitize(human, [40, 70])]
    path = tmp_path_factory.mktemp("curve") / "scores.csv"
    pl.DataFrame(
        {"raw": raw, "human": human, "against": 100 - human, "label": labels, "task": [f"t{n}" for n in WORLD.tasks]}
    ).write_csv(path)
    return path


def test_fit_writes_a_curve_that_apply_reads(table: Path, tmp_path: Path) -> None:
    curve, out = tmp_path / "curve.json", tmp_path / "scored.csv"
    done = run("curve", "fit", table, "--out", curve)
    assert done.exit_code == 0, done.output
    assert "all: the criterion_score is 50 at a raw score of " in done.output
    assert "noise is unknown" in done.output
    done = run("curve", "apply", table, "--curve", curve, "--out", out)
    assert done.exit_code == 0, done.output
    assert "people give 50 of 100" in done.output
    assert "and 40 more rows" in done.output
    scored = pl.read_csv(out).filter(pl.col("raw") > 0.05)
    assert (scored["criterion_score_low"] < scored["criterion_score"]).all()
    assert (scored["criterion_score"] < scored["criterion_score_high"]).all()


def test_the_full_result_as_json(table: Path, tmp_path: Path) -> None:
    curve = tmp_path / "curve.json"
    fitted = json.loads(run("curve", "fit", table, "--out", curve, "--json").output)["all"]
    assert fitted["median"]["ci_low"] < fitted["median"]["estimate"] < fitted["median"]["ci_high"]
    assert fitted["forms"][0]["form"] == "log_normal"
    applied = json.loads(run("curve", "apply", table, "--curve", curve, "--mended", "--json").output)
    assert applied["mended"]
    assert len(applied["rows"]) == 60


def test_labels_and_a_population(table: Path) -> None:
    ordinal = run("curve", "fit", table, "--human", "label", "--labels", "poor,fair,good", "--cut", "good")
    assert ordinal.exit_code == 0, ordinal.output
    assert "half of the labels are 'good' or better" in ordinal.output
    norm = run("curve", "fit", table, "--reference", "norm")
    assert norm.exit_code == 0, norm.output
    assert "norm_score" in norm.output
    assert "criterion_score" not in norm.output


def test_a_refused_fit_is_a_failed_check_and_writes_nothing(table: Path, tmp_path: Path) -> None:
    curve = tmp_path / "curve.json"
    done = run("curve", "fit", table, "--human", "against", "--out", curve)
    assert done.exit_code == 1
    assert "people's scores do not rise with the raw score" in done.output
    assert "To collect" in done.output
    assert "not written" in done.output
    assert not curve.exists()


def test_the_effect_of_a_floor_is_printed_where_raw_scores_are_0(table: Path, tmp_path: Path) -> None:
    zeros = tmp_path / "zeros.csv"
    pl.read_csv(table).with_columns(raw=pl.when(pl.col("task") == "t0").then(0.0).otherwise("raw")).write_csv(zeros)
    done = run("curve", "fit", zeros)
    assert "what a floor for raw 0 would make of the fit" in done.output
    assert "left out" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "none.csv"), "no such table"),
        (("fit", "TABLE", "--raw", "rw"), "needs a column 'rw'"),
        (("fit", "TABLE", "--reference", "nrom"), "did you mean 'norm'"),
        (("fit", "TABLE", "--human", "label"), "label: must hold numbers"),
        (("fit", "TABLE", "--floor", "2"), "floor: must lie between 0 and 1"),
        (("apply", "TABLE", "--curve", "none.json"), "no such curve file"),
        (("apply", "TABLE", "--curve", "TABLE"), "is not a curve file"),
    ],
)
def test_bad_input_is_one_line(table: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("curve", *(str(table) if each == "TABLE" else each for each in arguments))
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)


def test_an_axis_result_under_fitted_curves_says_so(table: Path, tmp_path: Path) -> None:
    from axisjudge.datasets.registry import demo_transcripts

    curve, transcript = tmp_path / "curve.json", demo_transcripts()[0]
    fitted = pl.read_csv(table).with_columns(dimension=pl.lit("service"), raw=pl.col("raw") * 0.5)
    fitted.write_csv(tmp_path / "service.csv")
    assert run("curve", "fit", tmp_path / "service.csv", "--dimension", "dimension", "--out", curve).exit_code == 0
    before, after = (
        json.loads(run("axis-result", transcript, "--json", *options).output)["results"][0]
        for options in ((), ("--curves", curve))
    )
    scores = [{each["name"]: each["score"] for each in result["dimensions"]} for result in (before, after)]
    assert scores[0]["service"] < scores[1]["service"]
    assert scores[0]["environment"] == scores[1]["environment"]
    assert any("service: criterion_score by a fitted curve" in mark for mark in after["marks"])
    assert any("agent: the program's assumed curve" in mark for mark in after["marks"])
    assert not any("curve" in mark for mark in before["marks"])


def test_a_curve_of_no_axis_dimension_is_refused(table: Path, tmp_path: Path) -> None:
    from axisjudge.datasets.registry import demo_transcripts

    curve = tmp_path / "curve.json"
    run("curve", "fit", table, "--out", curve)
    assert "is there already" in str(run("curve", "fit", table, "--out", curve).exception)
    done = run("axis-result", demo_transcripts()[0], "--curves", curve)
    assert "AXIS dimensions are environment, service, agent; found 'all'" in str(done.exception)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"curve": None},
        {"reference": "both"},
        {"curve": {"form": "log_normal", "median": "x", "sigma": 1}},
        {
            "line": {
                "intercept": 0,
                "slope": 1,
                "covariance": [[1], [1, 2]],
                "degrees": 9,
                "n_clusters": 9,
                "n_items": 9,
            }
        },
        {
            "line": {
                "intercept": "0",
                "slope": 1,
                "covariance": [[1, 0], [0, 1]],
                "degrees": 9,
                "n_clusters": 9,
                "n_items": 9,
            }
        },
        {"median": {"ci_level": "95"}},
    ],
)
def test_a_curve_file_that_was_edited_by_hand_is_refused_in_one_line(table: Path, tmp_path: Path, spoilt) -> None:
    curve = tmp_path / "curve.json"
    assert run("curve", "fit", table, "--out", curve).exit_code == 0
    whole = json.loads(curve.read_text())["all"]
    spoilt = {name: {**whole[name], **to} if name == "median" else to for name, to in spoilt.items()}
    curve.write_text(json.dumps({"all": whole | spoilt}))
    with pytest.raises(InputError):
        app(["curve", "apply", str(table), "--curve", str(curve)], standalone_mode=False)
