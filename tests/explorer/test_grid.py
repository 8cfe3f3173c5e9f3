"""The grid: every rating in its cell, held-out runs shut, nothing silent."""

import json
import re
from base64 import b64decode
from gzip import decompress
from itertools import accumulate

import polars as pl
import pytest
from explorer.conftest import packed, text_of
from explorer.rated import rating, ratings_of
from typer.testing import CliRunner

import axisjudge
from axisjudge import protocol, workbench
from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.explorer import Grid, page
from axisjudge.explorer.front import script, text
from axisjudge.explorer.grid import natural, word_diff
from axisjudge.explorer.grid_widget import run_text, sought
from axisjudge.explorer.page import explorer_html, letters_of
from axisjudge.ratings import ratings_frame, write_ratings
from axisjudge.readers import write_trajectories
from axisjudge.verdict import AXES


def cell(grid, run, question, rater, version="v1"):
    at = next(n for n, c in enumerate(grid.columns) if (c.question, c.rater, c.version) == (question, rater, version))
    return grid.index()["runs"][grid.runs.index(run)]["cells"][at]


def test_every_rating_of_a_whole_run_has_its_place(runs):
    table = ratings_of(runs)
    grid = Grid.of(table, runs)
    index = grid.index()
    placed = sum(len(each) for run in index["runs"] for each in run["cells"]) + sum(
        len(r["labels"]) for r in index["runs"]
    )
    assert placed == table.filter(pl.col("step_index").is_null()).height
    assert grid.questions == AXES
    assert [c.version for c in grid.columns if c.question == "argument_validity"] == ["v2", "v3"] * 2
    assert [repeat[0] for repeat in cell(grid, "run-1", "sequencing", "alpha")] == [0, 0, 2]
    (lost,) = cell(grid, "run-2", "termination", "beta")
    assert index["statuses"][-1 - lost[0]] == "refused"
    (flagged,) = cell(grid, "run-2", "tool_selection", "beta")
    assert flagged[3] == 1
    assert "1 rating of single steps" in " ".join(grid.notes)
    json.dumps(index, allow_nan=False)


def test_reasons_wait_until_a_run_is_opened(runs):
    grid = Grid.of(ratings_of(runs), runs)
    assert "says so" not in json.dumps(grid.index())
    opened = grid.opened(2)
    assert [note["question"] for note in opened["notes"]] == ["termination"]
    text = run_text(*grid.record(2))
    assert sought("No answer  came").search(text)
    assert not sought("no answer camel").search(text)
    assert sought(r"/no \w+ c[a-z]me$/").search(text)
    with pytest.raises(InputError, match="no regular expression"):
        sought("/(/")
    assert sought('"price": 3.10').search(text), "as it is shown, over several lines"
    assert any(reason["absent"] == [99] for reasons in opened["reasons"].values() for reason in reasons)


def test_runs_without_a_record_and_records_without_a_rating_are_counted(runs):
    grid = Grid.of(ratings_of(runs).filter(pl.col("trajectory_id") != "run-0"), runs[:2])
    said = " ".join(grid.notes)
    assert "1 rated run without a record here (first run-2)" in said
    assert "1 run without a rating" in said
    assert grid.opened(grid.runs.index("run-2"))["run"] is None
    with pytest.raises(InputError, match="record"):
        grid.base(grid.runs.index("run-2"), "sequencing")


def test_ratings_on_other_scales_and_people_alone_are_shown(runs):
    human = {"rater_kind": "human", "family": "human"}
    rows = [
        rating(run, "helpful", name, word, scale="ordinal:1-5", **human)
        for run in runs
        for name, word in (("ann", "4"), ("bo", "2"))
    ]
    grid = Grid.of(ratings_frame(rows), runs)
    assert [c.rater for c in grid.columns] == ["ann", "bo"]
    assert {"4", "2"} <= set(grid.index()["words"])
    assert grid.index()["decidable"] == []


def test_nothing_to_show_is_said(runs):
    with pytest.raises(InputError, match="whole runs"):
        Grid.of(ratings_of(runs).filter(pl.col("step_index").is_not_null()), runs)


def test_held_out_runs_stay_shut_until_they_are_opened(runs, tmp_path, monkeypatch):
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(workbench, "_chosen", None)
    monkeypatch.setenv("AXISJUDGE_HOME", str(tmp_path))
    for axis in AXES:
        (tmp_path / "rubrics" / axis).symlink_to(axisjudge.__path__[0] + f"/../rubrics/{axis}")
    table = ratings_of(runs)
    split = protocol.make_split(runs, salt="a")
    shut = {run.id for run in runs if split.side_of(run) in split.held_out}
    assert 0 < len(shut) < 3, "choose another salt"
    grid = Grid.of(table, runs)
    assert set(grid.runs) == {run.id for run in runs} - shut
    page = explorer_html(grid)
    assert len(packed(page, "index")["runs"]) == len(packed(page, "runs-0")) == 3 - len(shut)
    assert not any(name in text_of(page, "index") for name in shut)
    assert f"{len(shut)} held-out run" in " ".join(grid.notes)
    assert set(Grid.of(table, ()).runs) == set(grid.runs), "without records the tasks of the ratings decide"
    with pytest.raises(InputError, match="held out"):
        Grid.of(table.filter(pl.col("trajectory_id").is_in(sorted(shut))), runs)
    protocol.ledger.append("opening", "test", lock_sha256="0" * 64, data_sha256=split.data_sha256)
    assert set(Grid.of(table, runs).runs) == {run.id for run in runs}


