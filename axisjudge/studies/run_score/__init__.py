"""What does a run score measure? (notebook 08, `axisjudge scorecard`)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import whole
from axisjudge.figures import theme
from axisjudge.scores.run_score.rules import (
    COMPONENTS,
    NEUTRAL,
    TIERS,
    UNRANKED,
    ScorecardRules,
    tier_of,
    too_few_before,
    usable_ends,
    weighted_score,
)
from axisjudge.scores.run_score.runs import RUN_SCHEMA, runs_frame, runs_of, runs_table
from axisjudge.scores.run_score.score import DEFAULT, frozen_baseline, score_runs
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_mean
from axisjudge.studies._shared.frames import Given, Kind, Table, columns_of, kind_of, native, to_polars
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import many
from axisjudge.studies.run_score import sentences as say
from axisjudge.studies.run_score.labels import NAMED, Competition, ScoreAgainstLabels, ScoreForecast
from axisjudge.studies.run_score.labels import against_labels as against_labels
from axisjudge.studies.run_score.labels import against_reward as against_reward
from axisjudge.studies.run_score.labels import competition as competition
from axisjudge.studies.run_score.labels import score_forecast as score_forecast
from axisjudge.trajectory import Trajectory, as_runs

ORDER = (*sorted(TIERS, key=lambda tier: -TIERS[tier]), UNRANKED)
#: Tiers from pale to strong; each is also named.
_TIER_COLOURS = {"Bronze": "#f3e9e0", "Silver": "#eceff3", "Gold": "#fdf3d3", "Elite": "#e3eefa"}
_FROZEN = "#D55E00"


class ScoreSpread(
    Part,
    name="scores",
    caption="Scores and tiers per agent",
    formats=dict.fromkeys(("mean", "low", "high", "median"), ".1f"),
):
    """Scores and tiers per agent: `scored` has the scores, one row a run, `means` their intervals over specs.

    `shares` has of each component the share of the scores' variance (`score_shares`).
    One row an agent: mean with its interval over specs, median, and its runs in every tier.
    """

    _rows = "agents", {}
    _keys = ("agents", "means")

    scored: pl.DataFrame
    means: Mapping[str, Estimate]
    agents: pl.DataFrame
    shares: Mapping[str, float]

    @property
    def n_scored(self) -> int:
        """Runs with a score."""
        return self.scored["score"].count()

    @property
    def answer(self) -> str:
        """What is scored, how far the agents' mean scores lie apart, and which component moves them most."""
        sentences = (say.counts(self.scored.height, len(self.means), self.n_scored), say.means(self.means))
        return " ".join(filter(None, (*sentences, say.moved_by(self.shares))))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Every score of every agent on bands of the tiers, with the mean and its interval under the points."""
        import seaborn as sns

        agents = list(self.means)
        ax = theme.new_axes(7.4, 1.2 + 0.8 * len(agents)) if ax is None else ax
        words: dict[str, Any] = {"ha": "center", "fontsize": theme.SMALL, "color": theme.QUIET}
        highest = 100
        for tier, low in sorted(TIERS.items(), key=lambda each: -each[1]):
            ax.axvspan(low - 0.5, highest + 0.5, color=_TIER_COLOURS[tier], zorder=0)
            ax.text((low + highest) / 2, 0.98, tier, transform=ax.get_xaxis_transform(), va="top", **words)
            highest = low - 1
        known = self.scored.drop_nulls("score")
        if known.height:
            swarm: Any = {"size": 2.8, "color": theme.ACCENT, "warn_thresh": 1.0, "orient": "h", "order": agents}
            sns.swarmplot(x=known["score"].to_list(), y=known["agent_id"].to_list(), ax=ax, **swarm)
        for row, mean in enumerate(self.means.values()):
            theme.interval_mark(ax, mean, row + 0.44, colour=theme.INK, marker="D", size=5)
        theme.named_rows(ax, agents)
        ax.set_ylim(len(agents) - 0.4, -0.65)
        ax.set_xlim(-1, 101)
        widest = max(self.means.values(), key=lambda mean: mean.n_clusters, default=None)
        how = f"a dot is a run, a diamond the mean; {theme.intervals(widest)}"
        x = "score; one dot a run, diamond and bar: mean with interval over specs"
        return theme.dress(ax, "Scores per agent", "bands: Bronze, Silver, Gold, Elite", how=how, x=x, y="")


def score_spread(
    scored: pl.DataFrame, *, rules: ScorecardRules = DEFAULT, ci_level: float = 0.95, kind: Kind = "polars"
) -> ScoreSpread:
    """Per agent the mean over specs of what `score_runs` gave by these rules, median, tiers and range."""
    table = scored.with_columns(NAMED)
    unranked = UNRANKED in set(table["tier"])
    means, agents = {}, []
    for name in table["agent_id"].unique().sort():
        own = table.filter(pl.col("agent_id") == name)
        known = own.filter(pl.col("score").is_not_null())
        specs = known.select(pl.coalesce("spec_id", "run_id")).to_series().to_list()
        unit = "spec" if known["spec_id"].null_count() < known.height else "run"
        scores = np.asarray(known["score"].to_numpy(), dtype=float)
        mean = means[name] = clustered_mean(scores, specs, cluster_unit=unit, ci_level=ci_level)
        tiers = {tier: int((own["tier"] == tier).sum()) for tier in ORDER if tier != UNRANKED or unranked}
        row = {"agent": name, "runs": own.height, "mean": mean.estimate, "low": mean.ci_low, "high": mean.ci_high}
        agents.append({**row, "median": known["score"].median(), **tiers})
    return ScoreSpread(table, means, pl.DataFrame(agents), score_shares(scored, rules.weights), kind=kind)


def score_shares(scored: pl.DataFrame, weights: Mapping[str, float]) -> dict[str, float]:
    """Of each component the share of the scores' variance, Cov(w c, s) / Var(s); empty where scores do not differ.

    Missing components stand at the neutral value, as in the score.
    """
    known = scored.drop_nulls("score").select(pl.col(list(weights)).cast(pl.Float64).fill_null(NEUTRAL))
    parts = known.to_numpy() * np.array(list(weights.values()))
    total = parts.sum(axis=1)
    if known.height < 2 or not total.var():
        return {}
    shares = ((parts - parts.mean(axis=0)) * (total - total.mean())[:, None]).mean(axis=0) / total.var()
    return dict(zip(weights, shares.tolist(), strict=True))


class ComponentMeans(
    Part,
    name="components",
    caption="Mean of each component per agent, where it could be computed",
    formats={"mean": ".1f"},
):
    """Mean of each component per agent, over the runs in which it could be computed. One row an agent and component."""

    _rows = "components", {}

    components: pl.DataFrame

    @property
    def answer(self) -> str:
        """Where the lowest mean of a component stands."""
        known = self.components.drop_nulls("mean").sort("mean", "agent")
        return say.lowest(known.row(0, named=True) if known.height else None)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The means as a grid of numbers; colour only repeats them."""
        agents = self.components["agent"].unique(maintain_order=True).to_list()
        ax = theme.new_axes(1.9 + 1.4 * len(agents), 3.2) if ax is None else ax
        cells = self.components.with_columns(pl.col("mean").fill_null(np.nan))
        means, runs = (cells[name].to_numpy().reshape(len(agents), -1).T for name in ("mean", "runs"))
        rows = [theme.in_words(name) for name in COMPONENTS]
        theme.plot_heatmap(means / 100, ax=ax, rows=rows, columns=agents, palette="Blues")
        for (row, column), mean in np.ndenumerate(means):
            if np.isnan(mean):
                theme.cell_text(ax, row, column, "no data", quiet=True, fontsize=theme.SMALL)
                continue
            theme.cell_text(ax, row, column, f"{mean:.0f}", down=-0.15, fontsize=theme.LABEL + 1.5)
            theme.cell_text(ax, row, column, f"{runs[row, column]} runs", down=0.22, fontsize=theme.SMALL)
        how = "means over the runs in which a component could be computed, without intervals"
        x = "mean over the runs in which it could be computed"
        return theme.dress(ax, "Components per agent", how=how, x=x)


