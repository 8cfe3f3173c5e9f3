"""Files in the shapes that tools write today (Phoenix, Langfuse, LangSmith, Argilla, HELM), and raters in a cell."""

import csv
import json
from collections import Counter

import pytest

from axisjudge.checks import InputError
from axisjudge.imports import sheets
from axisjudge.imports.api import import_ratings, tool_of
from axisjudge.imports.judgement import ImportOptions
from axisjudge.imports.recognise import recognise, texts
from axisjudge.imports.sheets import read_sheet
from axisjudge.ratings import write_ratings
from axisjudge.studies.check import check


def said(path, question, **rater):
    table = import_ratings([path], ImportOptions()).ratings.filter(question=question, **rater)
    return Counter("lost" if word is None else word for word in table["verdict"])


def as_csv(path, rows):
    with path.open("w", newline="") as file:
        sheet = csv.DictWriter(file, rows[0].keys())
        sheet.writeheader()
        sheet.writerows(rows)
    return path


def test_phoenix_annotations_as_its_client_gives_them_are_an_export_and_no_judge_beside_kinds(tmp_path):
    kinds = ("HUMAN", "LLM") * 12
    rows = [
        {"span_id": f"s{n // 2}", "annotation_name": "right", "annotator_kind": kind}
        | {"result.label": ("yes", "no")[n % 3 == 0], "result.score": float(n % 3 != 0)}
        for n, kind in enumerate(kinds)
    ]
    path = as_csv(tmp_path / "a.csv", rows)
    assert said(path, "right", rater_kind="human") == Counter(r["result.label"] for r in rows[::2])
    with pytest.raises(InputError, match="Phoenix") as refused:
        check(path)
    assert [way.instead[:2] for way in refused.value.ways] == [("axisjudge", "import")]
    spans = [{f"context.{name}" if name == "span_id" else name: cell for name, cell in row.items()} for row in rows]
    by_span = import_ratings([as_csv(tmp_path / "spans.csv", spans)]).ratings
    assert {*by_span["item_id"]} == {row["span_id"] for row in rows}


def test_runs_of_a_phoenix_experiment_are_items_and_a_failed_evaluator_is_lost(tmp_path):
    one = [
        {"example_id": f"e{n // 2}", "repetition_number": n % 2 + 1, "output": n}
        | {"label": "good" if n % 3 else None, "error": None if n % 3 else "no answer"}
        for n in range(12)
    ]
    nested = [
        {key: row[key] for key in ("example_id", "repetition_number", "output")}
        | {"annotations": [{"name": "fine", "annotator_kind": "LLM", "label": row["label"], "error": row["error"]}]}
        for row in one
    ]
    wide = [
        {key: row[key] for key in ("example_id", "repetition_number", "output")}
        | {"annotation_fine_annotator_kind": "LLM"}
        | {f"annotation_fine_{part}": row[part] for part in ("label", "error")}
        for row in one
    ]
    (tmp_path / "e.json").write_text(json.dumps(nested))
    for path in (tmp_path / "e.json", as_csv(tmp_path / "e.csv", wide)):
        table = import_ratings([path], ImportOptions()).ratings
        assert said(path, "fine") == {"good": 8, "lost": 4}
        assert (table["item_id"].n_unique(), table["cluster_id"].n_unique()) == (12, 6)
    assert tool_of(tmp_path / "e.json")


def test_langfuse_scores_without_what_they_are_on_are_refused_with_what_to_ask_for(tmp_path):
    score = {"name": "right", "source": "EVAL", "dataType": "BOOLEAN", "value": True, "createdAt": "2026-01-01"}
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"data": [score | {"id": f"s{n}"} for n in range(9)], "meta": {"limit": 9}}))
    for call in (check, lambda file: import_ratings([file], ImportOptions())):
        with pytest.raises(InputError, match="fields=subject") as refused:
            call(path)
        assert not refused.value.ways
    items = [{"id": f"span{n}", "traceId": f"t{n}", "scores": [score]} for n in range(9)]
    path.write_text(json.dumps({"data": items}))
    assert set(import_ratings([path], ImportOptions()).ratings["item_id"]) == {f"t{n}" for n in range(9)}


def test_langsmith_feedback_that_pandas_wrote_says_who_gave_it(tmp_path):
    sources = [
        str({"type": kind, "metadata": None, "user_id": who}) for kind, who in (("app", "u1"), ("auto_eval", None))
    ]
    rows = [
        {"run_id": f"r{n // 2}", "key": "right", "score": n % 3 % 2, "value": "", "feedback_source": sources[n % 2]}
        for n in range(20)
    ]
    ratings = import_ratings([as_csv(tmp_path / "f.csv", rows)], ImportOptions()).ratings
    assert Counter(ratings.select("rater", "rater_kind").iter_rows()) == {("u1", "human"): 10, ("right", "llm"): 10}


