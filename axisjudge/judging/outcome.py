"""How a judging run ended: what each judge answered, what it lost, and what was not asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from axisjudge.judging.lane import LaneEnd
from axisjudge.judging.plan import JudgingPlan

if TYPE_CHECKING:
    import polars as pl

#: The share of its verdicts that a judge may lose in a run that counts as done.
MAX_LOST = 0.05

DONE, LOST, AT_BUDGET, INTERRUPTED = 0, 1, 3, 130


@dataclass(frozen=True)
class Outcome:
    """The end of a run.

    `wanted` and `answered` count ratings of the whole run by judge, those that were there before included; `ends` says
    how far each judge came that was asked now.
    """

    wanted: tuple[tuple[str, int], ...] = ()
    answered: tuple[tuple[str, int], ...] = ()
    ends: tuple[LaneEnd, ...] = ()
    was_interrupted: bool = False

    @classmethod
    def of(
        cls, plan: JudgingPlan, ratings: pl.DataFrame, ends: Sequence[LaneEnd], *, was_interrupted: bool = False
    ) -> Self:
        """The outcome of a plan whose ratings are these."""
        wanted = Counter(str(identity[2]) for identity in plan.identities)
        answered = Counter(ratings.filter(ratings["status"] == "ok")["rater"].to_list())
        return cls(tuple(wanted.items()), tuple(answered.items()), tuple(ends), was_interrupted)

    @property
    def spent_usd(self) -> float:
        """What was spent now, as the server told or by list price."""
        return sum(end.spent_usd for end in self.ends)

    def code(self, max_lost: float = MAX_LOST) -> int:
        """The exit code: 0 all asked and answered, 1 a judge stopped, answered nothing or lost more than `max_lost`,
        3 at the budget, 130 interrupted.
        """
        if self.was_interrupted:
            return INTERRUPTED
        if any(end.at_budget for end in self.ends):
            return AT_BUDGET
        answered = dict(self.answered)
        shares = [1 - answered.get(rater, 0) / wanted for rater, wanted in self.wanted if wanted]
        is_short = any(share > max_lost or share == 1 for share in shares)
        return LOST if is_short or any(end.stopped for end in self.ends) else DONE

    def sentences(self) -> list[str]:
        """What a reader must know who sees nothing else: who was stopped and why, and what is left."""
        lines = []
        if self.spent_usd > 0:
            lines.append(f"Spent, as the server told or by list price: ${self.spent_usd:,.4f}.")
        if read := sum(end.cached_tokens for end in self.ends):
            share = read / sum(end.input_tokens for end in self.ends)
            lines.append(f"The providers read {share:.0%} of the prompts' tokens from a cache.")
        if unknown := sum(end.unpriced for end in self.ends):
            lines.append(f"Calls whose cost nobody knows (no price, no usage, or timed out): {unknown}.")
        left = sum(end.not_asked for end in self.ends if not end.stopped)
        if self.was_interrupted and left:
            lines.append(f"{left} ratings were not asked for, or were given up on their way.")
        return lines + [
            f"{end.judge.rater} is stopped: {end.stopped.rstrip('.')}. {end.not_asked} of its ratings were not asked "
            "for; the same command asks for them."
            for end in self.ends
            if end.stopped
        ]

    def rows(self) -> list[dict[str, Any]]:
        """A line for each judge that was asked."""
        return [
            {
                "judge": end.judge.rater,
                "calls": end.calls,
                "answered": end.statuses["ok"],
                "lost": end.statuses.total() - end.statuses["ok"],
                "not asked": end.not_asked,
                "spent $": end.spent_usd,
                "commonest failure": end.commonest_failure,
            }
            for end in self.ends
        ]
