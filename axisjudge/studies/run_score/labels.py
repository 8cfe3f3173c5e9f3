"""What scores go with: runs of one spec against each other, and people's labels or the end-task reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, enough_for, one_of
from axisjudge.figures import theme
from axisjudge.labels.panel import BY_PEOPLE
from axisjudge.ratings.edge import WHOLE_RUN, as_ratings, by_raters
from axisjudge.results import Result, columns, plain
from axisjudge.scores.curves.curve import CurveFit
from axisjudge.scores.curves.fit import fit_criterion_curve
from axisjudge.scores.run_score.rules import COMPONENTS, TIE_BREAKS, ScorecardRules, usable_ends, usable_walls
from axisjudge.scores.run_score.runs import runs_frame, runs_of, runs_table
from axisjudge.scores.run_score.score import DEFAULT, score_runs, win_probability, without
from axisjudge.stats.calibration import auroc
from axisjudge.stats.comparisons.ranking import pooled_by_cluster, rank_sets
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_mean, clustered_proportion
from axisjudge.studies._shared import frames
from axisjudge.studies._shared.ranking import Ranking
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many
from axisjudge.studies.run_score import sentences as say
from axisjudge.studies.run_score.sentences import Ranks
from axisjudge.trajectory import Trajectory

#: The agent of a run; one that is not stated has a name too.
NAMED = pl.col("agent_id").fill_null("unknown")
#: A reward from here on counts as success.
SUCCESS = 1.0
#: A score of 0 has no logarithm; for an S-curve it counts as 1.
FLOOR = 0.01


class Competition(Part, caption="Probability that an agent's next run scores highest"):
    """Runs of a spec in order, and what repeats say of the agents.

    `ranked` has the scored runs of `spec`, best first (with their artefacts, if any); `tied` is how many share the
    highest score. `wins` holds for every agent the probability that its next run scores highest; `agents` the rank
    sets of the mean scores. `refusal` says why there is nothing to rank.
    """

    tie_breaks: ClassVar = TIE_BREAKS
    _keys = columns("ranked=listed spec tie_breaks tied wins agents")

    spec: str | None
    ranked: pl.DataFrame
    tied: int
    wins: Mapping[str, Estimate]
    agents: Ranking | None
    refusal: str = ""

    @property
    def listed(self) -> pl.DataFrame:
        """The runs in order, with times in words."""
        return self.ranked.with_columns(pl.col("ended_at").dt.to_string("iso:strict"))

    @property
    def table(self) -> frames.Table:
        """One row an agent, the likeliest to win first."""
        wins = dict(sorted(self.wins.items(), key=lambda each: -np.nan_to_num(each[1].estimate)))
        shown = {"wins": "estimate", "low": "ci_low", "high": "ci_high", "specs": "n_clusters"}
        return frames.table_of(frames.rows_by("agent", wins, shown), self.kind, columns=("agent", "wins"))

    @property
    def answer(self) -> str:
        """Who is offered for review, and what may be said of the agents."""
        if self.agents is None:
            return self.refusal
        top = self.ranked.row(0, named=True) if self.ranked.height else None
        offer = () if self.spec is None else (say.offer(self.spec, top, self.ranked.height, self.tied),)
        answer = self.agents.answer
        alone = answer if self.spec is None else f"On {self.spec} alone, {answer[:1].lower()}{answer[1:]}"
        return " ".join((*offer, say.luck(self.wins), alone))


def competition(
    scored: pl.DataFrame, runs: pl.DataFrame, *, rng: np.random.Generator, spec: str | None = None, **how: Any
) -> Competition:
    """As `compete`, with the reason in place of a ranking where there is too little to rank."""
    ranked, why = enough_for(lambda: compete(scored, runs, spec=spec, rng=rng, **how))
    nothing = scored.clear().with_columns(wall_seconds=pl.lit(None, pl.Float64))
    return ranked or Competition(spec, in_order(nothing), 0, {}, None, why)


def compete(
    scored: pl.DataFrame,
    runs: pl.DataFrame,
    *,
    spec: str | None = None,
    ci_level: float = 0.95,
    rng: np.random.Generator,
    kind: frames.Kind = "polars",
) -> Competition:
    """Rank the runs of a spec by score, and its agents by what their repeats allow to be said.

    `scored` is what `score_runs` gave for `runs`, which have the wall time that breaks ties. With a `spec` its runs are
    ranked, and wins are over it alone.

    Raises
    ------
    InputError
        No run has a spec, or none the one named.
    """
    timed = runs_table(runs)
    handed = [name for name in ("artefact",) if timed[name].is_not_null().any()]
    both = scored.with_columns(NAMED).join(timed.select("run_id", "wall_seconds", *handed), on="run_id", how="left")
    table = both.filter(pl.col("spec_id").is_not_null() & pl.col("score").is_not_null())
    if spec is not None:
        if spec not in set(scored["spec_id"].drop_nulls()):
            raise InputError("spec", "no run of this spec", spec, "see spec_id in the runs")
        table = table.filter(pl.col("spec_id") == spec)
        if table.is_empty():
            raise TooLittle("runs", f"none of {spec} has a score, so that none is ranked")
    elif table.is_empty():
        raise TooLittle("runs", "none has a spec_id and a score: nothing to compare", scored.height)
    ranked = in_order(table) if spec is not None else table.clear()
    scores, agents, specs = (table[name].to_numpy() for name in ("score", "agent_id", "spec_id"))
    wins = win_probability(scores.astype(np.float64), agents, specs, cluster_unit="spec", ci_level=ci_level)
    names = tuple(sorted(wins))
    pivot: Any = partial(table.pivot, "agent_id", index="spec_id", values="score", sort_columns=True)
    cells = pl.col(names).cast(pl.Float64).fill_null(0)
    by_spec = [pivot(aggregate_function=how).sort("spec_id").select(cells).to_numpy() for how in ("sum", "len")]
    sets = rank_sets(pooled_by_cluster(*by_spec), ci_level=ci_level, rng=rng)
    tied = int((ranked["score"] == ranked["score"].max()).sum()) if ranked.height else 0
    ranking = Ranking(f"the {many(len(names), 'agent')}", "mean score", names, sets, unit="spec", share=False)
    return Competition(spec, ranked, tied, wins, ranking, kind=kind)


def in_order(scored: pl.DataFrame) -> pl.DataFrame:
    """Runs best first: by score, then by the tie-breaks; runs without a score come last. Needs ``wall_seconds``.

    A wall time or an end that cannot be true is not known, and wins no tie.
    """
    scored = scored.with_columns(usable_walls(), usable_ends())
    keys = ("score", "completion", "error_rate", "wall_seconds", "ended_at", "run_id")
    ordered = scored.sort(*keys, descending=[True, True, True, False, False, False], nulls_last=True)
    scores = ("score", "tier", "score_low", "score_high", "completion", "error_rate", "latency", "resource_efficiency")
    handed = [name for name in ("artefact",) if name in ordered.columns]
    return ordered.select("run_id", "agent_id", *scores, "wall_seconds", "ended_at", *handed).with_row_index("rank", 1)


@dataclass(frozen=True, eq=False)
class ScoreCalibration(Result):
    """How well scores go with labels.

    `dropped` is the component that was left out because it was made of the label itself. `auc` is the chance that a
    good run scores higher than another, `components` the same for each component alone, as far as it could be computed.
    `fit` is the criterion-referenced S-curve on score / 100, or says why there is none. `loss` has the mean squared
    error of three forecasts of "good" on specs that were not used to fit them: ``base_rate``, ``linear`` (score / 100
    as it stands) and ``s_curve``; `gain` is linear minus S-curve, with its interval over specs. `points` are scores and
    labels, for the figure.
    """

    _keys = ("labels", "dropped", "auc", "components", "share_good", "fit", "loss", "gain")

    labels: str
    dropped: str
    auc: Estimate
    components: Mapping[str, Estimate]
    share_good: float
    fit: CurveFit
    loss: Mapping[str, float]
    gain: Estimate | None
    points: pl.DataFrame

    @property
    def aucs(self) -> dict[str, Estimate]:
        """The AUC of the score, and that of each component."""
        return {"score": self.auc, **self.components}

    @property
    def ranks(self) -> Ranks:
        """What the interval of the AUC allows to be said."""
        return Ranks.ALIKE if self.auc.ci_low > 0.5 else Ranks.AGAINST if self.auc.ci_high < 0.5 else Ranks.UNTOLD

    def bands(self, n_bands: int = 5) -> list[tuple[float, Estimate]]:
        """The share of good runs in bands of the score with about as many runs each, by their mean score."""
        ordered = self.points.sort("score", "spec", "good")
        band = (ordered["score"].rank("average") - 0.5).to_numpy() * n_bands // ordered.height
        parts = [ordered.filter(pl.Series(band == number)) for number in np.unique(band)]
        arrays = [[part[name].to_numpy() for name in ("score", "good", "spec")] for part in parts]
        share = partial(clustered_proportion, cluster_unit="spec")
        return [(float(np.mean(score)), share(good, specs)) for score, good, specs in arrays]

    def forecast(self, score: frames.Floats) -> frames.Floats:
        """What the S-curve says of runs with these scores; NaN where there is no curve."""
        return _forecast(self.fit, score)


class ScoreAgainstLabels(Part, name="aucs", caption="AUC of the score and of each component alone"):
    """Whether the score, and each of its components alone, ranks runs as labels do; or the `refusal` that says why not.

    The AUC is the chance that a good run scores higher than another; one half is chance.
    """

    _flat = ("found",)

    found: ScoreCalibration | None
    refusal: str = ""

    @property
    def table(self) -> frames.Table:
        """One row for the score and one for each component."""
        aucs, shown = self.found.aucs if self.found else {}, columns("auc=estimate low=ci_low high=ci_high note=reason")
        return frames.table_of(frames.rows_by("score", aucs, shown), self.kind, columns=("score", "auc"))

    @property
    def answer(self) -> str:
        """Whether the score ranks runs as the labels do, and which components would rank them against."""
        if self.found is None:
            return self.refusal
        against = [theme.in_words(name) for name, each in self.found.components.items() if each.ci_high < 0.5]
        sentence = say.against_labels(self.found.labels, self.found.dropped, self.found.auc, self.found.share_good)
        return f"{sentence} {say.wrong_way(against)}" if against else sentence

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Each AUC with its interval."""
        if self.found is None:
            return super().plot(ax)
        aucs = self.found.aucs
        ax = theme.new_axes(6.4, 1.2 + 0.42 * len(aucs)) if ax is None else ax
        for row, auc in enumerate(aucs.values()):
            theme.interval_mark(ax, auc, row)
            higher = "undefined" if np.isnan(auc.estimate) else f"{100 * auc.estimate:.0f} of 100"
            theme.at_the_right(ax, row, f"{higher}{': worse than chance' if auc.ci_high < 0.5 else ''}")
        ax.axvline(0.5, color=theme.QUIET, linewidth=1, linestyle=":")
        theme.named_rows(ax, ["the score" if name == "score" else f"{theme.in_words(name)} alone" for name in aucs])
        ax.set_xlim(0.2, 1.02)
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
        whole = self.found.auc
        note = f"of 100 pairs of a good run and one that is not, by {self.found.labels}; dotted: chance"
        how = f"{note}; {whole.n_items} runs, {theme.intervals(whole)}"
        return theme.dress(ax, "Pairs in which the good run scores higher", note, how=how, lines="x")


