"""Annotations of Who&When and MAST, in the form of their public files: on the axes by the crosswalk, at their step."""

import json
from pathlib import Path

import pytest

from axisjudge import judge
from axisjudge.checks import InputError
from axisjudge.imports import ImportOptions, import_ratings
from axisjudge.readers import read_trajectories
from axisjudge.studies.located.counts import faults_in

HISTORY = [
    {"role": "human", "content": "How high is the tower?"},
    {"role": "Planner", "content": "Let the reader look it up."},
    {"role": "Reader", "content": "The page gives 12 m."},
    {"role": "Planner", "content": "It is 21 m high."},
]
DECISIVE = {
    "history": HISTORY,
    "question": "How high is the tower?",
    "question_ID": "tower",
    "mistake_agent": "Planner",
    "mistake_step": "3",
    "mistake_reason": "The digits are swapped.",
}
MODES = [
    {
        "mas_name": "Towers",
        "trace_id": 3,
        "round": "Round 1",
        "annotations": [
            {"failure mode": "2.2 Step repetition\nthe same again", "annotator_1": True, "annotator_2": "TRUE"},
            {"failure mode": "1.5 Unaware of termination conditions", "annotator_1": True, "annotator_2": False},
            {"failure mode": "1.1 Disobey task specification", "annotator_1": True, "annotator_2": False},
        ],
    },
    {"mas_name": "Towers", "benchmark_name": "B", "trace_id": 4, "mast_annotation": {"1.5": 1, "3.1": 1, "2.1": 1}},
]


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def options(path: Path, **told: object) -> ImportOptions:
    runs = {run.id: run for run in read_trajectories(path).trajectories}
    return ImportOptions(trajectories=runs, **told)


def test_a_decisive_error_stands_at_its_step_under_an_open_axis(tmp_path: Path) -> None:
    path = written(tmp_path / "1.json", DECISIVE)
    (row,) = import_ratings([path], options(path)).ratings.iter_rows(named=True)
    assert (row["question"], row["verdict"], row["cited_step_indices"]) == ("any step", "incorrect", [3])
    assert (row["rater"], row["rater_kind"], row["cluster_id"]) == ("people", "human", "tower")
    assert "agent:Planner" in row["flags"]
    told = import_ratings([path], options(path, axes={"mistake_reason": "result_interpretation"})).ratings
    assert told["question"].to_list() == ["result_interpretation"]


def test_a_decisive_error_is_found_where_any_axis_is_called_incorrect(tmp_path: Path) -> None:
    path = written(tmp_path / "1.json", DECISIVE)
    labels = import_ratings([path], options(path)).ratings
    (run,) = read_trajectories(path).trajectories
    ratings = judge([run], ["rules"], progress=False)
    (quiet,) = faults_in(ratings, labels)
    assert (quiet.axis, quiet.n_faults, quiet.on_axis.estimate, quiet.at_step.estimate) == ("any step", 1, 0, 0)
    rows = ratings.to_dicts()
    rows[3] |= {"verdict": "incorrect", "cited_step_indices": [2]}
    (found,) = faults_in(ratings.clear().vstack(type(ratings)(rows, schema=ratings.schema)), labels)
    assert (found.on_axis.estimate, found.at_step.estimate) == (1, 1)


@pytest.mark.parametrize(("step", "rule"), [("4", "position in the history"), ("soon", "position in the history")])
def test_a_step_that_is_not_there_is_refused(step: str, rule: str, tmp_path: Path) -> None:
    path = written(tmp_path / "1.json", {**DECISIVE, "mistake_step": step})
    with pytest.raises(InputError, match=rule):
        import_ratings([path], options(path))
    with pytest.raises(InputError, match=rule):
        import_ratings([path])  # the runs stand in the labels' own file


def test_modes_of_failure_go_by_their_words_or_numbers_to_the_axes_of_the_crosswalk(tmp_path: Path) -> None:
    path = written(tmp_path / "mad.json", MODES)
    found = import_ratings([path])
    rows = {
        (row["trajectory_id"], row["rater"], row["question"]): row["flags"]
        for row in found.ratings.iter_rows(named=True)
    }
    assert set(rows) == {
        ("Towers/Round 1/3", "annotator_1", "sequencing"),
        ("Towers/Round 1/3", "annotator_2", "sequencing"),
        ("Towers/Round 1/3", "annotator_1", "termination"),
        ("Towers/B/4", "mast-annotator", "termination"),
    }
    modes = [flag for flag in rows["Towers/B/4", "mast-annotator", "termination"] if flag.startswith("mode:")]
    assert len(modes) == 2
    kinds = dict(found.ratings.select("rater", "rater_kind").iter_rows())
    assert kinds == {"annotator_1": "human", "annotator_2": "human", "mast-annotator": "llm"}
    assert any("FM-1.1" in note and "FM-2.1" in note for note in found.notes)


def test_an_open_mode_is_told_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "mad.json", MODES)
    told = import_ratings([path], ImportOptions(axes={"1.1": "tool_selection"})).ratings
    assert told.filter(question="tool_selection")["rater"].to_list() == ["annotator_1"]


@pytest.mark.parametrize(
    ("mode", "axis"),
    [
        ("1.5 Unaware of stopping conditions\n\nwhen to end", "termination"),
        ("2.5 Derailment from task", "tool_selection"),
        ("4.2 Lack of result verification", "result_interpretation"),
        ("4.3 Lack of critical verification\n(designed to)", "result_interpretation"),
        ("3.1 Ill specified termination condition leading to premature termination", "termination"),
        ("1.4 Fail to elicit clarification", "sequencing"),
    ],
)
def test_modes_of_earlier_rounds_count_under_the_name_that_they_have_now(mode: str, axis: str, tmp_path: Path) -> None:
    gone = ("2.5 Ignored Other Agents' Input", "3.4 Waiting for known information")
    words = [{"failure mode": one, "annotator_1": True} for one in (mode, *gone)]
    record = {"mas_name": "M", "round": "Round 1", "trace_id": 1, "annotations": words}
    labels = import_ratings([written(tmp_path / "mad.json", [record])])
    assert labels.ratings["question"].to_list() == [axis]
    assert any("FM-2.5" in note and "3.4 Waiting" in note for note in labels.notes)


def test_traces_of_one_name_stay_apart(tmp_path: Path) -> None:
    record = {**MODES[1], "llm_name": "A"}
    path = written(tmp_path / "full.json", [record, record, {**record, "llm_name": "B"}])
    assert import_ratings([path]).ratings["trajectory_id"].n_unique() == 3
