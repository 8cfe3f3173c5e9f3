"""Budgets, estimates, pauses, plans and outcomes by hand, each at its limit."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import polars as pl
import pytest
from judging.worlds import CoinJudge, rubrics, trajectories

from axisjudge.checks import InputError
from axisjudge.judges import Reply, make_judges
from axisjudge.judges.answer import Answer, Failure
from axisjudge.judges.remote import BatchStatus
from axisjudge.judging import api, batch, doctor, estimate, judging_run, lane, make_plan, plan, run
from axisjudge.judging.batch import Batch, Batches
from axisjudge.judging.budget import Budget, CallCosts
from axisjudge.judging.cascade import Cascade, second_run
from axisjudge.judging.doctor import Examination, probe
from axisjudge.judging.estimate import JudgeEstimate, PlanEstimate, agree, estimate_of, span
from axisjudge.judging.inquiry import Inquiry, OfAxes, empty_run
from axisjudge.judging.judging_run import Outcome
from axisjudge.judging.lane import LaneEnd, Pause
from axisjudge.judging.machines import Shard
from axisjudge.judging.plan import RunOptions, plan_calls
from axisjudge.judging.run import Progress, ratings_of
from axisjudge.ratings import ratings_frame
from axisjudge.verdict import Rating

pytestmark = pytest.mark.usefixtures("no_real_service")
NOTHING = ratings_frame([])


class Worth(CoinJudge):
    """A judge whose calls may cost so much, and do so usually."""

    def __init__(self, worst, usual=None):
        super().__init__(f"worth-{worst}")
        self.worst, self.usual = worst, usual

    def worst_usd(self, n_bytes, n_points=1, reply_tokens=0):
        return self.worst

    def usual_usd(self, n_letters, n_points=1):
        return self.usual


def calls_of(judge, n):
    return [group[0] for group in make_plan(trajectories(n), [judge], {"termination": rubrics()["termination"]}).groups]


def room(budget, call):
    """Whether there is room for a call now; None where it must wait."""

    async def asked():
        try:
            return await asyncio.wait_for(budget.reserve(call), 0.01)
        except TimeoutError:
            return None

    return asyncio.run(asked())


# Budgets.


@pytest.mark.parametrize(
    ("costs", "worst", "bound"),
    [
        (CallCosts(5, 0.01), None, 0.02),  # the largest and 5/5 of it
        (CallCosts(5, 0.01), 0.015, 0.015),  # never above the worst
        (CallCosts(10, 0.01, 10, 0.2), 1.0, 0.3),  # ten shares of the worst are enough
        (CallCosts(9, 0.09, 9, 0.2), 1.0, 0.14),
        (CallCosts(10, 0.01, 10, 0.9), 1.0, 1.0),
        (CallCosts(10, 0.01, 10, 0.2), None, 0.015),
    ],
)
def test_what_a_next_call_is_set_aside_at(costs, worst, bound):
    assert costs.bound(worst) == pytest.approx(bound)


def test_calls_tell_the_largest_cost_and_share():
    costs = CallCosts()
    for cost, worst in ((0.2, 1.0), (0.1, 0.25), (0.3, None)):
        costs.add(cost, worst)
    assert costs == CallCosts(3, 0.3, 2, 0.4)


def test_a_budget_lets_in_what_just_fits_and_no_more():
    judge = Worth(0.25)
    calls = calls_of(judge, 6)
    budget = Budget(1.0, spent_usd=0.25)
    assert [room(budget, call) for call in calls[:3]] == [True] * 3
    assert (budget.under_way_usd, room(budget, calls[3])) == (0.75, None)  # others are under way: it waits
    budget.settle(calls[0], 0.125)
    assert (budget.known_usd, budget.under_way_usd) == (0.375, 0.5)
    budget.settle(calls[1], None)  # nobody knows: it counts at what it was set aside at
    assert (budget.assumed_usd, budget.n_assumed, budget.spent_usd) == (0.25, 1, 0.625)
    assert budget.reason == (
        "the next call could pass the budget of $1; spent $0.6250, $0.2500 of it for 1 calls whose cost nobody knows"
    )
    budget.settle(calls[2], 0.0)  # what cost nothing tells nothing
    assert (budget.costs_of(judge), budget.under_way_usd) == (CallCosts(1, 0.125, 1, 0.5), 0.0)
    assert [room(budget, call) for call in calls[3:5]] == [True, None]
    assert room(Budget(1.0, 1.0), calls[0]) is False
    assert Budget(1.0, 0.5).reason.endswith("; spent $0.5000")


def test_what_may_have_been_paid_before_counts_at_the_largest_and_then_at_the_bound():
    few, many = ({"r": CallCosts(n, 0.1)} for n in (9, 10))
    assert Budget(1.0, 0.5, few, {"r": 2}).spent_usd == pytest.approx(0.7)
    assert Budget(1.0, 0.5, many, {"r": 2}).spent_usd == pytest.approx(0.8)  # 1.5 times the largest each
    assert Budget(1.0, 0.5, {}, {"r": 2}).spent_usd == 0.5


def test_where_little_is_known_a_call_goes_at_its_worst_or_alone():
    judge = Worth(0.5, usual=0.125)
    first, second, third = calls_of(judge, 3)
    budget = Budget(0.75)
    assert room(budget, first) is True
    assert budget.under_way_usd == 0.5
    assert room(budget, second) is None  # another at its worst passes: alone, so it waits
    budget.settle(first, 0.015625)
    budget.limit_usd = 0.25
    assert room(budget, second) is True  # not at its worst any more: at what is usual
    assert budget.under_way_usd == 0.125
    assert room(budget, third) is None
    budget.settle(second, 0.03125)
    assert room(budget, third) is True  # at 3.5 times the largest of two is less than usual
    assert budget.under_way_usd == 0.125
    taught = Budget(0.5, 0.0, {judge.rater: CallCosts(9, 0.18)})
    assert [room(taught, call) for call in (first, second)] == [True, None]  # nine are not enough: one at its worst
    taught = Budget(0.5, 0.0, {judge.rater: CallCosts(10, 0.16)})
    assert [room(taught, call) for call in (first, second, third)] == [True, True, None]  # at .24 each
    alone = Budget(0.4, 0.0, {judge.rater: CallCosts(5, 0.1)})
    assert [room(alone, call) for call in (first, second)] == [True, None]
    assert alone.under_way_usd == pytest.approx(0.2)  # twice the largest of five, which is more than usual


@pytest.mark.parametrize(
    ("told", "share", "each"), [(None, 0.5, 0.05), (CallCosts(10, 0.1), 0.5, 0.075), (CallCosts(1, 0.01), 0.5, 0.03)]
)
def test_what_a_call_of_a_batch_is_set_aside_at(told, share, each):
    """A quarter of its worst where nothing is known, else by what its calls have told; by the batch's share of both."""
    judge = Worth(0.4)
    calls = calls_of(judge, 5)
    budget = Budget(1.0, 0.0, {judge.rater: told} if told else {})
    assert budget.of_batch_usd(calls[0], share) == pytest.approx(each)
    budget.limit_usd = 4 * each + 1e-9
    assert budget.n_fitting(calls, share) == 4
    assert budget.n_fitting(calls, share, 2) == 2
    budget.limit_usd = 4 * each - 1e-9
    assert budget.n_fitting(calls, share) == 3
    budget.set_aside(calls[0], share)
    assert budget.under_way_usd == pytest.approx(each)
    budget.settle(calls[0], each / 10, share)
    assert budget.costs_of(judge).largest_usd >= each / 10 / share  # told in whole prices


