"""Two versions of one rubric on the same runs: their ratings as arrays, agreement under each, and what flipped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle
from axisjudge.ratings.edge import BY_JUDGE, EMPTY_RUN, VERDICT_ON_RUN, as_ratings, once
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import coefficient_names
from axisjudge.stats.agreement.soft import SoftAgreement, beliefs, soft_agreement, split_change
from axisjudge.stats.betting import FEWEST_NULL
from axisjudge.stats.comparisons.progress import Moved, adjusted, mean_of_repeats, moved
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Floats, Given, cube, mean_of, words_of
from axisjudge.studies._shared.ranking import fitted_maps
from axisjudge.verdict import VERDICTS

#: The side of a split on which rubrics are tuned, and the sides on which they are not, unless a split says otherwise.
CALIBRATION, HELD_OUT = "calibration", ("evaluation",)


class RankedOver(StrEnum):
    """The ratings among which confidences are ranked."""

    CALIBRATION = "the calibration split"
    NO_SPLIT = "these ratings, which name no split"


@dataclass(frozen=True, eq=False)
class Versions:
    """Ratings of one axis under two rubric versions, by the judges and on the runs that both have.

    `codes` holds positions in `VERDICTS`, `confidences` and `ranks` (mid-ranks among the judge's own, see `_ranks`)
    have the same shape: versions (before, after) x items x judges x repeats, NaN where nothing came. `clusters` are
    numbers from 0. `aside` names the judges that read no rubric, `left_out` counts what does not enter and, as `lost`,
    what counts neither way;
    `side` is the side of the split that all ratings are of, if it is one. `occasions` numbers
    the run of each version's repeats, -1 without one, where models were asked both versions in no run together.
    """

    axis: str
    before: str
    after: str
    judges: tuple[str, ...]
    families: tuple[str, ...]
    items: tuple[str, ...]
    clusters: NDArray[np.intp]
    codes: Floats
    confidences: Floats
    ranks: Floats
    ranked_over: RankedOver
    same_text: bool
    aside: tuple[str, ...]
    left_out: Mapping[str, int]
    side: str | None
    occasions: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def apart(self) -> bool:
        """Whether the versions were asked at different times and too few of one version show what a time changes."""
        return self.occasions is not None and max(len({*each} - {-1}) for each in self.occasions) < FEWEST_NULL

    @property
    def n_repeats(self) -> tuple[int, int]:
        """How often each version was asked."""
        first, second = (~np.isnan(self.codes).all(axis=(1, 2))).sum(axis=1).tolist()
        return first, second

    @cached_property
    def verdicts(self) -> Floats:
        """Each judge's commonest verdict over the repeats: versions x items x judges."""
        return commonest(self.codes)

    @property
    def flipped(self) -> NDArray[np.bool_]:
        """Where a judge's commonest verdict is another one: items x judges."""
        before, after = self.verdicts
        return np.asarray(~np.isnan(before) & ~np.isnan(after) & (before != after))

    @cached_property
    def beliefs(self) -> Floats:
        """Each judge's mean belief that the run is correct, on its own scale: versions x items x judges."""
        return mean_of_repeats(beliefs(words_of(self.codes, VERDICTS), self.confidences))

    @property
    def agreement(self) -> Floats:
        """Share of pairs of judges with one verdict: versions x items x repeats, NaN without a pair of verdicts."""
        one, other = np.array(list(combinations(range(len(self.judges)), 2))).T
        first, second = self.codes[:, :, one], self.codes[:, :, other]
        both = ~(np.isnan(first) | np.isnan(second))
        n_pairs = both.sum(axis=2)
        return np.where(n_pairs > 0, (first == second).sum(axis=2) / np.maximum(n_pairs, 1), np.nan)

    def stacked(self, of: Floats, version: int) -> tuple[Floats, NDArray[np.intp]]:
        """Items of all repeats of one version, one under the other, x judges; and their clusters."""
        repeats = [at for at in range(of.shape[3]) if not np.isnan(self.codes[version, :, :, at]).all()]
        return np.concatenate([of[version, :, :, at] for at in repeats]), np.tile(self.clusters, len(repeats))


def read_versions(
    ratings: Given, axis: str, before: str, after: str, *, held_out: Sequence[str] = HELD_OUT
) -> tuple[Versions, pl.DataFrame]:
    """The ratings of `axis` under two rubric versions, and the rows behind them.

    Ratings of held-out tasks (`split` is one of the sides `held_out`) never enter: a rubric is not tuned on them.

    Raises
    ------
    InputError
        A version without ratings, fewer than two judges or no run in common, several ratings for one run, judge,
        version and repeat, a version whose text changed after it had judged, or nothing but held-out ratings.
    """
    if before == after:
        raise InputError("versions", "must be two different ones", before)
    where = f"ratings of {axis}"
    asked = as_ratings(ratings).filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("question") == axis)
    is_open = ~pl.col("split").is_in(list(held_out)).fill_null(False)
    open_to_tuning = asked.filter(is_open)
    if open_to_tuning.is_empty() and not asked.is_empty():
        rule = "a rubric is compared on the calibration side; all these ratings are of held-out tasks"
        raise InputError(where, rule, cure="judge the calibration split")
    reading = open_to_tuning.filter(pl.col("rubric_version").is_not_null())
    under_both = reading.filter(pl.col("rubric_version").is_in([before, after]))
    chosen = under_both.filter(~EMPTY_RUN)
    _check(axis, reading, chosen, (before, after))
    in_both = pl.col("rubric_version").n_unique() == 2
    of_judges = chosen.filter(in_both.over("rater"))
    if len(judges := of_judges["rater"].unique().sort().to_list()) < 2:
        cure = "have a second judge, of another family, grade both versions"
        raise TooLittle(where, "agreement needs two judges that rated both versions", judges, cure)
    table = of_judges.filter(in_both.over("item_id")).sort("item_id", "rater", "rubric_version", "repeat")
    if table.is_empty():
        raise TooLittle(where, f"no run was judged under {before} and {after}", cure="judge the same runs")
    panel = table.select("family", "rater").sort("family", "rater").unique("rater", keep="first", maintain_order=True)
    runs = table.unique("item_id", keep="first").sort("item_id")
    sides = {"rubric_version": (before, after), "item_id": runs["item_id"].to_list(), "rater": panel["rater"].to_list()}
    sides["repeat"] = table["repeat"].unique().sort().to_list()
    codes = table["verdict"].replace_strict(list(VERDICTS), list(range(len(VERDICTS))), return_dtype=pl.Int64)
    given = table.select(pl.when(pl.col("verdict").is_not_null()).then("confidence"))["confidence"]
    ranks, ranked_over = _ranks(ratings, is_open, sides["rater"], confidences := cube(table, sides, given))
    texts = table.group_by("rubric_version").agg(pl.col("rubric_sha256").first())["rubric_sha256"]
    pair = Versions(
        axis=axis,
        before=before,
        after=after,
        judges=tuple(panel["rater"]),
        families=tuple(panel["family"]),
        items=tuple(runs["item_id"]),
        clusters=np.unique(runs["cluster_id"].to_numpy(), return_inverse=True)[1].astype(np.intp),
        codes=cube(table, sides, codes),
        confidences=confidences,
        ranks=ranks,
        ranked_over=ranked_over,
        same_text=texts.n_unique() == 1 and texts.null_count() == 0,
        aside=tuple(open_to_tuning.filter(pl.col("rubric_version").is_null())["rater"].unique().sort()),
        left_out={
            "held_out": asked.height - open_to_tuning.height,
            "empty_runs": under_both.height - chosen.height,
            "one_version_only": chosen.height - table.height,
            "lost": table.filter(pl.col("status") != "ok").height,
        },
        side=table["split"][0] if table["split"].n_unique() == 1 else None,
        occasions=_occasions(table, (before, after)),
    )
    return pair, table


