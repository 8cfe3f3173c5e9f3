"""axisjudge confidence as a user meets it."""

import json

import pytest
from cli.conftest import axisjudge

from axisjudge.workbench import home


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    out = tmp_path_factory.mktemp("confidence") / "ratings.jsonl"
    one_file = min((home() / "data" / "demo" / "results").glob("*.json"))
    done = axisjudge("judge", one_file, "--judge", "rules", "--judge", "simulated:heron", "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def test_a_table_a_sentence_for_each_judge_and_the_whole_as_json(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    page = axisjudge("confidence", ratings, "--labels", labels)
    assert page.returncode == 0, page.stderr
    assert "Confidence against labels" in page.stdout
    assert page.stdout.count("AUROC") == 2
    full = json.loads(called("confidence", ratings, "--labels", labels, "--json").stdout)
    assert [judge["judge"] for judge in full["judges"]] == ["rules", "simulated:heron"]
    heron = full["judges"][1]
    assert heron["brier"] == pytest.approx(
        heron["miscalibration"] - heron["discrimination"] + heron["uncertainty"], abs=1e-12
    )
    assert heron["recalibration"]["platt"] is None  # no split, and NaN is not JSON


def test_labels_that_are_none_are_one_line_and_exit_code_2(ratings, called):
    page = called("confidence", ratings, "--labels", ratings)
    assert (page.returncode, page.stdout) == (2, "")
    assert page.stderr.startswith("axisjudge: labels: must be of people, or planted truth")
    assert page.stderr.count("\n") == 1
    assert called("confidence", ratings).returncode == 2
