"""Replay gives back what a file holds, rater by rater, and makes nothing up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from axisjudge.checks import InputError
from axisjudge.judges import Judge, make_judges
from axisjudge.ratings import RatingsWriter
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis, Rating

AXIS: Axis = "argument_validity"


def recorded(trajectory: Trajectory, **changes: Any) -> Rating:
    fields = {
        "trajectory_id": trajectory.id,
        "cluster_id": trajectory.cluster_id,
        "question": AXIS,
        "rater": "anthropic:claude-sonnet-4-6",
        "rater_kind": "llm",
        "family": "anthropic",
        "model": "claude-sonnet-4-6",
        "returned_model": "claude-sonnet-4-6",
        "mechanism": "forced_tool",
        "prompt_sha256": "p1",
        "call_id": "msg_7",
        "verdict": "incorrect",
        "confidence": 0.8,
        "confidence_source": "verbalized",
        "cited_step_indices": [2, 99],
        "invalid_citations": [99],
        "rationale": "Step 2 invents an order.",
        "flags": ["citation_out_of_range", "shortened:step 3:40"],
        "cost_usd": 0.5,
        **changes,
    }
    return Rating.model_validate(fields)


def replay(path: Path, *ratings: Rating) -> list[Judge]:
    with RatingsWriter(path) as writer:
        writer.append(ratings)
    return make_judges([JudgeSpec.parse(f"replay:{path}")])


def test_one_judge_for_each_recorded_rater(tmp_path: Path, trajectory: Trajectory) -> None:
    rules = {"rater": "rules", "rater_kind": "rules", "family": "rules", "model": None, "mechanism": None}
    judges = replay(
        tmp_path / "r.jsonl", recorded(trajectory), recorded(trajectory, **rules, rater_version="3", prompt_sha256=None)
    )
    named = [(judge.rater, judge.kind, judge.family, judge.model, judge.mechanism, judge.version) for judge in judges]
    assert named == [
        ("anthropic:claude-sonnet-4-6", "llm", "anthropic", "claude-sonnet-4-6", "forced_tool", None),
        ("rules", "rules", "rules", None, None, "3"),
    ]
    assert Judge.reads_rubrics is True  # what belongs to one record does not spill over


def test_the_answer_is_the_recorded_one_and_costs_nothing_again(
    tmp_path: Path, trajectory: Trajectory, rubrics: dict[Axis, Rubric]
) -> None:
    probabilities = {"correct": 0.2, "incorrect": 0.8, "uncertain": 0.0, "not_applicable": 0.0}
    (judge,) = replay(tmp_path / "r.jsonl", recorded(trajectory, probabilities=probabilities))
    asked = {AXIS: rubrics[AXIS]}
    reply = asyncio.run(judge.grade(trajectory, asked))
    answer = reply.answers[AXIS]
    assert (answer.status, answer.verdict, answer.confidence) == ("ok", "incorrect", 0.8)
    assert (answer.confidence_source, answer.probabilities) == ("verbalized", probabilities)
    assert (answer.cited_step_indices, answer.rationale) == ((2, 99), "Step 2 invents an order.")
    assert answer.flags == ("shortened:step 3:40",)
    assert (reply.flags, reply.cost_usd, reply.input_tokens) == (("replayed",), 0.0, None)
    assert (reply.returned_model, reply.call_id) == ("claude-sonnet-4-6", "msg_7")
    assert judge.prompt_sha256(trajectory, asked) == "p1"


def test_a_lost_rating_stays_lost_takes_no_verdict_away_and_the_last_line_counts(
    tmp_path: Path, trajectory: Trajectory, rubrics: dict[Axis, Rubric]
) -> None:
    none = {"status": "refused", "verdict": None, "confidence": None, "confidence_source": None}
    first, lost, later = (
        recorded(trajectory),
        recorded(trajectory, **none, rationale="refused"),
        recorded(trajectory, verdict="correct", confidence=0.6),
    )
    for lines, known in (
        ([lost], ("refused", None)),
        ([first, lost], ("ok", "incorrect")),
        ([first, lost, later], ("ok", "correct")),
    ):
        (judge,) = replay(tmp_path / f"{len(lines)}.jsonl", *lines)
        answer = asyncio.run(judge.grade(trajectory, {AXIS: rubrics[AXIS]})).answers[AXIS]
        assert (answer.status, answer.verdict) == known


def test_repeats_are_kept_apart(tmp_path: Path, trajectory: Trajectory, rubrics: dict[Axis, Rubric]) -> None:
    (judge,) = replay(
        tmp_path / "r.jsonl", recorded(trajectory), recorded(trajectory, repeat=1, verdict="correct", confidence=0.6)
    )
    replies = [asyncio.run(judge.grade(trajectory, {AXIS: rubrics[AXIS]}, repeat=repeat)) for repeat in (0, 1)]
    assert [reply.answers[AXIS].verdict for reply in replies] == ["incorrect", "correct"]


def test_a_rating_by_another_rubric_is_not_passed_off_as_this_ones(
    tmp_path: Path, trajectory: Trajectory, rubrics: dict[Axis, Rubric]
) -> None:
    mine, other = rubrics[AXIS], rubrics[AXIS].model_copy(update={"text": "another text", "version": "v2"})
    (judge,) = replay(tmp_path / "r.jsonl", recorded(trajectory, rubric_sha256=mine.sha256, rubric_version="v1"))
    assert judge.reads_rubrics
    assert asyncio.run(judge.grade(trajectory, {AXIS: mine})).answers[AXIS].verdict == "incorrect"
    with pytest.raises(InputError, match="by rubric v2"):
        judge.prompt_sha256(trajectory, {AXIS: other})


def test_what_the_file_lacks_is_bad_input(tmp_path: Path, trajectory: Trajectory, rubrics: dict[Axis, Rubric]) -> None:
    (judge,) = replay(tmp_path / "r.jsonl", recorded(trajectory))
    with pytest.raises(InputError, match="holds no rating by anthropic:claude-sonnet-4-6 of termination"):
        judge.prompt_sha256(trajectory, {"termination": rubrics["termination"]})
    with pytest.raises(InputError, match="repeat 4"):
        asyncio.run(judge.grade(trajectory, {AXIS: rubrics[AXIS]}, repeat=4))
    with pytest.raises(InputError, match="no such ratings file"):
        make_judges([JudgeSpec.parse(f"replay:{tmp_path / 'none.jsonl'}")])
    with pytest.raises(InputError, match="nothing to replay"):
        replay(tmp_path / "other.jsonl", recorded(trajectory, question="politeness"))
