"""How items are drawn: probabilities that hold, flags that survive, plans that read back."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.labels.sampling import (
    METHODS,
    Drawn,
    Sampling,
    chosen_by_hand,
    draw_again,
    draw_at_random,
    draw_by,
    drawn_flags,
    drawn_of,
    read_sampling,
    sampling_path,
    set_drawn,
    verdict_strata,
    with_drawn,
    with_plan,
    write_sampling,
)
from axisjudge.ratings import RatingsWriter, ratings_frame, read_ratings
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating

SEEDS = 4000


def run(name, task, *, empty=False):
    steps = () if empty else (Step(index=0, role="user", content=name),)
    return Trajectory(id=name, source="test", task_id=task, steps=steps)


#: Task t0 has one run, t1 two, ... t5 six; one more run has no messages.
RUNS = [run(f"t{task}-{agent}", f"t{task}") for task in range(6) for agent in range(task + 1)]
EMPTY = run("empty", "t0", empty=True)


def label(trajectory_id, sampling=None, *, rater="rater-one", verdict="correct", flags=(), **fields):
    item = sampling and next(item for item in sampling.items if item.trajectory_id == trajectory_id)
    fields = {"cluster_id": trajectory_id, "question": "sequencing", "rater_kind": "human", "family": "human"} | fields
    drawn = sampling.flags_for(item) if sampling else []
    return Rating(trajectory_id=trajectory_id, rater=rater, verdict=verdict, flags=[*flags, *drawn], **fields)


def assert_drawn_as_often_as_stated(draw):
    """Over many seeds each item's frequency is its stated probability, within 4.5 standard errors."""
    counts, stated = Counter(), {}
    for seed in range(SEEDS):
        for item in draw(seed).items:
            counts[item.trajectory_id] += 1
            stated[item.trajectory_id] = item.probability
    for name, probability in stated.items():
        error = (probability * (1 - probability) / SEEDS) ** 0.5
        assert abs(counts[name] / SEEDS - probability) <= 4.5 * error, name
    return stated


def test_one_run_of_each_task_by_default():
    sampling = draw_at_random([EMPTY, *RUNS], seed=3)
    assert (sampling.method, sampling.n_frame, sampling.one_per_task) == ("random", len(RUNS), True)
    assert sorted(item.trajectory_id.split("-")[0] for item in sampling.items) == [f"t{task}" for task in range(6)]
    by_task = {item.trajectory_id.split("-")[0]: item.probability for item in sampling.items}
    assert by_task == {f"t{task}": 1 / (task + 1) for task in range(6)}


@pytest.mark.slow
def test_random_draws_happen_as_often_as_stated():
    stated = assert_drawn_as_often_as_stated(lambda seed: draw_at_random(RUNS, 3, seed=seed))
    assert stated["t0-0"] == 3 / 6
    assert stated["t5-2"] == pytest.approx(3 / 6 / 6)
    stated = assert_drawn_as_often_as_stated(lambda seed: draw_at_random(RUNS, 7, seed=seed, one_per_task=False))
    assert set(stated.values()) == {7 / 21}


def test_draws_within_strata_happen_as_often_as_stated():
    strata = {each.id: "few" if each.task_id in ("t0", "t1") else "many" for each in RUNS}

    def draw(seed):
        return draw_by(RUNS, strata, {"few": 2, "many": 1}, key="size", seed=seed)

    stated = assert_drawn_as_often_as_stated(draw)
    assert stated["t1-0"] == pytest.approx(2 / 2 / 2)
    assert stated["t5-0"] == pytest.approx(1 / 4 / 6)
    assert all(item.stratum == strata[item.trajectory_id] for item in draw(1).items)


def test_a_total_is_spread_evenly_over_strata_and_rare_ones_are_taken_whole():
    strata = {each.id: "rare" if each.task_id == "t0" else each.task_id for each in RUNS}
    sampling = draw_by(RUNS, strata, 13, key="task", seed=0, one_per_task=False)
    assert Counter(item.stratum for item in sampling.items) == {"rare": 1, "t1": 2, "t2": 2, "t3": 2, "t4": 3, "t5": 3}


