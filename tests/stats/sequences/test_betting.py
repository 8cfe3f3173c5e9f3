"""Confidence sequences by betting: a second implementation, what theory promises, and simulations of every look."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from axisjudge.checks import InputError
from axisjudge.stats.acceptance import BETS, ON_LOOKS, PARTED, SHOWN_GAIN, level_of, shown_better
from axisjudge.stats.betting import (
    betting_sequence,
    by_task,
    capital,
    change_sequence,
    evidence_of_change,
    evidence_of_drift,
    evidence_of_rate,
    evidence_of_runs,
    occasion_means,
    price_of_looking,
    relative,
)


def by_hand(values, level):
    """The hedged capital of Waudby-Smith and Ramdas (2024, theorem 3), task after task, its ends by bisection."""
    alpha, ends = 1 - level, []

    def broke(rate, upward, seen):
        total, mean_total, squares, richest = 1.0, 0.5, 0.25, 0.0
        for t, x in enumerate(seen, start=1):
            bet = math.sqrt(2 * math.log(2 / alpha) / (squares / t * t * math.log(1 + t)))
            if upward:
                total *= 1 + (min(bet, 0.5 / rate) if rate > 0 else bet) * (x - rate)
            else:
                total *= 1 - (min(bet, 0.5 / (1 - rate)) if rate < 1 else bet) * (x - rate)
            mean_total += x
            squares += (x - mean_total / (t + 1)) ** 2
            richest = max(richest, total)
        return richest / 2 >= 1 / alpha

    for t in range(1, len(values) + 1):
        pair = []
        for upward in (True, False):
            out, inside = (0.0, 1.0) if upward else (1.0, 0.0)
            if broke(out, upward, values[:t]):
                for _ in range(30):
                    middle = (out + inside) / 2
                    out, inside = (middle, inside) if broke(middle, upward, values[:t]) else (out, middle)
            pair.append(out)
        ends.append(pair)
    return np.array(ends)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.8])
def test_the_sequence_is_that_of_a_second_implementation(rate):
    values = (np.random.default_rng(3).random(60) < rate).astype(float)
    sequence, again = betting_sequence(values), by_hand(values.tolist(), 0.95)
    assert np.abs(sequence.lows - again[:, 0]).max() <= 0.0011  # the grid's step, outwards
    assert np.abs(sequence.highs - again[:, 1]).max() <= 0.0011
    assert (sequence.lows <= again[:, 0] + 1e-9).all()
    assert (sequence.highs >= again[:, 1] - 1e-9).all()


tasks = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=30)


@settings(max_examples=30, deadline=None)
@given(tasks)
def test_intervals_only_shrink_and_do_not_look_ahead(drawn):
    hits = [min(hit, items) for hit, items in drawn]
    values = [float(k < hit) for hit, (_, items) in zip(hits, drawn, strict=True) for k in range(items)]
    clusters = [task for task, (_, items) in enumerate(drawn) for _ in range(items)]
    whole = betting_sequence(values, clusters, largest=4)
    assert (np.diff(whole.lows) >= 0).all()
    assert (np.diff(whole.highs) <= 0).all()
    kept = [number for number, task in enumerate(clusters) if task < len(drawn) // 2]
    half = betting_sequence([values[k] for k in kept], [clusters[k] for k in kept], largest=4)
    assert half.lows.tolist() == whole.lows[: half.lows.size].tolist()


def test_words_swapped_mirror_the_sequence_and_a_change_is_its_reverse():
    rng = np.random.default_rng(5)
    values, other = (rng.random((2, 80)) < 0.3).astype(float)
    one, mirrored = betting_sequence(values), betting_sequence(1 - values)
    assert one.ci_low == pytest.approx(1 - mirrored.ci_high)
    there, back = change_sequence(values, other), change_sequence(other, values)
    assert there.ci_low == pytest.approx(-back.ci_high)
    assert there.estimate == pytest.approx(other.mean() - values.mean())


def test_a_rate_that_changes_on_the_way_has_no_interval():
    assert "changed on the way" in betting_sequence([0.0] * 200 + [1.0] * 200).reason


def test_bad_input_is_refused_in_one_line():
    with pytest.raises(InputError, match="largest"):
        betting_sequence([1, 0, 1], ["a", "a", "b"], largest=1)
    with pytest.raises(InputError, match="within"):
        betting_sequence([2.0])
    with pytest.raises(InputError, match="rates"):
        evidence_of_drift([0.5])
    assert math.isnan(betting_sequence([math.nan]).estimate)


def test_capital_grows_as_it_was_bet():
    """All hits against a rate of one half: the first bet is capped at 1, then half of the money wins half each time."""
    e_values = evidence_of_rate([1.0] * 10, rate=0.5).e_values
    assert e_values == pytest.approx((1.5 ** np.arange(1, 11) + 0.5 ** np.arange(1, 11)) / 2)
    assert evidence_of_rate([1.0] * 10, rate=0.5).stopped_at == 10  # 1.5^9 / 2 is 19.2


def worlds(rng, n, rate, sizes, icc):
    """Tasks of these sizes whose own rates vary about `rate`."""
    per_task = rng.choice(sizes, n)
    own = rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), n)
    clusters = np.repeat(np.arange(n), per_task)
    return (rng.random(clusters.size) < own[clusters]).astype(float), clusters


def left_out(values, clusters, largest, rate):
    """Whether the sequence leaves this rate out at some look: one of its players has the money then."""
    up, down = capital(*relative(by_task(values, clusters), largest), [rate], 0.05)
    return max(up.max(), down.max()) >= math.log(40)


def test_a_rate_is_left_out_where_a_player_has_the_money():
    for seed in range(8):
        values, clusters = worlds(np.random.default_rng(seed), 60, 0.2, [4], 0.3)
        sequence = betting_sequence(values, clusters)
        inside = sequence.ci_low <= 0.4 <= sequence.ci_high
        assert inside != left_out(values, clusters, 4, 0.4)


def test_looking_after_every_task_misses_rarely_and_item_by_item_often():
    rng, by_task_out, by_item_out = np.random.default_rng(7), 0, 0
    for _ in range(200):
        values, clusters = worlds(rng, 80, 0.3, [4], 0.5)
        by_task_out += left_out(values, clusters, 4, 0.3)
        by_item_out += left_out(values, None, 1, 0.3)
    assert by_task_out <= 16
    assert by_item_out > 24  # why tasks are the units: this one promises 10 of 200


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("sizes", [[1], [4], [60, 20, 10, 5, 5, 3, 2, 2, 2, 2, 2, 2]])
def test_no_stopping_rule_leaves_the_true_rate_out_too_often(rate, sizes):
    rng = np.random.default_rng(11)
    out = sum(left_out(*worlds(rng, 150, rate, sizes, 0.25), max(sizes), rate) for _ in range(1000))
    assert out <= 50 + 3 * math.sqrt(1000 * 0.05 * 0.95)


def test_versions_without_a_change_are_rarely_told_apart_and_those_with_one_are():
    rng, called, noticed = np.random.default_rng(13), 0, 0
    for _ in range(200):
        (before, clusters), noise = worlds(rng, 60, 0.3, [4], 0.3), rng.random(240)
        after = np.where(noise < 0.2, rng.permutation(before), before)
        called += evidence_of_change(before, after, clusters).stopped_at is not None
        better = np.where(noise < 0.6, 0.0, before)
        noticed += evidence_of_change(before, better, clusters).stopped_at is not None
    assert called <= 18
    assert noticed >= 150


@pytest.mark.slow
def test_drift_beyond_the_noise_is_called_and_noise_is_not():
    rng, called, delays = np.random.default_rng(17), 0, []
    for _ in range(200):
        rates = np.clip(rng.normal(0.5, 0.05, 40), 0, 1)
        called += evidence_of_drift(rates).stopped_at is not None
        delays.append(evidence_of_drift(np.clip(rates + 0.15 * (np.arange(40) >= 10), 0, 1)).stopped_at or 99)
    assert called <= 0.05 * 200
    assert np.median(delays) <= 16


def test_drift_by_the_integral_over_mean_and_spread():
    """The ratio for one beginning and one shift, its right Haar integrals over mean and spread done numerically."""
    from scipy.integrate import quad

    rates = np.array([0.31, 0.28, 0.33, 0.3, 0.45])
    one = np.ones((5, 1))
    total = 1 / 2
    for shift in (2.0, 8.0):
        after = (np.arange(5) >= 4).astype(float)

        def marginal(covariance):
            """Flat over the mean by its closed form; ds / s by quadrature."""
            inverse = np.linalg.inv(covariance)
            weight = float((one.T @ inverse @ one)[0, 0])
            centred = rates - float((one.T @ inverse @ rates)[0]) / weight
            form = float(centred @ inverse @ centred)
            scale = math.sqrt(form)
            integral = quad(
                lambda s: (s / scale) ** -5.0 * math.exp(-form / (2 * s * s)) / scale, 0.02 * scale, 50 * scale
            )[0]
            return integral * scale**-4 / math.sqrt(np.linalg.det(covariance) * weight)

        total += marginal(np.eye(5) + shift**2 * np.outer(after, after)) / marginal(np.eye(5)) / 2 / 2
    assert evidence_of_drift(rates).e_values.tolist() == pytest.approx([1.0, 1.0, 1.0, total], rel=1e-3)
    assert evidence_of_drift(rates * 0.5 + 0.1).e_values[-1] == pytest.approx(total, rel=1e-3)  # scale does not matter
    coarse = evidence_of_drift(rates, resolution=0.05).e_values[-1]
    assert evidence_of_drift(rates * 0.5 + 0.1, resolution=0.025).e_values[-1] == pytest.approx(coarse)
    assert coarse < total
    assert evidence_of_drift([0.2] * 9).e_values[-1] == 1.0


def test_drift_of_runs_takes_what_every_occasion_has():
    """By hand: as many runs as the shortest occasion has, items that all have, an occasion without verdicts none."""
    nan = math.nan
    two = [[1, 1, nan], [0, 1, nan], [nan, 1, nan]]
    assert occasion_means([two, [0, 1, 1], np.full(3, nan)]).tolist() == pytest.approx([0.5, 0.5, nan], nan_ok=True)
    assert np.isnan(occasion_means([np.full(3, nan)] * 2)).all()
    assert np.isnan(occasion_means([[1, nan], [nan, 1]])).all()
    assert evidence_of_runs([[1, 0]] * 4) is None
    steady = [evidence_of_runs([[1, 0]] * 5), evidence_of_drift([0.5] * 5, resolution=1 / 2)]
    assert steady[0].e_values.tolist() == steady[1].e_values.tolist()
    drifted = evidence_of_drift([0.20, 0.22, 0.19, 0.21, 0.40, 0.41, 0.40, 0.41])
    assert drifted.p_value == 1 / max(drifted.e_values)


def test_looking_costs_twice_to_four_times_the_labels_at_ordinary_rates():
    times = [price_of_looking(rate, half).times for rate in (0.05, 0.2) for half in (0.1, 0.15)]
    assert 1.5 <= min(times) <= max(times) <= 4
    assert price_of_looking(0.5, 0.1)[2:] == (93, 324)  # Wilson at 46.5 of 93: .0996; longer than is looked at first
    assert price_of_looking(0.2, 0.1).fixed == 60  # Wilson at 12 of 60: half width .0997
    with pytest.raises(InputError, match="8,192"):
        price_of_looking(0.5, 0.01)


def edits(seed, n_tasks, gain):
    """Scores of a parent and of a candidate that mends this share of all errors, and errs anew half as often."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n_tasks), rng.integers(1, 5, n_tasks))
    parent = rng.random(clusters.size) < 0.5
    other = rng.random(clusters.size)
    return np.where(parent, other >= gain / 2, other < gain), parent, clusters


