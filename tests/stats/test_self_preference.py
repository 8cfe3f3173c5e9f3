"""Self-preference: recovered where it is, nought where only leniency and quality differ, refused where unclear."""

import math

import numpy as np
import pytest
from scipy.stats import t

from axisjudge.checks import InputError
from axisjudge.stats.fairness import self_preference

FAMILIES = ["red", "green", "blue"]
QUALITY = {"red": 0.85, "green": 0.6, "blue": 0.4}
LENIENCY = {"red": 0.35, "green": 0.2, "blue": 0.1}


def judged(n_tasks, rng, *, preference=0.0):
    """Two agents and one judge of each family; red judges miss `preference` more of red agents' failures."""
    agents = [f"{family}-{number}" for family in FAMILIES for number in (1, 2)] * n_tasks
    families = [agent.split("-")[0] for agent in agents]
    tasks = np.repeat(np.arange(n_tasks), 6)
    failed = (rng.random(len(agents)) > np.array([QUALITY[family] for family in families])).astype(float)
    columns = []
    for judge in FAMILIES:
        miss = LENIENCY[judge] + preference * np.array([judge == "red" == family for family in families])
        right = rng.random(len(agents)) < 0.9
        columns.append(np.where(failed == 1, rng.random(len(agents)) < miss, right).astype(float))
    return np.column_stack(columns), agents, families, failed, tasks


def found(n_tasks, seed, *, preference=0.0, labels=True):
    verdicts, agents, families, failed, tasks = judged(n_tasks, np.random.default_rng(seed), preference=preference)
    return self_preference(verdicts, FAMILIES, agents, families, failed=failed if labels else None, tasks=tasks)


def test_a_preference_is_recovered():
    result = found(4000, 1, preference=0.25)
    assert result.preference["red"].estimate == pytest.approx(0.25, abs=0.04)
    assert result.preference["red"].cluster_unit == "task"
    assert not result.refusal


def test_leniency_and_quality_alone_are_no_preference():
    result = found(4000, 2)
    assert all(abs(each.estimate) < 0.04 for each in result.preference.values())


@pytest.mark.slow
def test_the_interval_covers():
    hits = []
    for seed in range(400):
        red = found(60, 1000 + seed).preference["red"]
        if not math.isnan(red.ci_low):
            hits.append(red.ci_low <= 0 <= red.ci_high)
    assert len(hits) > 350
    assert np.mean(hits) >= 0.93


def test_without_labels_there_is_only_the_table():
    result = found(200, 3, labels=False)
    assert result.preference == {}
    assert "without labels" in result.refusal
    rates = {(cell.judge_family, cell.agent_family): cell.says_correct for cell in result.table}
    assert rates["red", "red"] - rates["red", "blue"] > 0.2  # agents' quality, not a preference


def test_two_judge_families_or_single_agents_are_refused():
    verdicts, agents, families, failed, tasks = judged(50, np.random.default_rng(4))
    two = self_preference(verdicts[:, :2], FAMILIES[:2], agents, families, failed=failed, tasks=tasks)
    assert "fewer than 3 judge families" in two.refusal
    one_agent = [family if family == "red" else agent for agent, family in zip(agents, families, strict=True)]
    single = self_preference(verdicts, FAMILIES, one_agent, families, failed=failed, tasks=tasks)
    assert "fewer than 2 agents of red" in single.refusal
    strangers = self_preference(verdicts, ["x", "y", "z"], agents, families, failed=failed, tasks=tasks)
    assert "no judge family has agents" in strangers.refusal


def test_too_few_tasks_have_no_interval():
    red = found(6, 5).preference["red"]
    assert math.isnan(red.ci_low)
    assert red.reason


def test_messages():
    with pytest.raises(InputError, match="must be items x 3 judges"):
        self_preference([[1.0, 0.0]], FAMILIES, ["a"], ["red"], failed=[1], tasks=[0])
    with pytest.raises(InputError, match="agents: needs one entry for each"):
        self_preference([[1.0, 0.0, 1.0]], FAMILIES, [], ["red"], failed=[1], tasks=[0])
    with pytest.raises(InputError, match="failed: needs one entry for each"):
        self_preference([[1.0, 0.0, 1.0]], FAMILIES, ["a"], ["red"], failed=[1, 0], tasks=[0])


def test_the_contrast_and_its_interval_by_leaving_tasks_out():
    """(own - other agents) of own judges less that of the others, agent by agent; jackknife, t on tasks less one."""
    rng, shape = np.random.default_rng(3), (12, 4, 3)
    task, agent = np.indices(shape[:2]).reshape(2, -1)
    said = (rng.random(shape) < 0.4).astype(float)
    said[2, 1, 0] = math.nan
    own = np.array([True, True, False, False])

    def contrast(cells):
        def gap(judges):
            rates = [np.nanmean(cells[:, each][:, judges]) for each in range(4)]
            return np.mean(rates[:2]) - np.mean(rates[2:])

        return gap([0]) - gap([1, 2])

    without = np.array([contrast(np.delete(said, each, axis=0)) for each in range(12)])
    agents, families = [f"agent {each}" for each in agent], [("x", "y")[not own[each]] for each in agent]
    found = self_preference(
        said.reshape(48, 3), ["x", "u", "v"], agents, families, failed=np.ones(48), tasks=task, ci_level=0.9
    ).preference["x"]
    sizes = np.full(12, 12.0)
    sizes[2] = 11
    half = t.ppf(0.95, sizes.sum() ** 2 / (sizes**2).sum() - 1) * math.sqrt(11 * without.var())
    assert found.estimate == pytest.approx(contrast(said))
    assert (found.ci_low, found.ci_high) == pytest.approx((contrast(said) - half, contrast(said) + half))
