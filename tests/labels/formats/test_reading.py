"""Files as other tools export them: what is read, what is kept without verdict, what is refused."""

import json
from pathlib import Path

import pytest

from axisjudge.checks import InputError
from axisjudge.labels.formats import Terms, export_labels, import_labels
from axisjudge.labels.sampling import Drawn, Sampling, drawn_of, write_sampling

FIXTURES = Path(__file__).parent.parent / "fixtures"
LARGE, SMALL = "01-01-alder-large", "01-01-alder-small"
FIRST, SECOND = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))


def said(imported, **wanted):
    return [
        rating for rating in imported.ratings if all(getattr(rating, key) == value for key, value in wanted.items())
    ]


def test_label_studio_with_several_annotators_regions_predictions_and_cancelled_ones():
    terms = Terms(
        axes={"Order of calls": "sequencing"},
        words={"good": "correct"},
        scales={"helpfulness": "ordinal:1-5", "step": "step"},
    )
    found = import_labels(FIXTURES / "label_studio.json", terms)
    assert found.format == "label-studio"
    (first,) = said(found, rater="first@example.org", question="tool_selection", trajectory_id=LARGE)
    assert (first.verdict, first.confidence, first.cited_step_indices) == ("incorrect", 0.9, [16])
    assert (first.rationale, first.latency_s) == ("answered from memory", 61.5)
    assert [each.verdict for each in said(found, question="sequencing")] == ["correct"]
    assert [each.value for each in said(found, question="helpfulness")] == [4.0]
    (step,) = said(found, question="step")
    assert (step.step_index, step.verdict, step.item_id) == (16, "-1", f"{LARGE}#16")
    (truth,) = said(found, rater="3", trajectory_id=LARGE)
    assert "ground_truth" in truth.flags
    cancelled = [each for each in found.ratings if "cancelled" in each.flags]
    assert {(each.rater, each.question) for each in cancelled} == {("Second Rater", "tool_selection"), ("3", "no_axis")}
    assert all(each.status == "refused" and each.verdict is None for each in cancelled)
    assert any("said:correct" in each.flags for each in cancelled)
    (model,) = said(found, rater_kind="llm")
    assert (model.rater, model.family, model.verdict) == ("gpt-5-mini", "openai", "correct")
    spoken = " ".join(found.notes)
    assert "2 cancelled annotations" in spoken
    assert "1 annotations are empty" in spoken
    assert "1 models' predictions" in spoken


def test_label_studio_words_that_are_none_of_ours_are_refused():
    with pytest.raises(InputError, match=r"task 1, annotation 1: helpfulness has numbers on an unknown scale.*--scale"):
        import_labels(FIXTURES / "label_studio.json")
    with pytest.raises(InputError, match=r"a verdict is one of .*'good'.*--word-map"):
        import_labels(FIXTURES / "label_studio.json", Terms(axes={"Order of calls": "sequencing"}))
    with pytest.raises(InputError, match=r"axis map: must be one of .*did you mean 'sequencing'"):
        Terms(axes={"Order of calls": "sequencng"})


def test_argilla_nested_holds_no_status_and_says_so():
    terms = Terms(scales={"helpfulness": "ordinal:1-5"})
    found = import_labels(FIXTURES / "argilla_nested.json", terms)
    assert found.format == "argilla"
    (first,) = said(found, rater=FIRST, question="tool_selection", trajectory_id=LARGE)
    assert (first.verdict, first.cited_step_indices, first.cluster_id) == ("incorrect", [10, 16], "cycleshop/01-01")
    assert first.rationale == "answered from memory"
    assert len(said(found, question="termination", status="ok")) == 1
    assert any("does not say which answers were submitted" in note for note in found.notes)
    models = said(found, rater_kind="llm")
    assert {(each.rater, each.confidence) for each in models} == {("gpt-5-mini", 0.75)}
    assert len(models) == 2


def test_argilla_flat_keeps_drafts_without_verdict():
    found = import_labels(FIXTURES / "argilla_flat.json", Terms(scales={"helpfulness": "ordinal:1-5"}))
    (draft,) = said(found, question="termination")
    assert (draft.status, draft.verdict, draft.flags[:2]) == ("refused", None, ["draft", "said:correct"])
    assert any("answers are draft" in note for note in found.notes)
    nested = import_labels(FIXTURES / "argilla_nested.json", Terms(scales={"helpfulness": "ordinal:1-5"}))
    others = [[each for each in one.ratings if each.question != "termination"] for one in (found, nested)]
    assert sorted(map(str, others[0])) == sorted(map(str, others[1]))


