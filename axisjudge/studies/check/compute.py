"""What one table of judges' and people's words says of each judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from axisjudge.checks import InputError, one_of
from axisjudge.ratings.scales import Level
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficients import coefficient_names
from axisjudge.stats.clusters import ALIKE
from axisjudge.stats.confidence.escalation import Alone, decides_alone
from axisjudge.stats.estimate import ClusteredShare, Estimate, nothing_of
from axisjudge.stats.raters.balanced import balanced_accuracy
from axisjudge.stats.rates.clustered import more_for_half_width
from axisjudge.stats.rates.correction import SAMPLING, CorrectedRate, corrected_rate
from axisjudge.stats.rates.proportions import clustered_proportion, t_quantile
from axisjudge.studies._shared.frames import Floats
from axisjudge.studies.check.votes import Votes

E = TypeVar("E", bound=Estimate)


def coefficients_of(level: Level) -> dict[str, str]:
    """Measure -> the coefficient of two raters that it is, as tables of agreement on scales of `level` show them."""
    return {name: of for name, of in coefficient_names(2, level).items() if of != "percent_agreement"}


#: The same for both levels.
CHANCE_CORRECTED = coefficients_of("nominal") | coefficients_of("ordinal")
#: The width that is asked for where a figure is too vague: plus or minus ten points.
WANTED_HALF_WIDTH = 0.1

#: What may be said of labelled items when only some are labelled, by how they were drawn (Begg and Greenes 1983):
#: choosing by verdict spoils what is given people's word, choosing by people's word what is given a verdict.
#: What bends agreement bends it beyond chance too.
_SPOILT = {
    "by_judge_verdict": ("sensitivity", "specificity", "f1", "balanced_accuracy", "agreement"),
    "by_key": ("sensitivity", "specificity", "precision", "f1", "balanced_accuracy", "agreement"),
    "by_human_label": ("precision", "f1", "agreement"),
}


@dataclass(frozen=True)
class CheckTerms:
    """What the figures rest on: the draw of the labels, the error a judge may make alone, the level of intervals."""

    sampling: str = "unknown"
    drawn_for: str = ""
    risk: float = 0.1
    ci_level: float = 0.95


@dataclass(frozen=True)
class JudgeCheck(Result):
    """One judge against people.

    `measures` holds estimates by name: sensitivity, specificity, precision, f1, balanced_accuracy (of the failing
    word, where it is known), agreement, and the coefficients of agreement beyond chance of the words' level; `by_word`
    the recall of every word. `said_failing` is the share of all items that the judge calls failing, `corrected` the
    share that people would, with its reason where there is none. `n_missing` counts labelled items without its verdict;
    `caught_bounds` is what sensitivity would be had it missed, or caught, all failing ones among them. `more_failures`
    is how many more failing items would bring sensitivity to +- `WANTED_HALF_WIDTH`; 0 where it is that narrow already.
    `other_way` holds the shares that go with the sizes of clusters, with what counts alike the other way round.
    """

    _keys = columns(
        "judge=name n_judged n_compared n_missing more_failures measures recall_by_word=by_word",
        "says_failing=said_failing corrected_rate=corrected decides_alone=alone why_not_alone caught_bounds other_way",
    )

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
    other_way: dict[str, ClusteredShare] = field(default_factory=dict)

    @property
    def why_not_alone(self) -> str:
        """Why it may decide nothing alone; empty where it may."""
        return self.no_alone or (self.alone.refusal if self.alone else "")


def terms_of(sampling: str, risk: float, ci_level: float, votes: Votes) -> CheckTerms:
    """The draw of the labels in the words that all commands use; ``by-judge=gpt`` names the judge it went by."""
    way, _, judge = sampling.partition("=")
    way = way.replace("-", "_")
    way = one_of("--sampling", {"by_judge": "by_judge_verdict", "by_human": "by_human_label"}.get(way, way), SAMPLING)
    if judge and (way != "by_judge_verdict" or judge not in votes.judges):
        raise InputError("--sampling", "only by_judge_verdict=JUDGE names a judge of the file", sampling)
    if way == "by_judge_verdict" and not judge and len(votes.judges) == 1:
        judge = votes.judges[0]
    return CheckTerms(way, judge, risk, ci_level)


def comparable(votes: Votes, terms: CheckTerms) -> bool:
    """Whether labelled items show what judges catch and pass: not where they were chosen by a judge's verdict."""
    return votes.in_full or "sensitivity" not in _SPOILT.get(terms.sampling, ())