# Pauses and losses.


@pytest.fixture
def clock(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    return now


def test_a_pause_doubles_with_each_round_up_to_a_minute(clock):
    pause = Pause("p")
    waits = []
    for _ in range(8):
        waits.append(pause.extend(None))
        assert pause.extend(None) == waits[-1]  # whoever is refused meanwhile joins it
        clock[0] = pause.until
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    pause.end()
    assert pause.extend(None) == 1


def test_a_pause_is_as_long_as_is_asked_but_for_one_that_asks_again_and_again(clock):
    pause = Pause("p")
    waits = []
    for _ in range(9):
        waits.append(pause.extend(0.25))
        clock[0] = pause.until
    assert waits == [0.25, 0.25, 0.25, 1, 2, 4, 8, 16, 16]  # three rounds are believed
    assert Pause("q").extend(600) == 60
    other = Pause("r")
    assert (other.extend(5), other.extend(9), other.extend(2)) == (5, 9, 9)  # lengthened, never cut


FREE, PAID = Failure("passing", "a"), Failure("timeout", "b", maybe_paid=True)


@pytest.mark.parametrize(
    ("reply", "cost", "may_be_paid"),
    [
        (Reply({}, cost_usd=0.5), 0.5, True),
        (Reply({}), None, False),
        (Reply({}, failure=FREE), 0.0, False),
        (Reply({}, failure=FREE, cost_usd=0.5), 0.5, True),
        (Reply({}, failure=PAID), None, True),
        (Reply({}, failure=PAID, cost_usd=0.0), 0.0, True),
    ],
)
def test_what_a_call_cost_and_whether_it_may_have_been_paid(reply, cost, may_be_paid):
    assert lane._cost_of(reply) == cost
    assert lane._may_be_paid(reply) is may_be_paid
    assert lane._cost_of(None) is None
    assert lane._with_unknown(reply, 0) is reply
    assert lane._with_unknown(replace(reply, flags=("f",)), 2).flags == ("f", "maybe_paid:2")


@pytest.mark.parametrize(
    ("reply", "worst", "limit", "stops"),
    [
        (Reply({}), None, 1.0, True),
        (Reply({}), 0.1, 1.0, False),  # it has a price
        (Reply({}, cost_usd=0.0), None, 1.0, False),  # its replies tell one
        (Reply({}, failure=FREE), None, 1.0, False),  # nothing came that could tell
        (Reply({}), None, None, False),  # no budget is kept
    ],
)
def test_a_judge_without_a_price_ends_only_where_a_budget_is_kept(reply, worst, limit, stops):
    judge = Worth(worst)
    reasons = []
    ours = SimpleNamespace(judge=judge, end=LaneEnd(judge), stop=reasons.append, budget=limit and Budget(limit))
    lane.Lane._look_for_price(ours, calls_of(judge, 1)[0], reply)
    assert (len(reasons), ours.end.at_budget) == (int(stops), stops)


@pytest.mark.parametrize("limit", [None, 0.09])
def test_a_batch_sets_aside_what_it_takes_and_no_more(limit, monkeypatch):
    """An eighth of .1 a call, as in a first batch, of which seven fit; what needs no call is settled at once."""
    judge = Worth(0.1)
    left = {str(n): call for n, call in enumerate(calls_of(judge, 12))}
    monkeypatch.setattr(batch, "_request", lambda call: Reply({}) if call is left["0"] else {"n": 1})
    settled, kept = [], limit and Budget(limit)
    ours = SimpleNamespace(budget=kept, end=LaneEnd(judge), judge=judge, _left=left, _is_over=False, _n_of_budget=0)
    ours._settle = lambda name, reply: settled.append(name)
    fitting = asyncio.run(batch.BatchLane._that_fit(ours, list(left), is_idle=True))
    assert (settled, list(fitting)) == (["0"], [str(n) for n in range(1, 12 if limit is None else 8)])
    if kept:
        assert (ours.end.at_budget, ours._n_of_budget) == (True, 1)
        assert kept.under_way_usd == pytest.approx(0.0875)


def test_calls_are_paid_that_a_model_answered_or_that_cost_something():
    kinds = {"llm": None, "decision_model": 0.0, "rules": 0.0, "human": 2.0, "simulated": None, "reference": 0.01}
    rows = [
        Rating(
            trajectory_id="r",
            cluster_id="r",
            question="q",
            rater=kind,
            rater_kind=kind,
            family=kind,
            verdict="correct",
            cost_usd=usd,
        )
        for kind, usd in kinds.items()
    ]
    paid = {row["rater"]: row["usd"] for row in estimate.calls_of(ratings_frame(rows)).iter_rows(named=True)}
    assert paid == {"llm": None, "decision_model": 0.0, "human": 2.0, "reference": 0.01}
    assert {each.rater for each in estimate.cost_of(ratings_frame(rows))} == set(paid)


@pytest.mark.parametrize("option", ["Split", "repeat", "judge"])
def test_an_option_that_there_is_not_is_refused_before_anything_is_asked(option):
    with pytest.raises(TypeError, match=option):
        api.judging_run(trajectories(1), ["rules"], **{option: "x"})


def test_a_lane_counts_what_its_replies_tell():
    end = LaneEnd(CoinJudge())
    for reply in (
        Reply({}, cost_usd=0.5, input_tokens=100, cached_tokens=40),
        Reply({}, input_tokens=7),
        Reply({}, cost_usd=0.25, cached_tokens=2),
        None,
    ):
        end.count(reply)
    assert (end.spent_usd, end.input_tokens, end.cached_tokens) == (0.75, 100, 42)
    assert end.commonest_failure is None
    end.failures.update(["a", "b", "b"])
    assert end.commonest_failure == "b"


@pytest.mark.parametrize(
    ("kind", "runs", "stops"),
    [
        ("key", "aaaa", False),
        ("key", "aaaaa", True),
        ("request", "aaaaaaaaa", False),  # of one run alone: others may pass
        ("request", "aaaab", True),
        ("unreadable", "aaaaa", False),
        ("unreadable", "abcde", True),
    ],
)
def test_a_lane_ends_with_the_fifth_failure_alike(kind, runs, stops):
    said = []
    one = lane_with(tell=said.append)
    for run_id in runs:
        one._count(Failure(kind, "why"), run_id)
    assert one.has_ended is stops
    assert said == ([f"simulated:coin is stopped: {len(runs)} calls in a row failed alike; why"] if stops else [])
    other = lane_with()
    for number in range(9):
        other._count(Failure(("key", "model")[number // 4 % 2], "why"), "a")  # four of one kind, then four of another
    assert not other.has_ended


@pytest.mark.parametrize(
    ("status", "n", "runs", "tokens", "stops"),
    [
        ("parse_error", 19, 5, 1, False),
        ("parse_error", 20, 5, 1, True),
        ("parse_error", 40, 4, 1, False),
        ("truncated", 20, 5, 1, True),
        ("truncated", 20, 5, 0, False),  # nothing was written: the prompt was too long
        ("refused", 40, 5, 1, False),
    ],
)
def test_a_judge_none_of_whose_replies_is_a_verdict_is_asked_no_more(status, n, runs, tokens, stops):
    empty = Reply({"termination": Answer(status, rationale="why")}, output_tokens=tokens)
    one, other = lane_with(), lane_with()
    other._look_for_verdict(Reply({"termination": Answer("ok", "correct")}), "a")
    for number in range(n):
        one._look_for_verdict(empty, f"run-{number % runs}")
        other._look_for_verdict(empty, f"run-{number % runs}")
    assert (one.has_ended, other.has_ended) == (stops, False)  # one verdict shows that it can give some


def lane_with(**how):
    known = {"concurrency": 1, "pause": Pause("p"), "budget": None, "patience_s": 60, "answered": None, "tell": print}
    return lane.Lane(CoinJudge(), **{"groups": [], **known, **how})


@pytest.mark.parametrize(
    ("asked", "told"), [(0.5, None), (1.0, ""), (61.0, ""), (61.5, " (it asks for 61.5 s, and is tried before)")]
)
def test_a_pause_of_a_second_or_more_is_told_once(clock, asked, told):
    lines = []
    one = lane_with(waits=lambda provider, line: lines.append(line))
    for _ in range(2):
        one._wait_for(Failure("limit", "busy", retry_after_s=asked))
    assert len(lines) == (told is not None)
    if told is not None:
        assert re.fullmatch(r"simulated:coin waits for p until \d\d:\d\d:\d\d(.*): busy", lines[0])[1] == told
    assert not one.has_ended


@pytest.mark.parametrize(("patience", "stops"), [(60, False), (59.5, True)])
def test_a_provider_may_stay_closed_as_long_as_the_patience_lasts(clock, patience, stops):
    one = lane_with(patience_s=patience)
    one._wait_for(Failure("limit", "busy", retry_after_s=30))
    clock[0] += 30
    one._wait_for(Failure("limit", "busy", retry_after_s=30))  # counted from the first refusal
    assert one.has_ended is stops
    assert stops == (one.end.stopped == f"p stayed closed beyond the patience of {patience:g} s; busy")


@pytest.mark.parametrize(
    ("retries", "asked", "waited"),
    [(0, None, 0.4375), (1, None, 0.875), (4, None, 7.0), (5, None, 8.0), (0, 3.0, 3.0), (0, 99.0, 60.0)],
)
def test_a_passing_failure_is_asked_again_after_a_while(clock, monkeypatch, retries, asked, waited):
    """Half a second, doubled with each try, up to 8; or as long as is asked for, up to a minute."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    one = lane_with()
    asyncio.run(one._back_off(Failure("passing", "x", retry_after_s=asked), retries))
    assert slept == [waited]


def test_the_others_of_a_group_come_while_its_prompt_is_warm_and_the_last_groups_before_them():
    judge = CoinJudge()
    groups = make_plan(trajectories(3), [judge], rubrics()).groups
    one = lane_with(groups=groups, concurrency=5)
    assert (one._width, one._full_width, one.end.not_asked) == (4, 5, 15)
    order = []
    while one._is_left:
        calls = one._next()
        order.append((calls[0].trajectory.id, len(calls)))
        one._others.extend(reversed(calls[1:]))
        one._width = 4
    assert order[:6] == [("run-0", 5), *[("run-0", 1)] * 4, ("run-1", 5)]  # ten calls are left, and four at once
    wide = lane_with(groups=groups, concurrency=10)
    wide._open()
    assert wide._next()[0].trajectory.id == "run-0"
    wide._others = list(groups[0][1:])
    assert wide._next()[0].trajectory.id == "run-1"  # the last ten: all are begun
    assert [lane_with(concurrency=n)._width for n in (3, 4, 9)] == [3, 4, 4]


@pytest.mark.parametrize(("days", "kept"), [(28.9, True), (29.1, False)])
def test_a_batch_of_29_days_is_gone(days, kept):
    since = datetime.now(UTC) - timedelta(days=days)
    assert batch.Batch("r", "t", since.isoformat(), ("a",)).is_kept is kept


def test_how_it_ended_in_sentences_and_rows():
    end = LaneEnd(CoinJudge("a"), calls=7, statuses=Counter(ok=3, refused=2), not_asked=4, stopped="no key.")
    left = LaneEnd(CoinJudge("b"), not_asked=2, spent_usd=0.5, failures=Counter(x=1))
    told = Outcome(ends=(end, left), was_interrupted=True)
    assert told.sentences() == [
        "Spent, as the server told or by list price: $0.5000.",
        "2 ratings were not asked for, or were given up on their way.",
        "simulated:a is stopped: no key. 4 of its ratings were not asked for; the same command asks for them.",
    ]
    assert replace(told, was_interrupted=False, ends=(replace(end, at_budget=True),)).sentences() == [
        "simulated:a is stopped: no key. 4 of its ratings were not asked for; the same command with a larger budget "
        "asks for them."
    ]
    first, second = told.rows()
    assert (first["calls"], first["answered"], first["lost"], first["not asked"]) == (7, 3, 2, 4)
    assert (second["spent $"], second["commonest failure"], first["commonest failure"]) == (0.5, "x", None)


def test_a_request_of_yesterday_is_found_today():
    """Its id stands in the provider's batch: sha256 of item, rater, version, prompt and repeat as JSON."""
    name = batch.request_id(("run-0", "termination", "openai:gpt-5", "1", "hash", 0))
    assert name == "913e8298c38839859a5e27697a2a66b0e8816cfb"


# What a reply yields.


def test_the_tokens_of_a_call_are_shared_evenly_and_add_up():
    joint = CoinJudge(joint=True)
    ((call,),) = make_plan(trajectories(1), [joint], rubrics()).groups
    answers = {axis: Answer("ok", "correct", 0.75, "verbalized") for axis in call.rubrics}
    reply = Reply(answers, input_tokens=12, output_tokens=5, cached_tokens=None, cost_usd=1.0, call_id="c" * 300)
    made = ratings_of(call, reply, "run")
    assert [rating.input_tokens for rating in made] == [3, 3, 2, 2, 2]
    assert [rating.output_tokens for rating in made] == [1] * 5
    assert {(rating.cached_tokens, rating.cost_usd, len(rating.call_id)) for rating in made} == {(None, 0.2, 200)}
    (only,) = ratings_of(replace(call, wanted=("sequencing",)), reply, "run")
    assert (only.question, only.cost_usd) == ("sequencing", 1.0)  # the others are thrown away, and paid


@pytest.mark.parametrize(
    ("n_letters", "n_cited", "flags"),
    [
        (20_000, 500, []),
        (20_001, 500, ["rationale_cut:20001"]),
        (3, 501, ["citations_cut:501"]),
    ],
)
def test_an_answer_is_kept_at_a_length_that_a_file_can_hold(n_letters, n_cited, flags):
    answer = Answer("ok", "correct", rationale="x" * n_letters, cited_step_indices=tuple(range(n_cited)))
    kept = run._kept_of(answer)
    assert list(kept.flags) == flags
    assert len(kept.cited_step_indices) == min(n_cited, 500)
    assert kept.rationale == ("x" * n_letters if n_letters <= 20_000 else "x" * 20_000 + " [cut]")


@pytest.mark.parametrize(
    ("ending", "axis", "verdict"),
    [
        ("agent_error", "termination", "incorrect"),
        ("Error", "termination", "incorrect"),
        ("max_steps", "termination", "uncertain"),
        (None, "termination", "not_applicable"),
        ("error", "sequencing", "not_applicable"),
    ],
)
def test_a_run_without_a_message_is_rated_by_definition(ending, axis, verdict):
    run = trajectories(1)[0].model_copy(update={"steps": (), "termination": ending})
    answer = empty_run(run, axis)
    assert (answer.status, answer.verdict, answer.flags) == ("ok", verdict, ("empty_run",))
    inquiry = OfAxes(run, {axis: rubrics()[axis]})
    assert inquiry.unasked(CoinJudge()).answers == {axis: answer}
    assert OfAxes(trajectories(1)[0], inquiry.rubrics).unasked(CoinJudge()) is None


# Estimates.


def estimated(judge, **given):
    """Four calls of 1,600 letters."""
    known = {
        "n_calls": 4, "input_tokens": (1_000, 2_000), "cached_tokens": (0, 500), "output_tokens": (100, 100),
        "usd": (1, 2.5), "uncached_usd": (2, 4), "seconds": (60, 9_000), "n_history": 0, "letters": (400, 0, 800, 400),
    }  # fmt: skip
    return JudgeEstimate(judge, **known | given)


def test_an_estimate_as_a_line_of_a_table():
    judge, own = make_judges(["openai:gpt-5", "openai-compatible:m@http://127.0.0.1:9/v1,family=x"])
    one = estimated(judge)
    assert one.row() == {
        "judge": judge.rater, "calls": 4, "tokens in": "1,000 to 2,000", "cached": "0 to 500 (0 to 25%)", "out": "100",
        "price $": "1.00 to 2.50", "without cache $": "2.00 to 4.00", "in a batch $": "1.00 to 2.00",
        "minutes": "1.0 to 150.0", "answers by": "a stated range",
    }  # fmt: skip
    assert one.parts == "instructions 25 (25%), run 50 (50%), rubrics 25 (25%)"
    batch = one.in_a_batch
    assert (batch.usd, batch.cached_tokens, batch.seconds) == ((1, 2), (0, 500), (60, 86_400))  # a day at most
    assert estimated(own).in_a_batch.seconds == (60, 9_000)  # it has no such interface
    assert estimated(judge, uncached_usd=None).batch_usd is None
    row = estimated(judge, usd=None, uncached_usd=None, n_history=12, cached_tokens=(500, 1500)).row()
    assert (row["price $"], row["without cache $"], row["in a batch $"]) == ("unpriced", "unpriced", "-")
    assert (row["answers by"], row["cached"]) == ("its 12 calls on file", "500 to 1,500 (50 to 75%)")


def test_the_estimate_of_several_judges_is_their_sum_and_the_longest_time():
    judge, own = make_judges(["openai:gpt-5", "openai-compatible:m@https://models.example.org/v1,family=x"])
    both = PlanEstimate((estimated(judge), estimated(own, usd=None, seconds=(30, 600), cached_tokens=(1_000, 1_000))))
    assert (both.usd, both.seconds, both.unpriced) == ((1, 2.5), (60, 9_000), [own.rater])
    assert both.sentence == (
        "8 calls to models, about $1.00 to 2.50 by list or stated price, 1.0 to 150.0 minutes, "
        f"{2_500 / 6_000:.0%} of prompts cached; unpriced: {own.rater}"
    )
    assert PlanEstimate((estimated(CoinJudge(), usd=None),)).unpriced == []  # a program costs nothing
    assert PlanEstimate(()).seconds == (0, 0)


@pytest.mark.parametrize(
    ("low", "high", "digits", "text"), [(1, 1.4, 0, "1"), (1, 1.6, 0, "1 to 2"), (1e3, 1e3, 2, "1,000.00")]
)
def test_a_range_whose_ends_look_alike_is_one_number(low, high, digits, text):
    assert span((low, high), digits) == text


PARTS = ["i" * 1_000, "s" * 2_000, "r" * 3_000, "q" * 2_500]  # 8,500 letters, and 1,500 that the provider adds


def foreseen(monkeypatch, spec, axes=("sequencing", "termination"), n=2, parts=PARTS, history=NOTHING, **options):
    monkeypatch.setattr(OfAxes, "prompt", lambda inquiry, judge: parts)
    (judge,) = make_judges([spec])
    asked = make_plan(trajectories(n), [judge], {axis: rubrics()[axis] for axis in axes})
    (found,) = estimate_of(asked, history, RunOptions(**options)).judges
    return judge, found


def test_tokens_of_a_prompt_that_others_have_left_in_the_cache(monkeypatch):
    """10,000 letters are 2,000 to 3,333 tokens. Two runs with one setting, of two calls each.

    The second call of a run reads instructions, setting and run (.6 of its tokens), the first of the second run the
    first two (.3): 600 to 1,000 tokens, which is less than what is kept (1,024).
    """
    _, found = foreseen(monkeypatch, "openai:gpt-5")
    assert found.input_tokens == pytest.approx((8_000, 40_000 / 3))
    assert found.cached_tokens == pytest.approx((2 * 1_200, 2 * 2_000))
    assert found.letters == (4_000, 8_000, 12_000, 10_000)
    longer = [PARTS[0] * 2, PARTS[1] * 2, PARTS[2], PARTS[3]]  # 13,000 letters: 1,200 to 2,000 tokens of a setting
    _, found = foreseen(monkeypatch, "openai:gpt-5", parts=longer)
    assert found.cached_tokens == pytest.approx((2 * 1_800 + 1_200, 2 * 3_000 + 2_000))


def test_answers_and_prices_where_nothing_is_on_file(monkeypatch):
    """An answer has 150 to 4,000 tokens and takes 2 to 60 seconds; list price of Sonnet 4.6: $3 and $15 a million."""
    _, found = foreseen(monkeypatch, "anthropic:claude-sonnet-4-6", concurrency=2)
    assert found.output_tokens == (600, 16_000)
    assert found.seconds == (4, 120)  # four calls, two at once
    assert found.uncached_usd == pytest.approx(
        ((8_000 * 3 + 600 * 15) / 1e6, (40_000 / 3 * 3 + 16_000 * 15) / 1e6), 1e-3
    )
    low = (8_000 - 2_400) * 3 + 2_400 * 0.3 + 600 * 15 + 2_400 * 0.75  # read at a tenth; written, a quarter more
    assert found.usd[0] == pytest.approx(low / 1e6, 1e-3)
    _, alone = foreseen(monkeypatch, "anthropic:claude-sonnet-4-6,concurrency=1", concurrency=2)
    assert alone.seconds == (8, 240)
    _, joint = foreseen(monkeypatch, "anthropic:claude-sonnet-4-6,one_call=true")
    assert joint.n_calls == 2
    assert joint.output_tokens == (2 * 150 + 2 * 150, 2 * 4_000 + 2 * 150)  # a short answer more for each more point


@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        (",rpm=2", 120, 120),  # four calls, two a minute
        (",rpm=600", 1, 15),
        (",tpm=8600", 1, 29_333 / 8_600 * 60 - 60),  # the first minute's are there at once
    ],
)
def test_limits_of_a_provider_make_the_time(monkeypatch, options, low, high):
    _, found = foreseen(monkeypatch, f"openai:gpt-5{options}")
    assert found.seconds[0] == pytest.approx(max(low, 2 * 4 / 4))
    assert found.seconds[1] == pytest.approx(max(high, 60 * 4 / 4), 0.01)


def on_file(judge, n, **given):
    known = {
        "task_id": "1", "cluster_id": "1", "question": "termination", "rater": judge.rater, "rater_kind": "llm",
        "family": "openai", "verdict": "correct",
    }  # fmt: skip
    return ratings_frame(
        Rating(**known | {key: value(n) if callable(value) else value for key, value in given.items()},
               trajectory_id=f"run-{number % 2}", call_id=f"c{number}", output_tokens=300 + 100 * (number % 2),
               input_tokens=5_000 + 2_000 * (number % 2), latency_s=3.0)
        for number in range(n)
    )  # fmt: skip


@pytest.mark.parametrize("n", [9, 10])
def test_ten_calls_on_file_are_a_history(monkeypatch, n):
    """Answers of 300 and 400 tokens, five each: 350, and twice the standard error of 10 to either side."""
    (judge,) = make_judges(["openai:gpt-5"])
    _, found = foreseen(monkeypatch, "openai:gpt-5", history=on_file(judge, n))
    assert found.n_history == (10 if n == 10 else 0)
    if n == 10:
        error = (10 * 50**2 / 9) ** 0.5 / 10**0.5
        assert found.output_tokens == pytest.approx((4 * (350 - 2 * error), 4 * (350 + 2 * error)))
        assert found.input_tokens == (2 * 5_000 + 2 * 7_000,) * 2  # each run's own, whoever counts its letters
        assert found.seconds == pytest.approx((3, 3))
        assert found.cached_tokens == pytest.approx((0.6 * 12_000 + 0.3 * 7_000,) * 2)
    other = on_file(judge, 10).with_columns(rater=pl.lit("another"))
    assert foreseen(monkeypatch, "openai:gpt-5", history=other)[1].n_history == 0
    without_prompts = on_file(judge, 10).with_columns(input_tokens=pl.lit(None, pl.Int64))
    assert foreseen(monkeypatch, "openai:gpt-5", history=without_prompts)[1].input_tokens[0] > 0


def test_money_is_asked_for_above_five_dollars(capsys, monkeypatch):
    (judge,) = make_judges(["openai:gpt-5"])
    for high, options, passes in (
        (5.0, {}, True),
        (5.01, {}, False),
        (9.0, {"budget_usd": 5.0}, True),
        (9.0, {"budget_usd": 5.01}, False),
        (9.0, {"confirm": True}, True),
        (9.0, {"agreed": True}, True),
        (0.0, {}, True),
    ):
        told = PlanEstimate((estimated(judge, usd=(0.0, high)),))
        if passes:
            agree(told, RunOptions(**options))
        else:
            with pytest.raises(InputError, match=r"may cost up to \$5\.01, more than \$5\.00"):
                agree(told, RunOptions(**options))
        assert bool(capsys.readouterr().err) is (high > 0 and "agreed" not in options)


def test_what_is_sure_begins_at_the_confidence_that_is_named():
    both = Cascade(CoinJudge("cheap"), CoinJudge("strong"), below=0.8, audit=0.25)
    rows = [{"status": "ok", "confidence": value} for value in (0.79, 0.8, None)] + [
        {"status": "refused", "confidence": 1}
    ]
    assert [both.stratum(row) for row in rows] == ["unsure", "sure", "unsure", "lost"]
    assert [both.probability(each) for each in ("lost", "unsure", "sure")] == [1, 1, 0.25]
    every = replace(both, audit=1.0, below=1.0)
    item = {"status": "ok", "confidence": 1.0, "question": "termination"}
    assert all(every.draws({**item, "item_id": str(n)}) for n in range(99))
    half, few = replace(both, audit=0.5), replace(both, audit=0.05)
    drawn = [[each.draws({**item, "item_id": str(n)}) for n in range(400)] for each in (half, half, few)]
    assert drawn[0] == drawn[1]  # a run that goes on draws the same
    assert 160 < sum(drawn[0]) < 240  # four standard errors of a fair coin
    assert 3 <= sum(drawn[2]) <= 37
    assert len({replace(half, seed=seed).draws({**item, "item_id": "7"}) for seed in range(9)}) == 2


def test_what_the_second_judge_lost_is_asked_again_unless_it_is_to_stay_lost(tmp_path):
    strong, runs, out = CoinJudge("strong"), trajectories(3), tmp_path / "r.jsonl"
    strong.planted = {("run-1", "termination"): "api_error", ("run-2", "termination"): "refused"}
    both = Cascade(CoinJudge("cheap"), strong, below=0.8)  # the cheap one is never surer than .75
    first = judging_run(runs, [both.first], ["termination"], out=out).carry_out(progress=False, allow_unpriced=True)
    second_run(runs, both, first, ["termination"], out=out).carry_out(progress=False, allow_unpriced=True)

    def left(**how):
        return second_run(runs, both, first, ["termination"], out=out, **how).plan().n_calls

    assert (left(), left(keep_lost=True), left(retry=["refused"])) == (1, 0, 2)


@pytest.mark.parametrize("audit", [0.0, -0.1, 1.01])
def test_a_share_of_the_sure_ones_is_one(audit):
    with pytest.raises(InputError, match=r"audit: must lie in \(0, 1\]"):
        Cascade(CoinJudge("cheap"), CoinJudge("strong"), audit=audit)


@pytest.mark.parametrize(
    ("answered", "code"), [(100, 0), (95, 0), (94, 1), (0, 1)], ids=["all", "all but 5%", "more lost", "none"]
)
def test_a_run_that_lost_more_than_a_twentieth_ends_with_1(answered, code):
    outcome = Outcome((("a", 100), ("b", 0)), (("a", answered),))
    assert outcome.code() == code
    assert outcome.code(max_lost=(100 - answered) / 100) == (1 if not answered else 0)  # as many as are allowed
    assert outcome.code(max_lost=1.0) == (1 if not answered else 0)  # who answered nothing is short all the same
    assert replace(outcome, ends=(LaneEnd(CoinJudge(), at_budget=True),)).code() == 3
    assert replace(outcome, ends=(LaneEnd(CoinJudge(), stopped="why"),)).code() == 1
    assert replace(outcome, was_interrupted=True).code() == 130


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/", "a/b", "1/4/2"])
def test_what_is_no_shard(text):
    with pytest.raises(InputError, match="is written i/n"):
        Shard.parse(text)


def test_each_run_is_in_one_shard_and_each_shard_asks_its_part():
    shards = [Shard.parse(f"{n}/3") for n in (1, 2, 3)]
    runs = trajectories(60)
    parts = [shard.of_runs(runs) for shard in shards]
    assert sorted(run.id for part in parts for run in part) == sorted(run.id for run in runs)
    names = [f"run-{n}" for n in range(600)]
    assert all(154 < sum(map(shard.holds, names)) < 246 for shard in shards)  # four standard deviations
    (spec,) = shards[1].of_judges(["openai:gpt-5,rpm=60,tpm=9000,effort=low"])
    assert (spec.options["rpm"], spec.options["tpm"], spec.options["effort"]) == (20, 3_000, "low")


def test_what_the_bar_says_of_a_run():
    judge = CoinJudge()
    bar = Progress(make_plan(trajectories(1), [judge], rubrics()), show=False)
    end = LaneEnd(judge, statuses=Counter(ok=3, refused=1), spent_usd=2.0, not_asked=4, failures=Counter({"x" * 99: 2}))
    assert bar._in_words([end, LaneEnd(judge, spent_usd=1.0)]) == (
        f"cached 0, failed 1, $3.00 of about $5.00, 2 x {'x' * 60}"  # 2.00 for half of it
    )
    assert bar._in_words([LaneEnd(judge)]) == "cached 0, failed 0"
    assert (bar.delay, Progress(make_plan([], [], {}), show=True).delay) == (0, 0)


def test_the_requests_of_a_batch_are_as_many_and_as_long_as_it_takes(monkeypatch):
    monkeypatch.setattr(batch, "MOST_REQUESTS", 2)
    chunks = [list(chunk) for chunk in batch._chunks({name: {} for name in "abcde"})]
    assert chunks == [["a", "b"], ["c", "d"], ["e"]]
    monkeypatch.setattr(batch, "MOST_REQUESTS", 99)
    monkeypatch.setattr(batch, "MOST_BYTES", 10)
    sizes = {"a": "x" * 3, "b": "y" * 3, "c": "z" * 30, "d": "", "e": "123456"}  # 5, 5, 32, 2 and 8 as JSON
    assert [list(chunk) for chunk in batch._chunks(sizes)] == [["a", "b"], ["c"], ["d", "e"]]
    assert list(batch._chunks({})) == []


# What is not asked for is not done, and what is there is known.


def test_a_rating_that_was_lost_is_asked_again_but_for_one_that_would_be_lost_again():
    judge = CoinJudge()
    (call,) = calls_of(judge, 1)
    name = call.identity("termination")
    for status, asked, lost in (("ok", 0, 0), ("api_error", 1, 0), ("refused", 0, 1), ("truncated", 0, 1)):
        made = plan_calls([[call]], [judge], done={name: status})
        assert (made.n_calls, made.cached, made.kept_lost) == (asked, int(status == "ok"), lost)
        again = plan_calls([[call]], [judge], done={name: status}, retry=["refused"])
        assert again.n_calls == asked + (status == "refused")
        kept = plan_calls([[call]], [judge], done={name: status}, keep_lost=True)
        assert (kept.n_calls, kept.kept_lost) == (0, int(status != "ok"))
    with pytest.raises(InputError, match="retry: must be one of"):
        plan_calls([[call]], [judge], done={}, retry=["api_error"])


def test_a_last_repeat_that_was_left_open_is_completed_first():
    calls = calls_of(CoinJudge(), 2)
    names = [replace(call, repeat=n).identity("termination") for n in (0, 1) for call in calls]
    for done, following in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2)):
        assert plan._next_repeat(calls, dict.fromkeys(names[:done], "ok")) == following


