"""AgentRx's failures on the axes: the crosswalk, steps as indices, and nothing made of what people did not say."""

import json

import pytest

from axisjudge.checks import InputError
from axisjudge.labels.agentrx import read_agentrx
from axisjudge.readers import read_trajectories
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import NO_AXIS


def run(task="7", reward=0.0):
    steps = [Step(index=i, role="user" if i % 2 else "assistant", content="x", source_index=i + 1) for i in range(6)]
    return Trajectory(id=f"run-{task}", task_id=task, source="agentrx", reward=reward, steps=tuple(steps))


def failure(category, step=3, number=1):
    return {"failure_id": number, "step_number": step, "failure_category": category, "category_reason": "why"}


def read(tmp_path, *failures, task=7, trajectories=None, **options):
    path = tmp_path / "human_labels.json"
    path.write_text(json.dumps([{"trajectory_id": task, "failures": failures}]))
    return read_agentrx(path, [run()] if trajectories is None else trajectories, **options)


def test_failures_of_one_axis_are_one_rating_that_cites_each_step(tmp_path):
    found = read(
        tmp_path,
        failure("Misinterpretation of Tool Output", 3),
        failure("misinterpretation of tool-output", 5),
        failure("Invalid Invocation", 6),
    )
    rows = {row["question"]: row for row in found.iter_rows(named=True)}
    assert set(rows) == {"result_interpretation", "argument_validity"}
    assert rows["result_interpretation"]["cited_step_indices"] == [2, 4]  # numbered from 1, indexed from 0
    assert {row["verdict"] for row in rows.values()} == {"incorrect"}
    assert {row["rater_kind"] for row in rows.values()} == {"human"}


def test_the_users_failures_are_on_no_axis(tmp_path):
    found = read(tmp_path, failure("Underspecified User Intent"), failure("Instruction Adherence Failure"))
    assert found["question"].to_list() == [NO_AXIS, "sequencing"]
    assert found.filter(question=NO_AXIS)["verdict"].to_list() == ["underspecified_user_intent"]


def test_a_category_that_leaves_the_axis_open_needs_its_reason_read(tmp_path):
    open_ = failure("Intent Plan Misalignment", number=99)
    with pytest.raises(InputError, match="the axis of failure 99 is open"):
        read(tmp_path, open_)
    assert read(tmp_path, open_, by_reason={99: "sequencing"})["question"].to_list() == ["sequencing"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": 8}, "every label needs the failed run of its task; found '8'"),
        ({"trajectories": [run(reward=1.0)]}, "every label needs the failed run of its task"),
        ({"step": 70}, "has no step numbered so; found 70"),
        ({"category": "Bad Luck"}, "the category must be one of"),
    ],
)
def test_what_cannot_be_placed_is_named(tmp_path, change, message):
    said = failure(change.pop("category", "Invalid Invocation"), change.pop("step", 3))
    with pytest.raises(InputError, match=message):
        read(tmp_path, said, **change)


def test_a_file_of_another_form_is_named(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text('{"failures": []}')
    with pytest.raises(InputError, match="must be a list of runs with trajectory_id and failures"):
        read_agentrx(path, [])


def test_the_real_labels_hold_thirteen_failures_on_axes(shared_data):
    folder = shared_data / "agentrx"
    runs = read_trajectories(folder / "tau_dataset_full.json", folder / "tau_dataset_failed.json").trajectories
    found = read_agentrx(folder / "human_labels.json", runs)
    on_axes = found.filter(found["question"] != NO_AXIS)
    assert on_axes["cited_step_indices"].list.len().sum() == 13
    assert dict(on_axes.group_by("question").len().iter_rows()) == {
        "result_interpretation": 5,
        "sequencing": 4,
        "argument_validity": 1,
        "tool_selection": 1,
    }
    assert found.filter(question=NO_AXIS).height == 6
    assert found["trajectory_id"].n_unique() == 15
