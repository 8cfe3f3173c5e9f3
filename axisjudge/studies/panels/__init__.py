"""Which judges, how put together, and which verdicts may stand without a person? (notebook 13, `axisjudge panel`)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.cluster import watched
from axisjudge.figures import theme
from axisjudge.ratings import as_ratings
from axisjudge.results import columns, plain
from axisjudge.stats.agreement.effective import EffectiveJudges, effective_judges
from axisjudge.stats.calibration import ReliabilityCurve, reliability_curve
from axisjudge.stats.panel_models import LinearPanel, probability_of
from axisjudge.stats.panel_nested import REFERENCE, JudgeWorth, NestedWay, judges_worth, nested
from axisjudge.stats.panel_ways import FEWEST_TASKS, fit_panel
from axisjudge.studies._shared.frames import Given, Table, native, rows_of, table_of
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies.panels import sentences as say
from axisjudge.studies.panels.figures import plot_frontier, plot_reliability, plot_trust, plot_ways, plot_weights
from axisjudge.studies.panels.trust import Frontier, Trust, frontier, item_prices, trust_panel
from axisjudge.studies.panels.voted import FittedPanel, Voted, kept, voted

#: Where there are labels, on words without and with an order, and where there are none.
BY_LABELS, IN_ORDER, WITHOUT = "logistic", "ordered", "families_equal"
_GAIN = columns("gain~")
#: Columns of the tables, and where their figures stand.
_WAY = columns("accuracy~~ kappa=kappa.estimate", _GAIN, "log_loss")
_STANDS = columns(
    "risk=alone.risk stand=n_kept share confidence_from=alone.threshold error=alone.error.estimate",
    "at_most=alone.error.ci_high labelled=n_labelled_kept people_read=n_rest more_labels=alone.more_labels",
)
_STRATUM = columns("by name items=n_items stand=n_kept share labelled=error.n_items error~~")
_MONEY = columns("what judges=named dollars=price error~~ kappa~")


class WaysTogether(
    Part,
    name="ways",
    caption="Every way on tasks left out; gain over the best single judge",
    formats=dict.fromkeys(("accuracy", "low", "high", "gain", "gain_low", "gain_high"), ".3f"),
):
    """Every way of putting judges together on tasks left out (`ways`, empty without labels), and the chosen `panel`."""

    _flat = ("ways",)

    votes: Voted
    panel: FittedPanel
    ways: Mapping[str, NestedWay]
    linear: LinearPanel
    seed: int

    @property
    def table(self) -> Table:
        """A row a way; the best single judge, which has no gain, among them."""
        rows = [
            {"way": say.NAMES[way]} | row | (dict.fromkeys(_GAIN) if way == REFERENCE else {})
            for way, row in zip(self.ways, rows_of(self.ways.values(), _WAY), strict=True)
        ]
        return table_of(rows, self.kind)

    answer = property(say.gain)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The gain of every way over the best single judge; the chosen panel's weights where no way was tried."""
        return plot_ways(self.ways, ax=ax) if self.ways else plot_weights(self.panel, ax=ax)


