"""axisjudge label import and export on the command line."""

import json

from axisjudge.cli import main
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import Drawn, Sampling, with_drawn, write_sampling


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["axisjudge", *map(str, words)])
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0, capsys.readouterr()
    raise AssertionError


def test_a_sheet_goes_in_and_out(tmp_path, monkeypatch, capsys):
    sheet, labels, out = tmp_path / "mine.csv", tmp_path / "mine.jsonl", tmp_path / "out.csv"
    sheet.write_text("trajectory_id,Order\nr1,good\nr2,bad\n", encoding="utf-8")
    words = ["--axis-map", "Order=sequencing", "--word-map", "good=correct", "--word-map", "bad=incorrect"]
    code, said = run(monkeypatch, capsys, "label", "import", sheet, "--rater", "ada", *words, "--out", labels)
    assert code == 2, "how the items were drawn is asked for"
    assert said.err.endswith("--sampling unknown\n")  # the same command with the draw said
    assert not labels.exists()
    words += ["--sampling", "unknown"]
    code, said = run(monkeypatch, capsys, "label", "import", sheet, "--rater", "ada", *words, "--out", labels)
    assert code == 0, said.err
    assert "corrected failure rates will be refused" in said.out
    code, said = run(monkeypatch, capsys, "label", "import", sheet, "--rater", "ada", *words, "--out", labels)
    assert code == 2
    assert "is there already" in said.err
    code, said = run(monkeypatch, capsys, "label", "export", labels, "--format", "crowd-kit", "--out", out, "--json")
    assert code == 0, said.err
    assert json.loads(said.out)["not_held"] == {"flags": 2}
    assert out.read_text().splitlines()[1] == "r1::sequencing,ada,correct,r1,,sequencing,"


def test_bad_options_are_one_line(tmp_path, monkeypatch, capsys):
    sheet = tmp_path / "mine.csv"
    sheet.write_text("trajectory_id,rater,sequencing\nr1,ada,correct\n", encoding="utf-8")
    for words, message in (
        (["--axis-map", "sequencing"], "--axis-map: is written NAME=VALUE"),
        (["--format", "label studio"], "did you mean 'label-studio'"),
        (["--sampling", "randomly"], "did you mean 'random'"),
    ):
        code, said = run(monkeypatch, capsys, "label", "import", sheet, "--out", tmp_path / "x.jsonl", *words)
        assert code == 2
        assert message in said.err
        assert len(said.err.splitlines()) == 1


def test_an_option_that_changes_no_label_is_said(tmp_path, monkeypatch, capsys):
    named, unnamed = tmp_path / "named.csv", tmp_path / "unnamed.csv"
    named.write_text("trajectory_id,rater,sequencing\nr1,ada,correct\n", encoding="utf-8")
    unnamed.write_text("trajectory_id,sequencing\nr1,good\n", encoding="utf-8")
    more = ["--sampling", "unknown", "--rater", "bo", "--word-map", "good=correct"]
    code, said = run(monkeypatch, capsys, "label", "import", named, "--out", tmp_path / "a.jsonl", *more)
    assert (code, read_labels(tmp_path / "a.jsonl")["rater"].to_list()) == (0, ["ada"])
    assert "changes nothing here: --rater, --word-map" in said.out
    code, said = run(monkeypatch, capsys, "label", "import", unnamed, "--out", tmp_path / "b.jsonl", *more)
    assert (code, read_labels(tmp_path / "b.jsonl")["rater"].to_list()) == (0, ["bo"])
    assert "changes nothing" not in said.out


def test_two_people_of_one_name_are_asked_about(tmp_path, monkeypatch, capsys):
    for name, words in (("one", "correct correct"), ("two", "incorrect correct")):
        lines = [f"r{n},ann,{word}" for n, word in enumerate(words.split())]
        (tmp_path / f"{name}.csv").write_text("\n".join(["trajectory_id,rater,sequencing", *lines]), encoding="utf-8")
    files = [tmp_path / "one.csv", tmp_path / "two.csv", "--sampling", "unknown"]
    for given, is_asked in ((files, True), ([files[0], files[0], *files[2:]], False)):
        out = tmp_path / f"{is_asked}.jsonl"
        code, said = run(monkeypatch, capsys, "label", "import", *given, "--out", out)
        assert code == 0, said.err
        assert ("two.csv: ann says otherwise of 1 item than in a file before" in said.out) == is_asked


def test_a_plan_beside_the_file_is_found_by_what_it_drew(tmp_path, monkeypatch, capsys):
    sheet = tmp_path / "back.csv"
    sheet.write_text("trajectory_id,rater,sequencing\nr1,ada,correct\nr2,ada,incorrect\n", encoding="utf-8")
    drawn = Sampling("random", (Drawn("r1", 0.5), Drawn("r2", 0.5)), n_frame=4)
    write_sampling(tmp_path / "page.sampling.json", drawn)
    write_sampling(tmp_path / "other.sampling.json", Sampling("random", (Drawn("r1", 0.1),), n_frame=10))
    code, said = run(monkeypatch, capsys, "label", "import", sheet, "--out", tmp_path / "a.jsonl")
    assert code == 0, said.err
    assert "drawn as page.sampling.json says" in said.out
    assert with_drawn(read_labels(tmp_path / "a.jsonl"))["drawn_probability"].to_list() == [0.5, 0.5]
    write_sampling(tmp_path / "third.sampling.json", Sampling("random", drawn.items, n_frame=5))
    code, said = run(monkeypatch, capsys, "label", "import", sheet, "--out", tmp_path / "b.jsonl")
    assert code == 2, "two plans that both drew them"
    plan = ["--sampling", tmp_path / "third.sampling.json"]
    code, said = run(monkeypatch, capsys, "label", "import", sheet, *plan, "--out", tmp_path / "b.jsonl")
    assert code == 0, said.err
    assert with_drawn(read_labels(tmp_path / "b.jsonl"))["drawn_from"].to_list() == [5, 5]