def test_plans_in_turns_make_no_call_twice():
    judge, runs = CoinJudge(), trajectories(3)
    one = make_plan(runs[:2], [judge], {"termination": rubrics()["termination"]})
    two = make_plan(runs[1:], [judge], {"termination": rubrics()["termination"]})
    both = plan.together([one, two])
    assert [group[0].trajectory.id for group in both.groups] == ["run-0", "run-1", "run-2"]
    assert (both.n_calls, both.n_ratings, len(both.identities), both.judges) == (3, 3, 3, (judge,))
    assert both.rows() == [{"judge": judge.rater, "family": "coin", "calls": 3, "ratings": 3, "there already": 0}]
    with pytest.raises(InputError, match="each may rate once; found 'simulated:coin'"):
        plan_calls([], [CoinJudge(), CoinJudge()], done={})
    with pytest.raises(InputError, match="each id may occur once; found 'run-0'"):
        plan.check_ids("x", [*runs, runs[0]])


@pytest.mark.parametrize("name", ["concurrency", "patience_s", "budget_usd"])
def test_numbers_of_a_run_are_above_0(name):
    assert getattr(RunOptions(**{name: 1}), name) == 1
    with pytest.raises(InputError, match="must be"):
        RunOptions(**{name: 0})


def test_ratings_of_a_file_are_current_until_somebody_else_writes(tmp_path):
    kept = run.KeptRatings(tmp_path / "r.jsonl")
    assert not kept.is_current  # not read yet
    assert kept.table().height == 0
    assert kept.is_current
    (tmp_path / "r.jsonl").write_text("")
    assert kept.is_current  # a file that holds nothing is as good as none
    (tmp_path / "r.jsonl").write_text("\n")
    assert not kept.is_current
    kept.wrote_all()
    assert kept.is_current


