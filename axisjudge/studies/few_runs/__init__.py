"""What can 20 runs tell? (in notebook 03)"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import ClassVar

from axisjudge.figures import theme
from axisjudge.results import columns
from axisjudge.stats.estimate import Estimate, many, plural
from axisjudge.stats.latent_panel import TAIL, LatentPanel, NoModel, Sampler, latent_panel, tails
from axisjudge.studies._shared.frames import Given, Table, rows_by, table_of
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import directed, equal_to, in_points, listed
from axisjudge.studies.few_runs.panel import (
    Beside,
    JudgeBeside,
    LabelsHidden,
    RatedPanel,
    effective_by_design,
    hide_labels,
    judges_beside,
    rated_panel,
    rates_beside,
)

#: Columns of the tables, and where their figures stand.
_RATES = columns(
    "agent=model.agent axis=model.axis items=model.called.n_items failing~=model.failing labelled~",
    "called~=model.called counted~=called",
)
_JUDGES = columns(
    "judge=model.judge sensitivity~=model.sensitivity on_failing~=sensitivity",
    "specificity~=model.specificity on_others~=specificity leniency~=model.leniency",
)
_SOURCES = columns("source share~~")


class RunRates(Part, name="run_rates", caption="What fails and what is called incorrect, by the model and by design"):
    """What fails and what is called incorrect, for every agent and axis: by the model, and by design.

    `rates` has ``all`` for the means, last; the other parts are made from its `panel` and `model`.
    """

    _rows = "rates", _RATES
    _keys = ("rates",)

    panel: RatedPanel
    model: LatentPanel
    rates: tuple[Beside, ...]
    ci_level: float
    seed: int
    sampler: Sampler

    @property
    def behind(self) -> None:
        """Nothing: rows count the runs that were drawn, and no filter of the explorer knows these."""

    @property
    def overall(self) -> Beside:
        """Over all agents and axes."""
        return self.rates[-1]

    @property
    def answer(self) -> str:
        """How many runs fail, by the model and by design, and which to believe; or why the model says nothing."""
        return answer(self.model, self.overall, self.panel.n_runs, self.panel.n_tasks)

    @property
    def sample(self) -> str:
        """What was fitted, whether the chains agree, and how wide intervals are both ways."""
        fitted = sample(self.model, len(self.panel.judges), self.panel.n_open)
        return f"{fitted} {widths(self.rates)}"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Filled by the model, hollow by design."""
        cells = [one for one in self.rates if "all" not in (one.model.agent, one.model.axis)]
        cells = [*(cells if len(cells) > 1 else []), self.overall]
        named = [(f"{_name(one)}: " if cells[1:] else "", one) for one in cells]
        rows = [(f"{name}called incorrect", one.model.called, one.called) for name, one in named]
        if not all(math.isnan(rate.estimate) for rate in (self.overall.model.failing, self.overall.labelled)):
            fails = [(f"{name}fails", one.model.failing, one.labelled) for name, one in named]
            rows = [*fails, *rows[-1:]]  # of cells the rate that is asked for; both over all
        return _beside(ax, rows, "What these runs tell, with borrowed strength and without")


def run_rates(
    ratings: Given,
    labels: Given | None = None,
    *,
    judges: Sequence[str] | None = None,
    steps: bool | None = None,
    runs: int = 0,
    ci_level: float = 0.95,
    seed: int = 0,
    sampler: Sampler = "gibbs",
) -> RunRates:
    """Fit one hierarchical model of all verdicts, and set its rates beside those counted over tasks.

    Which items fail, by agent, axis, task and run, and how often each judge sees it (`axisjudge.stats.latent_sampler`).
    Each part borrows strength from the others; beside every figure of the model stands the one that assumes less.

    Parameters
    ----------
    ratings : table
        A ratings table on the scale ``verdict`` or ``step``; those who give labels may stand in it.
    labels : table, optional
        Labels, where they stand apart; taken as drawn at random where not all items have one.
    judges : sequence of str, optional
        Which raters judge; by default all but those who give labels.
    steps : bool, optional
        Ratings of steps; by default whole runs, unless there are none.
    runs : int
        Take tasks at random, whole, until they hold so many runs; 0 takes all.
    ci_level : float
        Of all intervals: posterior ones, and design-based ones over tasks.
    seed : int
        Of the draws.
    sampler : {"gibbs", "nuts"}
        What draws from the posterior: our own sampler in a second, or numpyro's NUTS in a minute (the extra ``bayes``).

    Raises
    ------
    InputError
        No verdicts of judges with a word for failing, two ratings of one judge on one item, or a sampler that is not
        there.

    Notes
    -----
    Verdicts that say neither word (uncertain, not applicable, lost) are left out and counted. Where the model refuses,
    its figures are NaN with the reason, and the design-based ones stand alone.
    """
    panel = rated_panel(ratings, labels, judges=judges, steps=steps, runs=runs, seed=seed)
    names = {"agent": panel.agents, "axis": panel.axes}
    model = latent_panel(panel.items, names, panel.judges, ci_level=ci_level, seed=seed, sampler=sampler)
    rates = rates_beside(panel, model, ci_level=ci_level)
    return RunRates(panel, model, rates, ci_level, seed, sampler, kind=panel.kind, made_up=panel.made_up)


