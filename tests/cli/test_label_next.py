"""`axisjudge label next`: the order is drawn once, the next runs follow it, and the price is printed."""

import json

from explorer.conftest import packed

from axisjudge.datasets.registry import demo_paths
from axisjudge.labels.decisions import label_base, label_word
from axisjudge.labels.sampling import read_sampling
from axisjudge.ratings import RatingsWriter
from axisjudge.readers import read_trajectories
from axisjudge.rubric import load_rubric
from axisjudge.verdict import Rating


def run(monkeypatch, capsys, *words):
    from axisjudge.cli import main

    monkeypatch.setattr("sys.argv", ["axisjudge", "label", "next", *map(str, words)])
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0, capsys.readouterr()
    raise AssertionError


def test_labels_go_in_the_order_that_was_drawn_and_the_plan_stays(tmp_path, monkeypatch, capsys):
    one_file = min(demo_paths())
    runs = {each.id: each for each in read_trajectories(one_file).trajectories}
    plan, labels = tmp_path / "next.sampling.json", tmp_path / "ada.jsonl"
    where = ["--trajectories", one_file, "--out", plan, "--axis", "sequencing", "--n", 2]
    code, first = run(monkeypatch, capsys, *where, "--json")
    assert code == 0, first.err
    order = read_sampling(plan).trajectory_ids
    assert json.loads(first.out)["next"] == list(order[:2])
    rubric = load_rubric("sequencing")
    with RatingsWriter(labels) as writer:
        for name in order[:3]:
            word = label_word("incorrect", None, [], "", None)
            writer.append([Rating(**label_base(runs[name], rubric, "ada"), **word)])
    page = tmp_path / "next.html"
    code, later = run(monkeypatch, capsys, *where, "--labels", labels, "--page", page, "--json")
    assert code == 0, later.err
    whole = json.loads(later.out)
    assert whole["next"] == list(order[3:5])
    assert whole["looks"][0]["labels"] == 3
    shown = packed(page.read_text(), "items-0")
    assert [each["base"]["trajectory_id"] for each in shown] == list(order[3:5])
    assert order[0] not in page.read_text()
    code, said = run(monkeypatch, capsys, *where, "--labels", labels)
    assert "times as many" in said.out
    code, said = run(monkeypatch, capsys, "--out", plan)
    assert (code, "--trajectories" in said.err) == (2, True)
    code, said = run(monkeypatch, capsys, *where, "--rater", "ada")
    assert (code, "--page" in said.err) == (2, True), "who labels is of the page alone"
