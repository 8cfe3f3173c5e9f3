"""What a run costs: said before, kept to, and counted after."""

import asyncio
import io
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from math import isclose

import pytest
from judging.providers import after, completion, failing, healthy, providing
from judging.worlds import CoinJudge, rubrics, trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges import Reply, make_judges
from axisjudge.judges.answer import Failure, all_lost
from axisjudge.judges.pricing import Tokens
from axisjudge.judging import estimate, judging_run, lane, make_plan
from axisjudge.judging.budget import Budget
from axisjudge.judging.estimate import JudgeCost, agree, cost_of, estimate_of, span
from axisjudge.judging.judging_run import Outcome
from axisjudge.judging.lane import LaneEnd
from axisjudge.judging.plan import RunOptions
from axisjudge.judging.run import Running
from axisjudge.ratings import ratings_frame, read_every_line
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.trajectory import Step

SONNET = "anthropic:claude-sonnet-4-6"


class Priced(CoinJudge):
    """Costs at random up to its worst; some of its calls time out, and were paid all the same."""

    def __init__(self, rng, worst):
        super().__init__(f"priced-{worst}")
        self.rng, self.worst, self.paid = rng, worst, 0.0

    def worst_usd(self, n_bytes, n_points=1, reply_tokens=0):
        return self.worst

    async def grade(self, trajectory, rubrics, *, repeat=0):
        cost = self.worst * self.rng.choice([0.01, 0.3, 1.0])
        self.paid += cost
        await asyncio.sleep(0)
        if self.rng.random() < 0.1:
            failure = Failure("timeout", "too late", maybe_paid=True)
            return Reply(all_lost(rubrics, "api_error", "too late"), failure=failure)
        reply = await super().grade(trajectory, rubrics, repeat=repeat)
        return Reply(reply.answers, cost_usd=None if self.rng.random() < 0.1 else cost)


