"""Small runs with calls of every category, and a model on loopback that answers sheets as it was asked."""

import json
import re
from collections.abc import Callable
from typing import Any

from judges.servers import anthropic_blocks, chat_completion, openai_response
from scores.axis_cases import answers, calls, says

from axisjudge.scores.axis.judged.signals import GoalCheck
from axisjudge.scores.axis.scenario import Scenario
from axisjudge.trajectory import Trajectory

ANTHROPIC, OPENAI, LOCAL = "anthropic:claude-sonnet-4-6", "openai:gpt-6.1-sol", "openai-compatible:qwen3-8b@URL"
SCENARIO = Scenario("fix", "Mend the sum.", (GoalCheck("The sum is right.", 0.75), GoalCheck("Tests were run.", 0.25)))

#: Points of a run of `entries`: success of two environment calls and one service call, three signals of six
#: interactions and necessity for the agent, two checks.
N_POINTS = {"environment": 2, "service": 1, "agent": 19, "goal": 2}


def entries(result: str = "def total(): ...") -> list[dict[str, Any]]:
    return [
        says(0, "I look for the sum."),
        *(calls(1_000, "Read", "a", file_path="sum.py"), answers(1_300, result, "a")),
        says(2_000, "Now its documentation."),
        *(calls(3_000, "WebFetch", "b", url="https://example.org/sum"), answers(4_000, "page", "b")),
        *(calls(5_000, "Bash", "c", command="pytest -q"), answers(6_000, "3 passed", "c")),
        says(7_000, "Done: the sum is right."),
    ]


def run(id: str = "run-1", family: str | None = "acme", result: str = "def total(): ...", **about: Any) -> Trajectory:
    meta = {"axis_entries": entries(result), "axis_run": {"result": "Done.", "exitCode": 0}}
    return Trajectory(id=id, source="axis", agent="hatch", agent_family=family, meta=meta, **about)


def asked_ids(question: str) -> list[int]:
    """The numbers that a question names."""
    named = re.search(r"numbers ([\d, to]+), \d+ in all", question)
    assert named is not None
    ids: list[int] = []
    for part in named[1].split(", "):
        low, _, high = part.partition(" to ")
        ids += range(int(low), int(high or low) + 1)
    return ids


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """A whole answer to a sheet, as the request asks for it."""
    question = question_of(request)
    if "criterion_index" in question:
        return {"grades": [{"criterion_index": at, "rationale": "Entry 7.", "score": 8 - at} for at in (0, 1)]}
    whole = "contextRelevance" in question
    numbers = {"success": 0.9, "weight": 0.8, "contextRelevance": 0.7} if whole else {"success": 0.6}
    reply: dict[str, Any] = {"audits": [{"id": id, "rationale": f"#{id}.", **numbers} for id in asked_ids(question)]}
    if whole:
        reply["necessity"] = {"rationale": "#3 was not needed.", "unnecessaryIds": [3], "score": 0.75}
    return reply


def question_of(request: dict[str, Any]) -> str:
    if "input" in request:
        return str(request["input"][0]["content"][1]["text"])
    if "system" in request:
        return str(request["messages"][0]["content"][1]["text"])
    return str(request["messages"][1]["content"])


def said(spec: str, reply: Any, request: dict[str, Any]) -> str:
    """A reply's object or text as the provider sends it."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    if spec == ANTHROPIC:
        name = request["tool_choice"]["name"]
        fields = reply if isinstance(reply, dict) else {"text": reply}
        return anthropic_blocks([{"type": "tool_use", "id": "toolu_1", "name": name, "input": fields}], "tool_use")
    return openai_response(text) if spec == OPENAI else chat_completion(text)


def model(spec: str, change: Callable[[dict[str, Any]], Any] = lambda reply: reply) -> Callable[[dict[str, Any]], str]:
    """A model that answers everything, its answers changed on the way."""
    return lambda request: said(spec, change(answer_to(request)), request)
