"""A judge's calls by its provider's batch interface: handed in, waited for, collected; half price, within a day.

What was handed in stands in a file beside the ratings (``ratings.jsonl.batches.json``) before and after it is handed
in, so that a run that is killed at any moment finds its batches again: each request bears an id made of what the rating
will be known by, and so is found in the plan of any later run. A request that failed in a way that may pass is handed
in again, alone with its like; what the plan no longer asks for is left where it is.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any

from axisjudge.checks import InputError
from axisjudge.judges.answer import LASTING, Failure, Reply, after, whole
from axisjudge.judges.pricing import BATCH_SHARE
from axisjudge.judges.remote import LONG_TIMEOUT_S, TIMEOUT_S, Body, RemoteJudge
from axisjudge.judging.budget import Budget
from axisjudge.judging.inquiry import OfAxes
from axisjudge.judging.lane import Answered, LaneEnd
from axisjudge.judging.plan import Call, Done, Identity, JudgingPlan
from axisjudge.workbench import whole_or_not_at_all

#: Requests and bytes of one batch; the providers take 50,000 and 200 MB at least.
MOST_REQUESTS, MOST_BYTES = 20_000, 100_000_000
#: Batches that a budget is spent by, and requests of each, where not all fit.
MOST_BATCHES, LEAST_REQUESTS = 3, 5
#: Seconds between two looks at a batch: few at first, then as many as these.
FIRST_LOOK_S, LOOK_S = 2.0, 60.0
#: How often a request is handed in.
ROUNDS = 3
#: Days for which both providers keep what a batch brought.
KEPT_DAYS = 29
#: Clocks may differ by these seconds, when a batch is looked for by its time.
CLOCK_S = 300


@dataclass
class Batch:
    """A batch that was handed in; `id` is the provider's, None until it is known."""

    rater: str
    tag: str
    since: str
    requests: tuple[str, ...]
    id: str | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the provider may still have its results."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.since)).days < KEPT_DAYS


@dataclass
class Batches:
    """The batches of a ratings file that are under way."""

    path: Path
    open: list[Batch] = field(default_factory=list)

    @classmethod
    def beside(cls, ratings: Path) -> Batches:
        """Those of a ratings file, as its last run left them.

        Raises
        ------
        InputError
            The file is there and is none of ours.
        """
        path = ratings.with_name(f"{ratings.name}.batches.json")
        if not path.exists():
            return cls(path)
        try:
            listed = json.loads(path.read_text())
            batches = [Batch(**{**each, "requests": tuple(each["requests"])}) for each in listed]
            return cls(path, [batch for batch in batches if batch.is_kept])
        except (ValueError, TypeError, KeyError) as error:
            cure = "move it away; what is under way with the provider is then handed in again"
            raise InputError(str(path), "is no list of batches", cure=cure) from error

    def drop_answered(self, done: Done) -> None:
        """Forget batches whose every request is answered: a run was killed between the last rating and its note."""
        if not self.open:
            return
        answered = {request_id(identity) for identity, status in done.items() if status == "ok"}
        self.open = [batch for batch in self.open if not answered.issuperset(batch.requests)]
        self.save()

    def save(self) -> None:
        """Write them down in one step; an empty list leaves no file."""
        if not self.open:
            self.path.unlink(missing_ok=True)
            return
        with whole_or_not_at_all(self.path) as draft, draft.open("w") as file:
            json.dump([asdict(batch) for batch in self.open], file)
            file.flush()
            os.fsync(file.fileno())


def request_id(identity: Identity) -> str:
    """A name for a call, made of the identity of any of its ratings: every later run gives it, too."""
    item, _, *who = identity
    return sha256(json.dumps([item, *who]).encode()).hexdigest()[:40]


def request_of(call: Call) -> str:
    """The id of the request that a call becomes."""
    return request_id(call.identity(call.wanted[0]))


