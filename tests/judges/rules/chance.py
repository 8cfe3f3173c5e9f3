"""How often an amount would pass by chance: the amounts of other runs, held against what this run had been given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from axisjudge.judges.rules.facts import Facts
from axisjudge.judges.rules.formats import Amount
from axisjudge.judges.rules.result_interpretation import amounts_by_message, counts_in, explain_all
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True)
class PassRate:
    """Amounts tried and how many were explained, by the way they were; `rate` is explained / tried."""

    n_tried: int
    n_explained: int
    by_way: dict[str, int]

    @property
    def rate(self) -> float:
        """Share of the amounts tried that some rule explains; NaN when none was tried."""
        return self.n_explained / self.n_tried if self.n_tried else float("nan")


def pass_rate(trajectories: Iterable[Trajectory]) -> PassRate:
    """How many of the amounts that agents told are explained by what they had been given."""
    return _tried([Facts.of(trajectory) for trajectory in trajectories], None)


def shuffled_pass_rate(trajectories: Iterable[Trajectory], *, rng: Random) -> PassRate:
    """How many amounts would be explained if each were one told in another run.

    Each amount is replaced by a random one of another trajectory, written with or without hundredths alike; what the
    run itself had been given stays. The lower this is below `pass_rate`, the more an unexplained amount says.
    """
    return _tried([Facts.of(trajectory) for trajectory in trajectories], rng)


def _tried(all_facts: list[Facts], rng: Random | None) -> PassRate:
    pool = [
        (run, amount)
        for run, facts in enumerate(all_facts)
        for _, _, amounts, _ in amounts_by_message(facts)
        for amount in amounts
        if amount.cents
    ]
    ways: Counter[str] = Counter()
    for run, facts in enumerate(all_facts):
        for _, text, amounts, known in amounts_by_message(facts):
            counts = counts_in(text)
            if rng is not None:
                drawn = (_stranger(pool, run, amount, rng) for amount in amounts if amount.cents)
                ways.update(known.explain(one, [], counts) or "unexplained" for one in drawn if one is not None)
            explained = explain_all(amounts, known, counts)
            if rng is None:
                ways.update(way or "unexplained" for amount, way in explained if amount.cents)
    tried = sum(ways.values())
    return PassRate(tried, tried - ways["unexplained"], dict(ways))


def _stranger(pool: list[tuple[int, Amount]], run: int, amount: Amount, rng: Random) -> Amount | None:
    """A random amount told in another run, with or without hundredths alike; None where there is none."""
    for _ in range(100):
        other_run, other = pool[rng.randrange(len(pool))]
        if other_run != run and other.exact == amount.exact:
            return other
    return None
