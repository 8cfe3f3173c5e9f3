"""Twins: what every edit keeps, what each one does, and where it refuses."""

import json
import re
from collections import Counter
from datetime import datetime
from typing import get_args

import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory
from axisjudge.twins import EDITS, EXPECTED, broken_axis, make_twins, twins_in
from axisjudge.twins.flow import CUT, as_left
from axisjudge.twins.runs import blocks_of, is_identifier, text_of_all
from axisjudge.twins.twin import Expectation
from axisjudge.verdict import AXES

SOUND = ("renamed_user", "reordered_reads", "reworded")


@pytest.fixture(scope="module")
def runs():
    return read_trajectories(*demo_paths()).trajectories


@pytest.fixture(scope="module")
def originals(runs):
    return {run.id: run for run in runs}


@pytest.fixture(scope="module")
def made(runs):
    return make_twins(runs, seed=3)


def of(made, edit):
    found = [twin for twin in made.twins if twin.edit == edit]
    assert found, f"the demo has no twin by {edit}"
    return found


def bare(step):
    """A step without its place and time."""
    return step.model_copy(update={"index": 0, "source_index": None, "timestamp": None})


def test_every_edit_has_a_row_for_every_axis_and_breaks_one_or_none():
    for edit in EDITS:
        row = EXPECTED[edit]
        assert set(row) == set(AXES)
        assert set(row.values()) <= set(get_args(Expectation))
        assert list(row.values()).count("must") == (edit not in SOUND)
    assert {broken_axis(edit) for edit in EDITS} == {*AXES, None}
    assert all(set(EXPECTED[edit].values()) == {"must_not"} for edit in SOUND)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_one_other_twins(runs, made, tmp_path):
    again = make_twins(runs, seed=3)
    for name, twins in (("one", made), ("two", again)):
        write_trajectories(tmp_path / name, (twin.trajectory for twin in twins.twins))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    other = make_twins(runs, seed=4)
    assert [twin.trajectory.steps for twin in other.twins] != [twin.trajectory.steps for twin in made.twins]


def test_a_twin_does_not_depend_on_the_other_edits_asked_for(runs, made):
    alone = make_twins(runs, ["misreported_amount"], seed=3).twins
    assert list(alone) == of(made, "misreported_amount")


def test_every_run_and_edit_is_accounted_for(runs, made):
    assert len(made.twins) + sum(map(len, made.refused.values())) == len(runs) * len(EDITS)
    assert sum(row["runs"] for row in made.rows()) == len(runs) * len(EDITS)


def test_ids_are_unique_also_of_a_twin_of_a_twin(runs, made):
    twice = make_twins([twin.trajectory for twin in made.twins][:80], ["reworded", "renamed_user"], seed=3)
    ids = [*(run.id for run in runs), *(t.trajectory.id for t in made.twins), *(t.trajectory.id for t in twice.twins)]
    assert twice.twins
    assert len(ids) == len(set(ids))


def test_a_twin_keeps_what_is_not_edited_and_claims_no_reward(made, originals):
    for twin in made.twins:
        original = originals[twin.original_id]
        for field in ("task_id", "domain", "agent", "agent_family", "source", "tools", "policy", "cluster_id"):
            assert getattr(twin.trajectory, field) == getattr(original, field)
        assert twin.trajectory.reward is None
        assert twin.trajectory.content_sha256 != original.content_sha256
        assert twin.what.endswith(".")


def test_indices_are_the_places_and_times_never_run_backwards(made):
    for twin in made.twins:
        steps = twin.trajectory.steps
        assert [step.index for step in steps] == list(range(len(steps)))
        assert all(0 <= index < len(steps) for index in twin.changed_steps)
        times = [datetime.fromisoformat(step.timestamp) for step in steps]
        assert times == sorted(times), twin.trajectory.id


def test_every_result_still_answers_the_call_before_it(made):
    for twin in made.twins:
        for block in blocks_of(twin.trajectory):
            named = [call.name for call in block.calls]
            assert [result.tool_name for result in block.results] == named
        answered = {step.tool_call_id for step in twin.trajectory.steps if step.role == "tool"}
        asked = {call.id for step in twin.trajectory.steps for call in step.tool_calls}
        assert answered == asked


