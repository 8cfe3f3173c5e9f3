"""Public label sets through import alone: counts by an independent look at the files, figures of the oracles."""

import json

import krippendorff
import numpy as np
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.ratings import SCHEMA, read_ratings, to_matrix, write_ratings
from axisjudge.stats.agreement.chance_corrected import krippendorff_alpha
from axisjudge.stats.alternative_annotator import alternative_annotator
from axisjudge.studies import agreement
from axisjudge.studies.agreement.against_labels import step_scores

SETS = {"mtbench": "nominal", "cebab_stars": "ordinal", "summeval": "ordinal"}


def matrix(table):
    """All questions under each other: codes, raters with people first, people."""
    people = table.filter(rater_kind="human")["rater"].unique(maintain_order=True).to_list()
    raters = [*people, *(name for name in table["rater"].unique(maintain_order=True) if name not in people)]
    parts = [to_matrix(table, question, raters=raters) for question in table["question"].unique(maintain_order=True)]
    return np.concatenate([part.codes for part in parts]), raters, people, len(parts[0].categories)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_alttest_sets_give_the_authors_figures(name, shared_data, oracles, tmp_path):
    folder = shared_data / "alttest" / name
    found = import_ratings([folder / "llm_annotations.json", folder / "human_annotations.json"])
    write_ratings(found.ratings, tmp_path / "r.jsonl")
    table = read_ratings(tmp_path / "r.jsonl")
    files = [json.loads((folder / f"{who}_annotations.json").read_text()) for who in ("human", "llm")]
    assert table.height == sum(len(labels) for file in files for labels in file.values())
    assert set(table.filter(rater_kind="human")["rater"]) == set(files[0])
    assert set(table.filter(rater_kind="llm")["rater"]) == set(files[1])
    codes, raters, people, k = matrix(table)
    alphas = json.loads((oracles / "agreement.json").read_text())[name]
    for kind, part in (("humans", codes[:, : len(people)]), ("llms", codes[:, len(people) :])):
        for level in {"nominal", SETS[name]}:
            alpha = krippendorff_alpha(part, level=level, categories=range(k)).estimate
            assert alpha == pytest.approx(alphas[kind]["krippendorff_alpha"][level], abs=1e-9)
    expected = json.loads((oracles / "alttest.json").read_text())[name]
    for judge, of_judge in expected["llms"].items():
        result = of_judge["by_epsilon"]["0.1"]
        labels = codes[:, : len(people)]
        test = alternative_annotator(codes[:, raters.index(judge)], labels, names=people, scale=SETS[name], epsilon=0.1)
        assert test.winning_rate == result["winning_rate"]
        assert test.advantage.estimate == pytest.approx(result["advantage_probability"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "question", "published"), [("cebab_stars", "", (0.587, 0.896)), ("summeval", "coherence", (0.104, 0.216))]
)
def test_grades_have_the_ordinal_alpha_of_another_program_on_the_page(name, question, published, shared_data):
    """The nominal one takes four stars beside five for plain disagreement; the page has it under no name.

    Both are computed by the package krippendorff from the files themselves.
    """
    options = ImportOptions(question=(question,) if question else ())
    found = agreement(import_ratings([shared_data / "alttest" / name], options).ratings, weighted=False)
    alphas = {}
    for who in ("llm", "human"):
        raters = json.loads((shared_data / "alttest" / name / f"{who}_annotations.json").read_text()).values()
        items = sorted({item for labels in raters for item in labels if item.endswith(question)})
        grades = np.array([[float(labels.get(item, "nan")) for item in items] for labels in raters])
        alphas[who] = [krippendorff.alpha(grades, level_of_measurement=level) for level in ("nominal", "ordinal")]
    assert alphas["llm"] == pytest.approx(published, abs=5e-4)
    assert found.overall.table["ordinal_alpha"][0] == pytest.approx(alphas["llm"][1], abs=1e-9)
    assert found.together.alpha_judges.estimate == pytest.approx(alphas["llm"][1], abs=1e-9)
    assert found.together.alpha_people.estimate == pytest.approx(alphas["human"][1], abs=1e-9)
    assert "alpha" not in found.overall.table.columns
    assert "alpha, ordinal" in found.sentences[1]