@pytest.mark.parametrize("name", ["prompt_sha256", "put_to", "prompt", "request", "reply_tokens", "flags_of"])
def test_an_inquiry_has_all_that_a_call_needs(name):
    parts = ("prompt_sha256", "put_to", "prompt", "request", "reply_tokens", "flags_of")
    whole = {part: lambda *_: None for part in parts}
    type("Whole", (Inquiry,), whole)()
    with pytest.raises(TypeError, match=name):
        type("Lacking", (Inquiry,), {part: made for part, made in whole.items() if part != name})()


# The doctor.


def test_how_fast_a_server_is_by_the_replies_that_say_so(monkeypatch):
    """100 tokens read and 50 written in 2 seconds; what lacks its time or its tokens tells nothing."""

    async def small(judge, text, of="message", **more):
        return None, "not taken: x"

    async def ranges(judge, replies):
        return "held"

    monkeypatch.setattr(doctor, "_small", small)
    monkeypatch.setattr(doctor, "_holds_ranges", ranges)
    (own,) = make_judges(["openai-compatible:m@http://127.0.0.1:9/v1,family=x"])
    replies = [
        Reply({}, input_tokens=100, output_tokens=50, latency_s=2.0),
        Reply({}, input_tokens=9_000, output_tokens=9_000),
        Reply({}, input_tokens=9_000, latency_s=9.0),
    ]
    facts = asyncio.run(doctor.server_facts(own, replies))
    assert facts["speed"] == "25.0 tokens a second written and 50 read, each over whole calls"
    assert (facts["seed"], facts["logprobs"]) == ("not taken: x", "not taken: x")
    assert "speed" not in asyncio.run(doctor.server_facts(own, replies[1:]))
    assert "room for a run" not in facts
    own.context_told = 40_000
    for joint, room, word in ((False, doctor.LEAST_RECORD, "about"), (True, doctor.LEAST_RECORD - 1, "hardly any")):
        asked = []
        own.joint, own.record_tokens = joint, lambda *of, room=room, asked=asked: asked.append(of) or room
        assert asyncio.run(doctor.server_facts(own, []))["room for a run"].startswith(word)
        assert asked == [(2 if joint else 1, 40_000)]


