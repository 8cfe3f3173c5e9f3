"""Where raw scores and people's scores come from: planted, a public label set, ratings, a table, AXIS Results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.imports.cells import decimal_points
from axisjudge.imports.recognise import texts
from axisjudge.imports.sheets import read_sheet
from axisjudge.labels.reading import first_line_of, json_if_any
from axisjudge.ratings.edge import BY_JUDGE
from axisjudge.ratings.scales import ends_of
from axisjudge.ratings.table import ratings_frame, read_ratings
from axisjudge.scores.axis.result import GOAL, AxisResult
from axisjudge.scores.curves.curve import Floats, LogNormalCurve
from axisjudge.sources import NAMED, load_source
from axisjudge.studies._shared.frames import Given, Kind, Table, columns_of, kind_of, native, to_polars
from axisjudge.studies._shared.words import many
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.sentences import ALL
from axisjudge.verdict import Rating

PLANTED = "planted"


@dataclass(frozen=True)
class ScoreColumns:
    """Which columns of a table hold what; `run`, `dimension` and `human` may be absent."""

    raw: str = "raw"
    human: str | None = "human"
    task: str | None = "task"
    dimension: str | None = None
    run: str | None = None


@dataclass(frozen=True, eq=False)
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
    kind: Kind = "polars"
    columns: ScoreColumns = field(default_factory=lambda: ScoreColumns(dimension="dimension", run="run"))

    @property
    def table(self) -> Table:
        """The scores as the caller's kind of table."""
        return native(self.scores, self.kind)

    @property
    def ratings(self) -> pl.DataFrame:
        """What people said, as ratings: scope and banner of a report."""
        return people_as_ratings(self.scores, planted=bool(self.planted)) if self.given is None else self.given


def load_scores(source: str, *, seed: int = 0, kind: Kind = "polars") -> ScoreSource:
    """Scores by the name of their source.

    Parameters
    ----------
    source : str
        ``planted``; ``summeval`` (the raw score is the mean of six LLM judges); a ratings file with judges and people
        on one scale of numbers; or a table (CSV, JSON Lines, Parquet) with the columns of `ScoreSource.scores`.
    seed : int
        Of the planted scores.
    kind : str
        Which package's tables the parts made of them have.
    """
    if source == PLANTED:
        planted = planted_scores(seed=seed)
        curves = {name: each.curve for name, each in DIMENSIONS.items()}
        return ScoreSource(planted, _counts(planted, say.PLANTED), planted=curves, kind=kind)
    if source in NAMED or _is_ratings(source):
        ratings = load_source(source).ratings if source in NAMED else read_ratings(source, latest=True)
        scores = scores_of_ratings(ratings)
        return ScoreSource(scores, _counts(scores, say.OF_RATINGS), given=ratings, kind=kind)
    return replace(source_of(read_table(source), say.FROM_FILE.format(name=Path(source).name)), kind=kind)


def source_of(given: Given, origin: str = "") -> ScoreSource:
    """A table of scores as a source; without dimensions they are of one, and without runs each row is a run."""
    table = to_polars(given, columns_of(given), where="scores")
    if missing := [name for name in ("raw", "human", "task") if name not in table.columns]:
        raise InputError("scores", f"columns are {', '.join(table.columns)}", cure=f"add {', '.join(missing)}")
    if table.drop_nulls(["raw", "human"]).is_empty():
        raise TooLittle("scores", "no row has a raw score and a score that people gave")
    if "dimension" not in table.columns:
        table = table.with_columns(dimension=pl.lit(ALL))
    if "run" not in table.columns:
        table = table.with_row_index("run")
    return ScoreSource(table, _counts(table, origin), kind=kind_of(given))


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
    try:
        head = pl.read_parquet_schema(path) if path.suffix == ".parquet" else json_if_any(first_line_of(path))
    except pl.exceptions.PolarsError:
        return False
    return isinstance(head, Mapping) and {"rater", "rater_kind"} <= head.keys()


