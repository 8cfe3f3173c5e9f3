"""The spread of AXIS scores over runs, and their AUC against reward, counted anew from the results."""

import pytest

from axisjudge.datasets import demo_paths
from axisjudge.readers import read_trajectories
from axisjudge.studies import axis_result
from axisjudge.studies.axis_result import spread_rows, spreads


@pytest.fixture(scope="module")
def runs():
    return read_trajectories(demo_paths()[2]).trajectories


def test_spread_and_auc_are_those_counted_by_hand(runs):
    results = axis_result(runs).runs.results
    found = {one.score: one for one in spreads(results, {run.id: run.reward for run in runs})}
    lows = [each.dimension("agent").low for each in results]
    one = found["agent, low end"]
    assert (one.n_runs, one.n_values, one.least, one.most) == (len(runs), len(set(lows)), min(lows), max(lows))
    assert one.n_values > 5
    passed = [low for low, run in zip(lows, runs, strict=True) if run.reward == 1]
    failed = [low for low, run in zip(lows, runs, strict=True) if run.reward < 1]
    wins = sum((a > b) + (a == b) / 2 for a in passed for b in failed)
    assert one.auc.estimate == pytest.approx(wins / (len(passed) * len(failed)))
    assert found["result, low end"].most <= found["result, high end"].least


def test_without_rewards_there_is_no_auc(runs):
    found = spreads(axis_result(runs[:2]).runs.results, {})
    assert all(one.auc is None for one in found)
    assert not any("AUC against reward" in row for row in spread_rows(found))
