"""Labels as commands name them: files of ratings, and ``reference:FILE`` for what a benchmark knows of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, TooLittle
from axisjudge.ratings import read_ratings

PREFIX = "reference:"


def read_reference(*paths: str | Path) -> pl.DataFrame:
    """The reference rater's faults of the runs in files of tau2-bench or tau-bench (`axisjudge.labels.reference`).

    Raises
    ------
    InputError
        No run bears what its task expects, or none has a fault that can be located.
    """
    from axisjudge.labels.reference import reference_ratings
    from axisjudge.readers import read_trajectories

    runs = read_trajectories(*paths).trajectories
    where = ", ".join(Path(path).name for path in paths)
    if not any(run.meta.get("expected") for run in runs):
        cure = "name results of tau2-bench or tau-bench, with their tasks"
        raise InputError(where, "holds no run whose task says what was expected", cure=cure)
    ratings = reference_ratings(runs)
    if ratings.is_empty():
        raise TooLittle(where, "holds no failed run with a fault that the reference can locate")
    return ratings


def read_label_files(labels: Sequence[str | Path]) -> pl.DataFrame:
    """Labels of one or several files as one ratings table; ``reference:FILE`` stands for the reference's faults.

    Raises
    ------
    InputError
        As `read_reference` and `axisjudge.read_ratings` do.
    """
    named = [str(each) for each in labels]
    located = [each.removeprefix(PREFIX) for each in named if each.startswith(PREFIX)]
    files = [each for each in named if not each.startswith(PREFIX)]
    tables = [read_ratings(*files, latest=True)] if files else []
    return pl.concat([*tables, *([read_reference(*located)] if located else [])])
