"""What a person sees and does not see, what becomes of their word, and where they go on."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from explorer.conftest import HOSTILE, SECRETS

from axisjudge.checks import InputError
from axisjudge.explorer.grid import _tools_at
from axisjudge.explorer.log import LabelLog, by_other_instructions, now, state_of
from axisjudge.explorer.session import Session
from axisjudge.explorer.shown import shown_run
from axisjudge.explorer.timeline import steps_of_entries
from axisjudge.explorer.widget import labels_path, open_labeller
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import Drawn, Sampling, draw_at_random, draw_by
from axisjudge.trajectory import Step, ToolCall, Trajectory
from axisjudge.verdict import AXES, OPEN, VERDICTS

NOW = "2026-11-22T08:00:00Z"


def label(verdict="correct", confidence=None, cited=(), note=""):
    return {"verdict": verdict, "confidence": confidence, "cited": list(cited), "note": note}


# ---- blind


@pytest.fixture
def drawn_by_a_judge(runs):
    """A session whose items a judge's verdicts drew."""
    strata = {each.id: "incorrect" if number else "correct" for number, each in enumerate(runs)}
    key = f"{SECRETS['judge']}: sequencing"
    return Session.of(runs, draw_by(runs, strata, 3, key=key, method="by_judge_verdict", seed=1), "rater one")


def test_the_widget_never_tells_the_browser_what_it_must_not_know(drawn_by_a_judge, tmp_path):
    from axisjudge.explorer.widget import Labeller

    widget = Labeller(lambda _: (drawn_by_a_judge, LabelLog(tmp_path / "one.jsonl")))
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    said = {"item": 0, "axis": AXES[0], "label": label(), "seconds": 3}
    asked = [("start", None), ("item", 0), ("item", 1), ("item", 2), ("save", said)]
    widget._hear(widget, {"kind": "name", "re": "0", "content": "rater one"}, [])
    for at, (kind, content) in enumerate(asked, start=1):
        message = {"kind": kind, "re": str(at), "content": {"rater": "rater one", "content": content}}
        widget._hear(widget, message, [])
    told = json.dumps([widget.about, sent])
    assert "Please cancel order #W1" in told
    state = json.dumps({name: value for name, value in widget.get_state().items() if name != "_esm"}, default=str)
    for text in (told, state):
        for secret in (*map(str, SECRETS.values()), "agent-not-to-be-seen", "by_judge", "stratum"):
            assert secret not in text
    assert "Please cancel" not in state
    (line,) = LabelLog(tmp_path / "one.jsonl").lines()
    assert f"drawn_by:{SECRETS['judge']}: sequencing" in line.flags


def test_what_is_shown_of_a_run_depends_on_nothing_hidden(runs):
    hidden = {"reward": 1.0, "meta": {}, "agent": "x", "agent_family": "y", "task_id": "z", "domain": "w", "id": "v"}
    assert shown_run(Trajectory(**{**dict(runs[0]), **hidden})) == shown_run(runs[0])


# ---- shown


def test_a_run_is_shown_as_it_was(runs):
    shown = shown_run(runs[0])
    assert shown["ended"] == "user_stop"
    assert shown["steps"][1]["text"] == runs[0].steps[1].content
    assert shown["steps"][2]["calls"] == [
        {"name": "get_order", "by_user": False, "fault": None, "arguments": [("order_id", '"#W0"')]}
    ]
    assert shown["steps"][3]["answers"] == "get_order"
    assert shown["steps"][4]["calls"][0]["fault"] == "not JSON"
    assert shown["steps"][4]["calls"][0]["arguments"] == [("", "{no")]
    assert shown["steps"][5]["error"]
    assert shown["tools"][0]["description"] == f"Look up. {HOSTILE}"


def test_calls_of_the_user_and_a_policy_inside_the_run_are_named():
    steps = (
        Step(index=0, role="system", content="Rules:\nBe kind."),
        Step(index=1, role="user", tool_calls=(ToolCall(id="u", name="toggle", requestor="user"),)),
        Step(index=2, role="tool", tool_call_id="u", content="on"),
        Step(index=3, role="tool", content="stray"),
    )
    shown = shown_run(Trajectory(id="x", source="test", steps=steps, policy="Be kind."))
    assert shown["policy"] == "It stands in step 0."
    assert shown["tools"] is None
    assert shown["steps"][1]["calls"][0]["by_user"]
    assert (shown["steps"][2]["by_user"], shown["steps"][2]["answers"]) == (True, "toggle")
    assert shown["steps"][3]["answers"] == "unknown tool"


# ---- a word becomes a rating


