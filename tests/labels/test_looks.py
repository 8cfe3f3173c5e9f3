"""Labelling with a look after every label: the order holds, gaps stop the look, and any later rate is still fair."""

import math

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.labels.sampling import chosen_by_hand, draw_at_random
from axisjudge.labels.uncertain import look, still_open
from axisjudge.ratings import ratings_frame
from axisjudge.stats.betting import betting_sequence
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import Rating

AXIS = "sequencing"
RUNS = [
    Trajectory(
        id=f"{task}-{agent}", source="test", task_id=f"t{task}", steps=(Step(index=0, role="user", content="do"),)
    )
    for task in range(40)
    for agent in range(3)
]


def label(run, verdict, person="ada", axis=AXIS):
    return Rating(
        trajectory_id=run,
        item_id=run,
        task_id=f"t{run.split('-')[0]}",
        cluster_id=f"t{run.split('-')[0]}",
        question=axis,
        scale="verdict",
        rater=person,
        rater_kind="human",
        family="human",
        repeat=0,
        status="ok",
        verdict=verdict,
    )


def test_labels_up_to_the_first_gap_are_looked_at():
    plan = draw_at_random(RUNS, seed=1)
    order = plan.trajectory_ids
    words = ["incorrect" if place % 4 == 0 else "correct" for place in range(30)]
    given = [label(run, word) for run, word in zip(order, words, strict=False)]
    given[5] = label(order[5], "uncertain")
    (whole,) = look(plan, ratings_frame(given), [AXIS], half_width=0.2)
    values = [math.nan if place == 5 else float(word == "incorrect") for place, word in enumerate(words)]
    again = betting_sequence(values)
    assert (whole.rate.ci_low, whole.rate.ci_high) == (again.ci_low, again.ci_high)
    assert (whole.rate.n_items, whole.rate.n_missing, whole.n_ahead) == (29, 1, 0)
    (gap,) = look(plan, ratings_frame(given[:10] + given[12:]), [AXIS], half_width=0.2)
    assert (gap.rate.n_items, gap.n_ahead) == (9, 18)


def test_next_is_what_lacks_a_label_on_an_axis_that_is_not_known_yet_wherever_the_others_are():
    """A run that was left open on one axis is asked for again; what is labelled behind a gap is not."""
    plan, other = draw_at_random(RUNS, seed=1), "termination"
    order = plan.trajectory_ids
    given = [label(run, "correct", axis=axis) for run in order[:4] for axis in (AXIS, other)]
    labels = ratings_frame([*given[:3], *given[4:]])  # the second run lacks the second axis

    def following(axes, half_width):
        looks = look(plan, labels, axes, half_width=half_width)
        return [item.trajectory_id for item in still_open(plan, labels, looks)]

    assert following([AXIS, other], 0.1) == [order[1], *order[4:]]
    assert following([AXIS], 0.1) == list(order[4:])
    assert following([AXIS, other], 0.999) == []
    assert len(still_open(plan, None, look(plan, None, [AXIS], half_width=0.1))) == len(order)


def test_two_people_count_by_their_share_and_other_axes_not_at_all():
    plan = draw_at_random(RUNS, seed=1)
    run = plan.trajectory_ids[0]
    given = [label(run, "incorrect"), label(run, "correct", "bob"), label(run, "incorrect", axis="termination")]
    assert look(plan, ratings_frame(given), [AXIS], half_width=0.2)[0].rate.estimate == 0.5


def test_it_says_when_to_stop_and_what_it_will_cost():
    plan = draw_at_random(RUNS, seed=2)
    given = [label(run, "correct") for run in plan.trajectory_ids]
    few, enough = (look(plan, ratings_frame(given[:n]), [AXIS], half_width=0.1)[0] for n in (5, 40))
    assert not few.enough
    assert few.n_more
    assert few.price
    assert few.price.times > 1.5
    assert enough.enough
    assert enough.n_more == 0
    (none,) = look(plan, None, [AXIS], half_width=0.1)
    assert math.isnan(none.rate.estimate)
    assert none.price is None
    assert none.n_more is None


def test_draws_that_cannot_be_looked_at_are_refused():
    with pytest.raises(InputError, match="random draw"):
        look(chosen_by_hand(RUNS, seed=1), None, [AXIS], half_width=0.1)


def test_rates_at_the_stop_hold_the_rate_of_the_tasks():
    """Tasks differ, their three runs hang together, and labelling stops at the first narrow look."""
    rng, out, stops = np.random.default_rng(3), 0, []
    for seed in range(60):
        own = rng.beta(0.5, 2.0, 40)  # mean .2
        plan = draw_at_random(RUNS, seed=seed)
        words = [bool(rng.random() < own[int(run.split("-")[0])]) for run in plan.trajectory_ids]
        sequence = betting_sequence(words)
        stop = sequence.tasks_until(0.2) or len(words)
        stops.append(stop)
        out += not sequence.lows[stop - 1] <= 0.2 <= sequence.highs[stop - 1]
    assert out <= 8
    assert min(stops) < 40
