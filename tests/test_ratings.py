"""The ratings table: nothing lost, nothing silent."""

import json
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.ratings import SCHEMA, RatingsWriter, ratings_frame, read_ratings, to_matrix
from axisjudge.ratings.table import newest_ratings
from axisjudge.verdict import AXES, Rating


def rating(item="t1", rater="rules", verdict="correct", **fields):
    base = {
        "trajectory_id": item,
        "cluster_id": "c",
        "question": "termination",
        "rater": rater,
        "rater_kind": "rules",
        "family": rater,
        "verdict": verdict,
    }
    return Rating(**{**base, **fields})


def write(path, *ratings):
    with RatingsWriter(path) as writer:
        writer.append(ratings)


def test_the_table_has_the_record_s_fields_in_its_order():
    assert list(SCHEMA) == list(Rating.model_fields)
    assert ratings_frame([]).schema == ratings_frame([rating()]).schema == pl.Schema(SCHEMA)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "r.jsonl"
    ratings = [
        rating("t1", cited_step_indices=[1, 2], probabilities={"correct": 0.5, "incorrect": 0.5}, confidence=0.5),
        rating("t2", verdict=None, status="refused", flags=["a", "b"]),
    ]
    write(path, *ratings)
    table = read_ratings(path)
    assert table.equals(ratings_frame(ratings))
    assert table["cited_step_indices"].to_list() == [[1, 2], []]
    assert json.loads(table["probabilities"][0]) == {"correct": 0.5, "incorrect": 0.5}
    table.write_parquet(tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet").equals(table)


def test_the_later_line_of_one_identity_wins(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, rating(verdict=None, status="api_error"), rating("t2"), rating(verdict="incorrect"))
    assert read_ratings(path).select("item_id", "verdict").rows() == [("t1", "incorrect"), ("t2", "correct")]


def test_the_order_of_arrival_does_not_show(tmp_path):
    ratings = [rating(f"t{n}", rater, question=axis) for n in range(3) for rater in "ab" for axis in AXES[:3]]
    write(tmp_path / "a.jsonl", *ratings)
    write(tmp_path / "b.jsonl", *reversed(ratings))
    table = read_ratings(tmp_path / "a.jsonl")
    assert table.equals(read_ratings(tmp_path / "b.jsonl"))
    assert table["question"].unique(maintain_order=True).to_list() == list(AXES[:3])


def test_the_latest_of_several_prompts_counts_and_the_others_are_told(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, rating(prompt_sha256="b"), rating("t2"), rating(prompt_sha256="a", verdict="incorrect"))
    assert read_ratings(path).height == 3
    with pytest.warns(UserWarning, match="1 ratings by an older prompt, rubric or rater version are left out"):
        table = read_ratings(path, latest=True)
    assert table.select("item_id", "verdict").rows() == [("t1", "incorrect"), ("t2", "correct")]


def test_a_judge_whose_repeats_are_numbered_from_1_is_named(tmp_path):
    """Every figure of one repeat leaves it out; that it is a whole judge was told nowhere."""
    write(tmp_path / "a.jsonl", rating(), rating("t2", repeat=3), rating(rater="late", repeat=1))
    with pytest.warns(UserWarning, match="no repeat 0 of late: .* leaves these ratings out"):
        read_ratings(tmp_path / "a.jsonl", latest=True)
    with pytest.warns(UserWarning, match="no repeat 0 of late"):
        newest_ratings(tmp_path / "a.jsonl")
    write(tmp_path / "b.jsonl", rating(rater="late"))
    assert read_ratings(tmp_path / "a.jsonl", tmp_path / "b.jsonl", latest=True).height == 4


def test_the_newest_and_those_of_each_rubric_come_from_one_reading(tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    write(
        path,
        rating(rubric_version="v2", prompt_sha256="b"),
        rating(rubric_version="v1", prompt_sha256="a", verdict="incorrect"),
        rating(rubric_version="v2", prompt_sha256="c", verdict="uncertain"),
        rating("t2"),
        rating("t2", verdict="incorrect"),
    )
    opened, read = [], pl.read_ndjson
    monkeypatch.setattr(pl, "read_ndjson", lambda *of, **how: (opened.append(of), read(*of, **how))[1])
    with pytest.warns(UserWarning, match="2 ratings by an older") as told:
        newest, by_rubric = newest_ratings(path)
    assert len(opened) == len(told) == 1
    assert newest.select("item_id", "verdict").rows() == [("t1", "uncertain"), ("t2", "incorrect")]
    assert set(by_rubric.select("item_id", "rubric_version", "verdict").rows()) == {
        ("t1", "v1", "incorrect"),
        ("t1", "v2", "uncertain"),
        ("t2", None, "incorrect"),
    }
    with pytest.warns(UserWarning, match="left out"):
        assert newest.equals(read_ratings(path, latest=True))


def test_several_files_make_one_table(tmp_path):
    write(tmp_path / "a.jsonl", rating("t1"), rating("t2"))
    write(tmp_path / "b.jsonl", rating("t2", verdict="incorrect"))
    table = read_ratings(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert table.filter(pl.col("item_id") == "t2")["verdict"].to_list() == ["incorrect"]


def test_a_torn_last_line_is_said_and_mended(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, rating("t1"), rating("t2"))
    whole = path.read_bytes()
    for cut in (1, 40, len(whole.splitlines()[1])):
        path.write_bytes(whole[:-cut])
        if cut == 1:  # only the line end is missing: the rating is whole
            assert read_ratings(path).height == 2
        else:
            with pytest.warns(UserWarning, match="the last line is torn"):
                assert read_ratings(path).height == 1
        write(path, rating("t2"), rating("t3"))
        assert read_ratings(path)["item_id"].to_list() == ["t1", "t2", "t3"]


def test_a_file_that_is_one_torn_line(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"schema_version":1,"traj')
    with pytest.warns(UserWarning, match="torn"):
        assert read_ratings(path).height == 0
    write(path, rating())
    assert read_ratings(path).height == 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"status": "fine"}, "status must be one of"),
        ({"verdict": "right"}, "verdict must be one of"),
        ({"verdict": None}, "only status ok carries a verdict"),
        ({"status": "refused"}, "only status ok carries a verdict"),
        ({"confidence": 1.5}, r"confidence must lie in \[0, 1\]"),
        ({"family": None}, "needs family$"),
        ({"schema_version": 99}, "schema_version must not be newer"),
        ({"item_id": "other"}, "item_id must be made of trajectory_id"),
        ({"step_index": 3}, "item_id must be made of trajectory_id"),
        ({"rater_kind": "robot"}, "rater_kind must be one of"),
        ({"repeat": "0"}, "repeat: should be a valid integer; found '0'"),
        ({"confidence": "0.9"}, "confidence: should be a valid number; found '0.9'"),
    ],
    ids=str,
)
def test_a_line_that_breaks_a_rule_is_named(tmp_path, change, rule):
    path = tmp_path / "r.jsonl"
    bad = {**rating("t2").model_dump(), **change}
    path.write_text(rating("t1").model_dump_json() + "\n" + json.dumps(bad) + "\n")
    with pytest.raises(InputError, match=rf"r\.jsonl:2: not a rating: {rule}"):
        read_ratings(path)


