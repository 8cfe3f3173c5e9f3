"""Do real judges find what people call wrong? The first measurement that a newcomer sees (`axisjudge demo`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from axisjudge.checks import InputError, one_of
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.effective import EffectiveJudges, effective_judges
from axisjudge.stats.comparisons.ranking import RankSets, rank_sets
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.stats.reference import balanced_accuracy, balanced_pseudo_values
from axisjudge.studies._shared.frames import Floats, Kind, Table, frame_of, kind_of
from axisjudge.studies._shared.pooled import Pooled, pooled
from axisjudge.studies._shared.words import listed, many

#: What always giving the same vote reaches.
CHANCE = 0.5
#: Level of all intervals and rank sets.
CI_LEVEL = 0.95
#: Share of the rarer kind of step from which rank sets keep their level (see `balanced_pseudo_values`).
RAREST = 0.2


@dataclass(frozen=True)
class JudgeOnErrors(Result):
    """One judge: `found` of the steps that people call wrong, `passed` of the others, and the mean of both.

    A lost vote neither finds nor passes. `best` is the balanced accuracy had every lost vote been right. The judge's
    rank by balanced accuracy lies between `rank_low` and `rank_high`, for all judges together.
    """

    judge: str
    family: str
    found: Estimate
    passed: Estimate
    balanced: Estimate
    best: float
    n_lost: int
    rank_low: int
    rank_high: int


@dataclass(frozen=True, eq=False)
class ErrorFinding(Result):
    """Judges by balanced accuracy from the highest, their rank sets, and how many independent judges they are worth."""

    _keys = columns(
        "failing n_steps n_wrong n_clusters cluster_unit ci_level judges ranks may_be_best=first",
        "may_be_worst=last no_better_than_chance",
    )

    judges: tuple[JudgeOnErrors, ...]
    ranks: RankSets
    effective: EffectiveJudges | None
    failing: str
    n_steps: int
    n_wrong: int
    n_clusters: int
    cluster_unit: str
    ci_level: float
    kind: Kind

    @property
    def first(self) -> tuple[str, ...]:
        """The judges that may be the best."""
        order = self.ranks.order.tolist()  # in which the judges stand
        return tuple(self.judges[order.index(j)].judge for j in self.ranks.first)

    @property
    def last(self) -> tuple[str, ...]:
        """The judges that may be the worst."""
        return tuple(judge.judge for judge in self.judges if judge.rank_high == len(self.judges))

    @property
    def no_better_than_chance(self) -> tuple[str, ...]:
        """The judges whose interval holds what always giving one vote reaches, or lies below it."""
        return tuple(judge.judge for judge in self.judges if not judge.balanced.ci_low > CHANCE)

    def to_frame(self) -> Table:
        """One row a judge."""
        shown = columns("judge family found~ passed~ balanced~ rank_from=rank_low rank_to=rank_high lost=n_lost")
        return frame_of(self.judges, shown, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Everything, unrounded."""
        panel = self.effective
        beside = panel and {"majority": panel.majority, "best_single": panel.best_single}
        effective = panel and {**panel.n_effective.to_dict(), **(beside or {})}
        return {**super().to_dict(), "effective_judges": effective, "sentences": self.sentences()}

    def sentences(self) -> list[str]:
        """What was measured, who can be told apart, what was lost, and what the panel is worth."""
        return [self._measured, *self._apart, self._lost, *self._effective]

    @property
    def _measured(self) -> str:
        return (
            f"{many(len(self.judges), 'judge')} on {self.n_steps:,} steps in {self.judges[0].balanced.clusters}; "
            f"people call {self.n_wrong:,} of the steps wrong "
            f"({self.n_wrong / self.n_steps:.0%})."
        )

    @property
    def _apart(self) -> list[str]:
        if self.ranks.refusal:
            return [f"The judges are not ranked: {self.ranks.refusal}."]
        if self.ranks.tied and self.ranks.differ:
            return [
                f"The judges differ, and no two can be told apart by name ({self.ci_level:.0%}, all pairs together)."
            ]
        if self.ranks.tied:
            return [f"No two judges can be told apart ({self.ci_level:.0%}, all pairs together)."]
        sure = f"{self.ci_level:.0%} for all pairs together, paired by {self.cluster_unit}"
        lines = [self._extreme(self.first, "highest", sure), self._extreme(self.last, "lowest", "")]
        if chance := self.no_better_than_chance:
            lines.append(f"Not shown to be better than always giving the same vote (0.50): {listed(chance)}.")
        return lines

    def _extreme(self, names: tuple[str, ...], which: str, sure: str) -> str:
        end = f" ({sure})" if sure else ""
        figures = {judge.judge: judge.balanced.worded() for judge in self.judges}
        if len(names) == 1:
            return f"{names[0]} has the {which} balanced accuracy, {figures[names[0]]} ({self.ci_level:.0%})."
        return f"{many(len(names), 'judge')} may have the {which} balanced accuracy{end}: {listed(names, 'or')}."

    @property
    def _lost(self) -> str:
        lost = {judge.judge: judge.n_lost for judge in self.judges if judge.n_lost}
        if not lost:
            return "No vote was lost."
        most = max(lost, key=lambda name: lost[name])
        total = sum(lost.values())
        return (
            f"{total:,} of {self.n_steps * len(self.judges):,} votes were lost, {lost[most]:,} of them by {most}; a "
            "lost vote counts as neither found nor passed."
        )

    @property
    def _effective(self) -> list[str]:
        if self.effective is None:
            return []
        number = self.effective.n_effective
        if math.isnan(number.estimate):
            return [f"How many independent judges the panel is worth cannot be given: {number.reason}."]
        interval = "" if math.isnan(number.ci_low) else f" ({number.ci_low:z.1f} to {number.ci_high:z.1f})"
        beside = "more" if self.effective.majority > self.effective.best_single else "not more"
        return [
            f"Judged by where they err, {many(len(self.judges), 'judge')} are worth {number.estimate:z.1f} independent "
            f"ones{interval}. Their majority has people's vote on {self.effective.majority:.1%} of "
            f"{self.effective.n_majority:,} steps ({many(self.effective.n_tied, 'tie')}, shared among the votes that "
            f"tie), {beside} than the best single judge ({self.effective.best_single:.1%} of those that it judged)."
        ]