def put_together(
    ratings: Given,
    labels: Given | None = None,
    *,
    way: str = "",
    question: str = "",
    judges: Sequence[str] | None = None,
    step_level: bool | None = None,
    sampling: str | None = None,
    cluster_unit: str = "task",
    name: str = "fitted",
    files: Mapping[str, Mapping[str, str]] | None = None,
    seed: int = 0,
) -> WaysTogether:
    """Put judges together in every usual way, try each on tasks that it was not fitted on, and keep the chosen one.

    Parameters
    ----------
    ratings : table
        Ratings of judges (polars, pandas, arrow, or a dict of columns); people's labels may stand among them.
    labels : table, optional
        People's labels, where they stand apart.
    way : str
        How to put judges together, of `axisjudge.stats.panel_ways.WAYS`; by default where tasks enough are
        labelled ``logistic``, on words in order ``ordered``; else ``families_equal``, which needs no label.
    question : str
        Which question, where there are several: a panel answers one.
    judges : sequence of str, optional
        Which raters; by default all but people, planted truth and other panels.
    step_level : bool, optional
        Ratings of steps; by default whole runs, unless there are none.
    sampling : str, optional
        How the labelled items were drawn, if the labels do not say.
    name : str
        The panel's name; its ratings stand under ``panel:NAME``.
    files : mapping, optional
        Files behind the tables, ``ratings`` and ``labels``: name to sha256.
    seed : int
        Of the parts of cross-validations.

    Raises
    ------
    InputError
        No judges, several questions and none named, or a way by labels without labels of tasks enough.
    """
    asked: dict[str, Any] = {"question": question, "judges": judges, "step_level": step_level, "sampling": sampling}
    votes = voted(ratings, labels, **asked, cluster_unit=cluster_unit)
    arrays = votes.votes
    enough = bool(votes.n_voted) and arrays.n_labelled_groups >= FEWEST_TASKS
    chosen = way or ((IN_ORDER if arrays.ordered else BY_LABELS) if enough else WITHOUT)
    linear = fit_panel(arrays, chosen, rng=np.random.default_rng(seed))
    bar = partial(watched, name="ways on tasks left out")
    ways = nested(arrays, seed=seed, cluster_unit=cluster_unit, watch=bar) if enough else {}
    held = ways[chosen].probabilities if ways else linear.probabilities(votes.words[arrays.labelled])
    panel = kept(name, chosen, linear, votes, held, files or {})
    return WaysTogether(votes, panel, ways, linear, seed, kind=votes.kind, made_up=votes.made_up)


