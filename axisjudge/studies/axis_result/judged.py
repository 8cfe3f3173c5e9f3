"""AXIS Results by judges, and how far they agree on the signals and goal checks behind them, signal by signal.

A signal is a number from 0 to 1, a grade one from 0 to 10, here taken as tenths. Percent agreement of numbers needs a
tolerance: two judges agree where they differ by `WITHIN` at most. Krippendorff's alpha weighs every difference by its
square, against what judges would differ by if they gave their numbers to other interactions. Where all are given nearly
the same number, as success mostly is, alpha is low or undefined although judges agree; then the tolerance tells more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.ratings.selection import once
from axisjudge.results import Result
from axisjudge.scores.axis.judged.questions import asked_of_axis
from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.axis.scoring import Scoring, axis_results
from axisjudge.stats.agreement.chance_corrected import Agreement, krippendorff_alpha
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.arrays import mean_of
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies._shared.words import in_cell
from axisjudge.studies.axis_result import sentences as say
from axisjudge.trajectory import Trajectory

#: Two numbers this near to each other agree; twentieths are the finest steps that judges commonly use.
WITHIN = 0.1

GOAL = "goal"


@dataclass(frozen=True)
class JudgePair(Result):
    """Two judges on one signal: the share of items within `WITHIN`, and how much higher the second's numbers are."""

    raters: tuple[str, str]
    cross_family: bool
    within: Estimate
    mean_difference: float


@dataclass(frozen=True)
class SignalAgreement(Result):
    """Agreement on one signal.

    `n_items` counts interactions (or runs, or checks) with a number of any judge, `n_common` those with one of every
    judge. `within` is the share of pairs of judges that agree within a tenth, over pairs of different families, and
    `alpha` is Krippendorff's for interval data over all judges; `means` are the judges' means, `lost` their ratings
    without a number.
    """

    question: str
    n_items: int
    n_common: int
    means: Mapping[str, float]
    lost: Mapping[str, int]
    alpha: Agreement
    within: Estimate
    pairs: tuple[JudgePair, ...]

    def row(self) -> dict[str, Any]:
        """One row of the table."""
        return {
            "signal": self.question,
            "n": self.n_items,
            "common": self.n_common,
            "lost": sum(self.lost.values()),
            "within": in_cell(self.within, ".0%"),
            "alpha": in_cell(self.alpha),
            "lowest mean": min(self.means.values(), default=math.nan),
            "highest mean": max(self.means.values(), default=math.nan),
        }