@pytest.mark.parametrize("n_runs", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_a_budget_is_kept_in_random_runs(n_runs):
    """Costs with two modes, a hundred times apart: the hardest for a bound that is learned from ten calls."""
    runs, asked = trajectories(3), {axis: rubrics()[axis] for axis in ("termination", "sequencing", "tool_selection")}
    stopped, passed = 0, []
    for seed in range(n_runs):
        rng = random.Random(seed)
        judges = [Priced(rng, rng.uniform(0.001, 0.02)) for _ in range(rng.choice([1, 2]))]
        budget = rng.uniform(0.0, 0.2) + 1e-6
        plan = make_plan(runs, judges, asked, repeats=2)
        options = RunOptions(progress=False, budget_usd=budget, concurrency=rng.choice([1, 4, 16]))
        running = Running(plan, lambda ratings: None, options)
        asyncio.run(running.run())
        paid = sum(judge.paid for judge in judges)
        if paid > budget * (1 + 1e-9):
            passed.append((paid - budget) / max(judge.worst for judge in judges))
        at_budget = any(end.at_budget for end in running.ends)
        left = sum(end.not_asked for end in running.ends)
        assert at_budget or not left
        assert not at_budget or left or running.statuses["api_error"]  # a try that may be paid, and no room for another
        stopped += at_budget
    assert n_runs / 5 < stopped < n_runs  # both ends of the road were seen
    # 1/(n + 1) is the bound of one call, and a run passes where its last ones do: none here, 2 of the next 2,000
    assert len(passed) <= n_runs // 250
    assert max(passed, default=0) <= 2  # and then by a call or two at their worst


def test_a_budget_uses_what_calls_turn_out_to_cost():
    """Each may cost 1 and costs a hundredth: with 1.5 the first hundred go through, one after the other at first."""
    judge = Priced(random.Random(0), 1.0)
    judge.rng = type("Cheap", (), {"choice": lambda self, _: 0.01, "random": lambda self: 0.5})()
    running = Running(
        make_plan(trajectories(5), [judge], rubrics()), lambda _: None, RunOptions(progress=False, budget_usd=1.5)
    )
    asyncio.run(running.run())
    assert running.statuses["ok"] == 25


@pytest.mark.parametrize("limit", [1_234.5, 20.0, 0.305, 0.0001, 1e-6])
def test_the_budget_that_stopped_a_judge_is_named_as_it_was_given(limit):
    assert float(re.search(r"\$([\d.,e-]*\d)", Budget(limit).reason)[1].replace(",", "")) == limit


def test_a_run_stopped_by_its_budget_goes_on_from_there(tmp_path, capsys):
    out = tmp_path / "r.jsonl"
    judge = Priced(random.Random(1), 0.01)
    judge.rng = type("Full", (), {"choice": lambda self, _: 1.0, "random": lambda self: 0.5})()
    run = judging_run(trajectories(4), [judge], out=out)
    with pytest.raises(InputError, match="no budget can be kept"):
        run.carry_out(budget_usd=0.1)
    run.carry_out(budget_usd=0.1, allow_unpriced=True)
    assert run.outcome.code() == 3
    assert read_every_line(out).height == 10
    axisjudge.judge(trajectories(4), [judge], out=out)
    assert read_every_line(out).height == 20
    assert len(judge.calls) == 20


@pytest.mark.usefixtures("no_real_service")
def test_the_worst_of_a_call_is_above_what_any_tokenizer_makes_of_it():
    (judge,) = make_judges([SONNET])
    call = make_plan(trajectories(1), [judge], rubrics()).groups[0][0]
    n_bytes = sum(len(part.encode()) for part in call.inquiry.prompt(call.judge))
    worst = call.inquiry.worst_usd(judge)
    # list price of Sonnet 4.6: $3 and $15 a million tokens; 1.25 times the first for what is written to the cache
    assert worst >= (n_bytes * 3 * 1.25 + 16_000 * 15) / 1e6
    assert worst > judge.price(Tokens(n_bytes, 16_000))


@pytest.mark.usefixtures("no_real_service")
def test_an_estimate_counts_prompts_and_the_cache():
    """Four runs with one policy, of 20 calls: it is written once and read 19 times, where it is long enough to be."""
    (judge,) = make_judges([SONNET])
    runs = [run.model_copy(update={"policy": "Ask first. " * 600}) for run in trajectories(4)]
    plan = make_plan(runs, [judge], rubrics())
    found = estimate_of(plan, ratings_frame([])).judges[0]
    prompts = [call.inquiry.prompt(call.judge) for group in plan.groups for call in group]
    letters = sum(len(part) for parts in prompts for part in parts)
    setting = sum(len(part) for part in prompts[0][:2])
    assert 19 * setting / 5 <= found.cached_tokens[0] <= (letters - setting) / 5
    (short,) = estimate_of(make_plan(trajectories(4), [judge], rubrics()), ratings_frame([])).judges
    assert short.cached_tokens == (0, 0)  # under a provider's least
    assert found.n_calls == 20
    assert found.input_tokens[0] < letters / 4 < found.input_tokens[1]
    assert found.usd[0] < found.uncached_usd[0]
    assert found.usd[0] < found.usd[1]
    assert isclose(found.batch_usd[1], found.uncached_usd[1] / 2)


def test_an_estimate_counts_the_record_as_it_will_be_cut():
    """A run of about 50,000 tokens to a model that was started with 8,192: no call can take more than those."""
    (run,) = trajectories(1)
    long = run.model_copy(update={"steps": (*run.steps, Step(index=2, role="tool", content="word " * 30_000))})
    high = {}
    for context in ("", ",context=8192,max_tokens=1000"):
        spec = f"openai-compatible:m@http://127.0.0.1:9/v1,family=x{context}"
        found = judging_run([long], [spec], ["termination"]).estimate().judges[0]
        high[context] = found.input_tokens[1] / found.n_calls
    whole, cut = high.values()
    assert whole > 40_000
    assert cut < 8_192


def test_an_estimate_goes_by_the_judges_own_answers(tmp_path):
    usage = {"prompt_tokens": 7_000, "completion_tokens": 321, "total_tokens": 7_321}
    with providing(m=lambda number, body: (200, {}, completion(body, usage), 0.0)) as provider:
        spec = f"openai-compatible:m@{provider.url},family=x"
        axisjudge.judge(trajectories(3), [spec], ["termination", "sequencing"], out=tmp_path / "r.jsonl")
        axisjudge.judge(trajectories(5), [spec], ["termination", "sequencing"], out=tmp_path / "r.jsonl")
        found = judging_run(trajectories(5), [spec], out=tmp_path / "r.jsonl").estimate().judges[0]
    assert found.n_history == 10
    assert found.n_calls == 15
    assert found.output_tokens == (15 * 321, 15 * 321)
    assert found.input_tokens == (15 * 7_000, 15 * 7_000)  # these runs were asked before, and their prompts counted


@pytest.mark.usefixtures("no_real_service")
def test_limits_make_the_time():
    def minutes(options):
        (judge,) = make_judges([f"openai:gpt-5{options}"])
        return estimate_of(make_plan(trajectories(12), [judge], rubrics()), ratings_frame([])).seconds[0] / 60

    assert minutes(",rpm=6") == pytest.approx(10)
    assert minutes(",tpm=10000") > 5 > minutes("")


@pytest.mark.usefixtures("no_real_service")
def test_much_money_wants_a_yes(capsys, monkeypatch):
    monkeypatch.setattr(estimate, "ASK_ABOVE_USD", 0.01)
    with pytest.raises(InputError, match="confirm=True"):
        axisjudge.judge(trajectories(3), [SONNET])
    told = capsys.readouterr().err
    assert "15 calls to models" in told
    assert "$" in told
    judges = make_judges([SONNET])
    found = estimate_of(make_plan(trajectories(3), judges, rubrics()), ratings_frame([]))
    agree(found, RunOptions(confirm=True))
    agree(found, RunOptions(budget_usd=0.01))


@pytest.mark.usefixtures("no_real_service")
def test_a_model_without_a_price_is_refused_unless_allowed():
    for spec in ("anthropic:claude-imaginary-99", "openai-compatible:m@https://models.example.org/v1,family=x"):
        with pytest.raises(InputError, match="has no list price"):
            axisjudge.judge(trajectories(1), [spec])
        found = estimate_of(make_plan(trajectories(1), make_judges([spec]), rubrics()), ratings_frame([]))
        agree(found, RunOptions(allow_unpriced=True))


def test_a_server_of_ones_own_needs_no_price(tmp_path):
    out = tmp_path / "r.jsonl"
    with providing(m=healthy(0.0)) as provider:
        judges = [f"openai-compatible:m@{provider.url},family=x"]
        table = axisjudge.judge(trajectories(1), judges, budget_usd=0.01, out=out)
    assert table["status"].to_list() == ["ok"] * 5  # and replies without usage keep their verdict
    (cost,) = cost_of(read_every_line(out))
    assert (cost.input_tokens, cost.output_tokens, cost.cached_share) == (None, None, None)  # unknown, not none


def proxy(number, body):
    """It passes calls on to a paid model."""
    return 200, {"x-litellm-response-cost": "0.001"}, completion(body), 0.02


def test_a_budget_binds_a_proxy_of_ones_own_that_passes_calls_on_to_a_paid_model(tmp_path):
    out = tmp_path / "r.jsonl"
    with providing(m=proxy) as provider:
        judges = [f"openai-compatible:m@{provider.url},family=x"]
        for most in (0.012, 0.02):  # the second goes on from what the first paid
            axisjudge.judge(trajectories(8), judges, budget_usd=most, out=out, concurrency=16)
            assert 1000 * most - 2 <= provider.calls["m"] <= 1000 * most
    (cost,) = cost_of(read_every_line(out))
    assert isclose(cost.usd, provider.calls["m"] / 1000)


def test_calls_that_may_have_been_paid_count_in_the_next_run_too(tmp_path, monkeypatch):
    """Each try of the first run times out and is paid all the same; nobody is told what it took."""
    judge, out = Stumbling(9, "timeout"), tmp_path / "r.jsonl"
    answers, judge.grade = judge.grade, lambda *asked, **how: untold(judge, *asked, **how)
    run = judging_run(trajectories(2), [judge], ["termination"], out=out)
    run.carry_out(progress=False, allow_unpriced=True, budget_usd=0.025)
    assert (sum(judge.tries.values()), run.outcome.code()) == (2, 3)
    judge.times, judge.grade = 0, answers
    run = judging_run(trajectories(8), [judge], ["termination"], out=out)
    run.carry_out(progress=False, allow_unpriced=True, budget_usd=0.05)
    assert sum(judge.tries.values()) * 0.01 <= 0.05


async def untold(judge, trajectory, rubrics, *, repeat=0):
    reply = await type(judge).grade(judge, trajectory, rubrics, repeat=repeat)
    return replace(reply, cost_usd=None)


@pytest.mark.parametrize(("told", "asked"), [(0, 1), (1, 8)])
def test_an_unpriced_judge_whose_replies_tell_no_cost_is_asked_once_within_a_budget(tmp_path, told, asked):
    judge = CoinJudge()
    answers, judge.worst_usd = judge.grade, lambda *_: None
    judge.grade = lambda *of, **how: answers(*of, **how) if len(judge.calls) < told else untold(judge, *of, **how)
    run = judging_run(trajectories(8), [judge], ["termination"], out=tmp_path / "r.jsonl")
    run.carry_out(progress=False, allow_unpriced=True, budget_usd=1.0)
    assert len(judge.calls) == asked
    assert any("its replies tell none" in str(end.stopped) for end in run.outcome.ends) == (asked == 1)


def test_a_failure_does_not_tell_that_a_proxy_of_ones_own_is_free(tmp_path):
    with providing(m=after(3, failing(500, "loading", retry_after="0.01"), proxy)) as provider:
        judges = [f"openai-compatible:m@{provider.url},family=x"]
        table = axisjudge.judge(trajectories(8), judges, budget_usd=0.0025, out=tmp_path / "r.jsonl", concurrency=16)
    assert 0 < table["cost_usd"].sum() <= 0.0025


def test_the_cost_of_ratings_counts_each_call_once_and_those_that_were_lost():
    ratings = []
    joint, single = CoinJudge("joint", joint=True), CoinJudge("single")
    single.planted = {("run-0", "termination"): "refused"}
    plan = make_plan(trajectories(2), [joint, single], rubrics())
    asyncio.run(Running(plan, ratings.extend, RunOptions(progress=False)).run())
    ratings = [
        rating.model_copy(update={"call_id": None}) if rating.model == "single" else rating for rating in ratings
    ]
    one, other = sorted(cost_of(ratings_frame(ratings)), key=lambda each: each.rater)
    assert (one.n_calls, one.n_verdicts, one.n_lost) == (2, 10, 0)
    assert (other.n_calls, other.n_verdicts, other.n_lost) == (10, 9, 1)
    assert isclose(one.usd, 0.02)
    assert isclose(one.usd_per_1000, 2.0)
    assert isclose(other.usd_per_1000, 1_000 * 0.1 / 9)
    assert (one.input_tokens, one.output_tokens) == (22, 14)


class Stumbling(CoinJudge):
    """Fails so many times before each verdict, and takes a cent and ten tokens for every try."""

    kind = "llm"

    def __init__(self, times, kind="passing"):
        super().__init__("stumbling")
        self.times, self.failure, self.tries = times, Failure(kind, kind, maybe_paid=True), {}

    def worst_usd(self, n_bytes, n_points=1, reply_tokens=0):
        return 0.01

    async def grade(self, trajectory, rubrics, *, repeat=0):
        tried = self.tries[trajectory.id, *rubrics] = self.tries.get((trajectory.id, *rubrics), 0) + 1
        cost = {"cost_usd": 0.01, "input_tokens": 9, "output_tokens": 1}
        if tried <= self.times:
            return Reply(all_lost(rubrics, "api_error", "it fell"), failure=self.failure, **cost)
        return Reply((await super().grade(trajectory, rubrics, repeat=repeat)).answers, **cost)


@pytest.mark.parametrize(("kind", "times"), [("passing", 2), ("passing", 9), ("timeout", 1), ("unreadable", 9)])
def test_what_failed_tries_took_stands_in_the_ratings(kind, times, tmp_path, monkeypatch):
    monkeypatch.setattr(lane, "_FIRST_WAIT_S", 0.001)
    judge, out = Stumbling(times, kind), tmp_path / "r.jsonl"
    run = judging_run(trajectories(2), [judge], ["termination"], out=out)
    run.carry_out(progress=False, allow_unpriced=True)
    (cost,) = cost_of(read_every_line(out))
    tries = sum(judge.tries.values())
    assert tries > 2 or kind == "unreadable"
    assert (cost.input_tokens, cost.output_tokens) == (9 * tries, tries)
    assert isclose(cost.usd, 0.01 * tries)
    assert isclose(run.outcome.spent_usd, 0.01 * tries)


def test_a_paid_try_is_a_loss_where_the_budget_ends_before_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(lane, "_FIRST_WAIT_S", 0.001)
    judge, out = Stumbling(9), tmp_path / "r.jsonl"
    run = judging_run(trajectories(1), [judge], ["termination"], out=out)
    table = run.carry_out(progress=False, allow_unpriced=True, budget_usd=0.025)
    assert table["status"].to_list() == ["api_error"]
    assert run.outcome.code() == 3
    (cost,) = cost_of(read_every_line(out))
    assert isclose(cost.usd, 0.02)
    assert judging_run(trajectories(1), [judge], ["termination"], out=out).plan().n_calls == 1


def test_a_paid_try_is_a_loss_where_ctrl_c_comes_before_the_next_one(tmp_path):
    judge, out = Stumbling(9), tmp_path / "r.jsonl"
    run = judging_run(trajectories(1), [judge], ["termination"], out=out)

    def stop_after_a_try() -> None:
        while not judge.tries:
            time.sleep(0.01)
        time.sleep(0.1)  # it is told; the second try waits for half a second
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop_after_a_try).start()
    with pytest.raises(KeyboardInterrupt):
        run.carry_out(progress=False, allow_unpriced=True)
    (cost,) = cost_of(read_every_line(out))
    assert isclose(cost.usd, 0.01 * sum(judge.tries.values()))
    assert judging_run(trajectories(1), [judge], ["termination"], out=out).plan().n_calls == 1


