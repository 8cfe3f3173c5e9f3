"""How well judges find the steps that people call wrong: shares found and passed, both balanced, and who is apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from axisjudge.checks import InputError, one_of
from axisjudge.stats.agreement.effective import EffectiveJudges, effective_judges
from axisjudge.stats.comparisons.ranking import RankSets, rank_sets
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.balanced import balanced_accuracy, balanced_pseudo_values
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Kind, kind_of, table_of
from axisjudge.studies._shared.pooled import Floats, Pooled, pooled
from axisjudge.studies._shared.words import listed, many

#: What always giving the same vote reaches.
CHANCE = 0.5
#: Share of the rarer kind of step from which rank sets keep their level (see `balanced_pseudo_values`).
RAREST = 0.2
#: In which share of 150 samples of the shipped votes' queries, drawn with replacement, all rank sets held the rank of
#: the whole at a nominal 95%: hotpotqa, tau2, bfcl. Few queries hold most of what a judge finds; sign flips miss that.
HELD = (0.83, 0.94, 0.96)


@dataclass(frozen=True)
class JudgeOnErrors:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        estimates = {name: getattr(self, name).to_dict() for name in ("found", "passed", "balanced")}
        return {
            **{name: getattr(self, name) for name in ("judge", "family", "n_lost", "best", "rank_low", "rank_high")},
            **estimates,
        }


@dataclass(frozen=True, eq=False)
class ErrorFinding:
    """Judges by balanced accuracy from the highest, their rank sets, and how many independent judges they are worth."""

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
        return tuple(judge.judge for judge in self.judges if judge.rank_low == 1)

    @property
    def last(self) -> tuple[str, ...]:
        """The judges that may be the worst."""
        return tuple(judge.judge for judge in self.judges if judge.rank_high == len(self.judges))

    @property
    def no_better_than_chance(self) -> tuple[str, ...]:
        """The judges whose interval holds what always giving one vote reaches, or lies below it."""
        return tuple(judge.judge for judge in self.judges if not judge.balanced.ci_low > CHANCE)

    def to_frame(self) -> Any:
        """One row a judge."""
        rows = [
            {
                "judge": judge.judge,
                "family": judge.family,
                **{
                    name + end: getattr(getattr(judge, name), field)
                    for name in ("found", "passed", "balanced")
                    for end, field in (("", "estimate"), ("_low", "ci_low"), ("_high", "ci_high"))
                },
                "rank_from": judge.rank_low,
                "rank_to": judge.rank_high,
                "lost": judge.n_lost,
            }
            for judge in self.judges
        ]
        return table_of(rows, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Everything, unrounded."""
        worth = self.effective
        return {
            **{name: getattr(self, name) for name in ("failing", "n_steps", "n_wrong", "n_clusters", "cluster_unit")},
            "ci_level": self.ci_level,
            "judges": [judge.to_dict() for judge in self.judges],
            "may_be_best": list(self.first),
            "may_be_worst": list(self.last),
            "no_better_than_chance": list(self.no_better_than_chance),
            "ranks": self.ranks.to_dict(),
            "effective_judges": None
            if worth is None
            else {
                **worth.n_effective.to_dict(),
                "majority": worth.majority,
                "best_single": worth.best_single,
            },
            "sentences": self.sentences(),
        }

    def sentences(self) -> list[str]:
        """What was measured, who can be told apart, what was lost, and what the panel is worth."""
        return [self._measured, *self._apart, self._lost, *self._worth]

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
        if self.ranks.tied:
            return [f"No two judges can be told apart ({self.ci_level:.0%}, all pairs together)."]
        sure = (
            f"nominally {self.ci_level:.0%} for all pairs together, paired by {self.cluster_unit}; where the shipped "
            f"votes were drawn again, 95% sets held in {min(HELD):.0%} to {max(HELD):.0%}"
        )
        said = [self._extreme(self.first, "highest", sure), self._extreme(self.last, "lowest", "")]
        if chance := self.no_better_than_chance:
            said.append(f"Not shown to be better than always giving the same vote (0.50): {listed(chance)}.")
        return said

    def _extreme(self, names: tuple[str, ...], which: str, sure: str) -> str:
        end = f" ({sure})" if sure else ""
        figures = {judge.judge: _said(judge.balanced) for judge in self.judges}
        if len(names) == 1:
            return f"{names[0]} alone has the {which} balanced accuracy, {figures[names[0]]}{end}."
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
    def _worth(self) -> list[str]:
        if self.effective is None:
            return []
        number = self.effective.n_effective
        if math.isnan(number.estimate):
            return [f"How many independent judges the panel is worth cannot be given: {number.reason}."]
        interval = "" if math.isnan(number.ci_low) else f" ({number.ci_low:.1f} to {number.ci_high:.1f})"
        beside = "more" if self.effective.majority > self.effective.best_single else "not more"
        return [
            f"Judged by where they err, {many(len(self.judges), 'judge')} are worth {number.estimate:.1f} independent "
            f"ones{interval}. Their majority has people's vote on {self.effective.majority:.1%} of the steps, "
            f"{beside} than the best single judge ({self.effective.best_single:.1%})."
        ]


