"""The bar of a judging run: what is done, what it costs, and what goes wrong."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from axisjudge.judging.lane import LaneEnd
from axisjudge.judging.plan import JudgingPlan
from axisjudge.verdict import Rating

_KEPT, _WIDEST = 60, 120


class Progress:
    """Ratings done, there already and failed, the rate, the money spent and forecast, the commonest failure.

    Without `show` it is shown on a terminal and in a notebook; there, where no judge may cost anything, once it takes
    longer than a second.
    """

    def __init__(self, plan: JudgingPlan, *, show: bool | None) -> None:
        self.plan = plan
        self.show = sys.stderr.isatty() or "ipykernel" in sys.modules if show is None else show
        costs = any(judge.kind in ("llm", "decision_model") for judge in plan.judges)
        self.delay = 0.0 if show or costs or sys.stderr.isatty() else 1.0
        self._waiting: dict[str, float] = {}
        self._lines: dict[str, str] = {}

    def __enter__(self) -> Self:
        from tqdm import tqdm

        hidden: dict[str, Any] = {} if self.show else {"disable": True}  # where it is shown, TQDM_DISABLE may say no
        self.bar = tqdm(total=self.plan.n_ratings, unit=" ratings", delay=self.delay, dynamic_ncols=True, **hidden)
        return self

    def advance(self, ratings: Sequence[Rating], ends: Sequence[LaneEnd]) -> None:
        """Count ratings that came."""
        if self.show:
            self.bar.set_postfix_str(self._in_words(ends), refresh=False)
        self.bar.update(len(ratings))

    def wait(self, provider: str, line: str | None) -> None:
        """What a provider is waited for, on one line that changes; None where it answers again.

        In a pipeline, where a line stays, the first pause of a provider is told, and that it answers again.
        """
        began = self._waiting.pop(provider, None)
        if line is not None:
            self._waiting[provider] = began or time.monotonic()
        if self.show and not self.bar.disable:
            self._lines[provider] = line or ""
            self.bar.set_description_str("; ".join(filter(None, self._lines.values()))[:_WIDEST])
        elif line is not None and began is None:
            self.tell(line)
        elif line is None and began is not None:
            self.tell(f"{provider} answers again after {time.monotonic() - began:.0f} s")

    def tell(self, line: str) -> None:
        """A line above the bar; who watches nothing, in a pipeline, is told too."""
        self.bar.write(f"axisjudge: {line}", file=sys.stderr)

    def _in_words(self, ends: Sequence[LaneEnd]) -> str:
        failed = sum(end.statuses.total() - end.statuses["ok"] for end in ends)
        words = [f"cached {self.plan.cached}, failed {failed}"]
        spent = sum(end.spent_usd for end in ends)
        if spent > 0:
            words.append(f"${spent:,.2f} of about ${_forecast(ends):,.2f}")
        failures = Counter[str]()
        for end in ends:
            failures.update(end.failures)
        if failures:
            reason, count = failures.most_common(1)[0]
            words.append(f"{count} x {reason[:_KEPT]}")
        return ", ".join(words)

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def _forecast(ends: Sequence[LaneEnd]) -> float:
    """What the run will have cost, each judge by what its ratings cost so far."""
    total = 0.0
    for end in ends:
        n_done = end.statuses.total()
        total += end.spent_usd * (1 + end.not_asked / n_done if n_done else 1)
    return total
