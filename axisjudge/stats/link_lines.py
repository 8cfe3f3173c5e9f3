"""Straight lines on the scale of a link: P = link(intercept + slope z), with errors between clusters.

Three ways to such a line: mean scores of people on z (fractional regression), ordinal labels on z (cumulative link),
and the population of z itself. All carry what leaving out each cluster would change; intervals rest on that.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, all_in_unit_interval
from axisjudge.stats.clusters import effective_clusters, lean_of
from axisjudge.stats.proportions import cluster_codes, t_quantile

Floats = NDArray[np.float64]
Link = Literal["probit", "logit"]

#: Degrees of freedom that few effective clusters keep: with less a band holds no information, and 2 covers .98 there.
FEWEST_DEGREES = 2.0


@dataclass(frozen=True, eq=False)
class LinkLine:
    """A line on the scale of a link.

    Parameters
    ----------
    intercept, slope : float
        NaN where there is none; `reason` then says why.
    covariance : array, shape (2, 2)
        Of intercept and slope, by the cluster jackknife (CR3): the sum of the squared `changes`.
    degrees : float
        Degrees of freedom of its intervals: K - 2 with K the effective clusters (Kish; their number G for clusters of
        one size) and 2 at least from 4 clusters on, or fewer where a few clusters carry much of the covariance (8 over
        Mardia's sum of squared distances, which is G for normal changes).
    n_clusters : int
        G.
    changes : array, shape (n_clusters, 2)
        What leaving out each cluster changes in intercept and slope; empty for a line read from a file.
    cluster_labels : array, shape (n_clusters,)
        Whose change each row is.
    sizes : array, shape (n_clusters,)
        Items of each; where these go with the changes, one end of `crossing` lies further out (`clusters.Lean`).

    Notes
    -----
    Coverage of a 95% interval by simulation (tests/scores/test_curve_coverage.py): .93 to .98 for 10 to 100 tasks of
    one size. For 12 to 50 tasks of sizes 60..2, geometric, 40..4 and one of 100 beside 50 of 2 the mean over median,
    sigma and bands is .951 to .998, the least .930 (sigma of a norm, 25 tasks of 40..4); with G - 2 degrees it was .87.

    References
    ----------
    MacKinnon, Nielsen and Webb (2023), J. Appl. Econometrics 38:671-694, doi:10.1002/jae.2969; Mardia (1970),
    Biometrika 57:519-530, doi:10.1093/biomet/57.3.519.
    """

    intercept: float
    slope: float
    covariance: Floats = field(repr=False)
    degrees: float
    n_clusters: int
    n_items: int
    link: Link = "probit"
    reason: str = ""
    changes: Floats = field(default_factory=lambda: np.empty((0, 2)), repr=False)
    cluster_labels: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    sizes: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp), repr=False)

    def standard_error(self, z: ArrayLike) -> Floats:
        """The standard error of the line at z."""
        at, v = np.asarray(z, dtype=np.float64), self.covariance
        return np.asarray(np.sqrt(np.maximum(v[0, 0] + 2 * at * v[0, 1] + at**2 * v[1, 1], 0.0)))

    def at(self, z: ArrayLike, *, ci_level: float = 0.95, simultaneous: bool = False) -> tuple[Floats, Floats, Floats]:
        """The line at z with its band, on the scale of the link.

        A pointwise band uses Student's t, a simultaneous one (Scheffé) the root of 2 F(2, degrees): the whole line
        lies within it at the stated level.
        """
        centre = self.intercept + self.slope * np.asarray(z, dtype=np.float64)
        half = self.width(ci_level, simultaneous=simultaneous) * self.standard_error(z)
        return centre, centre - half, centre + half

    def width(self, ci_level: float = 0.95, *, simultaneous: bool = False) -> float:
        """Standard errors to either side of the line that a band reaches."""
        from scipy.special import fdtri

        scheffe = math.sqrt(2 * float(fdtri(2, self.degrees, ci_level)))
        return scheffe if simultaneous else t_quantile(self.degrees, ci_level)

    def crossing(self, *, ci_level: float = 0.95) -> tuple[float, float, float]:
        """The z at which the line is 0, with Fieller's interval: every z0 whose line is compatible with 0.

        Where the slope is compatible with 0 the set has no end, and the interval is the whole line.

        References
        ----------
        Fieller (1954), J. R. Stat. Soc. B 16:175-185, doi:10.1111/j.2517-6161.1954.tb00159.x.
        """
        centre, v = -self.intercept / self.slope, self.covariance
        moved = (self.changes @ np.array([1.0, centre])) / self.slope  # less its sign: what each cluster adds
        error = float(self.standard_error(centre)) / abs(self.slope)
        below, above = lean_of(moved, self.sizes, error).quantiles(t_quantile(self.degrees, ci_level))
        return centre, self._fieller(v, below)[0], self._fieller(v, above)[1]

    def _fieller(self, v: Floats, t: float) -> tuple[float, float]:
        a = self.slope**2 - t**2 * v[1, 1]
        b = self.intercept * self.slope - t**2 * v[0, 1]
        c = self.intercept**2 - t**2 * v[0, 0]
        if not a > 0:
            return -math.inf, math.inf
        half = math.sqrt(max(b**2 - a * c, 0.0))
        return float((-b - half) / a), float((-b + half) / a)

    def spread(self, *, ci_level: float = 0.95) -> tuple[float, float, float]:
        """1 / slope with the interval that the slope's gives; without an upper end where that reaches 0."""
        half = t_quantile(self.degrees, ci_level) * math.sqrt(self.covariance[1, 1])
        low, high = self.slope - half, self.slope + half
        return 1 / self.slope, 1 / high if high > 0 else math.inf, 1 / low if low > 0 else math.inf


def fractional_line(
    z: ArrayLike, share: ArrayLike, clusters: ArrayLike | None = None, *, link: Link = "probit"
) -> LinkLine:
    """Fractional regression: the mean of shares in [0, 1] as link(intercept + slope z).

    A quasi-likelihood: only the mean needs to be right, the spread of the shares comes from the clusters. Forms are
    compared by cross-validation, not by AIC.

    Parameters
    ----------
    z : array, shape (n_items,)
    share : array in [0, 1], shape (n_items,)
    clusters : array, shape (n_items,), optional
    link : {"probit", "logit"}

    References
    ----------
    Papke and Wooldridge (1996), J. Appl. Econometrics 11:619-632.

    Examples
    --------
    >>> line = fractional_line([-1, 0, 1, 2], [0.16, 0.5, 0.84, 0.98])
    >>> round(line.slope, 1)
    1.0
    """
    at, given, groups, labels = _checked(z, share, clusters)
    all_in_unit_interval("share", given)
    if reason := _no_line(at, given, jump=bool(np.isin(given, (0, 1)).all())):
        return _undefined(reason, labels, at.size, link)
    design = np.column_stack([np.ones_like(at), at])
    beta = _binomial_fit(design, given, link)
    eta = design @ beta
    share_at, density_at = _link(link)
    mean, density = share_at(eta), density_at(eta)
    variance = np.maximum(mean * (1 - mean), 1e-12)
    scores = design * (density * (given - mean) / variance)[:, None]
    information = (density**2 / variance)[:, None, None] * design[:, :, None] * design[:, None, :]
    changes = _left_out(scores, information, groups)
    return _line(beta[0], beta[1], changes, labels, np.bincount(groups), link)


def cumulative_line(
    z: ArrayLike, label: ArrayLike, cut: int, clusters: ArrayLike | None = None, *, link: Link = "probit"
) -> LinkLine:
    """Cumulative link model of ordinal labels; the line is that of P(label >= cut).

    All cuts share one slope (proportional odds, for the logit): labels far from the cut inform it too.

    Parameters
    ----------
    z : array, shape (n_items,)
    label : array of int, shape (n_items,)
        Positions on the ordinal scale.
    cut : int
        The least label that counts.

    References
    ----------
    McCullagh (1980), J. R. Stat. Soc. B 42:109-142, doi:10.1111/j.2517-6161.1980.tb01109.x.
    """
    at, given, groups, labels = _checked(z, label, clusters)
    levels, codes = np.unique(given, return_inverse=True)
    position = int(np.searchsorted(levels, cut))
    if not 0 < position < levels.size:
        return _undefined(f"no label lies on one side of {cut}", labels, at.size, link)
    if reason := _no_line(at, given, jump=True):
        return _undefined(reason, labels, at.size, link)
    slope, thresholds = _ordered_fit(at, codes, link)
    scores, information = _ordered_parts(at, codes, slope, thresholds, link)
    changes = _left_out(scores, information, groups)
    chosen = np.column_stack([-changes[:, position], changes[:, 0]])
    return _line(-thresholds[position - 1], slope, chosen, labels, np.bincount(groups), link)


def population_line(z: ArrayLike, clusters: ArrayLike | None = None) -> LinkLine:
    """The line of a normal population, (z - median) / sd: the median of all z, the standard deviation of finite ones.

    The median's changes are linearised, with the density that Woodruff's interval implies: a jackknife of a median
    goes wrong.

    Parameters
    ----------
    z : array, shape (n_items,)
        May hold -inf, which counts below the median.

    References
    ----------
    Woodruff (1952), J. Am. Stat. Assoc. 47:635-646, doi:10.1080/01621459.1952.10483443.
    """
    at, _, groups, labels = _checked(z, np.zeros(np.size(z)), clusters, finite=False)
    finite = np.isfinite(at)
    if np.unique(at[finite]).size < 3:
        return _undefined("fewer than three different values: no spread", labels, at.size, "probit")
    if finite.mean() <= 0.5:
        return _undefined("the median is not finite", labels, at.size, "probit")
    median, spread = float(np.median(at)), float(at[finite].std(ddof=1))
    n_groups = labels.size
    inside = np.bincount(groups, weights=0.5 - (at <= median), minlength=n_groups)
    error = math.sqrt(n_groups / max(n_groups - 1, 1) * float((inside**2).sum())) / at.size
    half = t_quantile(max(n_groups - 1, 1), 0.95) * error
    low = float(np.quantile(at, max(0.5 - half, 0.0), method="lower"))
    high = float(np.quantile(at, min(0.5 + half, 1.0), method="higher"))
    if not math.isfinite(low):
        return _undefined("the median's interval has no lower end", labels, at.size, "probit")
    sizes = np.bincount(groups, minlength=n_groups)
    slack = (high - low) / (2 * half) if half > 0 else math.nan
    median_change = -inside * slack / np.maximum(at.size - sizes, 1)
    spread_change = _sd_left_out(at[finite], groups[finite], n_groups) - spread
    changes = np.column_stack(
        [-median_change / spread + median * spread_change / spread**2, -spread_change / spread**2]
    )
    return _line(-median / spread, 1 / spread, changes, labels, sizes, "probit")


def _checked(
    z: ArrayLike, other: ArrayLike, clusters: ArrayLike | None, *, finite: bool = True
) -> tuple[Floats, Floats, NDArray[np.intp], NDArray[Any]]:
    at, given = np.asarray(z, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if at.ndim != 1 or at.shape != given.shape:
        raise InputError("z", "needs one value for each item", (at.shape, given.shape))
    if np.isnan(at).any() or np.isnan(given).any() or (finite and not np.isfinite(at).all()):
        raise InputError("z", "every item needs finite values", cure="drop the items without one, and say so")
    groups = cluster_codes(clusters, at.size)
    labels = np.arange(at.size) if clusters is None else np.unique(np.asarray(clusters))
    return at, given, groups, labels


def _no_line(z: Floats, given: Floats, *, jump: bool) -> str:
    """Why there can be no line; `jump` if values that part at points of z send the slope to infinity."""
    if np.unique(z).size < 3:
        return "fewer than three different values on the horizontal axis"
    if np.unique(given).size < 2:
        return "all values on the vertical axis are equal"
    up, down = given[np.lexsort((given, z))], given[np.lexsort((-given, z))]
    parted = bool((np.diff(up) >= 0).all() or (np.diff(down) <= 0).all())
    return "values part without overlap: the slope has no upper limit" if jump and parted else ""


def _undefined(reason: str, labels: NDArray[Any], n_items: int, link: Link) -> LinkLine:
    return LinkLine(math.nan, math.nan, np.full((2, 2), np.nan), math.nan, labels.size, n_items, link, reason)


def _line(
    intercept: float, slope: float, changes: Floats, labels: NDArray[Any], sizes: NDArray[np.intp], link: Link
) -> LinkLine:
    n_items = int(sizes.sum())
    if not np.isfinite(changes).all():
        return _undefined("the slope hangs on one cluster", labels, n_items, link)
    covariance = changes.T @ changes
    if np.linalg.det(covariance) <= 0:
        return _undefined("the slope hangs on one cluster", labels, n_items, link)
    distances = np.einsum("gi,ij,gj->g", changes, np.linalg.inv(covariance), changes)
    most = max(effective_clusters(sizes) - 2, min(labels.size - 2, FEWEST_DEGREES))
    degrees = max(min(8 / float((distances**2).sum()), most), 1.0)
    return LinkLine(
        float(intercept),
        float(slope),
        covariance,
        degrees,
        labels.size,
        n_items,
        link,
        changes=changes,
        cluster_labels=labels,
        sizes=sizes,
    )


def _binomial_fit(design: Floats, share: Floats, link: Link) -> Floats:
    from statsmodels.genmod.families import Binomial, links
    from statsmodels.genmod.generalized_linear_model import GLM

    family = Binomial(links.Probit() if link == "probit" else links.Logit())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # separation is looked for below, by the slope
        return np.asarray(GLM(share, design, family=family).fit(maxiter=100, tol=1e-10).params, dtype=np.float64)


def _ordered_fit(z: Floats, codes: NDArray[np.intp], link: Link) -> tuple[float, Floats]:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = OrderedModel(codes, z[:, None], distr=link)
        params = np.asarray(model.fit(method="bfgs", disp=False, maxiter=500, gtol=1e-8).params)
    return float(params[0]), np.asarray(model.transform_threshold_params(params)[1:-1], dtype=np.float64)


def _ordered_parts(
    z: Floats, codes: NDArray[np.intp], slope: float, thresholds: Floats, link: Link
) -> tuple[Floats, Floats]:
    """Scores and expected information of each item in (slope, thresholds)."""
    share, density = _link(link)
    eta = thresholds[None, :] - slope * z[:, None]
    ends = np.zeros((z.size, 1))
    cumulative = np.hstack([ends, share(eta), ends + 1])
    heights = np.hstack([ends, density(eta), ends])
    chance = np.maximum(np.diff(cumulative, axis=1), 1e-12)
    n_labels = chance.shape[1]
    gradient = np.zeros((z.size, n_labels, 1 + thresholds.size))  # of each label's chance
    gradient[:, :, 0] = -z[:, None] * np.diff(heights, axis=1)
    for cut in range(thresholds.size):
        gradient[:, cut, 1 + cut] += heights[:, cut + 1]
        gradient[:, cut + 1, 1 + cut] -= heights[:, cut + 1]
    rows = np.arange(z.size)
    scores = gradient[rows, codes] / chance[rows, codes][:, None]
    information = np.einsum("nki,nkj->nij", gradient / chance[:, :, None], gradient)
    return scores, information


def _left_out(scores: Floats, information: Floats, groups: NDArray[np.intp]) -> Floats:
    """What one Newton step changes when each cluster is left out: -(A - A_g)^-1 s_g."""
    n_groups = int(groups.max()) + 1
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(n_groups))
    of_group = np.add.reduceat(scores[order], starts, axis=0)
    held = information.sum(axis=0) - np.add.reduceat(information[order], starts, axis=0)
    if (np.linalg.det(held) <= 1e-9 * np.linalg.det(information.sum(axis=0))).any():
        return np.full_like(of_group, np.nan)
    return np.asarray(-np.linalg.solve(held, of_group[:, :, None])[:, :, 0])


def _sd_left_out(z: Floats, groups: NDArray[np.intp], n_groups: int) -> Floats:
    centred = z - z.mean()
    counts = z.size - np.bincount(groups, minlength=n_groups)
    first = centred.sum() - np.bincount(groups, weights=centred, minlength=n_groups)
    second = (centred**2).sum() - np.bincount(groups, weights=centred**2, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((second - first**2 / counts) / (counts - 1)))


def _link(link: Link) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    from scipy.special import expit, ndtr

    return (ndtr, normal_density) if link == "probit" else (expit, lambda eta: expit(eta) * expit(-eta))


def normal_density(eta: ArrayLike) -> Floats:
    """The standard normal density."""
    return np.asarray(np.exp(-np.square(eta) / 2) / math.sqrt(2 * math.pi))
