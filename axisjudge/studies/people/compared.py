"""Judges against people on every question: the numbers behind every part, and corrected rates that were tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar

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

Strings = NDArray[np.object_]

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
    """Judges against people on every question that both answered; `strangers` are people who agree with nobody.

    `n_left_out` counts judges' ratings of other repeats, of the other level, and of runs without messages.
    """

    questions: tuple[QuestionComparison, ...]
    epsilon: float
    kind: Kind
    strangers: tuple[LabelFault, ...] = ()
    n_left_out: int = 0

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
    """Every judge of a panel against its people; kappas with the majority are ranked on words that take a side."""
    numbers = range(len(panel.judges))
    judges = tuple(compare_judge(panel, number, epsilon=epsilon, ci_level=ci_level, seed=seed) for number in numbers)
    ranks = reference_ranks(
        panel.sided(panel.judged),
        panel.reference,
        coefficient=coefficient_of_two("ordinal" if panel.ordered else "nominal"),
        categories=[float(code) for code in panel.sides.values()],
        clusters=panel.groups,
        ci_level=ci_level,
        rng=np.random.default_rng(seed),
    )
    return QuestionComparison(panel, judges, _ceiling(panel, ci_level), ranks)


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
    """All judges, with one run of each of some tasks labelled, `n_runs` at the most, drawn `n_draws` times.

    `judges` has a row for each question and judge: so many `runs` are labelled; `rate` is what all labels say and `own`
    what the judge says; `held` and `held_by_labels` are the shares of draws whose corrected interval, or that of the
    few labels alone, holds `rate`; `width` and `width_of_labels` their mean widths. It is empty where not every item is
    labelled, the scale knows no failure, or no draw has enough labels.
    """

    judges: pl.DataFrame
    n_runs: int
    n_draws: int


def few_labels(comparison: HumanComparison, *, n_runs: int = 30, n_draws: int = 100, seed: int = 0) -> FewLabels:
    """Draw `n_runs` runs, one of a task, take their labels alone, and correct each judge's failure rate by them.

    Questions on which every item is labelled are tried; at most half of the tasks are labelled.
    """
    rows: list[dict[str, Any] | None] = []
    most = []
    for panel in (question.panel for question in comparison.questions if n_draws):
        labels, runs = panel.failing_labels, np.array(panel.runs)
        if panel.failing is None or panel.clusters is None or np.isnan(labels).any():
            continue
        taken = min(n_runs, int(MOST_OF_ALL * (panel.clusters.max() + 1)))
        most.append(taken)
        rng = np.random.default_rng(seed)
        draws = []
        for _ in range(n_draws):
            tasks = rng.choice(panel.groups.max() + 1, taken, replace=False)
            drawn = np.isin(runs, [rng.choice(np.unique(runs[panel.groups == task])) for task in tasks])
            draws.append(np.where(drawn, labels, np.nan))
        judges = watched(list(range(len(panel.judges))), f"{n_draws} draws of few labels")
        rows += [_tried(panel, judge, float(labels.mean()), draws) for judge in judges]
    return FewLabels(pl.DataFrame([row for row in rows if row]), max(most, default=n_runs), n_draws)


def _tried(panel: LabelledPanel, judge: int, rate: float, draws: list[Floats]) -> dict[str, Any] | None:
    """How often, over draws of labels, the corrected interval and that of the labels alone hold the rate of all."""
    verdicts = panel.failed_items(panel.judged[:, judge])
    correct = partial(corrected_rate, verdicts, sampling="random", clusters=panel.clusters, draw_known=True)
    rates = [correct(drawn, cluster_unit=panel.cluster_unit) for drawn in draws]
    low, high = np.array([[(one.ci_low, one.ci_high) for one in (each.rate, each.labels_alone)] for each in rates]).T
    if np.isnan(high - low).all(axis=1).any() or np.isnan(verdicts).all():  # so few correct nothing
        return None
    held, held_by_labels = ((low <= rate) & (rate <= high)).mean(axis=1).tolist()
    width, width_of_labels = np.nanmean(high - low, axis=1).tolist()
    runs = int(np.unique(panel.groups[~np.isnan(draws[0])]).size)
    about = {"question": panel.question, "judge": panel.judges[judge], "runs": runs}
    shares = {"rate": rate, "own": float(np.nanmean(verdicts)), "held": held, "held_by_labels": held_by_labels}
    return {**about, **shares, "width": width, "width_of_labels": width_of_labels}


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
        return self.corrected.rate.ci_low <= self.planted <= self.corrected.rate.ci_high

    @property
    def held_by_judge(self) -> bool:
        """Whether the interval round the judge's own rate does."""
        return self.corrected.apparent.ci_low <= self.planted <= self.corrected.apparent.ci_high


def planted_rates(comparison: HumanComparison, truth: Given) -> tuple[PlantedRate, ...]:
    """The planted rate for every judge and question whose rate was corrected.

    Raises
    ------
    InputError
        `truth` (columns item_id, question and verdict) lacks an item that a judge was asked, or has words of another
        scale.
    """
    table = to_polars(truth, ("item_id", "question", "verdict"), where="truth")
    said = {(item, question): verdict for item, question, verdict in table.iter_rows()}
    planted = []
    for question, judge, rates in comparison.corrected:
        panel = question.panel
        asked = np.array(panel.items)[panel.asked[:, panel.judges.index(judge)]]
        if missing := [item for item in asked if (item, panel.question) not in said]:
            raise InputError("truth", f"must hold {panel.question} of every item that judges rated", missing[0])
        words = [said[item, panel.question] for item in asked]
        if other := set(words) - set(panel.categories):
            raise InputError("truth", f"must be words of {panel.scale}", sorted(map(str, other))[0])
        share = float(np.mean([panel.categories.index(word) == panel.failing for word in words]))
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

    _keys: ClassVar = {"judge": "judge", "together": "together.in_short", "own_strata": "own_strata.in_short"}

    judge: str
    together: Estimate
    own_strata: Estimate


