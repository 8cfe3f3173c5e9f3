"""Which runs to label next: probabilities are what they are said to be, and unsure runs come first."""

from collections import Counter

import pytest

from axisjudge.checks import InputError
from axisjudge.labels.uncertain import LEAST, draw_uncertain, inclusion

ITEMS = [(f"run{n}", f"task{n // 3}", 0.5 + n / 60) for n in range(30)]


def test_probabilities_sum_to_the_number_drawn_and_grow_with_doubt():
    plan = draw_uncertain(ITEMS, 30, key="panel:x", seed=1)
    p = {item.trajectory_id: item.probability for item in plan.items}
    assert sum(p.values()) == pytest.approx(30)
    plan = draw_uncertain(ITEMS, 8, key="panel:x", seed=1)
    assert len(plan.items) == 8
    assert plan.method == "by_key"
    sizes = {f"run{n}": 1.0 + n for n in range(10)}
    assert sum(inclusion(sizes, 4).values()) == pytest.approx(4)
    assert max(inclusion(sizes, 9).values()) == 1


def test_runs_are_drawn_as_often_as_their_probability_says():
    counts, said = Counter(), {}
    for seed in range(600):
        for item in draw_uncertain(ITEMS, 6, key="k", seed=seed).items:
            counts[item.trajectory_id] += 1
            said[item.trajectory_id] = item.probability
    assert len(said) == 30, "also runs of which the panel is sure"
    for run, probability in said.items():
        assert counts[run] / 600 == pytest.approx(probability, abs=4 * (probability / 600) ** 0.5)
    assert max(said.values()) / min(said.values()) < 1.5 / LEAST


def test_no_task_has_more_than_its_part_and_the_order_of_items_does_not_matter():
    for seed in range(50):
        plan = draw_uncertain(ITEMS, 10, key="k", seed=seed)
        tasks = Counter(int(item.trajectory_id.removeprefix("run")) // 3 for item in plan.items)
        assert max(tasks.values()) <= 2
        assert draw_uncertain(ITEMS[::-1], 10, key="k", seed=seed) == plan


def test_several_items_of_a_run_count_by_their_mean_and_too_many_runs_are_refused():
    steps = [("a", "t", 1.0), ("a", "t", 0.5), ("b", "u", 0.933), ("c", "v", 1.0)]
    p = {item.trajectory_id: item.probability for item in draw_uncertain(steps, 3, key="k", seed=0).items}
    assert set(p) == {"a", "b", "c"}
    with pytest.raises(InputError, match="between 1 and the 3 runs"):
        draw_uncertain(steps, 4, key="k", seed=0)
    assert len(draw_uncertain([("a", "t", 1.0), ("b", "t", 1.0)], 1, key="k", seed=0).items) == 1