def test_what_two_replies_show_of_a_judge():
    judge, own = make_judges(["openai:gpt-5", "openai-compatible:m@http://127.0.0.1:9/v1,family=x"])
    answer = {"termination": Answer("ok", "correct", flags=("repaired_json", "other"))}
    first = Reply(answer, cost_usd=0.5, input_tokens=10, latency_s=2.0, returned_model="gpt-5-2025-08-07")
    second = replace(first, cached_tokens=0, cost_usd=0.25, input_tokens=20, latency_s=9.0)
    found = Examination(judge, [first, second], headers={"x-ratelimit": "5"})
    assert (found.cached, found.faults) == ("none", [])
    assert replace(found, judge=own, replies=[first, second]).cached == "none: the prompt is shorter than caches keep"
    assert replace(found, replies=[first, replace(second, cached_tokens=7)]).cached == 7
    assert replace(found, replies=[first, first]).cached == "not told"
    assert replace(found, replies=[first]).cached is None
    assert replace(found, replies=[first, replace(second, failure=FREE)]).cached is None
    row = found.row()
    assert (row["tokens in"], row["seconds"], row["cost $"], row["replies mended"]) == (10, 2.0, 0.75, "repaired_json")
    assert (row["limits"], row["shut down"], row["answers"]) == ("x-ratelimit 5", None, True)
    assert replace(found, replies=[first, replace(second, cost_usd=None)]).row()["cost $"] is None
    assert Examination(judge).row()["cost $"] is None
    lost = {"a": Answer("refused", rationale="no"), "b": Answer("truncated", rationale="long")}
    assert Examination(judge, [Reply(lost)]).faults == ["refused: no"]
    assert Examination(judge, [Reply(lost)], fault="gone").faults == ["gone"]
    other = replace(first, returned_model="claude-opus-4-1")
    assert Examination(judge, [first, other]).faults == [
        "another model answered: gpt-5, gpt-5-2025-08-07, claude-opus-4-1"
    ]
    assert [len(Examination(judge, clock_s=off).faults) for off in (60.0, -60.0, 60.5, -60.5)] == [0, 0, 1, 1]
    assert Examination(judge, clock_s=-61.0).faults == ["this machine's clock is off by -61 s"]