def judge_check(votes: Votes, number: int, terms: CheckTerms) -> JudgeCheck:
    """Everything about the judge at `number`."""
    codes = votes.ratings[:, number]
    measures = _agreement(votes, codes, terms)
    right = {word: hits(codes, votes.reference, code) for code, word in enumerate(votes.question.words)}
    by_word = {word: share(values, votes, terms.ci_level) for word, values in right.items()}
    failing: dict[str, Any] = {}
    if votes.question.directed:
        measures = _directed(votes, codes, terms) | measures
        failing = _failing(votes, number, measures, terms)
    alone = _alone(votes, number, terms)
    other_way = _other_way(votes, codes, measures, terms)
    measures = {name: _allowed(each, name, votes, terms, number) for name, each in measures.items()}
    return JudgeCheck(
        name=votes.judges[number],
        n_judged=int((~np.isnan(codes)).sum()),
        n_compared=int((~np.isnan(codes) & votes.labelled).sum()),
        n_missing=int((votes.labelled & np.isnan(codes)).sum()),
        measures=measures,
        other_way={name: each for name, each in other_way.items() if not math.isnan(measures[name].estimate)},
        by_word={word: _allowed(each, "sensitivity", votes, terms, number) for word, each in by_word.items()},
        **failing,
        **({"alone": alone} if isinstance(alone, Alone) else {"no_alone": alone}),
    )


def share(values: Floats, votes: Votes, ci_level: float) -> ClusteredShare:
    """A share of items with the interval by cluster."""
    return clustered_proportion(values, alike=votes.alike, **votes.how(ci_level))


def _other_way(
    votes: Votes, codes: Floats, measures: dict[str, Estimate], terms: CheckTerms
) -> dict[str, ClusteredShare]:
    """Shares that go with the sizes of clusters (t of items alike less clusters alike), the other way round."""
    if votes.clusters is None:
        return {}
    truth = votes.reference
    every = {"agreement": np.where(np.isnan(codes) | np.isnan(truth), np.nan, codes == truth)}
    if votes.question.directed:
        every |= {"sensitivity": hits(codes, truth, 1), "specificity": hits(codes, truth, 0)}
    found = {}
    for name, values in every.items():
        both = {alike: clustered_proportion(values, alike=alike, **votes.how(terms.ci_level)) for alike in ALIKE}
        of_items = both["items"]
        if of_items.n_clusters > 2 and abs(of_items.lean.sizes_t) > t_quantile(of_items.n_clusters - 1, terms.ci_level):
            found[name] = both["clusters" if votes.alike == "items" else "items"]
    return found


def hits(codes: Floats, truth: Floats, word: float) -> Floats:
    """1 where a judge says `word` of an item of that word, 0 where another, NaN where it does not count."""
    counts = (truth == word) & ~np.isnan(codes)
    return np.where(counts, codes == word, np.nan)


def coefficients(votes: Votes, pair: Sequence[Floats], ci_level: float) -> dict[str, Estimate]:
    """Agreement of two raters beyond chance, by the coefficients of the words' level."""
    asked = votes.question
    names = coefficients_of(asked.level)
    values = np.column_stack(pair)
    categories: list[float] = list(range(len(asked.words)))
    if asked.level == "ordinal":
        order = np.array(asked.values)
        values = np.where(np.isnan(values), np.nan, order[np.nan_to_num(values).astype(np.intp)])
        categories = list(asked.values)
    estimates = agreement_coefficients(
        values, list(names.values()), categories=categories, alike=votes.alike, **votes.how(ci_level)
    )
    return {name: estimates[of] for name, of in names.items()}


