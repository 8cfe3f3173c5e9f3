"""One turn of the calibration loop: two rubric versions on the same runs, what changed, and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from axisjudge.figures.theme import in_words
from axisjudge.results import Result, columns
from axisjudge.stats.comparisons.progress import Moved, ProgressVerdict, VersionOutcome, decide
from axisjudge.studies._shared.citations import CitationReport, citation_report
from axisjudge.studies._shared.disagreements import Disagreements, disagreements
from axisjudge.studies._shared.frames import Kind, Table
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.scope import banner, made_up_raters
from axisjudge.studies._shared.triage import PanelTriage, panel_triage
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.flips import Flip, JudgeShift, flips_of, judge_shifts
from axisjudge.studies.rubric_versions.version_agreement import (
    SoftSplit,
    VersionAgreement,
    soft_split,
    version_agreement,
)
from axisjudge.studies.rubric_versions.versions import Versions

#: Number of steps of each run.
Steps = Mapping[str, int] | Table | None


@dataclass(frozen=True, eq=False)
class Turn(Result):
    """The comparison of two versions of one axis's rubric.

    `agreement` is the tested change; its p value is adjusted over the `family` of axes compared together. `contested`
    and `triage` are about the new version.
    """

    _keys = columns(
        "axis family versions n_items agreement soft flips citations same_text=pair.same_text aside=pair.aside",
        "left_out=pair.left_out triage banner judges=shifts",
    )

    pair: Versions
    family: tuple[str, ...]
    versions: tuple[VersionAgreement, VersionAgreement]
    agreement: Moved
    soft: SoftSplit
    shifts: tuple[JudgeShift, ...]
    flips: tuple[Flip, ...]
    citations: CitationReport
    contested: Disagreements
    triage: PanelTriage
    decision: ProgressVerdict
    made_up: tuple[str, ...]
    kind: Kind

    axis = property(lambda self: self.pair.axis)
    before = property(lambda self: self.pair.before)
    after = property(lambda self: self.pair.after)
    judges = property(lambda self: self.pair.judges)
    n_items = property(lambda self: len(self.pair.items))

    @property
    def title(self) -> str:
        """Axis and versions: ``argument_validity, v1 to v2``."""
        return f"{self.axis}, {self.before} to {self.after}"

    @property
    def behind(self) -> dict[str, str]:
        """The items compared, as the explorer's filters."""
        return {"on": self.axis, "versions": f"{self.before},{self.after}"}

    @property
    def outcome(self) -> str:
        """What may be said."""
        return sentences.outcome(self.decision)

    @property
    def n_flipped(self) -> int:
        """How many verdicts changed."""
        return sum(shift.n_flipped for shift in self.shifts)

    @property
    def banner(self) -> str:
        """What must stand above every table and figure of ratings that no judge gave; empty otherwise."""
        return banner(self.made_up)

    @property
    def reason(self) -> str:
        """Which part of the rule decided, in words."""
        alphas = tuple(version.coefficients["alpha"].estimate for version in self.versions)
        return sentences.reason(self.decision, self.agreement, (alphas[0], alphas[1]))

    @property
    def headline(self) -> str:
        """What may be said, and which part of the rule decided."""
        return sentences.headline(self.axis, (self.before, self.after), self.decision, self.reason)

    @property
    def answer(self) -> str:
        """What may be said of the new version, with the change of agreement, its interval and n; and why."""
        return sentences.answer(self.headline, self.versions, self.agreement, self.n_items)

    @property
    def details(self) -> tuple[str, ...]:
        """The figures behind the headline, in words."""
        return (*self._changed, *(sentences.judge_shift(shift) for shift in self.shifts), *self._beside)

    @property
    def brief(self) -> tuple[str, ...]:
        """The same without the judges one by one, for a page that has them in a matrix."""
        return (*self._changed, *self._beside)

    @property
    def _changed(self) -> tuple[str, ...]:
        return (
            *sentences.needed(self.decision, self.agreement),
            sentences.agreement(self.versions, self.agreement, self.n_items, len(self.family)),
            sentences.beyond_chance(self.versions),
            sentences.run_noise(self.versions, self.agreement.noise),
            self.split_sentence,
        )

    @property
    def _beside(self) -> tuple[str, ...]:
        claimed = self.decision.outcome is VersionOutcome.PROGRESS
        return (
            *([sentences.prevalence(self.versions)] if claimed else []),
            *self.citations.version_sentences,
            self.contested.sentence,
            *sentences.aside(self.pair.aside, same_text=self.pair.same_text, left_out=self.pair.left_out),
        )

    @property
    def split_sentence(self) -> str:
        """What of the change is flips and what is hedging."""
        return sentences.soft_split(self.soft, self.n_flipped)

    def flips_sentence(self, most: int = 12) -> str:
        """How many verdicts flipped, and which of them are listed."""
        where = f"{in_words(self.axis)} from {self.before} to {self.after}"
        return sentences.flips_counted(len(self.flips), most, where)

    def moved_most(self, most: int) -> list[int]:
        """Positions of the runs on which any judge's belief moved farthest, farthest first."""
        before, after = self.pair.beliefs
        steps = np.nan_to_num(abs(after - before), nan=-1.0).max(axis=1)
        known = np.flatnonzero(steps >= 0).tolist()
        return sorted(known, key=lambda at: (-steps[at], self.pair.items[at]))[:most]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report, the decision in words."""
        decision = self.decision
        words = {"word": decision.outcome, "reason": self.reason, "advice": sentences.advice(decision)}
        return {
            **super().to_dict(),
            "word": decision.outcome,
            "decision": words | {"noise_measured": decision.noise_measured, "needed": decision.needed},
            "n_contested": self.contested.n_split,
            "normalised": sentences.NORMALISED.format(ranked_over=self.pair.ranked_over),
        }


def turn_of(
    pair: Versions,
    rows: pl.DataFrame,
    agreement: Moved,
    *,
    family: tuple[str, ...],
    kind: Kind,
    steps: Steps,
    most: int,
    cluster_unit: str,
    ci_level: float,
    seed: int,
) -> Turn:
    """All that is said of two versions beside the tested change of `agreement`; `rows` are the ratings behind it."""
    before, after = (version_agreement(pair, version, ci_level, cluster_unit, seed) for version in (0, 1))
    shifts = judge_shifts(pair, cluster_unit=cluster_unit, seed=seed)
    alphas = (before.coefficients["alpha"].estimate, after.coefficients["alpha"].estimate)
    new = rows.filter(pl.col("rubric_version") == pair.after)
    newest = pooled(new, pair.axis, repeat=int(new["repeat"].min()))  # type: ignore[arg-type]
    return Turn(
        pair=pair,
        family=family,
        versions=(before, after),
        agreement=agreement,
        soft=soft_split(pair),
        shifts=shifts,
        flips=flips_of(pair, rows),
        citations=citation_report(rows, steps=steps, cluster_unit=cluster_unit, ci_level=ci_level),
        contested=disagreements(new, newest, most=most),
        triage=panel_triage(newest, cluster_unit=cluster_unit, ci_level=ci_level),
        decision=decide(agreement, alphas, [each.confidence for each in shifts if each.confidence is not None]),
        made_up=made_up_raters(rows),
        kind=kind,
    )
