"""Judges against people on every question: the numbers behind every part, and corrected rates that were tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.cluster import watched
from axisjudge.labels.lint_people import LabelFault, NotChecked, strangers
from axisjudge.labels.panel import LabelledPanel
from axisjudge.ratings.edge import Strata
from axisjudge.results import Result, columns, reached
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import coefficient_names, coefficient_of_two
from axisjudge.stats.clustered import bounded, cluster_correlation, standardised_share, uncovered
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.correction import CorrectedRate, CorrectedRates, corrected_rate
from axisjudge.stats.estimate import Decision, Estimate, Measured, decided
from axisjudge.stats.fairness import Fair, StratumFairness, fair_shares, post_stratified_sum, reference_ranks
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.stats.reference import AgainstReference
from axisjudge.studies._shared.frames import Floats, Given, Kind, to_polars
from axisjudge.studies.people.judges import (
    Claim,
    JudgeComparison,
    against_majority,
    claims_of,
    compare_judge,
    corrected_of,
)

#: Labels of more than this share of the tasks would hardly differ from all labels.
MOST_OF_ALL = 0.5


@dataclass(frozen=True, eq=False)
class QuestionComparison(Result):
    """All judges on one question.

    `ceiling` holds percent agreement, kappa, AC1 and alpha of the people among themselves, empty with fewer than two;
    `kappa_ranks` the simultaneous rank sets of the judges' kappas with the majority.
    """

    _keys = columns(
        "question n_reference n_tied ceiling judges kappa_ranks categories=panel.categories people=panel.people",
        "sampling=panel.drawn.sampling",
    )

    panel: LabelledPanel
    judges: tuple[JudgeComparison, ...]
    ceiling: dict[str, Agreement]
    kappa_ranks: RankSets

    @property
    def question(self) -> str:
        """The axis, or whatever was asked."""
        return self.panel.question

    @property
    def n_reference(self) -> int:
        """How many items have a label that takes a side."""
        return int((~np.isnan(self.panel.reference)).sum())

    @property
    def n_tied(self) -> int:
        """How many items have labels without a majority."""
        labelled = (~np.isnan(self.panel.decided_labels)).any(axis=1)
        return int((labelled & np.isnan(self.panel.reference)).sum())

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Every claim of every judge."""
        return tuple(claim for judge in self.judges for claim in claims_of(self.panel, judge))


