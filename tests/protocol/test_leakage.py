"""Near-identical runs and scenarios on two sides are found, in time that grows with their number."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.protocol import Split, find_leaks
from axisjudge.protocol.gate import shingles, signature, similarity_of
from axisjudge.trajectory import Step, ToolCall, Trajectory

SPLIT = Split(salt="s", shares={"calibration": 0.5, "evaluation": 0.5}, held_out=("evaluation",))
HERE = [str(task) for task in range(99) if SPLIT.side_of(str(task)) == "calibration"]
THERE = [str(task) for task in range(99) if SPLIT.side_of(str(task)) == "evaluation"]


def words(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    return [f"word{rng.randrange(5000)}" for _ in range(n)]


def run(task: str, scenario: list[str], said: list[str], *, agent: str = "a") -> Trajectory:
    steps = (
        Step(index=0, role="system", content="The same long policy for everybody. " * 50),
        Step(index=1, role="user", content=" ".join(scenario)),
        Step(index=2, role="assistant", content=" ".join(said), tool_calls=(ToolCall(name="find"),)),
    )
    return Trajectory(id=f"{task}-{agent}", source="t", agent=agent, task_id=task, steps=steps)


def test_one_scenario_on_two_sides():
    runs = [run(HERE[0], words(1, 40), words(2, 400)), run(THERE[0], [*words(1, 39), "now"], words(3, 400))]
    (leak,) = find_leaks(runs, SPLIT)
    assert (leak.kind, leak.tasks, leak.sides) == ("scenario", (HERE[0], THERE[0]), ("calibration", "evaluation"))
    assert leak.similarity == pytest.approx(35 / 37)  # 36 shingles each, all but the last shared


def test_one_run_on_two_sides_and_the_most_similar_pair_is_kept():
    said = words(2, 400)
    runs = [
        run(HERE[0], words(1, 10), said),
        run(THERE[0], words(4, 10), said, agent="a"),
        run(THERE[0], words(5, 10), [*said[:380], *words(9, 20)], agent="b"),
    ]
    (leak,) = find_leaks(runs, SPLIT)
    assert (leak.kind, leak.trajectories) == ("run", (f"{HERE[0]}-a", f"{THERE[0]}-a"))
    assert leak.similarity > 0.9


def test_the_same_on_one_side_is_no_leak_and_neither_is_the_policy():
    runs = [run(HERE[0], words(1, 40), words(2, 99)), run(HERE[1], words(1, 40), words(2, 99))]
    assert find_leaks(runs, SPLIT) == ()
    assert find_leaks([runs[0], run(THERE[0], words(7, 40), words(8, 99))], SPLIT) == ()


def test_runs_without_words_are_like_nothing():
    empty = [Trajectory(id=task, source="t", task_id=task) for task in (HERE[0], THERE[0])]
    assert find_leaks(empty, SPLIT) == ()


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=80), st.lists(st.integers(0, 60), max_size=80))
def test_similarity_is_jaccards_coefficient(first, second):
    one, two = frozenset(first), frozenset(second)
    assert 0 <= similarity_of(one, two) <= 1
    assert similarity_of(one, two) == similarity_of(two, one)
    assert (similarity_of(one, two) == 1) == (one == two and bool(one))


def test_signatures_agree_in_the_share_of_hashes_that_similarity_says():
    rng = random.Random(0)
    shared = {rng.randrange(2**32) for _ in range(600)}
    one, two = ({*shared, *(rng.randrange(2**32) for _ in range(200))} for _ in range(2))
    agree = (signature(one) == signature(two)).mean()
    assert agree == pytest.approx(0.6, abs=0.18)  # four standard errors of 125 hashes


@pytest.mark.parametrize("seed", range(30))
def test_pairs_above_the_threshold_are_not_missed(seed):
    said = words(seed, 300)
    changed = list(said)
    changed[150:156] = words(1000 + seed, 6)
    leaks = find_leaks([run(HERE[0], ["a"], said), run(THERE[0], ["b"], changed)], SPLIT, threshold=0.9)
    assert [leak.kind for leak in leaks] == ["run"]


def test_short_texts_and_case():
    assert len(shingles("One")) == 1
    assert shingles("One two THREE") == shingles("one, two three!")
    assert len(shingles(" ".join(words(1, 9)))) == 5


def test_thousands_of_runs_take_seconds():
    pool = [words(seed, 150) for seed in range(60)]
    runs = [
        run(str(task), words(task, 12), [*pool[task % 60][:75], *words(task + 9_999, 75)], agent=str(task))
        for task in range(1_000)
    ]
    begin = time.process_time()
    find_leaks(runs, SPLIT)
    assert time.process_time() - begin < 20


def test_a_threshold_is_a_share():
    with pytest.raises(InputError, match=r"threshold: must lie in \[0, 1\]"):
        find_leaks([], SPLIT, threshold=80)


def test_a_text_that_many_tasks_share_is_listed_once_for_each_task():
    """Every pair of 40 tasks would be 400."""
    runs = [run(task, ["Hello"], words(seed, 50)) for seed, task in enumerate(HERE[:20] + THERE[:20])]
    leaks = find_leaks(runs, SPLIT)
    assert {leak.kind for leak in leaks} == {"scenario"}
    assert {task for leak in leaks for task in leak.tasks} == {*HERE[:20], *THERE[:20]}
    assert len(leaks) <= 40
