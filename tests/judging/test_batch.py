"""Batches: handed in once, mapped back by their ids, asked again where that may help, found again after a kill."""

import asyncio
import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from judging.batches import Desk, desk
from judging.worlds import trajectories

import axisjudge
from axisjudge.checks import InputError
from axisjudge.judges.answer import Failure
from axisjudge.judges.anthropic_judge import AnthropicJudge
from axisjudge.judges.openai_judge import OpenAIJudge
from axisjudge.judges.remote import BatchStatus
from axisjudge.judging import RunOptions, batch, budget, judging_run
from axisjudge.judging.batch import Batch, Batches, request_of
from axisjudge.judging.estimate import cost_of
from axisjudge.judging.judging_run import check_batches
from axisjudge.ratings import read_every_line

SPECS = {"anthropic": "anthropic:claude-sonnet-4-6", "openai": "openai:gpt-6.1-sol"}
RETURNED = {"anthropic": "claude-sonnet-4-6", "openai": "gpt-5-2025-08-07"}
CLASSES = {"anthropic": AnthropicJudge, "openai": OpenAIJudge}
AXES = ["sequencing", "termination"]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch, no_real_service: None) -> None:
    monkeypatch.setattr(batch, "FIRST_LOOK_S", 0.001)
    monkeypatch.setattr(batch, "LOOK_S", 0.001)


def point_at(told: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", told.url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{told.url}/v1")


def judged(provider: str, out: Path, runs: int = 3, **more: Any) -> Any:
    spec = SPECS[provider]
    return axisjudge.judge(trajectories(runs), [spec], AXES, out=out, batch=True, progress=False, confirm=True, **more)