@dataclass(frozen=True, eq=False)
class HumanComparison:
    """Judges against people on every question that both answered; `strangers` are people who agree with nobody."""

    questions: tuple[QuestionComparison, ...]
    epsilon: float
    kind: Kind
    strangers: tuple[LabelFault, ...] = ()

    @property
    def has_ceiling(self) -> bool:
        """Whether two people or more labelled some question."""
        return any(question.ceiling for question in self.questions)

    @property
    def corrected(self) -> list[tuple[QuestionComparison, str, CorrectedRates]]:
        """Every question and judge whose failure rate could be corrected."""
        return [
            (question, judge.judge, judge.rates) for question, judge in self.pairs() if judge.rates and judge.corrected
        ]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all questions."""
        return tuple(claim for question in self.questions for claim in question.claims)

    def pairs(self) -> Iterator[tuple[QuestionComparison, JudgeComparison]]:
        """Every question with every judge."""
        return ((question, judge) for question in self.questions for judge in question.judges)


def compare_question(panel: LabelledPanel, *, epsilon: float, ci_level: float, seed: int) -> QuestionComparison:
    """Every judge of a panel against its people."""
    numbers = range(len(panel.judges))
    judges = (compare_judge(panel, number, epsilon=epsilon, ci_level=ci_level, seed=seed) for number in numbers)
    ranks = _kappa_ranks(panel, ci_level, np.random.default_rng(seed))
    return QuestionComparison(panel, tuple(judges), _ceiling(panel, ci_level), ranks)


def _kappa_ranks(panel: LabelledPanel, ci_level: float, rng: np.random.Generator) -> RankSets:
    """Rank sets of the judges by kappa with the majority, on the words that take a side."""
    return reference_ranks(
        panel.sided(panel.judged),
        panel.reference,
        coefficient=coefficient_of_two("ordinal" if panel.ordered else "nominal"),
        categories=[float(code) for code in panel.sides.values()],
        clusters=panel.groups,
        ci_level=ci_level,
        rng=rng,
    )


def strangers_among(people: pl.DataFrame) -> tuple[LabelFault, ...]:
    """People who agree with nobody; none where fewer than three share enough tasks to tell."""
    try:
        return tuple(strangers(people))
    except NotChecked:
        return ()


def _ceiling(panel: LabelledPanel, ci_level: float) -> dict[str, Agreement]:
    """Agreement of the people among themselves on the same words."""
    if len(panel.people) < 2:
        return {}
    names = coefficient_names(len(panel.people), "ordinal" if panel.ordered else "nominal")
    if panel.ordered:
        names["kappa"], names["alpha"] = names.pop("quadratic_kappa"), names.pop("ordinal_alpha")
    unit: dict[str, Any] = {"clusters": panel.clusters, "cluster_unit": panel.cluster_unit, "ci_level": ci_level}
    words = [float(code) for code in panel.sides.values()]
    coefficients = agreement_coefficients(panel.decided_labels, [*names.values()], categories=words, **unit)
    return {name: coefficients[key] for name, key in names.items()}


@dataclass(frozen=True, eq=False)
class FewLabels(Result):
    """All judges, with one run of each of `n_runs` tasks labelled, drawn `n_draws` times.

    `judges` has a row for each question and judge: `rate` is what all labels say and `own` what the judge says; `held`
    and `held_by_labels` are the shares of draws whose corrected interval, or that of the few labels alone, holds
    `rate`; `width` and `width_of_labels` their mean widths. It is empty where not every item is labelled, the scale
    knows no failure, or no draw has enough labels.
    """

    judges: pl.DataFrame
    n_runs: int
    n_draws: int


def few_labels(comparison: HumanComparison, *, n_runs: int = 30, n_draws: int = 100, seed: int = 0) -> FewLabels:
    """Draw `n_runs` runs, one of a task, take their labels alone, and correct each judge's failure rate by them.

    Questions on which every item is labelled are tried; at most half of the tasks are labelled.
    """
    rows: list[dict[str, Any]] = []
    taken = n_runs
    for panel in (question.panel for question in comparison.questions if n_draws):
        labels = panel.failed(panel.reference)
        if panel.failing is None or panel.clusters is None or np.isnan(labels).any():
            continue
        taken = min(n_runs, int(MOST_OF_ALL * (panel.clusters.max() + 1)))
        rng = np.random.default_rng(seed)
        draws = [_drawn_items(panel, taken, rng) for _ in range(n_draws)]
        judges = watched(list(range(len(panel.judges))), f"{n_draws} draws of few labels")
        rows += filter(None, (_tried(panel, judge, labels, draws) for judge in judges))
    return FewLabels(pl.DataFrame(rows), taken, n_draws)


def _drawn_items(panel: LabelledPanel, n_runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which items are of the drawn runs, one run of each drawn task."""
    runs = np.array(panel.runs)
    chosen = rng.choice(panel.groups.max() + 1, n_runs, replace=False)
    of_tasks = [rng.choice(np.unique(runs[panel.groups == task])) for task in chosen]
    return np.isin(runs, of_tasks)


def _tried(panel: LabelledPanel, judge: int, labels: Floats, draws: list[NDArray[np.bool_]]) -> dict[str, Any] | None:
    verdicts = panel.failed(panel.judged[:, judge])
    correct = partial(corrected_rate, verdicts, sampling="random", clusters=panel.clusters, draw_known=True)
    rates = [correct(np.where(drawn, labels, np.nan), cluster_unit=panel.cluster_unit) for drawn in draws]
    rate = float(labels.mean())
    bounds = np.array([[(one.ci_low, one.ci_high) for one in (each.rate, each.labels_alone)] for each in rates])
    held = (bounds[:, :, 0] <= rate) & (rate <= bounds[:, :, 1])
    width = bounds[:, :, 1] - bounds[:, :, 0]
    if np.isnan(width).all(axis=0).any() or np.isnan(verdicts).all():  # so few correct nothing
        return None
    return {
        "question": panel.question,
        "judge": panel.judges[judge],
        "rate": rate,
        "own": float(np.nanmean(verdicts)),
        **dict(zip(("held", "held_by_labels"), held.mean(axis=0).tolist(), strict=True)),
        **dict(zip(("width", "width_of_labels"), np.nanmean(width, axis=0).tolist(), strict=True)),
    }


@dataclass(frozen=True)
class PlantedRate:
    """The planted failure rate of the runs that a judge was asked about, and the rates that were worked out."""

    question: str
    judge: str
    planted: float
    corrected: CorrectedRate

    @property
    def held(self) -> bool:
        """Whether the corrected interval holds the planted rate."""
        return self._within(self.corrected.rate)

    @property
    def held_by_judge(self) -> bool:
        """Whether the interval round the judge's own rate does."""
        return self._within(self.corrected.apparent)

    def _within(self, rate: Estimate) -> bool:
        return rate.ci_low <= self.planted <= rate.ci_high