def test_where_the_id_of_a_call_occurs_again_a_result_belongs_to_the_last_call_before_it():
    said = [
        ("find", "assistant", 0),
        (None, None, 2),
        ("change", "user", 10),
        (None, None, 13),
        ("tell", "assistant", 20),
    ]
    steps = [
        Step(
            index=at,
            role="tool" if name is None else "assistant",
            tool_calls=() if name is None else (ToolCall(id="call_0", name=name, requestor=who),),
            tool_call_id="call_0" if name is None else None,
            timestamp=f"2026-01-01T00:00:{second:02}Z",
        )
        for at, (name, who, second) in enumerate(said)
    ]
    run = Trajectory(id="r", source="test", steps=tuple(steps))
    assert [(call.name, took) for call, took, _ in run.call_durations] == [("find", 2.0), ("tell", None)]
    shown = [(each["answers"], each["by_user"]) for each in shown_run(run)["steps"]]
    assert shown == [(None, False), ("find", False), (None, False), ("change", True), (None, False)]
    kinds = ["tool_use", "tool_result"]
    entries = [SimpleNamespace(type=kinds[at % 2], tool_id="call_0") for at in range(5)]
    assert steps_of_entries(entries, run.steps) == [0, 1, 2, 3, 4]
    assert _tools_at(run, {1, 3}, tools := []) == {1: [0], 3: [1]}
    assert tools == ["find", "change"]


def test_a_word_becomes_a_rating_with_its_draw(session):
    given = session.rating(1, "sequencing", label("incorrect", 0.8, [4, 3], "Twice."), 40.0, NOW)
    run = session.trajectories[1]
    assert (given.trajectory_id, given.cluster_id, given.agent) == (run.id, run.cluster_id, run.agent)
    assert (given.verdict, given.confidence, given.cited_step_indices) == ("incorrect", 0.8, [3, 4])
    assert (given.rationale, given.latency_s, given.created_at) == ("Twice.", 40.0, NOW)
    assert given.flags == ["drawn:random", "drawn_probability:1.0", "drawn_from:3"]
    assert session.rating(1, "sequencing", label(None, note="?"), 1.0, NOW).flags[0] == OPEN


@pytest.mark.parametrize(
    ("axis", "said", "message"),
    [
        ("sequence", label(), "axis: must be one of"),
        ("sequencing", label("right"), "verdict: must be one of"),
        ("sequencing", label("correct", 0.81), "confidence: must be one of"),
        ("sequencing", label("correct", None, [8]), "cited step: does not exist in this trajectory; found 8"),
    ],
)
def test_what_no_person_can_have_said_is_refused(session, axis, said, message):
    with pytest.raises(InputError, match=message):
        session.rating(0, axis, said, 1.0, NOW)


def test_a_plan_of_single_axes_asks_for_these_only(runs):
    items = (
        Drawn("run-0", 0.5, "agree", "sequencing"),
        Drawn("run-1", 1.0, "differ", "sequencing"),
        Drawn("run-1", 0.5, "agree", "termination"),
    )
    session = Session.of(runs, Sampling("by_key", items, key="adjudication"), "rater one")
    assert [item["axes"] for item in session.about()["items"]] == [["sequencing"], ["sequencing", "termination"]]
    said = [session.rating(1, axis, label(), 1.0, NOW).flags for axis in ("sequencing", "termination")]
    assert ["drawn_probability:1.0" in flags for flags in said] == [True, False]
    with pytest.raises(InputError, match="axis: must be one of sequencing"):
        session.rating(0, "termination", label(), 1.0, NOW)


def test_a_plan_of_other_trajectories_is_refused(runs):
    with pytest.raises(InputError, match="1 of the plan are not among them"):
        Session.of(runs[:2], draw_at_random(runs, seed=1), "rater one")


# ---- going on


@pytest.fixture
def log(tmp_path):
    return LabelLog(tmp_path / "labels" / "one.jsonl")


def say(session, log, item, axis, said, seconds=1.0):
    log.append(session.rating(item, axis, said, seconds, NOW))


def test_nothing_is_there_at_first(session, log):
    assert state_of(session, log.lines()) == {"labels": {}, "history": [], "seconds": {}}


