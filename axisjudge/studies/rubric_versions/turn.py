"""One turn of the calibration loop: two rubric versions on the same runs, what changed, and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from axisjudge.results import Result
from axisjudge.stats.comparisons.progress import Decision, Moved, VersionOutcome, adjusted, decide, moved
from axisjudge.studies._shared.citations import CitationReport, citation_report
from axisjudge.studies._shared.disagreements import Disagreements, disagreements
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.scope import banner, made_up_raters
from axisjudge.studies._shared.triage import PanelTriage, panel_triage
from axisjudge.studies._shared.words import sentence_case
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.flips import (
    BeliefMove,
    Flip,
    JudgeShift,
    VerdictRow,
    belief_moves,
    commonest,
    flips_of,
    judge_shifts,
    verdict_rows,
)
from axisjudge.studies.rubric_versions.looked_at import LookedAt, looked_at
from axisjudge.studies.rubric_versions.version_agreement import (
    SoftSplit,
    VersionAgreement,
    soft_split,
    version_agreement,
)
from axisjudge.studies.rubric_versions.versions import HELD_OUT, LeftOut, RankedOver, Versions, read_versions


@dataclass(frozen=True, eq=False)
class Turn(Result):
    """The comparison of two versions of one axis's rubric.

    `agreement` is the tested change; its p value is adjusted over the `family` of axes compared together. `contested`
    and `triage` are about the new version.
    """

    _keys: ClassVar[Mapping[str, str]] = {
        **{name: name for name in ("axis", "family", "versions", "n_items", "agreement", "soft", "flips", "citations")},
        **{name: name for name in ("triage", "same_text", "aside", "left_out", "banner")},
        "judges": "shifts",
    }

    axis: str
    family: tuple[str, ...]
    versions: tuple[VersionAgreement, VersionAgreement]
    judges: tuple[str, ...]
    n_items: int
    agreement: Moved
    soft: SoftSplit
    shifts: tuple[JudgeShift, ...]
    flips: tuple[Flip, ...]
    beliefs: tuple[BeliefMove, ...]
    verdicts: tuple[VerdictRow, ...]
    citations: CitationReport
    contested: Disagreements
    triage: PanelTriage
    decision: Decision
    ranked_over: RankedOver
    same_text: bool
    aside: tuple[str, ...]
    left_out: LeftOut
    made_up: tuple[str, ...]
    kind: Kind

    before = property(lambda self: self.versions[0].version)
    after = property(lambda self: self.versions[1].version)

    @property
    def title(self) -> str:
        """Axis and versions: ``argument_validity, v1 to v2``."""
        return f"{self.axis}, {self.before} to {self.after}"

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
        return f"{self.title}: {self.outcome}. {sentence_case(self.reason)}."

    @property
    def answer(self) -> str:
        """What may be said of the new version, with the change of agreement, its interval and n; and why."""
        return sentences.answer(self.title, self.outcome, self.versions, self.agreement, self.n_items, self.reason)

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
            *sentences.aside(self.aside, same_text=self.same_text, left_out=self.left_out),
        )

    def looked_at(self, decisions: pl.DataFrame | None) -> LookedAt:
        """What people who looked at the flips decided (`axisjudge.labels.decisions`)."""
        before, after = (version.version for version in self.versions)
        return looked_at(self.flips, self.axis, (before, after), decisions)

    @property
    def split_sentence(self) -> str:
        """What of the change is flips and what is hedging."""
        return sentences.soft_split(self.soft, self.n_flipped)

    def moved_most(self, most: int) -> list[str]:
        """The runs on which any judge's belief moved farthest, farthest first."""
        farthest: dict[str, float] = {}
        for move in self.beliefs:
            farthest[move.item] = max(farthest.get(move.item, 0.0), abs(move.after - move.before))
        return sorted(farthest, key=lambda item: (-farthest[item], item))[:most]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report, the decision in words."""
        decision = self.decision
        words = {"word": decision.outcome, "reason": self.reason, "advice": sentences.advice(decision)}
        return {
            **super().to_dict(),
            "word": decision.outcome,
            "decision": words | {"noise_measured": decision.noise_measured, "needed": decision.needed},
            "n_contested": self.contested.n_split,
            "normalised": sentences.NORMALISED.format(ranked_over=self.ranked_over),
        }


#: Number of steps of each run.
Steps = Mapping[str, int] | Table | None


@dataclass(frozen=True)
class Settings:
    """What all turns of a study have in common; see `axisjudge.studies.rubric_versions`."""

    steps: Steps = None
    held_out: Sequence[str] = HELD_OUT
    most: int = 12
    cluster_unit: str = "task"
    ci_level: float = 0.95
    seed: int = 0


def compare_axes(ratings: Given, changes: Mapping[str, tuple[str, str]], settings: Settings) -> tuple[Turn, ...]:
    """Compare two rubric versions of each axis; the axes are one declared family and their tests Holm-adjusted."""
    kind = kind_of(ratings)
    pairs = [read_versions(ratings, axis, *both, held_out=settings.held_out) for axis, both in changes.items()]
    unit, seed = settings.cluster_unit, settings.seed
    tested = adjusted([moved(pair.agreement, pair.clusters, cluster_unit=unit, seed=seed) for pair in pairs])
    return tuple(
        _turn(pair, agreement, tuple(changes), kind, settings) for pair, agreement in zip(pairs, tested, strict=True)
    )


def _turn(pair: Versions, agreement: Moved, family: tuple[str, ...], kind: Kind, settings: Settings) -> Turn:
    unit, level, seed = settings.cluster_unit, settings.ci_level, settings.seed
    verdicts = commonest(pair.codes)
    before, after = (version_agreement(pair, version, level, unit, seed) for version in (0, 1))
    shifts = judge_shifts(pair, verdicts, cluster_unit=unit, seed=seed)
    alphas = (before.coefficients["alpha"].estimate, after.coefficients["alpha"].estimate)
    new = pair.table.filter(pl.col("rubric_version") == pair.after)
    newest = pooled(new, pair.axis, repeat=int(new["repeat"].min()))  # type: ignore[arg-type]
    return Turn(
        axis=pair.axis,
        family=family,
        versions=(before, after),
        judges=pair.judges,
        n_items=len(pair.items),
        agreement=agreement,
        soft=soft_split(pair),
        shifts=shifts,
        flips=flips_of(pair, verdicts),
        beliefs=belief_moves(pair, verdicts),
        verdicts=verdict_rows(pair, verdicts),
        citations=citation_report(pair.table, steps=settings.steps, cluster_unit=unit, ci_level=level),
        contested=disagreements(new, newest, most=settings.most),
        triage=panel_triage(newest, cluster_unit=unit, ci_level=level),
        decision=decide(agreement, alphas, [each.confidence for each in shifts if each.confidence is not None]),
        ranked_over=pair.ranked_over,
        same_text=pair.same_text,
        aside=pair.aside,
        left_out=pair.left_out,
        made_up=made_up_raters(pair.table),
        kind=kind,
    )
