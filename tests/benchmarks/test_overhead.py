"""What judging costs beside the bare SDK: same bodies, same semaphore, a server that answers in 200 ms.

The SDK is taken as it comes, and once more with the transport that judges use.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import axisjudge
from axisjudge.judges import make_judges
from axisjudge.judges.prompt import build_prefix
from axisjudge.rubric import load_rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Step, ToolCall, Trajectory
from axisjudge.verdict import AXES

SPEC = "anthropic:claude-sonnet-4-6"
CALLS, AT_ONCE, PAIRS = 1_500, 64, 5


def reply() -> str:
    from anthropic.types import Message

    verdict = {"rationale": "Steps 2 and 4.", "cited_step_indices": [2, 4], "verdict": "correct", "confidence": 0.9}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "record_verdict", "input": verdict}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 4_000, "output_tokens": 200},
    }
    return Message.model_validate(message).model_dump_json()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = Path(__file__).with_name("slow_server.py")
    with subprocess.Popen([sys.executable, str(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(reply().encode())
        process.stdin.close()
        port = int(process.stdout.readline())
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
        yield
        process.terminate()


def run_of(number: int) -> Trajectory:
    """Thirty steps, about twelve thousand characters, like a retail conversation."""
    steps = []
    for index in range(30):
        call = ToolCall(id=f"c{index}", name="get_order_details", arguments={"order_id": f"#W{number:04d}{index:03d}"})
        record = json.dumps({"order": number, "items": [{"id": n, "price": 19.5 + n} for n in range(25)]})
        steps.append(
            (
                Step(index=index, role="user", content=f"Please look at my order {number}. " * 6),
                Step(index=index, role="assistant", tool_calls=(call,)),
                Step(index=index, role="tool", content=record, tool_call_id=f"c{index - 1}"),
            )[index % 3]
        )
    return Trajectory(id=f"run-{number}", source="benchmark", task_id=str(number), steps=tuple(steps))


async def bare(bodies: list[dict[str, object]], **transport: Any) -> None:
    from anthropic import AsyncAnthropic

    limit = asyncio.Semaphore(AT_ONCE)
    async with AsyncAnthropic(api_key="not-a-key", max_retries=0, **transport) as client:

        async def call(body: dict[str, object]) -> None:
            async with limit:
                await client.messages.create(**body)  # type: ignore[call-overload]

        await asyncio.gather(*map(call, bodies))


class Timed(NamedTuple):
    wall_s: float
    cpu_s: float
    result: Any


def sent(bodies: list[dict[str, object]], **transport: Any) -> None:
    asyncio.run(bare(bodies, **transport))


def timed(work: Callable[..., Any], *arguments: Any, **named: Any) -> Timed:
    cpu, begun = time.process_time(), time.perf_counter()
    result = work(*arguments, **named)
    return Timed(time.perf_counter() - begun, time.process_time() - cpu, result)


def test_overhead_of_judging_over_the_bare_sdk(provider: None) -> None:
    from anthropic import DefaultAioHttpClient

    rubrics = {axis: load_rubric(axis) for axis in AXES}
    (judge,) = make_judges([JudgeSpec.parse(SPEC)])
    ratios, cpu, of_transport = [], [], []
    for pair in range(PAIRS):
        numbers = range(pair * CALLS, pair * CALLS + CALLS // len(AXES))
        runs = [run_of(number) for number in numbers]  # new ones each time: nothing of theirs is in any cache
        bodies = [
            judge.axes_body(build_prefix(run), len(run.steps), {axis: rubrics[axis]}) for run in runs for axis in AXES
        ]
        sdk, same_transport, judged = (
            timed(sent, bodies),
            timed(sent, bodies, http_client=DefaultAioHttpClient()),
            timed(axisjudge.judge, runs, judges=[SPEC], concurrency=AT_ONCE, progress=False, confirm=True),
        )
        assert judged.result["status"].to_list() == ["ok"] * CALLS
        ratios.append(judged.wall_s / sdk.wall_s)
        cpu.append(judged.cpu_s / sdk.cpu_s)
        of_transport.append(judged.cpu_s / same_transport.cpu_s)
        print(f"\npair {pair + 1}: wall of SDK {sdk.wall_s:.2f} s, judged {judged.wall_s:.2f} s, CPU ", end="")
        print(
            f"{sdk.cpu_s:.2f} s, with its transport {same_transport.cpu_s:.2f} s, judged {judged.cpu_s:.2f} s", end=""
        )
    wall, cpu_ratio, beside = map(statistics.median, (ratios, cpu, of_transport))
    print(
        f"\njudging {CALLS} calls, {AT_ONCE} at once: {wall:.3f} times the bare SDK (goal 1.05), "
        f"CPU {cpu_ratio:.3f} (1.10), {beside:.3f} with the transport of judges"
    )
