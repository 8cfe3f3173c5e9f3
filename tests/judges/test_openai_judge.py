"""The openai package against a server on loopback: Responses, chat completions and decisions."""

import json
from typing import Any

import pytest
from judges.conftest import KEY
from judges.servers import (
    Scripted,
    chat_completion,
    choice,
    decision,
    grade,
    made,
    openai_response,
    serving,
    verdict_text,
)

from axisjudge.checks import InputError
from axisjudge.judges import make_judges
from axisjudge.judges.openai_judge import takes_breakpoints
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, VERDICTS, Axis, verdict_schema

GPT_5 = "openai:gpt-5"
LOCAL = "openai-compatible:qwen3-8b@URL"
LUNA = "openai-decisions:gpt-6-luna"
AXIS: Axis = "sequencing"


@pytest.fixture
def asked(trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch) -> Any:
    def ask(reply: str, spec: str = GPT_5, axes: tuple[Axis, ...] = (AXIS,)) -> Any:
        with serving(Scripted(reply)) as server:
            judge = made(spec, server, monkeypatch)
            got = grade(judge, trajectory, {axis: rubrics[axis] for axis in axes})
        ask.server = server  # type: ignore[attr-defined]
        return got.answers[axes[0]], got, server.requests[0]

    return ask


def test_a_verdict_by_the_responses_api(asked: Any) -> None:
    answer, reply, request = asked(openai_response(), f"{GPT_5},effort=low,max_tokens=900,temperature=1")
    assert (answer.status, answer.verdict, answer.confidence) == ("ok", "correct", 0.9)
    assert answer.cited_step_indices == (2, 5)
    assert (reply.returned_model, reply.call_id) == ("gpt-5-2025-08-07", "resp_1")
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (10_000, 8_000, 300)
    assert reply.cost_usd == pytest.approx((2_000 * 1.25 + 8_000 * 0.125 + 300 * 10) / 1e6)
    assert asked.server.paths == ["/v1/responses"]
    form = {"type": "json_schema", "name": "verdict", "schema": verdict_schema(), "strict": True}
    assert request["text"] == {"format": form}
    assert (request["model"], request["store"]) == ("gpt-5", False)
    assert (request["reasoning"], request["max_output_tokens"]) == ({"effort": "low"}, 900)
    assert request["temperature"] == 1.0
    assert KEY not in json.dumps(request)


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gpt-5", False),
        ("gpt-5-2025-08-07", False),
        ("gpt-5.5-pro", False),
        ("gpt-5.6-sol", True),
        ("gpt-5.10", True),
        ("gpt-6-luna", True),
        ("gpt-6.1-sol", True),
        ("gpt-4.1-mini", False),
        ("o4-mini", False),
    ],
)
def test_which_models_take_cache_breakpoints(model: str, takes: bool) -> None:
    assert takes_breakpoints(model) is takes


@pytest.mark.parametrize(("spec", "explicit"), [(GPT_5, False), ("openai:gpt-6.1-sol", True)])
def test_the_five_axes_share_their_prefix_and_the_cache_is_told(
    trajectory: Trajectory,
    rubrics: dict[Axis, Rubric],
    monkeypatch: pytest.MonkeyPatch,
    spec: str,
    explicit: bool,
) -> None:
    with serving(Scripted(openai_response())) as server:
        for axis in AXES:
            grade(made(spec, server, monkeypatch), trajectory, {axis: rubrics[axis]})
    shared = set()
    for axis, request in zip(AXES, server.requests, strict=True):
        setting, prefix, question = request["input"][0]["content"]
        assert {"prompt_cache_breakpoint" in part for part in (setting, prefix)} == {explicit}
        assert "prompt_cache_breakpoint" not in question
        assert (request.get("prompt_cache_options") == {"mode": "explicit", "ttl": "30m"}) is explicit
        assert axis in question["text"]
        shared.add(
            json.dumps([request["instructions"], setting, prefix, request["text"], request.get("prompt_cache_key")])
        )
    assert len(shared) == 1
    key = server.requests[0].get("prompt_cache_key", "")
    assert bool(key) is not explicit
    assert len(key) <= 64


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "truncated", "max_output"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refused", "content filter"),
        ({"status": "incomplete", "incomplete_details": None}, "truncated", "no reason given"),
        (
            {"status": "failed", "error": {"code": "server_error", "message": "oh"}},
            "api_error",
            "server_error: oh",
        ),
        ({"status": "cancelled"}, "api_error", "cancelled"),
        ({"output": []}, "parse_error", "no objects stand in it"),
        ({"refusal": "I cannot help with that."}, "refused", "refused"),
        ({"text": verdict_text(verdict="maybe")}, "parse_error", "verdict: Input should be"),
        ({"text": verdict_text() + verdict_text(confidence=0.1)}, "parse_error", "2 objects stand in it"),
        ({"text": verdict_text()[:-1]}, "parse_error", "broken or cut off"),
        ({"text": verdict_text(confidence=1.01)}, "parse_error", "less than or equal to 1"),
    ],
)
def test_what_is_no_verdict_has_a_status_and_a_reason(
    asked: Any, changes: dict[str, Any], status: str, reason: str
) -> None:
    answer, reply, _ = asked(openai_response(**changes))
    assert (answer.status, answer.verdict) == (status, None)
    assert reason in answer.rationale
    assert reply.input_tokens == 10_000