class BatchLane:
    """The calls of one judge, handed in as batches; it has the face of a `Lane`.

    Parameters
    ----------
    judge : RemoteJudge
    groups : sequence of tuples of Call
    batches : Batches
    budget : Budget, optional
        A batch is set aside at its worst, at half price, before it is handed in.
    patience_s : float
        How long a provider may stay closed, to be handed something or to be asked how far it is.
    answered, tell : callable
        As a lane has them.
    """

    def __init__(
        self,
        judge: RemoteJudge,
        groups: Sequence[tuple[Call, ...]],
        *,
        batches: Batches,
        budget: Budget | None,
        patience_s: float,
        answered: Answered,
        tell: Any,
    ) -> None:
        calls = [call for group in groups for call in group]
        self.judge, self.batches, self.budget, self.patience_s = judge, batches, budget, patience_s
        self.end = LaneEnd(judge, not_asked=sum(len(call.wanted) for call in calls))
        self.errors: list[Exception] = []
        self._left = {request_of(call): call for call in calls}
        self._asked_for = dict.fromkeys(self._left, 0)
        self._failed: dict[str, Reply] = {}
        self._answered, self._tell = answered, tell
        self._n_of_budget = 0
        self._mark_idle(not self._mine())
        self._is_over = self._may_be_there = False

    def quit(self) -> None:
        """Hand in nothing more because the run as a whole has met an error."""
        self._is_over = True
        if self.budget is not None:
            self.budget.wake()

    def _mark_idle(self, is_idle: bool | None) -> None:
        """Note whether it may take its share of the budget, or has a batch out; None where it is over."""
        if self.budget is not None:
            for those, is_in in ((self.budget.idle, is_idle), (self.budget.busy, is_idle is False)):
                (those.add if is_in else those.discard)(self.judge.rater)

    async def run(self) -> None:
        """Collect what is under way, hand in what is not, until nothing is left."""
        try:
            await self._find_nameless()
            for name in (name for batch in self._mine() for name in batch.requests):
                if name in self._left and self.budget is not None:
                    self.budget.set_aside(self._left[name], BATCH_SHARE)
            while not self._is_over:
                mine = self._mine()
                under_way = {name for batch in mine for name in batch.requests}
                self._mark_idle(not mine)
                fitting = await self._that_fit([name for name in self._left if name not in under_way], not mine)
                self._mark_idle(False)
                for requests in _chunks(fitting):
                    mine.append(await self._submit(requests))
                if not mine:
                    return
                await self._collect(mine[0])
        except _StoppedError as end:
            self._stop(str(end))
        except Exception as error:
            self.errors.append(error)
        finally:  # what it leaves in a batch stays set aside, and nobody waits for it
            self._mark_idle(None)
            self.quit()

    def _stop(self, reason: str) -> None:
        self._is_over = True
        self.end.stopped = reason
        self._tell(f"{self.judge.rater} is stopped: {reason}")

    async def _that_fit(self, names: Sequence[str], is_idle: bool) -> dict[str, Body]:
        """The requests that the budget lets in now; what needs no batch is answered here.

        Raises
        ------
        _StoppedError
            It lets in too few for a batch, while none is under way (`is_idle`).
        """
        requests = {name: _request(self._left[name]) for name in names}
        for name, reply in requests.items():
            if isinstance(reply, Reply):
                self._settle(name, reply)
        bodies = {name: body for name, body in requests.items() if not isinstance(body, Reply)}
        if self.budget is None:
            return bodies
        while not self._is_over:
            calls = [self._left[name] for name in bodies]
            n_fitting = self.budget.n_fitting(calls, BATCH_SHARE, max(1, len(self.budget.idle)))
            self.end.at_budget = n_fitting < len(bodies)
            if self.end.at_budget and (n_fitting < LEAST_REQUESTS or self._n_of_budget == MOST_BATCHES):
                n_fitting = 0
            fitting = dict(islice(bodies.items(), n_fitting))
            for name in fitting:
                self.budget.set_aside(self._left[name], BATCH_SHARE)
            self._n_of_budget += bool(fitting and self.end.at_budget)
            if fitting or not bodies or not is_idle:
                return fitting
            if not self.budget.busy:
                left = self.budget.limit_usd - self.budget.spent_usd - self.budget.under_way_usd
                raise _StoppedError(
                    f"${left:,.4f} of the budget of ${self.budget.limit_usd:,.10g} is left, and another batch, which "
                    "may take a day, would hold too few calls; one by one, without --batch (batch=), it is used at once"
                )
            await self.budget.changed()
        return {}

    def _mine(self) -> list[Batch]:
        """Batches under way that hold something this run asks for; others are a later run's affair."""
        mine = [batch for batch in self.batches.open if batch.rater == self.judge.rater]
        return [batch for batch in mine if any(name in self._left for name in batch.requests)]

    async def _submit(self, requests: Mapping[str, Body]) -> Batch:
        """Hand in a batch; it is noted before, so that it is found again whatever happens on the way."""
        now = datetime.now(UTC)
        tag = sha256("".join([now.isoformat(), *requests]).encode()).hexdigest()[:16]
        batch = Batch(self.judge.rater, tag, now.isoformat(), tuple(requests))
        self.batches.open.append(batch)
        self.batches.save()
        batch.id = await self._patiently(lambda: self._handed_in(batch, requests), LONG_TIMEOUT_S)
        self.batches.save()
        self.end.calls += len(requests)
        for name in requests:
            self._asked_for[name] += 1
        self._tell(f"{self.judge.rater}: {len(requests)} requests handed in as batch {batch.id}; it may take a day")
        return batch

    async def _handed_in(self, batch: Batch, requests: Mapping[str, Body]) -> str:
        if self._may_be_there and (there := await self._handed_in_before(batch)) is not None:
            return there
        self._may_be_there = True
        name = await self.judge.submit_batch(requests, batch.tag)
        self._may_be_there = False
        return name

    async def _handed_in_before(self, batch: Batch) -> str | None:
        since = datetime.fromtimestamp(datetime.fromisoformat(batch.since).timestamp() - CLOCK_S, UTC)
        known = {each.id for each in self.batches.open if each.id}
        return await self.judge.find_batch(batch.tag, len(batch.requests), since, known)

    async def _find_nameless(self) -> None:
        """Batches that a killed run handed in, or was about to: those that are there get their name, others go."""
        for batch in [each for each in self.batches.open if each.rater == self.judge.rater and each.id is None]:
            batch.id = await self._patiently(lambda batch=batch: self._handed_in_before(batch))
            if batch.id is None:
                self.batches.open.remove(batch)
        self.batches.save()

    async def _collect(self, batch: Batch) -> None:
        """Wait for a batch, and settle every request of it that is still wanted."""
        assert batch.id is not None
        wait = min(FIRST_LOOK_S, LOOK_S)
        while not (status := await self._patiently(lambda: self.judge.batch_status(batch.id or ""))).has_ended:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LOOK_S)
        if status.failure is not None:
            self._forget(batch)
            for name in batch.requests:
                if name in self._left:
                    self._give_back(self._left[name], 0.0)
            self.end.failures[status.failure.words] += 1
            if status.failure.kind in LASTING or max(self._asked_for.get(name, 0) for name in batch.requests) >= ROUNDS:
                raise _StoppedError(f"its batch was refused; {status.failure.words}")
            await asyncio.sleep(LOOK_S)
            return
        results = await self._patiently(lambda: _listed(self.judge, batch.id or ""), LONG_TIMEOUT_S)
        wanted = [name for name in batch.requests if name in self._left]
        n_alike = 0
        for name in wanted:
            call = self._left[name]
            assert isinstance(call.inquiry, OfAxes)
            result = results.get(name, _NOTHING)
            reply = whole(self.judge.reply_from_batch(result, call.trajectory, call.inquiry.rubrics), call.rubrics)
            failure = reply.failure
            if failure is not None:
                self.end.failures[failure.words] += 1
                n_alike += failure.kind in LASTING
                if failure.kind in ("passing", "limit", "timeout") and self._asked_for[name] < ROUNDS:
                    self._give_back(call, reply.cost_usd or 0.0)
                    self.end.count(reply)
                    self._failed[name] = after(self._failed.get(name), reply)
                    continue
            self._settle(name, reply)
        self._forget(batch)
        self._tell(
            f"{self.judge.rater}: batch {batch.id} collected, {sum(n in results for n in wanted)} of its requests"
        )
        if wanted and n_alike == len(wanted):
            raise _StoppedError(f"all {n_alike} requests of a batch failed alike; {self.end.commonest_failure}")

    def _settle(self, name: str, reply: Reply) -> None:
        call = self._left.pop(name)
        cost = reply.cost_usd if reply.failure is None else reply.cost_usd or 0.0
        self._give_back(call, cost)
        self.end.count(reply)
        self.end.unpriced += cost is None
        self.end.not_asked -= len(call.wanted)
        self._answered(call, after(self._failed.get(name), reply))

    def _give_back(self, call: Call, cost: float | None) -> None:
        if self.budget is not None:
            self.budget.settle(call, cost, BATCH_SHARE)

    def _forget(self, batch: Batch) -> None:
        self.batches.open.remove(batch)
        self.batches.save()

    async def _patiently(self, ask: Any, least_s: float = 0.0) -> Any:
        """Ask the provider something; what may pass is waited out, up to the patience.

        The judge's deadline is that of a reply; where many go to and fro they have `least_s` in any case.
        """
        since, wait = monotonic(), 0.5
        while True:
            try:
                async with asyncio.timeout(max(least_s, self.judge.options.get("timeout", TIMEOUT_S))):
                    return await ask()
            except TimeoutError:
                failure = Failure("timeout", "no whole reply in time")
            except Exception as error:  # of the SDK, or of its transport
                failure = self.judge.failure_of(error)
            self.end.failures[failure.words] += 1
            pause = failure.retry_after_s if failure.retry_after_s is not None else wait
            pause, wait = min(pause, LOOK_S), min(2 * wait, LOOK_S)
            is_lasting = failure.kind in LASTING or failure.kind in ("too_long", "refused")
            if is_lasting or monotonic() + pause - since > self.patience_s:
                raise _StoppedError(failure.words)
            await asyncio.sleep(pause)


