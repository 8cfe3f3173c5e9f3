"""Exports of other tools without an option: who said what of what, counted independently of the readers."""

import copy
import csv
import json
import zipfile
from collections import Counter

import polars as pl
import pytest
from imports import made_exports as made
from spoilt import spoilt

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.ratings import write_ratings
from axisjudge.readers import read_trajectories
from axisjudge.studies.check import check


def write(folder, content, name="export.json"):
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def rows(table, *names, **wanted):
    return sorted(table.filter(**wanted).select(names).iter_rows(), key=str)


def test_an_openai_eval_says_what_matched_and_what_was_only_sampled(tmp_path):
    events = [
        {"spec": {"completion_fns": ["gpt-x"], "base_eval": "words", "eval_name": "words.v0"}},
        {"final_report": {"accuracy": 0.5}},
        {"event_id": 0, "sample_id": "words.1", "type": "sampling", "data": {"prompt": "a", "sampled": "b"}},
        {"event_id": 1, "sample_id": "words.1", "type": "match", "data": {"correct": True, "expected": "b"}},
        {"event_id": 2, "sample_id": "words.2", "type": "match", "data": {"correct": False, "expected": "c"}},
        {"event_id": 3, "sample_id": "words.2", "type": "metrics", "data": {"choice": "no", "score": 0.0}},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    found = import_ratings([path])
    assert rows(found.ratings, "trajectory_id", "agent", "rater_kind", "verdict", question="correct") == [
        ("words.1", "gpt-x", "rules", "pass"),
        ("words.2", "gpt-x", "rules", "fail"),
    ]
    assert rows(found.ratings, "rater_kind", question="choice") == [("llm",)]
    assert any("1 events that grade nothing" in note for note in found.notes)


def test_samples_of_lm_eval_are_rated_by_the_metrics_that_they_list_filter_by_filter(tmp_path):
    samples = [
        {"doc_id": n, "doc": {"answer": 3}, "target": "3", "filtered_resps": ["3"], "filter": form, "doc_hash": "x"}
        | {"metrics": ["exact_match"], "exact_match": float(n == 0 or form == "loose")}
        for n in range(2)
        for form in ("strict", "loose")
    ]
    path = tmp_path / "samples_sums_2026-01-21T03-44-18.458309.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    table = import_ratings([path]).ratings
    assert set(table["question"]) == {"exact_match, strict", "exact_match, loose"}
    assert set(table["trajectory_id"]) == {"sums/0", "sums/1"}
    assert table.filter(pl.col("verdict") == "1").height == 3


def test_helms_instances_are_rated_by_what_rates_and_not_by_what_counts(tmp_path):
    def stat(name, mean):
        return {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean, "mean": mean, "variance": 0.0}

    content = [
        {
            "instance_id": f"id{n}",
            "train_trial_index": 0,
            "stats": [
                stat("num_prompt_tokens", 400),
                stat("logprob", -3.1),
                stat("exact_match", n),
                stat("f1_score", 0.4),
            ],
        }
        for n in (0, 1)
    ]
    found = import_ratings([write(tmp_path, content, "per_instance_stats.json")])
    assert set(found.ratings["question"]) == {"exact_match", "f1_score"}
    assert found.ratings.height == 4
    assert any("2 measures that rate no output" in note for note in found.notes)


def test_promptfoo(tmp_path):
    content = made.promptfoo()
    found = import_ratings([write(tmp_path, content)])
    table = found.ratings
    assert rows(table, "trajectory_id", "rater", "rater_kind", "family", "verdict", "status", question="helpful") == [
        ("0/anthropic:claude/0", "openai:gpt-4.1", "llm", "openai", "pass", "ok"),
        ("0/openai:gpt-5/0", "openai:gpt-4.1", "llm", "openai", None, "api_error"),
        ("1/openai:gpt-5/0", "openai:gpt-4.1", "llm", "openai", "fail", "ok"),
    ]
    assert rows(table, "rater_kind", "verdict", question="human") == [("human", "fail")]
    assert rows(table, "rater", "verdict", question="not-contains b") == [("not-contains", "fail")]
    assert rows(table, "scale", "value", question="helpful (score)") == [("unit", 0.1), ("unit", 0.8)]
    assert rows(table, "verdict", "status", question="success") == sorted(
        [("pass", "ok"), ("fail", "ok"), ("fail", "ok"), (None, "api_error")], key=str
    )
    text = json.dumps(content)
    leaves = text.count('"pass":') - text.count('"componentResults":')
    named = sum(len(result["namedScores"]) for result in content["results"]["results"])
    assert table.height == leaves + named + len(content["results"]["results"])
    assert any("1 of 4 results are errors" in note for note in found.notes)


def test_mlflow_in_all_its_wrappings(tmp_path):
    content = made.mlflow()
    found = import_ratings([write(tmp_path, content)])
    table = found.ratings
    assert rows(table, "item_id", "rater", "rater_kind", "family", "verdict", question="correct") == [
        ("tr-1", "ada@example.org", "human", "human", "true"),
        ("tr-1@sp-1", "openai:/gpt-4o-mini", "llm", "openai", "false"),
        ("tr-2", "openai:/gpt-4o-mini", "llm", "openai", "true"),
    ]
    assert rows(table, "rater_kind", "scale", "value", question="length") == [("rules", "unit", 0.25)]
    assert rows(table, "status", "verdict", question="safe") == [("api_error", None)]
    assert rows(table, "verdict", question="expected answer") == [("Paris",)]
    assert rows(table, "value", question="expected steps.n") == [(3.0,)]
    assert any("1 assessments were overridden" in note for note in found.notes)
    for wrapped in (content["traces"], content["traces"][0]):
        count = len(content["traces"][0]["info"]["assessments"]) - 1 + (wrapped is content["traces"])
        assert import_ratings([write(tmp_path, wrapped)]).ratings.height == count
    frame = [
        {"trace_id": t["info"]["trace_id"], "assessments": json.dumps(t["info"].get("assessments", []))}
        for t in content["traces"]
    ]
    pl.DataFrame(frame).write_parquet(tmp_path / "t.parquet")
    assert import_ratings([tmp_path / "t.parquet"]).ratings.height == table.height


def test_langfuse_by_both_apis_and_as_csv(tmp_path):
    scores = made.langfuse()
    with pytest.raises(InputError, match="not by every name; found 'tone'"):
        import_ratings([write(tmp_path, scores)])
    told = ImportOptions(kinds={"tone": "rules"})
    for wrapped in (scores, {"data": scores, "meta": {"page": 1}}):
        found = import_ratings([write(tmp_path, wrapped)], told)
        assert found.ratings.height == sum(score["dataType"] != "TEXT" for score in scores)
    table = found.ratings
    assert rows(table, "item_id", "rater", "rater_kind", "value", question="quality") == sorted(
        [
            ("t1", "u1", "human", 4.0),
            ("t1", "quality", "llm", 2.0),
            ("t1@o1", "quality", "llm", 5.0),
            ("s1", "annotator", "human", 1.0),
        ],
        key=str,
    )
    assert rows(table, "verdict", question="safe") == [("True",)]
    assert rows(table, "verdict", "rater_kind", question="tone") == [("warm", "rules")]
    with (tmp_path / "scores.csv").open("w", newline="") as out:
        heads = list(dict.fromkeys(name for score in scores for name in score))
        sheet = csv.DictWriter(out, heads)
        sheet.writeheader()
        sheet.writerows({**score, "metadata": "{}"} for score in scores)
    again = import_ratings([tmp_path / "scores.csv"], told).ratings
    same = ["item_id", "question", "rater", "rater_kind", "verdict", "value"]
    assert again.select(same).sort(same).equals(table.select(same).sort(same))
    third = import_ratings([write(tmp_path, made.langfuse_v3())]).ratings
    assert rows(third, "item_id", "question", "verdict") == [
        ("t1", "boolean", "true"),
        ("t1@o1", "categorical", "warm"),
    ]


def test_langsmith(tmp_path):
    feedback = made.langsmith()
    with pytest.raises(InputError, match="not by every name; found 'exact'"):
        import_ratings([write(tmp_path, feedback)])
    found = import_ratings([write(tmp_path, feedback)], ImportOptions(kind="rules"))
    assert rows(found.ratings, "question", "rater", "rater_kind", "verdict") == [
        ("correct", "ada", "human", "0"),
        ("correct", "gpt-4o", "llm", "1"),
        ("exact", "exact", "rules", "true"),
        ("tone", "ada", "human", "warm"),
    ]
    assert any("1 pieces of feedback hold neither" in note for note in found.notes)
    lines = tmp_path / "feedback.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in feedback))
    assert import_ratings([lines], ImportOptions(kind="rules")).ratings.equals(found.ratings)


def test_langsmith_evaluators_are_no_models_unless_one_is_named(tmp_path):
    """Its client writes the source ``model`` for programs as well, and an evaluator's crash into `extra`."""
    about = {"id": "f", "run_id": "r1", "trace_id": "r1", "value": None, "comment": None}
    program = {"type": "model", "metadata": {"__run": {"run_id": "e"}}}
    feedback = [
        {**about, "key": "length", "score": 1, "feedback_source": program, "extra": None},
        {
            **about,
            "key": "length",
            "run_id": "r2",
            "trace_id": "r2",
            "score": None,
            "feedback_source": program,
            "extra": {"error": True},
        },
        {
            **about,
            "key": "length",
            "run_id": "r3",
            "trace_id": "r3",
            "score": 0,
            "feedback_source": program,
            "extra": None,
        },
    ]
    path = write(tmp_path, feedback)
    with pytest.raises(InputError, match="not by every name; found 'length'"):
        import_ratings([path])
    table = import_ratings([path], ImportOptions(kind="rules")).ratings
    assert rows(table, "trajectory_id", "rater_kind", "status", "verdict") == [
        ("r1", "rules", "ok", "1"),
        ("r2", "rules", "api_error", None),
        ("r3", "rules", "ok", "0"),
    ]


def test_promptfoo_red_team_grades_are_a_models(tmp_path):
    grade = {
        "pass": False,
        "score": 0,
        "reason": "it told",
        "assertion": {"type": "promptfoo:redteam:pii", "metric": "Pii"},
    }
    result = {
        "testIdx": 0,
        "promptIdx": 0,
        "provider": {"id": "openai:gpt-5"},
        "testCase": {"vars": {}},
        "success": False,
        "failureReason": 1,
        "gradingResult": {"pass": False, "score": 0, "reason": "", "componentResults": [grade]},
    }
    table = import_ratings([write(tmp_path, {"results": {"version": 3, "results": [result]}})]).ratings
    assert rows(table, "rater_kind", "verdict", question="Pii") == [("llm", "fail")]


def test_inspect_scores(tmp_path):
    log = write(tmp_path, made.inspect_log(), "log.json")
    with pytest.raises(InputError, match="not by every name; found 'house'"):
        import_ratings([log])
    table = import_ratings([log], ImportOptions(kinds={"house": "rules"})).ratings
    assert rows(table, "trajectory_id", "rater", "family", "verdict", "status", question="model_graded_qa") == [
        ("u0", "openai/gpt-4.1", "openai", "C", "ok"),
        ("u1", "openai/gpt-4.1", "openai", None, "parse_error"),
    ]
    assert rows(table, "trajectory_id", "rater", "rater_kind", "verdict", question="match") == [
        ("u0", "ada", "human", "I"),
        ("u0", "match", "rules", "C"),
        ("u1", "match", "rules", "P"),
        ("u2", "match", "rules", "I"),
    ]
    assert rows(table, "value", "status", question="house.tone") == [(3.0, "ok")]
    assert rows(table, "status", question="house.facts") == [("parse_error",)]
    runs = {run.id for run in read_trajectories(log).trajectories}
    assert set(table["trajectory_id"]) <= runs, "judges of these runs and Inspect's scorers meet on one item"


def test_real_inspect_logs(shared_data):
    folder = shared_data / "inspect_logs"
    found = import_ratings([folder], ImportOptions(kinds={"closeness_log": "rules"}))
    expected = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".json":
            samples = json.loads(path.read_text()).get("samples") or []
        else:
            with zipfile.ZipFile(path) as packed:
                samples = [json.loads(packed.read(n)) for n in packed.namelist() if n.startswith("samples/")]
        expected[path.name] = sum(len(sample.get("scores") or {}) for sample in samples)
    assert {path.name: count for path, _, count in found.files} == expected
    graders = found.ratings.filter(question="model_graded_fact").select("rater_kind", "family").rows()
    assert graders == [("llm", "openai")]


@pytest.mark.parametrize("content", ["{}", "[]", "null", '"text"', '{"a": 1}', "[1, 2]", "{", ""])
def test_a_file_of_nothing_known_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(InputError) as told:
        import_ratings([path], ImportOptions(kind="llm"))
    assert "x.json" in str(told.value)
    assert "\n" not in str(told.value)


def test_an_unknown_file_in_a_folder_is_passed_over_and_said(tmp_path):
    write(tmp_path, made.mlflow(), "a.json")
    (tmp_path / "b.json").write_text("{")
    found = import_ratings([tmp_path])
    assert [path.name for path, _, _ in found.files] == ["a.json"]
    assert any("b.json" in each for each in found.passed_over)


def test_what_is_hidden_is_so_inside_the_folder_that_is_named(tmp_path, monkeypatch):
    folder = tmp_path / ".cache" / "labels"
    (folder / ".old").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    write(folder, made.mlflow(), "a.json")
    write(folder / ".old", made.langfuse(), "b.json")
    monkeypatch.chdir(tmp_path / "here")
    for named in (folder, "../.cache/labels"):
        assert [path.name for path, _, _ in import_ratings([named]).files] == ["a.json"]


@pytest.mark.parametrize("calls", [[], [3]])
def test_labels_whose_own_runs_cannot_be_read_say_so(tmp_path, calls):
    history = [{"name": "Ann", "role": "user", "content": "2 + 2?"}]
    history += [{"name": "Bob", "role": "assistant", "content": "5", "tool_calls": calls}]
    record = {"history": history, "mistake_agent": "Bob", "mistake_step": "1", "question_ID": "q"}
    notes = import_ratings([write(tmp_path, record)]).notes
    assert any("no task, agent and domain, as runs cannot be read" in note for note in notes) is bool(calls)


FORMS = {
    "promptfoo, a result a line": (
        "r.jsonl",
        [
            {"id": f"r{n}", "success": ok, "provider": {"id": "p"}, "gradingResult": {"componentResults": [
                {"pass": ok, "assertion": {"type": "llm-rubric", "value": "is short", "provider": "openai:gpt-4o"}}]}}
            for n, ok in enumerate((True, False))
        ],
        {("llm", "pass"), ("llm", "fail"), ("rules", "pass"), ("rules", "fail")},
    ),
    "Phoenix, annotations": (
        "a.json",
        {"data": [
            {"name": "correct", "annotator_kind": kind, "span_id": "s1", "result": {"label": word, "score": 1}}
            for kind, word in (("LLM", "yes"), ("HUMAN", "no"))
        ]},
        {("llm", "yes"), ("human", "no")},
    ),
    "Langfuse, traces with their scores": (
        "t.json",
        {"data": [{"id": "t1", "scores": [
            {"traceId": "t1", "name": "correct", "source": "ANNOTATION", "dataType": "CATEGORICAL",
             "stringValue": "no", "value": 0, "authorUserId": "ann"}]}]},
        {("human", "no")},
    ),
    "MLflow, assessments by nobody in particular": (
        "m.json",
        [{"info": {"trace_id": "t1", "assessments": [
            {"assessment_name": "correct", "source": {"source_type": kind, "source_id": "default"},
             "feedback": {"value": word}}
            for kind, word in (("LLM_JUDGE", "yes"), ("HUMAN", "no"))]}}],
        {("llm", "yes"), ("human", "no")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_further_forms_say_who_and_what(tmp_path, form):
    name, content, expected = FORMS[form]
    lines = "\n".join(map(json.dumps, content)) if name.endswith("l") else json.dumps(content)
    (tmp_path / name).write_text(lines)
    table = import_ratings([tmp_path / name]).ratings
    assert sorted(table.select("rater_kind", "verdict").iter_rows()) == sorted(expected)


HARNESSES = {
    "openai-evals": [
        {"spec": {"completion_fns": ["m"], "base_eval": "words"}},
        {"sample_id": "a", "type": "match", "data": {"correct": True}},
        {"sample_id": "b", "type": "metrics", "data": {"choice": "no", "score": 0.0}},
    ],
    "lm-eval": [
        {"doc_id": n, "filtered_resps": ["3"], "filter": form, "metrics": ["exact_match"], "exact_match": 1.0}
        for n, form in enumerate(("strict", "loose"))
    ],
    "helm": [
        {"instance_id": "i", "perturbation": None, "stats": [{"name": {"name": "exact_match"}, "mean": 1.0}]},
        {"instance_id": "j", "perturbation": {"name": "p"}, "stats": [{"name": {"name": "exact_match"}, "mean": 0.0}]},
    ],
    "mt-bench": [
        {"question_id": n, "model": "m", "judge": ["j", "single"], "judgment": "[[3]]", "score": 3, "turn": 1}
        for n in range(2)
    ],
}
EXPORTS = {
    **{form: content for form, (_, content, _) in FORMS.items()},
    **{one.__name__: one() for one in (made.promptfoo, made.mlflow, made.langfuse, made.langsmith, made.inspect_log)},
    **HARNESSES,
}


@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_with_something_amiss_is_read_or_refused_in_one_line(tmp_path, form):
    told = []
    for content in spoilt(EXPORTS[form], 6):
        try:
            told += import_ratings([write(tmp_path, content)]).notes
        except InputError as error:
            told.append(str(error))
    assert told
    assert not any("\n" in one for one in told)


@pytest.mark.parametrize(
    ("form", "spoil", "n"),
    [
        ("lm-eval", lambda rows: rows[1].pop("filter"), 2),
        ("Phoenix, annotations", lambda rows: rows["data"][1].pop("annotator_kind"), 2),
        (
            "MLflow, assessments by nobody in particular",
            lambda rows: rows[0]["info"]["assessments"][0].update(source={"source_type": None}),
            2,
        ),
    ],
)
def test_who_rated_may_be_left_open_in_some_rows(tmp_path, form, spoil, n):
    content = copy.deepcopy(EXPORTS[form])
    spoil(content)
    options = ImportOptions(kind="llm")
    assert import_ratings([write(tmp_path, content)], options).ratings.height == n


def test_experiments_keep_what_was_judged_apart_from_what_was_said_of_it(tmp_path):
    """As LangSmith and MLflow export experiments: a row a run, beside its texts a column a question."""
    path = tmp_path / "e.csv"
    path.write_text(
        "id,name,inputs.city,outputs.hall,correct/value,correct/rationale,feedback.tone\n"
        "r1,x,Ulm,7,yes,found it,0.5\nr2,x,Rom,8,no,lost it,0.7\n"
    )
    table = import_ratings([path], ImportOptions(rater="judge", kind="llm")).ratings
    assert set(table["question"]) == {"correct/value", "feedback.tone"}
    assert table.filter(question="correct/value")["rationale"].to_list() == ["found it", "lost it"]


def test_scorers_of_braintrust_are_each_asked_their_own_question_and_a_failed_one_is_lost(tmp_path):
    rows = [
        {"input": n, "output": f"a{n}", "expected": f"b{n}", "tags": None, "error": None}
        | {"metadata": {"scorer_errors": {"Safe": "down"}} if n == 3 else {}}
        | {"scores": {"Factuality": n % 3 % 2, "ExactMatch": 0, "Safe": None if n < 5 else 1}}
        for n in range(20)
    ]
    (path := tmp_path / "rows.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="Safe") as refused:
        import_ratings([path])
    table = import_ratings([path], ImportOptions().with_options(refused.value.ways[0].options)).ratings
    assert Counter(table.select("question", "rater", "rater_kind").iter_rows()) == {
        ("Factuality", "Factuality", "llm"): 20, ("ExactMatch", "ExactMatch", "rules"): 20, ("Safe", "Safe", "llm"): 16
    }  # fmt: skip
    assert table.filter(status="api_error")["question"].to_list() == ["Safe"]
    write_ratings(table, tmp_path / "ratings.jsonl")
    with pytest.raises(InputError) as refused:  # no scorer is proposed as a person
        check(tmp_path / "ratings.jsonl")
    assert [way.instead[:2] for way in refused.value.ways] == [("axisjudge", "agreement")]
    labels = [
        row | {"output": ("yes", "no")[n % 2], "expected": ("yes", "no")[n % 5 % 2]} for n, row in enumerate(rows)
    ]
    path.write_text(json.dumps(labels))
    assert check(path, judges="output").read.votes.people == ("expected",)


def test_a_reply_of_mt_bench_without_a_score_is_lost_and_no_grade_of_minus_one(tmp_path):
    rows = [
        {"question_id": 81 + n // 2, "model": "m", "judge": ["gpt-4", "single-v1"], "user_prompt": "p", "tstamp": 1.0}
        | {"judgment": "j", "turn": n % 2 + 1, "score": -1 if n == 4 else n % 10 + 1}
        for n in range(20)
    ]
    (path := tmp_path / "gpt-4_single.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = import_ratings([path]).ratings
    assert Counter(table.select("rater", "rater_kind", "status").iter_rows()) == {
        ("gpt-4", "llm", "ok"): 19, ("gpt-4", "llm", "parse_error"): 1
    }  # fmt: skip
    assert (table["value"].min(), table["cluster_id"].n_unique(), {*table["agent"]}) == (1, 10, {"m"})
