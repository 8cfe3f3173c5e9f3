"""A budget: what a study may spend at most, calls under way counted by a bound that the judge's own calls teach.

The worst of a call is the price of a reply of full length to a prompt of as many tokens as it has bytes
(`axisjudge.judges.base.Judge.worst_usd`); calls cost a twentieth of that and less. So each call that comes in tells
what share of its worst it took. A next one is set aside at the largest share so far, with a margin that shrinks as 1/n:
where calls are exchangeable, it takes more than the largest of n with a probability of 1/(n + 1) at most, whatever
their distribution. Until `ENOUGH` calls have told, one goes at its worst, or alone, at a stated usual length, where the
budget is too small for that. A call whose cost nobody knows (it timed out) counts at what it was set aside at, and once
`ENOUGH` have told at what a next one would be by all that is known now: what calls tell later counts for it, too. A
server of one's own is asked one by one until it has answered: it may pass calls on to a paid one (LiteLLM's proxy).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile

from axisjudge.judges.base import Judge
from axisjudge.judges.pricing import Tokens
from axisjudge.judges.remote import RemoteJudge
from axisjudge.judging.plan import Call

#: Calls of a judge after which its own figures stand for the next one.
ENOUGH = 10
#: The share above the largest call so far, times the number of calls.
MARGIN = 5.0
#: Of the worst of a call, what each of a first batch is set aside at: a batch cannot be called back.
OF_FIRST_BATCH = 0.25


@dataclass
class CallCosts:
    """What a judge's calls have told: how many, and the largest cost in US dollars; of those of this run, the largest
    share of their worst; and what one usually costs, by the prices, where none has told.

    `largest` are the tokens of the largest call on file, which may have been paid at another price or in a batch.
    """

    calls: int = 0
    largest_usd: float = 0.0
    n_shares: int = 0
    largest_share: float = 0.0
    usual_usd: float = 0.0
    largest: Tokens | None = None

    def bound(self, worst: float | None) -> float:
        """What the next call is set aside at, once a call has told."""
        if worst and self.n_shares >= ENOUGH:
            return min(worst, (1 + MARGIN / self.n_shares) * self.largest_share * worst)
        usd = (1 + MARGIN / self.calls) * self.largest_usd
        return usd if worst is None else min(worst, usd)

    def add(self, cost: float, worst: float | None) -> None:
        self.calls += 1
        self.largest_usd = max(self.largest_usd, cost)
        if worst:
            self.n_shares += 1
            self.largest_share = max(self.largest_share, cost / worst)


class Budget:
    """US dollars that a study may spend; shared by the lanes of a run.

    A call is let through when what was spent, what is under way, and what it is set aside at are within the limit.
    While others are under way a call waits: they will cost less.

    Parameters
    ----------
    limit_usd : float
    spent_usd : float
        What the records say that was spent before.
    told : mapping of rater to CallCosts, optional
        What the records say of each judge's calls.
    unknown : mapping of rater to int, optional
        Calls that the records say may have been paid: each counts at its judge's largest, later at its bound.
    """

    def __init__(
        self,
        limit_usd: float,
        spent_usd: float = 0.0,
        costs: Mapping[str, CallCosts] | None = None,
        unknown: Mapping[str, int] | None = None,
    ) -> None:
        self.limit_usd, self.known_usd, self.under_way_usd, self.assumed_usd = limit_usd, spent_usd, 0.0, 0.0
        self._unknown: list[tuple[CallCosts, float | None, float, float]] = []
        self._costs: dict[str, CallCosts] = dict(costs or {})
        for rater, n_calls in (unknown or {}).items():
            self._unknown += [(self._costs.setdefault(rater, CallCosts()), None, 1.0, 0.0)] * n_calls
        self._reserved: dict[int, float] = {}
        self._worst: dict[int, float | None] = {}
        self._asked_first: set[str] = set()
        self._heard: set[str] = set()
        self._settled = asyncio.Event()
        #: Judges that are asked by batches: those with none under way share what is left; the others wait for theirs.
        self.idle: set[str] = set()
        self.busy: set[str] = set()
        self._assume()

    def costs_of(self, judge: Judge) -> CallCosts:
        costs = self._costs.setdefault(judge.rater, CallCosts())
        if costs.largest is not None and isinstance(judge, RemoteJudge):
            costs.largest_usd = max(costs.largest_usd, judge.price(costs.largest) or 0.0)
            costs.largest = None
            self._assume()
        return costs

    @property
    def spent_usd(self) -> float:
        return self.known_usd + self.assumed_usd

    @property
    def n_assumed(self) -> int:
        """Calls whose cost nobody knows."""
        return len(self._unknown)

    @property
    def reason(self) -> str:
        """Why it let no further call through."""
        assumed = f", ${self.assumed_usd:,.4f} of it for {self.n_assumed} calls whose cost nobody knows"
        spent = f"${self.spent_usd:,.4f}{assumed if self.n_assumed else ''}"
        return f"the next call could pass the budget of ${self.limit_usd:,.10g}; spent {spent}"

    async def reserve(self, call: Call) -> bool:
        """Set a call aside, as soon as there is room for it; False where there never will be."""
        while (worst := self._worst_of(call)) == 0:
            if not self._is_unheard(call.judge) or call.judge.rater not in self._asked_first:
                self._asked_first.add(call.judge.rater)
                return True
            await self._settled.wait()
            self._worst.pop(id(call))
        while not self._take(call, *self._reservation(call, worst)):
            if not self._reserved:
                return False
            await self._settled.wait()
        return True

    def _is_unheard(self, judge: Judge) -> bool:
        """Whether no reply has told yet if a server of one's own passes calls on to one that is paid."""
        return isinstance(judge, RemoteJudge) and judge.rater not in self._heard

    def _reservation(self, call: Call, worst: float | None) -> tuple[float, bool]:
        """What a call is set aside at, and whether it must go alone because little is known of the judge's calls."""
        costs = self.costs_of(call.judge)
        if costs.calls >= ENOUGH:
            return costs.bound(worst), False
        if worst is not None and self.spent_usd + self.under_way_usd + worst <= self.limit_usd:
            return worst, False
        usual = call.inquiry.usual_usd(call.judge) or 0.0
        return max(usual, costs.bound(worst) if costs.calls else 0.0), True

    def set_aside(self, call: Call, share: float) -> None:
        """Set a call of a batch aside, at a share of the list price."""
        if self._worst_of(call) != 0:
            self._take(call, self.of_batch_usd(call, share), anyway=True)

    def of_batch_usd(self, call: Call, share: float) -> float:
        """What a call is set aside at in a batch, in US dollars."""
        costs, worst = self.costs_of(call.judge), self._worst_of(call)
        return share * (costs.bound(worst) if costs.calls else (worst or 0.0) * OF_FIRST_BATCH)

    def n_fitting(self, calls: Iterable[Call], share: float, n_judges: int = 1) -> int:
        """How many of these calls, in their order, there is room for in a batch now, where judges share it evenly."""
        used = self.spent_usd + self.under_way_usd
        needed = accumulate((n_judges * self.of_batch_usd(call, share) for call in calls), initial=used)
        return sum(1 for _ in takewhile(lambda usd: usd <= self.limit_usd, islice(needed, 1, None)))

    async def changed(self) -> None:
        """Wait until a call that is under way is settled, or a judge is over."""
        await self._settled.wait()

    def wake(self) -> None:
        """Have all that wait look again."""
        self._settled.set()
        self._settled = asyncio.Event()

    def _worst_of(self, call: Call) -> float | None:
        if id(call) not in self._worst:
            worst, costs = call.inquiry.worst_usd(call.judge), self.costs_of(call.judge)
            self._worst[id(call)] = None if worst == 0 and costs.calls else worst
            if worst and not costs.calls and not costs.usual_usd:
                costs.usual_usd = call.inquiry.usual_usd(call.judge) or 0.0
                self._assume()
        return self._worst[id(call)]

    def _take(self, call: Call, usd: float, alone: bool = False, *, anyway: bool = False) -> bool:
        used = self.spent_usd + self.under_way_usd
        if not anyway and (used + usd > self.limit_usd or used >= self.limit_usd or (alone and self._reserved)):
            return False
        self._reserved[id(call)] = usd
        self.under_way_usd += usd
        return True

    def settle(self, call: Call, cost_usd: float | None, share: float = 1.0, *, answered: bool = True) -> None:
        """Count what a call cost, None where nobody knows.

        `share` is the part of the list price that the call was set aside at (a batch). A call that was not `answered`
        tells nothing of whether its server is paid: where none was yet, the next one goes alone, too.
        """
        if answered:
            self._heard.add(call.judge.rater)
        self._asked_first.discard(call.judge.rater)
        usd = self._reserved.pop(id(call), 0.0)
        self.under_way_usd = max(0.0, self.under_way_usd - usd) if self._reserved else 0.0
        costs, worst = self.costs_of(call.judge), self._worst.pop(id(call), None)
        if cost_usd is None:
            self._unknown.append((costs, worst, share, usd))
        elif cost_usd > 0:
            costs.add(cost_usd / share, worst)
            self.known_usd += cost_usd
        self._assume()
        self.wake()

    def _assume(self) -> None:
        """Count the calls whose cost nobody knows, by all that is known now; earlier runs' have nothing set aside."""
        self.assumed_usd = sum(
            part * calls.bound(most)
            if calls.calls >= ENOUGH
            else max(aside, part * calls.largest_usd) or part * calls.usual_usd
            for calls, most, part, aside in self._unknown
        )
