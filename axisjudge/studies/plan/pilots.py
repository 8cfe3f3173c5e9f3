"""What a pilot gives a plan to assume: agreement, how well a judge finds what people found, and what repeats buy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, one_of, positive
from axisjudge.judges.pricing import LISTED_AT, Tokens, cost_usd, price_list_version
from axisjudge.labels.panel import failed_items
from axisjudge.ratings import as_ratings
from axisjudge.ratings.edge import sides_of
from axisjudge.results import Result, columns
from axisjudge.spec.judge_spec import JudgeSpec, find_provider, parse_specs, price_list_of
from axisjudge.stats.agreement.chance_corrected import cohen_kappa, percent_agreement
from axisjudge.stats.planning import Allocation, Planned, StudyCurve, TasksForChange, panel_error, tasks_for_change
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.stats.reference import majority
from axisjudge.studies._shared.citations import question_variances
from axisjudge.studies._shared.frames import Floats, Given, mean_of
from axisjudge.studies._shared.pooled import Pooled, pooled
from axisjudge.studies._shared.words import listed, many

NO_FAILURE = "is of failures, and the scale of this question knows none"
#: With fewer failures or passes a pilot's sensitivity or specificity says next to nothing.
FEWEST_OF_A_KIND = 5


@dataclass(frozen=True, eq=False)
class Pilot(Result):
    """What a pilot says of one question: codes (items x judges), tasks, and figures to assume.

    `failed` is 1 where the verdict means failure, 0 for any other, NaN without one; all of it, and `prevalence`, is NaN
    on a scale that knows no failure. `kappa` and `agreement` are those of the first two judges; `tokens` is the mean of
    its calls, None where none were counted.
    """

    _keys: ClassVar = ("prevalence", "kappa", "agreement")

    question: str
    judges: tuple[str, ...]
    ratings: Floats
    failed: Floats
    tasks: NDArray[np.integer]
    kappa: float
    agreement: float
    tokens: Tokens | None

    @property
    def prevalence(self) -> float:
        """The share of verdicts that mean failure."""
        return mean_of(self.failed)

    @property
    def n_tasks(self) -> int:
        """Tasks of which the items are."""
        return int(np.unique(self.tasks).size)

    @property
    def runs_per_task(self) -> float:
        """Items of one task, on average: what one more task costs in calls."""
        return len(self.ratings) / self.n_tasks


def pilot_of(ratings: Given, question: str) -> Pilot:
    """The figures of a pilot's judges on one question; the first two judges are those compared.

    Raises
    ------
    InputError
        Fewer than two judges rated the question.
    """
    table = as_ratings(ratings)
    panel = pooled(table, question)
    if panel.n_judges < 2:
        raise TooLittle("--pilot", f"needs two judges on {question}", panel.n_judges)
    codes = panel.codes[:, : panel.n_judges]
    if np.isnan(codes[:, :2]).any(axis=1).all():
        raise TooLittle("--pilot", f"needs runs on which two judges gave a verdict on {question}")
    how: dict[str, Any] = {"categories": range(len(panel.categories)), "clusters": panel.clusters}
    asked = table.filter(question=question).drop_nulls("input_tokens")
    prompt, reply = asked.select(pl.col("input_tokens", "output_tokens").mean()).row(0)
    return Pilot(
        question=question,
        judges=panel.judges,
        ratings=codes,
        failed=_failed(panel, codes),
        tasks=panel.clusters,
        kappa=cohen_kappa(codes[:, :2], **how).estimate,
        agreement=percent_agreement(codes[:, :2], **how).estimate,
        tokens=None if prompt is None else Tokens(round(prompt), round(reply or 0)),
    )


def _failed(panel: Pooled, codes: Floats) -> Floats:
    failing = [panel.categories.index(word) for word, failed in sides_of(panel.scale).items() if failed]
    return np.where(np.isnan(codes) | (not failing), np.nan, np.isin(codes, failing))


def tasks_to_differ(pilot: Pilot, difference: float) -> TasksForChange:
    """Tasks until its first two judges are shown to differ by so much in how often they call a run incorrect.

    Raises
    ------
    InputError
        The scale knows no failure.
    """
    if np.isnan(pilot.failed).all():
        raise InputError("--difference", NO_FAILURE, pilot.question)
    return tasks_for_change(pilot.failed[:, 0], pilot.failed[:, 1], pilot.tasks, difference=difference)


@dataclass(frozen=True)
class LabelledPilot:
    """How well one judge finds what people call incorrect, on the items of a pilot that both rated.

    `per_task` is how many of them a task has, `times_as_many` how many times as many labels a rate takes where whole
    tasks of as many are labelled: the design effect of the pilot's failures.
    """

    judge: str
    n_items: int
    n_failing: int
    prevalence: float
    sensitivity: float
    specificity: float
    planted: bool
    per_task: float = 1.0
    times_as_many: float = 1.0

    def rates(self) -> dict[str, float]:
        """What a plan may assume: a share of 0 or 1 of n items counts as half an item from it, at 1 / (2 n)."""
        half = {"sensitivity": 1 / (2 * self.n_failing), "specificity": 1 / (2 * (self.n_items - self.n_failing))}
        rates = {name: float(np.clip(getattr(self, name), least, 1 - least)) for name, least in half.items()}
        return {"prevalence": self.prevalence, **rates}


def labelled_pilot(ratings: Given, question: str, judge: str | None = None) -> LabelledPilot:
    """Prevalence, sensitivity and specificity of a judge against the commonest label, from a pilot drawn at random.

    Raises
    ------
    InputError
        No such judge, several and none named, a scale without failures, or fewer than 5 items of either kind that both
        rated.
    """
    panel = pooled(ratings, question)
    if not panel.judges or (judge is None and panel.n_judges > 1):
        cure = f"name one of {listed(panel.judges, 'or')}" if panel.judges else "give judges' ratings beside the labels"
        raise InputError("--of", "must say which judge of the pilot is planned for", cure=cure)
    judge = one_of("--of", judge or panel.judges[0], panel.judges)
    failing = next((panel.categories.index(word) for word, failed in sides_of(panel.scale).items() if failed), None)
    if failing is None:
        raise InputError("--pilot", NO_FAILURE, question)
    labels = majority(failed_items(panel.codes[:, panel.n_judges :], panel.categories, failing), 2)
    verdicts = panel.codes[:, panel.judges.index(judge)]
    both = ~np.isnan(verdicts) & ~np.isnan(labels)
    flag, truth = verdicts[both] == failing, labels[both] == 1
    if min(truth.sum(), (~truth).sum()) < FEWEST_OF_A_KIND:
        counts = f"{int(truth.sum())} called incorrect, {int((~truth).sum())} not"
        rule = f"needs {FEWEST_OF_A_KIND} labelled items of either kind that {judge} rated on {question}"
        raise InputError("--pilot", rule, counts, "label more, or state assumptions")
    rate = clustered_proportion(truth, panel.clusters[both])
    shares_tasks = rate.n_clusters < rate.n_items
    return LabelledPilot(
        judge=judge,
        n_items=int(both.sum()),
        n_failing=int(truth.sum()),
        prevalence=float(truth.mean()),
        sensitivity=float(flag[truth].mean()),
        specificity=float((~flag[~truth]).mean()),
        planted=panel.planted,
        per_task=rate.n_items / rate.n_clusters,
        times_as_many=rate.design_effect if shares_tasks else 1.0,
    )


#: Of judges, and of repeats.
NUMBERS = (1, 2, 3, 5)


@dataclass(frozen=True)
class PanelError(Result):
    """Standard error of an item's mean verdict for a panel of `judges`, each asked `repeats` times.

    `fixed_judges` says that the pilot has fewer than 5 judges: what judges as such differ by is not known and left
    out, so that the figure is a lower bound.
    """

    _keys = columns(
        "question judges repeats calls", {"standard error": "standard_error", "fixed judges": "fixed_judges"}
    )

    question: str
    judges: int
    repeats: int
    standard_error: float
    fixed_judges: bool

    @property
    def calls(self) -> int:
        """Calls for one item."""
        return self.judges * self.repeats


def panel_errors(ratings: Given, *, question: str | None = None) -> tuple[PanelError, ...]:
    """Standard error of an item's mean verdict for panels of k judges asked r times, per question of a pilot.

    sqrt((sigma2_judge + sigma2_item.judge + sigma2_occasion) / k + sigma2_error / (k r)); with fewer than 5 judges in
    the pilot the component between judges is not known and left out, with fewer than 4 occasions that of occasions.
    Nothing for a question without two judges asked twice.
    """
    errors = []
    for variance in question_variances(ratings):
        parts = variance.components
        if question not in (None, variance.question) or parts is None or math.isnan(parts.error):
            continue
        fixed, between = math.isnan(parts.judge), 0.0 if math.isnan(parts.judge) else parts.judge
        occasion = 0.0 if math.isnan(parts.occasion) else parts.occasion + parts.item_occasion
        for k, r in itertools.product(NUMBERS, NUMBERS):
            error = panel_error(between, parts.item_judge, parts.error, k, r, occasion=occasion)
            errors.append(PanelError(variance.question, k, r, error, fixed))
    return tuple(errors)


#: A typical call of the shipped rubrics on a retail run: prompt and reply, in tokens.
TOKENS = Tokens(input=9_000, output=600)


@dataclass(frozen=True)
class JudgePrice:
    """List price of one call of one judge, in US dollars; None where no list price is known, which is not free."""

    judge: str
    usd_per_call: float | None


@dataclass(frozen=True)
class StudyPlan(Result):
    """A curve with what its units cost.

    `usd_per_unit` is the price of one unit (a task with all its items and judges, a label, an item labelled by all
    people); None where a price is missing, which is never taken for nothing. `price_list` is the version of
    genai-prices, empty where no paid judge is in it.
    """

    _keys = columns(
        {name: f"curve.{name}" for name in ("what", "unit", "target", "points", "needed", "assumed")},
        "usd_per_unit one_more",
    )

    curve: StudyCurve
    usd_per_unit: float | None = None
    price_list: str = ""

    @property
    def usd_needed(self) -> float | None:
        """What so many units cost; None where a price or the number is not known."""
        price, needed = self.usd_per_unit, self.curve.needed
        return None if price is None or needed is None else needed * price

    @property
    def one_more(self) -> float:
        """By how much one more unit narrows the interval where the target is met; NaN where no size tried is wider."""
        curve = self.curve
        points = [point for point in curve.points if not math.isnan(point.half_width)]
        if curve.needed is None or self.met_by_smallest or len(points) < 2:
            return math.nan
        first, second = points[-2:]
        slope = math.log(first.half_width / second.half_width) / math.log(second.n / first.n)
        return slope * curve.target / curve.needed

    @property
    def met_by_smallest(self) -> bool:
        """Whether the target is met by the smallest size that can be judged, so that fewer might do."""
        met = (point for point in self.curve.points if point.n == self.curve.needed)
        return any(point.half_width < self.curve.target or point.power > self.curve.target for point in met)

    @property
    def peak(self) -> Planned | None:
        """The size with the most power, where larger studies have clearly less; else None."""
        points = self.curve.points
        best, last = max(points, key=lambda point: point.power), points[-1]
        falls = last.power < best.power - 2 * math.hypot(best.error, last.error)
        return best if self.curve.of_power and falls else None


def judge_prices(judges: Sequence[str | JudgeSpec], tokens: Tokens = TOKENS) -> list[JudgePrice]:
    """What one call of each judge costs at list price; programs cost nothing, unknown models are not free."""
    prices = []
    for (spec,) in (parse_specs([judge]) for judge in judges):
        price_list = None if spec.base_url else price_list_of(spec.provider)
        free = find_provider(spec.provider).free
        cost = 0.0 if free else cost_usd(tokens, spec.model, provider=price_list, url=spec.base_url, at=LISTED_AT)
        prices.append(JudgePrice(spec.rater, cost))
    return prices


def study_plan(
    curve: StudyCurve,
    *,
    judges: Sequence[JudgePrice] = (),
    calls_per_unit: float = 1,
    usd_per_label: float | None = None,
    labels_per_unit: int = 0,
) -> StudyPlan:
    """Put prices to a curve: judge calls and labels of one unit.

    Raises
    ------
    InputError
        A judge without a price: a plan that took it for free would be too cheap.
    """
    if unpriced := [price.judge for price in judges if price.usd_per_call is None]:
        cure = "leave it out of the cost, or plan without judges"
        raise InputError("--judge", "must have a list price", listed(unpriced), cure)
    calls = sum(price.usd_per_call or 0.0 for price in judges) * calls_per_unit
    labels = 0.0 if usd_per_label is None else usd_per_label * labels_per_unit
    known = bool(judges) or usd_per_label is not None
    return StudyPlan(curve, calls + labels if known else None, price_list_version() if calls else "")


def label_price(minutes: float, usd_per_hour: float) -> float:
    """Price of one label in US dollars from the time it takes and an hourly rate."""
    positive("minutes", minutes)
    positive("usd_per_hour", usd_per_hour)
    return minutes / 60 * usd_per_hour


def plan_rows(plan: StudyPlan) -> list[dict[str, Any]]:
    """One row a size: what studies of it give, and cost."""
    curve, price = plan.curve, plan.usd_per_unit
    gives = {"power": "power"} if curve.of_power else {"half width": "half_width", "without interval": "refused"}
    return [
        {
            f"{curve.unit}s": point.n,
            **{name: getattr(point, field) for name, field in gives.items()},
            "USD": None if price is None else point.n * price,
        }
        for point in curve.points
    ]


def pilot_sentence(pilot: Pilot) -> str:
    """Who is compared, on how much, and how they agree."""
    runs, tasks = many(len(pilot.ratings), "run"), many(pilot.n_tasks, "task")
    failures = "" if math.isnan(pilot.prevalence) else f"{pilot.prevalence:.0%} of verdicts mean failure; "
    kappa = "no kappa, as they say one word alone," if math.isnan(pilot.kappa) else f"kappa {pilot.kappa:z.2f}"
    return (
        f"The pilot on {pilot.question}: {failures}{listed(pilot.judges[:2])} "
        f"have {kappa} over all words that they say, and agree on {pilot.agreement:.0%} ({runs} of {tasks})."
    )


def labelled_pilot_sentence(pilot: LabelledPilot) -> str:
    """The figures, with their n: a small pilot gives rough ones."""
    items = "items with planted labels" if pilot.planted else "labelled items"
    one = "The plan is for labels of one run of each task, as label page draws them"
    if pilot.times_as_many > 1:
        one += f": of whole tasks like the pilot's ({pilot.per_task:.1f} runs each) it takes about "
        one += f"{pilot.times_as_many:.1f} times as many"
    return (
        f"The pilot: {pilot.judge} on {pilot.n_items} {items}, failures {pilot.prevalence:.0%}, sensitivity "
        f"{pilot.sensitivity:.2f}, specificity {pilot.specificity:.2f}. {one}."
    )


def judged_sentence(gain: float, judges: Sequence[JudgePrice]) -> str:
    """What one more judged run buys beside one more label."""
    costs = [price.usd_per_call for price in judges if price.usd_per_call is not None]
    known = costs and len(costs) == len(judges)
    price = f" for {in_dollars(sum(costs))} (genai-prices {price_list_version()})" if known else ""
    return f"One more judged run{price} narrows the half width by {gain:.2g}, by the large-sample formula."


def allocation_sentence(shared: Allocation, budget: float) -> str:
    """What a budget buys."""
    half = f"for a half width of about {shared.half_width:.3f}, by the large-sample formula"
    if not shared.judged:
        return (
            f"{in_dollars(budget)} are best spent on {shared.labels:,} labels alone {half}: this judge is dear or weak."
        )
    return f"{in_dollars(budget)} are best spent on {shared.labels:,} labels and {shared.judged:,} judged runs {half}."


def difference_sentence(looked: TasksForChange, pilot: Pilot) -> str:
    """How many tasks show a difference of two judges, by a look at how far their tasks part and not which way."""
    more = looked.needed - looked.n_tasks
    enough = f"{many(looked.needed, 'task')} in all, {more:,} more," if more else f"The {looked.n_tasks:,} tasks judged"
    return (
        f"{enough} would show a difference of {100 * looked.difference:.3g} points between "
        f"{listed(pilot.judges[:2])} with a power of {looked.power:.0%}. This look read how far tasks part and not "
        f"which way: the test of the whole study keeps its level of {looked.level:.0%}."
    )


def in_dollars(usd: float) -> str:
    """An amount of US dollars, to what matters."""
    return f"${usd:,.0f}" if usd >= 100 else f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.3f}"