def against_labels(
    scored: pl.DataFrame,
    labels: frames.Given,
    *,
    name: str = "labels",
    question: str = "",
    raters: Sequence[str] | None = None,
    kind: frames.Kind = "polars",
    **how: Any,
) -> ScoreAgainstLabels:
    """Does the score rank runs as labels do?

    Parameters
    ----------
    scored : polars.DataFrame
        What `score_runs` gave.
    labels, question, raters
        Ratings on the scale ``unit``, as `rated_labels` takes them.
    name, **how
        As `calibrate_score` takes them.
    """
    rated = partial(rated_labels, labels, question=question, raters=raters)
    calibrated, why = enough_for(lambda: calibrate_score(scored, rated(), name=name, **how))
    refusal = f"{say.UNLABELLED} {why}" if why else ""
    return ScoreAgainstLabels(calibrated, refusal, kind=kind, made_up=frames.made_up_raters(as_ratings(labels)))


def against_reward(
    trajectories: Sequence[Trajectory],
    *,
    rules: ScorecardRules = DEFAULT,
    kind: frames.Kind = "polars",
    ci_level: float = 0.95,
) -> ScoreAgainstLabels:
    """The score of trajectories against their end-task reward, without completion: it *is* the reward."""
    runs = runs_frame(runs_of(trajectories))
    scored, labels = score_runs(runs, rules=rules), reward_labels(runs)
    if labels.is_empty():
        return ScoreAgainstLabels(None, say.NO_REWARD, kind=kind)
    how: Any = {"name": "end-task reward", "dropped": "completion", "rules": rules, "ci_level": ci_level}
    return ScoreAgainstLabels(calibrate_score(scored, labels, **how), kind=kind)


