"""Before a study: whether each judge can be asked, by two small calls, so that no study finds it out by lost ones.

A server of somebody's own is asked a few words more: what it holds of a schema, whether a seed repeats an answer,
whether it tells probabilities of tokens, and how fast it is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.answer import Reply
from axisjudge.judges.base import Judge
from axisjudge.judges.compatible_judge import JSON_SCHEMA, OF_LIST, CompatibleJudge
from axisjudge.judges.lifecycle import Retirement
from axisjudge.judges.remote import RemoteJudge
from axisjudge.judging.lane import Lane, Pause
from axisjudge.judging.plan import Call, JudgingPlan, make_plan
from axisjudge.rubric import load_rubric
from axisjudge.trajectory import Step, ToolCall, Trajectory
from axisjudge.verdict import Axis

#: Seconds that a provider may stay closed while it is examined.
PATIENCE_S = 30.0
#: A clock that is off by more seconds than this spoils limits and signatures.
CLOCK_S = 60.0
AXES: tuple[Axis, ...] = ("tool_selection", "termination")
#: Lines of a record that is long enough for the caches of providers with a price list, which keep nothing shorter than
#: a few thousand tokens; and of one that any server can hold.
LONG, SHORT = 260, 3


def probe(n_shelves: int = SHORT) -> Trajectory:
    """A run with one call, as long as a list of so many shelves."""
    shelves = (f"shelf {n}: {n % 7} books, {n % 5} lent, checked on day {n}" for n in range(n_shelves + 1))
    return Trajectory(
        id="doctor",
        source="doctor",
        termination="user_stop",
        steps=(
            Step(index=0, role="user", content="How many books stand on shelf 3?"),
            Step(index=1, role="assistant", tool_calls=(ToolCall(id="a", name="list_shelves", arguments={}),)),
            Step(index=2, role="tool", tool_call_id="a", tool_name="list_shelves", content="\n".join(shelves)),
            Step(index=3, role="assistant", content="Three books stand on shelf 3."),
        ),
    )


@dataclass
class Examination:
    """What the calls to a judge have shown.

    `fault` is None where it answered; `cached_tokens` are those of the second call, and `headers` those of the last
    reply that tell of limits. `clock_s` is how far this machine's clock is ahead of the provider's. `server` says what
    a server of somebody's own can do.
    """

    judge: Judge
    replies: list[Reply] = field(default_factory=list)
    retirement: Retirement | None = None
    headers: dict[str, str] = field(default_factory=dict)
    clock_s: float | None = None
    fault: str | None = None
    server: dict[str, str] = field(default_factory=dict)

    @property
    def cached_tokens(self) -> int | None:
        return self.replies[1].cached_tokens if len(self.replies) > 1 else None

    @property
    def faults(self) -> list[str]:
        """What would spoil a study: no answer, lost verdicts, another model, a clock that is wrong."""
        lost = [a for reply in self.replies for a in reply.answers.values() if a.status != "ok"]
        spoiling = [self.fault] if self.fault else [f"{a.status}: {a.rationale}" for a in lost[:1]]
        if self.clock_s is not None and abs(self.clock_s) > CLOCK_S:
            spoiling.append(f"this machine's clock is off by {self.clock_s:.0f} s")
        return spoiling

    def row(self) -> dict[str, Any]:
        """The examination as a line of a table."""
        first = self.replies[0] if self.replies else None
        costs = [reply.cost_usd for reply in self.replies]
        flags = {flag for reply in self.replies for flag in reply.flags}
        flags |= {flag for reply in self.replies for answer in reply.answers.values() for flag in answer.flags}
        return {
            "judge": self.judge.rater,
            "answers": not self.faults,
            "model returned": first and first.returned_model,
            "mechanism": self.judge.mechanism,
            **origins(self.judge),
            "tokens in": first and first.input_tokens,
            "cached on the second": self.cached_tokens,
            "seconds": first and first.latency_s,
            "cost $": sum(cost for cost in costs if cost is not None) if costs and None not in costs else None,
            "replies mended": ", ".join(sorted(flag for flag in flags if flag.startswith("repaired"))) or None,
            "shut down": self.retirement and str(self.retirement.retires_on or "no day named"),
            "limits": ", ".join(f"{name} {value}" for name, value in self.headers.items()) or None,
            **self.server,
        }


def origins(judge: Judge) -> dict[str, str]:
    """What a judge takes from where: its family, price, context and address."""
    return judge.origins() if isinstance(judge, RemoteJudge) else {"family": judge.family}


def examination_plan(judge: Judge) -> JudgingPlan:
    """The two calls: two axes of one run, so that the second one reads what the first one left in the cache."""
    rubrics = {axis: load_rubric(axis) for axis in AXES}
    has_list = isinstance(judge, RemoteJudge) and judge.price_list is not None
    return make_plan([probe(LONG if has_list else SHORT)], [judge], rubrics, repeats=2 if judge.joint else 1)


async def examine(judge: Judge) -> Examination:
    """Ask a judge twice, one call after the other; a server of somebody's own a few words more."""
    examination = Examination(judge)
    try:
        _watch(judge, examination)
        judge.prepare()
        examination.retirement = await judge.retirement()
        await judge.look()
    except InputError as error:
        examination.fault = str(error)
        return examination

    def answered(call: Call, reply: Reply) -> None:
        examination.replies.append(reply)

    pause = Pause(judge.provider_address)
    lane = Lane(
        judge,
        examination_plan(judge).groups,
        concurrency=1,
        pause=pause,
        budget=None,
        patience_s=PATIENCE_S,
        answered=answered,
        tell=lambda line: None,
    )
    try:
        await lane.run()
        answers = [answer for reply in examination.replies for answer in reply.answers.values()]
        if isinstance(judge, CompatibleJudge) and any(answer.status in ("ok", "truncated") for answer in answers):
            examination.server = await server_facts(judge, examination.replies)
    finally:
        await judge.close()
    if lane.errors:
        examination.fault = str(lane.errors[0])
    elif lane.end.stopped:
        examination.fault = lane.end.stopped
    return examination


