"""The batch interfaces of both providers on loopback, with faults; what was handed in is kept by its ids."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from judges.servers import anthropic_message, listening, openai_response

#: What becomes of a request, by its id and how often it was handed in: ok, overloaded, expired, missing, invalid, or
#: twice (an answer and an error). Results of nobody's request, and a line that is cut, stand behind all of them.
Fate = Callable[[str, int], str]
EMPTY = {"canceled": 0, "errored": 0, "expired": 0, "processing": 0, "succeeded": 0}


@dataclass
class Desk:
    """What a provider has; `looks` is how often one must look before a batch has ended."""

    fate: Fate = lambda name, times: "ok"
    looks: int = 1
    faults: list[int] = field(default_factory=list)  # numbers of calls that are answered with 503
    url: str = ""
    n_calls: int = 0
    times: Counter[str] = field(default_factory=Counter)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def take(self, requests: dict[str, dict[str, Any]], **more: Any) -> str:
        name = f"batch_{len(self.batches) + 1}"
        self.times.update(requests.keys())
        self.bodies += requests.values()
        fates = {request: self.fate(request, self.times[request]) for request in requests}
        self.batches[name] = {"fates": fates, "left": self.looks, "made": time.time(), **more}
        return name

    def look(self, name: str) -> bool:
        batch = self.batches[name]
        batch["left"] -= 1
        return bool(batch["left"] < 0)


@contextmanager
def desk(**how: Any) -> Iterator[Desk]:
    """Serve both interfaces."""
    told = Desk(**how)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, raw: bytes) -> None:
            with lock:
                told.n_calls += 1
                if told.n_calls in told.faults:
                    status, body = 503, json.dumps({"error": {"type": "overloaded_error", "message": "later"}})
                else:
                    status, body = answered(told, self.path.partition("?")[0], raw)
            encoded = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *_: object) -> None:
            return

    with listening(Handler) as told.url:
        yield told


def answered(told: Desk, path: str, raw: bytes) -> tuple[int, str]:
    """The reply to a call, by its path."""
    parts = path.strip("/").split("/")[1:]
    match parts:
        case ["messages", "batches"] if raw:
            listed = json.loads(raw)["requests"]
            return 200, _message_batch(told, told.take({each["custom_id"]: each["params"] for each in listed}))
        case ["messages", "batches"]:
            every = [json.loads(_message_batch(told, name)) for name in reversed(told.batches)]
            return 200, json.dumps({"data": every, "has_more": False, "first_id": None, "last_id": None})
        case ["messages", "batches", name]:
            return 200, _message_batch(told, name, ended=told.look(name))
        case ["messages", "batches", name, "results"]:
            lines = [_message_line(request, fate) for request, fate in _told(told.batches[name]["fates"])]
            return 200, "\n".join([*(_text(line) for line in lines if line), '{"custom_id": "cu'])
        case ["files"]:
            text = raw.decode()
            name = f"file_{len(told.files) + 1}"
            told.files[name] = "\n".join(line for line in text.splitlines() if line.startswith('{"custom_id"'))
            return 200, json.dumps({"id": name, "object": "file", "purpose": "batch", "bytes": 1, "created_at": 1})
        case ["files", name, "content"]:
            return 200, told.files[name]
        case ["batches"] if raw:
            asked = json.loads(raw)
            assert (asked["endpoint"], asked["completion_window"]) == ("/v1/responses", "24h")
            lines = [json.loads(line) for line in told.files[asked["input_file_id"]].splitlines()]
            requests = {line["custom_id"]: line["body"] for line in lines}
            return 200, _batch(told, told.take(requests, metadata=asked.get("metadata")))
        case ["batches"]:
            every = [json.loads(_batch(told, name)) for name in reversed(told.batches)]
            return 200, json.dumps({"object": "list", "data": every, "has_more": False})
        case ["batches", name]:
            return 200, _batch(told, name, ended=told.look(name))
    return 404, json.dumps({"error": {"type": "not_found_error", "message": "no such thing"}})


def _message_batch(told: Desk, name: str, ended: bool = False) -> str:
    from anthropic.types.messages import MessageBatch

    batch = told.batches[name]
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(batch["made"]))
    counts = EMPTY | {"succeeded" if ended else "processing": len(batch["fates"])}
    fields = {"id": name, "type": "message_batch", "created_at": made, "expires_at": made, "request_counts": counts}
    fields["processing_status"] = "ended" if ended or batch["left"] < 0 else "in_progress"
    fields["results_url"] = f"{told.url}/v1/messages/batches/{name}/results"
    return MessageBatch.model_validate(fields).model_dump_json()


def _text(line: dict[str, Any]) -> str:
    """A line as JSON; signs that end a line elsewhere stand in its texts."""
    return json.dumps({**line, "note": "\u2028 \x85"}, ensure_ascii=False)


def _told(fates: dict[str, str]) -> Iterator[tuple[str, str]]:
    for request, fate in reversed(fates.items()):
        yield from ((request, each) for each in (("ok", "invalid") if fate == "twice" else (fate,)))
    yield "of-nobody", "ok"


def _message_line(request: str, fate: str) -> dict[str, Any] | None:
    if fate == "missing":
        return None
    if fate == "expired":
        return {"custom_id": request, "result": {"type": "expired"}}
    if fate != "ok":
        kind = {"overloaded": "overloaded_error", "invalid": "invalid_request_error"}[fate]
        error = {"type": "error", "error": {"type": kind, "message": "so it is"}}
        return {"custom_id": request, "result": {"type": "errored", "error": error}}
    return {"custom_id": request, "result": {"type": "succeeded", "message": json.loads(anthropic_message())}}


def _batch(told: Desk, name: str, ended: bool = False) -> str:
    from openai.types import Batch

    batch = told.batches[name]
    fields: dict[str, Any] = {
        "id": name,
        "object": "batch",
        "endpoint": "/v1/responses",
        "input_file_id": "file_1",
        "completion_window": "24h",
        "created_at": int(batch["made"]),
        "status": "completed" if ended or batch["left"] < 0 else "in_progress",
        "metadata": batch["metadata"],
    }
    if fields["status"] == "completed":
        lines = [_line(request, fate) for request, fate in _told(batch["fates"])]
        for kind in ("output", "error"):
            written = (_text(line) for key, line in lines if key == kind)
            told.files[f"{name}_{kind}"] = "\n".join(['{"custom_id": "cu', "[]", *written])
            fields[f"{kind}_file_id"] = f"{name}_{kind}"
    return Batch.model_validate(fields).model_dump_json()


def _line(request: str, fate: str) -> tuple[str, dict[str, Any]]:
    line: dict[str, Any] = {"id": f"req_{request}", "custom_id": request, "response": None, "error": None}
    if fate == "missing":
        return "nowhere", line
    if fate == "ok":
        return "output", line | {"response": {"status_code": 200, "body": json.loads(openai_response())}}
    if fate == "expired":
        return "error", line | {"error": {"code": "batch_expired", "message": "too late"}}
    status = {"overloaded": 503, "invalid": 400}[fate]
    error = {"error": {"message": "so it is", "type": "some_error", "code": None}}
    return "error", line | {"response": {"status_code": status, "body": error}}