def test_the_probe_is_right_by_its_own_record():
    """The answer that judges are shown is that of the tool: shelf 3 has three books."""
    for n in (3, 260):
        lines = probe(n).steps[2].content.splitlines()
        assert len(lines) == n + 1
        assert lines[3] == "shelf 3: 3 books, 3 lent, checked on day 3"
    assert estimate.CHARACTERS[0] > 4 > estimate.CHARACTERS[1]  # a low and a high count, about the usual one
    # the record alone is longer than what any cache keeps at least (4,096 tokens at Anthropic), at four letters a token
    assert sum(len(step.content) for step in probe(260).steps) > 4 * 2_048


# Batches.


class Desk(Worth):
    """A provider's batch interface: what is there by tag, how batches ended, and what each request came to."""

    def __init__(self, **how):
        super().__init__(0.4)
        self.options, self.there, self.status, self.replies = {}, {}, batch_status(), {}
        self.__dict__.update(how)

    async def find_batch(self, tag, n_requests, since, known):
        return self.there.get(tag)

    async def batch_status(self, name):
        return self.status

    async def batch_results(self, name):
        for request, reply in self.replies.items():
            yield request, reply

    def reply_from_batch(self, result, trajectory, rubrics):
        return result if isinstance(result, Reply) else Reply({}, failure=result)

    def failure_of(self, error):
        return error.args[0]