class JudgesOfRuns(
    Part, name="judge_accuracy", caption="Each judge's rates, by the model and counted on labelled items"
):
    """Sensitivity, specificity and leniency of each judge: by the model, and on labelled items.

    `on_failing` and `on_others` are shares right of labelled items.
    """

    _rows = "judges", _JUDGES

    judges: tuple[JudgeBeside, ...]

    @property
    def answer(self) -> str:
        """Which judges are shown to be lenient or strict."""
        known = [one.model for one in self.judges if not math.isnan(one.model.leniency.ci_low)]
        if not known:
            return "Which judge is lenient is not known without the truth."
        parts = []
        for words, chosen in (
            ("lenient", [one for one in known if one.leniency.ci_low > 0]),
            ("strict", [one for one in known if one.leniency.ci_high < 0]),
        ):
            if chosen:
                far = max(chosen, key=lambda one: abs(one.leniency.estimate))
                by = directed(in_points(far.leniency), "lower", "higher")
                count = f"{len(chosen)} of {many(len(known), 'judge')}"
                verb, most = ("is", "") if len(chosen) == 1 else ("are", "most of all ")
                calls = f"calls a share incorrect that is {by} than the share that fails"
                parts.append(f"{count} {verb} shown to be {words}, {most}{far.judge}, which {calls}")
        if not parts:
            who = "The judge is not" if len(known) == 1 else f"None of {len(known)} judges is"
            return f"{who} shown to be lenient or strict."
        return f"{'; '.join(parts)}. Each judge was looked at alone, so this is exploratory."

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """How often each judge sees that an item fails, the best first; empty where the model says nothing of it."""
        known = [one for one in self.judges if one.model.sensitivity.reason == ""]
        known.sort(key=lambda one: -one.model.sensitivity.estimate)
        rows = [(one.model.judge, one.model.sensitivity, one.sensitivity) for one in known]
        return _beside(ax, rows, "How often each judge sees that an item fails (sensitivity)")


def judge_accuracy(rates: RunRates) -> JudgesOfRuns:
    """How often each judge is right, drawn towards the panel, beside its share right on labelled items."""
    judges = judges_beside(rates.panel, rates.model, ci_level=rates.ci_level)
    return JudgesOfRuns(judges, kind=rates.kind, made_up=rates.made_up)