class ScoreForecast(Part, name="good_runs", caption="Share of good runs in fifths of the score"):
    """The score as a forecast of good runs: as it stands, and by an S-curve that is tried on specs left out."""

    found: ScoreCalibration | None

    @property
    def table(self) -> frames.Table:
        """One row a fifth of the runs: their mean score, the share that is good, and what the S-curve says."""
        bands = self.found.bands() if self.found else []
        shown = {"good": "estimate", "low": "ci_low", "high": "ci_high", "runs": "n_items"}
        rows = [{"score": score} | frames.rows_of([share], shown)[0] for score, share in bands]
        return frames.table_of(rows, self.kind, columns=("score", "good"))

    @property
    def answer(self) -> str:
        """Where the S-curve reaches one half, and whether it forecasts better; or why there is none."""
        if self.found is None:
            return ""
        if self.found.fit.curve is None:
            return say.NO_CURVE.format(reason=self.found.fit.refusals[0].reason)
        sentences = [say.forecast(self.found.fit.median, self.found.loss)] if self.found.loss else []
        return " ".join(sentences + ([say.gain(self.found.gain)] if self.found.gain is not None else []))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Share of good runs by score, with the S-curve and the score itself as forecasts."""
        if self.found is None:
            return super().plot(ax)
        ax = theme.new_axes(6.4, 4.0) if ax is None else ax
        for score, share in self.found.bands():
            theme.interval_mark(ax, share, score, colour=theme.INK, size=5, upright=True)
        ax.plot([0, 100], [0, 1], ":", color=theme.QUIET, label="score / 100 as it stands")
        if self.found.fit.curve is not None:
            scores = np.linspace(1, 100, 200)
            ax.plot(scores, self.found.forecast(scores), color=theme.ACCENT, linewidth=1.8, label="fitted S-curve")
        ax.set_xlim(0, 102)
        ax.set_ylim(-0.03, 1.09)
        ax.yaxis.set_major_formatter(theme.percent_tick)
        marks = "share of good runs in a fifth of all runs, with its interval over specs"
        theme.legend_below(ax, {marks: {"color": theme.INK}}, inches=0.55, ncols=1)
        x = f"score without {self.found.dropped}" if self.found.dropped else "score"
        note = f"labels: {self.found.labels}"
        how = f"marks: a fifth of all runs each; {note}; {theme.intervals(self.found.auc)}"
        return theme.dress(ax, "Good runs by score", note, how=how, x=x, lines="both")

    def to_dict(self) -> dict[str, Any]:
        """The losses of the three forecasts, and the gain of the S-curve."""
        return {"loss": self.found.loss, "gain": plain(self.found.gain)} if self.found else {}


def score_forecast(of: ScoreAgainstLabels) -> ScoreForecast:
    """How well the score forecasts good runs."""
    return ScoreForecast(of.found, kind=of.kind, made_up=of.made_up)


def reward_labels(runs: pl.DataFrame) -> pl.DataFrame:
    """End-task rewards as labels: good from 1 on. Columns ``run_id`` and ``good``."""
    known = runs.filter(pl.col("reward").is_not_null() & pl.col("reward").is_finite())
    return known.select("run_id", (pl.col("reward") >= SUCCESS).cast(pl.Float64).alias("good"))


def rated_labels(labels: frames.Given, *, question: str = "", raters: Sequence[str] | None = None) -> pl.DataFrame:
    """Labels from a ratings table on the scale ``unit``: the mean of a run's raters, good from one half on.

    Parameters
    ----------
    labels : table
        A ratings table; ratings of steps and of further repeats are left out.
    question : str
        Which one, where there are several: what is good is one question.
    raters : sequence of str, optional
        Whose ratings; by default those of people, planted truth and references.

    Raises
    ------
    InputError
        No such ratings, several questions and none named, or a rater that rated nothing.
    """
    unit = as_ratings(labels, where="labels").filter(WHOLE_RUN, pl.col("scale") == "unit", pl.col("repeat") == 0)
    if unit.is_empty():
        scales = sorted(set(as_ratings(labels)["scale"].drop_nulls()))
        raise InputError("labels", "must be ratings of whole runs on the scale unit (0 to 1)", scales)
    chosen = by_raters(unit, raters) if raters is not None else unit.filter(BY_PEOPLE)
    if chosen.is_empty():
        raise TooLittle("labels", "must be of people", sorted(set(unit["rater"])), "or name `raters`")
    asked = chosen["question"].unique().sort().to_list()
    if len(asked) > 1 and not question:
        raise InputError("labels", "one question says what is good", ", ".join(asked), "name it with `question`")
    name = one_of("question", question or asked[0], asked)
    given = chosen.filter(pl.col("status") == "ok", pl.col("question") == name).drop_nulls("value")
    if given.is_empty():
        raise TooLittle("labels", f"must hold a value of {name}: all were lost")
    mean = given.group_by(pl.col("trajectory_id").alias("run_id"), maintain_order=True).agg(pl.col("value").mean())
    return mean.select("run_id", (pl.col("value") >= 0.5).cast(pl.Float64).alias("good"))


def calibrate_score(
    scored: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    name: str,
    dropped: str = "",
    rules: ScorecardRules = DEFAULT,
    ci_level: float = 0.95,
) -> ScoreCalibration:
    """Compare scores with labels, clustered by spec.

    `scored` is what `score_runs` gave; `labels` have ``run_id`` and ``good`` (see `rated_labels`, `reward_labels`) and
    are called `name` in sentences. `dropped` is a component to leave out: ``completion`` where the outcome was read off
    these very labels.

    Raises
    ------
    InputError
        No scored run has a label.
    """
    table = scored.filter(pl.col("score").is_not_null()).join(labels, on="run_id", how="inner")
    if table.is_empty():
        raise TooLittle("labels", "no scored run has one", cure="run_id of labels and of runs must be the same")
    good = table["good"].to_numpy()
    score = without(table, dropped, rules=rules) if dropped else table["score"].cast(pl.Float64).to_numpy()
    specs = np.asarray(table.select(pl.coalesce("spec_id", "run_id")).to_series().to_list())

    def area(points: frames.Floats) -> Estimate:
        return auroc(points / 100, good, clusters=specs, cluster_unit="spec", ci_level=ci_level)

    kept = [name for name in COMPONENTS if name != dropped and table[f"{name}_reason"].null_count()]
    known = {name: pl.when(pl.col(f"{name}_reason").is_null()).then(pl.col(name).cast(pl.Float64)) for name in kept}
    of_component = table.select(**{name: points.fill_null(np.nan) for name, points in known.items()})
    fit = _fit(score, good, specs, ci_level)
    loss, gain = _held_out(score, good, specs, ci_level) if fit.curve else ({}, None)
    return ScoreCalibration(
        labels=name,
        dropped=dropped,
        auc=area(score),
        components={name: area(of_component[name].to_numpy()) for name in kept},
        share_good=float(good.mean()),
        fit=fit,
        loss=loss,
        gain=gain,
        points=pl.DataFrame({"score": score, "good": good, "spec": specs}),
    )


def _fit(score: frames.Floats, good: frames.Floats, specs: NDArray[Any], ci_level: float) -> CurveFit:
    """P(good) as an S-curve of score / 100: half of the runs are good at its median."""
    return fit_criterion_curve(score / 100, 100 * good, specs, floor=FLOOR, cluster_unit="spec", ci_level=ci_level)


def _forecast(fit: CurveFit, score: frames.Floats) -> frames.Floats:
    nothing = np.full(len(score), np.nan)
    return nothing if fit.curve is None else fit.curve.apply(np.maximum(score / 100, FLOOR))


def _held_out(
    score: frames.Floats, good: frames.Floats, specs: NDArray[Any], ci_level: float
) -> tuple[dict[str, float], Estimate | None]:
    """Squared errors of the three forecasts, each spec forecast from the others, and the gain of the S-curve."""
    errors = {
        "base_rate": np.empty_like(good),
        "linear": (score / 100 - good) ** 2,
        "s_curve": np.full_like(good, np.nan),
    }
    for spec in np.unique(specs):
        here = specs == spec
        if here.all():
            return {}, None
        errors["base_rate"][here] = (good[~here].mean() - good[here]) ** 2
        fit = _fit(score[~here], good[~here], specs[~here], ci_level)
        errors["s_curve"][here] = (_forecast(fit, score[here]) - good[here]) ** 2
    known = ~np.isnan(errors["s_curve"])
    loss = {name: float(values[known].mean()) for name, values in errors.items()} if known.any() else {}
    gain = errors["linear"] - errors["s_curve"]
    return loss, clustered_mean(gain, specs, cluster_unit="spec", ci_level=ci_level)
