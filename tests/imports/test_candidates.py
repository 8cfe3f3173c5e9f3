"""Questions and candidates are no people: answers of several under one id, makers of answers, means over people."""

import itertools
import json
import random

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.studies.check import check

RNG = random.Random(7)
SAID = ["pass" if RNG.random() < 0.6 else "fail" for _ in range(40)]
MODELS = ("llama-3-8b", "gpt-4o")


def written(path, columns):
    pl.DataFrame(columns).write_csv(path)
    return path


def refusal(run):
    with pytest.raises(InputError) as error:
        run()
    return error.value


def long(of, rater="rater"):
    """Two people, each of whom rated another candidate's run of every task: nobody rated an id twice."""
    rows = [(f"t{n // 2}", ("ann", "bob")[n % 2], of(n), SAID[n]) for n in range(40)]
    return dict(zip(("task_id", rater, "of", "verdict"), zip(*rows, strict=True), strict=True))


@pytest.mark.parametrize("name", ["model", "agent", "system_name", "response"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_runs_of_several_candidates_are_not_joined_under_one_id(tmp_path, name, shuffled):
    def of(n):
        which = (n + shuffled * (n // 4)) % 2  # who rated does not say whose run it was
        return f"what {MODELS[which]} answered in task {n // 2} was long" if name == "response" else MODELS[which]

    table = long(of)
    path = written(tmp_path / "t.csv", {name if head == "of" else head: cells for head, cells in table.items()})
    told = ImportOptions(kind="human", question=("q",), sampling="unknown")
    error = refusal(lambda: import_ratings([path], told))
    assert "task_id" in error.rule
    assert error.ways[0].options == ("--item", "task_id", "--item", name)
    ratings = import_ratings([path], told.with_options(error.ways[0].options)).ratings
    assert (ratings.height, ratings["item_id"].n_unique()) == (40, 40)
    joined = import_ratings([path], told.with_options(error.ways[1].options)).ratings
    assert joined["item_id"].n_unique() == 20
    assert "task_id" in refusal(lambda: check(path, judges="none", human=("ann", "bob"))).rule


def test_what_raters_wrote_and_the_models_that_they_are_join_nothing(tmp_path):
    rows = [
        {"task_id": f"t{n}", "judge": judge, "model_used": model, "response": f"the text of task {n} as all saw it"}
        | {"feedback": f"{judge} thinks of task {n} that it is so", "verdict": SAID[(n + len(judge)) % 40]}
        for n, (judge, model) in itertools.product(range(20), zip(("strict", "mild one"), MODELS, strict=True))
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows))
    table = import_ratings([path], ImportOptions(kind="llm", question=("q",))).ratings
    assert (table["item_id"].n_unique(), table.height) == (20, 40)


def options_of(error):
    return [" ".join(way.options) for way in error.ways]


def test_who_made_a_summary_rated_nothing(tmp_path):
    rows = [
        {"article": f"an article of some words, number {n}", "model": model, "errors": n * len(model) % 5}
        | {"summary": f"what {model} makes of {n}, in a few words more"}
        for n, model in itertools.product(range(20), ("bart", "pegasus"))
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows))
    error = refusal(lambda: check(path))
    assert "model says who made" in error.rule
    assert not any("bart" in each or "pegasus" in each for each in options_of(error))
    ratings = import_ratings([path], ImportOptions(rater="ann", kind="human", sampling="unknown")).ratings
    assert ({*ratings["agent"]}, {*ratings["rater"]}) == ({"bart", "pegasus"}, {"ann"})
    judged = [{**row, "summary": f"the one summary of {row['article']}"} for row in rows]  # one summary, two judges
    path.write_text(json.dumps(judged))
    assert {*import_ratings([path], ImportOptions(kind="llm")).ratings["rater"]} == {"bart", "pegasus"}


@pytest.mark.parametrize("nested", [True, False])
def test_verdicts_on_several_texts_of_a_row_are_taken_one_text_at_a_time(tmp_path, nested):
    texts = [
        [f"answer {k} of row {n} that is long enough to be a text, as answers are" for k in (1, 2)] for n in range(30)
    ]
    said = [[(str(n * k % 3), str((n + k) % 3)) for k in (1, 2)] for n in range(30)]
    if nested:
        rows = [
            {
                "doc": n,
                "gen": {
                    of: {"text": text, "human": one, "gpt4": two, "model": MODELS[n % 2]}
                    for of, text, (one, two) in zip("st", t, s, strict=True)
                },
            }
            for n, (t, s) in enumerate(zip(texts, said, strict=True))
        ]
        path = tmp_path / "t.json"
        path.write_text(json.dumps(rows))
        assert options_of(refusal(lambda: check(path)))[1] == "--judge gen.t.gpt4 --human gen.t.human"
        assert check(path, judges="gen.t.gpt4", human="gen.t.human").read.votes.n_items == 30
        way = refusal(lambda: import_ratings([path])).ways[1]
        ratings = import_ratings([path], ImportOptions().with_options(way.options)).ratings
        assert {*ratings["rater"]} == {"gen.t.human", "gen.t.gpt4"}
        assert {*ratings["item_id"]} == {f"{n}/{MODELS[n % 2]}" for n in range(30)}
        return
    columns = {"topic": [f"topic {n}" for n in range(30)]}
    for k in (0, 1):
        columns[f"answer {k + 1}"] = [each[k] for each in texts]
        columns |= {f"{name}{'_1' * k}": [each[k][j] for each in said] for j, name in enumerate(("tone", "facts"))}
    path = written(tmp_path / "t.csv", columns)
    way = refusal(lambda: import_ratings([path])).ways[2]
    ratings = import_ratings([path], ImportOptions().with_options(way.options)).ratings
    assert ({*ratings["question"]}, ratings["item_id"].n_unique()) == ({"tone_1", "facts_1"}, 30)
    assert not any("tone=" in each for each in options_of(refusal(lambda: import_ratings([path]))))


@pytest.mark.parametrize("digits", [2, 10])
def test_means_over_people_are_no_persons_answers(tmp_path, digits):
    def mean(n):
        return round(n % 7 / 3, digits)

    columns = {"id": [f"i{n}" for n in range(40)]}
    columns |= {f"{name}_mean": [mean(n * k) for n in range(40)] for k, name in ((1, "tone"), (2, "facts"))}
    columns |= {f"{name}_mode": [n * k % 3 for n in range(40)] for k, name in ((1, "tone"), (2, "facts"))}
    path = written(tmp_path / "t.csv", columns)
    error = refusal(lambda: import_ratings([path]))
    ratings = [import_ratings([path], ImportOptions().with_options(way.options)).ratings for way in error.ways]
    assert [{*each["rater"]} for each in ratings[:2]] == [{"mean_of_people"}, {"mode_of_people"}]
    assert [{*each["question"]} for each in ratings[:2]] == [{"tone_mean", "facts_mean"}, {"tone_mode", "facts_mode"}]
    halves = {name: [n % 8 / 2 for n in range(40)] if "mean" in name else cells for name, cells in columns.items()}
    assert "one rater" in refusal(lambda: import_ratings([written(tmp_path / "h.csv", halves)])).rule


def test_lists_of_people_stand_beside_those_of_judges_a_level_below(tmp_path):
    content = {"judge_specs": ["a", "b"], "human_scores": [int(said == "pass") for said in SAID]}
    content["per_judge_scores"] = {name: [(n + k) % 2 for n in range(40)] for k, name in enumerate(MODELS)}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(content))
    assert [judge.n_compared for judge in check(path).read.judges] == [40, 40]


def test_a_score_of_the_reference_is_no_truth_by_its_name(tmp_path):
    columns = {
        "id": range(40),
        "gpt_score": [n % 5 for n in range(40)],
        "reference_score": [n * n % 5 for n in range(40)],
    }
    path = written(tmp_path / "t.csv", {name: [*cells] for name, cells in columns.items()})
    assert not any(
        way.clear for way in refusal(lambda: check(path)).ways + refusal(lambda: import_ratings([path])).ways
    )
    assert "--human reference_score" in options_of(refusal(lambda: check(path)))[0]


def test_a_crowd_platforms_table_names_its_workers_and_tasks(tmp_path):
    rows = [
        {"HITId": f"3RBI0I35YIRN5QCMHYPZPGF4W59Y{n:02}", "AssignmentId": f"3IFS6Q0HJN77LQGPTX9YZKPHJY{n:02}{who}"}
        | {
            "RequesterAnnotation": f"BatchId:{5081070 + n // 10};",
            "WorkerId": f"W{who}",
            "Answer.best": "AB"[n * who % 2],
        }
        for n, who in itertools.product(range(20), (1, 2))
    ]
    path = written(tmp_path / "t.csv", {name: [row[name] for row in rows] for name in rows[0]})
    way = refusal(lambda: import_ratings([path])).ways[0]
    ratings = import_ratings([path], ImportOptions().with_options(way.options)).ratings
    assert ratings["item_id"].n_unique() == 20
    assert ({*ratings["rater"]}, {*ratings["verdict"]}) == ({"W1", "W2"}, {"A", "B"})
