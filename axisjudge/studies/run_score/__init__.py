"""What does a run score measure? (notebook 08, `axisjudge scorecard`)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from axisjudge.scores.run_score import RUN_SCHEMA, ScorecardRules, frozen_baseline, runs_frame, runs_of, score_runs
from axisjudge.scores.run_score.score import DEFAULT
from axisjudge.studies._shared.frames import Given, Kind, Table, columns_of, kind_of, native, to_polars
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies.run_score import sentences as say
from axisjudge.studies.run_score.labels import (
    Competition,
    ScoreAgainstLabels,
    ScoreForecast,
    against_labels,
    against_reward,
    competition,
    score_forecast,
)
from axisjudge.studies.run_score.scores import (
    ComponentMeans,
    NeutralComponents,
    ScoreSpread,
    TierChanges,
    Trend,
    component_means,
    neutral_components,
    score_spread,
    tier_changes,
    tier_table,
    trend,
    worked_example,
)
from axisjudge.trajectory import Trajectory

__all__ = [
    "RunScore",
    "against_labels",
    "against_reward",
    "answer_of",
    "competition",
    "component_means",
    "neutral_components",
    "run_score",
    "score_forecast",
    "score_spread",
    "tier_changes",
    "tier_table",
    "trend",
    "worked_example",
]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunScore(Study):
    """Scores of runs, one row a run in `scored`, with what may be concluded from them.

    `contest` ranks the runs of the spec that was asked for (None where none was), `overall` says how often agents win
    over all specs. `labels` and `reward` are None where none were given.
    """

    kind: Kind
    scored: pl.DataFrame
    spread: ScoreSpread
    components: ComponentMeans
    neutral: NeutralComponents
    trend: Trend
    tiers: TierChanges
    contest: Competition | None
    overall: Competition
    labels: ScoreAgainstLabels | None
    reward: ScoreAgainstLabels | None
    forecast: ScoreForecast | None

    @property
    def scores(self) -> Table:
        """The scores, one row a run, in the caller's kind."""
        return native(self.scored, self.kind)

    @property
    def answer(self) -> str:
        """Whether the score ranks runs as labels do (without labels, as the reward does), and who is highest."""
        return answer_of(self.labels, self.reward, self.overall, self.spread)


def answer_of(
    labels: ScoreAgainstLabels | None, reward: ScoreAgainstLabels | None, overall: Competition, spread: ScoreSpread
) -> str:
    """Whether the score ranks runs as labels do (without labels, as the reward does), and which agent is highest."""
    found = next((each.found for each in (labels, reward) if each is not None and each.found), None)
    ranked = say.NO_LABELS if found is None else say.ranking(found.ranks, found.labels, found.auc)
    agents = overall.agents.answer if overall.agents else say.means(spread.means)
    if labels is not None and labels.found is None:
        return f"{labels.refusal} {ranked} {agents}"
    return f"{ranked} {agents} {say.moved_by(spread.shares)}"


def next_step(labels: ScoreAgainstLabels | None, overall: Competition) -> str:
    """What to label, or what to run more of."""
    return say.next_step(labels.found if labels else None, overall.agents.sets if overall.agents else None)


def run_score(
    runs: Given | Sequence[Trajectory],
    labels: Given | None = None,
    trajectories: Sequence[Trajectory] = (),
    *,
    label_name: str = "labels",
    spec: str | None = None,
    periods: int = 6,
    rules: ScorecardRules = DEFAULT,
    ci_level: float = 0.95,
    seed: int = 0,
) -> RunScore:
    """Does the run score rank agents' runs as people do, and what moves it?

    Parameters
    ----------
    runs : table, or sequence of Trajectory
        One row a run, with columns of `axisjudge.scores.run_score.RUN_SCHEMA` (``run_id`` must be there); or runs as
        read, scored as far as they tell and compared with their reward.
    labels : table, optional
        Ratings of these runs on the scale ``unit``: the mean of a run's raters, good from one half on.
    trajectories : sequence of Trajectory, optional
        Others with an end-task reward, with which their score is compared; completion, which is the reward, left out.
    label_name : str
        What the labels are, for sentences.
    spec : str, optional
        Rank the runs of this one.
    periods : int
        Periods of the trend.
    rules : ScorecardRules
        What may be configured of the formula.
    ci_level : float
        Level of intervals and of rank sets.
    seed : int
        Of the sign flips behind rank sets.

    Returns
    -------
    RunScore
        Its parts by name; intervals take specs as clusters.

    Raises
    ------
    InputError
        No table of runs, no run of that spec, or labels of other runs.

    Examples
    --------
    >>> import axisjudge
    >>> runs = {"run_id": ["a", "b"], "agent_id": ["x", "y"], "outcome": ["COMPLETED", "FAILED"]}
    >>> found = axisjudge.studies.run_score(runs)
    >>> found.scores["score"].tolist()
    [70, 30]
    >>> print(found.answer.partition(". ")[0])
    Without labels it cannot be told what the score measures
    """
    kind: Kind = "pandas" if isinstance(runs, Sequence) else kind_of(runs)
    if isinstance(runs, Sequence):
        table, trajectories = runs_frame(runs_of(runs)), trajectories or runs
    else:
        table = to_polars(runs, [name for name in columns_of(runs) if name in RUN_SCHEMA], where="runs")
    scored = score_runs(table, rules=rules)
    still = score_runs(table, rules=rules, baseline=frozen_baseline(table, rules=rules))
    rng = np.random.default_rng(seed)
    contest = None if spec is None else competition(scored, table, spec=spec, ci_level=ci_level, rng=rng, kind=kind)
    of_labels = None
    if labels is not None:
        of_labels = against_labels(scored, labels, name=label_name, rules=rules, ci_level=ci_level, kind=kind)
    of_reward = against_reward(trajectories, rules=rules, ci_level=ci_level, kind=kind) if trajectories else None
    compared = next((each for each in (of_labels, of_reward) if each is not None and each.found), None)
    return RunScore(
        kind=kind,
        scored=scored,
        spread=score_spread(scored, rules=rules, ci_level=ci_level, kind=kind),
        components=component_means(scored, kind=kind),
        neutral=neutral_components(scored, rules=rules, kind=kind),
        trend=trend(scored, still, periods=periods, kind=kind),
        tiers=tier_changes(scored, kind=kind),
        contest=contest,
        overall=competition(scored, table, ci_level=ci_level, rng=rng, kind=kind),
        labels=of_labels,
        reward=of_reward,
        forecast=score_forecast(compared) if compared else None,
    )


open_door(run_score)
