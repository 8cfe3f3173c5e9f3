"""Few runs: what the study takes, what it counts by design, what it refuses."""

import math

import polars as pl
import pytest

from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.datasets import published_votes
from axisjudge.figures.theme import is_empty
from axisjudge.stats.latent_panel import NoModel
from axisjudge.studies.few_runs.panel import rated_panel

JUDGES = ["Kimi-K2.5", "GPT-5.2", "Qwen3-8B"]


@pytest.fixture(scope="module")
def votes():
    return published_votes("hotpotqa", "final")


def test_real_votes_are_counted_as_they_stand(votes):
    panel = rated_panel(votes, judges=JUDGES)
    people = votes.filter(pl.col("rater_kind") == "human")
    wrong = people.filter(pl.col("verdict") == "-1").height
    assert (panel.items.labels == 1).sum() == wrong
    assert panel.n_runs == 250
    assert panel.n_tasks == 50
    said = votes.filter(pl.col("rater").is_in(JUDGES), pl.col("verdict").is_not_null())
    assert panel.items.given.sum() == said.height
    assert panel.items.incorrect.sum() == said.filter(pl.col("verdict") == "-1").height


def test_ratings_that_differ_on_whose_item_it_is_are_read_alike_in_any_order(votes):
    """Of each judge another agent, family and, for every second rating, task: no order of rows decides."""
    judged = votes.filter(pl.col("rater").is_in(JUDGES)).with_columns(
        agent=pl.when(pl.col("rater") != JUDGES[0]).then("rater"),
        family=pl.format("{} {}", "family", pl.int_range(pl.len()) % 2),
        cluster_id=pl.format("{}{}", "cluster_id", pl.int_range(pl.len()) % 2),
    )
    one, *others = (
        (
            panel.agents,
            panel.judges,
            panel.item_ids,
            {name: level.tolist() for name, level in panel.items.groups.items()},
        )
        for panel in (rated_panel(judged.sample(fraction=1, shuffle=True, seed=seed)) for seed in range(4))
    )
    assert all(other == one for other in others)


def test_whole_tasks_are_drawn_until_they_hold_so_many_runs(votes):
    some = rated_panel(votes, judges=JUDGES, runs=12, seed=1)
    assert (some.n_runs, some.n_tasks) == (15, 3)
    again = rated_panel(votes, judges=JUDGES, runs=12, seed=1)
    assert some.item_ids == again.item_ids
    assert some.item_ids != rated_panel(votes, judges=JUDGES, runs=12, seed=2).item_ids


def test_one_task_has_design_based_figures_and_no_model(votes):
    found = studies.few_runs(votes, judges=JUDGES, runs=5)
    assert found.rates.model.refusal is NoModel.ONE_TASK
    assert math.isnan(found.rates.overall.model.failing.estimate)
    assert 0 <= found.rates.overall.called.estimate <= 1
    assert "one task" in found.answer
    assert not any("nan" in sentence for sentence in found.sentences)


def test_a_share_of_labels_is_said_to_be_of_the_items_that_have_one(votes):
    people = votes.filter(pl.col("rater_kind") == "human")
    some = people.filter(pl.col("trajectory_id").is_in(people["trajectory_id"].unique().sort()[:100].implode()))
    found = studies.few_runs(pl.concat([votes.filter(pl.col("rater_kind") != "human"), some]), judges=JUDGES, runs=5)
    n = found.rates.overall.labelled.n_items
    assert n < 5
    assert f"of the {n} labelled item" in found.answer
    assert "labelled item" not in studies.few_runs(votes, judges=JUDGES, runs=5).answer


def test_with_every_verdict_lost_the_labels_stand_alone(votes):
    lost = votes.with_columns(
        verdict=pl.when(pl.col("rater_kind") == "human").then("verdict"),
        status=pl.when(pl.col("rater_kind") == "human").then("status").otherwise(pl.lit("api_error")),
    )
    found = studies.few_runs(lost, judges=JUDGES, runs=20, hidden=0.5)
    assert found.rates.model.refusal is NoModel.NO_VERDICTS
    assert found.rates.overall.labelled.estimate == pytest.approx(rated_panel(votes, runs=20).items.labels.mean())
    assert math.isnan(found.rates.overall.called.estimate)
    alone = studies.few_runs(lost.filter(pl.col("rater_kind") != "human"), judges=JUDGES, runs=20)
    for each in (found, alone):
        assert not any("nan" in sentence for sentence in (each.answer, *each.sentences))
        assert is_empty(each.judges.plot().get_figure())
        assert not is_empty(each.rates.plot().get_figure()) or each is alone


def test_numbers_without_a_word_for_failing_are_refused(votes):
    with pytest.raises(InputError, match="must have a word for failing"):
        studies.few_runs(votes.with_columns(scale=pl.lit("ordinal:1-5")))
    with pytest.raises(InputError, match="must be 0"):
        studies.few_runs(votes, runs=-1)


@pytest.mark.slow
def test_on_all_real_votes_the_model_says_what_the_labels_say():
    """250 labelled runs: the model's rate lies in the labels' interval, and its effective judges in theirs.

    On hidden labels it is right more often than the majority, and surer than it may be (Brier .197 against .183).
    """
    found = studies.few_runs(published_votes("tau2", "final"), hidden=0.5)
    every = found.rates.overall
    assert every.labelled.ci_low < every.model.failing.estimate < every.labelled.ci_high
    assert found.effective.by_design.ci_low < found.rates.model.effective.estimate < found.effective.by_design.ci_high
    assert found.hidden.trial.accuracy > found.hidden.trial.votes_accuracy
    assert (found.hidden.trial.brier > found.hidden.trial.votes_brier) == ("too sure" in found.hidden.answer)
