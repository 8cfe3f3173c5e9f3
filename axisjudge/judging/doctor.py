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
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from time import perf_counter
from typing import Any

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.judges.answer import Reply, failure_of, unreadable
from axisjudge.judges.base import Judge
from axisjudge.judges.compatible_judge import JSON_SCHEMA, LEAST_RECORD, LOOK_S, OF_LIST, CompatibleJudge
from axisjudge.judges.lifecycle import Retirement
from axisjudge.judges.prompt import object_schema
from axisjudge.judges.remote import NoReplyError, RemoteJudge
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

    `fault` is None where it answered; `headers` are the last that told of limits. `clock_s` is how far this machine's
    clock is ahead of the provider's. `server` says what a server of somebody's own can do.
    """

    judge: Judge
    replies: list[Reply] = field(default_factory=list)
    retirement: Retirement | None = None
    headers: dict[str, str] = field(default_factory=dict)
    clock_s: float | None = None
    fault: str | None = None
    server: dict[str, str] = field(default_factory=dict)

    @property
    def cached(self) -> int | str | None:
        """Tokens of the second prompt that came from a cache, or why there are none."""
        if len(self.replies) < 2 or self.replies[1].failure is not None:
            return None
        tokens, is_long = self.replies[1].cached_tokens, is_priced(self.judge)
        return (
            "not told"
            if tokens is None
            else tokens or ("none" if is_long else "none: the prompt is shorter than caches keep")
        )

    @property
    def faults(self) -> list[str]:
        """What would spoil a study: no answer, lost verdicts, another model, a clock that is wrong."""
        lost = [a for reply in self.replies for a in reply.answers.values() if a.status != "ok"]
        spoiling = [self.fault] if self.fault else [f"{a.status}: {a.rationale}" for a in lost[:1]]
        made_by = {
            name: family_of(name) for name in (self.judge.model, *(reply.returned_model for reply in self.replies))
        }
        if len({family for family in made_by.values() if family}) > 1:
            spoiling.append(f"another model answered: {', '.join(str(name) for name in made_by if name)}")
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
            "cached on the second": self.cached,
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


def is_priced(judge: Judge) -> bool:
    """Whether its provider has a price list: a long question is then no burden, and shows the cache."""
    return isinstance(judge, RemoteJudge) and judge.price_list is not None


def examination_plan(judge: Judge) -> JudgingPlan:
    """The two calls: two axes of one run, so that the second one reads what the first one left in the cache."""
    rubrics = {axis: load_rubric(axis) for axis in AXES}
    return make_plan([probe(LONG if is_priced(judge) else SHORT)], [judge], rubrics, repeats=2 if judge.joint else 1)


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
        if isinstance(judge, CompatibleJudge):
            if any(answer.status in ("ok", "truncated") for answer in answers):
                examination.server = await server_facts(judge, examination.replies)
            elif any(reply.failure and reply.failure.kind == "model" for reply in examination.replies):
                examination.server = {"its models": await _nearest_models(judge)}
    finally:
        await judge.close()
    examination.fault = str(lane.errors[0]) if lane.errors else lane.end.stopped
    return examination


async def _nearest_models(judge: CompatibleJudge) -> str:
    """The names in a server's list that are nearest to one that it does not know."""
    with suppress(Exception):  # whatever a server of somebody's own may answer
        listed: Any = await judge._connected().with_options(timeout=LOOK_S).get("/models", cast_to=object)
        return ", ".join(get_close_matches(judge.model or "", [each["id"] for each in listed["data"]], 5, 0))
    return "not told"


