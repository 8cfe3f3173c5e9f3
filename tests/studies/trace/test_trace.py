"""Traces: what stands beside a step, which run is the most contested, and untrusted text made visible."""

import math

import pandas as pd
import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.figures.markup import visible
from axisjudge.ratings import ratings_frame
from axisjudge.studies.trace import pick, published_trace, trace
from axisjudge.studies.trace.run import most_contested
from axisjudge.trajectory import Step, ToolCall, Trajectory

STEPS = (
    Step(index=0, role="user", content="Cancel the hose only."),
    Step(index=1, role="assistant", tool_calls=(ToolCall(id="c1", name="cancel", arguments={"order": "#1"}),)),
    Step(index=2, role="tool", tool_call_id="c1", content="refund 1619.34"),
    Step(index=3, role="assistant", content="Your refund is 95.08."),
)
RUN = Trajectory(id="ant-1", source="own", agent="ant", task_id="1", steps=STEPS)


@pytest.fixture(scope="module")
def words(one_rating):
    """Two judges on the run: agreed on tool_selection, opposed on result_interpretation, one verdict lost."""
    return [
        one_rating("ant-1", "result_interpretation", "j1", "i", cited_step_indices=[2, 3], rationale="misread"),
        one_rating("ant-1", "result_interpretation", "j2", "c", cited_step_indices=[3]),
        one_rating("ant-1", "tool_selection", "j1", "i", cited_step_indices=[1, 9], invalid_citations=[9]),
        one_rating("ant-1", "tool_selection", "j2", "i", cited_step_indices=[1]),
        one_rating("ant-1", "termination", "j1", "x"),
        one_rating("ant-1", "termination", "j2", "c"),
    ]


@pytest.fixture(scope="module")
def traced(words):
    return trace(ratings_frame(words), RUN)


def test_steps_carry_what_judges_say_of_them(traced):
    assert [(word.judge, word.axis) for word in traced.timeline.run.steps[3].cited_by] == [
        ("j1", "result_interpretation"),
        ("j2", "result_interpretation"),
    ]
    assert traced.timeline.run.steps[0].cited_by == ()
    assert traced.timeline.run.steps[2].answers == "cancel"  # by the id of the call
    assert traced.timeline.run.steps[1].calls == (("cancel", 'order="#1"', True),)


def test_axes_in_order_and_the_contested_one(traced):
    assert traced.timeline.run.axes == ("tool_selection", "result_interpretation", "termination")
    assert traced.timeline.run.contested == ("result_interpretation",)


def test_overlap_of_citations_is_their_jaccard_share(traced):
    overlap = {pair.axis: pair for pair in traced.timeline.run.overlaps}
    assert overlap["result_interpretation"].jaccard == 0.5
    assert overlap["result_interpretation"].shared == (3,)
    assert overlap["tool_selection"].jaccard == 1  # step 9 is not in the run and no evidence
    assert overlap["result_interpretation"].chance == pytest.approx(
        0.5 * 1 / 2
    )  # 2 and 1 of 4 steps: half the time 1/2
    assert overlap["result_interpretation"].distance == 0.25
    assert not overlap["result_interpretation"].same_verdict
    assert "termination" not in overlap  # a lost verdict has no evidence to overlap


def test_no_citations_have_no_overlap(one_rating):
    said = [one_rating("ant-1", "termination", judge, "c") for judge in ("j1", "j2")]
    assert math.isnan(trace(ratings_frame(said), RUN).timeline.run.overlaps[0].jaccard)


def test_lost_verdicts_and_citations_beyond_the_run_are_shown(traced):
    frame = traced.verdicts.table
    assert "lost (api_error)" in frame["verdict"].to_list()
    assert frame.filter(pl.col("not_in_the_run") == "9").height == 1


def test_sentences_say_who_and_where(traced):
    assert "2 judges contradict each other on 1 of 3 axes" in traced.answer
    assert (
        "result_interpretation: j1 (0.80 sure) says incorrect and cites steps 2 and 3; j2 (0.80 sure) says "
        "correct and cites step 3." in traced.verdicts.answer
    )


def test_what_the_source_does_not_say_is_said_to_be_unknown(traced):
    assert traced.timeline.run.facts["end-task reward"] == "not stated"


def test_empty_frames_have_the_columns_of_filled_ones(traced, one_rating):
    alone = trace(ratings_frame([one_rating("ant-1", "termination", "j1", "i")]), RUN)
    assert alone.sentences[-1].startswith("No axis has verdicts of two judges")
    assert alone.overlaps.table.columns == traced.overlaps.table.columns


def test_frames_are_of_the_callers_kind(words):
    result = trace(ratings_frame(words).to_pandas(), RUN)
    for frame in (result.timeline.table, result.verdicts.table, result.overlaps.table):
        assert isinstance(frame, pd.DataFrame)


