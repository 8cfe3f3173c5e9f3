"""Judges of steps against people: the authors' figures on the real sets, and hand-made cases for every rule."""

import polars as pl
import pytest

from axisjudge.checks import InputError
from axisjudge.labels import read_agentprocessbench
from axisjudge.ratings import ratings_frame
from axisjudge.studies.agreement import agreement
from axisjudge.studies.agreement.against_labels import step_scores
from axisjudge.verdict import Rating


def table(people, judge):
    """Ratings of two raters; each argument maps a run to its steps' words, None a lost one."""
    return ratings_frame(
        Rating(
            trajectory_id=run,
            step_index=2 * step + 1,
            cluster_id=run[0],
            question="step",
            scale="step",
            rater=rater,
            rater_kind="human" if rater == "people" else "llm",
            family=rater,
            verdict=word,
            status="ok" if word else "parse_error",
        )
        for rater, runs in (("people", people), ("judge", judge))
        for run, words in runs.items()
        for step, word in enumerate(words)
    )


def test_step_accuracy_pools_steps_of_all_runs_and_not_runs():
    people = {"a1": ["+1"] * 8, "b1": ["-1", "+1"]}
    found = step_scores(table(people, {"a1": ["+1"] * 8, "b1": ["+1", "-1"]})).judges[0]
    assert found.step_accuracy.estimate == 0.8  # the mean over runs would be .5


def test_a_lost_label_is_wrong_but_no_error():
    people = {"a1": ["+1", "+1"], "b1": ["+1", "-1"]}
    found = step_scores(table(people, {"a1": [None, "+1"], "b1": [None, "-1"]})).judges[0]
    assert (found.step_accuracy.estimate, found.best_step_accuracy, found.n_lost) == (0.5, 1.0, 2)
    assert found.first_error_accuracy.estimate == 1.0
    assert found.kappa.n_items == 2


def test_intervals_are_at_the_level_that_is_asked_for():
    words = {f"{letter}1": ["+1", "-1", "+1"] for letter in "abcdefghijkl"}
    found = agreement(table(words, words | {"a1": ["-1", "+1", "+1"]}), steps=True, ci_level=0.8).steps.judges[0]
    assert {found.kappa.ci_level, found.step_accuracy.ci_level, found.first_error_accuracy.ci_level} == {0.8}


def test_a_step_that_the_judge_never_rated_counts_as_lost():
    people = {"a1": ["+1", "+1"], "b1": ["-1", "+1"]}
    found = step_scores(table(people, {"a1": ["+1", "+1"], "b1": ["-1"]})).judges[0]
    assert (found.step_accuracy.estimate, found.n_lost) == (0.75, 1)


@pytest.mark.parametrize(
    ("people", "judge", "same"),
    [
        (["+1", "-1", "-1"], ["0", "-1", "+1"], 1.0),  # the same first error, whatever else differs
        (["+1", "-1", "+1"], ["-1", "-1", "+1"], 0.0),
        (["+1", "0", "+1"], ["0", "+1", "+1"], 1.0),  # neither calls an error: 0 is none
        (["+1", "+1", "+1"], ["+1", "-1", "+1"], 0.0),
        (["+1", "-1", "+1"], ["+1", "+1", "+1"], 0.0),
    ],
)
def test_first_error(people, judge, same):
    run = {"a1": people, "b1": ["+1"]}
    found = step_scores(table(run, {"a1": judge, "b1": ["+1"]})).judges[0].first_error_accuracy
    assert found.estimate == (same + 1) / 2


def test_steps_are_ordered_by_index_and_not_as_they_come():
    ratings = table({"a1": ["+1", "-1", "-1"], "b1": ["0"]}, {"a1": ["+1", "-1", "-1"], "b1": ["0"]})
    shuffled = ratings.sample(fraction=1, shuffle=True, seed=3)
    assert step_scores(shuffled).judges[0].first_error_accuracy.estimate == 1.0


def test_a_judge_without_a_kappa_stands_beside_the_range_and_nobody_is_an_answer_too():
    people = {"a1": ["+1", "-1", "+1"], "b1": ["-1", "+1"]}
    both = step_scores(table(people, {run: [None] * len(words) for run, words in people.items()}))
    good = table(people, people).filter(pl.col("rater") == "judge").with_columns(rater=pl.lit("z good"))
    planted = good.with_columns(rater=pl.lit("truth"), rater_kind=pl.lit("planted"))
    lost = table(people, {run: [None] * len(words) for run, words in people.items()})
    found = step_scores(pl.concat([lost, good, planted]))
    assert [each.judge for each in found.judges] == ["judge", "z good"], "who labels is no judge"
    assert "z good has a kappa" in found.answer
    assert found.answer.endswith("Without a kappa: judge.")
    assert both.judges[0].kappa.reason in both.answer
    alone = step_scores(lost.filter(pl.col("rater") == "people"))
    assert len(alone.table) == 0
    assert "no judge rated them" in alone.answer


def test_wrong_input_is_named():
    ratings = table({"a1": ["+1"]}, {"a1": ["+1"]})
    with pytest.raises(InputError, match="people: must be one of judge, people"):
        step_scores(ratings, people="persons")
    with pytest.raises(InputError, match="must hold step ratings of question 'final'"):
        step_scores(ratings, question="final")
    with pytest.raises(InputError, match="one rating for each step and rater"):
        step_scores(pl.concat([ratings, ratings]))


@pytest.mark.parametrize("subset", ["tau2", "hotpotqa"])
def test_the_authors_figures(shared_data, subset):
    """Step accuracy and first-error accuracy, computed once by the authors' rules (not taken from the paper)."""
    expected = {
        "tau2": {
            "Gemini-3-Flash-Preview-Thinking": (0.8347, 0.6360),
            "GPT-5.2": (0.7026, 0.5640),
            "Llama-3.2-3B-Instruct": (0.3759, 0.4040),
        },
        "hotpotqa": {"Gemini-3-Flash-Preview": (0.7670, 0.7000)},
    }
    scores = step_scores(read_agentprocessbench(shared_data / "agentprocessbench", subset))
    found = {score.judge: score for score in scores.judges}
    assert len(found) == 20
    for judge, (steps, first_error) in expected[subset].items():
        assert found[judge].step_accuracy.estimate == pytest.approx(steps, abs=5e-5)
        assert found[judge].first_error_accuracy.estimate == pytest.approx(first_error, abs=5e-5)
    assert {score.kappa.n_clusters for score in found.values()} == {50}
    assert {score.kappa.cluster_unit for score in found.values()} == {"query"}


def test_a_table_of_another_package_comes_back_as_that_package_s():
    pandas = pytest.importorskip("pandas")
    ratings = table({"a1": ["+1", "-1"], "b1": ["0"]}, {"a1": ["+1", "-1"], "b1": ["0"]})
    frame = step_scores(ratings.to_pandas()).table
    assert isinstance(frame, pandas.DataFrame)
    assert frame["step_accuracy"].to_list() == [1.0]