def batch_status(**given):
    return BatchStatus(**{"has_ended": True} | given)


@pytest.fixture
def noted(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "LOOK_S", 0.0)
    monkeypatch.setattr(batch, "_request", lambda call: {"of": call.trajectory.id})
    return Batches(tmp_path / "r.jsonl.batches.json")


def lane_of(judge, noted, n=6, budget=None, told=None, **how):
    known = {"patience_s": 0.0, "answered": lambda call, reply: told is not None and told.append(reply), "tell": print}
    made = batch.BatchLane(judge, [(call,) for call in calls_of(judge, n)], batches=noted, budget=budget, **known | how)
    return made, list(made._left)


def handed_in(rater, requests, tag="t", name="b"):
    return Batch(rater, tag, datetime.now(UTC).isoformat(), tuple(requests), name)


def test_a_lane_waits_for_its_own_batches_and_names_those_that_were_handed_in(noted):
    judge = Desk(there={"found": "b9"})
    made, names = lane_of(judge, noted)
    own, other = handed_in(judge.rater, names[:1]), handed_in("another", names[:1])
    noted.open = [own, other, handed_in(judge.rater, ["of a later run"])]
    assert made._mine() == [own]
    nameless = [handed_in(judge.rater, names[1:2], tag, None) for tag in ("found", "gone")]
    strange = handed_in("another", names[1:2], "found", None)
    noted.open = [own, strange, *nameless]
    asyncio.run(made._find_nameless())
    assert [(each.tag, each.id) for each in noted.open] == [("t", "b"), ("found", None), ("found", "b9")]
    assert Batches.beside(noted.path.with_name("r.jsonl")).open == noted.open
    done = {call.identity("termination"): "ok" for call in made._left.values()}
    noted.drop_answered(dict.fromkeys(done, "api_error"))
    assert len(noted.open) == 3
    noted.drop_answered(done)
    assert (noted.open, noted.path.exists()) == ([], False)  # an empty list leaves no file