@pytest.mark.parametrize("is_last", [False, True])
def test_an_edit_is_shown_better_just_where_its_lower_end_lies_above_0(is_last):
    """Before the last look where its capital just reaches, and just misses, what a part of the error asks."""
    shares = []
    for seed in range(12):
        better, parent, clusters = edits(seed, 40, 0.5)
        how = {"largest": 4, "is_last": is_last}
        e_value = shown_better(better, {"parent": parent}, clusters, **how).e_values["parent"]
        reached = 2 / (ON_LOOKS * e_value) if e_value > 10 else 0.05
        for level in (0.05, (1 + 1e-6) * reached, (1 - 1e-6) * reached):
            shown = shown_better(better, {"parent": parent}, clusters, **how, level=level)
            assert shown.is_better == (shown.gain.ci_low > 0)
            assert is_last or shown.is_better == (e_value >= 2 / (ON_LOOKS * level))
            shares.append(shown.is_better)
        mirrored = shown_better(parent, {"parent": better}, clusters, **how, level=level).gain
        assert (mirrored.ci_low, mirrored.ci_high) == pytest.approx((-shown.gain.ci_high, -shown.gain.ci_low))
    assert 0 < sum(shares) < len(shares)


def test_a_bound_by_bets_is_the_gain_at_which_they_have_just_enough():
    """Task after task, without arrays."""
    better, parent, clusters = edits(3, 60, 1.0)
    low = shown_better(better, {"parent": parent}, clusters, largest=4, is_last=False).gain.ci_low
    changes, enough = better.astype(float) - parent, 2 / (ON_LOOKS * 0.05)

    def richest(gain):
        capitals, most = PARTED.tolist(), 1.0
        for task in range(60):
            points = sum(changes[clusters == task]) / 4
            net = (points - gain * (clusters == task).sum() / 4) / (1 + gain)
            capitals = [money * (1 + bet * net) for money, bet in zip(capitals, BETS, strict=True)]
            most = max(most, sum(capitals))
        return most

    assert 0 < low < (better.sum() - parent.sum()) / parent.size
    assert richest(low) == pytest.approx(enough, rel=1e-6)
    assert richest(low - 1e-6) > enough > richest(low + 1e-6)


