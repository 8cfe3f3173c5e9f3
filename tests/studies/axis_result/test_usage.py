"""Tokens and cost as sources state them."""

import json

import pytest

from axisjudge.readers import read_trajectories
from axisjudge.studies.axis_result.runs import RunUsage, usage_of

SAYS = {"type": "assistant", "timestamp": "2026-03-14T09:00:00Z", "content": {"text": "done"}}
TOKENS = {"input": 1200, "output": 80, "cacheReadInput": 900}
MESSAGE = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}
ENDED = {"type": "result", "subtype": "success", "session_id": "s", "result": "done", "is_error": False}
COUNTED = {"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 3}
TURN = {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}}
FIRST = {"input_tokens": 2, "cache_creation_input_tokens": 40, "output_tokens": 1}


def counted(n):
    """Codex's count after n input tokens."""
    total = {"input_tokens": n, "cached_input_tokens": 1, "output_tokens": 2}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}}


@pytest.mark.parametrize(
    ("lines", "usage"),
    [
        (
            [{"output": {"transcript": [SAYS], "metadata": {"tokenUsage": TOKENS, "totalCostUsd": 0.25}}}],
            RunUsage(1200, 900, 80, 0.25),
        ),
        ([{"output": {"transcript": [SAYS], "metadata": {"exitCode": 0}}}], RunUsage()),
        (
            [
                {"type": "assistant", "session_id": "s", "message": MESSAGE},
                {**ENDED, "usage": COUNTED, "total_cost_usd": 0.5},
            ],
            RunUsage(7, 5, 3, 0.5),
        ),
        (
            [
                {"type": "thread.started", "thread_id": "t"},
                {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "done"}},
                TURN,
                TURN,
            ],
            RunUsage(20, 8, 4, None),
        ),
        (  # each block of one answer is a line that states the answer's usage again
            [
                {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "go"}},
                *({"type": "assistant", "sessionId": "s", "message": {**MESSAGE, "id": "m1", "usage": FIRST}},) * 2,
                {"type": "assistant", "sessionId": "s", "message": {**MESSAGE, "id": "m2", "usage": COUNTED}},
            ],
            RunUsage(40 + 2 + 7, 5, 1 + 3, None),
        ),
        (  # a running total, stated again and again, that begins anew after a compaction
            [
                {"type": "session_meta", "payload": {"id": "t"}},
                {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "go"}},
                *(counted(n) for n in (100, 100, 250, 30, 30, 70)),
            ],
            RunUsage(250 + 70, 2, 4, None),
        ),
        (
            [
                {
                    "sessionId": "g",
                    "projectHash": "p",
                    "messages": [
                        {"type": "user", "content": "go"},
                        {
                            "type": "gemini",
                            "content": "a",
                            "tokens": {"input": 9, "output": 2, "cached": 4, "thoughts": 3},
                        },
                        {"type": "gemini", "content": "b", "tokens": {"input": 11, "output": 1, "cached": 0}},
                    ],
                }
            ],
            RunUsage(20, 4, 6, None),
        ),
        (  # the same count under two names, and a whole number as a program without whole numbers writes it
            [
                {"type": "assistant", "session_id": "s", "message": MESSAGE},
                {**ENDED, "usage": {**COUNTED, "input": 7, "input_tokens": 7.0, "output": 2.5, "cached": True}},
            ],
            RunUsage(7, 5, 3, None),
        ),
    ],
)
def test_usage_is_what_the_source_states(tmp_path, lines, usage):
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run,) = read_trajectories(file).trajectories
    assert usage_of(run) == usage
