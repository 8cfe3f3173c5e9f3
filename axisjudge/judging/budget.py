"""A budget: what a run may spend at most, calls under way counted at their worst."""

from __future__ import annotations

import asyncio

from axisjudge.judging.plan import Call


class Budget:
    """US dollars that a run may spend; shared by its lanes.

    A call is let through when what was spent, what is under way at its worst, and its own worst are within the limit.
    The worst of a call is the price of a reply of full length to a prompt of as many tokens as it has bytes
    (`axisjudge.judges.base.Judge.worst_usd`). While others are under way a call waits: they will cost less.

    Parameters
    ----------
    limit_usd : float
    """

    def __init__(self, limit_usd: float) -> None:
        self.limit_usd, self.spent_usd, self.under_way_usd = limit_usd, 0.0, 0.0
        self._reserved: dict[int, float] = {}
        self._settled = asyncio.Event()

    @property
    def reason(self) -> str:
        """Why it let no further call through."""
        return f"the next call could pass the budget of ${self.limit_usd:,.10g}; spent ${self.spent_usd:,.4f}"

    async def reserve(self, call: Call) -> bool:
        """Set the worst of a call aside, as soon as there is room for it; False where there never will be."""
        worst = call.inquiry.worst_usd(call.judge) or 0.0
        while not self._take(call, worst):
            if not self._reserved:
                return False
            await self._settled.wait()
        return True

    def set_aside(self, call: Call, share: float, *, anyway: bool = False) -> bool:
        """Set a share of the worst of a call aside, if there is room for it now, or because it is under way."""
        return self._take(call, share * (call.inquiry.worst_usd(call.judge) or 0.0), anyway=anyway)

    def _take(self, call: Call, worst: float, *, anyway: bool = False) -> bool:
        if self.spent_usd + self.under_way_usd + worst > self.limit_usd and worst > 0 and not anyway:
            return False
        if worst > 0:
            self._reserved[id(call)] = worst
            self.under_way_usd += worst
        return True

    def settle(self, call: Call, cost_usd: float | None) -> None:
        """Count what a call cost; one whose cost nobody knows counts at its worst."""
        worst = self._reserved.pop(id(call), 0.0)
        self.under_way_usd = self.under_way_usd - worst if self._reserved else 0.0
        self.spent_usd += worst if cost_usd is None else cost_usd
        self._settled.set()
        self._settled = asyncio.Event()