def error_finding(
    ratings: Any, *, failing: str = "-1", cluster_unit: str = "task", rng: np.random.Generator
) -> ErrorFinding:
    """Judges against people on whether a step is wrong, each kind of step counting the same.

    Parameters
    ----------
    ratings : table
        A ratings table with answers to the question ``step`` and people's labels (or planted truth) on the items that
        judges rated. All judges are taken to have been asked all of them, so that a missing vote is a lost one.
    failing : str
        The word that means wrong.
    cluster_unit : str
        What `cluster_id` holds; intervals and comparisons take clusters as independent.
    rng : numpy.random.Generator
        For the sign flips behind the rank sets.

    Raises
    ------
    InputError
        There are no labels, no judges, no such word, or only one kind of step.
    """
    panel = pooled(ratings, "step", step_level=True)
    one_of("failing", failing, panel.categories)
    labelled = ~np.isnan(panel.label)
    wrong = (panel.label == panel.categories.index(failing))[labelled]
    if not panel.n_judges or not wrong.any() or wrong.all():
        rule = "needs judges, and labels of people by which some steps are wrong and some are not"
        raise InputError("ratings", rule, f"{many(panel.n_judges, 'judge')}, {int(wrong.sum())} of {wrong.size} wrong")
    votes, clusters = panel.codes[labelled, : panel.n_judges], panel.clusters[labelled]
    lost = np.isnan(votes)
    right = (~lost & ((votes == panel.categories.index(failing)) == wrong[:, None])).astype(float)
    intervals: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": CI_LEVEL}
    ranks = _ranks(right, wrong, clusters, rng)
    judges = tuple(
        JudgeOnErrors(
            judge=panel.judges[j],
            family=panel.families[j],
            found=clustered_proportion(right[wrong, j], clusters[wrong], **intervals),
            passed=clustered_proportion(right[~wrong, j], clusters[~wrong], **intervals),
            balanced=balanced_accuracy(right[:, j], wrong, clusters, **intervals),
            best=balanced_accuracy(np.where(lost[:, j], 1.0, right[:, j]), wrong).estimate,
            n_lost=int(lost[:, j].sum()),
            rank_low=int(ranks.rank_low[j]),
            rank_high=int(ranks.rank_high[j]),
        )
        for j in ranks.order
    )
    effective = _effective(panel, intervals)
    return ErrorFinding(
        judges=judges,
        ranks=ranks,
        effective=effective,
        failing=failing,
        n_steps=wrong.size,
        n_wrong=int(wrong.sum()),
        n_clusters=np.unique(clusters).size,
        cluster_unit=cluster_unit,
        ci_level=CI_LEVEL,
        kind=kind_of(ratings),
    )


def _ranks(right: Floats, wrong: Any, clusters: Any, rng: np.random.Generator) -> RankSets:
    """Rank sets by balanced accuracy, paired by cluster; none where few clusters hold one kind of step."""
    sets = rank_sets(balanced_pseudo_values(right, wrong, clusters), ci_level=CI_LEVEL, rng=rng)
    rarer = min(wrong.mean(), 1 - wrong.mean())
    if sets.refusal or rarer >= RAREST:
        return sets
    m = len(sets.means)
    reason = f"one kind of step makes up {rarer:.0%}, and joint ranks hold from {RAREST:.0%} on"
    unknown: dict[str, Any] = dict.fromkeys(("monte_carlo_error", "first_p", "alike_p"), math.nan)
    unknown |= {"rank_low": np.full(m, 1), "rank_high": np.full(m, m), "p_values": np.full((m, m), np.nan)}
    return replace(sets, **unknown, method="none", refusal=reason)


def _effective(panel: Pooled, intervals: IntervalTerms) -> EffectiveJudges | None:
    """On the words themselves, as `panel_worth` gives it (for labels without error); one judge is no panel."""
    if panel.n_judges < 2:
        return None
    return effective_judges(panel.codes[:, : panel.n_judges], panel.label, clusters=panel.clusters, **intervals)