def planted_rates(comparison: HumanComparison, truth: Given) -> tuple[PlantedRate, ...]:
    """The planted rate for every judge and question whose rate was corrected.

    Raises
    ------
    InputError
        `truth` (columns item_id, question and verdict) lacks an item that a judge was asked.
    """
    table = to_polars(truth, ("item_id", "question", "verdict"), where="truth")
    failed = {(item, question): verdict == "incorrect" for item, question, verdict in table.iter_rows()}
    planted = []
    for question, judge, rates in comparison.corrected:
        asked = np.array(question.panel.items)[question.panel.asked[:, question.panel.judges.index(judge)]]
        if missing := [item for item in asked if (item, question.question) not in failed]:
            raise InputError("truth", f"must hold {question.question} of every item that judges rated", missing[0])
        share = float(np.mean([failed[item, question.question] for item in asked]))
        planted.append(PlantedRate(question.question, judge, share, rates.overall))
    return tuple(planted)


#: Where a measure against the majority stands.
_SHARES = {
    **dict.fromkeys(("caught", "recall", "sensitivity"), "sensitivity.given"),
    **dict.fromkeys(("passed", "specificity"), "specificity.given"),
    **dict.fromkeys(("agreement", "accuracy"), "accuracy.given"),
    "coverage": "coverage",
}


def decide(comparison: HumanComparison, requirements: Iterable[str]) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge and question; ``NAME.MEASURE>=NUMBER`` for a judge or a question.

    Measures are against the majority of people: shares, coverage, and the coefficients that the questions have. All
    hold together.

    Raises
    ------
    InputError
        As `axisjudge.stats.estimate.decided` does.
    """
    pairs = list(comparison.pairs())
    coefficients = dict.fromkeys(name for _, judge in pairs for name in judge.majority.coefficients)
    stated = next((judge.over_constant.ci_level for _, judge in pairs), 0.95)

    def at(ci_level: float) -> list[Measured]:
        known = [
            one.majority
            if ci_level == stated
            else against_majority(of.panel, of.panel.judges.index(one.judge), ci_level)
            for of, one in pairs
        ]
        return [
            ((of.question, one.judge), f"{one.judge}, {of.question}", partial(_measure, majority))
            for (of, one), majority in zip(pairs, known, strict=True)
        ]

    return decided(requirements, [*_SHARES, *coefficients], at, ci_level=stated)


def _measure(majority: AgainstReference, name: str) -> Estimate | None:
    """The measure against the majority; None where the question's scale has no such coefficient."""
    known: Estimate | None = reached(majority, _SHARES[name]) if name in _SHARES else majority.coefficients.get(name)
    return known


NO_LENGTHS = "it needs the runs themselves (trajectories)"


@dataclass(frozen=True, eq=False)
class OwnStrataRate(Result):
    """A judge's failure rate corrected by all labels together, and by each stratum's own labels and then joined."""

    _keys = columns("judge together=together.in_short own_strata=own_strata.in_short")

    judge: str
    together: Estimate
    own_strata: Estimate


@dataclass(frozen=True, eq=False)
class CarriedOver(Result):
    """A share among these runs, and carried to another mix of strata."""

    _keys = columns("judge measure here=here.in_short there=there.in_short")

    judge: str
    measure: str
    here: Estimate
    there: Estimate


@dataclass(frozen=True, eq=False)
class QuestionFairness(Result):
    """All judges on one question, sorted `by` something; `refusal` says why nothing could be tried.

    `carried` holds shares carried to another mix of the strata, empty where none was stated.
    """

    _keys = ("question", "by", "refusal", "differences", "rates", "carried")

    question: str
    by: str
    differences: tuple[StratumFairness, ...]
    rates: tuple[OwnStrataRate, ...]
    refusal: str = ""
    carried: tuple[CarriedOver, ...] = ()

    @property
    def unfair(self) -> tuple[StratumFairness, ...]:
        """The differences that hold after the correction."""
        return tuple(each for each in self.differences if each.answer is Fair.DIFFERS)

    @property
    def within(self) -> float:
        """No difference is larger than this, in share: all at once, at 95%; NaN where one has no interval."""
        tried = [each.within for each in self.differences if each.answer is not Fair.NOT_TRIED]
        return max(tried, default=math.nan)


def fairness(
    panel: LabelledPanel, strata: Strata, mix: Mapping[str, float] | None = None, *, ci_level: float, seed: int
) -> list[QuestionFairness]:
    """Every way of sorting the runs of one question, with shares carried to a `mix` of the strata."""
    return [_sorted_by(panel, by, of_run, mix or {}, ci_level, seed) for by, of_run in strata.items()]