def test_a_persons_own_sheet(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text(
        "\ufefftrajectory_id;rater;Tool Selection;Tool Selection_note;sequencing\n"
        "r1;ada;Correct;fine;pass\nr2;ada;;half;\n",
        encoding="utf-8",
    )
    found = import_labels(wide, Terms(words={"pass": "correct"}))
    assert [(each.trajectory_id, each.question, each.verdict) for each in found.ratings] == [
        ("r1", "tool_selection", "correct"),
        ("r1", "sequencing", "correct"),
        ("r2", "tool_selection", None),
    ]
    assert "open" in found.ratings[2].flags
    long = tmp_path / "long.csv"
    long.write_text(
        'trajectory_id,question,verdict,cited_step_indices\nr1,sequencing,incorrect,"[3, 4]"\n', encoding="utf-8"
    )
    (label,) = import_labels(long, Terms(rater="ada")).ratings
    assert (label.rater, label.cited_step_indices) == ("ada", [3, 4])


def test_crowd_kit_asks_what_was_asked_and_keeps_second_words(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("task,worker,label\nr1#2,w1,yes\nr1#2,w1,no\nr1,w2,yes\n", encoding="utf-8")
    with pytest.raises(InputError, match="says not what was asked; name it with --question"):
        import_labels(path)
    found = import_labels(path, Terms(question="sound"))
    assert [(each.item_id, each.repeat, each.verdict) for each in found.ratings] == [
        ("r1#2", 0, "yes"),
        ("r1#2", 1, "no"),
        ("r1", 0, "yes"),
    ]
    assert {each.scale for each in found.ratings} == {"nominal:no,yes"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '{"ada": {"r1": "yes", "r1": "no"}}', "a key stands twice in one object.*'r1'"),
        (
            "a.jsonl",
            '{"record_id": "x", "step_labels": {"1": 1, "1": 0}, "final_label": 1, "data_source": "s"}',
            r"a\.jsonl:1: a key stands twice in one object.*'1'",
        ),
        ("a.json", '{"ada": {"r1__sequencing": "wrong"}}', r"ada, r1__sequencing: a verdict is one of"),
        ("a.json", '[{"id": 1, "tool_selection": "correct", "annotator": 3}]', "is in no format of labels known here"),
        ("a.csv", "trajectory_id,rater,sequencing,mood\nr1,ada,correct,glad\n", "neither an axis nor a field.*'mood'"),
        ("a.csv", "task,worker,label,golden\nr1,w1,yes,1\n", "a column would be lost"),
        ("a.csv", "trajectory_id,rater,sequencing\nr1,ada\n", r"a\.csv, row 2: has 2 cells where the header has 3"),
        ("a.csv", "trajectory_id,sequencing\nr1,correct\n", "a label needs its rater.*--rater"),
        (
            "a.csv",
            "trajectory_id,rater,sequencing,sequencing_confidence\nr1,ada,correct,3\n",
            r"confidence lies in \[0, 1\]",
        ),
        (
            "a.jsonl",
            '{"record_id": "x", "step_labels": {"1": 4}, "final_label": 1, "data_source": "s", "query_index": 0}\n',
            "a label is -1, 0 or 1",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        import_labels(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.json",
            b'[{"data": {"trajectory_id": "r"}, "annotations": [{"completed_by": 1, "result": [{"value": 3}]}]}]',
        ),
        ("a.json", b'[{"data": [], "annotations": []}]'),
        (
            "a.json",
            b'[{"_server_id": null, "id": "r", "fields": {}, "responses": {"sequencing": [{"value": "correct"}]}}]',
        ),
        ("a.jsonl", b'{"record_id": "r", "step_labels": [1], "final_label": 1, "data_source": "s", "query_index": 0}'),
        ("a.csv", "trajectory_id,rater,sequencing\nr1,J\u00f6rg,correct\n".encode("latin-1")),
        ("a.csv", b'trajectory_id,rater,sequencing\nr1,"ada,correct\n'),
    ],
)
def test_a_broken_file_is_one_line_and_no_stack_trace(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as told:
        import_labels(path)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


def sheet(folder):
    path = folder / "labels.csv"
    path.write_text("trajectory_id,rater,sequencing\nr1,ada,correct\nr2,ada,incorrect\n", encoding="utf-8")
    return path


def test_how_items_were_drawn_is_asked_for(tmp_path):
    path = sheet(tmp_path)
    silent = import_labels(path)
    assert {drawn_of(each.flags)["drawn"] for each in silent.ratings} == {"unknown"}
    assert "corrected failure rates will be refused" in silent.notes[0]
    stated = import_labels(path, sampling="by_judge_verdict", key="rules: sequencing")
    assert drawn_of(stated.ratings[0].flags)["drawn_by"] == "rules: sequencing"
    assert not stated.notes
    with pytest.raises(InputError, match="needs the key that decided"):
        import_labels(path, sampling="by_judge_verdict")
    with pytest.raises(InputError, match="each item's probability; give the plan"):
        import_labels(path, sampling="by_key", key="domain")


def test_a_plan_gives_probabilities_also_when_it_stands_beside_the_file(tmp_path):
    path = sheet(tmp_path)
    plan = Sampling("by_key", (Drawn("r1", 0.5, "shop"), Drawn("r2", 0.125, "air")), key="domain")
    found = import_labels(path, plan=plan)
    assert [drawn_of(each.flags)["drawn_probability"] for each in found.ratings] == [0.5, 0.125]
    write_sampling(tmp_path / "labels.sampling.json", plan)
    assert import_labels(path).ratings == found.ratings
    short = import_labels(path, plan=Sampling("random", (Drawn("r1", 0.5),)))
    assert [drawn_of(each.flags)["drawn"] for each in short.ratings] == ["random", "unknown"]
    assert short.notes[0].startswith("of 1 of 2 labels")


def test_blind_labels_need_their_plan(tmp_path):
    plan = Sampling("by_judge_verdict", (Drawn("r1", 0.5, "incorrect"),), key="rules: sequencing")
    label = import_labels(sheet(tmp_path), sampling="random").ratings[0]
    blind = tmp_path / "blind.jsonl"
    blind.write_text(label.model_copy(update={"flags": [plan.plan_flag]}).model_dump_json() + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"name a plan that is not here.*--plan"):
        import_labels(blind)
    (filled,) = import_labels(blind, plan=plan).ratings
    assert drawn_of(filled.flags)["drawn_stratum"] == "incorrect"


def test_a_draw_that_labels_state_is_kept_aloud(tmp_path):
    path = tmp_path / "stated.jsonl"
    labels = import_labels(sheet(tmp_path), sampling="random").ratings
    path.write_text("".join(each.model_dump_json() + "\n" for each in labels), encoding="utf-8")
    assert import_labels(path, sampling="random").notes == ()
    other = import_labels(path, sampling="by_human_label", key="ann")
    assert {drawn_of(each.flags)["drawn"] for each in other.ratings} == {"random"}
    assert other.notes == ("2 of 2 labels say themselves how they were drawn, otherwise, and keep it",)


@pytest.mark.parametrize("form", ["crowd-kit", "alttest"])
def test_unfinished_labels_are_named_where_a_format_has_no_place_for_them(tmp_path, form):
    done, left = import_labels(sheet(tmp_path)).ratings
    left = left.model_copy(update={"status": "refused", "verdict": None, "flags": ["open"]})
    with pytest.raises(InputError, match="holds no label without a verdict, and 1 have none; found 'ada on r2"):
        export_labels([done, left], form)


def test_agentrx_keeps_the_users_failures_under_no_axis(shared_data):
    from axisjudge.readers import read_trajectories

    folder = shared_data / "agentrx"
    runs = read_trajectories(folder / "tau_dataset_full.json", folder / "tau_dataset_failed.json").trajectories
    found = import_labels(folder / "human_labels.json", Terms(trajectories={run.id: run for run in runs}))
    labelled = json.loads((folder / "human_labels.json").read_text())
    assert sum(len(run["failures"]) for run in labelled) == 19
    assert len(said(found, question="no_axis")) == 6
    assert sum(len(each.cited_step_indices) for each in found.ratings if each.question != "no_axis") == 13
    with pytest.raises(InputError, match="name the runs with --trajectories"):
        import_labels(folder / "human_labels.json")


def test_lost_steps_of_agentprocessbench_are_counted(shared_data):
    path = shared_data / "agentprocessbench" / "human" / "hotpotqa_final.jsonl"
    found = import_labels(path)
    assert (found.format, len(found.ratings)) == ("agentprocessbench", 984)
    assert not any("no label" in note for note in found.notes)
