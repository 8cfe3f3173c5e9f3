"""What each judge did when the rubric changed: which verdicts flipped, with both reasons, and how confidence moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl

from axisjudge.results import Result, columns
from axisjudge.stats.comparisons.progress import Moved, adjusted, mean_of_repeats, moved
from axisjudge.studies._shared.arrays import Floats, mean_of
from axisjudge.studies.rubric_versions.versions import Versions
from axisjudge.verdict import VERDICTS


@dataclass(frozen=True)
class VersionVerdict:
    """A judge's verdict on a run under one version, as given in one repeat, with the mean confidence of all."""

    verdict: str
    confidence: float | None
    cited: tuple[int, ...]
    rationale: str | None


@dataclass(frozen=True)
class Flip(Result):
    """A run on which a judge's verdict changed between the versions, both side by side.

    `agreement_change` is above 0 where the flip brought judges together on this run.
    """

    _keys = columns(
        "item judge verdict_before=before.verdict confidence_before=before.confidence cited_before=before.cited",
        "rationale_before=before.rationale verdict_after=after.verdict confidence_after=after.confidence",
        "cited_after=after.cited rationale_after=after.rationale agreement_change",
    )

    item: str
    judge: str
    before: VersionVerdict
    after: VersionVerdict
    agreement_change: float


@dataclass(frozen=True)
class JudgeShift(Result):
    """One judge between the versions; `directions` counts its flips, ``correct → incorrect`` and so on.

    `turnover` is the share of differing verdicts between a repeat of one version and a repeat of the other, `noise` the
    same between two repeats of one version (NaN where there is one repeat): what exceeds it is the rubric's doing.
    `confidence` is None where the judge gave no confidences on runs where its verdict stayed. `matrix` counts runs by
    the verdict before (rows) and after (columns), both in the order of `VERDICTS`.
    """

    _keys = columns(
        "judge family n_items directions turnover noise n_stayed confidence_before confidence_after confidence"
    )

    judge: str
    family: str
    directions: Mapping[str, int]
    turnover: float
    noise: float
    n_stayed: int
    confidence_before: float
    confidence_after: float
    confidence: Moved | None
    matrix: tuple[tuple[int, ...], ...]

    @property
    def n_items(self) -> int:
        """Runs with a verdict under both versions."""
        return sum(map(sum, self.matrix))

    @property
    def n_flipped(self) -> int:
        """Runs on which the verdict changed."""
        return sum(self.directions.values())


def judge_shifts(pair: Versions, *, cluster_unit: str, seed: int) -> tuple[JudgeShift, ...]:
    """How each judge's verdicts and confidences changed."""
    stayed = pair.verdicts[0] == pair.verdicts[1]
    tested: dict[int, Moved] = {}
    for judge in range(len(pair.judges)):
        sure = np.where(stayed[:, judge, None], pair.confidences[:, :, judge], math.nan)
        if not np.isnan(sure).all(axis=(1, 2)).any():
            tested[judge] = moved(sure, pair.clusters, cluster_unit=cluster_unit, seed=seed)
    corrected = dict(zip(tested, adjusted(list(tested.values())), strict=True))
    return tuple(_shift(pair, judge, stayed[:, judge], corrected.get(judge)) for judge in range(len(pair.judges)))


def _shift(
    pair: Versions, judge: int, stayed: np.ndarray[Any, np.dtype[np.bool_]], confidence: Moved | None
) -> JudgeShift:
    given = pair.verdicts[:, :, judge]
    first, second = given[:, ~np.isnan(given).any(axis=0)].astype(int)
    matrix = np.zeros((len(VERDICTS), len(VERDICTS)), dtype=int)
    np.add.at(matrix, (first, second), 1)
    ways = {
        f"{VERDICTS[one]} → {VERDICTS[two]}": int(n) for (one, two), n in np.ndenumerate(matrix) if one != two and n
    }
    before, after = pair.codes[:, :, judge]
    return JudgeShift(
        judge=pair.judges[judge],
        family=pair.families[judge],
        directions=dict(sorted(ways.items())),
        turnover=_differing(list(product(before.T, after.T))),
        noise=_differing([*combinations(before.T, 2), *combinations(after.T, 2)]),
        n_stayed=int(stayed.sum()),
        confidence_before=mean_of(pair.confidences[0, stayed, judge]),
        confidence_after=mean_of(pair.confidences[1, stayed, judge]),
        confidence=confidence,
        matrix=tuple(map(tuple, matrix.tolist())),
    )


def flips_of(pair: Versions, rows: pl.DataFrame) -> tuple[Flip, ...]:
    """Every flip, those first that changed agreement most; then by run and judge. `rows` are the ratings behind it."""
    given = _judgements(rows)
    before, after = mean_of_repeats(pair.agreement)

    def judgement(version: int, item: int, judge: int) -> VersionVerdict:
        verdict = VERDICTS[int(pair.verdicts[version, item, judge])]
        return given[pair.names[version], pair.items[item], pair.judges[judge], verdict]

    flips = [
        Flip(
            item=pair.items[item],
            judge=pair.judges[judge],
            before=judgement(0, item, judge),
            after=judgement(1, item, judge),
            agreement_change=float(after[item] - before[item]),
        )
        for item, judge in np.argwhere(pair.flipped)
    ]
    return tuple(sorted(flips, key=lambda flip: (-abs(np.nan_to_num(flip.agreement_change)), flip.item, flip.judge)))


def _judgements(rows: pl.DataFrame) -> dict[tuple[str, str, str, str], VersionVerdict]:
    """The first judgement by version, run, judge and verdict, with the mean confidence of that verdict."""
    of = rows.filter(pl.col("verdict").is_not_null()).sort("repeat")
    of = of.group_by("rubric_version", "item_id", "rater", "verdict", maintain_order=True).agg(
        pl.col("confidence").mean(), pl.col("cited_step_indices", "rationale").first()
    )
    return {
        (version, item, judge, verdict): VersionVerdict(verdict, confidence, tuple(cited or ()), rationale)
        for version, item, judge, verdict, confidence, cited, rationale in of.iter_rows()
    }


def _differing(pairs: Sequence[tuple[Floats, Floats]]) -> float:
    """Share of differing verdicts over pairs of runs of the whole set; NaN without one."""
    differing = given = 0
    for first, second in pairs:
        both = ~np.isnan(first) & ~np.isnan(second)
        differing, given = differing + int((first[both] != second[both]).sum()), given + int(both.sum())
    return differing / given if given else math.nan