class VarianceShares(Part, name="variance_shares", caption="Shares of the variance of one verdict"):
    """What another task, run or judge would have changed of one verdict: shares of its variance."""

    _rows = "model.components", _SOURCES
    _keys = columns("components=model.components")

    model: LatentPanel

    @property
    def answer(self) -> str:
        """The largest sources."""
        known = [one for one in self.model.components if not math.isnan(one.share.ci_low)]
        if not known:
            return "Where the variance of a verdict comes from is not known without the truth."
        most = sorted(known, key=lambda one: -one.share.estimate)[:3]
        first, *others = [f"in '{one.source}'" for one in most]
        shares = [one.share.worded(".0%") for one in most]
        lies = [
            f"{shares[0]} lies {first}",
            *(f"{each} {where}" for each, where in zip(shares[1:], others, strict=True)),
        ]
        return f"Of the variance of a verdict {listed(lies)}."

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Posterior means with their intervals."""
        components = self.model.components
        ax = theme.new_axes(7.4, 1.3 + 0.36 * len(components)) if ax is None else ax
        for row, one in enumerate(components):
            theme.interval_mark(ax, one.share, row)
            if not math.isnan(one.share.estimate):
                theme.at_the_right(ax, row, f"{one.share.estimate:.0%}")
        theme.named_rows(ax, [one.source for one in components])
        theme.percent_axis(ax)
        bars = theme.level(components[0].share if components else None, "posterior intervals")
        return theme.dress(ax, "Where the variance of one verdict comes from", f"posterior means with {bars}")


def variance_shares(rates: RunRates) -> VarianceShares:
    """Where the variance of one verdict of one judge on one item comes from, by the model."""
    return VarianceShares(rates.model, kind=rates.kind, made_up=rates.made_up)


class WorthOfPanel(Part, name="panel_worth", caption="Independent judges that the panel is worth"):
    """How many independent judges the panel is worth: by the model, and by the correlation of errors on labels."""

    _keys: ClassVar = {"model": "model.effective", "by correlation of errors": "by_design"}

    model: LatentPanel
    by_design: Estimate | None

    @property
    def table(self) -> Table:
        """A row a way."""
        ways = {"the model": self.model.effective, "correlation of errors": self.by_design}
        known = {way: of for way, of in ways.items() if of is not None}
        return table_of(rows_by("by", known, {"judges": "estimate", "low": "ci_low", "high": "ci_high"}), self.kind)

    @property
    def answer(self) -> str:
        """What the panel is worth, both ways."""
        own = self.model.effective
        if math.isnan(own.estimate):
            return f"How many independent judges the panel is worth is not said: {own.reason}."
        beside = ""
        if self.by_design is not None and not math.isnan(self.by_design.estimate):
            beside = f"; by the correlation of errors {self.by_design.estimate:.1f} ({self.by_design.interval('.1f')})"
        return f"The {own.n_raters} judges {equal_to(own.n_raters, own, '.1f')}, by the model{beside}."


def panel_worth(rates: RunRates) -> WorthOfPanel:
    """The effective number of judges; by design it takes labels and two judges."""
    by_design = effective_by_design(rates.panel, ci_level=rates.ci_level)
    return WorthOfPanel(rates.model, by_design, kind=rates.kind, made_up=rates.made_up)


class HiddenLabels(Part, name="hidden_labels", caption="On labels that the model did not see"):
    """The model against labels that it did not see, beside the judges' votes counted; empty where none was hidden."""

    _flat = ("trial",)

    trial: LabelsHidden | None

    @property
    def table(self) -> Table:
        """A row for the model and one for the votes: share right, and mean squared error of the probability."""
        if (of := self.trial) is None:
            return table_of([], self.kind, columns=("by", "right", "brier", "labels"))
        by_model = {"by": "the model", "right": of.accuracy, "brier": of.brier, "labels": of.n_hidden}
        by_votes = by_model | {"by": "votes", "right": of.votes_accuracy, "brier": of.votes_brier}
        return table_of([by_model, by_votes], self.kind)

    @property
    def answer(self) -> str:
        """How the model does on labels that it did not see."""
        if (trial := self.trial) is None:
            return "No label was hidden to try the model on."
        start = f"With {many(trial.n_hidden, 'label')} hidden"
        if math.isnan(trial.failing.estimate) or math.isnan(trial.accuracy):
            return f"{start} the model does not say how many fail: {trial.failing.reason}."
        worse = " (lower is better: it is too sure here)" if trial.brier > trial.votes_brier else ""
        held = "holds" if trial.failing.ci_low <= trial.labelled.estimate <= trial.failing.ci_high else "does not hold"
        return (
            f"{start} the model says that {trial.failing.worded('.0%')} of items fail; the labels that are left say "
            f"{trial.alone.worded('.0%')} by themselves. The model's interval {held} the {trial.labelled.estimate:.0%} "
            f"of all labels. Of the hidden labels the model gets {trial.accuracy:.0%} right, the majority of judges "
            f"{trial.votes_accuracy:.0%}. The model's probabilities have a mean squared error (Brier score) of "
            f"{trial.brier:.3f} on them, the shares of judges that say incorrect {trial.votes_brier:.3f}{worse}."
        )


