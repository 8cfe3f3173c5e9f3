"""Tables of other people's ratings: long and wide, every container, every scale, and what is refused in one line."""

import csv
import io
import json

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings, sheets
from axisjudge.imports import cells as cells_as_left
from axisjudge.imports.recognise import who
from axisjudge.ratings import read_ratings, write_ratings
from axisjudge.trajectory import Trajectory

LONG = [
    {"item": run, "judge": judge, "criterion": "tone", "score": score, "reason": f"{judge} {run}"}
    for run, scores in {"a": (1, 5), "b": (4, 2)}.items()
    for judge, score in zip(("gpt-4o", "ada"), scores, strict=True)
]
WIDE = [
    {"task": "a", "prompt": "say something", "gpt-4o": "pass", "qwen3": "fail", "label": "pass", "gpt-4o_conf": 0.75},
    {"task": "b", "prompt": "say anything", "gpt-4o": "fail", "qwen3": "fail", "label": "", "gpt-4o_conf": 0.5},
]
BOTH = ImportOptions(kind="llm", kinds={"ada": "human"})
SOLVED = ImportOptions(kind="llm", kinds={"label": "human"}, question=("solved",))


def write(folder, rows, form):
    path = folder / f"table.{form}"
    out = io.StringIO(newline="")
    if form in ("csv", "tsv"):
        sheet = csv.DictWriter(out, list(rows[0]), delimiter="," if form == "csv" else "\t")
        sheet.writeheader()
        sheet.writerows(rows)
        path.write_text(out.getvalue())
    elif form == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize(("rows", "told", "n"), [(LONG, BOTH, 4), (WIDE, SOLVED, 5)])
def test_every_container_gives_the_same_ratings(tmp_path, form, rows, told, n):
    found = import_ratings([write(tmp_path, rows, form)], told).ratings
    assert found.equals(import_ratings([write(tmp_path, rows, "json")], told).ratings)
    assert found.height == n
    write_ratings(found, tmp_path / "out.jsonl")
    assert read_ratings(tmp_path / "out.jsonl").sort("item_id", "rater").equals(found.sort("item_id", "rater"))


@pytest.mark.parametrize(("rows", "told"), [(LONG, BOTH), (WIDE, SOLVED)])
def test_a_large_table_comes_in_piece_by_piece_to_the_same_ratings(tmp_path, monkeypatch, rows, told):
    as_written = [{**row, **({"gpt-4o_conf": "75 %"} if "task" in row else {})} for row in rows]
    path = write(tmp_path, as_written, "csv")
    path.write_text(f"{path.read_text()}\n\n")
    small = import_ratings([path], told)
    monkeypatch.setattr(sheets, "_LARGE", 0)
    for module in (sheets, cells_as_left):
        monkeypatch.setattr(module, "AT_ONCE", 1)
    assert isinstance(next(iter(sheets.read_sheet(path).columns.values())), pl.Series)
    large = import_ratings([path], told)
    assert large.ratings.equals(small.ratings)
    assert large.notes == small.notes