@pytest.mark.parametrize("text", ["[1, 2]\n", "not json\n", '{"a": \n', '"word"\n'])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_text(text + rating().model_dump_json() + "\n")
    with pytest.raises(InputError, match=r"r\.jsonl:1: not a rating"):
        read_ratings(path)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    path = tmp_path / "r.jsonl"
    bad = {**rating("t2").model_dump(), "status": "fine"}
    path.write_text(rating().model_dump_json() + "\r\n\r\n\n" + json.dumps(bad) + "\n", newline="")
    with pytest.raises(InputError, match=r"r\.jsonl:4: not a rating: status"):
        read_ratings(path)


def test_a_byte_order_mark_is_no_part_of_the_first_rating(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("\ufeff" + rating().model_dump_json() + "\n", encoding="utf-8")
    assert read_ratings(path).height == 1


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_misspelt_field_is_said_and_not_silently_lost(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    if ending == "jsonl":
        path.write_text(json.dumps({**rating().model_dump(), "confidance": 0.5}) + "\n")
    else:
        ratings_frame([rating()]).with_columns(confidance=0.5).write_parquet(path)
    with pytest.warns(UserWarning, match="has no field confidance; left out"):
        assert read_ratings(path).columns == list(SCHEMA)


def test_parquet_that_is_none_or_breaks_a_rule(tmp_path):
    path = tmp_path / "r.parquet"
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"r\.parquet: is not a Parquet file"):
        read_ratings(path)
    table = ratings_frame([rating(), rating("t2")])
    table.with_columns(confidence=pl.Series([0.5, 2.0])).write_parquet(path)
    with pytest.raises(InputError, match=r"r\.parquet, row 1: not a rating: confidence"):
        read_ratings(path)
    table.with_columns(repeat=pl.lit("first")).write_parquet(path)
    with pytest.raises(InputError, match=r"r\.parquet: a column is of the wrong type"):
        read_ratings(path)


@pytest.mark.parametrize(
    "text", ['{\n "simulations": [\n ]\n}', '{"info": {"a": 1}, "simul', "not json", '{"info": 1}']
)
def test_a_file_of_something_else_is_never_cut_or_changed(tmp_path, text):
    """`--out results.json` by mistake: the writer leaves alone whatever it did not begin itself."""
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"results\.json:1: not a rating"), RatingsWriter(path):
        read_ratings(path)
    assert path.read_text() == text


