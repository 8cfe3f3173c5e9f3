"""`axisjudge.studies.run_score`: what a score of agents' runs measures, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from axisjudge.checks import enough_for
from axisjudge.ratings.edge import as_ratings
from axisjudge.scores.run_score import RUN_SCHEMA, ScorecardRules, frozen_baseline, runs_frame, runs_of, score_runs
from axisjudge.scores.run_score.score import DEFAULT
from axisjudge.studies._shared.frames import Given, Kind, Table, columns_of, kind_of, native, to_polars
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.run_score import figures
from axisjudge.studies.run_score.calibration import ScoreCalibration, calibrate_score, rated_labels, reward_labels
from axisjudge.studies.run_score.competition import Competition, comparable, compete
from axisjudge.studies.run_score.sentences import NO_LABELS, UNLABELLED
from axisjudge.studies.run_score.summary import ScoreSummary, describe
from axisjudge.studies.run_score.trend import Trend, tier_changes, tiers_kept, trend
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunScore(RatedResult):
    """Scores of runs with what may be concluded from them.

    `scored` holds the scores, one row a run. `contest` ranks the runs of the spec that was asked for, `overall` says
    how often agents win over all specs; `by_labels` compares the score with labels, `by_reward` that of trajectories
    with their end-task reward. What there are no data for is None; `unranked` and `unlabelled` say why.
    """

    kind: Kind
    scored: pl.DataFrame
    summary: ScoreSummary
    trend: Trend
    tier_changes: pl.DataFrame
    contest: Competition | None
    overall: Competition | None
    by_labels: ScoreCalibration | None
    by_reward: ScoreCalibration | None
    unranked: str = ""
    unlabelled: str = ""

    @property
    def table(self) -> Table:
        """Scores and tiers per agent."""
        return native(self.summary.agents, self.kind)

    @property
    def scores(self) -> Table:
        """The scores, one row a run."""
        return native(self.scored, self.kind)

    @property
    def answer(self) -> str:
        """Whether the score ranks runs as labels do (without labels, as the reward does), and which agent is "
        "highest."""
        agents = self.overall.agents.answer if self.overall else self.summary.mean_range
        return f"{self.of_labels} {agents} A score says how a run went, not whether its result is right."

    @property
    def of_labels(self) -> str:
        """Whether the score ranks runs as labels do; without labels, as the reward does."""
        calibration = self.by_labels or self.by_reward
        said = NO_LABELS if calibration is None else calibration.answer
        return f"{UNLABELLED} {said[0].lower()}{said[1:]}" if self.unlabelled else said

    @property
    def missing(self) -> tuple[str, ...]:
        """Why what was asked for has no answer."""
        return tuple(filter(None, (self.unranked, self.unlabelled)))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was scored, the extremes, how scores move, who wins, and what the score goes with."""
        parts = (self.contest, self.overall, self.by_labels, self.by_reward)
        return (
            *self.summary.sentences,
            self.summary.mean_range,
            self.summary.lowest_component,
            self.trend.sentence,
            self.tiers_kept,
            *self.missing,
            *(sentence for part in parts if part is not None for sentence in part.sentences),
        )

    @property
    def tiers_kept(self) -> str:
        """How often an agent's next run stood in the same tier."""
        return tiers_kept(self.tier_changes)

    def plots(self) -> Mapping[str, Plot]:
        """Spread, components, trend, and the comparison with labels as far as there are any."""
        plots: dict[str, Plot] = {
            "scores": partial(figures.plot_score_spread, self.summary),
            "components": partial(figures.plot_components, self.summary),
        }
        if self.trend.n_runs:
            plots["trend"] = partial(figures.plot_score_trend, self.trend)
        if calibration := self.by_labels or self.by_reward:
            plots["aucs"] = partial(figures.plot_aucs, calibration)
            plots["good_runs"] = partial(figures.plot_score_calibration, calibration)
        return plots


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
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`; intervals take specs as clusters.

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
    ranked = partial(compete, scored, table, ci_level=ci_level, rng=rng)
    contest, unranked = (None, "") if spec is None else enough_for(lambda: ranked(spec=spec))
    by_labels, unlabelled = None, ""
    if labels is not None:
        given = labels
        by_labels, unlabelled = enough_for(
            lambda: calibrate_score(scored, rated_labels(given), name=label_name, rules=rules, ci_level=ci_level)
        )
    return RunScore(
        kind=kind,
        made_up=() if labels is None else made_up_raters(as_ratings(labels)),
        scored=scored,
        summary=describe(scored, rules=rules, ci_level=ci_level),
        trend=trend(scored, still, periods=periods),
        tier_changes=tier_changes(scored),
        contest=contest,
        overall=ranked() if comparable(scored).height else None,
        by_labels=by_labels,
        by_reward=_by_reward(trajectories, rules, ci_level) if trajectories else None,
        unranked=unranked,
        unlabelled=unlabelled,
    )


def _by_reward(trajectories: Sequence[Trajectory], rules: ScorecardRules, ci_level: float) -> ScoreCalibration | None:
    """The score of trajectories against their reward, if any has one, without completion: it is the reward."""
    runs = runs_frame(runs_of(trajectories))
    scored, labels = score_runs(runs, rules=rules), reward_labels(runs)
    name, dropped = "end-task reward", "completion"
    if labels.is_empty():
        return None
    return calibrate_score(scored, labels, name=name, dropped=dropped, rules=rules, ci_level=ci_level)
