"""One table: intervals and rules x ragged designs, coverage with its Monte Carlo error, and width beside competitors.

``python -m stats.ragged_table 1000`` from tests/ runs it with 1,000 replicates a cell and writes
data/reference/coverage.csv; cells of names after the number are run alone (``... 1000 AC1 "share 0.3"``). Of rules
that call things (rank sets, drift) the share covered is that of studies in which nothing false is called. Widths are
means of the intervals that have both ends.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
from scipy.special import ndtri
from stats import held_back
from stats import ragged_worlds as worlds
from stats.probit_panels import true_coefficient
from stats.ragged_worlds import SIZES, Ends, Methods

#: Where the measured table stands.
MEASURED = Path(__file__).parents[2] / "data" / "reference" / "coverage.csv"
DESIGNS = ("5 x 4", "12 x 12", "12 of 60..2", "12 geometric", "25 of 40..4", "one of 100, 50 of 2")


@dataclass(frozen=True)
class Row:
    """One method in one cell: how often its interval holds the truth, its mean width, how often it has none."""

    what: str
    design: str
    method: str
    replicates: int
    covered: float
    error: float
    width: float
    refused: float
    measured: str = ""

    @property
    def held_back(self) -> bool:
        """Whether no method was made on this cell (`held_back`)."""
        return self.what.startswith("held back: ")

    def __str__(self) -> str:
        named = f"{self.what:32s} {self.design:22s} {self.method:16s}"
        return f"{named} {self.covered:.3f} +- {self.error:.3f}  width {self.width:.3f}  refused {self.refused:.2f}"


def rows(what: str, design: str, truth: float, drawn: Callable[[], Methods], replicates: int) -> list[Row]:
    """Every method's row in one cell, all on the same draws."""
    found: dict[str, list[Ends]] = {}
    for _ in range(replicates):
        for method, ends in drawn().items():
            found.setdefault(method, []).append(ends)
    table = []
    for method, ends in found.items():
        low, high = np.array(ends).T
        given = ~np.isnan(low)
        covered = float(((low <= truth) & (truth <= high))[given].mean()) if given.any() else math.nan
        error = math.sqrt(max(covered * (1 - covered), 0.05 * 0.95) / max(given.sum(), 1))
        bounded = given & np.isfinite(high - low)
        width = float((high - low)[bounded].mean()) if bounded.any() else math.nan
        refused = 1 - float(given.mean())
        table.append(Row(what, design, method, replicates, covered, error, width, refused, str(date.today())))
    return table


_READ = {"str": str, "int": int, "float": float}
Cell = tuple[str, str, float, Callable[[np.random.Generator], Methods]]
LEAST = 0.93
THREE_WORDS = (0.2, 0.6)
PAIR = {"n": 2, "task": 0.2, "item": 0.4}


