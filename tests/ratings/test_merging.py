"""Shards put together, datasets, and what is missing."""

import polars as pl
import pytest
from ratings.worlds import drawn
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.ratings import SCHEMA, in_order, read_ratings, write_ratings
from axisjudge.ratings.dataset import dataset_stats, parts_of, scan_ratings
from axisjudge.ratings.merging import Merged, merged, missing, write_dataset
from axisjudge.ratings.table import ASIDE, by_identity
from axisjudge.studies.agreement import agreement_of_dataset
from axisjudge.verdict import IDENTITY


@pytest.fixture
def table():
    return drawn(1, n=20)


def said(table, word):
    return table.with_columns(verdict=pl.when(pl.col("status") == "ok").then(pl.lit(word)))


def test_a_later_line_wins_and_conflicts_are_counted(table):
    first = table.head(30)
    n_ok = first.filter(pl.col("status") == "ok").height
    same = first.filter((pl.col("status") == "ok") & (pl.col("verdict") == "correct")).height
    found, rest = merged(pl.concat([table, said(first, "correct")]))
    assert found == Merged(table.height, 30, n_ok - same)
    later = rest.join(first.filter(pl.col("status") == "ok"), on=IDENTITY, how="semi", nulls_equal=True)
    assert set(later["verdict"]) == {"correct"}


def test_a_loss_takes_no_verdict_away_but_a_person_may_take_a_label_back(tmp_path, table):
    nothing = {"status": pl.lit("refused"), "verdict": pl.lit(None, pl.String)}
    rated = table.filter(pl.col("status") == "ok")
    for kind, left in (("llm", rated.height), ("human", rated.height - 9)):
        lines = rated.with_columns(rater_kind=pl.lit(kind))
        write_ratings(lines, tmp_path / f"{kind}.jsonl")
        write_ratings(lines[:9].with_columns(**nothing), tmp_path / f"{kind}-later.jsonl")
        files = [tmp_path / f"{kind}.jsonl", tmp_path / f"{kind}-later.jsonl"]
        write_dataset(files, tmp_path / kind)
        found, kept = merged(pl.concat([lines, lines[:9].with_columns(**nothing)]))
        assert found == Merged(rated.height, 9, 0)
        for ratings in (kept, read_ratings(*files), read_ratings(tmp_path / kind)):
            assert (ratings["status"] == "ok").sum() == left


@pytest.mark.parametrize("size", [7, 1_000_000])
def test_a_dataset_holds_what_its_sources_hold_in_one_order(tmp_path, table, size):
    odd = table.head(9).with_columns(question=pl.lit("is it a/b = c?"))
    files = [tmp_path / "one.jsonl", tmp_path / "two.parquet", tmp_path / "three.jsonl"]
    for file, rows in zip(files, (table[:50], table[50:], odd), strict=True):
        write_ratings(rows, file)
    found = write_dataset(files, tmp_path / "ratings", ratings_a_part=size)
    assert found == Merged(table.height + 9, 0, 0)
    every = by_identity(pl.concat([table, odd]))
    assert by_identity(scan_ratings(tmp_path / "ratings").collect()).equals(every)
    assert read_ratings(tmp_path / "ratings").equals(read_ratings(*files))
    again = write_dataset([tmp_path / "ratings"], tmp_path / "again")
    assert again == found
    assert by_identity(scan_ratings(tmp_path / "again").collect()).equals(every)
    rows = dataset_stats(tmp_path / "ratings")
    assert [row["question"] for row in rows] == ["is it a/b = c?", "sequencing", "termination"]
    assert sum(row["ratings"] for row in rows) == every.height


def test_all_ratings_of_a_run_stand_in_one_part(tmp_path, table):
    write_ratings(table, tmp_path / "r.jsonl")
    write_dataset([tmp_path / "r.jsonl"], tmp_path / "ratings", ratings_a_part=10)
    for question in ("sequencing", "termination"):
        runs = [
            run
            for part in parts_of(tmp_path / "ratings")
            if part.question == question
            for run in part.scan().select(pl.col("trajectory_id").unique()).collect()["trajectory_id"]
        ]
        assert len(runs) == len(set(runs)) == table.filter(pl.col("question") == question)["trajectory_id"].n_unique()


def test_only_the_columns_that_are_asked_for_are_read(tmp_path, table):
    write_ratings(table, tmp_path / "r.jsonl")
    write_dataset([tmp_path / "r.jsonl"], tmp_path / "ratings")
    plan = scan_ratings(tmp_path / "ratings").filter(pl.col("question") == "sequencing").select("verdict").explain()
    assert "PROJECT 2/" in plan  # the question is the folder's name
    assert "termination" not in plan


