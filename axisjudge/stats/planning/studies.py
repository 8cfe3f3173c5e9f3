"""How large a study must be: what an interval will be worth, by simulating studies and measuring them as real ones are.

A study is simulated by a stated model, or by drawing tasks with replacement from a pilot, and handed to the very
function that will report it. So the plan inherits that function's behaviour in small samples, refusals included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, owens_t

from axisjudge.checks import InputError, TooLittle, in_open_unit_interval, one_of, positive
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.planning.study_curve import StudyCurve, StudyQuestion, half_widths, powers
from axisjudge.stats.raters.alternative_annotator import (
    alternative_annotator,
    best_constant,
    beyond_constant,
    stand_in,
)
from axisjudge.stats.rates.correction import corrected_rate
from axisjudge.stats.rates.proportions import normal_quantile
from axisjudge.verdict import VERDICTS

Floats = NDArray[np.float64]
Rng = np.random.Generator

#: Sizes that are tried, each twice the one before.
SIZES = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)
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
        codes = np.asarray(pilot[0], dtype=np.float64)
        draw = _from_pilot(codes[:, :2] if pair else codes, pilot[1])
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

    Runs are taken as independent (one agent's run per task), which is how labels should be drawn.
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
        "ci_level": ci_level,
    }
    usable = [n for n in sizes if n <= n_judged]
    if not usable:
        raise InputError("n_judged", f"must be at least the smallest number of labels tried, {min(sizes)}", n_judged)
    asked = StudyQuestion("a corrected failure rate", "label", target, assumed)
    return half_widths(asked, study, usable, replicates, rng)


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
    p = prevalence
    says = p * sensitivity + (1 - p) * (1 - specificity)
    rates = p * sensitivity / says, p * (1 - sensitivity) / (1 - says)
    within = sum(share * rate * (1 - rate) for share, rate in zip((says, 1 - says), rates, strict=True))
    return normal_quantile(ci_level) ** 2 * (p * (1 - p) - within) / (2 * half_width * n_judged**2)


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
        said = np.where(source.random((n, n_people + 1)) < accuracies, truth, 1 - truth)
        found = alternative_annotator(said[:, 0], said[:, 1:], epsilon=epsilon)
        if not found.passed:  # whatever a constant judge does
            return False
        word, constant = best_constant(said[:, 0], said[:, 1:], epsilon=epsilon)
        return not stand_in(found, constant, beyond_constant(said[:, 0], said[:, 1:], word))

    assumed: dict[str, float | int | str] = {
        "people": n_people,
        "epsilon": epsilon,
        "judge accuracy": judge_accuracy,
        "person accuracy": person_accuracy,
        "prevalence": prevalence,
    }
    asked = StudyQuestion("the alternative annotator test", "item", target, assumed)
    return powers(asked, study, sizes, replicates, rng)


def panel_error(judge: float, item_judge: float, error: float, n_judges: int, n_repeats: int) -> float:
    """Standard error that judges and repeats leave in one item's mean verdict, with unlimited items around it.

    sqrt(sigma2_judge / k + sigma2_item.judge / k + sigma2_error / (k r)), components of
    `axisjudge.stats.raters.repeats.variance_components`.
    """
    positive("n_judges", n_judges)
    positive("n_repeats", n_repeats)
    return math.sqrt(max(judge + item_judge + error / n_repeats, 0.0) / n_judges)


def _panel_of(
    n_tasks: int, rng: Rng, *, per_task: int, n_raters: int, model: dict[str, float]
) -> tuple[Floats, NDArray[np.intp]]:
    return kappa_panel(n_tasks, per_task, rng, n_raters=n_raters, **model)


def _from_pilot(ratings: ArrayLike, tasks: ArrayLike) -> Callable[[int, Rng], tuple[Floats, NDArray[np.intp]]]:
    matrix, labels = np.asarray(ratings, dtype=np.float64), np.asarray(tasks)
    if matrix.ndim != 2 or labels.shape != matrix.shape[:1]:
        raise InputError("pilot", "must be ratings of items x raters and the task of each item", matrix.shape)
    members = [np.flatnonzero(labels == task) for task in np.unique(labels)]
    if len(members) < 10:
        raise TooLittle("pilot", "needs 10 tasks or more to be drawn from", len(members), "state assumptions instead")

    def draw(n: int, rng: Rng) -> tuple[Floats, NDArray[np.intp]]:
        chosen = [members[at] for at in rng.integers(0, len(members), n)]
        return matrix[np.concatenate(chosen)], np.repeat(np.arange(n), [len(rows) for rows in chosen])

    return draw
