"""How often was the key wrong, and what are judges worth once it is mended? (`axisjudge label adjudicate`)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from axisjudge.labels.adjudication import AGREEMENT, AdjudicatedItem, Item, Labelled
from axisjudge.results import columns
from axisjudge.stats.correction import CorrectedRate, corrected_rate
from axisjudge.stats.estimate import UNDECIDED, Estimate
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Table, rows_of, table_of
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import share

ALL_AXES = "all axes"

ONE_WAY = (
    "Adjudicating disagreements alone moves accuracy one way: where key and judges are wrong together nobody looks. "
    "The figures after adjudication therefore weigh in the agreements that were drawn at random."
)


def report_sentences(report: Any) -> list[str]:
    """How many items were looked at, how often the key was wrong, and each judge's accuracy before and after."""
    lines = [f"{report.n_decided} of {report.n_items} labelled items were adjudicated."]
    if report.n_ties:
        lines.append(f"People were tied on {report.n_ties} of these, so that there was no key to be right or wrong.")
    if report.wrong.refusal:
        lines.append(f"How often the key is wrong cannot be said: {report.wrong.refusal}.")
    else:
        of = "the labelled items that have one" if report.n_ties else "all labelled items"
        rate = f"{share(report.wrong.rate)} of {of}, each weighted by one over its chance of being drawn"
        lines.append(f"The key was wrong on {rate}.")
    return [*lines, *(accuracy_sentence(one) for one in report.judges if one.question == ALL_AXES), ONE_WAY]


def accuracy_sentence(one: Any) -> str:
    """The three figures of one judge in words."""
    start = f"{one.judge}: accuracy against the key {share(one.before)} before"
    if one.after.refusal:
        return f"{start}; none after, because {one.after.refusal}."
    alone = f"{one.disagreements_alone.estimate:.0%} with disagreements alone mended"
    return f"{start}, {share(one.after.rate)} after adjudication ({alone})."


_ROW = columns(
    "judge axis=question items=before.n_items before=before.estimate",
    "disagreements_alone=disagreements_alone.estimate note=after.refusal after~~=after.rate",
)
_STRATUM = {"adjudicated": "n_items", "key_wrong": "estimate", "low": "ci_low", "high": "ci_high"}


@dataclass(frozen=True)
class JudgeAccuracy:
    """One judge against the key before, against the key as mended on disagreements alone, and after adjudication.

    `after` weighs every adjudicated item by 1 / its inclusion probability. `disagreements_alone` is shown so that
    nobody reports it: it is biased towards the judges.
    """

    judge: str
    question: str
    before: Estimate
    disagreements_alone: Estimate
    after: CorrectedRate


class AdjudicationReport(Part, name="adjudication", caption="Accuracy of judges against the key, before and after"):
    """`wrong` is how often the key was wrong among all labelled items; `by_stratum` among those looked at."""

    _rows = "judges", _ROW
    _keys = columns("items=n_items decided=n_decided ties=n_ties key_wrong=wrong by_stratum judges=table")

    n_items: int
    n_decided: int
    n_ties: int
    wrong: CorrectedRate
    by_stratum: dict[str, Estimate]
    judges: tuple[JudgeAccuracy, ...]

    @property
    def strata(self) -> Table:
        """One row for each stratum of the queue: how often the key was wrong."""
        rows = ({"stratum": name, **rows_of([one], _STRATUM)[0]} for name, one in self.by_stratum.items())
        return table_of(list(rows), "polars", columns=("stratum", *_STRATUM))

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many items were looked at, how often the key was wrong, and each judge's accuracy before and after."""
        return tuple(report_sentences(self))

    @property
    def answer(self) -> str:
        """All of that."""
        return " ".join(self.sentences)


