"""`axisjudge.judge` as people call it: in a notebook's running loop, with a file, with bad arguments."""

import asyncio
import os
import signal
import threading
import time

import pytest
from judging.worlds import CoinJudge, rubrics, run_plan, trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges.lifecycle import RetirementWarning, known_retirement
from axisjudge.judging import judging_run, make_plan
from axisjudge.judging.judging_run import run_to_the_end
from axisjudge.ratings import read_ratings
from axisjudge.spec import JudgeSpec
from axisjudge.verdict import AXES


def test_it_works_inside_a_running_loop():
    async def cell():
        return axisjudge.judge(trajectories(2), progress=False)

    table = asyncio.run(cell())
    assert table.height == 10
    assert table["rater"].unique().to_list() == ["rules"]


def test_an_interrupted_cell_stops_the_run():
    """Waiting for the thread would make, and pay, every call that is left."""
    ended = []

    async def long_run():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def cell():
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        run_to_the_end(long_run())

    loop = asyncio.new_event_loop()  # asyncio.run would catch the interrupt itself, which a notebook's kernel does not
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    loop.close()
    assert ended == ["cancelled"]
    assert time.monotonic() - begin < 20


def test_rules_is_the_default_and_deterministic(tmp_path):
    first = axisjudge.judge(trajectories(3), out=tmp_path / "a.jsonl")
    second = axisjudge.judge(trajectories(3))
    passing = ["run_id", "call_id", "created_at", "latency_s"]
    assert first.drop(passing).sort("item_id", "question").equals(second.drop(passing).sort("item_id", "question"))


