"""AXIS composites under assumed and under fitted curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.results import Result
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, GOAL
from axisjudge.scores.curves.curve import AXIS_CURVE, Floats
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.stats.link_lines import normal_density
from axisjudge.studies._shared.words import listed
from axisjudge.studies.curves import sentences as say


@dataclass(frozen=True)
class CompositeComparison(Result):
    """Composites of the same runs under two sets of curves.

    Parameters
    ----------
    runs : polars.DataFrame
        run, agent, task, assumed, fitted, low, high: the composite under the assumed curves, under the fitted ones,
        and the band that the fitted curves' uncertainty gives it.
    agents : polars.DataFrame
        The means of each agent's runs, likewise.
    kept : tuple of str
        Dimensions whose fit was refused: there the assumed curve stays.
    reversed_pairs : float
        Share of pairs of runs that stand in the other order.
    reversed_within : dict of str to int
        The same within each fitted dimension, counted: a monotone curve reverses none.
    """

    _keys = ("agents", "kept", "reversed_pairs", "reversed_within", "sentences")

    runs: pl.DataFrame
    agents: pl.DataFrame
    kept: tuple[str, ...]
    reversed_pairs: float
    reversed_within: Mapping[str, int]

    @property
    def sentences(self) -> list[str]:
        """What changes, in words."""
        moved = self.runs["fitted"].to_numpy() - self.runs["assumed"].to_numpy()
        order = [self.agents.sort(name, descending=True)["agent"].to_list() for name in ("assumed", "fitted")]
        return [
            say.MOVED.format(mean=np.abs(moved).mean(), least=moved.min(), most=moved.max(), share=self.reversed_pairs),
            *([self._within] if self.reversed_within else []),
            say.order(*order),
            *([say.KEPT.format(names=listed(self.kept))] if self.kept else []),
        ]

    @property
    def _within(self) -> str:
        pairs = sum(self.reversed_within.values())
        return say.WITHIN.format(pairs=pairs, names=listed(list(self.reversed_within)))


def compare_composites(scores: pl.DataFrame, fits: Mapping[str, CurveFit]) -> CompositeComparison:
    """Composites under the assumed and under the fitted curves, unrounded, with the joint band of the fits.

    The band takes together what leaving out each task changes in all curves, so curves fitted to the same tasks are
    not taken for independent.

    Parameters
    ----------
    scores : polars.DataFrame
        run, agent, task, dimension, raw, goal; the first row of a run and dimension counts.
    fits : mapping of dimension to CurveFit
    """
    names = [name for name in DEFAULT_WEIGHTS if name != GOAL]
    about = scores.select("run", "agent", "task", "goal").unique("run", keep="first", maintain_order=True)
    first = scores.unique(["run", "dimension"], keep="first", maintain_order=True)
    raw = {name: _of_dimension(first, about, name) for name in names}
    known = [name for name in names if name in fits and fits[name].curve is not None]
    goal = DEFAULT_WEIGHTS[GOAL] * about["goal"].to_numpy().astype(np.float64)
    before = goal + sum(DEFAULT_WEIGHTS[name] * AXIS_CURVE.score(raw[name]) for name in names)
    after = goal + sum(
        DEFAULT_WEIGHTS[name] * (fits[name].band(raw[name]).score if name in known else AXIS_CURVE.score(raw[name]))
        for name in names
    )
    changes = _joint_changes([(DEFAULT_WEIGHTS[name], fits[name], raw[name]) for name in known], about.height)
    width = max((fits[name].line.width(fits[name].median.ci_level) for name in known), default=math.nan)
    half = width * np.sqrt((changes**2).sum(axis=0))
    runs = about.select("run", "agent", "task").with_columns(
        assumed=pl.Series(before), fitted=pl.Series(after), low=pl.Series(after - half), high=pl.Series(after + half)
    )
    within = {name: _reversed(AXIS_CURVE.score(raw[name]), fits[name].band(raw[name]).score) for name in known}
    n_pairs = about.height * (about.height - 1) // 2
    return CompositeComparison(
        runs=runs,
        agents=_agent_means(runs, changes, width),
        kept=tuple(name for name in names if name not in known),
        reversed_pairs=_reversed(before, after) / n_pairs if n_pairs else math.nan,
        reversed_within=within,
    )


def _of_dimension(first: pl.DataFrame, about: pl.DataFrame, name: str) -> Floats:
    mine = first.filter(pl.col("dimension") == name).select("run", "raw")
    raw = about.join(mine, on="run", how="left", maintain_order="left")["raw"]
    if raw.null_count():
        raise TooLittle("scores", "every run needs a raw score in each dimension", name)
    return raw.to_numpy().astype(np.float64)


def _joint_changes(parts: list[tuple[float, CurveFit, Floats]], n_runs: int) -> Floats:
    """What leaving out each task changes in every run's composite, shape (n_tasks, n_runs)."""
    tasks = sorted({str(label) for _, fit, _ in parts for label in fit.line.cluster_labels})
    total = np.zeros((max(len(tasks), 1), n_runs))
    for weight, fit, raw in parts:
        z = np.log(np.where(raw > 0, raw, 1.0))
        rise = 100 * weight * normal_density(fit.line.intercept + fit.line.slope * z) * (raw > 0)
        rows = [tasks.index(str(label)) for label in fit.line.cluster_labels]
        total[rows] += fit.line.changes @ np.vstack([rise, rise * z])
    return total


def _agent_means(runs: pl.DataFrame, changes: Floats, width: float) -> pl.DataFrame:
    rows = []
    for agent in runs["agent"].unique().sort():
        mine = (runs["agent"] == agent).to_numpy()
        part = runs.filter(pl.Series(mine))
        fitted = float(np.mean(part["fitted"].to_numpy()))
        half = width * math.sqrt(float((changes[:, mine].mean(axis=1) ** 2).sum()))
        assumed = float(np.mean(part["assumed"].to_numpy()))
        row = {"agent": agent, "runs": int(mine.sum()), "assumed": assumed, "fitted": fitted}
        rows.append({**row, "low": fitted - half, "high": fitted + half})
    return pl.DataFrame(rows)


def _reversed(before: Floats, after: Floats) -> int:
    """Pairs that stand in the other order; ties are in no order, and neither are differences of rounding."""
    signs = [np.sign(np.round(np.subtract.outer(each, each), 9)) for each in (before, after)]
    return int(((signs[0] * signs[1]) < 0).sum() // 2)