def test_a_price_that_replies_on_file_told_is_the_forecasts(tmp_path):
    """A proxy of one's own that passes calls on was forecast at nothing."""
    out = tmp_path / "r.jsonl"
    with providing(m=proxy) as provider:
        spec = f"openai-compatible:m@{provider.url},family=x"
        axisjudge.judge(trajectories(2), [spec], out=out)
        (judge,) = make_judges([spec])
        plan = make_plan(trajectories(2), [judge], rubrics())
        assert estimate_of(plan, ratings_frame([])).usd == (0, 0)
        assert estimate_of(plan, read_every_line(out)).usd == pytest.approx((0.01, 0.01))


@pytest.mark.usefixtures("no_real_service")
def test_the_row_of_an_estimate_says_what_its_parts_come_to():
    """Ten runs by a judge with a price and one without; four letters are a token, and each part has its share."""
    known, unknown = make_judges(["openai:gpt-5", "openai-compatible:m@http://127.0.0.1:9/v1,family=x"])
    found = estimate_of(make_plan(trajectories(10), [known, unknown], rubrics()), ratings_frame([]))
    (row, other) = found.rows()
    assert (row["judge"], row["calls"], row["answers by"]) == (known.rater, 50, "a stated range")
    first = found.judges[0]
    assert row["in a batch $"] == span(first.batch_usd, 2)
    assert other["in a batch $"] == "-"
    low, high = first.cached_share
    assert 0 <= low <= high <= 1
    nothing = replace(first, input_tokens=(0.0, 0.0))
    assert nothing.cached_share == (0.0, 0.0)
    shares = [int(each) for each in re.findall(r"\((\d+)%\)", first.parts)]
    assert abs(sum(shares) - 100) <= len(shares)
    each = [int(n.replace(",", "")) for n in re.findall(r" ([\d,]+) \(", first.parts)]
    assert abs(sum(each) - sum(first.letters) / 4 / 50) <= len(each)
    assert found.prompts == first.parts
    apart = replace(found, judges=(first, replace(found.judges[1], letters=tuple(2 * n for n in first.letters))))
    assert apart.prompts.count(": ") == 2


