"""The doctor finds out by two calls what a study would find out by lost ones. Real servers on loopback."""

import asyncio
import json
import re

import pytest
from judging.providers import completion, failing, healthy, providing
from judging.worlds import CoinJudge
from typer.testing import CliRunner

from axisjudge.cli import app
from axisjudge.judges import make_judges
from axisjudge.judging.doctor import examine


def examined(provider, model, options=""):
    (judge,) = make_judges([f"openai-compatible:{model}@{provider.url},family=x{options}"])
    return asyncio.run(examine(judge))


def test_a_judge_that_answers_is_told_by_its_reply_and_headers():
    def second_is_cached(number, body):
        cached = {"prompt_tokens_details": {"cached_tokens": 6_000 * (number > 0)}}
        usage = {"prompt_tokens": 9_000, "completion_tokens": 90, "total_tokens": 9_090, **cached}
        limits = {"x-ratelimit-remaining-requests": "59", "date": "Sun, 06 Nov 1994 08:49:37 GMT"}
        reply = completion(body, usage)
        if body.get("logprobs"):
            reply["choices"][0]["logprobs"] = {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": []}]}
        return 200, limits, reply, 0.0

    with providing(m=second_is_cached) as provider:
        found = examined(provider, "m")
        assert provider.calls["m"] == 6  # two questions; a range, a seed twice, probabilities
    row = found.row()
    assert (row["model returned"], row["logprobs"]) == ("m", "told")
    assert row["tokens in"] == 9_000
    assert row["cached on the second"] == 6_000
    assert "x-ratelimit-remaining-requests 59" in row["limits"]
    assert found.clock_s > 10 * 365 * 86_400
    assert any("clock" in fault for fault in found.faults)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (failing(401, "bad key"), "HTTP 401"),
        (failing(404, "no such model"), "no such model"),
        (failing(429, "quota", "insufficient_quota"), "quota"),
        (lambda number, body: (200, {}, completion(body, confidence=7), 0.0), "confidence"),
        (lambda number, body: (200, {}, {"a": 1}, 0.0), "reply"),
    ],
)
def test_what_is_wrong_is_said_in_the_providers_words(model, told):
    with providing(m=model) as provider:
        found = examined(provider, "m")
        assert provider.calls["m"] <= 4
    assert not found.row()["answers"]
    assert told in found.faults[0]


def unlike(name, status, error, **headers):
    """A server that takes no such field or form of an answer, and says so in its own way."""

    def model(number, body):
        form = body.get("response_format", {}).get("type")
        return (status, {}, error, 0.0) if name in (*body, form) else (200, headers, completion(body), 0.0)

    return model


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        (  # DeepSeek; then Groq, LM Studio, Mistral, Gemini, Groq
            unlike("json_schema", 400, {"error": {"message": "This response_format type is unavailable now"}}),
            "",
            {"fault": "give ,mechanism=chat_json_object"},
        ),
        (
            unlike(
                "json_schema", 400, {"error": {"message": "This model does not support response format `json_schema`"}}
            ),
            "",
            {"fault": "give ,mechanism=chat_json_object"},
        ),
        (
            unlike("json_object", 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
            ",mechanism=chat_json_object",
            {"fault": "give ,mechanism=chat_json_schema"},
        ),
        (
            unlike("seed", 422, {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}}),
            "",
            {"seed": "not taken: HTTP 422", "logprobs": "not told"},
        ),
        (
            unlike("seed", 400, [{"error": {"message": 'Unknown name "seed": Cannot find field.'}}]),
            "",
            {"seed": "Cannot find field", "cached on the second": "not told"},
        ),
        (
            unlike("logprobs", 400, {"error": {"message": "`logprobs` is not supported"}}, date="today"),
            "",
            {"logprobs": "not taken: HTTP 400", "seed": "are alike"},
        ),
        (unlike("json_schema", 404, {"error": {"message": "no m"}}), "", {"fault": "no m", "its models": "not told"}),
        (lambda number, body: (200, {}, completion({"model": "qwen3"}), 0.0), "", {"fault": "m-gpt-4, qwen3"}),
        (
            lambda number, body: (200, {}, completion(body) if number < 2 else {"choices": []}, 0.0),
            "",
            {"seed": "no text came"},
        ),
    ],
)
def test_what_a_server_does_unlike_others_is_said_with_its_cure(model, options, told):
    with providing(**{"m-gpt-4": model}) as provider:
        found = examined(provider, "m-gpt-4", options)
    row = {**found.row(), "fault": " ".join(found.faults)}
    assert all(words in str(row[name]) for name, words in told.items()), row
    assert ("fault" in told) == bool(found.faults)


