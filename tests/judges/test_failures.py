"""What a provider's failures become: a status and a short reason, after what may pass was asked again, without any
secret."""

import asyncio
import json
import time
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from judges.conftest import KEY
from judges.servers import (
    Scripted,
    Server,
    anthropic_error,
    anthropic_message,
    anthropic_stream,
    chat_completion,
    chat_stream,
    choice,
    decision,
    grade,
    made,
    openai_error,
    openai_response,
    openai_stream,
    patiently,
    serving,
    verdict_text,
)

from axisjudge.judges.answer import failure_of
from axisjudge.judging import judging_run, lane
from axisjudge.ratings import read_ratings
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

AXIS: Axis = "termination"
SPECS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "openai": "openai:gpt-5",
    "openai-compatible": "openai-compatible:qwen3-8b@URL",
    "openai-decisions": "openai-decisions:gpt-6-luna",
}
# called when wanted, because building one imports an SDK
GOOD = {
    "anthropic": anthropic_message,
    "openai": openai_response,
    "openai-compatible": lambda: chat_completion(verdict_text()),
    "openai-decisions": lambda: decision([choice(AXIS, "correct")]),
}
SOON = ("retry-after-ms", "10")

every_provider = pytest.mark.parametrize("provider", SPECS)


def failing(provider: str, status: int, message: str = "something is wrong", *headers: tuple[str, str]) -> Scripted:
    if provider == "anthropic":
        return anthropic_error(status, "some_error", message, *headers)
    return openai_error(status, message, *headers)


@pytest.fixture
def asked(trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch) -> Any:
    def ask(provider: str, *script: Scripted, options: str = "") -> tuple[Any, Server]:
        with serving(*script) as server:
            reply = patiently(made(SPECS[provider] + options, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})
        assert KEY not in repr(astuple(reply))
        return reply.answers[AXIS], server

    return ask


@every_provider
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_asking_again_cannot_mend_is_asked_once(asked: Any, provider: str, status: int) -> None:
    answer, server = asked(provider, failing(provider, status))
    assert (answer.status, answer.verdict) == ("api_error", None)
    assert f"HTTP {status}" in answer.rationale
    assert ("something is wrong" in answer.rationale) is (status in (400, 404))
    assert len(server.requests) == 1


@every_provider
@pytest.mark.parametrize("status", [429, 500, 529])
def test_what_may_pass_is_asked_again_and_then_succeeds(asked: Any, provider: str, status: int) -> None:
    busy = failing(provider, status, "busy", SOON)
    answer, server = asked(provider, busy, busy, Scripted(GOOD[provider]()))
    assert (answer.status, answer.verdict) == ("ok", "correct")
    assert len(server.requests) == 3
    assert server.requests[0] == server.requests[2]


@every_provider
def test_after_the_last_retry_the_rating_is_lost_and_says_so(asked: Any, provider: str) -> None:
    answer, server = asked(provider, failing(provider, 502, "bad gateway", SOON))
    assert answer.status == "api_error"
    assert "HTTP 502" in answer.rationale
    assert len(server.requests) == 1 + lane.RETRIES


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_retry_after_is_honoured(asked: Any, provider: str) -> None:
    answer, server = asked(provider, failing(provider, 429, "slow", ("retry-after", "1")), Scripted(GOOD[provider]()))
    assert answer.status == "ok"
    first, second = server.times
    assert second - first >= 1.0


@pytest.mark.parametrize("asks", ["Wed, 21 Oct 2015 07:28:00 GMT", "0", "-5", "nan", "soon"])
def test_a_time_that_has_passed_is_no_leave_to_ask_at_once_for_ever(asks: str) -> None:
    class Limited(Exception):
        response = type("Response", (), {"status_code": 429, "headers": {"retry-after": asks}})()

    failure = failure_of(Limited())
    assert failure is not None
    assert (failure.kind, failure.retry_after_s) == ("limit", None)


@pytest.mark.parametrize(
    ("status", "message", "kind", "wait_s"),
    [
        (429, "You exceeded your current quota ... Please retry in 31.4s.", "limit", 31.4),  # Gemini, a minute's
        (429, "Limit 30000, Used 29000. Please try again in 1m4.2s.", "limit", 64.2),
        (429, "Please try again in 20ms.", "limit", 0.02),
        (429, "Please retry after 1h2m3s", "limit", 3_723),
        (429, "Your account is suspended due to insufficient balance, please recharge", "quota", None),
        (403, "Sorry, your account balance is insufficient", "quota", None),
        (400, "the customer has an insufficient balance", "request", None),
        (400, "AzureException - ContentPolicyViolationError: the prompt was filtered", "refused", None),
        (400, "Content Exists Risk", "refused", None),
        (403, "Content violates usage guidelines.", "refused", None),
    ],
)
def test_empty_accounts_refusals_and_waits_are_known_by_words(
    status: int, message: str, kind: str, wait_s: float | None
) -> None:
    class Told(Exception):
        status_code, body = status, {"error": {"message": message}}

    failure = failure_of(Told())
    assert failure is not None
    assert (failure.kind, failure.retry_after_s) == (kind, wait_s)