def test_the_last_look_has_the_interval_of_paired_shares_with_one_item_more_each_way():
    """Bonett and Price (2012), items alone: shares (a + 1) / (n + 2) and (b + 1) / (n + 2), and their variance."""
    up, down, n = 14, 4, 60
    change = np.random.default_rng(1).permutation(np.r_[np.ones(up), -np.ones(down), np.zeros(n - up - down)])
    gain = shown_better(np.maximum(change, 0), {"parent": np.maximum(-change, 0)}, np.arange(n)).gain
    one, other = (up + 1) / (n + 2), (down + 1) / (n + 2)
    error = math.sqrt((one + other - (one - other) ** 2) / (n + 2))
    from_t = stats.t.ppf(1 - (1 - ON_LOOKS) * 0.025, n + 1) * error * math.sqrt((n + 2) / (n + 1))
    assert gain.ci_low == pytest.approx(one - other - from_t, abs=2e-3)
    assert gain.ci_high == pytest.approx(one - other + from_t, abs=2e-3)
    assert gain.estimate == pytest.approx((up - down) / n)


def test_it_must_beat_every_control_and_what_is_no_better_is_rarely_shown():
    better, parent, clusters = edits(3, 60, 0.7)
    assert shown_better(better, {"parent": parent, "padding": parent}, clusters).is_better
    beaten = shown_better(better, {"parent": parent, "padding": better}, clusters)
    assert not beaten.is_better
    assert beaten.e_values["padding"] == 1.0
    assert beaten.more_items >= 0
    falsely = missed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values, clusters = worlds(rng, 40, 0.5, [1, 4], 0.3)
        other = np.where(rng.random(values.size) < 0.3, rng.permutation(values), values)
        shown = shown_better(values, {"parent": other}, clusters, largest=4)
        falsely += shown.is_better
        missed += not shown.gain.ci_low <= 0 <= shown.gain.ci_high
    assert falsely <= 2.5 + 3 * math.sqrt(100 * 0.025 * 0.975)
    assert missed <= 5 + 3 * math.sqrt(100 * 0.05 * 0.95)
    with pytest.raises(InputError, match="parent"):
        shown_better([1], {"padding": [0]}, [1])


