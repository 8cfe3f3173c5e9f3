"""One published item by rubric version: raw soft agreement of its two judges."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from axisjudge.checks import InputError
from axisjudge.stats.agreement.soft import beliefs, raw_soft_agreement, split_change
from axisjudge.studies._shared.frames import columns_of, to_polars
from axisjudge.studies._shared.words import listed


@dataclass(frozen=True)
class PublishedItem:
    """Raw soft agreement of two judges on the single published item by rubric version, each change split.

    `overlaps` says in the text's words how far the judges cite the same steps, where it was published.
    """

    versions: tuple[str, ...]
    agreement: tuple[float, ...]
    changes: tuple[str, ...]
    overlaps: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Agreement by version, and what of each change is flips and what is hedging."""
        by_version = ", ".join(f"{v} {value:.2f}" for v, value in zip(self.versions, self.agreement, strict=True))
        steps = zip(self.versions, self.versions[1:], self.changes, strict=False)
        split = "; ".join(f"{old} to {new}: {change}" for old, new, change in steps)
        cited = listed([f"{word} under {v}" for v, word in zip(self.versions, self.overlaps, strict=False)] or [""])
        overlap = f" The published overlap of cited steps is {cited}." if self.overlaps else ""
        return f"One item, raw soft agreement: {by_version}. {split}.{overlap}"


def published_item(verdicts: Any) -> PublishedItem:
    """Raw soft agreement on one item by version; raw values are shown for a single published item only.

    Parameters
    ----------
    verdicts : table
        Columns version, judge, verdict, confidence: two judges a version.
    """
    table = to_polars(verdicts, ("version", "judge", "verdict", "confidence"), where="verdicts").sort(
        "version", "judge"
    )
    versions = tuple(table["version"].unique(maintain_order=True))
    words = {v: [table.filter(version=v)["verdict"].to_list()] for v in versions}
    sure = {v: [table.filter(version=v)["confidence"].to_list()] for v in versions}
    if any(len(row[0]) != 2 for row in words.values()):
        raise InputError("verdicts", "needs two judges for each version", {v: len(row[0]) for v, row in words.items()})
    held = {v: beliefs(words[v], sure[v])[0] for v in versions}
    cited = to_polars(verdicts, ("version", "citation_overlap"), where="verdicts") if _cites(verdicts) else None
    return PublishedItem(
        versions=versions,
        agreement=tuple(float(raw_soft_agreement(*held[v])) for v in versions),
        changes=tuple(
            split_change(words[old], sure[old], words[new], sure[new]).sentence()
            for old, new in itertools.pairwise(versions)
        ),
        overlaps=() if cited is None else tuple(cited.filter(version=v)["citation_overlap"][0] for v in versions),
    )


def _cites(verdicts: Any) -> bool:
    return "citation_overlap" in columns_of(verdicts)
