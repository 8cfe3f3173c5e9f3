"""A server on loopback that gives scripted replies, and replies built from the SDKs' own response models."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VERDICT: dict[str, Any] = {
    "rationale": "Step 2 looks the order up and step 5 reports what step 3 said.",
    "cited_step_indices": [2, 5],
    "verdict": "correct",
    "confidence": 0.9,
}


@dataclass(frozen=True)
class Scripted:
    """One reply: status, body (or what makes it of a request), headers, seconds to wait, or the connection dropped."""

    body: str | Callable[[dict[str, Any]], str] = "{}"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    wait_s: float = 0.0
    drop: bool = False
    drop_after: bool = False  # the reply says that it is longer than it is
    content_type: str = "application/json"


@dataclass
class Server:
    """Replies in the order of the script, the last one for ever; keeps every request with its time."""

    script: list[Scripted]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)  # what the models endpoint says of each


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a free port of the loopback; gives the address."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@contextmanager
def serving(*script: Scripted) -> Iterator[Server]:
    server = Server(list(script))
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            known = server.models.get(self.path.rsplit("/", 1)[-1])
            raw = (known or json.dumps({"error": {"message": "no such model", "type": "not_found"}})).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def do_POST(self) -> None:
            received = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                reply = server.script[min(len(server.requests), len(server.script) - 1)]
                request = json.loads(received)
                server.requests.append(request)
                server.times.append(time.monotonic())
                server.paths.append(self.path)
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
            time.sleep(reply.wait_s)
            if reply.drop:
                self.close_connection = True
                return
            raw = (reply.body if isinstance(reply.body, str) else reply.body(request)).encode()
            try:
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(raw) + 1_000 * reply.drop_after))
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)
                self.close_connection = self.close_connection or reply.drop_after
            except (BrokenPipeError, ConnectionResetError):  # the client gave up waiting
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            return

    with listening(Handler) as server.url:
        yield server


def verdict_text(**changes: Any) -> str:
    return json.dumps({**VERDICT, **changes})


def anthropic_message(stop_reason: str = "tool_use", **changes: Any) -> str:
    """A Messages reply that records a verdict by tool use."""
    fields = {**VERDICT, **changes}
    block = {"type": "tool_use", "id": "toolu_1", "name": "record_verdict", "input": fields}
    return anthropic_blocks([block], stop_reason)


def anthropic_blocks(blocks: list[dict[str, Any]], stop_reason: str, **more: Any) -> str:
    from anthropic.types import Message

    usage = {
        "input_tokens": 1_000,
        "cache_creation_input_tokens": 500,
        "cache_read_input_tokens": 8_500,
        "output_tokens": 300,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": blocks,
        "stop_reason": stop_reason,
        "usage": usage,
        **more,
    }
    return Message.model_validate(message).model_dump_json()


def openai_response(text: str | None = None, *, refusal: str | None = None, **changes: Any) -> str:
    """A Responses reply with one message of text, or a refusal."""
    from openai.types.responses import Response

    part = (
        {"type": "refusal", "refusal": refusal}
        if refusal
        else {"type": "output_text", "text": verdict_text() if text is None else text, "annotations": []}
    )
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": "gpt-5-2025-08-07",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "id": "item_1", "role": "assistant", "status": "completed", "content": [part]},
        ],
        "usage": {
            "input_tokens": 10_000,
            "input_tokens_details": {"cached_tokens": 8_000, "cache_write_tokens": 0},
            "output_tokens": 300,
            "output_tokens_details": {"reasoning_tokens": 200},
            "total_tokens": 10_300,
        },
        **changes,
    }
    return Response.model_validate(response).model_dump_json()


def chat_completion(content: str | None, finish_reason: str = "stop", **changes: Any) -> str:
    from openai.types.chat import ChatCompletion

    completion = {
        "id": "chatcmpl_1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "qwen3-8b",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": content, "refusal": changes.pop("refusal", None)},
            }
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 980},
        **changes,
    }
    return ChatCompletion.model_validate(completion).model_dump_json()


def decision(answers: list[dict[str, Any]]) -> str:
    from openai.types import Decision

    made = {
        "model": "gpt-6-luna",
        "answers": answers,
        "usage": {
            "input_tokens": 9_000,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 8_000},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 9_005,
        },
    }
    return Decision.model_validate(made).model_dump_json()


def choice(name: str | None, word: str, probability: float = 0.7) -> dict[str, Any]:
    words = ("correct", "incorrect", "uncertain", "not_applicable")
    rest = (1 - probability) / 3
    probabilities = [{"value": each, "probability": probability if each == word else rest} for each in words]
    return {
        "type": "choice",
        "name": name,
        "choice": word,
        "confidence": probability,
        "probabilities": probabilities,
    }


def anthropic_error(status: int, kind: str, message: str, *headers: tuple[str, str]) -> Scripted:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Scripted(json.dumps(body), status=status, headers=headers)


def openai_error(status: int, message: str, *headers: tuple[str, str]) -> Scripted:
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": None}}
    return Scripted(json.dumps(body), status=status, headers=headers)


def made(spec: str, server: Server, monkeypatch: Any) -> Any:
    """The judge of a spec, pointed at a server on loopback."""
    from axisjudge.judges import make_judges
    from axisjudge.spec import JudgeSpec

    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    (judge,) = make_judges([JudgeSpec.parse(spec.replace("URL", f"{server.url}/v1"))])
    return judge


def grade(judge: Any, trajectory: Any, rubrics: Any) -> Any:
    """One call, in a loop of its own."""
    import asyncio

    async def once() -> Any:
        try:
            return await judge.grade(trajectory, rubrics)
        finally:
            await judge.close()

    return asyncio.run(once())


def events(*told: dict[str, Any]) -> Scripted:
    """Server-sent events, as both providers stream them."""
    body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in told)
    return Scripted(body, content_type="text/event-stream")


def anthropic_stream() -> Scripted:
    message = json.loads(anthropic_message())
    block = message["content"][0]
    return events(
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 300}},
        {"type": "message_stop"},
    )


def openai_stream() -> Scripted:
    response = json.loads(openai_response())
    return events(
        {"type": "response.created", "sequence_number": 0, "response": {**response, "status": "in_progress"}},
        {"type": "response.completed", "sequence_number": 1, "response": response},
    )


def chat_stream() -> Scripted:
    """A chat completion in pieces: words by delta, the end, and usage in a chunk of its own."""
    whole = json.loads(chat_completion(verdict_text()))
    text = whole["choices"][0]["message"]["content"]
    about = {name: whole[name] for name in ("id", "model", "created")} | {"object": "chat.completion.chunk"}
    deltas = [{"role": "assistant", "content": ""}, {"content": text[:40]}, {"content": text[40:]}]
    pieces = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    pieces.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [about | {"choices": [piece]} for piece in pieces] + [about | {"choices": [], "usage": whole["usage"]}]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Scripted(f"{body}data: [DONE]\n\n", content_type="text/event-stream")


def patiently(judge: Any, trajectory: Any, rubrics: Any, *, patience_s: float = 60.0) -> Any:
    """One question put by a lane, which asks again what may pass; the reply that it ends with, None without any."""
    import asyncio

    from axisjudge.judging.inquiry import OfAxes
    from axisjudge.judging.lane import Lane, Pause
    from axisjudge.judging.plan import call_of

    replies: list[Any] = []

    async def once() -> None:
        lane = Lane(
            judge,
            [(call_of(judge, OfAxes(trajectory, rubrics), 0),)],
            concurrency=1,
            pause=Pause(judge.provider_address),
            budget=None,
            patience_s=patience_s,
            answered=lambda call, reply: replies.append(reply),
            tell=lambda line: None,
        )
        try:
            await lane.run()
        finally:
            await judge.close()
        if lane.errors:
            raise lane.errors[0]

    asyncio.run(once())
    return replies[0] if replies else None
