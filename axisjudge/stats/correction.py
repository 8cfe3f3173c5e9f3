"""Failure rates from many judge verdicts and few human labels; the estimator follows how labelled items were drawn.

=====================  ================================================================================================
drawn                  estimator
=====================  ================================================================================================
at random              post-stratified by the judge's verdict v, sum_v q_v P(incorrect by people | v), with the hull of
                       Beta(1/2) posterior and MOVER-Wilson; prediction-powered with Student's t from 200 labels on
by judge's verdict     the same; without recorded probabilities only by this judge's own verdict
by a recorded key      the same, with classes of about equal probability as strata too; prediction-powered where the
                       labels are worth 200 of even weight; bets, which are wide, where few of them stand for many and
                       the probabilities of other items are not known
by the human label     Rogan and Gladen with Lang and Reiczigel's interval
in an unknown way      none: every estimator fails for some way
=====================  ================================================================================================

A verdict that takes no side, and a lost one, is a stratum of its own: what people say of such items counts. Items of a
kind that was not drawn may hold no failure, or nothing else: they widen the interval by their share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_of
from axisjudge.results import Result, plain
from axisjudge.stats import uneven_draws
from axisjudge.stats.clusters import effective_clusters
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.estimate import ClusteredShare, CountTerms, Estimate, counts_of, difference_ends, many
from axisjudge.stats.proportions import cluster_codes, clustered_proportion, normal_quantile
from axisjudge.stats.uneven_draws import (
    Floats,
    Ints,
    LabelledSample,
    Values,
    eff_per_item,
    post_stratified_interval,
    unlabelled_share,
)

# A rate corrected for a judge's sensitivity and specificity: Rogan and Gladen, with Lang and Reiczigel's interval.
# Valid where labelled items were drawn by the human label (so many failures, so many others): sensitivity and
# specificity can be estimated from it, the share of failures cannot. Drawn by the judge's verdict both are biased.


@dataclass(frozen=True)
class Counts:
    """`hits` of `n`; neither need be whole, where items in clusters count for less than one each."""

    hits: float
    n: float

    def __post_init__(self) -> None:
        if not (self.n > 0 and 0 <= self.hits <= self.n):
            raise InputError("counts", "must hold 0 <= hits <= n and n > 0", (self.hits, self.n))

    @property
    def share(self) -> float:
        """hits / n."""
        return self.hits / self.n

    def added(self, both: float) -> Counts:
        """With `both` / 2 hits and `both` / 2 misses more."""
        return Counts(self.hits + both / 2, self.n + both)

    @property
    def variance(self) -> float:
        """Binomial variance of the share."""
        return self.share * (1 - self.share) / self.n


def rogan_gladen(flagged: Counts, sensitivity: Counts, specificity: Counts) -> float:
    """(apparent + specificity - 1) / (sensitivity + specificity - 1), held to [0, 1]; NaN for a judge like a coin.

    Parameters
    ----------
    flagged : Counts
        Items the judge calls incorrect, of those it judged.
    sensitivity : Counts
        Of the items people call incorrect, those the judge does too.
    specificity : Counts
        Of the other items, those the judge does not call incorrect.

    References
    ----------
    Rogan and Gladen (1978), Am. J. Epidemiol. 107:71-76, doi:10.1093/oxfordjournals.aje.a112510.

    Examples
    --------
    >>> round(rogan_gladen(Counts(23, 150), Counts(96, 100), Counts(89, 100)), 3)
    0.051
    """
    youden = sensitivity.share + specificity.share - 1
    if youden <= 0:
        return math.nan
    return min(1.0, max(0.0, (flagged.share + specificity.share - 1) / youden))


def lang_reiczigel_interval(
    flagged: Counts, sensitivity: Counts, specificity: Counts, *, ci_level: float = 0.95
) -> tuple[float, float]:
    """Interval of the Rogan-Gladen rate that takes the error of all three shares; NaN for a judge like a coin.

    With one hit and one miss added to sensitivity and specificity each, z^2/2 of each to the flagged items, and P the
    rate from these: P + d +- z sd(P), d = 2 z^2 (P v_se - (1 - P) v_sp), v the binomial variances.

    References
    ----------
    Lang and Reiczigel (2014), Prev. Vet. Med. 113:13-22, doi:10.1016/j.prevetmed.2013.09.015.
    """
    z = normal_quantile(ci_level)
    apparent, hit, pass_ = flagged.added(z**2), sensitivity.added(2), specificity.added(2)
    youden = hit.share + pass_.share - 1
    if youden <= 0:
        return math.nan, math.nan
    rate = (apparent.share + pass_.share - 1) / youden
    shift = 2 * z**2 * (rate * hit.variance - (1 - rate) * pass_.variance)
    variance = (apparent.variance + rate**2 * hit.variance + (1 - rate) ** 2 * pass_.variance) / youden**2
    half = z * math.sqrt(variance)
    low, high = (min(1.0, max(0.0, rate + shift + end)) for end in (-half, half))
    return low, high


Sampling = Literal["random", "by_judge_verdict", "by_key", "by_human_label", "unknown"]
SAMPLING: tuple[Sampling, ...] = get_args(Sampling)

#: With fewer labels no rate is given.
FEWEST_LABELS = 10
#: From so many labels (clusters of them), with so many of the rarer word, the prediction-powered mean is used.
LARGE_SAMPLE, LARGE_SAMPLE_RARE = 200, 30
#: An interval this close to that of the labels alone (width over width) is not worth a judge.
LITTLE_HELP = 0.9
SWITCHED = (
    f"prediction-powered, as from {LARGE_SAMPLE} labelled units with {LARGE_SAMPLE_RARE} of the rarer word on; "
    "post-stratified below"
)
POST_STRATIFIED = "post-stratified, hull of Beta(1/2) posterior and MOVER-Wilson"

WORDS = ("incorrect", "other", "none")  # strata: the judge says incorrect, says something else, gives no verdict


@dataclass(frozen=True)
class Stratum:
    """Items with one kind of verdict, and what people say of those they labelled (NaN where none)."""

    verdict: str
    n_items: int
    n_labelled: int
    share_incorrect: float


@dataclass(frozen=True)
class CorrectedRate(Result):
    """A corrected failure rate.

    `rate` is the corrected one, `apparent` the judge's own share of incorrect verdicts, `labels_alone` what the labels
    say without the judge. `warnings` are plain sentences; `refusal` says why there is no rate, and is empty otherwise.
    """

    rate: Estimate
    apparent: Estimate
    labels_alone: Estimate
    strata: tuple[Stratum, ...]
    sampling: str
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def if_twice(self) -> float:
        r"""The rate, had people labelled what fails twice as often, :math:`\sum_v q_v p_v / (2 - p_v)` by verdict v.

        At least the share labelled as failing; NaN where labels are of all items, or not said to be random. A weak
        judge does not show that they are not: of 50 in 200, failures thrice as often, where it errs in .05, .15, .3
        the rate is covered in .95, .42, .03.
        """
        if self.sampling != "random" or not self.rate.n_missing or math.isnan(self.rate.estimate):
            return math.nan
        shares = [(each.share_incorrect, each.n_items, each.n_labelled) for each in self.strata]
        share, n, labelled = np.array(shares, dtype=float).T
        return float(np.average(np.maximum(share / (2 - share), share * labelled / n), weights=n))


def corrected_rate(
    verdict: ArrayLike,
    label: ArrayLike,
    *,
    sampling: Sampling,
    probability: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    features: uneven_draws.Families = (),
    draw_known: bool = False,
    rng: np.random.Generator | int | None = None,
) -> CorrectedRate:
    """The share of items that people would call incorrect.

    Parameters
    ----------
    verdict : array of 1, 0 or NaN, shape (n_items,)
        1 where the judge says incorrect, 0 where it says something else, NaN where it takes no side or was lost. The
        items are the population the rate is about.
    label : array of 1, 0 or NaN, shape (n_items,)
        The same by people; NaN where nobody labelled.
    sampling : str
        How the labelled items were drawn. ``by_judge_verdict`` without `probability` means: by these very verdicts.
        Where all items are labelled there is nothing to correct, and the rate is that of the labels.
    probability : array, shape (n_items,), optional
        Inclusion probabilities; NaN where they are not known of items without a label. Of all items they may hold up to
        a common factor. Drawn by a key, those of labels alone give an interval that allows for kinds unseen: by what
        the labels fall short of standing for all items, and wholly, by bets, where that is more than an error or they
        are worth fewer than 50 of even weight.
    clusters : array, shape (n_items,), optional
        Which items belong together; without it items are taken as independent.
    features : families of arrays, shape (n_items,), by name, optional
        What else is known of labelled and unlabelled items alike (`uneven_draws.comparable_features`). Labels that are
        said to be drawn at random are refused where these or the verdicts show that they were not (each family at the
        1% level); those drawn by verdict where these do within a verdict.
    draw_known : bool
        Whether a program at hand drew the labels, so that nothing need show it.
    rng : numpy.random.Generator or int, optional
        Source of posterior draws; a fixed seed by default.

    Returns
    -------
    CorrectedRate

    Notes
    -----
    Beta and Dirichlet counts in clusters are scaled by 1/deff and (z / t)^2, as in `clustered_proportion`. Coverage of
    the 95% interval, 2,000 replicates: see tests/stats/test_correction_coverage.py.

    References
    ----------
    Tenenbein (1970), J. Am. Stat. Assoc. 65:1350-1361, doi:10.1080/01621459.1970.10481170 (double sampling);
    Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453; Begg and Greenes (1983), Biometrics 39:207-215,
    doi:10.2307/2530820 (verification bias).

    Examples
    --------
    >>> verdict = [1.0] * 200 + [0.0] * 800
    >>> label = [1.0] * 18 + [0.0] * 6 + [np.nan] * 176 + [0.0] * 72 + [1.0] * 4 + [np.nan] * 724
    >>> corrected_rate(verdict, label, sampling="random").rate.estimate  # .2 x 18/24 + .8 x 4/76
    0.19210526315789475
    """
    verdicts, labels = _binary("verdict", verdict), _binary("label", label)
    if verdicts.shape != labels.shape:
        rule = f"needs one entry for each of the {verdicts.size} items, NaN without one"
        raise InputError("label", rule, labels.shape)
    one_of("sampling", sampling, SAMPLING)
    in_open_unit_interval("ci_level", ci_level)
    labelled = ~np.isnan(labels)
    weight = uneven_draws.label_weights(probability, labelled)
    groups = cluster_codes(clusters, verdicts.size)
    strata = np.where(np.isnan(verdicts), 2, np.where(verdicts == 1, 0, 1)).astype(np.intp)
    by_stratum = tuple(_stratum(strata, labels, weight, kind) for kind in range(len(WORDS)) if (strata == kind).any())
    n_lost, n_clusters = int((~labelled).sum()), int(groups.max(initial=-1)) + 1
    counts = {"n_items": verdicts.size, "n_missing": n_lost, "n_clusters": n_clusters}
    counted = counts_of(clusters, cluster_unit, ci_level, **counts)
    apparent = proportion_again(verdicts, None if clusters is None else groups, cluster_unit, ci_level)
    refusal = _refusal(sampling, probability is not None, labels)
    if not refusal and not draw_known and not labelled.all():
        if sampling == "random":
            own = {"no verdict": strata == 2, "verdict failing": strata == 0}
            refusal = uneven_draws.apart_reason(labelled, ({**own, **dict(*features[:1])}, *features[1:]), groups)
        elif sampling == "by_judge_verdict" and probability is None:
            refusal = uneven_draws.apart_reason(labelled, features, groups, strata)
    if refusal:
        nothing = Estimate(estimate=math.nan, reason=refusal, **counted)
        return CorrectedRate(nothing, apparent, nothing, by_stratum, sampling, (), refusal)
    sample = LabelledSample(strata, labels, weight, groups, ci_level, rng)
    if labelled.all():
        alone = _labels_alone(sample, counted)
        return CorrectedRate(alone, apparent, alone, by_stratum, sampling, (), "" if alone.n_items else alone.reason)
    values: Values | str
    unseen, represented = 0.0, 1.0
    if sampling == "by_human_label":
        alone = Estimate(
            estimate=math.nan, reason="labels drawn by the human label have no rate of their own", **counted
        )
        values = _by_human_label(sample, verdicts)
    else:
        if sampling == "by_judge_verdict" and probability is None:
            sample = replace(sample, weight=uneven_draws.weights_within(strata, labelled))
        classes = uneven_draws.probability_classes(probability, labelled) if sampling == "by_key" else None
        known = sampling != "by_key" or uneven_draws.known_of_all(probability)
        alone = _labels_alone(sample, counted, classes)
        reason = "" if known else uneven_draws.not_standing_for_all(sample)
        if classes is not None and not reason:
            sample, reason = uneven_draws.in_classes(sample, classes)
        if reason:
            alone = _by_bets(sample, reason, counted)
            return CorrectedRate(alone, apparent, alone, by_stratum, sampling, (), alone.reason)
        represented = 1.0 if known else uneven_draws.standing_for(sample)
        alone = uneven_draws.allowing_for_unseen(alone, represented)
        if sampling == "by_judge_verdict":
            sample = replace(sample, undrawn=True)
        unseen = unlabelled_share(sample)
        if sampling == "by_judge_verdict" and unseen > uneven_draws.MOST_UNLABELLED:
            alone = Estimate(estimate=math.nan, reason="labels of some verdicts have no rate of their own", **counted)
        values = _post_stratified(sample) if unseen else _with_the_judge(sample, verdicts, by_stratum)
    if isinstance(values, str):
        return CorrectedRate(alone, apparent, alone, by_stratum, sampling, (values,), alone.reason)
    rate = uneven_draws.allowing_for_unseen(_estimate(values, counted), represented)
    if math.isnan(rate.estimate):
        return CorrectedRate(rate, apparent, alone, by_stratum, sampling, (), rate.reason)
    return CorrectedRate(rate, apparent, alone, by_stratum, sampling, _warnings(rate, alone, unseen))


def corrected_difference(first: CorrectedRate, second: CorrectedRate) -> Estimate:
    """First minus second, by `difference_ends`, which takes the two sets of labels as independent."""
    a, b = first.rate, second.rate
    result = partial(
        Estimate,
        ci_level=a.ci_level,
        n_items=a.n_items + b.n_items,
        n_clusters=min(a.n_clusters, b.n_clusters),
        cluster_unit=a.cluster_unit,
    )
    if first.refusal or second.refusal:
        return result(estimate=math.nan, reason=first.refusal or second.refusal)
    low, high = difference_ends(a, b)
    reason = (a.reason or b.reason) if math.isnan(low) else ""
    return result(estimate=a.estimate - b.estimate, ci_low=low, ci_high=high, method="MOVER", reason=reason)


def pairwise_level(n_rates: int, ci_level: float = 0.95) -> float:
    """The level at which every difference of two of `n_rates` must be taken for all to hold together (Bonferroni)."""
    return 1 - (1 - in_open_unit_interval("ci_level", ci_level)) / max(1, n_rates * (n_rates - 1) // 2)


def corrected_rank_sets(rates: Sequence[CorrectedRate], *, ci_level: float = 0.95) -> RankSets:
    """Simultaneous rank sets (rank 1 is the highest rate) from the intervals of all differences.

    Parameters
    ----------
    rates : sequence of CorrectedRate
        One for each agent, with intervals at `pairwise_level`; an agent without one (its rate is
        refused, or of one task) may hold any rank.
    ci_level : float
        Joint level of the rank sets.

    Notes
    -----
    Values per item that average to the corrected rate could be ranked by sign flips of tasks, but with 15 labels an
    agent these part equal agents in 13% of runs.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91(1), doi:10.1093/restud/rdad006.
    """
    count = len(rates)
    level = pairwise_level(count, ci_level)
    if wrong := [each.rate.ci_level for each in rates if abs(each.rate.ci_level - level) > 1e-12]:
        raise InputError("rates", f"must have intervals at level {level:.6g} for ranks to hold together", wrong[0])
    above = np.zeros((count, count), dtype=bool)  # [k, j]: k lies above j
    for j, k in itertools.permutations(range(count), 2):
        above[k, j] = corrected_difference(rates[k], rates[j]).ci_low > 0  # NaN is not
    known = [each.rate for each in rates if not math.isnan(each.rate.ci_low)]
    refusal = "" if len(known) > 1 else "fewer than two corrected rates to compare"
    return RankSets(
        means=np.array([each.rate.estimate for each in rates]),
        rank_low=1 + above.sum(axis=0),
        rank_high=count - above.sum(axis=1),
        p_values=np.full((count, count), np.nan),
        ci_level=ci_level,
        n_clusters=min((rate.n_clusters for rate in known), default=0),
        n_missing=sum(rate.n_missing for rate in known),
        method="intervals of all differences (MOVER), Bonferroni",
        monte_carlo_error=0.0,
        refusal=refusal,
    )


def _binary(where: str, values: ArrayLike) -> Floats:
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1 or not ((row == 0) | (row == 1) | np.isnan(row)).all():
        raise InputError(where, "must be one row of 1 (incorrect), 0 or NaN", values)
    return row


def _stratum(strata: Ints, labels: Floats, weight: Floats, kind: int) -> Stratum:
    inside = strata == kind
    asked = inside & ~np.isnan(labels)
    share = float(np.average(labels[asked], weights=weight[asked])) if asked.any() else math.nan
    return Stratum(WORDS[kind], int(inside.sum()), int(asked.sum()), share)


def _refusal(sampling: str, weighted: bool, labels: Floats) -> str:
    n_labelled = int((~np.isnan(labels)).sum())
    if sampling == "unknown":
        return "how the labelled items were drawn is not known, and every estimator fails for some way of drawing them"
    if n_labelled < FEWEST_LABELS:
        return f"{many(n_labelled, 'labelled item')}; a corrected rate needs {FEWEST_LABELS}"
    if sampling == "by_human_label":
        n_failed = int(np.nansum(labels))
        if min(n_failed, n_labelled - n_failed) < 5:
            counts = f"{n_failed} labelled incorrect and {n_labelled - n_failed} other"
            return f"{counts} items; sensitivity and specificity need 5 of each"
        return ""
    if sampling == "by_key" and not weighted:
        return "labels drawn by a key need the probability of each, and it was not recorded"
    return ""


def _with_the_judge(sample: LabelledSample, verdicts: Floats, strata: tuple[Stratum, ...]) -> Values | str:
    """Post-stratified, or prediction-powered in large samples; or why the labels stand alone."""
    if any(not each.n_labelled and each.n_items > uneven_draws.MOST_UNLABELLED * verdicts.size for each in strata):
        return "a verdict that is common has no label: the labels stand alone"
    if len(strata) == 1:
        return "the judge says the same of all items: it is too weak to help, and the labels stand alone"
    if _flagged(sample, verdicts, 1.0) <= _flagged(sample, verdicts, 0.0):  # NaN is no finding
        why = "the judge calls failed runs incorrect no more often than others"
        return f"{why}: it is too weak to help, and the labels stand alone"
    labels = sample.label[sample.labelled]
    of_cluster = np.bincount(sample.groups[sample.labelled], weights=sample.weight[sample.labelled])
    n_units = effective_clusters(of_cluster)
    if n_units < LARGE_SAMPLE or min(labels.sum(), (1 - labels).sum()) < LARGE_SAMPLE_RARE:
        return _post_stratified(sample)
    from axisjudge.stats.prediction_powered import prediction_powered_mean

    mean = prediction_powered_mean(
        np.where(np.isnan(verdicts), 0.5, verdicts),
        sample.label,
        weight=sample.weight,
        clusters=sample.groups,
        ci_level=sample.ci_level,
    )
    return Values(mean.estimate, mean.ci_low, mean.ci_high, mean.method, (SWITCHED,))


def _labels_alone(sample: LabelledSample, counted: CountTerms, classes: Ints | None = None) -> Estimate:
    """The weighted share of failures among labels; of equal weights, `clustered_proportion`."""
    weights = sample.weight[sample.labelled]
    if (weights != weights[:1]).any():
        one_stratum = replace(sample, strata=np.zeros(sample.label.size, dtype=np.intp))
        if classes is not None:
            one_stratum, _ = uneven_draws.in_classes(one_stratum, classes)
        return _estimate(
            Values(*post_stratified_interval(one_stratum), "weighted, hull of Beta(1/2) posterior and MOVER"), counted
        )
    unit = counted["cluster_unit"]
    share = proportion_again(sample.label, None if unit == "item" else sample.groups, unit, sample.ci_level)
    return replace(share, n_items=counted["n_items"], n_missing=counted["n_missing"])


def _post_stratified(sample: LabelledSample) -> Values:
    return Values(*post_stratified_interval(sample), POST_STRATIFIED)


def _by_bets(sample: LabelledSample, reason: str, counted: CountTerms) -> Estimate:
    """What bets on the labels say, with the reason why they must."""
    estimate, low, high = uneven_draws.rate_by_bets(sample)
    if low > high:
        return Estimate(estimate=math.nan, reason=f"{reason}, and together for more items than there are", **counted)
    method = "weighted, bets on labels"
    return Estimate(estimate=estimate, ci_low=low, ci_high=high, method=method, notes=(reason,), **counted)


def _by_human_label(sample: LabelledSample, verdicts: Floats) -> Values:
    """Sensitivity and specificity from the labelled items, the apparent rate from all; no side taken is no flag."""
    flag = (verdicts == 1).astype(np.float64)

    def counts(hit: Floats, among: NDArray[np.bool_]) -> Counts:
        share, n = float(hit[among].mean()), int(among.sum())
        influence = np.where(among, hit - share, 0.0) / n
        n_eff = n * eff_per_item(sample, influence, among)
        return Counts(share * n_eff, n_eff)

    parts = counts(flag, np.ones(flag.size, bool)), counts(flag, sample.label == 1), counts(1 - flag, sample.label == 0)
    interval = lang_reiczigel_interval(*parts, ci_level=sample.ci_level)
    return Values(rogan_gladen(*parts), *interval, "Rogan-Gladen, Lang-Reiczigel interval")


def _estimate(values: Values, counted: CountTerms) -> Estimate:
    estimate, low, high, method, notes = values
    if math.isnan(estimate) or math.isnan(low):
        reason = "the judge tells failures from other runs no better than a coin, so that nothing can be corrected"
        return Estimate(estimate=math.nan, reason=reason, **counted)
    return Estimate(estimate=estimate, ci_low=low, ci_high=high, method=method, notes=notes, **counted)


def _warnings(rate: Estimate, alone: Estimate, unseen: float) -> tuple[str, ...]:
    if unseen > uneven_draws.MOST_UNLABELLED:
        kinds = f"kinds of items that were not drawn have no label ({unseen:.0%} of the items)"
        return (f"{kinds}: the interval allows that all of them fail, or none",)
    width, without = rate.ci_high - rate.ci_low, alone.ci_high - alone.ci_low
    if not width >= LITTLE_HELP * without:  # NaN where labels have no rate of their own
        return ()
    verdicts = f"the corrected interval is {width:.2f} wide, that of the labels alone {without:.2f}"
    return (f"the judge is too weak to help: {verdicts}",)


def _flagged(sample: LabelledSample, verdicts: Floats, word: float) -> float:
    """Share of the items with this label that the judge calls incorrect."""
    among = (sample.label == word) & ~np.isnan(verdicts)
    return float(np.average(verdicts[among], weights=sample.weight[among])) if among.any() else math.nan


def proportion_again(
    values: NDArray[np.float64], groups: NDArray[np.intp] | None, cluster_unit: str, ci_level: float
) -> ClusteredShare:
    """`clustered_proportion` of values and codes of clusters, remembered by what they hold."""
    codes = None if groups is None else np.asarray(groups, dtype=np.intp).tobytes()
    return _proportion(np.asarray(values, dtype=np.float64).tobytes(), codes, cluster_unit, ci_level)


@lru_cache(maxsize=512)
def _proportion(values: bytes, groups: bytes | None, cluster_unit: str, ci_level: float) -> ClusteredShare:
    codes = None if groups is None else np.frombuffer(groups, dtype=np.intp)
    return clustered_proportion(np.frombuffer(values), codes, cluster_unit=cluster_unit, ci_level=ci_level)


# Of several agents: each agent, all together, and how they rank.

ALL_AGENTS = "all agents"


@dataclass(frozen=True)
class CorrectedRates(Result):
    """One judge's failure rates on one question, corrected: of all agents together and of each.

    `differences` holds (agent, other agent, first minus second); `ranks` the simultaneous rank sets of `agents`.
    """

    overall: CorrectedRate
    by_agent: dict[str, CorrectedRate] = field(default_factory=dict)
    differences: tuple[tuple[str, str, Estimate], ...] = ()
    ranks: RankSets | None = None

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents in the order of `ranks`."""
        return tuple(self.by_agent)

    @property
    def listed(self) -> list[tuple[str, CorrectedRate, str]]:
        """All agents together and then each: name, rate, and the ranks that it may hold (empty where not ranked)."""
        ranks = {}
        if self.ranks is not None and not self.ranks.refusal:
            ends = zip(self.agents, self.ranks.rank_low, self.ranks.rank_high, strict=True)
            ranks = {agent: f"{low} to {high}" if low < high else f"{low}" for agent, low, high in ends}
        rates = {ALL_AGENTS: self.overall} | self.by_agent
        return [(agent, rate, ranks.get(agent, "")) for agent, rate in rates.items()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; of single agents and of differences the estimates in short."""
        by_agent = {agent: _in_short(rate) for agent, rate in self.by_agent.items()}
        gaps = [{"agent": one, "other": other, "difference": gap.in_short} for one, other, gap in self.differences]
        values: dict[str, Any] = plain({**self.named_values(), "by_agent": by_agent, "differences": gaps})
        return values


def _in_short(corrected: CorrectedRate) -> dict[str, Any]:
    rates = {name: getattr(corrected, name).in_short for name in ("rate", "apparent", "labels_alone")}
    counts = {"n_items": corrected.rate.n_items, "n_labelled": corrected.rate.n_items - corrected.rate.n_missing}
    return {**rates, **counts, "warnings": corrected.warnings, "refusal": corrected.refusal}


def corrected_by_agent(
    rate: Callable[[NDArray[np.bool_], float], CorrectedRate],
    agents: NDArray[np.object_],
    asked: NDArray[np.bool_],
    *,
    ci_level: float = 0.95,
) -> CorrectedRates:
    """The corrected rate of all items that were asked, and of those of each agent where there are two or more.

    Parameters
    ----------
    rate : callable
        Gives the corrected rate of some items (a mask) at a level.
    agents : array, shape (n_items,)
        The agent of each item; None where it is not named.
    asked : array of bool, shape (n_items,)
    """
    names = sorted({agent for agent in agents[asked] if agent is not None})
    if len(names) < 2:
        return CorrectedRates(rate(asked, ci_level))
    rows_of = {agent: asked & (agents == agent) for agent in names}
    by_agent = {agent: rate(rows, ci_level) for agent, rows in rows_of.items()}
    level = pairwise_level(len(names), ci_level)
    return CorrectedRates(
        overall=rate(asked, ci_level),
        by_agent=by_agent,
        differences=tuple(
            (one, other, corrected_difference(by_agent[one], by_agent[other]))
            for one, other in itertools.combinations(names, 2)
        ),
        ranks=corrected_rank_sets([rate(rows, level) for rows in rows_of.values()], ci_level=ci_level),
    )
