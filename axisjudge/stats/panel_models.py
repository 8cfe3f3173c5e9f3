"""The one form that every way of putting judges together takes: words add up to scores, scores to probabilities.

    score_c = b_c + sum_j T[j, v_j, c]            v_j the word of judge j; a judge that gave none adds nothing
    p_c     = softmax(s score)_c
    word    = argmax_c u_c p_c

A vote has T[j, v, c] = w_j 1[v = c], divided by the weights of those who answered; Dawid and Skene's classes have
b_c = log prior_c and T[j, v, c] = log P(v | c); a stack has T fitted. So any of them is read, kept and applied alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, one_each

#: Probabilities below are taken for this one where their logarithm is needed.
TINY = 1e-300

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Recipe:
    """How a stack is mixed: what each (power of the log odds, penalty) counts for, and the best judge's vote."""

    parts: tuple[tuple[float, float, float], ...]
    best: float


@dataclass(frozen=True, eq=False)
class LinearPanel:
    """Judges put together: `table` (judges, words, classes), `intercept` (classes,), `temperature` s.

    `weights` (judges,) are what may be read; `shared` says that scores are divided by the weights of those who
    answered. A judge of weight 0 is not asked. `recipe` says of which parts a stack is mixed. `shift` (classes,) is log
    u; without it the word is the likeliest.
    """

    intercept: Floats
    table: Floats
    weights: Floats
    temperature: float = 1.0
    shared: bool = False
    recipe: Recipe | None = None
    shift: Floats | None = None

    @property
    def n_categories(self) -> int:
        """Number of words."""
        return self.intercept.size

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which judges the panel needs, shape (n_judges,); all where none weighs anything."""
        needed: NDArray[np.bool_] = self.weights != 0
        return needed if needed.any() else ~needed

    def scores(self, words: ArrayLike) -> Floats:
        """Scores, shape (n_items, n_categories); NaN where no judge of the panel gave a word.

        Parameters
        ----------
        words : array, shape (n_items, n_judges)
            Positions of words, NaN where a judge gave none.
        """
        coded = codes(words, self.n_categories)
        if coded.shape[1] != len(self.table):
            raise InputError("words", f"must have a column for each of the {len(self.table)} judges", coded.shape)
        given = (coded < self.n_categories) & self.asked
        silent = np.zeros((len(self.table), 1, self.n_categories))
        padded = np.concatenate([self.table, silent], axis=1)
        total: Floats = padded[np.arange(coded.shape[1]), coded].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = total / (given @ self.weights)[:, None] if self.shared else total
        total = total + self.intercept
        total[~given.any(axis=1)] = np.nan
        return total

    def probabilities(self, words: ArrayLike) -> Floats:
        """Probability of each word, shape (n_items, n_categories)."""
        return softmax(self.temperature * self.scores(words))

    def words(self, probabilities: Floats) -> Floats:
        """The panel's words, shape (n_items,): positions, NaN where it has no probability."""
        if self.shift is None:
            return likeliest(probabilities)
        return likeliest(np.log(np.maximum(probabilities, TINY)) + self.shift)


def codes(words: ArrayLike, n_categories: int) -> Codes:
    """Words as whole numbers, `n_categories` where there is none.

    Raises
    ------
    InputError
        Not a matrix, or a word that is none of the categories.
    """
    given = np.asarray(words, dtype=np.float64)
    if given.ndim != 2:
        raise InputError("words", "must be a matrix of items and judges", given.shape)
    lost = np.isnan(given)
    if not np.isin(given[~lost], np.arange(n_categories)).all():
        raise InputError("words", f"must be positions below {n_categories}, or NaN", words)
    whole: Codes = np.where(lost, n_categories, given).astype(np.intp)
    return whole


def softmax(scores: Floats) -> Floats:
    """Scores as probabilities along the last axis."""
    power = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(power / power.sum(axis=-1, keepdims=True))


def likeliest(scores: Floats) -> Floats:
    """The position of the highest score of each item; NaN where there is none."""
    lost = np.asarray(np.isnan(scores).any(axis=1))
    best: Floats = np.where(lost, np.nan, np.where(lost[:, None], 0.0, scores).argmax(axis=1))
    return best


def probability_of(words: Floats, probabilities: Floats, within: int = 0) -> Floats:
    """The probability of each item's word or one so many positions from it, shape (n_items,); NaN where it has none."""
    near = np.abs(words[:, None] - np.arange(probabilities.shape[1])) <= within
    return np.where(np.isnan(words), np.nan, np.where(near, probabilities, 0.0).sum(axis=1))


def family_weights(families: Sequence[str]) -> Floats:
    """The weight of each judge such that every family has one vote, shape (n_judges,).

    Examples
    --------
    >>> family_weights(["google", "openai", "openai"]).tolist()
    [1.0, 0.5, 0.5]
    """
    names, position, size = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    return np.asarray(1.0 / size[position], dtype=np.float64) if names.size else np.zeros(0)