def _counts(scores: pl.DataFrame, origin: str) -> str:
    counts = {f"{name}s": many(scores[name].n_unique(), name) for name in ("run", "task", "dimension")}
    return say.COUNTS.format(**counts, origin=origin)


_FORMATS: dict[str, tuple[Callable[..., pl.DataFrame], Callable[[pl.DataFrame, Path], None]]] = {
    ".csv": (lambda file: pl.DataFrame(texts(read_sheet(file).columns)), pl.DataFrame.write_csv),
    # a column is what all of its cells are, not the first hundred
    **dict.fromkeys(
        (".jsonl", ".ndjson"), (partial(pl.read_ndjson, infer_schema_length=None), pl.DataFrame.write_ndjson)
    ),
    ".parquet": (pl.read_parquet, pl.DataFrame.write_parquet),
}


def read_table(path: str | Path, names: Iterable[str | None] = ("run", "task", "dimension", "agent")) -> pl.DataFrame:
    """A table from CSV, JSON Lines or Parquet, told apart by the file's name; `names` are columns of no numbers.

    CSV is read as every command reads it, whatever stands between its cells; a number may have a comma for its point.

    Raises
    ------
    InputError
        There is no such file, or it is none of the three.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(str(path), "no such table")
    read, _ = _FORMATS[_ending(file)]
    try:
        table = read(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(str(path), f"cannot be read as {file.suffix[1:]} ({reason})") from None
    if file.suffix.lower() != ".csv":
        return table
    return table.with_columns(
        _numbers(table[name]) for name in table.columns if name not in {*names}
    )  # 01 and 1 are two


def _numbers(cells: pl.Series) -> pl.Series:
    """Cells as numbers where all are such."""
    for made, kind in product((cells, decimal_points(cells)), (pl.Int64, pl.Float64)):
        if (numbers := made.cast(kind, strict=False)).null_count() == cells.null_count():
            return numbers
    return cells


def write_table(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, JSON Lines or Parquet, by the file's name."""
    file = Path(path)
    _, write = _FORMATS[_ending(file)]
    write(table, file)


def _ending(file: Path) -> str:
    return one_of(str(file), file.suffix.lower(), _FORMATS)


def scores_of_ratings(ratings: pl.DataFrame) -> pl.DataFrame:
    """Mean rating of the judges (raw, 0-1) and of people (human, 0-100) for every item and question.

    Parameters
    ----------
    ratings : polars.DataFrame
        A ratings table on an ordinal scale of numbers (``ordinal:1-5``) or the unit interval.

    Returns
    -------
    polars.DataFrame
        run, task, dimension, raw, human; one row an item that both sides rated.

    Raises
    ------
    InputError
        No item was rated by both, or the scale has no numbers.
    """
    graded = ratings.filter(pl.col("value").is_not_null() & (pl.col("status") == "ok"))
    scales = graded["scale"].unique().to_list()
    ends = ends_of(scales[0]) if len(scales) == 1 and scales[0].partition(":")[0] in ("unit", "ordinal") else None
    if ends is None:
        error = InputError if scales else TooLittle
        raise error("ratings", "need one scale of numbers, unit or ordinal", sorted(scales) or "no values")
    low, high = ends
    keys = [pl.col("item_id").alias("run"), pl.col("cluster_id").alias("task"), pl.col("question").alias("dimension")]
    share = (pl.col("value") - low) / (high - low)
    person = pl.col("rater_kind") == "human"
    rows = graded.group_by(keys).agg(raw=share.filter(BY_JUDGE).mean(), human=100 * share.filter(person).mean())
    scores = rows.drop_nulls().sort("dimension", "run")
    if scores.is_empty():
        raise TooLittle("ratings", "no item was rated by judges and by people", cure="give both in one table")
    return scores


def people_as_ratings(scores: pl.DataFrame, *, planted: bool = False) -> pl.DataFrame:
    """People's scores of a table (run, task, dimension, human; agent if known) as ratings: the scope of a report."""
    return ratings_frame(
        Rating(
            trajectory_id=str(row["run"]),
            task_id=str(row["task"]),
            cluster_id=str(row["task"]),
            agent=row.get("agent"),
            question=str(row["dimension"]),
            scale="unit",
            rater="planted people" if planted else "people",
            rater_kind="planted" if planted else "human",
            family="planted" if planted else "human",
            repeat=row.get("repeat") or 0,
            value=row["human"] / 100,
        )
        for row in scores.filter(pl.col("human").is_not_null()).to_dicts()
    )


