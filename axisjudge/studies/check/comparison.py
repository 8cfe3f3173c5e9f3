"""Judges beside each other, and people beside people, on the items that both have."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from axisjudge.results import Result
from axisjudge.stats.comparisons.ranking import RankSets, rank_sets
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.clustered import paired_share_difference
from axisjudge.stats.rates.correction import pairwise_level
from axisjudge.stats.rates.proportions import cluster_codes
from axisjudge.studies.check.compute import coefficients, hits
from axisjudge.studies.check.votes import Votes

#: Sign flips need a table of clusters x judges; independent items beyond so many are added up in groups of items.
MOST_GROUPS = 200


@dataclass(frozen=True)
class Difference(Result):
    """First judge minus second on the same items: what they catch, what they pass, and how often people agree.

    Intervals hold for all pairs of judges together (Bonferroni). `caught` and `passed` are None without a failing word.
    """

    judges: tuple[str, str]
    agreement: Estimate
    caught: Estimate | None = None
    passed: Estimate | None = None


@dataclass(frozen=True)
class PeoplePair(Result):
    """Two people on the items that both labelled."""

    _keys = ("people",)
    _flat = ("coefficients",)

    people: tuple[str, str]
    coefficients: dict[str, Estimate]


def differences(votes: Votes, ci_level: float) -> tuple[Difference, ...]:
    """Every pair of judges."""
    truth = votes.reference
    how = {**votes.how(pairwise_level(len(votes.judges), ci_level)), "alike": votes.alike}
    every = []
    for first, second in itertools.combinations(range(len(votes.judges)), 2):
        one, other = votes.ratings[:, first], votes.ratings[:, second]
        right = [np.where(np.isnan(codes) | np.isnan(truth), np.nan, codes == truth) for codes in (one, other)]
        sides = {}
        if votes.question.directed:
            for name, word in (("caught", 1), ("passed", 0)):
                sides[name] = paired_share_difference(hits(one, truth, word), hits(other, truth, word), **how)
        agreement = paired_share_difference(*right, **how)
        every.append(Difference((votes.judges[first], votes.judges[second]), agreement, **sides))
    return tuple(every)


def ranks(votes: Votes, ci_level: float) -> RankSets | None:
    """Simultaneous rank sets by balanced accuracy (by agreement with people, without a failing word).

    Only items that every judge and people rated enter. With n_w items of word w each right verdict counts 1 / (2 n_w),
    so that a cluster's total is its part of the balanced accuracy; rank sets flip the signs of whole clusters.
    """
    if len(votes.judges) < 2:
        return None
    kept = votes.labelled & ~np.isnan(votes.ratings).any(axis=1)
    truth = votes.reference[kept]
    if not truth.size:
        return None
    if votes.question.directed:
        n_word = np.array([max((truth == word).sum(), 1) for word in (0, 1)])
        weight = 1 / (2 * n_word[truth.astype(np.intp)])
    else:
        weight = np.full(truth.size, 1 / truth.size)
    codes = cluster_codes(None if votes.clusters is None else votes.clusters[kept], truth.size)
    if codes.max() >= MOST_GROUPS:
        codes = codes % MOST_GROUPS
    right = (votes.ratings[kept] == truth[:, None]) * weight[:, None]
    totals = np.column_stack([np.bincount(codes, weights=column) for column in right.T])
    return rank_sets(totals * len(totals), ci_level=ci_level, rng=np.random.default_rng(0))


def people_pairs(votes: Votes, ci_level: float) -> tuple[PeoplePair, ...]:
    """Every pair of people."""
    return tuple(
        PeoplePair(
            (votes.people[first], votes.people[second]),
            coefficients(votes, (votes.labels[:, first], votes.labels[:, second]), ci_level),
        )
        for first, second in itertools.combinations(range(len(votes.people)), 2)
    )