def cells() -> Iterator[Cell]:
    """What, design, truth, and one study of it."""
    kappa = {share: true_coefficient("cohen_kappa", share, n_raters=2, correlation=0.6) for share in (0.02, 0.3)}
    ac1 = true_coefficient("gwet_ac1", 0.3, n_raters=2, correlation=0.6)
    ac2 = worlds.in_the_long_run(_ac2, **PAIR)
    soft = {
        share: worlds.in_the_long_run(lambda score, at=share: _soft(worlds.beliefs_of(score, at)), **PAIR)
        for share in (0.05, 0.15, 0.3)
    }
    for design in DESIGNS:
        for share in (0.02, 0.3):
            yield f"share {share}", design, share, partial(worlds.shares, design, share)
            yield f"kappa at {share}", design, kappa[share], partial(worlds.kappas, design, share)
        yield "AC1", design, ac1, partial(worlds.coefficient, design, "gwet_ac1", (0.3,))
        yield "AC2 of 3 words", design, ac2, partial(worlds.coefficient, design, "gwet_ac2_quadratic", THREE_WORDS)
        yield "kappa, near-identical", design, worlds.kappa_of_near_identical(), partial(worlds.near_identical, design)
        yield "accuracy, missing not at random", design, 0.7, partial(worlds.missing, design)
        yield "kappa, missing not at random", design, kappa[0.3], partial(worlds.missing_kappa, design)
        if len(SIZES[design]) >= 10:
            yield "paired change", design, 0.05, partial(worlds.changes, design)
            yield "balanced accuracy", design, 0.8, partial(worlds.balanced, design)
            yield "calibrated judge in its band", design, 0.0, partial(worlds.band, design)
            for share, truth in soft.items():
                yield f"soft agreement at {share}", design, truth, partial(worlds.soft, design, share)
            yield "curve's median", design, math.log(0.5), partial(worlds.curve, design)
        if len(SIZES[design]) >= 25:
            for named, item in (("6 judges", 0.2), ("6 near-identical judges", 0.75)):
                truth = worlds.true_effective(item)
                yield f"effective, {named}", design, truth, partial(worlds.effective, design, item)
    for design in ("60 x 1", *(each for each in DESIGNS if len(SIZES[each]) >= 10)):
        yield "sign flip of no change", design, 0.0, partial(worlds.flipped, design, 0.12, 0.12)
    yield "sign flip of a change of .12", "60 x 1", 0.0, partial(worlds.power, "60 x 1", 0.06, 0.18)
    for n_tasks in (12, 50):
        for runs in ((1, 1, 1, 1), (1, 1, 1, 8)):
            named = f"{n_tasks} tasks, {'+'.join(map(str, runs))} runs"
            yield "rank sets of equal agents", named, 0.0, partial(worlds.ranked, runs, n_tasks)
    for n_tasks in (20, 60):
        for spread in (0.1, 0.2):
            yield "drift of none", f"{n_tasks} tasks, SD {spread}", 0.0, partial(worlds.watched, n_tasks, spread, 3)
    for ratio in (10, 40, 160):
        for n_labels in (60, 300):
            for known in (True, False):
                named = f"{ratio}:1, {n_labels} labels{'' if known else ', own p'}"
                yield "rate by a key", named, 0.1, partial(worlds.keyed, n_labels, ratio, 0.1, known=known)
    for rater, (value, task) in worlds.real_steps().items():
        named = f"25 of 50, {rater}"
        yield "real steps, hotpotqa", named, float(value.mean()), partial(worlds.resampled, value, task, 25)


def table(replicates: int, named: Collection[str] = ()) -> Iterator[Row]:
    """All rows, or those of cells of these names; every cell has a seed of its own."""
    for what, design, truth, study in (*cells(), *held_back.cells()):
        if not named or what in named:
            rng = np.random.default_rng(crc32(f"{what}, {design}".encode()))
            yield from rows(what, design, truth, partial(study, rng=rng), replicates)


def measured() -> list[Row]:
    """The table as it was measured and written."""
    with MEASURED.open(newline="") as file:
        return [
            Row(**{field.name: _READ[str(field.type)](row.get(field.name, "")) for field in fields(Row)})
            for row in csv.DictReader(file)
        ]


def summary(held: bool) -> tuple[int, float, float]:
    """Of our intervals (rules have no width): how many, the least covered, and the share under .93."""
    rows = [row for row in measured() if row.method == "ours" and row.held_back is held and row.width > 0]
    covered = np.array([row.covered for row in rows if not math.isnan(row.covered)])
    return covered.size, float(covered.min()), float((covered < LEAST).mean())


def write(new: list[Row]) -> None:
    """Rows of the same cell and method are replaced, others kept."""
    before = measured() if MEASURED.exists() else []
    every = {(row.what, row.design, row.method): row for row in [*before, *new]}
    with MEASURED.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for _, row in sorted(every.items()):
            writer.writerow(
                {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in asdict(row).items()}
            )


def _ac2(score: np.ndarray) -> float:
    words = np.searchsorted(ndtri(np.array(THREE_WORDS)), score).astype(float)
    return worlds.coefficient_of("gwet_ac2_quadratic", words, range(3))


def _soft(beliefs: np.ndarray) -> float:
    """Distance on the same item over that on any two items, which shuffling gives."""
    other = np.random.default_rng(0).permutation(beliefs[:, 1])
    return 1 - float(np.abs(beliefs[:, 0] - beliefs[:, 1]).mean() / np.abs(beliefs[:, 0] - other).mean())


if __name__ == "__main__":
    done: list[Row] = []
    for row in table(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:]):
        print(row, flush=True)
        done.append(row)
        write(done)
