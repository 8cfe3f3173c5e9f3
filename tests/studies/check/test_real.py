"""Real votes, read as a newcomer would bring them: figures equal independent counts."""

import csv
import json

import numpy as np
import pytest
from sklearn import metrics

from axisjudge.studies.check import check


@pytest.fixture(scope="module")
def finals(shared_data, tmp_path_factory):
    """Final labels of people and of every judge on tau2, as CSV: a column a rater, the query of each run."""
    folder = shared_data / "agentprocessbench"
    rows = {}
    for line in (folder / "human" / "tau2_final.jsonl").read_text().splitlines():
        record = json.loads(line)
        query = f"{record['data_source']}:{record['query_index']}"
        rows[record["record_id"]] = {"run_id": record["record_id"], "query": query, "human": record["final_label"]}
    names = []
    for path in sorted(folder.glob("judges/*/tau2.jsonl")):
        names.append(path.parent.name)
        for line in path.read_text().splitlines():
            record = json.loads(line)
            lost = (record.get("comment") or "").startswith("llm_annotate_failed")
            rows[record["record_id"]][path.parent.name] = "" if lost else record["final_label"]
    path = tmp_path_factory.mktemp("finals") / "tau2.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["run_id", "query", "human", *names])
        writer.writeheader()
        writer.writerows(rows.values())
    return path


@pytest.mark.slow
def test_twenty_judges_are_recognised_and_their_figures_are_those_of_scikit_learn(finals):
    result = check(finals, positive="-1")
    assert (len(result.read.judges), result.read.roles.cluster, result.read.votes.n_clusters) == (20, "query", 50)
    with finals.open() as file:
        rows = list(csv.DictReader(file))
    for judge in result.read.judges:
        pairs = [(row["human"] == "-1", row[judge.name] == "-1") for row in rows if row[judge.name]]
        truth, said = np.array(pairs).T
        assert judge.n_missing == 250 - len(pairs)
        assert judge.measures["sensitivity"].estimate == pytest.approx(metrics.recall_score(truth, said))
        assert judge.measures["kappa"].estimate == pytest.approx(metrics.cohen_kappa_score(truth, said))
    assert 1 < len(result.read.ranks.first) < 20


def test_a_long_table_of_people_and_judges_with_three_words(shared_data):
    rows = {"item": [], "rater": [], "rater_kind": [], "label": []}
    for kind in ("human", "llm"):
        said = json.loads((shared_data / "alttest" / "mtbench" / f"{kind}_annotations.json").read_text())
        for rater, labels in said.items():
            rows["item"] += list(labels)
            rows["label"] += list(labels.values())
            rows["rater"] += [rater] * len(labels)
            rows["rater_kind"] += [kind] * len(labels)
    result = check(rows)
    assert (len(result.read.judges), len(result.read.people)) == (6, 3)
    assert result.read.votes.question.words == ("model_a", "model_b", "tie")
    assert set(result.read.judges[0].by_word) == {"model_a", "model_b", "tie"}
