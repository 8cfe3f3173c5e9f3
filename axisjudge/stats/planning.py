"""How large a study must be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, owens_t, stdtrit

from axisjudge.checks import InputError, TooLittle, in_open_unit_interval, one_of, positive
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.alternative_annotator import alternative_annotator, best_constant, beyond_constant, stand_in
from axisjudge.stats.betting import by_task, halfway
from axisjudge.stats.clusters import normal_part_of
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import normal_quantile
from axisjudge.verdict import VERDICTS

# How large a study must be: what an interval will be worth, by simulating studies and measuring them as real ones are.
# A study is simulated by a stated model, or by drawing tasks with replacement from a pilot, and handed to the very
# function that will report it. So the plan inherits that function's behaviour in small samples, refusals included.

# Simulated studies of growing size: what each size gives, and the size at which a target is met.

Rng = np.random.Generator

#: Share of studies of the needed size that meet a wanted half width: with its mean, every other study would miss it.
ASSURANCE = 0.8


@dataclass(frozen=True)
class Planned:
    """What studies of one size give.

    `half_width` is the half width that `ASSURANCE` of the simulated studies keep, of those that have an interval,
    `spread` its standard deviation between studies, `refused` the share of studies without an interval. For a
    test, `power` is the share of studies that reach the claim; `error` is the Monte Carlo standard error of the figure
    that is planned for.
    """

    n: int
    half_width: float
    spread: float
    refused: float
    power: float
    error: float


@dataclass(frozen=True)
class StudyCurve:
    """Studies of growing size, and the size at which the target is met (None where it is not, up to the largest).

    `what` names the statistic, `unit` what is counted (task, label, item), `target` the wanted half width or power,
    `assumed` what was put in.
    """

    what: str
    unit: str
    target: float
    points: tuple[Planned, ...]
    needed: int | None
    assumed: dict[str, float | int | str]

    @property
    def of_power(self) -> bool:
        """Whether the target is a power instead of a half width."""
        return not math.isnan(self.points[-1].power)


@dataclass(frozen=True)
class StudyQuestion:
    """What is planned: the statistic, what is counted, the target and what is assumed."""

    what: str
    unit: str
    target: float
    assumed: dict[str, float | int | str]

    def curve(self, points: list[Planned], needed: int | None) -> StudyCurve:
        """The answer."""
        return StudyCurve(self.what, self.unit, self.target, tuple(points), needed, self.assumed)


def _grow(
    sizes: Sequence[int],
    rng: Rng | int | None,
    planned: Callable[[int, Rng], Planned],
    enough: Callable[[list[Planned]], bool],
) -> list[Planned]:
    """Studies of growing size, until enough is seen."""
    source = np.random.default_rng(0 if rng is None else rng)
    points: list[Planned] = []
    for n in sorted(sizes):
        points.append(planned(n, source))
        if enough(points):
            break
    return points


def half_widths(
    asked: StudyQuestion,
    study: Callable[[int, Rng], Estimate],
    sizes: Sequence[int],
    replicates: int,
    rng: Rng | int | None,
) -> StudyCurve:
    """Grow the study until the half width that most keep is well below the target; the size lies between two sizes."""

    def planned(n: int, source: Rng) -> Planned:
        estimates = [study(n, source) for _ in range(replicates)]
        halves = np.array([(each.ci_high - each.ci_low) / 2 for each in estimates])
        given = halves[~np.isnan(halves)]
        kept, spread = (np.quantile(given, ASSURANCE), given.std()) if given.size else (math.nan, math.nan)
        error = 1.43 * spread / math.sqrt(given.size) if given.size else math.nan  # of a normal's 80% quantile
        return Planned(n, float(kept), float(spread), 1 - given.size / replicates, math.nan, float(error))

    def enough(points: list[Planned]) -> bool:
        return points[-1].half_width <= 0.8 * asked.target and points[-1].refused < 0.05

    points = _grow(sizes, rng, planned, enough)
    usable = [point for point in points if not math.isnan(point.half_width) and point.refused < 0.05]
    needed = crossing([point.n for point in usable], [point.half_width for point in usable], asked.target)
    return asked.curve(points, needed)


def powers(
    asked: StudyQuestion,
    study: Callable[[int, Rng], bool],
    sizes: Sequence[int],
    replicates: int,
    rng: Rng | int | None,
) -> StudyCurve:
    """Grow the study until its power is well above the target, or lost again: a claim can become harder with size."""

    def planned(n: int, source: Rng) -> Planned:
        power = float(np.mean([study(n, source) for _ in range(replicates)]))
        error = math.sqrt(max(power * (1 - power), 0.25 / replicates) / replicates)
        return Planned(n, math.nan, math.nan, 0.0, power, error)

    def enough(points: list[Planned]) -> bool:
        power = points[-1].power
        return power >= (1 + asked.target) / 2 or power < 0.05 < max(point.power for point in points)

    points = _grow(sizes, rng, planned, enough)
    needed = crossing([point.n for point in points], [-point.power for point in points], -asked.target)
    return asked.curve(points, needed)


def crossing(sizes: list[int], values: list[float], target: float) -> int | None:
    """The first size at which values reach down to the target, read off straight between two sizes on a log scale.

    Widths are read on a log scale too; powers come in negative and are read as they are.
    """
    first = next((at for at, value in enumerate(values) if value <= target), None)
    if not first:
        return None if first is None else sizes[0]
    (n_0, n_1), (v_0, v_1) = sizes[first - 1 : first + 1], values[first - 1 : first + 1]
    if v_1 > 0:
        v_0, v_1, target = math.log(v_0), math.log(v_1), math.log(target)
    way = (v_0 - target) / (v_0 - v_1)
    return math.ceil(float(n_0 * (n_1 / n_0) ** way))


Floats = NDArray[np.float64]

#: Sizes that are tried, each twice the one before.
SIZES = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)
#: Tasks of a pilot below which none are drawn from it.
FEWEST_PILOT_TASKS = 10
#: Simulated studies of one size. Half widths hardly differ between studies; a power needs more of them.
REPLICATES, POWER_REPLICATES = 40, 200


def kappa_panel(
    n_tasks: int,
    per_task: int,
    rng: Rng,
    *,
    prevalence: float,
    kappa: float,
    task_share: float = 0.4,
    n_raters: int = 2,
) -> tuple[Floats, NDArray[np.intp]]:
    """Verdicts of judges that agree at `kappa`, and the task of each item: a probit model.

    A judge says incorrect (1) where sqrt(s rho) u_task + sqrt((1 - s) rho) v_item + sqrt(1 - rho) e < z(prevalence);
    s is `task_share`, the part of what judges share that all items of a task share, and rho gives the wanted kappa.
    """
    rho = latent_correlation(prevalence, kappa)
    n_items = n_tasks * per_task
    tasks = np.repeat(np.arange(n_tasks), per_task)
    shared = math.sqrt(task_share) * rng.standard_normal(n_tasks)[tasks]
    shared += math.sqrt(1 - task_share) * rng.standard_normal(n_items)
    noise = rng.standard_normal((n_items, n_raters))
    score = math.sqrt(rho) * shared[:, None] + math.sqrt(1 - rho) * noise
    return (score < ndtri(prevalence)).astype(np.float64), tasks


def latent_correlation(prevalence: float, kappa: float) -> float:
    """The correlation of two judges' latent scores at which Cohen's kappa of their verdicts is `kappa` (bisection).

    Both lie below the cut c with probability Phi(c) - 2 T(c, sqrt((1 - rho) / (1 + rho))), T by Owen.

    References
    ----------
    Owen (1956), Ann. Math. Stat. 27:1075-1090, doi:10.1214/aoms/1177728074.
    """
    in_open_unit_interval("prevalence", prevalence)
    if not 0 <= kappa < 1:
        raise InputError("kappa", "must lie in [0, 1)", kappa)
    cut = float(ndtri(prevalence))

    def kappa_at(rho: float) -> float:
        both = prevalence - 2 * float(owens_t(cut, math.sqrt((1 - rho) / (1 + rho))))
        return (both - prevalence**2) / (prevalence * (1 - prevalence))

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if kappa_at(middle) < kappa else (low, middle)
    return low


def plan_agreement(
    target: float,
    *,
    coefficient: str = "cohen_kappa",
    prevalence: float = 0.2,
    kappa: float = 0.6,
    per_task: int = 1,
    task_share: float = 0.4,
    n_raters: int = 2,
    n_categories: int = len(VERDICTS),
    pilot: tuple[ArrayLike, ArrayLike] | None = None,
    sizes: Sequence[int] = SIZES,
    replicates: int = REPLICATES,
    ci_level: float = 0.95,
    rng: Rng | int | None = None,
) -> StudyCurve:
    """How many tasks give an agreement coefficient with a half width of at most `target`.

    Parameters
    ----------
    target : float
        The wanted half width of the interval.
    coefficient : str
        A name of `axisjudge.stats.agreement.coefficients.COEFFICIENTS`.
    prevalence, kappa, per_task, task_share, n_raters
        Assumptions of `kappa_panel`; `per_task` items (agents) share a task.
    n_categories : int
        Words that judges may use: AC1 depends on it, used or not. The model uses two of them.
    pilot : (ratings, tasks), optional
        Codes below `n_categories`, shape (n_items, n_raters), and the task of each item. Then whole tasks are drawn
        from it with replacement and the assumptions are not used. What the pilot itself leaves in doubt is not in the
        plan. A coefficient of two raters is planned for its first two.
    """
    positive("target", target)
    assumed: dict[str, float | int | str] = {"coefficient": coefficient, "ci_level": ci_level}
    pair = COEFFICIENTS[one_of("coefficient", coefficient, COEFFICIENTS)].two_raters
    draw: Callable[[int, Rng], tuple[Floats, NDArray[np.intp]]]
    if pilot is None:
        assumed |= {"prevalence": prevalence, "kappa": kappa, "items per task": per_task, "task share": task_share}
        model = {"prevalence": prevalence, "kappa": kappa, "task_share": task_share}
        draw = partial(_panel_of, per_task=per_task, n_raters=2 if pair else n_raters, model=model)
    else:
        draw = _from_pilot(*pilot, n_raters=2 if pair else None)
        assumed["pilot tasks"] = int(np.unique(np.asarray(pilot[1])).size)

    def study(n: int, source: Rng) -> Estimate:
        ratings, tasks = draw(n, source)
        return agreement_coefficients(
            ratings, [coefficient], categories=range(n_categories), clusters=tasks, ci_level=ci_level, rng=source
        )[coefficient]

    return half_widths(StudyQuestion(coefficient, "task", target, assumed), study, sizes, replicates, rng)


def plan_corrected_rate(
    target: float,
    *,
    prevalence: float = 0.2,
    sensitivity: float = 0.9,
    specificity: float = 0.9,
    n_judged: int = 1000,
    sizes: Sequence[int] = SIZES,
    replicates: int = REPLICATES,
    ci_level: float = 0.95,
    rng: Rng | int | None = None,
) -> StudyCurve:
    """How many labels, drawn at random from `n_judged` judged runs, give a corrected failure rate this half width.

    One run of a task is labelled at most, as `axisjudge.labels.sampling` draws: whole tasks of 4 (correlation .3)
    leave half widths wider by a quarter (160 labels) to three eighths (40), runs drawn from them one by one by a
    fifteenth.
    """
    positive("target", target)
    for name, value in (("prevalence", prevalence), ("sensitivity", sensitivity), ("specificity", specificity)):
        in_open_unit_interval(name, value)

    def study(n: int, source: Rng) -> Estimate:
        truth = (source.random(n_judged) < prevalence).astype(np.float64)
        right = source.random(n_judged) < np.where(truth == 1, sensitivity, specificity)
        verdict = np.where(right, truth, 1 - truth)
        label = np.where(np.arange(n_judged) < n, truth, np.nan)
        return corrected_rate(verdict, label, sampling="random", draw_known=True, ci_level=ci_level, rng=source).rate

    assumed: dict[str, float | int | str] = {
        "prevalence": prevalence,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "judged runs": n_judged,
        "labelled runs of a task": 1,
        "ci_level": ci_level,
    }
    usable = [n for n in sizes if n <= n_judged]
    if not usable:
        raise InputError("n_judged", f"must be at least the smallest number of labels tried, {min(sizes)}", n_judged)
    asked = StudyQuestion("a corrected failure rate", "label", target, assumed)
    return half_widths(asked, study, usable, replicates, rng)


def _within_and_between(prevalence: float, sensitivity: float, specificity: float) -> tuple[float, float]:
    """The variance of a failure within verdicts, sum_v q_v p_v (1 - p_v), and what the verdicts v tell apart."""
    p = prevalence
    says = p * sensitivity + (1 - p) * (1 - specificity)
    rates = p * sensitivity / says, p * (1 - sensitivity) / (1 - says)
    within = sum(share * rate * (1 - rate) for share, rate in zip((says, 1 - says), rates, strict=True))
    return within, p * (1 - p) - within


def one_more_judged(
    half_width: float,
    *,
    prevalence: float,
    sensitivity: float,
    specificity: float,
    n_judged: int,
    ci_level: float = 0.95,
) -> float:
    """By how much one more judged run, without a label, narrows a corrected failure rate of this half width.

    The variance is within / labels + between / n_judged, so that the half width h falls by
    z^2 between / (2 h n_judged^2); between = p (1 - p) - sum_v q_v p_v (1 - p_v) is what the verdicts v tell apart.
    """
    _, between = _within_and_between(prevalence, sensitivity, specificity)
    return normal_quantile(ci_level) ** 2 * between / (2 * half_width * n_judged**2)


@dataclass(frozen=True)
class Allocation:
    """What a budget buys: labels, judged runs, and the half width by the large-sample formula."""

    labels: int
    judged: int
    half_width: float


def allocate_budget(
    budget: float,
    *,
    usd_per_label: float,
    usd_per_run: float,
    prevalence: float,
    sensitivity: float,
    specificity: float,
    ci_level: float = 0.95,
) -> Allocation:
    r"""Labels n and judged runs N of a budget that make a corrected failure rate narrowest, labels drawn at random.

    .. math:: \min_{n, N} \frac{W}{n} + \frac{B}{N} \;\text{ with }\; c_l n + c_j N = C, \; n \le N
              \qquad\Rightarrow\qquad \frac{n}{N} = \min\left(1, \sqrt{\frac{W c_j}{B c_l}}\right)

    W = sum_v q_v p_v (1 - p_v) within verdicts, B = p (1 - p) - W between them. Where the judge is weak (B small) or
    dear every run is labelled, and the judge is worth nothing: then all of the budget goes into labels.

    Parameters
    ----------
    budget, usd_per_label, usd_per_run : float
        US dollars: in all, for a label, and for judging a run.

    Raises
    ------
    InputError
        Amounts that are not positive, shares outside (0, 1), or a budget that does not buy two labels.

    References
    ----------
    Tenenbein (1970), J. Am. Stat. Assoc. 65:1350-1361, doi:10.1080/01621459.1970.10481170 (double sampling, optimum
    allocation). Cochran (1977), Sampling Techniques, section 12.3.

    Examples
    --------
    >>> allocate_budget(500, usd_per_label=2, usd_per_run=0.05, prevalence=0.2, sensitivity=0.9, specificity=0.9)
    Allocation(labels=213, judged=1443, half_width=0.03970529793422671)
    """
    for name, value in (("budget", budget), ("usd_per_label", usd_per_label), ("usd_per_run", usd_per_run)):
        positive(name, value)
    for name, value in (("prevalence", prevalence), ("sensitivity", sensitivity), ("specificity", specificity)):
        in_open_unit_interval(name, value)
    alone = int(budget / usd_per_label)
    if alone < 2:
        raise InputError("budget", "must buy two labels", budget, f"two cost {2 * usd_per_label:g}")
    within, between = _within_and_between(prevalence, sensitivity, specificity)
    ways = [(prevalence * (1 - prevalence) / alone, alone, 0)]
    if within * usd_per_run < between * usd_per_label:
        share = math.sqrt(within * usd_per_run / (between * usd_per_label))
        judged = int(budget / (share * usd_per_label + usd_per_run))
        labels = int((budget - judged * usd_per_run) / usd_per_label)
        ways += [(within / labels + between / judged, labels, judged)] if labels > 1 and judged else []
    variance, labels, judged = min(ways, key=lambda way: way[0])
    return Allocation(labels, judged, normal_quantile(ci_level) * math.sqrt(variance))


# Looking again: how many tasks, from how far differences go and not from which way.

#: Degrees that a look keeps where hardly any task differs.
LEAST_DEGREES = 5.0


@dataclass(frozen=True)
class TasksForChange:
    """Tasks that show a difference, from how often two conditions differ at the tasks that are there.

    `n_tasks` is how many there are, `needed` how many in all, `deviation` the root mean square of a task's difference
    per item of a task of average size, whichever way it goes.
    """

    n_tasks: int
    needed: int
    deviation: float
    difference: float
    power: float
    level: float


def tasks_for_change(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    difference: float,
    power: float = 0.8,
    level: float = 0.05,
    most: int | None = None,
) -> TasksForChange:
    r"""How many tasks show a paired difference, re-estimated at a look in the middle without spending level.

    .. math:: n = \frac{(t_{1 - \alpha / 2} + t_{\beta})^2}{\Delta^2} \, \frac{1}{\bar m^2 n_1} \sum_{c=1}^{n_1} D_c^2
              + \frac{z_{1 - \alpha / 2}^2}{2}

    with D_c the sum over the m_c items of task c of second minus first, beta the power, and t on as many degrees as the
    squares show their mean on (`clusters.normal_part_of`). Squares alone are read, which way differences go is not: the
    final test flips the signs of the D_c (`comparisons.paired.paired_change`), and given their sizes, by which n was
    chosen, all signs are as likely as before where nothing differs. So that test keeps its level, for as many looks as
    one likes. As the squares hold the difference itself, n is rather too large: by about 8 tasks where it is as large
    as was asked for.

    Parameters
    ----------
    first, second : array in [0, 1] or NaN, shape (n_items,)
        Of the tasks that are there; items that lack one of them do not count.
    clusters : array, shape (n_items,), optional
        The task of each item.
    difference : float
        What is to be shown, per item.
    most : int, optional
        No more tasks than these.

    Raises
    ------
    InputError
        Arrays of two lengths, fewer than `FEWEST_PILOT_TASKS` tasks, or a number out of range.

    Notes
    -----
    1,000 studies a row on designs held back (tasks of 1 to 8 items or of one, few or whole tasks that turn), a look at
    20 tasks, 400 at most: rejected in .027 to .050 where nothing differs; power .79 to .83 where .8 was asked for.

    References
    ----------
    Friede and Kieser (2006), Biom. J. 48:537-555, doi:10.1002/bimj.200510238 (blinded re-estimation). Guenther (1981),
    Am. Stat. 35:243-244 (the last term).

    Examples
    --------
    >>> tasks_for_change([0, 1, 0, 0, 1] * 4, [1, 1, 0, 0, 0] * 4, difference=0.2).needed
    90
    """
    for name, value in (("difference", difference), ("power", power), ("level", level)):
        in_open_unit_interval(name, value)
    tasks = by_task(halfway(first, second), clusters)
    n_tasks = tasks.items.size
    if n_tasks < FEWEST_PILOT_TASKS:
        raise TooLittle("tasks", f"that are there must be {FEWEST_PILOT_TASKS} or more", n_tasks)
    moved = (2 * tasks.hits - tasks.items) / tasks.items.mean()
    deviation, z = math.sqrt(float((moved**2).mean())), float(ndtri(1 - level / 2))
    degrees = max(LEAST_DEGREES, (n_tasks - 1) * normal_part_of(moved, np.ones(n_tasks)))
    reach = float(stdtrit(degrees, 1 - level / 2) + stdtrit(degrees, power))
    needed = math.ceil((reach * deviation / difference) ** 2 + z**2 / 2)
    needed = max(n_tasks, needed if most is None else min(needed, most))
    return TasksForChange(n_tasks, needed, deviation, difference, power, level)


def plan_stand_in(
    target: float = 0.8,
    *,
    n_people: int = 3,
    epsilon: float = 0.1,
    judge_accuracy: float = 0.85,
    person_accuracy: float = 0.8,
    prevalence: float = 0.3,
    sizes: Sequence[int] = SIZES,
    replicates: int = POWER_REPLICATES,
    rng: Rng | int | None = None,
) -> StudyCurve:
    """How many items, each labelled by all people, let a judge be shown to stand in for a person, with this power.

    The claim needs the alternative annotator test passed by the judge and not by the best constant judge.

    People and judge err independently, each with its accuracy on failed and on passed items alike.
    """
    in_open_unit_interval("power", target)
    for name, value in (
        ("judge_accuracy", judge_accuracy),
        ("person_accuracy", person_accuracy),
        ("prevalence", prevalence),
    ):
        in_open_unit_interval(name, value)
    accuracies = np.array([judge_accuracy, *[person_accuracy] * n_people])

    def study(n: int, source: Rng) -> bool:
        truth = (source.random(n) < prevalence).astype(np.float64)[:, None]
        labels = np.where(source.random((n, n_people + 1)) < accuracies, truth, 1 - truth)
        test = alternative_annotator(labels[:, 0], labels[:, 1:], epsilon=epsilon)
        if not test.passed:  # whatever a constant judge does
            return False
        word, constant = best_constant(labels[:, 0], labels[:, 1:], epsilon=epsilon)
        return not stand_in(test, constant, beyond_constant(labels[:, 0], labels[:, 1:], word))

    assumed: dict[str, float | int | str] = {
        "people": n_people,
        "epsilon": epsilon,
        "judge accuracy": judge_accuracy,
        "person accuracy": person_accuracy,
        "prevalence": prevalence,
    }
    asked = StudyQuestion("the alternative annotator test", "item", target, assumed)
    return powers(asked, study, sizes, replicates, rng)


def panel_error(
    judge: float, item_judge: float, error: float, n_judges: int, n_repeats: int, *, occasion: float = 0.0
) -> float:
    """Standard error that judges and repeats leave in one item's mean verdict, with unlimited items around it.

    sqrt((sigma2_judge + sigma2_item.judge + sigma2_occasion) / k + sigma2_error / (k r)), components of
    `axisjudge.stats.repeats.variance_components`; repeats of one occasion share what it is off by.
    """
    positive("n_judges", n_judges)
    positive("n_repeats", n_repeats)
    return math.sqrt(max(judge + item_judge + occasion + error / n_repeats, 0.0) / n_judges)


def _panel_of(
    n_tasks: int, rng: Rng, *, per_task: int, n_raters: int, model: dict[str, float]
) -> tuple[Floats, NDArray[np.intp]]:
    return kappa_panel(n_tasks, per_task, rng, n_raters=n_raters, **model)


def _from_pilot(
    ratings: ArrayLike, tasks: ArrayLike, *, n_raters: int | None
) -> Callable[[int, Rng], tuple[Floats, NDArray[np.intp]]]:
    matrix, labels = np.asarray(ratings, dtype=np.float64), np.asarray(tasks)
    if matrix.ndim != 2 or labels.shape != matrix.shape[:1]:
        raise InputError("pilot", "must be ratings of items x raters and the task of each item", matrix.shape)
    members = [np.flatnonzero(labels == task) for task in np.unique(labels)]
    if len(members) < FEWEST_PILOT_TASKS:
        rule = f"needs {FEWEST_PILOT_TASKS} tasks or more to be drawn from"
        raise TooLittle("pilot", rule, len(members), "state assumptions instead")

    def draw(n: int, rng: Rng) -> tuple[Floats, NDArray[np.intp]]:
        chosen = [members[at] for at in rng.integers(0, len(members), n)]
        return matrix[np.concatenate(chosen), :n_raters], np.repeat(np.arange(n), [len(rows) for rows in chosen])

    return draw