@pytest.mark.slow
def test_agentprocessbench_subsets_come_in_whole_with_the_published_accuracies(shared_data, tmp_path):
    """Table of the paper's repository: macro figures are those of tests/studies/agreement/test_steps.py."""
    root = shared_data / "agentprocessbench"
    table = import_ratings([root]).ratings
    assert table.schema == pl.Schema(SCHEMA)
    for subset in ("tau2", "hotpotqa", "bfcl"):
        people = [json.loads(line) for line in (root / "human" / f"{subset}_final.jsonl").read_text().splitlines()]
        runs = [record["record_id"] for record in people]
        part = table.filter(pl.col("trajectory_id").is_in(runs))
        steps = part.filter(question="step")
        truth = {(r["record_id"], int(step)): label for r in people for step, label in r["step_labels"].items()}
        assert steps.height == 21 * len(truth)
        assert part.filter(question="final").height == 21 * len(runs)
        scores = {score.judge: score for score in step_scores(part).judges}
        for folder in sorted((root / "judges").iterdir()):
            records = [json.loads(line) for line in (folder / f"{subset}.jsonl").read_text().splitlines()]
            said = {(r["record_id"], int(step)): label for r in records for step, label in r["step_labels"].items()}
            right = np.mean([said[place] == label for place, label in truth.items()])
            assert scores[folder.name].step_accuracy.estimate == pytest.approx(right, abs=1e-12)


def run_labels(record="s:1:0", **fields):
    about = {"record_id": record, "data_source": "s", "query_index": 1}
    return json.dumps({**about, "step_labels": {"1": 1, "3": None}, "final_label": 0, **fields}) + "\n"


@pytest.mark.parametrize(("people", "judges"), [("AnswerOnly", "results"), ("by_hand", "graded")])
def test_a_set_of_step_labels_comes_in_whole_whatever_its_folders_are_called(tmp_path, people, judges):
    for folder, names in ((people, {}), (f"{judges}/gpt-4o", {"annotator": "gpt-4o"})):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "gaia.jsonl").write_text(run_labels(**names) + run_labels("s:2:0", **names))
        (tmp_path / folder / "notes.jsonl").write_text('{"note": 1}\n')
    table = import_ratings([tmp_path]).ratings
    assert dict(table.group_by("rater_kind").len().iter_rows()) == {"human": 6, "llm": 6}
    assert table.filter(status="parse_error").height == 4


@pytest.mark.parametrize("fields", [{"step_labels": [1, 0]}, {"step_labels": None}, {"final_label": "1"}])
def test_step_labels_of_another_form_are_refused_by_their_line(tmp_path, fields):
    (tmp_path / "x.jsonl").write_text(run_labels() + run_labels("s:2:0", **fields))
    with pytest.raises(InputError, match=r"x\.jsonl:2"):
        import_ratings([tmp_path / "x.jsonl"])


def test_a_kind_that_is_told_is_not_overruled(tmp_path):
    (tmp_path / "x.jsonl").write_text(run_labels())
    told = ImportOptions(rater="gpt-4o", kind="llm")
    assert set(import_ratings([tmp_path / "x.jsonl"], told).ratings["rater_kind"]) == {"llm"}


def test_a_folder_of_sets_is_all_of_them(tmp_path):
    for name in ("tone", "style"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "human_annotations.json").write_text('{"ann": {"a": 1, "b": 2}}')
    table = import_ratings([tmp_path]).ratings
    assert dict(table.group_by("question").len().iter_rows()) == {"tone": 2, "style": 2}


