"""axisjudge import and export on the command line."""

import json

import pytest

from axisjudge.cli import main
from axisjudge.ratings import read_ratings


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["axisjudge", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code or 0, capsys.readouterr()

    return run


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("task,gpt,qwen,label\nt1,pass,fail,pass\nt2,fail,fail,fail\n", encoding="utf-8")
    return path


def test_judges_and_people_come_in_and_go_out_again(run, sheet, tmp_path):
    ratings = tmp_path / "ratings.jsonl"
    words = ["--kind", "llm", "--kind", "label=human", "--family", "gpt=house", "--question", "solved"]
    code, said = run("import", sheet, *words, "--word-map", "pass=yes", "--word-map", "fail=no", "--out", ratings)
    assert code == 0, said.err
    assert "nominal:no,yes" in said.out
    assert "corrected failure rates will be refused" in said.out
    table = read_ratings(ratings)
    assert set(table.select("rater", "rater_kind", "family").iter_rows()) == {
        ("gpt", "llm", "house"),
        ("qwen", "llm", "qwen"),
        ("label", "human", "human"),
    }
    code, said = run("agreement", ratings, "--json")
    assert code == 0, said.err
    for form in ("parquet", "csv", "crowd-kit"):
        out = tmp_path / f"out.{form}"
        code, said = run("export", ratings, "--to", form, "--rater", "gpt", "--out", out, "--json")
        assert code == 0, said.err
        assert json.loads(said.out)["ratings"] == 2
        assert out.stat().st_size > 0


def test_bad_input_is_one_line_with_its_cure(run, sheet, tmp_path):
    for words, message in (
        (["--kind", "llm", "--kind", "human", "--question", "q"], "one for all"),
        (["--kind", "person", "--question", "q"], "must be one of llm"),
        (["--kind", "llm", "--question", "q", "--scale", "q=stars"], "must be verdict, step"),
        (["--kind", "llm", "--column", "tusk=trajectory_id"], "has no column tusk"),
        (["--kind", "llm", "--question", "q", "--family", "gpt4=x"], "there are gpt, label, qwen"),
    ):
        code, said = run("import", sheet, *words, "--out", tmp_path / "x.jsonl")
        assert code == 2
        assert message in said.err
        assert len(said.err.splitlines()) == 1
        assert not (tmp_path / "x.jsonl").exists()
    sheet.with_name("there.jsonl").write_text("")
    code, said = run("import", sheet, "--kind", "llm", "--out", sheet.with_name("there.jsonl"))
    assert (code, "is there already" in said.err) == (2, True)


def test_label_import_is_the_same_with_people(run, sheet, tmp_path):
    out = tmp_path / "labels.jsonl"
    code, said = run("label", "import", sheet, "--question", "solved", "--sampling", "random", "--out", out)
    assert code == 0, said.err
    labels = read_ratings(out)
    assert set(labels["rater_kind"]) == {"human"}
    assert labels["flags"].list.contains("drawn:random").all()
    code, said = run("import", sheet, "--kind", "human", "--question", "solved", "--out", tmp_path / "same.parquet")
    assert code == 0, said.err
    assert "drawn" in said.out, "what is not known of the draw is said"
    assert read_ratings(tmp_path / "same.parquet").drop("flags").equals(labels.drop("flags"))


def test_step_labels_of_a_judge_by_options_alone(run, tmp_path):
    path = tmp_path / "steps.jsonl"
    rows = [{"run": "r", "step": n, "judge": "qwen3", "value": value} for n, value in enumerate((1, 0, -1))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--column", "run=trajectory_id", "--kind", "decision_model", "--question", "step"]
    code, said = run("import", path, *words, "--out", tmp_path / "r.jsonl", "--json")
    assert code == 0, said.err
    assert json.loads(said.out)["raters"][0]["rater_kind"] == "decision_model"
    table = read_ratings(tmp_path / "r.jsonl")
    assert table.select("item_id", "scale", "verdict").rows() == [
        ("r#0", "step", "+1"),
        ("r#1", "step", "0"),
        ("r#2", "step", "-1"),
    ]


def test_without_out_it_is_a_look(run, sheet, monkeypatch):
    monkeypatch.chdir(sheet.parent)
    code, said = run("import", sheet.name, "--kind", "llm", "--kind", "label=human", "--question", "solved")
    assert (code, [path.name for path in sheet.parent.iterdir()]) == (0, [sheet.name]), said.err
    assert "nothing is written without --out" in said.out
    assert "fail 4, pass 2" in said.out.partition("What was said")[2]


def test_read_of_a_table_of_ratings_says_how_it_is_taken(run, tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps([{"id": n, "gpt": "yes", "human": ("no", "yes")[n % 2]} for n in range(30)]))
    code, said = run("read", path)
    assert (code, f"axisjudge import {path}" in said.err) == (2, True)