def test_argilla_grades_have_a_scale_and_answers_of_several_parts_or_texts_are_left_out_aloud(tmp_path):
    records = [
        {
            "id": str(n), "fields": {"text": "t"}, "suggestions": {}, "_server_id": None,
            "responses": {
                name: [{"value": value, "user_id": "u1"}]
                for name, value in {
                    "grade": n % 5 + 1, "topics": ["a", "b"], "order": ["x", "y"][:: 1 - 2 * (n % 2)],
                    "spans": [{"label": "bad", "start": 0}], "why": f"because, say, of {n}",
                }.items()
            },
        }
        for n in range(20)
    ]  # fmt: skip
    (path := tmp_path / "records.json").write_text(json.dumps(records))
    found = import_ratings([path], ImportOptions())
    assert set(found.ratings.select("question", "scale", "rater_kind").iter_rows()) == {
        ("grade", "ordinal:1-5", "human")
    }
    assert found.ratings["value"].to_list() == [n % 5 + 1 for n in range(20)]
    spoken = " ".join(found.notes)
    assert all(f"answers to {name} " in spoken for name in ("topics", "order", "spans", "why"))


def test_helm_measures_of_any_name_are_taken_and_files_of_the_whole_run_are_refused(tmp_path):
    def stat(name, mean):
        return {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean, "mean": mean}

    samples = [
        {"instance_id": f"i{n}", "train_trial_index": 0, "stats": [stat("summac", n / 9), stat("num_bytes", 3)]}
        for n in range(9)
    ]
    (path := tmp_path / "per_instance_stats.json").write_text(json.dumps(samples))
    ratings = import_ratings([path], ImportOptions()).ratings
    assert (set(ratings["question"]), ratings["value"].sum()) == ({"summac"}, pytest.approx(4))
    whole = {"stats.json": [stat("summac", 0.5)] * 3, "scenario_state.json": {"adapter_spec": {}, "request_states": []}}
    for name, content in whole.items():
        (tmp_path / name).write_text(json.dumps(content))
        with pytest.raises(InputError, match="HELM") as refused:
            import_ratings([tmp_path / name], ImportOptions())
        assert f"axisjudge import {path}" in str(refused.value)


def test_what_was_asked_and_how_long_it_took_is_no_verdict():
    known = recognise(
        texts(
            {
                "input.q": [1, 2, 1, 2],
                "request.top_p": [1, 1, 0, 0],
                "execution_time": [0.1, 0.2, 0.1, 0.3],
                "threshold": [1, 2, 1, 1],
            }
        )
    )
    assert not known.of("verdict")
    assert recognise(texts({"output.score": [1, 2, 1, 2]})).of("verdict")


@pytest.mark.parametrize("large", [20_000_000, 0])
def test_several_raters_in_a_cell_are_a_row_each_and_what_is_said_once_is_nobodys(tmp_path, monkeypatch, large):
    monkeypatch.setattr(sheets, "_LARGE", large)  # a table of more bytes is read another way, and says the same
    words = [[str(int((n * k) % 5 < 2)) for k in range(1, 4 + n % 2)] for n in range(30)]
    rows = [
        {"id": n, "annotators": ",".join(f"Ann{k}" for k in range(1, len(each) + 1)), "annotations": ",".join(each)}
        | {"annotators group": ",".join("gh"[k % 2] for k in range(len(each))), "hard_label": each[0]}
        for n, each in enumerate(words)
    ]
    path = as_csv(tmp_path / "votes.csv", rows)
    ratings = import_ratings([path], ImportOptions()).ratings
    assert set(ratings["question"]) == {"annotations"} or ratings["question"].n_unique() == 1
    counted = Counter((f"Ann{k}", word) for each in words for k, word in enumerate(each, start=1))
    assert Counter(ratings.select("rater", "verdict").iter_rows()) == counted
    assert "hard_label" in read_sheet(path).outer