def test_the_order_of_files_does_not_matter_and_the_seed_does():
    forward, backward = (draw_at_random(runs, 4, seed=1) for runs in (RUNS, RUNS[::-1]))
    assert forward == backward
    assert len({draw_at_random(RUNS, 4, seed=seed).trajectory_ids for seed in range(20)}) > 15


def test_the_order_shown_does_not_tell_the_stratum():
    strata = {each.id: each.id[-1] for each in RUNS}
    firsts = Counter(
        draw_by(RUNS, strata, {"0": 2, "1": 2}, key="agent", seed=seed, one_per_task=False).items[0].stratum
        for seed in range(400)
    )
    assert abs(firsts["0"] - 200) < 45


def test_strata_from_a_judge():
    ratings = ratings_frame(
        [
            label("a", rater="rules", verdict="correct"),
            label("a", rater="rules", verdict="incorrect", question="termination"),
            label("b", rater="rules", verdict=None, status="parse_error"),
            label("b", rater="rules", verdict="correct", question="termination"),
            label("c", rater="other", verdict="incorrect"),
        ]
    )
    assert verdict_strata(ratings, "rules") == {"a": "incorrect", "b": "lost"}
    assert verdict_strata(ratings, "rules", "sequencing") == {"a": "correct", "b": "lost"}
    with pytest.raises(InputError, match="rater: must be one of other, rules"):
        verdict_strata(ratings, "rulez")
    with pytest.raises(InputError, match=r"axis that rules judged: .* found 'sequencng'; did you mean 'sequencing'"):
        verdict_strata(ratings, "rules", "sequencng")  # else every run would be in the stratum `lost`


def test_a_judges_two_prompts_are_not_mixed():
    twice = [label("a", rater="rules", prompt_sha256="1"), label("a", rater="rules", prompt_sha256="2")]
    with pytest.raises(InputError, match="one for each trajectory and axis"):
        verdict_strata(ratings_frame(twice), "rules")


def test_a_second_person_inherits_the_draw():
    first = draw_at_random(RUNS, 4, seed=5)
    labels = ratings_frame([label(name, first) for name in first.trajectory_ids])
    again = draw_again(labels, "rater-one", seed=6)
    assert set(again.items) == set(first.items)
    assert (again.method, again.n_frame) == ("random", len(RUNS))
    half = draw_again(labels, "rater-one", 2, seed=6)
    probabilities = {item.trajectory_id: item.probability for item in first.items}
    assert all(item.probability == probabilities[item.trajectory_id] / 2 for item in half.items)
    with pytest.raises(InputError, match="no labels by this person"):
        draw_again(labels, "rater-two", seed=6)


def test_labels_drawn_in_two_ways_are_not_passed_on_as_one():
    mixed = [label("t0-0", draw_at_random(RUNS, seed=1)), label("t1-0", chosen_by_hand(RUNS, seed=1))]
    with pytest.raises(InputError, match="drawn in one way"):
        draw_again(ratings_frame(mixed), "rater-one", seed=1)


@given(
    st.sampled_from(METHODS),
    st.floats(min_value=1e-12, max_value=1.0) | st.none(),
    st.text(min_size=1) | st.none(),
    st.text() | st.none(),
    st.integers(min_value=1) | st.none(),
)
def test_flags_read_back_exactly(method, probability, key, stratum, n_frame):
    said = drawn_of([*drawn_flags(method, probability, key=key, stratum=stratum, n_frame=n_frame), "planted", "a:b"])
    assert list(said.values()) == [method, key, stratum, probability, n_frame]