def test_a_word_that_comes_after_a_later_one_is_kept_and_does_not_stand(session, log):
    """Whether it waited for a server or for a kernel, and of its own item alone."""

    def said(verdict, ago, axis="sequencing"):
        return log.append(session.rating(0, axis, label(verdict), 1.0, now(ago)))

    assert said("correct", 300) is None
    assert said("incorrect", 100) is None
    assert said("uncertain", 200).verdict == "incorrect"
    assert said("uncertain", 200, "termination") is None
    assert [line.verdict for line in log.lines()][:4] == ["correct", "incorrect", "uncertain", "incorrect"]
    assert state_of(session, log.lines())["labels"]["0/sequencing"] == label("incorrect")
    assert said("not_applicable", -(10**12)) is None, "a browser's clock may be wrong"
    assert read_labels(log.path).filter(question="sequencing")["verdict"].to_list() == ["not_applicable"]


def test_one_goes_on_where_one_stopped(session, log):
    say(session, log, 0, "sequencing", label("correct"), 5.0)
    say(session, log, 0, "sequencing", label("incorrect", 0.9, [2], "No."), 9.0)
    say(session, log, 2, "termination", label(None, note="half"), 4.0)
    state = state_of(session, log.lines())
    assert state["labels"] == {
        "0/sequencing": label("incorrect", 0.9, [2], "No."),
        "2/termination": label(None, note="half"),
    }
    assert [change["before"]["verdict"] for change in state["history"]] == [None, "correct", None]
    assert state["seconds"] == {"0": 9.0, "2": 4.0}
    with pytest.warns(UserWarning, match="1 labels have no verdict"):
        assert read_labels(log.path)["verdict"].to_list() == ["incorrect"]


def test_an_undo_is_no_new_change(session, log):
    for said in (label("correct"), label("incorrect"), label("correct"), label(None)):
        say(session, log, 0, "sequencing", said)
    assert state_of(session, log.lines())["history"] == []


def test_labels_by_other_people_or_by_another_rubric_are_not_taken_up(session, log):
    say(replace(session, rater="rater two"), log, 0, "sequencing", label())
    rubric = session.rubrics["sequencing"]
    other = rubric.model_copy(update={"text": rubric.text.replace("## Verdicts\n", "## Verdicts\n\nRead twice.\n")})
    say(replace(session, rubrics={**session.rubrics, "sequencing": other}), log, 0, "sequencing", label())
    assert state_of(session, log.lines())["labels"] == {}
    assert by_other_instructions(session, log.lines()) == 1


def test_labels_by_another_rubric_are_told_when_the_labeller_opens(session, log, runs):
    rubric = session.rubrics["sequencing"]
    other = rubric.model_copy(update={"text": rubric.text.replace("## Verdicts\n", "## Verdicts\n\nRead twice.\n")})
    path = labels_path("rater one", log.path.parent)
    say(replace(session, rubrics={**session.rubrics, "sequencing": other}), LabelLog(path), 0, "sequencing", label())
    with pytest.warns(UserWarning, match="1 labels were given by another rubric"):
        open_labeller(runs, rater="rater one", seed=1, folder=log.path.parent)


def test_a_torn_line_is_left_out_and_the_next_one_is_whole(session, log):
    say(session, log, 0, "sequencing", label())
    with log.path.open("ab") as file:
        file.write(b'{"schema_version":1,"trajec')
    with pytest.warns(UserWarning, match="torn"):
        assert len(log.lines()) == 1
    say(session, log, 1, "sequencing", label())
    assert len(log.lines()) == 2


def test_a_file_that_is_not_of_ratings_is_refused(session, log):
    log.path.parent.mkdir()
    log.path.write_text('{"verdict": "correct"}\n')
    with pytest.raises(InputError, match=r"one\.jsonl:1: not a rating"):
        log.lines()


# ---- opening


def test_opening_again_takes_up_the_same_plan_and_refuses_another(runs, tmp_path):
    first = open_labeller(runs, rater="rater one", n=2, seed=4, folder=tmp_path)
    again = open_labeller(runs[::-1], rater="rater one", n=2, seed=4, folder=tmp_path)
    assert first.about == again.about
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rater-one.sampling.json"]
    with pytest.raises(InputError, match="labels were begun with another draw"):
        open_labeller(runs, rater="rater one", n=2, seed=5, folder=tmp_path)
    open_labeller(runs, rater="rater two", n=2, seed=5, folder=tmp_path)  # another person, another draw


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", "-a", "a\nb", "C:x"])
def test_a_name_that_is_no_file_s_name_is_refused(name, tmp_path):
    with pytest.raises(InputError, match="rater: must begin with a letter"):
        labels_path(name, tmp_path)


def test_every_axis_has_a_key_of_its_own_that_means_nothing_else(session):
    keys = [axis["key"] for axis in session.about()["axes"]]
    assert len(set(keys)) == len(AXES)
    assert not set(keys) & set("JKCOMIUNP")
    assert session.about()["verdicts"] == list(VERDICTS)