@dataclass(frozen=True, eq=False)
class CarriedOver(Result):
    """A share among these runs, and carried to another mix of strata."""

    _keys: ClassVar = {"judge": "judge", "measure": "measure", "here": "here.in_short", "there": "there.in_short"}

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
    people, judged = panel.failed(panel.reference), np.where(panel.asked, panel.failed(panel.judged), np.nan)
    known = ~np.isnan(judged) & ~np.isnan(people)[:, None]
    labelled = _Labelled(panel, people, judged, np.where(known, judged == people[:, None], np.nan), ci_level, seed)
    sorts = ((by, np.array([of_run.get(run) for run in panel.runs], dtype=object)) for by, of_run in strata.items())
    return [labelled.sorted_by(by, names, mix or {}) for by, names in sorts]


def _refusal(panel: LabelledPanel, by: str, names: Strings) -> str:
    if panel.failing is None:
        return "no word of this scale means failure"
    if panel.drawn.chosen and panel.drawn.sampling != "by_human_label":
        return "labels were chosen: shares of right verdicts among them are not those of all items"
    if not (known := set(names) - {None}):
        return NO_LENGTHS if by in ("length", "answer") else f"no run names its {by}"
    return f"all runs are of one {by}" if len(known) < 2 else ""


@dataclass(frozen=True, eq=False)
class _Labelled:
    """A panel with 1 where an item fails: by people, and by each judge that was asked; and where a judge is `right`."""

    panel: LabelledPanel
    people: Floats
    judged: Floats
    right: Floats
    ci_level: float
    seed: int

    @property
    def sample(self) -> dict[str, Any]:
        """What is independent, and the level."""
        return {"clusters": self.panel.clusters, "cluster_unit": self.panel.cluster_unit, "ci_level": self.ci_level}

    def sorted_by(self, by: str, names: Strings, mix: Mapping[str, float]) -> QuestionFairness:
        """Every judge among strata, `names` by item; a mix may leave out what stands in brackets after a name."""
        if refusal := _refusal(self.panel, by, names):
            return QuestionFairness(self.panel.question, by, (), (), refusal)
        right = {}
        for number, judge in enumerate(self.panel.judges):
            for measure, side in (("sensitivity", 1), ("specificity", 0)):
                right[judge, measure] = np.where(self.people == side, self.right[:, number], np.nan)
        full = {name.split(" (")[0]: name for name in sorted(set(names) - {None}, reverse=True)}
        parts = {full.get(name, name): part for name, part in mix.items()}
        differences, numbers = fair_shares(right, names, **self.sample), range(len(self.panel.judges))
        rates = tuple(self.own_strata(number, names) for number in numbers)
        carried = (each for number in numbers for each in self.carried(number, names, parts))
        return QuestionFairness(self.panel.question, by, differences, rates, carried=tuple(carried) if mix else ())

    def corrected(self, number: int, rows: NDArray[np.bool_]) -> Estimate:
        """The judge's failure rate on these items, corrected by all their labels."""
        return corrected_of(self.panel, number, rows, ci_level=self.ci_level, seed=self.seed).rate

    def own_strata(self, number: int, names: Strings) -> OwnStrataRate:
        """The failure rate corrected by all labels, and by each stratum's own."""
        rows = self.panel.asked[:, number] & np.array([name is not None for name in names])
        own = self.joined(number, names, Counter(sorted(names[rows])))
        return OwnStrataRate(self.panel.judges[number], self.corrected(number, rows), own)

    def joined(self, number: int, names: Strings, sizes: Mapping[str, float]) -> Estimate:
        """The failure rate corrected in each stratum by its own labels, joined by these sizes.

        Strata that share tasks move together: as their labels' totals over tasks do, where these do so at all.
        """
        all_rows = {name: self.panel.asked[:, number] & (names == name) for name in sizes}
        rows_of = {name: rows for name, rows in all_rows.items() if rows.any()}
        share, why = uncovered(sizes, list(rows_of))
        if not rows_of:
            return Estimate(estimate=math.nan, n_items=0, n_clusters=0, ci_level=self.ci_level, reason=why)
        labels = [np.where(rows, self.people, np.nan) for rows in rows_of.values()]
        shared = np.eye(len(labels))
        for i, j in combinations(range(len(labels)), 2):
            if not (np.isnan(labels[i]).all() or np.isnan(labels[j]).all()):
                shared[i, j] = shared[j, i] = max(0.0, cluster_correlation(labels[i], labels[j], self.panel.groups))
        each = [self.corrected(number, rows) for rows in rows_of.values()]
        return bounded(post_stratified_sum(each, [sizes[name] for name in rows_of], shared), share, why)

    def carried(self, number: int, names: Strings, mix: Mapping[str, float]) -> Iterator[CarriedOver]:
        """The judge's share of failing verdicts, that of right ones, and the rate that people would give."""
        judge, shares = self.panel.judges[number], {"says_failing": self.judged[:, number]}
        if not self.panel.drawn.chosen:
            shares["right"] = self.right[:, number]
        for measure, values in shares.items():
            here = clustered_proportion(values, **self.sample)
            yield CarriedOver(judge, measure, here, standardised_share(values, names, mix, **self.sample))
        there = self.joined(number, names, {name: part for name, part in mix.items() if part > 0})
        yield CarriedOver(judge, "corrected", self.corrected(number, self.panel.asked[:, number]), there)
