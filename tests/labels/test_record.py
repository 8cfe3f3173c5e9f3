"""A person's label as a rating."""

import pytest

from axisjudge.checks import InputError
from axisjudge.labels.decisions import SHOWN_SECTIONS, label_base, label_word, read_labels, shown_sections
from axisjudge.ratings import RatingsWriter
from axisjudge.rubric import load_rubric
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES, OPEN, Rating, identity

HELLO = Step(index=0, role="user", content="hello")


def run(*steps, **fields):
    return Trajectory(id="run-1", source="test", task_id="t", domain="d", agent="a", steps=steps, **fields)


RUN = run(HELLO)


def label(verdict="correct", *, trajectory=RUN, rubric=None, note="", cited=(), rater="rater one"):
    base = label_base(trajectory, rubric or load_rubric("sequencing"), rater)
    return Rating(**base, **label_word(verdict, None, list(cited), note, 3.0))


def test_a_label_is_a_rating_by_a_person():
    given = label(cited=[4, 0, 4])
    assert (given.rater_kind, given.family, given.status, given.cluster_id) == ("human", "human", "ok", "d/t")
    assert given.cited_step_indices == [0, 4]
    assert given.rubric_sha256 == load_rubric("sequencing").sha256
    assert given.confidence_source is None
    sure = Rating(**label_base(RUN, load_rubric("sequencing"), "x"), **label_word("correct", 0.8, [], "", None))
    assert sure.confidence_source == "human"


def test_a_person_is_shown_question_scope_and_verdicts_of_every_axis():
    for axis in AXES:
        assert tuple(shown_sections(load_rubric(axis))) == SHOWN_SECTIONS
        assert "Verdict: `" not in "".join(shown_sections(load_rubric(axis)).values())


def test_another_rubric_or_trajectory_makes_another_label_and_reward_does_not():
    shown = load_rubric("sequencing")
    text = shown.text.replace("## Verdicts\n", "## Verdicts\n\nRead twice.\n")
    longer = run(HELLO, Step(index=1, role="user", content="more"))
    others = [label(rubric=shown.model_copy(update={"text": text})), label(trajectory=longer), label(rater="other")]
    assert len({identity(each) for each in (label(), *others)}) == 4
    assert label(trajectory=run(HELLO, reward=1.0, meta={"trial": 3})) == label()


def test_unfinished_labels_are_kept_in_the_file_and_left_out_of_tables(tmp_path):
    path = tmp_path / "one.jsonl"
    unfinished = label(None, note="half a thou", rubric=load_rubric("termination"))
    assert (unfinished.status, unfinished.flags) == ("refused", [OPEN])
    with RatingsWriter(path) as writer:
        writer.append([label("incorrect"), unfinished])
    with pytest.warns(UserWarning, match="1 labels have no verdict yet"):
        labels = read_labels(path)
    assert labels["verdict"].to_list() == ["incorrect"]
    assert "half a thou" in path.read_text()


def test_taking_a_verdict_back_leaves_no_label(tmp_path):
    path = tmp_path / "one.jsonl"
    with RatingsWriter(path) as writer:
        writer.append([label("incorrect"), label(None)])
    with pytest.warns(UserWarning, match="no verdict yet"):
        assert read_labels(path).is_empty()


def test_a_label_needs_a_name():
    with pytest.raises(InputError, match="rater: a label needs the name"):
        label(rater=" ")
