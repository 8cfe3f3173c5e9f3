"""Other doors to models: each against a server that follows what its provider publishes of paths, keys and replies."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from judges.servers import (
    Scripted,
    anthropic_message,
    chat_completion,
    grade,
    made,
    openai_response,
    serving,
    verdict_text,
)

from axisjudge.checks import InputError
from axisjudge.judges.compatible_judge import context_of
from axisjudge.rubric import Rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

AXIS: Axis = "termination"


@pytest.fixture
def reply_of(trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda spec, server: grade(made(spec, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})


def chat(**changes: Any) -> str:
    """A chat completion whose message or usage has what one provider adds."""
    whole = json.loads(chat_completion(verdict_text()))
    whole["choices"][0]["message"] |= changes.get("message", {})
    whole["usage"] |= changes.get("usage", {})
    return json.dumps(whole | changes.get("rest", {}))


#: What providers add to a reply; the verdict is the same behind all of them, and thought is kept nowhere.
THOUGHT = "SECRET-THOUGHT"
REPLIES = {
    "vllm": chat(message={"reasoning_content": THOUGHT}, rest={"prompt_logprobs": None, "kv_transfer_params": None}),
    "sglang": chat(message={"reasoning_content": THOUGHT}, rest={"metadata": {"weight_version": "default"}}),
    "ollama": chat(message={"reasoning": THOUGHT}, rest={"system_fingerprint": "fp_ollama"}),
    "lm-studio": chat(
        message={"content": f"<think>{THOUGHT}</think>\n\n```json\n{verdict_text()}\n```"}, rest={"stats": {}}
    ),
    "groq": chat(
        message={"reasoning": THOUGHT}, usage={"queue_time": 0.1, "total_time": 0.4}, rest={"x_groq": {"id": "r"}}
    ),
    "deepseek": chat(
        message={"reasoning_content": THOUGHT}, usage={"prompt_cache_hit_tokens": 512, "prompt_cache_miss_tokens": 388}
    ),
    "mistral": chat(
        message={
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
                {"type": "text", "text": verdict_text()},
            ]
        }
    ),
    "openrouter": ": OPENROUTER PROCESSING\n\n"
    + chat(
        message={"reasoning": THOUGHT, "reasoning_details": [{"signature": THOUGHT}]},
        usage={"cost": 0.002},
        rest={"provider": "X"},
    ),
    "litellm": chat(message={"thinking_blocks": [{"thinking": THOUGHT, "signature": THOUGHT}]}),
    "gemini": chat(message={"extra_content": {"google": {"thought_signature": THOUGHT}}}),
}


@pytest.mark.parametrize("door", REPLIES)
def test_each_compatible_door_gives_its_verdict_and_keeps_no_thought(door, reply_of):
    headers = (("x-litellm-response-cost", "0.000975"),) if door == "litellm" else ()
    with serving(Scripted(REPLIES[door], headers=headers)) as server:
        reply = reply_of("openai-compatible:some-model@URL,family=x", server)
    assert (reply.answers[AXIS].status, reply.answers[AXIS].verdict) == ("ok", "correct")
    assert THOUGHT not in repr(reply)
    assert reply.output_tokens == 80
    assert reply.cached_tokens == (512 if door == "deepseek" else None)  # what is not told is not none
    assert reply.cost_usd == {"openrouter": 0.002, "litellm": 0.000975}.get(door)


@pytest.mark.parametrize(("mechanism", "form"), [("chat_json_object", "json_object"), ("chat_text", None)])
def test_a_server_without_schemas_is_told_the_form_in_words(mechanism, form, reply_of):
    with serving(Scripted(chat_completion(verdict_text()))) as server:
        reply = reply_of(f"openai-compatible:deepseek-chat@URL,mechanism={mechanism}", server)
    (request,) = server.requests
    assert request.get("response_format", {}).get("type") == form
    assert "JSON object" in request["messages"][1]["content"]
    assert "cited_step_indices" in request["messages"][1]["content"]
    assert reply.answers[AXIS].status == "ok"


def test_bedrock_has_its_path_and_its_key(reply_of, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-of-bedrock")
    with serving(Scripted(anthropic_message())) as server:
        spec = f"anthropic-bedrock:eu.anthropic.claude-sonnet-4-6-v1:0@{server.url}"
        assert reply_of(spec, server).answers[AXIS].status == "ok"
    assert server.paths == ["/model/eu.anthropic.claude-sonnet-4-6-v1:0/invoke"]
    assert server.headers[0]["authorization"] == "Bearer key-of-bedrock"
    assert "model" not in server.requests[0]


def test_bedrock_signs_with_the_credentials_of_aws(reply_of, monkeypatch):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    with serving(Scripted(anthropic_message())) as server:
        assert (
            reply_of(f"anthropic-bedrock:anthropic.claude-sonnet-4-6-v1:0@{server.url}", server).answers[AXIS].status
            == "ok"
        )
    assert server.headers[0]["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")


def test_vertex_has_its_path_its_token_and_names_what_is_missing(reply_of, monkeypatch):
    monkeypatch.setenv("VERTEX_ACCESS_TOKEN", "token-of-vertex")
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-west1")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project-7")
    with serving(Scripted(anthropic_message())) as server:
        spec = f"anthropic-vertex:claude-sonnet-4-5@20250929@{server.url}"
        assert reply_of(spec, server).answers[AXIS].status == "ok"
        monkeypatch.delenv("CLOUD_ML_REGION")
        with pytest.raises(InputError, match="CLOUD_ML_REGION"):
            made(spec, server, monkeypatch).check()
    place = (
        "/projects/project-7/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict"
    )
    assert server.paths == [place]
    assert server.headers[0]["authorization"] == "Bearer token-of-vertex"


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"max_model_len": 4_096}, 4_096),  # vLLM, SGLang
        ({"meta": {"n_ctx": 2_048}}, 2_048),  # llama.cpp
        ({"context_length": 8_192, "top_provider": {"context_length": 4_096}}, 4_096),  # OpenRouter
        ({"max_input_tokens": 272_000, "mode": "chat"}, 272_000),  # LiteLLM
        ({"max_context_length": 128_000, "aliases": ["other"]}, 128_000),  # Mistral, beside the model of that name
        ({"owned_by": "library"}, None),  # Ollama, before a model is loaded
    ],
)
def test_the_context_that_a_server_lists_is_known_before_the_first_call(model, told, monkeypatch):
    with serving(Scripted()) as server:
        server.models["models"] = json.dumps(
            {"data": [{"id": "other", "aliases": ["some-model"]}, {"id": "some-model", **model}]}
        )
        judge = made("openai-compatible:some-model@URL,family=x", server, monkeypatch)

        async def looked():
            await judge.look()
            await judge.close()

        asyncio.run(looked())
    assert judge.context_told == told


@pytest.mark.parametrize(
    ("usage", "output"),
    [
        ({"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 1_400}, 500),  # Gemini, xAI: 420 of thought
        ({"prompt_tokens": 900, "completion_tokens": 480, "total_tokens": 1_380}, 480),  # OpenAI, DeepSeek: among them
        ({"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": None}, 80),
        ({"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 7}, 80),
    ],
)
def test_thought_is_paid_wherever_a_server_counts_it(usage, output, reply_of):
    with serving(Scripted(chat(usage=usage))) as server:
        reply = reply_of("openai-compatible:some-model@URL,family=x,price=0/1000000", server)
    assert reply.output_tokens == reply.cost_usd == output


@pytest.mark.parametrize(
    ("end", "status"),
    [
        *(("model_length", "truncated"), ("MAX_TOKENS", "truncated"), ("SAFETY", "refused"), ("refusal", "refused")),
        *(("insufficient_system_resource", "api_error"), ("abort", "api_error")),
    ],
)
def test_a_reply_that_its_server_ended_is_no_verdict_and_is_paid(end, status, reply_of):
    whole = json.loads(chat())
    whole["choices"][0]["finish_reason"] = end
    with serving(Scripted(json.dumps(whole))) as server:
        reply = reply_of("openai-compatible:some-model@URL,family=x,price=1/1", server)
    assert reply.answers[AXIS].status == status
    assert reply.cost_usd > 0
    assert (reply.failure is not None and reply.failure.kind == "passing") is (status == "api_error")


@pytest.mark.parametrize(
    ("others", "status"),
    [(["correct"], "ok"), (["incorrect"], "parse_error"), ([None], "ok"), ([None, "correct"], "ok")],
)
def test_of_several_choices_none_is_taken_that_another_one_contradicts(others, status, reply_of):
    whole = json.loads(chat())
    first = whole["choices"][0]
    for word in others:
        content = None if word is None else json.dumps({**json.loads(verdict_text()), "verdict": word})
        whole["choices"].insert(0, {**first, "message": {"role": "assistant", "content": content}})
    with serving(Scripted(json.dumps(whole))) as server:
        answer = reply_of("openai-compatible:some-model@URL,family=x", server).answers[AXIS]
    assert (answer.status, answer.verdict) == (
        status,
        json.loads(verdict_text())["verdict"] if status == "ok" else None,
    )


@pytest.mark.parametrize(("n_read", "status"), [(2_050, "truncated"), (9_000, "ok")])
def test_a_prompt_that_its_server_cut_without_a_word_is_not_judged(n_read, status, trajectory, rubrics, monkeypatch):
    """As Ollama does: of a prompt of some 9,000 tokens it reads the context that it was started with."""
    long = trajectory.model_copy(update={"policy": "Ask first. " * 3_000})
    with serving(Scripted(chat(usage={"prompt_tokens": n_read, "total_tokens": n_read + 80}))) as server:
        judge = made("openai-compatible:some-model@URL,family=x", server, monkeypatch)
        answer = grade(judge, long, {AXIS: rubrics[AXIS]}).answers[AXIS]
    assert answer.status == status
    assert status == "ok" or "OLLAMA_CONTEXT_LENGTH" in answer.rationale


@pytest.mark.parametrize(
    ("place", "listed"),
    [
        ("ps", {"models": [{"name": "some-model", "context_length": 4_096}]}),  # Ollama
        ("models", {"data": [{"id": "some-model", "loaded_context_length": 4_096, "max_context_length": 131_072}]}),
    ],
)
def test_the_context_is_found_beside_the_interface_too(place, listed):
    seen = []

    class Client:
        base_url = httpx2.URL("http://127.0.0.1:1/v1/")

        def with_options(self, **_):
            return self

        async def get(self, path, cast_to):
            seen.append(path)
            return listed if path.endswith((f"api/{place}", f"api/v0/{place}")) else {"data": []}

    assert asyncio.run(context_of(Client(), "some-model")) == 4_096
    assert seen[1] == "http://127.0.0.1:1/api/ps"
    if place == "ps":  # it lists what is loaded, another model alone as well
        assert asyncio.run(context_of(Client(), "another")) is None


def test_azure_s_dated_interface_is_asked_by_responses_too(reply_of, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-of-azure")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-key")
    with serving(Scripted(openai_response())) as server:
        spec = f"openai:dep@{server.url}/openai?api-version=2025-04-01-preview,key_env=AZURE_OPENAI_API_KEY"
        assert reply_of(spec, server).answers[AXIS].status == "ok"
        with pytest.raises(InputError, match="api-version"):
            made(f"anthropic:claude-sonnet-4-6@{server.url}?api-version=1", server, monkeypatch).check()
    assert server.paths == ["/openai/responses?api-version=2025-04-01-preview"]
    assert server.headers[0]["api-key"] == "key-of-azure"
