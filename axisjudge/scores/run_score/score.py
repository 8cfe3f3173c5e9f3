"""From runs to scores: one run or a million, the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.scores.run_score import components as formula
from axisjudge.scores.run_score import reasons
from axisjudge.scores.run_score.baseline import Floats, checked_frozen, rolling_p50
from axisjudge.scores.run_score.rules import COMPONENTS, FORMULA_VERSION, NEUTRAL, TIERS, UNRANKED, ScorecardRules
from axisjudge.scores.run_score.runs import runs_table

#: ``rolling``, or the seconds that are typical of each workspace (see `frozen_baseline`).
Baseline = Literal["rolling"] | Mapping[str, float]

DEFAULT = ScorecardRules()


def score_runs(
    runs: pl.DataFrame, *, rules: ScorecardRules = DEFAULT, baseline: Baseline = "rolling", strict: bool = False
) -> pl.DataFrame:
    """Score every run of a table.

    score = 0.4 completion + 0.3 error_rate + 0.2 latency + 0.1 resource_efficiency, halves rounded up.

    Parameters
    ----------
    runs : polars.DataFrame
        Columns of `RUN_SCHEMA`; only ``run_id`` must be there.
    rules : ScorecardRules
    baseline : "rolling" or mapping of workspace to seconds
        The rolling p50 of the runs in this very table, or frozen values.
    strict : bool
        Raise where a component cannot be computed, instead of taking 50 and recording the reason.

    Returns
    -------
    polars.DataFrame
        One row a run, in the order given: ids, ``ended_at``, ``score``, ``tier``, ``score_low`` and ``score_high`` (the
        components that could not be computed at 0 and at 100), the four components, a ``<component>_reason`` for each
        (null where it was computed), ``baseline_seconds`` (the p50), ``baseline_runs`` (how many runs it is the median
        of), ``formula_version``. A run whose ``scored`` is false, or of which nothing was given, has tier Unranked and
        no score.

    Raises
    ------
    InputError
        The table is not one of runs; or, when strict, a component cannot be computed.
    """
    table = runs_table(runs)
    rolling = isinstance(baseline, str)
    table = table.with_columns(_rolling(table, rules) if isinstance(baseline, str) else _frozen(table, baseline))
    why = table.select(
        reasons.of_completion().alias("completion"),
        reasons.of_error_rate().alias("error_rate"),
        reasons.of_latency(rules.min_samples, rolling=rolling).alias("latency"),
        reasons.of_resource_efficiency().alias("resource_efficiency"),
    )
    computed = why.select(pl.all().is_null()).to_numpy()
    values = np.where(computed, _values(table, rules), np.nan)
    is_scored = table["scored"].to_numpy()
    has_score = is_scored & ~table.select(reasons.is_empty()).to_series().to_numpy()
    if strict:
        _refuse_neutral(table, why, is_scored)
    score, low, high = (
        formula.weighted_score(formula.with_neutral(values, stand_in), rules.whole_weights)
        for stand_in in (NEUTRAL, 0, 100)
    )
    tier = np.where(has_score, np.searchsorted(list(TIERS.values()), score, side="right") - 1, len(TIERS))
    whole = formula.with_neutral(values)
    scored = table.select(
        *("run_id", "agent_id", "workspace_id", "spec_id", "ended_at"),
        pl.Series("score", score),
        pl.Series("tier", np.array([*TIERS, UNRANKED])[tier]),
        pl.Series("score_low", low),
        pl.Series("score_high", high),
        *(pl.Series(name, whole[:, column]) for column, name in enumerate(COMPONENTS)),
        *(why[name].alias(f"{name}_reason") for name in COMPONENTS),
        pl.col("p50").alias("baseline_seconds"),
        pl.col("samples").alias("baseline_runs"),
        pl.lit(FORMULA_VERSION).alias("formula_version"),
    )
    if has_score.all():
        return scored
    return scored.with_columns(
        pl.when(pl.Series(has_score)).then(pl.col("score", "score_low", "score_high", *COMPONENTS)),
        pl.when(pl.Series(is_scored)).then(pl.col([f"{name}_reason" for name in COMPONENTS])),
    )


def frozen_baseline(runs: pl.DataFrame, *, rules: ScorecardRules = DEFAULT) -> dict[str, float]:
    """The typical seconds of each workspace, frozen: the p50 of its first completed runs, as many as the window holds.

    A rolling baseline moves with the agents, so a trend of scores over months says little; against a frozen one it
    says how they changed. A workspace with fewer than `min_samples` completed runs has none. Of runs that end at one
    instant the longer ones are taken, as in the rolling baseline.
    """
    order = ("workspace_id", "ended_at", "wall_seconds")
    timed = runs_table(runs).filter(reasons.enters_baselines()).sort(*order, descending=[False, False, True])
    first = timed.group_by("workspace_id", maintain_order=True).head(rules.window)
    groups = first.group_by("workspace_id", maintain_order=True).agg("wall_seconds").iter_rows()
    return {str(name): float(np.median(wall)) for name, wall in groups if len(wall) >= rules.min_samples}


def without(scored: pl.DataFrame, dropped: str, *, rules: ScorecardRules = DEFAULT) -> Floats:
    """The weighted mean of the other components, not rounded: NaN for a run without a score.

    What a calibration takes when a component was itself made of the label.
    """
    kept = [name for name in COMPONENTS if name != dropped]
    if len(kept) == len(COMPONENTS):
        raise InputError("dropped", f"must be one of {', '.join(COMPONENTS)}", dropped)
    weights = np.array([rules.weights[name] for name in kept])
    values = scored.select(pl.col(kept).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return np.asarray(values @ weights / weights.sum())


def _values(table: pl.DataFrame, rules: ScorecardRules) -> Floats:
    """The four components of every run, whatever its fields hold."""

    numbers = table.select(pl.col(pl.Float64).fill_null(np.nan))
    use = (numbers[name].to_numpy() for name in reasons.FIELDS["resource_efficiency"])
    executed, passed, wall, p50 = (
        numbers[name].to_numpy() for name in ("stages_executed", "stages_passed_first", "wall_seconds", "p50")
    )
    return np.column_stack(
        [
            formula.completion(table["outcome"]),
            formula.error_rate(passed, executed),
            formula.latency(wall, p50, full_at=rules.full_at, zero_at=rules.zero_at),
            formula.resource_efficiency(*use),
        ]
    )


def _rolling(table: pl.DataFrame, rules: ScorecardRules) -> list[pl.Series]:
    timed = table.select(
        (pl.col("workspace_id").rank("dense").cast(pl.Int64) - 1).fill_null(-1).alias("workspace"),
        pl.when(reasons.of_end_time().is_null()).then(pl.col("ended_at").to_physical()).fill_null(-1).alias("end"),
        pl.col("wall_seconds").fill_null(np.nan).alias("wall"),
        reasons.enters_baselines().alias("counts"),
    )
    columns = (timed[name].to_numpy() for name in ("workspace", "end", "wall", "counts"))
    p50, samples = rolling_p50(*columns, window=rules.window)
    return [pl.Series("p50", p50, nan_to_null=True), pl.Series("samples", samples)]


def _frozen(table: pl.DataFrame, baseline: Mapping[str, float]) -> list[pl.Series]:
    typical = checked_frozen(baseline)
    p50 = table["workspace_id"].replace_strict(dict(typical), default=None, return_dtype=pl.Float64)
    return [p50.alias("p50"), pl.Series("samples", np.zeros(table.height, dtype=np.int64))]


def _refuse_neutral(table: pl.DataFrame, why: pl.DataFrame, is_scored: np.ndarray) -> None:
    for name in COMPONENTS:
        neutral = why[name].is_not_null().to_numpy() & is_scored
        if neutral.any():
            row = int(neutral.argmax())
            where = f"run {table['run_id'][row]}, {name}"
            raise InputError(where, f"cannot be computed: {why[name][row]}", cure="leave strict out to score it 50")