def test_a_budget_lets_in_batches_of_five_or_more_and_three_of_them(noted):
    """Each call is set aside at .05: a quarter of its worst, at half price."""
    judge = Desk()

    def fitting(limit, idle=True, n=6, before=0):
        made, names = lane_of(judge, noted, n, Budget(limit))
        made._n_of_budget = before
        return len(asyncio.run(made._that_fit(names, idle))), made.end.at_budget, made._n_of_budget

    assert fitting(0.3 + 1e-9) == (6, False, 0)
    assert fitting(0.25 + 1e-9) == (5, True, 1)
    assert fitting(0.25 + 1e-9, before=2) == (5, True, 3)
    assert fitting(0.3 + 1e-9, before=3) == (6, False, 3)  # all that is left is no further one
    assert fitting(0.2 + 1e-9, idle=False) == (0, True, 0)  # those under way may cost less
    with pytest.raises(batch._StoppedError, match=r"\$0\.2000 of the budget of \$0\.2"):
        fitting(0.2 + 1e-9)
    with pytest.raises(batch._StoppedError):
        fitting(0.25 + 1e-9, before=3)
    assert fitting(0.2 + 1e-9, n=4) == (4, False, 0)


@pytest.mark.parametrize(("rounds", "left"), [(1, 1), (2, 1), (3, 0)])
def test_what_failed_in_passing_is_handed_in_three_times(noted, rounds, left):
    told = []
    judge = Desk()
    made, names = lane_of(judge, noted, 3, told=told)
    good = Reply({"termination": Answer("ok", "correct")}, cost_usd=0.5)
    judge.replies = {names[0]: good, names[1]: Failure("passing", "busy"), names[2]: Failure("request", "bad")}
    noted.open = [mine := handed_in(judge.rater, names)]
    assert set(made._asked_for.values()) == {0}
    made._asked_for = dict.fromkeys(names, rounds)
    asyncio.run(made._collect(mine))
    assert (len(made._left), len(told), noted.open) == (left, 3 - left, [])
    assert (made.end.spent_usd, made.end.not_asked) == (0.5, left)


@pytest.mark.parametrize(
    ("replies", "rounds", "why"),
    [
        (
            {0: Failure("key", "no key"), 1: Failure("key", "no key")},
            1,
            "all 2 requests of a batch failed alike; no key",
        ),
        ({0: Failure("key", "no key"), 1: Failure("refused", "no")}, 1, None),
        ({}, 3, None),  # no result came of either
    ],
)
def test_a_batch_that_fails_as_a_whole_ends_the_lane(noted, replies, rounds, why):
    judge = Desk()
    made, names = lane_of(judge, noted, 2)
    judge.replies = {names[place]: failure for place, failure in replies.items()}
    noted.open = [mine := handed_in(judge.rater, names)]
    made._asked_for = dict.fromkeys(names, rounds)
    if why is None:
        asyncio.run(made._collect(mine))
    else:
        with pytest.raises(batch._StoppedError, match=why):
            asyncio.run(made._collect(mine))


@pytest.mark.parametrize(("kind", "rounds", "ends"), [("passing", 2, False), ("passing", 3, True), ("quota", 1, True)])
def test_a_batch_that_was_refused_is_handed_in_anew_where_that_may_help(noted, kind, rounds, ends):
    judge = Desk(status=batch_status(failure=Failure(kind, "refused")))
    made, names = lane_of(judge, noted, 2)
    noted.open = [mine := handed_in(judge.rater, names)]
    made._asked_for = dict.fromkeys(names, rounds)
    if ends:
        with pytest.raises(batch._StoppedError, match="its batch was refused; refused"):
            asyncio.run(made._collect(mine))
    else:
        asyncio.run(made._collect(mine))
    assert (len(made._left), noted.open, made.end.failures) == (2, [], Counter(refused=1))


@pytest.mark.parametrize(
    ("kind", "asked", "patience", "tries"),
    [
        ("key", 0.0, 9.0, 1),
        ("refused", 0.0, 9.0, 1),
        ("passing", 0.0, 9.0, 3),
        ("passing", 5.0, 9.0, 3),
        ("passing", 5.0, 4.0, 1),
    ],
)
def test_a_provider_is_asked_again_as_long_as_the_patience_lasts(noted, monkeypatch, kind, asked, patience, tries):
    monkeypatch.setattr(batch, "LOOK_S", 60.0)
    monkeypatch.setattr(batch.asyncio, "sleep", lambda seconds, sleep=asyncio.sleep: sleep(0))
    made, _ = lane_of(Desk(), noted, patience_s=patience)
    n = []

    async def ask():
        n.append(1)
        if len(n) < 3:
            raise RuntimeError(Failure(kind, "why", retry_after_s=asked))
        return "done"

    if tries == 3:
        assert asyncio.run(made._patiently(ask)) == "done"
    else:
        with pytest.raises(batch._StoppedError, match="why"):
            asyncio.run(made._patiently(ask))
    assert len(n) == tries
    assert made.end.failures == Counter(why=min(tries, 2))


# Prompts and their length.


def test_a_call_is_as_long_as_its_prompt_and_what_is_added(monkeypatch):
    """In bytes for its worst, in letters for what is usual, with 8,000 that a provider adds; 4 letters a token."""
    asked = []
    judge = Worth(0.0)
    judge.worst_usd = lambda *of: asked.append(of)
    judge.usual_usd = lambda *of: asked.append(of)
    monkeypatch.setattr(OfAxes, "prompt", lambda inquiry, judge: ["é" * 100, "e" * 300])
    one = OfAxes(trajectories(1)[0], {"termination": rubrics()["termination"]})
    one.worst_usd(judge)
    one.usual_usd(judge)
    assert asked == [(8_500, 1, 0), (8_400, 1)]
    assert one.tokens(judge) == 600  # a verdict with its reason takes 500
    assert (one.reply_tokens, OfAxes(one.trajectory, rubrics()).reply_tokens % 5) == (0, 0)


@pytest.mark.parametrize(
    ("context", "said"), [(3_000, None), (2_999, "run-3"), (1_999, "run-2, run-3"), (1, "run-1, run-2, run-3, ...")]
)
def test_runs_too_long_for_a_context_are_named_before(monkeypatch, context, said):
    (own,) = make_judges(["openai-compatible:m@http://127.0.0.1:9/v1,family=x"])
    monkeypatch.setattr(
        OfAxes, "tokens", lambda inquiry, judge: {"0": 2, "1": 1_000, "2": 2_000, "3": 3_000}[inquiry.trajectory.id[4:]]
    )
    runs = trajectories(4)
    asked = make_plan([*runs[1:], runs[0]], [own], {"termination": rubrics()["termination"]})
    assert run.too_long(asked, own) is None  # nobody told its context
    own.context_told = context
    told = run.too_long(asked, own)
    assert (told is None) is (said is None)
    if said is not None:
        assert f"({said}; the longest takes about 3,000)" in told
        assert f"{len(said.replace(', ...', ', x').split(', '))} of 4 runs" in told