def test_a_reply_without_usage_is_unpriced(asked: Any) -> None:
    answer, reply, _ = asked(openai_response(usage=None))
    assert answer.status == "ok"
    assert (reply.input_tokens, reply.cost_usd, reply.flags) == (None, None, ("unpriced",))


def test_a_verdict_from_a_compatible_server_without_a_key(asked: Any) -> None:
    answer, reply, request = asked(chat_completion(verdict_text()), f"{LOCAL},temperature=0,seed=5,effort=low")
    assert (answer.status, answer.verdict) == ("ok", "correct")
    assert (reply.returned_model, reply.input_tokens, reply.output_tokens) == ("qwen3-8b", 900, 80)
    assert (reply.cost_usd, reply.flags) == (None, ("unpriced",))
    assert asked.server.paths == ["/v1/chat/completions"]
    form = {"name": "verdict", "schema": verdict_schema(), "strict": True}
    assert request["response_format"] == {"type": "json_schema", "json_schema": form}
    assert (request["temperature"], request["seed"], request["reasoning_effort"]) == (0.0, 5, "low")
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert KEY not in asked.server.headers[0]["authorization"]


def test_a_compatible_server_gets_the_key_that_key_env_names(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "not-a-key-of-mine")
    asked(chat_completion(verdict_text()), f"{LOCAL},key_env=MY_KEY")
    assert asked.server.headers[0]["authorization"] == "Bearer not-a-key-of-mine"
    monkeypatch.delenv("MY_KEY")
    (judge,) = make_judges([JudgeSpec.parse("openai-compatible:qwen3-8b@http://localhost:8000/v1,key_env=MY_KEY")])
    with pytest.raises(InputError, match="environment variable MY_KEY"):
        judge.prepare()


@pytest.mark.parametrize(
    ("content", "finish_reason", "changes", "status"),
    [
        (verdict_text()[:40], "length", {}, "truncated"),
        (None, "content_filter", {}, "refused"),
        (None, "stop", {"refusal": "no"}, "refused"),
        (None, "tool_calls", {}, "parse_error"),
        ("", "stop", {"choices": []}, "parse_error"),
    ],
)
def test_what_a_compatible_server_may_do_instead(
    asked: Any, content: str | None, finish_reason: str, changes: dict[str, Any], status: str
) -> None:
    answer, _, _ = asked(chat_completion(content, finish_reason, **changes), LOCAL)
    assert (answer.status, answer.verdict) == (status, None)


def _cut(**message: Any) -> str:
    made = json.loads(chat_completion(None, "length"))
    made["choices"][0]["message"] |= message
    return json.dumps(made)


#: How servers show that a model thought: DeepSeek and SGLang, OpenRouter, and those that leave it in the text.
THOUGHTS = [_cut(reasoning_content="Let me see"), _cut(reasoning="Let me see"), _cut(content="<think>Let me see")]