def test_candidates_one_after_the_other_on_the_same_tasks_are_falsely_shown_in_the_level_at_most():
    """Each is in half of its level, for as long as anybody goes on."""
    assert sum(level_of(0.05, number) / 2 for number in range(1, 10_000)) <= 0.05
    better, parent, clusters = edits(3, 40, 0.5)
    lows = [
        shown_better(better, {"parent": parent}, clusters, level=level_of(0.05, number)).gain.ci_low
        for number in range(1, 9)
    ]
    assert all(one > other for one, other in pairwise(lows))
    assert lows[0] > lows[-1] + 0.05


def test_how_many_more_labels_show_a_gain_is_said():
    def more(before, after, tasks):
        return shown_better(after, {"parent": before}, tasks).more_items

    still = np.zeros(20)
    turning, tasks = np.tile([0.0, 1.0], 30), np.arange(60)
    assert more(still, still, np.arange(20)) > more(np.zeros(40), np.zeros(40), np.arange(40)) > 0
    assert more(still[:4], still[:4], np.zeros(4)) > 0  # of one task as well
    assert more(np.tile([0, 1], 900), np.tile([0, 1], 900), np.arange(1800)) == 0  # they would have shown it already
    assert more(turning, 1 - turning, tasks) > 1_000  # everything turns, to and fro
    # of tasks whose items turn alike more items are needed than of items that turn alone
    assert more(np.repeat(turning[:30], 2), np.repeat(1 - turning[:30], 2), tasks // 2) > more(
        turning, 1 - turning, tasks
    )