def _occasions(table: pl.DataFrame, versions: tuple[str, str]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The run in which models answered most of each version's repeats; None where a run has both versions, or none."""
    asked = table.filter(pl.col("rater_kind") == "llm", pl.col("verdict").is_not_null(), pl.col("run_id").is_not_null())
    of = [asked.filter(pl.col("rubric_version") == version) for version in versions]
    old, new = (set(each["run_id"]) for each in of)
    if not old or not new or old & new:
        return None
    repeats, numbers = table["repeat"].unique().sort(), {run: number for number, run in enumerate(sorted(old | new))}
    most = [dict(each.group_by("repeat").agg(pl.col("run_id").mode().min()).iter_rows()) for each in of]
    first, second = (tuple(numbers[runs[at]] if at in runs else -1 for at in repeats) for runs in most)
    return first, second


def commonest(codes: Floats) -> Floats:
    """The commonest verdict over repeats, of equally common ones that given first; shape (..., repeats) -> (...)."""
    best = (codes[..., :, None] == codes[..., None, :]).sum(axis=-1).argmax(axis=-1)  # NaN equals nothing
    return np.asarray(np.take_along_axis(codes, best[..., None], axis=-1)[..., 0])


def _check(axis: str, reading: pl.DataFrame, chosen: pl.DataFrame, versions: tuple[str, str]) -> None:
    where = f"ratings of {axis}"
    for version in versions:
        mine = chosen.filter(pl.col("rubric_version") == version)
        if mine.is_empty():
            cure = f"judge it first (versions={{'{axis}': '{version}'}}); judges that read no rubric do not count"
            raise TooLittle(where, f"none under {version}", sorted(set(reading["rubric_version"])), cure)
        if mine["verdict"].null_count() == mine.height:
            rule = f"every verdict under {version} is lost, so that there is nothing to compare"
            raise TooLittle(where, rule, f"{mine.height} lost", "judge again: lost verdicts are asked anew")
        if (texts := mine["rubric_sha256"].drop_nulls().unique().sort().to_list())[1:]:
            rule = f"{version} was edited after it had judged: its ratings carry {len(texts)} texts"
            raise InputError(where, rule, [text[:12] for text in texts], "write the next version instead")
    rule = "one rating for each run, judge, rubric version and repeat"
    cure = "filter by prompt_sha256 or rater_version first"
    once(chosen, "item_id", "rater", "rubric_version", "repeat", rule=rule, where=where, cure=cure)


def _ranks(ratings: Given, is_open: pl.Expr, judges: Sequence[str], confidences: Floats) -> tuple[Floats, RankedOver]:
    """Each judge's confidences as mid-ranks among its own under all rubric versions and axes of the calibration side.

    Ranks taken within a version would erase the very shift that should show.
    """
    given = as_ratings(ratings).filter(pl.col("rater").is_in(list(judges)), pl.col("confidence").is_not_null(), is_open)
    maps, named = fitted_maps(given)
    ranks = np.full(confidences.shape, math.nan)
    for number, judge in enumerate(judges):
        if judge in maps:
            ranks[:, :, number] = maps[judge](confidences[:, :, number], source=judge)
    return ranks, RankedOver.CALIBRATION if named else RankedOver.NO_SPLIT


@dataclass(frozen=True)
class VersionAgreement(Result):
    """Agreement under one version, all its repeats one under the other with the task as the unit.

    `coefficients` holds percent, kappa, ac1 and alpha, `soft` soft agreement on normalised confidences of each pair of
    judges, by their names; `shares` how common each verdict is.
    """

    version: str
    n_repeats: int
    coefficients: Mapping[str, Agreement]
    soft: Mapping[str, SoftAgreement]
    shares: Mapping[str, float]

    @property
    def named(self) -> dict[str, Estimate]:
        """Every coefficient by name; soft agreement of several pairs under the names of both judges."""
        soft = {"soft" if len(self.soft) == 1 else f"soft {pair}": value for pair, value in self.soft.items()}
        return {**self.coefficients, **soft}


def version_agreement(
    pair: Versions, version: int, *, seed: int, cluster_unit: str, ci_level: float
) -> VersionAgreement:
    """Agreement under the version at place `version` (0: before, 1: after)."""
    codes, clusters = pair.stacked(pair.codes, version)
    names, categories = coefficient_names(len(pair.judges)), [float(code) for code in range(len(VERDICTS))]
    how: dict[str, Any] = {"clusters": clusters, "cluster_unit": cluster_unit, "ci_level": ci_level}
    values = agreement_coefficients(codes, list(names.values()), categories=categories, rng=seed, **how)
    # a rank is mapped to [1/2, 1], so that a belief stays on its verdict's side
    held = beliefs(words_of(codes, VERDICTS), (1 + pair.stacked(pair.ranks, version)[0]) / 2)
    given = codes[~np.isnan(codes)]
    return VersionAgreement(
        version=(pair.before, pair.after)[version],
        n_repeats=pair.n_repeats[version],
        coefficients={name: values[key] for name, key in names.items()},
        soft={
            f"{pair.judges[one]} / {pair.judges[other]}": soft_agreement(held[:, [one, other]], **how)
            for one, other in combinations(range(len(pair.judges)), 2)
        },
        shares={word: float((given == code).mean()) for code, word in enumerate(VERDICTS)} if given.size else {},
    )


def soft_split(pair: Versions) -> dict[str, float]:
    """The mean change of raw soft agreement on normalised confidences, `total` = `flips` + `hedging`.

    Over pairs of judges and repeats that both versions have.
    """
    words, sure = words_of(pair.codes, VERDICTS), (1 + pair.ranks) / 2
    parts = [
        split_change(*(of[version][:, [one, other], repeat] for version in (0, 1) for of in (words, sure)))
        for one, other in combinations(range(len(pair.judges)), 2)
        for repeat in range(pair.codes.shape[3])
    ]
    names = ("total", "flips", "hedging")
    return {name: mean_of(np.stack([getattr(part, name) for part in parts])) for name in names}


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

    n_items = property(lambda self: sum(map(sum, self.matrix)))
    n_flipped = property(lambda self: sum(self.directions.values()))


def judge_shifts(pair: Versions, *, cluster_unit: str, seed: int) -> tuple[JudgeShift, ...]:
    """How each judge's verdicts and confidences changed."""
    stayed = pair.verdicts[0] == pair.verdicts[1]
    sure = np.where(stayed[..., None], pair.confidences, math.nan)
    known = [judge for judge in range(len(pair.judges)) if not np.isnan(sure[:, :, judge]).all(axis=(1, 2)).any()]
    how: dict[str, Any] = {"cluster_unit": cluster_unit, "occasions": pair.occasions, "seed": seed}
    tested = adjusted([moved(sure[:, :, judge], pair.clusters, **how) for judge in known])
    confidences = dict(zip(known, tested, strict=True))
    return tuple(_shift(pair, judge, stayed[:, judge], confidences.get(judge)) for judge in range(len(pair.judges)))


def _shift(pair: Versions, judge: int, stayed: NDArray[np.bool_], confidence: Moved | None) -> JudgeShift:
    given = pair.verdicts[:, :, judge]
    both = given[:, ~np.isnan(given).any(axis=0)].astype(int)
    matrix = np.zeros((len(VERDICTS), len(VERDICTS)), dtype=int)
    np.add.at(matrix, tuple(both), 1)
    flips = {(VERDICTS[one], VERDICTS[two]): int(n) for (one, two), n in np.ndenumerate(matrix) if one != two and n}
    before, after = pair.codes[:, :, judge]
    return JudgeShift(
        judge=pair.judges[judge],
        family=pair.families[judge],
        directions={" → ".join(ways): n for ways, n in sorted(flips.items())},
        turnover=_differing(product(before.T, after.T)),
        noise=_differing([*combinations(before.T, 2), *combinations(after.T, 2)]),
        n_stayed=int(stayed.sum()),
        confidence_before=mean_of(pair.confidences[0, stayed, judge]),
        confidence_after=mean_of(pair.confidences[1, stayed, judge]),
        confidence=confidence,
        matrix=tuple(map(tuple, matrix.tolist())),
    )


def flips_of(pair: Versions, rows: pl.DataFrame) -> tuple[Flip, ...]:
    """Every flip, those first that changed agreement most; then by run and judge. `rows` are the ratings behind it.

    Of each verdict the first reason and citation count, and the mean confidence.
    """
    key = ("rubric_version", "item_id", "rater", "verdict")
    asked = rows.filter(pl.col("verdict").is_not_null()).sort("repeat").group_by(key)
    first = asked.agg(pl.col("confidence").mean(), pl.col("cited_step_indices", "rationale").first())
    given = {
        (*which, verdict): VersionVerdict(verdict, sure, tuple(cited or ()), rationale)
        for *which, verdict, sure, cited, rationale in first.iter_rows()
    }
    before, after = mean_of_repeats(pair.agreement)
    words, flips = words_of(pair.verdicts, VERDICTS), []
    for at, judge in np.argwhere(pair.flipped):
        item, rater = pair.items[at], pair.judges[judge]
        was, now = (given[name, item, rater, words[of, at, judge]] for of, name in enumerate((pair.before, pair.after)))
        flips.append(Flip(item, rater, was, now, agreement_change=float(after[at] - before[at])))
    return tuple(sorted(flips, key=lambda flip: (-abs(np.nan_to_num(flip.agreement_change)), flip.item, flip.judge)))


def _differing(pairs: Iterable[tuple[Floats, Floats]]) -> float:
    """Share of differing verdicts over pairs of runs of the whole set; NaN without one."""
    return mean_of(np.array([np.where(np.isnan(one + other), math.nan, one != other) for one, other in pairs]))