def test_a_judge_has_one_column_a_version_whatever_family_it_is_said_to_be_of(runs):
    table = ratings_of(runs)
    other = pl.when(pl.col("trajectory_id") == "run-0").then(pl.lit("another")).otherwise(pl.col("family"))
    grid = Grid.of(table.with_columns(other.alias("family")), runs)
    assert len(set(grid.columns)) == len(grid.columns)


def test_versions_sort_as_people_count():
    assert sorted(["v10", "v2", "v1", ""], key=natural) == ["", "v1", "v2", "v10"]


@pytest.mark.parametrize(
    ("before", "after"), [("a b c", "a x c"), ("", "new  words\n"), ("same", "same"), ("a\n\nb", "b")]
)
def test_a_word_diff_gives_both_texts_back(before, after):
    parts = word_diff(before, after)
    assert "".join(words for sign, words in parts if sign in "=-") == before
    assert "".join(words for sign, words in parts if sign in "=+") == after


def test_the_change_of_a_rubric_is_shown_where_both_texts_are_those_judged_by(runs):
    table = ratings_of(runs)
    (change,) = Grid.of(table, runs).rubric_changes()["argument_validity"]
    assert (change["before"], change["after"]) == ("v2", "v3")
    edited = table.with_columns(rubric_sha256=pl.lit("0" * 64))
    assert Grid.of(edited, runs).rubric_changes() == {}


@pytest.mark.slow
def test_the_file_is_whole_closed_and_the_same_each_time(runs):
    page = explorer_html(Grid.of(ratings_of(runs), runs))
    assert page == explorer_html(Grid.of(ratings_of(runs), runs))
    frame = page.replace(script("explorer_page.js"), "")
    frame = re.sub(r'<script type="[^"]+" id="[^>]*>[^<]*</script>', "", frame)
    frame = re.sub(r"'sha256-[^']+'", "", frame)  # a hash may hold what looks like an address
    assert not re.search(r"https?:|//|src=|href=|@import|url\(", frame)
    assert "default-src 'none'" in frame
    assert "unsafe" not in frame
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import)\s*\(", script("explorer_page.js")
    )
    first = packed(page, "runs-0")[0]
    assert len(first["run"]["steps"]) == 8
    assert "tools" not in first["run"]
    assert packed(page, f"given-{first['given']}")["tools"][0]["name"] == "get_order"
    lengths, _, texts = text_of(page, "texts-0").partition("\n")
    assert sum(json.loads(lengths)) == len(texts)
    assert texts.count("Be kind.") == 1, "a text that runs share stands once"
    assert first["run"]["steps"][0]["text"] in first_uses(page)
    grid = Grid.of(ratings_of(runs), runs)
    digests = b64decode(first["shown"])  # 32 bytes a question, in the order of the questions
    at = 32 * list(grid.rubrics).index("sequencing")
    own = {"prompt_sha256": digests[at : at + 32].hex()}
    assert {**first["base"], **packed(page, "index")["bases"]["sequencing"], **own} == grid.base(0, "sequencing")


def first_uses(page):
    return list(accumulate(packed(page, "uses")[0]))


def test_bytes_of_every_kind_survive_as_letters_that_mean_nothing_to_markup():
    every = "".join(map(chr, range(0x500))) + "\ud800\U0001f600" + "</script><!--"
    letters = letters_of(every)
    assert not set(letters) & set("\0\r<")
    codes = [ord(letter) & 127 for letter in letters]
    bits = "".join(f"{code:07b}" for code in codes)
    back = decompress(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8)))
    assert back.decode("utf-8", "surrogatepass") == every


@pytest.mark.parametrize(
    "name",
    [
        *("items.js", "list.js", "filters.js", "words.js", "deciding.js", "opened.js", "explorer.js", "mount.js"),
        *("kernel.js", "explorer_page.js", "explorer_widget.js"),
    ],
)
def test_text_is_only_ever_set_as_text(name):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", text(name))
    assert "</script" not in text(name)
    assert len(text(name).splitlines()) <= 600


def test_a_file_has_a_stated_limit(runs, monkeypatch):
    monkeypatch.setattr(page, "MOST_RUNS", 2)
    with pytest.raises(InputError, match=r"at most 2 runs.*notebook"):
        explorer_html(Grid.of(ratings_of(runs), runs))


def test_the_command_writes_the_file_and_takes_a_part(runs, tmp_path):
    write_trajectories(tmp_path / "runs.jsonl", runs)
    rows = [rating(run, axis, "alpha", "correct") for run in runs for axis in AXES]
    write_ratings(ratings_frame(rows), tmp_path / "ratings.jsonl")
    command = ["explore", str(tmp_path / "ratings.jsonl"), "--trajectories", str(tmp_path / "runs.jsonl")]
    out = ["--out", str(tmp_path / "out" / "explorer.html")]
    done = CliRunner().invoke(app, [*command, *out, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["runs"] == 3
    done = CliRunner().invoke(app, [*command, *out, "--axis", "sequencing", "--limit", "1"])
    assert done.exit_code == 0, done.output
    assert "1 run, 1 question, 1 judge," in done.output
    with pytest.raises(InputError, match="--axis"):
        CliRunner().invoke(app, [*command, *out, "--axis", "sequence"], catch_exceptions=False)


@pytest.mark.parametrize("given", ["results.json", 5, [{"id": "run-0"}]])
def test_what_is_no_run_is_refused_in_one_line(runs, given):
    with pytest.raises(InputError, match="read_trajectories"):
        Grid.of(ratings_of(runs), given)
    assert Grid.of(ratings_of(runs), runs[0]).trajectories.keys() == {"run-0"}