_NOTHING = Failure("passing", "in a batch: no result came")


class _StoppedError(Exception):
    """The judge cannot go on; says why."""


async def _listed(judge: RemoteJudge, batch: str) -> dict[str, Any]:
    """Results of a batch by the ids of their requests: of one told twice the answer, up to a line that is broken."""
    results: dict[str, Any] = {}
    with suppress(ValueError):
        async for name, result in judge.batch_results(batch):
            if isinstance(results.get(name, _NOTHING), Failure):
                results[name] = result
    return results


def _chunks(requests: Mapping[str, Body]) -> Iterator[dict[str, Body]]:
    """Requests that go into one batch each."""
    chunk: dict[str, Body] = {}
    n_bytes = 0
    for name, request in requests.items():
        size = len(json.dumps(request))
        if chunk and (len(chunk) >= MOST_REQUESTS or n_bytes + size > MOST_BYTES):
            yield chunk
            chunk, n_bytes = {}, 0
        chunk[name] = request
        n_bytes += size
    if chunk:
        yield chunk


def _request(call: Call) -> Body | Reply:
    if (reply := call.inquiry.unasked(call.judge)) is not None:
        return reply
    assert isinstance(call.judge, RemoteJudge)
    assert isinstance(call.inquiry, OfAxes)
    return call.judge.request(call.trajectory, call.inquiry.rubrics)