def hidden_labels(rates: RunRates, share: float = 0.5) -> HiddenLabels:
    """Fit once more with a share of the labels hidden, and hold the model against them.

    Raises
    ------
    InputError
        The share is not in [0, 1].
    """
    trial = hide_labels(rates.panel, share, ci_level=rates.ci_level, seed=rates.seed, sampler=rates.sampler)
    return HiddenLabels(trial, kind=rates.kind, made_up=rates.made_up)


class FewRuns(Study):
    """What the model says, beside design-based figures."""

    rates: RunRates
    judges: JudgesOfRuns
    components: VarianceShares
    effective: WorthOfPanel
    hidden: HiddenLabels


def few_runs(
    ratings: Given,
    labels: Given | None = None,
    *,
    judges: Sequence[str] | None = None,
    steps: bool | None = None,
    runs: int = 0,
    hidden: float = 0.0,
    ci_level: float = 0.95,
    seed: int = 0,
    sampler: Sampler = "gibbs",
) -> FewRuns:
    """What can few runs tell? The parts of the study, one after another.

    Parameters
    ----------
    ratings, labels, judges, steps, runs, ci_level, seed, sampler
        As `run_rates` takes them.
    hidden : float
        Fit once more with this share of the labels hidden, and say how the model does on them.

    Raises
    ------
    InputError
        As `run_rates`, and where `hidden` is not in [0, 1].

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.datasets import published_votes
    >>> pair = ["GPT-5.2", "Kimi-K2.5"]
    >>> found = axisjudge.studies.few_runs(published_votes("hotpotqa", "final"), judges=pair, runs=10)
    >>> found.rates.panel.n_runs, found.rates.panel.n_tasks, len(found.rates.table)
    (10, 2, 1)
    """
    rates = run_rates(
        ratings, labels, judges=judges, steps=steps, runs=runs, ci_level=ci_level, seed=seed, sampler=sampler
    )
    return FewRuns(
        rates=rates,
        judges=judge_accuracy(rates),
        components=variance_shares(rates),
        effective=panel_worth(rates),
        hidden=hidden_labels(rates, hidden),
    )


def _beside(ax: theme.Axes | None, rows: Sequence[tuple[str, Estimate, Estimate]], title: str) -> theme.Axes:
    """A row a rate: filled by the model, hollow as counted, and at the right how many items are counted."""
    ax = theme.new_axes(7.4, 1.4 + 0.4 * len(rows)) if ax is None else ax
    for row, (_, modelled, counted) in enumerate(rows):
        theme.interval_mark(ax, modelled, row - 0.14, size=6)
        theme.interval_mark(ax, counted, row + 0.14, filled=False, size=6)
        theme.at_the_right(ax, row, f"{counted.n_items}")
    theme.named_rows(ax, [name for name, *_ in rows])
    theme.percent_axis(ax)
    theme.dress(ax, title, "filled: the model's; hollow: as counted; at the right how many items are counted")
    if rows:
        _, modelled, counted = rows[-1]
        posterior = f"filled: the model's, {theme.level(modelled, 'posterior intervals')}"
        by_design = f"hollow: as counted, {theme.level(counted)} over {plural(counted.cluster_unit)}"
        theme.describe(ax, f"{posterior}; {by_design}")
    return ax


def _name(one: Beside) -> str:
    agent, axis = one.model.agent, one.model.axis
    if agent == axis == "all":
        return "all"
    beside = ", " if len(agent) + len(axis) < theme.LONGEST else ",\n"  # or both would be cut where they meet
    return theme.in_words(axis) if agent.startswith("(") else f"{agent}{beside}{theme.in_words(axis).lower()}"


_OF: dict[Sampler, str] = {"gibbs": "", "nuts": " of numpyro's NUTS"}


