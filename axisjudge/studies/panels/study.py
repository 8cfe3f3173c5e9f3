"""`axisjudge.studies.panels`: which judges to run, how to put them together, and which verdicts may stand alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from axisjudge.checks import InputError
from axisjudge.ratings import as_ratings
from axisjudge.stats.agreement.effective import EffectiveJudges, effective_judges
from axisjudge.stats.confidence.calibration import ReliabilityCurve, reliability_curve
from axisjudge.stats.panels.linear import probability_of
from axisjudge.stats.panels.nested import NestedWay, judges_worth, nested
from axisjudge.stats.panels.votes import PanelVotes
from axisjudge.stats.panels.ways import FEWEST_TASKS, fit_panel
from axisjudge.studies._shared.frames import Given, Table, kind_of
from axisjudge.studies._shared.scope import banner
from axisjudge.studies.panels import sentences, tables
from axisjudge.studies.panels.combined import Combined
from axisjudge.studies.panels.figures import plot_frontier, plot_reliability, plot_trust, plot_ways, plot_weights
from axisjudge.studies.panels.fitted import FittedPanel, kept
from axisjudge.studies.panels.frontier import frontier
from axisjudge.studies.panels.prices import item_prices
from axisjudge.studies.panels.trust import trust_panel
from axisjudge.studies.panels.voted import Voted, voted

if TYPE_CHECKING:
    from axisjudge.studies._shared.result import Plot

#: Where there are labels, on words without and with an order, and where there are none.
BY_LABELS, IN_ORDER, WITHOUT = "logistic", "ordered", "families_equal"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Panels(Combined):
    """Judges put together, side by side, with what the chosen panel is worth and what of it may stand alone."""

    study: ClassVar[str] = "panels"

    @property
    def banner(self) -> str:
        """Which ratings are simulated or planted."""
        return banner(self.made_up)

    @property
    def table(self) -> Table:
        """Every way on tasks left out; without labels the judges' weights."""
        return tables.ways_table(self.ways, self.kind) if self.ways else tables.judges_table(self)

    @property
    def judges(self) -> Table:
        """Each judge: weight, accuracy, what it adds, price: a table."""
        return tables.judges_table(self)

    @property
    def stands(self) -> Table:
        """What may stand without a person, by risk: a table."""
        return tables.trust_table(self.trust, self.kind)

    @property
    def strata(self) -> Table:
        """The same by word and agent, at the largest risk: a table."""
        return tables.strata_table(self.trust[-1], self.kind) if self.trust else tables.strata_table(None, self.kind)

    @property
    def spending(self) -> Table:
        """The undominated ways of spending money on an item: a table."""
        return tables.frontier_table(self.frontier, self.kind)

    @property
    def answer(self) -> str:
        """Whether a panel is shown to be better than the best single judge, and what may stand at the least risk."""
        foremost = tuple(each for each in self.trust if each.granted) or self.trust[-1:]
        return " ".join([sentences.gain(self), *(sentences.stands(each) for each in foremost[:1])])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What else there is to say."""
        return (
            sentences.read(self),
            sentences.calibrated(self),
            sentences.members(self),
            *(sentences.stands_in_full(each) for each in self.trust),
            *(sentences.worst(each) for each in self.trust[-1:]),
            sentences.spending(self.frontier),
        )

    def plots(self) -> Mapping[str, Plot]:
        """Ways side by side, weights, what may stand, and error against price."""
        drawn: dict[str, Plot] = {}
        if self.n_voted:  # weights of judges that said nothing weigh nothing
            drawn["panel_weights"] = partial(plot_weights, self.panel)
        if self.ways:
            drawn = {"panel_ways": partial(plot_ways, self.ways), **drawn}
        if self.reliability is not None:
            drawn["panel_reliability"] = partial(plot_reliability, self.reliability)
        if any(each.alone.tests for each in self.trust):
            drawn["panel_trust"] = partial(plot_trust, self.trust)
        if self.frontier.points:
            drawn["panel_frontier"] = partial(plot_frontier, self.frontier)
        return drawn


def panels(
    ratings: Given,
    labels: Given | None = None,
    *,
    way: str = "",
    question: str = "",
    judges: Sequence[str] | None = None,
    step_level: bool | None = None,
    sampling: str | None = None,
    risks: Sequence[float] = (0.05, 0.1, 0.2),
    level: float = 0.95,
    local: Sequence[str] = (),
    prices: Mapping[str, float] | None = None,
    cascade: Sequence[str] = (),
    cluster_unit: str = "task",
    name: str = "fitted",
    files: Mapping[str, Mapping[str, str]] | None = None,
    seed: int = 0,
) -> Panels:
    """Which judges do I run, how do I put them together, and which verdicts may I use without a person?

    Parameters
    ----------
    ratings : table
        Ratings of judges (polars, pandas, arrow, or a dict of columns); people's labels may stand among them.
    labels : table, optional
        People's labels, where they stand apart.
    way : str
        How to put judges together, of `axisjudge.stats.panels.ways.WAYS`; by default where tasks enough are
        labelled ``logistic``, on words in order ``ordered``; else ``families_equal``, which needs no label.
    question : str
        Which question, where there are several: a panel answers one.
    judges : sequence of str, optional
        Which raters; by default all but people, planted truth and other panels.
    step_level : bool, optional
        Ratings of steps; by default whole runs, unless there are none.
    sampling : str, optional
        How the labelled items were drawn, if the labels do not say.
    risks : sequence of float
        Errors allowed among verdicts that stand without a person.
    level : float
        How sure each bound must be.
    local : sequence of str
        Judges, models or families that run on one's own machine and cost nothing a call.
    prices : mapping, optional
        US dollars an item, for judges whose price is known better.
    cascade : sequence of str
        Judges to ask in turn; by default the cheapest first of those that none beats in price and error.
    name : str
        The panel's name; its ratings stand under ``panel:NAME``.
    files : mapping, optional
        Files behind the tables, ``ratings`` and ``labels``: name to sha256.
    seed : int
        Of the parts of cross-validations.

    Returns
    -------
    Panels
        `.panel` is what `axisjudge panel apply` takes, `.trust` what may stand by cross-fitted probabilities.

    Raises
    ------
    InputError
        No judges, several questions and none named, or a way by labels without labels of tasks enough.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.datasets import published_votes
    >>> result = axisjudge.studies.panels(published_votes("hotpotqa", "final"), cluster_unit="query")
    >>> result.panel.way, len(result.ways)
    ('logistic', 7)
    """
    if not risks:
        raise InputError("risks", "must name an error that is allowed")
    votes = voted(
        ratings,
        labels,
        question=question,
        judges=judges,
        step_level=step_level,
        sampling=sampling,
        cluster_unit=cluster_unit,
    )
    arrays = votes.votes
    voiced = ~np.isnan(votes.words).all(axis=1)
    enough = bool(voiced.any()) and arrays.n_labelled_groups >= FEWEST_TASKS
    chosen = way or ((IN_ORDER if arrays.ordered else BY_LABELS) if enough else WITHOUT)
    linear = fit_panel(arrays, chosen, rng=np.random.default_rng(seed))
    ways = nested(arrays, seed=seed, cluster_unit=cluster_unit) if enough else {}
    worth = judges_worth(arrays, chosen, linear, seed=seed, cluster_unit=cluster_unit) if enough else []
    held = ways[chosen].probabilities if ways else linear.probabilities(votes.words[arrays.labelled])
    panel = kept(name, chosen, linear, votes, held, files or {})
    known = item_prices(votes, as_ratings(ratings), local=local, prices=prices)
    return Panels(
        panel=panel,
        ways=ways,
        worth=tuple(worth),
        reliability=_reliability(arrays, ways[chosen], seed) if ways else None,
        effective=_effective(votes, panel) if (arrays.labelled & voiced).any() else None,
        trust=tuple(trust_panel(panel, votes, risk=risk, level=level, cross_fitted=True) for risk in sorted(risks)),
        frontier=frontier(votes, known, order=cascade, risk=max(risks), level=level, seed=seed),
        prices=known,
        n_items=len(votes.items),
        n_voted=int(voiced.sum()),
        n_confident=int((~np.isnan(votes.confidences)).any(axis=0).sum()),
        n_tasks=len(set(votes.tasks)),
        n_labelled=int(arrays.labelled.sum()),
        n_labelled_tasks=arrays.n_labelled_groups,
        cluster_unit=cluster_unit,
        made_up=votes.made_up,
        kind=kind_of(ratings),
    )


def _reliability(votes: PanelVotes, way: NestedWay, seed: int) -> ReliabilityCurve:
    """The probability of the panel's own word on tasks left out, against being right."""
    given, rows = ~np.isnan(way.words), votes.labelled
    right = (way.words == votes.labels[rows])[given].astype(float)
    sure, tasks = probability_of(way.words, way.probabilities)[given].round(2), votes.groups[rows][given]
    return reliability_curve(sure, right, clusters=tasks if np.unique(tasks).size > 1 else None, rng=seed)


def _effective(votes: Voted, panel: FittedPanel) -> EffectiveJudges | None:
    """How many independent judges those that the panel asks are worth; None for one alone."""
    if len(panel.asked) < 2:
        return None
    some = votes.of(panel.asked)
    tasks = np.array(votes.tasks)
    return effective_judges(some.words, votes.labels, clusters=tasks, cluster_unit=votes.cluster_unit)