def test_so_many_labels_do_show_it_in_half_of_all_cases():
    rng, n = np.random.default_rng(1), 30
    change = rng.choice([-1.0, 0.0, 1.0], n, p=[0.1, 0.8, 0.1])
    needed = n + shown_better(np.maximum(change, 0), {"parent": np.maximum(-change, 0)}, np.arange(n)).more_items
    v = (change**2).mean() - change.mean() ** 2
    shown = 0
    for _ in range(200):
        p = [(v - SHOWN_GAIN) / 2, 1 - v, (v + SHOWN_GAIN) / 2]
        drawn = rng.choice([-1.0, 0.0, 1.0], needed, p=p)
        shown += shown_better(np.maximum(drawn, 0), {"parent": np.maximum(-drawn, 0)}, np.arange(needed)).is_better
    assert shown / 200 == pytest.approx(0.5, abs=0.1)  # three errors of 200 draws


@pytest.mark.parametrize("n_compared", [1, 2])
def test_the_items_that_are_missing_solve_the_equation_of_the_last_look(n_compared):
    """sqrt(v N + 2) / N = .05 / z, with z raised by the median of the larger of two errors, half of it shared."""
    points, sizes = np.array([2, -1, 0, 1, 0, 0, -1, 1, 0, 0]), np.array([3, 1, 2, 4, 2, 1, 2, 3, 1, 1])
    task = np.repeat(np.arange(10), sizes)
    first = np.arange(20) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    change = np.where(first < np.abs(points)[task], np.sign(points)[task], 0.0)
    before, after = np.maximum(-change, 0), np.maximum(change, 0)
    compared = {"parent": before, "padding": before} if n_compared == 2 else {"parent": before}
    v = ((points - sizes * points.sum() / 20) ** 2).sum() / 20
    z = stats.norm.ppf(1 - 0.6 * 0.025) + (n_compared > 1) * stats.norm.ppf(0.5**0.5) / math.sqrt(2)
    needed = 20 + shown_better(after, compared, task).more_items
    assert math.sqrt(v * needed + 2) / needed <= SHOWN_GAIN / z < math.sqrt(v * (needed - 1) + 2) / (needed - 1)


def test_the_level_of_the_k_th_candidate():
    assert [level_of(0.06, k) for k in (1, 2, 3, 4)] == pytest.approx([0.06, 0.03, 0.01, 0.005])


@pytest.mark.parametrize(("n_tasks", "by_tasks"), [(8, True), (7, False)])
def test_eight_tasks_and_two_more_items_carry_the_interval_of_the_last_look(n_tasks, by_tasks):
    """Ten clusters carry a standard error; with fewer bets have the whole error, two fifths before the last look."""
    how = {"compared": {"parent": np.zeros(n_tasks)}, "clusters": np.arange(n_tasks)}
    last, before = (shown_better(np.ones(n_tasks), **how, is_last=is_last).gain for is_last in (True, False))
    assert ("t on" in last.method, "t on" in before.method) == (by_tasks, False)
    assert last.ci_level == 0.95
    assert last.ci_low > before.ci_low
