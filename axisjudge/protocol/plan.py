"""The analysis plan: what will be computed on held-out data, said before anybody has seen it; and its rehearsal."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl
from pydantic import Field, ValidationError, field_validator

from axisjudge.checks import InputError, one_of
from axisjudge.protocol.ledger import ProtocolRecord, faults_of
from axisjudge.protocol.split import Split
from axisjudge.ratings.edge import BY_JUDGE
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.calibration import ConfidenceMap, fit_mid_rank
from axisjudge.stats.estimate import plural
from axisjudge.verdict import AXES, Axis
from axisjudge.workbench import home

#: What can be declared besides the coefficients of agreement.
OTHER_STATISTICS = ("soft_agreement", "case_weighted_kappa", "failure_rate")


def statistics() -> tuple[str, ...]:
    """What a plan can declare: every coefficient of unordered words, and the other statistics of verdicts."""
    return (*(name for name, coefficient in COEFFICIENTS.items() if not coefficient.ordered), *OTHER_STATISTICS)


class AnalysisPlan(ProtocolRecord):
    """What is declared before the held-out side is opened; all else on a report is exploratory.

    Parameters
    ----------
    axes : tuple of axis
        The primary axes. Holm's correction runs over them: one test of `statistic` an axis.
    statistic : str
        The primary statistic, one of `statistics()`.
    uncertain : {"category", "exclude"}
        Whether `uncertain` counts as a verdict of its own or is left out, as a verdict that was not given.
    cluster_unit : str
        What is taken as independent.
    margin : float
        The largest difference that still counts as none.
    weighting : {"none", "product", "minimum"}
        How two confidences weigh a case, in case-weighted statistics.
    maps : dict of rater to map
        How each judge's confidences are normalised: `ConfidenceMap.to_dict()`, fitted on the open side alone.
    n : int, optional
        Runs on the held-out side that the plan is made for.
    """

    axes: tuple[Axis, ...] = Field(min_length=1)
    statistic: str = "cohen_kappa"
    uncertain: Literal["category", "exclude"] = "exclude"
    cluster_unit: str = "task"
    margin: float = Field(default=0.05, gt=0, lt=1)
    weighting: Literal["none", "product", "minimum"] = "none"
    ci_level: float = Field(default=0.95, gt=0, lt=1)
    maps: dict[str, dict[str, Any]] = Field(default_factory=dict)
    n: int | None = Field(default=None, gt=0)

    @field_validator("axes")
    @classmethod
    def _in_one_order(cls, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(axis for axis in AXES if axis in axes)

    @field_validator("statistic")
    @classmethod
    def _that_is_computed(cls, statistic: str) -> str:
        if statistic not in statistics():
            raise ValueError(f"must be one of {', '.join(statistics())}")
        return statistic

    @field_validator("maps")
    @classmethod
    def _maps_that_can_be_used(cls, maps: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for rater, frozen in maps.items():
            try:
                ConfidenceMap.from_dict(frozen)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{rater} has no map that can be used ({error})") from error
        return maps

    def confidence_map(self, rater: str) -> ConfidenceMap:
        """The frozen map of a judge's confidences.

        Raises
        ------
        InputError
            None was frozen for this judge.
        """
        return ConfidenceMap.from_dict(self.maps[one_of("judge with a frozen map", rater, self.maps)])

    @classmethod
    def of(cls, fields: dict[str, Any], where: str = "plan") -> Self:
        """A plan from plain values; what cannot be used is one InputError that names the field."""
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise InputError(where, f"is not an analysis plan ({faults_of(error)})") from error

    @property
    def family(self) -> tuple[tuple[str, Axis], ...]:
        """The declared tests, (statistic, axis): Holm's correction runs over these and no others."""
        return tuple((self.statistic, axis) for axis in self.axes)

    def declares(self, statistic: str, axis: str | None = None) -> bool:
        """Whether a statistic (on an axis, or on any) was declared."""
        return statistic == self.statistic and (axis is None or axis in self.axes)

    @property
    def sentence(self) -> str:
        """What was declared, in words."""
        uncertain = {"exclude": "left out", "category": "as a verdict of their own"}[self.uncertain]
        weighted = "unweighted" if self.weighting == "none" else f"weighted by the {self.weighting} of confidences"
        return (
            f"Declared before opening: {self.statistic} on {', '.join(self.axes)}, uncertain verdicts {uncertain}, "
            f"{weighted}, differences up to {self.margin:g} counted as none, and {self.ci_level:.0%} intervals over "
            f"{plural(self.cluster_unit)}."
        )


def freeze_maps(ratings: pl.DataFrame, split: Split, *, raters: Sequence[str] | None = None) -> dict[str, Any]:
    """Mid-rank maps of each judge's confidences, fitted on the open side with all rubric versions pooled.

    Ranks taken within a version would erase the very shift between versions that should show.

    Parameters
    ----------
    ratings : polars.DataFrame
        Ratings of the study; those on a held-out side are left out, whatever they say.
    raters : sequence of str, optional
        By default all judges that give confidences.

    Raises
    ------
    InputError
        A judge gave no confidence on the open side, or confidences of two sources.
    """
    tasks = list(split.tasks.get(split.open_side, ()))
    given = ratings.filter(pl.col("cluster_id").is_in(tasks) & pl.col("confidence").is_not_null() & BY_JUDGE)
    names = list(raters) if raters is not None else given["rater"].unique().sort().to_list()
    maps: dict[str, Any] = {}
    for rater in names:
        own = given.filter(pl.col("rater") == rater)
        if own.is_empty():
            rule = f"gave no confidence on the {split.open_side} side, so no map can be fitted"
            raise InputError(f"judge {rater}", rule, cure=f"axisjudge judge PATHS --split {split.open_side}")
        if own["confidence_source"].n_unique() > 1:
            sources = sorted(map(str, own["confidence_source"].unique()))
            raise InputError(f"judge {rater}", "confidences of two sources share no map", sources)
        maps[rater] = fit_mid_rank(own["confidence"].to_numpy(), source=rater).to_dict()
    return maps


# A rehearsal: a workbench of its own, in which the whole loop can be walked without touching this one's record.

#: What makes up the record; a rehearsal begins without it.
_RECORD = shutil.ignore_patterns("split.json", "lock.json", "ledger.jsonl", "*.lock")


def rehearsal(folder: str | Path | None = None) -> Path:
    """Make a workbench with a copy of the rubrics, links to the data that are there, and no split, lock or ledger.

    Parameters
    ----------
    folder : path, optional
        Where to make it; by default a temporary folder that goes when this process ends.

    Returns
    -------
    Path
        For `axisjudge.workbench.use`, or for ``with axisjudge.workbench.at(...)``.
    """
    if folder is None:
        bench = Path(tempfile.mkdtemp(prefix="axisjudge-rehearsal-"))
        atexit.register(shutil.rmtree, bench, ignore_errors=True)
    else:
        bench = Path(folder)
    shutil.copytree(home() / "rubrics", bench / "rubrics", ignore=_RECORD, dirs_exist_ok=True)
    (bench / "notebooks").mkdir(exist_ok=True)
    (bench / "data" / "ratings").mkdir(parents=True, exist_ok=True)
    for source in sorted((home() / "data").iterdir()):
        if source.name != "ratings" and not (bench / "data" / source.name).exists():
            (bench / "data" / source.name).symlink_to(source, target_is_directory=source.is_dir())
    return bench