@dataclass(frozen=True)
class AgreementOnSignals(Result):
    """Agreement on every signal, and on the goal's checks, of judges of different families.

    `by_one` names signals that one judge alone gave numbers for (rules grade no checks): no agreement can be stated.
    """

    within: ClassVar = WITHIN
    _keys = ("raters", "families", "within", "signals", "sentences")

    raters: tuple[str, ...]
    families: tuple[str, ...]
    signals: tuple[SignalAgreement, ...]
    made_up: tuple[str, ...]
    n_other_repeats: int
    by_one: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One row a signal."""
        return [each.row() for each in self.signals]

    @property
    def sentences(self) -> list[str]:
        """What the table says, and what it does not."""
        known = [each for each in self.signals if not math.isnan(each.within.estimate)]
        weakest = min(known, key=lambda each: each.within.estimate, default=None)
        pairs = None if weakest is None else (weakest.question, in_cell(weakest.within, ".0%"))
        return [
            *say.of_judges(self.raters, self.families, self.made_up, WITHIN),
            *say.of_agreement(pairs, len(set(self.families)), self.n_other_repeats, self.by_one),
        ]


def agreement_on_signals(ratings: pl.DataFrame, *, repeat: int = 0, ci_level: float = 0.95) -> AgreementOnSignals:
    """Agreement of judges on the signals and goal checks of a ratings table.

    Intervals are over tasks where the ratings name them, else over runs: interactions of one run are not independent.

    Raises
    ------
    InputError
        There are no such ratings, fewer than two judges, or several ratings of one judge for one item.
    """
    table = asked_of_axis(ratings)
    left_out = table.filter(pl.col("repeat") != repeat).height
    table = table.filter(pl.col("repeat") == repeat).with_columns(
        pl.when(pl.col("scale") == "check").then(pl.lit(GOAL)).otherwise(pl.col("question")).alias("signal"),
        (pl.col("item_id") + " " + pl.col("question")).alias("item"),
        pl.when(pl.col("scale") == "check").then(pl.col("value") / 10).otherwise(pl.col("value")).alias("number"),
    )
    judges = table.select("family", "rater").unique().sort("family", "rater")
    if judges.height < 2:
        raise InputError("ratings", "agreement on signals needs two judges", judges["rater"].to_list())
    cure = "keep one prompt and rater version (axisjudge.read_ratings(..., latest=True))"
    once(table, "item", "rater", rule="each judge may rate a signal of an interaction once", cure=cure)
    raters, families = tuple(judges["rater"]), tuple(judges["family"])
    parts = table.partition_by("signal", as_dict=True)
    order = sorted((str(key[0]) for key in parts), key=lambda name: (name == GOAL, name))
    several = [name for name in order if parts[name,]["rater"].n_unique() > 1]
    signals = tuple(_signal(name, parts[name,], ci_level) for name in several)
    by_one = tuple(name for name in order if name not in several)
    return AgreementOnSignals(raters, families, signals, made_up_raters(table), left_out, by_one)


def _signal(name: str, table: pl.DataFrame, ci_level: float) -> SignalAgreement:
    judges = table.select("family", "rater").unique().sort("family", "rater")
    raters, families = judges["rater"].to_list(), judges["family"].to_list()
    unit = "run" if table.select((pl.col("cluster_id") == pl.col("trajectory_id")).all()).item() else "task"
    items = table.select("item", "cluster_id").unique("item").sort("item")
    wide = items.join(table.pivot("rater", index="item", values="number"), on="item", how="left")
    numbers = wide.select(pl.col(raters).cast(pl.Float64).fill_null(math.nan)).to_numpy()
    clusters = wide["cluster_id"].rank("dense").to_numpy()
    pairs, across = [], []
    for first, second in itertools.combinations(range(len(raters)), 2):
        difference = numbers[:, second] - numbers[:, first]
        near, cross_family = _near(difference), families[first] != families[second]
        within = clustered_proportion(near, clusters, cluster_unit=unit, ci_level=ci_level)
        pairs.append(JudgePair((raters[first], raters[second]), cross_family, within, mean_of(difference)))
        across += [near] if cross_family else []
    across = across or [np.full(len(clusters), math.nan)]
    lost = dict(table.filter(pl.col("status") != "ok").group_by("rater").len().iter_rows())
    means = dict(table.group_by("rater").agg(pl.col("number").mean()).drop_nulls().sort("rater").iter_rows())
    return SignalAgreement(
        question=name,
        n_items=int((~np.isnan(numbers)).any(axis=1).sum()),
        n_common=int((~np.isnan(numbers)).all(axis=1).sum()),
        means=means,
        lost={rater: lost.get(rater, 0) for rater in raters},
        alpha=krippendorff_alpha(numbers, level="interval", clusters=clusters, cluster_unit=unit, ci_level=ci_level),
        within=clustered_proportion(
            np.concatenate(across), np.tile(clusters, len(across)), cluster_unit=unit, ci_level=ci_level
        ),
        pairs=tuple(pairs),
    )


def _near(difference: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where two judges' numbers agree within the tolerance, 0 where not, NaN where one is missing."""
    near = (np.abs(difference) <= WITHIN + 1e-9).astype(np.float64)  # .8 and .9 differ by a little more in floats
    near[np.isnan(difference)] = math.nan
    return near


@dataclass(frozen=True)
class JudgedResults(Result):
    """What judges make of runs.

    `together` are the results from all judges' numbers, combined signal by signal before anything is scored; `apart`
    those from each judge's own. `agreement` is None for a single judge.
    """

    _keys: ClassVar = {"judges": "apart", "agreement": "agreement"}

    together: tuple[AxisResult, ...]
    apart: Mapping[str, tuple[AxisResult, ...]]
    agreement: AgreementOnSignals | None

    def to_frame(self) -> pl.DataFrame:
        """One row a judge and run, then the combined result: the composite and the dimensions."""
        every = [*self.apart.items()] if len(self.apart) > 1 else []
        rows = [
            {
                "judge": rater,
                "run": result.trajectory_id,
                "axis_result": result.shown,
                **{dimension.name: dimension.score for dimension in result.dimensions},
                "bounds": f"{result.bounds[0]:g} to {result.bounds[1]:g}",
            }
            for rater, results in [*every, ("together", self.together)]
            for result in results
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def judged_results(trajectories: Sequence[Trajectory], ratings: pl.DataFrame, **how: Unpack[Scoring]) -> JudgedResults:
    """Results from the ratings of each judge and of all together; `how` is that of `axis_results`.

    A judge that graded no checks (rules, say) is given the grades of the others, or those in `how`.
    """
    apart = {}
    for rater in sorted(set(asked_of_axis(ratings)["rater"])):
        own = ratings.filter(pl.col("rater") == rater)
        graded = own.filter(pl.col("scale") == "check").height or how.get("grades") is not None
        given: Scoring = how if graded else {**how, "grades": ratings}
        apart[rater] = tuple(axis_results(trajectories, signals=own, **given))
    together = tuple(axis_results(trajectories, signals=ratings, **how))
    return JudgedResults(together, apart, agreement_on_signals(ratings) if len(apart) > 1 else None)
