"""Confidences as mid-ranks: by the map that a lock froze, or by one fitted here."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.protocol import frozen_maps
from axisjudge.ratings.edge import as_ratings
from axisjudge.stats.confidence.recalibration import ConfidenceMap, fit_mid_rank
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.pooled import Pooled
from axisjudge.studies._shared.words import listed

CALIBRATION = "calibration"


class NoRanks(StrEnum):
    """Why confidences of a panel cannot be ranked."""

    NONE = ""
    NO_CONFIDENCES = "fewer than two judges gave confidences"


def confidence_ranks(ratings: Given, panel: Pooled) -> tuple[Floats, str]:
    """Each judge's confidences as mid-ranks among its own, shape (items, judges), and what the ranks rest on.

    On held-out data a judge's map is the one that the lock froze. Where there is none it is fitted on the table's
    calibration split, all questions and rubric versions together; where the table has no such rows, on all of the
    judge's ratings.

    Raises
    ------
    InputError
        A judge has confidences of two sources (verbalized and token probability, say): these are never pooled.
    """
    given = as_ratings(ratings).filter(pl.col("rater").is_in(panel.judges), pl.col("confidence").is_not_null())
    frozen = frozen_maps(given)
    fitted, split = fitted_maps(given)
    ranks = np.full((len(panel.items), panel.n_judges), np.nan)
    refitted = []
    for number, judge in enumerate(panel.judges):
        if judge in frozen:
            ranks[:, number] = frozen[judge](panel.confidences[:, number], source=judge)
        elif judge in fitted:
            ranks[:, number] = fitted[judge](panel.confidences[:, number], source=judge)
            refitted.append(judge)
    lacking = "name no split" if given["split"].is_null().all() else "hold none of the calibration split"
    where = "fitted on the calibration split" if split else f"within these ratings, which {lacking}"
    if not frozen:
        return ranks, f"ranks {where}"
    others = f"; of {listed(refitted)}, which it has no map of, ranks {where}" if refitted else ""
    return ranks, f"ranks by the maps frozen in the lock{others}"


def fitted_maps(given: pl.DataFrame) -> tuple[dict[str, ConfidenceMap], bool]:
    """Each judge's map to mid-ranks, and whether it is fitted on the calibration split (else on all that is given).

    Raises
    ------
    InputError
        A judge has confidences of two sources.
    """
    sources = given.group_by("rater").agg(pl.col("confidence_source").unique()).sort("rater")
    for judge, kinds in sources.iter_rows():
        if len(kinds) > 1:
            cure = "filter the ratings to one confidence_source"
            raise InputError(f"confidences of {judge}", "must be of one source", sorted(map(str, kinds)), cure)
    fitting = given.filter(pl.col("split") == CALIBRATION)
    split = not fitting.is_empty()
    by_judge = (fitting if split else given).partition_by("rater", as_dict=True)
    maps = {judge: fit_mid_rank(mine["confidence"].to_numpy(), source=judge) for (judge,), mine in by_judge.items()}
    return maps, split