def test_a_date_is_a_time_to_wait() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)

    class Limited(Exception):
        response = type("Response", (), {"status_code": 429, "headers": {"retry-after": soon}})()

    failure = failure_of(Limited())
    assert failure is not None
    assert failure.retry_after_s is not None
    assert 25 < failure.retry_after_s <= 30


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-compatible"])
@pytest.mark.parametrize("count", [-5, 10**30, 1.5, "many", None])
def test_a_verdict_is_kept_whatever_a_server_says_of_its_tokens(
    provider: str, count: object, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.loads(GOOD[provider]())
    body["usage"] = {name: count if isinstance(old, int) else old for name, old in body["usage"].items()}
    with serving(Scripted(json.dumps(body))) as server:
        reply = grade(made(SPECS[provider], server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})
    assert reply.answers[AXIS].status == "ok"
    assert (reply.input_tokens, reply.cost_usd) == (None, None)


@pytest.mark.parametrize("provider", ["anthropic", "openai-compatible"])
def test_a_citation_that_no_table_can_hold_loses_one_verdict_and_not_the_file(
    provider: str, trajectory: Trajectory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    far = {
        "anthropic": lambda: anthropic_message(cited_step_indices=[10**30]),
        "openai-compatible": lambda: chat_completion(verdict_text(cited_step_indices=[10**30])),
    }[provider]
    with serving(Scripted(far()), Scripted(GOOD[provider]())) as server:
        judge = made(SPECS[provider], server, monkeypatch)
        run = judging_run([trajectory], [judge.spec], ["sequencing", "termination"], out=tmp_path / "r.jsonl")
        table = run.carry_out(progress=False, concurrency=1)
    assert sorted(table["status"]) == ["ok", "parse_error"]
    assert read_ratings(tmp_path / "r.jsonl").height == 2


@every_provider
def test_a_reply_that_breaks_off_may_be_paid_and_is_asked_once_more(asked: Any, provider: str) -> None:
    cut = Scripted(GOOD[provider](), drop_after=True)
    answer, server = asked(provider, cut)
    assert answer.status == "api_error"
    assert len(server.requests) == 2


@every_provider
def test_a_dropped_connection_is_tried_again(asked: Any, provider: str) -> None:
    answer, server = asked(provider, Scripted(drop=True), Scripted(GOOD[provider]()))
    assert answer.status == "ok"
    assert len(server.requests) == 2


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_timeout_is_a_status_and_is_asked_once_more(asked: Any, provider: str) -> None:
    begun = time.monotonic()
    answer, server = asked(provider, Scripted(GOOD[provider](), wait_s=1.2), options=",timeout=0.4")
    assert answer.status == "api_error"
    assert "within 0.4 s" in answer.rationale
    assert len(server.requests) == 2
    assert time.monotonic() - begun < 3


def end_of_call(judge: Any, trajectory: Trajectory, rubrics: dict[Axis, Rubric]) -> Any:
    """The failure that one call met, with the SDK that the judge really calls."""

    async def call() -> Any:
        try:
            return (await judge.grade(trajectory, {AXIS: rubrics[AXIS]})).failure
        finally:
            await judge.close()

    return asyncio.run(call())


@every_provider
def test_a_call_that_was_sent_and_dropped_may_be_paid_and_one_that_found_no_server_is_not(
    provider: str, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDKs call both a failure to connect; only the transport below them knows."""
    with serving(Scripted(drop=True)) as server:
        dropped = end_of_call(made(SPECS[provider], server, monkeypatch), trajectory, rubrics)
    nobody = end_of_call(made(SPECS[provider], server, monkeypatch), trajectory, rubrics)  # it is gone by now
    assert (dropped.kind, dropped.maybe_paid) == ("timeout", True)
    assert (nobody.kind, nobody.maybe_paid) == ("passing", False)
    assert dropped.words != nobody.words


@every_provider
@pytest.mark.parametrize(
    "reply",
    [
        Scripted("not json"),
        Scripted(""),
        Scripted("<html>Login</html>", content_type="text/html"),
        Scripted("[1, 2]"),
        Scripted("null"),
    ],
    ids=["no JSON", "empty", "a web page", "a list", "null"],
)
def test_a_reply_of_another_world_loses_one_rating_and_not_the_run(asked: Any, provider: str, reply: Scripted) -> None:
    answer, _ = asked(provider, reply)
    assert (answer.status, answer.verdict) == ("api_error", None)
    assert "reply" in answer.rationale


@every_provider
def test_an_object_without_the_expected_fields_carries_no_verdict(asked: Any, provider: str) -> None:
    answer, _ = asked(provider, Scripted('{"a": 1}'))
    assert answer.status in ("api_error", "parse_error")


@every_provider
@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_no_error_text_holds_a_key_a_header_or_a_query(asked: Any, provider: str, status: int) -> None:
    echo = (
        f"bad key {KEY}, sent Authorization: Bearer {KEY} and x-api-key: {KEY}; known are sk-fake-1234567890 and "
        f"sk-no******cret; see https://example.test/help?key={KEY}&token=abcdef"
    )
    answer, _ = asked(provider, failing(provider, status, echo))
    assert answer.status == "api_error"
    for secret in (KEY, "sk-fake", "sk-no", "token=", "abcdef", "127.0.0.1"):
        assert secret not in answer.rationale
    assert len(answer.rationale) <= 200


def _with_error(provider: str, code: str, message: str) -> list[Scripted]:
    """The ways in which a provider tells an error under status 200: in the body, in a response, in a stream."""
    error = {"type": code, "message": message} if provider == "anthropic" else {"code": code, "message": message}
    stream = f"event: error\ndata: {json.dumps({'type': 'error', 'error': error, **error})}\n\n"
    ways = [Scripted(json.dumps({"error": error}))]
    if provider == "openai":
        ways.append(Scripted(openai_response().replace('"error":null', f'"error":{json.dumps(error)}')))
    if provider == "openai-compatible":
        cut = json.loads(chat_completion("{"))
        cut["choices"][0] |= {"finish_reason": "error", "error": error}
        ways.append(Scripted(json.dumps(cut)))
    if provider in STREAMED:
        ways.append(Scripted(stream, content_type="text/event-stream"))
    return ways


#: What has a provider stream, and what it streams then.
STREAMED = {
    "anthropic": (",max_tokens=20000", anthropic_stream),
    "openai": (",effort=high", openai_stream),
    "openai-compatible": (",effort=high", chat_stream),
}


def _good(provider: str, way: Scripted) -> tuple[str, Scripted]:
    """The options under which an error comes this way, and the reply that would have been good."""
    if way.content_type == "text/event-stream":
        options, stream = STREAMED[provider]
        return options, stream()
    return "", Scripted(GOOD[provider]())


@every_provider
@pytest.mark.parametrize(
    "code",
    [
        "rate_limit_error",
        "our_servers_are_down",
        *(pytest.param(code, marks=pytest.mark.slow) for code in ("overloaded_error", "429", "server_error")),
    ],
)
def test_an_error_that_comes_with_status_200_is_asked_again(
    asked: Any, provider: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "_FIRST_WAIT_S", 0.002)
    for way in _with_error(provider, code, "too much at once"):
        options, good = _good(provider, way)
        answer, server = asked(provider, way, good, options=options)
        assert (answer.status, len(server.requests)) == ("ok", 2), way


@every_provider
@pytest.mark.parametrize(
    "code", ["what_is_this", *(pytest.param(code, marks=pytest.mark.slow) for code in ("", "418"))]
)
def test_an_error_with_status_200_that_is_not_the_server_s_is_not_asked_again(
    asked: Any, provider: str, code: str
) -> None:
    """As an unknown status below 500 is not: it would come again, and each time may be paid."""
    for way in _with_error(provider, code, "too many zebras"):
        answer, server = asked(provider, way, options=_good(provider, way)[0])
        assert (answer.status, len(server.requests)) == ("api_error", 1)
        assert "zebras" in answer.rationale


@every_provider
@pytest.mark.parametrize("code", ["authentication_error", "401"])
def test_a_dead_key_that_comes_with_status_200_is_told_and_not_asked_again(
    asked: Any, provider: str, code: str
) -> None:
    for way in _with_error(provider, code, f"bad key {KEY}"):
        answer, server = asked(provider, way, options=_good(provider, way)[0])
        assert (answer.status, len(server.requests)) == ("api_error", 1)
        assert code in answer.rationale


@pytest.mark.parametrize("provider", STREAMED)
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_stream_that_ends_too_early_may_be_paid_and_is_asked_once_more(
    asked: Any, provider: str, is_cut: bool
) -> None:
    options, stream = STREAMED[provider]
    whole = stream()
    assert isinstance(whole.body, str)
    events = whole.body.split("\n\n")[:-1]
    ends = ("message_stop", "response.completed", '"finish_reason": "stop"')
    last = next(at for at, event in enumerate(events) if any(end in event for end in ends))
    for n_events in {0, last // 2, last}:
        early = replace(whole, body="".join(f"{event}\n\n" for event in events[:n_events]), drop_after=is_cut)
        answer, server = asked(provider, early, whole, options=options)
        assert (answer.status, len(server.requests)) == ("ok", 2)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_an_error_that_is_not_the_sdks_is_not_swallowed(
    trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    with serving(Scripted(GOOD[provider]())) as server:
        judge = made(SPECS[provider], server, monkeypatch)

        async def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(judge, "send", broken)
        with pytest.raises(ZeroDivisionError):
            grade(judge, trajectory, {AXIS: rubrics[AXIS]})


@every_provider
def test_a_closed_judge_can_be_asked_again(
    trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """A notebook judges again with the same judge, in another event loop."""
    with serving(Scripted(GOOD[provider]())) as server:
        judge = made(SPECS[provider], server, monkeypatch)
        statuses = [grade(judge, trajectory, {AXIS: rubrics[AXIS]}).answers[AXIS].status for _ in range(2)]
    assert statuses == ["ok", "ok"]


@every_provider
def test_nothing_written_holds_the_key(asked: Any, provider: str) -> None:
    _, server = asked(provider, Scripted(GOOD[provider]()))
    assert KEY not in json.dumps(server.requests)


#: Bodies of errors as these servers send them; what they mean. (Groq, Gemini and xAI by their documents; the others by
#: reports in their trackers.)
BODIES: dict[str, tuple[int, Any, str]] = {
    "vllm": (
        400,
        {"message": "The decoder prompt (length 9) is longer than the maximum model length of 8."},
        "too_long",
    ),
    "sglang": (
        400,
        {"message": "The input (9 tokens) is longer than the model's context length (8 tokens)."},
        "too_long",
    ),
    "lm-studio": (400, {"error": "the model is loaded with context length of only 8 tokens"}, "too_long"),
    "bedrock": (400, {"message": "Input is too long for requested model."}, "too_long"),
    "gemini": (
        400,
        [{"error": {"message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."}}],
        "too_long",
    ),
    "anthropic": (
        400,
        {"error": {"message": "input length and `max_tokens` exceed context limit: 9 + 1 > 8"}},
        "too_long",
    ),
    "tgi": (422, {"error": "Input validation error: `inputs` must have less than 8 tokens. Given: 9"}, "too_long"),
    "litellm": (400, {"error": {"message": "Budget has been exceeded!", "type": "budget_exceeded"}}, "quota"),
    "xai": (403, {"error": "Your team has used all available credits"}, "quota"),
    "groq": (400, {"error": {"message": "Failed to generate JSON.", "code": "json_validate_failed"}}, "unreadable"),
    "groq, busy": (498, {"error": {"message": "Flex tier capacity exceeded"}}, "limit"),
    "bedrock, model": (424, {"message": "Try your request again."}, "passing"),
    "openrouter": (403, {"error": {"message": "requires moderation and your input was flagged"}}, "refused"),
    "gemini, key": (400, [{"error": {"message": "API key expired. Please renew the API key."}}], "key"),
    "ollama": (404, {"error": "model 'x' not found"}, "model"),
    "fastapi": (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "request"),
    "a page": (404, "404 page not found", "model"),
}


@pytest.mark.parametrize("server", BODIES)
def test_an_error_is_understood_and_told_in_the_words_of_its_server(server: str) -> None:
    status, body, kind = BODIES[server]
    told = type("Told", (Exception,), {"status_code": status, "body": body})()
    failure = failure_of(told)
    assert failure is not None
    assert failure.kind == kind
    assert ("no message" in failure.words) is False
    assert failure.status == {"too_long": "truncated", "refused": "refused"}.get(kind, "api_error")


def test_a_key_that_is_refused_in_the_body_of_a_reply_names_its_variable_too(asked: Any) -> None:
    body = json.dumps({"error": {"code": 401, "message": "No auth credentials found"}})
    answer, _ = asked("openai-compatible", Scripted(body))
    assert "OPENAI_COMPATIBLE_API_KEY" in answer.rationale
