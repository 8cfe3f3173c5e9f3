"""Each judge in its own lane: what one of them meets, the others do not notice. Real servers on loopback."""

import asyncio
import time

import pytest
from judging.providers import after, completion, failing, healthy, providing
from judging.worlds import CoinJudge, rubrics, trajectories

from axisjudge.judges import make_judges
from axisjudge.judging import lane, make_plan
from axisjudge.judging.plan import RunOptions
from axisjudge.judging.run import Running
from axisjudge.verdict import AXES


def carried_out(judges, n=4, *, runs=None, axes=AXES, **options):
    """The ratings of a run, its end lane by lane, and the seconds that it took."""
    ratings = []
    asked = {axis: rubric for axis, rubric in rubrics().items() if axis in axes}
    running = Running(
        make_plan(runs or trajectories(n), judges, asked), ratings.extend, RunOptions(progress=False, **options)
    )
    begun = time.monotonic()
    asyncio.run(running.run())
    return ratings, {end.judge.model: end for end in running.ends}, time.monotonic() - begun


def judges_of(provider, *models, options=""):
    return make_judges([f"openai-compatible:{model}@{provider.url},family={model}{options}" for model in models])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "code"),
    [(401, None), (403, None), (404, "model_not_found"), (400, None), (402, None), (429, "insufficient_quota")],
)
def test_a_judge_that_can_never_answer_is_stopped_and_the_other_goes_on(status, code, capsys):
    with providing(good=healthy(0.0), dead=failing(status, "no such thing", code)) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "good", "dead"), n=20)
        assert provider.calls["dead"] <= 8  # a handful of 100
    assert sum(rating.status == "ok" for rating in ratings) == 100 == provider.calls["good"]
    assert ends["good"].stopped is None
    assert f"HTTP {status}" in ends["dead"].stopped
    assert ends["dead"].not_asked == 100 - provider.calls["dead"]
    assert "is stopped" in capsys.readouterr().err


@pytest.mark.slow
def test_a_dead_key_is_found_out_by_a_handful_of_calls_however_late_the_provider_says_so(capsys):
    def late(number, body):
        return (*failing(401, "no such key")(number, body)[:3], 1.2)

    with providing(dead=late) as provider:
        _, ends, _ = carried_out(judges_of(provider, "dead"), n=20)
        assert provider.calls["dead"] <= 8
    assert "HTTP 401" in ends["dead"].stopped


def test_what_answers_with_something_else_than_this_api_is_stopped():
    with providing(portal=lambda number, body: (200, {}, ["please log in"], 0.0)) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "portal"), n=20)
        assert provider.calls["portal"] <= 8
    assert ends["portal"].not_asked == 100 - len(ratings)
    assert "has not the shape" in ends["portal"].stopped


def chatting(text="It depends.", finish="stop"):
    """A model that answers, and never with a verdict."""

    def model(number, body):
        reply = completion(body, {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18})
        reply["choices"][0] |= {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
        return 200, {}, reply, 0.0

    return model


@pytest.mark.parametrize(("model", "why"), [(chatting(), "It depends."), (chatting("{", "length"), "max_tokens")])
def test_a_judge_whose_replies_hold_no_verdict_is_paid_for_a_few(model, why):
    with providing(good=healthy(0.0), chats=model) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "good", "chats"), n=8, concurrency=4)
        assert lane.EMPTY <= provider.calls["chats"] <= lane.EMPTY + 4  # of 40
    assert sum(rating.status == "ok" for rating in ratings) == 40 == provider.calls["good"]
    assert why in ends["chats"].stopped
    assert ends["chats"].not_asked == 40 - provider.calls["chats"]


def test_a_judge_that_gave_a_verdict_or_fails_on_few_runs_is_asked_to_the_end():
    with providing(late=after(12, chatting(), after(13, healthy(0.0), chatting()))) as provider:
        _, ends, _ = carried_out(judges_of(provider, "late"), n=10)
        assert provider.calls["late"] == 50
    assert ends["late"].stopped is None
    with providing(few=chatting()) as provider:
        _, ends, _ = carried_out(judges_of(provider, "few"), n=4)
    assert ends["few"].stopped is None


def test_requests_that_fail_for_one_run_alone_do_not_stop_a_judge():
    def one_bad_run(number, body):
        bad = "book 1." in str(body["messages"])
        return failing(400, "I do not take this")(number, body) if bad else healthy(0.0)(number, body)

    with providing(picky=one_bad_run) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "picky"), n=3)
    assert ends["picky"].stopped is None
    assert {rating.trajectory_id for rating in ratings if rating.status != "ok"} == {"run-1"}
    assert len(ratings) == 15


@pytest.mark.parametrize(
    ("message", "status"),
    [("This model's maximum context length is 8192 tokens", "truncated"), ("prompt is too long: 250000", "truncated")],
)
def test_what_is_too_long_is_truncated_and_no_fault_of_the_judge(message, status):
    with providing(short=failing(400, message)) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "short"), n=4)
    assert ends["short"].stopped is None
    assert {rating.status for rating in ratings} == {status}
    assert provider.calls["short"] == 20


@pytest.mark.slow
def test_limits_are_waited_out_by_one_pause_and_nothing_is_lost(capsys):
    """A fifth of a second of 429: all sixteen wait, one goes ahead, and every verdict comes."""
    begun = time.monotonic()

    def closed(number, body):
        is_closed = time.monotonic() - begun < 0.6
        busy = failing(429, "too many tokens", retry_after="0.2")
        return busy(number, body) if is_closed else healthy(0.0)(number, body)

    with providing(busy=closed) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "busy"), n=20)
    assert [rating.status for rating in ratings] == ["ok"] * 100
    assert ends["busy"].not_asked == 0
    assert provider.calls["busy"] < 100 + 4 + 5  # those under way at first, then one a pause


