"""What a gate says; what is decided is decided elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.words import listed, many

NO_CALLS = "none of them called anything, as the baseline's did"
SAME_RUNS = "these are the baseline's own runs"
NOT_AMONG_MANY = "beyond the margin on its own, but not surely so among as many decisions"
_VERDICT = {0: "passed", 1: "failed", 4: "cannot be told: repeats are too few, or runs or scores are missing"}
_OUTCOME = {
    "cannot tell": "cannot be told",
    "missing": "in the baseline, and not among these runs",
    "new": "not in the baseline, so not compared",
}


def no_score(quantity: str, n_runs: int) -> str:
    """Why a quantity cannot be compared."""
    return f"{many(n_runs, 'run')} without {quantity}"


def between(low: float, high: float) -> str:
    """A mean of which only the ends are known."""
    return f"between {low:.1f} and {high:.1f}, as goals are not graded"


def unseen(share: float, n_repeats: int, needed: float) -> str:
    """What repeats that show no fall do not exclude, and how many would."""
    more = f"; {math.ceil(needed)} or more on each side would" if math.isfinite(needed) else ""
    return f"{many(n_repeats, 'repeat')} cannot exclude a fall that comes in up to {share:.0%} of runs{more}"


def floor_unsure(n_runs: int, least: float, needed: float) -> str:
    """From where on the mean may lie, and how many runs like these would show that it holds the floor."""
    more = f"; about {math.ceil(needed)} runs like these would show that it holds" if math.isfinite(needed) else ""
    return f"{many(n_runs, 'run')} cannot exclude a mean from {least:.0f} on{more}"


def decision(
    scenario: str,
    agent: str,
    rule: str,
    outcome: str,
    before: float,
    after: float,
    change: Estimate | None,
    reason: str,
) -> str:
    """One decision in a line: where, what was asked, what was decided, and the figures behind it."""
    figures = [] if math.isnan(after) else [f"{after:.1f}" if math.isnan(before) else f"{before:.1f} to {after:.1f}"]
    if change is not None:
        figures.append(f"{change.estimate:+.1f} points, {change.interval('+.1f')}")
    if reason:
        figures.append(reason)
    known = f" ({'; '.join(figures)})" if figures else ""
    return f"{scenario}, {agent}: {rule}: {_OUTCOME.get(outcome, outcome)}{known}"


def answer(exit_code: int, outcomes: Sequence[str], baseline: str | None, n_unread: int = 0) -> str:
    """The gate as a whole, with how many decisions came out how."""
    unread = [f"{many(n_unread, 'file')} could not be read"] if n_unread else []
    counts = [*unread, *(f"{n} {outcome}" for outcome, n in Counter(map(str, outcomes)).items())]
    against = f" against baseline {baseline}" if baseline else ""
    return f"Gate {_VERDICT[exit_code]}{against}: {listed(counts)}."
