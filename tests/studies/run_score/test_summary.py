"""What tables of run scores say: summaries, trend, competition, calibration."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from axisjudge import studies
from axisjudge.checks import InputError
from axisjudge.datasets import demo_run_labels, demo_runs, demo_transcripts
from axisjudge.figures.theme import is_empty
from axisjudge.ratings import read_ratings
from axisjudge.readers import read_trajectories
from axisjudge.scores.run_score.rules import ScorecardRules
from axisjudge.scores.run_score.runs import read_runs, runs_frame
from axisjudge.scores.run_score.score import frozen_baseline, score_runs
from axisjudge.studies.run_score import (
    component_means,
    neutral_components,
    score_spread,
    tier_changes,
    trend,
)
from axisjudge.studies.run_score.labels import (
    ScoreAgainstLabels,
    ScoreForecast,
    calibrate_score,
    compete,
    rated_labels,
    reward_labels,
)
from axisjudge.studies.run_score.sentences import Ranks

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def runs():
    return read_runs(demo_runs())


@pytest.fixture(scope="module")
def scored(runs):
    return score_runs(runs)


def table(rows):
    """Scores as they might be: run_id, agent, spec, score, completion, error_rate, wall, minute."""
    made = pl.DataFrame(
        [
            {
                "run_id": run_id,
                "agent_id": agent,
                "spec_id": "s",
                "score": score,
                "tier": "Gold",
                "score_low": score,
                "score_high": score,
                "completion": completion,
                "error_rate": errors,
                "latency": 50,
                "resource_efficiency": 50,
                "ended_at": None if minute is None else NOON + timedelta(minutes=minute),
            }
            for run_id, agent, score, completion, errors, _, minute in rows
        ],
        schema_overrides={"ended_at": pl.Datetime("us", "UTC"), "score": pl.Int64},
    )
    return made, pl.DataFrame({"run_id": [row[0] for row in rows], "wall_seconds": [row[5] for row in rows]})


class TestSummary:
    def test_counts_add_up(self, scored):
        found, reasons = score_spread(scored), neutral_components(scored).reasons
        assert found.agents["runs"].sum() == scored.height
        tiers = sum(
            row[tier] for row in found.agents.to_dicts() for tier in ("Elite", "Gold", "Silver", "Bronze", "Unranked")
        )
        assert tiers == scored.height
        neutral = sum(scored[f"{name}_reason"].is_not_null().sum() for name in ("latency", "resource_efficiency"))
        assert reasons["runs"].sum() == neutral
        assert found.means["birch-2"].cluster_unit == "spec"
        assert found.n_scored == 378

    def test_a_neutral_component_does_not_enter_the_mean_of_components(self):
        made = runs_frame([])
        made = pl.concat([made, pl.DataFrame({"run_id": ["a", "b"], "agent_id": ["x", "x"]})], how="diagonal")
        made = made.with_columns(pl.Series("outcome", ["COMPLETED", None]))
        means = component_means(score_runs(made))
        found = means.table
        assert found.row(0) == ("x", "completion", 100.0, 1)
        assert found.filter(pl.col("component") == "latency").row(0) == ("x", "latency", None, 0)
        assert "100, completion of x (1 run)" in means.answer

    def test_pandas_comes_back_as_pandas(self, scored, runs):
        frame = pd.DataFrame({"run_id": ["a", "b"], "outcome": ["COMPLETED", "FAILED"]})
        found = studies.run_score(frame)
        assert isinstance(found.scores, pd.DataFrame)
        assert found.scores["score"].tolist() == [70, 30]
        assert studies.run_score(runs).scores.equals(scored)

    def test_however_few_runs_stood_before_a_run_it_is_one_reason(self, runs):
        rules = ScorecardRules(min_samples=3)
        by_rules = neutral_components(score_runs(runs, rules=rules), rules=rules).reasons.filter(
            pl.col("component") == "latency"
        )
        few = by_rules.filter(pl.col("reason").str.contains("needs 3"))
        assert few["runs"].to_list() == [3]  # of the demo's one workspace
        by_others = neutral_components(score_runs(runs, rules=rules)).reasons
        assert by_others.filter(pl.col("reason").str.contains("needs 3")).height > 1  # told apart without its rules


class TestTrend:
    def test_the_frozen_baseline_shows_what_was_planted(self, runs, scored):
        found = trend(scored, score_runs(runs, baseline=frozen_baseline(runs)))
        last = found.frame.filter(pl.col("period") == found.frame["period"].max())
        assert (last["frozen_latency"] > last["rolling_latency"]).all()
        assert found.frame["runs"].sum() == found.n_runs == 378
        assert "in another tier" in found.answer

    def test_tiers_of_the_next_run(self, scored):
        changes = tier_changes(scored)
        assert (
            int(changes.table.drop("from").sum().sum_horizontal()[0]) == 378 - 64
        )  # 4 agents x 16 specs have a last run
        assert "32%" in changes.answer
        assert "No agent has two scored runs" in tier_changes(scored.head(8)).answer

    def test_a_run_whose_end_is_not_known_comes_after_none(self):
        """Two of a spec, the one without an end Gold: no next run is known, where it would have come first."""
        rows = [("a", "x", 90, 1, 1, 1, None), ("b", "x", 50, 1, 1, 1, 3)]
        changes = tier_changes(table(rows)[0])
        assert "No agent has two scored runs" in changes.answer
        assert "1 scored run without a usable end left out" in changes.answer

    def test_runs_without_an_end_time_have_no_trend(self):
        found = studies.run_score({"run_id": ["a", "b"], "outcome": ["COMPLETED", "FAILED"]})
        assert found.trend.n_runs == 0
        assert "no trend" in found.trend.answer
        assert is_empty(found.trend.plot().get_figure(root=True))


class TestCompetition:
    def test_each_tie_break_in_its_turn(self):
        rows = [
            ("z", "a", 80, 100, 50, 9.0, 5),
            ("late", "a", 80, 100, 60, 9.0, 5),
            ("early", "a", 80, 100, 60, 9.0, 4),
            ("quick", "a", 80, 100, 60, 8.0, 9),
            ("nowall", "a", 80, 100, 60, None, 1),
            ("b-id", "a", 80, 30, 100, 1.0, None),
            ("a-id", "a", 80, 30, 100, 1.0, None),
            ("best", "a", 81, 0, 0, 99.0, 99),
            ("none", "a", None, 0, 0, 1.0, 1),
        ]
        found = compete(*table(rows), spec="s", rng=np.random.default_rng(0))
        assert found.ranked["run_id"].to_list() == [
            "best", "quick", "early", "late", "nowall", "z", "a-id", "b-id"
        ]  # fmt: skip
        assert found.tied == 1

    def test_a_shared_highest_score_is_said(self):
        rows = [("one", "a", 80, 100, 50, 1.0, 1), ("two", "b", 80, 100, 50, 2.0, 1)]
        found = compete(*table(rows), spec="s", rng=np.random.default_rng(0))
        assert "2 runs share that score" in found.answer
        assert "does not show that its agent is the best" in found.answer
        assert "5 or more" in found.answer

    def test_the_demo(self, scored, runs):
        found = compete(scored, runs, rng=np.random.default_rng(0))
        assert sum(each.estimate for each in found.wins.values()) == pytest.approx(1)
        assert {each.n_clusters for each in found.wins.values()} == {16}
        assert found.answer.startswith("Were each agent to run once more")
        assert found.to_dict()["tie_breaks"][-1] == "run_id"

    def test_nothing_to_compare(self, scored, runs):
        with pytest.raises(InputError, match="no run of this spec"):
            compete(scored, runs, spec="none", rng=np.random.default_rng(0))
        with pytest.raises(InputError, match="nothing to compare"):
            compete(scored.with_columns(pl.lit(None, pl.String).alias("spec_id")), runs, rng=np.random.default_rng(0))


class TestCalibration:
    def test_against_planted_labels(self, scored):
        found = calibrate_score(scored, rated_labels(read_ratings(demo_run_labels())), name="planted labels")
        assert found.auc.ci_low > 0.6
        assert (found.auc.n_items, found.auc.n_clusters) == (378, 16)
        assert found.ranks is Ranks.ALIKE
        assert found.loss["s_curve"] < found.loss["linear"] < found.loss["base_rate"]
        assert "latency and resource efficiency would rank runs against" in ScoreAgainstLabels(found).answer
        assert sum(share.n_items for _, share in found.bands()) == 378

    def test_runs_as_read_are_compared_with_their_reward_if_they_have_one(self):
        read = read_trajectories(*demo_transcripts()[:2]).trajectories
        assert studies.run_score(read).reward.found is None
        rewarded = [run.model_copy(update={"reward": float(k)}) for k, run in enumerate(read)]
        assert studies.run_score(rewarded).reward.found.dropped == "completion"

    def test_labels_turned_upside_down_turn_the_answer(self, scored):
        labels = rated_labels(read_ratings(demo_run_labels())).with_columns(good=1 - pl.col("good"))
        assert calibrate_score(scored, labels, name="their opposite").ranks is Ranks.AGAINST

    def test_completion_made_of_the_reward_is_dropped(self):
        """Completion is the reward; wall times are noise. With completion the score would be perfect."""
        rng = np.random.default_rng(1)
        reward = rng.integers(0, 2, 200).astype(float)
        made = pl.DataFrame(
            {
                "run_id": [f"run-{k}" for k in range(200)],
                "workspace_id": ["w"] * 200,
                "spec_id": [f"spec-{k % 20}" for k in range(200)],
                "outcome": np.where(reward == 1, "COMPLETED", "FAILED"),
                "wall_seconds": rng.uniform(50, 150, 200),
                "ended_at": [NOON + timedelta(minutes=k) for k in range(200)],
                "reward": reward,
            }
        )
        scores, labels = score_runs(made), reward_labels(made)
        circular = calibrate_score(scores, labels, name="reward")
        honest = calibrate_score(scores, labels, name="reward", dropped="completion")
        assert circular.auc.estimate > 0.99
        assert honest.auc.ci_low < 0.5 < honest.auc.ci_high
        assert honest.ranks is Ranks.UNTOLD
        assert list(honest.components) == ["latency"]
        assert "completion left out" in ScoreAgainstLabels(honest).answer
        assert circular.fit.refusals
        assert "No S-curve" in ScoreForecast(circular).answer
        assert math.isnan(circular.forecast(np.array([50.0]))[0])

    def test_labels_that_do_not_fit(self, scored):
        with pytest.raises(InputError, match="no scored run has one"):
            calibrate_score(scored, pl.DataFrame({"run_id": ["x"], "good": [1.0]}), name="x")
        with pytest.raises(InputError, match="scale unit"):
            rated_labels(read_ratings(demo_run_labels()).with_columns(pl.lit("verdict").alias("scale")))


def test_one_question_says_what_is_good_by_the_word_of_people_on_whole_runs():
    ratings = {
        "trajectory_id": ["r", "r", "r", "r"],
        "step_index": [None, None, None, 1],
        "question": ["helpful", "polite", "helpful", "helpful"],
        "rater": ["ann", "ann", "gpt-5", "ann"],
        "rater_kind": ["human", "human", "llm", "human"],
        "scale": ["unit"] * 4,
        "value": [0.1, 1.0, 1.0, 1.0],
    }
    with pytest.raises(InputError, match="one question says what is good; found 'helpful, polite'"):
        rated_labels(ratings)
    assert rated_labels(ratings, question="helpful")["good"].to_list() == [0.0]
    assert rated_labels(ratings, question="polite")["good"].to_list() == [1.0]
    assert rated_labels(ratings, raters=["gpt-5"])["good"].to_list() == [1.0]
    with pytest.raises(InputError, match="must be of people"):
        rated_labels({name: [column[2]] for name, column in ratings.items()})


def test_the_shares_of_components_make_up_the_variance_of_scores(scored):
    shares = score_spread(scored).shares
    assert sum(shares.values()) == pytest.approx(1)
    mostly = ScorecardRules(weights=dict(zip(shares, (0.997, 0.001, 0.001, 0.001), strict=True)))
    assert score_spread(scored, rules=mostly).shares["completion"] == pytest.approx(1, abs=0.02)
    assert score_spread(scored.head(1)).shares == {}


def test_agents_are_ranked_by_the_means_of_their_runs(runs, scored):
    ranking = compete(scored, runs, rng=np.random.default_rng(0)).agents
    means = dict(scored.drop_nulls("score").group_by("agent_id").agg(pl.col("score").mean()).iter_rows())
    assert dict(zip(ranking.names, ranking.sets.means, strict=True)) == pytest.approx(means)


@pytest.mark.filterwarnings("error")
def test_runs_whose_agent_is_not_stated_are_of_an_unknown_one_in_every_part(runs, scored):
    agent = scored["agent_id"].unique().sort()[0]
    some = scored.with_columns(pl.col("agent_id").replace(agent, None))
    names = {*scored["agent_id"].unique()} - {agent} | {"unknown"}
    found = trend(some, some)
    assert set(compete(some, runs, rng=np.random.default_rng(0)).wins) == set(found.table["agent"]) == names
    assert len(found.plot().get_figure().axes) == len(names)


def test_runs_that_are_given_twice_or_bear_numbers_as_ids_count_once_in_a_competition(runs, scored):
    """A run twice would be a repeat that nobody made; an id that pandas reads as a number is an id."""
    once = compete(scored, runs, spec="spec-01", rng=np.random.default_rng(0))
    with pytest.warns(UserWarning, match="counted once"):
        twice = compete(scored, pl.concat([runs, runs]), spec="spec-01", rng=np.random.default_rng(0))
    assert twice.ranked.equals(once.ranked)
    assert twice.wins == once.wins
    numbered = runs.with_columns(run_id=pl.int_range(runs.height)).to_pandas()
    assert studies.run_score(numbered, spec="spec-01").contest.ranked.height == once.ranked.height


def test_a_study_of_several_questions_takes_the_one_that_is_named(runs):
    ids = runs["run_id"].to_list()
    values = {"right": [float(n % 2) for n in range(len(ids))], "polite": [1.0] * len(ids)}
    rows = [
        {"trajectory_id": run, "question": question, "rater": "Zoë", "rater_kind": "human", "scale": "unit", "value": v}
        for question, column in values.items()
        for run, v in zip(ids, column, strict=True)
    ]
    with pytest.raises(InputError, match="name it with"):
        studies.run_score(runs, pl.DataFrame(rows))
    shares = {q: studies.run_score(runs, pl.DataFrame(rows), question=q).labels.found.share_good for q in values}
    assert shares["polite"] == 1
    assert shares["right"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("given", "how", "message"),
    [
        ("runs.jsonl", {}, "must be Trajectory records"),
        ([{"run_id": "a"}], {}, "must be Trajectory records"),
        ({"run_id": ["a"]}, {"periods": 0}, "periods: must be greater than 0"),
    ],
)
def test_what_is_no_table_of_runs_is_refused_in_one_line(given, how, message):
    with pytest.raises(InputError, match=message):
        studies.run_score(given, **how)


def test_several_neutral_components_of_one_run_are_told_as_several():
    outcome_alone = {"run_id": ["a"], "outcome": ["COMPLETED"]}
    told = neutral_components(score_runs(pl.DataFrame(outcome_alone))).answer
    assert "components are the neutral 50" in told
    assert "60 points" in told  # error rate, latency and resources at 0 and at 100