@pytest.mark.parametrize(("context", "room"), [(40_000, r"about \d\d,\d{3} tokens"), (4_000, "hardly any")])
def test_what_a_servers_context_leaves_a_run(context, room):
    with providing(m=healthy(0.0)) as provider:
        provider.context = context
        assert re.match(room, examined(provider, "m").row()["room for a run"])


def test_a_key_that_is_missing_is_a_fault_and_not_the_end(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (judge,) = make_judges(["openai:gpt-5"])
    assert "OPENAI_API_KEY" in asyncio.run(examine(judge)).faults[0]


def test_the_command_ends_with_1_where_one_judge_fails_and_looks_at_the_machine_without():
    with providing(good=healthy(0.0), bad=failing(401, "bad key")) as provider:
        judges = [f"--judge=openai-compatible:{name}@{provider.url},family={name}" for name in ("good", "bad")]
        assert CliRunner().invoke(app, ["doctor", judges[0], "--json"]).exit_code == 0
        both = CliRunner().invoke(app, ["doctor", *judges, "--json"])
    assert both.exit_code == 1
    assert [row["answers"] for row in json.loads(both.stdout)["judges"]] == [True, False]
    alone = CliRunner().invoke(app, ["doctor", "--json"])
    assert alone.exit_code == 0
    found = {row["what"]: row["found"] for row in json.loads(alone.stdout)["environment"]}
    assert {"python", "axisjudge", "openai", "anthropic", "workbench", "chromium", "OPENAI_API_KEY"} <= set(found)


@pytest.mark.parametrize(
    ("n", "options", "told"),
    [
        (1, "", "held, as far as one call shows"),
        (7, "", "not held: give ,confidence=list"),
        (7, ",mechanism=chat_json_object", "no schema is asked for"),
        (7, ",confidence=list", "none is asked for"),
        ("seven", "", "holds no number"),
    ],
)
def test_whether_a_server_holds_the_ranges_of_a_schema(n, options, told):
    def model(number, body):
        reply = completion(body)
        if body.get("response_format", {}).get("json_schema", {}).get("name") == "n":
            reply["choices"][0]["message"]["content"] = json.dumps({"n": n})
        return 200, {}, reply, 0.0

    with providing(m=model) as provider:
        assert told in examined(provider, "m", options).row()["ranges of numbers"]


def test_a_closed_door_an_unknown_model_and_a_judge_that_breaks_are_faults_with_their_words():
    with providing(
        m=failing(404, "no such model", "model_not_found"), shut=failing(429, "later", retry_after="600")
    ) as provider:
        provider.context = 40_000
        assert "m, shut" in examined(provider, "m").row()["its models"]
        assert "later" in examined(provider, "shut").fault

    class Breaking(CoinJudge):
        async def grade(self, trajectory, rubrics, *, repeat=0):
            raise RuntimeError("a cable is out")

    assert "a cable is out" in asyncio.run(examine(Breaking())).faults[0]


def test_a_confidence_outside_of_its_range_shows_that_ranges_are_not_held():
    with providing(m=lambda n, body: (200, {}, completion(body, confidence=0.75 if n else 7), 0.0)) as provider:
        assert "a confidence came outside" in examined(provider, "m").row()["ranges of numbers"]


def test_all_calls_of_an_examination_are_in_its_cost():
    usage = {"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020}
    with providing(m=lambda number, body: (200, {}, completion(body, usage), 0.0)) as provider:
        row = examined(provider, "m", ",price=10/100").row()
        assert row["cost $"] == pytest.approx(provider.calls["m"] * (1_000 * 10 + 20 * 100) / 1e6)