def check_not_in_batch(plan: JudgingPlan, ratings: Path) -> None:
    """Refuse to ask one by one what is under way, and paid, in a batch.

    Raises
    ------
    InputError
        How many calls, and how they are collected.
    """
    batches = Batches.beside(ratings).open
    under_way = {name: batch for batch in batches for name in batch.requests}
    mine = [under_way[name] for group in plan.groups for call in group if (name := request_of(call)) in under_way]
    if not mine:
        return
    when = min(batch.since for batch in mine)[:16].replace("T", " ")
    cure = (
        f"collect them with --batch (batch=True); to give the batch up and ask anew, remove {ratings.name}.batches.json"
    )
    rule = f"{len(mine)} of its calls are under way in a batch handed in on {when} UTC, and would be paid twice"
    raise InputError(f"judge {mine[0].rater}", rule, cure=cure)


def check_batch_budget(plan: JudgingPlan, ratings: Path, budget: Budget) -> None:
    """Refuse a budget that lets too few calls into a first batch: others would follow by ones and twos, a day each.

    Raises
    ------
    InputError
        How many calls it lets in, and the commands that ask.
    """
    every = [call for group in plan.groups for call in group if call.inquiry.unasked(call.judge) is None]
    of_judges: dict[str, dict[str, Call]] = {}
    for call in every:
        if isinstance(call.judge, RemoteJudge):
            of_judges.setdefault(call.judge.rater, {})[request_of(call)] = call
    under_way = {name for batch in Batches.beside(ratings).open for name in batch.requests}
    n = len(of_judges)
    for rater, calls in of_judges.items():
        n_fitting = budget.n_fitting(calls.values(), BATCH_SHARE, n)
        if n_fitting >= min(LEAST_REQUESTS, len(calls)) or not under_way.isdisjoint(calls):
            continue
        first = [budget.of_batch_usd(call, BATCH_SHARE) for call in islice(calls.values(), LEAST_REQUESTS)]
        enough = f"{ceil(100 * (budget.spent_usd + n * sum(first))) / 100:.2f}"
        rule = f"lets {n_fitting} of {len(calls)} calls of {rater} into a batch, which may take a day, as the next may"
        ways = (
            f"leave --batch (batch=) out, as each call then teaches what the next one costs; or give {enough} or more"
        )
        raise InputError("--budget with --batch", rule, f"${budget.limit_usd:g}", ways)


def check_batch(judges: Sequence[Any]) -> None:
    """Refuse judges behind an API that has no batch interface.

    Raises
    ------
    InputError
        The first such judge.
    """
    for judge in judges:
        if isinstance(judge, RemoteJudge) and not judge.can_batch:
            cure = "leave it out, or judge without --batch (batch=)"
            raise InputError(f"judge {judge.rater}", "has no batch interface", cure=cure)
