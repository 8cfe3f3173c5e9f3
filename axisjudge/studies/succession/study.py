"""`axisjudge.studies.succession`: whether a new judge may take the old one's place, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from axisjudge.ratings import as_ratings
from axisjudge.stats.comparisons.equivalence import MARGIN
from axisjudge.stats.rates.correction import Sampling
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, table_of
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.succession.bridge import Bridge, BridgeTerms, bridge_judges
from axisjudge.studies.succession.drift import Drift, watch_drift
from axisjudge.studies.succession.figures import plot_bridge, plot_drift
from axisjudge.studies.succession.sentences import answer, doubts, drift_sentence, not_restated, widened
from axisjudge.studies.succession.tables import RESTATED, bridge_row, drift_rows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Succession(RatedResult):
    """The bridge from an old judge to a new one, and the old one's drift, None where no occasions were given."""

    bridge: Bridge
    drift: Drift | None
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a question: shift and agreement with their bounds, and what is shown."""
        return table_of([bridge_row(bridge) for bridge in self.bridge.bridges], self.kind)

    @property
    def restated_table(self) -> Table:
        """One row an agent and question: the old rate, the re-stated one, and how much wider it became."""
        return frame_of(self.bridge.restated, RESTATED, self.kind)

    @property
    def drift_table(self) -> Table:
        """One row an occasion, no rows where none were given."""
        return table_of(drift_rows(self.drift) if self.drift else [], self.kind, columns=["occasion"])

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and what shifts most."""
        return answer(self.bridge, self.drift)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Where equivalence is not shown and why, what becomes of old rates, and drift."""
        restated = (*widened(self.bridge), *not_restated(self.bridge))
        return (*doubts(self.bridge), *restated, *([drift_sentence(self.drift)] if self.drift else []))

    def plots(self) -> Mapping[str, Plot]:
        """Both conditions per question, and the occasions where some were given."""
        drift = {"drift": partial(plot_drift, self.drift)} if self.drift else {}
        return {"bridge": partial(plot_bridge, self.bridge), **drift}


def succession(
    ratings: Given,
    old: str,
    new: str,
    *,
    anchors: Given | None = None,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Succession:
    """May a new judge take the old one's place, and what becomes of the old results?

    Works from stored ratings; neither judge is called. The anchor set are the runs that the new judge rated; the old
    results all runs that the old judge rated, in its first repeat. Its further repeats give its agreement with itself.

    Parameters
    ----------
    ratings : table
        A ratings table with both judges, one rating for each item, question, judge and repeat.
    old, new : str
        The raters' names.
    anchors : table, optional
        The old judge's ratings of its own anchor set, a repeat an occasion: it is watched for drift.
    questions : sequence of str, optional
        By default all that both rated.
    steps : bool
        Ratings of steps instead of whole trajectories.
    drawn : str
        How the anchors were drawn from the old judge's runs: ``random``, ``by_judge_verdict`` or ``unknown``. Only a
        random draw shows equivalence, for only there is the anchors' shift that of all runs; after an unknown one old
        rates are not re-stated.
    margin, level : float
        Of the two conditions (`axisjudge.stats.comparisons.equivalence`); `level` is also that of the stop rule.
    cluster_unit : str
        What a cluster is.
    ci_level : float
        Of kappa, of rates and of changes.

    Returns
    -------
    Succession
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        One of the judges is not in the table, they share no item or question asked for, an item has two ratings of one
        judge and repeat, a question was judged under several rubric versions, or `anchors` hold one occasion only.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> judges = ["simulated:heron", "simulated:plover"]
    >>> ratings = axisjudge.judge(runs, judges, ["sequencing"], progress=False)
    >>> axisjudge.studies.succession(ratings, *judges).table["shown"].to_list()
    ['not shown']
    """
    terms, table = BridgeTerms(margin, level, cluster_unit, ci_level), as_ratings(ratings)
    return Succession(
        bridge=bridge_judges(table, old, new, questions=questions, steps=steps, drawn=drawn, terms=terms),
        drift=None
        if anchors is None
        else watch_drift(anchors, old, steps=steps, level=level, cluster_unit=cluster_unit, ci_level=ci_level),
        made_up=made_up_raters(table.filter(pl.col("rater").is_in([old, new]))),
        kind=kind_of(ratings),
    )