def component_means(scored: pl.DataFrame, *, kind: Kind = "polars") -> ComponentMeans:
    """What scores are made of: a component that was a neutral 50 for want of data enters no mean."""
    known = {name: pl.when(pl.col(f"{name}_reason").is_null()).then(name).cast(pl.Float64) for name in COMPONENTS}
    points = scored.select(NAMED.alias("agent"), **known)
    by = points.unpivot(index="agent", variable_name="component").group_by("agent", "component", maintain_order=True)
    means = by.agg(mean=pl.col("value").mean(), runs=pl.col("value").count().cast(pl.Int64))
    return ComponentMeans(means.sort("agent", maintain_order=True), kind=kind)


class NeutralComponents(Part, name="neutral", caption="Where 50 stands for a component, and why"):
    """Where 50 stands for a component, and why; `span` is the median of how far such scores could move.

    One row a component and reason.
    """

    _rows = "reasons", {}
    _keys = ("reasons",)

    reasons: pl.DataFrame
    n_wide: int
    span: float
    several: bool = False

    answer = property(say.neutral)


def neutral_components(
    scored: pl.DataFrame, *, rules: ScorecardRules = DEFAULT, kind: Kind = "polars"
) -> NeutralComponents:
    """How often each component was neutral by these rules, and why; too few runs before one are one reason."""
    few = too_few_before(rules.min_samples, pl.col("baseline_runs"))
    any_few = pl.lit(f"too few runs before it; a baseline needs {rules.min_samples}")
    why = {name: pl.col(f"{name}_reason") for name in COMPONENTS}
    given = scored.select(**{name: pl.when(each == few).then(any_few).otherwise(each) for name, each in why.items()})
    counted = given.unpivot(variable_name="component", value_name="reason").drop_nulls().group_by("component", "reason")
    in_order = (pl.col("component").cast(pl.Enum(COMPONENTS)), "runs", "reason")
    reasons = counted.agg(runs=pl.len().cast(pl.Int64)).sort(*in_order, descending=[False, True, False])
    wide = scored.filter(pl.col("score_high") > pl.col("score_low"))  # null where there is no score
    span = float(np.median((wide["score_high"] - wide["score_low"]).to_numpy())) if wide.height else 0.0
    several = (
        reasons["runs"].sum()
        > scored.filter(pl.any_horizontal(pl.col([f"{name}_reason" for name in COMPONENTS]).is_not_null())).height
    )
    return NeutralComponents(reasons, wide.height, span, several, kind=kind)


