"""A lane: the calls of one judge, with its own width, limits and end, so that no judge waits for another.

- **Width.** A lane begins with `FIRST_AT_ONCE` calls and opens to its full width with the first reply, or after
  `FIRST_REPLY_S` without one: a dead key is found out by a handful of calls. Where the provider's models endpoint has
  confirmed key and model, it is open from the start.
- **Limits** (429, 503, 529) are waited out. Whoever is refused joins the one pause of that provider and, when it is
  over, sends a single call ahead; all others follow when that one is answered. A provider that stays closed for longer
  than the run's patience ends the lane.
- **Passing failures** are asked again `RETRIES` times. What timed out or broke off is asked again once: it may have
  been paid.
- **Lasting failures** (key, quota, model, request) end the lane after `ALIKE` in a row of one kind, as do replies of
  something else than this API (a web page, say). So do `EMPTY` replies, on `ALIKE` runs, before the first verdict.

What a lane that has ended did not ask is not in the file, so that the same command asks it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.answer import (
    ENDED_UNDER_WAY,
    LASTING,
    MAYBE_PAID,
    Failure,
    FailureKind,
    Reply,
    after,
    all_lost,
    failure_of,
    reason_of,
    whole,
)
from axisjudge.judges.base import Judge
from axisjudge.judging.budget import Budget
from axisjudge.judging.plan import Call

FIRST_AT_ONCE = 4
FIRST_REPLY_S = 10.0
ALIKE = 5
#: Replies without a verdict, before the first one, after which no more are paid for.
EMPTY = 20
RETRIES = 4
#: A provider that names no time, or a longer one, is asked again after this many seconds.
LONGEST_WAIT_S = 60.0
#: A provider is asked again when it says so, but for one that says so again and again and refuses all the same.
ROUNDS_AS_ASKED = 3
#: A judge that answers within these seconds may never have waited: others must have their turn.
AT_ONCE_S = 0.001

_FIRST_WAIT_S = 0.5
_LONGEST_RETRY_S = 8.0


@dataclass
class Pause:
    """The pause of one provider, on the clock of `time.monotonic`; judges that it refused keep it."""

    provider: str
    until: float = 0.0
    rounds: int = 0

    def extend(self, asked_s: float | None) -> float:
        """Begin a pause, or lengthen the one that is on; the seconds that are left of it."""
        now = time.monotonic()
        if now >= self.until:
            self.rounds += 1
        patient = min(self.rounds, 10) if asked_s is None else min(self.rounds - ROUNDS_AS_ASKED, 5)
        wait = max(asked_s or 0.0, _FIRST_WAIT_S * 2**patient * random.uniform(0.8, 1.2) if patient > 0 else 0.0)
        if asked_s is not None or now >= self.until:
            self.until = max(self.until, now + min(wait, LONGEST_WAIT_S))
        return self.until - now

    def end(self) -> None:
        self.rounds = 0


@dataclass
class LaneEnd:
    """How far a judge came: calls made, ratings by status, what they cost, what was left unasked and why."""

    judge: Judge
    calls: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    spent_usd: float = 0.0
    input_tokens: int = 0
    cached_tokens: int = 0
    unpriced: int = 0
    not_asked: int = 0
    stopped: str | None = None
    at_budget: bool = False

    def count(self, reply: Reply | None) -> None:
        """Count the cost of a reply, and its prompt where the provider says how much of it came from a cache."""
        self.spent_usd += _cost_of(reply) or 0.0
        if reply is not None and reply.cached_tokens is not None:
            self.input_tokens += reply.input_tokens or 0
            self.cached_tokens += reply.cached_tokens

    @property
    def commonest_failure(self) -> str | None:
        """The commonest reason for which calls failed, the ones that passed included."""
        return self.failures.most_common(1)[0][0] if self.failures else None


Answered = Callable[[Call, Reply], None]

#: Why a call has no answer that was under way when its run was stopped or killed.
_ON_ITS_WAY = Failure("timeout", "given up on its way: the run ended before the reply came", maybe_paid=True)


class Lane:
    """The calls of one judge on their way.

    Parameters
    ----------
    judge : Judge
    groups : sequence of tuples of Call
        The first of a group goes ahead; the others follow when the provider has its prompt in the cache.
    concurrency : int
        Calls under way at once; the judge's own option ``concurrency`` goes before it.
    pause : Pause
        Of the judge's provider.
    budget : Budget, optional
    patience_s : float
    answered : callable
        Takes every reply with its call.
    sending : callable
        Takes every call that may cost something before it is made, with the reply to it if nothing more comes.
    tell : callable
        Takes a line about stopping.
    waits : callable
        Takes a provider and what it is waited for; None where it answers again.
    """

    def __init__(
        self,
        judge: Judge,
        groups: Sequence[tuple[Call, ...]],
        *,
        concurrency: int,
        pause: Pause,
        budget: Budget | None,
        patience_s: float,
        answered: Answered,
        tell: Callable[[str], None],
        sending: Answered = lambda call, reply: None,
        waits: Callable[[str, str | None], None] = lambda provider, line: None,
    ) -> None:
        self._waits = waits
        self.judge, self.pause, self.budget, self.patience_s = judge, pause, budget, patience_s
        self.end = LaneEnd(judge, not_asked=sum(len(call.wanted) for group in groups for call in group))
        self.errors: list[Exception] = []
        self._groups = list(reversed(groups))
        self._others: list[Call] = []
        self._full_width = int(judge.spec.options.get("concurrency", judge.at_once or concurrency))
        self._width = self._full_width if judge.is_confirmed else min(FIRST_AT_ONCE, self._full_width)
        self._answered, self._tell, self._sending = answered, tell, sending
        self._limiters, self._is_free = _limiters(judge), judge.worst_usd(1) == 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake, self._changed = asyncio.Event(), asyncio.Event()
        self._refused_since: float | None = None
        self._probing = False
        self._kind: FailureKind | None = None
        self._alike: list[str] = []
        self._empty: list[str] | None = []

    async def run(self) -> None:
        """Ask until nothing is left, or the lane has ended; calls under way come in either way."""
        opening = asyncio.get_running_loop().call_later(FIRST_REPLY_S, self._open)
        try:
            while True:
                while self._is_left and len(self._tasks) < self._width and not self.has_ended:
                    self._start(self._next())
                    await asyncio.sleep(0)  # each is on its way before the next: replies come one by one
                if not self._tasks:
                    return
                self._wake.clear()
                await self._wake.wait()
        finally:
            opening.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def has_ended(self) -> bool:
        return bool(self.errors) or self.end.stopped is not None

    def stop(self, reason: str) -> None:
        """Begin nothing new; what is under way, and paid, comes in."""
        if not self.has_ended:
            self.end.stopped = reason
            self._tell(f"{self.judge.rater} is stopped: {reason}")
        self._notify()

    def quit(self) -> None:
        """Begin nothing new because the run as a whole has met an error."""
        self._groups.clear()
        self._others.clear()
        self._notify()

    @property
    def _is_left(self) -> bool:
        return bool(self._groups or self._others)

    def _next(self) -> tuple[Call, ...]:
        """What is asked next: the others of a group, as long as the provider's cache of their prompt is warm.

        The last groups are begun first, so that at the end as many calls as the lane is wide are there to be made.
        """
        if self._groups and (not self._others or len(self._groups) * len(self._groups[0]) <= self._width):
            return self._groups.pop()
        return (self._others.pop(),)

    def _open(self) -> None:
        self._width = self._full_width
        self._wake.set()

    def _start(self, calls: tuple[Call, ...]) -> None:
        task = asyncio.create_task(self._work_on(calls))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _work_on(self, calls: tuple[Call, ...]) -> None:
        """One call after the other, the next one at once: its connection is then not left idle, and not looked over."""
        clock = asyncio.get_running_loop().time
        while True:
            begun = clock()
            await self._work(*calls)
            if clock() - begun < AT_ONCE_S:
                await asyncio.sleep(0)
            if not self._is_left or self.has_ended:
                return
            calls = self._next()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()

    async def _work(self, first: Call, *others: Call) -> None:
        try:
            if (reply := await self._reply_to(first)) is None:
                return
            self.end.not_asked -= len(first.wanted)
            self._answered(first, reply)
            self._others.extend(reversed(others))
            self._wake.set()
        except Exception as error:
            self.errors.append(error)
            self._notify()

    async def _reply_to(self, call: Call) -> Reply | None:
        """The reply to a call, however often it must be asked; None where the lane ended before it was.

        It bears what the tries before it took. A try that was paid is a loss where the lane ended before the next one.
        """
        if (unasked := call.inquiry.unasked(self.judge)) is not None:
            return unasked
        timeouts = retries = n_unknown = 0
        reply: Reply | None = None
        given_up: Reply | None = None
        try:
            while await self._admitted(call):
                if not self._is_free:
                    given_up = _with_unknown(after(reply, _given_up(call)), n_unknown + 1)
                    self._sending(call, given_up)
                answer = await self._asked(call)
                given_up = None
                n_unknown += answer.failure is not None and answer.known_usd is None
                reply = after(reply, answer)
                failure = reply.failure
                if failure is None or failure.kind in ("too_long", "refused"):
                    self._succeeded()
                    self._look_for_verdict(reply, call.trajectory.id)
                    break
                self.end.failures[failure.words] += 1
                if failure.kind == "limit":
                    self._wait_for(failure)
                    continue
                self._freed()
                timeouts += failure.kind == "timeout"
                if failure.kind == "timeout" and timeouts < 2:
                    continue
                if failure.kind == "passing" and retries < RETRIES:
                    await self._back_off(failure, retries)
                    retries += 1
                    continue
                if failure.kind in LASTING or failure.kind == "unreadable":
                    self._count(failure, call.trajectory.id)
                break
            else:
                if reply is None or not _may_be_paid(reply):
                    return None
        except asyncio.CancelledError:
            if given_up is None and reply is not None and _may_be_paid(reply):
                given_up = _with_unknown(reply, n_unknown)
            if given_up is not None:  # it stands on file, and is asked again
                self._answered(call, given_up)
            raise
        return _with_unknown(reply, n_unknown)

    async def _admitted(self, call: Call) -> bool:
        """Wait until the call may be made; False where it may not be any more."""
        while self._refused_since is not None and not self.has_ended:
            left = self.pause.until - time.monotonic()
            if left <= 0 and not self._probing:
                self._probing = True
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), max(left, 0.001) if left > 0 else None)
        if self.has_ended:
            return False
        for limiter, size in self._limiters:
            await limiter.acquire(min(limiter.max_rate, size(call)))
        if self.budget is not None and not await self.budget.reserve(call):
            self.end.at_budget = True
            self.stop(self.budget.reason)
            return False
        if self.has_ended and self.budget is not None:
            self.budget.settle(call, 0.0, answered=False)
        return not self.has_ended

    def _look_for_price(self, call: Call, reply: Reply) -> None:
        """End the lane of a judge that costs something which nobody tells, where a budget is to be kept."""
        is_told = reply.cost_usd is not None or reply.failure is not None
        if self.budget is None or is_told or call.inquiry.worst_usd(self.judge) is not None:
            return
        if not self.budget.costs_of(self.judge).calls:
            self.end.at_budget = True
            self.stop("it has no price and its replies tell none, so that no budget can be kept; give it one (,price=)")

    async def _asked(self, call: Call) -> Reply:
        """One call; a reply that answers every point, whatever the judge does: only bad input stops a run."""
        reply: Reply | None = None
        self.end.calls += 1
        try:
            reply = await _put(call)
        finally:  # also where it is cancelled: it may have been paid
            cost = _cost_of(reply)
            self.end.count(reply)
            self.end.unpriced += cost is None and not self._is_free
            if self.budget is not None:
                self.budget.settle(call, cost, answered=reply is not None and reply.failure is None)
        self._look_for_price(call, reply)
        return reply

    def _succeeded(self) -> None:
        self._open()
        self._kind, self._alike = None, []
        self.pause.end()
        if self._refused_since is not None:
            self._waits(self.pause.provider, None)
        self._refused_since = None
        self._freed()

    def _look_for_verdict(self, reply: Reply, trajectory_id: str) -> None:
        """End the lane of a judge whose replies are never read as a verdict, on whatever run."""
        answers = {answer.status: answer.rationale for answer in reply.answers.values()}
        if "ok" in answers:
            self._empty = None
        if self._empty is not None and (
            [*answers] == ["parse_error"] or ([*answers] == ["truncated"] and reply.output_tokens)
        ):
            self._empty.append(trajectory_id)
            if len(self._empty) >= EMPTY and len(set(self._empty)) >= ALIKE:
                self.stop(f"{len(self._empty)} replies came and none held a verdict; {answers.popitem()[1]}")

    def _freed(self) -> None:
        self._probing = False
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        self._wake.set()

    def _wait_for(self, failure: Failure) -> None:
        """Join the pause of the provider, or give up where the patience is over."""
        now = time.monotonic()
        since = self._refused_since = self._refused_since if self._refused_since is not None else now
        is_new = now >= self.pause.until
        left = self.pause.extend(failure.retry_after_s)
        if now + left - since > self.patience_s:
            self.stop(
                f"{self.pause.provider} stayed closed beyond the patience of {self.patience_s:g} s; {failure.words}"
            )
        elif is_new and left >= 1:
            until = (datetime.now() + timedelta(seconds=left)).strftime("%H:%M:%S")
            asked = failure.retry_after_s
            more = f" (it asks for {asked:g} s, and is tried before)" if asked is not None and asked > left + 1 else ""
            line = f"{self.judge.rater} waits for {self.pause.provider} until {until}{more}: {failure.words}"
            self._waits(self.pause.provider, line)
        self._freed()

    async def _back_off(self, failure: Failure, retries: int) -> None:
        wait = _FIRST_WAIT_S * 2**retries * random.uniform(0.75, 1)
        asked = failure.retry_after_s
        await asyncio.sleep(min(wait, _LONGEST_RETRY_S) if asked is None else min(asked, LONGEST_WAIT_S))

    def _count(self, failure: Failure, trajectory_id: str) -> None:
        """End the lane at the last of `ALIKE` failures in a row; requests fail alike only on different trajectories."""
        if failure.kind != self._kind:
            self._kind, self._alike = failure.kind, []
        self._alike.append(trajectory_id)
        is_of_one_run = failure.kind in ("request", "unreadable") and len(set(self._alike)) == 1
        if len(self._alike) >= ALIKE and not is_of_one_run:
            self.stop(f"{len(self._alike)} calls in a row failed alike; {failure.words}")


async def _put(call: Call) -> Reply:
    try:
        reply = await call.inquiry.put_to(call.judge, call.repeat)
    except InputError:
        raise
    except Exception as error:  # a judge of somebody's own; those of this package answer with a status
        failure = failure_of(error)
        status, reason = (failure.status, failure.words) if failure else ("api_error", reason_of(error))
        return Reply(all_lost(call.rubrics, status, reason), failure=failure)
    return whole(reply, call.rubrics)


def _given_up(call: Call) -> Reply:
    return Reply(all_lost(call.rubrics, "api_error", _ON_ITS_WAY.words), flags=(ENDED_UNDER_WAY,), failure=_ON_ITS_WAY)


def _may_be_paid(reply: Reply) -> bool:
    return bool(reply.cost_usd) or (reply.failure is not None and reply.failure.maybe_paid)


def _with_unknown(reply: Reply, n_tries: int) -> Reply:
    """The reply with the number of tries that failed at a cost that nobody knows."""
    return replace(reply, flags=(*reply.flags, f"{MAYBE_PAID}:{n_tries}")) if n_tries else reply


def _cost_of(reply: Reply | None) -> float | None:
    """What a call cost; None where nobody knows, because it was given up, timed out, or has no price."""
    return None if reply is None else reply.known_usd


def _limiters(judge: Judge) -> list[tuple[Any, Callable[[Call], float]]]:
    """Limiters of the judge's options ``rpm`` and ``tpm``, each with what a call takes of it."""
    from aiolimiter import AsyncLimiter

    limiters: list[tuple[Any, Callable[[Call], float]]] = []
    if (per_minute := judge.spec.options.get("rpm")) is not None:
        # one at a time: a burst of a whole minute's calls is what providers answer with 429
        limiters.append((AsyncLimiter(1, 60.0 / per_minute), lambda _: 1.0))
    if (per_minute := judge.spec.options.get("tpm")) is not None:
        limiters.append((AsyncLimiter(per_minute, 60.0), lambda call: call.inquiry.tokens(judge)))
    return limiters