@pytest.mark.parametrize("thought", THOUGHTS)
def test_a_model_that_thinks_until_it_is_cut_is_given_room_once(
    thought: str, trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Scripted(thought), Scripted(chat_completion(verdict_text()))) as server:
        judge = made(LOCAL, server, monkeypatch)
        first, second = (grade(judge, trajectory, {AXIS: rubrics[AXIS]}) for _ in range(2))
    assert [asked["max_tokens"] for asked in server.requests] == [4_096, 16_000, 16_000]
    assert (first.answers[AXIS].status, first.output_tokens, second.output_tokens) == ("ok", 160, 80)
    assert "room_to_think" in first.flags


@pytest.mark.parametrize(
    ("spec", "then", "limits"),
    [
        (f"{LOCAL},max_tokens=900", THOUGHTS[0], [900]),
        (f"{LOCAL},context=16000", THOUGHTS[0], [4_000]),
        (LOCAL, _cut(content="{"), [4_096]),  # cut, and no word of a thought
        (LOCAL, THOUGHTS[0], [4_096, 16_000]),  # refused there: what the first reply was stands
    ],
)
def test_no_room_is_given_where_it_is_set_or_is_not_there(
    spec: str,
    then: str,
    limits: list[int],
    trajectory: Trajectory,
    rubrics: dict[Axis, Rubric],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(Scripted(then), Scripted('{"error": {"message": "max_tokens is too large"}}', status=400)) as server:
        got = grade(made(spec, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})
    assert [asked["max_tokens"] for asked in server.requests] == limits
    assert (got.answers[AXIS].status, got.failure) == ("truncated", None)
    assert "room_to_think" not in got.flags


def test_five_decisions_in_one_call(asked: Any) -> None:
    words = ("correct", "incorrect", "uncertain", "not_applicable", "correct")
    answers = [choice(axis, word) for axis, word in zip(AXES, words, strict=True)]
    _, reply, request = asked(decision(answers), LUNA, AXES)
    assert asked.server.paths == ["/v1/decisions"]
    assert [reply.answers[axis].verdict for axis in AXES] == list(words)
    first = reply.answers[AXES[0]]
    assert (first.confidence, first.confidence_source) == (0.7, "native")
    assert set(first.probabilities) == set(VERDICTS)
    assert sum(first.probabilities.values()) == pytest.approx(1)
    assert (first.rationale, first.cited_step_indices) == (None, ())
    assert reply.flags == ("one_call",)
    assert reply.call_id
    assert reply.cost_usd > 0
    assert [asked_of["name"] for asked_of in request["questions"]] == list(AXES)
    for axis, asked_of in zip(AXES, request["questions"], strict=True):
        assert [each["value"] for each in asked_of["choices"]] == list(VERDICTS)
        assert f"well on {axis}" in asked_of["instructions"]
    assert request["input"][1]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


def test_one_question_may_be_refused_and_the_others_stand(asked: Any) -> None:
    answers = [choice(axis, "correct") for axis in AXES]
    answers[2] = {"type": "refusal", "name": AXES[2]}
    _, reply, _ = asked(decision(answers), LUNA, AXES)
    assert [reply.answers[axis].status for axis in AXES] == ["ok", "ok", "refused", "ok", "ok"]


def test_the_confidence_of_a_decision_is_that_of_the_word_it_chose(asked: Any) -> None:
    chosen = {**choice(AXIS, "incorrect", 0.25), "confidence": 0.99}
    answer, _, _ = asked(decision([chosen]), LUNA)
    assert (answer.verdict, answer.confidence) == ("incorrect", 0.25)


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [choice(AXIS, "correct")] * 2,
        [choice("termination", "correct")],
        [{"type": "predicate", "name": AXIS, "probability": 0.5}],
        [{**choice(AXIS, "correct"), "choice": "right"}],
        [{**choice(AXIS, "correct"), "choice": True}],
        [{**choice(AXIS, "correct"), "probabilities": [{"value": "correct", "probability": 1.0}]}],
        [choice(AXIS, "correct", 1.5)],
    ],
    ids=["none", "two", "other axis", "predicate", "other word", "bool", "words missing", "improbable"],
)
def test_a_decision_of_the_wrong_shape_is_a_parse_error(asked: Any, answers: list[dict[str, Any]]) -> None:
    answer, _, _ = asked(decision(answers), LUNA)
    assert (answer.status, answer.verdict, answer.probabilities) == ("parse_error", None, None)
    assert answer.rationale