def _sorted_by(
    panel: LabelledPanel, by: str, of_run: Mapping[str, str], mix: Mapping[str, float], ci_level: float, seed: int
) -> QuestionFairness:
    names = np.array([of_run.get(run) for run in panel.runs], dtype=object)
    if refusal := _refusal(panel, by, names):
        return QuestionFairness(panel.question, by, (), (), refusal)
    differences = fair_shares(_right(panel), names, panel.clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)
    judges, known = range(len(panel.judges)), sorted({name for name in names if name is not None})
    mix = {next((full for full in known if full.split(" (")[0] == name), name): part for name, part in mix.items()}
    rates = tuple(_own_strata(panel, number, names, ci_level, seed) for number in judges)
    carried = (each for number in judges for each in _carried(panel, number, names, mix, ci_level, seed))
    return QuestionFairness(panel.question, by, differences, rates, carried=tuple(carried) if mix else ())


def _refusal(panel: LabelledPanel, by: str, names: np.ndarray) -> str:
    if panel.failing is None:
        return "no word of this scale means failure"
    if panel.drawn.chosen and panel.drawn.sampling != "by_human_label":
        return "labels were chosen: shares of right verdicts among them are not those of all items"
    if all(name is None for name in names):
        return NO_LENGTHS if by in ("length", "answer") else f"no run names its {by}"
    if len({name for name in names if name is not None}) < 2:
        return f"all runs are of one {by}"
    return ""


def _right(panel: LabelledPanel) -> dict[tuple[str, str], Floats]:
    """For each judge and measure, 1 where it says what people say, among what they fail or pass; NaN elsewhere."""
    people = panel.failed(panel.reference)
    right = {}
    for number, judge in enumerate(panel.judges):
        given = np.where(panel.asked[:, number], panel.failed(panel.judged[:, number]), np.nan)
        same = np.where(np.isnan(given) | np.isnan(people), np.nan, given == people)
        for measure, among in (("sensitivity", people == 1), ("specificity", people == 0)):
            right[judge, measure] = np.where(among, same, np.nan)
    return right


def _own_strata(panel: LabelledPanel, number: int, names: np.ndarray, ci_level: float, seed: int) -> OwnStrataRate:
    sorted_rows = panel.asked[:, number] & np.array([name is not None for name in names])
    sizes = {name: int((names[sorted_rows] == name).sum()) for name in sorted(set(names[sorted_rows]))}
    together = corrected_of(panel, number, sorted_rows, ci_level=ci_level, seed=seed).rate
    return OwnStrataRate(panel.judges[number], together, _joined(panel, number, names, sizes, ci_level, seed))


def _joined(
    panel: LabelledPanel, number: int, names: np.ndarray, sizes: Mapping[str, float], ci_level: float, seed: int
) -> Estimate:
    """The failure rate corrected in each stratum by its own labels, joined by these sizes.

    Strata that share tasks move together: as their labels' totals over tasks do, where these do so at all.
    """
    seen = [name for name in sizes if (panel.asked[:, number] & (names == name)).any()]
    share, why = uncovered(sizes, seen)
    if not seen:
        return Estimate(estimate=math.nan, n_items=0, n_clusters=0, ci_level=ci_level, reason=why)
    rows_of = {name: panel.asked[:, number] & (names == name) for name in seen}
    each = [corrected_of(panel, number, rows, ci_level=ci_level, seed=seed).rate for rows in rows_of.values()]
    labels = panel.failed(panel.reference)
    own = [np.where(rows, labels, np.nan) for rows in rows_of.values()]
    shared = np.eye(len(own))
    for i, j in combinations(range(len(own)), 2):
        if not (np.isnan(own[i]).all() or np.isnan(own[j]).all()):
            shared[i, j] = shared[j, i] = max(0.0, cluster_correlation(own[i], own[j], panel.groups))
    return bounded(post_stratified_sum(each, [sizes[name] for name in seen], shared), share, why)


def _carried(
    panel: LabelledPanel, number: int, names: np.ndarray, mix: Mapping[str, float], ci_level: float, seed: int
) -> Iterator[CarriedOver]:
    """The judge's share of failing verdicts, that of right ones, and the rate that people would give."""
    asked, judge = panel.asked[:, number], panel.judges[number]
    said, people = np.where(asked, panel.failed(panel.judged[:, number]), np.nan), panel.failed(panel.reference)
    right = np.where(np.isnan(said) | np.isnan(people), np.nan, said == people)
    shares = {"says_failing": said} | ({} if panel.drawn.chosen else {"right": right})
    terms: dict[str, Any] = {"cluster_unit": panel.cluster_unit, "ci_level": ci_level}
    for measure, values in shares.items():
        here = clustered_proportion(values, panel.clusters, **terms)
        yield CarriedOver(judge, measure, here, standardised_share(values, names, mix, panel.clusters, **terms))
    corrected = corrected_of(panel, number, asked, ci_level=ci_level, seed=seed).rate
    weighty = {name: part for name, part in mix.items() if part > 0}
    yield CarriedOver(judge, "corrected", corrected, _joined(panel, number, names, weighty, ci_level, seed))