class Trend(Part, caption="Runs whose tier depends on the baseline, per agent"):
    """Mean score per agent and period, by the rolling and by the frozen baseline.

    `frame` has ``agent``, ``period`` (its number from 0), ``starts``, ``runs``, and for ``score`` and ``latency`` the
    means ``rolling_*`` and ``frozen_*``; `changes` counts, per agent, the runs whose tier differs between the two.
    One row an agent.
    """

    _rows = "changes", {}
    _keys = ("periods", "changes")

    frame: pl.DataFrame
    changes: pl.DataFrame
    n_runs: int

    @property
    def periods(self) -> Table:
        """One row an agent and period: the means behind the lines, with dates in words."""
        return native(self.frame.with_columns(pl.col("starts").dt.to_string("%Y-%m-%d")), self.kind)

    @property
    def answer(self) -> str:
        """How far the two trends part."""
        numbers = self.frame["period"].to_list()
        gaps = (self._gap(min(numbers)), self._gap(max(numbers))) if numbers else None
        return say.parting(gaps, int(self.changes["changed"].sum()), self.n_runs)

    def _gap(self, period: int) -> float:
        part = self.frame.filter(pl.col("period") == period)
        gap = (part["frozen_score"] - part["rolling_score"]).to_numpy()
        return float(np.average(gap, weights=part["runs"].to_numpy()))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Mean score per period by both baselines, one panel an agent; in the `ax` that is given all agents."""
        agents = self.frame["agent"].unique().sort().to_list()
        count = max(len(agents), 1)
        panels = theme.side_by_side(theme.new_axes(1.2 + 2.2 * count, 2.9), count) if ax is None else [ax] * count
        for panel, agent in zip(panels, agents, strict=False):
            own = self.frame.filter(pl.col("agent") == agent)
            periods = own["period"].to_numpy()
            panel.plot(periods, own["frozen_score"], "s--", color=_FROZEN, markersize=5, label="frozen baseline")
            panel.plot(periods, own["rolling_score"], "o-", color=theme.ACCENT, markersize=5, label="rolling baseline")
            panel.set_xticks(periods, [moment.strftime("%b %y") for moment in own["starts"]], rotation=60)
            theme.dress(panel, agent, f"{own['runs'].sum()} runs", lines="y")
            panel.tick_params(axis="x", labelsize=theme.SMALL)
        first = panels[0]
        first.set_ylabel("mean score", fontsize=theme.LABEL, color=theme.QUIET)
        figure: Any = first.get_figure(root=True)
        handles, labels = first.get_legend_handles_labels()
        if handles and ax is None:
            figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=theme.SMALL)
        theme.describe(figure, f"means of {self.n_runs} runs, without intervals; both lines are of the same runs")
        return first


def trend(rolling: pl.DataFrame, frozen: pl.DataFrame, *, periods: int = 6, kind: Kind = "polars") -> Trend:
    """Compare scores of the same runs by the rolling and by a frozen baseline, over periods of equal length.

    Runs without an end time that can be true, or that were not scored, are not in it.
    """
    names = ["run_id", "score", "latency", "tier"]
    whole("periods", periods)
    both = rolling.select(NAMED, usable_ends(), *names).join(frozen.select(names), on="run_id", suffix="_frozen")
    both = both.filter(pl.col("ended_at").is_not_null() & pl.col("score").is_not_null())
    times = both["ended_at"].to_physical().to_numpy()
    first, last = (int(times.min()), int(times.max())) if len(times) else (0, 1)
    step = max((last - first) // periods + 1, 1)
    means = (
        pl.col(f"{name}{suffix}").mean().alias(f"{baseline}_{name}")
        for baseline, suffix in (("rolling", ""), ("frozen", "_frozen"))
        for name in ("score", "latency")
    )
    both = both.rename({"agent_id": "agent"}).with_columns(pl.Series("period", (times - first) // step))
    starts = (pl.col("period") * step + first).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    frame = both.group_by("agent", "period").agg(pl.len().alias("runs"), *means).with_columns(starts=starts)
    frame = frame.sort("agent", "period")
    changed = both.group_by("agent").agg(
        runs=pl.len(),
        changed=(pl.col("tier") != pl.col("tier_frozen")).sum(),
        higher_frozen=(pl.col("score_frozen") > pl.col("score")).sum(),
        lower_frozen=(pl.col("score_frozen") < pl.col("score")).sum(),
    )
    return Trend(frame, changed.sort("agent"), both.height, kind=kind)


class TierChanges(Part, caption="Tier of a run (rows) and of the same agent's next run of the same spec (columns)"):
    """How often an agent's next run on the same spec stood in each tier: rows are the tier, columns the next.

    One row a tier.
    """

    _rows = "changes", {}
    _keys: ClassVar = ("changes",)

    changes: pl.DataFrame
    n_without: int = 0

    @property
    def answer(self) -> str:
        """How often an agent's next run stood in the same tier."""
        tiers = self.changes["from"].to_list()
        n_kept = sum(self.changes[tier][row] for row, tier in enumerate(tiers))
        kept = say.tiers_kept(n_kept, int(self.changes.drop("from").sum().sum_horizontal()[0]), tiers)
        untimed = f"{many(self.n_without, 'scored run')} without a usable end left out: what came next is not known."
        return f"{kept} {untimed}" if self.n_without else kept