@pytest.mark.slow
def test_a_provider_that_asks_for_a_moment_again_and_again_is_left_alone_for_longer(capsys):
    with providing(shut=failing(429, "in a moment", retry_after="0.001")) as provider:
        carried_out(judges_of(provider, "shut"), patience_s=1.5)
        assert provider.calls["shut"] < 12  # a call a millisecond would be a thousand


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_provider_that_stays_closed_is_given_up_when_the_patience_is_over(status, capsys):
    with providing(shut=failing(status, "come back next year", retry_after="600")) as provider:
        ratings, ends, took = carried_out(judges_of(provider, "shut"), patience_s=1.0)
        assert provider.calls["shut"] <= 4
    assert ratings == []
    assert "come back next year" in ends["shut"].stopped
    assert ends["shut"].not_asked == 20
    assert took < 5


def test_who_waits_for_whom_and_until_when_is_said(capsys, monkeypatch):
    monkeypatch.setattr(lane, "LONGEST_WAIT_S", 1.2)
    with providing(
        slow=after(1, failing(429, "your tier allows 3 a day", retry_after="600"), healthy(0.0))
    ) as provider:
        ratings, _, _ = carried_out(judges_of(provider, "slow"), n=1)
    assert len(ratings) == 5
    told = capsys.readouterr().err
    assert provider.url in told
    assert "your tier allows 3 a day" in told
    assert "600 s" in told
    assert told.count("waits for") == 1


@pytest.mark.parametrize("same_server", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "fault", ["limited", *(pytest.param(fault, marks=pytest.mark.slow) for fault in ("slow", "rpm"))]
)
def test_a_judge_that_is_limited_or_slow_never_slows_the_healthy_one(fault, same_server):
    """From its first call to its last the healthy judge takes as long as alone; the figure is in tests/benchmarks.

    What is feared takes seconds; a third of one is left to a machine that is busy.
    """
    bad = {"limited": failing(429, "later", retry_after="600"), "slow": healthy(1.5), "rpm": healthy(0.0)}[fault]
    other = {"healthy": healthy(), "bad": bad}
    options = ",rpm=60" if fault == "rpm" else ""

    def wall(*models):
        with providing(**other) as provider, providing(**other) as second:
            judges = [
                judge
                for model in models
                for judge in judges_of(
                    provider if same_server or model == "healthy" else second,
                    model,
                    options=options if model == "bad" else "",
                )
            ]
            carried_out(judges, n=12, axes=AXES[:2], patience_s=2.0, concurrency=4)
            return max(provider.times["healthy"]) - min(provider.times["healthy"])

    alone = wall("healthy")
    assert any(wall("healthy", "bad") <= 1.1 * alone + 0.3 for _ in range(3))  # what else runs here only adds time


def test_what_passes_is_asked_again():
    with providing(shaky=after(3, failing(500, "oops", retry_after="0.01"), healthy(0.0))) as provider:
        ratings, ends, _ = carried_out(judges_of(provider, "shaky"), n=1)
    assert [rating.status for rating in ratings] == ["ok"] * 5
    assert ends["shaky"].failures.total() == 3


@pytest.mark.slow
def test_what_timed_out_is_asked_once_more_and_counts_as_maybe_paid():
    with providing(asleep=healthy(3.0)) as provider:
        judges = judges_of(provider, "asleep", options=",timeout=0.8")
        ratings, ends, _ = carried_out(judges, n=1, axes=["termination"])
        assert provider.calls["asleep"] == 2
    assert ratings[0].status == "api_error"
    assert "maybe_paid:2" in ratings[0].flags
    assert ends["asleep"].calls == 2


def test_tokens_a_minute_are_kept():
    with providing(small=healthy(0.0)) as provider:
        call = make_plan(trajectories(1), judges_of(provider, "small"), rubrics()).groups[0][0]
        n_tokens = call.inquiry.tokens(call.judge)
        judges = judges_of(provider, "small", options=f",tpm={n_tokens * 3:.0f}")
        running = Running(
            make_plan(trajectories(1), judges, rubrics()), lambda ratings: None, RunOptions(progress=False)
        )
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(running.run(), 1.0))  # the fourth call waits for about twenty seconds
    assert 2 <= provider.calls["small"] <= 3


def test_a_lane_has_a_width_of_its_own():
    narrow, wide = CoinJudge("narrow", delay=0.005), CoinJudge("wide", delay=0.005)
    narrow.spec = narrow.spec.model_copy(update={"options": {"concurrency": 2}})
    carried_out([narrow, wide], n=8, concurrency=8)
    assert (narrow.most_under_way, wide.most_under_way) == (2, 8)


def test_a_function_that_calls_a_provider_is_understood_too():
    class Unauthorised(Exception):
        status_code = 401

    class Locked(CoinJudge):
        async def grade(self, trajectory, rubrics, *, repeat=0):
            self.calls.append(())
            raise Unauthorised("key sk-very-secret-key")

    judge = Locked()
    ratings, ends, _ = carried_out([judge], n=20)
    assert len(judge.calls) <= 8
    assert "secret" not in str([rating.rationale for rating in ratings]) + ends["coin"].stopped


def test_a_second_failure_within_a_pause_does_not_lengthen_it_unless_more_is_asked():
    pause = lane.Pause("p")
    first = pause.extend(1.0)
    until = pause.until
    assert pause.extend(None) <= first
    assert (pause.until, pause.rounds) == (until, 1)
    assert pause.extend(2.0) > first