async def server_facts(judge: CompatibleJudge, replies: list[Reply]) -> dict[str, str]:
    """What a server can do that no list tells, by four calls of a few tokens each; their cost is added to `replies`."""
    facts = {}
    if judge.context_told and "context" not in judge.options:
        room = judge.record_tokens(len(AXES) if judge.joint else 1, judge.context_told)
        facts["room for a run"] = (
            f"about {room:,} tokens" if room >= LEAST_RECORD else "hardly any: start it with a longer context"
        )
    timed = [reply for reply in replies if reply.output_tokens and reply.latency_s]
    if timed:
        seconds = sum(reply.latency_s or 0 for reply in timed)
        read, written = (
            sum(getattr(each, name) or 0 for each in timed) / seconds for name in ("input_tokens", "output_tokens")
        )
        facts["speed"] = f"{written:,.1f} tokens a second written and {read:,.0f} read, each over whole calls"
    facts["ranges of numbers"] = await _holds_ranges(judge, replies)
    (first, why), (second, or_why) = [
        await _small(judge, "Name a colour and a number.", replies=replies, seed=7, temperature=1.0) for _ in range(2)
    ]
    alike = "are alike" if first == second else "differ (it may take none)"
    facts["seed"] = why or or_why or f"two answers with one seed {alike}"
    probable, why = await _small(judge, "Say yes.", "logprobs", replies=replies, logprobs=True, top_logprobs=2)
    facts["logprobs"] = "told" if probable else why if why and why.startswith("not taken") else "not told"
    return facts


async def _holds_ranges(judge: CompatibleJudge, replies: list[Reply]) -> str:
    """Whether a number that a schema keeps between 0 and 1 can come out larger, where the model is asked for 7."""
    if judge.options.get("confidence") == "list":
        return "none is asked for: confidences are of a list"
    if any(OF_LIST in reply.flags for reply in replies):
        return "not held: a confidence came outside of 0 to 1; give ,confidence=list"
    if judge.mechanism != JSON_SCHEMA:
        return "no schema is asked for"
    schema = object_schema(n={"type": "number", "minimum": 0, "maximum": 1})
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    text, why = await _small(judge, 'Reply with {"n": 7} and nothing else.', replies=replies, response_format=form)
    with suppress(ValueError, TypeError, KeyError):
        is_held = 0 <= json.loads(text or "")["n"] <= 1
        return "held, as far as one call shows" if is_held else "not held: give ,confidence=list"
    return why or "not shown: its answer holds no number"


async def _small(
    judge: CompatibleJudge, text: str, of: str = "message", *, replies: list[Reply], **more: Any
) -> tuple[Any, str | None]:
    """What stands in the reply to a call of a few tokens beside the judge's own, or why nothing does.

    What it cost is added to `replies`.
    """
    begun = perf_counter()
    body = {"model": judge.model, "messages": [{"role": "user", "content": text}], "max_tokens": 24, **more}
    try:
        async with asyncio.timeout(judge.deadline_s(body)):
            reply = await judge.send(judge._connected(), body)
    except Exception as error:  # a parameter that it does not know, say: that is the answer
        failure = failure_of(error, judge.key) or unreadable(type(error).__name__)
        replies.append(Reply({}, cost_usd=Reply({}, failure=failure).known_usd))
        return None, f"{'not taken' if failure.kind == 'request' else 'not shown'}: {failure.words}"
    paid = Reply({})
    with suppress(NoReplyError, AttributeError, LookupError, TypeError):
        paid = judge._reply({}, judge.read(reply, ""), begun)
    replies.append(paid)
    with suppress(AttributeError, LookupError, TypeError):
        if content := getattr(reply.choices[0], of).content:
            return content, None
    return None, "not shown: no text came within 24 tokens"


def _watch(judge: Judge, examination: Examination) -> None:
    """Note the headers of every reply that comes to a judge behind an API."""

    async def note(response: Any) -> None:
        headers: Mapping[str, str] = response.headers
        of_limits = {name: value for name, value in headers.items() if "ratelimit" in name.lower()}
        examination.headers = of_limits or examination.headers  # a refusal may bear none
        with suppress(KeyError, TypeError, ValueError):  # whatever it takes for a date
            examination.clock_s = (datetime.now(UTC) - parsedate_to_datetime(headers["date"])).total_seconds()

    if isinstance(judge, RemoteJudge):
        judge.on_response = note
