"""What one table of judges' and people's words says of each judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.confidence.escalation import Alone, decides_alone
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.clustered import ClusteredShare, clustered_share, mean_of_shares, more_for_half_width
from axisjudge.stats.rates.correction import SAMPLING, CorrectedRate, corrected_rate
from axisjudge.studies.check.votes import Votes

Floats = NDArray[np.float64]

#: The width that is asked for where a figure is too vague: plus or minus ten points.
WANTED_HALF_WIDTH = 0.1

#: What may be said of labelled items when only some are labelled, by how they were drawn (Begg and Greenes 1983):
#: choosing by verdict spoils what is given people's word, choosing by people's word what is given a verdict.
_SPOILT = {
    "by_judge_verdict": ("sensitivity", "specificity", "f1", "balanced_accuracy", "agreement", "kappa", "ac1"),
    "by_key": ("sensitivity", "specificity", "precision", "f1", "balanced_accuracy", "agreement", "kappa", "ac1"),
    "by_human_label": ("precision", "f1", "agreement", "kappa", "ac1"),
}


@dataclass(frozen=True)
class Terms:
    """What the figures rest on: the draw of the labels, the error a judge may make alone, the level of intervals."""

    sampling: str = "unknown"
    drawn_for: str = ""
    risk: float = 0.1
    ci_level: float = 0.95


@dataclass(frozen=True)
class JudgeCheck:
    """One judge against people.

    `measures` holds estimates by name: sensitivity, specificity, precision, f1, balanced_accuracy (of the failing
    word, where it is known), agreement, kappa and ac1; `by_word` the recall of every word. `said_failing` is the share
    of all items that the judge calls failing, `corrected` the share that people would, with its reason where there is
    none. `n_missing` counts labelled items without its verdict; `caught_bounds` is what sensitivity would be had it
    missed, or caught, all failing ones among them. `more_failures` is how many more failing items would bring
    sensitivity to +- `WANTED_HALF_WIDTH`; 0 where it is that narrow already.
    """

    name: str
    n_judged: int
    n_compared: int
    n_missing: int
    measures: dict[str, Estimate]
    by_word: dict[str, ClusteredShare]
    said_failing: ClusteredShare | None = None
    corrected: CorrectedRate | None = None
    alone: Alone | None = None
    no_alone: str = ""
    more_failures: int | None = None
    caught_bounds: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "judge": self.name,
            **{name: getattr(self, name) for name in ("n_judged", "n_compared", "n_missing", "more_failures")},
            "measures": {name: each.to_dict() for name, each in self.measures.items()},
            "recall_by_word": {name: each.to_dict() for name, each in self.by_word.items()},
            "says_failing": None if self.said_failing is None else self.said_failing.to_dict(),
            "corrected_rate": None if self.corrected is None else self.corrected.to_dict(),
            "decides_alone": None if self.alone is None else self.alone.to_dict(),
            "why_not_alone": self.no_alone or (self.alone.refusal if self.alone else ""),
            "caught_bounds": self.caught_bounds and list(self.caught_bounds),
        }


def terms_of(sampling: str, risk: float, ci_level: float, votes: Votes) -> Terms:
    """The draw of the labels in the words that all commands use; ``by-judge=gpt`` names the judge it went by."""
    way, _, judge = sampling.partition("=")
    way = {"by_judge": "by_judge_verdict", "by_human": "by_human_label"}.get(
        way.replace("-", "_"), way.replace("-", "_")
    )
    one_of("--sampling", way, SAMPLING)
    if judge and (way != "by_judge_verdict" or judge not in votes.judges):
        raise InputError("--sampling", "only by_judge_verdict=JUDGE names a judge of the file", sampling)
    if way == "by_judge_verdict" and not judge and len(votes.judges) == 1:
        judge = votes.judges[0]
    return Terms(way, judge, risk, ci_level)


def comparable(votes: Votes, terms: Terms) -> bool:
    """Whether labelled items show what judges catch and pass: not where they were chosen by a judge's verdict."""
    return votes.in_full or "sensitivity" not in _SPOILT.get(terms.sampling, ())


def judge_check(votes: Votes, place: int, terms: Terms) -> JudgeCheck:
    """Everything about the judge at `place`."""
    said, _truth = votes.ratings[:, place], votes.reference
    both = ~np.isnan(said) & votes.labelled
    measures = _agreement(votes, said, terms)
    by_word = _by_word(votes, said, terms)
    directed: dict[str, Any] = {}
    if votes.question.directed:
        measures = _directed(votes, said, terms) | measures
        directed = _failing(votes, place, measures, terms)
    alone = _alone(votes, place, terms)
    measures = {name: _allowed(each, name, votes, terms, place) for name, each in measures.items()}
    return JudgeCheck(
        name=votes.judges[place],
        n_judged=int((~np.isnan(said)).sum()),
        n_compared=int(both.sum()),
        n_missing=int((votes.labelled & np.isnan(said)).sum()),
        measures=measures,
        by_word={word: _allowed(each, "sensitivity", votes, terms, place) for word, each in by_word.items()},
        **directed,
        **({"alone": alone} if isinstance(alone, Alone) else {"no_alone": alone}),
    )


def share(values: Floats, votes: Votes, ci_level: float) -> ClusteredShare:
    """A share of items with the interval by cluster."""
    return clustered_share(values, votes.clusters, cluster_unit=votes.unit, ci_level=ci_level)


def hits(said: Floats, truth: Floats, word: float) -> Floats:
    """1 where a judge says `word` of an item of that word, 0 where another, NaN where it does not count."""
    counts = (truth == word) & ~np.isnan(said)
    return np.where(counts, said == word, np.nan)


