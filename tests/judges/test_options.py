"""What a model would refuse is refused before the first call; long answers are streamed; usage may be missing."""

import asyncio
import json
from typing import Any

import pytest
from judges.servers import (
    Scripted,
    anthropic_message,
    anthropic_stream,
    chat_completion,
    chat_stream,
    grade,
    made,
    openai_response,
    openai_stream,
    serving,
    verdict_text,
)

from axisjudge.checks import InputError
from axisjudge.judges import make_judges
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

AXIS: Axis = "termination"


@pytest.mark.parametrize(
    ("spec", "option"),
    [
        ("anthropic:claude-opus-5-5,temperature=0", "temperature"),
        ("anthropic:claude-sonnet-5-5,mechanism=forced_tool", "mechanism"),
        ("anthropic:claude-sonnet-4-6,effort=enormous", "effort"),
        ("openai:gpt-5,temperature=0", "temperature"),
        ("openai:gpt-5,effort=enormous", "effort"),
        ("openai:gpt-4.1,effort=low", "effort"),
        ("openai:gpt-5-chat-latest,effort=low", "effort"),
        ("openai:gpt-5,max_tokens=400000", "max_tokens"),
        ("openai:gpt-4.1,temperature=2.5", "temperature"),
        ("anthropic:claude-sonnet-4-6,temperature=1.5", "temperature"),
        ("anthropic:claude-sonnet-4-5,max_tokens=200000", "max_tokens"),
    ],
)
def test_options_that_a_model_refuses_are_refused_before_the_first_call(
    spec: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Scripted()) as server:
        judge = made(spec, server, monkeypatch)
        with pytest.raises(InputError, match=option):
            judge.prepare()
        assert server.requests == []


@pytest.mark.parametrize(
    "spec",
    [
        "anthropic:claude-sonnet-4-6,temperature=0.2,effort=low",
        "openai:gpt-5,temperature=1,effort=minimal",
        "openai:gpt-5,temperature=0,effort=none",
        "openai:gpt-4.1,temperature=0",
    ],
)
def test_options_that_it_takes_are_taken(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Scripted()) as server:
        made(spec, server, monkeypatch).prepare()


def told(judge: Any) -> Any:
    async def once() -> Any:
        try:
            return await judge.retirement()
        finally:
            await judge.close()

    return asyncio.run(once())


def claude(**fields: Any) -> str:
    model = {"id": "m", "display_name": "M", "type": "model", "created_at": "2026-02-17T00:00:00Z", **fields}
    return json.dumps(model)


def test_the_models_endpoint_s_limit_of_max_tokens_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Scripted()) as server:
        server.models["claude-sonnet-4-6"] = claude(lifecycle="active", max_tokens=64_000)
        with pytest.raises(InputError, match="max_tokens"):
            told(made("anthropic:claude-sonnet-4-6,max_tokens=90000", server, monkeypatch))
        assert told(made("anthropic:claude-sonnet-4-6,max_tokens=64000", server, monkeypatch)) is None
        server.models["claude-3-haiku-20240307"] = claude(lifecycle="active", max_tokens=4_096)
        with pytest.raises(InputError, match="4096"):  # less than what is asked for where nobody says anything
            told(made("anthropic:claude-3-haiku-20240307", server, monkeypatch))


def test_a_record_without_a_lifecycle_is_no_deprecation(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Scripted()) as server:
        server.models["claude-sonnet-9-9"] = claude()
        assert told(made("anthropic:claude-sonnet-9-9", server, monkeypatch)) is None


@pytest.mark.parametrize(
    ("spec", "stream"),
    [
        ("anthropic:claude-sonnet-4-6,effort=max", anthropic_stream),
        ("anthropic:claude-sonnet-4-6,max_tokens=60000", anthropic_stream),
        ("openai:gpt-5,effort=high", openai_stream),
        ("openai:gpt-5,max_tokens=60000", openai_stream),
        ("openai-compatible:qwen3-8b@URL,effort=high", chat_stream),
        ("openai-compatible:qwen3-8b@URL,max_tokens=60000", chat_stream),
    ],
)
def test_long_answers_are_streamed(
    spec: str, stream: Any, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(stream()) as server:
        reply = grade(made(spec, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})
        assert server.requests[0]["stream"] is True
    assert (reply.answers[AXIS].status, reply.answers[AXIS].verdict) == ("ok", "correct")
    assert reply.output_tokens == (80 if "compatible" in spec else 300)


@pytest.mark.parametrize(
    ("spec", "reply"),
    [
        ("anthropic:claude-sonnet-4-6", anthropic_message),
        ("openai:gpt-5", openai_response),
        ("openai-compatible:qwen3-8b@URL", lambda: chat_completion(verdict_text())),
    ],
)
@pytest.mark.parametrize("lacks", ["usage", "details"])
def test_a_reply_without_usage_keeps_its_verdict(
    spec: str,
    reply: Any,
    lacks: str,
    trajectory: Trajectory,
    rubrics: dict[Axis, Rubric],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = json.loads(reply())
    if lacks == "usage":
        del body["usage"]
    else:
        body["usage"] = {key: value for key, value in body["usage"].items() if isinstance(value, int)}
    with serving(Scripted(json.dumps(body))) as server:
        found = grade(made(spec, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})
    assert found.answers[AXIS].status == "ok"
    assert (found.cost_usd is None) or lacks == "details"


@pytest.mark.parametrize("context", [8_192, 32_768])
def test_a_record_is_shortened_to_the_context_of_a_local_model(
    context: int, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [*trajectory.steps]
    steps[3] = steps[3].model_copy(update={"content": "x" * 200_000})
    long = trajectory.model_copy(update={"steps": tuple(steps)})
    with serving(Scripted(chat_completion(verdict_text()))) as server:
        judge = made(f"openai-compatible:qwen3-8b@URL,max_tokens=1000,context={context}", server, monkeypatch)
        reply = grade(judge, long, {AXIS: rubrics[AXIS]})
    asked = sum(len(message["content"]) for message in server.requests[0]["messages"])
    assert 0.3 * context < asked / 3 < context - 1_000
    assert reply.answers[AXIS].status == "ok"
    assert any(flag.startswith("shortened:") for flag in reply.flags)


def test_a_context_without_room_is_refused_before_the_first_call() -> None:
    (judge,) = make_judges(["openai-compatible:qwen3-8b@http://127.0.0.1:9/v1,context=4096"])
    with pytest.raises(InputError, match="context"):
        judge.check()
