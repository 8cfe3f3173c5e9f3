"""A judge beside one that always says the same word."""

import polars as pl

from axisjudge.datasets import demo_truth, small_model_verdicts
from axisjudge.ratings import ratings_frame, read_ratings
from axisjudge.studies import evidence
from axisjudge.verdict import Rating


def rated(rater: str, kind: str, words: list[str], **more: object) -> list[Rating]:
    return [
        Rating(
            trajectory_id=f"r{n}",
            cluster_id=f"r{n}",
            question="termination",
            rater=rater,
            rater_kind=kind,
            family=rater,
            verdict=word,
        ).model_copy(update=more)
        for n, word in enumerate(words)
    ]


def test_a_judge_of_one_word_is_no_better_than_that_word_and_one_that_knows_is() -> None:
    truth = ["correct"] * 6 + ["incorrect"] * 4
    table = ratings_frame(
        [
            *rated("parrot", "llm", ["correct"] * 10, confidence=1.0),
            *rated("seer", "llm", [*truth[:9], "correct"], confidence=0.5, cited_step_indices=[1]),
        ]
    )
    found = evidence.beside_chance(table, ratings_frame(rated("Ann", "human", truth)))
    parrot, seer = found.rows.to_dicts()
    assert (parrot["right"], parrot["one_word_right"], parrot["says_it"], parrot["confidences"]) == (6, 6, 10, 1)
    assert (seer["right"], seer["cite_a_step"]) == (9, 10)
    assert "as many as the commonest word" in found.answer
    assert "3 more than the commonest word" in found.answer
    assert found.plot().get_xlim() == (0, 1)


def test_a_judge_of_whose_verdicts_none_came_said_no_word() -> None:
    mute = rated("mute", "llm", ["correct"] * 3, verdict=None, status="error")
    (row,) = evidence.beside_chance(
        ratings_frame(mute), ratings_frame(rated("Ann", "human", ["correct"] * 3))
    ).rows.to_dicts()
    assert (row["asked"], row["lost"], row["verdicts"], row["commonest_word"], row["says_it"]) == (3, 3, 0, None, 0)


def test_of_several_labellers_most_count_and_none_is_a_judge() -> None:
    """Without counts of tokens it is not told in which runs a judge is right; a tie is no label."""
    labels = [["correct"] * 4, ["incorrect"] * 3 + ["correct"], ["incorrect", "correct", "incorrect", "incorrect"]]
    truth = ratings_frame([each for n, words in enumerate(labels) for each in rated(f"p{n}", "human", words)][:-1])
    known = rated("benchmark", "reference", ["correct"] * 4)
    table = ratings_frame([*rated("judge", "llm", ["incorrect", "correct", "incorrect", "incorrect"]), *known])
    for one in (truth, truth[::-1]):
        (row,) = evidence.beside_chance(table, one).rows.to_dicts()
        assert (row["judge"], row["verdicts"], row["right"]) == ("judge", 4, 3)
        assert (row["right_in_shorter"], row["right_in_longer"]) == (None, None)
    assert row["confidences"] == 0
    tied = truth.filter(pl.col("rater") != "p2")
    assert evidence.beside_chance(table, tied).rows["verdicts"].to_list() == [1]


def test_the_shipped_verdicts_of_a_small_model_are_of_the_demos_runs_and_worth_nothing() -> None:
    small = small_model_verdicts()
    (row,) = evidence.beside_chance(small, read_ratings(demo_truth())).rows.to_dicts()
    assert row["asked"] == small.height == 100
    assert row["verdicts"] + row["lost"] == row["asked"]
    assert row["right"] < row["one_word_right"]
    assert small["rationale"].null_count() == small.height
    assert set(small["rater_kind"]) == {"llm"}
    assert small.filter(pl.col("rater").str.contains("/"))["rater"].to_list() == []  # no path of a machine


def test_people_alone_are_no_judges_that_cite_nothing() -> None:
    judge, people = (ratings_frame(rated("Ann", kind, ["correct"] * 3)) for kind in ("llm", "human"))
    assert "cites" in evidence.shared_steps(judge, ()).answer
    assert evidence.shared_steps(people, ()).answer.startswith("No judge gave a verdict")
