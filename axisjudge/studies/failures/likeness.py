"""Do agents of like reward have different failure profiles?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from axisjudge.results import Result, columns
from axisjudge.stats.comparisons.profiles import ProfileTest, profile_test
from axisjudge.stats.comparisons.sign_flips import holm, paired_sign_flip
from axisjudge.studies._shared.arrays import mean_of
from axisjudge.studies._shared.frames import Kind, Table, frame_of
from axisjudge.studies.failures import sentences
from axisjudge.studies.failures.order import agents_by_task
from axisjudge.studies.failures.profiles import FailureProfile

_COLUMNS = columns(
    "agents=both success_gap success_p like_reward=like profile_p=test.p_value profile_p_holm=p_holm",
    "widest_axis widest_gap tasks=test.n_clusters failures=test.n_failures",
)


@dataclass(frozen=True)
class PairedProfiles:
    """Two agents: their difference in success with its p value, and the test of their profiles.

    `like` is True when the success rates differ by no more than the margin, None when a reward is missing. `p_holm` is
    adjusted over the like pairs (over all pairs when no pair has rewards). `widest_axis` is where the failure rates,
    overall rate removed, lie furthest apart, and `widest_gap` by how much (first agent minus second).
    """

    agents: tuple[str, str]
    success_gap: float
    success_p: float
    like: bool | None
    test: ProfileTest
    p_holm: float
    widest_axis: str
    widest_gap: float

    both = property(lambda self: " / ".join(self.agents))


@dataclass(frozen=True)
class ProfileComparison(Result):
    """The test of all agents together, and of each pair."""

    _keys = ("overall", "like_margin", "pairs")

    overall: ProfileTest
    pairs: tuple[PairedProfiles, ...]
    like_margin: float
    ci_level: float
    kind: Kind

    @property
    def tested(self) -> tuple[PairedProfiles, ...]:
        """The pairs that the question is about: of like reward, or all when no rewards are known."""
        like = tuple(pair for pair in self.pairs if pair.like)
        known = any(pair.like is not None for pair in self.pairs)
        return like if known else self.pairs

    def to_frame(self) -> Table:
        """One row a pair."""
        return frame_of(self.pairs, _COLUMNS, self.kind)

    @property
    def sentence(self) -> str:
        """Which agents of like reward fail differently."""
        if not self.tested:
            return sentences.nobody_alike(self.like_margin) if self.pairs else sentences.ONE_AGENT
        with_rewards = any(pair.like is not None for pair in self.pairs)
        differ = [pair for pair in self.tested if pair.p_holm <= 1 - self.ci_level]
        described = [sentences.apart(pair.agents, pair.p_holm, pair.widest_axis, pair.widest_gap) for pair in differ]
        refused = [pair.test.refusal for pair in self.tested if pair.test.refusal]
        pairs = sentences.profiles(self.like_margin if with_rewards else None, len(self.tested), described, refused)
        if self.overall.refusal or len(refused) == len(self.tested):
            return pairs
        return f"{pairs} {sentences.one_profile(self.overall.p_value)}"


def compare_profiles(
    profile: FailureProfile, *, measure: str = "any", like_margin: float = 0.1, rng: np.random.Generator
) -> ProfileComparison:
    """Test whether agents, and each two of them, have different profiles once their overall rate is removed.

    Parameters
    ----------
    like_margin : float
        Success rates that differ by no more are called like. It is a convention, not a finding: with few tasks a small
        observed difference does not show that two agents are equally good.
    """
    table = np.stack([agents_by_task(profile, column) for column in profile.panel.failed(measure).T], axis=2)
    success = agents_by_task(profile, profile.succeeded)
    numbers = list(combinations(range(len(profile.agents)), 2))
    several = len(profile.axes) > 1
    pairs = [_paired(profile, table, success, pair, like_margin, rng) for pair in numbers]
    return ProfileComparison(
        overall=profile_test(table, rng=rng) if numbers and several else _nothing(numbers),
        pairs=_adjusted(pairs),
        like_margin=like_margin,
        ci_level=profile.ci_level,
        kind=profile.panel.kind,
    )


def _nothing(numbers: Sequence[object]) -> ProfileTest:
    """No test, and why: one axis has no profile, one agent no other."""
    why = "one axis makes no profile" if numbers else "one agent has no other to be compared with"
    return ProfileTest(math.nan, math.nan, math.nan, 0, 0, 0, "none", why)


def _paired(
    profile: FailureProfile,
    table: NDArray[np.float64],
    success: NDArray[np.float64],
    pair: tuple[int, int],
    like_margin: float,
    rng: np.random.Generator,
) -> PairedProfiles:
    first, second = pair
    gaps = success[:, first] - success[:, second]
    known = bool((~np.isnan(gaps)).any())
    gap = mean_of(gaps)
    apart = np.array([mean_of(table[:, first, axis] - table[:, second, axis]) for axis in range(table.shape[2])])
    apart -= mean_of(apart)
    shared = bool((~np.isnan(apart)).any())
    widest = int(np.nanargmax(np.abs(apart))) if shared else 0
    return PairedProfiles(
        agents=(profile.agents[first], profile.agents[second]),
        success_gap=gap,
        success_p=paired_sign_flip(gaps, rng=rng)[0] if known else math.nan,
        like=abs(gap) <= like_margin + 1e-9 if known else None,
        test=profile_test(table[:, pair, :], rng=rng) if len(profile.axes) > 1 else _nothing(pair),
        p_holm=math.nan,
        widest_axis=profile.axes[widest] if shared else "",
        widest_gap=float(apart[widest]),
    )


def _adjusted(pairs: list[PairedProfiles]) -> tuple[PairedProfiles, ...]:
    """The pairs with Holm's p values over those that the question is about."""
    known = any(pair.like is not None for pair in pairs)
    asked = [place for place, pair in enumerate(pairs) if pair.like or not known]
    adjusted = holm([pairs[place].test.p_value for place in asked])
    p_holm = dict(zip(asked, adjusted, strict=True))
    return tuple(replace(pair, p_holm=p_holm.get(place, math.nan)) for place, pair in enumerate(pairs))