def vote(words: ArrayLike, weights: ArrayLike, n_categories: int) -> LinearPanel:
    """A weighted vote; where words are level, the one that is commoner among all votes wins.

    Parameters
    ----------
    words : array, shape (n_items, n_judges)
        The votes, from which it is known which word is commoner.
    weights : array, shape (n_judges,)
        0 for a judge without a vote.
    """
    weight = np.asarray(weights, dtype=np.float64)
    coded = codes(words, n_categories)
    counts = np.stack([(coded == word).sum(axis=0) for word in range(n_categories)], axis=1)
    common = weight @ counts
    table = np.broadcast_to(np.eye(n_categories), (weight.size, n_categories, n_categories)) * weight[:, None, None]
    tie = 1e-9 * common / max(float(common.sum()), 1.0)
    return LinearPanel(tie, table, weight, shared=True)


# What a panel is fitted on: everybody's words, the labels of some items, and which items belong together.

#: Parts of a cross-validation.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class PanelVotes:
    """Items x judges, with labels.

    `words` (items, judges) are positions below `n_categories`, NaN where a judge gave none; `labels` (items,) are NaN
    where nobody labelled; `weights` are 1 over the probability with which an item was drawn for labelling; `groups`
    number the tasks; `families` name each judge's. `ordered` says that the words have an order, that of positions.
    """

    words: Floats
    labels: Floats
    weights: Floats
    groups: NDArray[np.intp]
    families: tuple[str, ...]
    n_categories: int
    ordered: bool = False

    def __post_init__(self) -> None:
        n, k = self.words.shape
        for name in ("labels", "weights", "groups"):
            one_each(name, getattr(self, name), n)
        one_each("families", self.families, k, of="judges")

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items have a label, shape (n_items,)."""
        given: NDArray[np.bool_] = ~np.isnan(self.labels)
        return given

    @property
    def n_labelled_groups(self) -> int:
        """Tasks with a label."""
        return int(np.unique(self.groups[self.labelled]).size)

    def only(self, kept: NDArray[np.bool_]) -> PanelVotes:
        """These items alone."""
        rows = {name: getattr(self, name)[kept] for name in ("words", "labels", "weights", "groups")}
        return replace(self, **rows)

    def hidden(self, kept: NDArray[np.bool_]) -> PanelVotes:
        """All items, with the labels of these alone."""
        return replace(self, labels=np.where(kept, self.labels, np.nan))

    def without(self, judge: int) -> PanelVotes:
        """All items, as if this judge had said nothing."""
        words = self.words.copy()
        words[:, judge] = np.nan
        return replace(self, words=words)


def folds(groups: NDArray[np.intp], rng: np.random.Generator, n_folds: int = FOLDS) -> NDArray[np.intp]:
    """A part for each item, shape (n_items,), whole tasks together and as many tasks in each part as can be."""
    names, position = np.unique(groups, return_inverse=True)
    part = np.arange(names.size) % max(1, min(n_folds, names.size))
    return np.asarray(rng.permutation(part)[position], dtype=np.intp)


def held_out(
    votes: PanelVotes, rng: np.random.Generator, n_folds: int = FOLDS
) -> Iterator[tuple[PanelVotes, NDArray[np.bool_]]]:
    """For each part the votes with the labels of the other parts alone, and which items are the part's."""
    part = np.full(votes.groups.size, -1, dtype=np.intp)
    part[votes.labelled] = folds(votes.groups[votes.labelled], rng, n_folds)
    for fold in range(int(part.max(initial=-1)) + 1):
        inside = part == fold
        yield votes.hidden(votes.labelled & ~inside), inside


def accuracies(votes: PanelVotes) -> Floats:
    """Each judge's accuracy on the labelled items, shape (n_judges,); an item without its word counts as wrong."""
    rows = votes.labelled
    right = votes.words[rows] == votes.labels[rows, None]
    return np.asarray(np.average(right, axis=0, weights=votes.weights[rows]))


# Dawid and Skene's model: each judge has its own confusion of words, and the truth is a class that nobody saw.
#
#     P(v_1 .. v_k | c) = prod_j P_j(v_j | c)       the errors of judges are independent given the class
#
# It needs no labels, and it cannot know errors that judges share: these look to it like the truth.
#
# References
# ----------
# Dawid and Skene (1979), Appl. Stat. 28:20-28, doi:10.2307/2346806.

#: Words that a judge is taken to have said once more in each class than it was seen to.
SMOOTHING = 0.5
_MOST_ROUNDS, _SMALL = 200, 1e-5


def dawid_skene(words: ArrayLike, n_categories: int, *, smoothing: float = SMOOTHING) -> LinearPanel:
    """Prior and confusion of each judge by expectation and maximisation, from the shares of votes on.

    Parameters
    ----------
    words : array, shape (n_items, n_judges)
        Positions of words, NaN where a judge gave none.
    n_categories : int
    smoothing : float
        Added to every count, so that no word is impossible.

    Returns
    -------
    LinearPanel
        ``intercept`` is the log prior, ``table[j, v, c]`` the log probability that judge j says v of class c;
        `weights` are the mean log odds by which a judge's word speaks for its own class.
    """
    coded = codes(words, n_categories)
    given = coded < n_categories
    onehot = np.eye(n_categories + 1)[coded][..., :n_categories]  # items, judges, words
    votes = onehot.sum(axis=1) + smoothing / n_categories
    posterior = votes / votes.sum(axis=1, keepdims=True)
    posterior[~given.any(axis=1)] = 0.0  # nobody's word tells nothing
    for _ in range(_MOST_ROUNDS):
        panel = _maximised(onehot, posterior, smoothing)
        scores = panel.intercept + np.einsum("ijv,jvc->ic", onehot, panel.table)
        expected = np.where(given.any(axis=1, keepdims=True), softmax(scores), 0.0)
        moved = float(np.abs(expected - posterior).max(initial=0.0))
        posterior = expected
        if moved < _SMALL:
            break
    return _maximised(onehot, posterior, smoothing)