def test_a_line_file_elsewhere_says_who_labelled_or_is_asked(tmp_path):
    def lines(name, **fields):
        record = {"record_id": "s:1:0", "data_source": "s", "query_index": 1, "step_labels": {"1": 1}, "final_label": 0}
        (tmp_path / name).write_text(json.dumps({**record, **fields}) + "\n")
        return tmp_path / name

    judge = import_ratings([lines("a.jsonl", annotator="Qwen3-4B")]).ratings
    assert set(judge.select("rater", "rater_kind", "family").iter_rows()) == {("Qwen3-4B", "llm", "qwen")}
    people = import_ratings([lines("b.jsonl")]).ratings
    assert set(people["rater_kind"]) == {"human"}
    with pytest.raises(InputError, match="does not say what its annotator is"):
        import_ratings([lines("c.jsonl", annotator="mira")])
    named = import_ratings([lines("d.jsonl", annotator="mira")], ImportOptions(kinds={"mira": "human"})).ratings
    assert set(named["family"]) == {"human"}


def test_annotations_under_another_name_have_the_kind_that_names_tell_or_need_one(tmp_path):
    path = tmp_path / "votes.json"
    path.write_text(json.dumps({"gemini": {"a": "x", "b": "y"}, "north": {"a": "x", "b": "x"}}))
    with pytest.raises(InputError, match=r"gemini, north.*--kind"):
        import_ratings([path])
    path.write_text(json.dumps({"gemini": {"a": "x", "b": "y"}, "gpt-4o": {"a": "x", "b": "x"}}))
    table = import_ratings([path]).ratings
    assert set(table.select("rater", "rater_kind", "family").iter_rows()) == {
        ("gemini", "llm", "google"),
        ("gpt-4o", "llm", "openai"),
    }
    one = tmp_path / "llm_annotations.json"
    one.write_text(json.dumps({"a": 1, "b": 3}))
    with pytest.raises(InputError, match="--rater"):
        import_ratings([one])
    assert import_ratings([one], ImportOptions(rater="gpt-4o")).ratings["verdict"].to_list() == ["1", "3"]


def test_what_is_told_of_a_question_that_is_there_is_used_and_of_another_is_said(tmp_path):
    path = tmp_path / "step_labels.jsonl"
    path.write_text(run_labels())

    def came(**told):
        found = import_ratings([path], ImportOptions(kind="human", **told))
        return set(found.ratings["question"]), " ".join(found.notes)

    assert came()[0] == {"step", "final"}
    assert came(question=("final",))[0] == {"final"}
    assert came(axes={"final": "outcome"})[0] == {"step", "outcome"}
    with pytest.raises(InputError, match="names none of the questions here: step, final"):
        came(question=("ending",))
    for option, told in (("--axis-map", {"axes": {"x": "y"}}), ("--missing", {"missing": ("?",)})):
        assert option not in came()[1]
        assert f"changes nothing here: {option}" in came(**told)[1]


def test_a_word_of_a_table_that_is_there_is_not_called_absent(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,gpt,claude\na,pass,fail\nb,n/a,pass\n")
    told = {"kind": "llm", "question": ("ok",)}
    for missing, words, absent in (("n/a", "pass", ""), ("-", "pass", "--missing"), ("n/a", "passed", "--word-map")):
        options = ImportOptions(**told, missing=(missing,), words={words: "good"})
        notes = [note for note in import_ratings([path], options).notes if "not here" in note]
        assert [note.split()[0] for note in notes] == [absent] * bool(absent)


def test_an_annotator_without_labels_beside_others_says_nothing(tmp_path):
    (tmp_path / "one.json").write_text('{"ann1": {}}')
    (tmp_path / "two.json").write_text('{"ann2": {"a": 1, "b": 0}}')
    assert import_ratings([tmp_path]).ratings.select("rater", "trajectory_id").rows() == [("ann2", "a"), ("ann2", "b")]
