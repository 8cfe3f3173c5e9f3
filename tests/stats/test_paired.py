"""Paired change: exact sign flips, level under shared tasks, Holm."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from axisjudge.checks import InputError
from axisjudge.stats.estimate import UndefinedStatisticWarning
from axisjudge.stats.paired import holm, paired_change


def test_all_sign_patterns_by_hand():
    tasks = np.array([2.0, 1.0, -1.0, 3.0])
    totals = [abs(np.dot(signs, tasks)) for signs in itertools.product((-1, 1), repeat=4)]
    found = paired_change(np.zeros(4), tasks)
    assert found.p_value == np.mean([total >= 5 for total in totals])
    assert found.smallest_p == 2 / 16


def test_five_tasks_can_never_reach_five_percent():
    """The published design: 5 tasks x 4 agents, every single item improved."""
    found = paired_change(np.zeros(20), np.ones(20), clusters=np.repeat(np.arange(5), 4))
    assert found.p_value == found.smallest_p == 1 / 16
    assert found.change.estimate == 1
    assert math.isnan(found.change.ci_low)


def test_the_level_holds_where_mcnemar_on_items_fails(monkeypatch):
    """No change on average, but tasks move together."""
    monkeypatch.setattr("axisjudge.stats.paired.DRAWS", 499)
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(20), 4)
    by_task, by_item = [], []
    for _ in range(400):
        task = rng.standard_normal(20)[clusters]
        before = (rng.standard_normal(80) + 1.2 * task > 0).astype(float)
        after = (rng.standard_normal(80) - 1.2 * task > 0).astype(float)
        by_task.append(paired_change(before, after, clusters=clusters, rng=rng).p_value)
        by_item.append(paired_change(before, after, rng=rng).p_value)
    assert np.mean(np.array(by_task) <= 0.05) <= 0.075
    assert np.mean(np.array(by_item) <= 0.05) > 0.15


def test_power_is_there():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(30), 4)
    before = (rng.random(120) < 0.5).astype(float)
    found = paired_change(before, np.maximum(before, rng.random(120) < 0.4), clusters=clusters)
    assert found.p_value < 0.01
    assert found.change.ci_low > 0


def test_no_change_at_all():
    found = paired_change([1, 0, 1], [1, 0, 1])
    assert (found.p_value, found.smallest_p, found.change.estimate) == (1, 1, 0)
    with pytest.warns(UndefinedStatisticWarning, match="no item has a value in both"):
        assert math.isnan(paired_change([math.nan], [1]).p_value)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(p_values):
    found = holm({str(number): p for number, p in enumerate(p_values)})
    assert list(found.values()) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_an_undefined_test_still_counts_in_the_family():
    found = holm({"a": 0.02, "b": math.nan})
    assert found["a"] == 0.04
    assert math.isnan(found["b"])


def test_messages():
    with pytest.raises(InputError, match="after: needs one value"):
        paired_change([1, 0], [1])
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        holm({"a": 1.5})
