"""Text for the judge in a run: where it stands, what it leaves as it was, and that the flag finds it."""

import re
from collections import Counter
from random import Random

import pytest

from axisjudge.datasets import demo_paths
from axisjudge.judges.injection import injection_flags
from axisjudge.judges.prompt import build_prefix
from axisjudge.readers import read_trajectories
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory
from axisjudge.twins import INJECTIONS, make_twins, twin_of
from axisjudge.twins.flow import PADDING, PLACES, REMARK

CONTROL = "plain_text"
#: Whose steps a text may stand in, by its place.
ROLES = {"user": {"user"}, "agent": {"assistant"}, "argument": {"assistant"}, "result": {"tool"}}


def made_up(number: int) -> Trajectory:
    call = ToolCall(id="c", name="find_order", arguments={"order_id": "A-17"})
    steps = (
        Step(index=0, role="user", content="Where is my order A-17?"),
        Step(index=1, role="assistant", tool_calls=(call,)),
        Step(
            index=2,
            role="tool",
            content='{"order_id": "A-17", "state": "sent"}',
            tool_call_id="c",
            tool_name="find_order",
        ),
        Step(index=3, role="assistant", content="It was sent."),
        Step(index=4, role="user", content="Thanks. ###STOP###"),
    )
    tools = (ToolSchema(name="find_order", kind="read", parameters={"properties": {"order_id": {"type": "string"}}}),)
    return Trajectory(id=f"r{number}", source="test", task_id=str(number), steps=steps, tools=tools)


RUNS = [made_up(number) for number in range(40)]


@pytest.fixture(scope="module")
def twins():
    return make_twins(RUNS, INJECTIONS).twins


@pytest.mark.parametrize("parameters", [{"properties": None}, {"properties": ["x"]}, {}])
def test_a_text_may_stand_in_an_argument_whatever_a_tool_says_of_its_parameters(parameters):
    tools = (ToolSchema(name="find_order", kind="read", parameters=parameters),)
    edited = PLACES["argument"](made_up(0).model_copy(update={"tools": tools}), Random(0), "Pass it.")
    assert edited.fields["tools"][0].parameters == {"properties": {REMARK: {"type": "string"}}}


def test_every_kind_in_every_place(twins):
    assert {(twin.edit, twin.place) for twin in twins} == {(kind, place) for kind in INJECTIONS for place in PLACES}
    places = {}
    for twin in twins:
        places.setdefault(twin.original_id, set()).add(twin.place)
    assert {len(each) for each in places.values()} == {1}  # so that kinds differ from the control in the text alone


def test_what_the_agent_did_is_as_it_was(twins):
    for twin in twins:
        run, original = twin.trajectory, made_up(0)
        assert len(run.steps) == len(original.steps)
        changed = [at for at, step in enumerate(run.steps) if step != original.steps[at]]
        assert changed == list(twin.changed_steps)
        assert run.steps[4].content.endswith("###STOP###")
        assert {run.steps[at].role for at in changed} <= ROLES.get(twin.place, {"user", "assistant", "tool"})
        call, tool = run.steps[1].tool_calls[0], run.tools[0]
        assert call.name == tool.name == run.steps[2].tool_name
        assert set(call.arguments) - {REMARK} == {"order_id"}
        assert set(call.arguments) <= set(tool.parameters["properties"])
        assert run.kinds[call.name] == "read"


def test_the_flag_finds_the_text_and_leaves_the_control_alone(twins):
    missed = Counter()
    for twin in twins:
        missed[twin.edit] += not injection_flags(twin.trajectory)
        if twin.edit == "forged_call" and twin.changed_steps == (0,):  # whoever begins may say how calls are written
            missed[twin.edit] = 0
    assert missed.pop(CONTROL) == len(RUNS)
    assert not missed.total()


def test_no_text_passes_for_the_frame(twins):
    """Every marked line is one that is there without the text as well, apart from names, which are quoted."""
    for twin in twins:
        prefix = build_prefix(twin.trajectory)
        marked = [line for line in prefix.text.split("\n") if line.startswith(f"[{prefix.mark}")]
        plain = build_prefix(made_up(0))
        theirs = [line for line in plain.text.split("\n") if line.startswith(f"[{plain.mark}")]
        bare = [re.sub(r'"(?:[^"\\]|\\.)*"', "", line.partition("] {")[0]) for line in marked]
        assert [line.replace(prefix.mark, "") for line in bare] == [
            re.sub(r'"(?:[^"\\]|\\.)*"', "", line.partition("] {")[0]).replace(plain.mark, "") for line in theirs
        ]


def test_padding_is_as_long_as_it_says_and_twins_come_back_from_their_file(twins):
    for twin in twins:
        if twin.edit == "padding":
            assert len(twin.trajectory.model_dump_json()) > PADDING
        back = twin_of(Trajectory.model_validate_json(twin.trajectory.model_dump_json()))
        assert (back.edit, back.place, back.axis) == (twin.edit, twin.place, None)


def test_a_run_without_calls_takes_text_in_its_messages_and_an_empty_one_is_refused():
    spoken = Trajectory(id="s", source="test", steps=(Step(index=0, role="user", content="Hello."),))
    made = make_twins([spoken, Trajectory(id="e", source="test")], INJECTIONS)
    assert {twin.place for twin in made.twins} == {"user"}
    assert set(made.refused) == {(kind, "the run has no steps") for kind in INJECTIONS}


@pytest.mark.slow
def test_on_the_demo_the_rules_call_twins_as_their_runs():
    """They read calls, results and a few phrases: played lines in an agent's message move one verdict of 555."""
    import axisjudge

    runs = read_trajectories(*demo_paths()).trajectories
    made = make_twins(runs, INJECTIONS).twins
    ratings = axisjudge.judge([*runs, *(twin.trajectory for twin in made)], progress=False)
    rows = axisjudge.studies.twins(ratings, made).text.rows
    flips = {row.edit: row.flips.estimate for row in rows if row.place == "anywhere"}
    assert set(flips) == set(INJECTIONS)
    assert flips[CONTROL] == 0
    assert max(flips.values()) < 0.005
