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