def adjudication_report(
    items: Mapping[Item, Labelled], decisions: Sequence[AdjudicatedItem], *, ci_level: float = 0.95
) -> AdjudicationReport:
    """How often the key was wrong, and what that does to each judge's accuracy.

    Parameters
    ----------
    items : mapping
        All labelled items (`labelled_items`): what the figures are about.
    decisions : sequence of Decision
        The adjudicated ones (`adjudicate`).

    Notes
    -----
    After = sum_v q_v P(right after | v), v right or wrong before, P estimated with weights 1 / pi on adjudicated items,
    intervals clustered by task (`corrected_rate`).
    """
    adjudicated = _Adjudicated(items, {decision.item: decision for decision in decisions}, ci_level)
    keyed = [item for item, one in items.items() if one.key is not None]
    judges = list(dict.fromkeys(judge for one in items.values() for judge in one.judged))
    questions = list(dict.fromkeys(question for _, question in items))
    asked = [ALL_AXES, *(questions if len(questions) > 1 else ())]
    accuracies = (adjudicated.accuracy(judge, question) for judge in judges for question in asked)
    return AdjudicationReport(
        n_items=len(items),
        n_decided=len(adjudicated.decisions),
        n_ties=sum(one.before is None for one in decisions),
        wrong=adjudicated.corrected(
            keyed,
            before=[float(items[item].contested) for item in keyed],
            after={item: float(one.key_was_wrong) for item, one in adjudicated.decisions.items()},
        ),
        by_stratum=adjudicated.by_stratum(),
        judges=tuple(accuracy for accuracy in accuracies if accuracy is not None),
    )


@dataclass(frozen=True)
class _Adjudicated:
    """Labelled items with what was decided on some of them."""

    items: Mapping[Item, Labelled]
    decisions: Mapping[Item, AdjudicatedItem]
    ci_level: float

    def accuracy(self, judge: str, question: str) -> JudgeAccuracy | None:
        """One judge on the items of a question on which it takes a side, and so does the key, before and after."""
        last = {item: one.key for item, one in self.items.items()}
        last |= {item: one.after for item, one in self.decisions.items()}
        chosen = [
            item
            for item, one in self.items.items()
            if question in (ALL_AXES, item[1])
            and {None, *UNDECIDED}.isdisjoint((one.key, one.judged[judge], last[item]))
        ]
        if not chosen:
            return None
        before = [float(self.items[item].judged[judge] == self.items[item].key) for item in chosen]
        right = {item: float(self.items[item].judged[judge] == last[item]) for item in chosen if item in self.decisions}
        both = zip(chosen, before, strict=True)
        mended = [right.get(item, was) if self.items[item].contested else was for item, was in both]
        after = self.corrected(chosen, before=before, after=right)
        return JudgeAccuracy(judge, question, after.apparent, self._share(chosen, mended), after)

    def by_stratum(self) -> dict[str, Estimate]:
        """How often the key was wrong among the items looked at, by stratum of the queue, agreements last."""
        keyed = [one for one in self.decisions.values() if one.before is not None]
        strata = sorted({one.stratum for one in keyed}, key=lambda name: (name == AGREEMENT, name))
        inside = {name: [one for one in keyed if one.stratum == name] for name in strata}
        return {
            name: self._share([one.item for one in ones], [float(one.key_was_wrong) for one in ones])
            for name, ones in inside.items()
        }

    def corrected(
        self, chosen: Sequence[Item], *, before: Sequence[float], after: Mapping[Item, float]
    ) -> CorrectedRate:
        """A share over the chosen items, from its value before and the values after on adjudicated items."""
        return corrected_rate(
            before,
            [after.get(item, np.nan) for item in chosen],
            sampling="by_key",
            probability=[self._probability(item) for item in chosen],
            clusters=np.unique([self.items[item].cluster for item in chosen], return_inverse=True)[1],
            cluster_unit="task",
            ci_level=self.ci_level,
        )

    def _probability(self, item: Item) -> float:
        """An item's own where it was looked at, else that of its class: the queue draws contested and agreed items."""
        if item in self.decisions:
            return self.decisions[item].probability
        return self._of_class.get(self.items[item].contested, np.nan)

    @cached_property
    def _of_class(self) -> dict[bool, float]:
        """The probability of contested (True) and of agreed items, where all that were looked at bear the same."""
        by_class: dict[bool, set[float]] = {}
        for item, one in self.decisions.items():
            if item in self.items:
                by_class.setdefault(self.items[item].contested, set()).add(one.probability)
        return {contested: min(seen) for contested, seen in by_class.items() if len(seen) == 1}

    def _share(self, chosen: Sequence[Item], values: Sequence[float]) -> Estimate:
        tasks = [self.items[item].cluster for item in chosen]
        return clustered_proportion(values, tasks, cluster_unit="task", ci_level=self.ci_level)
