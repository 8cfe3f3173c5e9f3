"""Where a run goes, how long and how large a reply may be, what is mended in it: real servers on loopback."""

import asyncio
import gzip
import json
import time
import zlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from judges.servers import (
    Scripted,
    anthropic_message,
    chat_completion,
    chat_stream,
    grade,
    listening,
    made,
    openai_response,
    serving,
    verdict_text,
)

from axisjudge.checks import InputError
from axisjudge.judges import compatible_judge, make_judges, remote
from axisjudge.judges.written import UnclearError, object_in, verdict_from
from axisjudge.judging.batch import Batches, BatchLane
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

AXIS: Axis = "termination"
LOCAL = "openai-compatible:qwen3-8b@URL"


@pytest.fixture
def reply_of(trajectory: Trajectory, rubrics: dict[Axis, Rubric], monkeypatch: pytest.MonkeyPatch) -> Any:
    def ask(spec: str, server: Any) -> Any:
        return grade(made(spec, server, monkeypatch), trajectory, {AXIS: rubrics[AXIS]})

    return ask


@pytest.mark.parametrize(
    ("spec", "body"), [("openai:gpt-5@URL", openai_response), ("anthropic:claude-sonnet-4-6@URL", anthropic_message)]
)
def test_an_address_behind_a_model_is_the_one_that_is_asked(spec, body, reply_of, monkeypatch):
    with serving(Scripted(body())) as server, serving(Scripted("{}", status=500)) as other:
        named = spec.replace("URL", server.url)
        reply = reply_of(named, other)  # the environment names the other one
    assert reply.answers[AXIS].status == "ok"
    assert (len(server.requests), len(other.requests)) == (1, 0)
    assert JudgeSpec.parse(named).rater == named


@pytest.mark.parametrize(
    "spec",
    [
        *("openai:gpt-5@localhost:8000/v1", "anthropic:claude-sonnet-4-6@gateway.example.org", "local:m@ftp://a/b"),
        *("openai:gpt-5@localhost", "openai:https://example.org/v1", "anthropic-bedrock:claude-x@gateway"),
        *("openai-decisions:gpt-6-luna\uff20https://example.org/v1", "openai:gpt-5@%68ost"),
        *("openai:gpt-5@http://h:99999/v1", "openai:gpt-5@http://h:-1", "openai:gpt-5@http://h:port/v1"),
        *("openai-compatible:q@http://[::1/v1", "openai-compatible:q@http://:80/v1", "anthropic:claude-x@http://h:0"),
    ],
)
def test_what_looks_like_an_address_and_is_none_is_refused(spec):
    with pytest.raises(InputError, match=r"address|GGUF|of a host and a port"):
        JudgeSpec.parse(spec + ",family=x")


def test_one_address_is_one_judge_however_it_is_written():
    names = [
        f"openai-compatible:qwen@{url}" for url in ("http://h/v1", "http://H/v1/", "http://h:80/v1//", "http://h:8/v1")
    ]
    assert len({JudgeSpec.parse(name).rater for name in names}) == 2
    with pytest.raises(InputError, match="named once"):
        make_judges(names[:2])


@pytest.mark.parametrize("key", ["sk-\u201cpasted\u201d", "sk-one\ntwo"])
def test_a_key_that_no_header_can_hold_is_refused_before_any_call_and_not_shown(key, reply_of, monkeypatch):
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", key)
    with serving(Scripted("{}")) as server, pytest.raises(InputError, match="OPENAI_COMPATIBLE_API_KEY") as refusal:
        reply_of(LOCAL, server)
    assert not server.requests
    assert key[:6] not in str(refusal.value)


def test_a_version_behind_an_at_sign_is_part_of_a_name():
    for model in ("claude-opus-4-1@20250805", "claude-opus-4-1@default"):
        assert JudgeSpec.parse(f"anthropic-vertex:{model}").model == model


