"""Which verdicts of a panel, or of one judge, may stand without a person, with a bound on their error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, in_open_unit_interval, one_of
from axisjudge.results import Result
from axisjudge.stats.confidence.escalation import Alone, decides_alone
from axisjudge.stats.estimate import ClusteredShare
from axisjudge.stats.panels.linear import probability_of
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.stats.rates.uneven_draws import drawn_apart
from axisjudge.studies.panels.fitted import FittedPanel
from axisjudge.studies.panels.voted import DrawScheme, Voted

Floats = NDArray[np.float64]


class TrustVerdict(StrEnum):
    """What may be said of verdicts that would stand without a person."""

    GRANTED = "granted"
    NO_LABELS = "no_labels"
    DRAW = "draw"
    TUNED = "tuned"
    APART = "apart"
    UNLABELLED = "unlabelled"
    NOT_SHOWN = "not_shown"


@dataclass(frozen=True)
class TrustStratum(Result):
    """Items of one word or one agent: how many verdicts stand, and the error among those that people labelled."""

    by: str
    name: str
    n_items: int
    n_kept: int
    error: ClusteredShare

    @property
    def share(self) -> float:
        """Share of the stratum's items that stand."""
        return self.n_kept / self.n_items if self.n_items else 0.0


@dataclass(frozen=True)
class Trust(Result):
    """What may stand without a person.

    `alone` holds threshold, share kept, the error among the kept and its bound; `strata` the same by the word that was
    given and by agent. `n_tuned` labelled items were left out because the panel was fitted on their tasks (0 where
    `cross_fitted` says that probabilities of fits without their task stand in). A verdict `within` so many steps of
    people's counts as right. Agents and words in `unlabelled` have no label, and nothing of theirs stands;
    `apart` names in what labelled items differ from the others although the draw is said to be random.
    """

    subject: str
    question: str
    verdict: TrustVerdict
    alone: Alone
    strata: tuple[TrustStratum, ...]
    n_items: int
    n_labelled: int
    n_tuned: int
    draw: DrawScheme
    cluster_unit: str
    cross_fitted: bool = False
    within: int = 0
    unlabelled: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def granted(self) -> bool:
        """Whether any verdict may stand."""
        return self.verdict is TrustVerdict.GRANTED

    @property
    def n_kept(self) -> int:
        """How many verdicts stand."""
        return round(self.alone.share * self.alone.n_items)

    @property
    def n_rest(self) -> int:
        """How many items people read: those below the threshold, and those without a verdict."""
        return self.n_items - self.n_kept

    @property
    def worst(self) -> TrustStratum | None:
        """The stratum with the highest error among ten labelled kept items or more; None where there is none."""
        known = [each for each in self.strata if each.error.n_items >= FEWEST_OF_STRATUM]
        return max(known, key=lambda each: each.error.estimate) if known else None


#: Labelled kept items below which no stratum is called the worst.
FEWEST_OF_STRATUM = 10


def trust_panel(
    panel: FittedPanel,
    votes: Voted,
    *,
    risk: float = 0.05,
    level: float = 0.95,
    cross_fitted: bool = False,
    within: int = 0,
) -> Trust:
    """What of a fitted panel's verdicts may stand.

    Labels of tasks that the panel was fitted on would flatter it, and are left out; with `cross_fitted` the
    probabilities from fits without the item's task stand in for them, which is nearly and not exactly what the bound
    takes for granted.

    Parameters
    ----------
    votes : Voted
        The judges' votes with the labels that the bound is to rest on.
    risk, level : float
        The error allowed among the verdicts that stand, and how sure the bound must be.
    within : int
        On words with an order: a verdict so many steps from people's is no error.
    """
    p = panel.probabilities(votes)
    fitted_on = set(panel.tuned_on)
    labels = votes.labels
    tuned = np.array([task in fitted_on for task in votes.tasks]) & ~np.isnan(labels)
    if cross_fitted:
        for row in np.flatnonzero(tuned):
            p[row] = panel.held_out.get(votes.items[row], (np.nan,) * len(panel.categories))
    left = replace(votes, labels=labels if cross_fitted else np.where(tuned, np.nan, labels))
    if tuned.any() and not cross_fitted and left.draw is DrawScheme.FULL:
        left = replace(left, draw=DrawScheme.RANDOM)  # whole tasks were left out, whatever their labels
    words = panel.words(p)
    sure = probability_of(words, p, within)
    n_tuned = 0 if cross_fitted else int(tuned.sum())
    found = _trust(panel.rater, left, words, sure, risk, level, n_tuned, within)
    return replace(found, cross_fitted=cross_fitted and bool(tuned.any()))


def trust_judge(votes: Voted, judge: str, *, risk: float = 0.05, level: float = 0.95, within: int = 0) -> Trust:
    """What of one judge's verdicts may stand, by its own confidence; `within` as in `trust_panel`.

    Raises
    ------
    InputError
        No such judge, or it gave no confidences.
    """
    column = votes.judges.index(one_of("judge", judge, votes.judges))
    sure = votes.confidences[:, column]
    if np.isnan(sure).all():
        cure = "fit a panel: its probabilities serve as confidences"
        raise TooLittle(f"judge {judge}", "gave no confidences", None, cure)
    words = votes.words[:, column]
    return _trust(judge, votes, words, np.where(np.isnan(words), np.nan, sure), risk, level, 0, within)