def tier_changes(scored: pl.DataFrame, *, kind: Kind = "polars") -> TierChanges:
    """How much a tier is one of the run, how much one of the agent: the next run of the same spec beside it.

    Runs without an end time that can be true are not in it.
    """
    known = scored.filter(pl.col("score").is_not_null() & pl.col("spec_id").is_not_null()).with_columns(usable_ends())
    ordered = known.drop_nulls("ended_at").sort("ended_at", "run_id")
    pairs = ordered.select("tier", pl.col("tier").shift(-1).over("agent_id", "spec_id").alias("next")).drop_nulls()
    tiers = [tier for tier in ORDER if tier != UNRANKED]
    counts = {(a, b): n for a, b, n in pairs.group_by("tier", "next").len().iter_rows()}
    rows = [{"from": a, **{b: counts.get((a, b), 0) for b in tiers}} for a in tiers]
    return TierChanges(pl.DataFrame(rows), known.height - ordered.height, kind=kind)


#: Four components as published, with the score and the tier that the text gives them.
COMPONENTS_PUBLISHED: Mapping[str, int] = dict(zip(COMPONENTS, (100, 85, 72, 93), strict=True))
SCORE_PUBLISHED, TIER_PUBLISHED = 89, "Gold"


class WorkedExample(Part, caption="The worked example of the text: points times weight", of_ratings=False):
    """One run from its components to its score and tier; `exact` is the sum before it is rounded."""

    _keys = ("components", "weights", "exact", "score", "tier")

    components: Mapping[str, int]
    weights: Mapping[str, float]
    score: int
    tier: str

    @property
    def exact(self) -> float:
        """The weighted sum before it is rounded."""
        return round(sum(self.weights[name] * points for name, points in self.components.items()), 9)

    @property
    def table(self) -> pl.DataFrame:
        """One row a component: points, weight, and what it adds."""
        points = pl.DataFrame({"component": list(self.components), "points": list(self.components.values())})
        weight = pl.Series("weight", [self.weights[name] for name in self.components])
        return points.with_columns(weight, adds=weight * points["points"])

    @property
    def answer(self) -> str:
        """The sum, the score and the tier."""
        published = self.components == COMPONENTS_PUBLISHED
        as_printed = (self.score, self.tier) == (SCORE_PUBLISHED, TIER_PUBLISHED) if published else None
        return say.worked(self.exact, self.score, self.tier, as_printed)