@pytest.mark.parametrize("spec", [LOCAL, "openai:gpt-5", "anthropic:claude-sonnet-4-6"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_carries_a_run_to_another_server(spec, status, reply_of):
    with serving(Scripted("{}")) as elsewhere:
        moved = Scripted("", status=status, headers=(("location", f"{elsewhere.url}/v1?key=secret123"),))
        with serving(moved) as server:
            reply = reply_of(spec, server)
    assert (len(server.requests), len(elsewhere.requests)) == (1, 0)
    answer = reply.answers[AXIS]
    assert answer.status == "api_error"
    assert elsewhere.url in answer.rationale
    assert "secret123" not in answer.rationale
    assert reply.failure.kind == "request"


@contextmanager
def pouring(pieces, *, pause_s: float = 0.0, **headers: str):
    """A server whose replies come piece by piece, without end if the pieces have none."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in pieces():
                    self.wfile.write(piece)
                    self.wfile.flush()
                    time.sleep(pause_s)
            except OSError:
                pass

        def log_message(self, *_: object) -> None:
            return

    with listening(Handler) as url:
        yield type("Server", (), {"url": url})


def endless(piece: bytes):
    def pieces():
        while True:
            yield piece

    return pieces


def test_a_byte_now_and_then_does_not_outlive_the_deadline(reply_of):
    begun = time.monotonic()
    with pouring(endless(b" "), pause_s=0.05) as server:
        reply = reply_of(LOCAL + ",timeout=0.2", server)
    assert reply.failure.kind == "timeout"
    assert reply.failure.maybe_paid
    assert time.monotonic() - begun < 10


def test_no_other_question_to_a_server_outlives_its_deadline_either(reply_of, monkeypatch):
    """Its list of models, the end of a model, how far a batch is: at a server that sends a blank now and then."""
    monkeypatch.setattr(compatible_judge, "LOOK_S", 0.1)
    monkeypatch.setattr(remote, "LIFECYCLE_TIMEOUT_S", 0.1)
    with pouring(endless(b" "), pause_s=0.02) as server:
        local, claude = (
            make_judges([spec])[0]
            for spec in (f"{LOCAL.replace('URL', server.url)}", f"openai:gpt-5@{server.url},timeout=0.1")
        )
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")

        async def ask() -> list[Any]:
            batches = Batches(Path("none.json"))
            lane = BatchLane(
                claude, [], batches=batches, budget=None, patience_s=0.1, answered=print, tell=lambda line: None
            )
            told = [await local.look(), await claude.retirement()]
            with pytest.raises(Exception, match="no whole reply in time"):
                await lane._patiently(lambda: claude.batch_status("b"))
            assert await lane._patiently(lambda: asyncio.sleep(0.2, "all of them"), 60.0) == "all of them"
            await asyncio.gather(local.close(), claude.close())
            return told

        begun = time.monotonic()
        asyncio.run(ask())
    assert local.context_told is None
    assert time.monotonic() - begun < 8


def packed():
    """A hundred megabytes of blanks in a hundred kilobytes."""
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield from (pack.compress(b" " * 1_000_000) for _ in range(100))
    yield pack.flush()


@pytest.mark.parametrize("spec", [LOCAL, "anthropic:claude-sonnet-4-6"])
@pytest.mark.parametrize(("pieces", "headers"), [(endless(b" " * 65_536), {}), (packed, {"content-encoding": "gzip"})])
def test_a_reply_without_end_is_cut_off_packed_or_not(spec, pieces, headers, reply_of):
    with pouring(pieces, **headers) as server:
        reply = reply_of(spec, server)
    assert reply.failure.kind == "unreadable"
    assert "longer than 4 MB" in reply.failure.words


STREAM = ",effort=high"


@pytest.mark.parametrize("spec", [LOCAL + STREAM, "openai:gpt-5" + STREAM])
def test_no_line_of_a_stream_is_longer_than_a_whole_reply_may_be(spec, reply_of):
    """Python makes 1.4 GB of 60 MB of small lists."""
    with pouring(endless(b"[]," * 30_000), **{"content-type": "text/event-stream"}) as server:
        assert "longer than 4 MB" in reply_of(spec, server).failure.words


def test_a_comment_without_end_is_no_beginning_of_a_reply(reply_of):
    with pouring(lambda: [b":", *[b"a" * 50] * 4_000, b"\n", chat_completion(verdict_text()).encode()]) as server:
        assert reply_of(LOCAL, server).failure.kind == "unreadable"


@pytest.mark.parametrize(
    ("spec", "whole"),
    [
        (LOCAL + STREAM, Scripted(chat_completion(verdict_text()))),
        ("openai:gpt-5" + STREAM, Scripted(openai_response())),
        (LOCAL + STREAM, Scripted("data: {}\n\n" + chat_stream().body, content_type="text/event-stream")),
        (LOCAL + STREAM, Scripted(chat_stream().body.replace('"choices": [], ', '"choices": null, '))),
    ],
    ids=["whole", "whole response", "an empty event", "no choices beside usage, as text"],
)
def test_what_comes_where_a_stream_was_asked_for_is_read_and_not_paid_again(spec, whole, reply_of):
    with serving(whole) as server:
        reply = reply_of(spec, server)
    assert (reply.answers[AXIS].status, len(server.requests)) == ("ok", 1)
    assert reply.output_tokens
    with serving(Scripted('{"error": {"message": "boom", "code": 503}}')) as server:
        assert reply_of(spec, server).failure.kind == "limit"


@pytest.mark.parametrize("change", [{"model": ["a"], "id": 7}, {"choices": {"0": 1}}, {"choices": [{}]}])
def test_a_reply_of_another_shape_is_no_crash_and_may_be_paid(change, reply_of):
    with serving(Scripted(json.dumps(json.loads(chat_completion(verdict_text())) | change))) as server:
        reply = reply_of(LOCAL, server)
    assert reply.returned_model is None
    assert reply.answers[AXIS].status == "ok" or reply.failure.maybe_paid


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (["no", "zebras"], "zebras"),
        ([{"error": {"message": "one"}}, {"error": {"message": "zebras"}}], "zebras"),
        ({"error": ["x", {"why": "zebras"}]}, "zebras"),
        ({"errors": [{"message": "zebras"}]}, "zebras"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "zebras"}}}, "zebras"),
        ({"error": {"message": "a\x1b[2Jzebras\u202e\x07"}}, "a?[2Jzebras??"),
    ],
)
def test_an_error_of_any_shape_says_what_it_says_and_moves_no_terminal(body, words, reply_of):
    with serving(Scripted(json.dumps(body), status=400)) as server:
        told = reply_of(LOCAL, server).failure.words
    assert words in told
    assert told.isprintable()
    stream = Scripted('data: {"error": "zebras"}\n\n', content_type="text/event-stream")
    with serving(stream) as server:
        assert "zebras" in reply_of(LOCAL + STREAM, server).failure.words


def with_message(usage=None, **message: Any) -> str:
    whole = json.loads(chat_completion(verdict_text()))
    whole["choices"][0]["message"] |= message
    return json.dumps(whole | ({"usage": usage} if usage is not None else {}))


CALL = {"id": "1", "type": "function", "function": {"name": "json", "arguments": verdict_text()}}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"content": None, "tool_calls": [CALL]}, "ok"),
        ({"content": None, "tool_calls": [CALL, CALL]}, "no JSON"),
        ({"content": [{"type": "output_text", "text": verdict_text()}]}, "ok"),
        ({"content": "", "reasoning_details": [{"text": "hm"}]}, "nothing but thought"),
        ({"content": None, "thinking_blocks": [{"thinking": "hm"}]}, "nothing but thought"),
        ({"content": [{"type": "thinking", "thinking": []}]}, "nothing but thought"),
    ],
)
def test_a_verdict_in_another_field_is_read_and_a_thought_in_any_is_none(message, told, reply_of):
    with serving(Scripted(with_message(**message))) as server:
        answer = reply_of(LOCAL, server).answers[AXIS]
        strict = reply_of(LOCAL + ",strict=true", server).answers[AXIS]
    assert told in (answer.status, *(answer.rationale or "").split("; received")[0:1]) or told in answer.rationale
    assert (strict.status == "ok") == (answer.status == "ok" and "tool_calls" not in message)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 900_000_000},
        {"prompt_tokens": 900_000, "completion_tokens": 80, "total_tokens": 900_080},
        *([1, 2], "n/a"),
    ],
)
def test_what_a_server_cannot_have_counted_is_not_paid(usage, reply_of):
    with serving(Scripted(with_message(usage))) as server:
        reply = reply_of(LOCAL + ",price=1/1", server)
    assert (reply.answers[AXIS].status, reply.cost_usd) == ("ok", None)


@pytest.mark.parametrize("cached", [9_000, -1, "n/a", None])
def test_a_cache_that_cannot_be_is_not_told_and_the_rest_is_paid(cached, reply_of):
    usage = {"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 980}
    with serving(Scripted(with_message(usage | {"prompt_tokens_details": {"cached_tokens": cached}}))) as server:
        reply = reply_of(LOCAL + ",price=1000000/0", server)
    assert (reply.cached_tokens, reply.cost_usd) == (None, 900)


@pytest.mark.parametrize("where", ["content", "rationale", "model", "id", "error", "text", "location"])
def test_a_server_that_echoes_the_key_puts_it_on_no_record(where, reply_of, monkeypatch):
    key = "zebra-0123456789"
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", key)
    body = {
        "content": with_message(content=f"Authorization: {key}"),
        "rationale": with_message(content=verdict_text(rationale=f"they sent {key}")),
        "error": json.dumps({"error": {"message": f"what is {key}?"}}),
        "text": f"what is {key}?",
    }.get(where, json.dumps(json.loads(with_message()) | {where: key}))
    status = {"error": 400, "location": 302}.get(where, 200)
    kind = "text/plain" if where == "text" else "application/json"
    with serving(Scripted(body, status, (("location", f"http://x/{key}"),), content_type=kind)) as server:
        assert key not in repr(reply_of(LOCAL, server))


def test_usage_before_the_last_piece_counts_and_a_page_is_no_stream(reply_of):
    pieces = chat_stream().body.split("\n\n")
    early = json.dumps(
        json.loads(pieces[0][6:]) | {"usage": {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}}
    )
    with serving(
        Scripted("\n\n".join(["data: " + early, *pieces[1:-3], *pieces[-2:]]), content_type="text/event-stream")
    ) as s:
        assert reply_of(LOCAL + STREAM, s).output_tokens == 8
    with serving(Scripted("<html>Sign in</html>", content_type="text/html")) as s:
        assert [reply_of(LOCAL + how, s).failure.kind for how in ("", STREAM)] == ["unreadable"] * 2
        assert "Sign in" in reply_of(LOCAL, s).failure.words
    with serving(Scripted(with_message().replace("900", "9" * 5_000))) as s:
        assert reply_of(LOCAL, s).failure.kind == "unreadable"


def test_a_packed_reply_of_a_usual_size_is_read(reply_of):
    whole = gzip.compress(chat_completion(verdict_text()).encode())
    with pouring(lambda: [whole[:50], whole[50:]], **{"content-encoding": "gzip"}) as server:
        assert reply_of(LOCAL, server).answers[AXIS].status == "ok"
    with pouring(lambda: [b"\x00"], **{"content-encoding": "br"}) as server:
        assert "packed as br" in reply_of(LOCAL, server).failure.words


def test_lines_that_keep_a_connection_awake_are_passed_over_and_counted(reply_of):
    with serving(
        Scripted(": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + chat_completion(verdict_text()))
    ) as s:
        reply = reply_of(LOCAL, s)
    assert reply.answers[AXIS].status == "ok"
    assert "repaired:comment" in reply.flags


GOOD = verdict_text()
OTHER = verdict_text(verdict="incorrect")


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (GOOD, []),
        ("<think>perhaps " + OTHER + "</think>\n" + GOOD, ["thought"]),
        ("perhaps</think>" + GOOD, ["thought"]),
        ("```json\n" + GOOD + "\n```", ["fence"]),
        ("<think>hm</think>```\n" + GOOD + "\n```\n", ["thought", "fence"]),
        ("Sure! " + GOOD, ["words_around"]),
        (GOOD + " I hope that {this} helps.", ["words_around"]),
        (GOOD[:-1] + ', "verdict": "correct"}', ["duplicate_key"]),
        (f"[THINK]{OTHER}[/THINK]{GOOD}", ["thought"]),  # Mistral; then Kimi, Cohere, gpt-oss, ByteDance's Seed, Gemma
        (f"◁think▷{OTHER}◁/think▷{GOOD}", ["thought"]),
        (f"<|START_THINKING|>{OTHER}<|END_THINKING|>{GOOD}", ["thought"]),
        (
            f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}",
            ["thought"],
        ),
        (f"<seed:think>{OTHER}</seed:think>{GOOD}", ["thought"]),
        (f"<thought>{OTHER}</thought>{GOOD}", ["thought"]),
        (f"<Analysis>{OTHER}</Analysis>{GOOD}", ["thought"]),
        (f"{GOOD}<think>that was it", ["words_around"]),
        (GOOD.replace('"correct"', '" Correct"'), ["letters"]),
        (GOOD.replace("0.9", '"0.9"'), ["number_as_text"]),
        (GOOD.replace("[2, 5]", '["2", 5]'), ["number_as_text"]),
        (GOOD.replace("[2, 5]", '["2", "5"]').replace("0.9", '"0.9"'), ["number_as_text"]),
        (f"```json\n{GOOD.replace('Step 2', '</reasoning> at 2')}\n```", ["fence"]),  # the agent's mark, in a text
        (f"{{}} {GOOD}, in full: {GOOD}", ["words_around"]),
        (f"[{GOOD}]", ["list"]),
        (GOOD.replace("Step 2", "Step\n2"), ["line_break"]),
    ],
)
def test_what_can_be_read_in_one_way_is_read_and_counted(text, repairs):
    answer = verdict_from(text)
    assert (answer.status, answer.verdict) == ("ok", "correct")
    assert answer.flags == tuple(f"repaired:{each}" for each in repairs)
    assert (verdict_from(text, strict=True).status == "ok") == (not repairs)


@pytest.mark.parametrize(
    "text",
    [
        GOOD + OTHER,
        f"Either {GOOD} or {OTHER}",
        "{" * 190_000,  # each brace is a beginning that would be tried
        GOOD.replace("[2, 5]", "[" + "9" * 5_000 + "]"),
        "<think>" + GOOD,
        f"<think>a</think><think>b {GOOD}",
        f"Hm. <think>{GOOD}",
        f'{{"alternative": {GOOD}, "verdict": "inc',  # a part of an object that was cut off
        f"{{'alternative': {GOOD}, 'verdict': 'incorrect'}}",
        f'[{GOOD}, {{"verdict": "inc',
        GOOD.replace("[2, 5]", '["step 2"]'),
        GOOD.replace("0.9", "NaN"),
        GOOD[:-1] + ', "verdict": "incorrect"}',
        "{" * 100_000,
        '{"a":' * 50_000,
        "no",
        "",
        "[1, 2]",
        " " * 300_000 + "x" + GOOD,
    ],
)
def test_what_can_be_read_in_two_ways_or_none_is_lost(text):
    assert verdict_from(text).status == "parse_error"


@pytest.mark.parametrize("word", ["Not applicable", "not-applicable", " NOT_APPLICABLE"])
def test_a_verdict_of_two_words_is_one_in_other_spellings(word):
    assert verdict_from(GOOD.replace('"correct"', f'"{word}"')).verdict == "not_applicable"


def test_an_object_in_words_is_the_only_one():
    with pytest.raises(UnclearError, match="2 objects"):
        object_in('a {"x": 1} b {"x": 2}')
    assert object_in('a {"x": {"y": 1}} b') == ({"x": {"y": 1}}, ["words_around"])


def test_the_name_of_the_limit_that_a_server_takes_is_found_out_once(reply_of, trajectory, rubrics, monkeypatch):
    told = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    def answer(body: dict[str, Any]) -> str:
        return chat_completion(verdict_text())

    refused = Scripted(json.dumps({"error": {"message": told, "code": "unsupported_parameter"}}), status=400)
    with serving(refused, Scripted(answer)) as server:
        judge = made(LOCAL, server, monkeypatch)
        before = judge.prompt_sha256(trajectory, {AXIS: rubrics[AXIS]})
        assert grade(judge, trajectory, {AXIS: rubrics[AXIS]}).answers[AXIS].status == "ok"
        assert grade(judge, trajectory, {AXIS: rubrics[AXIS]}).answers[AXIS].status == "ok"
        assert judge.prompt_sha256(trajectory, {AXIS: rubrics[AXIS]}) == before
    names = [next(name for name in ("max_tokens", "max_completion_tokens") if name in sent) for sent in server.requests]
    assert names == ["max_tokens", "max_completion_tokens", "max_completion_tokens"]


def test_an_interface_version_in_the_address_is_azures(reply_of):
    with serving(Scripted(chat_completion(verdict_text()))) as server:
        spec = f"openai-compatible:gpt-4o@{server.url}/openai?api-version=2025-03-01-preview"
        assert reply_of(spec, server).answers[AXIS].status == "ok"
    assert server.paths == ["/openai/deployments/gpt-4o/chat/completions?api-version=2025-03-01-preview"]
    assert "api-key" in server.headers[0]
    with pytest.raises(InputError, match="query"):
        JudgeSpec.parse(f"openai-compatible:gpt-4o@{server.url}/openai?key=abc")


def test_a_confidence_out_of_range_turns_the_judge_to_a_list_of_values(reply_of):
    def answer(body: dict[str, Any]) -> str:
        schema = body["response_format"]["json_schema"]["schema"]["properties"]["confidence"]
        return chat_completion(verdict_text(confidence=schema["enum"][15] if "enum" in schema else 95))

    with serving(Scripted(answer)) as server:
        reply = reply_of(LOCAL, server)
        assert len(server.requests) == 2
        listed = reply_of(LOCAL + ",confidence=list", server)
    assert reply.answers[AXIS].confidence == 0.75
    assert "confidence_of_list" in reply.flags
    assert reply.output_tokens == 160  # both calls were paid
    assert len(server.requests) == 3
    assert listed.answers[AXIS].confidence == 0.75


def test_a_wrong_key_names_its_variable_and_lists_of_errors_are_read(reply_of, monkeypatch):
    monkeypatch.setenv("MINE", "sk-0123456789")
    gemini = [{"error": {"code": 400, "message": "API key not valid. Please pass one.", "status": "INVALID_ARGUMENT"}}]
    for body, status in (({"error": {"message": "no"}}, 401), (gemini, 400)):
        with serving(Scripted(json.dumps(body), status=status)) as server:
            assert "MINE holds a key that it does not take" in reply_of(LOCAL + ",key_env=MINE", server).failure.words
            assert "OPENAI_COMPATIBLE_API_KEY is not set" in reply_of(LOCAL, server).failure.words
    quota = [{"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}}]
    with serving(Scripted(json.dumps(quota), status=429)) as server:
        assert "Quota exceeded" in reply_of(LOCAL, server).failure.words


def test_claude_behind_a_compatible_address_has_cache_marks_and_others_have_none(reply_of):
    with serving(Scripted(chat_completion(verdict_text()))) as server:
        reply_of("openai-compatible:anthropic/claude-sonnet-4.5@URL", server)
        reply_of(LOCAL, server)
    marked, plain = (request["messages"][1]["content"] for request in server.requests)
    assert [part.get("cache_control") for part in marked] == [{"type": "ephemeral"}] * 2 + [None]
    assert isinstance(plain, str)
    names = ("anthropic/claude-haiku-4.5", "gemini-2.5-flash", "gemini-3-pro", "deepseek-chat", "qwen3")
    least = [make_judges([f"openai-compatible:{name}@http://h/v1"])[0].least_cached for name in names]
    assert least == [4_096, 2_048, 4_096, 64, 1_024]
    (judge,) = make_judges(["openai-compatible:qwen3@http://h/v1,context=8192"])
    assert judge.origins()["context"] == "8,192 tokens (as its server was started)"


def test_a_gateways_own_price_and_the_users_go_before_the_list(reply_of):
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100, "cost": 0.0125}
    with serving(Scripted(lambda _: json.dumps({**json.loads(chat_completion(verdict_text())), "usage": usage}))) as s:
        assert reply_of(LOCAL, s).cost_usd == 0.0125
        assert "cost_stated" in reply_of(LOCAL, s).flags
        assert reply_of(LOCAL + ",price=2/10", s).cost_usd == pytest.approx(0.003)
    usage |= {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}
    with serving(Scripted(lambda _: json.dumps({**json.loads(chat_completion(verdict_text())), "usage": usage}))) as s:
        assert reply_of(LOCAL, s).cost_usd == pytest.approx(0.021)  # the user's own key pays who is behind the router


def test_a_reply_that_its_server_took_for_thought_says_so(reply_of):
    whole = json.loads(chat_completion(""))
    whole["choices"][0]["message"]["reasoning_content"] = GOOD
    with serving(Scripted(json.dumps(whole))) as server:
        answer = reply_of(LOCAL, server).answers[AXIS]
    assert answer.status == "parse_error"
    assert "thought" in answer.rationale
    assert "Step 2" not in answer.rationale