@pytest.mark.slow
def test_lean_tables_lack_what_no_analysis_uses_and_nothing_else(tmp_path, table):
    """Commands print the same of a dataset in parts and of a file; an older prompt gives way in both."""
    paid = table.with_columns(rationale=pl.lit("because"), cost_usd=0.1, prompt_sha256=pl.lit("new"))
    older = said(paid.head(12).with_columns(prompt_sha256=pl.lit("old")), "incorrect")
    file, folder = tmp_path / "r.jsonl", tmp_path / "ratings"
    write_ratings(pl.concat([older, paid]), file)
    write_dataset([file], folder, ratings_a_part=20)
    with pytest.warns(UserWarning, match="12 ratings by an older prompt"):
        whole, lean = (read_ratings(folder, latest=True, lean=choice) for choice in (False, True))
    assert whole["rationale"].null_count() == whole["cost_usd"].null_count() == 0
    assert lean["question"].rle().len() == lean["question"].n_unique()  # in order, question by question
    assert in_order(lean).equals(whole.with_columns(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in ASIDE))
    for command in (["profile"], ["compare", "--labels", str(file)]):
        with pytest.warns(UserWarning, match="12 ratings by an older prompt"):
            printed = [CliRunner().invoke(app, [*command, str(path), "--json"]) for path in (file, folder)]
        assert [each.exit_code for each in printed] == [0, 0], printed[0].output
        assert printed[0].stdout == printed[1].stdout


def test_files_that_others_wrote_are_counted_question_by_question(tmp_path, table):
    """Their names vouch for nothing: raters of one run may stand in different files, and lines twice."""
    for rater in table["rater"].unique():
        home = tmp_path / "theirs" / "question=sequencing"
        home.mkdir(parents=True, exist_ok=True)
        own = table.filter((pl.col("rater") == rater) & (pl.col("question") == "sequencing"))
        pl.concat([own, own.head(3)]).drop("question", "latency_s").write_parquet(home / f"{rater}.parquet")
    (part,) = parts_of(tmp_path / "theirs")
    assert len(part.files) == 3
    write_dataset([tmp_path / "theirs"], tmp_path / "ours")
    first, second = (agreement_of_dataset(str(tmp_path / name))[0].overall for name in ("theirs", "ours"))
    assert first.to_dict() == second.to_dict()


@pytest.mark.slow
def test_a_large_file_is_cut_between_runs_and_counted_as_before(tmp_path, table, monkeypatch):
    """Every rating is in one part, no run in two; what stands in another order is one part."""
    from axisjudge.ratings import dataset

    monkeypatch.setattr(dataset, "_LARGE", 1)
    sound = by_identity(table)
    for name, order in {"sorted": ["item_id"], "mixed": ["rater", "item_id"]}.items():
        for (question,), part in sound.sort(order, maintain_order=True).group_by("question", maintain_order=True):
            home = tmp_path / name / f"question={question}"
            home.mkdir(parents=True)
            half = part.height // 2
            part[:half].drop("question").write_parquet(home / "b.parquet")
            part[half:].drop("question").write_parquet(home / "c.parquet")
    before = [agreement_of_dataset(str(tmp_path / name))[0].to_dict() for name in ("sorted", "mixed")]
    monkeypatch.setattr(dataset, "RATINGS_A_PART", 7)
    monkeypatch.setattr(dataset, "_STRETCHES", 2)
    parts = {name: parts_of(tmp_path / name) for name in ("sorted", "mixed")}
    for of_name in parts.values():
        held = [part.scan().select("trajectory_id", "question", "rater").collect() for part in of_name]
        assert pl.concat(held).sort(pl.all()).equals(sound.select(held[0].columns).sort(pl.all()))
        assert pl.concat(each.select("trajectory_id", "question").unique() for each in held).is_unique().all()
    assert len(parts["sorted"]) > sound["question"].n_unique() == len(parts["mixed"])
    assert scan_ratings(tmp_path / "sorted").collect().height == sound.height
    assert [agreement_of_dataset(str(tmp_path / name))[0].to_dict() for name in ("sorted", "mixed")] == before
    assert sum(row["ratings"] for row in dataset_stats(tmp_path / "sorted")) == sound.height
    assert {row["files"] for row in dataset_stats(tmp_path / "sorted")} == {2}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["ratings", "stats"], ["agreement"], ["profile"], ["ratings", "compact", "--out", "x"]]
)
@pytest.mark.parametrize("odd", ["text", "columns", "lines"])
def test_what_is_among_the_parts_and_no_ratings_is_named(tmp_path, table, command, odd):
    """No traceback, and nothing passed over in silence."""
    write_ratings(table, tmp_path / "r.jsonl")
    write_dataset([tmp_path / "r.jsonl"], tmp_path / "ratings")
    name = tmp_path / "ratings" / "question=termination" / f"odd.{'jsonl' if odd == 'lines' else 'parquet'}"
    if odd == "columns":
        pl.DataFrame({"a": [1, 2]}).write_parquet(name)
    else:
        name.write_text("no ratings\n")
    arguments = [str(tmp_path / "x") if each == "x" else each for each in command]
    if odd == "lines":
        with pytest.warns(UserWarning, match=r"odd\.jsonl"):
            assert CliRunner().invoke(app, [*arguments, str(tmp_path / "ratings")]).exit_code == 0
        return
    with pytest.raises(InputError, match=r"odd\.parquet"):
        CliRunner().invoke(app, [*arguments, str(tmp_path / "ratings")], catch_exceptions=False, standalone_mode=False)