@pytest.mark.parametrize("large", [False, True])
def test_columns_of_one_name_and_of_none_get_a_number(tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(sheets, "_LARGE", 0)
    path = tmp_path / "table.csv"
    path.write_text("task,gpt-4o,gpt-4o ,task\na,pass,fail,a\n")
    assert {name: list(cells) for name, cells in sheets.read_sheet(path).columns.items()} == {
        "task": ["a"], "gpt-4o": ["pass"], "gpt-4o (2)": ["fail"]
    }  # fmt: skip
    path.write_text(",task,label\n0,a,pass\n1,b,fail\n")
    assert list(sheets.read_sheet(path).columns) == ["column 1", "task", "label"]


def test_a_long_table_says_who_what_and_why(tmp_path):
    found = import_ratings([write(tmp_path, LONG, "csv")], BOTH)
    first = found.ratings.row(0, named=True)
    wanted = {"trajectory_id": "a", "rater": "gpt-4o", "rater_kind": "llm", "family": "openai", "question": "tone"}
    wanted |= {"scale": "ordinal:1-5", "verdict": "1", "value": 1.0, "rationale": "gpt-4o a"}
    assert {name: first[name] for name in wanted} == wanted
    assert set(found.ratings.filter(rater="ada")["family"]) == {"human"}
    spoken = " ".join(found.notes)
    assert ("judge", "rater") in {(row["column"], row["taken as"]) for row in found.columns}
    assert "ordinal:1-5" in spoken


def test_a_wide_table_has_a_rater_a_column_and_leaves_texts_out(tmp_path):
    found = import_ratings([write(tmp_path, WIDE, "csv")], SOLVED)
    kinds = dict(found.ratings.select("rater", "rater_kind").iter_rows())
    assert kinds == {"gpt-4o": "llm", "qwen3": "llm", "label": "human"}
    assert found.ratings.filter(rater="gpt-4o")["confidence"].to_list() == [0.75, 0.5]
    assert found.ratings.filter(rater="label").height == 1, "an empty cell is no rating"
    assert set(found.ratings["scale"]) == {"nominal:fail,pass"}
    taken = {row["column"]: (row["kind"], row["taken as"]) for row in found.columns}
    assert [taken[name][1] for name in ("prompt", "gpt-4o", "label")] == ["not read", "rater", "rater"]
    assert all(row["because"] for row in found.columns)


def test_wide_by_question_with_its_rater_told(tmp_path):
    rows = [{"id": "a", "tone": 3, "fact": True}, {"id": "b", "tone": 5, "fact": False}]
    found = import_ratings([write(tmp_path, rows, "json")], ImportOptions(kind="llm", rater="gpt-4o")).ratings
    scales = dict(found.select("question", "scale").iter_rows())
    assert scales == {"tone": "ordinal:1-5", "fact": "nominal:false,true"}
    chosen = import_ratings([tmp_path / "table.json"], ImportOptions(kind="llm", rater="g", question=("fact",))).ratings
    assert chosen["question"].unique().to_list() == ["fact"]


@pytest.mark.parametrize(
    ("answers", "scale"),
    [
        ([1, 5, 3], "ordinal:1-5"),
        ([0, 2, 1], "ordinal:0-2"),
        ([1, 0, 0], "nominal:0,1"),
        ([1, 0, -1], "step"),
        ([0.25, 1, 0], "unit"),
        ([7.5, 3, 0], "check"),
        ([55, 93.5, 10], "interval:0-100"),
        ([200, -3, 12], "interval:-3-200"),
        (["yes", "no", "no"], "nominal:no,yes"),
        (["True", "False", "True"], "nominal:False,True"),
        (["correct", "Incorrect", "uncertain"], "verdict"),
        ([f"word {n}" for n in range(60)], "nominal"),
        (["a, b", "c", "c"], "nominal"),
    ],
)
def test_scales_are_recognised_said_and_come_back(tmp_path, answers, scale):
    rows = [{"id": n, "rater": "gpt-4o", "question": "q", "verdict": answer} for n, answer in enumerate(answers)]
    found = import_ratings([write(tmp_path, rows, "csv")], ImportOptions(kind="llm"))
    assert set(found.ratings["scale"]) == {scale}
    assert any(scale in note for note in found.notes)
    assert (found.ratings["status"] == "ok").all()
    write_ratings(found.ratings, tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet").height == len(answers)


def test_a_scale_that_is_told_wins_and_binds(tmp_path):
    path = write(tmp_path, LONG, "csv")
    told = ImportOptions(kind="llm", scales={"tone": "ordinal:1-7"})
    assert set(import_ratings([path], told).ratings["scale"]) == {"ordinal:1-7"}
    with pytest.raises(InputError, match=r"tone must lie on the scale ordinal:1-4; found \['5'\]"):
        import_ratings([path], ImportOptions(kind="llm", scales={"tone": "ordinal:1-4"}))
    with pytest.raises(InputError, match="names a question that is not here"):
        import_ratings([path], ImportOptions(kind="llm", scales={"tome": "ordinal:1-4"}))
    with pytest.raises(InputError, match="must be verdict, step"):
        ImportOptions(scales={"tone": "ordinal:5-1"})


def test_words_map_and_missing_words_are_lost_not_answers(tmp_path):
    rows = [{"id": n, "rater": "gpt-4o", "question": "q", "verdict": w} for n, w in enumerate(["1", "5", "ERR", "4"])]
    path = write(tmp_path, rows, "csv")
    with pytest.raises(InputError, match="--missing 'ERR'"):
        import_ratings([path], ImportOptions(kind="llm"))
    table = import_ratings([path], ImportOptions(kind="llm", missing=("ERR",))).ratings
    assert table["status"].to_list() == ["ok", "ok", "parse_error", "ok"]
    assert import_ratings([path], ImportOptions(kind="llm", words={"ERR": "2"})).ratings["value"].to_list() == [
        1,
        5,
        2,
        4,
    ]


@pytest.mark.parametrize("word", ["fail", "FAILED", "bad", "wrong"])
def test_a_hint_never_turns_a_verdict_round(tmp_path, word):
    rows = [{"id": "a", "rater": "gpt-4o", "termination": word}, {"id": "b", "rater": "gpt-4o", "termination": "yes"}]
    with pytest.raises(InputError) as told:
        import_ratings([write(tmp_path, rows, "csv")], ImportOptions(kind="llm"))
    assert f"--word-map {word}=incorrect" in str(told.value)
    assert "'yes'=correct" not in str(told.value), "whether yes is good depends on the question"
    mapped = ImportOptions(kind="llm", words={word: "incorrect", "yes": "correct"})
    table = import_ratings([tmp_path / "table.csv"], mapped).ratings
    assert table.select("scale", "verdict").rows() == [("verdict", "incorrect"), ("verdict", "correct")]


@pytest.mark.parametrize(
    ("head", "lacking"),
    [
        ("foo,bar", ["--question", "--kind", "--rater"]),
        ("id,verdict", ["--rater", "--question", "--kind"]),
        ("rater,score", ["--question", "--kind"]),
        ("id,rater,verdict", ["--question", "--kind"]),
    ],
)
def test_everything_that_is_missing_is_named_at_once(tmp_path, head, lacking):
    path = tmp_path / "t.csv"
    path.write_text(f"{head}\n" + "".join(",".join(f"{n}" for _ in head.split(",")) + "\n" for n in (0, 1)))
    with pytest.raises(InputError) as told:
        import_ratings([path])
    assert [word for word in lacking if word not in str(told.value)] == []
    assert "\n" not in str(told.value)


def test_kinds_are_never_assumed_and_a_file_may_say_them(tmp_path):
    path = write(tmp_path, LONG, "csv")
    with pytest.raises(InputError, match=r"not by every name; found 'gpt-4o, ada'"):
        import_ratings([path])
    with pytest.raises(InputError, match="names a rater that is not here"):
        import_ratings([path], ImportOptions(kind="llm", kinds={"bob": "human"}))
    with pytest.raises(InputError, match="must be one of llm"):
        ImportOptions(kind="person")
    rows = [{**row, "rater_kind": "human" if row["judge"] == "ada" else "LLM_JUDGE"} for row in LONG]
    table = import_ratings([write(tmp_path, rows, "csv")]).ratings
    assert dict(table.select("rater", "rater_kind").iter_rows()) == {"ada": "human", "gpt-4o": "llm"}


def test_columns_and_families_may_be_told(tmp_path):
    rows = [{"doc": "a", "who": "house-model", "what": "tone", "said": 2, "score": 9, "step": 3}]
    rows += [{**rows[0], "doc": "b", "said": 4}]
    columns = {"doc": "trajectory_id", "what": "question", "said": "verdict", "score": "ignore"}
    told = ImportOptions(kind="llm", rater_column="who", columns=columns, families={"house-model": "ours"})
    table = import_ratings([write(tmp_path, rows, "csv")], told).ratings
    assert table.select("item_id", "rater", "family", "value").rows() == [
        ("a#3", "house-model", "ours", 2.0),
        ("b#3", "house-model", "ours", 4.0),
    ]
    with pytest.raises(InputError, match="has no column dox; it has"):
        import_ratings([tmp_path / "table.csv"], ImportOptions(columns={"dox": "trajectory_id"}))


def test_runs_that_are_named_say_the_agent_and_the_cluster_of_their_rows(tmp_path):
    rows = [{"run": f"r{n}", "judge": "ada", "question": "tone", "verdict": n % 2} for n in range(2)]
    runs = {f"r{n}": Trajectory(id=f"r{n}", source="x", agent="owl", task_id="t", domain="d", steps=()) for n in (0, 1)}
    table = import_ratings([write(tmp_path, rows, "csv")], ImportOptions(kind="human", trajectories=runs)).ratings
    assert set(table.select("agent", "task_id", "cluster_id", "domain").rows()) == {("owl", "t", "d/t", "d")}


def test_several_files_share_one_scale_and_repeats_are_numbered(tmp_path):
    low, high = tmp_path / "low.csv", tmp_path / "high.csv"
    low.write_text("id,rater,question,verdict\na,g,q,1\na,g,q,2\nb,g,q,3\n")
    high.write_text("id,rater,question,verdict\na,h,q,4\nb,h,q,7\n")
    with pytest.raises(InputError, match=r"twice.*--repeats"):
        import_ratings([low, high], ImportOptions(kind="llm"))
    told = ImportOptions(kind="llm", repeats=True)
    table = import_ratings([low, high], told).ratings
    assert set(table["scale"]) == {"ordinal:1-7"}
    assert table.filter(rater="g", item_id="a")["repeat"].to_list() == [0, 1]
    folder = import_ratings([tmp_path], told)
    assert folder.ratings.height == 5


def test_people_s_labels_say_that_their_draw_is_unknown(tmp_path):
    found = import_ratings([write(tmp_path, LONG, "csv")], BOTH)
    flags = dict(found.ratings.select("rater", "flags").iter_rows())
    assert flags == {"gpt-4o": [], "ada": ["drawn:unknown"]}
    stated = import_ratings([tmp_path / "table.csv"], ImportOptions(kind="human", sampling="random")).ratings
    assert stated["flags"].list.contains("drawn:random").all()


def cells(folder, *said, confidence=None):
    rows = [{"item": f"i{n}", "judge": "gpt", "score": cell} for n, cell in enumerate(said)]
    rows = [row | ({"confidence": confidence} if confidence else {}) for row in rows]
    return import_ratings([write(folder, rows, "csv")], ImportOptions(kind="llm", question=("q",)))


@pytest.mark.parametrize(
    ("said", "scale", "values"),
    [
        (("1", "NaN", "3", "N/A", "2"), "ordinal:1-3", [1, None, 3, None, 2]),
        (("45%", "100 %", "7.5%"), "unit", [0.45, 1, 0.075]),
        (("2,5", "4", "1,25"), "interval:1-4", [2.5, 4, 1.25]),
        (("a", "nan", "b"), "nominal:a,b", [None] * 3),
    ],
)
def test_cells_as_spreadsheets_leave_them(tmp_path, said, scale, values):
    """They became words of a nominal scale."""
    found = cells(tmp_path, *said)
    assert set(found.ratings["scale"]) == {scale}
    assert found.ratings["value"].to_list() == values
    assert any("score: " in note for note in found.notes)


def test_words_that_may_be_an_answer_stay(tmp_path):
    assert set(cells(tmp_path, "none", "n/a", "some").ratings["verdict"]) == {"none", "n/a", "some"}
    options = ImportOptions(kind="llm", question=("q",), words={"NaN": "odd"})
    rows = [{"item": n, "judge": "gpt", "score": word} for n, word in enumerate(("1", "NaN"))]
    assert set(import_ratings([write(tmp_path, rows, "csv")], options).ratings["verdict"]) == {"1", "odd"}


@pytest.mark.parametrize(("cell", "number"), [("87%", 0.87), ("0,87", 0.87), ("0.87", 0.87)])
def test_confidences_of_every_spelling(tmp_path, cell, number):
    assert set(cells(tmp_path, "a", "b", confidence=cell).ratings["confidence"]) == {number}


def test_rows_that_are_lists_have_their_headings_beside_them_or_as_the_first(tmp_path):
    heads, rows = ["id", "judge", "human"], [[1, "yes", "no"], [2, None, "yes"], [3, "no", "no"]]
    split = {"columns": heads, "index": [0, 1, 2], "data": rows}
    fields = {"fields": [{"name": each} for each in heads], "rows": rows}
    for number, content in enumerate((split, fields, [heads, *rows])):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(content))
        columns = sheets.read_sheet(path).columns
        assert [*columns] == heads, content
        assert [*columns["judge"]] == ["yes", None, "no"]
    path.write_text(json.dumps([heads, *rows, ["one cell"]]))
    with pytest.raises(InputError):
        import_ratings([path], ImportOptions(kind="human"))


def test_sums_below_a_blank_line_are_no_rows(tmp_path):
    rows = [f"{n},{'yes' if n % 3 else 'no'},{'yes' if n % 4 else 'no'}" for n in range(40)]
    path = tmp_path / "sheet.csv"
    path.write_text("\n".join(["id,LLM judge: pass?,human", *rows, ",,", ",26 yes,30", ",TOTAL,85%"]))
    table = sheets.read_sheet(path)
    assert {len(cells) for cells in table.columns.values()} == {40}
    assert any("85%" in note for note in table.notes)
    path.write_text("\n".join(["id,LLM judge: pass?,human", *rows[:39], ",,", rows[39]]))
    whole = sum(map(bool, sheets.read_sheet(path).columns["human"]))
    assert whole == 40, "what is whole is a row, blank lines or not"
    assert [who(name) for name in ("LLM judge: pass?", "Human says ok?", "Is the human right?")] == [
        "judge",
        "people",
        "",
    ]


def test_files_that_are_no_text_are_named_and_arrow_is_read(tmp_path):
    frame = pl.DataFrame({"id": range(20), "judge": ["yes", "no"] * 10, "human": ["yes", "yes", "no", "no"] * 5})
    frame.write_ipc(tmp_path / "t.feather")
    assert sheets.read_sheet(tmp_path / "t.feather").columns.keys() == {"id", "judge", "human"}
    for start, kind in ((b"SQLite format 3\0", "SQLite"), (b"\x80\x04\x95", "pickle"), (b"\x89HDF\r\n", "HDF5")):
        (tmp_path / "t.bin").write_bytes(start + bytes(range(256)))
        with pytest.raises(InputError, match=kind) as error:
            sheets.read_sheet(tmp_path / "t.bin")
        assert "UTF-8" not in str(error.value)
        assert ("sqlite3" in error.value.cure) == (kind == "SQLite")
