"""AgentProcessBench as ratings: counts of the real sets, and what a hand-made set with faults in it must become."""

import json

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.labels import read_agentprocessbench
from axisjudge.labels.formats import Terms, import_labels
from axisjudge.ratings import SCHEMA, read_ratings


def record(run="tau2_retail:3:0", steps=None, final=1, comment="", **fields):
    source, query, sample = run.split(":")
    return {
        "record_id": run,
        "data_source": source,
        "query_index": int(query),
        "sample_index": int(sample),
        "step_labels": {"1": 1, "3": 0, "5": -1} if steps is None else steps,
        "final_label": final,
        "comment": comment,
        **fields,
    }


@pytest.fixture
def folder(tmp_path):
    def make(people, **judges):
        (tmp_path / "human").mkdir()
        write(tmp_path / "human" / "tau2_final.jsonl", people)
        for judge, records in judges.items():
            (tmp_path / "judges" / judge).mkdir(parents=True)
            write(tmp_path / "judges" / judge / "tau2.jsonl", [{"annotator": "m", **one} for one in records])
        return tmp_path

    return make


def write(path, records):
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def test_a_label_becomes_a_rating(folder):
    why = {"steps": {"1": "greets", "3": ""}, "final": "done"}
    table = read_agentprocessbench(folder([record()], Qwen=[record(explanations=why)]), "tau2")
    first = table.filter(rater="Qwen", step_index=1).row(0, named=True)
    expected = {
        "item_id": "tau2_retail:3:0#1",
        "cluster_id": "tau2_retail:3",
        "domain": "retail",
        "question": "step",
        "scale": "step",
        "family": "qwen",
        "verdict": "+1",
        "value": 1.0,
        "rationale": "greets",
    }
    assert {name: first[name] for name in expected} == expected
    assert table.filter(rater="Qwen", step_index=3)["rationale"].to_list() == [None]
    assert table.filter(rater="people", question="final").select("item_id", "verdict").rows() == [
        ("tau2_retail:3:0", "+1")
    ]


def test_a_step_without_a_label_is_lost_and_not_neutral(folder):
    table = read_agentprocessbench(folder([record()], Qwen=[record(steps={"1": 1, "3": None, "5": -1})]), "tau2")
    lost = table.filter(rater="Qwen", step_index=3).row(0, named=True)
    assert (lost["status"], lost["verdict"], lost["value"]) == ("parse_error", None, None)


@pytest.mark.parametrize(
    ("comment", "status"),
    [
        ("llm_annotate_failed: JSONDecodeError: x", "parse_error"),
        ("llm_annotate_failed: APITimeoutError", "api_error"),
    ],
)
def test_the_final_label_of_a_failed_call_is_a_filler_and_is_lost(folder, comment, status):
    failed = record(steps={"1": None, "3": None, "5": None}, final=0, comment=comment)
    table = read_agentprocessbench(folder([record()], Qwen=[failed]), "tau2")
    assert set(table.filter(rater="Qwen")["status"]) == {status}


@pytest.mark.parametrize("steps", [{"1": 1, "3": 0}, {"1": 1, "3": 0, "5": -1, "7": 1}])
def test_a_judge_with_other_steps_than_people_is_refused(folder, steps):
    with pytest.raises(InputError, match=r"Qwen.*must label the steps that people labelled"):
        read_agentprocessbench(folder([record()], Qwen=[record(steps=steps)]), "tau2")


def test_errors_name_file_and_cure(folder, tmp_path):
    with pytest.raises(InputError, match=r"tau2_final.jsonl: cannot be read.*axisjudge data fetch"):
        read_agentprocessbench(tmp_path / "nowhere", "tau2")
    made = folder([record()])
    with pytest.raises(InputError, match="must be one of tau2; found 'tau'; did you mean 'tau2'"):
        read_agentprocessbench(made, "tau")
    with pytest.raises(InputError, match="holds no judge's labels of tau2"):
        read_agentprocessbench(made, "tau2")
    (made / "human" / "tau2_final.jsonl").write_text('{"record_id":\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"tau2_final.jsonl:1: is not valid JSON"):
        read_agentprocessbench(made, "tau2")


@pytest.mark.parametrize(
    ("subset", "steps", "lost", "minus"),
    [("tau2", 3557, 631, 1110), ("hotpotqa", 734, 98, 179), ("bfcl", 2590, 622, 570)],
)
def test_the_real_sets(shared_data, tmp_path, subset, steps, lost, minus):
    table = read_agentprocessbench(shared_data / "agentprocessbench", subset)
    assert table.schema == pl.Schema(SCHEMA)
    assert table["rater"].n_unique() == 21
    families = dict(table.filter(rater_kind="llm").group_by("family").agg(pl.col("rater").n_unique()).iter_rows())
    assert families == {"deepseek": 2, "google": 2, "meta": 3, "moonshot": 2, "openai": 3, "qwen": 8}
    by_step = table.filter(question="step")
    assert by_step.height == 21 * steps
    assert by_step["cluster_id"].n_unique() == 50
    assert by_step.filter(pl.col("status") != "ok").height == lost
    people = by_step.filter(rater="people")
    assert people.filter(verdict="-1").height == minus
    assert table.filter(question="final").height == 21 * 250
    table.write_parquet(tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet").height == table.height  # keeps every rule of the record


def test_lost_labels_of_one_judge_are_not_lost_at_random(shared_data):
    """Kimi-K2.5-Thinking on hotpotqa: 4.1% lost, and people say -1 on 80% of those against 24% overall."""
    table = read_agentprocessbench(shared_data / "agentprocessbench", "hotpotqa").filter(question="step")
    kimi = table.filter(rater="Kimi-K2.5-Thinking")
    people = table.filter(rater="people")
    lost = people.filter(pl.col("item_id").is_in(kimi.filter(pl.col("status") != "ok")["item_id"].to_list()))
    assert lost.height / people.height == pytest.approx(0.041, abs=5e-4)
    assert (lost["verdict"] == "-1").mean() == pytest.approx(0.80)
    assert (people["verdict"] == "-1").mean() == pytest.approx(0.244, abs=5e-4)


def test_a_question_that_is_called_an_axis_becomes_one(tmp_path):
    """As the labels of a search for a better rubric, which are of an axis."""
    record = {"record_id": "s:0:0", "data_source": "s", "query_index": 0, "step_labels": {"2": 1}, "final_label": -1}
    path = tmp_path / "s_final.jsonl"
    path.write_text(json.dumps({**record, "dataset": "s", "sample_index": 0}) + "\n")
    told = Terms(axes={"final": "termination"}, words={"+1": "correct", "-1": "incorrect"})
    labels = {each.question: each for each in import_labels(path, told).ratings}
    assert (labels["termination"].scale, labels["termination"].verdict) == ("verdict", "incorrect")
    assert (labels["step"].scale, labels["step"].verdict) == ("step", "+1")
    with pytest.raises(InputError, match="say by --word-map"):
        import_labels(path, Terms(axes={"final": "termination"}))