def coefficients(votes: Votes, pair: Sequence[Floats], ci_level: float) -> dict[str, Estimate]:
    """Kappa and AC1 of two raters; with words that are numbers kappa and AC2 with quadratic weights as well."""
    asked = votes.question
    names = ["cohen_kappa", "gwet_ac1"] + (["cohen_kappa_quadratic", "gwet_ac2_quadratic"] if asked.ordinal else [])
    values = np.column_stack(pair)
    categories: list[float] = list(range(len(asked.words)))
    if asked.ordinal:
        order = np.array(asked.values)
        values = np.where(np.isnan(values), np.nan, order[np.nan_to_num(values).astype(np.intp)])
        categories = list(asked.values)
    found = agreement_coefficients(
        values, names, categories=categories, clusters=votes.clusters, cluster_unit=votes.unit, ci_level=ci_level
    )
    short = {"cohen_kappa": "kappa", "gwet_ac1": "ac1", "cohen_kappa_quadratic": "kappa_quadratic"}
    return {short.get(name, "ac2_quadratic"): each for name, each in found.items()}


def _agreement(votes: Votes, said: Floats, terms: Terms) -> dict[str, Estimate]:
    truth = votes.reference
    same = np.where(np.isnan(said) | np.isnan(truth), np.nan, said == truth)
    return {"agreement": share(same, votes, terms.ci_level), **coefficients(votes, (said, truth), terms.ci_level)}


def _by_word(votes: Votes, said: Floats, terms: Terms) -> dict[str, ClusteredShare]:
    asked = votes.question
    words = {asked.passing: 0, asked.failing: 1} if asked.directed else dict(zip(asked.words, range(99), strict=False))
    return {word: share(hits(said, votes.reference, code), votes, terms.ci_level) for word, code in words.items()}


def _directed(votes: Votes, said: Floats, terms: Terms) -> dict[str, Estimate]:
    truth, level = votes.reference, terms.ci_level
    caught, passed = hits(said, truth, 1), hits(said, truth, 0)
    either = (said == 1) | (truth == 1)
    known = ~np.isnan(said) & ~np.isnan(truth)
    overlap = share(np.where(either & known, (said == 1) & (truth == 1), np.nan), votes, level)
    return {
        "sensitivity": share(caught, votes, level),
        "specificity": share(passed, votes, level),
        "precision": share(hits(truth, said, 1), votes, level),
        "f1": _f1(overlap),
        "balanced_accuracy": mean_of_shares(caught, passed, votes.clusters, cluster_unit=votes.unit, ci_level=level),
    }


def _f1(overlap: ClusteredShare) -> Estimate:
    """F1 = 2 J / (1 + J), with J the share of items called failing by both among those called so by either."""
    ends = {
        end: 2 * value / (1 + value) for end in ("estimate", "ci_low", "ci_high") for value in [getattr(overlap, end)]
    }
    return replace(overlap, **ends, method=overlap.method and f"2 J / (1 + J), J by {overlap.method}")


def _failing(votes: Votes, place: int, measures: dict[str, Estimate], terms: Terms) -> dict[str, Any]:
    said, truth = votes.ratings[:, place], votes.reference
    sensitivity = measures["sensitivity"]
    caught = hits(said, truth, 1)
    n_lost = int(((truth == 1) & np.isnan(said)).sum())
    bounds = None
    if n_lost:
        n, n_caught = int((truth == 1).sum()), float(np.nansum(caught))
        bounds = n_caught / n, (n_caught + n_lost) / n
    more = None
    if isinstance(sensitivity, ClusteredShare):
        more = more_for_half_width(sensitivity, WANTED_HALF_WIDTH)
    sampling = terms.sampling
    if sampling == "by_judge_verdict" and terms.drawn_for != votes.judges[place]:
        sampling = "unknown"
    corrected = None
    if not votes.in_full:
        corrected = corrected_rate(
            said,
            truth,
            sampling=sampling,  # type: ignore[arg-type]
            clusters=votes.clusters,
            cluster_unit=votes.unit,
            ci_level=terms.ci_level,
        )
    return {
        "said_failing": share(np.where(votes.labelled, said, np.nan) if votes.in_full else said, votes, terms.ci_level),
        "corrected": corrected,
        "more_failures": more,
        "caught_bounds": bounds,
    }


def _alone(votes: Votes, place: int, terms: Terms) -> Alone | str:
    said, sure = votes.ratings[:, place], votes.confidence[:, place]
    if np.isnan(sure).all():
        return "no confidence of it is in the table"
    if not votes.in_full and terms.sampling != "random":
        return "labels of some items show a bound for all only if drawn at random (--sampling random)"
    wrong = np.where(np.isnan(said) | ~votes.labelled, np.nan, said != votes.reference)
    return decides_alone(
        np.where(np.isnan(said), np.nan, sure),
        wrong,
        votes.clusters,
        risk=terms.risk,
        confidence_level=terms.ci_level,
        cluster_unit=votes.unit,
    )


def _allowed(each: Any, name: str, votes: Votes, terms: Terms, place: int) -> Any:
    """The estimate, or nothing where the draw of the labels would bend it."""
    spoilt = () if votes.in_full else _SPOILT.get(terms.sampling, ())
    by_another = terms.sampling == "by_judge_verdict" and terms.drawn_for != votes.judges[place]
    base = name.removesuffix("_quadratic").replace("ac2", "ac1")
    if base not in spoilt and not (by_another and name == "precision" and not votes.in_full):
        return each
    reason = f"labelled items were drawn {terms.sampling.replace('_', ' ')}, which bends it"
    return replace(each, estimate=math.nan, ci_low=math.nan, ci_high=math.nan, reason=reason)