def _maximised(onehot: Floats, posterior: Floats, smoothing: float) -> LinearPanel:
    prior = posterior.sum(axis=0) + smoothing
    counts = np.einsum("ijv,ic->jvc", onehot, posterior) + smoothing
    table = np.log(counts / counts.sum(axis=1, keepdims=True))
    return LinearPanel(np.log(prior / prior.sum()), table, pulls(table))


def pulls(table: Floats) -> Floats:
    """By how much a judge's word speaks for its own class against the others, mean over words, shape (n_judges,)."""
    n = table.shape[1]
    own = np.einsum("jvv->jv", table)
    return np.asarray(((own * n - table.sum(axis=2)) / max(n - 1, 1)).mean(axis=1))


# The multinomial logit with features that differ by class, by Newton's method, with a ridge on chosen coefficients.
#
#     p_ic = softmax_c(x_ic . beta)         maximise sum_i w_i log p_i,y_i - 1/2 sum_k penalty_k beta_k^2
#
# References
# ----------
# McFadden (1974), Conditional logit analysis of qualitative choice behavior, in Frontiers in Econometrics 105-142.
# le Cessie and van Houwelingen (1992), doi:10.2307/2347628 (ridge).

_MOST_STEPS, _SMALL_CONDITIONAL_LOGIT = 50, 1e-8
#: Scores that labels speak against count for next to nothing; at 0 all words would be level and the first one given.
_FLATTEST = 1e-3


def conditional_logit(
    features: Floats, labels: Codes, penalty: Floats, *, weights: Floats | None = None, start: Floats | None = None
) -> Floats:
    """The coefficients, shape (n_features,).

    Parameters
    ----------
    features : array, shape (n_items, n_classes, n_features)
    labels : array of int, shape (n_items,)
        The class of each item.
    penalty : array, shape (n_features,)
        0 for a coefficient that is free; with separable classes something must hold it.
    weights : array, shape (n_items,), optional
        How many items each row stands for: equal rows may be given once.
    """
    n_rows, n_classes, n_features = features.shape
    weight = np.ones(n_rows) if weights is None else weights
    n = float(weight.sum())
    against = np.ascontiguousarray((features[:, 1:] - features[:, :1]).transpose(1, 0, 2))  # the first class scores 0
    rows = against.reshape(-1, n_features)
    truth = (labels == np.arange(1, n_classes)[:, None]).astype(np.float64)

    def fitted(beta: Floats) -> tuple[float, Floats]:
        """The objective, and the probability of each class but the first, shape (n_classes - 1, n_rows)."""
        scores = (rows @ beta).reshape(n_classes - 1, n_rows)
        high = np.maximum(scores.max(axis=0, initial=0.0), 0.0)
        power = np.exp(scores - high)
        total = power.sum(axis=0) + np.exp(-high)
        value = float(weight @ ((truth * scores).sum(axis=0) - high - np.log(total)) - penalty @ beta**2 / 2)
        return value, power / total

    beta = np.zeros(n_features) if start is None else start
    value, p = fitted(beta)
    for _ in range(_MOST_STEPS):
        gradient = (weight * (truth - p)).ravel() @ rows - penalty * beta
        about_mean = against - np.einsum("ci,cif->if", p, against)
        curvature = (about_mean * (weight * p)[..., None]).reshape(-1, n_features).T @ rows
        step = np.linalg.solve(curvature + np.diag(penalty + 1e-9 * n), gradient)
        while (moved := fitted(beta + step))[0] < value - 1e-12:
            step = step / 2
            if np.abs(step).max() < _SMALL_CONDITIONAL_LOGIT:
                return beta
        beta, gain, (value, p) = beta + step, moved[0] - value, moved
        if gain < _SMALL_CONDITIONAL_LOGIT * n:
            break
    return beta


def temperature(scores: Floats, labels: Codes, weights: Floats | None = None) -> float:
    """The s > 0 with which softmax(s score) is best calibrated on labels, shape of scores (n_items, n_classes).

    A weak ridge (a standard deviation of 10 for s) keeps it finite where the scores are never wrong.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML, arXiv:1706.04599.
    """
    given = ~np.isnan(scores).any(axis=1)
    if not given.any():
        return 1.0
    kept = None if weights is None else weights[given] / weights[given].mean()
    (scale,) = conditional_logit(scores[given][..., None], labels[given], np.array([0.01]), weights=kept)
    return max(float(scale), _FLATTEST)