def test_a_run_without_messages_can_be_traced(one_rating):
    empty = Trajectory(id="ant-1", source="own", agent="ant")
    result = trace(ratings_frame([one_rating("ant-1", "termination", "j1", "i")]), empty)
    assert result.timeline.run.steps == ()
    assert result.timeline.table.columns == ["step", "role", "text", "calls", "error", "cited_by"]
    assert result.overlaps.table.is_empty()
    assert result.timeline.run.facts["steps"] == "none"


def test_a_run_that_was_not_judged_is_refused(words):
    with pytest.raises(InputError, match="no verdicts on this trajectory"):
        trace(ratings_frame(words), RUN.model_copy(update={"id": "other"}))


def test_a_run_is_picked_by_id_and_a_misspelt_one_is_named():
    assert pick([RUN], "ant-1") is RUN
    with pytest.raises(InputError, match="did you mean 'ant-1'"):
        pick([RUN], "ant-11")
    with pytest.raises(InputError, match="the id of 2 runs"):
        pick([RUN, RUN], "ant-1")


def test_equal_verdicts_without_common_evidence_are_named(one_rating):
    said = [one_rating("ant-1", "sequencing", f"j{n}", "i", cited_step_indices=[n]) for n in (1, 2)]
    last = trace(ratings_frame(said), RUN).sentences[-1]
    assert "never cite a common step" in last
    assert "sequencing" in last


def test_equal_verdicts_without_any_citation_are_not_called_agreement_without_a_common_step(one_rating):
    said = [one_rating("ant-1", "sequencing", f"j{n}", "c") for n in (1, 2)]
    assert "sequencing" not in trace(ratings_frame(said), RUN).sentences[-1]


def test_simulated_verdicts_are_marked(one_rating):
    said = one_rating("ant-1", "termination", "j1", "c", rater_kind="simulated")
    result = trace(ratings_frame([said]), RUN)
    assert result.timeline.run.made_up == ("j1",)
    assert result.banner in result._repr_html_()


def test_the_most_contested_run_has_the_most_opposed_axes(table):
    ratings = table(
        {
            "ant-1": {"sequencing": "ii", "termination": "ii"},
            "ant-2": {"sequencing": "ic", "termination": "ic"},
            "ant-3": {"sequencing": "ic", "termination": "iu"},
        }
    )
    assert most_contested(ratings) == "ant-2"


def test_ties_go_to_more_cited_steps_then_to_the_first_id(one_rating, table):
    tied = table({"ant-1": {"sequencing": "ic"}, "ant-2": {"sequencing": "ic"}})
    assert most_contested(tied) == "ant-1"
    cited = [
        one_rating("ant-3", "sequencing", "j1", "i", cited_step_indices=[1, 2]),
        one_rating("ant-3", "sequencing", "j2", "c", cited_step_indices=[1]),
    ]
    assert most_contested(pl.concat([tied, ratings_frame(cited)])) == "ant-3"


def test_of_several_runs_the_named_one_is_traced_else_the_most_contested(table):
    ratings = table({"ant-1": {"sequencing": "ii"}, "ant-2": {"sequencing": "ic"}})
    runs = [RUN, RUN.model_copy(update={"id": "ant-2"})]
    assert trace(ratings, runs).timeline.run.trajectory_id == "ant-2"
    assert trace(ratings, runs, "ant-1").timeline.run.trajectory_id == "ant-1"
    assert trace(ratings, runs[:1]).timeline.run.trajectory_id == "ant-1", "of those that are given"
    with pytest.raises(InputError, match="on one of these runs"):
        trace(ratings, [RUN.model_copy(update={"id": "ant-3"})])
    with pytest.raises(InputError, match="must hold verdicts on whole trajectories"):
        trace(ratings, runs, repeat=7)
    with pytest.raises(InputError, match="one rating for each judge and axis"):
        trace(pl.concat([ratings, ratings]), runs)


def test_direction_and_control_characters_become_visible():
    assert visible("pay \u202e001\x1b[2J\r\nnext") == "pay \\u202e001\\u001b[2J\nnext"


def test_a_published_run_is_headed_by_what_its_caller_says():
    columns = ("axis", "judge", "family", "verdict", "confidence", "cited_step_indices")
    verdicts = {name: ["1"] for name in columns} | {"verdict": ["incorrect"], "confidence": [0.9]}
    steps = {"step": [1], "what": ["sent twice"]}
    titles = [
        published_trace(verdicts, steps, title=title).plot().get_title(loc="left") for title in ("Paid twice", "")
    ]
    assert titles == ["Paid twice", "A run and its verdicts as published"]
