"""The change between two rubric versions, looked at as often as runs come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from axisjudge.results import Result
from axisjudge.stats.comparisons.progress import mean_of_repeats
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_mean
from axisjudge.stats.sequences.betting import ConfidenceSequence, change_sequence
from axisjudge.stats.sequences.evidence import SequenceEvidence, evidence_of_change
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.versions import Versions


@dataclass(frozen=True, eq=False)
class LookedChange(Result):
    """Change of the judges' agreement with an interval and evidence that hold at every look, tasks as they came.

    `fixed` is the interval of the same tasks, had their number been fixed in advance.
    """

    axis: str
    before: str
    after: str
    change: ConfidenceSequence
    evidence: SequenceEvidence
    fixed: Estimate

    @property
    def times(self) -> float:
        """How many times the tasks of a fixed number looking takes, for intervals of one width; NaN without both."""
        widths = [each.ci_high - each.ci_low for each in (self.change, self.fixed)]
        return float((widths[0] / widths[1]) ** 2)

    def row(self) -> dict[str, Any]:
        """One row of the table."""
        ends = {"change": "estimate", "low": "ci_low", "high": "ci_high"}
        return {
            "axis": self.axis,
            "versions": f"{self.before} to {self.after}",
            "tasks": self.change.n_clusters,
            **{name: getattr(self.change, end) for name, end in ends.items()},
            "evidence": self.evidence.largest,
            "stop": "yes" if self.evidence.stopped_at else "no",
            "times the tasks": self.times,
        }


def looked_change(
    pair: Versions, rated: pl.DataFrame, *, cluster_unit: str = "task", ci_level: float = 0.95
) -> LookedChange:
    """The change of agreement in the order in which tasks were first judged under both versions.

    Parameters
    ----------
    pair, rated : Versions, DataFrame
        What `read_versions` gives: the pair, and its ratings. Ratings without a time stand last, by name.

    Notes
    -----
    Holds whenever one stops, if the order of tasks does not depend on verdicts.
    """
    first, second = mean_of_repeats(pair.agreement)
    both_judged = rated.group_by("item_id", "rubric_version").agg(pl.col("created_at").max())
    came = dict(both_judged.group_by("item_id").agg(pl.col("created_at").max()).iter_rows())
    order = np.array(sorted(range(len(pair.items)), key=lambda at: (came[pair.items[at]] or "~", pair.items[at])))
    before, after, tasks = first[order], second[order], pair.clusters[order]
    largest = int(np.bincount(tasks).max())
    return LookedChange(
        pair.axis,
        pair.before,
        pair.after,
        change_sequence(before, after, tasks, largest=largest, cluster_unit=cluster_unit, ci_level=ci_level),
        evidence_of_change(before, after, tasks, largest=largest, cluster_unit=cluster_unit, level=1 - ci_level),
        clustered_mean(after - before, tasks, cluster_unit=cluster_unit, ci_level=ci_level),
    )


def looked_sentences(looks: list[LookedChange]) -> list[str]:
    """What the intervals are for, what they cost, and where one may stop."""
    stopped = [(each.axis, each.evidence.stopped_at) for each in looks if each.evidence.stopped_at]
    return sentences.looked([each.times for each in looks if each.times == each.times], stopped)
