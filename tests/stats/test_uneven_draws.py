"""Labels said to be drawn at random, compared with the other items by task."""

import math

import numpy as np
import pytest

from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.uneven_draws import comparable_features, drawn_apart


@pytest.mark.parametrize(
    ("how", "low", "high"),
    [("items", 0, 0.03), ("one a task", 0, 0.03), pytest.param("failures", 0.7, 1, marks=pytest.mark.slow)],
)
def test_labels_drawn_by_verdict_show_and_labels_at_random_seldom_do(how, low, high):
    """60 tasks of 4: failures labelled three times as often, a share of all items, one item of each task."""

    rng, task, times = np.random.default_rng(3), np.repeat(np.arange(60), 4), 200
    found = 0
    for _ in range(times):
        failed = 0.6 * rng.normal(size=60)[task] + 0.8 * rng.normal(size=240) > 0.5
        chance = np.where(failed, 0.6, 0.2) if how == "failures" else np.full(240, 0.3)
        labelled = rng.random(240) < chance
        if how == "one a task":
            labelled = np.arange(240) == np.repeat(4 * np.arange(60) + rng.integers(0, 4, 60), 4)
        agents = {f"agent {k}": np.arange(240) % 4 == k for k in range(4)}
        found += "failed" in drawn_apart(labelled, {"failed": failed, **agents}, task)
    assert low <= found / times <= high


RAGGED = [30, 20, 10, 8, 6, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[4] * 20, [10] * 20, RAGGED])
def test_twenty_tasks_show_failures_labelled_three_times_as_often(sizes):
    """Before, none of these was found: of ragged tasks too few carry a test over tasks."""
    rng, task, power, false = np.random.default_rng(5), np.repeat(np.arange(20), sizes), 0, 0
    for _ in range(60):
        failed = 0.5 * rng.normal(size=20)[task] + 0.87 * rng.normal(size=task.size) > 0.5
        for tripled in (True, False):
            labelled = rng.random(task.size) < (np.where(failed, 0.75, 0.25) if tripled else 0.4)
            found = "failed" in drawn_apart(labelled, {"failed": failed}, task)
            power, false = power + (found and tripled), false + (found and not tripled)
    assert power / 60 > 0.5
    assert false <= 3


def test_a_rare_word_alone_shows_nothing():
    """One item of a rare word among ten of its task, labelled alone: p is .1, where a normal one would be .003."""
    task, word, labelled = np.repeat(np.arange(30), 10), np.zeros(300), np.zeros(300, dtype=bool)
    word[0] = labelled[0] = labelled[15] = labelled[25] = True
    assert not drawn_apart(labelled, {"rare": word}, task)


@pytest.mark.parametrize("size", [1, 2])
def test_what_is_rare_is_missed_by_a_few_labels(size):
    """50 labels of 1,050 items, of which 14 have a word and none is labelled: .5 by chance, .002 by the score's t."""
    item = np.arange(1050 // size * size)
    labelled, word = item < 50, item >= item.size - 14
    assert not drawn_apart(labelled, {"rare": word}, item // size)
    assert drawn_apart(labelled, {"frequent": item >= item.size // 2}, item // size)


def _three_judges(rng, chance_of):
    """60 tasks of 4 with three judges that err in .15 and four agents; labelled by `chance_of` failing and verdicts."""
    task = np.repeat(np.arange(60), 4)
    failed = 0.5 * rng.normal(size=60)[task] + 0.87 * rng.normal(size=240) > 0.52
    said = np.where(rng.random((240, 3)) < 0.15, ~failed[:, None], failed[:, None]).astype(float)
    agents = np.array([f"a{k}" for k in rng.integers(0, 4, 240)], dtype=object)
    labelled = rng.random(240) < chance_of(failed, said, agents)
    label = np.where(labelled, failed, np.nan)
    return said, label, task, comparable_features(said, ["correct", "incorrect"], agents=agents)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chance_of", "sampling", "low", "high"),
    [
        (lambda failed, said, agents: 0.35, "random", 0, 1),
        (lambda failed, said, agents: np.where(failed, 0.66, 0.22), "random", 8, 12),
        (lambda failed, said, agents: np.where(agents == "a0", 0.0, 0.45), "random", 12, 12),
        (lambda failed, said, agents: np.where(said[:, 0] == 1, 0.66, 0.22), "by_judge_verdict", 0, 1),
        (lambda failed, said, agents: np.where(said[:, 1] == 1, 0.66, 0.22), "by_judge_verdict", 7, 12),
    ],
)
def test_a_rate_is_refused_where_labels_were_not_drawn_as_is_said(chance_of, sampling, low, high):
    """Failures labelled three times as often, an agent without a label, another judge's verdict; and as is said."""
    rng, refused = np.random.default_rng(2), 0
    for _ in range(12):
        said, label, task, known = _three_judges(rng, chance_of)
        found = corrected_rate(said[:, 0], label, sampling=sampling, clusters=task, features=known)
        refused += "labelled items differ from the others" in found.refusal and np.isnan(found.rate.estimate)
    assert low <= refused <= high


def test_what_labelled_and_other_items_are_compared_by():
    words = np.array([[0, 0], [0, 1], [1, math.nan], [math.nan, math.nan]])
    by_verdict, others = comparable_features(
        words, ["pass", "fail"], agents=["a", None, "b", "a"], lengths=[5, 1, 1, 9]
    )
    assert {name: np.asarray(each).tolist() for name, each in by_verdict.items()} == {"verdict fail": [0, 0.5, 1, 0]}
    assert {name: np.asarray(each).tolist() for name, each in others.items()} == {
        "unanimity": [1, 0, 1, 0],
        "agent a": [1, 0, 0, 1],
        "agent b": [0, 0, 1, 0],
        "length": [3 / 4, 1.5 / 4, 1.5 / 4, 1],
    }
    three, nothing = comparable_features(words[:, :1], ["pass", "fail", "unsure"])
    assert list(three) == ["verdict pass", "verdict fail", "verdict unsure"]
    assert nothing == {}