def test_the_cost_of_a_judge_is_told_by_its_verdicts():
    cost = JudgeCost("r", 4, 3, 1, 1_000, 250, 40, 0.6, 0)
    assert (cost.cached_share, cost.usd_per_1000) == (0.25, pytest.approx(200))
    assert cost.row() == {
        "judge": "r", "calls": 4, "verdicts": 3, "lost": 1, "tokens in": 1_000, "cached share": 0.25, "tokens out": 40,
        "spent $": 0.6, "$ per 1,000 verdicts": pytest.approx(200),
    }  # fmt: skip
    assert replace(cost, n_unpriced=4, usd=0.0).usd_per_1000 is None
    assert replace(cost, n_unpriced=1, usd=0.0).usd_per_1000 is None  # the others failed, and were free
    assert replace(cost, n_verdicts=0).usd_per_1000 is None
    assert replace(cost, cached_tokens=None).cached_share is None


@pytest.mark.parametrize(
    ("answer", "is_yes"), [("y\n", True), (" YES \n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_only_a_yes_on_a_terminal_is_one(answer, is_yes, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    assert estimate.asked_yes("Spend it?") is is_yes
    assert "Spend it? [y/N]" in shown.getvalue()


@pytest.mark.parametrize("error", [EOFError, NotImplementedError])
def test_a_notebook_that_nobody_sits_at_says_no(error, monkeypatch):
    def nobody(prompt):
        raise error

    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr(estimate, "in_notebook", lambda: True)
    monkeypatch.setattr("builtins.input", nobody)
    assert estimate.asked_yes("Spend it?") is False
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    assert estimate.asked_yes("Spend it?") is True


def test_what_a_run_came_to_is_said_in_a_sentence_each():
    end = LaneEnd(CoinJudge(), spent_usd=1.5, cached_tokens=30, input_tokens=120, unpriced=2, not_asked=3)
    told = Outcome((), (), (end, end), True).sentences()
    assert [re.findall(r"[\d.]*\d", line) for line in told] == [["3.0000"], ["25"], ["4"], ["6"]]
    assert Outcome((), (), (LaneEnd(CoinJudge()),), True).sentences() == []


SOLD = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}


def seller(usage):
    return lambda number, body: (200, {}, completion(body, usage), 0.0)


@pytest.mark.parametrize("usage", [None, {**SOLD, "prompt_tokens": 0}])
def test_calls_that_told_no_usage_count_in_the_next_run_too(usage, tmp_path):
    out = tmp_path / "r.jsonl"
    with providing(m=seller(usage)) as provider:
        judges = [f"openai-compatible:m@{provider.url},family=x,price=10/100"]
        n_asked = []
        for _ in range(3):
            axisjudge.judge(trajectories(20), judges, ["termination"], out=out, budget_usd=0.6, progress=False)
            n_asked.append(provider.calls["m"])
        assert 0 < n_asked[0] < 20
        assert n_asked == n_asked[:1] * 3
        (cost,) = cost_of(read_every_line(out))
        assert (cost.n_calls, cost.n_unpriced, cost.usd, cost.usd_per_1000) == (n_asked[0], n_asked[0], 0, None)
        axisjudge.judge(trajectories(20), judges, ["termination"], out=out, budget_usd=1.2, progress=False)
        assert provider.calls["m"] > n_asked[0]


@pytest.mark.parametrize(("kind", "times"), [("passing", 2), ("unreadable", 9), ("timeout", 1)])
def test_every_try_whose_cost_nobody_knows_stands_on_file(kind, times, tmp_path, monkeypatch):
    monkeypatch.setattr(lane, "_FIRST_WAIT_S", 0.001)
    judge, out = Stumbling(times, kind), tmp_path / "r.jsonl"
    answers = judge.grade

    async def grade(trajectory, rubrics, *, repeat=0):
        reply = await answers(trajectory, rubrics, repeat=repeat)
        return reply if reply.failure is None else replace(reply, cost_usd=None)

    judge.grade = grade
    run = judging_run(trajectories(2), [judge], ["termination"], out=out)
    run.carry_out(progress=False, allow_unpriced=True)
    (cost,) = cost_of(read_every_line(out))
    n_answered = cost.n_verdicts
    n_unknown = sum(judge.tries.values()) - n_answered
    assert cost.n_unpriced == run.outcome.ends[0].unpriced == n_unknown > 0
    assert isclose(cost.usd, 0.01 * n_answered)


def test_what_failed_before_anything_was_done_is_known_to_be_free(tmp_path):
    out = tmp_path / "r.jsonl"
    with providing(m=failing(404, "no such model")) as provider:
        judges = [f"openai-compatible:m@{provider.url},family=x,price=10/100"]
        axisjudge.judge(trajectories(3), judges, ["termination"], out=out, progress=False)
    (cost,) = cost_of(read_every_line(out))
    assert (cost.n_lost, cost.usd, cost.n_unpriced) == (3, 0, 0)


def test_nobody_is_asked_or_paid_for_a_run_without_messages_or_one_that_is_too_long(tmp_path):
    """The long run would take the whole budget, were it sent; and the judge would stop before the run after it."""
    empty, long, usual = trajectories(3)
    long = long.model_copy(update={"steps": (Step(index=0, role="user", content="word " * 200_000),)})
    runs, out = [empty.model_copy(update={"steps": ()}), long, usual], tmp_path / "r.jsonl"
    with providing(m=seller(SOLD)) as provider:
        run = judging_run(runs, [f"openai-compatible:m@{provider.url},family=x,price=10/100"], ["termination"], out=out)
        assert run.estimate().judges[0].n_calls == 1
        table = run.carry_out(progress=False, budget_usd=1.0)
        assert provider.calls["m"] == 1
    assert dict(table.select("trajectory_id", "status").iter_rows()) == {
        empty.id: "ok", long.id: "truncated", usual.id: "ok"
    }  # fmt: skip
    (end,) = run.outcome.ends
    assert (end.calls, end.unpriced, end.not_asked, end.stopped) == (1, 0, 0, None)
    (cost,) = cost_of(read_every_line(out))
    assert (cost.n_calls, cost.n_verdicts, cost.n_unpriced, cost.usd) == (1, 1, 0, pytest.approx(0.02))


def test_a_budget_goes_by_the_price_of_today(tmp_path):
    """Twelve calls at 2 cents; then the price is ten times that, and room is for two more."""
    out = tmp_path / "r.jsonl"
    with providing(m=seller(SOLD)) as provider:
        for n_runs, price, budget in ((12, "10/100", 5.0), (40, "100/1000", 0.7)):
            judges = [f"openai-compatible:m@{provider.url},family=x,price={price}"]
            axisjudge.judge(trajectories(n_runs), judges, ["termination"], out=out, budget_usd=budget, progress=False)
    (cost,) = cost_of(read_every_line(out))
    assert cost.usd == pytest.approx(12 * 0.02 + (provider.calls["m"] - 12) * 0.2)
    assert provider.calls["m"] > 12
    assert cost.usd <= 0.7


@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_calls_under_way_when_a_run_ends_count_in_the_next_one(how, tmp_path):
    """Three calls are answered at a cent each and some hang, all of which are paid: they leave a budget less room."""
    runs, out, is_quick = tmp_path / "runs.jsonl", tmp_path / "r.jsonl", threading.Event()
    write_trajectories(runs, trajectories(20))

    def sold(number, body):
        return 200, {}, completion(body, SOLD), 0.0 if number < 3 or is_quick.is_set() else 30.0

    with providing(m=sold) as provider:
        judge = f"openai-compatible:m@{provider.url},family=x,price=10/0"
        command = [sys.executable, "-m", "axisjudge", "judge", str(runs), "--judge", judge, "--axis", "termination"]
        process = subprocess.Popen(
            [*command, "--concurrency", "4", "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while provider.calls["m"] < 7:
            time.sleep(0.02)
        process.send_signal(getattr(signal, how))
        process.wait()
        is_quick.set()
        run = judging_run(read_trajectories(runs).trajectories, [judge], ["termination"], out=out, keep_lost=True)
        run.carry_out(progress=False, budget_usd=0.001)
        (cost,) = cost_of(read_every_line(out))
        assert (provider.calls["m"], cost.n_unpriced) == (7, 4)
        assert isclose(cost.usd, 0.03)
        assert isclose(run.kept.budget(1.0).spent_usd, 0.07)
        table = run.carry_out(progress=False)
        assert provider.calls["m"] == 7 + 17
    assert table["status"].to_list() == ["ok"] * 20
    assert not (tmp_path / "r.jsonl.under_way").exists()
