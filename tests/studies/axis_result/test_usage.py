"""Tokens and cost as sources state them."""

import json

import pytest

from axisjudge.readers import read_trajectories
from axisjudge.studies.axis_result.usage import Usage, usage_of

SAYS = {"type": "assistant", "timestamp": "2026-03-14T09:00:00Z", "content": {"text": "done"}}
TOKENS = {"input": 1200, "output": 80, "cacheReadInput": 900}
MESSAGE = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}
ENDED = {"type": "result", "subtype": "success", "session_id": "s", "result": "done", "is_error": False}
COUNTED = {"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 3}
TURN = {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}}


@pytest.mark.parametrize(
    ("lines", "usage"),
    [
        (
            [{"output": {"transcript": [SAYS], "metadata": {"tokenUsage": TOKENS, "totalCostUsd": 0.25}}}],
            Usage(1200, 900, 80, 0.25),
        ),
        ([{"output": {"transcript": [SAYS], "metadata": {"exitCode": 0}}}], Usage()),
        (
            [
                {"type": "assistant", "session_id": "s", "message": MESSAGE},
                {**ENDED, "usage": COUNTED, "total_cost_usd": 0.5},
            ],
            Usage(7, 5, 3, 0.5),
        ),
        (
            [
                {"type": "thread.started", "thread_id": "t"},
                {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "done"}},
                TURN,
                TURN,
            ],
            Usage(20, 8, 4, None),
        ),
    ],
)
def test_usage_is_what_the_source_states(tmp_path, lines, usage):
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run,) = read_trajectories(file).trajectories
    assert usage_of(run) == usage