def answer(model: LatentPanel, overall: Beside, n_runs: int, n_tasks: int) -> str:
    """The share that fails, by the model and by design, and which of them to believe; or why the model says nothing."""
    start = f"In {many(n_runs, 'run')} of {many(n_tasks, 'task')}"
    by_design = overall.called if math.isnan(overall.labelled.estimate) else overall.labelled
    some = by_design is overall.labelled and by_design.n_missing
    share = f"{by_design.worded('.0%')} of the {many(by_design.n_items, 'labelled item') if some else 'items'}"
    design = f"judges call {share} incorrect" if by_design is overall.called else f"{share} are labelled as failing"
    if math.isnan(by_design.estimate):
        return f"{start} nothing can be said: {model.refusal.value}, and no item has a label."
    if model.refusal is not NoModel.NONE:
        return f"{start} the model says nothing ({model.refusal.value}): {design}, and no more."
    if math.isnan(overall.model.failing.estimate):
        by_model, why = overall.model.called.worded(".0%"), f"not known: {model.cells[-1].failing.reason}"
        return f"{start}, {design}; the model says {by_model}. How many truly fail is {why}."
    failing = overall.model.failing
    return (
        f"{start}, {design}{_left_open(by_design)} on tasks like these. A statistical model of the verdicts "
        f"says {failing.worded('.0%')}{_left_open(failing)}; where its assumptions are wrong, believe the first. "
        "Neither shows that one agent or judge is better than another."
    )


def _left_open(rate: Estimate) -> str:
    """How many points lie between the ends of an interval, as they are printed."""
    if math.isnan(rate.ci_low):
        return ""
    points = round(100 * rate.ci_high) - round(100 * rate.ci_low)
    return f", which leaves {many(points, 'point')} open"


#: An interval so wide leaves little open: what more runs are counted for.
_NARROW = 0.2


def next_step(rates: RunRates) -> str:
    """How many tasks would leave 20 points open, as the width shrinks with the root of their number."""
    labelled = rates.overall.labelled
    rate = rates.overall.called if math.isnan(labelled.estimate) else labelled
    if math.isnan(rate.ci_low):
        return "Run more tasks and have people label some of the runs (axisjudge label)."
    width, tasks = rate.ci_high - rate.ci_low, rates.panel.n_tasks
    if width <= _NARROW:
        return "Page 05 says which axis fails most, page 03 how far judges are from people."
    enough = math.ceil(tasks * (width / _NARROW) ** 2)
    what = "Run and judge" if rate is rates.overall.called else "Run and label"
    return f"{what} about {enough:,} tasks: that would leave {100 * _NARROW:.0f} points open."


def sample(model: LatentPanel, n_judges: int, n_open: int) -> str:
    """What was fitted, and whether the chains agree."""
    labels = f"{model.n_labelled:,} labelled" if model.n_labelled else "none labelled"
    left = f" {many(n_open, 'verdict')} left out, as neither word was said." if n_open else ""
    start = f"{many(n_judges, 'judge')}, {many(model.n_items, 'item')} ({labels}).{left}"
    if model.convergence is None:
        return start
    agreed, (low, high) = model.convergence, tails(model.effective.ci_level)
    chains = f"chains{_OF[model.sampler]} {'agree' if agreed.converged else 'do not agree'}"
    lost = f"; {many(agreed.n_divergent, 'draw')} diverged" if agreed.n_divergent else ""
    return (
        f"{start} The {chains}: R hat is at most {agreed.ratio:.3f}, and at least {agreed.effective_draws:,.0f} of "
        f"{agreed.n_draws:,} draws are effective{lost}. Intervals hold the central "
        f"{high - low:.0%} of the posterior, so that {1 - 2 * low / TAIL:.0%} of them hold the truth."
    )


def widths(rates: Sequence[Beside]) -> str:
    """How wide the intervals of single cells are, by the model and by design."""
    cells = [one for one in rates if "all" not in (one.model.agent, one.model.axis)]
    pairs = [(one.model.called, one.called) for one in cells or rates]
    known = [(_width(model), _width(design)) for model, design in pairs if not math.isnan(_width(model))]
    both = [pair for pair in known if not math.isnan(pair[1])]
    if not both:
        return "No rate has an interval both ways."
    model, design = (100 * median(column) for column in zip(*both, strict=True))
    return (
        f"The interval of the share that judges call incorrect, for an agent on an axis, is {model:.0f} points wide by "
        f"the model and {design:.0f} as counted{f' (median of {len(both)} cells)' if len(both) > 1 else ''}."
    )


def _width(rate: Estimate) -> float:
    return rate.ci_high - rate.ci_low


open_door(few_runs)
