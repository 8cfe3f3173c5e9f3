"""What people bring that is no record of runs, or one that cannot be read, and what to bring instead."""

from collections.abc import Callable
from typing import Any

Test = Callable[[dict[str, Any]], bool]


def _typed(*beginnings: str) -> Test:
    return lambda record: str(record.get("type")).startswith(beginnings)


def _has(*keys: str) -> Test:
    return lambda record: set(keys) <= record.keys()


#: A test of the first record of a file, and the cure where it holds.
_CURES: tuple[tuple[Test, str], ...] = (
    (
        lambda record: record.get("object") == "chat.completion.chunk",
        "these are pieces of a stream: keep the whole completion, which the SDK's stream helpers put together",
    ),
    (
        _typed("message_start", "content_block_", "message_delta", "message_stop", "ping"),
        "these are pieces of a stream: keep what the SDK's get_final_message() gives, with the messages sent",
    ),
    (
        _typed("response."),
        "these are pieces of a stream: keep the response inside the event response.completed, with its input",
    ),
    (
        lambda record: str(record.get("event")).startswith("on_") and "run_id" in record,
        "these are events of a stream: keep the messages of the final state, or LangSmith's runs",
    ),
    (
        _has("tasks_output"),
        "CrewAI: keep the messages of each task (tasks_output[].messages), or trace it and export that",
    ),
    (
        lambda record: _has("trajectory", "history")(record) or _has("trajectory", "info")(record),
        "SWE-agent: keep its history, a list of messages with roles",
    ),
    (
        lambda record: "source" in record and ("observation" in record or "action" in record),
        "OpenHands: export the completions (LLM_LOG_COMPLETIONS) with their messages and tool_calls",
    ),
    (
        lambda record: _has("instruction", "output")(record) or _has("prompt", "completion")(record),
        "these are questions with answers, not runs: what an agent called and what came back is needed",
    ),
)


def cure_for(value: Any, known: str) -> str:
    """What to do with a JSON value that no reader recognises; `known` lists the formats that are read."""
    first = value[0] if isinstance(value, list) and value else value
    told = (cure for test, cure in _CURES if isinstance(first, dict) and test(first))
    return next(told, f"known are {known}; anything else: write ours, axisjudge schema trajectory")
