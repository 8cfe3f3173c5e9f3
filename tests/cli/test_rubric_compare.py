"""`axisjudge rubric compare` says what the study says, for people and for programs."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner
from version_worlds import table, world

from axisjudge.cli import app
from axisjudge.studies.rubric_versions import rubric_versions

AXES = ("argument_validity", "sequencing")


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(1)
    return pl.concat([table(*world(rng, tasks=12, hit=(0.75, 0.93)), axis=axis) for axis in AXES])


@pytest.fixture(scope="module")
def path(ratings, tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "ratings.parquet"
    ratings.write_parquet(path)
    return path


def run(*arguments):
    done = CliRunner().invoke(app, ["rubric", "compare", *map(str, arguments)])
    return done.exit_code, done.output


def test_two_axes_are_one_family_and_every_figure_is_the_study_s(ratings, path):
    result = rubric_versions(ratings, dict.fromkeys(AXES, ("v1", "v2")))
    code, text = run(path, "--change", f"{AXES[0]}=v1:v2", "--change", f"{AXES[1]}=v1:v2")
    assert code == 0
    for turn in result.turns:
        assert turn.headline in text
        assert f"{turn.agreement.p_adjusted:.3f}" in text
        assert all(sentence in text for sentence in turn.details)
    code, text = run(path, "--change", f"{AXES[0]}=v1:v2", "--change", f"{AXES[1]}=v1:v2", "--json")
    told = json.loads(text)
    assert told["family"] == list(AXES)
    assert [turn["word"] for turn in told["turns"]] == [turn.decision.outcome for turn in result.turns]
    assert told["turns"][0]["agreement"]["p_adjusted"] == pytest.approx(result.turns[0].agreement.p_adjusted)


@pytest.mark.parametrize(
    ("run_of", "repeats", "code"),
    [
        (pl.lit("one"), 3, 0),
        (pl.col("rubric_version"), 4, 4),
        pytest.param(pl.format("{}{}", "rubric_version", "repeat"), 3, 4, marks=pytest.mark.slow),
        pytest.param(pl.format("{}{}", "rubric_version", "repeat"), 4, 0, marks=pytest.mark.slow),
    ],
)
def test_versions_of_two_occasions_are_no_progress_without_four_of_one(tmp_path, run_of, repeats, code):
    """A model that changed between them looks like a rubric; programs do not change."""
    better = table(*world(np.random.default_rng(1), tasks=40, repeats=repeats, hit=(0.7, 0.95)), axis=AXES[0])
    paths = {kind: tmp_path / f"{kind}.parquet" for kind in ("llm", "rules")}
    for kind, path in paths.items():
        better.with_columns(run_id=run_of.cast(pl.String), rater_kind=pl.lit(kind)).write_parquet(path)
    asked = ("--change", f"{AXES[0]}=v1:v2")
    ended, text = run(paths["llm"], *asked)
    assert ended == code, text
    assert ("noise of occasions was not measured" in text) == (code == 4)
    told = json.loads(run(paths["llm"], *asked, "--json")[1])["turns"][0]
    assert (told["word"], told["occasions_apart"]) == (("noise not measured", True) if code else ("progress", False))
    assert run(paths["rules"], *asked)[0] == 0


def test_looking_again_and_again_has_wider_intervals_and_prints_their_price(ratings, path):
    asked = ("--change", f"{AXES[0]}=v1:v2", "--looking")
    code, text = run(path, *asked)
    assert code == 0
    (look,) = json.loads(run(path, *asked, "--json")[1])["looks"]
    turn = rubric_versions(ratings, {AXES[0]: ("v1", "v2")}).turns[0].agreement
    assert look["change"] == pytest.approx(turn.change.estimate, abs=1e-9)
    assert look["high"] - look["low"] > turn.change.ci_high - turn.change.ci_low
    assert look["times the tasks"] > 1
    assert f"{look['times the tasks']:.1f} times" in text
    assert (look["stop"] == "yes") == ("Stop:" in text) == (look["evidence"] >= 20)


@pytest.mark.parametrize("change", ["argument_validity", "argument_validity=v1", "no_axis=v1:v2"])
def test_a_change_that_cannot_be_read_is_refused(path, change):
    code, _ = run(path, "--change", change)
    assert code != 0
