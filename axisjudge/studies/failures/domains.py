"""Failure profiles of each domain apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from axisjudge.results import Result, columns
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.profiles import FailureProfile, profile_panel


@dataclass(frozen=True, eq=False)
class DomainProfiles(Result):
    """One profile for each domain that the ratings name; `unnamed` runs name none and are in no part."""

    _keys = columns("unnamed domains=parts")

    parts: Mapping[str, FailureProfile]
    unnamed: int
    kind: Kind

    def to_frame(self) -> Table:
        """One row per domain and axis, over all agents."""
        rows = [
            {"domain": domain, **cell.named_values()} for domain, part in self.parts.items() for cell in part.totals
        ]
        return table_of(rows, self.kind)

    @property
    def sentence(self) -> str:
        """How many domains there are, and which axis fails most in each."""
        return say.domains(self.parts)


def by_domain(profile: FailureProfile) -> DomainProfiles:
    """The same profile for each domain apart."""
    panel, domains = profile.panel, np.array(profile.panel.domains, dtype=object)
    settings = {"success_at": profile.success_at, "ci_level": profile.ci_level}
    parts = {
        domain: profile_panel(panel.where(domains == domain), profile.rewards[domains == domain], **settings)
        for domain in sorted({domain for domain in panel.domains if domain is not None})
    }
    return DomainProfiles(parts, panel.domains.count(None), panel.kind)
