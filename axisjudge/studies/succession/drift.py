"""The same judge on the same anchor set, occasion after occasion: has it drifted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.results import Result, columns
from axisjudge.stats.comparisons.equivalence import Occasion, drift
from axisjudge.stats.sequences.evidence import SequenceEvidence, evidence_of_runs
from axisjudge.studies._shared.frames import Given, rows_of
from axisjudge.studies.succession.verdicts import check_rubrics, of_rater, verdicts_of

_CHANGE = columns("occasion=number change=change.change p_value=change.p_value allowed stop in_reach noise threshold")


@dataclass(frozen=True)
class JudgedAnchors:
    """One occasion: when the anchors were judged, how often each, and which model answered."""

    number: int
    n_runs: int
    first_day: str | None
    last_day: str | None
    returned_models: tuple[str, ...]
    n_ratings: int


@dataclass(frozen=True)
class Drift(Result):
    """All occasions of one judge on its anchor set, each against the first.

    `evidence` is that of all occasions together, which also sees a slow drift: e-values that may be looked at on every
    occasion, by betting; None before the fifth, as the first four show the noise of occasions.
    `repeats` are those of each occasion.
    """

    _keys: ClassVar = ("judge", "n_items", "level", "seen", "changes", "evidence")

    judge: str
    seen: tuple[JudgedAnchors, ...]
    occasions: tuple[Occasion, ...]
    n_items: int
    level: float
    evidence: SequenceEvidence | None = None
    repeats: tuple[tuple[int, ...], ...] = ()

    @property
    def model_changed(self) -> tuple[int, ...]:
        """Occasions on which another model answered than on the first that names one: drift, whatever the verdicts.

        Where no model is recorded, nothing is known.
        """
        named = [seen for seen in self.seen if seen.returned_models]
        return tuple(seen.number for seen in named if seen.returned_models != named[0].returned_models)

    @property
    def stopped_at(self) -> int | None:
        """The first occasion that says stop, by its verdicts or by its model."""
        stops = [each.number for each in self.occasions if each.stop] + list(self.model_changed)
        return min(stops, default=None)

    @property
    def exit_code(self) -> int:
        """1 where an occasion says stop; 4 where the last could not, for unmeasured noise or few tasks; else 0."""
        if self.stopped_at is not None:
            return 1
        could = [each.noise == "measured" and each.in_reach for each in self.occasions[-1:]]
        return 0 if all(could) and could else 4

    @property
    def behind(self) -> list[dict[str, str]]:
        """The items of each occasion as the explorer's filters, its repeats alone."""
        return [{"judge": self.judge, "repeat": ",".join(map(str, repeats))} for repeats in self.repeats]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The occasions after the first as plain rows."""
        return rows_of(self.occasions, _CHANGE)


def watch_drift(
    ratings: Given,
    judge: str,
    *,
    steps: bool = False,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Drift:
    """Drift of one judge from stored ratings of its anchor set.

    The anchors are judged once more, or a few times, with every run (``axisjudge judge ... --again --repeats 3``). The
    repeats of one run (`run_id`; that of most of a repeat's ratings) are one occasion: they share the day's build and
    do not show how far occasions of an unchanged judge differ; a repeat without a run is an occasion of its own. Before
    four earlier occasions show that, `Occasion.noise` is ``not_measured`` and no verdicts say stop
    (`stats.comparisons.equivalence.drift`). All questions together are the items, so that shifts of two questions in
    opposite directions cancel; watch one question by giving its ratings alone. The table may hold nothing else of the
    judge. `level` is the probability with which a judge that never changes is ever stopped.

    Raises
    ------
    InputError
        The judge is not there, was asked once or under several rubric versions, or rated an item twice on one occasion.
    """
    table = of_rater(verdicts_of(ratings, steps=steps), judge)
    repeats_of = occasion_repeats(table)
    if len(repeats_of) < 2:
        cure = "judge the anchor set again in a run of its own: axisjudge judge ... --again"
        raise TooLittle("ratings", f"must hold two occasions of {judge}", len(repeats_of), cure)
    check_rubrics(table)
    key = ["item_id", "question", "cluster_id"]
    wide = table.pivot("repeat", index=key, values="failed").sort("item_id", "question")
    judged = [wide.select(map(str, repeats)).to_numpy() for repeats in repeats_of]
    clusters = wide["cluster_id"].to_numpy()
    occasions = drift(judged, clusters=clusters, cluster_unit=cluster_unit, level=level, ci_level=ci_level)
    seen = (_seen(number, table.filter(pl.col("repeat").is_in(of))) for number, of in enumerate(repeats_of, 1))
    evidence = evidence_of_runs(judged, level=level)
    return Drift(judge, tuple(seen), tuple(occasions), wide.height, level, evidence, tuple(map(tuple, repeats_of)))


def occasion_repeats(table: pl.DataFrame) -> list[list[int]]:
    """The repeats of each occasion, in order of the first."""
    run = pl.col("run_id").drop_nulls().mode().sort().first()  # a lost rating may have been asked again by a later run
    of_repeat = table.group_by("repeat").agg(run=pl.coalesce(run, pl.col("repeat").first().cast(pl.String)))
    occasions = of_repeat.sort("repeat").group_by("run", maintain_order=True).agg("repeat")
    return [list(repeats) for repeats in occasions["repeat"]]


def _seen(number: int, mine: pl.DataFrame) -> JudgedAnchors:
    days = mine["created_at"].drop_nulls().str.slice(0, 10)
    models = tuple(mine["returned_model"].drop_nulls().unique().sort())
    first, last = (None, None) if days.is_empty() else (str(days.min()), str(days.max()))
    return JudgedAnchors(number, mine["repeat"].n_unique(), first, last, models, mine.height)


def drift_rows(drift: Drift) -> list[dict[str, Any]]:
    """One row an occasion: when, by which model, and the change from the first."""
    rows = []
    e_values: list[float | None] = list(drift.evidence.e_values.tolist()) if drift.evidence else []
    lost = [not each.change.change.n_items for each in drift.occasions]  # an occasion without verdicts has no evidence
    left = iter(e_values)
    e_values = [None if gone else next(left, None) for gone in lost]
    for seen, each, e_value in zip(drift.seen, (None, *drift.occasions), (None, *e_values), strict=True):
        change = each and each.change.change
        rows.append(
            {
                "occasion": seen.number,
                "from": seen.first_day,
                "to": seen.last_day,
                "model": ", ".join(seen.returned_models) or None,
                "runs": seen.n_runs,
                "ratings": seen.n_ratings,
                "shift": change and change.estimate,
                "low": change and change.ci_low,
                "high": change and change.ci_high,
                "p": each and each.change.p_value,
                "stops at p": each and each.allowed,
                "noise up to": each and each.threshold,
                "evidence": e_value,
                "stop": each and each.stop,
            }
        )
    return rows