def test_only_what_was_asked_is_returned(tmp_path):
    out = tmp_path / "r.jsonl"
    axisjudge.judge(trajectories(3), out=out)
    table = axisjudge.judge(trajectories(1), axes=["termination"], out=out)
    assert table.select("item_id", "question").rows() == [("run-0", "termination")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"axes": ["terminaton"]}, "axis: must be one of .*did you mean 'termination'"),
        ({"judges": ["rule"]}, "judge: must begin with one of .*did you mean 'rules'"),
        ({"versions": {"argument_validity": "v99"}}, "version of argument_validity: must be one of v1, v2, v3"),
        ({"axes": ["termination"], "versions": {"sequencing": "v1"}}, "versions: must name an axis that is judged"),
        ({"repeats": 0}, "repeats: must be greater than 0"),
        ({"concurrency": 0}, "concurrency: must be greater than 0"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_said_before_anything_is_asked(arguments, message):
    with pytest.raises(InputError, match=message):
        axisjudge.judge(trajectories(1), **arguments)


def test_a_run_that_no_file_can_hold_is_named():
    (run,) = trajectories(1)
    run = run.model_copy(update={"policy": "half of a pair: \ud800"})
    with pytest.raises(InputError, match=run.id):
        axisjudge.judge([run], judges=["rules"])


def test_a_replayed_judge_beside_the_real_one_is_refused(tmp_path):
    axisjudge.judge(trajectories(2), out=tmp_path / "r.jsonl")
    with pytest.raises(InputError, match="judges: each may rate once; found 'rules'; replay it or ask it"):
        axisjudge.judge(trajectories(2), ["rules", f"replay:{tmp_path / 'r.jsonl'}"])


def test_axes_are_asked_in_one_order_so_that_a_joint_prompt_stays_the_same():
    plans = [judging_run(trajectories(1), ["rules"], axes).plan() for axes in (["termination", "sequencing"], None)]
    asked = [list(plan.groups[0][0].rubrics) for plan in plans]
    assert asked == [["sequencing", "termination"], list(AXES)]


def test_a_file_of_trajectories_named_as_out_is_left_as_it_was(tmp_path):
    out = tmp_path / "results.json"
    out.write_text('{\n "simulations": [\n ]\n}')
    with pytest.raises(InputError, match=r"results\.json:1: not a rating"):
        axisjudge.judge(trajectories(1), out=out)
    assert out.read_text() == '{\n "simulations": [\n ]\n}'


def test_a_rate_is_kept():
    judge = CoinJudge()
    judge.spec = JudgeSpec(provider="openai", model="x", family="x", options={"rpm": 600.0})
    begin = time.monotonic()
    asyncio.run(run_plan(make_plan(trajectories(1), [judge], rubrics()), lambda ratings: None, progress=False))
    # five calls at 600 a minute: the first at once, then one every 0.1 s
    assert time.monotonic() - begin > 0.35


def test_only_a_judge_that_is_asked_needs_a_key(monkeypatch, tmp_path):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    judges = ["rules", "anthropic:claude-sonnet-4-6"]
    plan = judging_run(trajectories(2), judges).plan()
    assert [row["calls"] for row in plan.rows()] == [2, 10]
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        axisjudge.judge(trajectories(2), judges, out=tmp_path / "r.jsonl")
    assert (tmp_path / "r.jsonl").read_bytes() == b""  # nothing was asked, of rules neither


def repeats_of(table):
    return sorted(table["repeat"].unique().to_list())


def test_again_asks_once_more_as_the_next_repeat(tmp_path):
    out = tmp_path / "anchors.jsonl"
    for number in range(3):
        table = axisjudge.judge(trajectories(4), ["rules"], ["sequencing"], again=True, out=out, progress=False)
        assert (repeats_of(table), table.height) == ([number], 4)
    assert read_ratings(out).height == 12
    plan = judging_run(trajectories(4), ["rules"], ["sequencing"], again=True, out=out).plan()
    assert (plan.n_calls, plan.cached) == (4, 0)
    later = axisjudge.judge(trajectories(4), ["rules"], ["termination"], again=True, out=out, progress=False)
    assert repeats_of(later) == [0]  # another question begins its own series


def test_again_completes_what_a_stopped_run_left_open(tmp_path):
    out = tmp_path / "anchors.jsonl"
    axisjudge.judge(trajectories(4), ["rules"], ["sequencing"], out=out, progress=False)
    axisjudge.judge(trajectories(4)[:3], ["rules"], ["sequencing"], again=True, out=out, progress=False)
    plan = judging_run(trajectories(4), ["rules"], ["sequencing"], again=True, out=out).plan()
    assert [(call.trajectory.id, call.repeat) for group in plan.groups for call in group] == [("run-3", 1)]
    assert plan.cached == 3


def test_again_counts_lost_verdicts_as_asked_so_that_the_next_occasion_comes():
    judge = CoinJudge()
    (asked,) = {call.identity("sequencing") for group in _one_plan(judge, {}).groups for call in group}
    lost = {asked: "refused"}
    (call,) = (call for group in _one_plan(judge, lost).groups for call in group)
    assert call.repeat == 1


def _one_plan(judge, done):
    return make_plan(trajectories(1), [judge], {"sequencing": rubrics()["sequencing"]}, again=True, done=done)


def test_again_needs_a_file_and_numbers_its_repeats_after_those_there(tmp_path):
    with pytest.raises(InputError, match="again: needs the file with the earlier ratings"):
        axisjudge.judge(trajectories(1), ["rules"], again=True)
    out = tmp_path / "r.jsonl"
    axisjudge.judge(trajectories(1), ["rules"], axes=["sequencing"], out=out)
    axisjudge.judge(trajectories(1), ["rules"], axes=["sequencing"], out=out, again=True, repeats=2)
    assert axisjudge.read_ratings(out)["repeat"].to_list() == [0, 1, 2]


class Leaving(CoinJudge):
    """A judge whose model is to be shut down."""

    async def retirement(self):
        return known_retirement("openai", "gpt-5")


def test_a_judge_that_is_asked_and_retires_is_warned_of_once():
    judges = [Leaving("one"), Leaving("two")]
    plan = make_plan(trajectories(2), judges, rubrics())
    with pytest.warns(RetirementWarning, match="gpt-5 is shut down on 2026-12-11") as warned:
        asyncio.run(run_plan(plan, lambda ratings: None, progress=False))
    assert len(warned) == 1
    done = dict.fromkeys(plan.identities, "ok")
    asyncio.run(run_plan(make_plan(trajectories(2), judges, rubrics(), done=done), lambda _: None, progress=False))