def test_people_in_one_column_are_compared_where_the_verdicts_column_has_another_name(tmp_path):
    rows = [
        {
            "doc": f"d{n // 6}",
            "system": ("bert", "lead")[n // 3 % 2],
            "is_factual": ("yes", "no")[n % 7 == 0],
            "worker_id": f"w{n % 3}",
        }
        for n in range(180)
    ]
    path = as_csv(tmp_path / "f.csv", rows)
    with pytest.raises(InputError, match="--item") as refused:
        check(path)
    (way,) = refused.value.ways
    assert {*way.options[1::2]} == {"system", "doc"}
    assert {*check(path, item=way.options[1::2]).read.votes.people} == {"w0", "w1", "w2"}


def test_grades_of_who_is_strict_and_who_is_mild_are_of_one_scale_and_a_judges_column_is_none_of_theirs(tmp_path):
    strict = {"Ada": (1, 2), "Bea": (4, 5), "Cy": (2, 3)}
    rows = [
        {"case_id": f"c{n}", "username": who, "accuracy": grades[n % 2], "llm_accuracy": 3 + n % 2}
        for n in range(20)
        for who, grades in strict.items()
    ]
    ratings = import_ratings([as_csv(tmp_path / "g.csv", rows)], ImportOptions(question=("accuracy",))).ratings
    assert Counter(ratings.select("rater", "rater_kind").iter_rows()) == dict.fromkeys(
        ((who, "human") for who in strict), 20
    )
    assert Counter(ratings["value"].to_list()) == {1: 10, 2: 20, 3: 10, 4: 10, 5: 10}


def test_people_of_one_column_are_taken_unasked_only_where_no_other_column_names_raters(tmp_path):
    rows = [{"doc_id": f"d{n // 3}", "worker_id": f"w{n % 3}", "fair": n * n % 5} for n in range(60)]
    (found,) = {*import_ratings([as_csv(tmp_path / "a.csv", rows)], ImportOptions()).ratings["rater_kind"]}
    assert found == "human"
    more = [row | {"again.worker_id": f"w{n % 4}", "again.fair": n % 5} for n, row in enumerate(rows)]
    with pytest.raises(InputError, match="--kind"):
        import_ratings([as_csv(tmp_path / "b.csv", more)], ImportOptions())


def test_argilla_records_by_column_by_id_or_by_line_are_people_beside_their_model(tmp_path):
    records = [
        {"id": f"r{n}", "_server_id": None, "text": "t", "fine.responses": [("yes", "no")[n % 3 % 2]]}
        | {"fine.responses.users": ["u1"], "fine.responses.status": ["submitted"]}
        | {
            "fine.suggestion": ("yes", "no")[n % 2],
            "fine.suggestion.score": 0.5 + n / 100,
            "fine.suggestion.agent": "gpt-4o",
        }
        for n in range(20)
    ]
    forms = {
        "columns.json": json.dumps({name: [each[name] for each in records] for name in records[0]}),
        "by_id.json": json.dumps({each["id"]: each for each in records}),
        "lines.jsonl": "\n".join(map(json.dumps, records)),
    }
    for name, text in forms.items():
        (path := tmp_path / name).write_text(text)
        assert said(path, "fine", rater="u1", rater_kind="human") == {"yes": 13, "no": 7}
        assert said(path, "fine", rater="gpt-4o", rater_kind="llm") == {"yes": 10, "no": 10}
    write_ratings(import_ratings([path], ImportOptions()).ratings, tmp_path / "ratings.jsonl")
    read = check(tmp_path / "ratings.jsonl").read
    assert (read.votes.judges, read.votes.people, read.judges[0].n_compared) == (("gpt-4o",), ("u1",), 20)


def test_ratings_of_several_questions_are_compared_one_question_at_a_time(tmp_path):
    rows = [
        {"id": f"r{n}", "question": asked, "rater": rater, "rater_kind": kind, "verdict": ("yes", "no")[n * k % 3 % 2]}
        for n in range(20)
        for k, (rater, kind) in enumerate((("gpt-4o", "llm"), ("ann", "human")), 1)
        for asked in ("tone", "facts")
    ]
    (path := tmp_path / "rows.json").write_text(json.dumps(rows))
    for source in (path, tmp_path / "ratings.jsonl"):
        if source != path:
            write_ratings(import_ratings([path], ImportOptions()).ratings, source)
        with pytest.raises(InputError) as refused:
            check(source)
        assert {way.options for way in refused.value.ways} == {("--where", f"question={q}") for q in ("tone", "facts")}
        assert check(source, where=["question=tone"]).read.judges[0].n_compared == 20


def test_metrics_of_ragas_are_questions_to_its_model_and_an_empty_one_is_lost(tmp_path):
    rows = [
        {"user_input": f"q{n}", "retrieved_contexts": "['c']", "response": f"a{n}", "reference": "r"}
        | {"faithfulness": n % 4 / 4, "context_recall": "" if n % 5 else 1.0}
        for n in range(20)
    ]
    path = as_csv(tmp_path / "ragas.csv", rows)
    found = import_ratings([path], ImportOptions()).ratings
    assert Counter(found.filter(rater_kind="llm").select("question", "status").iter_rows()) == {
        ("faithfulness", "ok"): 20, ("context_recall", "ok"): 4, ("context_recall", "api_error"): 16
    }  # fmt: skip
    assert not tool_of(path, [*rows[0], "human"])
