"""Decisions where judges are at odds: labels of their own kind, from which no rate is computed."""

import pytest

from axisjudge.checks import InputError
from axisjudge.labels.decisions import ANSWERS, decided, decision, decision_base, decisions_of, label_base, read_labels
from axisjudge.labels.sampling import drawn_of
from axisjudge.ratings import RatingsWriter, ratings_frame, read_ratings, write_ratings
from axisjudge.rubric import load_rubric
from axisjudge.studies.confidence import calibration
from axisjudge.studies.people import people
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating, identity

RUBRIC = load_rubric("sequencing")
JUDGE = {"rater_kind": "llm", "family": "a"}


def run(number):
    steps = (Step(index=0, role="user", content=f"Hello {number}"),)
    return Trajectory(id=f"run-{number}", source="test", task_id=str(number), steps=steps)


def word(answer="new_right", verdict="incorrect", way="by_flip"):
    return {"answer": answer, "verdict": verdict, "way": way, "of": "alpha v3 to v4", "stratum": "correct to incorrect"}


def test_a_decision_is_a_label_apart_from_the_blind_one():
    label = decision(decision_base(run(1), RUBRIC, ["alpha: correct"]), word(), "Ann", "2026-01-01T00:00:00Z")
    blind = Rating(**label_base(run(1), RUBRIC, "Ann"), verdict="correct")
    assert label.rater != blind.rater
    assert identity(label) != identity(blind)
    assert drawn_of(label.flags)["drawn"] == "by_flip"
    assert decided(label.flags) == "new_right"
    other = decision_base(run(1), RUBRIC, ["alpha: incorrect"])
    assert other["prompt_sha256"] != label.prompt_sha256, "what the judges said is part of what the person was shown"


def test_who_cannot_tell_gives_no_label_and_is_counted(tmp_path):
    base = decision_base(run(1), RUBRIC, [])
    answers = [("new_right", "incorrect"), ("both_wrong", None), ("cannot_tell", None)]
    labels = [
        decision(decision_base(run(n), RUBRIC, []), word(answer, verdict), "Ann", "")
        for n, (answer, verdict) in enumerate(answers)
    ]
    (counted,) = decisions_of(ratings_frame(labels))
    assert (counted.decided, counted.answers["new_right"], counted.answers["cannot_tell"]) == (3, 1, 1)
    assert "3 flips" in counted.sentence
    write_ratings(ratings_frame(labels), tmp_path / "a.jsonl")
    with pytest.warns(UserWarning, match="2 labels have no verdict"):
        assert read_labels(tmp_path / "a.jsonl").height == 1
    assert decision(base, word("both_wrong", "uncertain"), "Ann", "").verdict == "uncertain"


@pytest.mark.parametrize(
    "wrong",
    [
        word("maybe"),
        word(verdict="fine"),
        word(verdict=None),
        word("cannot_tell", "correct"),
        word(way="random"),
        word(way="by_disagreement"),
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(InputError):
        decision(decision_base(run(1), RUBRIC, []), wrong, "Ann", "")


def test_nobody_decides_nothing():
    with pytest.raises(InputError, match="name"):
        decision(decision_base(run(1), RUBRIC, []), word(), " ", "")


def test_every_way_of_looking_has_a_both_wrong_and_a_cannot_tell():
    assert all(set(answers) >= {"both_wrong", "cannot_tell"} for answers in ANSWERS.values())


def test_no_rate_is_computed_from_decisions():
    runs = [run(n) for n in range(40)]
    judged = [
        Rating(
            **{**label_base(each, RUBRIC, "alpha"), "rater_kind": "llm", "family": "a"}, verdict=said, confidence=0.8
        )
        for n, each in enumerate(runs)
        for said in [("correct", "incorrect")[n % 2]]
    ]
    decided_on = [decision(decision_base(each, RUBRIC, []), word(), "Ann", "") for each in runs[:30]]
    result = people(ratings_frame(judged), ratings_frame(decided_on)).to_dict()
    (question,) = result["questions"]
    assert question["sampling"] == "by_flip"
    assert len(question["claims"]) == 6
    assert {str(claim["answer"]) for claim in question["claims"]} == {"not checked"}
    assert any("no rate follows" in claim["because"] for claim in question["claims"])


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_no_confidence_is_checked_against_decisions(kind):
    judged = [
        Rating(
            **{**label_base(run(n), RUBRIC, "alpha"), "rater_kind": "llm", "family": "a"},
            verdict="correct",
            confidence=0.8,
        )
        for n in range(4)
    ]
    blind = [Rating(**label_base(run(n), RUBRIC, "Bo"), verdict="correct") for n in (0, 1)]
    looked = [decision(decision_base(run(n), RUBRIC, []), word(), "Ann", "") for n in (2, 3)]
    table = ratings_frame([*blind, *looked])
    labels = {"polars": table, "pandas": table.to_pandas(), "arrow": table.to_arrow()}[kind]
    (found,) = calibration(ratings_frame(judged), labels).judges
    assert (found.n_unlabelled, found.accuracy) == (2, 1.0)


def test_what_was_taken_back_is_no_decision_and_stays_in_the_trail(tmp_path):
    base = decision_base(run(1), RUBRIC, [])
    lines = [decision(base, {**each, "note": "why"}, "Ann", "") for each in (word(), word(None, None))]
    assert identity(lines[0]) == identity(lines[1])
    with RatingsWriter(tmp_path / "a.jsonl") as writer:
        writer.append(lines)
    assert decisions_of(read_ratings(tmp_path / "a.jsonl")) == []
    assert (tmp_path / "a.jsonl").read_text().count("\n") == 2
    assert lines[0].rationale == "why"