@pytest.mark.parametrize("provider", SPECS)
def test_a_batch_brings_the_ratings_of_single_calls_at_half_their_price(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with desk(looks=2) as told:
        point_at(told, monkeypatch)
        table = judged(provider, tmp_path / "r.jsonl")
        assert len(told.batches) == 1
        assert judged(provider, tmp_path / "r.jsonl").height == table.height == 6
        assert len(told.batches) == 1
        plan = judging_run(trajectories(3), [SPECS[provider]], AXES).plan()
    sent = [call.judge.request(call.trajectory, call.rubrics) for group in plan.groups for call in group]
    assert sorted(map(json.dumps, told.bodies)) == sorted(map(json.dumps, sent))
    assert table["status"].to_list() == ["ok"] * 6
    assert all("batch" in flags for flags in table["flags"])
    from axisjudge.judges.pricing import Tokens, cost_usd

    written = {"anthropic": 500, "openai": 0}[provider]
    tokens = Tokens(10_000, 300, {"anthropic": 8_500, "openai": 8_000}[provider], written)
    assert table["cost_usd"].sum() == pytest.approx(6 * cost_usd(tokens, RETURNED[provider], provider=provider) / 2)
    assert cost_of(read_every_line(tmp_path / "r.jsonl"))[0].usd == pytest.approx(table["cost_usd"].sum())
    assert not list(tmp_path.glob("*.batches.*"))


@pytest.mark.parametrize("provider", SPECS)
def test_only_what_failed_in_passing_is_handed_in_again(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fates: dict[str, str] = {}

    def fate(name: str, times: int) -> str:
        kinds = ["ok", "twice", "overloaded", "expired", "missing", "invalid"]
        mine = fates.setdefault(name, kinds[len(fates) % 6])
        return "ok" if times > 1 and mine != "invalid" else mine

    with desk(fate=fate) as told:
        point_at(told, monkeypatch)
        table = judged(provider, tmp_path / "r.jsonl")
    assert sorted(told.times.values()) == [1, 1, 1, 2, 2, 2]
    assert sorted(table["status"].to_list()) == ["api_error", *["ok"] * 5]
    lost = table.filter(table["status"] != "ok")["rationale"].to_list()
    assert "so it is" in lost[0]


@pytest.mark.slow
@pytest.mark.parametrize("provider", SPECS)
@pytest.mark.parametrize("seed", range(3))
def test_a_provider_that_stumbles_is_waited_for_and_paid_once(
    provider: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = random.Random(seed).sample(range(2, 12), 5)
    with desk(faults=faults) as told:
        point_at(told, monkeypatch)
        table = judged(provider, tmp_path / "r.jsonl")
    assert table["status"].to_list() == ["ok"] * 6
    assert set(told.times.values()) == {1}


class _KilledError(BaseException):
    """What no part of the run may catch."""


@pytest.mark.slow
@pytest.mark.parametrize("provider", SPECS)
def test_a_run_killed_at_any_step_goes_on_where_it_was(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after every word with the provider and every rating that is written; nothing is handed in twice."""
    kind = CLASSES[provider]
    steps, until = 0, 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == until:
            raise _KilledError

    def killing(name: str) -> None:
        real = getattr(kind, name)

        async def wrapped(self: Any, *args: Any, **more: Any) -> Any:
            step()
            found = await real(self, *args, **more)
            step()
            return found

        monkeypatch.setattr(kind, name, wrapped)

    for name in ("submit_batch", "find_batch", "batch_status"):
        killing(name)
    real_append = axisjudge.ratings.table.RatingsWriter.append

    def append(self: Any, ratings: Any) -> None:
        step()
        real_append(self, ratings)
        step()

    monkeypatch.setattr("axisjudge.ratings.table.RatingsWriter.append", append)
    n_killed = 0
    for until in range(1, 40):
        out = tmp_path / f"r{until}.jsonl"
        with desk(looks=1) as told:
            point_at(told, monkeypatch)
            steps = 0
            try:
                judged(provider, out)
                break
            except _KilledError:
                n_killed += 1
            steps = 100
            table = judged(provider, out)
        assert table["status"].to_list() == ["ok"] * 6
        assert set(told.times.values()) == {1}, until
        assert read_every_line(out).height == 6
        assert not list(tmp_path.glob("*.batches.*"))
    assert n_killed > 10


def test_what_another_run_handed_in_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.jsonl"
    with desk(looks=10**6) as told:
        point_at(told, monkeypatch)
        real = AnthropicJudge.batch_status

        async def killed(self: Any, name: str) -> Any:
            raise _KilledError

        monkeypatch.setattr(AnthropicJudge, "batch_status", killed)
        with pytest.raises(_KilledError):
            judged("anthropic", out, 2)
        monkeypatch.setattr(AnthropicJudge, "batch_status", real)
        told.looks = 1
        others = trajectories(4)[2:]
        spec = SPECS["anthropic"]
        table = axisjudge.judge(others, [spec], AXES, out=out, batch=True, progress=False, confirm=True)
        assert table.height == 4
        assert len(json.loads((tmp_path / "r.jsonl.batches.json").read_text())) == 1
        told.batches["batch_1"]["left"] = 0
        assert judged("anthropic", out, 4).height == 8
    assert set(told.times.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("judges", [["anthropic"], ["anthropic", "openai"]])
def test_a_budget_is_spent_by_few_batches(judges: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first batch cost tells how many fit into the next; judges that share a budget wait for each other."""
    with desk(looks=2) as told:
        point_at(told, monkeypatch)
        run = judging_run(
            trajectories(40 * len(judges)), [SPECS[judge] for judge in judges], AXES, out=tmp_path / "r.jsonl"
        )
        call = run.plan().groups[0][0]
        limit = 12 * len(judges) * budget.OF_FIRST_BATCH * (call.inquiry.worst_usd(call.judge) or 0.0) / 2
        run.carry_out(batch=True, budget_usd=limit, progress=False, confirm=True)
    assert run.outcome.code() == 3
    assert 0.7 * limit < read_every_line(tmp_path / "r.jsonl")["cost_usd"].sum() <= limit
    assert 1 < len(told.batches) <= (batch.MOST_BATCHES + 1) * len(judges)
    assert all(len(each["fates"]) >= batch.LEAST_REQUESTS for each in told.batches.values())
    assert all(end.statuses["ok"] for end in run.outcome.ends)


@pytest.mark.parametrize("spent_of_calls", [1, 6])
def test_a_budget_for_batches_of_a_few_calls_is_refused_before_the_first(
    spent_of_calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judging_run(trajectories(20), [SPECS["anthropic"]], AXES, out=tmp_path / "r.jsonl")
    call = run.plan().groups[0][0]
    first = budget.OF_FIRST_BATCH * (call.inquiry.worst_usd(call.judge) or 0.0) / 2
    how = RunOptions(batch=True, budget_usd=spent_of_calls * first, confirm=True)
    if spent_of_calls >= batch.LEAST_REQUESTS:
        check_batches(run, how)
        return
    with pytest.raises(InputError, match=r"1 of 40 calls") as refused:
        check_batches(run, how)  # of a dry run
    monkeypatch.setattr(AnthropicJudge, "submit_batch", None)
    with pytest.raises(InputError, match=r"1 of 40 calls"):
        run.carry_out(how)
    enough = float(re.findall(r"give ([\d.]+) or more", str(refused.value))[0])
    check_batches(run, RunOptions(batch=True, budget_usd=enough))
    with pytest.raises(InputError, match="of 40 calls"):
        check_batches(run, RunOptions(batch=True, budget_usd=enough - 0.01))


def test_what_is_under_way_in_a_batch_is_not_asked_and_paid_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command without --batch, while a batch is out: refused before the first call; with it, collected."""
    out = tmp_path / "r.jsonl"
    with desk() as told:
        point_at(told, monkeypatch)
        run = judging_run(trajectories(2), [SPECS["anthropic"]], AXES, out=out)
        names = [request_of(call) for group in run.plan().groups for call in group]
        under_way = Batches.beside(out)
        under_way.open.append(Batch(SPECS["anthropic"], "tag", datetime.now(UTC).isoformat(), tuple(names[:1]), "b"))
        under_way.save()
        with pytest.raises(InputError, match=r"1 of its calls are under way in a batch .* --batch"):
            run.carry_out(progress=False, confirm=True)
        assert not told.batches
        others = judging_run(trajectories(2), ["rules"], AXES, out=out)
        assert others.carry_out(progress=False).height == 4  # another judge is nobody's batch


def test_a_dead_key_stops_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk(fate=lambda name, times: "invalid") as told:
        point_at(told, monkeypatch)
        run = judging_run(trajectories(3), [SPECS["openai"]], AXES, out=tmp_path / "r.jsonl")
        run.carry_out(batch=True, progress=False, confirm=True)
    assert run.outcome.code() == 1
    assert "failed alike" in (run.outcome.ends[0].stopped or "")
    assert set(told.times.values()) == {1}


def test_a_judge_without_a_batch_interface_and_a_run_without_a_file_are_refused(tmp_path: Path) -> None:
    local = "openai-compatible:m@http://127.0.0.1:9/v1,family=mine"
    with pytest.raises(InputError, match="no batch interface"):
        axisjudge.judge(trajectories(1), [local], out=tmp_path / "r.jsonl", batch=True)
    with pytest.raises(InputError, match="ratings file"):
        axisjudge.judge(trajectories(1), [SPECS["openai"]], batch=True)


def test_the_estimate_is_half_the_price_without_a_cache(no_real_service: None) -> None:
    run = judging_run(trajectories(5), [SPECS["openai"]])
    single, together = run.estimate().judges[0], run.estimate(RunOptions(batch=True)).judges[0]
    assert together.usd == tuple(each / 2 for each in single.uncached_usd or ())
    assert together.seconds[1] == 86_400


def test_a_judge_that_waits_for_another_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One has a batch out and its provider closes: the other stops waiting for what that batch would have left."""
    out = tmp_path / "r.jsonl"

    async def closed(self: Any, name: str) -> Any:
        while not out.is_file() or SPECS["openai"] not in out.read_text():
            await asyncio.sleep(0.001)
        raise ConnectionError("closed for good")

    monkeypatch.setattr(AnthropicJudge, "batch_status", closed)
    monkeypatch.setattr(budget, "MARGIN", 1e9)  # a next call is set aside at its worst: few fit
    with desk() as told:
        point_at(told, monkeypatch)
        run = judging_run(trajectories(20), [*SPECS.values()], AXES, out=out)
        calls = {each.judge.rater: each for group in run.plan().groups for each in group}
        worst = max(each.inquiry.worst_usd(each.judge) or 0.0 for each in calls.values())
        limit = 12 * budget.OF_FIRST_BATCH * worst / 2
        run.carry_out(batch=True, budget_usd=limit, progress=False, confirm=True, patience_s=0.01)
    first, other = run.outcome.ends
    assert (first.at_budget, other.at_budget) == (True, True)
    assert "of the budget" in (other.stopped or "")
    assert "of the budget" not in (first.stopped or "")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_batch_whose_name_was_lost_is_found_again_or_handed_in(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between handing in and keeping the name, or before: each request is with the provider once."""
    real = OpenAIJudge.submit_batch

    async def killed(self: Any, requests: Any, tag: str) -> str:
        if is_there:
            await real(self, requests, tag)
        raise _KilledError

    with desk() as told:
        point_at(told, monkeypatch)
        monkeypatch.setattr(OpenAIJudge, "submit_batch", killed)
        with pytest.raises(_KilledError):
            judged("openai", tmp_path / "r.jsonl")
        monkeypatch.setattr(OpenAIJudge, "submit_batch", real)
        assert judged("openai", tmp_path / "r.jsonl", budget_usd=50.0)["status"].to_list() == ["ok"] * 6
    assert (len(told.batches), set(told.times.values())) == (1, {1})


def test_a_provider_that_stumbles_once_has_no_request_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a batch and answers with 503, then lets a look wait for too long."""
    real_submit, real_look = OpenAIJudge.submit_batch, OpenAIJudge.batch_status
    stumbles = iter([True, True])

    async def submit(self: Any, requests: Any, tag: str) -> str:
        name = await real_submit(self, requests, tag)
        if next(stumbles, False):
            raise ConnectionError("cut off after it had been taken")
        return name

    async def look(self: Any, name: str) -> Any:
        if next(stumbles, False):
            raise TimeoutError
        return await real_look(self, name)

    monkeypatch.setattr(OpenAIJudge, "submit_batch", submit)
    monkeypatch.setattr(OpenAIJudge, "batch_status", look)
    with desk() as told:
        point_at(told, monkeypatch)
        assert judged("openai", tmp_path / "r.jsonl")["status"].to_list() == ["ok"] * 6
    assert set(told.times.values()) == {1}


@pytest.mark.parametrize(("kind", "n_batches"), [("passing", 2), ("key", 1)])
def test_a_batch_that_is_refused_is_handed_in_again_unless_that_cannot_help(
    kind: Any, n_batches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = OpenAIJudge.batch_status

    async def look(self: Any, name: str) -> Any:
        refused = BatchStatus(True, 0, Failure(kind, "the file is cut"))
        return refused if name == "batch_1" else await real(self, name)

    monkeypatch.setattr(OpenAIJudge, "batch_status", look)
    with desk() as told:
        point_at(told, monkeypatch)
        run = judging_run(trajectories(3), [SPECS["openai"], "rules"], AXES, out=tmp_path / "r.jsonl")
        run.carry_out(batch=True, progress=False, confirm=True, budget_usd=50.0)
    (end,) = (each for each in run.outcome.ends if each.judge.rater == SPECS["openai"])
    assert (len(told.batches), end.statuses["ok"]) == (n_batches, 6 * (n_batches - 1))
    assert (end.stopped is None) == (n_batches == 2)
    assert end.failures == {"the file is cut": 1}


@pytest.mark.parametrize(("limit", "n_batches"), [({"MOST_REQUESTS": 4}, 2), ({"MOST_BYTES": 1}, 6)])
def test_what_is_too_much_for_a_batch_goes_into_several(
    limit: dict[str, int], n_batches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in limit.items():
        monkeypatch.setattr(batch, name, most)
    with desk() as told:
        point_at(told, monkeypatch)
        assert judged("openai", tmp_path / "r.jsonl").height == 6
    assert sorted(len(each["fates"]) for each in told.batches.values()) == ([2, 4] if n_batches == 2 else [1] * 6)
    assert set(told.times.values()) == {1}


@pytest.mark.parametrize("budget_usd", [None, 50.0])
def test_runs_without_messages_need_no_batch(
    budget_usd: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = [run.model_copy(update={"steps": ()}) for run in trajectories(2)]
    with desk() as told:
        point_at(told, monkeypatch)
        run = judging_run(empty, [SPECS["openai"], "rules"], AXES, out=tmp_path / "r.jsonl")
        run.carry_out(batch=True, budget_usd=budget_usd, progress=False, confirm=True)
    assert (run.outcome.code(), told.batches) == (0, {})
    assert read_every_line(tmp_path / "r.jsonl").height == 8


def test_a_list_of_batches_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    for text in ("{", '[{"rater": "x"}]', "[1]"):
        (tmp_path / "r.jsonl.batches.json").write_text(text)
        with pytest.raises(InputError, match="is no list of batches"):
            Batches.beside(tmp_path / "r.jsonl")


@pytest.mark.parametrize("provider", SPECS)
def test_calls_on_file_that_a_batch_brought_teach_what_the_next_batch_costs(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stand there at half their price, and were set aside at half of that."""
    with desk(looks=1) as told:
        point_at(told, monkeypatch)
        table = judged(provider, tmp_path / "r.jsonl", runs=20)
        run = judging_run(trajectories(22), [SPECS[provider]], AXES, out=tmp_path / "r.jsonl")
        call = run.plan().groups[0][0]
        set_aside = run.kept.budget(1.0).of_batch_usd(call, 0.5)
    assert set_aside >= table["cost_usd"].max()
