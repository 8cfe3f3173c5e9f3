"""`axisjudge.studies.few_runs`: what a panel's verdicts on few runs can tell, by a model that borrows strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from axisjudge.stats.estimate import Estimate
from axisjudge.stats.latent.panel import LatentPanel, Sampler, latent_panel
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, table_of, with_ends
from axisjudge.studies._shared.result import RatedResult
from axisjudge.studies._shared.words import in_cell
from axisjudge.studies.few_runs import sentences
from axisjudge.studies.few_runs.beside import (
    Beside,
    JudgeBeside,
    LabelsHidden,
    beside,
    effective_by_design,
    judges_beside,
    labels_hidden,
)
from axisjudge.studies.few_runs.figures import plot_components, plot_judges, plot_rates
from axisjudge.studies.few_runs.panel import rated_panel

if TYPE_CHECKING:
    from axisjudge.studies._shared.result import Plot

_RATES = {
    "agent": "model.agent",
    "axis": "model.axis",
    "items": "model.called.n_items",
    **with_ends("failing", "model.failing"),
    **with_ends("labels", "labelled", low="labels low", high="labels high"),
    **with_ends("called", "model.called", low="called low", high="called high"),
    **with_ends("judges say", "called", low="say low", high="say high"),
}
_EMPTY = {"rates": ("agent",), "judges": ("judge",), "components": ("source", "share")}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FewRuns(RatedResult):
    """What the model says, beside design-based figures.

    `rates` has every agent and axis, with ``all`` for the means; `effective` is that by correlation of errors, the
    model's stands in `model`; `hidden` the model against labels that it did not see.
    """

    model: LatentPanel
    rates: tuple[Beside, ...]
    judges: tuple[JudgeBeside, ...]
    effective: Estimate | None
    hidden: LabelsHidden | None
    n_runs: int
    n_tasks: int
    n_judges: int
    n_open: int
    kind: Kind

    @property
    def table(self) -> Table:
        """Failing and called incorrect for every agent and axis, by the model and by design."""
        return frame_of(self.rates, _RATES, self.kind)

    def tables(self) -> dict[str, Table]:
        """Every table with its intervals in words, by name: rates, judges, components."""
        rates = [
            {"agent": one.model.agent, "axis": one.model.axis, "items": one.model.called.n_items}
            | {"fail": in_cell(one.model.failing), "labelled so": in_cell(one.labelled)}
            | {"called incorrect": in_cell(one.model.called), "counted": in_cell(one.called)}
            for one in self.rates
        ]
        judges = [
            {"judge": one.model.judge, "sensitivity": in_cell(one.model.sensitivity)}
            | {"on labels": in_cell(one.sensitivity), "specificity": in_cell(one.model.specificity)}
            | {"on labels ": in_cell(one.specificity), "leniency": in_cell(one.model.leniency)}
            for one in self.judges
        ]
        components = [{"source": one.source, "share": in_cell(one.share)} for one in self.model.components]
        named: dict[str, list[dict[str, Any]]] = {"rates": rates, "judges": judges, "components": components}
        return {name: table_of(rows, self.kind, columns=_EMPTY[name]) for name, rows in named.items()}

    @property
    def overall(self) -> Beside:
        """Over all agents and axes."""
        return self.rates[-1]

    @property
    def answer(self) -> str:
        """How many runs fail as far as these can tell, and by how much the model narrows it."""
        return sentences.answer(self.model, self.overall, self.n_runs, self.n_tasks)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sample, widths, judges, sources of variance, effective judges, and the check with labels hidden."""
        return (
            sentences.sample(self.model, self.n_judges, self.n_open),
            sentences.widths(self.rates),
            sentences.lenient(self.judges),
            sentences.sources(self.model),
            sentences.effective(self.model, self.effective),
            sentences.hidden(self.hidden),
        )

    def plots(self) -> Mapping[str, Plot]:
        """Rates by the model and by design; judges; shares of variance."""
        drawn: dict[str, Plot] = {"few_runs_rates": partial(plot_rates, self.rates)}
        if self.judges and self.judges[0].model.sensitivity.reason == "":
            drawn["few_runs_judges"] = partial(plot_judges, self.judges)
        if self.model.components and self.model.components[0].share.reason == "":
            drawn["few_runs_components"] = partial(plot_components, self.model.components)
        return drawn


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
    """What can few runs tell?

    One hierarchical model of all verdicts (`axisjudge.stats.latent.sampler`): which items fail, by agent, axis, task
    and run, and how often each judge sees it. Each part borrows strength from the others. Beside every figure of the
    model stands the design-based one, which assumes less.

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
    hidden : float
        Fit once more with this share of the labels hidden, and say how the model does on them.
    ci_level : float
        Of all intervals: posterior ones, and design-based ones over tasks.
    seed : int
        Of the draws.
    sampler : {"gibbs", "nuts"}
        What draws from the posterior: our own sampler in a second, or numpyro's NUTS in a minute (the extra ``bayes``).

    Returns
    -------
    FewRuns
        `.table`, `.tables()`, `.answer`, `.sentences`, `.figures()`, `.save(path)`. Where the model refuses, its
        figures are NaN with the reason, and the design-based ones stand alone.

    Raises
    ------
    InputError
        No verdicts of judges with a word for failing, two ratings of one judge on one item, or a sampler that is not
        there.

    Notes
    -----
    Verdicts that say neither word (uncertain, not applicable, lost) are left out and counted.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.datasets import published_votes
    >>> pair = ["GPT-5.2", "Kimi-K2.5"]
    >>> found = axisjudge.studies.few_runs(published_votes("hotpotqa", "final"), judges=pair, runs=10)
    >>> found.n_runs, found.n_tasks, len(found.table)
    (10, 2, 1)
    """
    panel = rated_panel(ratings, labels, judges=judges, steps=steps, runs=runs, seed=seed)
    names = {"agent": panel.agents, "axis": panel.axes}
    model = latent_panel(panel.items, names, panel.judges, ci_level=ci_level, seed=seed, sampler=sampler)
    return FewRuns(
        model=model,
        rates=beside(panel, model, ci_level=ci_level),
        judges=judges_beside(panel, model, ci_level=ci_level),
        effective=effective_by_design(panel, ci_level=ci_level),
        hidden=labels_hidden(panel, hidden, ci_level=ci_level, seed=seed, sampler=sampler),
        n_runs=panel.n_runs,
        n_tasks=panel.n_tasks,
        n_judges=len(panel.judges),
        n_open=panel.n_open,
        made_up=panel.made_up,
        kind=kind_of(ratings),
    )
