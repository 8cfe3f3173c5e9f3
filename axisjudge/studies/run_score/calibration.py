"""Does the run score rank runs as people, or the end-task reward, do?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle
from axisjudge.results import Result
from axisjudge.scores.curves.fit import fit_criterion_curve
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.scores.run_score import COMPONENTS, ScorecardRules, without
from axisjudge.scores.run_score.score import DEFAULT
from axisjudge.stats.confidence.calibration import auroc
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_mean, clustered_proportion
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given, to_polars
from axisjudge.studies.run_score import sentences as say
from axisjudge.studies.run_score.sentences import Ranks

#: A reward from here on counts as success.
SUCCESS = 1.0
#: A score of 0 has no logarithm; for an S-curve it counts as 1.
FLOOR = 0.01


@dataclass(frozen=True, eq=False)
class ScoreCalibration(Result):
    """How well scores go with labels.

    `dropped` is the component that was left out because it was made of the label itself. `auc` is the chance that a
    good run scores higher than another, `components` the same for each component alone, as far as it could be computed.
    `fit` is the criterion-referenced S-curve on score / 100, or says why there is none. `loss` has the mean squared
    error of three forecasts of "good" on specs that were not used to fit them: ``base_rate``, ``linear`` (score / 100
    as it stands) and ``s_curve``; `gain` is linear minus S-curve, with its interval over specs. `points` are scores and
    labels, for the figure.
    """

    _keys = ("labels", "dropped", "auc", "components", "share_good", "fit", "loss", "gain")

    labels: str
    dropped: str
    auc: Estimate
    components: Mapping[str, Estimate]
    share_good: float
    fit: CurveFit
    loss: Mapping[str, float]
    gain: Estimate | None
    points: pl.DataFrame

    @property
    def aucs(self) -> dict[str, Estimate]:
        """The AUC of the score, and that of each component."""
        return {"score": self.auc, **self.components}

    @property
    def ranks(self) -> Ranks:
        """What the interval of the AUC allows to be said."""
        return Ranks.ALIKE if self.auc.ci_low > 0.5 else Ranks.AGAINST if self.auc.ci_high < 0.5 else Ranks.UNTOLD

    @property
    def table(self) -> pl.DataFrame:
        """One row for the score and one for each component."""
        rows = [
            {"score": name, "auc": each.estimate, "low": each.ci_low, "high": each.ci_high, "note": each.reason}
            for name, each in self.aucs.items()
        ]
        return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})

    def bands(self, n_bands: int = 5) -> list[tuple[float, Estimate]]:
        """The share of good runs in bands of the score with about as many runs each, by their mean score."""
        ordered = self.points.sort("score", "spec", "good")
        band = (ordered["score"].rank("average") - 0.5).to_numpy() * n_bands // ordered.height
        parts = [ordered.filter(pl.Series(band == number)) for number in np.unique(band)]
        return [
            (
                float(np.mean(part["score"].to_numpy())),
                clustered_proportion(part["good"].to_numpy(), part["spec"].to_numpy(), cluster_unit="spec"),
            )
            for part in parts
        ]

    def forecast(self, score: Floats) -> Floats:
        """What the S-curve says of runs with these scores; NaN where there is no curve."""
        return _forecast(self.fit, score)

    @property
    def answer(self) -> str:
        """Whether the score ranks runs as the labels do."""
        return say.ranking(self.ranks, self.labels, self.auc)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What may be said of the score, of its components, and of it as a forecast."""
        against = [name for name, each in self.components.items() if each.ci_high < 0.5]
        words = [say.against_labels(self.labels, self.dropped, self.auc, self.share_good)]
        if self.fit.curve is None:
            words.append(say.NO_CURVE.format(reason=self.fit.refusals[0].reason))
        elif self.loss:
            words.append(say.forecast(self.fit.median, self.loss))
        if self.gain is not None:
            words.append(say.gain(self.gain))
        if against:
            words.append(say.wrong_way([name.replace("_", " ") for name in against]))
        return tuple(words)


def reward_labels(runs: pl.DataFrame) -> pl.DataFrame:
    """End-task rewards as labels: good from 1 on. Columns ``run_id`` and ``good``."""
    known = runs.filter(pl.col("reward").is_not_null() & pl.col("reward").is_finite())
    return known.select("run_id", (pl.col("reward") >= SUCCESS).cast(pl.Float64).alias("good"))


