"""What a study of each size costs: the list prices of judges, and of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from axisjudge.checks import InputError, positive
from axisjudge.judges.pricing import LISTED_AT, Tokens, cost_usd, price_list_version
from axisjudge.results import Result, columns
from axisjudge.spec import JudgeSpec, find_provider, parse_specs, price_list_of
from axisjudge.stats.planning.study_curve import Planned, StudyCurve
from axisjudge.studies._shared.words import listed

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
    for judge in judges:
        (spec,) = parse_specs([judge])
        if find_provider(spec.provider).free:
            prices.append(JudgePrice(spec.rater, 0.0))
            continue
        price_list = None if spec.base_url else price_list_of(spec.provider)
        cost = cost_usd(tokens, spec.model, provider=price_list, url=spec.base_url, at=LISTED_AT)
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