def test_untouched_steps_are_identical(made, originals):
    for twin in made.twins:
        original, steps = originals[twin.original_id].steps, twin.trajectory.steps
        rest = [bare(step) for step in steps if step.index not in twin.changed_steps]
        before = Counter(bare(step).model_dump_json() for step in original)
        assert not Counter(step.model_dump_json() for step in rest) - before, twin.trajectory.id
        if len(steps) == len(original):
            same = [place for place in range(len(steps)) if place not in twin.changed_steps]
            assert all(bare(steps[place]) == bare(original[place]) for place in same)


@pytest.mark.slow
def test_a_written_twin_is_read_back_as_what_it_is(made, tmp_path):
    path = tmp_path / "twins.jsonl"
    write_trajectories(path, (twin.trajectory for twin in made.twins))
    assert twins_in(read_trajectories(path).trajectories) == list(made.twins)


def test_other_runs_are_no_twins(runs):
    assert twins_in(runs) == []


def test_judges_are_not_shown_what_a_twin_is(made):
    from axisjudge.judges.prompt import build_prefix

    for edit in EDITS:
        twin = of(made, edit)[0]
        assert not re.search(rf"twin|{edit}|changed_steps|{twin.original_id}", str(build_prefix(twin.trajectory)))


def test_an_unknown_edit_is_refused(runs):
    with pytest.raises(InputError, match="must be one of"):
        make_twins(runs, ["misreport_amount"])


# One edit at a time


def test_a_fabricated_identifier_stands_nowhere_before_its_call_and_replaces_the_old_one_after(made, originals):
    for twin in of(made, "fabricated_argument"):
        new, old = re.search(r"with (\S+), which no step holds, instead of (\S+)\.$", twin.what).groups()
        first = twin.changed_steps[0]
        steps = twin.trajectory.steps
        assert is_identifier(new)
        assert len(new) == len(old)
        assert new not in text_of_all(originals[twin.original_id].steps) + (twin.trajectory.policy or "")
        assert new not in text_of_all(steps[:first])
        assert new in text_of_all([steps[first].model_copy(update={"content": ""})])
        assert old not in text_of_all(steps[first:])
        assert all(step.role != "user" for step in steps if step.index in twin.changed_steps)


def test_before_the_read_comes_the_write_and_the_read_shows_what_it_left(made):
    for twin in of(made, "write_before_read"):
        kinds = {tool.name: tool.kind for tool in twin.trajectory.tools}
        first, *_ = (b for b in blocks_of(twin.trajectory) if b.start == twin.changed_steps[0])
        second, *_ = (b for b in blocks_of(twin.trajectory) if b.start == first.end)
        assert [kinds[call.name] for call in first.calls] == ["write"]
        assert {kinds[call.name] for call in second.calls} == {"read"}


def test_a_record_read_after_a_change_shows_the_change():
    read = Step(index=0, role="tool", content='{"order_id": "A-100", "status": "pending", "lines": [{"line_id": 1}]}')
    done = {"order_id": "A-100", "status": "cancelled", "refund": 5}
    assert json.loads(as_left(read, done)) == {"order_id": "A-100", "status": "cancelled", "lines": [{"line_id": 1}]}
    assert as_left(read, {"order_id": "A-101", "status": "cancelled"}) == read.content


def test_the_write_stands_in_the_question_and_the_yes_comes_after_it(made, originals):
    for twin in of(made, "write_before_yes"):
        asking, result, answer = (twin.trajectory.steps[index] for index in twin.changed_steps)
        assert "?" in asking.content
        assert asking.tool_calls[0].id == result.tool_call_id
        assert answer.role == "user"
        original = originals[twin.original_id]
        assert len(twin.trajectory.steps) == len(original.steps) - 1
        tail = len(original.steps) - twin.changed_steps[-1] - 2
        assert [bare(s) for s in twin.trajectory.steps[-tail:]] == [bare(s) for s in original.steps[-tail:]]