def test_runs_without_messages_are_left_out_of_every_question(tmp_path, table):
    empty = table.with_columns(
        flags=pl.when((pl.col("trajectory_id") == "run-003") & (pl.col("rater") == "judge-0"))
        .then(pl.lit(["empty_run"]))
        .otherwise(pl.col("flags"))
    )
    write_ratings(empty, tmp_path / "r.jsonl")
    write_dataset([tmp_path / "r.jsonl"], tmp_path / "ratings")
    (found,) = agreement_of_dataset(str(tmp_path / "ratings"))
    rest = empty.filter(pl.col("trajectory_id") != "run-003")
    write_ratings(rest, tmp_path / "rest.jsonl")
    write_dataset([tmp_path / "rest.jsonl"], tmp_path / "without")
    (without,) = agreement_of_dataset(str(tmp_path / "without"))
    assert "runs without messages (1)" in found.about
    assert found.overall.left_out["empty_runs"] == 0  # said once
    assert [q.to_dict() for q in found.overall.questions] == [q.to_dict() for q in without.overall.questions]


def test_merge_says_what_is_missing(table):
    some = table.filter((pl.col("trajectory_id") != "run-004") | (pl.col("rater") != "judge-1"))
    runs = table["trajectory_id"].unique().sort().to_list()
    without = {
        (row["rater"], row["question"]): row["trajectories"] for row in missing(some, [*runs, "run-new"]) if row["n"]
    }
    for (rater, question), names in without.items():
        rated = some.filter((pl.col("rater") == rater) & (pl.col("question") == question))["trajectory_id"]
        assert set(names) == {*runs, "run-new"} - set(rated)
    assert "run-004" in without["judge-1", "sequencing"]


def test_the_commands(tmp_path, table):
    write_ratings(table[:40], tmp_path / "a.jsonl")
    write_ratings(table[30:], tmp_path / "b.jsonl")
    call = CliRunner().invoke
    both = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    done = call(app, ["ratings", "merge", *both, "--out", str(tmp_path / "all.jsonl")])
    assert done.exit_code == 0, done.output
    assert "10 lines gave way" in done.output
    assert read_ratings(tmp_path / "all.jsonl").equals(read_ratings(*both))
    assert call(app, ["ratings", "compact", *both, "--out", str(tmp_path / "folder")]).exit_code == 0
    assert "sequencing" in call(app, ["ratings", "stats", str(tmp_path / "folder")]).output
    assert isinstance(call(app, ["ratings", "compact", *both, "--out", str(tmp_path / "folder")]).exception, InputError)


def test_an_address_is_read_as_a_folder_is(tmp_path, table):
    """``file://`` goes the way of ``s3://``, through the readers of polars."""
    write_ratings(table, tmp_path / "r.jsonl")
    write_dataset([tmp_path / "r.jsonl"], tmp_path / "ratings", ratings_a_part=20)
    address = f"file://{tmp_path}/ratings"
    assert len(parts_of(address)) == len(parts_of(tmp_path / "ratings")) > 2
    assert scan_ratings(address).collect().equals(scan_ratings(tmp_path / "ratings").collect())


def test_what_is_no_dataset_is_refused(tmp_path, table):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds Parquet files"):
        parts_of(tmp_path / "empty")
    table.write_parquet(tmp_path / "empty" / "loose.parquet")
    with pytest.raises(InputError, match="question=NAME"):
        parts_of(tmp_path / "empty")
    table.select(list(SCHEMA)).with_columns(status=pl.lit("fine")).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="status must be one of"):
        write_dataset([tmp_path / "bad.parquet"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
