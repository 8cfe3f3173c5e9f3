"""`axisjudge panel fit|apply|trust` and `label next`: from votes to a bound, one command after the other."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.datasets import published_votes
from axisjudge.labels.sampling import read_sampling, with_drawn
from axisjudge.ratings import read_ratings, write_ratings


def run(*arguments, code=0):
    found = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(found.exception, InputError):
        raise found.exception
    assert found.exit_code == code, found.output
    return found.output


@pytest.fixture
def files(tmp_path):
    """Finals of hotpotqa by six judges; labels of some queries to fit on, of the others for the bound."""
    votes = published_votes("hotpotqa", "final")
    kept = [*sorted(set(votes["rater"]))[:6], "people"]
    votes = votes.filter(pl.col("rater").is_in(kept))
    tasks = sorted(set(votes["cluster_id"]))
    people = pl.col("rater_kind") == "human"
    first = pl.col("cluster_id").is_in(tasks[:15])
    by_chance = pl.lit(["drawn:random"])
    write_ratings(votes.filter(~people), tmp_path / "r.jsonl")
    write_ratings(votes.filter(people & first).with_columns(flags=by_chance), tmp_path / "fit.jsonl")
    write_ratings(votes.filter(people & ~first).with_columns(flags=by_chance), tmp_path / "more.jsonl")
    with workbench.at(protocol.rehearsal(tmp_path / "bench")):
        yield tmp_path


@pytest.mark.slow
def test_from_votes_to_panel_ratings_and_a_bound(files):
    ratings, panel = files / "r.jsonl", files / "p.json"
    made = json.loads(run("panel", "fit", ratings, "--labels", files / "fit.jsonl", "--out", panel, "--json"))
    again = ("panel", "fit", ratings, "--labels", files / "fit.jsonl", "--name", "p", "--json", "--out")
    assert made["sha256"] == json.loads(run(*again, files / "q.json"))["sha256"]
    with pytest.raises(InputError, match="is there already"):
        run(*again, panel)
    out = run("panel", "apply", panel, ratings, "--out", files / "pr.jsonl")
    assert "are of tasks that it was fitted on" in out
    given = read_ratings(files / "pr.jsonl")
    assert set(given["prompt_sha256"]) == {made["sha256"]}
    assert given.height == 250
    with pytest.raises(InputError, match="is there already"):
        run("panel", "apply", panel, ratings, "--out", files / "pr.jsonl")
    found = json.loads(run("panel", "trust", panel, "--labels", files / "more.jsonl", "--risk", "0.35", "--json"))
    assert found["verdict"] == "granted"
    same = json.loads(run("panel", "trust", "--judge", "panel:p", "--ratings", files / "pr.jsonl", "--labels",
                          files / "more.jsonl", "--risk", "0.35", "--json"))  # fmt: skip
    assert same["alone"]["threshold"] == pytest.approx(found["alone"]["threshold"])
    assert same["alone"]["share"] == found["alone"]["share"]
    assert "tasks that it was fitted on" in run("panel", "trust", panel, "--labels", files / "fit.jsonl", code=1)
    run("panel", "trust", panel, "--labels", files / "more.jsonl", "--risk", "0.01", code=1)
    with pytest.raises(InputError, match="--question"):
        run("panel", "trust", panel, "--labels", files / "more.jsonl", "--question", "sequencing of another")
    ratings.write_text(ratings.read_text() + ratings.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="is not what it was when the panel was fitted"):
        run("panel", "trust", panel, "--labels", files / "more.jsonl")


def test_runs_to_label_next_carry_probabilities_and_labels_that_there_are_join_them(files):
    panel = files / "p.json"
    run("panel", "fit", files / "r.jsonl", "--out", panel)
    out = run("label", "next", files / "r.jsonl", "--panel", panel, "--n", "40", "--labels", files / "fit.jsonl",
              "--keep", files / "kept.jsonl", "--out", files / "n.sampling.json")  # fmt: skip
    plan = read_sampling(files / "n.sampling.json")
    assert len(plan.items) == 40
    kept = with_drawn(read_ratings(files / "kept.jsonl"))
    probability = {item.trajectory_id: item.probability for item in plan.items}
    assert dict(kept.select("trajectory_id", "drawn_probability").iter_rows()).items() <= probability.items()
    assert f"{40 - kept.height} of 40 drawn runs" in out
    assert set(kept["drawn_by"]) == {plan.key}
    with pytest.raises(InputError, match="between 1 and the 250 runs"):
        run("label", "next", files / "r.jsonl", "--panel", panel, "--n", "251", "--out", files / "x.sampling.json")


def test_what_is_missing_is_said_in_one_line(files):
    with pytest.raises(InputError, match="name a panel file, or one judge"):
        run("panel", "trust", "--labels", files / "fit.jsonl")
    with pytest.raises(InputError, match="is written JUDGE=USD"):
        run("panel", "fit", files / "r.jsonl", "--price", "x", "--out", files / "p.json")
    with pytest.raises(InputError, match="weighing judges needs labels"):
        run("panel", "fit", files / "r.jsonl", "--way", "ridge", "--out", files / "p.json")
    with pytest.raises(InputError, match="--cross-fitted"):
        run("panel", "trust", "--judge", "x", "--ratings", files / "r.jsonl", "--cross-fitted")
    (files / "no.json").write_text("{}")
    with pytest.raises(InputError, match="is not a fitted panel"):
        run("panel", "apply", files / "no.json", files / "r.jsonl", "--out", files / "x.jsonl")