def test_a_misreported_amount_is_told_to_the_user_only(made, originals):
    for twin in of(made, "misreported_amount"):
        new, old = re.search(r"the user (\S+) where a result holds (\S+)\.$", twin.what).groups()
        assert abs(float(new.replace(",", "")) - float(old.replace(",", ""))) >= 1
        assert new not in text_of_all(originals[twin.original_id].steps)
        for index in twin.changed_steps:
            was, now = originals[twin.original_id].steps[index], twin.trajectory.steps[index]
            assert now.role in ("assistant", "user")
            assert now.tool_calls == was.tool_calls
            assert now.content.replace(new, old) == was.content


def test_a_cut_run_is_the_beginning_of_the_run_and_ends_at_a_limit(made, originals):
    for twin in of(made, "cut_tail"):
        steps = twin.trajectory.steps
        assert steps == originals[twin.original_id].steps[: len(steps)]
        assert len(steps) < len(originals[twin.original_id].steps)
        assert twin.trajectory.termination == CUT


def test_another_tool_is_called_with_all_that_it_requires(made, originals):
    for twin in of(made, "other_tool"):
        message, result = (twin.trajectory.steps[index] for index in twin.changed_steps)
        call, was = message.tool_calls[0], originals[twin.original_id].steps[message.index].tool_calls[0]
        schema = next(tool for tool in twin.trajectory.tools if tool.name == call.name)
        assert call.name != was.name
        assert schema.kind == "write"
        assert set(call.arguments) == set(schema.parameters["required"])
        assert result.tool_name == call.name
        assert isinstance(json.loads(result.content), dict)
        shared = call.arguments.keys() & was.arguments.keys()
        assert shared
        assert all(call.arguments[name] == was.arguments[name] for name in shared)


def numbers(steps):
    return re.findall(r"\d+", text_of_all(steps))


@pytest.mark.parametrize("edit", SOUND)
def test_where_nothing_matters_every_number_stays(made, originals, edit):
    for twin in of(made, edit):
        before, after = originals[twin.original_id].steps, twin.trajectory.steps
        same = Counter if edit == "reordered_reads" else list
        assert same(numbers(after)) == same(numbers(before)), twin.trajectory.id
        assert len(after) == len(before)


def test_a_new_name_replaces_the_old_one_everywhere(made, originals):
    for twin in of(made, "renamed_user"):
        first, last, old_first, old_last = re.search(r"called (\w+) (\w+) instead of (\w+) (\w+)\.", twin.what).groups()
        text = text_of_all(twin.trajectory.steps)
        assert old_last.lower() not in text.lower()
        assert not re.search(rf"\b{old_first}\b", text)
        assert {first, last} <= set(re.findall(r"\w+", text))
        assert last not in text_of_all(originals[twin.original_id].steps)


def test_only_the_agents_prose_is_reworded(made, originals):
    for twin in of(made, "reworded"):
        for index in twin.changed_steps:
            was, now = originals[twin.original_id].steps[index], twin.trajectory.steps[index]
            assert (was.role, was.tool_calls) == ("assistant", now.tool_calls)
            assert was.content != now.content


def test_reordered_reads_are_by_one_tool(made):
    for twin in of(made, "reordered_reads"):
        moved = [twin.trajectory.steps[index] for index in twin.changed_steps]
        assert len({step.tool_name for step in moved if step.role == "tool"}) == 1


# Refusals, on a run made for the purpose

TOOLS = (
    ToolSchema(name="get_order", kind="read", parameters={"required": ["order_id"]}),
    ToolSchema(name="cancel_order", kind="write", parameters={"required": ["order_id"]}),
)


def call(number, name, **arguments):
    return Step(index=0, role="assistant", tool_calls=(ToolCall(id=f"c{number}", name=name, arguments=arguments),))


def answer(number, name, content):
    return Step(index=0, role="tool", tool_call_id=f"c{number}", tool_name=name, content=content)


def run_of(*steps, **fields):
    placed = tuple(step.model_copy(update={"index": index}) for index, step in enumerate(steps))
    return Trajectory(
        **{"id": "r", "source": "test", "tools": TOOLS, "termination": "user_stop", **fields, "steps": placed}
    )