def test_the_draw_survives_the_ratings_file(tmp_path):
    sampling = draw_by(RUNS, {each.id: each.task_id for each in RUNS}, 6, key="task: of the shop", seed=2)
    with RatingsWriter(tmp_path / "one.jsonl") as writer:
        writer.append([label(name, sampling, flags=["late"]) for name in sampling.trajectory_ids])
        writer.append([label("elsewhere")])
    table = with_drawn(read_ratings(tmp_path / "one.jsonl"))
    rows = {row["trajectory_id"]: row for row in table.to_dicts()}
    for item in sampling.items:
        row = rows[item.trajectory_id]
        assert (row["drawn"], row["drawn_by"], row["drawn_stratum"]) == ("by_key", "task: of the shop", item.stratum)
        assert (row["drawn_probability"], row["drawn_from"]) == (item.probability, len(RUNS))
    assert rows["elsewhere"]["drawn"] == "unknown"
    assert rows["elsewhere"]["drawn_probability"] is None


def test_a_stated_draw_replaces_the_old_one_and_nothing_else():
    old = label("a", flags=["late", "drawn:unknown"])
    (new,) = set_drawn([old], drawn_flags("random"))
    assert new.flags == ["late", "drawn:random"]


def test_labels_given_blind_get_their_draw_from_the_plan(tmp_path):
    sampling = draw_by(RUNS, {each.id: each.task_id for each in RUNS}, 6, key="task", seed=2)
    write_sampling(tmp_path / "one.sampling.json", sampling)
    plan = read_sampling(tmp_path / "one.sampling.json")
    first, *_ = sampling.items
    blind = label(first.trajectory_id, flags=["late", sampling.plan_flag])
    other = label(first.trajectory_id, flags=["drawn_plan:0000"])
    filled, untouched = with_plan([blind, other], plan)
    assert filled.flags == ["late", *sampling.flags_for(first)]
    assert untouched == other
    assert drawn_of(blind.flags)["drawn"] == "unknown"


def test_a_plan_reads_back(tmp_path):
    path = sampling_path(tmp_path / "rater.one.jsonl")
    assert path.name == "rater.one.sampling.json"
    for sampling in (draw_at_random(RUNS, seed=1), chosen_by_hand(RUNS, seed=1)):
        write_sampling(path, sampling)
        write_sampling(path, sampling)
        assert read_sampling(path) == sampling
        assert [each.name for each in tmp_path.iterdir()] == [path.name]
        with pytest.raises(InputError, match="another draw"):
            write_sampling(path, draw_at_random(RUNS, seed=2))
        assert read_sampling(path) == sampling
        path.unlink()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"method": "random"}', '{"method": "random", "items": [{"id": 1}]}'])
def test_what_is_no_plan_is_refused(tmp_path, text):
    path = tmp_path / "x.sampling.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"x\.sampling\.json: is not a sampling plan"):
        read_sampling(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"method": "by_key"}, "needs the key that decided"),
        ({"method": "by_key", "key": "k", "items": (Drawn("a"),)}, "a draw by key needs each item's probability"),
        ({"method": "random", "items": (Drawn("a", 1.5),)}, r"lies in \(0, 1\]; found 1.5"),
        ({"method": "random", "items": (Drawn("a", 0.0),)}, r"lies in \(0, 1\]"),
        ({"method": "unknown", "items": (Drawn("a", 0.5),)}, "an unknown draw has no probabilities"),
        ({"method": "random", "items": (Drawn("a"), Drawn("a"))}, "an item is drawn once"),
        ({"method": "at_random"}, "did you mean 'random'"),
    ],
)
def test_what_cannot_be_a_draw_is_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Sampling(**{"items": (), **fields})


def test_too_many_are_refused():
    with pytest.raises(InputError, match="must lie between 1 and the 6 that there are; found 7"):
        draw_at_random(RUNS, 7, seed=0)
    with pytest.raises(InputError, match="stratum 't0': must lie between 1 and the 1"):
        draw_by(RUNS, {each.id: each.task_id for each in RUNS}, {"t0": 2}, key="task", seed=0)
    with pytest.raises(InputError, match="every trajectory needs a stratum; found 't0-0'"):
        draw_by(RUNS, {}, 3, key="task", seed=0)
    with pytest.raises(InputError, match="there must be one with messages"):
        draw_at_random([EMPTY], seed=0)