class PanelMembers(
    Part,
    name="panel",
    caption="Judges: weight, accuracy alone, what is lost without them, price",
    formats={"dollars": ".4f", "points_a_dollar": ".0f"},
):
    """Who is in the panel: weight, accuracy alone, what is lost without each judge, price.

    `effective` says how many independent judges those that it asks are worth.
    """

    votes: Voted
    panel: FittedPanel
    worth: tuple[JudgeWorth, ...]
    effective: EffectiveJudges | None
    prices: Mapping[str, float | None]

    @property
    def table(self) -> Table:
        """A row a judge, the heaviest first; `adds_points` is accuracy lost on tasks left out without it."""
        by_column, alike = {each.judge: each for each in self.worth}, self.panel.asked_families
        rows: list[dict[str, Any]] = []
        for column, name in enumerate(self.panel.judges):
            each, price, family = by_column.get(column), self.prices.get(name), self.panel.families[column]
            gain = (each.gain.estimate, each.gain.ci_low, each.gain.ci_high) if each else (np.nan,) * 3
            rows.append(
                {
                    "judge": name,
                    "family": f"{family} ({alike.count(family)})" if alike.count(family) > 1 else family,
                    "weight": self.panel.weights[column],
                    "accuracy": each.accuracy if each else None,
                    **dict(zip(("adds_points", "adds_low", "adds_high"), (100 * end for end in gain), strict=True)),
                    "adds_log_loss": each.loss if each else None,
                    "dollars": price,
                    "points_a_dollar": gain[0] / price * 100 if each and price else None,
                }
            )
        return table_of(sorted(rows, key=lambda row: -row["weight"]), self.kind)

    @property
    def answer(self) -> str:
        """What was put together, and how many independent judges it is worth."""
        return f"{say.read(self.votes, self.panel)} {say.members(self.panel, self.effective)}"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Each judge's weight; nothing where no judge gave a word."""
        if self.votes.n_voted:
            return plot_weights(self.panel, ax=ax)
        return theme.plot_rows(pl.DataFrame(), self.caption, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Way, weights and what each judge adds."""
        weights = dict(zip(self.panel.judges, self.panel.weights, strict=True))
        return {"way": self.panel.way, "weights": weights, "worth": plain(self.worth)}


def panel_members(
    ways: WaysTogether,
    ratings: Given,
    *,
    local: Sequence[str] = (),
    prices: Mapping[str, float] | None = None,
) -> PanelMembers:
    """What each judge of the panel weighs, adds and costs.

    Parameters
    ----------
    ratings : table
        Where what was paid is recorded.
    local : sequence of str
        Judges, models or families that run on one's own machine and cost nothing a call.
    prices : mapping, optional
        US dollars an item, for judges whose price is known better.
    """
    votes, panel = ways.votes, ways.panel
    gains: Sequence[JudgeWorth] = ()
    if ways.ways:
        bar = partial(watched, name="the panel without each judge")
        terms: dict[str, Any] = {"seed": ways.seed, "cluster_unit": votes.cluster_unit, "watch": bar}
        gains = judges_worth(votes.votes, panel.way, ways.linear, **terms)
    known = item_prices(votes, as_ratings(ratings), local=local, prices=prices)
    voiced = (~np.isnan(votes.words)).any(axis=1)
    labelled = (votes.votes.labelled & voiced).any()
    effective = None
    if labelled and len(panel.asked) > 1:
        some, tasks = votes.of(panel.asked), np.array(votes.tasks)
        effective = effective_judges(some.words, votes.labels, clusters=tasks, cluster_unit=votes.cluster_unit)
    return PanelMembers(votes, panel, tuple(gains), effective, known, kind=ways.kind, made_up=ways.made_up)


class PanelCalibration(
    Part, name="reliability", caption="Probability of the panel's word, and the share that is right"
):
    """The panel's probability of its own word against how often it is right, on tasks left out; None without labels."""

    _flat = ("curve",)

    curve: ReliabilityCurve | None

    @property
    def table(self) -> Table:
        """A row a distinct probability."""
        names = ("confidence", "calibrated", "band_low", "band_high", "count")
        if self.curve is None:
            return table_of([], self.kind, columns=names)
        return native(pl.DataFrame({name: getattr(self.curve, name) for name in names}), self.kind)

    answer = property(say.calibrated)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The curve with the band of a perfectly calibrated panel."""
        return super().plot(ax) if self.curve is None else plot_reliability(self.curve, ax=ax)


def panel_calibration(ways: WaysTogether) -> PanelCalibration:
    """Reliability of the chosen panel's probabilities on tasks left out."""
    arrays = ways.votes.votes
    if not ways.ways:
        return PanelCalibration(None, kind=ways.kind, made_up=ways.made_up)
    way, rows = ways.ways[ways.panel.way], arrays.labelled
    given = ~np.isnan(way.words)
    right = (way.words == arrays.labels[rows])[given].astype(float)
    sure, tasks = probability_of(way.words, way.probabilities)[given].round(2), arrays.groups[rows][given]
    several = tasks if np.unique(tasks).size > 1 else None
    curve = reliability_curve(sure, right, clusters=several, rng=ways.seed)
    return PanelCalibration(curve, kind=ways.kind, made_up=ways.made_up)


class VerdictsThatStand(Part, name="trust", caption="What may stand without a person, by the error that is allowed"):
    """Which verdicts may stand without a person, by the error that is allowed; the strictest first."""

    _rows = "trusts", _STANDS
    _keys: ClassVar = {"trust": "trusts"}

    trusts: tuple[Trust, ...]

    @property
    def foremost(self) -> Trust:
        """At the least risk at which anything may stand; at the largest one where nothing may."""
        return next((each for each in self.trusts if each.granted), self.trusts[-1])

    @property
    def answer(self) -> str:
        """What may stand at the least risk at which anything may, or why nothing may."""
        return say.stands_in_full(self.foremost)

    @property
    def each_risk(self) -> tuple[str, ...]:
        """What may stand at every risk; where nothing may at any, for one reason, that of all."""
        alike = not self.foremost.granted and len({say.why(each) for each in self.trusts}) == 1
        return tuple(say.stands_in_full(each) for each in ([self.foremost] if alike else self.trusts))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The error among what would stand, with its bound, as more and more is let stand."""
        tested = any(each.alone.tests for each in self.trusts)
        return plot_trust(self.trusts, ax=ax) if tested else super().plot(ax)


def standing(
    ways: WaysTogether, *, risks: Sequence[float] = (0.05, 0.1, 0.2), level: float = 0.95
) -> VerdictsThatStand:
    """Which verdicts of the panel may stand without a person, by probabilities of fits without the item's task.

    Parameters
    ----------
    risks : sequence of float
        Errors allowed among verdicts that stand.
    level : float
        How sure each bound must be.

    Raises
    ------
    InputError
        No risk is named.
    """
    if not risks:
        raise InputError("risks", "must name an error that is allowed")
    given = (trust_panel(ways.panel, ways.votes, risk=risk, level=level, cross_fitted=True) for risk in sorted(risks))
    return VerdictsThatStand(tuple(given), kind=ways.kind, made_up=ways.made_up)


class StandingOfStrata(
    Part, name="trust_by_stratum", caption="What stands by word and agent: the bound does not hold for each"
):
    """What stands by word and by agent, at one risk: the bound does not hold for each."""

    _rows = "trust.strata", _STRATUM
    _keys: ClassVar = {"strata": "trust.strata"}

    trust: Trust

    @property
    def answer(self) -> str:
        """The word or agent with the highest error among the verdicts that stand."""
        return say.worst(self.trust)


def standing_by_stratum(of: VerdictsThatStand) -> StandingOfStrata:
    """The parts of what stands at the largest risk."""
    return StandingOfStrata(of.trusts[-1], kind=of.kind, made_up=of.made_up)


class MoneySpent(
    Part,
    name="frontier",
    caption="The points that no other one beats, cheapest first",
    formats={"dollars": ".4f"} | dict.fromkeys(("error", "low", "high", "kappa"), ".3f"),
):
    """Error, or kappa with people on words in order, against price: judges, pairs, cascades and panels."""

    _rows = "frontier.best", _MONEY
    _flat = ("frontier",)

    frontier: Frontier

    answer = property(say.spending)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Every point; what another one beats in both is grey."""
        return plot_frontier(self.frontier, ax=ax) if self.frontier.points else super().plot(ax)


def money_spent(
    members: PanelMembers, *, cascade: Sequence[str] = (), risk: float = 0.2, level: float = 0.95, seed: int = 0
) -> MoneySpent:
    """What the next dollar buys, on tasks left out.

    Parameters
    ----------
    cascade : sequence of str
        Judges to ask in turn; by default the cheapest first of those that none beats in price and error.
    """
    points = frontier(members.votes, members.prices, order=cascade, risk=risk, level=level, seed=seed)
    return MoneySpent(points, kind=members.kind, made_up=members.made_up)


class Panels(Study):
    """Judges put together, side by side, with what the chosen panel is worth and what of it may stand alone."""

    ways: WaysTogether
    members: PanelMembers
    calibration: PanelCalibration
    trust: VerdictsThatStand
    strata: StandingOfStrata
    frontier: MoneySpent

    @property
    def panel(self) -> FittedPanel:
        """What `axisjudge panel apply` takes."""
        return self.ways.panel


def next_step(trust: VerdictsThatStand) -> str:
    """Which verdicts may stand, and which people should look at; or what must be labelled first."""
    if not (stands := say.stands_in_short(trust.foremost)):
        return "Have people label more items, drawn at random with recorded chances (axisjudge label next)."
    if not trust.foremost.n_rest:
        return f"{stands}, and have people label a few new tasks now and then: the bound holds for tasks like these."
    return f"{stands}, and give the others to people, the least sure first (axisjudge label next)."


def panels(
    ratings: Given,
    labels: Given | None = None,
    *,
    risks: Sequence[float] = (0.05, 0.1, 0.2),
    level: float = 0.95,
    local: Sequence[str] = (),
    prices: Mapping[str, float] | None = None,
    cascade: Sequence[str] = (),
    seed: int = 0,
    **how: Any,
) -> Panels:
    """Which judges do I run, how do I put them together, and which verdicts may I use without a person?

    Parameters
    ----------
    ratings, labels, seed, **how
        As `put_together` takes them: way, question, judges, step_level, sampling, cluster_unit, name, files.
    risks, level
        As `standing` takes them.
    local, prices
        As `panel_members` takes them.
    cascade
        As `money_spent` takes it.

    Raises
    ------
    InputError
        No judges, several questions and none named, or a way by labels without labels of tasks enough.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.datasets import published_votes
    >>> result = axisjudge.studies.panels(published_votes("hotpotqa", "final"), cluster_unit="query")
    >>> result.panel.way, len(result.ways.ways)
    ('logistic', 7)
    """
    ways = put_together(ratings, labels, seed=seed, **how)
    members = panel_members(ways, ratings, local=local, prices=prices)
    trust = standing(ways, risks=risks, level=level)
    return Panels(
        ways=ways,
        members=members,
        calibration=panel_calibration(ways),
        trust=trust,
        strata=standing_by_stratum(trust),
        frontier=money_spent(members, cascade=cascade, risk=max(risks), level=level, seed=seed),
    )


open_door(panels)