def _trust(
    subject: str, votes: Voted, words: Floats, sure: Floats, risk: float, level: float, n_tuned: int, within: int
) -> Trust:
    in_open_unit_interval("risk", risk)
    if within and not (votes.ordered and 0 < within < len(votes.categories) - 1):
        raise InputError("within", "must lie between 0 and the steps of a scale with an order", within, "leave it out")
    if not 0.5 < level < 1:
        raise InputError("level", "must lie above .5 and below 1", level)
    labelled = ~np.isnan(votes.labels)
    wrong = np.where(labelled & ~np.isnan(words), np.abs(words - votes.labels) > within, np.nan)
    tasks = np.unique(np.array(votes.tasks), return_inverse=True)[1]
    n_labelled = int((labelled & ~np.isnan(sure)).sum())
    apart = tuple(drawn_apart(labelled, _known_of_all(votes, words), tasks)) if votes.draw is DrawScheme.RANDOM else ()
    unlabelled, unseen = _unlabelled(votes, words, labelled & ~np.isnan(sure))
    if not n_labelled or not votes.draw.carries or apart or np.isnan(sure[~unseen]).all():
        verdict = TrustVerdict.TUNED if n_tuned else TrustVerdict.NO_LABELS
        if n_labelled:
            verdict = TrustVerdict.DRAW if not votes.draw.carries else TrustVerdict.APART
            verdict = verdict if apart or not votes.draw.carries else TrustVerdict.UNLABELLED
        alone = Alone(0.0, np.nan, None, risk, level, int((~np.isnan(sure)).sum()), verdict.value)
    else:
        sure = np.where(unseen, np.nan, sure)
        alone = decides_alone(
            sure,
            wrong,
            tasks,
            weights=votes.weights,
            risk=risk,
            confidence_level=level,
            cluster_unit=votes.cluster_unit,
        )
        verdict = TrustVerdict.NOT_SHOWN if alone.refusal else TrustVerdict.GRANTED
    kept = sure >= alone.threshold  # False everywhere where the threshold is NaN
    return Trust(
        subject=subject,
        question=votes.question,
        verdict=verdict,
        alone=alone,
        strata=_strata(votes, words, kept, wrong, tasks, level) if verdict is TrustVerdict.GRANTED else (),
        n_items=len(votes.items),
        n_labelled=n_labelled,
        n_tuned=n_tuned,
        draw=votes.draw,
        cluster_unit=votes.cluster_unit,
        within=within,
        unlabelled=unlabelled,
        apart=apart,
    )


def _known_of_all(votes: Voted, words: Floats) -> dict[str, Floats]:
    """What labelled and unlabelled items can be compared by: the word given, whether judges agree, who acted."""
    features = {f"word {name}": (words == code) * 1.0 for code, name in enumerate(votes.categories)}
    low, high = (np.where(np.isnan(votes.words), end, votes.words) for end in (np.inf, -np.inf))
    features["unanimity"] = (low.min(axis=1) == high.max(axis=1)) * 1.0
    agents = {f"agent {name}": (np.array(votes.agents) == name) * 1.0 for name in sorted(set(votes.agents))}
    return {**features, **agents}


def _unlabelled(votes: Voted, words: Floats, labelled: NDArray[np.bool_]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Words and agents of which no item has a label, and their items: a bound says nothing of these."""
    of_word = {f"word {name}": words == code for code, name in enumerate(votes.categories)}
    of_agent = {f"agent {name}": np.array(votes.agents) == name for name in sorted(set(votes.agents) - {""})}
    lacking = {
        name: inside for name, inside in {**of_word, **of_agent}.items() if inside.any() and not labelled[inside].any()
    }
    return tuple(lacking), np.any([np.zeros(len(votes.items), dtype=bool), *lacking.values()], axis=0)


def _strata(
    votes: Voted, words: Floats, kept: NDArray[np.bool_], wrong: Floats, tasks: NDArray[np.intp], level: float
) -> tuple[TrustStratum, ...]:
    """By the word that was given and by agent, where there are several."""
    of_word = {name: words == code for code, name in enumerate(votes.categories)}
    agents = sorted(set(votes.agents) - {""})
    of_agent = {name: np.array(votes.agents) == name for name in agents} if len(agents) > 1 else {}
    strata = []
    for by, members in (("word", of_word), ("agent", of_agent)):
        for name, inside in members.items():
            if not inside.any():
                continue
            counted = kept & inside
            error = clustered_proportion(
                np.where(counted, wrong, np.nan),
                tasks,
                weights=votes.weights,
                cluster_unit=votes.cluster_unit,
                ci_level=2 * level - 1,
            )
            strata.append(TrustStratum(by, name, int(inside.sum()), int(counted.sum()), error))
    return tuple(strata)
