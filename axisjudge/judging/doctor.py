"""Before a study: whether each judge can be asked, by two small calls, so that no study finds it out by lost ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.answer import Reply
from axisjudge.judges.base import Judge
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

#: Long enough for every provider's cache, which keeps nothing shorter than a few thousand tokens.
_SHELVES = "\n".join(
    f"shelf {number}: {number % 7} books, {number % 5} lent, checked on day {number}" for number in range(700)
)
PROBE = Trajectory(
    id="doctor",
    source="doctor",
    termination="user_stop",
    steps=(
        Step(index=0, role="user", content="How many books stand on shelf 3?"),
        Step(index=1, role="assistant", tool_calls=(ToolCall(id="a", name="list_shelves", arguments={}),)),
        Step(index=2, role="tool", tool_call_id="a", tool_name="list_shelves", content=_SHELVES),
        Step(index=3, role="assistant", content="Three books stand on shelf 3."),
    ),
)


@dataclass
class Examination:
    """What two calls to a judge have shown.

    `fault` is None where it answered; `cached_tokens` are those of the second call, and `headers` those of the last
    reply that tell of limits. `clock_s` is how far this machine's clock is ahead of the provider's.
    """

    judge: Judge
    replies: list[Reply] = field(default_factory=list)
    retirement: Retirement | None = None
    headers: dict[str, str] = field(default_factory=dict)
    clock_s: float | None = None
    fault: str | None = None

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
        return {
            "judge": self.judge.rater,
            "answers": not self.faults,
            "model returned": first and first.returned_model,
            "mechanism": self.judge.mechanism,
            "tokens in": first and first.input_tokens,
            "cached on the second": self.cached_tokens,
            "seconds": first and first.latency_s,
            "cost $": sum(cost for cost in costs if cost is not None) if costs and None not in costs else None,
            "shut down": self.retirement and str(self.retirement.retires_on or "no day named"),
            "limits": ", ".join(f"{name} {value}" for name, value in self.headers.items()) or None,
        }


def examination_plan(judge: Judge) -> JudgingPlan:
    """The two calls: two axes of one run, so that the second one reads what the first one left in the cache."""
    rubrics = {axis: load_rubric(axis) for axis in AXES}
    return make_plan([PROBE], [judge], rubrics, repeats=2 if judge.joint else 1)


async def examine(judge: Judge) -> Examination:
    """Ask a judge twice, one call after the other."""
    examination = Examination(judge)
    try:
        _watch(judge, examination)
        judge.prepare()
        examination.retirement = await judge.retirement()
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
    finally:
        await judge.close()
    if lane.errors:
        examination.fault = str(lane.errors[0])
    elif lane.end.stopped:
        examination.fault = lane.end.stopped
    return examination


def _watch(judge: Judge, examination: Examination) -> None:
    """Note the headers of every reply that comes to a judge behind an API."""

    async def note(response: Any) -> None:
        headers: Mapping[str, str] = response.headers
        examination.headers = {name: value for name, value in headers.items() if "ratelimit" in name.lower()}
        if "date" in headers:
            examination.clock_s = (datetime.now(UTC) - parsedate_to_datetime(headers["date"])).total_seconds()

    if isinstance(judge, RemoteJudge):
        judge.on_response = note