_SHARED = 0.3  # the part of a task in the variance of raw scores and of people's opinions
_OPINION = 0.5  # how far people differ from the curve, on the probit scale


class Planted(NamedTuple):
    """A dimension: where its raw scores lie, and the curve by which people see them."""

    centre: float
    spread: float
    curve: LogNormalCurve


#: In the third dimension nearly all runs do well, as in real AXIS transcripts: its median lies outside the data.
DIMENSIONS = {
    "environment": Planted(0.62, 0.24, LogNormalCurve(0.62, 0.22)),
    "service": Planted(0.45, 0.40, LogNormalCurve(0.35, 0.50)),
    "agent": Planted(0.88, 0.07, LogNormalCurve(0.50, 0.40)),
}
#: Invented agents: their advantage in each dimension, in spreads, and their mean goal score.
AGENTS = {
    "elm-small": ((0.5, -0.5, 0.0), 62),
    "fir-1": ((-0.5, 0.6, 0.2), 62),
    "hazel-xl": ((0.4, 0.3, 0.3), 74),
    "larch-2": ((-0.3, -0.3, -0.4), 55),
}


def planted_scores(n_tasks: int = 40, *, judgings: int = 2, judge_noise: float = 0.2, seed: int = 0) -> pl.DataFrame:
    """Runs of four invented agents on `n_tasks` tasks, each judged several times, with people's scores.

    `judge_noise` is the standard deviation of ln raw between judgings of a run, in spreads of the dimension.
    People's scores have the planted curve as their mean, given the raw score without the judge's noise.

    Returns
    -------
    polars.DataFrame
        run, task, agent, dimension, repeat, raw, human, goal; one row a run, dimension and judging.
    """
    rng, names = np.random.default_rng(seed), list(AGENTS)
    task, agent = np.repeat(np.arange(n_tasks), len(AGENTS)), np.tile(np.arange(len(AGENTS)), n_tasks)
    goal = np.clip(np.round(np.array([AGENTS[name][1] for name in names])[agent] + 15 * _shared(rng, task)), 0, 100)
    runs = pl.DataFrame({"task": [f"task-{t:02}" for t in task], "agent": [names[a] for a in agent], "goal": goal})
    runs = runs.with_columns(run=pl.col("agent") + "/" + pl.col("task").str.strip_prefix("task-"))
    parts = []
    for position, (name, planted) in enumerate(DIMENSIONS.items()):
        lead = np.array([AGENTS[each][0][position] for each in names])[agent]
        z = np.minimum(math.log(planted.centre) + planted.spread * (lead + _shared(rng, task)), 0.0)
        eta = (z - math.log(planted.curve.median)) / planted.curve.sigma
        thought = np.exp(eta * math.sqrt(1 + _OPINION**2) + _OPINION * _shared(rng, task))
        opinion = np.round(LogNormalCurve(1.0, 1.0).score(thought))
        for repeat in range(judgings):
            judged = np.exp(np.minimum(z + judge_noise * planted.spread * rng.normal(size=z.size), 0.0))
            scores = {"raw": pl.Series(np.round(judged, 4)), "human": pl.Series(opinion)}
            parts.append(runs.with_columns(dimension=pl.lit(name), repeat=pl.lit(repeat, pl.Int64), **scores))
    return pl.concat(parts).select("run", "task", "agent", "dimension", "repeat", "raw", "human", "goal")


def _shared(rng: np.random.Generator, task: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Standard normal numbers of which a part is common to the runs of a task."""
    common = rng.normal(size=int(task.max()) + 1)[task]
    return np.asarray(math.sqrt(_SHARED) * common + math.sqrt(1 - _SHARED) * rng.normal(size=task.size))
