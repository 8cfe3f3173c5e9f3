"""The votes that ship: rating for rating those of the source, numbers alone, and the same bytes when made again."""

import json
import runpy
from hashlib import sha256

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import list_datasets, published_votes
from axisjudge.datasets.votes import FILE, SUBSETS
from axisjudge.labels import read_agentprocessbench
from axisjudge.ratings import SCHEMA, read_ratings
from axisjudge.workbench import home

SAID = [
    "step_index",
    "domain",
    "question",
    "scale",
    "rater",
    "rater_kind",
    "family",
    "model",
    "status",
    "verdict",
    "value",
]
IDS = ["task_id", "cluster_id", "trajectory_id", "item_id"]


def short(subset: str, name: str) -> str:
    return f"{subset}-{sha256(name.encode()).hexdigest()[:8]}"


@pytest.mark.slow
@pytest.mark.parametrize("subset", SUBSETS)
def test_equal_rating_for_rating_to_the_source(shared_data, subset):
    theirs = read_agentprocessbench(shared_data / "agentprocessbench", subset)
    names = pl.concat([theirs["task_id"], theirs["trajectory_id"]]).unique()
    known = {name: short(subset, name) for name in names}
    assert len(set(known.values())) == len(known)
    run, step = pl.col("trajectory_id").replace_strict(known), pl.col("step_index").cast(pl.String)
    theirs = theirs.with_columns(
        pl.col("task_id", "cluster_id").replace_strict(known),
        run,
        item_id=pl.when(step.is_null()).then(run).otherwise(run + "#" + step),
    )
    ours = published_votes(subset)
    assert ours.schema == theirs.schema == pl.Schema(SCHEMA)
    key = ["question", "rater", "item_id"]
    assert not ours.select(key).is_duplicated().any()
    columns = [*IDS, *SAID]
    assert ours.sort(key).select(columns).equals(theirs.sort(key).select(columns), null_equal=True)


@pytest.mark.slow
def test_counts_of_the_source_by_plain_json(shared_data):
    """Votes and lost votes of every judge's file, counted without our reader."""
    votes = published_votes()
    for path in sorted((shared_data / "agentprocessbench" / "judges").glob("*/*.jsonl")):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        steps = [label for record in records for label in record["step_labels"].values()]
        mine = votes.filter(
            pl.col("rater") == path.parent.name, pl.col("item_id").str.starts_with(path.stem), question="step"
        )
        assert mine.height == len(steps)
        assert mine["value"].null_count() == steps.count(None)
        assert mine["value"].sum() == sum(label or 0 for label in steps)


@pytest.mark.slow
def test_the_same_files_give_the_same_bytes(shared_data, tmp_path):
    script = runpy.run_path(str(home() / "data" / "published" / "votes" / "make_votes.py"))
    out = tmp_path / "votes.parquet"
    script["make"](shared_data / "agentprocessbench", out)
    assert out.read_bytes() == (home() / FILE).read_bytes(), "make_votes.py gives other bytes: other files, or polars?"


def test_it_is_compact_and_holds_no_text():
    path = home() / FILE
    assert path.stat().st_size < 100_000
    table = pl.read_parquet(path)
    words = [name for name, kind in table.schema.items() if kind == pl.String and not name.endswith("_id")]
    assert max(table[name].str.len_chars().max() for name in words) <= 33  # the longest name of a model
    assert table["task_id", "trajectory_id"].select(pl.all().str.contains(r"^[a-z0-9]+-[0-9a-f]{8}$").all()).row(0) == (
        True,
        True,
    )
    assert set(table["value"]) == {-1, 0, 1, None}


def test_tasks_runs_and_the_order_of_steps_can_be_told():
    votes = published_votes(level="step")
    people = votes.filter(rater_kind="human")
    runs = people.group_by("trajectory_id").agg(
        pl.col("task_id").n_unique(), pl.col("step_index").is_duplicated().any()
    )
    assert runs.height == 750
    assert set(runs["task_id"]) == {1}
    assert not runs["step_index"].any()
    assert set(people.group_by("task_id").agg(pl.col("trajectory_id").n_unique())["trajectory_id"]) == {5}
    for _, run in people.group_by("trajectory_id"):
        assert run["step_index"].is_sorted()


def test_it_is_a_ratings_table_that_keeps_every_rule(tmp_path):
    votes = published_votes(("tau2", "bfcl"), level="final")
    assert votes.height == 2 * 21 * 250
    votes.write_parquet(tmp_path / "votes.parquet")
    assert read_ratings(tmp_path / "votes.parquet").height == votes.height


def test_level_and_subset():
    both = published_votes("hotpotqa")
    assert (
        published_votes("hotpotqa", level="step").height + published_votes("hotpotqa", level="final").height
        == both.height
    )
    assert both["family"].n_unique() == 7
    assert both.filter(rater_kind="llm")["rater"].n_unique() == 20
    with pytest.raises(InputError, match="must be one of tau2, hotpotqa, bfcl"):
        published_votes("gaia")
    with pytest.raises(InputError, match="must be one of step, final, both"):
        published_votes(level="run")


def test_a_file_that_is_none_is_named(tmp_path, monkeypatch):
    for name in ("rubrics", "notebooks"):
        (tmp_path / name).mkdir()
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text("no votes")
    monkeypatch.setattr("axisjudge.workbench._chosen", tmp_path)
    with pytest.raises(InputError, match=r"agentprocessbench\.parquet: does not hold the votes"):
        published_votes("tau2")


def test_the_source_is_named_with_commit_and_licence():
    text = (home() / FILE).with_name("SOURCE.md").read_text(encoding="utf-8")
    source = next(dataset for dataset in list_datasets() if dataset.name == "agentprocessbench")
    commit = source.url.rstrip("/").rpartition("/")[2]
    assert commit in text
    assert "MIT" in text
    counts = pl.read_parquet(home() / FILE).group_by("subset", "question").len()
    assert all(f"{count:,}" in text for count in counts["len"])
