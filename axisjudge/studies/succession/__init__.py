"""May a new judge take the old one's place? (notebook 10)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from axisjudge.ratings import as_ratings
from axisjudge.results import columns, plain
from axisjudge.stats.comparisons.equivalence import MARGIN
from axisjudge.stats.rates.correction import Sampling
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, table_of, with_ends
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.succession import sentences as say
from axisjudge.studies.succession.against_labels import AgainstLabels, against_labels
from axisjudge.studies.succession.bridge import Bridge, BridgeTerms, bridge_judges
from axisjudge.studies.succession.drift import Drift, drift_rows, watch_drift
from axisjudge.studies.succession.figures import plot_bridge, plot_drift

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "AgainstLabels",
    "DriftOfJudge",
    "JudgeBridge",
    "RestatedRates",
    "Succession",
    "against_labels",
    "drift_of_judge",
    "judge_bridge",
    "restated_rates",
    "succession",
]


class JudgeBridge(Part, name="bridge", caption="Old judge against new judge on the anchor set"):
    """Whether the new judge is equivalent to the old one, question by question: shift, and agreement."""

    bridge: Bridge
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a question: shift and agreement with their bounds, and what is shown."""
        rows = []
        for each in self.bridge.bridges:
            both, own = each.equivalence, each.equivalence.self_agreement
            rows.append(
                {
                    "question": each.question,
                    "anchors": each.n_anchors,
                    "tasks": both.agreement.n_clusters,
                    "decided": both.shift.n_items,
                    "shift": both.shift.estimate,
                    "shift_low": both.shift.ci_low,
                    "shift_high": both.shift.ci_high,
                    "agreement": both.agreement.estimate,
                    "at_least": both.agreement.ci_low,
                    "old_with_itself": math.nan if own is None else own.estimate,
                    "kappa": each.kappa.estimate,
                    "to_incorrect": each.to_incorrect,
                    "to_correct": each.to_correct,
                    "shown": "equivalent" if both.equivalent else "not shown",
                }
            )
        return table_of(rows, self.kind)

    @property
    def behind(self) -> Mapping[str, str]:
        """What both judges say."""
        return {"judge": self.bridge.old, "beside": self.bridge.new}

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and why not on others."""
        return " ".join([say.verdict(self.bridge), *say.doubts(self.bridge), *say.widened(self.bridge)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both conditions per question."""
        return plot_bridge(self.bridge, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """The bridge of every question, and rates re-stated."""
        return self.bridge.to_dict()


def judge_bridge(
    ratings: Given,
    old: str,
    new: str,
    *,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> JudgeBridge:
    """Bridge an old judge to a new one on the runs that both rated.

    Works from stored ratings; neither judge is called. The anchor set are the runs that the new judge rated; the old
    results all runs that the old judge rated, in its first repeat. Its further repeats give its agreement with itself.

    Parameters
    ----------
    ratings : table
        A ratings table with both judges, one rating for each item, question, judge and repeat.
    old, new : str
        The raters' names.
    questions : sequence of str, optional
        By default all that both rated.
    steps : bool
        Ratings of steps instead of whole trajectories.
    drawn : str
        How the anchors were drawn from the old judge's runs: ``random``, ``by_judge_verdict`` or ``unknown``. Only a
        random draw shows equivalence, for only there is the anchors' shift that of all runs; after an unknown one old
        rates are not re-stated.
    margin, level : float
        Of the two conditions (`axisjudge.stats.comparisons.equivalence`).
    cluster_unit : str
        What a cluster is.
    ci_level : float
        Of kappa and of rates.

    Raises
    ------
    InputError
        One of the judges is not in the table, they share no item or question asked for, an item has two ratings of one
        judge and repeat, or a question was judged under several rubric versions.
    """
    terms, table = BridgeTerms(margin, level, cluster_unit, ci_level), as_ratings(ratings)
    bridge = bridge_judges(table, old, new, questions=questions, steps=steps, drawn=drawn, terms=terms)
    made_up = made_up_raters(table.filter(pl.col("rater").is_in([old, new])))
    return JudgeBridge(bridge, kind_of(ratings), made_up=made_up)


class RestatedRates(
    Part, name="restated", caption="Failure rates by the old judge, and as the new one would give them"
):
    """Failure rates by the old judge, and as the new one would give them."""

    bridge: Bridge
    kind: Kind

    @property
    def table(self) -> Table:
        """One row an agent and question: the old rate, the re-stated one, and how much wider it became."""
        rates = columns(
            "agent question runs=before.n_items anchors=n_anchors",
            with_ends("old_judge", "before", low="old_low", high="old_high"),
            with_ends("restated", "rate.rate", low="restated_low", high="restated_high"),
            "wider=extra_doubt",
        )
        return frame_of(self.bridge.restated, rates, self.kind)

    @property
    def behind(self) -> Mapping[str, str]:
        """The old judge's verdicts."""
        return {"judge": self.bridge.old}

    @property
    def answer(self) -> str:
        """Which rates are not re-stated, and why."""
        return " ".join([*say.widened(self.bridge), *say.not_restated(self.bridge)])

    def to_dict(self) -> dict[str, Any]:
        """The rates."""
        return {"restated": plain(self.bridge.restated)}


def restated_rates(bridge: JudgeBridge) -> RestatedRates:
    """What becomes of old failure rates, agent by agent, with the doubt of both judges in their intervals."""
    return RestatedRates(bridge.bridge, bridge.kind, made_up=bridge.made_up)


class DriftOfJudge(
    Part, name="drift", caption="Occasion by occasion against the first", formats={"p": ".4f", "stops_at_p": ".4f"}
):
    """A judge that stays, occasion by occasion on its own anchor set; None where no occasions were given."""

    drift: Drift | None
    kind: Kind

    @property
    def table(self) -> Table:
        """One row an occasion: when, by which model, and the change from the first."""
        rows = drift_rows(self.drift) if self.drift else []
        named = [{head.replace(" ", "_"): cell for head, cell in row.items()} for row in rows]
        return table_of(named, self.kind, columns=["occasion"])

    @property
    def behind(self) -> Sequence[Mapping[str, str]]:
        """The items of each occasion."""
        return self.drift.behind if self.drift else ()

    @property
    def answer(self) -> str:
        """Whether the judge has drifted; empty where it was not watched."""
        return say.drift_sentence(self.drift) if self.drift else ""

    def plot(self, ax: Axes | None = None) -> Axes:
        """The change of the failure rate from the first occasion."""
        return plot_drift(self.drift, ax=ax) if self.drift else super().plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """All occasions."""
        return self.drift.to_dict() if self.drift else {}


def drift_of_judge(
    anchors: Given | None,
    judge: str,
    *,
    steps: bool = False,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> DriftOfJudge:
    """Watch a judge for drift on its own anchor set, a repeat an occasion; arguments as `drift.watch_drift`."""
    if anchors is None:
        return DriftOfJudge(None, "polars")
    drift = watch_drift(anchors, judge, steps=steps, level=level, cluster_unit=cluster_unit, ci_level=ci_level)
    table = as_ratings(anchors).filter(pl.col("rater") == judge)
    return DriftOfJudge(drift, kind_of(anchors), made_up=made_up_raters(table))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Succession(Study):
    """The bridge from an old judge to a new one, old rates re-stated, and the old one's drift."""

    bridge: JudgeBridge
    restated: RestatedRates
    drift: DriftOfJudge

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and what shifts most."""
        return answer_of(self.bridge, self.drift)


def answer_of(bridge: JudgeBridge, drift: DriftOfJudge) -> str:
    """On which questions the new judge may take the old one's place, what shifts most, and whether to stop."""
    return say.answer(bridge.bridge, drift.drift)


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

    Parameters
    ----------
    ratings, old, new, questions, steps, drawn, margin, level, cluster_unit, ci_level
        As `judge_bridge` takes them; `level` is also that of the stop rule.
    anchors : table, optional
        The old judge's ratings of its own anchor set, a repeat an occasion: it is watched for drift.

    Raises
    ------
    InputError
        As `judge_bridge`, and where `anchors` hold one occasion only.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> judges = ["simulated:heron", "simulated:plover"]
    >>> ratings = axisjudge.judge(runs, judges, ["sequencing"], progress=False)
    >>> axisjudge.studies.succession(ratings, *judges).bridge.table["shown"].to_list()
    ['not shown']
    """
    terms: dict[str, Any] = {"steps": steps, "level": level, "cluster_unit": cluster_unit, "ci_level": ci_level}
    bridge = judge_bridge(ratings, old, new, questions=questions, drawn=drawn, margin=margin, **terms)
    return Succession(bridge=bridge, restated=restated_rates(bridge), drift=drift_of_judge(anchors, old, **terms))


open_door(succession)