def rated_labels(labels: Given) -> pl.DataFrame:
    """Labels from a ratings table on the scale ``unit``: the mean of a run's raters, good from one half on."""
    ratings = to_polars(labels, ("trajectory_id", "scale", "status", "value"), where="labels")
    given = ratings.filter((pl.col("status") == "ok") & (pl.col("scale") == "unit") & pl.col("value").is_not_null())
    if given.is_empty():
        scales = ratings["scale"].unique().to_list()
        error = TooLittle if "unit" in scales else InputError
        raise error("labels", "must be ratings on the scale unit (0 to 1)", scales)
    mean = given.group_by(pl.col("trajectory_id").alias("run_id"), maintain_order=True).agg(pl.col("value").mean())
    return mean.select("run_id", (pl.col("value") >= 0.5).cast(pl.Float64).alias("good"))


def calibrate_score(
    scored: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    name: str,
    dropped: str = "",
    rules: ScorecardRules = DEFAULT,
    ci_level: float = 0.95,
) -> ScoreCalibration:
    """Compare scores with labels, clustered by spec.

    `scored` is what `score_runs` gave; `labels` have ``run_id`` and ``good`` (see `rated_labels`, `reward_labels`) and
    are called `name` in sentences. `dropped` is a component to leave out: ``completion`` where the outcome was read off
    these very labels.

    Raises
    ------
    InputError
        No scored run has a label.
    """
    table = scored.filter(pl.col("score").is_not_null()).join(labels, on="run_id", how="inner")
    if table.is_empty():
        raise TooLittle("labels", "no scored run has one", cure="run_id of labels and of runs must be the same")
    good = table["good"].to_numpy()
    score = without(table, dropped, rules=rules) if dropped else table["score"].cast(pl.Float64).to_numpy()
    specs = np.asarray(table.select(pl.coalesce("spec_id", "run_id")).to_series().to_list())

    def area(values: Floats, why: pl.Series | None = None) -> Estimate:
        known = np.ones(len(good), bool) if why is None else why.is_null().to_numpy()
        return auroc(
            np.where(known, values / 100, np.nan), good, clusters=specs, cluster_unit="spec", ci_level=ci_level
        )

    kept = [name for name in COMPONENTS if name != dropped and table[f"{name}_reason"].null_count()]
    fit = _fit(score, good, specs, ci_level)
    loss, gain = _held_out(score, good, specs, ci_level) if fit.curve else ({}, None)
    return ScoreCalibration(
        labels=name,
        dropped=dropped,
        auc=area(score),
        components={part: area(table[part].cast(pl.Float64).to_numpy(), table[f"{part}_reason"]) for part in kept},
        share_good=float(good.mean()),
        fit=fit,
        loss=loss,
        gain=gain,
        points=pl.DataFrame({"score": score, "good": good, "spec": specs}),
    )


def _fit(score: Floats, good: Floats, specs: NDArray[Any], ci_level: float) -> CurveFit:
    """P(good) as an S-curve of score / 100: half of the runs are good at its median."""
    return fit_criterion_curve(score / 100, 100 * good, specs, floor=FLOOR, cluster_unit="spec", ci_level=ci_level)


def _forecast(fit: CurveFit, score: Floats) -> Floats:
    nothing = np.full(len(score), np.nan)
    return nothing if fit.curve is None else fit.curve.apply(np.maximum(score / 100, FLOOR))


def _held_out(
    score: Floats, good: Floats, specs: NDArray[Any], ci_level: float
) -> tuple[dict[str, float], Estimate | None]:
    """Squared errors of the three forecasts, each spec forecast from the others, and the gain of the S-curve."""
    errors = {
        "base_rate": np.empty_like(good),
        "linear": (score / 100 - good) ** 2,
        "s_curve": np.full_like(good, np.nan),
    }
    for spec in np.unique(specs):
        here = specs == spec
        if here.all():
            return {}, None
        errors["base_rate"][here] = (good[~here].mean() - good[here]) ** 2
        fit = _fit(score[~here], good[~here], specs[~here], ci_level)
        errors["s_curve"][here] = (_forecast(fit, score[here]) - good[here]) ** 2
    known = ~np.isnan(errors["s_curve"])
    loss = {name: float(values[known].mean()) for name, values in errors.items()} if known.any() else {}
    gain = errors["linear"] - errors["s_curve"]
    return loss, clustered_mean(gain, specs, cluster_unit="spec", ci_level=ci_level)