def error_finding(
    ratings: Any,
    question: str = "step",
    *,
    failing: str = "-1",
    step_level: bool = True,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    rng: np.random.Generator,
) -> ErrorFinding:
    """Judges against people on whether a step is wrong, each kind of step counting the same.

    Parameters
    ----------
    ratings : table
        A ratings table with people's labels (or planted truth) on the items that judges rated; all judges are taken to
        have been asked all of them, so that a missing vote is a lost one. Labels are the commonest of several people's.
    question : str
        Which question.
    failing : str
        The word that means wrong.
    step_level : bool
        Ratings of steps instead of whole trajectories.
    cluster_unit : str
        What `cluster_id` holds; intervals and comparisons take clusters as independent.
    rng : numpy.random.Generator
        For the sign flips behind the rank sets.

    Raises
    ------
    InputError
        There are no labels, no judges, no such word, or only one kind of step.
    """
    panel = pooled(ratings, question, step_level=step_level)
    one_of("failing", failing, panel.categories)
    labelled = ~np.isnan(panel.label)
    wrong = (panel.label == panel.categories.index(failing))[labelled]
    if not panel.n_judges or not wrong.any() or wrong.all():
        rule = "needs judges, and labels of people by which some steps are wrong and some are not"
        raise InputError("ratings", rule, f"{many(panel.n_judges, 'judge')}, {int(wrong.sum())} of {wrong.size} wrong")
    votes, clusters = panel.codes[labelled, : panel.n_judges], panel.clusters[labelled]
    lost = np.isnan(votes)
    right = (~lost & ((votes == panel.categories.index(failing)) == wrong[:, None])).astype(float)
    about: dict[str, Any] = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    ranks = _ranks(right, wrong, clusters, ci_level, rng)
    judges = tuple(
        JudgeOnErrors(
            judge=panel.judges[j],
            family=panel.families[j],
            found=clustered_proportion(right[wrong, j], clusters[wrong], **about),
            passed=clustered_proportion(right[~wrong, j], clusters[~wrong], **about),
            balanced=balanced_accuracy(right[:, j], wrong, clusters, **about),
            best=balanced_accuracy(np.where(lost[:, j], 1.0, right[:, j]), wrong).estimate,
            n_lost=int(lost[:, j].sum()),
            rank_low=int(ranks.rank_low[j]),
            rank_high=int(ranks.rank_high[j]),
        )
        for j in ranks.order
    )
    effective = _effective(panel, about)
    return ErrorFinding(
        judges=judges,
        ranks=ranks,
        effective=effective,
        failing=failing,
        n_steps=wrong.size,
        n_wrong=int(wrong.sum()),
        n_clusters=np.unique(clusters).size,
        cluster_unit=cluster_unit,
        ci_level=ci_level,
        kind=kind_of(ratings),
    )


def _ranks(right: Floats, wrong: Any, clusters: Any, ci_level: float, rng: np.random.Generator) -> RankSets:
    """Rank sets by balanced accuracy, paired by cluster; none where few clusters hold one kind of step."""
    sets = rank_sets(balanced_pseudo_values(right, wrong, clusters), ci_level=ci_level, rng=rng)
    rarer = min(wrong.mean(), 1 - wrong.mean())
    if sets.refusal or rarer >= RAREST:
        return sets
    m = len(sets.means)
    reason = f"one kind of step makes up {rarer:.0%}, and joint ranks hold from {RAREST:.0%} on"
    return replace(
        sets,
        rank_low=np.full(m, 1),
        rank_high=np.full(m, m),
        p_values=np.full((m, m), np.nan),
        monte_carlo_error=math.nan,
        method="none",
        refusal=reason,
    )


def _effective(panel: Pooled, about: dict[str, Any]) -> EffectiveJudges | None:
    """On the words themselves, as `panel_worth` gives it (for labels without error); one judge is no panel."""
    if panel.n_judges < 2:
        return None
    return effective_judges(panel.codes[:, : panel.n_judges], panel.label, clusters=panel.clusters, **about)


def _said(found: Estimate) -> str:
    interval = "no interval" if math.isnan(found.ci_low) else f"{found.ci_low:.2f} to {found.ci_high:.2f}"
    return f"{found.estimate:.2f} ({interval})"
