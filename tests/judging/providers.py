"""A provider on loopback with several models, each of which behaves, or does not, as a test wishes."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

#: What a model answers to its n-th call: status, headers, body, seconds to wait.
Answer = tuple[int, dict[str, str], dict[str, Any], float]
Model = Callable[[int, dict[str, Any]], Answer]


def completion(body: dict[str, Any], usage: dict[str, int] | None = None, **verdict: Any) -> dict[str, Any]:
    """A chat completion with a verdict."""
    said = {"rationale": "so", "cited_step_indices": [0], "verdict": "correct", "confidence": 0.75, **verdict}
    message = {"role": "assistant", "content": json.dumps(said)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}
    return reply | ({"usage": usage} if usage else {})


def healthy(wait_s: float = 0.02) -> Model:
    return lambda number, body: (200, {}, completion(body), wait_s)


def failing(status: int, message: str = "it fails", code: str | None = None, **headers: str) -> Model:
    error = {"error": {"message": message, "type": "error", "code": code}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda number, body: (status, names, error, 0.0)


def after(count: int, first: Model, then: Model) -> Model:
    """One behaviour for the first calls, another one from then on."""
    return lambda number, body: first(number, body) if number < count else then(number, body)


@dataclass
class Provider:
    """What came in, by model."""

    url: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    times: dict[str, list[float]] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    context: int | None = None  # what its list of models tells


@contextmanager
def providing(**models: Model) -> Iterator[Provider]:
    """Serve these models by chat completions on a thread of their own."""
    provider = Provider()
    begun = threading.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"get"):  # its list of models
                    told = [{"id": name, "max_model_len": provider.context} for name in models if provider.context]
                    raw = json.dumps({"data": told}).encode()
                    lines = f"{200 if told else 404} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}"
                    writer.write(f"HTTP/1.1 {lines}\r\n\r\n".encode() + raw)
                    continue
                length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
                body = json.loads(await reader.readexactly(length))
                name = body["model"]
                status, headers, reply, wait_s = models[name](provider.calls[name], body)
                provider.calls[name] += 1
                provider.times.setdefault(name, []).append(time.monotonic())
                provider.bodies.append(body)
                await asyncio.sleep(wait_s)
                raw = json.dumps(reply).encode()
                lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(raw)}"]
                lines += [f"{key}: {value}" for key, value in headers.items()]
                writer.write("\r\n".join([*lines, "", ""]).encode() + raw)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**22)
        provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ended.append((asyncio.get_running_loop(), asyncio.Event()))
        begun.set()
        await ended[0][1].wait()
        server.close()

    ended: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    begun.wait(10)
    try:
        yield provider
    finally:
        loop, event = ended[0]
        loop.call_soon_threadsafe(event.set)
        thread.join(10)