def worked_example(
    components: Mapping[str, int] = COMPONENTS_PUBLISHED, *, rules: ScorecardRules = DEFAULT
) -> WorkedExample:
    """One run by the rules: its four components (0 to 100), by default those of the published text."""
    score = int(weighted_score([components[name] for name in COMPONENTS], rules.whole_weights))
    return WorkedExample(dict(components), dict(rules.weights), score, tier_of(score))


def tier_table() -> pl.DataFrame:
    """One row a tier: the scores that stand in it, best first."""
    lowest = sorted(TIERS.items(), key=lambda tier: -tier[1])
    highest = [100, *(low - 1 for _, low in lowest)]
    rows = [{"tier": name, "from": low, "to": high} for (name, low), high in zip(lowest, highest, strict=False)]
    return pl.DataFrame(rows)


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
        """Whether the score ranks runs as labels do; without labels, as the reward does."""
        return answer_of(self.labels, self.reward)


def answer_of(labels: ScoreAgainstLabels | None, reward: ScoreAgainstLabels | None) -> str:
    """Whether the score ranks runs as labels do; without labels, as the reward does."""
    calibrated = next((each.found for each in (labels, reward) if each is not None and each.found), None)
    ranked = say.NO_LABELS if calibrated is None else say.ranking(calibrated.ranks, calibrated.labels, calibrated.auc)
    refused = f"{labels.refusal} " if labels is not None and labels.found is None else ""
    return f"{refused}{ranked} {say.HOW_IT_WENT}"


def next_step(labels: ScoreAgainstLabels | None) -> str:
    """What to label, or what the score may be used for."""
    return say.next_step(labels.found if labels else None)


def run_score(
    runs: Given | Sequence[Trajectory],
    labels: Given | None = None,
    trajectories: Sequence[Trajectory] = (),
    *,
    label_name: str = "labels",
    question: str = "",
    raters: Sequence[str] | None = None,
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
        People's ratings of these runs on the scale ``unit``: the mean of a run's raters, good from one half on.
    trajectories : sequence of Trajectory, optional
        Others with an end-task reward, with which their score is compared; completion, which is the reward, left out.
    label_name : str
        What the labels are, for sentences.
    question, raters
        Which labels count, as `rated_labels` takes them.
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
        table, trajectories = runs_frame(runs_of(as_runs(runs))), trajectories or runs
    else:
        given = to_polars(runs, [name for name in columns_of(runs) if name in RUN_SCHEMA], where="runs")
        table = runs_table(given)
    scored = score_runs(table, rules=rules)
    still = score_runs(table, rules=rules, baseline=frozen_baseline(table, rules=rules))
    rng = np.random.default_rng(seed)
    contest = None if spec is None else competition(scored, table, spec=spec, ci_level=ci_level, rng=rng, kind=kind)
    of_labels = None
    if labels is not None:
        which: Any = {"name": label_name, "question": question, "raters": raters}
        of_labels = against_labels(scored, labels, **which, rules=rules, ci_level=ci_level, kind=kind)
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
