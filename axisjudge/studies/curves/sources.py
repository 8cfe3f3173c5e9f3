"""Where raw scores and people's scores come from: planted, a public label set, ratings, a table, AXIS Results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, TooLittle
from axisjudge.ratings.table import read_ratings
from axisjudge.scores.axis.result import GOAL, AxisResult
from axisjudge.scores.curves.curve import LogNormalCurve
from axisjudge.sources.named import NAMED, load_source
from axisjudge.studies._shared.words import many
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.composites import CompositeComparison, compare_composites
from axisjudge.studies.curves.fits import CurveReport, ScoreColumns
from axisjudge.studies.curves.planted_scores import DIMENSIONS, planted_scores
from axisjudge.studies.curves.sentences import ALL
from axisjudge.studies.curves.tables import people_as_ratings, read_table, scores_of_ratings
from axisjudge.verdict import Rating

PLANTED = "planted"


@dataclass(frozen=True)
class ScoreSource:
    """Raw scores beside people's scores.

    Parameters
    ----------
    scores : polars.DataFrame
        run, task, dimension, raw, human; agent, repeat and goal where known.
    about : str
        Where they come from, in a sentence.
    planted : mapping of dimension to LogNormalCurve
        The curves behind planted scores; empty for all others.
    given : polars.DataFrame, optional
        The ratings that the scores were made of.
    """

    scores: pl.DataFrame
    about: str
    planted: Mapping[str, LogNormalCurve] = field(default_factory=dict)
    given: pl.DataFrame | None = None
    columns: ScoreColumns = field(default_factory=lambda: ScoreColumns(dimension="dimension", run="run"))

    @property
    def ratings(self) -> pl.DataFrame:
        """What people said, as ratings: scope and banner of a report."""
        return people_as_ratings(self.scores, planted=bool(self.planted)) if self.given is None else self.given

    def composites(self, report: CurveReport) -> CompositeComparison | None:
        """Composites under assumed and fitted curves; None where the source has no AXIS dimensions and goal."""
        if {"agent", "goal"} <= set(self.scores.columns) and set(DIMENSIONS) <= set(self.scores["dimension"]):
            return compare_composites(self.scores, report.fits)
        return None


def load_scores(source: str, *, seed: int = 0) -> ScoreSource:
    """Scores by the name of their source.

    Parameters
    ----------
    source : str
        ``planted``; ``summeval`` (the raw score is the mean of six LLM judges); a ratings file with judges and people
        on one scale of numbers; or a table (CSV, JSON Lines, Parquet) with the columns of `ScoreSource.scores`.
    seed : int
        Of the planted scores.
    """
    if source == PLANTED:
        planted = planted_scores(seed=seed)
        curves = {name: each.curve for name, each in DIMENSIONS.items()}
        return ScoreSource(planted, _counts(planted, say.PLANTED), planted=curves)
    if source in NAMED or _is_ratings(source):
        ratings = load_source(source).ratings if source in NAMED else read_ratings(source, latest=True)
        scores = scores_of_ratings(ratings)
        return ScoreSource(scores, _counts(scores, say.OF_RATINGS), given=ratings)
    return source_of(read_table(source), say.FROM_FILE.format(name=Path(source).name))


def source_of(table: pl.DataFrame, origin: str = "") -> ScoreSource:
    """A table of scores as a source; without dimensions they are of one, and without runs each row is a run."""
    if missing := [name for name in ("raw", "human", "task") if name not in table.columns]:
        raise InputError("scores", f"columns are {', '.join(table.columns)}", cure=f"add {', '.join(missing)}")
    if table.drop_nulls(["raw", "human"]).is_empty():
        raise TooLittle("scores", "no row has a raw score and a score that people gave")
    if "dimension" not in table.columns:
        table = table.with_columns(dimension=pl.lit(ALL))
    if "run" not in table.columns:
        table = table.with_row_index("run")
    return ScoreSource(table, _counts(table, origin))


def axis_raw_scores(results: Iterable[AxisResult]) -> pl.DataFrame:
    """Raw scores of the three process dimensions of AXIS Results: run, task, agent, dimension, raw.

    A dimension that a run has no interactions in says nothing about it and is left out.
    """
    rows = [
        {"run": each.trajectory_id, "task": each.cluster_id, "agent": each.agent}
        | {"dimension": dimension.name, "raw": dimension.raw}
        for each in results
        for dimension in each.dimensions
        if dimension.name != GOAL and dimension.raw is not None and not dimension.no_data
    ]
    return pl.DataFrame(rows)


def _is_ratings(source: str) -> bool:
    """Whether a file holds ratings: a table has no field for who rated."""
    path = Path(source)
    if not path.is_file() or path.suffix == ".csv":
        return False
    fields = pl.read_parquet_schema(path) if path.suffix == ".parquet" else _first_line(path)
    return {"rater", "rater_kind"} <= set(fields) & set(Rating.model_fields)


def _first_line(path: Path) -> set[str]:
    import json

    with path.open(encoding="utf-8") as lines:
        try:
            return set(json.loads(next(lines, "{}")))
        except (json.JSONDecodeError, TypeError):
            return set()


def _counts(scores: pl.DataFrame, origin: str) -> str:
    counts = {f"{name}s": many(scores[name].n_unique(), name) for name in ("run", "task", "dimension")}
    return say.COUNTS.format(**counts, origin=origin)