def test_what_cannot_be_written_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for out, rule in [
        (tmp_path, "cannot be written .Is a directory"),
        (tmp_path / "file" / "r.jsonl", "cannot be written"),
        (tmp_path / "r.parquet", "ratings are written as JSON Lines"),
    ]:
        with pytest.raises(InputError, match=rule) as told, RatingsWriter(out):
            pass
        assert "\n" not in str(told.value)


def test_a_full_disk_is_said_lets_the_lock_go_and_is_mended(tmp_path):
    resource = pytest.importorskip("resource", reason="this system has no limit on the size of files")
    path = tmp_path / "r.jsonl"
    write(path, rating("t1"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, before[1]))
    try:
        with pytest.raises(InputError, match=r"cannot be written .File too large.*; make room"):
            write(path, rating("t2"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    with pytest.warns(UserWarning, match="torn"):
        assert read_ratings(path).height == 1
    write(path, rating("t2"))
    assert read_ratings(path)["item_id"].to_list() == ["t1", "t2"]


def test_two_paths_to_one_file_have_one_lock(tmp_path, monkeypatch):
    (tmp_path / "link.jsonl").symlink_to("r.jsonl")
    monkeypatch.chdir(tmp_path)
    with RatingsWriter("r.jsonl"):
        for other in ("link.jsonl", tmp_path / "r.jsonl", "./r.jsonl"):
            with pytest.raises(InputError, match="another process has been writing"), RatingsWriter(other, wait=0):
                pass


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such ratings file"):
        read_ratings(tmp_path / "none.jsonl")


def test_labels_made_by_hand_need_only_what_cannot_be_null(tmp_path):
    path = tmp_path / "labels.jsonl"
    few = ("trajectory_id", "item_id", "cluster_id", "question", "scale", "rater", "rater_kind", "family", "repeat")
    line = rating(rater_kind="human").model_dump(include={*few, "status", "verdict"})
    path.write_text(json.dumps(line) + "\n")
    assert read_ratings(path)["rater_kind"].to_list() == ["human"]


_HOLD = """
import sys, time
from axisjudge.ratings import RatingsWriter
with RatingsWriter(sys.argv[1]):
    print("ready", flush=True)
    time.sleep(1.0)
"""


def test_one_writer_a_file_the_second_waits_or_is_told(tmp_path):
    path = tmp_path / "r.jsonl"
    with subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(InputError, match="another process has been writing here"), RatingsWriter(path, wait=0.1):
            pass
        with RatingsWriter(path, wait=20) as writer:
            writer.append([rating()])
    assert read_ratings(path).height == 1


def test_to_matrix():
    table = ratings_frame(
        [
            rating("t1", "b", "incorrect", confidence=0.75),
            rating("t1", "a", "correct"),
            rating("t2", "a", "not_applicable", cluster_id="d"),
            rating("t2", "b", None, status="refused", cluster_id="d"),
            rating("t2", "b", "correct", question="sequencing"),
            rating("t2", "b", "correct", repeat=1),
        ]
    )
    matrix = to_matrix(table, "termination")
    assert matrix.raters == matrix.families == ("a", "b")
    assert (matrix.items, matrix.clusters) == (("t1", "t2"), ("c", "d"))
    np.testing.assert_array_equal(matrix.codes, [[0, 1], [3, np.nan]])
    np.testing.assert_array_equal(matrix.confidences, [[np.nan, 0.75], [np.nan, np.nan]])
    assert repr(matrix) == "RatingMatrix(2 items x 2 raters, 1 missing)"
    assert to_matrix(table, "termination", raters=["b"]).codes.shape == (2, 1)


def test_to_matrix_refuses_two_ratings_of_one_item_by_one_rater():
    table = ratings_frame([rating(prompt_sha256="v1"), rating(prompt_sha256="v2")])
    with pytest.raises(InputError, match="one rating for each item and rater; found 't1'; filter by rubric_version"):
        to_matrix(table, "termination")


def test_to_matrix_refuses_a_question_that_nobody_was_asked():
    with pytest.raises(InputError, match="no such ratings; found 'sequencing'"):
        to_matrix(ratings_frame([rating()]), "sequencing")


@pytest.mark.parametrize(
    ("scale", "said", "categories"),
    [
        ("step", ("-1", "+1"), ("-1", "0", "+1")),  # sorted as text, +1 would stand before -1
        ("ordinal:1-5", ("5", "2"), ("1", "2", "3", "4", "5")),
        ("nominal:b,a", ("a", "b"), ("b", "a")),
    ],
)
def test_a_scale_s_categories_stand_in_its_order_and_count_where_nobody_used_them(scale, said, categories):
    table = ratings_frame(rating(f"t{n}", verdict=word, scale=scale) for n, word in enumerate(said))
    matrix = to_matrix(table, "termination")
    assert matrix.categories == categories
    assert [categories[int(code)] for code in matrix.codes[:, 0]] == list(said)