def _agreement(votes: Votes, codes: Floats, terms: CheckTerms) -> dict[str, Estimate]:
    truth = votes.reference
    same = np.where(np.isnan(codes) | np.isnan(truth), np.nan, codes == truth)
    return {"agreement": share(same, votes, terms.ci_level), **coefficients(votes, (codes, truth), terms.ci_level)}


def _directed(votes: Votes, codes: Floats, terms: CheckTerms) -> dict[str, Estimate]:
    truth, level = votes.reference, terms.ci_level
    caught, passed = hits(codes, truth, 1), hits(codes, truth, 0)
    either = (codes == 1) | (truth == 1)
    known = ~np.isnan(codes) & ~np.isnan(truth)
    overlap = share(np.where(either & known, (codes == 1) & (truth == 1), np.nan), votes, level)
    return {
        "sensitivity": share(caught, votes, level),
        "specificity": share(passed, votes, level),
        "precision": share(hits(truth, codes, 1), votes, level),
        "f1": _f1(overlap),
        "balanced_accuracy": balanced_accuracy(
            np.where(truth == 1, caught, passed), truth, words=(0, 1), alike=votes.alike, **votes.how(level)
        ),
    }


def _f1(overlap: ClusteredShare) -> Estimate:
    """F1 = 2 J / (1 + J), with J the share of items called failing by both among those called so by either."""
    ends = {
        end: 2 * value / (1 + value) for end in ("estimate", "ci_low", "ci_high") for value in [getattr(overlap, end)]
    }
    return replace(overlap, **ends, method=overlap.method and f"2 J / (1 + J), J by {overlap.method}")


def _failing(votes: Votes, number: int, measures: dict[str, Any], terms: CheckTerms) -> dict[str, Any]:
    codes, truth = votes.ratings[:, number], votes.reference
    sensitivity = measures["sensitivity"]
    n, n_lost = int((truth == 1).sum()), int(((truth == 1) & np.isnan(codes)).sum())
    n_caught = float(np.nansum(hits(codes, truth, 1)))
    sampling: Any = "unknown" if _by_another(terms, votes, number) else terms.sampling
    corrected = None
    if not votes.in_full:
        corrected = corrected_rate(
            codes, truth, sampling=sampling, features=votes.families, **votes.how(terms.ci_level)
        )
    return {
        "said_failing": share(
            np.where(votes.labelled, codes, np.nan) if votes.in_full else codes, votes, terms.ci_level
        ),
        "corrected": corrected,
        "more_failures": more_for_half_width(sensitivity, WANTED_HALF_WIDTH),
        "caught_bounds": (n_caught / n, (n_caught + n_lost) / n) if n_lost else None,
    }


def _alone(votes: Votes, number: int, terms: CheckTerms) -> Alone | str:
    codes, sure = votes.ratings[:, number], votes.confidence[:, number]
    if np.isnan(sure).all():
        return "no confidence of it is in the table"
    if not votes.in_full and terms.sampling != "random":
        return "labels of some items show a bound for all only if drawn at random (--sampling random)"
    if not votes.in_full and votes.apart:
        return votes.apart
    wrong = np.where(np.isnan(codes) | ~votes.labelled, np.nan, codes != votes.reference)
    return decides_alone(
        np.where(np.isnan(codes), np.nan, sure),
        wrong,
        votes.clusters,
        risk=terms.risk,
        confidence_level=terms.ci_level,
        cluster_unit=votes.unit,
    )


def _by_another(terms: CheckTerms, votes: Votes, number: int) -> bool:
    """Whether the labelled items were drawn by the verdicts of another judge."""
    return terms.sampling == "by_judge_verdict" and terms.drawn_for != votes.judges[number]


def _allowed(each: E, name: str, votes: Votes, terms: CheckTerms, number: int) -> E:
    """The estimate, or nothing where the draw of the labels would bend it."""
    base = "agreement" if name in CHANCE_CORRECTED else name
    spoilt = base in _SPOILT.get(terms.sampling, ()) or (name == "precision" and _by_another(terms, votes, number))
    if votes.in_full or not spoilt:
        return each
    reason = f"labelled items were drawn {terms.sampling.replace('_', ' ')}, which bends it"
    return nothing_of(each, reason)