def says(role, content):
    return Step(index=0, role=role, content=content)


ORDER = '{"order_id": "A-4711", "status": "pending", "paid": 88.25}'
DONE = '{"order_id": "A-4711", "status": "cancelled"}'
ASKED = (
    says("user", "Please look at order A-4711."),
    call(1, "get_order", order_id="A-4711"),
    answer(1, "get_order", ORDER),
    says("assistant", "It is pending and cost 88.25. Shall I cancel it?"),
    says("user", "Yes."),
    call(2, "cancel_order", order_id="A-4711"),
    answer(2, "cancel_order", DONE),
    says("assistant", "It is cancelled, 88.25 goes back."),
)


def twins_of(run, edit):
    return make_twins([run], [edit], seed=0).twins


def reason(run, edit):
    ((_, why),) = make_twins([run], [edit], seed=0).refused
    return why


def test_the_plain_run_allows_what_it_should():
    (twin,) = twins_of(run_of(*ASKED), "write_before_yes")
    assert [step.role for step in twin.trajectory.steps] == [
        *("user", "assistant", "tool", "assistant", "tool", "user", "assistant")
    ]
    (told,) = twins_of(run_of(*ASKED), "misreported_amount")
    assert told.changed_steps == (7,)


def test_no_yes_no_twin():
    no = [*ASKED[:4], says("user", "What else is in it?"), *ASKED[5:]]
    assert "yes" in reason(run_of(*no), "write_before_yes")
    early = [says("user", "Cancel order A-4711, go ahead."), *ASKED[1:]]
    assert "yes" in reason(run_of(*early), "write_before_yes")


def test_a_value_that_the_user_named_is_not_fabricated():
    assert "without the user naming it" in reason(run_of(*ASKED), "fabricated_argument")


def test_a_read_made_before_is_not_missed():
    direct = [*ASKED[:3], *ASKED[5:]]
    assert twins_of(run_of(*direct), "write_before_read")
    twice = [
        *ASKED[:3],
        says("assistant", "Found it."),
        says("user", "Cancel it."),
        call(3, "get_order", order_id="A-4711"),
    ]
    twice += [answer(3, "get_order", ORDER), *ASKED[5:]]
    assert "rests on" in reason(run_of(*twice), "write_before_read")


def test_a_run_is_not_cut_where_nothing_says_how_runs_end_or_too_little_would_be_left():
    assert "does not say how runs end" in reason(run_of(*ASKED, termination=None), "cut_tail")
    assert "fewer than 2 calls" in reason(run_of(*ASKED), "cut_tail")


def test_the_kinds_of_tools_must_be_known():
    for edit in ("write_before_read", "write_before_yes", "reordered_reads"):
        assert "is not known" in reason(run_of(*ASKED, tools=None), edit)


def test_an_amount_told_before_a_change_is_left_alone():
    before = run_of(*ASKED[:7], says("assistant", "Done."))
    assert "after the last change" in reason(before, "misreported_amount")


def test_a_run_without_steps_is_refused_by_every_edit():
    empty = make_twins([run_of()], seed=0)
    assert empty.twins == ()
    assert set(empty.refused) == {(edit, "the run has no steps") for edit in EDITS}


@pytest.mark.slow
def test_on_real_runs_every_edit_finds_places_and_keeps_ids_and_times(shared_data):
    reading = read_trajectories(
        shared_data / "tau2_retail" / "gpt-5-nano.json",
        tools=shared_data / "context" / "tools.json",
        policy=shared_data / "context" / "retail_policy.md",
    )
    made = make_twins(reading.trajectories, seed=1)
    counts = Counter(twin.edit for twin in made.twins)
    assert set(counts) == set(EDITS)
    assert all(
        [step.index for step in twin.trajectory.steps] == list(range(len(twin.trajectory.steps))) for twin in made.twins
    )
    for twin in made.twins:
        times = [step.timestamp for step in twin.trajectory.steps]
        assert times == sorted(times), twin.trajectory.id