async def server_facts(judge: CompatibleJudge, replies: list[Reply]) -> dict[str, str]:
    """What a server can do that no list tells, by three calls of a few tokens each."""
    facts = {"server's context": f"{judge.context_told:,} tokens" if judge.context_told else "not told"}
    told = [reply for reply in replies if reply.output_tokens and reply.latency_s]
    if told:
        seconds = sum(reply.latency_s or 0 for reply in told)
        tokens_in, tokens_out = (
            sum(getattr(reply, name) or 0 for reply in told) for name in ("input_tokens", "output_tokens")
        )
        facts["speed"] = (
            f"{tokens_out / seconds:,.1f} tokens a second written, {tokens_in / seconds:,.0f} read, together"
        )
    facts["ranges of numbers"] = await _holds_ranges(judge, replies)
    texts = [await _said(judge, "Name a colour and a number.", seed=7, temperature=1.0) for _ in range(2)]
    same = texts[0] is not None and texts[0] == texts[1]
    facts["seed"] = (
        "two answers with one seed are alike" if same else "two answers with one seed differ, or it takes none"
    )
    facts["logprobs"] = "told" if await _tells_logprobs(judge) else "not told"
    return facts


async def _holds_ranges(judge: CompatibleJudge, replies: list[Reply]) -> str:
    """Whether a number that a schema keeps between 0 and 1 can come out larger, where the model is asked for 7."""
    if any(OF_LIST in reply.flags for reply in replies):
        return "not held: a confidence came outside of 0 to 1; give ,confidence=list"
    if judge.mechanism != JSON_SCHEMA:
        return "no schema is asked for"
    number = {"type": "number", "minimum": 0, "maximum": 1}
    schema = {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    text = await _said(judge, 'Reply with {"n": 7} and nothing else.', response_format=form)
    with suppress(ValueError, TypeError, KeyError):
        return (
            "held, as far as one call shows"
            if 0 <= json.loads(text or "")["n"] <= 1
            else "not held: give ,confidence=list"
        )
    return "not shown: its answer holds no number"


async def _said(judge: CompatibleJudge, text: str, **more: Any) -> str | None:
    reply = await _small(judge, text, **more)
    with suppress(AttributeError, IndexError, TypeError):
        return str(reply.choices[0].message.content)
    return None


async def _tells_logprobs(judge: CompatibleJudge) -> bool:
    reply = await _small(judge, "Say yes.", logprobs=True, top_logprobs=2)
    with suppress(AttributeError, IndexError, TypeError):
        return bool(reply.choices[0].logprobs.content)
    return False


async def _small(judge: CompatibleJudge, text: str, **more: Any) -> Any:
    """A call of a few tokens beside the judge's own; None where the server takes it badly."""
    body = {"model": judge.model, "messages": [{"role": "user", "content": text}], "max_tokens": 24, **more}
    try:
        async with asyncio.timeout(judge.deadline_s(body)):
            return await judge.send(judge._connected(), body)
    except Exception:  # a parameter that it does not know, say: that is the answer
        return None


def _watch(judge: Judge, examination: Examination) -> None:
    """Note the headers of every reply that comes to a judge behind an API."""

    async def note(response: Any) -> None:
        headers: Mapping[str, str] = response.headers
        examination.headers = {name: value for name, value in headers.items() if "ratelimit" in name.lower()}
        if "date" in headers:
            examination.clock_s = (datetime.now(UTC) - parsedate_to_datetime(headers["date"])).total_seconds()

    if isinstance(judge, RemoteJudge):
        judge.on_response = note
